"""Text files by format: CSV, and JSON, to which the rows of an Excel sheet are turned.

Of a CSV file, the header line alone gives the column names and the delimiter, and a pattern finds each cell. JSON has
one object a line, or the elements of an array: they are found by brackets and quotes alone, so that the engine tests
each by itself. One that is not valid JSON, such as one with a NaN, is blank and affects no other. Brackets and quotes
that do not match are damage to the file.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from flexdp._core.text import plain_scalar, safe_repr
from flexdp.buckets.base import Kind
from flexdp.errors import InputError, P
from flexdp.tables.column import Column, check_unicode
from flexdp.tables.engines.duckdb.dialect import DUCKDB, read_cell
from flexdp.tables.files.bytes import STDIN, check_array, header_line, shown_path
from flexdp.tables.files.excel import Sheet, open_sheet, read_sheet
from flexdp.tables.files.lines import Lines, line_ends
from flexdp.tables.files.source import LineSource, file_list
from flexdp.tables.sql.check_query import place_of
from flexdp.tables.sql.query import Reading
from flexdp.tables.written import DATE, WRITTEN

__all__ = ["CsvSource", "ElementEnds", "JsonSource", "SheetSource"]

_DELIMITERS = ",;\t|"
_LAST_PLACE = 1000  # the engine's pattern matcher repeats a group no more often


@dataclass(frozen=True)
class CsvSource(LineSource):
    """CSV files, with the same delimiter or that of each header line."""

    delimiter: str | None = None

    @cached_property
    def _headers(self) -> dict[str, tuple[str, ...]]:
        """The delimiter of each file and the names in its header line: both public."""
        return {file: self._header(header_line(file, self.encoding), file) for file in self.files}

    def _header(self, line: str, file: str) -> tuple[str, ...]:
        likeliest = max(_DELIMITERS, key=lambda mark: (line.count(mark), -_DELIMITERS.index(mark)))
        delimiter = self.delimiter or likeliest
        try:
            row = next(csv.reader([line], delimiter=delimiter))
        except csv.Error:
            raise InputError(
                "source", f": the header line of {shown_path(file)} is not valid CSV", remedy="Correct that line."
            ) from None
        return delimiter, *(name.strip() for name in row)

    def names_of(self, file: str) -> tuple[str, ...]:
        return self._headers[file][1:]

    @cached_property
    def lines(self) -> dict[str, Lines]:
        """The lines; files with the same header share a name."""
        alike: dict[tuple[str, ...], list[str]] = {}
        for file, header in self._headers.items():
            alike.setdefault(header, []).append(file)
        parts = [Lines(files, _mark(key[0]), header=True, encoding=self.encoding) for key, files in alike.items()]
        return {"lines" if len(parts) == 1 else f"lines{i}": part for i, part in enumerate(parts, 1)}

    def cell(self, place: int, column: Column) -> str:  # noqa: ARG002
        return f"nullif(cell{place}, '')"

    def rows(self, columns: Sequence[Column], *, checked: bool = False) -> str:
        parts = []
        for name, lines in self.lines.items():
            delimiter, *names = self._headers[lines.files[0]]
            places = [names.index(column.name or "") for column in columns]
            if max(places) > _LAST_PLACE:
                far = safe_repr(columns[places.index(max(places))].name)
                raise InputError(
                    "column",
                    f": {far} lies beyond the first {_LAST_PLACE + 1} columns of a CSV file",
                    remedy="Convert the file to Parquet.",
                )
            parts.append(_cells(name, places, delimiter, checked=checked))
        return "(" + " UNION ALL ".join(parts) + ")"


def _mark(delimiter: str) -> bytes:
    """Return the byte that replaces a line end: the delimiter, if it is one byte, so that all cells end alike."""
    return delimiter.encode() if delimiter.isascii() else b"\n"


def _cells(lines: str, places: Sequence[int], delimiter: str, *, checked: bool) -> str:
    """Return the query of the cells at these places of CSV lines, as ``cell0`` and so on.

    Where it is ``checked``, it has one row for each record, with the reasons for lost cells, ``lost0`` and so on, and a
    line is split once for all cells.
    """
    mark = DUCKDB.text(delimiter)
    # Without their marks, where those do not end a cell; a blanked line is empty.
    source = lines if delimiter.isascii() else f"(SELECT trim(line, chr(10)) AS line FROM {lines})"
    if checked:
        kept = f"trim(line, {DUCKDB.text(delimiter + chr(10))}) <> ''"
        source = f"(SELECT line, string_split(line, {mark}) AS parts FROM {source} WHERE {kept})"
    splits = [f"parts[{place + 1}]" if checked else f"split_part(line, {mark}, {place + 1})" for place in places]
    cells = [
        f"{_cell(place, delimiter, split)} AS cell{i}"
        for i, (place, split) in enumerate(zip(places, splits, strict=True))
    ]
    cells += [f"{_lost(place, delimiter)} AS lost{i}" for i, place in enumerate(places) if checked]
    return f"SELECT {', '.join(cells)} FROM {source}"


def _cell(place: int, delimiter: str, split: str) -> str:
    """Return the expression of a cell: split off where the line has no quotes, else matched by the quoting rules."""
    cell, mark = _patterns(delimiter)
    pattern = DUCKDB.text(rf"^(?:(?:{cell}){mark}){{{place}}}({cell})(?:{mark}|$)")
    matched = f"regexp_extract(line, {pattern}, 1)"
    unquoted = f"""CASE WHEN {matched} LIKE '"%' THEN replace({matched}[2:-2], '""', '"') ELSE {matched} END"""
    return f"CASE WHEN contains(line, '\"') THEN {unquoted} ELSE {split} END"


def _lost(place: int, delimiter: str) -> str:
    """Return the reason why quotes do not let a cell be found, NULL if they do, or the line is merely short."""
    cell, mark = _patterns(delimiter)
    found = DUCKDB.text(rf"^(?:(?:{cell}){mark}){{{place}}}(?:{cell})(?:{mark}|$)")
    sound = DUCKDB.text(rf"(?:(?:{cell}){mark})*(?:{cell})")
    lost = f"NOT regexp_matches(line, {found}) AND NOT regexp_full_match(line, {sound})"
    return f"CASE WHEN contains(line, '\"') AND {lost} THEN {place_of('line')} END"


def _patterns(delimiter: str) -> tuple[str, str]:
    """Return the patterns of a cell, with its quotes, and of the delimiter."""
    mark = "".join(rf"\x{{{ord(char):x}}}" for char in delimiter)
    return rf'"(?:[^"]|"")*"|[^"{mark}]*', mark


_TYPED = "('BIGINT', 'UBIGINT', 'HUGEINT', 'DOUBLE', 'BOOLEAN')"
_SCALARS = "('VARCHAR', " + _TYPED[1:]
_QUOTE, _OPEN, _CLOSE, _COMMA = b'"[],'
_ESCAPE = re.compile(rb"\\[\x00-\xff]")
_MARKS = np.zeros(256, np.bool_)
_MARKS[list(b'"[]{},')] = True
_DEPTH = np.zeros(256, np.int64)
_DEPTH[list(b"[{")] = 1
_DEPTH[list(b"]}")] = -1


@dataclass(frozen=True)
class JsonSource(LineSource):
    """JSON files, whose records are lines or the elements of an ``array``. Their keys are data: none is declared."""

    array: bool = False

    @property
    def keyed(self) -> bool:
        return True

    @property
    def is_typed(self) -> bool:
        """True if numbers and dates must be told from texts, because only texts are written in the declared way."""
        return self.how != WRITTEN

    def names_of(self, file: str) -> Sequence[str]:
        if self.array and file != STDIN:
            check_array(file, self.encoding)
        return ()

    def column(self, name: object) -> Column:
        """Return the column of any name."""
        name = plain_scalar(name)
        if not self.keyed or not isinstance(name, str):
            return super().column(name)
        check_unicode(name)
        return self.undeclared(name)

    @cached_property
    def lines(self) -> dict[str, Lines]:
        ends = ElementEnds if self.array else lambda: line_ends
        return {"lines": Lines(self.files, b" ", header=False, encoding=self.encoding, ends=ends)}

    def lines_in_sql(self, lines: Lines) -> str:
        if self.array:
            return f"SELECT unnest(CAST(content AS JSON[])) AS line FROM read_text({file_list(lines.files)})"
        return super().lines_in_sql(lines)

    def cell(self, place: int, column: Column) -> str:  # noqa: ARG002
        return f"cell{place}"

    def text(self, place: int, column: Column) -> str:
        return f"coalesce(cell{place}, typed{place})" if self.is_typed else self.cell(place, column)

    def read(self, place: int, column: Column, kind: Kind) -> Reading:
        if not self.is_typed:
            return super().read(place, column, kind)
        if kind == "text":
            return Reading(self.text(place, column))
        typed = f"typed{place}"
        own = {
            "date": f"{typed}[1:10]",
            "datetime": f"CASE WHEN regexp_full_match({typed}, '{DATE}') THEN {typed} || 'T00:00' ELSE {typed} END",
        }.get(kind, typed)
        found = read_cell(f"cell{place}", column, kind)
        plain = read_cell(f"({own})", replace(column, written=WRITTEN), kind)
        return Reading(f"coalesce({plain.value}, {found.value})", found.wide)

    def rows(self, columns: Sequence[Column], *, checked: bool = False) -> str:
        """Return a FROM clause with the scalars of keys, as ``cell0`` and so on.

        If it is typed, numbers and booleans are apart from texts, as ``typed0`` and so on.
        """
        kept = " WHERE trim(line, ' \t\r\n') <> ''" if checked else ""
        valid = f"(SELECT CASE WHEN json_valid(line) THEN line ELSE 'null' END AS line FROM lines{kept})"
        names = [column.name or "" for column in columns]
        texts = "= 'VARCHAR'" if self.is_typed else f"IN {_SCALARS}"
        cells = [f"CASE {_scalar(name, texts)} END AS cell{i}" for i, name in enumerate(names)]
        if self.is_typed:
            cells += [f"CASE {self.typed(name)} END AS typed{i}" for i, name in enumerate(names)]
        if checked:
            cells += [f"{_damage(name)} AS lost{i}" for i, name in enumerate(names) if self.damage(i)]
        return f"(SELECT {', '.join(cells)} FROM {valid})"

    def typed(self, name: str) -> str:
        """Return the case of a number or boolean as JSON writes it."""
        return _scalar(name, f"IN {_TYPED}")


@dataclass(frozen=True)
class SheetSource(JsonSource):
    """Sheets of Excel files, which hold dates as lists of one."""

    sheet: object = None

    keyed = is_text = False
    is_typed = read_once = True

    @cached_property
    def _sheets(self) -> dict[str, Sheet]:
        return {file: open_sheet(file, self.sheet) for file in self.files}

    @property
    def elsewhere(self) -> tuple[str | P, ...]:
        return self._sheets[self.files[0]].others

    def names_of(self, file: str) -> Sequence[str]:
        return self._sheets[file].names

    @cached_property
    def lines(self) -> dict[str, Lines]:
        return {"lines": Lines(self.files, b" ", header=False, opened=lambda file: read_sheet(self._sheets[file]))}

    def lines_in_sql(self, lines: Lines) -> str:
        return f"SELECT to_json(r) AS line FROM read_xlsx({file_list(lines.files)}[1], header=true) AS r"

    def typed(self, name: str) -> str:
        return f"{super().typed(name)} " + _scalar(name, "= 'ARRAY'", "/0")

    def damage(self, place: int) -> str:  # noqa: ARG002
        return ""


def _scalar(name: str, kinds: str, inner: str = "") -> str:
    """Return the case of a key's value in the JSON object of a line, as text, if it has one of these kinds."""
    return f"WHEN json_type(line, {_pointer(name)}) {kinds} THEN json_extract_string(line, {_pointer(name, inner)})"


def _damage(name: str) -> str:
    """Return the reason why a line has no scalar of that name, NULL if it has one or none at all."""
    return (
        f"CASE WHEN json_type(line) IS DISTINCT FROM 'OBJECT' THEN {place_of('record')} "
        f"WHEN json_type(line, {_pointer(name)}) IN ('ARRAY', 'OBJECT') THEN {place_of('nested')} END"
    )


def _pointer(name: str, rest: str = "") -> str:
    return DUCKDB.text("/" + name.replace("~", "~0").replace("/", "~1") + rest)


class ElementEnds:
    """Finds the bytes between the elements of an array: its brackets, and the commas at its own level.

    It is called with one block after the other and remembers where it is.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._quoted = False
        self._escaped = False  # the next byte

    def __call__(self, data: NDArray[np.uint8]) -> NDArray[np.intp]:
        """Return the places of those bytes in the next block."""
        data = np.frombuffer(self._unescaped(data.tobytes()), np.uint8)
        places = np.flatnonzero(_MARKS[data])
        found = data[places]
        quotes = found == _QUOTE
        inside = (np.cumsum(quotes) + self._quoted) % 2 == 1
        depth = self._depth + np.cumsum(np.where(inside | quotes, 0, _DEPTH[found]))
        if len(places):
            self._depth, self._quoted = int(depth[-1]), bool(inside[-1])
        ends = ((found == _COMMA) | (found == _OPEN)) & (depth == 1) | (found == _CLOSE) & (depth == 0)
        out: NDArray[np.intp] = places[ends & ~inside & ~quotes]
        return out

    def _unescaped(self, block: bytes) -> bytes:
        """Blank backslashes with the bytes that they escape, and remember whether the next block's first is one."""
        plain = _ESCAPE.sub(b"  ", b"\\" * self._escaped + block)[self._escaped :]
        self._escaped = plain.endswith(b"\\")
        return plain
