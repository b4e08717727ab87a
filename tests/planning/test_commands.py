"""The command that a plan ends in: run on data of the planned law, it leaves something."""

from __future__ import annotations

import csv
import json
import shlex
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from _support.command import flexdp as run_command
from hypothesis import given
from hypothesis import strategies as st

from flexdp import InputError, plan
from flexdp.planning.given import GivenBuckets
from flexdp.simulation import parse_distribution

LAW = "lognormal:median=100,sigma=1"
WARDS = ["A", "B", "C"]
# Cases of many records for their budget, so that a release of nothing would be no accident.
CASES: dict[str, dict[str, Any]] = {
    "automatic": {"epsilon": 1, "records_about": 6000},
    "statistics": {"epsilon": 1, "records_about": 6000, "stats": ["mean", "p99", "counts"]},
    "relative from zero": {"epsilon": 1, "records_about": 6000, "relative": "0.05", "bounds": (0, 1000)},
    "relative": {"epsilon": 1, "delta": "1e-6", "records_about": 6000, "relative": "0.2", "bounds": (1, 1000)},
    "edges": {"epsilon": 1, "delta": "1e-6", "records_about": 6000, "edges": [0, 10, 100, 1000], "stats": "max"},
    "many buckets": {"epsilon": 1, "delta": "1e-6", "records_about": 1500, "width": 1, "bounds": (0, 10**5)},
    "small ε": {"epsilon": "0.01", "records_about": 1500},
    "small ε for an answer": {"epsilon": "0.001", "records_about": 1500, "ask": ["max", "median"]},
    "declared groups": {"epsilon": 1, "records_about": 6000, "ask": "max", "by": "ward", "groups": WARDS},
    "groups not known": {"epsilon": 1, "records_about": 6000, "ask": "max", "by": "ward", "groups_about": 3},
    "small groups": {"epsilon": "0.1", "records_about": 1500, "ask": "max", "by": "ward", "groups_about": 3},
    "automatic groups": {"epsilon": 1, "records_about": 6000, "by": "ward", "groups_about": 3},
    "buckets of groups": {
        "epsilon": 1, "delta": "1e-6", "records_about": 6000, "width": 100, "by": ["ward"], "groups": WARDS,
    },
    "several releases": {"epsilon": 1, "records_about": 6000, "releases": 3},
    "units": {"epsilon": 1, "delta": "1e-6", "records_about": 6000, "width": 100, "max_buckets_per_unit": 1},
    "units in automatic buckets": {"epsilon": 3, "delta": "1e-6", "records_about": 6000, "max_buckets_per_unit": 2},
    "buckets and answers": {"epsilon": 1, "delta": "1e-6", "records_about": 6000, "ask": ["q0.999", "mean"]},
    "buckets alone": {"epsilon": 1, "delta": "1e-6", "records_about": 6000, "ask": []},
    "many groups": {
        "epsilon": 1, "delta": "1e-6", "records_about": 5000, "ask": "max", "by": "ward", "groups_about": 400,
    },
    "relative without bounds": {"epsilon": 1, "delta": "1e-6", "records_about": 600, "relative": "0.05"},
    "small ε for several releases": {"epsilon": "0.01", "records_about": 3000, "releases": 52},
    "too small an ε for automatic buckets": {"epsilon": "0.003", "records_about": 6000},
    "whole numbers": {"epsilon": 1, "records_about": 6000, "kind": "integer", "bounds": (0, 1000)},
    "fine groups": {
        "epsilon": 1, "delta": "1e-6", "records_about": 3000, "width": 1, "bounds": (0, 1000), "by": "ward",
        "groups_about": 3,
    },
}  # fmt: skip


def written(folder: Path, records: int) -> str:
    """Write the quantiles of the law, dealt to the wards in turn."""
    law = parse_distribution(LAW, low=Fraction(0), span=Fraction(100), buckets=None)
    values = np.floor(law.at((np.arange(records) + 0.5) / records))
    path = folder / "drawn.csv"
    with path.open("w", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(["cost", "ward", "who"])
        rows.writerows([int(value), WARDS[place % len(WARDS)], place] for place, value in enumerate(values))
    return str(path)


def run(command: str, path: str) -> Any:
    words = [{"FILE": path, "COLUMN": "cost", "UNIT_COLUMN": "who"}.get(word, word) for word in shlex.split(command)]
    assert words.pop(0) == "flexdp"
    return run_command(*words, "--json")


@pytest.mark.parametrize("name", CASES)
def test_what_a_plan_says_is_left_is_left(name: str, tmp_path: Path) -> None:
    """The command leaves something, unless the plan says otherwise; then the larger ε that it names does."""
    known = CASES[name]
    planned = plan(**known)
    if planned.leaves_nothing:
        assert planned.warnings[-1].startswith("almost nothing would be left") and planned.warnings[-1] in str(planned)
        if planned.larger is None:
            return
        assert planned.document()["larger_epsilon"] is not None
        assert f"that leaves something is {float(planned.larger):g}, at which an observer" in planned.warnings[-1]
        planned = plan(**{**known, "epsilon": planned.larger})
    assert not planned.leaves_nothing and planned.larger is None and planned.document()["larger_epsilon"] is None
    done = run(planned.command, written(tmp_path, known["records_about"]))
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert any(answer["value"] not in (None, [], {}) for answer in document["answers"])
    assert Fraction(document["privacy"]["epsilon"]) * known.get("releases", 1) == planned.epsilon


def test_a_plan_that_would_leave_nothing_is_the_negative_control(tmp_path: Path) -> None:
    planned = plan(**CASES["many buckets"] | {"epsilon": "0.01"})
    assert planned.leaves_nothing
    assert run(planned.command, written(tmp_path, planned.design.records or 0)).returncode == 4


def test_what_is_said_where_nothing_would_be_left() -> None:
    planned = plan(**CASES["relative from zero"])
    assert isinstance(planned.design, GivenBuckets) and planned.design.buckets == 7258
    assert "makes 7 258 buckets between bounds that include 0" in planned.warnings[0]
    assert planned.warnings[-1].startswith("almost nothing would be left, at any usual ε. Publish less")
    assert planned.larger is None and "--relative 0.05" in planned.command
    raised = plan(**CASES["small ε"])
    assert raised.larger == Fraction("0.2") and raised.command.startswith("flexdp release FILE COLUMN --epsilon 0.01 ")
    assert raised.warnings[-1] == (
        "almost nothing would be left at this ε. The smallest usual ε that leaves something is 0.2, at which an "
        "observer who was 50% sure may become 55% sure."
    )
    assert raised.text().splitlines()[-2:] == ["Run:", f"  {raised.command}"]
    assert raised.warnings[-1] in raised._repr_html_() and raised.document()["larger_epsilon"] == "0.2"
    fine = plan(epsilon=1, delta="1e-6", relative="0.05", bounds=(1, 1000), records_about=50_000)
    assert not fine.leaves_nothing and not fine.warnings and "--relative 0.05 --bounds 1:1000" in fine.command
    assert fine.larger is None and fine.document()["larger_epsilon"] is None
    texts = plan(epsilon=1, delta="1e-6", kind="text", records_about=20)
    assert "with 20 records, no bucket is certain" in texts.warnings[0] and texts.larger == 5
    assert plan(epsilon=1, delta="1e-6", kind="text", records_about=5).larger is None


@pytest.mark.parametrize(
    ("shape", "records", "words"),
    [
        (
            {"relative": "0.05"},
            200,
            "with 200 records, at most 7 buckets are certain to survive; the others may vanish",
        ),
        ({"relative": "0.05"}, 28, "with 28 records, at most 1 bucket is certain to survive; the others may vanish"),
        ({"kind": "text", "by": "w", "groups_about": 2}, 59, "with 29 records per group, at most 1 bucket is certain"),
        ({"width": 5}, 279, "with 279 records, at most 9 buckets are certain"),
    ],
)
def test_few_records_in_buckets_that_nobody_counted(shape: dict[str, Any], records: int, words: str) -> None:
    planned = plan(epsilon=1, delta="1e-6", records_about=records, **shape)
    assert any(warning.startswith("a bucket needs 28 records") and words in warning for warning in planned.warnings)
    enough = plan(epsilon=1, delta="1e-6", records_about=10_000, **shape)
    assert not any("a bucket needs" in warning for warning in enough.warnings) and not enough.leaves_nothing


@pytest.mark.parametrize(
    "shape", [{}, {"kind": "integer"}, {"kind": "date"}, {"bounds": (0, 9)}, {"lose_per_bucket": 30}, {"buckets": 24}]
)
def test_the_table_and_the_command_are_of_the_same_buckets(shape: dict[str, Any], tmp_path: Path) -> None:
    """Without a width, a release would choose buckets with a part of ε, and lose more than the table says."""
    planned = plan(epsilon=1, delta="1e-6", **shape)
    assert "--width W" in str(planned.command) and "every value its own" not in planned.heading
    assert any("replace W" in warning for warning in planned.warnings)
    if "kind" not in shape:
        width = " 3" if "bounds" in shape else " 100"
        done = run(str(planned.command).replace(" W", width), written(tmp_path, 3000))
        assert (
            planned.chosen is not None
            and json.loads(done.stdout)["mechanism"]["max_drop"] == planned.chosen["max_drop"]
        )


def test_units_in_automatic_buckets_lose_what_the_plan_says(tmp_path: Path) -> None:
    planned = plan(**CASES["units in automatic buckets"])
    document = json.loads(run(str(planned.command), written(tmp_path, 6000)).stdout)
    assert planned.chosen is not None
    # The noisy number of records decides, and moves it by a few.
    assert document["mechanism"]["max_drop"] == pytest.approx(planned.chosen["max_drop"], rel=0.05)
    single = plan(epsilon=3, delta="1e-6", records_about=6000)
    assert single.chosen is not None and planned.chosen["max_drop"] > 1.8 * single.chosen["max_drop"]


def test_buckets_and_answers_share_epsilon_as_a_release_does(tmp_path: Path) -> None:
    planned = plan(**CASES["buckets and answers"])
    assert planned.command == (
        "flexdp release FILE COLUMN --epsilon 1 --delta 1e-06 --ask q0.999 --ask mean --kind number"
    )
    document = json.loads(run(planned.command, written(tmp_path, 6000)).stdout)
    assert planned.chosen is not None
    assert document["mechanism"]["max_drop"] == pytest.approx(planned.chosen["max_drop"], rel=0.05)
    answers = document["asked"]["results"][0]["answers"]
    assert planned.chosen["q0.999"].bound == pytest.approx(answers[0]["beyond"], abs=3)
    alone = plan(epsilon="0.5", ask=["q0.999", "mean"], records_about=6000).chosen
    assert alone is not None and all(alone[name] == planned.chosen[name] for name in ("q0.999", "mean"))
    assert planned.chosen["share_beside"] == Fraction(1, 2)
    row = next(row for row in planned.table()[1] if row[0])
    assert len(row) == len(planned.table()[0]) and "asked: 99.9th percentile, mean" in planned.heading
    assert "Buckets get half of ε" in planned.text()


@pytest.mark.parametrize("ask", [[], "none", ["none"], ()])
def test_buckets_alone_get_all_of_epsilon(ask: Any, tmp_path: Path) -> None:
    known = {"epsilon": 1, "delta": "1e-6", "records_about": 6000}
    alone, usual = plan(**known, ask=ask), plan(**known)
    assert alone.command == "flexdp release FILE COLUMN --epsilon 1 --delta 1e-06 --ask none --kind number"
    document = json.loads(run(alone.command, written(tmp_path, 6000)).stdout)
    assert "asked" not in document and alone.chosen is not None and usual.chosen is not None
    # The noisy number of records decides, and moves it by a few.
    assert document["mechanism"]["max_drop"] == pytest.approx(alone.chosen["max_drop"], rel=0.05)
    assert usual.chosen["max_drop"] > 1.4 * alone.chosen["max_drop"], "a third of ε is for minimum and maximum"
    assert "All of ε is for the buckets" in alone.text() and "Minimum and maximum get" not in alone.text()
    assert {row["share_beside"] for row in alone.rows} == {0}


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ({"bounds": (0, 1000)}, "--ask none --bounds 0:1000 --kind number"),
        ({"by": "ward", "groups_about": 3}, "--ask none --kind number --by ward"),
        ({"stats": "mean"}, "--ask none --kind number --stat mean"),
        ({"kind": "integer", "max_buckets_per_unit": 1}, "--ask none --kind integer --unit UNIT_COLUMN "
         "--max-buckets-per-unit 1"),
        ({"width": 100}, "--width 100"),  # buckets of one's own have no answers beside them
    ],
)  # fmt: skip
def test_buckets_alone_in_other_plans(shape: dict[str, Any], words: str, tmp_path: Path) -> None:
    known = {"epsilon": 1, "delta": "1e-6", "records_about": 6000}
    planned = plan(**known, **shape, ask=[])
    assert planned.command == f"flexdp release FILE COLUMN --epsilon 1 --delta 1e-06 {words}"
    document = json.loads(run(planned.command, written(tmp_path, 6000)).stdout)
    assert "asked" not in document and document["privacy"]["epsilon"] == "1"
    assert plan(epsilon=1, delta="1e-6", kind="text", ask=[], records_about=6000).command == (
        "flexdp release FILE COLUMN --epsilon 1 --delta 1e-06 --kind text"
    )


def test_buckets_alone_on_the_command_line() -> None:
    told = run_command("plan", "-e", 1, "-d", "1e-6", "-n", 6000, "--ask", "none")
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout == f"{plan(epsilon=1, delta='1e-6', records_about=6000, ask=[])}\n"
    both = run_command("plan", "-e", 1, "-n", 6000, "--ask", "none", "--ask", "max")
    assert both.returncode == 2 and both.stderr.startswith("Error: --ask: invalid statistic 'none'")


def test_the_number_of_groups_matters() -> None:
    for shape in ({}, {"width": 5, "bounds": (0, 120)}, {"kind": "text"}):
        unknown = plan(epsilon=1, delta="1e-6", records_about=5000, by="ward", **shape)
        assert any("Give groups or groups_about" in warning for warning in unknown.warnings)
        known = plan(epsilon=1, delta="1e-6", records_about=5000, by="ward", groups_about=2, **shape)
        assert not any("Give groups" in warning for warning in known.warnings)
    cells = [row[-2] for row in plan(epsilon=1, delta="1e-6", records_about=5000, by="ward").table()[1]]
    assert set(cells) == {"–"}


@pytest.mark.parametrize(("bounds", "warned"), [((0, 1000), True), ((-1000, 0), True), ((-5, 1000), True),
                                               ((1, 1000), False)])  # fmt: skip
def test_relative_buckets_towards_zero(bounds: tuple[int, int], warned: bool) -> None:
    planned = plan(epsilon=1, delta="1e-6", relative="0.05", bounds=bounds, records_about=50_000)
    assert any("Begin bounds at the smallest value that matters" in each for each in planned.warnings) == warned


def test_groups_in_a_plan() -> None:
    alone = plan(epsilon=1, ask="max", records_about=10_000).chosen
    known = plan(epsilon=1, ask="max", records_about=30_000, by="ward", groups=WARDS).chosen
    assert alone is not None and known is not None
    assert known["max"] == alone["max"]  # each group is a column of its own
    unknown = plan(epsilon=1, ask="max", records_about=30_000, by="ward", groups_about=3)
    assert unknown.delta > 0 and "--groups" not in unknown.command and "--by ward" in unknown.command
    assert unknown.chosen is not None and unknown.chosen["max"].bound > known["max"].bound
    assert (
        "A quarter of ε lists the groups" in unknown.text()
        and "in about 3 groups that are not known" in unknown.heading
    )
    few = plan(epsilon=1, ask="max", records_about=300, by="ward", groups_about=30)
    assert "may all be missing" in few.warnings[0] and few.leaves_nothing
    bars = plan(epsilon=1, delta="1e-6", width=5, bounds=(0, 120), records_about=50_000, by=["ward", "sex"],
                groups=[("A", "f"), ("A, B", "m")])  # fmt: skip
    assert (
        isinstance(bars.design, GivenBuckets)
        and bars.design.buckets == 48
        and bars.command.endswith("""--by ward --by sex --groups 'A:f,"A, B:m"'""")
    )
    listed = plan(epsilon=1, delta="1e-6", width=5, bounds=(0, 120), records_about=50_000, by="ward", groups_about=2)
    assert "only if its groups are public" in listed.warnings[-1]
    assert listed.document()["groups"] == {"by": ["ward"], "declared": None, "about": 2}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"groups": ["A"]}, "groups needs by"),
        ({"groups_about": 3}, "groups_about needs by"),
        ({"by": "w", "groups": ["A"], "groups_about": 3}, "exclude each other"),
        ({"by": "w", "groups": ["A", "A"]}, "a list of different groups"),
        ({"by": "w", "groups": "AB"}, "a list of different groups"),
        ({"by": ["w", "v"], "groups": ["A"]}, "one part for each column"),
        ({"by": ""}, "name of a column"),
        ({"by": "w", "ask": "max"}, "needs the number of groups"),
        ({"by": "w", "ask": "max", "groups_about": 2, "delta": 0}, "positive to list groups"),
        ({"ask": "max", "stats": "max"}, "stats cannot be combined with ask"),
        ({"ask": ["max", "none"]}, "ask: invalid statistic 'none'"),
        ({"ask": [], "delta": 0}, r"delta must be in \[1e-30, 1\)"),
        ({"ask": "none", "edges": [3, 1]}, "strictly ascending"),
        ({"stats": "most"}, "stats"),
        ({"stats": 5}, "names of statistics"),
        ({"edges": [3, 1]}, "strictly ascending"),
        ({"edges": [0, 1], "width": 5}, "edges"),
        ({"edges": [0, 1, 2], "buckets": 3}, "contradicts edges"),
    ],
)
def test_wrong_words(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        plan(epsilon=1, records_about=1000, **options)
    assert "\n" not in str(caught.value)


@given(
    epsilon=st.sampled_from(["0.01", "0.1", "1", "5"]),
    records=st.integers(1, 10**6),
    shape=st.sampled_from([{}, {"width": 1}, {"width": 5, "bounds": (0, 120)}, {"relative": "0.05", "bounds": (0, 9)},
                           {"edges": [0, 1, 2]}, {"ask": "max"}, {"ask": ["median", "mean"]}, {"ask": []},
                           {"ask": "none", "width": 1, "bounds": (0, 10**5)}]),
    groups=st.sampled_from([{}, {"by": "w", "groups": ["A", "B"]}, {"by": "w", "groups_about": 40}]),
    releases=st.sampled_from([1, 4]),
)  # fmt: skip
def test_a_larger_epsilon_is_named_only_where_it_leaves_something(
    epsilon: str, records: int, shape: dict[str, Any], groups: dict[str, Any], releases: int
) -> None:
    known: dict[str, Any] = {"records_about": records, **shape, **groups, "releases": releases}
    try:
        planned = plan(epsilon=epsilon, **known)
    except InputError as refusal:  # a smaller ε than exact answers allow, divided between releases
        assert refusal.parameter == "epsilon" and shape.get("ask") not in (None, [], "none") and releases > 1
        return
    assert planned.leaves_nothing == any("almost nothing would be left" in warning for warning in planned.warnings)
    if planned.larger is not None:
        assert planned.leaves_nothing and planned.larger > Fraction(epsilon)
        assert not plan(epsilon=planned.larger, **known).leaves_nothing
    assert Fraction(shlex.split(planned.command)[5]) * releases == Fraction(epsilon)
