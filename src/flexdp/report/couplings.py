"""A lossy coupling as a picture: the masses of two laws, and bands that move one onto the other.

P   ██████ 0     ██ 1     ▒▒▒▒ 100      each point as wide as its mass; hatched: left out, at most γ in all
    ││││││  ╲╲    ││                    a band for each pair (i, j) of the coupling, as wide as what it moves
Q   ██████ 0  ██ 3 ██ 1   ▒▒▒▒ 4        the longest moves, which are W∞_γ(P, Q) long, in another colour
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from flexdp._core.domains import GAMMA, flag
from flexdp._core.exact import Number, number_text, value_text
from flexdp._core.text import safe_repr
from flexdp.distances import Weighted, lossy_winf
from flexdp.errors import InputError
from flexdp.report.charts.svg import coordinate, picture, picture_name, steps, text

__all__ = ["coupling_chart"]

MOST_POINTS = 40  # of each law
_WIDTH, _HEIGHT, _EDGE, _GAP, _THICK = 640, 262, 16.0, 10.0, 16.0
_TOP, _BOTTOM = 58.0, 196.0  # of the two rows
_LETTER = 7.0  # pixels, about


@dataclass(slots=True)
class _Row:
    """The points of one law from left to right: where each begins, and where its next band does."""

    labels: list[str]
    masses: list[Fraction]
    starts: list[float]
    scale: float

    @classmethod
    def of(cls, points: Sequence[Any], masses: Sequence[Fraction], scale: float) -> _Row:
        starts, x = [], _EDGE
        for mass in masses:
            starts.append(x)
            x += float(mass) * scale + _GAP
        return cls([_label(point) for point in points], list(masses), starts, scale)


def coupling_chart(
    p: Any, q: Any, gamma: Number = 0, metric: Any = None, *, name: str = "w", alone: bool = True
) -> str:
    """Draw a coupling within the lossy ∞-Wasserstein distance W∞_γ(P, Q) of two laws.

    Each law is a row of points, as wide as their masses. A band is mass moved from a point of the first law to
    one of the second; the longest moves stand out. What is left out, at most γ, is hatched.

    Parameters
    ----------
    p, q, gamma, metric
        As for :func:`flexdp.distances.lossy_winf`, except that the points must be known: no matrix of distances.
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
        As for :func:`~flexdp.distances.lossy_winf`; or a law has too many points, or its points are unknown.

    Examples
    --------
    >>> drawn = coupling_chart([0, 1, 2, 100], [0, 1, 2, 3], gamma="1/4")
    >>> drawn[:4], "W∞ = 0" in drawn, "0.25 of the mass is left out" in drawn
    ('<svg', True, True)
    """
    name, alone = picture_name(name), flag("alone", alone)
    lost = GAMMA.check(gamma)
    found = lossy_winf(p, q, lost, metric)
    coupling = found.coupling
    if coupling.sides is None:
        raise InputError("metric", "must not be a matrix of distances: the points are drawn")
    sides = coupling.sides()
    if max(len(side.points) for side in sides) > MOST_POINTS:
        raise InputError("p", f"and q must have at most {MOST_POINTS} points each to be drawn")
    orders = [_order(side.points) for side in sides]
    scale = _WIDTH - 2 * _EDGE - _GAP * (max(map(len, orders)) - 1)
    rows = [
        _Row.of(
            [side.points[i] for i in order], [Fraction(int(side.masses[i]), coupling.denominator) for i in order], scale
        )
        for side, order in zip(sides, orders, strict=True)
    ]
    places = [
        {side.index[i]: place for place, i in enumerate(order)} for side, order in zip(sides, orders, strict=True)
    ]
    pieces = sorted((places[0][i], places[1][j], mass) for i, j, mass in coupling)
    ends = [[side.points[i] for i in order] for side, order in zip(sides, orders, strict=True)]
    far = [found.value > 0 and _distance(ends[0][i], ends[1][j], metric) >= found.value for i, j, _ in pieces]
    value = value_text(found.value)
    told = f"W∞ = {value}" + (f" at γ = {number_text(lost)}" if lost else "")
    rest = f"; {number_text(found.left_p)} of the mass is left out" if found.left_p else ""
    body = [
        *_draw_bands(rows, pieces, far),
        *_draw_row(rows[0], _add_up((i, mass) for i, _, mass in pieces), _TOP, name),
        *_draw_row(rows[1], _add_up((j, mass) for _, j, mass in pieces), _BOTTOM, name),
        text(_EDGE, 20, "P", anchor="start"),
        text(_EDGE, _BOTTOM + _THICK + 44, f"Q; {told}{rest}", anchor="start"),
    ]
    moves = "; ".join(f"{number_text(m)} from {rows[0].labels[i]} to {rows[1].labels[j]}" for i, j, m in pieces)
    words = f"A coupling that moves mass from P to Q by at most {value}: {moves}{rest}."
    return picture(_WIDTH, _HEIGHT, f"Coupling, {told}", words, body, name=name, alone=alone)


def _order(points: Sequence[Any]) -> list[int]:
    """Return indices in ascending order of the points, or in the given order if they have none."""
    listed = [_as_key(point) for point in points]
    try:
        return sorted(range(len(listed)), key=lambda i: listed[i])
    except TypeError:
        return list(range(len(listed)))


def _as_key(point: Any) -> Any:
    return tuple(point.tolist()) if isinstance(point, np.ndarray) else point


def _label(point: Any) -> str:
    if isinstance(point, np.ndarray | np.generic):
        point = point.tolist()
    return value_text(point) if isinstance(point, float) else point if isinstance(point, str) else safe_repr(point)


def _distance(x: Any, y: Any, metric: Any) -> float:
    return lossy_winf(Weighted([x], [1]), Weighted([y], [1]), metric=metric).value


def _add_up(pieces: Iterable[tuple[int, Fraction]]) -> dict[int, Fraction]:
    """Return the mass that is moved, by the place of its point."""
    found: dict[int, Fraction] = {}
    for place, mass in pieces:
        found[place] = found.get(place, Fraction(0)) + mass
    return found


def _draw_row(row: _Row, moved: Mapping[int, Fraction], top: float, name: str) -> Iterator[str]:
    """Draw the points of a law; what is not moved comes last in each, hatched."""
    whole, rest = [], []
    for place, (start, mass) in enumerate(zip(row.starts, row.masses, strict=True)):
        kept = moved.get(place, Fraction(0))
        middle, end = start + float(kept) * row.scale, start + float(mass) * row.scale
        whole.append((start, middle, top, top + _THICK))
        if mass > kept:
            rest.append((middle, end, top, top + _THICK))
    yield f'<path class="bar" d="{steps(whole)}"/>'
    if rest:
        yield f'<path fill="url(#{name}-h)" d="{steps(rest)}"/>'
    above = top < (_TOP + _BOTTOM) / 2
    for start, mass, label in zip(row.starts, row.masses, row.labels, strict=True):
        room = float(mass) * row.scale + _GAP
        lines = [label, number_text(mass)]
        if max(map(len, lines)) * _LETTER <= room + _GAP:
            x = start + float(mass) * row.scale / 2
            first = top - 20 if above else top + _THICK + 13
            yield text(x, first, lines[0])
            yield text(x, first + 14, lines[1], kind="s")


def _draw_bands(
    rows: Sequence[_Row], pieces: Sequence[tuple[int, int, Fraction]], far: Sequence[bool]
) -> Iterator[str]:
    """Draw a band for each piece; those of a point lie side by side, in the order of their other ends."""
    used = [list(row.starts) for row in rows]
    upper, lower = coordinate(_TOP + _THICK), coordinate(_BOTTOM)
    middle = coordinate((_TOP + _THICK + _BOTTOM) / 2)
    shapes = []
    for (i, j, mass), longest in zip(pieces, far, strict=True):
        width = float(mass) * rows[0].scale
        a, b = used[0][i], used[1][j]
        used[0][i], used[1][j] = a + width, b + width
        left, right, c, d = (coordinate(x) for x in (a, a + width, b + width, b))
        down = f"M{left} {upper}H{right}C{right} {middle} {c} {middle} {c} {lower}"
        path = f"{down}H{d}C{d} {middle} {left} {middle} {left} {upper}z"
        shapes.append((longest, f'<path class="{"now" if longest else "tint"}" fill-opacity=".55" d="{path}"/>'))
    yield from (shape for _, shape in sorted(shapes, key=lambda each: each[0]))
