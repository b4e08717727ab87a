"""Counting: the public description of a count, and the one step in which records are read.

A bucket here is a cell of all columns that are counted by: a bucket of each released column within a group. A record
lies in exactly one. Everything but :func:`count` is made of parameters and touches no data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np

from flexdp.buckets.base import LARGEST_INDEX, Kind
from flexdp.buckets.exact import Exact
from flexdp.buckets.partition import Buckets
from flexdp.errors import DataError, FlexdpError, InputError
from flexdp.histogram import KeyedHistogram
from flexdp.tables.declared import Column

__all__ = ["SHOWN_SALT", "Axis", "Counted", "Counting", "PerUnit", "Table", "Units", "count", "histogram_of"]

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

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The columns that are counted by, groups first."""
        return (*self.groups, *self.values)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that are read, each once."""
        read = [axis.column for axis in self.axes]
        if self.units is not None:
            read.append(self.units.column)
        return tuple(dict.fromkeys(read))


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
    >>> Counted((np.array([0, 1]),), np.array([7, 3])).records.sum()
    np.int64(10)
    """

    keys: tuple[Any, ...]
    records: Any


class Table(Protocol):
    """A source of records whose declared columns are known and whose records have not been read.

    Examples
    --------
    >>> from flexdp.tables import open_table
    >>> table = open_table([3, 1, 3])
    >>> counting = Counting(values=(Axis(column=table.column(None), kind="integer", buckets=Exact("integer")),))
    >>> "GROUP BY b0" in table.query(counting)
    True
    >>> table.count(counting).records.tolist()
    [1, 2]
    """

    @property
    def columns(self) -> tuple[Column, ...]:
        """The declared columns."""

    def column(self, name: object) -> Column:
        """Return the declared column of that name.

        Parameters
        ----------
        name
            The name as the caller gave it; None for a source that is a single column.

        Returns
        -------
        Column
            The declared column.
        """

    def query(self, counting: Counting) -> str:
        """Return the SQL that counts, without running it.

        Parameters
        ----------
        counting
            The count.

        Returns
        -------
        str
            The SQL text.
        """

    def count(self, counting: Counting) -> Counted:
        """Count: the one place where records are read.

        Parameters
        ----------
        counting
            The count.

        Returns
        -------
        Counted
            The non-empty buckets.
        """


def count(table: Table, countings: Sequence[Counting]) -> list[KeyedHistogram]:
    """Count the records of a table.

    Parameters
    ----------
    table
        The table.
    countings
        The counts; made in one pass where the engine can.

    Returns
    -------
    list of KeyedHistogram
        The private histogram of each count. Equal keys are summed here, before any noise.

    Raises
    ------
    DataError
        If anything goes wrong. The message never varies.

    Examples
    --------
    >>> from flexdp.buckets.exact import Exact
    >>> from flexdp.tables import open_table
    >>> table = open_table([3, 1, 3])
    >>> axis = Axis(column=table.column(None), kind="integer", buckets=Exact("integer"))
    >>> count(table, [Counting(values=(axis,))])[0].counts
    array([1, 2])
    """
    together = getattr(table, "together", None)
    try:
        with np.errstate(all="ignore"):  # a warning would reveal a cell: a signalling NaN, a number too large
            if len(countings) > 1 and together is not None:
                found = together(countings)
            else:
                found = [table.count(counting) for counting in countings]
            out = [histogram_of(each, counting.axes) for each, counting in zip(found, countings, strict=True)]
    except FlexdpError:
        raise
    except Exception:  # noqa: BLE001  (its text may quote a record, and its type may depend on one)
        out = []
    if not out:
        raise DataError  # outside the handler, so that no chain of causes leads back to the record
    return out


def histogram_of(counted: Counted, axes: Sequence[Axis]) -> KeyedHistogram:
    """Make a histogram by these axes. A key that no bucket has, NULL or NaN, belongs to records that do not count."""
    keys, records = [np.ma.getdata(part) for part in counted.keys], np.ma.getdata(counted.records)
    sound = np.ones(len(records), dtype=bool)
    for part, key, axis in zip(counted.keys, keys, axes, strict=True):
        sound &= ~np.ma.getmaskarray(part)
        if key.dtype.kind == "f":
            sound &= np.isfinite(key) if isinstance(axis.buckets, Exact) else np.abs(key) <= LARGEST_INDEX
    if not sound.all():
        keys, records = [key[sound] for key in keys], records[sound]
    try:
        return KeyedHistogram([_index(key, axis) for key, axis in zip(keys, axes, strict=True)], records)
    except InputError:
        raise TypeError("keys that no bucket has") from None


def _index(keys: Any, axis: Axis) -> Any:
    """Return keys as the partition numbers its buckets."""
    if axis.kind == "boolean":
        return keys.astype(bool)
    if axis.kind == "text" or (isinstance(axis.buckets, Exact) and axis.kind == "number"):
        return keys
    if keys.dtype == object:  # integers too wide for the engine's arrays come as texts
        return [int(key) for key in keys]
    return keys.astype(np.int64)
