"""Work done is a property of an engine: how many jobs Spark starts for a release, whatever the levels of its tree.

A job costs a busy cluster a second. The copy is one, a statement that groups two, and one that joins pieces three.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from _support.bits import seed

import flexdp
from engines.conftest import make_engine
from flexdp.tables import ranks
from flexdp.tables.sql import rank_query

SEEDS = range(20 if os.environ.get("FLEXDP_DEEP") else 2)
SPEND: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}
LEVELS = ["min", "median", "q0.99", "max"]
DECILES = [f"q0.{place}" for place in range(1, 10)]
REQUESTS: dict[str, tuple[Callable[[Any], Any], int, int | None]] = {  # jobs of few records, and of many
    "buckets": (lambda frame: flexdp.release(frame, "x", width=5, **SPEND), 2, None),
    "default": (lambda frame: flexdp.release(frame, "x", **SPEND), 5, 8),
    "default, times": (lambda frame: flexdp.release(frame, "s", **SPEND), 5, 8),
    "asked": (lambda frame: flexdp.release(frame, "x", ask=LEVELS, epsilon=1, delta=0), 5, 6),
    "maximum": (lambda frame: flexdp.release(frame, "i", ask=["max"], epsilon=1, delta=0), 5, 6),
    "deciles": (lambda frame: flexdp.release(frame, "x", ask=DECILES, epsilon=1, delta=0), 5, 6),
    "mean and sum": (lambda frame: flexdp.release(frame, "x", ask=["mean", "sum"], epsilon=1, delta=0), 5, 8),
    "asked by group": (lambda frame: flexdp.release(frame, "x", by="g", ask=["max", "mean"], **SPEND), 7, None),
    "summary": (lambda frame: flexdp.summary(frame, ["x", "i", "s"], epsilon=3, delta="1e-6"), 15, 24),
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
@pytest.mark.parametrize(
    ("name", "many"),
    [(name, many) for name, (_, *most) in REQUESTS.items() for many in (False, True) if most[many] is not None],
)
def test_jobs_of_spark(
    name: str,
    many: bool,
    cells: dict[str, Any],
    jobs: Callable[[], int],
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    frame = make_engine("spark", request).load(cells)
    work, *most = REQUESTS[name]
    if many:  # too many for their values to be fetched together, and most pieces hold several
        monkeypatch.setattr(ranks, "FEW", 500)
        monkeypatch.setattr(rank_query, "CELL_BITS", 6)
    started = []
    for number in SEEDS:
        seed(monkeypatch, number)
        before = jobs()
        work(frame)
        started.append(jobs() - before)
    assert 0 < max(started) <= (most[many] or 0), started
