"""Ranks of a column where its records are: the requests of sharp answers, on every source.

The records that count are copied once, privately, by one statement that reads, tests, bounds and groups them exactly as
a count does. Every request is then one statement over the copy. Arrays and lists are sorted in memory instead, and so
are copies of few records in DuckDB, which lives in this process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from flexdp.buckets.open_edges import OpenEdges
from flexdp.errors import InputError
from flexdp.histogram import KeyedHistogram
from flexdp.sharp.cells import ColumnInMemory
from flexdp.sharp.ranks import Near, Ranks, Reply, Request, Window
from flexdp.sharp.scale import NUMBERS, Scale
from flexdp.tables.counting import Axis, Counted, Counting
from flexdp.tables.group_ranks import first_together
from flexdp.tables.interrupts import run
from flexdp.tables.ranked import NOTHING, Copyable, GroupedRanks, Probed, Sortable
from flexdp.tables.sorted_ranks import SortedCopy, read_together, read_whole, safely
from flexdp.tables.sql.rank_query import CROWDED, FINER_BITS, RankQuery, exactly
from flexdp.tables.sql.workspace import Workspace
from flexdp.tables.table import Table, histogram_of

__all__ = ["GroupedRanks", "check_ranks", "cuts_within", "open_ranks"]

SORTED_AT_MOST = 1 << 22  # records of a copy that are sorted in memory, where DuckDB holds them in this process
_KINDS = ("integer", "number", "date", "datetime", "boolean")
_OFTEN = 4  # times as many, where many requests follow
_T = TypeVar("_T")


def check_ranks(table: Table, counting: Counting) -> None:
    """Refuse a column that has no ranks, before any record is read.

    Parameters
    ----------
    table
        The table.
    counting
        A count of one column; of its buckets only the bounds matter.

    Raises
    ------
    InputError
        If there are several columns, their kind has no order that is published, or the engine cannot read them.
    """
    if len(counting.values) != 1:
        raise InputError("ask", "needs one released column")
    if counting.values[0].kind not in _KINDS:
        given = counting.values[0].kind
        raise InputError("ask", "needs a column of numbers, dates, datetimes or booleans", given=given)
    check = getattr(table, "check", None)
    if check is not None:
        check(exactly(counting))
    if isinstance(table, Probed):
        table.check_copies()


@contextmanager
def open_ranks(
    table: Table, counting: Counting, *, often: bool = False, alone: Callable[[], None] = lambda: None
) -> Iterator[GroupedRanks]:
    """Read the records that count, once, and answer requests about their ranks until closed.

    Parameters
    ----------
    table
        The table.
    counting
        What counts: one released column, of whose buckets only the bounds matter; columns of groups, all of them or
        the declared ones; units, with the salt of the release.
    often
        Many requests will be made, so that sorting a larger copy is worth it.
    alone
        Called before an engine makes a copy: waits until no other one is in use.

    Yields
    ------
    GroupedRanks
        To be closed by the end of the ``with`` block, which also removes all copies.

    Raises
    ------
    InputError
        If the column has no ranks.
    DataError
        If anything goes wrong once records are read. The message never varies.

    Examples
    --------
    >>> from flexdp.buckets.exact import Exact
    >>> from flexdp.tables import Axis, open_table
    >>> table = open_table([3, 1, 3])
    >>> axis = Axis(column=table.column(None), kind="integer", buckets=Exact("integer"))
    >>> with open_ranks(table, Counting(values=(axis,))) as ranks:
    ...     reply = ranks.fetch(Request(cuts=(2,)))
    >>> reply.total, list(reply.before)
    (3, [1])
    """
    check_ranks(table, counting)
    exact = exactly(counting)
    if isinstance(table, Sortable) and exact.plain:
        yield _Sorted(run(lambda: table.sorted_column(exact), lambda: None))
        return
    if not isinstance(table, Copyable):
        raise TypeError("a table that can neither be sorted nor copied")
    with _entered(table.workspace(exact)) as workspace:
        yield _copied(table, exact, workspace, SORTED_AT_MOST * (_OFTEN if often else 1), alone)


@contextmanager
def _entered(manager: AbstractContextManager[Workspace]) -> Iterator[Workspace]:
    """Enter and leave a session; failures on the way in and out are the one error, those inside stay as they are."""
    workspace = safely(manager.__enter__)
    try:
        yield workspace
    except BaseException:
        with suppress(Exception):  # the failure inside is the one that counts
            manager.__exit__(None, None, None)
        raise
    safely(lambda: manager.__exit__(None, None, None))


def _copied(
    table: Table, counting: Counting, workspace: Workspace, sorted_at_most: int, on_its_own: Callable[[], None]
) -> GroupedRanks:
    query, records = table.ranked(counting, workspace.rows, workspace.cells)
    alone = workspace.arrays is not None and not counting.groups and not query.wide and sorted_at_most > 0
    direct = alone and workspace.rereads
    few = read_whole(query, workspace, f"({query.as_they_are or records}) AS r", sorted_at_most) if direct else None
    if few is None:
        on_its_own()
        workspace.keep(workspace.rows, records)
    if alone and not direct:
        few = read_whole(query, workspace, workspace.rows, sorted_at_most)
    if few is not None:
        return _Copied(query, workspace, SortedCopy(query, workspace, (), few))
    small = False
    if workspace.arrays is not None:
        small = int(workspace.ask(f"SELECT count(*) FROM {workspace.rows}")[0][0]) <= sorted_at_most
    if not small or counting.groups:
        workspace.keep(workspace.cells, query.grouped())
    return _Copied(query if small else _finer(query, workspace), workspace, small=small)


def _finer(query: RankQuery, workspace: Workspace) -> RankQuery:
    """Return the statements with finer cells where many different values share one; the replies are the same."""
    for bits in FINER_BITS:
        if not int(workspace.ask(query.crowds())[0][0]) or int(workspace.ask(query.crowded())[0][0]) <= CROWDED:
            break
        query = replace(query, bits=bits, cells=f"{workspace.cells}_{bits}")
        workspace.keep(query.cells, query.grouped())
    return query


class _Sorted:
    """A column that is sorted in memory."""

    def __init__(self, column: ColumnInMemory) -> None:
        self._column = column

    @property
    def scale(self) -> Scale:
        return self._column.scale

    def fetch(self, request: Request) -> Reply:
        return safely(lambda: self._column.fetch(request))

    def whole(self) -> Ranks:
        return self

    def group(self, key: Sequence[Any]) -> Ranks:  # noqa: ARG002
        raise _no_groups()

    def together(
        self,
        groups: Sequence[tuple[Any, ...]],  # noqa: ARG002
        first: Request = NOTHING,  # noqa: ARG002
    ) -> Iterator[tuple[tuple[Any, ...], Ranks]]:
        raise _no_groups()

    def group_counts(self) -> KeyedHistogram:
        raise _no_groups()

    def bars(self, buckets: OpenEdges) -> KeyedHistogram:
        return _bars_of(self, buckets)

    def __repr__(self) -> str:
        return "<Ranks>"  # its content is private


def _no_groups() -> InputError:
    return InputError("by", "is missing: this column has no groups")


class _Copied:
    """A column of a private copy on an engine."""

    def __init__(
        self, query: RankQuery, workspace: Workspace, whole: Ranks | None = None, *, small: bool = False
    ) -> None:
        self._query, self._workspace, self._small = query, workspace, small
        self._whole = whole

    @property
    def scale(self) -> Scale:
        return self._query.scale

    def fetch(self, request: Request) -> Reply:
        if self._query.counting.groups:
            raise InputError("by", "is given: ask for the ranks of each group")
        return self.whole().fetch(request)

    def whole(self) -> Ranks:
        if self._whole is None:
            self._whole = self._ranks(())
        return self._whole

    def group(self, key: Sequence[Any]) -> Ranks:
        if len(key) != len(self._query.counting.groups):
            raise InputError("group", f"must have {len(self._query.counting.groups)} values")
        return self._ranks(tuple(key))

    def group_counts(self) -> KeyedHistogram:
        if not self._query.counting.groups:
            raise _no_groups()
        return safely(self._group_counts)

    def _group_counts(self) -> KeyedHistogram:
        return self._counted(self._query.group_counts(), self._query.counting.groups)

    def bars(self, buckets: OpenEdges) -> KeyedHistogram:
        counting = self._query.counting
        if not counting.groups:
            return _bars_of(self, buckets)
        axes = (*counting.groups, replace(counting.values[0], buckets=buckets))
        return safely(lambda: self._counted(self._query.bars(buckets), axes))

    def _counted(self, statement: str, axes: Sequence[Axis]) -> KeyedHistogram:
        rows = self._workspace.ask(statement)
        cells: list[Any] = [list(part) for part in zip(*rows, strict=True)] or [[] for _ in range(len(axes) + 1)]
        keys = []
        for cell, axis in zip(cells, axes, strict=False):
            whole = axis.kind in ("integer", "date") or isinstance(axis.buckets, OpenEdges)
            keys.append(np.array([*((int(key) if whole else key) for key in cell), None], dtype=object)[:-1])
        records = np.array(cells[-1], dtype=np.int64)
        return histogram_of(Counted(tuple(keys), records), axes)

    def together(
        self, groups: Sequence[tuple[Any, ...]], first: Request = NOTHING
    ) -> Iterator[tuple[tuple[Any, ...], Ranks]]:
        if self._workspace.arrays is None:
            yield from first_together(self._query, self._workspace, groups, first, self.group, _window)
            return
        counted = self.group_counts()
        sizes = dict(zip(counted.rows(slice(None)), counted.counts.tolist(), strict=True))
        batch: list[tuple[Any, ...]] = []
        held = 0
        for group in groups:
            size = sizes.get(group, 0)
            if size > SORTED_AT_MOST:
                yield group, _OnEngine(self._query, self._workspace, group)
                continue
            if batch and held + size > SORTED_AT_MOST:
                yield from read_together(self._query, self._workspace, batch)
                batch, held = [], 0
            batch.append(group)
            held += size
        yield from read_together(self._query, self._workspace, batch)

    def _ranks(self, group: tuple[Any, ...]) -> Ranks:
        if not self._small:
            return _OnEngine(self._query, self._workspace, group)
        return SortedCopy(self._query, self._workspace, group)

    def __repr__(self) -> str:
        return "<Ranks>"  # its content is private


def _bars_of(ranks: GroupedRanks, buckets: OpenEdges) -> KeyedHistogram:
    """Count the records of a column without groups in buckets, from ranks alone."""
    reply = ranks.fetch(Request(cuts=tuple(ranks.scale.units(start) for start in buckets.starts)))
    counts = np.diff(np.array([0, *reply.before, reply.total], dtype=np.int64))
    filled = np.flatnonzero(counts)
    return KeyedHistogram([filled], counts[filled])


class _OnEngine:
    """The ranks of one group, or of the whole column, by one statement a request."""

    def __init__(self, query: RankQuery, workspace: Workspace, group: tuple[Any, ...]) -> None:
        self._query, self._workspace, self._group = query, workspace, group

    @property
    def scale(self) -> Scale:
        return self._query.scale

    def fetch(self, request: Request) -> Reply:
        cuts = cuts_within(self._query, request)
        rows = self._workspace.ask(self._query.statement(request, cuts, self._group))
        return safely(lambda: _reply(self._query, request, cuts, rows))

    def __repr__(self) -> str:
        return "<Ranks>"  # its content is private


def cuts_within(query: RankQuery, request: Request) -> list[int]:
    """Return the cuts that may have records on both sides, with the ends of all spans."""
    ends = [end for near in request.windows for end in (near.span.low, near.span.high) if end is not None]
    return sorted(cut for cut in {*request.cuts, *ends} if query.least < cut <= query.most)


def _reply(query: RankQuery, request: Request, cuts: Sequence[int], rows: Sequence[Sequence[Any]]) -> Reply:
    parts: list[list[Sequence[Any]]] = [[], [], [], []]
    for row in rows:
        parts[int(row[0])].append(row)
    total = int(parts[2][0][2])
    places = {int(row[1]): int(row[2]) for row in parts[0]}
    found = {cut: places[place] for place, cut in enumerate(cuts)}

    def before(cut: int) -> int:
        return found.get(cut, 0 if cut <= query.least else total)

    inside: list[list[Sequence[Any]]] = [[] for _ in request.windows]
    for row in parts[1]:
        inside[int(row[1])].append(row)
    windows = []
    for near, found_rows in zip(request.windows, inside, strict=True):
        low = 0 if near.span.low is None else before(near.span.low)
        high = total if near.span.high is None else max(low, before(near.span.high))
        windows.append(_window(query.scale, near, found_rows, low, high))
    tallies = {int(row[1]): int(row[2]) for row in parts[3]}
    return Reply(
        total=total,
        before=[before(cut) for cut in request.cuts],
        windows=windows,
        tallies=[tallies[i] for i in range(len(request.tallies))],
    )


def _window(scale: Scale, near: Near, rows: Sequence[Sequence[Any]], low: int, high: int) -> Window:
    """Make a window of exactly the values that were asked for; the engine returns a few more."""
    lowest, highest = near.ranks(high - low)
    kept = [
        (int(row[2]) - low, int(row[3]) - low, row[4])
        for row in rows
        if low <= int(row[2]) and int(row[3]) <= high
        and int(row[3]) - low >= lowest and int(row[2]) - low <= highest
    ]  # fmt: skip
    kept.sort(key=lambda row: row[1])
    below, upto = (np.array([row[i] for row in kept], dtype=np.int64) for i in (0, 1))
    if scale is NUMBERS:
        values: Any = np.array([float(row[2]) for row in kept], dtype=np.float64)
    else:
        whole = [int(row[2]) for row in kept]
        wide = any(abs(value) >= 2**63 for value in whole)
        values = np.array([*whole, None], dtype=object)[:-1] if wide else np.array(whole, dtype=np.int64)
    return Window(scale, values, below, upto, high - low)
