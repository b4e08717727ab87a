"""The parts that pictures of counts share: scales, ticks, titles of axes, the band, and the lines below a picture."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from flexdp._core.calendar import date_at, datetime_at
from flexdp._core.text import plural, thousands
from flexdp._release.ranges import value_words
from flexdp.buckets.open_edges import OpenEdges
from flexdp.buckets.relative import RelativeWidth
from flexdp.report.axes import Axis
from flexdp.report.charts.bars import Bars, unit_text
from flexdp.report.charts.svg import LogScale, Scale, coordinate, day_ticks, moment_ticks, named, picture, text, ticks
from flexdp.report.document import Document

__all__ = [
    "CHARACTER",
    "Height",
    "Visible",
    "anchored",
    "band",
    "below",
    "described",
    "empty",
    "height_of",
    "per_unit",
    "short",
    "value_ticks",
    "value_title",
    "visible_part",
]

CHARACTER = 7.0  # pixels, about
_LINE = 18  # pixels of a line below a picture
_SKEWED = 50  # times as tall as the middling bar
_VERY_SKEWED = 300  # the same of areas, which a logarithmic scale no longer shows
_FILLED = 0.6  # of the public buckets: where bars fill less of them, the rest is not drawn


class Height:
    """The scale of heights: how high it reaches, and whether it is logarithmic because few tall bars hide others."""

    def __init__(self, bars: Bars, drop: int) -> None:
        self.highest = bars.tallest(drop)
        self.whole = bars.unit is None
        if self.whole:
            tallest, least = float(bars.counts.max(initial=0)), 100.0 * drop
            middling = float(np.median(bars.counts)) if len(bars.counts) else tallest
        else:
            drawn = bars.per_record > 0
            tallest, least = float(bars.heights[drawn].max(initial=0.0)), 0.0
            middling = _middling(bars.heights[drawn], np.diff(bars.spans[drawn], axis=1).ravel())
        self.logarithmic = tallest > max((_SKEWED if self.whole else _VERY_SKEWED) * middling, least)

    def scale(self, bottom: float, top: float) -> Scale | LogScale:
        """Return the scale between two heights in pixels."""
        return LogScale(self.highest, bottom, top) if self.logarithmic else Scale(0, self.highest, bottom, top)

    def ticks(self, about: int) -> list[float]:
        """Return round heights; on a logarithmic scale powers of ten."""
        if not self.logarithmic:
            return ticks(0, self.highest, about, whole=self.whole)
        powers = [10.0**power for power in range(1, 19) if 10.0**power <= self.highest]
        return [0.0, *powers[:: max(1, -(-len(powers) // about))]]


def _middling(heights: NDArray[np.float64], widths: NDArray[np.float64]) -> float:
    """The height that half of the picture is below; where no bars have heights, no height is below another."""
    if not len(heights):
        return np.inf
    order = np.argsort(heights)
    covered = np.cumsum(widths[order])
    return float(heights[order][int(np.searchsorted(covered, covered[-1] / 2))])


def height_of(document: Document) -> Height:
    """Return the scale of heights of a release of one column."""
    return Height(Bars.of(document), document.max_drop)


def per_unit(document: Document, bars: Bars, *, logarithmic: bool) -> str:
    """Return the title of a scale of heights: "records", "records per 10", "units (pid), logarithmic scale"."""
    wide = [width for width in np.diff(bars.spans, axis=1).ravel().tolist() if width]
    even = not bars.tails and max(wide, default=0.0) <= 1.2 * min(wide, default=0.0)
    per = "" if bars.unit is None or even else f" per {unit_text(document.axes[0], bars.unit)}"
    return f"{document.counted}{per}{', logarithmic scale' if logarithmic else ': areas are counts' if per else ''}"


class Visible:
    """The part of the scale that is drawn, and what is said of the rest."""

    def __init__(self, low: float, high: float, notes: Sequence[str] = ()) -> None:
        self.low, self.high, self.notes = low, high, list(notes)


def visible_part(axis: Axis, bars: Bars) -> Visible:
    """Return all public buckets, unless the bars fill little of them, or ends are open: then the bars."""
    low, high = float(bars.spans[:, 0].min()), float(bars.spans[:, 1].max())
    room = None if isinstance(axis.buckets, OpenEdges) else axis.public_range()
    if room is not None and high / 2 - low / 2 >= _FILLED * (room[1] / 2 - room[0] / 2):
        return Visible(*room)
    margin = 0.03 * (high / 2 - low / 2) * 2
    if isinstance(axis.buckets, OpenEdges):
        margin = margin if low < high else max(abs(low) / 10, 1.0)
        ends = {tail.above for tail in bars.tails}
        return Visible(low - (0 if False in ends else margin), high + (0 if True in ends else margin))
    first, last = low, high
    if np.isfinite(low - margin) and np.isfinite(high + margin):
        first, last = low - margin, high + margin
    if room is None:
        return Visible(first, last)
    first, last = max(first, room[0]), min(last, room[1])
    rest = [(start, end) for start, end in ((room[0], low), (high, room[1])) if end > start and not axis.even]
    last_one = 1 if axis.kind in ("integer", "date") else 0  # a span reaches to the beginning of the next
    told = " and ".join(f"{_end(axis, start)} to {_end(axis, end - last_one)}" for start, end in rest)
    return Visible(first, last, [f"no bars from {told}"] if told else [])


def _end(axis: Axis, place: float) -> str:
    if axis.kind == "date":
        return value_words(date_at(int(place)))
    return value_words(datetime_at(round(place * 10**6))) if axis.kind == "datetime" else value_words(place)


def value_ticks(axis: Axis, low: float, high: float, document: Document | None, about: int) -> list[tuple[float, str]]:
    """Return round values, dates or times with their names; of relative buckets of both signs, some of them."""
    if axis.even:
        found = _round_on_ladder(axis, low, high, about)
        if found or document is None:
            return found
        index = document.index or []
        every = max(1, len(index) // about)
        pairs = zip(index[::every], document.keys[::every], strict=True)
        digits = math.ceil(-math.log10(axis.buckets.beta or 1)) + 1
        return [(float(place), value_words(float(f"{float(key):.{digits}g}"))) for place, key in pairs]
    if axis.kind == "date":
        found = day_ticks(low, high)
        return found[:: max(1, -(-len(found) // about))]
    if axis.kind == "datetime":
        found = moment_ticks(low, high)
        return found[:: max(1, -(-len(found) // about))]
    return named(ticks(low, high, about, whole=axis.kind == "integer"), 80 * about)


def _round_on_ladder(axis: Axis, low: float, high: float, about: int) -> list[tuple[float, str]]:
    """Powers of ten, and twice and five times these where there is room, on the scale of relative buckets.

    Empty where the scale reaches to zero or below, or where there are fewer than three.
    """
    if not isinstance(axis.buckets, RelativeWidth) or low <= 0:
        return []
    ladder, ratio = axis.buckets.ladder, math.log(axis.buckets.ratio)
    ends = [float(ladder[min(max(round(place), 1), len(ladder)) - 1]) for place in (low, high)]
    decades = range(math.floor(math.log10(ends[0])), math.ceil(math.log10(ends[1])) + 1)
    for factors in ((1, 2, 5), (1,)):
        values = [float(f"{factor}e{decade}") for decade in decades for factor in factors]
        values = [value for value in values if ends[0] <= value <= ends[1]]
        if len(values) <= about + 2:
            break
    values = values[:: max(1, -(-len(values) // (about + 2)))]
    rungs = np.searchsorted(ladder, values, side="right").tolist()
    places = [
        rung - 0.5 + math.log(value / float(ladder[rung - 1])) / ratio
        for rung, value in zip(rungs, values, strict=True)
    ]
    named_values = [(place, value_words(value)) for place, value in zip(places, values, strict=True)]
    return named_values if len(named_values) > 2 else []


def value_title(axis: Axis) -> str:
    """Return the title of the scale of values: the column, and whether the scale is logarithmic."""
    return f"{axis.name or 'values'}{', logarithmic scale' if axis.even else ''}"


def anchored(x: float, name: str, left: float, right: float) -> tuple[float, str, float, float]:
    """Return where a label goes that must stay within two limits: place, anchor, and where it begins and ends."""
    half = CHARACTER * len(name) / 2
    if x + half > right:
        return right, "end", right - 2 * half, right
    if x - half < left:
        return left, "start", left, left + 2 * half
    return x, "middle", x - half, x + half


def band(path: str, name: str) -> str:
    """Return the hatched band."""
    return f'<path class="band" fill="url(#{name}-h)" d="{path}"/>'


def below(
    left: float, right: float, y: float, document: Document, name: str, notes: Sequence[str]
) -> tuple[list[str], int]:
    """Return the lines below a picture, from ``y`` on: what the band is, what counts, notes; and how high they are."""
    words, notes = (
        f"at most {thousands(document.max_drop)} more in each bucket",
        [*filter(None, [document.once]), *notes],
    )
    square = f"M{coordinate(left)} {coordinate(y - 9)}h12v10h-12z"
    parts = [band(square, name), text(left + 18, y, words, anchor="start", kind="s")]
    line, end = 0, left + 18 + CHARACTER * len(words)
    for note in notes:
        wide = CHARACTER * len(note)
        if end + 24 + wide > right:
            line, end = line + 1, left - 24
        parts.append(text(end + 24, y + _LINE * line, note, anchor="start", kind="s"))
        end += 24 + wide
    return parts, _LINE * line


def described(document: Document, *, ends: bool = False) -> str:
    """Return a picture in words."""
    counts = document.counts
    many = len(counts)
    words = f"{plural(many, 'bucket', thousands)} with {document.left} left"
    if document.once:
        words = f"Counting {document.once}: {words}"
    told = f", from {document.text(0)} to {document.text(many - 1)}" if ends else ""
    return (
        f"{words}{told}; the fullest with {thousands(int(counts.max()))}. Every bucket may hold up to "
        f"{thousands(document.max_drop)} more than its bar shows, and none holds fewer."
    )


def empty(document: Document, name: str, alone: bool, width: int) -> str:
    """Draw that nothing survived."""
    words = "Nothing survived: no bucket is left to draw."
    body = [text(width / 2, 40, words, kind="s")]
    return picture(width, 70, f"Released histogram of {document.title}", words, body, name=name, alone=alone)


def short(words: str, most: int) -> str:
    """Return a label, cut where it is too long."""
    return words if len(words) <= most else words[: max(1, most - 1)] + "…"
