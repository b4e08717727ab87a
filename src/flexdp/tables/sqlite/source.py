"""SQLite tables and the columns that they declare."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

from flexdp._core.faults import FaultError
from flexdp._core.text import safe_repr
from flexdp.errors import FlexdpError, InputError, UnavailableError
from flexdp.tables.plans.refusal import checked
from flexdp.tables.plans.sqlite import check_stored
from flexdp.tables.sql.privileges import unread_columns
from flexdp.tables.sql.served_table import Ask, Described, ServedTable, check_name, no_table
from flexdp.tables.sqlite.dialect import SQLITE
from flexdp.tables.sqlite.run import caller_workspace, file_workspace, is_connection, on_caller, on_file
from flexdp.tables.sqlite.types import declared, read_cell

__all__ = ["EXTENSIONS", "describe", "names_in_file", "open_sqlite"]

EXTENSIONS = (".db", ".sqlite", ".sqlite3")
_NOT_A_DATABASE, _BUSY, _LOCKED = 26, 5, 6  # SQLite's codes of errors
_LONGEST_SHOWN = 160  # characters of a path that a message repeats


def open_sqlite(source: Any, table: object, *, rows_are_records: bool = False) -> ServedTable:
    """Open a table of a file, or of the caller's connection."""
    wanted = check_name(table)
    files: tuple[str, ...] = ()
    if is_connection(source):
        work, workspace = partial(on_caller, source), partial(caller_workspace, source)
    else:
        files = (_checked(str(source)),)
        work, workspace = partial(on_file, files[0]), partial(file_workspace, files[0])

    computed: set[str] = set()
    unread: set[str] = set()

    def look(ask: Ask) -> Described:
        found = describe(ask, wanted)
        unread.update(unread_columns(ask, *found, SQLITE.identifier))  # an authorizer may refuse some
        if not rows_are_records:
            checked(lambda: computed.update(_computed(ask, wanted)))
        return found

    try:
        name, columns = work(look, counting=False)
    except FlexdpError:
        raise
    except Exception as error:  # noqa: BLE001  (the engine's message is not repeated)
        name, code = "", getattr(error, "sqlite_errorcode", 0) & 0xFF
    if not name:
        raise _refusal(code, *files)

    def check(ask: Ask) -> None:
        if describe(ask, wanted) != (name, columns):
            raise FaultError("the table has changed since it was opened")

    def execute(statement: str) -> Any:
        def counted(ask: Ask) -> Any:
            check(ask)
            return ask(statement)

        return work(counted, counting=True)

    return ServedTable(
        name,
        columns,
        SQLITE,
        read_cell,
        execute,
        lambda: workspace(check),
        files,
        computed=frozenset(computed),
        unread=frozenset(unread),
    )


def describe(ask: Ask, table: str) -> Described:
    """Return the quoted name and the declared columns of a table or view, also of an attached database."""
    schema, dot, rest = table.partition(".")
    for name, among in ((table, ""), (rest, schema)) if dot else ((table, ""),):
        place = f", {SQLITE.text(among)}" if among else ""
        rows = ask(f"SELECT name, type, hidden FROM pragma_table_xinfo({SQLITE.text(name)}{place})")
        if rows:
            quoted = ".".join(SQLITE.identifier(part) for part in (among, name) if part)
            return quoted, tuple(declared(row[0], row[1]) for row in rows if row[2] != 1)
    raise no_table(table, _names(ask))


def names_in_file(path: str) -> list[str]:
    """Return the names of the tables and views of a file."""
    names: list[str] = on_file(_checked(path), _names, counting=False)
    return names


def _names(ask: Ask) -> list[str]:
    where = "type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    return [str(row[0]) for row in ask(f"SELECT name FROM sqlite_master WHERE {where} ORDER BY name LIMIT 13")]


def _computed(ask: Ask, table: str) -> set[str]:
    """Refuse what is no stored table; return the columns that are computed when they are read."""
    schema, dot, rest = table.partition(".")
    plain = not dot or ask(f"SELECT 1 FROM pragma_table_xinfo({SQLITE.text(table)}) LIMIT 1")
    name, among = (table, "") if plain else (rest, schema)
    return check_stored(ask, name, among, SQLITE.text)


def _checked(path: str) -> str:
    # Python must not open the file: on closing it, the locks that this process holds on it would be lost.
    if not Path(path).is_file() or not os.access(path, os.R_OK):
        shown = safe_repr(path, _LONGEST_SHOWN)
        raise InputError("source", f": {shown} does not exist or cannot be read", remedy="Check path and permissions.")
    return path


def _refusal(code: int, path: str = "") -> InputError:
    shown = safe_repr(path, _LONGEST_SHOWN)
    if path and code == _NOT_A_DATABASE:
        return InputError(
            "source", f": {shown} is not an SQLite database", remedy="A DuckDB database must be named .duckdb."
        )
    if code in (_BUSY, _LOCKED):
        return UnavailableError("source", ": another program has locked the database", remedy="Try again later.")
    return InputError(
        "source",
        "cannot be read",
        remedy="Check that the connection is open, and that the file is an SQLite database.",
    )
