"""THE derivation: theorems that combine guarantees, each a function on values that states its hypotheses.

``privacy`` derives what processing, units, groups, splits and sums make of privacy; ``compose`` what composition makes
of accuracy. ``finite``, ``tau`` and ``preserving`` compute the sensitivities of anybody's function or mechanism on
finitely many points, exactly. Nothing here reads data.
docs/theory.md maps every statement of the paper to a function and a test.
"""

from __future__ import annotations

from flexdp.calculus.accuracy import drop_move_accuracy, laplace_accuracy, useful_accuracy
from flexdp.calculus.compose import (
    Error,
    Known,
    Sigma,
    Step,
    compose_accuracy,
    compose_steps,
    function_step,
    identity,
    jump,
    only_at_zero,
    relax,
    unchanged,
)
from flexdp.calculus.finite import (
    Computed,
    DistortionCase,
    ErrorCase,
    MetricCase,
    distortion_sensitivity,
    metric_sensitivity,
)
from flexdp.calculus.preserving import Preserved, preserves_neighbours
from flexdp.calculus.privacy import (
    divide,
    of_each_bucket,
    of_each_member,
    of_group,
    of_unit,
    post_process,
    pre_process,
    split,
    total,
)
from flexdp.calculus.tau import error_sensitivity, sigma_on, tau_on
from flexdp.calculus.usefulness import Perturbed, perturbation, perturbed_accuracy

__all__ = [
    "Computed",
    "DistortionCase",
    "Error",
    "ErrorCase",
    "Known",
    "MetricCase",
    "Perturbed",
    "Preserved",
    "Sigma",
    "Step",
    "compose_accuracy",
    "compose_steps",
    "distortion_sensitivity",
    "divide",
    "drop_move_accuracy",
    "error_sensitivity",
    "function_step",
    "identity",
    "jump",
    "laplace_accuracy",
    "metric_sensitivity",
    "of_each_bucket",
    "of_each_member",
    "of_group",
    "of_unit",
    "only_at_zero",
    "perturbation",
    "perturbed_accuracy",
    "post_process",
    "pre_process",
    "preserves_neighbours",
    "relax",
    "sigma_on",
    "split",
    "tau_on",
    "total",
    "unchanged",
    "useful_accuracy",
]
