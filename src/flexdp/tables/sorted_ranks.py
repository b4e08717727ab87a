"""Ranks of few records, fetched from an engine in this process and sorted in memory; of many groups, all at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from flexdp.errors import DataError, FlexdpError
from flexdp.sharp.column import Column
from flexdp.sharp.ranks import Ranks, Reply, Request, Tally
from flexdp.sharp.scale import NUMBERS, Scale
from flexdp.tables.sql.group_query import values_together
from flexdp.tables.sql.rank_query import EXACT_TALLY, RankQuery
from flexdp.tables.sql.workspace import Workspace

__all__ = ["SortedCopy", "read_together", "safely"]

_T = TypeVar("_T")


def safely(work: Callable[[], _T]) -> _T:
    """Do private work; whatever goes wrong is the one error, whose message never varies."""
    out: list[_T] = []
    try:
        with np.errstate(all="ignore"):
            out.append(work())
    except FlexdpError:
        raise
    except Exception:  # noqa: BLE001  (its text may quote a record, and its type may depend on one)
        out.clear()
    if not out:
        raise DataError  # outside the handler, so that no chain of causes leads back to the record
    return out[0]


class SortedCopy:
    """The ranks of one group, or of the whole column, with the few values of the copy sorted in memory.

    Whether a copy is sorted depends on the number of its records, so that every reply must be the one that the engine
    would have given. Tallies are the engine's own where its arithmetic is not that of doubles or of 64-bit integers.
    """

    def __init__(
        self, query: RankQuery, workspace: Workspace, group: tuple[Any, ...], values: NDArray[Any] | None = None
    ) -> None:
        self._query, self._workspace, self._group = query, workspace, group
        self._values = values
        self._column: Column | None = None

    @property
    def scale(self) -> Scale:
        return self._query.scale

    def fetch(self, request: Request) -> Reply:
        if self._values is None:
            assert self._workspace.arrays is not None
            self._values = np.ma.getdata(self._workspace.arrays(self._query.values(self._group))["v"])
        values = self._values
        if self._column is None:
            self._column = safely(lambda: _column_of(self._query, values))
        column = self._column
        reply = safely(lambda: column.fetch(replace(request, tallies=())))
        return replace(reply, tallies=[self._tallied(values, tally) for tally in request.tallies])

    def _tallied(self, values: NDArray[Any], tally: Tally) -> int:
        found = safely(lambda: _tally_in_memory(self._query, values, tally))
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
        yield group, SortedCopy(query, workspace, group, values[starts[place] : starts[place + 1]])


def _split(found: dict[str, Any], groups: int) -> tuple[NDArray[Any], list[int]]:
    """Order values by group, and return where each begins."""
    place = np.ma.getdata(found["place"]).astype(np.int64)
    order = np.argsort(place, kind="stable")
    starts = np.searchsorted(place[order], np.arange(groups + 1)).tolist()
    return np.ma.getdata(found["v"])[order], starts


def _column_of(query: RankQuery, values: Any) -> Column:
    if not len(values):
        return Column(query.scale, np.zeros(0, dtype=np.float64 if query.scale is NUMBERS else np.int64))
    if query.wide:
        return Column.from_values([int(value) for value in values])
    return Column.from_values(values if query.scale is NUMBERS else values.astype(np.int64))


def _tally_in_memory(query: RankQuery, values: NDArray[Any], tally: Tally) -> int | None:
    """Sum the places of values as the engine does, by the same operations; None where it casts wide integers."""
    if query.scale is NUMBERS:
        low, high, step = (float(NUMBERS.value(part)) for part in (tally.low, tally.high, tally.step))
        inside = np.maximum(np.minimum(values.astype(np.float64), high), low)
        places = np.floor((inside - low) / step + 0.5).astype(np.int64)
        return int(np.minimum(np.maximum(places, 0), tally.cells).sum())
    if query.wide or max(abs(tally.low), abs(tally.high)) >= EXACT_TALLY:
        return None
    whole = np.clip(values.astype(np.int64), tally.low, tally.high)
    return int(((whole - tally.low + tally.step // 2) // tally.step).sum())
