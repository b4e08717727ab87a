"""So many months of the calendar; β = half the length of the bucket in question."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.text import plural
from flexdp.buckets.base import (
    EPOCH,
    FIRST_DAY,
    LAST_DAY,
    MICROS_PER_DAY,
    Bucket,
    Kind,
    Outside,
    confine,
    end_times,
    half_span,
    middle_times,
)

__all__ = ["Months"]

_MARCH_OF_YEAR_ZERO = 719468  # days before 1970-01-01


@dataclass(frozen=True)
class Months:
    """So many months of the calendar each, counted from January of the year 0; on dates or datetimes."""

    kind: Kind
    months: int
    bounds: tuple[Fraction, Fraction] | None = None
    outside: Outside = "clamp"

    relative = False
    unit = "days"

    @property
    def per_day(self) -> int:
        return MICROS_PER_DAY if self.kind == "datetime" else 1

    @property
    def day_zero(self) -> int:
        """What is added to a day or a datetime to count from the first of March of the year 0."""
        return _MARCH_OF_YEAR_ZERO * self.per_day

    @property
    def spec(self) -> str:
        return f"buckets of {self.width_text}"

    @property
    def width_text(self) -> str:
        """The width as people, and ``make_buckets``, write it."""
        length, word = (self.months // 12, "year") if self.months % 12 == 0 else (self.months, "month")
        return plural(length, word)

    @cached_property
    def first(self) -> int:
        return int(self._index(np.array([int(self.bounds[0])]))[0]) if self.bounds else 0

    @cached_property
    def count(self) -> int | None:
        if self.bounds is None:
            return None
        return int(self._index(np.array([int(self.bounds[1])]))[0]) - self.first + 1

    @property
    def beta(self) -> Fraction:
        if self.bounds is None:  # no month is longer than 31 days, no year than 366
            longest = 366 * (self.months // 12) + 31 * (self.months % 12)
            return Fraction(longest, 2) if self.kind == "datetime" else Fraction(longest // 2)
        return max(self.beta_at(self.first + i) for i in range(self.count or 0))

    def beta_at(self, index: Any) -> Fraction:
        return half_span(self.kind, self._span(int(index)), self.unit)

    def beta_of(self, index: NDArray[Any]) -> Fraction:  # noqa: ARG002
        """The β of all these buckets together."""
        return self.beta

    def _index(self, values: NDArray[Any]) -> NDArray[np.int64]:
        days = (values + self.day_zero) // self.per_day
        era = days // 146097
        doe = days - 146097 * era
        yoe = (doe - doe // 1460 + doe // 36524 - doe // 146096) // 365
        doy = doe - (365 * yoe + yoe // 4 - yoe // 100)
        month = 12 * (400 * era + yoe) + (5 * doy + 2) // 153 + 2
        return np.asarray(month // self.months, dtype=np.int64)

    def locate(self, values: NDArray[Any]) -> NDArray[Any]:
        return self._index(confine(values, self.bounds, self.outside))

    def _span(self, i: int) -> tuple[Fraction, Fraction]:
        """The first and the last day or moment of a bucket, cut at the bounds and at the ends of the calendar."""
        ends = []
        for month in (i * self.months, (i + 1) * self.months):
            year = month // 12
            inside = dt.date(year, month % 12 + 1, 1).toordinal() - EPOCH if 1 <= year <= 9999 else None
            ends.append((FIRST_DAY if year < 1 else LAST_DAY + 1) if inside is None else inside)
        first, last = ends[0] * self.per_day, ends[1] * self.per_day - 1
        if self.bounds:
            first, last = max(first, int(self.bounds[0])), min(last, int(self.bounds[1]))
        return Fraction(first), Fraction(last)

    def centres(self, index: NDArray[Any]) -> NDArray[Any]:
        return middle_times(self.kind, [self._span(i) for i in index.tolist()])

    def edges_of(self, index: NDArray[Any]) -> list[Bucket]:
        return end_times(self.kind, [self._span(i) for i in index.tolist()])
