"""MariaDB tables and views and the columns that they declare."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Any

from flexdp._core.faults import FaultError
from flexdp._core.text import safe_repr
from flexdp.errors import FlexdpError, InputError, P
from flexdp.tables.interrupts import run
from flexdp.tables.mariadb.dialect import MARIADB
from flexdp.tables.mariadb.run import Session, caller_session, own_session
from flexdp.tables.mariadb.types import declared, read_cell
from flexdp.tables.plans.mariadb import check_stored, computed_columns
from flexdp.tables.sql.privileges import unread_columns
from flexdp.tables.sql.served_table import Described, ServedTable, check_name, no_table
from flexdp.tables.sql.workspace import Ask, Workspace, put_rows

__all__ = ["is_address", "open_mariadb"]

_SMALLEST_PACKET = 1 << 20  # bytes; a longer text that is computed would be NULL


def is_address(source: object) -> bool:
    """Tell whether a text is the address of a MariaDB server."""
    return isinstance(source, str) and source.startswith(("mariadb://", "mysql://"))


def open_mariadb(source: Any, table: object, *, rows_are_records: bool = False) -> ServedTable:
    """Open a table or view at an address, or on the caller's connection."""
    wanted = check_name(table)
    session = own_session(source) if isinstance(source, str) else caller_session(source)
    found: Described | None = None
    computed: frozenset[str] = frozenset()
    unread: frozenset[str] = frozenset()
    try:
        with session.opened() as ask:
            found = describe(ask, wanted)
            unread = unread_columns(ask, *found, MARIADB.identifier)
            if not rows_are_records:
                computed = _computed(ask, found[0])
    except FlexdpError:
        raise
    except Exception:  # noqa: BLE001  (the engine's message is not repeated)
        found = None
    if found is None:
        raise InputError("source", ": the declared columns cannot be read", remedy="Check that the connection is open.")
    name, columns = found

    def check(ask: Ask) -> None:
        ask(f"SELECT 1 FROM {name} LIMIT 0")  # locks the definition of the table
        if describe(ask, wanted) != found or (not rows_are_records and _computed(ask, name) != computed):
            raise FaultError("the table has changed since it was opened")

    def execute(statement: str) -> Any:
        def work() -> Any:
            with session.opened() as ask:
                check(ask)
                return ask(statement)

        return run(work, session.cancel)

    place = name.rpartition(".")[0]
    opened = partial(_workspace, session, check, place)
    return ServedTable(
        name,
        columns,
        MARIADB,
        read_cell,
        execute,
        opened,
        probe=lambda: _can_copy(session, place),
        computed=computed,
        unread=unread,
    )


@contextmanager
def _workspace(session: Session, check: Callable[[Ask], None], place: str) -> Iterator[Workspace]:
    """Open a workspace in one transaction; its copies are temporary tables, dropped at its end."""
    mark = uuid.uuid4().hex
    rows, looked = f"{place}.flexdp_records_{mark}", f"{place}.flexdp_looked_{mark}"
    with ExitStack() as stack:

        def enter() -> Ask:
            ask = stack.enter_context(session.opened())
            check(ask)
            return ask

        within = run(enter, session.cancel)

        def ask(statement: str) -> Any:
            return run(lambda: within(statement), session.cancel)

        def keep(name: str, query: str) -> None:
            ask(f"CREATE TEMPORARY TABLE {name} AS {query}")

        def many(statement: str, rows: Sequence[Sequence[Any]]) -> None:
            run(lambda: session.many(statement, rows), session.cancel)

        try:
            yield Workspace(MARIADB, ask, keep, put_rows(ask, many, MARIADB, looked, "%s"), rows=rows, looked=looked)
        finally:
            for name in (rows, looked):
                with suppress(Exception):  # the connection is lost, and its temporary tables with it
                    within(f"DROP TEMPORARY TABLE IF EXISTS {name}")


def _can_copy(session: Session, place: str) -> bool:
    """Tell whether temporary tables can be made, by making an empty one."""
    name, made = f"{place}.flexdp_probe_{uuid.uuid4().hex}", False
    with suppress(Exception), session.opened() as ask:  # the engine's message is not repeated
        ask(f"CREATE TEMPORARY TABLE {name} (x INTEGER)")
        ask(f"DROP TEMPORARY TABLE {name}")
        made = True
    return made


def _computed(ask: Ask, name: str) -> frozenset[str]:
    """Return the columns that are computed when they are read, after refusing rows that are not stored."""
    written = ""
    with suppress(Exception):  # the user has privileges on some columns only, or the connection is lost
        written = str(ask(f"SHOW CREATE TABLE {name}")[0][1])
    if not written:
        ask("SELECT 1")
        raise InputError(
            "source",
            f": the connection may not read the definition of {safe_repr(name)}, which may compute columns from "
            "several rows: it has privileges on single columns, or may not show a view",
            remedy=(
                "Ask for the SELECT privilege on the whole table (and SHOW VIEW on a view); or set ",
                P("rows_are_records", True),
                " if every record yields at most one row and no row depends on more than one record.",
            ),
        )
    check_stored(written)
    return computed_columns(ask(f"SHOW COLUMNS FROM {name}"))


def describe(ask: Ask, table: str) -> Described:
    """Return the quoted name and the declared columns of a table or view, in the current database or one named."""
    packet, database = ask("SELECT @@max_allowed_packet, DATABASE()")[0]
    if int(packet) < _SMALLEST_PACKET:
        raise InputError("source", "must have a max_allowed_packet of at least 1M: long texts would be lost")
    schema, dot, rest = table.partition(".")
    for parts in ((database, table), (schema, rest)) if dot and rest else ((database, table),):
        name = ".".join(MARIADB.identifier(part) for part in parts if part)
        rows = None
        with suppress(Exception):  # there is no such table, or the connection is lost, which shows below
            rows = ask(f"SHOW COLUMNS FROM {name}") if parts[0] else None
        if rows:
            return name, tuple(declared(str(row[0]), str(row[1])) for row in rows)
    ask("SELECT 1")
    raise no_table(table)
