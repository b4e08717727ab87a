"""From what is written to what it means: the same tree with kinds, its tests in positive form.

    parsed ── Kinds ──▶ the column and the kind of each name
           ── _Meaning ──▶ names and literals replaced, integers as doubles beside doubles, NOT moved inwards
           ── is_impossible ──▶ refused if no record can pass

Parameters and what the table declares decide, never a record. A value is missing wherever a cell is missing or
unreadable, an operand of arithmetic too large, or a divisor zero. Then each comparison is false, and its opposite too,
as in SQL: hence NOT changes the signs and is gone.

    NOT (a > 1 OR b = 2)      (a <= 1) AND (b <> 2)      false where a or b is missing
"""

from __future__ import annotations

import datetime as dt
import math
import operator
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import TypeVar, cast

from flexdp._core.text import safe_repr
from flexdp.buckets.base import LARGEST_INTEGER, Kind
from flexdp.errors import InputError, P
from flexdp.tables.column import Column
from flexdp.tables.where import tree
from flexdp.tables.where.kinds import Kinds, Lookup
from flexdp.tables.where.literals import Literals, a_kind, datetime_of, day_of, is_double, literal_kind, order_key
from flexdp.tables.where.parse import parse_test, parse_value
from flexdp.tables.where.possible import is_impossible
from flexdp.tables.where.tree import columns_in, is_reading, kind_of, mapped, outcomes, results_of, sides_of, text_of

__all__ = ["HUGE", "LARGEST_TERM", "TINY", "Filter", "derived_column", "filter_of"]

HUGE, TINY = 1e100, 1e-100  # arithmetic: beyond HUGE a number counts as missing, below TINY as zero
LARGEST_TERM = 2**53  # arithmetic: integers beyond count as missing
_COMPUTE = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
_OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_AROUND = ", or write month(day) >= 11 OR month(day) <= 2 for a range that spans the turn of the year"
_NUMBERS: set[Kind] = {"integer", "number"}
_TIMES: set[Kind] = {"date", "datetime"}
_LARGEST_PART = {"year": dt.MAXYEAR, "month": 12}
_NEVER = tree.Or(())  # none of no tests is true
_T = TypeVar("_T", bound=tree.Node)


@dataclass(frozen=True, slots=True)
class Filter:
    """A test of records: its canonical text, which is public, and its meaning."""

    text: str
    test: tree.Test

    @property
    def columns(self) -> tuple[tree.ReadColumn, ...]:
        """The columns that are read, each once with its kind."""
        return tuple(dict.fromkeys(columns_in(self.test)))


def filter_of(
    text: object,
    lookup: Lookup,
    *,
    kinds: Mapping[str | None, Kind] | None = None,
    zone: str | None = None,
    zoned: Collection[str | None] = (),
) -> Filter:
    """Parse a filter and find its meaning.

    ``kinds`` are those of columns that are read anyway, and ``zoned`` the columns of text files that are released in
    the zone, whose cells have an offset from UTC.
    """
    parsed = parse_test("where", text)
    columns = Kinds("where", lookup, kinds or {}, parsed, zoned)
    meaning = _Meaning("where", columns, zone)
    test = meaning.test(parsed)
    if is_impossible(test):
        raise InputError(
            "where",
            ": no record can match, because its tests contradict each other or no value can pass them",
            remedy="Join tests with OR if one of them is enough.",
        )
    return Filter(text_of(meaning.stated(meaning.dated(parsed))), test)


def derived_column(name: str, text: object, lookup: Lookup, *, zone: str | None = None) -> tuple[Column, str]:
    """Parse a derived column; return it with its canonical text."""
    parsed = parse_value("derive", text)
    columns = Kinds("derive", lookup, {}, parsed)
    meaning = _Meaning("derive", columns, zone)
    value = meaning.value(parsed)
    kind = kind_of(value)
    if not columns.names:
        raise InputError("derive", f": {safe_repr(name)} names no column")
    if kind == "datetime" and _is_zoned(value):
        raise InputError("derive", f": {safe_repr(name)} would be a datetime with a time zone, which cannot be derived")
    column = Column(name=name, type_name="derived", kind=kind, strict=True, derived=value)
    return column, text_of(meaning.stated(parsed))


class _Meaning:
    """The meaning of values and tests whose columns are found."""

    def __init__(self, parameter: str, columns: Kinds, zone: str | None) -> None:
        self._refused = partial(InputError, parameter)
        self._kinds, self._literals = columns, Literals(parameter, zone)
        self._differences: set[tree.Arithmetic] = set()  # of datetimes, which are numbers of seconds

    def stated(self, node: _T) -> _T:
        """Return what is written as a release states it: differences of datetimes are said to be numbers of seconds."""

        def change(part: tree.Node) -> tree.Node | None:
            if isinstance(part, tree.Call) and part.function == "seconds":
                return part
            return tree.Call("seconds", (part,)) if part in self._differences else None

        return mapped(node, change)

    def dated(self, test: tree.Test) -> tree.Test:
        """Return a test in which texts that are compared with dates are the dates that they are.

        What a column declares decides whether '2024-12-31' is a date or a text, which readers of a release do not know.
        """

        def change(node: tree.Node) -> tree.Node | None:
            texts = [each for each in sides_of(node) if isinstance(each, tree.Literal) and isinstance(each.value, str)]
            names = [each.name for each in sides_of(node) if isinstance(each, tree.Name)] if texts else []
            kinds = {self._kinds.column(name, tested=True).kind for name in names}

            def time(part: tree.Node) -> tree.Node | None:
                text = part.value if isinstance(part, tree.Literal) else None
                if not isinstance(text, str) or not kinds & _TIMES:
                    return None if part is node else part
                found = day_of(text) or (datetime_of(text) if "datetime" in kinds else None)
                return part if found is None else tree.Literal(found)

            return None if isinstance(node, tree.Not | tree.And | tree.Or) else mapped(node, time)

        return mapped(test, change)

    # ---- values

    def value(self, node: tree.Value, *, tested: bool = False, present: bool = False) -> tree.Value:
        """Return the meaning of a value; columns that are ``tested`` may hold dates and datetimes.

        Those that only need to be ``present`` need no kind.
        """
        if isinstance(node, tree.Name):
            return self._kinds.column(node.name, tested=tested, present=present)
        if isinstance(node, tree.Literal):
            return self._literals.const(node, literal_kind(node.value, exact=True))
        if isinstance(node, tree.Negative):
            return self._arithmetic(tree.Arithmetic("-", tree.Literal(Decimal(0)), node.value))
        if isinstance(node, tree.Arithmetic):
            return self._arithmetic(node)
        if isinstance(node, tree.CaseWhen):
            values = self._alike(results_of(node), tested, present)
            tests = [self.test(test) for test, _ in node.branches]
            otherwise = values[-1] if node.otherwise is not None else None
            return tree.CaseWhen(tuple(zip(tests, values, strict=False)), otherwise)
        assert isinstance(node, tree.Call)
        if is_reading(node):
            return self._kinds.declared(node)
        if node.function == "coalesce":
            return tree.Call("coalesce", tuple(self._alike(node.arguments, tested, present)))
        if node.function == "seconds":
            return self._seconds(node.arguments[0])
        inner = self._dated(node)
        if _is_zoned(inner):
            raise self._refused(
                f": {node.function} of datetimes with a time zone is computed in comparisons of a year only",
                remedy="Compare with TIMESTAMP '2024-01-01 00:00+01:00' instead.",
            )
        return tree.Call(node.function, (inner,))

    def _tested(self, node: tree.Value, *, present: bool = False) -> tree.Value:
        """Return the meaning of a value that is compared with literals or found missing, or whose year is taken."""
        dated = all(
            isinstance(each, tree.Name) and self._kinds.column(each.name, tested=True, present=present).column.dated
            for each in outcomes(node)
            if not isinstance(each, tree.Literal)
        )
        return self.value(node, tested=isinstance(node, tree.Name) or dated, present=present)

    def _alike(self, nodes: Sequence[tree.Value], tested: bool, present: bool) -> list[tree.Value]:
        """Return values of one kind."""
        literals = [node.value for node in nodes if isinstance(node, tree.Literal)]
        values = [
            None if isinstance(node, tree.Literal) else self.value(node, tested=tested, present=present)
            for node in nodes
        ]
        kinds = {kind_of(value) for value in values if value} or {literal_kind(each, exact=True) for each in literals}
        if (kinds == {"integer"} and any(map(is_double, literals))) or kinds == _NUMBERS:
            kinds = {"number"}
        if len(kinds) > 1:
            first, second = sorted(kinds)[:2]
            raise self._refused(f": {a_kind(first)} and {a_kind(second)} do not mix")
        (kind,) = kinds
        out = [
            value or self._literals.const(cast("tree.Literal", node), kind, compared=False)
            for node, value in zip(nodes, values, strict=True)
        ]
        return [_number(value) for value in out] if kind == "number" else out

    def _arithmetic(self, node: tree.Arithmetic) -> tree.Value:
        if node.op == "-":
            self._kinds.check_difference(node.left, node.right)
        left, right = self.value(node.left), self.value(node.right)
        kinds = (kind_of(left), kind_of(right))
        if _TIMES.intersection(kinds):
            if node.op != "-" or kinds[0] != kinds[1]:
                raise self._refused(
                    ": times allow only differences, of two dates (in days) or two datetimes (in seconds)",
                    remedy="Write departure - arrival > 10 instead of arrival + 10 < departure, and date(…) for the "
                    "day of a datetime.",
                )
            if kinds[0] == "date":
                return tree.Arithmetic("-", left, right)
            self._check_alike("=", left, right)
            self._differences.add(node)
            return tree.Call("seconds", (tree.Arithmetic("-", left, right),))
        for each in (left, right):
            if kind_of(each) not in _NUMBERS:
                raise self._refused(f": arithmetic needs numbers, not {a_kind(kind_of(each))}")
            if isinstance(each, tree.Const) and each.value and not TINY <= abs(each.value) <= LARGEST_TERM:
                raise self._refused(": a number in arithmetic must lie between 1e-100 and 2^53")
        if node.op == "/" and isinstance(right, tree.Const) and not right.value:
            raise self._refused(": division by zero, so the value is always missing")
        if node.op not in "+-" or "number" in kinds:
            left, right = _number(left), _number(right)
        if isinstance(left, tree.Const) and isinstance(right, tree.Const):
            return _computed(node.op, left, right)
        return tree.Arithmetic(node.op, left, right)

    def _check_clocks(self, left: tree.Value, right: tree.Value) -> None:
        if _is_zoned(left) != _is_zoned(right):
            raise self._refused(": datetimes with and without a time zone cannot be compared")

    def _dated(self, node: tree.Call) -> tree.Value:
        """Return the date or datetime whose year or month is taken."""
        inner = self._tested(node.arguments[0])
        if kind_of(inner) not in _TIMES:
            raise self._refused(f": {node.function} needs a date, not {a_kind(kind_of(inner))}")
        return inner

    def _seconds(self, node: tree.Value) -> tree.Value:
        """Return the difference of two datetimes, which is a number of seconds with the word or without it."""
        value = self.value(node)
        if not isinstance(value, tree.Call) or value.function != "seconds":
            raise self._refused(
                ": seconds needs a difference of two datetimes",
                remedy="For example seconds(departure - arrival); differences of dates are numbers of days.",
            )
        return value

    # ---- tests

    def test(self, node: tree.Test, positive: bool = True) -> tree.Test:
        """Return the meaning of a test, or of its negation."""
        if isinstance(node, tree.Not):
            return self.test(node.test, not positive)
        if isinstance(node, tree.And | tree.Or):
            parts = tuple(self.test(each, positive) for each in node.tests)
            return tree.And(parts) if isinstance(node, tree.And) is positive else tree.Or(parts)
        if isinstance(node, tree.Compare):
            return self._compare(node.op if positive else _OPPOSITE[node.op], node.left, node.right)
        negated = node.negated is positive
        if isinstance(node, tree.IsBetween):
            return self._between(node, negated)
        if isinstance(node, tree.IsNull):
            return tree.IsNull(self._tested(node.value, present=True), negated)
        value = self._tested(node.value)
        if isinstance(node, tree.In):
            return self._among(value, node, negated)
        if kind_of(value) != "text":
            raise self._refused(f": LIKE needs a text, not {a_kind(kind_of(value))}")
        if node.escape is None and re.search(r"\\[%_]", node.pattern):
            raise self._refused(
                ": a backslash before % or _ escapes it only if ESCAPE names the backslash",
                remedy=r"Write LIKE '50\%' ESCAPE '\', where \\ is a backslash itself.",
            )
        return replace(node, value=value, negated=negated)

    def _between(self, node: tree.IsBetween, negated: bool) -> tree.Test:
        low, high = ("<", ">") if negated else (">=", "<=")
        parts = (self._compare(low, node.value, node.low), self._compare(high, node.value, node.high))
        if _is_reversed(node, parts):
            remedy = f"Swap the bounds{_AROUND if isinstance(node.value, tree.Call) else ''}."
            raise self._refused(": BETWEEN has its higher bound first, so no value can match", remedy=remedy)
        return tree.Or(parts) if negated else tree.And(parts)

    def _among(self, value: tree.Value, node: tree.In, negated: bool) -> tree.Test:
        kind, zoned = kind_of(value), _is_zoned(value)
        literals = [item for item in node.items if isinstance(item, tree.Literal)]
        self._kinds.check_texts("=", kind, node.value, literals)
        for literal in literals:
            self._check_part(node.value, literal)
        consts = dict.fromkeys(self._literals.const(item, kind, zoned=zoned) for item in literals)
        return tree.In(value, tuple(each for each in consts if not isinstance(each.value, Fraction)), negated)

    def _compare(self, op: str, left: tree.Value, right: tree.Value) -> tree.Test:
        if isinstance(left, tree.Literal):
            left, right, op = right, left, _MIRRORED[op]
        if isinstance(right, tree.Literal):
            return self._with_literal(op, left, right)
        if left == right and op in ("<>", "<", ">"):
            raise self._refused(
                f": {op} compares a value with itself, which no record passes",
                remedy="Write IS NULL or IS NOT NULL for missing cells.",
            )
        self._kinds.check_order(op, left, right)
        first, second = self.value(left), self.value(right)
        kinds = (kind_of(first), kind_of(second))
        if set(kinds) == _NUMBERS:
            first, second = _number(first), _number(second)
        elif kinds[0] != kinds[1]:
            raise self._refused(f": {a_kind(kinds[0])} cannot be compared with {a_kind(kinds[1])}")
        self._check_alike(op, first, second)
        return tree.Compare(op, first, second)

    def _check_alike(self, op: str, left: tree.Value, right: tree.Value | None = None) -> None:
        """Refuse to compare values of one kind that do not compare."""
        if isinstance(left, tree.Const) and (right is None or isinstance(right, tree.Const)):
            raise self._refused(": two literals are compared", remedy="Name a column on one side.")
        if kind_of(left) == "boolean" and op not in ("=", "<>"):
            raise self._refused(": booleans support only = and <>")
        if right is not None and kind_of(left) == "datetime" and _is_zoned(left) != _is_zoned(right):
            raise self._refused(": datetimes with and without a time zone do not compare")

    def _with_literal(self, op: str, left: tree.Value, right: tree.Literal) -> tree.Test:
        self._check_part(left, right)
        if isinstance(left, tree.Call) and left.function == "year" and isinstance(right.value, Decimal):
            return self._years(op, left, Fraction(right.value))
        value = self._tested(left)
        kind = kind_of(value)
        self._check_alike(op, value)
        self._kinds.check_texts(op, kind, left, [right])
        const = self._literals.const(right, kind, zoned=_is_zoned(value))
        is_exact = not isinstance(const.value, Fraction)
        return tree.Compare(op, value, const) if is_exact else _of_integers(op, value, const.value)

    def _check_part(self, left: tree.Value, right: tree.Literal) -> None:
        """Refuse to compare a year or a month with a number that is none."""
        part = left.function if isinstance(left, tree.Call) else ""
        largest = _LARGEST_PART.get(part, math.inf)
        if part in _LARGEST_PART and isinstance(right.value, Decimal) and not 1 <= right.value <= largest:
            raise self._refused(f": a {part} lies between 1 and {largest}", given=str(right.value))

    # Engines compare a date with the ends of a year alike, and quickly:
    #
    #     year(d) = 2024       d >= 2024-01-01 AND d < 2025-01-01
    #     year(d) > 2024       d >= 2025-01-01
    #     year(d) > 2023.5     year(d) > 2023
    #     year(d) <= 9999      d is present
    def _years(self, op: str, node: tree.Call, year: Fraction) -> tree.Test:
        value = self._dated(node)
        if _is_zoned(value) and self._literals.zone is None:
            raise self._refused(
                ": the year of a datetime with a time zone depends on the zone",
                remedy=("Set ", P("zone", "Europe/Berlin"), "."),
            )
        present = tree.IsNull(value, negated=True)
        if year.denominator != 1:
            if op in ("=", "<>"):
                return present if op == "<>" else _NEVER
            year, op = Fraction(math.floor(year)), ("<=" if op in ("<", "<=") else ">")

        def compared(sign: str, start: int) -> tree.Test:
            if not dt.MINYEAR < start <= dt.MAXYEAR:  # no date is earlier than the first year, or later than the last
                return present if (start > dt.MAXYEAR) is (sign == "<") else _NEVER
            new_year = tree.Literal(dt.date(start, 1, 1))
            return tree.Compare(sign, value, self._literals.const(new_year, kind_of(value), zoned=_is_zoned(value)))

        first, after = int(year), int(year) + 1
        if op in ("=", "<>"):
            join, start, end = (tree.And, ">=", "<") if op == "=" else (tree.Or, "<", ">=")
            return join((compared(start, first), compared(end, after)))
        return compared("<" if op in ("<", "<=") else ">=", first if op in ("<", ">=") else after)


def _is_zoned(value: tree.Value) -> bool:
    return any(each.column.zoned and each.kind == "datetime" for each in columns_in(value))


def _is_reversed(node: tree.IsBetween, parts: Sequence[tree.Test]) -> bool:
    """Tell whether both bounds are literals, the higher one first."""
    low, high = (each.value if isinstance(each, tree.Literal) else None for each in (node.low, node.high))
    if isinstance(low, Decimal) and isinstance(high, Decimal):
        return low > high
    consts = [part.right for part in parts if isinstance(part, tree.Compare) and isinstance(part.right, tree.Const)]
    return (
        low is not None and high is not None and len(consts) == 2 and bool(order_key(consts[0]) > order_key(consts[1]))
    )


def _number(value: tree.Value) -> tree.Value:
    """Return a number as a double."""
    if kind_of(value) == "number":
        return value
    return tree.Const("number", float(value.value)) if isinstance(value, tree.Const) else tree.Call("number", (value,))


def _computed(op: str, left: tree.Const, right: tree.Const) -> tree.Const:
    """Compute with two literals here: an engine would do so before it looks at any record, and might fail."""
    value = _COMPUTE[op](left.value, right.value)
    return tree.Const(left.kind, value if left.kind == "integer" else value + 0.0)


def _of_integers(op: str, value: tree.Value, limit: Fraction) -> tree.Test:
    """Compare an integer with a number that no integer equals; beyond 37 digits, all are on one side of it."""
    if op in ("=", "<>"):
        return tree.IsNull(value, negated=True) if op == "<>" else _NEVER
    if abs(limit) > LARGEST_INTEGER:
        return tree.IsNull(value, negated=True) if (op in ("<", "<=")) is (limit > 0) else _NEVER
    return tree.Compare("<=" if op in ("<", "<=") else ">", value, tree.Const("integer", math.floor(limit)))
