"""Compared mechanisms: values with ε and δ, a privacy claim, and seeded runs on an array of counts.

    baseline("esa") ── claim(ε, δ) ─▶ Privacy
      a Compared  ├─── run(counts, statistic, runs, rng, ε, δ) ─▶ one answer per run, drawn block by block
                  └─── kind(ε, δ) ─▶ a ComparedMechanism: .privacy, .answers(…), .law_of_answer(…)
                         └ NoisyBars is also a library mechanism: .law(x), .draw(x, bits), chains, exact δ

They are for seeded experiments on simulated or public data and unfit for a release: the caller passes the generator,
much of the noise is computed in doubles, and the privacy claims are about real arithmetic.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Literal, Protocol, TypeAlias, get_args, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import EPSILON, SMALL_DELTA, array, choice, integer
from flexdp._core.exact import Number
from flexdp._core.fields import Exact, Value, param
from flexdp._core.text import safe_repr
from flexdp.distribution import Distribution
from flexdp.errors import InputError
from flexdp.guarantees import Privacy
from flexdp.histogram import Histogram
from flexdp.simulation import Generator
from flexdp.statistics import Max, MaxAtLeast, Mode

__all__ = [
    "BLOCK",
    "Baseline",
    "Citation",
    "Compared",
    "ComparedHistogram",
    "ComparedMechanism",
    "Empty",
    "Question",
    "Readable",
    "Ties",
    "read_question",
]

BLOCK = 2**15  # noisy counts per block: fits in the cache and bounds the memory
LARGEST_TOTAL = 2**53  # total number of records, so that sums of counts are exact in doubles
MOST_RUNS = 10**9
_EPSILON = replace(EPSILON, low=Fraction(1, 10**300), low_included=True)  # calibrations divide by it, in doubles

Empty: TypeAlias = Literal["zero", "random"]
Ties: TypeAlias = Literal["smallest", "largest", "random"]
Readable: TypeAlias = Max | MaxAtLeast | Mode
Floats: TypeAlias = NDArray[np.float64]


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

    Examples
    --------
    >>> from flexdp.baselines import baseline
    >>> from flexdp.simulation import stream
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
    """A checked request; ``level`` is the k of max_k (1 for the maximum), None for the mode."""

    counts: NDArray[np.int64]
    statistic: Readable
    level: int | None
    empty: Empty = "zero"
    ties: Ties = "smallest"

    @property
    def buckets(self) -> int:
        """B, the number of buckets in the public domain."""
        return len(self.counts)

    @property
    def histogram(self) -> Histogram:
        """The non-empty buckets."""
        filled = np.flatnonzero(self.counts)
        return Histogram(filled, self.counts[filled])


def read_question(counts: object, statistic: object, *, empty: object = "zero", ties: object = "smallest") -> Question:
    """Check a request."""
    if not isinstance(statistic, Max | MaxAtLeast | Mode):
        raise InputError("statistic", "must be Max(), MaxAtLeast(k) or Mode()", given=safe_repr(statistic))
    instead: Any = choice("empty", empty, get_args(Empty))
    rule: Any = choice("ties", ties, get_args(Ties))
    level = None if isinstance(statistic, Mode) else statistic.count if isinstance(statistic, MaxAtLeast) else 1
    return Question(counts=_read_counts(counts), statistic=statistic, level=level, empty=instead, ties=rule)


def _read_counts(counts: object) -> NDArray[np.int64]:
    bars = array(counts)
    if bars is None or bars.ndim != 1 or not len(bars) or bars.dtype.kind not in "iu":
        raise InputError(
            "counts", "must be a one-dimensional array of integers", remedy="Give one count per bucket of the domain."
        )
    if int(bars.min()) < 0 or float(bars.sum(dtype=np.float64)) > LARGEST_TOTAL:
        raise InputError("counts", "must not be negative and must sum to at most 2^53")
    return bars.astype(np.int64)


class ComparedMechanism(Value, ABC):
    """One compared mechanism with its parameters."""

    citation: ClassVar[Citation]

    epsilon: Exact = param(_EPSILON)
    delta: Exact = param(SMALL_DELTA)

    @property
    def privacy(self) -> Privacy:
        """The guarantee claimed."""
        return Privacy(epsilon=self.epsilon, delta=self.delta)

    @property
    def doubles(self) -> tuple[float, float]:
        """ε and δ as doubles."""
        return float(self.epsilon), float(self.delta)

    @abstractmethod
    def answers(self, asked: Question, runs: int, rng: Generator) -> Floats:
        """Return one answer per run."""

    @abstractmethod
    def law_of_answer(self, asked: Question) -> Distribution:
        """Return the law of the answer in doubles, with no answer as bucket 0, or refuse; ties go to the smallest."""


class ComparedHistogram(ComparedMechanism):
    """A mechanism that publishes a noisy histogram; the answer is post-processing."""

    @abstractmethod
    def rows(self, counts: NDArray[np.int64], runs: int, rng: Generator) -> NDArray[Any]:
        """Return one noisy histogram per row; unpublished buckets hold 0."""

    def blocks(self, counts: NDArray[np.int64], runs: int, rng: Generator) -> Iterator[NDArray[Any]]:
        """Yield rows block by block; the block size is constant, so the generator's state determines every byte."""
        size = max(1, BLOCK // len(counts))
        for start in range(0, runs, size):
            yield self.rows(counts, min(size, runs - start), rng)

    def answers(self, asked: Question, runs: int, rng: Generator) -> Floats:
        return np.concatenate([read_off(rows, asked, rng) for rows in self.blocks(asked.counts, runs, rng)])


def read_off(rows: NDArray[Any], asked: Question, rng: Generator) -> Floats:
    """Return the statistic of each row; ``asked.empty`` decides for a row without an answer.

    A bucket is published if its count is positive: max takes any published bucket, max_k one of at least k records.
    """
    at = np.arange(len(rows))
    if asked.level is None:
        places = _find_tallest(rows, asked.ties, rng)
        found = rows[at, places] > 0
    else:
        tall = rows > 0 if asked.level == 1 else rows >= asked.level
        places = asked.buckets - 1 - tall[:, ::-1].argmax(axis=1)
        found = tall[at, places]
    instead = 0 if asked.empty == "zero" else rng.integers(asked.buckets, size=len(rows))
    return np.where(found, places, instead).astype(np.float64)


def _find_tallest(rows: NDArray[Any], ties: Ties, rng: Generator) -> NDArray[np.intp]:
    if ties == "smallest":
        return np.asarray(rows.argmax(axis=1))
    if ties == "largest":
        return np.asarray(rows.shape[1] - 1 - rows[:, ::-1].argmax(axis=1))
    rank = np.cumsum(rows == rows.max(axis=1, keepdims=True), axis=1)  # 1 at the first tallest bucket, …
    return np.asarray((rank > rng.integers(rank[:, -1])[:, None]).argmax(axis=1))


@dataclass(frozen=True, slots=True)
class Compared:
    """A compared mechanism of this package by name: its class, at any ε and δ.

    Parameters
    ----------
    name
        Name in tables and figures.
    kind
        Its class, which takes ε and δ.

    Examples
    --------
    >>> from flexdp.baselines import baseline
    >>> esa = baseline("esa").kind(1, "1e-6")
    >>> esa, esa.law({3: 40}).factors[3].dense[0]
    (ShiftedLaplace(epsilon=1, delta='1e-06'), 0)
    """

    name: str
    kind: type[ComparedMechanism]

    @property
    def citation(self) -> Citation:
        """The publication that it comes from."""
        return self.kind.citation

    def claim(self, *, epsilon: Number, delta: Number) -> Privacy:
        """State the privacy guarantee of a run with these parameters; see :meth:`Baseline.claim`."""
        return self.kind(epsilon, delta).privacy

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
        asked = read_question(counts, statistic, empty=empty, ties=ties)
        return self.kind(epsilon, delta).answers(asked, integer("runs", runs, at_most=MOST_RUNS), rng)
