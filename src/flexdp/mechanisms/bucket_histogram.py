"""The bucketed histogram of the paper, calibrated for a given accuracy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from flexdp._core.domains import EPSILON, OPEN_ALPHA, POSITIVE_BETA
from flexdp._core.exact import root_up
from flexdp._core.fields import Exact, param, whole
from flexdp.errors import InputError, P
from flexdp.mechanisms.base import Mechanism
from flexdp.mechanisms.bucketing import Bucketing
from flexdp.mechanisms.dropping import Dropping
from flexdp.mechanisms.spaces import DIMENSIONS, MOST_RECORDS
from flexdp.mechanisms.wrapper import Wrapper
from flexdp.noise.calibration import smallest_delta

__all__ = ["BucketHistogram"]


def _public(name: str, value: Any) -> Any:
    if value is None:
        raise InputError(name, "must be given: the number of buckets must be public")
    return value


class BucketHistogram(Wrapper):
    """The histogram that is (α, β, 0)-accurate on all inputs of at least n records (paper, Thm. bucketing-hist).

    Buckets have width w = 2β/√d, so that no record moves by more than β; there are T = ⌈B/w⌉^d of them; each may lose
    ⌊αn/T⌋ records, and δ is the smallest that allows. The errata are applied: T is rounded up, w has the √d, and the
    reach is fixed by the public n, not by the data.

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
    >>> mechanism.inner
    Bucketing(width=20, bounds=(0, 100)) >> Dropping(epsilon=1, delta='9.52494453734e-10')
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

    def _check(self) -> dict[str, Any]:
        """Refuse what cannot be made; keep the bounds as the buckets read them."""
        self.inner  # noqa: B018  (made now)
        return {"bounds": self._buckets(self.bounds).arguments()["bounds"]}

    def _buckets(self, bounds: Sequence[Any]) -> Bucketing:
        width = 2 * self.beta / root_up(self.dimensions)
        return Bucketing(width=width, bounds=bounds, dimensions=self.dimensions)

    @cached_property
    def inner(self) -> Mechanism:
        """Bucketing and dropping, which are run."""
        buckets = self._buckets(self.bounds)
        drop = math.floor(self.alpha * self.records_at_least / (buckets.bars or 1))
        if drop < 1:
            raise InputError(
                "alpha",
                ("times ", P("records_at_least"), f" must be at least the number of buckets, {buckets.bars}"),
                remedy=("Raise ", P("alpha"), ", ", P("beta"), " or the number of records."),
            )
        return buckets >> Dropping(self.epsilon, smallest_delta(self.epsilon, drop + 1), dimensions=self.dimensions)

    @property
    def least_records(self) -> int:
        """Number of records for which it was made."""
        return self.records_at_least
