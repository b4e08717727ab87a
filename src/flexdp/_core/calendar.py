"""Time zones as public tables: when a zone's clocks changed, and by how much they differ from UTC.

The table comes from Python's own time zone data and becomes part of the query, so that every engine reads a datetime
alike. Between 1900 and 2100 it is complete; before and after, the first and the last difference hold.
"""

from __future__ import annotations

import datetime as dt
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from flexdp._core.text import safe_repr
from flexdp.errors import InputError

__all__ = ["check_zone", "offsets"]

_FIRST, _LAST = dt.datetime(1900, 1, 1, tzinfo=dt.UTC), dt.datetime(2100, 1, 1, tzinfo=dt.UTC)
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_STEP = dt.timedelta(days=5)  # no zone has changed its clocks, and back, within less
_SECOND = dt.timedelta(seconds=1)


def check_zone(zone: object) -> str:
    """The name of a zone that is known here."""
    try:
        if isinstance(zone, str):
            if zone == "UTC":
                return "UTC"
            ZoneInfo(zone)
            return zone
    except (ZoneInfoNotFoundError, ValueError, OSError):
        pass  # told below, with the other things that are no zone
    raise InputError(
        f"zone must be 'UTC' or a name such as 'Europe/Berlin'; got {safe_repr(zone)}. "
        "Where names are unknown, install the package tzdata."
    )


@lru_cache(maxsize=32)
def offsets(zone: str) -> tuple[tuple[int, int], ...]:
    """Pairs (from when, by how much clocks are ahead), in microseconds of UTC since 1970, ascending.

    >>> offsets("UTC")
    ((-2208988800000000, 0),)
    """
    if zone == "UTC":
        return ((_micros(_FIRST), 0),)
    clock = ZoneInfo(zone)

    def ahead(moment: dt.datetime) -> dt.timedelta:
        return moment.astimezone(clock).utcoffset() or dt.timedelta(0)

    found = [(_FIRST, ahead(_FIRST))]
    moment = _FIRST
    while moment < _LAST:
        later = moment + _STEP
        if ahead(later) != found[-1][1]:
            low, high = moment, later
            while high - low > _SECOND:
                middle = low + (high - low) // 2
                middle -= dt.timedelta(microseconds=middle.microsecond)
                low, high = (middle, high) if ahead(middle) == found[-1][1] else (low, middle)
            found.append((high, ahead(high)))
        moment = later
    return tuple((_micros(at), by // dt.timedelta(microseconds=1)) for at, by in found)


def _micros(moment: dt.datetime) -> int:
    return (moment - _EPOCH) // dt.timedelta(microseconds=1)
