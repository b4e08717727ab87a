"""Laws of mechanisms: each is that of the draws, closed forms are those of enumeration, and own laws are audited."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexdp import Histogram, InputError
from flexdp.audit import exact_delta, verify
from flexdp.distribution import REFUSED, Distribution, Independent, Whole, point
from flexdp.mechanisms import (
    HISTOGRAMS,
    BucketHistogram,
    Bucketing,
    Dropping,
    Emptiness,
    Laplace,
    Mechanism,
    ReadOff,
    STLap,
)
from flexdp.mechanisms.bars import BarNoise, as_histogram, law_read_off
from flexdp.noise.bits import Bits
from flexdp.noise.drop import DropNoise
from flexdp.statistics import Count, Max, MaxAtLeast, Median, Min, Mode, Support

HALF = Fraction(1, 2)
DRAWS = 20_000
UNITS = {"unit": "p", "max_buckets_per_unit": 2}
ROWS = [("a", 1), ("a", 7), ("a", 12), ("b", 2), ("b", 7), ("c", 13), (None, 3)]
TABLE = {1: 4, 2: 2, 8: 3}

CASES: dict[str, tuple[Any, Any]] = {
    "dropping": (Dropping(1, "0.05"), TABLE),
    "paper": (STLap("0.3", "0.5"), TABLE),
    "bucketing": (Bucketing(width=5), TABLE),
    "units": (Bucketing(width=5, bounds=(0, 20), **UNITS), ROWS),  # type: ignore[arg-type]
    "emptiness": (Emptiness(1, "0.1"), 3),
    "bucketed": (BucketHistogram("0.5", 10, epsilon=2, bounds=(0, 20), records_at_least=12), TABLE),
    "mode": (Dropping(1, "0.05") >> ReadOff(Mode()), TABLE),
    "median": (Dropping(1, "0.05") >> ReadOff(Median()), TABLE),
    "chain": (Bucketing(width=5, **UNITS) >> Dropping(1, "0.2", **UNITS) >> ReadOff(Support()), ROWS),  # type: ignore[arg-type]
    "count": (ReadOff(Count()) >> Emptiness(1, "0.1"), {1: 2, 3: 1}),
    "bare noise": (DropNoise(1, "0.05"), 4),
}


def far(law: Any, drawn: Counter[Any]) -> float:
    """The largest distance of a frequency from its mass, in standard deviations; infinite for an impossible outcome."""
    if not set(drawn) <= set(law):
        return float("inf")
    expected = {outcome: DRAWS * float(mass) for outcome, mass in law.items() if DRAWS * mass > 9}
    return max(abs(drawn[o] - e) / max(1.0, (e * (1 - e / DRAWS)) ** 0.5) for o, e in expected.items())


def outcome(mechanism: Any, x: Any, bits: Bits) -> Any:
    try:
        drawn = mechanism.draw(x, bits)
    except InputError:
        return REFUSED
    return drawn if not isinstance(drawn, list) else tuple(drawn)


@pytest.mark.parametrize("name", CASES)
def test_a_law_is_that_of_the_draws(name: str) -> None:
    """A frequency lies 6 standard deviations off with a chance below 1e-8, and there are fewer than 80 of them each."""
    mechanism, x = CASES[name]
    given = as_histogram(x) if isinstance(x, dict) else x
    bits = Bits(random.Random(name).randbytes)
    drawn = Counter(outcome(mechanism, given, bits) for _ in range(DRAWS))
    law = mechanism.law(x).listed()
    assert sum(law.masses.values()) == 1 and law.error < Fraction(1, 10**40)
    assert far(law.masses, drawn) < 6
    if len(law.masses) > 1:  # control: with half of the largest mass elsewhere it is another law
        least, most = sorted(law.masses, key=lambda o: law.masses[o])[:: len(law.masses) - 1]
        half = law.masses[most] / 2
        wrong = {**law.masses, least: law.masses[least] + half, most: half}
        assert far(wrong, drawn) > 6


small = st.dictionaries(st.integers(0, 5), st.integers(1, 4), min_size=1, max_size=4)


@given(
    counts=small, statistic=st.sampled_from([Max(), Min(), Mode(), MaxAtLeast(2), MaxAtLeast(4)]), noisy=st.booleans()
)
def test_closed_forms_are_those_of_enumeration(counts: dict[int, int], statistic: Any, noisy: bool) -> None:
    law: Any = (Dropping(1, "0.2") if noisy else STLap("0.5", 1)).law(counts)
    found, read = law_read_off(law, statistic), ReadOff(statistic)
    expected = law.listed().bind(read.law)
    assert found is not None and found.masses.keys() == expected.masses.keys()
    assert all(abs(found.masses[o] - expected.masses[o]) < Fraction(1, 10**40) for o in found.masses)
    assert read.law_after(law).listed().masses == found.masses and found.error >= 0
    doubles = Independent(
        {key: Whole(bar.dense[0], bar.dense[1].astype(float)) for key, bar in law.factors.items()},
        law.build,
    )
    rounded = law_read_off(doubles, statistic)
    assert rounded is not None
    assert all(abs(rounded.masses.get(o, 0.0) - float(p)) < 1e-12 for o, p in expected.masses.items())


def test_what_has_no_closed_form_is_enumerated() -> None:
    law = Dropping(1, "0.2").law({1: 2, 3: 1})
    assert law_read_off(law, Median()) is None and law_read_off(law.listed(), Max()) is None
    points = Dropping(1, "0.2", dimensions=2).law(Histogram([(1.0, 2.0)], [3]))
    assert law_read_off(points, Mode()) is None
    assert law_read_off(law, Max(), nothing=0).masses[0] == law_read_off(law, Max()).masses[REFUSED]  # type: ignore[union-attr]


def test_a_refusal_is_an_outcome() -> None:
    """The maximum of nothing is none, and tells an empty table from one with a record."""
    chain = Dropping(1, "0.4") >> ReadOff(Max())
    noise = DropNoise(1, "0.4")
    assert exact_delta(chain, {}, {5: 1}, 0) == noise.law(1).masses[1]
    law = chain.law({5: 1}).listed().masses
    assert law[REFUSED] == noise.law(1).masses[0] and MaxAtLeast(3)(Histogram([5], [1])) is None
    assert (Dropping(1, "0.4") >> ReadOff(MaxAtLeast(3))).law({5: 1}).listed().masses == {None: 1}
    assert ReadOff(Max()).law_after(point(REFUSED)).listed().masses == {REFUSED: 1}


class CoinFlip(BarNoise):
    """Each record is kept with chance ``keep``."""

    keep: Fraction
    source = target = HISTOGRAMS

    def draw(self, x: Histogram, bits: Bits) -> Histogram:
        p = self.keep
        left = [sum(bits.accept(p.numerator, p.denominator) for _ in range(count)) for count in x.counts.tolist()]
        return Histogram(x.keys, left)

    def law_of_bars(self, x: Histogram) -> Any:  # noqa: ARG002
        p = self.keep
        return lambda n: Distribution({k: comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)})


class Told(Mechanism):
    """The number of records, or with chance 1/4 nothing; its law is a plain dictionary."""

    source = target = HISTOGRAMS

    def draw(self, x: Histogram, bits: Bits) -> int | None:
        return None if bits.accept(1, 4) else x.size

    def law(self, x: Any) -> Any:
        return {None: "0.25", as_histogram(x).size: "0.75"}


class Silent(Told):
    """The same, of which nothing is known."""

    def law(self, x: Any) -> None:  # noqa: ARG002
        return None


def test_a_mechanism_of_ones_own_is_audited_by_its_law() -> None:
    chain = Bucketing(width=2, bounds=(0, 10)) >> CoinFlip(HALF) >> ReadOff(Max())
    x, y = {1: 4, 2: 3, 9: 2}, {1: 4, 2: 3, 9: 1}
    assert exact_delta(chain, x, y, 0) == Fraction(1, 4)  # the last bar is seen with chance 3/4, and with 1/2
    assert not verify(CoinFlip(HALF), 1, "0.3", size=3).holds and verify(CoinFlip(HALF), 1, "0.5", size=3).holds
    assert exact_delta(Told(), {1: 3}, {1: 2}, 5) == Fraction(3, 4)
    assert exact_delta(Bucketing(width=2) >> Told(), {1: 3}, {1: 2}, 5) == Fraction(3, 4)
    for silent in (Silent(), Bucketing(width=2) >> Silent(), Dropping(1, "0.2") >> Silent()):
        with pytest.raises(InputError, match="no law that can be enumerated"):
            exact_delta(silent, {1: 3}, {1: 2}, 1)


def test_laplace_is_the_last_random_step() -> None:
    noisy = Laplace(sensitivity=1, epsilon=1)
    with pytest.raises(InputError, match="beside other parts"):
        exact_delta([noisy, noisy], 0, 1, 1)
    with pytest.raises(InputError, match="last and only random step"):
        exact_delta(Dropping(1, "0.2") >> Laplace(Count(), sensitivity=1, epsilon=1), {1: 2}, {1: 3}, 1)
    drawn = np.array([noisy.draw(3, Bits(random.Random(seed).randbytes)) for seed in range(500)])
    assert abs(float(np.median(drawn)) - 3) < 0.5
