"""Every printed sentence is true alone: judged against the raw table, before any limiting.

Random tables and requests; what is said with certainty holds always, what is said with 95 % probability at its rate,
and bounds are tight. Each fault that is planted here was once in the product.
"""

from __future__ import annotations

import datetime as dt
import math
import os
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from flexdp import Release
from flexdp._release import answers, asked_facts, bucket_claims, estimates, moments, ranges, sentences
from flexdp._release.asked import Column
from flexdp._release.asked_promises import mean_promise
from flexdp._release.claims import Between, Claim, InBucket, Population
from flexdp.calculus.loss import quantile_hull
from flexdp.statistics import Mean
from truth.judging import judge
from truth.printed import numbers_in, unclaimed
from truth.raw import Raw
from truth.requests import Request
from truth.running import SALT, Case, Tally, judged, random_cases, released, upper_tail
from truth.tables import Table
from truth.tightness import likely_bounds, too_wide

DEEP = bool(os.environ.get("FLEXDP_DEEP"))
MANY, PRINTED = (10_000, 1_000) if DEEP else (50, 12)

BIMODAL = Table(
    "two values", "number", [10.0] * 2000 + [1e6] * 2000, ["north"] * 4000, list(range(4000)), [1] * 4000
)  # fmt: skip
BOUNDED = Request({"epsilon": 1, "delta": 1e-6, "width": 10, "bounds": (0, 200)})


def heavy_units() -> Table:
    """A few patients with a hundred visits each, all of them expensive; many with one, all of them cheap."""
    rng = np.random.default_rng(7)
    dear = [float(x) for x in rng.integers(5000, 9000, 10_000)]
    cheap = [float(x) for x in rng.integers(100, 300, 3000)]
    units = [unit for unit in range(100) for _ in range(100)] + list(range(100, 3100))
    return Table("heavy units", "number", dear + cheap, ["north"] * 13_000, units, [1] * 13_000)


CAPPED = Request(
    {"epsilon": 1, "delta": 1e-6, "width": 50, "bounds": (0, 10_000), "unit": "u", "max_buckets_per_unit": 3}
)


def wrong(case: Case) -> list[str]:
    """The certain claims of a release that are false, as the sentences that make them."""
    tally = Tally()
    tally.add(case)
    return [f"{statement} [{verdict.claim}; truth {verdict.truth}]" for _, statement, verdict in tally.false]


def astray(case: Case) -> list[str]:
    """The sentences of a release whose estimates are far from anything that there is."""
    tally = Tally()
    tally.add(case)
    return [statement for _, statement, _ in tally.astray]


def test_claims_of_random_releases_are_true() -> None:
    tally = judged(MANY, first=1_000_000)
    assert tally.releases > 0.8 * MANY
    assert not [f"{case}\n{statement}\n{verdict}" for case, statement, verdict in tally.false]
    assert tally.all_well(), (tally.too_often_missed(), tally.wide, tally.unread)
    assert len(tally.claims) >= 12 and sum(tally.claims.values()) > 10 * tally.releases


def test_every_printed_number_belongs_to_a_claim() -> None:
    cases = [case for case in random_cases(PRINTED, first=2_000_000) if case is not None]
    assert len(cases) > 0.8 * PRINTED
    for case in cases:
        found = unclaimed(case.release, case.request.parameters)
        assert not found, f"{case}: {found[:3]}"


# ---- what was false once: each test has the fault planted, and the harness must see it


def test_a_mean_of_limited_values_is_not_that_of_the_column(monkeypatch: pytest.MonkeyPatch) -> None:
    """2000 × 10 and 2000 × 1 000 000, limited to 0–200: the exact mean is 500 005, of the limited values 105."""
    case = released(BIMODAL, BOUNDED)
    mean = case.release.mean()
    assert "limited to 0–200" in str(mean) and 104 <= mean.interval[1] <= 130
    assert not wrong(case)
    assert case.release.iqr().text.endswith("or more") and case.release.quantile(0.75).text == "190 or more"
    kept = sentences.Words.population

    def of_the_column(self: Any, **options: Any) -> Population:
        return replace(kept(self, **options), limits=None)

    monkeypatch.setattr(sentences.Words, "population", of_the_column)
    assert any("mean" in statement for statement in wrong(case))


@pytest.mark.parametrize("buckets", [{"width": 10, "bounds": (0, 200)}, {"edges": [0, 50, 190, 200]}])
def test_closed_ends_of_bounds_are_seen(buckets: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    case = released(BIMODAL, Request({"epsilon": 1, "delta": 1e-6, **buckets}))
    assert not wrong(case)
    for room in (answers, estimates, ranges):  # each takes the one rule of flexdp.buckets.ends
        monkeypatch.setattr(room, "is_open", lambda *_, above: False)  # noqa: ARG005
    found = wrong(case)
    for word in ("Highest", "75th percentile", "Interquartile range"):
        assert any(statement.startswith(word) for statement in found), word


def test_what_is_said_of_capped_units_is_not_said_of_the_column() -> None:
    """The exact median of the column is above 6000, and counts of its records are off by thousands."""
    case = released(heavy_units(), CAPPED)
    assert not wrong(case)
    for answer in (case.release.median(), case.release.max(), case.release.counts(), case.release.mode()):
        assert "each unit (u) once in at most 3 ranges" in str(answer)
    raw = Raw(case.table, case.request, case.release, SALT)
    claims = [claim for answer in case.release.capped_units for claim in answer.claims if claim.relation != "is about"]
    verdicts = [judge(claim, raw) for claim in claims]
    assert verdicts and all(verdict is not None and verdict.truth[0] > 0 for verdict in verdicts)
    plain = replace(case, request=Request({k: v for k, v in CAPPED.parameters.items() if "unit" not in k}))
    found = wrong(plain)  # judged as if every record counted
    said = ("Highest v", "Counts", "Median", " is present.", " too low", "left out in total")
    assert not [words for words in said if not any(words in statement for statement in found)]


def _half_as_many(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = bucket_claims.claims_of

    def claims(words: Any, reading: Any) -> tuple[Claim, ...]:
        found = kept(words, reading)
        return tuple(replace(each, upper=each.lower) if isinstance(each.quantity, InBucket) else each for each in found)

    monkeypatch.setattr(sentences, "claims_of", claims)


def _nothing_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = quantile_hull
    monkeypatch.setattr(answers, "quantile_hull", lambda *given, **more: kept(*given, **{**more, "drop": 0}))


def _narrow_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = moments._mean
    monkeypatch.setattr(moments, "_mean", lambda buckets, _, paid, *, above: kept(buckets, 0, paid, above=not above))


FAULTS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "counts that are said to have lost nothing": _half_as_many,
    "quantiles as if nothing were hidden": _nothing_hidden,
    "means with their ends exchanged": _narrow_mean,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_caught(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    values = [round(float(x), 2) for x in rng.normal(100, 1, 2500)]
    table = Table("narrow", "number", values, ["north"] * 2500, list(range(2500)), [1] * 2500)
    request = Request({"epsilon": 0.5, "delta": 1e-6, "width": 0.05, "bounds": (95, 105)})
    cases = [released(table, request) for _ in range(3)]
    assert not any(wrong(case) for case in cases)
    FAULTS[fault](monkeypatch)
    assert any(wrong(case) for case in cases)


def test_points_in_buckets_without_an_end_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The 99th percentile of a group was 'about 1 093 000', beyond its last edge, where the highest was 186 823."""
    table = Table("costs", "number", _costs(3000), ["north"] * 3000, list(range(3000)), [1] * 3000)
    case = released(table, Request({"epsilon": 1, "delta": 1e-6, "by": "g", "groups": ["north"]}))
    assert case.release.quantile("0.99").text.endswith(" or more") and not astray(case)
    monkeypatch.setattr(answers, "is_open", lambda *_, above: False)  # noqa: ARG005
    assert any(statement.startswith("99th percentile") for statement in astray(case))


def with_maximum(case: Case, value: Any) -> Case:
    """The same release, had another maximum been drawn."""
    asked = case.release.asked
    assert asked is not None
    ((group, result),) = asked.results.items()
    assert result.levels is not None
    units = result.levels.scale.exactly(Fraction(value))
    levels = tuple(replace(each, value=units) if each.level == 1 else each for each in result.levels.answers)
    drawn = replace(result, levels=replace(result.levels, answers=levels))
    return replace(case, release=replace(case.release, asked=replace(asked, results={group: drawn})))


def test_draws_that_run_away_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A maximum was drawn at 10^15: reconciled it is unknown, as it is drawn it is astray."""
    table = Table("costs", "number", _costs(3000), ["north"] * 3000, list(range(3000)), [1] * 3000)
    case = released(table, Request({"epsilon": 1, "delta": 0, "ask": ["max", "median", "mean"]}))
    far = with_maximum(case, 10**15)
    assert far.release.max().text == "unknown" and not astray(case) and not astray(far)
    monkeypatch.setattr(asked_facts, "reconcile", lambda facts, **_: tuple(facts))
    assert any(statement.startswith("Highest") for statement in astray(with_maximum(case, 10**15)))


def test_a_limit_at_the_public_end_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every record is on the last day: with 95 % probability the latest was said to be after it."""
    table = Table("last day", "date", [dt.date.max] * 2000, ["north"] * 2000, list(range(2000)), [1] * 2000)
    request = Request({"epsilon": 1, "delta": 0, "ask": ["max", "median"]})
    cases = [with_maximum(released(table, request), 10**9) for _ in range(12)]
    plain, faulty = Tally(), Tally()
    for case in cases:
        plain.add(case)
    assert not plain.missed["Max"]
    monkeypatch.setattr(Column, "public", (None, None))
    for case in cases:
        faulty.add(with_maximum(case, 10**9))
    assert faulty.missed["Max"] == 12 and any(told.startswith("Max") for told in faulty.too_often_missed())


def test_a_release_that_is_not_read_back_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    case = released(BIMODAL, BOUNDED)
    plain, faulty = Tally(), Tally()
    plain.add(case)
    kept = Release.from_json
    monkeypatch.setattr(Release, "from_json", lambda text: replace(kept(text), records_at_most=7))
    faulty.add(case)
    assert plain.all_well() and faulty.unread and not faulty.all_well()


def test_a_number_without_a_claim_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    case = released(BIMODAL, BOUNDED)
    assert not unclaimed(case.release, case.request.parameters)
    kept = sentences.tally_text
    monkeypatch.setattr(sentences, "tally_text", lambda tally: kept(tally).replace("about ", "about 77"))
    assert unclaimed(case.release, case.request.parameters)


def test_numbers_are_found_as_people_write_them() -> None:
    text = "99th percentile: about 12\u202f345.5 (−3 to 1e+39), 73.2% of 2/39, after 2024-03-01 12:30"
    assert [value for _, value in numbers_in(text)] == [
        99, "2024-03-01 12:30", Fraction("12345.5"), -3, Fraction(10) ** 39, Fraction("0.732"), Fraction(2, 39),
    ]  # fmt: skip


# ---- bounds are tight


def _costs(n: int) -> list[float]:
    """The values at which a lognormal law has so many records, in order."""
    return [math.exp(NormalDist(5, 1.3).inv_cdf((i + 0.5) / n)) for i in range(n)]


@pytest.mark.parametrize("bounds", [(0, 200), (-1000, 1000)])
def test_certain_bounds_are_as_narrow_as_the_counts_allow(bounds: tuple[int, int]) -> None:
    rng = np.random.default_rng(5)
    values = [round(float(x), 1) for x in rng.normal(60, 25, 3000)]
    table = Table("normal", "number", values, ["north"] * 3000, list(range(3000)), [1] * 3000)
    case = released(table, Request({"epsilon": 1, "delta": 1e-6, "width": 10, "bounds": bounds}))
    judged_ones = []
    for answer in (
        case.release.count(),
        case.release.mean(),
        case.release.sum(),
        case.release.median(),
        case.release.quantile(0.9),
    ):
        for claim in answer.claims:
            wide = too_wide(claim, case) if claim.is_certain else None
            assert wide is not True, str(answer)
            judged_ones += [claim] if wide is False else []
    assert len(judged_ones) >= 4
    mean = next(claim for claim in case.release.mean().claims if claim.is_certain and isinstance(claim.quantity, Mean))
    assert too_wide(replace(mean, lower=mean.lower - 3 * (mean.upper - mean.lower)), case)  # control


# No value stands twice where a tail is asked: of records that share one, or end at a round number, none lie beyond it.
TIGHT: dict[str, tuple[str, list[Any], dict[str, Any], float]] = {
    "a share": ("integer", [0, 1, 1, 0, 0, 0, 1] * 100, {"ask": ["mean", "sum"], "bounds": (0, 1)}, 1e-4),
    "ages": ("integer", [18 + i % 70 for i in range(2000)], {"ask": ["mean", "count"], "bounds": (0, 120)}, 0.01),
    "costs": ("number", _costs(2000), {"ask": ["mean", "sum", "q0.9", "max"]}, 0.01),
    # Values a cent apart, and sixteen ranks above the 90th percentile a gap of four decades, which draws the answer.
    "a gap": (
        "number",
        [99_990 + i / 100 for i in range(1816)] + [10**9 + i for i in range(184)],
        {"ask": ["q0.9"]},
        1,
    ),
}
# The bound of an inner quantile holds wherever the other records lie: it is near the errors of "a gap", and as much
# wider than those of smooth data as the answer there is better.
PARTS = {("costs", Between): 16, ("ages", Between): 16}


@cache
def many_releases(law: str) -> list[Case]:
    kind, values, request, _ = TIGHT[law]
    n = len(values)
    table = Table(law, kind, values, ["north"] * n, list(range(n)), [1] * n)
    return [released(table, Request({"epsilon": 1, "delta": 0, **request})) for _ in range(330)]


@pytest.mark.parametrize("law", TIGHT if DEEP else ("a share", "costs", "a gap"))
def test_likely_bounds_are_near_the_errors_seen(law: str) -> None:
    """A bound that holds with 95 % probability is at most 4 times the 95th percentile of the errors.

    Were it wider, fewer than 5 % of the errors would be larger than a quarter of it; with 330 releases, none being
    larger has a probability of 5e-8.
    """
    seen = likely_bounds(many_releases(law), TIGHT[law][-1])
    assert seen
    for (name, quantity), one in seen.items():
        assert upper_tail(len(one.errors), Fraction(1, 20), one.missed()) > 1e-7, name
        part = PARTS.get((law, quantity), 4)
        assert one.needed(part) or len(one.errors) < 320, name
        assert not one.needed(Fraction(part, 40)), f"control: were {name} 40 times wider, no error would come near"


def test_half_a_step_of_integers_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A share of 0.428 was 'off by at most 0.501', though integers in steps of 1 are not rounded."""
    kept = mean_promise

    def rounded(asked: Any, averaged: Any) -> Any:
        promise = kept(asked, averaged)
        assert promise is not None and promise.mean is not None
        return replace(promise, mean=promise.mean + Fraction(1, 2), total=promise.total + averaged.records / 2)

    monkeypatch.setattr(asked_facts, "mean_promise", rounded)
    again = [replace(case, release=Release.from_json(case.release.to_json())) for case in many_releases("a share")]
    seen = likely_bounds(again, TIGHT["a share"][-1])
    assert {name for (name, _), one in seen.items() if not one.needed(4)} == {"mean", "sum"}
