"""THE derivation: theorems that combine guarantees, each a function on values that states its hypotheses.

``privacy`` derives what processing, units, groups, splits and sums make of privacy; ``accuracy`` what composition makes
of accuracy, by the sensitivities in ``sensitivities``. Nothing here reads data. docs/theory.md maps every statement of
the paper to a function and a test.
"""

from __future__ import annotations

from flexdp.calculus.accuracy import (
    compose_accuracy,
    compose_error,
    drop_move_accuracy,
    laplace_accuracy,
    useful_accuracy,
)
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
from flexdp.calculus.sensitivities import (
    DistortionSensitivity,
    ErrorSensitivity,
    bijection,
    deterministic_error,
    histogram_function,
    identity,
    only_at_zero,
    relax,
)

__all__ = [
    "DistortionSensitivity",
    "ErrorSensitivity",
    "bijection",
    "compose_accuracy",
    "compose_error",
    "deterministic_error",
    "divide",
    "drop_move_accuracy",
    "histogram_function",
    "identity",
    "laplace_accuracy",
    "of_each_bucket",
    "of_each_member",
    "of_group",
    "of_unit",
    "only_at_zero",
    "post_process",
    "pre_process",
    "relax",
    "split",
    "total",
    "useful_accuracy",
]
