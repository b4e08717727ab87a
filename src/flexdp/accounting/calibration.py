"""The other way round: the largest budget of each of several equal releases that fits a total."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from flexdp._core.domains import DELTA, EPSILON, integer
from flexdp._core.exact import Number
from flexdp.accounting.budget import Budget
from flexdp.accounting.composition import privacy_curve
from flexdp.calculus.privacy import of_each_bucket
from flexdp.errors import InputError
from flexdp.guarantees import Privacy
from flexdp.noise.table import smallest_reach

__all__ = ["Calibration", "calibrate"]

_MOST_RELEASES = 10**4
_SHARES = tuple(Fraction(share, 100) for share in (50, 75, 90, 97))  # of δ, that goes to infinite losses
_STEPS = 1000  # ε of each is found to one part in a thousand


@dataclass(frozen=True, slots=True)
class Calibration:
    """Budget of each of several equal releases, and what tight composition saves over splitting evenly.

    Parameters
    ----------
    releases
        Number of releases.
    whole
        Guarantee of all of them together.
    each
        Budget of each.
    reach
        q of each release's buckets.
    even
        Budget of each if ε and δ were split evenly.
    even_reach
        q of the buckets then.

    Examples
    --------
    >>> found = calibrate(1, "1e-6", releases=52)
    >>> found.reach, found.even_reach, found.saved
    (874, 1366, 492)
    """

    releases: int
    whole: Privacy
    each: Privacy
    reach: int
    even: Privacy
    even_reach: int

    @property
    def saved(self) -> int:
        """Number of records fewer that a bucket can lose."""
        return self.even_reach - self.reach


def calibrate(epsilon: Number, delta: Number, *, releases: int, max_buckets_per_unit: int = 1) -> Calibration:
    """Return the budget that each of several equal releases may have, all declared beforehand.

    Parameters
    ----------
    epsilon, delta
        Privacy of all of them together.
    releases
        Their number.
    max_buckets_per_unit
        Most buckets in which one unit counts, in each release.

    Returns
    -------
    Calibration
        Never a larger reach than by splitting ε and δ evenly; :func:`flexdp.compose` confirms the total.

    Raises
    ------
    InputError
        If a parameter is out of range, or no noise can meet the budget.

    Examples
    --------
    >>> found = calibrate(1, "1e-6", releases=52)
    >>> float(found.even.epsilon) < float(found.each.epsilon)
    True
    """
    many = integer("releases", releases, at_most=_MOST_RELEASES)
    most = integer("max_buckets_per_unit", max_buckets_per_unit)
    return _calibrated(EPSILON.check(epsilon), DELTA.check(delta), many, most)


@lru_cache(maxsize=64)
def _calibrated(epsilon: Fraction, delta: Fraction, many: int, most: int) -> Calibration:
    whole = Privacy(epsilon=epsilon, delta=delta)
    even = Privacy(epsilon=epsilon / many, delta=delta / many)
    best, reach = even, _reach(even, most)
    if reach is None:
        raise InputError("releases", "leaves each so small a budget that no noise can meet it", given=str(many))
    even_reach = reach
    for share in _SHARES if many > 1 else ():
        chance = delta * share / many
        if chance < DELTA.low:
            continue
        low, high = _STEPS, _STEPS * many + 1  # in thousandths of ε/m; the first fits, the last does not
        while high - low > max(1, low // _STEPS):
            middle = (low + high) // 2
            each = Privacy(epsilon=epsilon / many * middle / _STEPS, delta=chance)
            low, high = (middle, high) if _fits(each, whole, many, most) else (low, middle)
        found = Privacy(epsilon=epsilon / many * low / _STEPS, delta=chance)
        own = _reach(found, most)
        if own is not None and own < reach and _fits(found, whole, many, most):
            best, reach = found, own
    return Calibration(many, whole, best, reach, even, even_reach)


def _reach(each: Privacy, most: int) -> int | None:
    bucket = of_each_bucket(each, most)
    return smallest_reach(bucket.epsilon, bucket.delta) if bucket.delta >= DELTA.low else None


def _fits(each: Privacy, whole: Privacy, many: int, most: int) -> bool:
    if _reach(each, most) is None:
        return False
    curve = privacy_curve([Budget(each.epsilon, each.delta, most=most)] * many)
    return curve.delta_at(whole.epsilon) <= whole.delta
