"""Tables in files: what the formats share, and those whose records are lines of text, or elements of one.

In a text file the record is the physical line (:mod:`flexdp.tables.files.lines`), and privacy is promised to it: a cell
that spans lines is several records. An unclosed quote, or a line of the wrong length or encoding, damages its own
record and no other. The elements of a JSON array and the rows of an Excel sheet are parsed one by one, as JSON lines.
"""

from __future__ import annotations

import glob
import threading
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from flexdp._core.files import signatures
from flexdp._core.text import safe_repr
from flexdp.buckets.base import Kind
from flexdp.errors import DataError, InputError, P
from flexdp.tables.column import Column, pick
from flexdp.tables.counting import Counting, columns_of
from flexdp.tables.engines.duckdb.dialect import DUCKDB, read_cell
from flexdp.tables.engines.duckdb.session import PrivateSession, PrivateSource, connection
from flexdp.tables.files.bytes import STDIN, is_gzip
from flexdp.tables.files.lines import Lines
from flexdp.tables.interrupts import run
from flexdp.tables.sql.check_query import Checked, Inspected, Wanted, check_query, in_blocks, inspected, joined
from flexdp.tables.sql.query import ReadCell, Reading
from flexdp.tables.written import WRITTEN, Written

__all__ = ["FileSource", "LineSource", "file_list"]


@dataclass(frozen=True)
class FileSource(PrivateSource):
    """One or more files of one format, read as one table."""

    files: tuple[str, ...]
    how: Written = field(default=WRITTEN, kw_only=True)

    @property
    @abstractmethod
    def declared(self) -> Mapping[str, Sequence[Column]]:
        """The declared columns of each file."""

    @abstractmethod
    def rows(self, columns: Sequence[Column]) -> str:
        """Return a FROM clause with the cells of these columns."""

    @abstractmethod
    def cell(self, place: int, column: Column) -> str:
        """Return the expression of a cell in it, in the column of that place."""

    @cached_property
    def seen(self) -> tuple[tuple[int, ...], ...]:
        """What the files were when the table was opened; if they are others when they are read, nothing is released."""
        return signatures(self.files)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The declared columns that all files share."""
        others = [{column.name for column in self.declared[file]} for file in self.files[1:]]
        return tuple(c for c in self.declared[self.files[0]] if all(c.name in names for names in others))

    @property
    def elsewhere(self) -> tuple[str | P, ...]:
        """Advice where else to look for a column."""
        return ()

    def column(self, name: object) -> Column:
        found = pick(self.declared[self.files[0]], name, elsewhere=self.elsewhere)
        if found.name not in {column.name for column in self.columns}:
            raise InputError(
                "column", f": {safe_repr(name)} is missing from some of the files", remedy="Leave those files out."
            )
        for file in self.files[1:]:
            if pick(self.declared[file], found.name) != found:
                raise InputError("column", f": {safe_repr(name)} has different types in different files")
        return found

    def written(self, how: Written) -> FileSource:
        return replace(self, how=how)

    def reading(self, countings: Sequence[Counting]) -> tuple[str, ReadCell]:
        columns = columns_of(countings)
        return self.rows(columns), self.reader(columns)

    def reader(self, columns: Sequence[Column]) -> ReadCell:
        """Return what writes how a cell of these columns is read."""
        places = {column.name: place for place, column in enumerate(columns)}
        return lambda column, kind: self.read(places[column.name], column, kind)

    def read(self, place: int, column: Column, kind: Kind) -> Reading:
        """Read the cell of the column in that place."""
        return read_cell(self.cell(place, column), column, kind)

    @contextmanager
    def registered(self, con: Any, countings: Sequence[Counting]) -> Iterator[Callable[[], None]]:  # noqa: ARG002
        with self.opened(con) as interrupt:
            yield interrupt

    @contextmanager
    def opened(self, con: Any) -> Iterator[Callable[[], None]]:
        """Let a connection read the files, unless they have changed; yield the function that stops a statement."""
        self._check_unchanged()
        yield con.interrupt
        self._check_unchanged()

    def _check_unchanged(self) -> None:
        """Fail if a file was emptied, cut off, replaced or continued since the table was opened."""
        if self.seen != signatures(self.files):
            raise DataError


@dataclass(frozen=True)
class LineSource(FileSource):
    """Files whose records are registered as lines, and whose cells declare no types."""

    encoding: str | None = None

    @property
    def reads_twice(self) -> bool:
        return False

    @property
    @abstractmethod
    def lines(self) -> Mapping[str, Lines]:
        """The lines by their name in the query."""

    @abstractmethod
    def names_of(self, file: str) -> Sequence[str]:
        """Return the column names that a file declares."""

    @abstractmethod
    def rows(self, columns: Sequence[Column], *, checked: bool = False) -> str:
        """Return a FROM clause; where it is ``checked``, one row for each record, with the reasons for lost cells."""

    def text(self, place: int, column: Column) -> str:
        """Return the expression of a cell as text, whatever it is."""
        return self.cell(place, column)

    @cached_property
    def declared(self) -> dict[str, list[Column]]:
        return {file: [self.undeclared(name) for name in self.names_of(file)] for file in self.files}

    def undeclared(self, name: str) -> Column:
        """Return the column of that name."""
        return Column(
            name=name, type_name="undeclared", kind=None, undeclared=True, default="text", written=self.how,
            filled=not self.keyed,
        )  # fmt: skip

    @property
    def is_text(self) -> bool:
        return True

    @property
    def read_once(self) -> bool:
        """True if a file can be read only once, or is slow to read again."""
        return any(file == STDIN or is_gzip(file) for file in self.files)

    def query(self, countings: Sequence[Counting]) -> str:
        """Return the SQL that counts, without running it. Run by DuckDB itself, DuckDB decides where lines end."""
        parts = [f"{name} AS (\n  {self.lines_in_sql(lines)}\n)" for name, lines in self.lines.items()]
        return f"WITH {', '.join(parts)}\n{super().query(countings)}"

    def lines_in_sql(self, lines: Lines) -> str:
        """Return the query of lines as DuckDB would split them, which is only shown: a release splits them itself."""
        return (
            f"SELECT line || {DUCKDB.text(lines.mark.decode())} AS line FROM read_csv("
            f"{file_list(lines.files)}, auto_detect=false, header=false, skip={int(lines.header)}, delim='\x1f', "
            "quote='', escape='', comment='', new_line='\\n', strict_mode=false, ignore_errors=true, "
            "null_padding=true, parallel=false, columns={'line': 'VARCHAR', 'rest': 'VARCHAR'})"
        )

    def reading(self, countings: Sequence[Counting]) -> tuple[str, ReadCell]:
        source, read = super().reading(countings)
        return "copied" if _are_copied(countings) else source, read

    @contextmanager
    def registered(self, con: Any, countings: Sequence[Counting]) -> Iterator[Callable[[], None]]:
        with self.opened(con) as interrupt:
            if _are_copied(countings):
                words = f"CREATE TEMP TABLE copied AS SELECT * FROM {self.rows(columns_of(countings))}"
                run(lambda: con.execute(words), interrupt)
            yield interrupt

    @contextmanager
    def opened(self, con: Any, tally: Counter[str] | None = None) -> Iterator[Callable[[], None]]:
        stopped = threading.Event()

        def interrupt() -> None:
            stopped.set()  # first: a reader that waits for standard input notices nothing else
            con.interrupt()

        for name, lines in self.lines.items():
            con.register(name, replace(lines, stopped=stopped, tally=tally))
        try:
            with super().opened(con):
                yield interrupt
        finally:
            stopped.set()
            for name in self.lines:
                con.unregister(name)

    def inspect(self, wanted: Sequence[Wanted]) -> Inspected:
        blocks, tally, found = in_blocks(wanted), Counter[str](), list[Inspected]()
        with connection() as con, self.opened(con, tally) as interrupt:
            session = PrivateSession(con, interrupt)
            for name in self.lines if len(blocks) > 1 and self.read_once else ():
                session.keep(f"kept_{name}", f"SELECT line FROM {name}")
                con.unregister(name)
                con.execute(f"CREATE TEMP VIEW {name} AS SELECT line FROM kept_{name}")
            for block in blocks:
                some = [wanted[place].column for part in block for place in part]
                columns = tuple({column.name: column for column in some}.values())
                source = self.rows(columns, checked=True)
                if len(block) > 1:
                    session.ask(f"CREATE OR REPLACE TEMP TABLE copied AS SELECT * FROM {source}")
                    source = "copied"
                for part in block:
                    checked = self._checked([wanted[place] for place in part], columns)
                    (row,) = session.ask(check_query(source, checked, self.reader(columns)))
                    found.append(inspected(row, len(part), {} if found else tally))
        return joined([part for block in blocks for part in block], found)

    def _checked(self, wanted: Sequence[Wanted], columns: Sequence[Column]) -> list[Checked]:
        places = {column.name: place for place, column in enumerate(columns)}
        return [
            Checked(column, kind, self.cell(place, column), self.text(place, column), self.damage(place), explained)
            for column, kind, explained in wanted
            for place in [places[column.name]]
        ]

    def damage(self, place: int) -> str:
        """Return the expression of the reason why the cell in that place is lost."""
        return f"lost{place}"


def _are_copied(countings: Sequence[Counting]) -> bool:
    """Tell whether cells are copied first, for several statements that would each split all lines again."""
    return len(countings) > 1 and any(counting.units is not None for counting in countings)


def file_list(files: Sequence[str]) -> str:
    """Return the files as a list literal in which no name is a pattern."""
    return "[" + ", ".join(DUCKDB.text(glob.escape(file)) for file in files) + "]"
