"""From parameters to a partition, and back: everything a caller may say of buckets is checked here."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from flexdp._parameters import Domain, Number, shown
from flexdp.buckets import EPOCH, LARGEST_INDEX, Buckets, Edges, Exact, Kind, LogWidth, Outside, Width, as_dates
from flexdp.errors import InputError

__all__ = ["bucket_parameters", "make_buckets"]

MOST_EDGES = 1001
WIDTH = Domain(
    name="width",
    low=Fraction(1, 10**300),
    low_included=True,
    high=Fraction(10**300),
    high_included=True,
    remedy="Give the width of a bucket in the column's own unit, for example width=5.",
)
RELATIVE = Domain(
    name="relative",
    low=Fraction(1, 10**4),
    low_included=True,
    high=Fraction(9, 10),
    high_included=True,
    remedy="Give the relative half-width, for example relative=0.05 for 5%.",
)
_WIDEST = {"integer": 2**62, "date": 10**7}


def _limits(name: str, power: int) -> Domain:
    return Domain(
        name=name,
        low=Fraction(-(10**power)),
        low_included=True,
        high=Fraction(10**power),
        high_included=True,
        remedy="Leave it out for an open domain.",
    )


def make_buckets(
    kind: Kind,
    *,
    width: Number | None = None,
    relative: Number | None = None,
    edges: Sequence[Any] | None = None,
    bounds: Sequence[Any] | None = None,
    outside: str = "clamp",
) -> Buckets:
    """The partition that the parameters describe, for a column of the given kind."""
    asked = [name for name, value in (("width", width), ("relative", relative), ("edges", edges)) if value is not None]
    if len(asked) > 1:
        raise InputError(f"{asked[0]} and {asked[1]} exclude each other; give one of them.")
    if not isinstance(outside, str) or outside not in ("clamp", "drop"):
        raise InputError(f"outside must be 'clamp' or 'drop'; got {shown(outside)}.")
    side: Outside = "clamp" if outside == "clamp" else "drop"
    if kind in ("text", "boolean"):
        for name in (*asked, *(["bounds"] if bounds is not None else [])):
            hint = ", or say kind='number' where texts hold numbers" if kind == "text" else ""
            raise InputError(
                f"{name} needs a column of numbers or dates, and this one is declared or read as {kind}. "
                f"Leave {name} out{hint}."
            )
        return Exact(kind)
    if edges is not None:
        if bounds is not None:
            raise InputError("edges and bounds exclude each other; the outermost edges are the bounds.")
        return Edges(kind, _edges(kind, edges), side)
    limits = None if bounds is None else _bounds(kind, bounds)
    if relative is not None:
        if kind == "date":
            raise InputError("relative needs a column of numbers, and this one holds dates. Give width in days.")
        return LogWidth(kind, RELATIVE.check(relative), limits, side)
    if width is None:
        return Exact(kind, limits, side)
    step = WIDTH.check(width)
    if kind != "number":
        unit, hint = ("days", "") if kind == "date" else ("integers", ", or say kind='number'")
        if step.denominator != 1:
            raise InputError(f"width must be a whole number on a column of {unit}; got {shown(width)}. Round it{hint}.")
        if step > _WIDEST[kind]:
            raise InputError(f"width must be at most {_WIDEST[kind]} on a column of {unit}; got {shown(width)}.")
    buckets = Width(kind, step, limits, side)
    furthest = max((abs(bound) for bound in limits or ()), default=Fraction(0))
    if (buckets.count or 0) > LARGEST_INDEX or (kind == "number" and furthest > LARGEST_INDEX * step):
        raise InputError(f"width is too small for these bounds; got {shown(width)}. Give a larger width.")
    return buckets


def bucket_parameters(buckets: Buckets) -> dict[str, Any]:
    """The parameters of :func:`make_buckets` that give this partition again, as plain JSON values."""
    if isinstance(buckets, Edges):
        return {
            "edges": [_point_text(buckets.kind, edge) for edge in buckets.edges],
            "outside": buckets.outside,
        }
    out: dict[str, Any] = {}
    if isinstance(buckets, Width):
        out["width"] = str(buckets.width)
    if isinstance(buckets, LogWidth):
        out["relative"] = str(buckets.rho)
    if buckets.bounds is not None:
        out["bounds"] = [_point_text(buckets.kind, bound) for bound in buckets.bounds]
        out["outside"] = buckets.outside
    return out


def _point_text(kind: Kind, point: Fraction) -> str:
    return as_dates(np.array([int(point)]))[0].isoformat() if kind == "date" else str(point)


def _point(name: str, kind: Kind, value: Any) -> Fraction:
    """A bound or an edge as a number; dates as days since 1970-01-01."""
    if kind != "date":
        return _limits(name, 37 if kind == "integer" else 300).check(value)
    if isinstance(value, str):
        try:
            value = dt.date.fromisoformat(value.strip())
        except ValueError:
            raise InputError(f"{name} must be dates such as 2024-12-31; got {shown(value)}.") from None
    if not isinstance(value, dt.date) or isinstance(value, dt.datetime):
        raise InputError(f"{name} must be dates such as 2024-12-31; got {shown(value)}.")
    return Fraction(value.toordinal() - EPOCH)


def _bounds(kind: Kind, bounds: Sequence[Any]) -> tuple[Fraction, Fraction]:
    pair = _listed(bounds)
    if pair is None or len(pair) != 2:
        raise InputError("bounds must be a pair (lower, upper), for example bounds=(0, 120).")
    lower, upper = (_point("bounds", kind, bound) for bound in pair)
    if lower >= upper:
        order = "equal" if lower == upper else "reversed"
        raise InputError(
            f"bounds must be (lower, upper) with lower < upper; got {order} bounds "
            f"({shown(pair[0])}, {shown(pair[1])}). Give the smaller one first."
        )
    if kind == "integer":  # the integers inside
        lower, upper = Fraction(math.ceil(lower)), Fraction(math.floor(upper))
        if lower > upper:
            raise InputError("bounds must hold at least one integer on a column of integers; widen them.")
    return lower, upper


def _listed(values: Any) -> list[Any] | None:
    """An ordered sequence as a list; None for anything else."""
    if isinstance(values, list | tuple | range) or (isinstance(values, np.ndarray) and values.ndim == 1):
        return list(values)
    return None


def _edges(kind: Kind, edges: Sequence[Any]) -> tuple[Fraction, ...]:
    listed = _listed(edges)
    if listed is None or not 2 <= len(listed) <= MOST_EDGES:
        raise InputError(f"edges must be a list of 2 to {MOST_EDGES} ascending values, for example [0, 18, 65, 120].")
    points = tuple(_point("edges", kind, edge) for edge in listed)
    if any(not low < high for low, high in pairwise(points)):
        raise InputError("edges must be strictly ascending; sort them and leave out repeated ones.")
    if kind == "integer" and any(point.denominator != 1 for point in points):
        raise InputError("edges must be whole numbers on a column of integers; round them, or say kind='number'.")
    centres = {float((low + high) / 2) for low, high in pairwise(points)}
    if kind == "number" and (len({float(p) for p in points}) < len(points) or len(centres) < len(points) - 1):
        raise InputError("edges must differ as doubles, and so must the middles between them; these are too close.")
    return points
