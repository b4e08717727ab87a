"""The composition theorems of accuracy, each a function on values that states its hypotheses."""

from __future__ import annotations

import math

from flexdp._core.domains import EPSILON, OPEN_GAMMA, SENSITIVITY, flag, instance
from flexdp._core.enclosure import log_bounds
from flexdp._core.exact import Number, exact, float_up, sum_up
from flexdp.calculus.sensitivities import (
    DistortionSensitivity,
    ErrorSensitivity,
    MetricSensitivity,
    after_loss,
    relaxed_cost,
    sigma_given,
)
from flexdp.distances import Metric
from flexdp.distortions import Distortion, Drop, DropMove, Move
from flexdp.errors import InputError, P
from flexdp.guarantees import Accuracy

__all__ = [
    "apply_error",
    "compose_accuracy",
    "compose_error",
    "drop_move_accuracy",
    "jumps",
    "laplace_accuracy",
    "useful_accuracy",
]


def compose_accuracy(
    first: Accuracy,
    second: ErrorSensitivity,
    *,
    sigma: DistortionSensitivity,
    sensitivity: MetricSensitivity | None = None,
    keeps_bars: bool = False,
) -> Accuracy:
    """Derive the accuracy of M₂∘M₁ for f₂∘f₁: α = α₁ + σ_{f₁}(α₂), β = τ_{M₂,f₂}^{α₂,γ₂}(β₁, γ₁), γ = γ₂.

    Paper, Thm. compose-accuracy. Requires σ_{f₁}(α₂) finite. So it is where τ is known with its second argument
    (``lossy_bound``), or where the error is bounded by the same number for any two inputs, as that of a constant. Else
    γ = γ₁ + γ₂ and β = τ^{α₂,γ₂}(β₁, 0), which is at least τ^{α₂,γ₁+γ₂}(β₁, γ₁): by the marginal-loss lemma the lost
    mass γ₁ can be put wholly on M₁'s output, and running M₂ on it costs no more. With a relaxed σ the triangle
    inequality of the lossy distance adds Δ_{f₂}(ω) to β and θ to γ, unless α₂ = 0, when nothing is distorted. Where α
    is not known (None), what is known is the most that each bucket can lose. A distance and a fraction of the values
    have no sum.

    A fraction that M₂ leaves out goes back to the input through σ. A number of records of each bucket does not: M₁ may
    have spread the records of one bucket over many, each of which loses so many. It is known of the buckets of the
    input only with ``keeps_bars``.

    Parameters
    ----------
    first
        Accuracy of M₁ for f₁.
    second
        Error sensitivity of M₂ for f₂.
    sigma
        Distortion sensitivity of f₁.
    sensitivity
        Δ_{f₂}; needed if ``sigma`` is relaxed and α₂ > 0.
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
    >>> from flexdp.calculus import deterministic_error, identity
    >>> from flexdp.distances import Difference
    >>> doubled = deterministic_error(lambda beta: 2 * beta, metric=Difference())
    >>> print(compose_accuracy(Accuracy(alpha=.02, beta=2.5), doubled, sigma=identity()))
    Exact after leaving out at most 2% of the records, to within 5.
    >>> constant = deterministic_error(lambda beta: 0.0, metric=Difference())
    >>> compose_accuracy(Accuracy(alpha=0, beta=1, gamma=.1), constant, sigma=identity()).gamma
    0.0
    """
    first, second, sigma = _accuracy("first", first), _error("second", second), sigma_given(sigma)
    if second.takes is not None and first.metric != second.takes:
        raise _metrics(first.metric, second.takes)
    distortion = _distortion(first, second)
    if jumps(first, second):
        raise InputError(
            "second",
            "has no bounded error at this beta",
            remedy="Only drop-move holds: apply drop_move_accuracy to the first guarantee.",
        )
    if second.relative and (first.moved or (first.beta and not first.relative)):
        raise _unlike()
    beta, gamma = second.bound(first.beta), sum_up(first.gamma, second.gamma)
    if first.gamma and (found := after_loss(first.beta, first.gamma, first.metric, second)) is not None:
        beta, gamma = found, second.gamma
    more_beta, more_gamma = relaxed_cost(sigma, second, sensitivity)
    if math.isinf(more_beta):
        raise InputError(
            "sensitivity",
            ("must be finite at the omega of a relaxed ", P("sigma")),
            remedy="A mechanism declares it as metric_sensitivity.",
        )
    beta, gamma = sum_up(beta, more_beta), sum_up(gamma, more_gamma)
    max_drop = _lost(first, second, keeps_bars=flag("keeps_bars", keeps_bars))
    more = None if second.alpha is None else _finite(sigma.bound(second.alpha))
    alpha = _add(first.alpha, more, distortion=distortion)
    if alpha is None and max_drop is None:
        raise InputError(
            "alpha",
            "is not known, nor the loss of each bucket: buckets are merged, lose a fraction, or may be split before, "
            "by a step that does not declare keeps_bars",
            remedy=("Give ", P("records_at_least"), " and ", P("bars"), ", and keep the number of records until then."),
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
    first: ErrorSensitivity,
    second: ErrorSensitivity,
    *,
    sigma: DistortionSensitivity,
    sensitivity: MetricSensitivity | None = None,
    keeps_bars: bool = False,
) -> ErrorSensitivity:
    """Derive the error sensitivity of M₂∘M₁ for f₂∘f₁: α = α₁ + σ_{f₁}(α₂), γ = γ₂ or γ₁ + γ₂, τ₂∘τ₁.

    The same theorem for an input that already carries an error. The bound is infinite where a distance and a fraction
    of the values would have to be added.

    Parameters
    ----------
    first, second
        Error sensitivities of M₁ and M₂.
    sigma
        Distortion sensitivity of f₁.
    sensitivity
        Δ_{f₂}; needed if ``sigma`` is relaxed and α₂ > 0.
    keeps_bars
        True if M₁ sends one record to one record, and all records of a bucket to one bucket, so that no bucket of its
        input loses more than the most that a bucket of its output does.

    Returns
    -------
    ErrorSensitivity
        That of the composition.

    Examples
    --------
    >>> from flexdp.calculus import deterministic_error, identity
    >>> from flexdp.distances import Difference
    >>> doubled = deterministic_error(lambda beta: 2 * beta, metric=Difference())
    >>> compose_error(doubled, doubled, sigma=identity()).bound(1.0)
    4.0
    """
    first, second, sigma = _error("first", first), _error("second", second), sigma_given(sigma)
    if second.takes is not None and first.metric != second.takes:
        raise _metrics(first.metric, second.takes)
    distortion = _distortion(first, second)
    unlike = (first.relative and not second.scales) or (second.relative and not first.relative and first.bound(0.0) > 0)
    more = None if second.alpha is None else sigma.bound(second.alpha)
    more_beta, more_gamma = relaxed_cost(sigma, second, sensitivity)
    kept = first.gamma > 0 and after_loss(0.0, first.gamma, first.metric, second) is not None
    forgets = second.lossy_bound is not None or kept
    lost = first.gamma if forgets else 0.0  # what is lost before the second step and not added up

    def bound(beta: float, gamma: float = 0.0) -> float:
        return math.inf if unlike else sum_up(second(first(beta, gamma), lost), more_beta)

    return ErrorSensitivity(
        alpha=_add(first.alpha, more, distortion=distortion),
        gamma=min(sum_up(second.gamma, more_gamma, *(() if forgets else (first.gamma,))), 1.0),
        bound=bound,
        lossy_bound=None if first.lossy_bound is None else bound,
        metric=second.metric,
        takes=first.takes,
        max_drop=_lost(first, second, keeps_bars=flag("keeps_bars", keeps_bars)),
        distortion=distortion,
        scales=first.scales and second.scales,
        relative=first.relative or second.relative,
        merges=first.merges or second.merges,
    )


def jumps(before: Accuracy, error: ErrorSensitivity) -> bool:
    """Return True if an error has no bound: the function jumps, or mixes values whose errors are relative."""
    mixed = before.beta > 0 and before.relative_beta and not error.scales
    return mixed or math.isinf(error.bound(before.beta))


def apply_error(before: Accuracy, error: ErrorSensitivity, *, sigma: DistortionSensitivity) -> Accuracy:
    """Compose where the error stays bounded; else turn it into a distortion of the input first (drop-move).

    ``before`` is the accuracy of a histogram that approximates the data.
    """
    if jumps(before, error):
        before = drop_move_accuracy(before, metric=before.metric)
    return compose_accuracy(before, error, sigma=sigma)


def drop_move_accuracy(first: Accuracy, *, metric: Metric, eta: Number | None = None) -> Accuracy:
    """Derive the accuracy of any function of a bucketed, thinned histogram: (α + ηβ, 0, γ) w.r.t. drop-move.

    Paper, Thm. bucketing-general-drmv: an output error β of the histogram becomes a distortion of the input, by which
    values are moved, and no sensitivity of the function is needed.

    Parameters
    ----------
    first
        Accuracy of the histogram.
    metric
        Metric of the function's values.
    eta
        Price of moving by one. Without it α and the distance moved are stated separately, which holds for every η > 0.

    Returns
    -------
    Accuracy
        The guarantee of the function.

    Raises
    ------
    InputError
        A distance would have to be added to a fraction, or α is not known and ``eta`` is given.

    Examples
    --------
    >>> from flexdp.distances import Equality
    >>> print(drop_move_accuracy(Accuracy(alpha=.02, beta=2.5), metric=Equality()))
    Exact after leaving out at most 2% of the records and moving every value by at most 2.5.
    >>> print(drop_move_accuracy(Accuracy(alpha=.02, beta=2.5), metric=Equality(), eta="0.1"))
    Exact after a distortion (drop-move (η = 0.1)) of at most 0.27.
    """
    first = _accuracy("first", first)
    if first.relative and first.moved and first.beta:
        raise _unlike()
    moved = sum_up(first.moved, first.beta)
    found = Accuracy(
        alpha=first.alpha,
        beta=0,
        gamma=first.gamma,
        relative=first.relative,
        max_drop=first.max_drop,
        moved=moved,
        unit=first.unit,
        distortion=DropMove() if moved else first.distortion,
        metric=metric,
    )
    if eta is None:
        return found
    if found.relative or found.distortion not in (Drop(), DropMove()):
        raise InputError(
            "eta", "needs a known fraction left out and an absolute distance moved", remedy="Leave it out."
        )
    return found.priced(eta)


def laplace_accuracy(*, sensitivity: Number, epsilon: Number, gamma: Number) -> Accuracy:
    """Derive (0, (Δ/ε)·ln(1/γ), γ): the error that Laplace noise of scale Δ/ε exceeds with chance γ, rounded up.

    Parameters
    ----------
    sensitivity
        Δ, the largest distance by which one record moves the answer.
    epsilon
        Privacy loss ε.
    gamma
        Chance of a larger error.

    Returns
    -------
    Accuracy
        Without distortion of the input.

    Examples
    --------
    >>> laplace_accuracy(sensitivity=1, epsilon=1, gamma="0.05").beta
    2.9957322735539913
    """
    scale = SENSITIVITY.check(sensitivity) / EPSILON.check(epsilon)
    chance = OPEN_GAMMA.check(gamma)
    return Accuracy(alpha=0, beta=float_up(scale * log_bounds(1 / chance).upper), gamma=gamma)


def useful_accuracy(*, beta: Number, gamma: Number, psi: Number = 0) -> Accuracy:
    """Translate (β, γ, ψ)-usefulness of Blum, Ligett and Roth (paper, App. Comparison_BLR).

    With ψ = 0 it is (0, β, γ)-accuracy. For half-space counts on the unit sphere, where ψ rotates the half-space, it is
    (ψ, β, γ)-accuracy w.r.t. moving points: rotating the question moves every point by at most ψ. For other functions,
    with the perturbation as an extra input, see :func:`perturbed_accuracy`.

    Parameters
    ----------
    beta
        Error of a count.
    gamma
        Chance of a larger error.
    psi
        Angle by which a half-space may be rotated.

    Returns
    -------
    Accuracy
        The same promise as flexible accuracy.

    Examples
    --------
    >>> print(useful_accuracy(beta="0.1", gamma=0, psi="1.5"))
    Exact after leaving out no record and moving every value by at most 1.5, to within 0.1.
    """
    if exact("psi", psi) == 0:
        return Accuracy(alpha=0, beta=beta, gamma=gamma)
    return Accuracy(alpha=psi, beta=beta, gamma=gamma, distortion=Move())


def _accuracy(name: str, value: object) -> Accuracy:
    return instance(name, value, Accuracy, "an Accuracy")


def _error(name: str, value: object) -> ErrorSensitivity:
    return instance(name, value, ErrorSensitivity, "an ErrorSensitivity")


def _metrics(given: Metric, needed: Metric) -> InputError:
    return InputError("metric", f"must be {str(needed)!r}: the metrics do not fit", given=repr(str(given)))


def _distortion(first: Accuracy | ErrorSensitivity, second: ErrorSensitivity) -> Distortion:
    """The distortion in which both are measured; one that distorts nothing takes that of the other."""
    moved = isinstance(first, Accuracy) and first.moved > 0
    if second.alpha == 0 or second.distortion == first.distortion:
        return first.distortion
    if first.alpha == 0 and not moved:
        return second.distortion
    for one, other in ((first.distortion, second.distortion), (second.distortion, first.distortion)):
        if one == Drop() and isinstance(other, DropMove) and not moved:  # what is dropped is so at any price of moving
            return other
    if {first.distortion, second.distortion} == {Drop(), DropMove()}:
        return DropMove()
    raise InputError(
        "distortion",
        f"must be the same throughout: {str(first.distortion)!r} and {str(second.distortion)!r} have no sum",
    )


def _lost(first: Accuracy | ErrorSensitivity, second: ErrorSensitivity, *, keeps_bars: bool) -> int | None:
    """The most records that a bucket can lose in two steps; None where that is not known, or nothing is ever lost."""
    if first.max_drop is None and second.max_drop is None:
        return None
    one, two = (0 if part.alpha == 0 and not part.max_drop else part.max_drop for part in (first, second))
    if one is None or two is None or (second.merges and one > 0) or (two > 0 and not keeps_bars):
        return None
    return one + two


def _unlike() -> InputError:
    return InputError(
        "beta",
        "has no sum: one error is a distance and the other a fraction of the values",
        remedy="Bucket by width or edges throughout, or by relative.",
    )


def _finite(alpha: float) -> float:
    if math.isinf(alpha):
        raise InputError("sigma", "must be finite at the second mechanism's alpha, as the composition theorem requires")
    return alpha


def _add(alpha: float | None, more: float | None, *, distortion: Distortion) -> float | None:
    whole_table = distortion.fraction and 1 in (alpha, more)  # nothing more can be left out
    if alpha is None or more is None:
        return 1.0 if whole_table else None
    total = sum_up(alpha, more)
    return min(total, 1.0) if distortion.fraction else total
