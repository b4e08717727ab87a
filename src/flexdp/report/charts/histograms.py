"""Released histograms as pictures: bars, each with the band of at most this many more above it.

A released count is a lower bound, and each bucket lost at most ``max_drop`` records, so the truth lies in the band. A
bucket without a bar may hold up to ``max_drop`` records, too, which the band shows along the ground.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.text import plural, thousands
from flexdp.histogram import Histogram
from flexdp.report.axes import Axis, label
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
from flexdp.statistics import Max, Median, Min, Quantile

__all__ = ["categories", "histogram", "multiples"]

_SHORT_TICK = 5  # characters
_MOST_BARS = 1000  # drawn one by one; more are drawn as columns of a pixel each, the tallest of those that share it
_APART = 150  # more bars than these are drawn as one outline
_MOST_ROWS = 30
_SKEWED = 50  # times as tall as the middling bar
_MOST_GROUPS = 12
_LONGEST_MARK = 36  # characters of a range above the bars
_STATISTICS = (("min", Min()), ("median", Median()), ("99th percentile", Quantile("0.99")), ("max", Max()))


@dataclass(frozen=True, slots=True)
class _Frame:
    """A rectangle with scales: across for values, up for counts."""

    left: float
    right: float
    top: float
    bottom: float
    across: Scale
    up: Scale | LogScale


@dataclass(frozen=True, slots=True)
class _Bars:
    """Bars on the scale: where they begin and end, and how many records are left in them."""

    spans: NDArray[np.float64]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, document: Document) -> _Bars:
        return cls(document.axes[0].spans(document.keys, document.index), document.counts)


def histogram(document: Document, *, name: str = "h", alone: bool = True, width: int = 720, height: int = 300) -> str:
    """Draw the released histogram of one column of numbers, dates or datetimes."""
    axis, bars, drop = document.axes[0], _Bars.of(document), document.max_drop
    if not len(bars.counts):
        return _empty(document, name, alone, width)
    low, high = _visible(axis, bars)
    frame = _frame(60, width - 18, 52, height - 46, (low, high), bars, drop)
    body = [_grid(frame, axis, document)]
    body += _drawn(frame, bars, drop, name, gaps=axis.bucketed)
    body += _marks(frame, document, bars)
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
    bars = [_ranked(part, keys) if not axis.ordered else _Bars.of(part) for part in parts]
    everywhere = _Bars(np.concatenate([b.spans for b in bars]), np.concatenate([b.counts for b in bars]))
    limits = (-0.5, len(keys) - 0.5) if keys else _visible(axis, everywhere)
    body = []
    for place, (group, one) in enumerate(zip(shown, bars, strict=True)):
        x, y = 10 + wide * (place % across), high * (place // across)
        frame = _frame(x + 34, x + wide - 8, y + 22, y + high - 22, limits, everywhere, drop)
        body.append(text(frame.left, y + 15, _short(label(group), int(wide / 8)), anchor="start"))
        body.append(_small_axes(frame, axis, keys))
        body += _drawn(frame, one, drop, name, gaps=not keys and axis.bucketed)
    more = len(totals) - len(shown)
    note = f"{plural(more, 'smaller group', thousands)} not drawn" if more else ""
    note = "; ".join(part for part in (note, _in_ratios(frame)) if part)
    body.append(_legend(width - 8, height - 8, drop, name, note))
    description = f"{plural(len(totals), 'group')} by {', '.join(document.by)}; {_described(document)}"
    return picture(width, height, f"Released histograms of {document.title}", description, body, name=name, alone=alone)


def _frame(
    left: float, right: float, top: float, bottom: float, values: tuple[float, float], bars: _Bars, drop: int
) -> _Frame:
    """A frame with room for all bars. Where few tall bars would hide the others, heights are logarithmic."""
    tallest, middling = float(bars.counts.max()), float(np.median(bars.counts))
    skewed = tallest > max(_SKEWED * middling, 100 * drop)
    up = LogScale(tallest + drop, bottom, top) if skewed else Scale(0, tallest + drop, bottom, top)
    return _Frame(left, right, top, bottom, Scale(*values, left, right), up)


def _visible(axis: Axis, bars: _Bars) -> tuple[float, float]:
    """The part of the scale that is drawn: all public buckets, unless the bars fill little of it."""
    low, high = float(bars.spans[:, 0].min()), float(bars.spans[:, 1].max())
    room = axis.public_range()
    if room is not None and high / 2 - low / 2 >= 0.25 * (room[1] / 2 - room[0] / 2):
        return room
    margin = 0.03 * (high / 2 - low / 2) * 2
    if np.isfinite(low - margin) and np.isfinite(high + margin):
        low, high = low - margin, high + margin
    return (max(low, room[0]), min(high, room[1])) if room is not None else (low, high)


def _in_ratios(frame: _Frame) -> str:
    return "" if isinstance(frame.up, Scale) else "logarithmic heights"


def _drawn(frame: _Frame, bars: _Bars, drop: int, name: str, *, gaps: bool) -> list[str]:
    """The bars, and the band above them and, where buckets have edges, along the ground between them."""
    left, right = frame.across.all(bars.spans[:, 0]), frame.across.all(bars.spans[:, 1])
    heights = bars.counts.astype(np.float64)
    if len(heights) > _MOST_BARS:
        left, right, heights = _columns(frame, left, right, heights)
    ground, tops, caps = frame.up(0), frame.up.all(heights), frame.up.all(heights + drop)
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
    if gaps:
        starts, ends = [frame.left, *right[order].tolist()], [*left[order].tolist(), frame.right]
        low = frame.up(float(drop))
        bands += steps((s, e, low, ground) for s, e in zip(starts, ends, strict=True) if e - s > 0.3)
    return [_band(bands, name), f'<path class="bar" d="{drawn}"/>']


def _columns(
    frame: _Frame, left: NDArray[np.float64], right: NDArray[np.float64], heights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], ...]:
    """One bar for each pixel column: the tallest of those whose middle lies in it."""
    places = np.floor((left + right) / 2).astype(np.int64)
    columns, where = np.unique(places, return_inverse=True)
    tallest = np.zeros(len(columns))
    np.maximum.at(tallest, where, heights)
    start = np.maximum(columns.astype(np.float64), frame.left)
    return start, np.minimum(columns + 1.0, frame.right), tallest


def _band(path: str, name: str) -> str:
    return f'<path class="band" fill="url(#{name}-h)" d="{path}"/>'


def _grid(frame: _Frame, axis: Axis, document: Document) -> str:
    parts = []
    for tick in _count_ticks(frame.up):
        y = frame.up(tick)
        line = f"M{coordinate(frame.left)} {coordinate(y)}H{coordinate(frame.right)}"
        parts.append(f'<path class="grid" d="{line}"/>')
        parts.append(text(frame.left - 6, y + 4, compact(tick), anchor="end", kind="s"))
    for value, name in _value_ticks(axis, frame.across.low, frame.across.high, document, 8):
        x = frame.across(value)
        parts.append(f'<path class="axis" d="M{coordinate(x)} {coordinate(frame.bottom)}v4"/>')
        parts.append(text(x, frame.bottom + 17, name, kind="s"))
    ground = f"M{coordinate(frame.left)} {coordinate(frame.bottom)}H{coordinate(frame.right)}"
    return "".join(parts) + f'<path class="axis" d="{ground}"/>'


def _count_ticks(up: Scale | LogScale) -> list[float]:
    if isinstance(up, Scale):
        return ticks(0, up.high, 5, whole=True)
    return [0.0, *(10.0**power for power in range(1, 19) if 10.0**power <= up.high)]


def _small_axes(frame: _Frame, axis: Axis, keys: Sequence[str]) -> str:
    top = compact(float(int(frame.up.high)))
    parts = [text(frame.left - 4, frame.top + 8, top, anchor="end", kind="s")]
    parts.append(
        f'<path class="axis" d="M{coordinate(frame.left)} {coordinate(frame.bottom)}H{coordinate(frame.right)}"/>'
    )
    if keys:
        ends = [(float(place), key) for place, key in enumerate(keys)]
        parts += [text(frame.across(x), frame.bottom + 14, _short(key, 9), kind="s") for x, key in ends]
    elif not axis.even:
        for value, name in _value_ticks(axis, frame.across.low, frame.across.high, None, 3):
            x = frame.across(value)
            anchor = "middle"
            if len(name) > _SHORT_TICK:  # dates stay within their own picture
                anchor = "start" if x < frame.left + 24 else "end" if x > frame.right - 24 else anchor
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


def _marks(frame: _Frame, document: Document, bars: _Bars) -> list[str]:
    """Minimum, median, 99th percentile and maximum, as they are read off the release."""
    released = Histogram(np.arange(len(bars.counts)), bars.counts)
    places: dict[int, list[str]] = {}
    for word, statistic in _STATISTICS:
        places.setdefault(int(statistic(released)), []).append(word)
    lines, captions, taken = [], [], [-1e9, -1e9, -1e9]
    for place, words in sorted(places.items()):
        low, high = (frame.across(float(end)) for end in bars.spans[place])
        x = (low + high) / 2
        caption = f"{', '.join(words)} {_mark_label(document, place)}".rstrip()
        half = 3.6 * len(caption)
        at = min(max(x, frame.left + half), frame.right - half)
        level = next((row for row, end in enumerate(taken) if at - half > end + 6), 2)
        taken[level] = at + half
        y = frame.top - 8 - 14 * level
        dash = "mark" if {"min", "max"} & set(words) else "mark dash"
        line = f"M{coordinate(x)} {coordinate(y + 3)}V{coordinate(frame.bottom)}"
        lines += [f'<path class="halo" d="{line}"/>'] if high - low > 10 else []
        lines.append(f'<path class="{dash}" d="{line}"/>')
        captions.append(text(at, y, caption, kind="m"))
    return lines + captions


def _mark_label(document: Document, place: int) -> str:
    """The bucket, whole; none where it is too long for the picture."""
    words = document.text(place)
    return words if len(words) <= _LONGEST_MARK else ""


def _legend(right: float, y: float, drop: int, name: str, note: str) -> str:
    words = f"at most {thousands(drop)} more in each bucket"
    start = right - 6.7 * len(words)
    square = f"M{coordinate(start - 18)} {coordinate(y - 9)}h12v10h-12z"
    said = text(start - 26, y, note, anchor="end", kind="s") if note else ""
    return f"{_band(square, name)}{text(right, y, words, anchor='end', kind='s')}{said}"


def _described(document: Document, bars: _Bars | None = None) -> str:
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


def _ranked(part: Document, keys: Sequence[str]) -> _Bars:
    """The bars of the shared keys, side by side."""
    kept = [
        (keys.index(label(key)), count)
        for key, count in zip(part.keys, part.counts.tolist(), strict=True)
        if label(key) in keys
    ]
    spans = np.array([[place - 0.4, place + 0.4] for place, _ in kept], dtype=np.float64).reshape(-1, 2)
    return _Bars(spans, np.array([count for _, count in kept], dtype=np.int64))


def _short(words: str, most: int) -> str:
    return words if len(words) <= most else words[: max(1, most - 1)] + "…"
