"""Files: Parquet declares its types; CSV and JSON lines are read line by line, so that no line can hurt another.

In a text file the record is the physical line (:mod:`flexdp.tables.files.lines`): that is what privacy is promised to.
A cell that spans lines is several lines. The header line alone gives the names and the delimiter. An unclosed quote, a
line of the wrong length or encoding spoils its own line and no other.
"""

from __future__ import annotations

import csv
import glob
import os
import stat
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

from flexdp._core.domains import choice, path_text
from flexdp._core.text import is_unicode, plain_scalar, safe_repr
from flexdp.buckets.base import Kind
from flexdp.errors import DataError, InputError
from flexdp.tables.counting import Counted, Counting
from flexdp.tables.declared import Column, check_unicode, pick
from flexdp.tables.duckdb.dialect import DUCKDB
from flexdp.tables.duckdb.run import connection
from flexdp.tables.duckdb.types import declared, read_cell
from flexdp.tables.files.lines import STDIN, DamagedError, Lines, open_bytes
from flexdp.tables.interrupts import counted, counted_together, run
from flexdp.tables.sql.query import Reading, count_query, together_query

__all__ = ["FileTable", "open_files"]

Format: TypeAlias = Literal["csv", "jsonl", "parquet"]

_ENDINGS: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_DELIMITERS = ",;\t|"
_LONGEST_HEADER = 1 << 20
_LAST_PLACE = 1000  # the engine's pattern matcher repeats no group more often
_LONGEST_PATH = 4096
_LONGEST_LABEL = 160  # characters of a path that a message echoes
_SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".ods", ".numbers")
_SCALARS = "('VARCHAR', 'BIGINT', 'UBIGINT', 'HUGEINT', 'DOUBLE', 'BOOLEAN')"


def open_files(
    paths: Sequence[Any], file_format: object = None, delimiter: object = None, *, echo: bool = False
) -> FileTable:
    """The table that the paths make together: globs expanded, formats alike, every file there and readable.

    Paths are echoed in messages only where they were given as such: a list may be values that were meant as data.
    """
    single = isinstance(delimiter, str) and len(delimiter) == 1 and delimiter not in '"\r\n' and is_unicode(delimiter)
    if delimiter is not None and not single:
        raise InputError(f"delimiter must be one character other than a quote; got {safe_repr(delimiter)}.")
    if file_format is not None:
        file_format = choice("format", file_format, ("csv", "jsonl", "parquet"))
    files = []
    for place, path in enumerate(paths, 1):
        item = f"item {place} of source"
        file = path_text("source" if echo else item, path)
        files += _expand(file, _label(file) if echo else item)
    if not files:
        raise InputError("source must name at least one file; got an empty list.")
    _refuse_repeated(files)
    formats = {_format_of(file, file_format) for file in files}
    if len(formats) > 1:
        raise InputError("source must be files of one format; release CSV, JSON lines and Parquet separately.")
    chosen = formats.pop()
    if delimiter is not None and chosen != "csv":
        raise InputError("delimiter fits CSV files only; leave it out.")
    table = FileTable(tuple(files), chosen, delimiter if isinstance(delimiter, str) else None)
    table.columns  # noqa: B018  (reads the declared schema now, so that a bad file is refused before anything else)
    return table


def _refuse_repeated(files: Sequence[str]) -> None:
    """One file twice would count every record twice, and promise each half the privacy it gets."""
    seen = [(entry.st_dev, entry.st_ino) for entry in (os.stat(file) for file in files)]  # noqa: PTH116
    if len(set(seen)) < len(seen):
        raise InputError("source names the same file more than once; name each file once.")


def _expand(path: Any, label: str) -> list[str]:
    """The files that a path or a pattern names, each of them there, regular and readable."""
    if path == "-":
        if not _something_is_piped():
            raise InputError("source is standard input, and nothing is piped into it.")
        return [STDIN]
    if not isinstance(path, str) or not path or len(path) > _LONGEST_PATH or not path.isprintable():
        raise InputError(f"{label} must be a path; give the name of a file.")
    if not glob.has_magic(path) or os.path.lexists(path):
        _check_readable(path, label)
        return [path]
    found = sorted(match for match in glob.glob(path, recursive=True) if not Path(match).is_dir())  # noqa: PTH207
    if not found:
        raise InputError(f"{label} matches no file. Check the pattern.")
    for match in found:
        _check_readable(match, _label(match))
    return found


def _something_is_piped() -> bool:
    try:
        os.fstat(0)
    except OSError:
        return False
    return sys.stdin is not None and not sys.stdin.closed and not sys.stdin.isatty()


def _label(file: str) -> str:
    return f"source {safe_repr(file, _LONGEST_LABEL)}"


def _format_of(file: str, asked: object) -> Format:
    if asked in ("csv", "jsonl", "parquet"):
        chosen: Format = asked
    elif file == STDIN:
        chosen = "csv"
    else:
        endings = [ending.lower() for ending in Path(file).suffixes]
        ending = endings[-2] if endings[-1:] == [".gz"] and len(endings) > 1 else "".join(endings[-1:])
        if ending in _SPREADSHEETS:
            raise InputError(f"{_label(file)} is a spreadsheet, which is not read; save it as CSV.")
        if ending not in _ENDINGS:
            raise InputError(
                f"{_label(file)} does not end in {', '.join(_ENDINGS)} (or those with .gz). "
                "Rename it, or say format='csv', 'jsonl' or 'parquet'."
            )
        chosen = _ENDINGS[ending]
    if chosen == "parquet" and (file == STDIN or file.lower().endswith(".gz")):
        raise InputError("Parquet cannot be read from standard input or through gzip; give the file itself.")
    return chosen


def _check_readable(file: str, label: str) -> None:
    try:
        mode = Path(file).stat().st_mode
    except OSError:
        raise InputError(f"{label} does not exist or cannot be reached. Check the path.") from None
    if stat.S_ISDIR(mode):
        raise InputError(f"{label} is a directory. Name the files in it, for example with a pattern.")
    if not stat.S_ISREG(mode):  # a pipe could be read only once, and the header is read first
        raise InputError(f"{label} is not a regular file. Pipe it into standard input and name '-' instead.")
    if not os.access(file, os.R_OK):
        raise InputError(f"{label} may not be read. Check its permissions.")


@dataclass(frozen=True)
class FileTable:
    """One or many files of one format."""

    files: tuple[str, ...]
    format: Format
    delimiter: str | None = None

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The declared columns, which all files share; JSON lines declare none."""
        if self.format == "jsonl":
            return ()
        others = [{column.name for column in self._declared[file]} for file in self.files[1:]]
        return tuple(c for c in self._declared[self.files[0]] if all(c.name in names for names in others))

    @cached_property
    def _first_lines(self) -> dict[str, str]:
        return {file: _first_line(file) for file in self.files}

    def delimiter_of(self, file: str) -> str:
        """The delimiter given, or the likeliest one of the header line, which is public."""
        line = self._first_lines[file]
        return self.delimiter or max(_DELIMITERS, key=lambda mark: (line.count(mark), -_DELIMITERS.index(mark)))

    def names_of(self, file: str) -> list[str]:
        """The names in a CSV file's header."""
        try:
            row = next(csv.reader([self._first_lines[file]], delimiter=self.delimiter_of(file)))
        except csv.Error:
            raise InputError(f"{_label(file)} has a header line that cannot be read as CSV. Check it.") from None
        return [name.strip() for name in row]

    @cached_property
    def _declared(self) -> dict[str, list[Column]]:
        """The declared columns of each file; a schema is read once."""
        if self.format == "parquet":
            with connection() as con:
                return {file: _parquet_columns(con, file) for file in self.files}
        return {
            file: [
                Column(name=name, type_name="undeclared", kind=None, undeclared=True, default="text")
                for name in self.names_of(file)
            ]
            for file in self.files
        }

    def column(self, name: object) -> Column:
        """The declared column of that name; of JSON lines, any name, since keys are data."""
        name = plain_scalar(name)
        if self.format == "jsonl" and isinstance(name, str):
            check_unicode(name)
            return Column(name=name, type_name="undeclared", kind=None, undeclared=True, default="text")
        found = pick(self._declared[self.files[0]], name)
        if found.name not in {column.name for column in self.columns}:
            raise InputError(f"{found.label} is not in all of the files. Leave out those without it.")
        for file in self.files[1:]:
            if pick(self._declared[file], found.name) != found:
                raise InputError(f"{found.label} is declared with different types in different files.")
        return found

    def query(self, counting: Counting) -> str:
        """The SQL that counts; it runs nothing. DuckDB can run it, but where lines end is then DuckDB's choice."""
        return self._lines_in_sql() + self._statement(counting)

    def _statement(self, counting: Counting) -> str:
        source, cells = self._source(counting.columns)
        return count_query(source, counting, DUCKDB, lambda column, kind: read_cell(cells[column.name], column, kind))

    def count(self, counting: Counting) -> Counted:
        """Bars and how many records each holds."""
        statement = self._statement(counting)
        with self._reading(counting.columns) as (con, interrupt):
            return counted(run(lambda: con.execute(statement).fetchnumpy(), interrupt), len(counting.axes))

    def together(self, countings: Sequence[Counting]) -> list[Counted]:
        """Several counts in one pass; with units, in passes over a copy of the columns that only this user can read."""
        columns = tuple(dict.fromkeys(column for counting in countings for column in counting.columns))
        source, cells = self._source(columns)
        with self._reading(columns) as (con, interrupt):
            if all(counting.units is None for counting in countings):
                statement = self._statement_together(countings)
                result = run(lambda: con.execute(statement).fetchnumpy(), interrupt)
                return counted_together(result, countings)
            listed = ", ".join(f"{_to_copy(cells[column.name], column)} AS x{i}" for i, column in enumerate(columns))
            copied = {column.name: f"x{i}" for i, column in enumerate(columns)}
            run(lambda: con.execute(f"CREATE TEMP TABLE copied AS SELECT {listed} FROM {source}"), interrupt)

            def read(column: Column, kind: Kind) -> Reading:
                return read_cell(copied[column.name], column, kind)

            queries = [count_query("copied", counting, DUCKDB, read) for counting in countings]
            return [
                counted(run(partial(_fetched, con, statement), interrupt), len(counting.axes))
                for statement, counting in zip(queries, countings, strict=True)
            ]

    def together_query(self, countings: Sequence[Counting]) -> str:
        """The SQL that counts several things in one pass."""
        return self._lines_in_sql() + self._statement_together(countings)

    def _statement_together(self, countings: Sequence[Counting]) -> str:
        columns = tuple(dict.fromkeys(column for counting in countings for column in counting.columns))
        source, cells = self._source(columns)
        return together_query(
            source, countings, DUCKDB, lambda column, kind: read_cell(cells[column.name], column, kind)
        )

    @cached_property
    def _lines(self) -> dict[str, Lines]:
        """The lines of text files, by the name that they have in the query; files that are laid out alike together."""
        if self.format == "parquet":
            return {}
        if self.format == "jsonl":
            return {"lines": Lines(self.files, b" ", header=False)}
        alike: dict[tuple[str, ...], list[str]] = {}
        for file in self.files:
            alike.setdefault((self.delimiter_of(file), *self.names_of(file)), []).append(file)
        return {
            "lines" if len(alike) == 1 else f"lines{i}": Lines(files, _mark(key[0]), header=True)
            for i, (key, files) in enumerate(alike.items(), 1)
        }

    @contextmanager
    def _reading(self, columns: Sequence[Column]) -> Iterator[tuple[Any, Callable[[], None]]]:
        """A connection that sees the lines, and what stops a query on it."""
        stopped = threading.Event()
        with connection(texts=any(column.kind == "text" for column in columns)) as con:

            def interrupt() -> None:
                stopped.set()  # first, because a reader that waits for standard input hears nothing else
                con.interrupt()

            for name, lines in self._lines.items():
                con.register(name, replace(lines, stopped=stopped))
            try:
                yield con, interrupt
            finally:
                stopped.set()
                for name in self._lines:
                    con.unregister(name)

    def _lines_in_sql(self) -> str:
        """What a query on text files stands below: the lines, which a release splits itself, as DuckDB would."""
        parts = [
            f"{name} AS (\n  SELECT line || {DUCKDB.text(lines.mark.decode())} AS line FROM read_csv("
            f"{_file_list(lines.files)}, auto_detect=false, header=false, skip={int(lines.header)}, delim='\x1f', "
            "quote='', escape='', comment='', new_line='\\n', strict_mode=false, ignore_errors=true, "
            "null_padding=true, parallel=false, columns={'line': 'VARCHAR', 'rest': 'VARCHAR'})\n)"
            for name, lines in self._lines.items()
        ]
        return f"WITH {', '.join(parts)}\n" if parts else ""

    def _source(self, columns: Sequence[Column]) -> tuple[str, dict[str | None, str]]:
        """A FROM clause, and the expression of the cells of each column, by its name."""
        if self.format == "parquet":
            parquet = _parquet(_file_list(self.files), int96=any(column.type_name == "INT96" for column in columns))
            return parquet, {column.name: DUCKDB.identifier(column.engine_name) for column in columns}
        if self.format == "jsonl":
            valid = "(SELECT CASE WHEN json_valid(line) THEN line ELSE 'null' END AS line FROM lines)"
            cells = ", ".join(f"{_member(column.name or '')} AS cell{i}" for i, column in enumerate(columns))
            return f"(SELECT {cells} FROM {valid})", {column.name: f"cell{i}" for i, column in enumerate(columns)}
        parts = []
        for name, lines in self._lines.items():
            delimiter, names = self.delimiter_of(lines.files[0]), self.names_of(lines.files[0])
            places = [names.index(column.name or "") for column in columns]
            if max(places) > _LAST_PLACE:
                label = columns[places.index(max(places))].label
                raise InputError(f"{label} is beyond the {_LAST_PLACE}th of a CSV file. Convert it to Parquet.")
            cells = ", ".join(f"{_field(place, delimiter)} AS cell{i}" for i, place in enumerate(places))
            parts.append(f"SELECT {cells} FROM {_unmarked(name, delimiter)}")
        source = "(" + " UNION ALL ".join(parts) + ")"
        return source, {column.name: f"nullif(cell{i}, '')" for i, column in enumerate(columns)}


def _to_copy(cell: str, column: Column) -> str:
    return f"CASE WHEN {DUCKDB.is_short(cell)} THEN {cell} END" if column.type_name == "VARCHAR" else cell


def _fetched(con: Any, statement: str) -> Any:
    return con.execute(statement).fetchnumpy()


def _member(name: str) -> str:
    """The value of a key of the JSON object in a line, as text; NULL where it is no scalar."""
    pointer = DUCKDB.text("/" + name.replace("~", "~0").replace("/", "~1"))
    return f"CASE WHEN json_type(line, {pointer}) IN {_SCALARS} THEN json_extract_string(line, {pointer}) END"


def _file_list(files: Sequence[str]) -> str:
    return "[" + ", ".join(DUCKDB.text(glob.escape(file)) for file in files) + "]"


def _mark(delimiter: str) -> bytes:
    """What stands for the line end: the delimiter, so that the last cell ends like the others, if it is one byte."""
    return delimiter.encode() if delimiter.isascii() else b"\n"


def _unmarked(lines: str, delimiter: str) -> str:
    """Lines without their marks, where those end no cell; what is left of a line that was blanked is empty."""
    return lines if delimiter.isascii() else f"(SELECT trim(line, chr(10)) AS line FROM {lines})"


def _field(place: int, delimiter: str) -> str:
    """The cell at a place of a line: split where the line holds no quote, matched by the quoting rule where it does."""
    mark = "".join(rf"\x{{{ord(char):x}}}" for char in delimiter)
    quoted = '"(?:[^"]|"")*"'
    plain = rf'[^"{mark}]*'
    pattern = DUCKDB.text(rf"^(?:(?:{quoted}|{plain}){mark}){{{place}}}({quoted}|{plain})(?:{mark}|$)")
    matched = f"regexp_extract(line, {pattern}, 1)"
    unquoted = f"""CASE WHEN {matched} LIKE '"%' THEN replace({matched}[2:-2], '""', '"') ELSE {matched} END"""
    split = f"split_part(line, {DUCKDB.text(delimiter)}, {place + 1})"
    return f"CASE WHEN contains(line, '\"') THEN {unquoted} ELSE {split} END"


def _first_line(file: str) -> str:
    """The header line, decoded; the only line of a text file whose content Python looks at."""
    try:
        raw = _first_line_of_stdin() if file == STDIN else _first_bytes(file)
    except DamagedError:
        raise DataError from None  # as wherever else it is damaged
    except OSError:
        raise InputError(f"{_label(file)} cannot be read. Check that it is a text file (or gzip).") from None
    line = raw.replace(b"\r", b"\n").split(b"\n", 1)[0]
    try:
        decoded = line.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{_label(file)} has a header line that is not UTF-8. Convert or unpack it first.") from None
    if not decoded.strip() or len(line) == _LONGEST_HEADER or "\0" in decoded:
        raise InputError(f"{_label(file)} has no header line. The first line of a CSV file names its columns.")
    return decoded


def _first_bytes(file: str) -> bytes:
    head = bytearray()
    with open_bytes(file) as read_into:
        block = memoryview(bytearray(_LONGEST_HEADER))
        while len(head) < _LONGEST_HEADER and (got := read_into(block)):
            head += block[:got]
    return bytes(head[:_LONGEST_HEADER])


def _first_line_of_stdin() -> bytes:
    line = bytearray()
    while len(line) < _LONGEST_HEADER and (byte := os.read(0, 1)) not in (b"", b"\n", b"\r"):
        line += byte
    return bytes(line)


def _parquet_columns(con: Any, file: str) -> list[Column]:
    """Names and types from the footer alone."""
    import duckdb as engine

    listed = DUCKDB.text(glob.escape(file))
    try:
        described = con.execute(f"DESCRIBE SELECT * FROM {_parquet(listed)}").fetchall()
        tree = con.execute(f"SELECT name, num_children, type FROM parquet_schema({listed})").fetchall()
    except engine.Error:
        raise InputError(f"{_label(file)} is not a Parquet file, or is damaged.") from None
    return [
        declared(name, "INT96" if stored == "INT96" else row[1], row[0])
        for (name, _, stored), row in zip(_top_level(tree), described, strict=True)
    ]


def _parquet(listed: str, *, int96: bool = False) -> str:
    """A FROM clause. Datetimes of 96 bits are read as nanoseconds, infinite where those do not reach: by default they
    overflow to other datetimes."""
    datetimes = ", int96_as='timestamp_ns'" if int96 else ""
    return f"read_parquet({listed}, hive_partitioning=false{datetimes})"


def _top_level(tree: list[tuple[str, int | None, str]]) -> list[tuple[str, int | None, str]]:
    """The entries at the top of a flattened schema tree, those with repeated names included."""

    def end(start: int) -> int:
        after = start + 1
        for _ in range(tree[start][1] or 0):
            after = end(after)
        return after

    found, position = [], 1
    while position < len(tree):
        found.append(tree[position])
        position = end(position)
    return found
