"""The other way round: the largest budget of each of several equal releases that fits a total."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from flexdp._core.domains import DELTA, EPSILON, Domain, integer
from flexdp._core.exact import Number, to_digits
from flexdp.accounting.budget import Budget
from flexdp.accounting.composition import privacy_curve
from flexdp.accounting.lattice import sum_of
from flexdp.accounting.losses import LossDistribution, losses_of_privacy
from flexdp.calculus.privacy import of_each_bucket
from flexdp.errors import InputError
from flexdp.guarantees import Privacy
from flexdp.noise.table import smallest_reach

__all__ = ["MOST_RELEASES", "Calibration", "calibrate"]

MOST_RELEASES = 10**4
_SHARES = tuple(Fraction(share, 100) for share in (50, 75, 90, 97))  # of δ, that goes to infinite losses
_NOTHING = Fraction(0)
_ASIDE = Domain(
    name="aside", low=_NOTHING, high=Fraction(1), remedy="Give the share of each budget that buys something else."
)
_STEPS = 1000  # ε of each is found to one part in a thousand
_LARGEST_EXPONENT = 600  # beyond it a double cannot hold the closed form


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
    (870, 1366, 496)
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


def calibrate(
    epsilon: Number,
    delta: Number,
    *,
    releases: int,
    max_buckets_per_unit: int = 1,
    aside: Number | None = None,
    buckets: int | None = None,
) -> Calibration:
    """Return the budget that each of several equal releases may have, all declared beforehand.

    Parameters
    ----------
    epsilon, delta
        Privacy of all of them together.
    releases
        Their number.
    max_buckets_per_unit
        Most buckets in which one unit counts, in each release.
    aside
        Share of the ε of each release that its buckets do not get, where there is one: it buys a count without a δ.
    buckets
        Number of buckets, where they are public: what all of them lose together is then bounded, which uses all of δ.

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
    many = integer("releases", releases, at_most=MOST_RELEASES)
    most = integer("max_buckets_per_unit", max_buckets_per_unit)
    share = _NOTHING if aside is None else _ASIDE.check(aside)
    public = None if buckets is None else integer("buckets", buckets)
    return _find_calibration(EPSILON.check(epsilon), DELTA.check(delta), many, _Buckets(most, share, public))


@dataclass(frozen=True, slots=True)
class _Buckets:
    """What the budget of a release buys: buckets of which a unit counts in some, and a count that is set aside for."""

    most: int
    aside: Fraction
    public: int | None = None

    def privacy(self, each: Privacy) -> Privacy:
        """The noise of one bucket."""
        return of_each_bucket(replace(each, epsilon=each.epsilon * (1 - self.aside)), self.most)

    def reach(self, each: Privacy) -> int | None:
        """The reach of that noise, if there is any."""
        bucket = self.privacy(each)
        return smallest_reach(bucket.epsilon, bucket.delta) if bucket.delta >= DELTA.low else None

    def parts(self, each: Privacy) -> list[Budget | Privacy]:
        """What a release spends."""
        bars = Budget(each.epsilon * (1 - self.aside), each.delta, most=self.most, buckets=self.public)
        if not self.aside:
            return [bars]
        return [bars, replace(bars.privacy(), epsilon=each.epsilon * self.aside, delta=_NOTHING)]

    def losses(self, each: Privacy, many: int) -> dict[LossDistribution, int]:
        """The losses of many releases, in doubles."""
        once = _ideal(self.privacy(each))
        found = {once: many * self.most}
        if self.public is not None:  # all of δ, whatever the total
            more = float(each.delta) + math.expm1(self.most * math.log1p(-once.infinite))
            found[LossDistribution(once.epsilon, 0.0, 1.0, 0.0, max(0.0, more))] = many
        if self.aside:
            found[losses_of_privacy(Privacy(epsilon=each.epsilon * self.aside, delta=0))] = many
        return found


@lru_cache(maxsize=64)
def _find_calibration(epsilon: Fraction, delta: Fraction, many: int, kept: _Buckets) -> Calibration:
    whole = Privacy(epsilon=epsilon, delta=delta)
    even = Privacy(epsilon=epsilon / many, delta=delta / many)
    best, reach = even, kept.reach(even)
    if reach is None:
        raise InputError("releases", "leaves each so small a budget that no noise can meet it", given=str(many))
    even_reach = reach
    candidates = [_propose_budget(whole, share, many, kept) for share in _SHARES] if many > 1 else []
    for own, _, found in sorted(each for each in candidates if each is not None):
        if own < reach and _fits(found, whole, many, kept):  # by the noise itself
            best, reach = found, own
            break
    return Calibration(many, whole, best, reach, even, even_reach)


def _propose_budget(whole: Privacy, share: Fraction, many: int, kept: _Buckets) -> tuple[int, Fraction, Privacy] | None:
    """The largest ε of each release for a share of δ, in doubles: the reach, the share and the budget."""
    chance = to_digits(whole.delta * share / many, 3, up=False)
    if chance < DELTA.low:
        return None
    start = whole.epsilon / many

    def fits(thousandths: int) -> bool:
        total, step = sum_of(kept.losses(Privacy(epsilon=start * thousandths / _STEPS, delta=chance), many))
        return total.delta(float(whole.epsilon) * (1 - 1e-9), step) <= float(whole.delta) * (1 - 1e-4)

    low, high = _STEPS, _STEPS * many + 1  # in thousandths of ε/m; the first fits, the last does not
    while high - low > max(1, low // _STEPS):
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    found = Privacy(epsilon=to_digits(start * low / _STEPS, 4, up=False), delta=chance)
    reach = kept.reach(found)
    return None if reach is None else (reach, share, found)


def _ideal(bucket: Privacy) -> LossDistribution:
    """The losses of a bucket by the closed form of its weights, in doubles: a guess, to be confirmed by the table."""
    epsilon, delta = float(bucket.epsilon), float(bucket.delta)
    if epsilon > _LARGEST_EXPONENT:
        return losses_of_privacy(bucket)
    even = 2 * math.ceil(math.log1p(math.expm1(epsilon) / (2 * delta)) / epsilon)
    half = even // 2
    if epsilon * half > _LARGEST_EXPONENT:
        return losses_of_privacy(bucket)
    odd = 2 * math.ceil(math.log((math.expm1(epsilon) + 2 * delta) / (delta * (math.exp(epsilon) + 1))) / epsilon) + 1
    if odd < even:
        half = odd // 2
        first = math.expm1(epsilon) / (math.exp(epsilon * half) * (math.exp(epsilon) + 1) - 2)
        most = first * math.exp(epsilon * half)
    else:
        first = math.expm1(epsilon) / (2 * math.expm1(epsilon * half))
        most = first * math.exp(epsilon * (half - 1))
    plus = (most - first) / -math.expm1(-epsilon)
    zero = 0.0 if odd < even else most
    return LossDistribution(bucket.epsilon, plus, zero, max(0.0, 1 - first - plus - zero), first)


def _fits(each: Privacy, whole: Privacy, many: int, kept: _Buckets) -> bool:
    if kept.reach(each) is None:
        return False
    return privacy_curve(kept.parts(each) * many).delta_at(whole.epsilon) <= whole.delta
