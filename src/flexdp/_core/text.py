"""Text for people: values in messages, counts and plurals, and untrusted names made safe.

Names and keys come from elsewhere, so they are made safe for a terminal, for HTML and SVG, and for spreadsheets.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np

__all__ = [
    "blanks_shown",
    "for_spreadsheet",
    "is_short",
    "is_unicode",
    "markup",
    "ordinal",
    "plain_scalar",
    "plural",
    "prose",
    "safe_repr",
    "thousands",
    "visible",
]

_LONGEST_SHOWN = 60  # characters of a value echoed in a message
_STEERING = ("Cc", "Cf", "Cs", "Zl", "Zp")  # control, format (bidi overrides too), lone surrogates, line separators
_FORMULA = re.compile(r"[=+\-@\t\r\n＝＋－＠]")
_BROAD = "\xa0"  # a blank that HTML does not merge with others
_SET_APART = re.compile(r"(?<=[0-9]) (?=[0-9]{3}(?![0-9]))")
_NUMBER = re.compile(r"[+-]?[0-9]+([.][0-9]+)?([eE][+-]?[0-9]+)?")


def visible(text: str) -> str:
    """Escape every character that could steer a terminal or change the reading order.

    >>> visible("a\\x1b[31mb")
    'a\\\\u001b[31mb'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if unicodedata.category(char) not in _STEERING else f"\\u{ord(char):04x}" for char in text)


def blanks_shown(text: str, *, broad: bool = False) -> str:
    """Quote a text that is empty, or begins or ends with a blank, which nobody would see otherwise.

    HTML merges blanks; ``broad`` ones are kept apart.

    >>> blanks_shown("HNO"), blanks_shown("HNO  "), blanks_shown("")
    ('HNO', "'HNO  '", "''")
    """
    inner = text.strip(" ")
    if text and inner == text:
        return text
    before = len(text) - len(text.lstrip(" "))
    blank = _BROAD if broad else " "
    return f"'{blank * before}{inner}{blank * (len(text) - len(inner) - before)}'"


def markup(text: object) -> str:
    """Escape text for HTML or SVG, between tags or in a quoted attribute.

    >>> markup('<b a="1">')
    '&lt;b a=&quot;1&quot;&gt;'
    """
    return html.escape(visible(str(text)), quote=True)


def prose(text: object) -> str:
    """Escape text for HTML, and keep the digits of a number on one line.

    >>> prose("at most 12 345 records") == "at most 12\\xa0345 records"
    True
    """
    return _SET_APART.sub("\xa0", markup(text))


def for_spreadsheet(cell: Any) -> Any:
    """Make a cell safe for a spreadsheet: a quote before anything that could run as a formula; numbers are kept.

    >>> for_spreadsheet("=1+1"), for_spreadsheet(-2.5), for_spreadsheet("-2.5"), for_spreadsheet("-2+cmd")
    ("'=1+1", -2.5, '-2.5', "'-2+cmd")
    >>> for_spreadsheet("a\\x1b[31m")
    'a\\\\u001b[31m'
    """
    if not isinstance(cell, str):
        return cell
    risky = _FORMULA.match(cell.lstrip(" ")) and not _NUMBER.fullmatch(cell)
    return f"'{visible(cell)}" if risky else visible(cell)


def is_short(text: str, longest: int = _LONGEST_SHOWN) -> bool:
    """Return True if a text is short and printable, so that a message may echo it."""
    return len(text) <= longest and text.isprintable()


def is_unicode(text: str) -> bool:
    """Return True if a text can be encoded as UTF-8: it has no lone surrogate."""
    return not any("\ud800" <= char <= "\udfff" for char in text)


def safe_repr(value: object, longest: int = _LONGEST_SHOWN) -> str:
    """Return a value as an error message may echo it: a short scalar in full, anything else by its type."""
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
    return f"an object of type {name}" if is_short(name) else "an object whose type has an unprintable name"


def plain_scalar(value: object) -> object:
    """Return a string or number as Python's own type, without calling methods that a subclass overrides."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return int.__int__(value)
    if isinstance(value, Decimal):
        return Decimal(value)
    if isinstance(value, Fraction) and type(value) is not Fraction:
        return Fraction(*(vars(Fraction)[part].fget(value) for part in ("numerator", "denominator")))
    return float.__float__(value) if isinstance(value, float) else value


def thousands(number: int) -> str:
    """Print an integer with its thousands set apart.

    >>> thousands(1234567)
    '1 234 567'
    """
    return f"{number:,}".replace(",", " ")


def plural(count: int, noun: str, write: Callable[[int], str] = str) -> str:
    """Print a count with its noun.

    >>> plural(1, "bucket"), plural(12000, "record"), plural(12000, "record", thousands)
    ('1 bucket', '12000 records', '12 000 records')
    """
    return f"{write(count)} {noun}{'' if count == 1 else 's'}"


def ordinal(number: str | int) -> str:
    """Print a number, given in digits, as an ordinal.

    >>> ordinal(1), ordinal(12), ordinal(23), ordinal("99.9")
    ('1st', '12th', '23rd', '99.9th')
    """
    digits = str(number)
    if "." in digits or digits[-2:-1] == "1":
        return f"{digits}th"
    return digits + {"1": "st", "2": "nd", "3": "rd"}.get(digits[-1:], "th")
