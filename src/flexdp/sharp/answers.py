"""Quantiles and extremes of one column from one budget, as a program of private steps.

First the number of records n̂, which decides on everything that follows; then all levels that have enough records
beyond them, from one tree of cuts; then the others, by ladders that climb from the outermost cuts, both sides in
parallel:

    asked     0        ¼        ½        ¾     .99      1        n̂ = 10 000, ε = 1
    tree               ●────────●────────●──────●                 3 levels of cuts
    ladders   ◀────────┘                        └──────▶          1 level, each uses the records of its side alone

A single level is what it always was: cut once, where it lies in the middle; else a small share finds an anchor, from
which it is cut or climbed to.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import chain

from flexdp.mechanisms.program import Draw, Program
from flexdp.noise.exponential import Decay, check_depth
from flexdp.sharp.count import NoisyCount
from flexdp.sharp.goal import Goal
from flexdp.sharp.halving import every_node, halve, tree_depth
from flexdp.sharp.ladder import Ladder, outermost
from flexdp.sharp.ranks import EVERYTHING, Reply, Request, Span
from flexdp.sharp.rules import RULES, Rules
from flexdp.sharp.rungs import Rungs
from flexdp.sharp.scale import Scale

__all__ = ["Answered", "Division", "SharpAnswer", "ask", "climb", "count_records", "deepest_table", "divide"]

_HALF = Fraction(1, 2)
_MIDDLE = (Fraction(1, 4), Fraction(3, 4))


@dataclass(frozen=True, slots=True, kw_only=True)
class SharpAnswer:
    """One published answer.

    Parameters
    ----------
    level : Fraction
        0 for the minimum, 1 for the maximum.
    value : int
        In units.
    way : str
        ``"cut"`` or ``"ladder"``.
    epsilon : Fraction
        What its own step cost.
    target : int or None
        Of a ladder, the public number of records that were to lie beyond it.
    """

    level: Fraction
    value: int
    way: str
    epsilon: Fraction
    target: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """Everything that a program of sharp answers publishes.

    Parameters
    ----------
    scale : Scale
        The scale of the column.
    epsilon : Fraction
        The budget.
    records_about : int
        n̂.
    helpers : tuple of pair
        Levels that were cut without having been asked for, with their values in units.
    answers : tuple of SharpAnswer
        In order of level, and ascending; empty if there are too few records.
    """

    scale: Scale
    epsilon: Fraction
    records_about: int
    helpers: tuple[tuple[Fraction, int], ...] = ()
    answers: tuple[SharpAnswer, ...] = ()

    @property
    def too_few(self) -> bool:
        """True if there are too few records for this ε, judged by n̂."""
        return not self.answers

    def value(self, level: Fraction) -> Fraction:
        """Return the answer at a level that was asked for."""
        return next(self.scale.value(answer.value) for answer in self.answers if answer.level == level)


@dataclass(frozen=True, slots=True)
class Division:
    """What a number of records leads to: which levels are cut, which are climbed to, and ε of each step.

    Parameters
    ----------
    cut : tuple of Fraction
        Levels of the tree, helpers among them.
    epsilons : tuple of Fraction
        ε of each level of the tree.
    climbed : tuple of Fraction
        Levels of the ladders.
    each : Fraction
        ε of each ladder; 0 without any.
    single : tuple of (Fraction, Fraction), optional
        A single tail's level that is cut around the anchor that the tree finds, and its ε.
    """

    cut: tuple[Fraction, ...]
    epsilons: tuple[Fraction, ...]
    climbed: tuple[Fraction, ...] = ()
    each: Fraction = Fraction(0)
    single: tuple[Fraction, Fraction] | None = None


def divide(levels: Sequence[Fraction], records: int, left: Fraction, whole: Fraction, rules: Rules = RULES) -> Division:
    """Divide what is left of a budget between cuts and ladders, by a public number of records.

    Parameters
    ----------
    levels : sequence of Fraction
        The asked levels, ascending.
    records : int
        n̂.
    left, whole : Fraction
        The ε to be divided, and that of the whole program.
    rules : Rules, optional
        The public constants.

    Returns
    -------
    Division

    Examples
    --------
    >>> found = divide([Fraction(0), Fraction(1, 2), Fraction(1)], 10_000, Fraction(24, 25), Fraction(1))
    >>> found.cut == (Fraction(1, 2),), found.climbed == (0, 1), found.each == found.epsilons[0] == Fraction(12, 25)
    (True, True, True)
    """
    size = records * whole
    share = whole * rules.anchor_share(records, whole)
    if len(levels) == 1:
        (level,) = levels
        if _MIDDLE[0] <= level <= _MIDDLE[1]:
            return Division((level,), (left,))
        if _tail(level) * size >= rules.deep:
            return Division((_HALF,), (share,), single=(level, left - share))
    units = left / (tree_depth(len(levels)) + 1)
    climbed = tuple(level for level in levels if len(levels) == 1 or _tail(level) * records * units < rules.far)
    cut = tuple(level for level in levels if level not in climbed)
    ladders = max(sum(level > _HALF for level in climbed), sum(level <= _HALF for level in climbed))
    ends = {1 if level > _HALF else -1 for level in climbed}
    if not cut:
        depth = len(ends)
        beyond = rules.anchor_records * depth / (share * max(1, records))
        helpers = (_HALF,) if beyond > rules.anchor_tail else tuple(_at(beyond, side) for side in sorted(ends))
        depth = tree_depth(len(helpers))
        return Division(helpers, (share / depth,) * depth, climbed, (left - share) / ladders)
    if size >= rules.many:
        beyond = Fraction(rules.near_records) / size
        outer = {1: 1 - cut[-1], -1: cut[0]}
        helped = {_at(beyond, side) for side in ends if (side > 0) in climbed and outer[side] > 4 * beyond}
        cut = tuple(sorted({*cut, *helped}))
    depth = tree_depth(len(cut))
    each = left / (depth + ladders)
    return Division(cut, (each,) * depth, climbed, each if climbed else Fraction(0))


def _tail(level: Fraction) -> Fraction:
    return min(level, 1 - level)


def _at(tail: Fraction, side: int) -> Fraction:
    return 1 - tail if side > 0 else tail


def ask(
    levels: Iterable[Fraction],
    epsilon: Fraction,
    scale: Scale,
    *,
    rules: Rules = RULES,
    ends: Span = EVERYTHING,
    records_about: int | None = None,
) -> Program[Answered]:
    """Return the program that answers some levels with (ε, 0)-privacy under adding or removing one record.

    Parameters
    ----------
    levels : iterable of Fraction
        Levels in [0, 1]; repeated ones are asked once. 0 and 1 are the minimum and the maximum.
    epsilon : Fraction
        The budget of all answers together.
    scale : Scale
        The scale of the column.
    rules : Rules, optional
        The public constants.
    ends : Span, optional
        Public bounds; the column's values must have been clamped to them.
    records_about : int, optional
        A number of records that is already public and takes the place of n̂.

    Returns
    -------
    generator
        To be run by :func:`flexdp.mechanisms.program.run`.

    Raises
    ------
    InputError
        If ε is so small that a table would be too large.
    """
    asked = sorted(set(levels))
    if rules.depth is None:
        check_depth(deepest_table(asked, epsilon, rules))
    return _answers(asked, epsilon, scale, rules, ends, records_about)


def _answers(
    levels: Sequence[Fraction], epsilon: Fraction, scale: Scale, rules: Rules, ends: Span, records_about: int | None
) -> Program[Answered]:
    left = epsilon
    if records_about is None:
        records_about = yield from count_records(epsilon, rules)
        left = epsilon * (1 - rules.count_share)
    published = Answered(scale=scale, epsilon=epsilon, records_about=records_about)
    if records_about * epsilon < rules.few:
        return published
    division = divide(levels, records_about, left, epsilon, rules)
    sides = sorted({1 if level > _HALF else -1 for level in division.climbed})
    limits = [_ladder(level, None, 1, division.each, records_about, rules).limit for level in division.climbed]
    near = outermost(max(limits), ends, sides) if limits else ()
    cuts = yield from halve(division.cut, division.epsilons, scale, ends=ends, rules=rules.tree, likely=near)
    values = dict(cuts)
    if division.single is not None:
        values |= yield from _single(*division.single, cuts[_HALF], scale, rules, ends)
    spent = division.epsilons[0] if division.single is None else division.single[1]
    found = [
        SharpAnswer(level=level, value=values[level], way="cut", epsilon=spent) for level in levels if level in values
    ]
    if division.climbed:
        found += yield from _climbs(division, cuts, scale, records_about, rules, ends)
    helpers = tuple((level, value) for level, value in cuts.items() if level not in levels)
    return replace(published, helpers=helpers, answers=tuple(sorted(found, key=lambda each: each.level)))


def count_records(epsilon: Fraction, rules: Rules = RULES) -> Program[int]:
    """Return the program that finds n̂."""
    reply: Reply = yield Request()
    counting = NoisyCount(epsilon=epsilon * rules.count_share)
    records: int = yield Draw(counting, reply.total, "records", stage="records")
    return records


def _single(
    level: Fraction, epsilon: Fraction, anchor: int, scale: Scale, rules: Rules, ends: Span
) -> Program[dict[Fraction, int]]:
    """Cut all records at one level, with candidates around a public anchor."""
    prior = rules.around(scale, anchor, 1 if level > _HALF else -1)
    return halve((level,), (epsilon,), scale, ends=ends, rules=replace(rules.tree, prior=lambda *_: prior))


def start_of(division: Division, side: int, records: int, rules: Rules) -> Fraction:
    """Return the level of the cut from which a side is climbed: the outermost with enough records beyond it.

    Rungs are the finer the nearer they are, and each may stop the climb: with few records they had better be coarse.
    """
    enough = [level for level in division.cut if (level > _HALF) == (side > 0)
              and _tail(level) * records * division.each >= rules.near]  # fmt: skip
    nearest = min(division.cut, key=lambda level: abs(level - _HALF))
    return max(enough, key=lambda level: abs(level - _HALF), default=nearest)


def climb(scale: Scale, cut: int, side: int, ends: Span, spread: int, rules: Rules) -> Rungs:
    """Return the rungs from a public cut outwards, with their halvings; engines compare the anchor exactly."""
    anchor = scale.short(cut, side)
    if side > 0 and ends.high is not None:
        anchor = min(anchor, ends.high - 1)
    if side < 0 and ends.low is not None:
        anchor = max(anchor, ends.low)
    return rules.rungs(scale, anchor, side, ends, spread)


def _ladder(level: Fraction, rungs: Rungs | None, side: int, epsilon: Fraction, records: int, rules: Rules) -> Ladder:
    """The ladder to a level, by a public number of records."""
    values, halvings, _ = rungs or ((), (), ())
    target, threshold = rules.end_target(epsilon), rules.end_threshold
    if level not in (0, 1):
        target, threshold = rules.target(max(0, math.floor(_tail(level) * records)), epsilon), _HALF
    return Ladder(
        rungs=values,
        side=side,
        target=target,
        epsilon=epsilon,
        depth=rules.depth,
        threshold=threshold,
        halvings=halvings,
    )


def _climbs(
    division: Division, cuts: Mapping[Fraction, int], scale: Scale, records: int, rules: Rules, ends: Span
) -> Program[list[SharpAnswer]]:
    """Climb to all levels beyond the outermost cuts: one request, and both sides use different records."""
    low, high = (cuts[division.cut[place]] for place in (0, -1))
    ladders: list[tuple[Fraction, Ladder]] = []
    for side in (-1, 1):
        levels = [level for level in division.climbed if (level > _HALF) == (side > 0)]
        if levels:
            anchor = cuts[start_of(division, side, records, rules)]
            rungs = climb(scale, anchor, side, ends, high - low, rules)
            ladders += [(level, _ladder(level, rungs, side, division.each, records, rules)) for level in levels]
    reply: Reply = yield Request(
        cuts=tuple(chain.from_iterable(ladder.cuts for _, ladder in ladders)),
        enough=max(ladder.enough for _, ladder in ladders),
    )
    start, values = 0, dict[Fraction, int]()
    for level, ladder in ladders:
        beyond = ladder.beyond(reply.total, reply.before[start : start + len(ladder.rungs)])
        start += len(ladder.rungs)
        place = yield Draw(ladder, beyond, f"level {level}", stage="ladders", part=ladder.side)
        values[level] = ladder.rungs[place]
    ordered = []
    for side in (-1, 1):  # those of a side may cross
        own = [(level, ladder) for level, ladder in ladders if ladder.side == side]
        for (level, ladder), rung in zip(own, sorted(values[level] for level, _ in own), strict=True):
            value = max(rung, high) if side > 0 else min(rung, low)
            ordered.append(
                SharpAnswer(level=level, value=value, way="ladder", epsilon=ladder.epsilon, target=ladder.target)
            )
    return ordered


def deepest_table(levels: Iterable[Fraction], epsilon: Fraction, rules: Rules = RULES) -> int:
    """Return the largest number of weights that any path of a program may need, to be checked before reading.

    It follows the program for numbers of records of every size: between those, shares and ways change one way only.

    Parameters
    ----------
    levels : iterable of Fraction
        As in :func:`ask`.
    epsilon : Fraction
        The budget.
    rules : Rules, optional
        The public constants.

    Returns
    -------
    int

    Examples
    --------
    >>> deepest_table([Fraction(1)], Fraction(1)), deepest_table([Fraction(1, 2)], Fraction(1))
    (7000, 146)
    """
    return _deepest(tuple(sorted(set(levels))), epsilon, rules)


@lru_cache(maxsize=64)
def _deepest(asked: tuple[Fraction, ...], epsilon: Fraction, rules: Rules) -> int:
    left, deepest = epsilon * (1 - rules.count_share), 0
    sizes = {rules.few, rules.many - 1, rules.many, 10**12, *(2**k for k in range(7, 40))}
    turning = {bound / _tail(level) for level in asked if _tail(level) for bound in (rules.deep, rules.far)}
    for size in sorted({*sizes, *(math.ceil(each) + more for each in turning for more in (-1, 0))}):
        division = divide(asked, math.ceil(size / epsilon), left, epsilon, rules)
        tables = [
            Decay.depth_for(division.epsilons[depth], Goal.quantile(node.share(node.level)).sensitivity)
            for depth, node in every_node(division.cut)
        ]
        if division.single is not None:
            tables.append(Decay.depth_for(division.single[1], Goal.quantile(division.single[0]).sensitivity))
        deepest = max(deepest, *tables)
    return deepest
