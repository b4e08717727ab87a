"""Cells of several columns, one bucket of each; β is half the diagonal of a cell."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.exact import root_up
from flexdp.buckets.base import Bucket, Kind, Outside
from flexdp.buckets.edges import Edges
from flexdp.buckets.exact import Exact
from flexdp.buckets.width import Width

__all__ = ["Grid"]


@dataclass(frozen=True)
class Grid:
    """Cells of several columns of numbers, one bucket of each. An index is a row, a centre a point."""

    axes: tuple[Exact | Width | Edges, ...]

    kind: Kind = "number"
    relative = False
    unit = ""
    bounds = None
    outside: Outside = "clamp"
    first = 0

    @property
    def dimensions(self) -> int:
        return len(self.axes)

    @property
    def spec(self) -> str:
        return "cells: " + " × ".join(axis.spec for axis in self.axes)

    @property
    def count(self) -> int | None:
        counts = [axis.count for axis in self.axes]
        return None if None in counts else math.prod(count for count in counts if count is not None)

    @property
    def beta(self) -> Fraction:
        """Half the diagonal, rounded up."""
        return root_up(sum((axis.beta**2 for axis in self.axes), Fraction(0)))

    def beta_at(self, index: Any) -> Fraction:  # noqa: ARG002  (one for all)
        return self.beta

    def beta_of(self, index: NDArray[Any]) -> Fraction:
        """β of all these cells together."""
        sides = (self._side(axis, index[:, i]) for i, axis in enumerate(self.axes))
        return root_up(sum((side**2 for side in sides), Fraction(0)))

    @staticmethod
    def _side(axis: Exact | Width | Edges, index: NDArray[Any]) -> Fraction:
        """β along one side: the coordinates of a point are doubles, and long integers are rounded to them."""
        if isinstance(axis, Exact):
            beta, points, places = axis.beta, index, np.zeros(1)
        else:
            places = np.unique(index).astype(np.int64)
            beta, points = axis.beta_of(places), axis.centres(places)
        furthest, place = (int(max(map(abs, numbers.tolist()), default=0)) for numbers in (points, places))
        if axis.kind == "integer" and furthest >= 2**53:  # the key is rounded, and again when it is printed
            beta += Fraction(2 * furthest + 1, 2**53)
        if isinstance(axis, Width) and place >= 2**53:  # and so is the index
            beta += place * axis.width / 2**53
        return beta

    def centres(self, index: NDArray[Any]) -> NDArray[np.float64]:
        """Return the middle of each cell, one row each."""
        whole = index.astype(np.int64) if index.size else np.empty((0, self.dimensions), dtype=np.int64)
        columns = [
            axis.centres(index[:, i] if isinstance(axis, Exact) else whole[:, i]) for i, axis in enumerate(self.axes)
        ]
        return np.stack([column.astype(np.float64) for column in columns], axis=1)

    def edges_of(self, index: NDArray[Any]) -> list[Bucket]:
        """Return the lowest and the highest corner of each cell."""
        whole = index.astype(np.int64)
        sides = [
            axis.edges_of(index[:, i] if isinstance(axis, Exact) else whole[:, i]) for i, axis in enumerate(self.axes)
        ]
        return [
            Bucket(tuple(side.lower for side in cell), tuple(side.upper for side in cell))
            for cell in zip(*sides, strict=True)
        ]
