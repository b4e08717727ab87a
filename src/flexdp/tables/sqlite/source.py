"""SQLite tables and the columns that they declare."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from flexdp._core.text import safe_repr
from flexdp.errors import FlexdpError, InputError
from flexdp.tables.plans.refusal import checked
from flexdp.tables.plans.sqlite import check_view
from flexdp.tables.sql.served_table import Ask, Described, ServedTable, check_name, no_table
from flexdp.tables.sqlite.dialect import SQLITE
from flexdp.tables.sqlite.run import caller_workspace, file_workspace, is_connection, on_caller, on_file
from flexdp.tables.sqlite.types import declared, read_cell

__all__ = ["EXTENSIONS", "describe", "open_sqlite"]

EXTENSIONS = (".db", ".sqlite", ".sqlite3")
_MAGIC = b"SQLite format 3\0"
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

    def look(ask: Ask) -> Described:
        found = describe(ask, wanted)
        if not rows_are_records:
            checked(lambda: _check_view(ask, wanted))
        return found

    try:
        name, columns = work(look, counting=False)
    except FlexdpError:
        raise
    except Exception:  # noqa: BLE001  (the engine's message is not repeated)
        name = ""
    if not name:
        raise InputError(
            "source",
            "cannot be read",
            remedy="Check that the connection is open, and that the file is an SQLite database.",
        )

    def check(ask: Ask) -> None:
        if describe(ask, wanted) != (name, columns):
            raise TypeError("the table has changed since it was opened")

    def execute(statement: str) -> Any:
        def counted(ask: Ask) -> Any:
            check(ask)
            return ask(statement)

        return work(counted, counting=True)

    return ServedTable(name, columns, SQLITE, read_cell, execute, lambda: workspace(check), files)


def describe(ask: Ask, table: str) -> Described:
    """Return the quoted name and the declared columns of a table or view, also of an attached database."""
    schema, dot, rest = table.partition(".")
    for name, among in ((table, ""), (rest, schema)) if dot else ((table, ""),):
        place = f", {SQLITE.text(among)}" if among else ""
        rows = ask(f"SELECT name, type, hidden FROM pragma_table_xinfo({SQLITE.text(name)}{place})")
        if rows:
            quoted = ".".join(SQLITE.identifier(part) for part in (among, name) if part)
            return quoted, tuple(declared(row[0], row[1]) for row in rows if row[2] != 1)
    raise no_table(table)


def _check_view(ask: Ask, table: str) -> None:
    """Refuse a view whose rows are not records."""
    schema, dot, rest = table.partition(".")
    plain = not dot or ask(f"SELECT 1 FROM pragma_table_xinfo({SQLITE.text(table)}) LIMIT 1")
    name, among = (table, "") if plain else (rest, schema)
    check_view(ask, name, among, SQLITE.text, SQLITE.identifier)


def _checked(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            start = file.read(len(_MAGIC))
    except (OSError, ValueError):  # ValueError: a name that no file can have
        raise InputError(
            "source",
            f": {safe_repr(path, _LONGEST_SHOWN)} does not exist or cannot be read",
            remedy="Check path and permissions.",
        ) from None
    if start not in (_MAGIC, b""):
        raise InputError("source", f": {safe_repr(path, _LONGEST_SHOWN)} is not an SQLite database")
    return path
