"""Answers word for word, of bars that are given: every kind of column, group and unit has its own words.

At ε = 1 and δ = 1e-6 a bucket loses 0 to 27 records, 13.5 on average, so that one of 28 records is always present.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal
from typing import Any

import pytest
from _support.published import published

import flexdp
from flexdp import Release
from flexdp._release.answers import Reading
from flexdp._release.sentences import Words, short_name
from flexdp.statistics import Range

LOST = "At most 27 records per bucket were left out"
LISTED = "Every bucket with at least 28 records is listed; others may be missing."
MOVED = f"{LOST} and every value was moved to the middle of its bucket, by at most 2.5"
MOVED = f"{MOVED}; this is the result for such data."
HOLDS = "about 914 records (certainly 900 to 927)"
ONE, TWO = {(6,): 900}, {(6,): 900, (7,): 50}  # 30–35 and 35–40, where buckets have width 5


IN_ALL = LOST.replace("per bucket", "per bucket, and at most 162 in total,")


def rest(where: str, word: str = "highest", higher: str = "in each higher bucket", lost: str = LOST) -> str:
    """What is said of an extreme in a bucket, beyond which others may have been lost."""
    of_each = " of each g" if " and g " in lost else ""
    return f"{lost}; up to 27{of_each} may lie {higher}, and apart from those the {word} {where}."


def lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def asked(released: Release, word: str) -> str:
    """The answer to a query by its name and, after a colon, its number."""
    name, _, number = word.partition(":")
    if name == "debiased":
        return str(released.counts(debias=True))
    if name == "applied":
        return str(released.apply(len))
    return str(getattr(released, name)(*([int(number)] if number else [])))


def check(released: Release, sentences: dict[str, str]) -> None:
    for word, sentence in sentences.items():
        assert asked(released, word) == sentence


def test_buckets() -> None:
    check(
        published(TWO, width=5),
        {
            "max": f"Highest x: 35–40 or more. {rest('lies in 35–40')}",
            "min": f"Lowest x: 30–35 or less. {rest('lies in 30–35', 'lowest', 'in each lower bucket')}",
            "range": f"Range of x: 0–10 or more. {rest('lies in 0–10', 'range', 'in each bucket beyond the two ends')}",
            "median": f"Median x: about 32.67. {LOST}; among the rest it lies in 30–35.",
            "mode": f"Fullest bucket of x: 30–35. It has {HOLDS}; no other bucket has more than 77.",
            "support": f"Buckets of x that hold records: 30–35, 35–40. {LISTED}",
            "top:1": (
                "Fullest bucket of x: 30–35 with about 914 (certainly 900 to 927). No other bucket has more than 77."
            ),
            "top:3": (
                "3 fullest buckets of x: 30–35 with about 914 (certainly 900 to 927), 35–40 with about 64 "
                "(certainly 50 to 77). No other bucket has more than 27."
            ),
            "max_at_least:60": (
                f"Highest bucket of x with at least 60 records: 30–35. It has {HOLDS}; no higher bucket has more than "
                "77."
            ),
            "max_at_least:1": (
                "Highest bucket of x with at least 1 record: 35–40. It has about 64 records (certainly 50 to 77); no "
                "higher bucket has more than 27."
            ),
            "max_at_least:2000": (
                "Highest bucket of x with at least 2 000 records: none. No bucket has more than 927."
            ),
            "counts": "Counts of x in 2 buckets: each lower end is at most 27 too low and never too high.",
            "debiased": (
                "Counts of x in 2 buckets, with 13.5 added to each, the mean number of records that it loses: unbiased "
                "for buckets of at least 28 records; such a count may exceed the true one."
            ),
            "count": (
                "Number of records: about 977 (certainly at least 950). Records of buckets that were left out entirely "
                "are not included, so the exact number may be far higher."
            ),
            "applied": f"Result of len for x: 2. {MOVED}",
        },
    )


def test_public_buckets_tell_how_much_can_lie_beyond() -> None:
    """Ten buckets, of which the third is there: 7, 2 and 9 others can have lost 27 records each, and 162 in all."""
    up = Context(prec=3, rounding=ROUND_CEILING)
    share = {many: f"{up.divide(Decimal(2700 * many), Decimal(900 + 27 * many))}%" for many in (2, 6)}
    share |= dict.fromkeys((7, 9, 10), share[6])  # 162 records in all
    total = f"At most {share[10]} of what was counted was left out in total."
    check(
        published({(2,): 900}, width=5, bounds=(0, 50)),
        {
            "max": (
                f"Highest x: 10–15 or more. {rest('lies in 10–15', lost=IN_ALL)} At most {share[7]} of what was "
                "counted lies in higher buckets."
            ),
            "min": (
                f"Lowest x: 10–15 or less. {rest('lies in 10–15', 'lowest', 'in each lower bucket', IN_ALL)} At most "
                f"{share[2]} of what was counted lies in lower buckets."
            ),
            "range": (
                "Range of x: 0–5 or more. "
                f"{rest('lies in 0–5', 'range', 'in each bucket beyond the two ends', IN_ALL)} "
                f"At most {share[9]} of what was counted lies in buckets beyond the two ends."
            ),
            "support": f"Buckets of x that hold records: 10–15. {LISTED} {total}",
            "median": "Median x: about 12.5. The exact median is guaranteed to lie between 10 and 15.",
        },
    )
    check(
        published({(9,): 900}, width=5, bounds=(0, 50), outside="drop"),
        {"max": "Highest x (within 0–50): 45–50. This is certain.", "counts": (
            "Counts of x (within 0–50) in 1 bucket: each lower end is at most 27 too low and never too high."
        )},
    )  # fmt: skip


def test_a_paid_total() -> None:
    """All that is missing are 50 of 950 records, or one."""
    certified = published({(6,): 900}, width=5, records_at_most=950)
    check(
        certified,
        {
            "max": (
                f"Highest x: 30–35 or more. {rest('lies in 30–35')} At most 5.27% of what was counted lies in higher "
                "buckets."
            ),
            "support": (
                f"Buckets of x that hold records: 30–35. {LISTED} At most 5.27% of what was counted was left out in "
                "total."
            ),
        },
    )
    assert certified.certificate().promises[-1] == (
        "At most 50 records were left out in total (certified with part of the privacy budget)."
    )
    nothing = published({(6,): 900}, width=5, records_at_most=900)  # is missing
    check(nothing, {"median": "Median x: about 32.5. It lies in 30–35.", "max": "Highest x: 30–35. This is certain."})
    one = published({(6,): 900}, width=5, records_at_most=901).certificate().promises
    assert one[-1] == "At most 1 record was left out in total (certified with part of the privacy budget)."


def test_values_and_texts_are_their_own_buckets() -> None:
    check(
        published({(2.0,): 900, (3.0,): 40}, exact=True),
        {
            "max": f"Highest x: 3 or more. {rest('is 3', higher='at each higher value')}",
            "median": f"Median x: about 2. {LOST}; among the rest it is 2.",
            "mode": f"Most frequent value of x: 2. It has {HOLDS}; no other value has more than 67.",
            "support": f"Values of x that occur: 2, 3. {LISTED.replace('bucket', 'value')}",
            "top:2": (
                "2 most frequent values of x: 2 with about 914 (certainly 900 to 927), 3 with about 54 (certainly 40 "
                "to 67). No other value has more than 27."
            ),
            "max_at_least:60": (
                f"Highest value of x with at least 60 records: 2. It has {HOLDS}; no higher value has more than 67."
            ),
        },
    )
    check(
        published({("A",): 900}, "g"),
        {
            "top:1": (
                "Most frequent value of g: A with about 914 (certainly 900 to 927). No other value has more than 27."
            )
        },
    )


def test_relative_buckets() -> None:
    moved = "every value was moved to the middle of its bucket, by at most 25% of that middle"
    released = published(ONE, "i", relative="0.25")
    assert str(released.apply(len)).endswith(f". {LOST} and {moved}; this is the result for such data.")


def test_groups() -> None:
    lost = "At most 27 records per bucket and g were left out"
    released = published({("A", 6): 900, ("B, b", 7): 50}, width=5, by="g")
    check(
        released,
        {
            "max": f"Highest x: 35–40 or more. {rest('lies in 35–40', lost=lost)}",
            "mode": "Fullest bucket of x: 30–35. It has about 914 records (certainly at least 900).",
            "counts": "Counts of x in 2 buckets: each lower end is at most 27 too low per g and never too high.",
        },
    )
    check(
        released.by_group()["B, b"],
        {
            "max": f"Highest x (g 'B, b'): 35–40 or more. {rest('lies in 35–40')}",
            "counts": ("Counts of x (g 'B, b') in 1 bucket: each lower end is at most 27 too low and never too high."),
        },
    )
    check(
        published({("A", 6): 900}, width=5, by="g", groups=["A", "B"]),
        {
            "max": f"Highest x (declared groups of g): 30–35 or more. {rest('lies in 30–35', lost=lost)}",
            "mode": (
                "Fullest bucket of x (declared groups of g): 30–35. It has about 914 records (certainly 900 to 954); "
                "no other bucket has more than 54."
            ),
            "counts": (
                "Counts of x (declared groups of g) in 1 bucket: each lower end is at most 54 too low and never "
                "too high."
            ),
            "debiased": (
                "Counts of x (declared groups of g) in 1 bucket, with 27 added to each, the mean number of records "
                "that it loses: unbiased for buckets of at least 28 records in each g; such a count may exceed the "
                "true one."
            ),
        },
    )


def test_units() -> None:
    lost, once = "At most 27 units (u) per bucket were left out", "each unit (u) in one range"
    check(
        published(ONE, width=5, unit="u", max_buckets_per_unit=1),
        {
            "max": f"Highest x, {once}: 30–35 or more. So counted, {lower(rest('lies in 30–35', lost=lost))}",
            "mode": (
                f"Fullest bucket of x, {once}: 30–35. So counted, it has about 914 units (certainly 900 to 927); no "
                "other bucket has more than 27."
            ),
            "support": (
                f"Buckets of x that hold units, {once}: 30–35. So counted, "
                f"{lower(LISTED.replace('records', 'units (u)'))}"
            ),
            "count": (
                "Number of units (u): about 914 (certainly at least 900). Units of buckets that were left out entirely "
                "are not included, so the exact number may be far higher."
            ),
            "debiased": (
                f"Counts of x in 1 bucket, {once}, with 13.5 added to each, the mean number of units that it loses: "
                "unbiased for buckets of at least 28 units (u); such a count may exceed the true one."
            ),
        },
    )
    for which, word in (("max", "highest"), ("min", "lowest"), ("mean", "mean")):
        one = published(ONE, width=5, unit="u", per_unit=which)
        assert str(one.max()).startswith(f"Highest x per unit (u), taking each unit's {word}: 30–35 or more. {lost}; ")
        assert str(one.median()).startswith(f"Median x per unit (u), taking each unit's {word}: about 32.5. {lost}; ")
        assert f"Each unit (u) counts once, with its {word} x." in one.conditions
    for which, word in (("max", "latest"), ("min", "earliest")):
        one = published(ONE, "day", width="1 day", unit="u", per_unit=which)
        assert str(one.min()).startswith(
            f"Earliest day per unit (u), taking each unit's {word}: 1970-01-07 or earlier. "
        )


def test_dates() -> None:
    check(
        published({(19723,): 900}, "day", width="1 day"),
        {
            "max": f"Latest day: 2024-01-01 or later. {rest('is 2024-01-01', 'latest', 'in each later bucket')}",
            "min": (
                f"Earliest day: 2024-01-01 or earlier. {rest('is 2024-01-01', 'earliest', 'in each earlier bucket')}"
            ),
            "max_at_least:60": (
                f"Latest bucket of day with at least 60 records: 2024-01-01. It has {HOLDS}; no later bucket has more "
                "than 27."
            ),
        },
    )
    hours = published({(0,): 900}, "seen", width="1 hour")
    assert (str(hours.max())[:11], str(hours.min())[:13]) == ("Latest seen", "Earliest seen")
    assert str(hours.max_at_least(60)).startswith("Latest bucket of seen with at least 60 records: ")
    for which, word in (("max", "latest"), ("min", "earliest")):
        one = published({(0,): 900}, "seen", width="1 hour", unit="u", per_unit=which)
        assert str(one.max()).startswith(f"Latest seen per unit (u), taking each unit's {word}: ")
    public = published({(1,): 900}, "seen", width="1 day", bounds=("2024-01-01", "2024-01-04"))
    assert str(public.max()).endswith(" of what was counted lies in later buckets.")
    bounded = published({(1,): 900}, "day", width="1 day", bounds=("2024-01-01", "2024-01-03"))
    assert str(bounded.max()).endswith(" of what was counted lies in later buckets.")
    assert str(bounded.min()).endswith(" of what was counted lies in earlier buckets.")


def test_points() -> None:
    lost = "At most 27 records per cell were left out"
    listed, two = LISTED.replace("bucket", "cell"), {(1, 2): 900, (3, 2): 40}
    moved = f"{lost} and every value was moved to the middle of its cell, by at most 3.53554; this is the result for"
    points = published(two, ["x", "y"], width=5)
    check(
        points,
        {
            "mode": f"Fullest cell of (x, y): (5–10, 10–15). It has {HOLDS}; no other cell has more than 67.",
            "support": f"Cells of (x, y) that hold records: (5–10, 10–15); (15–20, 10–15). {listed}",
            "counts": "Counts of (x, y) in 2 cells: each lower end is at most 27 too low and never too high.",
            "applied": f"Result of len for (x, y): 2. {moved} such data.",
        },
    )
    check(
        points.marginal("x"),
        {
            "max": (
                "Highest x: 15–20 or more. "
                + rest("lies in 15–20", higher="in each cell of each higher bucket", lost=lost)
            ),
            "support": f"Buckets of x that hold records: 5–10, 15–20. {listed}",
            "counts": ("Counts of x in 2 buckets: each lower end is at most 27 too low per cell and never too high."),
        },
    )
    check(
        published({(1.0, 2.0): 900}, ["x", "y"], exact=True),
        {"support": f"Points of (x, y) that occur: (1, 2). {listed}"},
    )
    bounded = published(two, ["x", "y"], width=5, bounds=[(0, 50), (0, 100)], outside="drop")
    assert str(bounded.mode()).startswith("Fullest cell of (x, y) (within 0–50 × 0–100): (5–10, 10–15). ")
    assert str(bounded.marginal("y").counts()) == (
        "Counts of y (within 0–100, the others within their bounds) in 1 bucket: each lower end is at most 270 "
        "too low and never too high."
    )


def test_filters() -> None:
    long = " OR ".join(f"y = {i}" for i in range(30))
    assert str(published(ONE, width=5, where="y > 1").max()) == (
        f"Highest x (where y > 1): 30–35 or more. {rest('lies in 30–35')}"
    )
    cut = published(ONE, width=5, where=long)
    assert str(cut.max()).startswith("Highest x (where y = 0 OR y = 1 OR ") and "y = 29" not in str(cut.max())
    assert cut.conditions == (f"Counted: readable values of x, in records where {long}.",)


@pytest.mark.parametrize(
    ("word", "missing"),
    [
        ("max", "is no highest x"),
        ("median", "is no median x"),
        ("mode", "is no fullest bucket of x"),
        ("top:1", "is no fullest bucket of x"),
        ("top:2", "are no 2 fullest buckets of x"),
        ("support", "are no buckets of x that hold records"),
        ("counts", "are no counts of x"),
        ("count", "is no number of records"),
        ("applied", "is no result of len for x"),
    ],
)
def test_nothing_is_left(word: str, missing: str) -> None:
    assert asked(published({}, width=5), word) == (
        f"Nothing survived, so there {missing} to report. A bucket is certain to be published only if it holds at "
        "least 28 records."
    )


def test_long_lists_are_cut() -> None:
    many = published({(i,): 900 - i for i in range(30)}, width=5)
    buckets = [f"{5 * i}–{5 * i + 5}" for i in range(30)]
    assert many.support().text == f"{', '.join(buckets[:8])}, … (30 in total)"
    told = [
        f"{each} with about {round(913.5 - i)} (certainly {900 - i} to {927 - i})" for i, each in enumerate(buckets)
    ]
    assert many.top(21).text == ", ".join(told[:20]) + ", … (21 in total)"
    assert many.top(20).text == ", ".join(told[:20])
    eight: dict[Any, int] = {(i,): 1900 for i in range(8)}
    assert published(eight, width=5).support().text == ", ".join(buckets[:8])
    assert published({(0,): 1900, (1,): 50}, width=5).counts().text == (
        "0–5: about 1 914 (certainly 1 900 to 1 927), 5–10: about 64 (certainly 50 to 77)"
    )


def test_what_no_double_holds() -> None:
    words = Words(published(ONE, width=5).spec, 27)
    for said, marks in (("larger", {"too_large": True}), ("known to within more", {"too_wide": True})):
        answer = words.answer(Reading(question=Range(), value=None, **marks))
        assert answer.statement == f"Range of x: {said} than a double can hold."


def test_one_record() -> None:
    released = published(ONE, width=5)
    accuracy = published({(2.0,): 900}, exact=True).max().accuracy
    assert accuracy is not None
    one, none = Words(released.spec, 1), Words(released.spec, 0)
    assert one.loss(accuracy) == "At most 1 record per bucket was left out; this is the result for the rest."
    assert none.loss(accuracy) == "This is exact."


def test_accuracies_name_what_counts_and_where_it_is_lost() -> None:
    def told(released: Any) -> tuple[str, str]:
        return released.max().accuracy.counted, released.max().accuracy.place

    grouped = published({("A", 6): 900}, width=5, by="g")
    assert told(published(ONE, width=5)) == ("record", "each bucket")
    assert told(grouped) == ("record", "each bucket of each g") and told(grouped.by_group()["A"]) == told(
        published(ONE, width=5)
    )
    assert told(published(ONE, width=5, unit="u", max_buckets_per_unit=1)) == ("unit", "each bucket")
    assert told(published({(1, 2): 900}, ["x", "y"], width=5).marginal("x")) == ("record", "each cell")


def test_names_and_views() -> None:
    released = published({("A", 6): 900}, width=5, by="g")
    assert released.counts().name == "counts" and released.quantile("0.99").name == "99th percentile"
    assert repr(released.by_group()["A"]).startswith("<View of x (g A): ")
    long = "x" * 70
    assert short_name(long) == f"{'x' * 59}…" and short_name("a, b") == "'a, b'"


def test_where_every_public_bucket_is_listed_there_is_no_other() -> None:
    both = flexdp.release([True] * 400 + [False] * 900, kind="boolean", epsilon=1, delta=1e-6)
    assert " that occur: False, True. This list is complete. At most 3.3" in str(both.support())
    assert "other value" not in str(both.top(2)) and "no other value has more than" in str(both.top(1)).lower()
    one = flexdp.release([True] * 400, kind="boolean", epsilon=1, delta=1e-6)
    assert "others may be missing" in str(one.support())
