"""Quantiles, ranges and applied functions in words: estimates with "about" before them, and what is certain."""

from __future__ import annotations

import datetime as dt
import math
from fractions import Fraction
from typing import Any

from flexdp._core.calendar import MICROSECOND
from flexdp._core.exact import float_up, number_text, said, upper_text, value_text
from flexdp._release.answers import Reading
from flexdp._release.interpolation import on_line
from flexdp._release.ranges import (
    ANY,
    bucket_ends,
    bucket_texts,
    ends_text,
    figure,
    is_open,
    length_words,
    outer_ends,
    outward,
    value_words,
)
from flexdp.buckets.base import MEASURES
from flexdp.buckets.grid import Grid
from flexdp.buckets.open_edges import OpenEdges
from flexdp.buckets.partition import Partition
from flexdp.guarantees import Accuracy

__all__ = [
    "among_the_rest",
    "applied_text",
    "estimate_text",
    "guaranteed",
    "iqr_known",
    "iqr_text",
    "is_elsewhere",
    "is_sure",
    "span_text",
]


def estimate_text(partition: Partition, reading: Reading) -> str:
    """Return a quantile as a sentence shows it.

    "about 27.4"; without "about" where it is certain, or where nothing was estimated; the bucket itself where values
    beyond a bound count in it, too: "115 or more".
    """
    assert reading.index is not None
    single = isinstance(partition, OpenEdges) and partition.single(int(reading.index[0]))
    if reading.value is None or (_is_released(reading) and not single and not is_sure(partition, reading)):
        return bucket_texts(partition, reading.index)[0]
    text = value_words(reading.value)
    return text if is_sure(partition, reading) else f"about {text}"


def is_sure(partition: Partition, reading: Reading) -> bool:
    """Return True if the interval of a quantile is a single value, and holds no others that a bound moved there."""
    if reading.interval is None or reading.hull is None or reading.interval[0] != reading.interval[1]:
        return False
    return not any(is_open(partition, end, above=above) for end, above in zip(reading.hull, (False, True), strict=True))


def guaranteed(partition: Partition, reading: Reading) -> str:
    """Return where a quantile of the data certainly lies: "lie between 20 and 35"; empty where that says nothing."""
    if reading.interval is None or reading.hull is None:
        return ""
    open_below = is_open(partition, reading.hull[0], above=False)
    open_above = is_open(partition, reading.hull[1], above=True)
    if open_below and open_above:
        return ""
    first, last = reading.interval
    if partition.relative:  # edges that nobody chose, of many digits
        low, high = outward(first, 6, up=False), outward(last, 6, up=True)
    else:
        low, high = outer_ends(first, last)
    if open_above or open_below:
        return f"be at least {low}" if open_above else f"be at most {high}"
    return f"be {low}" if low == high else f"lie between {low} and {high}"


def among_the_rest(partition: Partition, reading: Reading) -> str:
    """Return where the quantile of the records that are left lies: "it lies in 25–30"."""
    assert reading.index is not None and not isinstance(partition, Grid)
    if _is_released(reading):
        return "this is exact"
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


def iqr_text(reading: Reading) -> str:
    """Return an interquartile range as a sentence shows it: "about 12.3"; at least so much where an end is open."""
    if reading.value is None:
        return ANY
    return f"about {_amount(reading.value)}"


def iqr_known(partition: Partition, reading: Reading) -> str:
    """Return what the estimate is the difference of, and between which ends the exact one certainly lies."""
    ends = " and ".join(estimate_text(partition, part) for part in reading.parts)
    told = f"It is the difference of the estimates for the 25th and the 75th percentile, {ends}."
    if reading.interval is None:
        return told
    low, high = reading.interval
    if high == math.inf:
        return f"{told} The exact interquartile range is guaranteed to be at least {_amount(low)}." if low else told
    return f"{told} The exact interquartile range is guaranteed to lie between {_amount(low)} and {_amount(high)}."


def _amount(amount: Any) -> str:
    return length_words(amount) if isinstance(amount, dt.timedelta) else value_words(amount)


def _is_released(reading: Reading) -> bool:
    """True if the value is the quantile of the records that are left, not an estimate."""
    return reading.accuracy is not None and not reading.accuracy.beta


def span_text(partition: Partition, reading: Reading) -> str:
    """Return the range of values: its two bounds, or itself where it is exact."""
    value, accuracy, index = reading.value, reading.accuracy, reading.index
    if accuracy is None or index is None:  # an end is open
        timed = isinstance(value, dt.timedelta)
        return f"{value_text(value - value % dt.timedelta(seconds=1)) if timed else value_words(value)} or more"
    opened = is_open(partition, index[0], above=False) or is_open(partition, index[-1], above=True)
    unit, middle, error = "", value, said(accuracy.beta)
    if isinstance(value, dt.timedelta):
        if not error and not opened:
            return value_text(value)
        unit = f" {accuracy.unit}"
        middle = Fraction(value // MICROSECOND, MEASURES[accuracy.unit])
    exact = said(middle) if isinstance(middle, float) else Fraction(middle)
    ends = max(Fraction(0), exact - error), exact + error
    if partition.relative:
        low, high = outward(ends[0], 6, up=False), outward(ends[1], 6, up=True)
    else:
        low, high = _end(ends[0], up=False), _end(ends[1], up=True)
    return f"{low}{unit} or more" if opened else f"{ends_text(low, high)}{unit}"


def _end(end: Fraction, *, up: bool) -> str:
    """An end of a range: exact where that is a short decimal, else a double rounded outward."""
    text = number_text(end)
    if "/" not in text and Fraction(text) == end:
        return figure(end)
    nearest = float_up(end) if up else -float_up(-end) + 0.0
    return figure(nearest) if math.isfinite(nearest) else outward(end, 17, up=up)


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
