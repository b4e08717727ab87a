"""The example on the page: public flights, released with fixed random numbers, beside the truth.

The table is public, so the truth may be shown. The random numbers are fixed, one for each bucket, and go through the
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
from flexdp.buckets.width import Width
from flexdp.guarantees import Privacy
from flexdp.histogram import Histogram
from flexdp.noise.drop import DropNoise
from flexdp.statistics import Statistic
from flexdp.tables import count

__all__ = ["MOST_LOST", "Flights", "Simulated", "flights", "simulate"]

MOST_LOST = 5000  # from a bucket: beyond it, the example is not computed
_BUCKETS = Width("integer", Fraction(15), (Fraction(-60), Fraction(1440)))


@dataclass(frozen=True, slots=True)
class Flights:
    """Departure delays of the shipped flights in minutes: one by one, and in buckets of 15 minutes."""

    delays: Histogram
    index: NDArray[np.int64]
    counts: NDArray[np.int64]

    @property
    def centres(self) -> NDArray[Any]:
        """The centre of each bucket."""
        return _BUCKETS.centres(self.index)

    @property
    def spans(self) -> list[tuple[float, float]]:
        """The ends of each bucket, in minutes."""
        return [(float(bucket.lower), float(bucket.upper) + 1) for bucket in _BUCKETS.edges_of(self.index)]

    @property
    def within(self) -> Fraction:
        """The greatest distance of a value from the centre of its bucket."""
        return _BUCKETS.beta


@lru_cache(maxsize=1)
def flights() -> Flights:
    """Return the delays, which are counted once."""
    with as_file(files("flexdp") / "data" / "flights.parquet") as path:
        question = prepare(path, "departure_delay", exact=True).questions[0]
        counted = count(question.table, [question.counting])[0]
    delays = Histogram(counted.parts[0], counted.counts)
    index, place = np.unique(_BUCKETS.locate(delays.keys), return_inverse=True)
    sums = np.zeros(len(index), dtype=np.int64)
    np.add.at(sums, place, delays.counts)
    return Flights(delays, index, sums)


@dataclass(frozen=True, slots=True)
class Simulated:
    """Records left in each bucket, in the order of :attr:`Flights.index`."""

    flights: Flights
    left: NDArray[np.int64]
    max_drop: int

    @property
    def histogram(self) -> Histogram:
        """The histogram that would be published."""
        there = self.left > 0
        return Histogram(self.flights.centres[there], self.left[there])

    @property
    def lost(self) -> int:
        """The number of flights left out."""
        return int((self.flights.counts - self.left).sum())

    @property
    def vanished(self) -> int:
        """The number of buckets that lost all their flights."""
        return int((self.left == 0).sum())

    def published(self, statistic: Statistic) -> Any:
        """Return the statistic of the flights that are left; None if there are none."""
        histogram = self.histogram
        return statistic(histogram) if len(histogram) else None

    def truth(self, statistic: Statistic) -> Any:
        """Return the statistic of all flights; for the mode, of the centres of their buckets."""
        if statistic.ordered:
            return statistic(self.flights.delays)
        return statistic(Histogram(self.flights.centres, self.flights.counts))


def simulate(privacy: Privacy) -> Simulated:
    """Release the flights at fixed quantiles of the noise that gives each bucket this privacy.

    >>> simulate(Privacy(epsilon=1, delta="1e-6")).max_drop
    27
    """
    public, noise = flights(), DropNoise(privacy.epsilon, privacy.delta)
    sums = list(accumulate(noise.weights))
    drops = [bisect_right(sums, _fixed(place) << (noise.bits - 64)) for place in public.index.tolist()]
    return Simulated(public, np.maximum(public.counts - np.array(drops, dtype=np.int64), 0), noise.max_drop)


def _fixed(bucket: int) -> int:
    """64 fixed bits for each bucket, evenly spread and without a visible pattern."""
    return int.from_bytes(hashlib.sha256(f"flexdp web {bucket}".encode()).digest()[:8], "big")
