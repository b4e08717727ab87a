"""The public range that a filter leaves of the released column itself: asked answers are limited to it.

Only comparisons of the column with numbers, dates and datetimes, or of its year with a number, joined by AND, are
understood; anything else bounds nothing.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

from flexdp._core.calendar import MICROS_PER_DAY, check_zone, date_at, datetime_at, offsets
from flexdp._release.spec import Spec
from flexdp.errors import InputError

__all__ = ["range_of_filter"]

_LARGEST = 2**53  # beyond it engines may compare rounded numbers
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
_OF_SPAN = {"=": ((">=", 0), ("<", 1)), "<": (("<", 0),), "<=": (("<", 1),), ">": ((">=", 1),), ">=": ((">=", 0),)}


def range_of_filter(spec: Spec) -> tuple[Any, Any]:
    """Return the smallest and the largest value that a release's filter and bounds let count; None where unlimited.

    Parameters
    ----------
    spec
        The public description of the release.

    Returns
    -------
    tuple
        Values of the column's kind; datetimes as the clocks of the release's zone show them.

    Examples
    --------
    >>> from flexdp.buckets.parse import make_buckets
    >>> ages = make_buckets("integer", width=5)
    >>> range_of_filter(Spec(columns=("age",), partitions=(ages,), where="age > 17 AND age < 65.5 AND ward = 'A'"))
    (18, 65)
    >>> days = make_buckets("date", width="1 month")
    >>> range_of_filter(Spec(columns=("day",), partitions=(days,), where="day >= DATE '2024-02-01'"))
    (datetime.date(2024, 2, 1), None)
    """
    kind, name = spec.kinds[0], spec.columns[0]
    if spec.where is None or name is None or len(spec.columns) > 1:
        return None, None
    bounds = getattr(spec.partitions[0], "bounds", None)
    if kind in ("date", "datetime"):
        return _times(spec.where, name, kind == "date", spec.zone, bounds)
    return _numbers(spec.where, name, kind == "integer", bounds) if kind in ("integer", "number") else (None, None)


@lru_cache(256)
def _numbers(where: str, name: str, whole: bool, bounds: tuple[Fraction, Fraction] | None) -> tuple[Any, Any]:
    from flexdp.tables.where import tree

    low: Any = None
    high: Any = None
    for op, value, other in _comparisons(where):
        number = _number(other)
        if value != tree.Name(name) or number is None:
            continue
        if op in (">", ">=", "="):
            least = _least(number, whole, beyond=op == ">")
            low = least if low is None else max(low, least)
        if op in ("<", "<=", "="):
            most = -_least(-number, whole, beyond=op == "<")
            high = most if high is None else min(high, most)
    if low is not None and high is not None and low > high:
        return None, None
    if bounds is not None:  # values beyond a bound count at the bound
        first, last = (int(end) if whole else float(end) for end in bounds)
        low, high = (None if end is None else min(max(end, first), last) for end in (low, high))
    return low, high


def _least(number: Fraction, whole: bool, *, beyond: bool) -> Any:
    """The smallest value from a number on, or beyond it; doubles are compared as such."""
    if not whole:
        return float(number)
    return math.floor(number) + 1 if beyond else math.ceil(number)


def _comparisons(where: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield the comparisons that every record that counts has passed, each from both sides."""
    from flexdp.tables.where import parse_test

    return _compared(parse_test("where", where))


def _compared(test: Any) -> Iterator[tuple[str, Any, Any]]:
    from flexdp.tables.where import tree

    if isinstance(test, tree.And):
        for each in test.tests:
            yield from _compared(each)
    elif isinstance(test, tree.Compare) and test.op in _MIRRORED:
        yield test.op, _bare(test.left), test.right
        yield _MIRRORED[test.op], _bare(test.right), test.left
    elif isinstance(test, tree.IsBetween) and not test.negated:
        yield ">=", _bare(test.value), test.low
        yield "<=", _bare(test.value), test.high


def _bare(value: Any) -> Any:
    """Return a value without the functions that say how a column is read: number(cost) is the cost.

    Only date(x) stays, which may be the day of a datetime.
    """
    from flexdp.tables.where import tree

    if tree.is_reading(value) and value.function != "date":
        return value.arguments[0]
    return tree.Call(value.function, tuple(map(_bare, value.arguments))) if isinstance(value, tree.Call) else value


def _number(value: Any) -> Fraction | None:
    from flexdp.tables.where import tree

    if not isinstance(value, tree.Literal) or not isinstance(value.value, Decimal):
        return None
    return Fraction(value.value) if abs(value.value) < _LARGEST else None


@lru_cache(256)
def _times(
    where: str, name: str, daily: bool, zone: str | None, bounds: tuple[Fraction, Fraction] | None
) -> tuple[Any, Any]:
    low, high = _instants(where, name, zone, daily)
    if (low is None and high is None) or (low is not None and high is not None and low > high):
        return None, None
    if zone is not None:
        low, high = _on_clock(low, high, zone)
    ends = [None if end is None else end // (MICROS_PER_DAY if daily else 1) for end in (low, high)]
    if bounds is not None:
        first, last = map(int, bounds)
        ends = [None if end is None else min(max(end, first), last) for end in ends]
    first_value, last_value = (None if end is None else (date_at if daily else datetime_at)(end) for end in ends)
    return first_value, last_value


def _instants(where: str, name: str, zone: str | None, daily: bool) -> tuple[int | None, int | None]:
    """The first and the last microsecond that a filter lets count: since 1970-01-01, in UTC if there is a zone.

    A day is compared as its midnight: a released date may be that of a datetime, which is later than its midnight.
    """
    from flexdp.tables.where import Literals, tree

    low: int | None = None
    high: int | None = None
    for op, value, other in _of_times(where, name, daily):
        if value != tree.Name(name) or not isinstance(other, tree.Literal) or not isinstance(other.value, dt.date):
            continue  # of a column that declares no type, a text is compared as one
        try:
            at = Literals("where", zone and check_zone(zone)).const(other, "datetime", zoned=zone is not None).value
        except InputError:  # an offset without a zone, which no record passes; a zone that is not known here
            continue
        if op in (">", ">=", "="):
            low = max(at + (op == ">"), at if low is None else low)
        if op in ("<", "<=", "="):
            high = min(at - (op == "<"), at if high is None else high)
    return low, high


def _of_times(where: str, name: str, daily: bool) -> Iterator[tuple[str, Any, Any]]:
    """Yield comparisons; those of the column's year, or of the day of a datetime, as comparisons with their ends."""
    from flexdp.tables.where import tree

    day = tree.Call("date", (tree.Name(name),))
    for op, value, other in _comparisons(where):
        if value == day and not daily:
            at = other.value if isinstance(other, tree.Literal) and type(other.value) is dt.date else None
            for sign, after in _OF_SPAN[op]:
                if at is not None and (not after or at < dt.date.max):
                    yield sign, tree.Name(name), tree.Literal(at + dt.timedelta(days=after))
            continue
        if value not in (tree.Call("year", (tree.Name(name),)), tree.Call("year", (day,))):
            yield op, tree.Name(name) if value == day else value, other
            continue
        year = _number(other)
        for sign, after in _OF_SPAN[op]:
            if year is not None and year.denominator == 1 and dt.MINYEAR < year + after <= dt.MAXYEAR:
                yield sign, tree.Name(name), tree.Literal(dt.date(int(year) + after, 1, 1))


def _on_clock(low: int | None, high: int | None, zone: str) -> tuple[int | None, int | None]:
    """The first and the last time that a zone's clocks show between two instants: they may be set back in between."""
    shifts = offsets(zone)
    first, last = [], []
    for (_, before), (at, after) in pairwise(shifts):
        if (low is None or low < at) and (high is None or at <= high):
            first.append(at + after)
            last.append(at - 1 + before)
    if low is not None:
        first.append(low + next((by for at, by in reversed(shifts) if at <= low), shifts[0][1]))
    if high is not None:
        last.append(high + next((by for at, by in reversed(shifts) if at <= high), shifts[0][1]))
    return None if low is None else min(first), None if high is None else max(last)
