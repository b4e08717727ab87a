"""DuckDB: tables of its files and connections, and relations."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from functools import cache
from typing import Any, ClassVar, TypeVar

from flexdp.buckets.base import Kind
from flexdp.errors import FlexdpError, InputError
from flexdp.tables.column import Column
from flexdp.tables.engine import Described, Engine, no_table, readable_file
from flexdp.tables.engines.duckdb.dialect import DUCKDB, declared, read_cell
from flexdp.tables.engines.duckdb.rows import Function, check_macros, check_relation, functions_of
from flexdp.tables.engines.duckdb.session import (
    RELATION,
    DuckdbSession,
    connection,
    is_connection,
    opened,
    silenced,
)  # fmt: skip
from flexdp.tables.sql.query import Reading

__all__ = ["Duckdb"]

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


class Duckdb(Engine):
    """DuckDB: files, connections, and relations, on which threads take turns."""

    name = "duckdb"
    dialect = DUCKDB
    reads_texts = True
    extensions = (".duckdb", ".ddb")
    module = "duckdb"
    types: ClassVar[Mapping[str, str]] = {
        "integer": "BIGINT",
        "number": "DOUBLE",
        "text": "VARCHAR",
        "wide": "HUGEINT",
        "datetime": "TIMESTAMP",
    }

    def recognises(self, place: object) -> bool:
        return is_connection(place)

    def lone(self, source: object) -> str:
        classes = type(source).__mro__
        modules = {c.__module__.split(".")[0] for c in classes if c.__name__ == "DuckDBPyRelation"}
        return RELATION if modules & {"duckdb", "_duckdb"} else ""

    def opened(self, place: Any, *, copies: bool = False) -> AbstractContextManager[DuckdbSession]:
        return opened(place, copies=copies)

    def describe(self, session: DuckdbSession, table: str) -> Described:
        def described() -> tuple[list[str], list[str], str]:
            kind = str(getattr(session.relation, "type", ""))  # not documented; without it, it is a query
            return list(session.relation.columns), list(map(str, session.relation.types)), kind

        with session.turn:
            if table != RELATION:
                _asked(lambda: session.choose(table), lambda: no_table(table, self.names(session)))
            names, types, kind = _asked(
                described,
                lambda: InputError(
                    "source", "is a relation that can no longer be read", remedy="Check that its connection is open."
                ),
            )
        columns = tuple(declared(name, type_name, name) for name, type_name in zip(names, types, strict=True))
        return Described(RELATION, columns, stored=kind == "TABLE_RELATION")

    def read_cell(self, cell: str, column: Column, kind: Kind) -> Reading:
        return read_cell(cell, column, kind)

    def admit(self, session: DuckdbSession, found: Described, *, vouched: bool) -> None:
        with session.turn, ExitStack() as unseen:  # a profile of these queries may show statistics of tables
            _asked(lambda: unseen.enter_context(silenced(session.query)), _unplanned)
            _refuse_inferred(session.relation)
            functions = functions_of(session.query)
            check_macros(functions)
            if not vouched:
                text = session.relation.sql_query
                check_relation(session.query, RELATION, text, functions, _built_in, stored=found.stored)

    def unread(self, session: DuckdbSession, found: Described) -> frozenset[str]:  # noqa: ARG002
        return frozenset()  # there are no privileges

    def files(self, place: str) -> tuple[str, ...]:
        return readable_file(place)

    def names(self, session: DuckdbSession) -> Sequence[str]:
        """Return the names of tables and views; those outside the current schema with their own."""
        with suppress(Exception):  # the engine's message is not repeated
            return [str(row[0]) for row in session.con.execute(_NAMES).fetchall()]
        return []


def _asked(ask: Callable[[], _T], otherwise: Callable[[], InputError]) -> _T:
    """Ask the caller's connection; its own message is not repeated, except that it is busy."""
    busy = False
    try:
        return ask()
    except FlexdpError:
        raise
    except Exception as error:  # noqa: BLE001
        busy = type(error).__name__ == "ResourceInUseException"
    raise _unfinished() if busy else otherwise()  # outside the handler, so that the error has no cause


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
