"""Plans of asked answers and of automatic buckets: bounds that releases state, trials, commands that run."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from _support.command import flexdp as command

import flexdp
from flexdp import InputError, plan
from flexdp._release.api import prepare
from flexdp.planning import Plan
from flexdp.planning.automatic import AutomaticBuckets
from flexdp.sharp.scale import NUMBERS
from flexdp.sharp.shares import shares
from flexdp.simulation import parse_distribution

LAW = "lognormal:median=100,sigma=0.5"


def chosen(planned: Plan) -> dict[str, Any]:
    """The numbers of the chosen ε."""
    assert planned.chosen is not None
    return planned.chosen


def test_bounds_are_those_that_a_release_states() -> None:
    """Of a release of as many records and values of the assumed size."""
    values = np.round(np.random.default_rng(1).uniform(10_000, 60_000, 10_000), 2)
    asked = ["max", "median", "q0.1", "count"]
    planned = chosen(plan(epsilon=2, ask=asked, records_about=10_000))
    found = flexdp.release(values, epsilon=2, delta=0, ask=asked)
    assert planned["median"].bound == found.median().promise.between
    assert planned["q0.1"].bound == found.quantile("0.1").promise.between
    # A rung near the anchor in size has the smallest bound.
    assert abs(planned["max"].bound - found.max().promise.beyond) <= 8
    assert f"off by at most {planned['count'].bound}." in str(found.count())


@pytest.mark.parametrize("bounds", [None, (0, 1000)])
def test_the_bound_of_a_mean_is_a_share_of_the_range(bounds: Any) -> None:
    values = np.round(np.random.default_rng(1).uniform(0, 1000, 20_000), 2)
    bound = chosen(plan(epsilon=1, ask="mean", records_about=20_000, bounds=bounds))["mean"]
    found = flexdp.release(values, epsilon=1, delta=0, ask="mean", bounds=bounds)
    result = found.asked.results[()].mean
    width = float(NUMBERS.value(result.tally.high - result.tally.low))
    assert bound.bound * width == pytest.approx(float(found.mean().promise.mean), rel=0.05)
    assert str(bound).endswith("% of range")


def test_automatic_buckets() -> None:
    planned = plan(epsilon=1, delta="1e-6", records_about=1e5)
    divided, row = shares(100_000, Fraction(2, 3), Fraction("1e-6")), chosen(planned)  # a third is for both ends
    assert divided is not None and isinstance(planned.design, AutomaticBuckets)
    assert planned.design.shares(planned.each(Fraction(1))) == divided
    assert row["left_out"] == divided.most_buckets * (divided.reach - 1) / 2 / 100_000 and planned.expected is None
    assert next(row for row in planned.table()[1] if row[0])[1:6] == ["1", "11%", "5", "≤ 42", "46"]
    assert planned.document()["options"][4] == {
        "epsilon": "1", "chosen": True, "edges_share": float(Fraction(17, 150)), "share_beside": float(Fraction(1, 3)),
        "levels": 5, "max_drop": 46, "survives_from": 47, "most_buckets": 42, "left_out": 0.00966, "certainty": "73.2%",
    }  # fmt: skip
    ends = chosen(plan(epsilon="1/3", ask=["min", "max"], records_about=10**5))
    most = max(ends[name].bound for name in ("min", "max"))
    told = f"Minimum and maximum get 33% of ε: at most {most} records beyond each, with 95% probability."
    assert told in planned.notes
    bounded = plan(epsilon=1, delta="1e-6", records_about=1e5, bounds=(0, 9))
    whole = shares(100_000, Fraction(1), Fraction("1e-6"))
    assert whole is not None and chosen(bounded)["survives_from"] == whole.reach
    assert plan(epsilon=1, records_about=10**5).delta_is == "proposed"
    halves = plan(epsilon=2, delta="2e-6", records_about=10**5, releases=2)
    assert chosen(halves)["survives_from"] == divided.reach and "--epsilon 1 --delta 1e-06" in halves.command


@pytest.mark.parametrize("records", [50, 300])
def test_too_few_records_are_said(records: int) -> None:
    buckets = plan(epsilon=1, delta="1e-6", records_about=records)
    assert chosen(buckets)["max_drop"] is None and "are too few for " in buckets.warnings[0]
    asked = plan(epsilon=1, ask=["max", "median"], records_about=100)
    assert "about 200 are needed" not in str(asked) or "too few" in str(asked)
    few = plan(epsilon=1, ask="max", records_about=50)
    assert "50 records are too few for the maximum at this ε: about 100 are needed." in few.warnings[0]
    assert few.table()[1][4][2] == "needs 100"


@pytest.mark.parametrize(
    "law", ["normal:50,15", "lognormal:median=30,sigma=1", "uniform:0,10", "cauchy:0,1", "zipf:1.5"]
)
def test_values_of_a_law_are_its_quantiles(law: str) -> None:
    found = parse_distribution(law, low=Fraction(0), span=Fraction(100), buckets=50)
    levels = (np.arange(999) + 0.5) / 999
    values = found.at(levels)
    beside = 1e-9 * (1 + np.abs(values))  # values of a Zipf law are jumps
    assert (np.diff(values) >= 0).all()
    assert (found.below(values - beside) <= levels + 1e-9).all()
    assert (found.below(values + beside) >= levels - 1e-9).all()


BAD: list[tuple[dict[str, Any], str]] = [
    ({"ask": "max"}, "ask needs the number of records"),
    ({"ask": "maxx", "records_about": 100}, "ask: invalid statistic 'maxx'"),
    ({"ask": "q1.5", "records_about": 100}, "ask: invalid statistic 'q1.5'"),
    ({"ask": "max", "records_about": 100, "kind": "text"}, "ask needs a column of numbers or dates"),
    ({"ask": "mean", "records_about": 100, "kind": "date"}, "the mean needs a column of numbers"),
    ({"ask": "max", "records_about": 100, "width": 5}, "width cannot be combined with ask"),
    ({"ask": "max", "records_about": 100, "lose_share": "0.1"}, "lose_share cannot be combined with ask"),
    (
        {"ask": "max", "records_about": 100, "delta": "1e-6", "by": "w", "groups": ["A"]},
        "delta cannot be combined with ask",
    ),
    (
        {"ask": "max", "records_about": 100, "epsilon": "0.001"},
        "too small for these answers, which need at least 0.0035",
    ),
    ({"ask": "max", "records_about": 100, "epsilon": "0.001", "releases": 3}, "need at least 0.0105; got 0.001"),
    ({"ask": "max", "records_about": 100, "epsilon": "0.001", "delta": "1e-6"}, "need at least 0.007; got 0.001"),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_bad_input(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        plan(**options)
    assert plan(ask="max", delta=0, records_about=1000).delta == 0


def test_the_least_epsilon_that_is_named_is_enough() -> None:
    for extra, least, less in (({}, "0.0035", "0.00349"), ({"releases": 3}, "0.0105", "0.0104")):
        assert plan(ask="max", records_about=10**6, epsilon=least, **extra).epsilon == Fraction(least)
        with pytest.raises(InputError, match="which need at least"):
            plan(ask="max", records_about=10**6, epsilon=less, **extra)
    small = plan(epsilon="0.005", records_about=10**6)
    assert "too small for automatic buckets: the minimum is 0.0051." in small.warnings[0]
    fits = plan(epsilon="0.0051", records_about=10**6)
    assert not fits.leaves_nothing and chosen(fits)["max_drop"] is not None
    for epsilon, word in (("0.005", "epsilon is too small for automatic buckets"), ("0.0051", None)):
        prepared = prepare([1.0], kind="number")
        if word is None:
            assert prepared.with_budget(epsilon, "1e-8").budgets
        else:
            with pytest.raises(InputError, match=word):
                prepared.with_budget(epsilon, "1e-8")


def test_cards_and_documents() -> None:
    for planned in (plan(epsilon=1, ask=["max", "iqr"], records_about=9000), plan(epsilon=1, records_about=9000)):
        card = planned._repr_html_()
        assert "flexdp release FILE COLUMN" in card and "<table" in card
        document = json.loads(planned.to_json())
        assert document["schema"] == "flexdp.plan/1" and document["command"] == planned.command
        assert repr(planned).startswith("<Plan: ")
    open_ = plan(ask="max", records_about=9000)
    assert open_.epsilon is None and "--epsilon E" in open_.command and "no ε is chosen" in open_.warnings[0]


def test_the_command_that_a_plan_ends_in_works(tmp_path: Path) -> None:
    place = tmp_path / "t.parquet"
    pl.DataFrame({"cost": [float(i % 40) for i in range(6000)]}).write_parquet(place)
    for options in (("--ask", "max", "--ask", "q0.99"), ("--delta", "1e-6")):
        told = command("plan", "--epsilon", "1", "-n", "6000", *options)
        assert told.returncode == 0, told.stderr
        line = told.stdout.splitlines()[-1].strip().replace("FILE", str(place)).replace("COLUMN", "cost").split()
        done = command(*line[1:])
        assert done.returncode == 0, done.stderr
    wrong = command("plan", "--ask", "max", "--width", 5, "-n", 100)
    assert wrong.returncode == 2 and "--width cannot be combined with --ask" in wrong.stderr
