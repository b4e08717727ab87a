"""The paper's families of parameters, with its errata applied."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction

from flexdp._core.domains import TAU, Domain, choice, integer
from flexdp._core.exact import Number
from flexdp.errors import InputError
from flexdp.noise.calibration import DIGITS, smallest_delta
from flexdp.noise.table import LARGEST_REACH
from flexdp.planning.solving import Plan, solve

__all__ = ["REGIMES", "regime"]

_EXPONENT = Domain(
    name="exponent", low=Fraction(0), high=Fraction(1), remedy="A bucket may lose a share n^-exponent of the records."
)

REGIMES = ("inverse-root", "polylog", "constant")


def regime(
    name: str,
    *,
    records_at_least: Number,
    buckets: Number | None = None,
    beta: Number | None = None,
    span: Number | None = None,
    tau: Number | None = None,
    exponent: Number | None = None,
) -> Plan:
    """One of the paper's families of parameters (Rem. hist-params and Sec. choosing-params), as a plan.

    The paper writes q = τ|x|, which its privacy theorem does not survive (docs/errata.md); here q is fixed by the
    public number n = ``records_at_least``, δ is the smallest for (ε, q), and buckets are counted or T = ⌈B / 2β⌉.

    - ``"inverse-root"``: ε = 1/√(τn) and q = ⌊τn⌋, which must be at least 4. Without ``tau`` it is n^{-1/2}, so that
      ε ≈ n^{-1/4}. The share left out is at most T/√n, where the paper's remark has t/n^{1/4}.
    - ``"polylog"``: ε = 1/ln²n and q = ⌊ln⁴n⌋. At most (1/ε²)·T records are left out, that is (1/ε²)·B/2β; the paper's
      text has the fraction upside down, (1/ε²)·2β/B.
    - ``"constant"``: ε = 0.1 and q = ⌊n^{1−c}⌋, with c = ``exponent``, 1/2 without one. At most n^{1−c}·T records are
      left out; the paper has B/2β for T, which must be rounded up to a whole number.

    δ is never below 1e-30, the smallest that the noise takes; where a regime would allow a smaller one, q is
    smaller instead.

    >>> plan = regime("constant", records_at_least=10**6, span=100, beta=1)
    >>> float(plan.epsilon), plan.q, plan.buckets, float(plan.alpha)
    (0.1, 1000, 50, 0.04995)
    """
    records = integer("records_at_least", records_at_least, at_least=2, at_most=10**18)
    name = choice("name", name, REGIMES)
    for option, value, owner in (("tau", tau, "inverse-root"), ("exponent", exponent, "constant")):
        if value is not None and name != owner:
            raise InputError(f"{option} belongs to the regime {owner!r}; leave it out of {name!r}.")
    if name == "inverse-root":
        reach = math.isqrt(records) if tau is None else math.floor(TAU.check(tau) * records)
        if reach < 4:
            raise InputError("tau and records_at_least must give τn of at least 4, so that ε is at most 1/2.")
        loss = _digits_up(Context(prec=60).sqrt(Decimal(reach)))
    elif name == "polylog":
        context = Context(prec=60)
        square = context.power(context.ln(Decimal(records)), 2)
        loss, reach = _digits_up(square), int(context.multiply(square, square))
    else:
        loss, reach = Fraction(1, 10), _floor_power(records, 1 - _exponent(exponent))
    if reach < 2:
        raise InputError("records_at_least is too small for this regime: q would be below 2. Raise it.")
    reach = min(reach, LARGEST_REACH)
    return solve(
        epsilon=loss,
        delta=smallest_delta(loss, reach),
        records_at_least=records,
        buckets=buckets,
        beta=beta,
        span=span,
    )


def _exponent(exponent: Number | None) -> Fraction:
    """c of τ = n^{−c}, with a denominator that roots can be taken of."""
    power = Fraction(1, 2) if exponent is None else _EXPONENT.check(exponent)
    if power.denominator > 1000:
        raise InputError("exponent must be a fraction with a denominator of at most 1000; write it with three digits.")
    return power


def _floor_power(base: int, power: Fraction) -> int:
    """⌊base^power⌋ for a power in (0, 1), in integers."""
    target, low, high = base**power.numerator, 0, base + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**power.denominator <= target else (low, middle)
    return low


def _digits_up(inverse: Decimal) -> Fraction:
    """1 / inverse to twelve digits, rounded up."""
    value = 1 / Fraction(inverse)
    step = Fraction(10) ** (math.floor(math.log10(value)) - DIGITS + 1)
    return math.ceil(value / step) * step
