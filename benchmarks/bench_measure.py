"""Flexible errors of 10^5 outputs, for every built-in statistic, and the growth when outputs or buckets double."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from _timing import say

from flexdp import Histogram
from flexdp.distortions import DropMove, Move
from flexdp.measure import accuracy_curve, flexible_error, smallest_beta
from flexdp.statistics import (
    IQR,
    Count,
    CountAbove,
    Distinct,
    InterpolatedQuantile,
    KthLargest,
    Max,
    MaxAtLeast,
    Mean,
    Median,
    MidpointMedian,
    Min,
    Mode,
    Quantile,
    Range,
    SampleVariance,
    Std,
    Sum,
    Support,
    Top,
    TrimmedMean,
    Variance,
)

OUTPUTS, BUCKETS, ALPHA = 100_000, 100, "0.005"
LISTED: Any = (
    Max(), Min(), Range(), Median(), Quantile("0.9"), MidpointMedian(), IQR(), KthLargest(3),
    InterpolatedQuantile("0.9"), Mean(), Sum(), Mode(), MaxAtLeast(50), Distinct(), Count(), CountAbove(50),
)  # fmt: skip
SEARCHED: Any = (Std(), TrimmedMean("0.1"), Variance(100), SampleVariance())


def race(contenders: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the processor seconds of each contender's best round."""
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(rounds):
        for name, work in contenders.items():
            started = time.process_time()
            work()
            best[name] = min(best[name], time.process_time() - started)
    return best


def histogram(buckets: int, records: int = 10_000) -> Histogram:
    counts = np.random.default_rng(1).multinomial(records, np.ones(buckets) / buckets)
    return Histogram(np.arange(buckets), counts)


def outputs_of(statistic: Any, data: Histogram, many: int) -> Any:
    generator = np.random.default_rng(2)
    if isinstance(statistic, Support):
        size = min(20, len(data))
        return [tuple(row) for row in generator.integers(0, len(data), (many, size)).tolist()]
    if isinstance(statistic, Top):
        exact = statistic(data)
        lost = generator.integers(0, 3, (many, len(exact))).tolist()
        return [tuple((k, c - d) for (k, c), d in zip(exact, row, strict=True)) for row in lost]
    return generator.normal(float(statistic(data) or 0), 10, many)


def every_statistic() -> None:
    data, tiny = histogram(BUCKETS), histogram(20, 300)
    for statistic in (*LISTED, Support(), Top(5), *SEARCHED):
        x = tiny if statistic in SEARCHED else data  # all sub-multisets are tried: 231 of them
        one, two = (outputs_of(statistic, x, many) for many in (OUTPUTS // 2, OUTPUTS))
        best = race(
            {
                "half": lambda x=x, one=one, f=statistic: flexible_error(x, one, f, ALPHA),
                "all": lambda x=x, two=two, f=statistic: flexible_error(x, two, f, ALPHA),
            },
            rounds=3,
        )
        say(f"{type(statistic).__name__}, 10^5 outputs, {len(x)} buckets", best["all"], best["all"], "≤ 1 s")
        print(f"    doubling the outputs: {best['all'] / best['half']:.2f}×")


def buckets() -> None:
    for statistic in (Max(), Range(), Mode(), MidpointMedian(), IQR(), InterpolatedQuantile("0.9")):
        x, y = histogram(200), histogram(400)
        found = outputs_of(statistic, x, 1000)
        best = race(
            {
                "one": lambda x=x, found=found, f=statistic: flexible_error(x, found, f, ALPHA),
                "two": lambda y=y, found=found, f=statistic: flexible_error(y, found, f, ALPHA),
            },
            rounds=3,
        )
        say(f"{type(statistic).__name__}, 1000 outputs, 400 buckets", best["two"])
        print(f"    doubling the buckets: {best['two'] / best['one']:.2f}×")


def other_distortions() -> None:
    data = histogram(BUCKETS)
    found = outputs_of(Max(), data, OUTPUTS)
    best = race(
        {
            "move": lambda: flexible_error(data, found, Median(), 2, distortion=Move()),
            "drop-move": lambda: flexible_error(data, found, Median(), ALPHA, distortion=DropMove("0.001")),
            "curve": lambda: accuracy_curve(data, found, Max(), [0, "0.001", ALPHA], [0, "0.05"]),
        },
        rounds=3,
    )
    for name, seconds in best.items():
        say(f"{name}, 10^5 outputs", seconds, seconds, "≤ 1 s")


def randomised() -> None:
    def coin(x: Histogram) -> dict[int, int]:
        return {int(x.keys[-1]): 1, int(x.keys[0]): 1}

    for size in (10, 20):
        x = Histogram(np.arange(size), np.ones(size, dtype=int))
        law = dict.fromkeys(range(size), 1)
        best = race({"beta": lambda x=x, law=law: smallest_beta(x, law, coin, "0.2", "0.1")}, rounds=2)
        say(f"randomised statistic, {size} outputs and records", best["beta"])


if __name__ == "__main__":
    every_statistic()
    buckets()
    other_distortions()
    randomised()
