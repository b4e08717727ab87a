"""Marks above the bars: minimum, median, 99th percentile and maximum, in the words of the answers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from flexdp._core.text import thousands
from flexdp._release.answers import Reader, Reading
from flexdp._release.estimates import estimate_text
from flexdp._release.ranges import bucket_texts
from flexdp.report.axes import Axis, position_of
from flexdp.report.charts.bars import Bars
from flexdp.report.charts.svg import LogScale, Scale, coordinate, text
from flexdp.report.document import Document
from flexdp.statistics import Max, Median, Min, Quantile

__all__ = ["ROWS", "Frame", "marks"]

ROWS = 3  # of captions

_LONGEST = 36  # characters of a range above the bars
_WIDE = 10  # pixels of a bar on which a mark needs a halo


@dataclass(frozen=True, slots=True)
class Frame:
    """A rectangle with scales: across for values, up for counts."""

    left: float
    right: float
    top: float
    bottom: float
    across: Scale
    up: Scale | LogScale


@dataclass(frozen=True, slots=True)
class _Mark:
    """A caption above the bars, and the line that it belongs to."""

    x: float
    caption: str
    line: str  # class of the line; a needle is its own
    kind: str = "m"

    @property
    def half(self) -> float:
        return 3.6 * len(self.caption)


def marks(frame: Frame, document: Document, bars: Bars) -> list[str]:
    """Return lines and captions of the statistics, as they are read off the release, and the names of needles."""
    found = sorted([*_statistics(frame, document, bars), *_needles(frame, bars)], key=lambda mark: mark.x)
    wide = np.median(frame.across.all(bars.spans[:, 1]) - frame.across.all(bars.spans[:, 0])) > _WIDE
    lines, captions, taken = [], [], [-1e9] * ROWS
    for place, mark in enumerate(found):
        at = min(max(mark.x, frame.left + mark.half), frame.right - mark.half)
        after = next((other.x for other in found[place + 1 :] if other.x > mark.x + 1), math.inf)
        if after - mark.half - 4 > max(frame.left + mark.half, mark.x - mark.half):  # clear of the next line
            at = min(at, after - mark.half - 4)
        level = next((row for row, end in enumerate(taken) if at - mark.half > end + 6), ROWS - 1)
        taken[level] = at + mark.half
        y = frame.top - 8 - 14 * level
        captions.append(text(at, y, mark.caption, kind=mark.kind))
        if mark.line:
            line = f"M{coordinate(mark.x)} {coordinate(y + 3)}V{coordinate(frame.bottom)}"
            lines += [f'<path class="halo" d="{line}"/>'] if wide else []
            lines.append(f'<path class="{mark.line}" d="{line}"/>')
    return lines + captions


def _statistics(frame: Frame, document: Document, bars: Bars) -> list[_Mark]:
    reader, axis = document.reader, document.axes[0]
    if reader is None:
        return []
    found: dict[str, list[tuple[str, float]]] = {}
    for word, reading in _readings(reader).items():
        found.setdefault(_text(reader, reading), []).append((word, _place(axis, document, bars, reading)))
    out = []
    for told, each in found.items():
        words = [word for word, _ in each]
        caption = f"{', '.join(words)} {told if len(told) <= _LONGEST else ''}".rstrip()
        out.append(_Mark(frame.across(each[0][1]), caption, "mark" if {"min", "max"} & set(words) else "mark dash"))
    return out


def _needles(frame: Frame, bars: Bars) -> list[_Mark]:
    spots = {place: frame.across(bars.middle(place)) for place in bars.needles}
    return [
        _Mark(spots[place], f"{words}: {thousands(int(bars.counts[place]))}", "", "n")
        for place, words in bars.needles.items()
    ]


def _readings(reader: Reader) -> dict[str, Reading]:
    return {
        "min": reader.extreme(Min()),
        "median": reader.quantile(Median(), Fraction(1, 2)),
        "99th percentile": reader.quantile(Quantile("0.99"), Fraction(99, 100)),
        "max": reader.extreme(Max()),
    }


def _text(reader: Reader, reading: Reading) -> str:
    if isinstance(reading.question, Max | Min):
        assert reading.index is not None
        return bucket_texts(reader.partition, reading.index)[0]
    return estimate_text(reader.partition, reading)


def _place(axis: Axis, document: Document, bars: Bars, reading: Reading) -> float:
    """Where an answer lies on the scale: a value, or the middle of its bar."""
    extreme = isinstance(reading.question, Max | Min)
    if not extreme and reading.value is not None and not axis.even:
        return min(max(position_of(reading.value), float(bars.spans.min())), float(bars.spans.max()))
    assert reading.index is not None
    index: Any = reading.index[0]
    if not extreme and reading.value is not None:  # buckets side by side
        index = axis.buckets.locate(np.array([reading.value], dtype=np.float64))[0]
    at = (document.index or []).index(index) if axis.bucketed else -1 if isinstance(reading.question, Max) else 0
    edge = next((tail.edge for tail in bars.tails if tail.place == at), None)
    return bars.middle(at) if edge is None else edge
