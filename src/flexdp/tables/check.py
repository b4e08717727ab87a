"""A custodian's check of how a table is read: true counts, for whoever holds the data, and for nobody else.

Nothing here reaches a release: a release reads the same cells by itself and says nothing of those that it leaves out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, get_args

from flexdp._core.domains import flag, pairs, sequence
from flexdp._core.faults import concealed
from flexdp._core.text import plain_scalar, plural, safe_repr, thousands
from flexdp.buckets.base import Kind
from flexdp.errors import FlexdpError, InputError, P, Phrase, spelled
from flexdp.tables.column import Column, check_ways, reading
from flexdp.tables.opening import open_table
from flexdp.tables.source import Source
from flexdp.tables.sql.check_query import READ, REASONS, Wanted

__all__ = ["INTERNAL", "Check", "ColumnCheck", "check"]

INTERNAL = "INTERNAL: true counts of the records, not private. Do not publish them."
_DATED, _HALF_DAYS = P("date_format", "%d.%m.%Y %H:%M"), P("date_format", "%m/%d/%Y %I:%M %p")
_AS_DATETIME = P("kind", "datetime")
_SECONDS = " (with seconds, %H:%M:%S)"
_FOR_PEOPLE: dict[str, Phrase] = {
    "empty": "empty",
    "line": "in a line with an unclosed or stray quote",
    "record": "in a record that is not a JSON object",
    "nested": "a list or an object, not a value",
    "placeholder": "a word or sign for a missing value",
    "long": "longer than 65 536 bytes",
    "fraction": ("not whole: ", P("kind", "number")),
    "digits": "a whole number with more than 37 digits",
    "range": "beyond the largest double",
    "marks": ("digits with other marks between them: set ", P("decimal"), " and ", P("thousands")),
    "sign": ("a number beside a sign or a unit: set ", P("currency")),
    "date": ("a date: ", P("kind", "date")),
    "impossible": "not a valid date or time in the years 1 to 9999",
    "datetime": ("a datetime: ", P("kind", "datetime")),
    "offset": ("a datetime with an offset: set ", P("zone")),
    "day": ("a date: ", P("kind", "date")),
    "format": ("a date in another format: set ", P("date_format")),
    "datetime format": ("a datetime in another format: for example, ", _DATED, _SECONDS),
    "12-hour format": ("a datetime in another format: for example, ", _HALF_DAYS),
    "spelling": "not spelled true or false (in any case)",
    "not finite": "not a number, or infinite",
    "other": "something else",
}
_NO_DATETIMES: dict[str, Phrase] = {
    "datetime format": ("a datetime in another format: ", _AS_DATETIME, " and, for example, ", _DATED, _SECONDS),
    "12-hour format": ("a datetime in another format: ", _AS_DATETIME, " and, for example, ", _HALF_DAYS),
}
_AMONG_NUMBERS: dict[str, Phrase] = {
    "offset": ("a datetime with an offset: set ", _AS_DATETIME, " and ", P("zone")),
    "format": ("a date in another format: set ", P("kind", "date"), " and ", P("date_format")),
}
_OF_LINES: dict[str, Phrase] = {
    "encoding": ("not in the encoding of the file: set ", P("encoding")),
    "length": "longer than 1 MiB",
}


@dataclass(frozen=True, kw_only=True)
class ColumnCheck:
    """How the cells of one column are read.

    Parameters
    ----------
    column
        The column's name.
    kind
        The kind that its cells are read as.
    written
        How such cells must be written; empty where they are not texts.
    declared
        The type that the source declares; empty where it declares none.
    read
        The number of cells that are read.
    reasons
        The number of cells that are not, by reason.
    readable_as
        Where neither the source nor the caller gives a kind: how many cells each kind would read.
    """

    column: str | None
    kind: Kind
    written: str
    read: int = field(repr=False)
    reasons: dict[str, int] = field(repr=False)
    readable_as: dict[str, int] = field(default_factory=dict, repr=False)
    declared: str = ""

    @property
    def manner(self) -> str:
        """How the cells are read, in words."""
        if not self.declared:
            return self.written
        if not self.written and self.declared == f"declared as {self.kind}":
            return self.declared
        return f"{self.declared}, read as {self.written or self.kind}"


@dataclass(frozen=True, kw_only=True, repr=False)
class Check:
    """True counts of the cells that a release would read, and would not. They are not private.

    Parameters
    ----------
    records
        The number of records; lines that cannot be read at all are not among them.
    lines
        The number of such lines, by reason.
    columns
        The checked columns.

    Examples
    --------
    >>> cost = ColumnCheck(column="cost", kind="number", written="numbers", read=7, reasons={"empty": 2})
    >>> found = Check(records=9, lines={}, columns=(cost,))
    >>> found
    <Check of 'cost': INTERNAL, not private; print() shows it>
    >>> found.message().splitlines()[1]
    "Column 'cost', numbers: 7 of 9 records are read."
    >>> found.to_dict()["columns"]
    [{'column': 'cost', 'kind': 'number', 'read': 7, 'not_read': {'empty': 2}}]
    """

    records: int
    lines: dict[str, int]
    columns: tuple[ColumnCheck, ...]

    def message(self, name: Callable[[P], str] = str) -> str:
        """Return the check as text, with ``name`` to spell parameters.

        Parameters
        ----------
        name
            Spells a parameter; as in Python by default.

        Returns
        -------
        str
            Several lines, the first of which says that they are not private.
        """
        out = [INTERNAL]
        unreadable = sum(self.lines.values())
        if unreadable:
            out.append(f"{plural(unreadable, 'line', thousands)} cannot be read:")
            out += _listed(self.lines, _OF_LINES, name)
        for each in self.columns:
            label = "These values" if each.column is None else f"Column {safe_repr(each.column)}"
            out.append(f"{label}, {each.manner}: {thousands(each.read)} of {thousands(self.records)} records are read.")
            words = _FOR_PEOPLE | (_NO_DATETIMES if each.kind != "datetime" else {})
            words |= _AMONG_NUMBERS if each.kind in ("integer", "number") else {}
            out += _listed(each.reasons, words, name)
            if each.readable_as:
                kinds = ", ".join(f"{kind} {thousands(count)}" for kind, count in each.readable_as.items())
                out.append(f"  Readable by {name(P('kind'))}: {kinds}.")
        return "\n".join(out)

    def to_dict(self) -> dict[str, Any]:
        """Return the check as plain values.

        Returns
        -------
        dict
            The counts, marked as internal.
        """
        columns = []
        for each in self.columns:
            shown = {"column": each.column, "kind": each.kind, "read": each.read, "not_read": each.reasons}
            columns.append(shown | ({"readable_as": each.readable_as} if each.readable_as else {}))
        return {"internal": INTERNAL, "records": self.records, "unreadable_lines": self.lines, "columns": columns}

    def __str__(self) -> str:
        return self.message()

    def __repr__(self) -> str:
        names = ", ".join(repr(each.column) for each in self.columns)
        return f"<Check of {names}: INTERNAL, not private; print() shows it>"


def check(
    source: Any,
    column: str | Sequence[str] | None = None,
    *,
    kind: Kind | Mapping[str, Kind | None] | None = None,
    zone: str | None = None,
    format: str | None = None,  # noqa: A002
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    currency: str | Sequence[str] | None = None,
    date_format: str | None = None,
    engine: str | None = None,
    rows_are_records: bool = False,
) -> Check:
    """Count the cells that a release would read, and those that it would leave out, by reason. NOT private.

    For whoever holds the data: the counts are true. They show whether the parameters describe the file as it is; what
    they show must not be published. Nothing is spent, nothing is kept, and no cell is repeated.

    Parameters
    ----------
    source
        Anything that :func:`flexdp.release` takes: files, frames, arrays, lists, dicts of columns, relations, tables.
    column
        The column, or a list of columns; all declared ones by default.
    kind
        The kind that the cells are to be read as, one for all columns or by name; by default the declared one, or
        numbers.
    zone
        The time zone, if datetimes are written with an offset.
    format, delimiter, encoding, sheet, decimal, thousands, currency, date_format, engine, rows_are_records
        As for :func:`flexdp.release`.

    Returns
    -------
    Check
        The counts.

    Raises
    ------
    InputError
        If a parameter is wrong or does not fit the declared schema.
    DataError
        If the table could not be read to its end.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "visits.csv"
    ...     _ = path.write_text('cost\\n7.5\\n"1,234.56"\\nn/a\\n')
    ...     found = check(path, "cost")
    >>> found
    <Check of 'cost': INTERNAL, not private; print() shows it>
    >>> print(found)
    INTERNAL: true counts of the records, not private. Do not publish them.
    Column 'cost', numbers written like 1234.5: 1 of 3 records are read.
           1  a word or sign for a missing value
           1  digits with other marks between them: set decimal and thousands
      Readable by kind: integer 0, number 1, text 3, date 0, datetime 0, boolean 0.
    """
    names = [column] if isinstance(plain_scalar(column), str) else sequence(column) if column is not None else None
    ways = {"decimal": decimal, "thousands": thousands, "currency": currency, "date_format": date_format}
    table = open_table(
        source, names, file_format=plain_scalar(format), delimiter=plain_scalar(delimiter), encoding=encoding,
        sheet=sheet, engine=engine, rows_are_records=flag("rows_are_records", rows_are_records), **ways,
    )  # fmt: skip
    columns = table.columns if names is None else [table.column(name) for name in names]
    if not columns:
        rule = "is missing: the source declares no columns, and keys of JSON records are data"
        raise InputError("column", rule, remedy="Name the columns to check.")
    check_ways(ways, columns)
    kinds: dict[str | None, object] = {each.name: kind for each in columns}
    if isinstance(kind, Mapping):
        named = dict(pairs(kind) or ())
        kinds = {each.name: named.get(each.name) for each in columns}
    wanted = [_checked(each, kinds.get(each.name), zone) for each in columns]
    more = [
        (each, other)
        for each, _ in wanted
        if each.undeclared and kinds.get(each.name) is None and zone is None
        for other in get_args(Kind)
        if table.reads(each, other)
    ]
    return _counted(table, wanted, more)


def _checked(column: Column, kind: object, zone: object) -> tuple[Column, Kind]:
    chosen = reading(column, kind, bucketed=column.kind is None)
    if column.needs_zone(chosen) and zone is None and not column.zoned:
        raise InputError(
            "zone", f"is missing: {column.label} is written with offsets", remedy=("Set ", P("zone", "UTC"), ".")
        )
    if zone is None or column.zoned or not (column.may_be_zoned and chosen in ("date", "datetime")):
        return column, chosen
    return replace(column, zoned=True), "datetime"


def _counted(table: Source, wanted: Sequence[tuple[Column, Kind]], more: Sequence[tuple[Column, Kind]]) -> Check:
    every = [*(Wanted(*each) for each in wanted), *(Wanted(*each, explained=False) for each in more)]
    records, outcomes, lines = concealed(lambda: table.inspect(every), passing=(FlexdpError,))
    readable: dict[str | None, dict[str, int]] = {}
    for (column, kind), counts in zip(more, outcomes[len(wanted) :], strict=True):
        readable.setdefault(column.name, {})[kind] = counts[READ]
    return Check(
        records=records,
        lines=dict(lines),
        columns=tuple(
            ColumnCheck(
                column=column.name,
                kind=kind,
                written=_written(column, kind),
                declared="" if column.undeclared else f"declared as {column.kind}",
                read=counts[READ],
                reasons={reason: counts[reason] for reason in REASONS if counts[reason]},
                readable_as=readable.get(column.name, {}),
            )
            for (column, kind), counts in zip(wanted, outcomes, strict=False)
        ),
    )


def _written(column: Column, kind: Kind) -> str:
    """Say how cells must be written; the empty text if they are not texts."""
    if column.undeclared:
        return "texts" if kind == "text" else column.written.example(kind)
    return column.written.example(kind) if column.kind == "text" and kind != "text" else ""


def _listed(counts: dict[str, int], words: dict[str, Phrase], name: Callable[[P], str]) -> list[str]:
    return [f"{thousands(count):>8}  {spelled(words[reason], name)}" for reason, count in counts.items()]
