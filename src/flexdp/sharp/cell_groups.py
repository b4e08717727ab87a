"""Groups of neighbouring cells: each part of a column is ordered by group.

Finding a few cells among all values takes a full pass; among ordered parts, one slice of each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp.sharp.cell_codes import Cells

__all__ = ["Groups"]

_GROUPS = 256  # about equally full, unless one cell holds more; a group number fits a byte
_SAMPLE = 1 << 15  # records sampled to place the group boundaries
_PART = 1 << 16  # records ordered together, few enough for the cache
_LOOKED_AT = 1 << 15  # records that are looked at together, so that they stay in the cache
_COUNTED = 8 * _PART  # records whose cells are counted together
_LATER = np.arange(1, _GROUPS, dtype=np.uint8)  # all but the first


class Groups:
    """The values of a column, ordered by group in place, and the number of them in each cell.

    Parameters
    ----------
    cells : Cells
        The cells of the column.
    values : array
        The values, in no order; at least one. They are rearranged.

    Examples
    --------
    >>> from flexdp.sharp.scale import NUMBERS
    >>> values = np.array([3.0, 1.0, 2.0, 1.0])
    >>> cells = Cells.of(NUMBERS, values)
    >>> groups = Groups(cells, values)
    >>> wanted = np.zeros(cells.number, dtype=bool)
    >>> wanted[cells.codes(np.array([1.0]))] = True
    >>> groups.select(wanted).tolist(), groups.sizes[wanted].tolist()
    ([1.0, 1.0], [2])
    """

    __slots__ = ("_cells", "_group", "_starts", "_values", "sizes")

    def __init__(self, cells: Cells, values: NDArray[Any]) -> None:
        self._cells, self._values = cells, values
        self._group = _groups_of_cells(cells, values)
        self.sizes = np.zeros(cells.number, dtype=np.int64)
        self._starts = np.empty((-(-len(values) // _PART), _GROUPS + 1), dtype=np.int64)
        codes = np.empty(min(_COUNTED, len(values)), dtype=np.int64)
        groups = np.empty(_PART, dtype=np.uint8)
        first_cells = np.searchsorted(self._group, _LATER)
        firsts = cells.firsts(first_cells[first_cells < cells.number], values.dtype)
        moved = np.empty(_PART, dtype=values.dtype)
        for start in range(0, len(values), _COUNTED):
            some = values[start : start + _COUNTED]
            for place in range(0, len(some), _PART):
                part = some[place : place + _PART]
                size = len(part)
                codes_of = cells.codes(part, out=codes[place : place + size])
                order = self._group.take(codes_of, out=groups[:size], mode="clip").argsort(kind="stable")
                part[...] = part.take(order, out=moved[:size], mode="clip")
                starts = self._starts[(start + place) // _PART]
                # Every value of a group is below those of later groups, which is all the order that a search needs.
                starts[0], starts[1 : len(firsts) + 1] = 0, part.searchsorted(firsts)
                starts[len(firsts) + 1 :] = size
                starts += start + place
            self.sizes += np.bincount(codes[: len(some)], minlength=cells.number)

    def select(self, marked: NDArray[np.bool_]) -> NDArray[Any]:
        """Return the values in marked cells, in no order.

        Parameters
        ----------
        marked : array of bool
            One for each cell; at least one is marked.

        Returns
        -------
        array
        """
        groups = np.unique(self._group[np.flatnonzero(marked)]).astype(np.int64)
        breaks = np.flatnonzero(np.diff(groups) > 1)
        found, some, size = [], [], 0
        for first, last in zip(groups[[0, *(breaks + 1)]], groups[[*breaks, -1]], strict=True):
            for start, stop in zip(self._starts[:, first].tolist(), self._starts[:, last + 1].tolist(), strict=True):
                some.append(self._values[start:stop])
                size += stop - start
                if size >= _LOOKED_AT:
                    found.append(self._cells.select(np.concatenate(some), marked))
                    some, size = [], 0
        return np.concatenate([*found, self._cells.select(np.concatenate([self._values[:0], *some]), marked)])

    def __repr__(self) -> str:
        return "<Groups>"  # their content is private


def _groups_of_cells(cells: Cells, values: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the group of each cell, ascending, with about equally many sampled values in each."""
    sample = cells.codes(values[:: max(1, len(values) // _SAMPLE)])
    before = np.cumsum(np.bincount(sample, minlength=cells.number))
    return (before * _GROUPS // (len(sample) + 1)).astype(np.uint8)
