"""A column in memory: sorted once, then every request is a few binary searches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp.errors import InputError
from flexdp.histogram import Histogram
from flexdp.sharp.many_cuts import ManyCuts
from flexdp.sharp.ranks import Near, Reply, Request, Tally, Window
from flexdp.sharp.scale import INTEGERS, NUMBERS, Scale

__all__ = ["Column", "native", "tallied"]

_LARGEST = 2**63 - 1
_MANY = 64  # cuts that are compared at once
_SAFE_TOTAL = 2**56  # beyond it ranks in finer units would leave 64 bits


class Column:
    """The readable values of one column, in order.

    NaN, infinities and NaT are left out; magnitudes below 10^−30 count as 0 and beyond 10^39 as ±10^39.

    Examples
    --------
    >>> column = Column.from_values([3, 1, 3])
    >>> reply = column.fetch(Request(cuts=(2, 4)))
    >>> reply.total, list(reply.before)
    (3, [1, 3])
    """

    __slots__ = ("_scale", "_upto", "_values")

    def __init__(self, scale: Scale, values: NDArray[Any], upto: NDArray[Any] | None = None) -> None:
        # ``values`` ascending; with ``upto`` they are distinct, and it holds how many records lie up to each.
        self._scale, self._values, self._upto = scale, values, upto

    @classmethod
    def from_values(cls, values: Iterable[Any] | NDArray[Any]) -> Column:
        """Sort single records.

        Parameters
        ----------
        values : array or iterable
            Numbers, integers of any size, or a datetime64 array (days count in days, anything else in microseconds).

        Returns
        -------
        Column
        """
        scale, given = native(values)
        ordered = np.sort(given)
        if scale is NUMBERS:
            ordered = _readable(ordered)
        elif ordered.dtype == object and len(ordered):
            ordered = np.clip(ordered, -scale.limit, scale.limit)
        return cls(scale, ordered)

    @classmethod
    def from_histogram(cls, histogram: Histogram) -> Column:
        """Take values with how often each occurs.

        Parameters
        ----------
        histogram : Histogram
            With numbers, integers or dates as keys.

        Returns
        -------
        Column
        """
        return cls.from_counts(histogram.keys, histogram.counts)

    @classmethod
    def from_counts(cls, values: Iterable[Any] | NDArray[Any], counts: NDArray[Any]) -> Column:
        """Take different values with how often each occurs.

        Parameters
        ----------
        values : array or iterable
            As for :meth:`from_values`, each once.
        counts : array of int
            How often each occurs.

        Returns
        -------
        Column
        """
        scale, keys = native(values)
        if scale is not NUMBERS:
            order = np.argsort(keys, kind="stable")
            keys, counts = keys[order], counts[order]
        else:
            kept = np.isfinite(keys)
            keys, counts = keys[kept], counts[kept]
            order = np.argsort(keys, kind="stable")
            keys, counts = _readable(keys[order]), counts[order]
        first = np.ones(len(keys), dtype=bool)
        first[1:] = keys[1:] != keys[:-1]  # tiny and huge ones have become equal
        if sum(counts.tolist()) > _SAFE_TOTAL:
            counts = counts.astype(object)
        upto = np.cumsum(counts)
        last = np.append(first[1:], True)
        return cls(scale, keys[first], upto[last[: len(keys)]])

    @property
    def scale(self) -> Scale:
        """The scale of its values."""
        return self._scale

    def fetch(self, request: Request) -> Reply:
        """Answer one request.

        Parameters
        ----------
        request : Request
            Cuts and windows.

        Returns
        -------
        Reply
        """
        return Reply(
            total=self._total,
            before=self._before(request.cuts),
            windows=[self._window(wanted) for wanted in request.windows],
            tallies=[self._tally(wanted) for wanted in request.tallies],
        )

    def at(self, places: Sequence[int]) -> list[Any]:
        """Return the records of some places, the first being 0; of a column of single records.

        Parameters
        ----------
        places : sequence of int
            The places.

        Returns
        -------
        list of numbers
        """
        found: list[Any] = self._values[np.asarray(places, dtype=np.int64)].tolist()
        return found

    def between(self, start: int, stop: int) -> NDArray[Any]:
        """Return the records from one place up to, not including, another; of a column of single records.

        Parameters
        ----------
        start, stop : int
            The places, the first being 0.

        Returns
        -------
        array
        """
        return self._values[start:stop]

    def __repr__(self) -> str:
        return "<Column>"  # its content is private

    @property
    def _total(self) -> int:
        if self._upto is None:
            return len(self._values)
        return int(self._upto[-1]) if len(self._upto) else 0

    def _places(self, cuts: Sequence[int]) -> NDArray[np.int64]:
        """Return the number of stored values before each cut."""
        size = len(self._values)
        places: NDArray[np.int64] = np.zeros(len(cuts), dtype=np.int64)
        if not size:
            return places
        least, most = (self._scale.units(value) for value in (self._values[0], self._values[-1]))
        if len(cuts) > _MANY:
            many = ManyCuts(cuts)
            beyond = many.above(most)
            places[beyond] = size
            inside = np.flatnonzero(many.above(least) & ~beyond).tolist()
        else:
            places[[place for place, cut in enumerate(cuts) if cut > most]] = size
            inside = [place for place, cut in enumerate(cuts) if least < cut <= most]
        # Between two stored values a cut is one that the array's type can hold.
        within = [cuts[place] for place in inside]
        if self._scale is NUMBERS:
            wanted: Any = np.array([self._scale.first_double(cut) for cut in within], dtype=np.float64)
        else:
            wanted = np.array([*within, None], dtype=object)[:-1].astype(self._values.dtype)
        places[inside] = np.searchsorted(self._values, wanted, side="left")
        return places

    def _before(self, cuts: Sequence[int]) -> list[int]:
        places = self._places(cuts)
        if self._upto is None:
            return [int(place) for place in places.tolist()]
        found: list[int] = np.concatenate((self._upto[:0], [0], self._upto))[places].tolist()
        return found

    def _window(self, wanted: Near) -> Window:
        low, high = wanted.span.low, wanted.span.high
        first = 0 if low is None else int(self._places((low,))[0])
        last = len(self._values) if high is None else max(first, int(self._places((high,))[0]))
        return self._sorted_window(wanted, first, last) if self._upto is None else self._counted(wanted, first, last)

    def _sorted_window(self, wanted: Near, first: int, last: int) -> Window:
        total = last - first
        lowest, highest = wanted.ranks(total)
        part = self._values[first + max(0, lowest - 1) : first + max(0, min(total, highest + 1))]
        if not len(part):
            return Window(self._scale, part, _NONE, _NONE, total)
        new = np.flatnonzero(np.concatenate(([True], part[1:] != part[:-1])))
        values = part[new]
        offset = max(0, lowest - 1)
        below = new.astype(np.int64) + offset
        # The outermost values may have more records than the part shows.
        below[0] = np.searchsorted(self._values[first:last], values[0], side="left")
        end = np.searchsorted(self._values[first:last], values[-1], side="right")
        return Window(self._scale, values, below, np.append(below[1:], np.int64(end)), total)

    def _counted(self, wanted: Near, first: int, last: int) -> Window:
        assert self._upto is not None
        base = self._upto[first - 1] if first else 0
        upto = self._upto[first:last] - base
        total = int(upto[-1]) if len(upto) else 0
        lowest, highest = wanted.ranks(total)
        below = np.concatenate((upto[:0], [0], upto[:-1])) if len(upto) else upto
        start, stop = np.searchsorted(upto, lowest, side="left"), np.searchsorted(below, highest, side="right")
        stop = max(start, stop)
        return Window(self._scale, self._values[first:last][start:stop], below[start:stop], upto[start:stop], total)

    def _tally(self, wanted: Tally) -> int:
        if self._upto is None:
            return tallied(self._values, wanted, self._scale)
        places = _places_on(self._values, wanted, self._scale)
        counts = np.diff(self._upto, prepend=0)
        return sum(place * count for place, count in zip(places.tolist(), counts.tolist(), strict=True))


_NONE = np.zeros(0, dtype=np.int64)


def native(values: Iterable[Any] | NDArray[Any]) -> tuple[Scale, NDArray[Any]]:
    """Return the scale and an array of doubles, 64-bit integers, or Python integers where those are too short."""
    given = values if isinstance(values, np.ndarray) else _array(values)
    if given.ndim != 1:
        raise InputError("values", "must be a flat array or list")
    kind = given.dtype.kind
    if kind == "f":
        return NUMBERS, given.astype(np.float64, copy=False) if given.dtype != np.float32 else _wide(given)
    if kind in "bi":
        return INTEGERS, given.astype(np.int64, copy=False)
    if kind == "u":
        short = not len(given) or int(given.max()) <= _LARGEST
        return INTEGERS, given.astype(np.int64) if short else given.astype(object)
    if kind == "M":
        unit = "D" if given.dtype == np.dtype("M8[D]") else "us"
        return INTEGERS, given[~np.isnat(given)].astype(f"M8[{unit}]").astype(np.int64)
    if kind == "O" and all(type(value) is int for value in given):
        return INTEGERS, given
    raise InputError("values", "must be numbers, integers or dates")


def tallied(values: NDArray[Any], wanted: Tally, scale: Scale) -> int:
    """Return the sum of the places of readable values, in any order."""
    return int(_places_on(values, wanted, scale).sum()) if len(values) else 0


def _places_on(values: NDArray[Any], wanted: Tally, scale: Scale) -> NDArray[Any]:
    """Each value's place on a ladder of equal steps."""
    if not scale.integral:
        low, step = float(scale.value(wanted.low)), float(scale.value(wanted.step))
        return np.clip(np.rint((values - low) / step), 0, wanted.cells).astype(np.int64)
    if max(abs(wanted.low), abs(wanted.high)) > _LARGEST // 4:
        values = values.astype(object)
    clipped = np.clip(values, wanted.low, wanted.high)
    return np.asarray((clipped - wanted.low + wanted.step // 2) // wanted.step)


def _array(values: Iterable[Any]) -> NDArray[Any]:
    listed = list(values)
    if listed and all(isinstance(value, int) and not isinstance(value, bool) for value in listed):
        big = any(abs(value) > _LARGEST for value in listed)
        return np.array([*listed, None], dtype=object)[:-1] if big else np.array(listed, dtype=np.int64)
    return np.asarray(listed, dtype=None if listed else np.float64)


def _wide(given: NDArray[Any]) -> NDArray[np.float64]:
    """Single precision as double, which is what every engine casts it to."""
    return given.astype(np.float64)


def _readable(ordered: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sorted doubles without NaN and infinities; tiny ones are 0, huge ones ±1e39. Changes its argument."""
    first = int(np.searchsorted(ordered, -np.inf, side="right"))
    last = int(np.searchsorted(ordered, np.inf, side="left"))
    kept = ordered[first:last]
    tiny = slice(np.searchsorted(kept, -1e-30, side="right"), np.searchsorted(kept, 1e-30, side="left"))
    kept[tiny] = 0.0
    kept[: np.searchsorted(kept, -1e39, side="left")] = -1e39
    kept[np.searchsorted(kept, 1e39, side="right") :] = 1e39
    return kept
