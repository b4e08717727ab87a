"""Filters to try, and what they mean in plain Python: three-valued logic, where None is unknown.

Of flexdp only the tree is used, as the parser makes it.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import Any

from flexdp.buckets.base import Kind
from flexdp.tables.where import tree

MICROSECOND = dt.timedelta(microseconds=1)

Truth = bool | None
READINGS = ("number", "integer", "text", "date", "datetime", "boolean")  # of a declared column: the column itself

CANONICAL = {
    "ward='ICU'and age>=18": "ward = 'ICU' AND age >= 18",
    "NOT(a = 1 or b != 2)": "NOT (a = 1 OR b <> 2)",
    "(a = 1) AND ((b = 2) OR c = 3)": "a = 1 AND (b = 2 OR c = 3)",
    "((a)) + (b) * (c) > -(5)": "a + b * c > -5",
    "(a - b) - (c - d) > 0": "a - b - (c - d) > 0",
    "a - (-b) / 2 > 0": "a - -b / 2 > 0",
    '"my column" is not null': '"my column" IS NOT NULL',
    '"and" = 1 and "say ""x""" = 2': '"and" = 1 AND "say ""x""" = 2',
    "x in(1,2 , 3.50)": "x IN (1, 2, 3.50)",
    "x not between 1 and 2 and y = 3": "x NOT BETWEEN 1 AND 2 AND y = 3",
    "t like 'a!%' escape '!'": "t LIKE 'a!%' ESCAPE '!'",
    "d = date '2024-02-29'": "d = DATE '2024-02-29'",
    "date > '2024-02-29'": "date > '2024-02-29'",
    "s < timestamp '2024-02-29T10:00'": "s < TIMESTAMP '2024-02-29 10:00:00'",
    "s < timestamp '2024-02-29T10:00+02:00'": "s < TIMESTAMP '2024-02-29 08:00:00+00:00'",
    "YEAR(d) = 2024": "year(d) = 2024",
    "case when a>1 then 'x' else 'y' end = 'x'": "CASE WHEN a > 1 THEN 'x' ELSE 'y' END = 'x'",
    "smoker = true": "smoker = TRUE",
    "prénom = 'Zoë'": "\"prénom\" = 'Zoë'",
    "x = 1e5 and y = .5 and z = 5.": "x = 1E+5 AND y = 0.5 AND z = 5",
    "NOT NOT a = 1": "NOT NOT a = 1",
    "DATE(d)-Date( e )>5 and TEXT(\"t t\")='x'": "date(d) - date(e) > 5 AND text(\"t t\") = 'x'",
    "number(a) > integer(b) or datetime(c) is null": "number(a) > integer(b) OR datetime(c) IS NULL",
    "boolean(date) = true": "boolean(date) = TRUE",
}

REFUSED = {
    "": "must not be empty",
    "age": "not a test",
    "age >": "unexpected end of the expression",
    "age > 5 6": "unexpected '6'",
    "ward ILIKE 'icu'": "there is no operator ILIKE. Use LIKE",
    "ward NOT ILIKE 'icu'": "unexpected 'NOT'|no operator ILIKE",
    "my column > 3": "unexpected 'column' after 'my'. An operator is missing.*double quotes",
    "age 3": "unexpected '3' after 'age'. An operator is missing",
    "age NOT 3": "Write NOT age = 3, or age NOT IN",
    "age > 3 LIMIT 5": "unexpected 'LIMIT'. A filter is computed from one record and has no clauses",
    "age > 3 ORDER BY age": "has no clauses",
    "WHERE age > 3": "Write the test alone, without WHERE",
    "ward = 'A' AND (my column > 3)": "expected \\), not 'column'. An operator is missing",
    "age IS TRUE": "IS is followed by NULL or NOT NULL only. Write = TRUE",
    "age = NaN": "no column named 'NaN'. NaN is treated as a missing value. Write IS NULL",
    "age <> Infinity": "is treated as a missing value. Write IS NULL",
    "age % 2 = 0": "There is no remainder",
    "age::int = 3": "There are no casts",
    "CAST(age AS INTEGER) = 3": r"There are no casts: number\(x\)",
    "timestamp(age) > 3": r"There are no casts: number\(x\)",
    "date('2024-01-01') = 3": "Write DATE '2024-12-31'",
    "number(age + 1) = 3": r"says how one column is read, and takes nothing else. For example number\(x\)",
    "number(coalesce(age, 1)) = 3": r"coalesce\(number\(x\), number\(y\)\)",
    "number(age, k) = 3": "takes nothing else",
    "text(age) = '3'": r"text\(…\) says how a column that declares no type is read, and column 'age' is declared as",
    "number(ward) = 3": r"Leave out number\(…\): it is no cast",
    "integer(age) = 3": "is declared as",
    "age >= 2024-03-01": "Write DATE '2024-03-01'",
    "age >= 2024-3-1": "Write DATE '2024-03-01'",
    "age >= 31/12/2024": "Write DATE '2024-12-31'",
    "age >= 31.12.2024": "Write DATE '2024-12-31'",
    "age > 1000,50": r"unexpected ','. Decimals are written with a point: 1000\.50\.$",
    "age > 1.000,50": r"unexpected ','. Decimals are written with a point: 1000\.50\.$",
    "age => 18": "unexpected '>'. Write >= instead of =>",
    "age =< 18": "unexpected '<'. Write <= instead of =<",
    "age \u2265 18": "Write >= instead",
    "age \u2260 18": "Write <> instead",
    "age > \u20ac100": "without currency signs",
    "age > $100": "without currency signs",
    "t.age > 3": "without the name of its table",
    "ward LIKE I%": "Write a pattern in quotes: LIKE 'A%'",
    "age IS NaN": "IS is followed by NULL or NOT NULL only",
    "ward = \u2018ICU\u2019": "plain single quotes",
    "ward = \u201eICU\u201c": "plain single quotes",
    "`ward` = 'ICU'": "double quotes",
    "coalesce(ward, 1) = 'a'": "a text does not mix with a number",
    "ward LIKE '50\\%'": r"a backslash before % or _ .* ESCAPE '\\'",
    "ward NOT LIKE 'a\\_x'": "a backslash before % or _",
    "age > TIMESTAMP '2024-01-01 25:00'": "with a day and a time that exist",
    "age = NULL": "IS NULL",
    "avg(age) > 5": "looks at several records",
    "age > (SELECT max(age) FROM t)": "looks at several records",
    "row_number() < 5": "A window",
    "age > 5; DROP TABLE t": "not a statement",
    "age > 5 -- all of them": "a filter has no comments",
    "abs(age) > 5": "The functions are year, month, seconds, coalesce",
    "random() < 0.5": "The functions are",
    "ward = 'ICU": "has no end",
    'ward = "ICU': "has no end",
    "18 < age < 65": "not chained",
    "age IN (SELECT 5)": "subquery",
    "age IN (k)": "a list after IN may contain only",
    "age IN ()": "a list after IN must not be empty",
    "ward LIKE age": "in single quotes",
    "ward LIKE 'a!b' ESCAPE '!'": "escape character",
    "ward LIKE 'ab' ESCAPE '!!'": "one character",
    "ward > 5": "a text cannot be compared with a number",
    "age = 'old'": "a number cannot be compared with a text",
    "age LIKE 'a'": "LIKE needs a text",
    "wrd = 'ICU'": "no column named 'wrd'. Did you mean 'ward'",
    "5 > 3": "two literals",
    "1 + 1 = 2": "two literals",
    "ward + 1 > 2": "arithmetic needs numbers",
    "age / 0 > 2 AND 1 / 0 > age": "division by zero",
    "year(age) = 2024": "year needs a date",
    "year(age, k) = 2024": "one date",
    "coalesce(age) = 2": "two values or more",
    "age > 1e999": "exponent of a number must lie between −400 and 400",
    "age > 1e-99999999999": "exponent of a number must lie between −400 and 400",
    "age > 71e400": "exponent of a number must lie between −400 and 400",  # which is 7.1E+401
    "age > 0.00e-399": "exponent of a number must lie between −400 and 400",
    "age > 1e400": "too large",
    "k > 99999999999999999999999999999999999999999": "40 digits",
    "age > DATE '2024-02-30'": "a day that exists",
    "CASE WHEN age > 5 THEN 1 ELSE 'x' END = 1": "do not mix|compared with",
    "age > 5 AND": "unexpected end of the expression",
    "(age > 5": "expected \\), not the end",
    "age > 5)": "unexpected '\\)'",
    "age = 5x": "unexpected character",
    "age @ 5": "unexpected character '@'",
    "sum(age) OVER () > 3": "looks at several records",
    "EXISTS (SELECT 1)": "subquery",
    "(" * 60 + "age > 1" + ")" * 60: "nested",
    "NOT " * 60 + "age > 1": "nested",
    "age > " + "+".join(["1"] * 200): "at most 100",
    "x" * 10_001 + " > 1": "10,000 characters",
    "age > TRUE": "compared with a boolean",
    "age BETWEEN 65 AND 18": "its higher bound first",
    "age NOT BETWEEN 65 AND 18": "its higher bound first",
    "NOT k BETWEEN 2.5 AND 2.25": "its higher bound first",
    "ward BETWEEN 'b' AND 'a'": "its higher bound first",
    "CASE WHEN k BETWEEN 3 AND 2 THEN 1 ELSE 0 END = 1": "its higher bound first",
    "age / 0 > 1": "division by zero",
    "k / (2 - 2.0) IS NULL": "division by zero",
    "age <> age": "<> compares a value with itself",
    "age + 1 < age + 1": "< compares a value with itself",
    "age > 18 AND age < 10": "no record can match",
    "age > 18 AND (k = 1 AND NOT age >= 18)": "no record can match",
    "age >= 18 AND age < 18": "no record can match",
    "age >= 18 AND age <= 18 AND age <> 18": "no record can match",
    "ward = 'A' AND ward = 'B'": "no record can match",
    "ward IN ('A', 'B') AND ward > 'B'": "no record can match",
    "ward = 'A' AND ward NOT IN ('A', 'B')": "no record can match",
    "age IS NULL AND age > 3": "no record can match",
    "(k = 1 AND k = 2) OR k IS NULL AND k = 3": "no record can match",
    "k + 1 > 3 AND k + 1 < 2": "no record can match",
}


def compare(op: str, left: Any, right: Any) -> Truth:
    if left is None or right is None:
        return None
    return {
        "=": left == right, "<>": left != right, "<": left < right, "<=": left <= right, ">": left > right,
        ">=": left >= right,
    }[op]  # fmt: skip


def both(first: Truth, second: Truth) -> Truth:
    return False if first is False or second is False else None if first is None or second is None else True


def negation(test: Truth) -> Truth:
    return None if test is None else not test


def limited(value: float | None) -> float | None:
    """An operand of arithmetic: none beyond 1e100, zero below 1e-100."""
    if value is None or not math.isfinite(value) or abs(value) > 1e100:
        return None
    return 0.0 if abs(value) < 1e-100 else value


def divided(left: float | None, right: float | None) -> float | None:
    return None if left is None or right is None or right == 0 else left / right


def either(first: Truth, second: Truth) -> Truth:
    return negation(both(negation(first), negation(second)))


def as_double(value: int | None) -> float | None:
    return None if value is None else float(value)


def term(value: int | None) -> int | None:
    return None if value is None or abs(value) > 2**53 else value


def plus(left: Any, right: Any) -> Any:
    return None if left is None or right is None else left + right


def times(left: Any, right: Any) -> Any:
    return None if left is None or right is None else left * right


def negative(value: Any) -> Any:
    return None if value is None else 0 - value


# ---- the meaning of a tree, record by record

COLUMNS: dict[str, tuple[str, Kind]] = {
    "k": ("BIGINT", "integer"), "x": ("DOUBLE", "number"), "y": ("DOUBLE", "number"), "i": ("BIGINT", "integer"),
    "w": ("HUGEINT", "integer"), "m": ("DECIMAL(18,2)", "number"), "t": ("VARCHAR", "text"),
    "b": ("BOOLEAN", "boolean"),
    "d": ("DATE", "date"), "s": ("TIMESTAMP", "datetime"), "z": ("TIMESTAMPTZ", "datetime"),
}  # fmt: skip
Row = dict[str, Any]
_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "+": plus,
    "-": lambda left, right: plus(left, negative(right)),
    "*": times,
    "/": divided,
}


class Meaning:
    """What a filter or a derived column means on records with the columns above, by docs/filters.md.

    It speaks only of texts that flexdp takes. Cells are as Python holds them; datetimes have no zone and are in UTC.
    """

    def test(self, node: Any, row: Row) -> Truth:
        """Tell whether a test is true, false or unknown."""
        if isinstance(node, tree.Not):
            return negation(self.test(node.test, row))
        if isinstance(node, tree.And | tree.Or):
            return reduce(both if isinstance(node, tree.And) else either, (self.test(each, row) for each in node.tests))
        if isinstance(node, tree.Compare):
            return self._compared(node.op, node.left, node.right, row)
        if isinstance(node, tree.IsBetween):
            inside = both(
                self._compared(">=", node.value, node.low, row), self._compared("<=", node.value, node.high, row)
            )
            return negation(inside) if node.negated else inside
        value = self.value(node.value, row)
        if isinstance(node, tree.IsNull):
            return (value is None) is not node.negated
        if value is None:
            return None
        if isinstance(node, tree.Like):
            return bool(_pattern(node.pattern, node.escape).fullmatch(value)) is not node.negated
        kind = self.kind(node.value)
        return any(value == _as_kind(item.value, kind) for item in node.items) is not node.negated

    def _compared(self, op: str, left: Any, right: Any, row: Row) -> Truth:
        kinds = {self.kind(each) for each in (left, right) if not isinstance(each, tree.Literal)}
        (kind,) = kinds if len(kinds) == 1 else {"number"}  # integers with doubles
        one, other = (self._of_kind(each, kind, row) for each in (left, right))
        return compare(op, one, other)

    def _of_kind(self, node: Any, kind: str, row: Row) -> Any:
        if isinstance(node, tree.Literal):
            return _as_kind(node.value, kind)
        value = self.value(node, row)
        return float(value) if kind == "number" and value is not None else value

    def kind(self, node: Any) -> str:
        """Return the kind of a value."""
        if isinstance(node, tree.Name):
            return COLUMNS[node.name][1]
        if isinstance(node, tree.Literal):
            return _literal_kind(node.value)
        if isinstance(node, tree.Negative):
            return self.kind(node.value)
        if isinstance(node, tree.Call) and node.function in READINGS:
            return self.kind(node.arguments[0])
        if isinstance(node, tree.Arithmetic):
            kinds = {self.kind(node.left), self.kind(node.right)}
            whole = kinds == {"date"} or (kinds == {"integer"} and node.op in "+-")
            return "integer" if whole else "number"
        if isinstance(node, tree.Call) and node.function != "coalesce":
            return "integer"
        return self._common(_results(node))

    def _common(self, nodes: list[Any]) -> str:
        """The kind that several values are brought to."""
        others = [each for each in nodes if not isinstance(each, tree.Literal)]
        kinds = {self.kind(each) for each in others or nodes}
        if kinds == {"integer"} and any(self.kind(each) == "number" for each in nodes):
            return "number"
        return kinds.pop() if len(kinds) == 1 else "number"

    def value(self, node: Any, row: Row) -> Any:
        """Return a value, None where it is missing."""
        if isinstance(node, tree.Name):
            cell = row[node.name]
            return None if isinstance(cell, float) and not math.isfinite(cell) else cell
        if isinstance(node, tree.Literal):
            return _as_kind(node.value, _literal_kind(node.value))
        if isinstance(node, tree.Negative):
            return self._computed("-", tree.Literal(Decimal(0)), node.value, row)
        if isinstance(node, tree.Arithmetic):
            return self._computed(node.op, node.left, node.right, row)
        if isinstance(node, tree.Call) and node.function in READINGS:
            return self.value(node.arguments[0], row)
        if isinstance(node, tree.Call) and node.function != "coalesce":
            day = self.value(node.arguments[0], row)
            return None if day is None else day.year if node.function == "year" else day.month
        kind = self._common(_results(node))
        if isinstance(node, tree.CaseWhen):
            for test, value in node.branches:
                if self.test(test, row):
                    return self._of_kind(value, kind, row)
            return None if node.otherwise is None else self._of_kind(node.otherwise, kind, row)
        return next((v for v in (self._of_kind(each, kind, row) for each in node.arguments) if v is not None), None)

    def _computed(self, op: str, left: Any, right: Any, row: Row) -> Any:
        kinds = {self.kind(left), self.kind(right)}
        if kinds <= {"date", "datetime"}:
            first, second = self.value(left, row), self.value(right, row)
            if first is None or second is None:
                return None
            return (first - second).days if kinds == {"date"} else (first - second) / MICROSECOND / 1e6
        if kinds == {"integer"} and op in "+-":
            return _SIGNS[op](self._term(left, row), self._term(right, row))
        return _SIGNS[op](self._operand(left, row, factor=op in "*/"), self._operand(right, row, factor=op in "*/"))

    def _term(self, node: Any, row: Row) -> Any:
        """A term of a sum of integers: missing beyond 2^53, unless it is a sum or a year, which is not."""
        value = self.value(node, row)
        sums = isinstance(node, tree.Arithmetic | tree.Negative | tree.Literal)
        part = isinstance(node, tree.Call) and node.function in ("year", "month")
        return value if sums or part else term(value)

    def _operand(self, node: Any, row: Row, *, factor: bool) -> Any:
        """An operand of arithmetic on doubles: columns and factors are limited, integers and terms are not."""
        value = as_double(self.value(node, row))
        computed = isinstance(node, tree.Arithmetic | tree.Negative) and self.kind(node) == "number"
        difference = isinstance(node, tree.Arithmetic) and self.kind(node.left) == "datetime"
        free = self.kind(node) == "integer" or _is_constant(node) or difference or (computed and not factor)
        return value if free else limited(value)


def _results(node: Any) -> list[Any]:
    if isinstance(node, tree.Call):
        return list(node.arguments)
    return [value for _, value in node.branches] + ([] if node.otherwise is None else [node.otherwise])


def _is_constant(node: Any) -> bool:
    if isinstance(node, tree.Arithmetic):
        return _is_constant(node.left) and _is_constant(node.right)
    return _is_constant(node.value) if isinstance(node, tree.Negative) else isinstance(node, tree.Literal)


def _literal_kind(value: object) -> str:
    if isinstance(value, Decimal):
        return "integer" if Fraction(value).denominator == 1 and abs(value) < 10**37 else "number"
    kinds = {bool: "boolean", str: "text", dt.date: "date", dt.datetime: "datetime"}
    return kinds[type(value)]


def _as_kind(value: Any, kind: str) -> Any:
    """A literal as the kind of what it is compared with."""
    if isinstance(value, Decimal):
        return float(value) if kind == "number" else Fraction(value)
    if isinstance(value, str) and kind in ("date", "datetime"):
        value = (
            dt.date.fromisoformat(value) if len(value) == 10 else dt.datetime.fromisoformat(value.replace(" +", "+"))
        )
    if kind == "datetime" and not isinstance(value, dt.datetime):
        return dt.datetime(value.year, value.month, value.day)
    return value.astimezone(dt.UTC).replace(tzinfo=None) if getattr(value, "tzinfo", None) else value


def _pattern(pattern: str, escape: str | None) -> re.Pattern[str]:
    out, characters = "", iter(pattern)
    for character in characters:
        if character == escape:
            out += re.escape(next(characters))
        else:
            out += {"%": ".*", "_": "."}.get(character) or re.escape(character)
    return re.compile(out, re.DOTALL)
