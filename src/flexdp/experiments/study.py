"""A study: errors of mechanisms on the data sets of experiments, in percent of the number of buckets.

    Experiment ─▶ data_sets ─▶ Case: counts, truth, attainable answers ─┐
    Contender ────────────────▶ outputs of seeded runs on the counts ───┴▶ measure ─▶ Cell ─▶ Study ─▶ Row, CSV, table

``actual`` is the distance from the true answer, ``flexible`` that from the nearest answer attainable by a distortion of
at most α: by default a fraction α of the records is dropped. A cell holds their means over the runs on each data set,
and quantiles of the flexible error over all runs: the β that it exceeds with probability γ. Everything printed later is
computed from these numbers, which are rounded to nine decimals.
"""

from __future__ import annotations

import csv
import io
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from itertools import product
from typing import Any, NamedTuple, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import ALPHA as ALPHA_RANGE
from flexdp._core.domains import EPSILON, GAMMA, SMALL_DELTA, choice, elements
from flexdp._core.exact import Number, number_text, value_text
from flexdp._core.fields import Exact, MaybeExact, Taken, Value, maybe, param, whole
from flexdp._core.nearest import nearest
from flexdp._core.text import plain_scalar, safe_repr
from flexdp.baselines import attainable_places
from flexdp.baselines.base import Empty, Ties
from flexdp.distortions import Distortion, Drop, DropMove, Move
from flexdp.errors import InputError
from flexdp.experiments.paper import ALPHA, DELTA, Experiment
from flexdp.histogram import Histogram
from flexdp.measure import flexible_error_bounds
from flexdp.simulation import Binning, DataLaw, Generator, StepNoise, stream
from flexdp.statistics import Max, MaxAtLeast, Median, Min, Mode, Quantile, Range, Support

__all__ = [
    "GAMMAS",
    "Average",
    "Case",
    "Cell",
    "Contender",
    "Progress",
    "Row",
    "Settings",
    "Study",
    "blind_error",
    "data_sets",
    "datasets_csv",
    "format_table",
    "is_plain",
    "mean_and_error",
    "measure",
    "read_epsilons",
    "results_csv",
    "run",
    "write_csv",
]

GAMMAS = (Fraction(1, 2), Fraction(1, 10), Fraction(1, 100))  # of the quantiles in results.csv
DROPS: Distortion = Drop()
LEAST = 2  # runs and data sets needed for a standard error
SHOWN = 4  # values of ε in a terminal table
_LARGEST = 10**7  # runs, data sets
_DECIMALS = 9

Progress = Callable[[int, int, str], None]  # cells done, cells in total, label of the last one
Values = NDArray[np.float64]


# Settings


def _word_of(words: Any) -> Any:
    return partial(choice, known=get_args(words))


def _read_step_noise(_name: str, given: object) -> StepNoise | None:
    text = plain_scalar(given)
    return None if text is None or (isinstance(text, str) and text == "default") else _as_noise(text)


def _as_noise(given: object) -> StepNoise:
    return given if isinstance(given, StepNoise) else StepNoise.parse(given)


def _read_distortion(name: str, given: object) -> Distortion:
    if isinstance(given, Drop | Move | DropMove):
        return given
    word, _, eta = given.partition(":") if isinstance(given, str) else ("", "", "")
    if word == "drop-move" and eta:
        return DropMove(eta)
    if word in ("drop", "move") and given == word:
        return Drop() if word == "drop" else Move()
    raise InputError(name, "must be drop, move or drop-move:ETA", given=safe_repr(given))


class Settings(Value):
    """Settings of a study, which together with its experiments, mechanisms and ε determine every number.

    Numbers may be given as texts; they are kept exactly.

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
        Largest distortion that flexible errors allow, by default a fraction of the records.
    distortion
        Measure of α: ``Drop()``, ``Move()`` or ``DropMove(eta)``, or "drop", "move" or "drop-move:ETA"; records move by
        numbers of buckets.
    gamma
        A further γ, besides those in ``GAMMAS``, whose β is reported; None for no other.
    empty
        Output of a noisy histogram without an answer: bucket 0 ("zero"), or a random bucket ("random").
    ties
        Which of several tallest buckets is the mode.
    binning
        Binning of random draws.
    step_noise
        Noise on steps: "none", "uniform:N", "poisson", or None for each experiment's own.

    Examples
    --------
    >>> Settings(runs=50).texts()["runs"]
    '50'
    >>> Settings(alpha="0.01", ties="largest").alpha
    Fraction(1, 100)
    """

    seed: Taken[Number, int] = param(whole(0), default=0, kw_only=True)
    runs: Taken[Number, int] = param(whole(LEAST, _LARGEST), default=100, kw_only=True)
    datasets: Taken[Number, int] = param(whole(LEAST, _LARGEST), default=100, kw_only=True)
    delta: Exact = param(SMALL_DELTA, default=DELTA, kw_only=True)
    alpha: Exact = param(replace(ALPHA_RANGE, high=None), default=ALPHA, kw_only=True)
    distortion: Any = param(_read_distortion, default=DROPS, kw_only=True)
    gamma: MaybeExact = param(maybe(GAMMA), default=None, kw_only=True)
    empty: Empty = param(_word_of(Empty), default="zero", kw_only=True)
    ties: Ties = param(_word_of(Ties), default="smallest", kw_only=True)
    binning: Binning = param(_word_of(Binning), default="floor", kw_only=True)
    step_noise: Any = param(_read_step_noise, default=None, kw_only=True)

    def _check(self) -> None:
        if isinstance(self.distortion, Drop):
            ALPHA_RANGE.check(self.alpha)
        elif self.ties != "smallest":
            raise InputError("ties", "must be 'smallest' where records move", given=safe_repr(self.ties))

    @property
    def gammas(self) -> tuple[Fraction, ...]:
        """All γ whose β is reported, in descending order."""
        return tuple(sorted({*GAMMAS, *(() if self.gamma is None else (self.gamma,))}, reverse=True))

    def texts(self) -> dict[str, str]:
        """Return every setting as a short text.

        Returns
        -------
        dict of str to str
            Names as on the command line.
        """
        found = {each.name: getattr(self, each.name) for each in self._shown} | {"distortion": self._distortion_text()}
        return {name.replace("_", "-"): "default" if value is None else str(value) for name, value in found.items()}

    def _distortion_text(self) -> str:
        if isinstance(self.distortion, DropMove):
            return f"drop-move:{number_text(self.distortion.eta or 0)}"
        return "drop" if isinstance(self.distortion, Drop) else "move"


def read_epsilons(values: object) -> tuple[Fraction, ...]:
    """Return the values of ε, ascending and without duplicates, from a number, a list or a text such as "0.1,1"."""
    given = plain_scalar(values)
    listed: list[Any] | None
    if isinstance(given, str):
        listed = [part for part in given.replace(" ", "").split(",") if part]
    else:
        listed = [given] if isinstance(given, int | float | Fraction) else elements(given)
    if listed is None:
        raise InputError("epsilon", "must be a list of numbers", given=safe_repr(values), remedy="Write 0.1,0.5,1.")
    if not listed:
        raise InputError("epsilon", "must contain at least one number", given="none", remedy="Write 0.1,0.5,1.")
    return tuple(sorted({EPSILON.check(value) for value in listed}))


# Data sets


class Errors(NamedTuple):
    """One error per run, in percent of the number of buckets."""

    actual: Values
    flexible: Values


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A data set on the buckets 0, …, B − 1, with the distances of outputs from its true and its attainable answers."""

    counts: NDArray[np.int64]
    from_truth: Callable[[Any], Values]
    from_attainable: Callable[[Any], Values]

    @property
    def histogram(self) -> Histogram:
        """The records, by bucket number."""
        filled = np.flatnonzero(self.counts)
        return Histogram(filled, self.counts[filled])

    def errors(self, outputs: Any) -> Errors:
        """Return the distance from each output to the true answer and to the nearest attainable one."""
        percent = 100 / len(self.counts)
        return Errors(percent * self.from_truth(outputs), percent * self.from_attainable(outputs))


@dataclass(frozen=True, slots=True)
class Average:
    """Several sources of data sets that are averaged: the i-th data set comes from source i modulo their number."""

    laws: tuple[DataLaw, ...]
    label: str

    def __str__(self) -> str:
        return self.label

    @property
    def bars(self) -> int:
        """B of the first; each error is in percent of its own data set's."""
        return self.laws[0].bars

    def counts(self, rng: Generator) -> NDArray[np.int64]:
        """Draw from the first."""
        return self.laws[0].counts(rng)


def is_plain(statistic: object) -> bool:
    """Return True for the statistics of the paper's figure, which every baseline supports."""
    return isinstance(statistic, Max | MaxAtLeast | Mode)


@lru_cache(maxsize=16)  # the experiments of a study and of one variant
def data_sets(experiment: Experiment, settings: Settings) -> tuple[Case, ...]:
    """Return all data sets of an experiment, which are the same for every mechanism."""
    law = experiment.switch(binning=settings.binning, noise=settings.step_noise).law
    sources = law.laws if isinstance(law, Average) else (law,)
    return tuple(
        _prepare(
            sources[place % len(sources)].counts(stream(settings.seed, "data", experiment.name, place)),
            experiment.statistic,
            settings,
        )
        for place in range(settings.datasets)
    )


def _prepare(counts: NDArray[np.int64], statistic: Any, settings: Settings) -> Case:
    if not counts.any():
        raise InputError(
            "data", ": a data set contains no records", remedy="Choose a law or a number of buckets that yields some."
        )
    if is_plain(statistic) and isinstance(settings.distortion, Drop):
        truth, attainable = (
            attainable_places(counts, statistic, alpha, ties=settings.ties).astype(np.float64)
            for alpha in (Fraction(0), settings.alpha)
        )
        return Case(
            counts, lambda outputs: nearest(truth, outputs).gap, lambda outputs: nearest(attainable, outputs).gap
        )
    filled = np.flatnonzero(counts)
    histogram = Histogram(filled, counts[filled])

    def distances(outputs: Any, alpha: Fraction, distortion: Distortion) -> Values:
        found = flexible_error_bounds(histogram, outputs, statistic, alpha, distortion=distortion).upper
        if isinstance(statistic, MaxAtLeast):  # "no bucket holds k records" counts as bucket 0
            nothing = flexible_error_bounds(histogram, [None], statistic, alpha, distortion=distortion).upper[0]
            found = np.minimum(found, np.abs(outputs) + nothing)
        if not np.isfinite(found).all():
            raise InputError(
                "statistic",
                "must have values with finite distances, such as median, q0.9, range or support",
                given=safe_repr(statistic),
            )
        return found

    return Case(
        counts,
        lambda outputs: distances(outputs, Fraction(0), DROPS),
        lambda outputs: distances(outputs, settings.alpha, settings.distortion),
    )


def blind_error(case: Case) -> float:
    """Return the mean error of a random guess, in percent of B."""
    return float(case.errors(np.arange(len(case.counts), dtype=np.float64)).actual.mean())


# Cells


class Contender(Protocol):
    """A mechanism as the study sees it: a name, and outputs on a data set."""

    @property
    def name(self) -> str:
        """Name in tables and figures."""

    def refuse(self, epsilon: Fraction, settings: Settings) -> None:
        """Raise an error if the mechanism does not support these parameters."""

    def outputs(self, case: Case, statistic: Any, epsilon: Fraction, settings: Settings, rng: Generator) -> Any:
        """Return one output per run, as a place among the buckets."""


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
        Quantiles of the flexible error over all runs: β for each γ of the settings.

    Examples
    --------
    >>> from flexdp.experiments import EXPERIMENTS, choose_mechanisms
    >>> (dropping,) = choose_mechanisms(["dropping"])
    >>> cell = measure(EXPERIMENTS["2"], dropping, Fraction(1), Settings(runs=5, datasets=2))
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
    def key(self) -> tuple[str, str, Fraction]:
        """Experiment, mechanism and ε."""
        return self.experiment, self.mechanism, self.epsilon


def measure(experiment: Experiment, mechanism: Contender, epsilon: Fraction, settings: Settings) -> Cell:
    """Run a mechanism on every data set, each with its own random stream."""
    percent_actual, percent_flexible = [], []
    everything = np.empty((settings.datasets, settings.runs))
    check = _check_sets if isinstance(experiment.statistic, Support) else _check_numbers
    for place, case in enumerate(data_sets(experiment, settings)):
        rng = stream(settings.seed, "run", experiment.name, place, mechanism.name, epsilon)
        given = mechanism.outputs(case, experiment.statistic, epsilon, settings, rng)
        last = len(case.counts) - 1 if on_buckets(experiment.statistic) else None
        actual, flexible = case.errors(check(given, mechanism.name, settings.runs, last))
        percent_actual.append(round(float(actual.mean()), _DECIMALS))
        percent_flexible.append(round(float(flexible.mean()), _DECIMALS))
        everything[place] = flexible
    ascending = np.sort(everything, axis=None)
    ranks = [max(1, math.ceil((1 - gamma) * len(ascending))) for gamma in settings.gammas]
    return Cell(
        experiment=experiment.name,
        mechanism=mechanism.name,
        epsilon=epsilon,
        actual=tuple(percent_actual),
        flexible=tuple(percent_flexible),
        betas=tuple(round(float(ascending[rank - 1]), _DECIMALS) for rank in ranks),
    )


def on_buckets(statistic: object) -> bool:
    """Return True if the values of a statistic are bucket numbers, so that an answer outside them is a mistake."""
    return isinstance(statistic, Max | MaxAtLeast | Mode | Min | Median | Quantile | Range | Support)


def _check_numbers(outputs: Any, name: str, runs: int, last: int | None) -> Values:
    try:
        given = np.asarray(outputs)
        if given.dtype.kind == "c":  # astype would only warn about the imaginary part
            raise TypeError
        numbers = given.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError("mechanism", f"{safe_repr(name)} must return real numbers, one per run") from None
    if numbers.shape != (runs,):
        raise _not_one_each(name, runs, f"shape {numbers.shape}")
    if not np.isfinite(numbers).all():
        raise InputError("mechanism", f"{safe_repr(name)} returned an output that is not a finite number")
    if last is not None and ((numbers < 0) | (numbers > last)).any():
        raise _outside(name, last)
    return numbers


def _check_sets(outputs: Any, name: str, runs: int, last: int | None) -> list[Any]:
    """Return one set of buckets per run."""
    listed = elements(outputs)
    sets = None if listed is None else [elements(each) for each in listed]
    if sets is None or any(each is None for each in sets):
        raise InputError("mechanism", f"{safe_repr(name)} must return a set of buckets for each run")
    if len(sets) != runs:
        raise _not_one_each(name, runs, f"{len(sets)} outputs")
    if not {bucket for each in sets for bucket in each or ()} <= set(range((last or 0) + 1)):
        raise _outside(name, last)
    return sets


def _not_one_each(name: str, runs: int, given: str) -> InputError:
    return InputError("mechanism", f"{safe_repr(name)} must return one output for each of the {runs} runs", given=given)


def _outside(name: str, last: int | None) -> InputError:
    return InputError("mechanism", f"{safe_repr(name)} returned an answer outside the buckets 0, …, {last}")


# The study


@dataclass(frozen=True, kw_only=True)
class Study:
    """The results of a study.

    Parameters
    ----------
    experiments, mechanisms, epsilons
        The grid of cells.
    settings
        The settings of the study.
    cells
        One for each experiment, mechanism and ε, in that order.
    seconds
        Processor time of each mechanism.

    Examples
    --------
    >>> from flexdp.experiments import EXPERIMENTS, choose_mechanisms
    >>> one = Fraction(1)
    >>> study = run([EXPERIMENTS["2"]], choose_mechanisms(["dropping"]), [one], Settings(runs=5, datasets=2))
    >>> study.cell("2", "dropping", one).flexible
    (0.0, 0.0)
    """

    experiments: tuple[Experiment, ...]
    mechanisms: tuple[str, ...]
    epsilons: tuple[Fraction, ...]
    settings: Settings
    cells: tuple[Cell, ...]
    seconds: dict[str, float] = field(default_factory=dict)

    def cell(self, experiment: str, mechanism: str, epsilon: Fraction) -> Cell:
        """Return one cell.

        Parameters
        ----------
        experiment, mechanism
            Names.
        epsilon
            One of the values of ε.

        Returns
        -------
        Cell
            The cell.
        """
        return self._cells[experiment, mechanism, epsilon]

    @cached_property
    def _cells(self) -> dict[tuple[str, str, Fraction], Cell]:
        return {cell.key: cell for cell in self.cells}

    @cached_property
    def rows(self) -> list[Row]:
        """One row per cell, in the order of the study."""
        return [_summarise(cell, self.settings.gammas) for cell in self.cells]


def run(
    experiments: Sequence[Experiment],
    mechanisms: Sequence[Contender],
    epsilons: Sequence[Fraction],
    settings: Settings,
    *,
    progress: Progress | None = None,
) -> Study:
    """Run a study: measure every mechanism at every ε in every experiment.

    Parameters
    ----------
    experiments
        Experiments, such as the values of ``EXPERIMENTS``.
    mechanisms
        Mechanisms, from :func:`choose_mechanisms`.
    epsilons
        Values of ε.
    settings
        All other settings.
    progress
        Called after each cell with the number of cells done, their total and a label.

    Returns
    -------
    Study
        The results.

    Raises
    ------
    InputError
        If nothing is to be run, or a mechanism does not support an ε.

    Examples
    --------
    >>> from flexdp.experiments import EXPERIMENTS, choose_mechanisms
    >>> study = run([EXPERIMENTS["2"]], choose_mechanisms(["em"]), [Fraction(1)], Settings(runs=50, datasets=2))
    >>> study.cell("2", "em", Fraction(1)).betas
    (0.0, 39.0, 47.0)
    """
    for name, given in (("experiments", experiments), ("mechanisms", mechanisms), ("epsilons", epsilons)):
        if not given:
            raise InputError(name, "must not be empty")
    for mechanism, epsilon in product(mechanisms, epsilons):
        mechanism.refuse(epsilon, settings)
    work = list(product(experiments, mechanisms, epsilons))
    cells, seconds = [], {each.name: 0.0 for each in mechanisms}
    for done, (experiment, mechanism, epsilon) in enumerate(work, 1):
        data_sets(experiment, settings)  # shared: no mechanism is charged for generating them
        begun = time.process_time()
        cells.append(measure(experiment, mechanism, epsilon, settings))
        seconds[mechanism.name] += time.process_time() - begun
        if progress is not None:
            progress(done, len(work), f"({experiment.name}) {mechanism.name}")
    return Study(
        experiments=tuple(experiments),
        mechanisms=tuple(each.name for each in mechanisms),
        epsilons=tuple(epsilons),
        settings=settings,
        cells=tuple(cells),
        seconds=seconds,
    )


# Results


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of ``results.csv``; errors are in percent of the number of buckets.

    Parameters
    ----------
    experiment, mechanism
        Names.
    epsilon
        Privacy parameter.
    actual, flexible
        Mean errors over all data sets.
    actual_se, flexible_se
        Their standard errors over data sets.
    betas
        Quantiles of the flexible error over all runs: β by γ.

    Examples
    --------
    >>> from flexdp.experiments import compare
    >>> row = compare("dropping", [5, 0, 900], "max", epsilon=1, runs=20, datasets=2).rows[0]
    >>> row.mechanism, row.actual, row.beta("0.01")
    ('dropping', 0.0, 0.0)
    >>> list(row.columns())[-3:]
    ['beta_50', 'beta_90', 'beta_99']
    """

    experiment: str
    mechanism: str
    epsilon: float
    actual: float
    actual_se: float
    flexible: float
    flexible_se: float
    betas: dict[Fraction, float]

    def beta(self, gamma: Number) -> float:
        """Return the β that the flexible error exceeds with probability γ.

        Parameters
        ----------
        gamma
            One of those that the study reports: 1/2, 1/10, 1/100, or its own.

        Returns
        -------
        float
            β in percent of the number of buckets.
        """
        return self.betas[GAMMA.check(gamma)]

    def columns(self) -> dict[str, Any]:
        """Return the row as columns of ``results.csv``; quantiles are named by their level.

        Returns
        -------
        dict
            Values by column.
        """
        names = ("experiment", "mechanism", "epsilon", "actual", "actual_se", "flexible", "flexible_se")
        levels = {f"beta_{number_text(100 * (1 - gamma))}": beta for gamma, beta in self.betas.items()}
        return {**{name: getattr(self, name) for name in names}, **levels}


def _summarise(cell: Cell, gammas: Sequence[Fraction]) -> Row:
    means = [round(number, _DECIMALS) for of in (cell.actual, cell.flexible) for number in mean_and_error(of)]
    return Row(
        experiment=cell.experiment,
        mechanism=cell.mechanism,
        epsilon=float(cell.epsilon),
        actual=means[0],
        actual_se=means[1],
        flexible=means[2],
        flexible_se=means[3],
        betas=dict(zip(gammas, cell.betas, strict=True)),
    )


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean over data sets and its standard error.

    >>> mean_and_error([1.0, 2.0, 3.0])
    (2.0, 0.5773502691896258)
    """
    sample = np.asarray(values, dtype=np.float64)
    return float(sample.mean()), float(sample.std(ddof=1) / math.sqrt(len(sample)))


def results_csv(study: Study) -> str:
    """Return ``results.csv``, identical for equal parameters and seed."""
    rows = [row.columns() for row in study.rows]
    return write_csv([list(rows[0]), *(map(value_text, row.values()) for row in rows)])


def datasets_csv(study: Study) -> str:
    """Return ``datasets.csv``: one row per data set and cell, for paired comparisons."""
    lines = (
        map(value_text, (cell.experiment, cell.mechanism, cell.epsilon, place, actual, flexible))
        for cell in study.cells
        for place, (actual, flexible) in enumerate(zip(cell.actual, cell.flexible, strict=True))
    )
    return write_csv([["experiment", "mechanism", "epsilon", "dataset", "actual", "flexible"], *lines])


def write_csv(lines: Iterable[Iterable[str]]) -> str:
    """Return lines of cells as CSV."""
    target = io.StringIO()
    csv.writer(target, lineterminator="\n").writerows(lines)
    return target.getvalue()


def format_table(study: Study) -> str:
    """Return a table for a terminal: errors at a few ε, one block per experiment."""
    return "\n\n".join([_heading(study.settings), *_blocks(study)])


def _heading(settings: Settings) -> str:
    more = "" if settings.gamma is None else f" / β at γ = {number_text(settings.gamma)}"
    return f"Mean error in % of the number of buckets (actual / flexible{more})"


def _blocks(study: Study) -> Iterator[str]:
    last, gamma = len(study.epsilons) - 1, study.settings.gamma
    places = range(last + 1) if last < SHOWN else [round(place * last / (SHOWN - 1)) for place in range(SHOWN)]
    width, column = max(map(len, study.mechanisms)) + 2, 16 if gamma is None else 22
    rows = {(row.experiment, row.mechanism, row.epsilon): row for row in study.rows}
    for experiment in study.experiments:
        heads = "".join(f"{'ε = ' + number_text(study.epsilons[place]):>{column}}" for place in places)
        lines = [experiment.title, " " * width + heads]
        for name in study.mechanisms:
            cells = [rows[experiment.name, name, float(study.epsilons[place])] for place in places]
            numbers = ([row.actual, row.flexible] + ([] if gamma is None else [row.beta(gamma)]) for row in cells)
            lines.append(
                f"{name:<{width}}" + "".join(f"{' / '.join(f'{n:.1f}' for n in each):>{column}}" for each in numbers)
            )
        yield "\n".join(lines)
