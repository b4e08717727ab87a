"""Formats of dates and datetimes in text, such as ``%d.%m.%Y``: checked, and turned into a pattern with named parts."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass

from flexdp._core.text import is_unicode, plain_scalar, safe_repr
from flexdp.errors import InputError, P

__all__ = ["MONTHS", "DateFormat"]

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
        shown = {
            "d": f"{stamp.day:02}",
            "m": f"{stamp.month:02}",
            "b": MONTHS[stamp.month - 1].capitalize(),
            "B": _NAMES[stamp.month - 1].capitalize(),
            "Y": f"{stamp.year:04}",
            "y": f"{stamp.year % 100:02}",
            "H": f"{stamp.hour:02}",
            "I": f"{(stamp.hour - 1) % 12 + 1:02}",
            "p": "AM" if stamp.hour < 12 else "PM",
            "M": f"{stamp.minute:02}",
            "S": f"{stamp.second:02}",
            "f": f"{stamp.microsecond:06}",
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
