"""What a release may be expected to lose, computed exactly from simulated or public counts; nothing is drawn."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import array
from flexdp._core.exact import value_text
from flexdp._core.text import plural, safe_repr, thousands
from flexdp.buckets.base import EPOCH
from flexdp.buckets.exact import Exact
from flexdp.buckets.partition import Buckets
from flexdp.buckets.relative import RelativeWidth
from flexdp.buckets.width import Width
from flexdp.errors import InputError
from flexdp.histogram import Histogram
from flexdp.noise.drop import DropNoise
from flexdp.simulation.expected_laws import Law

__all__ = ["Counts", "Expected", "expected", "law_counts", "sample_counts"]

MOST_BUCKETS = 10**6
_SURE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Records by bucket, ascending, simulated or public. ``ordered`` says whether a maximum makes sense."""

    source: str
    keys: NDArray[Any]
    counts: NDArray[np.int64]
    ordered: bool

    @property
    def records(self) -> int:
        return int(self.counts.sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What dropping does to given counts, on average over its noise.

    ``lost`` records of ``records`` are left out, a share of ``share``; of ``filled`` buckets that hold any record,
    ``vanishing`` disappear on average and ``sure`` are certain to stay. ``maximum`` is the bucket of the true maximum;
    ``move`` is how far below it the released one lies on average, where anything survives; ``usual_maximum`` is
    reached with a chance of 95%. The last three are None for keys without an order, or where nothing may survive.
    """

    source: str
    records: int
    lost: float
    share: float
    filled: int
    vanishing: float
    sure: int
    maximum: Any
    move: float | None
    usual_maximum: Any

    def document(self) -> dict[str, Any]:
        """The same as plain JSON values."""
        ends = {name: _json_key(getattr(self, name)) for name in ("maximum", "usual_maximum")}
        return {**asdict(self), **ends}

    def __str__(self) -> str:
        lines = [
            f"Expected for {plural(self.records, 'record', thousands)} of {self.source}: {thousands(round(self.lost))} "
            f"of them ({_percent(self.share)}) are left out on average; of "
            f"{plural(self.filled, 'bucket', thousands)} that hold any, "
            f"{_few(self.vanishing)} vanish on average and {thousands(self.sure)} are sure to stay."
        ]
        if self.move is not None and self.usual_maximum is not None:
            unit = " days" if isinstance(self.maximum, dt.date) else ""
            lines.append(
                f"The maximum, in truth in the bucket around {value_text(self.maximum)}, is read "
                f"{_few(self.move)}{unit} too low on average, and in 95 of 100 runs as "
                f"{value_text(self.usual_maximum)} or above."
            )
        return " ".join(lines)


def law_counts(law: Law, records: int, partition: Buckets) -> Counts:
    """How many of n records at the quantiles of a law lie in each bucket."""
    if isinstance(partition, Exact):
        if partition.kind != "integer":
            raise InputError(
                f"simulate needs width, relative or buckets: without them every value of {law.text} is its own bar, "
                "and all of them vanish."
            )
        partition = Width("integer", Fraction(1), partition.bounds, partition.outside)
    index = _indices(law, records, partition)
    lower = np.array([float(bucket.lower) for bucket in partition.edges_of(index)])
    # Bounds clamp: what lies below the first bucket counts in it, and what lies above the last in that.
    points = np.ceil(records * law.below(lower) - 0.5).astype(np.int64)  # as many quantiles lie below the edge
    points[0] = 0
    counts = np.diff(np.append(points, records))
    kept = counts > 0
    return Counts(source=law.text, keys=partition.centres(index)[kept], counts=counts[kept], ordered=True)


def _indices(law: Law, records: int, partition: Width | RelativeWidth | Any) -> NDArray[np.int64]:
    if partition.count is not None:
        first, last = partition.first, partition.first + partition.count - 1
    else:
        ends = np.array(law.ends(records))
        if partition.kind == "integer":
            ends = np.floor(ends).astype(np.int64)
        found = partition.locate(ends)
        if len(found) < 2:
            raise InputError("simulate needs a law whose values the buckets can hold; give bounds or other parameters.")
        first, last = (int(place) for place in found)
    if last - first >= MOST_BUCKETS:
        raise InputError(f"simulate would need more than {MOST_BUCKETS} buckets. Give wider ones.")
    return np.arange(first, last + 1, dtype=np.int64)


def sample_counts(sample: Any, records: int | None, partition: Buckets) -> Counts:
    """How many records of a public sample lie in each bucket, scaled to the number of records that is planned for."""
    values = _values(sample, partition)
    index, counts = np.unique(values, return_counts=True)
    size = int(counts.sum())
    if not size:
        raise InputError("public_sample must hold values that the buckets can hold; it holds none.")
    if records is not None:
        counts = np.floor(counts * (records / size) + 0.5).astype(np.int64)
        index, counts = index[counts > 0], counts[counts > 0]
        if not len(counts):
            raise InputError("records_about is too small for public_sample: no bucket would hold a record. Raise it.")
    scaled = "" if records in (None, size) else f", scaled from {thousands(size)}"
    ordered = partition.kind not in ("text", "boolean")
    return Counts(
        source=f"the public sample{scaled}",
        keys=partition.centres(index),
        counts=counts.astype(np.int64),
        ordered=ordered,
    )


def _values(sample: Any, partition: Buckets) -> NDArray[Any]:
    """The bucket of every record of the sample."""
    if isinstance(sample, Histogram):
        cells, times = sample.keys, sample.counts
    elif isinstance(sample, np.ndarray) or (isinstance(sample, Sequence) and not isinstance(sample, str | bytes)):
        given = array(sample)
        if given is None or given.ndim != 1:
            raise InputError("public_sample must be a flat list or array of values.")
        cells, times = given, np.ones(len(given), dtype=np.int64)
    else:
        raise InputError(f"public_sample must be a list, an array or a Histogram of values; got {safe_repr(sample)}.")
    if partition.kind == "date":
        cells = np.array([_day(cell) for cell in cells.tolist()], dtype=np.int64)
    elif partition.kind == "datetime":
        cells = np.array([_moment(cell) for cell in cells.tolist()], dtype=np.int64)
    elif partition.kind in ("integer", "number"):
        try:
            cells = cells.astype(np.float64 if partition.kind == "number" else np.int64)
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"public_sample must hold values of kind {partition.kind}; say another kind.") from None
        times, cells = times[np.isfinite(cells)], cells[np.isfinite(cells)]
    return partition.locate(np.repeat(cells, times))


def _day(cell: Any) -> int:
    if not isinstance(cell, dt.date):
        raise InputError("public_sample must hold dates where kind is 'date'.")
    return cell.toordinal() - EPOCH


def _moment(cell: Any) -> int:
    if not isinstance(cell, dt.datetime) or cell.tzinfo is not None:
        raise InputError("public_sample must hold datetimes without a time zone where kind is 'datetime'.")
    return (cell - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)


def expected(counts: Counts, noise: DropNoise) -> Expected:
    """The average over the noise: E[min(x, J)] records lost and Pr[J ≥ x] to vanish, for each bucket of x records."""
    # Sums in doubles of a law that is exact: good to about twelve digits.
    reported = np.concatenate(([0.0], np.cumsum(noise.pmf)))  # Pr[J < x]
    lost = np.concatenate(([0.0], np.cumsum(1 - reported[1:])))  # E[min(x, J)] = Σ_{i<x} Pr[J > i]
    height = np.minimum(counts.counts, noise.q)
    stays, losses = reported[height], lost[height]
    stays[height == noise.q] = 1.0
    maximum, move, usual = _maximum(counts, stays)
    return Expected(
        source=counts.source,
        records=counts.records,
        lost=float(losses.sum()),
        share=float(losses.sum()) / counts.records,
        filled=len(counts.counts),
        vanishing=float((1 - stays).sum()),
        sure=int((counts.counts >= noise.q).sum()),
        maximum=maximum,
        move=move,
        usual_maximum=usual,
    )


def _maximum(counts: Counts, stays: NDArray[np.float64]) -> tuple[Any, float | None, Any]:
    """The true maximum's bucket, how far below it the released one lies on average, and what 95% of runs reach."""
    if not counts.ordered:
        return None, None, None
    keys = counts.keys.tolist()
    gone = np.concatenate(([1.0], np.cumprod(1 - stays[::-1])))  # all of the top ones vanish
    chance = stays[::-1] * gone[:-1]  # the i-th from the top is the released maximum
    reached = np.cumsum(chance)
    if reached[-1] < _SURE:
        return keys[-1], None, None
    top = _position(keys[-1])
    distance = np.array([top - _position(key) for key in reversed(keys)])
    usual = keys[-1 - int(np.argmax(reached >= _SURE))]
    return keys[-1], float((chance * distance).sum() / reached[-1]), usual


def _position(key: Any) -> float:
    return float(key.toordinal()) if isinstance(key, dt.date) else float(key)


def _json_key(key: Any) -> Any:
    if isinstance(key, dt.date):
        return key.isoformat()
    return str(key) if isinstance(key, Fraction) else key


def _few(number: float) -> str:
    """A mean for people: three digits."""
    if number < 0.0005:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(number)))
    text = f"{number:.{digits}f}"
    return thousands(round(number)) if digits == 0 else text.rstrip("0").rstrip(".")


def _percent(share: float) -> str:
    return f"{100 * share:.3g}%"
