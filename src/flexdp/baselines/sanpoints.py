"""The choosing-based histogram: pick tall buckets one by one, then measure those picked."""

from __future__ import annotations

import math
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

__all__ = ["SanPoints", "SanPointsHalting", "choosing_threshold"]

_CITATION = Citation(
    "Amos Beimel, Kobbi Nissim, Uri Stemmer",
    2016,
    "Private Learning and Sanitization: Pure vs. Approximate Differential Privacy",
)


def choosing_threshold(epsilon: float, delta: float) -> float:
    """Return 1 + ln(1/δ)/ε: below it a round halts, at noise of scale 1/ε and weights e^{ε·height} in the choice."""
    return 1 - math.log(delta) / epsilon


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
    citation: ClassVar[Citation] = _CITATION

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
        raise _dependent(self.name)


@dataclass(frozen=True, slots=True)
class SanPointsHalting(HistogramMechanism):
    """Choosing-based histogram with the choosing mechanism's two rules: halt below a threshold, choose no empty bucket.

    Calibration, under add/remove neighbours, with T rounds as for ``sanpoints`` and e = ε/(4T): each round adds Laplace
    noise of scale 1/e to the tallest height left and halts below θ = 1 + ln(T/δ)/e; else it chooses a non-empty bucket
    with weight e^{e·height}. If a bucket is filled in both neighbours, a round is (2e, 0)-private. If it holds one
    record in one of them alone, it is chosen with probability at most e^{−e(m−1)} where m is the tallest height, and a
    round passes with probability at most e^{−e(θ−m)}: together at most δ/T. So choosing is (ε/2, δ)-private by basic
    composition, and the heights, with Laplace noise of scale 2/ε, are (ε/2, 0)-private, as for ``sanpoints``.

    Parameters
    ----------
    rounds
        T, the most buckets that are chosen.
    """

    rounds: int = 20
    name: ClassVar[str] = "sanpoints_halting"
    citation: ClassVar[Citation] = _CITATION

    def __post_init__(self) -> None:
        integer("rounds", self.rounds)

    def claim(self, *, epsilon: Number, delta: Number) -> Privacy:
        return Privacy(epsilon=EPSILON.check(epsilon), delta=SMALL_DELTA.check(delta))

    def _histograms(self, task: Task) -> NDArray[Any]:
        out = np.zeros((task.runs, task.bars))
        filled = np.flatnonzero(task.counts)
        if not len(filled):
            return out
        rounds = min(self.rounds, task.bars)
        step, most = task.epsilon / (4 * rounds), min(rounds, len(filled))
        # Utilities plus Gumbel noise in descending order are draws of the exponential mechanism without replacement.
        scores = step * task.counts[filled] + task.rng.gumbel(size=(task.runs, len(filled)))
        order = filled[np.argsort(-scores, axis=1)]
        heights = task.counts[order]
        tallest = np.maximum.accumulate(heights[:, ::-1], axis=1)[:, ::-1][:, :most]  # of those not yet chosen
        tested = tallest + task.rng.laplace(0, 1 / step, tallest.shape)
        passed = np.logical_and.accumulate(tested >= choosing_threshold(step, task.delta / rounds), axis=1)
        noisy = heights[:, :most] + task.rng.laplace(0, 2 / task.epsilon, tallest.shape)
        np.put_along_axis(out, order[:, :most], np.where(passed, np.maximum(0, noisy), 0), axis=1)
        return out

    def _bar_law(self, asked: Question) -> BarLaw:  # noqa: ARG002
        raise _dependent(self.name)


def _dependent(name: str) -> InputError:
    return InputError(
        "mechanism",
        f"{name!r} has no computable distribution: whether it picks a bucket depends on all others",
        remedy="Run it instead.",
    )
