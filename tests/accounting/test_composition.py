"""Composition: against exact enumeration, the closed trinomial form, basic composition and dp-accounting."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flexdp
from flexdp import Histogram, InputError, Privacy
from flexdp._core.enclosure import exp_bounds
from flexdp.accounting import calibrate, compose, composition, privacy_curve
from flexdp.accounting.budget import Budget
from flexdp.accounting.composition import losses_of
from flexdp.accounting.lattice import MOST_STEPS, Lattice, Sum, sum_of, sum_on
from flexdp.accounting.losses import dominates, losses_of_budget, losses_of_noise, losses_of_privacy
from flexdp.noise import DropNoise

SMALL = [(1, "0.2"), ("1/2", "0.1"), (2, "0.01"), ("0.3", "0.2"), (3, "0.001")]


def enumerated(tables: list[DropNoise], growth: Fraction) -> Fraction:
    """Σ max(0, P − growth·Q) over all joint outputs of tables of which each bucket changes by one, worst direction."""
    whole = math.prod(1 << noise.bits for noise in tables)
    top, bottom = growth.numerator, growth.denominator
    worst = 0
    for sign in (1, -1):
        joint = [(1, 1)]
        for noise in tables:
            padded = [0, *noise.weights, 0]
            pairs = [(padded[place], padded[place - sign] if 0 <= place - sign < len(padded) else 0)
                     for place in range(len(padded))]  # fmt: skip
            joint = [(here * p, there * q) for here, there in joint for p, q in pairs if p]
        worst = max(worst, sum(max(0, bottom * here - top * there) for here, there in joint))
    return Fraction(worst, whole * bottom)


class Given:
    """A table of weights as they are given, which nothing has certified."""

    def __init__(self, weights: tuple[int, ...], bits: int, epsilon: str) -> None:
        self.weights, self.bits, self.epsilon = weights, bits, Fraction(epsilon)

    def certify(self) -> None:
        """Nothing is to be certified."""


def exp_down(epsilon: Fraction) -> Fraction:
    return exp_bounds(epsilon).lower


def exp_up(epsilon: Fraction) -> Fraction:
    return exp_bounds(epsilon).upper


@pytest.mark.parametrize(("epsilon", "delta", "many"), [*((*pair, 2) for pair in SMALL), (1, "0.2", 1), (2, "0.01", 3)])
def test_the_curve_is_that_of_all_joint_outputs(epsilon: object, delta: object, many: int) -> None:
    noise = DropNoise(epsilon, delta)
    curve = privacy_curve([noise] * many)
    for part in (0, Fraction(1, 3), Fraction(1, 2), Fraction(9, 10), 1):
        place = noise.epsilon * many * part
        claimed = Fraction(curve.delta_at(place))
        assert claimed >= enumerated([noise] * many, exp_up(place))  # pessimistic
        if (part * many) % 1 == 0:  # at the lattice it is exact, but for the rounding of the table
            assert claimed <= enumerated([noise] * many, exp_down(place)) * (1 + Fraction(1, 10**8))


def test_different_tables_together() -> None:
    tables = [DropNoise(1, "0.1"), DropNoise("0.5", "0.2"), DropNoise("0.7", "0.1")]
    curve = privacy_curve(tables)
    for place in map(Fraction, ("0", "0.2", "0.5", "1", "1.7", "2.2")):
        claimed, true = Fraction(curve.delta_at(place)), enumerated(tables, exp_up(place))
        assert true <= claimed <= true * (1 + Fraction(1, 10**7))


def trinomial(noise: DropNoise, many: int, epsilon: Fraction) -> float:
    """The closed form: n choose i, j copies of the losses +ε and 0."""
    growth = math.exp(noise.epsilon)
    infinite = noise.weights[0] / 2**noise.bits
    plus = (max(noise.weights) / 2**noise.bits - infinite) / (1 - 1 / growth)
    zero = 0.0 if noise.q % 2 else max(noise.weights) / 2**noise.bits
    minus = 1 - infinite - plus - zero
    found = -math.expm1(many * math.log1p(-infinite))
    for up in range(many + 1):
        for level in range(many - up + 1):
            down = many - up - level
            gap = (up - down) * float(noise.epsilon) - float(epsilon)
            if gap > 0:
                ways = math.comb(many, up) * math.comb(many - up, level)
                found += -math.expm1(-gap) * ways * plus**up * zero**level * minus**down
    return found


@pytest.mark.parametrize(("epsilon", "delta"), [(1, "1e-6"), ("0.5", "1e-6"), ("0.1", "1e-9"), (1, "1e-9")])
def test_the_closed_trinomial_form(epsilon: object, delta: object) -> None:
    noise = DropNoise(epsilon, delta)
    curve = privacy_curve([noise] * 12)
    for part in (0, 1, 2, 5, 8, 11, 12):
        place = noise.epsilon * part
        assert curve.delta_at(place) == pytest.approx(trinomial(noise, 12, place), rel=1e-6)


@pytest.mark.parametrize("delta", [0, Fraction(1, 2**20), Fraction(1, 4)])
def test_the_delta_of_one_release_is_no_more_than_its_own(delta: Fraction) -> None:
    """Whatever the rounding of the curve: a δ that is a double is met to the last bit, at its ε and beyond."""
    for epsilon in (1, Fraction(3, 10)):
        curve = privacy_curve([Privacy(epsilon=epsilon, delta=delta)])
        assert curve.delta_at(epsilon) == curve.delta_at(2 * epsilon) == delta


def test_even_reaches_compose_better_and_odd_ones_are_the_worst_case() -> None:
    even = DropNoise(1, "1e-6")
    assert even.q == 28
    assert round(privacy_curve([even] * 2).delta_at(1), 3) == 0.158
    assert round(privacy_curve([Privacy(epsilon=1, delta=even.delta_real)] * 2).delta_at(1), 3) == 0.338
    odd = next(noise for digit in range(1, 10) if (noise := DropNoise(1, f"{digit}e-6")).q % 2)
    worst = privacy_curve([Privacy(epsilon=1, delta=odd.delta_real)] * 3)
    for place in (0, 1, 2, 3):
        assert privacy_curve([odd] * 3).delta_at(place) == pytest.approx(worst.delta_at(place), rel=1e-4)


@given(
    st.lists(
        st.tuples(st.integers(1, 60).map(lambda part: Fraction(part, 20)), st.sampled_from(["0", "1e-6", "1e-3"])),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from(["1e-5", "1e-2", "0.3"]),
)
def test_never_worse_than_basic_composition(parts: list[tuple[Fraction, str]], spare: str) -> None:
    each = [Privacy(epsilon=epsilon, delta=delta) for epsilon, delta in parts]
    basic = each[0]
    for one in each[1:]:
        basic = basic + one
    assert compose(each, delta=basic.delta + Fraction(spare)).epsilon <= basic.epsilon
    if basic.delta:
        assert compose(each, delta=basic.delta).epsilon <= basic.epsilon


@pytest.mark.parametrize(("epsilon", "delta"), [*SMALL, (1, "1e-6"), ("0.01", "1e-9"), ("1e-3", "1e-15")])
def test_masses_are_proved_pessimistic_and_the_proof_can_fail(epsilon: object, delta: object) -> None:
    noise = DropNoise(epsilon, delta)
    losses = losses_of_noise(noise)
    assert dominates(losses, noise)
    for name in ("plus", "infinite", "minus", "zero"):
        mass = getattr(losses, name)
        if mass > 1e-9:
            assert not dominates(replace(losses, **{name: mass * (1 - 1e-6)}), noise), name
    assert not dominates(replace(losses, epsilon=losses.epsilon * 2), noise)


@pytest.mark.parametrize(("epsilon", "delta"), SMALL)
def test_a_coarse_lattice_only_adds(epsilon: object, delta: object) -> None:
    parts = {losses_of_noise(DropNoise(epsilon, delta)): 3, losses_of_privacy(Privacy(epsilon="1/7", delta=0)): 2}
    fine, step = sum_of(parts)
    for coarse in (Fraction(1, 13), Fraction(1, 3), Fraction(5)):
        rough = sum_on(Lattice(coarse), parts)
        for place in (0.0, 0.3, 1.0, 1.7):
            assert rough.delta(place, coarse) >= fine.delta(place, step) * (1 - 1e-10)


def test_more_points_than_fit_are_made_coarser() -> None:
    each = [Privacy(epsilon=Fraction(1, prime), delta=0) for prime in (7919, 7907, 7901)] * 3
    curve = privacy_curve(each)
    assert curve._sum[1] * MOST_STEPS >= curve.basic.epsilon * Fraction(1, 2)
    assert len(curve._sum[0].masses) <= 2 * MOST_STEPS + 20
    assert compose(each, delta="1e-6").epsilon <= curve.basic.epsilon


def test_dp_accounting_agrees() -> None:
    noise = DropNoise("0.1", "1e-8")
    single = privacy_curve([noise])
    for many in (2, 30, 365):
        theirs = single.to_dp_accounting().self_compose(many)
        ours = privacy_curve([noise] * many)
        assert float(ours.epsilon_at("1e-5")) == pytest.approx(theirs.get_epsilon_for_delta(1e-5), rel=1e-6)
        assert ours.delta_at(1) == pytest.approx(theirs.get_delta_for_epsilon(1.0), rel=1e-6)
    whole = privacy_curve([noise] * 30).to_dp_accounting()
    assert whole.get_delta_for_epsilon(1.0) == pytest.approx(privacy_curve([noise] * 30).delta_at(1), rel=1e-9)


def test_dp_accounting_s_own_worst_pair_is_ours() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from dp_accounting.pld import common, privacy_loss_distribution
    given_pair = common.DifferentialPrivacyParameters(0.5, 1e-6)
    theirs = privacy_loss_distribution.from_privacy_parameters(given_pair, value_discretization_interval=0.5)
    ours = privacy_curve([Privacy(epsilon="0.5", delta="1e-6")] * 20)
    assert ours.delta_at(3) == pytest.approx(theirs.self_compose(20).get_delta_for_epsilon(3.0), rel=1e-6)


def test_units_in_several_buckets_and_certified_totals() -> None:
    release = flexdp.release(
        [1.0] * 900, epsilon=1, delta="1e-6", width=5, certify="0.1"
    )  # buckets and a total: two tables
    both = compose([release], delta="1e-6")
    assert both.epsilon <= 1 and both.neighbours == release.privacy.neighbours
    k = Budget(1, "1e-6", most=3)
    assert privacy_curve([k]).parts == {losses_of_noise(k.bars): 3}
    assert compose([k], delta="1e-6").epsilon <= 1


def test_asked_answers_are_pure() -> None:
    asked = flexdp.release(list(range(500)), kind="integer", epsilon="0.1", delta=0, ask="median")
    curve = privacy_curve([asked] * 64)
    assert curve.parts == {losses_of_privacy(Privacy(epsilon="0.1", delta=0)): 64}
    assert curve.epsilon_at("1e-6") < Fraction(64, 10) * Fraction(3, 4)
    mixed = flexdp.release(list(range(500)), kind="integer", epsilon=1, delta="1e-6", width=50, ask="median")
    assert len(privacy_curve([mixed]).parts) == 2


def test_separate_columns_and_mechanisms() -> None:
    import polars as pl

    table = pl.DataFrame({"x": [3.0] * 200, "y": [4.0] * 200})
    both = flexdp.release(table, ["x", "y"], separately=True, epsilon=1, delta=1e-6, width=5)
    assert privacy_curve([both]).basic.epsilon == 1
    assert sum(privacy_curve([both]).parts.values()) == 2
    laplace = flexdp.mechanisms.Dropping(1, "1e-6")
    assert compose([laplace, both], delta="2e-6").epsilon <= 2
    assert laplace(Histogram.from_counts({1: 100})) is not None


def test_sums_are_basic() -> None:
    one, other = Privacy(epsilon="0.1", delta="1e-6"), Privacy(epsilon="0.2", delta=0)
    assert (one + other).epsilon == Fraction(3, 10) and (one + other).delta == Fraction(1, 10**6)
    assert one + other == flexdp.calculus.total([one, other])
    with pytest.raises(InputError, match="same neighbours"):
        one + flexdp.accounting.budget.Budget(1, "1e-6").privacy("patient")
    with pytest.raises(InputError, match="less than 1"):
        Privacy(epsilon=1, delta="0.6") + Privacy(epsilon=1, delta="0.4")
    with pytest.raises(TypeError):
        one + 1


@pytest.mark.parametrize(
    ("releases", "words"),
    [([], "at least one"), (None, "at least one"), ([1], "releases or guarantees"), ("ab", "at least one")],
)
def test_what_cannot_be_composed_is_refused(releases: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        compose(releases, delta="1e-6")


def test_a_delta_that_no_epsilon_has_is_refused() -> None:
    with pytest.raises(InputError, match=r"delta must be at least .* together; got 1e-09"):
        compose([Privacy(epsilon=1, delta="1e-6")] * 2, delta="1e-9")
    with pytest.raises(InputError, match="same neighbours"):
        compose([Privacy(epsilon=1, delta=0), Budget(1, "1e-6").privacy("patient")], delta="1e-6")


@pytest.mark.parametrize("many", [1, 3, 30, 200])
def test_calibrated_releases_fit_and_lose_no_more(many: int) -> None:
    found = calibrate(2, "1e-6", releases=many)
    noise = DropNoise(found.each.epsilon, found.each.delta)
    assert noise.q == found.reach <= found.even_reach == DropNoise(found.even.epsilon, found.even.delta).q
    assert compose([noise] * many, delta="1e-6").epsilon <= 2
    if many >= 30:
        assert found.saved > 0
        larger = DropNoise(found.each.epsilon * Fraction(101, 100), found.each.delta)
        assert compose([larger] * many, delta="1e-6").epsilon > 2  # nothing was left on the table


@pytest.mark.parametrize("epsilon", [500, 1300, 3000, 10**4])
def test_an_epsilon_that_a_double_cannot_raise_e_to_is_calibrated(epsilon: int) -> None:
    found = calibrate(epsilon, "1e-6", releases=2)
    assert found.reach <= found.even_reach
    assert compose([DropNoise(found.each.epsilon, found.each.delta)] * 2, delta="1e-6").epsilon <= epsilon


def test_what_is_composed_has_the_delta_that_was_asked_for() -> None:
    each = [Privacy(epsilon=1, delta="1e-7", delta_real="9e-8")] * 3
    for delta in ("4e-7", "1e-3"):
        found = compose(each, delta=delta)
        assert found.delta == Fraction(delta) and found.delta_real is None
    assert compose(each[:1], delta="4e-7").delta_real is None  # its own belongs to another ε


def test_a_curve_is_shown_from_zero_to_basic_composition() -> None:
    curve = privacy_curve([Privacy(epsilon=1, delta="1e-7")] * 2)
    points = curve.points(5)
    assert [place for place, _ in points] == [0, Fraction(1, 2), 1, Fraction(3, 2), 2]
    assert all(delta == curve.delta_at(place) for place, delta in points)
    assert [place for place, _ in curve.points(2)] == [0, 2]
    assert (len(curve.points()), len(curve.points(61))) == (50, 61)
    for wrong in (1, 10**6 + 1):
        with pytest.raises(InputError, match="count must be"):
            curve.points(wrong)


def test_the_epsilon_of_a_delta_is_the_smallest_multiple_that_has_it() -> None:
    curve, least = privacy_curve([DropNoise(1, "1e-6")] * 3), Fraction(1, 10**12)
    for delta in ("1e-5", "1e-3", "0.1"):
        found = curve.epsilon_at(delta)
        assert found % least == 0
        assert curve.delta_at(found) <= Fraction(delta) < curve.delta_at(found - least)
    place = Fraction(3, 2)
    assert curve.epsilon_at(Fraction(curve.delta_at(place))) == place  # also where it has exactly that
    assert curve.epsilon_at("0.99") <= least


def test_a_delta_is_rounded_up() -> None:
    deltas = [f"{digit}e-{power}" for digit in range(1, 10) for power in (1, 6, 9)]
    assert any(Fraction(float(delta)) < Fraction(delta) for delta in deltas)  # control: the nearest double may be less
    for delta in deltas:
        assert Fraction(privacy_curve([Privacy(epsilon=1, delta=delta)]).delta_at(1)) >= Fraction(delta)


# --- what basic composition and outward rounding rest on -----------------------------------------------------------


@pytest.mark.parametrize(
    "value", [Fraction(1, 3), Fraction(1, 10), Fraction(2, 3), Fraction(1, 2), Fraction(10**30 + 1)]
)
def test_doubles_are_rounded_to_the_side_that_they_are_called(value: Fraction) -> None:
    down, up = composition._down(value), composition._up(value)
    assert Fraction(down) <= value <= Fraction(up) and up <= math.nextafter(down, math.inf)
    assert (down == up) == (Fraction(float(value)) == value)


@pytest.mark.parametrize("deltas", [["0.5", "0.5"], ["0.5", "0.6"], ["0.9", "0.9"]])
def test_deltas_that_reach_one_say_nothing(deltas: list[str]) -> None:
    with pytest.raises(InputError, match=r"^releases must have deltas that add up to less than 1"):
        composition._basic({Privacy(epsilon=1 + place, delta=delta): 1 for place, delta in enumerate(deltas)})


def test_basic_composition_counts_every_copy() -> None:
    found = composition._basic({Privacy(epsilon=1, delta="0.1"): 3, Privacy(epsilon="1/2", delta=0): 2})
    assert (found.epsilon, found.delta, found.delta_real) == (4, Fraction(3, 10), None)


def test_buckets_that_were_chosen_are_known_by_their_guarantee_alone() -> None:
    """Their budget depends on what was published before it, so its table is not composed by itself."""
    whole = Privacy(epsilon=1, delta=Fraction(1, 10**6))
    chosen = flexdp.release(list(range(9000)), kind="integer", epsilon=1, delta="1e-6", ask=[])
    assert losses_of(chosen) == (chosen.privacy, ((losses_of_privacy(whole), 1),))
    more = SimpleNamespace(budget=Budget(1, "1e-6"), asked=None, privacy=Privacy(epsilon=1, delta="1e-3"))
    assert losses_of(more)[1] == ((losses_of_privacy(more.privacy), 1),)  # δ that its buckets do not account for
    given = flexdp.release([1.0] * 500, kind="number", width=5, epsilon=1, delta="1e-6")
    assert losses_of(given)[1] == losses_of_budget(given.budget)
    both = flexdp.release([1.0] * 500, kind="number", width=5, epsilon=1, delta="1e-6", ask=["max"])
    bars = losses_of_budget(both.budget)
    assert losses_of(both)[1] == (*bars, (losses_of_privacy(Privacy(epsilon=Fraction(1, 2), delta=0)), 1))


# ---------------------------------------------------------------- proofs, one inequality at a time


def test_each_inequality_of_the_proof_is_needed() -> None:
    """Losses that are too small at one point of the curve alone, and nowhere else."""
    noise = DropNoise(1, "1e-6")
    losses = losses_of_noise(noise)
    assert losses.zero > 0.3 and losses.minus > 1e-3
    high, x = float(exp_bounds(-noise.epsilon).upper), 1e-8
    small = {
        "at e^-ε": {"zero": losses.zero - x, "minus": losses.minus + 2 * x},
        "at 1": {"plus": losses.plus - x, "zero": losses.zero + 1.01 * (1 + high) * x},
        "beyond e^ε": {"infinite": losses.infinite - x, "plus": losses.plus + 1.01 * x / (1 - high)},
        "in all": {"minus": losses.minus - 1e-3},
    }
    for name, change in small.items():
        assert not dominates(replace(losses, **change), noise), name
        larger = {key: max(mass, getattr(losses, key)) for key, mass in change.items()}
        assert dominates(replace(losses, **larger), noise), name
    steep = Given((1, 14, 1), 4, "1")
    assert not dominates(replace(losses, plus=0.0, zero=0.0, minus=0.0, infinite=1.0), steep)  # type: ignore[arg-type]


def test_tables_whose_directions_differ_have_the_worst_losses() -> None:
    worst = losses_of_privacy(Privacy(epsilon=1, delta="9/16"))
    for weights in ((1, 6, 9), (9, 6, 1)):
        assert losses_of_noise.__wrapped__(Given(weights, 4, "1")) == worst  # type: ignore[arg-type]
    assert losses_of_noise.__wrapped__(Given((16,), 4, "1")).infinite == 1.0  # type: ignore[arg-type]
    even = losses_of_noise.__wrapped__(Given((8, 8), 4, "1"))  # type: ignore[arg-type]
    assert even.infinite == 0.5 and even.plus < 1e-30 and 0.5 <= even.zero < 0.5 + 1e-9
    assert [copies for _, copies in losses_of_budget(Budget(1, "1e-6", certify="0.1"))] == [1, 1]


def test_budgets_of_each_release_can_be_typed() -> None:
    """δ has three digits and ε four, rounded down."""
    for releases in (20, 52):
        each = calibrate(1, "1e-6", releases=releases).each
        assert each.delta == Fraction(f"{float(each.delta):.2e}") and each.epsilon == Fraction(
            f"{float(each.epsilon):.3e}"
        )


def test_sums_of_losses_allow_for_every_rounding() -> None:
    unit = 2.0**-53
    one = Sum(low=1, masses=np.array([0.25, 0.75]), error=unit, finite=-0.5, cut=1e-9)
    both = one + Sum(low=-4, masses=np.array([0.5, 0.0, 0.5]), error=2 * unit, finite=-0.25, cut=3e-9)
    assert both.low == -3 and both.masses.tolist() == [0.125, 0.375, 0.125, 0.375] and both.finite == -0.75
    assert both.error == (1 + 2 + 2 * 3) * unit  # of each, and twice a sum of at most three terms
    assert 4e-9 < both.cut < 4e-9 * (1 + 2e-6)
    nothing = Sum(low=1, masses=np.array([1.0]), error=0.0, finite=0.0)
    assert nothing.delta(2.0, Fraction(1)) == 2e-290  # what may have underflowed, of finite and of infinite losses
    half = Sum(low=1, masses=np.array([0.5]), error=0.0, finite=0.0)
    exact = 0.5 * -math.expm1(-1.0)
    assert exact * (1 + 16 * unit) < half.delta(0.0, Fraction(1)) < exact * (1 + 64 * unit)
