"""Tables in files. Parquet and Arrow declare their types; CSV and JSON lines are parsed line by line.

The elements of a JSON array and the rows of an Excel sheet are parsed one by one, as JSON lines are. In a text file the
record is the physical line (:mod:`flexdp.tables.files.lines`), and privacy is promised to it: a cell that spans lines
is several records. The header line alone gives the column names and the delimiter. An unclosed quote, or a line of the
wrong length or encoding, damages its own record and no other.
"""

from __future__ import annotations

import csv
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from flexdp._core.domains import choice
from flexdp._core.files import signatures
from flexdp._core.text import is_unicode, plain_scalar, safe_repr
from flexdp.buckets.base import Kind
from flexdp.errors import DataError, InputError
from flexdp.tables.column import Column, check_unicode, pick
from flexdp.tables.counting import Counting, columns_of
from flexdp.tables.engines.duckdb.dialect import DUCKDB
from flexdp.tables.engines.duckdb.private import PrivateSource
from flexdp.tables.engines.duckdb.session import connection
from flexdp.tables.engines.duckdb.types import read_cell
from flexdp.tables.files.arrow_files import open_arrow_files
from flexdp.tables.files.encodings import WIDE, check_encoding
from flexdp.tables.files.excel import Sheet, open_sheet, read_sheet
from flexdp.tables.files.expressions import (
    Cell,
    as_text,
    csv_cells,
    file_list,
    json_cells,
    line_mark,
    lines_in_sql,
    read_typed,
    short,
)
from flexdp.tables.files.header import header_line
from flexdp.tables.files.json_arrays import ElementEnds, check_array
from flexdp.tables.files.lines import STDIN, Lines, is_read_once, keep_lines
from flexdp.tables.files.parquet import parquet_columns, read_parquet
from flexdp.tables.files.paths import FORMATS, FileFormat, find_files, format_of, shown_path
from flexdp.tables.interrupts import run
from flexdp.tables.source import Source
from flexdp.tables.sql.check_query import Checked, Inspected, Wanted, check_query, in_blocks, inspected, joined
from flexdp.tables.sql.query import ReadCell, Reading
from flexdp.tables.written import WRITTEN, Written, read_written, refuse_offsets

__all__ = ["FileSource", "open_files"]

_KEYED = ("jsonl", "json")  # formats whose keys are data
_DELIMITERS = ",;\t|"
_LAST_PLACE = 1000  # the engine's pattern matcher repeats a group no more often
_FEW_FILES = 100  # the metadata of more files would take much memory


def open_files(
    paths: Sequence[Any],
    file_format: object = None,
    delimiter: object = None,
    *,
    echo: bool = False,
    encoding: object = None,
    sheet: object = None,
    **written: object,
) -> Source:
    """Open files of one format as one table; only headers and footers are read, and sheets of Excel.

    ``echo`` allows messages to repeat the paths: a list may hold values that were meant as data. ``written`` says how
    cells of text are written (:func:`flexdp.tables.written.read_written`).
    """
    single = isinstance(delimiter, str) and len(delimiter) == 1 and delimiter not in '"\r\n' and is_unicode(delimiter)
    if delimiter is not None and not single:
        raise InputError(
            "delimiter", "must be a single character, not a quote or a line break", given=safe_repr(delimiter)
        )
    asked: Any = None if file_format is None else choice("format", file_format, FORMATS)
    decoded, cells = check_encoding(encoding), read_written(**written)
    files = find_files(paths, echo=echo)
    chosen = format_of(files, asked)
    for name, given, fitting, what in (
        ("delimiter", delimiter, ("csv",), "CSV files"),
        ("encoding", encoding, ("csv", *_KEYED), "CSV and JSON files"),
        ("sheet", sheet, ("xlsx",), "Excel files"),
    ):
        if given is not None and chosen not in fitting:
            raise InputError(name, f"applies to {what} only", remedy="Leave it out.")
    if decoded in WIDE and STDIN in files:
        raise InputError(
            "encoding",
            ": UTF-16 cannot be read from standard input",
            given=repr(decoded),
            remedy="Pass the file itself.",
        )
    if chosen in ("parquet", "arrow"):
        refuse_offsets(cells)
    if chosen == "arrow":
        return open_arrow_files(files, cells)
    table = FileSource(
        tuple(files), chosen, delimiter if isinstance(delimiter, str) else None, encoding=decoded, sheet=sheet,
        how=cells,
    )  # fmt: skip
    table._seen, table.columns  # noqa: B018  (reads the schema now, so that a bad file is refused before anything else)
    return table


@dataclass(frozen=True)
class FileSource(PrivateSource):
    """One or more files of one format."""

    files: tuple[str, ...]
    format: FileFormat
    delimiter: str | None = None
    encoding: str | None = None
    sheet: object = None
    how: Written = WRITTEN

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The declared columns that all files share; JSON declares none."""
        if self.format == "json":
            for file in self.files:
                if file != STDIN:
                    check_array(file, self.encoding)
        if self.keyed:
            return ()
        others = [{column.name for column in self._declared[file]} for file in self.files[1:]]
        return tuple(c for c in self._declared[self.files[0]] if all(c.name in names for names in others))

    @cached_property
    def _seen(self) -> tuple[tuple[int, ...], ...]:
        """What the files were when the table was opened; if they are others when they are read, nothing is released."""
        return signatures(self.files)

    @cached_property
    def _headers(self) -> dict[str, str]:
        return {file: header_line(file, self.encoding) for file in self.files}

    @cached_property
    def _sheets(self) -> dict[str, Sheet]:
        return {file: open_sheet(file, self.sheet) for file in self.files}

    def delimiter_of(self, file: str) -> str:
        """Return the delimiter: the one given, or the likeliest one of the header line, which is public."""
        line = self._headers[file]
        return self.delimiter or max(_DELIMITERS, key=lambda mark: (line.count(mark), -_DELIMITERS.index(mark)))

    def names_of(self, file: str) -> list[str]:
        """Return the column names in the header of a CSV file or a sheet."""
        if self.format == "xlsx":
            return list(self._sheets[file].names)
        try:
            row = next(csv.reader([self._headers[file]], delimiter=self.delimiter_of(file)))
        except csv.Error:
            raise InputError(
                "source", f": the header line of {shown_path(file)} is not valid CSV", remedy="Correct that line."
            ) from None
        return [name.strip() for name in row]

    @cached_property
    def _declared(self) -> dict[str, list[Column]]:
        """The declared columns of each file; each schema is read once."""
        if self.format == "parquet":
            with connection() as con:
                found = {file: parquet_columns(con, file) for file in self.files}
            return {file: [replace(column, written=self.how) for column in columns] for file, columns in found.items()}
        return {file: [self._undeclared(name) for name in self.names_of(file)] for file in self.files}

    def _undeclared(self, name: str) -> Column:
        return Column(
            name=name, type_name="undeclared", kind=None, undeclared=True, default="text", written=self.how,
            filled=not self.keyed,
        )  # fmt: skip

    @property
    def keyed(self) -> bool:
        """True if the names of columns are keys of the records, which nothing declares."""
        return self.format in _KEYED

    def column(self, name: object) -> Column:
        """Return the declared column of that name; any name in JSON, whose keys are data."""
        name = plain_scalar(name)
        if self.keyed and isinstance(name, str):
            check_unicode(name)
            return self._undeclared(name)
        others = self._sheets[self.files[0]].others if self.format == "xlsx" else ()
        found = pick(self._declared[self.files[0]], name, elsewhere=others)
        if found.name not in {column.name for column in self.columns}:
            raise InputError(
                "column", f": {safe_repr(name)} is missing from some of the files", remedy="Leave those files out."
            )
        for file in self.files[1:]:
            if pick(self._declared[file], found.name) != found:
                raise InputError("column", f": {safe_repr(name)} has different types in different files")
        return found

    @property
    def is_text(self) -> bool:
        """True if records are lines of text, or elements of one."""
        return self.format in ("csv", "jsonl", "json")

    def has_long_texts(self, countings: Sequence[Counting]) -> bool:
        return any(column.kind == "text" for column in columns_of(countings))

    def written(self, how: Written) -> FileSource:
        return replace(self, how=how)

    def query(self, countings: Sequence[Counting]) -> str:
        """Return the SQL that counts, without running it. Run by DuckDB itself, DuckDB decides where lines end."""
        return lines_in_sql(self._lines, self.format) + super().query(countings)

    def reading(self, countings: Sequence[Counting]) -> tuple[str, ReadCell]:
        columns = columns_of(countings)
        if self._is_copied(countings):
            copied = {column.name: cell for column, cell, _ in self._copied_cells(columns)}
            return "copied", self._reader(copied)
        return self._from(columns), self._reader(self._cells(columns))

    @contextmanager
    def registered(self, con: Any, countings: Sequence[Counting]) -> Iterator[Callable[[], None]]:
        with self._registered(con) as interrupt:
            if self._is_copied(countings):
                columns = columns_of(countings)
                listed = ", ".join(written for *_, written in self._copied_cells(columns))
                words = f"CREATE TEMP TABLE copied AS SELECT {listed} FROM {self._from(columns)}"
                run(lambda: con.execute(words), interrupt)
            yield interrupt

    def _is_copied(self, countings: Sequence[Counting]) -> bool:
        """Tell whether cells are copied first, for several statements that would each split all lines again."""
        return len(countings) > 1 and any(counting.units is not None for counting in countings)

    def _copied_cells(self, columns: Sequence[Column]) -> Iterator[tuple[Column, Cell, str]]:
        """Yield each column with its cell in the copy, and with what is written to select it."""
        cells = self._cells(columns)
        for i, column in enumerate(columns):
            cell = cells[column.name]
            listed = f"{short(cell.text, column)} AS x{i}"
            typed = f", {cell.typed} AS y{i}" if cell.typed else ""
            yield column, Cell(f"x{i}", cell.typed and f"y{i}"), listed + typed

    def inspect(self, wanted: Sequence[Wanted]) -> Inspected:
        """Count how many cells are read as each kind, and why the others are not. The counts are not private."""
        blocks, tally, found = in_blocks(wanted), Counter[str](), list[Inspected]()
        texts = any(each.column.kind == "text" for each in wanted)
        with connection(texts=texts) as con, self._registered(con, tally) as interrupt:
            if len(blocks) > 1 and (self.format == "xlsx" or any(is_read_once(file) for file in self.files)):
                for name in self._lines:
                    run(partial(keep_lines, con, name), interrupt)
            for block in blocks:
                some = [wanted[place].column for part in block for place in part]
                columns = tuple({column.name: column for column in some}.values())
                source = self._from(columns, checked=True)
                if len(block) > 1 and self.format != "parquet":
                    words = f"CREATE OR REPLACE TEMP TABLE copied AS SELECT * FROM {source}"
                    run(partial(con.execute, words), interrupt)
                    source = "copied"
                for part in block:
                    checked = self._checked([wanted[place] for place in part], columns)
                    statement = check_query(source, checked, self._reader(self._cells(columns)))
                    (row,) = run(partial(_rows, con, statement), interrupt)
                    found.append(inspected(row, len(part), {} if found else tally))
        return joined([part for block in blocks for part in block], found)

    def _checked(self, wanted: Sequence[Wanted], columns: Sequence[Column]) -> list[Checked]:
        cells = self._cells(columns)
        lost = {} if self.format in ("parquet", "xlsx") else {c.name: f"lost{i}" for i, c in enumerate(columns)}
        return [
            Checked(column, kind, cell.text, as_text(cell, column, kind), lost.get(column.name, ""), explained)
            for column, kind, explained in wanted
            for cell in [cells[column.name]]
        ]

    @cached_property
    def _lines(self) -> dict[str, Lines]:
        """The lines of text files by their name in the query; files with the same header share one."""
        if self.format == "parquet":
            return {}
        if self.format == "jsonl":
            return {"lines": Lines(self.files, b" ", header=False, encoding=self.encoding)}
        if self.format == "json":
            return {"lines": Lines(self.files, b" ", header=False, encoding=self.encoding, ends=ElementEnds)}
        if self.format == "xlsx":
            opened = {file: partial(read_sheet, sheet) for file, sheet in self._sheets.items()}
            return {"lines": Lines(self.files, b" ", header=False, opened=lambda file, stopped: opened[file](stopped))}
        alike: dict[tuple[str, ...], list[str]] = {}
        for file in self.files:
            alike.setdefault((self.delimiter_of(file), *self.names_of(file)), []).append(file)
        parts = [Lines(files, line_mark(key[0]), header=True, encoding=self.encoding) for key, files in alike.items()]
        return {"lines" if len(parts) == 1 else f"lines{i}": part for i, part in enumerate(parts, 1)}

    @contextmanager
    def _registered(self, con: Any, tally: Counter[str] | None = None) -> Iterator[Callable[[], None]]:
        """Let a connection see the lines; yield the function that stops a statement on it."""
        stopped = threading.Event()
        if self.format == "parquet" and len(self.files) <= _FEW_FILES:
            con.execute("SET parquet_metadata_cache = true")  # each statement would read it again

        def interrupt() -> None:
            stopped.set()  # first: a reader that waits for standard input notices nothing else
            con.interrupt()

        for name, lines in self._lines.items():
            con.register(name, replace(lines, stopped=stopped, tally=tally))
        try:
            self._check_unchanged()
            yield interrupt
            self._check_unchanged()
        finally:
            stopped.set()
            for name in self._lines:
                con.unregister(name)

    def _check_unchanged(self) -> None:
        """Fail if a file was emptied, cut off, replaced or continued since the table was opened."""
        if self._seen != signatures(self.files):
            raise DataError

    def _reader(self, cells: Mapping[str | None, Cell]) -> ReadCell:
        def read(column: Column, kind: Kind) -> Reading:
            cell = cells[column.name]
            if cell.typed is None:
                return read_cell(cell.text, column, kind)
            return read_typed(cell.text, cell.typed, column, kind)

        return read

    @property
    def _is_typed(self) -> bool:
        """True if numbers and dates must be told from texts, because only texts are written in the declared way."""
        return self.format == "xlsx" or (self.format in _KEYED and self.how != WRITTEN)

    def _cells(self, columns: Sequence[Column]) -> dict[str | None, Cell]:
        """Return the expressions of each column's cells, by the column's name."""
        if self.format == "parquet":
            return {column.name: Cell(DUCKDB.identifier(column.engine_name)) for column in columns}
        if self._is_typed:
            return {column.name: Cell(f"cell{i}", f"typed{i}") for i, column in enumerate(columns)}
        if self.format in _KEYED:
            return {column.name: Cell(f"cell{i}") for i, column in enumerate(columns)}
        return {column.name: Cell(f"nullif(cell{i}, '')") for i, column in enumerate(columns)}

    def _from(self, columns: Sequence[Column], *, checked: bool = False) -> str:
        """Return a FROM clause; where it is ``checked``, one row for each record, with the reasons for lost cells."""
        if self.format == "parquet":
            return read_parquet(file_list(self.files), int96=any(column.type_name == "INT96" for column in columns))
        if self.format != "csv":
            names, is_sheet = [column.name or "" for column in columns], self.format == "xlsx"
            return json_cells(names, typed=self._is_typed, dated=is_sheet, checked=checked, damaged=not is_sheet)
        parts = []
        for name, lines in self._lines.items():
            delimiter, names = self.delimiter_of(lines.files[0]), self.names_of(lines.files[0])
            places = [names.index(column.name or "") for column in columns]
            if max(places) > _LAST_PLACE:
                far = safe_repr(columns[places.index(max(places))].name)
                raise InputError(
                    "column",
                    f": {far} lies beyond the first {_LAST_PLACE + 1} columns of a CSV file",
                    remedy="Convert the file to Parquet.",
                )
            parts.append(csv_cells(name, places, delimiter, checked=checked))
        return "(" + " UNION ALL ".join(parts) + ")"


def _rows(con: Any, statement: str) -> Any:
    return con.execute(statement).fetchall()
