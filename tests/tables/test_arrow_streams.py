"""Objects of other libraries that give an Arrow stream: nanoarrow, DataFusion, Ibis and narwhals."""

from __future__ import annotations

import datetime as dt
import io
import sqlite3
import traceback
from typing import Any

import datafusion
import duckdb
import ibis
import nanoarrow
import narwhals
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from _support.private import private_counts
from pyarrow import csv, json

import flexdp
from flexdp import DataError, InputError
from flexdp._release.api import prepare

SPEND = {"epsilon": 1, "delta": "1e-6"}
STAMP = dt.datetime(1969, 12, 31, 23, 59, 59, 999999)
TABLE = pa.table(
    {
        "x": pa.array([1.5, float("nan"), None, 7.0, -0.0], pa.float64()),
        "i": pa.array([1, 2, None, 2**62, 1], pa.int64()),
        "w": pa.array(["a", "A", None, "a ", "a"], pa.string()),
        "s": pa.array([STAMP, STAMP, None, dt.datetime(2024, 2, 29), STAMP], pa.timestamp("us")),
        "far": pa.array([2**62, 0, None, -(2**62), 0], pa.int64()).cast(pa.timestamp("s")),
        "d": pa.array([dt.date(2024, 2, 29)] * 4 + [None], pa.date32()),
        "m": pa.array([0, 86_400_000, None, -1, 0], pa.int64()).cast(pa.date64(), safe=False),
    }
)
QUESTIONS: dict[str, dict[str, Any]] = {
    "numbers": {"column": "x", "width": 5},
    "integers": {"column": "i"},
    "texts": {"column": "w"},
    "datetimes": {"column": "s", "width": "1 day"},
    "far datetimes": {"column": "far", "width": "1 day"},
    "months": {"column": "d", "width": "1 month"},
    "milliseconds": {"column": "m"},
    "groups": {"column": "x", "width": 5, "by": "w"},
    "units": {"column": "i", "width": 5, "unit": "w", "max_buckets_per_unit": 1},
}


class Plain:
    """The protocol and nothing else, so that the schema is known from the stream alone."""

    def __init__(self, table: pa.Table) -> None:
        self.table, self.opened = table, 0

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        self.opened += 1
        return self.table.__arrow_c_stream__(requested_schema)


VOUCHED = {"rows_are_records": True}
COMPUTED = ("datafusion", "ibis", "protocol")  # what such a stream computes cannot be seen
CONTEXT = datafusion.SessionContext()
SOURCES: dict[str, Any] = {
    "nanoarrow": nanoarrow.Array(TABLE),
    "datafusion": CONTEXT.from_arrow(TABLE),
    "ibis": ibis.memtable(TABLE.drop_columns(["m", "far"])),
    "narwhals": narwhals.from_native(TABLE),
    "narwhals lazy": narwhals.from_native(pl.from_arrow(TABLE.drop_columns(["m", "far"])).lazy()),
    "protocol": Plain(TABLE),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("question", QUESTIONS)
def test_streams_are_counted_as_their_table_is(source: str, question: str) -> None:
    parameters, vouched = QUESTIONS[question], VOUCHED if source in COMPUTED else {}
    if source in ("ibis", "narwhals lazy") and parameters["column"] in ("m", "far"):
        with pytest.raises(InputError):
            prepare(SOURCES[source], **parameters, **vouched)  # it has no such column
        return
    if parameters.get("unit") or parameters.get("by"):
        from _support.private import private_bars

        found = private_bars(prepare(SOURCES[source], **parameters, **vouched))
        wanted = private_bars(prepare(TABLE, **parameters))
        assert dict(zip(found.rows(slice(None)), found.counts.tolist(), strict=True)) == dict(
            zip(wanted.rows(slice(None)), wanted.counts.tolist(), strict=True)
        )
        return
    assert private_counts(SOURCES[source], **parameters, **vouched) == private_counts(TABLE, **parameters) != {}


@pytest.mark.parametrize("source", ["nanoarrow", "datafusion", "ibis", "protocol"])
def test_asked_answers_and_several_columns_of_a_stream(source: str) -> None:
    vouched = VOUCHED if source in COMPUTED else {}
    asked = flexdp.release(SOURCES[source], "x", epsilon=1000, delta=0, ask=["max"], **vouched)
    assert asked.max().value == pytest.approx(7, 1)
    both = flexdp.release(SOURCES[source], ["x", "i"], separately=True, width=5, **SPEND, **vouched)
    assert list(both) == ["x", "i"]


@pytest.mark.any_fault  # an object of the caller's raises RuntimeError
def test_a_stream_that_can_be_read_once_is_counted_once() -> None:
    source = nanoarrow.ArrayStream(TABLE)
    prepared = prepare(source, "x", width=5, **VOUCHED).with_budget(**SPEND)
    assert prepared.run().spec.columns == ("x",)
    with pytest.raises(DataError):
        prepared.run()
    with pytest.raises(InputError, match="has not been read already") as caught:
        prepare(source, "x", width=5, **VOUCHED)
    assert caught.value.__context__ is None


ROWS = pa.table(
    {
        "x": [float(i % 40) for i in range(4000)],
        "y": [i % 7 for i in range(4000)],
        "w": ["a", "b"] * 2000,
        "u": list(range(1000)) * 4,
    }
)


class Bound:
    """A stream that only the thread which made it can open, as that of a table in SQLite."""

    def __init__(self, table: pa.Table) -> None:
        self.schema = lambda: table.schema
        self.con = sqlite3.connect(":memory:")
        self.con.execute("CREATE TABLE t (x REAL, y INTEGER, w TEXT, u INTEGER)")
        self.con.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", [tuple(row.values()) for row in table.to_pylist()])

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        rows = self.con.execute("SELECT * FROM t").fetchall()
        table = pa.table(list(zip(*rows, strict=True)), schema=self.schema())
        return table.__arrow_c_stream__(requested_schema)


MANY: dict[str, dict[str, Any]] = {
    "buckets": {"column": "x", "width": 5},
    "separately": {"column": ["x", "y"], "width": 5, "separately": True},
    "units": {"column": ["x", "y"], "width": 5, "separately": True, "unit": "u", "max_buckets_per_unit": 3},
    "automatic": {"column": "x"},
    "automatic units": {"column": "x", "unit": "u", "max_buckets_per_unit": 3},
    "asked": {"column": "x", "width": 5, "ask": ["max", "mean"]},
    "groups": {"column": "x", "by": "w", "ask": ["median"]},
}


@pytest.mark.parametrize("question", MANY)
def test_streams_are_opened_in_the_thread_of_the_caller(question: str) -> None:
    source = Bound(ROWS)
    flexdp.release(source, epsilon=20, delta="1e-6", **MANY[question], **VOUCHED)
    assert flexdp.check(source, "x", **VOUCHED).columns[0].read == ROWS.num_rows
    source.con.close()


@pytest.mark.parametrize("question", MANY)
def test_a_reader_of_pyarrow_is_a_stream_that_can_be_read_once(question: str) -> None:
    reader = ROWS.to_reader(max_chunksize=100)
    with pytest.raises(InputError, match="whose rows need not be records"):
        flexdp.release(reader, epsilon=20, delta="1e-6", **MANY[question])
    assert flexdp.query(reader, "x", width=5, **VOUCHED), "which reads nothing"
    flexdp.release(reader, epsilon=20, delta="1e-6", **MANY[question], **VOUCHED)
    with pytest.raises(InputError, match="source can be read only once, and has been read already"):
        flexdp.release(reader, epsilon=20, delta="1e-6", **MANY[question], **VOUCHED)


def test_readers_are_counted_as_their_table_is() -> None:
    for question, parameters in QUESTIONS.items():
        if "unit" not in parameters and "by" not in parameters:
            found = private_counts(TABLE.to_reader(), **parameters, **VOUCHED)
            assert found == private_counts(TABLE, **parameters) != {}, question
    assert flexdp.check(ROWS.to_reader(), **VOUCHED).records == ROWS.num_rows


def test_readers_of_text_files_are_refused_because_cells_decide_their_types() -> None:
    readers = [csv.open_csv(io.BytesIO(b"x\n1\n")), json.open_json(io.BytesIO(b'{"x": 1}\n'))]
    for reader in readers:
        with pytest.raises(InputError, match="is a reader of a text file: pyarrow infers column types from the data"):
            prepare(reader, "x", width=5, **VOUCHED)


@pytest.mark.any_fault
def test_a_failure_to_open_a_stream_quotes_nothing() -> None:
    class Failing(Plain):
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            raise ValueError("QUOKKA")

    source: Any = Failing(TABLE)
    source.schema = lambda: TABLE.schema
    for options in ({"width": 5}, {}):
        prepared = prepare(source, "x", **options, **VOUCHED).with_budget(**SPEND)
        with pytest.raises(DataError) as caught:
            prepared.run()
        assert "QUOKKA" not in "".join(traceback.format_exception(caught.value))


class Once(Plain):
    """A stream that is silently empty when it is read again."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        given = super().__arrow_c_stream__(requested_schema)
        self.table = self.table.slice(0, 0)
        return given


def test_a_stream_that_is_empty_the_second_time_is_no_empty_table() -> None:
    prepared = prepare(Once(TABLE), "x", width=5, **VOUCHED).with_budget(**SPEND)
    prepared.run()
    with pytest.raises(DataError):
        prepared.run()


class Changing(Plain):
    """A stream with other types when it is read again."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        given = super().__arrow_c_stream__(requested_schema)
        self.table = TABLE.set_column(0, "x", TABLE["x"].cast(pa.float32()))
        return given


def test_a_stream_that_changes_its_types_is_the_one_error() -> None:
    prepared = prepare(Changing(TABLE), "x", width=5, **VOUCHED).with_budget(**SPEND)
    prepared.run()
    with pytest.raises(DataError):
        prepared.run()


def test_failures_quote_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """A query that fails at one record fails like any other, with no word of its engine."""
    words = CONTEXT.from_arrow(pa.table({"w": ["1", "QUOKKA"]}))
    CONTEXT.register_table("words", words)
    prepared = prepare(CONTEXT.sql("SELECT CAST(w AS INT) AS x FROM words"), "x", width=5, **VOUCHED).with_budget(
        **SPEND
    )
    with pytest.raises(DataError) as caught:
        prepared.run()
    said = "".join(traceback.format_exception(caught.value)) + "".join(capfd.readouterr())
    assert "QUOKKA" not in said
    assert caught.value.__context__ is None
    CONTEXT.deregister_table("words")


def test_preparing_opens_no_stream_where_the_schema_is_known() -> None:
    source: Any = Plain(TABLE)
    source.schema = lambda: TABLE.schema
    prepared = prepare(source, "x", width=5, **VOUCHED)
    assert source.opened == 0
    prepared.with_budget(**SPEND).run()
    assert source.opened == 1


def test_narwhals_does_not_hide_that_pandas_infers_types() -> None:
    native = pd.DataFrame({"w": ["a", "b"], "x": [1, 2]})
    frame = narwhals.from_native(native)
    for column in native.columns:
        (question,) = prepare(frame, column, kind="text").questions
        (declared,) = question.counting.columns
        assert declared.inferred and declared.kind is None
    with pytest.raises(InputError, match="pandas infers"):
        prepare(frame, "x", by="w")
    with pytest.raises(InputError, match="pandas infers"):
        flexdp.summary(frame, epsilon=1, delta="1e-6")
    assert private_counts(frame, "w", kind="text") == {"a": 1, "b": 1}
    assert private_counts(frame, "w") == private_counts(native, "w") == {}, "numbers, as long as nobody says otherwise"


def test_other_frames_with_inferred_types_are_refused() -> None:
    source: Any = Plain(TABLE)
    source.iloc = None
    with pytest.raises(InputError, match="inferred from cells"):
        prepare(source, "x", width=5)
    with pytest.raises(InputError, match="cannot be opened"):
        prepare(nanoarrow.Array([1, 2], nanoarrow.int64()), "x", width=5)


@pytest.mark.parametrize("source", COMPUTED)
def test_a_stream_that_may_be_computed_is_refused_unless_vouched_for(source: str) -> None:
    """Control: with one more record, such a query may move every row."""
    with pytest.raises(InputError, match="whose rows need not be records"):
        prepare(SOURCES[source], "x", width=5)
    for values, top in (([1.0, 2.0, 3.0], 1.0), ([1.0, 2.0, 3.0, 94.0], 69.0)):
        CONTEXT.register_table("moving", CONTEXT.from_arrow(pa.table({"x": values})))
        moved = CONTEXT.sql("SELECT x - avg(x) OVER () AS x FROM moving")
        assert max(private_counts(moved, "x", width=2, **VOUCHED)) == top
        CONTEXT.deregister_table("moving")


def test_a_stream_of_nanoarrow_is_refused_whatever_it_wraps() -> None:
    """It hands over what its producer computes; an array has been computed, and holds its rows."""
    moving = CONTEXT.sql("SELECT x - avg(x) OVER () AS x FROM (VALUES (1.0), (2.0), (6.0)) AS t (x)")
    relation = duckdb.sql("SELECT x - avg(x) OVER () AS x FROM (VALUES (1.0), (2.0), (6.0)) AS t (x)")
    for producer in (moving, relation, TABLE):
        for wrap in (nanoarrow.ArrayStream, nanoarrow.c_array_stream):
            with pytest.raises(InputError, match="rows need not be records"):
                prepare(wrap(producer), "x", width=5)
            assert prepare(wrap(producer), "x", width=5, **VOUCHED).questions
    assert private_counts(nanoarrow.Array(TABLE), "x", width=5) == private_counts(TABLE, "x", width=5) != {}
    stream = nanoarrow.ArrayStream(TABLE)
    assert private_counts(stream.read_all(), "x", width=5) == private_counts(TABLE, "x", width=5)
