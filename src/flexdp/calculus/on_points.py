"""Computed sensitivities in the form that composition takes: σ and τ of finitely many points as functions."""

from __future__ import annotations

import functools
from typing import Any

from flexdp._core.exact import Number, exact, float_up
from flexdp.calculus.finite import distortion_sensitivity
from flexdp.calculus.finite_error import error_sensitivity
from flexdp.calculus.laws import Points, points_given
from flexdp.calculus.sensitivities import DistortionSensitivity, ErrorSensitivity
from flexdp.distances import Difference, Metric
from flexdp.distortions import Distortion, Drop, distortion_given

__all__ = ["sigma_on", "tau_on"]


def sigma_on(
    f: Any,
    points: Points,
    d1: Any,
    d2: Any,
    *,
    theta: Number = 0,
    omega: Number = 0,
    targets: Points = (),
    output_metric: Any = None,
) -> DistortionSensitivity:
    """Return σ_f of a finite space as composition takes it; computed where it is asked for.

    Parameters
    ----------
    f, points, d1, d2, theta, omega, targets, output_metric
        As for :func:`flexdp.distortion_sensitivity`.

    Returns
    -------
    DistortionSensitivity
        The bound, rounded up.

    Examples
    --------
    >>> gap = lambda a, b: abs(a - b)
    >>> halves = sigma_on(lambda x: 2 * x, range(9), gap, gap)
    >>> halves.bound(4), halves.bound(0)
    (2.0, 0.0)
    """
    inputs, further = points_given("points", points), points_given("targets", targets, at_least=0)

    @functools.cache
    def bound(alpha: float) -> float:
        return float(
            distortion_sensitivity(f, inputs, d1, d2, alpha, theta, omega, targets=further, output_metric=output_metric)
        )

    bound(0.0)  # refuses at once what cannot be computed
    return DistortionSensitivity(
        bound=bound, theta=float_up(exact("theta", theta)), omega=float_up(exact("omega", omega))
    )


def tau_on(
    M: Any,  # noqa: N803  (its name in the paper)
    f: Any,
    points: Points,
    distortion: Any,
    alpha2: Number = 0,
    gamma2: Number = 0,
    *,
    targets: Points = (),
    metric: Any = None,
    output_metric: Any = None,
    named: Metric = Difference(),
    measured: Distortion = Drop(),
) -> ErrorSensitivity:
    """Return τ_{M,f}^{α₂,γ₂} of a finite space as composition takes it, with its second argument.

    Parameters
    ----------
    M, f, points, distortion, alpha2, gamma2, targets, metric, output_metric
        As for :func:`flexdp.error_sensitivity`.
    named
        Metric of the output as guarantees name it.
    measured
        Distortion as guarantees name it.

    Returns
    -------
    ErrorSensitivity
        Its bounds, rounded up; computed where they are asked for.

    Examples
    --------
    >>> from flexdp import Accuracy
    >>> from flexdp.calculus import compose_accuracy, identity
    >>> from flexdp.distances import Equality
    >>> parity = tau_on(lambda x: x % 2, lambda x: x % 2, range(9), Equality())
    >>> print(compose_accuracy(Accuracy(alpha=0, beta=2, gamma=.1), parity, sigma=identity()))
    Exact after leaving out at most 0% of the records, to within 1.
    """
    inputs, further = points_given("points", points), points_given("targets", targets, at_least=0)

    @functools.cache
    def bound(beta: float, gamma: float = 0.0) -> float:
        found = error_sensitivity(
            M, f, inputs, distortion, alpha2, gamma2, beta, gamma,
            targets=further, metric=metric, output_metric=output_metric,
        )  # fmt: skip
        return float(found)

    bound(0.0)  # refuses at once what cannot be computed
    return ErrorSensitivity(
        alpha=float_up(exact("alpha2", alpha2)),
        gamma=float_up(exact("gamma2", gamma2)),
        bound=bound,
        lossy_bound=bound,
        metric=named,
        distortion=distortion_given("measured", measured),
    )
