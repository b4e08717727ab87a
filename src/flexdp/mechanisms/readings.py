"""Mechanisms from histograms to answers: reading a statistic off, and the Laplace mechanism."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from flexdp._core.domains import EPSILON, Domain, integer
from flexdp._core.exact import Number, sum_up
from flexdp.calculus import (
    SENSITIVITY,
    ErrorSensitivity,
    deterministic_error,
    identity,
    laplace_accuracy,
    only_at_zero,
)
from flexdp.errors import InputError
from flexdp.guarantees import DIFFERENCE, EQUALITY, HAUSDORFF, ONE_RECORD, Accuracy, AnswersWithin, Privacy
from flexdp.mechanisms.core import HISTOGRAMS, Known, Mechanism, Space, apply_error
from flexdp.noise.continuous import laplace
from flexdp.statistics import (
    Max,
    MaxAtLeast,
    Median,
    Min,
    Mode,
    Quantile,
    Statistic,
    Support,
    Top,
    equal_size_sensitivity,
)
from flexdp.statistics.base import statistic_given

__all__ = ["Laplace", "ReadOff", "function_accuracy", "read_accuracy"]

NUMBERS = Space("numbers", DIFFERENCE)
SETS = Space("finite sets", HAUSDORFF)
VALUES = Space("values", EQUALITY)
_VALUE = Domain(
    name="value",
    low=Fraction(-(10**300)),
    low_included=True,
    high=Fraction(10**300),
    high_included=True,
    remedy="Give the exact answer, a number.",
)
_SCALING = (Max, Min, Quantile, Median, Support)  # single keys: an error relative to each is relative to the answer


def _answers(statistic: Statistic) -> Space:
    if isinstance(statistic, Support):
        return SETS
    return VALUES if isinstance(statistic, Mode | MaxAtLeast | Top) else NUMBERS


def _error(statistic: Statistic) -> ErrorSensitivity:
    return deterministic_error(
        lambda beta: equal_size_sensitivity(statistic, beta),
        metric=_answers(statistic).metric,
        takes=HISTOGRAMS.metric,
        scales=isinstance(statistic, _SCALING),
    )


def ReadOff(statistic: Statistic, *, dimensions: int = 1) -> Mechanism:  # noqa: N802
    """Read a statistic off a histogram: exact for it, with error sensitivity Δ_f (paper, Thm. bucketing-general).

    Δ_f is taken between histograms of one size, because what is read off, and what it is compared with, hold equally
    many records: bucketing moves them and loses none. Where Δ_f is unbounded all the same, or the error is relative and
    the statistic mixes values, a pipeline carries the drop-move guarantee instead (Thm. bucketing-general-drmv).
    """
    statistic = statistic_given(statistic)
    space, error = _answers(statistic), _error(statistic)
    return Mechanism(
        name=f"ReadOff({statistic.name})",
        source=replace(HISTOGRAMS, dimensions=integer("dimensions", dimensions)),
        target=space,
        run=statistic,
        accuracy_in=lambda _setting: Accuracy(alpha=0, beta=0, metric=space.metric),
        sigma=only_at_zero(),
        tau=lambda _setting: error,
    )


def read_accuracy(histogram: Accuracy, statistic: Statistic) -> Accuracy:
    """The accuracy of a statistic read off a histogram of known accuracy: the one derivation that releases use, too."""
    return apply_error(histogram, _error(statistic), sigma=identity())


def function_accuracy(histogram: Accuracy, sensitivity: Callable[[float], float]) -> Accuracy:
    """The same for any function, given how far it moves when every record moves by at most β."""
    error = deterministic_error(sensitivity, metric=DIFFERENCE, takes=HISTOGRAMS.metric)
    return apply_error(histogram, error, sigma=identity())


def Laplace(  # noqa: N802
    statistic: Statistic | None = None, *, sensitivity: Number, epsilon: Number
) -> Mechanism:
    """Laplace noise of scale sensitivity/ε, on a statistic that one record moves by at most ``sensitivity``.

    (ε, 0)-private and (0, (Δ/ε)·ln(1/γ), γ)-accurate for every γ > 0: ask ``accuracy(gamma=…)``. Without a statistic
    it takes a number, and is private for answers that differ by at most the sensitivity. Its noise is made of doubles:
    for study, not for release.
    """
    rate, step = EPSILON.check(epsilon), SENSITIVITY.check(sensitivity)
    statistic = None if statistic is None else statistic_given(statistic)
    source, space = (NUMBERS, NUMBERS) if statistic is None else (HISTOGRAMS, _answers(statistic))
    if space != NUMBERS:
        raise InputError("statistic must be a number for Laplace noise to be added to it.")

    def moves(beta: float) -> float:
        return beta if statistic is None else equal_size_sensitivity(statistic, beta)

    def accuracy_in(setting: Known) -> Accuracy:
        if not setting.gamma:
            raise InputError("gamma must be given and positive: Laplace noise has no bound that always holds.")
        return laplace_accuracy(sensitivity=step, epsilon=rate, gamma=setting.gamma)

    def tau(setting: Known) -> ErrorSensitivity:
        own = accuracy_in(setting)
        return ErrorSensitivity(
            alpha=0.0,
            gamma=own.gamma,
            bound=lambda beta: sum_up(moves(beta), own.beta),
            metric=space.metric,
            takes=source.metric,
        )

    def run(value: Any) -> float:
        answer = _VALUE.check(value) if statistic is None else statistic(value)
        return float(answer) + float(laplace(1, scale=float(step / rate))[0])

    return Mechanism(
        name="Laplace" if statistic is None else f"Laplace({statistic.name})",
        source=source,
        target=space,
        run=run,
        accuracy_in=accuracy_in,
        sigma=identity() if statistic is None else only_at_zero(),
        tau=tau,
        lossy=True,
        privacy=Privacy(
            epsilon=rate,
            delta=0,
            neighbours=ONE_RECORD if statistic is not None else AnswersWithin(step),
        ),
    )
