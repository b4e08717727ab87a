"""Arrow IPC files, also called Feather: pyarrow reads them, and their schema declares the types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flexdp._core.extras import extra
from flexdp.errors import InputError
from flexdp.tables.duckdb.source import EngineTable
from flexdp.tables.files.paths import shown_path
from flexdp.tables.frames.pyarrow import open_pyarrow
from flexdp.tables.written import Written

__all__ = ["open_arrow_files"]


def open_arrow_files(files: Sequence[str], written: Written) -> EngineTable:
    """Open files of one schema as one table; only their schemas are read."""
    with extra("arrow", "pyarrow", "an Arrow file"):
        from pyarrow import dataset, ipc, memory_map
    schemas = []
    for file in files:
        try:
            with memory_map(file) as mapped, ipc.open_file(mapped) as opened:
                schemas.append(opened.schema)
        except Exception:  # noqa: BLE001  (the reader's message is not repeated)
            schemas.append(None)
        if schemas[-1] is None:
            raise InputError(
                "source",
                f": {shown_path(file)} is not an Arrow IPC file, or is damaged",
                remedy="Files of version 1 of Feather, and Arrow streams, must be written anew.",
            )
        if not schemas[-1].equals(schemas[0]):
            raise InputError("source", ": all Arrow files must have the same columns, of the same types")
    table = open_pyarrow(dataset.dataset(list(files), schema=schemas[0], format="ipc"), None)
    return replace(table, files=tuple(files), written=written)
