"""Declared columns, and the kind that each is read as. No record has a say in it."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from flexdp._core.domains import choice
from flexdp._core.text import is_short, is_unicode, plain_scalar, safe_repr
from flexdp.buckets.base import Kind
from flexdp.errors import InputError, P, Phrase
from flexdp.tables.written import WRITTEN, Written

__all__ = [
    "WAYS",
    "Column",
    "check_unicode",
    "check_ways",
    "label_reading",
    "no_column",
    "no_name",
    "one_of",
    "pick",
    "reading",
    "refuse_misread",
]

WAYS = ("decimal", "thousands", "currency", "date_format")  # parameters that say how cells of text are written

_LONGEST_TYPE = 40  # characters of a type's name that a message repeats
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
    """One column as its source declares it. A type that nobody declared is no kind, and cannot be made one.

    Parameters
    ----------
    name
        The column's name; None for a source that is a single column.
    type_name
        The source's own name for the type.
    kind
        The kind that the type stands for; None where the source declares none (text files, lists, object columns) or
        one that cannot be released.
    undeclared
        Nobody declares a type, so ``kind`` is None.
    default
        The kind of an undeclared column if the caller gives none; None if the caller must.
    wide
        Integers may exceed 64 bits.
    timestamp
        The column holds datetimes.
    zoned
        The datetimes have a time zone.
    strict
        The column is read as declared and in no other way.
    follows
        As a group or a unit, a number is read as an integer.
    inferred
        A library held the cells in a type that it chose by looking at them, so another record might have changed it and
        every cell. Cells are read so that any other type gives the same, and nothing here tells which it was.
    engine_name
        The engine's name for the column, where it differs.
    dated
        Read as datetimes, cells of text may also be dates, which are midnights.
    presence
        Read as booleans: true where there is a cell, of whatever kind, and missing where there is none.
    written
        How cells of text are written where they are read as numbers or dates.
    filled
        No cell is an empty text: such cells are missing, as in CSV files.
    derived
        The meaning of a column that is computed from others, row by row.

    Examples
    --------
    >>> Column(name="age", type_name="BIGINT", kind="integer").label
    "column 'age'"
    >>> Column(name="day", type_name="TIMESTAMPTZ", kind="datetime", zoned=True).needs_zone("date")
    True
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
    dated: bool = False
    presence: bool = False
    written: Written = WRITTEN
    filled: bool = False
    derived: Any = None

    def __post_init__(self) -> None:
        typed = self.kind is not None or self.wide or self.timestamp or self.follows or self.strict
        if (self.undeclared and typed) or (self.inferred and not self.undeclared):
            raise TypeError("a type that nobody declared decides nothing")

    @property
    def mixed(self) -> bool:
        """True if each cell has a type of its own, or may have had one, as in lists and in columns of pandas."""
        return self.undeclared and self.type_name != "undeclared"

    @property
    def may_be_zoned(self) -> bool:
        """True if datetimes may have an offset from UTC, as in text files and pandas; the caller says so by a zone."""
        dates = self.written.dates
        return self.inferred or (self.undeclared and self.default == "text" and (dates is None or dates.zoned))

    @property
    def may_be_dated(self) -> bool:
        """True if cells may be dates as well as datetimes, as in text files and objects; SQLite has no datetimes."""
        return self.undeclared and (self.default == "text" or self.mixed)

    def needs_zone(self, kind: Kind) -> bool:
        """Tell whether a zone must be given to read the column as a kind.

        Parameters
        ----------
        kind
            The kind.

        Returns
        -------
        bool
            True for datetimes with a time zone, declared or written with an offset.
        """
        dates = self.written.dates
        return self.zoned or (dates is not None and dates.zoned and kind in ("date", "datetime"))

    @property
    def may_hold_texts(self) -> bool:
        """True if cells are, or may be, texts: declared as such, or in a column whose type nobody declares."""
        return self.undeclared or self.kind == "text"

    @property
    def label(self) -> str:
        """The column as a message names it."""
        return "this column of values" if self.name is None else f"column {safe_repr(self.name)}"


def pick(columns: Sequence[Column], name: object, *, elsewhere: tuple[str | P, ...] = ()) -> Column:
    """Return the column of that name, or raise an error that suggests the closest declared one.

    ``elsewhere`` is advice where else to look, such as other sheets.
    """
    if name is None:
        raise InputError("column", "is missing", remedy="Name the column to release.")
    name = plain_scalar(name)
    if not isinstance(name, str):
        raise InputError(
            "column",
            ": a column name must be a text",
            given=safe_repr(name),
            remedy="Rename the column, or quote its name.",
        )
    check_unicode(name)
    found = [column for column in columns if column.name == name]
    if len(found) > 1:
        raise InputError("column", f": {safe_repr(name)} is declared more than once", remedy="Rename one of them.")
    if not found:
        # The header of a text file gives no hints: if it is missing, a record stands in its place.
        names = [c.name for c in columns if c.name is not None and (c.inferred or not c.undeclared)]
        near = difflib.get_close_matches(name, names, n=1, cutoff=0.5) or [
            other for other in names if other.casefold() == name.casefold()
        ]
        hint: Phrase = "Check the spelling; `flexdp check --columns` lists the columns of files and databases."
        if near and is_short(near[0]):
            hint = f"Did you mean {safe_repr(near[0])}?"
        elif elsewhere:
            hint = ("Check the spelling, or ", *elsewhere)
        raise InputError("column", f": no column named {safe_repr(name)}", remedy=hint)
    return found[0]


def check_unicode(name: str) -> None:
    """Refuse a column name that no document could hold."""
    if not is_unicode(name):
        raise InputError("column", "must be a text that UTF-8 can represent", remedy="Rename the column.")


def check_ways(given: Mapping[str, object], columns: Collection[Column]) -> None:
    """Refuse to say how texts are written where no column that is read may hold one: it would change nothing.

    Parameters
    ----------
    given
        The parameters of the caller, those of :data:`WAYS` among others.
    columns
        The columns that are read.

    Raises
    ------
    InputError
        If one of :data:`WAYS` is given, and all columns declare another type than text.

    Examples
    --------
    >>> check_ways({"decimal": ","}, [Column(name="cost", type_name="DOUBLE", kind="number")])
    Traceback (most recent call last):
    flexdp.errors.InputError: decimal applies to cells of text, but column 'cost' is declared as DOUBLE. Leave it out.
    """
    way = next((name for name in WAYS if given.get(name) is not None), None)
    if way is None or any(column.may_hold_texts for column in columns):
        return
    held = {f"{column.label} is declared as {_type_of(column)}" for column in columns}
    told = held.pop() if len(held) == 1 else "no column that is read holds texts"
    raise InputError(way, f"applies to cells of text, but {told}", remedy="Leave it out.")


def no_column(column: object, what: str) -> None:
    """Refuse a column name where the source is a single column."""
    if column is not None:
        raise InputError("column", f"does not apply to {what}, which has no named columns", remedy="Leave it out.")


def no_name(name: object) -> None:
    """Refuse a named column, of groups or units, in a source that is a single column."""
    if name is not None:
        raise InputError(
            "column",
            f": no column named {safe_repr(name)}, since the source is a single column without a name",
            remedy="Pass a table with named columns, such as a pandas frame.",
        )


def reading(column: Column, kind: object, *, bucketed: bool) -> Kind:
    """Return the kind that a released column is read as.

    Parameters
    ----------
    column
        The declared column.
    kind
        The kind that the caller asks for, or None.
    bucketed
        The values are bucketed. An undeclared column is then read as numbers unless ``kind`` says otherwise; one of
        pandas always is.

    Returns
    -------
    Kind
        The declared kind, or the one asked for where the declared type can be read as it.

    Raises
    ------
    InputError
        If the column declares no kind and none is asked for, or the one asked for does not fit its type.

    Examples
    --------
    >>> reading(Column(name="age", type_name="BIGINT", kind="integer"), None, bucketed=True)
    'integer'
    >>> reading(Column(name="age", type_name="BIGINT", kind="integer"), "number", bucketed=True)
    'number'
    >>> reading(Column(name="age", type_name="BIGINT", kind="integer"), "date", bucketed=True)
    Traceback (most recent call last):
    flexdp.errors.InputError: kind does not fit column 'age', which is declared as BIGINT; got 'date'.
    """
    asked = _asked("kind", kind, get_args(Kind))
    if column.undeclared:
        chosen = asked or ("number" if bucketed or column.inferred else column.default)
        if chosen is None:
            rule = f"is missing: {column.label} declares no type, and its cells must not decide how it is read"
            raise InputError("kind", rule, remedy=("Set ", P("kind"), f" to {one_of(get_args(Kind))}."))
        if column.inferred:
            refuse_misread(column, chosen)
        return chosen
    if column.kind is None:
        parameter, subject = ("source", column.label) if column.name is None else ("column", safe_repr(column.name))
        raise InputError(
            parameter,
            f": {subject} is declared as {_type_of(column)}, which cannot be released",
            remedy="Choose a column of numbers, texts, dates, datetimes or booleans.",
        )
    if asked is None or asked == column.kind:
        return column.kind
    if asked not in _CONVERSIONS.get(column.kind, ()) or (column.strict and (column.kind, asked) not in _EVERYWHERE):
        raise _unfit("kind", column, asked)
    return asked


def label_reading(column: Column, kind: object, *, parameter: str, kinds: Sequence[str]) -> Kind | None:
    """Return the kind that a column of groups or units is read as.

    Parameters
    ----------
    column
        The declared column.
    kind
        The kind that the caller asks for, or None. Text files are read as texts by default.
    parameter
        The parameter that gives ``kind``.
    kinds
        The kinds that it may be.

    Returns
    -------
    Kind or None
        The kind; None where the declared type stands for none.

    Raises
    ------
    InputError
        If the column's type was inferred and no kind is asked for, or the one asked for does not fit its type.

    Examples
    --------
    >>> label_reading(
    ...     Column(name="ward", type_name="undeclared", kind=None, undeclared=True),
    ...     None,
    ...     parameter="by_kind",
    ...     kinds=("text", "integer"),
    ... )
    'text'
    """
    asked = _asked(parameter, kind, kinds)
    if column.inferred:
        if asked is None:
            remedy = ("Set ", P(parameter), " to 'text' or 'integer', or convert the column to 'string' or 'Int64'.")
            rule = f"is missing: pandas infers the type of {column.label} from its cells, which must not decide how it"
            raise InputError(parameter, f"{rule} is read", remedy=remedy)
        refuse_misread(column, asked)
        return asked
    if column.undeclared:
        return asked or "text"
    own: Kind | None = "integer" if column.follows else column.kind
    if asked is not None and asked != own:
        raise _unfit(parameter, column, asked, remedy="Leave it out.")
    return own


def _asked(parameter: str, kind: object, kinds: Sequence[str]) -> Kind | None:
    word = None if kind is None else choice(parameter, kind, kinds)
    asked: Kind | None = next((each for each in get_args(Kind) if each == word), None)
    return asked


def one_of(words: Sequence[str]) -> str:
    """List words of which one is wanted.

    >>> one_of(["date", "text"])
    "'date' or 'text'"
    """
    *first, last = map(repr, words)
    return f"{', '.join(first)} or {last}"


def _type_of(column: Column) -> str:
    return column.type_name[:_LONGEST_TYPE]


def _unfit(parameter: str, column: Column, kind: Kind, remedy: str = "") -> InputError:
    if column.derived is not None:
        rule = f"does not fit {column.label}, which is computed as {column.kind}"
        return InputError(parameter, rule, given=repr(kind), remedy="Leave it out.")
    rule = f"does not fit {column.label}, which is declared as {_type_of(column)}"
    return InputError(parameter, rule, given=repr(kind), remedy=remedy)


def refuse_misread(column: Column, kind: Kind) -> None:
    """Refuse texts that may have become numbers of another value: '1.234', one thousand, would be 1.234.

    Parameters
    ----------
    column
        A column whose type pandas infers.
    kind
        The kind that it is read as.

    Raises
    ------
    InputError
        If texts of that kind are declared to be written in a way that pandas may have read otherwise.

    Examples
    --------
    >>> refuse_misread(Column(name="cost", type_name="pandas", kind=None, undeclared=True, inferred=True), "number")
    """
    parameter = column.written.misread(kind)
    if parameter is not None:
        raise InputError(
            parameter,
            f"does not fit {column.label}: pandas infers its type from cells, and may have converted such texts",
            remedy="Load the column as text (dtype='string').",
        )
