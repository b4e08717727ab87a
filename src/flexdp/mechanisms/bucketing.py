"""Bucketing: every record to the centre of its bucket."""

from __future__ import annotations

import datetime as dt
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.calendar import days_since_epoch, micros_since_epoch
from flexdp._core.domains import elements, sequence
from flexdp._core.exact import Number, float_up, root_up
from flexdp._core.fields import Taken, maybe, param, plain, whole, word
from flexdp._core.text import safe_repr
from flexdp.buckets.base import Kind, Outside
from flexdp.buckets.grid import Grid
from flexdp.buckets.parse import bucket_parameters, make_buckets, make_grid
from flexdp.buckets.partition import Buckets, Partition
from flexdp.buckets.width import Width
from flexdp.calculus.compose import Error, Known, Step, identity
from flexdp.calculus.privacy import Relation
from flexdp.distribution import Distribution, TooManyOutcomesError
from flexdp.divergence import LARGEST_PRODUCT
from flexdp.errors import InputError, P
from flexdp.guarantees import ONE_RECORD, AddRemove
from flexdp.histogram import Histogram
from flexdp.mechanisms.bars import as_histogram, law_of_value
from flexdp.mechanisms.base import IDENTITY, Mechanism
from flexdp.mechanisms.spaces import DIMENSIONS, Space, histogram_given, histograms, unit_tables
from flexdp.noise.bits import Bits

__all__ = ["Bucketing"]


_NAMES = str | bytes | int | float | Fraction | dt.date | np.generic


def _as_given(_name: str, value: Any) -> Any:
    return value  # the buckets check it


def _partition(name: str, value: object) -> Partition:
    if not isinstance(value, Partition):
        raise InputError(name, "must be a partition into buckets", given=safe_repr(value))
    return value


class Bucketing(Mechanism):
    """Move every record to its bucket's centre: (0, β, 0)-accurate for the identity; neighbours stay neighbours.

    Paper, Claim bucket-accuracy and, in d dimensions, bucket-accuracy-d-dim: the error of a cube of side w is (w/2)√d.
    With bounds the number of buckets is public, and the guarantee refers to values within them: others are limited to
    them, or left out, beforehand. Where values are left out (``outside="drop"``, or far out on an open domain) the
    number of records is not kept, and no condition on it passes to the steps that follow.

    Parameters
    ----------
    width, relative, edges
        One of them, or none: buckets of one width; each within a fraction of its centre; between given edges. Without
        any, every value is its own bucket.
    bounds
        Public pair (lower, upper).
    outside
        "clamp" counts values outside the bounds at the nearer end; "drop" leaves them out.
    kind
        Kind of the keys.
    dimensions
        Number of coordinates, which share ``width`` and ``bounds``.
    axes
        Instead of all these: one Bucketing for each coordinate.
    partition
        Instead of all these: a partition of :mod:`flexdp.buckets`.
    unit, max_buckets_per_unit
        Privacy unit, and the most buckets in which one unit counts, once in each; random ones where it has more. The
        mechanism then takes a table of pairs (unit, value) instead of a histogram, for histograms cannot tell whose
        records they count. Where one of its pairs lacks a unit (None), it does not count.

    Raises
    ------
    InputError
        The parameters do not describe buckets.

    Examples
    --------
    >>> Bucketing(width=5, bounds=(0, 120)).accuracy().beta
    2.5
    >>> Bucketing(width=5, bounds=(0, 120)) == Bucketing(width="5.0", bounds=[0, 120])
    True
    >>> Bucketing(relative="0.05", bounds=(1, 120))
    Bucketing(relative='0.05', bounds=(1, 120))
    >>> weeks = Bucketing(kind="date", width="1 week", bounds=("2024-01-01", "2024-12-31"))
    >>> weeks.arguments()
    {'width': '1 week', 'bounds': ('2024-01-01', '2024-12-31'), 'kind': 'date'}
    >>> tens = Bucketing(width=10)
    >>> tens(Histogram.from_values([3, 8, 14])).keys.tolist()
    [5.0, 15.0]
    >>> tens.accuracy().beta, tens.step(Known()).tau(Error(1.0)).beta
    (5.0, 6.0)
    >>> visits = Bucketing(width=10, unit="patient", max_buckets_per_unit=2)
    >>> visits([("Ann", 3), ("Ann", 4), ("Ann", 14), ("Bob", 3)]).counts.tolist()
    [2, 1]
    """

    width: Taken[Number | None, Any] = param(_as_given, default=None, kw_only=True, compare=False)
    relative: Taken[Number | None, Any] = param(_as_given, default=None, kw_only=True, compare=False)
    edges: Sequence[Any] | None = param(_as_given, default=None, kw_only=True, compare=False)
    bounds: Sequence[Any] | None = param(_as_given, default=None, kw_only=True, compare=False)
    outside: Outside = param(_as_given, default="clamp", kw_only=True, compare=False)
    kind: Kind = param(_as_given, default="number", kw_only=True, compare=False)
    dimensions: int = param(DIMENSIONS, default=1, kw_only=True)
    axes: Sequence[Bucketing] | None = param(_as_given, default=None, kw_only=True, compare=False)
    partition: Taken[Partition | None, Partition] = param(maybe(_partition), default=None, kw_only=True)
    unit: str | None = param(maybe(word()), default=None, kw_only=True)
    max_buckets_per_unit: int = param(whole(), default=1, kw_only=True)
    function = IDENTITY

    def _check(self) -> dict[str, Any]:
        """Make the buckets, and keep the arguments as the buckets read them."""
        buckets: Partition = self.partition
        if self.axes is not None:
            buckets = make_grid([_axis(each) for each in elements(self.axes) or [None]])
        elif buckets is None:
            buckets = make_buckets(
                self.kind,
                width=self.width,
                relative=self.relative,
                edges=self.edges,
                bounds=self.bounds,
                outside=self.outside,
            )
        if not isinstance(buckets, Grid | Width) and self.dimensions > 1:
            raise InputError(
                "width",
                "must be given in more than one dimension",
                remedy=(P("relative"), " and ", P("edges"), " are for one."),
            )
        if self.unit is None and self.max_buckets_per_unit > 1:
            raise InputError("max_buckets_per_unit", ("needs ", P("unit")), given=safe_repr(self.max_buckets_per_unit))
        read: dict[str, Any] = {"partition": buckets, **_arguments(buckets)}
        return read | {"dimensions": buckets.dimensions} if isinstance(buckets, Grid) else read

    def arguments(self) -> dict[str, Any]:
        """Return the arguments that make an equal mechanism, as a person would write them.

        Returns
        -------
        dict
            Arguments by name.
        """
        hidden = ("partition", "dimensions") if isinstance(self.partition, Grid) else ("partition",)
        return {name: value for name, value in super().arguments().items() if name not in hidden}

    @property
    def source(self) -> Space:
        """Histograms of so many dimensions, or tables of pairs (unit, value)."""
        return (histograms if self.unit is None else unit_tables)(self.dimensions)

    @property
    def target(self) -> Space:
        """Histograms of so many dimensions."""
        return histograms(self.dimensions)

    def draw(self, x: Histogram | Iterable[tuple[Any, Any]], bits: Bits) -> Histogram:
        """Bucket a histogram, or count the units of a table by bucket.

        Parameters
        ----------
        x
            A histogram; with ``unit``, pairs (unit, value).
        bits
            The source of all randomness: a unit with too many buckets counts in a uniformly random choice of them.

        Returns
        -------
        Histogram
            The same records at the centres of their buckets; with ``unit``, the number of units in each.

        Raises
        ------
        InputError
            If the value is neither.
        """
        if self.unit is None:
            return self._bucketed(histogram_given(x))
        most = self.max_buckets_per_unit
        return self._counted([_choose(own, most, bits) for own in self._buckets_of_units(x)])

    def law(self, x: Any) -> Distribution:
        """Return the law of the histogram, each unit in a uniformly random choice of its buckets, up to the cap."""
        if self.unit is None:
            return law_of_value(self._bucketed, as_histogram(x))
        found: dict[tuple[Any, ...], Fraction] = {(): Fraction(1)}  # buckets of all units so far, in order
        for own in self._buckets_of_units(x):
            choices = list(combinations(own, min(len(own), self.max_buckets_per_unit)))
            counted: dict[tuple[Any, ...], Fraction] = {}
            for buckets, mass in found.items():
                for chosen in choices:
                    key = tuple(sorted((*buckets, *chosen)))
                    counted[key] = counted.get(key, Fraction(0)) + mass / len(choices)
            found = counted
            if len(found) > LARGEST_PRODUCT:
                raise TooManyOutcomesError
        return Distribution({self._counted([buckets]): mass for buckets, mass in found.items()})

    def _buckets_of_units(self, x: object) -> list[list[Any]]:
        """Return the different buckets of each unit of a table, in order."""
        listed = elements(x)
        rows = [] if listed is None else [row for row in map(sequence, listed) if row is not None and len(row) == 2]
        if listed is None or len(rows) < len(listed):
            raise InputError("value", "must be a list of pairs (unit, value)", given=safe_repr(x))
        buckets = defaultdict[Any, set[Any]](set)
        for unit, value in rows:
            if not isinstance(unit, _NAMES | None):
                raise InputError("value", "must name units by texts, numbers or dates")
            if unit is not None:
                buckets[unit].update(key for key, _ in self._bucketed(Histogram.from_values([value])).items())
        return [sorted(own) for own in buckets.values()]

    def _counted(self, chosen: Iterable[Iterable[Any]]) -> Histogram:
        """Count each unit once in each of its chosen buckets."""
        kept = [key for own in chosen for key in own]
        return Histogram.from_values(kept) if kept else self._bucketed(Histogram([], []))

    @property
    def axes_of_buckets(self) -> tuple[Buckets, ...]:
        """The buckets of each coordinate."""
        return self._axes if isinstance(self.partition, Grid) else self._axes * self.dimensions

    def are_centres(self, value: Histogram) -> NDArray[np.bool_]:
        """Return which keys are the centres of buckets.

        Parameters
        ----------
        value
            A histogram, of the mechanism's output or any other.

        Returns
        -------
        numpy.ndarray
            A mask of the keys.

        Examples
        --------
        >>> Bucketing(width=10, bounds=(0, 20)).are_centres(Histogram.from_values([5, 6, 15, 25])).tolist()
        [True, False, True, False]
        """
        histogram, axes = histogram_given(value), self.axes_of_buckets
        if isinstance(self.partition, Grid):
            columns = [histogram.keys[:, i] for i in range(self.partition.dimensions)]
        else:
            points = _coordinates(histogram, self.partition, self.dimensions)
            columns = [points] if points.ndim == 1 else list(points.T)
        keys = [histogram.keys] if histogram.keys.ndim == 1 else list(histogram.keys.T)
        found = np.ones(len(histogram), dtype=bool)
        for axis, column, own in zip(axes, columns, keys, strict=True):
            inside = _readable(axis, column)
            values = column[inside] if axis.kind == "number" else column[inside].astype(np.int64)
            found[~inside] = False
            found[inside] &= np.asarray(axis.centres(axis.locate(values)) == own[inside], dtype=bool)
        return found

    def _bucketed(self, histogram: Histogram) -> Histogram:
        buckets = self.partition
        if isinstance(buckets, Grid):
            return _to_cells(histogram, buckets)
        keys = _coordinates(histogram, buckets, self.dimensions)
        inside = _readable(buckets, keys)
        kept = inside if keys.ndim == 1 else inside.all(axis=1)
        centres = buckets.centres(buckets.locate(keys[kept].ravel()))
        return Histogram(centres.reshape(keys[kept].shape), histogram.counts[kept])

    @cached_property
    def _own(self) -> float:
        error = self.partition.beta
        if error is None:
            raise InputError("accuracy", "has no β: the first and the last bucket are open")
        if not isinstance(self.partition, Grid) and self.dimensions > 1:
            error *= root_up(self.dimensions)
        return float_up(error)

    @property
    def bars(self) -> int | None:
        """Number of buckets, if they are public."""
        count = self.partition.count
        return None if count is None else count ** (1 if isinstance(self.partition, Grid) else self.dimensions)

    def step(self, known: Known) -> Step:
        """Return the step that adds β, the most that any record moves, to the errors of the input.

        Parameters
        ----------
        known
            Public knowledge of the input: the number of records passes on where all are counted, and public buckets
            bound the number of buckets.

        Returns
        -------
        Step
            For the identity.
        """
        counts_all = self.unit is None and all(map(_reads_all, self._axes))
        after = Known(
            records_at_least=known.records_at_least if counts_all else None,
            bars=known.bars if self.bars is None else self.bars,
        )
        return Step(
            self._tau,
            metric=self.target.metric,
            takes=self.target.metric,
            sigma=identity(),
            moves=lambda beta: beta,
            after=after,
            buckets="merged",
            unit=self.partition.unit,
        )

    def _tau(self, error: Error) -> Error:
        own = self._own
        if error.beta and any(axis.bounds is not None and axis.outside == "drop" for axis in self._axes):
            return Error(math.inf, error.gamma)  # a value moved across a bound is left out, and the histogram jumps
        return error.plus(own, relative=self.partition.relative)

    @property
    def _axes(self) -> tuple[Buckets, ...]:
        return self.partition.axes if isinstance(self.partition, Grid) else (self.partition,)

    @property
    def preserves(self) -> Relation:
        """Neighbours stay neighbours: a unit more is one more in each of at most so many buckets."""
        kept = ONE_RECORD if self.unit is None else AddRemove(self.unit, self.max_buckets_per_unit)
        return kept, kept


def _choose(buckets: Sequence[Any], most: int, bits: Bits) -> list[Any]:
    """Choose at most this many of them, every choice equally likely."""
    left = list(buckets)
    return left if len(left) <= most else [left.pop(bits.below(len(left))) for _ in range(most)]


def _axis(value: object) -> Buckets:
    if not isinstance(value, Bucketing) or isinstance(value.partition, Grid):
        raise InputError("axes", "must be a list of Bucketing, one for each coordinate", given=safe_repr(value))
    return value.partition


def _arguments(buckets: Partition) -> dict[str, Any]:
    """The parameters of a partition as a person would write them."""
    if isinstance(buckets, Grid):
        return {"axes": tuple(Bucketing(partition=axis) for axis in buckets.axes)}
    given: dict[str, Any] = {"width": None, "relative": None, "edges": None, "bounds": None, "kind": buckets.kind}
    for name, value in bucket_parameters(buckets).items():
        if name == "outside":
            given[name] = value
        elif isinstance(value, list):
            given[name] = tuple(_number(buckets.kind, each) for each in value)
        elif name in given:
            given[name] = _number(buckets.kind, value)
    return given


def _number(kind: Kind, value: str) -> int | str:
    if kind in ("integer", "number") and not value.startswith(
        ">"
    ):  # the mark of an edge that belongs to the bucket below
        return plain(Fraction(value))
    return value


def _to_cells(histogram: Histogram, grid: Grid) -> Histogram:
    """Every point to the middle of its cell."""
    if histogram.keys.ndim != 2 or histogram.keys.shape[1] != grid.dimensions:
        raise InputError("histogram", f"must have keys of {grid.dimensions} dimension(s)")
    kept = np.ones(len(histogram), dtype=bool)
    for i, axis in enumerate(grid.axes):
        kept &= _readable(axis, histogram.keys[:, i])
    columns = []
    for i, axis in enumerate(grid.axes):
        values = histogram.keys[kept, i]
        columns.append(axis.centres(axis.locate(values if axis.kind == "number" else values.astype(np.int64))))
    return Histogram(np.stack([column.astype(np.float64) for column in columns], axis=1), histogram.counts[kept])


def _coordinates(histogram: Histogram, buckets: Buckets, dimensions: int) -> NDArray[Any]:
    """The keys as the partition takes them: numbers, integers, days, or points with a row each."""
    keys = histogram.keys
    if (keys.shape[1] if keys.ndim == 2 else 1) != dimensions:
        raise InputError("histogram", f"must have keys of {dimensions} dimension(s)")
    if buckets.kind == "date":
        if not all(isinstance(key, dt.date) for key in keys):
            raise InputError("histogram", "must have dates for keys")
        return np.array([days_since_epoch(key) for key in keys], dtype=np.int64)
    if buckets.kind == "datetime":
        if not all(isinstance(key, dt.datetime) for key in keys):
            raise InputError("histogram", "must have datetimes for keys")
        return np.array([micros_since_epoch(key) for key in keys], dtype=np.int64)
    if buckets.kind in ("text", "boolean"):
        return keys
    if not all(isinstance(key, Real) for key in keys.ravel()[:1]) or keys.dtype.kind == "b":
        raise InputError("histogram", "must have numbers for keys")
    if buckets.kind == "number":
        return keys.astype(np.float64)
    if keys.dtype.kind == "f" and not (keys == np.floor(keys)).all():
        raise InputError("histogram", "must have whole numbers for keys", remedy=("Set ", P("kind", "number"), "."))
    return keys.astype(np.int64) if keys.dtype.kind == "f" else keys


def _readable(buckets: Buckets, keys: NDArray[Any]) -> NDArray[np.bool_]:
    """A mask of the keys that the partition counts at all."""
    if buckets.bounds is not None and buckets.outside == "drop":
        low, high = buckets.bounds
        return np.asarray((keys >= float(low)) & (keys <= float(high)))
    if isinstance(buckets, Width) and buckets.bounds is None and not buckets.whole:
        return np.asarray(np.abs(keys) <= buckets.reach)
    return np.ones(keys.shape, dtype=bool)


def _reads_all(buckets: Buckets) -> bool:
    """Return True if every key is counted, wherever it lies."""
    if buckets.bounds is not None:
        return buckets.outside != "drop"
    return not isinstance(buckets, Width) or buckets.whole
