"""The theorems that combine guarantees, each a function on values that states its hypotheses."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import TypeAlias

from flexdp._core.domains import BETA, EPSILON, Domain, flag, function, instance, integer, sequence, text
from flexdp._core.exact import Number, exact, float_up, sum_up
from flexdp._core.text import plain_scalar
from flexdp.errors import InputError
from flexdp.guarantees import DROP, DROP_MOVE, MOVE, Accuracy, Privacy

__all__ = [
    "SENSITIVITY",
    "DistortionSensitivity",
    "ErrorSensitivity",
    "bijection",
    "compose_accuracy",
    "compose_error",
    "deterministic_error",
    "drop_move_accuracy",
    "histogram_function",
    "identity",
    "laplace_accuracy",
    "only_at_zero",
    "post_process",
    "pre_process",
    "relax",
    "useful_accuracy",
]

MetricSensitivity: TypeAlias = Callable[[float], float]

_GAMMA = Domain(
    name="gamma",
    low=Fraction(0),
    high=Fraction(1),
    remedy="Choose the chance with which the error may be exceeded, for example gamma=0.05.",
)
SENSITIVITY = Domain(
    name="sensitivity",
    low=Fraction(0),
    remedy="Give how far one record can move the answer.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DistortionSensitivity:
    """σ_f: how much distortion of the input it takes to bring about a distortion of f's output.

    Paper, Def. dist-sens. ``bound(α)`` is an upper bound of σ_f(α), infinite where there is none. The relaxed form has
    two more parameters: the distorted output need only be matched up to lossy distance ``omega`` with loss ``theta``.
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
    """τ_{M,f}^{α,γ}: the output error of M when its input already carries an error β₁, allowing distortion α.

    Paper, Def. err-sens. ``alpha`` (measured by ``distortion``) and ``gamma`` are the distortion and the loss that M
    itself is allowed; ``bound(β₁)`` is an upper bound for an input error β₁ without loss. ``metric`` is that of the
    output; ``takes``, where given, the metric in which the input error must be measured. ``scales`` says that the bound
    also holds for errors relative to the values themselves, ``relative`` that M's own error is such a one, ``merges``
    that bars may fall together, so that what each of them may have lost is no longer known of each.
    """

    alpha: float | None
    gamma: float
    bound: MetricSensitivity
    metric: str
    takes: str | None = None
    max_drop: int | None = None
    distortion: str = DROP
    scales: bool = False
    relative: bool = False
    merges: bool = False

    def __post_init__(self) -> None:
        if self.alpha is not None:
            object.__setattr__(self, "alpha", _double("alpha", self.alpha))
        object.__setattr__(self, "gamma", _double("gamma", self.gamma))
        function("bound", self.bound, "β")
        for name in ("metric", "distortion"):
            object.__setattr__(self, name, text(name, getattr(self, name)))
        if self.takes is not None:
            object.__setattr__(self, "takes", text("takes", self.takes))
        if self.max_drop is not None:
            object.__setattr__(self, "max_drop", integer("max_drop", self.max_drop, at_least=0))
        for name in ("scales", "merges"):
            object.__setattr__(self, name, flag(name, getattr(self, name)))


def _double(name: str, value: object) -> float:
    """A bound as a double that is not below it; infinite where there is none."""
    given = plain_scalar(value)
    if isinstance(given, float) and given >= 0:
        return given
    return float_up(replace(BETA, name=name).check(given))


def compose_accuracy(
    first: Accuracy,
    second: ErrorSensitivity,
    *,
    sigma: DistortionSensitivity,
    sensitivity: MetricSensitivity | None = None,
) -> Accuracy:
    """Accuracy of M₂∘M₁ for f₂∘f₁: α = α₁ + σ_{f₁}(α₂), β = τ_{M₂,f₂}^{α₂,γ}(β₁, γ₁), γ = γ₁ + γ₂.

    Paper, Thm. compose-accuracy, with the bound τ^{α₂,γ₁+γ₂}(β₁, γ₁) ≤ τ^{α₂,γ₂}(β₁, 0): by the marginal-loss lemma the
    lost mass γ₁ can be put wholly on M₁'s output, and running M₂ on it costs no more. Requires σ_{f₁}(α₂) finite. With
    a relaxed σ the triangle inequality of the lossy distance adds Δ_{f₂}(ω) to β and θ to γ; ``sensitivity`` is then
    Δ_{f₂}.

    Where α is not known (None), what is known is the most that each bucket can lose. A distance and a fraction of the
    values have no sum.
    """
    first, second, sigma = _accuracy("first", first), _error("second", second), _sigma(sigma)
    _check_fit(first, second)
    beta = second.bound(first.beta)
    if math.isinf(beta) or (first.beta and first.relative_beta and not second.scales):
        raise InputError(
            "second has no bounded error at this beta; only drop-move holds: apply drop_move_accuracy to first."
        )
    if second.relative and (first.moved or (first.beta and not first.relative)):
        raise _unlike()
    gamma = sum_up(first.gamma, second.gamma)
    if sigma.omega or sigma.theta:
        if sensitivity is None:
            raise InputError("sensitivity is missing: a relaxed sigma needs that of the second function.")
        beta, gamma = sum_up(beta, sensitivity(sigma.omega)), sum_up(gamma, sigma.theta)
    distortion, max_drop = _distortion(first, second), _lost(first, second)
    more = None if second.alpha is None else _finite(sigma.bound(second.alpha))
    alpha = _add(first.alpha, more, distortion=distortion)
    if alpha is None and max_drop is None:
        raise InputError(
            "alpha is not known, nor what each bar may have lost, because bars fall together or lose a fraction; say "
            "records_at_least and bars, and keep the number of records until they are needed."
        )
    return Accuracy(
        alpha=alpha,
        beta=beta,
        gamma=min(gamma, 1.0),
        relative=first.relative or second.relative,
        max_drop=max_drop,
        moved=first.moved,
        unit=first.unit,
        distortion=distortion,
        metric=second.metric,
    )


def compose_error(
    first: ErrorSensitivity, second: ErrorSensitivity, *, sigma: DistortionSensitivity
) -> ErrorSensitivity:
    """The error sensitivity of M₂∘M₁ for f₂∘f₁: α = α₁ + σ_{f₁}(α₂), γ = γ₁ + γ₂, τ₂∘τ₁.

    The same theorem for an input that carries an error already. The bound is infinite where a distance and a fraction
    of the values would have to be added.
    """
    first, second, sigma = _error("first", first), _error("second", second), _sigma(sigma)
    if second.takes is not None and first.metric != second.takes:
        raise _metrics(first.metric, second.takes)
    distortion = _distortion(first, second)
    unlike = (first.relative and not second.scales) or (second.relative and not first.relative and first.bound(0.0) > 0)
    more = None if second.alpha is None else sigma.bound(second.alpha)
    return ErrorSensitivity(
        alpha=_add(first.alpha, more, distortion=distortion),
        gamma=min(sum_up(first.gamma, second.gamma), 1.0),
        bound=lambda beta: math.inf if unlike else second.bound(first.bound(beta)),
        metric=second.metric,
        takes=first.takes,
        max_drop=_lost(first, second),
        distortion=distortion,
        scales=first.scales and second.scales,
        relative=first.relative or second.relative,
        merges=first.merges or second.merges,
    )


def _accuracy(name: str, value: object) -> Accuracy:
    return instance(name, value, Accuracy, "an Accuracy")


def _error(name: str, value: object) -> ErrorSensitivity:
    return instance(name, value, ErrorSensitivity, "an ErrorSensitivity")


def _sigma(value: object) -> DistortionSensitivity:
    return instance("sigma", value, DistortionSensitivity, "a DistortionSensitivity, for example identity()")


def _check_fit(first: Accuracy, second: ErrorSensitivity) -> None:
    if second.takes is not None and first.metric != second.takes:
        raise _metrics(first.metric, second.takes)
    _distortion(first, second)


def _metrics(given: str, needed: str) -> InputError:
    return InputError(f"metrics do not fit: the error is in {given!r}, and {needed!r} is needed.")


def _distortion(first: Accuracy | ErrorSensitivity, second: ErrorSensitivity) -> str:
    """The distortion in which both are measured; one that distorts nothing takes that of the other."""
    moved = isinstance(first, Accuracy) and first.moved > 0
    if second.alpha == 0 or second.distortion == first.distortion:
        return first.distortion
    if first.alpha == 0 and not moved:
        return second.distortion
    if {first.distortion, second.distortion} == {DROP, DROP_MOVE}:
        return DROP_MOVE
    raise InputError(
        f"distortions do not fit: {first.distortion!r} and {second.distortion!r} are measured differently."
    )


def _lost(first: Accuracy | ErrorSensitivity, second: ErrorSensitivity) -> int | None:
    """The most records that a bar can lose in two steps; None where that is not known, or nothing is ever lost."""
    if first.max_drop is None and second.max_drop is None:
        return None
    one, two = (0 if part.alpha == 0 and not part.max_drop else part.max_drop for part in (first, second))
    if one is None or two is None or (second.merges and one > 0):
        return None
    return one + two


def _unlike() -> InputError:
    return InputError(
        "these errors cannot be added: one is a distance and the other a fraction of the values; bucket by width or "
        "edges throughout, or by relative."
    )


def _finite(alpha: float) -> float:
    if math.isinf(alpha):
        raise InputError("sigma must be finite at the second mechanism's alpha; the composition theorem needs that.")
    return alpha


def _add(alpha: float | None, more: float | None, *, distortion: str) -> float | None:
    whole_table = distortion != MOVE and 1 in (alpha, more)  # nothing more can be left out
    if alpha is None or more is None:
        return 1.0 if whole_table else None
    total = sum_up(alpha, more)
    return total if distortion == MOVE or math.isinf(total) else min(total, 1.0)


def drop_move_accuracy(first: Accuracy, *, metric: str) -> Accuracy:
    """Accuracy of any function of a bucketed, thinned histogram: (α + ηβ, 0, γ) w.r.t. drop-move, for every η > 0.

    Paper, Thm. bucketing-general-drmv: what was an output error β of the histogram becomes a distortion of the input,
    by which values are moved, and no sensitivity of the function is needed.
    """
    first = _accuracy("first", first)
    if first.relative and first.moved and first.beta:
        raise _unlike()
    return Accuracy(
        alpha=first.alpha,
        beta=0,
        gamma=first.gamma,
        relative=first.relative,
        max_drop=first.max_drop,
        moved=sum_up(first.moved, first.beta),
        unit=first.unit,
        distortion=DROP_MOVE if first.beta or first.moved else first.distortion,
        metric=metric,
    )


def post_process(privacy: Privacy) -> Privacy:
    """Whatever is done to a private output keeps its privacy (Dwork and Roth, Prop. 2.1)."""
    return instance("privacy", privacy, Privacy, "a Privacy")


def pre_process(privacy: Privacy, *, relation: tuple[str, str] | None, keeps_condition: bool = False) -> Privacy:
    """Privacy of M₂∘M₁ where M₁ maps neighbours to neighbours (paper, Thm. compose-DP).

    ``relation`` is M₁'s: which neighbours it takes, and which it gives. They must be the ones M₂ is private for. A
    condition on the table (``privacy.given``) must be true of what M₁ makes of it, too: ``keeps_condition`` says so,
    for example where M₁ keeps the number of records.
    """
    if relation is None:
        raise InputError("the first mechanism does not map neighbours to neighbours; nothing follows about privacy.")
    privacy, pair = post_process(privacy), sequence(relation)
    if pair is None or len(pair) != 2:
        raise InputError("relation must be a pair of texts: the neighbours that are taken, and those that are given.")
    before, after = (text("relation", part) for part in pair)
    if after != privacy.neighbours:
        raise InputError(
            f"neighbours do not fit: the first mechanism gives {after!r}, "
            f"and the second is private for {privacy.neighbours!r}."
        )
    if not flag("keeps_condition", keeps_condition) and privacy.given:
        raise InputError(
            "keeps_condition must be True where privacy has a condition: it holds of the table only if the first "
            "mechanism keeps it."
        )
    return replace(privacy, neighbours=before)


def deterministic_error(
    sensitivity: MetricSensitivity, *, metric: str, takes: str | None = None, scales: bool = False
) -> ErrorSensitivity:
    """τ^{0,0}(β, 0) = Δ_f(β) where the mechanism is the function itself (paper, Lem. err-sens-deterministic)."""
    return ErrorSensitivity(alpha=0.0, gamma=0.0, bound=sensitivity, metric=metric, takes=takes, scales=scales)


def identity() -> DistortionSensitivity:
    """σ(α) ≤ α for the identity, measured by one distortion on both sides."""
    return DistortionSensitivity(bound=lambda alpha: alpha)


def bijection(bound: Callable[[float], float]) -> DistortionSensitivity:
    """σ of a deterministic bijection f: the largest ∂₁(x, f⁻¹(y)) with ∂₂(f(x), y) ≤ α, which the caller bounds."""
    return DistortionSensitivity(bound=bound)


def histogram_function() -> DistortionSensitivity:
    """σ(α) ≤ α for the map from a data set to its histogram, w.r.t. drop on both sides: it is a bijection."""
    return identity()


def only_at_zero() -> DistortionSensitivity:
    """What is true of every function: σ(0) = 0. Beyond that nothing is claimed."""
    return DistortionSensitivity(bound=lambda alpha: 0.0 if alpha == 0 else math.inf)


def relax(sigma: DistortionSensitivity, *, theta: Number, omega: Number) -> DistortionSensitivity:
    """The two-parameter form: outputs match up to distance ω, but for a mass θ (paper, remark on Def. dist-sens)."""
    loss, distance = exact("theta", theta), exact("omega", omega)
    if not 0 <= loss <= 1 or distance < 0:
        raise InputError("theta must be in [0, 1] and omega at least 0.")
    sigma = _sigma(sigma)
    return DistortionSensitivity(bound=sigma.bound, theta=float_up(loss), omega=float_up(distance))


def laplace_accuracy(*, sensitivity: Number, epsilon: Number, gamma: Number) -> Accuracy:
    """(0, (Δ/ε)·ln(1/γ), γ): what Laplace noise of scale Δ/ε exceeds with chance γ; rounded up.

    >>> laplace_accuracy(sensitivity=1, epsilon=1, gamma="0.05").beta
    2.9957322735539913
    """
    scale = SENSITIVITY.check(sensitivity) / EPSILON.check(epsilon)
    chance = _GAMMA.check(gamma)
    context = Context(prec=50, rounding=ROUND_CEILING)
    logarithm = Fraction(context.ln(context.divide(Decimal(chance.denominator), Decimal(chance.numerator))))
    slack = 1 + Fraction(1, 10**40)  # Decimal's logarithm is right to its last digit
    return Accuracy(alpha=0, beta=float_up(scale * logarithm * slack), gamma=gamma)


def useful_accuracy(*, beta: Number, gamma: Number, psi: Number = 0) -> Accuracy:
    """(β, γ, ψ)-usefulness of Blum, Ligett and Roth as flexible accuracy (paper, App. Comparison_BLR).

    With ψ = 0 it is (0, β, γ)-accuracy. For half-space counts on the unit sphere, where ψ rotates the half-space, it is
    (ψ, β, γ)-accuracy w.r.t. moving points: rotating the question is moving every point by at most ψ.
    """
    if exact("psi", psi) == 0:
        return Accuracy(alpha=0, beta=beta, gamma=gamma)
    return Accuracy(alpha=psi, beta=beta, gamma=gamma, distortion=MOVE)
