"""pyarrow tables, record batches, data sets and arrays, and streams of Arrow that any other library's objects give."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any
from weakref import WeakSet

from flexdp._core.faults import FaultError
from flexdp._core.text import safe_repr
from flexdp.errors import InputError
from flexdp.tables.column import no_column
from flexdp.tables.frames.source import ArrowStream, FrameSource
from flexdp.tables.interrupts import run_here
from flexdp.tables.records import all_different, not_records

__all__ = ["is_reader", "is_stream", "open_pyarrow", "open_stream", "times_of"]

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


_STORED = ("nanoarrow", "Array")  # the library and the class of objects that hold their rows; streams may compute them
_TEXT_READERS = ("CSVStreamingReader", "JSONStreamingReader")
_consumed: WeakSet[Any] = WeakSet()  # readers whose rows have been read, of which nothing is left


def is_stream(source: object) -> bool:
    """Tell whether an object gives an Arrow stream."""
    return hasattr(type(source), "__arrow_c_stream__")


def is_reader(source: object) -> bool:
    """Tell whether an object is a reader of pyarrow, whose batches can be read once."""
    return any(
        cls.__module__.split(".")[0] == "pyarrow" and cls.__name__ == "RecordBatchReader"
        for cls in type(source).__mro__
    )


def open_stream(source: Any, *, rows_are_records: bool = False) -> FrameSource:
    """Open such an object: only its schema is read. What it computes on the way, nobody can tell."""
    if hasattr(source, "iloc"):
        raise InputError(
            "source",
            "has types that were inferred from cells, as in pandas",
            remedy="Pass it as a pandas frame.",
        )
    if type(source).__name__ in _TEXT_READERS:
        raise InputError(
            "source",
            "is a reader of a text file: pyarrow infers column types from the data, or fails at a single cell",
            remedy="Pass the file's path itself.",
        )
    if not rows_are_records and (type(source).__module__.split(".")[0], type(source).__name__) != _STORED:
        raise not_records()
    try:
        import pyarrow
    except ModuleNotFoundError:
        raise InputError(
            "source", "is an Arrow stream, which needs pyarrow", remedy="Run pip install pyarrow."
        ) from None
    if is_reader(source) and source in _consumed:
        raise InputError("source", "can be read only once, and has been read already", remedy="Make a new reader.")
    rows = _Rows(source)
    schema = None
    with suppress(Exception):  # its message may quote a cell; refused below
        schema = rows.schema()
    if schema is None:
        raise InputError(
            "source",
            ": its Arrow stream cannot be opened",
            remedy="Check that it is a table, and that a stream that can be read only once has not been read already.",
        )
    names, times = list(schema.names), times_of(schema)

    def part(some: list[str]) -> Any:
        kinds = {name: pyarrow.int64() if name in times else schema.field(names.index(name)).type for name in some}
        return pyarrow.schema(list(kinds.items()))

    def selected(some: list[str]) -> Any:
        run_here(rows.open, lambda: None)  # objects may be bound to the caller's thread, as connections to SQLite are
        places = [names.index(name) for name in some]
        return ArrowStream(lambda: part(some), lambda wanted: rows.batches(schema, places, wanted))

    return FrameSource(selected, tuple(names), times, look=lambda some: part(some).empty_table())


class _Rows:
    """The stream of an object, opened anew for every count; a stream that was opened for its schema is not wasted.

    The batches of a reader, which can be read once, are kept in memory: a release may count several times.
    """

    def __init__(self, source: Any) -> None:
        self._source = source
        self._unread: list[Any] = []
        self._sizes: set[int] = set()
        self._kept: list[Any] | None = None

    def schema(self) -> Any:
        """Return the declared schema, which most libraries know without opening a stream."""
        import pyarrow

        if hasattr(self._source, "__arrow_c_schema__"):
            return pyarrow.schema(self._source)
        known = getattr(self._source, "schema", None)
        if isinstance(known, pyarrow.Schema):
            return known
        if callable(known):
            with suppress(TypeError):  # it is something else that is called so
                return pyarrow.schema(known())
        self.open()
        return self._unread[0].schema

    def open(self) -> None:
        """Open the stream in this thread, unless one is open that has not been read, or its batches were kept."""
        import pyarrow

        if self._unread or self._kept is not None:
            return
        self._unread.append(pyarrow.RecordBatchReader.from_stream(self._source))

    def batches(self, schema: Any, places: Sequence[int], wanted: Any) -> Iterator[Any]:
        """Yield some columns of all batches, in the types of another schema."""
        import pyarrow

        for batch in self._whole(schema):
            columns = [batch.column(place).cast(kind) for place, kind in zip(places, wanted.types, strict=True)]
            yield pyarrow.RecordBatch.from_arrays(columns, schema=wanted)

    def _whole(self, schema: Any) -> Iterator[Any]:
        """Yield all batches; those of another schema, or fewer than the last time, are a failure."""
        if self._kept is not None:
            yield from self._kept
            return
        self.open()
        reader, once, kept = self._unread.pop(), is_reader(self._source), []
        if once:
            _consumed.add(self._source)
        if reader.schema.names != schema.names or reader.schema.types != schema.types:
            raise FaultError("the table has changed since it was opened")
        size = 0
        for batch in reader:
            size += batch.num_rows
            if once:
                kept.append(batch)
            yield batch
        if once:
            self._kept = kept
        self._sizes.add(size)
        if len(self._sizes) > 1:  # a stream that can be read only once is empty the second time
            raise FaultError("the table has changed since it was last read")
