"""Tables behind SQLAlchemy: its connections and engines are recognised, and the driver's own connection is used.

SQLAlchemy is not imported: its objects bring their own methods.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from flexdp._core.text import safe_repr
from flexdp.errors import InputError, UnavailableError
from flexdp.tables.engine import Pool

__all__ = ["EnginePool", "driver_connection", "engine_name", "is_connection", "is_engine"]

_ENGINES = {
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


def engine_name(source: Any) -> str:
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


class EnginePool(Pool):
    """An engine of SQLAlchemy: each session borrows a connection of its pool, and returns it."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine

    @contextmanager
    def lent(self) -> Iterator[Any]:
        con = None
        with suppress(Exception):  # its message may repeat the address
            con = self._engine.raw_connection()
        if con is None:
            raise UnavailableError(
                "source",
                ": the engine cannot connect",
                remedy="Check its address and that the server is running, then try again.",
            )
        try:
            yield con.driver_connection
        finally:
            con.close()  # which returns it to the pool
