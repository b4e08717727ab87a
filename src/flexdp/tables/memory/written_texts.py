"""Texts in memory that are written in a declared way, read as the query reads those in files."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from flexdp._core.calendar import MICROS_PER_DAY, days_since_epoch, micros_since_epoch
from flexdp.buckets.base import LONGEST_TEXT, Kind
from flexdp.tables.date_format import MONTHS, DateFormat
from flexdp.tables.written import WRITTEN, Written

__all__ = ["written_reader"]

_FIRST_OF_1900 = 69  # years of two digits from here on are of the last century, as in files


def written_reader(kind: Kind, written: Written) -> Callable[[str], Any] | None:
    """Return the function that reads a text as a kind, None where it is not so written.

    There is none if nothing is declared about texts of that kind. The function may raise ``ValueError`` instead of
    returning None.

    Examples
    --------
    >>> read = written_reader("number", Written(decimal=",", thousands=".", currency=("€",)))
    >>> read("1.234,5 €"), read("1.5")
    (1234.5, None)
    >>> written_reader("date", Written(dates=DateFormat.parse("%d.%m.%Y")))("2.1.1970")
    1
    """
    if kind in ("date", "datetime") and written.dates is not None:
        return _of_dates(kind, written.dates)
    if kind not in ("number", "integer") or replace(written, dates=None) == WRITTEN:
        return None
    pattern = re.compile(written.number if kind == "number" else written.integer)
    point, others = written.marks[0], written.marks[1:]
    marks = str.maketrans(point, ".", others)

    def read(text: str) -> float | int | None:
        found = _matched(pattern, text)
        if found is None:
            return None
        before, after, digits = (part or "" for part in found.groups()[-3:])
        plain = before + after + digits.translate(marks)
        if kind == "integer":
            return int(plain)
        value = float(plain)
        return value if math.isfinite(value) else None

    return read


def _of_dates(kind: Kind, dates: DateFormat) -> Callable[[str], int | None]:
    pattern = re.compile(dates.pattern)

    def read(text: str) -> int | None:
        found = _matched(pattern, text)
        if found is None:
            return None
        part = dict(zip(dates.parts, found.groups(), strict=True))
        day = dt.date(_year(part), _month(part), int(part["day"]))
        if kind == "date":
            return days_since_epoch(day)
        if not dates.timed:
            return days_since_epoch(day) * MICROS_PER_DAY
        second, fraction = int(part.get("second", 0)), part.get("fraction", "").ljust(6, "0")
        time = dt.time(_hour(part), int(part.get("minute", 0)), second, int(fraction))
        return micros_since_epoch(dt.datetime.combine(day, time))

    return read


def _year(part: dict[str, str]) -> int:
    if "year" in part:
        return int(part["year"])
    short = int(part["short_year"])
    return short + (1900 if short >= _FIRST_OF_1900 else 2000)


def _month(part: dict[str, str]) -> int:
    return int(part["month"]) if "month" in part else 1 + MONTHS.index(part["name"][:3].lower())


def _hour(part: dict[str, str]) -> int:
    if "hour" in part:
        return int(part["hour"])
    return int(part["half_hour"]) % 12 + (12 if part["half"].lower() == "pm" else 0)


def _matched(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    short = len(text) <= LONGEST_TEXT and len(text.encode(errors="replace")) <= LONGEST_TEXT
    return pattern.fullmatch(text) if short else None
