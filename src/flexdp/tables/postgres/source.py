"""PostgreSQL tables and views and the columns that they declare."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Any

from flexdp._core.faults import FaultError
from flexdp.errors import FlexdpError, InputError
from flexdp.tables.interrupts import run
from flexdp.tables.plans.postgres import check_stored, check_view
from flexdp.tables.plans.refusal import checked
from flexdp.tables.postgres.dialect import POSTGRES
from flexdp.tables.postgres.run import Session, caller_session, own_session
from flexdp.tables.postgres.types import declared, read_cell
from flexdp.tables.sql.privileges import not_permitted
from flexdp.tables.sql.served_table import Ask, Described, ServedTable, check_name, no_table
from flexdp.tables.sql.workspace import Workspace, put_rows

__all__ = ["describe", "is_address", "names_at", "open_postgres", "table_of"]

_LOOKED = "pg_temp.flexdp_looked"

_OLDEST = 140000
_DENIED = "42501"  # the code of a privilege that is missing


def is_address(source: object) -> bool:
    """Tell whether a text is the address of a PostgreSQL server."""
    return isinstance(source, str) and source.startswith(("postgresql://", "postgres://"))


def open_postgres(source: Any, table: object, *, rows_are_records: bool = False) -> ServedTable:
    """Open a table or view at an address, or on the caller's connection."""
    wanted = check_name(table)
    session = own_session(source) if isinstance(source, str) else caller_session(source)
    return table_of(session, wanted, rows_are_records=rows_are_records)


def table_of(session: Session, wanted: str, *, rows_are_records: bool = False) -> ServedTable:
    """Open a table or view that is visible in a session."""
    found: Described | None = None
    unread: frozenset[str] = frozenset()
    try:
        with session.opened() as ask:
            found = describe(ask, wanted)
            name, literal = found[0], POSTGRES.text(found[0])
            unread = frozenset(str(row[0]) for row in ask(_UNREAD.replace("$name", literal)))
            simple = not ask(_DEFINED.replace("$name", literal))
            readable = [POSTGRES.identifier(each.name) for each in found[1] if each.name and each.name not in unread]
            probed = [] if simple else readable  # grants tell all about a table, which is not locked then
            if rows_are_records:
                _select_nothing(ask, name, probed)
            else:
                checked(lambda: check_stored(ask, literal))
                checked(lambda: _select_nothing(ask, name, probed))
                checked(lambda: check_view(ask, name, literal, readable))
    except FlexdpError:
        raise
    except Exception:  # noqa: BLE001  (the engine's message is not repeated)
        found = None
    if found is None:
        raise InputError(
            "source",
            ": the declared columns cannot be read",
            remedy="Check that the connection is open, and may read pg_catalog and use the schema of the table.",
        )
    name, columns = found

    def check(ask: Ask) -> None:
        ask(f"SELECT 1 FROM {name} LIMIT 0")  # locks the definition of the table
        if describe(ask, wanted) != found:
            raise FaultError("the table has changed since it was opened")

    def execute(statement: str) -> Any:
        def work() -> Any:
            with session.opened() as ask:
                check(ask)
                return ask(statement)

        return run(work, session.cancel)

    opened = partial(_workspace, session, check)
    return ServedTable(
        name, columns, POSTGRES, read_cell, execute, opened, probe=lambda: _can_copy(session), unread=unread
    )


def _select_nothing(ask: Ask, name: str, readable: Sequence[str]) -> None:
    """Refuse a view of what the role may not read, and rows that it may not see, by selecting no row."""
    denied = False
    try:
        if readable:
            ask(f"SELECT {', '.join(readable)} FROM {name} WHERE 1 = 0")
    except Exception as error:
        denied = _DENIED in (getattr(error, "sqlstate", ""), *_codes(error))
        if not denied:
            raise
    if denied:
        raise not_permitted(name, "a part")


def _codes(error: Exception) -> Iterator[object]:
    """Yield the codes of an error, as pg8000 tells them."""
    for each in error.args:
        if isinstance(each, dict):
            yield from each.values()


@contextmanager
def _workspace(session: Session, check: Callable[[Ask], None]) -> Iterator[Workspace]:
    """Open a workspace in one transaction; its copies are temporary tables, which are rolled back with it."""
    with ExitStack() as stack:

        def enter() -> Ask:
            ask = stack.enter_context(session.copying())
            check(ask)
            return ask

        within = run(enter, session.cancel)

        def ask(statement: str) -> Any:
            return run(lambda: within(statement), session.cancel)

        def keep(name: str, query: str) -> None:
            ask(f"CREATE TEMPORARY TABLE {name} ON COMMIT DROP AS {query}")
            ask(f"ANALYZE {name}")  # without it, a table just made is planned as if it had a thousand rows

        def many(statement: str, rows: Sequence[Sequence[Any]]) -> None:
            run(lambda: session.many(statement, rows), session.cancel)

        put = put_rows(ask, many, POSTGRES, _LOOKED, "%s")
        yield Workspace(POSTGRES, ask, keep, put, rows="pg_temp.flexdp_records", looked=_LOOKED)


def _can_copy(session: Session) -> bool:
    """Tell whether temporary tables can be made, by making an empty one."""
    made = False
    with suppress(Exception), session.copying() as ask:  # the engine's message is not repeated
        ask("CREATE TEMPORARY TABLE pg_temp.flexdp_probe (x INTEGER) ON COMMIT DROP")
        made = True
    return made


def describe(ask: Ask, table: str) -> Described:
    """Return the quoted name and the declared columns of a table or view, found by the connection's search path."""
    version, encoding = ask("SELECT current_setting('server_version_num'), current_setting('server_encoding')")[0]
    if int(version) < _OLDEST:
        raise InputError("source", "must be PostgreSQL 14 or later: older versions do not return datetimes exactly")
    if encoding != "UTF8":
        raise InputError("source", "must be a database encoded in UTF8: in others, a single text may fail to convert")
    schema, dot, rest = table.partition(".")
    for parts in ((table,), (schema, rest)) if dot and rest else ((table,),):
        quoted = ".".join(POSTGRES.identifier(part) for part in parts)
        rows = ask(_COLUMNS.replace("$name", POSTGRES.text(quoted)))
        if rows:
            name = f"{POSTGRES.identifier(rows[0][0])}.{POSTGRES.identifier(rows[0][1])}"
            return name, tuple(declared(*row[2:]) for row in rows)
    raise no_table(table, _names(ask))


def names_at(address: str) -> list[str]:
    """Return the names of the tables and views at an address."""
    with own_session(address).opened() as ask:
        return _names(ask)


def _names(ask: Ask) -> list[str]:
    return [str(row[0]) for row in ask(_NAMES)]


_NAMES = """
SELECT CASE WHEN pg_catalog.pg_table_is_visible(c.oid) THEN c.relname ELSE n.nspname || '.' || c.relname END AS name
FROM pg_catalog.pg_class AS c
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%'
  AND pg_catalog.has_table_privilege(c.oid, 'SELECT')
ORDER BY 1
LIMIT 13
"""

_COLUMNS = """
SELECT n.nspname, c.relname, a.attname,
  CASE WHEN t.typtype = 'd' THEN format_type(t.typbasetype, t.typtypmod) ELSE format_type(t.oid, a.atttypmod) END,
  CAST(CASE WHEN t.typtype = 'd' THEN b.typtype ELSE t.typtype END AS TEXT)
FROM pg_catalog.pg_class AS c
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid
LEFT JOIN pg_catalog.pg_type AS b ON b.oid = t.typbasetype
WHERE c.oid = pg_catalog.to_regclass($name) AND c.relkind IN ('r', 'v', 'm', 'f', 'p')
ORDER BY a.attnum
"""
# A view, or a table with policies for rows: what is read depends on a definition.
_DEFINED = """
SELECT 1 FROM pg_catalog.pg_class
WHERE oid = pg_catalog.to_regclass($name) AND (relkind NOT IN ('r', 'p') OR relrowsecurity)
"""
_UNREAD = """
SELECT a.attname FROM pg_catalog.pg_attribute AS a
WHERE a.attrelid = pg_catalog.to_regclass($name) AND a.attnum > 0 AND NOT a.attisdropped
  AND NOT pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT')
"""
