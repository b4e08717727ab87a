"""Couplings with exact masses, and a distance together with a coupling that attains it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import choice
from flexdp.errors import InputError

__all__ = ["LARGEST_INT64", "Completed", "Coupling", "Side", "Transport", "total"]

LARGEST_INT64 = 2**63 - 1


@dataclass(frozen=True, eq=False, slots=True)
class Side:
    """One of two distributions that were coupled: points, their masses, and the caller's index of each."""

    points: Sequence[Any]
    masses: Sequence[int]
    index: Sequence[int]


@dataclass(frozen=True, slots=True)
class Completed(Sequence[tuple[Any, Any, Fraction]]):
    """A lossy coupling as a joint distribution: triples (x, y, mass) of points whose masses sum to one.

    It is a member of Φ^γ(P, Q), the γ-lossy couplings of the paper, for every γ of at least ``loss``.

    Parameters
    ----------
    triples
        The pairs of points and their masses.
    loss
        Δ(φ₁, P) + Δ(φ₂, Q): total variation between the marginals and the distributions that were coupled.

    Examples
    --------
    >>> from flexdp.distances import lossy_winf
    >>> joint = lossy_winf([0, 1, 2, 100], [0, 1, 2, 3], gamma="1/4").coupling.completed()
    >>> joint[-1], joint.loss
    ((100, 100, Fraction(1, 4)), Fraction(1, 4))
    >>> joint.marginals()[1]
    {0: Fraction(1, 4), 1: Fraction(1, 4), 2: Fraction(1, 4), 100: Fraction(1, 4)}
    """

    triples: tuple[tuple[Any, Any, Fraction], ...]
    loss: Fraction

    def __len__(self) -> int:
        return len(self.triples)

    @overload
    def __getitem__(self, place: int) -> tuple[Any, Any, Fraction]: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[tuple[Any, Any, Fraction], ...]: ...

    def __getitem__(self, place: int | slice) -> Any:
        """Return one triple, or those of a slice.

        Parameters
        ----------
        place
            Index or slice.

        Returns
        -------
        tuple
            Two points and their mass, or several such.
        """
        return self.triples[place]

    def marginals(self) -> tuple[dict[Hashable, Fraction], dict[Hashable, Fraction]]:
        """Return both marginal distributions.

        Returns
        -------
        tuple of (dict, dict)
            Masses by point.
        """
        both: tuple[dict[Hashable, Fraction], dict[Hashable, Fraction]] = ({}, {})
        for x, y, mass in self.triples:
            for marginal, point in zip(both, (x, y), strict=True):
                marginal[point] = marginal.get(point, Fraction(0)) + mass
        return both


@dataclass(frozen=True, eq=False)
class Coupling(Sequence[tuple[int, int, Fraction]]):
    """A transport plan: triples (i, j, mass), moving mass from point i of the first measure to point j of the second.

    A coupling is a sequence of such triples. Masses are exact fractions of the whole distribution.

    Parameters
    ----------
    sources, targets
        Indices of the points, as the caller passed them.
    numerators
        Mass of each triple in units of 1/``denominator``.
    denominator
        Total mass of each distribution in the same units.
    sides
        The two distributions, where they have points in common, for :meth:`completed`.

    Examples
    --------
    >>> from flexdp.distances import lossy_winf
    >>> plan = lossy_winf([0, 1, 2, 100], [0, 1, 2, 3], gamma="1/4").coupling
    >>> len(plan), plan[0], plan.mass
    (3, (0, 0, Fraction(1, 4)), Fraction(3, 4))
    """

    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    numerators: NDArray[Any]
    denominator: int
    sides: Callable[[], tuple[Side, Side]] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.numerators)

    @overload
    def __getitem__(self, place: int) -> tuple[int, int, Fraction]: ...

    @overload
    def __getitem__(self, place: slice) -> list[tuple[int, int, Fraction]]: ...

    def __getitem__(self, place: int | slice) -> Any:
        """Return one triple, or a list of triples for a slice.

        Parameters
        ----------
        place
            Index or slice.

        Returns
        -------
        tuple of (int, int, Fraction) or list of tuples
            Source index, target index and mass.
        """
        if isinstance(place, slice):
            return [self[k] for k in range(*place.indices(len(self)))]
        mass = Fraction(int(self.numerators[place]), self.denominator)
        return int(self.sources[place]), int(self.targets[place]), mass

    def __iter__(self) -> Iterator[tuple[int, int, Fraction]]:
        for i, j, mass in zip(self.sources.tolist(), self.targets.tolist(), self.numerators.tolist(), strict=True):
            yield i, j, Fraction(mass, self.denominator)

    def __repr__(self) -> str:
        return f"<Coupling of {len(self)} pairs>"

    @property
    def mass(self) -> Fraction:
        """Fraction of each distribution that is transported."""
        return Fraction(total(self.numerators), self.denominator)

    def completed(self, side: Literal["p", "q"] = "p") -> Completed:
        """Return a joint distribution: what is not transported stays where it is, on the diagonal.

        The marginal on ``side`` is then that distribution itself, and the whole loss lies on the other one.

        Parameters
        ----------
        side
            "p" if what is left of the first distribution stays, "q" if that of the second.

        Returns
        -------
        Completed
            A member of Φ^γ, within the same distance, for the γ of the coupling.

        Raises
        ------
        InputError
            The points are known only by a matrix of distances, and have no diagonal.

        Examples
        --------
        >>> from flexdp.distances import Weighted, lossy_winf
        >>> lossy_winf(["a", "b"], ["b", "c"], gamma="1/2", metric=lambda x, y: float(x != y)).coupling.completed("q")
        Completed(triples=(('b', 'b', Fraction(1, 2)), ('c', 'c', Fraction(1, 2))), loss=Fraction(1, 2))
        """
        keep = ("p", "q").index(choice("side", side, ("p", "q")))
        if self.sides is None:
            raise InputError("metric", "gives the points no diagonal: they are known by a matrix of distances alone")
        sides = self.sides()
        points = [dict(zip(each.index, map(_hashable, each.points), strict=True)) for each in sides]
        triples = [(points[0][i], points[1][j], mass) for i, j, mass in self]
        left = dict(zip(sides[keep].index, sides[keep].masses, strict=True))
        used = (self.sources, self.targets)[keep]
        for i, mass in zip(used.tolist(), self.numerators.tolist(), strict=True):
            left[i] -= mass
        triples += [(points[keep][i],) * 2 + (Fraction(m, self.denominator),) for i, m in left.items() if m]
        found = Completed(tuple(triples), Fraction(0))
        excess = dict(found.marginals()[1 - keep])
        for point, mass in zip(sides[1 - keep].points, sides[1 - keep].masses, strict=True):
            key = _hashable(point)
            excess[key] = excess.get(key, Fraction(0)) - Fraction(mass, self.denominator)
        return Completed(tuple(triples), sum(map(abs, excess.values()), Fraction(0)) / 2)


def _hashable(point: Any) -> Any:
    return tuple(point.tolist()) if isinstance(point, np.ndarray) else point


@dataclass(frozen=True, eq=False)
class Transport:
    """A distance and a coupling that attains it; the coupling is computed on first access.

    Parameters
    ----------
    value
        The distance.
    plan
        Function that computes the coupling.

    Examples
    --------
    >>> from flexdp.distances import lossy_w1
    >>> found = lossy_w1([0, 0, 0, 10], [0, 0, 0, 0], theta="1/4")
    >>> found.value, found.left_p, float(found)
    (0.0, Fraction(1, 4), 0.0)
    """

    value: float
    plan: Callable[[], Coupling] = field(repr=False)

    @functools.cached_property
    def coupling(self) -> Coupling:
        """Triples (i, j, mass) over the points as they were passed, with exact masses."""
        return self.plan()

    @property
    def left_p(self) -> Fraction:
        """Fraction of the first distribution that is not transported."""
        return 1 - self.coupling.mass

    @property
    def left_q(self) -> Fraction:
        """Fraction of the second distribution that receives nothing."""
        return 1 - self.coupling.mass

    def __float__(self) -> float:
        return self.value


def total(masses: NDArray[Any]) -> int:
    """Return the exact sum of integer masses, in Python integers where int64 could overflow."""
    if masses.dtype == object or int(masses.max(initial=0)) * len(masses) > LARGEST_INT64:
        return sum(masses.tolist())
    return int(masses.sum())
