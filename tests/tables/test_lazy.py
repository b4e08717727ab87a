"""polars lazy frames: read to the end or not at all, never far ahead, with nothing left running."""

from __future__ import annotations

import itertools
import threading
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from _support.private import private_counts
from _support.waiting import counting_threads, sigint_when, wait_for
from polars.io.plugins import register_io_source

from flexdp import DataError, InputError
from flexdp._release.api import prepare
from flexdp.tables.frames.source import Batches
from flexdp.tables.interrupts import run

ROWS = 300_000
MONTH = pl.col("t").dt.truncate("1mo").dt.year().cast(pl.Int64).alias("y")  # panics far from the calendar


def datetimes(last: int) -> pl.LazyFrame:
    ticks = np.arange(ROWS, dtype=np.int64) % 300 * 86_400_000
    ticks[-1] = last
    return pl.LazyFrame({"t": pl.Series(ticks).cast(pl.Datetime("ms"))}).select(MONTH)


def nothing_is_read_on() -> None:
    wait_for(lambda: not counting_threads())


def test_a_record_that_makes_polars_panic_is_a_failure_and_not_the_end_of_the_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spoken: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", spoken.append)
    assert private_counts(datetimes(0), "y") == {1970: ROWS}
    prepared = prepare(datetimes(2**62), "y").with_budget(1, "1e-6")
    with pytest.raises(DataError) as caught:
        prepared.run()
    assert caught.value.__context__ is None
    nothing_is_read_on()
    assert not spoken


def endless(made: list[int]) -> pl.LazyFrame:
    """An endless frame that records how many of its batches were made."""

    def batches(*_: object) -> Iterator[pl.DataFrame]:
        for place in itertools.count():
            made.append(place)
            yield pl.DataFrame({"x": np.zeros(50_000)})

    return register_io_source(batches, schema={"x": pl.Float64})


def test_batches_are_made_no_faster_than_they_are_read() -> None:
    made: list[int] = []
    source = Batches(endless(made))
    reader = pa.RecordBatchReader.from_stream(source)
    assert reader.read_next_batch().num_rows
    before = -1
    while before < len(made) < 500:  # until no more are made, or too many
        before = len(made)
        time.sleep(0.1)
    assert len(made) < 500
    source.close()
    nothing_is_read_on()
    with pytest.raises(OSError, match="not read to its end"):
        reader.read_all()


def test_a_reader_that_is_dropped_ends_the_sink() -> None:
    made: list[int] = []
    reader = pa.RecordBatchReader.from_stream(Batches(endless(made)))
    reader.read_next_batch()
    reader.close()
    del reader
    nothing_is_read_on()
    assert len(made) < 500


def test_ctrl_c_ends_the_sink() -> None:
    made: list[int] = []
    prepared = prepare(endless(made), "x", width=5, rows_are_records=True).with_budget(1, "1e-6")
    with pytest.raises(KeyboardInterrupt), sigint_when(lambda: len(made) > 3):
        prepared.run()
    nothing_is_read_on()


def test_batches_of_another_type_than_declared_are_a_failure() -> None:
    """Their bytes would be misread, and memory beyond them read."""
    declared = pl.LazyFrame({"x": np.arange(200_000)})
    for lie in (
        lambda frame: frame.with_columns(pl.col("x").cast(pl.Int8, strict=False).fill_null(7)),
        lambda frame: frame.rename({"x": "y"}),
    ):
        with pytest.raises(DataError):
            private_counts(declared.map_batches(lie, validate_output_schema=False), "x", rows_are_records=True)
    same = declared.map_batches(lambda frame: frame)
    assert sum(private_counts(same, "x", width=10**6, rows_are_records=True).values()) == 200_000


def test_stopping_says_nothing_where_the_connection_is_closed_already(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine the count ends, and its connection is closed, between two attempts at stopping it."""
    spoken: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", spoken.append)
    attempts: list[int] = []
    over = threading.Event()

    def interrupt() -> None:
        attempts.append(1)
        if len(attempts) > 2:
            over.set()
        raise OSError("closed")

    with pytest.raises(KeyboardInterrupt), sigint_when(lambda: counting_threads()):
        run(over.wait, interrupt)
    wait_for(lambda: spoken or len(attempts) > 2)
    over.set()
    nothing_is_read_on()
    assert not spoken


def test_lazy_frames_of_an_older_polars_are_refused_by_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(pl.LazyFrame, "sink_batches")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # polars warns whoever asks a lazy frame for its schema
        with pytest.raises(InputError) as refusal:
            prepare(pl.LazyFrame({"a": [1]}), "a")
    assert str(refusal.value) == (
        "source is a LazyFrame of a polars version below 1.34, which cannot stream it in batches. Run pip install "
        "'polars>=1.34', or pass the result of collect()."
    )
    assert private_counts(pl.DataFrame({"a": [1]}), "a") == {1: 1}
