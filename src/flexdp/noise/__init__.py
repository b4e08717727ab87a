"""The only randomness of a release: integer tables, their certificates, and exact sampling."""

from __future__ import annotations

from flexdp.noise.calibration import (
    DIGITS,
    most_buckets_per_unit,
    needed_reach,
    per_bar,
    reach_given,
    smallest_delta,
    smallest_epsilon,
)
from flexdp.noise.table import LARGEST_REACH, SMALLEST_EPSILON, DropNoise, Evidence, fresh_salt, prove, smallest_reach

__all__ = [
    "DIGITS",
    "LARGEST_REACH",
    "SMALLEST_EPSILON",
    "DropNoise",
    "Evidence",
    "fresh_salt",
    "most_buckets_per_unit",
    "needed_reach",
    "per_bar",
    "prove",
    "reach_given",
    "smallest_delta",
    "smallest_epsilon",
    "smallest_reach",
]
