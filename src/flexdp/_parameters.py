"""Numbers taken exactly as the caller wrote them, and the declared range each of them must lie in."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from numbers import Integral, Real
from typing import TypeAlias

from flexdp.errors import InputError

__all__ = [
    "ALPHA",
    "BETA",
    "DELTA",
    "EPSILON",
    "GAMMA",
    "MUCH_EPSILON",
    "Domain",
    "Number",
    "exact",
    "float_up",
    "grouped",
    "is_short",
    "is_unicode",
    "lower_text",
    "number_text",
    "plural",
    "shown",
    "sum_up",
    "upper_text",
    "whole",
]

Number: TypeAlias = str | int | float | Fraction | Decimal

_LONGEST = 1000  # characters of a number that is read
_LONGEST_SHOWN = 60  # characters of a value that is echoed
_LARGEST_EXPONENT = 400  # beyond every double; keeps "1e999999999" from filling the memory


def is_short(text: str, longest: int = _LONGEST_SHOWN) -> bool:
    """Whether a text is short and printable, so that a message may echo it."""
    return len(text) <= longest and text.isprintable()


def is_unicode(text: str) -> bool:
    """Whether a text can be written as UTF-8: it has no half of a surrogate pair."""
    return not any("\ud800" <= char <= "\udfff" for char in text)


def shown(value: object, longest: int = _LONGEST_SHOWN) -> str:
    """The value as an error message may echo it: short scalars as they are, anything else by its type."""
    if isinstance(value, str):
        return repr(value) if is_short(value, longest) else "a long or unprintable text"
    if isinstance(value, int | Fraction) and not isinstance(value, bool):
        parts = Fraction(value)
        if max(parts.numerator.bit_length(), parts.denominator.bit_length()) > 4 * _LONGEST_SHOWN:
            return "a very long number"
    if value is None or isinstance(value, bool | int | float | Fraction | Decimal):
        text = str(value)
        return text if len(text) <= _LONGEST_SHOWN else "a very long number"
    if isinstance(value, Real):  # numpy's scalars
        return str(float(value))
    return f"an object of type {type(value).__name__}"


def exact(name: str, value: object) -> Fraction:
    """The rational number that the caller wrote: "0.1" and 0.1 are both 1/10.

    A float is read by its shortest decimal form, which is what was typed.

    >>> exact("epsilon", 0.1)
    Fraction(1, 10)
    >>> exact("delta", "1/1048576")
    Fraction(1, 1048576)
    """
    if isinstance(value, bool):
        raise _no_number(name, value)
    if isinstance(value, Fraction):
        if max(value.numerator.bit_length(), value.denominator.bit_length()) > 3 * _LONGEST:
            raise InputError(f"{name} has too many digits; write it with at most {_LONGEST} characters.")
        return value
    if isinstance(value, Integral):
        number = int(value)
        if number.bit_length() > 4 * _LARGEST_EXPONENT:
            raise InputError(f"{name} has too many digits; write it with at most {_LONGEST} characters.")
        return Fraction(number)
    if isinstance(value, float):
        text = float.__repr__(value)
    elif isinstance(value, str | Decimal):
        text = str(value).strip()
    elif isinstance(value, Real):  # numpy.float32 and the like: the shortest decimal of its own precision
        text = str(value)
    else:
        raise _no_number(name, value)
    if len(text) > _LONGEST:
        raise InputError(f"{name} has too many digits; write it with at most {_LONGEST} characters.")
    return _rational(name, text)


def _no_number(name: str, value: object) -> InputError:
    """What is no number, and how the one that was probably meant is written."""
    text = value.strip() if isinstance(value, str) else ""
    remedy = "Write it like 1, 0.1, 1e-6 or 1/3."
    if text.endswith("%"):
        remedy = "Write a percentage as a fraction, 5% as 0.05."
    elif "," in text:
        remedy = "Write it without commas, like 1234.5."
    return InputError(f"{name} must be a number; got {shown(value)}. {remedy}")


def _rational(name: str, text: str) -> Fraction:
    numerator, slash, denominator = text.partition("/")
    try:
        top = Decimal(numerator.strip())
        bottom = Decimal(denominator.strip()) if slash else Decimal(1)
    except InvalidOperation:
        raise _no_number(name, text) from None
    for part in (top, bottom):
        if not part.is_finite():
            raise InputError(f"{name} must be finite; got {shown(text)}. Give an ordinary number.")
        if part and abs(part.adjusted()) > _LARGEST_EXPONENT:
            raise InputError(f"{name} has too large an exponent; got {shown(text)}. Stay within 1e±400.")
    if bottom == 0:
        raise InputError(f"{name} has a zero denominator; got {shown(text)}.")
    return Fraction(top) / Fraction(bottom)


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """The declared range of one parameter: it drives the check, the message and the tests."""

    name: str
    low: Fraction
    low_included: bool = False
    high: Fraction | None = None
    high_included: bool = False
    remedy: str

    def __str__(self) -> str:
        if self.high is None:
            return f"{'at least' if self.low_included else 'greater than'} {number_text(self.low)}"
        opening = "[" if self.low_included else "("
        closing = "]" if self.high_included else ")"
        return f"in {opening}{number_text(self.low)}, {number_text(self.high)}{closing}"

    def check(self, value: object) -> Fraction:
        """The value as an exact rational, or an :class:`InputError` that names the rule and the remedy."""
        number = exact(self.name, value)
        above = number > self.low or (self.low_included and number == self.low)
        below = self.high is None or number < self.high or (self.high_included and number == self.high)
        if not (above and below):
            raise InputError(f"{self.name} must be {self}; got {shown(value)}. {self.remedy}")
        return number


EPSILON = Domain(
    name="epsilon",
    low=Fraction(0),
    high=Fraction(10**4),
    high_included=True,
    remedy="Choose the privacy loss of one record, for example epsilon=1.",
)
DELTA = Domain(
    name="delta",
    low=Fraction(1, 10**30),
    low_included=True,
    high=Fraction(1),
    remedy="Choose a chance far below one in the number of records, for example delta=1e-6.",
)
ALPHA = Domain(
    name="alpha",
    low=Fraction(0),
    low_included=True,
    high=Fraction(1),
    high_included=True,
    remedy="It is a fraction.",
)
BETA = Domain(
    name="beta",
    low=Fraction(0),
    low_included=True,
    remedy="It is a distance, for example half a bucket's width.",
)
GAMMA = Domain(
    name="gamma",
    low=Fraction(0),
    low_included=True,
    high=Fraction(1),
    high_included=True,
    remedy="It is a probability.",
)


MUCH_EPSILON = 10  # above it a promise is hardly one


def whole(name: str, value: object, *, at_least: int = 1, at_most: int | None = None) -> int:
    """An integer parameter, exact, not below ``at_least`` nor above ``at_most``."""
    try:
        number = exact(name, value)
    except InputError:
        number = Fraction(1, 2)  # no whole number either
    if number.denominator != 1 or number < at_least:
        commas = " Write it without commas." if isinstance(value, str) and "," in value else ""
        raise InputError(f"{name} must be a whole number of at least {at_least}; got {shown(value)}.{commas}")
    if at_most is not None and number > at_most:
        raise InputError(f"{name} must be at most {grouped(at_most)}; got {shown(value)}.")
    return int(number)


def grouped(number: int) -> str:
    """A count for people: thousands set apart."""
    return f"{number:,}".replace(",", " ")


def plural(count: int, noun: str, write: Callable[[int], str] = str) -> str:
    """So many of a thing.

    >>> plural(1, "bucket"), plural(12000, "record"), plural(12000, "record", grouped)
    ('1 bucket', '12000 records', '12 000 records')
    """
    return f"{write(count)} {noun}{'' if count == 1 else 's'}"


def float_up(value: Fraction) -> float:
    """The smallest double that is not below ``value``."""
    try:
        nearest = float(value)
    except OverflowError:
        return math.inf
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def sum_up(*parts: float) -> float:
    """The sum of bounds as a double, never below it."""
    if any(math.isinf(part) for part in parts):
        return math.inf
    return float_up(sum((Fraction(part) for part in parts), Fraction(0)))


def number_text(value: Fraction | int | float) -> str:
    """A number for people: exact where a short decimal is, else six digits.

    >>> number_text(Fraction(5, 2)), number_text(Fraction(120)), number_text(Fraction(1, 1000000))
    ('2.5', '120', '1e-06')
    """
    if isinstance(value, float):
        text = min(repr(value), f"{value:.12g}", key=len)  # twelve digits are enough for people
        return text.removesuffix(".0")
    number = Fraction(value)
    if number.denominator == 1 and abs(number) < 10**40:
        return str(int(number))
    text = repr(float(number))
    return text.removesuffix(".0") if Fraction(text) == number else f"{float(number):.6g}"


def upper_text(value: Fraction | float, digits: int = 3) -> str:
    """A bound for people, never below the truth: exact where that is short, else rounded up.

    >>> upper_text(Fraction(1, 1000000)), upper_text(Fraction(1, 2**20)), upper_text(Fraction(-1, 3))
    ('1e-06', '9.54e-07', '-0.333')
    """
    if isinstance(value, float) and math.isinf(value):
        return "inf"
    number = Fraction(repr(value)) if isinstance(value, float) else Fraction(value)  # a float is what its decimal says
    text = repr(float(number))
    if Fraction(text) == number and len(text) <= digits + 5:
        return text.removesuffix(".0")
    step = Fraction(10) ** (math.floor(math.log10(abs(number))) - digits + 1)
    return f"{float(-(-number // step) * step):.{digits}g}"


def lower_text(value: Fraction | float, digits: int = 3) -> str:
    """A bound for people, never above the truth."""
    text = upper_text(-value, digits)
    return text[1:] if text.startswith("-") else f"-{text}" if text != "0" else "0"
