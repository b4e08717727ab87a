"""pyarrow tables, record batches, data sets and arrays."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from flexdp._core.text import safe_repr
from flexdp.errors import InputError
from flexdp.tables.column import no_column
from flexdp.tables.frames.source import FrameSource
from flexdp.tables.records import all_different

__all__ = ["open_pyarrow", "times_of"]

_TEXT_FORMATS = ("CsvFileFormat", "JsonFileFormat")


def open_pyarrow(source: Any, column: object) -> FrameSource:
    """Open a pyarrow table, record batch, data set, array or chunked array."""
    import pyarrow

    single = isinstance(source, pyarrow.Array | pyarrow.ChunkedArray)
    if single:
        no_column(column, "an array")
        source = pyarrow.table({"value": source})
    if isinstance(source, pyarrow.RecordBatch):
        source = pyarrow.Table.from_batches([source])
    if not isinstance(source, pyarrow.Table) and not hasattr(source, "scanner"):
        raise InputError(
            "source",
            "must be a pyarrow table, record batch, data set or array",
            given=safe_repr(source),
            remedy="Pass a table, for example that of read_all().",
        )
    names, times = source.schema.names, times_of(source.schema)
    if isinstance(source, pyarrow.Table):

        def select(some: list[str]) -> Any:
            part = source.select([names.index(name) for name in some])
            for place, name in enumerate(some):
                if name in times:
                    part = part.set_column(place, name, part.column(place).cast("int64"))
            return part

        return FrameSource(select, tuple(names), times, single=single)
    parts = list(_parts(source))
    if any(type(getattr(part, "format", None)).__name__ in _TEXT_FORMATS for part in parts):
        raise InputError(
            "source",
            "is a data set of text files: pyarrow infers column types from the data, or fails at a single cell",
            remedy="Pass the files' paths themselves.",
        )
    files = [str(path) for part in parts for path in getattr(part, "files", None) or ()]
    if len(set(files)) < len(files) or (all(map(os.path.exists, files)) and not all_different(files)):
        raise InputError("source", "names the same file more than once", remedy="Name each file once.")

    def scan(some: list[str]) -> Any:
        if not any(name in times for name in some):
            return source
        from pyarrow import dataset

        return source.scanner(
            columns={name: dataset.field(name).cast("int64") if name in times else dataset.field(name) for name in some}
        )

    return FrameSource(scan, tuple(names), times)


def times_of(schema: Any) -> dict[str, str]:
    """Return the columns of datetimes in a schema of Arrow, and of dates that are held as such, with their types."""
    return {field.name: str(field.type) for field in schema if str(field.type).startswith(("date64", "timestamp"))}


def _parts(dataset: Any) -> Iterator[Any]:
    """Yield a data set and those within it."""
    yield dataset
    for child in getattr(dataset, "children", None) or ():
        yield from _parts(child)
