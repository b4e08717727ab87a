"""Names and keys are somebody else's text: made harmless for a terminal, for HTML and SVG, and for spreadsheets."""

from __future__ import annotations

import html
import re
import unicodedata
from typing import Any

__all__ = ["for_spreadsheet", "markup", "visible"]

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
