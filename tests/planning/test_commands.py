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
from flexdp.planning.working import leaves_nothing
from flexdp.simulation.distributions import parse_distribution

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
    "whole numbers": {"epsilon": 1, "records_about": 6000, "kind": "integer", "bounds": (0, 1000)},
    "fine groups": {
        "epsilon": 1, "delta": "1e-6", "records_about": 3000, "width": 1, "bounds": (0, 1000), "by": "ward",
        "groups_about": 3,
    },
}  # fmt: skip


def written(folder: Path, records: int) -> str:
    """Write the quantiles of the law, dealt to the wards in turn."""
    law = parse_distribution(LAW, low=Fraction(0), span=Fraction(100), buckets=None)
    values = np.floor(law.values(records))
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
def test_the_command_leaves_something(name: str, tmp_path: Path) -> None:
    advice = plan(**CASES[name], simulate=LAW if name != "many buckets" else None)
    done = run(advice.command, written(tmp_path, CASES[name]["records_about"]))
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert any(answer["value"] not in (None, [], {}) for answer in document["answers"])
    assert not leaves_nothing(advice.instead or advice)


def test_a_command_that_would_leave_nothing_is_the_negative_control(tmp_path: Path) -> None:
    """What the planner was asked for, run as it was asked: the reason for another command."""
    asked = CASES["many buckets"]
    path = written(tmp_path, asked["records_about"])
    done = run_command("release", path, "cost", "-e", "0.01", "-d", "1e-6", "--width", "1", "--bounds", "0:100000")
    assert done.returncode == 4


def test_what_is_said_where_the_command_is_another_one() -> None:
    advice = plan(**CASES["relative from zero"])
    assert advice.setting.buckets == 7258
    assert "makes 7 258 buckets between bounds that reach 0" in advice.warnings[0]
    assert "bounds=(1, 1000) would leave 71 buckets" in advice.warnings[0]
    assert advice.warnings[-1].startswith("almost nothing would be left of these buckets")
    assert advice.instead is not None and "--relative" not in advice.command and "--relative" not in advice.text()
    assert advice.document()["command"] == advice.command and advice.command in advice._repr_html_()
    raised = plan(**CASES["small ε"])
    assert raised.epsilon == Fraction(1, 100) and raised.instead is not None and raised.instead.epsilon > raised.epsilon
    assert raised.warnings[-1].startswith("almost nothing would be left at this ε: the command is for epsilon=")
    fine = plan(epsilon=1, delta="1e-6", relative="0.05", bounds=(1, 1000), records_about=50_000)
    assert fine.instead is None and not fine.warnings and "--relative 0.05 --bounds 1:1000" in fine.command
    hopeless = plan(epsilon=1, delta="1e-6", kind="text", records_about=1)
    assert hopeless.instead is None and "do not run the command" in hopeless.warnings[-1]


def test_groups_in_a_plan() -> None:
    alone = plan(epsilon=1, ask="max", records_about=10_000)
    known = plan(epsilon=1, ask="max", records_about=30_000, by="ward", groups=WARDS)
    assert alone.sharp is not None and known.sharp is not None
    one = known.sharp.option(known.epsilon).bounds  # type: ignore[union-attr]
    assert one == alone.sharp.option(alone.epsilon).bounds  # type: ignore[union-attr]  # each group is a column of its own
    unknown = plan(epsilon=1, ask="max", records_about=30_000, by="ward", groups_about=3)
    assert unknown.delta > 0 and "--groups" not in unknown.command and "--by ward" in unknown.command
    assert unknown.sharp.option(unknown.epsilon).bounds[0].bound > one[0].bound  # type: ignore[union-attr]
    assert (
        "A quarter of ε lists the groups" in unknown.text()
        and "in about 3 groups that are not known" in unknown.heading
    )
    few = plan(epsilon=1, ask="max", records_about=300, by="ward", groups_about=30)
    assert "may all be missing" in few.warnings[0] and few.instead is not None
    bars = plan(epsilon=1, delta="1e-6", width=5, bounds=(0, 120), records_about=50_000, by=["ward", "sex"],
                groups=[("A", "f"), ("A, B", "m")])  # fmt: skip
    assert bars.setting.buckets == 48 and bars.command.endswith("""--by ward --by sex --groups 'A:f,"A, B:m"'""")
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
        ({"ask": "max", "stats": "max"}, "stats does not fit ask"),
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
                           {"edges": [0, 1, 2]}, {"ask": "max"}, {"ask": ["median", "mean"]}]),
    groups=st.sampled_from([{}, {"by": "w", "groups": ["A", "B"]}, {"by": "w", "groups_about": 40}]),
    releases=st.sampled_from([1, 4]),
)  # fmt: skip
def test_no_plan_ends_in_a_command_that_leaves_nothing(
    epsilon: str, records: int, shape: dict[str, Any], groups: dict[str, Any], releases: int
) -> None:
    try:
        advice = plan(epsilon=epsilon, records_about=records, **shape, **groups, releases=releases)
    except InputError as refusal:  # a smaller ε than exact answers allow, divided between releases
        assert refusal.parameter == "epsilon" and "ask" in shape and releases > 1
        return
    assert not leaves_nothing(advice.instead or advice) or "do not run the command" in advice.warnings[-1]
