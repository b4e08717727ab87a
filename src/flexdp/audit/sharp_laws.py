"""Exact laws of the steps of sharp answers, and of whole chains of them, enumerated through the programs' own code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from flexdp._core.domains import elements, function, integer, sequence
from flexdp._core.text import safe_repr
from flexdp.divergence import Pair, Row, pair_of_laws
from flexdp.errors import InputError
from flexdp.histogram import Histogram
from flexdp.noise.exponential import Decay
from flexdp.sharp.automatic import DroppedBars
from flexdp.sharp.column import Column
from flexdp.sharp.count import NoisyCount, TwoSums
from flexdp.sharp.exponentials import exp_minus
from flexdp.sharp.ladder import Ladder
from flexdp.sharp.program import Draw, Program, enumerate_paths
from flexdp.sharp.quantile import ExponentialQuantile, Segment
from flexdp.sharp.ranks import Ranks, Request

__all__ = ["SHARP", "AskedChain", "Remembered", "sharp_pairs"]

_RELATIVE = Fraction(1, 2**118)  # of the exponentials in exact laws


@dataclass(frozen=True)
class AskedChain:
    """A program of sharp answers, of which every outcome on small data is followed.

    What it publishes is everything that is drawn on the way: the number of records, the anchor, every answer.

    Parameters
    ----------
    program
        Starts the program anew, such as ``lambda: ask_one(level, epsilon, INTEGERS, rules=rules)``.
    counts
        Outcomes of noisy counts to follow. There are infinitely many; the probability of the others is added to the
        bound on δ. :attr:`ExactDelta.followed` is without it, and :attr:`ExactDelta.covered` tells the probability of
        those that were followed.
    column
        Makes the private column from a data set; by default, a list of integers is one.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from flexdp.audit import exact_delta
    >>> from flexdp.sharp.answers import ask_one
    >>> from flexdp.sharp.prior import Listed
    >>> from flexdp.sharp.rules import Rules
    >>> from flexdp.sharp.scale import INTEGERS
    >>> rules = Rules(few=0, universal=lambda scale: Listed({0: 1, 1: 2, 2: 1}))
    >>> chain = AskedChain(lambda: ask_one(Fraction(1, 2), Fraction(1), INTEGERS, rules=rules), counts=range(-3, 9))
    >>> found = exact_delta(chain, [0, 1, 1], [0, 1, 1, 2], 1)
    >>> found.followed < 1e-30, float(found) == float(1 - found.covered)
    (True, True)
    """

    program: Callable[[], Program[Any]]
    counts: Iterable[int] = ()
    column: Callable[[Any], Ranks] | None = None

    def __post_init__(self) -> None:
        function("program", self.program, "no arguments")
        listed = elements(self.counts)
        if listed is None:
            raise InputError("counts", "must be a list of whole numbers", given=safe_repr(self.counts))
        least = -(10**18)
        object.__setattr__(self, "counts", tuple(integer("counts", count, at_least=least) for count in listed))

    def law(self, data: Any) -> tuple[dict[Any, Fraction], Fraction]:
        """Return the probability of everything that is drawn, and a bound on the error of all of them together.

        Parameters
        ----------
        data
            A data set.

        Returns
        -------
        tuple
            Probabilities by outcomes, and the error.

        Examples
        --------
        >>> from flexdp.sharp.program import Draw
        >>> def program():
        ...     count = yield Draw(NoisyCount(epsilon=Fraction(1)), 3, "records")
        >>> law, error = AskedChain(program, counts=[3, 4]).law([])
        >>> [round(float(p), 3) for p in law.values()], error < 1e-30
        ([0.17, 0.462], True)
        """
        errors = [Fraction(0)]

        def watched() -> Program[Any]:
            program, answer, error = self.program(), None, Fraction(0)
            while True:
                try:
                    step = program.send(answer)
                except StopIteration as end:
                    return end.value
                if isinstance(step, Draw):
                    error += _error(step.mechanism)
                    errors.append(error)
                answer = yield step

        law: dict[Any, Fraction] = {}
        ranks = _column(data) if self.column is None else self.column(data)
        for path in enumerate_paths(watched, ranks, self.counts):
            law[path.outcomes] = law.get(path.outcomes, Fraction(0)) + path.chance
        return law, max(errors)


class Remembered(AskedChain):
    """The same, with the laws on data sets that it has seen; they must be tuples."""

    def law(self, data: Any) -> tuple[dict[Any, Fraction], Fraction]:
        """Return the law, computed once."""
        known: dict[Any, tuple[dict[Any, Fraction], Fraction]] = self.__dict__.setdefault("_known", {})
        if data not in known:
            known[data] = super().law(data)
        return known[data]


SHARP = (AskedChain, Decay, DroppedBars, ExponentialQuantile, Ladder, NoisyCount, TwoSums)


def sharp_pairs(mechanism: Any, x: Any, y: Any) -> list[Pair]:
    """Return the independent parts of the output of a step of sharp answers, or of a chain of them."""
    if isinstance(mechanism, AskedChain):
        (one, first), (other, second) = mechanism.law(x), mechanism.law(y)
        return [pair_of_laws(one, other, error=(first, second))]
    if isinstance(mechanism, ExponentialQuantile):
        return [_quantile_pair(mechanism, _column(x), _column(y))]
    if isinstance(mechanism, Decay):
        return [pair_of_laws(_choice(mechanism, _counts(x)), _choice(mechanism, _counts(y)))]
    error = _error(mechanism)
    if isinstance(mechanism, Ladder):
        laws = []
        for data in (x, y):
            reply = _column(data).fetch(Request(cuts=mechanism.cuts))
            laws.append(mechanism.law(mechanism.beyond(reply.total, reply.before)))
        return [pair_of_laws(laws[0], laws[1], error=(error, error))]
    if isinstance(mechanism, NoisyCount):
        return [_count_pair(mechanism.epsilon / mechanism.sensitivity, _size(x), _size(y), error)]
    if isinstance(mechanism, TwoSums):
        rate = mechanism.epsilon / mechanism.cells
        sums = [_counts(data) for data in (x, y)]
        return [_count_pair(rate, a, b, error / 2, name=place) for place, (a, b) in enumerate(zip(*sums, strict=True))]
    assert isinstance(mechanism, DroppedBars)
    counts = [_counts(data) for data in (x, y)]
    if len(counts[0]) != len(counts[1]):
        raise InputError("y", "must have as many buckets as x")
    return [
        pair_of_laws(
            {bars[0]: p for bars, p in mechanism.law([a]).items()},
            {bars[0]: p for bars, p in mechanism.law([b]).items()},
            name=place,
        )
        for place, (a, b) in enumerate(zip(*counts, strict=True))
        if a != b
    ]


def _choice(table: Decay, losses: Sequence[int]) -> dict[Any, Fraction]:
    """The law of a choice by a table of weights, among candidates with these losses and equal prior weights."""
    weights = [table.weight(integer("x", loss, at_least=0)) for loss in losses]
    return {place: Fraction(weight, sum(weights)) for place, weight in enumerate(weights)}


def _error(mechanism: Any) -> Fraction:
    """How far the probabilities of a law are off in all, because e^−ε was rounded.

    A geometric law of ratio r changes by at most 2Δ/(1 − r) in all if r changes by Δ; laws made of several of them
    change by the sum.
    """
    if isinstance(mechanism, Ladder):
        rate, draws = min(mechanism.rates), len(mechanism.rungs) + 1
    elif isinstance(mechanism, NoisyCount):
        rate, draws = mechanism.epsilon / mechanism.sensitivity, 2
    elif isinstance(mechanism, TwoSums):
        rate, draws = mechanism.epsilon / mechanism.cells, 4
    else:
        return Fraction(0)  # integer tables
    r = exp_minus(rate)
    return draws * 2 * r * _RELATIVE / (1 - r)


def _count_pair(rate: Fraction, x: int, y: int, error: Fraction, name: Any = None) -> Pair:
    """Two discrete Laplace laws; at and beyond the outer one of both centres the ratio no longer changes."""
    r = exp_minus(rate)
    low, high = min(x, y), max(x, y)

    def tail(steps: int) -> Fraction:  # from so many steps off the centre on, to one side
        return r**steps / (1 + r)

    def point(value: int, centre: int) -> Fraction:
        return (1 - r) / (1 + r) * r ** abs(value - centre)

    rows = [Row(f"at most {low}", tail(x - low), tail(y - low))]
    rows += [Row(value, point(value, x), point(value, y)) for value in range(low + 1, high)]
    rows.append(Row(f"at least {high}", tail(high - x), tail(high - y)))
    if low == high:
        rows = [Row("anything", Fraction(1), Fraction(1))]
    return Pair(name=name, rows=tuple(rows), error=(error, error))


def _quantile_pair(mechanism: ExponentialQuantile, x: Ranks, y: Ranks) -> Pair:
    """Two laws of an exponential mechanism on the parts between all cuts of both: within a part the ratio is fixed."""
    each = [mechanism.segments(data.fetch(Request(windows=(mechanism.near,))).windows[0]) for data in (x, y)]
    cuts = sorted(
        {cut for found in each for segment in found for cut in (segment.low, segment.high) if cut is not None}
    )
    laws = [_on_parts(mechanism, segments, cuts) for segments in each]
    return pair_of_laws(laws[0], laws[1])


def _on_parts(mechanism: ExponentialQuantile, segments: Sequence[Segment], cuts: Sequence[int]) -> dict[Any, Fraction]:
    weights: dict[Any, int] = {}
    prior = mechanism.prior
    for segment in segments:
        inner = [
            cut
            for cut in cuts
            if (segment.low is None or cut > segment.low) and (segment.high is None or cut < segment.high)
        ]
        for low, high in pairwise([segment.low, *inner, segment.high]):
            before = 0 if low is None else prior.before(low)
            mass = (prior.total if high is None else prior.before(high)) - before
            if mass:
                weights[low, high] = weights.get((low, high), 0) + mass * segment.weight
    total = sum(weights.values())
    return {part: Fraction(weight, total) for part, weight in weights.items()} if total else {None: Fraction(1)}


def _column(data: Any) -> Ranks:
    if isinstance(data, Column):
        return data
    if isinstance(data, Histogram):
        return Column.from_histogram(data)
    listed = elements(data)
    if listed is None or not all(isinstance(value, int | float | np.number | np.datetime64) for value in listed):
        raise InputError("x", "must be a list of numbers", given=safe_repr(data))
    return Column.from_values(listed)


def _size(data: Any) -> int:
    listed = sequence(data)
    return integer("x", data, at_least=-(10**18)) if listed is None else len(listed)


def _counts(data: Any) -> list[int]:
    listed = sequence(data)
    if listed is None:
        raise InputError("x", "must be a list of whole numbers", given=safe_repr(data))
    return [integer("x", count, at_least=-(10**18)) for count in listed]
