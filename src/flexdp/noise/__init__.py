"""All randomness of a release: integer tables, their certificates, and exact sampling."""

from __future__ import annotations

from flexdp.noise.bits import Bits
from flexdp.noise.certificate import Evidence, prove
from flexdp.noise.drop import DropNoise
from flexdp.noise.exponential import Decay, DecayEvidence, prove_decay
from flexdp.noise.geometric import bernoulli_exp, geometric, two_sided_geometric
from flexdp.noise.sampler import fresh_salt
from flexdp.noise.table import LARGEST_REACH, SMALLEST_EPSILON, smallest_reach

__all__ = [
    "LARGEST_REACH",
    "SMALLEST_EPSILON",
    "Bits",
    "Decay",
    "DecayEvidence",
    "DropNoise",
    "Evidence",
    "bernoulli_exp",
    "fresh_salt",
    "geometric",
    "prove",
    "prove_decay",
    "smallest_reach",
    "two_sided_geometric",
]
