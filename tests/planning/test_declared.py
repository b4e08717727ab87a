"""Plans of several releases: what tight composition saves if all are declared beforehand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import polars as pl
import pytest

import flexdp
from flexdp.accounting.budget import Budget
from flexdp.guarantees import Privacy


@pytest.mark.parametrize(("many", "most", "reported"), [(52, None, True), (30, 2, False), (30, 2, True), (52, 1, True)])
def test_declared_releases_fit_the_total_and_lose_fewer(many: int, most: int | None, *, reported: bool) -> None:
    planned = flexdp.plan(epsilon=1, delta="1e-6", releases=many, max_buckets_per_unit=most, cap_report=reported)
    each = planned.document()["declared_beforehand"]
    whole = Privacy(epsilon=each["epsilon"], delta=each["delta"])
    told = whole.epsilon / 25 if reported and most else Fraction(0)  # of the cap
    budget = Budget(whole.epsilon - told, whole.delta, most=most or 1)
    parts = [budget] if not told else [budget, replace(budget.privacy(), epsilon=told, delta=Fraction(0))]
    assert budget.bars.max_drop == each["max_drop"] and planned.chosen is not None
    assert each["max_drop"] + each["saved"] == planned.chosen["max_drop"]
    assert flexdp.compose(parts * many, delta="1e-6").epsilon <= 1
    assert Fraction(each["epsilon"]) > Fraction(1, many)
    assert f"If all {many} releases are declared beforehand, each may use ε = {each['epsilon']}" in str(planned)


def test_released_counts_of_units_are_composed_with_their_buckets() -> None:
    """The releases that a plan declares beforehand, really made, spend no more than was planned."""
    each = flexdp.plan(epsilon=1, delta="1e-6", releases=30, max_buckets_per_unit=2).document()["declared_beforehand"]
    table = pl.DataFrame({"x": [float(i % 50) for i in range(20_000)], "u": [i // 4 for i in range(20_000)]})
    own = {"epsilon": each["epsilon"], "delta": each["delta"], "unit": "u", "max_buckets_per_unit": 2}
    one = flexdp.release(table, "x", width=10, bounds=(0, 50), **own)
    assert one.caps and one.max_drop == each["max_drop"]
    assert flexdp.compose([one] * 30, delta="1e-6").epsilon <= 1 < 30 * one.privacy.epsilon


@pytest.mark.parametrize("many", [1, 2, 10])
def test_where_nothing_is_saved_nothing_is_said(many: int) -> None:
    planned = flexdp.plan(epsilon=1, delta="1e-6", releases=many)
    assert planned.document()["declared_beforehand"] is None and "beforehand" not in str(planned)
    assert flexdp.plan(delta="1e-6", releases=52).declared is None  # no ε is chosen yet
