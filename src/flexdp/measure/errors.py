"""The law of a flexible error: its mean, its quantiles, and what runs say about a chance with confidence.

outputs   ──distance to F_α(x)──▶   values    0   0   3   3   3   8
                                    masses   .1  .2  .2  .1  .3  .1     (runs: equal masses)
beta(γ) = least b with Pr[error > b] ≤ γ              beta(.1) = 3,  beta(0) = 8
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexdp._core.confidence import lower_bound, upper_bound
from flexdp._core.domains import CONFIDENCE, GAMMA
from flexdp._core.exact import Number

__all__ = ["ChanceBounds", "Errors"]


class ChanceBounds(NamedTuple):
    """An interval that contains a chance, with some confidence.

    Parameters
    ----------
    lower, upper
        Its ends, rounded outwards.

    Examples
    --------
    >>> ChanceBounds(0.1, 0.2).upper
    0.2
    """

    lower: float
    upper: float


@dataclass(frozen=True, slots=True, eq=False)
class Errors:
    """The errors of some outputs: of independent runs, or of all outcomes of a law with their masses.

    Parameters
    ----------
    values
        One error per output.
    masses
        The mass of each output, as Fractions (exact) or doubles; None where each output is a run.

    Examples
    --------
    >>> runs = Errors(np.array([0.0, 3.0, 0.0, 8.0]))
    >>> runs.mean, runs.beta(0), runs.beta("0.25"), runs.exceeds(1)
    (2.75, 8.0, 3.0, Fraction(1, 2))
    >>> [round(bound, 3) for bound in runs.exceeds_bounds(1, confidence="0.9")]
    [0.098, 0.902]
    """

    values: NDArray[np.float64]
    masses: Sequence[Any] | None = None

    @property
    def mean(self) -> float:
        """Expected error."""
        if self.masses is None:
            return float(self.values.mean())
        if isinstance(self.masses, np.ndarray):
            return float(self.values @ self.masses)
        return math.fsum(error * float(mass) for error, mass in zip(self.values.tolist(), self.masses, strict=True))

    def exceeds(self, beta: Number) -> Any:
        """Return Pr[error > β], the γ of this β; of runs their share.

        Parameters
        ----------
        beta
            β.

        Returns
        -------
        Fraction or float
            A Fraction, unless the masses are doubles.
        """
        beyond = np.flatnonzero(self.values > float(beta))
        if self.masses is None:
            return Fraction(len(beyond), len(self.values))
        if isinstance(self.masses, np.ndarray):
            return float(self.masses[beyond].sum())
        return sum((self.masses[place] for place in beyond.tolist()), Fraction(0))

    def beta(self, gamma: Number) -> float:
        """Return the smallest β with Pr[error > β] ≤ γ; the only quantile of errors there is.

        Parameters
        ----------
        gamma
            γ, taken exactly.

        Returns
        -------
        float
            0, or one of the errors.
        """
        allowed = GAMMA.check(gamma)
        if self.masses is None:
            rank = math.ceil((1 - allowed) * len(self.values))
            return float(np.partition(self.values, rank - 1)[rank - 1]) if rank else 0.0
        order = np.argsort(-self.values, kind="stable")
        if isinstance(self.masses, np.ndarray):
            inside = np.flatnonzero(np.cumsum(self.masses[order]) > float(allowed))
            return float(self.values[order[inside[0]]]) if len(inside) else 0.0
        beyond = Fraction(0)
        for place in order.tolist():
            beyond += self.masses[place]
            if beyond > allowed:
                return float(self.values[place])
        return 0.0

    def exceeds_bounds(self, beta: Number, confidence: Number = "0.95") -> ChanceBounds:
        """Bound Pr[error > β] of the mechanism that made the runs (Clopper and Pearson); of a law it is known.

        Parameters
        ----------
        beta
            β, chosen before the runs were looked at.
        confidence
            Least chance that the interval contains the probability.

        Returns
        -------
        ChanceBounds
            The ends, rounded outwards.
        """
        share = self.exceeds(beta)
        if self.masses is not None:
            return ChanceBounds(float(share), float(share))
        runs, doubt = len(self.values), float(1 - CONFIDENCE.check(confidence)) / 2
        return ChanceBounds(lower_bound(int(share * runs), runs, doubt), upper_bound(int(share * runs), runs, doubt))
