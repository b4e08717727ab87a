"""The columns of a release: those that are released, and those that label records with groups and privacy units."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flexdp._core.domains import elements, integer, pairs, sequence, text
from flexdp._core.text import is_unicode, plain_scalar, plural, safe_repr, thousands
from flexdp.buckets.base import LARGEST_INTEGER, LONGEST_TEXT, Kind
from flexdp.errors import InputError, P

if TYPE_CHECKING:
    from flexdp._release.filters import Named
    from flexdp.tables import Axis, Column, Source, Units
    from flexdp.tables.counting import PerUnit

__all__ = [
    "GROUP_KINDS",
    "column_names",
    "declared_groups",
    "group_columns",
    "named_column",
    "per_column",
    "privacy_units",
    "refuse_typed_groups",
    "sorted_groups",
]

GROUP_KINDS: dict[str, type] = {"text": str, "integer": int, "boolean": bool, "date": dt.date}
_UNIT_KINDS = ("text", "integer", "date")
_MOST_GROUPS = 1000
_MOST_BUCKETS = 10**9  # of one unit; no budget can be shared by as many
_INTEGER = re.compile(r"[+-]?[0-9]{1,37}", re.ASCII)


def column_names(column: object) -> list[str | None]:
    """Return the names of the columns to release: one, several, or None where the source is a single column."""
    if column is None:
        return [None]
    listed = [column] if isinstance(column, str) else sequence(column)
    if listed is None:
        raise InputError("column", "must be the name of a column, or a list of names", given=safe_repr(column))
    if not listed:
        raise InputError("column", "must name at least one column", given="an empty list")
    names: list[str | None] = [text("column", name) for name in listed]
    if len(set(names)) < len(names):
        raise InputError("column", "must name each column once")
    return names


def per_column(
    name: str, value: Any, columns: Sequence[str | None], *, among: str = "the released columns"
) -> list[Any]:
    """Return a parameter for each of the columns: given by name, in their order, or once for all."""
    count = len(columns)
    if isinstance(value, Mapping):
        given = pairs(value)
        if given is None:
            raise InputError(name, "must be given once for all columns, in a list, or by name")
        found: dict[str | None, Any] = {}
        for key, cell in given:
            known = key is None or isinstance(key, str)
            if not known or plain_scalar(key) not in columns:
                raise InputError(name, f"names {safe_repr(key)}, which is not among {among}")
            found[None if key is None else str.__str__(key)] = cell
        return [found.get(column) for column in columns]
    if count == 1 or not isinstance(value, list | tuple):
        return [value] * count
    listed = sequence(value)
    if listed is None:
        raise InputError(name, f"must be given once for all of the {count} columns, or for each")
    nested = name not in ("edges", "bounds") or all(isinstance(part, list | tuple | None) for part in listed)
    if not nested:
        return [value] * count
    if len(listed) != count:
        raise InputError(
            name, f"must be given once for all of the {count} columns, or for each", given=str(len(listed))
        )
    return listed


def group_columns(table: Source | Named, by: object, kinds: object) -> list[tuple[Column, Kind]]:
    """Return the columns of the groups, each with the kind that it is read as."""
    if by is None:
        return []
    names = [by] if isinstance(by, str) else sequence(by)
    if not names:
        raise InputError("by", "must be the name of a column, or a list of names", given=safe_repr(by))
    columns = [named_column(table, "by", name) for name in names]
    listed = sequence(kinds)
    if listed is not None and len(listed) != len(columns):
        raise InputError(
            "by_kind",
            ("must be one kind for all columns of ", P("by"), f", or {len(columns)}"),
            given=str(len(listed)),
        )
    given = listed or per_column("by_kind", kinds, [column.name for column in columns], among="those in by")
    return [(column, _group_kind(column, kind)) for column, kind in zip(columns, given, strict=True)]


def named_column(table: Source | Named, parameter: str, name: object) -> Column:
    """Return the column that a parameter names; a refusal names that parameter."""
    try:
        return table.column(name)
    except InputError as refusal:
        found = refusal
    if found.rule:
        raise InputError(parameter, found.rule, given=found.given, remedy=found.remedy)
    rule, _, remedy = str(found).partition(". ")
    raise InputError(parameter, f": {rule.removesuffix('.')}", remedy=remedy)


def _group_kind(column: Column, asked: object) -> Kind:
    from flexdp.tables import label_reading

    kind = label_reading(column, asked, parameter="by_kind", kinds=tuple(GROUP_KINDS))
    if kind not in GROUP_KINDS:
        raise InputError(
            "by",
            f"needs columns of texts, integers, dates or booleans, and {column.label} is declared as "
            f"{column.type_name[:40]}",
            remedy="Group by another column, or release it as one of several columns.",
        )
    return kind


def declared_groups(groups: object, kinds: Sequence[Kind]) -> tuple[tuple[Any, ...], ...]:
    """Return the declared groups, sorted, each a tuple with a value for each column of ``by``."""
    listed = elements(groups) if isinstance(groups, Sequence) else sequence(groups)
    if not listed:
        raise InputError(
            "groups",
            "must be a list of the values to publish",
            remedy=("For example, ", P("groups", ["A", "B"]), "."),
        )
    if len(listed) > _MOST_GROUPS:
        raise InputError(
            "groups", f"must be at most {_MOST_GROUPS}", remedy="Leave it out, and groups are found as they are."
        )
    return sorted_groups(listed, kinds)


def sorted_groups(listed: Sequence[Any], kinds: Sequence[Kind]) -> tuple[tuple[Any, ...], ...]:
    """Return groups, sorted, each a tuple with a value for each column; refuse what does not fit."""
    out = []
    for group in listed:
        parts = sequence(group) if isinstance(group, tuple | list) else [group]
        if parts is None or len(parts) != len(kinds):
            example = ("For example, ", P("groups", [("A", 1), ("B", 2)]), ".")
            raise InputError(
                "groups",
                (f"must have {plural(len(kinds), 'value')} each, one for each column of ", P("by")),
                remedy="" if len(kinds) == 1 else example,
            )
        out.append(tuple(_group_value(part, kind) for part, kind in zip(parts, kinds, strict=True)))
    if len(set(out)) < len(out):
        raise InputError("groups", "must differ", remedy="Name each once.")
    return tuple(sorted(out))


def refuse_typed_groups(among: Sequence[tuple[Any, ...]], labels: Sequence[Axis]) -> None:
    """Refuse to declare a text as a group that pandas may hold as something else: such cells are no texts there."""
    from flexdp.tables.written import may_be_typed

    for place, axis in enumerate(labels):
        if axis.column.inferred and axis.kind == "text" and any(may_be_typed(group[place]) for group in among):
            raise InputError(
                "groups",
                f": pandas may hold texts of {axis.column.label} that read as numbers, dates, true or false as such, "
                "because it infers types from cells",
                remedy="Load the column as text (dtype='string').",
            )


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
    fits = isinstance(value, GROUP_KINDS[kind]) and isinstance(value, bool) == (kind == "boolean")
    if not fits or isinstance(value, dt.datetime):
        raise InputError("groups", f"must hold values of the column's kind, {kind}", given=safe_repr(value))
    if isinstance(value, str) and not is_unicode(value):
        raise InputError("groups", "must be texts that can be written as UTF-8")
    if isinstance(value, str) and len(value.encode()) > LONGEST_TEXT:
        raise InputError(
            "groups",
            f"must be texts of at most {thousands(LONGEST_TEXT)} bytes",
            remedy="Longer ones are read on no engine: leave it out.",
        )
    if kind == "integer" and abs(value) > LARGEST_INTEGER:
        raise InputError(
            "groups",
            "must be integers of at most 37 digits",
            remedy="Larger ones are read on no engine: leave it out.",
        )
    return value


def privacy_units(
    table: Source | Named,
    unit: object,
    asked: object,
    most: object,
    per_unit: PerUnit | None,
    values: Sequence[Axis],
    groups: Sequence[Axis],
) -> Units | None:
    """Return whose privacy is protected, and how much of each unit counts; None for single records."""
    from flexdp.tables import Units, label_reading

    if unit is None:
        return None
    column = named_column(table, "unit", unit)
    if column in [axis.column for axis in values]:
        raise InputError("unit", f"must not be the released column: {column.label} would publish the units themselves")
    if column in [axis.column for axis in groups]:
        raise InputError(
            "unit",
            ("must not be in ", P("by"), f": each unit of {column.label} would be a group of its own"),
            remedy="Group by another column.",
        )
    kind = label_reading(column, asked, parameter="unit_kind", kinds=_UNIT_KINDS)
    if kind not in _UNIT_KINDS:
        raise InputError(
            "unit",
            f"must be a column of integers, texts or dates, and {column.label} is declared as {column.type_name[:40]}",
            remedy="Use another column, or a view that casts it.",
        )
    if per_unit is None:
        if most is None:
            raise InputError(
                "max_buckets_per_unit",
                "is missing: the number of buckets that one unit may count in has no default",
                remedy=("Or choose one value of each unit with ", P("per_unit"), ": 'max', 'min', 'mean' or 'random'."),
            )
        return Units(column=column, kind=kind, most=integer("max_buckets_per_unit", most, at_most=_MOST_BUCKETS))
    _refuse_one_value(per_unit, most, values, groups)
    return Units(column=column, kind=kind, per_unit=None if per_unit == "random" else per_unit)


def _refuse_one_value(per_unit: PerUnit, most: object, values: Sequence[Axis], groups: Sequence[Axis]) -> None:
    """Refuse what does not fit one value of each unit."""
    if most is not None and integer("max_buckets_per_unit", most) != 1:
        raise InputError(
            "max_buckets_per_unit",
            ("must be 1 with ", P("per_unit"), ", which keeps one value"),
            remedy="Leave it out.",
        )
    random = ("Use ", P("per_unit", "random"), ".")
    if per_unit != "random" and len(values) > 1:
        raise InputError("per_unit", f"{per_unit!r} needs one released column", remedy=random)
    if per_unit != "random" and values[0].kind in ("text", "boolean"):
        told = f"{values[0].column.label} is {values[0].kind}"
        raise InputError("per_unit", f"{per_unit!r} needs numbers or times, but {told}", remedy=random)
    if per_unit == "mean" and groups:
        raise InputError(
            "per_unit", ("'mean' does not fit ", P("by"), ": a mean over several groups lies in none of them")
        )
