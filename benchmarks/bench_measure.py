"""Flexible errors of 10^5 outputs, for every built-in statistic, and the growth when outputs or buckets double."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from _timing import say

from flexdp import Histogram
from flexdp.distortions import DropMove, Move
from flexdp.measure import accuracy_curve, flexible_error, flexible_error_bounds, smallest_beta
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

OUTPUTS, BUCKETS, ALPHA, MANY = 100_000, 100, "0.005", 100_000
LISTED: Any = (
    Max(), Min(), Range(), Median(), Quantile("0.9"), MidpointMedian(), IQR(), KthLargest(3),
    InterpolatedQuantile("0.9"), Mode(), MaxAtLeast(50), Distinct(), Count(), CountAbove(50),
)  # fmt: skip
BOUNDED: Any = (Std(), Variance(100), SampleVariance(), TrimmedMean("0.1"), Mean(), Sum())


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
    x = histogram(BUCKETS)
    for statistic in (*LISTED, Support(), Top(5)):
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


def bounded() -> None:
    """Moments of 10^5 records, whose attainable values are searched: 500 and 5000 records may be dropped."""
    values = np.random.default_rng(3)
    data = {
        "100 buckets": histogram(BUCKETS, MANY),
        "normal, all different": Histogram.from_values(values.normal(50, 20, MANY)),
        "lognormal, all different": Histogram.from_values(values.lognormal(0, 2, MANY)),
    }
    for statistic in BOUNDED:
        for name, x in data.items():
            exact = float(statistic(x))
            for alpha in (ALPHA, "0.05"):
                inside = exact * (1 + np.random.default_rng(2).normal(0, float(alpha) / 4, OUTPUTS))
                started = time.process_time()
                found = flexible_error_bounds(x, inside, statistic, alpha)
                spent = time.process_time() - started
                title = f"{type(statistic).__name__}, 10^5 records ({name}), α = {alpha}, 10^5 outputs"
                say(title, spent, spent, "≤ 60 s")
                print(f"    largest upper bound: {found.upper.max() / abs(exact):.1g} of the value")


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
    bounded()
    buckets()
    other_distortions()
    randomised()
