"""The choosing-based histogram: pick tall bars one after the other, then measure the picked ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import EPSILON, integer
from flexdp._core.exact import Number
from flexdp.baselines.base import SMALL_DELTA, Citation, HistogramMechanism, Question, Task
from flexdp.baselines.laws import BarLaw
from flexdp.errors import InputError
from flexdp.guarantees import Privacy

__all__ = ["SanPoints"]


@dataclass(frozen=True, slots=True)
class SanPoints(HistogramMechanism):
    """Choosing-based histogram: T rounds of choosing the tallest bar without replacement, then Laplace on the heights.

    Calibration, for adding or removing one record: T = ``rounds`` = 20, or B if there are fewer bars, a constant that
    neither the data nor the true answer has a say in. Half of ε goes to choosing, ε/(2T) a round: the exponential
    mechanism with the height as utility, whose factor 2 is not needed because one more record raises a single height
    and lowers none. The other half goes to the heights: each picked bar gets Laplace noise of scale 2/ε once, and a
    record lies in one bar only. Bars not picked, and negative heights, count as 0. By plain composition the whole is
    pure, (ε, 0); at T = 20 and δ = 2⁻²⁰ the advanced theorem would allow less. δ is not used.
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
        # The highest T of utility plus Gumbel noise are T draws of the exponential mechanism without replacement.
        scores = task.epsilon / (2 * rounds) * task.counts + task.rng.gumbel(size=(task.runs, task.bars))
        picked = np.argpartition(scores, task.bars - rounds, axis=1)[:, task.bars - rounds :]
        heights = task.counts[picked] + task.rng.laplace(0, 2 / task.epsilon, picked.shape)
        out = np.zeros((task.runs, task.bars))
        np.put_along_axis(out, picked, np.maximum(0, heights), axis=1)
        return out

    def _bar_law(self, asked: Question) -> BarLaw:  # noqa: ARG002
        raise InputError(
            f"mechanism {self.name!r} has no computable law: whether it picks a bar depends on all others. "
            "Run it instead."
        )
