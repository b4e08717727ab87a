"""Options: the cost of each ε, in a setting that is public before any data is read."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from flexdp._core.domains import EPSILON
from flexdp._core.text import plural, safe_repr
from flexdp._release.capped import after_cap
from flexdp.calculus.loss import alpha_before, most_lost, survives_from
from flexdp.calculus.privacy import of_each_release
from flexdp.errors import InputError, P
from flexdp.guarantees import Privacy
from flexdp.noise.calibration import needed_reach, per_bucket, smallest_delta
from flexdp.noise.table import SMALLEST_EPSILON, smallest_reach

__all__ = [
    "FAR",
    "LADDER",
    "Option",
    "Setting",
    "curve_steps",
    "digits_step",
    "digits_up",
    "percent",
    "plain_number",
    "smallest_delta_for",
]

LADDER = tuple(Fraction(step) for step in ("0.05", "0.1", "0.2", "0.5", "1", "2", "3", "5", "10"))
FAR = 10_000  # usual options that lose more than this from a bucket are not listed
_STEPS = 8  # points of the curve for each doubling of ε
_LESS, _MORE = 1 - Fraction(1, 10**9), 1 + Fraction(1, 10**9)


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One ε, with its privacy and its cost.

    Parameters
    ----------
    epsilon
        Privacy loss of everything planned.
    max_drop
        Most records that a bucket loses.
    survives_from
        Size from which a bucket is certain to be released.
    total
        Most records that all buckets together lose; None unless their number is known in advance.
    alpha
        Largest share of the records that is lost; None unless buckets and records are known in advance.
    certainty
        The most certain, in percent, that an observer can become who was 50% sure that a unit is in the data.
    meets
        True if the option meets the target; None without a target.

    Examples
    --------
    >>> from flexdp import plan
    >>> option = plan(epsilon=1, delta="1e-6", bounds=(0, 120), width=5, records_about=50_000).chosen
    >>> option.max_drop, option.survives_from, option.total, option.certainty
    (27, 28, 648, '73.2%')
    """

    epsilon: Fraction
    max_drop: int
    survives_from: int
    total: int | None
    alpha: Fraction | None
    certainty: str
    meets: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Everything that the options have in common.

    The releases share (ε, δ) equally, by basic composition, which also holds if each is chosen after seeing the
    others. Of its share, each release gives every bucket what a unit in ``buckets_per_unit`` buckets needs. ``limit``
    is the most records that a bucket may lose, if a target was set. Where the number of units that the cap touches is
    ``reported``, each release pays for that first.
    """

    delta: Fraction
    releases: int
    buckets_per_unit: int
    buckets: int | None
    records_about: int | None
    limit: int | None
    reported: bool = False

    def of_buckets(self, epsilon: Fraction) -> Privacy:
        """Return the budget of the buckets of one release."""
        each = self.each(epsilon)
        return replace(each, epsilon=after_cap(each.epsilon, reported=self.reported))

    def bucket_privacy(self, epsilon: Fraction) -> Privacy:
        """Return the parameters of the noise of one bucket."""
        each = self.of_buckets(epsilon)
        return per_bucket(each.epsilon, each.delta, self.buckets_per_unit)

    def each(self, epsilon: Fraction) -> Privacy:
        """Return the budget of one release."""
        return of_each_release(Privacy(epsilon=epsilon, delta=self.delta), self.releases)

    def option(self, epsilon: Fraction, *, far: bool = True) -> Option | None:
        """Return the option of one ε; None if ``far`` is false and a bucket would lose too much for it to be listed."""
        if far:
            each = self.of_buckets(epsilon)
            reach: int | None = needed_reach(each.epsilon, each.delta, self.buckets_per_unit)
        else:
            share = self.bucket_privacy(epsilon)
            reach = smallest_reach(share.epsilon, share.delta, at_most=FAR)
        if reach is None:
            return None
        drop = reach - 1
        buckets, records = self.buckets, self.records_about
        return Option(
            epsilon=epsilon,
            max_drop=drop,
            survives_from=survives_from(drop),
            total=most_lost(drop, buckets),
            alpha=None if buckets is None or records is None else alpha_before(drop, buckets, records),
            certainty=Privacy(epsilon=epsilon, delta=self.delta).certainty,
            meets=None if self.limit is None else drop <= self.limit,
        )

    def options(self, chosen: Fraction | None) -> tuple[Option, ...]:
        """Return the options of the usual ε, with the chosen one in its place."""
        steps = sorted({*LADDER} if chosen is None else {*LADDER, chosen}, reverse=True)
        found: list[Option] = []
        far = False  # below an ε that is not listed none is, except for the chosen one
        for step in steps:
            option = None if far and step != chosen else self.option(step, far=step == chosen)
            far = far or option is None
            found += [] if option is None else [option]
        return tuple(reversed(found))

    def curve(self) -> list[tuple[float, int]]:
        """Return points (ε, most records that a bucket loses) of a smooth line."""
        return list(_curve(self.delta, self.releases, self.buckets_per_unit, self.reported))

    def smallest_epsilon(self) -> Fraction:
        """Return the smallest ε that keeps to the limit, rounded up to three digits."""
        share = self.bucket_privacy(Fraction(1)).delta
        least = (smallest_reach(EPSILON.high or 1, share) or 1) - 1
        if self.limit is None or self.limit < least:
            raise InputError(
                "target",
                (
                    f": a bucket may lose {plural(self.limit or 0, 'record')}, but at ",
                    P("delta", plain_number(self.delta)),
                    f" it loses up to {least}, whatever the value of ",
                    P("epsilon"),
                ),
                remedy=("Allow a larger loss, or a larger ", P("delta"), "."),
            )
        parts = self.releases * self.buckets_per_unit / after_cap(Fraction(1), reported=self.reported)
        found = digits_up(max(Fraction(_estimate(self.limit + 1, share)), SMALLEST_EPSILON) * parts * _LESS)
        while not self._fits(found):  # a step or two at most: the estimate is good to many digits
            found = digits_up(found * _MORE)
        while self._fits(below := digits_up(found * _LESS - digits_step(found * _LESS))):
            found = below
        return found

    def _fits(self, epsilon: Fraction) -> bool:
        """Tell whether an ε keeps to the limit, by the noise itself."""
        if epsilon > (EPSILON.high or epsilon):
            raise InputError(
                "releases",
                (f"of {self.releases} would need ", P("epsilon"), " above 10000"),
                remedy="Plan fewer releases, or allow a larger loss.",
            )
        if self.of_buckets(epsilon).epsilon < SMALLEST_EPSILON * self.buckets_per_unit:
            return False
        share = self.bucket_privacy(epsilon)
        return smallest_reach(share.epsilon, share.delta, at_most=(self.limit or 0) + 1) is not None


@lru_cache(maxsize=64)
def _curve(delta: Fraction, releases: int, buckets_per_unit: int, reported: bool) -> tuple[tuple[float, int], ...]:
    """The curve of every setting with these three values: it stays the same while ε is being chosen."""
    setting = Setting(
        delta=delta,
        releases=releases,
        buckets_per_unit=buckets_per_unit,
        buckets=None,
        records_about=None,
        limit=None,
        reported=reported,
    )
    points: list[tuple[float, int]] = []
    for epsilon in reversed(curve_steps()):
        option = setting.option(epsilon, far=False)
        if option is None:
            break
        points.append((float(epsilon), option.max_drop))
    return tuple(points[::-1])


def curve_steps() -> list[Fraction]:
    """Return the ε of the points of a curve, ascending."""
    steps = round(_STEPS * math.log2(float(LADDER[-1] / LADDER[0])))
    whole = float(LADDER[-1] / LADDER[0])
    return [Fraction(f"{float(LADDER[0]) * whole ** (step / steps):.4g}") for step in range(steps + 1)]


def _estimate(reach: int, delta: Fraction) -> float:
    """The ε at which δ*(q) = 1 / (S_⌈q/2⌉ + S_⌊q/2⌋) is δ, in doubles, by halving."""

    def enough(epsilon: float) -> bool:
        def log_sum(k: int) -> float:
            size = k * epsilon
            return -math.inf if k == 0 else size + math.log(-math.expm1(-size)) - _log_expm1(epsilon)

        high, low = log_sum(-(-reach // 2)), log_sum(reach // 2)
        return high + math.log1p(math.exp(low - high)) >= -math.log(delta)

    low, high = math.log(1e-9), math.log(1e4)
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(math.exp(middle)) else (middle, high)
    return math.exp(high)


def _log_expm1(x: float) -> float:
    return x + math.log(-math.expm1(-x))


def smallest_delta_for(epsilon: Fraction, reach: int, *, releases: int, buckets_per_unit: int) -> Fraction:
    """Return the smallest δ of all releases together for an ε and a reach, rounded up to three digits."""
    share = of_each_release(Privacy(epsilon=epsilon, delta=0), releases).epsilon
    each = smallest_delta(share, reach, buckets_per_unit=buckets_per_unit)
    found = digits_up(each * releases)
    if found >= 1:
        raise InputError(
            "epsilon",
            "is too small to lose so few records",
            given=safe_repr(epsilon),
            remedy="Raise it, or allow a larger loss.",
        )
    return found


def digits_up(value: Fraction, digits: int = 3) -> Fraction:
    """Round a positive number up to a few digits.

    >>> float(digits_up(Fraction("0.972889")))
    0.973
    """
    step = digits_step(value, digits)
    return -(-value // step) * step


def digits_step(value: Fraction, digits: int = 3) -> Fraction:
    """Return the distance between a number of a few digits and the next."""
    return Fraction(10) ** (math.floor(math.log10(value)) - digits + 1)


def plain_number(value: Fraction) -> int | float:
    """Return a number as a message repeats it: an integer where it is one, else a double.

    >>> plain_number(Fraction(1)), plain_number(Fraction("1e-6"))
    (1, 1e-06)
    """
    return int(value) if value.denominator == 1 else float(value)


def percent(share: float, digits: int = 2) -> str:
    """Return a share as a percentage of a few digits, never in powers of ten where it is 0.01% or more.

    >>> percent(1.0), percent(0.9962), percent(0.0126), percent(0.25)
    ('100%', '100%', '1.3%', '25%')
    """
    text = f"{100 * share:.{digits}g}"
    return f"{float(text):g}%"
