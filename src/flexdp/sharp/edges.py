"""Public bucket edges from leaves and noisy counts: fine in the middle, coarse towards the ends, nice numbers.

Everything here is a function of public numbers, in integer arithmetic, so it costs no privacy and gives the same edges
on every platform.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from flexdp.sharp.profile import RECORD, Leaf, Profile
from flexdp.sharp.ranks import Span
from flexdp.sharp.steps import Step, Steps

__all__ = ["edges_of"]

_SCALES = tuple(Fraction(s) for s in ("1", "1.15", "1.3", "1.5", "1.75", "2", "2.4", "3", "4", "6", "10"))
_FINEST = 10**12  # no edge is finer than this part of its magnitude
_PER_LIMIT = 100  # thresholds below are in hundredths of a limit
_CAP, _WIDEST, _NARROWEST = 140, 180, 60
_EMPTY, _THIN_REST, _THIN_START, _LAST_PART = 15, 40, 30, 5
_GAP_PART = 12
_TIDY_PART = 20
_TAIL = (2, 5)  # a part of what lies beyond
_LONELY = Fraction(7, 3)  # times what is thin: the chance of noise is e^−4 times as small
_FAR = 1000  # times as wide as all that lies inwards
_TOO_FAR, _TOO_MANY = 10**6, 400  # times as wide: a walk across would use up all edges; hundredths of the target


def edges_of(
    leaves: Sequence[Span],
    counts: Sequence[int],
    *,
    reach: int,
    most: int,
    thin: Fraction,
    steps: Steps,
    lonely: bool = True,
    near: bool = True,
) -> tuple[int, ...]:
    """Choose the edges of automatic buckets.

    Parameters
    ----------
    leaves : sequence of Span
        Adjacent, in order; the outermost two are the open ends.
    counts : sequence of int
        The noisy count of each.
    reach : int
        q of the noise in the bars.
    most : int
        B, the most buckets.
    thin : Fraction
        Counts below this count as none.
    steps : callable
        The steps between nice edges.
    lonely : bool, optional
        Ask for more than ``thin`` from an outer leaf that lies apart from the others, or is far wider than all of them:
        in one of many empty leaves, noise is often mistaken for records. False for documents from before.
    near : bool, optional
        Let every edge be as fine as its own magnitude allows, so that an end that was drawn far away leaves the others
        as they are. False for documents from before: there the largest magnitude decided.

    Returns
    -------
    tuple of int
        The inner edges, ascending: cuts in units. The first and the last bucket are open.

    Examples
    --------
    >>> from flexdp.sharp.scale import INTEGERS
    >>> from flexdp.sharp.steps import decimal_steps
    >>> leaves = [Span(None, 0), Span(0, 40), Span(40, 100), Span(100, None)]
    >>> edges_of(leaves, [60, 500, 480, 70], reach=20, most=9, thin=Fraction(3), steps=decimal_steps(INTEGERS))
    (0, 10, 20, 30, 40, 60, 80, 100)
    """
    seen = [count * RECORD if count >= thin else 0 for count in counts]
    if lonely:
        few = math.floor(_LONELY * thin * RECORD)
        _silence_outer(leaves, seen, few, range(len(leaves)))
        _silence_outer(leaves, seen, few, range(len(leaves) - 1, -1, -1))
    ends, inner = _join_empty_ends(leaves, seen)
    if not inner:
        return tuple(sorted({cut for cut in (leaves[0].high, leaves[-1].low) if cut is not None}))[:1]
    profile = Profile(inner, ends.below, ends.above)
    for scale in _SCALES:
        target = math.floor(scale * max(Fraction(sum(seen), most), Fraction(3 * reach * RECORD, 2)))
        # 3q·√scale, to millionths
        floor = 3 * reach * RECORD * math.isqrt(math.floor(scale * 10**12)) // 10**6
        plan = _Plan(profile, inner, ends, target, min(floor, target), reach, most, steps, near=near)
        found = plan.edges()
        if len(found) + 1 <= most:
            return found
    return plan.shortened(found)


@dataclass(frozen=True, slots=True)
class _Ends:
    """Contents of the open ends, in units of 10^−12 records."""

    below: int
    above: int


def _silence_outer(leaves: Sequence[Span], seen: list[int], few: int, inwards: range) -> None:
    """Take few records in outer leaves for noise, from one end inwards, where empty leaves or far distances set in."""
    for place, after in pairwise(inwards):
        if seen[place] >= few:
            return
        leaf, rest = leaves[place], [leaves[each] for each in inwards if (each - place) * inwards.step > 0]
        spans = [each.high - each.low for each in rest if each.low is not None and each.high is not None]
        closed = leaf.low is not None and leaf.high is not None
        far = closed and leaf.high - leaf.low > _FAR * sum(spans)  # type: ignore[operator]
        if seen[place] and seen[after] and not far:
            return
        seen[place] = 0


def _join_empty_ends(leaves: Sequence[Span], seen: Sequence[int]) -> tuple[_Ends, list[Leaf]]:
    """Leaves in which nothing was seen join the open end, as long as a finite leaf remains."""
    first, last = 0, len(leaves) - 1
    while last - first > 2 and not seen[first] and not seen[first + 1]:
        first += 1
    while last - first > 2 and not seen[last] and not seen[last - 1]:
        last -= 1
    inner = []
    for leaf, count in zip(leaves[first + 1 : last], seen[first + 1 : last], strict=True):
        assert leaf.low is not None and leaf.high is not None
        inner.append(Leaf(leaf.low, leaf.high, count))
    return _Ends(seen[first], seen[last]), inner


class _Plan:
    """One attempt at edges, for one target of records a bucket."""

    def __init__(
        self,
        profile: Profile,
        leaves: Sequence[Leaf],
        ends: _Ends,
        target: int,
        floor: int,
        reach: int,
        most: int,
        steps: Steps,
        *,
        near: bool,
    ) -> None:
        self._profile, self._near = profile, near
        self._ends, self._target, self._floor = ends, target, floor
        self._reach, self._most, self._every = reach * RECORD, most, steps
        own = max(2 * self._reach, target // 2)
        self._points = {(leaf.low, leaf.high) for leaf in leaves if leaf.point and leaf.count >= own}
        self._forced = {cut for pair in self._points for cut in pair}
        span = self._profile.end - self._profile.start
        largest = max(abs(self._profile.start), abs(self._profile.end))
        smallest = min((leaf.width for leaf in leaves if not leaf.point), default=1)
        shortest = max(smallest, 1 if near else largest // _FINEST, 1)
        self._leaves = leaves
        self._steps = [step for step in steps(shortest, span) if step.length <= span] or list(steps(1, 1))[-1:]

    def edges(self) -> tuple[int, ...]:
        edges = self._walk()
        edges = self._merge_thin_start(edges)
        edges = self._merge_empty(edges)
        low_end = Fraction(3, 2) * self._reach
        if self._ends.below < low_end and len(edges) > 2 and edges[0] not in self._forced:
            edges = edges[1:]
        if self._ends.above < low_end and len(edges) > 2 and edges[-1] not in self._forced:
            edges = edges[:-1]
        if len(edges) > 2:  # they may come from leaves, which have many digits
            edges = [self._tidied(edges[0], edges[1]), *edges[1:-1], self._tidied(edges[-1], edges[-2])]
        return tuple(edges)

    def _tidied(self, edge: int, beside: int) -> int:
        """Return the roundest value within a twentieth of the bucket beside an outermost edge."""
        room = abs(edge - beside) // _TIDY_PART
        if edge in self._forced or not room:
            return edge
        for step in self._every(max(1, room // 10), room):
            for found in (step.after(edge - 1), step.after(edge - step.length - 1)):
                if abs(found - edge) <= room:
                    return found
        return edge

    def shortened(self, edges: tuple[int, ...]) -> tuple[int, ...]:
        """Drop edges between the smallest neighbours until there are few enough; those of points last."""
        kept = list(edges)
        while len(kept) + 1 > self._most:
            bounds = [self._profile.start, *kept, self._profile.end]
            sizes = [
                (cut in self._forced, self._planned(bounds[place], bounds[place + 2]), place)
                for place, cut in enumerate(kept)
            ]
            del kept[min(sizes)[2]]
        return tuple(kept)

    def _planned(self, low: int, high: int) -> int:
        return self._profile.upto(high) - self._profile.upto(low)

    def _sizes(self, low: int, high: int) -> tuple[int, int]:
        """Planned size of a bucket, and its limit: the target, or in the tails 40% of what lies beyond; at least 3q."""
        profile = self._profile
        before, upto = profile.upto(low), profile.upto(high)
        beyond = min(upto, profile.total - before)
        return upto - before, max(self._floor, min(self._target, _TAIL[0] * beyond // _TAIL[1]))

    def _fits(self, low: int, high: int, hundredths: int) -> bool:
        planned, limit = self._sizes(low, high)
        return _PER_LIMIT * planned <= hundredths * limit

    def _walk(self) -> list[int]:
        """Upwards from point to point, one bucket after another."""
        edges = [self._profile.start, *self._across_far_start()]
        for stop in sorted(self._forced | {self._profile.end}):
            if stop <= edges[-1]:
                continue
            if (edges[-1], stop) in self._points:
                edges.append(stop)
                continue
            step: Step | None = None
            # More edges than this will not do anyway; the next attempt plans larger buckets.
            while edges[-1] < stop and len(edges) <= 4 * self._most:
                edge, step = self._next(edges[-1], stop, step, first=len(edges) == 1)
                edges.append(edge)
            if edges[-1] < stop:
                edges.append(stop)
        return edges

    def _across_far_start(self) -> list[int]:
        """The end of a first bucket that takes in a leaf too wide to walk across, if that has few enough records."""
        first, *rest = self._leaves
        inwards = sum(leaf.width for leaf in rest[:-1])
        if not self._near or not inwards or first.width <= _TOO_FAR * inwards:
            return []
        end = self._tidied(first.high, first.high + inwards)
        planned = self._planned(first.low, end)
        few = _PER_LIMIT * planned <= _TOO_MANY * self._target
        return [end] if few and end <= min(self._forced, default=end) else []

    def _next(self, low: int, stop: int, step: Step | None, *, first: bool) -> tuple[int, Step | None]:
        """The end of the bucket that begins at ``low``, and the step to keep."""
        if self._fits(low, stop, _CAP):
            high = stop
        elif step is not None and self._keeps(low, stop, step):
            high = step.after(low)
        else:
            high, step = self._largest(low, stop, step, first=first)
        high, cut = self._before_gap(low, high)
        if cut:
            step = None
        if high < stop and stop not in self._forced:
            rest, limit = self._sizes(high, stop)
            if _PER_LIMIT * rest < _THIN_REST * limit and self._fits(low, stop, _WIDEST):
                high = stop
        return high, step

    def _keeps(self, low: int, stop: int, step: Step) -> bool:
        """Return whether the last step suits one more bucket."""
        high = step.after(low)
        if not step.holds(low) or high >= stop:
            return False
        planned, limit = self._sizes(low, high)
        return _NARROWEST * limit <= _PER_LIMIT * planned <= _WIDEST * limit

    def _largest(self, low: int, stop: int, step: Step | None, *, first: bool) -> tuple[int, Step | None]:
        """The next value of the largest step that fits; coarser than the last one only where that is aligned."""
        furthest = self._profile.reached(self._profile.upto(low) + _CAP * self._target // _PER_LIMIT + 1) + 1
        finest = self._steps[-1]
        for larger in self._steps:
            if self._near and larger.length * _FINEST < abs(low):
                break
            finest, high = larger, larger.after(low)
            if high >= stop or high > furthest:
                continue
            if step is not None and larger.length > step.length and not first and not larger.holds(low):
                if step.meets(larger):
                    continue  # at the next value of both
                planned, limit = self._sizes(low, high)
                if _PER_LIMIT * planned < _NARROWEST * limit:
                    continue
            if self._fits(low, high, _CAP):
                return high, larger
        return min(finest.after(low), stop), step

    def _before_gap(self, low: int, high: int) -> tuple[int, bool]:
        """End a bucket soon after its last records if they all lie in its first twelfth."""
        planned, limit = self._sizes(low, high)
        if _PER_LIMIT * planned <= _THIN_START * limit:
            return high, False
        almost_all = self._profile.upto(high) - _LAST_PART * limit // _PER_LIMIT
        last = self._profile.reached(almost_all)
        if last <= low or _GAP_PART * (last - low) >= high - low:
            return high, False
        step = next((each for each in self._steps if each.length <= last - low), None)
        if step is None or step.after(last) >= high:
            return high, False
        return step.after(last), True

    def _merge_thin_start(self, edges: list[int]) -> list[int]:
        """Drop an unaligned first bucket that is planned too small."""
        if len(edges) > 2 and edges[1] not in self._forced:
            planned, limit = self._sizes(edges[0], edges[1])
            if _PER_LIMIT * planned < _THIN_START * limit:
                return [edges[0], *edges[2:]]
        return edges

    def _merge_empty(self, edges: list[int]) -> list[int]:
        """Stretches in which nothing was seen become one bucket."""
        kept = list(edges)
        place = 1
        while place < len(kept) - 1:
            if kept[place] not in self._forced and self._fits(kept[place - 1], kept[place + 1], _EMPTY):
                del kept[place]
            else:
                place += 1
        return kept
