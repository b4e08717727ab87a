"""Statistics of a histogram: their values, their sensitivities and their attainable sets.

Each is a small frozen object with ``name`` (for sentences), ``ordered`` (True if it needs keys with an order and a
distance), ``__call__`` (its value on a histogram) and ``sensitivity`` (Δ_f(β), infinite if there is no bound; paper,
Def. metric sensitivity). If a formula is known, ``attainable(histogram, alpha)`` is the sorted array F_α of all values
after leaving out at most a fraction α of the records.

======================================================  ================================================
Δ_f(β)                                                  statistics
======================================================  ================================================
β                                                       Max, Min, Quantile, Median, MidpointMedian, Support
                                                        (Hausdorff), Mean, TrimmedMean, Std
2β                                                      Range, IQR
β(B − β) up to B/2, then B²/4                           Variance(B)
unbounded for every β > 0                               Mode, MaxAtLeast, Top, Distinct
unbounded at β = 0 (the metric ignores sizes)           Count, CountAbove, Sum, KthLargest,
                                                        InterpolatedQuantile, SampleVariance
======================================================  ================================================
"""

from __future__ import annotations

from flexdp.statistics.base import Statistic, equal_size_sensitivity, to_python
from flexdp.statistics.frequency import Count, CountAbove, Distinct, MaxAtLeast, Mode, Support, Top
from flexdp.statistics.moments import Mean, SampleVariance, Std, Sum, TrimmedMean, Variance
from flexdp.statistics.order import (
    IQR,
    InterpolatedQuantile,
    KthLargest,
    Max,
    Median,
    MidpointMedian,
    Min,
    Quantile,
    Range,
)

__all__ = [
    "IQR",
    "Count",
    "CountAbove",
    "Distinct",
    "InterpolatedQuantile",
    "KthLargest",
    "Max",
    "MaxAtLeast",
    "Mean",
    "Median",
    "MidpointMedian",
    "Min",
    "Mode",
    "Quantile",
    "Range",
    "SampleVariance",
    "Statistic",
    "Std",
    "Sum",
    "Support",
    "Top",
    "TrimmedMean",
    "Variance",
    "equal_size_sensitivity",
    "to_python",
]
