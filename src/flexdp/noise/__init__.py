"""All randomness of a release: integer tables, their certificates, and exact sampling."""

from __future__ import annotations

from flexdp.noise.certificate import Evidence, prove
from flexdp.noise.drop import DropNoise
from flexdp.noise.sampler import fresh_salt
from flexdp.noise.table import LARGEST_REACH, SMALLEST_EPSILON, smallest_reach

__all__ = [
    "LARGEST_REACH",
    "SMALLEST_EPSILON",
    "DropNoise",
    "Evidence",
    "fresh_salt",
    "prove",
    "smallest_reach",
]
