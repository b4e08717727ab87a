"""The exponential mechanism for quantiles: one integer weight for every candidate, and an exact choice.

The loss of a candidate is how far its ranks lie from the goal (:class:`~flexdp.sharp.goal.Goal`). It is the same on
all candidates between two neighbouring values, and grows away from the goal in both directions. So the candidates are
cut into blocks, in which the loss stays between two public limits: choose a block with probability ∝ prior mass × its
largest g, a candidate in it by the prior, and keep it with probability g / largest g, else begin again. The candidate
that is kept follows the law prior × g exactly, whatever the blocks and the number of values in the window.

A block ends at the record of a certain rank, so a draw looks at a few records of the window, and at those around the
candidates that it tries. Far from the goal, where candidates are unlikely, the rest
of each side is one block at first. Once it is chosen, it is cut, too: its parts weigh less together, and with the
weight that is missing all begins again. The empty space beyond the first and the last record, which may weigh more than
all the rest, is a block with one loss.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from operator import sub
from typing import NamedTuple

import numpy as np

from flexdp.errors import DataError
from flexdp.noise.bits import Bits
from flexdp.noise.exponential import Decay, decay
from flexdp.sharp.cut import Choice, Segment
from flexdp.sharp.goal import Goal
from flexdp.sharp.prior import Prior
from flexdp.sharp.ranks import EVERYTHING, Near, Ranks, Request, Span, Window

__all__ = ["ExponentialQuantile"]

_NEAR = (0, 1, 2, 3, 6, 12, 24)  # where blocks begin, in losses over which g falls by a factor of two
_FAR = 4  # the length of all others


class _Block(NamedTuple):
    """Candidates from ``low`` up to ``high``, on one side of the goal; their least loss, and mass × its weight.

    A ``rough`` block is the rest of its side, which is cut once it is chosen. Candidates of a ``flat`` one weigh the
    same.
    """

    weight: int
    low: int | None
    high: int | None
    loss: int
    side: int = 0
    rough: bool = False
    flat: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialQuantile:
    """An ε-private choice of a value near a rank.

    Parameters
    ----------
    goal : Goal
        The rank.
    epsilon : Fraction
        ε under adding or removing one record of the span.
    prior : Prior
        Public weights of the candidates.
    span : Span, optional
        The records that count, and the candidates that may be chosen.
    edge : int, optional
        For a goal of k records beyond: a candidate outside the span, at its near end. The m records of the span lie
        beyond it, and it fits where they are fewer than k; see the notes.
    depth : int, optional
        K of the table of weights; see :class:`~flexdp.noise.exponential.Decay`.

    Notes
    -----
    With an edge its loss is max(0, m − k), and that of every other candidate grows by max(0, k − m): then all of them
    are the distance of k from the records beyond, which one record changes by at most one. Where most records are tied
    at the edge, and it is the true quantile, it is chosen.

    Candidates outside the fetched window have loss at least K, hence weight g_K × prior, exactly; this needs a
    window that reaches as far as the table, and a shorter one is refused.
    """

    goal: Goal
    epsilon: Fraction
    prior: Prior
    span: Span = EVERYTHING
    edge: int | None = None
    depth: int | None = None

    @property
    def table(self) -> Decay:
        """The certified table of weights."""
        return decay(self.epsilon, self.goal.sensitivity, self.depth)

    @property
    def near(self) -> Near:
        """The window that the mechanism needs: as far as its table reaches, always."""
        depth = Decay.depth_for(self.epsilon, self.goal.sensitivity) if self.depth is None else self.depth
        return Near(goal=self.goal, reach=-(-depth // self.goal.units) + 1, span=self.span)

    def sample(self, ranks: Ranks, bits: Bits) -> int | None:
        """Fetch the window of a column and draw.

        Parameters
        ----------
        ranks : Ranks
            The private column.
        bits : Bits
            The source of randomness.

        Returns
        -------
        int or None
            The chosen candidate in units; None if the span holds no candidate.
        """
        return self.draw(ranks.fetch(Request(windows=(self.near,))).windows[0], bits)

    def draw(self, window: Window, bits: Bits) -> int | None:
        """Draw a candidate.

        Parameters
        ----------
        window : Window
            As :attr:`near` asks for.
        bits : Bits
            The source of randomness.

        Returns
        -------
        int or None
            The chosen candidate in units; None if the span holds no candidate.
        """
        self._check(window)
        blocks = self._blocks(window, every=False)
        while blocks:
            found = blocks[bits.choose([block.weight for block in blocks])]
            if found.rough:
                blocks = self._blocks(window, every=True)
                parts = [each for each in blocks if each.side == found.side and each.loss >= found.loss]
                if not bits.accept(sum(part.weight for part in parts), found.weight):
                    continue
                found = parts[bits.choose([part.weight for part in parts])]
            candidate = self.prior.draw(found.low, found.high, bits)
            if found.flat or self._keeps(window, candidate, self.table.weight(found.loss), bits):
                return candidate
        return None

    def _limits(self, depth: int, *, every: bool) -> list[int]:
        """Losses where blocks begin, from 0 to at most K, from where on all candidates weigh the same."""
        length = _length(self.epsilon, self.goal.sensitivity)
        near = [length * start for start in _NEAR if length * start < depth]
        if not every and len(near) == len(_NEAR):
            return near
        return [*near, *range(near[-1] + _FAR * length, depth, _FAR * length), depth]

    def _blocks(self, window: Window, *, every: bool) -> list[_Block]:
        """Cut the candidates into blocks that weigh something; without ``every`` the rest of each side is one.

        What lies beyond the first and the last record is empty, and a block of its own: its loss is known.
        """
        table, short = self.table, self._short(window)
        limits = self._limits(table.depth, every=every)
        last = len(limits) - 1
        lower, upper = self._cuts(window, limits)
        cuts = [*lower[::-1], *upper]
        masses: list[int] = []
        for place, cut in enumerate(cuts):
            if cut is None:
                masses.append(0 if place < len(lower) else self.prior.total)
            else:
                masses.append(masses[-1] if place and cut == cuts[place - 1] else self.prior.before(cut))
        target = self.goal.target(window.total)
        beyond = {-1: target, 1: self.goal.units * window.total - target}
        blocks = []
        for place, mass in enumerate(map(sub, masses[1:], masses)):
            if not mass:
                continue
            away = place - len(lower) + 1
            index, side = abs(away), (away > 0) - (away < 0)
            empty = index > last
            least = min(beyond[side], table.depth) if empty else limits[index]
            single = index < last and limits[index + 1] - least == 1
            blocks.append(
                _Block(
                    weight=mass * table.weight(least + short),
                    low=cuts[place],
                    high=cuts[place + 1],
                    loss=least + short,
                    side=0 if empty else side,  # no part of what is cut
                    rough=index == last and least < table.depth,
                    flat=empty or single or least + short >= table.depth,
                )
            )
        if self.edge is not None and (mass := self._mass(self.edge)):  # it stands beside all blocks
            weight = self._edge_segment(window).weight * mass
            blocks.append(_Block(weight, self.edge, self.edge + 1, table.depth, flat=True))
        return blocks

    def _keeps(self, window: Window, candidate: int, most: int, bits: Bits) -> bool:
        """Keep a candidate with probability g / the largest g of its block."""
        below, upto = window.counts(candidate)
        loss = self.goal.loss(below, upto, self.goal.target(window.total)) + self._short(window)
        return bits.accept(self.table.weight(loss), most)

    def _cuts(self, window: Window, limits: Sequence[int]) -> tuple[list[int | None], list[int | None]]:
        """Where blocks begin, near the records of some ranks, outwards from the goal: before them below it, else after.

        The first and the last record, where they are in the window, end all blocks but one.
        """
        low, high = self.span.low, self.span.high
        if not window.total:
            return [low] * len(limits), [high] * len(limits)
        target, units, ranks = self.goal.target(window.total), self.goal.units, self.near.ranks(window.total)
        first, last = ranks[0] <= 1, window.total <= ranks[1]
        lower, upper = window.around(
            [max(1, -(-(target - loss + 1) // units)) for loss in limits[1:]] + [1] * first,
            [min(-(-(target + loss) // units), window.total) for loss in limits[1:]] + [window.total] * last,
        )
        before = lower if low is None else [max(low, value) for value in lower]
        after = [value + 1 for value in upper] if high is None else [min(high, value + 1) for value in upper]
        return [*before, low], [*after, high]

    def segments(self, window: Window) -> list[Segment]:
        """Return the exact law: runs of candidates with their common factor g, in order.

        Parameters
        ----------
        window : Window
            As :attr:`near` asks for.

        Returns
        -------
        list of Segment
            Pr[t] ∝ prior(t) × the weight of its segment.
        """
        self._check(window)
        losses = self._losses(window).tolist()
        cuts = [self._cut(window, place) for place in range(len(losses))] + [self.span.high]
        found = [
            Segment(low, high, self.table.weight(loss)) for low, high, loss in zip(cuts, cuts[1:], losses, strict=False)
        ]
        if self.edge is None:
            return found
        edge = self._edge_segment(window)
        return [edge, *found] if self.goal.offset < 0 else [*found, edge]

    def _edge_segment(self, window: Window) -> Segment:
        """The candidate beside the span."""
        assert self.edge is not None
        loss = max(0, window.total - abs(self.goal.offset))
        return Segment(self.edge, self.edge + 1, self.table.weight(min(loss, self.table.depth)))

    def _mass(self, candidate: int) -> int:
        return self.prior.before(candidate + 1) - self.prior.before(candidate)

    def _short(self, window: Window) -> int:
        """Records that are wanted beyond the edge and are not there; 0 without an edge."""
        return 0 if self.edge is None else max(0, abs(self.goal.offset) - window.total)

    def law(self, window: Window) -> Choice:
        """Return the exact law of the choice."""
        return Choice(self.prior, tuple(self.segments(window)))

    def chances(self, window: Window) -> dict[int | None, Fraction]:
        """Return the exact probability of every candidate in units, None if there is none; the prior must be listed."""
        return dict(self.law(window).listed().masses)

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

    def _losses(self, window: Window) -> np.ndarray:
        """The loss on the gap before the first value, on it, on the gap after it, and so on."""
        units, target = self.goal.units, self.goal.target(window.total)
        if not len(window):
            empty = abs(target) + self._short(window) if not window.total else self.table.depth
            return np.array([empty], dtype=np.int64 if empty < 2**62 else object)
        below = np.empty(2 * len(window) + 1, dtype=window.below.dtype)
        upto = np.empty_like(below)
        below[1::2], upto[1::2] = window.below, window.upto
        below[0] = upto[0] = window.below[0]
        below[2::2] = upto[2::2] = window.upto
        return np.maximum(np.maximum(units * below - target, target - units * upto), 0) + self._short(window)

    def _cut(self, window: Window, place: int) -> int | None:
        """Where a segment begins: 2i is the gap before value i, 2i + 1 the value itself."""
        if not place:
            return self.span.low
        value = window.value((place - 1) // 2)
        return value + 1 if place % 2 == 0 else value


@lru_cache(maxsize=256)
def _length(epsilon: Fraction, sensitivity: int) -> int:
    """Losses over which g falls by a factor of about two, a public number that decides on speed alone."""
    return max(1, math.floor(Fraction(13863, 10**4) * sensitivity / epsilon))
