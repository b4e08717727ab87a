"""DuckDB relations and connections, and any table that DuckDB counts under one name."""

from __future__ import annotations

import json
import os
import re
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from flexdp._core.faults import FaultError
from flexdp._core.text import safe_repr
from flexdp.buckets.base import Kind
from flexdp.errors import FlexdpError, InputError
from flexdp.tables.counting import Counted, Counting
from flexdp.tables.declared import Column, no_name, pick
from flexdp.tables.duckdb.dialect import DUCKDB
from flexdp.tables.duckdb.run import FOR_COPIES, attached, connection, silenced
from flexdp.tables.duckdb.types import declared, read_cell
from flexdp.tables.interrupts import run
from flexdp.tables.plans.duckdb import Function, check_macros, check_relation, functions_of
from flexdp.tables.sql.check_query import Checked, Inspected, Wanted, check_query, in_parts, inspected, joined
from flexdp.tables.sql.query import Reading, count_query, together_query
from flexdp.tables.sql.rank_query import RankQuery, ranked
from flexdp.tables.sql.results import counted, counted_together
from flexdp.tables.sql.served_table import check_name, no_table
from flexdp.tables.sql.workspace import Workspace, put_by_text
from flexdp.tables.written import WRITTEN, Written

__all__ = [
    "EXTENSIONS",
    "EngineTable",
    "is_connection",
    "names_in_file",
    "open_connection",
    "open_file",
    "open_relation",
]

EXTENSIONS = (".duckdb", ".ddb")
_LONGEST_SHOWN = 160  # characters of a path that a message repeats
_RELATION = "flexdp_relation"  # the name of the caller's relation in the query
_T = TypeVar("_T")
_NAMES = """
SELECT CASE WHEN table_schema = current_schema() THEN '' ELSE table_schema || '.' END || table_name
FROM information_schema.tables
WHERE table_catalog IN (current_database(), 'temp')
ORDER BY ALL
LIMIT 13
"""
_PANDAS = re.compile(r"\s*PANDAS_SCAN", re.IGNORECASE)
_TEXT_READER = re.compile(r"READ_(CSV|JSON|NDJSON|XLSX)", re.IGNORECASE)


@dataclass(frozen=True)
class EngineTable:
    """A table that DuckDB sees under one name. A ``single`` column has no name of its own."""

    names: tuple[str, ...]
    type_of: Callable[[str], str]
    execute: Callable[[str, Sequence[str]], dict[str, Any]]
    opened: Callable[[Sequence[str]], AbstractContextManager[Workspace]]
    table: str = "source"
    single: bool = False
    files: tuple[str, ...] = ()
    written: Written = WRITTEN

    @property
    def columns(self) -> tuple[Column, ...]:
        """The declared columns."""
        return tuple(self.column(None if self.single else name) for name in dict.fromkeys(self.names))

    def column(self, name: object) -> Column:
        """Return the declared column of that name; its type is looked up only now."""
        if self.single:
            no_name(name)
            found = declared(None, self.type_of(self.names[0]), self.names[0])
        else:
            if isinstance(name, str) and "\0" in name:  # polars would end the process, and no engine writes such a name
                raise InputError("column", ": a column's name contains the character NUL", remedy="Rename the column.")
            pick([Column(name=str(known), type_name="", kind=None) for known in self.names], name)
            found = declared(str(name), self.type_of(str(name)), str(name))
        return replace(found, written=self.written)

    def query(self, counting: Counting) -> str:
        """Return the SQL that counts, without running it."""
        return count_query(self.table, counting, DUCKDB, self._read)

    def count(self, counting: Counting) -> Counted:
        """Count the records in each bucket."""
        out = self.execute(self.query(counting), [column.engine_name for column in counting.columns])
        return counted(out, len(counting.keys))

    def together(self, countings: Sequence[Counting]) -> list[Counted]:
        """Make several counts in one pass; those by unit one after the other."""
        if any(counting.units is not None for counting in countings):
            return [self.count(counting) for counting in countings]
        columns = dict.fromkeys(column.engine_name for counting in countings for column in counting.columns)
        return counted_together(self.execute(self.together_query(countings), list(columns)), countings)

    def together_query(self, countings: Sequence[Counting]) -> str:
        """Return the SQL that makes several counts in one pass."""
        return together_query(self.table, countings, DUCKDB, self._read)

    def inspect(self, wanted: Sequence[Wanted]) -> Inspected:
        """Count how many cells are read as each kind, and why the others are not. The counts are not private."""
        parts = in_parts(wanted)
        return joined(parts, [self._inspected([wanted[place] for place in places]) for places in parts])

    def _inspected(self, wanted: Sequence[Wanted]) -> Inspected:
        checked = []
        for column, kind, explained in wanted:
            raw = DUCKDB.identifier(column.engine_name)
            is_text = column.kind == "text" and kind != "text"
            text = f"CAST({raw} AS VARCHAR)" if is_text else None
            checked.append(Checked(column, kind, raw, text, explained=explained))
        names = list(dict.fromkeys(each.column.engine_name for each in wanted))
        out = self.execute(check_query(self.table, checked, self._read), names)
        return inspected([values[0] for values in out.values()], len(wanted), {})

    def ranked(self, counting: Counting, rows: str, looked: str) -> tuple[RankQuery, str]:
        """Return the statements about the ranks of a column, and the query of the private copy that they read."""
        return ranked(self.table, counting, DUCKDB, self._read, rows, looked)

    def workspace(self, counting: Counting) -> AbstractContextManager[Workspace]:
        """Open a session that can make and read private copies."""
        return self.opened([column.engine_name for column in counting.columns])

    @staticmethod
    def _read(column: Column, kind: Kind) -> Reading:
        return read_cell(DUCKDB.identifier(column.engine_name), column, kind)


def open_relation(source: Any, *, rows_are_records: bool = False) -> EngineTable:
    """Open a DuckDB relation, counted on its own connection, on which several threads take turns."""
    con = getattr(source, "_con", None)  # not documented; without it, all relations take turns with each other
    if not is_connection(con):
        con = None
    turn = _turn_of(_Unknown if con is None else con)
    with turn:
        return _opened(source, lambda: None if con is None else con.interrupt(), turn, rows_are_records)


class _Unknown:
    """Stands for the connections of relations that do not show theirs."""


def _opened(source: Any, interrupt: Callable[[], None], turn: threading.Lock, rows_are_records: bool) -> EngineTable:
    """Open a relation; ``turn``, which the caller holds, is taken again in its thread for every statement."""
    names, types = _asked(
        lambda: (list(source.columns), [str(each) for each in source.types]),
        lambda: InputError(
            "source", "is a relation that can no longer be read", remedy="Check that its connection is open."
        ),
    )
    with ExitStack() as unseen:  # a profile of the queries that follow may show statistics of tables
        _asked(lambda: unseen.enter_context(silenced(lambda words: source.query(_RELATION, words))), _unplanned)
        _refuse_inferred(source)
        functions = functions_of(lambda words: source.query(_RELATION, words))
        check_macros(functions)
        if not rows_are_records:
            stored = str(getattr(source, "type", "")) == "TABLE_RELATION"  # not documented; without it, it is a query
            check_relation(
                lambda words: source.query(_RELATION, words),
                _RELATION,
                source.sql_query,
                functions,
                _built_in,
                stored=stored,
            )

    def work(statement: str) -> dict[str, Any]:
        with silenced(lambda words: source.query(_RELATION, words)):
            columns: dict[str, Any] = source.query(_RELATION, statement).fetchnumpy()
            return columns

    def arrays(statement: str) -> dict[str, Any]:
        with turn:
            return run(lambda: work(statement), interrupt)

    def execute(statement: str, _columns: Sequence[str]) -> dict[str, Any]:
        return arrays(statement)

    @contextmanager
    def opened(_columns: Sequence[str]) -> Iterator[Workspace]:
        mark = uuid.uuid4().hex
        rows, looked = f"flexdp_records_{mark}", f"flexdp_looked_{mark}"

        def ask(statement: str) -> Any:
            def work() -> Any:
                with silenced(lambda words: source.query(_RELATION, words)):
                    answered = source.query(_RELATION, statement)
                    return [] if answered is None else answered.fetchall()

            with turn:
                return run(work, interrupt)

        def keep(name: str, query: str) -> None:
            ask(f"CREATE TEMP TABLE {name} AS {query}")

        try:
            put = put_by_text(ask, DUCKDB, f"CREATE OR REPLACE TEMP TABLE {looked} AS")
            yield Workspace(DUCKDB, ask, keep, put, arrays, rows, looked)
        finally:
            for name in (rows, looked):
                ask(f"DROP TABLE IF EXISTS temp.{name}")

    return EngineTable(tuple(names), lambda name: types[names.index(name)], execute, opened, table=_RELATION)


def _asked(ask: Callable[[], _T], otherwise: Callable[[], InputError]) -> _T:
    """Ask the caller's connection; its own message is not repeated, except that it is busy."""
    failure: InputError
    try:
        return ask()
    except FlexdpError:
        raise
    except Exception as error:  # noqa: BLE001
        busy = type(error).__name__ == "ResourceInUseException"
        failure = _unfinished() if busy else otherwise()
    raise failure  # outside the handler, so that the error has no cause


def _unfinished() -> InputError:
    return InputError(
        "source",
        ": its DuckDB connection has a pending result with unfetched rows",
        remedy="Fetch the rest of it first, or pass a cursor of the connection, con.cursor().",
    )


@cache
def _built_in() -> frozenset[Function]:
    """Return the functions of a new connection."""
    with connection(own=True) as con:
        return frozenset(functions_of(con.execute))


def _refuse_inferred(relation: Any) -> None:
    """Refuse a relation whose types come from cells. The plan, which reads no record, names what it scans."""
    plan = _asked(
        lambda: json.loads(relation.explain(format="json")),  # without a format a notebook displays it, with row counts
        _unplanned,
    )
    operators = list(_operators(plan))
    if any(_TEXT_READER.match(name) for name in operators):
        raise InputError(
            "source",
            "is a relation over a text file: DuckDB infers column types from the data, or fails at a single cell",
            remedy="Pass the file's path itself, or a table with declared types that holds its rows.",
        )
    if any(_PANDAS.match(name) for name in operators):
        raise InputError(
            "source",
            "is a relation over a pandas frame or arrays: DuckDB infers column types from the cells, or fails at one",
            remedy="Pass the frame itself.",
        )


def _unplanned() -> InputError:
    return InputError(
        "source", "is a relation that cannot be planned", remedy="Check the files and tables that it names."
    )


def _operators(plan: Any) -> Iterator[str]:
    """Yield the names of all operators of a plan."""
    for node in plan if isinstance(plan, list) else [plan]:
        yield str(node["name"])
        yield from _operators(node["children"])


def is_connection(source: object) -> bool:
    """Tell whether an object is a DuckDB connection."""
    return any(cls.__name__ == "DuckDBPyConnection" for cls in type(source).__mro__)


def open_connection(con: Any, table: object, *, rows_are_records: bool = False) -> EngineTable:
    """Open a table or view of the caller's DuckDB connection, on which several threads take turns.

    A connection answers one statement at a time. Its cursors would not see temporary tables and open transactions.
    """
    wanted = check_name(table)
    turn = _turn_of(con)
    with turn:
        relation = _asked(lambda: con.table(wanted), lambda: no_table(wanted, _names(con)))
        return _opened(relation, con.interrupt, turn, rows_are_records)


def names_in_file(path: str) -> list[str]:
    """Return the names of the tables and views of a database file."""
    with attached(path, safe_repr(path, _LONGEST_SHOWN)) as con:
        return _names(con)


def _names(con: Any) -> list[str]:
    """Return the names of tables and views; those outside the current schema with their own."""
    with suppress(Exception):  # the engine's message is not repeated
        return [str(row[0]) for row in con.execute(_NAMES).fetchall()]
    return []


def _turn_of(con: Any) -> threading.Lock:
    with _REGISTERING:
        return _TURNS.setdefault(con, threading.Lock())


_TURNS: WeakKeyDictionary[Any, threading.Lock] = WeakKeyDictionary()
_REGISTERING = threading.Lock()


def open_file(path: str, table: object, *, rows_are_records: bool = False) -> EngineTable:
    """Open a table or view of a database file; ``table`` may name its schema, too."""
    wanted = check_name(table)
    shown = safe_repr(path, _LONGEST_SHOWN)
    # Python must not open the file: on closing it, the locks that this process holds on it would be lost.
    if not Path(path).is_file() or not os.access(path, os.R_OK):
        raise InputError("source", f": {shown} does not exist or cannot be read", remedy="Check path and permissions.")
    with attached(path, shown) as con:
        declared = _declared(open_connection(con, wanted, rows_are_records=rows_are_records))

    @contextmanager
    def counting(**settings: Any) -> Iterator[EngineTable]:
        with attached(path, shown, **settings) as con:
            found = open_connection(con, wanted, rows_are_records=rows_are_records)
            if _declared(found) != declared:
                raise FaultError("the table has changed since it was opened")
            yield found

    def execute(statement: str, columns: Sequence[str]) -> dict[str, Any]:
        with counting() as found:
            return found.execute(statement, columns)

    @contextmanager
    def opened(columns: Sequence[str]) -> Iterator[Workspace]:
        with counting(memory=FOR_COPIES) as found, found.opened(columns) as workspace:
            yield workspace

    names, types, name = declared
    return EngineTable(names, dict(zip(names, types, strict=True)).__getitem__, execute, opened, name, files=(path,))


def _declared(table: EngineTable) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    return table.names, tuple(table.type_of(name) for name in table.names), table.table
