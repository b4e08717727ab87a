"""What is to be counted: which columns make a bar, and whose contribution is bounded. Parameters only, no data.

A bar is a bucket of the released column, or a cell of several columns, within a group. A record lies in exactly one.
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

__all__ = ["SHOWN_SALT", "Axis", "Counted", "Counting", "PerUnit", "Table", "Units", "count"]

PerUnit: TypeAlias = Literal["max", "min", "mean", "random"]
SHOWN_SALT = "salt"  # stands in a query that is only shown; a release draws a fresh one


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One column that decides a bar: how its cells are read, and how they are bucketed.

    ``zone`` is the time zone in which datetimes of a column with time zones are read.
    """

    column: Column
    kind: Kind
    buckets: Buckets
    zone: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Units:
    """Whose privacy is promised: all records with one value of ``column`` together.

    A unit counts once in at most ``most`` bars, chosen by a salted hash; or, with ``per_unit``, with one value alone.
    """

    column: Column
    kind: Kind
    most: int = 1
    per_unit: PerUnit | None = None
    salt: str = SHOWN_SALT


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting:
    """One count: bars are (groups, buckets); ``declared`` are the groups that count, None where all do."""

    values: tuple[Axis, ...]
    groups: tuple[Axis, ...] = ()
    declared: tuple[tuple[Any, ...], ...] | None = None
    units: Units | None = None

    @property
    def axes(self) -> tuple[Axis, ...]:
        """Everything that makes a bar: the groups first."""
        return (*self.groups, *self.values)

    @property
    def columns(self) -> tuple[Column, ...]:
        """Every column that is read, each once."""
        read = [axis.column for axis in self.axes]
        if self.units is not None:
            read.append(self.units.column)
        return tuple(dict.fromkeys(read))


class Counted(NamedTuple):
    """What an engine has counted: one array of keys for each part of a bar, and how many records each bar holds."""

    keys: tuple[Any, ...]
    records: Any


class Table(Protocol):
    """A source of records that has declared its columns and been asked for nothing else yet."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The declared columns."""

    def column(self, name: object) -> Column:
        """The declared column of that name."""

    def query(self, counting: Counting) -> str:
        """The SQL text that would count; it runs nothing."""

    def count(self, counting: Counting) -> Counted:
        """The bars that hold records, and how many each: the one place where records are read."""


def count(table: Table, countings: Sequence[Counting]) -> list[KeyedHistogram]:
    """The private bars of each count. Equal ones are summed here, before any noise."""
    together = getattr(table, "together", None)
    try:
        with np.errstate(all="ignore"):  # a warning would tell of a cell: a signalling NaN, a number too large
            if len(countings) > 1 and together is not None:
                found = together(countings)
            else:
                found = [table.count(counting) for counting in countings]
            out = [_bars(each, counting) for each, counting in zip(found, countings, strict=True)]
    except FlexdpError:
        raise
    except Exception:  # noqa: BLE001  (its text may quote a record, and its kind may depend on one)
        out = []
    if not out:
        raise DataError  # outside the handler, so that no chain of causes leads back to the record
    return out


def _bars(counted: Counted, counting: Counting) -> KeyedHistogram:
    """The bars. A key that no bar has, NULL or NaN, is that of records that do not count."""
    keys, records = [np.ma.getdata(part) for part in counted.keys], np.ma.getdata(counted.records)
    sound = np.ones(len(records), dtype=bool)
    for part, key, axis in zip(counted.keys, keys, counting.axes, strict=True):
        sound &= ~np.ma.getmaskarray(part)
        if key.dtype.kind == "f":
            sound &= np.isfinite(key) if isinstance(axis.buckets, Exact) else np.abs(key) <= LARGEST_INDEX
    if not sound.all():
        keys, records = [key[sound] for key in keys], records[sound]
    try:
        return KeyedHistogram([_index(key, axis) for key, axis in zip(keys, counting.axes, strict=True)], records)
    except InputError:
        raise TypeError("keys that no bar has") from None


def _index(keys: Any, axis: Axis) -> Any:
    """A part of the bars' keys as the partition numbers them."""
    if axis.kind == "boolean":
        return keys.astype(bool)
    if axis.kind == "text" or (isinstance(axis.buckets, Exact) and axis.kind == "number"):
        return keys
    if keys.dtype == object:  # integers too wide for the engine's arrays come as texts
        return [int(key) for key in keys]
    return keys.astype(np.int64)
