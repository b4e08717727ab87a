"""Counts, sums, means and spreads read off buckets: estimates, with the interval that is certain where there is one.

Every bucket stands for its count corrected for the mean loss, at its middle; the records of an open end lie beyond its
edge by the mean distance that :mod:`flexdp._release.interpolation` estimates. What is certain follows from the loss
alone: a public bucket holds between its count and its count plus the largest loss, anywhere between its ends.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flexdp._core.exact import float_up, to_double
from flexdp._core.text import thousands
from flexdp._release.answerable import check_kind, check_units
from flexdp._release.answers import Answer, Reader, Reading
from flexdp._release.interpolation import Stretch, on_line, stretch_of
from flexdp._release.ranges import ANY, bucket_ends, outward, value_words
from flexdp._release.sentences import Words
from flexdp.buckets.exact import Exact
from flexdp.buckets.grid import Grid
from flexdp.calculus.loss import most_lost
from flexdp.errors import InputError
from flexdp.statistics import Count, Mean, Std, Sum

__all__ = ["Moment", "moment"]

_DIGITS = 5  # of an estimate in words
_WIDE = Fraction(1, 10)  # of both ends together: an interval wider than that is called wide
_MOST_BUCKETS = 100_000  # for which a certain interval is worked out

Moment = Count | Mean | Sum | Std


@dataclass(frozen=True, slots=True)
class _Bucket:
    """A public bucket on the line: its least count, and its ends, None where one is open."""

    count: int
    low: Fraction | None
    high: Fraction | None


def moment(reader: Reader, words: Words, question: Moment, *, by_group: bool = False) -> Answer:
    """Return a count, a sum, a mean or a standard deviation that is read off buckets.

    Parameters
    ----------
    reader
        The counts.
    words
        The words for them.
    question
        The statistic.
    by_group
        True if it was asked for and answered by group, and these are the buckets of all groups.

    Returns
    -------
    Answer
        An estimate; ``interval`` is certain to hold the exact value, None where nothing is certain.

    Raises
    ------
    InputError
        If the keys are not numbers, or units count in several buckets.
    """
    _check(reader, words, question)
    if not len(reader.index):
        return words.answer(Reading(question=question, value=None, empty=True))
    if not isinstance(question, Count) and _holds_everything(reader):
        told = f"{words.headline(question)}: {ANY}. One bucket holds everything, and its middle is not known."
        once = words.population(question)
        return Answer(name=question.name, value=None, accuracy=None, statement=told, text=ANY, population=once)
    value = _count(reader) if isinstance(question, Count) else _value(reader, question)
    found = _certain(reader, question)
    known = words.so_counted(_known(reader, words, question, found, by_group=by_group), question)
    text = f"about {thousands(round(value)) if isinstance(question, Count) else value_words(_short(value))}"
    return Answer(
        name=question.name,
        value=round(value) if isinstance(question, Count) else to_double(value),
        accuracy=None,
        statement=f"{words.headline(question)}: {text}. {known}",
        text=text,
        interval=None if found is None else (_outer(found[0], up=False), _outer(found[1], up=True)),
        population=words.population(question),
    )


def _check(reader: Reader, words: Words, question: Moment) -> None:
    check_units(question, words.spec.unit, words.spec.max_buckets_per_unit)
    if isinstance(question, Count):
        return
    if isinstance(reader.partition, Grid):
        raise InputError(
            "statistic",
            f": the {question.name} needs one column, and this release has several",
            remedy="Ask marginal(column) for it.",
        )
    check_kind(question, [reader.partition.kind])


def _count(reader: Reader) -> Fraction:
    """The records that are left, with the mean loss of every released bucket added back."""
    cells = len(reader.index) if reader.cells is None else int(reader.cells.sum())
    return reader.index.size + cells * reader.noise.mean_drop()


def _value(reader: Reader, question: Moment) -> Fraction:
    """A sum, a mean or a standard deviation of records at the middles of their buckets."""
    weights, centres = zip(*_masses(reader), strict=True)
    total = sum(weights, Fraction(0))
    first = sum((weight * centre for weight, centre in zip(weights, centres, strict=True)), Fraction(0))
    if isinstance(question, Sum):
        return first
    if isinstance(question, Mean):
        return first / total
    mean = first / total
    apart = sum((weight * (centre - mean) ** 2 for weight, centre in zip(weights, centres, strict=True)), Fraction(0))
    return Fraction(math.isqrt(math.floor(apart / total * 10**24))) / 10**12


def _masses(reader: Reader) -> Iterator[tuple[Fraction, Fraction]]:
    """The estimated number of records of every released bucket, and where they are on average."""
    assert not isinstance(reader.partition, Grid)
    for place, index in enumerate(reader.index.keys.tolist()):
        stretch, released = reader.profile.stretch(place), stretch_of(reader.partition, index)
        if stretch.low is None or stretch.high is None:
            far = reader.profile.scale(place)
            centre = (stretch.low + far) if stretch.low is not None else (stretch.high or 0) - far
        elif released.width is None:  # an asked end closes it
            centre = (stretch.low + stretch.high - int(reader.partition.kind != "number")) / 2
        else:
            low, high = map(on_line, bucket_ends(reader.partition, index))
            centre = (low + high) / 2
        yield reader.profile.records(place), centre


def _certain(reader: Reader, question: Moment) -> tuple[Fraction | float, Fraction | float] | None:
    """The interval that holds the exact value for certain; None where nothing is certain."""
    drop, count = reader.shortfall, reader.partition.count
    if isinstance(question, Count):
        buckets = None if count is None or reader.summed is None or not reader.public else count * reader.summed
        lost = most_lost(reader.noise.max_drop, buckets, paid=reader.paid)
        return Fraction(reader.index.size), math.inf if lost is None else Fraction(reader.index.size + lost)
    if isinstance(question, Std) or drop is None or count is None or not reader.public or count > _MOST_BUCKETS:
        return None
    buckets_of = list(_public(reader))
    work = _sum if isinstance(question, Sum) else _mean
    low, high = work(buckets_of, drop, above=False), work(buckets_of, drop, above=True)
    return None if low == -math.inf and high == math.inf else (low, high)


def _public(reader: Reader) -> Iterator[_Bucket]:
    """Every public bucket, released or not."""
    partition = reader.partition
    assert not isinstance(partition, Grid) and partition.count is not None
    released = dict(reader.index.items())
    for index in range(partition.first, partition.first + partition.count):
        stretch = stretch_of(partition, index)
        ends = zip((stretch.low, stretch.high), bucket_ends(partition, index), strict=True)
        low, high = (None if end is None else on_line(value) for end, value in ends)
        yield _Bucket(int(released.get(index, 0)), low, high)


def _sum(buckets: list[_Bucket], drop: int, *, above: bool) -> Fraction | float:
    """The largest sum that the counts allow, or the smallest."""
    total = Fraction(0)
    for bucket in buckets:
        end = bucket.high if above else bucket.low
        if end is None:
            return math.inf if above else -math.inf
        total += bucket.count * end + drop * (max(end, Fraction(0)) if above else min(end, Fraction(0)))
    return total


def _mean(buckets: list[_Bucket], drop: int, *, above: bool) -> Fraction | float:
    """The largest mean that the counts allow, or the smallest: hidden records lie in the outermost buckets."""
    sign = 1 if above else -1
    ends = []
    for bucket in buckets:
        end = bucket.high if above else bucket.low
        if end is None:
            return sign * math.inf
        ends.append((sign * end, bucket.count))
    total, records = sum((end * count for end, count in ends), Fraction(0)), sum(count for _, count in ends)
    for end, _ in sorted(ends, reverse=True):
        if end * records <= total:
            break
        total, records = total + drop * end, records + drop
    return sign * total / records


def _known(
    reader: Reader, words: Words, question: Moment, found: tuple[Any, Any] | None, *, by_group: bool = False
) -> str:
    """What is certain of an estimate; where that is little, that it may be poor, and what to ask for instead."""
    better = ""
    if isinstance(question, Mean | Sum):
        word = question.name
        better = f' Ask for it directly to get a bound on its error: ask=["{word}"], or --ask {word}.'
        if by_group:
            better = f" It was asked for and answered by group: only the {word} of each group has a bound on its error."
    if not isinstance(question, Count) and _opened(reader):
        placed = "Values in an open-ended bucket are placed by extrapolating the neighbouring counts"
        return f"{placed}, which is unreliable for long tails; no error bound is guaranteed.{better}"
    if found is None:
        off = "the released values" if isinstance(reader.partition, Exact) else "the middles of buckets"
        if _thins_out(reader):
            spots = off.rpartition(" ")[2]
            return (
                f"This estimate may be poor: the outermost {spots} hold few {words.contents}, and {spots} beyond them "
                f"may have been lost altogether. No error bound is guaranteed.{better}"
            )
        return f"It is read off {off}, and no error bound is guaranteed.{better}"
    name = f"number of {words.contents}" if isinstance(question, Count) else question.name
    if isinstance(question, Count):
        low, high = (thousands(int(end)) if end != math.inf else "" for end in found)
        if high:
            return f"The exact {name} is guaranteed to lie between {low} and {high}."
        spots = "values" if isinstance(reader.partition, Exact) else f"{words.spot}s"
        lost = f"{words.contents.capitalize()} of {spots} that were lost altogether are not included"
        return f"{lost}; the exact {name} is guaranteed to be at least {low}, and may be far higher."
    low = outward(found[0], _DIGITS + 1, up=False)
    if found[1] == math.inf:
        return f"The exact {name} is guaranteed to be at least {low}."
    told = f"The exact {name} is guaranteed to lie between {low} and {outward(found[1], _DIGITS + 1, up=True)}"
    if isinstance(question, Mean | Sum) and found[1] - found[0] > _WIDE * (abs(found[0]) + abs(found[1])):
        return f"{told}, which is wide: the estimate may be poor.{better}"
    return f"{told}."


def _thins_out(reader: Reader) -> bool:
    """True if a released bucket at either end holds so few that buckets beyond it were probably lost."""
    return min(int(reader.index.counts[0]), int(reader.index.counts[-1])) < 2 * reader.noise.max_drop


def _opened(reader: Reader) -> bool:
    """True if a released bucket is open."""
    return any(stretch.width is None for stretch in _stretches(reader))


def _holds_everything(reader: Reader) -> bool:
    """True if a released bucket is open on both sides."""
    return any(stretch.low is None and stretch.high is None for stretch in _stretches(reader))


def _stretches(reader: Reader) -> Iterator[Stretch]:
    assert not isinstance(reader.partition, Grid)
    return (stretch_of(reader.partition, index) for index in reader.index.keys.tolist())


def _short(value: Fraction) -> Fraction:
    """An estimate rounded to a few digits, in words only."""
    if not value:
        return value
    power = 0
    while abs(value) * Fraction(10) ** power < 10 ** (_DIGITS - 1):
        power += 1
    while abs(value) * Fraction(10) ** power >= 10**_DIGITS:
        power -= 1
    return round(value * Fraction(10) ** power) / Fraction(10) ** power


def _outer(end: Fraction | float, *, up: bool) -> Any:
    """An end of an interval as an integer where it is one, else as a double beyond it."""
    if isinstance(end, float):
        return end
    if end.denominator == 1:
        return int(end)
    return float_up(end) if up else -float_up(-end)
