"""Checking that neighbours are preserved, on finitely many points, exactly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from flexdp._core.domains import flag, function
from flexdp._core.exact import number_text
from flexdp._core.text import plural
from flexdp.calculus.coupling import Group, most_matched
from flexdp.calculus.spaces import Law, Outputs, Points, law_text, point_text, points_given
from flexdp.distances.axioms import labels_of
from flexdp.errors import InputError
from flexdp.guarantees import AddRemove, AnswersWithin, Neighbours, Replace
from flexdp.histogram import Histogram

__all__ = ["Preserved", "neighbouring", "preserves_neighbours"]


@dataclass(frozen=True, slots=True)
class Preserved:
    """Verdict on the preservation of neighbours, with the pair that shows it; True or False as a condition.

    Parameters
    ----------
    value
        The largest mass, over neighbours, of outputs that cannot be coupled as neighbours: 0 if all can.
    pairs
        Number of pairs of neighbours that were looked at.
    witness
        A pair of neighbours with that mass, if there is a pair.
    outputs
        The outputs of both, as points with probabilities.

    Examples
    --------
    >>> from flexdp import preserves_neighbours
    >>> found = preserves_neighbours(lambda x: 2 * x, range(3), lambda x, y: abs(x - y) == 1)
    >>> bool(found), found.witness
    (False, (0, 1))
    >>> print(found)
    Neighbours are not preserved: 0 and 1 are neighbours, and their outputs 0 and 2 cannot be coupled as neighbours.
    """

    value: Fraction
    pairs: int
    witness: tuple[Any, Any] | None
    outputs: tuple[Law, Law] | None

    def __bool__(self) -> bool:
        return not self.value

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        if not self.value or self.witness is None or self.outputs is None:
            checked = plural(self.pairs, "pair")
            return f"Neighbours are preserved: outputs can be coupled as neighbours ({checked} checked)."
        x, y = map(point_text, self.witness)
        mass = "" if self.value == 1 else f" but for a mass of {number_text(self.value)}"
        one, two = map(law_text, self.outputs)
        return (
            f"Neighbours are not preserved: {x} and {y} are neighbours, and their outputs {one} and {two} cannot be "
            f"coupled as neighbours{mass}."
        )


def preserves_neighbours(
    M: Any,  # noqa: N803  (its name in the paper)
    points: Points,
    relation: Any,
    output_relation: Any = None,
    *,
    equal: bool = True,
) -> Preserved:
    """Check that a mechanism preserves neighbourhoods: outputs of neighbours can be coupled as neighbours.

    For all neighbours x ∼ y there must be a coupling of M(x) and M(y) in which X ∼ Y with probability one (paper, Def.
    of neighbourhood preserving mechanisms): the hypothesis on M₁ under which M₂∘M₁ is as private as M₂ (Thm.
    compose-DP). Exact for the finite space of ``points``; without neighbours among them it holds trivially.

    Parameters
    ----------
    M
        The mechanism: it takes a point and returns an output or its law, as in :func:`error_sensitivity`.
    points
        The inputs: at least one.
    relation
        Relation of neighbours among inputs: a symmetric function of two points, or one of
        :class:`~flexdp.guarantees.AddRemove`, :class:`~flexdp.guarantees.Replace` (between histograms) and
        :class:`~flexdp.guarantees.AnswersWithin`.
    output_relation
        Relation among outputs; the same, if left out.
    equal
        True if equal outputs count as neighbours, as they may for the theorem: nothing tells them apart.

    Returns
    -------
    Preserved
        True or False as a condition, with the worst pair.

    Raises
    ------
    InputError
        A function raises, or a relation is not symmetric on these points, which are named.

    Examples
    --------
    >>> from flexdp import Histogram
    >>> from flexdp.guarantees import AddRemove
    >>> tables = [Histogram.from_counts({1: 2}), Histogram.from_counts({1: 2, 4: 1}), Histogram.from_counts({4: 3})]
    >>> tens = lambda x: Histogram.from_counts({5: x.size})
    >>> print(preserves_neighbours(tens, tables, AddRemove()))
    Neighbours are preserved: outputs can be coupled as neighbours (1 pair checked).
    """
    inputs, outputs = points_given("points", points), Outputs()
    laws = outputs.laws("M", M, inputs)
    within = neighbouring("relation", relation)
    after = within if output_relation is None else neighbouring("output_relation", output_relation)
    name = "relation" if output_relation is None else "output_relation"
    found = np.argwhere(np.triu(_related("relation", within, inputs, "points"))).tolist()
    near = _related(name, after, outputs.points, "outputs")
    if flag("equal", equal):
        np.fill_diagonal(near, True)
    worst, pair = Fraction(0), None
    for i, j in found:
        lost = 1 - most_matched(laws[i], [Group(Fraction(1), [laws[j]])], lambda c, d: bool(near[c, d])).mass
        if pair is None or lost > worst:
            worst, pair = lost, (i, j)
    if pair is None:
        return Preserved(worst, 0, None, None)
    i, j = pair
    shown = tuple(tuple((outputs.points[c], chance) for c, chance in laws[k].items()) for k in (i, j))
    return Preserved(worst, len(found), (inputs[i], inputs[j]), (shown[0], shown[1]))


def _related(name: str, related: Callable[[Any, Any], bool], points: list[Any], where: str) -> Any:
    label = labels_of(where, points, quoted=True)
    found = np.zeros((len(points), len(points)), dtype=np.bool_)
    for i, a in enumerate(points):
        for j, b in enumerate(points):
            try:
                found[i, j] = bool(related(a, b))
            except Exception as error:
                raise InputError(name, f"raised {type(error).__name__} on {label(i)} and {label(j)}") from error
    for i, j in np.argwhere(found != found.T)[:1].tolist():
        raise InputError(name, f"must be symmetric: it is not between {label(i)} and {label(j)}")
    return found


def neighbouring(name: str, relation: Any) -> Callable[[Any, Any], bool]:
    """Return a relation of neighbours as a function of two data sets."""
    if isinstance(relation, AddRemove):
        most = relation.buckets
        return lambda x, y: _one_more(x, y, most) or _one_more(y, x, most)
    if isinstance(relation, Replace):
        return _replaced
    if isinstance(relation, AnswersWithin):
        reach = relation.sensitivity
        return lambda a, b: a != b and abs(Fraction(a) - Fraction(b)) <= reach
    if isinstance(relation, Neighbours):
        raise InputError(name, "must be a function of two points: this relation is known by its name alone")
    return function(name, relation, "two points")


def _counts(x: Histogram) -> Counter[Any]:
    return Counter(dict(x.items()))


def _one_more(x: Histogram, y: Histogram, most: int) -> bool:
    """Return True if y is x and one record more in each of at most ``most`` buckets."""
    more, less = _counts(y) - _counts(x), _counts(x) - _counts(y)
    return not less and 0 < len(more) <= most and set(more.values()) == {1}


def _replaced(x: Histogram, y: Histogram) -> bool:
    more, less = _counts(y) - _counts(x), _counts(x) - _counts(y)
    return more.total() == less.total() == 1
