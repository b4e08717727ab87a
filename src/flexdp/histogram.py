"""Immutable multisets: sorted keys with how often each occurs, and keys of several parts.

A histogram has one key a bar; a release by group, or over several columns, has more. What is read off is always a
histogram again: of one group, of all groups together, or of one column of several.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import elements, pairs
from flexdp._core.text import plain_scalar, safe_repr
from flexdp.errors import InputError

__all__ = ["Histogram", "KeyedHistogram"]

LARGEST_COUNT = 2**63 - 1


class Histogram:
    """How many records lie at each key: numbers, strings, dates, booleans, or points given as rows or tuples.

    Keys that are equal are one bar (1, 1.0 and True; 0.0 and −0.0), bars without records are no bars, and a
    count beyond 2^63 − 1 stays there. The text form never shows the content, which may be private: ask for
    ``keys`` and ``counts``.

    >>> h = Histogram.from_values([3, 1, 3.0])
    >>> h.keys.tolist(), h.counts.tolist(), h.size, len(h)
    ([1.0, 3.0], [1, 2], 3, 2)
    """

    __slots__ = ("_counts", "_keys")

    def __init__(self, keys: Sequence[Any] | NDArray[Any], counts: Sequence[int] | NDArray[Any]) -> None:
        heights = _heights(counts)
        points = canonical_keys(keys)
        if len(points) != len(heights):
            raise InputError("counts must be as many as keys; give one count for each key.")
        self._keys, self._counts = _gather(points, heights)
        self._keys.flags.writeable = False
        self._counts.flags.writeable = False

    @classmethod
    def from_counts(cls, counts: Mapping[Any, int]) -> Histogram:
        """A histogram from a mapping of keys to counts."""
        given = pairs(counts)
        if given is None:
            raise InputError(f"counts must be a mapping of keys to counts; got {safe_repr(counts)}.")
        return cls([key for key, _ in given], [count for _, count in given])

    @classmethod
    def from_values(cls, values: Iterable[Any]) -> Histogram:
        """A histogram of single records."""
        keys = values if isinstance(values, np.ndarray) else elements(values)
        if keys is None or (isinstance(keys, np.ndarray) and not keys.ndim):
            raise InputError(f"values must be a list or an array of values; got {safe_repr(values)}.")
        return cls(keys, np.ones(len(keys), dtype=np.int64))

    @property
    def keys(self) -> NDArray[Any]:
        """The keys, ascending; read-only."""
        return self._keys

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many records lie at each key; read-only."""
        return self._counts

    @property
    def size(self) -> int:
        """The number of records."""
        if not len(self._counts):
            return 0
        if int(self._counts.max()) * len(self._counts) <= LARGEST_COUNT:
            return int(self._counts.sum())
        return sum(self._counts.tolist())

    def items(self) -> Iterator[tuple[Any, int]]:
        """Pairs of key and count, in the order of the keys, as plain Python values."""
        return zip(self._plain_keys(), self._counts.tolist(), strict=True)

    def _plain_keys(self) -> list[Any]:
        keys = self._keys.tolist()
        return keys if self._keys.ndim == 1 else [tuple(key) for key in keys]

    def __len__(self) -> int:
        return len(self._keys)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Histogram):
            return NotImplemented
        return np.array_equal(self._keys, other._keys) and np.array_equal(self._counts, other._counts)

    def __hash__(self) -> int:
        return hash((tuple(self._plain_keys()), tuple(self._counts.tolist())))

    def __repr__(self) -> str:
        return "<Histogram>"


def _heights(counts: Sequence[int] | NDArray[Any]) -> NDArray[np.int64]:
    if isinstance(counts, np.ndarray) and counts.dtype.kind == "i":
        if counts.ndim != 1 or (len(counts) and counts.min() < 0):
            raise InputError("counts must be a flat sequence of whole numbers of at least 0.")
        return counts.astype(np.int64)
    whole: list[int] = []
    given = elements(counts.tolist() if isinstance(counts, np.ndarray) else counts)
    for count in [None] if given is None else given:
        number = plain_scalar(count.item() if isinstance(count, np.integer | np.floating) else count)
        if (
            isinstance(number, bool)
            or not isinstance(number, int | float | Fraction)
            or not math.isfinite(number)
            or number != number // 1
            or number < 0
        ):
            raise InputError("counts must be a flat sequence of whole numbers of at least 0.")
        whole.append(min(int(number), LARGEST_COUNT))
    return np.array(whole, dtype=np.int64)


def canonical_keys(keys: Sequence[Any] | NDArray[Any]) -> NDArray[Any]:
    """Keys as one array: bool, int64, float64, or Python objects (texts, dates, numbers too large for either)."""
    if isinstance(keys, np.ndarray) and keys.ndim == 2 and keys.dtype.kind in "iuf":
        return _finite(keys.astype(np.float64))  # points, a row each
    if isinstance(keys, np.ndarray) and keys.ndim != 1:
        raise InputError("keys must be a flat sequence, or a table of points with a row each.")
    if isinstance(keys, np.ndarray) and keys.dtype.kind in "biuf":
        if keys.dtype.kind == "b":
            return keys.copy()
        if keys.dtype.kind == "i" or (keys.dtype.kind == "u" and keys.dtype.itemsize < 8):
            return keys.astype(np.int64)
        if keys.dtype.kind == "f":
            return _finite(keys.astype(np.float64))
    listed = elements(keys.tolist() if isinstance(keys, np.ndarray) else keys)
    if listed is None:
        raise InputError(f"keys must be a flat sequence, or a table of points with a row each; got {safe_repr(keys)}.")
    cells: list[Any] = [plain_scalar(key) for key in listed]
    if not cells:
        return np.empty(0, dtype=np.int64)
    if all(isinstance(k, bool | np.bool_) for k in cells):
        return np.array(cells, dtype=bool)
    if all(isinstance(k, Real | Decimal) for k in cells):
        return _number_keys(cells)
    if all(isinstance(k, str) for k in cells):
        return object_keys(cells)
    if all(isinstance(k, dt.date) and not isinstance(k, dt.datetime) for k in cells):
        return object_keys(cells)
    if all(isinstance(k, dt.datetime) and k.tzinfo is None for k in cells):
        return object_keys(cells)
    if all(isinstance(k, tuple) and k and all(isinstance(part, Real) for part in k) for k in cells):
        if len({len(k) for k in cells}) == 1:
            return _finite(np.array(cells, dtype=np.float64))
        raise InputError("keys must be points of one dimension; do not mix them.")
    raise InputError("keys must be all numbers, all texts, all dates or all booleans; do not mix them.")


def _number_keys(cells: list[Any]) -> NDArray[Any]:
    if all(isinstance(k, Integral | np.bool_) for k in cells):
        whole = [int(k) for k in cells]
        fits = all(-(2**63) <= k < 2**63 for k in whole)
        return np.array(whole, dtype=np.int64) if fits else object_keys(whole)
    if any(isinstance(k, Fraction) for k in cells):
        return object_keys([_exact_key(k) for k in cells])
    try:
        return _finite(np.array([float(k) for k in cells], dtype=np.float64))
    except OverflowError:
        raise InputError("keys must be finite as doubles where they are not all whole.") from None


def _exact_key(key: Any) -> Any:
    """A number that stays what it is: doubles remain doubles beside rationals."""
    if isinstance(key, float) and math.isfinite(key):
        return key + 0.0
    return Fraction(key)


def _finite(keys: NDArray[np.float64]) -> NDArray[np.float64]:
    if not np.isfinite(keys).all():
        raise InputError("keys must be finite; leave out NaN and infinities.")
    return keys + 0.0  # −0.0 becomes 0.0


def object_keys(cells: list[Any]) -> NDArray[Any]:
    """Python objects as an array, one object a cell."""
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array


def _gather(keys: NDArray[Any], counts: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Sort by key, sum equal keys, forget empty bars."""
    present = counts > 0
    keys, counts = keys[present], counts[present]
    if not len(keys):
        return keys, counts
    order = np.argsort(keys, kind="stable") if keys.ndim == 1 else np.lexsort(keys.T[::-1])
    keys, counts = keys[order], counts[order]
    changes = keys[1:] != keys[:-1]
    first = np.concatenate(([True], changes if keys.ndim == 1 else changes.any(axis=1))).astype(bool)
    if first.all():
        return keys, counts
    starts = np.flatnonzero(first)
    if int(counts.max()) * len(counts) <= LARGEST_COUNT:
        return keys[starts], np.add.reduceat(counts, starts)
    sums = np.add.reduceat(counts.astype(object), starts)
    return keys[starts], np.array([min(s, LARGEST_COUNT) for s in sums], dtype=np.int64)


def _numbered(column: NDArray[Any]) -> tuple[NDArray[np.int64], int]:
    """Whole numbers in the order of a column's keys, below a size: differences where keys are near, else ranks."""
    if len(column) and column.dtype.kind == "i":
        low, high = int(column.min()), int(column.max())
        if high - low < 2**31:
            return (column - low).astype(np.int64), high - low + 1
    return _ranked(column)


def _ranked(column: NDArray[Any]) -> tuple[NDArray[np.int64], int]:
    distinct, code = np.unique(column, return_inverse=True)
    return code.reshape(-1).astype(np.int64), max(len(distinct), 1)


class KeyedHistogram:
    """Parts of keys, column by column, and how many records each bar holds. Equal bars are one, sorted by their parts.

    The text form never shows the content, which may be private.
    """

    __slots__ = ("_counts", "_parts")

    def __init__(self, parts: Sequence[Any], counts: Any) -> None:
        columns = [canonical_keys(part) for part in parts]
        if len(columns) == 1:
            alone = Histogram(columns[0], counts)
            self._parts: tuple[NDArray[Any], ...] = (alone.keys,)
            self._counts = alone.counts
            return
        rank, top = np.zeros(len(columns[0]), dtype=np.int64), 1
        for column in columns:
            code, size = _numbered(column)
            if top * size >= 2**62:  # numbered anew, so that numbers stay below 2^62
                rank, top = _numbered(rank)
                code, size = _ranked(column)
            rank, top = rank * size + code, top * size
        order = np.argsort(rank)
        ordered = rank[order]
        heights = np.asarray(counts)
        if heights.dtype == np.int64 and heights.min(initial=1) > 0 and np.all(ordered[1:] != ordered[:-1]):
            rows, self._counts = order, heights[order]
        else:
            joint = Histogram(rank, counts)  # sums equal bars, forgets empty ones
            rows, self._counts = order[np.searchsorted(ordered, joint.keys)], joint.counts
        self._parts = tuple(column[rows] for column in columns)
        for part in self._parts:
            part.flags.writeable = False
        self._counts.flags.writeable = False

    @property
    def parts(self) -> tuple[NDArray[Any], ...]:
        """The parts of the keys, one array each; read-only."""
        return self._parts

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many records each bar holds; read-only."""
        return self._counts

    def with_counts(self, counts: NDArray[np.int64]) -> KeyedHistogram:
        """The same bars with other counts; those without records are no bars, and leave no trace, not even a dtype."""
        kept = counts > 0
        out = object.__new__(KeyedHistogram)
        out._parts = tuple(
            part[kept] if part.dtype != object else canonical_keys(part[kept].tolist()) for part in self._parts
        )
        out._counts = counts[kept]
        for array in (*out._parts, out._counts):
            array.flags.writeable = False
        return out

    def rows(self, parts: slice) -> list[tuple[Any, ...]]:
        """Some parts of each bar's key, as plain Python values."""
        return list(zip(*(part.tolist() for part in self._parts[parts]), strict=True))

    def histogram(self, places: Sequence[int], chosen: slice = slice(None)) -> Histogram:
        """The bars by the parts at some places, all others summed over; several parts make points."""
        parts = [self._parts[place][chosen] for place in places]
        keys = parts[0] if len(parts) == 1 else np.stack([part.astype(np.float64) for part in parts], axis=1)
        return Histogram(keys, self._counts[chosen])

    def __len__(self) -> int:
        return len(self._counts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KeyedHistogram):
            return NotImplemented
        same = len(self._parts) == len(other._parts) and np.array_equal(self._counts, other._counts)
        return same and all(np.array_equal(a, b) for a, b in zip(self._parts, other._parts, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "<KeyedHistogram>"
