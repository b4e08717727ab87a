"""Mechanisms and their composition: ``Bucketing(width=5) >> Dropping(epsilon=1, delta=1e-6) >> ReadOff(Max())``."""

from flexdp.mechanisms.core import Mechanism, Space, compose
from flexdp.mechanisms.histograms import BucketHistogram, Bucketing, Dropping, Emptiness, STLap
from flexdp.mechanisms.readings import Laplace, ReadOff

__all__ = [
    "BucketHistogram",
    "Bucketing",
    "Dropping",
    "Emptiness",
    "Laplace",
    "Mechanism",
    "ReadOff",
    "STLap",
    "Space",
    "compose",
]
