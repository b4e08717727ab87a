"""From a request to one count that can be run: everything that can be refused is refused here.

Nothing in this module reads a record. Parameters and what the table declares decide.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from flexdp._core.calendar import check_zone
from flexdp._core.domains import Domain, choice, flag
from flexdp._core.exact import Number, exact, root_up
from flexdp._release.about import declared_about
from flexdp._release.asked_checks import check_ask
from flexdp._release.asking import BOTH_ENDS, Wanted, asks, asks_nothing
from flexdp._release.automatic_checks import (
    check_automatic,
    chooses_buckets,
    has_open_ends,
    refuse_points,
    refuse_unread,
)
from flexdp._release.capped import holds_all
from flexdp._release.columns import declared_groups, group_columns, per_column, privacy_units, refuse_typed_groups
from flexdp._release.filters import check_present, named_columns, read_as, record_filter, with_other
from flexdp._release.parameters import refuse_clashes
from flexdp._release.spec import Spec, group_index
from flexdp.buckets.exact import Exact
from flexdp.buckets.parse import make_buckets, make_grid
from flexdp.errors import InputError, P

if TYPE_CHECKING:
    from flexdp.tables import Axis, Column, Counting, Source

__all__ = ["Prepared", "prepare_column", "refuse_unused"]

BETA = Domain(
    name="beta",
    low=Fraction(0),
    high=Fraction(10**300),
    remedy=("It is how far a point may be from the middle of its cell, for example ", P("beta", 1), "."),
)
_PER_UNIT = ("max", "min", "mean", "random")
_PER_COLUMN = ("width", "relative", "edges", "bounds", "kind")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A table, what is to be counted in it and asked of it, and the public description of that."""

    table: Source
    counting: Counting
    spec: Spec
    wanted: Wanted | None = None
    bucketed: bool = True
    automatic: bool = False
    unasked: bool = False  # the answers are those that come with automatic buckets
    cap_report: bool = False  # how many units the cap touched is published

    def has_buckets(self, delta: Number) -> bool:
        """Return True if the release has buckets; those that nobody named need a positive δ beside asked answers."""
        return self.bucketed or ((self.automatic or self.may_be_false_or_true) and bool(exact("delta", delta)))

    @property
    def may_be_false_or_true(self) -> bool:
        """True if false and true are the buckets beside asked answers, where δ is positive; by groups they are not."""
        return self.wanted is not None and self.spec.kinds == ("boolean",) and not self.spec.by


def prepare_column(
    table: Source, columns: Sequence[object], options: Mapping[str, Any], zoned: Collection[str | None] = ()
) -> Prepared:
    """Check one count, of one column or of several together, against everything declared.

    ``zoned`` are columns that other counts of the same request release in the zone.
    """
    from flexdp.tables import Axis, Counting

    refuse_clashes(options)
    options = with_other(options, table)
    named = named_columns(table, options.get("derive"), options.get("zone"))
    declared = [named.column(name) for name in columns]
    per_unit = options.get("per_unit")
    chosen: Any = None if per_unit is None else choice("per_unit", per_unit, _PER_UNIT)
    axes = _axes(declared, options, means=chosen == "mean")
    if len(axes) > 1:
        make_grid([axis.buckets for axis in axes])
    by = group_columns(named, options.get("by"), options.get("by_kind"))
    labels = [Axis(column=found, kind=kind, buckets=Exact(kind)) for found, kind in by]
    _refuse_twice([*declared, *(axis.column for axis in labels)])
    groups = options.get("groups")
    among = None if groups is None else declared_groups(groups, [axis.kind for axis in labels])
    reported = flag("cap_report", options.get("cap_report", True))
    refuse_typed_groups(among or (), labels)
    unit, unit_kind, most = (options.get(name) for name in ("unit", "unit_kind", "max_buckets_per_unit"))
    units = privacy_units(named, unit, unit_kind, most, chosen, axes, labels)
    index = None if among is None else tuple(group_index(group) for group in among)
    kinds = {axis.column.name: axis.kind for axis in (*axes, *labels)}
    clocks = {*zoned, *(axis.column.name for axis in axes if axis.zone is not None)}
    where = record_filter(named, options.get("where"), kinds, options.get("zone"), clocks)
    check_present(where, [*axes, *labels])
    counting = Counting(values=tuple(axes), groups=tuple(labels), declared=index, units=units, where=where)
    table.check(counting)  # what the engine cannot count is refused before anything is spent
    spec = Spec(
        columns=tuple(column.name for column in declared),
        partitions=tuple(axis.buckets for axis in axes),
        zone=next((axis.zone for axis in axes if axis.zone is not None), None),
        by=tuple(axis.column.name or "" for axis in labels),
        by_kinds=tuple(axis.kind for axis in labels),
        groups=among,
        unit=None if units is None else units.column.name or "",
        max_buckets_per_unit=1 if units is None else units.most,
        per_unit=None if units is None or units.per_unit == "random" else units.per_unit,
        where=None if where is None else where.text,
        derived=named.used([column for column, _ in counting.named]),
        read_as=read_as(counting),
        keyed=table.keyed,
        of_query=bool(options.get("rows_are_records", False)),
        about=declared_about(options),
    )
    asked, bucketed = check_ask(table, counting, spec, options)
    refuse_points(spec, options)
    automatic = chooses_buckets(spec, options)
    if automatic:
        check_automatic(table, counting, spec)
    unasked = automatic and asked is None and has_open_ends(spec) and not asks_nothing(options.get("ask"))
    return Prepared(
        table=table,
        counting=counting,
        spec=spec,
        wanted=BOTH_ENDS if unasked else asked,
        bucketed=bucketed,
        automatic=automatic,
        unasked=unasked,
        cap_report=reported and units is not None and chosen is None and not holds_all(spec),
    )


def _axes(declared: Sequence[Column], options: Mapping[str, Any], *, means: bool) -> list[Axis]:
    """Each column with its own kind and buckets; one parameter may be given for all."""
    from flexdp.tables import Axis, reading

    beta, outside, zone = options.get("beta"), options.get("outside", "clamp"), options.get("zone")
    names = [column.name for column in declared]
    given = {name: per_column(name, options.get(name), names) for name in _PER_COLUMN}
    if beta is not None:
        if len(declared) < 2:
            raise InputError("beta", "fits several columns", remedy=("For one, give ", P("width"), ", twice beta."))
        given["width"] = [_side(BETA.check(beta), len(declared))] * len(declared)
    out = []
    for place, column in enumerate(declared):
        own = {name: values[place] for name, values in given.items()}
        asked = own.pop("kind")
        needs_order = asks(options.get("ask")) or any(value is not None for value in own.values())
        refuse_unread(column, asked, options, bucketed=needs_order, several=len(declared) > 1)
        kind = reading(column, asked, bucketed=needs_order)
        if beta is not None and kind == "integer":  # as many as fit; one alone is not moved at all
            own["width"] = max(1, math.floor(own["width"]))
        if means:
            kind = _mean_kind(column, kind, asked)
        _refuse_unordered(column, kind, own)
        partition = make_buckets(kind, outside=outside, **own)
        if column.needs_zone(kind) and zone is None:
            raise InputError(
                "zone",
                f"is missing: {column.label} holds datetimes with a time zone, and days and hours begin at different "
                "times in different zones",
                remedy=("Set ", P("zone", "UTC"), " or, for example, ", P("zone", "Europe/Berlin"), "."),
            )
        zoned = column.zoned or (zone is not None and column.may_be_zoned and kind in ("date", "datetime"))
        out.append(Axis(column=column, kind=kind, buckets=partition, zone=check_zone(zone) if zoned else None))
    return out


def _refuse_unordered(column: Column, kind: Any, own: Mapping[str, Any]) -> None:
    """Refuse buckets and bounds of texts and booleans, by the name of the column."""
    for name, value in own.items():
        if value is not None and kind in ("text", "boolean"):
            hint = (", or use ", P("kind", "number"), " if its texts are numbers.") if kind == "text" else (".",)
            raise InputError(
                name,
                f"needs a column of numbers or dates, but {column.label} is declared or read as {kind}",
                remedy=("Leave out ", P(name), *hint),
            )


def _mean_kind(column: Column, kind: Any, asked: object) -> Any:
    """The kind of means, which need not be whole."""
    if kind not in ("integer", "number"):
        raise InputError("per_unit", f"'mean' needs a column of numbers, and {column.label} is {kind}")
    if asked is not None and asked != "number":
        raise InputError(
            "per_unit",
            ("'mean' needs ", P("kind", "number"), ": the mean of whole numbers need not be whole"),
        )
    return "number"


def _side(beta: Fraction, dimensions: int) -> Fraction:
    """The side of a cube whose half-diagonal is at most β: 2β/√d, rounded down."""
    return 2 * beta / root_up(dimensions, decimals=15)


def _refuse_twice(columns: Sequence[Column]) -> None:
    if len(set(columns)) < len(columns):
        raise InputError("column", ("and ", P("by"), " must name each column once"))


def refuse_unused(options: Mapping[str, Any], questions: Sequence[Prepared]) -> None:
    """Refuse parameters that apply to none of the columns that are read."""
    from flexdp.tables import check_ways

    columns = [column for question in questions for column in question.counting.columns]
    check_ways(options, columns)
    axes = [axis for question in questions for axis in question.counting.values]
    unzoned = all(axis.zone is None for axis in axes) and not any(column.zoned for column in columns)
    if options.get("zone") is not None and unzoned:
        raise InputError("zone", "fits a column of datetimes with a time zone only", remedy="Leave it out.")
