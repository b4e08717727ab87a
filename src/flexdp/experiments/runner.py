"""Running a study: every cell that is not finished yet, in one process or several, with the same result.

The order of work decides nothing (see ``_streams``), so cells are computed in any order and put in the paper's order
at the end.
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
from flexdp.errors import InputError
from flexdp.experiments.cells import Cell, Contender, Settings, cases, measure, named
from flexdp.experiments.journal import Journal
from flexdp.experiments.paper import Experiment

__all__ = ["Progress", "Study", "chosen_mechanisms", "run"]

Progress = Callable[[int, int, str], None]  # cells done, cells in all, what was done last


@dataclass(frozen=True, kw_only=True)
class Study:
    """The cells of a study, in the order asked for, and how long each mechanism took this time."""

    experiments: tuple[Experiment, ...]
    mechanisms: tuple[str, ...]
    epsilons: tuple[Fraction, ...]
    settings: Settings
    cells: tuple[Cell, ...]
    seconds: dict[str, float] = field(default_factory=dict)

    def cell(self, experiment: str, mechanism: str, epsilon: Fraction) -> Cell:
        """One cell."""
        return self._found[experiment, mechanism, epsilon]

    @cached_property
    def _found(self) -> dict[tuple[str, str, Fraction], Cell]:
        return {cell.key: cell for cell in self.cells}


def chosen_mechanisms(names: Sequence[str]) -> tuple[Contender, ...]:
    """The compared mechanisms of those names, in the usual order; all of them if none is named."""
    listed = elements(names)
    if listed is None:
        raise InputError(f"names must be a list of mechanisms; got {safe_repr(names)}.")
    asked = {baseline(name).name for name in listed} or set(BASELINES)
    return tuple(named(each) for each in BASELINES.values() if each.name in asked)


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
    """Compute what the journal does not hold, and return the study.

    On an interruption what is finished is in the journal. ``seconds`` are of the processor, and count only what was
    computed this time.
    """
    if not experiments or not mechanisms or not epsilons:
        raise InputError("a study needs at least one experiment, one mechanism and one epsilon.")
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
    cases(work[0], settings)  # the data sets are shared: no mechanism is charged for making them
    begun = time.process_time()
    cell = measure(*work, settings)
    return cell, time.process_time() - begun


def _leave_interruptions_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
