"""The paper's six experiments, and the same measurements for any mechanism on any simulated or public data.

    paper       the six experiments as data ──┐
    contenders  mechanisms, a user's own too ─┴▶ study ─▶ cells of errors ─┬▶ claims   a verdict on each statement
    compare     any data, any statistic ─────────▶                         └▶ figure   curves of errors against ε

``compare`` compares mechanisms; ``run`` runs the experiments in ``EXPERIMENTS``; ``judge`` tests the paper's statements
about its figure. The commands are ``flexdp lab compare`` and ``flexdp lab experiment``. Everything here is seeded and
shows true answers: use it on simulated or public data only.
"""

from flexdp.experiments.claims import CLAIMS, Judgement, judge
from flexdp.experiments.compare import Comparison, compare
from flexdp.experiments.contenders import choose_mechanisms
from flexdp.experiments.paper import EPSILONS, EXPERIMENTS, Experiment
from flexdp.experiments.study import Cell, Row, Settings, Study, run
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
    "choose_mechanisms",
    "compare",
    "judge",
    "parse_law",
    "run",
]
