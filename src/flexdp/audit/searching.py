"""All neighbouring data sets up to a size, and the pair that a mechanism tells apart best."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np

from flexdp._core.domains import EPSILON, PURE_DELTA, attribute, elements, integer, sequence
from flexdp._core.exact import Number, lower_text, number_text, upper_text
from flexdp._core.text import plural, safe_repr, thousands
from flexdp.audit.exact import ExactDelta, compare
from flexdp.errors import InputError
from flexdp.guarantees import AddRemove
from flexdp.mechanisms import NUMBERS, Mechanism, Space
from flexdp.mechanisms.spaces import unit_tables

__all__ = ["Verified", "neighbours", "verify"]

_MOST_PAIRS = 10**6
_LARGEST_SIZE = 10**4
_EPSILON = replace(EPSILON, low_included=True)
_ROUNDING = Fraction(1, 10**30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """The result of comparing a mechanism on all neighbouring data sets up to a size.

    Parameters
    ----------
    epsilon, delta
        The claim.
    worst
        The largest δ at ε that was found; of a pair that is sure to exceed the claim, if there is one.
    x, y
        The data sets where it was found.
    pairs
        Number of pairs of neighbours that were compared.
    followed
        The largest :attr:`ExactDelta.followed` of any pair.
    covered
        The smallest :attr:`ExactDelta.covered` of any pair: 1 where every outcome was followed.

    Examples
    --------
    >>> from flexdp.mechanisms import Dropping
    >>> found = verify(Dropping(1, "0.05"), size=8)
    >>> found.holds, found.x, found.y
    (True, {}, {0: 1})
    >>> print(found)
    holds: the largest δ at ε = 1 over 90 pairs of neighbours is 0.0451, and 0.05 is claimed
    """

    epsilon: Fraction
    delta: Fraction
    worst: ExactDelta
    x: Any
    y: Any
    pairs: int
    followed: Fraction
    covered: Fraction

    @property
    def holds(self) -> bool:
        """True if no pair exceeds the claim, but for rounding by 10^−30; outcomes not followed count in full."""
        return Fraction(self.worst) <= self.delta + _ROUNDING

    @property
    def holds_where_followed(self) -> bool:
        """The same on the outcomes that were followed; it proves the claim only if all of them were."""
        return self.followed <= self.delta + _ROUNDING

    def __str__(self) -> str:
        exceeded = self.worst.lower > self.delta + _ROUNDING
        verdict = "holds" if self.holds else "violated" if exceeded else "not decided"
        some = most = ""
        if self.covered < 1 - _ROUNDING:
            most = "at most "
            some = (
                f"; outcomes with probability {lower_text(self.covered)} or more were followed, on which it is at most "
                f"{upper_text(self.followed)}, and the others count in full"
            )
        return (
            f"{verdict}: the largest δ at ε = {number_text(self.epsilon)} over "
            f"{plural(self.pairs, 'pair', thousands)} of neighbours is {most}{upper_text(Fraction(self.worst))}, and "
            f"{number_text(self.delta)} is claimed{some}"
        )


def verify(
    mechanism: Any,
    epsilon: Number | None = None,
    delta: Number | None = None,
    *,
    size: int,
    values: Sequence[Any] | None = None,
    records: int = 1,
) -> Verified:
    """Compare a mechanism on all neighbouring data sets up to a size, exactly, and return the worst pair.

    Neighbours differ by one unit: by one record; by one more in each of at most so many buckets, where the mechanism
    says so; by all records of a unit, where it bounds units itself; by up to ``records`` records of a list.

    Parameters
    ----------
    mechanism
        As for :func:`exact_delta`.
    epsilon, delta
        The claim; by default the mechanism's own.
    size
        Number of records, or units, of the smaller data set at most.
    values
        Keys or values that the records may have; 0, 1, … by default, one more than one unit can change.
    records
        Number of records of a unit, where data sets are lists of values.

    Returns
    -------
    Verified
        The worst pair, and whether the claim holds there.

    Raises
    ------
    InputError
        If there is no claim, or there are more than a million pairs.

    Examples
    --------
    >>> from flexdp.mechanisms import Dropping, STLap
    >>> verify(Dropping(2, "0.1", max_buckets_per_unit=2), size=6).holds
    True
    >>> paper = verify(STLap("0.9", 1), 1, "0.01", size=3)
    >>> paper.holds
    False
    """
    loss, chance = _claim(mechanism, epsilon, delta)
    worst: tuple[ExactDelta, Any, Any] | None = None
    largest, followed, covered = (False, Fraction(0)), Fraction(0), Fraction(1)
    count, source, remembered = 0, _source(mechanism), _remembered(mechanism)
    read = _rows if source is not None and _takes_units(source) else _as_it_is
    for x, y in neighbours(mechanism, size=size, values=values, records=records):
        count += 1
        if count > _MOST_PAIRS:
            raise InputError("size", f"leads to more than {thousands(_MOST_PAIRS)} pairs", given=safe_repr(size))
        found = compare(remembered, read(x), read(y), loss)
        followed, covered = max(followed, found.followed), min(covered, found.covered)
        own = found.lower > chance + _ROUNDING, Fraction(found)
        if worst is None or own > largest:
            worst, largest = (found, x, y), own
    assert worst is not None
    return Verified(
        epsilon=loss,
        delta=chance,
        worst=worst[0],
        x=worst[1],
        y=worst[2],
        pairs=count,
        followed=followed,
        covered=covered,
    )


def _claim(mechanism: Any, epsilon: Number | None, delta: Number | None) -> tuple[Fraction, Fraction]:
    own = getattr(mechanism, "privacy", mechanism)
    loss = getattr(own, "epsilon", None) if epsilon is None else epsilon
    if loss is None:
        raise InputError("epsilon", "is needed: the mechanism claims none")
    chance = getattr(own, "delta", 0) if delta is None else delta
    return _EPSILON.check(loss), PURE_DELTA.check(chance)


def neighbours(
    mechanism: Any, *, size: int, values: Sequence[Any] | None = None, records: int = 1
) -> Iterator[tuple[Any, Any]]:
    """Iterate over all neighbouring data sets that a mechanism may be given, the smaller one first.

    Parameters
    ----------
    mechanism, size, values, records
        As for :func:`verify`.

    Yields
    ------
    tuple
        Two data sets: numbers, dictionaries of counts, or tuples of values.

    Raises
    ------
    InputError
        If a parameter is out of range, or the mechanism takes data sets that cannot be listed.

    Examples
    --------
    >>> from flexdp.mechanisms import Dropping
    >>> list(neighbours(Dropping(1, "0.05"), size=1, values=["a"]))
    [({}, {'a': 1}), ({'a': 1}, {'a': 2})]
    """
    most = integer("size", size, at_least=0, at_most=_LARGEST_SIZE)
    together = integer("records", records, at_most=_LARGEST_SIZE)
    listed = None if values is None else elements(values)
    if values is not None and not (listed and all(map(_is_key, listed))):
        raise InputError("values", "must be a list of numbers, texts or tuples of them", given=safe_repr(values))
    source = _source(mechanism)
    if source == NUMBERS:
        yield from ((count, count + 1) for count in range(most + 1))
    elif source is not None and _takes_units(source):
        yield from _unit_tables(listed or [0, 1], most)
    elif source is not None:
        changed = max(map(_changed, _first(mechanism).steps))
        yield from _histograms(listed or list(range(changed + 1)), most, changed)
    else:
        own = listed or [0, 1]
        for data in _multisets(own, most):
            for more in range(1, together + 1):
                for added in combinations_with_replacement(own, more):
                    yield data, tuple(sorted((*data, *added)))


def _first(mechanism: Any) -> Any:
    """The mechanism, or the first of several that are published together."""
    listed = sequence(mechanism)
    return mechanism if listed is None else _first(listed[0]) if listed else None


def _source(mechanism: Any) -> Space | None:
    """The space of its inputs; None for functions and programs, which take lists of values."""
    first = _first(mechanism)
    return first.source if isinstance(first, Mechanism) else None


def _takes_units(source: Space) -> bool:
    return source == unit_tables(source.dimensions)


def _changed(step: Mechanism) -> int:
    """In how many buckets a unit of which the step is private may count."""
    relation = None if step.privacy is None else step.privacy.neighbours
    return relation.buckets if isinstance(relation, AddRemove) else 1


def _as_it_is(data: Any) -> Any:
    return data


def _rows(data: Any) -> list[tuple[int, Any]]:
    """A table of units as pairs (unit, value)."""
    return [(unit, value) for unit, own in enumerate(data) for value in own]


def _remembered(mechanism: Any) -> Any:
    """The mechanism; or a function that computes its law once for each data set, where data sets are tuples."""
    if isinstance(mechanism, Mechanism) or sequence(mechanism) is not None:
        return mechanism
    law = attribute(mechanism, "law")
    return cache(law) if callable(law) else cache(mechanism) if callable(mechanism) else mechanism


def _is_key(value: object) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_key, sequence(value) or [None]))
    return isinstance(value, str | bytes | int | float | Fraction | dt.date | np.generic)


def _multisets(values: Sequence[Any], most: int) -> Iterator[tuple[Any, ...]]:
    for size in range(most + 1):
        yield from combinations_with_replacement(values, size)


def _histograms(keys: Sequence[Any], most: int, changed: int) -> Iterator[tuple[dict[Any, int], dict[Any, int]]]:
    for places in _multisets(range(len(keys)), most):
        x = {keys[place]: count for place, count in Counter(places).items()}
        for many in range(1, min(changed, len(keys)) + 1):
            for chosen in combinations(keys, many):
                y = dict(x)
                for key in chosen:
                    y[key] = y.get(key, 0) + 1
                yield x, y


def _unit_tables(values: Sequence[Any], most: int) -> Iterator[tuple[Any, Any]]:
    """Tables in which every unit has some of the values, and the same with one more unit."""
    units = [own for many in range(1, len(values) + 1) for own in combinations(values, many)]
    for table in _multisets(range(len(units)), most):
        listed = tuple(units[place] for place in table)
        for more in units:
            yield listed, (*listed, more)
