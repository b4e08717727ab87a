"""Shared by all tests: the private counts before the noise, which no user ever sees; and waiting without a clock.

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
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from flexdp._release.api import Request, prepare
from flexdp.histogram import KeyedHistogram
from flexdp.tables import count

FOLDERS = {"engines": "engine", "browser": "browser", "statistical": "slow", "experiments": "slow"}
HANG = 1800  # seconds after which a process or a thread is taken to hang, on however busy a machine

# Hypothesis measures time in two places; both would fail on a busy machine.
settings.register_profile("flexdp", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("flexdp")


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


def private_counts(source: Any, column: str | None = None, **parameters: Any) -> dict[Any, int]:
    """What a release would count, keyed by the buckets' centres."""
    request = prepare(source, column, **parameters)
    private = private_bars(request)
    keys = request.partition.centres(private.parts[0]).tolist()
    return dict(zip(keys, private.counts.tolist(), strict=True))


def private_bars(request: Request, salt: str = "fixed") -> KeyedHistogram:
    """What a prepared release would count, before the noise; with a salt that is the same in every test."""
    question = request.questions[0]
    units = question.counting.units
    salted = None if units is None else replace(units, salt=salt)
    return count(question.table, [replace(question.counting, units=salted)])[0]


@pytest.fixture(autouse=True)
def _no_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by where they lie, for ``make quick``."""
    for item in items:
        folder = item.path.relative_to(Path(__file__).parent).parts[0]
        if folder in FOLDERS:
            item.add_marker(FOLDERS[folder])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With several workers, Spark, PostgreSQL and the browser are started in one each: tests go where theirs is."""
    from xdist.scheduler import LoadScopeScheduling

    class ByEngine(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            if "browser/" in nodeid:
                return "browser"
            if "engines/" not in nodeid:
                return nodeid
            return "spark" if "spark" in nodeid else "databases"

    return ByEngine(config, log)
