"""The table that a reader thinks of, record by record, and what is true of it, computed without the release."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

from engines.oracle import bar_of, digest, is_read, mean, value_of

from flexdp import Release
from flexdp._release.api import prepare
from flexdp._release.claims import Population
from flexdp.tables import Axis
from flexdp.tables.sql.rank_query import exactly
from truth.requests import Request
from truth.tables import Table

Span: TypeAlias = tuple[Any, Any]  # the least and the greatest that a number can be

_EPOCH = dt.datetime(1970, 1, 1)
_MICRO = dt.timedelta(microseconds=1)


def on_line(value: Any, *, last: bool = False) -> Any:
    """Return a number for a value, times in microseconds; of a day that ends something the last one."""
    if isinstance(value, dt.datetime):
        return Fraction((value - _EPOCH) // _MICRO)
    if isinstance(value, dt.date):
        return Fraction((value - _EPOCH.date()).days * 86400 * 10**6 + (86400 * 10**6 - 1 if last else 0))
    if isinstance(value, dt.timedelta):
        return Fraction(value // _MICRO)
    if isinstance(value, float):
        return Fraction(repr(value)) if math.isfinite(value) else value
    return Fraction(value)


@dataclass(frozen=True)
class Item:
    """One counted value: an interval where only its bucket is known, the bucket it lies in, and its group."""

    low: Any
    high: Any
    place: tuple[Any, ...]
    group: tuple[Any, ...]
    unit: Any = None


class Raw:
    """What is true of a table that was released.

    Parameters
    ----------
    table, request
        The table and the request.
    release
        The release; only its buckets and the salt of its units are used.
    salt
        The salt with which units were limited.
    """

    def __init__(self, table: Table, request: Request, release: Release, salt: str) -> None:
        self.table, self.request, self.release, self.salt = table, request, release, salt
        own = {key: value for key, value in request.parameters.items() if key not in ("epsilon", "delta", "certify")}
        self.counting = prepare(table.frame(), "v", **own).questions[0].counting
        partition = release.spec.partitions[0]
        axis = replace(self.counting.values[0], buckets=partition)
        self.axes: list[Axis] = [*self.counting.groups, axis]
        self.partition = partition
        self._items: dict[Population, list[Item]] = {}

    def items(self, population: Population) -> list[Item]:
        """Return the values of a population, from the least to the greatest."""
        if population not in self._items:
            self._items[population] = sorted(self._selected(population), key=lambda item: (item.low, item.high))
        return self._items[population]

    def _selected(self, population: Population) -> list[Item]:
        found = self._counted(values=population.counted == "values")
        if population.counted == "units":
            found = list({item.unit: item for item in found}.values())
        if population.part.group is not None:
            found = [item for item in found if item.group == population.part.group]
        if population.limits is None:
            return found
        low, high = on_line(population.limits[0]), on_line(population.limits[1], last=True)
        return [replace(item, low=_within(item.low, low, high), high=_within(item.high, low, high)) for item in found]

    def _counted(self, *, values: bool) -> list[Item]:
        return self._values if values else self._ranges

    @cached_property
    def _edges(self) -> list[Span]:
        """The ends of the released buckets of numbers and times."""
        edges = self.release.buckets if self.release.budget is not None else []
        return [(on_line(low), on_line(high, last=True)) for low, high in edges if not isinstance(low, str | bool)]

    @property
    def widest(self) -> Any:
        """The width of the widest released bucket that has two ends."""
        return max((high - low for low, high in self._edges if abs(low) != math.inf != abs(high)), default=Fraction(0))

    @property
    def outermost(self) -> Span:
        """The outermost ends that released buckets have."""
        ends = [end for pair in self._edges for end in pair if abs(end) != math.inf]
        return min(ends, default=-math.inf), max(ends, default=math.inf)

    @cached_property
    def _ranges(self) -> list[Item]:
        return self._limited(self.axes)

    @cached_property
    def _values(self) -> list[Item]:
        return self._limited([*self.counting.groups, exactly(self.counting).values[0]])

    def _limited(self, axes: Sequence[Axis]) -> list[Item]:
        """The values as they count: all of them, or of each unit those that its cap allows."""
        rows = list(self._rows(axes))
        units = self.counting.units
        if units is None:
            return [item for item, _ in rows]
        of_unit: dict[Any, dict[tuple[Any, ...], list[Item]]] = defaultdict(lambda: defaultdict(list))
        for item, bar in rows:
            if is_read(item.unit):
                of_unit[item.unit][bar].append(item)
        if units.per_unit == "mean":
            return list(self._means(of_unit, axes))
        out: list[Item] = []
        for unit, bars in of_unit.items():

            def rank(bar: tuple[Any, ...], unit: Any = unit) -> tuple[Any, ...]:
                return digest(self.salt, unit, bar, axes), *bar

            kept = sorted(bars, key=rank)
            if units.per_unit in ("max", "min"):
                best = (max if units.per_unit == "max" else min)(bar[-1] for bar in bars)
                kept = [min((bar for bar in bars if bar[-1] == best), key=rank)]
            for bar in kept[: units.most]:
                inside = bars[bar]
                low, high = min(item.low for item in inside), max(item.high for item in inside)
                if units.per_unit == "max":
                    low = high
                if units.per_unit == "min":
                    high = low
                out.append(replace(inside[0], low=low, high=high))
        return out

    def _means(self, of_unit: Any, axes: Sequence[Axis]) -> Iterator[Item]:
        for unit, bars in of_unit.items():
            numbers = [float(item.low) for inside in bars.values() for item in inside]
            value = mean([number for number in numbers if abs(number) <= 1e307])
            bar = bar_of(value, axes[-1])
            if bar is not None:
                yield Item(on_line(value), on_line(value), (bar,), (), unit)

    def _rows(self, axes: Sequence[Axis]) -> Iterator[tuple[Item, tuple[Any, ...]]]:
        table, request = self.table, self.request
        declared = None if request.groups is None else set(request.groups)
        for v, g, u, w in zip(table.v, table.g, table.u, table.w, strict=True):
            if not request.passes(w):
                continue
            group: tuple[Any, ...] = ()
            if request.by is not None:
                label = g
                if declared is not None and g not in declared:
                    label = request.other
                if label is None:
                    continue
                group = (label,)
            value = value_of(v, axes[-1])
            if value is None:
                continue
            one_value = self.counting.units is not None and self.counting.units.per_unit == "mean"
            place = 0 if one_value else bar_of(value, axes[-1])
            if place is None:
                continue
            spot = on_line(v) if self.table.kind in ("number", "integer", "date", "datetime", "boolean") else 0
            yield Item(spot, spot, (*group, place), group, u), (*group, place)

    def touched(self, population: Population) -> int:
        """Return the number of units that have more ranges, or different values, than they count with."""
        axes = self.axes if population.counted == "ranges" else [*self.axes[:-1], exactly(self.counting).values[0]]
        units = self.counting.units
        if units is None:
            return 0
        bars: dict[Any, set[Any]] = defaultdict(set)
        for item, bar in self._rows(axes):
            if is_read(item.unit):
                bars[item.unit].add(bar)
        return sum(len(each) > units.most for each in bars.values())

    def places(self, population: Population) -> Counter[tuple[Any, ...]]:
        """Return the numbers of counted values by group and bucket."""
        return Counter(item.place for item in self.items(population))


def _within(value: Any, low: Any, high: Any) -> Any:
    return min(max(value, low), high)


def order_statistic(items: Sequence[Item], level: Fraction) -> Span:
    """Return the smallest value with at least this fraction of the values, which are sorted, at or below it."""
    item = items[max(0, math.ceil(level * len(items)) - 1)]
    return item.low, item.high


def total(items: Sequence[Item]) -> Span:
    """Return the sum."""
    return sum((item.low for item in items), Fraction(0)), sum((item.high for item in items), Fraction(0))


def number(items: Sequence[Item], test: Callable[[Any], bool]) -> Span:
    """Return the number of values that pass a test."""
    least, most = 0, 0
    for item in items:
        ends = (test(item.low), test(item.high))
        least, most = least + all(ends), most + any(ends)
    return least, most
