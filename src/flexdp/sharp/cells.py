"""A long column in memory: counted in many cells, of which only those that matter are sorted.

A request asks for counts before a few cuts and for the values near a few ranks. Values are told apart by the leading
bits of their doubles, which are in the order of the values: a greater value has the same cell or a greater one. So the
number of records in every cell tells which cells hold a cut or a wanted rank, and the rest need not be sorted. Replies
are those of the sorted column, except that a count before a cut may be approximate where ``Request.enough`` allows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from flexdp.sharp.cell_codes import Cells, Cuts
from flexdp.sharp.cell_groups import Groups
from flexdp.sharp.cell_window import CellWindow
from flexdp.sharp.column import Column, native, tallied
from flexdp.sharp.many_cuts import ManyCuts
from flexdp.sharp.ranks import Near, Reply, Request
from flexdp.sharp.scale import INTEGERS, NUMBERS, Scale

__all__ = ["CellColumn", "ColumnInMemory", "column_of"]

_FEW = 1 << 18  # records that are sorted at once
_CLOSE = 1 << 21  # integers that are counted one by one
_COUNTED = 1 << 18  # records of them that are counted together
_ENOUGH = 3  # once one record in so many would be sorted, all are
_NONE: NDArray[np.int64] = np.zeros(0, dtype=np.int64)


class ColumnInMemory(Protocol):
    """A column that answers requests from memory."""

    @property
    def scale(self) -> Scale:
        """The scale of its values."""

    def fetch(self, request: Request) -> Reply:
        """Answer one request."""


def column_of(
    values: Iterable[Any] | NDArray[Any],
    *,
    own: bool = False,
    limits: tuple[Any, Any] | None = None,
    few: int = _FEW,
) -> ColumnInMemory:
    """Return a column of single records, in the way that answers requests soonest.

    Parameters
    ----------
    values : array or iterable
        As for :meth:`flexdp.sharp.column.Column.from_values`.
    own : bool, optional
        The array belongs to nobody else and may be rearranged in place.
    limits : pair of numbers, optional
        The least and the greatest of them, if they are known.
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
    given = np.ascontiguousarray(given) if own and given.flags.writeable else given.copy()
    least, most = (given.min(), given.max()) if limits is None else limits
    if scale is not NUMBERS:
        counted = _each_integer(given, int(least), int(most))
        return CellColumn(scale, given, (least, most)) if counted is None else counted
    if least >= -1e39 and most <= 1e39:
        return CellColumn(scale, given, (least, most))
    given = np.clip(given[np.isfinite(given)], -1e39, 1e39)
    return CellColumn(scale, given) if len(given) else Column.from_values(given)


class CellColumn:
    """The readable values of one column in no order, and the number of them in each cell.

    Parameters
    ----------
    scale : Scale
        The scale of the column.
    values : array
        Finite doubles up to 10^39, or 64-bit integers; at least one. They are rearranged.
    limits : pair of numbers, optional
        The least and the greatest of them, if they are known.

    Examples
    --------
    >>> column = CellColumn(NUMBERS, np.array([0.5, -2.0, 1e-40]))
    >>> column.fetch(Request(cuts=(0, 1), windows=())).before
    [1, 2]
    """

    __slots__ = (
        "_base",
        "_cells",
        "_groups",
        "_held",
        "_held_before",
        "_held_cells",
        "_hot",
        "_scale",
        "_sizes",
        "_sorted",
        "_values",
    )

    def __init__(self, scale: Scale, values: NDArray[Any], limits: tuple[Any, Any] | None = None) -> None:
        self._scale, self._values = scale, values
        self._cells = Cells.of(scale, values, limits)
        self._groups: Groups | None = Groups(self._cells, values)
        self._sizes = self._groups.sizes
        self._base = np.concatenate(([0], np.cumsum(self._sizes)))
        self._hot = np.zeros(self._cells.number, dtype=bool)
        self._held = values[:0]
        self._held_cells, self._held_before = _NONE, np.zeros(1, dtype=np.int64)  # running totals, with the final total
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
            Its windows sort what they are asked for.
        """
        ends = [end for near in request.windows for end in (near.span.low, near.span.high) if end is not None]
        before, needed = self._roughly(request)
        exact = self.before([*(request.cuts[place] for place in needed), *ends])
        for place, count in zip(needed, exact, strict=False):
            before[place] = count
        places = dict(zip(ends, exact[len(needed) :], strict=True))
        windows = [self._window(near, places) for near in request.windows]
        if self._sorted is None:
            looked_at = [
                (place, near.slack)
                for near, window in zip(request.windows, windows, strict=True)
                for place in window.looked_at()
            ]
            cells = self._cells_at([place for place, _ in looked_at])
            self._hold(cells[self._sizes[cells] > np.array([slack for _, slack in looked_at], dtype=np.int64)])
        plain = self._sorted
        return Reply(
            total=int(self._base[-1]),
            before=before,
            windows=windows,
            tallies=[
                tallied(_readable(self._values), wanted, self._scale)
                if plain is None
                else plain.fetch(Request(tallies=(wanted,))).tallies[0]
                for wanted in request.tallies
            ],
        )

    def before(self, cuts: Sequence[int]) -> list[int]:
        """Return how many records lie before each cut.

        Parameters
        ----------
        cuts : sequence of int
            In units.

        Returns
        -------
        list of int
        """
        if self._sorted is None:
            inside = Cuts.of(cuts, self._scale, self._cells)
            self._hold(inside.cells)
        if self._sorted is not None:
            return list(self._sorted.fetch(Request(cuts=tuple(cuts))).before)
        return self._before(inside)

    def at(self, places: Sequence[int]) -> list[Any]:
        """Return the records of some places among all of them, the first being 0.

        Parameters
        ----------
        places : sequence of int
            The places.

        Returns
        -------
        list of numbers
        """
        if self._sorted is None:
            cells = self._cells_at(places)
            self._hold(cells)
        if self._sorted is not None:
            return self._sorted.at(places)
        within = np.asarray(places, dtype=np.int64) - self._base[cells]
        found: list[Any] = self._held[self._before_cells(cells) + within].tolist()
        return found

    def around(self, lower: Sequence[int], upper: Sequence[int], slack: int) -> tuple[list[int], list[int]]:
        """Return values at or below the records of some places, and at or above those of others.

        Where a cell holds few records, its ends tell enough, and none of them is looked at. Whether it does never
        changes, so that the same places always get the same values.

        Parameters
        ----------
        lower, upper : sequence of int
            The places, the first being 0.
        slack : int
            A value may lie so many records away from its own.

        Returns
        -------
        pair of lists of int
            In units.
        """
        places = [*lower, *upper]
        cells = self._cells_at(places)
        ends = self._cells.ends(cells + (np.arange(len(cells)) >= len(lower)))
        if self._scale is not NUMBERS:  # a large integer may lie below the double that it is rounded to
            ends[: len(lower)] = np.nextafter(ends[: len(lower)], -np.inf)
        found = [self._scale.units(end) for end in ends.tolist()]
        full = np.flatnonzero(self._sizes[cells] > slack).tolist()
        for place, value in zip(full, self.at([places[place] for place in full]), strict=True):
            found[place] = self._scale.units(value)
        return found[: len(lower)], found[len(lower) :]

    def within(self, cuts: Sequence[int]) -> tuple[list[int], list[int]]:
        """Return lower and upper bounds of the number of records before each cut, by their cells alone.

        Parameters
        ----------
        cuts : sequence of int
            In units.

        Returns
        -------
        pair of lists of int
        """
        if self._sorted is not None:
            found = self.before(cuts)
            return found, found
        inside = Cuts.of(cuts, self._scale, self._cells)
        least = np.where(inside.above, len(self._values), 0)
        most = least.copy()
        least[inside.inside], most[inside.inside] = self._base[inside.cells], self._base[inside.cells + 1]
        return least.tolist(), most.tolist()

    def between(self, start: int, stop: int) -> NDArray[Any]:
        """Return the records from one place up to, not including, another, in order.

        Parameters
        ----------
        start, stop : int
            The places.

        Returns
        -------
        array
        """
        if start >= stop:
            return self._held[:0]
        if self._sorted is None:
            first, last = self._cells_at([start, stop - 1]).tolist()
            self._hold(np.arange(first, last + 1))
        if self._sorted is not None:
            return self._sorted.between(start, stop)
        offset = int(self._before_cells(first) - self._base[first])
        return self._held[start + offset : stop + offset]

    def _roughly(self, request: Request) -> tuple[list[int], list[int]]:
        """Return counts before cuts that may be approximate, and the places of the others, which must be exact."""
        cuts, enough, total = request.cuts, request.enough, len(self._values)
        if enough is None or self._sorted is not None or total <= 2 * enough + 1:
            return [0] * len(cuts), list(range(len(cuts)))
        # After the first of these records and up to the other, a cut has more than enough on both sides.
        first, last = (self._scale.units(value) for value in self.at((enough, total - 1 - enough)))
        many, (least, most) = ManyCuts(cuts), self._cells.limits
        beyond = many.above(most)
        between = many.above(first) & ~many.above(last)
        exact = np.flatnonzero(many.above(least) & ~(between | beyond))
        return np.where(beyond, total, np.where(between, enough, 0)).tolist(), exact.tolist()

    def _window(self, near: Near, places: dict[int, int]) -> CellWindow:
        low, high = near.span.low, near.span.high
        first = 0 if low is None else places[low]
        last = int(self._base[-1]) if high is None else max(first, places[high])
        return CellWindow(self, near, first, last)

    def _hold(self, cells: NDArray[np.int64]) -> None:
        """Sort the values of some cells; or of all, once they are many."""
        cells = np.unique(cells[~self._hot[cells] & (self._sizes[cells] > 0)])
        if not len(cells):
            return
        size = len(self._held) + int(self._sizes[cells].sum())
        if _ENOUGH * size > len(self._values):
            self._sorted = Column.from_values(self._values)
            self._values = self._held = np.empty(0, dtype=self._values.dtype)  # no slice, which would keep them all
            self._groups = None
            return
        marked = np.zeros(len(self._hot), dtype=bool)
        marked[cells] = True
        assert self._groups is not None  # until all are sorted
        found = np.sort(self._groups.select(marked))
        if self._scale is NUMBERS:
            found[np.searchsorted(found, -1e-30, side="right") : np.searchsorted(found, 1e-30)] = 0.0
        self._hot[cells] = True
        self._held = np.concatenate((self._held, found))
        self._held.sort(kind="stable")  # merges the two
        self._held_cells = np.sort(np.concatenate((self._held_cells, cells)))
        self._held_before = np.concatenate(([0], np.cumsum(self._sizes[self._held_cells])))

    def _cells_at(self, places: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
        """The cells of the records of some places."""
        return np.searchsorted(self._base, np.asarray(places, dtype=np.int64), side="right") - 1

    def _before(self, cuts: Cuts) -> list[int]:
        found = np.where(cuts.above, len(self._values), 0)
        if len(cuts.inside):
            found[cuts.inside] = self._places(cuts.values, cuts.cells)
        return [int(count) for count in found.tolist()]

    def _places(self, wanted: Any, cells: Any) -> Any:
        """How many records of the column lie before values whose cells are held or empty."""
        return self._base[cells] + np.searchsorted(self._held, wanted) - self._before_cells(cells)

    def _before_cells(self, cells: Any) -> Any:
        """Return how many held values lie in cells before the given ones."""
        return self._held_before[np.searchsorted(self._held_cells, cells)]


def _readable(values: NDArray[Any]) -> NDArray[Any]:
    """Finite values, of which tiny ones are zero."""
    return values if values.dtype == np.int64 else np.where(np.abs(values) < 1e-30, 0.0, values)


def _each_integer(values: NDArray[np.int64], least: int, most: int) -> Column | None:
    """Count every integer, where they lie close together."""
    if most - least >= min(_CLOSE, len(values)):
        return None
    counts = np.zeros(most - least + 1, dtype=np.int64)
    for start in range(0, len(values), _COUNTED):
        counts += np.bincount(values[start : start + _COUNTED] - least, minlength=len(counts))
    present = np.flatnonzero(counts)
    return Column(INTEGERS, present + least, np.cumsum(counts[present]))
