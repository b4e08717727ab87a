"""The histogram mechanism exactly as the paper states it, with the privacy that it really has."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from flexdp._core.domains import EPSILON, TAU
from flexdp._core.enclosure import Bounds, exp_bounds, log_bounds
from flexdp._core.exact import to_digits
from flexdp._core.fields import Exact, param
from flexdp.calculus.compose import Error, Known, Step, identity
from flexdp.calculus.powers import any_of
from flexdp.distribution import Distribution, point
from flexdp.errors import InputError
from flexdp.guarantees import Condition, Privacy
from flexdp.histogram import Histogram
from flexdp.mechanisms.bars import BarNoise
from flexdp.mechanisms.base import IDENTITY
from flexdp.mechanisms.dropping import leaves_out
from flexdp.mechanisms.spaces import DIMENSIONS, RECORDS, Space, histogram_given, histograms
from flexdp.noise.bits import Bits
from flexdp.noise.continuous import shifted_truncated_laplace

__all__ = ["Directions", "STLap"]

_SMALLEST_LOSS = Fraction(1, 10**50)
_FAR = 500


class Directions(NamedTuple):
    """The two halves of a guarantee under which records are added or removed."""

    removed: Privacy
    added: Privacy


class STLap(BarNoise):
    """Shifted, truncated Laplace noise on [−q, 0] with q = τ|x|, rounded to the nearest integer, as in the paper.

    Its stated privacy is false from two buckets on (docs/errata.md). What is reported is the corrected guarantee, on
    inputs of at least n records and at most t buckets. With q = τ(n + 1), q′ = τn, a(q) = (e^ε − 1)/(2(e^{εq/2} − 1)),
    λ = ln[(1 − e^{−εq/2})/(1 − e^{−εq′/2})] and b = (e^{ετ} − 1)/(2(e^{εq/2} − 1)), a record that is removed is
    protected by (ε(1 + (t−2)τ/2) − tλ, 1 − (1 − a(q))(1 − b)^{t−1}), and one that is added by (ε(1 + (t−2)τ/2) + tλ,
    (e^{ε(1−τ)} − 1)/(2(e^{εq′/2} − 1))): these are ``directions``, and ``privacy`` covers both. With one bucket the
    paper's own (ε, a(τn)) stands, and is reported where its ε is smaller. Without n and t, or with τn < 4, nothing is
    claimed. Its noise is made of doubles: for study, not for release.

    Parameters
    ----------
    tau
        Fraction of all records that a bucket may lose.
    epsilon
        The paper's ε.
    records_at_least
        Public number n of records that the table has at least.
    bars
        Public number t of buckets that the table has at most.
    dimensions
        Number of coordinates of a key.

    Examples
    --------
    >>> print(STLap("0.05", "0.5", records_at_least=2001, bars=3).privacy.given)
    in tables of at least 2001 records and at most 3 buckets
    >>> alone = STLap("0.09", "0.2", records_at_least=51, bars=1)
    >>> float(alone.privacy.epsilon), [round(float(each.epsilon), 4) for each in alone.directions]
    (0.2, [0.1757, 0.2063])
    >>> plain = STLap("0.05", "0.5")
    >>> plain.privacy is None, plain.arguments()
    (True, {'tau': '0.05', 'epsilon': '0.5'})
    >>> plain(Histogram.from_counts({1: 100})).size >= 95
    True
    >>> step = plain.step(Known(records_at_least=1000, bars=4))
    >>> step.alpha, step.after.records_at_least
    (0.202, 798)
    """

    tau: Exact = param(TAU)
    epsilon: Exact = param(EPSILON)
    records_at_least: int | None = param(RECORDS, default=None, kw_only=True)
    bars: int | None = param(RECORDS, default=None, kw_only=True)
    dimensions: int = param(DIMENSIONS, default=1, kw_only=True)
    function = IDENTITY

    @property
    def source(self) -> Space:
        """Histograms of so many dimensions."""
        return histograms(self.dimensions)

    @property
    def target(self) -> Space:
        """Histograms of so many dimensions."""
        return histograms(self.dimensions)

    def draw(self, x: Histogram, bits: Bits) -> Histogram:
        """Add the noise to a histogram.

        Parameters
        ----------
        x
            A histogram.
        bits
            The source of all randomness.

        Returns
        -------
        Histogram
            What is left of it.
        """
        histogram = histogram_given(x)
        reach = float(self.tau * histogram.size)
        drops = shifted_truncated_laplace(len(histogram), bits.source, reach=reach, epsilon=float(self.epsilon))
        left = np.maximum(0, np.rint(histogram.counts + drops)).astype(np.int64)
        return Histogram(histogram.keys, left)

    def law_of_bars(self, x: Histogram) -> Callable[[int], Distribution]:
        """Return the law of a bar, for the real noise that the doubles stand for; its reach depends on the table."""
        reach = self.tau * x.size
        return lambda count: _law_of_bar(count, reach, self.epsilon)

    @property
    def needs(self) -> Known:
        """At least n records, and at most t buckets, if given."""
        return Known(records_at_least=self.records_at_least, bars=self.bars)

    def step(self, known: Known) -> Step:
        """Return α = tτ plus half a record per bucket; errors of the input are kept.

        Parameters
        ----------
        known
            Public knowledge of the input.

        Returns
        -------
        Step
            For the identity; its τ refuses where the number of buckets is not known.
        """
        most, least = known.bars, known.records_at_least
        if most is None:
            return Step(_refuse, metric=self.target.metric, sigma=identity(), buckets="kept")
        # A bucket loses at most ⌈q − ½⌉ ≤ q + ½ records, so rounding costs half a record a bucket.
        share, rounding = most * self.tau, Fraction(most, 2 * (least or 1))
        left = None
        if least is not None and share < 1:
            left = max(0, math.floor(least * (1 - share) - Fraction(most, 2))) or None
        after = Known(records_at_least=left, bars=most)
        return leaves_out(self.target, after, alpha=min(share + rounding, Fraction(1)))

    @cached_property
    def _directions(self) -> Directions | None:
        return _directions(self.tau, self.epsilon, self.records_at_least, self.bars)

    @property
    def directions(self) -> Directions | None:
        """Privacy of a record that is removed and of one that is added, apart; None where nothing is claimed."""
        return self._directions

    @property
    def privacy(self) -> Privacy | None:
        """The corrected guarantee in both directions, on its condition; None where nothing is claimed."""
        both = self._directions
        if both is None:
            return None
        loss, chance = (max(getattr(each, name) for each in both) for name in ("epsilon", "delta"))
        if self.bars == 1 and loss > self.epsilon:
            assert self.records_at_least is not None
            loss, chance = self.epsilon, _shorter(_of_one(self.epsilon, self.tau * self.records_at_least))
        return Privacy(epsilon=loss, delta=chance, given=both.removed.given) if chance < 1 else None


def _refuse(_error: Error) -> Error:
    raise InputError("bars", "is missing: the number of buckets decides how many records are left out")


@lru_cache(maxsize=4096)
def _law_of_bar(count: int, reach: Fraction, epsilon: Fraction) -> Distribution:
    """The law of max(0, round(count + Z)), Z Laplace about −reach/2, truncated to [−reach, 0]."""
    if not count or not reach:
        return point(count)
    end = exp_bounds(-epsilon * reach / 2)
    if 1 - end.upper < Fraction(1, 10**20):  # a quotient of small differences loses digits
        raise InputError("mechanism", "has noise whose reach times ε is too small for its law to be computed")

    def below(z: Fraction) -> Bounds:  # Pr[Z ≤ z]
        if z <= -reach or z >= 0:
            return Bounds(*[Fraction(int(z >= 0))] * 2)
        away = exp_bounds(-epsilon * abs(z + reach / 2))
        most, least = 2 * (1 - end.lower), 2 * (1 - end.upper)
        tail = Bounds(max(Fraction(0), (away.lower - end.upper) / most), (away.upper - end.lower) / least)
        return tail if z <= -reach / 2 else Bounds(1 - tail.upper, 1 - tail.lower)

    least = max(0, math.floor(count - reach))
    ends = [below(value + Fraction(1, 2) - count) for value in range(least, count)]
    cuts = [Fraction(0), *((lower + upper) / 2 for lower, upper in ends), Fraction(1)]
    masses = {least + i: after - before for i, (before, after) in enumerate(pairwise(cuts)) if after > before}
    return Distribution(masses, sum((2 * (upper - lower) for lower, upper in ends), Fraction(0)))


def _directions(tau: Fraction, epsilon: Fraction, records: int | None, bars: int | None) -> Directions | None:
    if records is None or bars is None or tau * records < 4:
        return None
    more, less = (_tall(epsilon, tau * size) for size in (records + 1, records))
    drift = (  # λ, from below and from above
        max(Fraction(0), log_bounds((1 - 1 / more.lower) / (1 - 1 / less.upper)).lower),
        log_bounds((1 - 1 / more.upper) / (1 - 1 / less.lower)).upper,
    )
    middle = epsilon * (1 + (bars - 2) * tau / 2)
    others = (
        any_of(_shorter((exp_bounds(epsilon * tau).upper - 1) / (2 * (more.lower - 1))), bars - 1) if bars > 1 else 0
    )
    shown = (exp_bounds(epsilon).upper - 1) / (2 * (more.lower - 1))
    chances = 1 - (1 - shown) * (1 - others), (exp_bounds(epsilon * (1 - tau)).upper - 1) / (2 * (less.lower - 1))
    if max(chances) >= 1:
        return None
    losses = max(_SMALLEST_LOSS, middle - bars * drift[0]), middle + bars * drift[1]
    given = Condition(records_at_least=records, buckets_at_most=bars)
    removed, added = (
        Privacy(epsilon=_shorter(loss), delta=_shorter(chance), given=given)
        for loss, chance in zip(losses, chances, strict=True)
    )
    return Directions(removed, added)


def _tall(epsilon: Fraction, reach: Fraction) -> Bounds:
    """Bound e^{εq/2}; beyond e^{ε + 500} it is treated as infinite."""
    rate = epsilon * reach / 2
    if rate > epsilon + _FAR:
        return Bounds(exp_bounds(epsilon + _FAR).lower, exp_bounds(epsilon + _FAR).upper * 10**100)
    return exp_bounds(rate)


def _of_one(epsilon: Fraction, reach: Fraction) -> Fraction:
    """a(q), rounded up."""
    return (exp_bounds(epsilon).upper - 1) / (2 * (_tall(epsilon, reach).lower - 1))


def _shorter(number: Fraction) -> Fraction:
    """A little above the number, with forty digits instead of hundreds."""
    return to_digits(number, 40, up=True)
