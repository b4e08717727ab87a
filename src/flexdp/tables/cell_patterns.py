"""Patterns of cells in text: the same for text files, which DuckDB reads, and for lists, which Python reads.

A cell that does not match in full is missing. Both pattern languages, RE2 and Python's, read these alike: ASCII digits
and letters are spelt out.
"""

from __future__ import annotations

__all__ = ["BOOLEAN", "DATE", "DATETIME", "INTEGER", "NUMBER", "ZONED_DATETIME"]

NUMBER = r"[ \t]*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,5})?[ \t]*"
INTEGER = r"[ \t]*[+-]?[0-9]{1,37}(\.0*)?[ \t]*"  # many exports write 54 as 54.0
BOOLEAN = r"[ \t]*([Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee])[ \t]*"
DATE = r"[ \t]*[0-9]{4}-[0-9]{2}-[0-9]{2}[ \t]*"
DATETIME = r"[ \t]*[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?[ \t]*"
ZONED_DATETIME = (  # groups: the datetime, then sign, hours and minutes of its offset from UTC
    r"[ \t]*([0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?) ?"
    r"(?:Z|([+-])([01][0-9]|2[0-3])(?::?([0-5][0-9]))?)[ \t]*"
)
