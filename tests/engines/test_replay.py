"""Replay of the whole pipeline on every engine: one strange record or unit more, and nothing else may differ.

Noise and salt are frozen, so that whatever differs is the table's doing. With given buckets, those of the changed unit
move by one each, at most as many as a unit may count in; every other byte of the document, the page, the query, the
statements, the log, the warnings, the error and the exit code is the same. Automatic buckets and asked answers share
their bits, so one record may move all their numbers; what is not a number must stay, and a record that counts nowhere
changes nothing at all. ``make deep`` tries every record on every source.
"""

from __future__ import annotations

import datetime as dt
import functools
import json
import logging
import math
import os
import sqlite3
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from _support import hostile
from _support.corpus import OBJECTS
from _support.hostile import COLUMNS, Row
from _support.replay import ASKED, CASES, Observed, Replay, Source, difference, same_shape

import flexdp.tables
from engines.conftest import SQL_TYPES, Cells, arrow, make_engine
from flexdp import DataError
from flexdp.histogram import KeyedHistogram

pytestmark = pytest.mark.own_engines

DEEP = os.environ.get("FLEXDP_DEEP") == "1"
ROWS = 60
SEED, MORE = 11, 40 if DEEP else 5  # records drawn beside those of the corpus
THOROUGH = 6  # every so many records, the query and the page are compared, too
FAMILIES = (
    ("texts", "groups", "where"),
    ("width", "units", "exact", "bounded", "relative", "edges", "columns", "largest", "certified"),
    ("integers", "months", "hours", "exact integers", "zoned", "flags"),
)
assert {name for family in FAMILIES for name in family} == set(CASES)
SERVED = ("duckdb", "sqlite", "postgres", "pg8000", "mariadb", "clickhouse", "spark")
LOCAL = (
    "numpy", "list", "dict", "pandas", "pandas objects", "polars", "lazy", "pyarrow", "relation", "csv", "jsonl",
    "json", "parquet", "arrow", "xlsx", "sqlite file", "duckdb file",
)  # fmt: skip
SOURCES = [f"local {name}" for name in LOCAL] + list(SERVED)


# --- sources ------------------------------------------------------------------------------------------------------


def cells_of(rows: Sequence[Row], columns: Sequence[str] = tuple(COLUMNS)) -> Cells:
    typed = [row for row in rows if isinstance(row, dict)]
    return {name: (COLUMNS[name], [row.get(name) for row in typed]) for name in columns}


def written(cell: Any) -> str:
    if isinstance(cell, bool):
        return str(cell).lower()
    return "" if cell is None else cell.isoformat() if isinstance(cell, dt.date) else str(cell)


def csv_bytes(rows: Sequence[Row]) -> bytes:
    def line(row: Row) -> bytes:
        return row if isinstance(row, bytes) else hostile.csv_line(written(row.get(name)) for name in COLUMNS)

    return ",".join(COLUMNS).encode() + b"\n" + b"".join(map(line, rows))


def json_row(row: Row) -> bytes:
    if isinstance(row, bytes):
        return row
    cells = {name: cell.isoformat() if isinstance(cell, dt.date) else cell for name, cell in row.items()}
    return json.dumps(cells).encode() + b"\n"


def json_array(rows: Sequence[Row]) -> bytes:
    return b"[\n" + b",\n".join(json_row(row).strip(b"\n") for row in rows) + b"\n]\n"


def sheet(path: Path, rows: Sequence[Row]) -> None:
    book = openpyxl.Workbook()
    book.active.append(list(COLUMNS))
    for row in rows:
        assert isinstance(row, dict)
        book.active.append([row.get(name) for name in COLUMNS])
    book.save(path)


def sqlite_file(path: Path, rows: Sequence[Row]) -> None:
    types = SQL_TYPES["sqlite"]
    names = [name for name, kind in COLUMNS.items() if kind in types]
    with closing(sqlite3.connect(path)) as con:
        con.execute(f"CREATE TABLE t ({', '.join(f'{name} {types[COLUMNS[name]]}' for name in names)})")
        values = [[row.get(name) for name in names] for row in rows if isinstance(row, dict)]
        dates = [[cell.isoformat() if isinstance(cell, dt.date) else cell for cell in row] for row in values]
        con.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(names))})", dates)
        con.commit()


def duckdb_file(path: Path, rows: Sequence[Row]) -> None:
    with closing(duckdb.connect(str(path))) as con:
        con.register("loading", arrow(cells_of(rows)))
        con.execute("CREATE TABLE t AS FROM loading")


def no_line_ends(_column: str, cell: Any) -> bool:
    return not isinstance(cell, str) or not {"\r", "\n"} & set(cell)


def no_nul(_column: str, cell: Any) -> bool:
    return not isinstance(cell, str) or "\0" not in cell


def in_sheets(_column: str, cell: Any) -> bool:
    """What openpyxl can write."""
    if isinstance(cell, str):
        return len(cell) < 32_000 and not any(ord(letter) < 32 or ord(letter) == 127 for letter in cell)
    if isinstance(cell, dt.datetime) and cell.tzinfo is not None:
        return False
    if isinstance(cell, dt.date):
        return cell.year >= 1900
    return not isinstance(cell, float) or math.isfinite(cell)


def objects() -> list[tuple[str, Row]]:
    return [(f"object {place}", dict.fromkeys(COLUMNS, each)) for place, each in enumerate(OBJECTS)]


def local(name: str, folder: Path) -> Source:
    """A table in memory or in a file; each is written to a folder of its own."""
    places = (folder / f"{i}" for i in count())

    def memory(make: Callable[[Sequence[Row]], Any], **options: Any) -> Source:
        return Source(name, lambda rows: (make(rows), ""), **options)

    def file(
        ending: str, write: Callable[[Path, Sequence[Row]], object], *, table: bool = False, **options: Any
    ) -> Any:
        def load(rows: Sequence[Row]) -> tuple[Any, str]:
            place = next(places)
            place.mkdir()
            write(place / f"t.{ending}", rows)
            path = place / f"t.{ending}"
            return ((path, "t") if table else path), str(place)

        def words(source: Any) -> list[str]:
            return [str(source[0]), "--table", source[1]] if table else [str(source)]

        return Source(name, load, words=words, **options)

    def lists(rows: Sequence[Row]) -> dict[str, list[Any]]:
        return {column: cells for column, (_, cells) in cells_of(rows).items()}

    def relation(rows: Sequence[Row]) -> Any:
        con = duckdb.connect()
        con.register("loading", arrow(cells_of(rows)))
        con.execute("CREATE TABLE t AS FROM loading")
        return con.table("t")

    no_zones = frozenset(COLUMNS) - {"z"}
    strange: dict[str, Any] = {"undeclared": True, "hostile": objects, "holds": no_zones}
    return {
        "numpy": lambda: memory(
            lambda rows: np.array([math.nan if x is None else x for x in lists(rows)["x"]]), alone="x"
        ),
        "list": lambda: memory(lambda rows: lists(rows)["x"], alone="x", hostile=objects),
        "dict": lambda: memory(lists, **strange),
        "pandas": lambda: memory(lambda rows: arrow(cells_of(rows)).to_pandas(types_mapper=pd.ArrowDtype)),
        "pandas objects": lambda: memory(lambda rows: pd.DataFrame(lists(rows), dtype=object), **strange),
        "polars": lambda: memory(lambda rows: pl.from_arrow(arrow(cells_of(rows)))),
        "lazy": lambda: memory(lambda rows: pl.from_arrow(arrow(cells_of(rows))).lazy()),
        "pyarrow": lambda: memory(lambda rows: arrow(cells_of(rows))),
        "relation": lambda: memory(relation),
        "csv": lambda: file(
            "csv", lambda path, rows: path.write_bytes(csv_bytes(rows)), undeclared=True, fits=no_line_ends,
            hostile=lambda: hostile.lines(SEED, MORE),
        ),
        "jsonl": lambda: file(
            "jsonl", lambda path, rows: path.write_bytes(b"".join(map(json_row, rows))), undeclared=True,
            hostile=lambda: hostile.json_lines(SEED, MORE),
        ),
        "json": lambda: file(
            "json", lambda path, rows: path.write_bytes(json_array(rows)), undeclared=True, hostile=hostile.elements
        ),
        "parquet": lambda: file("parquet", lambda path, rows: pq.write_table(arrow(cells_of(rows)), path)),
        "arrow": lambda: file("arrow", lambda path, rows: feather.write_feather(arrow(cells_of(rows)), path)),
        "xlsx": lambda: file(
            "xlsx", sheet, undeclared=True, holds=no_zones, fits=in_sheets, hostile=hostile.sheet_rows
        ),
        "sqlite file": lambda: file("db", sqlite_file, table=True, holds=frozenset(COLUMNS) - {"s", "z"}),
        "duckdb file": lambda: file("duckdb", duckdb_file, table=True),
    }[name]()  # fmt: skip


def served(name: str, request: pytest.FixtureRequest) -> Source:
    """A table of an engine of the contract suite."""
    engine = make_engine(name, request)
    holds = frozenset(column for column, kind in COLUMNS.items() if engine.holds(kind))

    def load(rows: Sequence[Row]) -> tuple[Any, str]:
        source = engine.load(cells_of(rows, [column for column in COLUMNS if column in holds]))
        return source, source[1] if isinstance(source, tuple) else ""

    def fits(column: str, cell: Any) -> bool:
        return engine.fits(cell) and (name not in ("postgres", "pg8000") or no_nul(column, cell))

    return Source(name, load, holds=holds, fits=fits, parameters=engine.parameters)


@pytest.fixture
def replay(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Replay:
    return Replay(monkeypatch, capfd, tmp_path)


@pytest.fixture
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Source:
    name: str = request.param
    made = local(name.removeprefix("local "), tmp_path) if name.startswith("local ") else served(name, request)
    return replace(made, label=name)


# --- the replay ---------------------------------------------------------------------------------------------------


def neighbours(source: Source) -> list[tuple[str, list[Row], list[Row]]]:
    """Each strange record with a name, alone and as a unit with the two that follow."""
    typed = hostile.records(SEED, MORE)
    found: list[tuple[str, list[Row], list[Row]]] = []
    for place, row in enumerate(typed):
        found.append((f"record {place}", [row], hostile.unit_of(row, [*typed, *typed][place + 1 : place + 3])))
    found += [(name, [row], [row]) for name, row in source.hostile()]
    return [(name, [*map(source.row, alone)], [*map(source.row, unit)]) for name, alone, unit in found]


def within(rows: Sequence[Row], more: Sequence[Row], place: int) -> list[Row]:
    """The table with records more: in front, in the middle or at the end."""
    at = (0, ROWS // 2, ROWS)[place % 3]
    return [*rows[:at], *more, *rows[at:]]


def chosen(source: Source, items: list[Any]) -> list[tuple[int, Any, list[str]]]:
    """The records to try with a case of each family in turn; ``make test`` tries a quarter of them, each in one case.

    Sources begin at different places, so that all of them together try every record, in every family.
    """
    families = [[name for name in family if source.takes(CASES[name])] for family in FAMILIES]
    families = [family for family in families if family]
    start = SOURCES.index(source.label)
    if source.name == "spark" and not DEEP:  # seconds a statement
        return [
            (place, item, [case])
            for place, (item, case) in enumerate(zip(items[5::30], ("units", "width"), strict=False))
        ]
    out = []
    for place, item in enumerate(items):
        cases = [family[(place + start) % len(family)] for family in families]
        if DEEP:
            out.append((place, item, cases))
        elif (place + start) % 8 == 0:
            out.append((place, item, [cases[(place // 8 + start) % len(cases)]]))
    return out


def bound_of(case: dict[str, Any]) -> int:
    return int(case.get("max_buckets_per_unit", 1))


@pytest.mark.parametrize("source", SOURCES, indirect=True)
def test_only_the_changed_unit_s_buckets_move(source: Source, replay: Replay) -> None:
    calm = [source.row(row) for row in hostile.calm(ROWS)]
    table = source.load(calm)
    moved = False

    @functools.cache
    def before(name: str, noise: str, thorough: bool) -> Observed:
        replay.freeze(noise)
        return replay.release(source, table, CASES[name], thorough=thorough)

    for number, (place, (_, alone, unit), names) in enumerate(chosen(source, neighbours(source))):
        loaded: dict[bool, tuple[Any, str]] = {}
        for name in names:
            case, whole = CASES[name], "unit" in CASES[name]
            if whole not in loaded:
                loaded[whole] = source.load(within(calm, unit if whole else alone, place))
            noise, thorough = "most" if number % 5 == 4 else "least", number % THOROUGH == 0
            replay.freeze(noise)
            base = before(name, noise, thorough)
            assert "error" not in base.heard
            after = replay.release(source, loaded[whole], case, thorough=thorough)
            moved |= any(difference(base, after, bound_of(case)))
    assert moved or source.name == "spark"  # control: records that count were among them


@pytest.mark.parametrize("source", [f"local {name}" for name in LOCAL[9:]], indirect=True)
def test_commands_print_and_end_alike(source: Source, replay: Replay) -> None:
    """The same through the command line: output, files, standard error and exit code."""
    calm = [source.row(row) for row in hostile.calm(ROWS)]
    table = source.load(calm)
    spoken = [name for name in CASES if source.takes(CASES[name]) and name != "columns"]

    @functools.cache
    def before(name: str, noise: str) -> Observed:
        replay.freeze(noise)
        return replay.run(source, table, CASES[name])

    listed = neighbours(source)
    for place, (_, alone, unit) in enumerate(listed if DEEP else listed[SOURCES.index(source.label) % 9 :: 9]):
        name = spoken[(place + SOURCES.index(source.label)) % len(spoken)]
        case, noise = CASES[name], "most" if place % 2 and name != "exact" else "least"
        replay.freeze(noise)
        after = replay.run(source, source.load(within(calm, unit if "unit" in case else alone, place)), case)
        difference(before(name, noise), after, bound_of(case))
        assert after.heard["code"] == 0


@pytest.mark.parametrize("source", [name for name in SOURCES if name != "spark" or DEEP], indirect=True)
def test_choices_and_answers_keep_their_shape(source: Source, replay: Replay) -> None:
    calm = [source.row(row) for row in hostile.calm(2 * ROWS)]
    table = source.load(calm)
    items = neighbours(source)
    counted = set()
    cases = [case for case in ASKED.values() if source.takes(case)]
    for case in cases if DEEP else cases[SOURCES.index(source.label) % len(cases) :][:1]:
        replay.freeze("bits")
        base = replay.release(source, table, case)
        exact = {"column": case["column"], "exact": True}
        replay.freeze("least")
        plain = replay.release(source, table, exact, thorough=False).bars
        for place, (_, alone, unit) in enumerate(items if DEEP else items[SOURCES.index(source.label) :: 24][:1]):
            more = source.load(within(calm, unit if "unit" in case else alone, place))
            replay.freeze("least")
            counts = replay.release(source, more, exact, thorough=False).bars != plain
            counted.add(counts)
            replay.freeze("bits")
            after = replay.release(source, more, case)
            same_shape(base, after)
            if not counts:
                assert after == base
    assert counted == {True, False} or not DEEP  # control


# --- controls: planted faults, each of which the replay must catch -------------------------------------------------


def twice(histogram: KeyedHistogram) -> KeyedHistogram:
    counts = histogram.counts.copy()
    counts[0] += 1
    return KeyedHistogram(histogram.parts, counts)


def elsewhere(histogram: KeyedHistogram) -> KeyedHistogram:
    counts = histogram.counts.copy()
    counts[:2] += (1, -1)
    return KeyedHistogram(histogram.parts, counts)


def lost(histogram: KeyedHistogram) -> KeyedHistogram:
    counts = histogram.counts.copy()
    counts[0] -= 1
    return KeyedHistogram(histogram.parts, counts)


def fails(_histogram: KeyedHistogram) -> KeyedHistogram:
    raise DataError


def warns(histogram: KeyedHistogram) -> KeyedHistogram:
    warnings.warn("a strange record", stacklevel=1)
    return histogram


def logs(histogram: KeyedHistogram) -> KeyedHistogram:
    logging.getLogger("flexdp").debug("a strange record")
    return histogram


def prints(histogram: KeyedHistogram) -> KeyedHistogram:
    sys.stdout.write("a strange record")
    return histogram


def asks(histogram: KeyedHistogram) -> KeyedHistogram:
    duckdb.connect().execute("SELECT 1")
    return histogram


@pytest.mark.parametrize("fault", [twice, elsewhere, lost, fails, warns, logs, prints, asks])
@pytest.mark.parametrize("source", ["local parquet"], indirect=True)
def test_planted_faults_are_caught(
    source: Source, replay: Replay, fault: Callable[[KeyedHistogram], KeyedHistogram], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each fault happens at a table with one record more; without it, the same pair passes."""
    calm = hostile.calm(ROWS)
    more = [*calm, {**calm[7], "x": 1e300}] if fault is not lost else [*calm, calm[7]]  # type: ignore[dict-item]
    tables = [source.load([source.row(row) for row in rows]) for rows in (calm, more)]
    replay.freeze("least")
    case = CASES["exact"]
    before, after = (replay.release(source, table, case) for table in tables)
    difference(before, after, 1)
    plain = flexdp.tables.Source.count

    def faulty(table: Any, countings: Any) -> list[KeyedHistogram]:
        found = plain(table, countings)
        return [fault(each) if each.counts.sum() > ROWS else each for each in found]

    monkeypatch.setattr(flexdp.tables.Source, "count", faulty)
    before, after = (replay.release(source, table, case) for table in tables)
    with pytest.raises(AssertionError):
        difference(before, after, 1)


def test_a_reader_that_lets_a_record_change_types_is_caught(replay: Replay) -> None:
    """pandas infers a type from cells: one text among numbers, and all keys are others."""

    def load(rows: Sequence[Row]) -> tuple[Any, str]:
        cells = [row["x"] for row in rows if isinstance(row, dict)]
        inferred = pd.Series(cells).infer_objects()
        return pa.table({"x": pa.array(inferred if inferred.dtype != object else inferred.map(str))}), ""

    source = Source("inferring", load)
    calm = hostile.calm(ROWS)
    replay.freeze("least")
    tables = [load(rows) for rows in (calm, [*calm, {"x": "A7"}])]
    before, after = (replay.release(source, table, CASES["exact"]) for table in tables)
    with pytest.raises(AssertionError):
        difference(before, after, 1)


def test_an_order_that_is_an_engine_s_is_caught(replay: Replay) -> None:
    source = Source("pyarrow", lambda rows: (arrow(cells_of(rows)), ""))
    replay.freeze("least")
    table = source.load(hostile.calm(ROWS))
    before, after = (replay.release(source, table, CASES["groups"]) for _ in range(2))
    difference(before, after, 1)
    for observed in (before, after):
        for document in observed.documents:
            document["bars"] = {name: cells[::-1] for name, cells in document["bars"].items()}
    with pytest.raises(AssertionError):
        difference(before, after, 1)
