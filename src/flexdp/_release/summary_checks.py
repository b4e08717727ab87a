"""Checks of a summary, whose columns are of several kinds: each refusal names the column and what to write instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from flexdp._core.domains import pairs
from flexdp._release.by_column import short_name
from flexdp._release.columns import per_column
from flexdp._release.filters import named_columns
from flexdp.errors import InputError, P

if TYPE_CHECKING:
    from flexdp.tables import Source
    from flexdp.tables.column import Column

__all__ = ["all_columns", "check_kinds"]

_EXAMPLES: dict[str, Any] = {"width": 10, "relative": 0.05, "edges": [0, 10, 100], "bounds": (0, 120)}
_WITH_KINDS = ("Name each with its kind, for example ", P("columns", {"cost": "number", "day": "date"}), ".")


def all_columns(declared: Sequence[Column], left: Sequence[Column], kinds: Any) -> list[str]:
    """Return the names of all columns that are left, if all declare a type that can be published or were given a kind.

    Parameters
    ----------
    declared
        All columns of the table.
    left
        Those that are neither skipped nor hold groups or units.
    kinds
        The parameter ``kind``.

    Returns
    -------
    list of str
        The names.

    Raises
    ------
    InputError
        If a column declares no type, or there are no columns.
    """
    if not declared:
        raise InputError(
            "columns", "is missing: the keys of JSON objects are data, and are not listed", remedy=_WITH_KINDS
        )
    if any(column.name is None for column in declared):
        raise InputError(
            "source",
            "is a single column without a name, but a summary needs a table",
            remedy="Release it with flexdp.release, or pass a table with named columns.",
        )
    if not left:
        raise InputError(
            "columns",
            ": no column is left to publish: all of them are left out, or hold groups or units",
            remedy=("Leave fewer out with ", P("skip"), ", or group by another column."),
        )
    typed = [name for name, _ in pairs(kinds) or ()] if isinstance(kinds, Mapping) else []
    inferred = any(column.inferred for column in left)
    if all(column.undeclared for column in left) and not (inferred and typed):
        line = ", and its first line may be a record" if any(column.default == "text" for column in left) else ""
        rule = "pandas infers types from cells" if inferred else f"this source declares no types{line}"
        raise InputError("columns", f"is missing: {rule}", remedy=_WITH_KINDS)
    for column in left:
        if column.kind is None and column.name not in typed:
            skip = P("skip", [short_name(column.name)])
            if column.undeclared:
                remedy = (
                    "Declare how to read it, for example ",
                    P("kind", {short_name(column.name): "text"}),
                    ", or leave it out: ",
                )
                raise InputError("columns", f": {column.label} declares no type", remedy=(*remedy, skip, "."))
            rule = f": {column.label} is declared as {column.type_name[:40]}, which cannot be released"
            raise InputError("columns", rule, remedy=("Leave it out: ", skip, "."))
    return [column.name or "" for column in left]


def check_kinds(table: Source, names: Sequence[str], options: Mapping[str, Any]) -> None:
    """Refuse what does not fit the kind of a column of a summary; what fits no column is refused later.

    Parameters
    ----------
    table
        The table.
    names
        The columns to publish.
    options
        The other parameters.

    Raises
    ------
    InputError
        If a column declares no type and got none, or is of texts or booleans where a parameter that was given for all
        needs an order.
    """
    named = named_columns(table, options.get("derive"), options.get("zone"))
    columns = [named.column(name) for name in names]
    ordering = [*_EXAMPLES, *(["outside"] if isinstance(options.get("outside"), Mapping) else [])]
    given = {key: per_column(key, options.get(key), names) for key in ("kind", "exact", *ordering)}
    kinds: list[Any] = []
    for place, column in enumerate(columns):
        asked = given["kind"][place]
        told = any(_is_given(values[place]) for values in given.values())
        if column.undeclared and not told:
            raise InputError(
                "columns",
                f": {column.label} declares no type",
                remedy=("Name its kind, for example ", P("columns", {short_name(column.name): "number"}), "."),
            )
        kinds.append(column.kind if asked is None else asked if isinstance(asked, str) else None)
    plain = [place for place, kind in enumerate(kinds) if kind in ("text", "boolean")]
    ordered = [name for place, name in enumerate(names) if place not in plain]
    for place in plain:
        rule = f"needs numbers or times, but {columns[place].label} is {kinds[place]}"
        _check_buckets(names[place], kinds[place], {key: given[key][place] for key in ordering}, ordered, options, rule)
        per_unit = options.get("per_unit")
        if isinstance(per_unit, str) and per_unit in ("max", "min", "mean"):
            skip = (", or leave that column out: ", P("skip", [short_name(names[place])])) if ordered else ()
            raise InputError("per_unit", f"{per_unit!r} {rule}", remedy=("Use ", P("per_unit", "random"), *skip, "."))


def _check_buckets(
    name: str, kind: str, own: Mapping[str, Any], ordered: Sequence[str], options: Mapping[str, Any], rule: str
) -> None:
    """Refuse buckets and bounds of a column of texts or booleans, given for all columns or for this one."""
    for key, value in own.items():
        if value is None:
            continue
        if ordered and not isinstance(options.get(key), Mapping):
            example = P(key, {short_name(ordered[0]): _EXAMPLES[key]})
            raise InputError(key, rule, remedy=("Give it by column, for example ", example, "."))
        number = (", or name its kind if its texts are numbers: ", P("columns", {short_name(name): "number"}))
        raise InputError(key, rule, remedy=("Leave it out for that column", *(number if kind == "text" else ()), "."))


def _is_given(value: object) -> bool:
    return value is not None and value is not False
