"""Asked answers beside everything else that a release publishes of the same values, as facts to be reconciled."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

from flexdp._release.answers import Reader, Reading
from flexdp._release.asked import GAMMA, Asked, Result
from flexdp._release.asked_promises import MeanPromise, RankPromise, mean_promise, rank_promises
from flexdp._release.claims import Population
from flexdp._release.filtered import range_of_filter
from flexdp._release.interpolation import on_line
from flexdp._release.moments import moment
from flexdp._release.ranges import bucket_ends
from flexdp._release.reconcile import Ends, Fact, reconcile
from flexdp._release.sentences import Words
from flexdp.statistics import Count, Max, Mean, Median, Min, Quantile, Statistic, Sum, to_python

__all__ = ["AskedFacts", "quantile_of"]

_SIDES: tuple[Statistic, Statistic] = (Min(), Max())
_NAMED: dict[Fraction, Statistic] = {Fraction(0): Min(), Fraction(1, 2): Median(), Fraction(1): Max()}
_LEVELS = (Fraction(0), Fraction(1, 5), Fraction(1, 2), Fraction(4, 5), Fraction(1))  # ends, tails, and an anchor
_TOTALS: dict[str, Statistic] = {"mean": Mean(), "sum": Sum()}


def quantile_of(level: Fraction) -> Statistic:
    """Return the statistic at a level: the minimum at 0, the median at 1/2, the maximum at 1."""
    return _NAMED.get(level) or Quantile(level)


@dataclass(frozen=True)
class AskedFacts:
    """What a release says of the values that were asked about: drawn answers, buckets, public bounds and the filter.

    Parameters
    ----------
    asked, result
        All asked answers, and the outcomes in question.
    words
        The part of the release, with its public description.
    reader
        Its buckets, where it has any.
    """

    asked: Asked
    result: Result
    words: Words
    reader: Reader | None = None

    @cached_property
    def promises(self) -> dict[Fraction, RankPromise]:
        """The promises of all quantiles, by level."""
        return rank_promises(self.asked, self.result)

    @cached_property
    def mean_promise(self) -> MeanPromise | None:
        """The promise of mean and sum."""
        return None if self.result.mean is None else mean_promise(self.asked, self.result.mean)

    def drawn(self, level: Fraction) -> Fact:
        """Return the answer at a level, reconciled."""
        return self._found["level", level]

    def reaches(self, level: Fraction) -> int | None:
        """Return the value, in units, that an extreme lies beyond; None where that is certain anyway, or cannot be."""
        promise, key = self.promises[level], ("reaches", level)
        if promise.reaches is None or self.drawn(level).unknown:
            return None
        side = 1 if level else -1
        nearest = self._place(promise.reaches + side)
        fact = self._found[key]
        return promise.reaches if (fact.low if level else fact.high) == nearest else None

    def total(self, word: str) -> Fact:
        """Return the mean or the sum, reconciled."""
        return self._found["total", word]

    def population(
        self, *, limits: tuple[Any, Any] | None = None, counted: Literal["records", "values"] | None = None
    ) -> Population:
        """Return the population that asked answers refer to, with limits of their own where some are given."""
        if counted is None:
            capped = self.words.spec.unit is not None and self.words.spec.per_unit is None
            counted = "values" if capped else "records"
        return Population(part=self.words.part, limits=self.bounds if limits is None else limits, counted=counted)

    @property
    def bounds(self) -> tuple[Any, Any] | None:
        """Public bounds to which every value is limited; None where values beyond them do not count."""
        buckets = self.words.spec.partitions[0]
        bounds = getattr(buckets, "bounds", None)
        if bounds is None or getattr(buckets, "outside", "clamp") != "clamp":
            return None
        return Fraction(bounds[0]), Fraction(bounds[1])

    @property
    def quantiles(self) -> tuple[Fact, ...]:
        """The drawn quantiles that are known, which limit those that are read off buckets."""
        levels = () if self.result.levels is None else self.result.levels.answers
        found = [self.drawn(each.level) for each in levels]
        return tuple(fact for fact in found if fact.point is not None)

    def is_beyond_calendar(self, units: int) -> bool:
        """Return True if a drawn time is none of the years 1 to 9999."""
        first, last = self.asked.column.calendar.low, self.asked.column.calendar.high
        return first is not None and last is not None and not first <= units < last

    def sure(self, level: Fraction) -> Reading | None:
        """Return the reading of a quantile that buckets guarantee; None where they do not, or count other values."""
        reader = self.reader_of_same
        if reader is None or not self.words.spec.ordered:
            return None
        reading = reader.quantile(Quantile(level), level)
        return None if reading.interval is None else reading

    @property
    def reader_of_same(self) -> Reader | None:
        """The buckets, unless they count other values: a unit counts in them with others than among the values."""
        spec = self.words.spec
        return None if spec.unit is not None and spec.per_unit is None else self.reader

    @cached_property
    def _found(self) -> dict[tuple[str, Any], Fact]:
        keyed = list(self._facts())
        limit = self._place(self.asked.column.scale.limit)
        return {
            key: fact
            for (key, _), fact in zip(keyed, reconcile([fact for _, fact in keyed], last=limit), strict=True)
            if key is not None
        }

    def _facts(self) -> Iterator[tuple[tuple[str, Any] | None, Fact]]:
        whole = self.population()
        for side, end in zip(_SIDES, self.asked.column.public, strict=True):
            yield None, _one_ended(side, whole, None if end is None else self._place(end), public=True)
        for side, value in zip(_SIDES, range_of_filter(self.words.spec), strict=True):
            yield None, _one_ended(side, whole, None if value is None else on_line(value), public=True)
        yield from self._of_buckets(whole)
        seen = self.result.records_about
        if seen is not None:
            yield None, Fact(quantity=Count(), population=whole, point=Fraction(seen), gamma=GAMMA)
        yield from self._of_quantiles(whole)
        yield from self._of_totals(whole)

    def _of_quantiles(self, whole: Population) -> Iterator[tuple[tuple[str, Any] | None, Fact]]:
        if self.result.levels is None or self.result.levels.too_few:
            return
        for level, value in self.result.levels.helpers:
            yield None, Fact(quantity=quantile_of(level), population=whole, point=self._place(value), drawn=True)
        for each in self.result.levels.answers:
            quantity, place = quantile_of(each.level), self._place(each.value)
            yield ("level", each.level), Fact(quantity=quantity, population=whole, point=place, drawn=True)
            reaches = self.promises[each.level].reaches
            if reaches is not None:
                fact = _one_ended(quantity, whole, self._place(reaches + (1 if each.level else -1)), inner=True)
                yield ("reaches", each.level), fact

    def _of_totals(self, whole: Population) -> Iterator[tuple[tuple[str, Any] | None, Fact]]:
        mean = self.result.mean
        if mean is None or mean.too_few:
            return
        if mean.anchor is not None:
            yield None, self._middle(whole, mean.anchor)
        found = not self.asked.column.bounded
        population = whole
        if found and mean.low is not None and mean.high is not None:
            population = self.population(limits=(self._place(mean.low), self._place(mean.high)))
        for word, quantity in _TOTALS.items():
            point = mean.mean if word == "mean" else mean.total
            fact = Fact(quantity=quantity, population=population, point=point, gamma=GAMMA, drawn=True, found=found)
            yield ("total", word), fact

    def _of_buckets(self, whole: Population) -> Iterator[tuple[tuple[str, Any] | None, Fact]]:
        """What buckets make certain of the same values: ends of quantiles, and of the totals that were asked for."""
        reader = self.reader_of_same
        if reader is None or not len(reader.index):
            return
        for side, place, end in zip(_SIDES, (0, -1), (1, 0), strict=True):  # a released bucket holds a record
            value = bucket_ends(reader.partition, to_python(reader.index.keys[place]))[end]  # type: ignore[arg-type]
            if not _is_infinite(value):
                yield None, _one_ended(side, whole, on_line(value), inner=True, gamma=Fraction(0))
        for level in sorted({*_LEVELS, *self.asked.wanted.levels}):
            if (reading := self.sure(level)) is not None and reading.interval is not None:
                low, high = _ends(reading.interval)
                yield None, Fact(quantity=quantile_of(level), population=whole, low=low, high=high)
        for word, quantity in _TOTALS.items() if self.result.mean is not None else ():
            if word in self.asked.wanted.words and isinstance(quantity, Mean | Sum):
                interval = moment(reader, self.words, quantity).interval
                if interval is not None:
                    low, high = _ends(interval)
                    yield None, Fact(quantity=quantity, population=whole, low=low, high=high)

    def _middle(self, whole: Population, anchor: int) -> Fact:
        """The anchor: a public value near the median."""
        return Fact(quantity=Median(), population=whole, point=self._place(anchor), drawn=True)

    def _place(self, units: int) -> Fraction:
        return self.asked.column.scale.value(units)


def _one_ended(
    quantity: Statistic,
    population: Population,
    end: Fraction | None,
    *,
    public: bool = False,
    inner: bool = False,
    gamma: Fraction | None = None,
) -> Fact:
    """The outer end of an extreme; with ``inner`` the end that it lies beyond, except with a probability."""
    chance = (GAMMA if inner else Fraction(0)) if gamma is None else gamma
    lower = isinstance(quantity, Min) != inner
    return Fact(
        quantity=quantity,
        population=population,
        low=end if lower else None,
        high=None if lower else end,
        gamma=chance,
        public=public,
    )


def _ends(interval: tuple[Any, Any]) -> Ends:
    low, high = (None if _is_infinite(end) else on_line(end) for end in interval)
    return low, high


def _is_infinite(value: Any) -> bool:
    return isinstance(value, float) and math.isinf(value)
