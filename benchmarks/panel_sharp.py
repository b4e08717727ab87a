"""Accuracy of sharp answers and automatic buckets: laws × statistics × records × ε, on seeds that tuned nothing.

    python benchmarks/panel_sharp.py [--runs 10] [--quick] [--only answers|buckets|mean|flights]

Errors of answers are in interquartile ranges of the data. Every method is a function of the sorted values, a level and
ε; add peers to ``METHODS``, and wins, ties and losses against each of them are counted as well.
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
from collections.abc import Callable
from fractions import Fraction
from importlib.resources import files

import numpy as np
import pyarrow.parquet as pq

from flexdp.noise import DropNoise
from flexdp.noise.bits import Bits
from flexdp.sharp.answers import ask
from flexdp.sharp.automatic import Automatic, automatic_buckets
from flexdp.sharp.column import Column
from flexdp.sharp.mean import ask_mean
from flexdp.sharp.program import run

SEED = 90_101  # of no tuning: the decades of `between` were chosen on 90_001
DELTA = Fraction(1, 10**6)
STATISTICS = {"min": "0", "q0.01": "1/100", "median": "1/2", "q0.9": "9/10", "q0.99": "99/100", "max": "1"}
LEVELS = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
TIE = 1.2  # errors within 20 % of each other are a tie

Law = Callable[[np.random.Generator, int], np.ndarray]
Method = Callable[[Column, Fraction, Fraction], "float | None"]


def flights() -> np.ndarray:
    """The departure delays that ship with flexdp, in minutes."""
    path = files("flexdp") / "data" / "flights.parquet"
    return pq.read_table(str(path)).column("departure_delay").drop_null().to_numpy()


_FLIGHTS = flights()
LAWS: dict[str, Law] = {
    "normal": lambda rng, n: rng.normal(50, 15, n),
    "uniform": lambda rng, n: rng.uniform(0, 1, n),
    "lognormal": lambda rng, n: np.round(rng.lognormal(3, 1, n), 2),
    "exponential": lambda rng, n: np.round(rng.exponential(1200, n), 1),
    "pareto": lambda rng, n: np.round(1000 * (1 + rng.pareto(1.5, n)), 2),
    "cauchy": lambda rng, n: 45 + 4 * rng.standard_cauchy(n),
    "ages": lambda rng, n: np.clip(rng.normal(40, 20, n), 0, 105).astype(np.int64),
    "zipf": lambda rng, n: np.minimum(rng.zipf(1.8, n), 10**12).astype(np.int64),
    "ties": lambda rng, n: np.where(rng.random(n) < 0.6, 0.0, np.round(rng.exponential(100, n), 1)),
    "gap": lambda rng, n: np.where(rng.random(n) < 0.5, rng.normal(0, 1, n), rng.normal(1e7, 1, n)),
    "tiny": lambda rng, n: rng.normal(1e-9, 1e-10, n),
    "epoch": lambda rng, n: rng.integers(1_600_000_000, 1_700_000_000, n),
    "flights": lambda rng, n: rng.choice(_FLIGHTS, n),
}


def ours(column: Column, level: Fraction, epsilon: Fraction) -> float | None:
    """One asked answer with all of ε."""
    value = run(ask([level], epsilon, column.scale), column, Bits()).value
    return None if value.too_few else float(value.value(level))


METHODS: dict[str, Method] = {"flexdp": ours}


def truth(ordered: np.ndarray, level: Fraction) -> float:
    """The value of rank ⌈level·n⌉, at least the first."""
    return float(ordered[max(1, math.ceil(level * len(ordered))) - 1])


def answers(sizes: list[int], epsilons: list[str], runs: int) -> None:
    print(f"{'law':12s}{'records':>9s}{'ε':>6s}  median and 90 % error in interquartile ranges")
    tally: dict[str, list[int]] = {name: [0, 0, 0] for name in METHODS if name != "flexdp"}
    far = refused = total = 0
    for (law, make), size, text in itertools.product(LAWS.items(), sizes, epsilons):
        rng = np.random.default_rng([SEED, size, *law.encode()])
        errors: dict[tuple[str, str], list[float]] = {}
        for _ in range(runs):
            values = make(rng, size)
            column, ordered = Column.from_values(values), np.sort(values).astype(np.float64)
            spread = float(np.subtract(*np.quantile(ordered, [0.75, 0.25]))) or float(np.ptp(ordered)) or 1.0
            for statistic, level in STATISTICS.items():
                for name, method in METHODS.items():
                    given = method(column, Fraction(level), Fraction(text))
                    if given is None:
                        refused += name == "flexdp"
                        continue
                    error = abs(given - truth(ordered, Fraction(level)))
                    errors.setdefault((name, statistic), []).append(error / spread)
                    if name == "flexdp" and statistic in ("min", "max"):
                        total += 1
                        far += error > 2 * float(np.ptp(ordered))
        shown = []
        for statistic in STATISTICS:
            mine = errors.get(("flexdp", statistic))
            shown.append(f"{statistic} refused" if mine is None else f"{statistic} {_two(mine)}")
            for name, score in tally.items():
                theirs = errors.get((name, statistic))
                if mine is not None and theirs is not None:
                    score[_verdict(float(np.median(mine)), float(np.median(theirs)))] += 1
        print(f"{law:12s}{size:9d}{text:>6s}  " + "  ".join(shown))
    for name, (wins, ties, losses) in tally.items():
        print(f"against {name}: {wins} wins, {ties} ties, {losses} losses")
    print(f"refused: {refused}; extremes beyond twice the range: {far} of {total} ({100 * far / max(1, total):.2f} %)")


def _two(errors: list[float]) -> str:
    return f"{np.median(errors):.3g}/{np.quantile(errors, 0.9):.3g}"


def _verdict(mine: float, theirs: float) -> int:
    if mine * TIE < theirs:
        return 0
    return 2 if theirs * TIE < mine else 1


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


def buckets(sizes: list[int], epsilons: list[str], runs: int) -> None:
    print("automatic buckets: left out, bars, sup distance of distribution functions, mean rank error at seven levels")
    for size, text in itertools.product(sizes, epsilons):
        worst_lost = worst_distance = 0.0
        for law, make in LAWS.items():
            rng = np.random.default_rng([SEED + 1, size, *law.encode()])
            lost, bars, distance, ranks, seconds = [], [], [], [], []
            for _ in range(runs):
                values = make(rng, size)
                column = Column.from_values(values)
                started = time.process_time()
                found = run(automatic_buckets(Fraction(text), DELTA, column.scale), column, Bits()).value
                seconds.append(time.process_time() - started)
                if not found.bars:
                    continue
                ordered = np.sort(values).astype(np.float64)
                knots, heights, total = distribution(found)
                lost.append(1 - sum(found.bars) / size)
                bars.append(len(found.bars))
                at = np.unique(ordered)
                released = np.interp(at, knots, heights) / total
                upto = np.searchsorted(ordered, at, side="right") / size
                below = np.searchsorted(ordered, at, side="left") / size
                just_below = at - 1 if column.scale.integral else np.nextafter(at, -np.inf)
                middle = np.interp(just_below, knots, heights) / total
                distance.append(float(max(np.abs(released - upto).max(), np.abs(middle - below).max())))
                for level in LEVELS:
                    value = quantile(level * total, knots, heights, integral=column.scale.integral)
                    low, high = (np.searchsorted(ordered, value, side=side) / size for side in ("left", "right"))
                    ranks.append(max(0.0, low - level, level - high))
            if not lost:
                print(f"{law:12s}{size:9d}{text:>6s}  too few records for bars")
                continue
            worst_lost, worst_distance = max(worst_lost, np.mean(lost)), max(worst_distance, np.mean(distance))
            print(
                f"{law:12s}{size:9d}{text:>6s}  lost {100 * np.mean(lost):5.2f} %  bars {np.mean(bars):4.0f}  "
                f"distance {np.mean(distance):.4f}  ranks {100 * np.mean(ranks):.3f} %  {1e3 * np.mean(seconds):.0f} ms"
            )
        print(f"  worst law: lost {100 * worst_lost:.2f} %, distance {worst_distance:.4f}")


def means(sizes: list[int], epsilons: list[str], runs: int) -> None:
    print("mean: median absolute error over that of Laplace noise with the data's own range as bounds, n public")
    for size, text in itertools.product(sizes, epsilons):
        for law, make in LAWS.items():
            rng = np.random.default_rng([SEED + 2, size, *law.encode()])
            errors, peers = [], []
            for _ in range(runs):
                values = make(rng, size)
                column = Column.from_values(values)
                value = run(ask_mean(Fraction(text), column.scale), column, Bits()).value
                if value.too_few:
                    continue
                errors.append(abs(float(value.mean) - float(values.mean())))
                peers.append(math.log(2) * float(np.ptp(values)) / size / float(Fraction(text)))
            if errors:
                ratio = np.median(errors) / np.median(peers)
                print(f"{law:12s}{size:9d}{text:>6s}  error {np.median(errors):.4g}  ratio {ratio:.2f}")


def flight_targets(runs: int) -> None:
    column = Column.from_values(_FLIGHTS)
    wanted = {"1/2": "−2", "99/100": "191", "999/1000": "340 ± 2", "1": "≥ 800 (true 1301)", "0": "(true −43)"}
    print(f"flights, {len(_FLIGHTS)} records, ε = 1")
    for level, target in wanted.items():
        drawn = sorted(ours(column, Fraction(level), Fraction(1)) or 0 for _ in range(10 * runs))
        quantiles = [drawn[int(q * (len(drawn) - 1))] for q in (0, 0.05, 0.5, 0.95, 1)]
        print(f"  level {level:9s} least, 5 %, median, 95 %, most: {quantiles}   target {target}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--quick", action="store_true", help="10^4 and 10^5 records, ε = 1 only")
    parser.add_argument("--only", choices=("answers", "buckets", "mean", "flights"))
    given = parser.parse_args()
    sizes, epsilons = ([10**4, 10**5], ["1"]) if given.quick else ([10**3, 10**4, 10**5], ["0.1", "0.3", "1", "3"])
    if given.only in (None, "flights"):
        flight_targets(given.runs)
    if given.only in (None, "answers"):
        answers(sizes, epsilons, given.runs)
    if given.only in (None, "buckets"):
        buckets(sizes, epsilons, given.runs)
    if given.only in (None, "mean"):
        means(sizes, epsilons, given.runs)


if __name__ == "__main__":
    main()
