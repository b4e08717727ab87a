"""What every compared mechanism is: a name, a source, a privacy claim, and runs on a row of bars.

These are for seeded experiments on simulated or public data. Their randomness comes from the generator that the caller
passes in, much of their noise is made of doubles, and the claims are about real numbers: none is fit for a release.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, ClassVar, Literal, Protocol, TypeAlias, get_args, runtime_checkable

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from flexdp._core.domains import EPSILON, SMALL_DELTA, array, choice, integer
from flexdp._core.exact import Number
from flexdp._core.text import safe_repr
from flexdp.baselines.laws import BarLaw, reading_law
from flexdp.errors import InputError
from flexdp.guarantees import Privacy
from flexdp.statistics import Max, MaxAtLeast, Mode

__all__ = [
    "BLOCK",
    "LARGEST_TOTAL",
    "MOST_RUNS",
    "SMALL_DELTA",
    "Baseline",
    "Citation",
    "ComparedMechanism",
    "Empty",
    "HistogramMechanism",
    "Question",
    "Readable",
    "Task",
    "Ties",
    "question",
    "read_off",
]

LARGEST_TOTAL = 2**53  # records in all, so that sums of counts are exact in doubles

MOST_RUNS = 10**9
_EPSILON = replace(EPSILON, low=Fraction(1, 10**300), low_included=True)  # calibrations divide by it, in doubles

BLOCK = 2**15  # noisy bars made at a time: they stay in the cache, and memory does not grow with the number of runs

Empty: TypeAlias = Literal["zero", "random"]
Ties: TypeAlias = Literal["smallest", "largest", "random"]
Readable: TypeAlias = Max | MaxAtLeast | Mode


@dataclass(frozen=True, slots=True)
class Citation:
    """Where a mechanism comes from: the authors, the year, and what the work is about."""

    author: str
    year: int
    title: str

    def __str__(self) -> str:
        return f"{self.author} ({self.year}), {self.title}"


@runtime_checkable
class Baseline(Protocol):
    """A mechanism that can be compared with ours; write your own by having these four.

    A fifth is optional: ``law(counts, statistic, *, epsilon, delta, empty, ties)``, the chance of each place as a row
    of doubles. With it, :func:`flexdp.baselines.exact_law` and all that is computed from laws take the mechanism too.
    """

    @property
    def name(self) -> str:
        """What tables and figures call it."""

    @property
    def citation(self) -> Citation:
        """Where it comes from."""

    def claim(self, *, epsilon: Number, delta: Number) -> Privacy:
        """What it promises when it is run with these parameters."""

    def run(
        self,
        counts: NDArray[Any],
        statistic: Readable,
        runs: int,
        rng: Generator,
        *,
        epsilon: Number,
        delta: Number,
        empty: Empty = "zero",
        ties: Ties = "smallest",
    ) -> NDArray[np.float64]:
        """The outputs of ``runs`` independent runs, as places 0, …, B − 1 on the row of bars."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of a mechanism, checked: ``level`` is the k of max_k (1 for the maximum), None for the mode."""

    counts: NDArray[np.int64]
    level: int | None
    budget: Privacy
    empty: Empty
    ties: Ties = "smallest"

    @property
    def bars(self) -> int:
        """B, the size of the public domain."""
        return len(self.counts)

    @property
    def epsilon(self) -> float:
        """ε as a double; exactly, it is ``budget.epsilon``."""
        return float(self.budget.epsilon)

    @property
    def delta(self) -> float:
        """δ as a double; exactly, it is ``budget.delta``."""
        return float(self.budget.delta)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(Question):
    """A question to be answered by independent runs."""

    runs: int
    rng: Generator


@dataclass(frozen=True, slots=True)
class ComparedMechanism(ABC):
    """A compared mechanism of this package: checks the request, then answers it."""

    name: ClassVar[str]
    citation: ClassVar[Citation]

    @abstractmethod
    def claim(self, *, epsilon: Number, delta: Number) -> Privacy:
        """What it promises when it is run with these parameters."""

    @abstractmethod
    def _answers(self, task: Task) -> NDArray[np.float64]:
        """One output for each run."""

    @abstractmethod
    def _law(self, asked: Question) -> NDArray[np.float64]:
        """The chance of each place, or an :class:`InputError` that says why it cannot be computed."""

    def run(
        self,
        counts: NDArray[Any],
        statistic: Readable,
        runs: int,
        rng: Generator,
        *,
        epsilon: Number,
        delta: Number,
        empty: Empty = "zero",
        ties: Ties = "smallest",
    ) -> NDArray[np.float64]:
        """The outputs of ``runs`` independent runs on the bars 0, …, B − 1, whose number is public.

        ``empty`` says what a noisy histogram without an answer counts as: 0, the left end, or a bar drawn uniformly.
        ``ties`` says which of several tallest bars is the mode: the smallest, the largest, or one drawn uniformly in
        each run. On the empty histogram all bars are tallest.
        """
        if not isinstance(rng, Generator):
            raise InputError(f"rng must be a numpy Generator; got {safe_repr(rng)}.")
        asked = question(counts, statistic, epsilon=epsilon, delta=delta, empty=empty, ties=ties)
        parts = {each.name: getattr(asked, each.name) for each in fields(asked)}
        return self._answers(Task(**parts, runs=integer("runs", runs, at_most=MOST_RUNS), rng=rng))

    def law(
        self,
        counts: NDArray[Any],
        statistic: Readable,
        *,
        epsilon: Number,
        delta: Number,
        empty: Empty = "zero",
        ties: Ties = "smallest",
    ) -> NDArray[np.float64]:
        """The chance of each place 0, …, B − 1 in one run, where that can be computed."""
        return self._law(question(counts, statistic, epsilon=epsilon, delta=delta, empty=empty, ties=ties))


@dataclass(frozen=True, slots=True)
class HistogramMechanism(ComparedMechanism, ABC):
    """A mechanism that publishes a histogram; the answer is read off it, at no further cost in privacy."""

    @abstractmethod
    def _histograms(self, task: Task) -> NDArray[Any]:
        """One noisy histogram a row; bars that are not published hold 0."""

    @abstractmethod
    def _bar_law(self, asked: Question) -> BarLaw:
        """The law of one noisy bar, where bars are independent."""

    def _answers(self, task: Task) -> NDArray[np.float64]:
        """Block by block. The size of a block is a constant, so that a generator's state still decides every byte."""
        rows = max(1, BLOCK // task.bars)
        out = np.empty(task.runs)
        for start in range(0, task.runs, rows):
            block = out[start : start + rows]
            part = replace(task, runs=len(block))
            block[:] = read_off(self._histograms(part), part)
        return out

    def _law(self, asked: Question) -> NDArray[np.float64]:
        return reading_law(asked.counts, asked.level, self._bar_law(asked), empty=asked.empty, ties=asked.ties)


def read_off(histograms: NDArray[Any], task: Task) -> NDArray[np.float64]:
    """The statistic of each row; a row without an answer counts as ``task.empty`` says.

    A bar is there if it is positive; max_k asks for at least k records, max for any bar that is there.
    """
    rows = np.arange(len(histograms))
    if task.level is None:
        places = _tallest(histograms, task)
        found = histograms[rows, places] > 0
    else:
        tall = histograms > 0 if task.level == 1 else histograms >= task.level
        places = task.bars - 1 - tall[:, ::-1].argmax(axis=1)
        found = tall[rows, places]
    instead = 0 if task.empty == "zero" else task.rng.integers(task.bars, size=len(histograms))
    return np.where(found, places, instead).astype(np.float64)


def _tallest(histograms: NDArray[Any], task: Task) -> NDArray[np.intp]:
    if task.ties == "smallest":
        return np.asarray(histograms.argmax(axis=1))
    if task.ties == "largest":
        return np.asarray(task.bars - 1 - histograms[:, ::-1].argmax(axis=1))
    rank = np.cumsum(histograms == histograms.max(axis=1, keepdims=True), axis=1)  # 1 at the first tallest bar, …
    return np.asarray((rank > task.rng.integers(rank[:, -1])[:, None]).argmax(axis=1))


def question(
    counts: object, statistic: object, *, epsilon: Number, delta: Number, empty: object, ties: object
) -> Question:
    """A request with every part of it checked."""
    instead: Any = choice("empty", empty, get_args(Empty))
    rule: Any = choice("ties", ties, get_args(Ties))
    return Question(
        counts=_checked(counts),
        level=_level(statistic),
        budget=Privacy(epsilon=_EPSILON.check(epsilon), delta=SMALL_DELTA.check(delta)),
        empty=instead,
        ties=rule,
    )


def _level(statistic: object) -> int | None:
    if isinstance(statistic, MaxAtLeast):
        return statistic.count
    if isinstance(statistic, Max):
        return 1
    if isinstance(statistic, Mode):
        return None
    raise InputError(f"statistic must be Max(), MaxAtLeast(k) or Mode(); got {safe_repr(statistic)}.")


def _checked(counts: object) -> NDArray[np.int64]:
    bars = array(counts)
    if bars is None or bars.ndim != 1 or not len(bars) or bars.dtype.kind not in "iu":
        raise InputError("counts must be a row of whole numbers, one for each bar of the public domain.")
    if int(bars.min()) < 0 or float(bars.sum(dtype=np.float64)) > LARGEST_TOTAL:
        raise InputError("counts must be at least 0, and at most 2^53 in all.")
    return bars.astype(np.int64)
