"""Mechanisms and their composition: ``Bucketing(width=5) >> Dropping(epsilon=1, delta=1e-6) >> ReadOff(Max())``.

All are frozen values of one class, :class:`Mechanism`, from which your own may derive (docs/own-mechanisms.md).
"""

from __future__ import annotations

from flexdp.calculus.compose import Known
from flexdp.mechanisms.bars import BarNoise
from flexdp.mechanisms.base import IDENTITY, Chain, Identity, Mechanism, compose
from flexdp.mechanisms.bucket_histogram import BucketHistogram
from flexdp.mechanisms.bucketing import Bucketing
from flexdp.mechanisms.declared import Checked, Claim, check_declared
from flexdp.mechanisms.derivation import Derivation, Derived
from flexdp.mechanisms.dropping import Dropping, Thinned
from flexdp.mechanisms.emptiness import Emptiness
from flexdp.mechanisms.laplace import Laplace
from flexdp.mechanisms.read_off import ReadOff
from flexdp.mechanisms.spaces import HISTOGRAMS, NUMBERS, SETS, VALUES, Space
from flexdp.mechanisms.stlap import STLap

__all__ = [
    "HISTOGRAMS",
    "IDENTITY",
    "NUMBERS",
    "SETS",
    "VALUES",
    "BarNoise",
    "BucketHistogram",
    "Bucketing",
    "Chain",
    "Checked",
    "Claim",
    "Derivation",
    "Derived",
    "Dropping",
    "Emptiness",
    "Identity",
    "Known",
    "Laplace",
    "Mechanism",
    "ReadOff",
    "STLap",
    "Space",
    "Thinned",
    "check_declared",
    "compose",
]
