"""Finite spaces: points, functions on them with their outputs as exact laws, and all distances as exact tables.

points  0  1  2         f: point ─▶ law of numbered outputs       ranks  0 1 2     levels  0, ½, 3
                           {0: 1/2, 1: 1/2}                             1 0 1     (thresholds compare ranks)
"""

from __future__ import annotations

import bisect
import datetime as dt
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import attribute, elements, function
from flexdp._core.exact import number_text
from flexdp._core.text import plain_scalar, safe_repr, thousands
from flexdp.distances import transport as _transport
from flexdp.distances.axioms import Amount, amount, check_axioms, distances_between, labels_of
from flexdp.distances.inputs import Law, Measure, law_given
from flexdp.distances.lossy import lossy_winf
from flexdp.distances.metrics import Euclidean
from flexdp.errors import InputError
from flexdp.histogram import Histogram

__all__ = [
    "Law",
    "Outputs",
    "Points",
    "Table",
    "default_metric",
    "law_text",
    "make_table",
    "point_text",
    "points_given",
]

Points: TypeAlias = Iterable[Any]


def points_given(name: str, given: Points, *, at_least: int = 1) -> list[Any]:
    """Read a finite space: different points, in the order given."""
    listed = elements(given)
    if listed is None or len(listed) < at_least:
        few = " of at least one point" if at_least else ""
        raise InputError(name, f"must be a list{few}", given=safe_repr(given))
    found = Outputs()
    for i, point in enumerate(listed):
        found.place(name, point, f"{name}[{i}]")
    return found.points


class Outputs:
    """The different outputs that occur, numbered, and the law of each function at each point."""

    def __init__(self) -> None:
        self.points: list[Any] = []
        self._places: dict[Any, int] = {}

    def place(self, name: str, point: Any, where: str) -> int:
        """Return the number of an output."""
        key = ("array", point.shape, *point.reshape(-1).tolist()) if isinstance(point, np.ndarray) else point
        try:
            found = self._places.setdefault(key, len(self.points))
        except Exception:  # noqa: BLE001  (a point of the caller's may raise anything when it is hashed or compared)
            raise InputError(
                name, f"must be hashable points, such as numbers, texts, tuples or histograms: {where} is not"
            ) from None
        if found == len(self.points):
            self.points.append(point)
        return found

    def laws(self, name: str, given: Any, points: Sequence[Any]) -> list[dict[int, Fraction]]:
        """Return the law of a function at each point, over numbered outputs.

        The function is called twice: one that draws its outputs at random gives itself away.
        """
        call = _callable(name, given, points)
        label = labels_of("points", points, quoted=True)
        laws = []
        for i, point in enumerate(points):
            once, again = (_called(name, call, point, label(i)) for _ in range(2))
            law = self._law(name, once, label(i))
            if not _same(once, again) and self._law(name, again, label(i)) != law:
                raise InputError(
                    name,
                    f"must give the same output again: it draws at random at {label(i)}",
                    remedy="Let it return its law: a mapping or a list of pairs from outputs to probabilities.",
                )
            laws.append(law)
        return laws

    def _law(self, name: str, output: Any, label: str) -> dict[int, Fraction]:
        found: dict[int, Fraction] = {}
        for value, chance in law_given(name, output, label):
            place = self.place(name, value, f"its output at {label}")
            found[place] = found.get(place, Fraction(0)) + chance
        return found


def _called(name: str, call: Callable[[Any], Any], point: Any, label: str) -> Any:
    try:
        return call(point)
    except Exception as error:
        raise InputError(name, f"raised {type(error).__name__} at {label}") from error


def _same(one: Any, other: Any) -> bool:
    """Return True if two mappings are plainly equal, so that they need not be read twice."""
    return type(one) is type(other) is dict and one == other


def _callable(name: str, given: Any, points: Sequence[Any]) -> Callable[[Any], Any]:
    law = attribute(given, "law")
    if callable(law) and (not points or _called(name, law, points[0], "points[0]") is not None):
        return law  # type: ignore[no-any-return]
    if attribute(given, "privacy") is not None:
        raise InputError(
            name,
            "is randomised, so its distribution is needed",
            remedy="Pass a function that returns it: a mapping or a list of pairs from outputs to probabilities.",
        )
    return function(name, given, "a point")


def point_text(point: Any) -> str:
    """Write a point of a finite space for people."""
    items = getattr(point, "items", None)
    if callable(items):  # a histogram
        return "{" + ", ".join(f"{key}: {count}" for key, count in items()) + "}"
    return str(point)


def law_text(law: Law, most: int = 4) -> str:
    """Write a law for people: a point, or points with their probabilities, the first few of them."""
    if len(law) == 1:
        return point_text(law[0][0])
    shown = [f"{point_text(point)} with probability {number_text(chance)}" for point, chance in law[:most]]
    return "; ".join(shown) + ("; …" if len(law) > most else "")


_MOST_POINTS = 3_000  # of a table, which holds every pair


@dataclass(frozen=True, eq=False, slots=True)
class Table:
    """All distances among some points, as ranks among the different distances that occur.

    ``levels`` are the distances in ascending order, as the function returned them.
    """

    ranks: NDArray[np.int64]
    levels: tuple[Any, ...]

    def within(self, bound: Amount) -> int:
        """Return how many of the levels are at most ``bound``: ranks below that number are within it."""
        return bisect.bisect_right(self.levels, bound, key=_exactly)

    def near(self, bound: Amount) -> NDArray[np.bool_]:
        """Return for each pair whether its distance is at most ``bound``."""
        found: NDArray[np.bool_] = self.ranks < self.within(bound)
        return found


def make_table(
    name: str, metric: Any, points: Sequence[Any], *, where: str, symmetric: bool, infinite: bool = True
) -> Table:
    """Compute and check the distances among points.

    Parameters
    ----------
    name
        Parameter that errors name.
    metric
        Function of two points, name of a scipy metric, or None for the usual distance of these points.
    points
        The points.
    where
        What the points are called in messages.
    symmetric
        True for a metric, False for a quasi-metric.
    infinite
        True if distances may be infinite.

    Returns
    -------
    Table
        The distances.
    """
    if len(points) > _MOST_POINTS:
        raise InputError(where, f"must be at most {thousands(_MOST_POINTS)} points", given=thousands(len(points)))
    labels = labels_of(where, points, quoted=True)
    function = default_metric(name, points) if metric is None else plain_scalar(metric)
    if isinstance(function, str):
        rows: list[list[Any]] = _named(name, function, points)
    elif callable(function):
        rows = distances_between(name, _exact_form(function), points, points, (labels, labels), quoted=True)
    else:
        raise InputError(name, "must be a function of two points, or the name of a metric", given=safe_repr(metric))
    ranks, levels = _sorted_doubles(rows) or _sorted_exactly(name, rows, labels)
    doubles = np.array([float(level) for level in levels])
    check_axioms(name, doubles[ranks], labels, symmetric=symmetric, infinite=infinite)
    return Table(ranks, levels)


def _sorted_doubles(rows: list[list[Any]]) -> tuple[NDArray[np.int64], tuple[Any, ...]] | None:
    """Rank distances that are all doubles, or all small integers; None for others. Shortest decimals keep the order."""
    cells = {type(cell) for row in rows for cell in row}
    if not (cells <= {float, np.float64} or (cells == {int} and max(map(max, rows)) < 2**53)):
        return None
    array = np.array(rows, dtype=np.int64 if cells == {int} else np.float64)
    if np.isnan(array).any():
        return None
    levels, ranks = np.unique(array, return_inverse=True)
    return ranks.reshape(array.shape).astype(np.int64), tuple(levels.tolist())


def _sorted_exactly(
    name: str, rows: list[list[Any]], labels: Callable[[int], str]
) -> tuple[NDArray[np.int64], tuple[Any, ...]]:
    """Rank distances of any kind by their exact values."""
    known: dict[Any, Amount] = {}
    for i, row in enumerate(rows):
        for j, cell in enumerate(row):
            if cell not in known:
                found = amount(cell)
                if found is None:
                    rule = f"must return a number: it does not from {labels(i)} to {labels(j)}"
                    raise InputError(name, rule, given=safe_repr(cell))
                known[cell] = found
    order = sorted(set(known.values()))
    place = {level: rank for rank, level in enumerate(order)}
    rank_of = {cell: place[level] for cell, level in known.items()}
    shown = {place[level]: cell for cell, level in known.items()}
    ranks = np.array([[rank_of[cell] for cell in row] for row in rows], dtype=np.int64)
    return ranks, tuple(_python(shown[rank]) for rank in range(len(order)))


def _exactly(level: Any) -> Amount:
    found = amount(level)
    assert found is not None
    return found


def _exact_form(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A distortion of flexdp.distortions without its last rounding to a double, where it has such a form."""
    exactly = getattr(function, "exactly", None)
    return exactly if callable(exactly) else function


def _python(number: Any) -> Any:
    if type(number) in (int, float, Fraction):
        return number
    given = plain_scalar(number)
    return given.item() if isinstance(given, np.generic) else given


def _named(name: str, metric: str, points: Sequence[Any]) -> list[list[Any]]:
    try:
        array = np.asarray(list(points), dtype=np.float64)
    except (TypeError, ValueError):
        rule = "must be a function of two points: these are not numbers"
        raise InputError(name, rule, given=safe_repr(metric)) from None
    measure = Measure(array, None, None)
    found: list[list[Any]] = _transport.cost_matrix(measure, measure, metric).tolist()
    return found


def default_metric(name: str, points: Sequence[Any]) -> Callable[[Any, Any], Any]:
    """Return the usual distance of points: of numbers, dates, coordinates or histograms."""
    kinds = {_kind(point) for point in points}
    if kinds == {"date"}:
        return lambda a, b: abs((a - b).days)
    if kinds == {"histogram"}:
        return _between_histograms
    if kinds == {"number"}:
        return lambda a, b: abs(_python(a) - _python(b))
    if kinds == {"coordinates"} and len({len(point) for point in points}) == 1:
        return Euclidean()
    if kinds == {"coordinates"}:
        raise InputError(
            name,
            "must be given: these points have different numbers of coordinates",
            remedy="Between sets pass lambda a, b: hausdorff(a, b).value.",
        )
    raise InputError(
        name,
        "must be given: these points have no distance of their own",
        remedy="Pass a function of two points, such as flexdp.distances.EditDistance() or Equality().",
    )


def _between_histograms(x: Histogram, y: Histogram) -> float:
    """W∞ of the normalised histograms; an empty one is infinitely far from all others."""
    if x == y:
        return 0.0
    return lossy_winf(x, y).value if x.size and y.size else math.inf


def _kind(point: Any) -> str:
    if isinstance(point, Histogram):
        return "histogram"
    if isinstance(point, dt.date) and not isinstance(point, dt.datetime):
        return "date"
    if isinstance(point, Real | np.number) and not (isinstance(point, float) and math.isnan(point)):
        return "number"
    if isinstance(point, tuple | np.ndarray) and all(isinstance(z, Real | np.number | Fraction) for z in point):
        return "coordinates"
    return "other"
