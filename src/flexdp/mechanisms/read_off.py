"""Reading a statistic off a histogram."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Any

from flexdp.calculus.accuracy import apply_error
from flexdp.calculus.sensitivities import ErrorSensitivity, deterministic_error, identity
from flexdp.guarantees import DIFFERENCE, Accuracy
from flexdp.histogram import Histogram
from flexdp.mechanisms.base import Mechanism
from flexdp.mechanisms.documents import plain
from flexdp.mechanisms.spaces import (
    HISTOGRAMS,
    NUMBERS,
    SETS,
    VALUES,
    Known,
    Space,
    dimensions_given,
    histograms,
)
from flexdp.statistics import (
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

__all__ = ["ReadOff", "function_accuracy", "read_accuracy", "space_of", "written"]

_SCALING = (Max, Min, Quantile, Median, Support)  # single keys: an error relative to each is relative to the answer


def space_of(statistic: Statistic) -> Space:
    """The space of a statistic's values."""
    if isinstance(statistic, Support):
        return SETS
    return VALUES if isinstance(statistic, Mode | MaxAtLeast | Top) else NUMBERS


def _error(statistic: Statistic) -> ErrorSensitivity:
    return deterministic_error(
        lambda beta: equal_size_sensitivity(statistic, beta),
        metric=space_of(statistic).metric,
        takes=HISTOGRAMS.metric,
        scales=isinstance(statistic, _SCALING),
    )


@dataclass(frozen=True, init=False, repr=False)
class ReadOff(Mechanism):
    """Read a statistic off a histogram: exact for it, with error sensitivity Δ_f (paper, Thm. bucketing-general).

    Δ_f is taken between histograms of one size, because what is read off, and what it is compared with, hold equally
    many records: bucketing moves them and loses none. Where Δ_f is unbounded all the same, or the error is relative and
    the statistic mixes values, a chain carries the drop-move guarantee instead (Thm. bucketing-general-drmv).

    Parameters
    ----------
    statistic
        A statistic of :mod:`flexdp.statistics`, or your own.
    dimensions
        Number of coordinates of a key.

    Examples
    --------
    >>> from flexdp import Histogram
    >>> from flexdp.statistics import Max
    >>> ReadOff(Max())(Histogram.from_values([3, 8, 5]))
    8
    >>> ReadOff(Max()).run(Histogram.from_values([3, 8, 5])), ReadOff(Max()).tau(Known()).bound(2.5)
    (8, 2.5)
    >>> ReadOff(Max()).parameters()
    {'statistic': Max()}
    """

    statistic: Statistic
    dimensions: int

    def __init__(self, statistic: Statistic, *, dimensions: int = 1) -> None:
        object.__setattr__(self, "statistic", statistic_given(statistic))
        object.__setattr__(self, "dimensions", dimensions_given(dimensions))

    @property
    def name(self) -> str:
        """Name in messages."""
        return f"ReadOff({self.statistic.name})"

    @property
    def source(self) -> Space:
        """Histograms of so many dimensions."""
        return histograms(self.dimensions)

    @property
    def target(self) -> Space:
        """Values of the statistic."""
        return space_of(self.statistic)

    def run(self, value: Histogram) -> Any:
        """Compute the statistic.

        Parameters
        ----------
        value
            A histogram that is not empty.

        Returns
        -------
        Any
            Its value.
        """
        return self.statistic(value)

    def tau(self, known: Known) -> ErrorSensitivity:  # noqa: ARG002  (it holds of every input)
        """Return Δ_f.

        Parameters
        ----------
        known
            Public knowledge of the input, which plays no part.

        Returns
        -------
        ErrorSensitivity
            For the statistic.
        """
        return _error(self.statistic)

    def parameters(self) -> dict[str, Any]:
        """Return the arguments that make an equal mechanism.

        Returns
        -------
        dict
            Arguments by name.
        """
        return {"statistic": self.statistic} | ({} if self.dimensions == 1 else {"dimensions": self.dimensions})

    def __repr__(self) -> str:
        more = "" if self.dimensions == 1 else f", dimensions={self.dimensions}"
        return f"ReadOff({written(self.statistic)}{more})"


def written(statistic: Statistic) -> str:
    """A statistic as the expression that makes it, with numbers as a person writes them."""
    if not is_dataclass(statistic):
        return repr(statistic)
    values = {field.name: getattr(statistic, field.name) for field in fields(statistic) if field.init}
    given = [f"{name}={plain(v) if isinstance(v, Fraction) else v!r}" for name, v in values.items()]
    return f"{type(statistic).__name__}({', '.join(given)})"


def read_accuracy(histogram: Accuracy, statistic: Statistic) -> Accuracy:
    """The accuracy of a statistic read off a histogram of known accuracy: the derivation that releases use, too."""
    return apply_error(histogram, _error(statistic), sigma=identity())


def function_accuracy(histogram: Accuracy, sensitivity: Callable[[float], float]) -> Accuracy:
    """The same for any function, given how far it moves when every record moves by at most β."""
    error = deterministic_error(sensitivity, metric=DIFFERENCE, takes=HISTOGRAMS.metric)
    return apply_error(histogram, error, sigma=identity())
