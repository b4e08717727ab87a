"""From meaning to SQL that does not fail at any record, with literals written by the dialect and nothing pasted.

Only what all engines compute alike is used: comparisons, arithmetic on doubles and on integers that cannot overflow,
CASE, coalesce, and LIKE with an escape character.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from flexdp._core.calendar import MICROS_PER_DAY
from flexdp.buckets.base import LARGEST_INTEGER, Kind
from flexdp.errors import InputError
from flexdp.tables.where import tree
from flexdp.tables.where.literals import pieces
from flexdp.tables.where.meaning import HUGE, LARGEST_TERM, TINY
from flexdp.tables.where.tree import kind_of

if TYPE_CHECKING:  # whose patterns are written here
    from flexdp.tables.sql.dialect import Dialect, ReadCell

__all__ = ["derived_sql", "test_sql"]

_EPOCH = dt.date(1970, 1, 1)
_LONGEST_SQL = 200_000
_MARCH_OF_YEAR_0 = 719468  # days from 0000-03-01 to 1970-01-01


def test_sql(test: tree.Test, d: Dialect, read: ReadCell) -> str:
    """Write a test that is true for the records that count."""
    return _Writer(d, read).test(test)


def derived_sql(value: tree.Value, kind: Kind, d: Dialect, read: ReadCell) -> tuple[str, bool]:
    """Write a derived value as a kind, NULL where it is missing; True if integers may exceed 64 bits."""
    writer, own = _Writer(d, read), kind_of(value)
    if kind == "number" and own == "integer":
        value = tree.Call("number", (value,))
    if kind == "datetime" and own == "date":
        return f"({writer.value(value)[0]}) * {MICROS_PER_DAY}", False
    if kind == "date" and own == "datetime":
        return f"{writer.days(value)} - {_MARCH_OF_YEAR_0}", False
    return writer.value(value)


class _Writer:
    def __init__(self, d: Dialect, read: ReadCell) -> None:
        self._d, self._read = d, read

    # ---- values

    def value(self, node: tree.Value) -> tuple[str, bool]:
        """Write a value, NULL where it is missing; True if integers may exceed 64 bits."""
        found = self._written(node)
        text, wide = (found, False) if isinstance(found, str) else found
        if len(text) > _LONGEST_SQL:
            raise InputError("where", "is too complicated: arithmetic is nested too deep", remedy="Use fewer products.")
        return text, wide

    def _written(self, node: tree.Value) -> str | tuple[str, bool]:
        if isinstance(node, tree.ReadColumn):
            text, wide = self._raw(node)
            readable = self._readable(node.kind, text, wide)
            return (f"CASE WHEN {readable} THEN {text} END" if readable else text), wide
        if isinstance(node, tree.Const):
            return self._const(node)
        if isinstance(node, tree.Call):
            return self._call(node)
        if isinstance(node, tree.CaseWhen):
            return self._case(node)
        assert isinstance(node, tree.Arithmetic)
        return self._operation(node)

    def _call(self, node: tree.Call) -> str | tuple[str, bool]:
        d, (first, *_) = self._d, node.arguments
        if node.function == "coalesce":
            texts, wide = zip(*map(self.value, node.arguments), strict=True)
            return f"coalesce({', '.join(texts)})", any(wide)
        if node.function == "number":
            text, is_wide = self.value(first)
            return d.as_double(text, wide=is_wide)
        if node.function == "date":
            return f"({self.days(first)} - {_MARCH_OF_YEAR_0})"
        if node.function == "seconds":
            assert isinstance(first, tree.Arithmetic)
            left, right = (self.value(each)[0] for each in (first.left, first.right))
            return f"({d.as_double(f'({left} - {right})')} / {d.double(1e6)})"
        return self._part(node.function, first)

    def _case(self, node: tree.CaseWhen) -> tuple[str, bool]:
        branches = [(self.test(test), self.value(value)) for test, value in node.branches]
        otherwise = None if node.otherwise is None else self.value(node.otherwise)
        whens = " ".join(f"WHEN {test} THEN {text}" for test, (text, _) in branches)
        wide = any(part[1] for _, part in branches) or (otherwise is not None and otherwise[1])
        return f"CASE {whens}{'' if otherwise is None else f' ELSE {otherwise[0]}'} END", wide

    def _raw(self, node: tree.ReadColumn) -> tuple[str, bool]:
        """Write a cell as its source reads it: doubles may be NaN or infinite, integers and texts too long."""
        found = self._read(node.column, node.kind)
        if node.kind == "text":
            return self._d.unicode(found.value), False
        return found.value, found.wide

    def _readable(self, kind: Kind, text: str, wide: bool) -> str:
        """Test what a source has left open about a cell; empty if nothing."""
        if kind == "number":
            return self._d.finite(text)
        if kind == "text":
            return self._d.is_short(text)
        low, high = self._d.integer(-LARGEST_INTEGER), self._d.integer(LARGEST_INTEGER)
        return f"({text}) BETWEEN {low} AND {high}" if kind == "integer" and wide else ""

    def _cell(self, node: tree.Value) -> tuple[str, bool, str]:
        """Write a value to compare, and the test of what a comparison leaves open about it; empty if nothing."""
        if not isinstance(node, tree.ReadColumn):
            return *self.value(node), ""
        text, wide = self._raw(node)
        return text, wide, self._readable(node.kind, text, wide)

    def _const(self, node: tree.Const) -> str:
        if node.kind == "number":
            return self._d.double(node.value)
        if node.kind in ("boolean", "text"):
            return self._d.text(node.value) if node.kind == "text" else str(node.value).upper()
        return f"({self._d.integer(node.value)})" if node.value < 0 else self._d.integer(node.value)

    def _operation(self, node: tree.Arithmetic) -> str:
        """Write integers or doubles whose size cannot make the result overflow or underflow."""
        left, right = (self._operand(each, node.op, kind_of(node)) for each in (node.left, node.right))
        return f"({left} / nullif({right}, {self._d.double(0.0)}))" if node.op == "/" else f"({left} {node.op} {right})"

    def _operand(self, node: tree.Value, op: str, kind: Kind) -> str:
        d, text = self._d, self.value(node)[0]
        bounded = (
            isinstance(node, tree.Const) or (isinstance(node, tree.Arithmetic) and op in "+-") or _is_computed(node)
        )
        if bounded or kind_of(node) == "date":
            return text
        if kind == "integer":
            return f"CASE WHEN {text} BETWEEN {-LARGEST_TERM} AND {LARGEST_TERM} THEN {d.as_integer(text)} END"
        size, tiny, huge = f"abs({text})", d.double(TINY), d.double(HUGE)
        return f"CASE WHEN {size} BETWEEN {tiny} AND {huge} THEN {text} WHEN {size} < {tiny} THEN {d.double(0.0)} END"

    def days(self, node: tree.Value) -> str:
        """Write the number of days since 0000-03-01 of a date or a datetime."""
        text = self.value(node)[0]
        if kind_of(node) == "date":
            return f"({text} + {_MARCH_OF_YEAR_0})"
        return f"({self._d.quotient(f'{text} + {_MARCH_OF_YEAR_0 * MICROS_PER_DAY}', MICROS_PER_DAY)})"

    # The year begins in March, so that its last day is the leap day, and its first and next five months have 153 days:
    #
    #     2024-02-29   day 365 of 2023 (from 0)   (5 * 365 + 2) / 153 = 11, which is February   and the year is 2023 + 1
    #     2024-03-01   day 0 of 2024              (5 * 0 + 2) / 153 = 0, which is March         and the year is 2024
    def _part(self, part: str, of: tree.Value) -> str:
        """Write the year or the month of a date or a datetime in integer arithmetic."""
        over = self._d.quotient
        quarters = f"(4 * {self.days(of)} + 3)"
        century = over(quarters, 146097)
        within = over(f"{quarters} - 146097 * ({century})", 4)
        rest = f"(4 * ({within}) + 3)"
        year = over(rest, 1461)
        day = f"({over(f'{rest} - 1461 * ({year})', 4)})"
        if part == "year":
            return f"(100 * ({century}) + ({year}) + CASE WHEN {day} >= 306 THEN 1 ELSE 0 END)"
        month = over(f"5 * {day} + 2", 153)
        return f"CASE WHEN {day} >= 306 THEN ({month}) - 9 ELSE ({month}) + 3 END"

    # ---- tests

    def test(self, node: tree.Test) -> str:
        """Write a test; NULL counts as false."""
        if isinstance(node, tree.And | tree.Or):
            joined = (" AND " if isinstance(node, tree.And) else " OR ").join(map(self.test, node.tests))
            return f"({joined})" if node.tests else "1 = 0"
        if isinstance(node, tree.IsNull):
            return self._missing(node)
        if isinstance(node, tree.Compare):
            if isinstance(node.right, tree.Const):
                return self._with_const(node.op, node.left, node.right)
            sides = (self.value(each)[0] for each in (node.left, node.right))
            left, right = (self._d.compared(side) if kind_of(node.left) == "text" else f"({side})" for side in sides)
            return f"{left} {node.op} {right}"
        assert isinstance(node, tree.In | tree.Like)
        return self._one_of(node) if isinstance(node, tree.In) else self._matches(node)

    def _missing(self, node: tree.IsNull) -> str:
        text, _, readable = self._cell(node.value)
        present = readable or f"({text}) IS NOT NULL"
        if node.negated:
            return present
        is_cell = isinstance(node.value, tree.ReadColumn)
        return f"CASE WHEN {present} THEN 1 = 0 ELSE 1 = 1 END" if is_cell else f"({text}) IS NULL"

    def _with_const(self, op: str, left: tree.Value, const: tree.Const) -> str:
        """Compare with a literal; a cell is tested to be readable, where the comparison does not show it."""
        kind = const.kind
        text, wide, readable = self._cell(left)
        tests = [readable] if readable else []
        if kind == "text":
            return self._text_test(op, text, const.value, tests)
        if self._is_beyond(const, wide):
            true = op == "<>" or ((op in ("<", "<=")) is (const.value > 0) and op != "=")
            return f"({text}) IS NOT NULL" if true else "1 = 0"
        if kind == "date" and isinstance(left, tree.ReadColumn) and (day := self._read(left.column, "date").day):
            # Days as the engine stores them, so that it can skip parts of a file.
            written = (_EPOCH + dt.timedelta(days=const.value)).isoformat()
            inside = f"({day}) BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'"
            return f"(({day}) {op} DATE '{written}' AND {inside})"
        return "(" + " AND ".join([f"({text}) {op} {self._const(const)}", *tests]) + ")"

    def _is_beyond(self, const: tree.Const, wide: bool) -> bool:
        """Tell whether no cell can hold a literal: an integer beyond 64 bits, or a text with NUL."""
        if const.kind == "text":
            return not self._d.holds_nul and "\0" in const.value
        return const.kind == "integer" and not (wide or -(2**63) <= const.value < 2**63)

    def _text_test(self, op: str, text: str, value: str, tests: list[str]) -> str:
        d = self._d
        head, nul, _ = value.partition("\0")
        if nul and not d.holds_nul:  # no cell has a NUL: what is less than 'a' NUL 'b' is at most 'a'
            if op in ("=", "<>"):
                return "1 = 0" if op == "=" else " AND ".join(tests) or f"({text}) IS NOT NULL"
            op, value = ("<=" if op in ("<", "<=") else ">"), head
        return "(" + " AND ".join([f"{d.compared(text)} {op} {d.compared_literal(value)}", *tests]) + ")"

    def _one_of(self, node: tree.In) -> str:
        d, kind = self._d, kind_of(node.value)
        text, wide, readable = self._cell(node.value)
        present = readable or f"({text}) IS NOT NULL"
        among = [const for const in node.items if isinstance(const, tree.Const) and not self._is_beyond(const, wide)]
        if not among:
            return present if node.negated else "1 = 0"
        literals = [d.compared_literal(c.value) if kind == "text" else self._const(c) for c in among]
        compared = d.compared(text) if kind == "text" else d.sought(text) if kind == "number" else f"({text})"
        return f"({compared} {'NOT ' if node.negated else ''}IN ({', '.join(literals)}) AND {present})"

    def _matches(self, node: tree.Like) -> str:
        d, pattern = self._d, pieces(node.pattern, node.escape)
        text, _, readable = self._cell(node.value)
        present = readable or f"({text}) IS NOT NULL"
        if not d.holds_nul and "\0" in node.pattern:
            return present if node.negated else "1 = 0"
        matched = d.like(text, pattern)
        return f"({f'NOT ({matched})' if node.negated else matched} AND {present})"


def _is_computed(node: tree.Value) -> bool:
    """Tell whether a value is that of a function whose size is known."""
    return isinstance(node, tree.Call) and node.function != "coalesce"
