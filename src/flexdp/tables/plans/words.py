"""The words of a SELECT, for engines that show a definition instead of a plan."""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import pairwise

from flexdp.tables.plans.refusal import UNKNOWN, not_records

__all__ = ["Word", "check_expression", "source_of", "words_of"]

_WORD = re.compile(
    r"""\s+ | --[^\n]* | /\*.*?(?:\*/|$)
  | (?P<text>'(?:[^']|'')*')
  | (?P<name>"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\])
  | (?P<word>[^\W\d]\w*)
  | (?P<number>[0-9][\w.]*|\.[0-9]\w*)
  | (?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)
_REASONS = {
    "GROUP": "an aggregate", "HAVING": "an aggregate", "DISTINCT": "DISTINCT", "LIMIT": "a limit", "OFFSET": "a limit",
    "JOIN": "a join", "UNION": "a UNION of what may be the same records twice", "INTERSECT": "INTERSECT",
    "EXCEPT": "EXCEPT", "WITH": "a WITH clause", "OVER": "a window", "EXISTS": "a subquery",
    "WINDOW": "a window", "FILTER": "an aggregate",
}  # fmt: skip
_BEFORE_BRACKET = {"IN", "AND", "OR", "NOT", "SELECT", "WHERE", "AS", "WHEN", "THEN", "ELSE", "CASE", "BETWEEN", "LIKE",
                   "GLOB", "IS", "BY", "FROM"}  # fmt: skip

Word = tuple[str, str]  # its kind, and its text without quotes


def words_of(text: str) -> list[Word]:
    """Split a statement into its words."""
    out = []
    for found in _WORD.finditer(text):
        if found.lastgroup is not None:
            word = found.group()
            out.append((found.lastgroup, word[1:-1] if found.lastgroup == "name" else word))
    return out


def check_expression(words: list[Word], scalar: Collection[str]) -> None:
    """Refuse an expression unless it looks at one row: no subquery, no window, only functions that are ``scalar``."""
    upper = [text.upper() if kind == "word" else "" for kind, text in words]
    if "SELECT" in upper:
        raise not_records("a subquery, or a union")
    for each in upper:
        if each in _REASONS:
            raise not_records(_REASONS[each])
    for (kind, text), following in pairwise([*words, ("sign", ";")]):
        if kind == "word" and text.upper() == "IN" and following != ("sign", "("):
            raise not_records("a subquery")  # SQLite's IN with the name of a table
        if kind in ("word", "name") and following == ("sign", "("):
            word = text.upper()
            if word not in scalar and not (kind == "word" and word in _BEFORE_BRACKET):
                raise not_records("an aggregate, or a function that is not known to look at one row")


def source_of(words: list[Word], scalar: Collection[str]) -> list[Word]:
    """Return what stands after FROM in a statement that selects row by row, or refuse it."""
    upper = [text.upper() if kind == "word" else "" for kind, text in words]
    if "SELECT" not in upper or "FROM" not in upper[upper.index("SELECT") :]:
        raise not_records(UNKNOWN)
    start = upper.index("SELECT")
    place = upper.index("FROM", start)
    check_expression(words[start + 1 : place], scalar)
    after = words[place + 1 :]
    ends = [i for i, word in enumerate(upper[place + 1 :]) if word in ("WHERE", "ORDER")]
    source, rest = (after[: ends[0]], after[ends[0] :]) if ends else (after, [])
    check_expression(rest, scalar)
    return [word for word in source if word != ("sign", ";")]
