"""Tables: one count query, wherever the records lie. Only bucket counts leave this package."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from flexdp._core.domains import elements, path_text
from flexdp._core.text import safe_repr
from flexdp.buckets.base import LARGEST_INDEX
from flexdp.buckets.exact import Exact
from flexdp.errors import DataError, FlexdpError, InputError
from flexdp.histogram import KeyedHistogram
from flexdp.tables.counting import Axis, Counted, Counting, Units
from flexdp.tables.dbapi.source import check_engine, open_dbapi
from flexdp.tables.declared import Column, label_reading, no_column, reading
from flexdp.tables.duckdb.source import is_connection as is_duckdb
from flexdp.tables.duckdb.source import open_connection, open_relation
from flexdp.tables.files.source import open_files
from flexdp.tables.frames.sources import library_of, open_pandas, open_pandas_series, open_polars, open_pyarrow
from flexdp.tables.memory.cells import CellTable
from flexdp.tables.memory.table import open_array
from flexdp.tables.postgres.run import is_connection as is_psycopg
from flexdp.tables.postgres.source import is_address, open_postgres
from flexdp.tables.spark.source import is_frame, open_spark
from flexdp.tables.sql.translate import show
from flexdp.tables.sqlite.run import is_connection as is_sqlite
from flexdp.tables.sqlite.source import ENDINGS, open_sqlite

__all__ = [
    "Axis",
    "Column",
    "Counted",
    "Counting",
    "Table",
    "Units",
    "count",
    "is_database",
    "label_reading",
    "open_table",
    "query_of",
    "reading",
]


class Table(Protocol):
    """A source of records that has declared its columns and been asked for nothing else yet."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The declared columns."""

    def column(self, name: object) -> Column:
        """The declared column of that name."""

    def query(self, counting: Counting) -> str:
        """The SQL text that would count; it runs nothing."""

    def count(self, counting: Counting) -> Counted:
        """The bars that hold records, and how many each: the one place where records are read."""


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
    library = library_of(source)
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


def query_of(table: Table, countings: Sequence[Counting], dialect: str | None = None) -> str:
    """The SQL text that would count; it runs nothing."""
    if dialect is not None:
        return show(countings, dialect)
    together = getattr(table, "together_query", None)
    if len(countings) > 1 and together is not None and all(counting.units is None for counting in countings):
        return str(together(countings))
    return ";\n\n".join(table.query(counting) for counting in countings)


def count(table: Table, countings: Sequence[Counting]) -> list[KeyedHistogram]:
    """The private bars of each count. Equal ones are summed here, before any noise."""
    together = getattr(table, "together", None)
    try:
        with np.errstate(all="ignore"):  # a warning would tell of a cell: a signalling NaN, a number too large
            if len(countings) > 1 and together is not None:
                found = together(countings)
            else:
                found = [table.count(counting) for counting in countings]
            out = [_bars(each, counting) for each, counting in zip(found, countings, strict=True)]
    except FlexdpError:
        raise
    except Exception:  # noqa: BLE001  (its text may quote a record, and its kind may depend on one)
        out = []
    if not out:
        raise DataError  # outside the handler, so that no chain of causes leads back to the record
    return out


def _bars(counted: Counted, counting: Counting) -> KeyedHistogram:
    """The bars. A key that no bar has, NULL or NaN, is that of records that do not count."""
    keys, records = [np.ma.getdata(part) for part in counted.keys], np.ma.getdata(counted.records)
    sound = np.ones(len(records), dtype=bool)
    for part, key, axis in zip(counted.keys, keys, counting.axes, strict=True):
        sound &= ~np.ma.getmaskarray(part)
        if key.dtype.kind == "f":
            sound &= np.isfinite(key) if isinstance(axis.buckets, Exact) else np.abs(key) <= LARGEST_INDEX
    if not sound.all():
        keys, records = [key[sound] for key in keys], records[sound]
    try:
        return KeyedHistogram([_index(key, axis) for key, axis in zip(keys, counting.axes, strict=True)], records)
    except InputError:
        raise TypeError("keys that no bar has") from None


def _index(keys: Any, axis: Axis) -> Any:
    """A part of the bars' keys as the partition numbers them."""
    if axis.kind == "boolean":
        return keys.astype(bool)
    if axis.kind == "text" or (isinstance(axis.buckets, Exact) and axis.kind == "number"):
        return keys
    if keys.dtype == object:  # integers too wide for the engine's arrays come as texts
        return [int(key) for key in keys]
    return keys.astype(np.int64)
