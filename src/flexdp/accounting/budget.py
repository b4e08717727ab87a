"""From what a release may spend to the noise of its bars, and of its total where that is published too.

With k the most bars a unit can be in, each bar gets ε/k and 1 − (1 − δ)^{1/k}. With ``certify`` a share of both goes to
an upper bound of n, the number of contributions: n + J, J from a table of its own, also when n is 0. One unit changes n
by at most k, and a table that is (ε₀, δ₀)-private for steps of one is (kε₀, δ₀·S_k)-private for steps of k,
S_k = 1 + e^{ε₀} + … + e^{(k−1)ε₀}; so it is made for ε/k and δ/S_k.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import cached_property

from flexdp._core.domains import DELTA, EPSILON, Domain, integer
from flexdp._core.exact import Number, number_text
from flexdp.errors import InputError
from flexdp.guarantees import AddRemove, Privacy
from flexdp.noise.calibration import per_bucket
from flexdp.noise.drop import DropNoise
from flexdp.noise.table import LARGEST_REACH, smallest_reach

__all__ = ["Budget", "has_reach"]

SHARE = Domain(
    name="certify",
    low=Fraction(0),
    high=Fraction(1),
    remedy="It is the share of the budget that buys the bound, for example certify=0.05.",
)
UNITS = "max_buckets_per_unit"


@dataclass(frozen=True, init=False)
class Budget:
    """(ε, δ) of one release for one unit, split between its bars and, where asked, its total.

    >>> Budget(1, "1e-6", most=2).bars.q
    54
    """

    epsilon: Fraction
    delta: Fraction
    most: int
    share: Fraction | None

    def __init__(self, epsilon: Number, delta: Number, *, most: int = 1, certify: Number | None = None) -> None:
        object.__setattr__(self, "epsilon", EPSILON.check(epsilon))
        object.__setattr__(self, "delta", DELTA.check(delta))
        object.__setattr__(self, "most", integer(UNITS, most))
        object.__setattr__(self, "share", None if certify is None else SHARE.check(certify))
        try:
            self.bars, self.total  # noqa: B018  (a budget that no table can meet is refused now)
        except InputError:
            if self.most == 1 and self.share is None:
                raise
            got = {"epsilon": self.epsilon, "delta": self.delta}
            remedies = ["a larger epsilon or delta"]
            if self.most > 1:
                got[UNITS] = Fraction(self.most)
                remedies.append(f"a smaller {UNITS}")
            if self.share is not None:
                got["certify"] = self.share
                remedies.append("a certify nearer to one half")
            raise InputError(
                f"epsilon and delta are too small to be shared by {' and '.join(list(got)[2:])}: a bar could lose too "
                f"many records; got {', '.join(f'{name}={number_text(value)}' for name, value in got.items())}. "
                f"Choose {', or '.join(remedies)}."
            ) from None

    @cached_property
    def bars(self) -> DropNoise:
        """What each bar loses."""
        each = _of_each_bar(self.epsilon, self.delta, self.most, self.share)
        return DropNoise(each.epsilon, each.delta)

    @cached_property
    def total(self) -> DropNoise | None:
        """What is added to the number of contributions, where a bound of it is published."""
        if self.share is None:
            return None
        step = self.epsilon * self.share / self.most
        return DropNoise(step, self.delta * self.share / _growth(step, self.most))

    def privacy(self, unit: str = "record") -> Privacy:
        """What is promised to each unit."""
        return Privacy(epsilon=self.epsilon, delta=self.delta, neighbours=AddRemove(unit, self.most))


def has_reach(reach: object, epsilon: Number, delta: Number, *, most: int = 1, certify: Number | None = None) -> bool:
    """Whether the bars of such a budget have this reach; told without making their table."""
    if type(reach) is not int or not 0 < reach <= LARGEST_REACH:
        return False
    share = None if certify is None else SHARE.check(certify)
    each = _of_each_bar(EPSILON.check(epsilon), DELTA.check(delta), integer(UNITS, most), share)
    return smallest_reach(each.epsilon, each.delta, at_most=reach) == reach


def _of_each_bar(epsilon: Fraction, delta: Fraction, most: int, share: Fraction | None) -> Privacy:
    rest = 1 - (share or 0)
    return per_bucket(epsilon * rest, delta * rest, most)


def _growth(step: Fraction, times: int) -> Fraction:
    """An upper bound of 1 + e^step + … + e^{(times−1)·step}."""
    if times == 1:
        return Fraction(1)
    context = Context(prec=60, rounding=ROUND_CEILING)
    exponent = context.divide(Decimal(step.numerator), Decimal(step.denominator))
    ratio = Fraction(context.exp(exponent)) * (1 + Fraction(1, 10**50))  # right to its last digit, then a little more
    base = context.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    total, power = Decimal(0), Decimal(1)  # the sum of so many terms, and the next one
    for bit in f"{times:b}":  # twice as many terms, and where the bit is set one more; all is rounded up
        total, power = context.fma(total, power, total), context.multiply(power, power)
        if bit == "1":
            total, power = context.add(total, power), context.multiply(power, base)
    return Fraction(total)
