"""Marks above the bars: minimum, median, 99th percentile and maximum, in the words of the answers.

Each is a line with a caption beside it, like a flag. Captions are placed so that no line crosses one, if that can be.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from flexdp._core.text import thousands
from flexdp._release.answers import Reader, Reading
from flexdp._release.estimates import estimate_text, extreme_text
from flexdp._release.published import Release
from flexdp.buckets.grid import Grid
from flexdp.report.axes import Axis, position_of
from flexdp.report.charts.bars import Bars
from flexdp.report.charts.svg import LogScale, Scale, coordinate, text
from flexdp.report.document import Document
from flexdp.statistics import Max, Median, Min, Quantile

__all__ = ["ROW", "Flag", "Frame", "flags", "marks"]

ROW = 15  # pixels
_ROWS = 4  # of captions
_BOLD, _PLAIN = 7.8, 7.0  # pixels of a character, about
_LONGEST = 36  # characters of a range above the bars
_WIDE = 10  # pixels of a bar on which a mark needs a halo
_APART = 5  # pixels between a line and its caption
_NAMES = {"maximum": "max", "minimum": "min"}
_WORDS = ("min", "median", "99th percentile", "max")
_CROSSED = 100.0  # cost of a caption that is crossed or covered


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
    def wide(self) -> float:
        return (_BOLD if self.kind == "m" else _PLAIN) * len(self.caption)


@dataclass(frozen=True, slots=True)
class Flag:
    """A mark, the row of its caption counted from below, and where the caption begins."""

    mark: _Mark
    row: int
    start: float

    @property
    def end(self) -> float:
        """Where the caption ends."""
        return self.start + self.mark.wide

    def clash(self, other: Flag) -> float:
        """Return what it costs to have both: a caption that covers the other, or that the other's line crosses."""
        if self.row == other.row and self.start < other.end + 8 and other.start < self.end + 8:
            return _CROSSED
        crossed = [one.start - 2 < two.mark.x < one.end + 2 and two.row >= one.row for one, two in _pairs(self, other)]
        return _CROSSED / 2 * sum(crossed)


def _pairs(one: Flag, other: Flag) -> tuple[tuple[Flag, Flag], tuple[Flag, Flag]]:
    return (one, other), (other, one)


def flags(across: Scale, document: Document, bars: Bars) -> list[Flag]:
    """Return the statistics, as they are read off the release, and the names of needles, each with its place."""
    left, right = across.start, across.end
    found = _best(_statistics(across, document, bars), left, right)
    for mark in _needles(across, bars):
        found.append(min(_places(mark, left, right), key=lambda flag: _cost(flag, found)))
    return found


def marks(frame: Frame, found: Sequence[Flag], bars: Bars) -> list[str]:
    """Return the lines and captions of flags above a frame."""
    widths = frame.across.all(bars.spans[:, 1]) - frame.across.all(bars.spans[:, 0])
    wide = bool(np.median(widths) > _WIDE)
    lines, captions = [], []
    for flag in found:
        mark, y = flag.mark, frame.top - 8 - ROW * flag.row
        captions.append(text(flag.start, y, mark.caption, anchor="start", kind=mark.kind))
        if mark.line:
            line = f"M{coordinate(mark.x)} {coordinate(y - 9)}V{coordinate(frame.bottom)}"
            lines += [f'<path class="halo" d="{line}"/>'] if wide else []
            lines.append(f'<path class="{mark.line}" d="{line}"/>')
    return lines + captions


def _best(todo: Sequence[_Mark], left: float, right: float) -> list[Flag]:
    """The cheapest way to place a few marks, by trying all."""
    best: tuple[float, list[Flag]] = (float("inf"), [])

    def search(placed: list[Flag], cost: float) -> None:
        nonlocal best
        if cost >= best[0]:
            return
        if len(placed) == len(todo):
            best = cost, list(placed)
            return
        for flag in _places(todo[len(placed)], left, right):
            search([*placed, flag], cost + _cost(flag, placed))

    search([], 0.0)
    return best[1]


def _places(mark: _Mark, left: float, right: float) -> Iterator[Flag]:
    """The ways to place a mark: in a low row first, right or left of its line; across it where there is no room."""
    first, last = max(2.0, left - 40), right + 14 - mark.wide
    starts = [mark.x + _APART, mark.x - _APART - mark.wide]
    starts = [start for start in starts if first <= start <= last]
    for row in range(_ROWS):
        for start in starts or [max(first, min(mark.x - mark.wide / 2, last))]:
            yield Flag(mark, row, start)


def _cost(flag: Flag, placed: Sequence[Flag]) -> float:
    return flag.row + 0.1 * (flag.start < flag.mark.x) + sum(flag.clash(other) for other in placed)


def _statistics(across: Scale, document: Document, bars: Bars) -> list[_Mark]:
    reader, axis = document.reader, document.axes[0]
    if reader is None:
        return []
    asked = {} if axis.even else _asked(document)
    found: dict[str, list[tuple[str, float]]] = {}
    for word, reading in _readings(reader).items():
        told, place = asked.get(word) or (_text(reader, reading), _place(axis, document, bars, reading))
        found.setdefault(told, []).append((word, place))
    out = []
    for told, each in found.items():
        words = [word for word, _ in each]
        caption = f"{', '.join(words)} {told if len(told) <= _LONGEST else ''}".rstrip()
        x = across(each[0][1])
        kept = min(max(x, across.start), across.end)
        caption += "" if abs(x - kept) < 1 else " →" if x > kept else " ←"  # beyond what is drawn
        out.append(_Mark(kept, caption, "mark" if {"min", "max"} & set(words) else "mark dash"))
    return out


def _needles(across: Scale, bars: Bars) -> list[_Mark]:
    spots = {place: across(bars.middle(place)) for place in bars.needles}
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


def _asked(document: Document) -> dict[str, tuple[str, float]]:
    """Answers that were asked for beside the buckets, by the words of their marks: what they say and where they lie.

    Quantiles read off the buckets are among them, because they stay between those that were asked for.
    """
    if "asked" not in document.content:
        return {}
    release = Release.from_json(json.dumps(document.content))
    read = [] if release.spec.by else [release.median(), release.quantile("0.99")]
    answers = [*read, *release.answers()]
    named = {_NAMES.get(each.name, each.name): each for each in answers if each.value is not None}
    return {word: (named[word].text, position_of(named[word].value)) for word in _WORDS if word in named}


def _text(reader: Reader, reading: Reading) -> str:
    if isinstance(reading.question, Max | Min):
        return extreme_text(reader.partition, reading, reader.noise.max_drop)
    assert not isinstance(reader.partition, Grid)
    return estimate_text(reader.partition, reading)


def _place(axis: Axis, document: Document, bars: Bars, reading: Reading) -> float:
    """Where an answer lies on the scale: a value, or the middle of its bar."""
    extreme = isinstance(reading.question, Max | Min)
    if not extreme and reading.value is not None and not axis.even:
        return position_of(reading.value)
    assert reading.index is not None
    index: Any = reading.index[0]
    if not extreme and reading.value is not None:  # buckets side by side
        index = axis.buckets.locate(np.array([reading.value], dtype=np.float64))[0]
    at = -1 if isinstance(reading.question, Max) else 0
    if axis.bucketed:  # a quantile may round to the edge of a bucket that was not released
        at = int(np.argmin([abs(each - int(index)) for each in document.index or ()]))
    edge = next((tail.edge for tail in bars.tails if tail.place == at), None)
    return bars.middle(at) if edge is None else edge
