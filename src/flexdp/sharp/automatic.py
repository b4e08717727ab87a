"""Automatic buckets: everything from the number of records to the dropped bars, as one program.

n̂ decides the shares; a tree finds where the records are; noisy leaf counts say how many; public edges follow; the bars
are counted and dropped. Below n̂·ε of 100 there is no answer, and below 400 five answers take the place of bars. δ is
spent in the bars alone.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, cast

import numpy as np

from flexdp.distribution import Independent
from flexdp.mechanisms.program import Draw, Program
from flexdp.noise.bits import Bits
from flexdp.noise.drop import DropNoise
from flexdp.noise.exponential import Decay, check_depth
from flexdp.noise.table import LARGEST_REACH, smallest_reach
from flexdp.sharp.answers import Answered, ask
from flexdp.sharp.count import NoisyCount
from flexdp.sharp.edges import edges_of
from flexdp.sharp.ranks import EVERYTHING, Reply, Request, Span
from flexdp.sharp.rules import RULES, Rules
from flexdp.sharp.scale import Scale
from flexdp.sharp.shares import Shares, shares, smallest_level
from flexdp.sharp.steps import Steps, decimal_steps
from flexdp.sharp.tree import TREE_RULES, TreeRules, grow

__all__ = [
    "FEW",
    "FEW_FOR_BARS",
    "FIVE",
    "Automatic",
    "DroppedBars",
    "automatic_buckets",
    "choose_buckets",
    "edges_from",
]

FIVE = (Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(3, 4), Fraction(1))
FEW = 100  # below n̂·ε of so much there is no answer
FEW_FOR_BARS = 400  # and below so much no bars


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedBars:
    """Counts of public buckets that only ever lose records.

    Parameters
    ----------
    epsilon, delta : Fraction
        Privacy of all bars together, under adding or removing one record.
    """

    epsilon: Fraction
    delta: Fraction

    @property
    def noise(self) -> DropNoise:
        """The certified noise of one bar."""
        return DropNoise(self.epsilon, self.delta)

    def has_reach(self, reach: object) -> bool:
        """Return True if this is the reach of the noise; its table is not made.

        Parameters
        ----------
        reach : object
            The reach that is claimed.

        Returns
        -------
        bool
        """
        if type(reach) is not int or not 0 < reach <= LARGEST_REACH:
            return False
        return smallest_reach(self.epsilon, self.delta, at_most=reach) == reach

    def draw(self, counts: Sequence[int], bits: Bits) -> tuple[int, ...]:
        """Drop records from every bar.

        Parameters
        ----------
        counts : sequence of int
            The records in each bucket.
        bits : Bits
            The source of randomness.

        Returns
        -------
        tuple of int
        """
        drops = self.noise._draw(len(counts), bits.source)
        return tuple(np.maximum(np.asarray(counts, dtype=np.int64) - drops, 0).tolist())

    def law(self, counts: Sequence[int]) -> Independent:
        """Return the exact law of the bars, each by itself."""
        noise = self.noise
        return Independent({place: noise.law(count) for place, count in enumerate(counts)}, _in_order)


def _in_order(parts: dict[int, int]) -> tuple[int, ...]:
    return tuple(parts.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Automatic:
    """Everything that automatic buckets publish.

    Parameters
    ----------
    scale : Scale
        The scale of the column.
    epsilon, delta : Fraction
        The budget.
    records_about : int
        n̂.
    shares : Shares or None
        The division of the budget; None where there are no bars.
    leaves, leaf_counts : tuple
        The tree's leaves and their noisy counts.
    edges : tuple of int
        Inner edges, in units; the first and the last bucket are open.
    bars : tuple of int
        One more than edges: what is left of each bucket; empty where they are counted afterwards.
    five : Answered or None
        Five answers, where there are too few records for bars.
    """

    scale: Scale
    epsilon: Fraction
    delta: Fraction
    records_about: int
    shares: Shares | None = None
    leaves: tuple[Span, ...] = ()
    leaf_counts: tuple[int, ...] = ()
    edges: tuple[int, ...] = ()
    bars: tuple[int, ...] = ()
    five: Answered | None = None

    @property
    def too_few(self) -> bool:
        """True if there are too few records for any answer, judged by n̂."""
        return self.shares is None and self.five is None


def automatic_buckets(epsilon: Fraction, delta: Fraction, scale: Scale, **options: Any) -> Program[Automatic]:
    """Return the program of automatic buckets, (ε, δ)-private under adding or removing one record.

    Parameters
    ----------
    epsilon, delta : Fraction
        The budget.
    scale : Scale
        The scale of the column.
    options
        As for :func:`choose_buckets`.

    Returns
    -------
    generator
        To be run by :func:`flexdp.mechanisms.program.run`.

    Raises
    ------
    InputError
        If ε is so small that a table would be too large.
    """
    return _with_bars(choose_buckets(epsilon, delta, scale, **options), delta)


def _with_bars(chosen: Program[Automatic], delta: Fraction) -> Program[Automatic]:
    published = yield from chosen
    if published.shares is None:
        return published
    reply: Reply = yield Request(cuts=published.edges)
    dropped = DroppedBars(epsilon=published.shares.bars, delta=delta)
    bars = yield Draw(dropped, _differences(reply), "bars", stage="bars")
    return replace(published, bars=bars)


def choose_buckets(
    epsilon: Fraction,
    delta: Fraction,
    scale: Scale,
    *,
    steps: Steps | None = None,
    ends: Span = EVERYTHING,
    rules: Rules = RULES,
    tree_rules: TreeRules = TREE_RULES,
    divide: Callable[[int, Fraction, Fraction], Shares | None] = shares,
    few: int = FEW,
    few_for_bars: int = FEW_FOR_BARS,
    five: Fraction | bool = True,
) -> Program[Automatic]:
    """Return the program that chooses automatic buckets, without their bars: (sε, 0)-private, or ε with five answers.

    Parameters
    ----------
    epsilon, delta : Fraction
        The budget of the whole, bars included.
    scale : Scale
        The scale of the column.
    steps : callable, optional
        The steps between nice edges; decimal ones by default.
    ends : Span, optional
        Public bounds; the column's values must have been clamped to them.
    rules, tree_rules, divide, few, few_for_bars : optional
        Public constants; others than the defaults are for enumeration on small data, and for units.
    five : Fraction or bool, optional
        Give five answers where there are too few records for bars; if not, none. A number is ε of everything where it
        comes to that, at least ``epsilon``: what other answers would have got is theirs.

    Returns
    -------
    generator
        To be run by :func:`flexdp.mechanisms.program.run`.

    Raises
    ------
    InputError
        If ε is so small that a table would be too large.
    """
    if tree_rules.depth is None:
        check_depth(Decay.depth_for(smallest_level(epsilon), 1))
    plan = _Plan(epsilon, delta, scale, decimal_steps(scale) if steps is None else steps, ends, rules, tree_rules)
    return plan.program(divide, few, few_for_bars, five=five)


@dataclass(frozen=True, slots=True)
class _Plan:
    epsilon: Fraction
    delta: Fraction
    scale: Scale
    steps: Steps
    ends: Span
    rules: Rules
    tree_rules: TreeRules

    def program(
        self,
        divide: Callable[[int, Fraction, Fraction], Shares | None],
        few: int,
        few_for_bars: int,
        *,
        five: Fraction | bool,
    ) -> Program[Automatic]:
        epsilon = self.epsilon
        reply: Reply = yield Request()
        counting = NoisyCount(epsilon=epsilon * self.rules.count_share)
        seen: int = yield Draw(counting, reply.total, "records", stage="records")
        published = Automatic(scale=self.scale, epsilon=epsilon, delta=self.delta, records_about=seen)
        whole = epsilon if isinstance(five, bool) else five
        if seen * whole < few:
            return published
        divided = divide(seen, epsilon, self.delta) if seen * epsilon >= few_for_bars else None
        if divided is not None:
            return (yield from self.chosen(published, divided))
        if not five:
            return published
        left = whole * (1 - self.rules.count_share)  # the count took no more than its share of this
        rules = replace(self.rules, few=0)
        answered = yield from ask(FIVE, left, self.scale, rules=rules, ends=self.ends, records_about=seen)
        return replace(published, five=replace(answered, epsilon=whole))

    def chosen(self, published: Automatic, divided: Shares) -> Program[Automatic]:
        """The tree, its leaf counts, and the edges that follow from them."""
        beyond = 2 * divided.reach
        leaves = yield from grow(
            divided.levels, divided.per_level, beyond, self.scale, rules=self.tree_rules, root=self.ends
        )
        reply: Reply = yield Request(cuts=tuple(leaf.high for leaf in leaves[:-1] if leaf.high is not None))
        counts: list[int] = []
        for place, count in enumerate(_differences(reply)):
            counts.append((yield Draw(NoisyCount(epsilon=divided.leaves), count, "leaf", stage="leaves", part=place)))
        edges = edges_from(leaves, counts, divided, self.steps)
        return replace(published, shares=divided, leaves=leaves, leaf_counts=tuple(counts), edges=edges)


def edges_from(
    leaves: Sequence[Span],
    counts: Sequence[int],
    divided: Shares,
    steps: Steps,
    *,
    lonely: bool = True,
    near: bool = True,
) -> tuple[int, ...]:
    """Return the edges that follow from public leaves, counts and shares.

    Parameters
    ----------
    leaves, counts : sequence
        The leaves and their noisy counts.
    divided : Shares
        The division of the budget.
    steps : callable
        The steps between nice edges.
    lonely, near : bool, optional
        As in :func:`flexdp.sharp.edges.edges_of`.

    Returns
    -------
    tuple of int
        In units.
    """
    return _edges(tuple(leaves), tuple(counts), divided, cast(Hashable, steps), lonely, near)


@lru_cache(maxsize=8)  # a release chooses them and checks them: all of it is public
def _edges(
    leaves: tuple[Span, ...], counts: tuple[int, ...], divided: Shares, steps: Any, lonely: bool, near: bool
) -> tuple[int, ...]:
    return edges_of(
        leaves,
        counts,
        reach=divided.reach,
        most=divided.most_buckets,
        thin=3 / divided.leaves,
        steps=steps,
        lonely=lonely,
        near=near,
    )


def _differences(reply: Reply) -> list[int]:
    """The records between neighbouring cuts, and beyond the outermost."""
    before = [0, *reply.before, reply.total]
    return [after - earlier for earlier, after in pairwise(before)]
