"""Frames that DuckDB reads, by Arrow streams, while it counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from flexdp._core.text import safe_repr
from flexdp.errors import InputError
from flexdp.tables.counting import Counting, columns_of
from flexdp.tables.declared import Column, no_name, pick
from flexdp.tables.engines.duckdb.dialect import DUCKDB
from flexdp.tables.engines.duckdb.private import PrivateSource
from flexdp.tables.engines.duckdb.session import PrivateSession, connection
from flexdp.tables.engines.duckdb.types import declared, read_cell
from flexdp.tables.frames.batches import Batches
from flexdp.tables.sql.check_query import Inspected, Wanted, inspect_texts
from flexdp.tables.sql.query import ReadCell, Reading
from flexdp.tables.written import WRITTEN, Written

__all__ = ["FrameSource"]


@dataclass(frozen=True)
class FrameSource(PrivateSource):
    """A frame, whose ``select`` returns one with the given columns.

    ``times`` are columns passed as integers, with the names of their types. ``look`` returns a frame of the same types
    that is cheaper to make. A ``single`` column has no name of its own.
    """

    select: Callable[[list[str]], Any] = field(repr=False)
    labels: tuple[str, ...]
    times: Mapping[str, str]
    look: Callable[[list[str]], Any] | None = field(default=None, repr=False)
    single: bool = False
    files: tuple[str, ...] = ()
    how: Written = WRITTEN

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(self.column(None if self.single else name) for name in dict.fromkeys(self.labels))

    @property
    def names(self) -> tuple[str, ...]:
        return () if self.single else self.labels

    def column(self, name: object) -> Column:
        """Return the declared column of that name; its type is looked up only now."""
        if self.single:
            no_name(name)
            label = self.labels[0]
        else:
            if isinstance(name, str) and "\0" in name:  # polars would end the process, and no engine writes such a name
                raise InputError("column", ": a column's name contains the character NUL", remedy="Rename the column.")
            label = str(pick([Column(name=known, type_name="", kind=None) for known in self.labels], name).name)
        found = declared(None if self.single else label, self._type_of(label), label)
        return replace(found, written=self.how)

    def written(self, how: Written) -> FrameSource:
        return replace(self, how=how)

    def reading(self, countings: Sequence[Counting]) -> tuple[str, ReadCell]:  # noqa: ARG002
        return "source", _read

    @contextmanager
    def registered(self, con: Any, countings: Sequence[Counting]) -> Iterator[Callable[[], None]]:
        with _as_source(con, self.select([column.engine_name for column in columns_of(countings)])) as interrupt:
            yield interrupt

    def inspect(self, wanted: Sequence[Wanted]) -> Inspected:
        names = list(dict.fromkeys(each.column.engine_name for each in wanted))
        with connection() as con, _as_source(con, self.select(names)) as interrupt:
            return inspect_texts(PrivateSession(con, interrupt), "source", wanted, _read)

    def _type_of(self, name: str) -> str:
        if name in self.times:
            return self.times[name]
        rows = None
        try:
            with connection() as con, _as_source(con, (self.look or self.select)([name])):
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


def _read(column: Column, kind: Any) -> Reading:
    return read_cell(DUCKDB.identifier(column.engine_name), column, kind)


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
