"""The composition theorem: what is promised of a mechanism, what it needs to know of the next one, and their sum.

Accuracy   (α, β, γ)-accuracy of M₁ for f₁, with respect to a distortion and a metric
Step       of M₂ for f₂, on inputs of which so much is known: α₂, τ, σ, Δ, and what is known afterwards

    M₁ is (α₁, β₁, γ₁)-accurate for f₁      τ_{M₂,f₂}^{α₂}(β₁, γ₁) = (β₂, γ₂)      σ = σ_{f₁}
    ─────────────────────────────────────────────────────────────────────────────────────────
                 M₂∘M₁ is (α₁ + σ(α₂), β₂, γ₂)-accurate for f₂∘f₁
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Any, Literal, TypeAlias

from flexdp._core.domains import BETA, GAMMA, choice, flag, function, instance
from flexdp._core.exact import Number, exact, float_up, said, sum_up
from flexdp._core.fields import Exact, Taken, Value, a, maybe, param, whole, word
from flexdp._core.text import plain_scalar
from flexdp.distances.metrics import Metric, metric_given
from flexdp.distortions import Distortion, Drop, DropMove, Winf, distortion_given
from flexdp.errors import InputError, P
from flexdp.guarantees import Accuracy

__all__ = [
    "Buckets", "Error", "Known", "Sigma", "Step", "compose_accuracy", "compose_steps", "function_step", "identity",
    "jump", "only_at_zero", "relax", "unchanged",
]  # fmt: skip

# What becomes of the records of a bucket. "kept": one record goes to one record, all records of a bucket to one bucket,
# no two buckets meet; or a record is left out, whatever other records there are. "merged": the same, but buckets may
# meet. "mixed": nothing is known.
Buckets: TypeAlias = Literal["kept", "merged", "mixed"]


class Known(Value):
    """Public knowledge of an input, on which accuracy may rest, and the γ that may be spent.

    Parameters
    ----------
    records_at_least
        Smallest number of records, if known.
    bars
        Largest number of non-empty buckets, if known.
    gamma
        Chance of failure that is allowed.

    Examples
    --------
    >>> Known(records_at_least=1000).bars is None
    True
    >>> Known(records_at_least=1000, bars=3).implies(Known(records_at_least=500))
    True
    """

    records_at_least: int | None = param(maybe(whole()), default=None, kw_only=True)
    bars: int | None = param(maybe(whole()), default=None, kw_only=True)
    gamma: Exact = param(GAMMA, default=Fraction(0), kw_only=True)

    def implies(self, needed: Known) -> bool:
        """Return True if inputs of which this is known meet a condition.

        Parameters
        ----------
        needed
            The condition; its γ plays no part.

        Returns
        -------
        bool
            True if it has enough records and few enough buckets.
        """
        enough = needed.records_at_least is None or (self.records_at_least or 0) >= needed.records_at_least
        few = needed.bars is None or (self.bars is not None and self.bars <= needed.bars)
        return enough and few


@dataclass(frozen=True, slots=True)
class Error:
    """An error β that is exceeded with chance at most γ: the arguments of τ, and its value.

    Parameters
    ----------
    beta
        The error; infinite where there is no bound.
    gamma
        Chance of a larger one.
    relative
        True if β is a fraction of the values.

    Examples
    --------
    >>> Error(2.5).through(lambda beta: 2 * beta).plus(1, gamma=0.05)
    Error(beta=6.0, gamma=0.05, relative=False)
    >>> Error(0.1, relative=True).plus(0.1, relative=True).beta
    0.21000000000000002
    """

    beta: float = 0.0
    gamma: float = 0.0
    relative: bool = False

    def through(self, bound: Callable[[float], float], *, scales: bool = False) -> Error:
        """Return the error after a function that moves by at most ``bound(β)``, Δ_f, when its input moves by β.

        Parameters
        ----------
        bound
            Δ_f; infinite where the function jumps.
        scales
            True if it bounds errors relative to the values, too. Otherwise such an error has no bound afterwards.

        Returns
        -------
        Error
            With the same γ.
        """
        mixes = self.relative and self.beta > 0 and not scales
        return replace(self, beta=math.inf if mixes else bound(self.beta))

    def plus(self, beta: float, *, gamma: float = 0.0, relative: bool = False) -> Error:
        """Return the error with a mechanism's own added: distances to distances, fractions to fractions.

        Relative to the new value c, |x − c| ≤ ρ₁|c₁| + ρ|c| and |c₁| ≤ (1 + ρ)|c|: fractions add up to ρ₁ + ρ + ρ₁ρ.

        Parameters
        ----------
        beta
            Own error.
        gamma
            Chance of a larger one.
        relative
            True if it is a fraction of the values.

        Returns
        -------
        Error
            The sum; infinite where a relative error is followed by a distance.

        Raises
        ------
        InputError
            A distance is followed by a relative error.
        """
        if relative and self.beta and not self.relative:
            raise unlike()
        lost = min(sum_up(self.gamma, gamma), 1.0)
        if not relative and self.relative and self.beta:
            return Error(math.inf, lost)
        both = float_up(said(float(self.beta)) * said(float(beta))) if relative and self.beta else 0.0
        return Error(sum_up(self.beta, beta, both), lost, relative or (self.relative and self.beta > 0))


def _double(name: str, value: object) -> float:
    """A bound as a double that is not below it; infinite where there is none."""
    given = value if type(value) is float else plain_scalar(value)
    if isinstance(given, float) and given >= 0:
        return given
    return float_up(replace(BETA, name=name).check(given))


@dataclass(frozen=True, slots=True)
class Sigma:
    """σ_f: the distortion of the input that brings about a distortion of f's output (paper, Def. dist-sens).

    Parameters
    ----------
    bound
        Upper bound of σ_f(α) as a function of α, infinite where there is none.
    theta, omega
        The relaxed form: the distorted output need only be matched up to lossy distance ω with loss θ.

    Examples
    --------
    >>> Sigma(lambda alpha: 2 * alpha)(0.1)
    0.2
    """

    bound: Callable[[float], float]
    theta: float = 0.0
    omega: float = 0.0

    def __post_init__(self) -> None:
        function("bound", self.bound, "α")
        for name in ("theta", "omega"):
            object.__setattr__(self, name, _double(name, getattr(self, name)))

    def __call__(self, alpha: float) -> float:
        """Bound σ(α).

        Parameters
        ----------
        alpha
            Distortion of the output.

        Returns
        -------
        float
            That of the input.
        """
        return self.bound(alpha)


def unchanged(error: Error) -> Error:
    """Return τ of a step that adds no error to that of its input: the error itself.

    Parameters
    ----------
    error
        Error of the input.

    Returns
    -------
    Error
        The same.

    Examples
    --------
    >>> unchanged(Error(2.5)).beta
    2.5
    """
    return error


def jump(beta: float) -> float:
    """Return Δ_f of a function of which nothing is known: 0 at 0, and no bound beyond.

    Parameters
    ----------
    beta
        Distance of two inputs.

    Returns
    -------
    float
        0 or infinity.

    Examples
    --------
    >>> jump(0.0), jump(0.1)
    (0.0, inf)
    """
    return math.inf if beta else 0.0


def identity() -> Sigma:
    """Return σ(α) ≤ α of the identity, and of every function by which each record goes to one record.

    Returns
    -------
    Sigma
        The bound.

    Examples
    --------
    >>> identity()(0.1)
    0.1
    """
    return _IDENTITY


def only_at_zero() -> Sigma:
    """Return the bound that every function has: σ(0) = 0, and nothing is claimed beyond.

    Returns
    -------
    Sigma
        The bound.

    Examples
    --------
    >>> only_at_zero()(0), only_at_zero()(0.1)
    (0.0, inf)
    """
    return _ONLY_AT_ZERO


def relax(sigma: Sigma, *, theta: Number, omega: Number) -> Sigma:
    """Return the two-parameter form: outputs match up to distance ω, but for a mass θ (paper, Rem. on Def. dist-sens).

    Parameters
    ----------
    sigma
        The bound to relax.
    theta
        Mass that need not match.
    omega
        Distance up to which the rest matches.

    Returns
    -------
    Sigma
        The relaxed bound.

    Raises
    ------
    InputError
        ``theta`` is not a probability, or ``omega`` is negative.

    Examples
    --------
    >>> relax(identity(), theta="0.1", omega=2).omega
    2.0
    """
    loss, distance = exact("theta", theta), exact("omega", omega)
    if not 0 <= loss <= 1 or distance < 0:
        raise InputError("theta", ("must be in [0, 1], and ", P("omega"), " at least 0"))
    return Sigma(_sigma(sigma).bound, float_up(loss), float_up(distance))


_IDENTITY = Sigma(lambda alpha: alpha)
_ONLY_AT_ZERO = Sigma(lambda alpha: 0.0 if alpha == 0 else math.inf)


def _function_of(what: str) -> Callable[[str, Any], Callable[..., Any]]:
    return lambda name, value: function(name, value, what)


def _buckets_given(name: str, value: Any) -> str:
    words = ("kept", "merged", "mixed")
    return value if type(value) is str and value in words else choice(name, value, words)


def _nowhere(_beta: float) -> float:
    return math.inf


class Step(Value):
    """A mechanism M for a function f, on inputs of which something is known: all that composition asks of it.

    Parameters
    ----------
    tau
        τ_{M,f}^α (paper, Def. err-sens): the error of the output as a function of that of the input, own error and own
        loss included. Between histograms it may suppose that both hold equally many records.
    metric
        Metric of the output error.
    alpha
        Distortion that M itself is allowed, measured by ``distortion``; None where it is not known.
    max_drop
        Most records that each bucket can lose, if there is such a bound.
    sigma
        σ_f; by default nothing but σ(0) = 0.
    moves
        Δ_f(β), how far f's values are apart for inputs within β, of whatever size; needed after a relaxed σ only.
    after
        What is known of the output.
    buckets
        What becomes of the records of a bucket. "kept": one record goes to one record of one bucket, the same for all
        records of a bucket, and no two buckets meet; or it is left out. That must not depend on other records.
        "merged": the same, but buckets may meet. "mixed": nothing is known, and a number of records that later steps
        take from each bucket is not carried back.
    distortion
        Measure of ``alpha``.
    takes
        Metric in which the input error must be measured; any, if left out.
    unit
        Unit of the error, such as "days".

    Examples
    --------
    >>> from flexdp.distances import Difference
    >>> Step(lambda error: error.through(lambda beta: 2 * beta), metric=Difference()).tau(Error(1.5)).beta
    3.0
    """

    tau: Callable[[Error], Error] = param(_function_of("an Error"))
    metric: Taken[Metric | Callable[[Any, Any], Any], Metric] = param(metric_given, kw_only=True)
    alpha: Taken[Number | None, float | None] = param(maybe(_double), default=0.0, kw_only=True)
    max_drop: int | None = param(maybe(whole(0)), default=None, kw_only=True)
    sigma: Sigma = param(a(Sigma, "a Sigma, for example identity()"), default=_ONLY_AT_ZERO, kw_only=True)
    moves: Callable[[float], float] = param(_function_of("β"), default=_nowhere, kw_only=True)
    after: Known = param(a(Known, "a Known"), default=Known(), kw_only=True)
    buckets: Buckets = param(_buckets_given, default="mixed", kw_only=True)
    distortion: Taken[Distortion | Callable[[Any, Any], Any], Distortion] = param(
        distortion_given, default=Drop(), kw_only=True
    )
    takes: Taken[Metric | Callable[[Any, Any], Any] | None, Metric | None] = param(
        maybe(metric_given), default=None, kw_only=True
    )
    unit: str = param(word("'days'"), default="", kw_only=True)


def function_step(
    sensitivity: Callable[[float], float],
    *,
    metric: Metric | Callable[[Any, Any], Any],
    takes: Metric | Callable[[Any, Any], Any] | None = None,
    scales: bool = False,
    sigma: Sigma = _ONLY_AT_ZERO,
) -> Step:
    """Return the step of a function that is its own mechanism: τ(β, 0) = Δ_f(β) (paper, Lem. err-sens-deterministic).

    Parameters
    ----------
    sensitivity
        Δ_f as a function of β.
    metric
        Metric of the output.
    takes
        Metric of the input; any, if left out.
    scales
        True if Δ_f bounds errors relative to the values, too.
    sigma
        σ_f.

    Returns
    -------
    Step
        Without distortion or loss of its own.

    Examples
    --------
    >>> from flexdp.distances import Difference
    >>> function_step(lambda beta: 2 * beta, metric=Difference()).tau(Error(1.5)).beta
    3.0
    """
    moves, keeps = function("sensitivity", sensitivity, "β"), flag("scales", scales)
    return Step(lambda error: error.through(moves, scales=keeps), metric=metric, moves=moves, sigma=sigma, takes=takes)


def compose_accuracy(first: Accuracy, second: Step, *, sigma: Sigma, keeps_bars: bool = False) -> Accuracy:
    """Derive the accuracy of M₂∘M₁ for f₂∘f₁: α = α₁ + σ_{f₁}(α₂), (β, γ) = τ_{M₂,f₂}^{α₂}(β₁, γ₁).

    Paper, Thm. compose-accuracy. Requires σ_{f₁}(α₂) finite. A τ that adds γ₁ to its own loss is right: by the
    marginal-loss lemma the lost mass γ₁ can be put wholly on M₁'s output, and running M₂ on it costs no more. Where the
    error is bounded by the same number for any two inputs, as that of a constant, γ₁ makes no difference. With a
    relaxed σ the triangle inequality of the lossy distance adds Δ_{f₂}(ω) to β and θ to γ, unless α₂ = 0, when nothing
    is distorted. Where α is not known (None), what is known is the most that each bucket can lose. A distance and a
    fraction of the values have no sum.

    A fraction that M₂ leaves out goes back to the input through σ. A number of records of each bucket does not: M₁ may
    have spread the records of one bucket over many, each of which loses so many. It is known of the buckets of the
    input only with ``keeps_bars``.

    Parameters
    ----------
    first
        Accuracy of M₁ for f₁.
    second
        M₂ for f₂.
    sigma
        Distortion sensitivity of f₁.
    keeps_bars
        True if M₁ sends one record to one record, and all records of a bucket to one bucket, so that no bucket of its
        input loses more than the most that a bucket of its output does.

    Returns
    -------
    Accuracy
        The guarantee of the composition.

    Raises
    ------
    InputError
        The measures do not fit, a bound is infinite, or a distance would have to be added to a fraction.

    Examples
    --------
    >>> from flexdp.distances import Difference
    >>> doubled = function_step(lambda beta: 2 * beta, metric=Difference())
    >>> print(compose_accuracy(Accuracy(alpha=.02, beta=2.5), doubled, sigma=identity()))
    Exact after leaving out at most 2% of the records, to within 5.
    >>> constant = function_step(lambda beta: 0.0, metric=Difference())
    >>> compose_accuracy(Accuracy(alpha=0, beta=1, gamma=.1), constant, sigma=identity()).gamma
    0.0
    """
    before = instance("first", first, Accuracy, "an Accuracy")
    step, sigma = _step("second", second), _sigma(sigma)
    found = composed(before, step, sigma=sigma, keeps_bars=flag("keeps_bars", keeps_bars))
    if found is None:
        raise InputError(
            "second",
            "has no bounded error at this beta",
            remedy="Only drop-move holds: apply drop_move_accuracy to the first guarantee.",
        )
    return found


def composed(first: Accuracy, second: Step, *, sigma: Sigma, keeps_bars: bool) -> Accuracy | None:
    """The theorem; None where the error is unbounded: f₂ jumps, or mixes values whose errors are relative."""
    _check_metrics(first.metric, second.takes)
    distortion = _common(first, second, moved=first.moved > 0)
    error = _through(second, Error(first.beta, first.gamma, first.relative_beta), first.metric)
    if math.isinf(error.beta):
        return None
    if error.relative and first.moved:
        raise unlike()
    more_beta, more_gamma = _relaxed_cost(sigma, second)
    if math.isinf(more_beta):
        raise InputError(
            "moves",
            ("must be finite at the omega of a relaxed ", P("sigma")),
            remedy="A mechanism declares it in its Step.",
        )
    max_drop = _lost(first, second, keeps_bars=keeps_bars)
    more = None if second.alpha is None else sigma(second.alpha)
    if more is not None and math.isinf(more):
        raise InputError("sigma", "must be finite at the second mechanism's alpha, as the composition theorem requires")
    alpha = _add(first.alpha, more, distortion)
    if alpha is None and max_drop is None:
        raise InputError(
            "alpha",
            "is not known, nor the loss of each bucket: buckets are merged, lose a fraction, or may be split before, "
            "by a step that does not declare what becomes of its buckets",
            remedy=("Give ", P("records_at_least"), " and ", P("bars"), ", and keep the number of records until then."),
        )
    return Accuracy(
        alpha=alpha,
        beta=sum_up(error.beta, more_beta),
        gamma=min(sum_up(error.gamma, more_gamma), 1.0),
        relative=error.relative or (first.relative and first.moved > 0),
        max_drop=max_drop,
        moved=first.moved,
        unit=first.unit or second.unit,
        distortion=distortion,
        metric=second.metric,
    )


def compose_steps(first: Step, second: Step) -> Step:
    """Derive the step M₂∘M₁ for f₂∘f₁: α = α₁ + σ_{f₁}(α₂), τ₂∘τ₁, σ₁∘σ₂, Δ₂∘Δ₁.

    The same theorem for an input that already carries an error.

    Parameters
    ----------
    first, second
        The steps; what is known after the first must be what the second supposes.

    Returns
    -------
    Step
        Both as one.

    Examples
    --------
    >>> from flexdp.distances import Difference
    >>> doubled = function_step(lambda beta: 2 * beta, metric=Difference())
    >>> compose_steps(doubled, doubled).tau(Error(1.0)).beta
    4.0
    """
    one, two = _step("first", first), _step("second", second)
    _check_metrics(one.metric, two.takes)
    distortion = _common(one, two, moved=False)
    more_beta, more_gamma = _relaxed_cost(one.sigma, two)

    def tau(error: Error) -> Error:
        between = one.tau(error)
        if math.isinf(between.beta):
            return Error(math.inf, 1.0)
        found = _through(two, between, one.metric)
        return replace(found, beta=sum_up(found.beta, more_beta), gamma=min(sum_up(found.gamma, more_gamma), 1.0))

    more = None if two.alpha is None else one.sigma(two.alpha)
    return Step(
        tau,
        metric=two.metric,
        alpha=_add(one.alpha, more, distortion),
        max_drop=_lost(one, two, keeps_bars=one.buckets != "mixed"),
        sigma=sigma_of([one, two]),
        moves=lambda beta: moved_by([one, two], beta),
        after=two.after,
        buckets=max(one.buckets, two.buckets, key=("kept", "merged", "mixed").index),
        distortion=distortion,
        takes=one.takes,
        unit=one.unit or two.unit,
    )


def sigma_of(steps: Sequence[Step]) -> Sigma:
    """σ of functions in a row, from the last to the first; what one matches only up to ω, later ones move."""
    theta = omega = 0.0
    for step in steps:
        carried = moved_by([step], omega) if theta or omega else 0.0
        theta, omega = min(sum_up(theta, step.sigma.theta), 1.0), sum_up(carried, step.sigma.omega)
    bounds = [step.sigma.bound for step in reversed(steps)]
    return Sigma(lambda alpha: reduce(lambda value, bound: bound(value), bounds, alpha), theta, omega)


def moved_by(steps: Sequence[Step], beta: float) -> float:
    """Δ of functions in a row; infinite once one of them is."""
    for step in steps:
        if math.isinf(beta):
            break
        beta = step.moves(beta)
    return beta


def _through(second: Step, error: Error, metric: Metric) -> Error:
    """τ₂(β₁, γ₁); where it is no more than for any two inputs, what was lost makes no difference.

    Histograms that were lost may be of another size than a bound on histograms supposes. Where τ₂ has no bound at γ₁,
    losses add up: τ^{γ₁+γ₂}(β₁, γ₁) ≤ τ^{γ₂}(β₁, 0), the marginal-loss lemma.
    """
    found = second.tau(error)
    if error.gamma and math.isinf(found.beta):
        sure = second.tau(replace(error, gamma=0.0))
        found = replace(sure, gamma=min(sum_up(sure.gamma, error.gamma), 1.0))
    if error.gamma and metric != Winf() and not math.isinf(found.beta):
        try:
            anything = second.tau(Error(math.inf, 0.0, error.relative))
        except (ArithmeticError, ValueError):  # a bound that is not defined there
            return found
        if anything.beta <= found.beta and anything.gamma < found.gamma:  # not so for NaN
            return anything
    return found


def _relaxed_cost(sigma: Sigma, second: Step) -> tuple[float, float]:
    """The error and the loss that a relaxed σ adds; none where the second step distorts nothing."""
    if not (sigma.omega or sigma.theta) or second.alpha == 0:
        return 0.0, 0.0
    return (math.inf if math.isinf(sigma.omega) else second.moves(sigma.omega)), sigma.theta


def _common(first: Accuracy | Step, second: Step, *, moved: bool) -> Distortion:
    """The distortion in which both are measured; one that distorts nothing takes that of the other."""
    one, two = first.distortion, second.distortion
    if second.alpha == 0 or one == two:
        return one
    if first.alpha == 0 and not moved:
        return two
    for drop, other in ((one, two), (two, one)):  # what is dropped is so at any price of moving
        if drop == Drop() and isinstance(other, DropMove) and (not moved or other == DropMove()):
            return other
    raise InputError("distortion", f"must be the same throughout: {str(one)!r} and {str(two)!r} have no sum")


def _lost(first: Accuracy | Step, second: Step, *, keeps_bars: bool) -> int | None:
    """The most records that a bucket can lose in two steps; None where that is not known, or nothing is ever lost."""
    if first.max_drop is None and second.max_drop is None:
        return None
    one, two = (0 if part.alpha == 0 and not part.max_drop else part.max_drop for part in (first, second))
    if one is None or two is None or (second.buckets == "merged" and one > 0) or (two > 0 and not keeps_bars):
        return None
    return one + two


def _add(alpha: float | None, more: float | None, distortion: Distortion) -> float | None:
    whole_table = distortion.fraction and 1 in (alpha, more)  # nothing more can be left out
    if alpha is None or more is None:
        return 1.0 if whole_table else None
    total = sum_up(alpha, more)
    return min(total, 1.0) if distortion.fraction else total


def _check_metrics(given: Metric, needed: Metric | None) -> None:
    if needed is not None and given != needed:
        rule = f"must be {str(needed)!r}: the metrics do not fit"
        raise InputError("metric", rule, given=repr(str(given)))


def unlike() -> InputError:
    """The refusal to add a distance to a fraction of the values."""
    return InputError(
        "beta",
        "has no sum: one error is a distance and the other a fraction of the values",
        remedy="Bucket by width or edges throughout, or by relative.",
    )


def _sigma(value: object) -> Sigma:
    return instance("sigma", value, Sigma, "a Sigma, for example identity()")


def _step(name: str, value: object) -> Step:
    return instance(name, value, Step, "a Step")
