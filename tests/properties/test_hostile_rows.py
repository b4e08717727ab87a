"""One strange record, and nothing but its own bar may change: no type, no failure, no neighbour."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from _support.command import flexdp as command
from _support.private import private_bars
from hypothesis import given, settings
from hypothesis import strategies as st

import flexdp
from flexdp import DataError, InputError, Release
from flexdp._release.api import prepare
from flexdp.histogram import KeyedHistogram

SURE = {"epsilon": 1, "delta": "1e-6"}


def tally(source: Any, column: Any, salt: str = "fixed", **parameters: Any) -> dict[tuple[Any, ...], int]:
    bars = private_bars(prepare(source, column, **parameters), salt)
    return dict(zip(bars.rows(slice(None)), bars.counts.tolist(), strict=True))


@pytest.mark.parametrize(
    "labels", [[], [None, None], [1, 2.5], [None, True]], ids=["none", "missing", "numbers", "mixed"]
)
@pytest.mark.parametrize(
    "role",
    [{"by": "label", "by_kind": "text"}, {"unit": "label", "unit_kind": "text", "max_buckets_per_unit": 1}],
    ids=["by", "unit"],
)
def test_labels_of_which_none_is_readable_are_left_out_without_a_failure(
    labels: list[Any], role: dict[str, Any]
) -> None:
    """An engine gives a column without a text another type; a single text must not decide whether a release fails."""
    frame = pd.DataFrame({"label": pd.Series(labels, dtype=object), "x": np.arange(len(labels), dtype=float)})
    assert tally(frame, "x", width=1, **role) == {}
    one_more = pd.concat([frame, pd.DataFrame({"label": ["a"], "x": [7.0]})])
    assert sum(tally(one_more, "x", width=1, **role).values()) == 1


def parts_of(release: Release) -> list[str]:
    return [str(part.dtype) for part in release.cells.parts]


@pytest.mark.parametrize(
    ("kind", "cells", "strange"),
    [("integer", [5] * 100, 2**70), ("integer", [], 2**70), ("text", [], "a"), ("number", [], 1.5)],
)
def test_a_record_that_did_not_survive_leaves_no_trace_in_a_type(kind: str, cells: list[Any], strange: Any) -> None:
    alone = flexdp.release(cells, kind=kind, exact=True, **SURE)
    release = flexdp.release([*cells, strange], kind=kind, exact=True, **SURE)
    while len(release.cells) > len(set(cells)):  # survives once in a million times
        release = flexdp.release([*cells, strange], kind=kind, exact=True, **SURE)
    assert parts_of(alone) == parts_of(release)
    assert alone.histogram.keys.dtype == release.histogram.keys.dtype


def test_bars_keep_nothing_of_those_that_were_dropped() -> None:
    bars = KeyedHistogram([["a", "b"], [2**70, 3]], [1, 40])
    thinned = bars.with_counts(np.array([0, 30]))
    assert thinned == KeyedHistogram([["b"], [3]], [30])
    assert [str(part.dtype) for part in thinned.parts] == ["object", "int64"]


@pytest.mark.parametrize("bounds", [None, (0, 50)])
def test_both_zeros_of_a_unit_are_one_bar_to_the_hash(bounds: Any) -> None:
    """Which of the unit's bars count is decided by their numbers, not by how a zero was written, nor in which order."""
    chosen = set()
    for zeros in ([0.0], [-0.0], [0.0, -0.0], [-0.0, 0.0]):
        units = [f"unit {i}" for i in range(200) for _ in range(len(zeros) + 1)]
        values = [x for _ in range(200) for x in (*zeros, 12.0)]
        frame = pl.DataFrame({"id": units, "x": values})
        counts = tally(frame, "x", width=5, bounds=bounds, unit="id", max_buckets_per_unit=1)
        assert set(counts) == {(0,), (2,)}
        chosen.add(tuple(counts.items()))
    assert len(chosen) == 1


@pytest.mark.parametrize("bounds", [(5, 10), (-10, -5), (-5, 5)])
def test_zero_is_limited_like_any_other_value(bounds: tuple[int, int]) -> None:
    values = [0.0, -0.0, 7.0, 20.0, -20.0]
    frame = pl.DataFrame({"id": list(range(5)), "x": values, "y": values})
    wanted = tally(frame, "x", bounds=bounds)
    assert set(wanted) <= {(float(min(max(x, bounds[0]), bounds[1])),) for x in values}
    assert tally(frame, "x", bounds=bounds, unit="id", max_buckets_per_unit=1) == wanted


@pytest.mark.parametrize(("unit", "per_day"), [("us", 86400 * 10**6), ("ns", 86400 * 10**9)])
def test_moments_with_a_zone_of_any_size_are_read_or_left_out(unit: str, per_day: int) -> None:
    near, far = [0, -1, 1], [2**62, -(2**62)]
    datetimes = pa.array([*near, *far, 2**63 - 1], type=pa.int64()).view(pa.timestamp(unit, tz="UTC"))
    read = near if unit == "us" else [*near, *far, 2**63 - 1]  # as nanoseconds, all lie in the years that are read
    expected = Counter((tick // per_day,) for tick in read)
    assert tally(pa.table({"t": datetimes}), "t", width="1 day", zone="UTC") == expected


def test_what_a_lazy_frame_raises_is_not_repeated(tmp_path: Path) -> None:
    """Polars' own text estimates rows and quotes cells."""
    path = tmp_path / "cells.parquet"
    pl.DataFrame({"x": ["1", "SECRET7"], "y": [2, 3]}).write_parquet(path)
    (tmp_path / "text.parquet").write_text("x,y\n1,2\nSECRET7,3\n")
    planned = pl.scan_parquet(path)
    for source in (
        planned.select("nope"),
        pl.scan_csv(tmp_path / "none.csv"),
        pl.scan_parquet(tmp_path / "text.parquet"),
    ):
        with pytest.raises(InputError, match="lazy frame that cannot be planned") as caught:
            flexdp.release(source, "x", **SURE)
        assert caught.value.__context__ is None
    with pytest.raises(DataError) as failed:
        flexdp.release(planned.with_columns(pl.col("x").cast(pl.Int64)), "x", **SURE)
    assert failed.value.__context__ is None


def test_a_document_with_a_part_changed_is_refused() -> None:
    frame = pl.DataFrame({"x": [i % 40 for i in range(2000)], "g": ["a", "b"] * 1000, "id": list(range(2000))})
    bounded = flexdp.release(frame, "x", width=10, bounds=(0, 39), by="g", groups=["a", "b"], **SURE)
    by_unit = flexdp.release(frame, "x", width=10, unit="id", max_buckets_per_unit=2, **SURE)

    def bars(document: Any) -> None:
        document["bars"]["group"] = [[{"b": "c"}.get(group, group)] for (group,) in document["bars"]["group"]]

    changes: list[tuple[Release, Any]] = [
        (bounded, bars),  # a group that was not declared, in a release that certifies a fraction
        (bounded, lambda document: document.update(by=["x"])),
        (bounded, lambda document: document.update(column=None)),
        (by_unit, lambda document: document["privacy"].update(per_unit="max")),
        (by_unit, lambda document: document["privacy"].update(unit="x")),
        (by_unit, lambda document: document.update(zone="UTC")),
        (by_unit, lambda document: document.update(zone={"UTC": 1})),
    ]
    for release, change in changes:
        document = json.loads(release.to_json())
        assert Release.from_json(json.dumps(document)).to_json() == release.to_json()
        change(document)
        with pytest.raises(InputError):
            Release.from_json(json.dumps(document))
    datetimes = pl.DataFrame({"t": [dt.datetime(2024, 1, 1, tzinfo=dt.UTC)] * 100})
    zoned = json.loads(flexdp.release(datetimes, "t", width="1 day", zone="UTC", **SURE).to_json())
    Release.from_json(json.dumps(zoned))
    with pytest.raises(InputError):
        Release.from_json(json.dumps({**zoned, "zone": "a\nb"}))


def test_sentences_name_what_was_left_out_before_the_noise() -> None:
    """Records of other groups, points outside the bounds, and a unit's values but one are not in the data meant."""
    rows = {"x": [5] * 100 + [25] * 100, "y": [1] * 200, "g": ["a"] * 100 + ["b"] * 100, "id": [*range(100)] * 2}
    frame = pl.DataFrame(rows)
    declared = flexdp.release(frame, "x", width=10, bounds=(0, 30), by="g", groups=["a"], **SURE)
    assert declared.max().value == 4.5 and str(declared.max()).startswith(
        "Highest x (declared groups of g): probably 9 or less. At most 27 records per bucket and g, and at most 74 in "
        "total, were left out; up to 27 of each g may lie in each higher bucket, and apart from those the highest is 9 "
        "or less. "
    )
    assert declared.conditions == (
        "Counted: readable values of x limited to 0–30, in records of the declared groups (g).",
    )
    assert "records that lie in none of the groups" in str(declared.certificate())
    largest = flexdp.release(frame, "x", width=10, unit="id", per_unit="max", by="g", **SURE)
    assert list(largest.groups) == ["b"]
    assert str(largest.by_group()["b"].max()).startswith(
        "Highest x per unit (id) (g b), taking each unit's highest: 20–29 or more. "
    )
    assert largest.conditions[1] == "Each unit (id) counts once, with its highest x, in the group that has it."
    twice = flexdp.release(frame, "x", width=10, unit="id", max_buckets_per_unit=2, by="g", **SURE)
    assert twice.conditions[1] == (
        "What counts is each unit (id) once in at most 2 ranges across all groups; nothing is guaranteed about "
        "the column itself."
    )
    points = flexdp.release(frame, ["x", "y"], width=10, bounds=[(0, 20), (-1, 1)], **SURE)
    assert points.conditions == ("Counted: readable points (x, y) limited to 0–20 × -1 to 1.",)
    dropped = flexdp.release(frame, ["x", "y"], width=10, bounds=[(0, 20), None], outside="drop", **SURE)
    assert dropped.conditions == ("Counted: readable points (x, y) within 0–20 × any.",)
    assert str(dropped.support()).startswith("Cells of (x, y) that hold records (within 0–20 × any): ")
    assert str(dropped.marginal("y").max()).startswith("Highest y (the others within their bounds): 0–9 or more. ")


def test_a_group_that_was_found_can_be_debiased() -> None:
    frame = pl.DataFrame({"x": [5] * 200, "g": ["a"] * 200})
    release = flexdp.release(frame, "x", width=10, bounds=(0, 39), by="g", **SURE)
    (answer,) = release.by_group().counts(debias=True).values()
    assert answer.value == {4.5: release.cells.counts[0] + float(release.noise.mean_drop())}
    (plain,) = release.by_group().counts().values()
    assert "at most 27 too low" in str(plain) and plain.accuracy.alpha is None
    assert release.by_group()["a"].median().interval is None  # the group was not public
    with pytest.raises(InputError, match="Declare them with groups"):
        release.counts(debias=True)


def test_groups_named_like_columns_of_frames_stay_apart() -> None:
    rows = {
        "key": ["a"] * 100,
        "key (group)": ["b"] * 100,
        "value": ["c"] * 100,
        "value (group)": ["d"] * 100,
        "x": [5] * 100,
    }
    release = flexdp.release(pl.DataFrame(rows), "x", width=10, by=list(rows)[:4], **SURE)
    frame = release.to_frame("polars")
    assert frame.row(0)[:4] == ("a", "b", "c", "d") and frame["count"][0] == release.cells.counts[0]
    answers = release.by_group().max().to_frame("polars").row(0)
    assert answers[:5] == ("a", "b", "c", "d", 4.5)


def test_a_bound_that_was_paid_for_is_found_once_for_all_groups() -> None:
    """Ten thousand groups are asked in the time of their number, not of its square."""
    groups = np.repeat([f"group {i:05d}" for i in range(10_000)], 40)
    release = flexdp.release(
        pl.DataFrame({"x": [5] * len(groups), "g": groups}), "x", width=10, by="g", certify=0.1, **SURE
    )
    started = time.process_time()
    few = release.by_group()
    assert [few[group].max().value for group in release.groups[:100]] == [4.5] * 100
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("column", "parameters", "words"),
    [
        ("x", {"by": "n", "groups": ["²"]}, "kind, integer"),
        ("x", {"by": "n", "groups": ["--5"]}, "kind, integer"),
        ("x", {"by": ["g", "n"], "groups": [5]}, "2 values each"),
        ("x", {"by": ["g", "n"], "groups": ["a1"]}, "2 values each"),
        ("x", {"by": "g", "groups": [("a", "b")]}, "1 value each"),
        ("x", {"by": "g", "groups": ["\ud800"]}, "UTF-8"),
        ("x", {"by": "g", "groups": ["é" * 32_769]}, "at most 65 536 bytes"),
        (["x", "x"], {"separately": True}, "each column once"),
        ("x", {"unit": "id", "max_buckets_per_unit": 10**9}, "smaller max_buckets_per_unit"),
        ("x", {"width": "1 day"}, "kind='date' or kind='datetime'"),
    ],
)
def test_mistakes_are_refused_with_a_remedy(column: Any, parameters: dict[str, Any], words: str) -> None:
    frame = pl.DataFrame({"x": [1], "g": ["a"], "n": [1], "id": [1]})
    with pytest.raises(InputError, match=words):
        flexdp.release(frame, column, **SURE, **parameters)


@pytest.mark.parametrize("source", [[1.0], np.zeros(3), pd.Series([1.0]), pl.Series([1.0]), pa.array([1.0])], ids=type)
def test_a_single_column_has_no_groups_or_units(source: Any) -> None:
    for role in ({"by": "g"}, {"unit": "g", "max_buckets_per_unit": 1}):
        with pytest.raises(InputError, match="no column named 'g', since the source is a single column"):
            flexdp.release(source, width=1, **role, **SURE)


def test_a_table_without_names_is_told_how_to_get_them() -> None:
    for column in (None, ["a", "b"]):
        with pytest.raises(InputError, match="or name them in a frame"):
            flexdp.release(np.zeros((3, 2)), column, width=1, **SURE)


def test_groups_may_be_numpy_values() -> None:
    frame = pl.DataFrame({"x": [1] * 3, "n": [1, 2, 2], "b": [True, False, True]})
    assert tally(frame, "x", by="n", groups=np.array([2])) == {(2, 1): 2}
    assert tally(frame, "x", by="b", groups=[np.True_]) == {(True, 1): 2}


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return command(*arguments, "--epsilon", 1, "--delta", "1e-6")


def test_counts_of_each_group_are_printed_and_what_is_not_is_said(tmp_path: Path) -> None:
    path = tmp_path / "wards.csv"
    path.write_text("ward,floor,age\n" + "".join(f"w{i % 70},{i % 2},5\n" for i in range(70 * 60)))
    out = run("release", path, "age", "--width", 10, "--by", "ward", "-s", "counts")
    assert out.stdout.count("Counts of age (ward w") == 60
    assert out.stdout.count("\n0–10\t") == 61  # of all groups together, and of each that is shown
    assert "Showing the first 60 groups; --json or -o has the other 10." in out.stderr
    out = run(
        "release", path, "age", "--width", 10, "--by", "ward", "--by", "floor", "--groups", "w1:1, w2:0", "-s", "max"
    )
    assert [line.split(": ")[0] for line in out.stdout.splitlines()[2:]] == [
        "Highest age (ward w1, floor 1)",
        "Highest age (ward w2, floor 0)",
    ]
    assert "groups are shown" not in out.stderr


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ("2024-01-01T06:00:2024-12-31", "limited to 2024-01-01 06:00 to 2024-12-31."),
        ("2024-01-01:2024-12-31 18:30:15", "limited to 2024-01-01 to 2024-12-31 18:30:15."),
        ("2024-01-01T00:00:30.5:2024-12-31T18:30", "limited to 2024-01-01 00:00:30.500000 to 2024-12-31 18:30."),
        ("1:2:3", "LO:HI"),
    ],
)
def test_bounds_of_times_may_have_colons(tmp_path: Path, bounds: str, words: str) -> None:
    path = tmp_path / "times.csv"
    path.write_text("t\n" + "2024-03-01T12:00\n" * 100)
    out = run("release", path, "t", "--kind", "datetime", "--width", "1 month", "--bounds", bounds, "-s", "max")
    assert words in out.stdout + out.stderr


@pytest.mark.parametrize("name", ["date32", "date64", "timestamp[s]", "timestamp[us]", "timestamp[ns, tz=UTC]"])
def test_times_that_arrow_keeps_for_pandas_are_read_as_arrow_s_own(name: str) -> None:
    types = {"date32": pa.date32(), "date64": pa.date64(), "timestamp[s]": pa.timestamp("s")}
    types |= {"timestamp[us]": pa.timestamp("us"), "timestamp[ns, tz=UTC]": pa.timestamp("ns", tz="UTC")}
    day = {"date32": 1, "date64": 86400 * 10**3, "timestamp[s]": 86400, "timestamp[us]": 86400 * 10**6}.get(name)
    ticks = [0, -(day or 86400 * 10**9), None, 2**31 - 1]
    cells = pa.array(ticks, type=pa.int32() if name == "date32" else pa.int64()).view(types[name])
    frame = pd.DataFrame({"t": pd.Series(pd.arrays.ArrowExtensionArray(cells)), "g": ["a"] * 4})
    frame["g"] = frame["g"].astype("string")
    zone = {"zone": "Asia/Tokyo"} if "tz" in name else {}
    for more in ({}, {"by": "g"}):
        wanted = tally(pa.table({"t": cells, "g": ["a"] * 4}), "t", width="1 month", **zone, **more)
        assert tally(frame, "t", width="1 month", **zone, **more) == wanted
        assert sum(wanted.values()) == (2 if name == "date32" else 3)


@settings(deadline=None, max_examples=15)
@given(
    st.lists(
        st.one_of(st.none(), st.sampled_from(["a", "A", "a ", "1", " 2.5", "é", "e\u0301", "a\0", ""])), max_size=30
    )
)
def test_texts_and_categories_of_pandas_are_read_like_a_list(cells: list[str | None]) -> None:
    """Each text is read once there, however many records have it; where pandas chose the type, numbers are no texts."""
    x = np.arange(len(cells), dtype=float)
    for dtype in ("str", "string", "category"):
        frame = pd.DataFrame({"t": pd.Series(cells, dtype=dtype), "x": x})
        texts = [cell if dtype == "string" or cell not in ("1", " 2.5") else None for cell in cells]
        assert tally(frame, "t", kind="text") == Counter((cell,) for cell in texts if cell is not None)
        numbers = Counter((float(cell),) for cell in cells if cell in ("1", " 2.5"))
        assert tally(frame, "t", kind="number") == numbers
        grouped = Counter((cell, float(i)) for i, cell in enumerate(texts) if cell is not None)
        said = {} if dtype == "string" else {"by_kind": "text"}
        assert tally(frame, "x", kind="number", by="t", **said) == grouped


@pytest.mark.parametrize(("zone", "ahead"), [("UTC", 0), ("Asia/Tokyo", 9), ("America/New_York", -5)])
@pytest.mark.parametrize("kind", ["datetime", "date"])
def test_clocks_never_leave_the_calendar(zone: str, ahead: int, kind: str) -> None:
    """What some clock may show in the year 0 or 10000 is outside, so that no answer is further off than it says."""
    values = [
        dt.datetime(1, 1, 1),
        dt.datetime(1, 1, 2),
        dt.datetime(2024, 1, 31, 20, 30),
        dt.datetime(9999, 12, 31, 23, 59),
    ]
    datetimes = [value.replace(tzinfo=dt.UTC) for value in values]
    shown = []
    for value in values:
        with suppress(OverflowError):
            shown.append(value + dt.timedelta(hours=ahead))
    start = dt.datetime(1970, 1, 1)
    wanted = Counter(
        ((moment - start).days if kind == "date" else (moment - start) // dt.timedelta(microseconds=1),)
        for moment in shown
    )
    naive = pd.Series([moment.replace(tzinfo=None) for moment in datetimes], dtype="datetime64[us]")
    for source in (pl.DataFrame({"t": datetimes}), pd.DataFrame({"t": naive.dt.tz_localize("UTC")})):
        assert tally(source, "t", zone=zone, kind=kind) == wanted
