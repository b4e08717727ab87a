"""Patterns of cells in text: the same for text files, which DuckDB reads, and for lists, which Python reads.

A cell that does not match in full is missing. Both pattern languages, RE2 and Python's, read these alike: ASCII digits
and letters are spelt out.
"""

from __future__ import annotations

import re

__all__ = ["BOOLEAN", "DATE", "DATETIME", "INTEGER", "NUMBER", "ZONED_DATETIME", "may_be_typed"]

NUMBER = r"[ \t]*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,5})?[ \t]*"
INTEGER = r"[ \t]*[+-]?[0-9]{1,37}(\.0*)?[ \t]*"  # many exports write 54 as 54.0
BOOLEAN = r"[ \t]*([Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee])[ \t]*"
DATE = r"[ \t]*[0-9]{4}-[0-9]{2}-[0-9]{2}[ \t]*"
DATETIME = r"[ \t]*[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?[ \t]*"
ZONED_DATETIME = (  # groups: the datetime, then sign, hours and minutes of its offset from UTC
    r"[ \t]*([0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?) ?"
    r"(?:Z|([+-])([01][0-9]|2[0-3])(?::?([0-5][0-9]))?)[ \t]*"
)

_TYPED = re.compile(
    r"[+-]?(?=[.,'_ ]*[0-9])[0-9.,'_ ]+(?:e[+-]?[0-9]+)?"  # numbers, with all marks that a parser may be told of
    r"|[+-]?(?:inf|infinity|nan)|true|false"
    r"|(?:[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}|[0-9]{4}[-/.][0-9]{1,2})"  # dates, with or without a time
    r"(?:[T ] ?[0-9]{1,2}(?::?[0-9]{2}){0,2}(?:[.,][0-9]+)? ?(?:[ap]m)? ?(?:Z|UTC|[+-][0-9]{2}(?::?[0-9]{2})?)?)?"
    r"|[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:[.][0-9]+)?)?",
    re.ASCII | re.IGNORECASE,
)


def may_be_typed(text: str) -> bool:
    """Tell whether a library that infers types may hold a text as a number, a date or a boolean instead.

    Parameters
    ----------
    text
        The text of a cell.

    Returns
    -------
    bool
        True if it reads as one of these; then nobody knows how it was once written.

    Examples
    --------
    >>> [may_be_typed(text) for text in ("07", "1.234,5", "1e5", "TRUE", "2024-05-11", "11/05/2024 10:30", "-Infinity")]
    [True, True, True, True, True, True, True]
    >>> [may_be_typed(text) for text in ("A7", "e7", "5 mg", "B-12", "", "-", "May", "030/77")]
    [False, False, False, False, False, False, False, False]
    """
    return _TYPED.fullmatch(text.strip()) is not None
