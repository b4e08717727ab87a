"""Where a ledger is kept: a SQLite file, or PostgreSQL for teams. Every SQL statement is complete and constant.

::

    Ledger ── transaction(write) ──▶ run("entry", "payroll", 3) ──▶ rows      values are always bound, never pasted
                │ COMMIT
                ├─ SQLite: one immediate transaction at a time; the log is synced after the lock is released
                └─ PostgreSQL: a charge locks the row of its data set and no other

In SQLite a commit writes the log without waiting for the disk (``synchronous = NORMAL``); the log is then synced here,
after the lock is released, and only then does the transaction return. So charges of several processes wait for the disk
at the same time, not one after another, and each of them is on disk when it returns. SQLite itself syncs the log before
it moves anything from there to the database, and the database before it reuses the log.
"""

from __future__ import annotations

import os
import re
import stat
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from flexdp._core.extras import extra
from flexdp._core.files import write_new
from flexdp._core.text import safe_repr
from flexdp.errors import InputError, LedgerError

if TYPE_CHECKING:
    import sqlite3

__all__ = ["PostgresStore", "Run", "SqliteStore", "Store", "open_store"]

Run: TypeAlias = Callable[..., list[Any]]  # runs a named statement with its values

_SCHEMA = 2
_FIRST_META = (("schema", str(_SCHEMA)), ("registry", "0" * 64), ("datasets", "0"))
_APPLICATION = 0x464C4458  # "FLDX": in the header of a file, and the advisory lock under which tables are made
_SERVERS = ("postgresql://", "postgres://")
_POSIX = os.name == "posix"  # elsewhere modes say nothing of who may write
_INHERITED: list[Any] = []  # connections of a parent process: neither used nor closed after a fork
_NOTHING = "nothing was charged and nothing was read"
_NO_LEDGER = "Make one with Ledger.create, or flexdp ledger create."

_CREATE_SQLITE = (
    "CREATE TABLE flexdp_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT",
    "CREATE TABLE flexdp_datasets (name TEXT PRIMARY KEY, unit TEXT NOT NULL, by_period INTEGER NOT NULL,"
    " epsilon TEXT NOT NULL, delta TEXT NOT NULL, spent_epsilon TEXT NOT NULL, spent_delta TEXT NOT NULL,"
    " entries INTEGER NOT NULL, head TEXT NOT NULL) STRICT",
    "CREATE TABLE flexdp_entries (dataset TEXT NOT NULL REFERENCES flexdp_datasets (name), number INTEGER NOT NULL,"
    " kind TEXT NOT NULL, epsilon TEXT NOT NULL, delta TEXT NOT NULL, request TEXT NOT NULL, details TEXT NOT NULL,"
    " at TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL UNIQUE, PRIMARY KEY (dataset, number)) STRICT",
    "CREATE TABLE flexdp_documents (dataset TEXT NOT NULL, number INTEGER NOT NULL, document TEXT NOT NULL,"
    " PRIMARY KEY (dataset, number)) STRICT",
    "CREATE INDEX flexdp_requests ON flexdp_entries (dataset, request, kind)",
)
_CREATE_POSTGRES = tuple(
    statement.replace(") STRICT", ")").replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS")
    .replace("CREATE INDEX", "CREATE INDEX IF NOT EXISTS").replace(" INTEGER ", " BIGINT ")
    for statement in _CREATE_SQLITE
)  # fmt: skip
_ENTRY = "dataset, number, kind, epsilon, delta, request, details, at, previous, hash"
_ACCOUNT = "name, unit, by_period, epsilon, delta, spent_epsilon, spent_delta, entries, head"
_BOTH = {
    "meta": "SELECT value FROM flexdp_meta WHERE key = ?",
    "set_meta": "UPDATE flexdp_meta SET value = ? WHERE key = ? AND value = ?",
    "new_meta": "INSERT INTO flexdp_meta (key, value) VALUES (?, ?)",
    "account": f"SELECT {_ACCOUNT} FROM flexdp_datasets WHERE name = ?",
    "accounts": f"SELECT {_ACCOUNT} FROM flexdp_datasets ORDER BY name",
    "new_account": f"INSERT INTO flexdp_datasets ({_ACCOUNT}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    "set_account": "UPDATE flexdp_datasets SET spent_epsilon = ?, spent_delta = ?, entries = ?, head = ?"
    " WHERE name = ? AND head = ?",
    "entry": f"SELECT {_ENTRY} FROM flexdp_entries WHERE dataset = ? AND number = ?",
    "new_entry": f"INSERT INTO flexdp_entries ({_ENTRY}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    "history": f"SELECT {_ENTRY} FROM flexdp_entries WHERE dataset = ? ORDER BY number",
    "orphans": "SELECT count(*) FROM flexdp_entries WHERE dataset NOT IN (SELECT name FROM flexdp_datasets)",
    "stored": "SELECT number FROM flexdp_entries WHERE dataset = ? AND request = ? AND kind = 'store'"
    " ORDER BY number DESC",
    "document": "SELECT document FROM flexdp_documents WHERE dataset = ? AND number = ?",
    "new_document": "INSERT INTO flexdp_documents (dataset, number, document) VALUES (?, ?, ?)",
}
_SQLITE = MappingProxyType({**_BOTH, "locked_account": _BOTH["account"], "locked_meta": _BOTH["meta"]})
_POSTGRES = MappingProxyType({
    name: statement.replace("?", "%s")
    for name, statement in {
        **_BOTH,
        "locked_account": f"{_BOTH['account']} FOR UPDATE",
        "locked_meta": f"{_BOTH['meta']} FOR UPDATE",
    }.items()
})  # fmt: skip


class Store(ABC):
    """A place for one ledger; it is opened when first needed, and never made unless :meth:`make` is called."""

    def __init__(self, patience: float) -> None:
        self.patience = patience  # seconds to wait for another process's charge
        self._lock = threading.RLock()
        self._open: tuple[int, Any] | None = None  # the process that opened a connection, and the connection

    def __del__(self) -> None:
        if getattr(self, "_open", None) is not None:
            self.close()

    @abstractmethod
    def __str__(self) -> str:
        """The place, in quotation marks, without a password."""

    @abstractmethod
    def make(self) -> None:
        """Make an empty ledger, whole or not at all; one that is there already is left alone."""

    @abstractmethod
    def transaction(self, *, write: bool) -> AbstractContextManager[Run]:
        """Yield a function that runs a named statement; everything is on disk at the end, or nothing."""

    @abstractmethod
    def check(self) -> bool:
        """Return True if the pages of the database are consistent."""

    def close(self) -> None:
        """Close the connection; it is opened again when needed."""
        with self._lock:
            if self._open is not None and self._open[0] == os.getpid():
                with suppress(Exception):
                    self._open[1].close()
            elif self._open is not None:
                _INHERITED.append(self._open[1])
            self._open = None

    def _require_schema(self, version: str) -> None:
        if version != str(_SCHEMA):
            raise LedgerError(
                f"the ledger {self} has schema {safe_repr(version)}, and this version of flexdp knows {_SCHEMA}; use a "
                "version of flexdp that knows it"
            )


def open_store(address: str, patience: float) -> Store:
    """Return the store at an address: PostgreSQL if it names a server, otherwise a file."""
    return PostgresStore(address, patience) if address.startswith(_SERVERS) else SqliteStore(address, patience)


def _rows(con: Any, statements: Mapping[str, str], name: str, values: Sequence[Any]) -> list[Any]:
    """Run a named statement; one that begins with "set" must change just one row."""
    cursor = con.execute(statements[name], tuple(values))
    if cursor.description is not None:
        return list(cursor.fetchall())
    if name.startswith("set_") and cursor.rowcount != 1:
        raise LedgerError(f"the ledger changed under a charge; {_NOTHING}")
    return []


class SqliteStore(Store):
    """One file in write-ahead mode."""

    def __init__(self, path: str, patience: float) -> None:
        super().__init__(patience)
        self.path = Path(path)
        self._file: tuple[int, int] | None = None  # the file that is open: device and inode

    def __str__(self) -> str:
        return repr(str(self.path))  # checked to be printable

    def make(self) -> None:
        self._refuse_folder()
        if os.path.lexists(self.path):  # a dangling link too
            return
        import sqlite3

        try:
            with closing(sqlite3.connect(":memory:", isolation_level=None)) as con:
                for statement in _CREATE_SQLITE:
                    con.execute(statement)
                con.execute(f"PRAGMA application_id = {_APPLICATION}")
                for key, value in _FIRST_META:
                    con.execute(_SQLITE["new_meta"], (key, value))
                content = bytearray(con.serialize())
            content[18:20] = b"\2\2"  # what PRAGMA journal_mode = WAL writes, which a database in memory does not take
            with suppress(FileExistsError):  # somebody else was faster
                write_new(self.path, bytes(content), private=True)
            _sync(str(self.path.parent))
        except (sqlite3.Error, OSError):
            raise LedgerError(
                f"the ledger {self} could not be made; is its folder writable, and the disk not full?"
            ) from None

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[Run]:
        import sqlite3

        with self._lock:
            try:
                con = self._connection()
                con.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                try:
                    yield lambda name, *values: _rows(con, _SQLITE, name, values)
                    con.execute("COMMIT")
                except BaseException:
                    with suppress(sqlite3.Error):
                        con.execute("ROLLBACK")
                    raise
                if write:
                    _sync(f"{self.path}-wal")  # holds no locks, so that opening it loses none
            except (sqlite3.Error, UnicodeDecodeError, MemoryError) as failure:  # as a damaged file demands or holds
                self.close()
                raise self._error_of(failure) from None
            except OSError:
                self.close()
                raise LedgerError(
                    f"the ledger {self} could not be written to disk; nothing was read", retry=True
                ) from None

    def check(self) -> bool:
        import sqlite3

        with self._lock:
            try:
                return bool(self._connection().execute("PRAGMA integrity_check").fetchall() == [("ok",)])
            except sqlite3.OperationalError as failure:
                raise self._error_of(failure) from None
            except (sqlite3.DatabaseError, UnicodeDecodeError, MemoryError):
                return False

    def _connection(self) -> sqlite3.Connection:
        import sqlite3
        from urllib.parse import quote

        file = self._require_safe_file()
        if self._open is not None:
            if self._open[0] == os.getpid() and self._file == file:
                return self._open[1]  # type: ignore[no-any-return]
            self.close()
        address = f"file:{quote(str(self.path.absolute()))}?mode=rw"
        con = sqlite3.connect(address, uri=True, timeout=self.patience, isolation_level=None, check_same_thread=False)
        try:
            con.execute("PRAGMA synchronous = NORMAL")
            con.execute("PRAGMA foreign_keys = ON")
            ours = con.execute("PRAGMA application_id").fetchone()[0] == _APPLICATION
            version = con.execute(_SQLITE["meta"], ("schema",)).fetchone() if ours else None
            if version is None:
                raise LedgerError(f"{self} is not a ledger, or it was damaged; nothing was read")
            self._require_schema(version[0])
            if con.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                con.execute("PRAGMA journal_mode = WAL")
            if file != self._require_safe_file():
                raise LedgerError(f"the ledger {self} was replaced while it was being opened; nothing was read")
        except BaseException:
            con.close()
            raise
        self._open, self._file = (os.getpid(), con), file
        return con

    def _require_safe_file(self) -> tuple[int, int]:
        """Refuse links, files that others may write and anything that is not a file; return which file it is."""
        try:
            found = os.lstat(self.path)
        except OSError:
            raise InputError("ledger", f": no ledger at {self}", remedy=_NO_LEDGER) from None
        for ending in ("", "-wal", "-shm"):
            beside = Path(f"{self.path}{ending}")
            if beside.is_symlink():
                raise InputError("ledger", "must not be a symbolic link", given=safe_repr(str(beside)))
        if not stat.S_ISREG(found.st_mode):
            raise InputError("ledger", "must be a file", given=str(self))
        if _POSIX and found.st_mode & stat.S_IWOTH:
            raise InputError(
                "ledger", "must not be writable by everybody", given=str(self), remedy="Run chmod 600 on it."
            )
        self._refuse_folder()
        return found.st_dev, found.st_ino

    def _refuse_folder(self) -> None:
        try:
            mode = self.path.parent.stat().st_mode
        except OSError:
            raise InputError("ledger", ": there is no such folder", given=str(self)) from None
        if _POSIX and mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            raise InputError(
                "ledger",
                "must not lie in a folder that everybody may write to",
                given=str(self),
                remedy="Run chmod o-w on the folder.",
            )

    def _error_of(self, failure: Exception) -> LedgerError:
        """Return our error for one of SQLite's, whose text is dropped."""
        code = getattr(failure, "sqlite_errorcode", 0) & 0xFF
        if code in (5, 6):  # busy, locked
            return LedgerError(f"the ledger {self} is locked by another process; {_NOTHING}", retry=True)
        if code == 13:  # full
            return LedgerError(f"the ledger {self} could not be written: the disk is full; {_NOTHING}", retry=True)
        if code in (8, 14, 3, 23):  # read-only, cannot open, no permission
            return LedgerError(f"the ledger {self} could not be opened for writing; {_NOTHING}")
        if code == 10:  # I/O
            return LedgerError(f"the ledger {self} could not be read or written by the disk; {_NOTHING}", retry=True)
        return LedgerError(f"{self} is not a ledger, or it was damaged; {_NOTHING}")


def _sync(path: str) -> None:
    folder = Path(path).is_dir()
    if folder and os.name == "nt":  # which has no such thing
        return
    descriptor = os.open(path, os.O_RDONLY if folder else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class PostgresStore(Store):
    """Tables ``flexdp_*`` in one database, in the first schema of the user's search path."""

    def __init__(self, address: str, patience: float) -> None:
        super().__init__(patience)
        self.address = address

    def __str__(self) -> str:
        return safe_repr(re.sub(r"//[^@/]*@", "//", self.address).partition("?")[0])  # without user and password

    def make(self) -> None:
        with self._errors():
            con = self._connection(checked=False)
            with con.transaction():
                con.execute("SELECT pg_advisory_xact_lock(%s)", (_APPLICATION,))
                if _has_tables(con):
                    return
                for statement in _CREATE_POSTGRES:
                    con.execute(statement)
                for key, value in _FIRST_META:
                    con.execute(_POSTGRES["new_meta"], (key, value))

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[Run]:
        with self._errors():
            con = self._connection()
            with con.transaction():
                if write:
                    con.execute("SET LOCAL synchronous_commit = on")
                else:
                    con.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
                yield lambda name, *values: _rows(con, _POSTGRES, name, values)

    def check(self) -> bool:
        with self._errors():
            self._connection()
        return True  # the server looks after its own pages

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """One thread at a time; errors of the server become ours, without its text."""
        with extra("postgres", "psycopg", "a ledger in PostgreSQL"):
            import psycopg

        with self._lock:
            try:
                yield
            except (psycopg.errors.LockNotAvailable, psycopg.errors.QueryCanceled):
                raise LedgerError(f"the ledger {self} is locked by another process; {_NOTHING}", retry=True) from None
            except psycopg.errors.InsufficientPrivilege:
                raise LedgerError(f"the ledger {self} may not be written by this user; nothing was read") from None
            except psycopg.Error:
                self.close()
                raise LedgerError(f"the ledger {self} cannot be reached; nothing was read", retry=True) from None

    def _connection(self, *, checked: bool = True) -> Any:
        import psycopg

        if self._open is not None and (self._open[0] != os.getpid() or self._open[1].closed):
            self.close()
        if self._open is None:
            made: Any = psycopg.connect(
                self.address, autocommit=False, connect_timeout=10, application_name="flexdp ledger"
            )
            made.execute("SELECT set_config('lock_timeout', %s, false)", (str(int(self.patience * 1000)),))
            made.commit()
            self._open = (os.getpid(), made)
        con = self._open[1]  # the one that was open, or is now
        if checked:
            version = con.execute(_POSTGRES["meta"], ("schema",)).fetchone() if _has_tables(con) else None
            con.rollback()
            if version is None:
                raise InputError("ledger", f": no ledger at {self}", remedy=_NO_LEDGER)
            self._require_schema(version[0])
        return con


def _has_tables(con: Any) -> bool:
    return bool(con.execute("SELECT to_regclass('flexdp_meta') IS NOT NULL").fetchone()[0])
