"""Which columns a tree names, the kind that each is read as, and what is refused because nothing tells it.

Declared types decide, and the text where a column declares none; never a record. The one rule for such columns:

    declared by the table                        that kind                        Parquet, databases, polars
    declared once by the text                    that kind                        number(x), date(x)
    compared with, or computed with, others      the kind of what it stands with  x > 3, d >= DATE '2024-12-31', x = y
    released in a kind, or grouped by            that kind                        kind="number"
    nothing tells                                a text in text files, whose cells are texts; no kind at all in lists
                                                 and in pandas, whose cells have types of their own

A type that a library has inferred from cells is no declaration: another record might have changed it, and every cell.
A column that is used in two ways is refused, and so is a comparison of texts where numbers or dates are probably meant:
the order of texts is not that of numbers ('9' > '10') nor that of dates ('31.01.2024' > '01.02.2024').
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from flexdp._core.text import is_short, safe_repr
from flexdp.buckets.base import Kind
from flexdp.errors import InputError, spelled
from flexdp.tables.column import Column, refuse_misread
from flexdp.tables.where import tree
from flexdp.tables.where.literals import a_kind, datetime_of, literal_kind
from flexdp.tables.where.tree import declared_names, is_reading, kind_of, outcomes, shown_names, sides_of, text_of, walk
from flexdp.tables.written import may_be_typed

__all__ = ["Kinds", "Lookup"]

Lookup: TypeAlias = Callable[[object], Column]
_QUOTES = " Write a text in single quotes: 'ICU'."
_TIMES: frozenset[Kind] = frozenset(("date", "datetime"))
_NUMBER = re.compile(r"\s*[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*", re.ASCII)
_DAY = re.compile(r"\s*[0-9]{1,2}([./-])[0-9]{1,2}\1(?:[0-9]{2}|[0-9]{4})\s*", re.ASCII)
_IN_ORDER = "%Y-%m-%d"  # texts that begin so have the order of their dates


class Kinds:
    """The columns that a tree names; ``known`` are kinds of columns that are read anyway, ``zoned`` with an offset."""

    def __init__(
        self, parameter: str, lookup: Lookup, known: Mapping[str | None, Kind], node: tree.Node,
        zoned: Collection[str | None] = (),
    ) -> None:  # fmt: skip
        self._refused = partial(InputError, parameter)
        self._lookup, self._known = lookup, known
        self._columns: dict[str, Column] = {}
        self._told: dict[str, set[Kind]] = {}  # by number(x), date(x) and the like
        self._wanted: dict[str, set[Kind]] = {}
        self._offsets = set(zoned)  # and columns of text files that are compared with an offset from UTC
        for name, kind in declared_names(node):
            self._told.setdefault(name, set()).add(kind)
        self._shown = set(shown_names(node))
        self._infer(node)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that were named."""
        return tuple(self._columns)

    def _column(self, name: str) -> Column:
        if name not in self._columns:
            try:
                self._columns[name] = self._lookup(name)
            except InputError as refusal:
                found = refusal
            if name not in self._columns:  # outside the handler, so that the error has no cause
                remedy = found.remedy if isinstance(found.remedy, tuple) else (found.remedy,)
                if name.lower() in ("nan", "inf", "infinity"):
                    remedy = (f"{name} is treated as a missing value. Write IS NULL, or IS NOT NULL.",)
                elif spelled(remedy).startswith("Check"):
                    remedy = (*remedy, _QUOTES)
                raise self._refused(found.rule, given=found.given, remedy=remedy)
        return self._columns[name]

    # ---- what tells the kinds of columns that declare none

    def _infer(self, node: tree.Node) -> None:
        """Find them from what they stand with, and then from each other.

        x = y AND y = z AND z > 3      groups (x, y), (y, z), (z, 3): z is a number, hence y, hence x
        """
        groups = []
        for values, kind in _together(node):
            group = [each for value in values for each in outcomes(value)]
            names = [each.name for each in group if isinstance(each, tree.Name) and self._is_sought(each.name)]
            kinds = self._kinds_of(group) | (set() if kind is None else {kind})
            kinds -= {"number"} if kind == "number" and kinds & _TIMES else set()  # of times, differences are computed
            if any(isinstance(each, tree.Literal) and _has_offset(each) for each in group):
                self._offsets.update(name for name in _names_in(group) if self._column(name).may_be_zoned)
            for name in names:
                self._wanted.setdefault(name, set()).update(kinds)
            groups.append(names)
        changed = True
        while changed:
            changed = False
            for names in groups:
                open_ones = [name for name in names if self._is_untold(name)]
                if kinds := {kind for name in names if name not in open_ones for kind in self._kinds_told(name)}:
                    self._wanted.update((name, set(kinds)) for name in open_ones)
                    changed |= bool(open_ones)

    def _kinds_of(self, group: list[tree.Value]) -> set[Kind]:
        """Return the kinds that values have by themselves; a quoted date beside dates is one.

        Beside a column of integers others may hold fractions.
        """
        kinds: set[Kind] = set()
        texts = []
        for each in group:
            if isinstance(each, tree.Literal):
                texts += [each.value] if isinstance(each.value, str) else []
                kinds |= {literal_kind(each.value)} - {"text"}
            elif is_reading(each):
                kinds.add(_wider(kind_of(self.declared(each))))
            elif isinstance(each, tree.Call) and each.function == "date":  # the day of datetime(x)
                kinds.add("date")
            elif not isinstance(each, tree.Name):
                kinds.add("number")
            elif not self._is_sought(each.name):
                kinds.add(_wider(self.column(each.name).kind))
        if texts and not (kinds and kinds <= _TIMES and all(datetime_of(text) is not None for text in texts)):
            kinds.add("text")
        return kinds

    def _kinds_told(self, name: str) -> set[Kind]:
        return self._wanted.get(name) or {_wider(self._known.get(name) or "text")}

    def _is_sought(self, name: str) -> bool:
        """Tell whether a column declares no kind, and the text declares none for it, or several."""
        return self._column(name).undeclared and len(self._told.get(name, ())) != 1

    def _is_untold(self, name: str) -> bool:
        """Tell whether nothing tells how a column is read: it is then a text."""
        known = self._known.get(name) not in (None, "text")
        return self._is_sought(name) and not self._wanted.get(name) and not self._told.get(name) and not known

    def is_open(self, name: str) -> bool:
        """Tell whether nothing tells how a column is read whose cells have types of their own: it has no kind at all.

        Unlike the cells of a text file, they are not texts in the absence of anything else.
        """
        return self._column(name).mixed and self._is_untold(name) and self._known.get(name) is None

    # ---- columns as they are read

    def declared(self, node: tree.Call) -> tree.ReadColumn | tree.Call:
        """Return a column with the kind that the text declares for it, which must be its own if it has one.

        Only the day of a declared datetime may be taken instead.
        """
        ((name, kind),) = declared_names(node)
        column = self._column(name)
        if column.undeclared:
            return self._read(column, kind)
        if column.kind is not None and (kind == column.kind or (kind == "number" and column.kind == "integer")):
            return tree.ReadColumn(column, column.kind)
        if kind == "date" and column.kind == "datetime" and not column.zoned:
            return tree.Call("date", (tree.ReadColumn(column, "datetime"),))
        own = column.type_name[:40] if column.derived is None else f"{column.kind}, which is derived"
        raise self._refused(
            f": {kind}(…) says how a column that declares no type is read, and {column.label} is declared as {own}",
            remedy=f"Leave out {kind}(…): it is no cast.",
        )

    def _read(self, column: Column, kind: Kind, *, released: bool = False) -> tree.ReadColumn:
        """Return a column that declares no type, read as a kind.

        A datetime has an offset or, except in the kind in which the column is ``released``, may also be a date.
        """
        if column.inferred:
            refuse_misread(column, kind)
        if kind == "datetime" and column.name in self._offsets:
            column = replace(column, zoned=True)
        elif kind == "datetime" and column.may_be_dated and not released:
            column = replace(column, dated=True)
        return tree.ReadColumn(column, kind)

    def column(self, name: str, *, tested: bool = False, present: bool = False) -> tree.ReadColumn:
        """Return a column with the kind that it is read as.

        A column that is ``tested`` as it is may hold dates and datetimes, if it declares no type. One whose cells only
        need to be ``present`` needs no kind.
        """
        column = self._column(name)
        if not column.undeclared:
            if column.kind is None:
                raise self._refused(
                    f": {column.label} is declared as {column.type_name[:40]}, which cannot be compared",
                    remedy="Use columns of numbers, texts, dates, datetimes or booleans.",
                )
            return tree.ReadColumn(column, column.kind)
        if self.is_open(name):
            if present:
                return tree.ReadColumn(replace(column, presence=True), "boolean")
            shown = _shown(name)
            raise self._refused(
                f": {column.label} declares no type, and nothing shows how to read it",
                remedy=f"Write number({shown}), date({shown}) or text({shown}).",
            )
        told = self._told.get(name, set())
        if len(told) == 1:
            return self._read(column, *told)
        wanted = self._wanted.get(name, set()) | told
        kinds = wanted or {self._known.get(name) or "text"}
        if kinds == {"integer", "number"}:
            kinds = {"integer"}
        if kinds == _TIMES or (name in self._offsets and kinds == {"date"}):
            kinds = {"datetime"}
        if tested and wanted and kinds <= _TIMES and column.may_be_dated and name not in self._offsets:
            return self._read(column, "datetime")
        if len(kinds) > 1:
            first, second = sorted(kinds)[:2]
            raise self._refused(
                f": {column.label} declares no type, and is used as {a_kind(first)} and as {a_kind(second)}",
                remedy="Write texts in single quotes, dates as DATE '2024-12-31' and numbers without quotes, or say "
                "each time how it is read: number(x), date(x), text(x).",
            )
        return self._read(column, *kinds, released=not wanted)

    # ---- comparisons of columns that declare no type, which are probably mistakes

    def check_order(self, op: str, left: tree.Value, right: tree.Value) -> None:
        """Refuse to compare columns if nothing tells whether they are numbers, dates or texts.

        In text files, those that are equal are equal texts.
        """
        names = self._all_names(left, right, self._is_untold)
        equal = op in ("=", "<>")
        if names and (not equal or any(map(self.is_open, names))):
            first, *_, last = map(_shown, names)
            how = "compare" if equal else "order"
            raise self._refused(
                f": {first} and {last} declare no type, so nothing shows how to {how} them",
                remedy=f"Write number({first}) {op} number({last}), date(…) for dates, or text(…) for "
                f"{'texts' if equal else 'the order of texts'}.",
            )

    def check_difference(self, left: tree.Value, right: tree.Value) -> None:
        """Refuse a difference of columns that may be one of numbers or of times, as nothing but the cells tells."""
        names = self._all_names(left, right, lambda name: not self._is_shown(name))
        if any(self._column(name).mixed for name in names):
            first, *_, last = map(_shown, names)
            raise self._refused(
                f": {first} and {last} declare no type, so their difference is undefined",
                remedy=f"Write number({first}) - number({last}), or date(…) or datetime(…) for times.",
            )

    def _all_names(self, left: tree.Value, right: tree.Value, test: Callable[[str], bool]) -> list[str]:
        """Return the columns that two values are; none unless every outcome is one that passes a test."""
        found = [*outcomes(left), *outcomes(right)]
        names = [each.name for each in found if isinstance(each, tree.Name) and test(each.name)]
        return names if len(names) == len(found) else []

    def _is_shown(self, name: str) -> bool:
        """Tell whether more than a difference, which may be one of numbers or of dates, tells how a column is read."""
        return not self._is_sought(name) or name in self._shown or self._known.get(name) is not None

    def check_texts(self, op: str, kind: Kind, left: tree.Value, literals: Sequence[tree.Literal]) -> None:
        """Refuse to compare a column with texts that no cell is, and to order texts by what is a number or a date."""
        texts = [each.value for each in literals if isinstance(each.value, str)]
        columns = [self._column(name) for name in _names_in(outcomes(left))]
        equal = op in ("=", "<>")
        if equal and "" in texts and (isinstance(left, tree.Name) or is_reading(left)) and columns[0].filled:
            shown = _shown(columns[0].name or "")
            raise self._refused(
                f": {columns[0].label} has no empty texts, because empty cells are missing",
                remedy=f"Write {shown} IS NULL, or {shown} IS NOT NULL.",
            )
        if kind != "text":
            return
        open_ones = [each.name for each in outcomes(left) if isinstance(each, tree.Name) and self._is_sought(each.name)]
        what, instead = _meant(texts[0], self._column(open_ones[0])) if texts and open_ones and not equal else ("", "")
        if what:
            raise self._refused(
                f": {self._column(open_ones[0]).label} declares no type, and the order of texts is not that of "
                f"{what}s; {safe_repr(texts[0])} is a {what} in quotes",
                remedy=f"Write {instead}, or text({_shown(open_ones[0])}) if the order of texts is meant.",
            )
        column = next((each for each in columns if each.inferred), None)
        typed = next(filter(may_be_typed, texts), None)
        if column is not None and typed is not None:
            raise self._refused(
                f": pandas may hold {safe_repr(typed)} in {column.label} as a number, a date, true or false, because "
                "it infers types from cells",
                remedy="Write a number without quotes or DATE '2024-12-31', or load the column as text "
                "(dtype='string').",
            )


def _shown(name: str) -> str:
    """Return a column's name as a remedy writes it."""
    return text_of(tree.Name(name)) if is_short(name) else "…"


def _together(node: tree.Node) -> Iterator[tuple[Sequence[tree.Value], Kind | None]]:
    """Yield values that stand with each other, with the kind that they must have, if there is one."""
    for each in walk(node):
        if sides := sides_of(each):
            yield sides, None
        elif isinstance(each, tree.Like | tree.Negative):
            yield (each.value,), "text" if isinstance(each, tree.Like) else "number"
        elif isinstance(each, tree.Arithmetic):
            yield (each.left, each.right), "number"
        elif isinstance(each, tree.CaseWhen) or (isinstance(each, tree.Call) and each.function == "coalesce"):
            yield (each,), None
        elif isinstance(each, tree.Call) and not is_reading(each):
            yield each.arguments, "date"


def _names_in(values: Iterable[tree.Value]) -> list[str]:
    """Return the columns among values, as they are or with a kind that the text declares."""
    bare = (each.arguments[0] if is_reading(each) else each for each in values)
    return [each.name for each in bare if isinstance(each, tree.Name)]


def _has_offset(literal: tree.Literal) -> bool:
    return isinstance(literal.value, dt.datetime) and literal.value.tzinfo is not None


def _wider(kind: Kind) -> Kind:
    return "number" if kind == "integer" else kind


def _meant(text: str, column: Column) -> tuple[str, str]:
    """Return what a quoted text is probably meant to be, and what to write instead; nothing of a plain text."""
    dates = column.written.dates
    stamp = datetime_of(text)
    if stamp is not None and (dates is None or dates.text.startswith(_IN_ORDER)):
        return "", ""
    if dates is not None and re.fullmatch(dates.pattern, text):
        try:
            return "date", f"DATE '{dt.datetime.strptime(text, dates.text).date()}'"
        except ValueError:  # of no calendar
            return "date", "DATE '2024-12-31'"
    if _NUMBER.fullmatch(text):
        return "number", f"{text.strip().removeprefix('+') if len(text) < 20 else 'it'} without quotes"
    if re.fullmatch(column.written.number, text):
        return "number", "it without quotes and with a decimal point"
    if stamp is not None:
        return "date", f"DATE '{text}'" if len(text) == len("2024-12-31") else f"TIMESTAMP '{text}'"
    return ("date", "DATE '2024-12-31'") if _DAY.fullmatch(text) else ("", "")
