"""The weights of the exponential mechanism as a certified table of integers.

**The mechanism.** Every candidate t has a public integer prior weight and an integer loss that depends on the data,
and is chosen with probability ∝ prior(t)·g(loss(t)), where g_0 ≥ g_1 ≥ … ≥ g_K > 0 are integers and g_k = g_K beyond
K. Choosing takes one uniform integer below the sum of the weights: nothing is rounded at run time.

**Why it is private.** One record changes every loss by at most M. With a rational r = A/2^P ≤ e^(ε/2M) and

    g_k ≤ r·g_{k+1},    g_{k+1} ≤ g_k    (k = 0, …, K − 1)

every weight changes by a factor in [r^−M, r^M], hence so does their sum, and every probability by at most
r^(2M) ≤ e^ε. No table leaves this module that does not satisfy these inequalities.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from flexdp._core.domains import EPSILON, integer
from flexdp._core.enclosure import exp_at_least, exp_below
from flexdp._core.exact import Number, number_text
from flexdp._core.text import thousands
from flexdp.distribution import Distribution
from flexdp.errors import CertificateError, InputError

__all__ = ["LARGEST_DECAY", "Decay", "DecayEvidence", "check_depth", "decay", "prove_decay"]

LARGEST_DECAY = 2 * 10**6  # entries of a table; a smaller ε is refused before anything is read
_PRECISION = 160
_LAST = 1 << 64  # g_K, so that rounding costs less than 2^-60 a step
_NATS = 140  # K = 140·M/ε: the weights fall by a factor of e^70


@dataclass(frozen=True, slots=True, kw_only=True)
class DecayEvidence:
    """The integers that prove a table of the exponential mechanism private.

    Attributes
    ----------
    epsilon, sensitivity
        The claim: ε, and M, the most by which one record changes a loss.
    entries
        The number of weights, K + 1.
    growth_numerator, growth_denominator
        A rational r.
    growth_below_exp
        True if r ≤ e^(ε/2M).
    first_weight, last_weight
        g_0, and g_K, which must be positive.
    steepest
        The largest B·g_k − A·g_{k+1} with r = A/B, which must not be positive.
    flattest
        The smallest g_k − g_{k+1}, which must not be negative.

    Examples
    --------
    >>> Decay(1).certify().holds
    True
    """

    epsilon: Fraction
    sensitivity: int
    entries: int
    growth_numerator: int
    growth_denominator: int
    growth_below_exp: bool
    first_weight: int
    last_weight: int
    steepest: int
    flattest: int

    @property
    def holds(self) -> bool:
        """True if all of the inequalities hold, hence the claim (ε, 0)."""
        return self.growth_below_exp and self.last_weight > 0 and self.steepest <= 0 and self.flattest >= 0

    def __str__(self) -> str:
        return (
            f"{self.entries} integer weights fall from {self.first_weight} to {self.last_weight} > 0; with "
            f"r = {self.growth_numerator}/{self.growth_denominator} ≤ e^(ε/{2 * self.sensitivity}) no weight exceeds "
            f"r times the next, nor is below it (largest excess {self.steepest} ≤ 0, smallest fall {self.flattest} "
            "≥ 0)."
        )


def prove_decay(weights: Sequence[int], *, epsilon: Number, sensitivity: int, growth: tuple[int, int]) -> DecayEvidence:
    """Collect the evidence for a table of weights, in integer arithmetic only; ``.holds`` is the verdict.

    Parameters
    ----------
    weights : sequence of int
        g_0, …, g_K.
    epsilon : number
        The claimed ε.
    sensitivity : int
        M, the most by which one record changes a loss.
    growth : pair of int
        Numerator and denominator of r.

    Returns
    -------
    DecayEvidence
        The evidence.

    Raises
    ------
    InputError
        If there are no weights, or not all of them are integers.

    Examples
    --------
    >>> prove_decay([4, 2], epsilon=2, sensitivity=1, growth=(2, 1)).holds
    True
    >>> prove_decay([4, 1], epsilon=2, sensitivity=1, growth=(2, 1)).holds
    False
    """
    if not len(weights) or any(type(weight) is not int for weight in weights):
        raise InputError("weights", "must be a list of integers that is not empty")
    loss, most = EPSILON.check(epsilon), integer("sensitivity", sensitivity)
    a, b = integer("growth", growth[0]), integer("growth", growth[1])
    return DecayEvidence(
        epsilon=loss,
        sensitivity=most,
        entries=len(weights),
        growth_numerator=a,
        growth_denominator=b,
        growth_below_exp=exp_at_least(loss / (2 * most), Fraction(a, b)),
        first_weight=weights[0],
        last_weight=weights[-1],
        steepest=max((b * weight - a * following for weight, following in pairwise(weights)), default=0),
        flattest=min((weight - following for weight, following in pairwise(weights)), default=0),
    )


def check_depth(depth: int) -> None:
    """Refuse a table that is too large, before anything is read.

    Parameters
    ----------
    depth : int
        K of the largest table that will be needed.

    Raises
    ------
    InputError
        If it has more than two million entries.
    """
    if depth > LARGEST_DECAY:
        raise InputError(
            "epsilon",
            f"is too small: an exact choice needs a table of more than {thousands(LARGEST_DECAY)} weights",
            remedy="Choose a larger epsilon, or ask for fewer answers.",
        )


class Decay:
    """The weights g_0 ≥ … ≥ g_K of an ε-private exponential mechanism whose losses one record changes by at most M.

    Parameters
    ----------
    epsilon : number
        The ε of the choice.
    sensitivity : int, optional
        M.
    depth : int, optional
        K, the largest loss that is distinguished from larger ones; the default is ⌈140·M/ε⌉.

    Raises
    ------
    InputError
        If the table would have more than two million entries.

    Examples
    --------
    >>> table = Decay(1)
    >>> table.depth, table.certify().holds
    (140, True)
    >>> table.weight(0) > table.weight(1) > table.weight(140) == table.weight(10**9)
    True
    """

    __slots__ = ("_depth", "_epsilon", "_growth", "_sensitivity", "_weights")

    def __init__(self, epsilon: Number, sensitivity: int = 1, depth: int | None = None) -> None:
        self._epsilon = EPSILON.check(epsilon)
        self._sensitivity = integer("sensitivity", sensitivity)
        self._depth = self.depth_for(self._epsilon, self._sensitivity) if depth is None else integer("depth", depth)
        check_depth(self._depth)
        self._growth = exp_below(self._epsilon / (2 * self._sensitivity), _PRECISION)
        weights = [_LAST]
        for _ in range(self._depth):
            weights.append(self._growth * weights[-1] >> _PRECISION)
        weights.reverse()
        self._weights = tuple(weights)
        self.certify()

    @staticmethod
    def depth_for(epsilon: Fraction, sensitivity: int) -> int:
        """Return K for an ε and a sensitivity, without building the table.

        Parameters
        ----------
        epsilon : Fraction
            The ε of the choice.
        sensitivity : int
            M.

        Returns
        -------
        int
            K.

        Examples
        --------
        >>> Decay.depth_for(Fraction(1), 2)
        280
        """
        return math.ceil(_NATS * sensitivity / epsilon)

    @property
    def epsilon(self) -> Fraction:
        """ε, exactly as given."""
        return self._epsilon

    @property
    def sensitivity(self) -> int:
        """M, the most by which one record may change a loss."""
        return self._sensitivity

    @property
    def depth(self) -> int:
        """K: losses from K on have the same weight."""
        return self._depth

    @property
    def weights(self) -> tuple[int, ...]:
        """The integers g_0, …, g_K."""
        return self._weights

    def weight(self, loss: int) -> int:
        """Return the weight of a loss.

        Parameters
        ----------
        loss : int
            At least 0.

        Returns
        -------
        int
            g(loss).
        """
        return self._weights[min(loss, self._depth)]

    def law(self, losses: Sequence[int]) -> Distribution:
        """Return the law of a choice among candidates of these losses and equal prior weights, by their places."""
        return Distribution.weighted({i: self.weight(integer("losses", x, at_least=0)) for i, x in enumerate(losses)})

    def certify(self) -> DecayEvidence:
        """Prove the claim (ε, 0) in integer arithmetic and return the evidence.

        Returns
        -------
        DecayEvidence
            The evidence.

        Raises
        ------
        CertificateError
            If an inequality fails; nothing may be released with such a table.
        """
        evidence = prove_decay(
            self._weights,
            epsilon=self._epsilon,
            sensitivity=self._sensitivity,
            growth=(self._growth, 1 << _PRECISION),
        )
        if not evidence.holds:
            raise CertificateError("the table of weights does not satisfy the inequalities that prove it private")
        return evidence

    def __repr__(self) -> str:
        return f"Decay(epsilon={number_text(self._epsilon)}, sensitivity={self._sensitivity}, depth={self._depth})"


@lru_cache(maxsize=32)
def decay(epsilon: Fraction, sensitivity: int = 1, depth: int | None = None) -> Decay:
    """Return the table for public parameters, built and proved once.

    Parameters
    ----------
    epsilon : Fraction
        The ε of the choice.
    sensitivity : int, optional
        M.
    depth : int, optional
        K; see :class:`Decay`.

    Returns
    -------
    Decay
    """
    return Decay(epsilon, sensitivity, depth)
