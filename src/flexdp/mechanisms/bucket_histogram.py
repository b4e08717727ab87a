"""The bucketed histogram of the paper, calibrated for a given accuracy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

from flexdp._core.domains import DELTA, EPSILON, OPEN_ALPHA, POSITIVE_BETA
from flexdp._core.enclosure import least_decimal
from flexdp._core.exact import root_up, to_digits
from flexdp._core.fields import Exact, param, whole
from flexdp.calculus.compose import Known, Step
from flexdp.calculus.privacy import Relation
from flexdp.distribution import Law
from flexdp.errors import InputError, P
from flexdp.guarantees import Privacy
from flexdp.histogram import Histogram
from flexdp.mechanisms.base import IDENTITY, Chain, Mechanism
from flexdp.mechanisms.bucketing import Bucketing
from flexdp.mechanisms.dropping import Dropping
from flexdp.mechanisms.spaces import DIMENSIONS, MOST_RECORDS, Space
from flexdp.noise.bits import Bits
from flexdp.noise.calibration import smallest_delta
from flexdp.noise.table import smallest_reach
from flexdp.noise.total import TotalNoise

__all__ = ["BucketHistogram"]


def _public(name: str, value: Any) -> Any:
    if value is None:
        raise InputError(name, "must be given: the number of buckets must be public")
    return value


def _loses_at_most(most: int, epsilon: Fraction, delta: Fraction, bars: int) -> bool:
    """Tell whether public buckets lose no more together: most often without the law of their sum."""
    reach = smallest_reach(epsilon, delta, at_most=2 * most // bars + 2)
    if reach is None:
        return False
    each = (reach - 1) * bars
    if each <= most or each > 2 * most + 1:  # the total lies between half of D·T and all of it
        return each <= most
    return TotalNoise(epsilon, delta, bars).total <= most


class BucketHistogram(Mechanism):
    """The histogram that is (α, β, 0)-accurate on all inputs of at least n records (paper, Thm. bucketing-hist).

    Buckets have width w = 2β/√d, so that no record moves by more than β; there are T = ⌈B/w⌉^d of them; all together
    may lose ⌊αn⌋ records, and δ is the smallest for that, to three digits. The errata are applied: T is rounded up, w
    has the √d, and the reach is fixed by the public n, not by the data.

    Parameters
    ----------
    alpha
        Fraction of records that may be left out.
    beta
        Largest distance by which a record may be moved.
    epsilon
        Privacy loss ε.
    bounds
        Public pair (lower, upper) of every coordinate.
    records_at_least
        Public number n of records that the table has at least.
    dimensions
        Number d of coordinates.

    Raises
    ------
    InputError
        A parameter is out of range, or αn records are fewer than one for each bucket.

    Examples
    --------
    >>> mechanism = BucketHistogram("0.2", 10, epsilon=1, bounds=(0, 100), records_at_least=1000)
    >>> mechanism.privacy.delta, mechanism.inner.parts[-1].limited.total
    (Fraction(131, 10000000000000000), 200)
    >>> mechanism.accuracy().alpha, mechanism.accuracy().beta
    (0.2, 10.0)
    >>> mechanism.arguments()["bounds"]
    (0, 100)
    """

    alpha: Exact = param(OPEN_ALPHA)
    beta: Exact = param(POSITIVE_BETA)
    epsilon: Exact = param(EPSILON, kw_only=True)
    bounds: Sequence[Any] = param(_public, kw_only=True)
    records_at_least: int = param(whole(at_most=MOST_RECORDS), kw_only=True)
    dimensions: int = param(DIMENSIONS, default=1, kw_only=True)
    function = IDENTITY

    def _check(self) -> dict[str, Any]:
        """Refuse invalid parameters; keep the bounds as the buckets read them."""
        self.inner  # noqa: B018  (made now)
        return {"bounds": self._buckets(self.bounds).arguments()["bounds"]}

    def _buckets(self, bounds: Sequence[Any]) -> Bucketing:
        width = 2 * self.beta / root_up(self.dimensions)
        return Bucketing(width=width, bounds=bounds, dimensions=self.dimensions)

    @cached_property
    def inner(self) -> Chain:
        """Bucketing and dropping, which are run."""
        buckets = self._buckets(self.bounds)
        bars = buckets.step(Known()).after.bars or 1
        most = math.floor(self.alpha * self.records_at_least)
        if most < bars:
            raise InputError(
                "alpha",
                ("times ", P("records_at_least"), f" must be at least the number of buckets, {bars}"),
                remedy=("Raise ", P("alpha"), ", ", P("beta"), " or the number of records."),
            )
        return buckets >> Dropping(self.epsilon, self._delta(most, bars), dimensions=self.dimensions, total=buckets)

    def _delta(self, most: int, bars: int) -> Fraction:
        """The smallest δ, to three digits, with which all buckets lose no more together."""
        enough = smallest_delta(self.epsilon, most // bars + 1)  # each may then lose its part of it
        high = min(to_digits(enough, 3, up=True), Fraction(999, 1000))
        found = least_decimal(lambda delta: _loses_at_most(most, self.epsilon, delta, bars), DELTA.low, high, digits=3)
        return enough if found is None else found

    @property
    def needs(self) -> Known:
        """The number of records for which it was made."""
        return Known(records_at_least=self.records_at_least)

    @property
    def source(self) -> Space:
        """Histograms of so many dimensions."""
        return self.inner.source

    @property
    def target(self) -> Space:
        """Histograms of so many dimensions."""
        return self.inner.target

    @property
    def preserves(self) -> Relation | None:
        """Neighbours remain neighbours."""
        return self.inner.preserves

    @property
    def privacy(self) -> Privacy | None:
        """Privacy of the dropping."""
        return self.inner.privacy

    def draw(self, x: Histogram, bits: Bits) -> Histogram:
        """Bucket a histogram and thin it.

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
        found: Histogram = self.inner.draw(x, bits)
        return found

    def law(self, x: Any) -> Law:
        """Return the law of the dropping after the bucketing."""
        return self.inner.law(x)

    def step(self, known: Known) -> Step:
        """Return the step of the bucketing followed by the dropping.

        Parameters
        ----------
        known
            Public knowledge of the input.

        Returns
        -------
        Step
            For the identity.
        """
        return self.inner.step(known)
