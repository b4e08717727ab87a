"""Losses drawn until they are small in all: certificates against enumerated laws, planted faults, and the sampler."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexdp import CertificateError, Histogram, InputError
from flexdp.audit import exact_delta
from flexdp.mechanisms import Bucketing, Dropping, ReadOff
from flexdp.noise import DropNoise, TotalNoise, prove_total
from flexdp.noise import total as total_module
from flexdp.statistics import Max

Law = dict[tuple[int, ...], Fraction]
HAIR = Fraction(1, 10**15)  # a certificate's δ may be that much larger, relatively, than the exact one
SMALL = [("1", "0.1", 2), ("1", "0.02", 2), ("0.5", "0.05", 2), ("2", "0.01", 3), ("1", "0.05", 3), ("3", "0.001", 3)]
UNITS = [("1", "0.2", 2), ("2", "0.05", 2), ("3", "0.1", 3), ("4", "0.05", 3)]


def joint(noise: DropNoise, buckets: int, total: int) -> Law:
    """The losses of some buckets given that they are at most ``total`` in all, enumerated."""
    found = {
        losses: math.prod(noise.weights[j] for j in losses)
        for losses in product(range(noise.q), repeat=buckets)
        if sum(losses) <= total
    }
    whole = sum(found.values())
    return {losses: Fraction(part, whole) for losses, part in found.items()}


def released(law: Law, counts: tuple[int, ...]) -> Law:
    """What is published of some counts; counts below 0 of the table are cut off."""
    out: Law = {}
    for losses, part in law.items():
        left = tuple(max(0, x - j) for x, j in zip(counts, losses, strict=True))
        out[left] = out.get(left, Fraction(0)) + part
    return out


def divergence(one: Law, other: Law, growth: Fraction) -> Fraction:
    return sum(
        (max(Fraction(0), part - growth * other.get(seen, Fraction(0))) for seen, part in one.items()), Fraction(0)
    )


def growth_of(noise: DropNoise, steps: int = 1) -> Fraction:
    """A number just below e^ε of the unit, to which the table is certified in each bucket."""
    evidence = noise.certify()
    return Fraction(evidence.growth_numerator, evidence.growth_denominator) ** steps


def worst(law: Law, buckets: int, changed: int, growth: Fraction, tall: int) -> Fraction:
    """The divergence for tall buckets, of which some lose one record each, in both directions."""
    more = released(law, (tall,) * buckets)
    less = released(law, (tall - 1,) * changed + (tall,) * (buckets - changed))
    return max(divergence(more, less, growth), divergence(less, more, growth))


@pytest.mark.parametrize(
    ("epsilon", "buckets", "reach", "total"),
    [
        (1, 24, 28, 362),
        (1, 100, 28, 1421),
        (1, 1000, 28, 13_709),
        (1, 24, 29, 371),
        ("0.1", 24, 218, 2973),
        ("0.1", 24, 219, 2967),
        (1, 1, 28, 27),
    ],
)
def test_the_smallest_total(epsilon: Any, buckets: int, reach: int, total: int) -> None:
    noise = TotalNoise(epsilon, "1e-6", buckets, q=reach)
    assert (noise.q, noise.total) == (reach, total)
    if buckets > 1:
        evidence = noise.certify()
        assert evidence is not None
        assert evidence.holds
        assert noise.delta_real == evidence.delta_real <= noise.delta
        assert not prove_total(noise.noise, noise.delta, buckets, total - 1).holds


def test_without_a_larger_reach_the_total_is_larger_where_the_table_has_no_slack() -> None:
    first = DropNoise("0.1", "1e-6")
    assert not prove_total(first, first.delta, 24, 2967).holds
    assert (first.q, TotalNoise("0.1", "1e-6", 24).q, TotalNoise.smallest("0.1", "1e-6", 24).q) == (218, 218, 219)
    assert TotalNoise.smallest(1, "1e-6", 24) == TotalNoise(1, "1e-6", 24)
    assert TotalNoise.smallest(1, "1e-6", 1).total == 27


@pytest.mark.parametrize(("epsilon", "delta", "buckets"), SMALL)
def test_delta_is_that_of_the_enumerated_law(epsilon: str, delta: str, buckets: int) -> None:
    noise = TotalNoise(epsilon, delta, buckets)
    for total in range(noise.max_drop * buckets // 2, noise.max_drop * buckets):
        evidence = prove_total(noise.noise, noise.delta, buckets, total)
        exact = worst(joint(noise.noise, buckets, total), buckets, 1, growth_of(noise.noise), 2 * noise.q)
        assert exact <= evidence.delta_real <= exact * (1 + HAIR)
    if noise.is_redrawn:
        assert worst(joint(noise.noise, buckets, noise.total), buckets, 1, growth_of(noise.noise), 99) <= noise.delta


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "0.1"), ("2", "0.05"), ("1", "0.05")])
def test_every_pair_of_two_small_bars(epsilon: str, delta: str) -> None:
    noise = TotalNoise(epsilon, delta, 2)
    assert noise.total < 2 * noise.max_drop
    assert worst_of_pairs(joint(noise.noise, 2, noise.total), noise) <= noise.delta


def worst_of_pairs(law: Law, noise: TotalNoise) -> Fraction:
    """The largest divergence between two bars and the same without one record, for all small heights."""
    growth, found = growth_of(noise.noise), Fraction(0)
    laws = {counts: released(law, counts) for counts in product(range(noise.q + 2), repeat=2)}
    for high, low in laws:
        if high:
            pair = laws[high, low], laws[high - 1, low]
            found = max(found, divergence(*pair, growth), divergence(*pair[::-1], growth))
    return found


def test_a_total_that_is_too_small_is_caught() -> None:
    noise = TotalNoise("1", "0.05", 2)
    assert worst_of_pairs(joint(noise.noise, 2, noise.total - 1), noise) > noise.delta
    assert not prove_total(noise.noise, noise.delta, 2, noise.total - 1).holds


def test_without_the_term_of_the_largest_sum_the_formula_would_be_wrong() -> None:
    noise = TotalNoise("1", "0.05", 2)
    weights, total, last = noise.noise.weights, noise.total, noise.max_drop
    whole = sum(a * b for a, b in product(weights, repeat=2)) * noise.kept
    formula = max(weights[0] * sum(weights[: total + 1]), weights[last] * sum(weights[: total - last + 1])) / whole
    exact = worst(joint(noise.noise, 2, total), 2, 1, growth_of(noise.noise), 99)
    assert formula < exact * Fraction(99, 100)
    evidence = noise.certify()
    assert evidence is not None
    assert replace(evidence, added=0).delta_real < exact * Fraction(99, 100)
    assert evidence.delta_real >= exact


def test_losses_must_be_drawn_for_empty_buckets_too() -> None:
    """A fault: the losses of the buckets that hold something are drawn again until those alone are small in all."""
    noise = TotalNoise("1", "0.05", 3)
    growth, last = growth_of(noise.noise), noise.total

    def faulty(counts: tuple[int, ...]) -> Law:
        full = [place for place, count in enumerate(counts) if count]
        law = joint(noise.noise, len(full), min(last, noise.max_drop * 2 - 1))
        out: Law = {}
        for seen, part in released(law, tuple(counts[place] for place in full)).items():
            at = [0] * len(counts)
            for place, left in zip(full, seen, strict=True):
                at[place] = left
            out[tuple(at)] = out.get(tuple(at), Fraction(0)) + part
        return out

    def right(counts: tuple[int, ...]) -> Law:
        return released(joint(noise.noise, 3, last), counts)

    def delta(law: Any) -> Fraction:
        pairs = [((1, 30, 30), (0, 30, 30)), ((1, 3, 30), (0, 3, 30))]
        both = [(law(x), law(y)) for x, y in pairs]
        return max(max(divergence(x, y, growth), divergence(y, x, growth)) for x, y in both)

    assert delta(right) <= noise.delta < delta(faulty)


@pytest.mark.parametrize(("epsilon", "delta", "buckets"), UNITS)
def test_units_of_two_buckets(epsilon: str, delta: str, buckets: int) -> None:
    noise = TotalNoise(epsilon, delta, buckets, units=2)
    for total in range(noise.max_drop * buckets // 2, noise.max_drop * buckets):
        law, growth = joint(noise.noise, buckets, total), growth_of(noise.noise, 2)
        found = [worst(law, buckets, changed, growth, 2 * noise.q) for changed in (1, 2)]
        evidence = prove_total(noise.noise, noise.delta, buckets, total, units=2)
        assert max(found) <= evidence.delta_real <= max(found) * (1 + HAIR)
        assert found[1] >= found[0]
    assert noise.delta_real <= noise.delta


def test_a_unit_that_may_count_in_more_buckets_than_there_are() -> None:
    few, many = (TotalNoise(1, "1e-3", 2, units=units) for units in (2, 5))
    assert many.q > few.q
    assert many.delta_real <= many.delta
    exact = worst(joint(many.noise, 2, many.total), 2, 2, growth_of(many.noise, 5), 2 * many.q)
    assert exact <= many.delta_real * (1 + HAIR)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=6), st.integers(0, 9))
def test_sums_are_rounded_down_and_what_they_miss_is_known(weights: list[int], copies: int) -> None:
    whole = max(1, sum(weights))
    digits = 20
    sums = total_module._Sums(0, [weight * 10**digits // whole for weight in weights], digits).times(copies)
    exact = [1]
    for _ in range(copies):
        longer = [0] * (len(exact) + len(weights) - 1)
        for i, part in enumerate(exact):
            for j, weight in enumerate(weights):
                longer[i + j] += part * weight
        exact = longer
    chances = [Fraction(part, whole**copies) for part in exact]
    below = dict(enumerate(sums.numerators, sums.first))
    for n, chance in enumerate(chances):
        assert Fraction(below.get(n, 0), 10**digits) <= chance
        assert sum(chances[: n + 1]) <= Fraction(sums.up_to(n) + sums.missed, 10**digits) or sum(weights) == 0
    assert set(below) <= set(range(len(chances)))
    assert sums.missed <= 10 ** (digits - 15) or sum(weights) == 0


def test_the_law_of_what_is_left_is_the_enumerated_one() -> None:
    for epsilon, delta, buckets in (("1", "0.05", 3), ("2", "0.01", 3), ("1", "0.2", 1)):
        noise = TotalNoise(epsilon, delta, buckets)
        law = joint(noise.noise, buckets, noise.total)
        for counts in product((0, 2, 99), repeat=buckets):
            assert noise.law(counts) == released(law, counts)
        few: Law = {}
        for left, part in released(law, (3, *[0] * (buckets - 1))).items():
            few[left[:1]] = few.get(left[:1], Fraction(0)) + part
        assert noise.law([3]) == few


def test_mean_loss_is_that_of_the_draws_that_are_kept() -> None:
    noise = TotalNoise("1", "0.05", 3)
    law = joint(noise.noise, 3, noise.total)
    exact = sum((losses[0] * part for losses, part in law.items()), Fraction(0))
    assert abs(noise.mean_drop() - exact) < HAIR
    assert exact < noise.noise.mean_drop() - Fraction(1, 1000)
    assert TotalNoise(1, "1e-6", 1).mean_drop() == Fraction(27, 2)


def test_an_odd_reach_has_the_smaller_mean_error() -> None:
    def mean_error(noise: DropNoise) -> float:
        mean = noise.mean_drop()
        return float(sum(abs(j - mean) * weight for j, weight in enumerate(noise.weights)) / (1 << noise.bits))

    assert round(mean_error(DropNoise(1, "1e-6")), 3) == 1.082
    assert round(mean_error(TotalNoise(1, "1e-6", 24, q=29).noise), 3) == 0.851


def test_too_many_losses_are_drawn_again() -> None:
    noise = TotalNoise(1, "1e-6", 24)
    sizes: list[int] = []

    def source(size: int) -> bytes:
        sizes.append(size)
        return (b"\xff" if len(sizes) <= 2 else b"\x50") * size  # first the largest losses, then usual ones

    losses = noise._draw(24, source)
    assert sizes == [48, 192, 48]
    assert losses.tolist() == [13] * 24
    sizes.clear()
    assert noise.noise._draw(24, source).sum() == 648


def chi_squared(seen: Counter[tuple[int, ...]], law: Law, draws: int) -> float:
    return sum((seen[losses] - draws * float(part)) ** 2 / (draws * float(part)) for losses, part in law.items())


def test_draws_have_the_law_of_the_kept_ones() -> None:
    noise, draws = TotalNoise("0.2", "0.3", 2), 100_000
    law = joint(noise.noise, 2, noise.total)
    limit = len(law) + 10 * math.sqrt(2 * len(law)) + 20  # beyond it with a chance below 1e-9
    kept = Counter(tuple(noise.sample().tolist()) for _ in range(draws))
    assert set(kept) <= set(law)
    assert chi_squared(kept, law, draws) < limit
    # The control: where the sum is too large, only the second loss is drawn again.
    one, other = noise.noise.sample(2 * draws).reshape(2, -1)
    while (one + other > noise.total).any():
        other = np.where(one + other > noise.total, noise.noise.sample(draws), other)
    assert chi_squared(Counter(zip(one.tolist(), other.tolist(), strict=True)), law, draws) > limit


def test_all_losses_together_stay_within_the_total() -> None:
    noise = TotalNoise("1", "0.05", 3)
    sums = [int(noise.sample().sum()) for _ in range(2000)]
    assert max(sums) <= noise.total
    assert int(noise.noise.sample(3 * 200_000).reshape(-1, 3).sum(axis=1).max()) > noise.total
    counts = np.array([0, 100, 1000])
    for _ in range(500):
        left = noise.thin(counts)
        assert (left <= counts).all()
        assert left[0] == 0
        assert (counts - left).sum() <= noise.total
    assert len(noise.thin(np.array([5]))) == 1


def test_more_buckets_than_are_public_are_refused_without_their_number() -> None:
    with pytest.raises(InputError, match="must not be more than there are public buckets") as caught:
        TotalNoise(1, "1e-6", 2).thin(np.array([5, 6, 7]))
    assert "3" not in str(caught.value)


def test_a_broken_table_or_evidence_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = TotalNoise(1, "1e-6", 24)
    assert noise.noise.weights[0] == noise.noise.weights[-1]
    monkeypatch.setattr(type(noise), "total", property(lambda _: 361))
    with pytest.raises(CertificateError):
        noise.certify()


def test_sums_that_would_take_too_long_are_left_alone() -> None:
    noise = TotalNoise("0.01", "1e-6", 10_000)
    assert not noise.is_redrawn
    assert noise.certify() is None
    assert noise.total == noise.max_drop * 10_000
    assert len(noise.thin(np.array([5]))) == 1


def test_equal_parameters_make_equal_noise() -> None:
    assert TotalNoise(1, "1e-6", 24) == TotalNoise(1.0, 1e-6, 24) != TotalNoise(1, "1e-6", 25)
    assert hash(TotalNoise(1, "1e-6", 24)) == hash(TotalNoise(1.0, 1e-6, 24))
    assert repr(TotalNoise(1, "1e-6", 24, q=29)) == "TotalNoise(1, 1e-06, 24, q=29)"
    assert DropNoise(1, "1e-6", q=29) != DropNoise(1, "1e-6")
    assert repr(DropNoise(1, "1e-6", q=29)) == "DropNoise(epsilon=1, delta=1e-06, q=29)"
    with pytest.raises(InputError, match="q must lie between 28"):
        DropNoise(1, "1e-6", q=27)


@pytest.mark.parametrize(("epsilon", "delta", "buckets"), [("1", "0.1", 2), ("1", "0.05", 3), ("2", "0.01", 24)])
def test_the_exact_delta_of_the_mechanism_is_what_it_promises(epsilon: str, delta: str, buckets: int) -> None:
    mechanism = Dropping(epsilon, delta, total=range(buckets))
    for heights in ([40] * min(buckets, 3), [1] * min(buckets, 3), [3, 0], [40]):
        x = dict(enumerate(heights))
        found = exact_delta(mechanism, x, {**x, 0: x[0] - 1}, epsilon)
        assert found <= mechanism.privacy.delta_real * (1 + HAIR)
        if heights == [40] * buckets:
            assert found >= mechanism.privacy.delta_real * (1 - HAIR)
    assert exact_delta(mechanism, {-1: 5}, {-1: 4}, epsilon) == 0, "a key that is not public is left out"
    left = mechanism(Histogram.from_counts({0: 100, 99: 100}))
    assert left.keys.tolist() == [0]
    chain = mechanism >> ReadOff(Max())
    assert exact_delta(chain, {0: 9, 1: 2}, {0: 9, 1: 1}, epsilon) <= mechanism.privacy.delta_real * (1 + HAIR)


def test_a_plane_of_buckets_leaves_out_what_is_no_centre() -> None:
    cells = Bucketing(width=10, bounds=(0, 20), dimensions=2)
    mechanism = Dropping(1, "0.1", dimensions=2, total=cells, groups=3)
    assert (mechanism.buckets, cells.bars) == (12, 4)
    left = mechanism(Histogram([(5.0, 5.0), (5.0, 6.0), (25.0, 5.0)], [99, 99, 99]))
    assert left.keys.tolist() == [[5.0, 5.0]]
    assert Dropping.from_json(mechanism.to_json()) == mechanism
    with pytest.raises(InputError, match="total must have public buckets"):
        Dropping(1, "0.1", total=Bucketing(width=10))
    with pytest.raises(InputError, match="certify buys nothing"):
        Dropping(1, "0.1", total=[1, 2], certify="0.1")
