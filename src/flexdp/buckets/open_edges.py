"""Buckets between public edges whose first and last bucket take everything beyond; β of those two is not stated.

An edge stands *before* a value, "from 10 on", or *after* it, "beyond 10". The two together make a bucket of a single
value: "exactly 10". Numbers of magnitude below 10^−30 count as 0, and beyond 10^39 as ±10^39, as in sharp answers: so
no edge lies there, and counting again from sharp ranks gives the same counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexdp._core.calendar import FIRST_DATETIME, LAST_DATETIME, MICROS_PER_DAY
from flexdp._core.exact import float_up, next_below, said, to_double
from flexdp._core.keys import canonical_keys
from flexdp._core.text import plural
from flexdp.buckets.base import (
    LARGEST_INTEGER,
    Bucket,
    Kind,
    Outside,
    confine,
    error_unit,
    half_span,
    integer_keys,
    middle_times,
    times,
)

__all__ = ["Cut", "OpenEdges"]

_TINY, _HUGE = 1e-30, 1e39


class Cut(NamedTuple):
    """An edge: before a value, or after it."""

    value: Fraction
    after: bool = False


@dataclass(frozen=True)
class OpenEdges:
    """Buckets between edges; the first one takes everything below, the last one everything from its edge on.

    With bounds the first bucket begins at the lower and the last one ends at the upper bound, where values beyond are
    counted too ("clamp") or not ("drop").

    Parameters
    ----------
    kind
        Kind of the values: "integer", "number", "date" or "datetime".
    cuts
        The edges, ascending; none for a single bucket. Only edges of numbers stand after a value.
    bounds, outside
        As for every partition.

    Examples
    --------
    >>> buckets = OpenEdges("integer", (Cut(Fraction(0)), Cut(Fraction(1)), Cut(Fraction(10))))
    >>> buckets.locate(np.array([-7, 0, 3, 10**6])).tolist()
    [0, 1, 2, 3]
    >>> buckets.edges_of(np.arange(4))[0], buckets.edges_of(np.arange(4))[1]
    (Bucket(lower=-inf, upper=-1), Bucket(lower=0, upper=0))
    """

    kind: Kind
    cuts: tuple[Cut, ...]
    bounds: tuple[Fraction, Fraction] | None = None
    outside: Outside = "clamp"

    relative = False
    first = 0

    @classmethod
    def of(
        cls,
        kind: Kind,
        cuts: Iterable[Cut],
        bounds: tuple[Fraction, Fraction] | None = None,
        outside: Outside = "clamp",
    ) -> OpenEdges:
        """Return the partition without edges that separate nothing: beyond the values that are read, or repeated.

        Examples
        --------
        >>> OpenEdges.of("number", [Cut(Fraction(10**40)), Cut(Fraction(1))]).cuts
        (Cut(value=Fraction(1, 1), after=False),)
        """
        low, high = _limits(kind)
        if bounds is not None:
            low, high = max(low, bounds[0]), min(high, bounds[1])
        kept: list[Cut] = []
        last: float | int = to_double(low) if kind == "number" else int(low)
        for cut in sorted({_plain(kind, cut) for cut in cuts}):
            start = first_value(kind, cut)
            if start > last and start <= (to_double(high) if kind == "number" else int(high)):
                kept.append(cut)
                last = start
        return cls(kind, tuple(kept), bounds, outside)

    @property
    def sound(self) -> bool:
        """True if every edge separates values that are read, in ascending order."""
        return self == OpenEdges.of(self.kind, self.cuts, self.bounds, self.outside)

    @property
    def count(self) -> int:
        return len(self.cuts) + 1

    @cached_property
    def unit(self) -> str:
        closed = [span for i in range(self.count) if (span := self._span(i)) is not None]
        return error_unit(self.kind, *(high - low + int(self.kind != "number") for low, high in closed))

    @property
    def spec(self) -> str:
        ends = "" if self.bounds is not None else ", open at both ends"
        return f"{plural(self.count, 'bucket')}{ends}"

    @property
    def beta(self) -> Fraction | None:
        """The largest half-width; None where an end is open."""
        return self.beta_of(np.arange(self.count))

    def beta_at(self, index: Any) -> Fraction | None:
        """Half-width of one bucket; None if it is open."""
        place = int(index)
        span = self._span(place)
        if span is None:
            return None
        half = half_span(self.kind, span, self.unit)
        if self.kind != "number":
            return half
        low, high = self.extent(place)
        key = said(self._key(place))
        return max(key - low, high - key)

    def beta_of(self, index: NDArray[Any]) -> Fraction | None:
        """β of all these buckets together: that of the widest; None if one of them is open."""
        found = [self.beta_at(one) for one in index.tolist()]
        known = [beta for beta in found if beta is not None]
        return max(known, default=Fraction(0)) if len(known) == len(found) else None

    def is_open(self, index: int, *, above: bool) -> bool:
        """Return True for the last (or first) bucket, unless values beyond the bounds are not counted."""
        end = index == (self.count - 1 if above else 0)
        return end and (self.bounds is None or self.outside == "clamp")

    def single(self, index: int) -> bool:
        """Return True for a bucket of one value only."""
        span = self._span(index)
        return span is not None and span[0] == span[1]

    @cached_property
    def starts(self) -> list[Any]:
        """The first value of every bucket but the first: doubles, or integers."""
        return [first_value(self.kind, cut) for cut in self.cuts]

    def extent(self, index: int) -> tuple[Fraction, Fraction]:
        """Return the outermost numbers that lie in a closed bucket, or its edges where these are further out."""
        span = self._span(index)
        assert span is not None and self.kind == "number"
        if span[0] == span[1]:
            return span
        low, high = (said(double) for double in self._doubles(index))
        return min(span[0], low), max(span[1], high)

    def _doubles(self, index: int) -> tuple[float, float]:
        """The outermost doubles in a closed bucket of numbers."""
        if self.bounds is None:
            return self.starts[index - 1], next_below(self.starts[index])
        low, high = (to_double(end) for end in self.bounds)
        first = low if index == 0 else self.starts[index - 1]
        return first, high if index == self.count - 1 else next_below(self.starts[index])

    def _span(self, index: int) -> tuple[Fraction, Fraction] | None:
        """The first and last value (integers) or the two ends (numbers) of a bucket; None if it is open."""
        if self.bounds is None and index in (0, self.count - 1):
            return None
        low = self.bounds[0] if index == 0 and self.bounds is not None else self.cuts[index - 1].value
        if index == self.count - 1 and self.bounds is not None:
            return low, self.bounds[1]
        return low, self.cuts[index].value - int(self.kind != "number")

    def locate(self, values: NDArray[Any]) -> NDArray[Any]:
        inside = confine(values, self.bounds, self.outside)
        return np.searchsorted(canonical_keys(self.starts), inside, side="right").astype(np.int64)

    def centres(self, index: NDArray[Any]) -> NDArray[Any]:
        places = index.tolist()
        if self.kind == "number":
            return np.array([self._key(place) for place in places], dtype=np.float64)
        spans = [self._span(place) or (self._end(place),) * 2 for place in places]
        if self.kind in ("date", "datetime"):
            return middle_times(self.kind, spans)
        every = [self._span(place) or (self._end(place),) * 2 for place in range(self.count)]
        halves = any(sum(span) % 2 for span in every)
        return integer_keys([sum(span) / 2 for span in spans], halves=halves)

    def _end(self, index: int) -> Fraction:
        """The value of an open bucket of integers or times that is nearest to the others."""
        if not self.cuts:
            return Fraction(0)
        return self.cuts[0].value - 1 if index == 0 else self.cuts[-1].value

    def _key(self, index: int) -> float:
        """The middle of a bucket of numbers; of an open one its edge. No two buckets share a key."""
        span = self._span(index)
        if span is not None:
            low, high = self._doubles(index)
            middle = to_double((span[0] + span[1]) / 2)
            return middle if span[0] == span[1] else min(max(middle, low), high)
        if not self.cuts:
            return 0.0
        cut = self.cuts[0] if index == 0 else self.cuts[-1]
        if index == 0:
            edge = to_double(cut.value)
            return edge if edge < self._key(1) else next_below(self.starts[0])
        return self.starts[-1] if cut.after else to_double(cut.value)

    def edges_of(self, index: NDArray[Any]) -> list[Bucket]:
        out = []
        for place in index.tolist():
            span = self._span(place)
            low = -math.inf if span is None and place == 0 else self._shown(self._low(place), up=False)
            high = math.inf if span is None and place == self.count - 1 else self._shown(self._high(place), up=True)
            out.append(Bucket(low, high))
        return out

    def _low(self, index: int) -> Fraction:
        return self.bounds[0] if index == 0 and self.bounds is not None else self.cuts[index - 1].value

    def _high(self, index: int) -> Fraction:
        if index == self.count - 1 and self.bounds is not None:
            return self.bounds[1]
        return self.cuts[index].value - int(self.kind != "number")

    def _shown(self, end: Fraction, *, up: bool) -> Any:
        if self.kind in ("date", "datetime"):
            return times(self.kind, np.array([int(end)]))[0]
        if self.kind == "integer":
            return int(end)
        nearest = to_double(end)
        if said(nearest) == end:  # the usual edges are short decimals
            return nearest
        return float_up(end) if up else -float_up(-end)


def first_value(kind: Kind, cut: Cut) -> Any:
    """Return the smallest value from an edge on: an integer, or the first double that stands for such a number.

    Examples
    --------
    >>> first_value("number", Cut(Fraction(1, 10))), first_value("number", Cut(Fraction(1, 10), after=True))
    (0.1, 0.10000000000000002)
    >>> first_value("integer", Cut(Fraction(5))), first_value("number", Cut(Fraction(0), after=True))
    (5, 1e-30)
    """
    if kind != "number":
        return int(cut.value) + int(cut.after)
    found = to_double(cut.value)
    while math.isfinite(found) and (said(found) < cut.value or (cut.after and said(found) == cut.value)):
        found = math.nextafter(found, math.inf)
    if -_TINY < found < _TINY:  # all of these count as 0
        return math.nextafter(-_TINY, math.inf) if found <= 0 else _TINY
    return found


def _plain(kind: Kind, cut: Cut) -> Cut:
    """Return an edge among tiny numbers, which all count as 0, as one before or after 0."""
    if kind == "number" and abs(cut.value) < said(_TINY):
        return Cut(Fraction(0), cut.value > 0 or (cut.value == 0 and cut.after))
    return cut


def _limits(kind: Kind) -> tuple[Fraction, Fraction]:
    """The outermost values that are read."""
    if kind == "number":
        return said(-_HUGE), said(_HUGE)
    if kind == "integer":
        return Fraction(-LARGEST_INTEGER), Fraction(LARGEST_INTEGER)
    per = MICROS_PER_DAY if kind == "date" else 1
    return Fraction(FIRST_DATETIME // per), Fraction(LAST_DATETIME // per)
