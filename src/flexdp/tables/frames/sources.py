"""Frames: pandas, polars, pyarrow, anything that streams Arrow.

None of these libraries is imported here: whoever passes a frame has imported it already.
"""

from __future__ import annotations

import queue
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.text import safe_repr
from flexdp.buckets.base import Kind
from flexdp.errors import InputError
from flexdp.tables.declared import Column, no_column
from flexdp.tables.duckdb.run import connection
from flexdp.tables.duckdb.source import EngineTable
from flexdp.tables.interrupts import run
from flexdp.tables.memory.arrays import ArrayTable
from flexdp.tables.memory.cells import CellTable
from flexdp.tables.memory.table import MemoryTable, open_array

__all__ = [
    "library_of",
    "open_pandas",
    "open_pandas_series",
    "open_polars",
    "open_pyarrow",
]

_READY = 4  # batches that wait to be read, so that the engine that makes them never runs far ahead
_POLL_SECONDS = 0.1
_TEXT_SCAN = re.compile(r"^\s*(csv|ndjson) scan\b", re.IGNORECASE | re.MULTILINE)
_TEXT_FORMATS = ("CsvFileFormat", "JsonFileFormat")


def library_of(source: object) -> str | None:
    """Which library an object comes from, by the classes it is made of."""
    for cls in type(source).__mro__:
        root = cls.__module__.split(".")[0]
        if root in ("pandas", "polars", "pyarrow"):
            return root
        if root in ("duckdb", "_duckdb") and cls.__name__ == "DuckDBPyRelation":
            return "duckdb"
    return None


def open_pandas(frame: Any) -> MemoryTable:
    """A pandas frame. Its numbers are numbers, whether one missing cell has made them floats or not."""
    parts = []
    for place, label in enumerate(frame.columns):
        if isinstance(label, str):
            parts.append(open_pandas_series(frame.iloc[:, place], name=label))
    return MemoryTable(tuple(parts))


@np.errstate(all="ignore")
def open_pandas_series(series: Any, name: str | None = None) -> ArrayTable | CellTable:
    """One pandas column. Only the dtype is looked at.

    pandas chooses numpy's dtypes, its own ``str`` and the categories of a category by what cells hold. Dtypes with room
    for missing cells (``Int64``, ``Float64``, ``boolean``, ``string``), Arrow's and times are somebody's declaration.
    """
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        return open_array(series.to_numpy(), name=name, numbers=True, inferred=True)
    word = str(dtype)
    letter = getattr(dtype, "kind", "O")
    if letter in "iufb":  # nullable and Arrow-backed numbers: the missing ones are marked here
        plain: Any = {"i": np.int64, "u": np.uint64, "f": np.float64, "b": np.bool_}[letter]
        missing = series.isna().to_numpy()
        filled = series.to_numpy(dtype=plain, na_value=plain(0))
        inferred = word.startswith("Sparse")
        return open_array(np.ma.MaskedArray(filled, mask=missing), name=name, numbers=True, inferred=inferred)
    if word.startswith("datetime64"):  # with a time zone: the moment itself, by the clocks of UTC
        return ArrayTable(series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy(), _zoned(name))
    if letter == "M":
        datetimes, present = _arrow_times(series)
        if getattr(dtype.pyarrow_dtype, "tz", None) is not None:
            return ArrayTable(datetimes, _zoned(name), present)
        return open_array(np.ma.MaskedArray(datetimes, mask=~present), name=name)
    if word.startswith(("str", "large_string")):
        texts = cache(series.factorize)  # the same text is read once, however many records have it
        column = Column(name=name, type_name="text", kind="text")
        if isinstance(getattr(dtype, "na_value", None), float):
            column = Column(name=name, type_name="str", kind=None, undeclared=True, inferred=True)
        return CellTable(lambda: texts()[1].tolist(), column, lambda: texts()[0])
    if word == "category":
        categories = series.cat.categories
        held = getattr(categories.dtype, "kind", "O") if len(categories) else "O"
        kind: Kind | None = "number" if held in "iuf" else "boolean" if held == "b" else None
        column = Column(name=name, type_name=word, kind=kind, undeclared=kind is None, inferred=True)
        return CellTable(categories.tolist, column, lambda: series.cat.codes.to_numpy())
    if letter == "O":
        return CellTable(series.tolist, Column(name=name, type_name=word, kind=None, undeclared=True))
    return CellTable(list, Column(name=name, type_name=word, kind=None))


def _zoned(name: str | None) -> Column:
    return Column(name=name, type_name="timestamp with time zone", kind="datetime", timestamp=True, zoned=True)


def _arrow_times(series: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Dates and datetimes that Arrow keeps for pandas, as numpy's, and which of them are there."""
    stored, cells = series.dtype.pyarrow_dtype, series.array.__arrow_array__()
    short = str(stored).startswith("date32")
    ticks = (cells.cast("int32") if short else cells).cast("int64").fill_null(0).to_numpy()
    datetimes = ticks.view(f"datetime64[{'D' if short else getattr(stored, 'unit', 'ms')}]")
    whole_days = str(stored).startswith("date")
    return (datetimes.astype("datetime64[D]") if whole_days else datetimes), ~series.isna().to_numpy()


class _Stream:
    """Shows an engine nothing of an object but its Arrow stream, so that no other library is needed to read it."""

    def __init__(self, source: Any) -> None:
        self._source = source

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._source.__arrow_c_stream__(requested_schema)


class _Batches:
    """The batches of a lazy frame as one Arrow stream, made while they are read, until it is closed.

    They are handed over from a thread, because only a sink tells of every failure: an iterator over batches just ends
    where one record makes polars panic.
    """

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self._closed = threading.Event()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        import pyarrow

        schema = self._frame.clear().collect().to_arrow().schema
        reader = pyarrow.RecordBatchReader.from_batches(schema, self._read(schema))
        return reader.__arrow_c_stream__(requested_schema)

    def close(self) -> None:
        """Let whoever reads fail, and the sink end with its next batch."""
        self._closed.set()

    def _read(self, schema: Any) -> Iterator[Any]:
        """The batches, each of the one schema: bytes of another type would be read as what they are not."""
        ready: queue.Queue[Any] = queue.Queue(_READY)
        threading.Thread(target=self._fill, args=(ready,), name="flexdp-batches", daemon=True).start()
        try:
            while not self._closed.is_set():
                try:
                    batches = ready.get(timeout=_POLL_SECONDS)
                except queue.Empty:
                    continue
                if batches is _END:
                    return
                if batches is _FAILED or any(batch.schema != schema for batch in batches):
                    break
                yield from batches
        finally:
            self.close()  # also where the reader is dropped before its end
        raise OSError("the frame was not read to its end")

    def _fill(self, ready: queue.Queue[Any]) -> None:
        """Everything that polars makes, and last how it has ended."""

        def offer(item: Any) -> bool:
            while not self._closed.is_set():
                try:
                    ready.put(item, timeout=_POLL_SECONDS)
                except queue.Full:
                    continue
                return False
            return True  # tells polars that no more is needed

        try:
            self._frame.sink_batches(lambda frame: offer(frame.to_arrow().to_batches()))
            ended = _END
        except BaseException:  # noqa: BLE001  (a panic is no Exception; its text may quote a cell)
            ended = _FAILED
        offer(ended)


_END, _FAILED = object(), object()


def open_polars(source: Any, column: object) -> EngineTable:
    """A polars frame, lazy frame or series."""
    if hasattr(source, "sink_batches"):
        return _lazy(source)
    if hasattr(source, "to_frame"):
        no_column(column, "a series")
        times = _polars_times({"value": source.dtype})
        frame = _in_ticks(source.to_frame("value"), times)
        return _registered(lambda _names: _Stream(frame), times=times, single="value")
    times = _polars_times(source.schema)
    return _registered(lambda names: _Stream(_in_ticks(source.select(names), times)), names=source.columns, times=times)


def _polars_times(schema: Mapping[str, Any]) -> dict[str, str]:
    """The columns of datetimes, each with Arrow's word for its type."""
    out = {}
    for name, dtype in schema.items():
        if type(dtype).__name__ == "Datetime":
            out[name] = f"timestamp[{dtype.time_unit}{f', tz={dtype.time_zone}' if dtype.time_zone else ''}]"
    return out


def _in_ticks(frame: Any, times: Mapping[str, str]) -> Any:
    """A polars frame with datetimes as the integers that they are stored as: DuckDB fails at those it cannot hold."""
    return frame.cast({name: int for name in times if name in frame.collect_schema().names()})


def _lazy(source: Any) -> EngineTable:
    """A lazy frame: its own engine reads it in batches, with only the columns that are needed."""
    try:
        schema, plan = source.collect_schema(), str(source.explain(optimized=False))
    except Exception:  # noqa: BLE001  (its text tells of rows and may quote a cell)
        schema, plan = None, ""
    if schema is None:  # outside the handler, so that no chain of causes leads there
        raise InputError(
            "source is a lazy frame that cannot be planned; check its files and the columns that it names."
        )
    if _TEXT_SCAN.search(plan):
        raise InputError(
            "source is a lazy frame over a text file; polars infers its column types from the data, or fails at one "
            "cell. Pass the file's path itself."
        )
    times = _polars_times(schema)
    return _registered(
        lambda names: _Batches(_in_ticks(source.select(names), times)),
        names=list(schema.names()),
        times=times,
        describe=lambda names: _Stream(source.clear().select(names).collect()),
    )


def open_pyarrow(source: Any, column: object) -> EngineTable:
    """A pyarrow table, record batch, data set, array or chunked array."""
    import pyarrow

    if isinstance(source, pyarrow.Array | pyarrow.ChunkedArray):
        no_column(column, "an array")
        source, single = pyarrow.table({"value": source}), "value"
    else:
        single = None
    if isinstance(source, pyarrow.RecordBatch):
        source = pyarrow.Table.from_batches([source])
    if not isinstance(source, pyarrow.Table) and not hasattr(source, "scanner"):
        raise InputError(f"source is a pyarrow {type(source).__name__}; pass a table, for example its read_all().")
    names, types = source.schema.names, source.schema.types
    times = {
        name: str(kind)
        for name, kind in zip(names, types, strict=True)
        if str(kind).startswith(("date64", "timestamp"))
    }
    if isinstance(source, pyarrow.Table):

        def select(some: list[str]) -> Any:
            part = source.select([names.index(name) for name in some])
            for place, name in enumerate(some):
                if name in times:
                    part = part.set_column(place, name, part.column(place).cast("int64"))
            return part

        return _registered(select, names=names, times=times, single=single)
    _refuse_text(source)

    def scan(some: list[str]) -> Any:
        if not any(name in times for name in some):
            return source
        from pyarrow import dataset

        return source.scanner(
            columns={name: dataset.field(name).cast("int64") if name in times else dataset.field(name) for name in some}
        )

    return _registered(scan, names=names, times=times)


def _refuse_text(dataset: Any) -> None:
    """Refuse data sets of text files, also as a part of others."""
    if type(getattr(dataset, "format", None)).__name__ in _TEXT_FORMATS:
        raise InputError(
            "source is a data set of text files; pyarrow infers column types from the data, or fails at one cell. "
            "Pass the files' paths themselves."
        )
    for child in getattr(dataset, "children", None) or ():
        _refuse_text(child)


def _registered(
    select: Callable[[list[str]], Any],
    *,
    names: Sequence[str] = (),
    times: Mapping[str, str],
    describe: Callable[[list[str]], Any] | None = None,
    single: str | None = None,
) -> EngineTable:
    """A table that DuckDB reads while it counts: what ``select`` makes of the columns needed.

    ``times`` are columns that are handed over as integers, with the types that tell what those count.
    """
    look = describe or select

    def type_of(name: str) -> str:
        if name in times:
            return times[name]
        rows = None
        try:
            with connection() as con, _as_source(con, look([name])):
                rows = con.execute("DESCRIBE source").fetchall()
        except InputError:
            raise
        except Exception:  # noqa: BLE001  (the engine's own text is not ours to repeat)
            rows = None
        if rows is None:
            raise InputError(f"column {safe_repr(name)} is of a type that cannot be read; choose another one.")
        found = next((row[1] for row in rows if row[0] == name), None)
        if found is None:
            raise InputError("column has the name of another one but for upper and lower case; rename one of them.")
        return str(found)

    def execute(statement: str, columns: Sequence[str]) -> dict[str, Any]:
        with connection() as con, _as_source(con, select(list(columns))) as interrupt:
            return run(lambda: con.execute(statement).fetchnumpy(), interrupt)

    return EngineTable((single,) if single else tuple(names), type_of, execute, single=single is not None)


@contextmanager
def _as_source(con: Any, table: Any) -> Iterator[Callable[[], None]]:
    """Register a table for the duration; what is yielded stops whatever reads it."""

    def close() -> None:
        if isinstance(table, _Batches):
            table.close()

    def interrupt() -> None:
        close()  # first, because a reader that waits for a batch hears nothing else
        con.interrupt()

    con.register("source", table)
    try:
        yield interrupt
    finally:
        close()
        con.unregister("source")
