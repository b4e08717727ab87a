"""A private connection."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from flexdp.errors import InputError

__all__ = ["connection"]

_SETTINGS = {
    "memory_limit": "600MB",  # what is larger spills to the private directory
    "preserve_insertion_order": "false",
    "autoinstall_known_extensions": "false",  # nothing is fetched from anywhere
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
}


@contextmanager
def connection() -> Iterator[Any]:
    """A connection of our own, spilling to a directory that only this user can read and that is removed after."""
    import duckdb

    try:
        spill = tempfile.mkdtemp(prefix="flexdp-")  # mode 0700
    except OSError:
        raise InputError("no temporary directory can be written; set TMPDIR to one that can.") from None
    try:
        con = duckdb.connect(":memory:", config={**_SETTINGS, "temp_directory": spill})
        try:
            yield con
        finally:
            with suppress(duckdb.Error):  # still busy: an interrupted read that nothing can wake
                con.close()
    finally:
        shutil.rmtree(spill, ignore_errors=True)
