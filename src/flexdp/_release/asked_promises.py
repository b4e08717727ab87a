"""Promises of asked answers, in records: derived from public numbers alone, every bound rounded outward.

With probability at least 19/20 all bounds of one group's quantiles hold together; the failure probability is shared:

* an answer of the exponential mechanism has at most so many records strictly between it and the exact quantile. This
  needs a candidate at the exact value, so it is promised for values of a named size and number of decimals;
* an answer of the ladder has at most so many records beyond it, or beyond the rung below which it was refined;
* a highest or lowest value, by a probability of its own of 19/20, does lie beyond a named value.

Answers are sorted after they are drawn. If answers j with ranks R_j are off by at most r_j each, then after sorting all
are off by at most the largest r_j; ladders that are sorted below an answer, or lift it, are allowed for.

The probability is that of publishing no bound that is false: a bound that is not stated counts as kept.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from flexdp._release.asked import GAMMA, Asked, Result
from flexdp.noise.exponential import decay
from flexdp.sharp.exponentials import log_above
from flexdp.sharp.goal import Goal
from flexdp.sharp.mean import Averaged
from flexdp.sharp.prior import universal
from flexdp.sharp.promise import count_error, ladder_overshoot, ladder_records, least_weight, rank_error
from flexdp.sharp.tails import SharpAnswer

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
_DIGITS = 15  # an anchor is rounded to so many
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
        Most records above the answer, or below it in a lower tail; or beyond ``step``, where that is given.
    step
        The rung, in units, at or just beyond the answer, where the answer was refined below it.
    reaches
        A value, in units of the column's scale, that the highest or lowest record lies strictly beyond; this bound
        fails with a probability of at most ``gamma`` of its own.
    decades, decimals
        The condition of ``between``: values are below 10^decades in magnitude and have at most so many decimals.
    """

    gamma: Fraction = GAMMA
    between: int | None = None
    beyond: int | None = None
    step: int | None = None
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
        self.answers = result.levels.answers
        self.scale, self.whole = asked.column.scale, asked.parts["levels"]
        seen = result.levels.records_about
        self.seen = seen
        if asked.budget.listing is not None:  # the group has as many records as were left of it, or up to D more
            self.count_off, self.least = asked.budget.listing.noise.max_drop, seen
        else:
            share = asked.count_epsilon
            assert share is not None
            self.count_off = count_error(share, GAMMA / 8)
            self.least = max(0, seen - self.count_off)  # records, except with probability γ/8
        self.each = GAMMA * Fraction(3, 4) / len(self.answers)  # and γ/8 for finer steps
        self.decimals = 0 if self.scale.integral else _LEAST_DECIMALS
        self.decades = asked.column.decades
        for answer in self.answers:
            if answer.value:
                decade = self.scale.decade(answer.value)
                self.decades = max(self.decades, decade + 1)
                if answer.way == "exponential" and not self.scale.integral:
                    self.decimals = max(self.decimals, _LEAST_DECIMALS - decade)  # at least three digits
        self.prior = universal(self.scale)
        self.weight = least_weight(self.scale, self.prior, self.decades, self.decimals) if self.decades <= 38 else 0

    def all(self) -> dict[Fraction, RankPromise]:
        """All promises."""
        own = {answer.level: self._between(answer) for answer in self.answers if answer.way == "exponential"}
        found = {}
        for answer in self.answers:
            if answer.way == "exponential":
                bounds = [own[other.level] for other in self.answers if other.level in own and self._mix(answer, other)]
                known = [bound for bound in bounds if bound is not None]
                if len(known) < len(bounds):
                    found[answer.level] = RankPromise()
                else:
                    between = max(*known, *self._moved(answer), 0)
                    found[answer.level] = RankPromise(between=between, decades=self.decades, decimals=self.decimals)
            else:
                further = [other for other in self._ladders(_side(answer)) if _tail(other) <= _tail(answer)]
                beyond = max(self._beyond(other) for other in further)
                reaches = self._reaches(answer) if answer.level in (0, 1) else None
                found[answer.level] = RankPromise(beyond=beyond, step=self._step(answer), reaches=reaches)
        return found

    def _between(self, answer: SharpAnswer) -> int | None:
        """Records between one answer, before sorting, and the exact quantile."""
        single = len(self.answers) == 1
        if not self._short and any(each.target is not None for each in self.answers):
            return None  # the anchor is rounded past records with more digits, and lower tails may reach it
        if answer.target is None:
            mixed = single and not Fraction(1, 4) <= answer.level <= Fraction(3, 4)  # half of the prior is anchored
            goal, gamma = Goal.quantile(answer.level), self.each / (2 if mixed else 1)
            off = rank_error(goal, answer.epsilon, self.prior, self.weight, gamma)
            return None if off is None else math.floor(off)
        goal = Goal.beyond(answer.target, _side(answer))
        off = rank_error(goal, answer.epsilon, self.prior, self.weight, self.each / 4)
        if off is None or not self._anchor_holds(answer):
            return None
        return math.floor(off) + math.ceil(_tail(answer) * self.count_off)

    @property
    def _short(self) -> bool:
        """True if no record with the named digits lies between a value and the anchor that it is rounded to."""
        return self.scale.integral or self.decimals + self.decades <= _DIGITS

    def _anchor_holds(self, answer: SharpAnswer) -> bool:
        """True if the anchor lies on the near side of the exact quantile, except with half of the answer's share."""
        inner = [each for each in self.answers if each.target is None]
        anchors = [(each.level, each.epsilon) for each in inner]
        if not anchors:
            anchors = [(_HALF, self.whole * self.asked.rules.anchor_share(self.seen, self.whole))]
        failing = Fraction(0)
        for level, epsilon in anchors:
            goal = Goal.quantile(level)
            table = decay(epsilon, goal.sensitivity)
            loss = math.floor(goal.units * abs(answer.level - level) * self.least) - 1
            if loss < 0 or not self.weight:
                return False
            failing += Fraction(self.prior.total * table.weight(loss), self.weight * table.weight(0))
        return failing <= self.each / 2

    def _mix(self, answer: SharpAnswer, other: SharpAnswer) -> bool:
        """True if sorting may have put another answer in the place of this one."""
        if answer.target is not None:  # a tail is sorted with its own side, and lifted by what is below it
            return other.target is None or _side(other) == _side(answer)
        return other.target is None or (answer.level < self._anchor_level and _side(other) < 0)

    @property
    def _anchor_level(self) -> Fraction:
        inner = [each.level for each in self.answers if each.target is None]
        return min(inner, key=lambda level: abs(level - _HALF), default=_HALF)

    def _moved(self, answer: SharpAnswer) -> list[int]:
        """Records by which ladders that were sorted past an answer may have moved it."""
        rank, side = math.floor(_tail(answer) * self.least), _side(answer)
        if answer.target is not None:
            return [self._refined_beyond(other) - rank for other in self._ladders(side)]
        if answer.level >= self._anchor_level:
            return [0]
        return [
            0,
            *(self._refined_beyond(other) - math.floor(answer.level * self.least) for other in self._ladders(-1)),
        ]

    def _ladders(self, side: int) -> list[SharpAnswer]:
        return [each for each in self.answers if each.way == "ladder" and _side(each) == side]

    @property
    def _refined(self) -> bool:
        return self.seen * self.whole >= self.asked.rules.many

    def _coarse(self, answer: SharpAnswer) -> Fraction:
        return answer.epsilon * (1 - self.asked.rules.refine_share) if self._refined else answer.epsilon

    def _rungs(self, side: int) -> tuple[int, ...]:
        assert self.answered.anchor is not None
        return self.asked.rules.rungs(self.scale, self.answered.anchor, side, self.asked.column.ends)

    def _rates(self, answer: SharpAnswer) -> tuple[Fraction, Fraction]:
        """What the ladder of an answer spends on its threshold and on its rungs."""
        threshold = self.asked.rules.end_threshold if answer.level in (0, 1) else _HALF
        return self._coarse(answer) * threshold, self._coarse(answer) * (1 - threshold)

    def _beyond(self, answer: SharpAnswer) -> int:
        """Records beyond the rung of one ladder's answer, before sorting."""
        assert answer.target is not None
        rungs = len(self._rungs(_side(answer)))
        return max(0, ladder_records(self._rates(answer)[1], answer.target, rungs, self.each))

    def _refined_beyond(self, answer: SharpAnswer) -> int:
        """Records beyond one ladder's answer itself, before sorting; a finer step below the rung may have more."""
        bound, fine = self._beyond(answer), answer.epsilon * self.asked.rules.refine_share
        share = GAMMA / 8 / sum(each.way == "ladder" for each in self.answers)
        return max(bound, ladder_records(fine / 2, answer.target or 0, 40, share)) if self._refined else bound

    def _step(self, answer: SharpAnswer) -> int | None:
        """The rung at or beyond a refined answer, where it is another value."""
        if not self._refined:
            return None
        side = _side(answer)
        rung = next((rung for rung in self._rungs(side) if rung * side >= answer.value * side), answer.value)
        return None if rung == answer.value else rung

    def _reaches(self, answer: SharpAnswer) -> int | None:
        """The rung that some record lies strictly beyond, except with probability γ; None where none is proven."""
        side = _side(answer)
        others = [each for each in self.answers if each is not answer]
        if any(each.value == answer.value for each in others):
            return None  # a running maximum may have lifted it
        rungs = self._rungs(side)
        tails = [each for each in others if each.target is not None and _side(each) == side]
        drawn = [each for each in tails if each.way == "exponential"]
        if any(self._on_ladder(each, rungs) for each in drawn):
            return None  # sorting may have exchanged them
        if any(each.value == other.value for each in drawn for other in self.answers if other.target is None):
            return None  # sorting may have exchanged them before a running maximum lifted one
        place = next((i for i, rung in enumerate(rungs) if rung * side >= answer.value * side), None)
        if place is None:
            return None
        ladders = self._ladders(side)
        low, high = 0, _MOST_RUNGS + 1
        while high - low > 1:
            middle = (low + high) // 2
            failing = sum(ladder_overshoot(self._rates(each), each.target or 0, middle) for each in ladders)
            low, high = (low, middle) if failing <= GAMMA else (middle, high)
        if high > _MOST_RUNGS or place < high:
            return None
        last = self.asked.column.public[side > 0]
        nowhere = last is not None and rungs[place - high] * side >= last * side
        return None if nowhere else rungs[place - high]  # no record lies beyond a public end

    def _on_ladder(self, answer: SharpAnswer, rungs: Sequence[int]) -> bool:
        """True if a ladder could have given this value."""
        side = _side(answer)
        place = next((i for i, rung in enumerate(rungs) if rung * side >= answer.value * side), None)
        if place is None:
            return False
        fine = self.asked.rules.steps(rungs[place - 1], rungs[place]) if self._refined and place else ()
        return answer.value in (rungs[place], *fine)


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
        assert averaged.anchor is not None
        rungs = max(len(set(asked.rules.rungs(scale, averaged.anchor, side, asked.column.ends))) for side in (-1, 1))
        outside = ladder_records(ends * (1 - asked.rules.mean_threshold), 0, rungs, GAMMA / 4)
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
