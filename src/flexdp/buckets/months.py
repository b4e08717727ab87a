"""Buckets of whole months of the calendar; β is half the length of the bucket in question."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.calendar import DAYS_FROM_MARCH_0, MICROS_PER_DAY, first_day, month_numbers
from flexdp._core.text import plural
from flexdp.buckets.base import Bucket, Kind, Outside, confine, end_times, half_span, middle_times

__all__ = ["Months"]


@dataclass(frozen=True)
class Months:
    """Buckets of ``months`` months of the calendar each, counted from January of the year 0; for dates or datetimes."""

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
        """Offset that makes days or microseconds count from 1 March of the year 0."""
        return DAYS_FROM_MARCH_0 * self.per_day

    @property
    def spec(self) -> str:
        return f"buckets of {self.width_text}"

    @property
    def width_text(self) -> str:
        """Width as people write it and :func:`make_buckets` reads it."""
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
        """β of all these buckets together."""
        return self.beta

    def _index(self, values: NDArray[Any]) -> NDArray[np.int64]:
        return np.asarray(month_numbers(values // self.per_day) // self.months, dtype=np.int64)

    def locate(self, values: NDArray[Any]) -> NDArray[Any]:
        return self._index(confine(values, self.bounds, self.outside))

    def _span(self, i: int) -> tuple[Fraction, Fraction]:
        """Return the first and the last day or microsecond of a bucket, within the bounds and the calendar."""
        start, end = first_day(i * self.months), first_day((i + 1) * self.months)
        first, last = start * self.per_day, end * self.per_day - 1
        if self.bounds:
            first, last = max(first, int(self.bounds[0])), min(last, int(self.bounds[1]))
        return Fraction(first), Fraction(last)

    def centres(self, index: NDArray[Any]) -> NDArray[Any]:
        return middle_times(self.kind, [self._span(i) for i in index.tolist()])

    def edges_of(self, index: NDArray[Any]) -> list[Bucket]:
        return end_times(self.kind, [self._span(i) for i in index.tolist()])
