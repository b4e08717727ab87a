"""The choosing-based histogram: pick tall buckets one by one, then measure those picked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import EPSILON, SMALL_DELTA, integer
from flexdp._core.exact import Number
from flexdp.baselines.base import Citation, HistogramMechanism, Question, Task
from flexdp.baselines.laws import BarLaw
from flexdp.errors import InputError
from flexdp.guarantees import Privacy

__all__ = ["SanPoints"]


@dataclass(frozen=True, slots=True)
class SanPoints(HistogramMechanism):
    """Choosing-based histogram: T rounds of choosing a tallest bucket without replacement, then Laplace noise.

    Calibration, under add/remove neighbours: T = ``rounds`` = 20, or B if there are fewer buckets, a constant that
    depends neither on the data nor on the true answer. Half of ε pays for choosing, ε/(2T) per round, by the
    exponential mechanism with the height as utility; its factor 2 is unnecessary because a record raises one height
    and lowers none. The other half pays for the heights: each chosen bucket gets Laplace noise of scale 2/ε once, and
    a record lies in one bucket only. Buckets not chosen, and negative heights, count as 0. By basic composition the
    mechanism is (ε, 0)-private; at T = 20 and δ = 2⁻²⁰ advanced composition would give less. δ is not used.

    Parameters
    ----------
    rounds
        T, the number of buckets chosen.
    """

    rounds: int = 20
    name: ClassVar[str] = "sanpoints"
    citation: ClassVar[Citation] = Citation(
        "Amos Beimel, Kobbi Nissim, Uri Stemmer",
        2016,
        "Private Learning and Sanitization: Pure vs. Approximate Differential Privacy",
    )

    def __post_init__(self) -> None:
        integer("rounds", self.rounds)

    def claim(self, *, epsilon: Number, delta: Number) -> Privacy:
        SMALL_DELTA.check(delta)
        return Privacy(epsilon=EPSILON.check(epsilon), delta=0)

    def _histograms(self, task: Task) -> NDArray[Any]:
        rounds = min(self.rounds, task.bars)
        # The T highest utilities plus Gumbel noise are T draws of the exponential mechanism without replacement.
        scores = task.epsilon / (2 * rounds) * task.counts + task.rng.gumbel(size=(task.runs, task.bars))
        picked = np.argpartition(scores, task.bars - rounds, axis=1)[:, task.bars - rounds :]
        heights = task.counts[picked] + task.rng.laplace(0, 2 / task.epsilon, picked.shape)
        out = np.zeros((task.runs, task.bars))
        np.put_along_axis(out, picked, np.maximum(0, heights), axis=1)
        return out

    def _bar_law(self, asked: Question) -> BarLaw:  # noqa: ARG002
        raise InputError(
            "mechanism",
            f"{self.name!r} has no computable distribution: whether it picks a bucket depends on all others",
            remedy="Run it instead.",
        )
