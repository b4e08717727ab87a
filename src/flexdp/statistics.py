"""Statistics read off a histogram: the value, and how far moving every record by β can move it.

Each is a small frozen description with ``name`` (for sentences), ``ordered`` (whether it needs keys that have an
order and a distance), ``__call__`` (its value on a non-empty histogram) and ``sensitivity`` (Δ_f(β), infinite where
no bound exists; paper, Def. metric sensitivity).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import numpy as np

from flexdp._parameters import Domain, Number, number_text, whole
from flexdp.errors import InputError
from flexdp.histogram import LARGEST_COUNT, Histogram

__all__ = ["Max", "MaxAtLeast", "Median", "Min", "Mode", "Quantile", "Range", "Statistic", "Support", "Top"]

_LEVEL = Domain(
    name="quantile",
    low=Fraction(0),
    low_included=True,
    high=Fraction(1),
    high_included=True,
    remedy="Write the 99th percentile as 0.99.",
)


class Statistic(Protocol):
    """What a release can read off its histogram."""

    @property
    def name(self) -> str:
        """What a sentence calls it."""

    @property
    def ordered(self) -> bool:
        """Whether the keys must be numbers or dates."""

    def __call__(self, histogram: Histogram) -> Any:
        """The value on a non-empty histogram."""

    def sensitivity(self, beta: float) -> float:
        """Δ_f(β): the most the value can change when every record moves by at most β."""


def _nonempty(statistic: Statistic, histogram: Histogram) -> None:
    if not len(histogram):
        raise InputError(f"the {statistic.name} of an empty histogram is undefined; test len(histogram) first.")


def plain(key: Any) -> Any:
    """A key as a plain Python value."""
    return key.item() if isinstance(key, np.generic) else key


@dataclass(frozen=True, slots=True)
class Max:
    """The largest key."""

    name: ClassVar[str] = "maximum"
    ordered: ClassVar[bool] = True

    def __call__(self, histogram: Histogram) -> Any:
        _nonempty(self, histogram)
        return plain(histogram.keys[-1])

    def sensitivity(self, beta: float) -> float:
        return beta


@dataclass(frozen=True, slots=True)
class Min:
    """The smallest key."""

    name: ClassVar[str] = "minimum"
    ordered: ClassVar[bool] = True

    def __call__(self, histogram: Histogram) -> Any:
        _nonempty(self, histogram)
        return plain(histogram.keys[0])

    def sensitivity(self, beta: float) -> float:
        return beta


@dataclass(frozen=True, slots=True)
class Range:
    """The largest key less the smallest."""

    name: ClassVar[str] = "range"
    ordered: ClassVar[bool] = True

    def __call__(self, histogram: Histogram) -> Any:
        _nonempty(self, histogram)
        return plain(histogram.keys[-1]) - plain(histogram.keys[0])

    def sensitivity(self, beta: float) -> float:
        return 2 * beta


@dataclass(frozen=True, init=False, slots=True)
class Quantile:
    """The smallest key with at least a fraction ``level`` of the records at or below it (inverted CDF)."""

    level: Fraction
    ordered: ClassVar[bool] = True

    def __init__(self, level: Number) -> None:
        object.__setattr__(self, "level", _LEVEL.check(level))

    @property
    def name(self) -> str:
        return f"{number_text(self.level)}-quantile"

    def __call__(self, histogram: Histogram) -> Any:
        _nonempty(self, histogram)
        size = histogram.size
        wanted = max(1, math.ceil(self.level * size))
        counts = histogram.counts if size <= LARGEST_COUNT else histogram.counts.astype(object)
        return plain(histogram.keys[np.searchsorted(np.cumsum(counts), wanted, side="left")])

    def sensitivity(self, beta: float) -> float:
        return beta


@dataclass(frozen=True, slots=True)
class Median:
    """The 0.5-quantile: the lower of the two middle records where there are two."""

    name: ClassVar[str] = "median"
    ordered: ClassVar[bool] = True

    def __call__(self, histogram: Histogram) -> Any:
        _nonempty(self, histogram)
        return Quantile(Fraction(1, 2))(histogram)

    def sensitivity(self, beta: float) -> float:
        return beta


@dataclass(frozen=True, slots=True)
class Mode:
    """The key with the most records; of several, the smallest."""

    name: ClassVar[str] = "mode"
    ordered: ClassVar[bool] = False

    def __call__(self, histogram: Histogram) -> Any:
        _nonempty(self, histogram)
        return plain(histogram.keys[int(np.argmax(histogram.counts))])

    def sensitivity(self, beta: float) -> float:
        return math.inf if beta > 0 else 0.0


@dataclass(frozen=True, init=False, slots=True)
class MaxAtLeast:
    """The largest key that holds at least ``count`` records, or None where no key does."""

    count: int
    ordered: ClassVar[bool] = True

    def __init__(self, count: Number) -> None:
        object.__setattr__(self, "count", whole("count", count))

    @property
    def name(self) -> str:
        return f"largest value shared by at least {self.count} records"

    def __call__(self, histogram: Histogram) -> Any:
        tall = np.flatnonzero(histogram.counts >= self.count)
        return plain(histogram.keys[tall[-1]]) if len(tall) else None

    def sensitivity(self, beta: float) -> float:
        return math.inf if beta > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Support:
    """All keys that occur, as a tuple in ascending order; distances between supports are Hausdorff's."""

    name: ClassVar[str] = "support"
    ordered: ClassVar[bool] = False

    def __call__(self, histogram: Histogram) -> tuple[Any, ...]:
        return tuple(histogram.keys.tolist())

    def sensitivity(self, beta: float) -> float:
        return beta


@dataclass(frozen=True, init=False, slots=True)
class Top:
    """The ``count`` tallest bars as (key, records), tallest first; of equals, the smaller key first."""

    count: int
    ordered: ClassVar[bool] = False

    def __init__(self, count: Number) -> None:
        object.__setattr__(self, "count", whole("count", count))

    @property
    def name(self) -> str:
        return (
            "most frequent value with its count"
            if self.count == 1
            else f"list of the {self.count} most frequent values"
        )

    def __call__(self, histogram: Histogram) -> tuple[tuple[Any, int], ...]:
        order = np.argsort(-histogram.counts, kind="stable")[: self.count]
        return tuple(zip(histogram.keys[order].tolist(), histogram.counts[order].tolist(), strict=True))

    def sensitivity(self, beta: float) -> float:
        return math.inf if beta > 0 else 0.0
