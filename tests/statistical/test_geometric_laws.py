"""Geometric draws as a whole, with the operating system's bits: χ² with a false-alarm rate of 1e-9 a test."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from flexdp.noise.bits import Bits
from flexdp.noise.geometric import bernoulli_exp, geometric, two_sided_geometric

FALSE_ALARM = 1e-9
DRAWS = 200_000


def misfit(seen: np.ndarray, law: np.ndarray) -> float:
    """The χ² tail probability of counts under a law; what the law leaves out is one more cell."""
    seen = np.append(seen, np.zeros(max(0, len(law) - len(seen)), dtype=seen.dtype))
    counts = np.append(seen[: len(law)], seen[len(law) :].sum())
    chances = np.append(law, max(0.0, 1 - law.sum()))
    kept = chances * seen.sum() >= 20
    rest = chances[~kept].sum() + 1e-12  # a cell of its own; doubles do not sum to one
    counts, chances = np.append(counts[kept], counts[~kept].sum()), np.append(chances[kept], rest)
    expected = chances * seen.sum()
    return float(chi2.sf(((counts - expected) ** 2 / expected).sum(), len(counts) - 1))


def one_sided(rate: float) -> np.ndarray:
    places = np.arange(int(40 / rate) + 1)
    return np.exp(-rate * places) * -np.expm1(-rate)


@pytest.mark.parametrize("rate", ["1/2", "1/25", "3/7", "5/2"])
def test_geometric_draws_follow_their_law(rate: str) -> None:
    bits = Bits()
    drawn = np.array([geometric(Fraction(rate), bits) for _ in range(DRAWS)])
    assert misfit(np.bincount(drawn), one_sided(float(Fraction(rate)))) > FALSE_ALARM


def test_two_sided_draws_follow_their_law() -> None:
    bits = Bits()
    drawn = np.array([two_sided_geometric(Fraction(1, 3), bits) for _ in range(DRAWS)])
    places = np.arange(-90, 91)
    r = np.exp(-1 / 3)
    law = (1 - r) / (1 + r) * r ** np.abs(places)
    assert misfit(np.bincount(np.clip(drawn, -90, 91) + 90), law) > FALSE_ALARM


def test_bernoulli_draws_follow_their_law() -> None:
    bits = Bits()
    hits = sum(bernoulli_exp(Fraction(13, 10), bits) for _ in range(DRAWS))
    assert misfit(np.array([hits, DRAWS - hits]), np.array([np.exp(-1.3), 1 - np.exp(-1.3)])) > FALSE_ALARM


@pytest.mark.parametrize("fault", ["rate", "from one", "one in twenty doubled"])
def test_control_faulty_draws_are_rejected(fault: str) -> None:
    bits = Bits()
    drawn = np.array([geometric(Fraction("0.53" if fault == "rate" else "0.5"), bits) for _ in range(DRAWS)])
    if fault == "from one":
        drawn += 1
    if fault == "one in twenty doubled":
        drawn[::20] *= 2
    assert misfit(np.bincount(drawn), one_sided(0.5)) < FALSE_ALARM
