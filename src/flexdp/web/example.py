"""The example on the page: simulated records in one's own buckets, or public flights, beside the truth.

Neither is private, so the truth may be shown. The random numbers are fixed, one for each bucket, and go through the
real law of the noise: as ε changes, the loss of each bucket follows it instead of being drawn anew. Nothing here
protects anybody, and no release is made this way.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from importlib.resources import as_file, files
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._release.api import prepare
from flexdp.buckets.partition import Buckets
from flexdp.buckets.width import Width
from flexdp.histogram import Histogram
from flexdp.noise.drop import DropNoise
from flexdp.planning import Plan
from flexdp.planning.given import GivenBuckets
from flexdp.report.axes import Axis
from flexdp.statistics import Statistic

__all__ = ["MOST_LOST", "Public", "Simulated", "flights", "records_of", "simulate"]

MOST_LOST = 5000  # from a bucket: beyond it, the example is not computed
MOST_BUCKETS = 5000  # of the example
_BUCKETS = Width("integer", Fraction(15), (Fraction(-60), Fraction(1440)))


@dataclass(frozen=True, slots=True)
class Public:
    """Records that may be seen by everybody: one by one where that is known, and in buckets.

    ``told`` says what they are, ``unit`` what their values are measured in, ``column`` how an axis names them.
    """

    exact: Histogram
    partition: Buckets
    index: NDArray[np.int64]
    counts: NDArray[np.int64]
    told: str
    column: str
    unit: str = ""

    @property
    def centres(self) -> NDArray[Any]:
        """The centre of each bucket."""
        return self.partition.centres(self.index)

    @property
    def axis(self) -> Axis:
        """The buckets on the scale of a picture."""
        return Axis(self.column, self.partition)

    @property
    def spans(self) -> list[tuple[float, float]]:
        """The ends of each bucket on the scale of a picture."""
        found = self.axis.spans(self.centres.tolist(), self.index.tolist())
        return [(low, high) for low, high in found.tolist()]

    @property
    def within(self) -> Fraction:
        """The greatest distance of a value from the centre of its bucket; of relative buckets, as a share of that."""
        return self.partition.beta or Fraction(0)


@lru_cache(maxsize=1)
def flights() -> Public:
    """Return the delays, which are counted once."""
    with as_file(files("flexdp") / "data" / "flights.parquet") as path:
        question = prepare(path, "departure_delay", exact=True).questions[0]
        counted = question.table.count([question.counting])[0]
    delays = Histogram(counted.parts[0], counted.counts)
    index, place = np.unique(_BUCKETS.locate(delays.keys), return_inverse=True)
    sums = np.zeros(len(index), dtype=np.int64)
    np.add.at(sums, place, delays.counts)
    told = "Departure delays from New York in 2013, in buckets of 15 minutes"
    return Public(delays, _BUCKETS, index, sums, told, "departure delay, minutes", "minutes")


def records_of(plan: Plan) -> Public | None:
    """Return simulated records in the buckets of a plan; None for a plan without a law or without buckets."""
    counts, partition = (
        (plan.design.counts, plan.design.partition) if isinstance(plan.design, GivenBuckets) else (None, None)
    )
    if counts is None or partition is None or len(counts.keys) > MOST_BUCKETS:
        return None
    index = partition.locate(counts.keys)
    exact = Histogram(counts.keys, counts.counts)
    return Public(exact, partition, index, counts.counts, f"Records of {counts.source}, in your buckets", "value")


@dataclass(frozen=True, slots=True)
class Simulated:
    """Records left in each bucket, in the order of :attr:`Public.index`."""

    data: Public
    left: NDArray[np.int64]
    max_drop: int

    @property
    def histogram(self) -> Histogram:
        """The histogram that would be published."""
        there = self.left > 0
        return Histogram(self.data.centres[there], self.left[there])

    @property
    def lost(self) -> int:
        """The number of records left out."""
        return int((self.data.counts - self.left).sum())

    @property
    def vanished(self) -> int:
        """The number of buckets that lost all their records."""
        return int((self.left == 0).sum())

    def published(self, statistic: Statistic) -> Any:
        """Return the statistic of the records that are left; None if there are none."""
        histogram = self.histogram
        return statistic(histogram) if len(histogram) else None

    def truth(self, statistic: Statistic) -> Any:
        """Return the statistic of all records; for the mode, of the centres of their buckets."""
        if statistic.ordered:
            return statistic(self.data.exact)
        return statistic(Histogram(self.data.centres, self.data.counts))


def simulate(noise: DropNoise, public: Public | None = None) -> Simulated:
    """Release the flights, or other public records, at fixed quantiles of the noise.

    >>> simulate(DropNoise(1, "1e-6")).max_drop
    27
    """
    data = public or flights()
    sums = list(accumulate(noise.weights))
    drops = [bisect_right(sums, _fixed(place) << (noise.bits - 64)) for place in data.index.tolist()]
    return Simulated(data, np.maximum(data.counts - np.array(drops, dtype=np.int64), 0), noise.max_drop)


def _fixed(bucket: int) -> int:
    """64 fixed bits for each bucket, evenly spread and without a visible pattern."""
    return int.from_bytes(hashlib.sha256(f"flexdp web {bucket}".encode()).digest()[:8], "big")
