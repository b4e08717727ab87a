"""Cells of a column in memory: values told apart by the leading bits of their doubles, in the order of the values."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexdp.sharp.scale import NUMBERS, Scale

__all__ = ["Cells", "Cuts"]

_CELL_BITS = 18  # of the number of cells
_OCTAVES = 32  # below the greatest magnitude; smaller ones share a cell
_SAMPLE, _RARELY = 4096, 512  # records whose magnitudes are looked at, and the part of them that may share a cell
_MAGNITUDE = np.int64(2**63 - 1)


def _bits(value: float) -> int:
    """The bits of a positive double, which are in the order of the values."""
    return int(np.float64(value).view(np.int64))


_SMALLEST = _bits(1e-30)


def _first_integer(end: float) -> int:
    """The least integer whose nearest double is not below a double."""
    first = math.ceil(end)
    if abs(first) <= 2**53:
        return first
    before = int(math.nextafter(end, -math.inf))  # about half of the integers between the two are rounded up
    return before + bisect_left(range(first - before), end, key=lambda more: float(before + more))


class Cells:
    """Where the cells of a column begin: by the bits of its values as doubles, from the least to the greatest.

    Magnitudes that count as zero share a cell with all that are much smaller than the greatest one.
    """

    __slots__ = ("_first", "_shift", "_signed", "_small", "least", "limits", "most", "number")

    def __init__(self, scale: Scale, least: Any, most: Any, small: float, bits: int) -> None:
        self.least, self.most = least, most
        self.limits = scale.units(least), scale.units(most)
        self._signed = bool(least < 0)
        greatest = _bits(max(abs(float(least)), abs(float(most))))
        self._small = max(_SMALLEST, _bits(small), greatest - _OCTAVES * 2**52)
        first, last = (int(key) for key in self._keys(np.array([least, most])))
        self._shift = max(0, (last - first).bit_length() - bits)
        self._first = first >> self._shift
        self.number = (last >> self._shift) - self._first + 1

    @classmethod
    def of(cls, scale: Scale, values: NDArray[Any], limits: tuple[Any, Any] | None = None) -> Cells:
        sample = np.abs(values[:: max(1, len(values) // _SAMPLE)].astype(np.float64))
        rarely = len(sample) // _RARELY  # smaller ones share a cell, so that the others have more of them
        small = float(np.partition(sample, rarely)[rarely]) if rarely else 0.0
        least, most = (values.min(), values.max()) if limits is None else limits
        return cls(scale, least, most, small, min(_CELL_BITS, len(values).bit_length() + 2))

    def codes(self, values: NDArray[Any], out: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Return the cell of each of a few values between the least and the greatest, in ``out`` if it is given."""
        keys = self._keys(values, out)
        np.right_shift(keys, self._shift, out=keys)
        return np.subtract(keys, self._first, out=keys)

    def ends(self, codes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return a double for each of some cells: all values from it on are not below it, and all before it are.

        Values up to the greatest lie before the cell after the last.
        """
        keys = (codes + self._first) << self._shift
        if not self._signed:
            return np.where(keys <= self._small, 0, keys).view(np.float64)
        bits = keys + np.where(keys > 0, self._small, -self._small)
        return (bits ^ ((bits >> 63) & _MAGNITUDE)).view(np.float64)

    def firsts(self, codes: NDArray[np.int64], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return the least value of a type that may lie in each of some cells: all values of lower cells are less."""
        ends = self.ends(codes)
        if dtype == np.float64:
            return ends
        least = int(self.least)  # the first cell may begin below all 64-bit integers
        return np.array([max(least, _first_integer(end)) for end in ends.tolist()], dtype=dtype)

    def select(self, values: NDArray[Any], marked: NDArray[np.bool_]) -> NDArray[Any]:
        """Return the values in marked cells, in no order."""
        return values.compress(marked[self.codes(values)])

    def _keys(self, values: NDArray[Any], out: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Whole numbers in the order of the values."""
        bits = np.ascontiguousarray(values, dtype=np.float64).view(
            np.int64
        )  # integers rounded to the nearest: in order
        if not self._signed:  # −0.0 has negative bits
            return np.maximum(bits, self._small, out=out)
        keys: NDArray[np.int64] = np.right_shift(bits, 63, out=out)
        np.bitwise_and(keys, _MAGNITUDE, out=keys)
        np.bitwise_xor(keys, bits, out=keys)  # negative doubles in their order
        return np.subtract(keys, np.clip(keys, -self._small, self._small), out=keys)


class Cuts(NamedTuple):
    """Cuts of a column: which lie beyond all values, and those among the values with their cells."""

    above: NDArray[np.bool_]
    inside: NDArray[np.int64]
    values: NDArray[Any]
    cells: NDArray[np.int64]

    def __repr__(self) -> str:
        return "<Cuts>"  # which of them lie beyond all values is private

    @classmethod
    def of(cls, cuts: Sequence[int], scale: Scale, cells: Cells) -> Cuts:
        least, most = cells.limits
        inside = [place for place, cut in enumerate(cuts) if least < cut <= most]
        if scale is NUMBERS:
            values: NDArray[Any] = np.array([scale.first_double(cuts[place]) for place in inside], dtype=np.float64)
        else:
            values = np.array([cuts[place] for place in inside], dtype=np.int64)
        above = np.array([cut > most for cut in cuts], dtype=bool)
        return cls(above, np.array(inside, dtype=np.int64), values, cells.codes(values))
