"""Distances between distributions and sets: lossy Wasserstein (W∞ and W1), total variation, Hausdorff.

A distribution is a :class:`~flexdp.Histogram`, an array of samples (n numbers, or n×d), or :class:`Weighted` points;
it is normalised, so that x and 2x are at distance 0. ``metric`` is None (distance on the line, Euclid's in d
dimensions), a name that ``scipy.spatial.distance.cdist`` knows, a function of two points, or the matrix of distances
itself, and then ``p`` and ``q`` are the weights alone. Masses, γ and θ are rational numbers: no tolerance decides
which mass suffices.
"""

from __future__ import annotations

from flexdp.distances.inputs import Coupling, Transport, Weighted
from flexdp.distances.lossy import lossy_w1, lossy_winf, total_variation
from flexdp.distances.problem import Metric
from flexdp.distances.sets import Farthest, hausdorff

__all__ = [
    "Coupling",
    "Farthest",
    "Metric",
    "Transport",
    "Weighted",
    "hausdorff",
    "lossy_w1",
    "lossy_winf",
    "total_variation",
]
