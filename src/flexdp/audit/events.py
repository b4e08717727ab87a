"""The search for an event: a set of outcomes that tells two data sets apart as well as possible.

**Outcomes** of any kind become numbers in columns. Each is taken apart into scalars with a path: an element of a list
by its place, a bucket of a histogram by its key. Numbers stay numbers, texts become categories, and what is absent is
not a number. The whole outcome counts too. Which paths become columns, and which number stands for a text, is settled
by the runs that events are fitted to: an event is a fixed set of outcomes before the runs that decide are looked at.

**Events.** Outcomes are sorted into cells in five ways: by every column, by the last bits of doubles, by the sum of all
columns, by the whole outcome, and by a score that adds up what each column says (for independent columns this is the
likelihood ratio itself). For each way, the cells are ordered by how much they favour one data set on one part of the
runs, and as many of them are taken as make the bound on another part largest.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import zip_longest
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.text import safe_repr
from flexdp.errors import InputError
from flexdp.histogram import Histogram, KeyedHistogram

__all__ = ["Found", "Raised", "Table", "find_events", "parts", "tabulated"]

_MOST_COLUMNS = 200
_DEEPEST = 20
_WIDE = 16  # columns from which rows are compared as bytes
Path = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Raised:
    """The outcome of a run that ended in an exception; its type is seen, its text is not."""

    name: str


@dataclass(frozen=True, slots=True)
class Table:
    """Outcomes of some runs on one data set.

    Parameters
    ----------
    names : tuple
        The path of each column; empty for a single number.
    numbers : array
        One row a run and one column a path; NaN where the path is absent.
    whole : array of int
        A number for each whole outcome, the same for equal outcomes.
    """

    names: tuple[Path, ...]
    numbers: NDArray[np.float64]
    whole: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.whole)

    def part(self, rows: slice) -> Table:
        """Return some of the runs."""
        return Table(self.names, self.numbers[rows], self.whole[rows])


def parts(runs: int) -> tuple[slice, slice, slice]:
    """Return the runs to which events are fitted, those that choose among them, and those that decide."""
    return slice(0, runs // 4), slice(runs // 4, runs // 2), slice(runs // 2, None)


def tabulated(one: Any, other: Any, outcome: Callable[[Any], Any] | None = None) -> tuple[Table, Table]:
    """Return the outcomes on two data sets in the same columns."""
    plain = all(isinstance(each, np.ndarray) and each.dtype.kind in "biuf" for each in (one, other))
    if outcome is None and plain and one.shape[1:] == other.shape[1:]:
        return _from_arrays(one, other)
    return _from_objects([*one, *other], len(one), outcome)


def _from_arrays(one: NDArray[Any], other: NDArray[Any]) -> tuple[Table, Table]:
    width = int(np.prod(one.shape[1:], dtype=np.int64))
    both = np.concatenate([one.reshape(len(one), width), other.reshape(len(other), width)])
    names: tuple[Path, ...] = ((),) if one.ndim == 1 else tuple((place,) for place in range(width))
    whole = _codes_of_rows(both)
    numbers = both[:, :_MOST_COLUMNS].astype(np.float64)
    return _split(names[:_MOST_COLUMNS], numbers, whole, len(one))


def _codes_of_rows(rows: NDArray[Any]) -> NDArray[np.int64]:
    """A number for each distinct row."""
    if rows.shape[1] > _WIDE:
        whole = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1])))
        return np.unique(whole.reshape(-1), return_inverse=True)[1].reshape(-1)
    code = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        own = np.unique(column, return_inverse=True)[1].reshape(-1)
        code = np.unique(code * (int(own.max(initial=0)) + 1) + own, return_inverse=True)[1].reshape(-1)
    return code


def _from_objects(values: list[Any], first: int, outcome: Callable[[Any], Any] | None) -> tuple[Table, Table]:
    distinct: dict[Hashable, int] = {}
    whole = np.empty(len(values), dtype=np.int64)
    found: list[dict[Path, Any]] = []
    for place, value in enumerate(values):
        seen = value if outcome is None or isinstance(value, Raised) else outcome(value)
        key = _key(seen)
        if key not in distinct:
            distinct[key] = len(found)
            found.append(dict(_scalars(seen)))
        whole[place] = distinct[key]
    fitted = _fitted(whole[:first], whole[first:])
    names = tuple(dict.fromkeys(path for row in fitted for path in found[row]))[:_MOST_COLUMNS]
    columns = np.full((len(found), len(names)), np.nan)
    for place, path in enumerate(names):
        known = [found[row][path] for row in fitted if path in found[row]]
        texts = sorted({cell for cell in known if isinstance(cell, str)})
        top = max((cell for cell in known if isinstance(cell, float) and np.isfinite(cell)), default=0.0)
        for row, scalars in enumerate(found):
            cell = scalars.get(path)
            if cell is not None:
                columns[row, place] = abs(top) + 1 + _code(cell, texts) if isinstance(cell, str) else cell
    return _split(names, columns[whole] if len(found) else np.empty((0, 0)), whole, first)


def _fitted(one: NDArray[np.int64], other: NDArray[np.int64]) -> list[int]:
    """The distinct outcomes of the runs that events are fitted to, in order of appearance, by turns of both tables."""
    rows = [each[parts(len(each))[0]].tolist() for each in (one, other)]
    return list(dict.fromkeys(row for both in zip_longest(*rows) for row in both if row is not None))


def _code(text: str, texts: Sequence[str]) -> float:
    """The place of a text among sorted ones, or between two of them."""
    place = bisect_left(texts, text)
    return place if texts[place : place + 1] == [text] else place - 0.5


def _split(
    names: tuple[Path, ...], numbers: NDArray[np.float64], whole: NDArray[np.int64], first: int
) -> tuple[Table, Table]:
    both = Table(names, numbers, whole)
    return both.part(slice(None, first)), both.part(slice(first, None))


def _key(value: Any) -> Hashable:
    """A value by which equal outcomes are found."""
    if isinstance(value, np.ndarray):
        return (value.shape, value.tobytes()) if value.dtype != object else tuple(map(_key, value.ravel().tolist()))
    if isinstance(value, list | tuple):
        return tuple(map(_key, value))
    if isinstance(value, Mapping):
        return frozenset((key, _key(cell)) for key, cell in value.items())
    if isinstance(value, KeyedHistogram):
        return frozenset(zip(value.rows(slice(None)), value.counts.tolist(), strict=True))
    if isinstance(value, set):
        return frozenset(value)
    try:
        hash(value)
    except Exception:  # noqa: BLE001  (an object may raise anything when it is hashed)
        raise _opaque(value) from None
    return (type(value).__name__, value) if isinstance(value, bool | str | bytes) else value


def _scalars(value: Any, path: Path = ()) -> Iterator[tuple[Path, float | str]]:
    """The scalars of an outcome with their paths."""
    if len(path) > _DEEPEST:
        raise _opaque(value)
    if value is None or isinstance(value, str | bytes | dt.date | dt.time | dt.timedelta):
        yield path, str(value)
    elif isinstance(value, Raised):
        yield (*path, "raised"), value.name
    elif isinstance(value, bool | int | float | Fraction | Decimal | np.number | np.bool_):
        try:
            yield path, float(value)
        except OverflowError:
            yield path, str(value)
    elif isinstance(value, Histogram):
        yield from _scalars(dict(value.items()), path)
    elif isinstance(value, KeyedHistogram):
        yield from _scalars(dict(zip(value.rows(slice(None)), value.counts.tolist(), strict=True)), path)
    elif isinstance(value, Mapping):
        for key, cell in value.items():
            yield from _scalars(cell, (*path, key))
    elif isinstance(value, set | frozenset):
        for each in value:
            yield (*path, each), 1.0
    elif isinstance(value, list | tuple | np.ndarray):
        listed: Sequence[Any] = value.tolist() if isinstance(value, np.ndarray) else value
        if not isinstance(listed, list | tuple):  # of an array without dimensions
            yield from _scalars(listed, path)
            return
        for place, each in enumerate(listed):
            yield from _scalars(each, (*path, place))
    elif dataclasses.is_dataclass(value):
        for each in dataclasses.fields(value):
            yield from _scalars(getattr(value, each.name), (*path, each.name))
    else:
        raise _opaque(value)


def _opaque(value: Any) -> InputError:
    return InputError(
        "mechanism",
        "must return numbers, texts, histograms, or lists and dictionaries of them",
        given=safe_repr(value),
        remedy="Give outcome=, a function that turns what it returns into one.",
    )


_LEVELS = 48  # ranges of a column, and finer ones towards its ends
_ENDS = (1e-4, 3e-4, 1e-3, 3e-3, 0.01)
_HANDICAP = 0.005  # of ε: an event that can be told in a few words is preferred
Values = Callable[[Table], NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class Cells:
    """A way to sort outcomes into cells: the ranges between, and the values at, some edges."""

    name: str
    values: Values
    edges: NDArray[np.float64]

    @property
    def size(self) -> int:
        return 2 * len(self.edges) + 2

    def codes(self, table: Table) -> NDArray[np.int64]:
        """The cell of every outcome: odd ones are single values, the last one is "absent"."""
        values = self.values(table)
        places = np.searchsorted(self.edges, values, "left") + np.searchsorted(self.edges, values, "right")
        return np.where(np.isnan(values), self.size - 1, places)

    def told(self, chosen: NDArray[np.bool_]) -> str:
        """The chosen cells in words."""
        texts, place = [], 0
        while place < self.size - 1:
            if not chosen[place]:
                place += 1
                continue
            start = place
            while place < self.size - 1 and chosen[place]:
                place += 1
            texts.append(self._range(start, place - 1))
        if chosen[-1]:
            texts.append("absent")
        more = f" or {len(texts) - 3} further ranges" if len(texts) > 3 else ""
        return f"{self.name} {' or '.join(texts[:3])}{more}"

    def _range(self, first: int, last: int) -> str:
        low = None if first == 0 else self.edges[(first - 1) // 2]
        high = None if last == self.size - 2 else self.edges[last // 2]
        if low is None and high is None:
            return "present"
        if low == high:
            return f"= {low:.6g}"
        at_least = "" if low is None else f"{'≥' if first % 2 else '>'} {low:.6g}"
        at_most = "" if high is None else f"{'≤' if last % 2 else '<'} {high:.6g}"
        return " and ".join(text for text in (at_least, at_most) if text)


@dataclass(frozen=True, slots=True)
class Wholes:
    """One cell for each whole outcome that was seen often enough, and one for all others."""

    known: NDArray[np.int64]

    @property
    def size(self) -> int:
        return len(self.known) + 1

    def codes(self, table: Table) -> NDArray[np.int64]:
        places = np.minimum(np.searchsorted(self.known, table.whole), len(self.known) - 1)
        return np.where(self.known[places] == table.whole, places, len(self.known))

    def told(self, chosen: NDArray[np.bool_]) -> str:
        count = int(chosen.sum())
        return f"the whole outcome is {'a certain one' if count == 1 else f'one of {count}'}"


Way = Cells | Wholes


@dataclass(frozen=True, slots=True)
class Found:
    """An event that favours one data set over the other."""

    way: Way
    chosen: NDArray[np.bool_]

    def hits(self, table: Table) -> int:
        """Count the runs in which it happened."""
        return int(self.chosen[self.way.codes(table)].sum())

    def __str__(self) -> str:
        return self.way.told(self.chosen)


def find_events(
    fit: tuple[Table, Table], choose: tuple[Table, Table], *, alpha: float, delta: float
) -> tuple[Found, Found]:
    """Return the event that favours the first data set most, and the one that favours the second."""
    z = NormalDist().inv_cdf(1 - alpha)
    best: list[tuple[float, Found] | None] = [None, None]
    for way in _ways(fit):
        fitted = [np.bincount(way.codes(table), minlength=way.size) for table in fit]
        tried = [np.bincount(way.codes(table), minlength=way.size) for table in choose]
        for side in (0, 1):
            own, others = fitted[side], fitted[1 - side]
            for order, handicap in _orders(way, own, others):
                hits, misses = (np.cumsum(tried[place][order]) for place in (side, 1 - side))
                # Twice as many runs will decide: what this part shows is taken to go on.
                runs = 2 * len(choose[side]), 2 * len(choose[1 - side])
                bounds = _bound(2 * hits, runs[0], 2 * misses, runs[1], z, delta) - handicap
                place = int(np.argmax(bounds))
                known = best[side]
                if known is None or bounds[place] > known[0]:
                    chosen = np.zeros(way.size, dtype=bool)
                    chosen[order[: place + 1]] = True
                    if isinstance(way, Cells):
                        chosen = _filled(chosen, own + others > 0)
                    best[side] = float(bounds[place]), Found(way, chosen)
    assert best[0] is not None and best[1] is not None  # the whole outcome is always a way
    return best[0][1], best[1][1]


def _orders(way: Way, own: NDArray[np.int64], others: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], float]]:
    """Orders in which cells may be taken, and a handicap: from either end, and by how much they favour one data set."""
    if isinstance(way, Cells):
        yield np.arange(way.size - 1), 0.0
        yield np.arange(way.size - 1)[::-1], 0.0
    order = np.argsort(-_favour(own, others), kind="stable")
    yield order[: max(1, int((own > 0).sum()))], _HANDICAP


def _filled(chosen: NDArray[np.bool_], seen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Take the cells, too, that nobody has seen yet and that lie between chosen ones, or beyond the last one."""
    filled = chosen.copy()
    known = np.flatnonzero(seen[:-1])
    if len(known):
        places = np.arange(len(chosen) - 1)
        after = np.searchsorted(known, places)
        right = chosen[known[np.minimum(after, len(known) - 1)]]
        left = chosen[known[np.maximum(after - 1, 0)]]
        filled[:-1] = np.where(seen[:-1], chosen[:-1], left & right)
    return filled


def _favour(own: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.float64]:
    """The log-ratio of counts, less what chance could have added; cells that were never seen come last."""
    ratio = np.log(own + 0.5) - np.log(others + 0.5) - np.sqrt(1 / (own + 0.5) + 1 / (others + 0.5))
    return np.where(own > 0, ratio, -np.inf)


def _bound(
    hits: NDArray[np.int64], runs: int, misses: NDArray[np.int64], others: int, z: float, delta: float
) -> NDArray[np.float64]:
    """About the lower bound on ε that an event would give; it chooses, and promises nothing."""
    low, _ = _wilson(hits, runs, z)
    _, high = _wilson(misses, others, z)
    return np.asarray(np.log(np.maximum(low - delta, 1e-300)) - np.log(high))


def _wilson(hits: NDArray[np.int64], runs: int, z: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    share, square = hits / runs, z * z / runs
    middle = share + square / 2
    spread = z * np.sqrt(share * (1 - share) / runs + square / (4 * runs))
    return np.maximum(middle - spread, 0) / (1 + square), (middle + spread) / (1 + square)


# ---------------------------------------------------------------- ways to sort outcomes into cells


def _ways(fit: tuple[Table, Table]) -> Iterator[Way]:
    counts = np.unique(np.concatenate([table.whole for table in fit]), return_counts=True)
    often = counts[0][counts[1] > 1]
    yield Wholes(often if len(often) else counts[0][:1])
    names = fit[0].names
    single = [_cells(_title(names, place), _column(place), fit) for place in range(len(names))]
    single = [cells for cells in single if cells.size > 4]  # more than one value
    yield from single
    for place in range(len(names)):
        if _has_fractions(place, fit):
            yield _cells(f"lowest bit of {_title(names, place)}", _lowest_bit(place), fit)
    if len(single) > 1:
        yield _cells("sum", lambda table: np.nansum(table.numbers, axis=1), fit)
        yield _score(single, fit)


def _title(names: Sequence[Path], place: int) -> str:
    return "output" if not names[place] else f"output[{', '.join(map(_short, names[place]))}]"


def _short(part: Any) -> str:
    text = repr(part)
    return text if len(text) <= 40 else f"{text[:39]}…"


def _column(place: int) -> Values:
    return lambda table: table.numbers[:, place]


def _lowest_bit(place: int) -> Values:
    """The exponent of the last bit that is set in a double: sums of noise and a data value show theirs."""

    def exponents(table: Table) -> NDArray[np.float64]:
        mantissa, exponent = np.frexp(table.numbers[:, place])
        whole = np.abs(np.nan_to_num(mantissa, posinf=0, neginf=0) * 2.0**53).astype(np.int64)
        lowest = np.where(whole == 0, 1, whole & -whole)
        return np.where(whole == 0, np.nan, exponent - 53 + np.log2(lowest))

    return exponents


def _has_fractions(place: int, fit: tuple[Table, Table]) -> bool:
    values = fit[0].numbers[:, place]
    return bool((values[np.isfinite(values)] % 1 != 0).any())


def _cells(name: str, values: Values, fit: tuple[Table, Table]) -> Cells:
    seen = np.concatenate([values(table) for table in fit])
    seen = seen[~np.isnan(seen)]
    distinct = np.unique(seen)
    if len(distinct) > _LEVELS:
        levels = np.concatenate([np.linspace(0, 1, _LEVELS + 1), _ENDS, 1 - np.array(_ENDS)])
        distinct = np.unique(np.quantile(seen, np.sort(levels), method="inverted_cdf"))
    return Cells(name, values, distinct)


def _score(single: Sequence[Cells], fit: tuple[Table, Table]) -> Cells:
    """What all columns say together, if they are independent: the sum of the log-ratios of their cells."""
    ratios = []
    for cells in single:
        own, others = (np.bincount(cells.codes(table), minlength=cells.size) for table in fit)
        ratios.append(np.log(own + 0.5) - np.log(others + 0.5))

    def score(table: Table) -> NDArray[np.float64]:
        total = np.zeros(len(table))
        for cells, ratio in zip(single, ratios, strict=True):
            total += ratio[cells.codes(table)]
        return total + math.log(len(fit[1]) / max(1, len(fit[0])))

    return _cells("likelihood ratio", score, fit)
