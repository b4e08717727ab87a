"""Polars lazy frames as Arrow streams."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any

from flexdp._core.faults import noticing

__all__ = ["Batches"]

_READY = 4  # batches in the queue, so that polars never runs far ahead of the reader
_POLL_SECONDS = 0.1


class Batches:
    """The batches of a lazy frame as one Arrow stream, made while they are read, until it is closed.

    A thread fills a queue from a sink, because only a sink reports every failure: an iterator over batches simply ends
    where one record makes polars panic.
    """

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self._closed = threading.Event()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        import pyarrow

        schema = self._frame.clear().collect().to_arrow().schema
        reader = pyarrow.RecordBatchReader.from_batches(schema, noticing(self._read(schema)))
        return reader.__arrow_c_stream__(requested_schema)

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
