"""Immutable multisets: sorted keys with their counts, and keys of several parts.

A :class:`Histogram` has one key per count. A release by group, or over several columns, has keys of several parts: a
:class:`KeyedHistogram`, from which histograms of one group, of all groups together or of one column are taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import elements, pairs
from flexdp._core.keys import canonical_keys
from flexdp._core.text import plain_scalar, safe_repr
from flexdp.errors import InputError, P

__all__ = ["Histogram", "KeyedHistogram"]

LARGEST_COUNT = 2**63 - 1


class Histogram:
    """Immutable multiset of records: sorted keys with their counts.

    Equal keys are one (1, 1.0 and True; 0.0 and −0.0), their counts are summed; keys without records are dropped, and a
    count beyond 2^63 − 1 is capped there. The repr never shows the content, which may be private: use ``keys`` and
    ``counts``.

    Parameters
    ----------
    keys
        Numbers, strings, dates, datetimes or booleans, not mixed; or points, as tuples or the rows of an array.
    counts
        Number of records at each key.

    Examples
    --------
    >>> h = Histogram(["b", "a", "b"], [2, 1, 5])
    >>> h.keys.tolist(), h.counts.tolist(), h.size, len(h)
    (['a', 'b'], [1, 7], 8, 2)
    >>> h
    <Histogram>
    """

    __slots__ = ("_counts", "_keys")

    def __init__(self, keys: Sequence[Any] | NDArray[Any], counts: Sequence[int] | NDArray[Any]) -> None:
        heights = _heights(counts)
        points = canonical_keys(keys)
        if len(points) != len(heights):
            raise InputError("counts", ("must be as many as ", P("keys")), remedy="Give one count for each key.")
        self._keys, self._counts = _gather(points, heights)
        self._keys.flags.writeable = False
        self._counts.flags.writeable = False

    @classmethod
    def from_counts(cls, counts: Mapping[Any, int]) -> Histogram:
        """Build a histogram from a mapping of keys to counts.

        Parameters
        ----------
        counts
            Number of records at each key.

        Returns
        -------
        Histogram
            The histogram.

        Raises
        ------
        InputError
            If ``counts`` is not a mapping, or its keys or counts are not valid.

        Examples
        --------
        >>> Histogram.from_counts({10: 90, 20: 9, 70: 1}).size
        100
        """
        given = pairs(counts)
        if given is None:
            raise InputError("counts", "must be a mapping of keys to counts", given=safe_repr(counts))
        return cls([key for key, _ in given], [count for _, count in given])

    @classmethod
    def from_values(cls, values: Iterable[Any]) -> Histogram:
        """Build a histogram from single records.

        Parameters
        ----------
        values
            One value per record: a list, an array or any other iterable.

        Returns
        -------
        Histogram
            The histogram.

        Raises
        ------
        InputError
            If ``values`` is not iterable, or its values are mixed or not finite.

        Examples
        --------
        >>> dict(Histogram.from_values([3, 1, 3.0]).items())
        {1.0: 1, 3.0: 2}
        """
        keys = values if isinstance(values, np.ndarray) else elements(values)
        if keys is None or (isinstance(keys, np.ndarray) and not keys.ndim):
            raise InputError("values", "must be a list or an array of values", given=safe_repr(values))
        return cls(keys, np.ones(len(keys), dtype=np.int64))

    @property
    def keys(self) -> NDArray[Any]:
        """Keys in ascending order; read-only."""
        return self._keys

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of records at each key; read-only."""
        return self._counts

    @property
    def size(self) -> int:
        """Number of records."""
        if not len(self._counts):
            return 0
        if int(self._counts.max()) * len(self._counts) <= LARGEST_COUNT:
            return int(self._counts.sum())
        return sum(self._counts.tolist())

    def items(self) -> Iterator[tuple[Any, int]]:
        """Iterate over pairs of key and count, in the order of the keys.

        Returns
        -------
        Iterator
            Pairs of plain Python values; a point is a tuple.

        Examples
        --------
        >>> list(Histogram(["b", "a"], [2, 1]).items())
        [('a', 1), ('b', 2)]
        """
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
            raise _bad_counts()
        return counts.astype(np.int64, copy=False)  # sorting copies them
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
            raise _bad_counts()
        whole.append(min(int(number), LARGEST_COUNT))
    return np.array(whole, dtype=np.int64)


def _bad_counts() -> InputError:
    return InputError("counts", "must be a flat sequence of whole numbers of at least 0")


def _gather(keys: NDArray[Any], counts: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Sort by key, sum equal keys, drop keys without records."""
    present = counts > 0
    if not present.all():  # copies of 10^8 keys take a gigabyte each
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
    """Number a column's keys in order, by differences if they are close, otherwise by rank; return a bound too."""
    if len(column) and column.dtype.kind == "i":
        low, high = int(column.min()), int(column.max())
        if high - low < 2**31:
            return (column - low).astype(np.int64), high - low + 1
    return _ranked(column)


def _ranked(column: NDArray[Any]) -> tuple[NDArray[np.int64], int]:
    distinct, code = np.unique(column, return_inverse=True)
    return code.reshape(-1).astype(np.int64), max(len(distinct), 1)


class KeyedHistogram:
    """Immutable multiset of records with keys of several parts, sorted by these.

    Equal keys are one, their counts are summed. The repr never shows the content, which may be private.

    Parameters
    ----------
    parts
        The parts of the keys, one sequence each, of equal length.
    counts
        Number of records at each key.

    Examples
    --------
    >>> cells = KeyedHistogram([["b", "a", "b"], [1, 1, 2]], [5, 2, 1])
    >>> cells.rows(slice(0, 2)), cells.counts.tolist()
    ([('a', 1), ('b', 1), ('b', 2)], [2, 5, 1])
    >>> dict(cells.histogram([1]).items())
    {1: 7, 2: 1}
    """

    __slots__ = ("_counts", "_parts")

    def __init__(self, parts: Sequence[Any], counts: Any) -> None:
        if len(parts) == 1:
            alone = Histogram(parts[0], counts)
            self._parts: tuple[NDArray[Any], ...] = (alone.keys,)
            self._counts = alone.counts
            return
        columns = [canonical_keys(part) for part in parts]
        rank, top = np.zeros(len(columns[0]), dtype=np.int64), 1
        for column in columns:
            code, size = _numbered(column)
            if top * size >= 2**62:  # renumber, so that the product stays below 2^62
                rank, top = _numbered(rank)
                code, size = _ranked(column)
            rank, top = rank * size + code, top * size
        order = np.argsort(rank)
        ordered = rank[order]
        heights = np.asarray(counts)
        if heights.dtype == np.int64 and heights.min(initial=1) > 0 and np.all(ordered[1:] != ordered[:-1]):
            rows, self._counts = order, heights[order]
        else:
            joint = Histogram(rank, counts)  # sums equal keys, drops empty ones
            rows, self._counts = order[np.searchsorted(ordered, joint.keys)], joint.counts
        self._parts = tuple(column[rows] for column in columns)
        for part in self._parts:
            part.flags.writeable = False
        self._counts.flags.writeable = False

    @property
    def parts(self) -> tuple[NDArray[Any], ...]:
        """Parts of the keys, one array each; read-only."""
        return self._parts

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of records at each key; read-only."""
        return self._counts

    def with_counts(self, counts: NDArray[np.int64]) -> KeyedHistogram:
        """Return the same keys with other counts.

        Parameters
        ----------
        counts
            New counts, in the order of the keys. Keys without records are dropped and leave no trace, not even a dtype.

        Returns
        -------
        KeyedHistogram
            The keys that are left.

        Examples
        --------
        >>> cells = KeyedHistogram([["a", "b"], [1, 1]], [5, 2])
        >>> cells.with_counts(np.array([0, 1])).rows(slice(0, 2))
        [('b', 1)]
        """
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
        """Return some parts of each key as plain Python values.

        Parameters
        ----------
        parts
            Slice of the parts.

        Returns
        -------
        list of tuple
            One tuple per key.
        """
        return list(zip(*(part.tolist() for part in self._parts[parts]), strict=True))

    def histogram(self, places: Sequence[int], chosen: slice = slice(None)) -> Histogram:
        """Return the histogram of some parts of the keys, summed over all others.

        Parameters
        ----------
        places
            Places of the parts; several of them make points.
        chosen
            Slice of the keys to count; all of them unless given.

        Returns
        -------
        Histogram
            The histogram.
        """
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

    def __hash__(self) -> int:
        return hash((tuple(self._counts.tolist()), *(tuple(part.tolist()) for part in self._parts)))

    def __repr__(self) -> str:
        return "<KeyedHistogram>"
