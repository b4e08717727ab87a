"""Promises of asked answers, in records: derived from public numbers alone, every bound rounded outward.

With probability at least 19/20 all bounds of one group's quantiles hold together; the failure probability is shared:

* a cut has at most so many records strictly between it and the exact quantile. This needs a candidate at the value that
  each cut aims at, so it is promised for values of a named size and number of decimals. A cut that is off moves all
  that are made on either side of it, each by the share by which it lies nearer;
* an answer of a ladder has at most so many records beyond it;
* a highest or lowest value, by a probability of its own of 19/20, does lie beyond a named value.

Cuts are in order as they are drawn. Ladders of one side may cross, and are sorted.

The probability is that of publishing no bound that is false: a bound that is not stated counts as kept.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from flexdp._release.asked import GAMMA, Asked, Result, level_steps
from flexdp.sharp.answers import SharpAnswer, divide
from flexdp.sharp.cut import Cut
from flexdp.sharp.exponentials import log_above
from flexdp.sharp.halving import every_node
from flexdp.sharp.ladder import Ladder
from flexdp.sharp.mean import Averaged, end_of_mean
from flexdp.sharp.prior import universal
from flexdp.sharp.promise import (
    CutError,
    count_error,
    cut_error,
    ladder_overshoot,
    least_weight,
    plain_rungs,
    rung_records,
    weighted_error,
)

__all__ = [
    "GAMMA",
    "MeanPromise",
    "RankPromise",
    "averaged_records",
    "count_promise",
    "mean_promise",
    "rank_promises",
]

_HALF = Fraction(1, 2)
_MOST_DECADES = 38
_MOST_RUNGS = 400
_LEAST_DECIMALS = 2
_ENDS_SHARE = Fraction(3, 10)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankPromise:
    """The bounds that an asked quantile, maximum or minimum keeps, each with probability at least 1 − ``gamma``.

    Parameters
    ----------
    gamma
        The chance that the bounds fail, for all quantiles of one group together.
    between
        Most records strictly between the answer and the exact quantile.
    beyond
        Most records above the answer, or below it in a lower tail.
    reaches
        A value, in units of the column's scale, that the highest or lowest record lies strictly beyond; this bound
        fails with a probability of at most ``gamma`` of its own.
    decades, decimals
        The condition of ``between``: values are below 10^decades in magnitude and have at most so many decimals.
    """

    gamma: Fraction = GAMMA
    between: int | None = None
    beyond: int | None = None
    reaches: int | None = None
    decades: int | None = None
    decimals: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanPromise:
    """The bounds that an asked mean keeps, and those that a sum keeps, each with probability at least 1 − ``gamma``.

    Parameters
    ----------
    gamma
        The chance that a bound fails; with it that of ``outside``.
    mean, total
        Greatest distance from the mean and the sum of the values limited to the ends; of no mean, where it is not
        certain enough that there are records.
    outside
        Most records beyond each end, where the ends were found privately.
    """

    gamma: Fraction
    mean: Fraction | None
    total: Fraction
    outside: int | None = None


def count_promise(epsilon: Fraction) -> int:
    """Return how far a noisy count is off at most, except with probability 1/20."""
    return count_error(epsilon, GAMMA)


def rank_promises(asked: Asked, result: Result) -> dict[Fraction, RankPromise]:
    """Return what is promised of every answer at a level.

    Parameters
    ----------
    asked
        The statistics, their budget and the column.
    result
        The published outcomes of one group.

    Returns
    -------
    dict
        Promises by level.
    """
    if result.levels is None or not result.levels.answers:
        return {}
    return _Promises(asked, result).all()


class _Promises:
    """The promises of one group's quantiles."""

    def __init__(self, asked: Asked, result: Result) -> None:
        assert result.levels is not None
        self.asked, self.answered = asked, result.levels
        self.answers, self.scale, rules = result.levels.answers, asked.column.scale, asked.rules
        steps = [(Fraction(step.name.split()[1]), step.mechanism) for step in level_steps(asked, result)]
        self.cuts = {level: step for level, step in steps if isinstance(step, Cut)}
        self.ladders = {level: step for level, step in steps if isinstance(step, Ladder)}
        seen, whole = result.levels.records_about, asked.parts["levels"]
        if asked.budget.listing is not None:  # the group has as many records as were left of it, or up to D more
            most, left = seen + asked.budget.listing.noise.max_drop, whole
        else:
            share = asked.count_epsilon
            assert share is not None
            most = max(0, seen) + count_error(share, GAMMA / 8)  # except with probability γ/8
            left = whole if "count" in asked.parts else whole * (1 - rules.count_share)
        self.division = divide(asked.wanted.levels, seen, left, whole, rules)
        self.each = GAMMA * Fraction(7, 8) / len(self.answers)
        self.decimals = 0 if self.scale.integral else _LEAST_DECIMALS
        self.decades = asked.column.decades
        for level, value in self._values.items():
            if value:
                decade = self.scale.decade(value)
                self.decades = max(self.decades, decade + 1)
                if level in self.cuts and not self.scale.integral:
                    self.decimals = max(self.decimals, _LEAST_DECIMALS - decade)  # at least three digits
        self.most = most

    @property
    def _values(self) -> dict[Fraction, int]:
        """Everything that was cut or climbed to."""
        return dict(self.answered.helpers) | {each.level: each.value for each in self.answers}

    def all(self) -> dict[Fraction, RankPromise]:
        """All promises."""
        errors = self._errors()
        found = {}
        for answer in self.answers:
            if answer.way == "cut":
                found[answer.level] = RankPromise()
                if errors is not None:
                    off = math.floor(weighted_error(self._weights(answer.level, errors), self.each))
                    found[answer.level] = RankPromise(between=off, decades=self.decades, decimals=self.decimals)
            else:
                reaches = self._reaches(answer) if answer.level in (0, 1) else None
                found[answer.level] = RankPromise(beyond=self._beyond(answer), reaches=reaches)
        return found

    def _errors(self) -> dict[Fraction, CutError] | None:
        """How far each cut may be from the rank that it aims at; None where that cannot be told."""
        if self.decades > _MOST_DECADES:
            return None
        prior = universal(self.scale)
        weight = least_weight(self.scale, prior, self.decades, self.decimals)
        errors = {level: cut_error(cut, prior, weight, self.most) for level, cut in self.cuts.items()}
        known = {level: error for level, error in errors.items() if error is not None}
        beyond = sum((error.beyond_table for error in known.values()), Fraction(0))
        return known if len(known) == len(errors) and beyond <= GAMMA / 1000 else None

    def _weights(self, level: Fraction, errors: Mapping[Fraction, CutError]) -> list[tuple[Fraction, CutError]]:
        """What a level's rank depends on: its own cut, and those that end its node, as far as it lies from the others.

        With ends off by a and b, a level that lies the share r of the way is off by (1 − r)·a + r·b before it is cut.
        """
        if self.division.single is not None:
            return [(Fraction(1), errors[level])]
        moved: dict[Fraction, dict[Fraction, Fraction]] = {Fraction(0): {}, Fraction(1): {}}
        for _, node in every_node(self.division.cut):
            share, own = node.share(node.level), {node.level: Fraction(1)}
            for end, part in ((node.start, 1 - share), (node.end, share)):
                for cut, weight in moved[end].items():
                    own[cut] = own.get(cut, Fraction(0)) + part * weight
            moved[node.level] = own
        return [(weight, errors[cut]) for cut, weight in moved[level].items() if cut in errors]

    def _climbs(self, side: int) -> list[SharpAnswer]:
        return [each for each in self.answers if each.way == "ladder" and _side(each) == side]

    def _outermost(self, side: int) -> int:
        """The outermost cut of a side, to which an answer of a ladder was moved if it lay before it."""
        tree = [self._values[level] for level in self.division.cut]
        return max(tree) if side > 0 else min(tree)

    def _places(self, answer: SharpAnswer, ladder: Ladder) -> range:
        """The places of all rungs that may have led to an answer."""
        side = ladder.side
        last = bisect_right(ladder.rungs, answer.value * side, key=lambda rung: rung * side)
        return range(0 if answer.value == self._outermost(side) else last - 1, last)

    def _beyond(self, answer: SharpAnswer) -> int:
        """Most records beyond a ladder's answer. Those of a side are sorted: any further out may have led to it."""
        side, found = _side(answer), 0
        climbs = self._climbs(side)
        for other in climbs:
            if _tail(other) <= _tail(answer):
                ladder = self.ladders[other.level]
                allowed = rung_records(ladder, self.scale, self.each)
                found = max(found, *(allowed[place] for each in climbs for place in self._places(each, ladder)))
        return found

    def _reaches(self, answer: SharpAnswer) -> int | None:
        """The rung that some record lies strictly beyond, except with probability γ; None where none is proven."""
        side = _side(answer)
        climbs = self._climbs(side)
        if answer.value == self._outermost(side) or any(
            each.value == answer.value for each in climbs if each is not answer
        ):
            return None  # it may have been moved
        ladders = [self.ladders[each.level] for each in climbs]
        low, high = 0, _MOST_RUNGS + 1
        while high - low > 1:
            middle = (low + high) // 2
            failing = sum(ladder_overshoot(ladder.rates, ladder.target, middle) for ladder in ladders)
            low, high = (low, middle) if failing <= GAMMA else (middle, high)
        own = self.ladders[answer.level]
        place, passed = self._places(answer, own)[-1], 0
        while passed < high and place > 0:  # so many plain rungs, or fewer that stop a climb more readily
            place -= 1
            passed += min(plain_rungs(ladder, place) for ladder in ladders)
        if high > _MOST_RUNGS or passed < high:
            return None
        last = self.asked.column.public[side > 0]
        nowhere = last is not None and own.rungs[place] * side >= last * side
        return None if nowhere else own.rungs[place]  # no record lies beyond a public end


def _side(answer: SharpAnswer) -> int:
    return 1 if answer.level > _HALF else -1


def _tail(answer: SharpAnswer) -> Fraction:
    return min(answer.level, 1 - answer.level)


def mean_promise(asked: Asked, averaged: Averaged) -> MeanPromise | None:
    """Return what is promised of a mean and a sum; None where nothing is.

    Parameters
    ----------
    asked
        The statistics, their budget and the column.
    averaged
        The published sums.

    Returns
    -------
    MeanPromise or None
        The bounds.

    Notes
    -----
    S₁ = A + X and S₂ = B + Y, where A + B = nK and A/(A + B) = f is the mean's place between the ends L and U = L + W.
    Then S₁/(S₁ + S₂) − f = ((1 − f)X − fY)/(S₁ + S₂) exactly, and the sum L·n + W·S₁/K is off by (U·X + L·Y)/K. Both
    are weighed averages of two noises, the second |L| + |U| times one, with any signs. Such an average exceeds t·K/ε +
    1/2 with a probability of at most e^−t from t = 2 on:

    * |X| exceeds m with probability 2r^(m+1)/(1 + r), r = e^(−ε/K), so it is at most 1/2 more than an exponential
      variable of mean K/ε, and its sign is independent of it;
    * where the two terms have one sign, they add up, and a weighed average of two such variables exceeds t with
      probability at most e^−t from t = 1.26 on, the worst weights being 1 and 0;
    * where they have different signs, the larger of them counts, which exceeds t with probability at most
      e^(−t/a) + e^(−t/b), weights a + b = 1, hence at most e^−t from t = 2 on.

    With z = ln(1/γ)/ε + 1/2K the mean is off by at most W·z/ñ, ñ = (S₁ + S₂)/K, and the sum by z·(|L| + |U|). Values
    that do not lie on the steps are rounded to them, by h/2 each; of the number n of these a tenth of γ says that it is
    at most ñ + 2z. Integers in steps of 1 are not rounded. Doubles in a tally, which engines use for large integers
    too, are off by ten roundings of at most 2^−53 of the larger end, hence by less than 2^−49 of it.
    """
    if averaged.low is None or averaged.tally is None or averaged.sums is None or min(averaged.sums) <= 0:
        return None
    found = asked.column.ends.low is None
    gamma = GAMMA / 2 if found else GAMMA
    scale, tally = averaged.scale, averaged.tally
    low, high, step = scale.value(tally.low), scale.value(tally.high), scale.value(tally.step)
    largest, size = max(abs(low), abs(high)), abs(low) + abs(high)
    doubles = Fraction(0) if scale.integral and largest < 2**53 else largest / 2**49
    rounded = doubles if scale.integral and tally.step == 1 else doubles + step / 2
    z = _noise(averaged, gamma)
    total = size * z
    if rounded:
        most = averaged.records + 2 * _noise(averaged, gamma / 10)
        total = size * _noise(averaged, gamma * Fraction(9, 10)) + most * rounded
    outside = None
    if found:
        ends = averaged.epsilon * _ENDS_SHARE / (1 - _ENDS_SHARE)
        assert averaged.anchor is not None and averaged.high is not None
        outside = 0
        for side, end in ((-1, averaged.low), (1, averaged.high)):
            rungs = asked.rules.rungs(scale, averaged.anchor, side, asked.column.ends, 0)
            allowed = rung_records(end_of_mean(side, rungs, ends, asked.rules), scale, GAMMA / 4)
            outside = max(outside, allowed[rungs.values.index(end)])
    mean = (high - low) * z / averaged.records + rounded
    return MeanPromise(gamma=GAMMA, mean=mean if asked.has_mean(averaged) else None, total=total, outside=outside)


def averaged_records(averaged: Averaged) -> int:
    """Return how far the number of records that two sums tell is off at most, except with probability 1/20.

    Parameters
    ----------
    averaged
        The sums, between public ends.

    Returns
    -------
    int
        Both noises together are at most 2z·K by the same argument; the number itself was rounded by at most 1/2.
    """
    return math.floor(2 * _noise(averaged, GAMMA) + _HALF)


def _noise(averaged: Averaged, gamma: Fraction) -> Fraction:
    """z: a weighed average of the two noises is at most z·K, except with probability γ."""
    assert averaged.tally is not None
    return log_above(1 / gamma) / averaged.epsilon + Fraction(1, 2 * averaged.tally.cells)
