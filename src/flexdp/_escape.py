"""Names and keys are somebody else's text: made harmless for a terminal, for HTML and SVG, and for spreadsheets."""

from __future__ import annotations

import html
import re
import unicodedata
from typing import Any

__all__ = ["markup", "no_formula", "visible"]

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


def no_formula(cell: Any) -> Any:
    """A text that a spreadsheet would run as a formula gets a quote in front; numbers stay numbers.

    >>> no_formula("=1+1"), no_formula(-2.5), no_formula("-2.5"), no_formula("-2+cmd")
    ("'=1+1", -2.5, '-2.5', "'-2+cmd")
    """
    risky = isinstance(cell, str) and _FORMULA.match(cell.lstrip(" ")) and not _NUMBER.fullmatch(cell)
    return f"'{cell}" if risky else cell
