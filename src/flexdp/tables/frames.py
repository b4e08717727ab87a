"""Frames and relations: pandas, polars, pyarrow, anything that streams Arrow, and DuckDB relations.

None of these libraries is imported here: whoever passes a frame has imported it already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from flexdp.buckets import Buckets, Kind
from flexdp.errors import InputError
from flexdp.tables.arrays import ArrayTable, CellTable, open_array
from flexdp.tables.columns import Column, no_column, pick
from flexdp.tables.duckdb import connection, engine_column, run
from flexdp.tables.sql import column_query, identifier

__all__ = [
    "EngineTable",
    "PandasTable",
    "library_of",
    "open_pandas_series",
    "open_polars",
    "open_pyarrow",
    "open_relation",
]


_RELATION = "flexdp_relation"  # the name that a caller's relation has in the query


def library_of(source: object) -> str | None:
    """Which library an object comes from, by the classes it is made of."""
    for cls in type(source).__mro__:
        root = cls.__module__.split(".")[0]
        if root in ("pandas", "polars", "pyarrow"):
            return root
        if root in ("duckdb", "_duckdb") and cls.__name__ == "DuckDBPyRelation":
            return "duckdb"
    return None


@dataclass(frozen=True)
class PandasTable:
    """A pandas frame. Its numbers are numbers, whether one missing cell has made them floats or not."""

    frame: Any = field(repr=False)  # records: never in a text form

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return tuple(self._table(i).declared for i in range(len(self.frame.columns)))

    def _table(self, place: int) -> ArrayTable | CellTable:
        return open_pandas_series(self.frame.iloc[:, place], name=str(self.frame.columns[place]))

    def _place(self, name: object) -> int:
        names = [
            Column(name=str(label) if isinstance(label, str) else None, type_name="", kind=None)
            for label in self.frame.columns
        ]
        return names.index(pick(names, name))

    def column(self, name: object) -> Column:
        return self._table(self._place(name)).declared

    def query(self, column: Column, kind: Kind, buckets: Buckets) -> str:
        return self._table(self._place(column.name)).query(column, kind, buckets)

    def count(self, column: Column, kind: Kind, buckets: Buckets) -> tuple[Any, Any]:
        return self._table(self._place(column.name)).count(column, kind, buckets)


def open_pandas_series(series: Any, name: str | None = None) -> ArrayTable | CellTable:
    """One pandas column. Only the dtype is looked at."""
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        return open_array(series.to_numpy(), name=name, numbers=True)
    word = str(dtype)
    letter = getattr(dtype, "kind", "O")
    if letter in "iufb":  # nullable and Arrow-backed numbers: the missing ones are left out here
        present = series[series.notna().to_numpy()]
        plain = {"i": np.int64, "u": np.uint64, "f": np.float64, "b": np.bool_}[letter]
        return open_array(present.to_numpy(dtype=plain), name=name, numbers=True)
    if word.startswith("datetime64"):
        return CellTable(list, Column(name=name, type_name="timestamp with a time zone", kind=None))
    if word.startswith(("str", "large_string")):
        return CellTable(series.tolist, Column(name=name, type_name="text", kind="text"))
    if word == "category" or letter == "O":
        return CellTable(series.tolist, Column(name=name, type_name=word, kind=None, undeclared=True))
    return CellTable(list, Column(name=name, type_name=word, kind=None))


class _Stream:
    """Shows an engine nothing of an object but its Arrow stream, so that no other library is needed to read it."""

    def __init__(self, source: Any) -> None:
        self._source = source

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._source.__arrow_c_stream__(requested_schema)


def open_polars(source: Any, column: object) -> EngineTable:
    """A polars frame or series."""
    if hasattr(source, "collect"):
        raise InputError("source is a lazy frame; collect it first, or pass the file it scans.")
    if hasattr(source, "to_frame"):
        no_column(column, "a series")
        return _registered(_Stream(source.to_frame("value")), None)
    name = pick(_named(source.columns), column).name
    return _registered(_Stream(source.get_column(name).to_frame("value")), name)


def open_pyarrow(source: Any, column: object) -> EngineTable:
    """A pyarrow table, record batch, data set, array or chunked array."""
    import pyarrow

    if isinstance(source, pyarrow.Array | pyarrow.ChunkedArray):
        no_column(column, "an array")
        return _registered(pyarrow.table({"value": source}), None)
    if isinstance(source, pyarrow.RecordBatch):
        source = pyarrow.Table.from_batches([source])
    if not isinstance(source, pyarrow.Table):
        if not hasattr(source, "scanner"):
            raise InputError(f"source is a pyarrow {type(source).__name__}; pass a table, for example its read_all().")
        name = pick(_named(source.schema.names), column).name
        return _registered(source, name, inner=str(name))
    names = source.schema.names
    name = pick(_named(names), column).name
    return _registered(source.select([names.index(name)]).rename_columns(["value"]), name)


def open_relation(source: Any, column: object) -> EngineTable:
    """A DuckDB relation, counted on its own connection."""
    try:
        names, types = list(source.columns), list(source.types)
    except Exception:  # noqa: BLE001  (the engine's own text is not ours to repeat)
        raise InputError("source is a relation that can no longer be read; is its connection open?") from None
    name = pick(_named(names), column).name
    type_name = str(types[names.index(name)])
    declared = engine_column(name, type_name)

    def count(statement: str) -> dict[str, Any]:
        # The connection is the caller's, so a running query cannot be interrupted from here.
        return run(lambda: source.query(_RELATION, statement).fetchnumpy(), lambda: None)

    return EngineTable(declared, str(name), count, table=_RELATION)


def _named(names: Sequence[Any]) -> list[Column]:
    return [Column(name=str(name), type_name="", kind=None) for name in names]


def _registered(table: Any, name: str | None, inner: str = "value") -> EngineTable:
    import duckdb as engine

    try:
        with connection() as con, _as_source(con, table):
            rows = con.execute("DESCRIBE source").fetchall()
    except engine.Error:
        raise InputError(
            "source has a column of a type that cannot be read; pass only the column to release."
        ) from None
    type_name = next((row[1] for row in rows if row[0] == inner), None)
    if type_name is None:
        raise InputError("column has the name of another one but for upper and lower case; rename one of them.")

    def count(statement: str) -> dict[str, Any]:
        with connection() as con, _as_source(con, table):
            return run(lambda: con.execute(statement).fetchnumpy(), con.interrupt)

    return EngineTable(engine_column(name, type_name), inner, count)


@contextmanager
def _as_source(con: Any, table: Any) -> Iterator[None]:
    con.register("source", table)
    try:
        yield
    finally:
        con.unregister("source")


@dataclass(frozen=True)
class EngineTable:
    """A column of a table that DuckDB sees, under the name it has there."""

    declared: Column
    inner: str
    execute: Callable[[str], dict[str, Any]]
    table: str = "source"

    @property
    def columns(self) -> tuple[Column, ...]:
        return (self.declared,)

    def column(self, name: object) -> Column:  # noqa: ARG002  (it was chosen when the table was opened)
        return self.declared

    def query(self, column: Column, kind: Kind, buckets: Buckets) -> str:
        """The SQL that counts; it runs nothing."""
        return column_query(self.table, identifier(self.inner), column, kind, buckets)

    def count(self, column: Column, kind: Kind, buckets: Buckets) -> tuple[Any, Any]:
        """Buckets and how many records each holds."""
        out = self.execute(self.query(column, kind, buckets))
        return out["bucket"], out["records"]
