"""Exact laws and errors, against enumeration of all noisy histograms and of all ways to drop records."""

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
from flexdp.baselines import BASELINES, attainable_places, exact_errors, exact_law
from flexdp.baselines.bars import NoisyBars, shift, stlap_reach, stlap_tail, swap_threshold, threshold
from flexdp.mechanisms import Dropping, ReadOff
from flexdp.noise import DropNoise
from flexdp.noise.bits import Bits
from flexdp.statistics import Max, MaxAtLeast, Mode

WHOLE = ["dropping", "stlap", "esa"]
LAWS = [*WHOLE, "bns", "bns_swap", "em", "ptr"]
STATISTICS = [Max(), MaxAtLeast(2), MaxAtLeast(4), Mode()]
EPSILON, DELTA = 1.5, 0.05

rows = st.lists(st.integers(0, 5), min_size=1, max_size=3).map(tuple)
rules = st.sampled_from(["smallest", "largest", "random"])


def law_of(name: str, counts: Any, statistic: Any, epsilon: Any = EPSILON, delta: Any = DELTA) -> NDArray[np.float64]:
    """The mass of each bucket."""
    found = exact_law(name, np.array(counts), statistic, epsilon=epsilon, delta=delta)
    return np.array([float(found.masses.get(bucket, 0.0)) for bucket in range(len(counts))])


def density(name: str, z: float) -> float:
    """Of the noise before rounding."""
    if name == "esa":
        return float(laplace.pdf(z, -shift(EPSILON, DELTA), 1 / EPSILON))
    q = stlap_reach(EPSILON, DELTA)
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
    q, moved = stlap_reach(EPSILON, DELTA), shift(EPSILON, DELTA)
    kinks = (-q, -q / 2, 0.0, -moved)
    chances = {}
    for height in range(1, x + 20):
        low, high = height - 0.5 - x + short, height + 0.5 - x + short
        inner = [k for k in kinks if low < k < high]
        chances[height] = quad(lambda z: density(name, z), low, high, points=inner or None, epsabs=1e-14)[0]
    return {0: 1 - sum(chances.values())} | chances


def enumerated(name: str, counts: tuple[int, ...], level: int | None, short: int = 0) -> NDArray[np.float64]:
    """Compute the law of the answer by enumerating noisy histograms."""
    out = np.zeros(len(counts))
    for shown in product(*(bar_law(name, x, short).items() for x in counts)):
        heights = [height for height, _ in shown]
        if level is None:
            right = heights.index(max(heights))
        else:
            right = max((i for i, height in enumerate(heights) if height >= level), default=0)
        out[right] += math.prod(part for _, part in shown)
    return out


def level_of(statistic: Any) -> int | None:
    return None if isinstance(statistic, Mode) else getattr(statistic, "count", 1)


@pytest.mark.parametrize("name", WHOLE)
@given(rows, st.sampled_from(STATISTICS))
@settings(max_examples=25, deadline=None)
def test_laws_of_whole_bars_are_those_of_all_noisy_histograms(
    name: str, counts: tuple[int, ...], statistic: Any
) -> None:
    expected = enumerated(name, counts, level_of(statistic))
    np.testing.assert_allclose(law_of(name, counts, statistic), expected, atol=1e-11)


@pytest.mark.parametrize("name", WHOLE)
def test_control_the_enumeration_sees_one_record_too_few(name: str) -> None:
    for level in (None, 2):
        statistic: Any = Mode() if level is None else MaxAtLeast(level)
        found = np.abs(law_of(name, (4, 5, 5), statistic) - enumerated(name, (4, 5, 5), level, short=1))
        assert found.max() > 1e-6  # 1e-11 is allowed above


@pytest.mark.parametrize("name", [*WHOLE, "bns", "bns_swap"])
def test_compared_mechanisms_are_mechanisms_of_the_library(name: str) -> None:
    """Laws of bars and of chains, draws by them, and what is refused."""
    mechanism: Any = BASELINES[name].kind(EPSILON, DELTA)
    assert isinstance(mechanism, NoisyBars) and mechanism == BASELINES[name].kind("3/2", "1/20")
    x = Histogram([0, 1, 2], [2, 5, 4])
    law = mechanism.law(x)
    if name in WHOLE:
        for key, count in x.items():
            masses = law.factors[key].listed().masses
            assert all(masses.get(h, 0.0) == pytest.approx(p, abs=1e-11) for h, p in bar_law(name, count).items())
    if name != "bns" and name != "bns_swap":
        chain = (mechanism >> ReadOff(Mode())).law(x).listed()
        np.testing.assert_allclose(
            [chain.masses.get(place, 0.0) for place in (1, 2)], law_of(name, (2, 5, 4), Mode())[1:], atol=1e-12
        )
    rng = np.random.default_rng(3)
    drawn = [mechanism.draw(x, Bits(rng.bytes)) for _ in range(4000)]
    for key in x.keys.tolist():
        heights = np.array([dict(each.items()).get(key, 0) for each in drawn])
        for height, mass in (
            law.factors[key].listed().masses.items()
        ):  # Hoeffding at 1e-8 for each of fewer than 1000 masses
            assert abs((heights == height).mean() - mass) < math.sqrt(math.log(2 / 1e-11) / 8000)


def test_the_seeded_dropping_has_the_law_of_the_one_that_is_released() -> None:
    x = Histogram(range(4), [3, 40, 2, 39])
    for statistic in STATISTICS:
        law = (Dropping(EPSILON, DELTA) >> ReadOff(statistic)).law(x).listed()
        answers = {0 if not isinstance(answer, int) else answer: Fraction(0) for answer in law.masses}
        for answer, mass in law.masses.items():
            answers[answer if isinstance(answer, int) else 0] += mass
        np.testing.assert_allclose(
            law_of("dropping", (3, 40, 2, 39), statistic), [float(answers.get(i, 0)) for i in range(4)], atol=1e-14
        )


@pytest.mark.parametrize(("name", "scale"), [("bns", 1 / EPSILON), ("bns_swap", 2 / EPSILON)])
@given(st.lists(st.integers(0, 12), min_size=1, max_size=4), st.sampled_from(STATISTICS))
@settings(max_examples=20, deadline=None)
def test_laws_of_real_bars_are_integrals(name: str, scale: float, counts: list[int], statistic: Any) -> None:
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
    out[0] += 1 - out.sum()
    np.testing.assert_allclose(law_of(name, counts, statistic), out, atol=1e-10)


@given(rows, st.sampled_from(STATISTICS))
@settings(max_examples=60, deadline=None)
def test_laws_of_answers_are_those_of_their_definition(counts: tuple[int, ...], statistic: Any) -> None:
    level, bars = level_of(statistic), len(counts)
    if level is None:
        right = counts.index(max(counts))
    else:
        right = max((i for i, x in enumerate(counts) if x >= level), default=0)
    weights = np.array([math.exp(-EPSILON * abs(right - y) / (2 * bars)) for y in range(bars)])
    np.testing.assert_allclose(law_of("em", counts, statistic), weights / weights.sum(), atol=1e-14)
    ptr = law_of("ptr", counts, statistic)
    wrong = [i for i in range(bars) if i != right]
    np.testing.assert_allclose(ptr[wrong], ptr[wrong[0]] if wrong else 0)
    assert not wrong or ptr[right] >= ptr[wrong[0]] + DELTA / 2 - 1e-12


@pytest.mark.parametrize("name", LAWS)
@given(st.lists(st.integers(0, 60), min_size=1, max_size=12), st.sampled_from([*STATISTICS, MaxAtLeast(25)]))
@settings(max_examples=25, deadline=None)
def test_laws_sum_to_one(name: str, counts: list[int], statistic: Any) -> None:
    assert law_of(name, counts, statistic, "0.4", "1e-3").sum() == pytest.approx(1, abs=1e-12)


def test_what_cannot_happen_has_no_chance() -> None:
    noise = DropNoise(1, Fraction(1, 2**20))
    x = [5, 400, 400 - noise.max_drop, 400 - noise.max_drop - 1, 0]
    law = law_of("dropping", x, Mode(), 1, Fraction(1, 2**20))
    assert law[1] == pytest.approx(1, abs=1e-15) and law[[0, 2, 3, 4]].max() < 1e-15
    assert law_of("dropping", x, Max(), 1, Fraction(1, 2**20))[3] == 1
    q = stlap_reach(1.0, 2.0**-20)
    assert stlap_tail(np.array([-q - 1, -q, 0.0, 1.0]), 1.0, q).tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize(("epsilon", "delta"), [("1e-3", "1e-6"), (4, "1e-30"), (5, 0.5), ("1e4", "1e-20")])
def test_extreme_parameters_have_laws(name: str, epsilon: Any, delta: Any) -> None:
    for counts, statistic in product(([7], [0, 2**50, 3], [0, 0]), (Max(), MaxAtLeast(2**51), Mode())):
        law = law_of(name, counts, statistic, epsilon, delta)
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
@given(st.lists(st.integers(0, 20), min_size=2, max_size=8).filter(any), st.sampled_from(STATISTICS))
@settings(max_examples=20, deadline=None)
def test_errors_are_expectations_and_quantiles_of_distances(name: str, counts: list[int], statistic: Any) -> None:
    x, alpha = np.array(counts), Fraction(1, 7)
    errors = exact_errors(name, x, statistic, epsilon="0.7", delta=0.01, alpha=alpha)
    law = law_of(name, counts, statistic, "0.7", 0.01)
    for share, found in ((Fraction(0), errors.actual), (alpha, errors.flexible)):
        right = attainable_places(x, statistic, share).tolist()
        gaps = [min(abs(i - place) for place in right) for i in range(len(x))]
        assert found.mean == pytest.approx(sum(p * gap for p, gap in zip(law, gaps, strict=True)), abs=1e-12)
        for gamma in (0, 0.01, 0.3, 1):
            beta = found.beta(gamma)
            assert sum(p for p, gap in zip(law, gaps, strict=True) if gap > beta) <= gamma + 1e-12
            if beta:
                assert sum(p for p, gap in zip(law, gaps, strict=True) if gap > beta - 1) > gamma - 1e-12
    assert errors.flexible.mean <= errors.actual.mean + 1e-12


def test_a_guarantee_that_holds_surely_is_an_error_of_zero() -> None:
    x = np.array([300, 1, 40, 0, 27, 3, 1])
    drop = DropNoise(1, "1e-6").max_drop
    errors = exact_errors("dropping", x, Max(), epsilon=1, delta="1e-6", alpha=Fraction(drop * len(x), int(x.sum())))
    assert errors.flexible.beta("1e-15") == 0 and errors.flexible.mean < 1e-15 < errors.actual.mean


# Refusals


@pytest.mark.parametrize(
    ("name", "why"),
    [("ss", "real number"), ("sanpoints", "depends on all others"), ("sanpoints_halting", "depends on")],
)
def test_mechanisms_without_a_law_say_why(name: str, why: str) -> None:
    with pytest.raises(InputError, match=f"mechanism.* has no .*{why}.*Run it instead"):
        exact_law(name, np.array([1, 2]), Max(), epsilon=1, delta=DELTA)


def test_bad_input_is_named() -> None:
    x = np.array([1, 2])
    with pytest.raises(InputError, match="Did you mean 'dropping'"):
        exact_law("droping", x, Max(), epsilon=1, delta=DELTA)
    with pytest.raises(InputError, match="ties must be"):
        attainable_places(x, Mode(), 0, ties="left")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="at least one record"):
        attainable_places(np.array([0, 0]), Max(), 0)
    with pytest.raises(InputError, match="alpha must be"):
        exact_errors("em", x, Max(), epsilon=1, delta=DELTA, alpha=2)
    with pytest.raises(InputError, match="epsilon is too small"):
        exact_law("esa", np.array([10**12, 1]), Mode(), epsilon="1e-9", delta=DELTA)
