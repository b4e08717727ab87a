"""CSV files: the header line alone gives the column names and the delimiter, and a pattern finds each cell."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from flexdp._core.text import safe_repr
from flexdp.errors import InputError
from flexdp.tables.column import Column
from flexdp.tables.engines.duckdb.dialect import DUCKDB
from flexdp.tables.files.bytes import header_line
from flexdp.tables.files.lines import Lines
from flexdp.tables.files.paths import shown_path
from flexdp.tables.files.source import LineSource
from flexdp.tables.sql.check_query import place_of

__all__ = ["CsvSource"]

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
    cells += [f"{_damage(place, delimiter)} AS lost{i}" for i, place in enumerate(places) if checked]
    return f"SELECT {', '.join(cells)} FROM {source}"


def _cell(place: int, delimiter: str, split: str) -> str:
    """Return the expression of a cell: split off where the line has no quotes, else matched by the quoting rules."""
    cell, mark = _patterns(delimiter)
    pattern = DUCKDB.text(rf"^(?:(?:{cell}){mark}){{{place}}}({cell})(?:{mark}|$)")
    matched = f"regexp_extract(line, {pattern}, 1)"
    unquoted = f"""CASE WHEN {matched} LIKE '"%' THEN replace({matched}[2:-2], '""', '"') ELSE {matched} END"""
    return f"CASE WHEN contains(line, '\"') THEN {unquoted} ELSE {split} END"


def _damage(place: int, delimiter: str) -> str:
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
