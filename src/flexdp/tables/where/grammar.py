"""From text to tree. Whatever is not in the grammar is refused, with the reason."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from decimal import Decimal
from typing import TypeVar

from flexdp.errors import InputError
from flexdp.tables.where.habits import FUNCTIONS, unexpected, unknown_function
from flexdp.tables.where.tokens import Token, refused, tokens_of
from flexdp.tables.where.tree import (
    READINGS,
    RESERVED,
    And,
    Arithmetic,
    Between,
    Call,
    Case,
    Compare,
    In,
    IsNull,
    Like,
    Literal,
    Name,
    Negative,
    Node,
    Not,
    Or,
    Test,
    Value,
)  # fmt: skip

__all__ = ["FUNCTIONS", "datetime_of", "day_of", "parse_test", "parse_value"]

_TESTS = (Compare, In, Between, IsNull, Like, Not, And, Or)
_DEEPEST = 40
_MOST_ITEMS = 1000
_MOST_OPERATIONS = 100  # of arithmetic
_MOST_DIGITS, _LARGEST_POWER = 40, 400
_COMPARISONS = ("=", "<>", "!=", "<", "<=", ">", ">=")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)? ?(Z|[+-][0-9]{2}(:?[0-9]{2})?)?",
    re.ASCII,
)
_T = TypeVar("_T")


def parse_test(parameter: str, text: object) -> Test:
    """Parse a filter."""
    parser = _Parser(parameter, tokens_of(parameter, text))
    return parser.whole(parser.test)


def parse_value(parameter: str, text: object) -> Value:
    """Parse a derived column."""
    parser = _Parser(parameter, tokens_of(parameter, text))
    return parser.whole(parser.value)


def day_of(text: str) -> dt.date | None:
    """Return a date written like 2024-12-31, or None."""
    if not _DAY.fullmatch(text):
        return None
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        return None


def datetime_of(text: str) -> dt.datetime | None:
    """Return a datetime written like 2024-12-31 18:30, in UTC where an offset follows, or None."""
    day = day_of(text)
    if day is not None:
        return dt.datetime(day.year, day.month, day.day)
    if not _TIME.fullmatch(text):
        return None
    try:
        found = dt.datetime.fromisoformat(text.replace(" +", "+").replace(" -", "-").replace(" Z", "Z"))
        return found if found.tzinfo is None else found.astimezone(dt.UTC)
    except (ValueError, OverflowError):
        return None


class _Parser:
    """A recursive descent over the words, without backtracking: what a node is, is checked where it is used."""

    def __init__(self, parameter: str, tokens: list[Token]) -> None:
        self._parameter, self._tokens, self._place, self._depth = parameter, tokens, 0, 0
        self._operations = 0

    def whole(self, part: Callable[[], _T]) -> _T:
        """Parse the whole text as one part."""
        out = part()
        if self._next.kind != "end":
            raise self._unexpected()
        return out

    def test(self) -> Test:
        return self._as_test(self._either())

    def value(self) -> Value:
        return self._as_value(self._either())

    @property
    def _next(self) -> Token:
        return self._tokens[self._place]

    def _refused(self, rule: str, remedy: str = "") -> InputError:
        return refused(self._parameter, rule, remedy=remedy)

    @property
    def _noun(self) -> str:
        return "a filter" if self._parameter == "where" else "a derived column"

    def _unexpected(self) -> InputError:
        return self._refused(*unexpected(self._tokens, self._place, self._noun))

    def _is(self, *words: str) -> bool:
        """Tell whether these words come next."""
        for ahead, word in enumerate(words):
            token = self._tokens[min(self._place + ahead, len(self._tokens) - 1)]
            if token.kind not in ("word", "sign") or token.text.upper() != word:
                return False
        return True

    def _take(self, *words: str) -> bool:
        if not self._is(*words):
            return False
        self._place += len(words)
        return True

    def _need(self, word: str) -> None:
        if not self._take(word):
            found = "the end" if self._next.kind == "end" else self._next.shown
            remedy = unexpected(self._tokens, self._place, self._noun)[1]
            raise self._refused(f": expected {word}, not {found}", remedy)

    def _as_test(self, node: Node) -> Test:
        if not isinstance(node, _TESTS):
            if self._next.kind in ("word", "name", "number", "text"):
                raise self._unexpected()  # which is why it is none
            raise self._refused(
                ": a column or a number is not a test", "Compare it with something, for example smoker = TRUE."
            )
        return node

    def _as_value(self, node: Node) -> Value:
        if isinstance(node, _TESTS):
            raise self._refused(
                ": a test stands where a value is needed",
                "A test becomes a value by CASE WHEN … THEN … END.",
            )
        return node

    def _either(self) -> Node:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._refused(f"must not be nested more than {_DEEPEST} deep")
        first = self._both()
        tests = [first]
        while self._take("OR"):
            tests.append(self._both())
        self._depth -= 1
        return first if len(tests) == 1 else Or(tuple(map(self._as_test, tests)))

    def _both(self) -> Node:
        tests = [self._negated()]
        while self._take("AND"):
            tests.append(self._negated())
        return tests[0] if len(tests) == 1 else And(tuple(map(self._as_test, tests)))

    def _negated(self) -> Node:
        if not self._take("NOT"):
            return self._compared()
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._refused(f"must not be nested more than {_DEEPEST} deep")
        test = self._as_test(self._negated())
        self._depth -= 1
        return Not(test)

    def _compared(self) -> Node:
        left = self._sum()
        if self._next.kind == "sign" and self._next.text in _COMPARISONS:
            op = self._next.text
            self._place += 1
            right = self._as_value(self._sum())
            if self._next.kind == "sign" and self._next.text in _COMPARISONS:
                raise self._refused(": comparisons are not chained", "Write a < b AND b < c.")
            return Compare("<>" if op == "!=" else op, self._as_value(left), right)
        if self._take("IS"):
            negated = self._take("NOT")
            if self._is("TRUE") or self._is("FALSE"):
                remedy = f"Write = {self._next.text.upper()}, or <> {self._next.text.upper()}."
                raise self._refused(": IS is followed by NULL or NOT NULL only", remedy)
            if not self._is("NULL"):
                remedy = "Write = for other comparisons; NaN is treated as a missing value."
                raise self._refused(": IS is followed by NULL or NOT NULL only", remedy)
            self._need("NULL")
            return IsNull(self._as_value(left), negated)
        negated = False
        if any(self._is("NOT", word) for word in ("IN", "BETWEEN", "LIKE")):
            negated = self._take("NOT")
        if self._take("IN"):
            return In(self._as_value(left), self._items(), negated)
        if self._take("BETWEEN"):
            low = self._as_value(self._sum())
            self._need("AND")
            return Between(self._as_value(left), low, self._as_value(self._sum()), negated)
        if self._take("LIKE"):
            return self._like(self._as_value(left), negated)
        return left

    def _items(self) -> tuple[Value, ...]:
        self._need("(")
        if self._is(")"):
            raise self._refused(
                ": a list after IN must not be empty", "Write the values that may occur, for example IN ('A', 'B')."
            )
        items = [self._as_value(self._sum())]
        while self._take(","):
            items.append(self._as_value(self._sum()))
        self._need(")")
        if len(items) > _MOST_ITEMS:
            raise self._refused(f": a list has at most {_MOST_ITEMS} values")
        if not all(isinstance(item, Literal) for item in items):
            raise self._refused(": a list after IN may contain only numbers, texts, dates and booleans, not columns")
        return tuple(items)

    def _like(self, value: Value, negated: bool) -> Like:
        pattern, escape = self._text("a pattern"), None
        if self._take("ESCAPE"):
            escape = self._text("one character")
            if len(escape) != 1:
                raise self._refused(": ESCAPE is followed by one character")
        if escape is not None:
            rest = re.sub(rf"{re.escape(escape)}[{re.escape(escape)}%_]", "", pattern)
            if escape in rest:
                raise self._refused(": in a pattern the escape character stands before %, _ or itself only")
        return Like(value, pattern, escape, negated)

    def _text(self, what: str) -> str:
        if self._next.kind != "text":
            raise self._refused(f": expected {what} in single quotes, not {self._next.shown}")
        self._place += 1
        return self._tokens[self._place - 1].text

    def _sum(self) -> Node:
        left = self._product()
        while self._is("+") or self._is("-"):
            op = self._next.text
            self._place += 1
            left = self._computed(op, left, self._product())
        return left

    def _product(self) -> Node:
        left = self._signed()
        while self._is("*") or self._is("/"):
            op = self._next.text
            self._place += 1
            left = self._computed(op, left, self._signed())
        return left

    def _computed(self, op: str, left: Node, right: Node) -> Arithmetic:
        self._operations += 1
        if self._operations > _MOST_OPERATIONS:
            raise self._refused(f"must have at most {_MOST_OPERATIONS} sums, differences, products and quotients")
        return Arithmetic(op, self._as_value(left), self._as_value(right))

    def _signed(self) -> Node:
        minus = False
        signed = False
        while self._is("-") or self._is("+"):
            minus ^= self._next.text == "-"
            signed = True
            self._place += 1
        if not signed:
            return self._primary()
        value = self._as_value(self._primary())
        if not minus:
            return value
        if isinstance(value, Literal) and isinstance(value.value, Decimal):
            return Literal(value.value.copy_negate())
        return Negative(value)

    def _primary(self) -> Node:
        token = self._next
        if self._take("("):
            if self._is("SELECT"):
                raise self._unexpected()
            node = self._either()
            self._need(")")
            return node
        self._place += token.kind != "end"
        if token.kind == "number":
            return Literal(self._number(token.text))
        if token.kind == "text":
            return Literal(token.text)
        if token.kind == "name":
            if not token.text:
                raise self._refused(": a column name must not be empty")
            return Name(token.text)
        word = token.text.upper()
        if token.kind == "word" and word in ("TRUE", "FALSE"):
            return Literal(word == "TRUE")
        if token.kind == "word" and word == "CASE":
            return self._case()
        if token.kind == "word" and word == "NULL":
            raise self._refused(": nothing is equal to NULL", "Write column IS NULL, or column IS NOT NULL.")
        if token.kind != "word" or word in RESERVED:
            self._place -= token.kind != "end"
            raise self._unexpected()
        if word in ("DATE", "TIMESTAMP") and self._next.kind == "text":
            return self._time(word)
        return self._call(token.text) if self._is("(") else Name(token.text)

    def _number(self, text: str) -> Decimal:
        mantissa, _, power = text.lower().partition("e")
        if len(mantissa.replace(".", "").strip("0")) > _MOST_DIGITS or len(mantissa) > 3 * _MOST_DIGITS:
            raise self._refused(f": a number has at most {_MOST_DIGITS} digits")
        number = Decimal(text if len(power) <= 5 else f"1e{_LARGEST_POWER + 1}")
        written = str(number).lower().partition("e")[2]  # its own words have another exponent
        if any(each and abs(int(each)) > _LARGEST_POWER for each in (power[:6], written)):
            raise self._refused(f": the exponent of a number must lie between −{_LARGEST_POWER} and {_LARGEST_POWER}")
        return number

    def _time(self, word: str) -> Literal:
        text = self._text("a time")
        found = day_of(text) if word == "DATE" else datetime_of(text)
        if found is None:
            example = "DATE '2024-12-31', with a day that exists"
            if word == "TIMESTAMP":
                example = "TIMESTAMP '2024-12-31 18:30', with a day and a time that exist"
            raise self._refused(f": a {word} is written {example}")
        return Literal(found)

    def _case(self) -> Case:
        branches = []
        while self._take("WHEN"):
            test = self._as_test(self._either())
            self._need("THEN")
            branches.append((test, self._as_value(self._either())))
        if not branches:
            raise self._refused(": CASE is followed by WHEN", "Write CASE WHEN age < 18 THEN 'child' ELSE 'adult' END.")
        otherwise = self._as_value(self._either()) if self._take("ELSE") else None
        self._need("END")
        return Case(tuple(branches), otherwise)

    def _call(self, name: str) -> Call:
        function = name.lower()
        if function not in FUNCTIONS:
            raise self._refused(*unknown_function(name, self._noun))
        self._need("(")
        arguments = [self._as_value(self._either())]
        while self._take(","):
            arguments.append(self._as_value(self._either()))
        self._need(")")
        if function == "coalesce" and len(arguments) < 2:
            raise self._refused(": coalesce needs two values or more", "For example coalesce(discount, 0).")
        if function in READINGS:
            self._check_reading(function, arguments)
        elif function != "coalesce" and len(arguments) != 1:
            raise self._refused(f": {function} needs one date, for example {function}(day)")
        return Call(function, tuple(arguments))

    def _check_reading(self, function: str, arguments: list[Value]) -> None:
        """Refuse anything but one column in a function that says how cells are read."""
        if len(arguments) == 1 and isinstance(arguments[0], Name):
            return
        remedy = f"For example {function}(x)."
        if isinstance(arguments[0], Literal) and isinstance(arguments[0].value, str) and function.startswith("date"):
            remedy = "Write DATE '2024-12-31', or TIMESTAMP '2024-12-31 18:30'."
        elif isinstance(arguments[0], Call | Case):
            remedy = f"Declare each column in it, for example coalesce({function}(x), {function}(y))."
        raise self._refused(f": {function}(…) says how one column is read, and takes nothing else", remedy)
