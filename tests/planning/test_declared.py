"""Plans of several releases: what tight composition saves if all are declared beforehand."""

from __future__ import annotations

from fractions import Fraction

import pytest

import flexdp
from flexdp.accounting.budget import Budget


@pytest.mark.parametrize(("many", "most"), [(52, 1), (30, 2)])
def test_declared_releases_fit_the_total_and_lose_fewer(many: int, most: int) -> None:
    advice = flexdp.plan(epsilon=1, delta="1e-6", releases=many, max_buckets_per_unit=None if most == 1 else most)
    each = advice.document()["declared_beforehand"]
    budget = Budget(each["epsilon"], each["delta"], most=most)
    assert budget.bars.max_drop == each["max_drop"] and advice.chosen is not None
    assert each["max_drop"] + each["saved"] == advice.chosen.max_drop
    assert flexdp.compose([budget] * many, delta="1e-6").epsilon <= 1
    assert Fraction(each["epsilon"]) > Fraction(1, many)
    assert f"If all {many} releases are declared beforehand, each may use ε = {each['epsilon']}" in str(advice)


@pytest.mark.parametrize("many", [1, 2, 10])
def test_where_nothing_is_saved_nothing_is_said(many: int) -> None:
    advice = flexdp.plan(epsilon=1, delta="1e-6", releases=many)
    assert advice.document()["declared_beforehand"] is None and "beforehand" not in str(advice)
    assert flexdp.plan(delta="1e-6", releases=52).declared is None  # no ε is chosen yet
