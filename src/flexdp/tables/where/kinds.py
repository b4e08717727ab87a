"""The columns of a filter, and the kinds that those without a declared type are read as."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from flexdp.buckets.base import Kind
from flexdp.errors import InputError, Phrase
from flexdp.tables.declared import Column
from flexdp.tables.where import tree
from flexdp.tables.where.literals import a_kind, literal_kind
from flexdp.tables.where.typed import Leaf

__all__ = ["Kinds", "Lookup"]

Lookup: TypeAlias = Callable[[object], Column]


class Kinds:
    """The columns that a tree names; ``kinds`` are those of columns that are read anyway, ``zoned`` with an offset."""

    def __init__(
        self,
        parameter: str,
        lookup: Lookup,
        kinds: Mapping[str | None, Kind],
        node: tree.Node,
        zoned: Collection[str | None] = (),
    ) -> None:
        self._parameter, self._lookup, self._known = parameter, lookup, kinds
        self._columns: dict[str, Column] = {}
        self._wanted: dict[str, set[Kind]] = {}
        self._offsets = set(zoned)  # and columns of text files that are compared with an offset from UTC
        self._infer(node)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that were named."""
        return tuple(self._columns)

    def _refused(self, rule: Phrase, remedy: Phrase = "") -> InputError:
        return InputError(self._parameter, rule, remedy=remedy)

    def _column(self, name: str) -> Column:
        if name not in self._columns:
            try:
                self._columns[name] = self._lookup(name)
            except InputError as refusal:
                found = refusal
            if name not in self._columns:
                remedy = found.remedy
                if name.lower() in ("nan", "inf", "infinity"):
                    remedy = f"{name} is treated as a missing value. Write IS NULL, or IS NOT NULL."
                elif isinstance(remedy, str) and remedy.startswith("Check"):
                    remedy += " A text stands in single quotes: 'ICU'."
                raise InputError(self._parameter, found.rule, given=found.given, remedy=remedy)
        return self._columns[name]

    def _infer(self, node: tree.Node) -> None:
        """Find the kinds of columns that declare none, from what they are compared with."""
        for group, kind in _together(node):
            kinds: set[Kind] = {kind} if kind is not None else set()
            names = []
            for each in group:
                if isinstance(each, tree.Literal):
                    kinds.add(literal_kind(each.value))
                elif isinstance(each, tree.Name):
                    column = self._column(each.name)
                    if _is_open(column):
                        names.append(each.name)
                    elif column.kind is not None:
                        kinds.add(column.kind)
                elif isinstance(each, tree.Arithmetic | tree.Negative) or (
                    isinstance(each, tree.Call) and each.function != "coalesce"
                ):
                    kinds.add("number")
            if any(isinstance(each, tree.Literal) and getattr(each.value, "tzinfo", None) for each in group):
                self._offsets.update(name for name in names if self._column(name).may_be_zoned)
            for name in names:
                self._wanted.setdefault(name, set()).update(kinds)

    def leaf(self, name: str, *, tested: bool = False) -> Leaf:
        """Return a column with the kind that it is read as.

        A column that is ``tested`` as it is may hold dates and datetimes, if it declares no type.
        """
        column = self._column(name)
        if not _is_open(column):
            if column.kind is None:
                raise self._refused(
                    f": {column.label} is declared as {column.type_name[:40]}, which cannot be compared",
                    "Use columns of numbers, texts, dates, datetimes or booleans.",
                )
            return Leaf(column, column.kind)
        kinds = wanted = self._wanted.get(name, set())
        if kinds == {"integer", "number"}:
            kinds = {"integer"}
        default = self._known.get(name) or column.kind or "text"
        kinds = kinds or {default}
        if kinds == {"date", "datetime"} or (name in self._offsets and kinds == {"date"}):
            kinds = {"datetime"}
        if tested and wanted and kinds <= {"date", "datetime"} and column.may_be_dated and name not in self._offsets:
            return Leaf(replace(column, dated=True), "datetime")
        if len(kinds) > 1:
            first, second = sorted(kinds)[:2]
            raise self._refused(
                f": {column.label} declares no type, and is used as {a_kind(first)} and as {a_kind(second)}",
                "Write texts in single quotes, dates as DATE '2024-12-31' and numbers without quotes.",
            )
        (kind,) = kinds
        if kind == "text" and column.inferred and column.kind is not None:
            raise self._refused(
                f": {column.label}, which pandas holds as {column.type_name[:40]}, cannot be read as a text",
                "Load the column as text (dtype=str), or compare it with a number.",
            )
        return Leaf(replace(column, zoned=True) if name in self._offsets and kind == "datetime" else column, kind)


def _together(node: Any) -> Iterator[tuple[list[Any], Kind | None]]:
    """Yield values that are compared with each other, with the kind that they must have, if there is one."""
    if isinstance(node, tree.Compare):
        yield [node.left, node.right], None
    elif isinstance(node, tree.In):
        yield [node.value, *node.items], None
    elif isinstance(node, tree.Between):
        yield [node.value, node.low, node.high], None
    elif isinstance(node, tree.Like):
        yield [node.value], "text"
    elif isinstance(node, tree.Arithmetic):
        yield [node.left, node.right], None if _names_a_time(node) else "number"
    elif isinstance(node, tree.Negative):
        yield [node.value], "number"
    elif isinstance(node, tree.Call):
        yield list(node.arguments), None if node.function == "coalesce" else "date"
    for each in _inner(node):
        yield from _together(each)


def _names_a_time(node: tree.Arithmetic) -> bool:
    return any(isinstance(each, tree.Literal) and isinstance(each.value, dt.date) for each in (node.left, node.right))


def _inner(node: Any) -> list[Any]:
    if isinstance(node, tree.And | tree.Or):
        return list(node.tests)
    if isinstance(node, tree.Not):
        return [node.test]
    if isinstance(node, tree.Compare | tree.Arithmetic):
        return [node.left, node.right]
    if isinstance(node, tree.Between):
        return [node.value, node.low, node.high]
    if isinstance(node, tree.In | tree.IsNull | tree.Like | tree.Negative):
        return [node.value]
    if isinstance(node, tree.Call):
        return list(node.arguments)
    if isinstance(node, tree.Case):
        tests = [part for branch in node.branches for part in branch]
        return tests if node.otherwise is None else [*tests, node.otherwise]
    return []


def _is_open(column: Column) -> bool:
    return column.undeclared or column.inferred
