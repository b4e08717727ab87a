"""A long column in memory: counted in many cells, of which only those that matter are sorted.

A request asks for counts before a few cuts and for the values near a few ranks. Values are told apart by the leading
bits of their doubles, which are in the order of the values: a greater value has the same cell or a greater one. So the
number of records in every cell tells which cells hold a cut or a wanted rank, and the rest need not be sorted. The
replies are those of the sorted column, whatever the cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from flexdp.sharp.column import Column, native, tallied
from flexdp.sharp.ranks import Near, Reply, Request, Window
from flexdp.sharp.scale import INTEGERS, NUMBERS, Scale

__all__ = ["CellColumn", "ColumnInMemory", "column_of"]

_FEW = 1 << 18  # records that are sorted at once
_CELL_BITS = 19  # of the number of cells
_CLOSE = 1 << 21  # integers that are counted one by one
_OCTAVES = 32  # below the greatest magnitude; smaller ones share a cell
_CHUNK = 1 << 15  # records that are looked at together, so that they stay in the cache
_MAGNITUDE = np.int64(2**63 - 1)
_PARTS = 64  # of equal size, around whose ends a tree looks for its splits
_ENOUGH = 3  # once one record in so many would be sorted, all are
_NONE: NDArray[np.int64] = np.zeros(0, dtype=np.int64)


def _bits(value: float) -> int:
    """The bits of a positive double, which are in the order of the values."""
    return int(np.float64(value).view(np.int64))


_SMALLEST = _bits(1e-30)


class ColumnInMemory(Protocol):
    """A column that answers requests from memory."""

    @property
    def scale(self) -> Scale:
        """The scale of its values."""

    def fetch(self, request: Request) -> Reply:
        """Answer one request."""


def column_of(
    values: Iterable[Any] | NDArray[Any], *, often: bool = False, own: bool = False, few: int = _FEW
) -> ColumnInMemory:
    """Return a column of single records, in the way that answers requests soonest.

    Parameters
    ----------
    values : array or iterable
        As for :meth:`flexdp.sharp.column.Column.from_values`.
    often : bool, optional
        Windows around many quantiles will be asked for, one after the other.
    own : bool, optional
        The array is nobody else's, and need not be copied.
    few : int, optional
        So many records are sorted at once.

    Returns
    -------
    Column or CellColumn

    Examples
    --------
    >>> column_of([3, 1, 3]).fetch(Request(cuts=(2, 4))).before
    [1, 3]
    """
    scale, given = native(values)
    if given.dtype == object or len(given) <= few:
        return Column.from_values(given)
    given = np.ascontiguousarray(given) if own else given.copy()
    if scale is NUMBERS:
        given = _finite(given)
    elif (counted := _each_integer(given)) is not None:
        return counted
    return CellColumn(scale, given, often=often) if len(given) else Column.from_values(given)


class CellColumn:
    """The readable values of one column in no order, and the number of them in each cell.

    Parameters
    ----------
    scale : Scale
        The scale of the column.
    values : array
        Finite doubles up to 10^39, or 64-bit integers; at least one.
    often : bool, optional
        Windows around many quantiles will be asked for, one after the other.

    Examples
    --------
    >>> column = CellColumn(NUMBERS, np.array([0.5, -2.0, 1e-40]))
    >>> column.fetch(Request(cuts=(0, 1), windows=())).before
    [1, 2]
    """

    __slots__ = (
        "_base",
        "_cells",
        "_codes",
        "_held",
        "_held_before",
        "_hot",
        "_often",
        "_scale",
        "_sorted",
        "_values",
    )

    def __init__(self, scale: Scale, values: NDArray[Any], *, often: bool = False) -> None:
        self._scale, self._values, self._often = scale, values, often
        self._cells = _Cells.of(scale, values)
        self._codes = self._cells.codes(values)
        counts = np.bincount(self._codes, minlength=self._cells.number)
        self._base = np.concatenate(([0], np.cumsum(counts)))
        self._hot = np.zeros(len(counts), dtype=bool)
        self._held = values[:0]
        self._held_before = np.zeros(len(counts) + 1, dtype=np.int64)
        self._sorted: Column | None = None

    @property
    def scale(self) -> Scale:
        """The scale of its values."""
        return self._scale

    def __repr__(self) -> str:
        return "<Column>"  # its content is private

    def fetch(self, request: Request) -> Reply:
        """Answer one request.

        Parameters
        ----------
        request : Request
            Cuts, windows and tallies.

        Returns
        -------
        Reply
        """
        if self._sorted is None:
            ends = [end for near in request.windows for end in (near.span.low, near.span.high) if end is not None]
            cuts = _Cuts.of([*request.cuts, *ends], self._scale, self._cells)
            self._hold([cuts.cells])
        if self._sorted is None:
            before = self._before(cuts)
            places = dict(zip(ends, before[len(request.cuts) :], strict=True))
            spans = [self._wanted(near, places) for near in request.windows]
            ranges = [span[2:] for span in spans]
            if spans and self._often:
                ranges += self._around(request.windows[0].reach)
                self._often = False
            self._hold([self._cells_of_ranks(start, stop) for start, stop in ranges])
        if self._sorted is not None:
            return self._sorted.fetch(request)
        return Reply(
            total=len(self._values),
            before=before[: len(request.cuts)],
            windows=[self._found(*span) for span in spans],
            tallies=[tallied(_readable(self._values), wanted, self._scale) for wanted in request.tallies],
        )

    def _hold(self, wanted: Sequence[NDArray[np.int64]]) -> None:
        """Sort the values of some cells; or of all, once they are many."""
        if self._sorted is not None:
            return
        cells = np.concatenate([_NONE, *wanted])
        cells = cells[~self._hot[cells] & (self._base[cells + 1] > self._base[cells])]
        if not len(cells):
            return
        marked = np.zeros(len(self._hot), dtype=bool)
        marked[cells] = True
        size = len(self._held) + int(np.diff(self._base)[marked].sum())
        if _ENOUGH * size > len(self._values):
            self._sorted = Column.from_values(self._values)
            self._values, self._codes, self._held = self._values[:0], self._codes[:0], self._held[:0]
            return
        found = np.sort(self._values[marked[self._codes]])
        if self._scale is NUMBERS:
            found[np.searchsorted(found, -1e-30, side="right") : np.searchsorted(found, 1e-30, side="left")] = 0.0
        self._hot |= marked
        self._held = np.insert(self._held, np.searchsorted(self._held, found), found) if len(self._held) else found
        np.cumsum(np.where(self._hot, np.diff(self._base), 0), out=self._held_before[1:])

    def _around(self, reach: int) -> list[tuple[int, int]]:
        """The places near equal parts of the column, where windows will be asked for; or all, if those are most."""
        total, reach = len(self._values), reach + reach // 8
        if 2 * reach * _PARTS * _ENOUGH > total:
            return [(0, total)]
        goals = [total * part // _PARTS for part in range(1, _PARTS)]
        return [(goal - reach, goal + reach) for goal in goals]

    def _cells_of_ranks(self, start: int, stop: int) -> NDArray[np.int64]:
        """The cells of the records from one place up to, not including, another."""
        if start >= stop:
            return _NONE
        first, last = (np.searchsorted(self._base, [start, stop - 1], side="right") - 1).tolist()
        return np.arange(first, last + 1)

    def _before(self, cuts: _Cuts) -> list[int]:
        found = np.where(cuts.above, len(self._values), 0)
        if len(cuts.inside):
            found[cuts.inside] = self._places(cuts.values, cuts.cells, "left")
        return [int(count) for count in found.tolist()]

    def _places(self, wanted: Any, cells: Any, side: Any) -> Any:
        """How many records of the column lie before values, or up to them, whose cells are held or empty."""
        return self._base[cells] + np.searchsorted(self._held, wanted, side=side) - self._held_before[cells]

    def _wanted(self, near: Near, places: dict[int, int]) -> tuple[int, int, int, int]:
        """The places of the span's records, and of those that are wanted among them."""
        low, high = near.span.low, near.span.high
        first = 0 if low is None else places[low]
        last = len(self._values) if high is None else max(first, places[high])
        lowest, highest = near.ranks(last - first)
        start, stop = max(0, lowest - 1), max(0, min(last - first, highest + 1))
        return first, last, first + start, first + stop

    def _found(self, first: int, last: int, start: int, stop: int) -> Window:
        if start >= stop:
            return Window(self._scale, self._values[:0], _NONE, _NONE, last - first)
        cells = self._cells_of_ranks(start, stop)
        offset = int(self._held_before[cells[0]] - self._base[cells[0]])
        part = self._held[start + offset : stop + offset]
        new = np.flatnonzero(np.concatenate(([True], part[1:] != part[:-1])))
        values = part[new]
        below = new.astype(np.int64) + (start - first)
        # The outermost values may have more records than the part shows; they lie in the same cell.
        below[0] = self._places(values[0], cells[0], "left") - first
        end = self._places(values[-1], cells[-1], "right") - first
        return Window(self._scale, values, below, np.append(below[1:], np.int64(end)), last - first)


class _Cells:
    """Where the cells of a column begin: by the bits of its values as doubles, from the least to the greatest.

    Magnitudes that count as zero share a cell with all that are much smaller than the greatest one.
    """

    __slots__ = ("_first", "_shift", "_signed", "_small", "least", "limits", "most", "number")

    def __init__(self, scale: Scale, least: Any, most: Any, bits: int) -> None:
        self.least, self.most = least, most
        self.limits = scale.units(least), scale.units(most)
        self._signed = bool(least < 0)
        self._small = max(_SMALLEST, _bits(max(abs(float(least)), abs(float(most)))) - _OCTAVES * 2**52)
        first, last = (int(key) for key in self._keys(np.array([least, most])))
        self._shift = max(0, (last - first).bit_length() - bits)
        self._first = first >> self._shift
        self.number = (last >> self._shift) - self._first + 1

    @classmethod
    def of(cls, scale: Scale, values: NDArray[Any]) -> _Cells:
        return cls(scale, values.min(), values.max(), min(_CELL_BITS, len(values).bit_length() + 2))

    def codes(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """Return the cell of each value between the least and the greatest."""
        found = np.empty(len(values), dtype=np.int64)
        for start in range(0, len(values), _CHUNK):
            keys = self._keys(values[start : start + _CHUNK])
            np.right_shift(keys, self._shift, out=keys)
            np.subtract(keys, self._first, out=found[start : start + _CHUNK])
        return found

    def _keys(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """Whole numbers in the order of the values."""
        bits = values.astype(np.float64).view(np.int64)  # a copy, rounded to the nearest: in order
        if not self._signed:  # −0.0 has negative bits
            return np.maximum(bits, self._small, out=bits)
        below = bits < 0
        np.bitwise_and(bits, _MAGNITUDE, out=bits)
        np.subtract(np.maximum(bits, self._small, out=bits), self._small, out=bits)
        return np.negative(bits, out=bits, where=below)


class _Cuts(NamedTuple):
    """Cuts of a column: which lie beyond all values, and those among the values with their cells."""

    above: NDArray[np.bool_]
    inside: NDArray[np.int64]
    values: NDArray[Any]
    cells: NDArray[np.int64]

    @classmethod
    def of(cls, cuts: Sequence[int], scale: Scale, cells: _Cells) -> _Cuts:
        least, most = cells.limits
        inside = [place for place, cut in enumerate(cuts) if least < cut <= most]
        if scale is NUMBERS:
            values: NDArray[Any] = np.array([scale.first_double(cuts[place]) for place in inside], dtype=np.float64)
        else:
            values = np.array([cuts[place] for place in inside], dtype=np.int64)
        above = np.array([cut > most for cut in cuts], dtype=bool)
        return cls(above, np.array(inside, dtype=np.int64), values, cells.codes(values))


def _finite(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Leave out NaN and infinities; huge values are ±1e39."""
    if not len(values) or (values.min() >= -1e39 and values.max() <= 1e39):
        return values
    kept = values[np.isfinite(values)]
    return np.clip(kept, -1e39, 1e39, out=kept)


def _readable(values: NDArray[Any]) -> NDArray[Any]:
    """Finite values, of which tiny ones are zero."""
    return values if values.dtype == np.int64 else np.where(np.abs(values) < 1e-30, 0.0, values)


def _each_integer(values: NDArray[np.int64]) -> Column | None:
    """Count every integer, where they lie close together."""
    least, most = int(values.min()), int(values.max())
    if most - least >= min(_CLOSE, len(values)):
        return None
    counts = np.bincount(values - least)
    present = np.flatnonzero(counts)
    return Column(INTEGERS, present + least, np.cumsum(counts[present]))
