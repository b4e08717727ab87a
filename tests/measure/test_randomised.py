"""Randomised statistics: the linear program against exact minimum cuts over all subsets."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import chain, combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexdp import Histogram, InputError
from flexdp.distances import Weighted, lossy_winf
from flexdp.measure import accuracy_curve, flexible_error, smallest_beta
from flexdp.statistics import Max, Median

Law = dict[int, Fraction]
X = Histogram.from_counts({0: 1, 1: 1})
ONE, TWO = Histogram.from_values([0]), Histogram.from_values([1])


def subsets(points: list[int]) -> list[tuple[int, ...]]:
    return list(chain.from_iterable(combinations(points, size) for size in range(len(points) + 1)))


def carried(law: Law, one: Law, two: Law, bound: int) -> Fraction:
    """max over w of min over A of P(A^c) + (w·one + (1 − w)·two)(near A), concave in w, with kinks at crossings."""
    lines = []
    for chosen in subsets(list(law)):
        rest = sum((mass for y, mass in law.items() if y not in chosen), Fraction(0))
        ends = [
            sum((mass for z, mass in each.items() if any(abs(y - z) <= bound for y in chosen)), Fraction(0))
            for each in (one, two)
        ]
        lines.append((rest + ends[0], rest + ends[1]))  # at w = 1 and at w = 0
    crossings = [Fraction(0), Fraction(1)]
    for (a, b), (c, d) in combinations(lines, 2):
        slope = (a - b) - (c - d)
        if slope and 0 <= (d - b) / slope <= 1:
            crossings.append((d - b) / slope)
    return max(min(w * a + (1 - w) * b for a, b in lines) for w in crossings)


def exact_beta(law: Law, one: Law, two: Law, gamma: Fraction) -> int:
    return next(b for b in range(100) if carried(law, one, two, b) >= 1 - gamma)


laws = st.dictionaries(st.integers(0, 6), st.integers(1, 4), min_size=1, max_size=4).map(
    lambda found: {point: Fraction(mass, sum(found.values())) for point, mass in found.items()}
)


@settings(deadline=None)
@given(law=laws, one=laws, two=laws, gamma=st.fractions(0, Fraction(9, 10), max_denominator=10))
def test_the_programme_is_the_minimum_cut(law: Law, one: Law, two: Law, gamma: Fraction) -> None:
    def drawn(histogram: Histogram) -> Law:
        return one if histogram.keys.tolist() == [0] else two

    expected = exact_beta(law, one, two, gamma)
    found = smallest_beta(X, law, drawn, 1, gamma, distortion=lambda *_: 0.0, candidates=[ONE, TWO])
    assert found.value == expected
    # The witness attains it, by an independent distance.
    mixed: dict[int, Fraction] = {}
    for each, chance in found.mixture:
        for value, mass in drawn(each).items():
            mixed[value] = mixed.get(value, Fraction(0)) + chance * mass
    p, q = (Weighted(list(each), list(each.values())) for each in (law, mixed))
    assert lossy_winf(p, q, gamma).value <= expected
    curve = accuracy_curve(X, law, drawn, [1], [gamma], distortion=lambda *_: 0.0, candidates=[ONE, TWO])
    assert curve.beta.tolist() == [[expected]]


def test_a_mixture_is_better_than_either_part() -> None:
    """No single x′ explains half 0, half 10; the random one does: a measure without mixtures would fail here."""

    def drawn(histogram: Histogram) -> Law:
        return {0: Fraction(1)} if histogram.keys.tolist() == [0] else {10: Fraction(1)}

    law = {0: "0.5", 10: "0.5"}
    options: dict[str, Any] = {"distortion": lambda *_: 0.0}
    both = smallest_beta(X, law, drawn, 1, candidates=[ONE, TWO], **options)
    assert both.value == 0 and [chance for _, chance in both.mixture] == [Fraction(1, 2)] * 2
    assert smallest_beta(X, law, drawn, 1, candidates=[ONE], **options).value == 10
    assert smallest_beta(X, law, drawn, 1, "0.5", candidates=[ONE], **options).value == 0


@settings(deadline=None)
@given(
    histogram=st.dictionaries(st.integers(0, 9), st.integers(1, 2), min_size=1, max_size=3).map(Histogram.from_counts),
    outputs=st.lists(st.one_of(st.integers(-3, 12), st.none()), min_size=1, max_size=5),
    gamma=st.fractions(0, 1, max_denominator=5),
)
def test_deterministic_statistics_are_a_special_case(histogram: Histogram, outputs: list[Any], gamma: Fraction) -> None:
    for statistic in (Max(), Median()):
        curve = accuracy_curve(histogram, outputs, statistic, ["0.3"], [gamma])
        assert smallest_beta(histogram, outputs, statistic, "0.3", gamma).value == curve.at("0.3", gamma)


def test_no_value_and_no_data_set() -> None:
    def drawn(histogram: Histogram) -> Any:
        return Weighted([None, 5], [1, histogram.size])

    law = {None: "1/3", 5: "2/3"}
    assert smallest_beta(X, law, drawn, 0).value == 0
    assert smallest_beta(X, [5], drawn, 0, "1/4").value == math.inf
    assert smallest_beta(X, [5], drawn, 0, "1/3").value == 0
    nothing = smallest_beta(X, [5], drawn, 0, distortion=lambda *_: 1.0, candidates=[ONE])
    assert nothing.value == math.inf and nothing.mixture == ()
    assert smallest_beta(X, [5], drawn, 0, 1).value == 0


def test_a_law_now_and_then_is_refused() -> None:
    def sometimes(histogram: Histogram) -> Any:
        return 3 if histogram.size == 2 else {3: 1}

    with pytest.raises(InputError, match="for every histogram, or for none"):
        flexible_error(X, [3], sometimes, "0.5")
    with pytest.raises(InputError, match="at least one run"):
        smallest_beta(X, [], Max(), 0)
    with pytest.raises(InputError, match="statistic must have probabilities"):
        smallest_beta(X, [1], lambda _: {1: -1}, 0)
