"""Automatic buckets: the share of records left out, and how far the released distribution is from the true one.

    python benchmarks/panel_buckets.py [--runs 5] [--sizes 1000 10000 100000] [--epsilons 1] [--laws]

Bars get the mean drop back, and records are spread evenly inside a bucket; the distance is the largest one between the
two distribution functions. Seeds tuned nothing. Real columns need matplotlib and scikit-learn.
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
from fractions import Fraction

import numpy as np
from _columns import LAWS, real_columns, sampled

from flexdp.mechanisms.program import run
from flexdp.noise import DropNoise
from flexdp.noise.bits import Bits
from flexdp.sharp.automatic import Automatic, automatic_buckets
from flexdp.sharp.column import Column

HELD_OUT, TUNING = 881_301, 881_001
DELTA = Fraction(1, 10**6)
LEVELS = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
LOST, DISTANCE = 0.02, 0.01  # targets at 10^5 records and ε = 1


def distribution(found: Automatic) -> tuple[np.ndarray, np.ndarray, float]:
    """Knots of the released distribution function, and the debiased number of records.

    Bars get the mean drop back; inside a bucket records are spread evenly, of integers over the integers, and over an
    open end as an exponential tail whose density continues the neighbour's.
    """
    assert found.shares is not None
    scale, noise = found.scale, DropNoise(found.shares.bars, found.delta)
    edges = np.array([float(scale.value(edge)) for edge in found.edges])
    bars = np.array([bar + float(noise.mean_drop()) if bar else 0.0 for bar in found.bars])
    size, shift = bars.sum(), 1.0 if scale.integral else 0.0  # the last integer before an edge has all that is below
    point = np.array([b - a == 1 for a, b in itertools.pairwise(found.edges)] + [False])
    knots, heights, running = [], [], bars[0]
    widths = np.diff(edges)
    low, high = (_tail(bars[i], bars[j], widths[k]) if len(widths) else 1.0 for i, j, k in ((0, 1, 0), (-1, -2, -1)))
    for share in np.linspace(0, 1, 60)[1:]:
        knots.append(edges[0] - shift + low * math.log(share))
        heights.append(bars[0] * share)
    for place in range(len(widths)):
        before = edges[place] - shift
        knots.append(before if not point[place] else math.nextafter(edges[place] - shift, -math.inf))
        heights.append(running)
        running += bars[place + 1]
        if point[place]:
            knots.append(edges[place])
            heights.append(running)
    for share in np.linspace(1, 0, 60)[:-1]:
        knots.append(edges[-1] - high * math.log(share) - shift)
        heights.append(size - bars[-1] * share)
    order = np.lexsort((heights, knots))
    return np.array(knots)[order], np.maximum.accumulate(np.array(heights)[order]), float(size)


def quantile(wanted: float, knots: np.ndarray, heights: np.ndarray, *, integral: bool) -> float:
    """The value by which so many records are reached; at a jump the value that jumps."""
    place = min(int(np.searchsorted(heights, wanted)), len(knots) - 1)
    if place and math.nextafter(knots[place - 1], math.inf) == knots[place]:
        return float(knots[place])
    value = float(np.interp(wanted, heights, knots))
    return math.ceil(value - 1e-9) if integral else value


def _tail(count: float, neighbour: float, width: float) -> float:
    return min(20 * width, max(width / 20, count * width / neighbour)) if neighbour else width


def released(values: np.ndarray, epsilon: Fraction) -> dict[str, float] | None:
    """Release once; the share left out, the number of bars, the distance, the rank error, and the time."""
    size, column = len(values), Column.from_values(values)
    started = time.process_time()
    found = run(automatic_buckets(epsilon, DELTA, column.scale), column, Bits()).value
    seconds = time.process_time() - started
    if not found.bars:
        return None
    ordered, integral = np.sort(values).astype(np.float64), column.scale.integral
    knots, heights, total = distribution(found)
    at = np.unique(ordered)
    upto, below = (np.searchsorted(ordered, at, side=side) / size for side in ("right", "left"))
    just_below = at - 1 if integral else np.nextafter(at, -np.inf)
    gaps = [np.interp(at, knots, heights) / total - upto, np.interp(just_below, knots, heights) / total - below]
    ranks = []
    for level in LEVELS:
        value = quantile(level * total, knots, heights, integral=integral)
        low, high = (np.searchsorted(ordered, value, side=side) / size for side in ("left", "right"))
        ranks.append(max(0.0, low - level, level - high))
    return {
        "lost": 1 - sum(found.bars) / size,
        "bars": len(found.bars),
        "distance": float(max(np.abs(gap).max() for gap in gaps)),
        "ranks": float(np.mean(ranks)),
        "seconds": seconds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10**3, 10**4, 10**5])
    parser.add_argument("--epsilons", nargs="+", default=["1"])
    parser.add_argument("--laws", action="store_true", help="no real columns")
    parser.add_argument("--tuning", action="store_true", help="the seeds on which constants may be tuned")
    given = parser.parse_args()
    real = {} if given.laws else real_columns()
    columns = {**LAWS, **{name: sampled(values) for name, values in real.items()}}
    for size, text in itertools.product(given.sizes, given.epsilons):
        print(f"\n{size} records, ε = {text}, δ = 10^−6: means of {given.runs} runs, and the largest distance of a run")
        missed = []
        for name, law in columns.items():
            if len(real.get(name, range(size))) < size:
                continue
            rng = np.random.default_rng([TUNING if given.tuning else HELD_OUT, size, *name.encode()])
            runs = [found for _ in range(given.runs) if (found := released(law(rng, size), Fraction(text)))]
            if not runs:
                print(f"{name:12s}  too few records for bars")
                continue
            mean = {key: float(np.mean([each[key] for each in runs])) for key in runs[0]}
            worst = max(each["distance"] for each in runs)
            print(
                f"{name:12s}  left out {100 * mean['lost']:5.2f} %   bars {mean['bars']:3.0f}   distance "
                f"{mean['distance']:.4f} ({worst:.4f})   rank error {100 * mean['ranks']:.3f} %   "
                f"{1e3 * mean['seconds']:.0f} ms"
            )
            if mean["lost"] > LOST or mean["distance"] > DISTANCE:
                missed.append(name)
        print(f"not within {100 * LOST:.0f} % left out and a distance of {DISTANCE}: {', '.join(missed) or 'none'}")


if __name__ == "__main__":
    main()
