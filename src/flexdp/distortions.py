"""Measures of distortion between data sets: how much must be dropped, and how far the rest must move.

A distortion d(x, y) measures how much x must be distorted to become y; it is infinite if that is impossible. It is a
quasi-metric: d(x, y) = 0 if and only if x = y, and d(x, y) ≤ d(x, z) + d(z, y). It need not be symmetric, since records
can be dropped but not created (paper, Def. distortion).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from flexdp._core.domains import ETA, function
from flexdp._core.exact import Number
from flexdp._core.text import plain_scalar, safe_repr
from flexdp.distances.coupling import Transport
from flexdp.distances.embedding import check_histograms, dropped_records, embedding, least_radius, share_dropped
from flexdp.distances.extension import extension
from flexdp.errors import InputError
from flexdp.guarantees import DROP, MOVE
from flexdp.guarantees import Distortion as Named
from flexdp.guarantees.measures import name_of
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
        return float(self.exactly(x, y))

    def exactly(self, x: Histogram, y: Histogram) -> Fraction | float:
        """Return the same without rounding.

        Parameters
        ----------
        x, y
            The original and the distorted data set.

        Returns
        -------
        Fraction or float
            A float only where it is infinite.

        Examples
        --------
        >>> Drop().exactly(Histogram.from_counts({"a": 3}), Histogram.from_counts({"a": 2}))
        Fraction(1, 3)
        """
        return math.inf if dropped_records(x, y) is None else share_dropped(x, y)

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

    Infinite between data sets of different sizes; move(∅, ∅) = 0. Without a metric keys are numbers, points or dates,
    which move by days; with one they are anything.

    Parameters
    ----------
    metric
        Ground metric: a function of two keys, such as those of :mod:`flexdp.distances`, or the name of a metric of
        ``scipy.spatial.distance.cdist``; by default the absolute difference or Euclidean distance.

    Examples
    --------
    >>> Move()(Histogram.from_values([1, 5]), Histogram.from_values([2, 3]))
    2.0
    >>> Move().witness(Histogram.from_values([1, 5]), Histogram.from_values([2, 3])).moved
    ((1, 2, 1), (5, 3, 1))
    >>> from flexdp.distances import Cyclic, EditDistance
    >>> Move(Cyclic(24))(Histogram.from_values([23, 5]), Histogram.from_values([1, 5]))
    2.0
    >>> Move(EditDistance()).exactly(Histogram.from_values(["cat"]), Histogram.from_values(["cut"]))
    Fraction(1, 1)
    """

    metric: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "metric", _ground(self.metric))

    @property
    def named(self) -> Named:
        """The distortion as guarantees name it."""
        return MOVE if self.metric is None else Named(f"move by {_name(self.metric)}", fraction=False, measure=self)

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
        return float(self.exactly(x, y))

    def exactly(self, x: Histogram, y: Histogram) -> Fraction | float:
        """Return the same without rounding.

        Parameters
        ----------
        x, y
            The original and the distorted data set.

        Returns
        -------
        Fraction or float
            A float only where it is infinite.
        """
        check_histograms(x, y)
        radius = least_radius(x, y, self.metric) if x.size == y.size else None
        return math.inf if radius is None else radius

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
        return _witness(x, y, self.metric) if x.size == y.size else None


@dataclass(frozen=True, init=False, slots=True)
class DropMove:
    """Dropping followed by moving: inf over z of drop(x, z) + η·move(z, y) (paper, Eq. drop_move_defn).

    Whichever records are dropped, there are ``|x| − |y|`` of them: the value is that fraction of ``|x|`` plus η times
    the least b for which y embeds in x within distance b. Infinite if y is larger than x; dropmove(x, ∅) = 1 for x ≠ ∅.

    Parameters
    ----------
    eta
        η, the price of moving by 1; positive, taken exactly.
    metric
        Ground metric, as for :class:`Move`.

    Examples
    --------
    >>> x, y = Histogram.from_values([0, 1, 5, 9]), Histogram.from_values([2, 5])
    >>> DropMove("0.1")(x, y)
    0.6
    >>> DropMove("0.1").witness(x, y).dropped
    ((0, 1), (9, 1))
    >>> from flexdp.distances import Cyclic
    >>> DropMove("0.1", metric=Cyclic(10)).exactly(Histogram.from_values([0, 9]), Histogram.from_values([0]))
    Fraction(1, 2)
    """

    eta: Fraction
    metric: Any

    def __init__(self, eta: Number, metric: Any = None) -> None:
        object.__setattr__(self, "eta", ETA.check(eta))
        object.__setattr__(self, "metric", _ground(metric))

    @property
    def named(self) -> Named:
        """The distortion as guarantees name it."""
        if self.metric is None:
            return Named("drop-move", eta=self.eta)
        return Named(f"drop-move by {_name(self.metric)}", eta=self.eta, measure=self)

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
        return float(self.exactly(x, y))

    def exactly(self, x: Histogram, y: Histogram) -> Fraction | float:
        """Return the same without rounding.

        Parameters
        ----------
        x, y
            The original and the distorted data set.

        Returns
        -------
        Fraction or float
            A float only where it is infinite.
        """
        radius = least_radius(x, y, self.metric)
        return math.inf if radius is None else share_dropped(x, y) + self.eta * radius

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
        return _witness(x, y, self.metric)


def _ground(metric: Any) -> Any:
    given = plain_scalar(metric)
    if not (given is None or isinstance(given, str) or callable(given)):
        raise InputError("metric", "must be a function of two keys, or the name of a metric", given=safe_repr(metric))
    return given


def _name(metric: Any) -> str:
    return metric if isinstance(metric, str) else name_of("metric", metric)


def _witness(x: Histogram, y: Histogram, metric: Any) -> Witness | None:
    found = embedding(x, y, metric)
    return None if found is None else Witness(*found)


def extend(distortion: Callable[[Any, Any], Any], p: Any, q: Any) -> Transport:
    """Extend a distortion to random data sets: the least, over couplings, of the largest distortion.

    This is W∞ with a quasi-metric as the distance, hence a quasi-metric itself (paper, Def. distortion and Lemma
    dnx-quasi-metric). From a fixed point it is the largest distortion over the support of q. Infinite where some mass
    of p can be turned into none of q.

    Parameters
    ----------
    distortion
        The distortion, such as ``Drop()``: any quasi-metric between points of any kind.
    p, q
        Random points: a list of pairs (point, probability) or a mapping from points to probabilities, normalised;
        :class:`~flexdp.distances.Weighted` points; or a single point, such as a histogram.

    Returns
    -------
    Transport
        The distortion (``value``) and a coupling that attains it, indexed as the lists are.

    Raises
    ------
    InputError
        A law has no mass, or the distortion raises or is not a quasi-metric on these points, which are named by place.

    Examples
    --------
    >>> two, one, none = (Histogram.from_values([7] * n) for n in (2, 1, 0))
    >>> extend(Drop(), two, [(two, "0.9"), (one, "0.1")]).value
    0.5
    >>> from flexdp.distances import Cyclic
    >>> extend(Cyclic(24), {23: 1, 12: 1}, {1: 1, 11: 1}).value
    2.0
    """
    function("distortion", distortion, "two points")
    return extension(distortion, p, q, trusted=isinstance(distortion, Drop | Move | DropMove))
