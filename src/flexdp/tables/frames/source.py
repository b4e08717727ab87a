"""Frames that DuckDB reads, by Arrow streams, while it counts; lazy ones batch by batch."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from flexdp._core.faults import noticing
from flexdp._core.text import safe_repr
from flexdp.errors import InputError
from flexdp.histogram import KeyedHistogram
from flexdp.tables.column import Column, no_name, pick
from flexdp.tables.counting import Counting, columns_of
from flexdp.tables.engines.duckdb.dialect import DUCKDB, declared, read_cell
from flexdp.tables.engines.duckdb.session import PrivateSession, PrivateSource, connection
from flexdp.tables.sql.check_query import Inspected, Wanted, inspect_texts
from flexdp.tables.sql.query import ReadCell, Reading
from flexdp.tables.written import WRITTEN, Written

__all__ = ["ArrowStream", "Batches", "FrameSource"]


@dataclass(frozen=True)
class FrameSource(PrivateSource):
    """A frame, whose ``select`` returns one with the given columns.

    ``times`` are columns passed as integers, with the names of their types. ``look`` returns a frame of the same types
    that is cheaper to make. A ``single`` column has no name of its own.
    """

    select: Callable[[list[str]], Any] = field(repr=False)
    labels: tuple[str, ...]
    times: Mapping[str, str]
    look: Callable[[list[str]], Any] | None = field(default=None, repr=False)
    single: bool = False
    files: tuple[str, ...] = ()
    how: Written = WRITTEN

    @property
    def reads_twice(self) -> bool:
        return self.look is None

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(self.column(None if self.single else name) for name in dict.fromkeys(self.labels))

    @property
    def names(self) -> tuple[str, ...]:
        return () if self.single else self.labels

    def column(self, name: object) -> Column:
        """Return the declared column of that name; its type is looked up only now."""
        if self.single:
            no_name(name)
            label = self.labels[0]
        else:
            if isinstance(name, str) and "\0" in name:  # polars would end the process, and no engine writes such a name
                raise InputError("column", ": a column's name contains the character NUL", remedy="Rename the column.")
            label = str(pick([Column(name=known, type_name="", kind=None) for known in self.labels], name).name)
        found = declared(None if self.single else label, self._type_of(label), label)
        return replace(found, written=self.how)

    def written(self, how: Written) -> FrameSource:
        return replace(self, how=how)

    def reading(self, countings: Sequence[Counting]) -> tuple[str, ReadCell]:  # noqa: ARG002
        return "source", _read

    @contextmanager
    def registered(self, con: Any, countings: Sequence[Counting]) -> Iterator[Callable[[], None]]:
        with _as_source(con, self.select([column.engine_name for column in columns_of(countings)])) as interrupt:
            yield interrupt

    def count(self, countings: Sequence[Counting]) -> list[KeyedHistogram]:
        """Count; a stream is opened anew for each statement, in the caller's thread."""
        if self._in_one_pass(countings):
            return super().count(countings)
        return [bars for counting in countings for bars in super(FrameSource, self).count([counting])]

    def inspect(self, wanted: Sequence[Wanted]) -> Inspected:
        names = list(dict.fromkeys(each.column.engine_name for each in wanted))
        with connection() as con, _as_source(con, self.select(names)) as interrupt:
            return inspect_texts(PrivateSession(con, interrupt), "source", wanted, _read)

    def _type_of(self, name: str) -> str:
        if name in self.times:
            return self.times[name]
        rows = None
        try:
            with connection() as con, _as_source(con, (self.look or self.select)([name])):
                rows = con.execute("DESCRIBE source").fetchall()
        except InputError:
            raise
        except Exception:  # noqa: BLE001  (the engine's message is not repeated)
            rows = None
        if rows is None:
            raise InputError(
                "column", f": {safe_repr(name)} has a type that cannot be read", remedy="Choose another column."
            )
        found = next((row[1] for row in rows if row[0] == name), None)
        if found is None:
            raise InputError(
                "column",
                f": {safe_repr(name)} differs from another column's name in case only",
                remedy="Rename one of them.",
            )
        return str(found)


def _read(column: Column, kind: Any) -> Reading:
    return read_cell(DUCKDB.identifier(column.engine_name), column, kind)


@contextmanager
def _as_source(con: Any, table: Any) -> Iterator[Callable[[], None]]:
    """Register a table for the duration; yield the function that stops a query on it."""

    def close() -> None:
        if isinstance(table, Batches):
            table.close()

    def interrupt() -> None:
        close()  # first: a reader that waits for a batch notices nothing else
        con.interrupt()

    con.register("source", table)
    try:
        yield interrupt
    finally:
        close()
        con.unregister("source")


_READY = 4  # batches in the queue, so that polars never runs far ahead of the reader
_POLL_SECONDS = 0.1


class ArrowStream:
    """Batches as an Arrow stream. An engine asks for it twice, once for the schema alone."""

    def __init__(self, schema: Callable[[], Any], batches: Callable[[Any], Iterator[Any]]) -> None:
        self._schema, self._batches = schema, batches

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        import pyarrow

        schema = self._schema()
        reader = pyarrow.RecordBatchReader.from_batches(schema, noticing(self._batches(schema)))
        return reader.__arrow_c_stream__(requested_schema)


class Batches(ArrowStream):
    """The batches of a lazy frame, made while they are read, until it is closed.

    A thread fills a queue from a sink, because only a sink reports every failure: an iterator over batches simply ends
    where one record makes polars panic.
    """

    def __init__(self, frame: Any) -> None:
        super().__init__(lambda: frame.clear().collect().to_arrow().schema, self._read)
        self._frame = frame
        self._closed = threading.Event()

    def close(self) -> None:
        """Make the reader fail, and the sink stop at its next batch."""
        self._closed.set()

    def _read(self, schema: Any) -> Iterator[Any]:
        """Yield the batches, all of the given schema: bytes of another type would be misread."""
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
            self.close()  # also if the reader stops early
        raise OSError("the frame was not read to its end")

    def _fill(self, ready: queue.Queue[Any]) -> None:
        """Put all batches of polars into the queue, and finally the outcome."""

        def offer(item: Any) -> bool:
            while not self._closed.is_set():
                try:
                    ready.put(item, timeout=_POLL_SECONDS)
                except queue.Full:
                    continue
                return False
            return True  # tells polars to stop

        try:
            self._frame.sink_batches(lambda frame: offer(frame.to_arrow().to_batches()))
            ended = _END
        except BaseException:  # noqa: BLE001  (a panic is not an Exception; its message may quote a cell)
            ended = _FAILED
        offer(ended)


_END, _FAILED = object(), object()
