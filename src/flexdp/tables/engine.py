"""The interface of an engine, and the tables that engines count.

    open_served(engine, place, "visits") ──▶ engine.session(place) ─▶ engine.describe: names, types, nothing else
                                         ──▶ engine.admit: is every row a record? else rows_are_records=True
                                         ──▶ ServedSource, a Source; each session describes the table again

A new engine is one folder in ``engines`` with the same file names as the others, and one entry in ``registry.py``.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from flexdp._core.faults import FaultError, concealed
from flexdp._core.text import is_short, safe_repr
from flexdp.buckets.base import Kind
from flexdp.errors import FlexdpError, InputError, P
from flexdp.tables.column import Column
from flexdp.tables.counting import Counting
from flexdp.tables.records import not_of_the_row, not_records
from flexdp.tables.session import Session
from flexdp.tables.source import Source
from flexdp.tables.sql.check_query import (
    Inspected,
    Wanted,
    inspect_texts,
    joined,
    served_check_query,
    served_inspected,
)  # fmt: skip
from flexdp.tables.sql.dialect import Dialect
from flexdp.tables.sql.query import ReadCell, Reading
from flexdp.tables.written import WRITTEN, Written

__all__ = [
    "LONGEST_PATH", "Described", "Engine", "Pool", "ServedSource", "check_name", "no_table", "not_permitted",
    "open_served", "readable_file", "there_are", "unread_columns",
]  # fmt: skip

_LONGEST_NAME = 300
LONGEST_PATH = 160  # characters that a message repeats
_MOST_NAMED = 12
_MOST_CHECKED = 500  # by one statement: PostgreSQL returns at most 1664 columns, SQLite 2000


@dataclass(frozen=True)
class Described:
    """A table as an engine describes it. If the description has changed by the time of reading, nothing is released.

    The rows of a table that is not ``stored`` come from a definition, which is checked again before each read.
    ``computed`` columns are computed on reading, perhaps from more than their own row.
    """

    name: str  # as it stands in FROM
    columns: tuple[Column, ...]
    stored: bool = True
    computed: frozenset[str] = frozenset()


class Pool(ABC):
    """A place that lends a connection for each session."""

    @abstractmethod
    def lent(self) -> AbstractContextManager[Any]:
        """Lend a connection."""


class Engine(ABC):
    """The interface that each engine implements.

    Addresses begin with one of its ``schemes``, and files of databases end in one of its ``extensions``. If a
    ``module`` is named, connections of other drivers are refused. ``types`` has the engine's type name for each kind,
    for queries that are only shown.
    """

    name: ClassVar[str]
    dialect: ClassVar[Dialect]
    types: ClassVar[Mapping[str, str]] = {}
    schemes: ClassVar[tuple[str, ...]] = ()
    extensions: ClassVar[tuple[str, ...]] = ()
    module: ClassVar[str] = ""
    has_datetimes: ClassVar[bool] = True
    lone_only: ClassVar[bool] = False  # there are no connections to it
    reads_texts: ClassVar[bool] = False  # as numbers and dates; else texts are texts
    ignores_case: ClassVar[bool] = False  # of columns' names
    may_refuse_copies: ClassVar[bool] = False

    def recognises(self, place: object) -> bool:  # noqa: ARG002
        """Tell whether a place is a connection to this engine, by its class."""
        return False

    def lone(self, source: object) -> str:  # noqa: ARG002
        """Return what a source is called that is a table by itself; empty for what is none of this engine."""
        return ""

    @abstractmethod
    def opened(self, place: Any, *, copies: bool = False) -> AbstractContextManager[Session]:
        """Open a session, read-only unless a private copy is made in it."""

    @contextmanager
    def session(self, place: Any, *, copies: bool = False) -> Iterator[Session]:
        """Open a session, at a place that may be a pool of such places."""
        with ExitStack() as stack:
            found = stack.enter_context(place.lent()) if isinstance(place, Pool) else place
            yield stack.enter_context(self.opened(found, copies=copies))

    @abstractmethod
    def describe(self, session: Any, table: str) -> Described:
        """Describe a table without reading a record; if there is none, raise :func:`no_table`."""

    @abstractmethod
    def read_cell(self, cell: str, column: Column, kind: Kind) -> Reading:
        """Write how a cell is read as a kind, NULL where it is not of that kind."""

    def hold(self, session: Any, name: str) -> None:  # noqa: B027  (most engines describe and read one snapshot)
        """Keep the definition of a table from being changed until the session is closed."""

    def admit(self, session: Any, found: Described, *, vouched: bool) -> None:  # noqa: ARG002
        """Refuse a table whose rows need not be records, unless the caller has ``vouched`` for them."""
        if not (found.stored or vouched):
            raise not_records()

    def unread(self, session: Any, found: Described) -> frozenset[str]:
        """Return the columns that the connection may not read, without reading a record."""
        return unread_columns(session, found, self.dialect.identifier)

    def files(self, place: str) -> tuple[str, ...]:  # noqa: ARG002
        """Return the file of a place that is one, after checking that it can be read."""
        return ()

    def names(self, session: Any) -> Sequence[str]:  # noqa: ARG002
        """Return the first declared names of tables and views."""
        return ()

    def refusal(self, place: Any, error: Exception) -> InputError:  # noqa: ARG002
        """Return the error for a place whose tables cannot be described; the engine's message is not repeated."""
        return InputError(
            "source", ": the declared columns cannot be read", remedy="Check that the connection is open."
        )


def open_served(engine: Engine, place: Any, table: object, *, rows_are_records: bool = False) -> ServedSource:
    """Open a table of an engine: describe it, and refuse rows that are not known to be records.

    Parameters
    ----------
    engine
        The engine.
    place
        A place that it recognises.
    table
        The name of the table, as the caller gave it.
    rows_are_records
        The caller vouches for the rows.

    Returns
    -------
    ServedSource
        The table. No record has been read.

    Raises
    ------
    InputError
        If there is no such table, or it is refused.
    """
    wanted = check_name(table)
    files = engine.files(place) if isinstance(place, str) else ()
    failures: list[Exception] = []
    opened: list[tuple[Described, frozenset[str]]] = []
    try:
        with engine.session(place) as session:
            found = engine.describe(session, wanted)
            opened.append((found, engine.unread(session, found)))
            engine.admit(session, found, vouched=rows_are_records)
    except FlexdpError:
        raise
    except Exception as error:  # noqa: BLE001  (the engine's message is not repeated)
        failures.append(error)
    if failures:
        raise engine.refusal(place, failures.pop())  # outside the handler, so that the error has no cause
    return ServedSource(engine, place, wanted, *opened[0], vouched=rows_are_records, files=files)


@dataclass(frozen=True)
class ServedSource(Source):
    """A table that its engine counts in place. ``unread`` lists the columns that the connection may not read."""

    engine: Engine
    place: Any = field(repr=False)  # an address may hold a password
    table: str
    found: Described
    unread: frozenset[str] = frozenset()
    vouched: bool = False
    files: tuple[str, ...] = ()
    how: Written = WRITTEN

    @property
    def dialect(self) -> Dialect:
        return self.engine.dialect

    @property
    def reads_texts(self) -> bool:  # type: ignore[override]
        return self.engine.reads_texts

    @property
    def reads_twice(self) -> bool:
        return self.found.stored  # a relation may be over a stream

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(replace(column, written=self.how) for column in self.found.columns)

    def written(self, how: Written) -> Source:
        return replace(self, how=how)

    def column(self, name: object) -> Column:
        found = super().column(name)
        alike = [each.name for each in self.columns if str(each.name).casefold() == str(found.name).casefold()]
        if self.engine.ignores_case and len(alike) > 1:
            raise InputError(
                "column",
                f": {safe_repr(name)} differs from another column's name in case only",
                remedy="Rename one of them.",
            )
        return found

    def reads(self, column: Column, kind: Kind) -> bool:
        try:
            self._read(column, kind)
        except InputError:
            return False
        return True

    def check(self, counting: Counting) -> None:
        self._permit(counting.columns)
        for column in counting.columns:
            name = _own_name(column)
            if name in self.found.computed and not self.vouched:
                raise not_of_the_row(name)
        super().check(counting)

    def check_copies(self) -> None:
        if not self.engine.may_refuse_copies:
            return
        made = False
        # Neither the engine's message is repeated, nor is a table waited for that somebody has locked.
        with suppress(Exception), self.engine.session(self.place, copies=True) as session:
            session.name_copies(self.found.name)
            session.keep(session.rows, "SELECT 1 AS x")
            made = len(session.fetch(f"SELECT x FROM {session.rows}")) == 1
        if not made:
            raise InputError(
                "source",
                "does not allow temporary tables, which automatic buckets and asked answers need",
                remedy=(
                    "Give ",
                    P("width"),
                    ", ask for the TEMPORARY privilege, or use a server and a transaction that allow writing.",
                ),
            )

    def reading(self, countings: Sequence[Counting]) -> tuple[str, ReadCell]:  # noqa: ARG002
        return self.found.name, self._read

    @contextmanager
    def session(self, countings: Sequence[Counting], *, copies: bool = False) -> Iterator[Session]:  # noqa: ARG002
        with ExitStack() as stack:
            # The place was described before: whatever is wrong with it now is like any failure of reading.
            session = concealed(lambda: stack.enter_context(self.engine.session(self.place, copies=copies)))
            session.name_copies(self.found.name)
            session.perform(lambda: self._check_unchanged(session))
            yield session

    def inspect(self, wanted: Sequence[Wanted]) -> Inspected:
        self._permit([column for column, _, _ in wanted])
        with self.session(()) as session:
            if self.reads_texts:
                return inspect_texts(session, self.found.name, wanted, self._read)
            places = range(len(wanted))
            parts = [places[start : start + _MOST_CHECKED] for start in places[::_MOST_CHECKED]]
            return joined(parts, [self._inspected(session, [wanted[place] for place in part]) for part in parts])

    def _inspected(self, session: Session, wanted: Sequence[Wanted]) -> Inspected:
        parts = [(self._raw(column), self._read(column, kind).value, kind) for column, kind, _ in wanted]
        row = session.ask(served_check_query(self.found.name, parts, self.dialect))[0]
        return served_inspected(row, [each.column.kind == "number" and each.kind == "number" for each in wanted])

    def _check_unchanged(self, session: Session) -> None:
        self.engine.hold(session, self.found.name)
        found = self.engine.describe(session, self.table)
        if found != self.found:
            raise FaultError("the table has changed since it was opened")
        if not found.stored:
            self.engine.admit(session, found, vouched=self.vouched)

    def _permit(self, columns: Sequence[Column]) -> None:
        """Refuse columns that the connection may not read: a release would be charged, and then fail."""
        for column in columns:
            if _own_name(column) in self.unread:
                some = any(_own_name(each) not in self.unread for each in self.columns)
                raise not_permitted(self.found.name, column.label if some else "")

    def _read(self, column: Column, kind: Kind) -> Reading:
        return self.engine.read_cell(self._raw(column), column, kind)

    def _raw(self, column: Column) -> str:
        return self.dialect.identifier(_own_name(column))


def _own_name(column: Column) -> str:
    return column.engine_name or column.name or ""


def check_name(table: object) -> str:
    """Check a table's name as the caller gave it."""
    if not isinstance(table, str) or not table or len(table) > _LONGEST_NAME or not table.isprintable():
        raise InputError(
            "table",
            "must be the name of a table or view, for example (connection, 'visits')",
            given=safe_repr(table),
        )
    return table


def readable_file(path: str) -> tuple[str, ...]:
    """Return the file of a database, after checking that it can be read.

    Python must not open it: on closing it, the locks that this process holds on it would be lost.
    """
    if not Path(path).is_file() or not os.access(path, os.R_OK):
        shown = safe_repr(path, LONGEST_PATH)
        raise InputError("source", f": {shown} does not exist or cannot be read", remedy="Check path and permissions.")
    return (path,)


def no_table(table: str, names: Sequence[str] = ()) -> InputError:
    """Return the error for a table that cannot be found, whatever the reason; ``names`` are those that there are."""
    return InputError(
        "table",
        f": {safe_repr(table)} does not exist or is not visible",
        remedy=there_are(names) or "Check its name and schema.",
    )


def there_are(names: Sequence[str], what: str = "Tables and views") -> str:
    """List the first declared names that there are; empty where there are none.

    >>> there_are(["visits", "wards"]), there_are([], "Sheets")
    ("Tables and views: 'visits', 'wards'.", '')
    """
    shown = [repr(name) for name in names if is_short(name)]
    more = ", …" if len(names) > _MOST_NAMED else ""
    return f"{what}: {', '.join(shown[:_MOST_NAMED])}{more}." if shown else ""


def not_permitted(table: str, column: str = "") -> InputError:
    """Return the refusal of a table, or of one of its columns, for which a privilege is missing."""
    what = f"{column} of {safe_repr(table)}" if column else safe_repr(table)
    return InputError(
        "source",
        f": the connection may not read {what}: the SELECT privilege is missing",
        remedy="Ask the owner of the table to grant it. Nothing was read.",
    )


def unread_columns(session: Session, found: Described, identifier: Callable[[str], str]) -> frozenset[str]:
    """Return the columns that cannot be selected, by selecting no row; for engines that go on after an error."""
    names = [_own_name(column) for column in found.columns]
    if _selects(session, found.name, list(map(identifier, names))):
        return frozenset()
    session.fetch("SELECT 1")  # raises if the connection is lost
    return frozenset(each for each in names if not _selects(session, found.name, [identifier(each)]))


def _selects(session: Session, name: str, written: Sequence[str]) -> bool:
    try:
        session.fetch(f"SELECT {', '.join(written)} FROM {name} WHERE 1 = 0")
    except Exception:  # noqa: BLE001  (the engine's message is not repeated)
        return False
    return True
