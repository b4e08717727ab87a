"""The private test for emptiness."""

from __future__ import annotations

import math
from functools import cached_property

from flexdp._core.domains import DELTA, EPSILON, integer
from flexdp._core.fields import Exact, param
from flexdp.calculus.compose import Known, Step, identity
from flexdp.distances import Equality
from flexdp.distribution import Distribution
from flexdp.guarantees import AnswersWithin, Privacy
from flexdp.mechanisms.base import Mechanism
from flexdp.mechanisms.spaces import MOST_RECORDS, NUMBERS, Space
from flexdp.noise.bits import Bits
from flexdp.noise.drop import DropNoise

__all__ = ["Emptiness"]

ANSWERS = Space("answers", Equality())


class Emptiness(Mechanism):
    """The optimal private test for emptiness among those that never call an empty set non-empty.

    A set of k elements is reported with p_k = Pr[J < k] (``DropNoise.survival``), so sets of at least q always are.
    Paper, the Boolean task before Thm. hist-priv-accu; here with the smallest q of either parity. It takes a number,
    and is private for numbers that differ by one; after ``ReadOff(Count())`` it is so for one record, and an answer for
    a table of fewer than q records is exact for the empty table: α = 1.

    Parameters
    ----------
    epsilon, delta
        Privacy of one element, taken exactly as written.

    Examples
    --------
    >>> test = Emptiness(epsilon=1, delta="1e-3")
    >>> test(0), test(100)
    (False, True)
    >>> from flexdp.mechanisms import ReadOff
    >>> from flexdp.statistics import Count
    >>> chain = ReadOff(Count()) >> test
    >>> print(chain.privacy.neighbours), chain.accuracy(records_at_least=100).alpha
    add or remove one record
    (None, 0.0)
    >>> test(0), test.step(Known(records_at_least=100)).alpha, test.arguments()
    (False, 0.0, {'epsilon': 1, 'delta': '0.001'})
    """

    epsilon: Exact = param(EPSILON)
    delta: Exact = param(DELTA)

    def _check(self) -> None:
        self.noise  # noqa: B018  (a budget that no table can meet is refused now)

    @cached_property
    def noise(self) -> DropNoise:
        """Noise of the size."""
        return DropNoise(self.epsilon, self.delta)

    @property
    def source(self) -> Space:
        """Sizes of sets."""
        return NUMBERS

    @property
    def target(self) -> Space:
        """True or False."""
        return ANSWERS

    def draw(self, x: int, bits: Bits) -> bool:
        """Test a set of a given size.

        Parameters
        ----------
        x
            Number of elements.
        bits
            The source of all randomness.

        Returns
        -------
        bool
            True only if the set is not empty.
        """
        size = integer("size", x, at_least=0, at_most=MOST_RECORDS)
        return self.noise.draw(size, bits) > 0

    def law(self, x: int) -> Distribution:
        """Return the probabilities of both answers."""
        return self.noise.law(integer("size", x, at_least=0, at_most=MOST_RECORDS)).push(bool)

    def function(self, x: int) -> bool:
        """Return True for a set that is not empty."""
        return x > 0

    def step(self, known: Known) -> Step:
        """Return α = 0 from q elements on, where the answer is exact; with fewer, all may be left out: α = 1.

        Sizes that differ by less than one are equal; a larger error of the size may change the answer.

        Parameters
        ----------
        known
            Public knowledge of the input.

        Returns
        -------
        Step
            For the exact test.
        """
        sure = known.records_at_least is not None and known.records_at_least >= self.noise.q
        return Step(
            lambda error: error.through(lambda beta: 0.0 if beta < 1 else math.inf),
            metric=ANSWERS.metric,
            takes=NUMBERS.metric,
            alpha=0.0 if sure else 1.0,
            sigma=identity(),
        )

    @property
    def privacy(self) -> Privacy:
        """(ε, δ) for sizes that differ by one, with the real δ of the table beside the one asked for."""
        real = self.noise.delta_real
        return Privacy(epsilon=self.epsilon, delta=self.delta, neighbours=AnswersWithin(1), delta_real=real)
