"""Loss of a thinned histogram: bounds before the data is read and after it has been released.

Every bucket loses at most D records, and T public buckets together at most m (:mod:`flexdp.noise.total`). Of some s of
them at most L = min(D·s, m) records are missing, and

========================================== =======================================================
before the data, with n records at least   α = L / n                         :func:`alpha_before`
after it, with |y| records released        α = L / (|y| + L), tight          :func:`alpha_after`
beyond the highest or lowest bucket        L counts only the buckets beyond  :func:`buckets_beyond`
with a paid upper bound of n               L ≤ that bound − |y|              :func:`paid_loss`
a count that adds up s buckets             short by at most L                :func:`most_lost`
a quantile of the data behind the release  the hull over all x, y ≤ x ≤ y + D, |x| ≤ |y| + m :func:`quantile_hull`
========================================== =======================================================

All functions take plain public numbers; None stands for "not public". Nothing here knows how many records there were.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from flexdp._core.enclosure import least
from flexdp._core.exact import Number
from flexdp.distortions import Winf
from flexdp.guarantees import Accuracy
from flexdp.histogram import LARGEST_COUNT

__all__ = [
    "alpha_after",
    "alpha_before",
    "buckets_beyond",
    "histogram_accuracy",
    "most_lost",
    "paid_loss",
    "quantile_hull",
    "survives_from",
    "together",
]


def most_lost(max_drop: int, buckets: int | None, *, total: int | None = None) -> int | None:
    """Return the most records that can be missing from some buckets: the smaller of D for each and a bound on all.

    Parameters
    ----------
    max_drop
        D, the most records that one bucket loses.
    buckets
        The number of buckets in question; None where it is not public.
    total
        A bound on what all buckets lose together, where there is one.

    Returns
    -------
    int or None
        The bound; None where there is none.

    Examples
    --------
    >>> most_lost(27, 24), most_lost(27, 24, total=362), most_lost(27, 3, total=362), most_lost(27, None)
    (648, 362, 81, None)
    """
    bounds = [] if total is None else [total]
    if buckets is not None:
        bounds.append(max_drop * buckets)
    return min(bounds, default=None)


def alpha_before(max_drop: int, buckets: int, records: int, *, total: int | None = None) -> Fraction:
    """Return α = L/n, the largest share of n records that T buckets lose.

    It is promised before the data is read, of any table of at least n records. A release certifies L/(|y| + L)
    afterwards, which is never more, because at least n − L records are released.

    Parameters
    ----------
    max_drop
        D, the most records that a bucket loses.
    buckets
        T, the number of buckets.
    records
        n, the least number of records.
    total
        A bound on what all buckets lose together, where there is one.

    Returns
    -------
    Fraction
        α, at most 1.

    Examples
    --------
    >>> float(alpha_before(27, 24, 50_000)), float(alpha_before(27, 24, 50_000, total=362))
    (0.01296, 0.00724)
    """
    lost = most_lost(max_drop, buckets, total=total)
    assert lost is not None
    return min(Fraction(1), Fraction(lost, records))


def alpha_after(lost: int, released: int) -> Fraction:
    """Return α = L / (|y| + L), the largest share of the data that can be missing from a release.

    Parameters
    ----------
    lost
        L, the most records that can be missing.
    released
        |y|, the number of records released.

    Returns
    -------
    Fraction
        α after the release; 0 where nothing can be missing.

    Examples
    --------
    >>> alpha_after(362, 50_000 - 362), alpha_after(0, 0)
    (Fraction(181, 25000), Fraction(0, 1))
    """
    return Fraction(lost, released + lost) if lost else Fraction(0)


def paid_loss(records_at_most: int | None, released: int) -> int | None:
    """Return the most records that can be missing, given a published upper bound on their number.

    Parameters
    ----------
    records_at_most
        The published bound, which the number of records certainly does not exceed; None where there is none.
    released
        The number of records released.

    Returns
    -------
    int or None
        The difference.

    Examples
    --------
    >>> paid_loss(1030, 900), paid_loss(None, 900)
    (130, None)
    """
    return None if records_at_most is None else records_at_most - released


def buckets_beyond(first: int, buckets: int | None, index: int, *, above: bool) -> int | None:
    """Return the number of public buckets above, or below, a given one.

    Only these can hide a larger maximum, or a smaller minimum.

    Parameters
    ----------
    first
        Index of the first public bucket.
    buckets
        Number of public buckets; None where they are not public.
    index
        Index of the bucket in question.
    above
        True for the buckets above, False for those below.

    Returns
    -------
    int or None
        The number of buckets; None where they are not public.

    Examples
    --------
    >>> buckets_beyond(0, 24, 20, above=True), buckets_beyond(0, 24, 20, above=False)
    (3, 20)
    """
    if buckets is None:
        return None
    return first + buckets - 1 - index if above else index - first


def together(*parts: int | None) -> int | None:
    """Return the sum of numbers of buckets; None where one of them is not public.

    Parameters
    ----------
    parts
        The numbers.

    Returns
    -------
    int or None
        The sum.

    Examples
    --------
    >>> together(2, 7), together(2, None)
    (9, None)
    """
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def survives_from(max_drop: int) -> int:
    """Return the smallest number of records with which a bucket is certain to be released: D + 1.

    Parameters
    ----------
    max_drop
        D, the most records that one bucket loses.

    Returns
    -------
    int
        The number of records.

    Examples
    --------
    >>> survives_from(27)
    28
    """
    return max_drop + 1


def quantile_hull(
    offsets: NDArray[np.int64],
    counts: NDArray[np.int64],
    level: Fraction,
    *,
    buckets: int,
    drop: int,
    total: int | None = None,
) -> tuple[int, int]:
    """Return the lowest and the highest bucket that can hold a quantile of the data behind a release.

    The data behind a release y is any x with y ≤ x ≤ y + D in each of the T public buckets, and |x| ≤ |y| + m. At or
    below a bucket lies most when the buckets up to it lost D each, or m together, and the others nothing, and least the
    other way round. The pair is tight: it is the hull of the quantiles of all such x.

    Parameters
    ----------
    offsets
        Places of the released buckets among the public ones, ascending from 0.
    counts
        Their released counts.
    level
        The level of the quantile (inverted distribution function).
    buckets
        T, the number of public buckets.
    drop
        D, the most that one count can be short by.
    total
        m, the most that all of them can be short by together; D·T unless given.

    Returns
    -------
    tuple of int
        The places of the two buckets.

    Examples
    --------
    >>> quantile_hull(np.array([1, 2]), np.array([500, 500]), Fraction(1, 4), buckets=4, drop=27)
    (1, 1)
    >>> quantile_hull(np.array([1, 2]), np.array([500, 500]), Fraction(1, 2), buckets=4, drop=27)
    (1, 2)
    >>> offsets, counts = np.array([0, 9]), np.array([90, 10])
    >>> [quantile_hull(offsets, counts, Fraction(3, 4), buckets=10, drop=9, total=m) for m in (81, 20)]
    [(0, 7), (0, 0)]
    """
    size = sum(counts.tolist())
    running = np.cumsum(counts if size <= LARGEST_COUNT else counts.astype(object))

    def most(some: int) -> int:
        return drop * some if total is None else min(drop * some, total)

    def released_up_to(place: int) -> int:
        found = int(np.searchsorted(offsets, place, side="right"))
        return int(running[found - 1]) if found else 0

    def may_be_reached(place: int) -> bool:
        lost = most(place + 1)
        return bool(released_up_to(place) + lost >= max(Fraction(1), level * (size + lost)))

    def is_surely_reached(place: int) -> bool:
        return bool(released_up_to(place) >= max(Fraction(1), level * (size + most(buckets - 1 - place))))

    return least(may_be_reached, 0, buckets - 1), least(is_surely_reached, 0, buckets - 1)


def histogram_accuracy(
    *, alpha: Number | None, beta: Number, max_drop: int, relative: bool = False, unit: str = ""
) -> Accuracy:
    """Return the accuracy of a histogram that was bucketed and then thinned.

    Bucketing moves every record by at most β and loses none; thinning leaves out at most D records of each bucket.
    It is what ``Bucketing >> Dropping`` derives, with an α that a release certifies.

    Parameters
    ----------
    alpha
        The share of the records that can be missing; None where none is certified.
    beta
        How far a bucket's records can lie from its centre.
    max_drop
        D, the most records that one bucket loses.
    relative
        True where β is a fraction of the centre.
    unit
        The unit of β ("days"), empty for plain numbers.

    Returns
    -------
    Accuracy
        The guarantee of the released histogram.

    Examples
    --------
    >>> print(histogram_accuracy(alpha=None, beta="2.5", max_drop=27))
    Exact after leaving out at most 27 records from each bucket, to within 2.5.
    """
    return Accuracy(alpha=alpha, beta=beta, relative=relative, max_drop=max_drop, unit=unit, metric=Winf())
