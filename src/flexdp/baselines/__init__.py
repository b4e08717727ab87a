"""The mechanisms that the paper compares, ours among them, behind one protocol and by name.

=========  ==============================================================  =================
name       mechanism                                                       claim
=========  ==============================================================  =================
dropping   ours: discrete dropping, the smallest reach for (ε, δ)          (ε, δ)
stlap      the paper's shifted, truncated Laplace noise with a public q    (ε, δ)
esa        shifted Laplace noise of encode-shuffle-analyze                 (ε, δ)
bns        stability-based histogram, for adding or removing a record      (ε, δ)
bns_swap   the same, for replacing a record                                (ε, δ)
em         exponential mechanism on the answer                             (ε, 0)
ptr        propose-test-release with the exact distance to instability     (ε, δ)
ss         exact smooth sensitivity                                        (ε, δ)
sanpoints  choosing-based histogram                                        (ε, 0)
=========  ==============================================================  =================

For seeded experiments on simulated or public data, never for a release.

>>> print(baseline("em").citation)
Frank McSherry, Kunal Talwar (2007), mechanism design by differential privacy
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from types import MappingProxyType

from flexdp._parameters import shown
from flexdp.baselines._base import Baseline, Citation
from flexdp.baselines.bns import StabilityHistogram, StabilityHistogramSwap
from flexdp.baselines.dropping import Dropping
from flexdp.baselines.em import Exponential
from flexdp.baselines.esa import ShiftedLaplace
from flexdp.baselines.ptr import ProposeTestRelease
from flexdp.baselines.sanpoints import SanPoints
from flexdp.baselines.ss import SmoothSensitivity
from flexdp.baselines.stlap import ShiftedTruncatedLaplace
from flexdp.errors import InputError

__all__ = ["BASELINES", "Baseline", "Citation", "baseline"]

_ALL: tuple[Baseline, ...] = (
    Dropping(),
    ShiftedTruncatedLaplace(),
    ShiftedLaplace(),
    StabilityHistogram(),
    StabilityHistogramSwap(),
    Exponential(),
    ProposeTestRelease(),
    SmoothSensitivity(),
    SanPoints(),
)
BASELINES: Mapping[str, Baseline] = MappingProxyType({each.name: each for each in _ALL})


def baseline(name: str) -> Baseline:
    """The mechanism of that name, or an error that suggests the nearest one."""
    if isinstance(name, str) and name in BASELINES:
        return BASELINES[name]
    known = ", ".join(BASELINES)
    near = difflib.get_close_matches(name.lower(), BASELINES, n=1, cutoff=0.5) if isinstance(name, str) else []
    hint = f"Did you mean {shown(near[0])}?" if near else f"Choose one of {known}."
    raise InputError(f"mechanism {shown(name)} does not exist. {hint}")
