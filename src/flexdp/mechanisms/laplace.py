"""The Laplace mechanism, for comparison."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from flexdp._core.domains import EPSILON, SENSITIVITY, Domain
from flexdp._core.fields import Exact, maybe, param
from flexdp.calculus.accuracy import laplace_accuracy
from flexdp.calculus.compose import Error, Known, Step, identity, only_at_zero
from flexdp.distribution import LaplaceLaw
from flexdp.errors import InputError
from flexdp.guarantees import ONE_RECORD, AnswersWithin, Privacy
from flexdp.mechanisms.bars import as_histogram
from flexdp.mechanisms.base import IDENTITY, Mechanism
from flexdp.mechanisms.read_off import space_of
from flexdp.mechanisms.spaces import HISTOGRAMS, NUMBERS, Space
from flexdp.noise.bits import Bits
from flexdp.noise.continuous import laplace
from flexdp.statistics import Statistic, equal_size_sensitivity
from flexdp.statistics.base import statistic_given

__all__ = ["Laplace"]

_VALUE = Domain(
    name="value",
    low=Fraction(-(10**300)),
    low_included=True,
    high=Fraction(10**300),
    high_included=True,
    remedy="Give the exact answer, a number.",
)


def _statistic_check(_name: str, value: object) -> Statistic:
    return statistic_given(value)


class Laplace(Mechanism):
    """Laplace noise of scale Δ/ε on a statistic that one record moves by at most Δ.

    (ε, 0)-private and (0, (Δ/ε)·ln(1/γ), γ)-accurate for every γ > 0: ask ``accuracy(gamma=…)``. Its noise is made of
    doubles: for study, not for release.

    Parameters
    ----------
    statistic
        A numeric statistic of a histogram. Without one the mechanism takes a number, and is private for answers that
        differ by at most the sensitivity.
    sensitivity
        Δ, the largest distance by which one record moves the statistic.
    epsilon
        Privacy loss ε.

    Raises
    ------
    InputError
        The statistic is not a number, or a parameter is out of range.

    Examples
    --------
    >>> noisy = Laplace(sensitivity=1, epsilon=2)
    >>> noisy
    Laplace(sensitivity=1, epsilon=2)
    >>> noisy.accuracy(gamma="0.05").beta
    1.4978661367769956
    >>> isinstance(noisy(10), float), noisy.arguments()
    (True, {'sensitivity': 1, 'epsilon': 2})
    >>> noisy.step(Known(gamma="0.05")).tau(Error(1.0)).beta
    2.4978661367769956
    """

    statistic: Statistic | None = param(maybe(_statistic_check), default=None, bare=True)
    sensitivity: Exact = param(SENSITIVITY, kw_only=True)
    epsilon: Exact = param(EPSILON, kw_only=True)

    def _check(self) -> None:
        if self.target != NUMBERS:
            raise InputError("statistic", "must be a number for Laplace noise to be added to it")

    @property
    def name(self) -> str:
        """Name in messages."""
        return "Laplace" if self.statistic is None else f"Laplace({self.statistic.name})"

    @property
    def source(self) -> Space:
        """Histograms, or numbers where there is no statistic."""
        return NUMBERS if self.statistic is None else HISTOGRAMS

    @property
    def target(self) -> Space:
        """Numbers."""
        return NUMBERS if self.statistic is None else space_of(self.statistic)

    def draw(self, x: Any, bits: Bits) -> float:
        """Compute the statistic, and add noise.

        Parameters
        ----------
        x
            A histogram, or a number where there is no statistic.
        bits
            The source of all randomness.

        Returns
        -------
        float
            The noisy answer.
        """
        noise = laplace(1, bits.source, scale=float(self._scale))
        return float(self._answer(x)) + float(noise[0])

    def _answer(self, x: Any) -> Any:
        return _VALUE.check(x) if self.statistic is None else self.statistic(x)

    def law(self, x: Any) -> LaplaceLaw:
        """Return the law of the real noise that the doubles stand for, about the exact answer."""
        return LaplaceLaw(Fraction(self._answer(x if self.statistic is None else as_histogram(x))), self._scale)

    @property
    def _scale(self) -> Fraction:
        return self.sensitivity / self.epsilon

    @property
    def function(self) -> Callable[[Any], Any]:
        """The statistic, or the identity where there is none."""
        return IDENTITY if self.statistic is None else self.statistic

    def step(self, known: Known) -> Step:
        """Return the step that adds (Δ/ε)·ln(1/γ), exceeded by the noise with probability γ, to the statistic's error.

        Parameters
        ----------
        known
            Public knowledge of the input; γ is needed.

        Returns
        -------
        Step
            For the statistic; its τ refuses where γ is 0.
        """
        statistic = self.statistic

        def tau(error: Error) -> Error:
            if not known.gamma:
                raise InputError("gamma", "must be given and positive: Laplace noise has no bound that always holds")
            own = laplace_accuracy(sensitivity=self.sensitivity, epsilon=self.epsilon, gamma=known.gamma)
            moved = error if statistic is None else error.through(lambda beta: equal_size_sensitivity(statistic, beta))
            return moved.plus(own.beta, gamma=own.gamma)

        return Step(
            tau,
            metric=self.target.metric,
            takes=self.source.metric,
            sigma=identity() if statistic is None else only_at_zero(),
            moves=(lambda beta: beta) if statistic is None else statistic.sensitivity,
        )

    @property
    def privacy(self) -> Privacy:
        """(ε, 0)."""
        neighbours = ONE_RECORD if self.statistic is not None else AnswersWithin(self.sensitivity)
        return Privacy(epsilon=self.epsilon, delta=0, neighbours=neighbours)
