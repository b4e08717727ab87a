"""Tables: one count query, wherever the records lie. Only bucket counts leave this package."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from flexdp._parameters import shown
from flexdp.buckets import Buckets, Exact, Kind
from flexdp.errors import DataError, FlexdpError, InputError
from flexdp.histogram import Histogram
from flexdp.tables.arrays import CellTable, open_array
from flexdp.tables.columns import Column, no_column, reading
from flexdp.tables.files import open_files
from flexdp.tables.frames import (
    PandasTable,
    library_of,
    open_pandas_series,
    open_polars,
    open_pyarrow,
    open_relation,
)

__all__ = ["Column", "Table", "count", "open_table", "reading"]


class Table(Protocol):
    """A source of records that has declared its columns and been asked for nothing else yet."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The declared columns."""

    def column(self, name: object) -> Column:
        """The declared column of that name."""

    def query(self, column: Column, kind: Kind, buckets: Buckets) -> str:
        """The SQL text that would count; it runs nothing."""

    def count(self, column: Column, kind: Kind, buckets: Buckets) -> tuple[Any, Any]:
        """The buckets that hold records, and how many each: the one place where records are read."""


def open_table(source: Any, column: object = None, *, file_format: object = None, delimiter: object = None) -> Table:
    """Recognise a source by what it is, read what it declares, and touch no record."""
    if isinstance(source, str | os.PathLike):
        return open_files([source], file_format, delimiter, echo=True)
    if isinstance(source, Sequence) and column is not None and _all_paths(source):
        return open_files(source, file_format, delimiter)
    for name, value in (("format", file_format), ("delimiter", delimiter)):
        if value is not None:
            raise InputError(f"{name} fits files only; leave it out.")
    library = library_of(source)
    if library == "pandas" and hasattr(source, "iloc"):
        if hasattr(source, "columns"):
            return PandasTable(source)
        no_column(column, "a series")
        return open_pandas_series(source)
    if library == "polars" and any(hasattr(source, name) for name in ("get_column", "to_frame", "collect")):
        return open_polars(source, column)
    if library == "pyarrow":
        return open_pyarrow(source, column)
    if library == "duckdb":
        return open_relation(source, column)
    if isinstance(source, np.ndarray):
        no_column(column, "an array")
        return open_array(source)
    if isinstance(source, list | tuple):
        no_column(column, "a list of values")
        return CellTable(lambda: list(source), Column(name=None, type_name="list", kind=None, undeclared=True))
    raise InputError(
        f"source must be a path, a list, a numpy array, a pandas, polars or pyarrow table or a DuckDB relation; "
        f"got {shown(source)}."
    )


def _all_paths(source: Sequence[Any]) -> bool:
    return all(isinstance(item, str | os.PathLike) for item in source)


def count(table: Table, column: Column, kind: Kind, buckets: Buckets) -> Histogram:
    """The private histogram over bucket indices. Equal keys are summed here, before any noise."""
    try:
        counted = table.count(column, kind, buckets)
    except FlexdpError:
        raise
    except Exception:  # noqa: BLE001  (its text may quote a record, and its kind may depend on one)
        counted = None
    if counted is None:
        raise DataError  # outside the handler, so that no chain of causes leads back to the record
    index, records = counted
    keys: Any = np.ma.getdata(index)
    if keys.dtype == object and kind == "integer":  # integers too wide for the engine's arrays come as text
        keys = [int(key) for key in keys]
    elif keys.dtype.kind == "f" and not isinstance(buckets, Exact):  # an index that the engine kept as a double
        keys = keys.astype(np.int64)
    return Histogram(keys, np.ma.getdata(records))
