"""Distances between distributions and sets: lossy Wasserstein (W∞ and W1), total variation, Hausdorff.

A distribution is a :class:`~flexdp.Histogram`, an array of samples (n numbers, or n×d), or :class:`Weighted` points. It
is normalised, so x and 2x are at distance 0. ``metric`` is None (absolute difference on the line, Euclidean distance in
d dimensions), the name of a metric of ``scipy.spatial.distance.cdist``, a function of two points, or a matrix of
distances, in which case ``p`` and ``q`` are the weights alone. Masses, γ and θ are exact rationals: no tolerance
decides whether enough mass is transported.
"""

from __future__ import annotations

from flexdp.distances.coupling import Completed, Coupling, Transport
from flexdp.distances.inputs import Weighted
from flexdp.distances.lossy import lossy_w1, lossy_winf, total_variation
from flexdp.distances.metrics import (
    Chebyshev,
    Cyclic,
    Difference,
    EditDistance,
    Equality,
    Euclidean,
    Manhattan,
    Metric,
    OwnMetric,
    Product,
    Spherical,
)
from flexdp.distances.problem import MetricLike
from flexdp.distances.sets import Farthest, Hausdorff, hausdorff

__all__ = [
    "Chebyshev",
    "Completed",
    "Coupling",
    "Cyclic",
    "Difference",
    "EditDistance",
    "Equality",
    "Euclidean",
    "Farthest",
    "Hausdorff",
    "Manhattan",
    "Metric",
    "MetricLike",
    "OwnMetric",
    "Product",
    "Spherical",
    "Transport",
    "Weighted",
    "hausdorff",
    "lossy_w1",
    "lossy_winf",
    "total_variation",
]
