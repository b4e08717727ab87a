"""Usefulness is flexible accuracy of the function with its perturbation as an extra input: by both definitions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexdp import InputError
from flexdp.calculus import Perturbed, perturbation, perturbed_accuracy, useful_accuracy
from flexdp.distances import Weighted, lossy_winf
from flexdp.distortions import Move

ENDS = [Fraction(k, 2) for k in range(-8, 9)]


def count_below(data: tuple[int, ...], end: Fraction) -> int:
    """A class of functions: the number of records up to 2 + end, perturbed by moving the end."""
    return sum(value <= 2 + end for value in data)


laws = st.dictionaries(st.integers(0, 5), st.integers(1, 4), min_size=1, max_size=4)
tables = st.lists(st.integers(0, 5), min_size=1, max_size=5).map(tuple)


@given(data=tables, law=laws, psi=st.sampled_from([0, Fraction(1, 2), 1, 2]), gamma=st.fractions(0, 1))
def test_both_definitions_ask_for_the_same_error(
    data: tuple[int, ...], law: dict[int, int], psi: Fraction, gamma: Fraction
) -> None:
    total = sum(law.values())
    # Usefulness: but for a chance γ, the answer is within β of some perturbed function.
    errors = {answer: min(abs(answer - count_below(data, end)) for end in ENDS if abs(end) <= psi) for answer in law}
    useful = next(b for b in range(9) if sum(law[a] for a in law if errors[a] <= b) >= (1 - gamma) * total)

    # Flexible accuracy: the least W∞ distance, with loss γ, to the law of F(x′) for random x′ within ψ.
    told = perturbed_accuracy(beta=useful, gamma=gamma, psi=psi)
    start = Perturbed(data, by=Fraction(0))
    near = [Perturbed(data, by=end) for end in ENDS if told.distortion(start, Perturbed(data, by=end)) <= psi]
    values = sorted({count_below(each.data, each.by) for each in near})
    nearest = {answer: min(values, key=lambda value: abs(value - answer)) for answer in law}
    chosen: dict[int, int] = {}
    for answer, mass in law.items():
        chosen[nearest[answer]] = chosen.get(nearest[answer], 0) + mass
    best = lossy_winf(Weighted(list(law), list(law.values())), Weighted(list(chosen), list(chosen.values())), gamma)
    assert best.value <= useful
    if useful:  # no law on these values does better
        short = sum(law[a] for a in law if errors[a] <= useful - 1)
        assert short < (1 - gamma) * total
    assert (told.alpha, told.beta, told.gamma) == (float(psi), float(useful), pytest.approx(float(gamma)))


def test_data_may_not_change() -> None:
    moved = perturbation()
    assert moved(Perturbed((1, 2), by=1), Perturbed((1, 2), by=-1)) == 2
    assert moved(Perturbed((1, 2), by=1), Perturbed((1, 3), by=1)) == math.inf
    turned = perturbation(lambda a, b: min(abs(a - b), 360 - abs(a - b)))
    assert turned(Perturbed("x", by=350), Perturbed("x", by=20)) == 30


def test_the_other_forms_are_special_cases() -> None:
    assert useful_accuracy(beta=1, gamma="0.1").alpha == perturbed_accuracy(beta=1, gamma="0.1", psi=0).alpha == 0
    assert useful_accuracy(beta=1, gamma="0.1", psi=2).distortion == Move()
    for bad in ({"psi": -1}, {"gamma": 2}, {"distance": 3}):
        with pytest.raises(InputError, match=next(iter(bad)).replace("psi", "alpha")):
            perturbed_accuracy(**{"beta": 1, "gamma": 0, "psi": 1, **bad})  # type: ignore[arg-type]


def test_a_perturbation_of_the_wrong_size_is_found_out() -> None:
    """Were the data allowed to change, or the end to move further, a worse mechanism would pass."""
    data: tuple[Any, ...] = (0, 1, 5)
    reach = {psi: {count_below(data, end) for end in ENDS if abs(end) <= psi} for psi in (0, 2, 4)}
    assert reach == {0: {2}, 2: {1, 2}, 4: {0, 1, 2, 3}}
