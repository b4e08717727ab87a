"""Laws as distribution functions, to plan with: n records are put at the quantiles (i − ½)/n instead of drawn.

That is what n draws look like on average. So a simulation is a computation: it needs no generator, and the same
question always has the same answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexdp._core.exact import number_text
from flexdp.simulation.grammar import MOST_VALUES, OF_VALUES, parse_law_text

__all__ = ["Distribution", "parse_distribution", "zipf_shares"]

_Below: TypeAlias = "Callable[[NDArray[np.float64]], NDArray[np.float64]]"
_USUAL_VALUES = 1000  # of a Zipf law, where neither they nor the buckets are known


@dataclass(frozen=True, slots=True)
class Distribution:
    """A distribution function: ``below(x)`` is the share of records with a value below x; ``text`` describes it.

    ``at`` is its inverse: the values at given levels.
    """

    text: str
    below: _Below
    at: _Below

    def values(self, records: int) -> NDArray[np.float64]:
        """Return n records at the quantiles of the law, ascending."""
        return np.sort(self.at((np.arange(records) + 0.5) / records))

    def ends(self, records: int) -> tuple[float, float]:
        """Return the lowest and the highest of n records, to a double's precision."""
        return self._quantile(0.5 / records), self._quantile(1 - 0.5 / records)

    def _quantile(self, level: float) -> float:
        """The largest x with less than ``level`` below it, by halving."""

        def beyond(x: float) -> bool:
            return bool(self.below(np.array([x]))[0] >= level)

        low, high = -1.0, 1.0
        while beyond(low) and low > -1e300:
            low *= 2
        while not beyond(high) and high < 1e300:
            high *= 2
        for _ in range(200):
            middle = low / 2 + high / 2
            if not low < middle < high:
                break
            low, high = (low, middle) if beyond(middle) else (middle, high)
        return low


def parse_distribution(text: object, *, low: Fraction, span: Fraction, buckets: int | None) -> Distribution:
    """Return the distribution that a text such as "normal" or "normal:50,15" names.

    Parameters
    ----------
    text
        A law in the grammar of :mod:`flexdp.simulation.grammar`.
    low, span
        The public interval that arguments left out follow from: it begins at ``low`` and is ``span`` long.
    buckets
        The number of buckets, which is the number of values of a Zipf law that says none.

    Returns
    -------
    Distribution
        The law as a distribution function.

    Raises
    ------
    InputError
        If the text is not a law of values.

    Examples
    --------
    >>> parse_distribution("normal", low=Fraction(0), span=Fraction(120), buckets=24).text
    'a normal distribution with mean 60 and sd 20'
    """
    law = parse_law_text(text, parameter="simulate", families=OF_VALUES, example="normal:50,15")
    first, *more = law.arguments(low, span)
    second = more[0] if more else Fraction(min(buckets or _USUAL_VALUES, MOST_VALUES))
    one, two = number_text(first), number_text(second)
    if law.family == "normal":
        mean, sd = float(first), float(second)
        return Distribution(
            f"a normal distribution with mean {one} and sd {two}", _normal(mean, sd), lambda p: mean + sd * _deviates(p)
        )
    if law.family == "cauchy":
        median, scale = float(first), float(second)
        return Distribution(
            f"a Cauchy distribution with median {one} and scale {two}",
            _cauchy(median, scale),
            lambda p: median + scale * np.tan(math.pi * (p - 0.5)),
        )
    if law.family == "uniform":
        start, length = float(first), float(second - first)
        return Distribution(
            f"a uniform distribution from {one} to {two}", _uniform(start, length), lambda p: start + length * p
        )
    if law.family == "lognormal":
        centre = f"mu {one}" if "mu" in law.given else f"median {number_text(law.given.get('median', span / 20))}"
        mu, sigma = float(first), float(second)
        return Distribution(
            f"a lognormal distribution with {centre} and sigma {two}",
            _lognormal(mu, sigma),
            lambda p: np.exp(mu + sigma * _deviates(p)),
        )
    running, step = zipf_shares(int(second), float(first)), float(span) / int(second)
    return Distribution(
        f"a Zipf distribution over {two} values with exponent {one}",
        _zipf(int(second), float(first), float(low), float(span)),
        lambda p: float(low) + (np.searchsorted(running, p).astype(np.float64) - 0.5) * step,
    )


def _deviates(levels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Quantiles of the standard normal law."""
    inverse = NormalDist().inv_cdf
    return np.array([inverse(level) for level in levels.tolist()])


def _erf(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array([math.erf(value) for value in values.tolist()])


def _normal(mean: float, sd: float) -> _Below:
    return lambda x: (1 + _erf((x - mean) / (sd * math.sqrt(2)))) / 2


def _cauchy(median: float, scale: float) -> _Below:
    return lambda x: 0.5 + np.arctan((x - median) / scale) / math.pi


def _lognormal(mu: float, sigma: float) -> _Below:
    def below(x: NDArray[np.float64]) -> NDArray[np.float64]:
        with np.errstate(divide="ignore"):
            logs = np.log(np.maximum(x, 0))
        return (1 + _erf((logs - mu) / (sigma * math.sqrt(2)))) / 2

    return below


def _uniform(low: float, length: float) -> _Below:
    return lambda x: np.clip((x - low) / length, 0, 1)


def _zipf(values: int, exponent: float, low: float, span: float) -> _Below:
    """Values at equal distances over the span, the most frequent first: the k-th has a share ∝ k^−exponent."""
    running, step = zipf_shares(values, exponent), span / values

    def below(x: NDArray[np.float64]) -> NDArray[np.float64]:
        # The k-th value lies at low + (k − ½)·step.
        place = np.ceil(np.clip((x - low) / step + 0.5, 1, values + 1)) - 1
        return running[place.astype(np.int64)]

    return below


def zipf_shares(values: int, exponent: float) -> NDArray[np.float64]:
    """Return the probabilities of a rank of at most 0, 1, …, ``values``.

    Parameters
    ----------
    values
        The number of ranks.
    exponent
        The k-th rank has a probability ∝ k^−exponent.

    Returns
    -------
    ndarray
        Ascending from 0 to 1.
    """
    shares = np.arange(1, values + 1, dtype=np.float64) ** -exponent
    running = np.concatenate(([0.0], np.cumsum(shares) / shares.sum()))
    running[-1] = 1.0
    return running
