"""Releases of two columns as a map of cells, darker the more records are left in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.text import plural, thousands
from flexdp.report.axes import Axis, label
from flexdp.report.charts.multiples import fullest_groups
from flexdp.report.charts.scales import anchored
from flexdp.report.charts.svg import Scale, coordinate, day_ticks, named, picture, shades, steps, text, ticks
from flexdp.report.document import Document

__all__ = ["cell_map", "map_multiples"]

_FINEST = (90, 64)  # cells across and up; a finer map shows the fullest cell of each of these
_MOST_NAMES = 24
_MOST_GROUPS = 9


def cell_map(document: Document, *, name: str = "m", alone: bool = True, width: int = 720) -> str:
    """Draw the map of a release of two columns. A cell without colour may hold up to ``max_drop`` records."""
    counts, drop = document.counts, document.max_drop
    title = f"Released map of {document.title}"
    if not len(counts):
        words = "Nothing survived: no cell is left to draw."
        return picture(width, 70, title, words, [text(width / 2, 40, words, kind="s")], name=name, alone=alone)
    spans, names = zip(*(_placed(document, place) for place in (0, 1)), strict=True)
    limits = [(float(span[:, 0].min()), float(span[:, 1].max())) for span in spans]
    first, second = document.axes
    about = max(3, width // 90)
    beside = _ticks(second, limits[1], names[1], 8)
    longest = max((len(word) for _, word in beside), default=0)
    left, right, top, bottom = 14 + 7.0 * longest, width - 16.0, 24.0, 24.0 + min(320.0, 0.8 * width)
    across, up = Scale(*limits[0], left, right), Scale(*limits[1], bottom, top)
    x, y, counts, coarse = _in_frame(spans, counts, across, up)
    cuts = shades(counts.tolist())
    body = _cells(x, y, counts, cuts, (left, right, top, bottom))
    free = -1e9
    for value, word in _ticks(first, limits[0], names[0], about):
        place, anchor, start, end = anchored(across(value), word, 4, right + 12)
        if start > free:
            body.append(text(place, bottom + 16, word, anchor=anchor, kind="s"))
            free = end + 6
    for value, word in beside:
        body.append(text(left - 6, up(value) + 4, word, anchor="end", kind="s"))
    body.append(text((left + right) / 2, bottom + 34, first.name or "first", kind="s"))
    body.append(text(4, 13, second.name or "second", anchor="start", kind="s"))
    body.append(_legend(left, bottom + 56, counts, cuts, document.counted))
    lines = [f"at most {thousands(drop)} more in each cell, coloured or not"]
    lines += [document.once] if document.once else []
    lines += ["each cell the fullest of those it shows"] if coarse else []
    body += [text(left, bottom + 96 + 18 * row, line, anchor="start", kind="s") for row, line in enumerate(lines)]
    words = (
        f"{document.once and f'Counting {document.once}: '}"
        f"{plural(len(document.counts), 'cell', thousands)} with {document.left} left, "
        f"the fullest with {thousands(int(document.counts.max()))}. Every cell, coloured or not, may hold up to "
        f"{thousands(drop)} more than is shown. Across: {first.name or 'first'}; up: {second.name or 'second'}."
    )
    return picture(width, int(bottom) + 88 + 18 * len(lines), title, words, body, name=name, alone=alone)


def map_multiples(document: Document, *, name: str = "m", alone: bool = True, width: int = 720) -> str:
    """Draw a small map for each group, the largest groups first, all on the same scales and with the same shades."""
    every_group = fullest_groups(document)
    if not every_group:
        return cell_map(document, name=name, alone=alone, width=width)
    shown = every_group[:_MOST_GROUPS]
    across, high, above = min(3 if width > 500 else 2, len(shown)), 200, 20
    wide, height = (width - 4) / across, above + high * -(-len(shown) // across)
    (spans, names), (spans_up, names_up) = (_placed(document, place) for place in (0, 1))
    every = [spans, spans_up]
    limits = [(float(span[:, 0].min()), float(span[:, 1].max())) for span in every]
    beside = _ticks(document.axes[1], limits[1], names_up, 4)
    margin = 12 + 6.4 * max((len(word) for _, word in beside), default=0)
    groups = document.groups or []
    drawn = []
    for place, group in enumerate(shown):
        own = np.array([other == group for other in groups])
        left, top = wide * (place % across) + margin, above + high * (place // across) + 22.0
        right, bottom = wide * (place % across) + wide - 12, top + high - 52
        scales = Scale(*limits[0], left, right), Scale(*limits[1], bottom, top)
        cells = _in_frame([span[own] for span in every], document.counts[own], *scales)
        drawn.append((group, (left, right, top, bottom), scales, cells))
    cuts = shades(np.concatenate([counts for *_, (_, _, counts, _) in drawn]).tolist())
    body = [text(4, 13, document.axes[1].name or "second", anchor="start", kind="s")]
    for group, (left, right, top, bottom), scales, (x, y, counts, _) in drawn:
        body.append(text(left, top - 7, _short(label(group), int((right - left) / 6.4)), anchor="start"))
        body += _cells(x, y, counts, cuts, (left, right, top, bottom))
        free = -1e9
        for value, word in _ticks(document.axes[0], limits[0], names, 2):
            spot, anchor, start, end = anchored(scales[0](value), word, left - 20, right + 8)
            if start > free:
                body.append(text(spot, bottom + 15, word, anchor=anchor, kind="s"))
                free = end + 6
        for value, word in beside:
            body.append(text(left - 5, scales[1](value) + 4, word, anchor="end", kind="s"))
    body.append(text(width / 2, height + 8, document.axes[0].name or "first", kind="s"))
    body.append(_legend(margin, height + 30, document.counts, cuts, document.counted))
    more = len(every_group) - len(shown)
    lines = [f"at most {thousands(document.max_drop)} more in each cell, coloured or not"]
    lines += [document.once] if document.once else []
    lines += [f"{plural(more, 'smaller group', thousands)} not drawn"] if more else []
    body += [text(margin, height + 70 + 18 * row, line, anchor="start", kind="s") for row, line in enumerate(lines)]
    description = (
        f"{plural(len(every_group), 'group', thousands)} by {', '.join(document.by)}: "
        f"{plural(len(document.counts), 'cell', thousands)} with {document.left} left. "
        f"Every cell, coloured or not, may hold up to {thousands(document.max_drop)} more than is shown. "
        f"Across: {document.axes[0].name or 'first'}; up: {document.axes[1].name or 'second'}."
    )
    title, tall = f"Released maps of {document.title}", height + 62 + 18 * len(lines)
    return picture(width, tall, title, description, body, name=name, alone=alone)


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


def _legend(left: float, y: float, counts: NDArray[np.int64], cuts: Sequence[float], counted: str) -> str:
    """The shades, with the counts at which they begin and end."""
    ends = [thousands(int(end)) for end in (counts.min(), *cuts, counts.max())]
    wide = max(30.0, 6.4 * max(map(len, ends)) + 8)
    parts = []
    for level in range(5):
        parts.append(
            f'<path class="c{level + 1}" d="M{coordinate(left + wide * level)} {coordinate(y - 10)}'
            f'h{coordinate(wide)}v12h-{coordinate(wide)}z"/>'
        )
    for place, words in enumerate(ends):
        anchor = "start" if place == 0 else "middle"
        parts.append(text(left + wide * place, y + 16, words, anchor=anchor, kind="s"))
    parts.append(text(left + 5 * wide + 8, y, counted, anchor="start", kind="s"))
    return "".join(parts)


def _short(words: str, most: int = 11) -> str:
    return words if len(words) <= most else words[: most - 1] + "…"
