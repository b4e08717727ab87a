"""The tree of a filter or a derived column as it was written, and its canonical text.

The text is public: it is stored in releases, and parsing it gives the same tree again.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

__all__ = [
    "READINGS",
    "RESERVED",
    "And",
    "Arithmetic",
    "Between",
    "Call",
    "Case",
    "Compare",
    "In",
    "IsNull",
    "Like",
    "Literal",
    "Name",
    "Negative",
    "Node",
    "Not",
    "Or",
    "Test",
    "Value",
    "text_of",
]

RESERVED = frozenset(
    [
        "AND",
        "OR",
        "NOT",
        "IN",
        "BETWEEN",
        "IS",
        "NULL",
        "LIKE",
        "ESCAPE",
        "CASE",
        "WHEN",
        "THEN",
        "ELSE",
        "END",
        "TRUE",
        "FALSE",
        "SELECT",
        "EXISTS",
        "OVER",
    ]
)
READINGS = ("number", "integer", "text", "date", "datetime", "boolean")  # functions that declare a column's kind
_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Name:
    """A column."""

    name: str


@dataclass(frozen=True, slots=True)
class Literal:
    """A number, a text, a boolean, a date or a datetime, with or without an offset from UTC."""

    value: Decimal | str | bool | dt.date


@dataclass(frozen=True, slots=True)
class Negative:
    """A number with its sign changed."""

    value: Value


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """A sum, difference, product or quotient: ``op`` is one of ``+ - * /``."""

    op: str
    left: Value
    right: Value


@dataclass(frozen=True, slots=True)
class Call:
    """One of the functions: year, month, seconds, coalesce, or one that declares how a column is read, such as date."""

    function: str
    arguments: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """The value of the first test that is true, else ``otherwise``, or no value."""

    branches: tuple[tuple[Test, Value], ...]
    otherwise: Value | None


@dataclass(frozen=True, slots=True)
class Compare:
    """A comparison: ``op`` is one of ``= <> < <= > >=``."""

    op: str
    left: Value
    right: Value


@dataclass(frozen=True, slots=True)
class In:
    """A value is one of a list."""

    value: Value
    items: tuple[Value, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Between:
    """A value lies between two others, or is one of them."""

    value: Value
    low: Value
    high: Value
    negated: bool = False


@dataclass(frozen=True, slots=True)
class IsNull:
    """A value is missing or unreadable."""

    value: Value
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Like:
    """A text matches a fixed pattern: % any characters, _ one character."""

    value: Value
    pattern: str
    escape: str | None = None
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Not:
    """A test is false."""

    test: Test


@dataclass(frozen=True, slots=True)
class And:
    """All tests are true."""

    tests: tuple[Test, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """A test is true."""

    tests: tuple[Test, ...]


Value: TypeAlias = "Name | Literal | Negative | Arithmetic | Call | Case"
Test: TypeAlias = "Compare | In | Between | IsNull | Like | Not | And | Or"
Node: TypeAlias = "Value | Test"


def text_of(node: Node) -> str:
    """Return the canonical text of a tree."""
    return _text(node, 0)


# Binding strength: OR 1, AND 2, NOT 3, comparisons 4, sums 5, products 6, signs 7, primaries 8.
def _text(node: Node, within: int) -> str:
    strength, text = _strong(node)
    return f"({text})" if strength < within else text


def _strong(node: Node) -> tuple[int, str]:
    if isinstance(node, Name):
        return 8, _name(node.name)
    if isinstance(node, Literal):
        return (7 if isinstance(node.value, Decimal) and node.value.is_signed() else 8), _literal(node.value)
    if isinstance(node, Negative):
        return 7, f"-{_text(node.value, 8)}"
    if isinstance(node, Arithmetic):
        strength = 5 if node.op in "+-" else 6
        return strength, f"{_text(node.left, strength)} {node.op} {_text(node.right, strength + 1)}"
    if isinstance(node, Call):
        return 8, f"{node.function}({', '.join(_text(each, 0) for each in node.arguments)})"
    if isinstance(node, Case):
        branches = " ".join(f"WHEN {_text(test, 0)} THEN {_text(value, 0)}" for test, value in node.branches)
        otherwise = "" if node.otherwise is None else f" ELSE {_text(node.otherwise, 0)}"
        return 8, f"CASE {branches}{otherwise} END"
    if isinstance(node, Not):
        return 3, f"NOT {_text(node.test, 3)}"
    if isinstance(node, And):
        return 2, " AND ".join(_text(test, 3) for test in node.tests)
    if isinstance(node, Or):
        return 1, " OR ".join(_text(test, 2) for test in node.tests)
    return 4, _tested(node)


def _tested(node: Compare | In | Between | IsNull | Like) -> str:
    if isinstance(node, Compare):
        return f"{_text(node.left, 5)} {node.op} {_text(node.right, 5)}"
    negated = "NOT " if node.negated else ""
    value = _text(node.value, 5)
    if isinstance(node, In):
        return f"{value} {negated}IN ({', '.join(_text(item, 5) for item in node.items)})"
    if isinstance(node, Between):
        return f"{value} {negated}BETWEEN {_text(node.low, 5)} AND {_text(node.high, 5)}"
    if isinstance(node, IsNull):
        return f"{value} IS {negated}NULL"
    escape = "" if node.escape is None else f" ESCAPE {_quoted(node.escape)}"
    return f"{value} {negated}LIKE {_quoted(node.pattern)}{escape}"


def _name(name: str) -> str:
    if _BARE.fullmatch(name) and name.upper() not in RESERVED:
        return name
    return '"' + name.replace('"', '""') + '"'


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _literal(value: Decimal | str | bool | dt.date) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, dt.datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    return f"DATE '{value.isoformat()}'"
