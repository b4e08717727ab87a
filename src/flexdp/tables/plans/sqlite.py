"""Views of SQLite, by the words of their definitions: plans of SQLite do not show a limit, nor every aggregate."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from flexdp.tables.plans.refusal import UNKNOWN, not_records

__all__ = ["check_view"]

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
    "EXCEPT": "EXCEPT", "WITH": "a WITH clause", "OVER": "a window", "EXISTS": "a subquery", "VALUES": "VALUES",
    "WINDOW": "a window", "FILTER": "an aggregate",
}  # fmt: skip
_SCALAR = {
    "ABS", "COALESCE", "IFNULL", "NULLIF", "IIF", "LENGTH", "LOWER", "UPPER", "SUBSTR", "SUBSTRING", "TRIM", "LTRIM",
    "RTRIM", "REPLACE", "INSTR", "ROUND", "SIGN", "TYPEOF", "UNICODE", "HEX", "DATE", "TIME", "DATETIME", "JULIANDAY",
    "STRFTIME", "PRINTF", "FORMAT", "CAST", "CEIL", "CEILING", "FLOOR", "SQRT", "POW", "POWER", "EXP", "LN", "LOG",
}  # fmt: skip
_BEFORE_BRACKET = {"IN", "AND", "OR", "NOT", "SELECT", "WHERE", "AS", "WHEN", "THEN", "ELSE", "CASE", "BETWEEN", "LIKE",
                   "GLOB", "IS", "BY", "FROM"}  # fmt: skip
_DEEPEST = 20

Word = tuple[str, str]  # its kind, and its text without quotes


def check_view(
    ask: Callable[[str], Sequence[Sequence[Any]]],
    name: str,
    schema: str,
    quote: Callable[[str], str],
    identifier: Callable[[str], str],
) -> None:
    """Refuse a view unless it works row by row; tables pass."""
    databases = (
        [schema] if schema else ["temp", *(str(row[1]) for row in ask("PRAGMA database_list") if row[1] != "temp")]
    )
    for _ in range(_DEEPEST):
        rows = [
            row
            for database in databases
            for row in ask(
                f"SELECT type, sql FROM {identifier(database)}.sqlite_schema "
                f"WHERE name = {quote(name)} COLLATE NOCASE AND type IN ('table', 'view')"
            )
        ]
        if not rows or rows[0][0] == "table":
            return
        name = _table_of(words_of(str(rows[0][1])))
    raise not_records("views that are nested too deep")


def words_of(text: str) -> list[Word]:
    """Split a statement into its words."""
    out = []
    for found in _WORD.finditer(text):
        if found.lastgroup is not None:
            word = found.group()
            out.append((found.lastgroup, word[1:-1] if found.lastgroup == "name" else word))
    return out


def _table_of(words: list[Word]) -> str:
    """Return the table that a view reads row by row, or refuse it."""
    upper = [text.upper() if kind == "word" else "" for kind, text in words]
    if "SELECT" not in upper or "FROM" not in upper:
        raise not_records(UNKNOWN)
    start = upper.index("SELECT")
    if upper.count("SELECT") > 1:
        raise not_records("a subquery, or a union")
    for each in upper[start:]:
        if each in _REASONS:
            raise not_records(_REASONS[each])
    for place in range(start, len(words) - 1):
        kind, text = words[place]
        if kind in ("word", "name") and words[place + 1] == ("sign", "("):
            word = text.upper()
            if word not in _SCALAR and not (kind == "word" and word in _BEFORE_BRACKET):
                raise not_records("an aggregate, or a function that is not known to look at one row")
    return _single(words[upper.index("FROM") + 1 :])


def _single(words: list[Word]) -> str:
    """Return the one table after FROM."""
    if not words or words[0][0] not in ("word", "name"):
        raise not_records("a subquery")
    name, rest = words[0][1], words[1:]
    if rest[:1] == [("sign", ".")] and len(rest) > 1:
        raise not_records("a table of another database")
    ends = {"WHERE", "ORDER"}
    while rest and not (rest[0][0] == "word" and rest[0][1].upper() in ends):
        if rest[0] == ("sign", ";") and len(rest) == 1:
            break
        if rest[0][0] not in ("word", "name"):  # a comma, or anything but an alias
            raise not_records("a join")
        if rest[0][0] == "word" and rest[0][1].upper() in ("NATURAL", "LEFT", "RIGHT", "FULL", "INNER", "CROSS"):
            raise not_records("a join")
        rest = rest[1:]
    return name
