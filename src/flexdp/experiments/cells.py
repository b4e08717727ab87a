"""The unit of work: one mechanism at one ε on all data sets of one experiment.

A cell holds the mean error of the runs on each data set, actual and flexible, and three quantiles of the flexible error
over all runs. Everything printed later is computed from these numbers. They are rounded to nine decimals here, so that
a result read back from disk is identical.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import ALPHA as ALPHA_RANGE
from flexdp._core.domains import EPSILON, SMALL_DELTA, choice, elements, integer
from flexdp._core.exact import Number
from flexdp._core.text import plain_scalar, safe_repr
from flexdp.baselines import Baseline
from flexdp.baselines.base import Empty, Ties
from flexdp.errors import InputError
from flexdp.experiments.cases import Case, case
from flexdp.experiments.paper import ALPHA, DELTA, Experiment
from flexdp.experiments.reading import AnyCase, any_case, is_plain, read_outputs
from flexdp.simulation import Binning, Generator, StepNoise, stream
from flexdp.statistics import Max, MaxAtLeast, Mode, Support

__all__ = [
    "QUANTILES",
    "Cell",
    "Contender",
    "Key",
    "Settings",
    "cases",
    "epsilon_grid",
    "measure",
    "named",
]

QUANTILES = (Fraction(1, 2), Fraction(9, 10), Fraction(99, 100))
LEAST = 2  # runs and data sets needed for a standard error
_LARGEST = 10**7  # runs, data sets
_DECIMALS = 9

Key = tuple[str, str, Fraction]  # experiment, mechanism, ε


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of a study, which together with its experiments, mechanisms and ε determine every number.

    Parameters
    ----------
    seed
        Seed of all random streams.
    runs
        Runs of each mechanism on each data set.
    datasets
        Data sets per experiment.
    delta
        Privacy parameter δ of all mechanisms.
    alpha
        Fraction of the records that flexible errors may drop.
    empty
        Output of a noisy histogram without an answer: bucket 0 ("zero"), or a random bucket ("random").
    ties
        Which of several tallest buckets is the mode.
    binning
        Binning of random draws.
    step_noise
        Noise on steps; None for each experiment's own.

    Examples
    --------
    >>> Settings(runs=50).texts()["runs"]
    '50'
    >>> Settings.checked(alpha="0.01", ties="largest").alpha
    Fraction(1, 100)
    """

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
        empty: Empty = "zero",
        ties: Ties = "smallest",
        binning: Binning = "floor",
        step_noise: str | None = None,
    ) -> Settings:
        """Check settings as a user wrote them.

        Parameters
        ----------
        seed, runs, datasets, delta, alpha, empty, ties, binning
            As for the class; numbers may be texts.
        step_noise
            "none", "uniform:N", "poisson", or None for each experiment's own.

        Returns
        -------
        Settings
            The settings, with exact numbers.
        """
        return cls(
            seed=integer("seed", seed, at_least=0),
            runs=_many("runs", runs),
            datasets=_many("datasets", datasets),
            delta=SMALL_DELTA.check(delta),
            alpha=ALPHA_RANGE.check(alpha),
            empty=_one_of("empty", empty, Empty),
            ties=_one_of("ties", ties, Ties),
            binning=_one_of("binning", binning, Binning),
            step_noise=_step_noise(step_noise),
        )

    def texts(self) -> dict[str, str]:
        """Return every setting as a short text, for a page or a fingerprint.

        Returns
        -------
        dict of str to str
            Names as on the command line.
        """
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
    """A mechanism as the study sees it: a name, and outputs on an array of counts."""

    @property
    def name(self) -> str:
        """Name in tables and figures."""

    def refuse(self, epsilon: Fraction, settings: Settings) -> None:
        """Raise an error if the mechanism does not support these parameters."""

    def outputs(
        self, case: Case | AnyCase, experiment: Experiment, epsilon: Fraction, settings: Settings, rng: Generator
    ) -> Any:
        """Return one output per run, as a place among the buckets."""


@dataclass(frozen=True, slots=True)
class _Named:
    """A baseline; a tie rule is passed on only if it is not the default, since a user's baseline may not take one."""

    baseline: Baseline

    @property
    def name(self) -> str:
        return self.baseline.name

    def refuse(self, epsilon: Fraction, settings: Settings) -> None:
        try:
            self.baseline.claim(epsilon=epsilon, delta=settings.delta)
        except InputError as refusal:
            rule, remedy = (each if isinstance(each, tuple) else (each,) for each in (refusal.rule, refusal.remedy))
            shown = safe_repr(self.name)
            raise InputError(
                refusal.parameter,
                (*rule, f" for mechanism {shown}"),
                given=refusal.given,
                remedy=(*remedy, f" Change it, or leave out {shown}."),
            ) from None

    def outputs(
        self, case: Case | AnyCase, experiment: Experiment, epsilon: Fraction, settings: Settings, rng: Generator
    ) -> Any:
        if not is_plain(experiment.statistic):
            budget: dict[str, Any] = {"epsilon": epsilon, "delta": settings.delta, "empty": settings.empty}
            return read_outputs(self.baseline, case, experiment.statistic, settings.runs, rng, **budget)
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
    """Return a baseline as a contender."""
    return _Named(baseline)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Errors of one mechanism at one ε in one experiment, in percent of the number of buckets.

    Parameters
    ----------
    experiment, mechanism
        Names.
    epsilon
        Privacy parameter.
    actual, flexible
        Mean error of the runs on each data set.
    betas
        Quantiles of the flexible error over all runs, at the levels ``QUANTILES``.

    Examples
    --------
    >>> from flexdp.baselines import baseline
    >>> from flexdp.experiments import EXPERIMENTS
    >>> cell = measure(EXPERIMENTS["2"], named(baseline("dropping")), Fraction(1), Settings(runs=5, datasets=2))
    >>> cell.actual, cell.flexible, cell.betas
    ((50.0, 50.0), (0.0, 0.0), (0.0, 0.0, 0.0))
    """

    experiment: str
    mechanism: str
    epsilon: Fraction
    actual: tuple[float, ...]
    flexible: tuple[float, ...]
    betas: tuple[float, ...]

    @property
    def key(self) -> Key:
        """Experiment, mechanism and ε."""
        return self.experiment, self.mechanism, self.epsilon


@lru_cache(maxsize=16)  # the experiments of a study and of one variant
def cases(experiment: Experiment, settings: Settings) -> tuple[Case | AnyCase, ...]:
    """Return all data sets of an experiment, which are the same for every mechanism."""
    law = experiment.switched(binning=settings.binning, noise=settings.step_noise).law
    rows = (law.counts(stream(settings.seed, "data", experiment.name, i)) for i in range(settings.datasets))
    asked = experiment.statistic
    if isinstance(asked, Max | MaxAtLeast | Mode):
        return tuple(case(row, asked, settings.alpha, settings.ties) for row in rows)
    return tuple(any_case(row, asked, settings.alpha) for row in rows)


def measure(experiment: Experiment, mechanism: Contender, epsilon: Fraction, settings: Settings) -> Cell:
    """Run a mechanism on every data set, each with its own random stream."""
    percent_actual, percent_flexible = [], []
    everything = np.empty((settings.datasets, settings.runs))
    for place, each in enumerate(cases(experiment, settings)):
        rng = stream(settings.seed, "run", experiment.name, place, mechanism.name, epsilon)
        given = mechanism.outputs(each, experiment, epsilon, settings, rng)
        outputs: Any = _checked_sets if isinstance(experiment.statistic, Support) else _checked
        outputs = outputs(given, mechanism.name, settings.runs)
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
    """Return the values of ε, ascending and without duplicates, from a number, a list or a text such as "0.1,1"."""
    given = plain_scalar(values)
    listed: list[Any] | None
    if isinstance(given, str):
        listed = [part for part in given.replace(" ", "").split(",") if part]
    elif isinstance(given, int | float | Fraction):
        listed = [given]
    else:
        listed = elements(given)
    if listed is None:
        raise InputError("epsilon", "must be a list of numbers", given=safe_repr(values), remedy="Write 0.1,0.5,1.")
    if not listed:
        raise InputError("epsilon", "must contain at least one number", given="none", remedy="Write 0.1,0.5,1.")
    return tuple(sorted({EPSILON.check(value) for value in listed}))


def _checked(outputs: Any, name: str, runs: int) -> NDArray[np.float64]:
    try:
        given = np.asarray(outputs)
        if given.dtype.kind == "c":  # astype would only warn about the imaginary part
            raise TypeError
        numbers = given.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError("mechanism", f"{safe_repr(name)} must return real numbers, one per run") from None
    if numbers.shape != (runs,):
        raise InputError(
            "mechanism",
            f"{safe_repr(name)} must return one output for each of the {runs} runs",
            given=f"shape {numbers.shape}",
        )
    if not np.isfinite(numbers).all():
        raise InputError("mechanism", f"{safe_repr(name)} returned an output that is not a finite number")
    return numbers


def _checked_sets(outputs: Any, name: str, runs: int) -> list[Any]:
    """Return one set of buckets per run."""
    listed = elements(outputs)
    sets = None if listed is None else [elements(each) for each in listed]
    if sets is None or any(each is None for each in sets):
        raise InputError("mechanism", f"{safe_repr(name)} must return a set of buckets for each run")
    if len(sets) != runs:
        raise InputError(
            "mechanism",
            f"{safe_repr(name)} must return one output for each of the {runs} runs",
            given=f"{len(sets)} outputs",
        )
    return sets


def _step_noise(value: object) -> StepNoise | None:
    given = plain_scalar(value)
    return None if given is None or (isinstance(given, str) and given == "default") else StepNoise.parse(given)


def _many(name: str, value: object) -> int:
    return integer(name, value, at_least=LEAST, at_most=_LARGEST)


def _one_of(name: str, value: object, words: Any) -> Any:
    return choice(name, value, get_args(words))
