"""Propose-test-release of stable values: the true answer if it is stable, else a random bucket."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import EPSILON, SMALL_DELTA
from flexdp._core.exact import Number
from flexdp.baselines.base import Citation, ComparedMechanism, Question, Task
from flexdp.baselines.stability import answers, distance_to_instability, drawn_answers
from flexdp.guarantees import Privacy

__all__ = ["ProposeTestRelease", "release_chance"]


def release_chance(distance: float, epsilon: float, delta: float) -> float:
    """Return Pr[d + Lap(1/ε) > ln(1/δ)/ε]: δ/2 at distance zero, growing by a factor of at most e^ε per record."""
    short = -math.log(delta) - epsilon * distance
    return 0.5 * math.exp(-short) if short >= 0 else 1 - 0.5 * math.exp(short)


@dataclass(frozen=True, slots=True)
class ProposeTestRelease(ComparedMechanism):
    """Propose-test-release: f(x) if d + Lap(1/ε) > ln(1/δ)/ε, else a uniform bucket; d is the distance to instability.

    Calibration, under add/remove neighbours: d changes by at most one between neighbours, so the test costs ε. If
    neighbours have different answers, both have d = 0 and pass with probability δ/2 only. With random ties the same
    holds for the distribution of the answer, which is stable if one bucket leads by at least two records.
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
