"""Comparisons of mechanisms: a bound on a mean over data sets, with a test of whether it is satisfied.

A check is a quantity per data set and a bound on its mean. Differences are taken on the *same* data set, so their
standard error is paired. By a t-test at ``LEVEL`` the mean is significantly within the bound (the check holds),
significantly beyond it (it fails), or neither (it is undecided, and more data sets would decide).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from flexdp._core.extras import extra
from flexdp.experiments.cases import blind_error
from flexdp.experiments.cells import Settings, cases
from flexdp.experiments.paper import Experiment
from flexdp.experiments.runner import Study

__all__ = [
    "CLOSE", "LEVEL", "VISIBLE", "Check", "Measure", "Outcome", "better", "hard", "match", "near_blind", "never_worse",
    "values",
]  # fmt: skip

VISIBLE = 1.0  # percent of the buckets: about the width of a line in the figure
LEVEL = 1e-4  # significance level, two-sided
CLOSE = 0.1  # of the error of a random guess

Measure = Literal["actual", "flexible"]
Outcome = Literal["holds", "fails", "undecided"]
Values = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Check:
    """The comparison mean ≤ bound over the data sets of one experiment, or |mean| ≤ bound if ``two_sided``."""

    about: str
    values: Values
    bound: float
    two_sided: bool = False

    @cached_property
    def mean(self) -> float:
        """Mean over data sets."""
        return float(self.values.mean())

    @cached_property
    def error(self) -> float:
        """Standard error of the mean; paired, since the values are differences on the same data sets."""
        return float(self.values.std(ddof=1) / math.sqrt(len(self.values)))

    @property
    def excess(self) -> float:
        """Distance of the mean beyond the bound; negative within it."""
        return (abs(self.mean) if self.two_sided else self.mean) - self.bound

    @cached_property
    def outcome(self) -> Outcome:
        """Result of the t-test."""
        margin = _quantile(len(self.values) - 1) * self.error
        if self.excess + margin <= 1e-9:  # tolerance for sums of rounded decimals
            return "holds"
        return "fails" if self.excess - margin > 1e-9 else "undecided"


@lru_cache(maxsize=8)
def _quantile(freedom: int) -> float:
    """Return the two-sided t-quantile at ``LEVEL``."""
    with extra("lab", "scipy", "judging an experiment"):
        from scipy.special import stdtrit

    return float(stdtrit(freedom, 1 - LEVEL / 2))


def values(study: Study, experiment: str, mechanism: str, epsilon: Fraction, of: Measure) -> Values:
    """Return the error of a mechanism on each data set."""
    return np.array(getattr(study.cell(experiment, mechanism, epsilon), of))


def _blind(study: Study, experiment: str) -> Values:
    (found,) = (each for each in study.experiments if each.name == experiment)
    return _blind_errors(found, study.settings)


@lru_cache(maxsize=16)
def _blind_errors(experiment: Experiment, settings: Settings) -> Values:
    return np.array([blind_error(case) for case in cases(experiment, settings)])


def _between(study: Study, experiment: str, one: str, two: str, epsilon: Fraction, of: Measure) -> Values:
    return values(study, experiment, one, epsilon, of) - values(study, experiment, two, epsilon, of)


def never_worse(study: Study, experiment: str, one: str, two: str, epsilon: Fraction) -> list[Check]:
    """Check that one mechanism is not visibly worse than another in either kind of error."""
    measures: tuple[Measure, ...] = ("actual", "flexible")
    return [
        Check(
            about=f"({experiment}) {one} − {two}, {of}",
            values=_between(study, experiment, one, two, epsilon, of),
            bound=VISIBLE,
        )
        for of in measures
    ]


def match(
    study: Study,
    experiment: str,
    one: str,
    two: str,
    epsilon: Fraction,
    measures: tuple[Measure, ...] = ("actual", "flexible"),
) -> list[Check]:
    """Check that two mechanisms are not visibly different."""
    return [
        Check(
            about=f"({experiment}) {one} − {two}, {of}",
            values=_between(study, experiment, one, two, epsilon, of),
            bound=VISIBLE,
            two_sided=True,
        )
        for of in measures
    ]


def hard(study: Study, experiment: str, mechanism: str, epsilon: Fraction) -> Check:
    """Check that a mechanism's error is at least half that of a random guess."""
    shortfall = _blind(study, experiment) / 2 - values(study, experiment, mechanism, epsilon, "actual")
    return Check(about=f"({experiment}) half a random guess − {mechanism}, actual", values=shortfall, bound=0.0)


def near_blind(study: Study, experiment: str, mechanism: str, epsilon: Fraction) -> Check:
    """Check that a mechanism's error is close to that of a random guess."""
    blind = _blind(study, experiment)
    return Check(
        about=f"({experiment}) {mechanism} − random guess, actual",
        values=values(study, experiment, mechanism, epsilon, "actual") - blind,
        bound=CLOSE * float(blind.mean()),
        two_sided=True,
    )


def better(study: Study, experiment: str, one: str, two: str, epsilon: Fraction) -> Check:
    """Check that one mechanism is visibly better than another, in the kind of error that differs more."""
    measures: tuple[Measure, ...] = ("actual", "flexible")
    gaps = {of: _between(study, experiment, one, two, epsilon, of) for of in measures}
    shown = min(measures, key=lambda of: float(gaps[of].mean()))
    return Check(about=f"({experiment}) {one} − {two}, {shown}", values=gaps[shown], bound=-VISIBLE)
