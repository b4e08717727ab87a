"""Literals of a filter as the kinds that they are compared with."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

from flexdp._core.calendar import days_since_epoch, micros_since_epoch
from flexdp._core.text import is_unicode, safe_repr
from flexdp.buckets.base import LARGEST_INTEGER, LONGEST_TEXT, Kind
from flexdp.errors import InputError, P, Phrase
from flexdp.tables.where import tree
from flexdp.tables.where.grammar import datetime_of, day_of
from flexdp.tables.where.typed import Const

__all__ = ["Literals", "a_kind", "is_double", "literal_kind"]

_NARROW_DIGITS = 15  # integers of so many digits are exact as doubles


class Literals:
    """Literals as constants; ``zone`` is that of datetimes without an offset, where a column has one."""

    def __init__(self, parameter: str, zone: str | None) -> None:
        self._parameter, self._zone = parameter, zone

    @property
    def has_zone(self) -> bool:
        """True if datetimes without an offset have a zone."""
        return self._zone is not None

    def _refused(self, rule: Phrase, remedy: Phrase = "") -> InputError:
        return InputError(self._parameter, rule, remedy=remedy)

    def const(self, node: tree.Literal, kind: Kind, *, zoned: bool = False, compared: bool = True) -> Const:
        """Return a literal as a kind; else it stands beside values of that kind, or is ``compared`` with one."""
        value: Any = node.value
        held = literal_kind(value)
        if kind in ("date", "datetime") and isinstance(value, str):
            value = day_of(value) if kind == "date" else datetime_of(value)
            if value is None:
                raise self._refused(f": {safe_repr(node.value)} is not a {kind}", "Dates are written '2024-12-31'.")
            held = kind
        if kind in ("integer", "number") and isinstance(value, Decimal):
            return Const(kind, self.exact(value) if kind == "integer" else self._double(value))
        if kind == "datetime" and held in ("date", "datetime"):
            stamp = value if isinstance(value, dt.datetime) else dt.datetime(value.year, value.month, value.day)
            return Const(kind, self._micros(stamp, zoned))
        if held != kind:
            remedy = "Write texts in single quotes, dates as DATE '2024-12-31' and numbers without quotes."
            if kind == "boolean":
                remedy = "Write = TRUE, or = FALSE."
            raise self._refused(
                f": {a_kind(kind)} {'cannot be compared with' if compared else 'does not mix with'} {a_kind(held)}",
                remedy,
            )
        if kind == "date":
            return Const(kind, days_since_epoch(value))
        if kind == "text" and (not is_unicode(value) or len(value.encode()) > LONGEST_TEXT):
            raise self._refused(f": a text has at most {LONGEST_TEXT:,} bytes in UTF-8")
        return Const(kind, value)

    def _micros(self, stamp: dt.datetime, zoned: bool) -> int:
        if zoned and stamp.tzinfo is None:
            if self._zone is None:
                raise self._refused(
                    ": a column with a time zone is compared with a datetime without one",
                    ("Write TIMESTAMP '2024-12-31 18:30+01:00', or set ", P("zone", "Europe/Berlin"), "."),
                )
            stamp = stamp.replace(tzinfo=ZoneInfo(self._zone))
        elif not zoned and stamp.tzinfo is not None:
            raise self._refused(": a column without a time zone is compared with a datetime that has an offset")
        try:
            plain = stamp if stamp.tzinfo is None else stamp.astimezone(dt.UTC).replace(tzinfo=None)
        except OverflowError:
            raise self._refused(": a datetime lies outside the years 1 to 9999") from None
        return micros_since_epoch(plain)

    def _double(self, value: Decimal) -> float:
        number = float(value)
        if number in (float("inf"), float("-inf")):
            raise self._refused(": a number is too large")
        return number + 0.0

    def exact(self, value: Decimal) -> int | Fraction:
        """Return an integer, or as a fraction a number that no cell of integers equals."""
        if float(value) in (float("inf"), float("-inf")):
            raise self._refused(": a number is too large")
        exact = Fraction(value)
        return exact if is_double(value) else exact.numerator


def is_double(value: object) -> bool:
    """Tell whether a literal is a number that no cell of integers equals: not whole, or of more than 37 digits."""
    return isinstance(value, Decimal) and (value != value.to_integral_value() or value.copy_abs() > LARGEST_INTEGER)


def literal_kind(value: object, *, exact: bool = False) -> Kind:
    """Return the kind of a literal: of integers "number" unless they are long, or ``exact`` is wanted."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, Decimal):
        if is_double(value):
            return "number"
        return "integer" if exact or value.copy_abs() >= 10**_NARROW_DIGITS else "number"
    if isinstance(value, str):
        return "text"
    return "datetime" if isinstance(value, dt.datetime) else "date"


def a_kind(kind: str) -> str:
    """Return a kind with its article, as in a message."""
    return {"integer": "an integer", "boolean": "a boolean"}.get(kind, f"a {kind}")
