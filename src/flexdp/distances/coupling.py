"""Couplings with exact masses, and a distance together with a coupling that attains it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

__all__ = ["LARGEST_INT64", "Coupling", "Transport", "total"]

LARGEST_INT64 = 2**63 - 1


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
