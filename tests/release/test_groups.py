"""Groups: one bar for each group and bucket, the same price, and answers for each and for all."""

from __future__ import annotations

import csv
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from _support.private import private_bars
from hypothesis import given, settings
from hypothesis import strategies as st

import flexdp
from flexdp import InputError, Release
from flexdp._release.api import prepare
from flexdp._release.spec import Spec
from flexdp.accounting.budget import Budget
from flexdp.buckets.parse import make_buckets
from flexdp.histogram import KeyedHistogram

WARDS = ["A", "B", 'quote"d', "com,ma", "é", None]


def table() -> dict[str, list[Any]]:
    wards = [WARDS[i % 6] for i in range(600)]
    ages = [None if i % 17 == 0 else 20 + (i * 7) % 60 for i in range(600)]
    return {"ward": wards, "age": ages, "floor": [i % 3 for i in range(600)], "late": [i % 2 == 0 for i in range(600)]}


def wanted(width: int = 10) -> Counter[tuple[str, int]]:
    content = table()
    pairs = zip(content["ward"], content["age"], strict=True)
    return Counter((ward, age // width) for ward, age in pairs if ward is not None and age is not None)


def sources(folder: Path) -> dict[str, Any]:
    content = table()
    arrow = pa.table(content)
    pyarrow.parquet.write_table(arrow, folder / "t.parquet")
    with (folder / "t.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(list(content))
        writer.writerows(zip(*content.values(), strict=True))
    rows = [dict(zip(content, row, strict=True)) for row in zip(*content.values(), strict=True)]
    (folder / "t.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    con = duckdb.connect()
    con.register("held", arrow)
    con.execute("CREATE TABLE kept AS SELECT * FROM held")
    return {
        "parquet": folder / "t.parquet",
        "csv": folder / "t.csv",
        "jsonl": folder / "t.jsonl",
        "pandas": pd.DataFrame(content),
        "pandas nullable": pd.DataFrame(content).convert_dtypes(),
        "polars": pl.DataFrame(content),
        "polars lazy": pl.LazyFrame(content),
        "pyarrow": arrow,
        "relation": con.table("kept"),
    }


def tally(bars: KeyedHistogram) -> Counter[tuple[Any, ...]]:
    rows = bars.rows(slice(None))
    return Counter(dict(zip(rows, bars.counts.tolist(), strict=True)))


def test_all_sources_count_groups_alike(tmp_path: Path) -> None:
    for name, source in sources(tmp_path).items():
        request = prepare(source, "age", by="ward", by_kind="text", kind="integer", width=10)
        assert tally(private_bars(request)) == wanted(), name


def test_several_group_columns(tmp_path: Path) -> None:
    content = table()
    expected: Counter[tuple[Any, ...]] = Counter()
    for ward, age, floor, late in zip(*(content[name] for name in ("ward", "age", "floor", "late")), strict=True):
        if ward is not None and age is not None:
            expected[late, floor, ward, age // 20] += 1
    for name in ("parquet", "polars", "pyarrow", "relation"):
        request = prepare(sources(tmp_path)[name], "age", by=["late", "floor", "ward"], kind="integer", width=20)
        assert tally(private_bars(request)) == expected, name


def test_a_strange_record_changes_its_own_bar_only() -> None:
    plain = pd.DataFrame({"g": ["a", "b"] * 50, "x": [float(i % 10) for i in range(100)]})
    before = tally(private_bars(prepare(plain, "x", by="g", by_kind="text", width=1)))
    for group, value, change in [
        ("a", np.nan, 0),
        ("a", np.inf, 0),
        (None, 3.0, 0),
        ("a' OR 1=1 --", 3.0, 1),
        ("a\0b", 3.0, 1),
        ("", 3.0, 1),
        ("A", 1e300, 0),
        ("a ", 3.0, 1),
    ]:
        other = pd.concat([plain, pd.DataFrame({"g": [group], "x": [value]})], ignore_index=True)
        after = tally(private_bars(prepare(other, "x", by="g", by_kind="text", width=1)))
        assert sum((after - before).values()) == change and not before - after, (group, value)


def test_the_price_does_not_change() -> None:
    frame = pd.DataFrame(table()).astype({"ward": "string"})  # a text declared as one: nothing is to be warned of
    alone = flexdp.release(frame, "age", epsilon=1, delta="1e-6", width=10)
    grouped = flexdp.release(frame, "age", epsilon=1, delta="1e-6", width=10, by="ward", kind="integer")
    assert grouped.max_drop == alone.max_drop == 27
    assert grouped.privacy == alone.privacy


def made(cells: dict[tuple[Any, ...], int], declared: list[str] | None = None) -> Release:
    """A release of given bars, by group and bucket of width 10 within 0–99."""
    frame = pl.DataFrame({"g": ["a"], "x": [1]})
    request = prepare(frame, "x", by="g", groups=declared, width=10, bounds=(0, 99), outside="drop", kind="integer")
    parts = list(zip(*cells, strict=True)) or [[], []]
    spec = request.questions[0].spec
    return Release(
        spec=spec,
        budget=Budget(1, "1e-6", buckets=spec.public_buckets),
        cells=KeyedHistogram([list(part) for part in parts], list(cells.values())),
    )


cells_of = st.dictionaries(
    st.tuples(st.sampled_from(["a", "b", "c"]), st.integers(0, 9)), st.integers(1, 200), min_size=1, max_size=12
)


@settings(deadline=None, max_examples=60)
@given(cells_of, st.data())
def test_statements_about_all_groups_hold_whatever_was_dropped(cells: dict[Any, int], data: st.DataObject) -> None:
    """The truth is any x with y ≤ x ≤ y + D in each declared bar, and m more in all; the certified α must cover it."""
    released = made(cells, ["a", "b", "c"])
    truth, left = dict(cells), released.budget.limited.total
    for bar in [(g, i) for g in "abc" for i in range(10)]:
        lost = min(left, data.draw(st.sampled_from([0, 0, released.max_drop, 1])))
        truth[bar] = truth.get(bar, 0) + lost
        left -= lost
    lost, size = sum(truth.values()) - sum(cells.values()), sum(truth.values())
    assert lost / size <= released.support().accuracy.alpha + 1e-12
    above = sum(n for (_, i), n in truth.items() if i > max(i for _, i in cells))
    assert above / size <= released.max().accuracy.alpha + 1e-12
    median = sorted(i for (_, i), n in truth.items() for _ in range(n))[(size + 1) // 2 - 1]
    low, high = released.median().interval
    assert low <= 10 * median and 10 * median + 9 <= high
    pooled = released.counts().value
    for i in range(10):
        true = sum(truth.get((g, i), 0) for g in "abc")
        shown = pooled.get(10 * i + 4.5, 0)
        assert 0 <= true - shown <= 3 * released.max_drop


@settings(deadline=None, max_examples=40)
@given(cells_of)
def test_each_group_is_read_as_if_it_were_alone(cells: dict[Any, int]) -> None:
    released = made(cells, ["a", "b", "c"])
    groups = released.by_group()
    assert list(groups) == ["a", "b", "c"] == released.groups
    noise = released.budget.limited
    assert noise.buckets == 30 and noise.total > 10 * noise.max_drop, "a group alone may lose all it can"
    for name in groups:
        own = {i: n for (g, i), n in cells.items() if g == name}
        view = groups[name]
        assert dict(view.histogram.items()) == {10 * i + 4.5: n for i, n in own.items()}
        if own:
            alone = replace(
                released,
                spec=replace(released.spec, by=(), by_kinds=(), groups=None),
                cells=KeyedHistogram([list(own)], list(own.values())),
            )
            for ask in ("max", "min", "range", "median", "mode", "support", "counts"):
                mine, other = getattr(view, ask)(), getattr(alone, ask)()
                assert (mine.value, mine.accuracy) == (other.value, other.accuracy)
        else:
            assert "Nothing survived" in str(view.max())


def test_unknown_groups_certify_no_fraction() -> None:
    released = made({("a", 1): 100, ("b", 2): 50})
    for answer in (released.max(), released.support(), released.median(), released.by_group()["a"].max()):
        assert answer.accuracy.alpha is None
    assert released.median().interval is None
    assert "At most 27 records per bucket and g were left out" in str(released.max())
    assert "is at most 27 too low per g and never too high" in str(released.counts())
    with pytest.raises(InputError, match="Declare them with groups"):
        released.counts(debias=True)
    assert made({("a", 1): 100}, ["a", "b"]).counts(debias=True).value == {14.5: pytest.approx(127, abs=1e-5)}


def test_groups_make_frames() -> None:
    answers = made({("a", 1): 100, ("b", 2): 50}, ["a", "b"]).by_group().max()
    assert pd.DataFrame(answers.rows)["value"].tolist() == [14.5, 24.5]
    assert pl.DataFrame(answers.rows)["g"].to_list() == ["a", "b"]
    assert answers.to_frame("polars").columns == ["g", "value", "alpha", "beta", "statement"]
    assert answers["b"].value == 24.5 and len(answers) == 2 and "b" in answers
    assert str(answers).count("\n") == 1
    with pytest.raises(InputError, match="not in the release"):
        answers["c"]
    with pytest.raises(InputError, match="not in the release"):
        made({("a", 1): 100}).by_group()["c"]


def test_only_declared_groups_count(tmp_path: Path) -> None:
    for name, source in sources(tmp_path).items():
        named = ["A", 'quote"d', "none such"]
        request = prepare(source, "age", by="ward", by_kind="text", groups=named, kind="integer", width=10)
        expected = Counter({key: n for key, n in wanted().items() if key[0] in ("A", 'quote"d')})
        assert tally(private_bars(request)) == expected, name
    both = {"by": ["ward", "late"], "by_kind": {"ward": "text", "late": "boolean"}, "groups": [("A", True)]}
    request = prepare(pd.DataFrame(table()), "age", kind="integer", width=90, **both)
    counts = tally(private_bars(request))
    assert list(counts) == [("A", True, 0)]


def test_documents_of_groups_are_read_back_and_checked() -> None:
    released = made({("a", 1): 100, ("b", 2): 50}, ["a", "b"])
    text = released.to_json()
    assert Release.from_json(text).to_json() == text
    document = json.loads(text)
    assert document["bars"]["group"] == [["a"], ["b"]] and document["groups"] == [["a"], ["b"]]
    for change in (
        {"by": ["g", "h"]},
        {"by_kind": ["number"]},
        {"groups": [["a"], ["a"]]},
        {"groups": [["b"], ["a"]]},
        {"by": None},
    ):
        with pytest.raises(InputError):
            Release.from_json(json.dumps({**document, **change}))
    document["bars"]["group"][0] = ["b", "c"]
    with pytest.raises(InputError):
        Release.from_json(json.dumps(document))


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"by": "wards"}, "Did you mean 'ward'"),
        ({"by": "age"}, "each column once"),
        ({"by": []}, "by must be"),
        ({"by": 5}, "by must be"),
        ({"groups": ["A"]}, "groups needs by"),
        ({"by": "ward", "groups": "A"}, "groups must be a list"),
        ({"by": "ward", "groups": []}, "groups must be a list"),
        ({"by": "ward", "groups": ["A", "A"]}, "differ"),
        ({"by": "ward", "groups": [5]}, "kind, text"),
        ({"by": "floor", "groups": [1.5]}, "kind, integer"),
        ({"by": "floor", "groups": [10**37]}, "at most 37 digits"),
        ({"by": ["ward", "floor"], "groups": ["AB", "CD"]}, "2 values each"),
        ({"by": ["ward", "floor"], "groups": [("A",)]}, "2 values each"),
        ({"by": "ratio"}, "texts, integers, dates or booleans"),
    ],
)
def test_bad_groups_are_refused(parameters: dict[str, Any], words: str) -> None:
    frame = pl.DataFrame({**table(), "ratio": [0.5] * 600})
    with pytest.raises(InputError, match=words):
        flexdp.release(frame, "age", epsilon=1, delta=1e-6, width=10, **parameters)


def test_one_more_group_for_what_the_declared_ones_do_not_cover(tmp_path: Path) -> None:
    wards = ["A", "B", "C", None, "it's"] * 200
    table = pl.DataFrame({"age": [33] * 1000, "ward": wards})
    options: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "width": 10}
    options |= {"by": "ward", "groups": ["A", "it's"], "other": "rest"}
    released = flexdp.release(table, "age", **options)
    counts = {group: answer.value for group, answer in released.by_group().count().items()}
    assert set(counts) == {"A", "it's", "rest"} and abs(counts["rest"] - 600) < 15 and abs(counts["it's"] - 200) < 15
    assert Release.from_json(released.to_json()) == released
    table.write_csv(tmp_path / "t.csv")
    assert flexdp.release(tmp_path / "t.csv", "age", kind="integer", **options).groups == released.groups
    for wrong in ({"groups": None}, {"groups": ["A", "rest"]}, {"groups": [1, 2]}, {"by": ["ward", "age"]}):
        with pytest.raises(InputError, match=r"^other "):
            flexdp.release(table, "age", **{**options, **wrong})
    for wrong, words in {
        (("groups", None),): "other needs the declared groups in groups",
        (("groups", ("A", "rest")),): "other must differ from the names in groups",
        (("by", "age"),): "other needs a column of texts in by; got 'age'",
        (("by", "wrd"),): "by: no column named 'wrd'. Did you mean 'ward'",
    }.items():
        with pytest.raises(InputError, match=words):
            flexdp.release(table, "age", **{**options, **dict(wrong)})


def test_the_group_of_all_others_is_a_group_of_the_column_itself() -> None:
    table = pl.DataFrame({"x": [1.5] * 900, "ward": ["A", "B", None] * 300})
    released = flexdp.release(table, "x", epsilon=1, delta=1e-6, width=1, by="ward", groups=["A"], other="the rest")
    assert released.conditions == (
        "Counted: readable values of x.",
        "Group the rest: records with another ward, or with none.",
    )
    view = released.by_group()["the rest"]
    assert str(view.max()).startswith("Highest x (ward the rest): 1–2 or more. ") and 560 < view.count().value < 640
    assert " per bucket and ward were left out" in str(released.max()) and str(released.max()).startswith("Highest x: ")
    assert "No empty bucket of any ward is listed." in str(released.certificate())
    assert "none of the groups" not in str(released.certificate())
    assert released.columns_of_bars()["ward"] and "by 'ward'" in repr(released)
    assert released.by_group().max().rows[0]["ward"] == "A"
    read = flexdp.Release.from_json(released.to_json())
    assert read == released and read.conditions == released.conditions and read.spec.by == ("ward or the rest",)


@pytest.mark.parametrize(
    "text",
    [
        "CASE WHEN ward = 'A' THEN 'A' ELSE 'rest' END",
        "CASE WHEN ward IN ('A') THEN x ELSE 'rest' END",
        "CASE WHEN x IN ('A') THEN x ELSE 'rest' END",
        "CASE WHEN ward IN ('A', 'B') THEN ward ELSE 'rest' END",
        "CASE WHEN NOT ward IN ('A') THEN ward ELSE 'rest' END",
        "coalesce(ward, 'rest')",
    ],
)
def test_a_derived_column_of_another_meaning_keeps_its_name(text: str) -> None:
    buckets = (make_buckets("number", width=1),)
    spec = Spec(
        columns=("y",),
        partitions=buckets,
        by=("ward or rest",),
        by_kinds=("text",),
        groups=(("A",), ("rest",)),
        derived=(("ward or rest", text),),
    )
    assert spec.other_group is None and spec.labels == ("ward or rest",)
    right = "CASE WHEN ward IN ('A') THEN ward ELSE 'rest' END"
    assert replace(spec, derived=(("ward or rest", right),)).labels == ("ward",)
