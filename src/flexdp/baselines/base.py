"""The protocol of compared mechanisms: a name, a citation, a privacy claim, and runs on an array of counts.

They are for seeded experiments on simulated or public data and unfit for a release: the caller passes the generator,
much of the noise is computed in doubles, and the privacy claims are about real arithmetic.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
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

LARGEST_TOTAL = 2**53  # total number of records, so that sums of counts are exact in doubles

MOST_RUNS = 10**9
_EPSILON = replace(EPSILON, low=Fraction(1, 10**300), low_included=True)  # calibrations divide by it, in doubles

BLOCK = 2**15  # noisy counts per block: fits in the cache and bounds the memory

Empty: TypeAlias = Literal["zero", "random"]
Ties: TypeAlias = Literal["smallest", "largest", "random"]
Readable: TypeAlias = Max | MaxAtLeast | Mode


@dataclass(frozen=True, slots=True)
class Citation:
    """The publication that a mechanism comes from.

    Parameters
    ----------
    author
        Names of the authors.
    year
        Year of publication.
    title
        Title of the work, with a remark where needed.

    Examples
    --------
    >>> print(Citation("Cynthia Dwork, Jing Lei", 2009, "Differential Privacy and Robust Statistics"))
    Cynthia Dwork, Jing Lei (2009), Differential Privacy and Robust Statistics
    """

    author: str
    year: int
    title: str

    def __str__(self) -> str:
        return f"{self.author} ({self.year}), {self.title}"


@runtime_checkable
class Baseline(Protocol):
    """A mechanism that can be compared with flexdp's own; yours needs these four members.

    A fifth is optional: ``law(counts, statistic, *, epsilon, delta, empty, ties)`` returns the probability of each
    bucket as an array of doubles. With it, :func:`flexdp.baselines.exact_law` and everything computed from exact
    distributions accept the mechanism too.

    Examples
    --------
    >>> from flexdp.baselines import baseline
    >>> from flexdp.simulation import stream
    >>> from flexdp.statistics import Max
    >>> em = baseline("em")
    >>> isinstance(em, Baseline), em.claim(epsilon=1, delta="1e-6").delta
    (True, Fraction(0, 1))
    >>> em.run(np.array([5, 0, 900]), Max(), 4, stream(7), epsilon=1, delta="1e-6").tolist()
    [2.0, 1.0, 2.0, 1.0]
    """

    @property
    def name(self) -> str:
        """Name in tables and figures."""

    @property
    def citation(self) -> Citation:
        """The publication that it comes from."""

    def claim(self, *, epsilon: Number, delta: Number) -> Privacy:
        """State the privacy guarantee of a run with these parameters.

        Parameters
        ----------
        epsilon, delta
            Privacy parameters.

        Returns
        -------
        Privacy
            The guarantee claimed.
        """

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
        """Return the outputs of independent runs.

        Parameters
        ----------
        counts
            Number of records in each of the buckets 0, …, B − 1, whose number is public.
        statistic
            ``Max()``, ``MaxAtLeast(k)`` or ``Mode()``.
        runs
            Number of independent runs.
        rng
            Source of all randomness.
        epsilon, delta
            Privacy parameters.
        empty
            Output of a noisy histogram without an answer: bucket 0 ("zero"), or a bucket drawn uniformly ("random").
        ties
            Which of several tallest buckets is the mode: the smallest, the largest, or one drawn uniformly per run. In
            an empty histogram all buckets are tallest.

        Returns
        -------
        ndarray of float64
            One output per run: an index 0, …, B − 1, or for some mechanisms a real number between them.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A checked request to a mechanism; ``level`` is the k of max_k (1 for the maximum), None for the mode."""

    counts: NDArray[np.int64]
    level: int | None
    budget: Privacy
    empty: Empty
    ties: Ties = "smallest"

    @property
    def bars(self) -> int:
        """B, the number of buckets in the public domain."""
        return len(self.counts)

    @property
    def epsilon(self) -> float:
        """ε as a double; ``budget.epsilon`` is exact."""
        return float(self.budget.epsilon)

    @property
    def delta(self) -> float:
        """δ as a double; ``budget.delta`` is exact."""
        return float(self.budget.delta)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(Question):
    """A request for independent runs."""

    runs: int
    rng: Generator


@dataclass(frozen=True, slots=True)
class ComparedMechanism(ABC):
    """Base class of the compared mechanisms in this package, which checks requests."""

    name: ClassVar[str]
    citation: ClassVar[Citation]

    @abstractmethod
    def claim(self, *, epsilon: Number, delta: Number) -> Privacy:
        """State the privacy guarantee of a run with these parameters."""

    @abstractmethod
    def _answers(self, task: Task) -> NDArray[np.float64]:
        """Return one output per run."""

    @abstractmethod
    def _law(self, asked: Question) -> NDArray[np.float64]:
        """Return the probability of each bucket, or raise an error that says why it cannot be computed."""

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
        """Return the outputs of independent runs; see :meth:`Baseline.run`."""
        if not isinstance(rng, Generator):
            raise InputError("rng", "must be a numpy Generator", given=safe_repr(rng))
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
        """Return the probability of each bucket 0, …, B − 1 in one run, where it can be computed."""
        return self._law(question(counts, statistic, epsilon=epsilon, delta=delta, empty=empty, ties=ties))


@dataclass(frozen=True, slots=True)
class HistogramMechanism(ComparedMechanism, ABC):
    """A mechanism that publishes a noisy histogram; the answer is post-processing."""

    @abstractmethod
    def _histograms(self, task: Task) -> NDArray[Any]:
        """Return one noisy histogram per row; unpublished buckets hold 0."""

    @abstractmethod
    def _bar_law(self, asked: Question) -> BarLaw:
        """Return the distribution of one noisy count, where counts are independent."""

    def _answers(self, task: Task) -> NDArray[np.float64]:
        """Run block by block; the block size is constant, so the generator's state determines every byte."""
        return np.concatenate([read_off(rows, part) for part, rows in self._blocks(task)])

    def _blocks(self, task: Task) -> Iterator[tuple[Task, NDArray[Any]]]:
        rows = max(1, BLOCK // task.bars)
        for start in range(0, task.runs, rows):
            part = replace(task, runs=min(rows, task.runs - start))
            yield part, self._histograms(part)

    def histograms(
        self, counts: NDArray[Any], runs: int, rng: Generator, *, epsilon: Number, delta: Number
    ) -> Iterator[NDArray[Any]]:
        """Yield blocks of noisy histograms, one per row, from which any statistic may be read; 0 is not published."""
        asked = question(counts, Max(), epsilon=epsilon, delta=delta, empty="zero", ties="smallest")
        parts = {each.name: getattr(asked, each.name) for each in fields(asked)}
        task = Task(**parts, runs=integer("runs", runs, at_most=MOST_RUNS), rng=rng)
        yield from (rows for _, rows in self._blocks(task))

    def _law(self, asked: Question) -> NDArray[np.float64]:
        return reading_law(asked.counts, asked.level, self._bar_law(asked), empty=asked.empty, ties=asked.ties)


def read_off(histograms: NDArray[Any], task: Task) -> NDArray[np.float64]:
    """Return the statistic of each row; ``task.empty`` decides for a row without an answer.

    A bucket is published if its count is positive: max takes any published bucket, max_k one of at least k records.
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
    rank = np.cumsum(histograms == histograms.max(axis=1, keepdims=True), axis=1)  # 1 at the first tallest bucket, …
    return np.asarray((rank > task.rng.integers(rank[:, -1])[:, None]).argmax(axis=1))


def question(
    counts: object, statistic: object, *, epsilon: Number, delta: Number, empty: object, ties: object
) -> Question:
    """Check a request."""
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
    raise InputError("statistic", "must be Max(), MaxAtLeast(k) or Mode()", given=safe_repr(statistic))


def _checked(counts: object) -> NDArray[np.int64]:
    bars = array(counts)
    if bars is None or bars.ndim != 1 or not len(bars) or bars.dtype.kind not in "iu":
        raise InputError(
            "counts", "must be a one-dimensional array of integers", remedy="Give one count per bucket of the domain."
        )
    if int(bars.min()) < 0 or float(bars.sum(dtype=np.float64)) > LARGEST_TOTAL:
        raise InputError("counts", "must not be negative and must sum to at most 2^53")
    return bars.astype(np.int64)
