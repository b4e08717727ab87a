"""The one tree of filters and derived columns, as written and with kinds, and its canonical text.

Between the two, a :class:`Name` is replaced by the :class:`ReadColumn` that it stands for, and a :class:`Literal` by a
:class:`Const` of the kind that it is compared with. Three nodes are only written: the meaning has ``Negative`` as a
difference, ``IsBetween`` as two comparisons, and ``Not`` moved into the comparisons, where it changes the sign.

    NOT age BETWEEN 18 AND k    Not(IsBetween(Name age, Literal 18, Name k))
         with kinds             Or(Compare(<, ReadColumn age, Const 18), Compare(>, ReadColumn age, ReadColumn k))

The text is public: it is stored in releases, and parsing it gives the same tree again.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from decimal import Decimal
from typing import Any, TypeAlias, TypeGuard, TypeVar, cast

from flexdp.buckets.base import Kind
from flexdp.tables.column import Column

__all__ = [
    "READINGS", "RESERVED", "And", "Arithmetic", "Call", "CaseWhen", "Compare", "Const", "In", "IsBetween", "IsNull",
    "Like", "Literal", "Name", "Negative", "Node", "Not", "Or", "ReadColumn", "Test", "Value", "columns_in",
    "compared_names", "declared_names", "is_reading", "kind_of", "mapped", "outcomes", "results_of",
    "shown_names", "sides_of", "text_of", "walk",
]  # fmt: skip

_WORDS = "AND OR NOT IN BETWEEN IS NULL LIKE ESCAPE CASE WHEN THEN ELSE END TRUE FALSE SELECT EXISTS OVER"
RESERVED = frozenset(_WORDS.split())
READINGS = ("number", "integer", "text", "date", "datetime", "boolean")  # functions that declare a column's kind
_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Node:
    """A part of the tree."""


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A column as it is written."""

    name: str


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """A number, a text, a boolean, a date or a datetime, with or without an offset from UTC, as it is written."""

    value: Decimal | str | bool | dt.date


@dataclass(frozen=True, slots=True)
class ReadColumn(Node):
    """A column, read as a kind."""

    column: Column
    kind: Kind


@dataclass(frozen=True, slots=True)
class Const(Node):
    """A literal as the kind that it is compared with, in the form in which engines count: dates are days."""

    kind: Kind
    value: Any


@dataclass(frozen=True, slots=True)
class Negative(Node):
    """A number with its sign changed."""

    value: Value


@dataclass(frozen=True, slots=True)
class Arithmetic(Node):
    """A sum, difference, product or quotient: ``op`` is one of ``+ - * /``.

    With kinds, both sides are integers, both are numbers, or they are dates or datetimes and subtracted.
    """

    op: str
    left: Value
    right: Value


@dataclass(frozen=True, slots=True)
class Call(Node):
    """One of the functions: year, month, seconds, coalesce, or one that declares how a column is read, such as date.

    With kinds, ``number`` is an integer as a double and ``date`` the day of a datetime; the others are gone.
    """

    function: str
    arguments: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class CaseWhen(Node):
    """The value of the first test that is true, else ``otherwise``, or no value."""

    branches: tuple[tuple[Test, Value], ...]
    otherwise: Value | None


@dataclass(frozen=True, slots=True)
class Compare(Node):
    """A comparison: ``op`` is one of ``= <> < <= > >=``."""

    op: str
    left: Value
    right: Value


@dataclass(frozen=True, slots=True)
class In(Node):
    """A value is one of a list; negated, it is present and none of them."""

    value: Value
    items: tuple[Value, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class IsBetween(Node):
    """A value lies between two others, or is one of them."""

    value: Value
    low: Value
    high: Value
    negated: bool = False


@dataclass(frozen=True, slots=True)
class IsNull(Node):
    """A value is missing or unreadable; negated, it is not."""

    value: Value
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Like(Node):
    """A text matches a fixed pattern: % any characters, _ one character; negated, it is present and does not."""

    value: Value
    pattern: str
    escape: str | None = None
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Not(Node):
    """A test is false."""

    test: Test


@dataclass(frozen=True, slots=True)
class And(Node):
    """All tests are true."""

    tests: tuple[Test, ...]


@dataclass(frozen=True, slots=True)
class Or(Node):
    """A test is true. None of no tests is."""

    tests: tuple[Test, ...]


Value: TypeAlias = Name | Literal | ReadColumn | Const | Negative | Arithmetic | Call | CaseWhen
Test: TypeAlias = Compare | In | IsBetween | IsNull | Like | Not | And | Or
_T = TypeVar("_T")
_KIND_OF_CALL: dict[str, Kind] = {
    "year": "integer", "month": "integer", "seconds": "number", "number": "number", "date": "date",
}  # fmt: skip


# ---- walks


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and everything in it, in the order in which it is written."""
    yield node
    parts = [getattr(node, each.name) for each in fields(node)]
    while parts:
        part = parts.pop(0)
        if isinstance(part, Node):
            yield from walk(part)
        elif isinstance(part, tuple):
            parts[:0] = part


def mapped(node: _T, change: Callable[[Node], Node | None]) -> _T:
    """Return a tree, or what holds one, with nodes exchanged; where ``change`` gives None, the parts are tried."""
    if isinstance(node, Node) and (new := change(node)) is not None:
        return cast("_T", new)
    if isinstance(node, tuple):
        return cast("_T", tuple(mapped(each, change) for each in node))
    if not is_dataclass(node) or isinstance(node, type | Column):
        return node
    return replace(node, **{each.name: mapped(getattr(node, each.name), change) for each in fields(node)})


def columns_in(node: Node) -> Iterator[ReadColumn]:
    """Yield the columns that are read, in the order in which they are written."""
    return (each for each in walk(node) if isinstance(each, ReadColumn))


def is_reading(node: Node) -> TypeGuard[Call]:
    """Tell whether a node declares how a column is read: number(x), date(x) and the like."""
    return isinstance(node, Call) and node.function in READINGS and isinstance(node.arguments[0], Name)


def results_of(node: CaseWhen) -> list[Value]:
    """Return the values after THEN and ELSE."""
    return [value for _, value in node.branches] + ([] if node.otherwise is None else [node.otherwise])


def outcomes(node: Value) -> Iterator[Value]:
    """Yield the values that a value may be: those of coalesce and CASE, or itself."""
    if isinstance(node, CaseWhen) or (isinstance(node, Call) and node.function == "coalesce"):
        for each in results_of(node) if isinstance(node, CaseWhen) else node.arguments:
            yield from outcomes(each)
    else:
        yield node


def declared_names(node: Node) -> Iterator[tuple[str, Kind]]:
    """Yield the columns whose kind a text declares, by number(x), date(x) and the like, with that kind."""
    for each in walk(node):
        if is_reading(each):
            yield cast("Name", each.arguments[0]).name, cast("Kind", each.function)


def compared_names(node: Node) -> Iterator[str]:
    """Yield the columns that are compared with other columns, as they are or through coalesce and CASE."""
    for each in walk(node):
        values = [value for side in sides_of(each) if not isinstance(each, In) for value in outcomes(side)]
        if not any(isinstance(value, Literal) for value in values):
            yield from (value.name for value in values if isinstance(value, Name))


def shown_names(node: Node) -> Iterator[str]:
    """Yield the columns whose kind a text shows: beside a literal, in LIKE, year and month, and in arithmetic.

    Only a difference of columns may be one of numbers or of dates.
    """
    for each in walk(node):
        values: tuple[Value, ...] = sides_of(each)
        if isinstance(each, Arithmetic):
            values = (each.left, each.right)
        if (not isinstance(each, Arithmetic) or each.op == "-") and not any(isinstance(v, Literal) for v in values):
            values = ()
        if isinstance(each, Like) or (isinstance(each, Call) and each.function in ("year", "month")):
            values = (each.value,) if isinstance(each, Like) else each.arguments
        yield from (value.name for value in values if isinstance(value, Name))


def sides_of(node: Node) -> tuple[Value, ...]:
    """Return the values that a test compares with each other."""
    if isinstance(node, Compare):
        return node.left, node.right
    if isinstance(node, IsBetween):
        return node.value, node.low, node.high
    return (node.value, *node.items) if isinstance(node, In) else ()


# ---- with kinds


def kind_of(value: Value) -> Kind:
    """Return the kind of a value whose names and literals have been found."""
    if isinstance(value, ReadColumn | Const):
        return value.kind
    if isinstance(value, CaseWhen):
        return kind_of(value.branches[0][1])
    if isinstance(value, Call):
        return kind_of(value.arguments[0]) if value.function == "coalesce" else _KIND_OF_CALL[value.function]
    if isinstance(value, Arithmetic):
        return "number" if kind_of(value.left) == "number" else "integer"
    raise TypeError("a value that is only written has no kind")


# ---- text


def text_of(node: Node) -> str:
    """Return the canonical text of a tree as it was written."""
    return _text(node, 0)


# A part stands in brackets where it binds more loosely than its place asks for. Binding strength: OR 1, AND 2, NOT 3,
# comparisons 4, sums 5, products 6, signs 7, primaries 8.
#
#     a - (b - c)      the left of a difference asks for 5, the right for 6, and b - c has 5
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
    if isinstance(node, CaseWhen):
        branches = " ".join(f"WHEN {_text(test, 0)} THEN {_text(value, 0)}" for test, value in node.branches)
        otherwise = "" if node.otherwise is None else f" ELSE {_text(node.otherwise, 0)}"
        return 8, f"CASE {branches}{otherwise} END"
    if isinstance(node, Not):
        return 3, f"NOT {_text(node.test, 3)}"
    if isinstance(node, And):
        return 2, " AND ".join(_text(test, 3) for test in node.tests)
    if isinstance(node, Or):
        return 1, " OR ".join(_text(test, 2) for test in node.tests)
    if isinstance(node, Compare):
        return 4, f"{_text(node.left, 5)} {node.op} {_text(node.right, 5)}"
    if not isinstance(node, In | IsBetween | IsNull | Like):
        raise TypeError("a node that has kinds has no text")
    value, negated = _text(node.value, 5), "NOT " if node.negated else ""
    if isinstance(node, In):
        return 4, f"{value} {negated}IN ({', '.join(_text(item, 5) for item in node.items)})"
    if isinstance(node, IsBetween):
        return 4, f"{value} {negated}BETWEEN {_text(node.low, 5)} AND {_text(node.high, 5)}"
    if isinstance(node, IsNull):
        return 4, f"{value} IS {negated}NULL"
    escape = "" if node.escape is None else f" ESCAPE {_quoted(node.escape)}"
    return 4, f"{value} {negated}LIKE {_quoted(node.pattern)}{escape}"


def _name(name: str) -> str:
    is_bare = _BARE.fullmatch(name) and name.upper() not in RESERVED
    return name if is_bare else '"' + name.replace('"', '""') + '"'


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _literal(value: Decimal | str | bool | dt.date) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, dt.date):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'" if isinstance(value, dt.datetime) else f"DATE '{value}'"
    return str(value).upper() if isinstance(value, bool) else str(value)
