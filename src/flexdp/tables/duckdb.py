"""DuckDB, the default engine: a private connection, its declared types, and a query that can be stopped."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from flexdp.buckets import Kind
from flexdp.errors import DataError, InputError
from flexdp.tables.columns import Column

__all__ = ["connection", "engine_column", "run"]

_T = TypeVar("_T")
_POLL_SECONDS = 0.1
_GRACE_SECONDS = 1.5
_NARROW = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
_WIDE = {"UBIGINT", "HUGEINT", "UHUGEINT"}
_TIMESTAMPS = {"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"}
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


def run(work: Callable[[], _T], interrupt: Callable[[], None]) -> _T:
    """Do the work in a thread, so that Ctrl-C reaches us at once; then ``interrupt`` it and wait for its end.

    Every failure becomes the one :class:`DataError`: an engine's own text may quote a cell.
    """
    outcome: list[_T] = []
    done = threading.Event()  # not Thread.join: an interrupted join takes the thread for finished

    def target() -> None:
        try:
            outcome.append(work())
        except Exception:  # noqa: BLE001  (all failures after data was touched look alike, on purpose)
            outcome.clear()
        finally:
            done.set()

    threading.Thread(target=target, name="flexdp-count", daemon=True).start()
    try:
        while not done.wait(_POLL_SECONDS):
            pass
    except BaseException:
        interrupt()
        done.wait(_GRACE_SECONDS)
        raise
    if not outcome:
        raise DataError
    return outcome[0]


def engine_column(name: str | None, type_name: str, engine_name: str = "") -> Column:
    """A column as a DuckDB type declares it."""
    kind, wide = _declared(type_name.upper())
    return Column(
        name=name,
        type_name=type_name,
        kind=kind,
        wide=wide,
        timestamp=type_name.upper() in _TIMESTAMPS,
        engine_name=engine_name,
    )


def _declared(name: str) -> tuple[Kind | None, bool]:
    """The kind of a DuckDB type, None where it is none of ours; and whether integers exceed 64 bits."""
    if name in _NARROW:
        return "integer", False
    if name in _WIDE:
        return "integer", True
    if name.startswith("DECIMAL(") and name.endswith(")"):
        return ("integer", True) if name.endswith(",0)") else ("number", False)
    if name in ("FLOAT", "DOUBLE"):
        return "number", False
    if name in ("VARCHAR", "UUID") or (name.startswith("ENUM") and not name.endswith("[]")):
        return "text", False
    if name == "DATE":
        return "date", False
    if name == "BOOLEAN":
        return "boolean", False
    return None, False
