"""Records left out: bounds on their share, before the data is read."""

from __future__ import annotations

from fractions import Fraction

__all__ = ["alpha_before"]


def alpha_before(max_drop: int, buckets: int, records: int) -> Fraction:
    """Return α = D·T/n, the largest share of n records that T buckets lose if each loses at most D.

    It is promised before the data is read, of any table of at least n records. A release certifies
    D·T/(|y| + D·T) afterwards, which is never more, because at least n − D·T records are released.

    Parameters
    ----------
    max_drop
        D, the most records that a bucket loses.
    buckets
        T, the number of buckets.
    records
        n, the least number of records.

    Returns
    -------
    Fraction
        α, at most 1.

    Examples
    --------
    >>> float(alpha_before(27, 24, 50_000))
    0.01296
    """
    return min(Fraction(1), Fraction(max_drop * buckets, records))
