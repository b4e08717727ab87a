"""flexdp.plan: every row against the noise itself, targets met at their best, expectations by enumeration."""

from __future__ import annotations

import datetime as dt
import json
import shlex
import statistics
import subprocess
import sys
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from _support.command import flexdp as run
from hypothesis import given, settings
from hypothesis import strategies as st

import flexdp
from flexdp import Histogram, InputError
from flexdp._release.capped import after_cap
from flexdp.buckets import Width
from flexdp.buckets.parse import bucket_parameters
from flexdp.noise import DropNoise, TotalNoise
from flexdp.planning import Plan, per_bucket
from flexdp.planning.expected import Counts, count_law, expect_losses
from flexdp.planning.given import GivenBuckets
from flexdp.simulation import OF_VALUES, parse_distribution

AGES: dict[str, Any] = {"bounds": (0, 120), "width": 5, "records_about": 50_000}


def buckets_of(planned: Plan) -> GivenBuckets:
    """The design of a plan of given buckets."""
    assert isinstance(planned.design, GivenBuckets)
    return planned.design


def noise_of(
    epsilon: Fraction, delta: Fraction, releases: int = 1, units: int | None = None, *, reported: bool = True
) -> DropNoise:
    """The noise of one bucket, by way of the library's own table; a cap tells of itself for 4 % of ε."""
    rest = epsilon * Fraction(24, 25) if units is not None and reported else epsilon
    share = per_bucket(rest / releases, delta / releases, units or 1)
    return DropNoise(share.epsilon, share.delta)


CAPPED = [(1, None, True), (3, None, True), (1, 1, True), (1, 2, True), (4, 5, True), (4, 5, False)]


@pytest.mark.parametrize(("releases", "units", "reported"), CAPPED)
def test_every_option_is_what_the_noise_does(releases: int, units: int | None, *, reported: bool) -> None:
    planned = flexdp.plan(
        epsilon=1, delta="1e-6", **AGES, releases=releases, max_buckets_per_unit=units, cap_report=reported
    )
    assert len(planned.rows) >= 8
    for option in planned.rows:
        if option["max_drop"] > 3000:
            continue
        noise = noise_of(option["epsilon"], Fraction("1e-6"), releases, units, reported=reported)
        assert (option["survives_from"], option["max_drop"]) == (noise.q, noise.max_drop)
        each = after_cap(option["epsilon"] / releases, reported=reported and units is not None)
        total = TotalNoise(each, Fraction("1e-6") / releases, 24, units=units or 1).total
        assert option["total"] == total < 24 * noise.max_drop
        assert option["alpha"] == min(Fraction(1), Fraction(total, 50_000))
    drops = [option["max_drop"] for option in planned.rows]
    assert drops == sorted(drops, reverse=True), "raising ε never raises the most a bucket can lose"


def test_the_numbers_of_the_tables_in_the_literature() -> None:
    reach = {Fraction("0.1"): 218, Fraction("0.5"): 51, Fraction(1): 28, Fraction(3): 11}
    found = {option["epsilon"]: option["survives_from"] for option in flexdp.plan(delta="1e-6").rows}
    assert {epsilon: found[epsilon] for epsilon in reach} == reach
    units = {1: 28, 2: 54, 5: 133, 10: 264}
    for k, q in units.items():
        chosen = flexdp.plan(epsilon=1, delta="1e-6", max_buckets_per_unit=k, cap_report=False).chosen
        assert chosen is not None and chosen["survives_from"] == q
        whole = flexdp.plan(epsilon=Fraction(25, 24), delta="1e-6", max_buckets_per_unit=k).chosen
        assert whole is not None and whole["survives_from"] == q  # a twenty-fifth tells of the cap


@pytest.mark.parametrize("limit", [7, 20, 30, 100, 2000])
@pytest.mark.parametrize(
    ("releases", "units", "reported"), [(1, None, True), (1, 1, True), (2, 3, True), (2, 3, False)]
)
def test_the_smallest_epsilon_that_meets_a_target(
    limit: int, releases: int, units: int | None, *, reported: bool
) -> None:
    planned = flexdp.plan(
        delta="1e-6", lose_per_bucket=limit, releases=releases, max_buckets_per_unit=units, cap_report=reported
    )
    assert planned.epsilon is not None and planned.epsilon_is == "solved"
    assert noise_of(planned.epsilon, planned.delta, releases, units, reported=reported).max_drop <= limit
    digits = 10 ** (2 - int(np.floor(np.log10(float(planned.epsilon)))))
    below = planned.epsilon - Fraction(1, digits) if digits >= 1 else planned.epsilon - 1
    assert noise_of(below, planned.delta, releases, units, reported=reported).max_drop > limit
    assert [option["meets"] for option in planned.rows] == [option["max_drop"] <= limit for option in planned.rows]


@pytest.mark.parametrize(
    ("target", "drop"),
    [({"lose_in_all": 500}, None), ({"lose_share": "0.01"}, None), ({"lose_in_all": 500, "lose_per_bucket": 9}, 9)],
)
def test_targets_in_all(target: dict[str, Any], drop: int | None) -> None:
    planned = flexdp.plan(**AGES, **target)
    assert (buckets_of(planned).limit, buckets_of(planned).total_limit) == (drop, 500)
    assert planned.chosen is not None and planned.epsilon is not None
    assert planned.chosen["meets"] and planned.chosen["max_drop"] <= (drop or 99)
    assert planned.chosen["total"] == TotalNoise(planned.epsilon, planned.delta, 24).total <= 500
    below = planned.epsilon - Fraction(1, 10 ** (2 - int(np.floor(np.log10(float(planned.epsilon))))))
    assert TotalNoise(below, planned.delta, 24).total > 500 or DropNoise(below, planned.delta).max_drop > (drop or 99)
    without = flexdp.plan(delta="1e-7", buckets=24, width=5, records_about=50_000, **target)  # not public: 24 times D
    assert without.chosen is not None and without.chosen["max_drop"] <= 20
    assert without.epsilon >= planned.epsilon if drop else without.epsilon > planned.epsilon * Fraction(3, 2)
    assert planned.delta == Fraction("1e-7") and planned.delta_is == "proposed"


def test_the_smallest_delta_is_solved_for() -> None:
    planned = flexdp.plan(epsilon=1, lose_per_bucket=27)
    assert planned.delta_is == "solved"
    assert DropNoise(1, planned.delta).q == 28
    assert DropNoise(1, planned.delta - Fraction("1e-9")).q > 28


def test_the_width_is_solved_for() -> None:
    assert buckets_of(flexdp.plan(epsilon=1, delta="1e-6", bounds=(0, 120), buckets=24)).partition == Width(
        "number", Fraction(5), (Fraction(0), Fraction(120))
    )
    planned = flexdp.plan(epsilon=1, delta="1e-6", bounds=(0, 120), lose_share="0.02", records_about=50_000)
    assert buckets_of(planned).buckets == 69
    assert TotalNoise(1, "1e-6", 69).total <= 1000 < TotalNoise(1, "1e-6", 70).total
    assert planned.chosen is not None and (planned.chosen["total"] or 0) <= 1000
    whole = flexdp.plan(epsilon=1, delta="1e-6", bounds=(0, 99), buckets=24, kind="integer")
    assert isinstance(buckets_of(whole).partition, Width) and buckets_of(whole).partition.width == 5


@settings(max_examples=30, deadline=None)
@given(
    heights=st.lists(st.integers(0, 400), min_size=6, max_size=6).filter(lambda h: sum(h) > 0),
    epsilon=st.sampled_from(["0.5", "1", "3"]),
)
def test_a_release_certifies_no_more_than_was_planned(heights: list[int], epsilon: str) -> None:
    """α is promised before the data is seen, of at least that many records; the release's own is never larger."""
    records = sum(heights)
    planned = flexdp.plan(epsilon=epsilon, delta="1e-3", bounds=(0, 6), width=1, records_about=records)
    values = np.repeat(np.arange(6) + 0.5, heights)
    released = flexdp.release(values, epsilon=epsilon, delta="1e-3", bounds=(0, 6), width=1)
    assert planned.chosen is not None and planned.chosen["alpha"] is not None
    lost = TotalNoise(epsilon, "1e-3", 6).total
    assert Fraction(lost, released.histogram.size + lost) <= planned.chosen["alpha"]
    if len(released.bars):
        certified = released.mode().accuracy
        assert certified is not None and certified.alpha is not None
        assert certified.alpha <= float(planned.chosen["alpha"]) * (1 + 1e-12)
    assert records - released.histogram.size <= planned.chosen["alpha"] * records


def test_what_is_unknown_is_not_certified() -> None:
    for known in ({"records_about": 1000}, {"width": 5, "records_about": 1000}, {"bounds": (0, 10), "width": 1}):
        chosen = flexdp.plan(epsilon=1, delta="1e-6", **known).chosen
        assert chosen is not None and chosen.get("alpha") is None


WARNINGS = [
    ({"epsilon": 1, "delta": "0.001", "records_about": 1000}, "delta=0.001 is not below one in 1 000 records"),
    ({"epsilon": 12, "delta": "1e-6"}, "epsilon=12 is above 10 and gives little privacy protection"),
    (
        {"epsilon": 1, "delta": "1e-6", "records_about": 10_000, "bounds": (0, 5000), "width": 1},
        "a bucket needs 28 records to be certain to survive, but 10 000 records in 5 000 buckets average 2",
    ),
    ({"epsilon": 1, "delta": "1e-6", "lose_per_bucket": 20}, "The smallest ε that meets it is 1.33."),
    ({"epsilon": 1, "delta": "1e-6", "lose_per_bucket": 1}, "No ε meets it at this δ"),
    ({"delta": "1e-6"}, "no ε is chosen. Give epsilon, or a target such as lose_per_bucket."),
    (
        {"epsilon": 1, "delta": "1e-6", "buckets": 24, "records_about": 50_000},
        "only if its buckets are public",
    ),
    ({"epsilon": 1, "delta": "1e-9", "bounds": (0, 9), "width": 1, "records_about": 50}, "all records may be lost"),
    (
        {"epsilon": 1, "delta": "1e-6", "bounds": (0, 9), "width": 3, "max_buckets_per_unit": 5},
        "max_buckets_per_unit=5 exceeds the number of buckets. Choose 3",
    ),
]


@pytest.mark.parametrize(("known", "words"), WARNINGS, ids=[words[:20] for _, words in WARNINGS])
def test_senseless_choices_are_named(known: dict[str, Any], words: str) -> None:
    planned = flexdp.plan(**known)
    assert any(words in warning for warning in planned.warnings)
    assert words in str(planned)


def test_a_sensible_plan_has_no_warning() -> None:
    assert flexdp.plan(epsilon=1, delta="1e-6", **AGES).warnings == ()


def test_the_edge_of_each_warning() -> None:
    def said(words: str, **known: Any) -> bool:
        return any(words in warning for warning in flexdp.plan(**known).warnings)

    assert said("delta", epsilon=1, delta="1e-3", records_about=1000)
    assert not said("delta", epsilon=1, delta="1e-3", records_about=999)
    assert not said("above 10", epsilon=10, delta="1e-6")
    assert said("above 10", epsilon="10.001", delta="1e-6")
    fine = {"epsilon": 1, "delta": "1e-6", "bounds": (0, 10), "width": 1}
    assert not said("to be certain to survive", **fine, records_about=280)
    assert said("to be certain to survive", **fine, records_about=279)


@pytest.mark.parametrize(
    ("known", "parameter"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": 1, "delta": 1}, "delta"),
        ({"records_about": 0}, "records_about"),
        ({"lose_per_bucket": 0}, "lose_per_bucket"),
        ({"lose_per_bucket": 1, "delta": "1e-6"}, "Allow a larger loss"),
        ({"lose_in_all": 100}, "lose_in_all needs the number of buckets"),
        ({"lose_in_all": 5, "buckets": 10}, "lose_in_all leaves less than one record"),
        ({"lose_share": "0.1"}, "Give records_about too"),
        ({"lose_share": 2}, "lose_share"),
        ({"width": -1}, "width"),
        ({"width": 5, "relative": "0.1"}, "exclude each other"),
        (
            {"width": 5, "bounds": (0, 10), "buckets": 3},
            "buckets contradicts width: there are 2 such",
        ),
        ({"bounds": (3, 1)}, "bounds"),
        ({"buckets": 0}, "buckets"),
        ({"kind": "list"}, "kind"),
        ({"max_buckets_per_unit": 0}, "max_buckets_per_unit"),
        ({"releases": 0}, "releases"),
        ({"epsilon": 1, "simulate": "normal", "width": 1}, "records_about"),
        (
            {"epsilon": 1, "simulate": "weibull", "records_about": 10, "width": 1},
            "simulate: no distribution named 'weibull'. Choose one of",
        ),
        ({"epsilon": 1, "simulate": "noraml", "records_about": 10, "width": 1}, "Did you mean normal"),
        ({"epsilon": 1, "simulate": "poisson:9", "records_about": 10, "width": 1}, "heights of buckets, not values"),
        ({"epsilon": 1, "simulate": "normal:5", "records_about": 10, "width": 1}, "takes mean and sd; got 1 number"),
        ({"epsilon": 1, "simulate": "lognormal:mu=1,median=3", "records_about": 10, "width": 1}, "either mu or median"),
        ({"epsilon": 1, "simulate": 5, "records_about": 10, "width": 1}, "simulate must be a string"),
        ({"epsilon": 1, "simulate": "normal:mu=1", "records_about": 10, "width": 1}, "takes mean and sd"),
        ({"epsilon": 1, "simulate": "normal:sd=0", "records_about": 10, "width": 1}, "sd"),
        ({"epsilon": 1, "simulate": "uniform:low=5,high=1", "records_about": 10, "width": 1}, "low below high"),
        ({"epsilon": 1, "simulate": "zipf:values=0", "records_about": 10, "width": 1}, "values"),
        ({"epsilon": 1, "simulate": "normal", "records_about": 10, "width": 1, "kind": "date"}, "public sample"),
        ({"epsilon": 1, "simulate": "lognormal:sigma=4", "records_about": 10**6, "width": 1}, "Give wider ones"),
        ({"epsilon": 1, "simulate": "lognormal:sigma=9", "records_about": 10**6, "width": 1}, "buckets can hold"),
        ({"epsilon": 1, "simulate": "normal:mean=1e101", "records_about": 10, "width": 1}, "at most 1e100 in size"),
        ({"epsilon": 1, "simulate": "normal", "public_sample": [1], "width": 1}, "exclude each other"),
        ({"epsilon": 1, "public_sample": "file.csv"}, "public_sample"),
        ({"epsilon": 1, "public_sample": ["x"], "width": 1}, "public_sample"),
        ({"epsilon": 1, "public_sample": [], "width": 1}, "public_sample"),
        ({"epsilon": "0.001", "delta": "1e-6", "lose_in_all": 100, "bounds": (0, 1)}, "Raise either"),
    ],
)
def test_bad_parameters(known: dict[str, Any], parameter: str) -> None:
    with pytest.raises(InputError, match=parameter) as caught:
        flexdp.plan(**known)
    assert "\n" not in str(caught.value)


# What is to be expected


def enumerated(heights: list[int], noise: DropNoise) -> tuple[Fraction, Fraction, dict[int, Fraction]]:
    """Records lost, buckets gone and the law of the highest released bucket, over every outcome of the noise."""
    lost = gone = Fraction(0)
    highest: dict[int, Fraction] = {}
    total = 1 << noise.bits
    for drops in product(range(noise.q), repeat=len(heights)):
        chance = Fraction(1)
        for drop in drops:
            chance *= Fraction(noise.weights[drop], total)
        left = [max(0, height - drop) for height, drop in zip(heights, drops, strict=True)]
        lost += chance * (sum(heights) - sum(left))
        gone += chance * sum(height > 0 and not rest for height, rest in zip(heights, left, strict=True))
        top = max((place for place, rest in enumerate(left) if rest), default=-1)
        highest[top] = highest.get(top, Fraction(0)) + chance
    return lost, gone, highest


@settings(max_examples=25, deadline=None)
@given(heights=st.lists(st.integers(1, 9), min_size=1, max_size=4))
def test_expectations_by_enumeration(heights: list[int]) -> None:
    noise = DropNoise(2, "0.01")  # q = 6
    counts = Counts(source="s", keys=np.arange(len(heights)) * 10.0, counts=np.array(heights), ordered=True)
    found = expect_losses(counts, noise)
    lost, gone, highest = enumerated(heights, noise)
    assert found.lost == pytest.approx(float(lost), rel=1e-9)
    assert found.vanishing == pytest.approx(float(gone), rel=1e-9, abs=1e-12)
    assert found.sure == sum(height >= noise.q for height in heights)
    survives = 1 - highest.get(-1, Fraction(0))
    if survives < Fraction(95, 100):
        assert found.move is None and found.usual_maximum is None
        return
    top = len(heights) - 1
    move = sum((chance * 10 * (top - place) for place, chance in highest.items() if place >= 0), Fraction(0)) / survives
    assert found.move == pytest.approx(float(move), rel=1e-9, abs=1e-12)
    reached = Fraction(0)
    for place in range(top, -1, -1):
        reached += highest.get(place, Fraction(0))
        if reached >= Fraction(95, 100):
            break
    assert found.usual_maximum == 10.0 * place


def test_expected_loss_is_the_mean_of_the_table() -> None:
    noise = DropNoise(1, "1e-6")
    for height in (1, 5, 14, 27, 28, 5000):
        counts = Counts(source="s", keys=np.array([1.0]), counts=np.array([height]), ordered=True)
        assert expect_losses(counts, noise).lost == pytest.approx(float(noise.mean_drop(height)), rel=1e-12)
        assert 1 - expect_losses(counts, noise).vanishing == pytest.approx(float(noise.survival(height)), rel=1e-12)


def points(name: str, records: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """n records at the quantiles of a law, from the standard library."""
    levels = [(i + 0.5) / records for i in range(records)]
    normal = statistics.NormalDist(60, 20)
    if name == "normal":
        return np.array([normal.inv_cdf(level) for level in levels])
    if name == "lognormal":
        return np.exp([np.log(6) + statistics.NormalDist().inv_cdf(level) for level in levels])
    if name == "uniform":
        return np.array(levels) * 120
    if name == "cauchy":
        return 60 + 4.8 * np.tan(np.pi * (np.array(levels) - 0.5))
    shares = np.array([1 / k for k in range(1, 25)])
    running = np.cumsum(shares) / shares.sum()
    return (np.searchsorted(running, levels) + 0.5) * 5.0


@pytest.mark.parametrize("name", OF_VALUES)
@pytest.mark.parametrize("bounded", [True, False])
def test_a_law_is_its_quantiles(name: str, bounded: bool) -> None:
    bounds = (Fraction(0), Fraction(120))
    partition = Width("number", Fraction(5), bounds if bounded else None)
    law = parse_distribution(name, low=Fraction(0), span=Fraction(120), buckets=24)
    found = count_law(law, 3000, partition)
    values, counts = np.unique(partition.centres(partition.locate(points(name, 3000))), return_counts=True)
    assert found.keys.tolist() == values.tolist()
    assert found.records == 3000
    assert found.counts.tolist() == counts.tolist()


def test_laws_on_relative_buckets_and_integers() -> None:
    relative = flexdp.plan(epsilon=1, delta="1e-6", relative="0.1", records_about=9999, simulate="lognormal:median=50")
    assert relative.expected is not None and relative.expected.records == 9999
    whole = flexdp.plan(epsilon=1, delta="1e-6", bounds=(0, 99), records_about=9999, width=1, kind="integer",
                        simulate="uniform")  # fmt: skip
    assert whole.expected is not None and whole.expected.filled == 100


def test_public_samples() -> None:
    values = np.repeat([2.5, 7.5, 12.5], [100, 50, 3])
    planned = flexdp.plan(epsilon=1, delta="1e-6", width=5, public_sample=values)
    noise = DropNoise(1, "1e-6")
    assert planned.expected is not None
    assert planned.expected.lost == pytest.approx(float(sum(noise.mean_drop(n) for n in (100, 50, 3))))
    assert (planned.expected.filled, planned.expected.sure, planned.expected.maximum) == (3, 2, 12.5)
    assert planned.expected.usual_maximum == 7.5
    same = flexdp.plan(epsilon=1, delta="1e-6", width=5, public_sample=Histogram.from_values(values))
    assert same.expected == planned.expected
    scaled = flexdp.plan(epsilon=1, delta="1e-6", width=5, public_sample=values, records_about=1530)
    assert scaled.expected is not None and scaled.expected.records == 1530
    words = flexdp.plan(epsilon=1, delta="1e-6", kind="text", public_sample=["a"] * 90 + ["b"])
    assert words.expected is not None and words.expected.maximum is None and words.expected.filled == 2


def test_samples_of_dates_and_samples_that_are_too_small() -> None:
    known: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}
    with pytest.raises(InputError, match="records_about is too small"):
        flexdp.plan(**known, width=1, public_sample=np.arange(100.0), records_about=10)
    days = [dt.date(2024, 1, 1 + i % 3) for i in range(300)]
    dated = flexdp.plan(**known, width=1, kind="date", public_sample=days)
    assert json.loads(dated.to_json())["expected"]["maximum"] == "2024-01-03"
    counted = flexdp.plan(**known, simulate="zipf", records_about=1000, buckets=24)
    assert counted.expected is not None and counted.expected.filled == 24


@pytest.mark.parametrize("data", [{"simulate": "normal"}, {"public_sample": [1.25] * 90}])
@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ({}, "automatic buckets are planned from the number of records alone"),
        ({"ask": "max"}, "answers are planned from the number of records alone"),
        ({"lose_per_bucket": 30}, "needs buckets, in which its values are counted"),
        ({"bounds": (0, 99), "lose_per_bucket": 30}, "needs buckets, in which its values are counted"),
    ],
)
def test_data_that_are_public_are_counted_in_buckets(data: dict[str, Any], shape: dict[str, Any], words: str) -> None:
    (name,) = data
    with pytest.raises(InputError, match=words) as caught:
        flexdp.plan(epsilon=1, delta="1e-6", records_about=1000, **data, **shape)
    assert caught.value.parameter == name


def test_lengths_of_time_and_percentages_are_written_for_people() -> None:
    for width, words in ((1, "1 day"), ("14 days", "14 days"), ("2 weeks", "2 weeks")):
        planned = flexdp.plan(epsilon=1, delta="1e-6", width=width, kind="date")
        assert f"(buckets of width {words})" in planned.heading and f"--width '{words}'" in str(planned.command)
    lost = [row[-2] for row in flexdp.plan(epsilon=1, records_about=5000, by="w", groups_about=400).table()[1]]
    assert "≈ 100%" in lost and not any("e" in cell for cell in lost)


def test_the_table_fits_a_terminal() -> None:
    text = str(flexdp.plan(**AGES, lose_share="0.01", simulate="normal", epsilon=1, delta="1e-6"))
    table = [line for line in text.splitlines() if "%" in line and line.endswith(("met", "–"))]
    assert len(table) == 9 and max(map(len, table)) <= 80


def test_a_simulation_always_says_the_same() -> None:
    known: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", **AGES, "simulate": "normal"}
    assert str(flexdp.plan(**known)) == str(flexdp.plan(**known))


NUMBERS = st.one_of(st.none(), st.sampled_from([0, 1, 3, 24, 10**4, 10**9, "0.01", "1e-6", "1/3", -1, "x", 2.5]))


@settings(max_examples=150, deadline=None)
@given(
    known=st.fixed_dictionaries(
        {},
        optional={
            **dict.fromkeys(("epsilon", "delta", "records_about", "lose_per_bucket", "lose_in_all"), NUMBERS),
            **dict.fromkeys(("lose_share", "width", "relative", "buckets", "max_buckets_per_unit"), NUMBERS),
            "bounds": st.sampled_from([None, (0, 120), ("-1e-3", "1e9"), (5, 1), ("2024-01-01", "2024-12-31"), 7]),
            "kind": st.sampled_from(["number", "integer", "text", "date"]),
            "releases": st.sampled_from([1, 2, 1000, 0, None]),
            "simulate": st.sampled_from([None, *OF_VALUES, "normal:mean=3,sd=1e-9", "lognormal:sigma=20"]),
            "ask": st.sampled_from([None, None, "max", ["median", "mean", "count"], "q7"]),
        },
    )
)
def test_any_question_gets_an_answer_or_a_reason(known: dict[str, Any]) -> None:
    try:
        planned = flexdp.plan(**known)
        text, document, card = str(planned), json.loads(planned.to_json()), planned._repr_html_()
    except InputError as refusal:
        assert 10 < len(str(refusal)) < 300 and "\n" not in str(refusal)
        return
    assert document["command"] == planned.command and planned.command in text
    assert ("data:image/svg+xml" in card) == bool(planned.curve())
    drops = [row["max_drop"] for row in planned.rows if row.get("max_drop") is not None]
    assert drops == sorted(drops, reverse=True)
    assert all(row.get("alpha") is None or 0 < row["alpha"] <= 1 for row in planned.rows)
    if planned.epsilon_is == "solved":
        assert planned.chosen is not None and planned.chosen["meets"]


# What is printed, and what it leads to


@pytest.mark.parametrize(
    "known",
    [
        {"epsilon": 1, "delta": "1e-6", "bounds": ("-20", "100"), "width": "2.5"},
        {"delta": "1e-6", "lose_per_bucket": 30, "relative": "0.1"},
        {"epsilon": 1, "delta": "1e-6", "releases": 3, "kind": "integer", "bounds": (0, 99), "buckets": 7},
        {"epsilon": 1, "delta": "1e-6", "bounds": (0, 1), "buckets": 3},
        {"epsilon": 1, "delta": "1e-6", "bounds": (0, 99), "width": 20, "max_buckets_per_unit": 3, "releases": 2},
        {"epsilon": 1, "delta": "1e-6", "bounds": ("2024-01-01", "2024-12-31"), "width": "1 month", "kind": "date"},
        {"epsilon": 1, "delta": "1e-6", "width": 7, "kind": "date"},
        {"epsilon": 1, "delta": "1e-6", "width": "1 week", "kind": "date"},
    ],
)
def test_the_command_does_what_was_planned(known: dict[str, Any], tmp_path: Path) -> None:
    cell = "2024-03-{:02}" if known.get("kind") == "date" else "{}"
    days = 28 if known.get("kind") == "date" else 100
    rows = "".join(f"{cell.format(i % days + (days == 28))},{i // 3}\n" for i in range(20_000))
    (tmp_path / "t.csv").write_text("x,u\n" + rows)
    planned = flexdp.plan(**known)
    words = shlex.split(planned.command.replace("FILE COLUMN", "t.csv x").replace("UNIT_COLUMN", "u"))
    out = run(*words[1:], "--json", cwd=tmp_path)
    assert out.returncode == 0, out.stderr
    document = json.loads(out.stdout)
    assert planned.chosen is not None and planned.epsilon is not None and buckets_of(planned).partition is not None
    assert document["buckets"].get("width") == bucket_parameters(buckets_of(planned).partition).get("width")
    assert document["mechanism"]["max_drop"] == planned.chosen["max_drop"]
    assert Fraction(document["privacy"]["epsilon"]) * planned.releases == planned.epsilon
    assert Fraction(document["privacy"]["delta"]) * planned.releases == planned.delta


def test_the_command_line_says_what_the_function_says(tmp_path: Path) -> None:
    out = run("plan", "-e", 1, "-d", "1e-6", "--bounds", "0:120", "--width", 5, "-n", 50_000, "--simulate", "normal")
    planned = flexdp.plan(epsilon=1, delta="1e-6", **AGES, simulate="normal")
    assert (out.returncode, out.stderr, out.stdout) == (0, "", str(planned) + "\n")
    as_json = json.loads(run("plan", "-e", 1, "-d", "1e-6", "--bounds", "0:120", "--width", 5, "--json").stdout)
    assert as_json["schema"] == "flexdp.plan/1"
    assert [row["max_drop"] for row in as_json["options"] if row["chosen"]] == [27]
    assert as_json["options"][0].keys() == json.loads(planned.to_json())["options"][0].keys()
    (tmp_path / "p.csv").write_text("age\n" + "41\n" * 200 + "95\n")
    sampled = run("plan", "-e", 1, "-d", "1e-6", "--width", 5, "--public-sample", tmp_path / "p.csv", "age")
    assert "the public sample" in sampled.stdout and "of 2 buckets" in sampled.stdout
    words = run("plan", "-e", 1, "-d", "1e-6", "--public-sample", tmp_path / "p.csv", "age", "--kind", "text")
    assert "of 2 buckets" in words.stdout
    unsaid = run("plan", "-e", 1, "-d", "1e-6", "-n", 5000, "--public-sample", tmp_path / "p.csv", "age")
    assert (unsaid.returncode, unsaid.stdout) == (2, "")
    assert unsaid.stderr == (
        "Error: --kind is missing: the public sample declares no types. Use --kind number for numbers, or --kind text "
        "for texts.\n"
    )
    refused = run("plan", "--lose-share", "0.1")
    assert refused.returncode == 2 and refused.stdout == ""
    assert refused.stderr == "Error: --lose-share is a share of the records. Give --records-about too.\n"


def test_planning_loads_neither_an_engine_nor_scipy() -> None:
    code = (
        "import sys; sys.argv = ['flexdp', 'plan', '-e', '1', '-d', '1e-6', '--bounds', '0:120', '--width', '5', '-n',"
        " '50000', '--simulate', 'normal']\n"
        "from flexdp.cli import cli\n"
        "cli.main(standalone_mode=False)\n"
        "print([m for m in ('duckdb', 'scipy', 'dp_accounting', 'rich', 'pandas', 'random') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = out.stdout.splitlines()[-1]
    assert "duckdb" not in loaded and "scipy" not in loaded and "dp_accounting" not in loaded and "rich" not in loaded


def test_epsilon_never_stands_without_its_odds() -> None:
    text = str(flexdp.plan(epsilon=1, delta="1e-6", max_buckets_per_unit=2))
    assert "50% sure that a given unit is in the data is at most 73.2% sure" in text
    assert "--unit UNIT_COLUMN --max-buckets-per-unit 2" in text
