"""Comparisons that would compare texts where numbers or dates are probably meant: refused, before anything is spent.

The texts of the filter and what the table declares decide. The order of texts is not that of numbers ('9' > '10') nor
that of dates ('31.01.2024' > '01.02.2024').
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from decimal import Decimal

from flexdp._core.text import safe_repr
from flexdp.errors import InputError
from flexdp.tables.cell_patterns import may_be_typed
from flexdp.tables.date_format import DateFormat
from flexdp.tables.declared import Column
from flexdp.tables.where import tree
from flexdp.tables.where.grammar import datetime_of
from flexdp.tables.where.kinds import Kinds, shown_name
from flexdp.tables.where.walk import is_reading, named_in, outcomes

__all__ = ["Doubts"]

_NUMBER = re.compile(r"\s*[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*", re.ASCII)
_DAY = re.compile(r"\s*[0-9]{1,2}([./-])[0-9]{1,2}\1(?:[0-9]{2}|[0-9]{4})\s*", re.ASCII)
_IN_ORDER = "%Y-%m-%d"  # texts that begin so have the order of their dates


class Doubts:
    """Refusals of comparisons whose columns declare no type."""

    def __init__(self, parameter: str, kinds: Kinds) -> None:
        self._parameter, self._kinds = parameter, kinds

    def of_order(self, op: str, left: tree.Value, right: tree.Value) -> None:
        """Refuse to compare columns if nothing tells whether they are numbers, dates or texts.

        In text files, those that are equal are equal texts.
        """
        equal = op in ("=", "<>")
        found = [each for side in (left, right) for each in outcomes(side)]
        names = [each.name for each in found if isinstance(each, tree.Name) and self._kinds.is_untold(each.name)]
        if len(names) < len(found) or not names or (equal and not any(map(self._kinds.is_open, names))):
            return
        first, *_, last = [shown_name(name) for name in names]
        raise InputError(
            self._parameter,
            f": {first} and {last} declare no type, so nothing tells how they are {'compared' if equal else 'ordered'}",
            remedy=f"Write number({first}) {op} number({last}), date(…) for dates, or text(…) for the order of texts."
            if not equal
            else f"Write number({first}) {op} number({last}), date(…) for dates, or text(…) for texts.",
        )

    def of_difference(self, left: tree.Value, right: tree.Value) -> None:
        """Refuse a difference of columns that may be one of numbers or of times, as nothing but the cells tells."""
        found = [each for side in (left, right) for each in outcomes(side)]
        names = [each.name for each in found if isinstance(each, tree.Name)]
        columns = [self._kinds.column(name) for name in names if not self._kinds.is_shown(name)]
        if len(columns) < len(found) or not any(column.mixed for column in columns):
            return
        first, *_, last = [shown_name(name) for name in names]
        raise InputError(
            self._parameter,
            f": {first} and {last} declare no type, so nothing tells what their difference is",
            remedy=f"Write number({first}) - number({last}), or date(…) or datetime(…) for times.",
        )

    def of_quotes(self, op: str, left: tree.Value, right: tree.Literal) -> None:
        """Refuse the order of a column and a number or a date in quotes; and an empty text that no cell can be."""
        if op in ("=", "<>"):
            self.of_empty_texts(left, [right])
            return
        names = [each.name for each in outcomes(left) if isinstance(each, tree.Name)]
        columns = [self._kinds.column(name) for name in names if not self._kinds.is_declared(name)]
        if not columns or not isinstance(right.value, str):
            return
        what, instead = _meant(right.value, columns[0])
        if what:
            name = shown_name(columns[0].name or "")
            raise InputError(
                self._parameter,
                f": {columns[0].label} declares no type, and the order of texts is not that of {what}s; "
                f"{safe_repr(right.value)} is a {what} in quotes",
                remedy=f"Write {instead}, or text({name}) if the order of texts is meant.",
            )

    def of_typed_texts(self, left: tree.Value, literals: Sequence[tree.Literal]) -> None:
        """Refuse to look for a text that pandas may hold as something else: such cells are no texts there."""
        names = [each for value in outcomes(left) for each in named_in(value)]
        column = next((found for each in names if (found := self._kinds.column(each.name)).inferred), None)
        typed = next(
            (each.value for each in literals if isinstance(each.value, str) and may_be_typed(each.value)), None
        )
        if column is not None and typed is not None:
            raise InputError(
                self._parameter,
                f": pandas may hold {safe_repr(typed)} in {column.label} as a number, a date, true or false, because "
                "it infers types from cells",
                remedy="Write a number without quotes or DATE '2024-12-31', or load the column as text "
                "(dtype='string').",
            )

    def of_empty_texts(self, left: tree.Value, literals: Sequence[tree.Literal]) -> None:
        """Refuse the empty text where empty cells are missing."""
        if not any(literal.value == "" for literal in literals):
            return
        if not isinstance(left, tree.Name) and not is_reading(left):
            return
        (name,) = named_in(left)
        if self._kinds.column(name.name).filled:
            shown = shown_name(name.name)
            raise InputError(
                self._parameter,
                f": {self._kinds.column(name.name).label} has no empty texts, because empty cells are missing",
                remedy=f"Write {shown} IS NULL, or {shown} IS NOT NULL.",
            )


def _meant(text: str, column: Column) -> tuple[str, str]:
    """Return what a quoted text is probably meant to be, and what to write instead; nothing of a plain text."""
    dates = column.written.dates
    stamp = datetime_of(text)
    if stamp is not None and (dates is None or dates.text.startswith(_IN_ORDER)):
        return "", ""
    if dates is not None and re.fullmatch(dates.pattern, text):
        return "date", f"DATE '{_day(text, dates) or '2024-12-31'}'"
    if _NUMBER.fullmatch(text):
        return "number", f"{text.strip().removeprefix('+')} without quotes" if _is_plain(text) else "it without quotes"
    if re.fullmatch(column.written.number, text):
        return "number", "it without quotes and with a decimal point"
    if stamp is not None:
        return "date", f"DATE '{text}'" if len(text) == len("2024-12-31") else f"TIMESTAMP '{text}'"
    return ("date", "DATE '2024-12-31'") if _DAY.fullmatch(text) else ("", "")


def _is_plain(text: str) -> bool:
    return len(text) < 20 and Decimal(text.strip()).is_finite()


def _day(text: str, dates: DateFormat) -> str:
    """Return the day of a text in a format of numbers, as DATE is written; empty if there is none."""
    found = re.fullmatch(dates.pattern, text)
    parts = dict(zip(dates.parts, found.groups(), strict=True)) if found else {}
    try:
        return dt.date(*(int(parts[name]) for name in ("year", "month", "day"))).isoformat()
    except (KeyError, ValueError):
        return ""
