"""Every value is its own bucket; β = 0."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from flexdp.buckets.base import Bucket, Kind, Outside, confine, error_unit, times

__all__ = ["Exact"]


@dataclass(frozen=True)
class Exact:
    """Every value is its own bucket; with bounds, values outside count at the nearer bound or not at all."""

    kind: Kind
    bounds: tuple[Fraction, Fraction] | None = None
    outside: Outside = "clamp"

    beta = Fraction(0)
    relative = False
    count = None  # the values that occur are not public, whatever the bounds
    first = 0
    spec = "every value its own bucket"

    @property
    def unit(self) -> str:
        return error_unit(self.kind)

    def beta_at(self, index: Any) -> Fraction:  # noqa: ARG002
        return Fraction(0)

    def beta_of(self, index: NDArray[Any]) -> Fraction:  # noqa: ARG002
        """β of all these buckets together."""
        return Fraction(0)

    def locate(self, values: NDArray[Any]) -> NDArray[Any]:
        return confine(values, self.bounds, self.outside)

    def centres(self, index: NDArray[Any]) -> NDArray[Any]:
        return times(self.kind, index) if self.kind in ("date", "datetime") else index

    def edges_of(self, index: NDArray[Any]) -> list[Bucket]:
        return [Bucket(key, key) for key in self.centres(index).tolist()]
