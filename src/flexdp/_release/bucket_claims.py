"""The claims of answers that are read off buckets: what their sentences say, with the ends that are printed."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any, Protocol

from flexdp._core.exact import float_up
from flexdp._release.answers import Applied, Counts, Reading, Tally
from flexdp._release.claims import (
    Absent,
    BeyondShare,
    Claim,
    InBucket,
    InOthers,
    Invented,
    Missing,
    MissingShare,
    OutsideShare,
    Population,
    Quantity,
)
from flexdp._release.estimates import (
    certain_ends,
    iqr_ends,
    is_certain,
    is_sure,
    printed_estimate,
    printed_iqr,
    span_ends,
)
from flexdp._release.ranges import printed_ends
from flexdp.buckets.base import MEASURES
from flexdp.buckets.grid import Grid
from flexdp.buckets.partition import Partition
from flexdp.guarantees import percent_text
from flexdp.statistics import IQR, Max, MaxAtLeast, Median, Min, Mode, Quantile, Range, Support, Top, to_python

__all__ = ["claims_of", "counted_claims"]

_MOST = 1000  # counts that have claims of their own; those beyond have the one of them all


class Worded(Protocol):
    """What claims need of the words for a part of a release (:class:`flexdp._release.sentences.Words`)."""

    @property
    def partition(self) -> Partition:
        """The buckets that the part is counted in."""

    @property
    def max_drop(self) -> int:
        """The most records that a bucket can have lost."""

    def population(self, *, limited: bool = False, units: bool = False) -> Population:
        """The values that a claim is about."""


def claims_of(words: Worded, reading: Reading) -> tuple[Claim, ...]:
    """Return what the sentence of an answer claims.

    Parameters
    ----------
    words
        The words for that part of the release.
    reading
        The answer in numbers.

    Returns
    -------
    tuple of Claim
        The claims, in the order of the sentence.
    """
    question = reading.question
    if reading.too_large or reading.too_wide or reading.index is None or isinstance(question, Applied):
        return ()
    if isinstance(question, Counts | Mode | Top | MaxAtLeast):
        return tuple(_of_counts(words, reading))
    if isinstance(question, Support):
        return tuple(_of_list(words, reading))
    if isinstance(question, Max | Min):
        return tuple(_of_extreme(words, reading, question))
    if isinstance(question, Range):
        return tuple(_of_range(words, reading, question))
    if isinstance(question, IQR):
        return tuple(_of_quartiles(words, reading, question))
    assert isinstance(question, Median | Quantile)
    return tuple(_of_quantile(words, reading, question))


def counted_claims(words: Worded, quantity: Quantity, tally: Tally, *, units: bool = False) -> Iterator[Claim]:
    """Yield what is claimed of a number of records: an estimate, and certain ends."""
    population = words.population(units=units)
    yield Claim(quantity=quantity, population=population, relation="is about", lower=tally.about, upper=tally.about)
    yield Claim(quantity=quantity, population=population, lower=tally.lower, upper=tally.upper)


def _of_counts(words: Worded, reading: Reading) -> Iterator[Claim]:
    assert reading.index is not None
    index = [_plain(each) for each in reading.index]
    for each, tally in zip(index[:_MOST], reading.tallies, strict=False):
        yield from counted_claims(words, InBucket(each), tally)
    if isinstance(reading.question, Counts):
        yield Claim(quantity=Missing(), population=words.population(), lower=0, upper=words.max_drop)
        yield Claim(quantity=Invented(), population=words.population(), upper=0)
    elif reading.others is not None:
        higher = isinstance(reading.question, MaxAtLeast)
        yield Claim(quantity=InOthers(tuple(index), higher), population=words.population(), upper=reading.others)


def _plain(index: Any) -> Any:
    found = to_python(index) if not hasattr(index, "tolist") else index.tolist()
    return tuple(found) if isinstance(found, list) else found


def _of_list(words: Worded, reading: Reading) -> Iterator[Claim]:
    yield Claim(quantity=Invented(), population=words.population(), upper=0)
    yield Claim(quantity=Absent(), population=words.population(), upper=0 if reading.beyond == 0 else words.max_drop)
    yield from _share(words, MissingShare(), reading.beyond)


def _share(words: Worded, quantity: Quantity, share: Fraction | None) -> Iterator[Claim]:
    printed = "" if share is None else percent_text(float_up(share))
    if printed not in ("", "0%", "100%"):
        most = Fraction(printed.removesuffix("%")) / 100
        yield Claim(quantity=quantity, population=words.population(), upper=most)


def _of_extreme(words: Worded, reading: Reading, question: Max | Min) -> Iterator[Claim]:
    assert reading.index is not None and not isinstance(words.partition, Grid)
    low, high = printed_ends(words.partition, to_python(reading.index[0]))
    population, above = words.population(), isinstance(question, Max)
    if is_certain(words.partition, reading, words.max_drop):
        yield Claim(quantity=question, population=population, lower=low, upper=high)
        return
    near, far = (low, high) if above else (high, low)
    if near is not None:
        ends = {"lower": near} if above else {"upper": near}
        yield Claim(quantity=question, population=population, **ends)
    yield Claim(
        quantity=question, population=population, relation="is of the rest", lower=low, upper=high, lost=words.max_drop
    )
    yield Claim(quantity=Absent(), population=population, upper=words.max_drop)
    if far is not None:
        yield from _share(words, BeyondShare(far, above), reading.beyond)


def _of_range(words: Worded, reading: Reading, question: Range) -> Iterator[Claim]:
    low, high = _lengths(*span_ends(words.partition, reading))
    population = words.population()
    if is_certain(words.partition, reading, words.max_drop):
        yield Claim(quantity=question, population=population, lower=low, upper=high)
        return
    yield Claim(quantity=question, population=population, lower=low)
    yield Claim(
        quantity=question, population=population, relation="is of the rest", lower=low, upper=high, lost=words.max_drop
    )
    yield Claim(quantity=Absent(), population=population, upper=words.max_drop)
    assert reading.index is not None and not isinstance(words.partition, Grid)
    (near, _), (_, far) = (printed_ends(words.partition, to_python(place)) for place in reading.index)
    if near is not None and far is not None:
        yield from _share(words, OutsideShare(near, far), reading.beyond)


def _lengths(low: Any, high: Any, unit: str) -> tuple[Any, Any]:
    """The ends of a range as lengths of time, where they are some."""
    if not unit:
        return low, high
    micros = [end * MEASURES[unit] for end in (low, high)]
    return dt.timedelta(microseconds=math.floor(micros[0])), dt.timedelta(microseconds=math.ceil(micros[1]))


def _of_quantile(words: Worded, reading: Reading, question: Median | Quantile) -> Iterator[Claim]:
    partition = words.partition
    assert reading.index is not None and not isinstance(partition, Grid)
    population = words.population()
    if not is_sure(reading) and reading.opened is None and reading.value is not None:
        value = printed_estimate(partition, reading)
        yield Claim(quantity=question, population=population, relation="is about", lower=value, upper=value)
    low, high = certain_ends(partition, reading)
    if low is not None or high is not None:
        yield Claim(quantity=question, population=population, lower=low, upper=high)
    elif reading.interval is None:
        low, high = printed_ends(partition, to_python(reading.index[0]))
        relation: Any = "is of the rest" if words.max_drop else "is"
        if low is not None or high is not None:
            yield Claim(
                quantity=question,
                population=population,
                relation=relation,
                lower=low,
                upper=high,
                lost=words.max_drop,
            )


def _of_quartiles(words: Worded, reading: Reading, question: IQR) -> Iterator[Claim]:
    assert not isinstance(words.partition, Grid)
    population = words.population()
    if reading.opened is None and reading.value is not None:
        value = printed_iqr(words.partition, reading)
        yield Claim(quantity=question, population=population, relation="is about", lower=value, upper=value)
    for part in reading.parts:
        assert isinstance(part.question, Quantile)
        yield from _estimates(_of_quantile(words, part, part.question))
    if reading.interval is not None:
        low, high = iqr_ends(words.partition, reading)
        yield Claim(quantity=question, population=population, lower=low, upper=high)


def _estimates(claims: Iterable[Claim]) -> Iterator[Claim]:
    return (claim for claim in claims if claim.relation == "is about")
