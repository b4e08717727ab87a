"""What holds of a whole release, and how to read it: each condition is named where it applies, and only there."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from _support.markup import read_html
from _support.published import published

import flexdp
from flexdp import Privacy
from flexdp._release.promises import (
    conditions,
    exact_parameters,
    missing_groups,
    picture_caption,
    share_of_budget,
)
from flexdp._release.sentences import Words
from flexdp._release.spec import Spec
from flexdp.accounting.budget import Budget
from flexdp.statistics import Max

ONE, GROUPS, POINT = {(6,): 900}, {("A", 6): 900}, {(6, 7): 900}
ALWAYS = [
    "missing cells",
    "cells that do not read as the column's kind",
    "texts of more than 65 536 bytes in UTF-8",
    "lines of text files that are not in the declared encoding (UTF-8 by default) or very long",
]
INFINITE, FAR = "infinities", "values further than 2^51 buckets from zero"
SMALL = " Numbers closer to 0 than 2.2250738585072014e-308 count as 0."


@pytest.mark.parametrize(
    ("cells", "column", "options", "also", "as_another"),
    [
        (ONE, "x", {"width": 5}, [INFINITE, FAR], SMALL),
        (ONE, "x", {"width": 5, "bounds": (0, 50)}, [INFINITE], SMALL),
        (ONE, "x", {"width": 5, "bounds": (0, 50), "outside": "drop"}, [INFINITE, "values outside the bounds"], SMALL),
        (ONE, "x", {"relative": "0.25"}, [INFINITE], SMALL),
        ({(6.0,): 900}, "x", {"exact": True}, [INFINITE], ""),
        (ONE, "i", {"width": 5}, ["integers of more than 37 digits"], ""),
        (ONE, "day", {"width": "1 day"}, ["times outside the years 1 to 9999"], ""),
        (ONE, "seen", {"width": "1 hour"}, ["times outside the years 1 to 9999"],
         " Datetimes with nanoseconds count as the microsecond in which they lie."),
        ({("A",): 900}, "g", {}, [], ""),
        (GROUPS, "i", {"exact": True, "by": "g"},
         ["integers of more than 37 digits", "records that lie in none of the groups"], ""),
        ({("A",): 900}, "g", {"where": "y > 1"},
         ["records that fail the filter, or for which a missing cell leaves it open"], ""),
        ({("A",): 900}, "g", {"unit": "u", "max_buckets_per_unit": 1}, ["records without u"], ""),
    ],
)  # fmt: skip
def test_what_does_not_count(
    cells: dict[Any, int], column: str, options: dict[str, Any], also: list[str], as_another: str
) -> None:
    promises = published(cells, column, **options).certificate().promises
    (told,) = [line for line in promises if line.startswith("Not counted: ")]
    listed, _, rest = told.removeprefix("Not counted: ").partition(".")
    assert sorted(listed.split("; ")) == sorted([*ALWAYS, *also])
    assert rest == as_another


@pytest.mark.parametrize(
    ("cells", "column", "options", "told"),
    [
        (ONE, "x", {"width": 5}, ["Counted: readable values of x."]),
        (ONE, "x", {"width": 5, "bounds": (0, 50)}, ["Counted: readable values of x limited to 0–50."]),
        (ONE, "x", {"width": 5, "bounds": (0, 50), "outside": "drop"}, ["Counted: readable values of x within 0–50."]),
        (POINT, ["x", "y"], {"width": 5}, ["Counted: readable points (x, y)."]),
        (POINT, ["x", "y"], {"width": 5, "bounds": [(0, 50), (0, 100)]},
         ["Counted: readable points (x, y) limited to 0–50 × 0–100."]),
        (GROUPS, "x", {"width": 5, "by": "g"}, ["Counted: readable values of x, in records with g."]),
        (GROUPS, "x", {"width": 5, "by": "g", "groups": ["A"]},
         ["Counted: readable values of x, in records of the declared groups (g)."]),
        (ONE, "z", {"width": 5, "derive": {"z": "x + y"}, "where": "y > 1", "kind": "number"},
         ["Counted: readable values of z, in records where y > 1.", "Here z is x + y."]),
        (ONE, "x", {"width": 5, "unit": "u", "max_buckets_per_unit": 2},
         ["Counted: readable values of x, in records with u.",
          "What counts is each unit (u) once in at most 2 ranges; nothing is guaranteed about the column itself."]),
        (POINT, ["x", "y"], {"width": 5, "unit": "u", "max_buckets_per_unit": 1},
         ["Counted: readable points (x, y), in records with u.",
          "What counts is each unit (u) in one cell; nothing is guaranteed about the column itself."]),
        (GROUPS, "x", {"width": 5, "by": "g", "unit": "u", "max_buckets_per_unit": 2},
         ["Counted: readable values of x, in records with g and u.",
          "What counts is each unit (u) once in at most 2 ranges across all groups; nothing is guaranteed about "
          "the column itself."]),
        (GROUPS, "x", {"width": 5, "by": "g", "unit": "u", "per_unit": "max"},
         ["Counted: readable values of x, in records with g and u.",
          "Each unit (u) counts once, with its highest x, in the group that has it."]),
        (ONE, "x", {"width": 5, "unit": "u", "per_unit": "mean"},
         ["Counted: readable values of x, in records with u.", "Each unit (u) counts once, with its mean x."]),
    ],
)  # fmt: skip
def test_what_counts(cells: dict[Any, int], column: Any, options: dict[str, Any], told: list[str]) -> None:
    assert list(published(cells, column, **options).conditions) == told


def test_certainties_are_those_of_the_buckets() -> None:
    """At ε = 1 a bucket loses at most 27 records; ten public ones of which one holds 900, 162 in all, of 1062."""
    assert published(ONE, width=5).certificate().promises[-3:] == (
        "The lower end of each count is at most 27 too low and never too high.",
        "Every bucket with at least 28 records is present.",
        "No empty bucket is listed.",
    )
    grouped = published({("A", 6, 7): 900}, ["x", "y"], width=5, by="g").certificate().promises
    assert grouped[-3:] == (
        "The lower end of each count is at most 27 too low per g and never too high.",
        "Every cell of each g with at least 28 records is present.",
        "No empty cell of any g is listed.",
    )
    public = published({(2,): 900}, width=5, bounds=(0, 50)).certificate().promises
    assert public[-2:] == (
        "At most 15.3% of what was counted was left out in total.",
        "At most 162 records were left out in total.",
    )
    nothing = published({}, width=5, bounds=(0, 50)).certificate().promises  # a share of 100% says nothing
    assert nothing[-2:] == ("No empty bucket is listed.", "At most 162 records were left out in total.")


def test_a_divided_budget() -> None:
    assert share_of_budget(Budget(1, "1e-6")) == ""
    assert share_of_budget(Budget(1, "1e-6", most=2)) == (
        "The budget is divided among 2 buckets with ε = 0.5, δ = 5.01e-07 each; each part is proved below."
    )
    assert "among 3 buckets with ε = 0.333334, δ = 3.34e-07 each;" in share_of_budget(Budget(1, "1e-6", most=3))
    assert share_of_budget(Budget(1, "1e-6", certify="1/4")) == (
        "The budget is divided among 1 bucket with ε = 0.75, δ = 7.5e-07 and the total with ε = 0.25, δ = 2.5e-07; "
        "each part is proved below."
    )
    each = 2.5e-7 / (1 + math.exp(0.125))  # two steps of (1/8, δ) are (1/4, (1 + e^{1/8}) δ)-private
    assert 1.17e-7 < each < 1.18e-7
    assert " and the total with ε = 0.125, δ = 1.18e-07 for each of 2 steps; " in (
        share_of_budget(Budget(1, "1e-6", most=2, certify="1/4"))
    )


def test_proofs_are_named_where_there_are_several() -> None:
    alone = published(ONE, width=5).certificate().proof
    assert len(alone) == 1 and alone[0].startswith("Proof: ")
    shared = published(ONE, width=5, unit="u", max_buckets_per_unit=2).certificate().proof
    assert shared[0].startswith("The budget is divided among 2 buckets ")
    assert shared[1].startswith("Proof for each bucket: ") and len(shared) == 2
    total = replace(published(ONE, width=5), budget=Budget(1, "1e-6", certify="1/4"), records_at_most=950)
    assert total.certificate().proof[2].startswith("Proof for the total: ")


def test_the_card_of_a_certificate() -> None:
    certificate = published(ONE, width=5).certificate()
    shown = " ".join(" ".join(read_html(certificate._repr_html_()).text).split())
    assert str(certificate).splitlines() == [*certificate.promises, *certificate.proof]
    assert "Certificate" in shown and "Proof of privacy" in shown
    assert all(line in shown for line in (*certificate.promises, *certificate.proof))


def test_rows_of_a_query() -> None:
    rows = replace(published(ONE, width=5, where="y > 1").spec, of_query=True)
    (told,) = conditions(rows)
    assert told == "Counted: readable values of x, of the rows of the given query where y > 1."
    assert Words(rows, 27).headline(Max()) == "Highest x (of the rows of the given query, where y > 1)"


def test_times_are_read_in_a_zone() -> None:
    times = replace(published(ONE, "seen", width="1 hour").spec, zone="Europe/Berlin")
    assert conditions(times) == ("Counted: readable values of seen.", "Times are read in Europe/Berlin.")
    assert Words(times, 27).headline(Max()) == "Latest seen (Europe/Berlin)"


def test_a_certificate_has_epsilon_exactly() -> None:
    lines = str(flexdp.release([1.0] * 900, epsilon="2/39", delta=1e-6, width=1).certificate()).splitlines()
    assert lines[0].startswith("ε = 0.0512821, ") and "Exactly, ε = 2/39 and δ = 1/1000000." in lines
    assert "Exactly" not in str(flexdp.release([1.0] * 900, epsilon="0.1", delta=1e-6, width=1).certificate())


def test_exact_parameters() -> None:
    budget = Budget("1/2", "1e-6")
    assert exact_parameters(budget, Privacy(epsilon=Fraction(1, 2), delta=Fraction(1, 10**6))) == (
        "Exact parameters: ε = 1/2, δ = 1/1000000. The table of weights and its proof can be rebuilt from these with "
        "flexdp."
    )
    for epsilon, delta in (("1", "1e-6"), ("1/2", "2e-6")):
        whole = Privacy(epsilon=Fraction(epsilon), delta=Fraction(delta))
        assert f"ε = 1/2, δ = 1/1000000 of the counts, out of ε = {epsilon}, δ = {whole.delta} in total." in (
            exact_parameters(budget, whole)
        )


SHAPES: dict[str, tuple[dict[Any, int], Any, dict[str, Any]]] = {
    "records": (ONE, "x", {"width": 5}),
    "texts": ({("A",): 900}, "g", {}),
    "points": (POINT, ["x", "y"], {"width": 5}),
    "units": (ONE, "x", {"width": 5, "unit": "u", "max_buckets_per_unit": 2}),
    "points of units": (POINT, ["x", "y"], {"width": 5, "unit": "u", "max_buckets_per_unit": 1}),
    "one value": (ONE, "x", {"width": 5, "unit": "u", "per_unit": "min"}),
    "groups": (GROUPS, "x", {"width": 5, "by": "g"}),
    "groups of points": ({("A", 6, 7): 900}, ["x", "y"], {"width": 5, "by": "g"}),
}


@cache
def spec(shape: str) -> Spec:
    cells, column, options = SHAPES[shape]
    return published(cells, column, **options).spec


def test_many_buckets_of_a_unit() -> None:
    many = replace(spec("units"), max_buckets_per_unit=2000)
    ranges, values = "each unit (u) once in at most 2 000 ranges", "at most 2 000 different values of each unit (u)"
    assert conditions(many)[-1] == f"What counts is {ranges}; nothing is guaranteed about the column itself."
    own = conditions(many, bucketed=False)[-1]
    assert own == f"What counts is {values}; nothing is guaranteed about the column itself."
    both = f"{ranges}, and in answers drawn separately {values}"
    assert conditions(many, asked=True)[-1] == f"What counts is {both}; nothing is guaranteed about the column itself."


def test_captions() -> None:
    words = Words(spec("groups"), 1027)
    assert picture_caption(words, empty=True, coloured=True) == (
        "Nothing survived. At most 1 027 can have been in each bucket of each g."
    )
    assert picture_caption(words, empty=False, coloured=True) == (
        "Colours show what was published; each bucket of each g may hold up to 1 027 more, never fewer."
    )
    band = (
        "The hatched band is what each bucket of each g may hold beyond that, at most 1 027 more; the true count is "
        "never below a bar."
    )
    assert picture_caption(words, empty=False, coloured=False) == f"Bars show what was published. {band}"
    assert picture_caption(words, empty=False, coloured=False, areas=True) == (
        f"The areas of bars show what was published, because widths differ. {band}"
    )


def test_notes_on_groups() -> None:
    assert missing_groups(spec("records"), 27) == ""
    assert missing_groups(spec("groups"), 27) == (
        "A group (g) is certain to be listed if a bucket of it holds at least 28 records; others may be missing."
    )
    assert "listed if a cell of it holds at least 28 records" in missing_groups(spec("groups of points"), 27)
