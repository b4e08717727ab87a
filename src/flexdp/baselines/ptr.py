"""Propose-test-release, as the release of stable values: the truth where it is stable, else a bar at random."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import EPSILON
from flexdp._core.exact import Number
from flexdp.baselines.base import SMALL_DELTA, Citation, ComparedMechanism, Question, Task
from flexdp.baselines.stability import answers, distance_to_instability, drawn_answers
from flexdp.guarantees import Privacy

__all__ = ["ProposeTestRelease", "release_chance"]


def release_chance(distance: float, epsilon: float, delta: float) -> float:
    """Pr[d + Lap(1/ε) > ln(1/δ)/ε]: δ/2 at distance zero, rising by e^ε a record at most."""
    short = -math.log(delta) - epsilon * distance
    return 0.5 * math.exp(-short) if short >= 0 else 1 - 0.5 * math.exp(short)


@dataclass(frozen=True, slots=True)
class ProposeTestRelease(ComparedMechanism):
    """Propose-test-release: f(x) if d + Lap(1/ε) > ln(1/δ)/ε, else a uniform bar, d the exact distance to instability.

    Calibration: for adding or removing one record. d changes by at most one between neighbours, so the test costs ε;
    if neighbours have different answers, both have d = 0 and pass with a chance of δ/2 only. With ties drawn at random
    the same holds of the law of the answer: it is stable where one tallest bar leads by two records or more.
    """

    name: ClassVar[str] = "ptr"
    citation: ClassVar[Citation] = Citation(
        "Cynthia Dwork, Jing Lei", 2009, "Differential Privacy and Robust Statistics"
    )

    def claim(self, *, epsilon: Number, delta: Number) -> Privacy:
        return Privacy(epsilon=EPSILON.check(epsilon), delta=SMALL_DELTA.check(delta))

    def _answers(self, task: Task) -> NDArray[np.float64]:
        passed = task.rng.random(task.runs) < self._chance(task)
        random_bars = task.rng.integers(task.bars, size=task.runs)
        return np.where(passed, drawn_answers(task), random_bars).astype(np.float64)

    def _law(self, asked: Question) -> NDArray[np.float64]:
        chance = self._chance(asked)
        out = np.full(asked.bars, (1 - chance) / asked.bars)
        places = answers(asked.counts, asked.level, asked.ties)
        out[places] += chance / len(places)
        return out

    def _chance(self, asked: Question) -> float:
        distance = distance_to_instability(asked.counts, asked.level, asked.ties)
        return release_chance(distance, asked.epsilon, asked.delta)
