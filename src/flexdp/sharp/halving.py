"""Recursive halving: all levels of a column, or a whole distribution, from one tree of cuts.

A node is what cuts leave over: a run of neighbouring records of the sorted column, whatever its cuts were, between two
public values. A level near its middle is cut first, then both halves alike:

    ranks      0 ─────────────────────────────────────── n        levels ⅛ … ⅞
    1st cut    │              (7, 3/8) │                 │        ½ of all records, ε′ of the first level
    2nd cuts   │     (2, 0) │          │   (9, 1/5) │    │        ½ of each half, ε″: one record is in one of them
    3rd cuts   │  │      │  │    │     │     │      │  │ │        public: the values 2 7 9 …; private: all ranks

**Why a level costs its ε.** Give the column one more record x. At each cut one child gets one record more, and the
other stays as it is (:mod:`flexdp.sharp.cut`). By induction, given the cuts so far, exactly one node of a level
differs, by one record. All others have the same data and the same law, so the level's ratio is that of one cut. Levels
add up.

What makes this true, and must stay: a share is one of the node's *own* ties, at every level anew; the target comes from
the node's own number of records, which is private; no node is left out because it is small or empty; and a node ends
only by public numbers, its ends and its levels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain

from flexdp.mechanisms.program import Draw, Program
from flexdp.noise.exponential import Decay
from flexdp.sharp.cut import SHARES, Cut
from flexdp.sharp.goal import Goal
from flexdp.sharp.prior import Mixture, Prior, around, between, universal
from flexdp.sharp.ranks import EVERYTHING, Near, Reply, Request, Span
from flexdp.sharp.scale import Scale

__all__ = ["Node", "every_node", "halve", "node_prior", "tree_depth"]

_HALF = Fraction(1, 2)


def node_prior(scale: Scale, low: int | None, high: int | None) -> Prior:
    """Return the prior between public ends: half of it knows nothing, so that every value is a candidate.

    Parameters
    ----------
    scale : Scale
        The scale of the column.
    low, high : int or None
        The ends; two different ones, if both are given.

    Returns
    -------
    Prior
    """
    if low is not None and high is not None:
        return Mixture(between(scale, low, high), universal(scale))
    if low is not None:
        return around(scale, low, 1)
    return universal(scale) if high is None else around(scale, high, -1)


def tree_depth(levels: int) -> int:
    """Return how many cuts deep a tree over so many levels is."""
    return levels.bit_length()


@dataclass(frozen=True, slots=True)
class Node:
    """Records of neighbouring ranks (private) between two values (public), and the levels to be cut among them.

    ``start`` and ``end`` are the levels at which the node ought to begin and end; None is no public value. At most
    ``depth`` levels of cuts are left.
    """

    levels: tuple[Fraction, ...]
    start: Fraction
    end: Fraction
    low: int | None
    high: int | None
    first: int = 0
    last: int = 0
    depth: int = 0

    @property
    def is_done(self) -> bool:
        """True if no level is left, or all records have one value, which is public then."""
        return not self.levels or self.value is not None

    @property
    def value(self) -> int | None:
        """The only value between the ends."""
        return self.low if self.low is not None and self.high is not None and self.low >= self.high else None

    @property
    def outermost(self) -> int:
        """One of its ends; 0 if it has none."""
        return (self.high or 0) if self.low is None else self.low

    @property
    def place(self) -> int:
        """Which of the levels is cut first: the one nearest the middle that leaves few enough on either side."""
        most, count = (1 << self.depth - 1) - 1, len(self.levels)
        allowed = range(max(0, count - 1 - most), min(count, most + 1))
        return min(allowed, key=lambda place: abs(self.share(self.levels[place]) - _HALF))

    @property
    def level(self) -> Fraction:
        """The level that is cut first."""
        return self.levels[self.place]

    def share(self, level: Fraction) -> Fraction:
        """Return the share of the node's records that a level leaves on the left."""
        return (level - self.start) / (self.end - self.start)

    def cut(self, epsilon: Fraction, scale: Scale, rules: CutRules) -> Cut:
        """Return the mechanism that cuts the node."""
        return Cut(
            goal=Goal.quantile(self.share(self.level)),
            epsilon=epsilon,
            prior=rules.prior(scale, self.low, self.high),
            low=self.low,
            high=self.high,
            shares=rules.shares if len(self.levels) > 1 else 1,
            depth=rules.depth,
        )

    def near(self, cut: Cut) -> Near:
        """Return the window that a cut needs, by ranks of the whole column."""
        rank = self.first + cut.goal.target(self.last - self.first) // cut.goal.units
        return Near(goal=Goal.beyond(rank, -1), reach=cut.reach + 1)

    def split(self, value: int, share: Fraction, start: int, end: int) -> tuple[Node, Node]:
        """Return both sides of a cut at a value; its ties in the column have the ranks from ``start`` up to ``end``."""
        start, end = (min(max(rank, self.first), self.last) for rank in (start, end))
        rank, place, depth = start + int((end - start) * share), self.place, self.depth - 1
        return (
            Node(self.levels[:place], self.start, self.level, self.low, value, self.first, rank, depth),
            Node(self.levels[place + 1 :], self.level, self.end, value, self.high, rank, self.last, depth),
        )

    def __repr__(self) -> str:
        return f"<Node {self.start} to {self.end}>"  # its ranks are private


def every_node(levels: Sequence[Fraction]) -> Iterator[tuple[int, Node]]:
    """Yield the nodes of a tree over some levels, each after the one that it is part of, with their depth from 0 on."""
    ordered = tuple(sorted(levels))
    waiting = [(0, Node(ordered, Fraction(0), Fraction(1), None, None, depth=tree_depth(len(ordered))))]
    while waiting:
        depth, node = waiting.pop()
        if node.levels:
            yield depth, node
            waiting += [(depth + 1, child) for child in node.split(0, Fraction(0), 0, 0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class CutRules:
    """The public candidates of a tree.

    Parameters
    ----------
    prior : callable
        The prior of a node.
    shares : int
        How finely ties are shared; see :class:`~flexdp.sharp.cut.Cut`.
    depth : int, optional
        K of every table of weights; for enumeration on small data.
    """

    prior: Callable[[Scale, int | None, int | None], Prior] = node_prior
    shares: int = SHARES
    depth: int | None = None


CUT_RULES = CutRules()


def halve(
    levels: Sequence[Fraction],
    epsilons: Sequence[Fraction],
    scale: Scale,
    *,
    ends: Span = EVERYTHING,
    rules: CutRules = CUT_RULES,
    likely: Sequence[Near] = (),
    name: str = "level",
) -> Program[dict[Fraction, int]]:
    """Return the program that cuts a column at some levels.

    Parameters
    ----------
    levels : sequence of Fraction
        Different levels strictly between 0 and 1.
    epsilons : sequence of Fraction
        ε of all cuts of each level of the tree, from the root on; at least as many as the tree is deep.
    scale : Scale
        The scale of the column.
    ends : Span, optional
        Public bounds; the column's values must have been clamped to them.
    rules : CutRules, optional
        The public candidates.
    likely : sequence of Near, optional
        Windows that will be asked for afterwards.
    name : str, optional
        What the cuts are called in the account, each with its level.

    Returns
    -------
    generator
        Returns the value of each level, ascending with it.
    """
    ordered = tuple(sorted(levels))
    reply: Reply = yield Request()
    high = None if ends.high is None else ends.high - 1
    nodes = [Node(ordered, Fraction(0), Fraction(1), ends.low, high, 0, reply.total, tree_depth(len(ordered)))]
    found: dict[Fraction, int] = {}
    for depth, epsilon in enumerate(epsilons):
        for node in nodes:
            if node.value is not None:
                found.update(dict.fromkeys(node.levels, node.value))
        nodes = [node for node in nodes if not node.is_done]
        if not nodes:
            break
        cuts = [node.cut(epsilon, scale, rules) for node in nodes]
        windows = tuple(node.near(cut) for node, cut in zip(nodes, cuts, strict=True))
        further = () if depth else (*_likely(ordered, epsilons, ends, rules), *likely)
        reply = yield Request(windows=windows, likely=further)
        drawn: list[tuple[int, Fraction]] = []
        for place, (node, cut, window) in enumerate(zip(nodes, cuts, reply.windows, strict=True)):
            inside = window.within(node.first, node.last)
            position: int | None = yield Draw(cut, inside, f"{name} {node.level}", stage=("tree", depth), part=place)
            if position is None:  # no candidate lies between the ends, which is public
                position = node.outermost * cut.shares
            value, share = divmod(position, cut.shares)
            drawn.append((value, Fraction(share, cut.shares)))
            found[node.level] = value
        reply = yield Request(cuts=tuple(chain.from_iterable((value, value + 1) for value, _ in drawn)))
        nodes = [
            child
            for place, (node, (value, share)) in enumerate(zip(nodes, drawn, strict=True))
            for child in node.split(value, share, *reply.before[2 * place : 2 * place + 2])
        ]
    return {level: found[level] for level in ordered}


def _likely(levels: Sequence[Fraction], epsilons: Sequence[Fraction], ends: Span, rules: CutRules) -> tuple[Near, ...]:
    """The windows that all cuts will probably need: those of the cuts above have moved theirs a little."""
    if not levels:
        return ()
    reach = Decay.depth_for(min(epsilons[: tree_depth(len(levels))]), 1) if rules.depth is None else rules.depth
    return tuple(Near(goal=Goal(level=level, units=1), reach=reach, span=ends) for level in levels)
