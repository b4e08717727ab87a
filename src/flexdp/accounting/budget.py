"""The budget of one release, and the noise that it buys.

How it is divided between a unit's buckets and a certified total is derived in :func:`flexdp.calculus.divide`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from flexdp._core.domains import DELTA, EPSILON
from flexdp._core.exact import Number
from flexdp.buckets.grid import Grid
from flexdp.buckets.partition import Partition
from flexdp.calculus.privacy import divide
from flexdp.guarantees import AddRemove, Privacy
from flexdp.mechanisms import Bucketing, Chain, Dropping
from flexdp.noise.drop import DropNoise
from flexdp.noise.table import smallest_reach

__all__ = ["Budget", "has_reach"]


@dataclass(frozen=True, init=False)
class Budget:
    """(ε, δ) of one release for one unit, divided between its buckets and, where asked, a certified total.

    Parameters
    ----------
    epsilon, delta
        Privacy of one unit, taken exactly as written.
    most
        Most buckets in which one unit counts.
    certify
        Share that buys an upper bound of the number of contributions.

    Raises
    ------
    InputError
        A parameter is out of range, or no noise can meet the budget.

    Examples
    --------
    >>> budget = Budget(1, "1e-6", most=2)
    >>> budget.bars.q, budget.privacy("patient").unit
    (54, 'patient')
    >>> from flexdp.buckets import make_buckets
    >>> budget.mechanism(make_buckets("number", width=5), "patient").parts[-1] == budget.dropping("patient")
    True
    """

    epsilon: Fraction
    delta: Fraction
    most: int
    share: Fraction | None

    def __init__(self, epsilon: Number, delta: Number, *, most: int = 1, certify: Number | None = None) -> None:
        checked = Dropping(EPSILON.check(epsilon), DELTA.check(delta), max_buckets_per_unit=most, certify=certify)
        object.__setattr__(self, "epsilon", checked.epsilon)
        object.__setattr__(self, "delta", checked.delta)
        object.__setattr__(self, "most", checked.max_buckets_per_unit)
        object.__setattr__(self, "share", checked.certify)

    def dropping(self, unit: str = "record", dimensions: int = 1) -> Dropping:
        """Return the mechanism that this budget buys.

        Parameters
        ----------
        unit
            Name of the privacy unit.
        dimensions
            Number of released columns.

        Returns
        -------
        Dropping
            The mechanism that a release runs on its counts.
        """
        return Dropping(
            self.epsilon,
            self.delta,
            dimensions=dimensions,
            unit=unit,
            max_buckets_per_unit=self.most,
            certify=self.share,
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
        dimensions = partition.dimensions if isinstance(partition, Grid) else 1
        bucketing = Bucketing(partition=partition, unit=unit, max_buckets_per_unit=self.most)
        return Chain([bucketing, self.dropping("record" if unit is None else unit, dimensions)])

    @cached_property
    def bars(self) -> DropNoise:
        """Noise of each bucket."""
        return self.dropping().noise

    @cached_property
    def total(self) -> DropNoise | None:
        """Noise of the certified total, if one is published."""
        return self.dropping().total_noise

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
