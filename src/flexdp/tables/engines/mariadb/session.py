"""Statements on MariaDB, with settings that fix their meaning, in a transaction of their own or of the caller."""

from __future__ import annotations

import re
import socket
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from flexdp.errors import InputError, UnavailableError
from flexdp.tables.engines.drivers import DriverCursors
from flexdp.tables.engines.mariadb.dialect import MARIADB
from flexdp.tables.session import Rows, Session

__all__ = ["MariadbSession", "check_server", "is_connection", "opened"]

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


def is_connection(source: object) -> bool:
    """Tell whether an object is a connection of PyMySQL, without importing it."""
    return any(
        cls.__module__.split(".")[0] == "pymysql" and cls.__name__ == "Connection" for cls in type(source).__mro__
    )


class MariadbSession(DriverCursors, Session):
    """Statements on a connection, whose temporary tables are dropped at the end."""

    dialect = MARIADB

    def fetch(self, statement: str) -> Rows:
        cursor = self._con.cursor()
        try:
            cursor.execute(statement)
            rows = cursor.fetchall() if cursor.description else ()
        finally:
            cursor.close()
        return [[_decoded(cell) for cell in (row.values() if isinstance(row, dict) else row)] for row in rows]

    def put(self, rows: Rows, value_type: str) -> None:
        self.put_beside(rows, value_type, self.insert, "%s")

    def name_copies(self, table: str) -> None:
        """Let copies belong to the table's database, since the connection may have chosen none."""
        database, mark = table.rpartition(".")[0], uuid.uuid4().hex
        self.rows, self.looked = f"{database}.flexdp_records_{mark}", f"{database}.flexdp_looked_{mark}"

    def drop_copies(self) -> None:
        """Drop the temporary tables."""
        for name in (self.rows, self.looked):
            with suppress(Exception):  # the connection is lost, and its temporary tables with it
                self.fetch(f"DROP TEMPORARY TABLE IF EXISTS {name}")


class OwnSession(MariadbSession):
    """Statements on a connection of our own, which a second one can stop."""

    def __init__(self, con: Any, address: str) -> None:
        super().__init__(con)
        self._address = address

    def cancel(self) -> None:
        other = _connect(self._address)
        try:
            MariadbSession(other).fetch(f"KILL QUERY {self._con.thread_id()}")
        finally:
            other.close()


@contextmanager
def opened(place: Any, *, copies: bool) -> Iterator[MariadbSession]:
    """Open a session at an address, or on the caller's connection, which stays in the transaction that it is in."""
    if not isinstance(place, str):
        with _within(MariadbSession(place), copies=copies) as session:
            yield session
        return
    con = _connect(place)
    try:
        with _within(OwnSession(con, place), copies=copies) as session:
            yield session
    finally:
        con.close()


@contextmanager
def _within(session: MariadbSession, *, copies: bool) -> Iterator[MariadbSession]:
    check_server(str(session.fetch("SELECT VERSION()")[0][0]))
    with ExitStack() as undo:
        for name, value in _SETTINGS.items():
            before = session.fetch(f"SELECT @@SESSION.{name}")[0][0]
            undo.callback(_restore, session, name, before)
            session.fetch(f"SET SESSION {name} = {value}")
        if not int(session.fetch("SELECT @@in_transaction")[0][0]):
            undo.callback(_roll_back, session)
            session.fetch("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")  # of the next one: a copy locks nothing
            session.fetch("START TRANSACTION")
        if copies:
            undo.callback(session.drop_copies)
        yield session


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
            "have no @@in_transaction, which flexdp needs to leave your transaction alone",
            remedy="Export the table to a Parquet file, or load it into MariaDB, PostgreSQL, SQLite or DuckDB.",
        )
    if tuple(map(int, found.groups())) < _OLDEST:
        raise InputError(
            "source", f"must be MariaDB {'.'.join(map(str, _OLDEST))} or later: earlier versions have no JSON_TABLE"
        )


def _decoded(cell: Any) -> Any:
    return bytes(cell).decode() if isinstance(cell, bytes | bytearray) else cell


def _restore(session: MariadbSession, name: str, before: Any) -> None:
    with suppress(Exception):  # the connection is lost
        value = str(before) if isinstance(before, int) else f"'{before}'"
        session.fetch(f"SET SESSION {name} = {value}")


def _roll_back(session: MariadbSession) -> None:
    with suppress(Exception):  # the connection is lost
        session.fetch("ROLLBACK")
