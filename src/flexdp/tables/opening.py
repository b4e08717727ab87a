"""Opening a source: recognise it by its type or format, read what it declares, touch no record."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from glob import has_magic
from pathlib import Path
from typing import Any

import numpy as np

from flexdp._core.domains import choice, elements, path_text
from flexdp._core.text import is_unicode, plain_scalar, safe_repr
from flexdp.errors import InputError, P
from flexdp.tables.column import WAYS, Column, no_column, one_of
from flexdp.tables.engine import Engine, open_served, there_are
from flexdp.tables.engines.drivers import from_sqlalchemy
from flexdp.tables.engines.registry import ENGINES
from flexdp.tables.files.bytes import FORMATS, STDIN, WIDE, check_encoding, find_files, format_of, shown_path
from flexdp.tables.files.columnar import ParquetSource, open_arrow_files
from flexdp.tables.files.csv_json import CsvSource, JsonSource, SheetSource
from flexdp.tables.files.source import FileSource
from flexdp.tables.frames.arrow import is_reader, is_stream, open_pyarrow, open_stream
from flexdp.tables.frames.pandas import open_pandas, open_pandas_series
from flexdp.tables.frames.polars import open_polars
from flexdp.tables.memory.source import MemoryColumn, MemorySource, Opened, open_array, open_columns
from flexdp.tables.source import Source
from flexdp.tables.written import read_written, refuse_offsets

__all__ = ["is_database", "name_of", "no_table_given", "open_files", "open_table"]


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
    asked: Any = None if file_format is None else choice("format", file_format, tuple(FORMATS))
    decoded, how = check_encoding(encoding), read_written(**written)
    files = tuple(find_files(paths, echo=echo))
    chosen = format_of(files, asked)
    for name, given, fitting, what in (
        ("delimiter", delimiter, ("csv",), "CSV files"),
        ("encoding", encoding, ("csv", "jsonl", "json"), "CSV and JSON files"),
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
        refuse_offsets(how)
    if chosen == "arrow":
        return open_arrow_files(files, how)
    table: FileSource
    if chosen == "parquet":
        table = ParquetSource(files, how=how)
    elif chosen == "csv":
        table = CsvSource(files, decoded, delimiter if isinstance(delimiter, str) else None, how=how)
    elif chosen == "xlsx":
        table = SheetSource(files, sheet=sheet, how=how)
    else:
        table = JsonSource(files, decoded, chosen == "json", how=how)
    table.seen, table.columns  # noqa: B018  (reads the schema now, so that a bad file is refused before anything else)
    return table


def open_table(
    source: Any,
    column: object = None,
    *,
    file_format: object = None,
    delimiter: object = None,
    engine: object = None,
    rows_are_records: bool = False,
    **cells: object,
) -> Source:
    """Open a source and read what it declares.

    Parameters
    ----------
    source
        A path or a list of paths, a list or an array of values, a dict of such columns, a frame, a relation, or a pair
        of a database and the name of a table in it.
    column
        The released column or columns. A list of texts is a list of paths only if there is one.
    file_format
        The format of files whose extension does not tell it.
    delimiter
        The delimiter of CSV files; that of the header line by default.
    engine
        The engine behind a DB-API connection.
    rows_are_records
        The caller vouches for a query whose plan does not show that its rows are records.
    cells
        How cells of text are written (``decimal``, ``thousands``, ``currency``, ``date_format``); for files also their
        ``encoding``, and the ``sheet`` of a workbook.

    Returns
    -------
    Source
        The source. No record has been read.

    Raises
    ------
    InputError
        If the source is of no known type, cannot be opened, or another parameter does not apply to it.

    Examples
    --------
    >>> import numpy as np
    >>> [column.kind for column in open_table(np.array([1.5, 2.5])).columns]
    ['number']
    """
    source = _native(source)
    listed = elements(source) if isinstance(source, Sequence) else None
    pair = listed if isinstance(source, tuple) and listed is not None and len(listed) == 2 else None
    if pair is not None and (served := _open_pair(pair[0], pair[1], engine, rows_are_records)) is not None:
        return _as_written(served, file_format, delimiter, cells)
    _refuse_engine(engine, "a file, a frame or an array")
    if (own := next((each for each in ENGINES if each.lone(source)), None)) is not None:
        served = open_served(own, source, own.lone(source), rows_are_records=rows_are_records)
        return _as_written(served, file_format, delimiter, cells)
    library = _library_of(source)
    computed = (library == "polars" and hasattr(source, "collect")) or (library is None and is_stream(source))
    if rows_are_records and not computed:
        raise InputError(
            "rows_are_records",
            "applies to relations, lazy frames, DataFrames of Spark, Arrow streams, tables and views of databases",
            remedy="Leave it out.",
        )  # fmt: skip
    if (paths := _paths_in(source, column)) is not None:
        echo = all(isinstance(path, os.PathLike) for path in paths) or isinstance(source, str)
        if isinstance(source, str | os.PathLike):
            _refuse_lone_database(path_text("source", source))
        _refuse_swapped(paths, column, echo=echo)
        return open_files(paths, file_format, delimiter, echo=echo, **cells)
    opened = _open_object(source, column, listed, library, rows_are_records=rows_are_records)
    return _as_written(opened, file_format, delimiter, cells)


def name_of(source: Any, column: object = None) -> dict[str, Any] | None:
    """Return what tells a source from others for a ledger; None for one without a path or an address.

    Parameters
    ----------
    source, column
        As for :func:`open_table`.

    Returns
    -------
    dict or None
        The files, links followed and patterns as they are; or the database and the table. An address has neither user
        nor password nor parameters.

    Examples
    --------
    >>> name_of(("postgresql://me:secret@host:5432/clinic?sslmode=require", "visits"))
    {'database': 'postgresql://host:5432/clinic', 'table': 'visits'}
    >>> name_of([1.0, 2.0]) is None
    True
    """
    pair = elements(source) if isinstance(source, tuple) and len(source) == 2 else None
    if pair and isinstance(pair[0], str | os.PathLike) and is_database(place := path_text("source", pair[0])):
        found = _address_named(place) if "://" in place else os.path.realpath(place)
        return None if found is None else {"database": found, "table": str(pair[1])}
    paths = _paths_in(source, column)
    named = ["-"] if paths is None else [path_text("source", path) for path in paths]
    return None if "-" in named else {"files": sorted(map(os.path.realpath, named))}


def _paths_in(source: Any, column: object) -> list[Any] | None:
    """Return the paths that a source consists of, if it does; a list of texts alone may hold values."""
    if isinstance(source, str | os.PathLike):
        return [source]
    listed = elements(source) if isinstance(source, Sequence) and column is not None else None
    every = listed is not None and all(isinstance(path, str | os.PathLike) for path in listed)
    return listed if every else None


def _address_named(address: str) -> str | None:
    """An address without user, password and parameters; None where these choose the place, or do not end clearly."""
    scheme, _, rest = address.partition("://")
    server, slash, path = rest.partition("/")
    user, _, host = server.rpartition("@")
    parameters = [part.partition("=")[0] for part in re.split("[?&]", rest)[1:]]
    path = re.split("[?#]", path)[0]
    unclear = "@" in path or re.search("[?#]", user) or not _HARMLESS.issuperset(parameters)
    return None if unclear else f"{scheme}://{re.split('[?#]', host)[0]}{slash}{path}"


def _open_object(
    source: Any, column: object, listed: list[Any] | None, library: str | None, *, rows_are_records: bool
) -> Source:
    """Open a frame, a relation, an array, a list, a dict of columns or a stream."""
    if library == "pandas" and hasattr(source, "iloc"):
        if hasattr(source, "columns"):
            return open_pandas(source)
        no_column(column, "a series")
        return MemorySource((open_pandas_series(source),))
    if library == "polars" and any(hasattr(source, name) for name in ("get_column", "to_frame", "collect")):
        return open_polars(source, column, rows_are_records=rows_are_records)
    if library == "pyarrow":
        return open_pyarrow(source, column)
    if isinstance(source, np.ndarray):
        part = open_array(source)
        no_column(column, "an array")
        return MemorySource((part,))
    if listed is not None and isinstance(source, list | tuple):
        no_column(column, "a list of values")
        return MemorySource((_open_list(listed, None),))
    if isinstance(source, dict):
        return open_columns(source, _open_column)
    if is_stream(source):
        return open_stream(source, rows_are_records=rows_are_records)
    raise InputError(
        "source",
        "must be a path, a list, a dict of columns, a numpy array, a pandas, polars or pyarrow table, a DuckDB "
        "relation, a Spark DataFrame, an object with an Arrow stream or a pair (connection, 'table')",
        given=safe_repr(source),
    )


def _open_column(values: Any, name: str) -> Opened | None:
    """Open a column of a dict; None for what is none. A pandas series is one as in a frame."""
    values = _native(values)
    library = _library_of(values)
    if library == "pandas" and hasattr(values, "iloc") and not hasattr(values, "columns"):
        return open_pandas_series(values, name), len(values)
    if isinstance(values, np.ndarray):
        return open_array(values, name=name), len(values)
    listed = elements(values) if library in (None, "polars") else None
    return None if listed is None else (_open_list(listed, name), len(listed))


def _open_list(cells: list[Any], name: str | None) -> MemoryColumn:
    return MemoryColumn(lambda: cells, Column(name=name, type_name="list", kind=None, undeclared=True))


def is_database(place: str) -> bool:
    """Tell whether a path or an address names a database, in which a table must be named.

    Parameters
    ----------
    place
        The path or the address.

    Returns
    -------
    bool
        True for an address of PostgreSQL or MariaDB and for a path with an extension of SQLite or DuckDB.

    Examples
    --------
    >>> is_database("clinic.db"), is_database("postgresql://host/clinic"), is_database("visits.csv")
    (True, True, False)
    """
    return _engine_at(place) is not None


def _engine_at(place: str) -> Engine | None:
    """Return the engine of an address or of a database file."""
    for engine in ENGINES:
        if place.startswith(engine.schemes) or place.lower().endswith(engine.extensions):
            return engine
    return None


def _open_pair(place: Any, table: Any, engine: object, vouched: bool) -> Source | None:
    """Open a table of a database, if the pair names one: a connection, an address or a file, and the table in it."""
    if isinstance(place, str | os.PathLike):
        address: Any = path_text("source", place)
        found = _engine_at(address)
        if found is not None:
            _refuse_engine(engine, "an address or a file")
    elif (behind := from_sqlalchemy(place)) is not None:
        _refuse_engine(engine, "SQLAlchemy, which names its own")
        found, address = next(each for each in ENGINES if each.name == behind[0]), behind[1]
    elif hasattr(place, "cursor") and hasattr(place, "close"):
        address, found = place, _engine_of(place, engine)
    else:
        return None
    return None if found is None else open_served(found, address, table, rows_are_records=vouched)


def _engine_of(con: Any, engine: object) -> Engine:
    """Return the engine behind a driver's connection, which the caller names where the driver does not tell."""
    own = next((each for each in ENGINES if each.recognises(con)), None)
    known = {each.name: each for each in ENGINES if not each.lone_only}
    if engine is None and own is not None:
        return own
    if engine is None:
        raise InputError(
            "engine",
            f"is missing: {safe_repr(con)} does not say which database it is connected to",
            remedy=("Set ", P("engine"), f" to {one_of(list(known))}."),
        )
    if not isinstance(engine, str) or engine not in known:
        near = difflib.get_close_matches(engine, known, n=1) if isinstance(engine, str) else []
        hint = "Only MariaDB is tested; export the table to a Parquet file." if engine == "mysql" else ""
        hint = f"Did you mean {near[0]!r}?" if near else hint
        raise InputError("engine", f"must be {one_of(list(known))}", given=safe_repr(engine), remedy=hint)
    if own is not None and engine != own.name:
        raise InputError(
            "engine", f"must be {own.name!r}, the engine of the connection", given=repr(engine), remedy="Leave it out."
        )
    chosen = known[engine]
    if own is None and chosen.module:
        rule = (f"must be a connection of the module {chosen.module} with ", P("engine", engine))
        raise InputError("source", rule, given=safe_repr(con))
    return chosen


def _refuse_engine(engine: object, what: str) -> None:
    if engine is not None:
        raise InputError("engine", f"does not apply to {what}", remedy="Leave it out.")


def _as_written(source: Source, file_format: object, delimiter: object, cells: Mapping[str, object]) -> Source:
    """Return a source that is not a file, with its texts to be read as declared; what describes files is refused."""
    ways = {name: cells.get(name) for name in WAYS}
    others = {name: value for name, value in cells.items() if name not in WAYS}
    for name, value in (("format", file_format), ("delimiter", delimiter), *others.items()):
        if value is not None:
            raise InputError(name, "applies to files only", remedy="Leave it out.")
    given = next((name for name, value in ways.items() if value is not None), None)
    if given is None:
        return source
    written = read_written(**ways)
    refuse_offsets(written)
    if not source.reads_texts:
        raise InputError(
            given,
            "applies to files, frames, lists and DuckDB only",
            remedy="Leave it out, and convert the texts in a view.",
        )
    return source.written(written)


def _refuse_lone_database(path: str) -> None:
    """Refuse a database without a table. An address is not repeated: it may hold a password."""
    if "://" in path or "password=" in path:
        if is_database(path):
            raise no_table_given(path, "Pass (address, 'table').")
        raise _unknown_address()
    if is_database(path):
        raise no_table_given(path, "Pass (path, 'table').")


def _refuse_swapped(paths: Sequence[Any], column: object, *, echo: bool) -> None:
    """Refuse an address of an unknown kind among paths, and a column that is a file where a path is none."""
    try:
        given = [path_text("source", path) for path in paths]
    except InputError:  # the file itself is refused, in the words that fit it
        return
    if any("://" in path for path in given):
        raise _unknown_address()
    names = elements(column) if isinstance(column, list | tuple) else None
    file = plain_scalar(names[0]) if names else None
    if not isinstance(file, str) or not _is_file(file):
        return
    for place, path in enumerate(given, 1):
        if path != "-" and not os.path.lexists(path) and not has_magic(path):
            shown = shown_path(path) if echo else f"item {place}"
            rule = (f": {shown} does not exist, but ", P("column"), f" is a file, {shown_path(file)}")
            raise InputError("source", rule, remedy=("First comes ", P("source"), ", then ", P("column"), "."))


def _is_file(path: str) -> bool:
    try:
        return Path(path).is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _unknown_address() -> InputError:
    return InputError(
        "source",
        "is an address of an unknown kind",
        remedy="Those of databases begin with postgresql:// or mariadb://.",
    )


def no_table_given(place: str, remedy: str) -> InputError:
    """Return the refusal of a database without a table, which lists those that it declares, if it can be opened.

    Parameters
    ----------
    place
        The path or the address.
    remedy
        How to name a table.

    Returns
    -------
    InputError
        The refusal.
    """
    names: Sequence[str] = ()
    with suppress(Exception):  # an engine's message is not repeated; whoever names a table learns what is wrong
        engine = _engine_at(place)
        assert engine is not None
        with engine.session(place) as session:
            names = engine.names(session)
    return InputError("table", _LONE, remedy=f"{remedy} {there_are(names)}".rstrip())


# Parameters of an address that choose neither a server nor a database nor a schema in it.
_HARMLESS = frozenset({
    "application_name", "charset", "connect_timeout", "fallback_application_name", "keepalives", "passfile", "password",
    "require_auth", "ssl", "ssl_ca", "ssl_cert", "ssl_key", "sslcert", "sslkey", "sslmode", "sslpassword",
    "sslrootcert", "user",
})  # fmt: skip
_LONE = ("is missing: ", P("source"), " is a database")


def _native(source: Any) -> Any:
    """Return what narwhals wraps, which may be of pandas, with types of its own."""
    return source.to_native() if _library_of(source) == "narwhals" and hasattr(source, "to_native") else source


def _library_of(source: object) -> str | None:
    """Return the library that an object's classes come from."""
    if is_reader(source):
        return None  # a stream like any other
    for cls in type(source).__mro__:
        root = cls.__module__.split(".")[0]
        if root in ("narwhals", "pandas", "polars", "pyarrow"):
            return root
    return None
