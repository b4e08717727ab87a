"""A small histogram for each group, the largest groups first, all with the same values across.

Heights are the same in all where that shows every group; else each group has heights of its own. The picture says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flexdp._core.text import plural, thousands
from flexdp.report.axes import label
from flexdp.report.charts.bars import Bars, joined_bars, unit_of
from flexdp.report.charts.histograms import draw_bars
from flexdp.report.charts.marks import Frame
from flexdp.report.charts.scales import (
    CHARACTER,
    Height,
    anchored,
    below,
    described,
    empty,
    per_unit,
    short,
    value_ticks,
    value_title,
    visible_part,
)
from flexdp.report.charts.svg import Scale, coordinate, count_name, picture, text
from flexdp.report.document import Document

__all__ = ["fullest_groups", "multiples"]

_MOST_GROUPS = 12
_HIGH = 138  # pixels of a small picture
_UNLIKE = 6  # times as tall as another group's: heights of its own


def fullest_groups(document: Document) -> list[tuple[Any, ...]]:
    """Return the groups, those with the most records first."""
    totals: dict[tuple[Any, ...], int] = {}
    for group, count in zip(document.groups or [], document.counts.tolist(), strict=True):
        totals[group] = totals.get(group, 0) + count
    return sorted(totals, key=lambda group: -totals[group])


def multiples(document: Document, *, name: str = "g", alone: bool = True, width: int = 720) -> str:
    """Draw a small histogram for each group."""
    axis, drop, groups = document.axes[0], document.max_drop, fullest_groups(document)
    if not groups:
        return empty(document, name, alone, width)
    shown = groups[:_MOST_GROUPS]
    parts = [document.part(group) for group in shown]
    keys = _shared_keys(parts) if not axis.ordered else []
    unit = unit_of(axis, document.index) if axis.ordered else None
    bars = [_ranked(part, keys) if not axis.ordered else Bars.of(part, unit=unit) for part in parts]
    everywhere = joined_bars(bars)
    common = Height(everywhere, drop)
    tops = [one.tallest(drop) for one in bars]
    own = not common.logarithmic and max(tops) > _UNLIKE * min(tops)
    heights = [Height(one, drop) for one in bars] if own else [common] * len(bars)
    ends = visible_part(axis, everywhere) if not keys else None
    low, high = (-0.5, len(keys) - 0.5) if ends is None else (ends.low, ends.high)
    names = [[(tick, count_name(tick)) for tick in height.ticks(2)] for height in heights]
    margin = 12 + CHARACTER * max(len(words) for each in names for _, words in each)
    across = min(len(shown), 3 if width > 500 else 1 if keys else 2)
    wide, top = (width - 4) / across, 20
    logarithmic = any(height.logarithmic for height in heights)
    body = [text(4, 13, per_unit(document, everywhere, logarithmic=logarithmic), anchor="start", kind="s")]
    for place, (group, one, height) in enumerate(zip(shown, bars, heights, strict=True)):
        x, y = wide * (place % across), top + _HIGH * (place // across)
        left, right, bottom = x + margin, x + wide - 12, y + _HIGH - 28
        frame = Frame(left, right, y + 26, bottom, Scale(low, high, left, right), height.scale(bottom, y + 26))
        body.append(text(left, y + 15, short(label(group), int((right - left) / CHARACTER)), anchor="start"))
        for tick, words in names[place]:
            line = f"M{coordinate(left)} {coordinate(frame.up(tick))}H{coordinate(right)}"
            body.append(f'<path class="grid" d="{line}"/>')
            body.append(text(left - 5, frame.up(tick) + 4, words, anchor="end", kind="s"))
        body += draw_bars(frame, one, drop, name, gaps=not keys and axis.bucketed)
        body.append(f'<path class="axis" d="M{coordinate(left)} {coordinate(bottom)}H{coordinate(right)}"/>')
        for value, words in _ticks(document, keys, frame):
            spot, anchor, _, _ = anchored(frame.across(value), words, x + 2, x + wide - 2)
            body.append(text(spot, bottom + 15, words, anchor=anchor, kind="s"))
    y = top + _HIGH * -(-len(shown) // across) + 8
    body.append(text(width / 2, y, value_title(axis), kind="s"))
    notes = [] if len(shown) == 1 else ["each group on a scale of its own" if own else "all groups on the same scale"]
    if len(groups) > len(shown):
        notes.append(f"{plural(len(groups) - len(shown), 'smaller group', thousands)} not drawn")
    notes += [] if ends is None else ends.notes
    lines, more = below(margin, width - 8, y + 22, document, name, notes)
    description = f"{plural(len(groups), 'group')} by {', '.join(document.by)}. {described(document)}"
    title = f"Released histograms of {document.title}"
    return picture(width, int(y) + 30 + more, title, description, [*body, *lines], name=name, alone=alone)


def _ticks(document: Document, keys: Sequence[str], frame: Frame) -> list[tuple[float, str]]:
    room = frame.right - frame.left
    if keys:
        most = int((room / len(keys) - 4) / CHARACTER)
        return [(float(place), short(key, most)) for place, key in enumerate(keys)] if most > 1 else []
    found = value_ticks(document.axes[0], frame.across.low, frame.across.high, document, 3)
    longest = max((len(words) for _, words in found), default=1)
    return found[:: max(1, -(-len(found) * int(CHARACTER * longest + 10) // int(room)))]


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
