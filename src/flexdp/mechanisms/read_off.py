"""Reading a statistic off a histogram."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias, TypeGuard

from flexdp._core.domains import attribute
from flexdp._core.fields import Taken, maybe, param
from flexdp.calculus.accuracy import read_off
from flexdp.calculus.compose import Known, Step, function_step, identity, jump
from flexdp.calculus.privacy import Relation
from flexdp.distances import Difference, Metric
from flexdp.distances.metrics import metric_given
from flexdp.distribution import Distribution, Law
from flexdp.guarantees import ONE_RECORD, Accuracy, AnswersWithin
from flexdp.histogram import Histogram
from flexdp.mechanisms.bars import as_histogram, law_of_value, law_read_off
from flexdp.mechanisms.base import Mechanism
from flexdp.mechanisms.spaces import (
    DIMENSIONS,
    HISTOGRAMS,
    NUMBERS,
    SETS,
    VALUES,
    Space,
    histograms,
)
from flexdp.noise.bits import Bits
from flexdp.statistics import (
    Count,
    Max,
    MaxAtLeast,
    Median,
    Min,
    Mode,
    Quantile,
    Statistic,
    Support,
    Top,
    equal_size_sensitivity,
)
from flexdp.statistics.base import statistic_given

__all__ = ["Read", "ReadOff", "function_accuracy", "read_accuracy", "space_of"]

Measure: TypeAlias = Metric | Callable[[Any, Any], float]
Read: TypeAlias = Statistic | Callable[[Histogram], Any]

_SPACES = {space.metric: space for space in (NUMBERS, SETS, VALUES)}

_SCALING = (Max, Min, Quantile, Median, Support)  # single keys: an error relative to each is relative to the answer


def space_of(statistic: Statistic) -> Space:
    """The space of a statistic's values."""
    if isinstance(statistic, Support):
        return SETS
    return VALUES if isinstance(statistic, Mode | MaxAtLeast | Top) else NUMBERS


def _step(statistic: Statistic, metric: Metric | None = None) -> Step:
    return function_step(
        lambda beta: equal_size_sensitivity(statistic, beta),
        metric=space_of(statistic).metric if metric is None else metric,
        takes=HISTOGRAMS.metric,
        scales=isinstance(statistic, _SCALING),
    )


def _declares(statistic: Read) -> TypeGuard[Statistic]:
    """Return True for a statistic, which knows its name and its sensitivity, and False for a plain function."""
    return attribute(statistic, "sensitivity") is not None


def _read_given(_name: str, statistic: object) -> Read:
    if callable(statistic) and not isinstance(statistic, type) and attribute(statistic, "sensitivity") is None:
        return statistic
    return statistic_given(statistic)


class ReadOff(Mechanism):
    """Read a statistic off a histogram: exact for it, with error sensitivity Δ_f (paper, Thm. bucketing-general).

    Δ_f is taken between histograms of one size, because what is read off, and what it is compared with, hold equally
    many records: bucketing moves them and loses none. Where Δ_f is unbounded all the same, or the error is relative and
    the statistic mixes values, a chain carries the drop-move guarantee instead (Thm. bucketing-general-drmv). So it
    does for a plain function, of which no Δ_f is known.

    Parameters
    ----------
    statistic
        A statistic of :mod:`flexdp.statistics`, your own, or any function of a histogram.
    dimensions
        Number of coordinates of a key.
    metric
        Metric of the values, and of Δ_f, or a function that computes one. By default it is that of the built-in
        statistic, the difference of numbers for a statistic of your own, and equality for a plain function, whose value
        may be anything.

    Examples
    --------
    >>> from flexdp import Histogram
    >>> from flexdp.statistics import Max
    >>> ReadOff(Max())(Histogram.from_values([3, 8, 5]))
    8
    >>> from flexdp.calculus import Error
    >>> ReadOff(Max())(Histogram.from_values([3, 8, 5])), ReadOff(Max()).step(Known()).tau(Error(2.5)).beta
    (8, 2.5)
    >>> ReadOff(Max()).arguments()
    {'statistic': Max()}
    >>> from flexdp.mechanisms import Bucketing, Dropping
    >>> def gaps(histogram):
    ...     return [int(gap) for gap in histogram.keys[1:] - histogram.keys[:-1]]
    >>> print((Bucketing(width=5, bounds=(0, 120)) >> Dropping(1, "1e-6") >> ReadOff(gaps)).accuracy())
    Exact after leaving out at most 27 records from each bucket and moving every value by at most 2.5.
    """

    statistic: Read = param(_read_given, bare=True)
    dimensions: int = param(DIMENSIONS, default=1, kw_only=True)
    metric: Taken[Measure | None, Metric | None] = param(maybe(metric_given), default=None, kw_only=True)

    @property
    def name(self) -> str:
        """Name in messages."""
        return f"ReadOff({_name(self.statistic)})"

    @property
    def source(self) -> Space:
        """Histograms of so many dimensions."""
        return histograms(self.dimensions)

    @property
    def target(self) -> Space:
        """Values of the statistic."""
        if self.metric is not None:
            return _SPACES.get(self.metric, Space("values", self.metric))
        return space_of(self.statistic) if _declares(self.statistic) else VALUES

    def draw(self, x: Histogram, bits: Bits) -> Any:  # noqa: ARG002  (nothing is drawn)
        """Compute the statistic.

        Parameters
        ----------
        x
            A histogram that is not empty.
        bits
            The source of all randomness, of which none is used.

        Returns
        -------
        Any
            Its value.
        """
        return self.statistic(x)

    def law(self, x: Any) -> Distribution:
        """Return the point law of the value; a histogram that the statistic does not take is refused."""
        return law_of_value(self.statistic, as_histogram(x))

    def law_after(self, law: Law) -> Law:
        """Return the law of the value, in closed form where bars are independent."""
        found = law_read_off(law, self.statistic)
        return super().law_after(law) if found is None else found

    @property
    def function(self) -> Callable[[Histogram], Any]:
        """The statistic."""
        return self.statistic

    @property
    def preserves(self) -> Relation | None:
        """For the number of records: neighbours by one record have numbers that differ by one."""
        return (ONE_RECORD, AnswersWithin(1)) if isinstance(self.statistic, Count) else None

    def step(self, known: Known) -> Step:
        """Return Δ_f; a smaller number of records is that of a part of the records, so σ of a count is the identity.

        Δ between histograms of any size is that of the statistic, and infinite for a plain function, at β = 0 too: x
        and 2x are at distance 0.

        Parameters
        ----------
        known
            Public knowledge of the input; a count stands for as many records.

        Returns
        -------
        Step
            For the statistic.
        """
        if not _declares(self.statistic):
            return replace(function_step(jump, metric=self.target.metric, takes=HISTOGRAMS.metric), moves=_nowhere)
        step = replace(_step(self.statistic, self.metric), moves=self.statistic.sensitivity)
        if not isinstance(self.statistic, Count):
            return step
        return replace(step, sigma=identity(), after=Known(records_at_least=known.records_at_least))


def _nowhere(_beta: float) -> float:
    return math.inf


def _name(statistic: Read) -> str:
    told = statistic.name if _declares(statistic) else attribute(statistic, "__name__")
    return told if isinstance(told, str) else type(statistic).__name__


def read_accuracy(histogram: Accuracy, statistic: Statistic) -> Accuracy:
    """The accuracy of a statistic read off a histogram of known accuracy: the derivation that releases use, too."""
    return read_off(histogram, _step(statistic))


def function_accuracy(
    histogram: Accuracy, sensitivity: Callable[[float], float], metric: Metric = Difference()
) -> Accuracy:
    """The same for any function, given how far it moves when every record moves by at most β."""
    return read_off(histogram, function_step(sensitivity, metric=metric, takes=HISTOGRAMS.metric))
