"""What is to be counted: which columns make a bar, and whose contribution is bounded. Parameters only, no data.

A bar is a bucket of the released column, or a cell of several columns, within a group. A record lies in exactly one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from flexdp.buckets.base import Kind
from flexdp.buckets.partition import Buckets
from flexdp.tables.declared import Column

__all__ = ["SHOWN_SALT", "Axis", "Counted", "Counting", "PerUnit", "Units"]

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
