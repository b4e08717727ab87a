"""Exact δ: against brute force in doubles, against proved values, against the counterexamples; and planted faults."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from _support.zoo import one_snapshot_law, short_window_law, two_snapshots_law, window_law
from hypothesis import given
from hypothesis import strategies as st

from flexdp import Histogram, InputError, divergence
from flexdp.audit import ExactDelta, exact_delta, verify
from flexdp.distribution import Law
from flexdp.histogram import KeyedHistogram
from flexdp.mechanisms import BucketHistogram, Bucketing, Dropping, Emptiness, Laplace, ReadOff, STLap
from flexdp.mechanisms.program import Adaptive
from flexdp.noise import DropNoise
from flexdp.noise.exponential import Decay
from flexdp.sharp.answers import ask_one, ask_several
from flexdp.sharp.automatic import DroppedBars
from flexdp.sharp.column import Column
from flexdp.sharp.count import NoisyCount, TwoSums
from flexdp.sharp.goal import Goal
from flexdp.sharp.ladder import Ladder
from flexdp.sharp.mean import mean_between
from flexdp.sharp.prior import Listed, universal
from flexdp.sharp.quantile import ExponentialQuantile
from flexdp.sharp.ranks import Request
from flexdp.sharp.rules import Rules
from flexdp.sharp.scale import INTEGERS
from flexdp.statistics import Max, MaxAtLeast, Median, Mode

ONE, HALF = Fraction(1), Fraction(1, 2)
TINY_ERROR = Fraction(1, 10**30)


def brute_force(one: Mapping[Any, float], other: Mapping[Any, float], epsilon: float) -> float:
    """Σ max(0, P − e^ε·Q) in doubles."""
    return sum(max(0.0, p - math.exp(epsilon) * other.get(key, 0.0)) for key, p in one.items())


def bars(noise: DropNoise, counts: Mapping[Any, int]) -> dict[tuple[int, ...], float]:
    """The joint law of all buckets, written anew: every vector of drops by itself."""
    found: dict[tuple[int, ...], float] = {}
    for drops in product(range(noise.q), repeat=len(counts)):
        left = tuple(max(0, count - drop) for count, drop in zip(counts.values(), drops, strict=True))
        found[left] = found.get(left, 0.0) + math.prod(noise.pmf[drop] for drop in drops)
    return found


counts = st.integers(0, 12)


@given(a=counts, b=counts, c=counts, d=counts, epsilon=st.sampled_from(["0", "0.3", "1", "1.7", "3"]))
def test_dropping_is_compared_as_by_brute_force(a: int, b: int, c: int, d: int, epsilon: str) -> None:
    mechanism = Dropping(1, "0.05")
    x, y = {"a": a, "b": b}, {"a": c, "b": d}
    found = exact_delta(mechanism, x, y, epsilon)
    laws = bars(mechanism.noise, x), bars(mechanism.noise, y)
    for way, (one, other) in zip((found.forward, found.backward), (laws, laws[::-1]), strict=True):
        assert float(way.upper) == pytest.approx(brute_force(one, other, float(epsilon)), abs=1e-13)
        assert way.lower <= way.upper <= way.lower + Fraction(1, 10**40)
    assert found == max(found.forward.upper, found.backward.upper)


@given(a=counts, b=counts, c=counts, d=counts, epsilon=st.sampled_from(["0.3", "1", "1.7"]))
def test_products_that_are_made_coarser_enclose_the_exact_one(a: int, b: int, c: int, d: int, epsilon: str) -> None:
    x, y = {"a": a, "b": b, "c": 7}, {"a": c, "b": d, "c": 8}
    exact = exact_delta(Dropping(1, "0.05"), x, y, epsilon)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(divergence, "LARGEST_PRODUCT", 1)
        coarse = exact_delta(Dropping(1, "0.05"), x, y, epsilon)
        patch.setattr(divergence, "_MOST_ROWS", 20)
        patch.setattr(divergence, "_MOST_FACTORS", 8)
        coarser = exact_delta(Dropping(1, "0.05"), x, y, epsilon)
    for found, width in ((coarse, 1e-6), (coarser, 1.0)):
        for way, true in ((found.forward, exact.forward), (found.backward, exact.backward)):
            assert way.lower <= true.upper and true.lower <= way.upper <= way.lower + Fraction(width)


def test_products_of_tiny_probabilities_stay_close() -> None:
    """Twelve worst-case pairs of ratio 1.1 and δ = 10^−40: at 1.1^12 the divergence is 1 − (1 − δ)^12."""
    delta, ratio = Fraction(1, 10**40), Fraction(11, 10)
    large, small = (1 - delta) * ratio / (1 + ratio), (1 - delta) / (1 + ratio)
    zero = Fraction(0)
    rows = [("x", delta, zero), ("a", large, small), ("b", small, large), ("y", zero, delta)]
    pair = divergence.Pair(rows=tuple(divergence.Row(*row) for row in rows))
    forward, backward = divergence.hockey_stick([pair] * 12, Fraction(12 * math.log(1.1)) + Fraction(1, 10**12))
    true = 1 - (1 - delta) ** 12
    for way in (forward, backward):
        assert way.lower <= true <= way.upper <= true * (1 + Fraction(1, 10**6))


def test_the_event_attains_it() -> None:
    x, y = {"a": 9, "b": 3}, {"a": 8, "b": 4}
    found = exact_delta(Dropping(1, "0.05"), x, y, "1.5")
    assert found.event is not None and found.event.outcomes is not None
    one, other = found.event.chances() or (Fraction(0), Fraction(0))
    one, other = (one, other) if found.event.favours == "x" else (other, one)
    assert float(one - Fraction(math.exp(1.5)) * other) == pytest.approx(float(found), rel=1e-12)
    assert set(found.event.names) == {"a", "b"}
    assert found.event.outcomes[0] in found.event
    assert ("nothing", 0) not in found.event and (0,) not in found.event and "a" not in found.event
    assert exact_delta(Dropping(1, "0.05"), x, x, 1).event is None


def test_two_buckets_with_a_reach_of_219() -> None:
    mechanism = Dropping("0.1", "1/1048576")
    assert mechanism.noise.q == 219
    found = exact_delta(mechanism, {1: 300, 2: 300}, {1: 299, 2: 301}, "0.2")
    w = mechanism.noise.delta_real
    assert found.lower <= 1 - (1 - w) ** 2 <= Fraction(found) + TINY_ERROR
    assert found.event is not None and found.event.chances() is not None


@pytest.mark.parametrize("k", [1, 2, 3, 10])
def test_units_in_several_buckets_have_the_delta_that_is_proved(k: int) -> None:
    mechanism = Dropping(1, "1e-6", max_buckets_per_unit=k)
    x, y = dict.fromkeys(range(k), 300), dict.fromkeys(range(k), 299)
    found = exact_delta(mechanism, x, y, 1)
    assert mechanism.privacy.delta_real is not None
    assert float(found) == pytest.approx(float(mechanism.privacy.delta_real), rel=1e-9)
    assert found <= mechanism.delta
    one_more = exact_delta(mechanism, {**x, k: 300}, {**y, k: 299}, 1)  # control: a unit in a bucket too many
    assert one_more > mechanism.delta


def test_the_counterexamples_of_the_errata() -> None:
    x, y = {1: 667, 2: 667, 3: 668}, {1: 667, 2: 667, 3: 667}
    found = exact_delta(STLap("0.05", "0.5"), x, y, "0.5")
    assert float(found.forward.upper) == pytest.approx(7.52e-4, rel=0.005)
    assert float(found.backward.upper) == pytest.approx(7.80e-4, rel=0.005)
    assert found.lower > Fraction(found) * Fraction(999, 1000)
    two = exact_delta(STLap("0.49", "0.05"), {1: 127, 2: 161}, {1: 126, 2: 161}, "0.05")
    assert float(two) == pytest.approx(1.141e-3, rel=0.001)
    corrected = STLap("0.05", "0.5", records_at_least=2001, bars=3).privacy
    assert corrected is not None and exact_delta(STLap("0.05", "0.5"), x, y, corrected.epsilon) <= corrected.delta
    assert exact_delta(STLap("0.05", "0.5"), {1: 2002}, {1: 2001}, "0.5") < 1e-10  # with one bucket the theorem stands
    assert exact_delta(STLap("0.03", 1), {1: 10, 2: 5}, {1: 10, 2: 4}, 1) == 1  # it returns its input
    after = exact_delta(STLap("0.3", 1) >> ReadOff(Max()), {1: 9, 2: 5}, {1: 9, 2: 4}, HALF)
    assert 0 < after <= exact_delta(STLap("0.3", 1), {1: 9, 2: 5}, {1: 9, 2: 4}, HALF)
    with pytest.raises(InputError, match="too small for its law"):
        exact_delta(STLap("0.1", "1e-30"), {1: 9}, {1: 8}, 1)
    later = Dropping(1, "0.2") >> STLap("0.3", 1)  # its reach is that of what is left
    mixed = [
        later.steps[0].law({1: count}).listed().bind(lambda left: STLap("0.3", 1).law(left)).masses for count in (9, 8)
    ]
    expected = max(brute_force(mixed[0], mixed[1], 1), brute_force(mixed[1], mixed[0], 1))
    assert float(exact_delta(later, {1: 9}, {1: 8}, 1)) == pytest.approx(expected, abs=1e-13)


def test_the_papers_law_is_that_of_its_noise() -> None:
    """Against the distribution function in doubles, reached by another path."""
    law = STLap("0.3", HALF).law({0: 12, 1: 19}).factors[0].listed().masses
    q, e = 9.3, 0.5
    grid = np.linspace(-q, 0, 2_000_001)
    density = np.exp(-e * np.abs(grid + q / 2))
    left = np.maximum(0, np.rint(12 + grid)).astype(int)
    weights = np.bincount(left, weights=density) / density.sum()
    assert sum(law.values()) == 1
    assert all(float(law.get(value, 0)) == pytest.approx(weights[value], abs=1e-5) for value in range(len(weights)))


def test_groups_points_wrappers_and_buckets() -> None:
    single = exact_delta(Dropping(1, "0.05"), {"a": 5}, {"a": 4}, 1)
    keyed = [KeyedHistogram([["A", "B"], [3, 3]], [5, 9]), KeyedHistogram([["A", "B"], [3, 3]], [4, 9])]
    assert exact_delta(Dropping(1, "0.05"), keyed[0], keyed[1], 1) == single
    points = [Histogram([(1.0, 2.0), (3.0, 4.0)], [5, 9]), Histogram([(1.0, 2.0), (3.0, 4.0)], [4, 9])]
    assert exact_delta(Dropping(1, "0.05", dimensions=2), points[0], points[1], 1) == single
    chain = Bucketing(width=10) >> Dropping(1, "0.05")
    assert exact_delta(chain, {1: 3, 7: 2, 15: 9}, {1: 3, 7: 1, 15: 9}, 1) == single
    assert exact_delta(chain, {1: 5}, {7: 5}, 1) == 0
    made = BucketHistogram("0.2", 10, epsilon=1, bounds=(0, 100), records_at_least=200)
    assert exact_delta(made, {1: 40}, {1: 41}, 1) <= made.privacy.delta  # type: ignore[union-attr]


def test_steps_after_the_noise_tell_no_more() -> None:
    noisy = Dropping(1, "0.05")
    x, y = {1: 6, 2: 3}, {1: 6, 2: 2}
    before, after = (exact_delta(each, x, y, HALF) for each in (noisy, noisy >> ReadOff(Max())))
    laws = []
    for data in (x, y):
        law: dict[Any, float] = {}
        for left, p in bars(noisy.noise, data).items():
            key = 2 if left[1] else 1 if left[0] else "refused"
            law[key] = law.get(key, 0.0) + p
        laws.append(law)
    expected = max(brute_force(laws[0], laws[1], 0.5), brute_force(laws[1], laws[0], 0.5))
    assert float(after) == pytest.approx(expected, abs=1e-13)
    assert 0 < after <= before
    large = dict.fromkeys(range(5), 100)
    bound = exact_delta(Dropping(1, "1e-6") >> ReadOff(Median()), large, {**large, 9: 1}, 1)
    assert bound == exact_delta(Dropping(1, "1e-6"), large, {**large, 9: 1}, 1) and bound.lower == 0


@pytest.mark.parametrize(("statistic", "level"), [(Max(), 1), (MaxAtLeast(5), 5)])
def test_a_maximum_of_sixty_bars_is_exact(statistic: Any, level: int) -> None:
    """Its 10^60 joint outcomes are not listed: the chances of the answers are products, here in doubles."""
    x = {key: 3 + 7 * key % 25 for key in range(60)}
    y = {**x, 59: x[59] + 1}
    noise = DropNoise(1, "1e-6")
    laws = []
    for data in (x, y):
        law, rest = {}, 1.0
        for key in sorted(data, reverse=True):
            short = float(sum((noise.pmf[drop] for drop in range(noise.q) if data[key] - drop < level), 0.0))
            law[key] = rest * (1 - short)
            rest *= short
        laws.append({**law, None: rest})
    found = exact_delta(Dropping(1, "1e-6") >> ReadOff(statistic), x, y, "0.1")
    assert found.lower > Fraction(found) * (1 - Fraction(1, 10**30)) > 0
    expected = max(brute_force(laws[0], laws[1], 0.1), brute_force(laws[1], laws[0], 0.1))
    assert float(found) == pytest.approx(expected, rel=1e-6)


def test_units_whose_buckets_are_chosen_at_random() -> None:
    chain = Bucketing(width=1, bounds=(0, 3), unit="u", max_buckets_per_unit=1) >> Dropping(1, "0.05", unit="u")
    rows = [("a", 0), ("b", 1)]
    unit = [("c", 0), ("c", 1), ("c", 2)]
    found = exact_delta(chain, rows, rows + unit, 1)
    noise = DropNoise(1, "0.05")
    mixed: dict[tuple[int, ...], float] = {}
    for place in range(3):
        heights = {0: 1, 1: 1, 2: 0}
        heights[place] += 1
        for left, p in bars(noise, heights).items():
            mixed[left] = mixed.get(left, 0.0) + p / 3
    alone = bars(noise, {0: 1, 1: 1, 2: 0})
    expected = max(brute_force(alone, mixed, 1.0), brute_force(mixed, alone, 1.0))
    assert float(found) == pytest.approx(expected, abs=1e-13)


def test_what_is_published_together_composes() -> None:
    """Two releases of even reach at ε′ = ε: 0.158, and not the 0.338 of the worst case (math of composition)."""
    mechanism = Dropping(1, "1e-6")
    assert mechanism.noise.q == 28
    x, y = {"a": 100}, {"a": 99}
    assert float(exact_delta([mechanism, mechanism], x, y, 1)) == pytest.approx(0.158, abs=5e-4)
    assert exact_delta([mechanism, mechanism], x, y, 2) <= 2 * mechanism.delta
    certified = Dropping(1, "1e-6", certify="0.3")
    assert certified.delta / 2 < exact_delta(certified, x, y, 1) <= certified.delta
    with pytest.raises(InputError, match="certified total"):
        exact_delta(certified >> ReadOff(Max()), x, y, 1)


def test_laplace_has_its_closed_form() -> None:
    found = exact_delta(Laplace(sensitivity=1, epsilon=1), 0, 3, 1)
    assert float(found) == pytest.approx(1 - math.exp(-1), rel=1e-12) and found.lower < found
    assert exact_delta(Laplace(sensitivity=1, epsilon=1), 0, 1, 1) == 0
    assert verify(Laplace(sensitivity=1, epsilon=1), size=2).holds
    assert not verify(Laplace(sensitivity=1, epsilon=1), "0.9", 0, size=2).holds  # control
    chain = Bucketing(width=2) >> Laplace(Max(), sensitivity=1, epsilon=1)
    assert exact_delta(chain, {0: 1, 2.5: 1}, {0: 1, 5.5: 1}, 1) == exact_delta(chain.steps[1], {3: 1}, {5: 1}, 1) > 0
    # By integration over a fine lattice.
    grid = np.linspace(-40, 43, 1_000_001)
    one, other = (np.exp(-np.abs(grid - centre)) / 2 * (grid[1] - grid[0]) for centre in (0, 3))
    assert float(np.maximum(one - math.e * other, 0).sum()) == pytest.approx(float(found), abs=1e-4)


def test_emptiness_and_bare_noise() -> None:
    noise = DropNoise(1, "0.05")
    assert exact_delta(noise, 20, 19, 1).lower <= noise.delta_real <= exact_delta(noise, 20, 19, 1)
    test = Emptiness(1, "0.05")
    p, q = (float(noise.survival(size)) for size in (3, 4))
    expected = max(q - math.e * p, (1 - p) - math.e * (1 - q), p - math.e * q, (1 - q) - math.e * (1 - p), 0)
    assert float(exact_delta(test, 3, 4, 1)) == pytest.approx(expected, abs=1e-13)


# ---------------------------------------------------------------- sharp answers


def test_geometric_noise_is_tight_at_its_epsilon() -> None:
    for x, y, cost in ((5, 6, 1), (6, 5, 1), (5, 8, 3), (-2, 0, 2)):
        mechanism = NoisyCount(epsilon=HALF)
        assert exact_delta(mechanism, x, y, HALF * cost) < TINY_ERROR
        below = exact_delta(mechanism, x, y, HALF * cost - Fraction(1, 100))
        r = math.exp(-0.5)
        law = [{z: (1 - r) / (1 + r) * r ** abs(z - c) for z in range(-150, 160)} for c in (x, y)]
        assert float(below) == pytest.approx(brute_force(law[0], law[1], cost / 2 - 0.01), rel=1e-9)
    sums = TwoSums(epsilon=ONE, cells=4)
    assert exact_delta(sums, [3, 5], [4, 8], 1) < TINY_ERROR < exact_delta(sums, [3, 5], [4, 8], "0.9")
    assert exact_delta(sums, [3, 5], [4, 9], 1) > TINY_ERROR  # control: five steps in four cells


def on_lists(step: Any) -> Callable[[Any], Law]:
    """The law of a step of sharp answers on a list of values."""

    def law(data: Any) -> Law:
        column = Column.from_values(list(data))
        if isinstance(step, Ladder):
            reply = column.fetch(Request(cuts=step.cuts))
            return step.law(step.beyond(reply.total, reply.before))
        return step.law(column.fetch(Request(windows=(step.near,))).windows[0])

    return law


LADDER = Ladder(rungs=(0, 1, 2, 60), side=1, target=1, epsilon=ONE)
END = Ladder(rungs=(0, 1, 2, 60), side=1, target=0, epsilon=ONE, threshold=Fraction(7, 10))
LISTED = ExponentialQuantile(goal=Goal.quantile(HALF), epsilon=ONE, prior=Listed({0: 3, 1: 5, 2: 1, 4: 2}))
PRIORED = ExponentialQuantile(goal=Goal.quantile(HALF), epsilon=ONE, prior=universal(INTEGERS))


@pytest.mark.parametrize(
    "mechanism",
    [*map(on_lists, (LADDER, END, LISTED, PRIORED)), window_law],
    ids=["ladder", "end", "list", "prior", "law"],
)
def test_steps_of_sharp_answers_hold_and_not_much_less(mechanism: Any) -> None:
    assert verify(mechanism, 1, 0, size=3, values=[0, 1, 2, 50]).holds
    assert not verify(mechanism, "0.4", 0, size=3, values=[0, 1, 2, 50]).holds  # control


def test_tables_of_the_exponential_mechanism() -> None:
    for epsilon, sensitivity in (("1", 1), ("0.5", 2)):
        table, pairs = Decay(epsilon, sensitivity, depth=4), []
        for x in product(range(3), repeat=2):
            for changes in product(range(-sensitivity, sensitivity + 1), repeat=2):
                y = [loss + change for loss, change in zip(x, changes, strict=True)]
                pairs += [(x, y)] if min(y) >= 0 else []
        assert max(exact_delta(table, x, y, epsilon) for x, y in pairs) < TINY_ERROR
        assert max(exact_delta(table, x, y, Fraction(epsilon) / 2).lower for x, y in pairs) > TINY_ERROR  # control
    assert exact_delta(Decay(1), [4, 0], [0, 4], 1) > HALF > exact_delta(Decay(1), [1, 0], [0, 1], 1) == 0


def test_parts_between_cuts_say_all_that_candidates_do() -> None:
    for x, y in (((0, 1), (0, 1, 2)), ((), (4,)), ((1, 1, 4), (0, 1, 1, 4))):
        by_part = exact_delta(on_lists(LISTED), x, y, HALF / 2)
        laws = [window_law(data) for data in (x, y)]  # the same weights, a table that ends at 40
        by_candidate = exact_delta(lambda data, laws=laws, x=x: laws[data != x], x, y, HALF / 2)
        assert float(by_part) == pytest.approx(float(by_candidate), rel=1e-9)


def test_dropped_bars_of_automatic_buckets() -> None:
    mechanism = DroppedBars(epsilon=ONE, delta=Fraction(1, 20))
    assert exact_delta(mechanism, [5, 2], [5, 3], 1) == exact_delta(Dropping(1, "0.05"), {0: 2}, {0: 3}, 1)

    def law(data: tuple[int, ...]) -> Law:
        return mechanism.law([data.count(bar) for bar in (0, 1)])

    assert verify(law, 1, "0.05", size=4, values=[0, 1]).holds
    assert not verify(law, 1, "0.04", size=4, values=[0, 1]).holds  # control


def _rungs(_: Any, anchor: int, side: int, __: Any) -> tuple[int, ...]:
    return (anchor, *(rung for rung in ((1, 2, 4, 9) if side > 0 else (2, 1, 0, -5)) if (rung - anchor) * side > 0))


TINY = Rules(
    few=1,
    few_for_mean=1,
    deep=1,
    many=10**6,
    floor=HALF,
    back=Fraction(1, 4),
    universal=lambda _: Listed({0: 3, 1: 5, 2: 1, 4: 2}),
    around=lambda _, anchor, side: Listed({0: 1, 1: 2, anchor: 4, anchor + side: 3}),
    rungs=_rungs,
)
CHAINS: dict[str, Callable[[], Any]] = {
    "maximum": lambda: ask_one(ONE, ONE, INTEGERS, rules=TINY),
    "0.9": lambda: ask_one(Fraction(9, 10), ONE, INTEGERS, rules=TINY),
    "both ends": lambda: ask_several([Fraction(0), ONE], ONE, INTEGERS, rules=TINY),
    "mean": lambda: mean_between(0, 2, ONE, INTEGERS),
}


@pytest.mark.parametrize("name", CHAINS)
def test_whole_chains_of_answers_hold_and_not_much_less(name: str) -> None:
    chain = Adaptive(CHAINS[name], shown=(0, 7), read=Column.from_values)
    values = [0, 1, 2] if name != "both ends" else [0, 2]
    found = verify(chain, 1, 0, size=2, values=values)
    assert found.holds_where_followed and 0 < found.covered < 1
    assert not found.holds and Fraction(found.worst) >= 1 - found.covered  # most noisy counts were not followed
    assert str(found).startswith("not decided: ")
    below = exact_delta(chain, (), (2,), "0.3")  # control
    assert below.followed > TINY_ERROR and below.lower > 0
    if name == "maximum":
        assert str(verify(chain, "0.3", 0, size=2, values=values)).startswith("violated: ")


@pytest.mark.parametrize("law", [{}, {0: HALF}])
def test_outcomes_that_were_not_followed_count_in_full(law: dict[int, Fraction]) -> None:
    """They may have happened on one data set alone."""
    left = 1 - sum(law.values())
    found = exact_delta(lambda _: law, 0, 1, 1)
    assert found == found.forward.upper == found.backward.upper == left
    assert found.lower == found.followed == 0 and found.covered == 1 - left
    assert pickle.loads(pickle.dumps(found)).followed == 0
    assert "were followed" in str(found)
    small = verify(lambda _: law, 1, left - Fraction(1, 100), size=1)
    assert not small.holds and small.holds_where_followed and "not decided: the largest δ at ε = 1" in str(small)
    assert law == {} or verify(lambda _: law, 1, left, size=1).holds


def test_a_chain_of_which_nothing_was_followed_proves_nothing() -> None:
    found = verify(Adaptive(CHAINS["maximum"], read=Column.from_values), "0.001", 0, size=1, values=[0, 1])
    assert not found.holds and found.covered == 0 and found.worst == 1


def test_the_bounds_of_laws_in_part_enclose_those_of_the_whole() -> None:
    """Also where a part is the same on both data sets as far as it was followed."""
    whole = [
        {"a": Fraction(1, 2), "b": Fraction(1, 8), "c": Fraction(3, 8)},
        {"a": Fraction(1, 2), "b": Fraction(3, 8), "c": Fraction(1, 8)},
    ]
    coin = [{0: Fraction(3, 4), 1: Fraction(1, 4)}, {0: Fraction(1, 4), 1: Fraction(3, 4)}]
    for kept in ("", "a", "ab", "abc"):
        part = [{key: p for key, p in law.items() if key in kept} for law in whole]
        for epsilon in ("0", "0.3", "1.5"):
            true = exact_delta([lambda x: whole[x], lambda x: coin[x]], 0, 1, epsilon)
            found = exact_delta([lambda x, part=part: part[x], lambda x: coin[x]], 0, 1, epsilon)
            for way, exact in ((found.forward, true.forward), (found.backward, true.backward)):
                assert way.lower <= exact.upper and exact.lower <= way.upper


def test_a_statistic_that_reads_refused_is_no_refusal() -> None:
    chain = Dropping(1, "0.4") >> ReadOff(Mode())
    found, other = (exact_delta(chain, {key: 2}, {key: 1}, "0.1") for key in ("refused", "refusec"))
    assert found == other > HALF
    assert found.event is not None and other.event is not None
    copied = pickle.loads(pickle.dumps(found.event))
    assert copied.outcomes == found.event.outcomes and len(found.event.pairs[0].rows) == 2
    assert "refused" in [repr(row.label) for row in other.event.pairs[0].rows]


def test_the_faults_of_the_zoo_that_have_a_law() -> None:
    assert not verify(short_window_law, 1, 0, size=3, values=[0, 1, 2]).holds
    assert exact_delta(short_window_law, (2, 2, 2), (0, 2, 2, 2), 10) > Fraction(1, 10)  # far more than e^10
    x, y = ((2, 4), ()), ((2, 4), (0,))
    assert exact_delta(two_snapshots_law, x, y, 1) > Fraction(1, 10)
    assert exact_delta(two_snapshots_law, x, y, 2) < TINY_ERROR  # e^(2ε), and no more
    assert exact_delta(one_snapshot_law, x, y, 1) == 0


# ---------------------------------------------------------------- the search


def test_the_worst_pair_of_dropping_is_found_where_it_is_proved() -> None:
    found = verify(Dropping(1, "0.05"), size=9)
    assert found.worst.lower <= DropNoise(1, "0.05").delta_real <= Fraction(found.worst) and found.holds
    assert verify(Dropping(1, "0.05", certify="0.4"), size=5).holds
    units = Bucketing(width=1, bounds=(0, 2), unit="u", max_buckets_per_unit=1) >> Dropping(1, "0.05", unit="u")
    assert verify(units, size=2, values=[0, 1]).holds
    unbounded = Bucketing(width=1, bounds=(0, 2), unit="u", max_buckets_per_unit=2) >> Dropping(1, "0.05", unit="u")
    assert not verify(unbounded, 1, "0.05", size=2, values=[0, 1]).holds  # control
    assert verify(Emptiness(1, "0.05"), size=12).holds
    noise = DropNoise(1, "0.05")
    assert all(exact_delta(noise, size, size + 1, 1) <= noise.delta_real + TINY_ERROR for size in range(13))
    assert not verify([Dropping(1, "0.05"), Dropping(1, "0.05")], 1, "0.05", size=4).holds
    assert verify([Dropping(1, "0.05"), Dropping(1, "0.05")], 2, "0.1", size=4).holds


def test_two_records_of_a_unit_cost_twice() -> None:
    assert not verify(on_lists(LISTED), 1, 0, size=2, values=[0, 1, 2], records=2).holds
    assert verify(on_lists(LISTED), 2, 0, size=2, values=[0, 1, 2], records=2).holds


def test_a_table_with_one_weight_off_is_caught() -> None:
    noise = DropNoise(1, "0.05")
    weights = list(noise.weights)
    weights[0], weights[1] = weights[0] + 2**58, weights[1] - 2**58

    def law(count: int, table: list[int]) -> dict[int, Fraction]:
        found: dict[int, Fraction] = {}
        for drop, weight in enumerate(table):
            left = max(0, count - drop)
            found[left] = found.get(left, Fraction(0)) + Fraction(weight, 2**64)
        return found

    right, wrong = (
        max(exact_delta(lambda n, t=table: law(n, t), n, n + 1, 1) for n in range(12))
        for table in (list(noise.weights), weights)
    )
    assert right <= noise.delta_real + TINY_ERROR < Fraction(wrong)


# ---------------------------------------------------------------- the result, and what is refused


def test_the_result_is_a_number() -> None:
    found = exact_delta(Dropping(1, "0.05"), {"a": 5}, {"a": 4}, 1)
    assert isinstance(found, ExactDelta) and isinstance(found, Fraction)
    assert 0.04 < found < 0.05 and float(found) + 0 == float(found) and found * 2 == Fraction(found) * 2
    for other in (copy.copy(found), copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        assert other == found and other.forward == found.forward
    assert str(found) == "δ ≤ 0.0451 at ε = 1 (from x to y 0.0451, from y to x 0.0451)"


@pytest.mark.parametrize(
    ("mechanism", "x", "y", "message"),
    [
        (Dropping(1, "0.05"), 5, 6, "must be a histogram, or a mapping"),
        (7, {}, {}, "mechanism must be a mechanism"),
        ([], {}, {}, "must not be an empty list"),
        (lambda _: 5, {}, {}, "must return its exact distribution"),
        (lambda _: {"a": Fraction(2)}, {}, {}, "probability must be in"),
        (lambda _: {"a": ONE, "b": ONE}, {}, {}, "add up to at most 1"),
        (Dropping(1, "0.05") >> Dropping(1, "0.05"), {"a": -1}, {}, "counts must be a whole number"),
        (Laplace(Max(), sensitivity=1, epsilon=1), 5, 6, "histogram"),
    ],
)
def test_what_has_no_law_is_refused(mechanism: Any, x: Any, y: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        exact_delta(mechanism, x, y, 1)


def test_searches_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InputError, match="epsilon is needed"):
        verify(STLap("0.1", 1), size=2)
    with pytest.raises(InputError, match="values must be"):
        verify(Dropping(1, "0.05"), size=2, values=[])
    with pytest.raises(InputError, match="size must be"):
        verify(Dropping(1, "0.05"), size=-1)
