"""The public description of a release, complete before any record is read, and the part of it an answer refers to."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np

from flexdp._core.calendar import days_since_epoch
from flexdp._release.about import NOTHING, About
from flexdp.buckets.base import Kind, times
from flexdp.buckets.parse import make_grid
from flexdp.buckets.partition import Buckets, Partition, public_count

__all__ = ["WHOLE", "OneValue", "Part", "Spec", "group_index", "group_labels"]

OneValue: TypeAlias = Literal["max", "min", "mean"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """Public description of a release: columns, buckets, groups and privacy unit.

    Parameters
    ----------
    columns
        Names of the released columns; a single None for a bare list of values.
    partitions
        Their buckets, one partition a column.
    zone
        Time zone in which datetimes were read.
    by, by_kinds
        Columns of the groups, and the kinds they were read as.
    groups
        The declared groups; None where groups are found as they are.
    unit
        Column of the privacy unit; None where one record is protected.
    max_buckets_per_unit
        Number of buckets that one unit may count in.
    per_unit
        Which one value of each unit counts; None where all of its buckets may.
    where
        Canonical text of the test of the records that count; None where all do.
    derived
        Names and canonical texts of columns that are computed from others.
    read_as
        Columns of the filter and of derived columns that declare no type, by the kind other than text that they were
        read as; of text files and databases, whose formats and schemas are public.
    keyed
        The columns are keys of JSON records, which nothing declares.
    of_query
        The rows are those of a query whose records the caller vouches for.
    about
        What the publisher declares about the release.

    Examples
    --------
    >>> from flexdp.buckets.parse import make_buckets
    >>> Spec(columns=("age",), partitions=(make_buckets("number", width=5),)).kinds
    ('number',)
    """

    columns: tuple[str | None, ...]
    partitions: tuple[Buckets, ...]
    zone: str | None = None
    by: tuple[str, ...] = ()
    by_kinds: tuple[Kind, ...] = ()
    groups: tuple[tuple[Any, ...], ...] | None = None
    unit: str | None = None
    max_buckets_per_unit: int = 1
    per_unit: OneValue | None = None
    where: str | None = None
    derived: tuple[tuple[str, str], ...] = ()
    read_as: tuple[tuple[Kind, tuple[str, ...]], ...] = ()
    keyed: bool = False
    of_query: bool = False
    about: About = NOTHING

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kind that each column was read as."""
        return tuple(axis.kind for axis in self.partitions)

    @property
    def partition(self) -> Partition:
        """The buckets of one column, or the cells of several."""
        return self.partitions[0] if len(self.partitions) == 1 else make_grid(self.partitions)

    @property
    def other_group(self) -> str | None:
        """The group of all records that no declared group covers, where it was named: its column is derived so."""
        text = dict(self.derived).get(self.by[0]) if len(self.by) == 1 else None
        return None if text is None or self.groups is None else _other_group(self.by[0], text, self.groups)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the columns of the groups for readers: of the table's own where others are one more group."""
        other = self.other_group
        return self.by if other is None else (self.by[0].removesuffix(f" or {other}"),)

    @property
    def ordered(self) -> bool:
        """True for a single column of numbers or times, which has a maximum."""
        return len(self.columns) == 1 and self.kinds[0] not in ("text", "boolean")

    @property
    def same_values(self) -> bool:
        """True where buckets and asked answers refer to the same values; not with a cap on what a unit contributes."""
        return self.unit is None or self.per_unit is not None

    @property
    def public_groups(self) -> int | None:
        """Number of groups there can be: 1 without groups, None where they are not public in advance."""
        return 1 if not self.by else None if self.groups is None else len(self.groups)

    @property
    def public_buckets(self) -> int | None:
        """The number of buckets of all groups, where it is public in advance."""
        count, groups = public_count(self.partition), self.public_groups
        return None if count is None or groups is None else count * groups

    @property
    def groups_are_public(self) -> bool:
        """True where every bucket of every group is public in advance, so that a share can be certified."""
        return self.public_groups is not None

    def partition_of(self, part: Part) -> Partition:
        """Return the buckets that a part of the release is counted in."""
        return self.partition if part.column is None else self.partitions[part.column]

    def summed(self, part: Part) -> int | None:
        """Return how many buckets, each with a loss of its own, one count of a part adds up; None if not public."""
        if part.group is not None:
            return 1
        if part.column is None:
            return self.public_groups
        others = [axis.count for place, axis in enumerate(self.partitions) if place != part.column]
        known = [count for count in (self.public_groups, *others) if count is not None]
        return math.prod(known) if len(known) == len(others) + 1 else None


@lru_cache(256)
def _other_group(name: str, text: str, groups: tuple[tuple[Any, ...], ...]) -> str | None:
    """The last value of CASE WHEN x IN (…) THEN x ELSE … END, if the column is called after it and x."""
    from flexdp.tables.where import parse_value, tree

    found = parse_value("derive", text)
    if not isinstance(found, tree.CaseWhen) or not isinstance(found.otherwise, tree.Literal) or len(found.branches) > 1:
        return None
    (test, value), other = found.branches[0], found.otherwise.value
    if not isinstance(test, tree.In) or test.negated or not isinstance(value, tree.Name) or test.value != value:
        return None
    listed = {(item.value,) for item in test.items if isinstance(item, tree.Literal)}
    same = listed | {(other,)} == set(groups) and len(listed) == len(test.items)
    return other if isinstance(other, str) and same and name == f"{value.name} or {other}" else None


@dataclass(frozen=True, slots=True)
class Part:
    """The part of a release that an answer refers to: all of it, one group, or one column with the others added up."""

    group: tuple[Any, ...] | None = None
    column: int | None = None


WHOLE = Part()


def group_index(group: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a group as engines number it: dates as days since 1970-01-01."""
    return tuple(days_since_epoch(part) if isinstance(part, dt.date) else part for part in group)


def group_labels(kind: Kind, index: list[Any]) -> list[Any]:
    """Return the values of a group column as people know them, from how engines number them."""
    return times("date", np.array(index, dtype=np.int64)).tolist() if kind == "date" else index
