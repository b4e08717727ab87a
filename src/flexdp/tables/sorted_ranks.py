"""Ranks of few records, fetched from an engine in this process and sorted in memory; of many groups, all at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from flexdp._core.faults import concealed
from flexdp.errors import FlexdpError
from flexdp.sharp.cells import ColumnInMemory, column_of
from flexdp.sharp.column import Column
from flexdp.sharp.ranks import Ranks, Reply, Request, Tally
from flexdp.sharp.scale import NUMBERS, Scale
from flexdp.tables.arrow_column import Numbers
from flexdp.tables.sql.group_query import values_together
from flexdp.tables.sql.rank_query import EXACT_TALLY, TINY, RankQuery
from flexdp.tables.sql.workspace import Workspace

__all__ = ["Few", "SortedCopy", "read_together", "read_whole", "safely"]

_T = TypeVar("_T")
_SAMPLE = 20_000  # records whose different values tell whether counting each is worth it
_REPEATED_NUMBERS, _REPEATED_INTEGERS = 0.75, 0.5  # shares of them that may be different; reading integers is cheap
_MOST_KEYS = 1 << 18  # different values that are counted one by one


class Few(NamedTuple):
    """The values of a column in memory; with counts, each of them once. Their limits, where they are known."""

    values: NDArray[Any]  # in any order: columns in memory rearrange them
    counts: NDArray[np.int64] | None = None
    limits: tuple[Any, Any] | None = None

    def __repr__(self) -> str:
        return "<Few>"  # its content is private


def safely(work: Callable[[], _T]) -> _T:
    """Do private work; whatever goes wrong is the one error, whose message never varies."""
    return concealed(work, passing=(FlexdpError,))


class SortedCopy:
    """The ranks of one group, or of the whole column, with the few values of the copy sorted in memory.

    Whether a copy is sorted depends on the number of its records, so that every reply must be the one that the engine
    would have given. Tallies are the engine's own where its arithmetic is not that of doubles or of 64-bit integers.
    """

    def __init__(
        self,
        query: RankQuery,
        workspace: Workspace,
        group: tuple[Any, ...],
        few: Few | None = None,
    ) -> None:
        self._query, self._workspace, self._group = query, workspace, group
        self._few = few
        self._column: ColumnInMemory | None = None

    @property
    def scale(self) -> Scale:
        return self._query.scale

    def fetch(self, request: Request) -> Reply:
        if self._few is None:
            assert self._workspace.arrays is not None
            self._few = Few(np.ma.getdata(self._workspace.arrays(self._query.values(self._group))["v"]))
        few = self._few
        if self._column is None:
            self._column = safely(lambda: _column_of(self._query, few))
        column = self._column
        reply = safely(lambda: column.fetch(replace(request, tallies=())))
        return replace(reply, tallies=[self._tallied(few, tally) for tally in request.tallies])

    def _tallied(self, few: Few, tally: Tally) -> int:
        found = safely(lambda: _tally_in_memory(self._query, few, tally))
        if found is None:
            return int(self._workspace.ask(self._query.tallied(tally, self._group))[0][0])
        return found

    def __repr__(self) -> str:
        return "<Ranks>"  # its content is private


def read_together(
    query: RankQuery, workspace: Workspace, groups: Sequence[tuple[Any, ...]]
) -> Iterator[tuple[tuple[Any, ...], Ranks]]:
    """Fetch the values of several groups by one statement, and return the ranks of each.

    Parameters
    ----------
    query, workspace
        The statements, and the session that they run in, of an engine in this process.
    groups
        The groups; their values must fit in memory.

    Yields
    ------
    tuple
        A group and its ranks.
    """
    if not groups:
        return
    assert workspace.arrays is not None
    found = workspace.arrays(values_together(query, groups))
    values, starts = safely(lambda: _split(found, len(groups)))
    for place, group in enumerate(groups):
        yield group, SortedCopy(query, workspace, group, Few(values[starts[place] : starts[place + 1]]))


def read_whole(query: RankQuery, workspace: Workspace, source: str, most: int) -> Few | None:
    """Fetch a whole column of an engine in this process: each value with its number where they are few, or all values.

    The first records tell which is likely to be faster. They decide on nothing else.

    Parameters
    ----------
    query, workspace
        The statements, of 64-bit integers or doubles without groups, and the session that they run in.
    source
        A table of one column ``v``, of which NULL, infinities and NaN do not count.
    most
        The most records that are fetched.

    Returns
    -------
    Few or None
        None if there are more.
    """
    assert workspace.arrays is not None
    sample = f"SELECT v FROM {source} LIMIT {_SAMPLE}"
    (first,) = workspace.ask(f"SELECT count(v) AS n, count(DISTINCT v) AS d FROM ({sample}) AS s")
    worth = _REPEATED_NUMBERS if query.scale is NUMBERS else _REPEATED_INTEGERS
    if first[1] <= worth * first[0] and first[0] >= _SAMPLE // 2:
        counted = workspace.arrays(f"SELECT v, count(*) AS m FROM {source} GROUP BY v LIMIT {_MOST_KEYS + 1}")
        if len(counted["v"]) <= _MOST_KEYS:
            return safely(lambda: _present(query, counted["v"], counted["m"]))
    if workspace.numbers is not None:
        kind = workspace.dialect.double_type if query.scale is NUMBERS else workspace.dialect.integer_type
        read = workspace.numbers(f"SELECT CAST(v AS {kind}) AS v FROM {source}", most)
        return None if read is None else safely(lambda: _finite(query, read))
    found = workspace.arrays(f"SELECT v FROM {source} LIMIT {most + 1}")["v"]
    return safely(lambda: _present(query, found)) if len(found) <= most else None


def _finite(query: RankQuery, read: Numbers) -> Few:
    """Values that were read without NULLs, without NaN and infinities."""
    values, limits = read
    if query.scale is NUMBERS and limits is not None and not np.isfinite(limits).all():
        return Few(values[np.isfinite(values)])  # the engine may trust statistics that ignore NaN
    return Few(values, limits=limits)


def _present(query: RankQuery, found: Any, counts: Any = None) -> Few:
    """The values that are neither missing nor NaN."""
    numbers = query.scale is NUMBERS
    values = np.ma.getdata(found)
    there: Any = ~np.ma.getmaskarray(found) if np.ma.is_masked(found) else slice(None)
    if numbers and len(values) and not np.isfinite(values[there].sum()):
        there = np.isfinite(values) & ~np.ma.getmaskarray(found)  # the engine may trust statistics that ignore NaN
    kept = values[there].astype(np.float64 if numbers else np.int64, copy=False)
    return Few(kept, None if counts is None else np.ma.getdata(counts)[there].astype(np.int64))


def _split(found: dict[str, Any], groups: int) -> tuple[NDArray[Any], list[int]]:
    """Order values by group, and return where each begins."""
    place = np.ma.getdata(found["place"]).astype(np.int64)
    order = np.argsort(place, kind="stable")
    starts = np.searchsorted(place[order], np.arange(groups + 1)).tolist()
    return np.ma.getdata(found["v"])[order], starts


def _column_of(query: RankQuery, few: Few) -> ColumnInMemory:
    values, counts, limits = few
    if not len(values):
        return Column(query.scale, np.zeros(0, dtype=np.float64 if query.scale is NUMBERS else np.int64))
    if query.wide:
        return Column.from_values([int(value) for value in values])
    if counts is not None:
        return Column.from_counts(values, counts)
    native = values if query.scale is NUMBERS else values.astype(np.int64, copy=False)
    return column_of(native, own=True, limits=limits)


def _tally_in_memory(query: RankQuery, few: Few, tally: Tally) -> int | None:
    """Sum the places of values as the engine does, by the same operations; None where it casts wide integers."""
    if query.wide:
        return None
    values, counts, _ = few
    if query.scale is NUMBERS or max(abs(tally.low), abs(tally.high)) >= EXACT_TALLY:
        low, high, step = (float(query.scale.value(part)) for part in (tally.low, tally.high, tally.step))
        doubles = values.astype(np.float64)
        inside = np.maximum(np.minimum(np.where(np.abs(doubles) < TINY, 0.0, doubles), high), low)
        places = np.floor((inside - low) / step + 0.5).astype(np.int64)
        places = np.minimum(np.maximum(places, 0), tally.cells)
    else:
        whole = np.clip(values.astype(np.int64), tally.low, tally.high)
        places = (whole - tally.low + tally.step // 2) // tally.step
    return int(places.sum() if counts is None else (places * counts).sum())
