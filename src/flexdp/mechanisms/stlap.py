"""The histogram mechanism exactly as the paper states it, with the privacy that it really has."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from flexdp._core.domains import EPSILON, TAU, integer
from flexdp._core.exact import Number
from flexdp.calculus.sensitivities import DistortionSensitivity, ErrorSensitivity, identity
from flexdp.errors import InputError
from flexdp.guarantees import Condition, Privacy
from flexdp.histogram import Histogram
from flexdp.mechanisms.base import Mechanism
from flexdp.mechanisms.documents import plain
from flexdp.mechanisms.dropping import keeps_errors
from flexdp.mechanisms.spaces import HISTOGRAMS, MOST_RECORDS, Known, Space, histogram_given
from flexdp.noise.continuous import shifted_truncated_laplace

__all__ = ["STLap"]


@dataclass(frozen=True, init=False, repr=False)
class STLap(Mechanism):
    """Shifted, truncated Laplace noise on [−q, 0] with q = τ|x|, rounded to the nearest integer, as in the paper.

    Its stated privacy is false from three buckets on (docs/errata.md). What is reported is the corrected guarantee: on
    inputs of at least n records and at most t buckets, with α = tτ, it is (ε[1 + (α/2)(1 + 1/(e^{ετn/2} − 1))],
    (1 + α)·a(τn))-private, where a(q) = (e^ε − 1)/(2(e^{εq/2} − 1)). Without n and t, or with τn < 4, nothing is
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

    Examples
    --------
    >>> print(STLap("0.05", "0.5", records_at_least=2001, bars=3).privacy.given)
    in tables of at least 2001 records and at most 3 buckets
    >>> plain = STLap("0.05", "0.5")
    >>> plain.privacy is None, plain.parameters()
    (True, {'tau': '0.05', 'epsilon': '0.5'})
    >>> plain.run(Histogram.from_counts({1: 100})).size >= 95
    True
    >>> known = Known(records_at_least=1000, bars=4)
    >>> plain.tau(known).alpha, plain.records_left(known)
    (0.202, 798)
    """

    fraction: Fraction
    epsilon: Fraction
    records: int | None
    buckets: int | None

    def __init__(
        self, tau: Number, epsilon: Number, *, records_at_least: int | None = None, bars: int | None = None
    ) -> None:
        object.__setattr__(self, "fraction", TAU.check(tau))
        object.__setattr__(self, "epsilon", EPSILON.check(epsilon))
        limits = {"records": ("records_at_least", records_at_least), "buckets": ("bars", bars)}
        for field, (name, value) in limits.items():
            object.__setattr__(self, field, None if value is None else integer(name, value, at_most=MOST_RECORDS))

    @property
    def source(self) -> Space:
        """Histograms."""
        return HISTOGRAMS

    @property
    def target(self) -> Space:
        """Histograms."""
        return HISTOGRAMS

    def run(self, value: Histogram) -> Histogram:
        """Add the noise to a histogram.

        Parameters
        ----------
        value
            A histogram.

        Returns
        -------
        Histogram
            What is left of it.
        """
        histogram = histogram_given(value)
        reach = float(self.fraction * histogram.size)
        drops = shifted_truncated_laplace(len(histogram), reach=reach, epsilon=float(self.epsilon))
        left = np.maximum(0, np.rint(histogram.counts + drops)).astype(np.int64)
        return Histogram(histogram.keys, left)

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
        return keeps_errors(min(most * self.fraction + rounding, Fraction(1)), None, HISTOGRAMS)

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
    def _corrected(self) -> Privacy | None:
        return _corrected(self.fraction, self.epsilon, self.records, self.buckets)

    @property
    def privacy(self) -> Privacy | None:
        """The corrected guarantee, on its condition; None where nothing is claimed."""
        return self._corrected

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
    def adds_bars(self) -> bool:
        """False: buckets only ever vanish."""
        return False

    @property
    def identity(self) -> bool:
        """True: records are left out, and that is all."""
        return True

    def parameters(self) -> dict[str, Any]:
        """Return the arguments that make an equal mechanism.

        Returns
        -------
        dict
            Arguments by name, numbers without loss.
        """
        limits = {"records_at_least": self.records, "bars": self.buckets}
        known = {name: value for name, value in limits.items() if value is not None}
        return {"tau": plain(self.fraction), "epsilon": plain(self.epsilon), **known}


def _corrected(tau: Fraction, epsilon: Fraction, records: int | None, bars: int | None) -> Privacy | None:
    if records is None or bars is None or tau * records < 4:
        return None
    alpha = bars * tau
    up, down = Context(prec=60, rounding=ROUND_CEILING), Context(prec=60, rounding=ROUND_FLOOR)
    slack = Fraction(1, 10**50)  # Decimal's exponential is right to its last digit, whatever the rounding
    growth = Fraction(up.exp(_decimal(epsilon, up))) * (1 + slack)
    decay = Fraction(down.exp(_decimal(epsilon * tau * records / 2, down))) * (1 - slack) - 1
    loss = epsilon * (1 + alpha / 2 * (1 + 1 / decay))
    chance = (1 + alpha) * (growth - 1) / (2 * decay)
    if chance >= 1:
        return None
    given = Condition(records_at_least=records, buckets_at_most=bars)
    return Privacy(epsilon=_shorter(loss), delta=_shorter(chance), given=given)


def _decimal(number: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(number.numerator), Decimal(number.denominator))


def _shorter(number: Fraction) -> Fraction:
    """A little above the number, with forty digits instead of hundreds."""
    scale = Fraction(10) ** (40 - _decimal(number, Context(prec=60)).adjusted())
    return Fraction(math.ceil(number * scale)) / scale
