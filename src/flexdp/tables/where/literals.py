"""Literals of a filter: patterns of LIKE, dates, and each literal as the kind that it is compared with."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

from flexdp._core.calendar import days_since_epoch, micros_since_epoch
from flexdp._core.text import is_unicode, safe_repr
from flexdp.buckets.base import LARGEST_INTEGER, LONGEST_TEXT, Kind
from flexdp.errors import InputError, P
from flexdp.tables.where.tree import Const, Literal

__all__ = [
    "ESCAPE",
    "Literals",
    "Piece",
    "a_kind",
    "datetime_of",
    "day_of",
    "expression",
    "in_sql",
    "is_double",
    "literal_kind",
    "order_key",
    "pieces",
]

ESCAPE = "!"
Piece: TypeAlias = str | None  # a text, or "" for one character, or None for any number of characters


def pieces(pattern: str, escape: str | None) -> tuple[Piece, ...]:
    """Take a pattern apart: texts, "" for one character, None for any number of characters.

    >>> pieces("a!%_%", "!")
    ('a%', '', None)
    """
    out: list[Piece] = []
    plain, escaped = "", False
    for char in pattern:
        if escaped or (char not in ("%", "_") and char != escape):
            plain, escaped = plain + char, False
        elif char == escape:
            escaped = True
        else:
            out += [plain] if plain else []
            plain = ""
            out.append(None if char == "%" else "")
    return (*out, plain) if plain else tuple(out)


def in_sql(pattern: Sequence[Piece]) -> tuple[str, bool]:
    """Return a pattern for SQL with the escape character ``!``, and True if that is used.

    >>> in_sql(("a%", "", None))
    ('a!%_%', True)
    """
    out = ""
    for piece in pattern:
        if piece:
            out += re.sub("[!%_]", r"!\g<0>", piece)
        else:
            out += "%" if piece is None else "_"
    return out, ESCAPE in out


def expression(pattern: str) -> re.Pattern[str]:
    """Return the regular expression of a pattern that :func:`in_sql` wrote.

    >>> bool(expression("a!%_%").fullmatch("a%\\n")), bool(expression("a%").fullmatch("A"))
    (True, False)
    """
    parts = (".*" if piece is None else re.escape(piece) or "." for piece in pieces(pattern, ESCAPE))
    return re.compile("".join(parts), re.DOTALL)


_NARROW_DIGITS = 15  # integers of so many digits are exact as doubles
_INFINITE = (float("inf"), float("-inf"))
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)? ?(Z|[+-][0-9]{2}(:?[0-9]{2})?)?",
    re.ASCII,
)


def day_of(text: str) -> dt.date | None:
    """Return a date written like 2024-12-31, or None."""
    try:
        return dt.date.fromisoformat(text) if _DAY.fullmatch(text) else None
    except ValueError:
        return None


def datetime_of(text: str) -> dt.datetime | None:
    """Return a datetime written like 2024-12-31 18:30, in UTC where an offset follows, or None."""
    if (day := day_of(text)) is not None:
        return dt.datetime.combine(day, dt.time())
    try:
        found = dt.datetime.fromisoformat(re.sub(" (?=[-+Z])", "", text)) if _TIME.fullmatch(text) else None
        return found if found is None or found.tzinfo is None else found.astimezone(dt.UTC)
    except (ValueError, OverflowError):
        return None


class Literals:
    """Literals as constants; ``zone`` is that of datetimes without an offset, where a column has one."""

    def __init__(self, parameter: str, zone: str | None) -> None:
        self._refused = partial(InputError, parameter)
        self.zone = zone

    def const(self, node: Literal, kind: Kind, *, zoned: bool = False, compared: bool = True) -> Const:
        """Return a literal as a kind; else it stands beside values of that kind, or is ``compared`` with one."""
        value: Any = node.value
        held = literal_kind(value)
        if kind in ("date", "datetime") and isinstance(value, str):
            value = day_of(value) if kind == "date" else datetime_of(value)
            if value is None:
                raise self._refused(f": {safe_repr(node.value)} is not a {kind}", remedy="Write DATE '2024-12-31'.")
            held = kind
        if kind in ("integer", "number") and isinstance(value, Decimal):
            if float(value) in _INFINITE:
                raise self._refused(": a number is too large")
            return Const(kind, float(value) + 0.0 if kind == "number" else exact(value))
        if kind == "datetime" and held in ("date", "datetime"):
            stamp = value if isinstance(value, dt.datetime) else dt.datetime.combine(value, dt.time())
            return Const(kind, self._micros(stamp, zoned))
        if held != kind:
            remedy = "Write texts in single quotes, dates as DATE '2024-12-31' and numbers without quotes."
            if kind == "boolean":
                remedy = "Write = TRUE, or = FALSE."
            mix = "cannot be compared with" if compared else "does not mix with"
            raise self._refused(f": {a_kind(kind)} {mix} {a_kind(held)}", remedy=remedy)
        if kind == "date":
            return Const(kind, days_since_epoch(value))
        if kind == "text" and (not is_unicode(value) or len(value.encode()) > LONGEST_TEXT):
            raise self._refused(f": a text has at most {LONGEST_TEXT:,} bytes in UTF-8")
        return Const(kind, value)

    def _micros(self, stamp: dt.datetime, zoned: bool) -> int:
        if zoned and stamp.tzinfo is None:
            if self.zone is None:
                raise self._refused(
                    ": a column with a time zone is compared with a datetime without one",
                    remedy=("Write TIMESTAMP '2024-12-31 18:30+01:00', or set ", P("zone", "Europe/Berlin"), "."),
                )
            stamp = stamp.replace(tzinfo=ZoneInfo(self.zone))
        elif not zoned and stamp.tzinfo is not None:
            raise self._refused(": a column without a time zone is compared with a datetime that has an offset")
        try:
            plain = stamp if stamp.tzinfo is None else stamp.astimezone(dt.UTC).replace(tzinfo=None)
        except OverflowError:
            raise self._refused(": a datetime lies outside the years 1 to 9999") from None
        return micros_since_epoch(plain)


def exact(value: Decimal) -> int | Fraction:
    """Return an integer, or as a fraction a number that no cell of integers equals."""
    return Fraction(value) if is_double(value) else Fraction(value).numerator


def is_double(value: object) -> bool:
    """Tell whether a literal is a number that no cell of integers equals: not whole, or of more than 37 digits."""
    return isinstance(value, Decimal) and (value != value.to_integral_value() or value.copy_abs() > LARGEST_INTEGER)


def literal_kind(value: object, *, exact: bool = False) -> Kind:
    """Return the kind of a literal: of integers "number" unless they are long, or ``exact`` is wanted."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, Decimal):
        long = exact or value.copy_abs() >= 10**_NARROW_DIGITS
        return "integer" if long and not is_double(value) else "number"
    if isinstance(value, str):
        return "text"
    return "datetime" if isinstance(value, dt.datetime) else "date"


def order_key(const: Const) -> Any:
    """Return a literal in the form in which it is ordered: texts by their bytes."""
    return const.value.encode() if const.kind == "text" else const.value


def a_kind(kind: str) -> str:
    """Return a kind with its article, as in a message."""
    return {"integer": "an integer", "boolean": "a boolean"}.get(kind, f"a {kind}")
