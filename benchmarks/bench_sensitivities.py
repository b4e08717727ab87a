"""Sensitivities that compute: σ, τ and Δ on 200 points each, deterministic and randomised, and growth by doubling."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

from _timing import say

from flexdp import Histogram, distortion_sensitivity, error_sensitivity, metric_sensitivity
from flexdp.distortions import Drop, Move

POINTS, LIMIT = 200, 5.0


def fewer(a: int, b: int) -> float:
    """Numbers that can only be lowered."""
    return a - b if b <= a else float("inf")


def gap(a: int, b: int) -> int:
    return abs(a - b)


def noisy(x: int) -> dict[int, Fraction]:
    return {x + k: Fraction(1, 2 ** min(k + 1, 5)) for k in range(6)}


def coin(x: int) -> dict[int, Fraction]:
    return {x: Fraction(3, 4), x + 1: Fraction(1, 4)}


def tables(size: int) -> list[Histogram]:
    """About ``size`` histograms on two keys."""
    most = max(1, round(size**0.5))
    return [Histogram.from_counts({1: a + 1, 4: b + 1}) for a, b in product(range(most), repeat=2)]


def uneven(x: int, width: int, most: int, salt: int) -> dict[int, Fraction]:
    """A law of up to ``most`` outputs near x, different at every point."""
    weights: dict[int, int] = {}
    for k in range(most):
        weights[x + (x * x * 7 + 13 * k * (x + salt)) % (width + 1)] = 1 + (x * (k + salt) + 5 * k) % 9
    return {place: Fraction(weight, sum(weights.values())) for place, weight in weights.items()}


def blended(gamma2: str, gamma1: str, width: int) -> Callable[[int], Any]:
    """τ of laws that are different at every point, after a loss."""
    return lambda n: error_sensitivity(
        lambda x: uneven(x, width, 4, 1), lambda x: uneven(x, 2, 2, 2), range(n), gap, 1, gamma2, 1, gamma1
    )


def dense(size: int) -> Any:
    """Every law gives every output a weight of its own, and no two distances are alike."""
    places = [math.sin(i) for i in range(size)]
    laws = [{places[c]: abs(math.cos(x * size + c)) + 0.01 for c in range(size)} for x in range(size)]

    def apart(a: int, b: int) -> float:
        return abs(places[a] - places[b])

    return error_sensitivity(
        lambda x: laws[x], lambda x: places[x], range(size), apart, 0.1, "1/20", 0.2, "1/100", metric=apart
    )


CASES: dict[str, Callable[[int], Any]] = {
    "σ, deterministic, numbers": lambda n: distortion_sensitivity(lambda x: x // 2, range(n), gap, gap, 5),
    "σ, deterministic, histograms by drop": lambda n: distortion_sensitivity(
        lambda x: x, tables(n), Drop(), Drop(), "1/4"
    ),
    "σ, randomised": lambda n: distortion_sensitivity(coin, range(n), gap, gap, 1, omega=1, targets=range(n + 1)),
    "σ, randomised, relaxed by θ": lambda n: distortion_sensitivity(coin, range(n), fewer, fewer, 1, "1/4", 1),
    "τ, deterministic f": lambda n: error_sensitivity(noisy, lambda x: x, range(n), fewer, 2, "1/20", 3),
    "τ, deterministic f, after a loss": lambda n: error_sensitivity(
        noisy, lambda x: x, range(n), fewer, 2, "1/20", 3, "1/100"
    ),
    "τ, deterministic f, any two inputs": lambda n: error_sensitivity(noisy, lambda x: x, range(n), gap, 2, 0, n),
    "τ, every output at every point, in doubles": dense,
    "τ, histograms by drop": lambda n: error_sensitivity(
        lambda x: x.size, lambda x: x.size, tables(n), Drop(), "1/4", 0, 1, metric=Move()
    ),
    "τ, randomised f": lambda n: error_sensitivity(noisy, coin, range(n), fewer, 2, "1/20", 2),
    "τ, randomised f, after a loss, γ₂ < γ₁": lambda n: error_sensitivity(
        noisy, coin, range(n), gap, 1, "1/50", 1, "1/20"
    ),
    "τ, randomised f, after a loss, γ₂ > γ₁": lambda n: error_sensitivity(
        noisy, coin, range(n), gap, 1, "1/10", 1, "1/20"
    ),
    "τ, uneven laws, after a loss, γ₂ < γ₁": blended("1/50", "1/20", 8),
    "τ, uneven laws, after a loss, γ₂ > γ₁": blended("1/10", "1/20", 8),
    "τ, uneven wide laws, after a loss, γ₂ < γ₁": blended("1/20", "1/5", 100),
    "τ, uneven wide laws, after a loss, γ₂ > γ₁": blended("1/4", "1/5", 100),
    "τ, uneven laws, after a loss, γ₂ = 0": blended("0", "1/20", 8),
    "Δ, deterministic": lambda n: metric_sensitivity(lambda x: x * x % 17, range(n), 5),
    "Δ, randomised": lambda n: metric_sensitivity(noisy, range(n), 3),
}


def main() -> None:
    for name, work in CASES.items():
        took = {}
        for size in (POINTS // 4, POINTS // 2, POINTS):
            started = time.process_time()
            work(size)
            took[size] = time.process_time() - started
        say(f"{name}, {POINTS} points", took[POINTS], took[POINTS] / LIMIT, "≤ 1 (of 5 s)")
        print(f"    doubling the points: {took[POINTS // 2] / took[POINTS // 4]:.2f}×, then "
              f"{took[POINTS] / took[POINTS // 2]:.2f}×")  # fmt: skip


if __name__ == "__main__":
    main()
