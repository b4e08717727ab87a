"""What a table declares about a column, and how that decides the way it is read. No record has a say."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from flexdp._core.text import is_short, is_unicode, plain_scalar, safe_repr
from flexdp.buckets.base import Kind
from flexdp.errors import InputError

__all__ = ["Column", "check_unicode", "label_reading", "no_column", "no_name", "pick", "reading"]

_KINDS = ("integer", "number", "text", "date", "datetime", "boolean")
_CONVERSIONS = {
    "integer": ("number",),
    "number": ("integer",),
    "text": ("integer", "number", "date", "datetime"),
    "date": ("datetime",),
    "datetime": ("date",),
}
# Conversions that every engine makes alike; SQLite, which has no datetimes, refuses those itself and says why.
_EVERYWHERE = {("integer", "number"), ("datetime", "date"), ("date", "datetime")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column as its source declares it.

    ``kind`` is None where the source declares nothing (text files, lists, object columns) or something that is not
    read; ``type_name`` is the source's own word for it. ``default`` is how an undeclared column is read when the caller
    says nothing, None where the caller must say. ``timestamp`` is a datetime, ``zoned`` one whose time zone is known.
    ``follows`` is a number that labels records as an integer. ``inferred`` is a type that the source's library has
    chosen by looking at the cells, so that another record might have changed it: the caller says how to read such a
    column, and ``kind`` is what the library has made of it. ``strict`` is a column that is read as it is declared and
    no other way. ``engine_name`` is what the engine calls it, where that is not its name.
    """

    name: str | None
    type_name: str
    kind: Kind | None
    undeclared: bool = False
    default: Kind | None = None
    wide: bool = False
    timestamp: bool = False
    zoned: bool = False
    strict: bool = False
    follows: bool = False
    inferred: bool = False
    engine_name: str = ""

    @property
    def may_be_zoned(self) -> bool:
        """Whether datetimes may have their offset from UTC, as in text files; the caller says so by giving a zone."""
        return self.undeclared and self.default == "text"

    @property
    def label(self) -> str:
        return "this list of values" if self.name is None else f"column {safe_repr(self.name)}"


def pick(columns: Sequence[Column], name: object) -> Column:
    """The column of that name, or an error that suggests the nearest declared one."""
    if name is None:
        raise InputError("column is missing; name the column to release.")
    name = plain_scalar(name)
    if not isinstance(name, str):
        raise InputError(
            f"column must be a column name, a text; got {safe_repr(name)}. Rename the column, or quote it."
        )
    check_unicode(name)
    found = [column for column in columns if column.name == name]
    if len(found) > 1:
        raise InputError(f"column {safe_repr(name)} is declared more than once; rename one of them.")
    if not found:
        # No hints from the header of a text file: if there is none, what stands in its place is a record.
        names = [column.name for column in columns if column.name is not None and not column.undeclared]
        near = difflib.get_close_matches(name, names, n=1, cutoff=0.5) or [
            other for other in names if other.casefold() == name.casefold()
        ]
        hint = (
            f"Did you mean {safe_repr(near[0])}?"
            if near and is_short(near[0])
            else "Check its spelling; of files and databases `flexdp columns` lists them."
        )
        raise InputError(f"column {safe_repr(name)} does not exist. {hint}")
    return found[0]


def check_unicode(name: str) -> None:
    """Refuse a column's name that no document could hold."""
    if not is_unicode(name):
        raise InputError("column must be a text that can be written as UTF-8; rename it.")


def no_column(column: object, what: str) -> None:
    """Refuse a column's name where the source is a single column."""
    if column is not None:
        raise InputError(f"column does not fit {what}, which has none; leave it out.")


def no_name(name: object) -> None:
    """Refuse to look for a named column, of groups or units, in a source that is a single one."""
    if name is not None:
        raise InputError(
            f"column {safe_repr(name)} does not exist: the source is a single column without a name. "
            "Pass a table with named columns, for example a pandas frame."
        )


def reading(column: Column, kind: object, *, bucketed: bool) -> Kind:
    """The kind a column is read as: what it declares, or what the caller says of an undeclared one."""
    kind = plain_scalar(kind)
    if kind is not None and (not isinstance(kind, str) or kind not in _KINDS):
        raise InputError(f"kind must be one of {', '.join(map(repr, _KINDS))}; got {safe_repr(kind)}.")
    asked: Kind | None = next((k for k in get_args(Kind) if k == kind), None)
    if column.inferred:
        chosen = asked or ("number" if bucketed else column.kind)
        if chosen is None:
            raise InputError(
                f"kind is missing: pandas infers the type of {column.label} from its cells, which may not decide. Say "
                "kind='integer', 'number', 'text', 'date', 'datetime' or 'boolean', or convert the column to 'Int64', "
                "'Float64', 'boolean' or 'string'."
            )
        _refuse_lost_text("kind", column, chosen)
        return chosen
    if column.undeclared:
        chosen = asked or ("number" if bucketed else column.default)
        if chosen is None:
            raise InputError(
                f"kind is missing: {column.label} declares no type, and what the cells hold may not decide. "
                "Say kind='integer', 'number', 'text', 'date', 'datetime' or 'boolean'."
            )
        return chosen
    if column.kind is None:
        raise InputError(
            f"{column.label} is declared as {column.type_name[:40]}, which cannot be released; "
            "choose a column of numbers, texts, dates, datetimes or booleans."
        )
    if asked is None or asked == column.kind:
        return column.kind
    if asked not in _CONVERSIONS.get(column.kind, ()) or (column.strict and (column.kind, asked) not in _EVERYWHERE):
        raise InputError(f"kind={asked!r} does not fit {column.label}, which is declared as {column.type_name[:40]}.")
    return asked


def label_reading(column: Column, kind: object, *, parameter: str, kinds: Sequence[str]) -> Kind | None:
    """The kind that a column of groups or units is read as, None where it declares nothing that could be one.

    ``kind`` is what the caller says with ``parameter``, one of ``kinds``. Text files are read as texts by default.
    """
    kind = plain_scalar(kind)
    if kind is not None and (not isinstance(kind, str) or kind not in kinds):
        raise InputError(f"{parameter} must be one of {', '.join(map(repr, kinds))}; got {safe_repr(kind)}.")
    asked: Kind | None = next((k for k in get_args(Kind) if k == kind), None)
    if column.inferred:
        if asked is None:
            raise InputError(
                f"{parameter} is missing: pandas infers the type of {column.label} from its cells, which may not "
                f"decide. Say {parameter}='text' or 'integer', or convert the column to 'string' or 'Int64'."
            )
        _refuse_lost_text(parameter, column, asked)
        return asked
    if column.undeclared:
        return asked or "text"
    own: Kind | None = "integer" if column.follows else column.kind
    if asked is not None and asked != own:
        raise InputError(
            f"{parameter}={asked!r} does not fit {column.label}, which is declared as {column.type_name[:40]}; "
            "leave it out."
        )
    return own


def _refuse_lost_text(parameter: str, column: Column, kind: Kind) -> None:
    """A number no longer tells how its text was written: 7 may have been '07'."""
    if kind == "text" and column.kind is not None:
        raise InputError(
            f"{parameter}='text' does not fit {column.label}, which pandas holds as {column.type_name[:40]}: the "
            "original text (leading zeros, for example) is lost. Load the column as text (dtype=str)."
        )
