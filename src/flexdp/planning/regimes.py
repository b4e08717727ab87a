"""The paper's families of parameters, with its errata applied."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction
from typing import Literal, TypeAlias, get_args

from flexdp._core.domains import POSITIVE_BETA, SPAN, TAU, Domain, choice, integer
from flexdp._core.enclosure import least
from flexdp._core.exact import Number, to_digits
from flexdp.errors import InputError, P
from flexdp.noise.calibration import DIGITS, smallest_delta
from flexdp.noise.table import LARGEST_REACH
from flexdp.planning.solve import Solved, solve

__all__ = ["REGIMES", "regime"]

_EXPONENT = Domain(
    name="exponent", low=Fraction(0), high=Fraction(1), remedy="A bucket may lose a share n^-exponent of the records."
)

Regime: TypeAlias = Literal["inverse-root", "polylog", "constant", "root-dropped", "log-dropped"]
REGIMES: tuple[Regime, ...] = get_args(Regime)


def regime(
    name: Regime,
    *,
    records_at_least: Number,
    buckets: Number | None = None,
    beta: Number | None = None,
    span: Number | None = None,
    tau: Number | None = None,
    exponent: Number | None = None,
) -> Solved:
    """Plan with one of the paper's families of parameters (Introduction, Rem. hist-params, Sec. choosing-params).

    The paper writes q = τ|x|, for which its privacy theorem fails (docs/errata.md); here q is fixed by the public
    number n = ``records_at_least``, δ is the smallest for (ε, q), and buckets are counted or T = ⌈B / 2β⌉.

    - ``"inverse-root"``: ε = 1/√(τn) and q = ⌊τn⌋, which must be at least 4. Without ``tau`` it is n^{-1/2}, so that
      ε ≈ n^{-1/4}. The share left out is at most T/√n, where the paper's remark has t/n^{1/4}.
    - ``"polylog"``: ε = 1/ln²n and q = ⌊ln⁴n⌋. At most (1/ε²)·T records are left out, that is (1/ε²)·B/2β; the paper's
      text has the fraction upside down, (1/ε²)·2β/B.
    - ``"constant"``: ε = 0.1 and q = ⌊n^{1−c}⌋, with c = ``exponent``, 1/2 without one. At most n^{1−c}·T records are
      left out; the paper has B/2β for T, which must be rounded up to a whole number.
    - ``"root-dropped"``, the introduction's first example for max: ε = n^{−1/4} and α = 1/√n, so that at most √n
      records are left out in all, by T buckets that lose at most √n/T each. δ is e^{−Ω(n^{1/4})} for a fixed T.
    - ``"log-dropped"``, its second: ε = 0.1 and α = ln²n/n, at most ln²n records in all. δ is n^{−Ω(ln n)}, with 0.05/T
      in the exponent: below 1/n it comes only where ln n is about 20·T.

    δ is never below 1e-30, the smallest that the noise takes; if a regime would allow a smaller one, q is smaller
    instead.

    Parameters
    ----------
    name
        The family: "inverse-root", "polylog", "constant", "root-dropped" or "log-dropped".
    records_at_least
        n, the public number of records.
    buckets, beta, span
        T, the number of buckets, or two of them: half a bucket's width and the length of the interval, as in
        :func:`solve`.
    tau
        Share of the records that a bucket may lose; "inverse-root" only.
    exponent
        c of that share n^−c; "constant" only.

    Returns
    -------
    Solved
        The complete plan.

    Raises
    ------
    InputError
        If a parameter is out of range or belongs to another family, or n is too small.

    Examples
    --------
    >>> plan = regime("constant", records_at_least=10**6, span=100, beta=1)
    >>> float(plan.epsilon), plan.q, plan.buckets, float(plan.alpha)
    (0.1, 1000, 50, 0.04995)
    >>> plan = regime("root-dropped", records_at_least=10**12, buckets=10)
    >>> float(plan.epsilon), plan.max_drop * plan.buckets, float(plan.delta) < 1e-20
    (0.001, 1000000, True)
    """
    records = integer("records_at_least", records_at_least, at_least=2, at_most=10**18)
    choice("name", name, REGIMES)
    for option, value, owner in (("tau", tau, "inverse-root"), ("exponent", exponent, "constant")):
        if value is not None and name != owner:
            raise InputError(option, ("applies to ", P("name", owner), " only"), remedy="Leave it out.")
    if name == "inverse-root":
        reach = math.isqrt(records) if tau is None else math.floor(TAU.check(tau) * records)
        if reach < 4:
            raise InputError("tau", ("times ", P("records_at_least"), " must be at least 4, so that ε is at most 1/2"))
        loss = _digits_up(Context(prec=60).sqrt(Decimal(reach)))
    elif name == "polylog":
        context = Context(prec=60)
        square = context.power(context.ln(Decimal(records)), 2)
        loss, reach = _digits_up(square), int(context.multiply(square, square))
    elif name == "constant":
        loss, reach = Fraction(1, 10), _floor_power(records, 1 - _exponent(exponent))
    else:
        several = _bucket_count(buckets, beta, span)
        if name == "root-dropped":
            context = Context(prec=60)
            loss, lost = _digits_up(context.sqrt(context.sqrt(Decimal(records)))), math.isqrt(records)
        else:
            loss, lost = Fraction(1, 10), int(Context(prec=60).power(Context(prec=60).ln(Decimal(records)), 2))
        reach = lost // several + 1
    if reach < 2:
        raise InputError("records_at_least", "is too small: q would be below 2", given=str(records), remedy="Raise it.")
    reach = min(reach, LARGEST_REACH)
    return solve(
        epsilon=loss,
        delta=smallest_delta(loss, reach),
        records_at_least=records,
        buckets=buckets,
        beta=beta,
        span=span,
    )


def _bucket_count(buckets: Number | None, beta: Number | None, span: Number | None) -> int:
    """T, which decides how many records each bucket may lose."""
    if buckets is not None:
        return integer("buckets", buckets)
    if beta is None or span is None:
        raise InputError("buckets", ("must be given, or ", P("beta"), " and ", P("span")))
    return math.ceil(SPAN.check(span) / (2 * POSITIVE_BETA.check(beta)))


def _exponent(exponent: Number | None) -> Fraction:
    """c of τ = n^{−c}, with a denominator small enough to take roots."""
    power = Fraction(1, 2) if exponent is None else _EXPONENT.check(exponent)
    if power.denominator > 1000:
        raise InputError(
            "exponent", "must be a fraction with a denominator of at most 1000", remedy="Give at most three digits."
        )
    return power


def _floor_power(base: int, power: Fraction) -> int:
    """⌊base^power⌋ for a power in (0, 1), in integers."""
    target = base**power.numerator
    return least(lambda root: root**power.denominator > target, 1, base + 1) - 1


def _digits_up(inverse: Decimal) -> Fraction:
    """1 / inverse to twelve digits, rounded up."""
    return to_digits(1 / Fraction(inverse), DIGITS, up=True)
