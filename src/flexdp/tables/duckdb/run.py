"""A private connection."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from flexdp.errors import InputError

__all__ = ["connection"]

_SETTINGS = {
    "memory_limit": "600MB",  # what is larger spills to the private directory
    "threads": str(min(os.cpu_count() or 1, 8)),  # with less memory for each, counts by unit mostly spill
    "preserve_insertion_order": "false",
    "autoinstall_known_extensions": "false",  # nothing is fetched from anywhere
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
}


@contextmanager
def connection(*, texts: bool = False) -> Iterator[Any]:
    """A connection of our own, spilling to a directory that only this user can read and that is removed after.

    Where Parquet columns of ``texts`` are read, it reads no column ahead: a long cell would be in memory twice.
    """
    import duckdb

    try:
        spill = tempfile.mkdtemp(prefix="flexdp-")  # mode 0700
    except OSError:
        raise InputError("no temporary directory can be written; set TMPDIR to one that can.") from None
    try:
        con = duckdb.connect(":memory:", config={**_SETTINGS, "temp_directory": spill})
        try:
            # How far a count has come tells how many records there are: no progress is shown, also where the engine
            # would by default. (In a notebook without widgets there is no bar, and turning it off is an error.)
            for setting in ("enable_progress_bar_print", "enable_progress_bar"):
                with suppress(duckdb.Error):
                    con.execute(f"SET {setting} = false")
            if texts:
                con.execute("SET disable_parquet_prefetching = true")
            yield con
        finally:
            with suppress(duckdb.Error):  # still busy: an interrupted read that nothing can wake
                con.close()
    finally:
        shutil.rmtree(spill, ignore_errors=True)
