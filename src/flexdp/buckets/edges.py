"""Buckets between given edges: [e_i, e_{i+1}), the last one closed; β = half the width of the bucket in question."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.exact import as_read, next_below, to_double
from flexdp._core.keys import canonical_keys
from flexdp._core.text import plural
from flexdp.buckets.base import (
    Bucket,
    Kind,
    Outside,
    confine,
    end_times,
    error_unit,
    half_span,
    integer_keys,
    largest_distance,
    middle_times,
    nearest_doubles,
)

__all__ = ["Edges"]


@dataclass(frozen=True)
class Edges:
    """Buckets between given edges. The outermost edges are the bounds."""

    kind: Kind
    edges: tuple[Fraction, ...]
    outside: Outside = "clamp"

    relative = False
    first = 0

    @property
    def bounds(self) -> tuple[Fraction, Fraction]:
        return self.edges[0], self.edges[-1]

    @property
    def count(self) -> int:
        return len(self.edges) - 1

    @property
    def unit(self) -> str:
        return error_unit(self.kind, *(high - low for low, high in pairwise(self.edges)))

    @property
    def spec(self) -> str:
        return f"{plural(self.count, 'bucket')} between given edges"

    @property
    def beta(self) -> Fraction:
        return max(self.beta_at(i) for i in range(self.count))

    def beta_at(self, index: Any) -> Fraction:
        half = half_span(self.kind, self._span(int(index)), self.unit)
        return half if self.kind != "number" else max(half, largest_distance(self, int(index)))

    def beta_of(self, index: NDArray[Any]) -> Fraction:
        """β of all these buckets together: that of the widest."""
        return max(map(self.beta_at, index.tolist()), default=self.beta)

    def extent(self, index: int) -> tuple[Fraction, Fraction]:
        """Return the ends of a bucket of numbers, which are compared with the edges as doubles."""
        low, high = (to_double(edge) for edge in self.edges[index : index + 2])
        first, last = self._span(index)
        return min(first, as_read(low)), max(last, as_read(high if index + 1 == self.count else next_below(high)))

    def _span(self, i: int) -> tuple[Fraction, Fraction]:
        open_end = self.kind != "number" and i + 1 < self.count
        return self.edges[i], self.edges[i + 1] - int(open_end)

    def locate(self, values: NDArray[Any]) -> NDArray[Any]:
        inside = confine(values, self.bounds, self.outside)
        inner = self.edges[1:-1]
        cuts = canonical_keys([int(e) for e in inner] if self.kind != "number" else [float(e) for e in inner])
        return np.searchsorted(cuts, inside, side="right").astype(np.int64)

    def centres(self, index: NDArray[Any]) -> NDArray[Any]:
        spans = [self._span(i) for i in index.tolist()]
        if self.kind in ("date", "datetime"):
            return middle_times(self.kind, spans)
        centres = [(first + last) / 2 for first, last in spans]
        if self.kind == "number":
            return nearest_doubles(centres)
        halves = any(sum(self._span(i)) % 2 for i in range(self.count))
        return integer_keys(centres, halves=halves)

    def edges_of(self, index: NDArray[Any]) -> list[Bucket]:
        spans = [self._span(i) for i in index.tolist()]
        if self.kind in ("date", "datetime"):
            return end_times(self.kind, spans)
        flat = [end for span in spans for end in span]
        ends = nearest_doubles(flat) if self.kind == "number" else integer_keys(flat, halves=False)
        return [Bucket(*pair) for pair in zip(ends[::2].tolist(), ends[1::2].tolist(), strict=True)]
