"""Objects of any library that give their records as an Arrow stream, read while they are counted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from flexdp.errors import InputError
from flexdp.tables.duckdb.source import EngineTable
from flexdp.tables.frames.registered import registered
from flexdp.tables.plans.refusal import not_records

__all__ = ["is_stream", "open_stream"]

_STORED = ("nanoarrow",)  # libraries whose objects hold rows that were stored


def is_stream(source: object) -> bool:
    """Tell whether an object gives an Arrow stream."""
    return hasattr(type(source), "__arrow_c_stream__")


def open_stream(source: Any, *, rows_are_records: bool = False) -> EngineTable:
    """Open such an object: only its schema is read. What it computes on the way, nobody can tell."""
    if hasattr(source, "iloc"):
        raise InputError(
            "source",
            "has types that were inferred from cells, as in pandas",
            remedy="Pass it as a pandas frame.",
        )
    if not rows_are_records and type(source).__module__.split(".")[0] not in _STORED:
        raise not_records("steps before its Arrow stream that cannot be seen")
    try:
        import pyarrow
    except ModuleNotFoundError:
        raise InputError(
            "source", "is an Arrow stream, which needs pyarrow", remedy="Run pip install pyarrow."
        ) from None
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
    names = list(schema.names)
    times = {field.name: str(field.type) for field in schema if str(field.type).startswith(("date64", "timestamp"))}

    def selected(some: list[str]) -> Any:
        kinds = {name: pyarrow.int64() if name in times else schema.field(names.index(name)).type for name in some}
        return _Selected(rows, schema, pyarrow.schema(list(kinds.items())))

    def described(some: list[str]) -> Any:
        return selected(some).schema.empty_table()

    return registered(selected, names=names, times=times, describe=described)


class _Rows:
    """The stream of an object, opened anew for every count; a stream that was opened for its schema is not wasted."""

    def __init__(self, source: Any) -> None:
        self._source = source
        self._unread: list[Any] = []
        self._sizes: set[int] = set()

    def schema(self) -> Any:
        """Return the declared schema, which most libraries know without opening a stream."""
        import pyarrow

        if hasattr(self._source, "__arrow_c_schema__"):
            return pyarrow.schema(self._source)
        known = getattr(self._source, "schema", None)
        if callable(known):
            with suppress(TypeError):  # it is something else that is called so
                return pyarrow.schema(known())
        self._unread.append(pyarrow.RecordBatchReader.from_stream(self._source))
        return self._unread[0].schema

    def batches(self, schema: Any) -> Iterator[Any]:
        """Yield all batches; those of another schema, or fewer than the last time, are a failure."""
        import pyarrow

        reader = self._unread.pop() if self._unread else pyarrow.RecordBatchReader.from_stream(self._source)
        if reader.schema.names != schema.names or reader.schema.types != schema.types:
            raise TypeError("the table has changed since it was opened")
        size = 0
        for batch in reader:
            size += batch.num_rows
            yield batch
        self._sizes.add(size)
        if len(self._sizes) > 1:  # a stream that can be read only once is empty the second time
            raise TypeError("the table has changed since it was last read")


class _Selected:
    """Some columns of a stream, as a stream. The engine asks for it twice, once for the schema alone."""

    def __init__(self, rows: _Rows, whole: Any, schema: Any) -> None:
        self._rows, self._whole, self.schema = rows, whole, schema

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        import pyarrow

        reader = pyarrow.RecordBatchReader.from_batches(self.schema, self._batches())
        return reader.__arrow_c_stream__(requested_schema)

    def _batches(self) -> Iterator[Any]:
        import pyarrow

        places = [self._whole.names.index(name) for name in self.schema.names]
        for batch in self._rows.batches(self._whole):
            columns = [batch.column(place).cast(kind) for place, kind in zip(places, self.schema.types, strict=True)]
            yield pyarrow.RecordBatch.from_arrays(columns, schema=self.schema)
