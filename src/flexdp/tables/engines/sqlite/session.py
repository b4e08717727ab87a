"""Statements on SQLite: on a private connection to a file, or on the caller's, which is left as it was."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from flexdp._core.text import safe_repr
from flexdp.buckets.base import LONGEST_TEXT
from flexdp.errors import InputError
from flexdp.tables.engines.sqlite.dialect import BYTES, LENGTH, LIKE, MD5, MEAN, SQLITE, TEXT
from flexdp.tables.session import Rows, Session
from flexdp.tables.where.literals import expression

__all__ = ["SqliteSession", "is_connection", "opened"]


def is_connection(source: object) -> bool:
    """Tell whether an object is a connection of the sqlite3 module, without importing it."""
    return any(cls.__module__ == "sqlite3" and cls.__name__ == "Connection" for cls in type(source).__mro__)


class SqliteSession(Session):
    """Statements on a connection, with the functions that SQLite lacks."""

    dialect = SQLITE

    def __init__(self, con: Any) -> None:
        self._con = con
        self.rows, self.looked = "temp.flexdp_records", "temp.flexdp_looked"

    def fetch(self, statement: str) -> Rows:
        return _fetch(self._con, statement)

    def insert(self, statement: str, rows: Rows) -> None:
        self._con.executemany(statement, rows)

    def keep(self, name: str, query: str) -> None:
        self.ask(f"CREATE TEMP TABLE {name} AS {query}")

    def put(self, rows: Rows, value_type: str) -> None:
        self.put_beside(rows, value_type, self.insert, "?")

    def cancel(self) -> None:
        self._con.interrupt()


class FileSession(SqliteSession):
    """Statements on a private connection to a file, within one transaction until there is a copy."""

    def keep(self, name: str, query: str) -> None:
        super().keep(name, query)
        self.ask("COMMIT")  # whatever follows reads the copy; nobody who writes to the file has to wait


class SqliteCallersSession(SqliteSession):
    """Statements on the caller's connection, to whose thread most connections are bound."""

    bound = True

    def __init__(self, con: Any) -> None:
        super().__init__(con)
        mark = uuid.uuid4().hex
        self.rows, self.looked = f"temp.flexdp_records_{mark}", f"temp.flexdp_looked_{mark}"

    def insert(self, statement: str, rows: Rows) -> None:
        """Insert rows; a transaction that this begins is ended, since the caller's is not to be touched."""
        before = self._con.in_transaction
        super().insert(statement, rows)
        if not before and self._con.in_transaction:
            self._con.commit()

    def drop_copies(self) -> None:
        """Drop the temporary tables."""
        for name in (self.rows, self.looked):
            _drop(self._con, name)


@contextmanager
def opened(place: Any) -> Iterator[SqliteSession]:
    """Open a session: on the caller's connection, which is left as it was, or on a private read-only one to a file."""
    if is_connection(place):
        session = SqliteCallersSession(place)
        with _settings(place), _functions(place):
            try:
                yield session
            finally:
                session.drop_copies()
        return
    con = _open(str(place))
    try:
        with _settings(con), _functions(con):
            con.execute("BEGIN")  # one snapshot of the file for all that follows
            yield FileSession(con)
    finally:
        con.close()


def _drop(con: Any, name: str) -> None:
    """Drop a temporary table; while another cursor is in use, only its rows can be removed."""
    import sqlite3

    try:
        _fetch(con, f"DROP TABLE IF EXISTS {name}")
    except sqlite3.Error:
        before = con.in_transaction
        with suppress(sqlite3.Error):  # the connection is closed, and its temporary tables are gone
            _fetch(con, f"DELETE FROM {name}")
            if not before and con.in_transaction:
                con.commit()


def _open(path: str) -> Any:
    import sqlite3

    address = f"file:{quote(str(Path(path).absolute()))}?mode=ro"
    try:
        return sqlite3.connect(address, uri=True, check_same_thread=False, isolation_level=None)
    except sqlite3.Error:
        pass  # refused below, without the engine's message
    raise InputError(
        "source",
        f": {safe_repr(path)} cannot be opened",
        remedy="Check that it is an SQLite database and that you may read it.",
    )


def _fetch(con: Any, statement: str) -> Rows:
    cursor = con.cursor()
    cursor.row_factory = None
    try:
        rows = cursor.execute(statement).fetchall()
    finally:
        cursor.close()
    decoded = ([_decoded(cell) for cell in row] for row in rows)
    return [row for row in decoded if not any(cell is _UNREADABLE for cell in row)]


_UNREADABLE = object()


def _decoded(cell: Any) -> Any:
    """Decode a text. SQLite accepts bytes that are not UTF-8 as texts: those are not readable, nor are long ones."""
    if not isinstance(cell, bytes):
        return cell
    try:
        return _UNREADABLE if len(cell) > LONGEST_TEXT else cell.decode()
    except UnicodeDecodeError:
        return _UNREADABLE


@contextmanager
def _settings(con: Any) -> Iterator[None]:
    before, con.text_factory = con.text_factory, bytes
    try:
        yield
    finally:
        con.text_factory = before


@contextmanager
def _functions(con: Any) -> Iterator[None]:
    """Register the functions that SQLite lacks, and remove them afterwards."""
    import sqlite3

    con.create_function(TEXT, 1, _reader(_fetch(con, "PRAGMA encoding")[0][0]), deterministic=True)
    con.create_function(LENGTH, 1, len, deterministic=True)
    con.create_function(MD5, 1, _md5, deterministic=True)
    con.create_function(BYTES, 1, _bytes, deterministic=True)
    con.create_function(LIKE, 2, _like, deterministic=True)
    con.create_aggregate(MEAN, 1, _Mean)
    try:
        yield
    finally:
        with suppress(sqlite3.Error):  # another cursor is in use: they stay, and do no harm
            for name, arguments in ((TEXT, 1), (LENGTH, 1), (MD5, 1), (MEAN, 1), (BYTES, 1), (LIKE, 2)):
                con.create_window_function(name, arguments, None)  # the one way to remove functions of any kind


_CODECS = {"UTF-8": "utf-8", "UTF-16le": "utf-16-le", "UTF-16be": "utf-16-be"}  # by SQLite's names


def _reader(encoding: str) -> Callable[[bytes | None], str | None]:
    """Return the function that decodes the bytes of the database; None for those that are not text, or too long."""
    codec = _CODECS[encoding]

    def text(octets: bytes | None) -> str | None:
        try:
            read = None if octets is None else octets.decode(codec)
        except UnicodeDecodeError:
            return None
        return None if read is None or len(read.encode()) > LONGEST_TEXT else read

    return text


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


_pattern = lru_cache(maxsize=64)(expression)


def _like(text: str | None, pattern: bytes) -> bool | None:
    return None if text is None else _pattern(pattern.decode()).fullmatch(text) is not None


class _Mean:
    """The sum of shares in ascending order, which depends on nothing but the shares."""

    def __init__(self) -> None:
        self._shares: list[float] = []

    def step(self, share: float) -> None:
        self._shares.append(share)

    def finalize(self) -> float:
        total = 0.0
        for share in sorted(self._shares):
            total += share
        return total
