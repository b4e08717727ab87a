"""Arrow IPC files, also called Feather, and IPC streams: pyarrow reads them, and their schema declares the types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from flexdp._core.extras import extra
from flexdp.errors import InputError
from flexdp.tables.files.paths import shown_path
from flexdp.tables.frames.pyarrow import open_pyarrow
from flexdp.tables.frames.source import FrameSource
from flexdp.tables.frames.stream import open_stream
from flexdp.tables.written import Written

__all__ = ["open_arrow_files"]

_END = b"\xff\xff\xff\xff\0\0\0\0"  # of a stream; without it, some may be missing


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
