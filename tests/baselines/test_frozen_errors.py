"""Exact errors of compared mechanisms against recorded ones: 672 cases, each with its means and two quantiles."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp.baselines import exact_errors
from flexdp.statistics import Max, MaxAtLeast, Mode

RECORDED = Path(__file__).parent / "exact_errors.csv"
COLUMNS = ("data", "statistic", "epsilon", "alpha", "mechanism", "actual", "flexible", "beta_05", "beta_001")
MECHANISMS = ("dropping", "stlap", "esa", "bns", "bns_swap", "em", "ptr")
DELTA = Fraction(1, 2**20)
_LEVELS = (np.arange(2000) + 0.5) / 2000
DATA: dict[str, NDArray[np.int64]] = {
    "cauchy": np.bincount(np.clip(45 + 4 * np.tan(np.pi * (_LEVELS - 0.5)), 0, 99).astype(int), minlength=100),
    "steps": np.repeat([200, 100, 50, 20, 5], 8),
    "thin": (7 * np.arange(30) ** 2 + 3 * np.arange(30)) // 5 % 4,
    "two": np.array([300, 0, 0, 290, 0, 4]),
}
STATISTICS: dict[str, Any] = {"max": Max(), "max_10": MaxAtLeast(10), "mode": Mode()}


def cases() -> Iterator[tuple[str, ...]]:
    yield from product(DATA, STATISTICS, ("0.1", "0.5", "1", "3"), ("0.005", "0.05"), MECHANISMS)


def computed(case: tuple[str, ...]) -> tuple[float, float, float, float]:
    data, statistic, epsilon, alpha, mechanism = case
    found = exact_errors(
        mechanism, DATA[data], STATISTICS[statistic], epsilon=epsilon, delta=DELTA, alpha=alpha
    )  # fmt: skip
    return found.actual.mean, found.flexible.mean, found.flexible.beta("0.05"), found.flexible.beta("0.001")


def test_exact_errors_are_the_recorded_ones() -> None:
    rows = list(csv.DictReader(RECORDED.read_text().splitlines()))
    known = {tuple(row[name] for name in COLUMNS[:5]): [float(row[name]) for name in COLUMNS[5:]] for row in rows}
    assert list(known) == list(cases()) and len(known) == 672
    for case, (actual, flexible, *betas) in known.items():
        found = computed(case)
        assert abs(found[0] - actual) <= 5e-14 * max(1, actual), case
        assert abs(found[1] - flexible) <= 5e-14 * max(1, flexible), case
        assert list(found[2:]) == betas, case


if __name__ == "__main__":  # record
    with RECORDED.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows((*case, *(repr(float(number)) for number in computed(case))) for case in cases())
