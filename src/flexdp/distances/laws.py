"""Laws on finitely many points of any kind, with exact probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, TypeAlias

from flexdp._core.domains import elements, pairs
from flexdp._core.exact import exact
from flexdp.distances.inputs import Weighted
from flexdp.distribution import Law as FoundLaw
from flexdp.errors import InputError

__all__ = ["Law", "law_given", "weighted_pairs"]

Law: TypeAlias = tuple[tuple[Any, Fraction], ...]  # points and their probabilities, which sum to one


def law_given(name: str, output: Any, label: str = "") -> Law:
    """Read an output: a mapping, a list of pairs or weighted points are a law, anything else a point.

    Weights are normalised; points of weight zero are left out.
    """
    found = weighted_pairs(name, output)
    if found is None:
        return ((output, Fraction(1)),)
    at = f" at {label}" if label else ""
    weights = [exact(name, weight) for _, weight in found]
    total = sum(weights, Fraction(0))
    if any(weight < 0 for weight in weights) or not total:
        raise InputError(name, f"must have probabilities of at least 0, not all of them 0{at}")
    return tuple((point, weight / total) for (point, _), weight in zip(found, weights, strict=True) if weight)


def weighted_pairs(name: str, output: Any) -> list[tuple[Any, Any]] | None:
    """Return points and weights where a law was given; None for a single point."""
    if isinstance(output, FoundLaw):
        return list(output.listed().masses.items())
    if isinstance(output, Mapping):
        if (found := pairs(output)) is None:
            raise InputError(name, "must be a mapping from points to probabilities")
        return found
    if isinstance(output, Weighted):
        points, weights = elements(output.points) or [], elements(output.weights) or []
        if len(points) != len(weights):
            raise InputError(name, "must have exactly one weight per point")
        return list(zip(points, weights, strict=True))
    listed = elements(output) if isinstance(output, list) else None
    if listed and all(isinstance(pair, tuple) and len(elements(pair) or ()) == 2 for pair in listed):
        return listed
    return None
