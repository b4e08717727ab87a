"""Values and buckets as a reader sees them: "90–95", "115 or more", "December 2024", "12 500".

Printed ends are rounded outward, so that a printed range contains every value that counts in its bucket.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.calendar import MICROS_PER_DAY, MICROSECOND
from flexdp._core.exact import float_up, number_text, said, to_digits, to_double
from flexdp._core.text import blanks_shown, plural, thousands
from flexdp.buckets.base import Kind, times
from flexdp.buckets.edges import Edges
from flexdp.buckets.ends import is_clamped, is_open
from flexdp.buckets.exact import Exact
from flexdp.buckets.grid import Grid
from flexdp.buckets.months import Months
from flexdp.buckets.open_edges import OpenEdges
from flexdp.buckets.parse import bound_given
from flexdp.buckets.partition import Buckets, Partition
from flexdp.buckets.relative import RelativeWidth
from flexdp.buckets.width import Width

__all__ = [
    "ANY",
    "bounds_text",
    "bucket_ends",
    "bucket_printed",
    "bucket_texts",
    "clock_step",
    "ends_text",
    "figure",
    "joined",
    "key_texts",
    "length_words",
    "limits_of",
    "outer_ends",
    "outward",
    "printed_ends",
    "quoted",
    "shortened",
    "step_of",
    "stepped",
    "value_words",
]

ANY = "any value"  # the range of a bucket that is open on both sides
_LONGEST = 120  # characters of a text in a sentence
_SHORT = 8  # characters of a width that is printed as it is
_DIGITS = 16  # from so many on, a double is written in scientific notation
_PLAIN = re.compile(r"\w([\w .+/-]*\w)?")
_CLOCK = (1, 10**6, 60 * 10**6, 3600 * 10**6, MICROS_PER_DAY)
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip


def figure(value: Fraction | int | float) -> str:
    """Return a number with all its digits, thousands set apart from five digits on; an exact one as a double like it.

    >>> figure(2013), figure(12500.5), figure(-1700000000), figure(1e300), figure(Fraction(6 * 10**23))
    ('2013', '12 500.5', '-1 700 000 000', '1e+300', '6e+23')
    """
    text = number_text(value)
    if isinstance(value, Fraction) and len(text) > _DIGITS and said(nearest := to_double(value)) == value:
        text = number_text(nearest)
    whole, point, rest = text.partition(".")
    digits = whole.removeprefix("-")
    if len(digits) < 5 or not digits.isdigit():
        return text
    return f"{'-' if text[0] == '-' else ''}{int(digits):,}".replace(",", " ") + point + rest


def outward(value: Fraction | float, digits: int, *, up: bool) -> str:
    """Return an end of a range to a few digits, rounded away from the range.

    >>> outward(104.1267, 4, up=False), outward(123456.7, 4, up=True), outward(0.0, 4, up=True)
    ('104.1', '123 500', '0')
    """
    return figure(to_digits(value, digits, up=up))


def step_of(error: Fraction) -> Fraction:
    """Return the power of ten that is nearest to a hundredth of an error: further digits would say nothing.

    >>> [float(step_of(Fraction(error))) for error in (5, 1, 100, "0.4")]
    [0.1, 0.01, 1.0, 0.01]
    """
    size = math.log10(error.numerator) - math.log10(error.denominator)
    return Fraction(10) ** math.floor(size - 1.5)


def clock_step(most: Fraction | int) -> int:
    """Return the longest of microsecond, second, minute, hour and day that is at most so many microseconds.

    >>> clock_step(10**6), clock_step(10**10) // 10**6, clock_step(Fraction(1, 3))
    (1000000, 3600, 1)
    """
    return max(step for step in _CLOCK if step <= max(most, 1))


def stepped(value: Fraction, step: Fraction, *, up: bool | None = None) -> Fraction:
    """Return a number rounded to a multiple of a step: to the nearest, or up or down; not at all if the step is 0.

    >>> [float(stepped(Fraction("96.53"), Fraction("0.1"), up=up)) for up in (None, True, False)]
    [96.5, 96.6, 96.5]
    """
    if not step:
        return value
    whole = value / step
    return step * (round(whole) if up is None else math.ceil(whole) if up else math.floor(whole))


def value_words(value: Any) -> str:
    """Return a key or an answer's value: numbers with thousands set apart, times without idle zeros, texts quoted.

    >>> value_words(65536), value_words(dt.datetime(2024, 3, 1, 12, 30)), value_words("Ear, nose")
    ('65 536', '2024-03-01 12:30', "'Ear, nose'")
    """
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int | float | Fraction):
        return figure(value)
    if isinstance(value, tuple | list):
        return f"({', '.join(map(value_words, value))})"
    if isinstance(value, dt.datetime):
        return _moment(value)
    if isinstance(value, str):
        return quoted(shortened(value))
    return str(value)


def length_words(span: dt.timedelta) -> str:
    """Return a length of time.

    >>> length_words(dt.timedelta(days=1)), length_words(dt.timedelta(hours=36)), length_words(dt.timedelta(minutes=5))
    ('1 day', '1 day 12:00:00', '0:05:00')
    """
    days, rest = span.days, span - dt.timedelta(days=span.days)
    told = plural(days, "day", thousands)
    return told if not rest else f"{told} {rest}" if days else str(rest)


def shortened(text: str, longest: int = _LONGEST) -> str:
    """Return a text, cut where it is very long."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def quoted(text: str) -> str:
    """Return somebody else's text within a sentence: in quotes where one could not see where it ends."""
    return text if _PLAIN.fullmatch(text.removesuffix("…")) else repr(text)


def bucket_texts(partition: Partition, index: NDArray[Any]) -> list[str]:
    """Return the ranges of some buckets.

    Parameters
    ----------
    partition
        The buckets.
    index
        Indices of the buckets in question; of a grid, rows.

    Returns
    -------
    list of str
        A range each. The first and the last bucket of bounds that clamp are open: "115 or more". Of buckets with open
        ends those of a single value are told apart: "exactly 0".

    Examples
    --------
    >>> bucket_texts(Width("number", Fraction(5), (Fraction(0), Fraction(120))), np.array([0, 18, 23]))
    ['5 or less', '90–95', '115 or more']
    """
    if isinstance(partition, Grid):
        sides = [[_side_text(axis, one) for one in index[:, i].tolist()] for i, axis in enumerate(partition.axes)]
        return [f"({', '.join(cell)})" for cell in zip(*sides, strict=True)]
    return [_bucket_text(partition, one) for one in index.tolist()]


def key_texts(partition: Partition, index: NDArray[Any]) -> list[str]:
    """Return the ranges of some buckets for a list of them, where texts need quotes only around blanks at their ends.

    >>> key_texts(Exact("text"), np.array(["Ear, nose", "HNO "], dtype=object))[0]
    'Ear, nose'
    """
    if isinstance(partition, Exact) and partition.kind == "text":
        return [blanks_shown(str(key)) for key in index.tolist()]
    return bucket_texts(partition, index)


def _side_text(axis: Exact | Width | Edges, index: float) -> str:
    """One side of a cell, whose index was held as a double: beyond 2^53 it stands for all integers rounded to it."""
    if isinstance(axis, Exact) and axis.kind == "number":
        return _bucket_text(axis, index)
    whole = int(index)
    if abs(whole) < 2**53:
        return _bucket_text(axis, whole)
    apart = abs(whole) // 2**53 + 1
    ends = [bucket_ends(axis, place) for place in (whole - apart, whole + apart)]
    return ends_text(ends[0][0], ends[1][1])


def bucket_ends(partition: Buckets, index: int) -> tuple[Any, Any]:
    """Return the ends of a bucket; of numbers rounded outward, with what counts there because it was rounded across.

    >>> bucket_ends(Width("number", Fraction(5)), 3), bucket_ends(Width("integer", Fraction(5)), 3)
    ((15.0, 20.0), (15, 19))
    """
    if isinstance(partition, Exact):
        return partition.edges_of(np.array([index]))[0]
    index = int(index)  # whose magnitude numpy's integers may not hold
    place = np.array([index], dtype=object if abs(index) >= 2**62 else np.int64)
    ((first, last),) = partition.edges_of(place)
    if partition.kind == "number" and isinstance(partition, Width | Edges):
        beta, (centre,) = partition.beta_at(index), map(said, partition.centres(place).tolist())
        if (centre - beta, centre + beta) != (said(first), said(last)):  # the usual ends are short decimals
            low, high = partition.extent(index)
            return -float_up(-low) + 0.0, float_up(high)
    return first, last


def printed_ends(partition: Buckets, index: Any) -> tuple[Any, Any]:
    """Return the ends of a bucket as its range is printed; None where it is open.

    >>> ages = Width("number", Fraction(5), (Fraction(0), Fraction(120)))
    >>> printed_ends(ages, 18), printed_ends(ages, 23)
    ((90.0, 95.0), (115.0, None))
    """
    low, high = (
        None if is_open(partition, index, above=above) or (isinstance(end, float) and math.isinf(end)) else end
        for end, above in zip(bucket_printed(partition, index), (False, True), strict=True)
    )
    return low, high


def bucket_printed(partition: Buckets, index: Any) -> tuple[Any, Any]:
    """Return the ends of a bucket as its range is printed, limited to the bounds.

    >>> bucket_printed(Width("number", Fraction(1, 3)), 1), bucket_printed(Width("number", Fraction(5)), 1)
    ((Fraction(333, 1000), Fraction(667, 1000)), (5.0, 10.0))
    """
    if isinstance(partition, RelativeWidth):
        return _relative_ends(partition, index)
    low, high = bucket_ends(partition, index)
    if partition.kind != "number" or not isinstance(partition, Width) or math.isinf(low) or math.isinf(high):
        return low, high
    if len(number_text(to_double(partition.width))) <= _SHORT:
        return low, high
    step = step_of(partition.width / 10)  # a width of many digits gives ends of many digits; a few are enough
    return stepped(said(low), step, up=False), stepped(said(high), step, up=True)


def limits_of(partition: Buckets) -> tuple[Any, Any] | None:
    """Return the ends that values beyond were moved to; None where none were moved.

    >>> limits_of(Width("number", Fraction(5), (Fraction(0), Fraction(120))))
    (0, 120)
    """
    if not is_clamped(partition) or partition.bounds is None:
        return None
    lower, upper = partition.bounds
    last = upper if isinstance(partition, Edges) else bound_given(partition.kind, upper)
    return _limit(partition.kind, lower), _limit(partition.kind, last)


def ends_text(low: Any, high: Any) -> str:
    """Return a range from its two ends, which may be numbers, dates or texts of numbers.

    >>> ends_text(90, 95.5), ends_text(-60, -45), ends_text(dt.date(2024, 1, 1), dt.date(2024, 1, 7)), ends_text(5, 5)
    ('90–95.5', '-60 to -45', '2024-01-01 to 2024-01-07', '5')
    """
    words = [end if isinstance(end, str) else value_words(end) for end in (low, high)]
    if words[0] == words[1]:
        return words[0]
    signed = words[0].startswith("-") or isinstance(low, dt.date)
    return (" to " if signed else "–").join(words)


def outer_ends(low: Any, high: Any) -> tuple[str, str]:
    """Return the two ends of an interval: whole days as dates, other times up to the beginning of the next bucket.

    An infinite end is an empty text.

    >>> outer_ends(dt.datetime(2024, 3, 1, 12), dt.datetime(2024, 3, 1, 12, 59, 59, 999999))
    ('2024-03-01 12:00', '2024-03-01 13:00')
    >>> outer_ends(dt.datetime(2024, 3, 1), math.inf)
    ('2024-03-01', '')
    >>> outer_ends(-math.inf, dt.datetime(2024, 7, 3, 9, 46, 40, 11))
    ('', '2024-07-03 09:46:41')
    """
    low, high = _in_seconds(low, high)
    if isinstance(low, dt.datetime) and isinstance(high, dt.datetime) and low != high and not _whole_days(low, high):
        return value_words(low), value_words(_after(high))
    single = low == high
    return "" if low == -math.inf else _end_words(low, single), "" if high == math.inf else _end_words(high, single)


def _in_seconds(low: Any, high: Any) -> tuple[Any, Any]:
    """The ends of an interval of a minute or more, or of an open one: times rounded outward to seconds."""
    timed = [isinstance(end, dt.datetime) for end in (low, high)]
    if all(timed) and high - low < dt.timedelta(minutes=1):
        return low, high
    if timed[0]:
        low = low.replace(microsecond=0)
    if timed[1] and high.microsecond not in (0, 999_999) and high.replace(microsecond=999_999) != dt.datetime.max:
        beyond = 0 if timed[0] else 1  # the end of two is followed by the beginning of the next
        high = high.replace(microsecond=999_999) + dt.timedelta(microseconds=beyond)
    return low, high


def _end_words(end: Any, single: bool) -> str:
    """An end of an interval: the beginning or the end of a day as its date."""
    midnight = isinstance(end, dt.datetime) and end.time() in (dt.time(0), dt.time.max) and not single
    return value_words(end.date() if midnight else end)


def _whole_days(first: dt.datetime, last: dt.datetime) -> bool:
    return first.time() == dt.time(0) and last.time() == dt.time.max


def _after(last: dt.datetime) -> dt.datetime:
    return last + MICROSECOND if last < dt.datetime.max else last


def bounds_text(partition: Buckets) -> str:
    """Return the bounds as they were given, "any" without bounds."""
    if partition.bounds is None:
        return "any"
    lower, upper = partition.bounds
    last = upper if isinstance(partition, Edges) else bound_given(partition.kind, upper)
    return ends_text(_limit(partition.kind, lower), _limit(partition.kind, last))


def _limit(kind: Kind, bound: Fraction) -> Any:
    if kind in ("date", "datetime"):
        moment = times(kind, np.array([int(bound)]))[0]
        return moment.date() if kind == "datetime" and moment.time() == dt.time(0) else moment
    return int(bound) if bound.denominator == 1 else float(bound)


def _bucket_text(partition: Buckets, index: Any) -> str:
    below, above = (is_open(partition, index, above=side) for side in (False, True))
    if below and above:
        return ANY
    if isinstance(partition, Exact):
        if partition.kind in ("text", "boolean"):
            return value_words(index)
        (key,) = partition.centres(np.array([index])).tolist()
        return _opened(key, key, partition.kind, below=below, above=above)
    if isinstance(partition, RelativeWidth):
        return _relative(partition, index, below=below, above=above)
    if isinstance(partition, OpenEdges):
        return _open_text(partition, int(index), below=below, above=above)
    first, last = bucket_printed(partition, index)
    if partition.kind == "number":
        below, above = below or math.isinf(first), above or math.isinf(last)
    if isinstance(partition, Months):
        words = _months(partition.months, index)
        return f"{words} or earlier" if below else f"{words} or later" if above else words
    if partition.kind == "datetime":
        return _moments(first, last, below=below, above=above)
    return _opened(first, last, partition.kind, below=below, above=above)


def _opened(low: Any, high: Any, kind: Kind, *, below: bool, above: bool) -> str:
    if below and above:
        return ANY
    more, less = ("later", "earlier") if kind in ("date", "datetime") else ("more", "less")
    if above:
        return f"{value_words(low)} or {more}"
    return f"{value_words(high)} or {less}" if below else ends_text(low, high)


def _open_text(partition: OpenEdges, index: int, *, below: bool, above: bool) -> str:
    """Between edges with open ends: "below -15", "exactly 0" (of integers "0"), "0–5", "285 or more"."""
    ((first, last),) = partition.edges_of(np.array([index]))
    timed = partition.kind in ("date", "datetime")
    if below:
        cut = partition.cuts[0]
        edge = _edge_words(partition, cut.value)
        return f"{edge} or less" if cut.after else f"{'before' if timed else 'below'} {edge}"
    if above:
        cut = partition.cuts[-1]
        edge = _edge_words(partition, cut.value)
        return f"above {edge}" if cut.after else f"{edge} or {'later' if timed else 'more'}"
    if partition.single(index) and not timed:
        return value_words(first) if partition.kind == "integer" else f"exactly {value_words(first)}"
    return _moments(first, last, below=False, above=False) if partition.kind == "datetime" else ends_text(first, last)


def _edge_words(partition: OpenEdges, edge: Fraction) -> str:
    if partition.kind in ("date", "datetime"):
        return value_words(_limit(partition.kind, edge))
    double = to_double(edge)
    return figure(double if partition.kind == "number" and said(double) == edge else edge)


def _relative(partition: RelativeWidth, index: int, *, below: bool, above: bool) -> str:
    low, high = _relative_ends(partition, index)
    words = [figure(end) for end in (low, high)]
    return f"{words[0]} or more" if above else f"{words[1]} or less" if below else ends_text(*words)


def _relative_ends(partition: RelativeWidth, index: int) -> tuple[Fraction, Fraction]:
    """Edges that nobody chose have many digits; a few are enough."""
    ((low, high),) = partition.edges_of(np.array([index]))
    digits = math.ceil(-math.log10(partition.rho)) + 2
    return to_digits(low, digits, up=False), to_digits(high, digits, up=True)


def _months(months: int, index: int) -> str:
    """Months of the calendar by name: "December 2024", "January–March 2024", "2024", "2020–2024"."""
    first, last = index * months, (index + 1) * months - 1
    start, end = first // 12, last // 12
    if months % 12 == 0:
        return f"{start:04d}" if start == end else f"{start:04d}–{end:04d}"
    names = [_MONTHS[month % 12] for month in (first, last)]
    if first == last:
        return f"{names[0]} {start:04d}"
    return f"{names[0]}–{names[1]} {end:04d}" if start == end else f"{names[0]} {start:04d}–{names[1]} {end:04d}"


def _moments(first: dt.datetime, last: dt.datetime, *, below: bool, above: bool) -> str:
    """Whole days as dates; else from the first time to the end, which is the beginning of the next bucket."""
    if _whole_days(first, last):
        return _opened(first.date(), last.date(), "date", below=below, above=above)
    if first == last:
        return _opened(first, last, "datetime", below=below, above=above)
    end = _after(last)
    if below or above or first.date() != last.date() or end.date() != first.date():
        return _opened(first, end, "datetime", below=below, above=above)
    return f"{_moment(first)}–{_clock(end.time())}"


def _moment(moment: dt.datetime) -> str:
    return f"{moment.date()} {_clock(moment.time())}"


def _clock(time: dt.time) -> str:
    return time.isoformat() if time.second or time.microsecond else time.isoformat("minutes")


def joined(texts: Sequence[str]) -> str:
    """Return words joined as English joins them: "a", "a and b", "a, b and c"."""
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
