"""The words of a SELECT, for engines that show a definition instead of a plan."""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import pairwise

from flexdp.tables.plans.refusal import UNKNOWN, UNKNOWN_FUNCTION, not_records

__all__ = ["Word", "check_expression", "depths_of", "source_of", "words_of"]

_WORD = re.compile(  # other blanks, such as U+00A0, are parts of names to SQLite
    r"""[ \t\n\f\r]+ | --[^\n]* | /\*.*?(?:\*/|$)
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
_AGGREGATES = {"AVG", "SUM", "TOTAL", "COUNT", "MIN", "MAX", "GROUP_CONCAT", "STRING_AGG", "STDDEV", "VARIANCE",
               "MEDIAN", "MEAN", "FIRST", "LAST", "COLLECT_LIST", "PERCENTILE"}  # fmt: skip

Word = tuple[str, str]  # its kind, and its text without quotes


def words_of(text: str) -> list[Word]:
    """Split a statement into its words."""
    out = []
    for found in _WORD.finditer(text):
        if found.lastgroup is not None:
            word = found.group()
            quoted = found.lastgroup == "name"
            out.append((found.lastgroup, word[1:-1].replace(word[-1] * 2, word[-1]) if quoted else word))
    return out


def check_expression(words: list[Word], scalar: Collection[str], of_two: Collection[str] = ()) -> None:
    """Refuse an expression unless it looks at one row: no subquery, no window, only functions that are ``scalar``.

    Those ``of_two`` are scalar with two arguments or more, and aggregates with one.
    """
    upper = _upper(words)
    for each in upper:
        if each in _REASONS:
            raise not_records(_REASONS[each])
    if "SELECT" in upper:
        raise not_records("a subquery")
    for place, ((kind, text), following) in enumerate(pairwise([*words, ("sign", ";")])):
        if kind == "word" and text.upper() == "IN" and following != ("sign", "("):
            raise not_records("a subquery")  # SQLite's IN with the name of a table
        if kind in ("word", "name") and following == ("sign", "("):
            word = text.upper()
            if word in scalar or (kind == "word" and word in _BEFORE_BRACKET):
                continue
            if word not in of_two or ("sign", ",") not in _level(words[place + 2 :]):
                raise not_records("an aggregate" if word in _AGGREGATES else UNKNOWN_FUNCTION)


def source_of(words: list[Word], scalar: Collection[str], of_two: Collection[str] = ()) -> list[Word]:
    """Return what stands after FROM in a statement that selects row by row, or refuse it."""
    upper = ["" if depth else word for word, depth in zip(_upper(words), depths_of(words), strict=True)]
    start = upper.index("SELECT") if "SELECT" in upper else len(upper)
    if "WITH" in upper[:start]:
        raise not_records(_REASONS["WITH"])
    if "FROM" not in upper[start:]:
        raise not_records(UNKNOWN)
    place = upper.index("FROM", start)
    check_expression(words[start + 1 : place], scalar, of_two)
    ends = [i for i, word in enumerate(upper) if i > place and (word in ("WHERE", "ORDER") or word in _REASONS)]
    end = ends[0] if ends else len(words)
    check_expression(words[end:], scalar, of_two)
    return [word for word in words[place + 1 : end] if word != ("sign", ";")]


def depths_of(words: list[Word]) -> list[int]:
    """Return how many brackets are open at each word; a bracket itself is inside."""
    out, depth = [], 0
    for word in words:
        depth += word == ("sign", "(")
        out.append(depth)
        depth -= word == ("sign", ")")
    return out


def _level(words: list[Word]) -> list[Word]:
    """Return the words up to the bracket that closes before them, without those in brackets of their own."""
    out = []
    for word, depth in zip(words, depths_of(words), strict=True):
        if depth == 0 and word == ("sign", ")"):
            break
        out += [word] if depth == 0 else []
    return out


def _upper(words: list[Word]) -> list[str]:
    return [text.upper() if kind == "word" else "" for kind, text in words]
