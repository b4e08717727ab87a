"""The search for an event: a set of outcomes that tells two data sets apart as well as possible.

Outcomes are sorted into cells in many ways: by every column, by differences and sums of columns, by pairs of columns,
by the last bits of doubles, by the whole outcome, and by a score that adds up what each column says (for independent
columns this is the likelihood ratio itself). For each way, the cells are ordered by how much they favour one data set
on one part of the runs, and as many of them are taken as make the bound on another part largest. The runs that decide
afterwards were not looked at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp.audit.outcomes import Path, Table

__all__ = ["Found", "find_events"]

_LEVELS = 48  # ranges of a column, and finer ones towards its ends
_ENDS = (1e-4, 3e-4, 1e-3, 3e-3, 0.01)
_COARSE = 12  # ranges of each of two columns
_MOST_COMBINED = 6  # columns whose differences and pairs are looked at
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
class Pairs:
    """Cells of two columns at once."""

    one: Cells
    other: Cells

    @property
    def size(self) -> int:
        return self.one.size * self.other.size

    def codes(self, table: Table) -> NDArray[np.int64]:
        return self.one.codes(table) * self.other.size + self.other.codes(table)

    def told(self, chosen: NDArray[np.bool_]) -> str:
        count = int(chosen.sum())
        return f"{self.one.name} and {self.other.name} in {count} {'cell' if count == 1 else 'cells'}"


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


Way = Cells | Pairs | Wholes


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
    """Return the event that favours the first data set most, and the one that favours the second.

    Parameters
    ----------
    fit : pair of Table
        Runs on both data sets by which cells are ordered.
    choose : pair of Table
        Runs by which ways are compared, and how many cells are taken.
    alpha, delta : float
        The chance of error of one bound in the final test, and the δ that is claimed.

    Returns
    -------
    pair of Found
    """
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
    columns = [place for place in range(len(names)) if len(names) == 1 or _varies(place, fit)]
    for place in columns:
        if _has_fractions(place, fit):
            yield _cells(f"lowest bit of {_title(names, place)}", _lowest_bit(place), fit)
    if len(columns) > 1:
        yield _cells("sum", lambda table: np.nansum(table.numbers, axis=1), fit)
        yield _score(single, fit)
        yield _score([_cells(cells.name, cells.values, fit, coarse=True) for cells in single], fit)
    if 1 < len(columns) <= _MOST_COMBINED:
        for one, other in combinations(columns, 2):
            both = f"{_title(names, one)} − {_title(names, other)}"
            yield _cells(both, _difference(one, other), fit)
            yield Pairs(*(_cells(_title(names, place), _column(place), fit, coarse=True) for place in (one, other)))


def _title(names: Sequence[Path], place: int) -> str:
    return "output" if not names[place] else f"output[{', '.join(map(_short, names[place]))}]"


def _short(part: Any) -> str:
    text = repr(part)
    return text if len(text) <= 40 else f"{text[:39]}…"


def _column(place: int) -> Values:
    return lambda table: table.numbers[:, place]


def _difference(one: int, other: int) -> Values:
    return lambda table: table.numbers[:, one] - table.numbers[:, other]


def _lowest_bit(place: int) -> Values:
    """The exponent of the last bit that is set in a double: sums of noise and a data value show theirs."""

    def exponents(table: Table) -> NDArray[np.float64]:
        mantissa, exponent = np.frexp(table.numbers[:, place])
        whole = np.abs(np.nan_to_num(mantissa, posinf=0, neginf=0) * 2.0**53).astype(np.int64)
        lowest = np.where(whole == 0, 1, whole & -whole)
        return np.where(whole == 0, np.nan, exponent - 53 + np.log2(lowest))

    return exponents


def _varies(place: int, fit: tuple[Table, Table]) -> bool:
    return any(len(np.unique(table.numbers[:, place])) > 1 for table in fit)


def _has_fractions(place: int, fit: tuple[Table, Table]) -> bool:
    values = fit[0].numbers[:, place]
    return bool((values[np.isfinite(values)] % 1 != 0).any())


def _cells(name: str, values: Values, fit: tuple[Table, Table], *, coarse: bool = False) -> Cells:
    seen = np.concatenate([values(table) for table in fit])
    seen = seen[~np.isnan(seen)]
    distinct = np.unique(seen)
    if len(distinct) > (_COARSE if coarse else _LEVELS):
        inner = np.linspace(0, 1, (_COARSE if coarse else _LEVELS) + 1)
        levels = inner if coarse else np.concatenate([inner, _ENDS, 1 - np.array(_ENDS)])
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
