"""From text to tree. Whatever is not in the grammar is refused, with the reason.

    "age>=18 and ward='A'"  ── _tokens_of ─▶  age · >= · 18 · and · ward · = · A  ── _Parser ──▶  And(Compare, Compare)

    test        either      = both {OR both}
                both        = negated {AND negated}
                negated     = NOT negated | compared
                compared    = sum [op sum | IS [NOT] NULL | [NOT] IN (…) | [NOT] BETWEEN sum AND sum | [NOT] LIKE 'x']
    value       sum         = product {+|- product}
                product     = signed {*|/ signed}
                signed      = {+|-} primary
                primary     = (either) | literal | column | function(either, …) | CASE WHEN either THEN either … END

Every rule may give a test or a value, since only what follows a bracket shows which it was: ``_as_test`` and
``_as_value`` check it where it is used. What stands where nothing fits was probably meant to be something, which the
refusal names: a habit of SQL or of another language.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection
from decimal import Decimal
from functools import partial
from typing import NamedTuple, TypeVar

from flexdp._core.text import is_unicode, plain_scalar, safe_repr
from flexdp.errors import InputError
from flexdp.tables.where import tree
from flexdp.tables.where.literals import datetime_of, day_of

__all__ = ["parse_test", "parse_value"]

_T = TypeVar("_T")
_FUNCTIONS = ("year", "month", "seconds", "coalesce", *tree.READINGS)
_LONGEST = 10_000  # characters
_MOST_TOKENS = 4_000
_DEEPEST = 40
_NOUNS = {"where": "a filter", "derive": "a derived column"}
_MOST_ITEMS = 1000
_MOST_OPERATIONS = 100  # of arithmetic
_MOST_DIGITS, _LARGEST_POWER = 40, 400
_COMPARISONS = ("=", "<>", "!=", "<", "<=", ">", ">=")
_TOKEN = re.compile(
    r"""\s*(?:
    (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(?![\w.])
  | (?P<word>[^\W\d]\w*)
  | (?P<name>"(?:[^"]|"")*")
  | (?P<text>'(?:[^']|'')*')
  | (?P<sign><>|!=|<=|>=|[-+*/=<>(),])
    )""",
    re.VERBOSE,
)
_BARE_DAY = re.compile(
    r"\s*(?:([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})|[0-9]{1,2}([./])[0-9]{1,2}\4[0-9]{4})(?![0-9.])", re.ASCII
)
_COMMENT = re.compile(r"\s*(--|/\*)")  # in SQL; read as signs, a comment would be a part of the test

# ---- what was probably meant
_CURLY = "\u2018\u2019\u201a\u201b\u2032\u00b4\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb\u2039\u203a"
_SIGNS = {"\u2265": ">=", "\u2264": "<=", "\u2260": "<>", "\u2212": "-"}
_INSTEAD_OF_SIGN = {
    **{sign: f"Write {ours} instead." for sign, ours in _SIGNS.items()},
    **dict.fromkeys(_CURLY, "Write texts in plain single quotes: 'ICU'."),
    **dict.fromkeys("&|!~", "Combine tests with AND, OR and NOT."),
    **dict.fromkeys("0123456789", "A number is written like 12, 0.5 or 1e6."),
    ".": "A number is written like 12, 0.5 or 1e6, and a column without the name of its table.",
    "%": "There is no remainder operator: use +, -, * and /. Write a pattern in quotes: LIKE 'A%'.",
    ":": "There are no casts: write number(x), date(x) or text(x) for columns that declare no type.",
    ";": "Give one test, not a statement.",
}
_NO_CASTS = (
    "There are no casts: number(x), integer(x), text(x), date(x), datetime(x) and boolean(x) say how a column that "
    "declares no type is read."
)
_SEVERAL = "{} looks at several records; {{noun}} looks at one."
_NO_CLAUSE = "{Noun} is computed from one record and has no clauses."
_WORDS = {
    "select exists": _SEVERAL.format("A subquery"),
    "over": _SEVERAL.format("A window"),
    "limit offset fetch group having order from where join union intersect except with": _NO_CLAUSE,
    "ilike": "Use LIKE, which is case-sensitive, or IN with all spellings.",
}
_FUNCTIONS_OF_OTHERS = {
    "avg mean sum count min max median mode quantile stddev variance first last": _SEVERAL.format("An aggregate"),
    "row_number rank dense_rank ntile lag lead first_value last_value": _SEVERAL.format("A window"),
    "cast try_cast convert to_date to_timestamp strptime timestamp int float double decimal str": _NO_CASTS,
}
_INSTEAD_OF_WORD, _INSTEAD_OF_FUNCTION = (
    {word: remedy for words, remedy in table.items() for word in words.split()}
    for table in (_WORDS, _FUNCTIONS_OF_OTHERS)
)


def parse_test(parameter: str, text: object) -> tree.Test:
    """Parse a filter."""
    return _Parser(parameter, text).whole(_Parser.test)


def parse_value(parameter: str, text: object) -> tree.Value:
    """Parse a derived column."""
    return _Parser(parameter, text).whole(_Parser.value)


class _Token(NamedTuple):
    """One word: its kind (number, word, name, text, sign or end) and its text, unquoted."""

    kind: str
    text: str

    @property
    def shown(self) -> str:
        return "end of the expression" if self.kind == "end" else safe_repr(self.text)


_END = _Token("end", "")


def _tokens_of(parameter: str, given: object) -> list[_Token]:
    """Split a filter into its words."""
    refused = partial(InputError, parameter)
    given = plain_scalar(given)
    if not isinstance(given, str) or not is_unicode(given):
        raise refused("must be a text", given=safe_repr(given), remedy="For example \"ward = 'ICU' AND age >= 18\".")
    if not given.strip():
        raise refused("must not be empty", remedy="Leave it out to count all records.")
    if len(given) > _LONGEST:
        raise refused(f"must have at most {_LONGEST:,} characters")
    tokens, place = [], 0
    while place < len(given.rstrip()):
        if (day := _BARE_DAY.match(given, place)) is not None:  # 2024-03-01 would be 2020
            year, month, of_month, _ = day.groups()
            example = "2024-12-31" if year is None else f"{year}-{month:0>2}-{of_month:0>2}"
            raise refused(": a date is written in quotes, after the word DATE", remedy=f"Write DATE '{example}'.")
        if _COMMENT.match(given, place):
            raise refused(f": {_NOUNS[parameter]} has no comments", remedy="Write a - -b to subtract a negative value.")
        found = _TOKEN.match(given, place)
        if found is None or found.lastgroup is None:
            first = given[place:].lstrip()[0]
            if first in "'\"":
                what = "text" if first == "'" else "column name"
                raise refused(f": a {what} that begins with {first} has no end", remedy=f"Close it with {first}.")
            remedy = _INSTEAD_OF_SIGN.get(
                first, 'Column names that are not plain words stand in double quotes: "my column".'
            )
            if unicodedata.category(first) == "Sc":
                remedy = "Numbers are written without currency signs, like 12 or 0.5."
            raise refused(f": unexpected character {safe_repr(first)}", remedy=remedy)
        kind, text = found.lastgroup, found.group(found.lastgroup)
        quoted = kind in ("name", "text")
        tokens.append(_Token(kind, text[1:-1].replace(text[0] * 2, text[0]) if quoted else text))
        place = found.end()
        if len(tokens) > _MOST_TOKENS:
            raise refused(f"must have at most {_MOST_TOKENS:,} words")
    return [*tokens, _END]


class _Parser:
    """A recursive descent over the words, without backtracking: what a node is, is checked where it is used."""

    def __init__(self, parameter: str, text: object) -> None:
        self._refused = partial(InputError, parameter)
        self._tokens = _tokens_of(parameter, text)
        self._noun = _NOUNS[parameter]
        self._place = self._depth = self._operations = 0

    def test(self) -> tree.Test:
        return self._as_test(self._either())

    def value(self) -> tree.Value:
        return self._as_value(self._either())

    def whole(self, part: Callable[[_Parser], _T]) -> _T:
        """Parse the whole text: nothing may follow."""
        node = part(self)
        if self._next != _END:
            raise self._unexpected()
        return node

    # ---- words

    @property
    def _next(self) -> _Token:
        return self._tokens[self._place]

    def _is(self, *words: str) -> bool:
        """Tell whether these words come next."""
        ahead = self._tokens[self._place : self._place + len(words)]
        return [(token.kind in ("word", "sign"), token.text.upper()) for token in ahead] == [(True, w) for w in words]

    def _take(self, *words: str) -> bool:
        taken = self._is(*words)
        self._place += len(words) * taken
        return taken

    def _take_sign(self, signs: Collection[str]) -> str:
        """Take one of some signs; empty if another word comes next."""
        if self._next.kind != "sign" or self._next.text not in signs:
            return ""
        self._place += 1
        return self._tokens[self._place - 1].text

    def _need(self, word: str) -> None:
        if not self._take(word):
            found = "the end" if self._next == _END else self._next.shown
            raise self._refused(f": expected {word}, not {found}", remedy=self._unexpected().remedy)

    def _text(self, what: str) -> str:
        if self._next.kind != "text":
            raise self._refused(f": expected {what} in single quotes, not {self._next.shown}")
        self._place += 1
        return self._tokens[self._place - 1].text

    def _instead(self, remedy: str) -> str:
        return remedy.format(noun=self._noun, Noun=self._noun.capitalize())

    def _unexpected(self) -> InputError:
        """Return why the next word does not fit, and what it was probably meant to be."""
        token, before = self._next, self._tokens[self._place - 1] if self._place else _END
        word = token.text.lower() if token.kind == "word" else ""
        rule, remedy = f": unexpected {token.shown}", ""
        if word in _INSTEAD_OF_WORD:
            rule = ": there is no operator ILIKE" if word == "ilike" else rule
            remedy = self._instead(_INSTEAD_OF_WORD[word])
        elif word == "not" and before.kind not in ("sign", "end"):
            remedy = "Write NOT age = 3, or age NOT IN (3)."
        elif before == ("sign", "=") and token.kind == "sign" and token.text in ("=", ">", "<"):
            op = token.text
            remedy = "Equality is written with one =." if op == "=" else f"Write {op}= instead of ={op}."
        elif before.kind in ("word", "name") and token.kind in ("word", "name", "number", "text"):
            rule = f"{rule} after {before.shown}"
            remedy = 'An operator is missing, or a column name of several words is not in double quotes: "my column".'
            if before.kind == "word" and before.text.lower() == "where":
                remedy = "Write the test alone, without WHERE."
        elif token == ("sign", ",") and before.kind == self._tokens[self._place + 1].kind == "number":
            whole = re.sub(r"^([0-9]{1,3})\.(?=[0-9]{3}$)", r"\1", before.text)  # a point between thousands
            remedy = f"{f'Decimals are written with a point: {whole}.{self._tokens[self._place + 1].text}'[:100]}."
        return self._refused(rule, remedy=remedy)

    # ---- tests

    def _as_test(self, node: tree.Node) -> tree.Test:
        if isinstance(node, tree.Test):
            return node
        if self._next.kind in ("word", "name", "number", "text"):
            raise self._unexpected()  # which is why it is none
        raise self._refused(
            ": a column or a number is not a test", remedy="Compare it with something, for example smoker = TRUE."
        )

    def _as_value(self, node: tree.Node) -> tree.Value:
        if isinstance(node, tree.Value):
            return node
        raise self._refused(
            ": a value is needed here, not a test", remedy="A test becomes a value by CASE WHEN … THEN … END."
        )

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._refused(f"must not be nested more than {_DEEPEST} deep")

    def _either(self) -> tree.Node:
        self._deeper()
        node = self._joined("OR", tree.Or, lambda: self._joined("AND", tree.And, self._negated))
        self._depth -= 1
        return node

    def _joined(self, word: str, join: type[tree.And | tree.Or], part: Callable[[], tree.Node]) -> tree.Node:
        tests = [part()]
        while self._take(word):
            tests.append(part())
        return tests[0] if len(tests) == 1 else join(tuple(map(self._as_test, tests)))

    def _negated(self) -> tree.Node:
        if not self._take("NOT"):
            return self._compared()
        self._deeper()
        test = self._as_test(self._negated())
        self._depth -= 1
        return tree.Not(test)

    def _compared(self) -> tree.Node:
        left = self._sum()
        if op := self._take_sign(_COMPARISONS):
            right = self._as_value(self._sum())
            if self._take_sign(_COMPARISONS):
                raise self._refused(": comparisons are not chained", remedy="Write a < b AND b < c.")
            return tree.Compare("<>" if op == "!=" else op, self._as_value(left), right)
        if self._take("IS"):
            negated = self._take("NOT")
            if not self._take("NULL"):
                word = self._next.text.upper()
                remedy = "Write = for other comparisons; NaN is treated as a missing value."
                if self._is("TRUE") or self._is("FALSE"):
                    remedy = f"Write = {word}, or <> {word}."
                raise self._refused(": IS is followed by NULL or NOT NULL only", remedy=remedy)
            return tree.IsNull(self._as_value(left), negated)
        negated = any(self._is("NOT", word) for word in ("IN", "BETWEEN", "LIKE")) and self._take("NOT")
        if self._take("IN"):
            return tree.In(self._as_value(left), self._items(), negated)
        if self._take("BETWEEN"):
            low = self._as_value(self._sum())
            self._need("AND")
            return tree.IsBetween(self._as_value(left), low, self._as_value(self._sum()), negated)
        return self._like(self._as_value(left), negated) if self._take("LIKE") else left

    def _items(self) -> tuple[tree.Value, ...]:
        self._need("(")
        if self._is(")"):
            raise self._refused(": a list after IN must not be empty", remedy="For example ward IN ('A', 'B').")
        items = self._listed(self._sum)
        if len(items) > _MOST_ITEMS:
            raise self._refused(f": a list has at most {_MOST_ITEMS} values")
        if not all(isinstance(item, tree.Literal) for item in items):
            raise self._refused(": a list after IN may contain only numbers, texts, dates and booleans, not columns")
        return items

    def _listed(self, part: Callable[[], tree.Node]) -> tuple[tree.Value, ...]:
        values = [self._as_value(part())]
        while self._take(","):
            values.append(self._as_value(part()))
        self._need(")")
        return tuple(values)

    def _like(self, value: tree.Value, negated: bool) -> tree.Like:
        pattern = self._text("a pattern")
        if not self._take("ESCAPE"):
            return tree.Like(value, pattern, None, negated)
        escape = self._text("one character")
        if len(escape) != 1:
            raise self._refused(": ESCAPE is followed by one character")
        if escape in re.sub(rf"{re.escape(escape)}[{re.escape(escape)}%_]", "", pattern):
            raise self._refused(": in a pattern the escape character stands before %, _ or itself only")
        return tree.Like(value, pattern, escape, negated)

    # ---- values

    def _sum(self) -> tree.Node:
        return self._computed("+-", lambda: self._computed("*/", self._signed))

    def _computed(self, signs: str, part: Callable[[], tree.Node]) -> tree.Node:
        left = part()
        while op := self._take_sign(signs):
            right = part()
            self._operations += 1
            if self._operations > _MOST_OPERATIONS:
                raise self._refused(f"must have at most {_MOST_OPERATIONS} sums, differences, products and quotients")
            left = tree.Arithmetic(op, self._as_value(left), self._as_value(right))
        return left

    def _signed(self) -> tree.Node:
        signs = []
        while sign := self._take_sign("+-"):
            signs.append(sign)
        if not signs:
            return self._primary()
        value = self._as_value(self._primary())
        if signs.count("-") % 2 == 0:
            return value
        if isinstance(value, tree.Literal) and isinstance(value.value, Decimal):
            return tree.Literal(value.value.copy_negate())
        return tree.Negative(value)

    def _primary(self) -> tree.Node:
        token, word = self._next, self._next.text.upper() if self._next.kind == "word" else ""
        if self._take("("):
            if self._is("SELECT"):
                raise self._unexpected()
            node = self._either()
            self._need(")")
            return node
        if token.kind in ("sign", "end") or (word in tree.RESERVED and word not in ("TRUE", "FALSE", "CASE", "NULL")):
            raise self._unexpected()
        self._place += 1
        if token.kind in ("number", "text"):
            return tree.Literal(token.text if token.kind == "text" else self._number(token.text))
        if token == ("name", ""):
            raise self._refused(": a column name must not be empty")
        if token.kind == "name":
            return tree.Name(token.text)
        if word in ("TRUE", "FALSE"):
            return tree.Literal(word == "TRUE")
        if word == "CASE":
            return self._case()
        if word == "NULL":
            raise self._refused(": nothing is equal to NULL", remedy="Write column IS NULL, or column IS NOT NULL.")
        if word in ("DATE", "TIMESTAMP") and self._next.kind == "text":
            return self._time(word)
        return self._call(token.text) if self._is("(") else tree.Name(token.text)

    def _number(self, text: str) -> Decimal:
        mantissa, _, power = text.lower().partition("e")
        if len(mantissa.replace(".", "").strip("0")) > _MOST_DIGITS or len(mantissa) > 3 * _MOST_DIGITS:
            raise self._refused(f": a number has at most {_MOST_DIGITS} digits")
        number = Decimal(text if len(power) <= 5 else f"1e{_LARGEST_POWER + 1}")
        written = str(number).lower().partition("e")[2]  # its own words have another exponent
        if any(each and abs(int(each)) > _LARGEST_POWER for each in (power[:6], written)):
            raise self._refused(f": the exponent of a number must lie between −{_LARGEST_POWER} and {_LARGEST_POWER}")
        return number

    def _time(self, word: str) -> tree.Literal:
        text = self._text("a time")
        found = day_of(text) if word == "DATE" else datetime_of(text)
        if found is None:
            example = "'2024-12-31', with a day" if word == "DATE" else "'2024-12-31 18:30', with a day and a time"
            raise self._refused(f": a {word} is written {word} {example} that exist{'s' * (word == 'DATE')}")
        return tree.Literal(found)

    def _case(self) -> tree.CaseWhen:
        branches = []
        while self._take("WHEN"):
            test = self.test()
            self._need("THEN")
            branches.append((test, self.value()))
        if not branches:
            raise self._refused(": CASE is followed by WHEN", remedy="Write CASE WHEN age < 18 THEN 0 ELSE 1 END.")
        otherwise = self.value() if self._take("ELSE") else None
        self._need("END")
        return tree.CaseWhen(tuple(branches), otherwise)

    def _call(self, name: str) -> tree.Call:
        function = name.lower()
        if function not in _FUNCTIONS:
            remedy = _INSTEAD_OF_FUNCTION.get(function, f"The functions are {', '.join(_FUNCTIONS)}.")
            raise self._refused(f": there is no function {safe_repr(name)} here", remedy=self._instead(remedy))
        self._need("(")
        arguments = self._listed(self._either)
        if function == "coalesce" and len(arguments) < 2:
            raise self._refused(": coalesce needs two values or more", remedy="For example coalesce(discount, 0).")
        days = function == "date" and tree.is_reading(arguments[0]) and arguments[0].function == "datetime"
        if function in tree.READINGS and not (len(arguments) == 1 and (days or isinstance(arguments[0], tree.Name))):
            remedy, first = f"For example {function}(x).", arguments[0]
            if isinstance(first, tree.Literal) and isinstance(first.value, str) and function in ("date", "datetime"):
                remedy = "Write DATE '2024-12-31', or TIMESTAMP '2024-12-31 18:30'."
            elif isinstance(first, tree.Call | tree.CaseWhen):
                remedy = f"Declare each column in it, for example coalesce({function}(x), {function}(y))."
            raise self._refused(f": {function}(…) says how one column is read, and takes nothing else", remedy=remedy)
        if function != "coalesce" and len(arguments) != 1:
            raise self._refused(f": {function} needs one date, for example {function}(day)")
        return tree.Call(function, arguments)
