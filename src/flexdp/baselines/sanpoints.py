"""The choosing-based histogram: pick tall buckets one by one, then measure those picked."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from flexdp._core.fields import param, whole
from flexdp.baselines.base import Citation, ComparedHistogram, Question
from flexdp.distribution import Distribution
from flexdp.errors import InputError
from flexdp.guarantees import Privacy
from flexdp.simulation import Generator

__all__ = ["SanPoints", "SanPointsHalting", "choosing_threshold"]


def choosing_threshold(epsilon: float, delta: float) -> float:
    """Return 1 + ln(1/δ)/ε: below it a round halts, at noise of scale 1/ε and weights e^{ε·height} in the choice."""
    return 1 - math.log(delta) / epsilon


class SanPoints(ComparedHistogram):
    """Choosing-based histogram: T rounds of choosing a tallest bucket without replacement, then Laplace noise.

    Calibration, under add/remove neighbours: T = ``rounds`` = 20, or B if there are fewer buckets, a constant that
    depends neither on the data nor on the true answer. Half of ε pays for choosing, ε/(2T) per round, by the
    exponential mechanism with the height as utility; its factor 2 is unnecessary because a record raises one height
    and lowers none. The other half pays for the heights: each chosen bucket gets Laplace noise of scale 2/ε once, and
    a record lies in one bucket only. Buckets not chosen, and negative heights, count as 0. By basic composition the
    mechanism is (ε, 0)-private; at T = 20 and δ = 2⁻²⁰ advanced composition would give less. δ is not used.
    """

    citation: ClassVar[Citation] = Citation(
        "Amos Beimel, Kobbi Nissim, Uri Stemmer",
        2016,
        "Private Learning and Sanitization: Pure vs. Approximate Differential Privacy",
    )

    rounds: int = param(whole(), default=20, kw_only=True)

    @property
    def privacy(self) -> Privacy:
        return Privacy(epsilon=self.epsilon, delta=0)

    def rows(self, counts: NDArray[np.int64], runs: int, rng: Generator) -> NDArray[Any]:
        epsilon, buckets = float(self.epsilon), len(counts)
        rounds = min(self.rounds, buckets)
        # The T highest utilities plus Gumbel noise are T draws of the exponential mechanism without replacement.
        scores = epsilon / (2 * rounds) * counts + rng.gumbel(size=(runs, buckets))
        picked = np.argpartition(scores, buckets - rounds, axis=1)[:, buckets - rounds :]
        heights = counts[picked] + rng.laplace(0, 2 / epsilon, picked.shape)
        out = np.zeros((runs, buckets))
        np.put_along_axis(out, picked, np.maximum(0, heights), axis=1)
        return out

    def law_of_answer(self, asked: Question) -> Distribution:  # noqa: ARG002
        raise InputError(
            "mechanism",
            "of choosing has no computable distribution: whether it picks a bucket depends on all others",
            remedy="Run it instead.",
        )


class SanPointsHalting(SanPoints):
    """Choosing-based histogram with the choosing mechanism's two rules: halt below a threshold, choose no empty bucket.

    Calibration, under add/remove neighbours, with T rounds as for ``sanpoints`` and e = ε/(4T): each round adds Laplace
    noise of scale 1/e to the tallest height left and halts below θ = 1 + ln(T/δ)/e; else it chooses a non-empty bucket
    with weight e^{e·height}. If a bucket is filled in both neighbours, a round is (2e, 0)-private. If it holds one
    record in one of them alone, it is chosen with probability at most e^{−e(m−1)} where m is the tallest height, and a
    round passes with probability at most e^{−e(θ−m)}: together at most δ/T. So choosing is (ε/2, δ)-private by basic
    composition, and the heights, with Laplace noise of scale 2/ε, are (ε/2, 0)-private, as for ``sanpoints``.
    """

    @property
    def privacy(self) -> Privacy:
        return Privacy(epsilon=self.epsilon, delta=self.delta)

    def rows(self, counts: NDArray[np.int64], runs: int, rng: Generator) -> NDArray[Any]:
        epsilon, delta = self.doubles
        out = np.zeros((runs, len(counts)))
        filled = np.flatnonzero(counts)
        if not len(filled):
            return out
        rounds = min(self.rounds, len(counts))
        step, most = epsilon / (4 * rounds), min(rounds, len(filled))
        # Utilities plus Gumbel noise in descending order are draws of the exponential mechanism without replacement.
        scores = step * counts[filled] + rng.gumbel(size=(runs, len(filled)))
        order = filled[np.argsort(-scores, axis=1)]
        heights = counts[order]
        tallest = np.maximum.accumulate(heights[:, ::-1], axis=1)[:, ::-1][:, :most]  # of those not yet chosen
        tested = tallest + rng.laplace(0, 1 / step, tallest.shape)
        passed = np.logical_and.accumulate(tested >= choosing_threshold(step, delta / rounds), axis=1)
        noisy = heights[:, :most] + rng.laplace(0, 2 / epsilon, tallest.shape)
        np.put_along_axis(out, order[:, :most], np.where(passed, np.maximum(0, noisy), 0), axis=1)
        return out
