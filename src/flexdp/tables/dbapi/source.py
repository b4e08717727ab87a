"""DB-API connections. The caller names the engine, which such a connection does not reveal."""

from __future__ import annotations

import difflib
from typing import Any, Literal, TypeAlias

from flexdp._core.text import safe_repr
from flexdp.errors import InputError, P
from flexdp.tables.clickhouse.source import open_clickhouse
from flexdp.tables.dbapi.run import postgres_session
from flexdp.tables.mariadb.source import open_mariadb
from flexdp.tables.postgres.source import table_of
from flexdp.tables.sql.served_table import ServedTable, check_name

__all__ = ["NAMED", "EngineName", "check_engine", "open_dbapi"]

EngineName: TypeAlias = Literal["postgres", "sqlite", "duckdb", "mariadb", "clickhouse"]

_ENGINES: tuple[EngineName, ...] = ("postgres", "sqlite", "duckdb", "mariadb", "clickhouse")
NAMED = "'postgres', 'mariadb', 'clickhouse', 'sqlite' or 'duckdb'"  # in messages


def check_engine(engine: object) -> EngineName:
    """Check the name of an engine that counts can run on."""
    for known in _ENGINES:
        if isinstance(engine, str) and engine == known:
            return known
    near = difflib.get_close_matches(str(engine), _ENGINES, n=1) if isinstance(engine, str) else []
    hint = "Only MariaDB is tested; export the table to a Parquet file." if engine == "mysql" else ""
    hint = f"Did you mean {near[0]!r}?" if near else hint
    raise InputError("engine", f"must be {NAMED}", given=safe_repr(engine), remedy=hint)


def open_dbapi(con: Any, table: object, engine: EngineName, *, rows_are_records: bool = False) -> ServedTable:
    """Open a table through a driver unknown to flexdp; only servers are supported that way."""
    if engine == "mariadb":
        return open_mariadb(con, table, rows_are_records=rows_are_records)
    if engine == "clickhouse":
        return open_clickhouse(con, table, rows_are_records=rows_are_records)
    if engine != "postgres":
        module = "sqlite3" if engine == "sqlite" else engine
        raise InputError(
            "source",
            (f"must be a connection of the module {module} with ", P("engine", engine)),
            given=safe_repr(con),
        )
    return table_of(postgres_session(con), check_name(table), rows_are_records=rows_are_records)
