"""All randomness of a release: integer tables, their certificates, and exact sampling."""

from __future__ import annotations

from flexdp.noise.certificate import Evidence, prove
from flexdp.noise.drop import DropNoise
from flexdp.noise.sampler import fresh_salt
from flexdp.noise.table import LARGEST_REACH, SMALLEST_EPSILON, smallest_reach
from flexdp.noise.total import TotalEvidence, TotalNoise, prove_total

__all__ = [
    "LARGEST_REACH",
    "SMALLEST_EPSILON",
    "DropNoise",
    "Evidence",
    "TotalEvidence",
    "TotalNoise",
    "fresh_salt",
    "prove",
    "prove_total",
    "smallest_reach",
]
