"""The mechanisms compared in the paper, flexdp's own among them, behind one protocol and by name.

=================  ==============================================================  =======
name               mechanism                                                       claim
=================  ==============================================================  =======
dropping           flexdp's own: discrete dropping, the smallest reach for (ε, δ)  (ε, δ)
stlap              the paper's shifted, truncated Laplace noise with a public q    (ε, δ)
esa                shifted Laplace noise of encode-shuffle-analyze                 (ε, δ)
bns                stability-based histogram under add/remove neighbours           (ε, δ)
bns_swap           the same under replacement neighbours                           (ε, δ)
em                 exponential mechanism on the answer, with sensitivity B         (ε, 0)
ptr                propose-test-release with the exact distance to instability     (ε, δ)
ss                 exact smooth sensitivity                                        (ε, δ)
sanpoints          choosing-based histogram                                        (ε, 0)
sanpoints_halting  the same, halting below a threshold, with no empty bucket       (ε, δ)
em_tight           exponential mechanism with sensitivity B − 1; not in the study  (ε, 0)
=================  ==============================================================  =======

    bars        independent bars, each a law and a draw ─┐
    answers     em, ptr and ss, on the answer itself ────┼─▶ registry: names, exact laws, exact errors
    sanpoints   bars chosen one by one ──────────────────┘
    stability   how far an answer is from another, for ptr and ss

All but ss and the two choosing-based ones have exact laws: ``exact_law`` returns the law of the answer and
``exact_errors`` the laws of its errors, without Monte Carlo error. These mechanisms are for experiments on simulated or
public data, never for a release.

>>> print(baseline("em").citation)
Frank McSherry, Kunal Talwar (2007), Mechanism Design via Differential Privacy
"""

from flexdp.baselines.base import Baseline, Citation, Compared
from flexdp.baselines.registry import BASELINES, ExactErrors, attainable_places, baseline, exact_errors, exact_law

__all__ = [
    "BASELINES",
    "Baseline",
    "Citation",
    "Compared",
    "ExactErrors",
    "attainable_places",
    "baseline",
    "exact_errors",
    "exact_law",
]
