"""The sampler as a whole, with the operating system's bits. Each test states its false-alarm rate and has a control."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

from flexdp.noise import DropNoise
from flexdp.noise.sampler import Sampler

FALSE_ALARM = 1e-9
DRAWS = 2_000_000


def misfit(drops: np.ndarray, pmf: np.ndarray) -> float:
    """The χ² tail probability of the drops under a law, cells with fewer than 20 expected drops put together."""
    expected = pmf * len(drops)
    observed = np.bincount(drops, minlength=len(pmf)).astype(float)
    big = expected >= 20
    cells = [(observed[big], expected[big])]
    if (~big).any() and expected[~big].sum() > 0:
        cells.append((observed[~big].sum(keepdims=True), expected[~big].sum(keepdims=True)))
    seen, wanted = (np.concatenate(part) for part in zip(*cells, strict=True))
    return float(chi2.sf(((seen - wanted) ** 2 / wanted).sum(), len(seen) - 1))


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("0.1", "1e-3"), ("0.05", "1e-6")])
def test_drops_follow_the_table(epsilon: str, delta: str) -> None:
    noise = DropNoise(epsilon, delta)
    assert misfit(noise.sample(DRAWS), noise.pmf) > FALSE_ALARM


@pytest.mark.parametrize("factor", ["1.03", "0.97"])
def test_control_a_table_of_the_wrong_scale_is_rejected(factor: str) -> None:
    claimed = DropNoise("0.1", "1e-3")
    other = DropNoise(f"{0.1 * float(factor):.4f}", "1e-3")
    scaled = other.pmf
    length = max(len(scaled), len(claimed.pmf))
    reference = np.full(length, 1e-300)
    reference[: len(claimed.pmf)] = claimed.pmf
    assert misfit(other.sample(DRAWS), reference) < FALSE_ALARM


def test_control_a_shifted_guide_is_rejected() -> None:
    noise = DropNoise("0.1", "1e-3")
    weights = list(noise.weights)
    half = len(weights) // 2
    moved = sum(weights) // 400
    weights[half] -= moved
    weights[half + 5] += moved
    faulty = Sampler(weights, noise.bits)
    drops = faulty.draw(DRAWS, np.random.default_rng(7).bytes)
    assert misfit(drops, noise.pmf) < FALSE_ALARM


def test_the_same_bytes_give_the_same_drops() -> None:
    noise = DropNoise("0.5", "1e-6")
    one, two = (noise._draw(100_000, np.random.default_rng(3).bytes) for _ in range(2))
    assert (one == two).all()
    assert not (noise.sample(100_000) == noise.sample(100_000)).all()
