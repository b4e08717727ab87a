"""The exact δ between two data sets, where it is attained, and the worst one of all small neighbours.

mechanism ── law(x), law(y) ──▶ divergence at ε ──▶ ExactDelta: δ both ways, and the event that attains it
    └─ neighbours(size=…) ────▶ one for each pair ─▶ Verified: the worst of them beside the claim
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement
from typing import Any, TypeVar

import numpy as np

from flexdp._core.domains import EPSILON, PURE_DELTA, attribute, elements, integer, sequence
from flexdp._core.enclosure import Bounds, exp_bounds
from flexdp._core.exact import Number, lower_text, number_text, upper_text
from flexdp._core.text import plural, safe_repr, thousands
from flexdp.distribution import Law, TooManyOutcomesError, read_law
from flexdp.divergence import LARGEST_PRODUCT, Divergence, Pair, Row, joint_rows
from flexdp.errors import InputError
from flexdp.guarantees import AddRemove
from flexdp.mechanisms import NUMBERS, Mechanism, Space
from flexdp.mechanisms.base import law_of
from flexdp.mechanisms.spaces import unit_tables

__all__ = ["Event", "ExactDelta", "Verified", "compare", "exact_delta", "neighbours", "verify"]

_EPSILON = replace(EPSILON, low_included=True)  # at ε = 0 it is the total variation distance
T = TypeVar("T")
_NEARLY_ONE = 1 - Fraction(1, 10**30)


@dataclass(frozen=True, slots=True)
class Event:
    """The outcomes that tell two data sets apart best: those more than e^ε times as likely on one as on the other.

    Parameters
    ----------
    favours
        "x" or "y": the data set on which they are more likely.
    ratio
        A rational number just above e^ε.
    pairs
        The laws of the independent parts of the output.

    Examples
    --------
    >>> from flexdp.mechanisms import Dropping
    >>> event = exact_delta(Dropping(1, "0.05"), {"a": 9}, {"a": 8}, 1).event
    >>> event.favours, event.outcomes, (9,) in event, (8,) in event
    ('x', ((9,),), True, False)
    >>> [float(p) for p in event.chances()]
    [0.04501528658519023, 0.0]
    """

    favours: str
    ratio: Fraction
    pairs: tuple[Pair, ...]

    @property
    def names(self) -> tuple[Any, ...]:
        """Parts of the output that the outcomes tell, such as keys of buckets; all others are the same on both."""
        return tuple(pair.name for pair in self.pairs)

    @property
    def outcomes(self) -> tuple[Any, ...] | None:
        """The outcomes, one tuple each, with an entry for each name; None if there are too many to list."""
        return None if self._size > LARGEST_PRODUCT else tuple(row.label for row in self._rows)

    @property
    def _size(self) -> int:
        size = 1
        for pair in self.pairs:
            size *= len(pair.rows)
        return size

    @property
    def _rows(self) -> list[Row]:
        return [row for row in joint_rows(self.pairs) if self._tells(row)]

    def _tells(self, row: Row) -> bool:
        one, other = (row.one, row.other) if self.favours == "x" else (row.other, row.one)
        return one > self.ratio * other

    def chances(self) -> tuple[Fraction, Fraction] | None:
        """Return its probability on x and on y.

        Returns
        -------
        pair of Fraction or None
            None if there are too many outcomes to list.
        """
        if self._size > LARGEST_PRODUCT:
            return None
        rows = self._rows
        return sum((row.one for row in rows), Fraction(0)), sum((row.other for row in rows), Fraction(0))

    def __contains__(self, outcome: object) -> bool:
        one = other = Fraction(1)
        listed = sequence(outcome) if isinstance(outcome, tuple) else None
        if listed is None or len(listed) != len(self.pairs):
            return False
        for label, pair in zip(listed, self.pairs, strict=True):
            found = [row for row in pair.rows if row.label == label]
            if not found:
                return False
            one, other = one * found[0].one, other * found[0].other
        return self._tells(Row(outcome, one, other))

    def __repr__(self) -> str:
        return f"<Event that favours {self.favours}>"


class ExactDelta(Fraction):
    """The smallest δ for which two data sets are (ε, δ)-close under a mechanism, in both directions.

    It is a Fraction, an upper bound: where all weights are integers it is above the truth only because e^ε is rounded,
    by a relative 10^−49 or so; :attr:`lower` is a lower bound. Outcomes that were not followed count in full: their
    probability is part of the upper bounds.

    Parameters
    ----------
    epsilon
        ε.
    forward, backward
        Bounds of Σ max(0, P − e^ε·Q) from x to y, and from y to x, over all outcomes.
    event
        The outcomes that attain the larger one.
    covered
        Probability of the outcomes that were followed, the smaller one of both data sets; 1 unless noisy counts, or
        outcomes of a function's law, were left out.
    followed
        An upper bound of the sums over the outcomes that were followed alone. It bounds no δ unless all of them were.

    Examples
    --------
    >>> from flexdp.mechanisms import Dropping
    >>> found = exact_delta(Dropping(1, "1e-6"), {"a": 100, "b": 7}, {"a": 99, "b": 7}, 1)
    >>> found <= Fraction(1, 10**6), float(found.forward.upper) == float(found.backward.upper)
    (True, True)
    >>> print(found)
    δ ≤ 7.15e-07 at ε = 1 (from x to y 7.15e-07, from y to x 7.15e-07)
    """

    epsilon: Fraction
    forward: Bounds
    backward: Bounds
    event: Event | None
    covered: Fraction
    followed: Fraction

    def __new__(
        cls,
        epsilon: Fraction,
        forward: Bounds,
        backward: Bounds,
        event: Event | None = None,
        covered: Fraction = Fraction(1),
        followed: Fraction | None = None,
    ) -> ExactDelta:
        self = super().__new__(cls, max(forward.upper, backward.upper))
        self.epsilon, self.forward, self.backward, self.event, self.covered = epsilon, forward, backward, event, covered
        self.followed = Fraction(self) if followed is None else followed
        return self

    from_float = staticmethod(Fraction.from_float)  # type: ignore[assignment]  # comparisons with floats call it

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.epsilon, self.forward, self.backward, self.event, self.covered, self.followed)

    def __copy__(self) -> ExactDelta:
        return self

    def __deepcopy__(self, memo: Any) -> ExactDelta:
        return self

    @property
    def lower(self) -> Fraction:
        """Lower bound of the δ."""
        return max(self.forward.lower, self.backward.lower)

    def __str__(self) -> str:
        told = f"δ ≤ {upper_text(Fraction(self))} at ε = {number_text(self.epsilon)}"
        ways = f"from x to y {upper_text(self.forward.upper)}, from y to x {upper_text(self.backward.upper)}"
        if self.covered > _NEARLY_ONE:
            return f"{told} ({ways})"
        some = f"outcomes with probability {lower_text(self.covered)} were followed, on which it is at most"
        return f"{told} ({ways}); {some} {upper_text(self.followed)}"

    def __repr__(self) -> str:
        return f"<ExactDelta: {self}>"


def exact_delta(mechanism: Any, x: Any, y: Any, epsilon: Number) -> ExactDelta:
    """Return the smallest δ for which a mechanism is (ε, δ)-private between two data sets, exactly.

    It is the hockey-stick divergence of the two output laws, the larger one of both directions, in rational arithmetic
    from the integer tables that are sampled. Laws with exponentials are enclosed by rational bounds. A random choice of
    a unit's buckets is taken to be uniform; noise in doubles (``STLap``, ``Laplace``) to be the real noise it stands
    for.

    Parameters
    ----------
    mechanism
        Whatever has a ``law``: a mechanism of :mod:`flexdp.mechanisms` or your own, a chain of them, a ``DropNoise``, a
        step of sharp answers or a whole :class:`~flexdp.mechanisms.program.Adaptive` program of them; a list of these,
        which are published together; or a function that returns the exact law on a data set, a dictionary of Fractions
        by outcome. An outcome that only one law has is taken to have probability 0 under the other; what is missing
        from a sum of 1 is added to the bound.
    x, y
        The data sets: histograms or mappings of keys to counts; pairs (unit, value) where the mechanism bounds units;
        whatever else the mechanism takes.
    epsilon
        ε, taken exactly as written; may be 0.

    Returns
    -------
    ExactDelta
        A Fraction that bounds δ from above, over all outcomes, with both directions and the event that attains it.

    Raises
    ------
    InputError
        If the mechanism has no law that can be enumerated on these data sets.

    Examples
    --------
    >>> from flexdp.mechanisms import Dropping, STLap
    >>> float(exact_delta(Dropping(1, "1e-6"), {1: 30, 2: 5}, {1: 29, 2: 5}, 1))
    7.14...e-07
    >>> paper = exact_delta(STLap("0.05", "0.5"), {1: 667, 2: 667, 3: 668}, {1: 667, 2: 667, 3: 667}, "0.5")
    >>> f"{float(paper.forward.upper):.2e} {float(paper.backward.upper):.2e}"  # the theorem says 4.45e-12
    '7.52e-04 7.80e-04'
    >>> part = exact_delta(lambda data: {"a": Fraction(3, 4)}, 0, 1, 1)  # one outcome of several
    >>> float(part), part.covered, float(part.followed)
    (0.25, Fraction(3, 4), 0.0)
    """
    return compare(mechanism, x, y, _EPSILON.check(epsilon))


def compare(mechanism: Any, x: Any, y: Any, epsilon: Fraction) -> ExactDelta:
    """Return the δ between the laws of a mechanism, or of several that are published together."""
    listed = sequence(mechanism)
    if listed is None:
        found, complete = _compared(mechanism, x, y, lambda one, other: one.divergence(other, epsilon))
    elif listed:
        parts = [_compared(each, x, y, lambda one, other: one.beside(other)) for each in listed]
        found = Divergence.between([pair for pairs, _ in parts for pair in pairs], epsilon)
        complete = all(whole for _, whole in parts)
    else:
        raise InputError("mechanism", "must not be an empty list")
    forward, backward, telling, followed, covered = found
    if not complete:
        forward, backward = (Bounds(Fraction(0), way.upper) for way in (forward, backward))
    favours = "x" if forward.upper >= backward.upper else "y"
    some = telling and max(forward.lower, backward.lower) > 0
    event = Event(favours, exp_bounds(epsilon).upper, telling) if some else None
    return ExactDelta(epsilon, forward, backward, event, covered, followed)


def _compared(mechanism: Any, x: Any, y: Any, compared: Callable[[Law, Law], T]) -> tuple[T, bool]:
    """Compare the laws on both data sets, and say whether they are those of the whole mechanism.

    Where the outcomes of a chain are too many to list, those of its first steps are compared: what comes after them is
    post-processing, which can only lower δ.
    """
    steps = mechanism.steps if isinstance(mechanism, Mechanism) else (mechanism,)
    for length in range(len(steps), 0, -1):
        try:
            one, other = (_law(steps[:length], data) for data in (x, y))
            return compared(one, other), length == len(steps)
        except TooManyOutcomesError:
            continue
    raise InputError(
        "x",
        f"and y have more than {LARGEST_PRODUCT} joint outcomes, too many to be enumerated",
        remedy="Give smaller tables, or a mechanism with less noise.",
    )


def _law(steps: Sequence[Any], x: Any) -> Law:
    if isinstance(steps[0], Mechanism):
        return law_of(steps, x)
    law = attribute(steps[0], "law")
    given = law if callable(law) else steps[0]
    if not callable(given):
        raise InputError(
            "mechanism", "must be a mechanism, or a function that returns a distribution", given=safe_repr(given)
        )
    return read_law("mechanism", given(x))


_MOST_PAIRS = 10**6
_LARGEST_SIZE = 10**4
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
