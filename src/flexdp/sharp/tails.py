"""The tails of a column: levels beyond a public anchor, answered by ladders or windows, both sides in parallel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain

from flexdp.mechanisms.program import Draw, Program
from flexdp.sharp.goal import Goal
from flexdp.sharp.ladder import Ladder, outermost
from flexdp.sharp.quantile import ExponentialQuantile
from flexdp.sharp.ranks import Near, Reply, Request, Span
from flexdp.sharp.rules import Rules
from flexdp.sharp.scale import Scale

__all__ = ["Climb", "Deep", "SharpAnswer", "answer_tails", "likely_tails"]

_HALF = Fraction(1, 2)


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
        ``"exponential"`` or ``"ladder"``.
    epsilon : Fraction
        What it cost.
    target : int or None
        The public number of records that were to lie beyond it; None where the target is a share of all records.
    """

    level: Fraction
    value: int
    way: str
    epsilon: Fraction
    target: int | None = None


@dataclass(frozen=True, slots=True)
class Deep:
    """A tail's level with many records beyond it."""

    mechanism: ExponentialQuantile
    level: Fraction
    side: int
    records: int


@dataclass(frozen=True, slots=True)
class Climb:
    """A level that a ladder answers."""

    scale: Scale
    anchor: int
    side: int
    level: Fraction
    epsilon: Fraction
    seen: int
    whole: Fraction
    rules: Rules
    ends: Span

    @property
    def refined(self) -> bool:
        return self.seen * self.whole >= self.rules.many

    @property
    def coarse(self) -> Ladder:
        rules = self.rules
        budget = self.epsilon * (1 - rules.refine_share) if self.refined else self.epsilon
        rungs = rules.rungs(self.scale, self.anchor, self.side, self.ends)
        if self.level in (0, 1):
            target, threshold = rules.end_target(budget), rules.end_threshold
        else:
            records = max(0, math.floor(min(self.level, 1 - self.level) * self.seen))
            target, threshold = rules.target(records, budget), _HALF
        return Ladder(
            rungs=rungs, side=self.side, target=target, epsilon=budget, depth=rules.depth, threshold=threshold
        )

    def fine(self, coarse: Ladder, place: int) -> Ladder | None:
        if not self.refined or not place or coarse.rungs.count(coarse.rungs[place]) > 1:
            return None  # there is nothing below an anchor, and an exceptionally round rung is kept
        steps = self.rules.steps(coarse.rungs[place - 1], coarse.rungs[place])
        if len(steps) == 1:
            return None
        budget = self.epsilon * self.rules.refine_share
        return Ladder(rungs=steps, side=self.side, target=coarse.target, epsilon=budget, depth=coarse.depth)


def likely_tails(levels: Sequence[Fraction], reach: int, epsilon: Fraction, rules: Rules, ends: Span) -> list[Near]:
    """Return the windows that the tails will probably need: near their levels, and of the outermost records.

    Parameters
    ----------
    levels : sequence of Fraction
        The levels of both tails.
    reach : int
        How many ranks on either side of a level are wanted.
    epsilon : Fraction
        The least that each level may get.
    rules : Rules
        The public constants.
    ends : Span
        The public bounds.

    Returns
    -------
    list of Near
    """
    near = [Near(goal=Goal.quantile(level), reach=reach, span=ends) for level in levels]
    target, finest = math.ceil(rules.deep / epsilon), epsilon * rules.refine_share
    limit = Ladder(rungs=(), side=1, target=target, epsilon=finest, depth=rules.depth).limit
    return [*near, *outermost(limit, ends, sorted({1 if level > _HALF else -1 for level in levels}))]


def answer_tails(climbs: Sequence[Climb], deep: Sequence[Deep], anchor: int) -> Program[tuple[SharpAnswer, ...]]:
    """Answer the tails: every ladder and window in one request, every refinement in a second."""
    ladders = [climb.coarse for climb in climbs]
    cuts = [ladder.cuts for ladder in ladders]
    reply: Reply = yield Request(
        cuts=tuple(chain.from_iterable(cuts)),
        windows=tuple(each.mechanism.near for each in deep),
        enough=max((ladder.limit for ladder in ladders), default=None),
    )
    answers = []
    for each, window in zip(deep, reply.windows, strict=True):
        value = yield Draw(each.mechanism, window, f"level {each.level}", stage="tails", part=each.side)
        answers.append(
            SharpAnswer(
                level=each.level,
                value=anchor if value is None else value,
                way="exponential",
                epsilon=each.mechanism.epsilon,
                target=each.records,
            )
        )
    places = []
    for climb, ladder, before in zip(climbs, ladders, _parts(reply.before, cuts), strict=True):
        beyond = ladder.beyond(reply.total, before)
        places.append((yield Draw(ladder, beyond, f"level {climb.level}", stage="tails", part=climb.side)))
    fine = [climb.fine(ladder, place) for climb, ladder, place in zip(climbs, ladders, places, strict=True)]
    wanted = [ladder.cuts if ladder is not None else () for ladder in fine]
    if any(wanted):
        limit = max(ladder.limit for ladder in fine if ladder is not None)
        reply = yield Request(cuts=tuple(chain.from_iterable(wanted)), enough=limit)
    for climb, ladder, place, finer, before in zip(
        climbs, ladders, places, fine, _parts(reply.before, wanted), strict=True
    ):
        value = ladder.rungs[place]
        if finer is not None:
            beyond = finer.beyond(reply.total, before)
            step = yield Draw(finer, beyond, f"level {climb.level}, refined", stage="tails", part=climb.side)
            value = finer.rungs[step]
        answers.append(
            SharpAnswer(level=climb.level, value=value, way="ladder", epsilon=climb.epsilon, target=ladder.target)
        )
    return tuple(answers)


def _parts(counts: Sequence[int], cuts: Sequence[Sequence[int]]) -> list[Sequence[int]]:
    out, start = [], 0
    for each in cuts:
        out.append(counts[start : start + len(each)])
        start += len(each)
    return out
