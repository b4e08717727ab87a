"""Which records count, and columns that are computed from others: the parameters ``where`` and ``derive``."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flexdp._core.calendar import check_zone
from flexdp._core.documents import UnfitError
from flexdp._core.domains import pairs, sequence, text
from flexdp._core.text import is_unicode, plain_scalar, safe_repr
from flexdp.errors import InputError, P

if TYPE_CHECKING:
    from flexdp.buckets.base import Kind
    from flexdp.tables import Axis, Column, Counting, Source
    from flexdp.tables.where import Filter, ReadColumn

__all__ = [
    "Named",
    "check_present",
    "check_readings",
    "check_texts",
    "named_columns",
    "read_as",
    "read_cells",
    "record_filter",
    "with_other",
]

_MOST_DERIVED = 50
_READ: tuple[Kind, ...] = ("boolean", "date", "datetime", "integer", "number")  # in the order of a document


@dataclass(frozen=True, slots=True)
class Named:
    """The columns of a table by their names, with those that are computed from others."""

    table: Source
    derived: dict[str, Column]
    texts: dict[str, str]

    def column(self, name: object) -> Column:
        """Return the column of that name."""
        plain = plain_scalar(name)
        own = self.derived.get(plain) if isinstance(plain, str) else None
        return self.table.column(name) if own is None else own

    def used(self, columns: list[Column]) -> tuple[tuple[str, str], ...]:
        """Return the names and the texts of the derived columns, after refusing those that nothing uses."""
        names = {column.name for column in columns}
        for name in self.derived:
            if name not in names:
                raise InputError("derive", f": {safe_repr(name)} is not used", remedy="Leave it out.")
        return tuple(self.texts.items())


def named_columns(table: Source, derive: object, zone: object) -> Named:
    """Return the columns of a table with the derived ones, each computed from columns of the table alone."""
    from flexdp.tables.where import derived_column

    if derive is None:
        return Named(table, {}, {})
    given = pairs(derive) if isinstance(derive, Mapping) else None
    if not given or len(given) > _MOST_DERIVED:
        raise InputError(
            "derive",
            "must give names with what they stand for",
            remedy=("For example ", P("derive", {"stay": "arr - dep"}), "."),
        )
    own = set(table.names)
    columns, texts = {}, {}
    others = {name for name, _ in given if isinstance(name, str)} - own
    clock = None if zone is None else check_zone(zone)
    for name, written in given:
        called = text("derive", name)
        if not called or not is_unicode(called):
            raise InputError("derive", "must give every column a name")
        if called in own:
            raise InputError(
                "derive", f": there is a column {safe_repr(called)} already", remedy="Choose another name."
            )
        columns[called], texts[called] = derived_column(
            called, written, lambda wanted: _of_table(table, wanted, others), zone=clock
        )
    return Named(table, columns, texts)


def _of_table(table: Source, name: object, derived: Collection[object]) -> Column:
    """Return a column of the table itself; derived ones are not built on each other."""
    if name in derived:
        raise InputError(
            "derive",
            f": {safe_repr(name)} is itself a derived column and cannot be used here",
            remedy="Write out what it stands for, in columns of the table.",
        )
    return table.column(name)


def with_other(options: Mapping[str, Any], table: Source) -> Mapping[str, Any]:
    """Return the options with one more group, of the records that no declared group covers, as a derived column."""
    if options.get("other") is None:
        return options
    other = text("other", options["other"])
    by, groups = options.get("by"), options.get("groups")
    names = [plain_scalar(name) for name in ([by] if isinstance(by, str) else sequence(by) or [])]
    listed = sequence(groups) or []
    if not listed:
        raise InputError("other", ("needs the declared groups in ", P("groups")))
    plain = [plain_scalar(group) for group in listed]
    if len(names) != 1 or not isinstance(names[0], str) or not all(isinstance(group, str) for group in plain):
        raise InputError(
            "other",
            ("needs one column in ", P("by"), ", of texts, and their names in ", P("groups")),
            remedy=("Otherwise, compute the groups with ", P("derive"), "."),
        )
    if not _holds_texts(table, names[0]):
        raise InputError(
            "other",
            ("needs a column of texts in ", P("by")),
            given=safe_repr(names[0]),
            remedy=("Otherwise, compute the groups with ", P("derive"), "."),
        )
    if not other or other in plain:
        raise InputError("other", ("must differ from the names in ", P("groups")), given=safe_repr(other))
    column, name = '"' + names[0].replace('"', '""') + '"', f"{names[0]} or {other}"
    known = ", ".join("'" + str(group).replace("'", "''") + "'" for group in plain)
    last = other.replace("'", "''")
    rule = f"CASE WHEN {column} IN ({known}) THEN {column} ELSE '{last}' END"
    derive = dict(pairs(options["derive"]) or ()) if isinstance(options.get("derive"), Mapping) else {}
    return {**options, "by": name, "groups": [*plain, other], "derive": {**derive, name: rule}, "other": None}


def _holds_texts(table: Source, name: str) -> bool:
    """Tell whether a column of groups holds texts."""
    try:
        column = table.column(name)
    except InputError as refusal:
        found = InputError("by", refusal.rule, given=refusal.given, remedy=refusal.remedy)
    else:
        return column.kind in ("text", None)
    raise found  # outside the handler, so that the error has no cause


def record_filter(
    named: Named, where: object, kinds: dict[str | None, Kind], zone: object, zoned: Collection[str | None] = ()
) -> Filter | None:
    """Return the test of the records that count; None if all do.

    ``zoned`` are the columns that are released in the zone.
    """
    from flexdp.tables.where import filter_of

    if where is None:
        return None
    return filter_of(where, named.column, kinds=kinds, zone=None if zone is None else check_zone(zone), zoned=zoned)


def check_present(where: Filter | None, axes: Sequence[Axis]) -> None:
    """Refuse a filter that passes only records without a value in a column that is counted by: none would count."""
    from flexdp.tables.where import is_impossible, tree

    if where is None:
        return
    counted = {(axis.column.name, axis.kind) for axis in axes}
    for read in where.columns:
        present = tree.IsNull(read, negated=True)
        if (read.column.name, read.kind) in counted and is_impossible(tree.And((where.test, present))):
            raise InputError(
                "where",
                f": no record can count, because those that match have no value in {safe_repr(read.column.name)}",
                remedy="Leave out the test, or the column.",
            )


def read_cells(counting: Counting) -> tuple[ReadColumn, ...]:
    """Return the columns of the source that the filter and the derived columns of a count read, with their kinds."""
    from flexdp.tables.where import columns_in

    found = [] if counting.where is None else list(counting.where.columns)
    derived = [column.derived for column, _ in counting.named if column.derived is not None]
    found += [read for value in derived for read in columns_in(value)]
    return tuple(dict.fromkeys(read for read in found if read.column.derived is None))


def read_as(counting: Counting) -> tuple[tuple[Kind, tuple[str, ...]], ...]:
    """Return what columns without a type were read as, texts apart: those of text files and databases.

    Dtypes of frames may depend on their cells, and are not told: this is published.
    """
    found: dict[Kind, list[str]] = {}
    for read in read_cells(counting):
        if read.column.type_name == "undeclared" and read.kind != "text":
            found.setdefault("date" if read.column.dated else read.kind, []).append(read.column.name or "")
    return tuple((kind, tuple(dict.fromkeys(names))) for kind, names in sorted(found.items()))


def check_readings(given: Any, keyed: Any, *, filtered: bool) -> tuple[tuple[tuple[Kind, tuple[str, ...]], ...], bool]:
    """Return how columns without a type were read, of a document, after refusing what no release states."""
    if type(keyed) is not bool or not isinstance(given, dict) or (given and not filtered):
        raise UnfitError("columns that were read for nothing")
    out: list[tuple[Kind, tuple[str, ...]]] = []
    for kind in _READ:
        names = given.get(kind, [])
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise UnfitError("columns without names")
        if names:
            out.append((kind, tuple(names)))
    if {kind: list(names) for kind, names in out} != given:
        raise UnfitError("a kind that no column is read as")
    return tuple(out), keyed


def check_texts(where: Any, derived: Any) -> tuple[str | None, tuple[tuple[str, str], ...]]:
    """Return the filter and the derived columns of a document, after refusing those that do not parse."""
    from flexdp.tables.where import parse_test, parse_value, text_of

    if where is not None and text_of(parse_test("where", where)) != where:
        raise UnfitError("a filter in other words than its own")
    if not isinstance(derived, dict):
        raise UnfitError("derived columns without names")
    for name, written in derived.items():
        if not name or text_of(parse_value("derive", written)) != written:
            raise UnfitError("a derived column in other words than its own")
    return where, tuple(derived.items())
