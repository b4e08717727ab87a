"""Laws: against enumeration written anew, against closed forms, and planted laws that lack mass or are off."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexdp import InputError, distribution
from flexdp.distribution import (
    Distribution,
    GeometricLaw,
    Independent,
    LaplaceLaw,
    Law,
    TooManyOutcomesError,
    Whole,
    point,
    read_law,
)

HALF, ZERO = Fraction(1, 2), Fraction(0)
weights = st.dictionaries(st.integers(0, 4), st.integers(0, 9), min_size=1).filter(lambda w: sum(w.values()) > 0)
epsilons = st.sampled_from([ZERO, Fraction(3, 10), Fraction(1), Fraction(17, 10)])


def brute_force(one: dict[Any, Fraction], other: dict[Any, Fraction], epsilon: Fraction) -> float:
    return float(sum(max(0.0, float(p) - math.exp(epsilon) * float(other.get(k, 0))) for k, p in one.items()))


@given(a=weights, b=weights, epsilon=epsilons)
def test_a_divergence_is_the_sum_of_the_excess(a: dict[int, int], b: dict[int, int], epsilon: Fraction) -> None:
    one, other = Distribution.weighted(a), Distribution.weighted(b)
    found = one.divergence(other, epsilon)
    for way, (p, q) in ((found.forward, (one, other)), (found.backward, (other, one))):
        assert float(way.upper) == pytest.approx(brute_force(p.masses, q.masses, epsilon), abs=1e-12)
        assert way.lower <= way.upper <= way.lower + Fraction(1, 10**40)
    assert found.covered == 1


@given(a=weights, b=weights, c=weights, d=weights, epsilon=epsilons)
def test_independent_parts_are_compared_as_their_product(
    a: dict[int, int], b: dict[int, int], c: dict[int, int], d: dict[int, int], epsilon: Fraction
) -> None:
    laws = [Distribution.weighted(each) for each in (a, b, c, d)]
    one, other = (Independent({"x": p, "y": q}) for p, q in (laws[:2], laws[2:]))
    by_part, whole = one.divergence(other, epsilon), one.listed().divergence(other.listed(), epsilon)
    joint = {(i, j): p * q for (i, p), (j, q) in product(laws[0].masses.items(), laws[1].masses.items())}
    assert {(x, y): p for ((_, x), (_, y)), p in one.listed().masses.items()} == joint
    for way, exact in ((by_part.forward, whole.forward), (by_part.backward, whole.backward)):
        assert abs(way.upper - exact.upper) < Fraction(1, 10**40)
    assert one.divergence(one, epsilon).parts == ()  # one and the same object tells nothing


@given(a=weights, b=weights)
def test_steps_follow_one_another(a: dict[int, int], b: dict[int, int]) -> None:
    one, other = Distribution.weighted(a), Distribution.weighted(b)
    sums: dict[int, Fraction] = {}
    for (i, p), (j, q) in product(one.masses.items(), other.masses.items()):
        sums[i + j] = sums.get(i + j, ZERO) + p * q
    assert one.bind(lambda i: other.push(lambda j: i + j)).masses == sums
    assert one.chance(lambda i: i > 1) == sum((p for i, p in one.masses.items() if i > 1), ZERO)
    low, dense = one.dense
    assert {low + i: p for i, p in enumerate(dense.tolist()) if p} == one.masses
    mixed = Distribution.mix([(HALF, one), (HALF, other)])
    assert all(mixed.masses[i] == (one.masses.get(i, ZERO) + other.masses.get(i, ZERO)) / 2 for i in mixed.masses)


def test_errors_and_missing_mass_are_added_to_every_bound() -> None:
    """Planted: a law that lacks an eighth, and one that may be off by a tenth."""
    whole = Distribution.weighted({0: 1, 1: 1})
    lacks = Distribution({0: Fraction(3, 8), 1: HALF})
    found = lacks.divergence(whole, ZERO)
    assert found.forward.upper == Fraction(1, 8) and found.followed == Fraction(1, 8) == found.backward.upper
    assert found.covered == Fraction(7, 8) and lacks.missing == Fraction(1, 8)
    same = lacks.divergence(Distribution(dict(lacks.masses)), ZERO)
    assert same.forward.upper == Fraction(1, 8) and same.followed == 0 == same.forward.lower
    off = Distribution(whole.masses, Fraction(1, 10))
    assert off.divergence(whole, ZERO).forward == (0, Fraction(1, 10))
    steps = off.bind(lambda _: Distribution(whole.masses, Fraction(1, 20)))
    assert steps.error == Fraction(3, 20) and off.push(str).error == Fraction(1, 10)
    assert Independent({0: off, 1: off}).listed().error == Fraction(1, 5)
    assert Distribution.mix([(HALF, off), (HALF, whole)]).error == Fraction(1, 20)


def test_geometric_noise_is_compared_in_finitely_many_rows() -> None:
    one, other, rate = GeometricLaw(3, HALF), GeometricLaw(7, HALF), HALF
    shown = range(-150, 160)
    for epsilon in (ZERO, HALF, Fraction(19, 10), 4 * rate):
        found = one.divergence(other, epsilon)
        listed = one.listed(shown).divergence(other.listed(shown), epsilon)
        assert abs(found.forward.upper - listed.forward.upper) < Fraction(1, 10**30)
        assert float(found.forward.upper) == pytest.approx(
            brute_force(one.listed(shown).masses, other.listed(shown).masses, epsilon), abs=1e-12
        )
    assert one.divergence(GeometricLaw(3, HALF), ZERO).forward.upper == 0
    r = math.exp(-0.5)
    assert float(one.listed([5]).masses[5]) == pytest.approx((1 - r) / (1 + r) * r**2, rel=1e-12)
    two = Independent({0: one, 1: GeometricLaw(0, HALF)}, lambda parts: tuple(parts.values()))
    assert len(two.listed([1, 2, 3]).masses) == 9
    with pytest.raises(InputError, match="same noise"):
        one.divergence(GeometricLaw(3, Fraction(1)), ZERO)


def test_laplace_has_a_closed_form() -> None:
    one, other = LaplaceLaw(Fraction(0), Fraction(2)), LaplaceLaw(Fraction(6), Fraction(2))
    found = one.divergence(other, Fraction(1))
    assert float(found.forward.upper) == pytest.approx(1 - math.exp(-1), rel=1e-12)
    grid = np.linspace(-80, 86, 1_000_001)
    p, q = (np.exp(-np.abs(grid - centre) / 2) / 4 * (grid[1] - grid[0]) for centre in (0, 6))
    assert float(np.maximum(p - math.e * q, 0).sum()) == pytest.approx(float(found.forward.upper), abs=1e-4)
    assert one.divergence(LaplaceLaw(Fraction(2), Fraction(2)), Fraction(1)).forward.upper == 0
    for refused in (lambda: one.listed(), lambda: one.beside(other), lambda: one.divergence(point(0), ZERO)):
        with pytest.raises(InputError):
            refused()


def test_what_is_too_large_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distribution, "LARGEST_PRODUCT", 8)
    die = Distribution.uniform(range(3))
    with pytest.raises(TooManyOutcomesError):
        Independent({0: die, 1: die}).listed()
    with pytest.raises(TooManyOutcomesError):
        die.bind(lambda i: die.push(lambda j: (i, j)))
    assert len(Independent({0: die}).listed().masses) == 3


def test_doubles_are_never_compared_exactly() -> None:
    doubles = Whole(2, np.array([0.25, 0.0, 0.75]))
    assert doubles.masses == {2: 0.25, 4: 0.75} and doubles.missing == 0
    for one, other in ((doubles, point(2)), (point(2), doubles)):
        with pytest.raises(InputError, match="exact masses"):
            one.divergence(other, ZERO)
    low, again = Distribution(doubles.masses).dense
    assert low == 2 and again.dtype == float


def test_laws_of_callers_are_read() -> None:
    law: Law = point(1)
    assert read_law("law", law) is law
    assert read_law("law", {"a": "0.25", "b": HALF}).listed().masses == {"a": Fraction(1, 4), "b": HALF}
    for wrong in (5, [("a", 1)], {"a": 2}, {"a": HALF, "b": 1}, {"a": -1}):
        with pytest.raises(InputError):
            read_law("law", wrong)
