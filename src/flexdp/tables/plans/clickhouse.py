"""Columns of ClickHouse with a DEFAULT or MATERIALIZED expression.

Rows that were written before such a column was added have no cell in it: it is computed when they are read, like an
ALIAS. Whether there are such rows is data, so the definition decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from flexdp.tables.plans.computed import DOUBTFUL, calls, with_dependents
from flexdp.tables.plans.words import Word

__all__ = ["computed_columns"]

_WORD = re.compile(
    r"""\s+
  | (?P<text>'(?:[^'\\]|\\.|'')*')
  | (?P<name>`(?:[^`\\]|\\.|``)*`|"(?:[^"\\]|\\.|"")*")
  | (?P<word>[^\W\d]\w*)
  | (?P<number>[0-9][\w.]*)
  | (?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)
_FLAGS = ("deterministic", "is_deterministic")  # of functions, by the version of the server
_CLOCKS = {"now", "today", "yesterday", "now64", "UTCTimestamp", "timezone", "timeZone"}  # the same for every row
_DOUBTFUL = {"sleep", "sleepEachRow", "throwIf", "logTrace", "getMaxTableNameLengthForDatabase"}
_OPERATORS = {"AND", "OR", "NOT", "IN", "LIKE", "ILIKE", "AS"}


def computed_columns(ask: Callable[[str], Sequence[Sequence[Any]]], rows: Sequence[Sequence[Any]]) -> dict[str, str]:
    """Return the columns that may be computed from more than their row, each with the reason.

    ``rows`` describe the table: of each column the name, the type, and the kind and the text of its expression.
    """
    expressions = {str(row[0]): _words(str(row[3])) for row in rows if row[2]}
    called = {name: {text for _, text in calls(words)} - _OPERATORS for name, words in expressions.items()}
    if not any(called.values()):
        return {}
    columns = {str(row[0]) for row in ask("DESCRIBE TABLE system.functions")}
    flag = next((name for name in _FLAGS if name in columns), "0")
    steady = ask(f"SELECT name FROM system.functions WHERE {flag} = 1 AND is_aggregate = 0 AND origin = 'System'")
    known = ({str(row[0]) for row in steady} | _CLOCKS) - _DOUBTFUL
    return with_dependents({name: DOUBTFUL for name, names in called.items() if not names <= known}, expressions)


def _words(text: str) -> list[Word]:
    found = [(each.lastgroup, each.group()) for each in _WORD.finditer(text) if each.lastgroup is not None]
    return [(kind, word[1:-1] if kind == "name" else word) for kind, word in found]
