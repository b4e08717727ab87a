"""A window of a column in cells, of which only those values are sorted that are looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from flexdp.sharp.ranks import Near, Window
from flexdp.sharp.scale import Scale

__all__ = ["CellWindow", "Ordered"]

_NONE: NDArray[np.int64] = np.zeros(0, dtype=np.int64)


class Ordered(Protocol):
    """A column that finds records by position and positions by cut."""

    @property
    def scale(self) -> Scale:
        """The scale of its values."""

    def around(self, lower: Sequence[int], upper: Sequence[int], slack: int) -> tuple[list[int], list[int]]:
        """Return values in units: at or below the records of some places, and at or above those of others."""

    def between(self, start: int, stop: int) -> NDArray[Any]:
        """Return the records from one place up to, not including, another."""

    def before(self, cuts: Sequence[int]) -> list[int]:
        """Return how many records lie before each cut."""

    def within(self, cuts: Sequence[int]) -> tuple[list[int], list[int]]:
        """Return lower and upper bounds of :meth:`before`, which cost less."""


class CellWindow:
    """A window that sorts only the values a draw looks at.

    Parameters
    ----------
    column : Ordered
        The column.
    near : Near
        What was asked for.
    first, last : int
        The places of the span's records.
    """

    __slots__ = ("_column", "_first", "_listed", "_near", "total")

    def __init__(self, column: Ordered, near: Near, first: int, last: int) -> None:
        self._column, self._near, self._first, self.total = column, near, first, last - first
        self._listed: Window | None = None

    @property
    def scale(self) -> Scale:
        """The scale of the column."""
        return self._column.scale

    def looked_at(self) -> list[int]:
        """Return the places of the records at which a draw will look first."""
        (below, above), (first, last) = self._near.ends(self.total), self._near.shows_ends(self.total)
        ranks = {rank for rank in (*below, *above) if 0 < rank <= self.total}
        return [self._first + rank - 1 for rank in sorted(ranks.union([1] * first, [self.total] * last))]

    def around(self, below: Sequence[int], above: Sequence[int]) -> tuple[list[int], list[int]]:
        """Return values in units: at or below the records of some ranks, and at or above those of others."""
        lower, upper = ([self._first + rank - 1 for rank in ranks] for ranks in (below, above))
        return self._column.around(lower, upper, self._near.slack)

    def within(self, candidate: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return lower and upper bounds of :meth:`counts`, by cells alone."""
        (below, upto), (most_below, most_upto) = self._column.within((candidate, candidate + 1))
        first, total = self._first, self.total
        return (max(0, below - first), max(0, upto - first)), (
            min(total, most_below - first),
            min(total, most_upto - first),
        )

    def counts(self, candidate: int) -> tuple[int, int]:
        """Return how many records lie below a candidate and up to it."""
        below, upto = self._column.before((candidate, candidate + 1))
        return below - self._first, upto - self._first

    def listed(self) -> Window:
        """Return the window with all its values."""
        if self._listed is None:
            self._listed = self._list()
        return self._listed

    def _list(self) -> Window:
        lowest, highest = self._near.ranks(self.total)
        start = self._first + max(0, lowest - 1)
        stop = self._first + max(0, min(self.total, highest + 1))
        part, scale, first = self._column.between(start, stop), self.scale, self._first
        if not len(part):
            return Window(scale, part, _NONE, _NONE, self.total)
        new = np.flatnonzero(np.concatenate(([True], part[1:] != part[:-1])))
        values = part[new]
        below = new.astype(np.int64) + (start - first)
        # The outermost values may have more records than the part shows.
        lowest, highest = (scale.units(values[place]) for place in (0, -1))
        below[0], end = (count - first for count in self._column.before((lowest, highest + 1)))
        return Window(scale, values, below, np.append(below[1:], np.int64(end)), self.total)

    def __repr__(self) -> str:
        return "<Window>"  # its content is private
