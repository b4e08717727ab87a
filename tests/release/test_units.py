"""Privacy units: each counts once a bar and in few bars, whatever its records; the privacy of the whole is exact."""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from _support.private import private_bars, private_counts
from hypothesis import example, given, settings
from hypothesis import strategies as st

import flexdp
from flexdp import InputError, Release
from flexdp._release.api import prepare
from flexdp.accounting.budget import Budget
from flexdp.noise import DropNoise

SALT = "fixed"


def tally(frame: Any, **parameters: Any) -> Counter[tuple[Any, ...]]:
    bars = private_bars(prepare(frame, "x", width=10, kind="integer", **parameters), SALT)
    return Counter(dict(zip(bars.rows(slice(None)), bars.counts.tolist(), strict=True)))


def chosen(rows: list[tuple[Any, str | None, int | None]], most: int, *, grouped: bool) -> Counter[tuple[Any, ...]]:
    """The rule, written once more in Python: of each unit's bars, those with the smallest salted hash."""
    of_unit: dict[Any, set[tuple[Any, ...]]] = defaultdict(set)
    for unit, group, x in rows:
        if unit is not None and x is not None and (group is not None or not grouped):
            of_unit[unit].add((group, x // 10) if grouped else (x // 10,))
    out: Counter[tuple[Any, ...]] = Counter()
    for unit, bars in of_unit.items():

        def digest(bar: tuple[Any, ...], unit: Any = unit) -> str:
            parts = [f"{len(part)}.{part}" if isinstance(part, str) else str(part) for part in bar]
            return hashlib.md5(":".join([SALT, str(unit), *parts]).encode()).hexdigest()

        out.update(sorted(bars, key=digest)[:most])
    return out


UNITS = ["u1", "u2", "ü:3", "u:4", "1"]
row = st.tuples(
    st.one_of(st.none(), st.sampled_from(UNITS)),
    st.one_of(st.none(), st.sampled_from(["a", "b", "a:1", "日本"])),
    st.one_of(st.none(), st.integers(-60, 60)),
)


# A count takes long and its rows hardly any time: six tables, with units of their own, are counted as one.
tables = st.lists(st.lists(row, max_size=40), min_size=6, max_size=6).map(
    lambda many: [
        (unit if unit is None else f"{unit}{'' if not place else f' {place}'}", group, x)
        for place, rows in enumerate(many)
        for unit, group, x in rows
    ]
)


@settings(max_examples=10)
@example([], 1, False)
@given(tables, st.integers(1, 4), st.booleans())
def test_each_unit_is_in_few_bars_once(rows: list[Any], most: int, grouped: bool) -> None:
    frame = pl.DataFrame(rows, schema={"id": pl.String, "g": pl.String, "x": pl.Int64}, orient="row")
    by = {"by": "g"} if grouped else {}
    assert tally(frame, unit="id", max_buckets_per_unit=most, **by) == chosen(rows, most, grouped=grouped)


@settings(deadline=None, max_examples=12)
@given(st.lists(row, min_size=1, max_size=40), st.integers(1, 3), st.sampled_from(["k", "max", "min", "random"]))
def test_one_unit_changes_at_most_k_bars_by_one(rows: list[Any], most: int, rule: str) -> None:
    schema = {"id": pl.String, "g": pl.String, "x": pl.Int64}
    how: dict[str, Any] = {"max_buckets_per_unit": most} if rule == "k" else {"per_unit": rule}
    counts = tally(pl.DataFrame(rows, schema=schema, orient="row"), unit="id", by="g", **how)
    for unit in {row[0] for row in rows}:
        left = [row for row in rows if row[0] != unit]
        fewer = tally(pl.DataFrame(left, schema=schema, orient="row"), unit="id", by="g", **how)
        assert not fewer - counts
        changed = counts - fewer
        limit = most if rule == "k" else 1
        assert all(n == 1 for n in changed.values()) and len(changed) <= (0 if unit is None else limit)


@settings(max_examples=8)
@example([], "max", True)
@given(tables, st.sampled_from(["max", "min"]), st.booleans())
def test_one_value_of_each_unit(rows: list[Any], rule: str, grouped: bool) -> None:
    frame = pl.DataFrame(rows, schema={"id": pl.String, "g": pl.String, "x": pl.Int64}, orient="row")
    best = max if rule == "max" else min
    read = [(u, g, x) for u, g, x in rows if u is not None and x is not None and (g is not None or not grouped)]
    extreme = {u: best(x // 10 for v, _, x in read if v == u) for u, _, _ in read}
    counts = tally(frame, unit="id", per_unit=rule, **({"by": "g"} if grouped else {}))
    by_bucket: Counter[int] = Counter()
    for bar, n in counts.items():
        by_bucket[bar[-1]] += n
    assert by_bucket == Counter(extreme.values())
    if grouped:  # the group is one in which the unit has that value
        options = {u: {g for v, g, x in read if v == u and x // 10 == extreme[u]} for u in extreme}
        for (group, bucket), n in counts.items():
            assert n <= sum(group in options[u] for u in extreme if extreme[u] == bucket)


def test_means_of_units_are_of_their_own_values_alone() -> None:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"id": rng.integers(0, 50, 3000), "x": rng.normal(0, 1e3, 3000)})
    request = prepare(frame, "x", unit="id", unit_kind="integer", per_unit="mean", width=10)
    bars = private_bars(request)
    counts = dict(zip(bars.parts[0].tolist(), bars.counts.tolist(), strict=True))
    means = frame.groupby("id")["x"].mean()
    assert counts == Counter(np.floor(means / 10).astype(int).tolist())
    # In any order of the rows, with anything added for other units, a unit's mean is the same to the last bit.
    exact = {unit: math.fsum(part) for unit, part in frame.groupby("id")["x"]}
    assert len(exact) == 50
    for seed in range(3):
        mixed = frame.sample(frac=1, random_state=seed)
        more = pd.concat([mixed, pd.DataFrame({"id": [99] * 500, "x": rng.normal(0, 1e6, 500)})])
        said = {"unit": "id", "unit_kind": "integer", "per_unit": "mean", "kind": "number"}
        fine = [private_bars(prepare(each, "x", **said)) for each in (frame, more)]
        assert set(fine[0].parts[0].tolist()) <= set(fine[1].parts[0].tolist())
        assert len(fine[1]) - len(fine[0]) == 1


def test_a_heavy_unit_counts_no_more_than_others() -> None:
    heavy = pl.DataFrame({"id": [1] * 100_000, "x": list(range(100_000))})
    light = pl.DataFrame({"id": list(range(2, 1002)), "x": [5] * 1000})
    before = tally(light, unit="id", max_buckets_per_unit=3)
    after = tally(pl.concat([light, heavy]), unit="id", max_buckets_per_unit=3)
    assert sum((after - before).values()) == 3 and not before - after
    top = tally(pl.concat([light, heavy]), unit="id", per_unit="max")
    assert top == Counter({(0,): 1000, (9999,): 1})


def test_a_fresh_salt_chooses_afresh() -> None:
    frame = pl.DataFrame({"id": [1] * 64, "x": [10 * i for i in range(64)]})
    request = prepare(frame, "x", width=10, unit="id", max_buckets_per_unit=1)
    seen = {private_bars(request, f"{salt}").parts[0].tolist()[0] for salt in range(12)}
    assert len(seen) > 3  # three values or fewer in twelve draws of 64 have a chance below 1e-12
    assert "salt" in flexdp.query(frame, "x", width=10, unit="id", max_buckets_per_unit=1)


def divergence(first: dict[Any, Fraction], second: dict[Any, Fraction], epsilon: Fraction) -> Fraction:
    """δ at ε, rounded down in e^ε, so that what it shows to exceed does exceed."""
    growth = Fraction(math.nextafter(math.exp(epsilon), math.inf))
    return sum((max(Fraction(0), p - growth * second.get(key, Fraction(0))) for key, p in first.items()), Fraction(0))


def law(noise: DropNoise, height: int) -> dict[int, Fraction]:
    out: dict[int, Fraction] = defaultdict(Fraction)
    for drop, weight in enumerate(noise.weights):
        out[max(0, height - drop)] += Fraction(weight, 2**noise.bits)
    return dict(out)


def joint(*laws: dict[int, Fraction]) -> dict[tuple[int, ...], Fraction]:
    return {
        tuple(key for key, _ in part): math.prod((p for _, p in part), start=Fraction(1))
        for part in product(*(each.items() for each in laws))
    }


@pytest.mark.parametrize(("epsilon", "delta", "most"), [("3", "0.05", 2), ("4", "0.1", 3), ("2", "0.3", 2)])
def test_the_privacy_of_a_unit_in_several_bars_is_exact(epsilon: str, delta: str, most: int) -> None:
    budget = Budget(epsilon, delta, most=most)

    def worst(noise: DropNoise) -> Fraction:
        found = Fraction(0)
        for heights in product([0, 1, noise.q, noise.q + 2], repeat=most):
            before = joint(*(law(noise, height) for height in heights))
            after = joint(*(law(noise, height + 1) for height in heights))
            found = max(found, *(divergence(*pair, budget.epsilon) for pair in ((before, after), (after, before))))
        return found

    assert worst(budget.bars) <= budget.delta
    assert worst(DropNoise(epsilon, delta)) > budget.delta  # noise that knows of one bar only would not do


@pytest.mark.parametrize("most", [1, 2])
def test_the_privacy_of_bars_and_total_together_is_exact(most: int) -> None:
    budget = Budget("4", "0.2", most=most, certify="0.3")
    assert budget.paid is not None
    added = {j: Fraction(w, 2**budget.paid.bits) for j, w in enumerate(budget.paid.weights)}

    def both(heights: tuple[int, ...]) -> dict[tuple[int, ...], Fraction]:
        n = sum(heights)
        return joint(*(law(budget.bars, height) for height in heights), {n + j: p for j, p in added.items()})

    for heights in product([0, 1, 5], repeat=most):
        more = tuple(height + 1 for height in heights)
        for pair in ((both(heights), both(more)), (both(more), both(heights))):
            assert divergence(*pair, budget.epsilon) <= budget.delta
    # The bound alone, for a step of k: what its share of the budget allows, and no step of k with one of its own.
    share = budget.share or 0
    shifted = {j + most: p for j, p in added.items()}
    assert divergence(added, shifted, budget.epsilon * share) <= budget.delta * share
    if most > 1:
        single = DropNoise(budget.epsilon * share, budget.delta * share)
        own = {j: Fraction(w, 2**single.bits) for j, w in enumerate(single.weights)}
        assert divergence(own, {j + most: p for j, p in own.items()}, budget.epsilon * share) > budget.delta * share


def test_the_reach_is_that_of_the_mathematics() -> None:
    assert [Budget(1, "1e-6", most=k).bars.q for k in (1, 2, 5, 10)] == [28, 54, 133, 264]


def test_what_a_release_by_unit_says() -> None:
    frame = pl.DataFrame({"id": [i % 3000 for i in range(9000)], "x": [i % 40 for i in range(9000)]})
    capped = {"unit": "id", "max_buckets_per_unit": 2, "cap_report": False}
    released = flexdp.release(frame, "x", epsilon=1, delta="1e-6", width=10, bounds=(0, 39), **capped)
    assert released.max_drop == 53
    assert str(released.max()) == (
        "Highest x, each unit (id) once in at most 2 ranges: 30 or more. So counted, this is certain; the highest "
        "value is not known."
    )
    assert released.conditions == (
        "Counted: readable values of x limited to 0–39, in records with id.",
        "What counts is each unit (id) once in at most 2 ranges; nothing is guaranteed about the column itself.",
    )
    assert "So counted, it has about " in str(released.mode())
    assert "for each id: an observer who was 50% sure that a given id is in the data" in str(released.privacy)
    text = released.to_json()
    assert Release.from_json(text).to_json() == text
    lowest = flexdp.release(frame, "x", epsilon=1, delta="1e-6", unit="id", per_unit="max", exact=True).min()
    assert str(lowest).startswith("Lowest x per unit (id), taking each unit's highest: ")


def test_a_certified_total_bounds_what_was_left_out() -> None:
    values = [i % 50 for i in range(5000)]
    released = flexdp.release(values, epsilon=1, delta="1e-6", kind="integer", certify="0.05", exact=True)
    total = released.records_at_most
    assert total is not None and 5000 <= total <= 5000 + released.budget.paid.max_drop
    alpha = released.support().accuracy.alpha
    assert (5000 - released.bars.size) / 5000 <= alpha == pytest.approx((total - released.bars.size) / total)
    spend = {"epsilon": 1, "delta": "1e-6", "exact": True}
    empty = flexdp.release(np.empty(0), certify="0.05", **spend)
    draws = {flexdp.release(np.empty(0), certify="0.5", **spend).records_at_most for _ in range(40)}
    assert empty.records_at_most is not None and len(draws) > 1  # noise also where nothing is
    text = released.to_json()
    assert Release.from_json(text).to_json() == text
    with pytest.raises(InputError):
        Release.from_json(text.replace(f'"records_at_most": {total}', '"records_at_most": 5'))


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"unit": "x", "max_buckets_per_unit": 1}, "must not be the released column"),
        ({"unit": "g", "by": "g", "max_buckets_per_unit": 1}, "must not be in by"),
        ({"unit": "id"}, "max_buckets_per_unit is missing"),
        ({"unit": "id", "max_buckets_per_unit": 0}, "max_buckets_per_unit"),
        ({"unit": "id", "max_buckets_per_unit": 1.5}, "max_buckets_per_unit"),
        ({"unit": "id", "per_unit": "first"}, "per_unit must be"),
        ({"unit": "id", "per_unit": "max", "max_buckets_per_unit": 2}, "must be 1 with per_unit"),
        ({"unit": "id", "per_unit": "mean", "by": "g"}, "lies in none of them"),
        ({"unit": "ratio", "max_buckets_per_unit": 1}, "integers, texts or dates"),
        ({"unit": "idd", "max_buckets_per_unit": 1}, "Did you mean 'id'"),
        ({"max_buckets_per_unit": 1}, "needs unit"),
        ({"per_unit": "max"}, "needs unit"),
        ({"certify": 0}, "certify"),
        ({"certify": 1}, "certify"),
        ({"certify": "x"}, "certify"),
    ],
)
def test_bad_units_are_refused(parameters: dict[str, Any], words: str) -> None:
    frame = pl.DataFrame({"id": [1], "g": ["a"], "x": [5], "ratio": [0.5]})
    with pytest.raises(InputError, match=words):
        flexdp.release(frame, "x", epsilon=1, delta=1e-6, width=10, **parameters)
    texts = pl.DataFrame({"id": [1], "w": ["a"]})
    with pytest.raises(InputError, match="per_unit='random'"):
        flexdp.release(texts, "w", epsilon=1, delta=1e-6, unit="id", per_unit="max")


def test_bounds_are_those_of_the_means() -> None:
    """Whether outside means are moved or left out, what is tested is the mean, and rounding does not move it out."""
    table = pa.table({"v": [0.0, 100.0] * 300, "u": [i // 2 for i in range(600)]})
    shared = {"unit": "u", "per_unit": "mean", "width": 1, "bounds": (0, 10)}
    assert private_counts(table, "v", **shared) == {9.5: 300}
    assert private_counts(table, "v", **shared, outside="drop") == {}
    assert private_counts(table, "v", **{**shared, "bounds": (0, 90)}, outside="drop") == {50.5: 300}
    alike = pa.table({"v": [0.1] * 700, "u": [i // 7 for i in range(700)]})
    for bounds in ((0, "0.1"), ("0.1", 3)):
        for outside in ("clamp", "drop"):
            counts = private_counts(alike, "v", unit="u", per_unit="mean", width="0.05", bounds=bounds, outside=outside)
            assert sum(counts.values()) == 100, (bounds, outside)


def test_records_that_lack_a_group_or_a_unit_are_not_spoken_of() -> None:
    table = pa.table({"v": [1.5] * 300 + [9.5] * 300, "g": ["a"] * 300 + [None] * 300, "u": list(range(600))})
    spend = {"epsilon": 1, "delta": "1e-6", "width": 1}
    by = flexdp.release(table, "v", by="g", **spend)
    assert str(by.max()).startswith("Highest v: 1–2 or more. At most 27 records per bucket and g were left out; ")
    assert by.conditions == ("Counted: readable values of v, in records with g.",)
    assert str(by.by_group()["a"].max()).startswith(
        "Highest v (g a): 1–2 or more. At most 27 records per bucket were left out; "
    )
    both = flexdp.release(table, "v", by="g", unit="u", max_buckets_per_unit=2, cap_report=False, **spend)
    assert both.conditions == (
        "Counted: readable values of v, in records with g and u.",
        "What counts is each unit (u) once in at most 2 ranges across all groups; nothing is guaranteed about the "
        "column itself.",
    )
    assert "So counted, at most 53 units (u) per bucket and g were left out; " in str(both.max())
    one = flexdp.release(table, "v", by="g", unit="u", per_unit="max", **spend)
    assert str(one.max()).startswith("Highest v per unit (u), taking each unit's highest: 1–2 or more. ")
    assert one.conditions[1] == "Each unit (u) counts once, with its highest v, in the group that has it."


def test_a_certificate_tells_how_the_budget_is_shared() -> None:
    table = pa.table({"v": [1.5] * 900, "u": list(range(900))})
    shared = flexdp.release(
        table, "v", epsilon=1, delta="1e-6", width=1, unit="u", max_buckets_per_unit=2, certify="0.1", cap_report=False
    ).certificate()
    assert shared.evidence.holds and shared.total_evidence is not None and shared.total_evidence.holds
    assert shared.evidence.epsilon == Fraction("0.45") and shared.total_evidence.epsilon == Fraction("0.05")
    said = str(shared)
    assert "divided among 2 buckets with ε = 0.45" in said and "the total with ε = 0.05" in said
    assert "Proof for each bucket: " in said and "Proof for the total: " in said
    alone = flexdp.release(table, "v", epsilon=1, delta="1e-6", width=1).certificate()
    assert alone.total_evidence is None and "divided" not in str(alone) and "Proof: " in str(alone)


def test_what_is_said_where_nothing_survived() -> None:
    table = pa.table({"v": [1.5] * 3, "g": ["a"] * 3, "u": [1, 2, 3]})
    spend = {"epsilon": 1, "delta": "1e-6", "width": 1}
    alone = str(flexdp.release(table, "v", **spend).max())
    assert alone == (
        "Nothing survived, so there is no highest v to report. "
        "A bucket is certain to be published only if it holds at least 28 records."
    )
    capped = {"unit": "u", "max_buckets_per_unit": 1, "cap_report": False}
    by = str(flexdp.release(table, "v", by="g", **capped, **spend).max())
    assert (
        by.startswith("Nothing survived, so there is no highest v to report. A bucket is certain")
        and "28 units (u)" in by
    )
    left = flexdp.release(table, "v", by="g", groups=["a"], **spend).by_group()["a"].max()
    assert str(left).startswith("Nothing survived, so there is no highest v (g a) to report. ")


def test_a_page_bounds_what_counts_and_not_the_records() -> None:
    table = pa.table({"v": [5.0] * 900 + [None] * 900, "u": [i % 450 for i in range(1800)]})
    page = flexdp.release(table, "v", epsilon=8, delta="1e-3", width=10, certify="0.2").to_html()
    assert "Only an upper bound on the number of counted records is published: " in page
    units = flexdp.release(
        table, "v", epsilon=8, delta="1e-3", width=10, certify="0.2", unit="u", max_buckets_per_unit=1
    )
    assert "Only an upper bound on the total number of contributions of all units (u) is published: " in units.to_html()


def test_the_mechanism_of_a_release_promises_what_the_release_does() -> None:
    table = {"pid": [str(i % 40) for i in range(400)], "age": [float(i % 7) for i in range(400)]}
    asked: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "width": 1, "bounds": (0, 7)}
    release = flexdp.release(pa.table(table), "age", unit="pid", max_buckets_per_unit=2, cap_report=False, **asked)
    assert release.mechanism.privacy == release.privacy and release.privacy.unit == "pid"
    plain = flexdp.release(pa.table(table), "age", **asked)
    told = plain.mechanism.privacy
    assert told is not None and (told.epsilon, told.delta, told.unit) == (1, plain.privacy.delta, "record")
