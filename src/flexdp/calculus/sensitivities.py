"""The two sensitivities on which composition rests: of distortion (σ) and of error (τ)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from flexdp._core.domains import BETA, flag, function, integer
from flexdp._core.exact import Number, exact, float_up
from flexdp._core.text import plain_scalar, safe_repr
from flexdp.distances import Metric
from flexdp.distances.metrics import metric_given
from flexdp.distortions import Distortion, Drop, Winf, distortion_given
from flexdp.errors import InputError, P

__all__ = [
    "DistortionSensitivity",
    "ErrorSensitivity",
    "MetricSensitivity",
    "bijection",
    "deterministic_error",
    "histogram_function",
    "identity",
    "only_at_zero",
    "relax",
]

MetricSensitivity: TypeAlias = Callable[[float], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class DistortionSensitivity:
    """σ_f: the distortion of the input that brings about a distortion of f's output (paper, Def. dist-sens).

    Parameters
    ----------
    bound
        Upper bound of σ_f(α) as a function of α, infinite where there is none.
    theta, omega
        The relaxed form: the distorted output need only be matched up to lossy distance ω with loss θ.

    Examples
    --------
    >>> DistortionSensitivity(bound=lambda alpha: 2 * alpha).bound(0.1)
    0.2
    """

    bound: Callable[[float], float]
    theta: float = 0.0
    omega: float = 0.0

    def __post_init__(self) -> None:
        function("bound", self.bound, "α")
        for name in ("theta", "omega"):
            object.__setattr__(self, name, _double(name, getattr(self, name)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorSensitivity:
    """τ_{M,f}^{α,γ}: the output error of M when its input already carries an error (paper, Def. err-sens).

    Parameters
    ----------
    alpha
        Distortion that M itself is allowed, measured by ``distortion``; None where it is not known.
    gamma
        Loss that M itself is allowed.
    bound
        Upper bound of the output error as a function of an input error without loss, infinite where there is none.
        Between histograms it may suppose that both hold equally many records.
    metric
        Metric of the output error.
    takes
        Metric in which the input error must be measured; any, if left out.
    max_drop
        Most records that each bucket can lose, if there is such a bound.
    distortion
        Measure of ``alpha``.
    scales
        True if the bound holds for errors relative to the values, too.
    relative
        True if M's own error is relative to the values.
    merges
        True if buckets may be merged, so that a loss known of each of them is no longer known of each.
    lossy_bound
        Upper bound of the output error as a function of (β₁, γ₁), the error and the loss of the input, with no more
        loss than ``gamma`` in the output. If it is left out, composition adds the losses up, except where ``bound`` is
        finite at infinity and no larger there: what became of the lost mass then makes no difference.

    Examples
    --------
    >>> from flexdp.distances import Difference
    >>> ErrorSensitivity(alpha=0, gamma=0, bound=lambda beta: 2 * beta, metric=Difference()).bound(1.5)
    3.0
    >>> clipped = ErrorSensitivity(alpha=0, gamma=0, bound=lambda beta: min(beta, 10), metric=Difference())
    >>> clipped(1.5), clipped(1.5, 0.1)
    (1.5, 10.0)
    """

    alpha: float | None
    gamma: float
    bound: MetricSensitivity
    metric: Metric
    takes: Metric | None = None
    max_drop: int | None = None
    distortion: Distortion = Drop()
    scales: bool = False
    relative: bool = False
    merges: bool = False
    lossy_bound: Callable[[float, float], float] | None = None

    def __post_init__(self) -> None:
        if self.lossy_bound is not None:
            function("lossy_bound", self.lossy_bound, "β and γ")
        if self.alpha is not None:
            object.__setattr__(self, "alpha", _double("alpha", self.alpha))
        object.__setattr__(self, "gamma", _double("gamma", self.gamma))
        function("bound", self.bound, "β")
        object.__setattr__(self, "metric", metric_given("metric", self.metric))
        object.__setattr__(self, "distortion", distortion_given("distortion", self.distortion))
        if self.takes is not None:
            object.__setattr__(self, "takes", metric_given("takes", self.takes))
        if self.max_drop is not None:
            object.__setattr__(self, "max_drop", integer("max_drop", self.max_drop, at_least=0))
        for name in ("scales", "relative", "merges"):
            object.__setattr__(self, name, flag(name, getattr(self, name)))

    def __call__(self, beta: float, gamma: float = 0.0) -> float:
        """Bound τ^{α,γ}(β₁, γ₁): the output error for an input with error β₁ and loss γ₁, at this α and γ.

        Parameters
        ----------
        beta
            Error of the input.
        gamma
            Loss of the input.

        Returns
        -------
        float
            The bound; infinite where none is known.
        """
        if not gamma:
            return self.bound(beta)
        if self.lossy_bound is not None:
            return float(self.lossy_bound(beta, gamma))
        # Lost mass may be anywhere, so the bound for any two inputs serves; but lost histograms may be of another size.
        return math.inf if self.takes == Winf() else _at_infinity(self.bound)


def _at_infinity(bound: MetricSensitivity) -> float:
    """The bound for any two inputs; a function that is not defined there gives none."""
    try:
        found = float(bound(math.inf))
    except (ArithmeticError, ValueError):
        return math.inf
    return math.inf if math.isnan(found) else found


def _double(name: str, value: object) -> float:
    """A bound as a double that is not below it; infinite where there is none."""
    given = plain_scalar(value)
    if isinstance(given, float) and given >= 0:
        return given
    return float_up(replace(BETA, name=name).check(given))


def deterministic_error(
    sensitivity: MetricSensitivity, *, metric: Metric, takes: Metric | None = None, scales: bool = False
) -> ErrorSensitivity:
    """Return τ^{0,0}(β, 0) = Δ_f(β) of a function that is its own mechanism (paper, Lem. err-sens-deterministic).

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

    Returns
    -------
    ErrorSensitivity
        Without distortion or loss of its own.

    Examples
    --------
    >>> from flexdp.distances import Difference
    >>> deterministic_error(lambda beta: 2 * beta, metric=Difference()).bound(1.5)
    3.0
    """
    return ErrorSensitivity(alpha=0.0, gamma=0.0, bound=sensitivity, metric=metric, takes=takes, scales=scales)


def identity() -> DistortionSensitivity:
    """Return σ(α) ≤ α of the identity, measured by one distortion on both sides.

    Returns
    -------
    DistortionSensitivity
        The bound.

    Examples
    --------
    >>> identity().bound(0.1)
    0.1
    """
    return DistortionSensitivity(bound=lambda alpha: alpha)


def bijection(bound: Callable[[float], float]) -> DistortionSensitivity:
    """Return σ of a deterministic bijection f: the largest ∂₁(x, f⁻¹(y)) with ∂₂(f(x), y) ≤ α.

    Parameters
    ----------
    bound
        Upper bound of that distortion as a function of α.

    Returns
    -------
    DistortionSensitivity
        The bound.

    Examples
    --------
    >>> bijection(lambda alpha: alpha / 2).bound(0.1)
    0.05
    """
    return DistortionSensitivity(bound=bound)


def histogram_function() -> DistortionSensitivity:
    """Return σ(α) ≤ α of the map from a data set to its histogram, with respect to drop: it is a bijection.

    Returns
    -------
    DistortionSensitivity
        The bound.

    Examples
    --------
    >>> histogram_function().bound(0.1)
    0.1
    """
    return identity()


def only_at_zero() -> DistortionSensitivity:
    """Return the bound that every function has: σ(0) = 0, and nothing is claimed beyond.

    Returns
    -------
    DistortionSensitivity
        The bound.

    Examples
    --------
    >>> only_at_zero().bound(0), only_at_zero().bound(0.1)
    (0.0, inf)
    """
    return DistortionSensitivity(bound=lambda alpha: 0.0 if alpha == 0 else math.inf)


def relax(sigma: DistortionSensitivity, *, theta: Number, omega: Number) -> DistortionSensitivity:
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
    DistortionSensitivity
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
    sigma = sigma_given(sigma)
    return DistortionSensitivity(bound=sigma.bound, theta=float_up(loss), omega=float_up(distance))


def sigma_given(value: object) -> DistortionSensitivity:
    """A parameter that must be a distortion sensitivity."""
    if not isinstance(value, DistortionSensitivity):
        raise InputError("sigma", "must be a DistortionSensitivity, for example identity()", given=safe_repr(value))
    return value


def after_loss(beta: float, gamma: float, metric: Metric, second: ErrorSensitivity) -> float | None:
    """τ₂(β₁, γ₁), by which the loss γ₁ is not added up; None where that is not known or would cost more error.

    Histograms that were lost may be of another size than a bound on histograms supposes, unless it says so itself.
    """
    found = second(beta, gamma)
    if second.lossy_bound is not None:
        return None if math.isinf(found) else found
    if metric == Winf() or found > second.bound(beta) or math.isinf(found):
        return None
    return found


def relaxed_cost(
    sigma: DistortionSensitivity, second: ErrorSensitivity, sensitivity: MetricSensitivity | None
) -> tuple[float, float]:
    """The error and the loss that a relaxed σ adds; none where the second step distorts nothing."""
    if not (sigma.omega or sigma.theta) or second.alpha == 0:
        return 0.0, 0.0
    if sensitivity is None:
        raise InputError("sensitivity", ("is missing: a relaxed ", P("sigma"), " needs that of the second function"))
    return (math.inf if math.isinf(sigma.omega) else sensitivity(sigma.omega)), sigma.theta
