"""One histogram in another: the records to drop, and the least distance by which the rest must move."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexdp.distances import line as _line
from flexdp.distances import transport as _transport
from flexdp.distances.axioms import Amount, called, ranked
from flexdp.distances.coupling import Coupling, Side, Transport
from flexdp.distances.inputs import Measure, Weighted, are_dates, line_coordinates, read_weights, scaled, weighted_pairs
from flexdp.errors import InputError, P
from flexdp.histogram import LARGEST_COUNT, Histogram

__all__ = ["check_histograms", "dropped_records", "embedding", "extension", "least_radius", "share_dropped"]

Dropped: TypeAlias = tuple[tuple[Any, int], ...]
Moved: TypeAlias = tuple[tuple[Any, Any, int], ...]


def check_histograms(x: object, y: object) -> None:
    """Check a pair of data sets."""
    if not (isinstance(x, Histogram) and isinstance(y, Histogram)):
        raise InputError(
            "x",
            ("and ", P("y"), " must be histograms"),
            remedy="Use Histogram.from_values or Histogram.from_counts.",
        )


def share_dropped(x: Histogram, y: Histogram) -> Fraction:
    """Return the share of the records of x by which y is smaller."""
    return Fraction(x.size - y.size, x.size) if x.size else Fraction(0)


def dropped_records(x: Histogram, y: Histogram) -> Dropped | None:
    """Return the records of x that y lacks, or None if y has some that x lacks."""
    check_histograms(x, y)
    wanted = dict(y.items())
    rest = [(key, count - wanted.pop(key, 0)) for key, count in x.items()]
    if wanted or any(count < 0 for _, count in rest):
        return None
    return tuple((key, count) for key, count in rest if count)


@dataclass(frozen=True, eq=False, slots=True)
class _Sides:
    """Two non-empty histograms on one line, with counts whose sums do not overflow."""

    x: NDArray[Any]
    y: NDArray[Any]
    a: NDArray[Any]
    b: NDArray[Any]


def _sides(x: Histogram, y: Histogram) -> _Sides:
    if x.keys.ndim != y.keys.ndim:
        raise _other_dimension()
    if are_dates(x.keys) != are_dates(y.keys):
        raise InputError(
            "x",
            ("and ", P("y"), " must both have dates as keys, or both numbers"),
            remedy="There is no distance between a date and a number.",
        )
    kind: Any = np.int64 if max(x.size, y.size) <= LARGEST_COUNT else object
    return _Sides(*line_coordinates(x.keys, y.keys, ("x", "y")), x.counts.astype(kind), y.counts.astype(kind))


def least_radius(x: Histogram, y: Histogram, metric: Any = None) -> Fraction | None:
    """Return the least b within which every record of y can be matched to one of x; None if x has too few."""
    check_histograms(x, y)
    if y.size > x.size:
        return None
    if not y.size:
        return Fraction(0)
    if metric is not None:
        found, levels = _embed_by(x, y, metric)
        return Fraction(levels[int(found.value)])
    if x.keys.ndim == 2:
        return Fraction(_embed_points(x, y).value)
    s = _sides(x, y)
    if x.size == y.size:
        return Fraction(_line.monotone_radius(s.x, s.y, s.a, s.b))
    return Fraction(_line.least_radius(s.x, s.y, s.a, s.b, y.size))


def _other_dimension() -> InputError:
    return InputError("x", ("and ", P("y"), " must have keys of the same dimension"))


def _embed_points(x: Histogram, y: Histogram) -> _transport.Threshold:
    """Embed y in x within the least Euclidean distance; for points of several dimensions."""
    if x.keys.ndim != y.keys.ndim or x.keys.shape[1] != y.keys.shape[1]:
        raise _other_dimension()
    kind: Any = np.int64 if x.size <= LARGEST_COUNT else object
    cost = np.sqrt(((x.keys[:, None, :] - y.keys[None, :, :]) ** 2).sum(axis=2))
    return _transport.least_threshold(cost, x.counts.astype(kind), y.counts.astype(kind), y.size)


def _embed_by(x: Histogram, y: Histogram, metric: Any) -> tuple[_transport.Threshold, list[Amount]]:
    """Embed y in x within the least distance by a metric: its rank among all distances, and those distances."""
    kind: Any = np.int64 if x.size <= LARGEST_COUNT else object
    here, there = [key for key, _ in x.items()], [key for key, _ in y.items()]
    _transport.check_pairs(len(here), len(there))
    if callable(metric):
        ranks, levels = ranked(called(metric, here, there, ("x", "y")))
    else:
        cost = _transport.cost_matrix(Measure(x.keys, None, None), Measure(y.keys, None, None), metric)
        ranks, levels = ranked(cost.tolist())
    return _transport.least_threshold(ranks, x.counts.astype(kind), y.counts.astype(kind), y.size), levels


def embedding(x: Histogram, y: Histogram, metric: Any = None) -> tuple[Dropped, Moved] | None:
    """Choose the records of x that become those of y, within the least distance: those dropped, and those moved."""
    check_histograms(x, y)
    if y.size > x.size:
        return None
    if not y.size:
        return tuple(x.items()), ()
    if metric is not None:
        pieces = _embed_by(x, y, metric)[0].pieces
    elif x.keys.ndim == 2:
        pieces = _embed_points(x, y).pieces
    else:
        s = _sides(x, y)
        if x.size == y.size:
            pieces = _line.monotone(s.a, s.b)
        else:
            pieces = _line.matched(s.x, s.y, s.a, s.b, _line.least_radius(s.x, s.y, s.a, s.b, y.size))
    here, there = [key for key, _ in x.items()], [key for key, _ in y.items()]
    rest = x.counts.tolist()
    moved = []
    for i, j, mass in zip(pieces.sources.tolist(), pieces.targets.tolist(), pieces.masses.tolist(), strict=True):
        rest[i] -= mass
        if here[i] != there[j]:
            moved.append((here[i], there[j], mass))
    dropped = tuple((key, count) for key, count in zip(here, rest, strict=True) if count)
    return dropped, tuple(moved)


def extension(distortion: Callable[[Any, Any], Any], p: Any, q: Any, *, trusted: bool) -> Transport:
    """Extend a quasi-metric to random points; one that is not ``trusted`` is checked on them."""
    (here, weights_p), (there, weights_q) = _law("p", p), _law("q", q)
    first = read_weights("p", Weighted(None, weights_p), len(here))
    second = read_weights("q", Weighted(None, weights_q), len(there))
    here, there = [here[i] for i in first.points], [there[j] for j in second.points]
    rows = called(distortion, here, there, ("p", "q"), name="distortion", symmetric=False, trusted=trusted)
    cost = np.array([[float(cell) for cell in row] for row in rows])
    scale = scaled(first, second)
    found = _transport.least_threshold(cost, scale.a, scale.b, scale.total)
    pieces = found.pieces
    sources, targets = first.given(pieces.sources), second.given(pieces.targets)

    def sides() -> tuple[Side, Side]:
        return Side(here, scale.a.tolist(), first.given(np.arange(len(here))).tolist()), Side(
            there, scale.b.tolist(), second.given(np.arange(len(there))).tolist()
        )

    return Transport(found.value, lambda: Coupling(sources, targets, pieces.masses, scale.total, sides))


def _law(name: str, given: Any) -> tuple[list[Any], list[Any]]:
    pairs = weighted_pairs(name, given)
    if pairs is None and isinstance(given, list):
        raise InputError(name, "must be a single point, or a list of pairs (point, probability)")
    pairs = [(given, 1)] if pairs is None else pairs
    return [point for point, _ in pairs], [chance for _, chance in pairs]
