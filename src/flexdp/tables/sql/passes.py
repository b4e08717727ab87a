"""Several counts of a table in few passes: true and false cells as sums, which cost a third of a count by groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flexdp.tables.counting import Counted, Counting
from flexdp.tables.sql.dialect import Dialect
from flexdp.tables.sql.query import ReadCell, together_query
from flexdp.tables.sql.results import counted_together

__all__ = ["counted_in_passes", "pass_queries"]


def pass_queries(
    source: str, countings: Sequence[Counting], dialect: Dialect, read: ReadCell, *, flags_apart: bool
) -> list[str]:
    """Write the queries of several counts, none of them by unit.

    Parameters
    ----------
    source
        The table, or an expression for it.
    countings
        The counts.
    dialect, read
        The dialect, and what writes how a cell is read.
    flags_apart
        Count true and false cells in a query of their own: reading a column by itself costs nothing more.

    Returns
    -------
    list of str
    """
    writers = {False: together_query, True: _flag_query}
    divided = _divided(countings, flags_apart=flags_apart).items()
    return [writers[flags](source, [countings[place] for place in places], dialect, read) for flags, places in divided]


def counted_in_passes(
    results: Sequence[dict[str, Any]], countings: Sequence[Counting], *, flags_apart: bool
) -> list[Counted]:
    """Take the results of these queries apart; the counts are in their own order."""
    take_apart = {False: counted_together, True: _counted_flags}
    found: dict[int, Counted] = {}
    for result, (flags, places) in zip(results, _divided(countings, flags_apart=flags_apart).items(), strict=True):
        found |= zip(places, take_apart[flags](result, [countings[place] for place in places]), strict=True)
    return [found[place] for place in range(len(countings))]


def _divided(countings: Sequence[Counting], *, flags_apart: bool) -> dict[bool, list[int]]:
    """Return the places of counts that are made together: those of flags, if these are counted apart, and others."""
    divided: dict[bool, list[int]] = {}
    for place, counting in enumerate(countings):
        divided.setdefault(flags_apart and _is_flag(counting), []).append(place)
    return divided


def _is_flag(counting: Counting) -> bool:
    """Tell whether true and false cells are counted, without groups and without a filter.

    DuckDB may answer a sum from statistics, which leave NaN out, so no test of numbers may stand before it.
    """
    return counting.plain and counting.axes[0].kind == "boolean"


def _flag_query(source: str, countings: Sequence[Counting], dialect: Dialect, read: ReadCell) -> str:
    """Write a query of one row: the numbers of true and of false cells of each column, which are NULL of none."""
    cells = [f"{read(each.axes[0].column, 'boolean').value} AS v{i}" for i, each in enumerate(countings)]
    sums = [
        f"{dialect.as_integer(f'coalesce(count_if({test}), 0)')} AS {name}{i}"
        for i in range(len(countings))
        for test, name in ((f"v{i}", "yes"), (f"NOT v{i}", "no"))
    ]
    return f"SELECT {', '.join(sums)}\nFROM (SELECT {', '.join(cells)} FROM {source}) AS t"


def _counted_flags(columns: dict[str, Any], countings: Sequence[Counting]) -> list[Counted]:
    """Take the row apart; a number of zero is not a bucket."""
    out = []
    for i in range(len(countings)):
        records = np.array([int(columns[name][0]) for name in (f"yes{i}", f"no{i}")], dtype=np.int64)
        out.append(Counted((np.array([True, False])[records > 0],), records[records > 0]))
    return out
