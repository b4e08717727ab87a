"""From tree to meaning: which columns are meant, how their cells are read, what each comparison compares.

Parameters and what the table declares decide, never a record. A column that declares no type is read as the kind of
what it is compared with.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from flexdp._core.text import safe_repr
from flexdp.buckets.base import LARGEST_INTEGER, Kind
from flexdp.errors import InputError, P, Phrase
from flexdp.tables.declared import Column
from flexdp.tables.where import tree
from flexdp.tables.where.doubtful import Doubts
from flexdp.tables.where.grammar import parse_test, parse_value
from flexdp.tables.where.kinds import Kinds, Lookup
from flexdp.tables.where.literals import Literals, a_kind, is_double, literal_kind
from flexdp.tables.where.pattern import pieces
from flexdp.tables.where.possible import is_impossible, order_key
from flexdp.tables.where.stated import with_seconds, with_times
from flexdp.tables.where.tree import text_of
from flexdp.tables.where.typed import (
    LARGEST_TERM,
    TINY,
    All,
    Always,
    AsNumber,
    Cases,
    Compared,
    Const,
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
    leaves,
)  # fmt: skip
from flexdp.tables.where.walk import is_reading, outcomes

__all__ = ["Filter", "derived_column", "filter_of"]

_OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_AROUND = ", or write month(day) >= 11 OR month(day) <= 2 for a range that spans the turn of the year"
_NUMBERS: set[Kind] = {"integer", "number"}
_LARGEST_PART = {"year": dt.MAXYEAR, "month": 12}


@dataclass(frozen=True, slots=True)
class Filter:
    """A test of records: its canonical text, which is public, and its meaning."""

    text: str
    test: Tested

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """The columns that are read, each once with its kind."""
        return tuple(dict.fromkeys(leaves(self.test)))


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
    stated = with_times(parsed, lambda name: columns.leaf(name, tested=True).kind)
    return Filter(text_of(with_seconds(stated, meaning.differences)), test)


def derived_column(name: str, text: object, lookup: Lookup, *, zone: str | None = None) -> tuple[Column, str]:
    """Parse a derived column; return it with its canonical text."""
    parsed = parse_value("derive", text)
    columns = Kinds("derive", lookup, {}, parsed)
    meaning = _Meaning("derive", columns, zone)
    value = meaning.value(parsed)
    if not columns.names:
        raise InputError("derive", f": {safe_repr(name)} names no column")
    if value.kind == "datetime" and _is_zoned(value):
        raise InputError("derive", f": {safe_repr(name)} would be a datetime with a time zone, which is not derived")
    column = Column(name=name, type_name="derived", kind=value.kind, strict=True, derived=value)
    return column, text_of(with_seconds(parsed, meaning.differences))


class _Meaning:
    def __init__(self, parameter: str, columns: Kinds, zone: str | None) -> None:
        self._parameter, self._kinds, self._literals = parameter, columns, Literals(parameter, zone)
        self._doubts = Doubts(parameter, columns)
        self.differences: set[tree.Arithmetic] = set()  # of datetimes, which are numbers of seconds

    def _refused(self, rule: Phrase, remedy: Phrase = "", given: str | None = None) -> InputError:
        return InputError(self._parameter, rule, given=given, remedy=remedy)

    def value(self, node: tree.Value, *, tested: bool = False, present: bool = False) -> Typed:
        """Return the meaning of a value; columns that are ``tested`` may hold dates and datetimes.

        Those that only need to be ``present`` need no kind.
        """
        if isinstance(node, tree.Name):
            return self._kinds.leaf(node.name, tested=tested, present=present)
        if is_reading(node):
            return self._kinds.told(node)
        if isinstance(node, tree.Literal):
            return self._literals.const(node, literal_kind(node.value, exact=True))
        if isinstance(node, tree.Negative):
            inner = self._numeric(self.value(node.value))
            if isinstance(inner, Const):
                return Const(inner.kind, -inner.value + (0 if inner.kind == "integer" else 0.0))
            if inner.kind == "integer":
                return Sum(Const("integer", 0), inner, minus=True)
            return Operation("-", Const("number", 0.0), inner)
        if isinstance(node, tree.Arithmetic):
            return self._arithmetic(node)
        if isinstance(node, tree.Case):
            return self._case(node, tested, present)
        return self._first(node, tested, present) if node.function == "coalesce" else self._part(node)

    def _tested(self, node: tree.Value, *, present: bool = False) -> Typed:
        """Return the meaning of a value that is compared with literals or found missing, or whose year is taken."""
        found = [each for each in outcomes(node) if not isinstance(each, tree.Literal)]
        dated = all(
            isinstance(each, tree.Name) and self._kinds.leaf(each.name, tested=True, present=present).column.dated
            for each in found
        )
        return self.value(node, tested=isinstance(node, tree.Name) or dated, present=present)

    def _arithmetic(self, node: tree.Arithmetic) -> Typed:
        if node.op == "-":
            self._doubts.of_difference(node.left, node.right)
        left, right = self.value(node.left), self.value(node.right)
        times = {"date", "datetime"}
        if left.kind in times or right.kind in times:
            if node.op != "-" or left.kind != right.kind:
                raise self._refused(
                    ": of times only differences are computed, of two dates (in days) or two datetimes (in seconds)",
                    "Write departure - arrival > 10 instead of arrival + 10 < departure, and date(…) for the day of a "
                    "datetime.",
                )
            if left.kind == "date":
                return Sum(left, right, minus=True)
            self._same_clock(left, right)
            self.differences.add(node)
            return Difference(left, right)
        left, right = self._numeric(left), self._numeric(right)
        for each in (left, right):
            if isinstance(each, Const) and each.value and not TINY <= abs(each.value) <= LARGEST_TERM:
                raise self._refused(": a number in arithmetic must lie between 1e-100 and 2^53")
        if node.op == "/" and isinstance(right, Const) and not right.value:
            raise self._refused(": division by zero, so the value is always missing")
        if isinstance(left, Const) and isinstance(right, Const):
            return self._folded(node.op, left, right)
        if node.op in "+-" and left.kind == right.kind == "integer":
            return Sum(left, right, minus=node.op == "-")
        return Operation(node.op, _number(left), _number(right))

    def _folded(self, op: str, left: Const, right: Const) -> Const:
        """Compute with two literals here: an engine would do so before it looks at any record, and might fail."""
        if op in "+-" and left.kind == right.kind == "integer":
            return Const("integer", left.value + right.value if op == "+" else left.value - right.value)
        first, second = float(left.value), float(right.value)
        done = {"+": first + second, "-": first - second, "*": first * second, "/": first / (second or 1.0)}
        return Const("number", done[op] + 0.0)

    def _same_clock(self, left: Typed, right: Typed) -> None:
        zoned = {_is_zoned(each) for each in (left, right)}
        if len(zoned) > 1:
            raise self._refused(": datetimes with and without a time zone do not compare")

    def _numeric(self, value: Typed) -> Typed:
        if value.kind not in ("integer", "number"):
            raise self._refused(f": arithmetic needs numbers, not {a_kind(value.kind)}")
        return value

    def _part(self, node: tree.Call) -> Typed:
        if node.function == "seconds":
            return self._seconds(node.arguments[0])
        inner = self._tested(node.arguments[0])
        if inner.kind not in ("date", "datetime"):
            raise self._refused(f": {node.function} needs a date, not {a_kind(inner.kind)}")
        if _is_zoned(inner):
            raise self._refused(
                f": {node.function} of datetimes with a time zone is computed in comparisons of a year only",
                "Compare with TIMESTAMP '2024-01-01 00:00+01:00' instead.",
            )
        return Part(node.function, inner)

    def _seconds(self, node: tree.Value) -> Typed:
        """Return the difference of two datetimes, which is a number of seconds with the word or without it."""
        value = self.value(node)
        if not isinstance(value, Difference):
            raise self._refused(
                ": seconds needs a difference of two datetimes",
                "For example seconds(departure - arrival); differences of dates are numbers of days.",
            )
        return value

    def _first(self, node: tree.Call, tested: bool, present: bool) -> Typed:
        values = self._alike(node.arguments, tested, present)
        return First(tuple(values), values[0].kind)

    def _case(self, node: tree.Case, tested: bool, present: bool) -> Typed:
        results = [value for _, value in node.branches] + ([node.otherwise] if node.otherwise is not None else [])
        values = self._alike(results, tested, present)
        branches = tuple((self.test(test), value) for (test, _), value in zip(node.branches, values, strict=False))
        otherwise = values[-1] if node.otherwise is not None else None
        return Cases(branches, otherwise, values[0].kind)

    def _alike(self, nodes: Sequence[tree.Value], tested: bool, present: bool) -> list[Typed]:
        """Return values of one kind."""
        values = [
            None if isinstance(node, tree.Literal) else self.value(node, tested=tested, present=present)
            for node in nodes
        ]
        literals = [node for node in nodes if isinstance(node, tree.Literal)]
        kinds = {value.kind for value in values if value is not None}
        kinds = kinds or {literal_kind(node.value, exact=True) for node in literals}
        if (kinds == {"integer"} and any(is_double(node.value) for node in literals)) or kinds == _NUMBERS:
            kinds = {"number"}
        if len(kinds) > 1:
            first, second = sorted(kinds)[:2]
            raise self._refused(f": {a_kind(first)} and {a_kind(second)} do not mix")
        (kind,) = kinds
        consts = iter([self._literals.const(node, kind, compared=False) for node in literals])
        return [next(consts) if value is None else _number(value) if kind == "number" else value for value in values]

    def test(self, node: tree.Test, positive: bool = True) -> Tested:
        """Return the meaning of a test, or of its negation."""
        if isinstance(node, tree.Not):
            return self.test(node.test, not positive)
        if isinstance(node, tree.And | tree.Or):
            parts = tuple(self.test(each, positive) for each in node.tests)
            return All(parts) if isinstance(node, tree.And) is positive else Some(parts)
        if isinstance(node, tree.Compare):
            return self._compare(node.op if positive else _OPPOSITE[node.op], node.left, node.right)
        negated = node.negated is positive
        if isinstance(node, tree.Between):
            low, high = ("<", ">") if negated else (">=", "<=")
            parts = (self._compare(low, node.value, node.low), self._compare(high, node.value, node.high))
            if _reversed(node, *parts):
                remedy = f"Swap the bounds{_AROUND if isinstance(node.value, tree.Call) else ''}."
                raise self._refused(": BETWEEN has its higher bound first, so no value can match", remedy)
            return Some(parts) if negated else All(parts)
        if isinstance(node, tree.IsNull):
            return Missing(self._tested(node.value, present=True), negated)
        value = self._tested(node.value)
        if isinstance(node, tree.Like):
            if value.kind != "text":
                raise self._refused(f": LIKE needs a text, not {a_kind(value.kind)}")
            if node.escape is None and re.search(r"\\[%_]", node.pattern):
                raise self._refused(
                    ": a backslash before % or _ escapes it only if ESCAPE names the backslash",
                    r"Write LIKE '50\%' ESCAPE '\', where \\ is a backslash itself.",
                )
            return Matches(value, pieces(node.pattern, node.escape), negated)
        return self._among(value, node, negated)

    def _among(self, value: Typed, node: tree.In, negated: bool) -> Tested:
        literals = [item for item in node.items if isinstance(item, tree.Literal)]
        self._doubts.of_empty_texts(node.value, literals)
        if value.kind == "text":
            self._doubts.of_typed_texts(node.value, literals)
        for literal in literals:
            self._check_part(node.value, literal)
        consts = [self._literals.const(item, value.kind, zoned=_is_zoned(value)) for item in literals]
        return OneOf(value, tuple(c for c in dict.fromkeys(consts) if not isinstance(c.value, Fraction)), negated)

    def _compare(self, op: str, left: tree.Value, right: tree.Value) -> Tested:
        if isinstance(left, tree.Literal) and not isinstance(right, tree.Literal):
            left, right, op = right, left, _MIRRORED[op]
        if isinstance(right, tree.Literal):
            return self._with_literal(op, left, right)
        if left == right and op in ("<>", "<", ">"):
            raise self._refused(
                f": {op} compares a value with itself, which no record passes",
                "Write IS NULL or IS NOT NULL for missing cells.",
            )
        self._doubts.of_order(op, left, right)
        first, second = self.value(left), self.value(right)
        if isinstance(first, Const) and isinstance(second, Const):
            raise self._refused(": two literals are compared", "Name a column on one side.")
        if {first.kind, second.kind} == {"integer", "number"}:
            first, second = _number(first), _number(second)
        if first.kind != second.kind:
            raise self._refused(f": {a_kind(first.kind)} cannot be compared with {a_kind(second.kind)}")
        if first.kind == "datetime":
            self._same_clock(first, second)
        self._ordered(op, first.kind)
        return Compared(op, first, second)

    def _ordered(self, op: str, kind: Kind) -> None:
        if kind == "boolean" and op not in ("=", "<>"):
            raise self._refused(": booleans support only = and <>")

    def _with_literal(self, op: str, left: tree.Value, right: tree.Literal) -> Tested:
        if isinstance(left, tree.Literal):
            raise self._refused(": two literals are compared", "Name a column on one side.")
        self._check_part(left, right)
        if isinstance(left, tree.Call) and left.function == "year" and isinstance(right.value, Decimal):
            return self._years(op, left.arguments[0], Fraction(self._literals.exact(right.value)))
        value = self._tested(left)
        if isinstance(value, Const):
            raise self._refused(": two literals are compared", "Name a column on one side.")
        self._ordered(op, value.kind)
        if value.kind == "text":
            self._doubts.of_quotes(op, left, right)
            self._doubts.of_typed_texts(left, [right])
        const = self._literals.const(right, value.kind, zoned=_is_zoned(value))
        if isinstance(const.value, Fraction):
            return _between_integers(op, value, const.value)
        return Compared(op, value, const)

    def _check_part(self, left: tree.Value, right: tree.Literal) -> None:
        """Refuse to compare a year or a month with a number that is none."""
        part = left.function if isinstance(left, tree.Call) else ""
        largest = _LARGEST_PART.get(part)
        if largest is not None and isinstance(right.value, Decimal) and not 1 <= right.value <= largest:
            raise self._refused(f": a {part} lies between 1 and {largest}", given=str(right.value))

    def _years(self, op: str, of: tree.Value, year: Fraction) -> Tested:
        """Compare a date with the ends of a year, which all engines do alike and quickly."""
        value = self._tested(of)
        if value.kind not in ("date", "datetime"):
            raise self._refused(f": year needs a date, not {a_kind(value.kind)}")
        if _is_zoned(value) and not self._literals.has_zone:
            raise self._refused(
                ": the year of a datetime with a time zone depends on the zone",
                ("Set ", P("zone", "Europe/Berlin"), "."),
            )
        present = Missing(value, True)
        if year.denominator != 1:
            if op in ("=", "<>"):
                return present if op == "<>" else Always(False)
            year, op = Fraction(year.numerator // year.denominator), ("<=" if op in ("<", "<=") else ">")
        first, after = (self._new_year(value, int(year) + i) for i in (0, 1))

        def compared(sign: str, end: Const | bool) -> Tested:
            if isinstance(end, bool):  # beyond the first or the last year: True if every date is earlier
                return present if end is (sign == "<") else Always(False)
            return Compared(sign, value, end)

        if op == "=":
            return All((compared(">=", first), compared("<", after)))
        if op == "<>":
            return Some((compared("<", first), compared(">=", after)))
        return compared("<" if op in ("<", "<=") else ">=", first if op in ("<", ">=") else after)

    def _new_year(self, value: Typed, year: int) -> Const | bool:
        if not dt.MINYEAR < year <= dt.MAXYEAR:
            return year > dt.MAXYEAR
        literal = tree.Literal(dt.date(year, 1, 1))
        return self._literals.const(literal, value.kind, zoned=_is_zoned(value))


def _is_zoned(value: Typed) -> bool:
    return any(leaf.column.zoned and leaf.kind == "datetime" for leaf in leaves(value))


def _reversed(node: tree.Between, low: Tested, high: Tested) -> bool:
    """Tell whether both bounds are literals, the higher one first."""
    if isinstance(node.low, tree.Literal) and isinstance(node.high, tree.Literal):
        if isinstance(node.low.value, Decimal) and isinstance(node.high.value, Decimal):
            return node.low.value > node.high.value
        consts = [part.right for part in (low, high) if isinstance(part, Compared) and isinstance(part.right, Const)]
        return len(consts) == 2 and bool(order_key(consts[0]) > order_key(consts[1]))
    return False


def _number(value: Typed) -> Typed:
    if value.kind == "number":
        return value
    return Const("number", float(value.value)) if isinstance(value, Const) else AsNumber(value)


def _between_integers(op: str, value: Typed, limit: Fraction) -> Tested:
    """Compare an integer with a number that no integer equals; beyond 37 digits, all are on one side of it."""
    if op in ("=", "<>"):
        return Missing(value, True) if op == "<>" else Always(False)
    if abs(limit) > LARGEST_INTEGER:
        return Missing(value, True) if (op in ("<", "<=")) is (limit > 0) else Always(False)
    below = limit.numerator // limit.denominator
    return Compared("<=" if op in ("<", "<=") else ">", value, Const("integer", below))
