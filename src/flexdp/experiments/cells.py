"""The unit of work: one mechanism at one ε on all data sets of one experiment.

Of the runs on one data set their mean is kept, actual and flexible; of all runs together three quantiles of the
flexible error. Everything printed later is computed from these numbers, which are rounded to nine decimals here, so
that a result read back from disk is the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import ALPHA as ALPHA_RANGE
from flexdp._core.domains import EPSILON, elements, integer
from flexdp._core.exact import Number, number_text
from flexdp._core.text import plain_scalar, safe_repr
from flexdp.baselines import Baseline
from flexdp.baselines.base import SMALL_DELTA, Empty, Ties
from flexdp.errors import InputError
from flexdp.experiments.cases import Case, case
from flexdp.experiments.paper import ALPHA, DELTA, Experiment
from flexdp.simulation.laws import Binning, StepNoise
from flexdp.simulation.streams import Generator, stream

__all__ = [
    "QUANTILES",
    "Cell",
    "Contender",
    "Key",
    "Settings",
    "cases",
    "epsilon_grid",
    "epsilon_text",
    "measure",
    "named",
]

QUANTILES = (Fraction(1, 2), Fraction(9, 10), Fraction(99, 100))
LEAST = 2  # runs and data sets without which there is no spread to speak of
_LARGEST = 10**7  # runs, data sets
_DECIMALS = 9

Key = tuple[str, str, Fraction]  # experiment, mechanism, ε


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What decides every number of a study, apart from which experiments, mechanisms and ε are asked for."""

    seed: int = 0
    runs: int = 100
    datasets: int = 100
    delta: Fraction = DELTA
    alpha: Fraction = ALPHA
    empty: Empty = "zero"
    ties: Ties = "smallest"
    binning: Binning = "floor"
    step_noise: StepNoise | None = None

    @classmethod
    def checked(
        cls,
        *,
        seed: Number = 0,
        runs: Number = 100,
        datasets: Number = 100,
        delta: Number = DELTA,
        alpha: Number = ALPHA,
        empty: str = "zero",
        ties: str = "smallest",
        binning: str = "floor",
        step_noise: str | None = None,
    ) -> Settings:
        """From what a user wrote, each in its declared range."""
        return cls(
            seed=integer("seed", seed, at_least=0),
            runs=_many("runs", runs),
            datasets=_many("datasets", datasets),
            delta=SMALL_DELTA.check(delta),
            alpha=ALPHA_RANGE.check(alpha),
            empty=_one_of("empty", empty, ("zero", "random")),
            ties=_one_of("ties", ties, ("smallest", "largest", "random")),
            binning=_one_of("binning", binning, ("floor", "nearest")),
            step_noise=_step_noise(step_noise),
        )

    def texts(self) -> dict[str, str]:
        """Every setting as a short text, for a page or a fingerprint."""
        return {
            "seed": str(self.seed),
            "runs": str(self.runs),
            "datasets": str(self.datasets),
            "delta": str(self.delta),
            "alpha": str(self.alpha),
            "empty": self.empty,
            "ties": self.ties,
            "binning": self.binning,
            "step-noise": "default" if self.step_noise is None else str(self.step_noise),
        }


class Contender(Protocol):
    """What can be measured: a name, and outputs on a row of bars."""

    @property
    def name(self) -> str:
        """What tables and figures call it."""

    def refuse(self, epsilon: Fraction, settings: Settings) -> None:
        """Raise what the mechanism has against these parameters, before any work is done."""

    def outputs(self, case: Case, experiment: Experiment, epsilon: Fraction, settings: Settings, rng: Generator) -> Any:
        """One output for each run, as a place on the row of bars."""


@dataclass(frozen=True, slots=True)
class _Named:
    """A baseline, asked the way its protocol says; a tie rule is passed on only where it is not the usual one."""

    baseline: Baseline

    @property
    def name(self) -> str:
        return self.baseline.name

    def refuse(self, epsilon: Fraction, settings: Settings) -> None:
        try:
            self.baseline.claim(epsilon=epsilon, delta=settings.delta)
        except InputError as refusal:
            raise InputError(f"mechanism {safe_repr(self.name)}: {refusal} Leave it out, or change that.") from None

    def outputs(self, case: Case, experiment: Experiment, epsilon: Fraction, settings: Settings, rng: Generator) -> Any:
        run: Callable[..., Any] = self.baseline.run
        ties = {} if settings.ties == "smallest" else {"ties": settings.ties}
        return run(
            case.counts,
            experiment.statistic,
            settings.runs,
            rng,
            epsilon=epsilon,
            delta=settings.delta,
            empty=settings.empty,
            **ties,
        )


def named(baseline: Baseline) -> Contender:
    """A compared mechanism, ready to be measured."""
    return _Named(baseline)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One mechanism at one ε: mean errors of each data set, and quantiles of the flexible error over all runs."""

    experiment: str
    mechanism: str
    epsilon: Fraction
    actual: tuple[float, ...]
    flexible: tuple[float, ...]
    betas: tuple[float, ...]

    @property
    def key(self) -> Key:
        """What the cell is about."""
        return self.experiment, self.mechanism, self.epsilon


@lru_cache(maxsize=16)  # the experiments of a study, and of a variant of it
def cases(experiment: Experiment, settings: Settings) -> tuple[Case, ...]:
    """All data sets of an experiment; the same whatever mechanism is run on them."""
    law = experiment.switched(binning=settings.binning, noise=settings.step_noise).law
    rows = (law.counts(stream(settings.seed, "data", experiment.name, i)) for i in range(settings.datasets))
    return tuple(case(row, experiment.statistic, settings.alpha, settings.ties) for row in rows)


def measure(experiment: Experiment, mechanism: Contender, epsilon: Fraction, settings: Settings) -> Cell:
    """Run a mechanism on every data set, each from a stream of its own."""
    percent_actual, percent_flexible = [], []
    everything = np.empty((settings.datasets, settings.runs))
    for place, each in enumerate(cases(experiment, settings)):
        rng = stream(settings.seed, "run", experiment.name, place, mechanism.name, epsilon)
        outputs = _checked(mechanism.outputs(each, experiment, epsilon, settings, rng), mechanism.name, settings.runs)
        actual, flexible = each.errors(outputs)
        percent_actual.append(round(float(actual.mean()), _DECIMALS))
        percent_flexible.append(round(float(flexible.mean()), _DECIMALS))
        everything[place] = flexible
    ascending = np.sort(everything, axis=None)
    ranks = [math.ceil(level * len(ascending)) for level in QUANTILES]
    return Cell(
        experiment=experiment.name,
        mechanism=mechanism.name,
        epsilon=epsilon,
        actual=tuple(percent_actual),
        flexible=tuple(percent_flexible),
        betas=tuple(round(float(ascending[rank - 1]), _DECIMALS) for rank in ranks),
    )


def epsilon_grid(values: object) -> tuple[Fraction, ...]:
    """The ε of a study, ascending and each once; refused when there is none or one is not positive."""
    given = plain_scalar(values)
    listed: list[Any] | None
    if isinstance(given, str):
        listed = [part for part in given.replace(" ", "").split(",") if part]
    elif isinstance(given, int | float | Fraction):
        listed = [given]
    else:
        listed = elements(given)
    if listed is None:
        raise InputError(f"epsilon must be a list of numbers; got {safe_repr(values)}. Write 0.1,0.5,1.")
    if not listed:
        raise InputError("epsilon must hold at least one number; got none. Write 0.1,0.5,1.")
    return tuple(sorted({EPSILON.check(value) for value in listed}))


def epsilon_text(epsilon: Fraction) -> str:
    """ε as tables and files write it."""
    return number_text(epsilon)


def _checked(outputs: Any, name: str, runs: int) -> NDArray[np.float64]:
    try:
        given = np.asarray(outputs)
        if given.dtype.kind == "c":  # would lose its imaginary part with a warning
            raise TypeError
        numbers = given.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(f"mechanism {safe_repr(name)} must return real numbers, one for each run.") from None
    if numbers.shape != (runs,):
        raise InputError(
            f"mechanism {safe_repr(name)} must return one output for each of the {runs} runs; "
            f"got shape {numbers.shape}."
        )
    if not np.isfinite(numbers).all():
        raise InputError(f"mechanism {safe_repr(name)} returned an output that is not a finite number.")
    return numbers


def _step_noise(value: object) -> StepNoise | None:
    given = plain_scalar(value)
    return None if given is None or (isinstance(given, str) and given == "default") else StepNoise.parse(given)


def _many(name: str, value: object) -> int:
    number = integer(name, value, at_least=LEAST)
    if number > _LARGEST:
        raise InputError(f"{name} must be at most 10^7; got {safe_repr(value)}.")
    return number


def _one_of(name: str, value: str, choices: tuple[Any, ...]) -> Any:
    given = plain_scalar(value)
    if not isinstance(given, str) or given not in choices:
        raise InputError(f"{name} must be {', '.join(choices[:-1])} or {choices[-1]}; got {safe_repr(value)}.")
    return given
