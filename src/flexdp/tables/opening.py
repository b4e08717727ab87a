"""Opening a source: recognise it by what it is, read what it declares, touch no record."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from flexdp._core.domains import elements, path_text
from flexdp._core.text import safe_repr
from flexdp.errors import InputError
from flexdp.tables.counting import Table
from flexdp.tables.dbapi.source import check_engine, open_dbapi
from flexdp.tables.declared import Column, no_column
from flexdp.tables.duckdb.source import is_connection as is_duckdb
from flexdp.tables.duckdb.source import open_connection, open_relation
from flexdp.tables.files.source import open_files
from flexdp.tables.frames.pandas import open_pandas, open_pandas_series
from flexdp.tables.frames.polars import open_polars
from flexdp.tables.frames.pyarrow import open_pyarrow
from flexdp.tables.memory.cells import CellTable
from flexdp.tables.memory.table import open_array
from flexdp.tables.postgres.run import is_connection as is_psycopg
from flexdp.tables.postgres.source import is_address, open_postgres
from flexdp.tables.spark.source import is_frame, open_spark
from flexdp.tables.sqlite.run import is_connection as is_sqlite
from flexdp.tables.sqlite.source import ENDINGS, open_sqlite

__all__ = ["is_database", "open_table"]


def open_table(
    source: Any,
    column: object = None,
    *,
    file_format: object = None,
    delimiter: object = None,
    engine: object = None,
) -> Table:
    """Recognise a source by what it is, read what it declares, and touch no record."""
    listed = elements(source) if isinstance(source, Sequence) else None
    pair = listed if isinstance(source, tuple) and listed is not None and len(listed) == 2 else None
    if pair is not None and (served := _open_pair(pair[0], pair[1], engine)) is not None:
        _refuse_file_options(file_format, delimiter)
        return served
    if is_frame(source):
        _refuse_file_options(file_format, delimiter)
        _refuse_engine(engine, "a Spark DataFrame")
        return open_spark(source)
    _refuse_engine(engine, "a file, a frame or an array")
    if isinstance(source, str | os.PathLike):
        path = path_text("source", source)
        _refuse_lone_database(path)
        return open_files([path], file_format, delimiter, echo=True)
    if listed is not None and column is not None and _all_paths(listed):
        return open_files(listed, file_format, delimiter, echo=all(isinstance(path, os.PathLike) for path in listed))
    _refuse_file_options(file_format, delimiter)
    library = _library_of(source)
    if library == "pandas" and hasattr(source, "iloc"):
        if hasattr(source, "columns"):
            return open_pandas(source)
        no_column(column, "a series")
        return open_pandas_series(source)
    if library == "polars" and any(hasattr(source, name) for name in ("get_column", "to_frame", "collect")):
        return open_polars(source, column)
    if library == "pyarrow":
        return open_pyarrow(source, column)
    if library == "duckdb":
        return open_relation(source)
    if isinstance(source, np.ndarray):
        table = open_array(source)
        no_column(column, "an array")
        return table
    if listed is not None and isinstance(source, list | tuple):
        no_column(column, "a list of values")
        return CellTable(lambda: listed, Column(name=None, type_name="list", kind=None, undeclared=True))
    raise InputError(
        f"source must be a path, a list, a numpy array, a pandas, polars or pyarrow table, a DuckDB "
        f"relation, a Spark DataFrame or a pair (connection, 'table'); got {safe_repr(source)}."
    )


def _open_pair(place: Any, table: Any, engine: object) -> Table | None:
    """A table of a database, if the pair names one: a connection or an address, and the table in it."""
    if isinstance(place, str | os.PathLike):
        address = path_text("source", place)
        if is_address(address):
            _refuse_engine(engine, "an address")
            return open_postgres(address, table)
        if str(address).lower().endswith(ENDINGS):
            _refuse_engine(engine, "a file")
            return open_sqlite(address, table)
        return None
    if not (hasattr(place, "cursor") and hasattr(place, "close")):
        return None
    own = next((name for name, fits in _NATIVE.items() if fits(place)), None)
    chosen = own if engine is None else check_engine(engine)
    if chosen is None:
        raise InputError(
            f"engine is missing: {safe_repr(place)} does not tell what it is connected to. "
            "Say engine='postgres', 'sqlite' or 'duckdb'."
        )
    if own is not None and chosen != own:
        raise InputError(f"engine={chosen!r} does not fit a connection of {own}; leave it out.")
    if own is None:
        return open_dbapi(place, table, chosen)
    if own == "duckdb":
        return open_connection(place, table)
    return open_postgres(place, table) if own == "postgres" else open_sqlite(place, table)


def _refuse_engine(engine: object, what: str) -> None:
    if engine is not None:
        raise InputError(f"engine does not fit {what}; leave it out.")


def _refuse_file_options(file_format: object, delimiter: object) -> None:
    for name, value in (("format", file_format), ("delimiter", delimiter)):
        if value is not None:
            raise InputError(f"{name} fits files only; leave it out.")


def is_database(place: str) -> bool:
    """Whether a place is one that holds tables, of which one must be named."""
    return is_address(place) or place.lower().endswith(ENDINGS)


def _refuse_lone_database(path: Any) -> None:
    """A database without a table; an address is not repeated, because it may hold a password."""
    if not isinstance(path, str):
        return
    if "://" in path or "password=" in path:
        if is_address(path):
            raise InputError("table is missing: source is a database; give (address, 'table').")
        raise InputError("source is an address of no kind that is known; PostgreSQL's begin with postgresql://.")
    if path.lower().endswith(ENDINGS):
        raise InputError("table is missing: source is a database; give (path, 'table').")


_NATIVE = {"postgres": is_psycopg, "sqlite": is_sqlite, "duckdb": is_duckdb}


def _all_paths(source: Sequence[Any]) -> bool:
    return all(isinstance(item, str | os.PathLike) for item in source)


def _library_of(source: object) -> str | None:
    """Which library an object comes from, by the classes it is made of."""
    for cls in type(source).__mro__:
        root = cls.__module__.split(".")[0]
        if root in ("pandas", "polars", "pyarrow"):
            return root
        if root in ("duckdb", "_duckdb") and cls.__name__ == "DuckDBPyRelation":
            return "duckdb"
    return None
