"""Cells of the accuracy panel: the errors of every method, who wins a cell, and the report."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from _peers import LEVELS, PEERS

EXACT = {"min": "0", "q01": "1/100", "median": "1/2", "q99": "99/100", "q999": "999/1000", "max": "1"}
STATISTICS = (*EXACT, "mean")  # of the cells; every library counts with the same law
OURS = "flexdp"
TIE = 1.2
WIDE = " (1000× bounds)"


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
    far: int = 0  # answers about an extreme that lie more than twice the range off

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


def thinned(cell: Cell, answers: int) -> Cell:
    """The cell with so many answers of each method, spread over its sets."""
    kept = {
        by: {m: errors[:: max(1, len(errors) // answers)][:answers] for m, errors in getattr(cell, by).items()}
        for by in ("value", "rank")
    }
    return replace(cell, **kept)


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


def tally(
    cells: Iterable[Cell], methods: Iterable[str], by: str = "value", *, sure: bool = False, split: bool = False
) -> list[int]:
    """Wins, ties and losses against the best of some methods in each cell, and cells that flexdp declined.

    With ``split`` the best is chosen by every other error and judged by the rest: a minimum over several noisy medians
    is too small, and would be beaten by no one.
    """
    methods, score = list(methods), [0, 0, 0, 0]
    for cell in cells:
        errors = {m: getattr(cell, by)[m] for m in methods if getattr(cell, by).get(m)}
        mine = getattr(cell, by).get(OURS)
        if not errors:
            continue
        if not mine or cell.declined:
            score[3] += 1
            continue
        if split:
            best = min(errors.values(), key=lambda each: np.median(each[::2]))[1::2]
            mine = mine[1::2]
        else:
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
    score = tally(cells, PEERS, split=True), tally(cells, PEERS, split=True, sure=True)
    print(f"{'best by half, judged by the rest':36s}{_score(score[0])}    {_score(score[1])}")
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
