"""One cut: where a node's records are divided, drawn by the exponential mechanism with integer weights.

A cut is a value v and a share j/S of the records at v. It sends left every record below v and ⌊c·j/S⌋ of the c records
at v, and the rest right:

    records   2 3 7 7 7 7 7 9      cut (7, 1/2) of S = 2:  left 2 3 7 7 | right 7 7 7 9       ⌊5/2⌋ = 2 of the sevens
                                   cut (5, 0):             left 2 3     | right 7 7 7 7 7 9

**Why it is private.** One more record x sends one record more to one side and none to the other: where x ties with v,
⌊(c + 1)j/S⌋ − ⌊cj/S⌋ is 0 or 1. So k, the number of records sent left, changes by 0 or 1 for every fixed cut, the
target T by ⌊B·level⌋ or ⌈B·level⌉, and the loss |B·k − T| by at most M (:class:`~flexdp.sharp.goal.Goal`). Weights
prior × g(loss) then change by e^(ε/2) at most, and every probability by e^ε (:mod:`flexdp.noise.exponential`). All
ratios lie within a range of e^ε, which is what zero-concentrated accounts count.

A cut after which nothing is cut needs no shares (S = 1): a value then loses nothing where T lies within its ties.

**How it is drawn.** By rejection: candidates are divided into blocks in which the loss is at least a public limit;
choose a block by prior mass × its largest weight, a candidate in it by the prior, and keep it with probability weight /
largest weight. What is kept follows the law exactly, whatever the blocks. Far from the target, where candidates are
unlikely, the rest of each side is one block, divided only once it is chosen. Blocks end at the first and the last
record too, so that empty space, which may weigh more than everything else, has its exact weight.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from flexdp.distribution import Distribution, Law, point
from flexdp.divergence import Pair
from flexdp.errors import DataError
from flexdp.noise.bits import Bits
from flexdp.noise.exponential import Decay, decay
from flexdp.sharp.goal import Goal
from flexdp.sharp.prior import Listed, Prior, Spread
from flexdp.sharp.ranks import Window

__all__ = ["SHARES", "Choice", "Cut", "Segment"]

SHARES = 1 << 16  # of a tie: finer than any node needs, and it costs nothing
_NEAR = (0, 1, 2, 3, 6, 12, 24)  # where blocks begin, in losses over which weights fall by half
_FAR = 4  # the length of all others


@dataclass(frozen=True, slots=True)
class Segment:
    """Candidates with one loss: positions from ``low`` up to ``high``, and their weight before the prior."""

    low: int | None
    high: int | None
    weight: int


@dataclass(frozen=True, eq=False)
class Choice(Law):
    """Pr[t] ∝ prior(t) × the weight of its segment; None if no segment holds a candidate."""

    prior: Prior
    segments: tuple[Segment, ...]

    def listed(self, shown: Sequence[int] = ()) -> Distribution:  # noqa: ARG002  (all candidates are shown)
        """List the candidates of a prior that is a short list."""
        assert isinstance(self.prior, Listed | Spread), "only a short list of candidates can be enumerated"
        weights: dict[int | None, int] = {}
        for segment in self.segments:
            for candidate, weight in zip(self.prior.candidates, self.prior.weights, strict=True):
                above = segment.low is None or segment.low <= candidate
                if above and (segment.high is None or candidate < segment.high):
                    weights[candidate] = weights.get(candidate, 0) + weight * segment.weight
        return Distribution.weighted(weights) if sum(weights.values()) else point(None)

    def beside(self, other: Law, name: Any = None) -> list[Pair]:
        """Compare the parts between all cuts of both: within a part the ratio of both laws is fixed."""
        if not isinstance(other, Choice):
            return self.listed().beside(other, name)
        both = (*self.segments, *other.segments)
        cuts = sorted({cut for each in both for cut in (each.low, each.high) if cut is not None})
        return self._on_parts(cuts).beside(other._on_parts(cuts), name)

    def _on_parts(self, cuts: Sequence[int]) -> Distribution:
        weights: dict[Any, int] = {}
        for segment in self.segments:
            low, high = segment.low, segment.high
            inner = [c for c in cuts if (low is None or c > low) and (high is None or c < high)]
            for start, end in pairwise([low, *inner, high]):
                before = 0 if start is None else self.prior.before(start)
                mass = (self.prior.total if end is None else self.prior.before(end)) - before
                if mass:
                    weights[start, end] = weights.get((start, end), 0) + mass * segment.weight
        return Distribution.weighted(weights) if weights else point(None)


class _Block(NamedTuple):
    """Positions from ``low`` up to ``high``, on one side of the target; their least loss, and mass × its weight."""

    weight: int
    low: int | None
    high: int | None
    loss: int
    side: int
    rough: bool  # the rest of its side, divided once it is chosen
    flat: bool  # all of its candidates have the same weight


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """An ε-private choice of a cut near a rank.

    Positions stand for cuts, v·S + j. Candidates of a :class:`~flexdp.sharp.prior.Listed` prior are values, and have
    their weight in equal parts on their shares.

    Parameters
    ----------
    goal : Goal
        The rank, among the records of the node.
    epsilon : Fraction
        ε under adding or removing one record of the node.
    prior : Prior
        Public weights of values.
    low, high : int, optional
        The public ends of the node's values, both of them candidates; None is no end.
    shares : int, optional
        S; 1 where nothing is cut afterwards.
    depth : int, optional
        K of the table of weights; see :class:`~flexdp.noise.exponential.Decay`.
    """

    goal: Goal
    epsilon: Fraction
    prior: Prior
    low: int | None = None
    high: int | None = None
    shares: int = SHARES
    depth: int | None = None

    @property
    def table(self) -> Decay:
        """The certified table of weights."""
        return decay(self.epsilon, self.goal.sensitivity, self.depth)

    @property
    def reach(self) -> int:
        """How many ranks on either side of the target are needed: as far as the table reaches, always."""
        depth = Decay.depth_for(self.epsilon, self.goal.sensitivity) if self.depth is None else self.depth
        return -(-depth // self.goal.units) + 1

    @property
    def candidates(self) -> Prior:
        """The weights of positions."""
        return self.prior if self.shares == 1 else Spread(self.prior, self.shares)

    @property
    def ends(self) -> tuple[int | None, int | None]:
        """The first position and the end of all."""
        low, high = self.low, self.high
        return None if low is None else low * self.shares, None if high is None else (high + 1) * self.shares

    def loss(self, window: Window, position: int) -> int:
        """Return the loss of a position within the window."""
        target = self.goal.target(window.total)
        value, share = divmod(position, self.shares)
        below, upto = window.counts(value)
        if self.shares == 1:
            return self.goal.loss(below, upto, target)
        return abs(self.goal.units * (below + (upto - below) * share // self.shares) - target)

    def draw(self, window: Window, bits: Bits) -> int | None:
        """Draw a position.

        Parameters
        ----------
        window : Window
            The values of the node within :attr:`reach` ranks of the target.
        bits : Bits
            The source of randomness.

        Returns
        -------
        int or None
            v·S + j; None if there is no candidate between the ends.
        """
        self._check(window)
        candidates, table = self.candidates, self.table
        blocks = self.blocks(window)
        while blocks:
            found = blocks[bits.choose([block.weight for block in blocks])]
            if found.rough:
                blocks = self.blocks(window, every=True)
                parts = [each for each in blocks if each.side == found.side and each.loss >= found.loss]
                if not bits.accept(sum(part.weight for part in parts), found.weight):
                    continue
                found = parts[bits.choose([part.weight for part in parts])]
            position = candidates.draw(found.low, found.high, bits)
            weight = table.weight(found.loss)
            if found.flat or bits.accept(table.weight(self.loss(window, position)), weight):
                return position
        return None

    def blocks(self, window: Window, *, every: bool = False) -> list[_Block]:
        """Divide the candidates into blocks that weigh something; without ``every`` the rest of each side is one."""
        table, candidates, units = self.table, self.candidates, self.goal.units
        limits = self._limits(table.depth, every=every)
        target, last = self.goal.target(window.total), len(limits) - 1
        lower, upper = self._divisions(window, limits)
        positions = [*lower[::-1], *upper]
        masses: list[int] = []
        for place, position in enumerate(positions):
            if position is None:  # no end on that side
                masses.append(0 if place < len(lower) else candidates.total)
            else:
                again = place > 0 and position == positions[place - 1]
                masses.append(masses[-1] if again else candidates.before(position))
        beyond = {-1: target, 1: units * window.total - target}  # the loss of empty space
        found = []
        for place, (start, end) in enumerate(pairwise(masses)):
            if start == end:
                continue
            away = place - len(lower) + 1
            index, side = abs(away), (away > 0) - (away < 0)
            empty = index > last
            loss = min(beyond[side], table.depth) if empty else limits[index]
            single = index < last and limits[index + 1] - loss == 1
            found.append(
                _Block(
                    weight=(end - start) * table.weight(loss),
                    low=positions[place],
                    high=positions[place + 1],
                    loss=loss,
                    side=0 if empty else side,  # no part of what is divided
                    rough=index == last and loss < table.depth,
                    flat=empty or single or loss >= table.depth,
                )
            )
        return found

    def _limits(self, depth: int, *, every: bool) -> list[int]:
        """Losses where blocks begin, from 0 to at most K, from where on all candidates weigh the same."""
        length = _length(self.epsilon, self.goal.sensitivity)
        near = [length * start for start in _NEAR if length * start < depth]
        if not every and len(near) == len(_NEAR):
            return near
        return [*near, *range(near[-1] + _FAR * length, depth, _FAR * length), depth]

    def _divisions(self, window: Window, limits: Sequence[int]) -> tuple[list[int | None], list[int | None]]:
        """Where blocks begin, outwards from the target: below it and above it.

        The first and the last record, where they are in the window, end all blocks but one.
        """
        (low, high), total, units = self.ends, window.total, self.goal.units
        if not total:
            return [low] * len(limits), [high] * len(limits)
        target = self.goal.target(total)
        lower = [max(1, -(-(target - loss + 1) // units)) for loss in limits[1:]]
        upper = [min(-(-(target + loss) // units), total) for loss in limits[1:]]
        lower += [1] * (int(window.below[0]) == 0)
        upper += [total] * (int(window.upto[-1]) == total)
        found = self._reaching(window, [*lower, *upper], len(lower))
        before, after = found[: len(lower)], found[len(lower) :]
        return (
            [*([max(low, each) for each in before] if low is not None else before), low],
            [*([min(high, each) for each in after] if high is not None else after), high],
        )

    def _reaching(self, window: Window, ranks: Sequence[int], below: int) -> list[int]:
        """The first position that sends so many records left; of whole values, before or after the record itself.

        The first ``below`` ranks are those below the target.
        """
        places = np.searchsorted(window.upto, ranks)
        values = [window.scale.units(value) for value in window.values[places].tolist()]
        if self.shares == 1:
            return [value + (place >= below) for place, value in enumerate(values)]
        starts, ends = window.below[places].tolist(), window.upto[places].tolist()
        return [
            value * self.shares - (start - rank) * self.shares // (end - start)  # ⌈i·S/c⌉ for the i-th of c ties
            for value, rank, start, end in zip(values, ranks, starts, ends, strict=True)
        ]

    def segments(self, window: Window) -> list[Segment]:
        """Return the exact law: runs of positions with their common weight, in order; Pr[p] ∝ prior(p) × weight."""
        self._check(window)
        (low, high), table, units = self.ends, self.table, self.goal.units
        target = self.goal.target(window.total)
        positions: list[int] = []
        losses: list[int] = []
        if not len(window):
            losses = [min(target, table.depth)]
        elif self.shares == 1:  # the gap before each value, the value, and the gap after the last
            values = [window.value(place) for place in range(len(window))]
            positions = [position for value in values for position in (value, value + 1)]
            for start, end in zip(window.below.tolist(), window.upto.tolist(), strict=True):
                losses += [self.goal.loss(start, start, target), self.goal.loss(start, end, target)]
            losses.append(self.goal.loss(end, end, target))
        else:  # from each rank to the next
            first, last = int(window.below[0]), int(window.upto[-1])
            first = max(first, target // units - self.reach)
            last = min(last, -(-target // units) + self.reach)
            positions = self._reaching(window, range(first + 1, last + 1), 0)
            losses = [abs(units * rank - target) for rank in range(first, last + 1)]
        cuts = [low, *(_within(position, low, high) for position in positions), high]
        return [
            Segment(start, end, table.weight(loss)) for (start, end), loss in zip(pairwise(cuts), losses, strict=True)
        ]

    def law(self, window: Window) -> Choice:
        """Return the exact law of the position."""
        return Choice(self.candidates, tuple(self.segments(window)))

    def _check(self, window: Window) -> None:
        """Refuse a window that cannot be the one that was asked for; no engine of ours returns one.

        It must reach as far as the table does, and its counts must be those of values in their order.
        """
        target, units, depth = self.goal.target(window.total), self.goal.units, self.table.depth
        if not len(window):
            if window.total:  # the target is one of their ranks, or an end of them
                raise DataError
            return
        first, last = int(window.below[0]), int(window.upto[-1])
        complete = (first == 0 or target - units * first >= depth) and (
            last == window.total or units * last - target >= depth
        )
        in_order = bool(
            (window.below < window.upto).all()
            and (window.upto[:-1] == window.below[1:]).all()
            and (window.values[:-1] < window.values[1:]).all()
        )
        if not (complete and in_order and first >= 0 and last <= window.total):
            raise DataError


def _within(position: int, low: int | None, high: int | None) -> int:
    position = position if low is None else max(low, position)
    return position if high is None else min(high, position)


@lru_cache(maxsize=256)
def _length(epsilon: Fraction, sensitivity: int) -> int:
    """Losses over which weights fall by about half, a public number that decides on speed alone."""
    return max(1, math.floor(Fraction(13863, 10**4) * sensitivity / epsilon))
