"""Spaces between which mechanisms map, and public knowledge of an input."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from flexdp._core.domains import GAMMA, instance, integer, text
from flexdp.distortions import Move
from flexdp.guarantees import DIFFERENCE, EQUALITY, HAUSDORFF, HISTOGRAM_DISTANCE, Metric
from flexdp.histogram import Histogram

__all__ = ["HISTOGRAMS", "NUMBERS", "SETS", "VALUES", "Known", "Space", "histogram_given", "histograms"]

MOST_RECORDS = 10**18
_MOST_DIMENSIONS = 1000


@dataclass(frozen=True, slots=True)
class Space:
    """Inputs or outputs of a mechanism, and the metric in which errors on them are measured.

    Parameters
    ----------
    name
        Name of the space.
    metric
        Metric of errors.
    dimensions
        Number of coordinates of a key.

    Examples
    --------
    >>> from flexdp.guarantees import Metric
    >>> print(Space("directions", Metric("angle")))
    directions (angle)
    """

    name: str
    metric: Metric
    dimensions: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", text("name", self.name, "'directions'"))
        instance("metric", self.metric, Metric, "a Metric, for example Metric('angle')")
        object.__setattr__(self, "dimensions", dimensions_given(self.dimensions))

    def __str__(self) -> str:
        size = "" if self.dimensions == 1 else f" in {self.dimensions} dimensions"
        return f"{self.name}{size} ({self.metric})"


def dimensions_given(value: object) -> int:
    """A parameter that must be a number of dimensions."""
    return integer("dimensions", value, at_most=_MOST_DIMENSIONS)


HISTOGRAMS = Space("histograms", Metric(HISTOGRAM_DISTANCE.name, distance=Move()))
NUMBERS = Space("numbers", DIFFERENCE)
SETS = Space("finite sets", HAUSDORFF)
VALUES = Space("values", EQUALITY)


def histograms(dimensions: int) -> Space:
    """Histograms of points with so many coordinates."""
    return replace(HISTOGRAMS, dimensions=dimensions)


def unit_tables(dimensions: int) -> Space:
    """Tables of pairs (unit, point), in which a unit may have several."""
    return Space("tables of units", HISTOGRAMS.metric, dimensions)


def histogram_given(value: object) -> Histogram:
    """An input that must be a histogram."""
    return instance("value", value, Histogram, "a Histogram, for example of Histogram.from_values")


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Public knowledge of an input, on which accuracy may rest.

    Parameters
    ----------
    records_at_least
        Smallest number of records, if known.
    bars
        Largest number of non-empty buckets, if known.
    gamma
        Chance of failure that is allowed.

    Examples
    --------
    >>> Known(records_at_least=1000).bars is None
    True
    """

    records_at_least: int | None = None
    bars: int | None = None
    gamma: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        for name in ("records_at_least", "bars"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else integer(name, value))
        object.__setattr__(self, "gamma", GAMMA.check(self.gamma))
