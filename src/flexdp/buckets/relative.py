"""Buckets of one ratio, (1+ρ)/(1−ρ), on both sides of zero; β is ρ of the bucket's centre."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.exact import upper_text
from flexdp.buckets.base import LARGEST_DOUBLE, SMALLEST_NORMAL, Bucket, Kind, Outside, confine

__all__ = ["RelativeWidth"]

_LOG_SPAN = 1420.0  # a little more than ln(largest double / smallest normal double)


@dataclass(frozen=True)
class RelativeWidth:
    """Buckets in which every value is within a fraction ρ of the centre; both signs, and a bucket for zero.

    Index 0 is zero, with all magnitudes below the smallest normal double; index ±(j+1) is the j-th bucket of
    magnitudes. Edges are products of two short tables of doubles, so that an engine computes the very same doubles. The
    ratio is that of 98.5% of ρ, which leaves room to round centres to a few digits.
    """

    kind: Kind
    rho: Fraction
    bounds: tuple[Fraction, Fraction] | None = None
    outside: Outside = "clamp"

    relative = True
    unit = ""

    @property
    def beta(self) -> Fraction:
        return self.rho

    @property
    def spec(self) -> str:
        return f"buckets within {upper_text(100 * self.rho)}% of their centres"

    def beta_at(self, index: Any) -> Fraction:
        return self.rho if index else Fraction(0)

    def beta_of(self, index: NDArray[Any]) -> Fraction:  # noqa: ARG002
        """β of all these buckets together."""
        return self.rho

    @cached_property
    def ratio(self) -> float:
        tight = self.rho * Fraction(985, 1000)
        return float((1 + tight) / (1 - tight))

    @cached_property
    def fine(self) -> NDArray[np.float64]:
        """Powers ratio^b for b below the table's length, about the square root of the number of buckets."""
        length = math.isqrt(math.ceil(_LOG_SPAN / math.log(self.ratio)))
        return np.multiply.accumulate(np.r_[1.0, np.full(length, self.ratio)])

    @cached_property
    def coarse(self) -> NDArray[np.float64]:
        """Smallest normal double × ratio^(len(fine)·a), up to the largest double."""
        step = self.fine[-1] * self.ratio
        length = math.ceil(_LOG_SPAN / math.log(step)) + 1
        with np.errstate(over="ignore"):
            powers = np.multiply.accumulate(np.r_[SMALLEST_NORMAL, np.full(length, step)])
        finite: NDArray[np.float64] = powers[np.isfinite(powers)]
        return finite

    @cached_property
    def ladder(self) -> NDArray[np.float64]:
        """All lower edges of magnitudes, and the largest double as the end of the last bucket."""
        with np.errstate(over="ignore"):
            edges = np.multiply.outer(self.coarse, self.fine).ravel()
        below: NDArray[np.float64] = np.append(edges[edges < LARGEST_DOUBLE], LARGEST_DOUBLE)
        return below

    @cached_property
    def first(self) -> int:
        """The lowest public index, if bounds are given."""
        return int(self._index(np.array([float(self.bounds[0])]))[0]) if self.bounds else 0

    @cached_property
    def count(self) -> int | None:
        if self.bounds is None:
            return None
        return int(self._index(np.array([float(self.bounds[1])]))[0]) - self.first + 1

    def _index(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        size = np.abs(values)
        rung = np.minimum(np.searchsorted(self.ladder, size, side="right"), len(self.ladder) - 1)
        return np.where(size < SMALLEST_NORMAL, 0, np.sign(values) * rung).astype(np.int64)

    def locate(self, values: NDArray[Any]) -> NDArray[Any]:
        return self._index(confine(values.astype(np.float64), self.bounds, self.outside))

    def _spans(self, index: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        rung = np.abs(index)
        inner = np.where(rung == 0, 0.0, self.ladder[np.maximum(rung - 1, 0)])
        outer = np.where(rung == 0, 0.0, self.ladder[rung])
        lower, upper = np.where(index < 0, -outer, inner), np.where(index < 0, -inner, outer)
        if self.bounds:
            lower = np.maximum(lower, float(self.bounds[0]))
            upper = np.minimum(upper, float(self.bounds[1]))
            lower, upper = np.where(index == 0, 0.0, lower), np.where(index == 0, 0.0, upper)
        return lower, upper

    def centres(self, index: NDArray[Any]) -> NDArray[Any]:
        # A relative rounding of at most ρ/200: |x − c| ≤ (.985 + .005)·ρ·m ≤ ρ·c, where m is the middle.
        lower, upper = self._spans(index)
        decimals = math.floor(-math.log10(self.rho)) + 3
        centres = [float(f"{middle:.{decimals}e}") for middle in (lower / 2 + upper / 2).tolist()]
        return np.clip(np.array(centres, dtype=np.float64), -LARGEST_DOUBLE, LARGEST_DOUBLE)

    def edges_of(self, index: NDArray[Any]) -> list[Bucket]:
        lower, upper = self._spans(index)
        return [Bucket(*pair) for pair in zip(lower.tolist(), upper.tolist(), strict=True)]
