"""An example to look at: public flights, released by fixed numbers, beside their truth.

The table is public, so its truth may be shown. The numbers that stand in for chance are fixed, one for each bucket, and
go through the real law of the noise: as ε moves, each bucket's loss moves along with it instead of being drawn anew.
Nothing here protects anybody, and no release is made this way.
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
from flexdp.buckets.width import Width
from flexdp.guarantees import Privacy
from flexdp.histogram import Histogram
from flexdp.noise.drop import DropNoise
from flexdp.statistics import Statistic
from flexdp.tables import count

__all__ = ["MOST_LOST", "Flights", "Simulated", "flights", "simulate"]

MOST_LOST = 5000  # the noise of an example that loses more from a bucket is not worked out
_BUCKETS = Width("integer", Fraction(15), (Fraction(-60), Fraction(1440)))


@dataclass(frozen=True, slots=True)
class Flights:
    """The departure delays of the shipped flights in minutes: each one, and by buckets of a quarter of an hour."""

    delays: Histogram
    index: NDArray[np.int64]
    counts: NDArray[np.int64]

    @property
    def centres(self) -> NDArray[Any]:
        return _BUCKETS.centres(self.index)

    @property
    def spans(self) -> list[tuple[float, float]]:
        """Where each bucket begins and ends on the scale of minutes."""
        return [(float(bucket.lower), float(bucket.upper) + 1) for bucket in _BUCKETS.edges_of(self.index)]

    @property
    def within(self) -> Fraction:
        """How far a bucket's middle may be from a value in it."""
        return _BUCKETS.beta


@lru_cache(maxsize=1)
def flights() -> Flights:
    """The delays, counted once."""
    with as_file(files("flexdp") / "data" / "flights.parquet") as path:
        question = prepare(path, "departure_delay").questions[0]
        counted = count(question.table, [question.counting])[0]
    delays = Histogram(counted.parts[0], counted.counts)
    index, place = np.unique(_BUCKETS.locate(delays.keys), return_inverse=True)
    sums = np.zeros(len(index), dtype=np.int64)
    np.add.at(sums, place, delays.counts)
    return Flights(delays, index, sums)


@dataclass(frozen=True, slots=True)
class Simulated:
    """What is left of each bucket, in the order of :attr:`Flights.index`."""

    flights: Flights
    left: NDArray[np.int64]
    max_drop: int

    @property
    def histogram(self) -> Histogram:
        """What would be published."""
        there = self.left > 0
        return Histogram(self.flights.centres[there], self.left[there])

    @property
    def lost(self) -> int:
        return int((self.flights.counts - self.left).sum())

    @property
    def vanished(self) -> int:
        return int((self.left == 0).sum())

    def published(self, statistic: Statistic) -> Any:
        """The statistic of what is left; None where nothing is."""
        histogram = self.histogram
        return statistic(histogram) if len(histogram) else None

    def truth(self, statistic: Statistic) -> Any:
        """The statistic of all flights; the most frequent value among the buckets' middles."""
        if statistic.ordered:
            return statistic(self.flights.delays)
        return statistic(Histogram(self.flights.centres, self.flights.counts))


def simulate(bar: Privacy) -> Simulated:
    """The flights under the noise of one bucket that ``bar`` allows, at fixed quantiles of it.

    >>> simulate(Privacy(epsilon=1, delta="1e-6")).max_drop
    27
    """
    public, noise = flights(), DropNoise(bar.epsilon, bar.delta)
    sums = list(accumulate(noise.weights))
    drops = [bisect_right(sums, _fixed(place) << (noise.bits - 64)) for place in public.index.tolist()]
    return Simulated(public, np.maximum(public.counts - np.array(drops, dtype=np.int64), 0), noise.max_drop)


def _fixed(bucket: int) -> int:
    """64 bits that belong to a bucket, spread evenly and without a pattern to see."""
    return int.from_bytes(hashlib.sha256(f"flexdp web {bucket}".encode()).digest()[:8], "big")
