"""Patterns of LIKE: taken apart once, and written for an engine or for Python."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias

__all__ = ["ESCAPE", "Piece", "expression", "in_sql", "pieces"]

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
