"""Asked answers word for word, of outcomes that are given; the numbers of records are those of the promises."""

from __future__ import annotations

import datetime as dt
import math
import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from _support.drawn import drawn

import flexdp
from flexdp._release.asked_promises import MeanPromise, RankPromise
from flexdp._release.asked_sentences import Telling
from flexdp._release.claims import Between, Beyond, Population
from flexdp.buckets.parse import make_buckets
from flexdp.histogram import KeyedHistogram

SURE = "With 95% probability"


def answers(*arguments: Any, **options: Any) -> dict[str, flexdp.Answer]:
    return {answer.name: answer for answer in drawn(*arguments, **options).answers()}


def test_extremes_have_records_beyond_them_and_a_value_that_is_reached() -> None:
    found = answers("i", ["min", "max", "range"], anchor=200, values={"0": 1, "1": 395})
    for name, head, side in (("maximum", "Highest i: about 395.", "above"), ("minimum", "Lowest i: about 1.", "below")):
        promise = found[name].promise
        assert isinstance(promise, RankPromise)
        assert found[name].statement == (
            f"{head} {SURE} at most {promise.beyond} records are {side} it; with 95% probability the "
            f"{head[: head.index(':')].lower()} itself is {side} {promise.reaches}."
        )
    assert found["range"].text == "about 394"
    assert found["range"].value == 394 and found["range"].statement == (
        "Range of i: about 394. It is the difference of the answers for the lowest and the highest value, 1 and 395."
    )


def test_dates_are_early_and_late() -> None:
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=each) for each in (0, 77, 276)]
    number = dict(zip(("0", "1/2", "1"), ((day - dt.date(1970, 1, 1)).days for day in days), strict=True))
    found = answers("day", ["min", "median", "max", "range"], anchor=number["1/2"], values=number)
    assert [found[name].value for name in ("minimum", "median", "maximum")] == days
    assert f"Earliest day: about {days[0]}. {SURE} at most " in found["minimum"].statement
    assert " records are before it; with 95% probability the earliest day itself is before " in str(found["minimum"])
    assert " records are after it; with 95% probability the latest day itself is after " in str(found["maximum"])
    between = found["median"].promise.between  # type: ignore[union-attr]
    assert found["median"].statement == (
        f"Median day: about {days[1]}. {SURE} at most {between} records lie between it and the exact median."
    )
    assert found["range"].value == days[2] - days[0] and found["range"].statement == (
        "Range of day: about 276 days. It is the difference of the answers for the earliest and the latest value, "
        f"{days[0]} and {days[2]}."
    )
    moment = answers("seen", ["median"], values={"1/2": 10**15 + 1})["median"]
    assert moment.value == dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=10**15 + 1)


@pytest.mark.parametrize(
    ("column", "ask", "values", "condition"),
    [
        ("i", ["median"], {"1/2": 200}, "values there are below 1000 in magnitude"),
        ("i", ["median"], {"1/2": 1000}, "values there are below 10 000 in magnitude"),
        ("x", ["median"], {"1/2": 200}, "values there are below 1000 in magnitude and have at most 2 decimals"),
        ("i", ["q0.4", "median"], {"2/5": 9, "1/2": 20}, "values near all asked levels are below 100 in magnitude"),
    ],
)
def test_conditions_of_a_rank(column: str, ask: list[str], values: dict[str, int], condition: str) -> None:
    found = answers(column, ask, values=values)["median"]
    assert found.statement.endswith(f" between it and the exact median, if {condition}.")


def test_a_tail_by_itself_depends_on_the_median() -> None:
    many: dict[str, Any] = {"records": 10**6, "anchor": 200}
    tails = answers("i", ["q0.001", "q0.999"], values={"1/1000": 3, "999/1000": 390}, **many)
    for answer in tails.values():
        assert ", if values near all asked levels are below 1000 in " in answer.statement
    one = answers("i", ["q0.99", "max"], anchor=200, values={"99/100": 395, "1": 395})
    assert ", if values there are below 1000 in " in one["99th percentile"].statement
    # The maximum was climbed to from the cut and lies at it, so that no value is named which it exceeds.
    beyond = one["maximum"].promise.beyond  # type: ignore[union-attr]
    assert one["maximum"].statement == f"Highest i: about 395. {SURE} at most {beyond} records are above it."
    both = answers("i", ["q0.001", "median"], values={"1/1000": 3, "1/2": 200}, **many)
    assert ", if values near all asked levels are below 1000 in " in both["median"].statement
    assert ", if values near all asked levels are below 1000 in " in both["0.1th percentile"].statement


FIVE = ["min", "q0.01", "median", "q0.99", "max"]
SPREAD = {"0": 1, "1/100": 2, "1/2": 200, "99/100": 380, "1": 395}


def test_tails_of_few_records_are_bounded_on_their_outer_side() -> None:
    found = answers("i", FIVE, records=3000, values=SPREAD)
    for name, side in (("1st percentile", "below"), ("99th percentile", "above")):
        promise = found[name].promise
        assert isinstance(promise, RankPromise) and promise.between is None
        assert found[name].statement.endswith(f". {SURE} at most {promise.beyond} records are {side} it.")


def test_no_bound() -> None:
    found = answers("x", ["median"], values={"1/2": 10**38})["median"]
    assert found.promise == RankPromise() and found.statement.endswith(". No bound on its rank is stated.")


def test_differences() -> None:
    found = answers("x", ["iqr"], values={"1/4": "90.5", "3/4": 290})["interquartile range"]
    assert found.value == 199.5 and found.statement == (
        "Interquartile range of x: about 199.5. It is the difference of the answers for the 25th and the 75th "
        "percentile, 90.5 and 290."
    )
    whole = answers("i", ["iqr"], values={"1/4": 90, "3/4": 290})["interquartile range"]
    assert whole.value == 200 and isinstance(whole.value, int)


@pytest.mark.parametrize(
    ("column", "level", "units", "text"),
    [
        ("i", "1", 10**39, "unknown"),
        ("i", "0", -(10**39), "unknown"),
        ("day", "1", 10**7, "9999-12-31 or later"),
        ("day", "0", -(10**7), "0001-01-01 or earlier"),
        ("day", "1", (dt.date(9999, 12, 31) - dt.date(1970, 1, 1)).days, "about 9999-12-31"),
        ("day", "0", (dt.date(1, 1, 1) - dt.date(1970, 1, 1)).days, "about 0001-01-01"),
        ("seen", "1", 10**18, "9999-12-31 or later"),
    ],
)
def test_the_ends_of_what_counts(column: str, level: str, units: int, text: str) -> None:
    (found,) = answers(column, ["max" if level == "1" else "min"], anchor=0, values={level: units}).values()
    assert found.text == text


def test_numbers_of_records() -> None:
    found = drawn("i", ["max"], anchor=200, values={"1": 395})
    assert str(found.records_about).startswith(f"Number of records: about 6 000. {SURE} this is off by at most ")
    one = drawn("i", ["max"], records=1).records_about
    assert str(one).startswith("Number of records: about 1. ") and (one.value, one.name) == (1, "number of records")
    assert drawn("i", ["max"], records=-3).records_about.value == 0
    units = drawn("i", ["count"], unit="u", max_buckets_per_unit=1).count()
    assert units.text == "about 6 000" and units.statement.startswith("Number of units (u): about 6 000. ")
    several = drawn("i", ["count"], unit="u", max_buckets_per_unit=2).count()
    assert several.statement.startswith("Number of values, at most 2 different values of each unit (u): about 6 000. ")


def test_listed_groups_have_at_least_what_was_left() -> None:
    """δ = 1e-6 and a share of ε for the list: the noise of one bucket, whose largest loss is public."""
    options: dict[str, Any] = {"anchor": 200, "values": {"1": 395}, "delta": "1e-6", "by": "g", "listed": 500}
    found = drawn("i", ["max"], **options)
    assert found.asked is not None and found.asked.budget.listing is not None
    noise = found.asked.budget.listing.noise
    about, most = 500 + round(noise.mean_drop()), 500 + noise.max_drop
    (group,) = found.by_group().values()
    told = group.records_about
    text = f"about {about} (certainly 500 to {most})"
    assert (told.value, told.interval, told.text) == (about, (500, most), text)
    assert told.name == "number of records" and told.statement == f"Number of records (g A): {text}."
    for drawn_count, value in ((450, 500), (510, 510), (9999, most)):
        (group,) = drawn("i", ["max", "count"], records=drawn_count, **options).by_group().values()
        both = group.count()
        assert both.value == value and both.interval[0] == 500 and both.name == "number of records"
        assert both.statement.startswith(f"Number of records (g A): about {value}. {SURE} this is off by at most ")
        assert " The exact number is guaranteed to lie between 500 and " in both.statement


def test_too_few_in_a_listed_group() -> None:
    """The number that is told allows for what was left out, and so does the number that is needed."""
    options: dict[str, Any] = {"anchor": 200, "values": {"1": 395}, "delta": "1e-6", "by": "g", "listed": 60}
    found = drawn("i", ["max"], **options)
    (group,) = found.by_group().values()
    assert found.asked is not None and found.asked.budget.listing is not None
    lost = round(found.asked.budget.listing.noise.mean_drop())
    needed = math.ceil(100 / found.asked.parts["levels"]) + lost
    assert f" about {60 + lost} records were counted, and ε = 1 needs about {needed}. " in group.max().statement
    assert group.records_about.value == 60 + lost


def test_too_few() -> None:
    """A part of the budget needs 100 records for each unit of its ε: half of ε = 1 needs 200; of a mean 250: 500."""
    found = answers("i", ["max", "mean"], records=7)
    for answer, subject, needed in zip(found.values(), ("highest i", "mean i"), (200, 500), strict=True):
        assert answer.value is None and answer.text == "too few records"
        assert answer.statement == (
            f"Too few for the {subject}: about 7 records were counted, and ε = 1 needs about {needed}. {SURE} that "
            "number is off by at most 150, so there may be none."
        )
    some = answers("i", ["max"], records=90)["maximum"]
    assert some.statement == (
        f"Too few for the highest i: about 90 records were counted, and ε = 1 needs about 100. {SURE} that number is "
        "off by at most 75. This many would need about ε = 1.2."
    )
    one = answers("i", ["max"], records=1, epsilon="1/4")["maximum"]
    assert ": about 1 record was counted, and ε = 0.25 needs about 400. " in str(one)
    none = answers("i", ["max"], records=-3)["maximum"]
    assert ": about 0 records were counted, and ε = 1 needs about 100. " in none.statement


def test_means_and_sums() -> None:
    """Two sums: of the distances to the lower end, and to the upper; together they are n·(U − L)."""
    bounded = answers("i", ["mean", "sum"], records=None, sums=(600_000, 300_000), bounds=(0, 300))
    mean, total = bounded["mean"], bounded["sum"]
    assert (mean.value, total.value) == (200, 600_000)
    assert mean.statement.startswith(f"Mean i: about 200. {SURE} it is within 0.3 of the mean")
    assert mean.statement.endswith(" of the mean of the values limited to 0–300.")
    assert total.statement.startswith(f"Sum of i: about 600 000. {SURE} it is within 900 of the sum")
    assert total.statement.endswith(" of the sum of the values limited to 0–300.")
    cut = answers("i", ["sum"], records=None, sums=(600_000, 300_000), bounds=(-10, 290), outside="drop")["sum"]
    assert cut.statement.startswith("Sum of i (within -10 to 290): about 570 000. ")
    assert cut.statement.endswith(" of the sum of the values within -10 to 290.")
    few = answers("i", ["mean", "sum"], records=None, sums=(1000, 12), bounds=(0, 300))
    assert few["mean"].statement == (
        "Too few for the mean i: about 3 records were counted, and ε = 1 needs about 18. This many would need about "
        "ε = 6."
    )
    found = answers("x", ["sum"], anchor=200, ends=(-50, 500), sums=(600_000, 6000))["sum"]
    assert isinstance(found.promise, MeanPromise)
    assert found.statement.endswith(
        f" of the sum of the values limited to -50 to 500, and at most {found.promise.outside} records lie beyond each "
        "end."
    )
    wide = answers("i", ["sum"], records=None, sums=(600_000, 300_000), bounds=(0, 1_000_007))["sum"]
    assert wide.statement.endswith(" of the sum of the values limited to 0–1 000 007.")  # not a whole number of steps
    nothing = answers("i", ["sum"], records=None, sums=(0, 3), bounds=(0, 300))["sum"]
    assert nothing.statement == "Sum of i: about 0. No bound on its error is stated."


def test_means_and_sums_are_rounded_to_a_tenth_of_their_error() -> None:
    """600 374 above 0 and 300 000 below 300 are 900 374/300 records; errors are 300·ln 20/3001 = 0.30 and 900."""
    found = answers("i", ["mean", "sum"], records=None, sums=(600_374, 300_000), bounds=(0, 300))
    assert found["sum"].text == "about 600 370" and found["sum"].value == 600_374
    assert found["mean"].text == f"about {round(600_374 * 300 / 900_374, 2)}"
    assert found["mean"].value == pytest.approx(600_374 * 300 / 900_374, rel=1e-15)
    for word, answer in found.items():
        (said,) = re.findall(r" within ([0-9.]+) of the ", answer.statement)
        bound = getattr(answer.promise, {"mean": "mean", "sum": "total"}[word])
        shown = Fraction(answer.text.removeprefix("about ").replace("\N{NO-BREAK SPACE}", "").replace(" ", ""))
        least = bound + abs(shown - Fraction(600_374) / (1 if word == "sum" else Fraction(900_374, 300)))
        assert least <= Fraction(said) <= least * Fraction(101, 100), "rounded up"
        assert len(said.replace(".", "").strip("0")) <= 3


def test_the_number_of_records_behind_a_bounded_mean() -> None:
    """An average of both noises is at most (ln(1/γ) + 1/600)/ε records; the number is their sum, rounded."""
    told = drawn("i", ["mean"], records=None, sums=(600_000, 300_000), bounds=(0, 300)).records_about
    off = math.floor(2 * (math.log(20) + 1 / 600) + 1 / 2)
    assert told.statement == f"Number of records: about 3 000. {SURE} this is off by at most {off}."


def test_one_record_is_singular() -> None:
    for epsilon in range(2, 60):
        found = answers("i", ["median"], values={"1/2": 200}, epsilon=epsilon)["median"]
        many = found.promise.between  # type: ignore[union-attr]
        if many == 1:
            assert f"{SURE} at most 1 record lies between it and " in found.statement
            break
    else:
        raise AssertionError("no such epsilon")


def test_open_ends_of_buckets_move_no_answer() -> None:
    """Buckets below 0, from 0 to 9 and from 10 on: all records lie in the first, or in the last."""
    found = drawn("i", FIVE, anchor=200, values=SPREAD, width=10, delta="1e-6")
    spec = replace(found.spec, partitions=(make_buckets("integer", edges=[0, 10], open=True),))
    last = replace(found, spec=spec, cells=KeyedHistogram([[2]], [70_000]))
    assert last.quantile("0.99").value == 380 and last.quantile("0.99").interval == (10, math.inf)
    first = replace(found, spec=spec, cells=KeyedHistogram([[0]], [70_000]))
    assert first.quantile("0.01").value == -1 and first.quantile("0.01").interval == (-math.inf, -1)
    below = drawn(
        "i", FIVE, anchor=0, values=dict(zip(SPREAD, (-9, -7, -5, -3, -1), strict=True)), width=10, delta="1e-6"
    )
    assert replace(below, spec=spec, cells=first.cells).quantile("0.01").value == -7


def test_an_anchor_far_from_the_median_of_the_buckets_makes_no_extreme_credible() -> None:
    """The finding: "Lowest m: about -34.87" of proton masses. An anchor went astray, and both extremes with it."""
    found = drawn("i", ["min", "max"], anchor=-(10**9), values={"0": -(10**9), "1": 10**9}, width=10, delta="1e-6")
    spec = replace(found.spec, partitions=(make_buckets("integer", edges=[0, 10, 20, 30], open=True),))
    read = replace(found, spec=spec, cells=KeyedHistogram([[0, 2, 4]], [20_000, 30_000, 20_000]))
    assert read.max().text == "30 or more" and read.min().text == "below 0"


def test_buckets_correct_answers_only_where_they_count_the_same_values() -> None:
    bounds: dict[str, Any] = {"width": 10, "bounds": (0, 400), "outside": "drop", "delta": "1e-6", "unit": "u"}
    cells = KeyedHistogram([[34]], [70_000])
    one = replace(drawn("i", ["median"], values={"1/2": 200}, per_unit="max", **bounds), cells=cells)
    assert one.median().interval == (340, 349) and one.median().value == 340
    any_value = replace(drawn("i", ["median"], values={"1/2": 200}, max_buckets_per_unit=1, **bounds), cells=cells)
    assert any_value.median().interval is None and any_value.median().value == 200


def test_a_range_has_no_more_figures_than_its_ends() -> None:
    """The finding: "about 9 399 999 999 999 999 990", the difference of 10 and 9 400 000 000 000 000 000."""
    found = answers("i", ["min", "max", "range"], anchor=5 * 10**18, values={"0": 10, "1": 94 * 10**17})
    assert found["range"].text == "about 9.4e+18" and found["range"].value == 94 * 10**17


def test_what_can_be_answered() -> None:
    found = drawn("i", ["range", "count"], anchor=200, values={"0": 1, "1": 395})
    asked = found.asked
    assert asked is not None
    telling = Telling(asked, asked.results[()], found._words)
    known = ("max", "min", "range", "count", "q0", "q1")
    assert [word for word in (*known, "median", "iqr", "q0.5", "mean", "sum") if telling.has(word)] == list(known)


def test_one_record_is_beyond_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    one = {Fraction(0): RankPromise(beyond=1), Fraction(1): RankPromise(beyond=2)}
    monkeypatch.setattr("flexdp._release.asked_facts.rank_promises", lambda *_: one)
    found = answers("i", ["min", "max"], anchor=200, values={"0": 1, "1": 395})
    assert found["minimum"].statement == f"Lowest i: about 1. {SURE} at most 1 record is below it."
    assert found["maximum"].statement == f"Highest i: about 395. {SURE} at most 2 records are above it."


@pytest.mark.parametrize("first", [0, 60])
def test_an_answer_that_buckets_move_inward_bounds_no_records_beyond_it(first: int) -> None:
    """The records of the buckets lie from ``first`` on below 350, and those that lie beyond 380 are not known."""
    bounds: dict[str, Any] = {"width": 10, "bounds": (0, 400), "outside": "drop", "delta": "1e-6"}
    found = drawn("i", FIVE, anchor=200, values={**SPREAD, "0": -50, "1": 900}, **bounds)
    values = [first + each % (350 - first) for each in range(70_000)]
    moved = replace(found, cells=flexdp.release(values, kind="integer", epsilon=1, **bounds).cells)
    high, low = moved.quantile("0.99"), moved.quantile("0.01")
    assert high.interval == (340, 349) and high.value == 349
    assert high.statement == (
        "99th percentile of i (within 0–400): about 349. No bound on its rank is stated. The exact 99th percentile is "
        "guaranteed to lie between 340 and 349."
    )
    assert moved.max().value == moved.max().interval[1] < 900  # beyond which there are none
    assert moved.min().value == moved.min().interval[0] > -50
    assert " records are above " in str(moved.max()) and " records are below " in str(moved.min())
    if first:
        assert low.value == low.interval[0] == first and ". No bound on its rank is stated. " in low.statement
    else:
        assert low.value == 2 and " records are below it. The exact 1st percentile is guaranteed " in low.statement


def test_a_name_with_a_bracket_is_not_cut() -> None:
    table = {"cost (€)": [float(i % 997) for i in range(20_000)]}
    told = str(flexdp.release(table, "cost (€)", kind="number", epsilon=1, delta=0, ask=["max"]).max())
    assert told.startswith("Highest 'cost (€)': ") and "the highest 'cost (€)' itself is above " in told


def test_nothing_lies_beyond_a_public_end() -> None:
    """A column of which every value is its upper bound: the ladder may pass that rung many times over."""
    found = answers("i", ["min", "max"], anchor=300, values={"0": 300, "1": 300}, bounds=(0, 300))
    assert " itself is above " not in found["maximum"].statement
    last = (dt.date(9999, 12, 31) - dt.date(1970, 1, 1)).days
    latest = answers("day", ["min", "max"], anchor=20_000, values={"0": 19_000, "1": 10**9})["maximum"]
    assert latest.text == "9999-12-31 or later" and " itself is after 9999-12-31" not in latest.statement
    assert not any(claim.strict and claim.lower == dt.date(9999, 12, 31) for claim in latest.claims), last


def test_every_number_of_an_extreme_belongs_to_a_claim() -> None:
    found = answers("i", ["min", "max"], anchor=200, values={"0": 1, "1": 395})["maximum"]
    promise = found.promise
    assert isinstance(promise, RankPromise)
    about, beyond, reached = found.claims
    assert (about.relation, about.lower, about.upper) == ("is about", 395, 395)
    assert (beyond.quantity, beyond.upper, beyond.confidence) == (Beyond(395), promise.beyond, Fraction(19, 20))
    assert (reached.quantity, reached.lower, reached.strict) == (flexdp.statistics.Max(), promise.reaches, True)
    assert all(claim.population == Population() for claim in found.claims)


def test_the_claims_of_a_mean_are_what_is_printed() -> None:
    found = answers("i", ["mean"], records=None, sums=(600_374, 300_000), bounds=(0, 300))["mean"]
    about, within = found.claims
    (said,) = re.findall(r" within ([0-9.]+) of the ", found.statement)
    shown = Fraction(found.text.removeprefix("about "))
    assert about.lower == shown and (within.lower, within.upper) == (shown - Fraction(said), shown + Fraction(said))
    assert within.population == Population(limits=(0, 300)) and within.confidence == Fraction(19, 20)


def test_a_capped_unit_counts_with_values() -> None:
    found = answers("i", ["max", "count"], anchor=200, values={"1": 395}, unit="u", max_buckets_per_unit=3)
    assert {claim.population.counted for answer in found.values() for claim in answer.claims} == {"values"}


def test_an_absurd_extreme_is_unknown_or_read_off_buckets() -> None:
    far = {"0": 2, "1": 10**18}
    alone = answers("i", ["min", "max", "range"], anchor=200, values=far)
    assert (alone["maximum"].value, alone["maximum"].text) == (None, "unknown")
    assert alone["maximum"].statement == (
        "Highest i: unknown. The answer that was drawn lies far outside everything else that is known."
    )
    assert alone["range"].text == "unknown" and alone["minimum"].text == "about 1"
    assert not any(character in "123456789" for character in alone["maximum"].statement)
    found = drawn("i", ["min", "max"], anchor=200, values=far, width=10, delta="1e-6")
    cells = flexdp.release([i % 350 for i in range(70_000)], kind="integer", epsilon=1, width=10, delta="1e-6").cells
    found = replace(found, cells=cells)
    top = found.max()
    assert top.value is not None and top.value < 1000 and top.statement.startswith(f"Highest i: {top.text}. At most ")
    assert top.statement.endswith(" The answer that was drawn lies far outside everything else that is known.")
    assert found.quantile("0.99").value < 1000, "nor does it limit what is read off buckets"
    assert str(10**18) in found.to_json()
    assert str(10**18) not in found.to_html().split("<script")[0]


def test_an_absurd_mean_is_unknown() -> None:
    found = answers("x", ["mean", "sum"], anchor=200, ends=(-50, 10**18), sums=(600_000, 6 * 10**9))
    assert [answer.text for answer in found.values()] == ["unknown", "unknown"]


def test_digits_follow_the_error() -> None:
    """Two decimals are as many as the promise speaks of; ranks between the quartiles tell how fine the median is."""
    alone = answers("x", ["median"], values={"1/2": Fraction("46012.85890573")})["median"]
    assert alone.text == "about 46 012.86" and " lie between it and the exact median" in alone.statement
    many = {"1/4": 20_000, "1/2": Fraction("46012.85890573"), "3/4": 80_000}
    among = answers("x", ["iqr", "median"], values=many)["median"]
    assert among.text == "about 46 000" or among.text == "about 46 010"
    assert " lie between 46 012.86 and the exact median" in among.statement
    between = next(claim for claim in among.claims if isinstance(claim.quantity, Between))
    assert between.quantity.value == 46012.86  # type: ignore[union-attr]


def test_moments_are_as_fine_as_their_error() -> None:
    """Rungs of ladders are round in microseconds; a median whose ranks span months needs no clock."""
    drawn_at = {"0": 1580 * 10**12, "1/2": 1_628_777_074_900_000, "1": 1_678_000_000_000_000}
    found = answers("seen", ["min", "median", "max", "range"], anchor=drawn_at["1/2"], values=drawn_at)
    assert [found[name].text for name in ("minimum", "median", "maximum", "range")] == [
        "about 2020-01-26",
        "about 2021-08-12",
        "about 2023-03-06",
        "about 1 135 days",
    ]
    assert " between 2021-08-12 14:04:34.900000 and the exact median." in found["median"].statement
    assert "value, 2020-01-26 and 2023-03-06." in found["range"].statement
    assert found["median"].value == dt.datetime(2021, 8, 12, 14, 4, 34, 900000)
    close = {"0": 10**15, "1": 10**15 + 90 * 10**6 + 1}
    shown = [answer.text for answer in answers("seen", ["min", "max"], values=close).values()]
    assert shown == ["about 2001-09-09 01:46:40", "about 2001-09-09 01:48:10.000001"]


def test_limits_of_dates_are_dates_in_every_claim() -> None:
    """Bounds of asked answers beside buckets: a claim names them as the sentence does."""
    first, last = dt.date(2024, 1, 1), dt.date(2024, 12, 31)
    days = [first + dt.timedelta(i % 500) for i in range(4000)]
    asked: dict[str, Any] = {"width": "7 days", "bounds": (first, last), "ask": ["min", "q0.9"]}
    made = flexdp.release(days, kind="date", epsilon=1, delta=1e-6, **asked)
    for answer in (made.min(), made.quantile("0.9")):
        assert {claim.population.limits for claim in answer.claims} == {(first, last)}
