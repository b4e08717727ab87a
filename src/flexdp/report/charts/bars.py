"""Bars of a histogram on the scale of a picture.

Heights are counts where all buckets are about equally wide, else records per unit of width: the area of a bar is then
its count. An open end fades out as its records are thought to thin out; a single value far above those beside it is a
needle with its count at the top, because no width gives it a height.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.exact import json_value
from flexdp._core.text import plural
from flexdp._release.interpolation import Profile, Stretch, stretch_of
from flexdp._release.published import Release
from flexdp.buckets.edges import Edges
from flexdp.buckets.grid import Grid
from flexdp.buckets.open_edges import OpenEdges
from flexdp.buckets.width import Width
from flexdp.report.axes import Axis
from flexdp.report.document import Document

__all__ = ["Bars", "Lengths", "Tail", "joined_bars", "lengths", "unit_of", "unit_text"]

_LARGEST = 1e308  # differences beyond count as this
_UNEVEN = 1.2  # months differ by less
_TALL = 5  # times as tall as the bars beside it: a single value becomes a needle
_DAYS = (1, 7, 30, 365)
_SECONDS = (1, 60, 3600, 86400, 7 * 86400, 30 * 86400, 365 * 86400)
_TIMES = {1: "second", 60: "minute", 3600: "hour", 86400: "day"}


@dataclass(frozen=True, slots=True)
class Tail:
    """An open bucket: its edge, how far it is drawn, and the height and scale of the fading curve."""

    place: int
    edge: float
    length: float
    height: float
    scale: float
    above: bool

    def at(self, distance: float) -> float:
        """Return the height at a distance from the edge."""
        return self.height * math.exp(-distance / self.scale) if self.scale else self.height


@dataclass(frozen=True)
class Bars:
    """Bars on the scale: where they begin and end, their counts, and how tall one record makes each of them.

    Tails and needles have no height of their own in ``heights``.
    """

    spans: NDArray[np.float64]
    counts: NDArray[np.int64]
    per_record: NDArray[np.float64]
    unit: float | None = None
    tails: tuple[Tail, ...] = ()
    needles: Mapping[int, str] = field(default_factory=dict)  # each with its name
    gaps: NDArray[np.float64] | None = None  # public buckets without a bar: where, and how tall one record makes them

    @classmethod
    def of(cls, document: Document, *, unit: float | None = None) -> Bars:
        """Return the bars of a document of one column; ``unit`` is given where several pictures share it."""
        profile = None if document.reader is None else document.reader.profile
        axis, index = document.axes[0], document.index
        return cls.made(axis, document.keys, index, document.counts, profile, unit or unit_of(axis, index))

    @classmethod
    def made(
        cls,
        axis: Axis,
        keys: Sequence[Any],
        index: Sequence[Any] | None,
        counts: NDArray[np.int64],
        profile: Profile | None,
        unit: float | None,
    ) -> Bars:
        """Return the bars of some counts; a profile says how open ends thin out."""
        spans = axis.spans(keys, index)
        if unit is None or index is None or not len(counts):
            return cls(spans, counts, np.ones(len(counts)))
        widths = [_scaled(axis, stretch_of(axis.buckets, each)) for each in index]
        single = [isinstance(axis.buckets, OpenEdges) and axis.buckets.single(each) for each in index]
        if all(single) and 0.0 in widths:  # nothing but single numbers: drawn side by side
            return cls(axis.spans(keys, None), counts, np.ones(len(counts)))
        per_record = np.array([unit / width if width else 0.0 for width in widths])
        tails = () if profile is None else _tails(axis, index, counts, spans, widths, unit, profile)
        tall = counts * per_record
        for tail in tails:
            tall[tail.place] = tail.height
        needles = [place for place in np.flatnonzero(single).tolist() if _stands_out(tall, place)]
        for tail in tails:
            far = tail.edge + tail.length if tail.above else tail.edge - tail.length
            spans[tail.place] = sorted((tail.edge, far))
            per_record[tail.place] = 0.0
        per_record[needles] = 0.0
        named = {place: axis.texts([keys[place]], [index[place]])[0] for place in needles}
        return cls(spans, counts, per_record, unit, tails, named, _gaps(axis, index, unit))

    @property
    def heights(self) -> NDArray[np.float64]:
        """How tall the bars are."""
        return self.counts * self.per_record

    def middle(self, place: int) -> float:
        """Return the middle of a bar on the scale."""
        low, high = self.spans[place].tolist()
        return float(low / 2 + high / 2)

    def tallest(self, drop: int) -> float:
        """Return the height of the tallest bar with its band."""
        tops = ((self.counts + drop) * self.per_record).tolist()
        tops += [tail.height * (1 + drop / int(self.counts[tail.place])) for tail in self.tails]
        return max(tops, default=0.0) or 1.0


@dataclass(frozen=True, slots=True)
class Lengths:
    """Lengths of bars for a terminal, the longest 1, and what they are where they are not counts.

    A single value far above the others, which has no density to be drawn with, is longer than 1.
    """

    lengths: list[float]
    words: str


def lengths(release: Release) -> Lengths:
    """Return how long the bars of a release are in a terminal."""
    counts = release.bars.counts.astype(np.float64)
    tallest = float(counts.max(initial=1.0))
    partition = release.partition
    if isinstance(partition, Grid) or not release.spec.ordered or not len(counts):
        return Lengths((counts / tallest).tolist(), "")
    axis = Axis(release.spec.columns[0], partition)
    keys, index = json_value(release.histogram.keys.tolist()), release.bars.keys.tolist()
    unit = unit_of(axis, index if axis.bucketed else None)
    bars = Bars.made(axis, keys, index if axis.bucketed else None, release.bars.counts, release._reader.profile, unit)
    if bars.unit is None:
        return Lengths((counts / tallest).tolist(), "")
    tall = bars.heights
    for tail in bars.tails:
        tall[tail.place] = tail.height
    top = float(tall.max(initial=0.0)) or 1.0
    found = [2.0 if place in bars.needles else each / top for place, each in enumerate(tall.tolist())]
    counted = "records" if release.spec.unit is None else f"units ({release.spec.unit})"
    return Lengths(found, f"{counted} per {unit_text(axis, bars.unit)}")


def joined_bars(parts: Sequence[Bars]) -> Bars:
    """Return the bars of several pictures together, for scales that they share."""
    tails, start = [], 0
    for bars in parts:
        tails += [Tail(start + t.place, t.edge, t.length, t.height, t.scale, t.above) for t in bars.tails]
        start += len(bars.counts)
    return Bars(
        np.concatenate([bars.spans for bars in parts]),
        np.concatenate([bars.counts for bars in parts]),
        np.concatenate([bars.per_record for bars in parts]),
        parts[0].unit,
        tuple(tails),
    )


def unit_of(axis: Axis, index: Sequence[Any] | None) -> float | None:
    """Return the width that heights refer to; None where buckets are about equally wide, and heights are counts.

    ``index`` are the released buckets: those beyond may be as wide as can be, and are not drawn.
    """
    buckets = axis.buckets
    if not index:
        return None
    if isinstance(buckets, Width):
        widths = [_scaled(axis, stretch_of(buckets, each)) for each in {min(index), max(index)}]
        return _scale_of(axis, float(buckets.width)) if _differ(widths) else None
    if not isinstance(buckets, Edges | OpenEdges):
        return None
    opened = isinstance(buckets, OpenEdges)
    several = [each for each in set(index) if not (isinstance(buckets, OpenEdges) and buckets.single(each))]
    wide = [width for each in several if (width := _scaled(axis, stretch_of(buckets, each)))]
    if not wide:  # single values and open ends
        return 1.0 if opened else None
    return _round_unit(axis, float(np.median(wide))) if _differ(wide) else wide[0] if opened else None


def unit_text(axis: Axis, unit: float) -> str:
    """Return the unit of heights in words: "10", "day", "30 days"."""
    if axis.kind == "date":
        return "day" if unit == 1 else plural(int(unit), "day")
    if axis.kind == "datetime":
        words = {seconds: word for seconds, word in _TIMES.items() if unit % seconds == 0}
        if not words:
            return f"{unit:g} seconds"
        seconds = max(words)
        return words[seconds] if unit == seconds else plural(int(unit // seconds), words[seconds])
    return f"{unit:g}" if abs(unit) < 10**6 else f"{unit:.0f}"


def _differ(widths: Sequence[float | None]) -> bool:
    found = [width for width in widths if width]
    return bool(found) and max(found) > _UNEVEN * min(found)


def _scaled(axis: Axis, stretch: Stretch) -> float | None:
    """The width of a bucket on the picture's scale; None where it is open."""
    return None if stretch.width is None else _scale_of(axis, float(stretch.width))


def _scale_of(axis: Axis, length: float) -> float:
    """A length in the units of the picture: seconds for datetimes."""
    return length / 10**6 if axis.kind == "datetime" else length


def _round_unit(axis: Axis, width: float) -> float:
    """A round width near a typical one."""
    if axis.kind in ("date", "datetime"):
        steps = _DAYS if axis.kind == "date" else _SECONDS
        return float(max((step for step in steps if step <= 1.5 * width), default=steps[0]))
    power = Fraction(10) ** math.floor(math.log10(width))
    return float(max(m * power for m in (1, 2, 5) if m * power <= Fraction(width) or m == 1))


def _stands_out(heights: NDArray[np.float64], place: int) -> bool:
    """True for a single value without a width, or far above the bars beside it."""
    beside = [heights[each] for each in (place - 1, place + 1) if 0 <= each < len(heights)]
    return not heights[place] or bool(beside and heights[place] > _TALL * max(beside))


def _tails(
    axis: Axis,
    index: Sequence[Any],
    counts: NDArray[np.int64],
    spans: NDArray[np.float64],
    widths: Sequence[float | None],
    unit: float,
    profile: Profile,
) -> tuple[Tail, ...]:
    closed = [spans[i].tolist() for i, width in enumerate(widths) if width is not None]
    room = max(span[1] for span in closed) - min(span[0] for span in closed) if closed else 0.0
    room = min(room, _LARGEST)
    found = []
    for place, (each, width) in enumerate(zip(index, widths, strict=True)):
        if width is not None:
            continue
        stretch = stretch_of(axis.buckets, each)
        if stretch.low is None and stretch.high is None:
            edge, above = 0.0, True
        else:
            above = stretch.high is None
            edge = _scale_of(axis, float((stretch.low if above else stretch.high) or 0))
        scale = _scale_of(axis, float(profile.scale(place)))
        around = room or abs(edge) or 1.0
        length = min(max(3 * scale, 0.04 * around), 0.15 * around)
        height = int(counts[place]) * unit / (scale or length)
        found.append(Tail(place, edge, length, height, scale, above))
    return tuple(found)


def _gaps(axis: Axis, index: Sequence[Any], unit: float) -> NDArray[np.float64] | None:
    """The closed public buckets without a bar, between the first and the last that have one."""
    if isinstance(axis.buckets, Width):
        return None
    there = set(index)
    missing = [each for each in range(min(there), max(there)) if each not in there]
    out = []
    for each in missing:
        width = _scaled(axis, stretch_of(axis.buckets, each))
        if width:
            low, high = axis.spans((), [each])[0]
            out.append([low, high, unit / width])
    return np.array(out, dtype=np.float64).reshape(-1, 3)
