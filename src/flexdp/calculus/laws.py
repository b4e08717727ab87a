"""Functions and mechanisms on finitely many points: their outputs as laws with exact probabilities."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from flexdp._core.domains import attribute, elements, function
from flexdp._core.exact import number_text
from flexdp._core.text import safe_repr
from flexdp.distances.axioms import labels_of
from flexdp.distances.laws import Law, law_given
from flexdp.errors import InputError

__all__ = ["Law", "Outputs", "Points", "law_text", "point_text", "points_given"]

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
