"""Exact enumeration of privacy on small data: all multisets of few records, and each with one record more."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, pairwise
from typing import Any

from _support.cuts import window_of

from flexdp.mechanisms.program import Program, enumerate_paths, spent
from flexdp.sharp.column import Column
from flexdp.sharp.cut import Cut
from flexdp.sharp.exponentials import exp_minus
from flexdp.sharp.ranks import Ranks

Law = Mapping[Hashable, Fraction]
SLACK = 1 + Fraction(1, 10**30)  # exponentials are known to 118 bits
INFINITE = Fraction(10**100)


def multisets(values: Sequence[Any], most: int) -> Iterator[tuple[Any, ...]]:
    for size in range(most + 1):
        yield from combinations_with_replacement(values, size)


def worst(law: Callable[[tuple[Any, ...]], Law], values: Sequence[Any], most: int, epsilon: Fraction) -> Fraction:
    """The largest ratio of probabilities over e^ε, both ways, over all data sets and one record more."""
    known = cache(law)
    return max(
        (
            ratio(known(data), known(tuple(sorted((*data, more)))), epsilon)
            for data in multisets(values, most)
            for more in values
        ),
    )


def ratio(one: Law, other: Law, epsilon: Fraction) -> Fraction:
    """The largest ratio of two laws over e^ε, both ways; as good as infinite where only one of them has an outcome."""
    found = Fraction(0)
    for outcome in one.keys() | other.keys():
        p, q = one.get(outcome, Fraction(0)), other.get(outcome, Fraction(0))
        if p and q:
            found = max(found, p / q, q / p)
        elif p or q:
            return INFINITE
    return found * exp_minus(epsilon)


def hockey_stick(one: Law, other: Law, epsilon: Fraction) -> Fraction:
    """The smallest δ for which one law is (ε, δ)-close to another, both ways, to 118 bits."""
    growth = 1 / exp_minus(epsilon)
    return max(
        sum((max(Fraction(0), p - growth * b.get(outcome, Fraction(0))) for outcome, p in a.items()), Fraction(0))
        for a, b in ((one, other), (other, one))
    )


def column(data: Iterable[int]) -> Column:
    return Column.from_values([int(value) for value in data])


def path_law(
    make: Callable[[], Program[Any]],
    counts: Iterable[int],
    epsilon: Fraction,
    ranks: Callable[[tuple[Any, ...]], Ranks] = column,
) -> Callable[[tuple[Any, ...]], Law]:
    """The law of everything a program draws; no path spends more than ε."""

    def law(data: tuple[Any, ...]) -> Law:
        found: dict[Hashable, Fraction] = {}
        for path in enumerate_paths(make, ranks(data), counts):
            assert spent(path.costs) <= epsilon
            found[path.outcomes] = found.get(path.outcomes, Fraction(0)) + path.chance
        return found

    return law


def cell_law(mechanism: Cut, cuts: Sequence[int], ranks: Ranks) -> Law:
    """The law of an exponential quantile on the parts between public cuts, among them all that data can make.

    Within a part every data set gives the prior's own law, so ratios on parts are ratios on candidates.
    """
    window = window_of(mechanism, ranks)
    weights: dict[Hashable, int] = {}
    for segment in mechanism.segments(window):
        low = [cut for cut in cuts if segment.low is None or cut > segment.low]
        inner = [cut for cut in low if segment.high is None or cut < segment.high]
        edges = [segment.low, *inner, segment.high]
        for a, b in pairwise(edges):
            before = 0 if a is None else mechanism.prior.before(a)
            mass = (mechanism.prior.total if b is None else mechanism.prior.before(b)) - before
            if mass:
                weights[a, b] = weights.get((a, b), 0) + mass * segment.weight
    total = sum(weights.values())
    return {part: Fraction(weight, total) for part, weight in weights.items()}
