"""Texts beyond the public limit of 65 536 bytes: never read, and no other record is affected."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from _support.private import private_bars

import flexdp
from flexdp._release.api import prepare
from flexdp.tables.engines.duckdb import session

LIMIT = 65_536
MEMORY = "40MB"  # little memory, so that a cell of half as much is huge
HUGE = 20_000_000
ROWS = 3000
WORDS = ["red", "green", "blue"]


def bars_of(prepared: Any) -> dict[Any, int]:
    bars = private_bars(prepared)
    return dict(zip(bars.rows(slice(None)), bars.counts.tolist(), strict=True))


def small_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(session._SETTINGS, "memory_limit", MEMORY)
    monkeypatch.setitem(session._SETTINGS, "threads", "2")


def table(huge: int = 0, rows: int = ROWS) -> pa.Table:
    """Short texts, followed by a few that are huge together."""
    texts = [WORDS[i % 3] for i in range(rows)] + [chr(65 + i) * (HUGE // huge) for i in range(huge)]
    numbers = [float(i % 50) for i in range(len(texts))]
    return pa.table(
        {"t": pa.array(texts, pa.large_string()), "x": numbers, "g": [WORDS[i % 2] for i in range(len(texts))]}
    )


def parquet(name: str, **options: Any) -> Callable[[Path, pa.Table], Any]:
    def make(folder: Path, rows: pa.Table) -> Any:
        path = folder / f"{name}-{len(rows)}.parquet"
        pq.write_table(rows, path, **options)
        return path

    return make


SOURCES: dict[str, Callable[[Path, pa.Table], Any]] = {
    "parquet": parquet("plain", compression="none", use_dictionary=False),
    "parquet, compressed": parquet("snappy", compression="snappy", use_dictionary=False),
    "parquet, dictionary": parquet("dictionary", compression="none", dictionary_pagesize_limit=2**30),
    "pyarrow": lambda _folder, rows: rows,
    "pyarrow, views": lambda _folder, rows: rows.set_column(0, "t", rows["t"].cast(pa.string_view())),
    "pyarrow, dictionary": lambda _folder, rows: rows.set_column(0, "t", rows["t"].dictionary_encode()),
    "polars": lambda _folder, rows: pl.from_arrow(rows),
    "lazy": lambda _folder, rows: pl.from_arrow(rows).lazy(),
}
QUESTIONS: dict[str, dict[str, Any]] = {
    "value": {"column": "t"},
    "group": {"column": "x", "width": 5, "by": "t"},
    "unit": {"column": "x", "width": 5, "unit": "t", "max_buckets_per_unit": 2},
    "number": {"column": "t", "kind": "number", "width": 5},
}


@pytest.mark.parametrize("source", SOURCES)
def test_a_huge_cell_changes_no_other_record_s_bucket(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither one alone nor several at once: the engine counts the same with and without them."""
    small_engine(monkeypatch)
    make = SOURCES[source]
    without, alone, several = (make(tmp_path, table(huge)) for huge in (0, 1, 3))
    for question in QUESTIONS.values():
        expected = bars_of(prepare(without, **question))
        assert bars_of(prepare(alone, **question)) == expected
        assert bars_of(prepare(several, **question)) == expected


def test_a_huge_cell_is_not_copied_for_several_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_engine(monkeypatch)
    found = []
    for rows in (table(), table(3)):
        source = SOURCES["parquet"](tmp_path, rows)
        prepared = prepare(source, ["x", "g"], separately=True, width={"x": 5}, unit="t", max_buckets_per_unit=2)
        counted = prepared.questions[0].table.count([question.counting for question in prepared.questions])
        found.append([sorted(bars.counts.tolist()) for bars in counted])
    assert found[0] == found[1]


def zeros(length: int) -> str:
    """The number 7, written at that length."""
    return "7".zfill(length)


TEXTS = ["a", "x" * LIMIT, "x" * (LIMIT + 1), "x" * (LIMIT - 1) + "é", "é" * (LIMIT // 2), "é" * (LIMIT // 2) + "x"]
READ = {("a",): 1, ("x" * LIMIT,): 1, ("é" * (LIMIT // 2),): 1}
NUMBERS = ["7", zeros(LIMIT), zeros(LIMIT + 1), " " * (LIMIT - 1) + "7", " " * LIMIT + "7"]


def undeclared(form: str, folder: Path, cells: list[str]) -> dict[str, Any]:
    """A source of these cells that declares no type, and the name of its column."""
    if form == "csv":
        path = folder / "t.csv"
        path.write_text("x,t\n" + "".join(f"1,{cell}\n" for cell in cells))
    elif form == "quoted csv":
        path = folder / "q.csv"
        path.write_text("x,t\n" + "".join(f'1,"{cell}"\n' for cell in cells))
    elif form == "json lines":
        path = folder / "t.jsonl"
        path.write_text("".join(json.dumps({"t": cell}, ensure_ascii=False) + "\n" for cell in cells))
    elif form == "list":
        return {"source": cells}
    elif form == "category":
        return {"source": pd.DataFrame({"t": pd.Categorical(cells)}), "column": "t"}
    else:
        return {"source": pd.DataFrame({"t": pd.Series(cells, dtype=object)}), "column": "t"}
    return {"source": path, "column": "t"}


@pytest.mark.parametrize("form", ["csv", "quoted csv", "json lines", "list", "objects", "category"])
def test_the_limit_is_the_same_where_nothing_is_declared(form: str, tmp_path: Path) -> None:
    assert bars_of(prepare(**undeclared(form, tmp_path, TEXTS), kind="text")) == READ
    assert bars_of(prepare(**undeclared(form, tmp_path, NUMBERS), kind="number", width=1)) == {(7,): 3}
    assert bars_of(prepare(**undeclared(form, tmp_path, NUMBERS[3:]), kind="integer", width=1)) == {(7,): 1}
    days = [" " * (LIMIT - 10) + "2024-02-29", " " * (LIMIT - 9) + "2024-02-29", "2024-02-29"]
    assert bars_of(prepare(**undeclared(form, tmp_path, days), kind="date")) == {(19782,): 2}


def test_a_declared_text_is_read_as_a_number_up_to_the_same_length() -> None:
    cells = pa.table({"t": NUMBERS})
    assert bars_of(prepare(cells, "t", kind="number", width=1)) == {(7,): 3}
    assert bars_of(prepare(pl.from_arrow(cells), "t", kind="integer", width=1)) == {(7,): 2}


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le", "UTF-16be"])
def test_sqlite_counts_the_bytes_of_utf_8_in_every_encoding(encoding: str) -> None:
    with closing(sqlite3.connect(":memory:")) as con:
        con.execute(f"PRAGMA encoding = '{encoding}'")
        con.execute("CREATE TABLE people (t TEXT, x REAL)")
        con.executemany("INSERT INTO people VALUES (?, 1.0)", [(text,) for text in TEXTS])
        source = (con, "people")
        assert bars_of(prepare(source, "t")) == READ
        assert bars_of(prepare(source, "x", width=1, by="t")) == {(text, 1): 1 for (text,) in READ}
        assert bars_of(prepare(source, "x", width=1, unit="t", max_buckets_per_unit=1)) == {(1,): len(READ)}


def test_the_certificate_states_the_limit() -> None:
    released = flexdp.release(["a"] * 100, kind="text", epsilon=1, delta="1e-6")
    assert "texts of more than 65 536 bytes in UTF-8" in str(released.certificate())
