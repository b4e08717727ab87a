"""The six experiments of the paper, as data.

Details that the paper leaves open are fixed here and can be switched: an empty output counts as bucket 0; draws are
binned by floor and discarded outside the buckets; ties for the mode go to the smallest bucket; the steps of (2) and (4)
are exact, and each bucket of (6) is shifted by an integer from −5 to 5. Buckets are numbered 0, …, B − 1.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from flexdp._core.text import is_short, safe_repr
from flexdp.errors import InputError
from flexdp.simulation import Binning, DataLaw, PoissonBars, Sampled, StepNoise, Steps
from flexdp.statistics import Max, MaxAtLeast, Mode

__all__ = ["ALPHA", "DELTA", "EPSILONS", "EXPERIMENTS", "Experiment", "choose_experiments", "statistic_text"]

EPSILONS = tuple(Fraction(n, 100) for n in (5, 7, 10, 15, 20, 30, 40, 60, 80, 100, 150, 200))
DELTA = Fraction(1, 2**20)
ALPHA = Fraction(5, 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """One panel of the figure: a statistic, and the distribution of its data sets.

    Parameters
    ----------
    name
        Name in files and on the command line.
    statistic
        ``Max()``, ``MaxAtLeast(k)`` or ``Mode()``; in a comparison, any other, or a plain function of a histogram.
    law
        Distribution of the data sets.
    about
        Short description of the data.

    Examples
    --------
    >>> EXPERIMENTS["4"].title
    '(4) max_500, steps 540×50, 490×50'
    >>> EXPERIMENTS["1"].switch(binning="nearest", noise=None).law.binning
    'nearest'
    """

    name: str
    statistic: Any
    law: DataLaw
    about: str

    @property
    def title(self) -> str:
        """Heading of a panel or a table."""
        label = f"({self.name}) " if self.name in EXPERIMENTS else ""
        return f"{label}{statistic_text(self.statistic)}, {self.about}"

    def switch(self, *, binning: Binning, noise: StepNoise | None) -> Experiment:
        """Return the same experiment under another reading of the details that the paper leaves open.

        Parameters
        ----------
        binning
            Binning of random draws.
        noise
            Noise on steps; None keeps the experiment's own.

        Returns
        -------
        Experiment
            The experiment with those settings, as far as they apply to it.
        """
        law = self.law
        if isinstance(law, Sampled):
            law = replace(law, binning=binning)
        elif isinstance(law, Steps) and noise is not None:
            law = replace(law, noise=noise)
        return replace(self, law=law)


def statistic_text(statistic: Any) -> str:
    """Return the paper's name for a statistic, or its own.

    >>> statistic_text(MaxAtLeast(500))
    'max_500'
    """
    if isinstance(statistic, MaxAtLeast):
        return f"max_{statistic.count}"
    if isinstance(statistic, Max | Mode):
        return "mode" if isinstance(statistic, Mode) else "max"
    names = (getattr(statistic, "name", None), getattr(statistic, "__name__", None), type(statistic).__name__)
    return next(name for name in names if isinstance(name, str))


_CAUCHY = Sampled(family="cauchy", parameters=(45.0, 4.0), records=10_000, bars=100)
_PLATEAUS = Steps(steps=((540, 50), (490, 50)))
_NOISY = Steps(steps=((130, 120), (200, 5), (185, 85), (190, 10), (130, 80)), noise=StepNoise("uniform", 5))

_ALL = (
    Experiment(name="1", statistic=Max(), law=replace(_CAUCHY, emptied=10), about="Cauchy, last 10 buckets empty"),
    Experiment(name="2", statistic=Max(), law=Steps(steps=((1000, 50), (1, 50))), about="steps 1000×50, 1×50"),
    Experiment(name="3", statistic=MaxAtLeast(500), law=_CAUCHY, about="Cauchy"),
    Experiment(name="4", statistic=MaxAtLeast(500), law=_PLATEAUS, about="steps 540×50, 490×50"),
    Experiment(name="5", statistic=Mode(), law=PoissonBars(mean=250.0, bars=30), about="30 Poisson buckets"),
    Experiment(name="6", statistic=Mode(), law=_NOISY, about="five noisy steps"),
)  # fmt: skip
EXPERIMENTS: Mapping[str, Experiment] = MappingProxyType({each.name: each for each in _ALL})


def choose_experiments(names: Iterable[str]) -> tuple[Experiment, ...]:
    """Return the experiments of those names, in the paper's order and each once; ``all`` means all six.

    >>> [each.name for each in choose_experiments(["4", "2", "4"])]
    ['2', '4']
    """
    asked = {str(name) for name in names}
    if not asked:
        raise InputError("experiment", "must be named", remedy="Choose from 1 to 6, or all.")
    for name in sorted(asked - {"all", *EXPERIMENTS}):
        near = difflib.get_close_matches(name.strip("()").lower(), [*EXPERIMENTS, "all"], n=1, cutoff=0.4)
        hint = f"Did you mean {near[0]}?" if near else "Choose from 1 to 6, or all."
        shown = safe_repr(name) if is_short(name) else "of that name"
        raise InputError("experiment", f"{shown} does not exist", remedy=hint)
    return tuple(each for each in _ALL if "all" in asked or each.name in asked)
