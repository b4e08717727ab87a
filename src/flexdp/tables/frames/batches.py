"""Batches of a polars lazy frame as one Arrow stream."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any

__all__ = ["Batches"]

_READY = 4  # batches that wait to be read, so that the engine that makes them never runs far ahead
_POLL_SECONDS = 0.1


class Batches:
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
