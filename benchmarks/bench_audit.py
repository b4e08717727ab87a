"""Exact audits and audits by running: processor time, which a busy machine changes little."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from _timing import say

from flexdp.audit import audit, exact_delta
from flexdp.mechanisms import Dropping, STLap
from flexdp.noise import DropNoise


def spent(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def main() -> None:
    two = Dropping("0.1", "1/1048576")
    ten = Dropping(1, "1e-6", max_buckets_per_unit=10)
    paper = STLap("0.05", "0.5")
    noise, rng = DropNoise(1, "0.01"), np.random.default_rng(1)
    best = {
        name: spent(work)
        for name, work in {
            "two": lambda: exact_delta(two, {1: 300, 2: 300}, {1: 299, 2: 301}, "0.2"),
            "ten": lambda: exact_delta(ten, dict.fromkeys(range(10), 300), dict.fromkeys(range(10), 299), 1),
            "paper": lambda: exact_delta(paper, {1: 667, 2: 667, 3: 668}, {1: 667, 2: 667, 3: 667}, "0.5"),
            "dropping": lambda: audit(lambda x, size: x - noise.sample(size), 20, 21, 1, "0.01", 1_000_000),
            "laplace": lambda: audit(lambda x, size: x + rng.laplace(size=(size, 3)), 0, 1, 3, trials=1_000_000),
        }.items()
    }
    say("exact_delta, 2 buckets, q = 219", best["two"], best["two"] / 5, "≤ 1 (of 5 s)")
    say("exact_delta, 10 buckets, q = 264, enclosed", best["ten"])
    say("exact_delta, the paper's counterexample", best["paper"])
    say("audit, 10^6 runs of a vectorised mechanism", best["dropping"], best["dropping"] / 20, "≤ 1 (of 20 s)")
    say("the same, three numbers a run", best["laplace"], best["laplace"] / 20, "≤ 1 (of 20 s)")


if __name__ == "__main__":
    main()
