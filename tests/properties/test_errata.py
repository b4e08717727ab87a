"""The errata of the paper, computed: docs/errata.md runs as it stands, and its numbers are recomputed here."""

from __future__ import annotations

import doctest
import math
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexdp import Accuracy, Histogram, InputError
from flexdp.calculus import compose_accuracy, function_step, identity
from flexdp.distances import OwnMetric, Weighted, hausdorff, lossy_winf, total_variation
from flexdp.distortions import Drop, DropMove, Move
from flexdp.mechanisms import BucketHistogram, Bucketing, Dropping, Known, STLap
from flexdp.noise import DropNoise
from flexdp.planning import regime
from flexdp.statistics import Max, Support

ERRATA = Path(__file__).parent.parent.parent / "docs" / "errata.md"


def test_every_block_of_the_errata_runs() -> None:
    found = doctest.testfile(str(ERRATA), module_relative=False, encoding="utf-8")
    assert found.attempted >= 60 and found.failed == 0


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


def true_delta(x: tuple[int, ...], y: tuple[int, ...], tau: float, epsilon: float, at: float | None = None) -> float:
    """The hockey-stick divergence of the paper's mechanism between two histograms, over all joint reports."""

    def joint(h: tuple[int, ...], top: tuple[int, ...]) -> np.ndarray:
        q = tau * sum(h)
        out = np.ones(1)
        for height, most in zip(h, top, strict=True):
            first = max(0, most - math.ceil(tau * max(sum(x), sum(y))) - 2)
            law = np.concatenate((reported(height, q, epsilon), np.zeros(most - height)))[first:]
            out = np.multiply.outer(out, law)
        return out

    top = tuple(max(a, b) for a, b in zip(x, y, strict=True))
    growth = math.exp(epsilon if at is None else at)
    return float(np.maximum(joint(x, top) - growth * joint(y, top), 0).sum())


def stated_delta(q: float, epsilon: float) -> float:
    """The paper's δ, (e^ε − 1)/(2(e^{εq/2} − 1))."""
    return math.expm1(epsilon) / (2 * math.expm1(epsilon * q / 2))


def test_the_privacy_theorem_is_false_from_two_bars_on() -> None:
    x, y, tau, epsilon = (127, 161), (126, 161), 0.49, 0.05
    assert stated_delta(tau * 288, epsilon) == pytest.approx(7.755e-4, rel=1e-3, abs=0)
    assert stated_delta(tau * 287, epsilon) == pytest.approx(7.854e-4, rel=1e-3, abs=0)
    assert true_delta(x, y, tau, epsilon) == pytest.approx(1.14112e-3, rel=1e-5, abs=0)
    nu = 0.07
    assert epsilon * nu > math.log1p(1 / 288), "the condition of Lem. hist-priv-nu-bigger-0"
    assert true_delta(x, y, tau, epsilon, at=(1 + nu) * epsilon) == pytest.approx(1.13933e-3, rel=1e-5, abs=0)

    x3, y3, tau, epsilon = (667, 667, 668), (667, 667, 667), 0.05, 0.5
    assert stated_delta(tau * 2001, epsilon) == pytest.approx(4.449e-12, rel=1e-3, abs=0)
    assert true_delta(x3, y3, tau, epsilon) == pytest.approx(7.5204e-4, rel=1e-4, abs=0)
    assert true_delta(y3, x3, tau, epsilon) == pytest.approx(7.7973e-4, rel=1e-4, abs=0)
    larger = true_delta((867, 867, 868), (867, 867, 867), tau, epsilon)
    assert larger == pytest.approx(true_delta(x3, y3, tau, epsilon), rel=1e-6, abs=0), "it does not shrink with n"


def test_the_papers_own_regime() -> None:
    """τ = n^(−1/2), ε = n^(−1/4), n = 10^6, ten bars: losses convolved on a lattice, rounded down and up."""
    n, bars, tau, epsilon = 10**6, 10, 1e-3, 10**-1.5
    cells = np.arange(math.ceil(tau * n) + 3)

    def lost(q: float) -> np.ndarray:
        above, below = (distribution_function(end - cells, q, epsilon) for end in (0.5, -0.5))
        return np.where(above - below > 0, above - below, 0.0)

    more, fewer = lost(tau * n), lost(tau * (n - 1))
    shifted = np.concatenate(([0.0], fewer[:-1]))  # x − j is (x − 1) − (j − 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        other, own = np.log(more / fewer), np.log(more / shifted)
    step, usual = 2e-8, np.abs(other) < 5e-5
    bounds = []
    for rounded, rest in ((np.floor, 0.0), (np.ceil, float(more[(more > 0) & ~usual].sum()))):
        # Rare cells at the ends count as harmless in the lower bound, and as fatal in the upper one.
        place = rounded(other[usual] / step).astype(int)
        total, law = np.ones(1), np.bincount(place - place.min(), more[usual])
        for _ in range(bars - 1):
            total = np.convolve(total, law)
        loss = step * ((bars - 1) * place.min() + np.arange(len(total)))
        found = 1 - (1 - rest) ** (bars - 1)
        for mass, extra in zip(more[more > 0], own[more > 0], strict=True):
            if extra + loss[-1] > epsilon:
                found += mass * float((total * np.maximum(-np.expm1(epsilon - extra - loss), 0)).sum())
        bounds.append(found)
    assert 5.64e-6 < bounds[0] <= bounds[1] < 5.72e-6
    assert stated_delta(tau * n, epsilon) == pytest.approx(2.183e-9, rel=1e-3, abs=0)


def test_with_one_bar_the_theorem_stands() -> None:
    nearest = 0.0
    for n, tau, epsilon in product((7, 20, 101), (0.05, 0.3, 0.49, 0.95), (0.05, 0.5, 2.0)):
        if epsilon * tau * n >= 2 and (stated := stated_delta(tau * (n + 1), epsilon)) > 1e-12:
            both = max(true_delta((n + 1,), (n,), tau, epsilon), true_delta((n,), (n + 1,), tau, epsilon))
            assert both <= stated * (1 + 1e-9) + 1e-15
            nearest = max(nearest, both / stated)
    assert nearest > 0.95, "it is tight, so that the check can fail"


def test_the_asymptotic_form_fails_at_one_record() -> None:
    for epsilon in (2.0, 5.0, 20.0, 50.0):
        assert true_delta((10,), (9,), 0.1, epsilon) == pytest.approx(0.5, rel=1e-12)
        assert stated_delta(1, epsilon) > 1, "the closed form claims nothing there"
    # From τn = 4 on, δ ≤ ε·e^{−ετn/8} wherever ετn ≥ 2.
    for q, epsilon in product((4, 5, 10, 100), np.geomspace(0.02, 100, 60)):
        if 2 <= epsilon * q <= 700:
            assert stated_delta(q, float(epsilon)) <= epsilon * math.exp(-epsilon * q / 8)


def test_without_rounding_a_new_bar_gives_itself_away() -> None:
    """x = (5, 1), x′ = (5, 0): exactly 0 in the second bar is certain with x′, and has no mass with x."""
    q, epsilon = 3.0, 1.0
    for near in (1e-2, 1e-4, 1e-6):
        within = float(np.diff(distribution_function(np.array([-1 - near, -1 + near]), q, epsilon))[0])
        assert within < near
        assert 1 - math.exp(epsilon) * within > 1 - 3 * near, "a δ that tends to 1"
    assert true_delta((5, 0), (5, 1), 0.5, epsilon) < 0.5, "with rounding it does not"


def test_the_tail_mass_is_below_delta() -> None:
    """Claim hist-epdel-c3: the mass of [−q′, −q′ + 1 − τ) is at most (e^ε − 1)/(2(e^{εq/2} − 1)), q = q′ + τ."""
    nearest = 0.0
    for q, tau, epsilon in product((0.2, 0.9, 1.01, 1.5, 3.0, 10.0, 40.0), (0.01, 0.3, 0.95), (0.05, 0.5, 1.0, 8.0)):
        mass = float(distribution_function(np.array(-q + 1 - tau), q, epsilon))
        bound = stated_delta(q + tau, epsilon)
        assert mass <= bound * (1 + 1e-9)
        nearest = max(nearest, mass / bound)
    assert nearest > 0.99
    q, tau, epsilon = 20.0, 0.05, 0.5
    mass = float(distribution_function(np.array(-q + 1 - tau), q, epsilon))
    exact, printed = (math.expm1((1 - tau) * epsilon) / (2 * math.expm1(epsilon * r / 2)) for r in (q, q + tau))
    assert printed < mass == pytest.approx(exact, rel=1e-9)


def test_the_corrected_guarantee_covers_the_counterexample() -> None:
    """Each direction at its own corrected ε; δ is nearly attained, so that the check can fail."""
    for x, y, tau, epsilon in (
        ((127, 161), (126, 161), "0.49", "0.05"),
        ((667, 667, 668), (667, 667, 667), "0.05", "0.5"),
    ):
        mechanism = STLap(tau, epsilon, records_at_least=sum(y), bars=len(x))
        assert mechanism.privacy is not None and mechanism.directions is not None
        removed, added = mechanism.directions
        for one, two, bound in ((x, y, removed), (y, x, added)):
            found = true_delta(one, two, float(tau), float(epsilon), at=float(bound.epsilon))
            # Sums of 10^6 products of doubles are good to about 1e-13, which is well below the corrected δ.
            assert found <= float(bound.delta) + 1e-13
            assert bound.epsilon <= mechanism.privacy.epsilon and bound.delta <= mechanism.privacy.delta
        found = true_delta(x, y, float(tau), float(epsilon), at=float(removed.epsilon))
        assert found >= 0.9 * float(removed.delta)


def test_the_corrected_guarantee_holds_for_larger_tables() -> None:
    """Where a record is removed, the loss rises with the size of the table; the fall of δ makes up for it."""
    tau, epsilon = "0.49", "0.05"
    promised = STLap(tau, epsilon, records_at_least=287, bars=2).directions
    assert promised is not None
    for x, y in (((150, 161), (149, 161)), ((250, 200), (249, 200)), ((400, 500), (399, 500))):
        own = STLap(tau, epsilon, records_at_least=sum(y), bars=2).directions
        assert own is not None and own.removed.epsilon > promised.removed.epsilon
        found = true_delta(x, y, float(tau), float(epsilon), at=float(promised.removed.epsilon))
        assert (
            float(own.removed.delta) < found <= float(promised.removed.delta)
        )  # the larger table's own δ is not enough
        back = true_delta(y, x, float(tau), float(epsilon), at=float(promised.added.epsilon))
        assert back <= float(promised.added.delta)


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


def test_rounding_to_nearest_reports_small_buckets_too_rarely() -> None:
    """Compared with the optimal emptiness test; rounding up repeats it, for every number of records."""
    q, epsilon = 10, 1.0
    for count in range(1, q // 2 + 1):
        optimal = stated_delta(q, epsilon) * math.expm1(count * epsilon) / math.expm1(epsilon)
        nearest, upwards = (1 - float(distribution_function(np.array(-z), q, epsilon)) for z in (count - 0.5, count))
        assert upwards == pytest.approx(optimal, rel=1e-9)
        assert nearest < 0.62 * optimal


def test_rounding_to_nearest_can_drop_more_than_the_reach() -> None:
    q = 10.7
    lost = np.flatnonzero(reported(1000, q, 0.5)[::-1] > 0).max()
    assert lost == math.ceil(q - 0.5) == 11 > q
    assert reported(107, q, 0.5)[96] == pytest.approx(0.0038917, rel=1e-4), "τ = .1, n = 107: more than α = .1"
    both = reported(60, q, 0.5)[49], reported(47, q, 0.5)[36]
    assert min(both) > 0.003, "(60, 47) becomes (49, 36) now and then, 22 records fewer, and 2τ·107 is 21.4"
    near = [(a, b) for a in range(61) for b in range(48) if 107 - a - b <= 21.4]
    assert min(abs(Fraction(a, a + b) - Fraction(49, 85)) for a, b in near) > 0, (
        "so Lem. hist-error-sens fails at β = 0"
    )
    assert reported(1, 0.6, 1.0)[0] == pytest.approx(0.150305, rel=1e-5), "α = .6 of one record is none"


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
    assert mech.step(Known()).after.bars == 4
    tau = Fraction(1, 10) * 3 / 10
    assert mech.step(Known()).after.bars * tau > Fraction(1, 10)
    assert mech.step(Known()).after.bars * (Fraction(1, 10) / math.ceil(Fraction(10, 3))) == Fraction(1, 10)


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


@given(st.integers(1, 4).flatmap(lambda n: st.tuples(*[st.lists(st.integers(0, 4), min_size=n, max_size=n)] * 2)))
def test_the_thinned_neighbour_can_be_made_of_whole_records(both: tuple[list[int], list[int]]) -> None:
    """Lem. hist-error-sens for equal sizes: whatever is dropped from x, x′ can drop as many and stay as near."""
    x, y = both
    apart = lossy_winf(x, y).value
    for kept in product((False, True), repeat=len(x)):
        rest = [value for value, stays in zip(x, kept, strict=True) if stays]
        if rest:
            others = product((False, True), repeat=len(y))
            found = ([v for v, stays in zip(y, kept_y, strict=True) if stays] for kept_y in others)
            assert min(lossy_winf(rest, other).value for other in found if len(other) == len(rest)) <= apart


def test_the_histogram_distance_ignores_the_size() -> None:
    x = Histogram.from_counts({1: 1, 2: 2})
    for times in (2, 5, 100):
        many = Histogram.from_counts({1: times, 2: 2 * times})
        assert lossy_winf(x, many).value == 0, "so Δ_f(0) of the number of records is unbounded"
        assert many.size - x.size == 3 * (times - 1)
        # Thm. bucketing-general-drmv survives: what is left of a histogram is a distortion of it, read off exactly.
        rest = Histogram.from_counts({1: times, 2: 2 * times - 1})
        assert DropMove(1)(many, rest) == Drop()(many, rest) == pytest.approx(1 / many.size)


@given(
    st.lists(st.tuples(st.integers(1, 5), st.lists(st.integers(0, 5), min_size=1, max_size=3)), min_size=1, max_size=3)
)
def test_error_sensitivity_at_zero_is_the_least_beta(laws: list[tuple[int, list[int]]]) -> None:
    """Random inputs add nothing: with β for each point x, W∞(M(X), f(X)) ≤ β for every law X of points."""
    least = max(lossy_winf([x], outputs).value for x, (_, outputs) in enumerate(laws))
    points = [(x, Fraction(weight)) for x, (weight, _) in enumerate(laws)]
    answers = [(y, Fraction(weight, len(outputs))) for weight, outputs in laws for y in outputs]
    law_of_f, law_of_m = (Weighted([v for v, _ in law], [w for _, w in law]) for law in (points, answers))
    assert lossy_winf(law_of_m, law_of_f).value <= least


def test_distortions_of_a_random_output_come_from_distortions_of_the_input() -> None:
    """Lem. distsens-distrib: glued to the joint law of X₀ and f(X₀), a coupling splits into couplings of each f(x₀)."""
    inputs = {"a": Fraction(1, 3), "b": Fraction(2, 3)}
    f = {"a": {0: Fraction(1, 2), 1: Fraction(1, 2)}, "b": {1: Fraction(1, 4), 2: Fraction(3, 4)}}
    outputs = {u: sum(p * f[x].get(u, Fraction(0)) for x, p in inputs.items()) for u in range(3)}
    coupling = {
        (u, y): mass * share
        for u, mass in outputs.items()
        for y, share in ((u, Fraction(3, 5)), (u + 1, Fraction(2, 5)))
    }
    glued = {
        (x, u, y): inputs[x] * f[x].get(u, Fraction(0)) * mass / outputs[u]
        for x in inputs
        for (u, y), mass in coupling.items()
    }
    for x in inputs:
        first = {u: sum(m for (x0, u0, _), m in glued.items() if (x0, u0) == (x, u)) / inputs[x] for u in range(3)}
        assert {u: p for u, p in first.items() if p} == f[x], "the law of f(x₀)"
        assert max(first.values()) < 1, "which is no point mass"
    for y in range(4):
        whole = sum((m for (_, _, y0), m in glued.items() if y0 == y), Fraction(0))
        assert whole == sum((m for (_, y0), m in coupling.items() if y0 == y), Fraction(0)), "together they give Y"


def test_drop_move_needs_a_price() -> None:
    x, y = Histogram.from_values([0]), Histogram.from_values([1])
    assert Drop()(x, x) + 0 * Move()(x, y) == 0 and x != y
    assert DropMove("1e-9")(x, y) > 0
    with pytest.raises(InputError, match="eta must be"):
        DropMove(0)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.booleans()), min_size=1, max_size=4))
def test_dropping_after_moving_keeps_whole_records(records: list[tuple[int, int, bool]]) -> None:
    """Lem. drop-move-switch with data sets of whole records, by trying all of them."""
    x, z = ([record[i] for record in records] for i in (0, 1))
    y = [there for _, there, stays in records if stays]
    moved = Move()(Histogram.from_values(x), Histogram.from_values(z))
    reached = [
        Move()(Histogram.from_values([v for v, stays in zip(x, kept, strict=True) if stays]), Histogram.from_values(y))
        for kept in product((False, True), repeat=len(x))
        if sum(kept) == len(y)
    ]
    assert min(reached) <= moved


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
    error = function_step(lambda beta: 3 * beta, metric=OwnMetric("m"))
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
    assert noise.max_drop * 100 / 50_050 == pytest.approx(0.054, abs=5e-4), ".055 with the paper's real q"
    assert Max().sensitivity(0) == 0


def test_the_two_forms_of_the_condition_agree() -> None:
    """Claim equiv-ineq_claim-hist is correct algebra: both forms switch at the same n."""
    for epsilon, tau, nu in [(0.5, 0.05, 0.0), (1.0, 0.01, 0.1), (0.1, 0.2, 0.01)]:
        bound = 2 / (epsilon * tau) * math.log1p(-math.expm1(-epsilon * tau / 2) / math.expm1(epsilon * (nu + tau / 2)))
        for n in (bound * 0.999, bound * 1.001):
            ratio = math.log(math.expm1(-epsilon * tau * (n + 1) / 2) / math.expm1(-epsilon * tau * n / 2))
            assert (n >= bound) == (ratio <= epsilon * (nu + tau / 2))


def test_usefulness_of_two_queries_has_no_common_data_set() -> None:
    """Two half-circles, each turned by ψ: one move by ψ explains either answer, none explains both."""
    psi, point = 0.1, 0.0
    queries = {1: (psi, psi + math.pi), -1: (-psi - math.pi, -psi)}

    def counts(angle: float, arc: tuple[float, float], turn: float = 0.0) -> bool:
        return any(arc[0] + turn <= angle + lap <= arc[1] + turn for lap in (-math.tau, 0.0, math.tau))

    assert all(counts(point, arc, turn=-side * psi) and not counts(point, arc) for side, arc in queries.items())
    within = np.linspace(point - psi, point + psi, 4001)
    for arc in queries.values():
        assert any(counts(angle, arc) for angle in within)
    assert not any(all(counts(angle, arc) for arc in queries.values()) for angle in within)
