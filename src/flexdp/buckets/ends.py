"""Ends of buckets: which of them are open, because values beyond a bound count in them, too.

This is decided here and nowhere else. A statement about a column *as it was read* treats an open end as without limit;
a statement about the values *limited to the bounds* treats it as closed.
"""

from __future__ import annotations

from typing import Any

from flexdp.buckets.exact import Exact
from flexdp.buckets.grid import Grid
from flexdp.buckets.open_edges import OpenEdges
from flexdp.buckets.partition import Partition

__all__ = ["is_clamped", "is_open"]


def is_open(partition: Partition, index: Any, *, above: bool) -> bool:
    """Return True for a bucket in which all values above its lower end count (or below its upper end).

    Parameters
    ----------
    partition
        The buckets.
    index
        Index of the bucket.
    above
        True for the upper end, False for the lower one.

    Returns
    -------
    bool
        True for the last (or first) bucket of bounds that clamp, and for the outermost of buckets with open ends.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from flexdp.buckets.width import Width
    >>> ages = Width("number", Fraction(5), (Fraction(0), Fraction(120)))
    >>> is_open(ages, 23, above=True), is_open(ages, 23, above=False), is_open(ages, 22, above=True)
    (True, False, False)
    """
    if isinstance(partition, OpenEdges):
        return partition.is_open(int(index), above=above)
    if isinstance(partition, Grid) or partition.bounds is None or partition.outside != "clamp":
        return False
    if isinstance(partition, Exact):
        low, high = (float(end) if partition.kind == "number" else int(end) for end in partition.bounds)
        return bool(index == (high if above else low))
    return bool(index == (partition.first + (partition.count or 1) - 1 if above else partition.first))


def is_clamped(partition: Partition) -> bool:
    """Return True where values beyond the bounds of a column were moved to the bounds, before they were counted.

    Examples
    --------
    >>> is_clamped(Exact("integer")), is_clamped(Exact("integer", (0, 9)))
    (False, True)
    """
    if isinstance(partition, Grid):
        return any(map(is_clamped, partition.axes))
    return partition.bounds is not None and partition.outside == "clamp"
