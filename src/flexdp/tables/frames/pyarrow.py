"""pyarrow tables, record batches, data sets and arrays."""

from __future__ import annotations

import os
from typing import Any

from flexdp._core.text import safe_repr
from flexdp.errors import InputError
from flexdp.tables.column import no_column
from flexdp.tables.frames.source import FrameSource
from flexdp.tables.records import all_different

__all__ = ["open_pyarrow"]

_TEXT_FORMATS = ("CsvFileFormat", "JsonFileFormat")


def open_pyarrow(source: Any, column: object) -> FrameSource:
    """Open a pyarrow table, record batch, data set, array or chunked array."""
    import pyarrow

    if isinstance(source, pyarrow.Array | pyarrow.ChunkedArray):
        no_column(column, "an array")
        source, single = pyarrow.table({"value": source}), True
    else:
        single = False
    if isinstance(source, pyarrow.RecordBatch):
        source = pyarrow.Table.from_batches([source])
    if not isinstance(source, pyarrow.Table) and not hasattr(source, "scanner"):
        raise InputError(
            "source",
            "must be a pyarrow table, record batch, data set or array",
            given=safe_repr(source),
            remedy="Pass a table, for example that of read_all().",
        )
    names, types = source.schema.names, source.schema.types
    times = {
        name: str(kind)
        for name, kind in zip(names, types, strict=True)
        if str(kind).startswith(("date64", "timestamp"))
    }
    if isinstance(source, pyarrow.Table):

        def select(some: list[str]) -> Any:
            part = source.select([names.index(name) for name in some])
            for place, name in enumerate(some):
                if name in times:
                    part = part.set_column(place, name, part.column(place).cast("int64"))
            return part

        return FrameSource(select, tuple(names), times, single=single)
    _refuse_text(source)
    files = _files(source)
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


def _files(dataset: Any) -> list[str]:
    """Return the files of a data set, also of those within it."""
    own = [str(path) for path in getattr(dataset, "files", None) or ()]
    return own + [path for child in getattr(dataset, "children", None) or () for path in _files(child)]


def _refuse_text(dataset: Any) -> None:
    """Refuse data sets of text files, also within others."""
    if type(getattr(dataset, "format", None)).__name__ in _TEXT_FORMATS:
        raise InputError(
            "source",
            "is a data set of text files: pyarrow infers column types from the data, or fails at a single cell",
            remedy="Pass the files' paths themselves.",
        )
    for child in getattr(dataset, "children", None) or ():
        _refuse_text(child)
