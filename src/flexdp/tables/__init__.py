"""Tables: one count query, wherever the records lie. Only bucket counts leave this package."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from flexdp._parameters import shown
from flexdp.bars import Bars
from flexdp.buckets import Exact
from flexdp.errors import DataError, FlexdpError, InputError
from flexdp.tables.arrays import CellTable, open_array
from flexdp.tables.columns import Column, no_column, reading
from flexdp.tables.counting import Axis, Counted, Counting, Units
from flexdp.tables.files import open_files
from flexdp.tables.frames import (
    library_of,
    open_pandas,
    open_pandas_series,
    open_polars,
    open_pyarrow,
    open_relation,
)

__all__ = ["Axis", "Column", "Counted", "Counting", "Table", "Units", "count", "open_table", "query_of", "reading"]


class Table(Protocol):
    """A source of records that has declared its columns and been asked for nothing else yet."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The declared columns."""

    def column(self, name: object) -> Column:
        """The declared column of that name."""

    def query(self, counting: Counting) -> str:
        """The SQL text that would count; it runs nothing."""

    def count(self, counting: Counting) -> Counted:
        """The bars that hold records, and how many each: the one place where records are read."""


def open_table(
    source: Any,
    column: object = None,
    *,
    file_format: object = None,
    delimiter: object = None,
    engine: object = None,
) -> Table:
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
            return open_pandas(source)
        no_column(column, "a series")
        return open_pandas_series(source)
    if library == "polars" and any(hasattr(source, name) for name in ("get_column", "to_frame", "collect")):
        return open_polars(source, column)
    if library == "pyarrow":
        return open_pyarrow(source, column)
    if library == "duckdb":
        return open_relation(source)
    if isinstance(source, np.ndarray):
        table = open_array(source)
        no_column(column, "an array")
        return table
    if isinstance(source, list | tuple):
        no_column(column, "a list of values")
        return CellTable(lambda: list(source), Column(name=None, type_name="list", kind=None, undeclared=True))
    raise InputError(
        f"source must be a path, a list, a numpy array, a pandas, polars or pyarrow table or a DuckDB relation; "
        f"got {shown(source)}."
    )


def _all_paths(source: Sequence[Any]) -> bool:
    return all(isinstance(item, str | os.PathLike) for item in source)


def query_of(table: Table, countings: Sequence[Counting], dialect: str | None = None) -> str:
    """The SQL text that would count; it runs nothing."""
    together = getattr(table, "together_query", None)
    if len(countings) > 1 and together is not None and all(counting.units is None for counting in countings):
        text = str(together(countings))
    else:
        text = ";\n\n".join(table.query(counting) for counting in countings)
    if dialect is not None:
        raise InputError(f"dialect {shown(dialect)} is not known.")
    return text


def count(table: Table, countings: Sequence[Counting]) -> list[Bars]:
    """The private bars of each count. Equal ones are summed here, before any noise."""
    together = getattr(table, "together", None)
    try:
        if len(countings) > 1 and together is not None:
            found = together(countings)
        else:
            found = [table.count(counting) for counting in countings]
        out = [_bars(each, counting) for each, counting in zip(found, countings, strict=True)]
    except FlexdpError:
        raise
    except Exception:  # noqa: BLE001  (its text may quote a record, and its kind may depend on one)
        out = []
    if not out:
        raise DataError  # outside the handler, so that no chain of causes leads back to the record
    return out


def _bars(counted: Counted, counting: Counting) -> Bars:
    keys = [_index(np.ma.getdata(part), axis) for part, axis in zip(counted.keys, counting.axes, strict=True)]
    return Bars(keys, np.ma.getdata(counted.records))


def _index(keys: Any, axis: Axis) -> Any:
    """A part of the bars' keys as the partition numbers them."""
    if axis.kind == "boolean":
        return keys.astype(bool)
    if axis.kind == "text" or (isinstance(axis.buckets, Exact) and axis.kind == "number"):
        return keys
    if keys.dtype == object:  # integers too wide for the engine's arrays come as texts
        return [int(key) for key in keys]
    return keys.astype(np.int64)
