"""The tree that finds where the records are: halve every node again and again, all nodes of a level in parallel.

A node is a span of values. Its split is an exponential median of its own records; on the last level the two outer
nodes are split by a ladder instead, so that the open ends keep a few records only. A value that holds more than about
half of its node becomes a node of its own, a point.

**Why a level costs ε′.** The nodes are disjoint given public cuts, so one record is in one of them; there it changes
the losses by at most 1 (B = 2, M = 1), or the counts of a ladder by at most 1. The ladder's target is public.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain

from flexdp.mechanisms.program import Draw, Program
from flexdp.noise.exponential import Decay
from flexdp.sharp.cut import Cut
from flexdp.sharp.goal import Goal
from flexdp.sharp.ladder import Ladder, outermost
from flexdp.sharp.prior import Prior, around, between, universal
from flexdp.sharp.ranks import EVERYTHING, Near, Reply, Request, Span
from flexdp.sharp.rungs import single_rungs
from flexdp.sharp.scale import Scale

__all__ = ["TREE_RULES", "TreeRules", "grow", "node_prior"]

_HALF = Goal.quantile(Fraction(1, 2))


def node_prior(scale: Scale, node: Span) -> Prior:
    """Return the prior of a node's split: universal for the root, around its only end, or between its ends.

    Parameters
    ----------
    scale : Scale
        The scale of the column.
    node : Span
        The node.

    Returns
    -------
    Prior
    """
    low, high = (None if cut is None else scale.short(cut) for cut in (node.low, node.high))
    if low is None and high is None:
        return universal(scale)
    if low is not None and high is not None and low < high:
        return between(scale, low, high)
    if low is not None:
        return around(scale, low, 1)
    assert high is not None
    return around(scale, high, -1)


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeRules:
    """The public candidates of a tree.

    Parameters
    ----------
    prior : callable
        The prior of a node's split.
    rungs : callable
        The rungs from an outer node's finite end.
    depth : int, optional
        K of every table of weights; for enumeration on small data.
    """

    prior: Callable[[Scale, Span], Prior] = node_prior
    rungs: Callable[[Scale, int, int, Span], tuple[int, ...]] = single_rungs
    depth: int | None = None


TREE_RULES = TreeRules()


def grow(
    levels: int,
    epsilon: Fraction,
    beyond: int,
    scale: Scale,
    *,
    rules: TreeRules = TREE_RULES,
    root: Span = EVERYTHING,
) -> Program[tuple[Span, ...]]:
    """Return the program that grows a tree and publishes its leaves.

    Parameters
    ----------
    levels : int
        D; there are D + 1 levels of splits, and one request a level.
    epsilon : Fraction
        ε of each level.
    beyond : int
        How many records the open ends should keep, a public number.
    scale : Scale
        The scale of the column.
    rules : TreeRules, optional
        The public candidates.
    root : Span, optional
        Public bounds; the column's values must have been clamped to them.

    Returns
    -------
    generator
        Returns the leaves, in order.
    """
    target = max(beyond, math.ceil(3 / epsilon))
    nodes, likely = [root], _likely(levels, epsilon, target, rules, root)
    for level in range(levels + 1):
        plans = [_plan(node, level == levels, epsilon, target, scale, rules, root) for node in nodes]
        windows = tuple(
            Near(goal=plan.goal, reach=plan.reach, span=node)
            for node, plan in zip(nodes, plans, strict=True)
            if isinstance(plan, Cut)
        )
        cuts = [plan.cuts if isinstance(plan, Ladder) else () for plan in plans]
        if not windows and not any(cuts):
            break
        limit = max((plan.limit for plan in plans if isinstance(plan, Ladder)), default=None)
        every = tuple(chain.from_iterable(cuts))
        reply: Reply = yield Request(cuts=every, windows=windows, likely=likely, enough=limit)
        found, counted = iter(reply.windows), 0
        grown: list[Span] = []
        for place, (node, plan) in enumerate(zip(nodes, plans, strict=True)):
            cut = None
            if isinstance(plan, Cut):
                cut = yield Draw(plan, next(found), "split", stage=("tree", level), part=place)
                if cut is not None and cut == node.low:
                    cut += 1  # the value itself becomes a point
            elif isinstance(plan, Ladder):
                before = reply.before[counted : counted + len(plan.rungs)]
                counted += len(plan.rungs)
                rung = yield Draw(plan, plan.beyond(reply.total, before), "end", stage=("tree", level), part=place)
                cut = plan.rungs[rung]
            grown += _split(node, cut)
        nodes = grown
    return tuple(nodes)


def _likely(levels: int, epsilon: Fraction, target: int, rules: TreeRules, root: Span) -> tuple[Near, ...]:
    """Return the windows that the splits of all levels will probably need, if each divides its node in halves."""
    depth = Decay.depth_for(epsilon, 1) if rules.depth is None else rules.depth
    parts, reach = 2 << levels, depth  # a split takes half as many records, and the splits above it shift it a little
    inner = (Near(goal=Goal(level=Fraction(i, parts), units=1), reach=reach, span=root) for i in range(1, parts))
    limit = Ladder(rungs=(), side=1, target=target, epsilon=epsilon, depth=rules.depth).limit
    return (*inner, *outermost(limit, root))


def _plan(
    node: Span, last: bool, epsilon: Fraction, target: int, scale: Scale, rules: TreeRules, root: Span
) -> Cut | Ladder | None:
    """Return the mechanism that splits a node; None for a point."""
    if node.low is not None and node.high is not None and node.high - node.low <= 1:
        return None
    outer_low, outer_high = node.low == root.low, node.high == root.high
    if last and outer_low != outer_high:
        side, end = (1, node.low) if outer_high else (-1, node.high)
        assert end is not None
        rungs = rules.rungs(scale, end, side, root)
        return Ladder(rungs=rungs, side=side, target=target, epsilon=epsilon, depth=rules.depth)
    last_value = None if node.high is None else node.high - 1
    return Cut(
        goal=_HALF,
        epsilon=epsilon,
        prior=rules.prior(scale, node),
        low=node.low,
        high=last_value,
        shares=1,
        depth=rules.depth,
    )


def _split(node: Span, cut: int | None) -> Sequence[Span]:
    inside = cut is not None and (node.low is None or node.low < cut) and (node.high is None or cut < node.high)
    return [Span(node.low, cut), Span(cut, node.high)] if inside else [node]
