"""What every compared mechanism is: a name, a source, a privacy claim, and runs on a row of bars.

These are for seeded experiments on simulated or public data. Their randomness comes from the generator that the caller
passes in, much of their noise is made of doubles, and the claims are about real numbers: none is fit for a release.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from flexdp._parameters import DELTA, EPSILON, Number, shown, whole
from flexdp.errors import InputError
from flexdp.guarantees import Privacy
from flexdp.statistics import Max, MaxAtLeast, Mode

__all__ = [
    "LARGEST_TOTAL",
    "SMALL_DELTA",
    "Baseline",
    "Citation",
    "Empty",
    "HistogramMechanism",
    "Mechanism",
    "Readable",
    "Task",
    "read_off",
]

LARGEST_TOTAL = 2**53  # records in all, so that sums of counts are exact in doubles
SMALL_DELTA = replace(DELTA, high=Fraction(1, 2), high_included=True)  # calibrations divide by 2δ and take a logarithm

Empty: TypeAlias = Literal["zero", "random"]
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
    """A mechanism that can be compared with ours; write your own by having these four."""

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
    ) -> NDArray[np.float64]:
        """The outputs of ``runs`` independent runs, as places 0, …, B − 1 on the row of bars."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One checked request: ``level`` is the k of max_k (1 for the maximum), None for the mode."""

    counts: NDArray[np.int64]
    level: int | None
    runs: int
    rng: Generator
    budget: Privacy
    empty: Empty

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


@dataclass(frozen=True, slots=True)
class Mechanism(ABC):
    """A compared mechanism of this package: checks the request, then answers it."""

    name: ClassVar[str]
    citation: ClassVar[Citation]

    @abstractmethod
    def claim(self, *, epsilon: Number, delta: Number) -> Privacy:
        """What it promises when it is run with these parameters."""

    @abstractmethod
    def _answers(self, task: Task) -> NDArray[np.float64]:
        """One output for each run."""

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
    ) -> NDArray[np.float64]:
        """The outputs of ``runs`` independent runs on the bars 0, …, B − 1, whose number is public.

        ``empty`` says what a noisy histogram without an answer counts as: 0, the left end, or a bar drawn uniformly.
        """
        if not isinstance(rng, Generator):
            raise InputError(f"rng must be a numpy Generator; got {shown(rng)}.")
        if empty not in ("zero", "random"):
            raise InputError(f"empty must be 'zero' or 'random'; got {shown(empty)}.")
        return self._answers(
            Task(
                counts=_checked(counts),
                level=_level(statistic),
                runs=whole("runs", runs),
                rng=rng,
                budget=Privacy(epsilon=EPSILON.check(epsilon), delta=SMALL_DELTA.check(delta)),
                empty=empty,
            )
        )


@dataclass(frozen=True, slots=True)
class HistogramMechanism(Mechanism, ABC):
    """A mechanism that publishes a histogram; the answer is read off it, at no further cost in privacy."""

    @abstractmethod
    def _histograms(self, task: Task) -> NDArray[Any]:
        """One noisy histogram a row; bars that are not published hold 0."""

    def _answers(self, task: Task) -> NDArray[np.float64]:
        return read_off(self._histograms(task), task)


def read_off(histograms: NDArray[Any], task: Task) -> NDArray[np.float64]:
    """The statistic of each row; a row without an answer counts as ``task.empty`` says.

    A bar is there if it is positive; max_k asks for at least k records, max for any bar that is there.
    """
    if task.level is None:
        places = histograms.argmax(axis=1)
        found = histograms[np.arange(len(histograms)), places] > 0
    else:
        tall = histograms > 0 if task.level == 1 else histograms >= task.level
        places = task.bars - 1 - tall[:, ::-1].argmax(axis=1)
        found = tall[np.arange(len(tall)), places]
    instead = 0 if task.empty == "zero" else task.rng.integers(task.bars, size=len(histograms))
    return np.where(found, places, instead).astype(np.float64)


def _level(statistic: object) -> int | None:
    if isinstance(statistic, MaxAtLeast):
        return statistic.count
    if isinstance(statistic, Max):
        return 1
    if isinstance(statistic, Mode):
        return None
    raise InputError(f"statistic must be Max(), MaxAtLeast(k) or Mode(); got {shown(statistic)}.")


def _checked(counts: object) -> NDArray[np.int64]:
    bars = np.asarray(counts)
    if bars.ndim != 1 or not len(bars) or bars.dtype.kind not in "iu":
        raise InputError("counts must be a row of whole numbers, one for each bar of the public domain.")
    if int(bars.min()) < 0 or float(bars.sum(dtype=np.float64)) > LARGEST_TOTAL:
        raise InputError("counts must be at least 0, and at most 2^53 in all.")
    return bars.astype(np.int64)
