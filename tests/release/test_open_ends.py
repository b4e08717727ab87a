"""Answers in the outermost buckets of bounds that clamp: nothing is said of values beyond, and limits are named."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from html import unescape
from typing import Any

import numpy as np
import pytest
from _support.published import published

import flexdp
from flexdp._release.claims import Claim
from flexdp.accounting.budget import Budget
from flexdp.buckets.ends import is_open
from flexdp.buckets.parse import make_buckets
from flexdp.statistics import IQR, Max, Mean, Min

SPEND: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}
FAR = [10.0] * 2000 + [1_000_000.0] * 2000
SHAPES: dict[str, dict[str, Any]] = {
    "width": {"width": 10, "bounds": (0, 200)},
    "edges": {"edges": [0, 50, 190, 200]},
    "relative": {"relative": 0.1, "bounds": (1, 200)},
    "exact": {"exact": True, "bounds": (0, 200)},
}


def certain(answer: flexdp.Answer, quantity: Any) -> list[Claim]:
    """The claims of a quantity that hold always."""
    return [claim for claim in answer.claims if claim.quantity == quantity and claim.is_certain]


@pytest.mark.parametrize("shape", SHAPES)
def test_values_beyond_the_bounds_are_not_limited_in_what_is_said_of_the_column(shape: str) -> None:
    """Half the values are 10, half a million; the median is 10, the 75th percentile a million, the mean 500 005."""
    released = flexdp.release(FAR, kind="number", **SHAPES[shape], **SPEND)
    truth = {"max": 1e6, "range": 999_990.0, "q0.75": 1e6, "q0.99": 1e6, "iqr": 999_990.0}
    asked = {
        "max": released.max(),
        "range": released.range(),
        "q0.75": released.quantile("0.75"),
        "q0.99": released.quantile("0.99"),
        "iqr": released.iqr(),
    }
    for name, answer in asked.items():
        assert answer.text.endswith(" or more"), (name, answer.text)
        assert answer.value <= truth[name] and (answer.interval is None or answer.interval[1] == math.inf)
        for claim in answer.claims:
            assert claim.population.limits is None
            if claim.is_certain and claim.quantity in (Max(), IQR()):
                assert claim.lower <= truth[name] and claim.upper is None
    mean = released.mean()
    limits = (1, 200) if shape == "relative" else (0, 200)
    assert str(mean).startswith(f"Mean value, limited to {limits[0]}–200: about ")
    for claim in certain(mean, Mean()):
        assert claim.population.limits == limits and claim.lower <= 105 <= claim.upper  # (10 + 200) / 2
        assert f"of the values limited to {limits[0]}–200 is guaranteed" in str(mean)


def test_within_bounds_that_drop_nothing_is_open() -> None:
    """The control: such values were not counted, so the ends are those of the bounds."""
    released = flexdp.release([*[10.0] * 2000, *[195.0] * 2000], kind="number", width=10, bounds=(0, 200),
                              outside="drop", **SPEND)  # fmt: skip
    assert released.max().text == "190–200" and "limited" not in str(released.mean())
    assert released.quantile("0.99").interval == (190.0, 200.0) and released.iqr().interval == (170.0, 190.0)


def test_an_interquartile_range_with_an_open_end_is_at_least_the_distance_of_the_edges() -> None:
    answer = published({(1,): 1990, (19,): 1985}, width=10, bounds=(0, 200)).iqr()
    assert (answer.text, answer.interval) == ("170 or more", (170.0, math.inf))
    assert str(answer).endswith("The exact interquartile range is guaranteed to be at least 170.")


@pytest.mark.parametrize("months", [False, True])
def test_months_and_days_beyond_the_bounds(months: bool) -> None:
    first = make_buckets("date", width="1 month", bounds=("2024-01-01", "2024-12-31")).first if months else 0
    last = first + (11 if months else 365)
    width = "1 month" if months else "1 day"
    released = published({(first + 3,): 900, (last,): 900}, "day", width=width, bounds=("2024-01-01", "2024-12-31"))
    assert is_open(released.partition, last, above=True) and not is_open(released.partition, last - 1, above=True)
    assert released.max().text.endswith(" or later") and released.quantile("0.9").text.endswith(" or later")
    assert released.iqr().text.endswith(" or more") and released.max().accuracy is None


@pytest.mark.parametrize("seed", range(3))
def test_a_quantile_in_the_open_end_of_automatic_buckets_is_its_edge(seed: int) -> None:
    """A group of few but large costs: what lies in the last bucket is "78 000 or more", not an extrapolated million."""
    rng = np.random.default_rng(seed)
    costs = rng.lognormal(8, 1.3, 20_000).round(2)
    released = flexdp.release(costs.tolist(), kind="number", **SPEND)
    reader = released._reader  # the buckets alone: no maximum was asked for that closes the end
    last = released.partition.edges_of(released.bars.keys[-1:])[0]
    if last.upper == math.inf:
        from flexdp.statistics import Quantile

        found = reader.quantile(Quantile("0.9999"), Fraction(9999, 10_000))
        assert found.value == last.lower and found.opened is not None
        assert released._told(found).text.endswith("or more")


@pytest.mark.parametrize(("ones", "rows"), [(428, 1000), (9000, 30_000)])
def test_the_mean_of_booleans_is_a_share(ones: int, rows: int) -> None:
    flags = [True] * ones + [False] * (rows - ones)
    released = flexdp.release(flags, kind="boolean", **SPEND)
    mean = released.mean()
    low, high = mean.interval or (0, 0)
    drop = released.max_drop
    assert abs(mean.value - ones / rows) <= drop / rows
    assert low <= ones / rows <= high and high - low <= 2 * drop / (rows - 2 * drop), "no wider than what may be lost"
    assert str(mean).startswith("Share of records with the values true: about ")
    assert mean.text.endswith("%") and " The exact share is guaranteed to lie between " in str(mean)
    total = released.sum()
    assert isinstance(total.value, int) and abs(total.value - ones) <= drop
    assert total.interval is not None and total.interval[0] <= ones <= total.interval[1]
    assert total.interval[1] - total.interval[0] == drop, "what the bucket of true may have lost"
    assert str(total).startswith("Number of records with the values true: about ")
    assert released.count().interval == (released.bars.size, released.bars.size + 44), "both values are public"
    with pytest.raises(flexdp.InputError, match="needs a column of numbers"):
        released.max()


def test_sums_and_means_of_integers_state_no_half_step() -> None:
    """Buckets of one integer: nothing was rounded, and what is certain is what may have been lost."""
    released = published({(0,): 57_200, (1,): 42_800}, "i", width=1, bounds=(0, 1), outside="drop")
    low, high = released.mean().interval or (0, 0)
    assert (Fraction(low), Fraction(high)) == (
        pytest.approx(Fraction(42_800, 100_027)),
        pytest.approx(Fraction(42_827, 100_027)),
    )
    assert released.sum().interval == (42_800, 42_827) and isinstance(released.sum().value, int)
    assert str(released.sum()) == (
        "Sum of i (within 0–1): about 42 814. The exact sum is guaranteed to lie between 42 800 and 42 827."
    )


def test_what_all_buckets_lose_makes_intervals_of_means_and_sums_narrower() -> None:
    """Ten buckets may have lost 162 records together: 27 in each of six of them."""
    cells = {(place,): 500 for place in range(10)}
    options: dict[str, Any] = {"width": 10, "bounds": (0, 100), "outside": "drop"}
    limited = published(cells, **options)
    assert limited.budget is not None and limited.budget.limited is not None and limited.budget.limited.total == 162
    free = replace(limited, budget=Budget(1, "1e-6"))
    assert limited.sum().interval == (500 * sum(range(0, 100, 10)), 500 * sum(range(10, 110, 10)) + 27 * 450)
    for name in ("mean", "sum", "count"):
        (low, high), (least, most) = getattr(limited, name)().interval, getattr(free, name)().interval
        assert least <= low < high <= most and (name == "mean" or high - low < most - least)


def test_digits_follow_the_error() -> None:
    """A hundredth of how far an estimate can be off; integers stay integers, and the value keeps what was computed."""
    cents = published({(i,): 900 for i in range(10)}, width=1000, bounds=(0, 10_000), outside="drop")
    median = cents.median()
    low, high = median.interval or (0, 0)
    assert median.text == f"about {round(median.value, -1):.0f}" and low <= median.value <= high
    whole = published({(i,): 900 for i in range(10)}, "i", width=1000).quantile("0.123")
    assert isinstance(whole.value, int) and whole.text == f"about {round(whole.value, -1)}"
    assert cents.mean().text == "about 5000"


def test_counts_are_estimates_with_certain_ends_everywhere() -> None:
    released = published({(6,): 5584, (7,): 50}, width=5)
    assert [(tally.about, tally.lower, tally.upper) for tally in released.tallies] == [
        (5598, 5584, 5611), (64, 50, 77),
    ]  # fmt: skip
    assert list(released.counts().value.values()) == [5584, 50], "the lower ends, as in JSON"
    columns = released.columns_of_bars()
    assert (columns["count"], columns["about"], columns["at_most"]) == ([5584, 50], [5597.5, 63.5], [5611, 77])
    page = "".join(" " if letter.isspace() else letter for letter in unescape(released.to_html()))
    assert "5 598" in page and "5 611" in page
    assert released.top(1).text == "30–35 with about 5 598 (certainly 5 584 to 5 611)"
    assert released.count().text == "about 5 661 (certainly at least 5 634)"


@pytest.mark.parametrize("word", ["max", "min", "range"])
def test_what_may_lie_beyond_an_extreme_is_named(word: str) -> None:
    """Twelve records in a bucket beyond: they may be lost, and the sentence leaves room for them."""
    values = [0.5] * 12 + [10.5] * 900 + [20.5] * 900 + [30.5] * 12
    lost = 0
    for _ in range(20):
        answer = getattr(flexdp.release(values, kind="number", width=1, **SPEND), word)()
        truth = {"max": 30.5, "min": 0.5, "range": 30.0}[word]
        for claim in answer.claims:
            if claim.relation == "is" and claim.quantity.__class__.__name__.lower() == word:
                assert claim.lower is None or claim.lower <= truth
                assert claim.upper is None or truth <= claim.upper
        lost += abs(answer.value - truth) > 2
        assert "exact" not in str(answer) and answer.text.endswith((" or more", " or less"))
    assert lost, "the control: some releases have lost them"


def test_asked_ends_close_open_buckets_of_the_same_values_only() -> None:
    rng = np.random.default_rng(5)
    ids = [i // 2 for i in range(8000)]
    table = {"cost": rng.lognormal(5, 1, 8000).round(2).tolist(), "id": ids}
    kinds: dict[str, Any] = {"kind": "number", "ask": ["min", "max"], **SPEND}
    plain = flexdp.release(table, "cost", **kinds)
    assert [fact.quantity for fact in plain._buckets().facts] == [Min(), Max()]
    assert not plain.quantile("0.999").text.endswith("or more")
    capped = flexdp.release(table, "cost", unit="id", unit_kind="integer", max_buckets_per_unit=2, **kinds)
    assert not capped._buckets().facts, "buckets and asked answers count other values there"
    assert capped.quantile("0.9999").text.endswith("or more")


def test_asked_ends_of_limited_values_close_no_bucket_of_values_as_they_were_read() -> None:
    """All records are 1.7e9, the limits 5 and 12.5, the highest was asked for: the median was 'about 12.5'."""
    released = flexdp.release([1.7e9] * 4000, kind="number", edges=[5, 7, 12.5], ask=["range", "count"], **SPEND)
    assert released.max().text == "about 12.5" and "limited to 5–12.5" in str(released.max())
    assert released.median().text == "7 or more"


def test_an_interquartile_range_with_an_open_end_has_few_digits() -> None:
    released = flexdp.release([10] * 2000 + [10**6] * 2000, relative=0.1, bounds=(1, 200), epsilon=1, delta=1e-6)
    told = released.iqr()
    assert (
        told.text.endswith(" or more")
        and len(told.text) < 16
        and f"at least {told.text.removesuffix(' or more')}." in str(told)
    )


def test_very_large_numbers_are_written_alike() -> None:
    """A double of 24 digits is 6.02e+23 in all answers, whether it was drawn, estimated or certain."""
    released = flexdp.release(6.02e23 * np.linspace(0.9, 1.1, 3000), epsilon=1, delta=1e-6)
    answers = [released.max(), released.min(), released.median(), released.mean(), released.std(), released.sum()]
    assert not [str(each) for each in answers if "000 000" in str(each)]
