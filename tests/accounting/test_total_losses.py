"""Privacy losses of buckets that lose little in all, against every outcome of their law."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest

from flexdp import compose
from flexdp.accounting.composition import PrivacyCurve, privacy_curve
from flexdp.accounting.losses import losses_of_total
from flexdp.mechanisms import Dropping
from flexdp.noise import TotalNoise

CASES = [("1", "0.1", 2, 1), ("1", "0.02", 2, 1), ("2", "0.05", 3, 1), ("1", "0.05", 2, 2), ("2", "0.1", 3, 2)]
Pairs = list[tuple[float, float]]


def mechanism(epsilon: str, chance: str, buckets: int, most: int) -> tuple[Dropping, TotalNoise]:
    made = Dropping(epsilon, chance, total=range(buckets), max_buckets_per_unit=most)
    assert made.limited is not None
    assert made.limited.is_redrawn
    return made, made.limited


def outcomes(noise: TotalNoise) -> tuple[Pairs, Pairs]:
    """The probabilities of each outcome on two neighbours of tall buckets, in both directions."""
    tall, changed = 3 * noise.q, min(noise.units, noise.buckets)
    more = noise.law([tall] * noise.buckets)
    less = noise.law([tall - 1] * changed + [tall] * (noise.buckets - changed))
    seen = dict.fromkeys([*more, *less])
    both = [(float(more.get(left, 0)), float(less.get(left, 0))) for left in seen]
    return both, [(b, a) for a, b in both]


def composed(pairs: Pairs, copies: int) -> Pairs:
    """The outcomes of several releases, those of one ratio together."""
    found: dict[tuple[float, float], float] = {(1.0, 1.0): 1.0}
    for _ in range(copies):
        longer: dict[tuple[float, float], float] = {}
        for ((p, q), many), (a, b) in product(found.items(), pairs):
            scale = p * a + q * b
            key = (round(p * a / scale, 12), round(q * b / scale, 12)) if scale else (0.0, 0.0)
            longer[key] = longer.get(key, 0.0) + many * scale
        found = longer
    return [(p * many, q * many) for (p, q), many in found.items()]


def delta(pairs: Pairs, epsilon: float) -> float:
    return math.fsum(max(0.0, p - math.exp(epsilon) * q) for p, q in pairs)


@pytest.mark.parametrize(("epsilon", "chance", "buckets", "most"), CASES)
@pytest.mark.parametrize("copies", [1, 2, 3])
def test_no_composition_promises_more_than_the_outcomes_keep(
    epsilon: str, chance: str, buckets: int, most: int, copies: int
) -> None:
    made, noise = mechanism(epsilon, chance, buckets, most)
    parts = {losses: many * copies for losses, many in losses_of_total(noise)}
    curve = PrivacyCurve(replace(made.privacy, epsilon=made.epsilon * copies), parts)
    without = replace(curve, parts=dict(list(parts.items())[:1]))
    places = [float(epsilon) * copies * part / 8 for part in range(1, 8)]
    exact = [max(delta(composed(pairs, copies), place) for pairs in outcomes(noise)) for place in places]
    told = [curve._delta(Fraction(place)) for place in places]
    assert all(found <= bound * (1 + 1e-9) for found, bound in zip(exact, told, strict=True))
    assert told[-1] <= exact[-1] * 2
    faulty = [without._delta(Fraction(place)) for place in places]
    assert any(found > bound * (1 + 1e-6) for found, bound in zip(exact, faulty, strict=True)), "the control"


@pytest.mark.parametrize(("epsilon", "chance", "buckets", "most"), CASES)
def test_one_release_has_the_delta_that_was_asked_for(epsilon: str, chance: str, buckets: int, most: int) -> None:
    made, noise = mechanism(epsilon, chance, buckets, most)
    curve = privacy_curve([made])
    real = float(noise.delta_real)
    assert real <= curve.delta_at(epsilon) <= real * (1 + 1e-9) + 1e-15
    assert compose([made], delta=chance).epsilon <= made.epsilon


@pytest.mark.parametrize(("epsilon", "chance", "buckets", "most"), CASES)
def test_other_libraries_get_a_distribution_that_dominates(epsilon: str, chance: str, buckets: int, most: int) -> None:
    pytest.importorskip("dp_accounting")
    made, noise = mechanism(epsilon, chance, buckets, most)
    one = privacy_curve([made]).to_dp_accounting()
    for copies, theirs in ((1, one), (2, one.compose(one)), (3, one.self_compose(3))):
        for part in (-7, -3, 0, 2, 5, 8):
            place = float(epsilon) * copies * part / 8
            exact = max(delta(composed(pairs, copies), place) for pairs in outcomes(noise))
            assert theirs.get_delta_for_epsilon(place) >= exact * (1 - 1e-9)
