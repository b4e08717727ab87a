"""One data set ready to be measured: its bars, its true answer, and every answer that leaving records out explains."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexdp.baselines import attainable_places
from flexdp.baselines.base import Readable, Ties
from flexdp.errors import InputError

__all__ = ["Case", "Errors", "blind_error", "case"]


class Errors(NamedTuple):
    """One number for each run, in percent of the number of bars."""

    actual: NDArray[np.float64]
    flexible: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """``truth`` is the answer, or all of them where ties are broken at random; ``attainable`` is F_α. Both ascend."""

    counts: NDArray[np.int64]
    truth: NDArray[np.float64]
    attainable: NDArray[np.float64]

    def errors(self, outputs: NDArray[np.float64]) -> Errors:
        """How far each output is from the truth, and from the nearest attainable answer."""
        percent = 100 / len(self.counts)
        return Errors(percent * _gaps(self.truth, outputs), percent * _gaps(self.attainable, outputs))


def case(counts: NDArray[np.int64], statistic: Readable, alpha: Fraction, ties: Ties = "smallest") -> Case:
    """Prepare a data set on the bars 0, …, B − 1.

    Where no bar is tall enough, or none need be once α of the records are left out, the answer counts as bar 0, as it
    does for the mechanisms.
    """
    if not counts.any():
        raise InputError("a data set has no record in any bar; choose a law or bars that hold some.")
    truth = attainable_places(counts, statistic, 0, ties=ties)
    explained = attainable_places(counts, statistic, alpha, ties=ties)
    return Case(counts, truth.astype(np.float64), explained.astype(np.float64))


def blind_error(case: Case) -> float:
    """The mean error, in percent of B, of naming a bar at random: what knowing nothing costs."""
    return float(case.errors(np.arange(len(case.counts), dtype=np.float64)).actual.mean())


def _gaps(values: NDArray[np.float64], outputs: NDArray[np.float64]) -> NDArray[np.float64]:
    place = np.searchsorted(values, outputs)
    left, right = values[np.maximum(place - 1, 0)], values[np.minimum(place, len(values) - 1)]
    return np.asarray(np.minimum(np.abs(outputs - left), np.abs(right - outputs)))
