"""Dates as days, datetimes as microseconds since 1970-01-01; months of the calendar; time zones as public tables.

The table of a time zone comes from Python's own time zone data and becomes part of the query, so that every engine
reads a datetime alike. It is complete from 1900 to 2100; before and after, the first and the last offset apply.
"""

from __future__ import annotations

import datetime as dt
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
from numpy.typing import NDArray

from flexdp._core.text import safe_repr
from flexdp.errors import InputError

__all__ = [
    "DAYS_FROM_MARCH_0",
    "FIRST_DATETIME",
    "FIRST_DAY",
    "LAST_DATETIME",
    "LAST_DAY",
    "MICROSECOND",
    "MICROS_PER_DAY",
    "check_zone",
    "date_at",
    "datetime_at",
    "days_since_epoch",
    "first_day",
    "micros_since_epoch",
    "month_number",
    "month_numbers",
    "month_start",
    "offsets",
]

_EPOCH = dt.datetime(1970, 1, 1)
_EPOCH_DAY = _EPOCH.toordinal()
MICROSECOND = dt.timedelta(microseconds=1)
MICROS_PER_DAY = dt.timedelta(days=1) // MICROSECOND
FIRST_DAY, LAST_DAY = dt.date.min.toordinal() - _EPOCH_DAY, dt.date.max.toordinal() - _EPOCH_DAY
FIRST_DATETIME, LAST_DATETIME = FIRST_DAY * MICROS_PER_DAY, (LAST_DAY + 1) * MICROS_PER_DAY - 1
DAYS_FROM_MARCH_0 = 719468  # from 1 March of the year 0 to 1970-01-01

_FIRST_OFFSET, _LAST_OFFSET = dt.datetime(1900, 1, 1, tzinfo=dt.UTC), dt.datetime(2100, 1, 1, tzinfo=dt.UTC)
_STEP = dt.timedelta(days=5)  # no zone has changed its clocks and back within less
_SECOND = dt.timedelta(seconds=1)


def days_since_epoch(day: dt.date) -> int:
    """Return the number of days since 1970-01-01.

    >>> days_since_epoch(dt.date(1970, 1, 2)), days_since_epoch(dt.datetime(1969, 12, 31, 18))
    (1, -1)
    """
    return day.toordinal() - _EPOCH_DAY


def micros_since_epoch(moment: dt.datetime) -> int:
    """Return the number of microseconds since 1970-01-01 on the clock that the datetime shows.

    >>> micros_since_epoch(dt.datetime(1970, 1, 1, 0, 0, 1))
    1000000
    """
    return (moment.replace(tzinfo=None) - _EPOCH) // MICROSECOND


def date_at(day: int) -> dt.date:
    """Return the date of a day number, or the nearest one of the years 1 to 9999."""
    return dt.date.fromordinal(min(max(day, FIRST_DAY), LAST_DAY) + _EPOCH_DAY)


def datetime_at(micros: int) -> dt.datetime:
    """Return the datetime of a microsecond number, or the nearest one of the years 1 to 9999."""
    return _EPOCH + dt.timedelta(microseconds=min(max(micros, FIRST_DATETIME), LAST_DATETIME))


def month_numbers(days: NDArray[Any]) -> NDArray[Any]:
    """Return the months of some days, given as day numbers; month 0 is January of the year 0.

    >>> month_numbers(np.array([days_since_epoch(dt.date(2024, 2, 29))])).tolist() == [12 * 2024 + 1]
    True
    """
    return np.asarray(_months(days))


def month_number(day: int) -> int:
    """Return the month of one day, which may lie in any year.

    >>> month_number(days_since_epoch(dt.date(2024, 2, 29))) == 12 * 2024 + 1
    True
    """
    return int(_months(day))


def _months(days: Any) -> Any:
    """The arithmetic of the query: eras of 400 years of 146097 days, in years that begin in March."""
    days = days + DAYS_FROM_MARCH_0
    era = days // 146097
    day_of_era = days - 146097 * era
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    return 12 * (400 * era + year_of_era) + (5 * day_of_year + 2) // 153 + 2


def month_start(month: int) -> int:
    """Return the day number of the first day of a month of any year.

    >>> month_start(12 * 1970 + 1), month_start(12 * 10000) == LAST_DAY + 1
    (31, True)
    """
    year, month_of_year = divmod(month - 2, 12)  # years that begin in March
    return 365 * year + year // 4 - year // 100 + year // 400 + (153 * month_of_year + 2) // 5 - DAYS_FROM_MARCH_0


def first_day(month: int) -> int:
    """Return the day number of the first day of a month, or the nearest end of the years 1 to 9999.

    >>> date_at(first_day(12 * 2024 + 1))
    datetime.date(2024, 2, 1)
    """
    return min(max(month_start(month), FIRST_DAY), LAST_DAY + 1)


def check_zone(zone: object) -> str:
    """Check a parameter that must name a known time zone."""
    try:
        if isinstance(zone, str):
            if zone == "UTC":
                return "UTC"
            ZoneInfo(zone)
            return zone
    except (ZoneInfoNotFoundError, ValueError, OSError):
        pass  # refused below, like anything else that is not a zone
    raise InputError(
        "zone",
        "must be 'UTC' or a name such as 'Europe/Berlin'",
        given=safe_repr(zone),
        remedy="If no name is known, install the package tzdata.",
    )


@lru_cache(maxsize=32)
def offsets(zone: str) -> tuple[tuple[int, int], ...]:
    """Return pairs of a start and the offset from UTC that applies from it on, in microseconds, ascending.

    >>> offsets("UTC")
    ((-2208988800000000, 0),)
    """
    if zone == "UTC":
        return ((micros_since_epoch(_FIRST_OFFSET), 0),)
    clock = ZoneInfo(zone)

    def ahead(moment: dt.datetime) -> dt.timedelta:
        return moment.astimezone(clock).utcoffset() or dt.timedelta(0)

    found = [(_FIRST_OFFSET, ahead(_FIRST_OFFSET))]
    moment = _FIRST_OFFSET
    while moment < _LAST_OFFSET:
        later = moment + _STEP
        if ahead(later) != found[-1][1]:
            low, high = moment, later
            while high - low > _SECOND:
                middle = low + (high - low) // 2
                middle -= dt.timedelta(microseconds=middle.microsecond)
                low, high = (middle, high) if ahead(middle) == found[-1][1] else (low, middle)
            found.append((high, ahead(high)))
        moment = later
    return tuple((micros_since_epoch(at), by // MICROSECOND) for at, by in found)
