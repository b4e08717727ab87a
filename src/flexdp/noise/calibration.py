"""Calibration: the parameters of one bucket's noise from those of a unit, and the best ε or δ for a given reach.

Where there is no rational solution it is rounded to twelve digits on the private side, and checked against the table
of integers that the noise uses.
"""

from __future__ import annotations

from fractions import Fraction

from flexdp._core.domains import DELTA, EPSILON, Domain, integer
from flexdp._core.enclosure import least_decimal, least_from
from flexdp._core.exact import Number, number_text
from flexdp._core.text import safe_repr
from flexdp.calculus.privacy import of_each_bucket
from flexdp.errors import InputError, P
from flexdp.guarantees import Privacy
from flexdp.noise.table import LARGEST_REACH, SMALLEST_EPSILON, beyond_reach, smallest_reach

__all__ = [
    "DIGITS",
    "most_buckets_per_unit",
    "needed_reach",
    "per_bucket",
    "reach_given",
    "smallest_delta",
    "smallest_epsilon",
]

DIGITS = 12  # of a solved ε or δ


def per_bucket(epsilon: Number, delta: Number, buckets_per_unit: Number = 1) -> Privacy:
    """Derive the privacy of each bucket for a unit in at most k buckets: ε/k and 1 − (1 − δ)^{1/k}.

    Parameters
    ----------
    epsilon, delta
        Privacy of the unit, taken exactly as written.
    buckets_per_unit
        Most buckets k in which one unit counts.

    Returns
    -------
    Privacy
        Parameters for ``DropNoise``; see :func:`flexdp.calculus.of_each_bucket`.

    Raises
    ------
    InputError
        A parameter is out of range, or the share of δ is smaller than any noise takes.

    Examples
    --------
    >>> share = per_bucket(1, "1e-6", 2)
    >>> float(share.epsilon), float(share.delta)
    (0.5, 5.000001250000625e-07)
    """
    loss, chance, units = EPSILON.check(epsilon), DELTA.check(delta), integer("buckets_per_unit", buckets_per_unit)
    share = of_each_bucket(Privacy(epsilon=loss, delta=chance), units)
    if share.delta < DELTA.low:
        least = number_text(DELTA.low)
        raise InputError(
            "delta",
            (f"must be at least {least} for each of the ", P("buckets_per_unit"), " buckets"),
            given=f"{number_text(chance)} for {safe_repr(units)} buckets",
            remedy=("Choose a larger ", P("delta"), "."),
        )
    return share


def smallest_epsilon(q: Number, delta: Number, *, buckets_per_unit: Number = 1) -> Fraction:
    """Find the smallest ε, to twelve digits, rounded up, whose noise for δ has a reach of at most q.

    It is never below 1e-9 for each bucket, the smallest that the noise takes.

    Parameters
    ----------
    q
        Reach: a bucket loses at most q − 1 records.
    delta
        δ of the unit.
    buckets_per_unit
        Most buckets in which one unit counts.

    Returns
    -------
    Fraction
        ε of the unit.

    Raises
    ------
    InputError
        No ε has that reach.

    Examples
    --------
    >>> float(smallest_epsilon(28, "1e-6"))
    0.972889756242
    """
    reach, units = reach_given(q), integer("buckets_per_unit", buckets_per_unit)
    share = per_bucket(1, delta, units).delta
    found = least_decimal(lambda e: _fits(e / units, share, reach), SMALLEST_EPSILON * units, _highest(EPSILON))
    if found is None:
        chance = number_text(DELTA.check(delta))
        raise InputError(
            "q",
            ("and ", P("delta"), f" do not fit: no epsilon up to {number_text(_highest(EPSILON))} has that reach"),
            given=f"q={reach} and delta={chance}",
            remedy=("Choose a larger ", P("q"), " or ", P("delta"), "."),
        )
    return found


def smallest_delta(epsilon: Number, q: Number, *, buckets_per_unit: Number = 1) -> Fraction:
    """Find the smallest δ, to twelve digits, rounded up, whose noise for ε has a reach of at most q.

    It is δ*(q) = 1 / (S_⌈q/2⌉ + S_⌊q/2⌋), S_k = (e^{kε} − 1)/(e^ε − 1), as closely as the table of integers attains it,
    and never below 1e-30, the smallest that the noise takes.

    Parameters
    ----------
    epsilon
        ε of the unit.
    q
        Reach: a bucket loses at most q − 1 records.
    buckets_per_unit
        Most buckets in which one unit counts.

    Returns
    -------
    Fraction
        δ of the unit.

    Raises
    ------
    InputError
        No δ below 1 has that reach, or ε is too small.

    Examples
    --------
    >>> float(smallest_delta(1, 28))
    7.14400937984e-07
    """
    loss, reach, units = EPSILON.check(epsilon), reach_given(q), integer("buckets_per_unit", buckets_per_unit)
    if loss / units < SMALLEST_EPSILON:
        rule = f"must be at least {number_text(SMALLEST_EPSILON)} for each bucket"
        raise InputError("epsilon", rule, given=f"{number_text(loss / units)} for each")
    lowest = DELTA.low * units  # so that each bucket's share is at least the smallest there is
    found = least_decimal(
        lambda d: _fits(loss / units, per_bucket(loss, d, units).delta, reach), lowest, 1 - Fraction(1, 10**DIGITS)
    )
    if found is None:
        raise InputError(
            "q", "is too small for any delta below 1", given=str(reach), remedy=("Choose a larger ", P("q"), ".")
        )
    return found


def most_buckets_per_unit(epsilon: Number, delta: Number, q: Number) -> int:
    """Find the most buckets that one unit may change while the noise of each needs a reach of at most q.

    Parameters
    ----------
    epsilon, delta
        Privacy of the unit.
    q
        Reach: a bucket loses at most q − 1 records.

    Returns
    -------
    int
        The number of buckets.

    Raises
    ------
    InputError
        The reach is too small even for one bucket.

    Examples
    --------
    >>> [most_buckets_per_unit(1, "1e-6", q) for q in (28, 54, 133, 264)]
    [1, 2, 5, 10]
    """
    loss, chance, reach = EPSILON.check(epsilon), DELTA.check(delta), reach_given(q)

    def fits(units: int) -> bool:
        if loss / units < SMALLEST_EPSILON or chance / units < 2 * DELTA.low:
            return False
        share = per_bucket(loss, chance, units)
        return _fits(share.epsilon, share.delta, reach)

    if not fits(1):
        raise InputError(
            "q",
            f"is too small even for one bucket per unit at epsilon={number_text(loss)} and delta={number_text(chance)}",
            given=str(reach),
            remedy=("Choose a larger ", P("q"), "."),
        )
    return least_from(lambda units: not fits(units), 2) - 1


def needed_reach(epsilon: Fraction, delta: Fraction, units: int) -> int:
    """Find the reach of the noise in each bucket for a unit's (ε, δ)."""
    share = per_bucket(epsilon, delta, units)
    reach = smallest_reach(share.epsilon, share.delta)
    if reach is None:
        raise beyond_reach(epsilon, delta)
    return reach


def reach_given(q: Number) -> int:
    """A parameter that must be a reach."""
    reach = integer("q", q, at_least=2)
    if reach > LARGEST_REACH:
        raise InputError(
            "q", f"must be at most {LARGEST_REACH}", given=safe_repr(reach), remedy="Choose a smaller one."
        )
    return reach


def _highest(domain: Domain) -> Fraction:
    assert domain.high is not None
    return domain.high


def _fits(epsilon: Fraction, delta: Fraction, reach: int) -> bool:
    return smallest_reach(epsilon, delta, at_most=reach) is not None
