"""A source of records, and the only step that counts them.

open_table(place) ──▶ Source           its declared columns, and whether its rows are records; nothing is read
Source.count(countings)                a session ─▶ the table as declared before? ─▶ one statement ─▶ histograms
open_ranks(source, counting)           a session ─▶ … ─▶ one private copy ─▶ pieces of it (ranks.py)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from flexdp._core.faults import FaultError, concealed
from flexdp._core.forks import inside_release
from flexdp.buckets.base import LARGEST_INDEX, Kind
from flexdp.buckets.exact import Exact
from flexdp.errors import FlexdpError, InputError
from flexdp.histogram import KeyedHistogram
from flexdp.sharp.column import Column as RankedColumn
from flexdp.tables.column import Column, no_name, pick
from flexdp.tables.counting import Axis, Counted, Counting, counted, counted_together
from flexdp.tables.session import Session
from flexdp.tables.sql.check_query import Inspected, Wanted
from flexdp.tables.sql.dialect import Dialect
from flexdp.tables.sql.query import ReadCell, count_query, together_query
from flexdp.tables.sql.rank_query import RankQuery, ranked
from flexdp.tables.written import Written

__all__ = ["Source", "histogram_of"]


class Source(ABC):
    """A source of records whose declared columns are known and whose records have not been read.

    ``files`` lists the files that it reads, if any. If it ``reads_texts``, cells of text are parsed as other kinds.

    Examples
    --------
    >>> from flexdp.tables import open_table
    >>> source = open_table([3, 1, 3])
    >>> counting = Counting(values=(Axis(column=source.column(None), kind="integer", buckets=Exact("integer")),))
    >>> "GROUP BY b0" in source.query([counting])
    True
    >>> source.count([counting])[0].counts
    array([1, 2])
    """

    files: tuple[str, ...]
    reads_texts = True

    @property
    def reads_twice(self) -> bool:
        """True unless the source is a stream, or costs as much to read again."""
        return True

    @property
    def stays(self) -> bool:
        """True if every statement of a session reads the same records, without a copy."""
        return False

    @property
    @abstractmethod
    def dialect(self) -> Dialect:
        """The SQL that the source is queried in."""

    @property
    @abstractmethod
    def columns(self) -> tuple[Column, ...]:
        """The declared columns."""

    @abstractmethod
    def reading(self, countings: Sequence[Counting]) -> tuple[str, ReadCell]:
        """Return what stands after FROM in statements of these counts, and what writes how a cell is read."""

    @abstractmethod
    def session(self, countings: Sequence[Counting], *, copies: bool = False) -> AbstractContextManager[Session]:
        """Open a session for the statements of these counts, if the source is still as it was declared.

        With ``copies``, a private copy can be made in it.
        """

    @abstractmethod
    def inspect(self, wanted: Sequence[Wanted]) -> Inspected:
        """Count how many cells are read as each kind, and why the others are not. The counts are not private."""

    @abstractmethod
    def written(self, how: Written) -> Source:
        """Return the source with its cells of text to be read as they are declared to be written."""

    @property
    def keyed(self) -> bool:
        """True if the names of columns are keys of records, which nothing declares."""
        return False

    @property
    def is_text(self) -> bool:
        """True if records are lines of text, or elements of one."""
        return False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the declared columns."""
        return tuple(column.name for column in self.columns if column.name is not None)

    def column(self, name: object) -> Column:
        """Return the declared column of that name; None names that of a source that is a single column."""
        if len(self.columns) == 1 and self.columns[0].name is None:
            no_name(name)
            return self.columns[0]
        return pick(self.columns, name)

    def reads(self, column: Column, kind: Kind) -> bool:  # noqa: ARG002
        """Tell whether the engine has a type for that kind."""
        return True

    def check(self, counting: Counting) -> None:
        """Refuse a count that cannot be made, before any record is read."""
        self.query([counting])

    def check_copies(self) -> None:  # noqa: B027  (most engines always can)
        """Refuse a source of which no private copy can be made; no record is read."""

    def held(self, counting: Counting) -> RankedColumn | None:  # noqa: ARG002
        """Return the readable values of one column alone, where they are in this process already."""
        return None

    def query(self, countings: Sequence[Counting]) -> str:
        """Return the SQL that counts, without running it; of several statements, with semicolons between them."""
        parts = [list(countings)] if self._in_one_pass(countings) else [[counting] for counting in countings]
        return ";\n\n".join(statement for part in parts for statement in self._statements(part))

    def ranked(self, counting: Counting, rows: str, looked: str) -> tuple[RankQuery, str]:
        """Return the statements about the ranks of a column, and the query of the private copy that they read.

        ``rows`` and ``looked`` name the copy, and the table of pieces that are looked into.
        """
        source, read = self.reading([counting])
        return ranked(source, counting, self.dialect, read, rows, looked)

    def count(self, countings: Sequence[Counting]) -> list[KeyedHistogram]:
        """Count the records in each bucket: with :func:`~flexdp.tables.ranks.open_ranks`, where records are read.

        Parameters
        ----------
        countings
            The counts, made in one pass where the engine can.

        Returns
        -------
        list of KeyedHistogram
            The private histogram of each count. Equal keys are summed here, before any noise.

        Raises
        ------
        DataError
            If anything goes wrong. The message never varies.
        """

        def work() -> list[KeyedHistogram]:
            with inside_release(), self.session(countings) as session:
                found = self._counted(session, countings)
            return [histogram_of(each, counting.keys) for each, counting in zip(found, countings, strict=True)]

        return concealed(work, passing=(FlexdpError,))

    def _counted(self, session: Session, countings: Sequence[Counting]) -> list[Counted]:
        statements = self._statements(countings)
        if self._in_one_pass(countings):
            names = {f"c{p}_b{i}": axis for p, each in enumerate(countings) for i, axis in enumerate(each.axes)}
            texts = {name for name, axis in names.items() if axis.kind == "text"}
            columns = session.columns(statements[0], ["whose", *names, "records"], texts)
            return counted_together(columns, countings)
        found = []
        for statement, counting in zip(statements, countings, strict=True):
            keys = {f"b{i}": axis for i, axis in enumerate(counting.keys)}
            texts = {name for name, axis in keys.items() if axis.kind == "text"}
            found.append(counted(session.columns(statement, [*keys, "records"], texts), len(keys)))
        return found

    def _in_one_pass(self, countings: Sequence[Counting]) -> bool:
        """Tell whether counts are made by one statement; those by unit follow one another."""
        together = len(countings) > 1 and self.dialect.has_grouping_sets
        return together and all(counting.units is None for counting in countings)

    def _statements(self, countings: Sequence[Counting]) -> list[str]:
        source, read = self.reading(countings)
        if self._in_one_pass(countings):
            return [together_query(source, countings, self.dialect, read)]
        return [count_query(source, counting, self.dialect, read) for counting in countings]


def histogram_of(counted: Counted, axes: Sequence[Axis]) -> KeyedHistogram:
    """Make a histogram by these axes. A key that no bucket has, NULL or NaN, belongs to records that do not count."""
    keys, records = [np.ma.getdata(part) for part in counted.keys], np.ma.getdata(counted.records)
    sound = np.ones(len(records), dtype=bool)
    for part, key, axis in zip(counted.keys, keys, axes, strict=True):
        sound &= ~np.ma.getmaskarray(part)
        if key.dtype.kind == "f":
            sound &= np.isfinite(key) if isinstance(axis.buckets, Exact) else np.abs(key) <= LARGEST_INDEX
    if not sound.all():
        keys, records = [key[sound] for key in keys], records[sound]
    try:
        return KeyedHistogram([_index(key, axis) for key, axis in zip(keys, axes, strict=True)], records)
    except InputError:
        raise FaultError("keys that no bucket has") from None


def _index(keys: Any, axis: Axis) -> Any:
    """Return keys as the partition numbers its buckets."""
    if axis.kind == "boolean":
        return keys.astype(bool)
    if axis.kind == "text" or (isinstance(axis.buckets, Exact) and axis.kind == "number"):
        return keys
    if keys.dtype == object:  # integers too wide for the engine's arrays come as texts
        return [int(key) for key in keys]
    return keys.astype(np.int64, copy=False)
