"""Spaces between which mechanisms map, and public knowledge of an input."""

from __future__ import annotations

from dataclasses import replace

from flexdp._core.domains import instance
from flexdp._core.fields import Value, a, maybe, param, whole, word
from flexdp.distances import Difference, Equality, Hausdorff, Metric
from flexdp.distortions import Winf
from flexdp.histogram import Histogram

__all__ = ["HISTOGRAMS", "NUMBERS", "SETS", "VALUES", "Space", "histogram_given", "histograms"]

MOST_RECORDS = 10**18

DIMENSIONS = whole(at_most=1000)
RECORDS = maybe(whole(at_most=MOST_RECORDS))


class Space(Value):
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
    >>> from flexdp.distances import OwnMetric
    >>> print(Space("directions", OwnMetric("angle")))
    directions (angle)
    """

    name: str = param(word("'directions'"))
    metric: Metric = param(a(Metric, "a Metric, for example OwnMetric('angle')"))
    dimensions: int = param(DIMENSIONS, default=1)

    def __str__(self) -> str:
        size = "" if self.dimensions == 1 else f" in {self.dimensions} dimensions"
        return f"{self.name}{size} ({self.metric})"


HISTOGRAMS = Space("histograms", Winf())
NUMBERS = Space("numbers", Difference())
SETS = Space("finite sets", Hausdorff())
VALUES = Space("values", Equality())


def histograms(dimensions: int) -> Space:
    """Histograms of points with so many coordinates."""
    return HISTOGRAMS if dimensions == 1 else replace(HISTOGRAMS, dimensions=dimensions)


def unit_tables(dimensions: int) -> Space:
    """Tables of pairs (unit, point), in which a unit may have several."""
    return Space("tables of units", HISTOGRAMS.metric, dimensions)


def histogram_given(value: object) -> Histogram:
    """An input that must be a histogram."""
    return instance("value", value, Histogram, "a Histogram, for example of Histogram.from_values")
