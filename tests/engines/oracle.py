"""The expected counts in plain Python: record by record, with datetime, bisect, hashlib and doubles."""

from __future__ import annotations

import datetime as dt
import hashlib
import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

from flexdp._release.checks import Prepared
from flexdp.buckets import Edges, Exact, Months, OpenEdges, RelativeWidth, Width
from flexdp.tables import Axis

EPOCH = dt.datetime(1970, 1, 1)
MICRO = dt.timedelta(microseconds=1)


def expected(question: Prepared, cells: dict[str, tuple[str, list[Any]]], salt: str = "fixed") -> dict[Any, int]:
    """Count the records, or units, in each bucket."""
    counting = question.counting
    rows = list(zip(*[values for _, values in cells.values()], strict=True))
    place = {name: i for i, name in enumerate(cells)}
    declared = None if counting.declared is None else set(counting.declared)
    found: list[tuple[Any, tuple[Any, ...]]] = []
    means: dict[Any, list[float]] = defaultdict(list)
    for row in rows:
        read = [value_of(row[place[str(axis.column.name)]], axis) for axis in counting.axes]
        if counting.units is not None and counting.units.per_unit == "mean":
            unit = row[place[str(counting.units.column.name)]]
            if is_read(unit) and read[0] is not None and abs(read[0]) <= 1e307:
                means[unit].append(read[0])
            continue
        bar = tuple(
            None if value is None else bar_of(value, axis) for value, axis in zip(read, counting.axes, strict=True)
        )
        if any(part is None for part in bar):
            continue
        if declared is not None and bar[: len(counting.groups)] not in declared:
            continue
        found.append((row[place[str(counting.units.column.name)]] if counting.units else None, bar))
    if counting.units is None:
        return dict(Counter(bar for _, bar in found))
    if counting.units.per_unit == "mean":
        bars_of_means = [bar_of(mean(values), counting.axes[0]) for values in means.values()]
        return dict(Counter((bar,) for bar in bars_of_means if bar is not None))
    units: dict[Any, set[tuple[Any, ...]]] = defaultdict(set)
    for unit, bar in found:
        if is_read(unit):
            units[unit].add(bar)
    if counting.of_units:
        return dict(Counter((int(len(bars) > counting.units.most),) for bars in units.values()))
    out: Counter[Any] = Counter()
    for unit, bars in units.items():

        def rank(bar: tuple[Any, ...], unit: Any = unit) -> tuple[Any, ...]:
            return digest(salt, unit, bar, counting.axes), *bar

        per_unit = counting.units.per_unit
        if per_unit in ("max", "min"):
            most = (max if per_unit == "max" else min)(bar[-1] for bar in bars)
            bars = {min((bar for bar in bars if bar[-1] == most), key=rank)}
        out.update(sorted(bars, key=rank)[: counting.units.most])
    return dict(out)


def mean(values: list[float]) -> float:
    total = 0.0
    for value in sorted(values):
        total += 0.0 if abs(value) <= 1e-280 else value / len(values)
    return max(min(total, max(values)), min(values))


def value_of(cell: Any, axis: Axis) -> Any:
    """Read a cell as its kind; None if it is not readable."""
    if cell is None:
        return None
    if axis.kind == "number":
        number = float(cell)
        return number if math.isfinite(number) else None
    if axis.kind == "text":
        return cell if is_read(cell) else None
    if axis.kind == "boolean":
        return cell
    if axis.kind == "integer":
        return int(cell)
    if isinstance(cell, dt.datetime):
        if cell.tzinfo is not None:
            cell = cell.astimezone(ZoneInfo(axis.zone or "UTC")).replace(tzinfo=None)
        return (cell.date() - EPOCH.date()).days if axis.kind == "date" else (cell - EPOCH) // MICRO
    days = (cell - EPOCH.date()).days
    return days * 86400 * 10**6 if axis.kind == "datetime" else days


def is_read(unit: Any) -> bool:
    """Tell whether a cell is present, and not a text that is too long."""
    return unit is not None and (not isinstance(unit, str) or len(unit.encode()) <= 65536)


def bar_of(value: Any, axis: Axis) -> Any:
    """Return the bucket of a value; None if it is outside."""
    buckets = axis.buckets
    if axis.kind in ("text", "boolean"):
        return value
    assert isinstance(buckets, Exact | Width | Edges | OpenEdges | RelativeWidth | Months)
    bounds = buckets.bounds
    if bounds is not None:
        low, high = (float(b) for b in bounds) if axis.kind == "number" else (int(b) for b in bounds)
        if buckets.outside == "drop" and not low <= value <= high:
            return None
        value = min(max(value, low), high)
    if isinstance(buckets, Exact):
        return value + 0.0 if axis.kind == "number" else value
    if isinstance(buckets, Edges):
        return bisect_right([float(e) if axis.kind == "number" else int(e) for e in buckets.edges[1:-1]], value)
    if isinstance(buckets, OpenEdges):
        number = Fraction(repr(value)) if axis.kind == "number" else Fraction(value)
        if axis.kind == "number" and abs(value) < 1e-30:  # counts as 0
            number = Fraction(0)
        return sum(number > cut.value or (number == cut.value and not cut.after) for cut in buckets.cuts)
    if isinstance(buckets, RelativeWidth):
        size = abs(float(value))
        rung = min(bisect_right(buckets.ladder.tolist(), size), len(buckets.ladder) - 1)
        return 0 if size < 2.2250738585072014e-308 else int(math.copysign(rung, value))
    if isinstance(buckets, Months):
        day = EPOCH.date() + dt.timedelta(days=value // buckets.per_day)
        return (12 * day.year + day.month - 1) // buckets.months
    if axis.kind != "number":
        return (value - int(buckets.origin)) // int(buckets.width)
    if bounds is None and abs(value) > buckets.reach:
        return None
    origin, width, below = float(buckets.origin), float(buckets.width), -buckets.origin / buckets.width
    if below > 0 and below.denominator == 1 and math.floor(origin / width) == -below:  # whole buckets below zero
        index = math.floor(value / width) + int(below)
    else:
        index = math.floor((value - origin) / width)
    return index if buckets.count is None else min(index, buckets.count - 1)


def digest(salt: str, unit: Any, bar: Sequence[Any], axes: Sequence[Axis]) -> str:
    texts = [salt, str((unit - EPOCH.date()).days if isinstance(unit, dt.date) else unit)]
    for part, axis in zip(bar, axes, strict=True):
        if axis.kind == "text":
            texts.append(f"{len(part)}.{part}")
        elif axis.kind == "number" and isinstance(axis.buckets, Exact):
            near = max(min(part, 2.0**53), -(2.0**53))
            texts.append(f"{math.floor(near)}.{math.floor((near - math.floor(near)) * 2.0**53)}")
        else:
            texts.append(str(int(part)))
    return hashlib.md5(":".join(texts).encode(), usedforsecurity=False).hexdigest()
