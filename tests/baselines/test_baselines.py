"""The compared mechanisms: stability against brute force, privacy from exact distributions, runs against those.

The statistical checks compare 20 000 runs with an exact law by the inequality of Dvoretzky, Kiefer, Wolfowitz and
Massart at 1e-8 a check. There are fewer than 50 of them, so that correct code fails with a chance below 5e-7
over all seeds.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise, permutations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from flexdp import InputError
from flexdp.baselines import BASELINES, Baseline, baseline
from flexdp.baselines import base as _base
from flexdp.baselines.answers import exponential_law, release_chance, smoothness
from flexdp.baselines.bars import SUBSTITUTION, shift, stlap_reach, swap_threshold, threshold
from flexdp.baselines.base import Question, read_off, read_question
from flexdp.baselines.sanpoints import SanPoints, SanPointsHalting, choosing_threshold
from flexdp.baselines.stability import answer, answers, distance_to_instability, jump_costs, smooth_sensitivity
from flexdp.guarantees import ONE_RECORD
from flexdp.noise import DropNoise
from flexdp.noise.continuous import truncated_laplace_quantile
from flexdp.statistics import Max, MaxAtLeast, Mode

NAMES = ["dropping", "stlap", "esa", "bns", "bns_swap", "em", "ptr", "ss", "sanpoints", "sanpoints_halting"]
DELTA = 2.0**-20
EPSILONS = [0.05, 0.3, 1.0, 2.0]
SLACK = 1 + 1e-9

levels = st.sampled_from([None, 1, 2, 3])
small = st.lists(st.integers(0, 4), min_size=1, max_size=5)
many = st.lists(st.integers(0, 2), min_size=6, max_size=6)


def counted(*counts: int) -> NDArray[np.int64]:
    return np.array(counts, dtype=np.int64)


# Stability, by brute force over every histogram in a box


def brute_force(counts: list[int], level: int | None, ties: str = "smallest") -> NDArray[np.float64]:
    """The cost of a jump of at least g, over all histograms up to two above anything needed, and their neighbours.

    With ties drawn at random, a jump leads from any possible answer to any possible answer, also of one histogram.
    """
    bars, side = len(counts), max(*counts, level or 0, 0) + 3
    grid = np.indices((side + 1,) * bars).reshape(bars, -1)
    places, shape = np.arange(bars)[:, None], (side + 1,) * bars
    if level is None:
        tallest = grid == grid.max(axis=0)
        first, last = np.min(np.where(tallest, places, bars), axis=0), np.max(np.where(tallest, places, -1), axis=0)
        least, most = {"smallest": (first, first), "largest": (last, last), "random": (first, last)}[ties]
    else:
        least = most = np.max(np.where(grid >= level, places, 0), axis=0)
    least, most = least.reshape(shape), most.reshape(shape)
    local = most - least
    for axis in range(bars):
        low, high = [slice(None)] * bars, [slice(None)] * bars
        low[axis], high[axis] = slice(None, -1), slice(1, None)
        one, two = tuple(low), tuple(high)
        jumps = np.maximum(most[one] - least[two], most[two] - least[one])
        local[one] = np.maximum(local[one], jumps)
        local[two] = np.maximum(local[two], jumps)
    distances = np.abs(grid - np.array(counts)[:, None]).sum(axis=0).reshape(local.shape)
    costs = [distances[local >= g].min(initial=10**6) for g in range(bars)]
    return np.array([math.inf if cost == 10**6 else cost for cost in costs])


def check_stability(counts: list[int], level: int | None, ties: Any) -> None:
    x = np.array(counts)
    costs = brute_force(counts, level, ties)
    np.testing.assert_array_equal(jump_costs(x, level, ties), costs)
    assert distance_to_instability(x, level, ties) == (costs[1] if len(counts) > 1 else math.inf)
    for beta in (0.01, 0.3, 2.0):
        expected = max(g * math.exp(-beta * cost) for g, cost in enumerate(costs))
        assert smooth_sensitivity(x, level, beta, ties) == pytest.approx(expected, rel=1e-12)


@given(small | many, levels)
@settings(max_examples=250, deadline=None)
def test_jump_costs_are_those_of_all_histograms(counts: list[int], level: int | None) -> None:
    check_stability(counts, level, "smallest")


@given(small | many, st.sampled_from([None, None, None, 1, 2]), st.sampled_from(["largest", "random"]))
@settings(max_examples=250, deadline=None)
def test_so_they_are_under_the_other_rules_for_ties(counts: list[int], level: int | None, ties: str) -> None:
    check_stability(counts, level, ties)


@given(st.lists(st.integers(0, 25), min_size=5, max_size=9))
@settings(max_examples=60, deadline=None)
def test_only_heights_near_the_tallest_bars_matter_for_a_drawn_mode(x: list[int]) -> None:
    costs = np.full(len(x), np.inf)
    costs[0] = 0
    for s, q in product(range(max(x) + 3), range(len(x))):
        for p in range(q):
            others = sum(max(0, x[j] - s) for j in range(len(x)) if j not in (p, q))
            pairs = [(s, s), (s, s - 1), (s - 1, s)] if s else [(0, 0)]
            meeting = min(abs(x[p] - one) + abs(x[q] - two) for one, two in pairs)
            costs[q - p] = min(costs[q - p], others + meeting)
    np.testing.assert_array_equal(jump_costs(np.array(x), None, "random"), np.minimum.accumulate(costs[::-1])[::-1])


def meeting_costs(x: list[int]) -> NDArray[np.float64]:
    """The cost of a jump of the mode, pair by pair and height by height, with no height left out."""
    costs = np.full(len(x), np.inf)
    costs[0] = 0
    for s, q in product(range(max(x) + 3), range(len(x))):
        for p in range(q):
            others = [j for j in range(len(x)) if j not in (p, q)]
            first = sum(max(0, x[j] - (s - (j < p))) for j in others) if s or not p else np.inf
            second = sum(max(0, x[j] - (s + (j > q))) for j in others)
            level = abs(x[p] - s) + abs(x[q] - s)
            ahead = abs(x[p] - s) + abs(x[q] - s - 1)
            costs[q - p] = min(costs[q - p], first + min(level, ahead), second + ahead)
    return np.minimum.accumulate(costs[::-1])[::-1]


@given(st.lists(st.integers(0, 25), min_size=5, max_size=9))
@settings(max_examples=60, deadline=None)
def test_only_heights_near_the_tallest_bars_matter_for_the_mode(counts: list[int]) -> None:
    np.testing.assert_array_equal(jump_costs(np.array(counts), None), meeting_costs(counts))


@given(small)
@settings(max_examples=60, deadline=None)
def test_the_pairwise_costs_are_those_of_all_histograms(counts: list[int]) -> None:
    np.testing.assert_array_equal(meeting_costs(counts), brute_force(counts, None))


def test_the_brute_force_sees_a_wrong_formula() -> None:
    wrong = sum(
        (max(counts) - sorted(counts)[-2] - 1) != brute_force(list(counts), None)[1]  # forgets the rule for ties
        for counts in product(range(3), repeat=3)
    )
    assert wrong > 5


def test_distances_of_the_experiments() -> None:
    assert distance_to_instability(counted(*[1000] * 50, *[1] * 50), 1) == 0
    assert distance_to_instability(counted(*[540] * 50, *[490] * 50), 500) == 9
    assert distance_to_instability(counted(*[0] * 9, 7), 1) == 6
    assert distance_to_instability(counted(3, 250, 240), None) == 10
    assert answer(counted(0, 0), None) == answer(counted(0, 2), 3) == 0


def test_a_thousand_bars_take_no_time() -> None:
    rng = np.random.default_rng(5)
    x = rng.poisson(250, 1000)
    costs = jump_costs(x, None)
    assert costs[1] == distance_to_instability(x, None)
    assert (np.diff(costs) >= 0).all()
    assert jump_costs(x, 250)[1] == distance_to_instability(x, 250)


# Privacy, by exact laws


def hockey_stick(p: NDArray[np.float64], q: NDArray[np.float64], epsilon: float) -> float:
    """Σ max(0, p − e^ε q), with e^ε enlarged by the rounding of doubles."""
    return float(np.maximum(0, p - math.exp(epsilon) * (1 + 1e-12) * q).sum())


def both_ways(p: NDArray[np.float64], q: NDArray[np.float64], epsilon: float) -> float:
    return max(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon))


def masses(lower_tail: Any, upper_tail: Any, edges: NDArray[np.float64], centre: float) -> NDArray[np.float64]:
    """The mass of each cell between consecutive edges, from the tail that does not cancel."""
    low, high = edges[:-1], edges[1:]
    left = lower_tail(high) - lower_tail(low)
    right = upper_tail(low) - upper_tail(high)
    return np.where(high <= centre, left, np.where(low >= centre, right, 1 - lower_tail(low) - upper_tail(high)))


def laplace_cells(edges: NDArray[np.float64], centre: float, scale: float) -> NDArray[np.float64]:
    def upper(z: NDArray[np.float64]) -> NDArray[np.float64]:
        away = np.abs(z - centre) / scale
        return np.where(z >= centre, 0.5 * np.exp(-away), 1 - 0.5 * np.exp(-away))

    return masses(lambda z: upper(2 * centre - z), upper, edges, centre)


def stlap_cells(edges: NDArray[np.float64], centre: float, q: float, epsilon: float) -> NDArray[np.float64]:
    def upper(z: NDArray[np.float64]) -> NDArray[np.float64]:
        away = np.clip(np.abs(z - centre), 0, q / 2)
        tail = 0.5 * (np.exp(-epsilon * away) - math.exp(-epsilon * q / 2)) / -math.expm1(-epsilon * q / 2)
        return np.where(z >= centre, tail, 1 - tail)

    return masses(lambda z: upper(2 * centre - z), upper, edges, centre)


def rounded(x: int, top: int, cells: Any) -> NDArray[np.float64]:
    """The law of max(0, round(x + noise)) on 0, …, top, where the last cell takes all above."""
    if x == 0:
        return np.eye(1, top + 1)[0]
    edges = np.concatenate(([-np.inf], np.arange(top) + 0.5, [np.inf]))
    return np.asarray(cells(edges))


def stlap_divergence(epsilon: float, q: float) -> float:
    top = math.ceil(q) + 6
    laws = [
        rounded(x, top, lambda e, x=x: stlap_cells(np.clip(e, -1e9, 1e9), x - q / 2, q, epsilon)) for x in range(top)
    ]
    return max(both_ways(p, q_, epsilon) for p, q_ in zip(laws[1:], laws, strict=False))


def esa_divergence(epsilon: float, moved: float) -> float:
    top = math.ceil(2 * moved + 10)
    laws = [
        rounded(x, top, lambda e, x=x: laplace_cells(np.clip(e, -1e9, 1e9), x - moved, 1 / epsilon))
        for x in range(math.ceil(moved) + 4)
    ]
    return max(both_ways(p, q, epsilon) for p, q in zip(laws[1:], laws, strict=False))


def bns_law(x: int, edges: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """Return the probability of no report (below the first edge), then of each cell; empty buckets report nothing."""
    if x == 0:
        return np.eye(1, len(edges))[0]
    return laplace_cells(np.concatenate(([-1e9], edges)), x, scale)


def bns_edges(least: float, *kinks: int) -> NDArray[np.float64]:
    # Between kinks the ratio of two Laplace densities is constant or monotone, so that these cells lose nothing.
    fine = [k + f for k in kinks for f in (-1, -0.5, 0, 0.5, 1)]
    return np.array(sorted({least, *(z for z in fine if z > least), 1e9}))


def bns_divergence(epsilon: float, scale: float, least: float) -> float:
    worst = 0.0
    for x in range(1, math.ceil(least) + 4):
        edges = bns_edges(least, x - 1, x)
        worst = max(worst, both_ways(bns_law(x, edges, scale), bns_law(x - 1, edges, scale), epsilon))
    return worst


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_dropping_is_private_in_integers(epsilon: float) -> None:
    noise = DropNoise(epsilon, Fraction(1, 2**20))
    evidence = noise.certify()
    claim = baseline("dropping").claim(epsilon=epsilon, delta=Fraction(1, 2**20))
    assert claim.delta == evidence.delta_real <= Fraction(1, 2**20)
    a, b = evidence.growth_numerator, evidence.growth_denominator  # a/b ≤ e^ε

    def law_of(x: int) -> list[int]:
        out = [0] * (noise.q + 4)
        for j, weight in enumerate(noise.weights):
            out[max(0, x - j)] += weight
        return out

    heights = {*range(4), noise.q // 2, noise.q // 2 + 1, *range(noise.q - 2, noise.q + 4)}
    for x in sorted(heights - {0}):
        for p, q in ((law_of(x), law_of(x - 1)), (law_of(x - 1), law_of(x))):
            excess = sum(max(0, b * v - a * w) for v, w in zip(p, q, strict=True))
            assert excess <= b * evidence.first_weight


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", [DELTA, 1e-3])
def test_noisy_bars_are_private_and_no_more_than_needed(epsilon: float, delta: float) -> None:
    q, least, moved = stlap_reach(epsilon, delta), threshold(epsilon, delta), shift(epsilon, delta)
    assert stlap_divergence(epsilon, q) == pytest.approx(delta, rel=1e-6)
    assert stlap_divergence(epsilon, q) <= delta * SLACK
    assert esa_divergence(epsilon, moved) <= delta * SLACK
    assert esa_divergence(epsilon, moved) == pytest.approx(delta * math.exp(-epsilon / 2), rel=1e-6)
    assert bns_divergence(epsilon, 1 / epsilon, least) == pytest.approx(delta, rel=1e-9)
    # With a wrong calibration the same checks must fail.
    assert stlap_divergence(epsilon, q - 0.1) > delta * SLACK
    assert esa_divergence(epsilon, moved - 0.6) > delta * SLACK
    assert bns_divergence(epsilon, 1 / epsilon, least - 0.1) > delta * SLACK
    assert bns_divergence(epsilon, 0.9 / epsilon, least) > delta * SLACK


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_swap_calibration_is_private_for_replacing_a_record(epsilon: float) -> None:
    scale, least = 2 / epsilon, swap_threshold(epsilon, DELTA)
    assert bns_divergence(epsilon / 2, scale, least) == pytest.approx(DELTA / 4, rel=1e-9)
    worst, plain = 0.0, 0.0
    tall = math.ceil(least) + 2
    for x, y in product((1, 2, 3, tall), (0, 1, 2, tall)):  # a record leaves the bar of x and enters the bar of y
        edges = bns_edges(least, x - 1, x, y, y + 1)
        p = np.outer(bns_law(x, edges, scale), bns_law(y, edges, scale)).ravel()
        q = np.outer(bns_law(x - 1, edges, scale), bns_law(y + 1, edges, scale)).ravel()
        worst = max(worst, both_ways(p, q, epsilon))
        edges = bns_edges(threshold(epsilon, DELTA), x - 1, x, y, y + 1)
        p = np.outer(bns_law(x, edges, 1 / epsilon), bns_law(y, edges, 1 / epsilon)).ravel()
        q = np.outer(bns_law(x - 1, edges, 1 / epsilon), bns_law(y + 1, edges, 1 / epsilon)).ravel()
        plain = max(plain, both_ways(p, q, epsilon))
    assert worst <= DELTA * SLACK
    assert plain > DELTA * SLACK  # the other calibration does not claim this


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("bars", [1, 2, 7, 100])
def test_the_exponential_mechanism_is_pure(epsilon: float, bars: int) -> None:
    def loss(rate: float) -> float:
        laws = np.log([exponential_law(place, bars, rate, bars) for place in range(bars)])
        return float((laws[:, None] - laws[None]).max())

    assert loss(epsilon) <= epsilon * SLACK
    if bars > 2:
        assert loss(4 * epsilon) > epsilon


def neighbours(counts: tuple[int, ...]) -> list[tuple[int, ...]]:
    """One record more."""
    return [tuple(c + (i == j) for j, c in enumerate(counts)) for i in range(len(counts))]


@pytest.mark.parametrize("epsilon", [0.3, 1.0])
@pytest.mark.parametrize(
    ("level", "ties"), [(None, "smallest"), (None, "largest"), (None, "random"), (1, "smallest"), (2, "smallest")]
)
def test_propose_test_release_is_private(epsilon: float, level: int | None, ties: Any) -> None:
    delta = 0.01

    def law_of(counts: tuple[int, ...], extra: float) -> NDArray[np.float64]:
        x = counted(*counts)
        chance = release_chance(distance_to_instability(x, level, ties) + extra, epsilon, delta)
        out = np.full(len(x), (1 - chance) / len(x))
        possible = answers(x, level, ties)
        out[possible] += chance / len(possible)
        return out

    def worst(extra: float) -> float:
        return max(
            both_ways(law_of(x, extra), law_of(y, extra), epsilon)
            for x in [*product(range(4), repeat=3), (9, 2, 1), (0, 1, 12), (1, 0, 20)]
            for y in neighbours(x)
        )

    assert worst(0) <= delta * SLACK
    assert worst(6 / epsilon) > delta * SLACK


def laplace_divergence(p: tuple[float, float], q: tuple[float, float], epsilon: float) -> float:
    """∫ max(0, p − e^ε q) of two Laplace laws (centre, scale): between and beyond the centres log p/q is linear."""
    (m, b), (n, c) = p, q
    far = 800 * max(b, c)
    kinks = [min(m, n) - far, min(m, n), max(m, n), max(m, n) + far]

    def ratio(z: float) -> float:
        return abs(z - n) / c - abs(z - m) / b + math.log(c / b) - epsilon

    total = 0.0
    for low, high in pairwise(kinks):
        left, right = ratio(low), ratio(high)
        if max(left, right) <= 0:
            continue
        if min(left, right) < 0:
            root = low + (high - low) * left / (left - right)
            low, high = (root, high) if right > 0 else (low, root)
        edges = np.array([low, high])
        total += (laplace_cells(edges, m, b) - math.exp(epsilon) * laplace_cells(edges, n, c)).item()
    return total


@pytest.mark.parametrize(
    ("level", "ties"), [(None, "smallest"), (None, "largest"), (None, "random"), (1, "smallest"), (2, "smallest")]
)
def test_smooth_sensitivity_is_private(level: int | None, ties: Any) -> None:
    for epsilon, delta in product((0.3, 5.0) if ties == "random" else (0.3, 2.0, 5.0), (0.5, DELTA)):
        beta = smoothness(epsilon, delta)
        for x, y in [(low, high) for low in product(range(3), repeat=3) for high in neighbours(low)]:
            one, two = counted(*x), counted(*y)
            s, t = smooth_sensitivity(one, level, beta, ties), smooth_sensitivity(two, level, beta, ties)
            assert abs(math.log(s / t)) <= beta * SLACK
            for f, g in product(answers(one, level, ties).tolist(), answers(two, level, ties).tolist()):
                assert abs(f - g) <= min(s, t) * SLACK
                p, q = (f, 2 * s / epsilon), (g, 2 * t / epsilon)
                assert max(laplace_divergence(p, q, epsilon), laplace_divergence(q, p, epsilon)) <= delta * SLACK


def test_smooth_sensitivity_is_private_at_the_worst_ratio_up_to_five_and_not_beyond() -> None:
    def worst(epsilon: float, delta: float) -> float:
        ratio = math.exp(smoothness(epsilon, delta))
        wide, narrow = 2 / epsilon, 2 / epsilon / ratio
        pairs = [((0.0, wide), (gap / ratio, narrow)) for gap in (0, 0.25, 0.5, 0.75, 1)]
        return max(laplace_divergence(p, q, epsilon) for pair in pairs for p, q in (pair, pair[::-1])) / delta

    for epsilon, delta in product((0.05, 0.5, 1, 2, 3, 4, 5), (0.5, 0.1, 1e-3, DELTA, 1e-9)):
        assert worst(epsilon, delta) <= 0.5
    assert worst(20, DELTA) > 1
    with pytest.raises(InputError, match=r"epsilon must be in \(0, 5\]"):
        baseline("ss").claim(epsilon=6, delta=DELTA)
    with pytest.raises(InputError, match=r"epsilon must be in \(0, 5\]"):
        baseline("ss").run(counted(1, 2), Max(), 2, np.random.default_rng(0), epsilon=6, delta=DELTA)


def choosing_law(counts: tuple[int, ...], rounds: int, rate: float) -> NDArray[np.float64]:
    """Each order in which the exponential mechanism can pick bars without replacement."""
    weights = np.exp(rate * np.array(counts, dtype=float))
    chances = []
    for order in permutations(range(len(counts)), rounds):
        left, chance = float(weights.sum()), 1.0
        for bar in order:
            chance *= weights[bar] / left
            left -= weights[bar]
        chances.append(chance)
    return np.array(chances)


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_choosing_costs_half_of_epsilon(rounds: int) -> None:
    epsilon = 1.0

    def loss(rate: float) -> float:
        xs = [(0, 0, 0, 0), (3, 1, 0, 2), (30, 1, 1, 0), (60, 59, 1, 1)]
        return max(
            float(np.abs(np.log(choosing_law(x, rounds, rate)) - np.log(choosing_law(y, rounds, rate))).max())
            for x in xs
            for y in neighbours(x)
        )

    assert loss(epsilon / (2 * rounds)) <= epsilon / 2 * SLACK
    assert loss(epsilon / rounds) > epsilon / 2


# Runs against exact laws

X = counted(40, 0, 12, 14, 25, 0, 3, 9, 1, 0)
RUNS = 20_000
BAND = math.sqrt(math.log(2 / 1e-8) / (2 * RUNS))


def top_law(visible: NDArray[np.float64]) -> NDArray[np.float64]:
    """The law of the rightmost visible bar, 0 where none is."""
    hidden_right = np.cumprod(np.concatenate(([1.0], (1 - visible)[::-1])))[:-1][::-1]
    out = visible * hidden_right
    out[0] += np.prod(1 - visible)
    return np.asarray(out)


def upper_laplace(z: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    tail = 0.5 * np.exp(-np.abs(z) / scale)
    return np.where(z >= 0, tail, 1 - tail)


def exact_cdf(name: str, level: int, epsilon: float, delta: float) -> NDArray[np.float64]:
    """Pr[output ≤ i] for max_k of X."""
    if name == "dropping":
        noise = DropNoise(epsilon, delta)
        visible = np.array([float(noise.survival(max(0, int(c) - level + 1))) for c in X])
    elif name == "stlap":
        q = stlap_reach(epsilon, delta)
        visible = np.array([stlap_cells(np.array([level - 0.5, 1e9]), c - q / 2, q, epsilon)[0] for c in X])
    elif name == "esa":
        visible = upper_laplace(level - 0.5 - (X - shift(epsilon, delta)), 1 / epsilon)
    elif name in ("bns", "bns_swap"):
        factor, least = (1, threshold(epsilon, delta)) if name == "bns" else (2, swap_threshold(epsilon, delta))
        visible = upper_laplace(max(least, level if level > 1 else 0) - X, factor / epsilon)
    elif name == "em":
        return np.cumsum(exponential_law(answer(X, level), len(X), epsilon, len(X)))
    elif name == "ptr":
        chance = release_chance(distance_to_instability(X, level), epsilon, delta)
        return np.cumsum(chance * np.eye(len(X))[answer(X, level)] + (1 - chance) / len(X))
    elif name == "ss":
        scale = 2 * smooth_sensitivity(X, level, smoothness(epsilon, delta)) / epsilon
        below = 1 - upper_laplace(np.arange(len(X)) - float(answer(X, level)), scale)
        return np.concatenate((below[:-1], [1.0]))
    elif name == "sanpoints_halting":  # one round that may halt
        least = choosing_threshold(epsilon / 4, delta)
        passes = float(upper_laplace(np.array([least - X.max()]), 4 / epsilon)[0])
        weights = np.where(X > 0, np.exp(epsilon / 4 * (X - X.max())), 0.0)
        seen = upper_laplace((level if level > 1 else 0) - X.astype(float), 2 / epsilon)
        chances = passes * weights / weights.sum() * seen
        chances[0] += 1 - chances.sum()
        return np.cumsum(chances)
    else:  # one round of choosing
        weights = np.exp(epsilon / 2 * (X - X.max()))
        seen = upper_laplace((level if level > 1 else 0) - X.astype(float), 2 / epsilon)
        chances = weights / weights.sum() * seen
        chances[0] += 1 - chances.sum()
        return np.cumsum(chances)
    return np.cumsum(top_law(np.where(X > 0, visible, 0)))


def gap(name: str, level: int, epsilon: float, run_at: float, delta: float = 0.01) -> float:
    single = {"rounds": 1} if name.startswith("sanpoints") else {}
    asked = read_question(X, Max() if level == 1 else MaxAtLeast(level))
    rng = np.random.default_rng([7, level])
    outputs = baseline(name).kind(run_at, delta, **single).answers(asked, RUNS, rng)
    assert outputs.shape == (RUNS,) and outputs.min() >= 0 and outputs.max() <= len(X) - 1
    seen = np.searchsorted(np.sort(outputs), np.arange(len(X)), side="right") / RUNS
    return float(np.abs(seen - exact_cdf(name, level, epsilon, delta)).max())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("level", "epsilon"), [(1, 0.5), (8, 0.8), (20, 0.2)])
def test_runs_follow_the_exact_law(name: str, level: int, epsilon: float) -> None:
    assert gap(name, level, epsilon, epsilon) <= BAND


@pytest.mark.parametrize("name", NAMES)
def test_runs_at_another_epsilon_are_found_out(name: str) -> None:
    epsilon = 4.0 if name in ("em", "ptr", "ss") else 0.2
    level = 20 if name == "ptr" else 8
    assert gap(name, level, epsilon, epsilon / 4 if name in ("em", "ptr", "ss") else 3 * epsilon) > BAND


def halting_law(counts: tuple[int, ...], rounds: int, step: float, least: float) -> dict[tuple[int, ...], float]:
    """The chance of every sequence of choices before the first round that halts, or the last."""
    out: dict[tuple[int, ...], float] = {}

    def play(chosen: tuple[int, ...], chance: float) -> None:
        left = [i for i, c in enumerate(counts) if c and i not in chosen]
        if len(chosen) == rounds or not left:
            out[chosen] = out.get(chosen, 0.0) + chance
            return
        passes = float(upper_laplace(np.array([least - max(counts[i] for i in left)]), 1 / step)[0])
        out[chosen] = out.get(chosen, 0.0) + chance * (1 - passes)
        total = sum(math.exp(step * counts[i]) for i in left)
        for i in left:
            play((*chosen, i), chance * passes * math.exp(step * counts[i]) / total)

    play((), 1.0)
    return out


@pytest.mark.parametrize("rounds", [1, 2, 3])
@pytest.mark.parametrize("step", [0.3, 1.0])
def test_choosing_that_halts_is_private(rounds: int, step: float) -> None:
    """Over all sequences of choices, of neighbours in which a bucket is filled, or grows."""
    delta = 0.01

    def worst(less: float) -> float:
        least, found = choosing_threshold(step, delta / rounds) - less, 0.0
        tall = math.ceil(least)
        for x in [(0, 0, 0), (1, 0, 0), (1, 1, 0), (2, 1, 0), (tall, 1, 0), (tall, tall - 2, 0), (tall + 3, 0, 0)]:
            for y in neighbours(x):
                laws = [halting_law(each, rounds, step, least) for each in (x, y)]
                every = sorted({*laws[0], *laws[1]})
                p, q = (np.array([each.get(choice, 0.0) for choice in every]) for each in laws)
                assert p.sum() == pytest.approx(1) and q.sum() == pytest.approx(1)
                found = max(found, both_ways(p, q, 2 * rounds * step))
        return found

    assert worst(0) <= delta * SLACK
    assert worst(8 / step) > delta


def test_choices_of_several_rounds_follow_the_law_that_halts() -> None:
    counts, epsilon, delta = (1009, 1003, 1000, 0), 1.0, 0.01
    least = choosing_threshold(epsilon / 8, delta / 2)
    lower = int(np.min(counts[:3]) - math.floor(least))
    heights = tuple(c - lower if c else 0 for c in counts)  # near the threshold, where it halts now and then
    choosing = SanPointsHalting(epsilon, delta, rounds=2)
    picked = choosing.rows(counted(*heights), RUNS, np.random.default_rng(3)) > 0
    assert not picked[:, 3].any()
    running, seen = 0.0, 0.0
    together: dict[frozenset[int], float] = {}
    for order, chance in halting_law(heights, 2, epsilon / 8, least).items():
        together[frozenset(order)] = together.get(frozenset(order), 0.0) + chance
    assert len(together) == 7 and min(together.values()) > 0.01
    for chosen, chance in together.items():
        wanted = np.isin(np.arange(4), sorted(chosen))
        running, seen = running + chance, seen + float((picked == wanted).all(axis=1).mean())
        assert abs(running - seen) <= BAND


def test_the_exponential_mechanism_s_sensitivity_is_a_distance() -> None:
    tight = baseline("em_tight")
    assert tight.name == "em_tight" and "em_tight" not in BASELINES
    for bars in (1, 2, 7):
        asked = [read_question(counted(*(int(i == place) for i in range(bars))), Max()) for place in range(bars)]
        laws, wider = (
            np.log([each.kind(1, DELTA).law_of_answer(one).dense[1] for one in asked])
            for each in (tight, baseline("em"))
        )
        loss, other = (float((each[:, None] - each[None]).max()) for each in (laws, wider))
        assert other <= loss <= 1 * SLACK and (bars == 1 or other < loss)
    ratio = exponential_law(0, 7, 1.0, 6)
    assert ratio[0] / ratio[6] == pytest.approx(math.exp(0.5))
    ratio = exponential_law(0, 7, 2.2, 6)
    assert ratio[0] / ratio[6] > math.exp(1)  # too large an ε would show


def test_picks_of_several_rounds_follow_the_law_of_choosing() -> None:
    counts, epsilon = (6, 4, 1, 0), 1.0
    # so tall that a picked bar is always positive; only differences matter
    picked = SanPoints(epsilon, DELTA, rounds=2).rows(counted(*counts) + 1000, RUNS, np.random.default_rng(3)) > 0
    assert (picked.sum(axis=1) == 2).all()
    chances = dict.fromkeys((frozenset(p) for p in permutations(range(4), 2)), 0.0)
    for order, chance in zip(permutations(range(4), 2), choosing_law(counts, 2, epsilon / 4), strict=True):
        chances[frozenset(order)] += chance
    running, seen = 0.0, 0.0
    for pair, chance in chances.items():
        running, seen = running + chance, seen + float(picked[:, sorted(pair)].all(axis=1).mean())
        assert abs(running - seen) <= BAND


def test_picked_heights_carry_noise_of_half_of_epsilon() -> None:
    epsilon, tall = 0.5, 10_000  # so tall that no height is cut at zero
    rows = SanPoints(epsilon, DELTA).rows(counted(tall), RUNS, np.random.default_rng(4))
    heights = np.sort(rows[:, 0]) - tall
    places = np.linspace(-20, 20, 81)
    seen = np.searchsorted(heights, places, side="right") / RUNS
    assert np.abs(seen - (1 - upper_laplace(places, 2 / epsilon))).max() <= BAND
    assert np.abs(seen - (1 - upper_laplace(places, 1 / epsilon))).max() > BAND


def test_calibrations_are_the_stated_ones() -> None:
    chances = exponential_law(2, 10, 3.0, 10)
    assert chances.sum() == pytest.approx(1)
    assert chances[2] / chances[9] == pytest.approx(math.exp(3.0 * 7 / 20))
    assert release_chance(0, 1.0, DELTA) == pytest.approx(DELTA / 2)
    assert release_chance(math.log(1 / DELTA) / 0.2, 0.2, DELTA) == pytest.approx(0.5)
    assert stlap_reach(1.0, DELTA) == pytest.approx(2 * math.log(1 + (math.e - 1) * 2**19))
    assert shift(0.5, DELTA) == threshold(0.5, DELTA) == pytest.approx(1 + 2 * 19 * math.log(2))
    assert swap_threshold(0.5, DELTA) == pytest.approx(1 + 4 * 21 * math.log(2))
    assert smoothness(0.5, DELTA) == pytest.approx(0.25 / (21 * math.log(2)))
    assert SanPoints(1, DELTA).rounds == SanPointsHalting(1, DELTA).rounds == 20


@pytest.mark.parametrize("name", NAMES)
def test_a_plain_case_of_the_mode(name: str) -> None:
    x = counted(10, 3000, 20, 0, 1000)
    outputs = baseline(name).run(x, Mode(), 200, np.random.default_rng(1), epsilon=1, delta=DELTA)
    if name == "em":
        assert len(set(outputs.tolist())) == 5
    elif name == "ss":
        assert abs(float(np.median(outputs)) - 1) < 0.1
    else:
        assert set(outputs.tolist()) == {1.0}


# Reading, seeds, names and bad input


def read_rows(rows: Any, level: int | None, empty: Any, ties: Any = "smallest") -> NDArray[np.float64]:
    statistic = Mode() if level is None else MaxAtLeast(level) if level > 1 else Max()
    asked = Question(counts=np.zeros(rows.shape[1], np.int64), statistic=statistic, level=level, empty=empty, ties=ties)
    return read_off(rows, asked, np.random.default_rng(2))


def test_statistics_are_read_row_by_row() -> None:
    rows = np.array([[0, 5, 5, 1], [2, 0, 0, 0], [0, 0, 0, 0]])
    assert read_rows(rows, None, "zero").tolist() == [1, 0, 0]
    assert read_rows(rows, 1, "zero").tolist() == [3, 0, 0]
    assert read_rows(rows, 2, "zero").tolist() == [2, 0, 0]
    assert read_rows(np.array([[0, 0.4, 0, 0]]), 1, "zero").tolist() == [1]


def test_ties_of_the_mode_go_where_they_are_told() -> None:
    rows = np.array([[0, 5, 5, 1], [2, 0, 0, 2], [0, 0, 0, 0]])
    assert read_rows(rows, None, "zero", ties="smallest").tolist() == [1, 0, 0]
    assert read_rows(rows, None, "zero", ties="largest").tolist() == [2, 3, 0]
    assert read_rows(rows, 1, "zero", ties="largest").tolist() == [3, 3, 0]
    many_rows = np.repeat([[3, 1, 3, 3]], 6000, axis=0)
    drawn = np.bincount(read_rows(many_rows, None, "zero", ties="random").astype(int), minlength=4)
    assert drawn[1] == 0 and drawn[[0, 2, 3]].min() > 1700  # 2000 expected: probability below 1e-14
    x = counted(5, 0, 5)
    assert [answers(x, None, ties).tolist() for ties in ("smallest", "largest", "random")] == [[0], [2], [0, 2]]
    assert answers(x, 1, "random").tolist() == [2]
    assert answers(counted(0, 0), None, "largest").tolist() == [1]


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"ptr"}))  # whose answer at a tie is a random bar
def test_runs_follow_the_rule_for_ties(name: str) -> None:
    x = counted(4000, 10, 4000, 4000, 0)
    outputs = {
        ties: baseline(name).run(x, Mode(), 4000, np.random.default_rng(5), epsilon=1, delta=DELTA, ties=ties)
        for ties in ("smallest", "largest", "random")
    }
    if name in ("bns", "bns_swap", "sanpoints", "sanpoints_halting"):  # real noise does not tie
        assert (outputs["smallest"] == outputs["largest"]).all()
    else:  # ten standard errors apart, or the same noise read in three ways
        assert outputs["smallest"].mean() < outputs["random"].mean() < outputs["largest"].mean()


@pytest.mark.parametrize("name", NAMES)
def test_runs_made_in_many_blocks_follow_the_same_law(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def outputs() -> NDArray[np.float64]:
        epsilon = 16 if name == "sanpoints_halting" else "0.3"  # below, ten rounds halt at the first
        return baseline(name).run(X, MaxAtLeast(9), 500, np.random.default_rng(8), epsilon=epsilon, delta=0.01)

    at_once = outputs()
    monkeypatch.setattr(_base, "BLOCK", 100 * len(X))
    assert gap(name, 8, 0.3, 0.3) <= BAND
    in_blocks = outputs()
    assert in_blocks.shape == (500,) and not (in_blocks[:100] == in_blocks[100:200]).all()
    if name not in (
        "dropping",
        "sanpoints",
        "sanpoints_halting",
    ):  # one kind of draw, row after row: blocks change no byte
        assert (in_blocks == at_once).all()
    monkeypatch.setattr(_base, "BLOCK", 1)  # less than a row: one run at a time
    assert outputs().shape == (500,)


def test_blocks_bound_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    monkeypatch.setattr(_base, "read_off", lambda rows, *_: seen.append(rows.size) or np.zeros(len(rows)))
    baseline("esa").run(np.ones(300, dtype=int), Mode(), 10_000, np.random.default_rng(0), epsilon=1, delta=DELTA)
    assert sum(seen) == 3_000_000 and max(seen) <= _base.BLOCK


def test_a_uniform_draw_of_zero_is_no_logarithm_of_zero() -> None:
    for epsilon, delta in product((1e-3, 1.0, 1e4), (0.1, 1e-17, 1e-30)):
        q = stlap_reach(epsilon, delta)
        noise = truncated_laplace_quantile(np.array([0.0, 2.0**-53, 0.25, 0.5, 1 - 2.0**-53]), reach=q, epsilon=epsilon)
        assert np.isfinite(noise).all() and (np.diff(noise) >= 0).all()
        assert noise[0] >= -q and noise[-1] <= 0 and noise[3] == pytest.approx(-q / 2)
    assert truncated_laplace_quantile(np.array([0.0]), reach=stlap_reach(1.0, 0.1), epsilon=1.0)[0] == pytest.approx(
        -stlap_reach(1.0, 0.1)
    )


def test_an_empty_output_is_zero_or_a_random_bar() -> None:
    rows = np.zeros((4000, 4))
    for level in (None, 1, 3):
        assert set(read_rows(rows, level, "zero").tolist()) == {0.0}
        drawn = np.bincount(read_rows(rows, level, "random").astype(int), minlength=4)
        assert drawn.min() > 800  # 1000 expected: probability below 1e-10
    for name in NAMES:
        out = baseline(name).run(
            counted(0, 0, 0), Mode(), 50, np.random.default_rng(0), epsilon=1, delta=DELTA, empty="random"
        )
        assert set(out.tolist()) <= {0.0, 1.0, 2.0} or name == "ss"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("statistic", [Max(), MaxAtLeast(9), Mode()], ids=["max", "max_9", "mode"])
def test_the_same_seed_gives_the_same_bytes(name: str, statistic: Any) -> None:
    def outputs(seed: int) -> bytes:
        rng = np.random.default_rng(seed)
        return baseline(name).run(X, statistic, 300, rng, epsilon="0.3", delta=DELTA, empty="random").tobytes()

    assert outputs(11) == outputs(11)
    assert outputs(11) != outputs(12) or name in ("dropping", "stlap", "bns")  # these may be deterministic here


def test_the_registry_has_every_mechanism_under_its_name() -> None:
    assert list(BASELINES) == NAMES
    for name, mechanism in BASELINES.items():
        assert isinstance(mechanism, Baseline)
        assert mechanism.name == name and mechanism.kind("0.3", DELTA).epsilon == Fraction(3, 10)
        assert mechanism.citation.year >= 2007 and str(mechanism.citation.year) in str(mechanism.citation)
        assert "Calibration" in (mechanism.kind.__doc__ or "")
        claim = mechanism.claim(epsilon="0.3", delta=DELTA)
        assert claim.epsilon == Fraction(3, 10) and claim.delta <= Fraction(1, 2**20)
        assert claim.neighbours == (SUBSTITUTION if name == "bns_swap" else ONE_RECORD)
        assert (claim.delta == 0) == (name in ("em", "sanpoints"))


@pytest.mark.parametrize(
    ("wrong", "right"), [("droping", "dropping"), ("BNS-swap", "bns_swap"), ("sanpoint", "sanpoints")]
)
def test_an_unknown_name_suggests_the_nearest(wrong: str, right: str) -> None:
    with pytest.raises(InputError, match=f"Did you mean '{right}'"):
        baseline(wrong)


def test_a_name_far_from_all_lists_them() -> None:
    for wrong in ("quantum", "", None, 3):
        with pytest.raises(InputError, match="Choose one of dropping, stlap"):
            baseline(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"counts": [[1, 2]]}, "counts must be a one-dimensional array"),
        ({"counts": []}, "counts must be a one-dimensional array"),
        ({"counts": [0.5]}, "counts must be a one-dimensional array"),
        ({"counts": [1, -1]}, "counts must not be negative"),
        ({"counts": [2**62, 2**62, 2**62]}, "counts must not be negative"),
        ({"statistic": "max"}, "statistic must be"),
        ({"runs": 0}, "runs must be a whole number of at least 1"),
        ({"rng": 7}, "rng must be a numpy Generator"),
        ({"epsilon": 0}, "epsilon must be"),
        ({"delta": 0}, "delta must be"),
        ({"delta": 0.6}, "delta must be"),
        ({"empty": "left"}, "empty must be"),
        ({"ties": "left"}, "ties must be"),
    ],
)
def test_bad_input_is_named(name: str, change: dict[str, Any], message: str) -> None:
    request: dict[str, Any] = {
        "counts": [1, 2], "statistic": Max(), "runs": 2, "rng": np.random.default_rng(0),
        "epsilon": 1, "delta": DELTA, "empty": "zero",
    }  # fmt: skip
    with pytest.raises(InputError, match=message):
        baseline(name).run(**(request | change))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("epsilon", "delta"), [("1e-3", "1e-6"), (4, "1e-30"), (5, 0.5), ("1e4", "1e-20")])
def test_extreme_parameters_give_outputs_on_the_bars(name: str, epsilon: Any, delta: Any) -> None:
    epsilon = 5 if name == "ss" and epsilon == "1e4" else epsilon  # larger ε are refused
    for counts, statistic in product(
        (counted(7), counted(0, 2**50, 3), counted(0, 0)), (Max(), MaxAtLeast(2**51), Mode())
    ):
        out = baseline(name).run(counts, statistic, 20, np.random.default_rng(0), epsilon=epsilon, delta=delta)
        assert out.shape == (20,) and (out >= 0).all() and (out <= len(counts) - 1).all()


def test_rounds_must_be_whole() -> None:
    with pytest.raises(InputError, match="rounds must be a whole number"):
        SanPoints(1, DELTA, rounds=0)


def test_a_mechanism_of_ones_own_fits_the_protocol() -> None:
    class Truth:
        name = "truth"
        citation = baseline("em").citation

        def claim(self, **_: Any) -> None: ...

        def run(self, counts: Any, statistic: Any, runs: int, rng: Any, **_: Any) -> None: ...

    assert isinstance(Truth(), Baseline)
    assert not isinstance(object(), Baseline)
