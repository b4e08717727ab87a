"""Parameters to partition and back; all parameters of buckets are checked here."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, get_args

import numpy as np

from flexdp._core.calendar import (
    FIRST_DATETIME,
    LAST_DATETIME,
    MICROS_PER_DAY,
    MICROSECOND,
    days_since_epoch,
    micros_since_epoch,
)
from flexdp._core.domains import RELATIVE, WIDTH, Domain, choice, flag, sequence
from flexdp._core.exact import Number, exact_text
from flexdp._core.text import plain_scalar, safe_repr
from flexdp.buckets.base import LARGEST_INDEX, MEASURES, Kind, Outside, times
from flexdp.buckets.edges import Edges
from flexdp.buckets.exact import Exact
from flexdp.buckets.grid import Grid
from flexdp.buckets.months import Months
from flexdp.buckets.open_edges import Cut, OpenEdges
from flexdp.buckets.partition import Buckets
from flexdp.buckets.relative import RelativeWidth
from flexdp.buckets.width import Width
from flexdp.errors import InputError, P, Phrase

__all__ = ["bound_given", "bucket_parameters", "make_buckets", "make_grid"]

MOST_EDGES = 1001
_WIDEST = {"integer": 2**62, "date": 10**7, "datetime": 10**7 * MICROS_PER_DAY}
_DURATION = re.compile(r"\s*(?:([0-9]{1,18})\s*)?([a-z]+?)s?\s*", re.IGNORECASE | re.ASCII)
_LENGTHS = {name[:-1]: micros for name, micros in MEASURES.items()} | {"week": 7 * MICROS_PER_DAY}
_CALENDAR = {"month": 1, "quarter": 3, "year": 12}
_MOST_MONTHS = 12 * 9999
_SAY_TIMES = ("Set ", P("kind", "date"), " or ", P("kind", "datetime"), " if the column holds dates or datetimes.")
_LIKE_A_DAY = re.compile(r"\s*[0-9]{4}-[0-9]{2}-[0-9]{2}")


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
    outside: Outside = "clamp",
    open: bool = False,  # noqa: A002  (the word of the parameter)
) -> Buckets:
    """Build the partition that the parameters describe, for a column of the given kind.

    Parameters
    ----------
    kind
        Kind of the column's values.
    width
        Width of a bucket in the column's unit; for dates and datetimes a length of time such as "1 month" too.
    relative
        Relative half-width ρ: every value is within a fraction ρ of its bucket's centre.
    edges
        Ascending edges of buckets; the outermost ones are the bounds.
    bounds
        Public lower and upper bound.
    outside
        Treatment of values outside the bounds: counted at the nearer bound ("clamp"), or not counted ("drop").
    open
        True if the first bucket takes everything below the first edge, and the last one everything from the last edge
        on. An edge of numbers such as ">0" stands after its value.

    Returns
    -------
    Exact, Width, RelativeWidth, Edges, OpenEdges or Months
        The partition; every value is its own bucket without ``width``, ``relative`` and ``edges``.

    Raises
    ------
    InputError
        If the parameters contradict each other or do not fit the kind.

    Examples
    --------
    >>> make_buckets("number", width=5, bounds=(0, 120)).count
    24
    >>> make_buckets("date", width="1 month").spec
    'buckets of 1 month'
    >>> make_buckets("number", edges=["0", ">0", "10"], open=True).count
    4
    """
    asked = [name for name, value in (("width", width), ("relative", relative), ("edges", edges)) if value is not None]
    if len(asked) > 1:
        raise InputError(asked[0], ("and ", P(asked[1]), " exclude each other"), remedy="Give one of them.")
    side: Outside = choice("outside", outside, ("clamp", "drop"))
    width = plain_scalar(width)  # type: ignore[assignment]
    kind = choice("kind", kind, get_args(Kind))
    if kind in ("text", "boolean"):
        for name in (*asked, *(["bounds"] if bounds is not None else [])):
            hint = (", or say ", P("kind", "number"), " if its texts are numbers.") if kind == "text" else (".",)
            raise InputError(
                name,
                f"needs a column of numbers or dates, and this one is declared or read as {kind}",
                remedy=("Leave out ", P(name), *hint),
            )
        return Exact(kind)
    if flag("open", open):
        return _open_edges(kind, edges, None if bounds is None else _bounds(kind, bounds), side)
    if edges is not None:
        if bounds is not None:
            raise InputError(
                "edges", ("and ", P("bounds"), " exclude each other"), remedy="The outermost edges are the bounds."
            )
        return Edges(kind, _edges(kind, edges), side)
    limits = None if bounds is None else _bounds(kind, bounds)
    if relative is not None:
        if kind in ("date", "datetime"):
            raise InputError(
                "relative",
                "needs a column of numbers, and this one holds dates or datetimes",
                remedy=("Give ", P("width", "1 day"), "."),
            )
        return RelativeWidth(kind, RELATIVE.check(relative), limits, side)
    if width is None:
        return Exact(kind, limits, side)
    if kind in ("date", "datetime") and (kind == "datetime" or isinstance(width, str | dt.timedelta)):
        timed = _timed(kind, width, limits, side)
        if timed is not None:
            return timed
    match = _DURATION.fullmatch(width) if kind in ("integer", "number") and isinstance(width, str) else None
    if match and match.group(2).lower() in {*_LENGTHS, *_CALENDAR}:
        raise InputError(
            "width",
            f"is a length of time, and the column is read as {kind}",
            given=safe_repr(width),
            remedy=_SAY_TIMES,
        )
    step = WIDTH.check(width)
    if kind != "number":
        unit = "days" if kind == "date" else "integers"
        if step.denominator != 1:
            rule = f"must be a whole number on a column of {unit}"
            remedy: Phrase = "Round it." if kind == "date" else ("Round it, or say ", P("kind", "number"), ".")
            raise InputError("width", rule, given=safe_repr(width), remedy=remedy)
        if step > _WIDEST[kind]:
            rule = f"must be at most {_WIDEST[kind]} on a column of {unit}"
            raise InputError("width", rule, given=safe_repr(width))
    buckets = Width(kind, step, limits, side)
    furthest = max((abs(bound) for bound in limits or ()), default=Fraction(0))
    if (buckets.count or 0) > LARGEST_INDEX or (kind == "number" and furthest > LARGEST_INDEX * step):
        raise InputError("width", "is too small for these bounds", given=safe_repr(width), remedy="Make it larger.")
    return buckets


def _timed(kind: Kind, width: Any, limits: tuple[Fraction, Fraction] | None, side: Outside) -> Width | Months | None:
    """Build buckets of a length of time; None if the width of dates is a plain number of days, written as text."""
    whole_days = kind == "date"
    given = f"{width // MICROSECOND} microseconds" if isinstance(width, dt.timedelta) else width
    match = _DURATION.fullmatch(given) if isinstance(given, str) else None
    word = match.group(2).lower() if match else ""
    if match is None or (word not in _LENGTHS and word not in _CALENDAR):
        if whole_days and isinstance(given, str) and given.strip()[:1].isdigit() and not match:
            return None
        example = "'1 day', '1 week' or '1 month'" if whole_days else "'15 minutes', '1 day' or '1 month'"
        raise InputError("width", f"must be a length of time such as {example}", given=safe_repr(width))
    number = int(match.group(1) or 1)
    if number < 1:
        raise InputError("width", "must be positive", given=safe_repr(width))
    if word in _CALENDAR:
        if number * _CALENDAR[word] > _MOST_MONTHS:
            raise InputError("width", "must be at most 9999 years", given=safe_repr(width))
        return Months(kind, number * _CALENDAR[word], limits, side)
    length = Fraction(number * _LENGTHS[word], MICROS_PER_DAY if whole_days else 1)
    if length.denominator != 1:
        raise InputError("width", "must be whole days on a column of dates", given=safe_repr(width))
    if length > _WIDEST[kind]:
        raise InputError("width", "must be at most 10000000 days", given=safe_repr(width))
    return Width(kind, length, limits, side, weekly=word == "week")


def make_grid(axes: Sequence[Buckets]) -> Grid:
    """Build the cells of several columns, which must be numbers for distances between points to make sense."""
    for axis in axes:
        if axis.kind not in ("integer", "number") or not isinstance(axis, Exact | Width | Edges):
            raise InputError(
                "column",
                (": several columns must be numbers in buckets of ", P("width"), ", ", P("beta"), " or ", P("edges")),
                remedy=("Use ", P("by"), " for texts and dates, or ", P("separately", True), "."),
            )
    return Grid(tuple(axis for axis in axes if isinstance(axis, Exact | Width | Edges)))


def bucket_parameters(buckets: Buckets) -> dict[str, Any]:
    """Return the parameters of :func:`make_buckets` that give this partition again, as JSON values."""
    if isinstance(buckets, OpenEdges):
        named = [f"{'>' if cut.after else ''}{_edge_text(buckets.kind, cut.value)}" for cut in buckets.cuts]
        return {"edges": named, "open": True, **_bounds_given(buckets)}
    if isinstance(buckets, Edges):
        return {
            "edges": [_point_text(buckets.kind, edge) for edge in buckets.edges],
            "outside": buckets.outside,
        }
    out: dict[str, Any] = {}
    if isinstance(buckets, Months) or (isinstance(buckets, Width) and (buckets.weekly or buckets.kind == "datetime")):
        out["width"] = buckets.width_text
    elif isinstance(buckets, Width):
        out["width"] = str(buckets.width)
    if isinstance(buckets, RelativeWidth):
        out["relative"] = str(buckets.rho)
    return {**out, **_bounds_given(buckets)}


def _bounds_given(buckets: Buckets) -> dict[str, Any]:
    if buckets.bounds is None:
        return {}
    kind, (low, high) = buckets.kind, buckets.bounds
    return {"bounds": [_point_text(kind, low), _point_text(kind, bound_given(kind, high))], "outside": buckets.outside}


def bound_given(kind: Kind, upper: Fraction) -> Fraction:
    """Return the upper bound as given: for datetimes, the last microsecond before it is stored."""
    return min(upper + 1, Fraction(LAST_DATETIME)) if kind == "datetime" else upper


def _point_text(kind: Kind, point: Fraction) -> str:
    if kind in ("date", "datetime"):
        return str(times(kind, np.array([int(point)]))[0].isoformat())
    return str(point)


def _edge_text(kind: Kind, edge: Fraction) -> str:
    return exact_text(edge) if kind in ("integer", "number") else _point_text(kind, edge)


def _open_edges(kind: Kind, edges: object, limits: tuple[Fraction, Fraction] | None, side: Outside) -> OpenEdges:
    """Build buckets between edges with open ends."""
    listed = sequence(edges)
    if kind in ("text", "boolean") or listed is None or len(listed) >= MOST_EDGES:
        raise InputError("edges", f"must be a list of at most {MOST_EDGES - 1} values, where the ends are open")
    cuts = []
    for edge in listed:
        after = kind == "number" and isinstance(edge, str) and edge.startswith(">")
        cuts.append(Cut(_point("edges", kind, edge[1:] if after else edge), after))
    if kind == "integer" and any(cut.value.denominator != 1 for cut in cuts):
        raise InputError("edges", "must be whole numbers on a column of integers")
    found = OpenEdges(kind, tuple(cuts), limits, side)
    if not found.sound:
        raise InputError("edges", "must be strictly ascending, and separate values that are read")
    return found


def _point(name: str, kind: Kind, value: Any) -> Fraction:
    """Check a bound or an edge; dates become days, datetimes microseconds since 1970-01-01."""
    value = plain_scalar(value)
    if kind == "datetime":
        return _moment(name, value)
    if kind != "date":
        if isinstance(value, str) and _LIKE_A_DAY.match(value):
            rule = f"must be numbers, since the column is read as {kind}"
            raise InputError(name, rule, given=safe_repr(value), remedy=_SAY_TIMES)
        return _limits(name, 37 if kind == "integer" else 300).check(value)
    wrong = InputError(name, "must be dates such as 2024-12-31", given=safe_repr(value))
    if isinstance(value, str):
        try:
            value = dt.date.fromisoformat(value.strip())
        except ValueError:
            raise wrong from None
    if not isinstance(value, dt.date) or isinstance(value, dt.datetime):
        raise wrong
    return Fraction(days_since_epoch(value))


def _moment(name: str, value: Any) -> Fraction:
    wrong = InputError(
        name,
        ("must be datetimes such as 2024-12-31T18:30, without a time zone (use ", P("zone"), " for that)"),
        given=safe_repr(value),
    )
    if isinstance(value, str):
        try:
            value = dt.datetime.fromisoformat(value.strip())
        except ValueError:
            raise wrong from None
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        value = dt.datetime(value.year, value.month, value.day)
    if not isinstance(value, dt.datetime) or value.tzinfo is not None:
        raise wrong
    return Fraction(micros_since_epoch(value))


def _bounds(kind: Kind, bounds: Sequence[Any]) -> tuple[Fraction, Fraction]:
    pair = sequence(bounds)
    if pair is None or len(pair) != 2:
        raise InputError("bounds", ("must be a pair (lower, upper), for example ", P("bounds", (0, 120))))
    lower, upper = (_point("bounds", kind, bound) for bound in pair)
    if lower >= upper:
        order, remedy = ("equal", "Move them apart.") if lower == upper else ("reversed", "Swap them.")
        given = f"{order} bounds, {safe_repr(pair[0])} and {safe_repr(pair[1])}"
        raise InputError("bounds", "must be a lower bound and a larger upper bound", given=given, remedy=remedy)
    if kind == "datetime":  # the upper bound is excluded
        return max(lower, Fraction(FIRST_DATETIME)), upper - 1
    if kind == "integer":  # the integers inside
        lower, upper = Fraction(math.ceil(lower)), Fraction(math.floor(upper))
        if lower > upper:
            rule = "must contain at least one integer on a column of integers"
            raise InputError("bounds", rule, remedy="Widen them.")
    return lower, upper


def _edges(kind: Kind, edges: Sequence[Any]) -> tuple[Fraction, ...]:
    listed = sequence(edges)
    if listed is None or not 2 <= len(listed) <= MOST_EDGES:
        rule = f"must be 2 to {MOST_EDGES} ascending values, for example "
        raise InputError("edges", (rule, P("edges", [0, 18, 65, 120])))
    points = tuple(_point("edges", kind, edge) for edge in listed)
    if any(not low < high for low, high in pairwise(points)):
        raise InputError("edges", "must be strictly ascending", remedy="Sort them and leave out repeated ones.")
    if kind == "integer" and any(point.denominator != 1 for point in points):
        remedy = ("Round them, or say ", P("kind", "number"), ".")
        raise InputError("edges", "must be whole numbers on a column of integers", remedy=remedy)
    centres = {float((low + high) / 2) for low, high in pairwise(points)}
    if kind == "number" and (len({float(p) for p in points}) < len(points) or len(centres) < len(points) - 1):
        raise InputError("edges", "must differ as doubles, and so must their midpoints: these are too close")
    return points
