"""Where it breaks: a seventh experiment of our own, worst-case histograms found by search.

The question for a mechanism M, on histograms x of n records in B bars: how large can the smallest β become for which M
is (α, β, γ)-accurate at x? Here α = D·B/n is what *dropping* guarantees for this ε, δ, n and B, D being the most
records a bar can lose. At that α dropping has β = 0 on every histogram, surely (γ = 0). Others have no such guarantee:
there are histograms, one for each is looked for, on which their β is nearly B and doubles when B is doubled.

Errors are computed from exact laws (:func:`flexdp.baselines.exact_errors`), so that no Monte Carlo error can pass for a
finding. A histogram that was found is a proof, and can be checked on its own; that none worse exists is proved only
where all were tried (``exhaustive``). With γ = 0 every output of positive chance counts. Chances below about 1e-18 for
the mode and 1e-308 for the others are lost in doubles, so that a β at γ = 0 can be too small, never too large; the
zeros of dropping and stlap are exact.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import EPSILON, GAMMA, elements, integer
from flexdp._core.exact import Number, number_text
from flexdp._core.text import safe_repr
from flexdp.baselines import Baseline, baseline, exact_errors
from flexdp.baselines.base import LARGEST_TOTAL, SMALL_DELTA, Readable
from flexdp.errors import InputError
from flexdp.noise.drop import DropNoise
from flexdp.simulation.streams import Generator, stream
from flexdp.statistics import Max, MaxAtLeast, Mode

__all__ = ["COLUMNS", "LAWFUL", "QUICK", "WorstCase", "WorstCases", "csv_text", "search"]

LAWFUL = ("dropping", "stlap", "esa", "bns", "bns_swap", "em", "ptr")  # those that have an exact law
COLUMNS = (
    "mechanism", "statistic", "bars", "records", "epsilon", "delta", "alpha", "gamma", "worst", "worst_bars",
    "chance", "evaluations", "exhaustive", "histogram",
)  # fmt: skip
QUICK = 60  # evaluations for a first look
_RESTART = 60  # evaluations after which a climb that found nothing better begins elsewhere
_MOST_BARS = 10**6
_SPAN = 40.0  # natural logarithms of chance over which a climb can feel its way up to γ


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstCase:
    """The worst histogram that was found for one mechanism, statistic, number of bars and γ.

    ``worst`` is its β in per cent of B, ``worst_bars`` the same in bars. ``chance`` is that of a flexible error of at
    least that much (0 where ``worst`` is): more than γ, but with γ = 0 it can be tiny, and is then a lower bound where
    laws are cut off. ``evaluations`` counts the histograms tried for this mechanism, statistic and number of bars.
    """

    mechanism: str
    statistic: str
    bars: int
    records: int
    epsilon: Fraction
    delta: Fraction
    alpha: Fraction
    gamma: Fraction
    worst_bars: int
    chance: float
    histogram: tuple[int, ...]
    evaluations: int
    exhaustive: bool

    @property
    def worst(self) -> float:
        """β in per cent of B."""
        return 100 * self.worst_bars / self.bars


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstCases:
    """All that a search found, in the order in which it was asked."""

    rows: tuple[WorstCase, ...]
    seed: int

    def __str__(self) -> str:
        """β in per cent of B: a line for each mechanism, statistic and γ, a column for each number of bars."""
        bars = sorted({row.bars for row in self.rows})
        keys = list(dict.fromkeys((row.mechanism, row.statistic, row.gamma) for row in self.rows))
        found = {(row.mechanism, row.statistic, row.gamma, row.bars): row.worst for row in self.rows}
        lines = [f"{'mechanism':<11}{'statistic':<10}{'gamma':>7}" + "".join(f"{f'B={b}':>8}" for b in bars)]
        for name, statistic, gamma in keys:
            cells = (found.get((name, statistic, gamma, b)) for b in bars)
            texts = "".join(f"{'-' if cell is None else f'{cell:.1f}':>8}" for cell in cells)
            lines.append(f"{name:<11}{statistic:<10}{number_text(gamma):>7}{texts}")
        return "\n".join(lines)


def search(
    mechanisms: Sequence[str | Baseline] = LAWFUL,
    statistics: Sequence[Readable] = (Max(), MaxAtLeast(50), Mode()),
    *,
    bars: Sequence[int] = (6, 12, 24),
    records: int = 1500,
    epsilon: Number = 1,
    delta: Number = Fraction(1, 2**20),
    gammas: Sequence[Number] = (0, Fraction(1, 20)),
    evaluations: int = 480,
    seed: int = 0,
) -> WorstCases:
    """Look for the histograms of ``records`` records on which each mechanism is worst, at dropping's guaranteed α.

    For each mechanism, statistic and number of bars: all histograms, where those are at most ``evaluations``; otherwise
    seeded hill-climbing with restarts, ``evaluations`` for each γ. Same seed, same rows, whatever else is asked for.

    >>> print(search(["dropping", "em"], [Max()], bars=[4, 8], evaluations=20, gammas=["0.05"]))
    mechanism  statistic   gamma     B=4     B=8
    dropping   max          0.05     0.0     0.0
    em         max          0.05    75.0    87.5
    """
    epsilon, delta = EPSILON.check(epsilon), SMALL_DELTA.check(delta)
    shares = tuple(dict.fromkeys(GAMMA.check(gamma) for gamma in elements(gammas) or ()))
    size = integer("records", records, at_most=LARGEST_TOTAL)
    tries = integer("evaluations", evaluations)
    chosen = [baseline(each) if isinstance(each, str) else each for each in elements(mechanisms) or ()]
    asked = elements(statistics) or []
    widths = [integer("bars", each, at_most=_MOST_BARS) for each in elements(bars) or ()]
    if not (chosen and asked and widths and shares):
        raise InputError("mechanisms, statistics, bars and gammas must each hold at least one entry.")
    alphas = {width: _guaranteed(epsilon, delta, size, width) for width in widths}
    rows: list[WorstCase] = []
    for mechanism in chosen:
        for statistic in asked:
            for width in widths:
                place = _Place(
                    mechanism=mechanism, statistic=statistic, bars=width, records=size, epsilon=epsilon, delta=delta,
                    alpha=alphas[width],
                )  # fmt: skip
                rows += _worst(place, shares, tries, integer("seed", seed, at_least=0))
    return WorstCases(rows=tuple(rows), seed=seed)


def csv_text(rows: Sequence[WorstCase]) -> str:
    """The rows as CSV with a header; a histogram is its heights, separated by spaces."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        cells = {name: getattr(row, name) for name in COLUMNS}
        cells |= {name: number_text(cells[name]) for name in ("epsilon", "delta", "alpha", "gamma", "worst")}
        cells["chance"] = f"{row.chance:.6g}"
        cells |= {"histogram": " ".join(map(str, row.histogram)), "exhaustive": "yes" if row.exhaustive else "no"}
        writer.writerow([cells[name] for name in COLUMNS])
    return out.getvalue()


def _guaranteed(epsilon: Fraction, delta: Fraction, records: int, bars: int) -> Fraction:
    """The α that dropping guarantees: at most D records of each bar, of n."""
    lost = DropNoise(epsilon, delta).max_drop * bars
    if lost >= records:
        raise InputError(
            f"records must exceed {lost} for {bars} bars, so that dropping guarantees an alpha below 1; "
            f"got {safe_repr(records)}. Choose more records, fewer bars or a larger epsilon."
        )
    return Fraction(lost, records)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """One mechanism on one statistic and number of bars: where a search looks."""

    mechanism: Baseline
    statistic: Readable
    bars: int
    records: int
    epsilon: Fraction
    delta: Fraction
    alpha: Fraction

    @property
    def label(self) -> str:
        """The paper's word for the statistic."""
        if isinstance(self.statistic, MaxAtLeast):
            return f"max_{self.statistic.count}"
        return "mode" if isinstance(self.statistic, Mode) else "max"

    @property
    def landmarks(self) -> NDArray[np.int64]:
        """Heights beside which a guarantee begins to bind: k, what one bar can lose, and what may be lost in all."""
        budget = int(self.alpha * self.records)
        drop = budget // self.bars
        level = self.statistic.count if isinstance(self.statistic, MaxAtLeast) else 1
        marks = (level - 1, level, drop, drop + 1, level + drop - 1, level + drop, budget, budget + 1)
        return np.array([mark for mark in marks if mark <= self.records])

    def tail(self, heights: NDArray[np.int64]) -> NDArray[np.float64]:
        """Pr[flexible error > b] for b = 0, …, B − 1, exactly."""
        return exact_errors(
            self.mechanism, heights, self.statistic, epsilon=self.epsilon, delta=self.delta, alpha=self.alpha
        ).flexible_tail()


class _Record:
    """The worst histogram so far for each γ, and how many were looked at."""

    def __init__(self, place: _Place, gammas: tuple[Fraction, ...]) -> None:
        self.place = place
        self.evaluations = 0
        self.best: dict[Fraction, tuple[int, float, tuple[int, ...]]] = dict.fromkeys(gammas, (-1, 0.0, ()))

    def look(self, heights: NDArray[np.int64]) -> NDArray[np.float64]:
        """Evaluate one histogram and remember it where it is the worst."""
        self.evaluations += 1
        tail = self.place.tail(heights)
        for gamma, (*best, _) in self.best.items():
            beta = _beta(tail, gamma)
            chance = float(tail[beta - 1]) if beta else 0.0
            if [beta, chance] > best:
                self.best[gamma] = beta, chance, tuple(heights.tolist())
        return tail


def _worst(place: _Place, gammas: tuple[Fraction, ...], evaluations: int, seed: int) -> Iterator[WorstCase]:
    record = _Record(place, gammas)
    exhaustive = math.comb(place.records + place.bars - 1, place.bars - 1) <= evaluations
    if exhaustive:
        for heights in _all_histograms(place.records, place.bars):
            record.look(heights)
    else:
        for gamma in gammas:
            name = place.mechanism.name, place.label, place.bars, gamma
            _climb(record, gamma, evaluations, stream(seed, "worst", *name))
    for gamma, (beta, chance, histogram) in record.best.items():
        yield WorstCase(
            mechanism=place.mechanism.name, statistic=place.label, bars=place.bars, records=place.records,
            epsilon=place.epsilon, delta=place.delta, alpha=place.alpha, gamma=gamma, worst_bars=beta,
            chance=chance,
            histogram=histogram, evaluations=record.evaluations, exhaustive=exhaustive,
        )  # fmt: skip


def _beta(tail: NDArray[np.float64], gamma: Fraction) -> int:
    """The smallest whole b with Pr[error > b] ≤ γ."""
    return int((tail > float(gamma)).sum())


def _height(tail: NDArray[np.float64], gamma: Fraction) -> float:
    """What a climb goes up: β, and how near, in logarithms, the chance of each larger error already is to γ.

    With γ = 0 nothing is near; there an error that is likelier is higher than an equal one. Rounded, so that the last
    digits of doubles, which differ from one machine to another, do not lead the climb.
    """
    beta, limit = _beta(tail, gamma), float(gamma)
    if limit:
        further = 1 + np.log(np.maximum(tail[beta:], 1e-300) / limit) / _SPAN
        return round(beta + float(np.maximum(0, further).sum()), 6)
    return round(beta + 1 + math.log(tail[beta - 1]) / 750, 6) if beta else 0.0  # no double is below e^−745


def _all_histograms(records: int, bars: int) -> Iterator[NDArray[np.int64]]:
    """Every way to put the records into the bars: the places of B − 1 dividers among them."""
    for dividers in combinations(range(records + bars - 1), bars - 1):
        edges = np.array([-1, *dividers, records + bars - 1])
        yield np.diff(edges) - 1


def _climb(record: _Record, gamma: Fraction, evaluations: int, rng: Generator) -> None:
    """Random steps that are kept if they do not go down; a new start after too many in vain."""
    place, left = record.place, evaluations
    while left > 0:
        here = _start(place.records, place.bars, place.landmarks, rng)
        height, in_vain = _height(record.look(here), gamma), 0
        left -= 1
        while left > 0 and in_vain < _RESTART:
            there = _step(here, place.landmarks, rng)
            reached = _height(record.look(there), gamma)
            left -= 1
            in_vain = 0 if reached > height else in_vain + 1
            if reached >= height:
                here, height = there, reached


def _start(records: int, bars: int, landmarks: NDArray[np.int64], rng: Generator) -> NDArray[np.int64]:
    """Some bars, as likely few as many, share a height: any, a landmark or all there is. One of them holds the rest."""
    some = rng.permutation(bars)[: math.ceil(bars ** rng.random())]
    share = records // len(some)
    heights = (int(share ** rng.random()), min(share, int(rng.choice(landmarks))), share)
    out = np.zeros(bars, dtype=np.int64)
    out[some] = heights[rng.integers(3)]
    out[some[0]] += records - int(out.sum())
    return out


def _step(heights: NDArray[np.int64], landmarks: NDArray[np.int64], rng: Generator) -> NDArray[np.int64]:
    """Another histogram of as many records, near this one or rearranged."""
    if len(heights) == 1:
        return heights
    kind = rng.integers(8)
    one, two = rng.permutation(len(heights))[:2]
    out = heights.copy()
    if kind == 0:  # two bars change places
        out[[one, two]] = out[[two, one]]
    elif kind == 1:  # all bars change places
        out = out[::-1] if rng.random() < 0.5 else np.sort(out)[::-1]
    elif kind <= 3:  # some records of one bar, as likely few as many, go to another
        moved = math.ceil(out[one] ** rng.random()) if out[one] else 0
        out[one] -= moved
        out[two] += moved
    elif kind <= 5:  # a bar gets nearly the height of another, or a landmark
        wanted = rng.choice(landmarks) if kind == 4 else out[one] + rng.integers(-2, 3)
        _level(out, np.array([two]), int(wanted))
    else:  # neighbouring bars get one height, of one of them or any
        chosen = np.arange(min(one, two), max(one, two) + 1)
        share = int(out.sum()) // len(out)
        _level(out, chosen, int(out[one]) if kind == 6 else round(3 * share * rng.random()))
    return out


def _level(heights: NDArray[np.int64], chosen: NDArray[np.intp], wanted: int) -> None:
    """Give the chosen bars one height, not below zero; the tallest other bar pays, or takes what is left over."""
    others = np.setdiff1d(np.arange(len(heights)), chosen)
    if not len(others):
        return
    rest = others[np.argmax(heights[others])]
    room = int(heights[chosen].sum() + heights[rest])
    heights[chosen] = min(max(0, wanted), room // len(chosen))
    heights[rest] = room - int(heights[chosen].sum())
