"""From meaning to SQL that does not fail at any record, with literals written by the dialect and nothing pasted.

Only what all engines compute alike is used: comparisons, arithmetic on doubles and on integers that cannot overflow,
CASE, coalesce, and LIKE with an escape character.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection
from typing import Protocol

from flexdp._core.calendar import MICROS_PER_DAY
from flexdp.buckets.base import LARGEST_INTEGER, Kind
from flexdp.errors import InputError
from flexdp.tables.declared import Column
from flexdp.tables.sql.dialect import Dialect
from flexdp.tables.where.typed import (
    HUGE,
    LARGEST_TERM,
    TINY,
    All,
    Always,
    AsNumber,
    Compared,
    Const,
    Day,
    Difference,
    First,
    Leaf,
    Matches,
    Missing,
    OneOf,
    Operation,
    Part,
    Some,
    Sum,
    Tested,
    Typed,
)  # fmt: skip

__all__ = ["Readable", "derived_sql", "test_sql"]

EPOCH = dt.date(1970, 1, 1)
_LONGEST_SQL = 200_000
_MARCH_OF_YEAR_0 = 719468  # days from 0000-03-01 to 1970-01-01
_INTEGER_LIMITS = (-(2**63), 2**63 - 1)


class Readable(Protocol):
    """A cell read as a kind."""

    @property
    def value(self) -> str:
        """The expression, NULL where the cell is not of that kind."""

    @property
    def wide(self) -> bool:
        """True if integers may exceed 64 bits."""

    @property
    def day(self) -> str:
        """The cell as the engine stores it, where that is a DATE in SQL; else empty."""


_Read = Callable[[Column, Kind], Readable]


def test_sql(test: Tested, d: Dialect, read: _Read, unchecked: Collection[Leaf] = ()) -> str:
    """Write a test that is true for the records that count.

    It may also be true of records in which an ``unchecked`` number is NaN or infinite; the caller leaves those out.
    """
    return _Writer(d, read, unchecked).test(test)


def derived_sql(value: Typed, kind: Kind, d: Dialect, read: _Read) -> tuple[str, bool]:
    """Write a derived value as a kind, NULL where it is missing; True if integers may exceed 64 bits."""
    writer = _Writer(d, read)
    if kind == "number" and value.kind == "integer":
        value = AsNumber(value)
    if kind == "datetime" and value.kind == "date":
        return f"({writer.value(value)[0]}) * {MICROS_PER_DAY}", False
    if kind == "date" and value.kind == "datetime":
        return f"{writer.days(value)} - {_MARCH_OF_YEAR_0}", False
    return writer.value(value)


class _Writer:
    def __init__(self, d: Dialect, read: _Read, unchecked: Collection[Leaf] = ()) -> None:
        self._d, self._read, self._unchecked = d, read, unchecked

    # ---- values

    def value(self, node: Typed) -> tuple[str, bool]:
        """Write a value, NULL where it is missing; True if integers may exceed 64 bits."""
        text, wide = self._written(node)
        if len(text) > _LONGEST_SQL:
            raise InputError("where", "is too complicated: arithmetic is nested too deep", remedy="Use fewer products.")
        return text, wide

    def _written(self, node: Typed) -> tuple[str, bool]:
        d = self._d
        if isinstance(node, Leaf):
            return self._leaf(node)
        if isinstance(node, Const):
            return self._const(node), False
        if isinstance(node, AsNumber):
            text, wide = self.value(node.value)
            return d.as_double(text, wide=wide), False
        if isinstance(node, Sum):
            return f"({self._term(node.left)} {'-' if node.minus else '+'} {self._term(node.right)})", False
        if isinstance(node, Day):
            return f"({self.days(node.value)} - {_MARCH_OF_YEAR_0})", False
        if isinstance(node, Difference):
            left, right = (self.value(each)[0] for each in (node.left, node.right))
            return f"({d.as_double(f'({left} - {right})')} / {d.double(1e6)})", False
        if isinstance(node, Operation):
            return self._operation(node), False
        if isinstance(node, Part):
            return self._part(node), False
        if isinstance(node, First):
            parts = [self.value(each) for each in node.values]
            return f"coalesce({', '.join(text for text, _ in parts)})", any(wide for _, wide in parts)
        branches = [(self.test(test), self.value(value)) for test, value in node.branches]
        otherwise = None if node.otherwise is None else self.value(node.otherwise)
        whens = " ".join(f"WHEN {test} THEN {text}" for test, (text, _) in branches)
        wide = any(part[1] for _, part in branches) or (otherwise is not None and otherwise[1])
        return f"CASE {whens}{'' if otherwise is None else f' ELSE {otherwise[0]}'} END", wide

    def _raw(self, node: Leaf) -> tuple[str, bool]:
        """Write a cell as its source reads it: doubles may be NaN or infinite, integers and texts too long."""
        found = self._read(node.column, node.kind)
        if node.kind == "text":
            return self._d.unicode(found.value), False
        return found.value, found.wide

    def _leaf(self, node: Leaf) -> tuple[str, bool]:
        text, wide = self._raw(node)
        readable = self._readable(node.kind, text, wide)
        return (f"CASE WHEN {readable} THEN {text} END" if readable else text), wide

    def _readable(self, kind: Kind, text: str, wide: bool) -> str:
        """Test what a source has left open about a cell; empty if nothing."""
        if kind == "number":
            return self._d.finite(text)
        if kind == "text":
            return self._d.is_short(text)
        low, high = self._d.integer(-LARGEST_INTEGER), self._d.integer(LARGEST_INTEGER)
        return f"({text}) BETWEEN {low} AND {high}" if kind == "integer" and wide else ""

    def _tested(self, node: Typed, text: str, wide: bool) -> str:
        """Test what a comparison leaves open about a value; empty if nothing."""
        return self._readable(node.kind, text, wide) if isinstance(node, Leaf) and node not in self._unchecked else ""

    def _const(self, node: Const) -> str:
        if node.kind == "number":
            return self._d.double(node.value)
        if node.kind == "boolean":
            return "TRUE" if node.value else "FALSE"
        if node.kind == "text":
            return self._d.text(node.value)
        return f"({self._d.integer(node.value)})" if node.value < 0 else self._d.integer(node.value)

    def _term(self, node: Typed) -> str:
        """Write a term of a sum of integers that cannot overflow."""
        if isinstance(node, Const | Sum | Part) or node.kind == "date":
            return self.value(node)[0]
        text, _ = self.value(node)
        return f"CASE WHEN {text} BETWEEN {-LARGEST_TERM} AND {LARGEST_TERM} THEN {self._d.as_integer(text)} END"

    def _operation(self, node: Operation) -> str:
        d = self._d
        factors = node.op in "*/"
        left, right = (self._operand(each, factor=factors) for each in (node.left, node.right))
        return f"({left} / nullif({right}, {d.double(0.0)}))" if node.op == "/" else f"({left} {node.op} {right})"

    def _operand(self, node: Typed, *, factor: bool) -> str:
        """Write an operand whose size cannot make the result overflow or underflow."""
        if isinstance(node, Const | AsNumber | Difference):
            return self.value(node)[0]
        if isinstance(node, Operation) and not factor:
            return self.value(node)[0]
        text = self.value(node)[0]
        d, size = self._d, f"abs({text})"
        tiny, huge = d.double(TINY), d.double(HUGE)
        return f"CASE WHEN {size} BETWEEN {tiny} AND {huge} THEN {text} WHEN {size} < {tiny} THEN {d.double(0.0)} END"

    def days(self, node: Typed) -> str:
        """Write the number of days since 0000-03-01 of a date or a datetime."""
        text = self.value(node)[0]
        if node.kind == "date":
            return f"({text} + {_MARCH_OF_YEAR_0})"
        return f"({self._d.quotient(f'{text} + {_MARCH_OF_YEAR_0 * MICROS_PER_DAY}', MICROS_PER_DAY)})"

    def _part(self, node: Part) -> str:
        """Write the year or the month, in integer arithmetic on years that begin in March."""
        over = self._d.quotient
        quarters = f"(4 * {self.days(node.value)} + 3)"
        century = over(quarters, 146097)
        within = over(f"{quarters} - 146097 * ({century})", 4)
        rest = f"(4 * ({within}) + 3)"
        year = over(rest, 1461)
        day = f"({over(f'{rest} - 1461 * ({year})', 4)})"
        if node.part == "year":
            return f"(100 * ({century}) + ({year}) + CASE WHEN {day} >= 306 THEN 1 ELSE 0 END)"
        month = over(f"5 * {day} + 2", 153)
        return f"CASE WHEN {day} >= 306 THEN ({month}) - 9 ELSE ({month}) + 3 END"

    # ---- tests

    def test(self, node: Tested) -> str:
        """Write a test; NULL counts as false."""
        if isinstance(node, All | Some):
            return "(" + (" AND " if isinstance(node, All) else " OR ").join(map(self.test, node.tests)) + ")"
        if isinstance(node, Always):
            return "1 = 1" if node.true else "1 = 0"
        if isinstance(node, Missing):
            return self._missing(node)
        if isinstance(node, Compared):
            if isinstance(node.right, Const):
                return self._with_const(node.op, node.left, node.right)
            left, right = (self._comparable(each) for each in (node.left, node.right))
            return f"{left} {node.op} {right}"
        if isinstance(node, OneOf):
            return self._one_of(node)
        return self._matches(node)

    def _comparable(self, node: Typed) -> str:
        text = self._raw(node)[0] if isinstance(node, Leaf) and node in self._unchecked else self.value(node)[0]
        if node.kind == "text":
            return self._d.compared(text)
        return f"({text})"

    def _missing(self, node: Missing) -> str:
        text = self.value(node.value)[0]
        if isinstance(node.value, Leaf):
            raw, wide = self._raw(node.value)
            readable = self._tested(node.value, raw, wide) or f"({raw}) IS NOT NULL"
            return readable if node.negated else f"CASE WHEN {readable} THEN 1 = 0 ELSE 1 = 1 END"
        return f"({text}) IS {'NOT ' if node.negated else ''}NULL"

    def _with_const(self, op: str, left: Typed, const: Const) -> str:
        """Compare with a literal; a cell is tested to be readable, where the comparison does not show it."""
        kind = left.kind
        text, wide = self._raw(left) if isinstance(left, Leaf) else self.value(left)
        readable = self._tested(left, text, wide)
        tests = [readable] if readable else []
        if kind == "text":
            return self._text_test(op, text, const.value, tests)
        if kind == "integer" and not (wide or _INTEGER_LIMITS[0] <= const.value <= _INTEGER_LIMITS[1]):
            # Beyond what the cells can hold.
            true = op == "<>" or ((op in ("<", "<=")) is (const.value > 0) and op != "=")
            return f"({text}) IS NOT NULL" if true else "1 = 0"
        if kind == "date" and isinstance(left, Leaf) and (day := self._read(left.column, "date").day):
            # Days as the engine stores them, so that it can skip parts of a file.
            written = (EPOCH + dt.timedelta(days=const.value)).isoformat()
            inside = f"({day}) BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'"
            return f"(({day}) {op} DATE '{written}' AND {inside})"
        return "(" + " AND ".join([f"({text}) {op} {self._const(const)}", *tests]) + ")"

    def _text_test(self, op: str, text: str, value: str, tests: list[str]) -> str:
        d = self._d
        head, nul, _ = value.partition("\0")
        if nul and not d.holds_nul:  # no cell has a NUL: what is less than 'a' NUL 'b' is at most 'a'
            if op in ("=", "<>"):
                return "1 = 0" if op == "=" else " AND ".join(tests) or f"({text}) IS NOT NULL"
            op, value = ("<=" if op in ("<", "<=") else ">"), head
        return "(" + " AND ".join([f"{d.compared(text)} {op} {d.compared_literal(value)}", *tests]) + ")"

    def _one_of(self, node: OneOf) -> str:
        d, kind = self._d, node.value.kind
        text, wide = self._raw(node.value) if isinstance(node.value, Leaf) else self.value(node.value)
        present = self._tested(node.value, text, wide) or f"({text}) IS NOT NULL"
        among = [
            const for const in node.among
            if not (kind == "text" and "\0" in const.value and not d.holds_nul)
            and not (kind == "integer" and not wide and not _INTEGER_LIMITS[0] <= const.value <= _INTEGER_LIMITS[1])
        ]  # fmt: skip
        if not among:
            return present if node.negated else "1 = 0"
        literals = [d.compared_literal(c.value) if kind == "text" else self._const(c) for c in among]
        compared = d.compared(text) if kind == "text" else d.sought(text) if kind == "number" else f"({text})"
        return f"({compared} {'NOT ' if node.negated else ''}IN ({', '.join(literals)}) AND {present})"

    def _matches(self, node: Matches) -> str:
        d = self._d
        leaf = isinstance(node.value, Leaf)
        text = self._raw(node.value)[0] if isinstance(node.value, Leaf) else self.value(node.value)[0]
        present = self._readable("text", text, False) if leaf else f"({text}) IS NOT NULL"
        if not d.holds_nul and any("\0" in (piece or "") for piece in node.pattern):
            return present if node.negated else "1 = 0"
        matched = d.like(text, node.pattern)
        return f"({f'NOT ({matched})' if node.negated else matched} AND {present})"
