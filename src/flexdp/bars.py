"""Bars: an immutable multiset whose keys have several parts, a column each: groups, and buckets of one or more columns.

A histogram has one key a bar; a release by group, or over several columns, has more. What is read off is always a
histogram again: of one group, of all groups together, or of one column of several.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp.histogram import Histogram, canonical_keys

__all__ = ["Bars"]


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


class Bars:
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

    def with_counts(self, counts: NDArray[np.int64]) -> Bars:
        """The same bars with other counts; those without records are no bars, and leave no trace, not even a dtype."""
        kept = counts > 0
        out = object.__new__(Bars)
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
        if not isinstance(other, Bars):
            return NotImplemented
        same = len(self._parts) == len(other._parts) and np.array_equal(self._counts, other._counts)
        return same and all(np.array_equal(a, b) for a, b in zip(self._parts, other._parts, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "<Bars>"
