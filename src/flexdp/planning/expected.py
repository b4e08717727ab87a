"""Expected losses of a release, computed from simulated or public counts without drawing anything."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.calendar import days_since_epoch, micros_since_epoch
from flexdp._core.domains import array
from flexdp._core.exact import json_value, value_text
from flexdp._core.text import plural, safe_repr, thousands
from flexdp.buckets.exact import Exact
from flexdp.buckets.partition import Buckets
from flexdp.buckets.width import Width
from flexdp.errors import InputError, P
from flexdp.histogram import Histogram
from flexdp.noise.drop import DropNoise
from flexdp.planning.design import percent
from flexdp.simulation import ValueLaw, parse_distribution

__all__ = ["UNORDERED", "Counts", "Expected", "count_law", "count_public_data", "expect_losses"]

UNORDERED = ("text", "boolean")

MOST_BUCKETS = 10**5  # of a simulation
_SURE = 0.95
_TIMES: dict[str, tuple[type, Callable[[Any], int], str]] = {
    "date": (dt.date, days_since_epoch, "dates"),
    "datetime": (dt.datetime, micros_since_epoch, "datetimes without a time zone"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Records by bucket, ascending, simulated or public. ``ordered`` is true if a maximum makes sense."""

    source: str
    keys: NDArray[Any]
    counts: NDArray[np.int64]
    ordered: bool

    @property
    def records(self) -> int:
        """The number of records."""
        return int(self.counts.sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """The effect of the noise on given counts, on average.

    The last three are None for keys without an order, or if everything may be lost.

    Parameters
    ----------
    source
        Origin of the counts: a law or a public sample.
    records
        Number of records.
    lost, share
        Records that are left out on average, and as a share of all.
    filled
        Number of buckets that hold any record.
    vanishing
        Number of them that vanish on average.
    sure
        Number of them that are certain to be released.
    maximum
        Bucket of the true maximum.
    move
        Distance of the released maximum below the true one, on average.
    usual_maximum
        Bucket that the released maximum reaches with a probability of 95%.

    Examples
    --------
    >>> from flexdp import plan
    >>> found = plan(epsilon=1, delta="1e-6", bounds=(0, 120), width=5, records_about=50_000, simulate="normal")
    >>> found.expected.filled, round(found.expected.lost), found.expected.document()["maximum"]
    (24, 324, 117.5)
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
        """Return the fields as plain JSON values.

        Returns
        -------
        dict
            One entry for each field.
        """
        ends = {name: json_value(getattr(self, name)) for name in ("maximum", "usual_maximum")}
        return {**asdict(self), **ends}

    def __str__(self) -> str:
        lines = [
            f"Expected for {plural(self.records, 'record', thousands)} of {self.source}: {thousands(round(self.lost))} "
            f"of them ({percent(self.share, 3)}) are left out on average; of "
            f"{plural(self.filled, 'bucket', thousands)} that hold any, "
            f"{_few(self.vanishing)} vanish on average and {thousands(self.sure)} are certain to remain."
        ]
        if self.move is not None and self.usual_maximum is not None:
            unit = " days" if isinstance(self.maximum, dt.date) else ""
            lines.append(
                f"The true maximum lies in the bucket around {value_text(self.maximum)}; the released one is "
                f"{_few(self.move)}{unit} lower on average, and {value_text(self.usual_maximum)} or above in 95 of "
                "100 runs."
            )
        return " ".join(lines)


def count_public_data(
    simulate: object, sample: Any, records: int | None, partition: Buckets | None, buckets: int | None
) -> Counts | None:
    """Count a law or a public sample by bucket; None where neither is given."""
    if simulate is None and sample is None:
        return None
    if simulate is not None and sample is not None:
        raise InputError("simulate", ("and ", P("public_sample"), " exclude each other"), remedy="Give one of them.")
    if partition is None and buckets is not None:  # only their number is known: count them off from zero
        partition = Width("number", Fraction(1), (Fraction(0), Fraction(buckets)))
    if partition is None or (isinstance(partition, Exact) and partition.kind not in UNORDERED):
        raise InputError(
            "simulate" if sample is None else "public_sample",
            "needs buckets, in which its values are counted",
            remedy=("Give ", P("width"), ", ", P("relative"), ", ", P("edges"), " or ", P("buckets"), "."),
        )
    if simulate is None:
        return _count_sample(sample, records, partition)
    if partition.kind not in ("integer", "number"):
        raise InputError(
            "simulate",
            ("makes numbers, which do not fit ", P("kind", partition.kind)),
            remedy=("Give a public sample instead (", P("public_sample"), ")."),
        )
    low, high = partition.bounds or (Fraction(0), 100 * (partition.width if isinstance(partition, Width) else 1))
    span = high - low + int(partition.kind == "integer")  # integers are numbers rounded down
    law = parse_distribution(simulate, low=low, span=span, buckets=buckets)
    if records is None:
        raise InputError("simulate", "needs the number of records", remedy=("Give ", P("records_about"), " too."))
    return count_law(law, records, partition)


def count_law(law: ValueLaw, records: int, partition: Any) -> Counts:
    """Count n records at the quantiles of a law by bucket."""
    index = _indices(law, records, partition)
    lower = np.array([float(bucket.lower) for bucket in partition.edges_of(index)])
    # Bounds clamp: values below the first bucket count in it, and values above the last in that.
    points = np.ceil(records * law.below(lower) - 0.5).astype(np.int64)  # the number of quantiles below each edge
    points[0] = 0
    counts = np.diff(np.append(points, records))
    kept = counts > 0
    return Counts(source=law.text, keys=partition.centres(index[kept]), counts=counts[kept], ordered=True)


def _indices(law: ValueLaw, records: int, partition: Any) -> NDArray[np.int64]:
    if partition.count is not None:
        first, last = partition.first, partition.first + partition.count - 1
    else:
        ends = law.ends(records)
        if partition.kind == "integer":
            ends = np.clip(np.floor(ends), -(2.0**62), 2.0**62).astype(np.int64)
        inside = partition.locate(ends)
        if len(inside) < 2:
            raise InputError(
                "simulate",
                "must be a distribution whose values the buckets can hold",
                remedy=("Give ", P("bounds"), " or other arguments."),
            )
        first, last = (int(number) for number in inside)
    if last - first >= MOST_BUCKETS:
        raise InputError("simulate", f"would need more than {MOST_BUCKETS} buckets", remedy="Give wider ones.")
    return np.arange(first, last + 1, dtype=np.int64)


def _count_sample(sample: Any, records: int | None, partition: Buckets) -> Counts:
    """Count a public sample by bucket, scaled to the number of records that is planned for."""
    values = _locate_sample(sample, partition)
    index, counts = np.unique(values, return_counts=True)
    size = int(counts.sum())
    if not size:
        raise InputError("public_sample", "must hold at least one value that the buckets can hold")
    if records is not None:
        counts = np.floor(counts * (records / size) + 0.5).astype(np.int64)
        index, counts = index[counts > 0], counts[counts > 0]
        if not len(counts):
            raise InputError(
                "records_about",
                ("is too small for ", P("public_sample"), ": no bucket would hold a record"),
                given=str(records),
                remedy="Raise it.",
            )
    scaled = "" if records in (None, size) else f", scaled from {thousands(size)}"
    ordered = partition.kind not in UNORDERED
    return Counts(
        source=f"the public sample{scaled}",
        keys=partition.centres(index),
        counts=counts.astype(np.int64),
        ordered=ordered,
    )


def _locate_sample(sample: Any, partition: Buckets) -> NDArray[Any]:
    """Return the bucket of every record of a public sample."""
    if isinstance(sample, Histogram):
        cells, times = sample.keys, sample.counts
    elif isinstance(sample, np.ndarray) or (isinstance(sample, Sequence) and not isinstance(sample, str | bytes)):
        given = array(sample)
        if given is None or given.ndim != 1:
            raise InputError("public_sample", "must be a flat list or array of values")
        cells, times = given, np.ones(len(given), dtype=np.int64)
    else:
        raise InputError("public_sample", "must be a list, an array or a Histogram of values", given=safe_repr(sample))
    if partition.kind in _TIMES:
        kind, number, words = _TIMES[partition.kind]
        if not all(isinstance(cell, kind) and getattr(cell, "tzinfo", None) is None for cell in cells.tolist()):
            raise InputError("public_sample", (f"must hold {words} with ", P("kind", partition.kind)))
        cells = np.array([number(cell) for cell in cells.tolist()], dtype=np.int64)
    elif partition.kind in ("integer", "number"):
        try:
            cells = cells.astype(np.float64 if partition.kind == "number" else np.int64)
        except (TypeError, ValueError, OverflowError):
            raise InputError(
                "public_sample",
                ("must hold values that fit ", P("kind", partition.kind)),
                remedy=("Give another ", P("kind"), "."),
            ) from None
        times, cells = times[np.isfinite(cells)], cells[np.isfinite(cells)]
    return partition.locate(np.repeat(cells, times))


def expect_losses(counts: Counts, noise: DropNoise) -> Expected:
    """Average over the noise J: a bucket of x records loses E[min(x, J)] and vanishes with probability Pr[J ≥ x]."""
    # Sums in doubles of an exact law: good to about twelve digits.
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
    """The bucket of the true maximum, the mean distance of the released one below it, and the bucket 95% reach."""
    if not counts.ordered:
        return None, None, None
    keys = counts.keys.tolist()
    gone = np.concatenate(([1.0], np.cumprod(1 - stays[::-1])))  # the i highest all vanish
    chance = stays[::-1] * gone[:-1]  # the i-th from the top is the released maximum
    reached = np.cumsum(chance)
    if reached[-1] < _SURE:
        return keys[-1], None, None
    top = _position(keys[-1])
    distance = np.array([top - _position(key) for key in reversed(keys)])
    usual = keys[-1 - int(np.argmax(reached >= _SURE))]
    return keys[-1], float((chance * distance).sum() / reached[-1]), usual


def _position(key: Any) -> float:
    return float(days_since_epoch(key)) if isinstance(key, dt.date) else float(key)


def _few(number: float) -> str:
    """A mean to three digits."""
    if number < 0.0005:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(number)))
    text = f"{number:.{digits}f}"
    return thousands(round(number)) if digits == 0 else text.rstrip("0").rstrip(".")
