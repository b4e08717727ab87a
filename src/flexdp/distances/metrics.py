"""Ground metrics by name: on a circle, on a sphere, in space, between texts, and products of them.

Each is a frozen value: a function of two points that can be passed as ``metric`` wherever one is taken. Distances are
exact (integers or Fractions) where the points are and the formula allows it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from flexdp._core.domains import Domain, choice, elements, function, text
from flexdp._core.exact import Number, number_text
from flexdp._core.text import plain_scalar, safe_repr
from flexdp.errors import InputError

__all__ = [
    "Chebyshev",
    "Cyclic",
    "Discrete",
    "EditDistance",
    "Euclidean",
    "GroundMetric",
    "Manhattan",
    "Product",
    "Spherical",
]


_PERIOD = Domain(name="period", low=Fraction(0), remedy="Give the length of the circle, for example 24 for hours.")
_RADIUS = Domain(name="radius", low=Fraction(0), remedy="Give the radius of the sphere, for example 6371 kilometres.")


class GroundMetric(ABC):
    """A metric by name: a function of two points.

    Any function of two points serves as a metric; these have a name that guarantees can print and compare.

    Examples
    --------
    >>> isinstance(Manhattan(), GroundMetric), Manhattan().name
    (True, 'Manhattan distance')
    """

    __slots__ = ()

    @property
    @abstractmethod
    def name(self) -> str:
        """Name in guarantees and messages."""

    @abstractmethod
    def _between(self, a: Any, b: Any) -> Any: ...

    def __call__(self, a: Any, b: Any) -> Any:
        """Compute the distance between two points.

        Parameters
        ----------
        a, b
            The points.

        Returns
        -------
        int, Fraction or float
            The distance.
        """
        return self._between(a, b)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, init=False)
class Cyclic(GroundMetric):
    """Distance on a circle: hours of a day, days of a week, directions.

    Parameters
    ----------
    period
        Length of the circle, taken exactly; positive.

    Examples
    --------
    >>> Cyclic(24)(23, 2), Cyclic(360)(350.0, 20.0)
    (3, 30.0)
    """

    period: Fraction

    def __init__(self, period: Number) -> None:
        object.__setattr__(self, "period", _PERIOD.check(period))

    @property
    def name(self) -> str:
        """Name in guarantees and messages."""
        return f"cyclic distance (period {number_text(self.period)})"

    def _between(self, a: Any, b: Any) -> Any:
        apart = abs(_plain(a) - _plain(b))
        period: Any = float(self.period) if isinstance(apart, float) else self.period
        around = apart % period
        return _whole(min(around, period - around))


@dataclass(frozen=True, slots=True, init=False)
class Spherical(GroundMetric):
    """Great-circle distance between points given as (latitude, longitude) in degrees.

    Parameters
    ----------
    radius
        Radius of the sphere, 1 by default; the Earth's is 6371 in kilometres.

    Examples
    --------
    >>> round(Spherical(6371)((51.5, -0.1), (48.9, 2.4)))
    339
    """

    radius: Fraction

    def __init__(self, radius: Number = 1) -> None:
        object.__setattr__(self, "radius", _RADIUS.check(radius))

    @property
    def name(self) -> str:
        """Name in guarantees and messages."""
        return f"spherical distance (radius {number_text(self.radius)})"

    def _between(self, a: Any, b: Any) -> float:
        (phi, lam), (psi, mu) = ((math.radians(z) for z in _coordinates(point)) for point in (a, b))
        if (phi, lam) == (psi, mu):
            return 0.0
        turn = mu - lam
        east = math.cos(psi) * math.sin(turn)
        north = math.cos(phi) * math.sin(psi) - math.sin(phi) * math.cos(psi) * math.cos(turn)
        along = math.sin(phi) * math.sin(psi) + math.cos(phi) * math.cos(psi) * math.cos(turn)
        return float(self.radius) * math.atan2(math.hypot(east, north), along)


@dataclass(frozen=True, slots=True)
class Manhattan(GroundMetric):
    """Sum of the absolute differences of the coordinates; the absolute difference of two numbers.

    Examples
    --------
    >>> Manhattan()((0, 0), (3, 4)), Manhattan()(2, 5)
    (7, 3)
    """

    @property
    def name(self) -> str:
        """Name in guarantees and messages."""
        return "Manhattan distance"

    def _between(self, a: Any, b: Any) -> Any:
        return sum(_gaps(a, b))


@dataclass(frozen=True, slots=True)
class Chebyshev(GroundMetric):
    """Largest absolute difference of a coordinate.

    Examples
    --------
    >>> Chebyshev()((0, 0), (3, 4))
    4
    """

    @property
    def name(self) -> str:
        """Name in guarantees and messages."""
        return "Chebyshev distance"

    def _between(self, a: Any, b: Any) -> Any:
        return max(_gaps(a, b), default=0)


@dataclass(frozen=True, slots=True)
class Euclidean(GroundMetric):
    """Length of the straight line between two points; the absolute difference of two numbers.

    Examples
    --------
    >>> Euclidean()((0, 0), (3, 4))
    5.0
    """

    @property
    def name(self) -> str:
        """Name in guarantees and messages."""
        return "Euclidean distance"

    def _between(self, a: Any, b: Any) -> Any:
        gaps = _gaps(a, b)
        return gaps[0] if len(gaps) == 1 else math.hypot(*map(float, gaps))


@dataclass(frozen=True, slots=True)
class Discrete(GroundMetric):
    """0 between equal points and 1 between others, whatever they are.

    Examples
    --------
    >>> Discrete()("a", "b"), Discrete()("a", "a")
    (1, 0)
    """

    @property
    def name(self) -> str:
        """Name in guarantees and messages."""
        return "discrete distance"

    def _between(self, a: Any, b: Any) -> int:
        return 0 if a == b else 1


@dataclass(frozen=True, slots=True)
class EditDistance(GroundMetric):
    """Least number of letters to insert, delete or replace to turn one text into the other (Levenshtein).

    Examples
    --------
    >>> EditDistance()("kitten", "sitting")
    3
    """

    @property
    def name(self) -> str:
        """Name in guarantees and messages."""
        return "edit distance"

    def _between(self, a: Any, b: Any) -> int:
        first, second = text("a", a), text("b", b)
        before = list(range(len(second) + 1))
        for i, letter in enumerate(first, 1):
            row = [i]
            for j, other in enumerate(second, 1):
                row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (letter != other)))
            before = row
        return before[-1]


@dataclass(frozen=True, slots=True, init=False)
class Product(GroundMetric):
    """Distance between tuples from a metric of each coordinate: their sum, their largest, or their Euclidean norm.

    Parameters
    ----------
    metrics
        One metric per coordinate.
    combine
        "sum", "max" or "euclidean".

    Raises
    ------
    InputError
        There is no metric, or one is not a function.

    Examples
    --------
    >>> hour_and_word = Product([Cyclic(24), EditDistance()])
    >>> hour_and_word((23, "cat"), (1, "cut"))
    3
    >>> print(hour_and_word)
    sum of cyclic distance (period 24) and edit distance
    """

    metrics: tuple[Callable[[Any, Any], Any], ...]
    combine: str

    def __init__(self, metrics: Any, combine: Literal["sum", "max", "euclidean"] = "sum") -> None:
        listed = elements(metrics)
        if not listed:
            raise InputError("metrics", "must be a list of metrics, one per coordinate", given=safe_repr(metrics))
        object.__setattr__(self, "metrics", tuple(function("metrics", each, "two points") for each in listed))
        object.__setattr__(self, "combine", choice("combine", combine, ("sum", "max", "euclidean")))

    @property
    def name(self) -> str:
        """Name in guarantees and messages."""
        *first, last = [_name(metric) for metric in self.metrics]
        parts = f"{', '.join(first)} and {last}" if first else last
        return f"{ {'sum': 'sum', 'max': 'largest', 'euclidean': 'Euclidean norm'}[self.combine] } of {parts}"

    def _between(self, a: Any, b: Any) -> Any:
        if len(a) != len(self.metrics) or len(b) != len(self.metrics):
            raise InputError("metrics", "must be as many as the points have coordinates")
        parts = [metric(u, v) for metric, u, v in zip(self.metrics, a, b, strict=True)]
        if self.combine == "sum":
            return sum(parts)
        return max(parts) if self.combine == "max" else math.hypot(*map(float, parts))


def _name(metric: Any) -> str:
    found = getattr(metric, "name", None) or getattr(metric, "__name__", None)
    return found if isinstance(found, str) else type(metric).__name__


def _coordinates(point: Any) -> list[float]:
    found = elements(point)
    if found is None or len(found) != 2:
        raise InputError("metric", "takes points given as (latitude, longitude)")
    return [float(z) for z in found]


def _gaps(a: Any, b: Any) -> list[Any]:
    first, second = (elements(point) if hasattr(point, "__iter__") else [point] for point in (a, b))
    if first is None or second is None or len(first) != len(second):
        raise InputError("metric", "takes two numbers, or two points with equally many coordinates")
    return [abs(_plain(u) - _plain(v)) for u, v in zip(first, second, strict=True)]


def _plain(value: Any) -> Any:
    """A number as Python's own, so that integers stay exact."""
    given = plain_scalar(value)
    return given.item() if hasattr(given, "item") else given


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, Fraction) and value.denominator == 1 else value
