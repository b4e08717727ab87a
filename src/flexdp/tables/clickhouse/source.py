"""ClickHouse tables and views and the columns that they declare."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from flexdp._core.faults import FaultError
from flexdp.errors import FlexdpError, InputError
from flexdp.tables.clickhouse.dialect import CLICKHOUSE
from flexdp.tables.clickhouse.run import ask_of
from flexdp.tables.clickhouse.types import declared, read_cell
from flexdp.tables.interrupts import run
from flexdp.tables.plans.clickhouse import computed_columns
from flexdp.tables.plans.refusal import checked, not_records
from flexdp.tables.sql.privileges import unread_columns
from flexdp.tables.sql.served_table import Described, ServedTable, check_name, no_table
from flexdp.tables.sql.workspace import Ask, Workspace, put_by_text

__all__ = ["describe", "open_clickhouse"]

_STORED = ("MergeTree", "ReplicatedMergeTree", "SharedMergeTree", "Memory", "Log", "StripeLog", "TinyLog")
_OLDEST = 26  # the first two numbers of a version are the year and the month
_LONGEST = 2**23  # characters of a statement: those of two ladders have a quarter of a million


def open_clickhouse(con: Any, table: object, *, rows_are_records: bool = False) -> ServedTable:
    """Open a table or view on the caller's connection."""
    wanted = check_name(table)
    ask = ask_of(con)
    found: Described | None = None
    computed: set[str] = set()
    unread: frozenset[str] = frozenset()
    try:
        found = describe(ask, wanted)
        unread = unread_columns(ask, *found, CLICKHOUSE.identifier)
        if not rows_are_records:
            name = found[0]
            checked(lambda: computed.update(_checked_columns(ask, name)))
    except FlexdpError:
        raise
    except Exception:  # noqa: BLE001  (the engine's message is not repeated)
        found = None
    if found is None:
        raise InputError(
            "source",
            ": the declared columns cannot be read",
            remedy="Check that the connection is open, and that its user may change settings (readonly = 0 or 2).",
        )
    name, columns = found

    def check() -> None:
        if describe(ask, wanted) != found:
            raise FaultError("the table has changed since it was opened")

    def execute(statement: str) -> Any:
        def work() -> Any:
            check()
            return ask(statement)

        return run(work, lambda: None)

    return ServedTable(
        name,
        columns,
        CLICKHOUSE,
        read_cell,
        execute,
        partial(_workspace, ask, check),
        probe=lambda: _can_copy(ask),
        computed=frozenset(computed),
        unread=unread,
    )


@contextmanager
def _workspace(within: Ask, check: Callable[[], None]) -> Iterator[Workspace]:
    """Open a workspace; its copies are temporary tables of the session, dropped at its end."""
    mark = uuid.uuid4().hex
    rows, looked = f"flexdp_records_{mark}", f"flexdp_looked_{mark}"

    def ask(statement: str) -> Any:
        return run(lambda: within(statement), lambda: None)

    def keep(name: str, query: str) -> None:
        ask(f"CREATE TEMPORARY TABLE {name} AS {query}")

    run(check, lambda: None)
    longest = int(ask("SELECT value FROM system.settings WHERE name = 'max_query_size'")[0][0])
    ask(f"SET max_query_size = {max(longest, _LONGEST)}")
    try:
        put = put_by_text(ask, CLICKHOUSE, f"CREATE OR REPLACE TEMPORARY TABLE {looked} AS")
        yield Workspace(CLICKHOUSE, ask, keep, put, rows=rows, looked=looked)
    finally:
        with suppress(Exception):
            within(f"SET max_query_size = {longest}")
        for name in (rows, looked):
            with suppress(Exception):  # the connection is lost, and its temporary tables with it
                within(f"DROP TEMPORARY TABLE IF EXISTS {name}")


def _can_copy(ask: Ask) -> bool:
    """Tell whether temporary tables can be made and found again, by making an empty one."""
    name, made = f"flexdp_probe_{uuid.uuid4().hex}", False
    with suppress(Exception):  # the engine's message is not repeated
        ask(f"CREATE TEMPORARY TABLE {name} AS SELECT 1 AS x WHERE 1 = 0")
        made = ask(f"SELECT count(*) FROM {name}")[0][0] == 0
        ask(f"DROP TEMPORARY TABLE {name}")
    return made


def _checked_columns(ask: Ask, name: str) -> set[str]:
    """Refuse a view, whose definition is not read here, and tables that merge rows or take them from elsewhere.

    Return the columns that may be computed when they are read.
    """
    engines = ask(
        "SELECT database, name, engine FROM system.tables WHERE engine NOT IN ('" + "', '".join(_STORED) + "')"
    )
    merged = {f"{CLICKHOUSE.identifier(row[0])}.{CLICKHOUSE.identifier(row[1])}" for row in engines}
    if name in merged:
        raise not_records()
    return computed_columns(ask(f"DESCRIBE TABLE {name}"))


def describe(ask: Ask, table: str) -> Described:
    """Return the quoted name and the declared columns of a table or view, in the current database or one named."""
    version, database = ask("SELECT version(), currentDatabase()")[0]
    if int(str(version).partition(".")[0]) < _OLDEST:
        raise InputError("source", f"must be ClickHouse {_OLDEST} or later: no other version is tested")
    schema, dot, rest = table.partition(".")
    for parts in ((database, table), (schema, rest)) if dot and rest else ((database, table),):
        name = ".".join(map(CLICKHOUSE.identifier, parts))
        rows = None
        with suppress(Exception):  # there is no such table, or the connection is lost, which shows below
            rows = ask(f"DESCRIBE TABLE {name}")
        if rows:
            stored = [row for row in rows if str(row[2]) != "ALIAS"]  # computed when read, perhaps from other rows
            return name, tuple(declared(str(row[0]), str(row[1])) for row in stored)
    ask("SELECT 1")
    raise no_table(table)
