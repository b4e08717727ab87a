"""Options: what each ε would cost, under one setting that is public before any data is read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from flexdp._core.domains import EPSILON
from flexdp._core.exact import number_text
from flexdp._core.text import plural
from flexdp.errors import InputError
from flexdp.guarantees import Privacy
from flexdp.noise.calibration import needed_reach, per_bucket, smallest_delta
from flexdp.noise.table import SMALLEST_EPSILON, smallest_reach

__all__ = ["FAR", "LADDER", "Option", "Setting", "digits_step", "digits_up", "smallest_delta_for"]

LADDER = tuple(Fraction(step) for step in ("0.05", "0.1", "0.2", "0.5", "1", "2", "3", "5", "10"))
FAR = 10_000  # an option that nobody asked for, and that loses more than this from a bucket, is not listed
_STEPS = 8  # of the curve, in each doubling of ε
_LESS, _MORE = 1 - Fraction(1, 10**9), 1 + Fraction(1, 10**9)


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One ε and what it gives.

    ``epsilon`` is for everything that is planned, ``max_drop`` the most records a bucket loses, ``survives_from`` the
    smallest bucket that is sure to be there. ``total`` bounds what all buckets lose together and ``alpha`` the share
    that is, both None where the buckets, or the records, are not known in advance. ``certainty`` is how sure, in
    percent, an observer can become who was 50% sure that a unit is in the data. ``meets`` is None without a target.
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
    """What all options share: δ for everything, how the budget is divided, how many buckets and records there are.

    The releases share (ε, δ) equally, by basic composition, which also holds where one is chosen after seeing another;
    of its share each release gives every bucket what a unit in ``buckets_per_unit`` buckets needs.
    ``limit`` is the most records that a bucket may lose, where a target was set.
    """

    delta: Fraction
    releases: int
    buckets_per_unit: int
    buckets: int | None
    records_about: int | None
    limit: int | None

    def bar(self, epsilon: Fraction) -> Privacy:
        """The parameters of one bucket's noise."""
        return per_bucket(epsilon / self.releases, self.delta / self.releases, self.buckets_per_unit)

    def option(self, epsilon: Fraction, *, far: bool = True) -> Option | None:
        """The option of one ε; None where a bucket would lose more than it is worth listing and ``far`` forbids it."""
        if far:
            reach: int | None = needed_reach(epsilon / self.releases, self.delta / self.releases, self.buckets_per_unit)
        else:
            share = self.bar(epsilon)
            reach = smallest_reach(share.epsilon, share.delta, at_most=FAR)
        if reach is None:
            return None
        drop = reach - 1
        total = None if self.buckets is None else drop * self.buckets
        known = total is not None and self.records_about is not None
        return Option(
            epsilon=epsilon,
            max_drop=drop,
            survives_from=reach,
            total=total,
            # Of n records at least n − D·T are released, so the certificate D·T / (|y| + D·T) is at most D·T / n.
            alpha=min(Fraction(1), Fraction(total or 0, self.records_about or 1)) if known else None,
            certainty=Privacy(epsilon=epsilon, delta=self.delta).certainty,
            meets=None if self.limit is None else drop <= self.limit,
        )

    def options(self, chosen: Fraction | None) -> tuple[Option, ...]:
        """The ladder of usual ε, and the chosen one in its place."""
        steps = sorted({*LADDER} if chosen is None else {*LADDER, chosen}, reverse=True)
        found: list[Option] = []
        far = False  # once an option is not worth listing, no smaller ε is; the chosen one is listed all the same
        for step in steps:
            option = None if far and step != chosen else self.option(step, far=step == chosen)
            far = far or option is None
            found += [] if option is None else [option]
        return tuple(reversed(found))

    def curve(self) -> list[tuple[float, int]]:
        """ε against the most records that a bucket loses: the points of a smooth line."""
        return list(_curve(self.delta, self.releases, self.buckets_per_unit))

    def smallest_epsilon(self) -> Fraction:
        """The smallest ε, to three digits, rounded up, that keeps to the limit."""
        share = self.bar(Fraction(1)).delta
        least = (smallest_reach(EPSILON.high or 1, share) or 1) - 1
        if self.limit is None or self.limit < least:
            raise InputError(
                f"the target lets a bucket lose {plural(self.limit or 0, 'record')}, and at "
                f"delta={number_text(self.delta)} it must lose up to {least} whatever the epsilon. "
                "Allow a larger loss, or a larger delta."
            )
        parts = self.releases * self.buckets_per_unit
        found = digits_up(max(Fraction(_estimate(self.limit + 1, share)), SMALLEST_EPSILON) * parts * _LESS)
        while not self._fits(found):  # at most a step or two: the estimate is good to many digits
            found = digits_up(found * _MORE)
        while self._fits(below := digits_up(found * _LESS - digits_step(found * _LESS))):
            found = below
        return found

    def _fits(self, epsilon: Fraction) -> bool:
        """Whether an ε keeps to the limit, by the noise itself."""
        if epsilon > (EPSILON.high or epsilon):
            raise InputError(f"releases={self.releases} would need an epsilon above 10000. Allow a larger loss.")
        if epsilon < SMALLEST_EPSILON * self.releases * self.buckets_per_unit:
            return False
        share = self.bar(epsilon)
        return smallest_reach(share.epsilon, share.delta, at_most=(self.limit or 0) + 1) is not None


@lru_cache(maxsize=64)
def _curve(delta: Fraction, releases: int, buckets_per_unit: int) -> tuple[tuple[float, int], ...]:
    """The curve of every setting that shares these three: it stays the same while ε is being chosen."""
    setting = Setting(
        delta=delta, releases=releases, buckets_per_unit=buckets_per_unit, buckets=None, records_about=None, limit=None
    )
    steps = round(_STEPS * math.log2(float(LADDER[-1] / LADDER[0])))
    points: list[tuple[float, int]] = []
    for step in range(steps, -1, -1):
        epsilon = Fraction(f"{float(LADDER[0]) * float(LADDER[-1] / LADDER[0]) ** (step / steps):.4g}")
        option = setting.option(epsilon, far=False)
        if option is None:
            break
        points.append((float(epsilon), option.max_drop))
    return tuple(points[::-1])


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
    """The smallest δ of all releases together, to three digits, rounded up, for an ε and a reach."""
    each = smallest_delta(epsilon / releases, reach, buckets_per_unit=buckets_per_unit)
    found = digits_up(each * releases)
    if found >= 1:
        raise InputError(f"epsilon={epsilon} is too small to lose so few records. Raise it, or allow a larger loss.")
    return found


def digits_up(value: Fraction, digits: int = 3) -> Fraction:
    """A positive number to a few digits, rounded up.

    >>> float(digits_up(Fraction("0.972889")))
    0.973
    """
    step = digits_step(value, digits)
    return -(-value // step) * step


def digits_step(value: Fraction, digits: int = 3) -> Fraction:
    """The step from a number of a few digits to the next."""
    return Fraction(10) ** (math.floor(math.log10(value)) - digits + 1)
