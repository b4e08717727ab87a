"""Empirical flexible accuracy: distances from a mechanism's outputs to the attainable answers.

For a deterministic statistic f, the smallest β for which a mechanism M is (α, β, γ)-accurate at a data set x, with
respect to a distortion ∂, is

    min{b : Pr[dist(M(x), F_α(x)) ≤ b] ≥ 1 − γ},    F_α(x) = {f(x′) : ∂(x, x′) ≤ α, x′ ≠ ∅},

the (1 − γ)-quantile of the distance to the attainable set (paper, Def. alpha-beta-gamma-accuracy, with the inner
infimum solved). For a randomised f there is no such formula: β is found by linear programs, over all random x′ with
∂(x, x′) ≤ α and all couplings (:func:`smallest_beta`). A mechanism is given by its outputs over independent runs, or by
its exact law.

The measurements are *not* private: they compare with the true data. Use them on simulated or public data. They say
nothing about other data; guarantees, which read no data, are in :mod:`flexdp.guarantees`.
"""

from __future__ import annotations

from flexdp.measure.bounds import ErrorBounds, flexible_error, flexible_error_bounds
from flexdp.measure.curve import AccuracyCurve, SmallestBeta, accuracy_curve, smallest_beta
from flexdp.measure.data_sets import LARGEST_SEARCH
from flexdp.measure.flexible import Measurable

__all__ = [
    "LARGEST_SEARCH",
    "AccuracyCurve",
    "ErrorBounds",
    "Measurable",
    "SmallestBeta",
    "accuracy_curve",
    "flexible_error",
    "flexible_error_bounds",
    "smallest_beta",
]
