"""Counts, sums, means and spreads read off buckets: estimates, with the interval that is certain where there is one.

Every bucket stands for its count corrected for the mean loss, at its middle; the records of an open end, and of a thin
outermost bucket, lie beyond its inner edge by the mean distance that :mod:`flexdp._release.interpolation` estimates.
What is certain follows from the loss alone: a public bucket holds between its count and its count plus the largest
loss, anywhere between its ends.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from flexdp._core.exact import float_up, to_double
from flexdp._release.answerable import check_kind, check_units
from flexdp._release.answers import Answer, Reader, Reading, Tally
from flexdp._release.bucket_claims import counted_claims
from flexdp._release.claims import Claim
from flexdp._release.interpolation import Stretch, on_line, stretch_of
from flexdp._release.ranges import ANY, bucket_ends, figure, step_of, stepped
from flexdp._release.sentences import Words, tally_text
from flexdp.buckets.exact import Exact
from flexdp.buckets.grid import Grid
from flexdp.buckets.partition import public_count
from flexdp.calculus.loss import most_lost
from flexdp.errors import InputError
from flexdp.statistics import Count, Mean, Std, Sum

__all__ = ["Moment", "moment"]

_DIGITS, _FEW = 4, 3  # of an estimate of whose error nothing is known, and of one that was extrapolated
_WIDE = Fraction(1, 10)  # of both ends together: an interval wider than that is called wide
_MOST_BUCKETS = 100_000  # for which a certain interval is worked out

Moment = Count | Mean | Sum | Std
Ends: TypeAlias = tuple[Fraction | None, Fraction | None]


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
    if isinstance(question, Count):
        return _number(reader, words, question)
    subject, once = _subject(words, question), words.once(question)
    if _holds_everything(reader):
        told = f"{subject}: {ANY}. One bucket holds everything, and its middle is not known."
        return Answer(name=question.name, value=None, accuracy=None, statement=told, text=ANY, population=once)
    value, found = _value(reader, question), _certain(reader, question)
    step = _step(reader, question, value, found)
    shown = stepped(value, step)
    if value and not shown and found is not None and not found[0] < 0 < found[1]:
        shown = stepped(value, _last_digit(value, 1))  # of a sum of positive numbers "about 0" is absurd
    printed: Any = (
        None
        if found is None
        else tuple(_printed(end, step, up=up) for end, up in zip(found, (False, True), strict=True))
    )
    if printed is not None:
        shown = _within(shown, *printed)
    share = reader.partition.kind == "boolean" and isinstance(question, Mean)
    text = f"about {_words(shown, share=share)}"
    known = words.so_counted(_known(reader, words, question, printed, by_group=by_group), question)
    return Answer(
        name=question.name,
        value=_plain(reader, question, value),
        accuracy=None,
        statement=f"{subject}: {text}. {known}",
        text=text,
        interval=None if found is None else (_outer(found[0], up=False), _outer(found[1], up=True)),
        population=once,
        claims=tuple(_claims(words, question, shown, printed)),
    )


def _number(reader: Reader, words: Words, question: Count) -> Answer:
    """The number of records, with what is certain of it."""
    low, high = _counted(reader)
    about = round(_count(reader))
    tally = Tally(about if high is None else min(about, high), low, high)
    text = tally_text(tally)
    told = f"{words.headline(question)}: {text}."
    if high is None:
        spots = "values" if isinstance(reader.partition, Exact) else f"{words.spot}s"
        lost = f"{words.contents.capitalize()} of {spots} that were left out entirely are not included"
        told += f" {lost}, so the exact number may be far higher."
    return Answer(
        name=question.name,
        value=tally.about,
        accuracy=None,
        statement=told,
        text=text,
        interval=(low, math.inf if high is None else high),
        population=words.once(question),
        claims=tuple(counted_claims(words, question, tally, units=True)),
    )


def _subject(words: Words, question: Mean | Sum | Std) -> str:
    """The subject of an estimate, which names the limits where values beyond them were moved there."""
    return f"{words.headline(question)}{f', {words.limited}' if words.limited else ''}"


def _claims(words: Words, question: Mean | Sum | Std, shown: Fraction, found: Ends | None) -> Iterator[Claim]:
    population = words.population(limited=True)
    yield Claim(quantity=question, population=population, relation="is about", lower=shown, upper=shown)
    if found is not None:
        yield Claim(quantity=question, population=population, lower=found[0], upper=found[1])


def _step(reader: Reader, question: Moment, value: Fraction, found: tuple[Any, Any] | None) -> Fraction:
    """The power of ten that a value is printed to: a hundredth of its error, or of the width of buckets.

    Where neither is known, a few digits; never a part of a whole number in a sum of them.
    """
    whole = reader.partition.kind in ("integer", "boolean") and isinstance(question, Sum)
    known = [abs(end - value) for end in found or () if not isinstance(end, float)]
    step = step_of(max(known)) if any(known) else Fraction(0)
    if not known:
        step = _last_digit(value, _FEW if _opened(reader) else _DIGITS)
        if not isinstance(reader.partition, Exact):
            step = max(step, _step_of_widths(reader, total=isinstance(question, Sum)))
    return max(step, Fraction(1)) if whole and step else step


def _step_of_widths(reader: Reader, *, total: bool) -> Fraction:
    """The power of ten that is a hundredth of the width of the buckets, where records are on average."""
    profile = reader.profile
    found = [(profile.records(place), profile.width(place)) for place in range(len(reader.index))]
    closed = [(records, width) for records, width in found if width is not None]
    wide, many = sum(records * width for records, width in closed), sum(records for records, _ in found)
    return step_of(Fraction(wide if total else wide / many)) if wide else Fraction(0)


def _printed(end: Fraction | float, step: Fraction, *, up: bool) -> Fraction | None:
    """An end of an interval, rounded outward; None where it is infinite."""
    return None if isinstance(end, float) else stepped(end, step, up=up)


def _within(value: Fraction, low: Fraction | None, high: Fraction | None) -> Fraction:
    value = value if low is None else max(value, low)
    return value if high is None else min(value, high)


def _words(number: Fraction, *, share: bool) -> str:
    return f"{figure(100 * number)}%" if share else figure(number)


def _plain(reader: Reader, question: Moment, value: Fraction) -> Any:
    """The value as computed; a sum of whole numbers is one."""
    whole = reader.partition.kind in ("integer", "boolean") and isinstance(question, Sum)
    return round(value) if whole else to_double(value)


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
    return reader.index.size + cells * reader.mean


def _value(reader: Reader, question: Mean | Sum | Std) -> Fraction:
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
    return _root(apart / total)


def _root(square: Fraction) -> Fraction:
    """The square root, to twenty digits or more.

    >>> float(_root(Fraction(2))), float(_root(Fraction(9, 10**9000)) * 10**4500)
    (1.4142135623730951, 3.0)
    """
    fine = 1 << 67 + square.denominator.bit_length()
    return Fraction(math.isqrt(math.floor(square * fine**2)), fine)


def _masses(reader: Reader) -> Iterator[tuple[Fraction, Fraction]]:
    """The estimated number of records of every released bucket, and where they are on average."""
    for place in range(len(reader.index.keys)):
        yield reader.profile.records(place), reader.profile.centre(place)


def _counted(reader: Reader) -> tuple[int, int | None]:
    """Between which numbers the number of records certainly lies; None where there is no largest one."""
    count = public_count(reader.partition)
    buckets = None if count is None or reader.summed is None else count * reader.summed  # of a listed group, too
    lost = most_lost(reader.noise.max_drop, buckets, total=reader.total)
    return reader.index.size, None if lost is None else reader.index.size + lost


def _certain(reader: Reader, question: Mean | Sum | Std) -> tuple[Fraction | float, Fraction | float] | None:
    """The interval that holds the exact value for certain; None where nothing is certain."""
    drop, count = reader.shortfall, public_count(reader.partition)
    if isinstance(question, Std) or drop is None or count is None or not reader.public or count > _MOST_BUCKETS:
        return None
    buckets_of = list(_public(reader))
    work = _sum if isinstance(question, Sum) else _mean
    low, high = (work(buckets_of, drop, reader.total, above=above) for above in (False, True))
    return None if low == -math.inf and high == math.inf else (low, high)


def _public(reader: Reader) -> Iterator[_Bucket]:
    """Every public bucket, released or not."""
    partition = reader.partition
    assert not isinstance(partition, Grid)
    released = dict(reader.index.items())
    if partition.kind == "boolean":
        yield from (_Bucket(int(released.get(key, 0)), Fraction(key), Fraction(key)) for key in (False, True))
        return
    assert partition.count is not None
    for index in range(partition.first, partition.first + partition.count):
        stretch = stretch_of(partition, index)
        ends = zip((stretch.low, stretch.high), bucket_ends(partition, index), strict=True)
        low, high = (None if end is None else on_line(value) for end, value in ends)
        yield _Bucket(int(released.get(index, 0)), low, high)


def _sum(buckets: list[_Bucket], drop: int, most: int | None, *, above: bool) -> Fraction | float:
    """The largest sum that the counts allow, or the smallest."""
    sign = 1 if above else -1
    total, ends = Fraction(0), []
    for bucket in buckets:
        end = bucket.high if above else bucket.low
        if end is None:
            return sign * math.inf
        total += bucket.count * end
        ends.append(sign * end)
    left = drop * len(ends) if most is None else most
    for end in sorted(ends, reverse=True):
        if end <= 0 or not left:
            break
        hidden = min(drop, left)
        total, left = total + sign * hidden * end, left - hidden
    return total


def _mean(buckets: list[_Bucket], drop: int, most: int | None, *, above: bool) -> Fraction | float:
    """The largest mean that the counts allow, or the smallest: hidden records lie in the outermost buckets."""
    sign = 1 if above else -1
    ends = []
    for bucket in buckets:
        end = bucket.high if above else bucket.low
        if end is None:
            return sign * math.inf
        ends.append((sign * end, bucket.count))
    total, records = sum((end * count for end, count in ends), Fraction(0)), sum(count for _, count in ends)
    left = drop * len(ends) if most is None else most
    for end, _ in sorted(ends, reverse=True):
        hidden = min(drop, left)
        if end * records <= total or not hidden:
            break
        total, records, left = total + hidden * end, records + hidden, left - hidden
    return sign * total / records


def _known(
    reader: Reader, words: Words, question: Mean | Sum | Std, found: Ends | None, *, by_group: bool = False
) -> str:
    """What is certain of an estimate; where that is little, that it may be poor, and what to ask for instead."""
    better = ""
    if isinstance(question, Mean | Sum):
        word = question.name
        better = f' Ask for it directly to get a bound on its error: ask=["{word}"], or --ask {word}.'
        if by_group:
            better = f" It was asked for and answered by group: only the {word} of each group has a bound on its error."
    if _opened(reader):
        placed = "Values in an open-ended bucket are placed by extrapolating the neighbouring counts"
        return f"{placed}, which is unreliable for long tails; no error bound is guaranteed.{better}"
    if found is None:
        off = "the released values" if isinstance(reader.partition, Exact) else "the middles of buckets"
        if _thins_out(reader):
            spots = off.rpartition(" ")[2]
            return (
                f"This estimate may be poor: the outermost {spots} hold few {words.contents}, and {spots} beyond them "
                f"may have been left out entirely. No error bound is guaranteed.{better}"
            )
        return f"It is read off {off}, and no error bound is guaranteed.{better}"
    share = reader.partition.kind == "boolean" and isinstance(question, Mean)
    name = "share" if share else "number" if reader.partition.kind == "boolean" else question.name
    limits = f" of the values {words.limited}" if words.limited else ""
    low, high = ("" if end is None else _words(end, share=share) for end in found)
    if not high or not low:
        return f"The exact {name}{limits} is guaranteed to be at {f'least {low}' if low else f'most {high}'}."
    told = f"The exact {name}{limits} is guaranteed to lie between {low} and {high}"
    assert found[0] is not None and found[1] is not None
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


def _last_digit(value: Fraction, digits: int) -> Fraction:
    """The power of ten that is the last of so many digits of a number; 0 of 0."""
    if not value:
        return Fraction(0)
    power = math.floor(math.log10(abs(value.numerator)) - math.log10(value.denominator))
    return Fraction(10) ** (power + 1 - digits)


def _outer(end: Fraction | float, *, up: bool) -> Any:
    """An end of an interval as an integer where it is one, else as a double beyond it."""
    if isinstance(end, float):
        return end
    if end.denominator == 1:
        return int(end)
    return float_up(end) if up else -float_up(-end)
