"""Quantiles and extremes of one column from one budget, as a program of private steps.

First the number of records n̂; then an anchor in the middle; then every asked level, by the exponential mechanism
where enough records lie beyond it and by the ladder where not. Shares depend on n̂ alone and add up to ε on every path.

At most three requests are made: the number of records with the windows of the inner levels, the ladders and windows
of the tails, and the refinements of ladders.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from flexdp.mechanisms.program import Draw, Program
from flexdp.noise.exponential import Decay, check_depth
from flexdp.sharp.count import NoisyCount
from flexdp.sharp.goal import Goal
from flexdp.sharp.quantile import ExponentialQuantile
from flexdp.sharp.ranks import EVERYTHING, Near, Reply, Request, Span
from flexdp.sharp.rules import RULES, Rules
from flexdp.sharp.scale import Scale
from flexdp.sharp.tails import Climb, Deep, SharpAnswer, answer_tails, likely_tails

__all__ = [
    "Answered",
    "SharpAnswer",
    "ask",
    "ask_one",
    "ask_several",
    "deepest_table",
    "find_anchor",
    "widest_anchor",
]

_HALF = Fraction(1, 2)
_INNER = (Fraction(1, 20), Fraction(19, 20))
_MIDDLE = (Fraction(1, 4), Fraction(3, 4))


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
    anchor : int or None
        In units; None where none was needed.
    answers : tuple of SharpAnswer
        In order of level, and ascending; empty if there are too few records.
    """

    scale: Scale
    epsilon: Fraction
    records_about: int
    anchor: int | None = None
    answers: tuple[SharpAnswer, ...] = ()

    @property
    def too_few(self) -> bool:
        """True if there are too few records for this ε, judged by n̂."""
        return not self.answers

    def value(self, level: Fraction) -> Fraction:
        """Return the answer at a level that was asked for."""
        return next(self.scale.value(answer.value) for answer in self.answers if answer.level == level)


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
    if len(asked) == 1:
        return ask_one(asked[0], epsilon, scale, rules=rules, ends=ends, records_about=records_about)
    return ask_several(asked, epsilon, scale, rules=rules, ends=ends, records_about=records_about)


def deepest_table(levels: Iterable[Fraction], epsilon: Fraction, rules: Rules = RULES) -> int:
    """Return the largest number of weights that any path of a program may need, to be checked before reading.

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
    asked = sorted(set(levels))
    left = epsilon * (1 - rules.count_share)
    inner, upper, lower = _sides(asked)
    if len(asked) == 1 and _MIDDLE[0] <= asked[0] <= _MIDDLE[1]:
        return Decay.depth_for(left, Goal.quantile(asked[0]).sensitivity)
    anchored = len(asked) == 1 or not inner
    least = left - epsilon * rules.anchor_most if anchored else left
    each = least / (1 if len(asked) == 1 else len(inner) + max(len(upper), len(lower)))
    found = [Decay.depth_for(each, Goal.quantile(level).sensitivity) for level in (asked if anchored else inner)]
    if anchored:
        found.append(Decay.depth_for(epsilon * rules.anchor_least, 1))
    return max(found)


def ask_one(
    level: Fraction,
    epsilon: Fraction,
    scale: Scale,
    *,
    rules: Rules = RULES,
    ends: Span = EVERYTHING,
    records_about: int | None = None,
) -> Program[Answered]:
    """Return the program for exactly one level; parameters as in :func:`ask`."""
    left = epsilon if records_about is not None else epsilon * (1 - rules.count_share)
    middle = _MIDDLE[0] <= level <= _MIDDLE[1]
    if middle:
        inner = _inner(level, left, scale, rules, ends)
        reply: Reply = yield Request(windows=(inner.near,))
    else:
        window = widest_anchor(epsilon, rules, ends)
        least = left - epsilon * rules.anchor_most
        likely = likely_tails([level], window.reach, least, rules, ends)
        reply = yield Request(windows=(window,), likely=tuple(likely))
    seen = records_about if records_about is not None else (yield _counted(reply, epsilon, rules))
    published = Answered(scale=scale, epsilon=epsilon, records_about=seen)
    if seen * epsilon < rules.few:
        return published
    if middle:
        value = _found((yield Draw(inner, reply.windows[0], f"level {level}")), ends)
        return _with(published, None, (SharpAnswer(level=level, value=value, way="exponential", epsilon=left),))
    share = epsilon * rules.anchor_share(seen, epsilon)
    anchor = yield from find_anchor(reply, share, scale, rules, ends)
    rest = left - share
    side, tail = (1, 1 - level) if level > _HALF else (-1, level)
    if tail * seen * epsilon >= rules.deep:
        deep = ExponentialQuantile(
            goal=Goal.quantile(level),
            epsilon=rest,
            prior=rules.around(scale, anchor, side),
            span=ends,
            depth=rules.depth,
        )
        reply = yield Request(windows=(deep.near,))
        value = _found((yield Draw(deep, reply.windows[0], f"level {level}")), ends)
        return _with(published, anchor, (SharpAnswer(level=level, value=value, way="exponential", epsilon=rest),))
    climb = Climb(scale, anchor, side, level, rest, seen, epsilon, rules, ends)
    answers = yield from answer_tails([climb], [], anchor)
    return _with(published, anchor, answers)


def ask_several(
    levels: Iterable[Fraction],
    epsilon: Fraction,
    scale: Scale,
    *,
    rules: Rules = RULES,
    ends: Span = EVERYTHING,
    records_about: int | None = None,
) -> Program[Answered]:
    """Return the program for several levels: inner ones one after another, the two tails in parallel.

    The tails use only records strictly beyond the anchor, and public targets. Parameters as in :func:`ask`.
    """
    inner_levels, upper, lower = _sides(sorted(set(levels)))
    units = len(inner_levels) + max(len(upper), len(lower))
    left = epsilon if records_about is not None else epsilon * (1 - rules.count_share)
    if inner_levels:
        inner = [_inner(level, left / units, scale, rules, ends) for level in inner_levels]
        windows = tuple(each.near for each in inner)
    else:
        windows = (widest_anchor(epsilon, rules, ends),)
    reach = max(near.reach for near in windows)
    least = (left if inner_levels else left - epsilon * rules.anchor_most) / units
    likely = likely_tails([*upper, *lower], 4 * reach, least, rules, ends)
    reply: Reply = yield Request(windows=windows, likely=tuple(likely))
    seen = records_about if records_about is not None else (yield _counted(reply, epsilon, rules))
    published = Answered(scale=scale, epsilon=epsilon, records_about=seen)
    if seen * epsilon < rules.few:
        return published
    answers: list[SharpAnswer] = []
    if inner_levels:
        each = left / units
        values = []
        for level, mechanism, window in zip(inner_levels, inner, reply.windows, strict=True):
            values.append(_found((yield Draw(mechanism, window, f"level {level}")), ends))
        values.sort()
        for level, value in zip(inner_levels, values, strict=True):
            answers.append(SharpAnswer(level=level, value=value, way="exponential", epsilon=each))
        anchor = _short(min(answers, key=lambda answer: abs(answer.level - _HALF)).value, scale, ends)
    else:
        share = epsilon * rules.anchor_share(seen, epsilon)
        anchor = yield from find_anchor(reply, share, scale, rules, ends)
        each = (left - share) / units
    climbs: list[Climb] = []
    deep: list[Deep] = []
    for side, side_levels in ((1, upper), (-1, lower)):
        for level in side_levels:
            records = max(0, math.floor(min(level, 1 - level) * seen))
            if records * each >= rules.deep:
                span = Span(anchor + 1, ends.high) if side > 0 else Span(ends.low, anchor)
                mechanism = ExponentialQuantile(
                    goal=Goal.beyond(records, side),
                    epsilon=each,
                    prior=rules.around(scale, anchor, side),
                    span=span,
                    edge=anchor,
                    depth=rules.depth,
                )
                deep.append(Deep(mechanism, level, side, records))
            else:
                climbs.append(Climb(scale, anchor, side, level, each, seen, epsilon, rules, ends))
    if climbs or deep:
        tails = yield from answer_tails(climbs, deep, anchor)
        for side_levels in (lower, upper):
            found = sorted((t for t in tails if t.level in side_levels), key=lambda t: t.level)
            for answer, value in zip(found, sorted(t.value for t in found), strict=True):
                answers.append(replace(answer, value=value))
    return _with(published, anchor, tuple(answers))


def _sides(levels: Sequence[Fraction]) -> tuple[list[Fraction], list[Fraction], list[Fraction]]:
    """The inner levels, the upper tail's, and the lower tail's."""
    inner = [level for level in levels if _INNER[0] < level < _INNER[1]]
    return inner, [level for level in levels if level >= _INNER[1]], [level for level in levels if level <= _INNER[0]]


def _counted(reply: Reply, epsilon: Fraction, rules: Rules) -> Draw:
    return Draw(NoisyCount(epsilon=epsilon * rules.count_share), reply.total, "records", stage="records")


def _inner(level: Fraction, epsilon: Fraction, scale: Scale, rules: Rules, ends: Span) -> ExponentialQuantile:
    return ExponentialQuantile(
        goal=Goal.quantile(level), epsilon=epsilon, prior=rules.universal(scale), span=ends, depth=rules.depth
    )


def widest_anchor(epsilon: Fraction, rules: Rules, ends: Span) -> Near:
    """Return the anchor's window before its share is known: that of the smallest share, the widest."""
    depth = Decay.depth_for(epsilon * rules.anchor_least, 1) if rules.depth is None else rules.depth
    return Near(goal=Goal.quantile(_HALF), reach=-(-depth // 2) + 1, span=ends)


def find_anchor(reply: Reply, share: Fraction, scale: Scale, rules: Rules, ends: Span) -> Program[int]:
    """Return the program that finds the anchor, the median to fifteen digits, from the window of `widest_anchor`."""
    mechanism = _inner(_HALF, share, scale, rules, ends)
    value = _found((yield Draw(mechanism, reply.windows[0], "anchor", stage="anchor")), ends)
    return _short(value, scale, ends)


def _short(value: int, scale: Scale, ends: Span) -> int:
    """A value to fifteen digits; or a bound that has more, since rounding must not lead beyond it."""
    short = scale.short(value)
    if ends.low is not None:
        short = max(short, ends.low)
    return short if ends.high is None else min(short, ends.high - 1)


def _found(value: int | None, ends: Span) -> int:
    """An outcome, or the lower bound where the bounds hold no candidate."""
    if value is not None:
        return value
    return 0 if ends.low is None else ends.low


def _with(published: Answered, anchor: int | None, answers: Sequence[SharpAnswer]) -> Answered:
    """The result with its answers in order: by level, and never descending."""
    ordered: list[SharpAnswer] = []
    for answer in sorted(answers, key=lambda each: each.level):
        ordered.append(replace(answer, value=max(answer.value, ordered[-1].value)) if ordered else answer)
    return replace(published, anchor=anchor, answers=tuple(ordered))
