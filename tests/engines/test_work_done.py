"""Work done is a property of an engine: how many jobs Spark starts for a release, whatever the levels of its tree."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from _support.bits import seed

import flexdp
from engines.conftest import make_engine

SEEDS = range(20 if os.environ.get("FLEXDP_DEEP") else 2)
SPEND: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}
REQUESTS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "buckets": (lambda frame: flexdp.release(frame, "x", width=5, **SPEND), 2),
    "default": (lambda frame: flexdp.release(frame, "x", **SPEND), 5),
    "default, times": (lambda frame: flexdp.release(frame, "s", **SPEND), 5),
    "asked": (lambda frame: flexdp.release(frame, "x", ask=["min", "median", "q0.99", "max"], epsilon=1, delta=0), 5),
    "mean and sum": (lambda frame: flexdp.release(frame, "x", ask=["mean", "sum"], epsilon=1, delta=0), 5),
    "asked by group": (lambda frame: flexdp.release(frame, "x", by="g", ask=["max", "mean"], **SPEND), 7),
    "summary": (lambda frame: flexdp.summary(frame, ["x", "i", "s"], epsilon=3, delta="1e-6"), 15),
}


@pytest.fixture(scope="module")
def cells() -> dict[str, tuple[str, list[Any]]]:
    """A table of 6000 records, most of whose values differ."""
    rng = np.random.default_rng(6)
    start = np.datetime64("2024-03-01", "us")
    return {
        "x": ("double", rng.lognormal(5, 1.3, 6000).tolist()),
        "i": ("bigint", rng.integers(-(10**12), 10**12, 6000).tolist()),
        "s": ("datetime", (start + rng.integers(0, 10**13, 6000)).tolist()),
        "g": ("text", [f"ward {place % 7}" for place in range(6000)]),
    }


@pytest.fixture
def jobs(request: pytest.FixtureRequest) -> Iterator[Callable[[], int]]:
    """The number of jobs that Spark has started."""
    tracker = request.getfixturevalue("spark").sparkContext.statusTracker()
    yield lambda: len(tracker.getJobIdsForGroup(None))


@pytest.mark.engine
@pytest.mark.parametrize("name", REQUESTS)
def test_jobs_of_spark(
    name: str,
    cells: dict[str, Any],
    jobs: Callable[[], int],
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    frame = make_engine("spark", request).load(cells)
    work, most = REQUESTS[name]
    started = []
    for number in SEEDS:
        seed(monkeypatch, number)
        before = jobs()
        work(frame)
        started.append(jobs() - before)
    assert 0 < max(started) <= most, started
