"""release(): every source, every bucketing, and answers that are true of what was counted."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import math
import pickle
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest
from _support.private import private_counts
from hypothesis import given, settings
from hypothesis import strategies as st

import flexdp
from flexdp import DataError, InputError, Release
from flexdp._release.api import prepare
from flexdp._release.claims import BeyondShare
from flexdp.accounting.budget import Budget
from flexdp.distances import Difference, OwnMetric
from flexdp.distortions import DropMove
from flexdp.histogram import Histogram, KeyedHistogram
from flexdp.noise import DropNoise
from flexdp.statistics import Max, Min, Range

pytestmark = pytest.mark.own_engines

AGES = [float(40 + (i * i) % 37) for i in range(2000)] + [0.5, 119.0, 130.0, -3.0]
BUCKETS: list[dict[str, Any]] = [
    {},
    {"width": 5},
    {"width": "0.1"},
    {"width": 5, "bounds": (0, 120)},
    {"width": 7, "bounds": (0, 120), "outside": "drop"},
    {"relative": "0.05"},
    {"relative": "0.05", "bounds": (0, 120)},
    {"edges": [0, 18, 45, 65, 120]},
    {"edges": [0, 18, 45, 65, 120], "outside": "drop"},
    {"bounds": (20, 60)},
    {"bounds": (20, 60), "outside": "drop"},
]


def sources(tmp_path: Path) -> dict[str, tuple[Any, str | None]]:
    """The same column of numbers in every form it may come in."""
    cells = [*AGES, None, math.nan, math.inf, -math.inf]
    frame = pa.table({"id": pa.array(range(len(cells))), "age": pa.array(cells, pa.float64())})
    con = duckdb.connect()
    con.register("frame", frame)
    for path, options in (("a.parquet", "FORMAT parquet"), ("a.csv", "HEADER"), ("a.jsonl", "FORMAT json")):
        con.execute(f"COPY (SELECT * FROM frame) TO '{tmp_path / path}' ({options})")
    con.execute("CREATE TABLE held AS SELECT * FROM frame")
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress((tmp_path / "a.csv").read_bytes()))
    half = len(cells) // 2
    for name, part in (("b1.csv", cells[:half]), ("b2.csv", cells[half:])):
        order = ("age", "id") if name == "b1.csv" else ("id", "age")
        rows = [",".join(order)]
        rows += [",".join("" if c is None else str(c) for c in ((v, i) if order[0] == "age" else (i, v)))
                 for i, v in enumerate(part)]  # fmt: skip
        (tmp_path / name).write_text("\n".join(rows))
    numbers = np.array([math.nan if c is None else c for c in cells])
    return {
        "parquet": (tmp_path / "a.parquet", "age"),
        "csv": (str(tmp_path / "a.csv"), "age"),
        "gzip": (tmp_path / "a.csv.gz", "age"),
        "json lines": (tmp_path / "a.jsonl", "age"),
        "many": ([tmp_path / "b1.csv", str(tmp_path / "b2.csv")], "age"),
        "glob": (str(tmp_path / "b?.csv"), "age"),
        "numpy": (numbers, None),
        "numpy strided": (np.repeat(numbers, 2)[::2], None),
        "numpy big-endian": (numbers.astype(">f8"), None),
        "list": (cells, None),
        "pandas": (pd.DataFrame({"age": numbers}), "age"),
        "pandas object": (pd.DataFrame({"age": pd.Series(cells, dtype=object)}), "age"),
        "pandas series": (pd.Series(numbers), None),
        "pandas nullable": (pd.DataFrame({"age": pd.array(cells, dtype="Float64")}), "age"),
        "polars": (pl.DataFrame({"x": range(len(cells)), "age": cells}, strict=False), "age"),
        "polars series": (pl.Series(cells, strict=False), None),
        "pyarrow": (frame, "age"),
        "pyarrow column": (frame.column("age"), None),
        "pyarrow array": (frame.column("age").combine_chunks(), None),
        "pyarrow batch": (frame.to_batches()[0], "age"),
        "pyarrow data set": (pyarrow.dataset.dataset(frame), "age"),
        "relation": (con.table("held"), "age"),
    }


def oracle(parameters: dict[str, Any]) -> dict[Any, int]:
    """Bucket by bucket, one value at a time, with the partition's own single-value rule."""
    request = prepare(np.array([0.0]), **parameters)
    out: dict[Any, int] = {}
    for value in AGES:
        for index in request.partition.locate(np.array([value])).tolist():
            key = request.partition.centres(np.array([index])).tolist()[0]
            out[key] = out.get(key, 0) + 1
    return out


@pytest.mark.parametrize("parameters", BUCKETS, ids=str)
def test_all_sources_count_alike(tmp_path: Path, parameters: dict[str, Any]) -> None:
    wanted = oracle(parameters)
    for name, (source, column) in sources(tmp_path).items():
        undeclared = name in ("csv", "gzip", "json lines", "many", "glob", "list") or name.startswith("pandas")
        said = {"kind": "number"} if undeclared else {}
        assert private_counts(source, column, **parameters, **said) == wanted, name


@pytest.mark.parametrize(
    "parameters", [{}, {"width": 5}, {"width": 4, "bounds": (0, 120)}, {"edges": [0, 50, 90]}], ids=str
)
def test_integers_are_counted_as_integers(tmp_path: Path, parameters: dict[str, Any]) -> None:
    values = [3, 4, 5, -1, -5, -6, 119, 120, 121, 2**53 + 1, 2**62 + 7, -(2**63), 2**63 - 1]
    partition = prepare(np.array([1]), **parameters).partition
    index = partition.locate(np.array(values, dtype=object))
    wanted = dict(Histogram.from_values(partition.centres(np.sort(index))).items())
    frame = pa.table({"n": pa.array([*values, None], pa.int64())})
    path = tmp_path / "n.parquet"
    duckdb.connect().register("frame", frame).execute(f"COPY frame TO '{path}' (FORMAT parquet)")
    text = tmp_path / "n.csv"
    text.write_text("n\n" + "\n".join(map(str, values)) + "\n\n3.7\n1e2\nabc\n0x10\n")
    huge = pa.table({"n": pa.array(values, pa.decimal128(38, 0))})
    for source, column, said in [
        (path, "n", {}),
        (frame, "n", {}),
        (huge, "n", {}),
        (pl.from_arrow(frame), "n", {}),
        (np.array(values), None, {}),
        (text, "n", {"kind": "integer"}),
        ([*values, None, 3.7, "abc", "3.7"], None, {"kind": "integer"}),
        (pd.DataFrame({"n": pd.array([*values, None], dtype="Int64")}), "n", {"kind": "integer"}),
    ]:
        assert private_counts(source, column, **parameters, **said) == wanted, source


def test_unsigned_and_small_integers() -> None:
    for dtype in (np.int8, np.uint8, np.int16, np.uint32, np.uint64):
        values = np.array([0, 1, 2, 9, 100], dtype=dtype)
        assert private_counts(values, width=5) == {2: 3, 7: 1, 102: 1}
        assert private_counts(values, width=5, bounds=(-10, 19)) == {2: 3, 7: 1, 17: 1}
    big = np.array([2**64 - 1, 2**63, 5], dtype=np.uint64)
    assert private_counts(big) == {5: 1, 2**63: 1, 2**64 - 1: 1}
    assert private_counts(big, width=5, bounds=(0, 9)) == {7: 3}


def test_texts_booleans_and_dates(tmp_path: Path) -> None:
    composed, decomposed = "\u00e9", "e\u0301"
    words = ["b", "a", "b", None, " b", "B", composed, decomposed, ""]
    kept = {"b": 2, "a": 1, " b": 1, "B": 1, composed: 1, decomposed: 1, "": 1}
    assert private_counts(pa.table({"w": words}), "w") == kept
    assert private_counts(pl.DataFrame({"w": words}), "w") == kept
    assert private_counts(words, kind="text") == kept
    assert private_counts(pd.DataFrame({"w": words}, dtype="str"), "w", kind="text") == kept
    assert private_counts(pa.table({"w": pa.array(words).dictionary_encode()}), "w") == kept
    flags = [True, False, True, None]
    assert private_counts(pa.table({"f": flags}), "f") == {False: 1, True: 2}
    assert private_counts(np.array([True, True])) == {True: 2}
    days = [dt.date(1969, 12, 31), dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1970, 1, 1), None]
    wanted = {day: 1 for day in days if day}
    assert private_counts(pa.table({"d": days}), "d") == wanted
    assert private_counts(days, kind="date") == wanted
    assert private_counts(np.array(days[:4], dtype="datetime64[D]")) == wanted
    path = tmp_path / "d.csv"
    path.write_text("d\n" + "\n".join("" if d is None else d.isoformat() for d in days) + "\n2020-02-30\n20200101\n")
    assert private_counts(path, "d", kind="date") == wanted
    assert private_counts(path, "d", kind="date", width=2) == private_counts(days, kind="date", width=2)
    stamps = pd.DataFrame({"t": pd.to_datetime(["2020-01-01 23:59", "2020-01-02 00:00", None])})
    assert private_counts(stamps, "t", kind="date") == {dt.date(2020, 1, 1): 1, dt.date(2020, 1, 2): 1}
    assert private_counts(pa.Table.from_pandas(stamps), "t", kind="date") == {
        dt.date(2020, 1, 1): 1,
        dt.date(2020, 1, 2): 1,
    }


def test_a_header_without_rows_is_an_empty_table(tmp_path: Path) -> None:
    path = tmp_path / "empty.csv"
    path.write_text("age,ward\n")
    released = flexdp.release(path, "age", epsilon=1, delta=1e-6, width=5, bounds=(0, 120), kind="number")
    assert len(released.histogram) == 0
    (tmp_path / "empty.jsonl").write_text("")
    assert len(flexdp.release(tmp_path / "empty.jsonl", "age", epsilon=1, delta=1e-6, exact=True).histogram) == 0


@pytest.mark.parametrize("kind", ["number", "text"])
def test_nothing_survived_is_said_and_never_a_number(kind: str) -> None:
    released = flexdp.release(
        [], epsilon=1, delta=1e-6, kind=kind, **({"bounds": (0, 9), "width": 1} if kind == "number" else {})
    )
    answers = [released.mode(), released.support(), released.top(3), released.counts(), released.counts(debias=True)]
    if kind == "number":
        answers += [released.max(), released.min(), released.range(), released.median(), released.quantile(0.9)]
        answers += [released.max_at_least(3)]
    for answer in answers:
        assert "Nothing survived" in str(answer) and "Nothing survived" in answer.statement
        assert answer.value is None or len(answer.value) == 0
        assert answer.accuracy is None


def fixed(
    counts: dict[Any, int], dropped: dict[Any, int], epsilon: str = "1", **parameters: Any
) -> tuple[Release, dict[Any, int]]:
    """A release of given bars in which given numbers of records were dropped."""
    request = prepare(np.array([0.0]) if parameters.pop("kind", "number") == "number" else np.array([0]), **parameters)
    left = {key: n - dropped.get(key, 0) for key, n in counts.items()}
    bars = KeyedHistogram([list(left)], [max(0, n) for n in left.values()])
    budget = Budget(epsilon, "1e-6")
    return (
        Release(spec=replace(request.questions[0].spec, columns=("x",)), budget=budget, cells=bars),
        counts,
    )


histograms = st.dictionaries(st.integers(0, 19), st.integers(1, 60), min_size=1, max_size=12)


@settings(max_examples=300, deadline=None)
@given(
    counts=histograms,
    seed=st.integers(0, 2**32 - 1),
    level=st.fractions(0, 1),
    outside=st.sampled_from(["clamp", "drop"]),
)
def test_certified_statements_hold_for_every_drop(
    counts: dict[int, int], seed: int, level: Fraction, outside: str
) -> None:
    """α, β and the quantile's interval, against the data that was really dropped from."""
    noise = DropNoise("1", "1e-6")
    drops = noise._draw(len(counts), np.random.default_rng(seed).bytes)
    lost = dict(zip(counts, drops.tolist(), strict=True))
    released, truth = fixed(counts, lost, width=1, bounds=(0, 20), outside=outside)
    n = sum(truth.values())
    y = dict(released.bars.items())
    if not y:
        return
    alpha = released.mode().accuracy.alpha
    assert alpha is not None and (n - sum(y.values())) / n <= alpha
    above = sum(c for k, c in truth.items() if k > max(y))
    below = sum(c for k, c in truth.items() if k < min(y))
    beyond = {"max": (above, max(y)), "min": (below, min(y)), "range": (above + below, max(y) - min(y))}
    exact = {"max": max(truth) + 0.5, "min": min(truth) + 0.5, "range": max(truth) - min(truth)}
    opened = {place for place in (0, 19) if outside == "clamp"}  # what lies beyond the bounds counts there, too
    for name, (hidden, place) in beyond.items():
        answer = getattr(released, name)()
        ends = {max(y), min(y)} if name == "range" else {place}
        assert (answer.accuracy is None) == bool(ends & opened)
        if answer.accuracy is not None:
            assert hidden / n <= answer.accuracy.alpha and answer.accuracy.beta == (1 if name == "range" else 0.5)
        for claim in answer.claims:
            if isinstance(claim.quantity, BeyondShare):
                assert hidden / n <= claim.upper
            elif isinstance(claim.quantity, Max | Min | Range) and claim.relation == "is":
                assert claim.lower is None or claim.lower <= exact[name]
                assert claim.upper is None or exact[name] <= claim.upper
    records = sorted(k for k, c in truth.items() for _ in range(c))
    true_quantile = records[max(1, math.ceil(level * n)) - 1] + 0.5
    low, high = released.quantile(level).interval
    assert low <= true_quantile <= high
    assert all(y[k] <= truth[k] <= y[k] + noise.max_drop for k in y)
    assert all(k in y for k, c in truth.items() if c >= noise.q)


@settings(max_examples=40, deadline=None)
@given(
    y=st.dictionaries(st.integers(0, 3), st.integers(1, 4), min_size=1, max_size=4),
    level=st.sampled_from([Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(9, 10), Fraction(1)]),
    outside=st.sampled_from(["clamp", "drop"]),
)
def test_the_interval_is_exactly_that_of_the_box(y: dict[int, int], level: Fraction, outside: str) -> None:
    """Enumerate every data set that could have given the release: the interval is the hull of its quantiles.

    What lies beyond bounds that clamp counts in the outermost buckets, which have no outer end.
    """
    released, _ = fixed(y, {}, epsilon="20", width=1, bounds=(0, 4), outside=outside)
    drop = released.max_drop
    found = set()
    for lost in np.ndindex(*([drop + 1] * 4)):
        records = [k for k in range(4) for _ in range(y.get(k, 0) + lost[k])]
        found.add(records[max(1, math.ceil(level * len(records))) - 1])
    low, high = min(found), max(found) + 1
    if outside == "clamp":
        low, high = (-math.inf if low == 0 else low), (math.inf if high == 4 else high)
    assert released.quantile(level).interval == (low, high)


def test_alpha_is_absent_where_bars_are_not_public() -> None:
    values = np.repeat([10.0, 20.0, 30.0], 200)
    for parameters in ({"exact": True}, {"width": 5}, {"relative": "0.1"}, {"bounds": (0, 100), "exact": True}):
        released: Any = flexdp.release(values, epsilon=1, delta=1e-6, **parameters)  # type: ignore[arg-type]
        answers = [released.max(), released.mode(), released.median(), released.support(), released.counts()]
        assert all(
            answer.accuracy.alpha is None and "%" not in answer.statement.replace("10% of that middle", "")
            for answer in answers
        )
        assert released.median().interval is None
        assert not any("left out in total" in promise for promise in released.certificate().promises)
    bounded = flexdp.release(values, epsilon=1, delta=1e-6, width=5, bounds=(0, 100))
    assert any("left out in total" in promise for promise in bounded.certificate().promises)


def test_the_sentences() -> None:
    counts = {5: 100, 6: 50, 30: 20}
    released, _ = fixed(counts, {}, width=5)
    lost = "At most 27 records per bucket were left out; "

    def rest(where: str, lies: str) -> str:
        return f"{lost}up to 27 may lie in each {where}, and apart from those the {lies}."

    holds = "It has about 114 records (certainly 100 to 127)"
    highest = f"Highest x: 150–155 or more. {rest('higher bucket', 'highest lies in 150–155')}"
    assert released.max().statement == str(released.max()) == highest
    assert str(released.min()) == f"Lowest x: 25–30 or less. {rest('lower bucket', 'lowest lies in 25–30')}"
    assert str(released.range()) == (
        f"Range of x: 120–130 or more. {rest('bucket beyond the two ends', 'range lies in 120–130')}"
    )
    among = f"{lost}among the rest "
    assert str(released.median()) == f"Median x: about 29.6. {among}it lies in 25–30."
    assert str(released.quantile("0.9")) == f"90th percentile of x: about 151.86. {among}it lies in 150–155."
    assert str(released.support()) == (
        "Buckets of x that hold records: 25–30, 30–35, 150–155. Every bucket with at least 28 records is listed; "
        "others may be missing."
    )
    assert str(released.mode()) == f"Fullest bucket of x: 25–30. {holds}; no other bucket has more than 77."
    assert str(released.counts()) == (
        "Counts of x in 3 buckets: each lower end is at most 27 too low and never too high."
    )
    assert str(released.counts(debias=True)) == (
        "Counts of x in 3 buckets, with 13.5 added to each, the mean number of records that it loses: unbiased for "
        "buckets of at least 28 records; such a count may exceed the true one."
    )
    assert released.counts(debias=True).value == {27.5: 113.5, 32.5: 63.5, 152.5: 33.5}
    assert released.max_at_least(60).value == 27.5
    assert str(released.max_at_least(60)) == (
        f"Highest bucket of x with at least 60 records: 25–30. {holds}; no higher bucket has more than 77."
    )
    assert released.max_at_least(500).value is None
    assert str(released.max_at_least(500)) == (
        "Highest bucket of x with at least 500 records: none. No bucket has more than 127."
    )
    assert released.top(2).value == ((27.5, 100), (32.5, 50))
    assert str(released.top(2)) == (
        "2 fullest buckets of x: 25–30 with about 114 (certainly 100 to 127), 30–35 with about 64 (certainly 50 to 77)"
        ". No other bucket has more than 47."
    )
    bounded, _ = fixed({0: 1000, 23: 200}, {}, width=5, bounds=(0, 120))
    assert str(bounded.max()) == "Highest x: 115 or more. This is certain; the highest value is not known."
    assert str(bounded.min()) == "Lowest x: 5 or less. This is certain; the lowest value is not known."
    assert bounded.conditions == ("Counted: readable values of x limited to 0–120.",)
    lower, _ = fixed({0: 1000, 20: 200}, {}, width=5, bounds=(0, 120))
    assert str(lower.max()) == (
        f"Highest x: 100–105 or more. {rest('higher bucket', 'highest lies in 100–105')} At most 6.33% of what was "
        "counted lies in higher buckets."
    )
    assert str(lower.median()) == "Median x: 5 or less. The exact median is guaranteed to be at most 5."
    dropped, _ = fixed({0: 1000, 23: 200}, {}, width=5, bounds=(0, 120), outside="drop")
    assert str(dropped.median()).startswith("Median x (within 0–120): about 3.03. ")
    assert str(dropped.max()) == "Highest x (within 0–120): 115–120. This is certain."
    relative, _ = fixed({7000: 100, -7000: 100}, {}, relative="0.05")
    low, high = map(float, relative.max().text.removesuffix(" or more").replace(" ", "").split("–"))
    assert low < relative.max().value < high and high - low < 0.101 * relative.max().value
    size = relative.max().value - relative.min().value
    assert relative.range().accuracy.beta == pytest.approx(0.05 * size)
    assert not relative.range().accuracy.relative
    assert "to the middle of its bucket, by at most 5% of that middle; " in str(relative.apply(len))


def test_edges_promise_the_width_of_the_bucket_in_question() -> None:
    released, _ = fixed({0: 100, 2: 100}, {}, edges=[0, 10, 100, 1000], outside="drop")
    assert released.max().accuracy.beta == 450
    assert released.min().accuracy.beta == 5
    assert released.range().accuracy.beta == 455
    clamped, _ = fixed({0: 100, 1: 100, 2: 100}, {}, edges=[0, 10, 100, 1000])
    assert [clamped.max().text, clamped.min().text, clamped.range().text] == ["100 or more", "10 or less", "90 or more"]
    assert clamped.max().accuracy is clamped.min().accuracy is clamped.range().accuracy is None
    within, _ = fixed({1: 100}, {}, edges=[0, 10, 100, 1000])
    assert within.max().accuracy.beta == within.min().accuracy.beta == 45


def test_statistics_of_texts_that_need_an_order_are_refused() -> None:
    released = flexdp.release(["a"] * 100, epsilon=1, delta=1e-6, kind="text")
    for ask in (released.max, released.min, released.range, released.median):
        with pytest.raises(InputError, match="needs a column of numbers or dates; this one is"):
            ask()
    assert released.mode().value == "a"
    assert released.support().value == ("a",)


@pytest.mark.parametrize("parameters", BUCKETS, ids=str)
def test_json_round_trip_of_numbers(parameters: dict[str, Any]) -> None:
    released = flexdp.release(np.array(AGES * 20), epsilon="0.5", delta="1e-9", **parameters)
    again = Release.from_json(released.to_json())
    assert again == released
    assert again.histogram == released.histogram
    assert [str(a) for a in (again.max(), again.median())] == [str(a) for a in (released.max(), released.median())]
    assert again.to_json() == released.to_json()


@pytest.mark.parametrize(
    ("values", "parameters"),
    [
        (["x", "ÿ", "\x00", 'q"uote'] * 100, {"kind": "text"}),
        ([2**70, -5, 3] * 100, {"kind": "integer", "exact": True}),
        ([2**70, -5, 3] * 100, {"kind": "integer", "width": 4}),
        ([dt.date(2020, 2, 29), dt.date(1, 1, 1)] * 100, {"kind": "date", "exact": True}),
        ([dt.date(2020, 2, 29), dt.date(1, 1, 1)] * 100, {"kind": "date", "width": 30}),
        (np.array([True, False] * 100), {}),
        ([], {"kind": "number", "exact": True}),
        ([], {"kind": "text"}),
        (np.array([5.0] * 100), {"width": "1e60"}),
        (np.array([5.0] * 100), {"width": 1.2345678901234567e-30, "bounds": (0, 1e-20)}),
        (np.array([5.0] * 100), {"edges": [0, 1.2345678901234566e-40, 10]}),
        (np.array([5.0] * 100), {"width": "1e90", "bounds": (0, "1e100")}),
    ],
)
def test_json_round_trip_of_other_kinds(values: Any, parameters: dict[str, Any]) -> None:
    released = flexdp.release(values, epsilon=1, delta=1e-6, **parameters)
    again = Release.from_json(released.to_json())
    assert again == released
    assert again.histogram == released.histogram


def tampered() -> list[Any]:
    good = json.loads(flexdp.release([1.0] * 100, epsilon=1, delta=1e-6, width=5).to_json())
    out: list[Any] = [[], 3, "x", None, {}]
    for path, value in [
        (("schema",), "flexdp.release/9"),
        (("privacy", "epsilon"), "2"),
        (("privacy", "epsilon"), "nan"),
        (("mechanism", "q"), 27),
        (("kind",), "list"),
        (("kind",), "text"),
        (("buckets", "width"), "-1"),
        (("buckets", "colour"), "red"),
        (("bars", "count"), [0]),
        (("bars", "count"), [-3]),
        (("bars", "count"), [1.5]),
        (("bars", "count"), [True]),
        (("bars", "count"), [1, 2]),
        (("bars", "key"), [99]),
        (("bars", "index"), ["a"]),
        (("privacy", "epsilon"), "0.99"),
        (("privacy", "delta"), "9.9e-7"),
        (("privacy", "unit"), "person"),
        (("mechanism", "max_drop"), 5),
        (("mechanism", "first_weight"), "1"),
        (("mechanism", "growth"), ["1", "1"]),
        (("buckets",), {}),
        (("buckets", "width"), "6"),
        (("buckets", "bounds"), ["100", "200"]),
        (("column",), ["x"]),
        (("rows",), 12345),
        (("flexdp",), 3),
        (("bars", "index"), [[]]),
    ]:
        bad = json.loads(json.dumps(good))
        place = bad
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value
        out.append(bad)
    return out


TAMPERED = tampered()


@pytest.mark.parametrize("document", TAMPERED, ids=[f"case{i}" for i in range(len(TAMPERED))])
def test_tampered_json_is_refused(document: Any) -> None:
    with pytest.raises(InputError):
        Release.from_json(json.dumps(document))
    with pytest.raises(InputError):
        Release.from_json("{" + json.dumps(document))


def test_json_follows_the_documented_schema() -> None:
    import jsonschema

    schema = json.loads(
        (Path(__file__).parent.parent.parent / "src" / "flexdp" / "data" / "release.schema.json").read_text()
    )
    for values, parameters in [
        (AGES * 20, {"kind": "number", "width": 5, "bounds": (0, 120)}),
        (["a"] * 99, {"kind": "text"}),
        ([dt.date(2020, 1, 1)] * 99, {"kind": "date", "exact": True}),
        ([], {"kind": "integer", "exact": True}),
    ]:
        released: Any = flexdp.release(values, epsilon=1, delta=1e-6, **parameters)  # type: ignore[arg-type]
        jsonschema.validate(json.loads(released.to_json()), schema)
    rows = 400
    frame = pl.DataFrame(
        {
            "x": [i % 9 for i in range(rows)],
            "y": [i % 7 / 2 for i in range(rows)],
            "id": list(range(rows)),
            "g": ["a", "b"] * (rows // 2),
            "d": [dt.date(2024, 1, 1 + i % 2) for i in range(rows)],
            "t": [dt.datetime(2024, 1, 1 + i % 3) for i in range(rows)],
        }
    ).with_columns(pl.col("t").dt.replace_time_zone("UTC"))
    for column, parameters in [
        ("x", {"by": ["g", "d"], "width": 3}),
        ("x", {"by": "g", "groups": ["a", "b"], "certify": "0.1", "exact": True}),
        ("x", {"unit": "id", "max_buckets_per_unit": 2, "exact": True}),
        ("x", {"unit": "id", "per_unit": "max", "by": "g", "exact": True}),
        ("t", {"width": "1 month", "zone": "UTC"}),
        (["x", "y"], {"width": [3, 1], "by": "g"}),
        (["x", "y"], {"bounds": [(0, 9), (0, 4)], "exact": True}),
    ]:
        released = flexdp.release(frame, column, epsilon=3, delta=1e-3, **parameters)  # type: ignore[arg-type]
        assert len(released.cells)
        jsonschema.validate(json.loads(released.to_json()), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**json.loads(released.to_json()), "rows": 12}, schema)


def test_frames_of_a_release() -> None:
    released = flexdp.release(np.array(AGES * 20), epsilon=1, delta=1e-6, width=5)
    for library in ("pandas", "polars", "pyarrow"):
        frame = released.to_frame(library)
        names = frame.column_names if library == "pyarrow" else list(frame.columns)
        assert names == ["key", "lower", "upper", "count", "about", "at_most"]
        assert len(frame) == len(released.bars)
    assert isinstance(released.to_frame(), pd.DataFrame)
    with pytest.raises(InputError, match="library"):
        released.to_frame("excel")


def test_buckets_are_the_edges_of_the_keys() -> None:
    released = flexdp.release(np.array(AGES * 20), epsilon=1, delta=1e-6, width=5)
    assert [(b.lower + b.upper) / 2 for b in released.buckets] == released.histogram.keys.tolist()


def test_query_runs_nothing_and_names_no_value(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("age\n" + "77\n" * 50)
    statement = flexdp.query(path, "age", width=5)
    assert "GROUP BY" in statement and "77" not in statement
    assert duckdb.sql(statement).fetchall() == [(15.0, 50)]
    assert "source" in flexdp.query(np.array([1.0]), width=5)


def test_a_release_leaves_no_relation_or_view_behind() -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE t AS SELECT 5.0 AS x FROM range(100)")
    flexdp.release(con.table("t"), "x", epsilon=1, delta=1e-6)
    assert con.execute("SHOW TABLES").fetchall() == [("t",)]


def test_release_takes_no_seed() -> None:
    with pytest.raises(TypeError):
        flexdp.release([1.0], epsilon=1, delta=1e-6, seed=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        flexdp.release([1.0], delta=1e-6)  # type: ignore[call-arg]


def test_random_numbers_are_fresh_in_every_release() -> None:
    values = np.arange(300).repeat(100)
    one, two = (flexdp.release(values, epsilon="0.1", delta=1e-6) for _ in range(2))
    assert one.histogram != two.histogram


def test_promises_speak_of_the_values_that_were_read() -> None:
    values = np.array([50.0] * 1000 + [500.0] * 9000)
    dropped = flexdp.release(values, epsilon=1, delta=1e-6, width=5, bounds=(0, 120), outside="drop")
    promises = dropped.certificate().promises
    assert any("of what was counted was left out in total" in promise for promise in promises)
    assert "Counted: readable values within 0–120." in promises
    assert str(dropped.max()).startswith("Highest value (within 0–120): 50–55 or more. ")
    opened = flexdp.release(np.array([50.0] * 1000 + [1e300] * 9000), epsilon=1, delta=1e-6, width=5)
    assert any("2^51 buckets" in promise for promise in opened.certificate().promises)
    assert opened.conditions == ("Counted: readable values.",)


def test_large_integers_are_shown_in_full() -> None:
    big = 2**60 + 12345
    released = flexdp.release(np.array([big] * 100), epsilon=1, delta=1e-6, exact=True)
    assert str(big) in str(released.max()).replace(" ", "")
    narrow = flexdp.release(np.array([big] * 100), epsilon=1, delta=1e-6, width=5, bounds=(big - 9, big + 9))
    assert f"limitedto{big - 9}–{big + 9}" in narrow.conditions[0].replace(" ", "")


def test_a_bucket_cut_at_the_bound_promises_its_own_width() -> None:
    values: Any = np.array([5] * 100)
    released = flexdp.release(values, epsilon=1, delta=1e-6, width=1000, bounds=(0, 120), outside="drop")
    assert released.max().accuracy.beta == 60
    assert released.partition.beta == 60
    last, _ = fixed({0: 100, 2: 100}, {}, width=5, bounds=(0, 12), outside="drop")
    assert (last.max().accuracy.beta, last.min().accuracy.beta) == (1, 2.5)
    clamped = flexdp.release(values, epsilon=1, delta=1e-6, width=1000, bounds=(0, 120))
    assert clamped.max().accuracy is None and "One bucket holds everything" in str(clamped.max())


def test_extreme_magnitudes_have_sentences() -> None:
    released = flexdp.release(np.array([1.7e308, -1.7e308] * 100), epsilon=1, delta=1e-6, relative="0.05")
    assert released.range().value is None and "larger than a double can hold" in str(released.range())
    assert released.max().value > 1e308


def test_promises_about_far_values_are_made_of_numbers_only() -> None:
    whole = flexdp.release(np.array([2**62] * 3000), epsilon=1, delta=1e-6, width=1)
    assert not any("2^51" in promise for promise in whole.certificate().promises)
    assert whole.max().value == 2**62


def test_levels_are_named_exactly() -> None:
    released, _ = fixed({0: 100}, {}, width=5)
    assert released.quantile("0.9999999999999999999").name == "0.9999999999999999999-quantile"
    assert released.quantile("0.99").name == "99th percentile"
    assert str(released.quantile("0.991")).startswith("99.1th percentile of x: about 5. ")
    assert released.quantile("0.991").value == 4.96


def test_order_is_refused_of_texts_even_where_nothing_survived() -> None:
    with pytest.raises(InputError, match="needs a column of numbers or dates; this one is text"):
        flexdp.release([], epsilon=1, delta=1e-6, kind="text").max_at_least(3)


def test_apply_takes_any_function_of_the_histogram() -> None:
    released, _ = fixed({0: 100, 2: 100}, {}, width=5)

    def mean(histogram: Histogram) -> float:
        return float(np.average(histogram.keys, weights=histogram.counts))

    bounded = released.apply(mean, sensitivity=1)
    assert bounded.value == 7.5
    assert (bounded.accuracy.beta, bounded.accuracy.moved) == (2.5, 0)
    assert str(bounded).startswith(
        "Result of mean for x: 7.5 ± 2.5. At most 27 records per bucket were left out; this is the result for the rest."
    )
    relative, _ = fixed({7000: 100}, {}, relative="0.05")
    with pytest.raises(InputError, match="relative buckets"):
        relative.apply(mean, sensitivity=1)
    assert relative.apply(mean).accuracy.moved == 0.05
    squared = released.apply(mean, sensitivity=lambda beta: beta * beta, name="mean")
    assert squared.accuracy.beta == 6.25
    unknown = released.apply(mean)
    assert (unknown.accuracy.beta, unknown.accuracy.moved) == (0, 2.5)
    assert "moved to the middle of its bucket, by at most 2.5;" in unknown.statement
    nothing = flexdp.release([], epsilon=1, delta=1e-6, kind="number", width=1).apply(mean)
    assert nothing.value is None and "Nothing survived" in str(nothing)
    for bad in ({"function": 5}, {"function": mean, "sensitivity": -1}):
        with pytest.raises(InputError):
            released.apply(**bad)  # type: ignore[arg-type]


def test_fit_learns_from_the_release_alone() -> None:
    from sklearn.cluster import KMeans
    from sklearn.linear_model import LinearRegression
    from sklearn.mixture import GaussianMixture
    from sklearn.neighbors import KernelDensity

    values = np.concatenate([np.full(3000, 12.0), np.full(3000, 92.0)])
    released = flexdp.release(values, epsilon=1, delta=1e-6, width=5, bounds=(0, 120))
    original = KMeans(n_clusters=2, n_init=1, random_state=0)
    fitted = released.fit(original)
    assert sorted(fitted.value.cluster_centers_.ravel()) == [12.5, 92.5]
    assert not hasattr(original, "cluster_centers_")
    assert (fitted.accuracy.beta, fitted.accuracy.moved, fitted.accuracy.distortion) == (0, 2.5, DropMove())
    assert (
        "Fit of KMeans" in fitted.statement and "moved to the middle of its bucket, by at most 2.5;" in fitted.statement
    )
    assert released.fit(KernelDensity()).value.score_samples([[12.5]])[0] > -5
    with pytest.raises(InputError, match="labels"):
        released.fit(LinearRegression())
    for bad in (GaussianMixture(), object()):
        with pytest.raises(InputError, match="sample_weight"):
            released.fit(bad)
    with pytest.raises(InputError, match="columns of numbers"):
        flexdp.release(["a"] * 99, epsilon=1, delta=1e-6, kind="text").fit(original)


def test_releases_take_their_guarantees_from_the_pipeline() -> None:
    released, _ = fixed({0: 1000, 3: 500}, {}, width=5, bounds=(0, 120))
    assert released.privacy == released.mechanism.privacy
    promised = released.mechanism.accuracy(records_at_least=1500)
    assert promised.alpha is not None and promised.beta == 2.5
    assert released.max().accuracy.metric == Difference()
    assert released.mode().accuracy.distortion == DropMove()


def test_a_release_can_be_pickled_after_it_was_asked() -> None:
    released = flexdp.release([3.0] * 200, epsilon=1, delta="1e-6", width=5)
    released.max(), released.mechanism
    again = pickle.loads(pickle.dumps(released))
    assert again == released and str(again.max()) == str(released.max())


def test_what_is_published_cannot_be_changed() -> None:
    for cells in (
        flexdp.release([3.0] * 200, epsilon=1, delta="1e-6", width=5).cells,
        flexdp.release(
            pl.DataFrame({"x": [3.0] * 200, "g": ["a"] * 200}), "x", by="g", epsilon=1, delta="1e-6", exact=True
        ).cells,
    ):
        for array in (*cells.parts, cells.counts):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = array[0]


def test_a_failing_source_of_noise_shows_nothing_of_what_was_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def empty(_size: int) -> bytes:
        raise OSError("no randomness")

    request = prepare([3.0] * 20011, width=5).with_budget(1, "1e-6")
    monkeypatch.setattr("os.urandom", empty)
    with pytest.raises(DataError) as failure:
        request.run()
    assert failure.value.__cause__ is None and failure.value.__context__ is None
    frame = failure.value.__traceback__
    while frame is not None:
        local = [value for value in frame.tb_frame.f_locals.values() if value is not request]
        assert not any("20011" in repr(getattr(value, "counts", value)) for value in local)
        frame = frame.tb_next


@pytest.mark.parametrize("given", [{"by": "nope"}, {"unit": "nope", "max_buckets_per_unit": 1}, {"by": [3]}])
def test_a_column_that_is_not_there_is_told_with_its_parameter(given: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"^{next(iter(given))}: (no column named|a column name must be)"):
        flexdp.release(pl.DataFrame({"x": [1.5]}), "x", epsilon=1, delta="1e-6", **given)


def test_modules_are_there_when_they_are_asked_for() -> None:
    code = (
        "import flexdp, sys; assert 'flexdp.report' not in sys.modules; flexdp.report.chart, flexdp.distances.hausdorff"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    with pytest.raises(AttributeError, match="has no attribute 'nope'"):
        flexdp.nope  # noqa: B018


def test_several_releases_are_read_back_as_such() -> None:
    frame = pl.DataFrame({"x": [3.0] * 200, "y": [4.0] * 200})
    several = flexdp.release(frame, ["x", "y"], separately=True, epsilon=1, delta="1e-6", width=5)
    text = several.to_json()
    assert flexdp.Releases.from_json(text).to_json() == text
    with pytest.raises(InputError, match=r"Read it with Releases\.from_json"):
        Release.from_json(text)


def test_apply_takes_values_that_are_no_numbers() -> None:
    released, _ = fixed({0: 100, 2: 100}, {}, width=5)

    def direction(histogram: Histogram) -> tuple[float, float]:
        return (float(histogram.keys[0]), float(histogram.keys[-1]))

    angle = OwnMetric("angle")
    turned = released.apply(direction, sensitivity=2, metric=angle)
    assert turned.value == (2.5, 12.5)
    assert (turned.accuracy.beta, turned.accuracy.moved, turned.accuracy.metric) == (5.0, 0, angle)
    unknown = released.apply(direction, metric=angle)
    assert (unknown.accuracy.beta, unknown.accuracy.moved, unknown.accuracy.metric) == (0, 2.5, angle)
    known = released.apply(Range())
    assert known.value == 10.0 and (known.accuracy.beta, known.accuracy.moved) == (5.0, 0)
    with pytest.raises(InputError, match="metric must be a Metric"):
        released.apply(direction, metric="angle")  # type: ignore[arg-type]
