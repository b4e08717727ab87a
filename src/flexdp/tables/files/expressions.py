"""SQL over the lines of text files: a cell of a CSV line, a member of a JSON object, the lines themselves."""

from __future__ import annotations

import glob
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from flexdp.buckets.base import Kind
from flexdp.tables.column import Column
from flexdp.tables.engines.duckdb.dialect import DUCKDB
from flexdp.tables.engines.duckdb.types import read_cell
from flexdp.tables.files.lines import Lines
from flexdp.tables.sql.check_query import place_of
from flexdp.tables.sql.query import Reading
from flexdp.tables.written import DATE, WRITTEN

__all__ = [
    "Cell", "as_text", "csv_cells", "file_list", "json_cells", "line_mark", "lines_in_sql", "read_typed", "short",
]  # fmt: skip

_TYPED = "('BIGINT', 'UBIGINT', 'HUGEINT', 'DOUBLE', 'BOOLEAN')"
_SCALARS = "('VARCHAR', " + _TYPED[1:]
_SHOWN = {  # formats whose records are not lines, as DuckDB would read them
    "json": "SELECT unnest(CAST(content AS JSON[])) AS line FROM read_text({files})",
    "xlsx": "SELECT to_json(r) AS line FROM read_xlsx({files}[1], header=true) AS r",
}


def lines_in_sql(named: Mapping[str, Lines], file_format: str) -> str:
    """Return the WITH clause of a query that is only shown: the lines as DuckDB would split them.

    A release splits lines itself and runs the query without this clause.
    """
    if file_format in _SHOWN:
        (lines,) = named.values()
        return f"WITH lines AS (\n  {_SHOWN[file_format].format(files=file_list(lines.files))}\n)\n"
    parts = [
        f"{name} AS (\n  SELECT line || {DUCKDB.text(lines.mark.decode())} AS line FROM read_csv("
        f"{file_list(lines.files)}, auto_detect=false, header=false, skip={int(lines.header)}, delim='\x1f', "
        "quote='', escape='', comment='', new_line='\\n', strict_mode=false, ignore_errors=true, "
        "null_padding=true, parallel=false, columns={'line': 'VARCHAR', 'rest': 'VARCHAR'})\n)"
        for name, lines in named.items()
    ]
    return f"WITH {', '.join(parts)}\n" if parts else ""


def json_cells(names: Sequence[str], *, typed: bool, dated: bool, checked: bool, damaged: bool) -> str:
    """Return a FROM clause with the values of keys in JSON lines, as ``cell0`` and so on.

    With ``typed``, numbers and booleans are apart from texts, as ``typed0`` and so on. Where it is ``checked``, it has
    one row for each record, with the reasons for lost cells, ``lost0`` and so on, if any record may be ``damaged``.
    """
    kept = " WHERE trim(line, ' \t\r\n') <> ''" if checked else ""
    valid = f"(SELECT CASE WHEN json_valid(line) THEN line ELSE 'null' END AS line FROM lines{kept})"
    read = _json_text if typed else _json_member
    cells = [f"{read(name)} AS cell{i}" for i, name in enumerate(names)]
    if typed:
        cells += [f"{_json_typed(name, dated=dated)} AS typed{i}" for i, name in enumerate(names)]
    if checked and damaged:
        cells += [f"{_json_damage(name)} AS lost{i}" for i, name in enumerate(names)]
    return f"(SELECT {', '.join(cells)} FROM {valid})"


def _json_member(name: str) -> str:
    """Return the expression of a key's value in the JSON object of a line, as text; NULL unless it is a scalar."""
    pointer = _pointer(name)
    return f"CASE WHEN json_type(line, {pointer}) IN {_SCALARS} THEN json_extract_string(line, {pointer}) END"


def _json_text(name: str) -> str:
    """Return the expression of a key's value, NULL unless it is a text."""
    pointer = _pointer(name)
    return f"CASE WHEN json_type(line, {pointer}) = 'VARCHAR' THEN json_extract_string(line, {pointer}) END"


def _json_typed(name: str, *, dated: bool) -> str:
    """Return the expression of a number or boolean as JSON writes it, or with ``dated`` of the date in a list."""
    pointer, inner = _pointer(name), _pointer(name, "/0")
    date = f" WHEN json_type(line, {pointer}) = 'ARRAY' THEN json_extract_string(line, {inner})" if dated else ""
    return f"CASE WHEN json_type(line, {pointer}) IN {_TYPED} THEN json_extract_string(line, {pointer}){date} END"


def _json_damage(name: str) -> str:
    """Return the reason why a line has no scalar of that name, NULL if it has one or none at all."""
    pointer = _pointer(name)
    return (
        f"CASE WHEN json_type(line) IS DISTINCT FROM 'OBJECT' THEN {place_of('record')} "
        f"WHEN json_type(line, {pointer}) IN ('ARRAY', 'OBJECT') THEN {place_of('nested')} END"
    )


def _pointer(name: str, rest: str = "") -> str:
    return DUCKDB.text("/" + name.replace("~", "~0").replace("/", "~1") + rest)


def file_list(files: Sequence[str]) -> str:
    """Return the files as a list literal in which no name is a pattern."""
    return "[" + ", ".join(DUCKDB.text(glob.escape(file)) for file in files) + "]"


def line_mark(delimiter: str) -> bytes:
    """Return the byte that replaces a line end: the delimiter, if it is one byte, so that all cells end alike."""
    return delimiter.encode() if delimiter.isascii() else b"\n"


def csv_cells(lines: str, places: Sequence[int], delimiter: str, *, checked: bool) -> str:
    """Return the query of the cells at these places of CSV lines, as ``cell0`` and so on.

    Where it is ``checked``, it has one row for each record, with the reasons for lost cells, ``lost0`` and so on, and a
    line is split once for all cells.
    """
    if not checked:
        cells = [f"{_csv_cell(place, delimiter)} AS cell{i}" for i, place in enumerate(places)]
        return f"SELECT {', '.join(cells)} FROM {_unmarked(lines, delimiter)}"
    mark = DUCKDB.text(delimiter)
    cells = [f"{_csv_cell(place, delimiter, f'parts[{place + 1}]')} AS cell{i}" for i, place in enumerate(places)]
    cells += [f"{_csv_damage(place, delimiter)} AS lost{i}" for i, place in enumerate(places)]
    kept = f"trim(line, {DUCKDB.text(delimiter + chr(10))}) <> ''"
    split = f"SELECT line, string_split(line, {mark}) AS parts FROM {_unmarked(lines, delimiter)} WHERE {kept}"
    return f"SELECT {', '.join(cells)} FROM ({split})"


def _unmarked(lines: str, delimiter: str) -> str:
    """Return the source of lines without their marks, where those do not end a cell; a blanked line is empty."""
    return lines if delimiter.isascii() else f"(SELECT trim(line, chr(10)) AS line FROM {lines})"


def _csv_cell(place: int, delimiter: str, split: str = "") -> str:
    """Return the expression of a cell: split off where the line has no quotes, else matched by the quoting rules."""
    cell, mark = _csv_patterns(delimiter)
    pattern = DUCKDB.text(rf"^(?:(?:{cell}){mark}){{{place}}}({cell})(?:{mark}|$)")
    matched = f"regexp_extract(line, {pattern}, 1)"
    unquoted = f"""CASE WHEN {matched} LIKE '"%' THEN replace({matched}[2:-2], '""', '"') ELSE {matched} END"""
    split = split or f"split_part(line, {DUCKDB.text(delimiter)}, {place + 1})"
    return f"CASE WHEN contains(line, '\"') THEN {unquoted} ELSE {split} END"


def _csv_damage(place: int, delimiter: str) -> str:
    """Return the reason why quotes do not let a cell be found, NULL if they do, or the line is merely short."""
    cell, mark = _csv_patterns(delimiter)
    found = DUCKDB.text(rf"^(?:(?:{cell}){mark}){{{place}}}(?:{cell})(?:{mark}|$)")
    sound = DUCKDB.text(rf"(?:(?:{cell}){mark})*(?:{cell})")
    lost = f"NOT regexp_matches(line, {found}) AND NOT regexp_full_match(line, {sound})"
    return f"CASE WHEN contains(line, '\"') AND {lost} THEN {place_of('line')} END"


def _csv_patterns(delimiter: str) -> tuple[str, str]:
    """Return the patterns of a cell, with its quotes, and of the delimiter."""
    mark = "".join(rf"\x{{{ord(char):x}}}" for char in delimiter)
    return rf'"(?:[^"]|"")*"|[^"{mark}]*', mark


class Cell(NamedTuple):
    """Expressions of a cell: as text, and where the format has types, as what is not a text."""

    text: str
    typed: str | None = None


def read_typed(text: str, typed: str, column: Column, kind: Kind) -> Reading:
    """Read a cell of a format with types: a text as declared, a number, boolean or date as it is."""
    if kind == "text":
        return Reading(f"coalesce({text}, {typed})")
    own = {
        "date": f"{typed}[1:10]",
        "datetime": f"CASE WHEN regexp_full_match({typed}, '{DATE}') THEN {typed} || 'T00:00' ELSE {typed} END",
    }.get(kind, typed)
    found = read_cell(text, column, kind)
    plain = read_cell(f"({own})", replace(column, written=WRITTEN), kind)
    return Reading(f"coalesce({plain.value}, {found.value})", found.wide)


def as_text(cell: Cell, column: Column, kind: Kind) -> str | None:
    """Return the expression of a cell as text; None if it is declared to be something else."""
    if column.undeclared:
        return cell.text if cell.typed is None else f"coalesce({cell.text}, {cell.typed})"
    return f"CAST({cell.text} AS VARCHAR)" if column.kind == "text" and kind != "text" else None


def short(cell: str, column: Column) -> str:
    """Write how a cell is copied; texts that are too long to be read become NULL."""
    return f"CASE WHEN {DUCKDB.is_short(cell)} THEN {cell} END" if column.type_name == "VARCHAR" else cell
