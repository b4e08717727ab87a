"""Metrics as values: of answers, and of the points of data (on a circle, on a sphere, in space, between texts).

Each is a frozen value: a function of two points that can be passed as ``metric`` wherever one is taken, and that a
guarantee holds. Distances are exact (integers or Fractions) where the points are and the formula allows it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, Literal

from flexdp._core.domains import Domain, attribute, choice, elements, function, text
from flexdp._core.exact import number_text
from flexdp._core.fields import Exact, Taken, Value, maybe, param
from flexdp._core.text import plain_scalar, safe_repr
from flexdp.errors import InputError

__all__ = [
    "Chebyshev", "Cyclic", "Difference", "EditDistance", "Equality", "Euclidean", "Manhattan", "Metric", "OwnMetric",
    "Product", "Spherical", "metric_given", "name_of", "short_name",
]  # fmt: skip


_PERIOD = Domain(name="period", low=Fraction(0), remedy="Give the length of the circle, for example 24 for hours.")
_RADIUS = Domain(name="radius", low=Fraction(0), remedy="Give the radius of the sphere, for example 6371 kilometres.")


def short_name(example: str) -> Callable[[str, Any], str]:
    """Check a name that somebody gives to a metric or distortion."""

    def check(parameter: str, name: Any) -> str:
        given = text(parameter, name, example)
        if not given.strip():
            raise InputError(parameter, "must not be empty", remedy=f"Give a short name, for example {example}.")
        return given

    return check


def _two_answers(name: str, value: Any) -> Callable[[Any, Any], Any]:
    return function(name, value, "two answers")


class Metric(Value, ABC):
    """A metric by name: a function of two points, and the measure of β in a guarantee.

    Any function of two points serves as a metric; these are values that guarantees print, compare and evaluate. Your
    own is a subclass with ``name`` and ``_between``, or a function under a name, :class:`OwnMetric`.

    Examples
    --------
    >>> isinstance(Manhattan(), Metric), Manhattan().name
    (True, 'Manhattan distance')
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """Name in guarantees and messages."""

    @property
    def computes(self) -> bool:
        """True if distances can be computed, and not only promised."""
        return True

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


class Cyclic(Metric):
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

    period: Exact = param(_PERIOD)

    @property
    def name(self) -> str:
        """Name in guarantees and messages."""
        return f"cyclic distance (period {number_text(self.period)})"

    def _between(self, a: Any, b: Any) -> Any:
        apart = abs(_plain(a) - _plain(b))
        period: Any = float(self.period) if isinstance(apart, float) else self.period
        around = apart % period
        return _whole(min(around, period - around))


class Spherical(Metric):
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

    radius: Exact = param(_RADIUS, default=Fraction(1))

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


class Manhattan(Metric):
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


class Chebyshev(Metric):
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


class Euclidean(Metric):
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


class Equality(Metric):
    """0 between equal points and 1 between others, whatever they are.

    Examples
    --------
    >>> Equality()("a", "b"), Equality()("a", "a")
    (1, 0)
    """

    @property
    def name(self) -> str:
        """Name in guarantees and messages."""
        return "equality"

    def _between(self, a: Any, b: Any) -> int:
        return 0 if a == b else 1


class Difference(Metric):
    """Absolute difference of two numbers.

    Examples
    --------
    >>> Difference()(3, 5)
    2
    """

    @property
    def name(self) -> str:
        """Name in guarantees and messages."""
        return "absolute difference"

    def _between(self, a: Any, b: Any) -> Any:
        return abs(a - b)


class OwnMetric(Metric):
    """A metric of your own under a name, by which guarantees are compared.

    Parameters
    ----------
    name
        Name of the metric. Two metrics are the same if their names are.
    distance
        Function of two answers that computes it; without one the metric can be promised but not measured.

    Examples
    --------
    >>> angle = OwnMetric("angle", lambda a, b: min(abs(a - b), 360 - abs(a - b)))
    >>> angle == OwnMetric("angle"), angle(350, 20)
    (True, 30)
    """

    name: str = param(short_name("'angle'"), default="metric", bare=True)
    distance: Callable[[Any, Any], Any] | None = param(maybe(_two_answers), default=None, compare=False)

    @property
    def computes(self) -> bool:
        """True if the metric was given with the function that computes it."""
        return self.distance is not None

    def _between(self, a: Any, b: Any) -> Any:
        if self.distance is None:
            raise InputError("distance", f"was not given for the metric {self.name!r}")
        return self.distance(a, b)


class EditDistance(Metric):
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


def _listed(name: str, metrics: Any) -> tuple[Callable[[Any, Any], Any], ...]:
    listed = elements(metrics)
    if not listed:
        raise InputError(name, "must be a list of metrics, one per coordinate", given=safe_repr(metrics))
    return tuple(function(name, each, "two points") for each in listed)


def _combination(name: str, word: Any) -> str:
    return choice(name, word, ("sum", "max", "euclidean"))


class Product(Metric):
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

    metrics: Taken[Iterable[Callable[[Any, Any], Any]], tuple[Callable[[Any, Any], Any], ...]] = param(_listed)
    combine: Literal["sum", "max", "euclidean"] = param(_combination, default="sum")

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


def metric_given(name: str, value: object) -> Metric:
    """Check a parameter that must be a metric, or a function with a name that computes one."""
    if not isinstance(value, Metric) and callable(value) and not isinstance(value, type):
        return OwnMetric(name_of(name, value), value)
    if not isinstance(value, Metric):
        raise InputError(name, "must be a Metric, for example Difference() or Cyclic(24)", given=safe_repr(value))
    return value


def name_of(parameter: str, value: object) -> str:
    """Return the name by which a function is known in a guarantee: its own, or that of its class."""
    own = attribute(value, "name")
    found = own if isinstance(own, str) else attribute(value, "__name__")
    found = found if isinstance(found, str) else type(value).__name__
    if found == "<lambda>":
        raise InputError(
            parameter,
            "must have a name, by which guarantees are compared",
            given="a lambda",
            remedy="Define it with def, or wrap it: OwnDistortion('swap', …), OwnMetric('angle', …).",
        )
    return found


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
