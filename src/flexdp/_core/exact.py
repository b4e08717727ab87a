"""Exact numbers: read as the caller wrote them, rounded outwards only, printed without loss or on the safe side.

A float stands for the number that its shortest decimal denotes. Where the order of doubles and exact rationals matters,
they are compared exactly.
"""

from __future__ import annotations

import datetime as dt
import math
import re
import struct
import sys
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from flexdp._core.enclosure import least
from flexdp._core.text import plain_scalar, safe_repr
from flexdp.errors import InputError

__all__ = [
    "Number",
    "as_read",
    "exact",
    "exact_text",
    "float_up",
    "json_value",
    "lower_text",
    "next_below",
    "number_text",
    "ratio",
    "root_up",
    "said",
    "smallest_where",
    "sum_up",
    "to_digits",
    "to_double",
    "upper_text",
    "value_text",
]

Number: TypeAlias = str | int | float | Fraction | Decimal

_LONGEST = 1000  # characters of a number in text form
_LARGEST_EXPONENT = 400  # beyond every double; keeps "1e999999999" from filling the memory
_LARGEST = Fraction(sys.float_info.max)
_RATIO = re.compile(r"-?[0-9]+(?:/[0-9]+)?", re.ASCII)
_LONGEST_DECIMAL = 40  # digits of a number printed in full
_LONGEST_RATIO = 16  # characters of a number printed as p/q
_LONGEST_WHOLE = 17  # characters of an integer or half-integer bound printed in full


def exact(name: str, value: object) -> Fraction:
    """Return the rational number that the caller wrote: "0.1" and 0.1 are both 1/10.

    A float is taken by its shortest decimal, which is what was typed. ``name`` is the parameter that errors name.

    >>> exact("epsilon", 0.1)
    Fraction(1, 10)
    >>> exact("delta", "1/1048576")
    Fraction(1, 1048576)
    """
    value = plain_scalar(value)
    if isinstance(value, bool):
        raise _no_number(name, value)
    if isinstance(value, Fraction):
        if max(value.numerator.bit_length(), value.denominator.bit_length()) > 3 * _LONGEST:
            raise _too_long(name)
        return value
    if isinstance(value, int | np.integer) and not isinstance(value, np.timedelta64):  # numpy calls that an integer
        number = int(value)
        if number.bit_length() > 4 * _LARGEST_EXPONENT:
            raise _too_long(name)
        return Fraction(number)
    if isinstance(value, float):
        text = float.__repr__(value)
    elif isinstance(value, str | Decimal):
        text = str(value).strip()
    elif isinstance(value, np.floating):  # the shortest decimal of its own precision
        text = str(value)
    else:
        raise _no_number(name, value)
    if len(text) > _LONGEST:
        raise _too_long(name)
    return _rational(name, text, value)


def _too_long(name: str) -> InputError:
    return InputError(name, "has too many digits", remedy=f"Write it with at most {_LONGEST} characters.")


def _no_number(name: str, value: object) -> InputError:
    """Build the error for something that is not a number, with a hint at the notation that was probably meant."""
    given = str.strip(value) if isinstance(value, str) else ""
    remedy = "Write it like 1, 0.1, 1e-6 or 1/3."
    if given.endswith("%"):
        remedy = "Write a percentage as a fraction: 5% is 0.05."
    elif "," in given:
        remedy = "Write it without commas, like 1234.5."
        if re.fullmatch("[-+]?[0-9]{0,20},[0-9]{1,20}(e[-+]?[0-9]{1,3})?", given, re.ASCII | re.IGNORECASE):
            remedy = f"The decimal mark is a point: {given.replace(',', '.')}."
        if re.fullmatch("[-+]?[1-9][0-9]{0,2},[0-9]{3}", given, re.ASCII):  # which may be meant for thousands
            remedy = f"Write {given.replace(',', '')}; or {given.replace(',', '.')} if the comma is a decimal mark."
    return InputError(name, "must be a number", given=safe_repr(value), remedy=remedy)


def _rational(name: str, text: str, value: object) -> Fraction:
    numerator, slash, denominator = text.partition("/")
    try:
        top = Decimal(numerator.strip())
        bottom = Decimal(denominator.strip()) if slash else Decimal(1)
    except InvalidOperation:
        raise _no_number(name, value) from None
    for part in (top, bottom):
        if not part.is_finite():
            raise InputError(name, "must be finite", given=safe_repr(value))
        if part and abs(part.adjusted()) > _LARGEST_EXPONENT:
            raise InputError(
                name, "has too large an exponent", given=safe_repr(value), remedy=f"Stay within 1e±{_LARGEST_EXPONENT}."
            )
    if bottom == 0:
        raise InputError(name, "has a zero denominator", given=safe_repr(value))
    return Fraction(top) / Fraction(bottom)


def ratio(text: object) -> Fraction:
    """Return the number that ``str`` of a Fraction wrote; ValueError for any other text, such as "1e999999999".

    >>> ratio("-7/2")
    Fraction(-7, 2)
    """
    if not isinstance(text, str) or not _RATIO.fullmatch(text):
        raise ValueError("no ratio of integers")
    return Fraction(text)


def said(value: float) -> Fraction:
    """Return the number that a double stands for: its shortest decimal.

    >>> said(0.1)
    Fraction(1, 10)
    """
    return Fraction(float.__repr__(value))


def float_up(value: Fraction) -> float:
    """Return the smallest double that is at least ``value``, and whose shortest decimal is too.

    >>> float_up(Fraction(1, 10)), float_up(Fraction(1, 3)), float_up(Fraction(0.1))
    (0.1, 0.33333333333333337, 0.10000000000000002)
    """
    return _double_up(value, value)


def sum_up(*parts: float) -> float:
    """Return the sum of bounds, rounded up: at least the sum of the doubles and that of their shortest decimals."""
    if any(math.isinf(part) for part in parts):
        return math.inf
    return _double_up(sum(map(Fraction, parts), Fraction(0)), sum((said(float(part)) for part in parts), Fraction(0)))


def _double_up(binary: Fraction, decimal: Fraction) -> float:
    """Return the smallest double of value at least ``binary`` whose shortest decimal is at least ``decimal``."""
    try:
        found = float(binary)
    except OverflowError:
        return math.inf
    while math.isfinite(found) and (Fraction(found) < binary or said(found) < decimal):
        found = math.nextafter(found, math.inf)
    return found


def root_up(square: Fraction | int, decimals: int = 30) -> Fraction:
    """Return a square root, exactly if it is rational, otherwise rounded up in its last decimal.

    >>> root_up(Fraction(9, 4)), root_up(2) ** 2 > 2
    (Fraction(3, 2), True)
    """
    number = Fraction(square)
    top, bottom = math.isqrt(number.numerator), math.isqrt(number.denominator)
    if top * top == number.numerator and bottom * bottom == number.denominator:
        return Fraction(top, bottom)
    scale = 10**decimals
    return Fraction(math.isqrt(math.ceil(number * scale * scale)) + 1, scale)


def number_text(value: Fraction | int | float) -> str:
    """Print a number with all its digits in few characters: a double by its shortest decimal, an integer in full.

    A fraction is printed exactly if a decimal of at most 40 digits or a short p/q suffices, otherwise as the nearest
    double.

    >>> number_text(Fraction(5, 2)), number_text(Fraction(120)), number_text(Fraction(1, 1000000))
    ('2.5', '120', '1e-06')
    >>> number_text(1700000000123456.0), number_text(Fraction(2**54 + 3, 2)), number_text(Fraction(1, 3))
    ('1700000000123456', '9007199254740993.5', '1/3')
    >>> number_text(18 * 10**307)
    '1.8e+308'
    """
    if isinstance(value, float):
        return float.__repr__(value + 0.0).removesuffix(".0")  # −0.0 is 0
    number = Fraction(value)
    if number.denominator == 1 and abs(number) < 10**_LONGEST_DECIMAL:
        return str(int(number))
    try:
        nearest = float.__repr__(float(number))
    except OverflowError:
        mantissa, _, power = f"{Decimal(int(number)):e}".partition("e")
        return f"{mantissa.rstrip('0').rstrip('.')}e{power}"
    if Fraction(nearest) == number:
        return nearest.removesuffix(".0")
    if (decimal := _decimal(number)) is not None:
        return decimal
    ratio = str(number)
    return ratio if len(ratio) <= _LONGEST_RATIO else nearest


def _decimal(number: Fraction) -> str | None:
    """Return all digits of a number, or None if there are too many."""
    places = next((p for p in range(_LONGEST_DECIMAL + 1) if 10**p % number.denominator == 0), None)
    if places is None or abs(number) >= 10 ** (_LONGEST_DECIMAL - places):
        return None
    return f"{Decimal(int(number * 10**places)).scaleb(-places, Context(prec=_LONGEST_DECIMAL)):f}"


def exact_text(value: Fraction) -> str:
    """Print a number without loss, as the command line reads it: a short decimal, otherwise p/q.

    >>> exact_text(Fraction(1, 1000000)), exact_text(Fraction(1, 3))
    ('1e-06', '1/3')
    """
    text = number_text(value)
    return text if exact("value", text) == value else str(value)


def upper_text(value: Fraction | float, digits: int = 3) -> str:
    """Print an upper bound for people: exact where that is short, otherwise rounded up.

    >>> upper_text(Fraction(1, 1000000)), upper_text(Fraction(1, 2**20)), upper_text(Fraction(-1, 3))
    ('1e-06', '9.54e-07', '-0.333')
    >>> upper_text(Fraction(10**15 + 1, 2)), upper_text(2.5000000000000004, 6), upper_text(5e-324)
    ('500000000000000.5', '2.50001', '5e-324')
    """
    if isinstance(value, float) and math.isinf(value):
        return number_text(value)
    number = said(value) if isinstance(value, float) else Fraction(value)
    text, longest = number_text(number), _LONGEST_WHOLE if number.denominator <= 2 else digits + 5
    if len(text) <= longest and "/" not in text and Fraction(text) == number:
        return text
    return _scientific(_rounded(number, digits, up=True), digits)


def to_digits(value: Fraction | float, digits: int, *, up: bool) -> Fraction:
    """Return a number rounded up or down to a few digits.

    >>> to_digits(104.1267, 4, up=False), to_digits(Fraction(1, 3), 2, up=True)
    (Fraction(1041, 10), Fraction(17, 50))
    """
    return Fraction(_rounded(Fraction(value), digits, up=up))


def _rounded(number: Fraction, digits: int, *, up: bool) -> Decimal:
    context = Context(prec=digits, rounding=ROUND_CEILING if up else ROUND_FLOOR)
    return context.divide(Decimal(number.numerator), Decimal(number.denominator))


def _scientific(number: Decimal, digits: int) -> str:
    """Print a rounded number as the format ``g`` does, even beyond the range of doubles."""
    power, short = number.adjusted(), number.normalize()
    if -5 < power < digits:
        return f"{short:f}"
    return f"{short.scaleb(-power).normalize():f}e{power:+03d}"


def lower_text(value: Fraction | float, digits: int = 3) -> str:
    """Print a lower bound for people: exact where that is short, otherwise rounded down."""
    text = upper_text(-value, digits)
    return text[1:] if text.startswith("-") else f"-{text}" if text != "0" else "0"


def value_text(value: Any, longest: int | None = None) -> str:
    """Print a key, a count or an answer with all its digits, or its first ``longest`` characters; a point in brackets.

    >>> value_text(2.0), value_text((51.5, 4.25)), value_text("a"), value_text(dt.timedelta(days=3))
    ('2', '(51.5, 4.25)', 'a', '3 days')
    """
    if isinstance(value, tuple | list):
        return f"({', '.join(value_text(part, longest) for part in value)})"
    if isinstance(value, int | float | Fraction) and not isinstance(value, bool):
        text = number_text(value)
    elif isinstance(value, dt.timedelta) and value == dt.timedelta(days=value.days):
        text = f"{value.days} days"
    else:
        text = str(value)
    return text if longest is None or len(text) <= longest else f"{text[: longest - 1]}…"


def json_value(value: Any) -> Any:
    """Convert a key or an answer to JSON without loss: a fraction as "p/q", a date in ISO format, a tuple as a list.

    >>> json_value((Fraction(1, 3), dt.date(2024, 12, 31), 2.5)), json_value(dt.timedelta(days=3))
    (['1/3', '2024-12-31', 2.5], 3)
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list):
        return [json_value(part) for part in value]
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, dt.timedelta) and value == dt.timedelta(days=value.days):
        return value.days
    return str(value)


def to_double(number: Fraction) -> float:
    """Return the nearest double; the largest finite one for anything beyond."""
    return float(min(max(number, -_LARGEST), _LARGEST))


def as_read(value: float) -> Fraction:
    """Return the number that a value is counted as: its shortest decimal, or zero if the double is subnormal."""
    return said(value) if abs(value) >= sys.float_info.min else Fraction(0)


def next_below(value: float) -> float:
    """Return the largest double below ``value``."""
    return _at(_place(value) - 1)


def smallest_where(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Return the smallest double in [low, high] that satisfies a monotone test; ``high`` if none does."""
    return _at(least(lambda place: holds(_at(place)), _place(low), _place(high)))


def _place(value: float) -> int:
    """Return the rank of a double among all doubles; zero has rank 0."""
    bits: int = struct.unpack("<q", struct.pack("<d", value))[0]
    return bits if bits >= 0 else -(bits & 2**63 - 1)


def _at(place: int) -> float:
    size: float = struct.unpack("<d", struct.pack("<q", abs(place)))[0]
    return size if place >= 0 else -size
