"""Accuracy of functions that jump (drop-move), of Laplace noise, and in the words of usefulness."""

from __future__ import annotations

from flexdp._core.domains import EPSILON, OPEN_GAMMA, SENSITIVITY, instance
from flexdp._core.enclosure import log_bounds
from flexdp._core.exact import Number, exact, float_up, sum_up
from flexdp.calculus.compose import Step, compose_accuracy, composed, identity, unlike
from flexdp.distances import Metric
from flexdp.distortions import Drop, DropMove, Move
from flexdp.errors import InputError
from flexdp.guarantees import Accuracy

__all__ = ["drop_move_accuracy", "laplace_accuracy", "read_off", "useful_accuracy"]


def read_off(before: Accuracy, step: Step) -> Accuracy:
    """Compose where the error stays bounded; else turn it into a distortion of the input first (drop-move).

    ``before`` is the accuracy of a histogram that approximates the data.
    """
    found = composed(before, step, sigma=identity(), keeps_bars=True)
    if found is None:
        moved = drop_move_accuracy(before, metric=before.metric)
        found = compose_accuracy(moved, step, sigma=identity(), keeps_bars=True)
    return found


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
    first = instance("first", first, Accuracy, "an Accuracy")
    if first.relative and first.moved and first.beta:
        raise unlike()
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
