"""Lazy frames of polars: read to the end or not at all, never far ahead, and nothing runs on after."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from conftest import private_counts
from polars.io.plugins import register_io_source

from flexdp import DataError
from flexdp.release import prepare
from flexdp.tables.frames import _Batches

ROWS = 300_000
MONTH = pl.col("t").dt.truncate("1mo").dt.year().cast(pl.Int64).alias("y")  # panics far from the calendar


def moments(last: int) -> pl.LazyFrame:
    ticks = np.arange(ROWS, dtype=np.int64) % 300 * 86_400_000
    ticks[-1] = last
    return pl.LazyFrame({"t": pl.Series(ticks).cast(pl.Datetime("ms"))}).select(MONTH)


def still_reading() -> list[str]:
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        left = [thread.name for thread in threading.enumerate() if thread.name.startswith("flexdp")]
        if not left:
            return []
        time.sleep(0.05)
    return left


def test_a_record_that_makes_polars_panic_is_a_failure_and_not_the_end_of_the_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spoken: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", spoken.append)
    assert private_counts(moments(0), "y") == {1970: ROWS}
    prepared = prepare(moments(2**62), "y").spend(1, "1e-6")
    with pytest.raises(DataError) as caught:
        prepared.run()
    assert caught.value.__context__ is None
    assert not still_reading()
    assert not spoken


def endless(made: list[int], pause: float = 0) -> pl.LazyFrame:
    """A frame that notes how many of its batches were made."""

    def batches(*_: object) -> Iterator[pl.DataFrame]:
        for place in range(10_000):
            made.append(place)
            time.sleep(pause)
            yield pl.DataFrame({"x": np.zeros(50_000)})

    return register_io_source(batches, schema={"x": pl.Float64})


def test_batches_are_made_no_faster_than_they_are_read() -> None:
    made: list[int] = []
    source = _Batches(endless(made))
    reader = pa.RecordBatchReader.from_stream(source)
    assert reader.read_next_batch().num_rows
    time.sleep(0.5)
    assert len(made) < 500
    source.close()
    assert not still_reading()
    with pytest.raises(OSError, match="not read to its end"):
        reader.read_all()


def test_a_reader_that_is_dropped_ends_the_sink() -> None:
    made: list[int] = []
    reader = pa.RecordBatchReader.from_stream(_Batches(endless(made)))
    reader.read_next_batch()
    reader.close()
    del reader
    assert not still_reading()
    assert len(made) < 500


def test_ctrl_c_ends_the_sink() -> None:
    made: list[int] = []
    prepared = prepare(endless(made, pause=0.01), "x", width=5).spend(1, "1e-6")
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        prepared.run()
    assert not still_reading()
    assert 0 < len(made) < 1000


def test_batches_of_another_type_than_declared_are_a_failure() -> None:
    """Their bytes would be read as what they are not, and memory beyond them."""
    declared = pl.LazyFrame({"x": np.arange(200_000)})
    for lie in (
        lambda frame: frame.with_columns(pl.col("x").cast(pl.Int8, strict=False).fill_null(7)),
        lambda frame: frame.rename({"x": "y"}),
    ):
        with pytest.raises(DataError):
            private_counts(declared.map_batches(lie, validate_output_schema=False), "x")
    assert sum(private_counts(declared.map_batches(lambda frame: frame), "x", width=10**6).values()) == 200_000
