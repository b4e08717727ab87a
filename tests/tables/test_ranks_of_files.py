"""Ranks of files, frames, arrays and lists: read as a count reads them, whatever a record holds."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from _support.work import noted

from flexdp import DataError, InputError
from flexdp._release.api import prepare
from flexdp.buckets.exact import Exact
from flexdp.mechanisms.program import run
from flexdp.noise.bits import Bits
from flexdp.sharp.answers import ask
from flexdp.sharp.goal import Goal
from flexdp.sharp.ranks import Near, Reply, Request, Tally
from flexdp.sharp.scale import INTEGERS, NUMBERS
from flexdp.tables import Axis, Counting, open_table
from flexdp.tables import ranks as ranks_module
from flexdp.tables.ranks import open_ranks, rank_query_of
from flexdp.tables.sql import rank_query as rank_query_module

NUMBERS_READ = [3.5, -2.0, 3.5, 1e-40, 1e300, 7.25, 0.0, -0.0]
WANTED = Request(
    cuts=tuple(NUMBERS.units(v) for v in (-2.0, 0.0, 1.0, 3.5, 7.25, 1e39)),
    windows=(Near(goal=Goal.quantile(Fraction(1, 2)), reach=5),),
    tallies=(Tally(low=0, step=NUMBERS.one, cells=10),),
)


@pytest.fixture(params=["sorted", "on the engine"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "on the engine":
        monkeypatch.setattr(ranks_module, "SORTED_AT_MOST", -1)
        monkeypatch.setattr(ranks_module, "FEW", -1)
    return str(request.param)


def fetched(source: Any, column: str | None, wanted: Request = WANTED, **parameters: Any) -> Reply:
    question = prepare(source, column, width=parameters.pop("width", 1), **parameters).questions[0]
    with open_ranks(question.table, question.counting) as ranks:
        return ranks.fetch(wanted)


def check(reply: Reply) -> None:
    assert reply.total == 8
    assert list(reply.before) == [0, 1, 4, 4, 6, 7]
    window = reply.windows[0]
    rows = list(zip(map(window.value, range(len(window))), window.below.tolist(), window.upto.tolist(), strict=True))
    values = [(-2.0, 0, 1), (0.0, 1, 4), (3.5, 4, 6), (7.25, 6, 7), (1e39, 7, 8)]
    assert rows == [(NUMBERS.units(value), below, upto) for value, below, upto in values]
    assert reply.tallies[0] in (7 + 10 + 6, 7 + 10 + 7, 7 + 10 + 8)  # 3.5 may count as 3 or 4, twice


def test_text_files(tmp_path: Path) -> None:
    odd = ["", "abc", "nan", "inf", '"unclosed', "3;5"]
    lines = [*map(repr, NUMBERS_READ), *odd]
    parts = [lines[:5], lines[5:]]
    for place, part in enumerate(parts):
        (tmp_path / f"part{place}.csv").write_text("x,y\n" + "".join(f"{cell},1\n" for cell in part))
    check(fetched(str(tmp_path / "part*.csv"), "x"))
    members = [json.dumps({"x": value}) for value in NUMBERS_READ] + ["{}", '{"x": null}', "no json", '{"x": [1]}']
    (tmp_path / "lines.jsonl").write_text("\n".join(members))
    check(fetched(str(tmp_path / "lines.jsonl"), "x"))


def test_standard_input(way: str) -> None:
    script = (
        "import flexdp.tables.ranks as r\n"
        f"r.SORTED_AT_MOST = r.FEW = {1 << 22 if way == 'sorted' else -1}\n"
        "from flexdp._release.api import prepare\n"
        "from flexdp.sharp.ranks import Request\n"
        "q = prepare('-', 'x', width=1, format='csv').questions[0]\n"
        "with r.open_ranks(q.table, q.counting) as ranks:\n"
        "    totals = [ranks.fetch(Request(cuts=(0,))).total for _ in range(3)]\n"
        "print(totals)\n"
    )
    cells = "x\n" + "\n".join(map(repr, NUMBERS_READ)) + "\n"
    done = subprocess.run([sys.executable, "-c", script], input=cells, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[8, 8, 8]"


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_parquet_whose_statistics_leave_nan_out(tmp_path: Path, dtype: str) -> None:
    """DuckDB trusts statistics, by which every value here lies between bounds, the NaN among them."""
    values = np.array([1.0, math.nan, 2.0, 3.0, math.nan] * 400, dtype=dtype)
    pq.write_table(pa.table({"x": values}), tmp_path / "x.parquet", row_group_size=500)
    wanted = Request(cuts=(NUMBERS.units(2.0), NUMBERS.limit + 1), tallies=(Tally(low=0, step=NUMBERS.one, cells=9),))
    reply = fetched(str(tmp_path / "x.parquet"), "x", wanted)
    assert (reply.total, list(reply.before), list(reply.tallies)) == (1200, [400, 1200], [2400])


def test_only_what_is_read_cheaply_is_not_copied(tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers in Parquet files are read again by each statement; filtered, bounded or text cells are copied once."""
    columns = {"x": NUMBERS_READ, "i": list(range(8)), "t": list(map(str, NUMBERS_READ))}
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")
    copies = {}
    for name, column, parameters in (
        ("numbers", "x", {}),
        ("integers", "i", {}),
        ("filtered", "x", {"where": "i >= 0"}),
        ("bounded", "x", {"bounds": (-2, 8)}),
        ("computed", "y", {"derive": {"y": "x * 2"}}),
    ):
        with noted(monkeypatch) as work:
            assert fetched(str(tmp_path / "x.parquet"), column, **parameters).total in (7, 8)
        copies[name] = work.copies
    once = 0 if way == "sorted" else 1
    assert copies == {"numbers": 0, "integers": 0, "filtered": once, "bounded": once, "computed": once}


def test_files_that_change_between_two_statements(tmp_path: Path, way: str) -> None:
    """What is not copied is the same in all statements, or nothing is released."""
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"x": [float(value) for value in range(5000)]}), path)
    question = prepare(str(path), "x", width=1).questions[0]
    with pytest.raises(DataError), open_ranks(question.table, question.counting) as ranks:
        assert ranks.fetch(Request(cuts=(NUMBERS.units(17.0),))).total == 5000
        pq.write_table(pa.table({"x": [float(value) for value in range(5001)]}), path)
        if way == "sorted":
            ranks.fetch(Request(cuts=(NUMBERS.units(18.0),)))  # from memory; the end of the session notices
        else:
            ranks.fetch(Request(windows=(Near(goal=Goal.quantile(Fraction(1, 2)), reach=5),)))


def test_more_records_than_are_sorted_are_not_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of rows is known without reading them, so that no value is fetched in vain."""
    pq.write_table(pa.table({"x": [float(value) for value in range(5000)]}), tmp_path / "x.parquet")
    monkeypatch.setattr(ranks_module, "SORTED_AT_MOST", 4999)
    monkeypatch.setattr(ranks_module, "FEW", 100)
    monkeypatch.setattr(rank_query_module, "CELL_BITS", 5)
    for source in (str(tmp_path / "x.parquet"), pa.table({"x": [float(value) for value in range(5000)]})):
        with noted(monkeypatch) as work:
            assert fetched(source, "x", Request(cuts=(7,), enough=0)).total == 5000
        assert 0 < work.rows < 1000


def test_frames_and_arrays() -> None:
    cells = [*NUMBERS_READ, math.nan, math.inf, -math.inf]
    array = np.array(cells)
    check(fetched(array, None))
    check(fetched(np.ma.MaskedArray([*cells, 5.0], mask=[False] * len(cells) + [True]), None))
    check(fetched([*cells, None, "abc", "3,5"], None))
    check(fetched(pd.DataFrame({"x": array}), "x"))
    check(fetched(pd.DataFrame({"x": pd.array(cells, dtype="Float64")}), "x"))
    frame = pd.DataFrame({"x": np.tile(array, 2), "g": ["a"] * len(array) + ["b"] * len(array)})
    question = prepare(frame, "x", width=1, by="g", by_kind="text").questions[0]
    with open_ranks(question.table, question.counting) as ranks:
        own = {group: each.fetch(WANTED) for group, each in ranks.together([("a",), ("b",), ("c",)])}
        check(own["a",])
        check(own["b",])
        assert own["c",].total == 0
        found = ranks.group_counts()
        assert dict(zip(found.rows(slice(None)), found.counts.tolist(), strict=True)) == {("a",): 8, ("b",): 8}
        with pytest.raises(InputError):
            ranks.fetch(WANTED)


@pytest.mark.parametrize(
    "values",
    [
        np.array([2**64 - 1, 5, 2**63], dtype=np.uint64),
        np.array([5.0, 1e30, 2.5, math.nan, -1e36, 1e38]),
        np.array([5, -(2**63), 2**63 - 1]),
        [5, 2**80, -(2**90), "7", 10**38],
        np.array(["1969-12-31T23:59:59.9999999", "NaT", "2024-01-01"], dtype="datetime64[ns]"),
    ],
    ids=["unsigned", "whole doubles", "extremes", "huge", "datetimes"],
)
def test_integers_of_arrays_are_exact(values: Any) -> None:
    table = open_table(values)
    kind = "datetime" if getattr(values, "dtype", None) == np.dtype("M8[ns]") else "integer"
    counting = Counting(values=(Axis(column=table.column(None), kind=kind, buckets=Exact(kind)),))
    counted = Counter(dict(zip(*(part.tolist() for part in _counted(table, counting)), strict=True)))
    with open_ranks(table, counting) as ranks:
        assert ranks.scale is INTEGERS
        cuts = tuple(sorted(key + step for key in counted for step in (0, 1)))
        reply = ranks.fetch(Request(cuts=cuts))
    assert reply.total == sum(counted.values())
    assert list(reply.before) == [sum(m for key, m in counted.items() if key < cut) for cut in cuts]


def _counted(table: Any, counting: Counting) -> tuple[Any, Any]:
    bars = table.count([counting])[0]
    return bars.parts[0], bars.counts


def test_a_file_that_changes_meanwhile_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("x\n" + "\n".join(map(repr, NUMBERS_READ)))
    question = prepare(str(path), "x", width=1).questions[0]
    with pytest.raises(DataError), open_ranks(question.table, question.counting) as ranks:  # fails at its end
        path.write_text("x\n1\n2\n")
        check(ranks.fetch(WANTED))
        path.unlink()
        check(ranks.fetch(WANTED))
    with pytest.raises(DataError), open_ranks(question.table, question.counting):
        raise AssertionError("opened a file that does not exist")


def test_a_program_runs_on_a_file(tmp_path: Path) -> None:
    """All requests of a program, with its ladders of thousands of cuts; what it publishes is near the truth."""
    rng = np.random.default_rng(5)
    values = rng.lognormal(3, 1, 30_000)
    pq.write_table(pa.table({"x": values}), tmp_path / "x.parquet")
    question = prepare(str(tmp_path / "x.parquet"), "x", width=1).questions[0]
    with open_ranks(question.table, question.counting) as ranks:
        levels = [Fraction(1, 100), Fraction(1, 2), Fraction(99, 100), Fraction(1)]
        ran = run(ask(levels, Fraction(4), ranks.scale), ranks, Bits())
    assert not ran.value.too_few
    for answer in ran.value.answers[:3]:
        rank = np.searchsorted(np.sort(values), float(NUMBERS.value(answer.value))) / len(values)
        assert abs(rank - float(answer.level)) < 0.005


def test_bounds_are_those_of_the_count(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": NUMBERS_READ}), tmp_path / "x.parquet")
    wanted = Request(cuts=tuple(NUMBERS.units(float(v)) for v in (0, 1, 4, 5)))
    for source, column in ((str(tmp_path / "x.parquet"), "x"), (np.array(NUMBERS_READ), None)):
        clamped = fetched(source, column, wanted, bounds=(0, 4))
        assert (clamped.total, list(clamped.before)) == (8, [0, 4, 6, 8])
        dropped = fetched(source, column, wanted, bounds=(0, 4), outside="drop")
        assert (dropped.total, list(dropped.before)) == (5, [0, 3, 5, 5])


def test_statements_of_arrays_are_shown() -> None:
    for source in ([1.0], np.array([1.0])):
        question = prepare(source, None, width=1).questions[0]
        assert "flexdp_records" in rank_query_of(question.table, question.counting)
