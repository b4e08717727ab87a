"""Ranks of a column where its records are: engines count, Python ranks.

    records ──▶ keep            one private copy: read, tested, bounded and grouped exactly as a count does
    copy    ──▶ pieces          SELECT cell, min(v), max(v), count(*) GROUP BY cell: the column in a few thousand pieces
    pieces  ──▶ values          of few records all values, by one statement
            ──▶ put, parts      of many, only those of the pieces that this request needs or later ones probably will
    cuts    ──▶ counts          SELECT bucket, count(*) GROUP BY bucket, where a cut divides a piece
    pieces  ──▶ Column.fetch    everything else, in numpy

Arrays, lists, and up to 2^24 records that DuckDB reads in this process are sorted at once instead, by one statement
that needs no copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Protocol, TypeVar

import numpy as np

from flexdp._core.faults import FaultError, concealed
from flexdp._core.forks import inside_release
from flexdp.buckets.open_edges import OpenEdges
from flexdp.errors import FlexdpError, InputError
from flexdp.histogram import KeyedHistogram
from flexdp.sharp.column import Column, Pieces, array_of
from flexdp.sharp.ranks import Ranks, Reply, Request, Tally
from flexdp.sharp.scale import NUMBERS, Scale
from flexdp.tables.counting import Axis, Counted, Counting
from flexdp.tables.interrupts import run
from flexdp.tables.session import Session
from flexdp.tables.source import Source, histogram_of
from flexdp.tables.sql.rank_query import NAMED, PARTS, RankQuery, exactly

__all__ = ["GroupedRanks", "check_ranks", "open_ranks", "rank_query_of"]

FEW = 1 << 20  # records of several groups whose values are fetched together
SORTED_AT_MOST = 1 << 24  # records that are sorted in this process
_KINDS = ("integer", "number", "date", "datetime", "boolean")
_T = TypeVar("_T")
Key = tuple[Any, ...]


class GroupedRanks(Protocol):
    """A private column that answers rank requests, as a whole or by group.

    Without groups it is a :class:`~flexdp.sharp.ranks.Ranks` itself.
    """

    @property
    def scale(self) -> Scale:
        """The scale of the values, which is public."""

    def fetch(self, request: Request) -> Reply:
        """Answer a request about the whole column; of a column without groups."""

    def together(self, groups: Sequence[Key]) -> Iterator[tuple[Key, Ranks]]:
        """Return each of several public groups with its ranks, in any order; small ones are read together.

        A key is written as in ``Counting.declared`` and need not occur. Ranks are to be used before the next are asked
        for.
        """

    def whole(self) -> Ranks:
        """Return the ranks of all records that count, whatever their groups."""

    def group_counts(self) -> KeyedHistogram:
        """Return the private number of readable records, or units, in every group that occurs."""

    def group_sizes(self) -> tuple[KeyedHistogram, list[int]]:
        """Return the private sizes of large groups, and how many small ones have 0, 1, 2, … records, or units."""

    def groups_at(self, places: Mapping[tuple[int, int], int]) -> KeyedHistogram:
        """Return small groups, each with a number that it is given.

        A place is a number of records, and a turn among the groups of so many, from 1, in the order of their keys.
        """

    def bars(self, buckets: OpenEdges) -> KeyedHistogram:
        """Return the private number of records, or units, in every bucket of every group that holds any."""


def check_ranks(source: Source, counting: Counting) -> None:
    """Refuse a column that has no ranks, before any record is read.

    Parameters
    ----------
    source
        The source.
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
    source.check(exactly(counting))
    source.check_copies()


@contextmanager
def open_ranks(source: Source, counting: Counting) -> Iterator[GroupedRanks]:
    """Read the records that count, once, and answer requests about their ranks until closed.

    Parameters
    ----------
    source
        The source.
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
    >>> source = open_table([3, 1, 3])
    >>> axis = Axis(column=source.column(None), kind="integer", buckets=Exact("integer"))
    >>> with open_ranks(source, Counting(values=(axis,))) as ranks:
    ...     reply = ranks.fetch(Request(cuts=(2,)))
    >>> reply.total, list(reply.before)
    (3, [1])
    """
    check_ranks(source, counting)
    exact = exactly(counting)
    held = run(lambda: source.held(exact), lambda: None) if exact.plain else None
    if held is not None:
        yield _Sorted(held)
        return
    with _entered(source.session([exact], copies=True)) as session:
        query, records = source.ranked(exact, session.rows, session.looked)
        few = _sorted_at_once(query, records, session) if source.reads_twice else None
        if few is None and source.stays and query.reads_cheaply:
            query = query.in_place(records)
        elif few is None:
            session.keep(session.rows, query.copied(records))
            few = None if source.reads_twice else _sorted_at_once(query, None, session)
        yield few or _Copied(query, session)


def _sorted_at_once(query: RankQuery, records: str | None, session: Session) -> _Sorted | None:
    """Return a column of few records, whose values are fetched within this process, as they are read or copied."""
    if not session.in_process or query.counting.groups or query.wide:
        return None
    if records is not None and query.reads_cheaply and session.ask(query.total)[0][0] > SORTED_AT_MOST:
        return None
    found = session.columns(query.every_value(records, SORTED_AT_MOST), ["v"])["v"]
    if len(found) > SORTED_AT_MOST:
        return None
    values = found.compressed() if isinstance(found, np.ma.MaskedArray) else found
    dtype = np.float64 if query.scale is NUMBERS else np.int64
    return _Sorted(_safely(lambda: Column.from_values(values.astype(dtype, copy=False), own=True)))


@contextmanager
def _entered(manager: AbstractContextManager[Session]) -> Iterator[Session]:
    """Enter and leave a session; failures on the way in and out are the one error, those inside stay as they are."""
    with inside_release():
        session = _safely(manager.__enter__)
    try:
        yield session
    except BaseException:
        with suppress(Exception):  # the failure inside is the one that counts
            manager.__exit__(None, None, None)
        raise
    _safely(lambda: manager.__exit__(None, None, None))


def _safely(work: Callable[[], _T]) -> _T:
    """Do private work; whatever goes wrong is the one error, whose message never varies."""
    return concealed(work, passing=(FlexdpError,))


class _Sorted:
    """A column that is sorted in memory."""

    def __init__(self, column: Column) -> None:
        self._column = column

    @property
    def scale(self) -> Scale:
        return self._column.scale

    def fetch(self, request: Request) -> Reply:
        return _safely(lambda: self._column.fetch(request))

    def whole(self) -> Ranks:
        return self

    def together(self, groups: Sequence[Key]) -> Iterator[tuple[Key, Ranks]]:  # noqa: ARG002
        raise _no_groups()

    def group_counts(self) -> KeyedHistogram:
        raise _no_groups()

    def group_sizes(self) -> tuple[KeyedHistogram, list[int]]:
        raise _no_groups()

    def groups_at(self, places: Mapping[tuple[int, int], int]) -> KeyedHistogram:  # noqa: ARG002
        raise _no_groups()

    def bars(self, buckets: OpenEdges) -> KeyedHistogram:
        return _bars_of(self, buckets)

    def __repr__(self) -> str:
        return "<Ranks>"  # its content is private


def _no_groups() -> InputError:
    return InputError("by", "is missing: this column has no groups")


def _bars_of(ranks: Ranks, buckets: OpenEdges) -> KeyedHistogram:
    """Count the records of a column without groups in buckets, from ranks alone."""
    reply = ranks.fetch(Request(cuts=tuple(ranks.scale.units(start) for start in buckets.starts)))
    counts = np.diff(np.array([0, *reply.before, reply.total], dtype=np.int64))
    filled = np.flatnonzero(counts)
    return KeyedHistogram([filled], counts[filled])


class _Copied:
    """The ranks of a private copy."""

    def __init__(self, query: RankQuery, session: Session) -> None:
        self._query, self._session = query, session
        self._whole: _Sorted | None = None
        self._sizes: dict[Key, int] = {}  # of the groups that are known by now

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

    def together(self, groups: Sequence[Key]) -> Iterator[tuple[Key, Ranks]]:
        if any(group not in self._sizes for group in groups):
            self.group_counts()
        waiting: list[Key] = []
        held = 0
        for group in groups:
            size = self._sizes.get(group, 0)
            if waiting and held + size > FEW:
                yield from self._small(waiting)
                waiting, held = [], 0
            if size > FEW:
                yield group, self._ranks(group)
            elif size:
                waiting.append(group)
                held += size
            else:
                yield group, _Sorted(Column(self.scale, self._no_pieces))
        yield from self._small(waiting)

    def group_counts(self) -> KeyedHistogram:
        if not self._query.counting.groups:
            raise _no_groups()
        counted = _safely(lambda: self._counted(self._query.group_counts(), self._query.counting.groups))
        self._keep(counted)
        return counted

    def group_sizes(self) -> tuple[KeyedHistogram, list[int]]:
        if not self._query.counting.groups:
            raise _no_groups()
        large, small = _safely(self._by_size)
        self._keep(large)
        return large, small

    def _by_size(self) -> tuple[KeyedHistogram, list[int]]:
        rows = self._session.ask(self._query.group_sizes())
        few = {int(records): int(groups) for *_, records, groups in rows if records < NAMED}
        large = [row[:-1] for row in rows if row[-2] >= NAMED]
        return self._histogram(large, self._query.counting.groups), [few.get(size, 0) for size in range(NAMED)]

    def groups_at(self, places: Mapping[tuple[int, int], int]) -> KeyedHistogram:
        if not self._query.counting.groups:
            raise _no_groups()
        sizes, given = _safely(lambda: self._at(places))
        self._keep(sizes)
        return given

    def _at(self, places: Mapping[tuple[int, int], int]) -> tuple[KeyedHistogram, KeyedHistogram]:
        """Return groups at some places with their sizes, and with the numbers that they are given."""
        nought = 0.0 if self._query.scale is NUMBERS else 0
        rows: Sequence[Sequence[Any]] = []
        if places:
            looked = [(turn, float(records), nought, nought, 0.0) for records, turn in places]
            self._session.put(looked, self._query.value_type)
            rows = self._session.ask(self._query.groups_at())
        found = [(tuple(key), (int(records), int(turn))) for *key, records, turn in rows]
        if sorted(place for _, place in found) != sorted(places):
            raise FaultError("groups at other places")
        groups = self._query.counting.groups
        sizes = self._histogram([(*key, place[0]) for key, place in found], groups)
        return sizes, self._histogram([(*key, places[place]) for key, place in found], groups)

    def _keep(self, counted: KeyedHistogram) -> None:
        self._sizes.update(zip(counted.rows(slice(None)), counted.counts.tolist(), strict=True))

    def bars(self, buckets: OpenEdges) -> KeyedHistogram:
        counting = self._query.counting
        if not counting.groups:
            return _bars_of(self, buckets)
        axes = (*counting.groups, replace(counting.values[0], buckets=buckets))
        return _safely(lambda: self._counted(self._query.bars(buckets), axes))

    def _counted(self, statement: str, axes: Sequence[Axis]) -> KeyedHistogram:
        return self._histogram(self._session.ask(statement), axes)

    def _histogram(self, rows: Sequence[Sequence[Any]], axes: Sequence[Axis]) -> KeyedHistogram:
        """Make a histogram of rows of key, records."""
        cells: list[Any] = [list(part) for part in zip(*rows, strict=True)] or [[] for _ in range(len(axes) + 1)]
        keys = []
        for cell, axis in zip(cells, axes, strict=False):
            whole = axis.kind in ("integer", "date") or isinstance(axis.buckets, OpenEdges)
            keys.append(array_of((int(key) if whole else key) for key in cell))
        records = np.array(cells[-1], dtype=np.int64)
        return histogram_of(Counted(tuple(keys), records), axes)

    def _ranks(self, group: Key) -> _Sorted:
        """Return the ranks of the column, or of a group of many records, in pieces or sorted."""
        records = _Records(self._query, self._session, group)
        return _Sorted(_safely(records.column))

    def _small(self, groups: Sequence[Key]) -> Iterator[tuple[Key, Ranks]]:
        """Return groups whose values are fetched by one statement."""
        if not groups:
            return
        columns = _safely(lambda: self._values_of(groups))
        for group in groups:
            yield group, _Sorted(columns.pop(group))

    def _values_of(self, groups: Sequence[Key]) -> dict[Key, Column]:
        found = _fetched(self._query, self._session, self._query.values_together(groups))
        found = found.at(np.argsort(found.cell, kind="stable"))  # by the places of groups, so that each is a slice
        ends = np.searchsorted(found.cell, np.arange(len(groups) + 1)).tolist()
        return {
            group: _Records(self._query, self._session, group).of_values(found.at(slice(*span)))
            for group, span in zip(groups, pairwise(ends), strict=True)
        }

    @property
    def _no_pieces(self) -> Pieces:
        return _pieces(self._query, [[], [], [], []])

    def __repr__(self) -> str:
        return "<Ranks>"  # its content is private


@dataclass(frozen=True)
class _Records:
    """The records of a private copy, or of one of its groups."""

    query: RankQuery
    session: Session = field(repr=False)
    group: Key = field(repr=False)

    def column(self) -> Column:
        """Return the column in pieces."""
        found = _fetched(self.query, self.session, self.query.pieces(self.group))
        return Column(self.query.scale, found.in_order(), self)

    def of_values(self, pieces: Pieces) -> Column:
        """Return the column of values that are known."""
        return Column(self.query.scale, pieces.in_order(), self)

    def everything(self, total: int, wanted: int = 0) -> Pieces | None:
        """Return all values, if there are few records, or more of which half are needed."""
        if total > (4 * FEW if 2 * wanted > total else FEW // 8):  # a driver takes microseconds for each row
            return None
        return _fetched(self.query, self.session, self.query.values(self.group))

    def before(self, cuts: Sequence[int]) -> list[int]:
        """Count the records before each of some ascending public cuts."""
        counts = np.zeros(len(cuts) + 1, dtype=np.int64)
        for place, records in self.session.ask(self.query.counts(cuts, self.group)):
            counts[int(place)] = records
        running: list[int] = np.cumsum(counts)[:-1].tolist()
        return running

    def look(self, pieces: Pieces, *, split: bool) -> Pieces:
        """Look into pieces: at their values, or with ``split`` at smaller pieces."""
        rows = [
            (place, cell, low, high, PARTS / (high - low))
            for place, (low, high, _, cell) in enumerate(zip(*(part.tolist() for part in pieces), strict=True))
        ]
        self.session.put(rows, self.query.value_type)
        found = _fetched(self.query, self.session, self.query.parts(self.group, split=split))
        return found._replace(cell=pieces.cell[found.cell.astype(np.int64)])

    def tally(self, wanted: Tally) -> int:
        """Return the sum of all records' places on a public ladder."""
        return int(self.session.ask(self.query.tallied(wanted, self.group))[0][0])


def _fetched(query: RankQuery, session: Session, statement: str) -> Pieces:
    """Run a statement that returns a cell or place, the ends and the number of records of each piece."""
    if session.in_process:
        return _pieces(query, [np.ma.getdata(part) for part in session.columns(statement, ()).values()])
    return _pieces(query, list(zip(*session.ask(statement), strict=True)) or [[], [], [], []])


def _pieces(query: RankQuery, columns: Sequence[Any]) -> Pieces:
    cell, low, high, count = columns
    if query.wide:
        low, high = (array_of(map(int, part)) for part in (low, high))
    else:
        dtype = np.float64 if query.scale is NUMBERS else np.int64
        low, high = (np.asarray(part).astype(dtype) for part in (low, high))
    return Pieces(low, high, np.asarray(count).astype(np.int64), np.asarray(cell).astype(np.float64))


_ROWS, _LOOKED = "flexdp_records", "flexdp_looked"


def rank_query_of(source: Source, counting: Counting, *, listing: bool = False, dialect: object = None) -> str:
    """Return the statements that a program runs, without running them.

    Parameters
    ----------
    source
        The source.
    counting
        As in :func:`open_ranks`.
    listing
        Show the statements by which groups are listed: how many have so many records, and the keys of some of them.
    dialect
        The dialect to show them in; that of the table's own engine by default.

    Returns
    -------
    str
        The copy, its pieces, and the values of some of them, with semicolons between them.
    """
    from flexdp.tables.translate import ranked_in, shown_in

    check_ranks(source, counting)
    exact = exactly(counting)
    if dialect is None:
        return _text(*source.ranked(exact, _ROWS, _LOOKED), exact, listing=listing)
    return shown_in(dialect, lambda name: _text(*ranked_in(name, exact, _ROWS, _LOOKED), exact, listing=listing))


def _text(query: RankQuery, records: str, exact: Counting, *, listing: bool) -> str:
    group = () if not exact.groups else tuple(exact.declared[0]) if exact.declared else ("…",) * len(exact.groups)
    copy = f"CREATE TEMPORARY TABLE {_ROWS} AS\n{query.copied(records)}"
    listed = [query.group_sizes(), query.groups_at()] if listing else []
    asked = [query.pieces(group), query.parts(group)]
    return ";\n\n".join(text + query.dialect.ending for text in (copy, *listed, *asked))
