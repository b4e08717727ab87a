"""Counts, sums, means and spreads that are read off buckets."""

from __future__ import annotations

import itertools
import math
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from _support.command import flexdp as run
from hypothesis import given, settings
from hypothesis import strategies as st

import flexdp
from flexdp import Histogram, InputError
from flexdp._release.answers import Reader
from flexdp._release.moments import moment
from flexdp._release.sentences import Words
from flexdp._release.spec import Spec
from flexdp.buckets.open_edges import OpenEdges
from flexdp.noise import DropNoise, TotalNoise
from flexdp.statistics import Count, Mean

SPEND: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}
CLOSED: dict[str, Any] = {**SPEND, "kind": "integer", "width": 2, "bounds": (0, 5)}  # 0–1, 2–3, 4–5
DROP = DropNoise(1, "1e-6").max_drop


def test_intervals_are_those_of_all_tables_that_the_counts_allow() -> None:
    released = flexdp.release([0] * 200 + [3] * 150 + [4] * 90, **CLOSED)
    counts = [dict(released.bars.items()).get(index, 0) for index in range(3)]
    lows, highs = (0, 2, 4), (1, 3, 5)
    means, sums, sizes = [], [], []
    for more in itertools.product(range(DROP + 1), repeat=3):
        if sum(more) > released.budget.limited.total:
            continue
        held = [count + extra for count, extra in zip(counts, more, strict=True)]
        for ends in (lows, highs):
            total = sum(records * end for records, end in zip(held, ends, strict=True))
            means.append(Fraction(total, sum(held)))
            sums.append(total)
        sizes.append(sum(held))
    low, high = released.mean().interval or (0, 0)
    assert low <= min(means) and max(means) <= high
    assert math.isclose(low, min(means), rel_tol=1e-15) and math.isclose(high, max(means), rel_tol=1e-15)
    assert released.sum().interval == (min(sums), max(sums))
    assert released.count().interval == (min(sizes), max(sizes))


@given(st.lists(st.integers(0, 5), min_size=100, max_size=300))
@settings(max_examples=30)
def test_intervals_hold_the_truth_and_the_estimate(ages: list[int]) -> None:
    released = flexdp.release(ages, **CLOSED)
    for answer, truth in (
        (released.mean(), sum(ages) / len(ages)),
        (released.sum(), sum(ages)),
        (released.count(), len(ages)),
    ):
        if answer.value is not None:
            assert answer.interval is not None
            assert answer.interval[0] <= truth <= answer.interval[1]
            assert answer.interval[0] <= answer.value <= answer.interval[1]


def test_a_loss_beyond_the_largest_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control of the test above: with records lost beyond what is stated, the interval misses the truth."""
    ages = [0] * 150 + [5] * 150
    far = lambda _, counts: np.maximum(counts - np.arange(len(counts)) * 4 * DROP, 0)  # noqa: E731
    monkeypatch.setattr(TotalNoise, "thin", far)
    released = flexdp.release(ages, **CLOSED)
    low, high = released.count().interval or (0, 0)
    assert not low <= len(ages) <= high


def test_estimates_are_close_where_buckets_are_narrow() -> None:
    rng = np.random.default_rng(3)
    ages = rng.integers(0, 100, 50_000)
    released = flexdp.release(ages, **SPEND, width=5, bounds=(0, 120))
    assert abs(released.count().value - 50_000) < 60  # 20 buckets, each with a standard deviation of about 1.5
    assert abs(released.mean().value - ages.mean()) < 0.2
    assert abs(released.std().value - ages.std()) < 0.3
    assert released.std().interval is None and "no error bound is guaranteed" in released.std().statement


def test_open_ends_promise_nothing_and_name_the_better_question() -> None:
    costs = np.random.default_rng(4).lognormal(7, 1.2, 20_000)
    released = flexdp.release(costs, **SPEND)
    mean = released.mean()
    assert (
        mean.interval is None
        and 'ask=["mean"], or --ask mean.' in mean.statement
        and "no error bound is guaranteed" in mean.statement
    )
    assert 0.5 < mean.value / costs.mean() < 2
    low, high = released.count().interval or (0, 0)
    assert low <= 20_000 <= high < 22_000, "a count does not care where the records lie"


def test_a_poor_mean_is_called_poor_and_the_better_question_named() -> None:
    rng = np.random.default_rng(8)
    costs, ages = rng.lognormal(5, 1, 5000), rng.integers(0, 100, 5000)
    thin = flexdp.release(costs, **SPEND, width=100)
    for answer, word in ((thin.mean(), "mean"), (thin.sum(), "sum")):
        assert "This estimate may be poor: the outermost buckets hold few records" in answer.statement
        assert answer.statement.endswith(f'error: ask=["{word}"], or --ask {word}.')
    assert "This estimate may be poor" in thin.std().statement and "ask" not in thin.std().statement
    wide = flexdp.release(costs, **SPEND, width=100, bounds=(0, 3000)).mean().statement
    assert ", which is wide: the estimate may be poor. Ask for it directly" in wide
    for options in ({"width": 5}, {"width": 5, "bounds": (0, 100)}):
        good = flexdp.release(ages, **SPEND, **options).mean().statement
        assert "poor" not in good, options
    open_end = flexdp.release(costs, **SPEND).mean().statement
    assert "which is unreliable for long tails; no error bound is guaranteed. Ask" in open_end


def test_groups_and_units() -> None:
    import polars as pl

    table = pl.DataFrame({"age": [33, 71] * 900, "ward": ["A", "A", "B", "B"] * 450, "id": range(1800)})
    by = flexdp.release(table, "age", **SPEND, width=5, bounds=(0, 100), by="ward", groups=["A", "B"])
    assert all(abs(answer.value - 900) < 20 for answer in by.by_group().count().values())
    assert all(abs(answer.value - 52) < 2 for answer in by.by_group().mean().values())
    assert abs(by.count().value - 1800) < 40
    units = flexdp.release(table, "age", **SPEND, width=5, unit="id", max_buckets_per_unit=1)
    assert units.count().statement.startswith("Number of units (id): about 1")
    assert units.count().text.startswith("about 1 ")  # as every number of records is written
    several = flexdp.release(table, "age", **SPEND, width=5, unit="id", max_buckets_per_unit=2)
    with pytest.raises(InputError, match="a unit may count in several buckets"):
        several.count()


def test_estimates_of_unknown_error_are_told_in_four_digits() -> None:
    released = flexdp.release([2**70] * 500, **SPEND, kind="integer", exact=True)
    assert released.mean().text == "about 1.181e+21"
    assert "read off the released values" in released.mean().statement


def test_nothing_survived() -> None:
    released = flexdp.release([1], **CLOSED)
    assert released.mean().value is None and "no mean value to report" in released.mean().statement
    assert released.count().value is None


def test_no_mean_of_one_bucket_that_holds_everything() -> None:
    """Automatic buckets may come to that: an answer, since the release has been paid for by then."""
    partition = OpenEdges("number", ())
    index = Histogram.from_counts({0: 500})
    reader = Reader(partition=partition, noise=DropNoise(1, "1e-6"), mean=Fraction(27, 2), index=index, centres=index)
    words = Words(Spec(columns=("cost",), partitions=(partition,)), DROP)
    told = moment(reader, words, Mean())
    assert told.value is None and told.text == "any value" and told.statement.startswith("Mean cost: any value. One ")
    assert moment(reader, words, Count()).value >= 500


@pytest.mark.parametrize("kind", ["date", "text"])
def test_no_mean_of_what_are_not_numbers(kind: Any) -> None:
    released = flexdp.release(["2024-01-01"] * 300, **SPEND, kind=kind, exact=True)
    assert abs(released.count().value - 300) < 30
    for answer in (released.mean, released.sum, released.std):
        with pytest.raises(InputError, match=f"needs a column of numbers; this one is {kind}") as refusal:
            answer()
        assert ("median" in str(refusal.value)) == (kind == "date"), "a text has no median"


def test_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age\n" + "33\n71\n" * 900)
    line = ["release", "t.csv", "age", "-e", 1, "-d", "1e-6", "--width", 5, "--bounds", "0:100"]
    words = ("count", "sum", "mean", "std", "iqr", "p99")
    told = run(*line, *(part for word in words for part in ("-s", word)), cwd=tmp_path)
    assert told.returncode == 0
    for name in ("Sum of age", "Mean age", "Standard deviation of age"):
        assert f"{name}, limited to 0–100: about " in told.stdout
    for name in ("Number of records", "99th percentile of age"):
        assert f"{name}: about " in told.stdout
    refused = run("release", "t.csv", "age", "-e", 1, "-d", "1e-6", "--kind", "date", "-s", "mean", cwd=tmp_path)
    assert refused.returncode == 2 and "--stat: the mean needs a column of numbers; this one is date" in refused.stderr


def test_a_count_says_that_vanished_buckets_are_not_in_it() -> None:
    values = [5.0] * 200 + [float(value) for value in range(1000, 3000)]
    for options, spots in (({"exact": True}, "values"), ({"width": 1}, "buckets")):
        answer = flexdp.release(values, kind="number", **options, **SPEND).count()
        low = 200 - DROP
        assert answer.interval is not None and low <= answer.interval[0] <= 200 and answer.interval[1] == math.inf
        told = (
            f"Records of {spots} that were left out entirely are not included, so the exact number may be far higher."
        )
        assert answer.statement.endswith(f" (certainly at least {answer.interval[0]}). {told}")
    public = flexdp.release(values, kind="number", width=1000, bounds=(0, 3000), **SPEND).count().statement
    assert "not included" not in public and re.fullmatch(
        r"Number of records: about [0-9 ]+ \(certainly .+ to .+\)\.", public
    )


def test_a_mean_that_was_answered_by_group_is_not_advised_again() -> None:
    table = {"x": [float(i % 900) for i in range(3000)], "g": [i % 2 for i in range(3000)]}
    options: dict[str, Any] = {"by": "g", "by_kind": "integer", "groups": [0, 1], "width": 100, "kind": "number"}
    asked = flexdp.release(table, "x", ask=["mean"], **options, **SPEND).mean().statement
    assert "It was asked for and answered by group: only the mean of each group has a bound on its error." in asked
    assert "--ask" not in asked
    assert "--ask mean" in flexdp.release(table, "x", **options, **SPEND).mean().statement


@pytest.mark.parametrize("scale", [1e-27, 1e-9, 1.0, 1e20])
def test_spreads_of_any_magnitude_have_digits(scale: float) -> None:
    values = scale * np.repeat([1.25, 2.25], [1000, 1000])
    released = flexdp.release(values, **SPEND, width=scale / 2)
    assert released.std().value == pytest.approx(scale / 2, rel=0.01) and released.std().text != "about 0"


def test_the_number_of_records_of_a_listed_group_has_a_largest_end() -> None:
    """The buckets of a group that is published are public, however many other groups there are."""
    table = pa.table({"v": [1.0] * 900, "g": ["a"] * 900})
    made = flexdp.release(table, "v", by="g", epsilon=1, delta=1e-6, width=50, bounds=(0, 100))
    group = made.by_group().count()["a"]
    assert group.interval == (made.histogram.size, made.histogram.size + 2 * made.max_drop)
    assert "far higher" not in str(group) and "far higher" in str(made.count())


def test_a_positive_estimate_is_not_printed_as_zero_however_wide_its_ends_are() -> None:
    """The finding: "Sum of v: about 0" of 2000 × 10 and 2000 × 1 000 000 in two buckets of very different widths."""
    values = [10] * 2000 + [1_000_000] * 2000
    made = flexdp.release(values, kind="integer", epsilon=1, delta="1e-6", edges=[0, 50, 2_000_000], outside="drop")
    assert made.mean().text != "about 0" and made.sum().text != "about 0"
    low, high = made.sum().interval
    assert low <= sum(values) <= high
    even = flexdp.release(
        [-1e6] * 20_000 + [1e6] * 20_000, epsilon=1, delta="1e-6", edges=[-2e6, 0, 2e6], outside="drop"
    )
    assert even.mean().text == "about 0", "the control: no sign is known"
