"""Released histograms as pictures: bars, each with the band of at most this many more above it.

A released count is a lower bound, and each bucket lost at most ``max_drop`` records, so the truth lies in the band. A
bucket without a bar may hold up to ``max_drop`` records, too, which the band shows along the ground. Where widths
differ, areas are counts (:mod:`flexdp.report.charts.bars`).
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexdp._core.text import thousands
from flexdp.report.axes import Axis
from flexdp.report.charts.bars import Bars
from flexdp.report.charts.marks import ROW, Frame, flags, marks
from flexdp.report.charts.scales import (
    CHARACTER,
    Height,
    anchored,
    band,
    below,
    described,
    empty,
    per_unit,
    value_ticks,
    value_title,
    visible_part,
)
from flexdp.report.charts.svg import Scale, coordinate, count_name, outline, picture, steps, text
from flexdp.report.document import Document

__all__ = ["draw_bars", "histogram", "x_axis"]

_SLICES = 6  # of an open end, which fades
_Row: TypeAlias = NDArray[np.float64]
_MOST_BARS = 1000  # drawn one by one; more are drawn as columns of a pixel each, the tallest of those that share it
_APART = 150  # more bars than these are drawn as one outline


def histogram(document: Document, *, name: str = "h", alone: bool = True, width: int = 720, high: int = 202) -> str:
    """Draw the released histogram of one column of numbers, dates or datetimes; ``high`` is the height of the bars."""
    axis, bars, drop = document.axes[0], Bars.of(document), document.max_drop
    if not len(bars.counts):
        return empty(document, name, alone, width)
    height, shown = Height(bars, drop), visible_part(axis, bars)
    names = [(tick, count_name(tick)) for tick in height.ticks(5)]
    left, right = 14 + 7 * max(len(words) for _, words in names), width - 18
    across = Scale(shown.low, shown.high, left, right)
    found = flags(across, document, bars)
    top = 30 + ROW * (1 + max((flag.row for flag in found), default=-1))
    bottom = top + high
    frame = Frame(left, right, top, bottom, across, height.scale(bottom, top))
    body = [text(4, 13, per_unit(document, bars, logarithmic=height.logarithmic), anchor="start", kind="s")]
    for tick, words in names:
        y = frame.up(tick)
        body.append(f'<path class="grid" d="M{coordinate(left)} {coordinate(y)}H{coordinate(right)}"/>')
        body.append(text(left - 6, y + 4, words, anchor="end", kind="s"))
    body.append(x_axis(frame, axis, document, bars, max(3, width // 90)))
    body += draw_bars(frame, bars, drop, name, gaps=axis.bucketed)
    body += marks(frame, found, bars)
    body.append(text((left + right) / 2, bottom + 36, value_title(axis), kind="s"))
    many, notes = len(bars.counts), list(shown.notes)
    if many > _most(frame):
        notes.insert(0, f"{thousands(many)} buckets, each column the tallest of those it shows")
    lines, more = below(left, right, bottom + 58, document, name, notes)
    title = f"Released histogram of {document.title}"
    words = described(document, ends=True)
    return picture(width, bottom + 64 + more, title, words, [*body, *lines], name=name, alone=alone)


def x_axis(frame: Frame, axis: Axis, document: Document, bars: Bars, about: int) -> str:
    """Return the ground line with its ticks and the names of open ends."""
    low, high, ends = frame.across.low, frame.across.high, _open_labels(frame, document, bars)
    for tail in bars.tails:  # the ticks end where the scale does
        low, high = (low, tail.edge) if tail.above else (tail.edge, high)
    parts, free = [], -1e9
    for value, name in value_ticks(axis, low, high, document, about):
        x = frame.across(value)
        parts.append(f'<path class="axis" d="M{coordinate(x)} {coordinate(frame.bottom)}v4"/>')
        place, anchor, first, last = anchored(x, name, 4, frame.right + 16)
        if first > free and all(last < start or first > end for start, end, _ in ends):
            parts.append(text(place, frame.bottom + 17, name, anchor=anchor, kind="s"))
            free = last + 6
    parts += [label for _, _, label in ends]
    ground = f"M{coordinate(frame.left)} {coordinate(frame.bottom)}H{coordinate(frame.right)}"
    return "".join(parts) + f'<path class="axis" d="{ground}"/>'


def _open_labels(frame: Frame, document: Document, bars: Bars) -> list[tuple[float, float, str]]:
    """The names of open ends below the axis, each with where it begins and ends."""
    out = []
    for tail in bars.tails:
        words = document.text(tail.place)
        width = CHARACTER * len(words)
        first = frame.right + 14 - width if tail.above else max(4.0, frame.left - 30)
        anchor, x = ("end", frame.right + 14) if tail.above else ("start", first)
        out.append((first - 6, first + width + 6, text(x, frame.bottom + 17, words, anchor=anchor, kind="s")))
    return out


def draw_bars(frame: Frame, bars: Bars, drop: int, name: str, *, gaps: bool) -> list[str]:
    """Return the bars, and the band above them and, where buckets have edges, along the ground between them."""
    kept = np.flatnonzero(bars.per_record)
    left, right = frame.across.all(bars.spans[kept, 0]), frame.across.all(bars.spans[kept, 1])
    heights, more = bars.heights[kept], drop * bars.per_record[kept]
    if len(heights) > _most(frame):
        left, right, heights, more = _columns(frame, left, right, heights, more)
    ground, tops, caps = frame.up(0), frame.up.all(heights), frame.up.all(heights + more)
    order = np.argsort(left)
    grounds = np.full(len(tops), ground)
    if len(heights) > _APART:
        left, right, tops, caps = left[order], right[order], tops[order], caps[order]
        drawn, bands = outline(left, right, tops, grounds), outline(left, right, caps, tops)
        order = np.arange(len(left))
    else:
        hair = np.where(right - left > 4, 0.5, 0.0)  # between wide bars
        sides = (left + hair).tolist(), (right - hair).tolist()
        drawn = steps(zip(*sides, tops.tolist(), grounds.tolist(), strict=True))
        bands = steps(zip(*sides, caps.tolist(), tops.tolist(), strict=True))
    if bars.gaps is not None:
        places = zip(*(frame.across.all(bars.gaps[:, side]).tolist() for side in (0, 1)), strict=True)
        lows = frame.up.all(drop * bars.gaps[:, 2]).tolist()
        bands += steps((start, end, low, ground) for (start, end), low in zip(places, lows, strict=True))
    elif gaps:
        starts, ends = [frame.left, *right[order].tolist()], [*left[order].tolist(), frame.right]
        low = frame.up(float(drop))
        bands += steps((s, e, low, ground) for s, e in zip(starts, ends, strict=True) if e - s > 0.3)
    return [
        band(bands, name),
        f'<path class="bar" d="{drawn}"/>',
        *_faded(frame, bars, drop, name),
        *_needles(frame, bars),
    ]


def _faded(frame: Frame, bars: Bars, drop: int, name: str) -> list[str]:
    """The open ends, slice by slice, each paler than the one before."""
    out, ground = [], frame.up(0)
    for tail in bars.tails:
        more = 1 + drop / int(bars.counts[tail.place])
        for piece in range(_SLICES):
            start, end = (tail.length * (piece + side) / _SLICES for side in (0, 1))
            height = (tail.at(start) + tail.at(end)) / 2
            one, other = (frame.across(tail.edge + (far if tail.above else -far)) for far in (start, end))
            left, right = min(one, other), max(one, other)
            top, cap = frame.up(height), frame.up(height * more)
            out.append(f'<path class="band f{piece}" fill="url(#{name}-h)" d="{steps([(left, right, cap, top)])}"/>')
            out.append(f'<path class="bar f{piece}" d="{steps([(left, right, top, ground)])}"/>')
    return out


def _needles(frame: Frame, bars: Bars) -> list[str]:
    """Single values that no width gives a height to; their counts stand above them."""
    spots = [frame.across(bars.middle(place)) for place in bars.needles]
    return [f'<path class="bar" d="{steps([(x - 1.5, x + 1.5, frame.top - 4, frame.up(0))])}"/>' for x in spots]


def _most(frame: Frame) -> float:
    """The most bars that are drawn one by one."""
    return min(_MOST_BARS, 2 * (frame.right - frame.left))


def _columns(frame: Frame, left: _Row, right: _Row, heights: _Row, more: _Row) -> tuple[_Row, _Row, _Row, _Row]:
    """One bar for each pixel column: the tallest of those whose middle lies in it."""
    places = np.floor((left + right) / 2).astype(np.int64)
    columns, where = np.unique(places, return_inverse=True)
    tallest, widest = np.zeros(len(columns)), np.zeros(len(columns))
    np.maximum.at(tallest, where, heights)
    np.maximum.at(widest, where, more)
    start = np.maximum(columns.astype(np.float64), frame.left)
    return start, np.minimum(columns + 1.0, frame.right), tallest, widest
