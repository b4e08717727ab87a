"""Accuracy of sharp answers beside other libraries: columns × statistics × records × ε, on seeds that tuned nothing.

    make bench-panel [PANEL="--sets 1 --sizes 1000 10000"]

Every answer has all of ε to itself. flexdp is given no bounds. Each peer is given good bounds, those that an expert
may know without the records, and then bounds that are 1000 times as wide; ``--hugging`` gives it twice the range of the
very records instead. A cell is one column, statistic, number of records and ε. One method wins a cell if its median
error is smaller by more than 20 %; "clearly", if a rank-sum test of the errors at 5 % finds a difference as well.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from _columns import LAWS, Law, flights, real_columns, sampled
from _peers import LEVELS, PEERS, Task, ask_peer, check_diffprivlib

from flexdp.noise.bits import Bits
from flexdp.sharp.answers import ask
from flexdp.sharp.column import Column
from flexdp.sharp.count import NoisyCount
from flexdp.sharp.mean import ask_mean
from flexdp.sharp.program import run

HELD_OUT, TUNING = 771_601, 771_001  # an earlier run, whose losses were looked at, had 771_301
EXACT = {"min": "0", "q01": "1/100", "median": "1/2", "q99": "99/100", "q999": "999/1000", "max": "1"}
STATISTICS = (*EXACT, "mean")  # of the cells; every library counts with the same law, see `counts`
OURS = "flexdp"
TIE = 1.2
WIDE = " (1000× bounds)"


def ours(column: Column, size: int, statistic: str, epsilon: Fraction) -> float | None:
    """One answer with all of ε; None if it is refused for want of records."""
    if statistic == "count":
        return NoisyCount(epsilon=epsilon).draw(size, Bits())
    if statistic == "mean":
        averaged = run(ask_mean(epsilon, column.scale), column, Bits()).value
        return None if averaged.too_few else float(averaged.mean)
    level = Fraction(EXACT[statistic])
    found = run(ask([level], epsilon, column.scale), column, Bits()).value
    return None if found.too_few else float(found.value(level))


def good_bounds(name: str, real: dict[str, np.ndarray]) -> tuple[float, float]:
    """What an expert may know without the records: the next 1, 2 or 5 × 10^k beyond all of a column or 10^6 draws."""
    values = real[name] if name in real else LAWS[name](np.random.default_rng(1), 10**6)
    low, high = float(values.min()), float(values.max())
    return (-_next(-low) if low < 0 else _last(low)), (_next(high) if high > 0 else -_last(-high))


def _next(value: float) -> float:
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= value)


def _last(value: float) -> float:
    if not value:
        return 0.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (5, 2, 1) if step * power <= value)


def hugging_bounds(ordered: np.ndarray) -> tuple[float, float]:
    """Twice the range of the very records; data of one sign stays on its side. No private bounds are that good."""
    low, high = float(ordered[0]), float(ordered[-1])
    width = (high - low) or max(1.0, abs(high))
    grain = 10.0 ** (math.floor(math.log10(width)) - 1)
    down, up = math.floor((low - width / 2) / grain) * grain, math.ceil((high + width / 2) / grain) * grain
    return (0.0 if low >= 0 > down else down), (0.0 if high <= 0 < up else up)


def wide_bounds(low: float, high: float) -> tuple[float, float]:
    """1000 times as wide, around the same middle; data of one sign stays on its side."""
    middle, half = (low + high) / 2, 500 * (high - low)
    return (0.0 if low >= 0 else middle - half), (0.0 if high <= 0 else middle + half)


class Truth:
    """The records, sorted, and how far off an answer is."""

    def __init__(self, values: np.ndarray) -> None:
        self.ordered = np.sort(values).astype(np.float64)
        self.mean = float(np.mean(self.ordered))
        quarter = float(np.subtract(*np.quantile(self.ordered, [0.75, 0.25])))
        self.range = float(np.ptp(self.ordered))
        self.spread = quarter or self.range or 1.0

    def value_error(self, statistic: str, given: float) -> float:
        """In interquartile ranges."""
        exact = self.mean if statistic == "mean" else self.quantile(statistic)
        error = abs(given - exact) / self.spread
        return error if error > 1e-12 else 0.0

    def quantile(self, statistic: str) -> float:
        rank = max(1, math.ceil(Fraction(EXACT[statistic]) * len(self.ordered)))
        return float(self.ordered[rank - 1])

    def rank_error(self, statistic: str, given: float) -> float | None:
        """Records between the answer and the exact rank; beyond an extreme there are none."""
        if statistic not in EXACT:
            return None
        wanted = LEVELS[statistic] * len(self.ordered)
        if math.isinf(given):
            return float(len(self.ordered))
        below, upto = (int(np.searchsorted(self.ordered, given, side=side)) for side in ("left", "right"))
        return max(0.0, below - wanted, wanted - upto)


@dataclass
class Cell:
    """The errors of every method in one cell."""

    column: str
    statistic: str
    records: int
    epsilon: str
    value: dict[str, list[float]] = field(default_factory=dict)
    rank: dict[str, list[float]] = field(default_factory=dict)
    asked: int = 0
    refused: int = 0
    far: int = 0

    def note(self, method: str, truth: Truth, given: float) -> None:
        self.value.setdefault(method, []).append(truth.value_error(self.statistic, given))
        rank = truth.rank_error(self.statistic, given)
        if rank is not None:
            self.rank.setdefault(method, []).append(rank)

    @property
    def declined(self) -> bool:
        """True if flexdp refused more than half of the time."""
        return 2 * self.refused > self.asked

    def median(self, method: str, by: str = "value") -> float | None:
        errors = getattr(self, by).get(method)
        return float(np.median(errors)) if errors else None

    def as_json(self) -> dict[str, Any]:
        """Everything, with four digits of each error."""
        shown = asdict(self)
        for by in ("value", "rank"):
            shown[by] = {m: [float(f"{error:.4g}") for error in errors] for m, errors in shown[by].items()}
        return shown


def measure(
    name: str,
    law: Law,
    size: int,
    epsilons: list[str],
    *,
    sets: int,
    draws: int,
    seed: int,
    bounds: tuple[float, float] | None,
) -> list[Cell]:
    """All cells of one column and number of records; bounds that are too wide are tried twice on the first set."""
    rng = np.random.default_rng([seed, size, *name.encode()])
    cells: dict[tuple[str, str], Cell] = {}
    for turn in range(sets):
        values = law(rng, size)
        column, truth = Column.from_values(values), Truth(values)
        low, high = hugging_bounds(truth.ordered) if bounds is None else bounds
        tasks = {"": Task(values, low, high), WIDE: Task(values, *wide_bounds(low, high))}
        for statistic, text, draw in itertools.product(STATISTICS, epsilons, range(draws)):
            cell = cells.setdefault((statistic, text), Cell(name, statistic, len(values), text))
            given = ours(column, len(values), statistic, Fraction(text))
            cell.asked += 1
            if given is None:
                cell.refused += 1
            else:
                cell.note(OURS, truth, given)
                cell.far += statistic in ("min", "max") and abs(given - truth.quantile(statistic)) > 2 * truth.range
            for (suffix, task), peer in itertools.product(tasks.items(), PEERS):
                if suffix and (peer == "PyDP, own bounds" or turn or draw > 1):
                    continue
                answer = ask_peer(peer, task, statistic, float(text))
                if answer is not None:
                    cell.note(peer + suffix, truth, answer)
    return list(cells.values())


def verdict(mine: float, theirs: float) -> int:
    """0 a win, 1 a tie, 2 a loss."""
    if mine * TIE < theirs:
        return 0
    return 2 if theirs * TIE < mine else 1


def clearly(mine: list[float], theirs: list[float]) -> bool:
    """Whether a two-sided rank-sum test finds a difference at 5 %, with the normal approximation and ties."""
    both = np.concatenate((mine, theirs))
    _, places, times = np.unique(both, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(times) - (times - 1) / 2)[places]
    a, b, n = len(mine), len(theirs), len(both)
    variance = a * b / 12 * (n + 1 - float((times**3 - times).sum()) / (n * (n - 1)))
    return variance > 0 and abs(float(ranks[:a].sum()) - a * (n + 1) / 2) > 1.96 * math.sqrt(variance)


def tally(cells: Iterable[Cell], methods: Iterable[str], by: str = "value", *, sure: bool = False) -> list[int]:
    """Wins, ties and losses against the best of some methods in each cell, and cells that flexdp declined."""
    methods, score = list(methods), [0, 0, 0, 0]
    for cell in cells:
        errors = {m: getattr(cell, by)[m] for m in methods if getattr(cell, by).get(m)}
        mine = getattr(cell, by).get(OURS)
        if not errors:
            continue
        if not mine or cell.declined:
            score[3] += 1
            continue
        best = min(errors.values(), key=np.median)
        found = verdict(float(np.median(mine)), float(np.median(best)))
        score[found if not sure or clearly(mine, best) else 1] += 1
    return score


def report(cells: list[Cell]) -> None:
    """Wins, ties and losses, by peer and by statistic, and the errors behind them."""
    cells = [cell for cell in cells if cell.statistic in STATISTICS]
    quantiles = [cell for cell in cells if cell.statistic in EXACT and cell.statistic not in ("min", "max")]
    print(f"\n{'wins, ties, losses, declined':36s}{'value':>24s}{'value, clearly':>28s}{'rank, inner, clearly':>28s}")
    groups = [(peer, [peer]) for peer in PEERS] + [("best in hindsight", list(PEERS))]
    groups += [(peer + WIDE, [peer + WIDE]) for peer in PEERS] + [
        ("best in hindsight" + WIDE, [p + WIDE for p in PEERS])
    ]
    for label, methods in groups:
        score = tally(cells, methods)
        if sum(score):
            sure = tally(cells, methods, sure=True), tally(quantiles, methods, "rank", sure=True)
            print(f"{label:36s}{_score(score)}    {_score(sure[0])}    {_score(sure[1])}")
    print("\nagainst the best peer in hindsight, good bounds, by statistic, number of records, ε and column")
    for key in ("statistic", "records", "epsilon", "column"):
        for wanted in dict.fromkeys(getattr(cell, key) for cell in cells):
            chosen = [cell for cell in cells if getattr(cell, key) == wanted]
            print(
                f"  {key:10s}{wanted!s:14s}{_score(tally(chosen, PEERS))}    {_score(tally(chosen, PEERS, sure=True))}"
            )
    print("\nmedian over cells of the median and of the 90 % error in value (interquartile ranges) and in rank")
    methods = [OURS, *PEERS, *(peer + WIDE for peer in PEERS)]
    for statistic in STATISTICS:
        print(f"  {statistic}")
        chosen = [cell for cell in cells if cell.statistic == statistic and not cell.declined]
        for method in methods:
            shown = []
            for by in ("value", "rank"):
                errors = [getattr(cell, by)[method] for cell in chosen if getattr(cell, by).get(method)]
                if errors:
                    pair = [
                        np.median([np.quantile(each, q, method="inverted_cdf") for each in errors]) for q in (0.5, 0.9)
                    ]
                    shown.append(f"{by} {pair[0]:9.3g} {pair[1]:9.3g}")
            if shown:
                print(f"    {method:36s}" + "   ".join(shown))
    extremes = [cell for cell in cells if cell.statistic in ("min", "max")]
    far, asked = sum(cell.far for cell in extremes), sum(cell.asked - cell.refused for cell in extremes)
    print(f"\nextremes beyond twice the range: {far} of {asked} ({100 * far / max(1, asked):.2f} %), target ≤ 1 %")
    for peer in PEERS:
        failed = sum(math.isinf(error) for cell in cells for error in cell.value.get(peer, ()))
        if failed:
            print(f"{peer} failed to answer {failed} times")
    losses = []
    for cell in cells:
        mine = cell.median(OURS)
        best = min((m, p) for p in PEERS if (m := cell.median(p)) is not None)
        if mine is not None and not cell.declined and verdict(mine, best[0]) == 2:
            losses.append((mine / best[0] if best[0] else math.inf, cell, best[1], mine, best[0]))
    print(f"\n{len(losses)} losses to the best peer in hindsight; the largest:")
    for ratio, cell, peer, mine, theirs in sorted(losses, key=lambda loss: -loss[0])[:40]:
        place = f"{cell.column} {cell.statistic} n={cell.records} ε={cell.epsilon}"
        print(f"  {place:40s}{mine:10.3g} against {theirs:10.3g} ({ratio:.3g}×) of {peer}")


def _score(score: list[int]) -> str:
    return "".join(f"{number:6d}" for number in score)


def counts(epsilons: list[str], draws: int) -> None:
    """The number of records: all libraries add discrete Laplace noise of scale 1/ε, so many draws are compared."""
    values = np.arange(1000.0)
    column, task = Column.from_values(values), Task(values, 0.0, 1000.0)
    print(f"\ncount: mean absolute error of {draws} answers")
    for text in epsilons:
        errors = {OURS: [abs(ours(column, 1000, "count", Fraction(text)) - 1000) for _ in range(draws)]}
        for peer in PEERS:
            given = [ask_peer(peer, task, "count", float(text)) for _ in range(draws)]
            if given[0] is not None:
                errors[peer] = [abs(answer - 1000) for answer in given]
        print(f"  ε = {text:5s}" + "".join(f"{name} {np.mean(error):.3f}   " for name, error in errors.items()))


def flight_targets(runs: int) -> None:
    """The answers on the flights that ship with flexdp, at ε = 1."""
    values = flights()
    column, truth = Column.from_values(values), Truth(values)
    targets = {"median": "−2", "q99": "191", "q999": "within 2", "max": "≥ 800", "min": "none"}
    print(f"\nflights, {len(values)} records, ε = 1, {runs} answers: least, 5 %, median, 95 %, most")
    for statistic, target in targets.items():
        given = [ours(column, len(values), statistic, Fraction(1)) for _ in range(runs)]
        drawn = sorted(answer for answer in given if answer is not None)
        shown = "".join(f"{drawn[int(q * (len(drawn) - 1))]:8.0f}" for q in (0, 0.05, 0.5, 0.95, 1))
        print(f"  {statistic:8s}{shown}   exact {truth.quantile(statistic):.0f}   target {target}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=2, help="sets of records in a cell")
    parser.add_argument("--draws", type=int, default=4, help="answers about each of them")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10**3, 10**4, 10**5])
    parser.add_argument("--epsilons", nargs="+", default=["0.1", "0.3", "1", "3"])
    parser.add_argument("--columns", nargs="+", help="only these columns")
    parser.add_argument("--hugging", action="store_true", help="give peers twice the range of the very records")
    parser.add_argument("--report", type=Path, nargs="+", help="only report the cells in these files")
    parser.add_argument("--tuning", action="store_true", help="the seeds on which constants may be tuned")
    parser.add_argument("--json", type=Path, help="where to write the errors of every cell, after each column")
    given = parser.parse_args()
    if given.report is not None:
        report([Cell(**cell) for path in given.report for cell in json.loads(path.read_text())])
        return
    names = ("opendp", "diffprivlib", "python-dp", "numpy")
    print(", ".join(f"{name} {version(name)}" for name in names))
    check_diffprivlib()
    real = real_columns()
    laws = {**LAWS, **{name: sampled(values) for name, values in real.items()}}
    seed = TUNING if given.tuning else HELD_OUT
    started = time.process_time()
    cells: list[Cell] = []
    for name, law in laws.items():
        if given.columns is not None and name not in given.columns:
            continue
        bounds = None if given.hugging else good_bounds(name, real)
        sizes = sorted({min(size, len(real.get(name, range(size)))) for size in given.sizes})
        for size in sizes:
            cells += measure(
                name, law, size, given.epsilons, sets=given.sets, draws=given.draws, seed=seed, bounds=bounds
            )
        print(f"{name:12s}{time.process_time() - started:8.0f} s", flush=True)
        if given.json is not None:
            given.json.write_text(json.dumps([cell.as_json() for cell in cells], indent=1))
    if given.columns is None or "flights" in given.columns:
        flight_targets(100)
        counts(given.epsilons, 1000)
    report(cells)
    print(
        f"\n{len(cells)} cells, {given.sets} × {given.draws} answers each, "
        f"{time.process_time() - started:.0f} s of processor time"
    )


if __name__ == "__main__":
    main()
