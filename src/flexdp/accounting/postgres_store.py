"""The ledger in PostgreSQL, for teams: the same rows; a charge locks the row of its data set and no other."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from flexdp._core.extras import extra
from flexdp._core.text import safe_repr
from flexdp.accounting.statements import CREATE_POSTGRES, POSTGRES, SCHEMA
from flexdp.errors import InputError, LedgerError

__all__ = ["PostgresStore"]

_PATIENCE = 30.0  # seconds to wait for another charge on the same data set
_MAKING = 0x464C4458  # the advisory lock under which the tables are made
_INHERITED: list[Any] = []  # connections of a parent process: neither used nor closed after a fork


class PostgresStore:
    """Tables ``flexdp_*`` in one database, in the first schema of the user's search path."""

    def __init__(self, address: str, patience: float = _PATIENCE) -> None:
        self.address = address
        self.patience = patience
        self._lock = threading.RLock()
        self._open: tuple[int, Any] | None = None

    def __del__(self) -> None:
        if getattr(self, "_open", None) is not None:
            self.close()

    def __str__(self) -> str:
        return safe_repr(re.sub(r"//[^@/]*@", "//", self.address).partition("?")[0])  # without user and password

    def exists(self) -> bool:
        """Return True if the tables are there."""
        with self._errors():
            con = self._connection(checked=False)
            found = con.execute("SELECT to_regclass('flexdp_meta') IS NOT NULL").fetchone()[0]
            con.rollback()
        return bool(found)

    def make(self) -> None:
        """Make the tables, unless they are there."""
        if self.exists():
            return
        with self._errors():
            con = self._connection(checked=False)
            with con.transaction():
                con.execute("SELECT pg_advisory_xact_lock(%s)", (_MAKING,))
                if con.execute("SELECT to_regclass('flexdp_meta') IS NOT NULL").fetchone()[0]:
                    return
                for statement in CREATE_POSTGRES:
                    con.execute(statement)
                for key, value in (("schema", str(SCHEMA)), ("registry", "0" * 64), ("datasets", "0")):
                    con.execute(POSTGRES["new_meta"], (key, value))

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[Callable[..., list[Any]]]:
        """Yield a function that runs a named statement; everything is committed at the end, or nothing."""
        with self._errors():
            con = self._connection()
            with con.transaction():
                if write:
                    con.execute("SET LOCAL synchronous_commit = on")
                else:
                    con.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
                yield lambda name, *values: _rows(con, name, values)

    def check(self) -> bool:
        """Return True: the server looks after its own pages."""
        with self._errors():
            self._connection()
        return True

    def close(self) -> None:
        """Close the connection; it is opened again when needed."""
        with self._lock:
            if self._open is not None and self._open[0] == os.getpid():
                with suppress(Exception):
                    self._open[1].close()
            elif self._open is not None:
                _INHERITED.append(self._open[1])
            self._open = None

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """One thread at a time; errors of the server become ours, without its text."""
        with extra("postgres", "psycopg", "a ledger in PostgreSQL"):
            import psycopg

        with self._lock:
            try:
                yield
            except (psycopg.errors.LockNotAvailable, psycopg.errors.QueryCanceled):
                raise LedgerError(
                    f"the ledger {self} is locked by another process; nothing was charged and nothing was read",
                    retry=True,
                ) from None
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
            con: Any = psycopg.connect(
                self.address, autocommit=False, connect_timeout=10, application_name="flexdp ledger"
            )
            milliseconds = str(int(self.patience * 1000))
            con.execute("SELECT set_config('lock_timeout', %s, false)", (milliseconds,))
            con.commit()
            self._open = (os.getpid(), con)
        con = self._open[1]  # the one that was open, or is now
        if checked:
            found = con.execute("SELECT to_regclass('flexdp_meta') IS NOT NULL").fetchone()[0]
            version = con.execute(POSTGRES["meta"], ("schema",)).fetchone() if found else None
            con.rollback()
            if version is None:
                raise InputError(
                    "ledger", f": no ledger at {self}", remedy="Make one with Ledger.create, or flexdp ledger create."
                )
            if version[0] != str(SCHEMA):
                raise LedgerError(
                    f"the ledger {self} has schema {safe_repr(version[0])}, and this version of flexdp knows {SCHEMA}; "
                    "use a version of flexdp that knows it"
                )
        return con


def _rows(con: Any, name: str, values: Sequence[Any]) -> list[Any]:
    cursor = con.execute(POSTGRES[name], tuple(values))
    if cursor.description is None:
        if name.startswith("set_") and cursor.rowcount != 1:
            raise LedgerError("the ledger changed under a charge; nothing was charged and nothing was read")
        return []
    return list(cursor.fetchall())
