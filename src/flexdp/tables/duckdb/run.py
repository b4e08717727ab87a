"""A private connection, and a query that can be stopped."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import numpy as np

from flexdp.errors import DataError, InputError
from flexdp.tables.counting import Counted, Counting

__all__ = ["connection", "counted", "counted_together", "run"]

_T = TypeVar("_T")
_POLL_SECONDS = 0.1
_GRACE_SECONDS = 1.5
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
            # How far a count has come tells how many records there are: no progress is shown, also where the engine
            # would by default. (In a notebook without widgets there is no bar, and turning it off is an error.)
            for setting in ("enable_progress_bar_print", "enable_progress_bar"):
                with suppress(duckdb.Error):
                    con.execute(f"SET {setting} = false")
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


def counted(columns: dict[str, Any], axes: int) -> Counted:
    """The columns of a count query's result."""
    return Counted(tuple(columns[f"b{i}"] for i in range(axes)), columns["records"])


def counted_together(columns: dict[str, Any], countings: Sequence[Counting]) -> list[Counted]:
    """The result of a query that counts several things at once, taken apart; rows of missing values are no bars."""
    out = []
    for p, counting in enumerate(countings):
        parts = [columns[f"c{p}_b{i}"] for i in range(len(counting.axes))]
        mine = np.asarray(columns["whose"] == p)
        for part in parts:
            mine &= ~np.ma.getmaskarray(part)
        out.append(Counted(tuple(np.ma.getdata(part)[mine] for part in parts), np.ma.getdata(columns["records"])[mine]))
    return out
