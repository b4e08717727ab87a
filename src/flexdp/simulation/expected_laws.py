"""Laws to simulate with: public shapes of data, evaluated on a grid instead of drawn.

n records are put at the quantiles (i − ½)/n of the law, which is what n draws look like on average. So a simulation is
a computation: no generator is made, and the same question always has the same answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import Domain, integer
from flexdp._core.exact import exact, number_text
from flexdp._core.text import plain_scalar, safe_repr
from flexdp.errors import InputError

__all__ = ["LAWS", "Law", "parse_law"]

LAWS = ("lognormal", "normal", "uniform", "zipf")
_MOST_VALUES = 10**6
_LARGEST = 10**100
_NAMES = {
    "lognormal": ("median", "sigma"),
    "normal": ("mean", "sd"),
    "uniform": ("low", "high"),
    "zipf": ("values", "exponent"),
}


@dataclass(frozen=True, slots=True)
class Law:
    """A law by its distribution function: ``below(x)`` is the share of records with a value below x."""

    name: str
    text: str
    below: Callable[[NDArray[np.float64]], NDArray[np.float64]]

    def ends(self, records: int) -> tuple[float, float]:
        """The lowest and the highest of n records, up to a double's precision."""
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


def parse_law(text: object, *, low: Fraction, span: Fraction, buckets: int | None) -> Law:
    """The law that a text such as "normal" or "normal:mean=50,sd=15" names.

    Without parameters its place and size follow from the public interval that begins at ``low`` and is ``span`` long,
    never from data: normal in the middle, six standard deviations wide; lognormal with its median at a twentieth of
    the span; zipf over as many values as there are buckets.

    >>> parse_law("normal", low=Fraction(0), span=Fraction(120), buckets=24).text
    'a normal law with mean 60 and sd 20'
    """
    given_text = plain_scalar(text)
    name, _, rest = given_text.partition(":") if isinstance(given_text, str) else ("", "", "")
    if name not in LAWS:
        raise InputError(
            f"simulate must be one of {', '.join(LAWS)}; got {safe_repr(text)}. For example normal:mean=50,sd=15."
        )
    given = _given(name, rest)
    if name == "normal":
        mean, sd = given.get("mean", low + span / 2), _positive(given.get("sd", span / 6), f"simulate {name}:sd")
        return Law(name, f"a normal law with mean {number_text(mean)} and sd {number_text(sd)}", _normal(mean, sd))
    if name == "lognormal":
        median = _positive(given.get("median", span / 20), f"simulate {name}:median")
        sigma = _positive(given.get("sigma", Fraction(1)), f"simulate {name}:sigma")
        words = f"a lognormal law with median {number_text(median)} and sigma {number_text(sigma)}"
        return Law(name, words, _lognormal(median, sigma))
    if name == "uniform":
        start, end = given.get("low", low), given.get("high", low + span)
        if start >= end:
            raise InputError("simulate uniform needs low below high; for example uniform:low=0,high=120.")
        return Law(name, f"a uniform law from {number_text(start)} to {number_text(end)}", _uniform(start, end))
    values = integer("simulate zipf:values", given.get("values", Fraction(min(buckets or 1000, _MOST_VALUES))))
    exponent = _positive(given.get("exponent", Fraction(1)), f"simulate {name}:exponent")
    if values > _MOST_VALUES:
        raise InputError(f"simulate zipf takes at most {_MOST_VALUES} values; got {values}.")
    words = f"a Zipf law over {values} values with exponent {number_text(exponent)}"
    return Law(name, words, _zipf(values, exponent, low, span))


def _given(name: str, rest: str) -> dict[str, Fraction]:
    given: dict[str, Fraction] = {}
    for part in rest.split(",") if rest else ():
        key, equals, value = part.partition("=")
        if key not in _NAMES[name] or not equals:
            wanted = " and ".join(_NAMES[name])
            raise InputError(f"simulate {name} takes {wanted}; got {safe_repr(part)}. For example {_example(name)}.")
        given[key] = exact(f"simulate {name}:{key}", value)
        if abs(given[key]) > _LARGEST:
            raise InputError(f"simulate {name} takes numbers up to 1e100; got {safe_repr(part)}.")
    return given


def _example(name: str) -> str:
    examples: Mapping[str, str] = {
        "lognormal": "lognormal:median=30000,sigma=0.8",
        "normal": "normal:mean=50,sd=15",
        "uniform": "uniform:low=0,high=120",
        "zipf": "zipf:values=500,exponent=1.2",
    }
    return examples[name]


def _positive(value: Fraction, name: str) -> Fraction:
    return Domain(name=name, low=Fraction(0), remedy="It is a size, for example 1.").check(value)


def _erf(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array([math.erf(value) for value in values.tolist()])


def _normal(mean: Fraction, sd: Fraction) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    centre, scale = float(mean), float(sd) * math.sqrt(2)
    return lambda x: (1 + _erf((x - centre) / scale)) / 2


def _lognormal(median: Fraction, sigma: Fraction) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    centre, scale = math.log(median), float(sigma) * math.sqrt(2)

    def below(x: NDArray[np.float64]) -> NDArray[np.float64]:
        with np.errstate(divide="ignore"):
            logs = np.log(np.maximum(x, 0))
        return (1 + _erf((logs - centre) / scale)) / 2

    return below


def _uniform(start: Fraction, end: Fraction) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    low, length = float(start), float(end - start)
    return lambda x: np.clip((x - low) / length, 0, 1)


def _zipf(
    values: int, exponent: Fraction, low: Fraction, span: Fraction
) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """Values at equal distances over the span, the commonest first: the k-th has a share ∝ k^−exponent."""
    shares = np.arange(1, values + 1, dtype=np.float64) ** -float(exponent)
    running = np.concatenate(([0.0], np.cumsum(shares) / shares.sum()))
    running[-1] = 1.0
    first, step = float(low), float(span) / values

    def below(x: NDArray[np.float64]) -> NDArray[np.float64]:
        # The k-th value lies at first + (k − ½)·step.
        place = np.ceil(np.clip((x - first) / step + 0.5, 1, values + 1)) - 1
        return running[place.astype(np.int64)]

    return below
