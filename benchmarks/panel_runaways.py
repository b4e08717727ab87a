"""How often asked answers run away: beyond ten spreads of their column, whatever the column.

For each column, maximum, minimum, mean and sum are asked for together at ε = 1 by the programs that a release runs.
The ladders of four such releases are then climbed many times, in double arithmetic, and the sums are drawn between
the ends that they find. An answer has run away if it is off by more than ten times the distance
from the 1st to the 99th percentile (of a constant, ten times its value). Given are the number of runaways, the upper
end of a 95% interval (Clopper and Pearson) of their share, and the median error in spreads.

    python benchmarks/panel_runaways.py 200000 10000
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from flexdp.mechanisms.program import run
from flexdp.noise.bits import Bits
from flexdp.sharp.answers import ask
from flexdp.sharp.column import Column
from flexdp.sharp.ladder import Ladder
from flexdp.sharp.mean import ask_mean
from flexdp.sharp.scale import Scale

EPSILON = Fraction(1)
ENDS = (Fraction(0), Fraction(1))
FAR, ANCHORS = 10, 4
STATISTICS = ("max", "min", "mean", "sum")


def columns(records: int) -> dict[str, np.ndarray]:
    """The columns, by name."""
    rng = np.random.default_rng(30)
    near = rng.random(records) < 0.5
    return {
        "costs": rng.lognormal(6, 1, records).round(2),
        "heaped": rng.normal(45, 15, records).clip(0, 99) // 5 * 5,
        "grades": rng.integers(1, 7, records),
        "constant": np.full(records, 37),
        "clusters": np.where(near, rng.normal(10, 1, records), rng.normal(1e6, 1e3, records)).round(3),
        "negative": -rng.lognormal(6, 1, records).round(2),
        "timestamps": 1_700_000_000_000_000 + rng.integers(0, 86400 * 365, records) * 1_000_000,
        "minutes": rng.exponential(20, records).round(),
    }


def most(found: int, runs: int) -> float:
    """The upper end of a 95% interval of a share."""
    from scipy.stats import beta

    return float(beta.ppf(0.975, found + 1, runs - found)) if found < runs else 1.0


@dataclass
class Climbs:
    """The ladders of a few releases, each with what it counts, for many climbs in double arithmetic."""

    found: list[tuple[Ladder, list[int]]] = field(default_factory=list)

    def watch(self) -> None:
        """Keep every ladder that is drawn from now on."""
        draw = Ladder.draw

        def kept(ladder: Ladder, beyond: list[int], bits: Bits) -> int:
            self.found.append((ladder, list(beyond)))
            return draw(ladder, beyond, bits)

        Ladder.draw = kept  # type: ignore[method-assign, assignment]


def law(ladder: Ladder, beyond: list[int]) -> np.ndarray:
    """The chance of every rung."""
    of_threshold, of_rungs = map(float, ladder.rates)
    gaps = np.array(beyond, dtype=np.float64) - ladder.target
    last = int(25 / of_threshold)
    found = np.zeros(len(gaps))
    for noise in range(last):
        stop = np.exp(-of_rungs * np.maximum(0, gaps + noise))
        with np.errstate(divide="ignore"):
            going = np.exp(np.cumsum(np.log1p(-stop)))
        chance = np.exp(-of_threshold * noise) * -np.expm1(-of_threshold)
        found += chance * np.concatenate(([1.0], going[:-1])) * stop
        found[-1] += chance * going[-1]
    return found / found.sum()


def climbed(ladder: Ladder, beyond: list[int], scale: Scale, runs: int, rng: np.random.Generator) -> np.ndarray:
    """The rungs of many climbs."""
    rungs = np.array([float(scale.value(rung)) for rung in ladder.rungs])
    return rng.choice(rungs, runs, p=law(ladder, beyond))


def means(ordered: np.ndarray, low: np.ndarray, high: np.ndarray, epsilon: float, rng: np.random.Generator) -> Any:
    """Means and sums between many ends, with noise of scale K/ε in both sums of K steps."""
    sums, records = np.concatenate(([0.0], np.cumsum(ordered))), len(ordered)
    first, last = np.searchsorted(ordered, low), np.searchsorted(ordered, high, side="right")
    clipped = sums[last] - sums[first] + first * low + (records - last) * high
    width = np.maximum(high - low, np.finfo(float).tiny)
    one = np.maximum(0, (clipped - records * low) / width + rng.laplace(0, 1 / epsilon, len(low)))
    other = np.maximum(0, (records * high - clipped) / width + rng.laplace(0, 1 / epsilon, len(low)))
    mean = low + width * one / np.maximum(one + other, 1e-9)
    return mean, mean * (one + other)


def main() -> None:
    """Draw, and say what was found."""
    runs, records = int(sys.argv[1]), int(sys.argv[2])
    rng, bits, climbs = np.random.default_rng(7), Bits(), Climbs()
    climbs.watch()
    every = dict.fromkeys(STATISTICS, 0)
    for name, values in columns(records).items():
        column, ordered = Column.from_values(values), np.sort(values).astype(np.float64)
        low, high = np.quantile(ordered, (0.01, 0.99))
        spread = float(high - low) or abs(float(high))
        errors: dict[str, list[np.ndarray]] = {statistic: [] for statistic in STATISTICS}
        for _ in range(ANCHORS):
            climbs.found.clear()
            answered = run(ask(ENDS, EPSILON / 2, column.scale), column, bits).value
            about = answered.records_about
            mean = run(ask_mean(EPSILON / 2, column.scale, records_about=about), column, bits).value
            each = runs // ANCHORS
            drawn = [climbed(*found, column.scale, each, rng) for found in climbs.found]
            (up, down), (left, right) = drawn[:2], drawn[2:]
            if climbs.found[0][0].side < 0:
                up, down = down, up
            errors["max"].append(np.abs(up - ordered[-1]) / spread)
            errors["min"].append(np.abs(down - ordered[0]) / spread)
            found_means, found_sums = means(ordered, left, right, float(mean.epsilon or EPSILON / 4), rng)
            errors["mean"].append(np.abs(found_means - ordered.mean()) / spread)
            errors["sum"].append(np.abs(found_sums - ordered.sum()) / (spread * records))
        told = []
        for statistic, listed in errors.items():
            off = np.concatenate(listed)
            far = int(np.sum(off > FAR))
            every[statistic] += far
            told.append(f"{statistic} {far} (at most {most(far, len(off)):.1e}; median {np.median(off):.2g})")
        print(f"{name}: {', '.join(told)}", flush=True)
    total = runs // ANCHORS * ANCHORS * len(columns(1))
    print(f"all, of {total}: " + ", ".join(f"{s} {far} (at most {most(far, total):.1e})" for s, far in every.items()))


if __name__ == "__main__":
    main()
