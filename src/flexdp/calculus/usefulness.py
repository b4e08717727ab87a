"""Usefulness of Blum, Ligett and Roth as flexible accuracy, with the perturbation as an extra input (paper, App. BLR).

A mechanism M is (β, γ, ψ)-useful for f if, but for a chance γ, its answer on x is within β of g(x) for some function g
at most ψ away from f. Let F(x, p) be f perturbed by p, with F(x, p₀) = f(x), and let the pair (x, p₀) be the input.
Then the perturbation is a distortion of the input: it leaves x as it is and moves p₀ by at most ψ. M is
(β, γ, ψ)-useful if and only if it is (ψ, β, γ)-accurate for F with respect to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flexdp._core.domains import function
from flexdp._core.exact import Number
from flexdp.distortions import Distortion, OwnDistortion
from flexdp.guarantees import Accuracy

__all__ = ["Perturbed", "perturbation", "perturbed_accuracy"]


@dataclass(frozen=True, slots=True)
class Perturbed:
    """A data set together with the perturbation of the function that is computed on it.

    Parameters
    ----------
    data
        The data set.
    by
        The perturbation.

    Examples
    --------
    >>> Perturbed((3, 5), by=0.1).data
    (3, 5)
    """

    data: Any
    by: Any


def perturbation(distance: Callable[[Any, Any], float] | None = None) -> Distortion:
    """Return the distortion that moves the perturbation and leaves the data as they are.

    Parameters
    ----------
    distance
        Distance between two perturbations; the absolute difference of numbers if left out.

    Returns
    -------
    Distortion
        Between two :class:`Perturbed` inputs; infinite where their data differ.

    Examples
    --------
    >>> moved = perturbation()
    >>> moved(Perturbed("x", by=0), Perturbed("x", by=0.5)), moved(Perturbed("x", by=0), Perturbed("y", by=0))
    (0.5, inf)
    """
    own = _difference if distance is None else function("distance", distance, "two perturbations")

    def measure(here: Perturbed, there: Perturbed) -> float:
        return float(own(here.by, there.by)) if here.data == there.data else math.inf

    return OwnDistortion("perturbation", measure)


def perturbed_accuracy(
    *, beta: Number, gamma: Number, psi: Number, distance: Callable[[Any, Any], float] | None = None
) -> Accuracy:
    """Translate (β, γ, ψ)-usefulness for any class of functions: (ψ, β, γ)-accuracy w.r.t. their perturbation.

    For half-space counts on the unit sphere, :func:`useful_accuracy` has the form with respect to moving points.

    Parameters
    ----------
    beta
        Error of the answer.
    gamma
        Chance of a larger error.
    psi
        Largest distance by which the function may be perturbed.
    distance
        Distance between two perturbations, as for :func:`perturbation`.

    Returns
    -------
    Accuracy
        For the function with the perturbation as an extra input.

    Examples
    --------
    >>> print(perturbed_accuracy(beta="0.1", gamma="0.05", psi=2))
    Exact after a distortion (perturbation) of at most 2, to within 0.1, except with probability 0.05.
    """
    return Accuracy(alpha=psi, beta=beta, gamma=gamma, distortion=perturbation(distance))


def _difference(here: Any, there: Any) -> float:
    return float(abs(here - there))
