"""From tree to meaning: which columns are meant, how their cells are read, what each comparison compares.

Parameters and what the table declares decide, never a record. A column that declares no type is read as the kind of
what it is compared with.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

from flexdp._core.calendar import days_since_epoch, micros_since_epoch
from flexdp._core.text import is_unicode, safe_repr
from flexdp.buckets.base import LARGEST_INTEGER, LONGEST_TEXT, Kind
from flexdp.errors import InputError, P, Phrase
from flexdp.tables.declared import Column
from flexdp.tables.where import tree
from flexdp.tables.where.grammar import datetime_of, day_of, parse_test, parse_value
from flexdp.tables.where.pattern import pieces
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

__all__ = ["Filter", "derived_column", "filter_of"]

_OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NARROW_DIGITS = 15  # integers of so many digits are exact as doubles
_Lookup = Callable[[object], Column]


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
    text: object, lookup: _Lookup, *, kinds: Mapping[str | None, Kind] | None = None, zone: str | None = None
) -> Filter:
    """Parse a filter and find its meaning; ``kinds`` are those of columns that are read anyway."""
    parsed = parse_test("where", text)
    meaning = _Meaning("where", lookup, kinds or {}, zone)
    meaning.infer(parsed)
    return Filter(text_of(parsed), meaning.test(parsed))


def derived_column(name: str, text: object, lookup: _Lookup, *, zone: str | None = None) -> tuple[Column, str]:
    """Parse a derived column; return it with its canonical text."""
    parsed = parse_value("derive", text)
    meaning = _Meaning("derive", lookup, {}, zone)
    meaning.infer(parsed)
    value = meaning.value(parsed)
    if not meaning.names:
        raise InputError("derive", f": {safe_repr(name)} names no column")
    if value.kind == "datetime" and _is_zoned(value):
        raise InputError("derive", f": {safe_repr(name)} would be a datetime with a time zone, which is not derived")
    column = Column(name=name, type_name="derived", kind=value.kind, strict=True, derived=value)
    return column, text_of(parsed)


class _Meaning:
    def __init__(self, parameter: str, lookup: _Lookup, kinds: Mapping[str | None, Kind], zone: str | None) -> None:
        self._parameter, self._lookup, self._zone = parameter, lookup, zone
        self._columns: dict[str, Column] = {}
        self._wanted: dict[str, set[Kind]] = {}
        self._offsets: set[str] = set()  # columns of text files that are compared with an offset from UTC
        self._known = kinds

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that were named."""
        return tuple(self._columns)

    def _refused(self, rule: Phrase, remedy: Phrase = "") -> InputError:
        return InputError(self._parameter, rule, remedy=remedy)

    def _column(self, name: str) -> Column:
        if name not in self._columns:
            try:
                self._columns[name] = self._lookup(name)
            except InputError as refusal:
                found = refusal
            if name not in self._columns:
                raise InputError(self._parameter, found.rule, given=found.given, remedy=found.remedy)
        return self._columns[name]

    # ---- kinds of columns that declare none

    def infer(self, node: tree.Node) -> None:
        """Find the kinds of columns that declare none, from what they are compared with."""
        for group, kind in _together(node):
            kinds: set[Kind] = {kind} if kind is not None else set()
            names = []
            for each in group:
                if isinstance(each, tree.Literal):
                    kinds.add(_literal_kind(each.value))
                elif isinstance(each, tree.Name):
                    column = self._column(each.name)
                    if _is_open(column):
                        names.append(each.name)
                    elif column.kind is not None:
                        kinds.add(column.kind)
                elif isinstance(each, tree.Arithmetic | tree.Negative) or (
                    isinstance(each, tree.Call) and each.function != "coalesce"
                ):
                    kinds.add("number")
            if any(isinstance(each, tree.Literal) and getattr(each.value, "tzinfo", None) for each in group):
                self._offsets.update(name for name in names if self._column(name).may_be_zoned)
            for name in names:
                self._wanted.setdefault(name, set()).update(kinds)

    def _leaf(self, name: str) -> Leaf:
        column = self._column(name)
        if not _is_open(column):
            if column.kind is None:
                raise self._refused(
                    f": {column.label} is declared as {column.type_name[:40]}, which cannot be compared",
                    "Use columns of numbers, texts, dates, datetimes or booleans.",
                )
            return Leaf(column, column.kind)
        kinds = self._wanted.get(name, set())
        if kinds == {"integer", "number"}:
            kinds = {"integer"}
        if kinds == {"date", "datetime"}:
            kinds = {"datetime"}
        if len(kinds) > 1:
            first, second = sorted(kinds)[:2]
            raise self._refused(
                f": {column.label} declares no type, and is used as {_a(first)} and as {_a(second)}",
                "Write texts in single quotes, dates as DATE '2024-12-31' and numbers without quotes.",
            )
        default = self._known.get(name) or column.kind or "text"
        (kind,) = kinds or {default}
        if kind == "text" and column.inferred and column.kind is not None:
            raise self._refused(
                f": {column.label}, which pandas holds as {column.type_name[:40]}, cannot be read as a text",
                "Load the column as text (dtype=str), or compare it with a number.",
            )
        return Leaf(replace(column, zoned=True) if name in self._offsets and kind == "datetime" else column, kind)

    # ---- values

    def value(self, node: tree.Value) -> Typed:
        """Return the meaning of a value."""
        if isinstance(node, tree.Name):
            return self._leaf(node.name)
        if isinstance(node, tree.Literal):
            return self._const(node, _literal_kind(node.value, exact=True))
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
            return self._case(node)
        return self._first(node) if node.function == "coalesce" else self._part(node)

    def _arithmetic(self, node: tree.Arithmetic) -> Typed:
        left, right = self.value(node.left), self.value(node.right)
        times = {"date", "datetime"}
        if left.kind in times or right.kind in times:
            if node.op != "-" or left.kind != right.kind:
                raise self._refused(
                    ": of times only differences are computed, of two dates (in days) or two datetimes (in seconds)"
                )
            if left.kind == "date":
                return Sum(left, right, minus=True)
            self._same_clock(left, right)
            return Difference(left, right)
        left, right = self._numeric(left), self._numeric(right)
        for each in (left, right):
            if isinstance(each, Const) and each.value and not TINY <= abs(each.value) <= LARGEST_TERM:
                raise self._refused(": a number in arithmetic must lie between 1e-100 and 2^53")
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
        if op == "/" and not second:
            raise self._refused(": a literal is divided by zero")
        done = {"+": first + second, "-": first - second, "*": first * second, "/": first / (second or 1.0)}
        return Const("number", done[op] + 0.0)

    def _same_clock(self, left: Typed, right: Typed) -> None:
        zoned = {_is_zoned(each) for each in (left, right)}
        if len(zoned) > 1:
            raise self._refused(": datetimes with and without a time zone do not compare")

    def _numeric(self, value: Typed) -> Typed:
        if value.kind not in ("integer", "number"):
            raise self._refused(f": arithmetic needs numbers, not {_a(value.kind)}")
        return value

    def _part(self, node: tree.Call) -> Typed:
        inner = self.value(node.arguments[0])
        if inner.kind not in ("date", "datetime"):
            raise self._refused(f": {node.function} needs a date, not {_a(inner.kind)}")
        if _is_zoned(inner):
            raise self._refused(
                f": {node.function} of datetimes with a time zone is computed in comparisons of a year only",
                "Compare with TIMESTAMP '2024-01-01 00:00+01:00' instead.",
            )
        return Part(node.function, inner)

    def _first(self, node: tree.Call) -> Typed:
        values = self._alike(node.arguments)
        return First(tuple(values), values[0].kind)

    def _case(self, node: tree.Case) -> Typed:
        results = [value for _, value in node.branches] + ([node.otherwise] if node.otherwise is not None else [])
        values = self._alike(results)
        branches = tuple((self.test(test), value) for (test, _), value in zip(node.branches, values, strict=False))
        otherwise = values[-1] if node.otherwise is not None else None
        return Cases(branches, otherwise, values[0].kind)

    def _alike(self, nodes: Any) -> list[Typed]:
        """Return values of one kind."""
        kinds = {self.value(node).kind for node in nodes if not isinstance(node, tree.Literal)}
        kinds = kinds or {_literal_kind(node.value, exact=True) for node in nodes}
        mixed = any(isinstance(node, tree.Literal) and _is_fraction(node.value) for node in nodes)
        if (kinds == {"integer"} and mixed) or kinds == {"integer", "number"}:
            kinds = {"number"}
        if len(kinds) > 1:
            first, second = sorted(kinds)[:2]
            raise self._refused(f": {_a(first)} and {_a(second)} do not mix")
        (kind,) = kinds
        return [self._as_kind(node, kind) for node in nodes]

    def _as_kind(self, node: tree.Value, kind: Kind) -> Typed:
        if isinstance(node, tree.Literal):
            return self._const(node, kind)
        value = self.value(node)
        return _number(value) if kind == "number" else value

    def _const(self, node: tree.Literal, kind: Kind, *, zoned: bool = False) -> Const:
        """Return a literal as a kind."""
        value: Any = node.value
        held = _literal_kind(value)
        if kind in ("date", "datetime") and isinstance(value, str):
            value = day_of(value) if kind == "date" else datetime_of(value)
            if value is None:
                raise self._refused(f": {safe_repr(node.value)} is not a {kind}", "Dates are written '2024-12-31'.")
            held = kind
        if kind in ("integer", "number") and isinstance(value, Decimal):
            return Const(kind, self._exact(value) if kind == "integer" else self._double(value))
        if kind == "datetime" and held in ("date", "datetime"):
            stamp = value if isinstance(value, dt.datetime) else dt.datetime(value.year, value.month, value.day)
            return Const(kind, self._micros(stamp, zoned))
        if held != kind:
            raise self._refused(
                f": {_a(kind)} is compared with {_a(held)}",
                "Write texts in single quotes, dates as DATE '2024-12-31' and numbers without quotes.",
            )
        if kind == "date":
            return Const(kind, days_since_epoch(value))
        if kind == "text" and (not is_unicode(value) or len(value.encode()) > LONGEST_TEXT):
            raise self._refused(f": a text has at most {LONGEST_TEXT:,} bytes in UTF-8")
        return Const(kind, value)

    def _micros(self, stamp: dt.datetime, zoned: bool) -> int:
        if zoned and stamp.tzinfo is None:
            if self._zone is None:
                raise self._refused(
                    ": a column with a time zone is compared with a datetime without one",
                    ("Write TIMESTAMP '2024-12-31 18:30+01:00', or say ", P("zone", "Europe/Berlin"), "."),
                )
            stamp = stamp.replace(tzinfo=ZoneInfo(self._zone))
        elif not zoned and stamp.tzinfo is not None:
            raise self._refused(": a column without a time zone is compared with a datetime that has an offset")
        try:
            plain = stamp if stamp.tzinfo is None else stamp.astimezone(dt.UTC).replace(tzinfo=None)
        except OverflowError:
            raise self._refused(": a datetime lies outside the years 1 to 9999") from None
        return micros_since_epoch(plain)

    def _double(self, value: Decimal) -> float:
        number = float(value)
        if number in (float("inf"), float("-inf")):
            raise self._refused(": a number is too large")
        return number + 0.0

    def _exact(self, value: Decimal) -> int | Fraction:
        if value.copy_abs() > LARGEST_INTEGER:
            raise self._refused(": integers have at most 37 digits")
        exact = Fraction(value)
        return exact.numerator if exact.denominator == 1 else exact

    # ---- tests

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
            return Some(parts) if negated else All(parts)
        if isinstance(node, tree.IsNull):
            return Missing(self.value(node.value), negated)
        value = self.value(node.value)
        if isinstance(node, tree.Like):
            if value.kind != "text":
                raise self._refused(f": LIKE needs a text, not {_a(value.kind)}")
            return Matches(value, pieces(node.pattern, node.escape), negated)
        return self._among(value, node, negated)

    def _among(self, value: Typed, node: tree.In, negated: bool) -> Tested:
        literals = (item for item in node.items if isinstance(item, tree.Literal))
        consts = [self._const(item, value.kind, zoned=_is_zoned(value)) for item in literals]
        return OneOf(value, tuple(c for c in dict.fromkeys(consts) if not isinstance(c.value, Fraction)), negated)

    def _compare(self, op: str, left: tree.Value, right: tree.Value) -> Tested:
        if isinstance(left, tree.Literal) and not isinstance(right, tree.Literal):
            left, right, op = right, left, _MIRRORED[op]
        if isinstance(right, tree.Literal):
            return self._with_literal(op, left, right)
        first, second = self.value(left), self.value(right)
        if isinstance(first, Const) and isinstance(second, Const):
            raise self._refused(": two literals are compared", "Name a column on one side.")
        if {first.kind, second.kind} == {"integer", "number"}:
            first, second = _number(first), _number(second)
        if first.kind != second.kind:
            raise self._refused(f": {_a(first.kind)} is compared with {_a(second.kind)}")
        if first.kind == "datetime":
            self._same_clock(first, second)
        self._ordered(op, first.kind)
        return Compared(op, first, second)

    def _ordered(self, op: str, kind: Kind) -> None:
        if kind == "boolean" and op not in ("=", "<>"):
            raise self._refused(": truth values are equal or not, and have no order")

    def _with_literal(self, op: str, left: tree.Value, right: tree.Literal) -> Tested:
        if isinstance(left, tree.Literal):
            raise self._refused(": two literals are compared", "Name a column on one side.")
        if isinstance(left, tree.Call) and left.function == "year" and isinstance(right.value, Decimal):
            return self._years(op, left.arguments[0], Fraction(self._exact(right.value)))
        value = self.value(left)
        if isinstance(value, Const):
            raise self._refused(": two literals are compared", "Name a column on one side.")
        self._ordered(op, value.kind)
        const = self._const(right, value.kind, zoned=_is_zoned(value))
        if isinstance(const.value, Fraction):
            return _between_integers(op, value, const.value)
        return Compared(op, value, const)

    def _years(self, op: str, of: tree.Value, year: Fraction) -> Tested:
        """Compare a date with the ends of a year, which all engines do alike and quickly."""
        value = self.value(of)
        if value.kind not in ("date", "datetime"):
            raise self._refused(f": year needs a date, not {_a(value.kind)}")
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
        return self._const(literal, value.kind, zoned=_is_zoned(value))


def _together(node: Any) -> Iterator[tuple[list[Any], Kind | None]]:
    """Yield values that are compared with each other, with the kind that they must have, if there is one."""
    if isinstance(node, tree.Compare):
        yield [node.left, node.right], None
    elif isinstance(node, tree.In):
        yield [node.value, *node.items], None
    elif isinstance(node, tree.Between):
        yield [node.value, node.low, node.high], None
    elif isinstance(node, tree.Like):
        yield [node.value], "text"
    elif isinstance(node, tree.Arithmetic):
        yield [node.left, node.right], None if _names_a_time(node) else "number"
    elif isinstance(node, tree.Negative):
        yield [node.value], "number"
    elif isinstance(node, tree.Call):
        yield list(node.arguments), None if node.function == "coalesce" else "date"
    for each in _inner(node):
        yield from _together(each)


def _names_a_time(node: tree.Arithmetic) -> bool:
    return any(isinstance(each, tree.Literal) and isinstance(each.value, dt.date) for each in (node.left, node.right))


def _inner(node: Any) -> list[Any]:
    if isinstance(node, tree.And | tree.Or):
        return list(node.tests)
    if isinstance(node, tree.Not):
        return [node.test]
    if isinstance(node, tree.Compare | tree.Arithmetic):
        return [node.left, node.right]
    if isinstance(node, tree.Between):
        return [node.value, node.low, node.high]
    if isinstance(node, tree.In | tree.IsNull | tree.Like | tree.Negative):
        return [node.value]
    if isinstance(node, tree.Call):
        return list(node.arguments)
    if isinstance(node, tree.Case):
        tests = [part for branch in node.branches for part in branch]
        return tests if node.otherwise is None else [*tests, node.otherwise]
    return []


def _is_open(column: Column) -> bool:
    return column.undeclared or column.inferred


def _is_zoned(value: Typed) -> bool:
    return any(leaf.column.zoned and leaf.kind == "datetime" for leaf in leaves(value))


def _is_fraction(value: object) -> bool:
    return isinstance(value, Decimal) and value != value.to_integral_value()


def _literal_kind(value: object, *, exact: bool = False) -> Kind:
    """Return the kind of a literal: of integers "number" unless they are long, or ``exact`` is wanted."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, Decimal):
        if _is_fraction(value):
            return "number"
        return "integer" if exact or value.copy_abs() >= 10**_NARROW_DIGITS else "number"
    if isinstance(value, str):
        return "text"
    return "datetime" if isinstance(value, dt.datetime) else "date"


def _number(value: Typed) -> Typed:
    if value.kind == "number":
        return value
    return Const("number", float(value.value)) if isinstance(value, Const) else AsNumber(value)


def _between_integers(op: str, value: Typed, limit: Fraction) -> Tested:
    """Compare an integer with a number that is none."""
    if op in ("=", "<>"):
        return Missing(value, True) if op == "<>" else Always(False)
    below = limit.numerator // limit.denominator
    return Compared("<=" if op in ("<", "<=") else ">", value, Const("integer", below))


def _a(kind: str) -> str:
    return {"integer": "an integer", "boolean": "a truth value"}.get(kind, f"a {kind}")
