"""The budget of one release, and the noise that it buys.

How it is divided between a unit's buckets and a total that is paid for is derived in :func:`flexdp.calculus.divide`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from flexdp._core.domains import DELTA, EPSILON
from flexdp._core.exact import Number
from flexdp.buckets.grid import Grid
from flexdp.buckets.partition import Partition, public_count
from flexdp.calculus.loss import paid_loss
from flexdp.calculus.privacy import Division, divide
from flexdp.errors import InputError
from flexdp.guarantees import AddRemove, Privacy
from flexdp.mechanisms import Bucketing, Chain, Dropping
from flexdp.noise.drop import DropNoise
from flexdp.noise.table import smallest_reach
from flexdp.noise.total import TotalNoise

__all__ = ["Budget", "has_reach"]


@dataclass(frozen=True, init=False)
class Budget:
    """(ε, δ) of one release for one unit, and the noise of its buckets.

    Parameters
    ----------
    epsilon, delta
        Privacy of one unit, taken exactly as written.
    most
        Most buckets in which one unit counts.
    certify
        Share that buys an upper bound of the number of contributions, where the buckets are not public.
    buckets
        The number of buckets of all groups, where it is public: all of them then lose at most ``limited.total``.
    q
        The reach of each bucket; the smallest unless given.

    Raises
    ------
    InputError
        A parameter is out of range, or no noise can meet the budget.

    Examples
    --------
    >>> budget = Budget(1, "1e-6", most=2)
    >>> budget.bars.q, budget.privacy("patient").unit
    (54, 'patient')
    >>> Budget(1, "1e-6", buckets=24).limited.total
    362
    """

    epsilon: Fraction
    delta: Fraction
    most: int
    share: Fraction | None
    buckets: int | None
    q: int | None

    def __init__(
        self,
        epsilon: Number,
        delta: Number,
        *,
        most: int = 1,
        certify: Number | None = None,
        buckets: int | None = None,
        q: int | None = None,
    ) -> None:
        checked = Dropping(EPSILON.check(epsilon), DELTA.check(delta), max_buckets_per_unit=most, certify=certify)
        if buckets is not None and certify is not None:
            raise InputError("certify", "buys nothing where buckets are public: a bound on all of them is free")
        object.__setattr__(self, "epsilon", checked.epsilon)
        object.__setattr__(self, "delta", checked.delta)
        object.__setattr__(self, "most", checked.max_buckets_per_unit)
        object.__setattr__(self, "share", checked.certify)
        object.__setattr__(self, "buckets", buckets)
        object.__setattr__(self, "q", q)

    def dropping(self, partition: Partition, unit: str | None = None) -> Dropping:
        """Return the mechanism that this budget buys.

        Parameters
        ----------
        partition
            Buckets of the released columns.
        unit
            Name of the privacy unit, where it is not a record.

        Returns
        -------
        Dropping
            The mechanism that a release runs on its counts.
        """
        groups, public = 1, None
        if self.buckets is not None:
            count = public_count(partition)
            assert count is not None and self.buckets % count == 0
            groups = self.buckets // count
            public = (False, True) if partition.kind == "boolean" else Bucketing(partition=partition)
        return Dropping(
            self.epsilon,
            self.delta,
            dimensions=partition.dimensions if isinstance(partition, Grid) else 1,
            unit="record" if unit is None else unit,
            max_buckets_per_unit=self.most,
            certify=self.share,
            total=public,
            groups=groups,
            q=self.q if self.buckets is None else self.bars.q,
        )

    def mechanism(self, partition: Partition, unit: str | None = None) -> Chain:
        """Return the whole mechanism of a release: bucketing, done by the engine as it counts, and then dropping.

        Parameters
        ----------
        partition
            Buckets of the released columns.
        unit
            Name of the privacy unit, where it is not a record.

        Returns
        -------
        Chain
            Its last step, :meth:`dropping`, is what is run on the counts.
        """
        bucketing = Bucketing(partition=partition, unit=unit, max_buckets_per_unit=self.most)
        return Chain([bucketing, self.dropping(partition, unit)])

    @cached_property
    def limited(self) -> TotalNoise | None:
        """Noise of all buckets together, where they are public."""
        if self.buckets is None:
            return None
        return TotalNoise(self.epsilon, self.delta, self.buckets, units=self.most, q=self.q)

    @cached_property
    def bars(self) -> DropNoise:
        """Noise of each bucket."""
        if self.limited is not None:
            return self.limited.noise
        share = self._division.bucket
        return DropNoise(share.epsilon, share.delta, q=self.q)

    @property
    def mean_drop(self) -> Fraction:
        """The expected loss of a bucket that is at least as large as the reach: to six digits, if all share a total."""
        if self.limited is None or not self.limited.is_redrawn:
            return self.bars.mean_drop()
        return Fraction(f"{float(self.limited.mean_drop()):.6g}")

    @cached_property
    def paid(self) -> DropNoise | None:
        """Noise of a certified total, if one is published."""
        share = self._division.total
        return None if share is None else DropNoise(share.epsilon, share.delta)

    @property
    def _division(self) -> Division:
        return divide(self.privacy(), buckets=self.most, certify=self.share)

    def most_lost(self, records_at_most: int | None, released: int) -> int | None:
        """Return the most that all buckets lost together, after a release; None where that is not known.

        Parameters
        ----------
        records_at_most
            The published bound, where one was paid for.
        released
            The number that was released.

        Returns
        -------
        int or None
            The bound.

        Examples
        --------
        >>> Budget(1, "1e-6", buckets=24).most_lost(None, 50_000)
        362
        """
        return paid_loss(records_at_most, released) if self.limited is None else self.limited.total

    def privacy(self, unit: str = "record") -> Privacy:
        """Return what is promised to each unit.

        Parameters
        ----------
        unit
            Name of the privacy unit.

        Returns
        -------
        Privacy
            The (ε, δ) that was asked for.
        """
        return Privacy(epsilon=self.epsilon, delta=self.delta, neighbours=AddRemove(unit, self.most))


def has_reach(reach: object, epsilon: Number, delta: Number, *, most: int = 1, certify: Number | None = None) -> bool:
    """Return True if each bucket of such a budget has this reach; its table is not made.

    Parameters
    ----------
    reach
        The reach q that is claimed.
    epsilon, delta, most, certify
        Parameters of the budget.

    Returns
    -------
    bool
        True if the claim is right.

    Examples
    --------
    >>> has_reach(28, 1, "1e-6"), has_reach(27, 1, "1e-6")
    (True, False)
    """
    if type(reach) is not int or reach < 2:  # no noise has less
        return False
    whole = Privacy(epsilon=EPSILON.check(epsilon), delta=DELTA.check(delta))
    each = divide(whole, buckets=most, certify=certify).bucket
    return smallest_reach(each.epsilon, each.delta, at_most=reach) == reach
