"""Several columns: as points of a grid, or one by one out of one budget."""

from __future__ import annotations

import json
import math
import runpy
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from _support.private import private_bars
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.svm import SVC

import flexdp
from flexdp import Histogram, InputError, Release
from flexdp._release.api import Releases, prepare
from flexdp.distances import hausdorff

finite = st.floats(-1e6, 1e6)


def frame(size: int = 3000, seed: int = 3) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "lat": rng.normal(size=size),
            "lon": 3 * rng.normal(size=size),
            "n": rng.integers(0, 40, size),
            "id": rng.integers(0, 900, size),
            "g": rng.choice(["a", "b"], size),
        }
    )


@settings(deadline=None, max_examples=25)
@given(st.lists(st.tuples(finite, finite, finite), min_size=1, max_size=30), st.integers(1, 10**6), st.integers(2, 3))
def test_no_point_is_further_than_beta_from_the_middle_of_its_cell(points: list[Any], beta: int, d: int) -> None:
    names = ["x", "y", "z"][:d]
    table = pl.DataFrame({name: [point[i] for point in points] for i, name in enumerate(names)})
    target = Fraction(beta, 1000)
    request = prepare(table, names, beta=target)
    grid = request.partition
    assert grid.beta <= target < grid.beta * Fraction(1001, 1000)
    centres = {}
    bars = private_bars(request)
    cells = np.stack([part.astype(float) for part in bars.parts], axis=1)
    for cell, centre in zip(cells, grid.centres(cells), strict=True):
        centres[tuple(cell)] = centre
    width = float(2 * target) / math.sqrt(d)
    assert sum(bars.counts) == len(points)
    for point in points:
        near = min(math.dist(point[:d], centre) for centre in centres.values())
        assert near <= float(target) + 1e-9 * max(1.0, *map(abs, point)), width


def test_sources_count_cells_alike(tmp_path: Path) -> None:
    table = frame()
    table.write_parquet(tmp_path / "t.parquet")
    table.write_csv(tmp_path / "t.csv")
    con = duckdb.connect()
    con.register("given", table.to_arrow())
    con.execute("CREATE TABLE held AS FROM given")
    wanted = Counter(
        (g, math.floor(lat / 0.5), math.floor(lon), n // 10)
        for lat, lon, n, g in table.select("lat", "lon", "n", "g").iter_rows()
    )
    for source in (tmp_path / "t.parquet", table, table.lazy(), table.to_pandas(), table.to_arrow(), con.table("held")):
        request = prepare(
            source,
            ["lat", "lon", "n"],
            by="g",
            by_kind="text",
            width={"lat": "0.5", "lon": 1, "n": 10},
            kind={"n": "integer"},
        )
        bars = private_bars(request)
        assert dict(zip(bars.rows(slice(None)), bars.counts.tolist(), strict=True)) == wanted
    request = prepare(tmp_path / "t.csv", ["lat", "lon"], width=[1, 2])
    assert sum(private_bars(request).counts) == 3000


def test_what_may_be_asked_of_points() -> None:
    released = flexdp.release(frame(), ["lat", "lon"], epsilon=1, delta="1e-6", width=1, bounds=[(-5, 5), (-20, 20)])
    assert released.histogram.keys.shape[1] == 2 and len(released.buckets[0].lower) == 2
    support = released.support()
    total = released.budget.limited.total
    assert total < 27 * 400 * 3 // 5
    assert support.accuracy.beta == pytest.approx(math.sqrt(0.5)) and support.accuracy.alpha is not None
    assert support.accuracy.alpha == pytest.approx(total / (released.bars.size + total))
    true = frame().select("lat", "lon").to_numpy()
    near = np.linalg.norm(true[:, None] - released.histogram.keys[None], axis=2) <= support.accuracy.beta
    kept = Histogram.from_values(true[near.any(axis=1)])  # some points left out, and the supports are within β
    assert hausdorff(kept, released.histogram).value <= support.accuracy.beta
    assert isinstance(released.mode().value, tuple)
    assert "moved to the middle of its cell, by at most 0.707107;" in str(released.apply(len))
    marginal = released.marginal("lat")
    assert sum(marginal.histogram.counts) == released.bars.size
    assert marginal.max().accuracy.beta == 0.5
    above = sum(key > marginal.max().value for key in np.arange(-4.5, 5))
    lost = min(27 * above * 40, total)
    assert marginal.max().accuracy.alpha == pytest.approx(lost / (lost + released.bars.size) if lost else 0)
    assert "Every cell with at least 28 records is listed" in str(released.support())
    assert str(marginal.max()).startswith("Highest lat: ")
    for ask in (released.max, released.median, released.range, lambda: released.max_at_least(5)):
        with pytest.raises(InputError, match="marginal"):
            ask()
    with pytest.raises(InputError, match="its columns are lat, lon"):
        released.marginal("id")
    with pytest.raises(InputError, match="several columns"):
        flexdp.release([1.0], epsilon=1, delta="1e-6", kind="number").marginal("x")
    assert released.apply(lambda histogram: histogram.size).value == released.bars.size
    centres = released.fit(KMeans(2, n_init=1, random_state=0)).value.cluster_centers_
    assert centres.shape == (2, 2)
    assert {"key lat", "upper lon", "count"} < set(released.to_frame("polars").columns)
    text = released.to_json()
    assert Release.from_json(text).to_json() == text
    document = json.loads(text)
    for change in ({"column": ["lat"]}, {"kind": ["number", "text"]}, {"buckets": [{}]}):
        with pytest.raises(InputError):
            Release.from_json(json.dumps({**document, **change}))
    document["bars"]["index"][0] = [99, 0]
    with pytest.raises(InputError):
        Release.from_json(json.dumps(document))


def test_the_separator_of_a_release_is_that_of_moved_and_thinned_points() -> None:
    example = runpy.run_path(str(Path(__file__).parent.parent.parent / "examples" / "separator.py"))
    table = example["points"](seed=2, each=4000)
    released = flexdp.release(table, ["x", "y"], by="label", epsilon=1, delta="1e-6", beta=0.2)
    answer = released.fit(SVC(kernel="linear", C=1e3))
    # Rebuilt from the published frame alone: points at the middles of their cells, as often as they are published.
    bars = released.to_frame("polars")
    points = np.repeat(bars.select("key x", "key y").to_numpy(), bars["count"].to_numpy(), axis=0)
    labels = np.repeat(bars["label"].to_numpy(), bars["count"].to_numpy())
    again = SVC(kernel="linear", C=1e3).fit(points, labels)
    assert np.allclose(answer.value.coef_, again.coef_, rtol=1e-2)
    assert set(labels) == {"above", "below"}  # labels are never bucketed
    assert answer.accuracy.moved == pytest.approx(0.2) and answer.accuracy.max_drop == 27
    assert (
        "per cell and label were left out and every value was moved to the middle of its cell, by at most 0.2"
        in str(answer)
    )
    truth = SVC(kernel="linear", C=1e3).fit(table.select("x", "y").to_numpy(), table["label"].to_numpy())
    assert abs(example["direction"](answer.value) - example["direction"](truth)) < 15
    with pytest.raises(InputError, match="Release with by"):
        flexdp.release(table, ["x", "y"], epsilon=1, delta="1e-6", beta=0.2).fit(SVC())


def test_the_example_runs() -> None:
    script = Path(__file__).parent.parent.parent / "examples" / "separator.py"
    out = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert "private separator" in out.stdout and not out.stderr


COLUMNS = ["lat", "n", "g"]


def test_several_columns_are_counted_in_one_pass_as_they_are_alone(tmp_path: Path) -> None:
    rows = frame(500).with_columns(pl.when(pl.col("n") % 7 == 0).then(None).otherwise(pl.col("lat")).alias("lat"))
    rows.write_parquet(tmp_path / "t.parquet")
    rows.write_csv(tmp_path / "t.csv")
    widths = {"lat": "0.5", "n": 10}
    for source in (tmp_path / "t.parquet", tmp_path / "t.csv", rows, rows.to_pandas(), rows.to_arrow()):
        kinds = {"lat": "number", "n": "integer", "g": "text"}
        unit = {"unit": "id", "unit_kind": "integer", "max_buckets_per_unit": 2}
        for common in ({}, unit, {"by": "id", "by_kind": "integer"}):
            request = prepare(source, COLUMNS, width=widths, kind=kinds, separately=True, **common)
            countings = [question.counting for question in request.questions]
            together = request.questions[0].table.count(countings)
            alone = [request.questions[0].table.count([counting])[0] for counting in countings]
            assert together == alone and all(len(bars) for bars in alone)


def test_relative_buckets_and_clamps_in_one_pass() -> None:
    table = pl.DataFrame({"a": [1.0, -2.0, math.nan, math.inf, None, 0.0], "b": [5, 50, 500, None, -5, 7]})
    request = prepare(table, ["a", "b"], relative={"a": "0.1"}, width={"b": 10}, bounds={"b": (0, 99)}, separately=True)
    countings = [question.counting for question in request.questions]
    together = request.questions[0].table.count(countings)
    assert together == [request.questions[0].table.count([counting])[0] for counting in countings]
    assert [int(sum(bars.counts)) for bars in together] == [3, 5]


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    frame(2000).write_csv(tmp_path / "t.csv")
    command = [sys.executable, "-m", "flexdp", "release", "-", "lat", "n"]
    options = ["--width", "lat=0.5", "--width", "n=10", "-e", "1", "-d", "1e-6", "-s", "max", "--json"]
    for more in ([], ["--unit", "id", "--max-buckets-per-unit", "1"]):
        with (tmp_path / "t.csv").open() as stream:
            out = subprocess.run([*command, *options, *more], stdin=stream, capture_output=True, text=True, check=True)
        document = json.loads(out.stdout)
        assert [each["column"] for each in document["releases"]] == ["lat", "n"]
        assert all(each["bars"]["count"] for each in document["releases"])


def test_the_budget_is_shared_as_asked() -> None:
    options: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "width": {"lat": 1, "n": 10}, "separately": True}
    equal = flexdp.release(frame(), ["lat", "n"], **options)
    assert isinstance(equal, Releases) and list(equal) == ["lat", "n"] and len(equal) == 2
    assert [release.privacy.epsilon for release in equal.values()] == [Fraction(1, 2)] * 2
    shared = flexdp.release(frame(), ["lat", "n"], split=[3, "1"], **options)
    assert shared["lat"].privacy.epsilon == Fraction(3, 4) and shared["n"].privacy.delta == Fraction(1, 4 * 10**6)
    assert shared.privacy.epsilon == 1 and shared.privacy.delta == Fraction(1, 10**6)
    text = shared.to_json()
    assert Releases.from_json(text).to_json() == text
    for spoilt in ("{}", "[]", text.replace("releases/2", "releases/3"), text[:-20]):
        with pytest.raises(InputError):
            Releases.from_json(spoilt)
    with pytest.raises(InputError, match="it has lat, n"):
        shared["id"]


@pytest.mark.parametrize(
    ("column", "parameters", "words"),
    [
        ([], {}, "at least one column"),
        (["lat", "lat"], {"width": 1}, "each column once"),
        (["lat", "g"], {}, "must be numbers"),
        (["lat", "lon"], {"relative": "0.1"}, "must be numbers"),
        (["lat", "lon"], {"width": [1, 2, 3]}, "for each; got 3"),
        (["lat", "lon"], {"width": {"x": 1}}, "not among the released"),
        (["lat", "lon"], {"beta": 0}, "beta"),
        (["lat", "lon"], {"beta": 1, "width": 1}, "exclude each other"),
        ("lat", {"beta": 1}, "twice beta"),
        ("lat", {"separately": True}, "several columns"),
        (["lat", "lon"], {"separately": True, "beta": 1}, "released together"),
        (["lat", "lon"], {"separately": True, "width": [1]}, "for each"),
        (["lat", "lon"], {"separately": True, "width": {"x": 1}}, "not among"),
        (["lat", "lon"], {"separately": True, "split": [1]}, "split must be"),
        (["lat", "lon"], {"separately": True, "split": [1, 0]}, "split"),
        (["lat", "lon"], {"split": [1, 1], "width": 1}, "split needs"),
        (["lat", "lon"], {}, "width is missing for column 'lat'.*separately=True"),
        (["lat", "lon"], {"width": {"lat": 1}}, "width is missing for column 'lon'"),
        (["lat", "lon"], {"unit": "id", "per_unit": "max"}, "per_unit='random'"),
    ],
)
def test_bad_columns_are_refused(column: Any, parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        flexdp.release(frame(10), column, epsilon=1, delta=1e-6, **parameters)


def test_arrays_have_no_columns_to_choose_from() -> None:
    for source in (np.zeros(3), [1.0], pd.Series([1.0])):
        with pytest.raises(InputError):
            flexdp.release(source, ["a", "b"], epsilon=1, delta=1e-6, kind="number")


def test_a_certificate_says_what_is_never_counted() -> None:
    frame = pl.DataFrame({"a": [1e300] * 100 + [1.0] * 100, "b": [1.0] * 200, "u": [None] * 100 + list(range(100))})
    far, unknown = "values further than 2^51 buckets from zero", "records without u"
    for column, parameters, words in [
        (["a", "b"], {"width": 1}, [far]),
        (["a", "b"], {"width": 1, "bounds": (0, 9)}, []),
        ("a", {"width": 1, "unit": "u", "max_buckets_per_unit": 1}, [far, unknown]),
    ]:
        released: Any = flexdp.release(frame, column, epsilon=1, delta="1e-6", **parameters)
        promises = str(released.certificate())
        assert [word for word in (far, unknown) if word in promises] == words
    datetimes = pl.DataFrame({"t": [0] * 99}).with_columns(pl.col("t").cast(pl.Datetime("us")))
    assert "outside the years 1 to 9999" in str(
        flexdp.release(datetimes, "t", epsilon=1, delta="1e-6", width="1 day").certificate()
    )


def test_groups_on_the_command_line_may_hold_commas(tmp_path: Path) -> None:
    pl.DataFrame({"x": [1] * 200, "g": ["Ward, 4", "A"] * 100}).write_parquet(tmp_path / "t.parquet")
    command = [sys.executable, "-m", "flexdp", "release", str(tmp_path / "t.parquet"), "x", "--by", "g", "-s", "max"]
    command += ["--exact"]
    command += ["-e", "1", "-d", "1e-6"]
    out = subprocess.run([*command, "--groups", '"Ward, 4",A'], capture_output=True, text=True, check=True)
    assert "Highest x (g 'Ward, 4'): 1 or more." in out.stdout and "Highest x (g A): 1 or more." in out.stdout
    for bad in ("", "A,,B", '"A'):
        out = subprocess.run([*command, "--groups", bad], capture_output=True, text=True, check=False)
        assert out.returncode == 2 and "Spent" not in out.stderr
        assert "--groups must be values separated by commas" in out.stderr


def test_plans_take_public_samples_of_moments(tmp_path: Path) -> None:
    con = duckdb.connect()
    rows = "SELECT TIMESTAMP '2024-01-01' + to_hours(i::INTEGER) AS t, t::TIMESTAMPTZ AS z FROM range(5000) r(i)"
    con.execute(f"COPY ({rows}) TO '{tmp_path / 't.parquet'}' (FORMAT parquet)")
    for column in ("t", "z"):
        command = [sys.executable, "-m", "flexdp", "plan", "--epsilon", "1", "--delta", "1e-6", "--width", "1 month"]
        command += ["--public-sample", str(tmp_path / "t.parquet"), column]
        out = subprocess.run(command, capture_output=True, text=True, check=True)
        assert "of 7 buckets that hold any" in out.stdout


def test_a_marginal_of_groups_tells_what_it_adds_up() -> None:
    rows = [(0.5, w + 0.5, g) for w in range(30) for g in "ab" for _ in range(40)]
    frame = pl.DataFrame(rows, schema=["x", "y", "g"], orient="row")
    released = flexdp.release(frame, ["x", "y"], by="g", epsilon=1, delta="1e-6", width=1)
    marginal = released.marginal("x").counts()
    assert 2400 - marginal.value[0.5] > 2 * 27, "more than each group may lose from one bucket"
    assert "at most 27 too low per cell and g and never too high" in str(marginal)
    assert "at most 27 too low per g and never too high" in str(released.counts())


def test_beta_of_whole_numbers_makes_whole_cells() -> None:
    frame = pl.DataFrame({"x": [1.5] * 300, "i": [4] * 300})
    released = flexdp.release(frame, ["x", "i"], beta="2.5", epsilon=1, delta="1e-6")
    first, second = released.spec.partitions
    assert second.width == 3 and float(first.width) == pytest.approx(5 / 2**0.5)
    assert released.partition.beta <= 2.5
    assert flexdp.release(frame, ["x", "i"], beta="0.1", epsilon=1, delta="1e-6").spec.partitions[1].width == 1
    for beta in (0, "1e400"):
        with pytest.raises(InputError, match="beta must be in"):
            flexdp.release(frame, ["x", "i"], beta=beta, epsilon=1, delta="1e-6")


def test_cells_of_an_irrational_width_are_printed_with_few_digits() -> None:
    points = pl.DataFrame({"lat": [0.1] * 900, "lon": [0.3] * 900})
    made = flexdp.release(points, ["lat", "lon"], epsilon=1, delta=1e-6, beta=0.1)
    assert made.mode().text == "(0–0.1415, 0.2828–0.4243)"
