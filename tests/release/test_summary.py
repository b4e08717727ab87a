"""Every column of a table out of one budget."""

from __future__ import annotations

import datetime as dt
import json
import pickle
import re
import shlex
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from _support.command import flexdp as run
from _support.markup import read_html

import flexdp
from flexdp import InputError, Releases

SPEND: dict[str, Any] = {"epsilon": 2, "delta": "1e-6"}


@pytest.fixture(scope="module")
def visits() -> pl.DataFrame:
    rng = np.random.default_rng(20)
    records = 6000
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=int(day)) for day in rng.integers(0, 366, records)]
    return pl.DataFrame(
        {
            "id": range(records),
            "cost": rng.lognormal(7, 1, records).round(2),
            "age": rng.integers(0, 100, records),
            "day": days,
            "ward": rng.choice(["A", "B", "C"], records),
            "urgent": rng.random(records) < 0.3,
        }
    )


def test_all_columns_share_one_budget_and_need_no_widths(visits: pl.DataFrame) -> None:
    summary = flexdp.summary(visits, **SPEND, skip=["id"])
    assert list(summary) == ["cost", "age", "day", "ward", "urgent"]
    assert summary.privacy.epsilon == 2 and summary.privacy.delta <= Fraction(1, 10**6)
    assert all(release.privacy.epsilon == Fraction(2, 5) for release in summary.values())
    assert abs(summary["age"].median().value - 49.5) < 8
    assert summary["day"].median().value.year == 2024
    assert set(summary["ward"].support().value) == {"A", "B", "C"}
    assert set(summary["urgent"].support().value) == {False, True}
    assert summary.to_frame("polars")["column"].unique().sort().to_list() == sorted(summary)
    assert Releases.from_json(summary.to_json()).to_html() == summary.to_html()
    page = summary.to_html()
    read_html(page)
    assert all(f">{name}</h2>" in page for name in summary)
    certificates = summary.certificate()
    assert set(certificates) == set(summary) and isinstance(certificates, dict)
    assert pickle.loads(pickle.dumps(certificates)) == certificates
    told = str(certificates)
    assert told.startswith(f"All columns together: {summary.privacy}\n\ncost:\n") and "Certificate(" not in told
    assert all(f"\n\n{name}:\n{release.certificate()}" in told for name, release in summary.items())
    assert repr(certificates) == "<Certificates of 'cost', 'age', 'day', 'ward', 'urgent'>"
    shown = " ".join(" ".join(read_html(certificates._repr_html_()).text).split())
    assert "Certificate of ward" in shown and str(summary.privacy) in shown


def test_releases_stand_in_the_order_of_the_columns_whatever_is_read_first(tmp_path: Path) -> None:
    path, records = tmp_path / "t.parquet", 4000
    columns = {"a": 7.25, "b": 1, "c": 3.5, "t": "x", "d": 2, "e": dt.date(2024, 5, 6), "f": 9.75}
    pl.DataFrame({name: [value] * records for name, value in columns.items()}).write_parquet(path)
    summary = flexdp.summary(path, epsilon=20, delta="1e-6")
    assert list(summary) == list(columns)
    assert {name: summary[name].mode().value for name in "bdt"} == {"b": 1, "d": 2, "t": "x"}
    assert [round(summary[name].median().value, 2) for name in "acf"] == [7.25, 3.5, 9.75]


def test_shares_by_name_and_in_order(visits: pl.DataFrame) -> None:
    named = flexdp.summary(visits, ["ward", "urgent"], **SPEND, split={"ward": 3})
    ordered = flexdp.summary(visits, ["ward", "urgent"], **SPEND, split=[3, 1])
    for each in (named, ordered):
        assert (each["ward"].privacy.epsilon, each["urgent"].privacy.epsilon) == (Fraction(3, 2), Fraction(1, 2))
    assert flexdp.summary(visits, "ward", **SPEND, split={"ward": 7}).privacy.epsilon == 2


def test_groups_and_units_are_not_released(visits: pl.DataFrame) -> None:
    by = flexdp.summary(visits.select("ward", "urgent", "age"), **SPEND, by="ward", groups=["A", "B"])
    assert list(by) == ["urgent", "age"] and by["urgent"].groups == ["A", "B"]
    per = flexdp.summary(visits.select("id", "ward", "urgent"), **SPEND, unit="id", max_buckets_per_unit=1)
    assert list(per) == ["ward", "urgent"] and "unit" in per.to_html()


def _tallies_by_group(release: flexdp.Release) -> list[Any]:
    """What each bucket of each group holds, in the order of the table on a page."""
    return [tally for view in release.by_group().values() for tally in view.counts().tallies]


def test_the_page_has_every_group_and_every_count(visits: pl.DataFrame) -> None:
    summary = flexdp.summary(visits.select("ward", "urgent", "age"), **SPEND, by="ward")
    page = read_html(summary.to_html())
    text = " ".join(" ".join(page.text).split())
    assert "Summary of 2 columns by ward" in text and "cover all groups (ward) together" in text
    for column, release in summary.items():
        start = f'<h2 class="long">{column}<'
        (own,) = (part for part in summary.to_html().split("<section>") if part.startswith(start))
        answers, counts = own.split("published counts</summary>")
        assert all(f">{ward}</td>" in answers for ward in "ABC")
        shown = [re.findall(r">([^<]*)</td>", row) for row in re.findall(r"<tr>(<td.*?)</tr>", counts)]
        bars = release.columns_of_bars()
        plain = [[row[0], *(int(cell.replace("\N{NO-BREAK SPACE}", "")) for cell in row[2:])] for row in shown]
        most = release.max_drop
        assert plain == [
            [ward, tally.about, count, count + most]
            for ward, count, tally in zip(bars["ward"], bars["count"], _tallies_by_group(release), strict=True)
        ]
        assert all(low < about < high for _, about, low, high in plain)
    assert "Summary of 2 columns by ward" in summary._repr_html_()


def test_the_page_says_what_is_true_of_all_columns(visits: pl.DataFrame) -> None:
    text = " ".join(" ".join(read_html(flexdp.summary(visits, **SPEND, skip="id").to_html()).text).split())
    assert "nothing was added anywhere" not in text and "A maximum or minimum holds" not in text
    assert "Minimum and maximum of cost, age and day were drawn separately" in text and "may lie beyond all" in text
    assert text.count("Every number of records is an estimate, with the range in which the true count certainly") == 1
    assert text.count("A random number of them") == 1
    assert "The exact number of records is not published" in text
    assert "The number of records in the data is not published" not in text
    assert (
        "Minimum, guaranteed" in text and "Maximum, guaranteed" in text and "2 most frequent values of urgent" in text
    )
    units = flexdp.summary(visits, ["ward", "age"], **SPEND, unit="id", max_buckets_per_unit=1).to_html()
    told = " ".join(" ".join(read_html(units).text).split())
    assert "a random number of units (id), possibly none, was left out of every bucket" in told
    assert "Most frequent values (number of units (id))" in told
    assert re.search(r" [ABC]: about \d\s?\d+ \(certainly \d\s?\d+ to \d\s?\d+\), [ABC]: about ", told)
    assert "random number of records" not in told


def test_the_page_of_too_few_records_says_so(visits: pl.DataFrame) -> None:
    few = flexdp.summary(visits.select("ward", "urgent", "age").head(9), **SPEND, by="ward")
    assert few["age"].budget is None and few["age"].asked is None, "noise that makes 9 records 400 is one in e^15"
    page = few.to_html()
    text = " ".join(" ".join(read_html(page).text).split())
    assert "age too few records" in text and "The exact number of records is not published, only an estimate" in text
    assert "Buckets of age were chosen" not in text and "<ul></ul>" not in page


def test_parameters_by_column_where_they_differ(visits: pl.DataFrame) -> None:
    summary = flexdp.summary(visits, ["cost", "age"], **SPEND, width={"age": 10})
    assert summary["age"].partition.spec == "buckets of width 10"
    assert summary["cost"].partition.spec != "buckets of width 10"
    alone = flexdp.summary(visits, ["cost", "age"], **SPEND, exact={"age": True})
    assert alone["age"].partition.spec == "every value its own bucket" and alone["cost"].auto is not None
    (one,) = flexdp.summary(visits, "age", **SPEND, exact={"age": True}).values()
    assert one.partition.spec == "every value its own bucket"


@pytest.mark.parametrize("columns", [["cost", "age"], "age"])
def test_values_outside_are_clamped_or_dropped_by_column(visits: pl.DataFrame, columns: Any) -> None:
    inside = int((visits["age"] < 20).sum())
    buckets: dict[str, Any] = {"width": {"age": 10}, "bounds": {"age": (0, 19)}}
    for given, left in (({}, len(visits)), ({"outside": {"age": "clamp"}}, len(visits)),
                        ({"outside": {"age": "drop"}}, inside)):  # fmt: skip
        summary = flexdp.summary(visits, columns, **SPEND, **buckets, **given)
        counted = sum(summary["age"].columns_of_bars()["count"])
        assert left - 2 * summary["age"].max_drop <= counted <= left  # two buckets, each of which loses at most that
    assert inside + 2 * summary["age"].max_drop < len(visits), "otherwise nothing would tell them apart"
    edges = flexdp.summary(visits, columns, **SPEND, edges={"age": [0, 10, 19]}, outside={"age": "drop"})["age"]
    assert inside - 2 * edges.max_drop <= sum(edges.columns_of_bars()["count"]) <= inside
    if "cost" in columns:
        each = flexdp.release(visits, columns, **SPEND, **buckets, separately=True, outside={"age": "drop"})
        assert each["age"].partition.outside == "drop" and each["cost"].partition.outside == "clamp"


def test_sources_without_columns_or_types() -> None:
    for source, message in (
        ([1, 2, 3], "source is a single column without a name, but a summary needs a table. Release it with"),
        (
            {"a": [1, 2], "b": ["x", "y"]},
            "this source declares no types. Name each with its kind, for example columns=",
        ),
    ):
        with pytest.raises(InputError, match=message):
            flexdp.summary(source, **SPEND)
    with pytest.raises(InputError, match=r"column 'b' declares no type. Name its kind, for example columns={'b': 'num"):
        flexdp.summary({"a": [1, 2], "b": ["x", "y"]}, ["a", "b"], kind={"a": "integer"}, **SPEND)


def test_text_files_need_kinds(visits: pl.DataFrame, tmp_path: Path) -> None:
    visits.write_csv(tmp_path / "v.csv")
    with pytest.raises(InputError, match="declares no types, and its first line may be a record"):
        flexdp.summary(tmp_path / "v.csv", **SPEND)
    summary = flexdp.summary(tmp_path / "v.csv", {"age": "integer", "ward": "text"}, **SPEND)
    assert [release.kind for release in summary.values()] == ["integer", "text"]


def test_columns_of_no_kind_are_refused_until_they_are_left_out() -> None:
    table = pl.DataFrame({"x": ["a"] * 300, "tags": [["a"]] * 300})
    with pytest.raises(InputError, match=r"column 'tags' is declared as .*cannot be released. Leave it out: skip="):
        flexdp.summary(table, **SPEND)
    objects = pd.DataFrame({"x": [1.0], "o": ["a"], "p" * 999: [1]})
    with pytest.raises(
        InputError, match=r"columns is missing: pandas infers types from cells. Name each with its kind"
    ):
        flexdp.summary(objects, **SPEND)
    with pytest.raises(
        InputError, match=r"'o' declares no type. Declare how to read it, for example kind={'o': 'text'}, or"
    ):
        flexdp.summary(objects, **SPEND, kind={"x": "number"})
    with pytest.raises(InputError) as refused:
        flexdp.summary(objects, **SPEND, kind={"x": "number", "o": "text"})
    assert len(str(refused.value)) < 300
    assert list(flexdp.summary(table, **SPEND, skip="tags")) == ["x"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"skip": ["wrad"]}, "skip: no column named 'wrad'"),
        ({"skip": 7}, "skip must be a list of column names"),
        ({"columns": ["ward"], "skip": ["ward"]}, "no column is left to publish"),
        ({"columns": ["ward", "ward"]}, "column must name each column once"),
        ({"columns": ["nobody"]}, "no column named 'nobody'"),
        ({"columns": {"ward": "text"}, "kind": {"ward": "text"}}, "kind is given twice"),
        ({"columns": ["ward", "urgent"], "split": {"wrad": 2}}, "split names 'wrad'"),
        ({"columns": ["ward", "urgent"], "split": [1]}, "split must be a list with a share for each of the 2 columns"),
        ({"ask": ["max"]}, "ask does not fit a summary"),
        (
            {"columns": ["ward", "urgent", "cost"], "width": 10},
            "width needs numbers or times, but column 'ward' is text. Give it by column, for example "
            "width={'cost': 10}.",
        ),
        ({"width": {"urgent": 10}}, "but column 'urgent' is boolean. Leave it out for that column."),
        ({"columns": ["ward"], "bounds": (0, 9)}, "name its kind if its texts are numbers: columns={'ward': 'number'}"),
        (
            {"unit": "id", "per_unit": "max"},
            r"per_unit 'max' needs numbers or times, but column 'ward' is text. Use per_unit='random', or leave that "
            r"column out: skip=\['ward'\].",
        ),
        ({"skip": ["id", "cost", "age", "day", "ward", "urgent"]}, "all of them are left out, or hold groups or units"),
        ({"columns": ["cost", "age"], "exact": {"agee": True}}, "exact names 'agee', which is not among"),
        ({"columns": ["cost", "age"], "exact": {"age": 1}}, "exact must be True or False"),
        (
            {"columns": ["cost", "age"], "exact": {"age": True}, "width": {"age": 9}},
            "width for column 'age' and exact exclude each other",
        ),
        ({"columns": ["cost", "age"], "outside": {"agee": "drop"}}, "outside names 'agee', which is not among"),
        ({"columns": ["cost", "age"], "outside": {"age": "drop"}}, "outside for column 'age' needs bounds or edges."),
        (
            {"columns": "age", "outside": {"age": "leave"}, "bounds": {"age": (0, 9)}},
            "outside for column 'age' must be 'clamp' or 'drop'; got 'leave'",
        ),
        ({"outside": {"ward": "drop"}}, "outside needs numbers or times, but column 'ward' is text"),
        (
            {"columns": ["cost", "age"], "relative": {"age": 7}},
            "relative for column 'age' must be .* for example relative={'age': 0.05} for 5%",
        ),
        ({"columns": ["cost", "age"], "edges": {"age": [9, 1]}}, "edges for column 'age' must be strictly ascending"),
        ({"columns": ["cost", "age"], "width": {"age": 0.5}}, r"Round it, or say kind={'age': 'number'}\."),
        ({"beta": 1}, "beta does not fit a summary"),
    ],
)
def test_wrong_parameters_are_refused_before_anything_is_read(
    visits: pl.DataFrame, wrong: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        flexdp.summary(visits, **SPEND, **wrong)


def test_command_line(visits: pl.DataFrame, tmp_path: Path) -> None:
    visits.write_parquet(tmp_path / "v.parquet")
    visits.write_csv(tmp_path / "v.csv")
    (tmp_path / "v.json").write_text('[{"x": 1}]')
    spend = ["-e", 2, "-d", "1e-6"]
    made = run("summary", "v.parquet", *spend, "--skip", "id", "-o", "page.html", cwd=tmp_path)
    assert made.returncode == 0 and made.stdout.startswith("cost:\n")
    wards = made.stdout.partition("\nward:\n")[2].partition("\nurgent:\n")[0].splitlines()
    assert [line[0] for line in wards] == ["C", "M", "C", "A", "B", "C"] and wards[3].startswith("A\t")
    assert "Summary of 5 columns" in (tmp_path / "page.html").read_text()
    told = run("summary", "v.csv", *spend, "ward=text", "age=integer", "--json", cwd=tmp_path)
    document = json.loads(told.stdout)
    assert [each["column"] for each in document["releases"]] == ["ward", "age"]
    assert [answer["stat"] for answer in document["releases"][0]["answers"]] == ["mode", "support", "counts"]
    own = ["ward", "age", "cost", "--split", "ward=3", "--split", "age=2", "--exact", "age"]
    told = run(
        "summary", "v.parquet", *spend, *own, "--width", "cost=500", "--bounds=cost=0:5000", "--json", cwd=tmp_path
    )
    ward, age, cost = json.loads(told.stdout)["releases"]
    assert [each["privacy"]["epsilon"] for each in (ward, age, cost)] == ["1", "2/3", "1/3"]
    assert cost["buckets"]["width"] == "500" and cost["buckets"]["bounds"] == ["0", "5000"] and age["buckets"] == {}
    one = run("summary", "v.parquet", *spend, "urgent", "--by", "ward", "--groups", "A,B", cwd=tmp_path)
    assert one.returncode == 0 and "ward A" in one.stdout
    for arguments, message in (
        (["v.csv"], "Name each with its kind, for example cost=number day=date."),
        (["v.parquet", "ward", "ward=text"], "COLUMN must name each column once"),
        (["v.parquet", "--skip", "none"], "--skip: no column named 'none'"),
        (
            ["v.csv", "cost=number", "age"],
            "column 'age' declares no type. Name its kind, for example age=number.",
        ),
        (
            ["v.csv", "cost=float"],
            "COLUMN: 'float' is not a kind; got 'cost=float'. Kinds are integer, ",
        ),
        (["v.json"], "COLUMN is missing: the keys of JSON objects are data, and are not listed. Name each with"),
        (
            ["v.parquet", "--width", "10"],
            "--width needs numbers or times, but column 'ward' is text. Give it by column, for example --width id=10.",
        ),
        (
            ["v.parquet", "--bounds", "cost=7"],
            "--bounds must be written LO:HI; got '7'. For example --bounds 0:120 or",
        ),
        (
            ["v.parquet", "--width", "ward=10"],
            "--width needs numbers or times, but column 'ward' is text. Leave it out "
            "for that column, or name its kind if its texts are numbers: ward=number.",
        ),
        (["v.parquet", "--split", "wrad=2"], "--split names 'wrad', which is not among the columns of the summary"),
        (["v.parquet", "--unit", "id", "--per-unit", "max"], "or leave that column out: --skip ward."),
    ):
        refused = run("summary", *arguments, *spend, cwd=tmp_path)
        assert refused.returncode == 2 and message in refused.stderr and len(refused.stderr.splitlines()) == 1


def test_the_guide(visits: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guide = (Path(__file__).parent.parent.parent / "docs" / "summaries.md").read_text()
    monkeypatch.chdir(tmp_path)
    visits.write_parquet("visits.parquet")
    visits.write_csv("visits.csv")
    (block,) = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    exec(compile(block, "summaries.md", "exec"), {})
    assert "Summary of 5 columns" in Path("visits.html").read_text()
    commands = re.findall(r"^flexdp (.*)$", guide, re.MULTILINE)
    assert len(commands) == 2
    for line in commands:
        assert run(*shlex.split(line), cwd=tmp_path).returncode == 0, line
    for line in ("report visits.json", "report visits.json --column cost"):
        assert f"`flexdp {line}`" in guide or line.split()[-2] in guide
        assert run(*shlex.split(line), cwd=tmp_path).returncode == 0


def test_filters_hold_for_every_column(visits: pl.DataFrame) -> None:
    some = flexdp.summary(visits, ["ward", "urgent"], **SPEND, where="ward = 'A'")
    assert some["ward"].support().value == ("A",)
    assert some["urgent"].count().value < 3000 and "ward" in " ".join(some["urgent"].conditions)
