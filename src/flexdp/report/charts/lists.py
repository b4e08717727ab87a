"""Released counts without an order as a list: a row for each value, or group and value, the fullest first."""

from __future__ import annotations

import numpy as np

from flexdp._core.text import thousands
from flexdp._release.sentences import tally_ends
from flexdp.report.axes import label
from flexdp.report.charts.scales import CHARACTER, band, below, described, empty, short
from flexdp.report.charts.svg import Scale, picture, steps, text
from flexdp.report.document import Document

__all__ = ["categories"]

_MOST_ROWS = 30
_ROW = 20  # pixels


def categories(document: Document, *, name: str = "h", alone: bool = True, width: int = 720) -> str:
    """Draw the released counts as a list."""
    counts, drop = document.counts, document.max_drop
    if not len(counts):
        return empty(document, name, alone, width)
    order = np.lexsort((np.arange(len(counts)), -counts))[:_MOST_ROWS].tolist()
    labels = [_row_label(document, bar) for bar in order]
    most = int(0.46 * width / CHARACTER)
    left = 14 + CHARACTER * min(most, max(map(len, labels)))
    top = 26
    named = {bar: _count(document, bar) for bar in order}
    room = max(30, CHARACTER * max(map(len, named.values())) + 8)
    scale = Scale(0, float(counts.max()) + drop, left, max(left + 40, width - room))
    bars, bands, body = [], [], []
    for place, (bar, words) in enumerate(zip(order, labels, strict=True)):
        y, end = top + _ROW * place, scale(float(counts[bar]))
        bars.append((left, max(end, left + 1.0), y, y + _ROW - 5.0))
        bands.append((end, scale(float(counts[bar]) + drop), y, y + _ROW - 5.0))
        body.append(text(left - 6, y + _ROW - 8, short(words, most), anchor="end"))
        body.append(text(bands[-1][1] + 5, y + _ROW - 8, named[bar], anchor="start", kind="s"))
    body = [f'<path class="bar" d="{steps(bars)}"/>', band(steps(bands), name), *body]
    body.append(text(left, 13, f"{document.counted}: about, and certainly", anchor="start", kind="s"))
    more = len(counts) - len(order)
    notes = [f"and {thousands(more)} more, with fewer records"] if more else []
    y = top + _ROW * len(order) + 18
    lines, extra = below(14, width - 8, y, document, name, notes)
    title = f"Released counts of {document.title}"
    return picture(width, y + 8 + extra, title, described(document), [*body, *lines], name=name, alone=alone)


def _count(document: Document, place: int) -> str:
    """A count as an estimate with its ends: "914 (900 to 927)"."""
    tally = document.tally(place)
    return f"{thousands(tally.about)} ({tally_ends(tally)})"


def _row_label(document: Document, place: int) -> str:
    groups, words = document.groups, document.text(place)
    return words if groups is None else f"{label(groups[place])}: {words}"
