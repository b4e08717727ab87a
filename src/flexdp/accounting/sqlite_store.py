"""The ledger in a SQLite file: write-ahead log, one immediate transaction a charge, synced before it returns.

A commit writes the log without waiting for the disk (``synchronous = NORMAL``); the log is then synced here, after the
lock is released, and only then does the transaction return. So charges of several processes wait for the disk at the
same time, not one after another, and each of them is on disk when it returns. SQLite itself syncs the log before it
moves anything from there to the database, and the database before it reuses the log.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flexdp._core.files import write_new
from flexdp._core.text import safe_repr
from flexdp.accounting.statements import CREATE_SQLITE, SCHEMA, SQLITE
from flexdp.errors import InputError, LedgerError

if TYPE_CHECKING:
    import sqlite3

__all__ = ["SqliteStore"]

APPLICATION = 0x464C4458  # "FLDX", in the header of the file
_POSIX = os.name == "posix"  # elsewhere modes say nothing of who may write
_PATIENCE = 30.0  # seconds to wait for another process's charge
_INHERITED: list[Any] = []  # connections of a parent process: neither used nor closed after a fork


class SqliteStore:
    """One file; opened when first needed, never made unless :meth:`make` is called."""

    def __init__(self, path: str, patience: float = _PATIENCE) -> None:
        self.path = Path(path)
        self.patience = patience
        self._lock = threading.RLock()
        self._open: tuple[int, sqlite3.Connection, tuple[int, int]] | None = None

    def __del__(self) -> None:
        if getattr(self, "_open", None) is not None:
            self.close()

    def __str__(self) -> str:
        return repr(str(self.path))  # checked to be printable

    def exists(self) -> bool:
        """Return True if there is something at the path, a dangling link too."""
        return os.path.lexists(self.path)

    def make(self) -> None:
        """Make an empty ledger, whole or not at all; one that is there already is left alone."""
        self._refuse_folder()
        if self.exists():
            return
        import sqlite3

        try:
            with closing(sqlite3.connect(":memory:", isolation_level=None)) as con:
                for statement in CREATE_SQLITE:
                    con.execute(statement)
                con.execute("PRAGMA application_id = 1179403352")
                for key, value in (("schema", str(SCHEMA)), ("registry", "0" * 64), ("datasets", "0")):
                    con.execute(SQLITE["new_meta"], (key, value))
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
    def transaction(self, *, write: bool) -> Iterator[Callable[..., list[Any]]]:
        """Yield a function that runs a named statement; everything is committed and synced at the end, or nothing."""
        import sqlite3

        with self._lock:
            try:
                con = self._connection()
                con.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                try:
                    yield lambda name, *values: _rows(con, name, values)
                    con.execute("COMMIT")
                except BaseException:
                    with suppress(sqlite3.Error):
                        con.execute("ROLLBACK")
                    raise
                if write:
                    _sync(f"{self.path}-wal")  # holds no locks, so that opening it loses none
            except (sqlite3.Error, UnicodeDecodeError, MemoryError) as failure:  # as a damaged file demands or holds
                self.close()
                raise self._told(failure) from None
            except OSError:
                self.close()
                raise LedgerError(
                    f"the ledger {self} could not be written to disk; nothing was read", retry=True
                ) from None

    def check(self) -> bool:
        """Return True if the pages of the file are consistent."""
        import sqlite3

        with self._lock:
            try:
                return bool(self._connection().execute("PRAGMA integrity_check").fetchall() == [("ok",)])
            except sqlite3.OperationalError as failure:
                raise self._told(failure) from None
            except (sqlite3.DatabaseError, UnicodeDecodeError, MemoryError):
                return False

    def close(self) -> None:
        """Close the file; it is opened again when needed."""
        with self._lock:
            if self._open is not None and self._open[0] == os.getpid():
                with suppress(Exception):
                    self._open[1].close()
            elif self._open is not None:
                _INHERITED.append(self._open[1])
            self._open = None

    def _connection(self) -> sqlite3.Connection:
        import sqlite3

        if self._open is not None:
            process, con, place = self._open
            if process == os.getpid() and place == self._checked():
                return con
            self.close()
        place = self._checked()
        con = sqlite3.connect(
            f"file:{_quoted(str(self.path.absolute()))}?mode=rw",
            uri=True,
            timeout=self.patience,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            con.execute("PRAGMA synchronous = NORMAL")
            con.execute("PRAGMA foreign_keys = ON")
            ours = con.execute("PRAGMA application_id").fetchone()[0] == APPLICATION
            version = con.execute(SQLITE["meta"], ("schema",)).fetchone() if ours else None
            if version is None:
                raise LedgerError(f"{self} is not a ledger, or it was damaged; nothing was read")
            if version[0] != str(SCHEMA):
                raise LedgerError(
                    f"the ledger {self} has schema {safe_repr(version[0])}, and this version of flexdp knows {SCHEMA}; "
                    "use a version of flexdp that knows it"
                )
            if con.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                con.execute("PRAGMA journal_mode = WAL")
            if place != self._checked():
                raise LedgerError(f"the ledger {self} was replaced while it was being opened; nothing was read")
        except BaseException:
            con.close()
            raise
        self._open = (os.getpid(), con, place)
        return con

    def _checked(self) -> tuple[int, int]:
        """Refuse links, files that others may write and anything that is not a file; return which file it is."""
        try:
            found = os.lstat(self.path)
        except OSError:
            raise InputError(
                "ledger", f": no ledger at {self}", remedy="Make one with Ledger.create, or flexdp ledger create."
            ) from None
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

    def _told(self, failure: Exception) -> LedgerError:
        """Return our error for one of SQLite's, whose text is dropped."""
        code = getattr(failure, "sqlite_errorcode", 0) & 0xFF
        nothing = "nothing was charged and nothing was read"
        if code in (5, 6):  # busy, locked
            return LedgerError(f"the ledger {self} is locked by another process; {nothing}", retry=True)
        if code == 13:  # full
            return LedgerError(f"the ledger {self} could not be written: the disk is full; {nothing}", retry=True)
        if code in (8, 14, 3, 23):  # read-only, cannot open, no permission
            return LedgerError(f"the ledger {self} could not be opened for writing; {nothing}")
        if code == 10:  # I/O
            return LedgerError(f"the ledger {self} could not be read or written by the disk; {nothing}", retry=True)
        return LedgerError(f"{self} is not a ledger, or it was damaged; {nothing}")


def _rows(con: sqlite3.Connection, name: str, values: Sequence[Any]) -> list[Any]:
    cursor = con.execute(SQLITE[name], tuple(values))
    if cursor.description is None and name.startswith("set_") and cursor.rowcount != 1:
        raise LedgerError("the ledger changed under a charge; nothing was charged and nothing was read")
    return cursor.fetchall()


def _quoted(path: str) -> str:
    from urllib.parse import quote

    return quote(path)


def _sync(path: str) -> None:
    folder = Path(path).is_dir()
    if folder and os.name == "nt":  # which has no such thing
        return
    descriptor = os.open(path, os.O_RDONLY if folder else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
