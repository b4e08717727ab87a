"""Pebble games as pictures: the data sets that the guarantee of a chain says exist, constructed for one run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flexdp._core.domains import flag
from flexdp._core.exact import number_text, value_text
from flexdp._core.text import plural, thousands
from flexdp.histogram import Histogram
from flexdp.mechanisms import Mechanism
from flexdp.report.boards import Board, Box, Edge
from flexdp.report.charts.svg import coordinate, picture, picture_name, steps, text
from flexdp.report.games import play

__all__ = ["pebbles"]

_WIDE, _TALL, _GAP, _EDGE = 104.0, 70.0, 27.0, 3.0  # of a box, between columns, and around the picture
_STRIP, _FALL = 24.0, 30.0  # above each row, for distances; between rows, for steps
_ROOM = 32.0  # of the tallest bar
_LINE = 15.0  # between lines of the legend
_LETTER = 6.1  # pixels, about, of small text
_STYLE = (
    "<style>.fd .box{fill:var(--fd-paper);stroke:var(--fd-soft);stroke-width:1}"
    ".fd .found{fill:var(--fd-band);fill-opacity:.2;stroke:var(--fd-band);stroke-width:1.5}"
    ".fd .ghost{fill:none;stroke:var(--fd-soft);stroke-width:1;stroke-dasharray:2 2}"
    ".fd .dots{stroke:var(--fd-mark);stroke-width:1.6;stroke-dasharray:1.5 3;stroke-linecap:round;fill:none}"
    ".fd .both{stroke:var(--fd-bar);stroke-width:1.6;fill:none}.fd .tip{fill:var(--fd-mark)}"
    ".fd .tips{fill:var(--fd-bar)}.fd .step{stroke:var(--fd-soft);stroke-width:1;fill:none}"
    ".fd .end{fill:var(--fd-soft)}.fd .stone{fill:var(--fd-ink)}"
    ".fd text.d{font-size:10px;font-weight:700;fill:var(--fd-paper)}"
    ".fd text.l{font-size:11px;paint-order:stroke;stroke:var(--fd-paper);stroke-width:4px}"
    ".fd text.k{font-size:11px;fill:var(--fd-soft);paint-order:stroke;stroke:var(--fd-paper);stroke-width:4px}"
    ".fd text.c{font-size:11px;fill:var(--fd-soft)}.fd text.v{font-size:15px;font-weight:600}</style>"
)


def pebbles(
    chain: Mechanism,
    histogram: Histogram,
    *,
    game: str = "composition",
    outputs: Sequence[Any] | None = None,
    functions: Sequence[Callable[[Any], Any] | None] | None = None,
    name: str = "g",
    alone: bool = True,
) -> str:
    """Draw one run of a chain as a pebble game: what the guarantees say exists, constructed and measured.

    White boxes with a black pebble are given: the data and what the steps made of it. Yellow boxes exist by a rule,
    whose number is on the pebble. Dotted arrows are distortions of the input, solid ones distances between outputs;
    each has its measured value beside its bound. Dashed outlines are records that were left out.

    The picture shows the data and compares with it: it is *not* private. Use it on simulated or public data.

    Parameters
    ----------
    chain
        Steps that approximate the identity on histograms, such as ``Bucketing`` and ``Dropping``, and exact functions
        of one, such as ``ReadOff``.
    histogram
        The data, a small one.
    game
        "composition" for the composition theorem, step by step; "accuracy" for the chain as one mechanism; "error"
        for the error sensitivity of the last step that leaves records out; "distortion" for the distortion
        sensitivity of the first step, taken as a function.
    outputs
        The outputs of all steps in a run that was made before; a fresh run unless given.
    functions
        The function that each step approximates, None for the identity; needed if a step is neither exact nor an
        approximation of the identity.
    name
        Prefix of the ids inside.
    alone
        Include the style; False inside a page that has it.

    Returns
    -------
    str
        The picture, as SVG.

    Raises
    ------
    InputError
        The histogram is empty or nothing was left of it, or the function of a step is not known.

    Examples
    --------
    >>> from flexdp.mechanisms import Bucketing, Dropping, ReadOff
    >>> from flexdp.statistics import Max
    >>> chain = Bucketing(width=10, bounds=(0, 40)) >> Dropping(2, "0.1") >> ReadOff(Max())
    >>> drawn = pebbles(chain, Histogram.from_counts({3: 20, 14: 30, 33: 9}))
    >>> drawn[:4], "error sensitivity of Dropping" in drawn
    ('<svg', True)
    """
    name, alone = picture_name(name), flag("alone", alone)
    board = play(chain, histogram, game, outputs, functions)
    return _drawn(board, name=name, alone=alone)


@dataclass(frozen=True, slots=True)
class _Axes:
    """Where keys stand in a box, and how tall a count is: the same in all boxes of a board."""

    places: dict[Any, float]
    bar: float
    tallest: int
    ends: tuple[str, str]

    @classmethod
    def of(cls, board: Board) -> _Axes:
        tables = [box.content for box in board.boxes.values() if isinstance(box.content, Histogram)]
        keys = sorted({key for table in tables for key, _ in table.items()})
        tallest = max((int(table.counts.max()) for table in tables if len(table)), default=1)
        numbers = all(isinstance(key, int | float) for key in keys)
        at = [float(key) for key in keys] if numbers else [float(place) for place in range(len(keys))]
        low, span = min(at), (max(at) - min(at)) or 1.0
        inside = _WIDE - 24
        near = min(np.diff(at), default=span) / span * inside
        bar = min(12.0, max(3.0, 0.8 * near))
        places = {key: 12 + (place - low) / span * inside for key, place in zip(keys, at, strict=True)}
        return cls(places, bar, tallest, (value_text(keys[0], 12), value_text(keys[-1], 12)))

    def bars(self, table: Histogram, left: float, bottom: float) -> Iterator[tuple[float, float, float, float]]:
        """The bars of a histogram: left, right, top, bottom."""
        for key, count in table.items():
            yield *self._sides(key, left), bottom - self._height(count), bottom

    def lost(
        self, before: Histogram, after: Histogram, left: float, bottom: float
    ) -> Iterator[tuple[float, float, float, float]]:
        """What was left out of each bar."""
        rest = dict(after.items())
        for key, count in before.items():
            if rest.get(key, 0) < count:
                yield *self._sides(key, left), bottom - self._height(count), bottom - self._height(rest.get(key, 0))

    def _sides(self, key: Any, left: float) -> tuple[float, float]:
        middle = left + self.places[key]
        return middle - self.bar / 2, middle + self.bar / 2

    def _height(self, count: int) -> float:
        return _ROOM * count / self.tallest


def _drawn(board: Board, *, name: str, alone: bool) -> str:
    columns = 1 + max(box.column for box in board.boxes.values())
    rows = 1 + max(box.row for box in board.boxes.values())
    width = round(2 * _EDGE + columns * _WIDE + (columns - 1) * _GAP)
    if columns == 2:  # as wide as three, so that the letters of all games are of one size
        width = round(2 * _EDGE + 3 * _WIDE + 2 * _GAP)
    gap = _GAP if columns == 3 else width - 2 * _EDGE - 2 * _WIDE
    axes = _Axes.of(board)
    corners = {
        title: (_EDGE + box.column * (_WIDE + gap), 4 + _STRIP + box.row * (_TALL + _STRIP + _FALL))
        for title, box in board.boxes.items()
    }
    height = _STRIP + 4 + (rows - 1) * (_TALL + _STRIP + _FALL) + _TALL
    body = [_STYLE]
    for edge in board.edges:
        body += _edge(edge, corners)
    for title, box in board.boxes.items():
        body += _box(box, *corners[title], axes)
    for edge in board.edges:
        body += _label(edge, corners, width)
    lines = [*_legend(board, axes, width)]
    for i, (number, line) in enumerate(lines):
        y = height + 20 + i * _LINE
        if number is not None:
            body += _stone(_EDGE + 7, y - 4, number)
        body.append(text(_EDGE + 18, y, line, anchor="start", kind="c"))
    total = math.ceil(height + 20 + len(lines) * _LINE)
    return picture(width, total, board.title, _told(board), body, name=name, alone=alone)


def _box(box: Box, left: float, top: float, axes: _Axes) -> Iterator[str]:
    kind = "found" if box.rule else "box"
    yield f'<path class="box" d="{steps([(left, left + _WIDE, top, top + _TALL)])}"/>'
    if box.rule:
        yield f'<path class="{kind}" d="{steps([(left, left + _WIDE, top, top + _TALL)])}"/>'
    yield text(left + 6, top + 14, box.title, anchor="start")
    yield from _stone(left + _WIDE - 11, top + 11, box.rule)
    bottom = top + _TALL - 17
    if isinstance(box.content, Histogram):
        if box.before is not None:
            yield f'<path class="ghost" d="{steps(axes.lost(box.before, box.content, left, bottom))}"/>'
        yield f'<path class="bar" d="{steps(axes.bars(box.content, left, bottom))}"/>'
        yield f'<path class="axis" d="M{coordinate(left + 5)} {coordinate(bottom)}H{coordinate(left + _WIDE - 5)}"/>'
        words = plural(box.content.size, "record", thousands)
        yield text(left + _WIDE / 2, top + _TALL - 5, words, kind="c")
    else:
        words = _short(_value(box.content), int((_WIDE - 8) / _LETTER))
        yield text(left + _WIDE / 2, top + 45, words, kind="v" if len(words) < 12 else "c")


def _stone(x: float, y: float, rule: int) -> Iterator[str]:
    yield f'<circle class="stone" cx="{coordinate(x)}" cy="{coordinate(y)}" r="{7 if rule else 5}"/>'
    if rule:
        yield text(x, y + 3.6, rule, kind="d")


def _value(content: Any) -> str:
    if isinstance(content, float):
        return f"{content:.4g}"
    if isinstance(content, set | frozenset):
        content = sorted(content, key=lambda each: (str(type(each)), each))
    if isinstance(content, list | tuple | np.ndarray):
        shown = [value_text(each, 6) for each in list(content)[:3]]
        return "{" + ", ".join(shown) + (", …}" if len(content) > 3 else "}")
    return value_text(content, 14)


def _ends(edge: Edge, corners: dict[str, tuple[float, float]]) -> tuple[float, float, float, float]:
    """Where an edge leaves one box and enters the other: steps at the left, distances and distortions above."""
    (x1, y1), (x2, y2) = corners[edge.start], corners[edge.end]
    if edge.kind == "map":
        return x1 + 16, y1 + _TALL, x2 + 16, y2
    return x1 + _WIDE * 0.66, y1, x2 + _WIDE * 0.42, y2


def _edge(edge: Edge, corners: dict[str, tuple[float, float]]) -> Iterator[str]:
    x1, y1, x2, y2 = _ends(edge, corners)
    left, right, low, high = (coordinate(value) for value in (x1, x2, y1, y2))
    if edge.kind == "map":
        yield f'<path class="step" d="M{left} {low}V{coordinate(y2 - 4)}"/>'
        yield f'<path class="end" d="M{right} {high}l-3.5 -7h7z"/>'
        return
    up = coordinate(y1 - _STRIP / 2)
    line, tip = ("dots", "tip") if edge.kind == "distortion" else ("both", "tips")
    yield f'<path class="{line}" d="M{left} {coordinate(y1 - 2)}V{up}H{right}V{coordinate(y2 - 4)}"/>'
    yield f'<path class="{tip}" d="M{right} {high}l-3.5 -7h7z"/>'
    if edge.kind == "distance":
        yield f'<path class="{tip}" d="M{left} {low}l-3.5 -7h7z"/>'


def _label(edge: Edge, corners: dict[str, tuple[float, float]], width: float) -> Iterator[str]:
    x1, y1, x2, _ = _ends(edge, corners)
    if edge.kind == "map":
        room = min(_WIDE + _GAP - 23, width - x1 - 7)
        yield text(x1 + 7, y1 + 14, _short(edge.label, int(room / _LETTER)), anchor="start", kind="k")
    else:
        yield text((x1 + x2) / 2, y1 - _STRIP / 2 - 4, edge.label, kind="l")


def _legend(board: Board, axes: _Axes, width: float) -> Iterator[tuple[int | None, str]]:
    room = int((width - 2 * _EDGE - 18) / _LETTER)
    yield 0, "given: the data, and what the steps made of it"
    for number, rule in enumerate(board.rules, 1):
        for i, line in enumerate(_wrapped(rule, room)):
            yield (number if i == 0 else None), line
    low, high = axes.ends
    for line in _wrapped(
        f"keys from {low} to {high}, bars up to {thousands(axes.tallest)}; dotted: distortion, solid: distance; "
        "dashed: left out",
        room,
    ):
        yield None, line


def _short(words: str, room: int) -> str:
    return words if len(words) <= room else f"{words[: room - 1]}…"


def _wrapped(words: str, room: int) -> Iterator[str]:
    line = ""
    for word in words.split():
        if line and len(line) + 1 + len(word) > room:
            yield line
            line = word
        else:
            line = f"{line} {word}".strip()
    yield line


def _told(board: Board) -> str:
    """The whole board in words."""
    parts = [
        f"{box.title} {'is given' if not box.rule else f'exists by rule {box.rule}'}: "
        + (plural(box.content.size, "record", thousands) if isinstance(box.content, Histogram) else _value(box.content))
        for box in board.boxes.values()
    ]
    relations = [f"from {edge.start} to {edge.end}: {edge.label}" for edge in board.edges if edge.kind != "map"]
    rules = [f"rule {number_text(i)}, {rule}" for i, rule in enumerate(board.rules, 1)]
    return "; ".join([*parts, *relations, *rules]) + "."
