"""The columns of a filter, and the kinds that those without a declared type are read as."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from flexdp._core.text import is_short
from flexdp.buckets.base import Kind
from flexdp.errors import InputError, Phrase, spelled
from flexdp.tables.declared import Column, refuse_misread
from flexdp.tables.where import tree
from flexdp.tables.where.grammar import datetime_of
from flexdp.tables.where.literals import a_kind, literal_kind
from flexdp.tables.where.typed import Day, Leaf
from flexdp.tables.where.walk import inner, is_reading, named_in, outcomes, reading_of, shown_names, told_names

__all__ = ["Kinds", "Lookup", "shown_name"]

Lookup: TypeAlias = Callable[[object], Column]
_QUOTES = " A text stands in single quotes: 'ICU'."
_TIMES: frozenset[Kind] = frozenset(("date", "datetime"))


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
        self._told: dict[str, set[Kind]] = {}  # by number(x), date(x) and the like
        self._wanted: dict[str, set[Kind]] = {}
        self._offsets = set(zoned)  # and columns of text files that are compared with an offset from UTC
        for name, kind in told_names(node):
            self._told.setdefault(name, set()).add(kind)
        self._shown = set(shown_names(node))
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
                elif spelled(remedy).startswith("Check"):
                    remedy = (*(remedy if isinstance(remedy, tuple) else (remedy,)), _QUOTES)
                raise InputError(self._parameter, found.rule, given=found.given, remedy=remedy)
        return self._columns[name]

    def column(self, name: str) -> Column:
        """Return a column that the tree names."""
        return self._column(name)

    def _infer(self, node: tree.Node) -> None:
        """Find the kinds of columns that declare none, from what they are compared with."""
        groups = []
        for values, kind in _together(node):
            group = [each for value in values for each in outcomes(value)]
            names = [each.name for each in group if isinstance(each, tree.Name) and self._is_sought(each.name)]
            kinds: set[Kind] = {kind} if kind is not None else set()
            kinds |= self._kinds_of(group)
            if kind == "number" and kinds & _TIMES:
                kinds.discard("number")  # of times, differences are computed
            if any(isinstance(each, tree.Literal) and getattr(each.value, "tzinfo", None) for each in group):
                self._offsets.update(name for name in _names(group) if self._column(name).may_be_zoned)
            for name in names:
                self._wanted.setdefault(name, set()).update(kinds)
            groups.append(names)
        self._spread(groups)

    def _is_sought(self, name: str) -> bool:
        """Tell whether a column declares no kind, and the text declares none for it, or several."""
        return _is_open(self._column(name)) and len(self._told.get(name, ())) != 1

    def _kinds_of(self, group: list[tree.Value]) -> set[Kind]:
        """Return the kinds that values have by themselves; a quoted date beside dates is one.

        Beside a column of integers others may hold fractions.
        """
        kinds: set[Kind] = set()
        texts = []
        for each in group:
            if isinstance(each, tree.Literal):
                if isinstance(each.value, str):
                    texts.append(each.value)
                else:
                    kinds.add(literal_kind(each.value))
            elif isinstance(each, tree.Name):
                if not self._is_sought(each.name):
                    kinds.add(_wider(self.leaf(each.name).kind))
            elif is_reading(each):
                kinds.add(_wider(self.told(each).kind))
            else:
                kinds.add("number")
        if texts and not (kinds and kinds <= _TIMES and all(datetime_of(text) is not None for text in texts)):
            kinds.add("text")
        return kinds

    def _spread(self, groups: list[list[str]]) -> None:
        """Let columns that nothing tells the kind of have that of the columns that they are compared with."""
        changed = True
        while changed:
            changed = False
            for names in groups:
                open_ones = [name for name in names if self.is_untold(name)]
                kinds = {kind for name in names if name not in open_ones for kind in self._kinds_told(name)}
                if kinds:
                    self._wanted.update((name, set(kinds)) for name in open_ones)
                    changed |= bool(open_ones)

    def _kinds_told(self, name: str) -> set[Kind]:
        return self._wanted.get(name) or {_wider(self._known.get(name) or "text")}

    def is_untold(self, name: str) -> bool:
        """Tell whether nothing tells how a column is read: it is then a text."""
        known = self._known.get(name) not in (None, "text")
        return self._is_sought(name) and not self._wanted.get(name) and not self._told.get(name) and not known

    def is_open(self, name: str) -> bool:
        """Tell whether nothing tells how a column is read whose cells have types of their own: it has no kind at all.

        Unlike the cells of a text file, they are not texts in the absence of anything else.
        """
        return self._column(name).mixed and self.is_untold(name) and self._known.get(name) is None

    def is_shown(self, name: str) -> bool:
        """Tell whether more than a difference, which may be one of numbers or of dates, tells how a column is read."""
        return self.is_declared(name) or name in self._shown or self._known.get(name) is not None

    def is_declared(self, name: str) -> bool:
        """Tell whether a column declares its kind, or the text does so for it."""
        return not self._is_sought(name)

    def told(self, node: tree.Call) -> Leaf | Day:
        """Return a column with the kind that the text declares for it, which must be its own if it has one.

        Only the day of a declared datetime may be taken instead.
        """
        name, kind = reading_of(node)
        column = self._column(name)
        whole = {kind, column.kind} == {"integer", "number"}
        if not _is_open(column):
            if column.kind is not None and (kind == column.kind or (whole and kind == "number")):
                return Leaf(column, column.kind)
            if kind == "date" and column.kind == "datetime" and not column.zoned:
                return Day(Leaf(column, "datetime"))
            own = column.type_name[:40] if column.derived is None else f"{column.kind}, which is derived"
            raise self._refused(
                f": {kind}(…) says how a column that declares no type is read, and {column.label} is declared as {own}",
                f"Leave out {kind}(…): it is no cast.",
            )
        return self._read(column, kind)

    def _read(self, column: Column, kind: Kind) -> Leaf:
        """Return a column that declares no type, read as a kind: a datetime may also be a date, or have an offset."""
        if column.inferred:
            refuse_misread(column, kind)
        if kind == "datetime" and column.name in self._offsets:
            return Leaf(replace(column, zoned=True), kind)
        return Leaf(replace(column, dated=True) if kind == "datetime" and column.may_be_dated else column, kind)

    def leaf(self, name: str, *, tested: bool = False, present: bool = False) -> Leaf:
        """Return a column with the kind that it is read as.

        A column that is ``tested`` as it is may hold dates and datetimes, if it declares no type. One whose cells only
        need to be ``present`` needs no kind.
        """
        column = self._column(name)
        if present and self.is_open(name):
            return Leaf(replace(column, presence=True), "boolean")
        told = self._told.get(name, set())
        if _is_open(column) and len(told) == 1:
            found = self.told(tree.Call(next(iter(told)), (tree.Name(name),)))
            assert isinstance(found, Leaf)  # it declares no type
            return found
        if not _is_open(column):
            if column.kind is None:
                raise self._refused(
                    f": {column.label} is declared as {column.type_name[:40]}, which cannot be compared",
                    "Use columns of numbers, texts, dates, datetimes or booleans.",
                )
            return Leaf(column, column.kind)
        kinds = wanted = self._wanted.get(name, set()) | told
        if kinds == {"integer", "number"}:
            kinds = {"integer"}
        if self.is_open(name):
            shown = shown_name(name)
            raise self._refused(
                f": nothing tells how {column.label} is read, which declares no type",
                f"Write number({shown}), date({shown}) or text({shown}).",
            )
        kinds = kinds or {self._known.get(name) or "text"}
        if kinds == {"date", "datetime"} or (name in self._offsets and kinds == {"date"}):
            kinds = {"datetime"}
        if tested and wanted and kinds <= _TIMES and column.may_be_dated and name not in self._offsets:
            return self._read(column, "datetime")
        if len(kinds) > 1:
            first, second = sorted(kinds)[:2]
            raise self._refused(
                f": {column.label} declares no type, and is used as {a_kind(first)} and as {a_kind(second)}",
                "Write texts in single quotes, dates as DATE '2024-12-31' and numbers without quotes, or say each "
                "time how it is read: number(x), date(x), text(x).",
            )
        (kind,) = kinds
        if kind == "datetime" and (wanted or name in self._offsets):
            return self._read(column, kind)
        if column.inferred:
            refuse_misread(column, kind)
        return Leaf(column, kind)


def shown_name(name: str) -> str:
    """Return a column's name as a remedy writes it."""
    return tree.text_of(tree.Name(name)) if is_short(name) else "…"


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
        yield [node.left, node.right], "number"
    elif isinstance(node, tree.Negative):
        yield [node.value], "number"
    elif isinstance(node, tree.Case) or (isinstance(node, tree.Call) and node.function == "coalesce"):
        yield [node], None
    elif isinstance(node, tree.Call) and not is_reading(node):
        yield list(node.arguments), "date"
    for each in inner(node):
        yield from _together(each)


def _names(group: list[tree.Value]) -> list[str]:
    """Return the columns of a group, as they are or with a kind that the text declares."""
    return [name.name for each in group if isinstance(each, tree.Name) or is_reading(each) for name in named_in(each)]


def _wider(kind: Kind) -> Kind:
    return "number" if kind == "integer" else kind


def _is_open(column: Column) -> bool:
    return column.undeclared
