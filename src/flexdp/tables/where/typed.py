"""Filters and derived columns with their kinds: what an engine computes.

Values have the form in which engines count: numbers are doubles, dates are days and datetimes microseconds since
1970-01-01. A value may be missing, and is missing wherever a cell is missing or unreadable, an operand of arithmetic
too large, or a divisor zero. Tests are in positive form: NOT has been moved into the comparisons, where it changes the
sign, so that a missing value makes a comparison false in either case (three-valued logic, as in SQL).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeAlias, TypeVar

from flexdp.buckets.base import Kind
from flexdp.tables.declared import Column

__all__ = [
    "HUGE",
    "LARGEST_TERM",
    "TINY",
    "All",
    "Always",
    "AsNumber",
    "Cases",
    "Compared",
    "Const",
    "Day",
    "Difference",
    "First",
    "Leaf",
    "Matches",
    "Missing",
    "OneOf",
    "Operation",
    "Part",
    "Piece",
    "Some",
    "Sum",
    "Tested",
    "Typed",
    "leaves",
    "mapped",
    "needed_numbers",
]

HUGE, TINY = 1e100, 1e-100  # arithmetic: beyond HUGE a number counts as missing, below TINY as zero
LARGEST_TERM = 2**53  # arithmetic: integers beyond count as missing


@dataclass(frozen=True, slots=True)
class Leaf:
    """A column, read as a kind."""

    column: Column
    kind: Kind


@dataclass(frozen=True, slots=True)
class Const:
    """A literal as the kind that it is compared with."""

    kind: Kind
    value: Any


@dataclass(frozen=True, slots=True)
class AsNumber:
    """An integer as a double."""

    value: Typed
    kind: Kind = "number"


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum or difference of integers, or a difference of days."""

    left: Typed
    right: Typed
    minus: bool
    kind: Kind = "integer"


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference of datetimes in seconds."""

    left: Typed
    right: Typed
    kind: Kind = "number"


@dataclass(frozen=True, slots=True)
class Day:
    """The day of a datetime."""

    value: Typed
    kind: Kind = "date"


@dataclass(frozen=True, slots=True)
class Operation:
    """Arithmetic on doubles: ``op`` is one of ``+ - * /``."""

    op: str
    left: Typed
    right: Typed
    kind: Kind = "number"


@dataclass(frozen=True, slots=True)
class Part:
    """The year or the month of a date or a datetime."""

    part: str
    value: Typed
    kind: Kind = "integer"


@dataclass(frozen=True, slots=True)
class First:
    """The first value that is not missing."""

    values: tuple[Typed, ...]
    kind: Kind


@dataclass(frozen=True, slots=True)
class Cases:
    """The value of the first test that is true, else ``otherwise``, or no value."""

    branches: tuple[tuple[Tested, Typed], ...]
    otherwise: Typed | None
    kind: Kind


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison of two values of one kind."""

    op: str
    left: Typed
    right: Typed


@dataclass(frozen=True, slots=True)
class OneOf:
    """A value is one of some literals, or negated: present and none of them."""

    value: Typed
    among: tuple[Const, ...]
    negated: bool


@dataclass(frozen=True, slots=True)
class Missing:
    """A value is missing, or negated: it is not."""

    value: Typed
    negated: bool


Piece: TypeAlias = str | None  # of a pattern: a text, or "" for one character, or None for any number of characters


@dataclass(frozen=True, slots=True)
class Matches:
    """A text matches a pattern, or negated: is present and does not."""

    value: Typed
    pattern: tuple[Piece, ...]
    negated: bool


@dataclass(frozen=True, slots=True)
class All:
    """All tests are true."""

    tests: tuple[Tested, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """A test is true."""

    tests: tuple[Tested, ...]


@dataclass(frozen=True, slots=True)
class Always:
    """True or false, whatever the record."""

    true: bool


Typed: TypeAlias = "Leaf | Const | AsNumber | Sum | Day | Difference | Operation | Part | First | Cases"
Tested: TypeAlias = "Compared | OneOf | Missing | Matches | All | Some | Always"
_T = TypeVar("_T")


def leaves(node: Typed | Tested) -> Iterator[Leaf]:
    """Yield the columns that are read, in the order in which they are written."""
    if isinstance(node, Leaf):
        yield node
        return
    for each in _children(node):
        yield from leaves(each)


def _children(node: Any) -> Iterator[Any]:
    for each in fields(node):
        yield from _nodes(getattr(node, each.name))


def _nodes(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple):
        for each in value:
            yield from _nodes(each)
    elif is_dataclass(value) and not isinstance(value, Column):
        yield value


def needed_numbers(test: Tested) -> tuple[Leaf, ...]:
    """Return the number columns that must be finite for a record to pass: every way to pass compares them."""
    found: tuple[Typed, ...] = ()
    if isinstance(test, All | Some):
        parts = [needed_numbers(each) for each in test.tests]
        listed = dict.fromkeys(leaf for part in parts for leaf in part)
        return tuple(leaf for leaf in listed if isinstance(test, All) or all(leaf in part for part in parts))
    if isinstance(test, Compared):
        found = (test.left, test.right)
    elif isinstance(test, OneOf) or (isinstance(test, Missing) and test.negated):
        found = (test.value,)
    return tuple(dict.fromkeys(each for each in found if isinstance(each, Leaf) and each.kind == "number"))


def mapped(node: _T, change: Callable[[Leaf], Leaf]) -> _T:
    """Return the same tree over other columns."""
    if isinstance(node, Leaf):
        return change(node)  # type: ignore[return-value]
    if isinstance(node, tuple):
        return tuple(mapped(each, change) for each in node)  # type: ignore[return-value]
    if not is_dataclass(node) or isinstance(node, Column):
        return node
    changed = {each.name: mapped(getattr(node, each.name), change) for each in fields(node)}
    return replace(node, **changed)  # type: ignore[type-var]
