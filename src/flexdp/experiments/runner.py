"""Running a study: all unfinished cells, in one process or several, with identical results.

The order of work does not affect the numbers (see :mod:`flexdp.simulation`), so cells are computed in any order
and sorted at the end.
"""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import product

from flexdp._core.domains import elements, integer
from flexdp._core.text import safe_repr
from flexdp.baselines import BASELINES, baseline
from flexdp.baselines.registry import VARIANTS
from flexdp.errors import InputError
from flexdp.experiments.cells import Cell, Contender, Settings, cases, measure, named
from flexdp.experiments.journal import Journal
from flexdp.experiments.paper import Experiment

__all__ = ["Progress", "Study", "chosen_mechanisms", "run"]

Progress = Callable[[int, int, str], None]  # cells done, cells in total, label of the last one


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
        Processor time of each mechanism in this run; resumed work is not counted.

    Examples
    --------
    >>> from flexdp.experiments import EXPERIMENTS
    >>> one = Fraction(1)
    >>> study = run([EXPERIMENTS["2"]], chosen_mechanisms(["dropping"]), [one], Settings(runs=5, datasets=2))
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
        return self._found[experiment, mechanism, epsilon]

    @cached_property
    def _found(self) -> dict[tuple[str, str, Fraction], Cell]:
        return {cell.key: cell for cell in self.cells}


def chosen_mechanisms(names: Sequence[str]) -> tuple[Contender, ...]:
    """Return the compared mechanisms of those names, in the order of ``BASELINES``; all if none is named.

    Parameters
    ----------
    names
        Names of mechanisms.

    Returns
    -------
    tuple of Contender
        The mechanisms, as :func:`run` takes them.

    Raises
    ------
    InputError
        If a name is unknown.

    Examples
    --------
    >>> [each.name for each in chosen_mechanisms(["bns", "dropping"])]
    ['dropping', 'bns']
    """
    listed = elements(names)
    if listed is None:
        raise InputError("names", "must be a list of mechanisms", given=safe_repr(names))
    asked = {baseline(name).name for name in listed} or set(BASELINES)
    return tuple(named(each) for each in (*BASELINES.values(), *VARIANTS.values()) if each.name in asked)


def run(
    experiments: Sequence[Experiment],
    mechanisms: Sequence[Contender],
    epsilons: Sequence[Fraction],
    settings: Settings,
    *,
    journal: Journal | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Study:
    """Run a study: measure every mechanism at every ε in every experiment.

    Parameters
    ----------
    experiments
        Experiments, such as the values of ``EXPERIMENTS``.
    mechanisms
        Mechanisms, from :func:`chosen_mechanisms`.
    epsilons
        Values of ε.
    settings
        All other settings.
    journal
        Where finished cells are kept, so that an interrupted study can resume.
    jobs
        Number of processes; the results do not depend on it.
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
    >>> from flexdp.experiments import EXPERIMENTS
    >>> study = run([EXPERIMENTS["2"]], chosen_mechanisms(["em"]), [Fraction(1)], Settings(runs=50, datasets=2))
    >>> study.cell("2", "em", Fraction(1)).betas
    (0.0, 39.0, 47.0)
    """
    for name, given in (("experiments", experiments), ("mechanisms", mechanisms), ("epsilons", epsilons)):
        if not given:
            raise InputError(name, "must not be empty")
    for mechanism, epsilon in product(mechanisms, epsilons):
        mechanism.refuse(epsilon, settings)
    known = {} if journal is None else dict(journal.cells)
    wanted = list(product(experiments, mechanisms, epsilons))
    missing = [each for each in wanted if (each[0].name, each[1].name, each[2]) not in known]
    done, seconds = len(wanted) - len(missing), {each.name: 0.0 for each in mechanisms}
    for cell, spent in _computed(missing, settings, integer("jobs", jobs)):
        known[cell.key] = cell
        seconds[cell.mechanism] += spent
        if journal is not None:
            journal.add(cell)
        done += 1
        if progress is not None:
            progress(done, len(wanted), f"({cell.experiment}) {cell.mechanism}")
    return Study(
        experiments=tuple(experiments),
        mechanisms=tuple(each.name for each in mechanisms),
        epsilons=tuple(epsilons),
        settings=settings,
        cells=tuple(known[one.name, two.name, epsilon] for one, two, epsilon in wanted),
        seconds=seconds,
    )


_Work = tuple[Experiment, Contender, Fraction]


def _computed(missing: Sequence[_Work], settings: Settings, jobs: int) -> Iterator[tuple[Cell, float]]:
    if jobs == 1 or len(missing) < jobs:
        yield from (_timed(work, settings) for work in missing)
        return
    context = multiprocessing.get_context("forkserver")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_leave_interruptions_to_the_parent) as pool:
        waiting = {pool.submit(_timed, work, settings) for work in missing}
        try:
            while waiting:
                finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in finished:
                    yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _timed(work: _Work, settings: Settings) -> tuple[Cell, float]:
    cases(work[0], settings)  # data sets are shared; do not charge a mechanism for generating them
    begun = time.process_time()
    cell = measure(*work, settings)
    return cell, time.process_time() - begun


def _leave_interruptions_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
