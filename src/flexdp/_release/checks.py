"""From what a caller asks to one count that can be run: everything that can be refused is refused here.

Nothing in this module reads a record. What decides is the parameters and what the table declares.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from flexdp._core.calendar import check_zone
from flexdp._core.domains import Domain, choice, elements, integer, pairs, sequence, text
from flexdp._core.text import is_unicode, plain_scalar, plural, safe_repr, thousands
from flexdp.buckets.base import EPOCH, LARGEST_INTEGER, LONGEST_TEXT, Kind
from flexdp.buckets.exact import Exact
from flexdp.buckets.parse import make_buckets, make_grid
from flexdp.buckets.partition import Buckets, Partition
from flexdp.errors import InputError

if TYPE_CHECKING:
    from flexdp.tables import Axis, Column, Counting, Table, Units

__all__ = [
    "Prepared",
    "Shape",
    "UnitRule",
    "column_names",
    "declared_groups",
    "group_index",
    "per_column",
    "prepare_column",
]

BETA = Domain(
    name="beta",
    low=Fraction(0),
    high=Fraction(10**300),
    remedy="It is how far a point may be from the middle of its cell, for example beta=1.",
)
_GROUP_KINDS: dict[str, type] = {"text": str, "integer": int, "boolean": bool, "date": dt.date}
_UNIT_KINDS = ("text", "integer", "date")
_PER_UNIT = ("max", "min", "mean", "random")
_MOST_GROUPS = 1000
_MOST_BUCKETS = 10**9  # of one unit; no budget can be shared by as many
_INTEGER = re.compile(r"[+-]?[0-9]{1,37}", re.ASCII)
_PER_COLUMN = ("width", "relative", "edges", "bounds", "kind")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitRule:
    """Whose privacy is promised, and how much of each unit counts."""

    name: str
    most: int
    per_unit: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a release is about: names, kinds and partitions; everything of it that is public before the data is read."""

    columns: tuple[str | None, ...]
    kinds: tuple[Kind, ...]
    partitions: tuple[Buckets, ...]
    zone: str | None = None
    by: tuple[str, ...] = ()
    by_kinds: tuple[Kind, ...] = ()
    groups: tuple[tuple[Any, ...], ...] | None = None
    unit: UnitRule | None = None

    @property
    def partition(self) -> Partition:
        """The buckets of one column, or the cells of several."""
        return self.partitions[0] if len(self.partitions) == 1 else make_grid(self.partitions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A table, what is to be counted in it, and what will be public about that."""

    table: Table
    counting: Counting
    shape: Shape


def prepare_column(
    table: Table,
    columns: Sequence[object],
    *,
    buckets: Mapping[str, Any],
    zone: object,
    by: object,
    by_kind: object,
    groups: object,
    unit: object,
    unit_kind: object,
    max_buckets_per_unit: object,
    per_unit: object,
) -> Prepared:
    """Check a request against everything declared. ``buckets`` are the parameters of how values are bucketed."""
    from flexdp.tables import Axis, Counting

    declared = [table.column(name) for name in columns]
    chosen: Any = None if per_unit is None else choice("per_unit", per_unit, _PER_UNIT)
    axes = _axes(declared, buckets, zone, means=chosen == "mean")
    if len(axes) > 1:
        make_grid([axis.buckets for axis in axes])
    group_axes = [Axis(column=found, kind=kind, buckets=Exact(kind)) for found, kind in _by(table, by, by_kind)]
    _refuse_twice([*declared, *(axis.column for axis in group_axes)])
    among = None if groups is None else declared_groups(groups, [axis.kind for axis in group_axes])
    units = _units(table, unit, unit_kind, max_buckets_per_unit, chosen, axes, group_axes)
    index = None if among is None else tuple(group_index(group) for group in among)
    counting = Counting(values=tuple(axes), groups=tuple(group_axes), declared=index, units=units)
    check = getattr(table, "check", None)
    if check is not None:
        check(counting)  # what the engine cannot count is refused before anything is spent
    rule = None
    if units is not None:
        rule = UnitRule(name=units.column.name or "", most=units.most, per_unit=units.per_unit)
    shape = Shape(
        columns=tuple(column.name for column in declared),
        kinds=tuple(axis.kind for axis in axes),
        partitions=tuple(axis.buckets for axis in axes),
        zone=next((axis.zone for axis in axes if axis.zone is not None), None),
        by=tuple(axis.column.name or "" for axis in group_axes),
        by_kinds=tuple(axis.kind for axis in group_axes),
        groups=among,
        unit=rule,
    )
    return Prepared(table=table, counting=counting, shape=shape)


def _axes(declared: Sequence[Column], buckets: Mapping[str, Any], zone: object, *, means: bool) -> list[Axis]:
    """Each column with its own kind and buckets; one parameter may be given for all."""
    from flexdp.tables import Axis, reading

    beta, outside = buckets.get("beta"), buckets.get("outside", "clamp")
    names = [column.name for column in declared]
    given = {name: per_column(name, buckets.get(name), names) for name in _PER_COLUMN}
    if beta is not None:
        if len(declared) < 2:
            raise InputError("beta fits several columns; of one, give width, which is twice beta.")
        if any(value is not None for name in ("width", "relative", "edges") for value in given[name]):
            raise InputError("beta and width exclude each other; give one of them.")
        given["width"] = [_side(BETA.check(beta), len(declared))] * len(declared)
    out = []
    for place, column in enumerate(declared):
        own = {name: values[place] for name, values in given.items()}
        asked = own.pop("kind")
        kind = reading(column, asked, bucketed=any(value is not None for value in own.values()))
        if beta is not None and kind == "integer":  # as many as fit; one alone is not moved at all
            own["width"] = max(1, math.floor(own["width"]))
        if means:
            if kind not in ("integer", "number"):
                raise InputError(f"per_unit='mean' needs a column of numbers, and {column.label} is {kind}.")
            kind = "number" if asked is None or asked == "number" else kind
            if kind != "number":
                raise InputError("per_unit='mean' needs kind='number': the mean of whole numbers need not be one.")
        partition = make_buckets(kind, outside=outside, **own)
        if column.zoned and zone is None:
            raise InputError(
                f"zone is missing: {column.label} holds datetimes with a time zone, and days and hours begin at "
                "different times in different zones. Say zone='UTC' or, for example, zone='Europe/Berlin'."
            )
        zoned = column.zoned or (zone is not None and column.may_be_zoned and kind in ("date", "datetime"))
        out.append(Axis(column=column, kind=kind, buckets=partition, zone=check_zone(zone) if zoned else None))
    return out


def column_names(column: object) -> list[str | None]:
    """The names of the columns to release: one, several, or None where the source is a single column."""
    if column is None:
        return [None]
    listed = [column] if isinstance(column, str) else sequence(column)
    if listed is None:
        raise InputError(f"column must be the name of a column, or a list of names; got {safe_repr(column)}.")
    if not listed:
        raise InputError("column must name at least one column; got an empty list.")
    names: list[str | None] = [text("column", name) for name in listed]
    if len(set(names)) < len(names):
        raise InputError("column must name each column once.")
    return names


def per_column(
    name: str, value: Any, columns: Sequence[str | None], *, among: str = "the released columns"
) -> list[Any]:
    """A parameter for each of the columns: given by name, in their order, or once for all."""
    count = len(columns)
    if isinstance(value, Mapping):
        given = pairs(value)
        if given is None:
            raise InputError(f"{name} must be given once for all columns, in a list, or by name.")
        found: dict[str | None, Any] = {}
        for key, cell in given:
            known = key is None or isinstance(key, str)
            if not known or plain_scalar(key) not in columns:
                raise InputError(f"{name} names {safe_repr(key)}, which is not among {among}.")
            found[None if key is None else str.__str__(key)] = cell
        return [found.get(column) for column in columns]
    if count == 1 or not isinstance(value, list | tuple):
        return [value] * count
    listed = sequence(value)
    if listed is None:
        raise InputError(f"{name} must be given once for all of the {count} columns, or for each.")
    nested = name not in ("edges", "bounds") or all(isinstance(part, list | tuple | None) for part in listed)
    if not nested:
        return [value] * count
    if len(listed) != count:
        raise InputError(f"{name} must be given once for all of the {count} columns, or for each; got {len(listed)}.")
    return listed


def _side(beta: Fraction, dimensions: int) -> Fraction:
    """The side of a cube whose half-diagonal is at most β: 2β/√d, rounded down."""
    scale = 10**15
    root = next(
        r
        for r in (Fraction(int((dimensions * scale * scale) ** 0.5) + step, scale) for step in range(-2, 4))
        if r * r >= dimensions
    )
    return 2 * beta / root


def _by(table: Table, by: object, kinds: object) -> list[tuple[Column, Kind]]:
    """The columns of the groups, each with the kind that it is read as."""
    if by is None:
        if kinds is not None:
            raise InputError("by_kind needs by=, the columns that hold the groups.")
        return []
    names = [by] if isinstance(by, str) else sequence(by)
    if not names:
        raise InputError(f"by must be the name of a column, or a list of names; got {safe_repr(by)}.")
    columns = [_named(table, "by", name) for name in names]
    listed = sequence(kinds)
    if listed is not None and len(listed) != len(columns):
        raise InputError(f"by_kind must be one kind for all columns of by, or {len(columns)}; got {len(listed)}.")
    given = listed or per_column("by_kind", kinds, [column.name for column in columns], among="those in by")
    return [(column, _group_kind(column, kind)) for column, kind in zip(columns, given, strict=True)]


def _named(table: Table, parameter: str, name: object) -> Column:
    """The column that a parameter names."""
    try:
        return table.column(name)
    except InputError as refusal:
        raise InputError(f"{parameter} must name a column that there is: {refusal}") from None


def _group_kind(column: Column, asked: object) -> Kind:
    from flexdp.tables import label_reading

    kind = label_reading(column, asked, parameter="by_kind", kinds=tuple(_GROUP_KINDS))
    if kind not in _GROUP_KINDS:
        raise InputError(
            f"by needs columns of texts, integers, dates or booleans, and {column.label} is declared as "
            f"{column.type_name[:40]}. Group by another column, or release it as one of several columns."
        )
    return kind


def _refuse_twice(columns: Sequence[Column]) -> None:
    if len(set(columns)) < len(columns):
        raise InputError("column and by must name each column once.")


def declared_groups(groups: object, kinds: Sequence[Kind]) -> tuple[tuple[Any, ...], ...]:
    """The groups that were declared, each a tuple with a value for each column of ``by``."""
    if not kinds:
        raise InputError("groups needs by=, the column that holds them.")
    listed = elements(groups) if isinstance(groups, Sequence) else sequence(groups)
    if not listed:
        raise InputError("groups must be a list of the values to publish, for example groups=['A', 'B'].")
    if len(listed) > _MOST_GROUPS:
        raise InputError(f"groups must be at most {_MOST_GROUPS}; leave it out, and groups are found as they are.")
    out = []
    for group in listed:
        parts = sequence(group) if isinstance(group, tuple | list) else [group]
        if parts is None or len(parts) != len(kinds):
            many = plural(len(kinds), "value")
            example = "" if len(kinds) == 1 else ", for example groups=[('A', 1), ('B', 2)]"
            raise InputError(f"groups must have {many} each, one for each column of by{example}.")
        out.append(tuple(_group_value(part, kind) for part, kind in zip(parts, kinds, strict=True)))
    if len(set(out)) < len(out):
        raise InputError("groups must differ; name each once.")
    return tuple(sorted(out))


def _group_value(value: Any, kind: Kind) -> Any:
    value = plain_scalar(value)
    if kind == "date" and isinstance(value, str):
        try:
            value = dt.date.fromisoformat(value)
        except ValueError:
            value = None
    if kind == "integer" and isinstance(value, str) and _INTEGER.fullmatch(value):
        value = int(value)
    if kind == "boolean" and isinstance(value, str) and value.lower() in ("true", "false"):
        value = value.lower() == "true"
    if isinstance(value, np.integer | np.bool_):
        value = value.item()
    fits = isinstance(value, _GROUP_KINDS[kind]) and isinstance(value, bool) == (kind == "boolean")
    if not fits or isinstance(value, dt.datetime):
        raise InputError(f"groups must hold values of the column's kind, {kind}; got {safe_repr(value)}.")
    if isinstance(value, str) and not is_unicode(value):
        raise InputError("groups must be texts that can be written as UTF-8.")
    if isinstance(value, str) and len(value.encode()) > LONGEST_TEXT:
        raise InputError(
            f"groups must be texts of at most {thousands(LONGEST_TEXT)} bytes; longer ones are read on no engine. "
            "Leave it out."
        )
    if kind == "integer" and abs(value) > LARGEST_INTEGER:
        raise InputError(
            "groups must be integers of at most 37 digits; larger ones are read on no engine. Leave it out."
        )
    return value


def group_index(group: tuple[Any, ...]) -> tuple[Any, ...]:
    """A group as the engine numbers it: dates as days since 1970-01-01."""
    return tuple(part.toordinal() - EPOCH if isinstance(part, dt.date) else part for part in group)


def _units(
    table: Table,
    unit: object,
    asked: object,
    most: object,
    per_unit: Literal["max", "min", "mean", "random"] | None,
    values: Sequence[Axis],
    groups: Sequence[Axis],
) -> Units | None:
    from flexdp.tables import Units, label_reading

    if unit is None:
        for name, value in (("unit_kind", asked), ("max_buckets_per_unit", most), ("per_unit", per_unit)):
            if value is not None:
                raise InputError(f"{name} needs unit=, the column that tells whose records they are.")
        return None
    column = _named(table, "unit", unit)
    if column in [axis.column for axis in values]:
        raise InputError(f"unit must not be the released column: {column.label} would publish the units themselves.")
    if column in [axis.column for axis in groups]:
        raise InputError(
            f"unit must not be in by: each unit of {column.label} would be a group of its own. Group by another column."
        )
    kind = label_reading(column, asked, parameter="unit_kind", kinds=_UNIT_KINDS)
    if kind not in _UNIT_KINDS:
        raise InputError(
            f"unit must be a column of integers, texts or dates, and {column.label} is declared as "
            f"{column.type_name[:40]}. Use another column, or a view that casts it."
        )
    if per_unit is None:
        if most is None:
            raise InputError(
                "max_buckets_per_unit is missing: in how many buckets one unit may count, which has no default. "
                "Or say per_unit='max', 'min', 'mean' or 'random' for one value of each."
            )
        return Units(column=column, kind=kind, most=integer("max_buckets_per_unit", most, at_most=_MOST_BUCKETS))
    if most is not None and integer("max_buckets_per_unit", most) != 1:
        raise InputError("max_buckets_per_unit must be 1 with per_unit, which keeps one value of each; leave it out.")
    if per_unit != "random" and len(values) > 1:
        raise InputError(f"per_unit={per_unit!r} needs one released column; of several, say per_unit='random'.")
    if per_unit != "random" and values[0].kind in ("text", "boolean"):
        raise InputError(f"per_unit={per_unit!r} needs numbers or times; of texts and booleans, say per_unit='random'.")
    if per_unit == "mean" and groups:
        raise InputError("per_unit='mean' does not fit by: a mean over several groups lies in none of them.")
    return Units(column=column, kind=kind, per_unit=None if per_unit == "random" else per_unit)
