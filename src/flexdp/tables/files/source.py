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
from flexdp.tables.counting import Counted, Counting, columns_of
from flexdp.tables.declared import Column, check_unicode, pick
from flexdp.tables.duckdb.dialect import DUCKDB
from flexdp.tables.duckdb.run import FOR_COPIES, connection, workspace_on
from flexdp.tables.duckdb.source import EngineTable
from flexdp.tables.duckdb.types import read_cell
from flexdp.tables.files.arrow_files import open_arrow_files
from flexdp.tables.files.cells import Cell, as_text, read_typed, short
from flexdp.tables.files.encodings import WIDE, check_encoding
from flexdp.tables.files.excel import Sheet, open_sheet, read_sheet
from flexdp.tables.files.expressions import csv_cells, file_list, json_cells, line_mark, lines_in_sql
from flexdp.tables.files.header import header_line
from flexdp.tables.files.json_arrays import ElementEnds, check_array
from flexdp.tables.files.lines import STDIN, Lines, is_read_once, keep_lines
from flexdp.tables.files.parquet import parquet_columns, read_parquet
from flexdp.tables.files.paths import FORMATS, FileFormat, find_files, format_of, shown_path
from flexdp.tables.interrupts import run
from flexdp.tables.sql.check_query import Checked, Inspected, Wanted, check_query, in_blocks, inspected, joined
from flexdp.tables.sql.passes import counted_in_passes, pass_queries
from flexdp.tables.sql.query import ReadCell, Reading, count_query
from flexdp.tables.sql.rank_query import RankQuery, ranked
from flexdp.tables.sql.results import counted
from flexdp.tables.sql.workspace import Workspace
from flexdp.tables.written import WRITTEN, Written, read_written, refuse_offsets

__all__ = ["FileTable", "open_files"]

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
) -> FileTable | EngineTable:
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
    table = FileTable(
        tuple(files), chosen, delimiter if isinstance(delimiter, str) else None, encoding=decoded, sheet=sheet,
        written=cells,
    )  # fmt: skip
    table._seen, table.columns  # noqa: B018  (reads the schema now, so that a bad file is refused before anything else)
    return table


@dataclass(frozen=True)
class FileTable:
    """One or more files of one format."""

    files: tuple[str, ...]
    format: FileFormat
    delimiter: str | None = None
    encoding: str | None = None
    sheet: object = None
    written: Written = WRITTEN

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
            return {
                file: [replace(column, written=self.written) for column in columns] for file, columns in found.items()
            }
        return {file: [self._undeclared(name) for name in self.names_of(file)] for file in self.files}

    def _undeclared(self, name: str) -> Column:
        return Column(
            name=name, type_name="undeclared", kind=None, undeclared=True, default="text", written=self.written,
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

    def query(self, counting: Counting) -> str:
        """Return the SQL that counts, without running it. Run by DuckDB itself, DuckDB decides where lines end."""
        return lines_in_sql(self._lines, self.format) + self._statement(counting)

    def _statement(self, counting: Counting) -> str:
        source, read = self._source(counting.columns)
        return count_query(source, counting, DUCKDB, read)

    def count(self, counting: Counting) -> Counted:
        """Count the records in each bucket."""
        statement = self._statement(counting)
        with self._reading(counting.columns) as (con, interrupt):
            return counted(run(partial(_fetched, con, statement), interrupt), len(counting.keys))

    def ranked(self, counting: Counting, rows: str, looked: str) -> tuple[RankQuery, str]:
        """Return the statements about the ranks of a column, and the query of the private copy that they read."""
        source, read = self._source(counting.columns)
        return ranked(source, counting, DUCKDB, read, rows, looked)

    @contextmanager
    def workspace(self, counting: Counting) -> Iterator[Workspace]:
        """Open a session that can make and read private copies."""
        with self._reading(counting.columns, memory=FOR_COPIES) as (con, interrupt):
            yield workspace_on(con, interrupt)

    @property
    def reads_ahead(self) -> bool:
        """True if the next column may be read while one is used."""
        return self.format == "parquet"

    def together(self, countings: Sequence[Counting]) -> list[Counted]:
        """Run several counts in as few passes as it takes; with units, over a copy that only this user can read."""
        columns = columns_of(countings)
        source, read = self._source(columns)
        with self._reading(columns) as (con, interrupt):
            if all(counting.units is None for counting in countings):
                statements = pass_queries(source, countings, DUCKDB, read, flags_apart=self.reads_ahead)
                results = [run(partial(_fetched, con, statement), interrupt) for statement in statements]
                return counted_in_passes(results, countings, flags_apart=self.reads_ahead)
            cells, copied, listed = self._cells(columns), {}, []
            for i, column in enumerate(columns):
                cell = cells[column.name]
                copied[column.name] = Cell(f"x{i}", cell.typed and f"y{i}")
                listed += [f"{short(cell.text, column)} AS x{i}", *([f"{cell.typed} AS y{i}"] if cell.typed else [])]
            run(lambda: con.execute(f"CREATE TEMP TABLE copied AS SELECT {', '.join(listed)} FROM {source}"), interrupt)
            queries = [count_query("copied", counting, DUCKDB, self._reader(copied)) for counting in countings]
            return [
                counted(run(partial(_fetched, con, statement), interrupt), len(counting.keys))
                for statement, counting in zip(queries, countings, strict=True)
            ]

    def together_query(self, countings: Sequence[Counting]) -> str:
        """Return the SQL that runs several counts."""
        source, read = self._source(columns_of(countings))
        statements = pass_queries(source, countings, DUCKDB, read, flags_apart=self.reads_ahead)
        return lines_in_sql(self._lines, self.format) + ";\n\n".join(statements)

    def inspect(self, wanted: Sequence[Wanted]) -> Inspected:
        """Count how many cells are read as each kind, and why the others are not. The counts are not private."""
        blocks, tally, found = in_blocks(wanted), Counter[str](), list[Inspected]()
        with self._reading([each.column for each in wanted], tally=tally) as (con, interrupt):
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
    def _reading(
        self, columns: Sequence[Column], tally: Counter[str] | None = None, memory: str | None = None
    ) -> Iterator[tuple[Any, Callable[[], None]]]:
        """Open a connection that sees the lines, with the function that stops a query on it."""
        stopped = threading.Event()
        with connection(texts=any(column.kind == "text" for column in columns), memory=memory) as con:
            if self.format == "parquet" and len(self.files) <= _FEW_FILES:
                con.execute("SET parquet_metadata_cache = true")  # each statement would read it again

            def interrupt() -> None:
                stopped.set()  # first: a reader that waits for standard input notices nothing else
                con.interrupt()

            for name, lines in self._lines.items():
                con.register(name, replace(lines, stopped=stopped, tally=tally))
            try:
                self._check_unchanged()
                yield con, interrupt
                self._check_unchanged()
            finally:
                stopped.set()
                for name in self._lines:
                    con.unregister(name)

    def _check_unchanged(self) -> None:
        """Fail if a file was emptied, cut off, replaced or continued since the table was opened."""
        if self._seen != signatures(self.files):
            raise DataError

    def _source(self, columns: Sequence[Column]) -> tuple[str, ReadCell]:
        """Return a FROM clause, and the function that writes how a cell of it is read."""
        return self._from(columns), self._reader(self._cells(columns))

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
        return self.format == "xlsx" or (self.format in _KEYED and self.written != WRITTEN)

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


def _fetched(con: Any, statement: str) -> Any:
    return con.execute(statement).fetchnumpy()
