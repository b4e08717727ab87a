"""How cells of text are written, as the caller declares it: decimal and thousands marks, currency signs, dates.

Nothing is guessed: a cell that is not written as declared is missing. The patterns are read alike by RE2 and by
Python's ``re``.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from functools import cached_property

from flexdp._core.domains import choice, sequence
from flexdp._core.text import is_unicode, plain_scalar, safe_repr
from flexdp.buckets.base import Kind
from flexdp.errors import InputError, P

__all__ = [
    "BLANKS", "BOOLEAN", "DATE", "DATETIME", "INTEGER", "MONTHS", "NUMBER", "WRITTEN", "ZONED_DATETIME", "DateFormat",
    "Written", "may_be_typed", "read_written", "refuse_offsets",
]  # fmt: skip

BLANKS = " \t\u00a0\u202f\u2009"  # with the blanks that do not break, which exports put before a currency sign
_DECIMALS = (".", ",")
_THOUSANDS = {  # marks that exports use for one another are one
    ",": ",",
    ".": ".",
    " ": " \u00a0\u202f\u2009",
    "'": "'\u2019",
    "_": "_",
}
_LONGEST_SIGN = 8
_MOST_SIGNS = 20
_NO_SIGN = re.compile(r"[0-9+\-.,'\"()\s]")
_EXPONENT = r"(?:[eE][+-]?[0-9]{1,5})?"
_NUMERIC = r"[+-]?[0-9]*\.?[0-9]*(?:[eE][+-]?[0-9]+)?"
_EXAMPLES: dict[Kind, str] = {
    "number": "numbers written like {}",
    "integer": "whole numbers written like {}",
    "date": "dates written like 2024-12-31",
    "datetime": "datetimes written like 2024-12-31T18:30",
    "boolean": "true or false",
}


@dataclass(frozen=True, kw_only=True)
class Written:
    """The declared way in which cells of text are written.

    Parameters
    ----------
    decimal
        The decimal mark.
    thousands
        The mark between groups of digits; None if there is none.
    currency
        Signs that may stand before or after a number.
    dates
        The format of dates and datetimes; None for ISO 8601.

    Examples
    --------
    >>> german = Written(decimal=",", thousands=".", currency=("€",))
    >>> [bool(re.fullmatch(german.number, cell)) for cell in ("1.234,5 €", "-3", "12.5", "1.234.567")]
    [True, True, False, True]
    >>> german.example("number"), german.example("date")
    ('numbers written like 1.234,5 or € 1.234,5', 'dates written like 2024-12-31')
    """

    decimal: str = "."
    thousands: str | None = None
    currency: tuple[str, ...] = ()
    dates: DateFormat | None = None

    @cached_property
    def number(self) -> str:
        """Pattern of a number; its groups are the sign, before or after a currency sign, and the digits."""
        point = re.escape(self.decimal)
        return self._framed(rf"(?:{self._whole('+')}(?:{point}[0-9]*)?|{point}[0-9]+){_EXPONENT}", "")

    @cached_property
    def integer(self) -> str:
        """Pattern of a whole number; its groups are the sign, before or after a currency sign, and the digits."""
        return self._framed(self._whole("{1,37}"), rf"(?:{re.escape(self.decimal)}0*)?")

    @cached_property
    def whole(self) -> str:
        """Pattern of a whole number of any length."""
        return self._framed(self._whole("+"), rf"(?:{re.escape(self.decimal)}0*)?")

    @property
    def marks(self) -> str:
        """The decimal mark, and then everything to be left out of the digits."""
        return self.decimal + ("" if self.thousands is None else _THOUSANDS[self.thousands])

    def _whole(self, digits: str) -> str:
        if self.thousands is None:
            return f"[0-9]{digits}"
        mark = f"[{_THOUSANDS[self.thousands]}]"
        # Groups of two are India's. The last has three digits, so that no decimal comma passes for a thousands mark.
        return f"(?:[0-9]{{1,3}}(?:{mark}[0-9]{{2,3}}){{0,10}}{mark}[0-9]{{3}}|[0-9]{digits})"

    def _framed(self, digits: str, rest: str) -> str:
        blanks = f"[{BLANKS}]*"
        if not self.currency:
            return f"{blanks}([+-]?)()({digits}){rest}{blanks}"
        sign = "(?:" + "|".join(map(re.escape, sorted(self.currency, key=len, reverse=True))) + ")"
        before = f"(?:([+-]?)(?:{sign}{blanks})?|{sign}{blanks}([+-]))"
        return f"{blanks}{before}({digits}){rest}(?:{blanks}{sign})?{blanks}"

    def misread(self, kind: Kind) -> str | None:
        """Return the parameter by which a text means another value than the one that pandas would make of it."""
        if kind in ("integer", "number") and self.decimal != ".":
            return "decimal"
        if kind in ("date", "datetime") and self.dates is not None:
            other = not self.dates.text.startswith("%Y-%m-%d") and re.fullmatch(self.dates.pattern, "2024-05-11")
            if other or re.fullmatch(_NUMERIC, self.dates.example):
                return "date_format"
        return None

    def example(self, kind: Kind) -> str:
        """Say how cells of a kind are written; the kind must not be "text"."""
        if self.dates is not None and kind in ("date", "datetime"):
            return f"{kind}s written like {self.dates.example}"
        mark = self.thousands or ""
        digits = f"1{mark}234" if kind == "integer" else f"1{mark}234{self.decimal}5"
        signed = "".join(f" or {sign} {digits}" for sign in self.currency[:1])
        return _EXAMPLES[kind].format(digits + signed)


WRITTEN = Written()


def read_written(
    *, decimal: object = None, thousands: object = None, currency: object = None, date_format: object = None
) -> Written:
    """Check how the caller says that cells are written.

    Parameters
    ----------
    decimal
        The decimal mark, "." or ",".
    thousands
        The mark between thousands.
    currency
        A currency sign or another unit that may stand beside numbers, or a list of them.
    date_format
        The format of dates and datetimes, in the directives of :meth:`datetime.datetime.strptime`.

    Returns
    -------
    Written
        The declared way.

    Raises
    ------
    InputError
        If one of them is not valid, or they do not fit together.

    Examples
    --------
    >>> read_written(decimal=",", currency="€").marks
    ','
    >>> read_written(thousands=".")
    Traceback (most recent call last):
    flexdp.errors.InputError: thousands must differ from the decimal mark; got '.'. Set decimal=',' as well.
    """
    point = "." if decimal is None else choice("decimal", decimal, _DECIMALS)
    mark = None if thousands is None else choice("thousands", thousands, tuple(_THOUSANDS))
    if mark == point:
        other = _DECIMALS[1 - _DECIMALS.index(point)]
        raise InputError(
            "thousands",
            "must differ from the decimal mark",
            given=repr(mark),
            remedy=("Set ", P("decimal", other), " as well."),
        )
    dates = None if date_format is None else DateFormat.parse(date_format)
    return Written(decimal=point, thousands=mark, currency=_signs(currency), dates=dates)


def refuse_offsets(written: Written) -> None:
    """Refuse a format with an offset where datetimes have types of their own."""
    if written.dates is not None and written.dates.zoned:
        raise InputError(
            "date_format",
            "must not contain %z here: offsets are read in CSV, JSON and Excel files only",
            given=safe_repr(written.dates.text),
            remedy="Convert the column to datetimes with a time zone.",
        )


def _signs(currency: object) -> tuple[str, ...]:
    if currency is None:
        return ()
    given = plain_scalar(currency)
    listed = [given] if isinstance(given, str) else sequence(currency)
    if not listed or len(listed) > _MOST_SIGNS:
        raise InputError(
            "currency", f"must be a sign, or a list of 1 to {_MOST_SIGNS} signs", given=safe_repr(currency)
        )
    signs = [plain_scalar(each) for each in listed]
    for sign in signs:
        known = isinstance(sign, str) and 0 < len(sign) <= _LONGEST_SIGN and sign.isprintable() and is_unicode(sign)
        if not known or _NO_SIGN.search(str(sign).rstrip(".")) or str(sign).lower() in ("e", "."):
            raise InputError(
                "currency",
                f"must be a short sign such as '€', 'USD' or 'kr.', without digits, blanks or quotes and of at most "
                f"{_LONGEST_SIGN} characters",
                given=safe_repr(sign),
            )
    return tuple(dict.fromkeys(str(sign) for sign in signs))


NUMBER = r"[ \t]*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,5})?[ \t]*"
INTEGER = r"[ \t]*[+-]?[0-9]{1,37}(\.0*)?[ \t]*"  # many exports write 54 as 54.0
BOOLEAN = r"[ \t]*([Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee])[ \t]*"
DATE = r"[ \t]*[0-9]{4}-[0-9]{2}-[0-9]{2}[ \t]*"
DATETIME = r"[ \t]*[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?[ \t]*"
ZONED_DATETIME = (  # groups: the datetime, then sign, hours and minutes of its offset from UTC
    r"[ \t]*([0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?) ?"
    r"(?:Z|([+-])([01][0-9]|2[0-3])(?::?([0-5][0-9]))?)[ \t]*"
)

_TYPED = re.compile(
    r"[+-]?(?=[.,'_ ]*[0-9])[0-9.,'_ ]+(?:e[+-]?[0-9]+)?"  # numbers, with all marks that a parser may be told of
    r"|[+-]?(?:inf|infinity|nan)|true|false"
    r"|(?:[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}|[0-9]{4}[-/.][0-9]{1,2})"  # dates, with or without a time
    r"(?:[T ] ?[0-9]{1,2}(?::?[0-9]{2}){0,2}(?:[.,][0-9]+)? ?(?:[ap]m)? ?(?:Z|UTC|[+-][0-9]{2}(?::?[0-9]{2})?)?)?"
    r"|[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:[.][0-9]+)?)?",
    re.ASCII | re.IGNORECASE,
)


def may_be_typed(text: str) -> bool:
    """Tell whether a library that infers types may hold a text as a number, a date or a boolean instead.

    Parameters
    ----------
    text
        The text of a cell.

    Returns
    -------
    bool
        True if it reads as one of these; then nobody knows how it was once written.

    Examples
    --------
    >>> [may_be_typed(text) for text in ("07", "1.234,5", "1e5", "TRUE", "2024-05-11", "11/05/2024 10:30", "-Infinity")]
    [True, True, True, True, True, True, True]
    >>> [may_be_typed(text) for text in ("A7", "e7", "5 mg", "B-12", "", "-", "May", "030/77")]
    [False, False, False, False, False, False, False, False]
    """
    return _TYPED.fullmatch(text.strip()) is not None


MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAMES = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_LONGEST = 40
_SHOWN = dt.datetime(2024, 12, 31, 18, 30, tzinfo=dt.timezone(dt.timedelta(hours=1)))  # in examples


def _any_case(words: tuple[str, ...]) -> str:
    return "|".join("".join(f"[{letter.upper()}{letter}]" for letter in word) for word in words)


# Of each directive: the part that it gives, its pattern, and its pattern where nothing separates it from another.
_DIRECTIVES: dict[str, tuple[str, str, str]] = {
    "d": ("day", "0?[1-9]|[12][0-9]|3[01]", "0[1-9]|[12][0-9]|3[01]"),
    "m": ("month", "0?[1-9]|1[0-2]", "0[1-9]|1[0-2]"),
    "b": ("name", _any_case(MONTHS), _any_case(MONTHS)),
    "B": ("name", _any_case(_NAMES), _any_case(_NAMES)),
    "Y": ("year", "[0-9]{4}", "[0-9]{4}"),
    "y": ("short_year", "[0-9]{2}", "[0-9]{2}"),
    "H": ("hour", "[01]?[0-9]|2[0-3]", "[01][0-9]|2[0-3]"),
    "I": ("half_hour", "0?[1-9]|1[0-2]", "0[1-9]|1[0-2]"),
    "p": ("half", "[AaPp][Mm]", "[AaPp][Mm]"),
    "M": ("minute", "[0-5]?[0-9]", "[0-5][0-9]"),
    "S": ("second", "[0-5]?[0-9]", "[0-5][0-9]"),
    "f": ("fraction", "[0-9]{1,6}", "[0-9]{6}"),
    "z": ("offset", "Z|[+-](?:[01][0-9]|2[0-3]):?[0-5][0-9]", "Z|[+-](?:[01][0-9]|2[0-3]):?[0-5][0-9]"),
}
_CHOICES = (("day",), ("month", "name"), ("year", "short_year"))  # one of each must be there
_NEEDS = {"half_hour": "half", "half": "half_hour", "minute": "hour", "second": "minute", "fraction": "second"}
_PIECE = re.compile(r"%(.?)|([^%]+)", re.DOTALL)
_DIGITS = "dmYyHIMSf"  # directives that give digits only


@dataclass(frozen=True)
class DateFormat:
    """A checked format.

    Parameters
    ----------
    text
        The format as given.
    pattern
        The pattern of a cell, with a group for each part.
    parts
        The names of the groups, in their order.

    Examples
    --------
    >>> german = DateFormat.parse("%d.%m.%Y")
    >>> german.parts, german.example, german.timed
    (('day', 'month', 'year'), '31.12.2024', False)
    >>> re.fullmatch(german.pattern, "1.2.2024").groups()
    ('1', '2', '2024')
    """

    text: str
    pattern: str
    parts: tuple[str, ...]

    @classmethod
    def parse(cls, given: object) -> DateFormat:
        """Check a format.

        Parameters
        ----------
        given
            The format, in directives of :meth:`datetime.datetime.strptime`.

        Returns
        -------
        DateFormat
            The checked format.

        Raises
        ------
        InputError
            If a directive is unknown or repeated, or the parts of a date are not complete.
        """
        text = plain_scalar(given)
        if not isinstance(text, str) or not 0 < len(text) <= _LONGEST or not text.isprintable() or not is_unicode(text):
            raise _refused(given, f"must be a text of at most {_LONGEST} characters, such as '%d.%m.%Y'")
        pieces = _pieces(text)
        found = [directive for directive, _ in pieces if directive is not None]
        unknown = next((each for each in found if each not in _DIRECTIVES), None)
        if unknown is not None:
            known = " ".join(f"%{each}" for each in _DIRECTIVES)
            raise _refused(given, f"contains %{unknown if unknown.isprintable() else '?'}; known are {known} and %%")
        parts = tuple(_DIRECTIVES[each][0] for each in found)
        _check_parts(given, parts)
        pattern = "".join(
            re.escape(literal) if directive is None else f"({_DIRECTIVES[directive][_width(pieces, place)]})"
            for place, (directive, literal) in enumerate(pieces)
        )
        return cls(text, rf"[ \t]*{pattern}[ \t]*", parts)

    @property
    def timed(self) -> bool:
        """True if there is a time of day."""
        return "hour" in self.parts or "half_hour" in self.parts

    @property
    def zoned(self) -> bool:
        """True if there is an offset from UTC."""
        return "offset" in self.parts

    @property
    def example(self) -> str:
        """A datetime so written."""
        return self.write(_SHOWN)

    def write(self, stamp: dt.datetime) -> str:
        """Return a datetime so written, whatever the locale.

        Parameters
        ----------
        stamp
            The datetime; without a time zone, its offset is written as UTC's.

        Returns
        -------
        str
            The text, which :attr:`pattern` matches.
        """
        minutes = int((stamp.utcoffset() or dt.timedelta()).total_seconds()) // 60
        shown = {each: format(stamp, f"%{each}") for each in "dmyHIMSf"} | {
            "b": MONTHS[stamp.month - 1].capitalize(),
            "B": _NAMES[stamp.month - 1].capitalize(),
            "Y": f"{stamp.year:04}",
            "p": "AM" if stamp.hour < 12 else "PM",
            "z": f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}",
        }
        return "".join(literal if directive is None else shown[directive] for directive, literal in _pieces(self.text))


def _pieces(text: str) -> list[tuple[str | None, str]]:
    """Split a format into directives and literals; a lone % at the end is an empty directive."""
    found = [match.groups() for match in _PIECE.finditer(text)]
    return [(None, "%") if directive == "%" else (directive, literal or "") for directive, literal in found]


def _width(pieces: list[tuple[str | None, str]], place: int) -> int:
    """Return 2, for all digits, if nothing separates a directive's digits from others, else 1."""
    before, after = (pieces[at : at + 1] if at >= 0 else [] for at in (place - 1, place + 1))
    touching = [literal[-1:] if name is None else name in _DIGITS for name, literal in before]
    touching += [literal[:1] if name is None else name in _DIGITS for name, literal in after]
    return 2 if any(each is True or (isinstance(each, str) and each.isdigit()) for each in touching) else 1


def _check_parts(given: object, parts: tuple[str, ...]) -> None:
    if len(set(parts)) < len(parts):
        raise _refused(given, "names a part of the date twice")
    if any(len([part for part in choices if part in parts]) != 1 for choices in _CHOICES):
        raise _refused(given, "must name day, month and year, each once")
    if "hour" in parts and "half_hour" in parts:
        raise _refused(given, "must name the hour once: %H, or %I with %p")
    for part, needed in _NEEDS.items():
        if part in parts and needed not in parts and not (needed == "hour" and "half_hour" in parts):
            raise _refused(given, "must name the larger parts of a time before the smaller: %H:%M:%S, or %I:%M %p")


def _refused(given: object, rule: str) -> InputError:
    return InputError(
        "date_format",
        rule,
        given=safe_repr(given),
        remedy=("For example, ", P("date_format", "%d.%m.%Y"), " or ", P("date_format", "%m/%d/%Y %I:%M %p"), "."),
    )
