"""The mean, the sum and the number of records of a column, between public ends or ends that are found privately.

With ends L < U and K steps of length h between them, a record counts as a = round((x − L)/h) in 0 … K. Published are
S₁ = Σa + Z₁ and S₂ = Σ(K − a) + Z₂ with noise of scale K/ε: one record changes them by K in total. Then the mean is
L + (U − L)·S₁/(S₁ + S₂), and the number of records about (S₁ + S₂)/K.

Ends that are not given are found by two ladders in parallel from an anchor in the middle.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from flexdp.mechanisms.program import Draw, Program
from flexdp.noise.exponential import Decay, check_depth
from flexdp.sharp.answers import count_records
from flexdp.sharp.count import TwoSums
from flexdp.sharp.exponentials import log_above
from flexdp.sharp.halving import halve
from flexdp.sharp.ladder import Ladder, outermost
from flexdp.sharp.ranks import EVERYTHING, Reply, Request, Tally
from flexdp.sharp.rules import RULES, Rules
from flexdp.sharp.rungs import Rungs
from flexdp.sharp.scale import Scale

__all__ = ["Averaged", "ask_mean", "end_of_mean", "mean_between", "steps_between"]

_MOST_CELLS = 10**6
_HALF = Fraction(1, 2)
_ENDS_SHARE = Fraction(3, 10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Averaged:
    """Everything that a program of the mean publishes.

    Parameters
    ----------
    scale : Scale
        The scale of the column.
    records_about : int
        n̂; from the two sums where the ends are public.
    low, high : int or None
        The ends in units; None if there are too few records.
    tally : Tally or None
        The steps between them; None where the ends coincide.
    sums : pair of int or None
        S₁ and S₂.
    epsilon : Fraction
        ε of the two sums.
    anchor : int or None
        In units; None where the ends are public.
    """

    scale: Scale
    records_about: int
    low: int | None = None
    high: int | None = None
    tally: Tally | None = None
    sums: tuple[int, int] | None = None
    epsilon: Fraction = Fraction(0)
    anchor: int | None = None

    @property
    def too_few(self) -> bool:
        """True if there are too few records for this ε, judged by n̂."""
        return self.low is None

    @property
    def mean(self) -> Fraction:
        """The mean of the clipped values, between the ends."""
        assert self.low is not None
        if self.tally is None or self.sums is None:
            return self.scale.value(self.low)
        first, second = (max(0, part) for part in self.sums)
        place = Fraction(first, first + second) if first + second else Fraction(1, 2)
        return self.scale.value(self.low) + self.scale.value(self.tally.high - self.low) * place

    @property
    def records(self) -> Fraction:
        """The number of records, from the two sums; n̂ where the ends coincide."""
        if self.tally is None or self.sums is None:
            return Fraction(max(0, self.records_about))
        return Fraction(max(0, sum(self.sums)), self.tally.cells)

    @property
    def total(self) -> Fraction:
        """The sum of the clipped values."""
        return self.records * self.mean

    def holds_records(self, gamma: Fraction) -> bool:
        """Return True if there is a record, and so a mean, except with probability ``gamma``.

        Parameters
        ----------
        gamma : Fraction
            In (0, 1).

        Returns
        -------
        bool
            True if ñ exceeds 2z, z = ln(4/γ)/ε: both noises are at most z·K together with that probability.
        """
        return self.tally is None or self.sums is None or self.records > 2 * log_above(4 / gamma) / self.epsilon

    def error(self, gamma: Fraction) -> Fraction | None:
        """Return how far the mean is at most from that of the clipped values, except with probability ``gamma``.

        Parameters
        ----------
        gamma : Fraction
            In (0, 1).

        Returns
        -------
        Fraction or None
            (U − L)·z/ñ + h/2, z = ln(4/γ)/ε, rounded up; None where there are too few records to say.
        """
        if self.tally is None or self.sums is None:
            return Fraction(0)
        if sum(self.sums) <= 0:
            return None
        z = log_above(4 / gamma) / self.epsilon
        width = self.scale.value(self.tally.high - self.tally.low)
        return width * z / self.records + self.scale.value(self.tally.step) / 2


def steps_between(low: int, high: int) -> Tally:
    """Return the finest nice steps between two ends, at most a million.

    Parameters
    ----------
    low, high : int
        Two different public values in units.

    Returns
    -------
    Tally
        Its upper end is at or just beyond ``high``.

    Examples
    --------
    >>> steps_between(0, 120), steps_between(-5, 3_000_000)
    (Tally(low=0, step=1, cells=120), Tally(low=-5, step=5, cells=600001))
    """
    power = 1
    while power * 10 * _MOST_CELLS < high - low:
        power *= 10
    step = next(power * m for m in (1, 2, 5, 10) if high - low <= power * m * _MOST_CELLS)
    return Tally(low=low, step=step, cells=-(-(high - low) // step))


def mean_between(low: int, high: int, epsilon: Fraction, scale: Scale) -> Program[Averaged]:
    """Return the program of the mean between public ends, (ε, 0)-private.

    Parameters
    ----------
    low, high : int
        The ends in units, the first below the second; values beyond count as the ends.
    epsilon : Fraction
        The budget.
    scale : Scale
        The scale of the column.

    Returns
    -------
    generator
        To be run by :func:`flexdp.mechanisms.program.run`.
    """
    tally = steps_between(low, high)
    reply: Reply = yield Request(tallies=(tally,))
    sums = yield _sums(reply, tally, epsilon)
    about = round(Fraction(sum(sums), tally.cells))
    return Averaged(scale=scale, records_about=about, low=low, high=high, tally=tally, sums=sums, epsilon=epsilon)


def ask_mean(
    epsilon: Fraction, scale: Scale, *, rules: Rules = RULES, records_about: int | None = None
) -> Program[Averaged]:
    """Return the program of the mean with ends that are found privately, (ε, 0)-private.

    Parameters
    ----------
    epsilon : Fraction
        The budget.
    scale : Scale
        The scale of the column.
    rules : Rules, optional
        The public constants.
    records_about : int, optional
        A number of records that is already public and takes the place of n̂.

    Returns
    -------
    generator
        To be run by :func:`flexdp.mechanisms.program.run`.

    Raises
    ------
    InputError
        If ε is so small that a table would be too large.
    """
    if rules.depth is None:
        check_depth(Decay.depth_for(epsilon * rules.anchor_least, 1))
    return _mean(epsilon, scale, rules, records_about)


def _mean(epsilon: Fraction, scale: Scale, rules: Rules, records_about: int | None) -> Program[Averaged]:
    left = epsilon
    if records_about is None:
        records_about = yield from count_records(epsilon, rules)
        left -= epsilon * rules.count_share
    if records_about * epsilon < rules.few_for_mean:
        return Averaged(scale=scale, records_about=records_about)
    share = epsilon * rules.anchor_share(records_about, epsilon)
    rest = left - share
    budget = rest * _ENDS_SHARE
    near = outermost(end_of_mean(-1, Rungs((), (), ()), budget, rules).limit)
    found = yield from halve((_HALF,), (share,), scale, rules=rules.tree, likely=near, name="anchor")
    anchor = scale.short(found[_HALF])
    ladders = [end_of_mean(side, rules.rungs(scale, anchor, side, EVERYTHING, 0), budget, rules) for side in (-1, 1)]
    cuts = tuple(cut for ladder in ladders for cut in ladder.cuts)
    reply: Reply = yield Request(cuts=cuts, enough=max(ladder.enough for ladder in ladders))
    ends, start = [], 0
    for ladder in ladders:
        beyond = ladder.beyond(reply.total, reply.before[start : start + len(ladder.cuts)])
        start += len(ladder.cuts)
        place = yield Draw(ladder, beyond, "end", stage="ends", part=ladder.side)
        ends.append(ladder.rungs[place])
    low, high = ends
    published = Averaged(scale=scale, records_about=records_about, low=low, high=high, anchor=anchor)
    if low == high:
        return published
    tally = steps_between(low, high)
    reply = yield Request(tallies=(tally,))
    sums = yield _sums(reply, tally, rest - budget)
    return replace(published, tally=tally, sums=sums, epsilon=rest - budget)


def end_of_mean(side: int, rungs: Rungs, epsilon: Fraction, rules: Rules) -> Ladder:
    """Return the ladder to an end of the mean: rungs count alike, but for those where no values are expected."""
    return Ladder(
        rungs=rungs.values,
        side=side,
        target=0,
        epsilon=epsilon,
        depth=rules.depth,
        threshold=rules.mean_threshold,
        halvings=rungs.far,
    )


def _sums(reply: Reply, tally: Tally, epsilon: Fraction) -> Draw:
    first = reply.tallies[0]
    data = (first, tally.cells * reply.total - first)
    return Draw(TwoSums(epsilon=epsilon, cells=tally.cells), data, "sums", stage="sums")
