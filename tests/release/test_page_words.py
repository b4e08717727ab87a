"""What pages say of one column and of several: true of each of them, and each thing once."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from _support.published import published as made

from flexdp._release.page_words import (
    Shown,
    group_note,
    how_it_was_made,
    how_to_read,
    not_promised,
    protected,
    published,
)
from flexdp._release.sentences import Words
from flexdp.buckets import Cut, OpenEdges

ONE, GROUPS, POINT = {(6,): 900}, {("A", 6): 900}, {(6, 7): 900}
SHAPES: dict[str, tuple[dict[Any, int], Any, dict[str, Any]]] = {
    "records": (ONE, "x", {"width": 5}),
    "texts": ({("A",): 900}, "g", {}),
    "points": (POINT, ["x", "y"], {"width": 5}),
    "units": (ONE, "x", {"width": 5, "unit": "u", "max_buckets_per_unit": 2}),
    "texts of units": ({("A",): 900}, "g", {"unit": "u", "max_buckets_per_unit": 2}),
    "points of units": (POINT, ["x", "y"], {"width": 5, "unit": "u", "max_buckets_per_unit": 1}),
    "one value": (ONE, "x", {"width": 5, "unit": "u", "per_unit": "min"}),
    "groups": (GROUPS, "x", {"width": 5, "by": "g"}),
}
ENDS = ("min", "max")
ESTIMATES = "“About” marks an estimate: "
DRAWN = "An answer that was drawn separately is an estimate: "


@cache
def shown(shape: str, max_drop: int | None = 27, **options: Any) -> Shown:
    cells, column, parameters = SHAPES[shape]
    return Shown(spec=made(cells, column, **parameters).spec, max_drop=max_drop, **options)


def test_what_was_published() -> None:
    lost = (
        "Published with differential privacy: a random number of {}, possibly none, was left out of every bucket, and "
        "nothing was added {}."
    )
    assert published([shown("records")]) == lost.format("records", "anywhere")
    assert published([shown("units")]) == lost.format("units (u)", "anywhere")
    drawn = "were drawn separately, with noise: they are estimates, need not occur in the data, and may lie beyond all"
    both = published([shown("records", asked=ENDS)])
    assert both == f"{lost.format('records', 'to any')} Minimum and maximum {drawn} values."
    assert f"The answers asked for {drawn}" in published([shown("records", asked=("median",))])
    mixed = published([shown("records", asked=ENDS), shown("texts")])
    assert f"Minimum and maximum of x {drawn}" in mixed and "anywhere" not in mixed
    assert f"Answers about x {drawn}" in published([shown("records", asked=("median",)), shown("texts")])
    assert "bucket" not in published([shown("records", None, asked=ENDS)])


def test_what_a_page_shows_of_a_release() -> None:
    release = replace(made(ONE, width=5), records_at_most=950)
    assert Shown.of(release) == Shown(spec=release.spec, max_drop=release.max_drop, records_at_most=950)


def test_what_is_protected() -> None:
    def whom(shape: str, **options: Any) -> str:
        return protected(shown(shape).spec, **options)

    assert whom("records") == (
        "What is protected is one record: with or without it, this page would be published with nearly the same "
        "probability (how nearly, ε and δ say)."
    )
    assert whom("units") == "What is protected is one unit (u), counted in at most 2 buckets."
    assert (
        whom("units", several=True) == "What is protected is one unit (u), counted in at most 2 buckets of each column."
    )
    assert whom("points of units") == "What is protected is one unit (u), counted in at most 1 cell."
    assert (
        whom("units", bucketed=False)
        == "What is protected is one unit (u), which contributes at most 2 distinct values."
    )
    assert whom("one value") == "What is protected is one unit (u), of whose values only the lowest counts."
    many = replace(shown("units").spec, max_buckets_per_unit=2000)
    assert protected(many) == "What is protected is one unit (u), counted in at most 2 000 buckets."


def test_rows_of_a_query_are_not_called_records() -> None:
    rows = replace(shown("records"), spec=replace(shown("records").spec, of_query=True))
    assert protected(rows.spec).startswith("What is protected is one row of the given query: ")
    assert not_promised([rows])[0].startswith("One row of the given query is protected, not one person: ")
    units = replace(shown("units").spec, of_query=True)
    among = "Among the rows of the given query, what is protected is one unit (u), "
    assert protected(units) == f"{among}counted in at most 2 buckets."
    one = replace(shown("one value").spec, of_query=True)
    assert protected(one) == f"{among}of whose values only the lowest counts."


def test_what_is_not_promised() -> None:
    def whose(shape: str) -> str:
        return not_promised([shown(shape)])[0]

    _, further, everybody, _, time, right = not_promised([shown("records")])
    assert further == "Further releases of the same data are not covered. Their ε and δ add to those of this one."
    assert everybody == (
        "Facts about the population are not hidden: if most values are small, that says something about every person "
        "in the data."
    )
    assert time == "Running time is not protected: there is no defence against timing side channels."
    assert right == "Whether the data were right, complete or fairly collected is not examined."
    assert whose("records") == (
        "One record is protected, not one person: the more records a person has, the weaker the protection."
    )
    assert whose("one value") == "Each unit (u) counts once, so counts are not counts of records."
    beyond = (
        "anything beyond that was not counted, so counts are not counts of records, and nothing is guaranteed about "
        "the column itself: its median, for example, may be any other value."
    )
    assert whose("units") == f"Each unit (u) counts in at most 2 buckets; {beyond}"
    assert whose("points of units") == f"Each unit (u) counts in at most 1 cell; {beyond}"
    both = not_promised([shown("units"), shown("texts of units")])
    assert both[0] == f"Each unit (u) counts in at most 2 buckets of each column; {beyond}"
    answers = not_promised([shown("units", None, asked=ENDS)])
    assert answers[0] == f"Each unit (u) contributes at most 2 distinct values; {beyond}"
    assert everybody not in answers and "An answer need not occur in the data." in answers[2]
    assert answers[2].startswith(
        "A bound that is stated with a probability holds with that probability, not always. Of"
    )
    assert "Of several" not in not_promised([shown("units", None, asked=("max",))])[2]


def test_the_number_of_records_is_told_of_once() -> None:
    def total(*several: Shown) -> str:
        (found,) = [line for line in not_promised(several) if "number of" in line.lower()]
        return found

    estimate = "The exact number of records is not published, only an estimate of it."
    assert total(shown("records")).startswith("The number of records in the data is not published, ")
    assert total(shown("records", automatic=True)) == total(shown("records", asked=ENDS)) == estimate
    assert total(shown("texts"), shown("records", automatic=True)) == estimate
    assert total(shown("texts"), shown("records", None, automatic=True)) == estimate
    assert total(shown("units", automatic=True)) == estimate.replace("records", "units (u)")
    bound = "Only an upper bound on the number of counted records is published: 1 950"
    assert total(shown("records", records_at_most=1950)) == f"{bound}."
    assert total(shown("records", records_at_most=1950), shown("texts")) == f"{bound} for x."
    assert total(shown("units", records_at_most=1950)) == (
        "Only an upper bound on the total number of contributions of all units (u) is published: 1 950."
    )


def test_how_to_read_one_column() -> None:
    plain, asked = how_to_read([shown("records", 1027)]), how_to_read([shown("records", 1027, asked=ENDS)])
    assert "the range in which the true count certainly lies, at most 1 027 wide." in plain[0]
    assert plain[1].endswith("What is not listed may still exist, in a bucket of at most 1 027 records.")
    assert how_to_read([shown("points of units")])[1].endswith("in a cell in which at most 27 units (u) were counted.")
    held = (
        "is that of the data with a few {} left out. Single extreme cases are left out on purpose: they are what "
        "identifies people."
    )
    assert plain[2] == f"A maximum or minimum {held.format('records')}"
    counted = held.replace("the data", "what was counted")
    assert how_to_read([shown("units")])[2] == f"A maximum or minimum {counted.format('units (u)')}"
    assert "Quote ranges as they are printed, not their middles." in plain
    assert plain[-1].startswith("Do not divide by the number of records, or subtract another release of the same data")
    assert any(line.startswith(ESTIMATES) and "may lie outside the range of the data" in line for line in plain)
    assert not any(line.startswith(DRAWN) for line in plain)
    assert asked[2].startswith(DRAWN) and "may lie beyond all values" in asked[2]
    assert not any("is that of the data" in line for line in asked)
    median = how_to_read([shown("records", asked=("median",))])
    assert median[2].startswith("A maximum or minimum that is read off buckets is that of ") and DRAWN in median[3]
    for shape in ("texts", "points"):
        lines = how_to_read([shown(shape)])
        assert lines[2] == "Rare values are left out on purpose: they are what identifies people."
        assert not any(line.startswith((ESTIMATES, "A maximum")) for line in lines)
    assert "at most 27 per g wide. " in how_to_read([shown("groups")])[0]
    assert how_to_read([shown("records", None, asked=ENDS)]) == []


def test_how_to_read_several_columns() -> None:
    lines = how_to_read([shown("records", 149), shown("points", 149), shown("texts", 57)])
    assert len(lines) == len(set(lines)) and sum(line.startswith("Every number") for line in lines) == 1
    assert "at most 149 for x and x and y, or 57 for g wide. " in lines[0]
    assert lines[1].endswith("of at most 149 records for x and x and y, or 57 records for g.")
    same = how_to_read([shown("records", 57), shown("texts", 57)])
    assert "at most 57 wide. " in same[0] and same[1].endswith("of at most 57 records.")


@pytest.mark.parametrize(
    ("shape", "who", "spot"), [("records", "Records", "bucket"), ("points of units", "Units (u)", "cell")]
)
def test_how_it_was_made(shape: str, who: str, spot: str) -> None:
    lost = f"A random number of them, from 0 to 1 027, was then left out of every {spot}"
    counted, weights, version = how_it_was_made([shown(shape, 1027)], "9.9")
    assert counted == (
        f"{who} were counted by {spot}. {lost} that held any; the rest is published. An empty {spot} stays empty."
    )
    assert weights.endswith("proof of privacy is in the appendix.") and version == "Made with flexdp 9.9."


def test_how_several_columns_were_made() -> None:
    chosen, drawn, tables, counted, weights, version = how_it_was_made(
        [shown("records", 149, asked=ENDS, automatic=True), shown("texts", 57)], "9.9"
    )
    assert chosen.startswith("Buckets of x were chosen first, ") and "are open, so that no value" in chosen
    assert (
        drawn.startswith("The number of values is first estimated with noise.") and version == "Made with flexdp 9.9."
    )
    assert all(line.endswith("is in the section of each column.") for line in (tables, weights))
    assert "from 0 to 149 for x, or 57 for g, was then left out of every bucket" in counted
    bounded = made(ONE, width=5, bounds=(0, 50)).spec
    assert "open" not in how_it_was_made([Shown(spec=bounded, max_drop=9, automatic=True)], "9.9")[0]
    assert [line[:16] for line in how_it_was_made([shown("records", None, asked=ENDS, automatic=True)], "1")] == [
        "The number of va", "Every choice fol", "Made with flexdp",
    ]  # fmt: skip


def test_notes_on_groups() -> None:
    grouped = made({("A", 6): 900, ("B", 7): 90}, width=5, by="g").by_group()
    words = Words(shown("groups").spec, 27)
    extremes = [grouped["A"].max(), grouped["B"].min()]
    lost = "at most 27 records per bucket and g were left out, and may lie beyond the highest and the lowest shown."
    assert group_note(words, extremes) == f"Each group by itself: {lost}"
    estimates = group_note(words, [*extremes, grouped["A"].median()])
    assert estimates.startswith(f"Each group by itself: {lost} “About” marks ")
    assert group_note(words, [grouped["A"].mean()]).startswith("Each group by itself. “About” marks an estimate: ")
    assert group_note(words, []) == "Each group by itself."
    assert "exact" not in estimates


def test_an_open_end_of_a_group_is_not_called_exact() -> None:
    release = made({("A", 0): 900, ("A", 1): 900, ("B", 0): 90}, by="g", width=5)
    edges = OpenEdges.of("number", [Cut(Fraction(0), False), Cut(Fraction(10), False)])
    grouped = replace(release, spec=replace(release.spec, partitions=(edges,))).by_group()
    words = Words(shown("groups").spec, 27)
    ends = [grouped["A"].min(), grouped["B"].min(), grouped["A"].median()]
    assert ends[0].accuracy is None and ends[0].text == "below 0"
    certain = "Where a range is open on one side, only its closed end is guaranteed."
    assert certain in group_note(words, ends) and "exact" not in group_note(words, ends)
    assert grouped["A"].max().text == "0–10 or more"
    told = group_note(words, [*ends, grouped["A"].max()])
    assert f"may lie beyond the highest and the lowest shown. {certain}" in told and "exact" not in told
