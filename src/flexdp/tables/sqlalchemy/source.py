"""Tables behind SQLAlchemy: its connections and engines are recognised, and their driver's own connection is used.

SQLAlchemy is not imported: its objects bring their own methods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from flexdp._core.faults import FaultError
from flexdp._core.text import safe_repr
from flexdp.errors import InputError, UnavailableError
from flexdp.tables.dbapi.source import EngineName
from flexdp.tables.sql.served_table import ServedTable
from flexdp.tables.sql.workspace import Workspace

__all__ = ["driver_connection", "engine_name", "is_connection", "is_engine", "open_engine"]

_ENGINES: dict[str, EngineName] = {
    "postgresql": "postgres",
    "mariadb": "mariadb",
    "mysql": "mariadb",  # its dialect for both; the server says what it is
    "sqlite": "sqlite",
}


def _is(source: object, *names: str) -> bool:
    return any(cls.__module__.split(".")[0] == "sqlalchemy" and cls.__name__ in names for cls in type(source).__mro__)


def is_engine(source: object) -> bool:
    """Tell whether an object is an engine of SQLAlchemy, without importing it."""
    return _is(source, "Engine", "AsyncEngine")


def is_connection(source: object) -> bool:
    """Tell whether an object is a connection of SQLAlchemy, without importing it."""
    return _is(source, "Connection", "AsyncConnection")


def engine_name(source: Any) -> EngineName:
    """Return the name of the engine that SQLAlchemy is connected to."""
    if _is(source, "AsyncEngine", "AsyncConnection") or source.dialect.is_async:
        raise InputError("source", "must be a synchronous engine or connection", given=safe_repr(source))
    found = _ENGINES.get(source.dialect.name)
    if found is None:
        raise InputError(
            "source",
            f": flexdp does not count on {safe_repr(source.dialect.name)}",
            remedy=f"SQLAlchemy may be connected to {', '.join(_ENGINES)}.",
        )
    return found


def driver_connection(con: Any) -> Any:
    """Return the driver's connection behind one of SQLAlchemy, in the transaction that it is in."""
    if con.closed:
        raise InputError("source", "is a connection that has been closed", remedy="Open a new one.")
    return con.connection.driver_connection


def open_engine(engine: Any, open_on: Callable[[Any], ServedTable]) -> ServedTable:
    """Open a table of an engine, by ``open_on`` a connection; every step borrows one from the pool and returns it."""
    with _borrowed(engine) as con:
        found = open_on(con)

    @contextmanager
    def again() -> Iterator[ServedTable]:
        with _borrowed(engine) as con:
            table = open_on(con)
            if table.columns != found.columns:
                raise FaultError("the table has changed since it was opened")
            yield table

    @contextmanager
    def opened() -> Iterator[Workspace]:
        with again() as table, table.opened() as workspace:
            yield workspace

    def execute(statement: str) -> Any:
        with again() as table:
            return table.execute(statement)

    def probe() -> bool:
        with again() as table:
            return table.probe()

    return replace(found, execute=execute, opened=opened, probe=probe)


@contextmanager
def _borrowed(engine: Any) -> Iterator[Any]:
    lent: list[Any] = []
    try:
        lent.append(engine.raw_connection())
    except Exception:  # noqa: BLE001  (its message may repeat the address)
        lent.clear()
    if not lent:
        raise UnavailableError(
            "source",
            ": the engine cannot connect",
            remedy="Check its address and that the server is running, then try again.",
        )
    try:
        yield lent[0].driver_connection
    finally:
        lent[0].close()  # which returns it to the pool
