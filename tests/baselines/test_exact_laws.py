"""Exact distributions and errors, against enumeration of all noisy histograms and of all ways to drop records."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.stats import laplace

from flexdp import Histogram, InputError
from flexdp.baselines import ExactErrors, attainable_places, baseline, exact_errors, exact_law
from flexdp.baselines.bns import swap_threshold, threshold
from flexdp.baselines.esa import shift
from flexdp.baselines.stlap import reach, tail
from flexdp.noise import DropNoise
from flexdp.statistics import Max, MaxAtLeast, Mode

WHOLE = ["dropping", "stlap", "esa"]
LAWS = [*WHOLE, "bns", "bns_swap", "em", "ptr"]
STATISTICS = [Max(), MaxAtLeast(2), MaxAtLeast(4), Mode()]
EPSILON, DELTA = 1.5, 0.05

rows = st.lists(st.integers(0, 5), min_size=1, max_size=3).map(tuple)
rules = st.sampled_from(["smallest", "largest", "random"])
empties = st.sampled_from(["zero", "random"])


def density(name: str, z: float) -> float:
    """Of the noise before rounding."""
    if name == "esa":
        return float(laplace.pdf(z, -shift(EPSILON, DELTA), 1 / EPSILON))
    q = reach(EPSILON, DELTA)
    total = 2 * -math.expm1(-EPSILON * q / 2) / EPSILON
    return math.exp(-EPSILON * abs(z + q / 2)) / total if -q <= z <= 0 else 0.0


def bar_law(name: str, x: int, short: int = 0) -> dict[int, float]:
    """Return the probability of each height that a bucket of x records can report; ``short`` plants a fault."""
    if x == 0:
        return {0: 1.0}
    if name == "dropping":
        noise = DropNoise(EPSILON, DELTA)
        out = dict.fromkeys(range(x + 1), Fraction(0))
        for j, weight in enumerate(noise.weights):
            out[max(0, x - j - short)] += Fraction(weight, 2**noise.bits)
        return {height: float(chance) for height, chance in out.items()}
    q, moved = reach(EPSILON, DELTA), shift(EPSILON, DELTA)
    kinks = (-q, -q / 2, 0.0, -moved)
    chances = {}
    for height in range(1, x + 20):
        low, high = height - 0.5 - x + short, height + 0.5 - x + short
        inner = [k for k in kinks if low < k < high]
        chances[height] = quad(lambda z: density(name, z), low, high, points=inner or None, epsabs=1e-14)[0]
    return {0: 1 - sum(chances.values())} | chances


def enumerated(
    name: str, counts: tuple[int, ...], level: int | None, empty: str, ties: str, short: int = 0
) -> NDArray[np.float64]:
    """Compute the distribution of the answer by enumerating noisy histograms."""
    out = np.zeros(len(counts))
    for shown in product(*(bar_law(name, x, short).items() for x in counts)):
        heights = [height for height, _ in shown]
        chance = math.prod(part for _, part in shown)
        if level is None:
            top = max(heights)
            right = [i for i, height in enumerate(heights) if height == top > 0]
            right = {"smallest": right[:1], "largest": right[-1:], "random": right}[ties]
        else:
            right = [i for i, height in enumerate(heights) if height >= level][-1:]
        if not right:
            right = [0] if empty == "zero" else list(range(len(counts)))
        out[right] += chance / len(right)
    return out


def level_of(statistic: Any) -> int | None:
    return None if isinstance(statistic, Mode) else getattr(statistic, "count", 1)


@pytest.mark.parametrize("name", WHOLE)
@given(rows, st.sampled_from(STATISTICS), empties, rules)
@settings(max_examples=25, deadline=None)
def test_laws_of_whole_bars_are_those_of_all_noisy_histograms(
    name: str, counts: tuple[int, ...], statistic: Any, empty: Any, ties: Any
) -> None:
    found = exact_law(name, np.array(counts), statistic, epsilon=EPSILON, delta=DELTA, empty=empty, ties=ties)
    np.testing.assert_allclose(found, enumerated(name, counts, level_of(statistic), empty, ties), atol=1e-11)


@pytest.mark.parametrize("name", WHOLE)
def test_control_the_enumeration_sees_one_record_too_few_and_the_wrong_rule(name: str) -> None:
    x = (4, 5, 5)
    for level, ties, short in ((None, "smallest", 1), (None, "largest", 0), (2, "smallest", 1)):
        statistic: Any = Mode() if level is None else MaxAtLeast(level)
        law = exact_law(name, np.array(x), statistic, epsilon=EPSILON, delta=DELTA)
        assert np.abs(law - enumerated(name, x, level, "zero", ties, short)).max() > 1e-6  # 1e-11 is allowed above


@pytest.mark.parametrize(("name", "scale"), [("bns", 1 / EPSILON), ("bns_swap", 2 / EPSILON)])
@given(st.lists(st.integers(0, 12), min_size=1, max_size=4), st.sampled_from(STATISTICS), empties)
@settings(max_examples=20, deadline=None)
def test_laws_of_real_bars_are_integrals(
    name: str, scale: float, counts: list[int], statistic: Any, empty: Any
) -> None:
    least = (threshold if name == "bns" else swap_threshold)(EPSILON, DELTA)
    level = level_of(statistic)
    out = np.zeros(len(counts))
    filled = [i for i, x in enumerate(counts) if x]

    def show(i: int, rank: list[int], floor: float) -> float:
        """The chance that bar i is above the floor, and every bar of ``rank`` below i's height or below the floor."""

        def at(z: float) -> float:
            others = math.prod(float(laplace.cdf(z if level is None else floor, counts[j], scale)) for j in rank)
            return float(laplace.pdf(z, counts[i], scale)) * others

        edges = sorted({floor, *(float(counts[j]) for j in filled if counts[j] > floor), max(floor, 12.0) + 45 * scale})
        return sum(quad(at, a, b, epsabs=1e-13, limit=200)[0] for a, b in pairwise(edges))

    floor = least if level is None else max(float(level), least)
    for i in filled:
        out[i] = show(i, [j for j in filled if (j != i if level is None else j > i)], floor)
    nothing = 1 - out.sum()
    out += (np.arange(len(counts)) == 0) * nothing if empty == "zero" else nothing / len(counts)
    found = exact_law(name, np.array(counts), statistic, epsilon=EPSILON, delta=DELTA, empty=empty)
    np.testing.assert_allclose(found, out, atol=1e-10)


@given(rows, st.sampled_from(STATISTICS), rules)
@settings(max_examples=60, deadline=None)
def test_laws_of_answers_are_those_of_their_definition(counts: tuple[int, ...], statistic: Any, ties: Any) -> None:
    level, bars = level_of(statistic), len(counts)
    if level is None:
        right = [i for i, x in enumerate(counts) if x == max(counts)]
        right = {"smallest": right[:1], "largest": right[-1:], "random": right}[ties]
    else:
        right = [i for i, x in enumerate(counts) if x >= level][-1:] or [0]
    laws = []
    for place in right:
        weights = np.array([math.exp(-EPSILON * abs(place - y) / (2 * bars)) for y in range(bars)])
        laws.append(weights / weights.sum())
    em = exact_law("em", np.array(counts), statistic, epsilon=EPSILON, delta=DELTA, ties=ties)
    np.testing.assert_allclose(em, np.mean(laws, axis=0), atol=1e-14)
    ptr = exact_law("ptr", np.array(counts), statistic, epsilon=EPSILON, delta=DELTA, ties=ties)
    wrong = [i for i in range(bars) if i not in right]
    np.testing.assert_allclose(ptr[right], ptr[right[0]])
    np.testing.assert_allclose(ptr[wrong], ptr[wrong[0]] if wrong else 0)
    assert not wrong or ptr[right[0]] >= ptr[wrong[0]] + DELTA / 2 / len(right) - 1e-12


@pytest.mark.parametrize("name", LAWS)
@given(st.lists(st.integers(0, 60), min_size=1, max_size=12), st.sampled_from([*STATISTICS, MaxAtLeast(25)]), rules)
@settings(max_examples=25, deadline=None)
def test_laws_sum_to_one_and_the_largest_is_the_mirror_of_the_smallest(
    name: str, counts: list[int], statistic: Any, ties: Any
) -> None:
    x = np.array(counts)
    law = exact_law(name, x, statistic, epsilon="0.4", delta="1e-3", empty="random", ties=ties)
    assert law.sum() == pytest.approx(1, abs=1e-12)
    one = exact_law(name, x, Mode(), epsilon="0.4", delta="1e-3", empty="random", ties="largest")
    two = exact_law(name, x[::-1], Mode(), epsilon="0.4", delta="1e-3", empty="random", ties="smallest")
    np.testing.assert_allclose(one, two[::-1], atol=1e-12)


def test_what_cannot_happen_has_a_chance_of_exactly_zero() -> None:
    noise = DropNoise(1, Fraction(1, 2**20))
    x = np.array([5, 400, 400 - noise.max_drop, 400 - noise.max_drop - 1, 0])
    for ties, possible in (("smallest", [1, 2]), ("largest", [1, 2]), ("random", [1, 2])):
        law = exact_law("dropping", x, Mode(), epsilon=1, delta=Fraction(1, 2**20), ties=ties)  # type: ignore[arg-type]
        assert set(np.flatnonzero(law).tolist()) <= set(possible)
        assert (law[2] > 0) == (ties != "smallest")
    assert exact_law("dropping", x, Max(), epsilon=1, delta=Fraction(1, 2**20))[3] == 1
    q = reach(1.0, 2.0**-20)
    assert tail(np.array([-q - 1, -q, 0.0, 1.0]), 1.0, q).tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize(("epsilon", "delta"), [("1e-3", "1e-6"), (4, "1e-30"), (5, 0.5), ("1e4", "1e-20")])
def test_extreme_parameters_have_laws(name: str, epsilon: Any, delta: Any) -> None:
    for counts, statistic in product(([7], [0, 2**50, 3], [0, 0]), (Max(), MaxAtLeast(2**51), Mode())):
        law = exact_law(name, np.array(counts), statistic, epsilon=epsilon, delta=delta)
        assert law.sum() == pytest.approx(1, abs=1e-12) and (law >= 0).all()


# Errors


def remaining(counts: tuple[int, ...], allowed: int) -> list[tuple[int, ...]]:
    kept = product(*(range(x + 1) for x in counts))
    return [rest for rest in kept if sum(rest) and sum(counts) - sum(rest) <= allowed]


@given(st.lists(st.integers(0, 4), min_size=1, max_size=4).filter(any), st.sampled_from(STATISTICS), rules, st.data())
@settings(max_examples=150, deadline=None)
def test_attainable_places_are_those_of_all_ways_to_leave_records_out(
    counts: list[int], statistic: Any, ties: Any, data: Any
) -> None:
    allowed = data.draw(st.integers(0, sum(counts)))
    level, possible = level_of(statistic), set()
    for rest in remaining(tuple(counts), allowed):
        if level is None:
            tied = [i for i, x in enumerate(rest) if x == max(rest)]
            possible |= set({"smallest": tied[:1], "largest": tied[-1:], "random": tied}[ties])
        else:
            possible |= set([i for i, x in enumerate(rest) if x >= level][-1:] or [0])
    alpha = Fraction(allowed, sum(counts))
    found = attainable_places(np.array(counts), statistic, alpha, ties=ties).tolist()
    assert found == sorted(possible)
    if ties == "smallest":
        listed = statistic.attainable(Histogram(range(len(counts)), counts), alpha).tolist()
        assert sorted({0 if place is None else place for place in listed}) == found


@pytest.mark.parametrize("name", LAWS)
@given(st.lists(st.integers(0, 20), min_size=2, max_size=8).filter(any), st.sampled_from(STATISTICS), rules)
@settings(max_examples=20, deadline=None)
def test_errors_are_expectations_and_quantiles_of_distances(
    name: str, counts: list[int], statistic: Any, ties: Any
) -> None:
    x = np.array(counts)
    alpha = Fraction(1, 7)
    errors = exact_errors(name, x, statistic, epsilon="0.7", delta=0.01, alpha=alpha, ties=ties)
    law = exact_law(name, x, statistic, epsilon="0.7", delta=0.01, ties=ties)
    for share, mean in ((Fraction(0), errors.actual), (alpha, errors.flexible)):
        right = attainable_places(x, statistic, share, ties=ties).tolist()
        gaps = [min(abs(i - place) for place in right) for i in range(len(x))]
        assert mean == pytest.approx(sum(p * gap for p, gap in zip(law, gaps, strict=True)), abs=1e-12)
    for gamma in (0, 0.01, 0.3, 1):
        beta = errors.beta(gamma)
        assert sum(p for p, gap in zip(law, gaps, strict=True) if gap > beta) <= gamma + 1e-12
        if beta:
            assert sum(p for p, gap in zip(law, gaps, strict=True) if gap > beta - 1) > gamma - 1e-12
    assert errors.flexible <= errors.actual + 1e-12


def test_a_guarantee_that_holds_surely_is_an_error_of_zero() -> None:
    x = np.array([300, 1, 40, 0, 27, 3, 1])
    drop = DropNoise(1, "1e-6").max_drop
    errors = exact_errors("dropping", x, Max(), epsilon=1, delta="1e-6", alpha=Fraction(drop * len(x), int(x.sum())))
    assert isinstance(errors, ExactErrors)
    assert errors.beta(0) == 0 == errors.flexible < errors.actual


# Refusals


@pytest.mark.parametrize(
    ("name", "why"),
    [("ss", "real number"), ("sanpoints", "depends on all others"), ("sanpoints_halting", "depends on")],
)
def test_mechanisms_without_a_law_say_why(name: str, why: str) -> None:
    with pytest.raises(InputError, match=f"mechanism '{name}' has no .*{why}.*Run it instead"):
        exact_law(name, np.array([1, 2]), Max(), epsilon=1, delta=DELTA)


def test_bad_input_is_named() -> None:
    x = np.array([1, 2])
    with pytest.raises(InputError, match="Did you mean 'dropping'"):
        exact_law("droping", x, Max(), epsilon=1, delta=DELTA)
    with pytest.raises(InputError, match="ties must be"):
        exact_law("em", x, Max(), epsilon=1, delta=DELTA, ties="left")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="has no method law"):
        exact_law(object(), x, Max(), epsilon=1, delta=DELTA)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="at least one record"):
        attainable_places(np.array([0, 0]), Max(), 0)
    with pytest.raises(InputError, match="alpha must be"):
        exact_errors("em", x, Max(), epsilon=1, delta=DELTA, alpha=2)
    with pytest.raises(InputError, match="epsilon is too small"):
        exact_law("esa", np.array([10**12, 1]), Mode(), epsilon="1e-9", delta=DELTA)


def test_a_law_of_ones_own_is_taken_if_it_is_one() -> None:
    class Own:
        name = "own"
        citation = baseline("em").citation

        def __init__(self, *chances: float) -> None:
            self.chances = chances

        def claim(self, **_: Any) -> Any: ...

        def run(self, *_: Any, **__: Any) -> Any: ...

        def law(self, *_: Any, **__: Any) -> tuple[float, ...]:
            return self.chances

    assert exact_law(Own(0.5, 0.5), np.array([1, 2]), Max(), epsilon=1, delta=DELTA).tolist() == [0.5, 0.5]
    for wrong in ((0.5,), (0.5, 0.6), (1.5, -0.5)):
        with pytest.raises(InputError, match=r"mechanism 'own' must return from law\(\) one probability per bucket"):
            exact_law(Own(*wrong), np.array([1, 2]), Max(), epsilon=1, delta=DELTA)
