"""Work done is a property of an engine: statements, rows and jobs of a release, whatever the levels of its tree.

``benchmarks/bench_work.py`` prints it. A job costs a busy cluster a second: in Spark the copy is one, a statement that
groups two, and one that joins pieces three.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from _support.bits import seed
from _support.work import noted

import flexdp
from engines.conftest import ENGINES, make_engine
from flexdp.tables import ranks
from flexdp.tables.sql import rank_query

pytestmark = pytest.mark.filterwarnings("ignore:epsilon=:flexdp.PrivacyWarning")
ROWS = int(os.environ.get("FLEXDP_ROWS", 6000))
SEEDS = range(20 if os.environ.get("FLEXDP_DEEP") else 2)
LARGE = 200  # an ε for which the windows of a few thousand records are as small a part of them as those of millions
LEVELS = ["min", "median", "q0.99", "max"]
TEN = ["x", "i", "s", *(f"x{place}" for place in range(7))]
DECILES = [f"q0.{place}" for place in range(1, 10)]
REQUESTS: dict[str, tuple[Callable[[Any, int], Any], int, int | None]] = {  # jobs of few records, and of many
    "buckets": (lambda frame, e: flexdp.release(frame, "x", width=5, epsilon=e, delta="1e-6"), 2, None),
    "default": (lambda frame, e: flexdp.release(frame, "x", epsilon=e, delta="1e-6"), 5, 8),
    "default, times": (lambda frame, e: flexdp.release(frame, "s", epsilon=e, delta="1e-6"), 5, 8),
    "asked": (lambda frame, e: flexdp.release(frame, "x", ask=LEVELS, epsilon=e, delta=0), 5, 6),
    "maximum": (lambda frame, e: flexdp.release(frame, "i", ask=["max"], epsilon=e, delta=0), 5, 6),
    "deciles": (lambda frame, e: flexdp.release(frame, "x", ask=DECILES, epsilon=e, delta=0), 5, 6),
    "mean and sum": (lambda frame, e: flexdp.release(frame, "x", ask=["mean", "sum"], epsilon=e, delta=0), 5, 8),
    "asked by group": (
        lambda frame, e: flexdp.release(frame, "x", by="g", ask=["max", "mean"], epsilon=e, delta="1e-6"),
        7,
        None,
    ),
    "summary": (lambda frame, e: flexdp.summary(frame, ["x", "i", "s"], epsilon=3 * e, delta="1e-6"), 15, 24),
    "summary of ten": (lambda frame, e: flexdp.summary(frame, TEN, epsilon=10 * e, delta="1e-6"), 50, 80),
}


@pytest.fixture(scope="module")
def cells() -> dict[str, tuple[str, list[Any]]]:
    """A table of records most of whose values differ."""
    rng = np.random.default_rng(6)
    start = np.datetime64("2024-03-01", "us")
    return {
        "x": ("double", rng.lognormal(5, 1.3, ROWS).tolist()),
        "i": ("bigint", rng.integers(-(10**12), 10**12, ROWS).tolist()),
        "s": ("datetime", (start + rng.integers(0, 10**13, ROWS)).tolist()),
        "g": ("text", [f"ward {place % 7}" for place in range(ROWS)]),
        **{f"x{place}": ("double", rng.lognormal(place, 0.3 * place, ROWS).tolist()) for place in range(7)},
    }


@pytest.fixture
def jobs(request: pytest.FixtureRequest) -> Iterator[Callable[[], int]]:
    """The number of jobs that Spark has started; it remembers the last thousand."""
    tracker = request.getfixturevalue("spark").sparkContext.statusTracker()
    yield lambda: max(tracker.getJobIdsForGroup(None), default=-1) + 1


def as_if_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the records for too many to fetch their values together, or to sort; most pieces hold several."""
    monkeypatch.setattr(ranks, "FEW", ROWS // 12)
    monkeypatch.setattr(ranks, "SORTED_AT_MOST", 0)
    monkeypatch.setattr(rank_query, "CELL_BITS", 8)


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
    if many:
        as_if_many(monkeypatch)
    started = []
    for number in SEEDS:
        seed(monkeypatch, number)
        before = jobs()
        work(frame, LARGE if many else 1)
        started.append(jobs() - before)
    if os.environ.get("FLEXDP_WORK"):
        print(f"{'spark':12s} {name:16s} {'many' if many else 'few':5s} {max(started)} jobs")  # noqa: T201
    assert 0 < max(started) <= (most[many] or 0), started


IN_PROCESS = ("duckdb", "polars", "lazy", "pyarrow")  # where sorting all values is tried first
STATEMENTS: dict[str, tuple[int, int, float]] = {  # all of an engine, of few records and of many; rows then, a record
    "buckets": (1, 1, 0.1),
    "default": (3, 5, 1.3),
    "default, times": (3, 5, 1.3),
    "asked": (3, 4, 0.3),
    "maximum": (3, 4, 0.3),
    "deciles": (3, 4, 0.3),
    "mean and sum": (3, 5, 0.3),
    "asked by group": (3, 30, 1),
    "summary": (9, 15, 4),
}


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("name", [name for name in ENGINES if name != "pg8000" and "spark" not in name])
def test_statements_of_every_engine(
    name: str, many: bool, cells: dict[str, Any], request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = make_engine(name, request)
    source = engine.load({column: cell for column, cell in cells.items() if engine.holds(cell[0])})
    if many:
        as_if_many(monkeypatch)
    for asked, most in STATEMENTS.items():
        if not engine.holds("datetime") and asked in ("default, times", "summary"):
            continue
        done = []
        for number in SEEDS:
            seed(monkeypatch, number)
            with noted(monkeypatch) as work:
                REQUESTS[asked][0](source, LARGE if many else 1)
            done.append(work)
        worst = max(done, key=lambda each: (each.all, each.rows))
        if os.environ.get("FLEXDP_WORK"):
            print(f"{name:12s} {asked:16s} {'many' if many else 'few':5s} {worst}")  # noqa: T201
        sorting = (3 if asked == "summary" else 1) if many and name in IN_PROCESS else 0
        assert 0 < worst.all <= most[many] + sorting, (asked, done)
        assert 0 < max(each.rows for each in done) <= ROWS * (most[2] if many else 6 if asked == "summary" else 2)
