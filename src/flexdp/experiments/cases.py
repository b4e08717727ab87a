"""A data set prepared for measurement: its counts, its true answer and its attainable answers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from flexdp._core.nearest import nearest
from flexdp.baselines import attainable_places
from flexdp.baselines.base import Readable, Ties
from flexdp.errors import InputError

__all__ = ["Case", "Errors", "blind_error", "case"]


class Errors(NamedTuple):
    """One error per run, in percent of the number of buckets."""

    actual: NDArray[np.float64]
    flexible: NDArray[np.float64]


class Measured(Protocol):
    """A data set whose errors can be measured."""

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of records in each bucket."""

    def errors(self, outputs: Any) -> Errors:
        """Return the errors of outputs."""


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A data set, its true answers (several only with random ties) and its attainable answers F_α; both ascend."""

    counts: NDArray[np.int64]
    truth: NDArray[np.float64]
    attainable: NDArray[np.float64]

    def errors(self, outputs: NDArray[np.float64]) -> Errors:
        """Return the distance from each output to the true answer and to the nearest attainable one."""
        percent = 100 / len(self.counts)
        return Errors(percent * nearest(self.truth, outputs).gap, percent * nearest(self.attainable, outputs).gap)


def case(counts: NDArray[np.int64], statistic: Readable, alpha: Fraction, ties: Ties = "smallest") -> Case:
    """Prepare a data set on the buckets 0, …, B − 1.

    If no bucket is tall enough, or none need be once a fraction α of the records is dropped, the answer counts as
    bucket 0, as it does for the mechanisms.
    """
    if not counts.any():
        raise InputError(
            "data", ": a data set contains no records", remedy="Choose a law or a number of buckets that yields some."
        )
    truth = attainable_places(counts, statistic, 0, ties=ties)
    explained = attainable_places(counts, statistic, alpha, ties=ties)
    return Case(counts, truth.astype(np.float64), explained.astype(np.float64))


def blind_error(case: Measured) -> float:
    """Return the mean error of a random guess, in percent of B."""
    return float(case.errors(np.arange(len(case.counts), dtype=np.float64)).actual.mean())
