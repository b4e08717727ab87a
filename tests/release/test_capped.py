"""Units that count with some of their values: the quantity is named, nothing is said of the column, and a report."""

from __future__ import annotations

import json
import math
import random
import re
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from _support.command import flexdp as run
from _support.private import private_units

import flexdp
from flexdp import InputError, Release
from flexdp._release.api import prepare
from flexdp._release.capped import SHARE, CapReport, cap_answer
from flexdp._release.claims import Touched
from flexdp.audit.documents import verify_document
from flexdp.sharp.count import TwoSums
from flexdp.statistics import Count

SPEND: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}
UNIT: dict[str, Any] = {"unit": "patient", "max_buckets_per_unit": 3}
RANGES = "each unit (patient) once in at most 3 ranges"
VALUES = "at most 3 different values of each unit (patient)"
HEAVY, LIGHT = 1000, 30_000


@cache
def visits() -> pl.DataFrame:
    """1000 patients with a hundred visits each of 5000–9000, and 30 000 with one of 100–300."""
    dice = np.random.default_rng(30)
    return pl.DataFrame(
        {
            "patient": np.concatenate([np.repeat(np.arange(HEAVY), 100), np.arange(HEAVY, HEAVY + LIGHT)]),
            "cost": np.concatenate([dice.integers(5000, 9001, 100 * HEAVY), dice.integers(100, 301, LIGHT)]),
        }
    )


@cache
def found() -> Release:
    return flexdp.release(visits(), "cost", width=50, bounds=(0, 10_000), **UNIT, **SPEND)


@cache
def raw() -> np.ndarray[Any, Any]:
    return visits()["cost"].to_numpy()


def numbers(text: str) -> list[float]:
    return [float(each.replace(" ", "")) for each in re.findall(r"[0-9][0-9 ]*(?:\.[0-9]+)?", text)]


# --- each figure of the finding, against the raw table ------------------------------------------------------------


def test_the_guaranteed_median_is_not_that_of_the_column() -> None:
    answer = found().median()
    low, high = answer.interval or (0, 0)
    assert high < 300 < 5000 < float(np.median(raw()))  # the quantity is another one
    assert answer.statement.startswith(f"Median cost, {RANGES}: about ")
    assert f"So counted, the exact median is guaranteed to lie between {low} and {high}." in answer.statement
    assert answer.population == RANGES


def test_the_guaranteed_sum_is_not_that_of_the_column() -> None:
    answer = found().sum()
    assert answer.interval is not None and answer.interval[1] < raw().sum() / 5
    assert answer.statement.startswith(f"Sum of cost, {RANGES}, limited to 0–10 000: about ")
    sure = "the exact sum of the values limited to 0–10 000 is guaranteed to lie between "
    assert f". So counted, {sure}" in answer.statement


def test_counts_are_not_said_to_be_near_those_of_the_column() -> None:
    answer = found().counts()
    exact = np.bincount(raw() // 50, minlength=200)
    released = {int(key // 50): count for key, count in answer.value.items()}
    worst = max(int(each) - released.get(place, 0) for place, each in enumerate(exact))
    assert worst > 5 * found().max_drop
    assert answer.statement.endswith(
        f", {RANGES}: each lower end is at most {found().max_drop} too low and never too high."
    )
    told = [line for line in found().certificate().promises if "too low" in line]
    assert told == [
        f"Counting {RANGES}, the lower end of each count is at most {found().max_drop} too low and never too high."
    ]


def test_buckets_that_hold_much_may_be_absent_and_nobody_says_otherwise() -> None:
    exact = np.bincount(raw() // 50, minlength=200)
    released = {int(key // 50) for key in found().histogram.keys}
    least = found().max_drop + 1
    missing = [place for place, each in enumerate(exact) if each >= 5 * least and place not in released]
    assert missing  # of what is present for certain, by counts of the column
    told = [line for line in found().certificate().promises if line.endswith("is present.")]
    assert told == [f"Counting {RANGES}, every bucket with at least {least} units (patient) is present."]


def test_the_share_that_was_left_out_is_one_of_what_was_counted() -> None:
    (told,) = [line for line in found().certificate().promises if line.endswith("was left out in total.")]
    share = float(told.partition("at most ")[2].partition("at most ")[2].partition("%")[0])
    lost = 1 - sum(found().histogram.counts) / len(raw())
    assert lost > 0.7 > share / 100
    assert told.startswith(f"Counting {RANGES}, at most ")
    assert "So counted, at most " in str(found().max()) and " of what was counted lies " in str(found().max())


def test_nothing_is_guaranteed_of_the_column_and_the_report_says_how_many_are_touched() -> None:
    _, capped, report = found().conditions
    assert capped == f"What counts is {RANGES}; nothing is guaranteed about the column itself."
    (answer,) = found().capped_units
    assert report == answer.statement
    touched, units, most = numbers(report.partition(" units")[0])[0], numbers(report)[1], found().caps[0].off
    assert abs(touched - HEAVY) <= 4 * most[0] and abs(units - HEAVY - LIGHT) <= 4 * most[1]
    assert report.endswith("; publishing both took 4% of ε.")
    assert " have cost in more than 3 ranges, and count in 3 of them. With 95% probability" in report


@pytest.mark.parametrize("form", ["html", "card", "picture", "json", "terminal"])
def test_every_form_names_the_quantity(form: str, tmp_path: Path) -> None:
    shown = {
        "html": lambda: found().to_html(),
        "card": lambda: found()._repr_html_(),
        "picture": lambda: found().plot().svg,
        "json": lambda: json.dumps(_answers_of_the_command(tmp_path)),
        "terminal": lambda: str(found().max()),
    }[form]()
    assert RANGES in shown
    for claim in ("guaranteed to lie", "is guaranteed to be"):
        for place in (each.start() for each in re.finditer(claim, shown)):
            assert "ounted, " in shown[max(0, place - 160) : place]


def _answers_of_the_command(tmp_path: Path) -> Any:
    visits().write_parquet(tmp_path / "visits.parquet")
    words = ["release", str(tmp_path / "visits.parquet"), "cost", "-e", "1", "-d", "1e-6", "--width", "50", "--json"]
    words += ["--unit", "patient"]
    text = run(*words, "--max-buckets-per-unit", "3").stdout
    document = json.loads(text)
    assert {each["population"] for each in document["answers"]} == {RANGES} and len(document["cap"]) == 1
    assert verify_document(text).holds
    plain = json.loads(run(*words, "--per-unit", "max").stdout)
    assert "cap" not in plain and plain["privacy"]["epsilon"] == "1"
    assert "cap" not in json.loads(run(*words, "--max-buckets-per-unit", "3", "--no-cap-report").stdout)
    return document


# --- two populations, never mixed ---------------------------------------------------------------------------------


def test_asked_answers_and_buckets_are_two_populations() -> None:
    made = flexdp.release(visits(), "cost", width=50, bounds=(0, 10_000), ask=["max", "median"], **UNIT, **SPEND)
    assert made.median().population == VALUES and made.quantile("0.9").population == RANGES
    assert str(made.median()).startswith(f"Median cost, {VALUES}, limited to 0–10 000: about ")
    assert made.conditions[1] == (
        f"What counts is {RANGES}, and in answers drawn separately {VALUES}; nothing is guaranteed about the column "
        "itself."
    )
    assert [report.drawn for report in made.caps] == [False, True]
    assert sum(report.epsilon for report in made.caps) == SHARE and made.privacy.epsilon == 1
    page = made.to_html()
    assert f"Median cost, {VALUES}" in page and f"99th percentile of cost, {RANGES}" in page


def with_maximum(release: Release, value: int) -> Release:
    """The same release, had another maximum been drawn."""
    assert release.asked is not None
    (found,) = release.asked.results.values()
    assert found.levels is not None
    answers = tuple(replace(each, value=value) if each.level == 1 else each for each in found.levels.answers)
    own = replace(found, levels=replace(found.levels, answers=answers))
    return replace(release, asked=replace(release.asked, results=dict.fromkeys(release.asked.results, own)))


def test_an_asked_answer_neither_cuts_buckets_nor_is_cut_by_them() -> None:
    options: dict[str, Any] = {"width": 50, "bounds": (0, 10_000), "ask": ["max", "median"], **SPEND}
    made = flexdp.release(visits(), "cost", **UNIT, **options)
    assert made._telling is not None and made._telling.known.reader_of_same is None
    assert made.median().interval is None and made.median().value == made._telling.result.at(Fraction(1, 2)).value
    alone = flexdp.release(visits(), "cost", **options)
    for drawn in (40, 9990):  # of records, buckets tell that it lies elsewhere, and it limits what they tell
        assert with_maximum(made, drawn).max().value == drawn
        read = replace(made, asked=None, caps=made.caps[:1])
        for level in ("0.2", "0.9", "0.999"):
            one, other = with_maximum(made, drawn).quantile(level), read.quantile(level)
            assert (one.value, one.interval, one.text) == (other.value, other.interval, other.text)
    assert alone._telling is not None and alone._telling.known.reader_of_same is not None
    assert with_maximum(alone, 40).max().value >= 8000  # the control


def test_one_range_of_each_unit_is_not_the_column_either() -> None:
    made = flexdp.release(visits(), "cost", width=50, unit="patient", max_buckets_per_unit=1, **SPEND)
    assert str(made.max()).startswith("Highest cost, each unit (patient) in one range: ")
    assert made.count().population == "" and str(made.count()).startswith("Number of units (patient): about ")
    assert "have cost in more than one range, and count in one of them." in made.conditions[2]


# --- the report: its law, its privacy, its budget -----------------------------------------------------------------


def tables(seed: int) -> list[tuple[int, int, str]]:
    dice = random.Random(seed)
    return [(dice.randrange(6), dice.randrange(9), dice.choice("ab")) for _ in range(dice.randrange(1, 30))]


def counted(rows: list[tuple[int, int, str]], most: int, **options: Any) -> tuple[int, int]:
    frame = pl.DataFrame(rows, schema={"u": pl.Int64, "x": pl.Int64, "g": pl.String}, orient="row")
    private = private_units(prepare(frame, "x", unit="u", max_buckets_per_unit=most, **options))
    keys = dict(zip(private.parts[0].tolist(), private.counts.tolist(), strict=True))
    return keys.get(1, 0), keys.get(0, 0)


@pytest.mark.parametrize("options", [{"width": 2}, {"exact": True}, {"width": 3, "by": "g"}])
def test_one_unit_with_all_its_rows_changes_one_of_two_numbers_by_one(options: dict[str, Any]) -> None:
    for seed, most in product(range(6), (1, 2)):
        rows = tables(seed)
        whole = counted(rows, most, **options)
        own: dict[int, set[Any]] = defaultdict(set)
        for unit, value, group in rows:
            spot = value // options.get("width", 1)
            own[unit].add((group, spot) if "by" in options else spot)
        touched = sum(len(spots) > most for spots in own.values())
        assert whole == (touched, len(own) - touched)
        for unit in own:
            rest = [row for row in rows if row[0] != unit]
            less = counted(rest, most, **options) if rest else (0, 0)
            assert sorted(abs(a - b) for a, b in zip(whole, less, strict=True)) == [0, 1]


def test_the_law_of_both_numbers_keeps_to_their_epsilon() -> None:
    """Every pair of neighbouring counts, every pair of outcomes: no ratio above e^ε, and one that reaches it."""
    outcomes = range(-6, 12)
    for epsilon in (Fraction(1, 25), Fraction(1)):
        law = TwoSums(epsilon=epsilon, cells=1).law
        worst = 0.0
        for counts in product(range(4), repeat=2):
            here = law(counts).listed(outcomes).masses
            for other in ((counts[0] + 1, counts[1]), (counts[0], counts[1] + 1)):
                there = law(other).listed(outcomes).masses
                worst = max(worst, *(abs(math.log(here[pair] / there[pair])) for pair in here))
        assert math.isclose(worst, float(epsilon), rel_tol=1e-12)
    both = TwoSums(epsilon=Fraction(1), cells=1).law
    here, there = (both(counts).listed(outcomes).masses for counts in ((0, 0), (1, 1)))
    ratio = here[0, 0] / there[0, 0]
    assert math.log(ratio) > 1.9  # control: a unit that counted on both sides would cost twice as much


def test_the_bounds_of_the_report_hold_and_are_tight() -> None:
    report = CapReport(drawn=False, epsilon=Fraction(1, 25), touched=0, others=0)
    law = {z: float(p) for z, p in _law(report.epsilon).items()}
    one, both = report.off
    fails = sum(p for z, p in law.items() if abs(z) > one)
    assert 2 * fails <= 0.05  # one of two noises beyond the bound
    sums = np.convolve(list(law.values()), list(law.values()))
    centre = len(sums) // 2
    quantile = next(b for b in range(centre) if sums[: centre - b].sum() + sums[centre + b + 1 :].sum() <= 0.05)
    assert both <= 4 * quantile and one <= 4 * quantile


def _law(epsilon: Fraction) -> dict[int, Fraction]:
    from flexdp.sharp.count import NoisyCount

    return dict(NoisyCount(epsilon=epsilon).law(0).listed(range(-1500, 1501)).masses)


def test_the_sentence_is_true_at_its_rate() -> None:
    """Of 300 reports about a table, at most 36 fail, of which 5% may: a chance below 1e-6 if they are right."""
    spec, wrong, halved = found().spec, 0, 0
    mechanism = TwoSums(epsilon=Fraction(1, 25), cells=1)
    from flexdp.noise.bits import Bits

    for _ in range(300):
        touched, others = mechanism.draw((HEAVY, LIGHT), Bits())
        report = CapReport(drawn=False, epsilon=Fraction(1, 25), touched=touched, others=others)
        answer = cap_answer(spec, report, Fraction(1))
        truth = (HEAVY, HEAVY + LIGHT)
        bounds = [claim for claim in answer.claims if claim.relation != "is about"]
        assert [claim.confidence for claim in bounds] == [Fraction(19, 20)] * 2
        assert [type(claim.quantity) for claim in bounds] == [Touched, Count]
        drawn = [(claim.lower, claim.upper) for claim in answer.claims if claim.relation == "is about"]
        assert drawn == [(max(0, touched),) * 2, (max(0, touched + others),) * 2]  # what is printed
        ends = [(claim.lower, claim.upper) for claim in bounds]
        wrong += any(not low <= exact <= high for exact, (low, high) in zip(truth, ends, strict=True))
        tight = [(low + (high - low) * 9 // 20, high - (high - low) * 9 // 20) for low, high in ends]
        halved += any(not low <= exact <= high for exact, (low, high) in zip(truth, tight, strict=True))
    assert wrong <= 36 < halved  # control: bounds of a tenth do not hold


@pytest.mark.parametrize(
    "options",
    [
        {"width": 50},
        {},
        {"ask": ["max", "mean"], "delta": 0},
        {"width": 50, "ask": "max"},
        {"width": 50, "certify": "0.1"},
        {"ask": []},
    ],
)
def test_the_rest_gets_exactly_what_the_report_leaves(options: dict[str, Any]) -> None:
    made = flexdp.release(visits(), "cost", **{**SPEND, **UNIT, **options})
    without = flexdp.release(visits(), "cost", **{**SPEND, **UNIT, **options}, cap_report=False)
    assert made.privacy.epsilon == without.privacy.epsilon == 1 and made.privacy.delta == without.privacy.delta
    assert sum(report.epsilon for report in made.caps) == SHARE and without.caps == () == without.capped_units
    for part in ("budget", "asked", "auto"):
        own, other = getattr(made, part), getattr(without, part)
        assert (own is None) == (other is None)
        if part == "asked" and own is not None:
            assert own.budget.epsilon == other.budget.epsilon * (1 - SHARE)
        if part == "auto" and own is not None:
            assert own.budget.whole == other.budget.whole * (1 - SHARE)
    if made.budget is not None and made.auto is None:
        assert made.budget.epsilon == without.budget.epsilon * (1 - SHARE)
    assert Release.from_json(made.to_json()) == made
    checks = verify_document(made.to_json())
    assert checks.holds, str(checks)
    proof = [line for line in made.certificate().proof if line.startswith("Units affected by the cap on their ")]
    assert len(proof) == len(made.caps)


def test_shares_of_automatic_buckets_add_up() -> None:
    made = flexdp.release(visits(), "cost", **UNIT, **SPEND)
    (chosen,) = [line for line in made.conditions if line.startswith("Buckets were chosen privately with ")]
    reports = [line for line in made.conditions if line.endswith("% of ε.") and line not in chosen]
    shares = [
        float(each) for line in (chosen, *reports) for each in re.findall(r"([0-9.]+)%(?: of ε| went| into)", line)
    ]
    assert abs(sum(shares) - 100) < 0.1


@pytest.mark.parametrize(
    "options", [{}, {"unit": "patient", "per_unit": "max"}, {"unit": "patient", "per_unit": "random"}]
)
def test_no_report_where_nothing_is_capped(options: dict[str, Any]) -> None:
    made = flexdp.release(visits(), "cost", width=50, **options, **SPEND)
    assert made.caps == () and made.budget is not None and made.budget.epsilon == 1


@pytest.mark.parametrize("separately", [False, True])
def test_several_columns(separately: bool) -> None:
    frame = visits().with_columns(other=pl.col("cost") * 2)
    columns = {"width": 500, "separately": separately}
    made = flexdp.release(frame, ["cost", "other"], **columns, **UNIT, **SPEND)
    if not separately:
        assert isinstance(made, Release) and "in more than 3 cells, and count in 3 of them" in made.conditions[2]
        return
    assert made.privacy.epsilon == 1 and [len(each.caps) for each in made.values()] == [1, 1]
    assert type(made).from_json(made.to_json()).to_json() == made.to_json()
    assert f"Counted in each column: {RANGES}; nothing is guaranteed about the columns themselves." in made.to_html()


def test_groups_are_named() -> None:
    frame = visits().with_columns(ward=pl.Series(["A", "B"] * 65_000))
    made = flexdp.release(frame, "cost", by="ward", width=500, **UNIT, **SPEND)
    assert "in more than 3 ranges across all groups, and count in 3 of them." in made.conditions[2]
    assert str(made.by_group()["A"].max()).startswith(f"Highest cost (ward A), {RANGES}: ")
    asked = flexdp.release(frame, "cost", by="ward", groups=["A", "B"], ask=["max"], epsilon=1, delta=0, **UNIT)
    assert "more than 3 different values of cost across all groups" in asked.conditions[2]
    assert Release.from_json(asked.to_json()) == asked


# --- documents ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        lambda cap: cap[0].update(epsilon="1/24"),
        lambda cap: cap[0].update(touched=0.5),
        lambda cap: cap[0].update(others=None),
        lambda cap: cap[0].update(off=[1, 2]),
        lambda cap: cap[0].update(of="values"),
        lambda cap: cap[0].update(of="records"),
        lambda cap: cap[0].update(more=1),
        lambda cap: cap[0].pop("touched"),
        lambda cap: cap.append(dict(cap[0])),
        lambda cap: cap.clear(),
    ],
)
def test_changed_reports_are_refused(change: Any) -> None:
    document = json.loads(found().to_json())
    change(document["cap"])
    text = json.dumps(document)
    with pytest.raises(InputError):
        Release.from_json(text)
    assert not verify_document(text).holds


def test_reports_that_no_release_has_are_refused() -> None:
    document = json.loads(found().to_json())
    without = {name: part for name, part in document.items() if name != "cap"}
    alone = json.loads(flexdp.release(visits(), "cost", width=50, **SPEND).to_json())
    for changed in (without, {**alone, "cap": document["cap"]}, {**document, "cap": document["cap"][0]}):
        with pytest.raises(InputError):
            Release.from_json(json.dumps(changed))


def test_the_schema_knows_the_report() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    path = Path(__file__).parents[2] / "src" / "flexdp" / "data" / "release.schema.json"
    schema = json.loads(path.read_text())
    for options in ({"width": 50}, {}, {"ask": "max", "delta": 0}):
        made = flexdp.release(visits(), "cost", **{**SPEND, **UNIT, **options})
        jsonschema.validate(json.loads(made.to_json()), schema)


def test_a_plan_leaves_room_for_the_report() -> None:
    known = {"epsilon": 1, "delta": "1e-6", "bounds": (0, 10_000), "width": 50, "records_about": 130_000}
    assert flexdp.plan(**known, max_buckets_per_unit=3).chosen["max_drop"] == found().max_drop
    without = flexdp.plan(**known, max_buckets_per_unit=3, cap_report=False)
    assert without.chosen["max_drop"] < found().max_drop and without.command.endswith(" --no-cap-report")
    assert flexdp.plan(**known, cap_report=False).command == flexdp.plan(**known).command


def test_the_query_shows_the_statement_of_the_report() -> None:
    text = flexdp.query(visits(), "cost", width=50, **UNIT)
    assert text.count("CASE WHEN n > 3 THEN 1 ELSE 0 END") == 1
    assert "CASE WHEN n > 3" not in flexdp.query(visits(), "cost", width=50, **UNIT, cap_report=False)
    assert flexdp.query(visits(), "cost", **UNIT).count("CASE WHEN n > 3") == 2
    assert flexdp.query(visits(), "cost", ask="max", exact=True, **UNIT).count("CASE WHEN n > 3") == 1


def test_a_boolean_with_both_values_of_each_unit_needs_no_report() -> None:
    table = pl.DataFrame({"patient": [*range(900)] * 2, "ill": [True, False] * 900})
    for most, reported in ((1, True), (2, False)):
        made = flexdp.release(table, "ill", unit="patient", max_buckets_per_unit=most, **SPEND)
        assert bool(made.caps) is reported and Release.from_json(made.to_json()) == made
        assert any("have more than" in line for line in made.conditions) is reported
