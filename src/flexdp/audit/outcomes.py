"""Outcomes of any kind as numbers in columns: what an event may look at.

Every outcome is taken apart into scalars with a path: an element of a list by its place, a bucket of a histogram by its
key. Numbers stay numbers, texts become categories, and what is absent is not a number. The whole outcome counts too.

Which paths become columns, and which number stands for a text, is settled by the runs that events are fitted to. The
runs that decide have no say in it: an event is a fixed set of outcomes before they are looked at.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.text import safe_repr
from flexdp.errors import InputError
from flexdp.histogram import Histogram, KeyedHistogram

__all__ = ["Raised", "Table", "parts", "tabulated"]

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
    """Return which of so many runs on a data set events are fitted to, which ones choose among them, and which decide.

    Parameters
    ----------
    runs : int
        Number of runs.

    Returns
    -------
    tuple of slice
        The first quarter, the second one, and the other half.
    """
    return slice(0, runs // 4), slice(runs // 4, runs // 2), slice(runs // 2, None)


def tabulated(one: Any, other: Any, outcome: Callable[[Any], Any] | None = None) -> tuple[Table, Table]:
    """Return the outcomes on two data sets in the same columns.

    Parameters
    ----------
    one, other : array or list
        Outcomes of single runs, in the order of :func:`parts`; of arrays, along the first axis.
    outcome : callable, optional
        Applied to every outcome first.

    Returns
    -------
    pair of Table

    Raises
    ------
    InputError
        If an outcome is an object that cannot be taken apart.
    """
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
