"""The exact δ between two data sets: hockey-stick divergence of a mechanism's output laws, and where it is attained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar

from flexdp._core.domains import EPSILON, attribute, sequence
from flexdp._core.enclosure import Bounds, exp_bounds
from flexdp._core.exact import Number, lower_text, number_text, upper_text
from flexdp._core.text import safe_repr
from flexdp.distribution import Law, TooManyOutcomesError, read_law
from flexdp.divergence import LARGEST_PRODUCT, Divergence, Pair, Row, joint_rows
from flexdp.errors import InputError
from flexdp.mechanisms import Mechanism
from flexdp.mechanisms.chain import law_of

__all__ = ["Event", "ExactDelta", "compare", "exact_delta"]

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
