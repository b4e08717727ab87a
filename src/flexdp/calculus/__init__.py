"""The theorems that combine guarantees, each a function on values that states its hypotheses.

Nothing here reads data. docs/theory.md maps every statement of the paper to a function and a test.
"""

from __future__ import annotations

from flexdp.calculus.accuracy import (
    SENSITIVITY,
    DistortionSensitivity,
    ErrorSensitivity,
    bijection,
    compose_accuracy,
    compose_error,
    deterministic_error,
    drop_move_accuracy,
    histogram_function,
    identity,
    laplace_accuracy,
    only_at_zero,
    post_process,
    pre_process,
    relax,
    useful_accuracy,
)

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
