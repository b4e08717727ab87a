"""Propose-test-release, as the release of stable values: the truth where it is stable, else a bar at random."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from flexdp._parameters import EPSILON, Number
from flexdp.baselines._base import SMALL_DELTA, Citation, Mechanism, Task
from flexdp.baselines._stability import answer, distance_to_instability
from flexdp.guarantees import Privacy

__all__ = ["ProposeTestRelease", "release_chance"]


def release_chance(distance: float, epsilon: float, delta: float) -> float:
    """Pr[d + Lap(1/ε) > ln(1/δ)/ε]: δ/2 at distance zero, rising by e^ε a record at most."""
    short = -math.log(delta) - epsilon * distance
    return 0.5 * math.exp(-short) if short >= 0 else 1 - 0.5 * math.exp(short)


@dataclass(frozen=True, slots=True)
class ProposeTestRelease(Mechanism):
    """Propose-test-release: f(x) if d + Lap(1/ε) > ln(1/δ)/ε, else a uniform bar, d the exact distance to instability.

    Calibration: for adding or removing one record. d changes by at most one between neighbours, so the test costs ε;
    if neighbours have different answers, both have d = 0 and pass with a chance of δ/2 only.
    """

    name: ClassVar[str] = "ptr"
    citation: ClassVar[Citation] = Citation(
        "Cynthia Dwork, Jing Lei", 2009, "differential privacy and robust statistics"
    )

    def claim(self, *, epsilon: Number, delta: Number) -> Privacy:
        return Privacy(epsilon=EPSILON.check(epsilon), delta=SMALL_DELTA.check(delta))

    def _answers(self, task: Task) -> NDArray[np.float64]:
        chance = release_chance(distance_to_instability(task.counts, task.level), task.epsilon, task.delta)
        passed = task.rng.random(task.runs) < chance
        random_bars = task.rng.integers(task.bars, size=task.runs)
        return np.where(passed, answer(task.counts, task.level), random_bars).astype(np.float64)
