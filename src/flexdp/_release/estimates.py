"""Quantiles, ranges and applied functions in words: estimates with "about" before them, and what is certain."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from flexdp._core.calendar import MICROSECOND
from flexdp._core.exact import float_up, number_text, said, to_digits, to_double, upper_text
from flexdp._release.answers import Reading
from flexdp._release.interpolation import on_line
from flexdp._release.ranges import (
    ANY,
    bucket_ends,
    bucket_printed,
    bucket_texts,
    clock_step,
    ends_text,
    figure,
    length_words,
    outer_ends,
    step_of,
    stepped,
    value_words,
)
from flexdp.buckets.base import MEASURES
from flexdp.buckets.ends import is_open
from flexdp.buckets.exact import Exact
from flexdp.buckets.grid import Grid
from flexdp.buckets.partition import Buckets, Partition
from flexdp.guarantees import Accuracy
from flexdp.statistics import Max, Min, Range, to_python

__all__ = [
    "among_the_rest",
    "applied_text",
    "certain_ends",
    "estimate_text",
    "extreme_text",
    "guaranteed",
    "iqr_ends",
    "iqr_known",
    "iqr_text",
    "is_certain",
    "is_elsewhere",
    "is_endless",
    "is_outermost",
    "is_sure",
    "printed_estimate",
    "printed_iqr",
    "span_ends",
    "span_text",
]


def estimate_text(partition: Buckets, reading: Reading) -> str:
    """Return a quantile as a sentence shows it.

    "about 27.4"; without "about" where it is certain; the bucket itself where that is open: "115 or more".
    """
    if reading.value is None:
        return ANY
    if reading.opened is not None:
        text = bucket_texts(partition, np.array([reading.opened]))[0]
        return text if _is_in_opened(reading) else f"about {text}"
    text = value_words(printed_estimate(partition, reading))
    return text if is_sure(reading) else f"about {text}"


def printed_estimate(partition: Buckets, reading: Reading) -> Any:
    """Return a quantile with the digits that its error justifies, between the ends that are certain.

    They are a hundredth of how far it can be off: from the ends of its interval, or of its bucket.
    """
    value = reading.value
    if not isinstance(value, int | float) or isinstance(partition, Exact) or is_sure(reading):
        return value
    assert reading.index is not None
    low, high = reading.interval or bucket_ends(partition, to_python(reading.index[0]))
    ends = [on_line(end) for end in (low, high) if not _is_infinite(end)]
    off = max((abs(end - on_line(value)) for end in ends), default=Fraction(0))
    shown = _to_error(value, off)
    for end, passed in ((low, shown < low), (high, shown > high)):
        if passed:  # edges that nobody chose have many digits
            return to_double(to_digits(end, 6, up=end == low)) if partition.relative else end
    return shown


def _is_in_opened(reading: Reading) -> bool:
    """True if a quantile is certain to lie in an open bucket."""
    return reading.hull is not None and reading.hull[0] == reading.opened == reading.hull[1]


def is_sure(reading: Reading) -> bool:
    """Return True if the interval of a quantile is a single value, and holds no others that a bound moved there."""
    return reading.interval is not None and reading.interval[0] == reading.interval[1]


def certain_ends(partition: Partition, reading: Reading) -> tuple[Any, Any]:
    """Return the ends between which a quantile certainly lies, as they are printed; None where there is none."""
    if reading.interval is None:
        return None, None
    first, last = (None if _is_infinite(end) else end for end in reading.interval)
    if partition.relative:  # edges that nobody chose, of many digits
        first = None if first is None else to_digits(first, 6, up=False)
        last = None if last is None else to_digits(last, 6, up=True)
    return first, last


def guaranteed(partition: Partition, reading: Reading) -> str:
    """Return where a quantile of the data certainly lies: "lie between 20 and 35"; empty where that says nothing."""
    first, last = certain_ends(partition, reading)
    if first is None and last is None:
        return ""
    if partition.relative:
        low, high = ("" if end is None else figure(end) for end in (first, last))
    else:
        low, high = outer_ends(-math.inf if first is None else first, math.inf if last is None else last)
    if last is None or first is None:
        return f"be at least {low}" if last is None else f"be at most {high}"
    return f"be {low}" if low == high else f"lie between {low} and {high}"


def among_the_rest(partition: Partition, reading: Reading) -> str:
    """Return where the quantile of the records that are left lies: "it lies in 25–30"."""
    assert reading.index is not None and not isinstance(partition, Grid)
    text, place = bucket_texts(partition, reading.index)[0], reading.index[0]
    low, high = bucket_ends(partition, place)
    bounded = not is_open(partition, place, above=False) and not is_open(partition, place, above=True)
    return f"it lies in {text}" if low != high and bounded else f"it is {text}"


def is_elsewhere(partition: Partition, reading: Reading) -> bool:
    """Return True if the estimate lies outside the bucket of the quantile of the records that are left."""
    assert reading.index is not None and not isinstance(partition, Grid)
    low, high = bucket_ends(partition, reading.index[0])
    above = not _infinite(low) and on_line(reading.value) < on_line(low)
    return above or (not _infinite(high) and on_line(reading.value) > on_line(high))


def _infinite(end: Any) -> bool:
    return isinstance(end, float) and math.isinf(end)


def iqr_text(partition: Buckets, reading: Reading) -> str:
    """Return an interquartile range as a sentence shows it: "about 12.3"; at least so much where an end is open."""
    if reading.value is None:
        return ANY
    if reading.opened is not None:
        told = f"about {_amount(printed_iqr(partition, reading))}" if reading.interval is None else ""
        return f"{told or _amount(iqr_ends(partition, reading)[0])} or more"
    text = _amount(printed_iqr(partition, reading))
    return text if reading.interval is not None and reading.interval[0] == reading.interval[1] else f"about {text}"


def printed_iqr(partition: Buckets, reading: Reading) -> Any:
    """Return an interquartile range with the digits that its error justifies, as that of a quantile."""
    value = reading.value
    if value is None or isinstance(partition, Exact):
        return value
    assert reading.index is not None
    if reading.interval is None:
        ends = [bucket_ends(partition, to_python(index)) for index in reading.index]
        closed = [pair for pair in ends if not any(map(_is_infinite, pair))]
        off = sum((on_line(high) - on_line(low) for low, high in closed), Fraction(0))
    else:
        off = max(abs(_length(end) - _length(value)) for end in reading.interval if not _is_infinite(end))
    return _to_error(value, off)


def _length(amount: Any) -> Fraction:
    return Fraction(amount // MICROSECOND) if isinstance(amount, dt.timedelta) else on_line(amount)


def _to_error(value: Any, off: Fraction) -> Any:
    if not off:
        return value
    if isinstance(value, dt.timedelta):
        return stepped(_length(value), Fraction(clock_step(off / 10))).numerator * MICROSECOND
    step = step_of(off)
    if isinstance(value, int):
        return int(stepped(Fraction(value), max(step, Fraction(1))))
    return to_double(stepped(on_line(value), step))


def iqr_known(partition: Buckets, reading: Reading, so_counted: Callable[[str], str] = str) -> str:
    """Return what the estimate is the difference of, and between which ends the exact one certainly lies.

    ``so_counted`` words a sentence as one of what was counted.
    """
    ends = " and ".join(estimate_text(partition, part) for part in reading.parts)
    told = f"It is the difference of the estimates for the 25th and the 75th percentile, {ends}."
    if reading.interval is None:
        return told
    low, high = iqr_ends(partition, reading)
    if high is None:
        sure = f"The exact interquartile range is guaranteed to be at least {_amount(low)}."
        return f"{told} {so_counted(sure)}" if low else told
    if low == high:
        return f"{told} {so_counted('This is certain.')}"
    sure = f"The exact interquartile range is guaranteed to lie between {_amount(low)} and {_amount(high)}."
    return f"{told} {so_counted(sure)}"


def iqr_ends(partition: Buckets, reading: Reading) -> tuple[Any, Any]:
    """Return the ends between which an interquartile range certainly lies, as printed; None where there is none."""
    assert reading.interval is not None
    low, high = reading.interval
    high = None if _is_infinite(high) else high
    if partition.relative:
        return to_digits(low, 6, up=False), None if high is None else to_digits(high, 6, up=True)
    if isinstance(low, dt.timedelta) and low != high:
        second = dt.timedelta(seconds=1)
        return low // second * second, None if high is None else -(-high // second) * second
    return low, high


def _amount(amount: Any) -> str:
    return length_words(amount) if isinstance(amount, dt.timedelta) else value_words(amount)


def _is_infinite(value: Any) -> bool:
    return isinstance(value, float) and math.isinf(value)


def span_ends(partition: Partition, reading: Reading) -> tuple[Any, Any, str]:
    """Return the two ends of a range, rounded outward as they are printed, and their unit; None where one is open."""
    value, accuracy = reading.value, reading.accuracy
    if not isinstance(value, dt.timedelta):
        assert reading.index is not None and not isinstance(partition, Grid)
        (low, near), (far, high) = (bucket_printed(partition, to_python(place)) for place in reading.index)
        inner, outer, told = _apart(near, far), _apart(low, high), on_line(value)
        least = Fraction(0) if inner is None else _end(max(Fraction(0), min(inner, told)), up=False)
        if accuracy is None:  # an end is open
            return to_digits(value, 6, up=False) if partition.relative and value else least, None, ""
        return least, None if outer is None else _end(max(outer, told), up=True), ""
    if accuracy is None:
        return value - value % dt.timedelta(seconds=1), None, ""
    error, unit = said(accuracy.beta), accuracy.unit
    if not error:
        return value, value, ""
    middle = Fraction(value // MICROSECOND, MEASURES[unit])
    return _end(max(Fraction(0), middle - error), up=False), _end(middle + error, up=True), unit


def _apart(low: Any, high: Any) -> Fraction | None:
    """Return how far two ends are apart; None where one is infinite."""
    return None if _is_infinite(low) or _is_infinite(high) else on_line(high) - on_line(low)


def span_text(partition: Partition, reading: Reading) -> str:
    """Return the range of values, without saying that it may be larger."""
    low, high, unit = span_ends(partition, reading)
    if isinstance(low, dt.timedelta):
        return length_words(low)
    words = [figure(Fraction(end)) for end in (low, low if high is None else high)]
    return ends_text(*words) + (f" {unit}" if unit else "")


def extreme_text(partition: Partition, reading: Reading, max_drop: int) -> str:
    """Return a maximum, a minimum or a range as a sentence shows it: with "or more" unless it is certain.

    Parameters
    ----------
    partition
        The buckets.
    reading
        The answer in numbers.
    max_drop
        The most that a bucket can have lost.

    Returns
    -------
    str
        "90–95 or more", "115 or more", "45–50"; of a single value "7.25 or more".
    """
    assert reading.index is not None
    ranged = isinstance(reading.question, Range)
    timed = partition.kind in ("date", "datetime")
    text = span_text(partition, reading) if ranged else bucket_texts(partition, reading.index[:1])[0]
    more = {(False, False): "more", (False, True): "less", (True, False): "later", (True, True): "earlier"}[
        timed and not ranged, isinstance(reading.question, Min)
    ]
    if text == ANY:
        return text
    if is_endless(partition, reading):
        return f"probably {text}"
    opened = is_outermost(partition, reading)
    certain = is_certain(partition, reading, max_drop)
    endless = ranged and span_ends(partition, reading)[1] is None
    if (opened and not ranged) or (certain and not endless):
        return text
    return f"{text.removeprefix('exactly ')} or {more}"  # nothing is exact of what may be more


def is_certain(partition: Partition, reading: Reading, max_drop: int) -> bool:
    """Return True if nothing can lie beyond a maximum, a minimum or a range; or it is the open end itself."""
    if reading.index is None or is_endless(partition, reading):
        return False
    return reading.beyond == 0 or not max_drop or is_outermost(partition, reading)


def is_outermost(partition: Partition, reading: Reading) -> bool:
    """Return True for an extreme in the open end of the buckets, and for a range to such an end."""
    assert reading.index is not None
    if isinstance(reading.question, Range):
        return reading.accuracy is None
    return is_open(partition, to_python(reading.index[0]), above=isinstance(reading.question, Max))


def is_endless(partition: Partition, reading: Reading) -> bool:
    """Return True for a maximum in a bucket that is open below, or a minimum in one open above: it has no near end."""
    if not isinstance(reading.question, Max | Min) or reading.index is None:
        return False
    return is_open(partition, to_python(reading.index[0]), above=isinstance(reading.question, Min))


def _end(end: Fraction, *, up: bool) -> Fraction:
    """An end of a range: exact where that is a short decimal, else a double rounded outward."""
    text = number_text(end)
    if "/" not in text and Fraction(text) == end:
        return end
    nearest = float_up(end) if up else -float_up(-end) + 0.0
    return said(nearest) if math.isfinite(nearest) else to_digits(end, 17, up=up)


def applied_text(value: Any, accuracy: Accuracy | None) -> str:
    """Return a value with its margin; fitted models, which are long, by their type."""
    if not isinstance(value, bool | int | float | Fraction | dt.date | str):
        shown = f"a {type(value).__name__}"
    else:
        shown = value_words(value)
    if accuracy is None or not accuracy.beta:
        return shown
    unit = f" {accuracy.unit}" if accuracy.unit else ""
    return f"{shown} ± {upper_text(accuracy.beta, 6)}{unit}"
