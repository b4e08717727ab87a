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
from flexdp.planning import trials
from flexdp.planning.answers import AskedOutlook
from flexdp.planning.automatic import AutomaticOutlook
from flexdp.planning.automatic_trials import distribution_distance
from flexdp.sharp.automatic import Automatic
from flexdp.sharp.scale import INTEGERS, NUMBERS
from flexdp.sharp.shares import shares
from flexdp.simulation import parse_distribution

LAW = "lognormal:median=100,sigma=0.5"


def test_bounds_are_those_that_a_release_states() -> None:
    """Of a release of as many records and values of the assumed size."""
    values = np.round(np.random.default_rng(1).uniform(10_000, 60_000, 10_000), 2)
    asked = ["max", "median", "q0.1", "count"]
    advice = plan(epsilon=2, ask=asked, records_about=10_000)
    found = flexdp.release(values, epsilon=2, delta=0, ask=asked)
    assert isinstance(advice.sharp, AskedOutlook)
    planned = {bound.stat: bound for bound in advice.sharp.option(Fraction(2)).bounds}
    assert list(planned) == asked
    assert planned["median"].bound == found.median().promise.between
    assert planned["q0.1"].bound == found.quantile("0.1").promise.between
    # The number of rungs depends on the anchor a little.
    assert abs(planned["max"].bound - found.max().promise.beyond) <= 2
    assert f"off by at most {planned['count'].bound}." in str(found.count())


@pytest.mark.parametrize("bounds", [None, (0, 1000)])
def test_the_bound_of_a_mean_is_a_share_of_the_range(bounds: Any) -> None:
    values = np.round(np.random.default_rng(1).uniform(0, 1000, 20_000), 2)
    advice = plan(epsilon=1, ask="mean", records_about=20_000, bounds=bounds)
    (bound,) = advice.sharp.option(Fraction(1)).bounds
    found = flexdp.release(values, epsilon=1, delta=0, ask="mean", bounds=bounds)
    result = found.asked.results[()].mean
    width = float(NUMBERS.value(result.tally.high - result.tally.low))
    assert bound.share * width == pytest.approx(float(found.mean().promise.mean), rel=0.05)
    assert str(bound).endswith("% of range")


def test_trials_are_measured_on_the_law_and_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flexdp.planning.answers.RUNS", 12)
    options: dict[str, Any] = {"epsilon": 1, "ask": ["max", "median", "mean", "count"], "records_about": 5000}
    one, again, other = (plan(**options, simulate=LAW, seed=seed) for seed in (3, 3, 4))
    assert one.to_json() == again.to_json() and one.text() == again.text() and one.to_json() != other.to_json()
    expected = {each.stat: each for each in one.sharp.expected(Fraction(1))}
    bounds = {each.stat: each for each in one.sharp.option(Fraction(1)).bounds}
    for stat in ("max", "median", "count"):
        assert 0 <= expected[stat].rank <= bounds[stat].bound and expected[stat].usual_rank <= bounds[stat].bound
    assert expected["mean"].rank is None and expected["mean"].error < 5
    assert all(each.answered == 1 for each in expected.values())
    assert "trials on 5 000 records of a lognormal distribution with median 100 and sigma 0.5" in one.text()


def test_ranks_of_trials_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against releases of the same values with the same bits, counted by hand."""
    values = np.arange(2000) // 3
    advice = plan(epsilon=1, ask="median", records_about=2000, public_sample=values.tolist(), kind="integer")
    outlook = advice.sharp
    assert isinstance(outlook, AskedOutlook)
    exact, off = int(values[999]), []
    for run in range(40):
        bits = trials.trial_bits(0, "1", run)
        monkeypatch.setattr("flexdp._release.asked_checks.Bits", lambda bits=bits: bits)
        told = flexdp.release(values, epsilon=1, delta=0, ask="median").median().value
        low, high = min(exact, told), max(exact, told)
        off.append(int(((values > low) & (values < high)).sum()))
    (found,) = outlook.expected(Fraction(1))
    assert found.rank == pytest.approx(np.mean(off)) and found.usual_rank == sorted(off)[35]


def test_automatic_buckets() -> None:
    advice = plan(epsilon=1, delta="1e-6", records_about=1e5)
    assert isinstance(advice.sharp, AutomaticOutlook)
    divided = advice.sharp.shares(Fraction(1))
    assert divided == shares(100_000, Fraction(2, 3), Fraction("1e-6"))  # a third is for minimum and maximum
    assert advice.sharp.lost(divided) == divided.most_buckets * (divided.reach - 1) / 2 / 100_000
    assert advice.chosen.max_drop == divided.reach - 1 and advice.expected is None
    row = next(row for row in advice.table()[1] if row[0])
    assert row[1:6] == ["1", "11%", "5", "≤ 42", "46"]
    document = advice.document()
    assert document["automatic"]["options"][4] == {
        "epsilon": "1", "share": "17/150", "share_of_ends": "1/3", "levels": 5, "q": 47, "most_buckets": 42,
        "left_out": 0.00966
    }  # fmt: skip
    ends = plan(epsilon="1/3", ask=["min", "max"], records_about=10**5).sharp.option(Fraction(1, 3)).bounds
    most = max(each.bound or 0 for each in ends)
    assert (
        f"Minimum and maximum get 33% of ε: at most {most} records beyond each, with 95% probability." in advice.notes
    )
    bounded = plan(epsilon=1, delta="1e-6", records_about=1e5, bounds=(0, 9))
    assert bounded.sharp.shares(Fraction(1)) == shares(100_000, Fraction(1), Fraction("1e-6"))
    assert plan(epsilon=1, records_about=10**5).delta_origin == "proposed"
    halves = plan(epsilon=2, delta="2e-6", records_about=10**5, releases=2)
    assert halves.sharp.shares(Fraction(2)) == divided and "--epsilon 1 --delta 1e-06" in halves.command


def test_automatic_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flexdp.planning.automatic_trials.RUNS", 4)
    advice = plan(epsilon=1, delta="1e-6", records_about=20_000, simulate=LAW)
    found = advice.sharp.expected(Fraction(1))
    assert found == plan(epsilon=1, delta="1e-6", records_about=20_000, simulate=LAW).sharp.expected(Fraction(1))
    assert 0.005 < found.share <= found.most_share < 0.05 and 5 < found.buckets < 40
    assert 0 < found.distance <= found.most_distance < 0.05
    assert "the maximum error of the distribution function is " in advice.text()
    assert advice.document()["automatic"]["expected"]["share"] == found.share


@pytest.mark.parametrize("records", [50, 300])
def test_too_few_records_are_said(records: int) -> None:
    buckets = plan(epsilon=1, delta="1e-6", records_about=records)
    assert buckets.sharp.shares(Fraction(1)) is None and "are too few for " in buckets.warnings[0]
    asked = plan(epsilon=1, ask=["max", "median"], records_about=100)
    assert "about 200 are needed" not in str(asked) or "too few" in str(asked)
    few = plan(epsilon=1, ask="max", records_about=50)
    assert "50 records are too few for the maximum at this ε: about 100 are needed." in few.warnings[0]
    assert few.table()[1][4][2] == "needs 100"


def _buckets(edges: tuple[int, ...], bars: tuple[int, ...], scale: Any) -> Automatic:
    divided = shares(10**5, Fraction(10), Fraction("1e-6"))
    return Automatic(
        scale=scale,
        epsilon=Fraction(10),
        delta=Fraction("1e-6"),
        records_about=0,
        shares=divided,
        edges=edges,
        bars=bars,
    )


def test_the_distance_of_distribution_functions() -> None:
    added = (shares(10**5, Fraction(10), Fraction("1e-6")).reach - 1) / 2
    values = np.repeat(np.arange(10, 30), 1000)  # uniform integers
    exact = _buckets((10, 20, 30), (0, 10_000, 10_000, 0), INTEGERS)
    assert distribution_distance(values, exact) == pytest.approx(0, abs=1e-12)
    shifted = _buckets((10, 20, 30), (0, 5_000, 15_000, 0), INTEGERS)
    first = (5000 + added) / (20_000 + 2 * added)
    assert distribution_distance(values, shifted) == pytest.approx(0.5 - first, abs=1e-9)
    ties = np.concatenate([np.zeros(6000), np.linspace(1, 9, 4000)])
    one = NUMBERS.units(1)
    jump = _buckets((0, 1, 10 * one), (0, 6_000, 4_000, 0), NUMBERS)
    assert (
        distribution_distance(ties, jump)
        < 0.1
        < distribution_distance(ties, _buckets((0, 10 * one), (0, 10_000, 0), NUMBERS))
    )
    assert distribution_distance(values, _buckets((), (20_000,), INTEGERS)) is None


@pytest.mark.parametrize(
    "law", ["normal:50,15", "lognormal:median=30,sigma=1", "uniform:0,10", "cauchy:0,1", "zipf:1.5"]
)
def test_values_of_a_law_are_its_quantiles(law: str) -> None:
    found = parse_distribution(law, low=Fraction(0), span=Fraction(100), buckets=50)
    values = found.values(999)
    levels = (np.arange(999) + 0.5) / 999
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
    ({"ask": "max", "records_about": 100, "seed": -1}, "seed must be"),
    ({"ask": "max", "records_about": 100, "simulate": "normal", "public_sample": [1]}, "exclude each other"),
    ({"ask": "max", "records_about": 100, "kind": "date", "simulate": "normal"}, "makes numbers"),
    ({"records_about": 100, "public_sample": []}, "public_sample must hold at least one value"),
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
    assert fits.chosen is not None and fits.instead is None
    for epsilon, word in (("0.005", "epsilon is too small for automatic buckets"), ("0.0051", None)):
        prepared = prepare([1.0], kind="number")
        if word is None:
            assert prepared.with_budget(epsilon, "1e-8").budgets
        else:
            with pytest.raises(InputError, match=word):
                prepared.with_budget(epsilon, "1e-8")


def test_cards_and_documents() -> None:
    for advice in (plan(epsilon=1, ask=["max", "iqr"], records_about=9000), plan(epsilon=1, records_about=9000)):
        card = advice._repr_html_()
        assert "flexdp release FILE COLUMN" in card and "<table" in card
        document = json.loads(advice.to_json())
        assert document["schema"] == "flexdp.plan/1" and document["command"] == advice.command
        assert repr(advice).startswith("<Advice: ")
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
    sample = command(
        "plan", "--epsilon", 2, "--ask", "median", "--public-sample", place, "cost", "-n", "3000", "--json"
    )
    assert json.loads(sample.stdout)["asked"]["expected"]["source"].startswith("3 000 records of the public sample")
