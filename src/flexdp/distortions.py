"""Measures of distortion between data sets: how much must be dropped, and how far the rest must move.

A distortion d(x, y) measures how much x must be distorted to become y; it is infinite if that is impossible. It is a
quasi-metric: d(x, y) = 0 if and only if x = y, and d(x, y) ≤ d(x, z) + d(z, y). It need not be symmetric, since records
can be dropped but not created (paper, Def. distortion).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import ETA, elements, function, sequence
from flexdp._core.exact import Number
from flexdp.distances import line as _line
from flexdp.distances import transport as _transport
from flexdp.distances.coupling import Coupling, Transport
from flexdp.distances.inputs import Weighted, are_dates, line_coordinates, read_weights, scaled
from flexdp.errors import InputError, P
from flexdp.guarantees import DROP, MOVE
from flexdp.guarantees import Distortion as Named
from flexdp.histogram import LARGEST_COUNT, Histogram

__all__ = ["Distortion", "Drop", "DropMove", "Move", "Witness", "extend"]


@dataclass(frozen=True, slots=True)
class Witness:
    """The records to drop and to move to turn x into y; all others stay in place.

    Parameters
    ----------
    dropped
        Pairs (key, count).
    moved
        Triples (from, to, count).

    Examples
    --------
    >>> DropMove(1).witness(Histogram.from_values([1, 5, 9]), Histogram.from_values([1, 6]))
    Witness(dropped=((9, 1),), moved=((5, 6, 1),))
    """

    dropped: tuple[tuple[Any, int], ...]
    moved: tuple[tuple[Any, Any, int], ...]


class Distortion(Protocol):
    """A quasi-metric between histograms; a distortion of your own needs these two methods.

    Examples
    --------
    >>> Drop().witness(Histogram.from_counts({"a": 3, "b": 1}), Histogram.from_counts({"a": 3}))
    Witness(dropped=(('b', 1),), moved=())
    """

    def __call__(self, x: Histogram, y: Histogram) -> float:
        """Measure how much x must be distorted to become y.

        Parameters
        ----------
        x, y
            The original and the distorted data set.

        Returns
        -------
        float
            The distortion, or infinity if x cannot be turned into y.
        """

    def witness(self, x: Histogram, y: Histogram) -> Witness | None:
        """Return the records to drop and to move to turn x into y.

        Parameters
        ----------
        x, y
            The original and the distorted data set.

        Returns
        -------
        Witness or None
            None if x cannot be turned into y.
        """


@dataclass(frozen=True, slots=True)
class Drop:
    """Fraction of the records of x that must be dropped to obtain y (paper, Eq. drop_defn); drop(∅, ∅) = 0.

    Examples
    --------
    >>> Drop()(Histogram.from_counts({"a": 3, "b": 1}), Histogram.from_counts({"a": 3}))
    0.25
    >>> Drop().witness(Histogram.from_counts({"a": 3, "b": 1}), Histogram.from_counts({"a": 3})).dropped
    (('b', 1),)
    """

    @property
    def named(self) -> Named:
        """The distortion as guarantees name it."""
        return DROP

    def __call__(self, x: Histogram, y: Histogram) -> float:
        """Measure the fraction of records dropped.

        Parameters
        ----------
        x, y
            The original and the distorted data set.

        Returns
        -------
        float
            The fraction, or infinity if x cannot be turned into y.
        """
        return math.inf if _dropped(x, y) is None else float(_share_dropped(x, y))

    def witness(self, x: Histogram, y: Histogram) -> Witness | None:
        """Return the records to drop.

        Parameters
        ----------
        x, y
            The original and the distorted data set.

        Returns
        -------
        Witness or None
            None if x cannot be turned into y.
        """
        dropped = _dropped(x, y)
        return None if dropped is None else Witness(dropped, ())


@dataclass(frozen=True, slots=True)
class Move:
    """The least b such that x becomes y when every record moves by at most b: W∞ (paper, Eq. move_defn).

    Infinite between data sets of different sizes; move(∅, ∅) = 0. Keys are numbers, points or dates, which move by
    days.

    Examples
    --------
    >>> Move()(Histogram.from_values([1, 5]), Histogram.from_values([2, 3]))
    2.0
    >>> Move().witness(Histogram.from_values([1, 5]), Histogram.from_values([2, 3])).moved
    ((1, 2, 1), (5, 3, 1))
    """

    @property
    def named(self) -> Named:
        """The distortion as guarantees name it."""
        return MOVE

    def __call__(self, x: Histogram, y: Histogram) -> float:
        """Measure how far the records must move.

        Parameters
        ----------
        x, y
            The original and the distorted data set.

        Returns
        -------
        float
            The distance, or infinity if x cannot be turned into y.
        """
        _check(x, y)
        radius = _radius(x, y) if x.size == y.size else None
        return math.inf if radius is None else float(radius)

    def witness(self, x: Histogram, y: Histogram) -> Witness | None:
        """Return the records to move.

        Parameters
        ----------
        x, y
            The original and the distorted data set.

        Returns
        -------
        Witness or None
            None if x cannot be turned into y.
        """
        _check(x, y)
        return _embedding(x, y) if x.size == y.size else None


@dataclass(frozen=True, init=False, slots=True)
class DropMove:
    """Dropping followed by moving: inf over z of drop(x, z) + η·move(z, y) (paper, Eq. drop_move_defn).

    Whichever records are dropped, there are |x| − |y| of them, so the value is that fraction of |x| plus η times the
    least b for which y embeds in x within distance b. Infinite if y is larger than x; dropmove(x, ∅) = 1 for x ≠ ∅.

    Parameters
    ----------
    eta
        η, the price of moving by 1; positive, taken exactly.

    Examples
    --------
    >>> x, y = Histogram.from_values([0, 1, 5, 9]), Histogram.from_values([2, 5])
    >>> DropMove("0.1")(x, y)
    0.6
    >>> DropMove("0.1").witness(x, y).dropped
    ((0, 1), (9, 1))
    """

    eta: Fraction

    def __init__(self, eta: Number) -> None:
        object.__setattr__(self, "eta", ETA.check(eta))

    @property
    def named(self) -> Named:
        """The distortion as guarantees name it."""
        return Named("drop-move", eta=self.eta)

    def __call__(self, x: Histogram, y: Histogram) -> float:
        """Measure the fraction dropped plus η times the distance moved.

        Parameters
        ----------
        x, y
            The original and the distorted data set.

        Returns
        -------
        float
            The distortion, or infinity if x cannot be turned into y.
        """
        radius = _radius(x, y)
        return math.inf if radius is None else float(_share_dropped(x, y) + self.eta * radius)

    def witness(self, x: Histogram, y: Histogram) -> Witness | None:
        """Return the records to drop and to move.

        Parameters
        ----------
        x, y
            The original and the distorted data set.

        Returns
        -------
        Witness or None
            None if x cannot be turned into y.
        """
        return _embedding(x, y)


def _check(x: object, y: object) -> None:
    if not (isinstance(x, Histogram) and isinstance(y, Histogram)):
        raise InputError(
            "x",
            ("and ", P("y"), " must be histograms"),
            remedy="Use Histogram.from_values or Histogram.from_counts.",
        )


def _share_dropped(x: Histogram, y: Histogram) -> Fraction:
    return Fraction(x.size - y.size, x.size) if x.size else Fraction(0)


def _dropped(x: Histogram, y: Histogram) -> tuple[tuple[Any, int], ...] | None:
    """Return the records of x that y lacks, or None if y has some that x lacks."""
    _check(x, y)
    wanted = dict(y.items())
    rest = [(key, count - wanted.pop(key, 0)) for key, count in x.items()]
    if wanted or any(count < 0 for _, count in rest):
        return None
    return tuple((key, count) for key, count in rest if count)


@dataclass(frozen=True, eq=False, slots=True)
class _Sides:
    """Two non-empty histograms on one line, with counts whose sums do not overflow."""

    x: NDArray[Any]
    y: NDArray[Any]
    a: NDArray[Any]
    b: NDArray[Any]


def _sides(x: Histogram, y: Histogram) -> _Sides:
    if x.keys.ndim != y.keys.ndim:
        raise _other_dimension()
    if are_dates(x.keys) != are_dates(y.keys):
        raise InputError(
            "x",
            ("and ", P("y"), " must both have dates as keys, or both numbers"),
            remedy="There is no distance between a date and a number.",
        )
    kind: Any = np.int64 if max(x.size, y.size) <= LARGEST_COUNT else object
    return _Sides(*line_coordinates(x.keys, y.keys, ("x", "y")), x.counts.astype(kind), y.counts.astype(kind))


def _radius(x: Histogram, y: Histogram) -> Fraction | None:
    """Return the least b within which every record of y can be matched to one of x; None if x has too few."""
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


def _other_dimension() -> InputError:
    return InputError("x", ("and ", P("y"), " must have keys of the same dimension"))


def _embed_points(x: Histogram, y: Histogram) -> _transport.Threshold:
    """Embed y in x within the least Euclidean distance; for points of several dimensions."""
    if x.keys.ndim != y.keys.ndim or x.keys.shape[1] != y.keys.shape[1]:
        raise _other_dimension()
    kind: Any = np.int64 if x.size <= LARGEST_COUNT else object
    cost = np.sqrt(((x.keys[:, None, :] - y.keys[None, :, :]) ** 2).sum(axis=2))
    return _transport.least_threshold(cost, x.counts.astype(kind), y.counts.astype(kind), y.size)


def _embedding(x: Histogram, y: Histogram) -> Witness | None:
    """Choose the records of x that become those of y, within the least distance."""
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
    """Extend a distortion to random data sets: the least, over couplings, of the largest distortion.

    This is W∞ with a quasi-metric as the distance, hence a quasi-metric itself (paper, Def. distortion and Lemma
    dnx-quasi-metric). From a fixed histogram it is the largest distortion over the support of q.

    Parameters
    ----------
    distortion
        The distortion between histograms, such as ``Drop()``.
    p, q
        Random data sets: a list of pairs (histogram, probability), normalised, or a single histogram.

    Returns
    -------
    Transport
        The distortion (``value``) and a coupling that attains it, indexed as the lists are.

    Examples
    --------
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
        raise InputError(name, "must be a histogram or a list of pairs (histogram, probability)")
    return [histogram for histogram, _ in found], [chance for _, chance in found]
