"""Same schema, different rows: a release ends alike, with the same words and exit code, whatever the rows hold.

Tables of one declared schema are drawn with hostile cells, and none; parameters are drawn beside them. That nothing
survived (exit code 4), or that records were too few, is an outcome of the mechanism and counts as success.
"""

from __future__ import annotations

import csv
import datetime as dt
import math
import os
import shlex
import tempfile
import warnings
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from _support.command import flexdp as command
from _support.outcomes import PARAMETERS, SPEND
from fuzz.oracles import Outcome, outcome_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import flexdp
from flexdp.cli.errors import NOTHING_SURVIVED
from flexdp.errors import InputError

DEEP = os.environ.get("FLEXDP_DEEP") == "1"
MANY = settings(
    max_examples=500 if DEEP else 24,
    deadline=None,
    database=None,
    derandomize=not DEEP,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
WORDS = [
    None,
    "",
    "a",
    "b",
    "a\0b",
    "\u00e9",
    "e\u0301",
    "x" * 70_000,
    "'; DROP TABLE t",
    '"',
    "1",
    "nan",
    " ",
    "\n",
    "😀",
]
FAR = 2**31 - 1
TYPES: dict[str, tuple[Any, list[Any]]] = {
    "double": (pa.float64(), [None, math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, 1e308, -1e308, 1.5, 7.0]),
    "float": (pa.float32(), [None, math.nan, math.inf, 0.0, 1.5, 3e38]),
    "bigint": (pa.int64(), [None, 0, 1, -1, 2**63 - 1, -(2**63), 2**53 + 1]),
    "unsigned": (pa.uint64(), [None, 0, 1, 2**64 - 1]),
    "decimal": (pa.decimal128(38, 4), [None, Decimal("0"), Decimal("1.5"), Decimal(10**33), Decimal(-(10**33))]),
    "text": (pa.string(), WORDS),
    "boolean": (pa.bool_(), [None, True, False]),
    "date": (pa.date32(), [None, dt.date(1, 1, 1), dt.date(2024, 2, 29), dt.date(9999, 12, 31), FAR, -FAR, 10**8]),
    "datetime": (pa.timestamp("us"), [None, dt.datetime(1, 1, 1), dt.datetime(2024, 2, 29, 23), 2**63 - 1, -(2**62)]),
    "zoned": (pa.timestamp("us", tz="UTC"), [None, dt.datetime(2024, 3, 31, 1, tzinfo=dt.UTC), 2**62, -(2**62)]),
}
LABELS = {"text": WORDS, "bigint": TYPES["bigint"][1]}
SOURCES = ("arrow", "polars", "pandas", "parquet", "feather", "duckdb", "csv", "jsonl", "list", "dict")
Schema = tuple[str, str, str]
Rows = list[tuple[Any, Any, Any]]


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, Schema, Rows, Rows, dict[str, Any]]:
    """A source, a schema, two tables of it and the parameters of a release."""
    types = draw(st.sampled_from(list(TYPES))), draw(st.sampled_from(list(LABELS))), draw(st.sampled_from(list(LABELS)))
    row = st.tuples(*(st.sampled_from(TYPES[name][1]) for name in types))
    one, other = (draw(st.lists(row, max_size=8)) for _ in range(2))
    repeated = draw(st.sampled_from((1, 1, 60)))  # so that some buckets survive
    return draw(st.sampled_from(SOURCES)), types, one * repeated, other, dict(draw(st.sampled_from(PARAMETERS)))


def arrow(types: Schema, rows: Rows) -> pa.Table:
    """A table; numbers stand for times that Python has none of."""
    columns = {}
    for place, (name, kind) in enumerate(zip("xgu", types, strict=True)):
        declared = TYPES[kind][0]
        ticks = pa.int32() if kind == "date" else pa.int64()
        if kind in ("date", "datetime", "zoned"):
            cells = [None if row[place] is None else _ticks(kind, row[place]) for row in rows]
            columns[name] = pa.array(cells, ticks).view(declared)
        else:
            columns[name] = pa.array([row[place] for row in rows], declared)
    return pa.table(columns)


def _ticks(kind: str, cell: Any) -> int:
    if isinstance(cell, int):
        return cell
    if kind == "date":
        return (cell - dt.date(1970, 1, 1)).days
    return (cell.replace(tzinfo=None) - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)


def source_of(form: str, types: Schema, rows: Rows, folder: Path) -> Any:
    """The same table in one of many forms, under the same name."""
    path = folder / f"t.{form}"
    if form in ("csv", "jsonl"):
        texts = [["" if cell is None else str(cell) for cell in row] for row in rows]
        with path.open("w", newline="", errors="surrogatepass") as file:
            if form == "csv":
                csv.writer(file).writerows([["x", "g", "u"], *texts])
            else:
                file.writelines(f"{_line(row)}\n" for row in rows)
        return path
    if form == "list":
        return [row[0] for row in rows]
    if form == "dict":
        return {name: [row[place] for row in rows] for place, name in enumerate("xgu")}
    table = arrow(types, rows)
    if form == "polars":
        return pl.from_arrow(table)
    if form == "pandas":
        return table.to_pandas(types_mapper=pd_types)
    if form == "parquet":
        pq.write_table(table, path)
    elif form == "feather":
        path = path.with_suffix(".arrow")
        feather.write_feather(table, path, compression="uncompressed")
    elif form == "duckdb":
        path.unlink(missing_ok=True)
        with duckdb.connect(path) as con:
            con.register("given", table)
            con.execute("CREATE TABLE t AS SELECT * FROM given")
    return table if form == "arrow" else (path, "t") if form == "duckdb" else path


def pd_types(declared: Any) -> Any:
    """Types of pandas that keep what Arrow declares, so that no cell decides one."""
    import pandas as pd

    return pd.ArrowDtype(declared)


def _line(row: tuple[Any, ...]) -> str:
    import json

    cells = dict(zip("xgu", row, strict=True))
    return json.dumps({k: v if isinstance(v, str | int | float | None) else str(v) for k, v in cells.items()})


def outcome(form: str, types: Schema, rows: Rows, parameters: dict[str, Any]) -> tuple[Outcome, str]:
    """How a release ends, and what warnings say."""
    given_ = dict(parameters)
    column = given_.pop("column", "x")
    budget = {**SPEND, "delta": 0} if given_.get("ask") else SPEND
    with tempfile.TemporaryDirectory(dir=_place()) as name, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        source = source_of(form, types, rows, Path(name))
        ended = _ended(lambda: flexdp.release(source, None if form == "list" else column, **budget, **given_))
    kind, message = ended
    told = " ".join(str(each.message) for each in said if issubclass(each.category, UserWarning))
    return (kind, message.replace(name, "folder")), told.replace(name, "folder")


def _place() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def _ended(call: Callable[[], Any]) -> Outcome:
    return outcome_of(call, heard=True)[1]


@MANY
@given(cases())
def test_rows_do_not_decide_how_a_release_ends(case: tuple[str, Schema, Rows, Rows, dict[str, Any]]) -> None:
    form, types, one, other, parameters = case
    found = outcome(form, types, one, parameters)
    assert found == outcome(form, types, other, parameters)
    assert found == outcome(form, types, [], parameters)
    assert found[0][0] != "DataError"


@pytest.mark.parametrize("form", [form for form in SOURCES if form != "list"])  # which names no other column
def test_most_parameters_succeed_on_every_source(form: str) -> None:
    """Otherwise there would be nothing to compare."""
    some = PARAMETERS if DEEP else PARAMETERS[::4]
    ended = [outcome(form, ("double", "text", "text"), [], parameters)[0] for parameters in some]
    assert sum(kind == "" for kind, _ in ended) > len(some) // 2, ended


LINES = (
    "release {} x --kind number --width 1 -e 1 -d 1e-9 -s max",
    "release {} x --kind number -e 1 -d 1e-9 --json",
    "release {} x --kind text -e 1 -d 1e-9",
    "release {} x --kind integer --exact --by g --by-kind text -e 1 -d 1e-9",
    "release {} x --kind number --width 1 --unit u --unit-kind text --max-buckets-per-unit 2 -e 1 -d 1e-9",
    "release {} x --kind number --width 1 --where \"g = 'a'\" -e 1 -d 1e-9",
    "release {} x --kind date --width '1 month' -e 1 -d 1e-9",
    "release {} x --kind number --ask max -e 1 -d 0",
    "release {} nope --kind number --width 1 -e 1 -d 1e-9",
    "release {} x --kind number --width 0 -e 1 -d 1e-9",
)


@settings(MANY, max_examples=300 if DEEP else 10)
@given(cases(), st.sampled_from(LINES), st.sampled_from(["csv", "jsonl", "parquet"]))
def test_rows_do_not_decide_the_exit_code(case: Any, line: str, form: str) -> None:
    _, types, one, other, _ = case
    found = []
    with tempfile.TemporaryDirectory(dir=_place()) as name:
        for rows in (one, other, []):
            source_of(form, types, rows, Path(name))
            out = command(*shlex.split(line.format(f"t.{form}")), cwd=Path(name))
            errors = [each for each in out.stderr.splitlines() if each.startswith(("Error", '{"error'))]
            passed = out.returncode in (0, NOTHING_SURVIVED)
            found.append("released" if passed else (out.returncode, errors))
    assert found[0] == found[1] == found[2]
    assert found[0] == "released" or (found[0][0] == 2 and len(found[0][1]) == 1)


# ---- controls


def test_a_release_that_looks_at_its_rows_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A refusal for one strange cell, another message for it, or another warning: each is another outcome."""
    real = flexdp.release

    def faulty(how: str) -> Callable[..., Any]:
        def release(source: Any, *arguments: Any, **options: Any) -> Any:
            strange = any(cell == 2**53 + 1 for cell in source["x"])
            if strange and how == "refuses":
                raise InputError("source", "holds a strange number")
            if strange and how == "warns":
                warnings.warn("a strange number", stacklevel=1)
            return real(source, *arguments, **options)

        return release

    types: Schema = ("bigint", "text", "text")
    strange: Rows = [(2**53 + 1, "a", "1")]
    parameters = {"kind": "integer", "width": 3}
    assert outcome("dict", types, strange, parameters) == outcome("dict", types, [], parameters)
    for how in ("refuses", "warns"):
        monkeypatch.setattr(flexdp, "release", faulty(how))
        assert outcome("dict", types, strange, parameters) != outcome("dict", types, [], parameters), how
