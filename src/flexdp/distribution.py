"""Laws of mechanisms' outputs: finite distributions, independent parts, and two laws with closed forms.

    Law             what ``Mechanism.law(x)`` returns: it can be compared with another one, and listed if it is finite
     ├ Distribution   finitely many outcomes with masses, Fractions (exact) or doubles (experiments)
     │   └ Whole        consecutive integers, as an array of doubles
     ├ Independent    parts by name that are drawn independently, such as the bars of a noisy histogram
     ├ GeometricLaw   an integer with two-sided geometric noise: infinitely many outcomes
     └ LaplaceLaw     a density on the line

    law.divergence(other, ε)     ─▶ the exact δ of both directions
    law.push(f), .bind(kernel)   ─▶ the law after the next step
    law.masses                   ─▶ flexible error, couplings, σ and Δ on finite spaces

A law known only up to rounding carries a bound on its error, which is added to every δ; mass missing from a law was
not followed, and counts in full.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import PURE_DELTA, pairs
from flexdp._core.enclosure import Bounds, exp_bounds
from flexdp._core.text import safe_repr
from flexdp.divergence import LARGEST_PRODUCT, Divergence, Pair, Row, pair_of_laws
from flexdp.errors import InputError

__all__ = [
    "REFUSED",
    "Distribution",
    "GeometricLaw",
    "Independent",
    "LaplaceLaw",
    "Law",
    "TooManyOutcomesError",
    "Whole",
    "point",
    "read_law",
]

_ZERO, _ONE = Fraction(0), Fraction(1)
_CHANCE = replace(
    PURE_DELTA, name="probability", high_included=True, low_included=True, remedy="Give exact probabilities."
)


class _Refusal(Enum):
    """An outcome that equals nothing a mechanism can return, whatever its text; a copy of it is itself."""

    REFUSED = "refused"

    def __repr__(self) -> str:
        return "refused"


REFUSED: Final = (
    _Refusal.REFUSED
)  # the outcome of a step that is not defined for its input, such as the maximum of nothing


class TooManyOutcomesError(Exception):
    """There are too many joint outcomes to list; the first steps of a chain may still be compared."""


class Law(ABC):
    """A probability law of outcomes."""

    @abstractmethod
    def listed(self, shown: Sequence[int] = ()) -> Distribution:
        """List all outcomes with their masses; if there are infinitely many, those in ``shown``."""

    @abstractmethod
    def beside(self, other: Law, name: Any = None) -> list[Pair]:
        """Put this law beside another: the independent parts of both, outcome by outcome."""

    def divergence(self, other: Law, epsilon: Fraction) -> Divergence:
        """Enclose Σ max(0, P − e^ε·Q) from this law to the other, and back."""
        return Divergence.between(self.beside(other), epsilon)


@dataclass(frozen=True, eq=False)
class Distribution(Law):
    """Finitely many outcomes with masses that sum to at most 1; the rest was not followed.

    Parameters
    ----------
    masses
        The mass of each outcome, which must be hashable.
    error
        A bound of Σ|mass − true mass| over all outcomes, where masses were rounded.

    Examples
    --------
    >>> coin = Distribution.uniform([0, 1])
    >>> two = coin.bind(lambda a: coin.push(lambda b: a + b))
    >>> two.masses == {0: Fraction(1, 4), 1: Fraction(1, 2), 2: Fraction(1, 4)}, two.missing
    (True, Fraction(0, 1))
    >>> float(two.divergence(Distribution({1: Fraction(1)}), Fraction(0)).forward.upper)
    0.5
    """

    masses: Mapping[Any, Any]
    error: Fraction = _ZERO

    @classmethod
    def uniform(cls, outcomes: Iterable[Hashable]) -> Distribution:
        """Give equal mass to each entry; for example, the law of a mechanism's runs."""
        return cls.weighted(Counter(outcomes))

    @classmethod
    def weighted(cls, weights: Mapping[Any, int]) -> Distribution:
        """Normalise integer weights."""
        total = sum(weights.values())
        return cls({outcome: Fraction(weight, total) for outcome, weight in weights.items() if weight})

    @classmethod
    def mix(cls, parts: Iterable[tuple[Any, Distribution]]) -> Distribution:
        """Return Σ chance·law."""
        masses: dict[Any, Any] = {}
        error = _ZERO
        for chance, law in parts:
            if law.error:
                error += chance * law.error
            for outcome, mass in law.masses.items():
                masses[outcome] = masses[outcome] + chance * mass if outcome in masses else chance * mass
        return cls(masses, error)

    @property
    def missing(self) -> Any:
        """Mass of the outcomes that were not followed."""
        return max(1 - sum(self.masses.values()), _ZERO)

    def with_error(self, more: Fraction) -> Distribution:
        """Return the same masses with a larger error bound."""
        return Distribution(self.masses, self.error + more) if more else self

    def push(self, f: Callable[[Any], Hashable]) -> Distribution:
        """Return the law of f(X): post-processing."""
        return Distribution.mix((mass, point(f(x))) for x, mass in self.masses.items()).with_error(self.error)

    def bind(self, kernel: Callable[[Any], Law]) -> Distribution:
        """Return the law of Y, where X has this law, and Y the law kernel(x) given X = x: one more step."""
        found: dict[Any, Any] = {}
        error = self.error
        for x, mass in self.masses.items():
            law = kernel(x).listed()
            error += mass * law.error if law.error else 0
            for outcome, chance in law.masses.items():
                found[outcome] = found[outcome] + mass * chance if outcome in found else mass * chance
            if len(found) > LARGEST_PRODUCT:
                raise TooManyOutcomesError
        return Distribution(found, error)

    def chance(self, holds: Callable[[Any], bool]) -> Any:
        """Return the mass of the outcomes for which something holds."""
        return sum((mass for outcome, mass in self.masses.items() if holds(outcome)), _ZERO)

    @cached_property
    def dense(self) -> tuple[int, NDArray[Any]]:
        """Whole-numbered outcomes: the least one, and an array of masses from there on (doubles if the masses are)."""
        low, high = min(self.masses), max(self.masses)
        doubles = isinstance(next(iter(self.masses.values())), float)
        found = np.zeros(high - low + 1) if doubles else np.full(high - low + 1, _ZERO, dtype=object)
        for outcome, mass in self.masses.items():
            found[outcome - low] = mass
        return low, found

    def listed(self, shown: Sequence[int] = ()) -> Distribution:  # noqa: ARG002  (all outcomes are shown)
        """Return itself."""
        return self

    def beside(self, other: Law, name: Any = None) -> list[Pair]:
        """Return one pair."""
        found = other.listed()
        for law in (self, found):
            if isinstance(next(iter(law.masses.values()), _ONE), float):
                raise InputError("law", "must have exact masses to be compared: Fractions, and no doubles")
        return [pair_of_laws(self.masses, found.masses, name=name, error=(self.error, found.error))]


class Whole(Distribution):
    """Masses of consecutive whole numbers as an array of doubles: the laws that experiments compute by the thousand."""

    def __init__(self, low: int, array: NDArray[np.float64]) -> None:
        object.__setattr__(self, "dense", (low, array))
        object.__setattr__(self, "error", _ZERO)

    @cached_property
    def masses(self) -> Mapping[Any, Any]:
        """The masses that are not 0."""
        low, array = self.dense
        return {low + place: mass for place, mass in enumerate(array.tolist()) if mass}


def point(outcome: Any) -> Distribution:
    """Return the law of a constant."""
    return Distribution({outcome: _ONE})


_NOTHING = point(0)  # the law of a bar that a histogram does not have


def _by_name(parts: dict[Any, Any]) -> Hashable:
    return tuple(parts.items())


@dataclass(frozen=True, eq=False)
class Independent(Law):
    """Independent parts by name, and what is made of them. Two of them are compared part by part.

    A part that only one of them has is 0 in the other, as an empty bar. Equal parts may be one and the same object,
    which shows at once that they reveal nothing.

    Parameters
    ----------
    factors
        The law of each part.
    build
        Makes the outcome of the values of the parts, by name; by default pairs of both.

    Examples
    --------
    >>> coin, sure = Distribution.uniform([0, 1]), point(1)
    >>> Independent({"a": coin, "b": sure}).listed().masses == {(("a", n), ("b", 1)): Fraction(1, 2) for n in (0, 1)}
    True
    >>> found = Independent({"a": coin, "b": sure}).divergence(Independent({"a": coin}), Fraction(0))
    >>> float(found.forward.upper), [pair.name for pair in found.parts]
    (1.0, ['b'])
    """

    factors: Mapping[Any, Law]
    build: Callable[[dict[Any, Any]], Hashable] = field(default=_by_name)

    def listed(self, shown: Sequence[int] = ()) -> Distribution:
        """Enumerate all combinations."""
        names, laws = list(self.factors), [law.listed(shown) for law in self.factors.values()]
        if math.prod(len(law.masses) for law in laws) > LARGEST_PRODUCT:
            raise TooManyOutcomesError
        rows: list[tuple[tuple[Any, ...], Any]] = [((), _ONE)]
        for law in laws:
            rows = [((*values, v), chance * mass) for values, chance in rows for v, mass in law.masses.items()]
        masses: dict[Any, Any] = {}
        for values, chance in rows:
            outcome = self.build(dict(zip(names, values, strict=True)))
            masses[outcome] = masses[outcome] + chance if outcome in masses else chance
        return Distribution(masses, sum((law.error for law in laws), _ZERO))

    def beside(self, other: Law, name: Any = None) -> list[Pair]:
        """Return the pairs of all parts that are not the same object."""
        if not isinstance(other, Independent):
            return self.listed().beside(other, name)
        names = dict.fromkeys([*self.factors, *other.factors])
        laws = [(part, self.factors.get(part, _NOTHING), other.factors.get(part, _NOTHING)) for part in names]
        return [pair for part, one, two in laws if one is not two for pair in one.beside(two, part)]


@dataclass(frozen=True)
class GeometricLaw(Law):
    """A whole number with two-sided geometric noise: Pr[z] ∝ e^(−rate·|z − centre|)."""

    centre: int
    rate: Fraction

    @property
    def _ratio(self) -> Fraction:
        """An upper bound on e^−rate, used in its place."""
        return exp_bounds(-self.rate).upper

    @property
    def error(self) -> Fraction:
        """Bound of the error of all masses: a geometric law changes by at most 2Δ/(1 − r) if r changes by Δ."""
        lower, upper = exp_bounds(-self.rate)
        return 4 * (upper - lower) / (1 - upper)

    def listed(self, shown: Sequence[int] = ()) -> Distribution:
        """List the outcomes that are shown; the others are missing."""
        r = self._ratio
        return Distribution({z: (1 - r) / (1 + r) * r ** abs(z - self.centre) for z in shown}, self.error)

    def beside(self, other: Law, name: Any = None) -> list[Pair]:
        """Return one pair, all outcomes in finitely many rows: beyond both centres the ratio no longer changes."""
        if not isinstance(other, GeometricLaw) or other.rate != self.rate:
            raise InputError("law", "of geometric noise is compared with that of the same noise alone")
        r, (low, high) = self._ratio, sorted((self.centre, other.centre))

        def upwards(steps: int) -> Fraction:  # Pr[noise ≥ steps]
            return r**steps / (1 + r)

        def at(value: int, centre: int) -> Fraction:
            return (1 - r) / (1 + r) * r ** abs(value - centre)

        if low == high:
            return [Pair(name=name, rows=(Row("anything", _ONE, _ONE),))]
        rows = (
            Row(f"at most {low}", upwards(self.centre - low), upwards(other.centre - low)),
            *(Row(value, at(value, self.centre), at(value, other.centre)) for value in range(low + 1, high)),
            Row(f"at least {high}", upwards(high - self.centre), upwards(high - other.centre)),
        )
        return [Pair(name=name, rows=rows, error=(self.error, self.error))]


@dataclass(frozen=True)
class LaplaceLaw(Law):
    """Laplace noise of a given scale about a centre: a density whose divergence has a closed form."""

    centre: Fraction
    scale: Fraction

    def listed(self, shown: Sequence[int] = ()) -> Distribution:  # noqa: ARG002  (none of its outcomes has a mass)
        """Refuse."""
        raise InputError("mechanism", ": Laplace noise has a law that is known as the last and only random step")

    def beside(self, other: Law, name: Any = None) -> list[Pair]:  # noqa: ARG002
        """Refuse."""
        raise InputError("mechanism", ": Laplace noise cannot be compared beside other parts of an output")

    def divergence(self, other: Law, epsilon: Fraction) -> Divergence:
        """1 − e^((ε − g)/2) for centres g scales apart, the same both ways."""
        if not isinstance(other, LaplaceLaw) or other.scale != self.scale:
            raise InputError("law", "of Laplace noise is compared with that of the same noise alone")
        gap = abs(self.centre - other.centre) / self.scale
        if gap <= epsilon:
            return Divergence(Bounds(_ZERO, _ZERO), Bounds(_ZERO, _ZERO))
        away = exp_bounds((epsilon - gap) / 2)
        way = Bounds(1 - away.upper, 1 - away.lower)
        return Divergence(way, way, (), way.upper)


def read_law(name: str, given: Any) -> Law:
    """Read the law of a caller's function: a law, or a mapping from outcomes to exact probabilities.

    Probabilities may sum to less than 1 where not all outcomes were followed.
    """
    if isinstance(given, Law):
        return given
    listed = pairs(given) if isinstance(given, Mapping) else None
    if listed is None:
        raise InputError(
            name,
            "must return its exact distribution, a dictionary of Fractions by outcome",
            given=safe_repr(given),
            remedy="Audit a mechanism whose law is not known with audit.audit.",
        )
    chances = {outcome: _CHANCE.check(chance) for outcome, chance in listed}
    if sum(chances.values()) > 1:
        raise InputError(name, "must return probabilities that add up to at most 1")
    return Distribution(chances)
