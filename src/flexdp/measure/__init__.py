"""Flexible accuracy at one data set: distances from a mechanism's outputs to the attainable answers.

For a deterministic statistic f, the smallest β for which a mechanism M is (α, β, γ)-accurate at a data set x, with
respect to a distortion ∂, is the (1 − γ)-quantile of the distance from M(x) to

    F_α(x) = {f(x′) : ∂(x, x′) ≤ α, x′ ≠ ∅}            (paper, Def. alpha-beta-gamma-accuracy, the infimum solved)

    outputs   runs or a law of M(x) ─────────────────────────────┐
    ball      x, α, ∂ ──▶ the data sets within reach             ▼
    moving    F_α by formula or by the statistic's hook ──▶ flexible: errors ──▶ errors: mean, β(γ), confidence
    search    values found in F_α; declared Δ_f ─────────────────┘                  └──▶ curve: β for each α and γ

For a randomised f there is no such formula: β is found by linear programs, over all random x′ with ∂(x, x′) ≤ α and
all couplings (:func:`smallest_beta`).

The measurements are *not* private: they compare with the true data. Use them on simulated or public data. They say
nothing about other data; guarantees, which read no data, are in :mod:`flexdp.guarantees`.
"""

from __future__ import annotations

from flexdp.measure.ball import LARGEST_SEARCH
from flexdp.measure.curve import AccuracyCurve, SmallestBeta, accuracy_curve, smallest_beta
from flexdp.measure.errors import ChanceBounds, Errors
from flexdp.measure.flexible import (
    ErrorBounds,
    Measurable,
    errors_of,
    flexible_error,
    flexible_error_bounds,
)

__all__ = [
    "LARGEST_SEARCH",
    "AccuracyCurve",
    "ChanceBounds",
    "ErrorBounds",
    "Errors",
    "Measurable",
    "SmallestBeta",
    "accuracy_curve",
    "errors_of",
    "flexible_error",
    "flexible_error_bounds",
    "smallest_beta",
]
