"""Ranks of a column where its records are: the requests of sharp answers, on every source.

The records that count are copied once, privately, by one statement that reads, tests, bounds and groups them exactly as
a count does. Every request is then one statement over the copy. Arrays and lists are sorted in memory instead, and so
are copies of few records in DuckDB, which lives in this process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from flexdp.errors import DataError, FlexdpError, InputError
from flexdp.histogram import KeyedHistogram
from flexdp.sharp.column import Column
from flexdp.sharp.ranks import Near, Ranks, Reply, Request, Window
from flexdp.sharp.scale import NUMBERS, Scale
from flexdp.tables.counting import Counted, Counting
from flexdp.tables.interrupts import run
from flexdp.tables.sql.rank_query import RankQuery, exactly
from flexdp.tables.sql.workspace import Workspace
from flexdp.tables.table import Table, histogram_of

__all__ = ["GroupedRanks", "check_ranks", "open_ranks", "rank_query_of"]

SORTED_AT_MOST = 1 << 22  # records of a copy that are sorted in memory, where DuckDB holds them in this process
_KINDS = ("integer", "number", "date", "datetime")
_T = TypeVar("_T")


class GroupedRanks(Protocol):
    """A private column that answers requests, as a whole or by group.

    Without groups it is a :class:`~flexdp.sharp.ranks.Ranks` itself.
    """

    @property
    def scale(self) -> Scale:
        """The scale of the values, which is public."""

    def fetch(self, request: Request) -> Reply:
        """Answer a request about the whole column; of a column without groups."""

    def group(self, key: Sequence[Any]) -> Ranks:
        """Return the ranks of one group, which need not occur; its key is written as in ``Counting.declared``."""

    def group_counts(self) -> KeyedHistogram:
        """Return the private number of readable records, or units, in every group that occurs."""


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
        raise InputError("ask", "needs a column of numbers, dates or datetimes", given=counting.values[0].kind)
    check = getattr(table, "check", None)
    if check is not None:
        check(exactly(counting))
    if isinstance(table, _Probed):
        table.check_copies()


@contextmanager
def open_ranks(table: Table, counting: Counting) -> Iterator[GroupedRanks]:
    """Read the records that count, once, and answer requests about their ranks until closed.

    Parameters
    ----------
    table
        The table.
    counting
        What counts: one released column, of whose buckets only the bounds matter; columns of groups, all of them or
        the declared ones; units, with the salt of the release.

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
    if isinstance(table, _Sortable) and not exact.groups and exact.units is None:
        yield _Sorted(run(lambda: table.sorted_column(exact), lambda: None))
        return
    if not isinstance(table, _Copyable):
        raise TypeError("a table that can neither be sorted nor copied")
    with _entered(table.workspace(exact)) as workspace:
        yield _copied(table, exact, workspace)


@runtime_checkable
class _Sortable(Protocol):
    """A table in memory; one of its columns alone is sorted here."""

    def sorted_column(self, counting: Counting) -> Column:
        """Return the readable values of a column, sorted."""


@runtime_checkable
class _Probed(Protocol):
    """A table whose engine may refuse private copies, whatever its records are."""

    def check_copies(self) -> None:
        """Refuse a session in which no private copy can be made."""


@runtime_checkable
class _Copyable(Protocol):
    """A table whose records can be copied privately on its engine."""

    def workspace(self, counting: Counting) -> AbstractContextManager[Workspace]:
        """Open a session that can make and read private copies."""


@contextmanager
def _entered(manager: AbstractContextManager[Workspace]) -> Iterator[Workspace]:
    """Enter and leave a session; failures on the way in and out are the one error, those inside stay as they are."""
    workspace = _safely(manager.__enter__)
    try:
        yield workspace
    except BaseException:
        with suppress(Exception):  # the failure inside is the one that counts
            manager.__exit__(None, None, None)
        raise
    _safely(lambda: manager.__exit__(None, None, None))


def _safely(work: Callable[[], _T]) -> _T:
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


def _copied(table: Table, counting: Counting, workspace: Workspace) -> GroupedRanks:
    query, records = table.ranked(counting, workspace.rows, workspace.cells)
    workspace.keep(workspace.rows, records)
    small = False
    if workspace.arrays is not None:
        small = int(workspace.ask(f"SELECT count(*) FROM {workspace.rows}")[0][0]) <= SORTED_AT_MOST
    if not small or counting.groups:
        workspace.keep(workspace.cells, query.grouped())
    return _Copied(query, workspace, small)


class _Sorted:
    """A column that is sorted in memory."""

    def __init__(self, column: Column) -> None:
        self._column = column

    @property
    def scale(self) -> Scale:
        return self._column.scale

    def fetch(self, request: Request) -> Reply:
        return _safely(lambda: self._column.fetch(request))

    def group(self, key: Sequence[Any]) -> Ranks:  # noqa: ARG002
        raise _no_groups()

    def group_counts(self) -> KeyedHistogram:
        raise _no_groups()

    def __repr__(self) -> str:
        return "<Ranks>"  # its content is private


def _no_groups() -> InputError:
    return InputError("by", "is missing: this column has no groups")


class _Copied:
    """A column of a private copy on an engine."""

    def __init__(self, query: RankQuery, workspace: Workspace, small: bool) -> None:
        self._query, self._workspace, self._small = query, workspace, small
        self._whole: Ranks | None = None

    @property
    def scale(self) -> Scale:
        return self._query.scale

    def fetch(self, request: Request) -> Reply:
        if self._query.counting.groups:
            raise InputError("by", "is given: ask for the ranks of each group")
        if self._whole is None:
            self._whole = self._ranks(())
        return self._whole.fetch(request)

    def group(self, key: Sequence[Any]) -> Ranks:
        if len(key) != len(self._query.counting.groups):
            raise InputError("group", f"must have {len(self._query.counting.groups)} values")
        return self._ranks(tuple(key))

    def group_counts(self) -> KeyedHistogram:
        if not self._query.counting.groups:
            raise _no_groups()
        return _safely(self._group_counts)

    def _group_counts(self) -> KeyedHistogram:
        groups = self._query.counting.groups
        rows = self._workspace.ask(self._query.group_counts())
        cells: list[Any] = [list(part) for part in zip(*rows, strict=True)] or [[] for _ in range(len(groups) + 1)]
        keys = []
        for cell, axis in zip(cells, groups, strict=False):
            whole = axis.kind in ("integer", "date")
            keys.append(np.array([*((int(key) if whole else key) for key in cell), None], dtype=object)[:-1])
        records = np.array(cells[-1], dtype=np.int64)
        return histogram_of(Counted(tuple(keys), records), groups)

    def _ranks(self, group: tuple[Any, ...]) -> Ranks:
        if not self._small:
            return _OnEngine(self._query, self._workspace, group)
        return _SortedCopy(self._query, self._workspace, group)

    def __repr__(self) -> str:
        return "<Ranks>"  # its content is private


class _SortedCopy:
    """The ranks of one group, or of the whole column, with the few values of the copy sorted in memory.

    Whether a copy is sorted depends on the number of its records, so that every reply must be the one that the engine
    would have given: tallies, in which halves may be rounded either way, are the engine's own.
    """

    def __init__(self, query: RankQuery, workspace: Workspace, group: tuple[Any, ...]) -> None:
        self._query, self._workspace, self._group = query, workspace, group
        self._column: Column | None = None

    @property
    def scale(self) -> Scale:
        return self._query.scale

    def fetch(self, request: Request) -> Reply:
        if self._column is None:
            assert self._workspace.arrays is not None
            found = self._workspace.arrays(self._query.values(self._group))["v"]
            self._column = _safely(lambda: _column_of(self._query, np.ma.getdata(found)))
        column, group = self._column, self._group
        reply = _safely(lambda: column.fetch(replace(request, tallies=())))
        tallies = [int(self._workspace.ask(self._query.tallied(tally, group))[0][0]) for tally in request.tallies]
        return replace(reply, tallies=tallies)

    def __repr__(self) -> str:
        return "<Ranks>"  # its content is private


def _column_of(query: RankQuery, values: Any) -> Column:
    if not len(values):
        return Column(query.scale, np.zeros(0, dtype=np.float64 if query.scale is NUMBERS else np.int64))
    if query.wide:
        return Column.from_values([int(value) for value in values])
    return Column.from_values(values if query.scale is NUMBERS else values.astype(np.int64))


class _OnEngine:
    """The ranks of one group, or of the whole column, by one statement a request."""

    def __init__(self, query: RankQuery, workspace: Workspace, group: tuple[Any, ...]) -> None:
        self._query, self._workspace, self._group = query, workspace, group

    @property
    def scale(self) -> Scale:
        return self._query.scale

    def fetch(self, request: Request) -> Reply:
        cuts = _cuts_within(self._query, request)
        rows = self._workspace.ask(self._query.statement(request, cuts, self._group))
        return _safely(lambda: _reply(self._query, request, cuts, rows))

    def __repr__(self) -> str:
        return "<Ranks>"  # its content is private


def _cuts_within(query: RankQuery, request: Request) -> list[int]:
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


def rank_query_of(table: Table, counting: Counting, requests: Sequence[Request] = ()) -> str:
    """Return the statements that a program runs, without running them.

    Parameters
    ----------
    table
        The table.
    counting
        As in :func:`open_ranks`.
    requests
        The requests that are known beforehand. One more statement is shown for those that depend on answers; in it
        ``:cuts`` stands for their public cuts, and ``:enough`` for the count from which on counts are alike.

    Returns
    -------
    str
        The copy, its cells, and one statement for each request, with semicolons between them.
    """
    check_ranks(table, counting)
    exact = exactly(counting)
    query, records = table.ranked(exact, "flexdp_records", "flexdp_cells")
    group = () if not exact.groups else tuple(exact.declared[0]) if exact.declared else ("…",) * len(exact.groups)
    copy = f"CREATE TEMP TABLE flexdp_records AS\n{records}"
    cells = f"CREATE TEMP TABLE flexdp_cells AS\n{query.grouped()}"
    asked = [query.statement(request, _cuts_within(query, request), group) for request in requests]
    later = query.statement(Request(), (), group, shown="SELECT place, x FROM :cuts")
    return ";\n\n".join([copy, cells, *asked, later])
