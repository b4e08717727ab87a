"""Files that declare their types: Parquet, read by DuckDB, and Arrow IPC (also called Feather), read by pyarrow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from flexdp._core.extras import extra
from flexdp.errors import InputError
from flexdp.tables.column import Column
from flexdp.tables.counting import Counting, columns_of
from flexdp.tables.engines.duckdb.dialect import DUCKDB, declared
from flexdp.tables.engines.duckdb.session import PrivateSession, connection
from flexdp.tables.files.bytes import shown_path
from flexdp.tables.files.source import FileSource, file_list
from flexdp.tables.frames.arrow import open_pyarrow, open_stream
from flexdp.tables.frames.source import FrameSource
from flexdp.tables.sql.check_query import Inspected, Wanted, inspect_texts
from flexdp.tables.written import Written

__all__ = ["ParquetSource", "open_arrow_files"]

_FEW_FILES = 100  # the metadata of more files would take much memory
_END = b"\xff\xff\xff\xff\0\0\0\0"  # of a stream; without it, some may be missing


@dataclass(frozen=True)
class ParquetSource(FileSource):
    """Parquet files, of which only the footers are read before they are counted."""

    @cached_property
    def declared(self) -> dict[str, list[Column]]:
        with connection() as con:
            return {file: [replace(c, written=self.how) for c in _columns_of(con, file)] for file in self.files}

    @property
    def stays(self) -> bool:
        return True  # or the files have other signatures at the end

    def has_long_texts(self, countings: Sequence[Counting]) -> bool:
        return any(column.kind == "text" for column in columns_of(countings))

    def rows(self, columns: Sequence[Column]) -> str:
        return _read_parquet(file_list(self.files), int96=any(column.type_name == "INT96" for column in columns))

    def cell(self, place: int, column: Column) -> str:  # noqa: ARG002
        return DUCKDB.identifier(column.engine_name)

    @contextmanager
    def opened(self, con: Any) -> Iterator[Callable[[], None]]:
        if len(self.files) <= _FEW_FILES:
            con.execute("SET parquet_metadata_cache = true")  # each statement would read it again
        with super().opened(con) as interrupt:
            yield interrupt

    def inspect(self, wanted: Sequence[Wanted]) -> Inspected:
        columns = [each.column for each in wanted]
        texts = any(column.kind == "text" for column in columns)
        with connection(texts=texts) as con, self.opened(con) as interrupt:
            return inspect_texts(PrivateSession(con, interrupt), self.rows(columns), wanted, self.reader(columns))


def _columns_of(con: Any, file: str) -> list[Column]:
    """Return the columns that the footer declares; nothing else of the file is read."""
    import duckdb as engine

    listed = file_list([file])
    try:
        described = con.execute(f"DESCRIBE SELECT * FROM {_read_parquet(listed)}").fetchall()
        tree = con.execute(f"SELECT name, num_children, type FROM parquet_schema({listed})").fetchall()
    except engine.Error:
        raise InputError("source", f": {shown_path(file)} is not a Parquet file, or is damaged") from None
    return [
        declared(name, "INT96" if stored == "INT96" else row[1], row[0])
        for (name, _, stored), row in zip(_top_level(tree), described, strict=True)
    ]


def _read_parquet(listed: str, *, int96: bool = False) -> str:
    """Return the FROM clause for a list of files.

    With ``int96``, 96-bit timestamps are read as nanoseconds and become infinite where those do not reach: by default
    they overflow silently to other datetimes.
    """
    timestamps = ", int96_as='timestamp_ns'" if int96 else ""
    return f"read_parquet({listed}, hive_partitioning=false{timestamps})"


def _top_level(tree: list[tuple[str, int | None, str]]) -> Iterator[tuple[str, int | None, str]]:
    """Yield the top-level entries of a flattened schema tree, repeated names included."""
    below = 0  # entries of the current column that are still to come
    for entry in tree[1:]:
        if not below:
            yield entry
        below += (entry[1] or 0) - bool(below)


def open_arrow_files(files: Sequence[str], written: Written) -> FrameSource:
    """Open files of one schema as one table; only their schemas are read."""
    with extra("arrow", "pyarrow", "an Arrow file"):
        from pyarrow import dataset
    found = [_schema_of(file) for file in files]
    schema, streamed = found[0]
    if not all(other.equals(schema) for other, _ in found):
        raise InputError("source", ": all Arrow files must have the same columns, of the same types")
    if not all(other == streamed for _, other in found):
        raise InputError("source", ": Arrow files and Arrow streams cannot be read together")
    if streamed:
        table = open_stream(_Streams(files, schema), rows_are_records=True)
    else:
        table = open_pyarrow(dataset.dataset(list(files), schema=schema, format="ipc"), None)
    return replace(table, files=tuple(files), how=written)


def _schema_of(file: str) -> tuple[Any, bool]:
    """Return the schema of a file, and True if it is a stream."""
    from pyarrow import ipc, memory_map

    for opened, streamed in ((ipc.open_file, False), (ipc.open_stream, True)):
        try:
            with memory_map(file) as mapped, opened(mapped) as reader:
                schema = reader.schema
        except Exception:  # noqa: BLE001  (the reader's message is not repeated)
            continue
        if not streamed or _is_complete(file):
            return schema, streamed
    raise InputError(
        "source",
        f": {shown_path(file)} is not an Arrow IPC file or stream, or is damaged",
        remedy="Rewrite Feather version 1 files as version 2.",
    )


def _is_complete(file: str) -> bool:
    with Path(file).open("rb") as opened:
        opened.seek(-len(_END), 2)
        return opened.read() == _END


class _Streams:
    """The batches of files that hold streams, one after the other, as one stream."""

    def __init__(self, files: Sequence[str], schema: Any) -> None:
        self._files, self.schema = files, schema

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        import pyarrow

        return pyarrow.RecordBatchReader.from_batches(self.schema, self._batches()).__arrow_c_stream__(requested_schema)

    def _batches(self) -> Iterator[Any]:
        from pyarrow import ipc, memory_map

        for file in self._files:
            with memory_map(file) as mapped, ipc.open_stream(mapped) as reader:
                yield from reader
