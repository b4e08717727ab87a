"""One data set ready to be measured: its bars, its true answer, and every answer that leaving records out explains."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexdp.baselines._base import Readable
from flexdp.errors import InputError
from flexdp.histogram import Histogram
from flexdp.statistics import Mode

__all__ = ["Case", "Errors", "Ties", "blind_error", "case"]

Ties: TypeAlias = Literal["smallest", "largest", "random"]


class Errors(NamedTuple):
    """One number for each run, in percent of the number of bars."""

    actual: NDArray[np.float64]
    flexible: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """``truth`` holds the answer, or all of them where ties are broken at random; ``attainable`` is F_α. Both ascend."""

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
    does for the mechanisms. Ties at random: every tallest bar is a true answer.
    """
    histogram = Histogram(np.arange(len(counts)), counts)
    if not len(histogram):
        raise InputError("a data set has no record in any bar; choose a law or bars that hold some.")
    if isinstance(statistic, Mode):
        return Case(counts, _tallest(counts, ties), _modes(histogram, alpha, ties))
    value = statistic(histogram)
    places = [0.0 if place is None else float(place) for place in statistic.attainable(histogram, alpha)]
    return Case(counts, np.array([float(value or 0)]), np.unique(places))


def blind_error(case: Case) -> float:
    """The mean error, in percent of B, of naming a bar at random: what knowing nothing costs."""
    return float(case.errors(np.arange(len(case.counts), dtype=np.float64)).actual.mean())


def _tallest(counts: NDArray[np.int64], ties: Ties) -> NDArray[np.float64]:
    places = np.flatnonzero(counts == counts.max()).astype(np.float64)
    return places if ties == "random" else places[:1] if ties == "smallest" else places[-1:]


def _modes(histogram: Histogram, alpha: Fraction, ties: Ties) -> NDArray[np.float64]:
    """The bars that can become the mode; with ties to the largest, as in a mirror; at random, equal bars may stay."""
    if ties == "smallest":
        return np.asarray(Mode().attainable(histogram, alpha), dtype=np.float64)
    if ties == "largest":
        mirrored = Histogram(-histogram.keys, histogram.counts)
        return np.sort(-np.asarray(Mode().attainable(mirrored, alpha), dtype=np.float64))
    budget = math.floor(alpha * histogram.size)
    ascending = np.sort(histogram.counts)
    from_top = np.concatenate((np.cumsum(ascending[::-1])[::-1], [0]))
    taller = np.searchsorted(ascending, histogram.counts, side="right")
    cost = from_top[taller] - (len(ascending) - taller) * histogram.counts
    return histogram.keys[cost <= budget].astype(np.float64)


def _gaps(values: NDArray[np.float64], outputs: NDArray[np.float64]) -> NDArray[np.float64]:
    place = np.searchsorted(values, outputs)
    left, right = values[np.maximum(place - 1, 0)], values[np.minimum(place, len(values) - 1)]
    return np.minimum(np.abs(outputs - left), np.abs(right - outputs))


