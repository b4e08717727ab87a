"""Parameters: numbers taken exactly as the caller wrote them, the declared range of each, and a check for every type.

A parameter may be any object, and objects may do anything when they are compared, counted, called or printed. So
nothing is asked of a value before its type is known, and whatever an object raises becomes a refusal in one line.
"""

from __future__ import annotations

import datetime as dt
import math
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal, InvalidOperation
from fractions import Fraction
from numbers import Real
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

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
    "array",
    "attribute",
    "choice",
    "elements",
    "exact",
    "exact_text",
    "flag",
    "float_up",
    "function",
    "grouped",
    "instance",
    "is_short",
    "is_unicode",
    "lower_text",
    "number_text",
    "pairs",
    "path_text",
    "plain_scalar",
    "plural",
    "said",
    "sequence",
    "shown",
    "sum_up",
    "text",
    "upper_text",
    "value_text",
    "whole",
]

Number: TypeAlias = str | int | float | Fraction | Decimal
_T = TypeVar("_T")

_LONGEST = 1000  # characters of a number that is read
_LONGEST_SHOWN = 60  # characters of a value that is echoed
_LONGEST_PATH = 4096  # characters of a path
_LARGEST_EXPONENT = 400  # beyond every double; keeps "1e999999999" from filling the memory
_LONGEST_DECIMAL = 40  # digits of a number that is printed in full
_LONGEST_RATIO = 16  # characters of a number that is printed as p/q
_LONGEST_WHOLE = 17  # characters of a whole or half bound that is printed as it is


def is_short(text: str, longest: int = _LONGEST_SHOWN) -> bool:
    """Whether a text is short and printable, so that a message may echo it."""
    return len(text) <= longest and text.isprintable()


def is_unicode(text: str) -> bool:
    """Whether a text can be written as UTF-8: it has no half of a surrogate pair."""
    return not any("\ud800" <= char <= "\udfff" for char in text)


def shown(value: object, longest: int = _LONGEST_SHOWN) -> str:
    """The value as an error message may echo it: short scalars as they are, anything else by its type."""
    value = plain_scalar(value)
    if isinstance(value, str):
        return repr(value) if is_short(value, longest) else "a long or unprintable text"
    if isinstance(value, int | Fraction) and not isinstance(value, bool):
        parts = Fraction(value)
        if max(parts.numerator.bit_length(), parts.denominator.bit_length()) > 4 * _LONGEST_SHOWN:
            return "a very long number"
    if value is None or isinstance(value, bool | int | float | Fraction | Decimal):
        text = str(value)
        return text if len(text) <= _LONGEST_SHOWN else "a very long number"
    if isinstance(value, np.number) and isinstance(value, Real) and not isinstance(value, np.timedelta64):
        return str(float(value))
    name = type(value).__name__
    return f"an object of type {name if is_short(name) else 'with a strange name'}"


def plain_scalar(value: object) -> object:
    """A text or a number as Python's own type has it: what a subclass says of itself is not asked."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return int.__int__(value)
    if isinstance(value, Decimal):
        return Decimal(value)
    if isinstance(value, Fraction) and type(value) is not Fraction:
        return Fraction(*(vars(Fraction)[part].fget(value) for part in ("numerator", "denominator")))
    return float.__float__(value) if isinstance(value, float) else value


def text(name: str, value: object, example: str = "") -> str:
    """A parameter that must be a text."""
    if not isinstance(value, str):
        hint = f", for example {example}" if example else ""
        raise InputError(f"{name} must be a text{hint}; got {shown(value)}.")
    return str.__str__(value)


def choice(name: str, value: object, known: Collection[str]) -> str:
    """A parameter that must be one of a few words."""
    given = plain_scalar(value)
    if not isinstance(given, str) or given not in known:
        *first, last = map(repr, known)
        raise InputError(f"{name} must be {', '.join(first)} or {last}; got {shown(value)}.")
    return given


def flag(name: str, value: object) -> bool:
    """A parameter that must be True or False."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name} must be True or False; got {shown(value)}.")
    return bool(value)


def instance(name: str, value: object, kind: type[_T], what: str) -> _T:
    """A parameter that must be an object of a type of ours."""
    if not isinstance(value, kind):
        raise InputError(f"{name} must be {what}; got {shown(value)}.")
    return value


def function(name: str, value: object, what: str) -> Callable[..., Any]:
    """A parameter that must be a function; what it is called with is not tried here."""
    if not callable(value):
        raise InputError(f"{name} must be a function of {what}; got {shown(value)}.")
    return value


def elements(value: Any) -> list[Any] | None:
    """The elements of a collection or an iterator as a list; None for texts, and for what does not give any."""
    if isinstance(value, str | bytes | bytearray):
        return None
    try:
        return list(value)
    except Exception:  # noqa: BLE001  (an object may raise anything when it is asked for its elements)
        return None


def sequence(value: object) -> list[Any] | None:
    """An ordered, flat sequence as a list: a list, a tuple, a range or a flat array; None for anything else."""
    if isinstance(value, list | tuple | range) or (isinstance(value, np.ndarray) and value.ndim == 1):
        return elements(value)
    return None


def pairs(value: object) -> list[tuple[Any, Any]] | None:
    """The keys and values of a mapping; None for anything else."""
    if not isinstance(value, Mapping):
        return None
    try:
        return [(key, cell) for key, cell in value.items()]
    except Exception:  # noqa: BLE001  (as above)
        return None


def attribute(value: object, name: str) -> Any:
    """An attribute of any object; None where it has none or does not give it."""
    try:
        return getattr(value, name)
    except Exception:  # noqa: BLE001  (as above)
        return None


def array(value: object) -> NDArray[Any] | None:
    """What numpy makes of a value; None where it makes nothing of it."""
    try:
        return np.asarray(value)
    except Exception:  # noqa: BLE001  (as above)
        return None


def path_text(name: str, value: object) -> str:
    """A parameter that must name a file: a text or a path, of characters that a file system takes."""
    try:
        path = os.fspath(value)  # type: ignore[call-overload]
    except Exception:  # noqa: BLE001  (as above)
        path = None
    path = plain_scalar(path)
    if not isinstance(path, str) or not path:
        raise InputError(f"{name} must name a file; got {shown(value)}.")
    if not is_short(path, _LONGEST_PATH):
        raise InputError(f"{name} must name a file; got {shown(path)}. Give a shorter name of printable characters.")
    return path


def exact(name: str, value: object) -> Fraction:
    """The rational number that the caller wrote: "0.1" and 0.1 are both 1/10.

    A float is read by its shortest decimal form, which is what was typed.

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
            raise InputError(f"{name} has too many digits; write it with at most {_LONGEST} characters.")
        return value
    if isinstance(value, int | np.integer) and not isinstance(value, np.timedelta64):  # numpy calls that an integer
        number = int(value)
        if number.bit_length() > 4 * _LARGEST_EXPONENT:
            raise InputError(f"{name} has too many digits; write it with at most {_LONGEST} characters.")
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
        raise InputError(f"{name} has too many digits; write it with at most {_LONGEST} characters.")
    return _rational(name, text)


def _no_number(name: str, value: object) -> InputError:
    """What is no number, and how the one that was probably meant is written."""
    given = str.strip(value) if isinstance(value, str) else ""
    remedy = "Write it like 1, 0.1, 1e-6 or 1/3."
    if given.endswith("%"):
        remedy = "Write a percentage as a fraction, 5% as 0.05."
    elif "," in given:
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
        commas = " Write it without commas." if isinstance(value, str) and "," in str.__str__(value) else ""
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


def said(value: float) -> Fraction:
    """The number that a double stands for: its shortest decimal, in which it is read and printed.

    >>> said(0.1)
    Fraction(1, 10)
    """
    return Fraction(float.__repr__(value))


def float_up(value: Fraction) -> float:
    """The smallest double that neither is nor says less than ``value``.

    >>> float_up(Fraction(1, 10)), float_up(Fraction(1, 3)), float_up(Fraction(0.1))
    (0.1, 0.33333333333333337, 0.10000000000000002)
    """
    return _double_up(value, value)


def sum_up(*parts: float) -> float:
    """The sum of bounds as a double, never below that of the doubles nor of what they say."""
    if any(math.isinf(part) for part in parts):
        return math.inf
    return _double_up(sum(map(Fraction, parts), Fraction(0)), sum((said(float(part)) for part in parts), Fraction(0)))


def _double_up(being: Fraction, saying: Fraction) -> float:
    """The smallest double that is at least one number and says at least another, which are close."""
    try:
        found = float(being)
    except OverflowError:
        return math.inf
    while math.isfinite(found) and (Fraction(found) < being or said(found) < saying):
        found = math.nextafter(found, math.inf)
    return found


def number_text(value: Fraction | int | float) -> str:
    """A number with all its digits, in few characters: doubles by their shortest decimal, integers in full.

    A fraction is printed exactly where that takes a decimal of at most 40 digits or a short p/q, else as the nearest
    double.

    >>> number_text(Fraction(5, 2)), number_text(Fraction(120)), number_text(Fraction(1, 1000000))
    ('2.5', '120', '1e-06')
    >>> number_text(1700000000123456.0), number_text(Fraction(2**54 + 3, 2)), number_text(Fraction(1, 3))
    ('1700000000123456', '9007199254740993.5', '1/3')
    """
    if isinstance(value, float):
        return float.__repr__(value + 0.0).removesuffix(".0")  # −0.0 is 0
    number = Fraction(value)
    if number.denominator == 1 and abs(number) < 10**_LONGEST_DECIMAL:
        return str(int(number))
    try:
        nearest = float.__repr__(float(number))
    except OverflowError:
        return f"{Decimal(int(number)):e}"
    if Fraction(nearest) == number:
        return nearest.removesuffix(".0")
    if (decimal := _decimal(number)) is not None:
        return decimal
    ratio = str(number)
    return ratio if len(ratio) <= _LONGEST_RATIO else nearest


def _decimal(number: Fraction) -> str | None:
    """All digits of a number that has few enough of them."""
    places = next((p for p in range(_LONGEST_DECIMAL + 1) if 10**p % number.denominator == 0), None)
    if places is None or abs(number) >= 10 ** (_LONGEST_DECIMAL - places):
        return None
    return f"{Decimal(int(number * 10**places)).scaleb(-places, Context(prec=_LONGEST_DECIMAL)):f}"


def exact_text(value: Fraction) -> str:
    """A number as the command line takes it, without loss: a short decimal, else p/q.

    >>> exact_text(Fraction(1, 1000000)), exact_text(Fraction(1, 3))
    ('1e-06', '1/3')
    """
    text = number_text(value)
    return text if exact("value", text) == value else str(value)


def upper_text(value: Fraction | float, digits: int = 3) -> str:
    """A bound for people, never below the truth: exact where that is short, else rounded up.

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
    up = Context(prec=digits, rounding=ROUND_CEILING)
    return _scientific(up.divide(Decimal(number.numerator), Decimal(number.denominator)), digits)


def _scientific(number: Decimal, digits: int) -> str:
    """A rounded number as the format ``g`` writes it, also where no double is that small or large."""
    power, short = number.adjusted(), number.normalize()
    if -5 < power < digits:
        return f"{short:f}"
    return f"{short.scaleb(-power).normalize():f}e{power:+03d}"


def lower_text(value: Fraction | float, digits: int = 3) -> str:
    """A bound for people, never above the truth."""
    text = upper_text(-value, digits)
    return text[1:] if text.startswith("-") else f"-{text}" if text != "0" else "0"


def value_text(value: Any) -> str:
    """A key, a count or an answer with all its digits; a point in brackets.

    >>> value_text(2.0), value_text((51.5, 4.25)), value_text("a"), value_text(dt.timedelta(days=3))
    ('2', '(51.5, 4.25)', 'a', '3 days')
    """
    if isinstance(value, int | float | Fraction) and not isinstance(value, bool):
        return number_text(value)
    if isinstance(value, tuple | list):
        return f"({', '.join(map(value_text, value))})"
    if isinstance(value, dt.timedelta) and value == dt.timedelta(days=value.days):
        return f"{value.days} days"
    return str(value)
