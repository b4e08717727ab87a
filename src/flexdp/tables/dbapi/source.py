"""DB-API connections: the caller names the engine, because a connection does not tell it."""

from __future__ import annotations

import difflib
from typing import Any

from flexdp._core.text import safe_repr
from flexdp.errors import InputError
from flexdp.tables.dbapi.run import postgres_session
from flexdp.tables.postgres.source import table_of
from flexdp.tables.sql.served_table import ServedTable, check_name

__all__ = ["check_engine", "open_dbapi"]

ENGINES = ("postgres", "sqlite", "duckdb")
_SHOWN_ONLY = (
    "bigquery", "clickhouse", "databricks", "mysql", "mariadb", "oracle", "presto", "redshift", "snowflake", "trino",
    "tsql", "athena", "hive", "spark",
)  # fmt: skip


def check_engine(engine: object) -> str:
    """The name of an engine that counts are run on."""
    if isinstance(engine, str) and engine in ENGINES:
        return engine
    listed = "'postgres', 'sqlite' or 'duckdb'"
    if isinstance(engine, str) and engine in _SHOWN_ONLY:
        raise InputError(
            f"engine {safe_repr(engine)} can be shown, not run: flexdp.query(…, dialect={safe_repr(engine)}). "
            f"Through a connection counts run on {listed}."
        )
    near = difflib.get_close_matches(str(engine), (*ENGINES, *_SHOWN_ONLY), n=1) if isinstance(engine, str) else []
    raise InputError(
        f"engine must be {listed}; got {safe_repr(engine)}.{f' Did you mean {near[0]!r}?' if near else ''}"
    )


def open_dbapi(con: Any, table: object, engine: str) -> ServedTable:
    """A table behind a driver that flexdp does not know itself; of the engines, PostgreSQL has such drivers."""
    if engine != "postgres":
        raise InputError(
            f"engine={engine!r} needs a connection of Python's own {engine}{'3' if engine == 'sqlite' else ''} module; "
            f"got {safe_repr(con)}."
        )
    return table_of(postgres_session(con), check_name(table))
