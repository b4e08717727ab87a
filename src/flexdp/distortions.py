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

from flexdp._core.domains import ETA, elements, function, sequence
from flexdp._core.exact import Number
from flexdp.distances import transport as _transport
from flexdp.distances.coupling import Coupling, Transport
from flexdp.distances.embedding import check_histograms, dropped_records, embedding, least_radius, share_dropped
from flexdp.distances.inputs import Weighted, read_weights, scaled
from flexdp.errors import InputError
from flexdp.guarantees import DROP, MOVE
from flexdp.guarantees import Distortion as Named
from flexdp.histogram import Histogram

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
        return math.inf if dropped_records(x, y) is None else float(share_dropped(x, y))

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
        dropped = dropped_records(x, y)
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
        check_histograms(x, y)
        radius = least_radius(x, y) if x.size == y.size else None
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
        check_histograms(x, y)
        return _witness(x, y) if x.size == y.size else None


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
        radius = least_radius(x, y)
        return math.inf if radius is None else float(share_dropped(x, y) + self.eta * radius)

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
        return _witness(x, y)


def _witness(x: Histogram, y: Histogram) -> Witness | None:
    found = embedding(x, y)
    return None if found is None else Witness(*found)


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
