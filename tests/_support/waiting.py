"""Waiting without a clock.

No test depends on how fast the machine is: tests wait for what must happen, however long it takes, and give up only
when it surely never will.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

HANG = 1800  # seconds after which a process or a thread is taken to hang, on however busy a machine


def wait_for(happened: Callable[[], object]) -> None:
    """Wait for something that must happen."""
    deadline = time.monotonic() + HANG
    while not happened():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


@contextmanager
def sigint_when(happened: Callable[[], object]) -> Iterator[None]:
    """Ctrl-C, as soon as something has happened; never after the block has ended."""
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.01):
            if happened():
                os.kill(os.getpid(), signal.SIGINT)
                return

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def counting_threads() -> list[str]:
    """The threads in which counts are still under way."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("flexdp")]
