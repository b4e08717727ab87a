"""Releases of two columns as a map of cells, darker the more records are left in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.text import plural, thousands
from flexdp.report.axes import Axis, label
from flexdp.report.charts.svg import Scale, coordinate, day_ticks, named, picture, shades, steps, text, ticks
from flexdp.report.document import Document

__all__ = ["cell_map", "map_multiples"]

_FINEST = (90, 64)  # cells across and up; a finer map shows the fullest cell of each of these
_MOST_NAMES = 24
_MOST_GROUPS = 9
_SHORT_END = 6  # characters beside a small map


def cell_map(document: Document, *, name: str = "m", alone: bool = True, width: int = 720, height: int = 460) -> str:
    """Draw the map of a release of two columns. A cell without colour may hold up to ``max_drop`` records."""
    counts, drop = document.counts, document.max_drop
    title = f"Released map of {document.title}"
    if not len(counts):
        words = "Nothing survived: no cell is left to draw."
        return picture(width, 70, title, words, [text(width / 2, 40, words, kind="s")], name=name, alone=alone)
    spans, names = zip(*(_placed(document, place) for place in (0, 1)), strict=True)
    limits = [(float(span[:, 0].min()), float(span[:, 1].max())) for span in spans]
    first, second = document.axes
    beside = _ticks(second, limits[1], names[1], 8)
    longest = max((len(word) for _, word in beside), default=0)
    left, right, top, bottom = max(78.0, 8.0 * longest), width - 16.0, 14.0, height - 74.0
    across, up = Scale(*limits[0], left, right), Scale(*limits[1], bottom, top)
    x, y, counts, coarse = _in_frame(spans, counts, across, up)
    body = _cells(x, y, counts, shades(counts.tolist()), (left, right, top, bottom))
    for value, word in _ticks(first, limits[0], names[0], 8):
        body.append(text(across(value), bottom + 16, word, kind="s"))
    for value, word in beside:
        body.append(text(left - 6, up(value) + 4, word, anchor="end", kind="s"))
    body.append(text((left + right) / 2, bottom + 33, first.name or "first", kind="s"))
    body.append(text(left, top - 3, f"↑ {second.name or 'second'}", anchor="start", kind="s"))
    body.append(_legend(left, height - 10, counts))
    if coarse:
        body.append(text(right, bottom + 33, "each cell the fullest of those it shows", anchor="end", kind="s"))
    body.append(
        text(right, height - 10, f"at most {thousands(drop)} more in each, shown or not", anchor="end", kind="s")
    )
    words = (
        f"{plural(len(document.counts), 'cell', thousands)} with {plural(document.records, 'record', thousands)} left, "
        f"the fullest with {thousands(int(document.counts.max()))}. Every cell, coloured or not, may hold up to "
        f"{thousands(drop)} more than is shown."
    )
    return picture(width, height, title, words, body, name=name, alone=alone)


def map_multiples(document: Document, *, name: str = "m", alone: bool = True, width: int = 720) -> str:
    """Draw a small map for each group, the largest groups first, all on the same scales and with the same shades."""
    totals: dict[tuple[Any, ...], int] = {}
    for group, count in zip(document.groups or [], document.counts.tolist(), strict=True):
        totals[group] = totals.get(group, 0) + count
    if not totals:
        return cell_map(document, name=name, alone=alone, width=width)
    shown = sorted(totals, key=lambda group: -totals[group])[:_MOST_GROUPS]
    across, high = min(3, len(shown)), 200
    wide, height = (width - 10) / across, high * -(-len(shown) // across) + 34
    every = [_placed(document, place)[0] for place in (0, 1)]
    limits = [(float(span[:, 0].min()), float(span[:, 1].max())) for span in every]
    groups = document.groups or []
    drawn = []
    for place, group in enumerate(shown):
        own = np.array([other == group for other in groups])
        left, top = 10 + wide * (place % across) + 34, high * (place // across) + 22.0
        right, bottom = left + wide - 44, top + high - 52
        scales = Scale(*limits[0], left, right), Scale(*limits[1], bottom, top)
        cells = _in_frame([span[own] for span in every], document.counts[own], *scales)
        drawn.append((group, (left, right, top, bottom), cells))
    cuts = shades(np.concatenate([counts for *_, (_, _, counts, _) in drawn]).tolist())
    body = []
    for group, (left, right, top, bottom), (x, y, counts, _) in drawn:
        body.append(text(left, top - 7, _short(label(group)), anchor="start"))
        body += _cells(x, y, counts, cuts, (left, right, top, bottom))
        for end, word in named(limits[0], right - left):
            body.append(text(left if end == limits[0][0] else right, bottom + 14, word, kind="s"))
        for end, word in named(limits[1], bottom - top):
            if len(word) > _SHORT_END:  # there is no room, and a part of it would be another number
                continue
            body.append(text(left - 4, bottom if end == limits[1][0] else top + 8, word, anchor="end", kind="s"))
    more = len(totals) - len(shown)
    note = f"{plural(more, 'smaller group', thousands)} not drawn; " if more else ""
    body.append(_legend(10, height - 10, document.counts))
    words = f"{note}at most {thousands(document.max_drop)} more in each cell, shown or not"
    body.append(text(width - 8, height - 10, words, anchor="end", kind="s"))
    description = (
        f"{plural(len(totals), 'group', thousands)} by {', '.join(document.by)}: "
        f"{plural(len(document.counts), 'cell', thousands)} with {plural(document.records, 'record', thousands)} left. "
        f"Every cell, coloured or not, may hold up to {thousands(document.max_drop)} more than is shown. "
        f"Across: {document.axes[0].name or 'first'}; up: {document.axes[1].name or 'second'}."
    )
    return picture(width, height, f"Released maps of {document.title}", description, body, name=name, alone=alone)


def _in_frame(
    spans: Sequence[NDArray[np.float64]], counts: NDArray[np.int64], across: Scale, up: Scale
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64], bool]:
    """The cells where they lie in a frame, coarser where they are too many."""
    x = np.stack([across.all(spans[0][:, 0]), across.all(spans[0][:, 1])], axis=1)
    y = np.stack([up.all(spans[1][:, 1]), up.all(spans[1][:, 0])], axis=1)
    return _coarsened(x, y, counts, (across.start, across.end, up.end, up.start))


def _cells(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    counts: NDArray[np.int64],
    cuts: Sequence[float],
    frame: tuple[float, float, float, float],
) -> list[str]:
    """The cells, a path for each shade, and the frame around them."""
    left, right, top, bottom = frame
    shade = np.searchsorted(np.array(cuts), counts, side="right")
    body = []
    for level in range(5):
        cells = [(*x[i].tolist(), *y[i].tolist()) for i in np.flatnonzero(shade == level).tolist()]
        if cells:
            body.append(f'<path class="c{level + 1}" d="{steps(cells)}"/>')
    border = f"M{coordinate(left)} {coordinate(top)}H{coordinate(right)}V{coordinate(bottom)}H{coordinate(left)}z"
    return [*body, f'<path class="axis" d="{border}"/>']


def _placed(document: Document, place: int) -> tuple[NDArray[np.float64], Sequence[str]]:
    """Where the cells begin and end along one column, and the names of places where it holds no numbers."""
    axis, keys = document.axes[place], [key[place] for key in document.keys]
    if axis.ordered:
        index: Any = None if document.index is None else [found[place] for found in document.index]
        if index is not None and any(entry is None for entry in index):
            index = None
        return axis.spans(keys, index), ()
    words = [label(key) for key in keys]
    names = sorted(set(words))
    rank = {word: number for number, word in enumerate(names)}
    places = np.array([rank[word] for word in words], dtype=np.float64)
    return np.stack([places - 0.5, places + 0.5], axis=1), names


def _coarsened(
    x: NDArray[np.float64], y: NDArray[np.float64], counts: NDArray[np.int64], frame: tuple[float, float, float, float]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64], bool]:
    """The cells as they are, or, along a side that has too many, those of a raster; each shows its fullest."""
    left, right, top, bottom = frame
    coarse_x, coarse_y = (len(np.unique(side[:, 0])) > most for side, most in zip((x, y), _FINEST, strict=True))
    if not coarse_x and not coarse_y:
        return x, y, counts, False
    x = _raster(x, left, right, _FINEST[0]) if coarse_x else x
    y = _raster(y, top, bottom, _FINEST[1]) if coarse_y else y
    cells, where = np.unique(np.concatenate([x, y], axis=1), axis=0, return_inverse=True)
    fullest = np.zeros(len(cells), dtype=np.int64)
    np.maximum.at(fullest, where, counts)
    return cells[:, :2], cells[:, 2:], fullest, True


def _raster(spans: NDArray[np.float64], start: float, end: float, most: int) -> NDArray[np.float64]:
    """The step of a raster in which the middle of each span lies."""
    size = (end - start) / most
    place = np.clip(((spans.mean(axis=1) - start) / size).astype(np.int64), 0, most - 1)
    return np.stack([start + place * size, start + (place + 1) * size], axis=1)


def _ticks(axis: Axis, limits: tuple[float, float], names: Sequence[str], about: int) -> list[tuple[float, str]]:
    if names:
        every = max(1, -(-len(names) // _MOST_NAMES))
        return [(float(place), _short(names[place])) for place in range(0, len(names), every)]
    if axis.even:
        return []
    if axis.kind == "date":
        found = day_ticks(*limits)
        return found[:: max(1, -(-len(found) // about))]
    return named(ticks(*limits, about), 80 * about)


def _legend(left: float, y: float, counts: NDArray[np.int64]) -> str:
    least = thousands(int(counts.min()))
    parts = [text(left, y, least, anchor="start", kind="s")]
    start = left + max(34, 8 * len(least))
    for level in range(5):
        parts.append(
            f'<path class="c{level + 1}" d="M{coordinate(start + 22 * level)} {coordinate(y - 10)}h22v12h-22z"/>'
        )
    parts.append(
        text(
            start + 116,
            y,
            plural(int(counts.max()), "record", thousands),
            anchor="start",
            kind="s",
        )
    )
    return "".join(parts)


def _short(words: str, most: int = 11) -> str:
    return words if len(words) <= most else words[: most - 1] + "…"
