"""The words of a filter: names, numbers, texts and signs."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from flexdp._core.text import is_unicode, plain_scalar, safe_repr
from flexdp.errors import InputError, Phrase

__all__ = ["LONGEST", "Token", "refused", "tokens_of"]

LONGEST = 10_000  # characters
_MOST_TOKENS = 4_000
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
    r"\s*(?:([0-9]{4}-[0-9]{1,2}-[0-9]{1,2})|[0-9]{1,2}([./])[0-9]{1,2}\2[0-9]{4})(?![0-9.])", re.ASCII
)
_COMMENT = re.compile(r"\s*(--|/\*)")  # in SQL; read as signs, a comment would be a part of the test
_CURLY = "\u2018\u2019\u201a\u201b\u2032\u00b4\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb\u2039\u203a"
_SIGNS_OF_OTHERS = {"\u2265": ">=", "\u2264": "<=", "\u2260": "<>", "\u2212": "-", "\u00d7": "*", "\u00f7": "/"}


class Token(NamedTuple):
    """One word: its kind (number, word, name, text, sign or end) and its text, unquoted."""

    kind: str
    text: str

    @property
    def shown(self) -> str:
        """The word as a message repeats it."""
        return "end of the expression" if self.kind == "end" else safe_repr(self.text)


def refused(parameter: str, rule: Phrase, *, given: str | None = None, remedy: Phrase = "") -> InputError:
    """Return the refusal of a filter or a derived column."""
    return InputError(parameter, rule, given=given, remedy=remedy)


def tokens_of(parameter: str, given: object) -> list[Token]:
    """Split a filter into its words."""
    given = plain_scalar(given)
    if not isinstance(given, str) or not is_unicode(given):
        raise refused(
            parameter,
            "must be a text",
            given=safe_repr(given),
            remedy="For example \"ward = 'ICU' AND age >= 18\".",
        )
    if not given.strip():
        raise refused(parameter, "must not be empty", remedy="Leave it out to count all records.")
    if len(given) > LONGEST:
        raise refused(parameter, f"must have at most {LONGEST:,} characters")
    out, place = [], 0
    while place < len(given.rstrip()):
        day = _BARE_DAY.match(given, place)
        if day is not None:
            raise _bare_day(parameter, day.group(1))
        found = _TOKEN.match(given, place)
        if _COMMENT.match(given, place):
            raise refused(
                parameter,
                f": a {'filter' if parameter == 'where' else 'derived column'} has no comments",
                remedy="Write a - -b to subtract a negative value.",
            )
        if found is None or not found.lastgroup:
            raise _unknown(parameter, given[place:].lstrip())
        kind = found.lastgroup
        text = found.group(kind)
        out.append(Token(kind, text[1:-1].replace(text[0] * 2, text[0]) if kind in ("name", "text") else text))
        place = found.end()
        if len(out) > _MOST_TOKENS:
            raise refused(parameter, f"must have at most {_MOST_TOKENS:,} words")
    return [*out, Token("end", "")]


def _bare_day(parameter: str, written: str | None) -> InputError:
    """Refuse a date that would be read as arithmetic: 2024-03-01 would be 2020."""
    example = "2024-12-31"
    if written is not None:
        year, month, day = written.split("-")
        example = f"{year}-{month:0>2}-{day:0>2}"
    return refused(parameter, ": a date stands in quotes, after the word DATE", remedy=f"Write DATE '{example}'.")


def _unknown(parameter: str, rest: str) -> InputError:
    first = rest[0]
    if first in "'\"":
        what = "text" if first == "'" else "column name"
        return refused(parameter, f": a {what} that begins with {first} has no end", remedy=f"Close it with {first}.")
    remedy = 'Column names that are not plain words stand in double quotes: "my column".'
    if first in _SIGNS_OF_OTHERS:
        remedy = f"Write {_SIGNS_OF_OTHERS[first]} instead."
    if unicodedata.category(first) == "Sc":
        remedy = "Numbers are written without currency signs, like 12 or 0.5."
    if first == ".":
        remedy = "A number is written like 12, 0.5 or 1e6, and a column without the name of its table."
    if first.isdecimal():
        remedy = "A number is written like 12, 0.5 or 1e6."
    if first in "&|!~":
        remedy = "Combine tests with AND, OR and NOT."
    if first == "%":
        remedy = (
            "There is no remainder: the arithmetic operators are +, -, * and /. A pattern stands in quotes: LIKE 'A%'."
        )
    if first == ":":
        remedy = "There are no casts: write number(x), date(x) or text(x) for columns that declare no type."
    if first in _CURLY:
        remedy = "Texts stand in plain single quotes: 'ICU'."
    if first == "`":
        remedy = 'Column names stand in double quotes: "my column".'
    if first == ";":
        remedy = "One test is given, not a statement."
    return refused(parameter, f": unexpected character {safe_repr(first)}", remedy=remedy)
