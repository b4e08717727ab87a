"""Answers that are asked for: values, promises, documents, groups, units, bad input."""

from __future__ import annotations

import copy
import datetime as dt
import json
import random
import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from _support.command import flexdp as command
from _support.markup import read_html
from hypothesis import given, settings
from hypothesis import strategies as st

import flexdp
from flexdp import InputError, Release
from flexdp._release import asked_checks
from flexdp._release.asked import Asked, Column, answer
from flexdp._release.asked_promises import RankPromise, rank_promises
from flexdp._release.asking import AskedBudget, Wanted
from flexdp.mechanisms.program import run, spent
from flexdp.noise import DropNoise
from flexdp.noise.bits import Bits
from flexdp.sharp.answers import ask
from flexdp.sharp.column import Column as Values
from flexdp.sharp.goal import Goal
from flexdp.sharp.scale import INTEGERS, NUMBERS
from flexdp.statistics import IQR, Max, Mode, Quantile

ROWS = 6000
TABLE = pl.DataFrame(
    {
        "cost": [round(1.003 ** (i * 7919 % ROWS), 2) for i in range(ROWS)],
        "visits": [i * 7919 % 400 for i in range(ROWS)],
        "day": [dt.date(2024, 1, 1) + dt.timedelta(days=i % 366) for i in range(ROWS)],
        "seen": [dt.datetime(2024, 3, 1) + dt.timedelta(minutes=7 * (i % 900)) for i in range(ROWS)],
        "ward": ["A", "B", "B"] * (ROWS // 3),
        "pid": [i // 2 for i in range(ROWS)],
    }
)
PURE: dict[str, Any] = {"epsilon": 1, "delta": 0}


def seeded(seed: int) -> Callable[[], Bits]:
    """Bits that are chosen: two sources with one seed give the same."""
    return lambda: Bits(random.Random(seed).randbytes)


SHAPES: dict[str, tuple[str, dict[str, Any]]] = {
    "max": ("cost", {"ask": ["max"]}),
    "five": ("cost", {"ask": ["min", "q0.01", "median", "q0.99", "max"]}),
    "inner": ("visits", {"ask": ["q0.3", "median", "iqr"]}),
    "mean": ("cost", {"ask": ["mean", "sum", "count"]}),
    "bounded mean": ("visits", {"ask": ["mean", "max"], "bounds": (0, 300)}),
    "only a bounded mean": ("visits", {"ask": "mean", "bounds": (0, 300)}),
    "dates": ("day", {"ask": ["max", "median", "range"]}),
    "datetimes": ("seen", {"ask": ["q0.1", "q0.95"]}),
    "groups": ("cost", {"ask": ["median", "max"], "by": "ward", "groups": ["A", "B", "C"]}),
    "listed groups": ("cost", {"ask": ["median", "max"], "by": "ward", "delta": 1e-6}),
    "listed groups, counted": ("visits", {"ask": ["count", "mean"], "by": ["ward", "day"], "delta": "1e-3"}),
    "listed groups of units": (
        "cost", {"ask": ["q0.9"], "by": "ward", "delta": 1e-6, "unit": "pid", "max_buckets_per_unit": 2}
    ),
    "no group listed": ("cost", {"ask": ["max"], "by": "pid", "delta": 1e-12}),
    "buckets list groups": ("cost", {"ask": ["max", "mean"], "by": "ward", "width": 100, "delta": 1e-6}),
    "one value": ("cost", {"ask": ["median"], "unit": "pid", "per_unit": "max"}),
    "two records": ("visits", {"ask": ["median", "count"], "unit": "pid", "max_buckets_per_unit": 2}),
    "too few": ("cost", {"ask": ["max", "mean"], "by": "ward", "groups": ["none"]}),
    "buckets": ("cost", {"ask": ["max"], "width": 100, "delta": 1e-6, "split": [3, 1]}),
    "buckets and groups": (
        "cost", {"ask": ["median", "mean"], "width": 100, "delta": 1e-6, "by": "ward", "groups": ["A", "B"]}
    ),
    "automatic buckets": ("cost", {"ask": ["max", "min"], "delta": 1e-6}),
    "automatic buckets of units": (
        "visits", {"ask": ["max", "mean"], "delta": 1e-6, "unit": "pid", "max_buckets_per_unit": 2, "certify": 0.1}
    ),
    "too few for automatic buckets": ("cost", {"ask": ["max", "median"], "delta": 1e-6, "where": "cost < 6"}),
}  # fmt: skip


def released(shape: str) -> Release:
    column, options = SHAPES[shape]
    return flexdp.release(TABLE, column, **{**PURE, **options})


@pytest.mark.parametrize("seed", range(3))
def test_values_are_those_of_the_program_in_memory(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked_checks, "Bits", seeded(seed))
    values = TABLE["visits"].to_numpy()
    found = flexdp.release(values, **PURE, ask=["max", "q0.9", "min"])
    levels = [Fraction(0), Fraction(9, 10), Fraction(1)]
    expected = run(ask(levels, Fraction(1), INTEGERS), Values.from_values(values), seeded(seed)()).value
    assert [found.min().value, found.quantile("0.9").value, found.max().value] == [a.value for a in expected.answers]
    assert found.records_about.value == expected.records_about
    # From an engine that keeps the table, with the same bits: the same.
    assert flexdp.release(TABLE, "visits", **PURE, ask=["max", "q0.9", "min"]).asked == found.asked


@pytest.mark.parametrize("shape", SHAPES)
def test_documents_there_and_back(shape: str) -> None:
    found = released(shape)
    again = Release.from_json(found.to_json())
    assert again == found and again.to_json() == found.to_json()
    assert [str(a) for a in again.answers()] == [str(a) for a in found.answers()]
    assert again.privacy == found.privacy and again.privacy.epsilon == 1
    assert again.privacy.delta == Fraction(str(SHAPES[shape][1].get("delta", 0)))


@pytest.mark.parametrize("shape", SHAPES)
def test_the_document_fits_the_schema(shape: str) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(
        (Path(__file__).parent.parent.parent / "src" / "flexdp" / "data" / "release.schema.json").read_text()
    )
    jsonschema.validate(json.loads(released(shape).to_json()), schema)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_account_adds_up(shape: str) -> None:
    asked = released(shape).asked
    assert asked is not None
    for result in asked.results.values():
        cost = spent(step.cost for step in asked.steps(result))
        assert cost <= asked.budget.of_each and asked.budget.of_each * asked.budget.most == asked.budget.epsilon
        deltas = [step.cost.delta for step in asked.steps(result)]
        assert (deltas[0] > 0) == (asked.budget.listing is not None) and not any(deltas[1:])
        if not any(part is not None and part.too_few for part in (result.levels, result.mean)):
            assert cost == asked.budget.of_each


@pytest.mark.parametrize("shape", SHAPES)
def test_pages_cards_frames_and_certificates_tell_all_answers(shape: str, tmp_path: Path) -> None:
    found = released(shape)
    page, card = found.to_html(), found._repr_html_()
    said = [re.sub(r"\s+", " ", " ".join(read_html(html).text)) for html in (page, card)]
    for answer_ in found.answers():
        assert all(answer_.statement in text for text in said)
    columns = found.columns_of_answers()
    assert columns["statistic"] == list(found.asked.wanted.words) * len(found.asked.results)
    assert columns["statement"] == [answer_.statement for answer_ in found.answers()]
    if found.budget is None:
        assert found.to_frame("polars").height == len(found.answers())
    certificate = found.certificate()
    assert any("together they spend ε = " in line for line in certificate.proof) or not found.asked.results
    listed = any("List of groups: " in line for line in certificate.proof)
    assert listed == (found.asked.budget.listing is not None) == any("Listed: " in text for text in said)
    assert (certificate.evidence is None) == (found.budget is None)
    place = tmp_path / "r.json"
    place.write_text(found.to_json())
    assert command("report", place).stdout == page


def test_evidence_is_that_of_every_table() -> None:
    proof = "\n".join(released("five").certificate().proof)
    assert "Proof for ε = 0.32" in proof and "exponential mechanism, ε = 0.32" in proof and "ladder up" in proof


# Promises: each statement fails with probability at most 1/20; 29 of 200 failures have a probability below 1e-6.
RUNS, ALLOWED = 200, 28


@pytest.mark.parametrize(
    ("words", "epsilon", "size"),
    [(("max",), 1, 400), (("min", "q0.02", "median", "q0.97", "max"), 2, 3000), (("q0.2", "median", "q0.9"), 1, 2000)],
)
def test_promised_ranks_hold(words: tuple[str, ...], epsilon: int, size: int) -> None:
    rng = np.random.default_rng(size)
    values = np.sort(np.round(rng.lognormal(4, 1, size), 2))
    ranks, column = Values.from_values(values.copy()), Column(scale=NUMBERS)
    wanted, budget = Wanted(words), AskedBudget(Fraction(epsilon))
    failed = {"between": 0, "beyond": 0, "reaches": 0}
    seen = dict.fromkeys(failed, 0)
    for seed in range(RUNS):
        result = answer(wanted, budget.parts(wanted), column, ranks, seeded(seed)())
        asked = Asked(wanted=wanted, budget=budget, column=column, results={(): result})
        wrong = dict.fromkeys(failed, False)
        for level, promise in rank_promises(asked, result).items():
            told = result.at(level)
            assert told is not None
            for name, broken in _broken(values, level, float(NUMBERS.value(told.value)), promise).items():
                seen[name] += 1
                wrong[name] |= broken
        for name, broken in wrong.items():
            failed[name] += broken
    assert all(count <= ALLOWED for count in failed.values()), failed
    assert sum(seen.values()) >= RUNS  # they say something


def _broken(values: np.ndarray, level: Fraction, told: float, promise: RankPromise) -> dict[str, bool]:
    """Which of an answer's promises are false of the data."""
    exact = values[max(1, -(-level.numerator * len(values) // level.denominator)) - 1]
    above = level > Fraction(1, 2)
    out = {}
    if promise.between is not None:
        low, high = min(exact, told), max(exact, told)
        out["between"] = int(((values > low) & (values < high)).sum()) > promise.between
    if promise.beyond is not None:
        limit = told
        out["beyond"] = int((values > limit).sum() if above else (values < limit).sum()) > promise.beyond
    if promise.reaches is not None:
        reach = float(NUMBERS.value(promise.reaches))
        out["reaches"] = not (values[-1] > reach if above else values[0] < reach)
    return out


def test_the_check_of_promises_can_fail() -> None:
    values = np.arange(100.0)
    false = RankPromise(between=3, beyond=3, reaches=NUMBERS.units(99.0))
    assert _broken(values, Fraction(9, 10), 80.0, false) == {"between": True, "beyond": True, "reaches": True}
    true = RankPromise(between=9, beyond=19, reaches=NUMBERS.units(98.0))
    assert _broken(values, Fraction(9, 10), 80.0, true) == {"between": False, "beyond": False, "reaches": False}


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.sampled_from(["min", "q0.01", "q0.2", "median", "q0.75", "q0.96", "q0.99", "max"]), min_size=2),
    st.integers(0, 2**32),
    st.sampled_from([0, 1, 3, 200]),
)
def test_answers_are_ordered(words: list[str], seed: int, spread: int) -> None:
    values = np.arange(600) * spread // 7 - 40
    asked = Wanted(tuple(dict.fromkeys(words)))
    result = answer(asked, {"levels": Fraction(1)}, Column(scale=INTEGERS), Values.from_values(values), seeded(seed)())
    assert result.levels is not None
    found = [each.value for each in result.levels.answers]
    assert found == sorted(found) and len(found) == len(asked.levels)


def test_where_most_records_are_tied_at_the_anchor_tails_do_not_wander_off() -> None:
    values = np.concatenate([np.zeros(9700), np.linspace(1, 500, 300)])
    found = flexdp.release(values, epsilon=2, delta=0, ask=["median", "q0.95"])
    assert found.median().value == 0 == found.quantile("0.95").value


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("words", [["median", "q0.03", "q0.97"], ["q0.03", "q0.97", "max", "min"], ["max"], ["q0.97"]])
def test_an_anchor_stays_within_bounds_of_many_digits(words: list[str], side: int) -> None:
    """To fifteen digits this bound would be beyond itself, and a tail beyond it would have no candidates."""
    bound = 0.12345678901234568 * side
    ends = (-1.0, bound) if side > 0 else (bound, 1.0)
    found = flexdp.release([bound] * 4000, kind="number", epsilon=2, delta=0, ask=words, bounds=ends)
    assert all(ends[0] <= each.value <= ends[1] for each in found.answers())
    assert Release.from_json(found.to_json()) == found


@pytest.mark.parametrize("side", [1, -1])
def test_a_goal_within_the_records_changes_by_one_record(side: int) -> None:
    """The loss of every candidate changes by at most M = 1, also where fewer records lie beyond than are wanted."""

    def loss(values: list[int], wanted: int, t: int) -> int:
        goal = Goal.beyond(wanted, side)
        below, upto = sum(v < t for v in values), sum(v <= t for v in values)
        return goal.loss(below, upto, goal.target(len(values)))

    for values in ([], [3], [1, 1], [1, 3, 3], [2, 2, 2, 4], [1, 2, 3, 4, 5]):
        for added in range(7):
            for wanted in range(8):
                for t in range(7):
                    change = loss([*values, added], wanted, t) - loss(values, wanted, t)
                    assert abs(change) <= Goal.beyond(wanted, side).sensitivity == 1


def test_sentences() -> None:
    found = released("five")
    assert str(found.max()).startswith("Highest cost: about ")
    assert "With 95% probability at most " in str(found.max()) and " records are above " in str(found.max())
    assert str(released("inner").median()).endswith(
        " and the exact median, if values near all asked levels are below 1000 in magnitude."
    )
    assert str(found.records_about).startswith("Number of records: about ")
    assert str(found.records_about).endswith(". With 95% probability this is off by at most 75.")
    assert found.range().value == pytest.approx(found.max().value - found.min().value)
    units = released("one value")
    assert "units (pid)" in str(units.records_about)
    assert str(released("dates").max()).startswith("Latest day: about 202")
    assert " are after " in str(released("dates").max())


def test_what_was_not_asked_is_read_off_buckets_or_refused() -> None:
    alone, both = released("max"), released("buckets")
    for word in ("median", "mean", "min", "iqr", "range", "count", "sum", "q0.99"):
        with pytest.raises(InputError) as refused:
            _ = alone.quantile("0.99") if word == "q0.99" else getattr(alone, word)()
        assert str(refused.value) == (
            "release has no buckets and answers only what was asked for (max). "
            f"Ask for it with ask=['{word}'], or give delta to release buckets."
        )
    assert both.mean().promise is None and both.mean().text.startswith("about ")
    assert both.median().accuracy is not None and both.max().promise is not None
    assert both.budget is not None and both.budget.epsilon == Fraction(3, 4)
    for query in ("mode", "support", "counts", "std"):
        with pytest.raises(InputError) as refused:
            getattr(alone, query)()
        assert str(refused.value) == (
            "release has no buckets and answers only what was asked for (max). Give delta to release buckets."
        )
    few = flexdp.release([], kind="number", epsilon=1, delta="1e-6")  # no automatic buckets, although there is a delta
    for query, asked in (("count", "Ask for it with ask=['count'], or give width"), ("std", "Give width")):
        with pytest.raises(InputError, match=rf"\. {re.escape(asked)} to release buckets\.$"):
            getattr(few, query)()
    with pytest.raises(InputError, match=r"delta must be in .*\. Only ask works with delta=0\.$"):
        flexdp.release([1.5] * 99, epsilon=1, delta=0, width=1)
    with pytest.raises(InputError, match="by_group"):
        released("groups").max()
    with pytest.raises(InputError, match="not asked for"):
        _ = flexdp.release([1.5] * 99, epsilon=1, delta=1e-6, width=1).records_about


def test_groups_are_columns_of_their_own() -> None:
    found = released("groups").by_group()
    assert list(found) == ["A", "B", "C"]
    assert abs(found["A"].records_about.value - ROWS // 3) < 1000 and found["C"].records_about.value < 1000
    assert str(found["B"].max()).startswith("Highest cost (ward B): about ")
    both = released("buckets and groups")
    assert both.max().accuracy is not None and both.by_group()["A"].median().promise is not None
    assert both.by_group().median()["B"].promise is not None


def test_groups_that_are_not_known_are_listed_first() -> None:
    found = released("listed groups")
    assert found.groups == ["A", "B"] and found.privacy.delta == Fraction("1e-6")
    assert found.asked.parts == {"levels": Fraction(3, 4)} and found.asked.count_epsilon is None
    noise = DropNoise(Fraction(1, 4), "1e-6")
    for name, exact in (("A", ROWS // 3), ("B", ROWS * 2 // 3)):
        seen, result = found.by_group()[name].records_about, found.asked.results[name,]
        low, high = seen.interval
        assert low <= exact <= high == low + noise.max_drop and seen.value == low + round(noise.mean_drop())
        assert result.levels.records_about == result.listed == low  # no step of its own
        assert " (certainly " in str(seen)
    nothing = released("no group listed")
    assert nothing.groups == [] and not nothing.survived and nothing.answers() == []
    assert "None is listed." in nothing.conditions[1]
    units = released("listed groups of units").asked.budget
    assert units.listing.epsilon == Fraction(1, 8) * Fraction(24, 25) and units.listing.noise.delta < Fraction(
        "0.48e-6"
    )
    both = released("buckets list groups")
    assert both.asked.budget.listing is None and list(both.asked.results) == [("A",), ("B",)] == [
        (group,) for group in both.groups
    ]
    assert both.budget.delta == Fraction("1e-6") and both.asked.parts == {
        "levels": Fraction(1, 4),
        "mean": Fraction(1, 4),
    }


def test_buckets_that_list_no_group() -> None:
    found = flexdp.release(TABLE, "cost", by="pid", epsilon=1, delta=1e-6, width=100, ask="max")
    assert not found.survived and found.groups == [] and found.answers() == []
    assert Release.from_json(found.to_json()) == found and found.to_html()


def test_a_group_counts_readable_values_only() -> None:
    table = pl.DataFrame({"x": [1.5] * 900 + [None] * 900 + [float("nan")] * 900, "g": ["a"] * 900 + ["b"] * 1800})
    assert flexdp.release(table, "x", by="g", epsilon=2, delta=1e-6, ask="median").groups == ["a"]


def test_too_few_is_published(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked_checks, "Bits", seeded(1))
    found = flexdp.release([3.5] * 20, kind="number", epsilon=1, delta=0, ask=["max"])
    about = found.records_about.value
    assert about < 100 and not found.survived and found.max().value is None and found.max().text == "too few records"
    assert f"Too few for the highest value: about {about} record" in str(found.max())
    assert "ε = 1 needs about 100." in str(found.max())
    nothing = flexdp.release([], kind="number", epsilon=1, delta=0, ask=["max"])
    assert Release.from_json(nothing.to_json()) == nothing


BAD: list[tuple[dict[str, Any], str]] = [
    ({"ask": []}, "delta must be in"),  # buckets alone
    ({"ask": ["maxx"]}, "ask: invalid statistic 'maxx'. Did you mean max?"),
    ({"ask": ["avg"]}, "ask: invalid statistic 'avg'. Did you mean mean?"),
    ({"ask": ["skewness"]}, "Choose from max, min, median, q0.99, range, iqr, count, sum, mean.$"),
    ({"ask": ["q1.5"]}, r"ask: invalid statistic 'q1.5'"),
    ({"ask": ["q-0.1"]}, r"ask: invalid statistic 'q-0.1'"),
    ({"ask": ["p-1"]}, "ask: invalid statistic 'p-1'"),
    ({"ask": ["q2"]}, "ask: invalid statistic 'q2'"),
    ({"ask": ["mean"], "epsilon": "0.000001"}, "epsilon is too small for these answers, which need at least 0.00"),
    ({"ask": ["max"], "epsilon": "0.00001", "delta": 1e-6, "by": "ward"}, "epsilon"),
    ({"ask": ["p101"]}, "A percentile is from p0 to p100"),
    ({"ask": ["top:10"]}, "ask: top:10 cannot be asked for directly. Release buckets, from which"),
    ({"ask": [Mode()]}, "ask must be the name of a statistic"),
    ({"ask": 7}, "ask must be a list of statistics"),
    ({"ask": ["max"], "delta": 1e-6, "split": [1]}, "split must be two shares with ask"),
    ({"ask": ["max"], "width": 5}, "delta must be positive with buckets"),
    ({"ask": ["max"], "split": [1, 1]}, "split needs buckets in addition to ask"),
    ({"ask": ["max"], "certify": 0.1}, "certify needs buckets in addition to ask"),
    ({"ask": ["max"], "width": 5, "delta": 1e-6, "split": [1]}, "split must be two shares"),
    ({"ask": ["max"], "epsilon": "0.000001"}, "epsilon is too small for these answers, which need at least 0.00"),
    ({"ask": ["max"], "epsilon": 0}, "epsilon must be"),
    ({"ask": ["max"], "by": "ward"}, "delta must be positive with by and no groups.*Declare them with groups="),
    ({"ask": ["max"], "by": "ward", "delta": 1e-6, "split": [1, 1]}, "split needs buckets in addition to ask"),
    ({"ask": ["max"], "by": "ward", "groups": ["A"], "delta": 1e-6}, "delta must be 0 with ask alone"),
    ({"ask": ["max"], "by": "ward", "delta": 1}, "delta must"),
    ({"ask": ["max"], "bounds": (1e50, 1e60)}, "bounds must differ within"),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_bad_input_is_refused_before_reading(
    options: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(*_: Any) -> None:
        raise AssertionError("records were read")

    monkeypatch.setattr("flexdp.tables.ranks.open_ranks", read)
    monkeypatch.setattr("flexdp.tables.source.Source.count", read)
    with pytest.raises(InputError, match=message):
        flexdp.release(TABLE, "cost", **{**PURE, **options})


@pytest.mark.parametrize(
    ("column", "options", "message"),
    [
        ("ward", {"ask": "max"}, "ask needs a column of numbers, dates or booleans, but this one is of kind text"),
        ("day", {"ask": "sum"}, "the sum needs a column of numbers"),
        (["cost", "visits"], {"ask": "max"}, "ask needs a single released column"),
        (["cost", "visits"], {"ask": "max", "separately": True}, "ask does not fit separately=True"),
    ],
)
def test_columns_that_cannot_be_asked(column: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        flexdp.release(TABLE, column, **PURE, **options)


def test_of_booleans_only_the_share_the_number_and_the_count_can_be_asked() -> None:
    for word in ("max", "min", "q0.9", "median", "range", "iqr"):
        with pytest.raises(InputError, match=r"of kind boolean\. Ask for the share of true with ask=\['mean'\], "):
            flexdp.release([True, False], kind="boolean", **PURE, ask=word)
    flags = [True] * 3000 + [False] * 1000
    found = flexdp.release(flags, kind="boolean", **PURE, ask=["mean", "sum", "count"])
    assert found.mean().value == pytest.approx(0.75, abs=0.02) and found.mean().text.endswith("%")
    assert found.sum().value == pytest.approx(3000, abs=100) and found.count().value == pytest.approx(4000, abs=100)


def test_statistics_and_names_are_the_same_and_asked_once() -> None:
    found = flexdp.release(TABLE, "cost", **PURE, ask=["p99", Quantile("0.99"), "q0.990", Max(), IQR(), "q1"])
    assert found.asked.wanted.words == ("q0.99", "max", "iqr")


TAMPERED = [
    "five",
    "mean",
    "groups",
    "too few",
    "buckets",
    "only a bounded mean",
    "listed groups",
    "buckets list groups",
]


@pytest.mark.parametrize("shape", TAMPERED)
def test_tampered_documents_are_refused(shape: str) -> None:
    document = json.loads(released(shape).to_json())
    asked = document["asked"]
    changes = [
        lambda d: d["asked"].update(epsilon="2"),
        lambda d: d["privacy"].update(epsilon="1/2"),
        lambda d: d["privacy"].update(delta="1/3"),
        lambda d: d["asked"].update(statistics=["max", "max"]),
        lambda d: d["asked"].update(statistics=["p99"]),
        lambda d: d["asked"].update(results=[]),
        lambda d: d["asked"].update(extra=1),
        lambda d: d["asked"]["results"][0].update(records_about="7"),
        lambda d: d["asked"]["results"][0].update(records_about=10**30),
        lambda d: d["asked"].pop("statistics"),
    ]
    if shape == "listed groups":
        del changes[5]  # a shorter list may be that of another release
        changes += [
            lambda d: d["asked"].pop("listing"),
            lambda d: d["asked"]["listing"].update(delta="1/3"),
            lambda d: d["asked"]["listing"].update(q=10**8),
            lambda d: d["asked"]["listing"].update(max_drop=1),
            lambda d: d["asked"]["results"].reverse(),
            lambda d: d["asked"]["results"][0].update(listed=0),
            lambda d: d["asked"]["results"][0].pop("listed"),
            lambda d: d["asked"]["results"][0].update(group=["B"]),
            lambda d: d["asked"]["results"][0].update(group=[7]),
        ]
    answers = asked["results"][0].get("answers") or []
    for place, told in enumerate(answers):
        for name, value in (("value", "1e400"), ("value", "0.50"), ("way", "guess"), ("epsilon", "9"), ("target", -1),
                            ("between", 0), ("beyond", 0), ("gamma", "0"), ("level", "1/7")):  # fmt: skip
            if told[name] != value:
                changes.append(
                    lambda d, p=place, n=name, v=value: d["asked"]["results"][0]["answers"][p].update({n: v})
                )
    if "mean" in asked["results"][0]:
        for name, value in (("sums", [1]), ("sums", [10**80, 1]), ("low", "0.00"), ("epsilon", "9"), ("off", "0")):
            changes.append(lambda d, n=name, v=value: d["asked"]["results"][0]["mean"].update({n: v}))
    for change in changes:
        changed = copy.deepcopy(document)
        change(changed)
        with pytest.raises(InputError):
            Release.from_json(json.dumps(changed))


def test_answers_out_of_order_are_refused() -> None:
    document = json.loads(released("inner").to_json())
    answers = document["asked"]["results"][0]["answers"]
    answers[0]["value"] = "999999"
    with pytest.raises(InputError):
        Release.from_json(json.dumps(document))


def test_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "t.parquet"
    TABLE.write_parquet(place)
    spend = ("--epsilon", 1, "--delta", 0)
    done = command("release", place, "cost", *spend, "--ask", "max", "--ask", "q0.99")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[1].startswith("Highest cost: about ") and lines[2].startswith("99th percentile of cost: about ")
    monkeypatch.setattr(asked_checks, "Bits", seeded(1))
    small = tmp_path / "small.parquet"
    TABLE[:20].write_parquet(small)
    few = command("release", small, "cost", *spend, "--ask", "max")
    monkeypatch.undo()
    assert few.returncode == 4 and "Too few for the highest cost" in few.stdout
    told = json.loads(command("release", place, "cost", *spend, "--ask", "mean", "--json").stdout)
    assert told["answers"][0]["stat"] == "mean" and Release.from_json(json.dumps(told)).mean().value > 0
    target = tmp_path / "r.csv"
    assert command("release", place, "cost", *spend, "--ask", "median", "-o", target).returncode == 0
    assert target.read_text().splitlines()[0].startswith('"statistic","value","way"')
    wrong = command("release", place, "cost", *spend, "--ask", "max", "--stat", "mode")
    assert wrong.returncode == 2 and "--stat: 'mode' was not asked for" in wrong.stderr
    both = command("release", place, "cost", "--epsilon", 1, "--delta", "1e-6", "--ask", "max")
    assert both.returncode == 0 and "50% into the answers asked for" in both.stdout and "Median cost: " in both.stdout
    wrong = command("release", place, "cost", "-e", 1, "-d", "1e-6", "--ask", "max", "--by", "ward", "--groups", "A")
    assert wrong.returncode == 2 and "--delta must be 0 with --ask alone" in wrong.stderr
    grouped = command("release", place, "cost", *spend, "--ask", "mean", "--by", "ward", "--groups", "A,B")
    assert grouped.returncode == 0 and "(ward A): about " in grouped.stdout
    listed = command("release", place, "cost", "-e", 1, "-d", "1e-6", "--ask", "max", "--by", "ward")
    assert listed.returncode == 0 and "(ward B): about " in listed.stdout and "Listed: groups (ward)" in listed.stdout
    none = command("release", place, "cost", "-e", 1, "-d", "1e-12", "--ask", "max", "--by", "pid")
    assert none.returncode == 4 and "None is listed." in none.stdout
    wrong = command("release", place, "cost", *spend, "--ask", "max", "--by", "ward")
    assert wrong.returncode == 2 and "--delta must be positive with --by and no --groups" in wrong.stderr
    text = command("query", place, "cost", "--ask", "max", "--by", "ward").stdout
    assert "AS records FROM flexdp_records GROUP BY b0" in text
    both = command(
        "release",
        place,
        "cost",
        "-e",
        1,
        "-d",
        "1e-6",
        "--width",
        100,
        "--ask",
        "mean",
        "--by",
        "ward",
        "--groups",
        "A",
    )
    assert both.returncode == 0 and "Mean cost (ward A): about " in both.stdout
    shown = command("query", place, "cost", "--ask", "max")
    assert shown.returncode == 0 and shown.stdout.count(";") >= 2 and "flexdp_records" in shown.stdout
    for dialect, word in (("sqlite", "typeof("), ("spark", "`cost`"), ("postgres", "DOUBLE PRECISION")):
        other = command("query", place, "cost", "--ask", "max", "--dialect", dialect)
        assert other.returncode == 0 and word in other.stdout and "flexdp_looked" in other.stdout
    wrong = command("query", place, "cost", "--ask", "max", "--dialect", "klingon")
    assert wrong.returncode == 2 and "--dialect must be " in wrong.stderr and "klingon" in wrong.stderr


def test_nothing_private_is_published() -> None:
    canary = 918273645.125
    values = [float(i % 50) for i in range(4000)] + [canary]
    found = flexdp.release(values, kind="number", epsilon=1, delta=0, ask=["median", "q0.9", "mean"], bounds=(0, 100))
    everything = " ".join(
        [found.to_json(), found.to_html(), found._repr_html_(), repr(found), str(found.certificate())]
    )
    assert "918273645" not in everything


def test_answers_are_moved_into_the_interval_that_buckets_guarantee() -> None:
    values = np.arange(6000) % 100
    options: dict[str, Any] = {"epsilon": 1, "delta": 1e-6, "width": 5, "bounds": (0, 100), "outside": "drop"}
    found = flexdp.release(values, **options, ask=["median", "q0.97", "max", "range"])
    plain = {level: replace(found, asked=None).quantile(level).interval for level in ("0.5", "0.97", "1")}
    for level, interval in plain.items():
        told = found.quantile(level)
        assert told.interval == interval and interval[0] <= told.value <= interval[1]
        assert "is guaranteed to lie between " in str(told)
    (result,) = found.asked.results.values()
    far = {Fraction(0): 3, Fraction(1, 2): 80, Fraction(97, 100): 700, Fraction(1): 900}
    answers = tuple(replace(each, value=far[each.level]) for each in result.levels.answers)
    wild = replace(
        found, asked=replace(found.asked, results={(): replace(result, levels=replace(result.levels, answers=answers))})
    )
    assert [wild.quantile(level).value for level in plain] == [high for _, high in plain.values()]
    assert wild.range().value == plain["1"][1] - 3
    # Records beyond the new value were not bounded; of the maximum there are none.
    assert wild.quantile("0.97").promise.beyond is None and wild.max().promise.beyond is not None
    assert wild.columns_of_answers()["value"][:3] == [
        wild.median().value,
        wild.quantile("0.97").value,
        wild.max().value,
    ]
    # A unit with two values may count with others in its buckets, and without bounds buckets are not public.
    units = flexdp.release(
        TABLE, "visits", **{**options, "bounds": (0, 400)}, ask="median", unit="pid", max_buckets_per_unit=2
    )
    assert units.median().interval is None
    assert released("buckets").max().interval is None


def test_the_mean_of_too_few_records_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also between public bounds, where no number of records is drawn: an empty table has no mean to be near to."""
    refused = 0
    for seed in range(40):
        monkeypatch.setattr(asked_checks, "Bits", seeded(seed))
        found = flexdp.release([], kind="number", **PURE, ask=["mean", "sum"], bounds=(0, 120))
        refused += found.mean().value is None
        if found.mean().value is None:
            assert "Too few for the mean" in str(found.mean()) and found.asked is not None
            assert (
                found.asked.results[()].mean is not None
                and json.loads(found.to_json())["asked"]["results"][0]["mean"]["off"] is None
            )
        assert Release.from_json(found.to_json()) == found
        assert found.survived  # the sum of no values is a sum
        assert not flexdp.release([], kind="number", **PURE, ask="mean", bounds=(0, 120)).survived
    assert refused == 40  # it is stated with probability at most 1/20, and ñ > 2z then means noise beyond z·K
    enough = flexdp.release([3.0] * 400, kind="number", **PURE, ask="mean", bounds=(0, 120))
    assert enough.survived and enough.mean().promise.mean is not None and enough.mean().promise.mean < 3


@pytest.mark.parametrize("source", [[], [None] * 500])
def test_empty_columns_answer_too_few(source: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked_checks, "Bits", seeded(3))
    words = ["max", "min", "median", "q0.99", "mean", "sum", "iqr", "range"]
    found = flexdp.release(source, kind="number", **PURE, ask=words)
    assert not found.survived and all(each.text == "too few records" for each in found.answers())
    assert all("and ε = 1 needs about " in str(each) for each in found.answers())
    counted = flexdp.release(source, kind="number", **PURE, ask="count").count()
    assert counted.value <= 20


def test_too_few_records_say_what_epsilon_would_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked_checks, "Bits", seeded(1))
    found = flexdp.release([3.5] * 60, kind="number", epsilon=1, delta=0, ask=["max", "count"])
    about = found.records_about.value
    assert 20 < about < 100 and f"This many would need about ε = {-(-2000 // about) / 10:.1f}." in str(found.max())
    unsure = flexdp.release([3.5] * 60, kind="number", epsilon=1, delta=0, ask=["max"])
    assert "that number is off by at most 75, so there may be none." in str(unsure.max())
    assert "This many would need" not in str(unsure.max()), "which would be spent on nothing"


def test_extreme_columns() -> None:
    constant = flexdp.release([7] * 2000, kind="integer", **PURE, ask=["median"])
    assert constant.median().value == 7
    huge = flexdp.release([2**80 + i % 50 for i in range(5000)], kind="integer", **PURE, ask=["median"])
    assert abs(huge.median().value - 2**80) < 50
    outlier = flexdp.release([float(i % 9) for i in range(5000)] + [1e300], kind="number", **PURE, ask=["max"])
    assert outlier.max().value < 1e39 and Release.from_json(outlier.to_json()) == outlier
    everything = ["min", "q0.01", "q0.3", "median", "q0.9", "max", "mean"]
    same = flexdp.release([7] * 20_000, kind="integer", epsilon=4, delta=0, ask=everything)
    assert same.quantile("0.3").value == same.median().value == same.quantile("0.9").value == 7
    assert same.quantile("0.01").value == 7 and same.min().value <= 7 <= same.max().value
    wide = flexdp.release([2**80 + i % 50 for i in range(20_000)], kind="integer", epsilon=4, delta=0, ask=everything)
    assert all(abs(wide.quantile(level).value - 2**80) < 50 for level in ("0.3", "0.5", "0.9"))
    assert Release.from_json(wide.to_json()) == wide
    # Values that hug a round number lean towards it by at most about 13/ε records a side.
    hugging = 1e6 + np.sort(np.random.default_rng(1).normal(0, 1, 4000))
    told = flexdp.release(hugging, **PURE, ask="median").median().value
    assert abs(int((hugging < told).sum()) - 2000) <= 40


def test_a_release_without_ask_is_as_before() -> None:
    found = flexdp.release(TABLE, "cost", epsilon=1, delta=1e-6, width=100)
    assert found.asked is None and "asked" not in json.loads(found.to_json()) and found.answers() == []


def test_answers_of_a_column_of_which_most_records_are_zero_are_known() -> None:
    """The finding: every second maximum and mean of such costs was "unknown", because an anchor lay at 1e-12."""
    rng = np.random.default_rng(3)
    values = np.where(rng.random(5000) < 0.6, 0.0, rng.exponential(100, 5000).round(1))
    for _ in range(20):
        found = flexdp.release(values, epsilon=2, delta=0, ask=["max", "min", "mean", "sum"])
        assert 300 < found.max().value < 10_000 and found.min().value > -10_000
        assert found.mean().value == pytest.approx(values.mean(), rel=0.1) and found.sum().value is not None
