"""Measures of distortion between data sets: what must be left out, and how far the rest must move.

A distortion d(x, y) says how much x has to be distorted to become y, and is infinite where it cannot. It is a
quasi-metric: d(x, y) = 0 exactly if x = y, and d(x, y) ≤ d(x, z) + d(z, y), but y may be far from x where x is near y,
for records can be dropped and not made (paper, Def. distortion).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import Domain, elements, function, sequence
from flexdp._core.exact import Number
from flexdp.distances import line as _line
from flexdp.distances import transport as _transport
from flexdp.distances.inputs import Coupling, Transport, Weighted, are_dates, line_coordinates, read_weights, scaled
from flexdp.errors import InputError
from flexdp.guarantees import DROP, MOVE
from flexdp.guarantees import Distortion as Named
from flexdp.histogram import LARGEST_COUNT, Histogram

__all__ = ["Distortion", "Drop", "DropMove", "Move", "Witness", "extend"]

_ETA = Domain(
    name="eta",
    low=Fraction(0),
    remedy="It is the price of moving by one in records dropped; at 0 moving would be free, and distinct data equal.",
)


@dataclass(frozen=True, slots=True)
class Witness:
    """What turns x into y: records ``dropped`` as (key, count), records ``moved`` as (from, to, count).

    Records that are in neither stay where they are.
    """

    dropped: tuple[tuple[Any, int], ...]
    moved: tuple[tuple[Any, Any, int], ...]


class Distortion(Protocol):
    """A quasi-metric between histograms."""

    def __call__(self, x: Histogram, y: Histogram) -> float:
        """How far x must be distorted to become y; infinite where it cannot."""

    def witness(self, x: Histogram, y: Histogram) -> Witness | None:
        """What to drop and what to move, or None where nothing turns x into y."""


@dataclass(frozen=True, slots=True)
class Drop:
    """The fraction of x's records that must be left out to get y (paper, Eq. drop_defn). drop(∅, ∅) = 0.

    >>> Drop()(Histogram.from_counts({"a": 3, "b": 1}), Histogram.from_counts({"a": 3}))
    0.25
    """

    @property
    def named(self) -> Named:
        """The distortion as guarantees name it."""
        return DROP

    def __call__(self, x: Histogram, y: Histogram) -> float:
        return math.inf if _dropped(x, y) is None else float(_share_dropped(x, y))

    def witness(self, x: Histogram, y: Histogram) -> Witness | None:
        dropped = _dropped(x, y)
        return None if dropped is None else Witness(dropped, ())


@dataclass(frozen=True, slots=True)
class Move:
    """How far some record must move at least to turn x into y: W∞ between data of one size (paper, Eq. move_defn).

    Infinite between different sizes; move(∅, ∅) = 0. Keys are numbers or dates, which move by days.

    >>> Move()(Histogram.from_values([1, 5]), Histogram.from_values([2, 3]))
    2.0
    """

    @property
    def named(self) -> Named:
        """The distortion as guarantees name it."""
        return MOVE

    def __call__(self, x: Histogram, y: Histogram) -> float:
        _check(x, y)
        radius = _radius(x, y) if x.size == y.size else None
        return math.inf if radius is None else float(radius)

    def witness(self, x: Histogram, y: Histogram) -> Witness | None:
        _check(x, y)
        return _embedding(x, y) if x.size == y.size else None


@dataclass(frozen=True, init=False, slots=True)
class DropMove:
    """Dropping and moving: inf over z of drop(x, z) + η·move(z, y) (paper, Eq. drop_move_defn).

    The number of records to drop is |x| − |y| whichever they are, so the value is that share of |x| plus η times the
    least b for which y embeds in x within distance b. Infinite if y is larger than x; dropmove(x, ∅) = 1 for x ≠ ∅.

    >>> DropMove("0.1")(Histogram.from_values([0, 1, 5, 9]), Histogram.from_values([2, 5]))
    0.6
    """

    eta: Fraction

    def __init__(self, eta: Number) -> None:
        object.__setattr__(self, "eta", _ETA.check(eta))

    @property
    def named(self) -> Named:
        """The distortion as guarantees name it."""
        return Named("drop-move", eta=self.eta)

    def __call__(self, x: Histogram, y: Histogram) -> float:
        radius = _radius(x, y)
        return math.inf if radius is None else float(_share_dropped(x, y) + self.eta * radius)

    def witness(self, x: Histogram, y: Histogram) -> Witness | None:
        return _embedding(x, y)


def _check(x: object, y: object) -> None:
    if not (isinstance(x, Histogram) and isinstance(y, Histogram)):
        raise InputError("x and y must be histograms; make them with Histogram.from_values or Histogram.from_counts.")


def _share_dropped(x: Histogram, y: Histogram) -> Fraction:
    return Fraction(x.size - y.size, x.size) if x.size else Fraction(0)


def _dropped(x: Histogram, y: Histogram) -> tuple[tuple[Any, int], ...] | None:
    """The records of x that y lacks, or None if y has some that x lacks."""
    _check(x, y)
    wanted = dict(y.items())
    rest = [(key, count - wanted.pop(key, 0)) for key, count in x.items()]
    if wanted or any(count < 0 for _, count in rest):
        return None
    return tuple((key, count) for key, count in rest if count)


@dataclass(frozen=True, eq=False, slots=True)
class _Sides:
    """Two non-empty histograms on one line, with counts that can be added up."""

    x: NDArray[Any]
    y: NDArray[Any]
    a: NDArray[Any]
    b: NDArray[Any]


def _sides(x: Histogram, y: Histogram) -> _Sides:
    if x.keys.ndim != y.keys.ndim:
        raise InputError("x and y must have keys of the same dimension.")
    if are_dates(x.keys) != are_dates(y.keys):
        raise InputError("x and y must both have dates for keys, or both numbers; there is no distance between them.")
    kind: Any = np.int64 if max(x.size, y.size) <= LARGEST_COUNT else object
    return _Sides(*line_coordinates(x.keys, y.keys), x.counts.astype(kind), y.counts.astype(kind))


def _radius(x: Histogram, y: Histogram) -> Fraction | None:
    """The least b for which every record of y can be given one of x within distance b; None if x has too few."""
    _check(x, y)
    if y.size > x.size:
        return None
    if not y.size:
        return Fraction(0)
    if x.keys.ndim == 2:
        return Fraction(_embed_points(x, y).value)
    s = _sides(x, y)
    if x.size == y.size:
        return Fraction(_line.monotone_radius(s.x, s.y, s.a, s.b))
    return Fraction(_line.least_radius(s.x, s.y, s.a, s.b, y.size))


def _embed_points(x: Histogram, y: Histogram) -> _transport.Threshold:
    """The least Euclidean distance within which y embeds in x, and how; points of several dimensions."""
    if x.keys.ndim != y.keys.ndim or x.keys.shape[1] != y.keys.shape[1]:
        raise InputError("x and y must have keys of the same dimension.")
    kind: Any = np.int64 if x.size <= LARGEST_COUNT else object
    cost = np.sqrt(((x.keys[:, None, :] - y.keys[None, :, :]) ** 2).sum(axis=2))
    return _transport.least_threshold(cost, x.counts.astype(kind), y.counts.astype(kind), y.size)


def _embedding(x: Histogram, y: Histogram) -> Witness | None:
    """Which records of x become those of y, within the least distance."""
    _check(x, y)
    if y.size > x.size:
        return None
    if not y.size:
        return Witness(tuple(x.items()), ())
    if x.keys.ndim == 2:
        pieces = _embed_points(x, y).pieces
    else:
        s = _sides(x, y)
        if x.size == y.size:
            pieces = _line.monotone(s.a, s.b)
        else:
            pieces = _line.matched(s.x, s.y, s.a, s.b, _line.least_radius(s.x, s.y, s.a, s.b, y.size))
    here, there = [key for key, _ in x.items()], [key for key, _ in y.items()]
    rest = x.counts.tolist()
    moved = []
    for i, j, mass in zip(pieces.sources.tolist(), pieces.targets.tolist(), pieces.masses.tolist(), strict=True):
        rest[i] -= mass
        if here[i] != there[j]:
            moved.append((here[i], there[j], mass))
    dropped = tuple((key, count) for key, count in zip(here, rest, strict=True) if count)
    return Witness(dropped, tuple(moved))


Randomised: TypeAlias = Histogram | Sequence[tuple[Histogram, Number]]


def extend(distortion: Distortion, p: Randomised, q: Randomised) -> Transport:
    """A distortion between random data sets: the least, over couplings, of the largest distortion that occurs.

    ``p`` and ``q`` are lists of (histogram, probability), normalised, or one histogram, which occurs surely. The
    coupling of W∞ with a quasi-metric for the distance, hence a quasi-metric itself (paper, Def. distortion and Lemma
    dnx-quasi-metric); from one histogram it is the largest distortion to any that q can be.

    >>> two, one, none = (Histogram.from_values([7] * n) for n in (2, 1, 0))
    >>> extend(Drop(), two, [(two, "0.9"), (one, "0.1")]).value
    0.5
    """
    function("distortion", distortion, "two histograms")
    (here, weights_p), (there, weights_q) = _law("p", p), _law("q", q)
    first = read_weights("p", Weighted(None, weights_p), len(here))
    second = read_weights("q", Weighted(None, weights_q), len(there))
    cost = np.array([[distortion(here[i], there[j]) for j in second.points] for i in first.points])
    scale = scaled(first, second)
    found = _transport.least_threshold(cost, scale.a, scale.b, scale.total)
    pieces = found.pieces
    sources, targets = first.given(pieces.sources), second.given(pieces.targets)
    return Transport(found.value, lambda: Coupling(sources, targets, pieces.masses, scale.total))


def _law(name: str, given: Randomised) -> tuple[list[Histogram], list[Number]]:
    listed = [(given, 1)] if isinstance(given, Histogram) else elements(given)
    pairs = [sequence(pair) if isinstance(pair, tuple) else None for pair in listed or ()]
    found = [pair for pair in pairs if pair is not None and len(pair) == 2 and isinstance(pair[0], Histogram)]
    if not listed or len(found) < len(pairs):
        raise InputError(f"{name} must be a histogram, or a list of pairs of a histogram and its probability.")
    return [histogram for histogram, _ in found], [chance for _, chance in found]
