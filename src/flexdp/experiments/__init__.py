"""The paper's six experiments, and the same measurements for any mechanism on any simulated or public data.

``compare`` compares mechanisms; ``run`` runs the experiments in ``EXPERIMENTS``; ``judge`` tests the paper's statements
about its figure; ``search`` looks for histograms on which mechanisms fail. The commands are ``flexdp compare`` and
``flexdp experiment``. Everything here is seeded and shows true answers: use it on simulated or public data only.
"""

from flexdp.experiments.cells import Cell, Settings
from flexdp.experiments.claims import CLAIMS, Judgement, judge
from flexdp.experiments.comparison import Comparison, compare
from flexdp.experiments.paper import EPSILONS, EXPERIMENTS, Experiment
from flexdp.experiments.results import Row
from flexdp.experiments.runner import Study, chosen_mechanisms, run
from flexdp.experiments.worst import WorstCase, WorstCases, search
from flexdp.simulation import DataLaw, Fixed, PoissonBars, Sampled, StepNoise, Steps, parse_law

__all__ = [
    "CLAIMS",
    "EPSILONS",
    "EXPERIMENTS",
    "Cell",
    "Comparison",
    "DataLaw",
    "Experiment",
    "Fixed",
    "Judgement",
    "PoissonBars",
    "Row",
    "Sampled",
    "Settings",
    "StepNoise",
    "Steps",
    "Study",
    "WorstCase",
    "WorstCases",
    "chosen_mechanisms",
    "compare",
    "judge",
    "parse_law",
    "run",
    "search",
]
