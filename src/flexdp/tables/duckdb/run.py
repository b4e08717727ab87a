"""A private connection, and no progress on anybody's."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from flexdp.errors import InputError

__all__ = ["connection", "no_progress"]

_SETTINGS = {
    "memory_limit": "600MB",  # what is larger spills to the private directory
    "threads": str(min(os.cpu_count() or 1, 8)),  # with less memory for each, counts by unit mostly spill
    "preserve_insertion_order": "false",
    "autoinstall_known_extensions": "false",  # nothing is fetched from anywhere
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
}
_PROGRESS = ("enable_progress_bar_print", "enable_progress_bar")  # how far a count has come tells of its records
_ATTEMPTS = 100  # at restoring a setting, each of which an interrupt may hit


@contextmanager
def no_progress(ask: Callable[[str], Any]) -> Iterator[None]:
    """Let a caller's connection show no progress for a while; afterwards it shows what it did. ``ask`` queries it."""
    off = []
    try:
        for setting in _PROGRESS:
            if ask(f"SELECT current_setting('{setting}')").fetchall()[0][0]:
                off.append(setting)
                _turn_off(ask, setting)
        yield
    finally:
        for setting in reversed(off):
            _turn_on(ask, setting)


def _turn_off(ask: Callable[[str], Any], setting: str) -> None:
    import duckdb

    with suppress(duckdb.Error):  # in a notebook without widgets there is no bar, and turning it off is an error
        ask(f"SET {setting} = false")


def _turn_on(ask: Callable[[str], Any], setting: str) -> None:
    import duckdb

    for _ in range(_ATTEMPTS):
        with suppress(duckdb.Error):
            ask(f"SET {setting} = true")
            return


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
            for setting in _PROGRESS:
                _turn_off(con.execute, setting)
            if texts:
                con.execute("SET disable_parquet_prefetching = true")
            yield con
        finally:
            with suppress(duckdb.Error):  # still busy: an interrupted read that nothing can wake
                con.close()
    finally:
        shutil.rmtree(spill, ignore_errors=True)
