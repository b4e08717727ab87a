"""The documented grid of configurations, each proved by the exact δ of its worst pair (docs/verification.md).

Dropping clips at zero, which is post-processing, so of all neighbours those are worst whose changed buckets hold at
least q records on both sides: one pair stands for all tables. ``make verify`` runs the whole grid.
"""

from __future__ import annotations

import os
from fractions import Fraction
from itertools import product

import pytest

from flexdp.audit import exact_delta, verify
from flexdp.mechanisms import Dropping

DEEP = os.environ.get("FLEXDP_DEEP") == "1"
EPSILONS = ("0.01", "0.1", "0.5", "1", "3")
DELTAS = ("1/1048576", "1e-6", "1e-9", "1e-12")
BUCKETS = (1, 2, 5, 10)
CERTIFY = (None, "0.05", "0.5")
GRID = [  # 5 % of ε = 0.01 would be noise of a million records
    case for case in product(EPSILONS, DELTAS, BUCKETS, CERTIFY) if case[0] != "0.01" or case[3] != "0.05"
]
CHEAP = [
    case
    for case in GRID
    if case[1] in ("1e-6", "1e-12") and case[2] in (1, 5) and case[3] != "0.5"
    if case[0] in ("1", "3") or (case[0] == "0.1" and (case[2] == 1 or case[3] is None))
]


@pytest.mark.parametrize("case", GRID if DEEP else CHEAP, ids=lambda case: "-".join(map(str, case)))
def test_every_configuration_has_the_privacy_it_claims(case: tuple[str, str, int, str | None]) -> None:
    epsilon, delta, k, certify = case
    mechanism = Dropping(epsilon, delta, max_buckets_per_unit=k, certify=certify)
    height = mechanism.noise.q + 1
    larger = dict.fromkeys(range(k), height)
    smaller = dict.fromkeys(range(k), height - 1)
    found = exact_delta(mechanism, larger, smaller, epsilon)
    assert found <= mechanism.delta
    assert found.lower >= Fraction(found) * (1 - Fraction(1, 10**6))  # the bounds are close
    if certify is None:  # and it is no smaller than what is said of it
        real = mechanism.privacy.delta_real
        assert real is not None and abs(Fraction(found) - real) <= real / 10**6
    if epsilon != "0.01":  # control: nine tenths of ε would be false
        assert exact_delta(mechanism, larger, smaller, Fraction(epsilon) * Fraction(9, 10)) > mechanism.delta


def test_all_small_neighbours_of_small_reaches() -> None:
    """The clipped pairs, too, though they follow: every pair of tables up to a size, for several buckets a unit."""
    for k, size in ((1, 12), (2, 7)) if not DEEP else ((1, 40), (2, 16), (3, 8)):
        mechanism = Dropping(2, "0.02", max_buckets_per_unit=k)
        found = verify(mechanism, size=size)
        assert found.holds
        assert not verify(mechanism, epsilon=1, size=size).holds  # control
