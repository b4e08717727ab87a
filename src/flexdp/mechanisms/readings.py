"""Mechanisms from histograms to answers: reading a statistic off, and the Laplace mechanism."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from flexdp._continuous import laplace
from flexdp._parameters import EPSILON, Number, exact
from flexdp.calculus import (
    ErrorSensitivity,
    compose_accuracy,
    deterministic_error,
    drop_move_accuracy,
    identity,
    laplace_accuracy,
    only_at_zero,
)
from flexdp.errors import InputError
from flexdp.guarantees import DIFFERENCE, HAUSDORFF, Accuracy, Privacy
from flexdp.histogram import Histogram
from flexdp.mechanisms.core import HISTOGRAMS, Mechanism, Setting, Space
from flexdp.statistics import Statistic, Support, equal_size_sensitivity

__all__ = ["Laplace", "ReadOff", "read_accuracy"]


def _answers(statistic: Statistic | Callable[[Histogram], Any]) -> Space:
    return Space("finite sets", HAUSDORFF) if isinstance(statistic, Support) else Space("numbers", DIFFERENCE)


def ReadOff(statistic: Statistic, *, dimensions: int = 1) -> Mechanism:  # noqa: N802
    """Read a statistic off a histogram: exact for it, with error sensitivity Δ_f (paper, Thm. bucketing-general).

    Δ_f is taken between histograms of one size, because what is read off, and what it is compared with, hold equally
    many
    records: bucketing moves them and loses none. Where Δ_f is unbounded all the same, a pipeline carries the drop-move
    guarantee instead (Thm. bucketing-general-drmv).
    """
    space = _answers(statistic)
    error = deterministic_error(lambda beta: equal_size_sensitivity(statistic, beta), metric=space.metric)
    return Mechanism(
        name=f"ReadOff({statistic.name})",
        source=replace(HISTOGRAMS, dimensions=dimensions),
        target=space,
        run=statistic,
        accuracy_in=lambda _setting: Accuracy(alpha=0, beta=0, metric=space.metric),
        sigma=only_at_zero(),
        tau=lambda _setting: error,
    )


def read_accuracy(histogram: Accuracy, sensitivity: Callable[[float], float], *, metric: str = DIFFERENCE) -> Accuracy:
    """The accuracy of a statistic read off a histogram of known accuracy: the one derivation that releases use, too."""
    if math.isinf(sensitivity(histogram.beta)):
        return drop_move_accuracy(histogram, metric=metric)
    return compose_accuracy(histogram, deterministic_error(sensitivity, metric=metric), sigma=identity())


def Laplace(statistic: Statistic, *, sensitivity: Number, epsilon: Number) -> Mechanism:  # noqa: N802
    """A statistic that one record moves by at most ``sensitivity``, plus Laplace noise of scale sensitivity/ε.

    (ε, 0)-private and (0, (Δ/ε)·ln(1/γ), γ)-accurate for every γ > 0: ask ``accuracy(gamma=…)``. Its noise is made of
    doubles: for study, not for release.
    """
    rate, step = EPSILON.check(epsilon), exact("sensitivity", sensitivity)
    space = _answers(statistic)

    def accuracy_in(setting: Setting) -> Accuracy:
        if not setting.gamma:
            raise InputError("gamma must be given and positive: Laplace noise has no bound that always holds.")
        return laplace_accuracy(sensitivity=step, epsilon=rate, gamma=setting.gamma)

    def tau(setting: Setting) -> ErrorSensitivity:
        own = accuracy_in(setting)
        return ErrorSensitivity(
            alpha=0.0,
            gamma=own.gamma,
            bound=lambda beta: statistic.sensitivity(beta) + own.beta,
            metric=space.metric,
        )

    return Mechanism(
        name=f"Laplace({statistic.name})",
        source=HISTOGRAMS,
        target=space,
        run=lambda histogram: statistic(histogram) + float(laplace(1, scale=float(step / rate))[0]),
        accuracy_in=accuracy_in,
        sigma=only_at_zero(),
        tau=tau,
        privacy=Privacy(epsilon=rate, delta=0),
    )
