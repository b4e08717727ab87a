"""Sharp answers: exact sampling a single answer, and 10^7 doubles in memory against sorting them once.

Times are of the processor, because everything here runs on one core.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import numpy as np
from _timing import say

from flexdp.mechanisms.program import run
from flexdp.noise.bits import Bits
from flexdp.noise.exponential import decay
from flexdp.sharp.answers import ask
from flexdp.sharp.automatic import automatic_buckets
from flexdp.sharp.column import Column
from flexdp.sharp.mean import ask_mean
from flexdp.sharp.prior import around, universal
from flexdp.sharp.scale import NUMBERS

RECORDS = 10_000_000
PARTS = (16, 8, 4, 2)
DELTA = Fraction(1, 10**6)
LEVELS = {
    "median": ["1/2"],
    "q0.99": ["99/100"],
    "q0.999": ["999/1000"],
    "max": ["1"],
    "five": ["0", "1/100", "1/2", "99/100", "1"],
}


def race(contenders: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Processor seconds of the best round of each contender, interleaved."""
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(rounds):
        for name, work in contenders.items():
            started = time.process_time()
            work()
            best[name] = min(best[name], time.process_time() - started)
    return best


def answer(values: np.ndarray, levels: list[str], epsilon: Fraction) -> object:
    return run(ask([Fraction(level) for level in levels], epsilon, NUMBERS), Column.from_values(values), Bits())


def forget() -> None:
    """Drop every public table, as in a new process."""
    decay.cache_clear()
    universal.cache_clear()
    around.cache_clear()


def sampling(column: Column, epsilon: Fraction) -> dict[str, Callable[[], object]]:
    """What is sampled, by name."""

    def asked(levels: list[str]) -> Callable[[], object]:
        exact = [Fraction(level) for level in levels]
        return lambda: run(ask(exact, epsilon, NUMBERS), column, Bits())

    def cold() -> object:
        forget()
        return asked(["1"])()

    return {
        **{name: asked(levels) for name, levels in LEVELS.items()},
        "mean": lambda: run(ask_mean(epsilon, NUMBERS), column, Bits()),
        "automatic buckets": lambda: run(automatic_buckets(epsilon, DELTA, NUMBERS), column, Bits()),
        "max, no table built yet": cold,
    }


def main() -> None:
    rng = np.random.default_rng(11)
    small = Column.from_values(np.round(rng.lognormal(3, 1, 100_000), 2))
    for text in ("1", "0.1"):
        for name, seconds in race(sampling(small, Fraction(text)), rounds=9).items():
            target = {"1": 0.05, "0.1": 0.3}[text] * len(LEVELS.get(name, [name]))
            shown = "" if name == "automatic buckets" else f"≤ 1 (of {target * 1e3:.0f} ms)"
            say(f"exact sampling, {name}, ε = {text}", seconds, seconds / target if shown else None, shown)
    values = rng.normal(50, 15, RECORDS)
    best = race(
        {
            "sort": lambda: np.sort(values),
            "one": lambda: answer(values, ["99/100"], Fraction(1)),
            "max": lambda: answer(values, ["1"], Fraction(1)),
            "five": lambda: answer(values, LEVELS["five"], Fraction(1)),
            **{
                f"1/{part}": lambda part=part: answer(values[: RECORDS // part], LEVELS["five"], Fraction(1))
                for part in PARTS
            },
        },
        rounds=5,
    )
    say("np.sort of 10^7 doubles", best["sort"])
    say("one answer (q0.99) of 10^7 doubles", best["one"], best["one"] / best["sort"], "≤ 1.5")
    say("one answer (max) of 10^7 doubles", best["max"], best["max"] / best["sort"], "≤ 1.5")
    say("five answers of 10^7 doubles", best["five"], best["five"] / best["sort"], "≤ 2")
    sizes = {RECORDS // part: best[f"1/{part}"] for part in PARTS} | {RECORDS: best["five"]}
    for fewer, more in pairwise(sizes):
        print(f"    five answers, {fewer:10,} to {more:10,} records: {sizes[more] / sizes[fewer]:.2f}×   target ≤ 2.2")


if __name__ == "__main__":
    main()
