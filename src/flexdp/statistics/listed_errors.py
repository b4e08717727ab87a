"""Lists of the most frequent keys: whether each is the exact one of data from which few records were left out.

A list of keys with counts c₁ ≥ c₂ ≥ … is exact once each listed key has been cut to its count and every other key to
less than the last, or to as much where it comes later: so the fewest records to leave out are a sum over all keys. If
the list is shorter than was asked for, all other keys must go.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import elements
from flexdp.histogram import Histogram

__all__ = ["listed_errors"]


def listed_errors(histogram: Histogram, outputs: list[Any], count: int, allowed: int) -> NDArray[np.float64]:
    """Return 0 for each exact list and infinity for others."""
    heights: dict[Any, int] = dict(histogram.items())
    ranks = {key: place for place, key in enumerate(heights)}
    counts = histogram.counts.astype(object) if histogram.size > 2**62 else histogram.counts
    above: dict[tuple[int, int], int] = {}  # records over the caps that the last pair sets, by its count and place

    def excess(last: int, place: int) -> int:
        if (last, place) not in above:
            caps = np.where(np.arange(len(counts)) < place, last - 1, last)
            above[last, place] = int(np.maximum(0, counts - caps).sum())
        return above[last, place]

    def cost(pairs: list[tuple[Any, int]]) -> float:
        places = [ranks[key] for key, _ in pairs]
        order = [(-records, place) for (_, records), place in zip(pairs, places, strict=True)]
        wrong = any(one >= two for one, two in pairwise(order)) or not 0 < len(pairs) <= count
        if wrong or any(not 1 <= records <= heights[key] for key, records in pairs):
            return math.inf
        if len(pairs) < count:
            return histogram.size - sum(records for _, records in pairs)
        last, end = pairs[-1][1], places[-1]
        spent = sum(heights[key] - records for key, records in pairs)
        saved = sum(
            max(0, heights[key] - (last - 1 if place < end else last))
            for (key, _), place in zip(pairs, places, strict=True)
        )
        return spent + excess(last, end) - saved

    known: dict[Any, float] = {}
    errors = np.full(len(outputs), math.inf)
    for run, output in enumerate(outputs):
        try:
            if output not in known:
                pairs = [(key, int(records)) for key, records in elements(output) or [] if records == int(records)]
                exact = len(pairs) == len(output) and all(key in heights for key, _ in pairs)
                known[output] = 0.0 if exact and cost(pairs) <= allowed else math.inf
            errors[run] = known[output]
        except Exception:  # noqa: BLE001  (no list of pairs; an object may raise anything when it is looked at)
            errors[run] = math.inf
    return errors
