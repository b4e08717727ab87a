"""The errata of the paper, computed: each section of docs/errata.md has a check here."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from flexdp import Accuracy, Histogram
from flexdp.calculus import compose_accuracy, deterministic_error, identity
from flexdp.distances import hausdorff, total_variation
from flexdp.distortions import Drop
from flexdp.guarantees import Metric
from flexdp.mechanisms import BucketHistogram, Bucketing, Dropping, STLap
from flexdp.noise import DropNoise
from flexdp.planning import regime
from flexdp.statistics import Max, Support


def distribution_function(z: np.ndarray, q: float, epsilon: float) -> np.ndarray:
    """Of the shifted, truncated Laplace noise on [−q, 0]."""
    z = np.clip(z, -q, 0.0)
    mass = -2 * math.expm1(-epsilon * q / 2)
    rising = np.exp(epsilon * (np.minimum(z, -q / 2) + q / 2)) - math.exp(-epsilon * q / 2)
    falling = np.where(z > -q / 2, -np.expm1(-epsilon * (np.maximum(z, -q / 2) + q / 2)), 0.0)
    return (rising + falling) / mass


def reported(height: int, q: float, epsilon: float) -> np.ndarray:
    """The exact law of max(0, round(height + noise)), by value from 0 to height."""
    values = np.arange(height + 1)
    upper = distribution_function(values + 0.5 - height, q, epsilon)
    lower = np.concatenate(([0.0], upper[:-1]))
    return upper - lower


def true_delta(x: tuple[int, ...], y: tuple[int, ...], tau: float, epsilon: float) -> float:
    """The hockey-stick divergence of the paper's mechanism between two histograms, over all joint reports."""

    def joint(h: tuple[int, ...], top: tuple[int, ...]) -> np.ndarray:
        q = tau * sum(h)
        out = np.ones(1)
        for height, most in zip(h, top, strict=True):
            first = most - math.ceil(tau * max(sum(x), sum(y))) - 2
            law = np.concatenate((reported(height, q, epsilon), np.zeros(most - height)))[first:]
            out = np.multiply.outer(out, law)
        return out

    top = tuple(max(a, b) for a, b in zip(x, y, strict=True))
    return float(np.maximum(joint(x, top) - math.exp(epsilon) * joint(y, top), 0).sum())


def test_the_privacy_theorem_is_false_from_three_bars_on() -> None:
    x, y, tau, epsilon = (667, 667, 668), (667, 667, 667), 0.05, 0.5
    claimed = math.expm1(epsilon) / (2 * math.expm1(epsilon * tau * sum(x) / 2))
    assert claimed == pytest.approx(4.45e-12, rel=0.01)
    assert true_delta(x, y, tau, epsilon) == pytest.approx(7.52e-4, rel=0.01)
    assert true_delta(y, x, tau, epsilon) == pytest.approx(7.80e-4, rel=0.01)


def test_with_one_bar_the_theorem_stands() -> None:
    x, y, tau, epsilon = (2002,), (2001,), 0.05, 0.5
    claimed = math.expm1(epsilon) / (2 * math.expm1(epsilon * tau * 2001 / 2))
    assert true_delta(x, y, tau, epsilon) <= claimed * 1.01


def test_the_corrected_guarantee_covers_the_counterexample() -> None:
    x, y, tau = (667, 667, 668), (667, 667, 667), 0.05
    privacy = STLap(tau="0.05", epsilon="0.5", records_at_least=2001, bars=3).privacy
    assert privacy is not None

    def delta_at(one: tuple[int, ...], two: tuple[int, ...]) -> float:
        # The mechanism's own ε is 0.5; the guarantee is read at the corrected ε.
        def joint(h: tuple[int, ...]) -> np.ndarray:
            out = np.ones(1)
            for height, most in zip(h, (667, 667, 668), strict=True):
                law = np.concatenate((reported(height, tau * sum(h), 0.5), np.zeros(most - height)))[most - 103 :]
                out = np.multiply.outer(out, law)
            return out

        return float(np.maximum(joint(one) - math.exp(float(privacy.epsilon)) * joint(two), 0).sum())

    # Sums of 10^6 products of doubles are good to about 1e-13, which is well below the corrected δ.
    assert delta_at(x, y) <= float(privacy.delta) + 1e-12
    assert delta_at(y, x) <= float(privacy.delta) + 1e-12


def test_a_public_reach_repairs_it() -> None:
    """The same counterexample with dropping: exact rationals, the product of three bars."""
    noise = DropNoise("1", "0.05")
    evidence = noise.certify()
    growth = Fraction(evidence.growth_numerator, evidence.growth_denominator)

    def law(height: int) -> dict[int, Fraction]:
        out: dict[int, Fraction] = {}
        for j, w in enumerate(noise.weights):
            out[max(0, height - j)] = out.get(max(0, height - j), Fraction(0)) + Fraction(w, 1 << noise.bits)
        return out

    x, y = (9, 9, 10), (9, 9, 9)
    worst = Fraction(0)
    for one, two in ((x, y), (y, x)):
        laws = [(law(a), law(b)) for a, b in zip(one, two, strict=True)]
        total = Fraction(0)
        for outcome in product(*(sorted(set(p) | set(q)) for p, q in laws)):
            p = math.prod((laws[i][0].get(o, Fraction(0)) for i, o in enumerate(outcome)), start=Fraction(1))
            q = math.prod((laws[i][1].get(o, Fraction(0)) for i, o in enumerate(outcome)), start=Fraction(1))
            total += max(Fraction(0), p - growth * q)
        worst = max(worst, total)
    assert worst <= noise.delta_real


def test_below_half_a_record_the_papers_mechanism_is_the_identity() -> None:
    x = Histogram.from_counts({1: 10, 2: 5})
    assert STLap(tau="0.03", epsilon=1)(x) == x


def test_rounding_to_nearest_can_drop_more_than_the_reach() -> None:
    q = 10.7
    lost = np.flatnonzero(reported(1000, q, 0.5)[::-1] > 0).max()
    assert lost == math.ceil(q - 0.5) == 11 > q


def test_odd_reaches_beat_the_pareto_formula() -> None:
    epsilon = 1.0
    for m in (2, 5, 13):
        q = 2 * m + 1
        paper = math.expm1(epsilon) / (2 * math.expm1(epsilon * q / 2))
        ours = math.expm1(epsilon) / (math.exp(epsilon * m) * (math.e**epsilon + 1) - 2)
        assert ours < paper
        assert DropNoise(1, Fraction(ours) * (1 + Fraction(1, 10**5))).q == q


def test_tau_needs_the_rounded_up_number_of_buckets() -> None:
    """B = 10, 2β = 3: four buckets, and with τ = α·2β/B they could lose 1.2 α together."""
    mech = Bucketing(width=3, bounds=(0, 10))
    assert mech.bars == 4
    tau = Fraction(1, 10) * 3 / 10
    assert mech.bars * tau > Fraction(1, 10)
    assert mech.bars * (Fraction(1, 10) / math.ceil(Fraction(10, 3))) == Fraction(1, 10)


def test_the_last_centre_stays_within_the_bound() -> None:
    """The paper's last centre, w·(t − ½), may lie beyond B; ours does not."""
    assert 3 * (4 - 0.5) > 10
    x = Histogram.from_values([9.9])
    assert Bucketing(width=3, bounds=(0, 10))(x).keys.tolist() == [9.5]


@pytest.mark.parametrize("dimensions", [2, 3])
def test_in_d_dimensions_the_width_has_a_root(dimensions: int) -> None:
    beta = 5.0
    corner = np.zeros((1, dimensions))
    papers = Bucketing(width=10, bounds=(0, 100), dimensions=dimensions)(Histogram(corner, [1]))
    assert np.linalg.norm(papers.keys - corner) > beta
    ours = BucketHistogram(
        alpha="0.5", beta=5, epsilon=1, bounds=(0, 100), records_at_least=10**6, dimensions=dimensions
    )
    assert ours.accuracy().beta <= beta


def test_histogram_parameters() -> None:
    """τ = n^(−1/2): a fraction of at most t/√n is dropped, far below the t/n^(1/4) of the remark."""
    n, t = 10**8, 7
    plan = regime("inverse-root", records_at_least=n, buckets=t)
    assert plan.alpha <= Fraction(t, math.isqrt(n))
    assert float(plan.alpha) > 0.9 * t / math.sqrt(n), "it is that size, not smaller by an order"
    assert float(plan.alpha) < 0.02 * t / n**0.25
    assert float(plan.epsilon) == pytest.approx(n**-0.25)


def test_choosing_parameters() -> None:
    """ε = 1/√(τn): (1/ε²)·B/(2β) records are dropped, more for finer buckets; the paper has the inverse ratio."""
    n, span, tau = 10**6, 100, Fraction(1, 10**4)
    lost = {}
    for beta in (1, 5):
        plan = regime("inverse-root", records_at_least=n, tau=tau, span=span, beta=beta)
        lost[beta] = plan.max_drop * plan.buckets
        stated = float(1 / plan.epsilon**2)
        assert 0.9 * stated * span / (2 * beta) < lost[beta] <= stated * span / (2 * beta)
        assert lost[beta] > 10 * stated * 2 * beta / span
    assert lost[1] > lost[5]


def test_the_distance_of_supports_is_hausdorffs() -> None:
    one, two = [0, 10], [0, 5, 10]
    ends = max(abs(min(one) - min(two)), abs(max(one) - max(two)))
    assert hausdorff(one, two).value == 5 != ends
    assert Support().sensitivity(5) == 5


def test_not_every_distortion_is_an_output() -> None:
    """Outputs are α-distortions, but one that takes the whole budget from a single tall bucket never occurs."""
    mech = Dropping(epsilon=1, delta="1e-6")
    x = Histogram.from_counts({0: 1000, 1: 1000, 2: 1000})
    alpha = mech.accuracy(records_at_least=x.size, bars=3).alpha
    lopsided = Histogram.from_counts({0: 1000 - 3 * 27, 1: 1000, 2: 1000})
    assert alpha is not None
    assert Drop()(x, lopsided) <= alpha
    runs = [mech(x) for _ in range(300)]
    assert all(Drop()(x, y) <= alpha for y in runs)
    assert min(int(y.counts.min()) for y in runs) >= 1000 - 27 > int(lopsided.counts.min())


def test_integer_histograms_of_different_sizes_do_not_round_together() -> None:
    """x and 2x are at histogram distance zero, yet one record dropped from 2x cannot be matched by dropping from x."""
    x, twice = {1: 1, 2: 2}, {1: 2, 2: 4}
    normalise = lambda h: {k: Fraction(v, sum(h.values())) for k, v in h.items()}  # noqa: E731
    assert normalise(x) == normalise(twice)
    odd = {1: 2, 2: 3}  # one record dropped from 2x
    reachable = [{1: a, 2: b} for a in range(2) for b in range(3) if a + b]
    assert normalise(odd) not in [normalise({k: v for k, v in h.items() if v}) for h in reachable]


def test_total_variation_couples_on_the_diagonal() -> None:
    """Our coupling keeps equal mass in place; the product of P with itself would move half of it."""
    p = [0, 1]
    found = total_variation(p, p)
    assert found.value == 0
    assert all(p[i] == p[j] for i, j, _ in found.coupling)
    assert sum(mass for _, _, mass in found.coupling) == 1
    product_moves = sum(Fraction(1, 4) for a in p for b in p if a != b)
    assert product_moves == Fraction(1, 2) > found.left_p


def test_the_input_error_is_what_the_sensitivity_is_taken_at() -> None:
    """τ^{0,0}(β, 0) = Δ_f(β): the first argument is the input error."""
    error = deterministic_error(lambda beta: 3 * beta, metric=Metric("m"))
    found = compose_accuracy(Accuracy(alpha=0, beta=2), error, sigma=identity())
    assert (found.beta, found.gamma) == (6, 0)


def test_the_maximum_margin_direction_flips_at_any_beta() -> None:
    """Two points of one class, one of the other: a move of size β turns the separator by about 90 degrees."""

    def direction(minus: np.ndarray, plus: np.ndarray) -> np.ndarray:
        # The widest margin between one point and a set: towards the nearest point of the set's hull.
        a, b = plus
        t = np.clip(np.dot(minus - a, b - a) / np.dot(b - a, b - a), 0, 1)
        normal = a + t * (b - a) - minus
        return normal / np.linalg.norm(normal)

    for beta in (1e-3, 1e-6):
        minus = np.array([0.0, 0.0])
        one = direction(minus, np.array([[beta / 4, 0.0], [beta / 4, 1.0]]))
        two = direction(np.array([beta / 4, -beta / 4]), np.array([[beta / 4, 0.0], [beta / 4, 1.0]]))
        assert abs(float(np.dot(one, two))) < 0.01


def test_the_evaluated_alpha_is_not_the_guaranteed_one() -> None:
    """At ε = 1, δ = 2^−20, a hundred buckets of 10 000 records may lose far more than the .005 evaluated."""
    noise = DropNoise(1, Fraction(1, 2**20))
    assert noise.max_drop * 100 / 10_000 == pytest.approx(0.27)
    assert Max().sensitivity(0) == 0


def test_the_two_forms_of_the_condition_agree() -> None:
    """Claim equiv-ineq_claim-hist is correct algebra: both forms switch at the same n."""
    for epsilon, tau, nu in [(0.5, 0.05, 0.0), (1.0, 0.01, 0.1), (0.1, 0.2, 0.01)]:
        bound = 2 / (epsilon * tau) * math.log1p(-math.expm1(-epsilon * tau / 2) / math.expm1(epsilon * (nu + tau / 2)))
        for n in (bound * 0.999, bound * 1.001):
            ratio = math.log(math.expm1(-epsilon * tau * (n + 1) / 2) / math.expm1(-epsilon * tau * n / 2))
            assert (n >= bound) == (ratio <= epsilon * (nu + tau / 2))
