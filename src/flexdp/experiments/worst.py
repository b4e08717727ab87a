"""Worst cases: a seventh experiment, not from the paper, that searches for the worst histograms.

The question for a mechanism M, on histograms x of n records in B buckets: how large is the smallest β for which M is
(α, β, γ)-accurate on x, in the worst case? Here α = D·B/n is what *dropping* guarantees for this ε, δ, n and B, where D
is the most records that a bucket can lose. At that α dropping has β = 0 on every histogram, with certainty (γ = 0).
Other mechanisms have no such guarantee: on some histograms their β is nearly B, and doubles with B.

Errors are computed from exact distributions (:func:`flexdp.baselines.exact_errors`), so Monte Carlo error cannot pass
for a finding. A histogram found by the search is a proof that can be checked on its own; that none is worse is proved
only if all were tried (``exhaustive``). With γ = 0 every output of positive probability counts. Probabilities below
about 1e-18 for the mode and 1e-308 for the others underflow, so β at γ = 0 can be too small, but never too large; the
zeros of dropping and stlap are exact.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from flexdp._core.domains import EPSILON, GAMMA, SMALL_DELTA, elements, integer
from flexdp._core.exact import Number, number_text
from flexdp._core.text import plural, safe_repr
from flexdp.baselines import Baseline, baseline
from flexdp.baselines.base import LARGEST_TOTAL, Readable
from flexdp.calculus.loss import alpha_before, most_lost
from flexdp.errors import InputError, P
from flexdp.experiments.climbing import Place, Record, all_histograms, climb
from flexdp.experiments.paper import statistic_text
from flexdp.noise.drop import DropNoise
from flexdp.simulation import stream
from flexdp.statistics import Max, MaxAtLeast, Mode

__all__ = ["COLUMNS", "LAWFUL", "QUICK", "WorstCase", "WorstCases", "csv_text", "search"]

LAWFUL = ("dropping", "stlap", "esa", "bns", "bns_swap", "em", "ptr")  # mechanisms with an exact distribution
COLUMNS = (
    "mechanism", "statistic", "bars", "records", "epsilon", "delta", "alpha", "gamma", "worst", "worst_bars",
    "chance", "evaluations", "exhaustive", "histogram",
)  # fmt: skip
QUICK = 60  # evaluations for a first look
_MOST_BARS = 10**6


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstCase:
    """The worst histogram found for one mechanism, statistic, number of buckets and γ.

    Parameters
    ----------
    mechanism, statistic
        Names.
    bars, records
        Number of buckets B and of records n.
    epsilon, delta
        Privacy parameters.
    alpha, gamma
        Accuracy parameters.
    worst_bars
        The β of the histogram, in buckets.
    chance
        Probability of a flexible error of at least ``worst_bars``, or 0 if that is 0. It exceeds γ; for γ = 0 it can be
        tiny, and is a lower bound where the distribution is truncated.
    histogram
        Number of records in each bucket.
    evaluations
        Histograms tried for this mechanism, statistic and number of buckets.
    exhaustive
        True if these were all.

    Examples
    --------
    >>> found = search(["em"], [Max()], bars=[4], evaluations=20, gammas=["0.05"]).rows[0]
    >>> found.worst, found.worst_bars, found.exhaustive, sum(found.histogram)
    (75.0, 3, False, 1500)
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
        """β in percent of B."""
        return 100 * self.worst_bars / self.bars


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstCases:
    """The results of a search; ``str()`` gives a table of β in percent of B.

    Parameters
    ----------
    rows
        One for each mechanism, statistic, number of buckets and γ.
    seed
        Seed of the search.

    Examples
    --------
    >>> print(search(["em"], [Max()], bars=[4], evaluations=20, gammas=["0.05"]))
    mechanism  statistic   gamma     B=4
    em         max          0.05    75.0
    """

    rows: tuple[WorstCase, ...]
    seed: int

    def __str__(self) -> str:
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
    """Search for the histograms on which each mechanism is least accurate, at the α that dropping guarantees.

    For each mechanism, statistic and number of buckets, all histograms are tried if there are at most ``evaluations``;
    otherwise seeded hill climbing with restarts tries ``evaluations`` of them for each γ. A row depends on the seed,
    not on what else is searched.

    Parameters
    ----------
    mechanisms
        Names, or objects with a ``law`` method.
    statistics
        ``Max()``, ``MaxAtLeast(k)`` or ``Mode()``.
    bars
        Numbers of buckets.
    records
        Number of records.
    epsilon, delta
        Privacy parameters.
    gammas
        Probabilities with which the error may exceed β.
    evaluations
        Histograms to try.
    seed
        Seed of the search.

    Returns
    -------
    WorstCases
        The worst histograms found.

    Raises
    ------
    InputError
        If a list is empty, a mechanism has no exact distribution, or there are too few records for dropping to
        guarantee an α below 1.

    Examples
    --------
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
    for name, listed in (("mechanisms", chosen), ("statistics", asked), ("bars", widths), ("gammas", shares)):
        if not listed:
            raise InputError(name, "must contain at least one entry")
    alphas = {width: _guaranteed(epsilon, delta, size, width) for width in widths}
    rows: list[WorstCase] = []
    for mechanism in chosen:
        for statistic in asked:
            for width in widths:
                place = Place(
                    mechanism=mechanism, statistic=statistic, bars=width, records=size, epsilon=epsilon, delta=delta,
                    alpha=alphas[width],
                )  # fmt: skip
                rows += _worst(place, shares, tries, integer("seed", seed, at_least=0))
    return WorstCases(rows=tuple(rows), seed=seed)


def csv_text(rows: Sequence[WorstCase]) -> str:
    """Return the rows as CSV with a header; a histogram is written as counts separated by spaces."""
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
    """Return the α that dropping guarantees: at most D of the n records from each bucket."""
    drop = DropNoise(epsilon, delta).max_drop
    alpha = alpha_before(drop, bars, records)
    if alpha == 1:
        raise InputError(
            "records",
            f"must exceed {most_lost(drop, bars)} for {plural(bars, 'bucket')}, so that dropping guarantees an alpha "
            "below 1",
            given=safe_repr(records),
            remedy=("Choose more ", P("records"), ", fewer ", P("bars"), " or a larger ", P("epsilon"), "."),
        )
    return alpha


def _worst(place: Place, gammas: tuple[Fraction, ...], evaluations: int, seed: int) -> Iterator[WorstCase]:
    record = Record(place, gammas)
    exhaustive = math.comb(place.records + place.bars - 1, place.bars - 1) <= evaluations
    if exhaustive:
        for heights in all_histograms(place.records, place.bars):
            record.look(heights)
    else:
        for gamma in gammas:
            name = place.mechanism.name, statistic_text(place.statistic), place.bars, gamma
            climb(record, gamma, evaluations, stream(seed, "worst", *name))
    for gamma, (beta, chance, histogram) in record.best.items():
        yield WorstCase(
            mechanism=place.mechanism.name, statistic=statistic_text(place.statistic), bars=place.bars,
            records=place.records, epsilon=place.epsilon, delta=place.delta, alpha=place.alpha, gamma=gamma,
            worst_bars=beta, chance=chance, histogram=histogram, evaluations=record.evaluations, exhaustive=exhaustive,
        )  # fmt: skip
