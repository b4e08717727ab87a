"""The histogram mechanism exactly as the paper states it, with the privacy that it really has."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from flexdp._core.domains import EPSILON, TAU, integer
from flexdp._core.enclosure import Bounds, exp_bounds, log_bounds
from flexdp._core.exact import Number, to_digits
from flexdp._core.fields import plain
from flexdp.calculus.powers import any_of
from flexdp.calculus.sensitivities import DistortionSensitivity, ErrorSensitivity, identity
from flexdp.distribution import Distribution, point
from flexdp.errors import InputError
from flexdp.guarantees import Condition, Privacy
from flexdp.histogram import Histogram
from flexdp.mechanisms.bars import BarNoise
from flexdp.mechanisms.dropping import keeps_errors
from flexdp.mechanisms.spaces import DIMENSIONS, MOST_RECORDS, Known, Space, histogram_given, histograms
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
    >>> known = Known(records_at_least=1000, bars=4)
    >>> plain.tau(known).alpha, plain.records_left(known)
    (0.202, 798)
    """

    fraction: Fraction
    epsilon: Fraction
    records: int | None
    buckets: int | None
    dimensions: int

    def __init__(
        self,
        tau: Number,
        epsilon: Number,
        *,
        records_at_least: int | None = None,
        bars: int | None = None,
        dimensions: int = 1,
    ) -> None:
        object.__setattr__(self, "fraction", TAU.check(tau))
        object.__setattr__(self, "epsilon", EPSILON.check(epsilon))
        limits = {"records": ("records_at_least", records_at_least), "buckets": ("bars", bars)}
        for field, (name, value) in limits.items():
            object.__setattr__(self, field, None if value is None else integer(name, value, at_most=MOST_RECORDS))
        object.__setattr__(self, "dimensions", DIMENSIONS("dimensions", dimensions))

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
        reach = float(self.fraction * histogram.size)
        drops = shifted_truncated_laplace(len(histogram), bits.source, reach=reach, epsilon=float(self.epsilon))
        left = np.maximum(0, np.rint(histogram.counts + drops)).astype(np.int64)
        return Histogram(histogram.keys, left)

    def law_of_bars(self, x: Histogram) -> Callable[[int], Distribution]:
        """Return the law of a bar, for the real noise that the doubles stand for; its reach depends on the table."""
        reach = self.fraction * x.size
        return lambda count: _law_of_bar(count, reach, self.epsilon)

    def tau(self, known: Known) -> ErrorSensitivity:
        """Return the error sensitivity: α = tτ and half a record a bucket, and errors of the input are kept.

        Parameters
        ----------
        known
            Public knowledge of the input.

        Returns
        -------
        ErrorSensitivity
            For the identity.

        Raises
        ------
        InputError
            The number of buckets is not known.
        """
        most, least = known.bars, known.records_at_least
        if most is None:
            raise InputError("bars", "is missing: the number of buckets decides how many records are left out")
        # A bucket loses at most ⌈q − ½⌉ ≤ q + ½ records, so rounding costs half a record a bucket.
        rounding = Fraction(most, 2 * least) if least else Fraction(most, 2)
        return keeps_errors(min(most * self.fraction + rounding, Fraction(1)), None, self.target)

    def records_left(self, known: Known) -> int | None:
        """Return n(1 − tτ) − t/2, if n and t are known.

        Parameters
        ----------
        known
            Public knowledge of the input.

        Returns
        -------
        int or None
            The number of records that are left at least.
        """
        if known.records_at_least is None or known.bars is None or known.bars * self.fraction >= 1:
            return None
        return max(0, math.floor(known.records_at_least * (1 - known.bars * self.fraction) - Fraction(known.bars, 2)))

    @cached_property
    def _directions(self) -> Directions | None:
        return _directions(self.fraction, self.epsilon, self.records, self.buckets)

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
        if self.buckets == 1 and loss > self.epsilon:
            assert self.records is not None
            loss, chance = self.epsilon, _shorter(_of_one(self.epsilon, self.fraction * self.records))
        return Privacy(epsilon=loss, delta=chance, given=both.removed.given) if chance < 1 else None

    @property
    def sigma(self) -> DistortionSensitivity:
        """That of the identity."""
        return identity()

    @property
    def most_bars(self) -> int | None:
        """t, if given."""
        return self.buckets

    @property
    def least_records(self) -> int | None:
        """n, if given."""
        return self.records

    @property
    def keeps_bars(self) -> bool:
        """True: records are left out of their buckets, and that is all."""
        return True

    @property
    def adds_bars(self) -> bool:
        """False: buckets only ever vanish."""
        return False

    @property
    def identity(self) -> bool:
        """True: records are left out, and that is all."""
        return True

    def arguments(self) -> dict[str, Any]:
        """Return the arguments that make an equal mechanism.

        Returns
        -------
        dict
            Arguments by name, numbers without loss.
        """
        limits = {"records_at_least": self.records, "bars": self.buckets}
        limits["dimensions"] = None if self.dimensions == 1 else self.dimensions
        known = {name: value for name, value in limits.items() if value is not None}
        return {"tau": plain(self.fraction), "epsilon": plain(self.epsilon), **known}


@lru_cache(maxsize=4096)
def _law_of_bar(count: int, reach: Fraction, epsilon: Fraction) -> Distribution:
    """The law of max(0, round(count + Z)), Z Laplace about −reach/2, truncated to [−reach, 0]."""
    if not count or not reach:
        return point(count)
    end = exp_bounds(-epsilon * reach / 2)
    if 1 - end.upper < Fraction(1, 10**20):  # a quotient of small differences loses digits
        raise InputError("mechanism", "has noise of so short a reach, times ε, that its law cannot be computed")

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
    """Bound e^{εq/2}; beyond e^{ε + 500} it is not told from infinity."""
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
