"""Texts for people: short words about values, and somebody else's names and keys made harmless.

Names and keys are somebody else's text, so they are made safe for a terminal, for HTML and SVG, and for spreadsheets.
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
    "for_spreadsheet",
    "is_short",
    "is_unicode",
    "markup",
    "plain_scalar",
    "plural",
    "safe_repr",
    "thousands",
    "visible",
]

_LONGEST_SHOWN = 60  # characters of a value that is echoed
_STEERING = ("Cc", "Cf", "Cs", "Zl", "Zp")  # control, format (bidi overrides too), lone surrogates, line separators
_FORMULA = re.compile(r"[=+\-@\t\r\n＝＋－＠]")
_NUMBER = re.compile(r"[+-]?[0-9]+([.][0-9]+)?([eE][+-]?[0-9]+)?")


def visible(text: str) -> str:
    """Text with everything that could steer a terminal or turn the reading order made visible.

    >>> visible("a\\x1b[31mb")
    'a\\\\u001b[31mb'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if unicodedata.category(char) not in _STEERING else f"\\u{ord(char):04x}" for char in text)


def markup(text: object) -> str:
    """Text for HTML or SVG, between tags or in a quoted attribute.

    >>> markup('<b a="1">')
    '&lt;b a=&quot;1&quot;&gt;'
    """
    return html.escape(visible(str(text)), quote=True)


def for_spreadsheet(cell: Any) -> Any:
    """A text that can neither steer a terminal nor run as a formula, which gets a quote in front; numbers stay numbers.

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
    """Whether a text is short and printable, so that a message may echo it."""
    return len(text) <= longest and text.isprintable()


def is_unicode(text: str) -> bool:
    """Whether a text can be written as UTF-8: it has no half of a surrogate pair."""
    return not any("\ud800" <= char <= "\udfff" for char in text)


def safe_repr(value: object, longest: int = _LONGEST_SHOWN) -> str:
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
    return f"an object of type {name}" if is_short(name) else "an object whose type has an unprintable name"


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


def thousands(number: int) -> str:
    """A count for people: thousands set apart."""
    return f"{number:,}".replace(",", " ")


def plural(count: int, noun: str, write: Callable[[int], str] = str) -> str:
    """So many of a thing.

    >>> plural(1, "bucket"), plural(12000, "record"), plural(12000, "record", thousands)
    ('1 bucket', '12000 records', '12 000 records')
    """
    return f"{write(count)} {noun}{'' if count == 1 else 's'}"
