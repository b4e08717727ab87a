"""Statistics other than max, max_k and mode in a comparison: read off noisy histograms, and measured in buckets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import attribute
from flexdp._core.text import safe_repr
from flexdp.baselines import Baseline
from flexdp.baselines.base import Empty, Readable
from flexdp.errors import InputError
from flexdp.experiments.cases import Errors
from flexdp.histogram import Histogram
from flexdp.measure import flexible_error_bounds
from flexdp.simulation import Generator
from flexdp.statistics import Max, MaxAtLeast, Median, Min, Mode, Quantile, Range, Statistic, Support

__all__ = ["AnyCase", "Asked", "any_case", "filled_in", "is_plain", "read_outputs", "read_rows", "supports"]

Asked: TypeAlias = Readable | Statistic

_LEVELS = {Max: Fraction(1), Min: Fraction(0), Median: Fraction(1, 2)}
_SCALED = (Max, Min, Median, Quantile, Range)  # values on the scale of the buckets, from 0 to B − 1


def is_plain(statistic: object) -> bool:
    """Return True for the statistics of the paper's figure, which every baseline supports."""
    return isinstance(statistic, Max | MaxAtLeast | Mode)


def supports(baseline: Baseline, statistic: Asked) -> bool:
    """Return True if a baseline can be run for a statistic."""
    if is_plain(statistic) or attribute(baseline, "histograms") is not None:
        return True
    return attribute(baseline, "around") is not None and isinstance(statistic, _SCALED)


@dataclass(frozen=True, slots=True, eq=False)
class AnyCase:
    """A data set and any statistic of it; errors are distances from the true value and from the attainable ones."""

    counts: NDArray[np.int64]
    histogram: Histogram
    statistic: Asked
    alpha: Fraction

    def errors(self, outputs: Any) -> Errors:
        """Return the distance from each output to the true value and to the nearest attainable one."""
        percent = 100 / len(self.counts)
        found = [
            flexible_error_bounds(self.histogram, outputs, self.statistic, alpha).upper for alpha in (0, self.alpha)
        ]
        if not all(np.isfinite(each).all() for each in found):
            raise InputError(
                "statistic",
                "must have values with finite distances, such as median, q0.9, range or support",
                given=safe_repr(self.statistic),
            )
        return Errors(percent * found[0], percent * found[1])


def any_case(counts: NDArray[np.int64], statistic: Asked, alpha: Fraction) -> AnyCase:
    """Prepare a data set on the buckets 0, …, B − 1."""
    if not counts.any():
        raise InputError(
            "data", ": a data set contains no records", remedy="Choose a law or a number of buckets that yields some."
        )
    return AnyCase(counts, _histogram(counts), statistic, alpha)


def read_outputs(
    baseline: Any, case: Any, statistic: Asked, runs: int, rng: Generator, *, epsilon: Any, delta: Any, empty: Empty
) -> Any:
    """Run a baseline, and read a statistic off what it publishes."""
    if not supports(baseline, statistic):
        raise InputError(
            "statistic",
            f"must be max, max_at_least:k or mode for mechanism {safe_repr(baseline.name)}",
            given=safe_repr(statistic),
            remedy="Leave that mechanism out.",
        )
    if attribute(baseline, "histograms") is None:
        exact = float(statistic(case.histogram))
        return baseline.around(exact, len(case.counts), runs, rng, epsilon=epsilon, delta=delta)
    blocks = baseline.histograms(case.counts, runs, rng, epsilon=epsilon, delta=delta)
    found = [value for rows in blocks for value in read_rows(rows, statistic)]
    return filled_in(found, statistic, len(case.counts), empty, rng)


def read_rows(rows: NDArray[Any], statistic: Asked) -> list[Any]:
    """Return the statistic of each noisy histogram, its counts rounded to integers; None where nothing is left."""
    whole = np.maximum(0, np.rint(rows)).astype(np.int64)
    if isinstance(statistic, Range):
        ends = zip(_levels(whole, Min()), _levels(whole, Max()), strict=True)
        return [None if low is None or high is None else high - low for low, high in ends]
    if isinstance(statistic, Max | Min | Median | Quantile):
        return _levels(whole, statistic)
    return [statistic(_histogram(row)) if row.any() else None for row in whole]


def filled_in(values: Iterable[Any], statistic: Asked, bars: int, empty: Empty, rng: Generator) -> Any:
    """Replace answers that are missing by bucket 0, or by a random one, as for the paper's statistics."""
    listed = list(values)
    lost = [place for place, value in enumerate(listed) if value is None]
    instead = [0] * len(lost) if empty == "zero" else rng.integers(bars, size=len(lost)).tolist()
    for place, bucket in zip(lost, instead, strict=True):
        listed[place] = (bucket,) if isinstance(statistic, Support) else bucket
    return listed


def _levels(rows: NDArray[np.int64], statistic: Max | Min | Median | Quantile) -> list[int | None]:
    level = statistic.level if isinstance(statistic, Quantile) else _LEVELS[type(statistic)]
    up_to = np.cumsum(rows, axis=1)
    size = up_to[:, -1]
    wanted = np.maximum(1, -(-level.numerator * size // level.denominator))  # ⌈level·n⌉
    places = (up_to >= wanted[:, None]).argmax(axis=1)
    return [int(place) if many else None for place, many in zip(places.tolist(), size.tolist(), strict=True)]


def _histogram(counts: NDArray[np.int64]) -> Histogram:
    filled = np.flatnonzero(counts)
    return Histogram(filled, counts[filled])
