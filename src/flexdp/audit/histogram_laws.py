"""Exact laws of the mechanisms on histograms: dropping, the paper's noise, bucketing of units, and their chains.

A neighbour changes few buckets, and what is independent of the change says nothing about it: of a mechanism that treats
each bucket by itself, only the buckets that differ are compared. After dropping, a chain's further steps are applied to
every outcome.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import Enum
from fractions import Fraction
from itertools import combinations
from typing import Any, Final, NamedTuple

from flexdp._core.domains import integer, pairs
from flexdp._core.enclosure import exp_bounds
from flexdp._core.text import safe_repr
from flexdp.divergence import LARGEST_PRODUCT, Pair, pair_of_laws
from flexdp.errors import FlexdpError, InputError
from flexdp.histogram import Histogram, KeyedHistogram
from flexdp.mechanisms import Bucketing, Dropping, Emptiness, Mechanism, ReadOff, STLap
from flexdp.mechanisms.wrapper import Wrapper
from flexdp.noise.drop import DropNoise

__all__ = [
    "REFUSED",
    "Compared",
    "as_input",
    "counts_of",
    "dropped",
    "histogram_pairs",
    "is_deterministic",
    "plain_parts",
]

Law = dict[Any, Fraction]
_ONE = Fraction(1)
_ERROR = Fraction(1, 10**48)  # of one probability of the paper's noise, times 1 − e^(−εq/2): exponentials to 10^−50


class _Refusal(Enum):
    """An outcome that equals nothing a step can return, whatever its text; a copy of it is itself."""

    REFUSED = "refused"

    def __repr__(self) -> str:
        return "refused"


REFUSED: Final = _Refusal.REFUSED  # the outcome of a step that takes no such input, such as a maximum of nothing


class Compared(NamedTuple):
    """The independent parts of an output on two data sets; not complete if only what comes before further steps."""

    pairs: list[Pair]
    complete: bool = True


def counts_of(value: Any) -> dict[Any, int]:
    """Return the counts of a histogram, of grouped counts or of a mapping, by key."""
    if isinstance(value, Histogram):
        return dict(value.items())
    if isinstance(value, KeyedHistogram):
        return dict(zip(value.rows(slice(None)), value.counts.tolist(), strict=True))
    listed = pairs(value)
    if listed is not None:
        counts = {key: integer("counts", count, at_least=0) for key, count in listed}
        return {key: count for key, count in counts.items() if count}
    raise InputError("x", "must be a histogram, or a mapping of keys to counts", given=safe_repr(value))


def plain_parts(mechanism: Mechanism) -> tuple[Mechanism, ...]:
    """Return the steps of a chain; mechanisms that only wrap others are replaced by them."""
    found: list[Mechanism] = []
    for part in mechanism.steps:
        found += plain_parts(part.inner) if isinstance(part, Wrapper) else [part]
    return tuple(found)


def dropped(noise: DropNoise, count: int) -> Law:
    """Return the exact law of what is left of a bucket."""
    whole, law = 1 << noise.bits, dict[int, int]()
    for drop, weight in enumerate(noise.weights):
        left = max(0, count - drop)
        law[left] = law.get(left, 0) + weight
    return {left: Fraction(weight, whole) for left, weight in law.items()}


def histogram_pairs(mechanism: Mechanism, x: Any, y: Any) -> Compared:
    """Return the independent parts of a mechanism's output on two data sets, as far as they may differ.

    Where the steps after the noise have too many inputs to be followed, what they are given is compared instead: no
    post-processing can tell the data sets apart better.
    """
    parts = plain_parts(mechanism)
    while parts and is_deterministic(parts[0]):
        x, y = (parts[0](as_input(parts[0], value)) for value in (x, y))
        parts = parts[1:]
    if not parts:
        return Compared([pair_of_laws({_frozen(x): _ONE}, {_frozen(y): _ONE})])
    if len(parts) == 1 and isinstance(parts[0], Dropping | STLap):
        return Compared(_each_bucket(parts[0], x, y))
    if any(isinstance(part, STLap) for part in parts[1:]):
        raise InputError("mechanism", "must have the paper's noise as its first random step")
    try:
        one, other = (_law(parts, value) for value in (x, y))
    except _TooManyError:
        if isinstance(parts[0], Dropping | STLap):
            return Compared(_each_bucket(parts[0], x, y), complete=False)
        raise
    errors = [Fraction(0), Fraction(0)]
    if isinstance(parts[0], STLap):
        sizes = [sum(counts_of(value).values()) for value in (x, y)]
        reaches = [parts[0].fraction * size for size in sizes]
        errors = [_paper_error(LARGEST_PRODUCT, reach, parts[0].epsilon) for reach in reaches]
    return Compared([pair_of_laws(one, other, error=(errors[0], errors[1]))])


def _each_bucket(part: Dropping | STLap, x: Any, y: Any) -> list[Pair]:
    if isinstance(part, Dropping):
        return _dropping_pairs(part, counts_of(x), counts_of(y))
    return _paper_pairs(part, counts_of(x), counts_of(y))


def is_deterministic(part: Mechanism) -> bool:
    """Return True if a step draws nothing."""
    return isinstance(part, ReadOff) or (isinstance(part, Bucketing) and part.unit is None)


def as_input(part: Mechanism, value: Any) -> Any:
    """A mapping of counts as the histogram that a step takes."""
    takes_units = isinstance(part, Bucketing) and part.unit is not None
    return Histogram.from_counts(value) if isinstance(value, Mapping) and not takes_units else value


# ---------------------------------------------------------------- dropping, each bucket by itself


def _dropping_pairs(mechanism: Dropping, x: dict[Any, int], y: dict[Any, int]) -> list[Pair]:
    noise, found = mechanism.noise, []
    known: dict[tuple[int, int], Pair] = {}  # many buckets change alike
    for key in dict.fromkeys([*x, *y]):
        counts = x.get(key, 0), y.get(key, 0)
        if counts[0] != counts[1]:
            if counts not in known:
                known[counts] = pair_of_laws(dropped(noise, counts[0]), dropped(noise, counts[1]))
            found.append(replace(known[counts], name=key))
    if mechanism.total_noise is not None:
        laws = [_raised(mechanism.total_noise, sum(counts.values())) for counts in (x, y)]
        found.append(pair_of_laws(laws[0], laws[1], name="records_at_most"))
    return found


def _raised(noise: DropNoise, count: int) -> Law:
    """The law of a certified total, which only ever grows."""
    return {count + more: Fraction(weight, 1 << noise.bits) for more, weight in enumerate(noise.weights)}


# ---------------------------------------------------------------- the paper's noise, whose reach depends on the data


def _paper_pairs(mechanism: STLap, x: dict[Any, int], y: dict[Any, int]) -> list[Pair]:
    reaches = [mechanism.fraction * sum(counts.values()) for counts in (x, y)]
    found = []
    for key in dict.fromkeys([*x, *y]):
        laws = [_paper_law(counts.get(key, 0), q, mechanism.epsilon) for counts, q in zip((x, y), reaches, strict=True)]
        errors = [_paper_error(len(law), q, mechanism.epsilon) for law, q in zip(laws, reaches, strict=True)]
        found.append(pair_of_laws(laws[0], laws[1], name=key, error=(errors[0], errors[1])))
    return found


def _paper_error(outcomes: int, reach: Fraction, epsilon: Fraction) -> Fraction:
    """How far so many probabilities are off in all; a quotient of small differences loses digits."""
    if not reach:
        return Fraction(0)
    rest = 1 - exp_bounds(-epsilon * reach / 2).upper
    if rest < Fraction(1, 10**20):
        raise InputError("mechanism", "has noise of so short a reach, times ε, that its law cannot be computed")
    return outcomes * _ERROR / rest


def _paper_law(count: int, reach: Fraction, epsilon: Fraction) -> Law:
    """The law of max(0, round(count + noise)) for real noise on [−reach, 0]; an empty bucket is never reported."""
    if not count or not reach:
        return {count: _ONE}
    least = max(0, math.floor(count - reach))
    half = Fraction(1, 2)
    below = [_paper_distribution(value + half - count, reach, epsilon) for value in range(least, count)] + [_ONE]
    masses = [after - before for before, after in zip([Fraction(0), *below], below, strict=False)]
    return {least + place: mass for place, mass in enumerate(masses) if mass > 0}


def _paper_distribution(z: Fraction, reach: Fraction, epsilon: Fraction) -> Fraction:
    """Pr[noise ≤ z] of the Laplace law around −reach/2, truncated to [−reach, 0]."""
    if z <= -reach:
        return Fraction(0)
    if z >= 0:
        return _ONE
    end = exp_bounds(-epsilon * reach / 2).lower
    away = exp_bounds(-epsilon * abs(z + reach / 2)).lower
    tail = (away - end) / (2 * (1 - end))
    return max(Fraction(0), tail if z <= -reach / 2 else 1 - tail)


# ---------------------------------------------------------------- whole laws, for what cannot be taken apart


def _law(parts: tuple[Mechanism, ...], value: Any) -> Law:
    """The law of a chain's last output."""
    law: Law = {"input": _ONE}
    given: dict[Any, Any] = {"input": value}
    for part in parts:
        found: Law = {}
        outputs: dict[Any, Any] = {}
        for key, chance in law.items():
            for output, p in _step(part, given.get(key, key)).items():
                label = _frozen(output)
                outputs[label] = output
                found[label] = found.get(label, Fraction(0)) + chance * p
        law, given = found, outputs
        if len(law) > LARGEST_PRODUCT:
            raise _too_many()
    return law


def _frozen(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(value)
    return tuple(sorted(value.items())) if isinstance(value, Mapping) else value


def _step(part: Mechanism, value: Any) -> Law:
    if value is REFUSED:
        return {REFUSED: _ONE}
    if isinstance(part, Bucketing) and part.unit is not None:
        return _bounded(part, value)
    if isinstance(part, Dropping):
        if part.total_noise is not None:
            raise InputError("mechanism", "publishes a certified total, which the steps after it do not take")
        return _thinned(counts_of(value), lambda count: dropped(part.noise, count))
    if isinstance(part, STLap):
        counts = counts_of(value)
        reach = part.fraction * sum(counts.values())
        return _thinned(counts, lambda count: _paper_law(count, reach, part.epsilon))
    if isinstance(part, Emptiness):
        chance = part.noise.survival(value)
        return {True: chance, False: 1 - chance}
    if is_deterministic(part):
        try:
            return {_frozen(part(as_input(part, value))): _ONE}
        except FlexdpError:
            return {REFUSED: _ONE}
    raise InputError("mechanism", f": {part.name} has no law that can be enumerated", remedy="Use audit.audit instead.")


def _thinned(counts: dict[Any, int], law: Callable[[int], Law]) -> Law:
    each = [(key, law(count)) for key, count in counts.items()]
    if math.prod(len(left) for _, left in each) > LARGEST_PRODUCT:
        raise _too_many()
    found: dict[tuple[tuple[Any, int], ...], Fraction] = {(): _ONE}
    for key, left in each:
        found = {
            (*kept, *(((key, count),) if count else ())): chance * p
            for kept, chance in found.items()
            for count, p in left.items()
        }
    return {Histogram([key for key, _ in kept], [count for _, count in kept]): p for kept, p in found.items()}


def _bounded(part: Bucketing, rows: Any) -> Law:
    """The law of the histogram of units, each in a uniformly random choice of so many of its buckets.

    The choice is made by a salted hash; here it is taken to be uniform, as the hash is meant to be.
    """
    buckets: dict[Any, set[Any]] = {}
    for unit, value in rows:
        if unit is not None:
            for key, _ in part._bucketed(Histogram.from_values([value])).items():
                buckets.setdefault(unit, set()).add(key)
    law: dict[tuple[tuple[Any, int], ...], Fraction] = {(): _ONE}
    for own in buckets.values():
        choices = list(combinations(sorted(own), min(len(own), part.max_buckets_per_unit)))
        found: dict[tuple[tuple[Any, int], ...], Fraction] = {}
        for counted, chance in law.items():
            for chosen in choices:
                counts = Counter(dict(counted))
                counts.update(chosen)
                key = tuple(sorted(counts.items()))
                found[key] = found.get(key, Fraction(0)) + chance / len(choices)
        law = found
        if len(law) > LARGEST_PRODUCT:
            raise _too_many()
    return {Histogram([key for key, _ in counted], [n for _, n in counted]): p for counted, p in law.items()}


class _TooManyError(InputError):
    """Too many joint outcomes to be enumerated."""


def _too_many() -> InputError:
    return _TooManyError(
        "x",
        f"and y have more than {LARGEST_PRODUCT} joint outcomes, too many to be enumerated",
        remedy="Give smaller tables, or a mechanism with less noise.",
    )
