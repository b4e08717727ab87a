"""The six experiments of the paper, as data.

What the paper leaves open is pinned down here and can be switched: empty output counts as bar 0, draws are binned by
floor and discarded outside the bars, ties of the mode go to the smallest bar, the steps of (2) and (4) are exact and
those of (6) get a whole number from −5 to 5 on every bar. Bars are numbered 0, …, B − 1.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType

from flexdp._core.text import is_short, safe_repr
from flexdp.baselines.base import Readable
from flexdp.errors import InputError
from flexdp.simulation.laws import Binning, Law, PoissonBars, Sampled, StepNoise, Steps
from flexdp.statistics import Max, MaxAtLeast, Mode

__all__ = ["ALPHA", "DELTA", "EPSILONS", "EXPERIMENTS", "WORST", "Experiment", "chosen", "statistic_text"]

EPSILONS = tuple(Fraction(n, 100) for n in (5, 7, 10, 15, 20, 30, 40, 60, 80, 100, 150, 200))
DELTA = Fraction(1, 2**20)
ALPHA = Fraction(5, 1000)
WORST = ("7", "worst")  # our own, by search instead of simulation: see :mod:`flexdp.experiments.worst`


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """One panel of the figure: a statistic and the law of its data sets."""

    name: str
    statistic: Readable
    law: Law
    about: str

    @property
    def bars(self) -> int:
        """B."""
        return self.law.bars

    @property
    def title(self) -> str:
        """What a panel or a table is headed by."""
        label = f"({self.name}) " if self.name in EXPERIMENTS else ""
        return f"{label}{statistic_text(self.statistic)}, {self.about}"

    def switched(self, *, binning: Binning, noise: StepNoise | None) -> Experiment:
        """The same experiment under other readings of what the paper leaves open; None keeps the step noise."""
        law = self.law
        if isinstance(law, Sampled):
            law = replace(law, binning=binning)
        elif isinstance(law, Steps) and noise is not None:
            law = replace(law, noise=noise)
        return replace(self, law=law)


def statistic_text(statistic: Readable) -> str:
    """The paper's word for the statistic.

    >>> statistic_text(MaxAtLeast(500))
    'max_500'
    """
    if isinstance(statistic, MaxAtLeast):
        return f"max_{statistic.count}"
    return "mode" if isinstance(statistic, Mode) else "max"


_CAUCHY = Sampled(family="cauchy", parameters=(45.0, 4.0), records=10_000, bars=100)
_PLATEAUS = Steps(steps=((540, 50), (490, 50)))
_NOISY = Steps(steps=((130, 120), (200, 5), (185, 85), (190, 10), (130, 80)), noise=StepNoise("uniform", 5))

_ALL = (
    Experiment(name="1", statistic=Max(), law=replace(_CAUCHY, emptied=10), about="Cauchy, last 10 bars empty"),
    Experiment(name="2", statistic=Max(), law=Steps(steps=((1000, 50), (1, 50))), about="steps 1000×50, 1×50"),
    Experiment(name="3", statistic=MaxAtLeast(500), law=_CAUCHY, about="Cauchy"),
    Experiment(name="4", statistic=MaxAtLeast(500), law=_PLATEAUS, about="steps 540×50, 490×50"),
    Experiment(name="5", statistic=Mode(), law=PoissonBars(mean=250.0, bars=30), about="30 Poisson bars"),
    Experiment(name="6", statistic=Mode(), law=_NOISY, about="five noisy steps"),
)  # fmt: skip
EXPERIMENTS: Mapping[str, Experiment] = MappingProxyType({each.name: each for each in _ALL})


def chosen(names: Iterable[str]) -> tuple[Experiment, ...]:
    """The experiments of those names, in the paper's order and each once; ``all`` means its six.

    >>> [each.name for each in chosen(["4", "2", "4"])]
    ['2', '4']
    """
    asked = {str(name) for name in names}
    if not asked:
        raise InputError("experiment must be named: 1 to 7, or all.")
    for name in sorted(asked - {"all", *EXPERIMENTS}):
        near = difflib.get_close_matches(name.strip("()").lower(), [*EXPERIMENTS, *WORST, "all"], n=1, cutoff=0.4)
        hint = f"Did you mean {near[0]}?" if near else "Choose from 1 to 7, or all."
        raise InputError(f"experiment {safe_repr(name) if is_short(name) else 'of that name'} does not exist. {hint}")
    return tuple(each for each in _ALL if "all" in asked or each.name in asked)
