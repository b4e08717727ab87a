"""Errors of reported sets and lists, for all runs at once; nothing attainable is enumerated.

*Supports.* If any attainable support lies within b of a report Y, so does the support of all keys within b of Y: it
leaves out the fewest records and covers the most of Y. So b must reach from every point of Y to some key, and at most
⌊αn⌋ records may lie further than b from Y.

*Most frequent keys.* A list of keys with counts c₁ ≥ c₂ ≥ … is exact once each listed key has been cut to its count and
every other key to less than the last, or to as much where it comes later: so the fewest records to leave out are a sum
over all keys. If the list is shorter than was asked for, all other keys must go.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import array, elements
from flexdp._core.keys import canonical_keys
from flexdp._core.nearest import nearest
from flexdp._core.text import safe_repr
from flexdp.errors import InputError
from flexdp.histogram import Histogram

__all__ = ["listed_errors", "support_errors"]

_CELLS = 2**20  # pairs of a report and a key in one block
_DENSE = 8  # places per key up to which every report gets a row of them

Floats = NDArray[np.float64]


def support_errors(histogram: Histogram, outputs: Sequence[Any], allowed: int) -> Floats:
    """Return one distance per run; None and the empty set are infinitely far from every support."""
    sets = [[] if output is None else _listed(output) for output in outputs]
    sizes = np.array([len(each) for each in sets], dtype=np.int64)
    errors = np.full(len(sets), math.inf)
    told = np.flatnonzero(sizes)
    if not len(told):
        return errors
    reported = _keys([*chain.from_iterable(sets)], histogram.keys)
    keys = _coordinates(histogram.keys)
    places = None if reported is None else _coordinates(reported)
    if keys is None or places is None or keys.ndim != places.ndim or keys.shape[1:] != places.shape[1:]:
        for run in told:
            errors[run] = _without_distance(histogram, set(sets[run]), allowed)
        return errors
    ends = np.cumsum(sizes[told])
    starts = ends - sizes[told]
    step = max(1, _CELLS // len(keys))
    if keys.ndim == 2:
        step = max(1, step // int(sizes.max()))
    for first in range(0, len(told), step):
        block = slice(first, first + step)
        inside = slice(int(starts[first]), int(ends[min(first + step, len(told)) - 1]))
        errors[told[block]] = _block(histogram, keys, places[inside], sizes[told[block]], allowed)
    return errors


def _block(histogram: Histogram, keys: Floats, points: Floats, sizes: NDArray[np.int64], allowed: int) -> Floats:
    """Return the errors of some reports: points, one report after the other, with the number of points of each."""
    run = np.repeat(np.arange(len(sizes)), sizes)
    starts = np.cumsum(sizes) - sizes
    if keys.ndim == 2:
        gaps = np.sqrt(((points[:, None, :] - keys[None, :, :]) ** 2).sum(axis=2))
        to_keys = gaps.min(axis=1)
        from_report = np.minimum.reduceat(gaps, starts, axis=0)
    else:
        line = np.unique(np.concatenate((keys, points)))
        places = np.searchsorted(line, points)
        to_keys = nearest(keys, line).gap[places]
        few = len(line) <= _DENSE * len(keys)
        from_report = (_nearest_on_few_places if few else _nearest_in_own)(keys, line, places, run, len(sizes))
    return np.asarray(np.maximum(np.maximum.reduceat(to_keys, starts), _furthest_kept(histogram, from_report, allowed)))


def _furthest_kept(histogram: Histogram, gaps: Floats, allowed: int) -> Floats:
    """Return for each report the gap of the furthest key that the budget does not cover, if the furthest go first."""
    counts: NDArray[Any] = histogram.counts if histogram.size <= 2**62 else histogram.counts.astype(object)
    removable = int(np.searchsorted(np.cumsum(np.sort(counts)), allowed, side="right"))  # keys that can go at most
    if not removable:
        return np.asarray(gaps.max(axis=1))
    last = len(counts) - 1 - removable  # no more than these have to be put in order
    order = (
        np.argpartition(gaps, last, axis=1)[:, last:] if last > 0 else np.tile(np.arange(len(counts)), (len(gaps), 1))
    )
    far = np.take_along_axis(gaps, order, axis=1)
    descending = np.argsort(-far, axis=1, kind="stable")
    spent = np.cumsum(counts[np.take_along_axis(order, descending, axis=1)], axis=1)
    first_kept = (spent > allowed).argmax(axis=1)
    return np.asarray(np.take_along_axis(far, descending, axis=1)[np.arange(len(gaps)), first_kept])


def _nearest_in_own(keys: Floats, line: Floats, places: NDArray[np.intp], run: NDArray[np.int64], runs: int) -> Floats:
    """Return the distance from each key to the nearest point of each report, by ranks, so that runs do not mix."""
    width = len(line) + 1
    ranked = np.sort(run * width + places)
    owners, points = ranked // width, line[ranked % width]
    wanted = (np.arange(runs)[:, None] * width + np.searchsorted(line, keys)[None, :]).ravel()
    after = np.searchsorted(ranked, wanted)
    owner = np.repeat(np.arange(runs), len(keys))
    place = np.tile(keys, runs)
    gaps = np.full(len(wanted), math.inf)
    for found in (after - 1, after):
        inside = np.flatnonzero((found >= 0) & (found < len(points)))
        inside = inside[owners[found[inside]] == owner[inside]]
        gaps[inside] = np.minimum(gaps[inside], np.abs(points[found[inside]] - place[inside]))
    return gaps.reshape(runs, len(keys))


def _nearest_on_few_places(
    keys: Floats, line: Floats, places: NDArray[np.intp], run: NDArray[np.int64], runs: int
) -> Floats:
    """Do the same with one row of all places per report, along which the last and the next point are carried on."""
    before = np.full((runs, len(line)), -math.inf)
    after = np.full((runs, len(line)), math.inf)
    before[run, places] = after[run, places] = line[places]
    at = np.searchsorted(line, keys)
    last = np.maximum.accumulate(before, axis=1)[:, at]
    following = np.minimum.accumulate(after[:, ::-1], axis=1)[:, ::-1][:, at]
    return np.minimum(keys - last, following - keys)


def _listed(output: Any) -> list[Any]:
    points = elements(output)
    if points is None:
        raise InputError("outputs", "must hold a set of values, or None, for each run", given=safe_repr(output))
    if points and isinstance(points[0], np.ndarray):
        return [tuple(point.tolist()) if isinstance(point, np.ndarray) else point for point in points]
    return points


def _keys(points: list[Any], like: NDArray[Any]) -> NDArray[Any] | None:
    found = canonical_keys(_array(points))
    if found.ndim != like.ndim or found.shape[1:] != like.shape[1:]:
        rule = "must hold sets of single values, not of points"
        if like.ndim == 2:
            rule = f"must hold sets of points with {like.shape[1]} coordinates, as the keys have"
        raise InputError("outputs", rule)
    return found


def _array(points: list[Any]) -> Any:
    """Return numbers as an array where that changes none of them, since arrays are checked much faster."""
    numbers = array(points) if isinstance(points[0], int | float | tuple) else None
    if numbers is None or not numbers.size or numbers.dtype.kind not in "if" or numbers.ndim > 2:
        return points
    small = numbers.dtype.kind == "i" or float(np.abs(numbers).max()) <= 2**53
    return numbers if small else points


def _coordinates(cells: NDArray[Any]) -> Floats | None:
    """Return the positions of keys: numbers and points as they are, dates by their day; None for texts."""
    if isinstance(cells.flat[0], str):
        return None
    if isinstance(cells.flat[0], dt.date):
        return np.array([day.toordinal() for day in cells], dtype=np.float64)
    return cells.astype(np.float64)


def _without_distance(histogram: Histogram, points: set[Any], allowed: int) -> float:
    """Return the error of a report whose keys are either equal or infinitely far apart."""
    missing = sum(records for key, records in histogram.items() if key not in points)
    return 0.0 if points <= set(histogram.keys.tolist()) and missing <= allowed else math.inf


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
