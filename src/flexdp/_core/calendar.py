"""The epoch, the years that are read, and time zones as public tables.

Dates are days and datetimes microseconds since 1970-01-01. The table of a zone, the instants at which its clocks change
and their offsets from UTC, comes from Python's own time zone data and becomes part of the query, so that every engine
reads a datetime alike. It is complete from 1900 to 2100; before and after, the first and the last offset hold.
"""

from __future__ import annotations

import datetime as dt
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from flexdp._core.text import safe_repr
from flexdp.errors import InputError

__all__ = [
    "EPOCH",
    "FIRST_DATETIME",
    "FIRST_DAY",
    "LAST_DATETIME",
    "LAST_DAY",
    "MICROS_PER_DAY",
    "check_zone",
    "days_since_epoch",
    "micros_since_epoch",
    "offsets",
]

EPOCH = dt.date(1970, 1, 1).toordinal()
FIRST_DAY, LAST_DAY = dt.date.min.toordinal() - EPOCH, dt.date.max.toordinal() - EPOCH  # of the years 1 to 9999
MICROS_PER_DAY = 86400 * 10**6
FIRST_DATETIME, LAST_DATETIME = FIRST_DAY * MICROS_PER_DAY, (LAST_DAY + 1) * MICROS_PER_DAY - 1

_FIRST, _LAST = dt.datetime(1900, 1, 1, tzinfo=dt.UTC), dt.datetime(2100, 1, 1, tzinfo=dt.UTC)
_STEP = dt.timedelta(days=5)  # no zone has changed its clocks, and back, within less
_SECOND = dt.timedelta(seconds=1)


def days_since_epoch(date: dt.date) -> int:
    """Return the days from 1970-01-01 to a date.

    >>> days_since_epoch(dt.date(1970, 2, 1))
    31
    """
    return date.toordinal() - EPOCH


def micros_since_epoch(datetime: dt.datetime) -> int:
    """Return the microseconds from 1970-01-01 to a datetime, by its own clock: its time zone does not matter.

    >>> micros_since_epoch(dt.datetime(1970, 1, 1, 0, 1))
    60000000
    """
    return (datetime.replace(tzinfo=None) - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)


def check_zone(zone: object) -> str:
    """Return the name of a time zone that is known here."""
    try:
        if isinstance(zone, str):
            if zone == "UTC":
                return "UTC"
            ZoneInfo(zone)
            return zone
    except (ZoneInfoNotFoundError, ValueError, OSError):
        pass  # refused below, with everything else that is no zone
    raise InputError(
        "zone",
        "must be 'UTC' or a name such as 'Europe/Berlin'",
        given=safe_repr(zone),
        remedy="If no name is known, install the package tzdata.",
    )


@lru_cache(maxsize=32)
def offsets(zone: str) -> tuple[tuple[int, int], ...]:
    """Return pairs (start, offset) in ascending order: microseconds since the epoch in UTC, and the lead of the clocks.

    >>> offsets("UTC")
    ((-2208988800000000, 0),)
    """
    if zone == "UTC":
        return ((micros_since_epoch(_FIRST), 0),)
    clock = ZoneInfo(zone)

    def ahead(instant: dt.datetime) -> dt.timedelta:
        return instant.astimezone(clock).utcoffset() or dt.timedelta(0)

    found = [(_FIRST, ahead(_FIRST))]
    instant = _FIRST
    while instant < _LAST:
        later = instant + _STEP
        if ahead(later) != found[-1][1]:
            low, high = instant, later
            while high - low > _SECOND:
                middle = low + (high - low) // 2
                middle -= dt.timedelta(microseconds=middle.microsecond)
                low, high = (middle, high) if ahead(middle) == found[-1][1] else (low, middle)
            found.append((high, ahead(high)))
        instant = later
    return tuple((micros_since_epoch(at), by // dt.timedelta(microseconds=1)) for at, by in found)
