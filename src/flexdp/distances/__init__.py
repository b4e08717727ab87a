"""Distances between distributions and sets: lossy Wasserstein (W∞ and W1), total variation, Hausdorff.

A distribution is a :class:`~flexdp.Histogram`, an array of samples (n numbers, or n×d), a mapping from points to their
masses, a Distribution, or :class:`Weighted` points. It is normalised, so x and 2x are at distance 0. ``metric`` is None
(absolute difference on the line, Euclidean distance in d dimensions), the name of a metric of
``scipy.spatial.distance.cdist``, a function of two points, or a matrix of distances, in which case ``p`` and ``q`` are
the weights alone. Masses, γ and θ are exact rationals: no tolerance decides whether enough mass is transported.

    inputs    points and integer masses ──▶ lossy: W∞_γ, W_θ, total variation, Hausdorff
    metrics   metrics as values ──▶ axioms: all distances of a metric, checked      │
    line      one dimension: sorted, two pointers ◀─────────────────────────────────┤
    transport any metric: threshold flows and partial transport ◀───────────────────┤
    embedding one histogram in another (distortions), quasi-metrics of random points┤
    coupling  what is returned: a distance and a plan that attains it ◀─────────────┘
"""

from __future__ import annotations

from flexdp.distances.coupling import Completed, Coupling, Transport
from flexdp.distances.inputs import Weighted
from flexdp.distances.lossy import Farthest, Hausdorff, MetricLike, hausdorff, lossy_w1, lossy_winf, total_variation
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
