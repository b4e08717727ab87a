"""A private column in pieces: neighbouring values with their number of records, looked into only where it matters.

    values   0.5 0.7 | 1.1 1.1 1.1 | 2.0 2.4 2.9 | 7.0        piece   low  high  records  before it
                                                                0     0.5  0.7     2        0
                                                                1     1.1  1.1     3        2     one value: known
                                                                2     2.0  2.9     3        5
                                                                3     7.0  7.0     1        8

A cut between two pieces has an exact count at once: before 1.8 there are 5 records. Records before a cut inside a piece
are counted where they are. A wanted rank inside a piece needs its values: smaller pieces take its place until every
value that a request depends on is known. In memory every value is a piece of its own from the start.

Replies are those of the sorted column whatever an engine's arithmetic does, or there is none, because

* all pieces are of one snapshot of the records: the private copy, or files whose signatures are compared at the end;
* pieces are disjoint and in order, and the parts of a piece have as many records as it had: both are checked here;
* nothing is assumed of how an engine puts records into pieces;
* a double comes back from every driver as it was stored, and as a limit it means the same double in a statement: else
  parts would not add up for some data (``tests/engines/test_ranks.py`` has values at the edges of cells);
* a tally is the same sum wherever it is computed: engines and :func:`places_on` do the same operations on doubles and
  on 64-bit integers, so that which of them does never matters (wide integers, which engines cast, stay there);
* ``Request.enough`` lets a count be approximate only where that many records lie on both sides.

Texts of statements hold public numbers only: two tables have the same texts. Pieces are put beside them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from flexdp._core.faults import FaultError
from flexdp.errors import InputError
from flexdp.histogram import Histogram
from flexdp.sharp.ranks import Near, Reply, Request, Tally, Window
from flexdp.sharp.scale import INTEGERS, NUMBERS, Scale

__all__ = ["CROWDED", "EXACT_TALLY", "Column", "Pieces", "Records", "array_of", "native", "places_on"]

CROWDED = 1 << 17  # records of a piece that is split before its values are listed
EXACT_TALLY = 2**61  # ladders of integers that end before it are computed in integers, others in doubles
_LARGEST = 2**63 - 1
_CHUNK = 1 << 16  # values of which a tally is computed at once, which fit the cache
_SAFE_TOTAL = 2**56  # beyond it ranks in finer units would leave 64 bits


class Pieces(NamedTuple):
    """Pieces of a column: arrays of doubles, 64-bit integers or, where those are too short, Python's."""

    low: NDArray[Any]
    high: NDArray[Any]
    records: NDArray[Any]
    cell: NDArray[Any]  # by which an engine finds their records again

    def at(self, which: Any) -> Pieces:
        """Return some of the pieces."""
        return Pieces(*(part[which] for part in self))

    def in_order(self) -> Pieces:
        """Sort pieces, and refuse those that overlap."""
        found = self.at(np.argsort(self.low, kind="stable"))
        if (found.low > found.high).any() or (found.high[:-1] >= found.low[1:]).any():
            raise FaultError("pieces that overlap")
        return found

    def __repr__(self) -> str:
        return "<Pieces>"  # their content is private


class Records(Protocol):
    """The records of a column where they are."""

    def everything(self, total: int, wanted: int = 0) -> Pieces | None:
        """Return all values of ``total`` records, if it makes sense where those of ``wanted`` records are needed."""

    def before(self, cuts: Sequence[int]) -> Sequence[int]:
        """Count the records before each of some ascending public cuts."""

    def look(self, pieces: Pieces, *, split: bool) -> Pieces:
        """Return the values of some pieces, or with ``split`` smaller pieces of each, in any order."""

    def tally(self, wanted: Tally) -> int:
        """Return the sum of all records' places on a public ladder."""


class Column:
    """The readable values of one column, on every engine and in memory.

    NaN, infinities and NaT are left out; magnitudes below 10^−30 count as 0 and beyond 10^39 as ±10^39.

    Examples
    --------
    >>> column = Column.from_values([3, 1, 3])
    >>> reply = column.fetch(Request(cuts=(2, 4)))
    >>> reply.total, list(reply.before)
    (3, [1, 3])
    """

    __slots__ = ("_base", "_cell", "_hidden", "_high", "_low", "_records", "_scale")

    def __init__(self, scale: Scale, pieces: Pieces, records: Records | None = None) -> None:
        base = np.concatenate((pieces.records[:0], [0], np.cumsum(pieces.records)))
        self._scale, self._records = scale, records
        self._set(pieces.low, pieces.high, base, pieces.cell)

    def _set(self, low: NDArray[Any], high: NDArray[Any], base: NDArray[Any], cell: NDArray[Any]) -> None:
        self._low, self._high, self._base, self._cell = low, high, base, cell  # the base: running totals from 0 on
        hidden = None if low is high else low != high
        self._hidden = hidden if hidden is not None and hidden.any() else None

    @classmethod
    def from_values(
        cls, values: Iterable[Any] | NDArray[Any], records: Records | None = None, *, own: bool = False
    ) -> Column:
        """Sort single records.

        Parameters
        ----------
        values : array or iterable
            Numbers, integers of any size, or a datetime64 array (days count in days, anything else in microseconds).
        records : Records, optional
            Where they came from.
        own : bool, optional
            The array belongs to nobody else and may be sorted in place.

        Returns
        -------
        Column
        """
        scale, given = native(values)
        if not own or not given.flags.writeable:
            given = given.copy()
        given.sort()
        ordered = _readable(scale, given)
        base = np.flatnonzero(np.append(_is_new(ordered), True))
        kept = ordered if len(base) == len(ordered) + 1 else ordered[base[:-1]]
        column = cls(scale, _single(kept[:0], base[:0]), records)
        column._set(kept, kept, base, _nothing(len(kept)))
        return column

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
        if scale is NUMBERS:
            there = np.isfinite(keys)
            keys, counts = keys[there], counts[there]
        order = np.argsort(keys, kind="stable")
        keys, counts = _readable(scale, keys[order]), counts[order]
        if sum(counts.tolist()) > _SAFE_TOTAL:
            counts = counts.astype(object)
        first = np.flatnonzero(_is_new(keys))  # tiny and huge ones have become equal
        merged = np.add.reduceat(counts, first) if len(first) else counts[:0]
        return cls(scale, _single(keys[first], merged))

    @property
    def scale(self) -> Scale:
        """The scale of its values."""
        return self._scale

    @property
    def total(self) -> int:
        """The number of records."""
        return int(self._base[-1])

    def __repr__(self) -> str:
        return "<Column>"  # its content is private

    def fetch(self, request: Request) -> Reply:
        """Answer one request: look into pieces until everything that it depends on is known, then read it off.

        Parameters
        ----------
        request : Request
            Cuts, windows and tallies.

        Returns
        -------
        Reply
        """
        while len(which := self._needed(request.windows)):
            self._look(np.union1d(which, self._needed(request.likely)))
        return Reply(
            total=self.total,
            before=self._before(request),
            windows=[self._window(near) for near in request.windows],
            tallies=[self._tally(tally) for tally in request.tallies],
        )

    def _before(self, request: Request) -> list[int]:
        """Count the records before each cut: by pieces, or where they are if a piece is divided and it matters."""
        place, inside = self._places(request.cuts)
        found: list[int] = self._base[place].tolist()
        if request.enough is not None:  # elsewhere the count before the piece will do
            last = self._base[np.minimum(place + 1, len(self._base) - 1)]
            inside &= (self._base[place] < request.enough) | (self.total - last < request.enough)
        unknown = np.flatnonzero(inside).tolist()
        if not unknown:
            return found
        assert self._records is not None, "in memory all values are known"
        if (everything := self._records.everything(self.total)) is not None:
            self._replace(np.arange(len(self._low)), everything)
            return self._before(request)
        cuts = sorted({request.cuts[i] for i in unknown})
        counted = dict(zip(cuts, self._records.before(cuts), strict=True))
        for i in unknown:
            found[i] = counted[request.cuts[i]]
            if not self._base[place[i]] <= found[i] <= self._base[place[i] + 1]:
                raise FaultError("counts of other records")
        return found

    def _needed(self, windows: Sequence[Near]) -> NDArray[np.int64]:
        """Return the places of the pieces that windows depend on and whose values are not known yet."""
        if self._hidden is None:
            return _NONE
        marked = np.zeros(len(self._hidden), dtype=bool)
        for near in windows:
            start, stop = self._around(near, marked)
            marked[start:stop] = True
        return np.flatnonzero(marked & self._hidden)

    def _around(self, near: Near, marked: NDArray[np.bool_]) -> tuple[int, int]:
        """Return the pieces that may hold a wanted rank, and mark those that an end of the span divides.

        Such an end lies between the records before its piece and those up to the end of it. The wanted ranks grow with
        both ends of the span, so that limits of the ends give limits of the ranks.
        """
        base, (first, last), divided = self._base, *self._ends(near)
        marked[[place for place, inside in zip((first, last), divided, strict=True) if inside]] = True
        lowest = math.floor(_goal(near, base[first], base[last])) - near.reach
        highest = math.ceil(_goal(near, base[first + divided[0]], base[last + divided[1]])) + near.reach + 1
        start = max(first, int(np.searchsorted(base[1:], lowest, side="left")))
        return start, min(last + divided[1], int(np.searchsorted(base[:-1], highest, side="right")))

    def _replace(self, which: NDArray[np.int64], parts: Pieces) -> None:
        """Put parts in the place of pieces; they must have as many records."""
        old = self._at(which)
        inside = np.searchsorted(old.high, parts.high, side="left")
        if len(inside) and inside.max() == len(old.high):
            raise FaultError("records beyond their piece")
        if not np.array_equal(np.bincount(inside, weights=parts.records, minlength=len(old.high)), old.records):
            raise FaultError("parts with other records")
        rest = self._at(np.delete(np.arange(len(self._low)), which))
        found = Pieces(*(np.concatenate(both) for both in zip(rest, parts, strict=True))).in_order()
        self._set(found.low, found.high, np.append(0, np.cumsum(found.records)), found.cell)

    def _at(self, which: NDArray[np.int64]) -> Pieces:
        return Pieces(self._low, self._high, np.diff(self._base), self._cell).at(which)

    def _look(self, which: NDArray[np.int64]) -> None:
        assert self._records is not None, "in memory all values are known"
        records = np.diff(self._base)[which]
        if (found := self._records.everything(self.total, int(records.sum()))) is not None:
            self._replace(np.arange(len(self._low)), found)
            return
        crowded = records > CROWDED
        split = bool(crowded.any())
        which = which[crowded] if split else which
        self._replace(which, self._records.look(self._at(which), split=split))

    def _places(self, cuts: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the number of pieces before each cut, and whether it divides the next one."""
        low, high = self._low, self._high
        place, inside = np.zeros(len(cuts), dtype=np.int64), np.zeros(len(cuts), dtype=bool)
        if not len(low) or not len(cuts):
            return place, inside
        near = _between(cuts, self._scale.units(low[0]), self._scale.units(high[-1]), place, len(low))
        within = [cuts[i] for i in near]  # between two stored values a cut is one that the array's type can hold
        if self._scale is NUMBERS:
            wanted: Any = np.array([self._scale.first_double(cut) for cut in within], dtype=np.float64)
        else:
            wanted = array_of(within, low.dtype)
        place[near] = np.searchsorted(high, wanted, side="left")
        inside[near] = low[place[near]] < wanted
        return place, inside

    def _ends(self, near: Near) -> tuple[tuple[int, int], tuple[bool, bool]]:
        """Return the places of a span's two ends, and whether they divide a piece."""
        low, high = near.span.low, near.span.high
        place, inside = self._places([end for end in (low, high) if end is not None])
        ends = list(zip(place.tolist(), inside.tolist(), strict=True))
        first = (0, False) if low is None else ends[0]
        last = (len(self._low), False) if high is None else ends[-1]
        last = max(first, last)  # of an empty span; an end that divides the first piece is later than its start
        return (first[0], last[0]), (first[1], last[1])

    def _window(self, near: Near) -> Window:
        (first, last), _ = self._ends(near)
        base, origin = self._base[first : last + 1], self._base[first]  # a column is long, and a window is short
        total = int(base[-1] - origin)
        lowest, highest = near.ranks(total)
        start = np.searchsorted(base[1:], lowest + origin, side="left")
        stop = np.searchsorted(base[:-1], highest + origin, side="right")
        kept = slice(start, max(start, stop))
        return Window(
            self._scale, self._low[first:last][kept], base[:-1][kept] - origin, base[1:][kept] - origin, total
        )

    def _tally(self, wanted: Tally) -> int:
        known = self._hidden is None and self._low.dtype != object
        if self._records is not None and not known:
            return self._records.tally(wanted)
        exact = self._base.dtype == object or self.total * max(1, wanted.cells) > _LARGEST
        total = 0
        for start in range(0, len(self._low), _CHUNK):
            part = slice(start, start + _CHUNK)
            places, counts = places_on(self._low[part], wanted, self._scale), np.diff(self._base[start : part.stop + 1])
            total += int((places.astype(object) * counts).sum() if exact else (places * counts).sum())
        return total


_NONE: NDArray[np.int64] = np.zeros(0, dtype=np.int64)


def array_of(values: Iterable[Any], dtype: Any = object) -> NDArray[Any]:
    """Return an array of one dimension; of objects, whatever they are."""
    return np.array([*values, None], dtype=object)[:-1].astype(dtype, copy=False)


def native(values: Iterable[Any] | NDArray[Any]) -> tuple[Scale, NDArray[Any]]:
    """Return the scale and an array of doubles, 64-bit integers, or Python integers where those are too short."""
    given = values if isinstance(values, np.ndarray) else _array(values)
    if given.ndim != 1:
        raise InputError("values", "must be a flat array or list")
    kind = given.dtype.kind
    if kind == "f":
        return NUMBERS, given.astype(np.float64, copy=False)  # what every engine casts single precision to
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


def _array(values: Iterable[Any]) -> NDArray[Any]:
    listed = list(values)
    if listed and all(isinstance(value, int) and not isinstance(value, bool) for value in listed):
        return array_of(listed, object if any(abs(value) > _LARGEST for value in listed) else np.int64)
    return np.asarray(listed, dtype=None if listed else np.float64)


def _single(values: NDArray[Any], counts: NDArray[Any]) -> Pieces:
    """Make a piece of each value."""
    return Pieces(values, values, counts, _nothing(len(values)))


def _nothing(size: int) -> NDArray[Any]:
    """Cells of values that are known, which are not looked for."""
    return np.broadcast_to(np.int8(0), size)


def _is_new(ordered: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell which values differ from the one before them."""
    new = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return new


def _readable(scale: Scale, ordered: NDArray[Any]) -> NDArray[Any]:
    """Return sorted values within the limits of their scale, without NaN and infinities; tiny doubles are 0."""
    if scale is not NUMBERS:
        return np.clip(ordered, -scale.limit, scale.limit) if ordered.dtype == object and len(ordered) else ordered
    first = int(np.searchsorted(ordered, -np.inf, side="right"))
    last = int(np.searchsorted(ordered, np.inf, side="left"))
    kept = ordered[first:last]
    tiny = slice(np.searchsorted(kept, -1e-30, side="right"), np.searchsorted(kept, 1e-30, side="left"))
    kept[tiny] = 0.0
    kept[: np.searchsorted(kept, -1e39, side="left")] = -1e39
    kept[np.searchsorted(kept, 1e39, side="right") :] = 1e39
    return kept


def _between(cuts: Sequence[int], least: int, most: int, place: NDArray[np.int64], size: int) -> list[int]:
    """Return which cuts lie above the least and up to the greatest value; mark the places of those above that.

    A ladder has thousands of cuts, most of them beyond all values, so they are compared as doubles, and exactly only
    where those are equal.
    """
    nearest = np.array(cuts, dtype=np.float64)
    below, above = nearest < float(least), nearest > float(most)
    for i in np.flatnonzero((nearest == float(least)) | (nearest == float(most))).tolist():
        below[i], above[i] = cuts[i] <= least, cuts[i] > most
    place[above] = size
    inside: list[int] = np.flatnonzero(~below & ~above).tolist()
    return inside


def _goal(near: Near, first: Any, last: Any) -> Any:
    """Return the goal as a rank among all records, where a span begins and ends after so many of them."""
    first, last = int(first), int(last)
    goal = (1 - near.goal.level) * first + near.goal.level * last + near.goal.offset
    return min(max(goal, first), last)


def places_on(values: NDArray[Any], wanted: Tally, scale: Scale) -> NDArray[Any]:
    """Return each value's place on a ladder of equal steps, as the statement of a tally computes it."""
    if scale.integral and max(abs(wanted.low), abs(wanted.high)) < EXACT_TALLY:
        clipped = np.clip(values, wanted.low, wanted.high)
        return np.asarray((clipped - wanted.low + wanted.step // 2) // wanted.step)
    low, high, step = (float(scale.value(part)) for part in (wanted.low, wanted.high, wanted.step))
    inside = np.maximum(np.minimum(values.astype(np.float64), high), low)
    places = np.floor((inside - low) / step + 0.5).astype(np.int64)
    return np.asarray(np.minimum(np.maximum(places, 0), wanted.cells))
