"""The public description of a count, made of parameters alone, and the arrays of its result.

A bucket here is a cell of all columns that are counted by: a bucket of each released column within a group. A record
lies in exactly one. :mod:`flexdp.tables.source` counts.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from flexdp._core.keys import object_keys
from flexdp.buckets.base import Kind
from flexdp.buckets.exact import Exact
from flexdp.buckets.partition import Buckets
from flexdp.tables.column import Column
from flexdp.tables.where import Filter, ReadColumn, columns_in

__all__ = [
    "SHOWN_SALT", "Axis", "Counted", "Counting", "PerUnit", "Units", "columns_of", "counted", "counted_together",
    "named_columns",
]  # fmt: skip

PerUnit: TypeAlias = Literal["max", "min", "mean", "random"]
SHOWN_SALT = "salt"  # in queries that are only shown; a release draws a fresh one


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One column that is counted by.

    Parameters
    ----------
    column
        The declared column.
    kind
        The kind that its cells are read as.
    buckets
        The partition of its values.
    zone
        The time zone whose clocks show the datetimes of a column with time zones.

    Examples
    --------
    >>> from flexdp.buckets.exact import Exact
    >>> age = Column(name="age", type_name="BIGINT", kind="integer")
    >>> Axis(column=age, kind="integer", buckets=Exact("integer")).zone is None
    True
    """

    column: Column
    kind: Kind
    buckets: Buckets
    zone: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Units:
    """The privacy unit: all records that share one value of a column.

    Parameters
    ----------
    column
        The column that identifies the unit.
    kind
        The kind that its cells are read as.
    most
        The number of buckets that a unit may count in, once each; a salted hash chooses them.
    per_unit
        Keep one value per unit instead.
    salt
        The salt of the hash.

    Examples
    --------
    >>> patient = Column(name="patient", type_name="BIGINT", kind="integer")
    >>> Units(column=patient, kind="integer", most=2).per_unit is None
    True
    """

    column: Column
    kind: Kind
    most: int = 1
    per_unit: PerUnit | None = None
    salt: str = SHOWN_SALT


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting:
    """One count.

    Parameters
    ----------
    values
        The released columns.
    groups
        The columns that hold the groups.
    declared
        The groups that count; None if all do.
    units
        The privacy unit; None if it is one record.
    where
        The test of the records that count; None if all do.
    of_units
        Count the units themselves, by whether they have more buckets than they may count in (key 1) or not (key 0):
        each unit has one key.

    Examples
    --------
    >>> from flexdp.buckets.exact import Exact
    >>> age = Column(name="age", type_name="BIGINT", kind="integer")
    >>> [c.name for c in Counting(values=(Axis(column=age, kind="integer", buckets=Exact("integer")),)).columns]
    ['age']
    """

    values: tuple[Axis, ...]
    groups: tuple[Axis, ...] = ()
    declared: tuple[tuple[Any, ...], ...] | None = None
    units: Units | None = None
    where: Filter | None = None
    of_units: bool = False

    @property
    def keys(self) -> tuple[Axis, ...]:
        """The keys of the result: the columns that are counted by, or of units 0 and 1."""
        if not self.of_units or self.units is None:
            return self.axes
        return (Axis(column=self.units.column, kind="integer", buckets=Exact("integer")),)

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The columns that are counted by, groups first."""
        return (*self.groups, *self.values)

    @property
    def named(self) -> tuple[tuple[Column, Kind], ...]:
        """The columns that are named, with the kind that each is read as."""
        read: list[tuple[Column, Kind]] = [
            (axis.column, axis.kind if axis.zone is None else "datetime") for axis in self.axes
        ]
        if self.units is not None:
            read.append((self.units.column, self.units.kind))
        if self.where is not None:
            read += [(each.column, each.kind) for each in self.where.columns]
        return tuple(dict.fromkeys(read))

    @property
    def cells(self) -> tuple[tuple[Column, Kind], ...]:
        """The columns of the source that are read, with the kind that each is read as."""
        out: list[tuple[Column, Kind]] = []
        for column, kind in self.named:
            own = (ReadColumn(column, kind),) if column.derived is None else columns_in(column.derived)
            out += [(each.column, each.kind) for each in own]
        return tuple(dict.fromkeys(out))

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the source that are read, each once."""
        return tuple(dict.fromkeys(column for column, _ in self.cells))

    @property
    def plain(self) -> bool:
        """True if one column is counted by itself, as it is."""
        alone = len(self.axes) == 1 and self.units is None and self.where is None
        return alone and self.axes[0].column.derived is None


def columns_of(countings: Sequence[Counting]) -> tuple[Column, ...]:
    """Return the columns of the source that several counts read, each once."""
    return tuple(dict.fromkeys(column for counting in countings for column in counting.columns))


class Counted(NamedTuple):
    """Non-empty buckets as an engine returns them.

    Parameters
    ----------
    keys
        One array of keys for each axis.
    records
        The number of records, or units, in each bucket.

    Examples
    --------
    >>> import numpy as np
    >>> Counted((np.array([0, 1]),), np.array([7, 3])).records.sum()
    np.int64(10)
    """

    keys: tuple[Any, ...]
    records: Any


def counted(columns: dict[str, Any], axes: int) -> Counted:
    """Name the columns of a count query's result."""
    return Counted(tuple(columns[f"b{i}"] for i in range(axes)), columns["records"])


def counted_together(columns: dict[str, Any], countings: Sequence[Counting]) -> list[Counted]:
    """Take the result of several counts in one query apart; rows with a missing key are not buckets."""
    out = []
    for p, counting in enumerate(countings):
        parts = [columns[f"c{p}_b{i}"] for i in range(len(counting.axes))]
        mine = np.asarray(columns["whose"] == p)
        for part in parts:
            mine &= ~np.ma.getmaskarray(part)
        out.append(Counted(tuple(np.ma.getdata(part)[mine] for part in parts), np.ma.getdata(columns["records"])[mine]))
    return out


def named_columns(rows: Sequence[Sequence[Any]], names: Sequence[str], texts: Collection[str]) -> dict[str, Any]:
    """Turn rows from a database driver into named columns; ``texts`` are the names of those that hold texts."""
    cells = zip(*rows, strict=True) if len(rows) else ([] for _ in names)
    return {name: _column(list(part), texts=name in texts) for name, part in zip(names, cells, strict=True)}


def _column(cells: list[Any], *, texts: bool) -> Any:
    missing = [cell is None for cell in cells]
    if texts or any(isinstance(cell, str) for cell in cells):  # wide integers come as texts, too
        values = object_keys(cells)
    else:
        values = np.array([0 if cell is None else cell for cell in cells])
    return np.ma.MaskedArray(values, mask=missing)
