"""The bucketed histogram of the paper, calibrated for a given accuracy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from flexdp._core.domains import EPSILON, OPEN_ALPHA, POSITIVE_BETA, integer
from flexdp._core.exact import Number, root_up
from flexdp.errors import InputError, P
from flexdp.mechanisms.base import Mechanism
from flexdp.mechanisms.bucketing import Bucketing
from flexdp.mechanisms.documents import plain
from flexdp.mechanisms.dropping import Dropping
from flexdp.mechanisms.spaces import MOST_RECORDS, dimensions_given
from flexdp.mechanisms.wrapper import Wrapper
from flexdp.noise.calibration import smallest_delta

__all__ = ["BucketHistogram"]


@dataclass(frozen=True, init=False, repr=False)
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
    >>> mechanism.parameters()["bounds"]
    (0, 100)
    """

    alpha: Fraction
    beta: Fraction
    epsilon: Fraction
    bounds: tuple[Any, ...]
    records_at_least: int
    dimensions: int

    def __init__(
        self,
        alpha: Number,
        beta: Number,
        *,
        epsilon: Number,
        bounds: Sequence[Any],
        records_at_least: int,
        dimensions: int = 1,
    ) -> None:
        object.__setattr__(self, "alpha", OPEN_ALPHA.check(alpha))
        object.__setattr__(self, "beta", POSITIVE_BETA.check(beta))
        least = integer("records_at_least", records_at_least, at_most=MOST_RECORDS)
        object.__setattr__(self, "records_at_least", least)
        object.__setattr__(self, "dimensions", dimensions_given(dimensions))
        if bounds is None:
            raise InputError("bounds", "must be given: the number of buckets must be public")
        object.__setattr__(self, "bounds", self._buckets(bounds).parameters()["bounds"])
        object.__setattr__(self, "epsilon", EPSILON.check(epsilon))
        self.inner  # noqa: B018  (what cannot be is refused now)

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

    def parameters(self) -> dict[str, Any]:
        """Return the arguments that make an equal mechanism.

        Returns
        -------
        dict
            Arguments by name, numbers without loss.
        """
        numbers = {name: plain(getattr(self, name)) for name in ("alpha", "beta", "epsilon")}
        given = {**numbers, "bounds": self.bounds, "records_at_least": self.records_at_least}
        return given if self.dimensions == 1 else {**given, "dimensions": self.dimensions}
