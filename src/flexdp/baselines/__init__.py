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

All but the last two also have exact laws: ``exact_law`` gives the chance of each answer, ``exact_errors`` what
follows from it, with no Monte Carlo error. For experiments on simulated or public data, never for a release.

>>> print(baseline("em").citation)
Frank McSherry, Kunal Talwar (2007), Mechanism Design via Differential Privacy
"""

from flexdp.baselines.base import Baseline, Citation
from flexdp.baselines.exact import ExactErrors, attainable_places, exact_errors, exact_law
from flexdp.baselines.registry import BASELINES, baseline

__all__ = [
    "BASELINES",
    "Baseline",
    "Citation",
    "ExactErrors",
    "attainable_places",
    "baseline",
    "exact_errors",
    "exact_law",
]
