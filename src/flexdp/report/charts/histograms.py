"""Released histograms as pictures: bars, each with the band of at most this many more above it.

A released count is a lower bound, and each bucket lost at most ``max_drop`` records, so the truth lies in the band. A
bucket without a bar may hold up to ``max_drop`` records, too, which the band shows along the ground. Where widths
differ, areas are counts (:mod:`flexdp.report.charts.bars`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexdp._core.text import plural, thousands
from flexdp.buckets.open_edges import OpenEdges
from flexdp.report.axes import Axis, label
from flexdp.report.charts.bars import Bars, joined_bars, unit_of, unit_text
from flexdp.report.charts.marks import Frame, marks
from flexdp.report.charts.svg import (
    LogScale,
    Scale,
    compact,
    coordinate,
    day_ticks,
    moment_ticks,
    named,
    outline,
    picture,
    steps,
    text,
    ticks,
)
from flexdp.report.document import Document

__all__ = ["categories", "histogram", "multiples"]

_CHARACTER = 6.4  # pixels, about
_SLICES = 6  # of an open end, which fades
_Row: TypeAlias = NDArray[np.float64]
_MOST_BARS = 1000  # drawn one by one; more are drawn as columns of a pixel each, the tallest of those that share it
_APART = 150  # more bars than these are drawn as one outline
_MOST_ROWS = 30
_SKEWED = 50  # times as tall as the middling bar
_MOST_GROUPS = 12


def histogram(document: Document, *, name: str = "h", alone: bool = True, width: int = 720, height: int = 300) -> str:
    """Draw the released histogram of one column of numbers, dates or datetimes."""
    axis, bars, drop = document.axes[0], Bars.of(document), document.max_drop
    if not len(bars.counts):
        return _empty(document, name, alone, width)
    title = _heights(document, bars)
    top = 70 if title else 52
    height += top - 52
    frame = _frame(60, width - 18, top, height - 46, _visible(axis, bars), bars, drop)
    body = [text(6, 16, title, anchor="start", kind="s")] if title else []
    body.append(_grid(frame, axis, document, bars))
    body += _drawn(frame, bars, drop, name, gaps=axis.bucketed)
    body += marks(frame, document, bars)
    body.append(text(frame.left, height - 6, axis.name or "values", anchor="start", kind="s"))
    many = len(bars.counts)
    note = f"{thousands(many)} buckets, each column the tallest of those it shows" if many > _MOST_BARS else ""
    note = "; ".join(part for part in (note, _in_ratios(frame)) if part)
    body.append(_legend(frame.right, height - 6, drop, name, note))
    return picture(
        width,
        height,
        f"Released histogram of {document.title}",
        _described(document, bars),
        body,
        name=name,
        alone=alone,
    )


def _heights(document: Document, bars: Bars) -> str:
    """What heights are where they are not counts: "records per 10"."""
    axis, wide = document.axes[0], [width for width in np.diff(bars.spans, axis=1).ravel().tolist() if width]
    if bars.unit is None or (not bars.tails and max(wide, default=0.0) <= 1.2 * min(wide, default=0.0)):
        return ""
    return f"{document.counted} per {unit_text(axis, bars.unit)}: areas are counts"


def categories(document: Document, *, name: str = "h", alone: bool = True, width: int = 720) -> str:
    """Draw the released counts as a list: a row for each bucket, or group and bucket, the fullest first."""
    counts, drop = document.counts, document.max_drop
    if not len(counts):
        return _empty(document, name, alone, width)
    order = np.lexsort((np.arange(len(counts)), -counts))[:_MOST_ROWS]
    row, left, top = 20, 190, 12
    height = top + row * len(order) + 54
    scale = Scale(0, float(counts.max()) + drop, left, width - max(60, 8 * len(thousands(int(counts.max()))) + 8))
    bars, bands, body = [], [], []
    for place, bar in enumerate(order.tolist()):
        y, end = top + row * place, scale(float(counts[bar]))
        bars.append((left, max(end, left + 1.0), y, y + row - 5.0))
        bands.append((end, scale(float(counts[bar]) + drop), y, y + row - 5.0))
        body.append(text(left - 6, y + row - 8, _short(_row_label(document, bar), 26), anchor="end"))
        body.append(text(bands[-1][1] + 5, y + row - 8, thousands(int(counts[bar])), anchor="start", kind="s"))
    body = [f'<path class="bar" d="{steps(bars)}"/>', _band(steps(bands), name), *body]
    more = len(counts) - len(order)
    note = f"and {thousands(more)} more, with fewer records" if more else ""
    body.append(_legend(width - 18, height - 8, drop, name, note))
    return picture(
        width, height, f"Released counts of {document.title}", _described(document), body, name=name, alone=alone
    )


def _row_label(document: Document, place: int) -> str:
    groups, words = document.groups, document.text(place)
    return words if groups is None else f"{label(groups[place])}: {words}"


def multiples(document: Document, *, name: str = "g", alone: bool = True, width: int = 720) -> str:
    """Draw a small histogram for each group, the largest groups first, all on the same scales."""
    groups, drop, axis = document.groups or [], document.max_drop, document.axes[0]
    if not groups:
        return _empty(document, name, alone, width)
    totals: dict[tuple[Any, ...], int] = {}
    for group, count in zip(groups, document.counts.tolist(), strict=True):
        totals[group] = totals.get(group, 0) + count
    shown = sorted(totals, key=lambda group: -totals[group])[:_MOST_GROUPS]
    parts = [document.part(group) for group in shown]
    across, high = 3 if len(shown) > 2 else len(shown), 130
    wide = (width - 10) / across
    height = high * -(-len(shown) // across) + 30
    keys = _shared_keys(parts) if not axis.ordered else []
    unit = unit_of(axis, document.index) if axis.ordered else None
    bars = [_ranked(part, keys) if not axis.ordered else Bars.of(part, unit=unit) for part in parts]
    everywhere = joined_bars(bars)
    limits = (-0.5, len(keys) - 0.5) if keys else _visible(axis, everywhere)
    body = []
    for place, (group, one) in enumerate(zip(shown, bars, strict=True)):
        x, y = 10 + wide * (place % across), high * (place // across)
        frame = _frame(x + 34, x + wide - 8, y + 22, y + high - 22, limits, everywhere, drop)
        body.append(text(frame.left, y + 15, _short(label(group), int(wide / 8)), anchor="start"))
        body.append(_small_axes(frame, axis, keys, x + wide - 2))
        body += _drawn(frame, one, drop, name, gaps=not keys and axis.bucketed)
    more = len(totals) - len(shown)
    note = f"{plural(more, 'smaller group', thousands)} not drawn" if more else ""
    per = "" if everywhere.unit is None else f"{document.counted} per {unit_text(axis, everywhere.unit)}"
    note = "; ".join(part for part in (per, note, _in_ratios(frame)) if part)
    body.append(_legend(width - 8, height - 8, drop, name, note))
    description = f"{plural(len(totals), 'group')} by {', '.join(document.by)}; {_described(document)}"
    return picture(width, height, f"Released histograms of {document.title}", description, body, name=name, alone=alone)


def _frame(
    left: float, right: float, top: float, bottom: float, values: tuple[float, float], bars: Bars, drop: int
) -> Frame:
    """A frame with room for all bars. Where few tall bars would hide the others, heights of counts are logarithmic."""
    tallest, middling = float(bars.counts.max()), float(np.median(bars.counts))
    skewed = bars.unit is None and tallest > max(_SKEWED * middling, 100 * drop)
    highest = bars.tallest(drop)
    up = LogScale(highest, bottom, top) if skewed else Scale(0, highest, bottom, top)
    return Frame(left, right, top, bottom, Scale(*values, left, right), up)


def _visible(axis: Axis, bars: Bars) -> tuple[float, float]:
    """The part of the scale that is drawn: all public buckets, unless the bars fill little of it, or ends are open."""
    low, high = float(bars.spans[:, 0].min()), float(bars.spans[:, 1].max())
    room = None if isinstance(axis.buckets, OpenEdges) else axis.public_range()
    if room is not None and high / 2 - low / 2 >= 0.25 * (room[1] / 2 - room[0] / 2):
        return room
    margin = 0.03 * (high / 2 - low / 2) * 2
    if isinstance(axis.buckets, OpenEdges):
        margin = margin if low < high else max(abs(low) / 10, 1.0)
        ends = {tail.above for tail in bars.tails}
        return low - (0 if False in ends else margin), high + (0 if True in ends else margin)
    if np.isfinite(low - margin) and np.isfinite(high + margin):
        low, high = low - margin, high + margin
    return (max(low, room[0]), min(high, room[1])) if room is not None else (low, high)


def _in_ratios(frame: Frame) -> str:
    return "" if isinstance(frame.up, Scale) else "logarithmic heights"


def _drawn(frame: Frame, bars: Bars, drop: int, name: str, *, gaps: bool) -> list[str]:
    """The bars, and the band above them and, where buckets have edges, along the ground between them."""
    kept = np.flatnonzero(bars.per_record)
    left, right = frame.across.all(bars.spans[kept, 0]), frame.across.all(bars.spans[kept, 1])
    heights, more = bars.heights[kept], drop * bars.per_record[kept]
    if len(heights) > _MOST_BARS:
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
        _band(bands, name),
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


def _columns(frame: Frame, left: _Row, right: _Row, heights: _Row, more: _Row) -> tuple[_Row, _Row, _Row, _Row]:
    """One bar for each pixel column: the tallest of those whose middle lies in it."""
    places = np.floor((left + right) / 2).astype(np.int64)
    columns, where = np.unique(places, return_inverse=True)
    tallest, widest = np.zeros(len(columns)), np.zeros(len(columns))
    np.maximum.at(tallest, where, heights)
    np.maximum.at(widest, where, more)
    start = np.maximum(columns.astype(np.float64), frame.left)
    return start, np.minimum(columns + 1.0, frame.right), tallest, widest


def _band(path: str, name: str) -> str:
    return f'<path class="band" fill="url(#{name}-h)" d="{path}"/>'


def _grid(frame: Frame, axis: Axis, document: Document, bars: Bars) -> str:
    parts = []
    for tick in _count_ticks(frame.up, whole=bars.unit is None):
        y = frame.up(tick)
        line = f"M{coordinate(frame.left)} {coordinate(y)}H{coordinate(frame.right)}"
        parts.append(f'<path class="grid" d="{line}"/>')
        parts.append(text(frame.left - 6, y + 4, compact(tick), anchor="end", kind="s"))
    low, high, ends = frame.across.low, frame.across.high, _open_labels(frame, document, bars)
    for tail in bars.tails:  # the ticks end where the scale does
        low, high = (low, tail.edge) if tail.above else (tail.edge, high)
    for value, name in _value_ticks(axis, low, high, document, 8):
        x = frame.across(value)
        parts.append(f'<path class="axis" d="M{coordinate(x)} {coordinate(frame.bottom)}v4"/>')
        place, anchor, first, last = _anchored(x, name, 4, frame.right + 16)
        if all(last < start or first > end for start, end, _ in ends):
            parts.append(text(place, frame.bottom + 17, name, anchor=anchor, kind="s"))
    parts += [label for _, _, label in ends]
    ground = f"M{coordinate(frame.left)} {coordinate(frame.bottom)}H{coordinate(frame.right)}"
    return "".join(parts) + f'<path class="axis" d="{ground}"/>'


def _open_labels(frame: Frame, document: Document, bars: Bars) -> list[tuple[float, float, str]]:
    """The names of open ends below the axis, each with where it begins and ends."""
    out = []
    for tail in bars.tails:
        words = document.text(tail.place)
        width = _CHARACTER * len(words)
        first = frame.right + 14 - width if tail.above else max(4.0, frame.left - 30)
        anchor, x = ("end", frame.right + 14) if tail.above else ("start", first)
        out.append((first - 6, first + width + 6, text(x, frame.bottom + 17, words, anchor=anchor, kind="s")))
    return out


def _anchored(x: float, name: str, left: float, right: float) -> tuple[float, str, float, float]:
    """Where a label goes that must stay within two limits: its place, its anchor, and where it begins and ends."""
    half = _CHARACTER * len(name) / 2
    if x + half > right:
        return right, "end", right - 2 * half, right
    if x - half < left:
        return left, "start", left, left + 2 * half
    return x, "middle", x - half, x + half


def _count_ticks(up: Scale | LogScale, *, whole: bool = True) -> list[float]:
    if isinstance(up, Scale):
        return ticks(0, up.high, 5, whole=whole)
    return [0.0, *(10.0**power for power in range(1, 19) if 10.0**power <= up.high)]


def _small_axes(frame: Frame, axis: Axis, keys: Sequence[str], limit: float) -> str:
    highest = frame.up.high if frame.up.high < 10 else float(int(frame.up.high))
    parts = [text(frame.left - 4, frame.top + 8, compact(float(f"{highest:.3g}")), anchor="end", kind="s")]
    parts.append(
        f'<path class="axis" d="M{coordinate(frame.left)} {coordinate(frame.bottom)}H{coordinate(frame.right)}"/>'
    )
    if keys:
        ends = [(float(place), key) for place, key in enumerate(keys)]
        parts += [text(frame.across(x), frame.bottom + 14, _short(key, 9), kind="s") for x, key in ends]
    elif not axis.even:
        for value, name in _value_ticks(axis, frame.across.low, frame.across.high, None, 3):
            x, anchor, _, _ = _anchored(frame.across(value), name, frame.left - 30, limit)
            parts.append(text(x, frame.bottom + 14, name, anchor=anchor, kind="s"))
    return "".join(parts)


def _value_ticks(axis: Axis, low: float, high: float, document: Document | None, about: int) -> list[tuple[float, str]]:
    if axis.even and document is not None:  # relative buckets: name some of those that are there
        index = document.index or []
        every = max(1, len(index) // about)
        pairs = zip(index[::every], document.keys[::every], strict=True)
        digits = math.ceil(-math.log10(axis.buckets.beta or 1)) + 2
        return [(float(place), compact(float(f"{float(key):.{digits}g}"))) for place, key in pairs]
    if axis.kind == "date":
        found = day_ticks(low, high)
        return found[:: max(1, -(-len(found) // about))]
    if axis.kind == "datetime":
        return moment_ticks(low, high)[:: 2 if about < 5 else 1]
    return named(ticks(low, high, about, whole=axis.kind == "integer"), 80 * about)


def _legend(right: float, y: float, drop: int, name: str, note: str) -> str:
    words = f"at most {thousands(drop)} more in each bucket"
    start = right - 6.7 * len(words)
    square = f"M{coordinate(start - 18)} {coordinate(y - 9)}h12v10h-12z"
    said = text(start - 26, y, note, anchor="end", kind="s") if note else ""
    return f"{_band(square, name)}{text(right, y, words, anchor='end', kind='s')}{said}"


def _described(document: Document, bars: Bars | None = None) -> str:
    counts = document.counts
    many = len(counts)
    words = f"{plural(many, 'bucket', thousands)} with {plural(document.records, 'record', thousands)} left"
    ends = ""
    if bars is not None:
        ends = f", from {document.text(0)} to {document.text(many - 1)}"
    return (
        f"{words}{ends}; the fullest holds {thousands(int(counts.max()))}. Every bucket may hold up to "
        f"{thousands(document.max_drop)} more than its bar shows, and none holds fewer."
    )


def _empty(document: Document, name: str, alone: bool, width: int) -> str:
    words = "Nothing survived: no bucket is left to draw."
    body = [text(width / 2, 40, words, kind="s")]
    return picture(width, 70, f"Released histogram of {document.title}", words, body, name=name, alone=alone)


def _shared_keys(parts: Sequence[Document]) -> list[str]:
    totals: dict[str, int] = {}
    for part in parts:
        for key, count in zip(part.keys, part.counts.tolist(), strict=True):
            totals[label(key)] = totals.get(label(key), 0) + count
    return sorted(sorted(totals, key=lambda key: -totals[key])[:6])


def _ranked(part: Document, keys: Sequence[str]) -> Bars:
    """The bars of the shared keys, side by side."""
    kept = [
        (keys.index(label(key)), count)
        for key, count in zip(part.keys, part.counts.tolist(), strict=True)
        if label(key) in keys
    ]
    spans = np.array([[place - 0.4, place + 0.4] for place, _ in kept], dtype=np.float64).reshape(-1, 2)
    counts = np.array([count for _, count in kept], dtype=np.int64)
    return Bars(spans, counts, np.ones(len(counts)))


def _short(words: str, most: int) -> str:
    return words if len(words) <= most else words[: max(1, most - 1)] + "…"
