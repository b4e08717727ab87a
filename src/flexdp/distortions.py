"""Measures of distortion between data sets: how much must be dropped, and how far the rest must move.

A distortion d(x, y) measures how much x must be distorted to become y; it is infinite if that is impossible. It is a
quasi-metric: d(x, y) = 0 if and only if x = y, and d(x, y) ≤ d(x, z) + d(z, y). It need not be symmetric, since records
can be dropped but not created (paper, Def. distortion).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flexdp._core.domains import ETA, attribute, flag, function
from flexdp._core.exact import number_text
from flexdp._core.fields import MaybeExact, Value, maybe, param
from flexdp._core.text import plain_scalar, safe_repr
from flexdp.distances.coupling import Transport
from flexdp.distances.embedding import (
    check_histograms,
    dropped_records,
    embedding,
    extension,
    least_radius,
    share_dropped,
)
from flexdp.distances.metrics import Metric, name_of, short_name
from flexdp.errors import InputError
from flexdp.histogram import Histogram

__all__ = [
    "Distortion", "Drop", "DropMove", "Move", "OwnDistortion", "Winf", "Witness", "extend",
]  # fmt: skip


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


class Distortion(Value, ABC):
    """A quasi-metric between data sets, and the measure of α in a guarantee.

    Any function of two data sets serves where one is measured; these are values that guarantees print, compare and
    evaluate. Your own is a subclass with ``name`` and ``exactly``, or a function under a name, :class:`OwnDistortion`.

    Examples
    --------
    >>> print(Drop(), Move(), DropMove(), DropMove("0.1"))
    drop move drop-move drop-move (η = 0.1)
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """Name in guarantees and messages."""

    @property
    def fraction(self) -> bool:
        """True if α is a fraction of the records, at most 1; False if it is a distance."""
        return False

    @abstractmethod
    def exactly(self, x: Any, y: Any) -> Fraction | float:
        """Measure how much x must be distorted to become y, without rounding.

        Parameters
        ----------
        x, y
            The original and the distorted data set.

        Returns
        -------
        Fraction or float
            The distortion; infinite if x cannot be turned into y.

        Examples
        --------
        >>> Drop().exactly(Histogram.from_counts({"a": 3}), Histogram.from_counts({"a": 2}))
        Fraction(1, 3)
        >>> Move().exactly(Histogram.from_values([1]), Histogram.from_values([1, 2]))
        inf
        """

    def __call__(self, x: Any, y: Any) -> float:
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
        return float(self.exactly(x, y))

    def witness(self, x: Histogram, y: Histogram) -> Witness | None:  # noqa: ARG002  (subclasses read them)
        """Return the records to drop and to move to turn x into y, where the distortion can tell.

        Parameters
        ----------
        x, y
            The original and the distorted data set.

        Returns
        -------
        Witness or None
            None if x cannot be turned into y.

        Raises
        ------
        InputError
            The distortion is only a number.

        Examples
        --------
        >>> Drop().witness(Histogram.from_counts({"a": 3, "b": 1}), Histogram.from_counts({"a": 3}))
        Witness(dropped=(('b', 1),), moved=())
        """
        raise InputError("distortion", f"cannot tell the records that are dropped or moved by {self.name!r}")

    def __str__(self) -> str:
        return self.name


def _ground(name: str, metric: Any) -> Any:
    given = plain_scalar(metric)
    if not (given is None or isinstance(given, str) or callable(given)):
        raise InputError(name, "must be a function of two keys, or the name of a metric", given=safe_repr(metric))
    return given


def _by(metric: Any) -> str:
    if metric is None:
        return ""
    return f" by {metric if isinstance(metric, str) else name_of('metric', metric)}"


class Drop(Distortion):
    """Fraction of the records of x that must be dropped to obtain y (paper, Eq. drop_defn); drop(∅, ∅) = 0.

    Examples
    --------
    >>> Drop()(Histogram.from_counts({"a": 3, "b": 1}), Histogram.from_counts({"a": 3}))
    0.25
    >>> Drop().witness(Histogram.from_counts({"a": 3, "b": 1}), Histogram.from_counts({"a": 3})).dropped
    (('b', 1),)
    """

    @property
    def name(self) -> str:
        """Name in guarantees and messages."""
        return "drop"

    @property
    def fraction(self) -> bool:
        """True: a fraction of the records."""
        return True

    def exactly(self, x: Histogram, y: Histogram) -> Fraction | float:
        return math.inf if dropped_records(x, y) is None else share_dropped(x, y)

    def witness(self, x: Histogram, y: Histogram) -> Witness | None:
        dropped = dropped_records(x, y)
        return None if dropped is None else Witness(dropped, ())


class Move(Distortion):
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

    metric: Any = param(_ground, default=None)

    @property
    def name(self) -> str:
        """Name in guarantees and messages."""
        return "move" + _by(self.metric)

    def exactly(self, x: Histogram, y: Histogram) -> Fraction | float:
        check_histograms(x, y)
        radius = least_radius(x, y, self.metric) if x.size == y.size else None
        return math.inf if radius is None else radius

    def witness(self, x: Histogram, y: Histogram) -> Witness | None:
        check_histograms(x, y)
        return _witness(x, y, self.metric) if x.size == y.size else None


class DropMove(Distortion):
    """Dropping followed by moving: inf over z of drop(x, z) + η·move(z, y) (paper, Eq. drop_move_defn).

    Whichever records are dropped, there are ``|x| − |y|`` of them: the value is that fraction of ``|x|`` plus η times
    the least b for which y embeds in x within distance b. Infinite if y is larger than x; dropmove(x, ∅) = 1 for x ≠ ∅.

    Parameters
    ----------
    eta
        η, the price of moving by 1; positive, taken exactly. Without it a guarantee tells what is dropped and what is
        moved apart, and so holds for every η.
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

    eta: MaybeExact = param(maybe(ETA), default=None, bare=True)
    metric: Any = param(_ground, default=None)

    @property
    def name(self) -> str:
        """Name in guarantees and messages."""
        return "drop-move" + _by(self.metric)

    @property
    def fraction(self) -> bool:
        """True without η: then what is dropped and what is moved are told apart."""
        return self.eta is None

    @property
    def _price(self) -> Fraction:
        if self.eta is None:
            raise InputError("eta", "must be given to compute a drop-move distortion", remedy="Write DropMove('0.1').")
        return self.eta

    def __str__(self) -> str:
        return self.name if self.eta is None else f"{self.name} (η = {number_text(self.eta)})"

    def exactly(self, x: Histogram, y: Histogram) -> Fraction | float:
        price = self._price
        radius = least_radius(x, y, self.metric)
        return math.inf if radius is None else share_dropped(x, y) + price * radius

    def witness(self, x: Histogram, y: Histogram) -> Witness | None:
        return _witness(x, y, self.metric)


def _two_data_sets(name: str, value: Any) -> Callable[[Any, Any], Any]:
    return function(name, value, "two data sets")


class OwnDistortion(Distortion):
    """A distortion of your own under a name, by which guarantees are compared.

    Parameters
    ----------
    name
        Name of the distortion. Two distortions are the same if their names are, and both or neither are fractions.
    measure
        Function of two data sets that computes it, infinite where there is none; without one the distortion can be
        promised but not measured.
    fraction
        True if α is a fraction of the records, at most 1; False if it is a distance.

    Examples
    --------
    >>> swaps = OwnDistortion("swap", lambda x, y: float(sum(a != b for a, b in zip(x, y))))
    >>> swaps == OwnDistortion("swap"), swaps("abc", "acb")
    (True, 2.0)
    """

    name: str = param(short_name("'swap'"), default="distortion", bare=True)
    measure: Callable[[Any, Any], Any] | None = param(maybe(_two_data_sets), default=None, compare=False)
    fraction: bool = param(flag, default=False, kw_only=True)

    def exactly(self, x: Any, y: Any) -> Fraction | float:
        found: Fraction | float = self._computed(x, y)
        return found

    def _computed(self, x: Any, y: Any) -> Any:
        if self.measure is None:
            raise InputError("measure", f"was not given for the distortion {self.name!r}")
        return self.measure(x, y)


def distortion_given(name: str, value: object) -> Distortion:
    """Check a parameter that must be a distortion, or a function with a name that computes one."""
    if not isinstance(value, Distortion) and callable(value) and not isinstance(value, type):
        return OwnDistortion(name_of(name, value), value, fraction=attribute(value, "fraction") is True)
    if not isinstance(value, Distortion):
        raise InputError(name, "must be a Distortion, for example Drop()", given=safe_repr(value))
    return value


class Winf(Metric):
    """W∞ between histograms of equal size: the least b such that one becomes the other when records move by at most b.

    Infinite between histograms of different sizes.

    Examples
    --------
    >>> Winf()(Histogram.from_values([1, 5]), Histogram.from_values([2, 3]))
    2.0
    """

    @property
    def name(self) -> str:
        """Name in guarantees and messages."""
        return "W∞ between equal sizes"

    def _between(self, a: Any, b: Any) -> float:
        return Move()(a, b)


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
