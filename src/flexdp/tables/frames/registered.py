"""Frames registered with DuckDB for the duration of one query."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from flexdp._core.text import safe_repr
from flexdp.errors import InputError
from flexdp.tables.duckdb.run import FOR_COPIES, connection, workspace_on
from flexdp.tables.duckdb.source import EngineTable
from flexdp.tables.frames.batches import Batches
from flexdp.tables.interrupts import run
from flexdp.tables.sql.workspace import Workspace

__all__ = ["registered"]


def registered(
    select: Callable[[list[str]], Any],
    *,
    names: Sequence[str] = (),
    times: Mapping[str, str],
    describe: Callable[[list[str]], Any] | None = None,
    single: str | None = None,
) -> EngineTable:
    """Return a table that DuckDB reads while it counts.

    ``select`` returns the frame with the given columns. ``times`` are columns passed as integers, with the names of
    their types. ``describe`` returns a frame of the same types that is cheaper to make. ``single`` is the name of a
    lone column.
    """
    look = describe or select

    def type_of(name: str) -> str:
        if name in times:
            return times[name]
        rows = None
        try:
            with connection() as con, _as_source(con, look([name])):
                rows = con.execute("DESCRIBE source").fetchall()
        except InputError:
            raise
        except Exception:  # noqa: BLE001  (the engine's message is not repeated)
            rows = None
        if rows is None:
            raise InputError(
                "column", f": {safe_repr(name)} has a type that cannot be read", remedy="Choose another column."
            )
        found = next((row[1] for row in rows if row[0] == name), None)
        if found is None:
            raise InputError(
                "column",
                f": {safe_repr(name)} differs from another column's name in case only",
                remedy="Rename one of them.",
            )
        return str(found)

    def execute(statement: str, columns: Sequence[str]) -> dict[str, Any]:
        with connection() as con, _as_source(con, select(list(columns))) as interrupt:
            return run(lambda: con.execute(statement).fetchnumpy(), interrupt)

    @contextmanager
    def opened(columns: Sequence[str]) -> Iterator[Workspace]:
        with (
            connection(memory=FOR_COPIES) as con,
            _as_source(con, select(list(columns))) as interrupt,
        ):
            yield workspace_on(con, interrupt)

    return EngineTable((single,) if single else tuple(names), type_of, execute, opened, single=single is not None)


@contextmanager
def _as_source(con: Any, table: Any) -> Iterator[Callable[[], None]]:
    """Register a table for the duration; yield the function that stops a query on it."""

    def close() -> None:
        if isinstance(table, Batches):
            table.close()

    def interrupt() -> None:
        close()  # first: a reader that waits for a batch notices nothing else
        con.interrupt()

    con.register("source", table)
    try:
        yield interrupt
    finally:
        close()
        con.unregister("source")
