"""Statements on MariaDB: with settings under which they mean what they say, in a transaction of their own or yours."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from flexdp.errors import InputError, UnavailableError
from flexdp.tables.dbapi.run import many_of
from flexdp.tables.sql.workspace import Ask, Many

__all__ = ["Session", "caller_session", "check_server", "is_connection", "own_session"]

_OLDEST = (10, 6)  # the first with JSON_TABLE
_VERSION = re.compile(r"(?:5\.5\.5-)?([0-9]+)\.([0-9]+)\..*MariaDB")
_SCHEMES = ("mariadb", "mysql")
_PORT = 3306
_PATIENCE = 10.0  # seconds to connect
# Restored afterwards. Texts are sorted and grouped by all of their bytes, and no row of a result is left out.
_SETTINGS = {
    "sql_mode": "''",
    "collation_connection": "'utf8mb4_bin'",  # and with it the character set
    "max_sort_length": "262144",
    "sort_buffer_size": "33554432",
    "sql_select_limit": "18446744073709551615",
    "time_zone": "'+00:00'",
    "sql_quote_show_create": "1",  # definitions are read
}


@dataclass(frozen=True)
class Session:
    """A way to query a server: within ``opened``, one statement after another; ``cancel`` stops the running one.

    ``many`` fills a temporary table.
    """

    opened: Callable[[], AbstractContextManager[Ask]] = field(repr=False)
    many: Many = field(repr=False)
    cancel: Callable[[], None] = field(repr=False)


def is_connection(source: object) -> bool:
    """Tell whether an object is a connection of PyMySQL, without importing it."""
    return any(
        cls.__module__.split(".")[0] == "pymysql" and cls.__name__ == "Connection" for cls in type(source).__mro__
    )


def caller_session(con: Any) -> Session:
    """Return a session on the caller's connection, which stays in the transaction that it is in."""
    return Session(lambda: _opened(con), many_of(con), lambda: None)


def own_session(address: str) -> Session:
    """Return a session that connects anew each time. The address may hold a password and is never repeated."""
    running: list[int] = []
    current: list[Any] = []

    @contextmanager
    def opened() -> Iterator[Ask]:
        con = _connect(address)
        try:
            running[:], current[:] = [con.thread_id()], [con]
            with _opened(con) as ask:
                yield ask
        finally:
            running.clear()
            con.close()

    def cancel() -> None:
        if running:
            other = _connect(address)
            try:
                _ask_of(other)(f"KILL QUERY {running[0]}")
            finally:
                other.close()

    return Session(opened, lambda statement, rows: many_of(current[0])(statement, rows), cancel)


def _connect(address: str) -> Any:
    try:
        import pymysql
    except ImportError:
        raise InputError(
            "source", "is a MariaDB address, which needs PyMySQL", remedy="Run pip install 'flexdp[mariadb]'."
        ) from None
    options = _parsed(address)
    con, line = pymysql.Connection(**options, defer_connect=True), None
    with suppress(pymysql.Error, OSError):  # its text may repeat the address
        line = _line(options)
        con.connect(line)
    if not con.open:
        if line is not None:
            line.close()
        raise UnavailableError(
            "source",
            ": cannot connect to the server",
            remedy="Check host, port, database, user and password in the address, and that the server is running.",
        )
    return con


def _line(options: dict[str, Any]) -> socket.socket:
    """Open a socket, which the driver would not close if the server refused it."""
    if "unix_socket" not in options:
        line = socket.create_connection((options["host"], options["port"]), _PATIENCE)
        line.settimeout(None)
        return line
    if not hasattr(socket, "AF_UNIX"):
        raise InputError("source", "names a socket, which this system does not have", remedy="Name host and port.")
    line = socket.socket(socket.AF_UNIX)
    try:
        line.connect(options["unix_socket"])
    except OSError:
        line.close()
        raise
    return line


def _parsed(address: str) -> dict[str, Any]:
    """Return the options of a connection; the address is not repeated in any message."""
    options: dict[str, Any] = {"charset": "utf8mb4"}
    valid = True
    try:
        parts = urlsplit(address)
        options |= {"host": parts.hostname or "localhost", "port": parts.port or _PORT}
        asked = parse_qs(parts.query, strict_parsing=bool(parts.query))
        valid = parts.scheme in _SCHEMES and set(asked) <= {"unix_socket"} and "/" not in parts.path[1:]
        options |= {name: values[0] for name, values in asked.items()}
        given = {"user": parts.username, "password": parts.password, "database": parts.path[1:]}
        options |= {name: unquote(value) for name, value in given.items() if value}
    except ValueError:
        valid = False
    if not valid:
        raise InputError("source", "is not a valid address", remedy="Write mariadb://user@host/database.")
    return options


def check_server(version: str) -> None:
    """Refuse servers on which the statements are not tested."""
    found = _VERSION.match(version)
    if found is None:
        raise InputError(
            "source",
            "must be a MariaDB server: MySQL and others speak its protocol, but no statement is tested there, and they "
            "have no @@in_transaction, by which your transaction is left as it is",
            remedy="Export the table to a Parquet file, or load it into MariaDB, PostgreSQL, SQLite or DuckDB.",
        )
    if tuple(map(int, found.groups())) < _OLDEST:
        raise InputError(
            "source", f"must be MariaDB {'.'.join(map(str, _OLDEST))} or later: before, there is no JSON_TABLE"
        )


def _ask_of(con: Any) -> Ask:
    def ask(statement: str) -> Sequence[Sequence[Any]]:
        cursor = con.cursor()
        try:
            cursor.execute(statement)
            rows = cursor.fetchall() if cursor.description else ()
        finally:
            cursor.close()
        return [[_decoded(cell) for cell in (row.values() if isinstance(row, dict) else row)] for row in rows]

    return ask


def _decoded(cell: Any) -> Any:
    return bytes(cell).decode() if isinstance(cell, bytes | bytearray) else cell


@contextmanager
def _opened(con: Any) -> Iterator[Ask]:
    ask = _ask_of(con)
    check_server(str(ask("SELECT VERSION()")[0][0]))
    with ExitStack() as undo:
        for name, value in _SETTINGS.items():
            before = ask(f"SELECT @@SESSION.{name}")[0][0]
            undo.callback(_restore, ask, name, before)
            ask(f"SET SESSION {name} = {value}")
        if not int(ask("SELECT @@in_transaction")[0][0]):
            undo.callback(_rolled_back, ask)
            ask("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")  # of the next one: a copy locks nothing
            ask("START TRANSACTION")
        yield ask


def _restore(ask: Ask, name: str, before: Any) -> None:
    with suppress(Exception):  # the connection is lost
        ask(f"SET SESSION {name} = {before}" if isinstance(before, int) else f"SET SESSION {name} = '{before}'")


def _rolled_back(ask: Ask) -> None:
    with suppress(Exception):  # the connection is lost
        ask("ROLLBACK")
