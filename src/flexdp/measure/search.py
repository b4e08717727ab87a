"""Certified flexible errors of any function: every value found is attained; its distance is an upper bound.

A data set x′ within reach of x is a *state*: some of the records are left out, the others stand near their old places.
Records are grouped in units: single records, or blocks of equal ones:

    unit         0        1        2        3            level k: at most k records are left out in all,
    x            ┼   2    ┼   5    ┼   5    ┼   9        and each of the others moves by at most r(k)
    dropped          0        0        1        0        r(k) = α where records move, (α − k/n)/η in drop-move
    places         2.5        5                8.5

1. With few records, all states whose records stand at their places or at either end of their reach are tried.
2. *Families* of states stretch functions to their extremes: leaving out the smallest, the largest, the middle, the
   tallest bars; moving all one way, towards a point, away from it, together or apart.
3. Towards an output y: all that reach y go there; and between a state with f below y and one above, a path of states
   is bisected, which meets y if f is continuous along it:

       below ──give back records, one by one──▶ x with moved records ──move them on──▶ ──leave out──▶ above

4. Single units are moved and left out as long as the distance to y falls.

The search may miss values, so lower bounds come from what the statistic declares of itself. If all records of
x′ are within b of those of x, matched as shares, then f moves by at most Δ_f(b). After k records were left out, the two
quantile functions differ by at most the largest gap between a record and the k-th after it, since both the i-th record
that remains and the one it stands for lie between the i-th and the (i + k)-th of x.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import attribute
from flexdp.errors import InputError
from flexdp.histogram import Histogram
from flexdp.measure.ball import Ball, how_many, submultisets
from flexdp.measure.outputs import Cells, Distance, is_law, is_missing, least_gaps, missing, on_a_line, only
from flexdp.statistics.base import running, to_python

__all__ = ["declared_errors", "found_errors", "value_of"]

_MOST_UNITS = 2_000  # into which the records of the bars are divided
_MOST_STATES, _MOST_WORK = 12_000, 20_000_000  # states tried in all, and units in all of them
_FEW = 6  # units for which all combinations are tried
_MOST_TARGETS = 200  # outputs that are searched for
_CLOSE = 1e-12  # relative to the values: counts as met

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


def value_of(statistic: Any, histogram: Histogram) -> Any:
    """Return the value of a deterministic statistic; None where it has none."""
    value = to_python(statistic(histogram))
    if is_law(value):
        raise InputError("statistic", "must return a law for every histogram, or for none")
    if is_missing(value) and value is not None:
        raise InputError("statistic", "must not return NaN", remedy="Return None where it has no value.")
    return value


class _State(NamedTuple):
    level: int  # records that may be left out
    dropped: Whole  # of each unit
    places: Floats | None  # of each unit; None if no record moves


class _Search:
    def __init__(self, ball: Ball, statistic: Any, distance: Distance | None) -> None:
        self.ball, self.statistic, self.distance = ball, statistic, distance
        self.moves = not ball.only_drops
        counts = ball.centre.counts
        pieces = np.minimum(counts, max(1, _MOST_UNITS // len(counts)) if self.moves else 1)
        self.bar = np.repeat(np.arange(len(counts)), pieces)
        first = np.concatenate(([0], np.cumsum(pieces)))[self.bar]
        share, rest = counts // pieces, counts % pieces
        self.weight = share[self.bar] + (np.arange(len(self.bar)) - first < rest[self.bar])
        line = on_a_line(ball.centre.keys.tolist()) if ball.centre.keys.ndim == 1 else None
        self.dates = line is not None and line.of == "dates"
        keys = np.arange(len(counts)) if line is None else line.places
        self.home = keys.astype(np.float64)[self.bar]
        self.values: list[Any] = []
        self.spots: dict[str, list[float]] = {}  # of the values, on the lines where they have places; else NaN
        self.states: list[_State] = []  # of the first values
        self.steps = 2**40 if self.moves else max(1, ball.dropped)  # of each stage of a path
        self.left = min(_MOST_STATES, max(500, _MOST_WORK // len(self.bar)))

    # ---------------------------------------------------------------- states and their values

    def levels(self) -> list[int]:
        """0, 1, 2, 4, … and the most that may be left out."""
        most = self.ball.dropped
        if not self.moves:
            return [most]
        return sorted({*range(min(most, 8)), *(2**i for i in range(3, most.bit_length())), most})

    def reach(self, level: int) -> tuple[Floats, Floats]:
        """Where the records of each unit may stand, as far as doubles can tell."""
        radius = float(self.ball.moved(level))
        if Fraction(radius) > self.ball.moved(level):
            radius = math.nextafter(radius, 0.0)
        if self.dates:
            radius = math.floor(radius)
        low, high = self.home - radius, self.home + radius
        for _ in range(2):
            low = np.where(self.home - low > radius, np.nextafter(low, math.inf), low)
            high = np.where(high - self.home > radius, np.nextafter(high, -math.inf), high)
        return low, high

    def data_set(self, state: _State) -> Histogram:
        """Build x′."""
        kept = self.weight - state.dropped
        if state.places is None:
            counts = np.zeros(len(self.ball.centre), dtype=np.int64)
            np.add.at(counts, self.bar, kept)
            return Histogram(self.ball.centre.keys, counts)
        there = kept > 0
        places = state.places[there]
        keys: Any = [dt.date.fromordinal(int(day)) for day in places.tolist()] if self.dates else places
        return Histogram(keys, kept[there])

    def tried(self, state: _State) -> Any:
        """Return the value of a state, and remember it."""
        self.left -= 1
        value = value_of(self.statistic, self.data_set(state))
        self.values.append(value)
        line = None if value is None else on_a_line([value])
        if line is not None:
            spots = self.spots.setdefault(line.of, [])
            spots += [math.nan] * (len(self.values) - 1 - len(spots))
            spots.append(float(line.places[0]))
        if len(self.states) * len(self.bar) < _MOST_WORK // 4:
            self.states.append(state)
        return value

    def gap(self, value: Any, target: Any) -> float:
        return float(least_gaps([value], [target], self.distance)[0])

    # ---------------------------------------------------------------- families

    def explore(self) -> None:
        """Try the families, and everything if records are few."""
        nothing = np.zeros(len(self.bar), dtype=np.int64)
        self.tried(_State(0 if self.moves else self.ball.dropped, nothing, None))
        if len(self.bar) <= _FEW and self.moves:
            for state in self._everything():
                if self.left < _MOST_STATES // 2:
                    break
                self.tried(state)
        enough = self.left // 2
        for level in self.levels():
            places = self._placed(level) if self.moves else [None]
            drops = [nothing, *self._dropped(level)]
            for (i, own), (j, there) in product(enumerate(drops), enumerate(places)):
                if (min(i, j) <= 2 or len(self.bar) <= 200) and self.left > enough:
                    self.tried(_State(level, own, there))
        if len(self.bar) <= 200:
            for i in range(min(1_000, self.left // 4)):
                self.tried(self._scattered(i))

    def _everything(self) -> Iterator[_State]:
        """Every way to leave records out, every other unit at its place or at an end of its reach."""
        for own in product(*(range(w + 1) for w in self.weight.tolist())):
            lost = sum(own)
            if lost > self.ball.dropped:
                continue
            low, high = self.reach(lost)
            stays = [(0,) if left == w else (0, 1, 2) for left, w in zip(own, self.weight.tolist(), strict=True)]
            ends = np.stack((self.home, low, high))
            for choice in product(*stays):
                yield _State(lost, np.array(own, dtype=np.int64), ends[list(choice), np.arange(len(self.bar))])

    def _dropped(self, level: int) -> list[Whole]:
        """Ways to leave out ``level`` records."""
        if not level:
            return []
        units = np.arange(len(self.bar))
        tall = np.argsort(-self.ball.centre.counts[self.bar], kind="stable")
        middle = np.argsort(np.abs(running(self.ball.centre)[self.bar] - self.ball.centre.size / 2), kind="stable")
        orders = [units, units[::-1], middle, middle[::-1], tall, tall[::-1]]
        starts = units if len(units) <= 20 else np.linspace(0, len(units) - 1, 12).astype(int)
        orders += [np.roll(units, -int(start)) for start in starts]
        found = [self._taken(order, level) for order in orders]
        for part in (level // 4, level // 2, level - level // 4):
            found.append(self._taken(units, part) + self._taken(units[::-1], level - part))
        found.append(self.weight * level // max(1, int(self.weight.sum())))
        return [own for own in found if (own <= self.weight).all() and 0 < own.sum() < self.weight.sum()]

    def _taken(self, order: Any, records: int) -> Whole:
        """Leave out records, unit after unit."""
        found = np.zeros(len(self.bar), dtype=np.int64)
        before = np.cumsum(self.weight[order]) - self.weight[order]
        found[order] = np.clip(records - before, 0, self.weight[order])
        return found

    def _placed(self, level: int) -> list[Floats]:
        """Ways to move the records as far as they may."""
        low, high = self.reach(level)
        units = len(self.bar)
        few = np.unique(self.home) if units <= 20 else np.quantile(self.home, np.linspace(0, 1, 9))
        centre = float(np.average(self.home, weights=self.weight))
        apart = low + (high - low) * (np.arange(units) + 1) / (units + 1)
        found = [low, high, self.home, self._together(low, high), apart, (self.home + apart) / 2]
        for point in [centre, *few.tolist()]:
            found += [np.clip(point, low, high), np.where(self.home < point, low, high)]
        found += [np.where(self.home <= point, high, low) for point in (centre, *few.tolist()[1:-1])]
        return [np.floor(places) for places in found] if self.dates else found

    @staticmethod
    def _together(low: Floats, high: Floats) -> Floats:
        """Stand on as few places as possible: each goes to the end of the first reach that is not yet met."""
        found, at = np.empty_like(low), -math.inf
        for unit in range(len(low)):
            if low[unit] > at:
                at = float(high[unit])
            found[unit] = at
        return found

    def _scattered(self, i: int) -> _State:
        """The i-th of an even sequence of states: fractions of multiples of irrational square roots."""
        units = len(self.bar)
        parts = np.modf((i + 1) * np.sqrt(3.0 + 7 * np.arange(2 * units + 1)))[0]  # no square is 3 mod 7
        levels = self.levels()
        level = levels[int(parts[-1] * len(levels))]
        own = self._taken(np.argsort(parts[:units]), level)
        if not self.moves:
            return _State(level, own, None)
        low, high = self.reach(level)
        chosen, share = parts[units:-1], np.modf(parts[units:-1] * 5)[0]
        everywhere = np.stack(
            (self.home, low, high, low + share * (high - low), np.clip(np.roll(self.home, i), low, high))
        )
        places = everywhere[(chosen * 5).astype(int), np.arange(units)]
        return _State(level, own, np.floor(places) if self.dates else places)

    # ---------------------------------------------------------------- towards an output

    def approach(self, target: Any) -> None:
        """Look for a value close to an output."""
        stop = max(0, self.left - (2_000 if len(self.bar) <= 2 * _FEW else 400))
        line = on_a_line([target])
        goal = None if line is None or self.distance is not None else float(line.places[0])
        if line is not None and goal is not None and self.moves:
            self._gathered(goal)
        for _ in range(2):
            if line is not None and goal is not None and self._bracketed(target, goal, stop, line.of):
                return
            if self._descended(target, goal, stop) <= self._near_enough(goal):
                return

    def _beside(self, of: str, goal: float) -> Floats:
        """Differences of the values of the states from an output; NaN where they have none."""
        found = np.full(len(self.states), math.nan)
        spots = self.spots.get(of, [])[: len(self.states)]
        found[: len(spots)] = spots
        return found - goal

    def _near_enough(self, goal: float | None) -> float:
        return 0.0 if goal is None else _CLOSE * max(abs(goal), self._size)

    @cached_property
    def _size(self) -> float:
        return float(np.abs(self.home).max()) * 1e-3

    def _gathered(self, goal: float) -> None:
        """Send all records that can reach a place there: the output, or the end of a reach close to it."""
        for level in self.levels()[-6:]:
            low, high = self.reach(level)
            ends = np.unique(np.concatenate((low, high)))
            for at in [goal, *ends[np.argsort(np.abs(ends - goal), kind="stable")[:4]].tolist()]:
                self._gather(level, math.floor(at) if self.dates else at)

    def _gather(self, level: int, at: float) -> None:
        low, high = self.reach(level)
        near = (low <= at) & (at <= high)
        apart = low + (high - low) * (np.arange(len(low)) + 1) / (len(low) + 1)
        others = np.argsort(near * (1 + self.ball.centre.size) - self.ball.centre.counts[self.bar], kind="stable")
        for own in (np.zeros(len(low), dtype=np.int64), self._taken(others, level)):
            for rest in (self.home, np.floor(apart) if self.dates else apart, np.clip(at, low, high)):
                if self.left > 0:
                    self.tried(_State(level, own, np.where(near, at, rest)))

    def _place(self, value: Any, target: Any) -> float | None:
        """Which side of an output a value lies on: their difference, if they have one."""
        one, other = on_a_line([value]) if value is not None else None, on_a_line([target])
        if one is None or other is None or one.of != other.of:
            return None
        return float(one.places[0] - other.places[0])

    def _bracketed(self, target: Any, goal: float, stop: int, of: str) -> bool:
        """Bisect paths between states on either side of an output; True once it is met."""
        spots = self._beside(of, goal)
        if (spots == 0).any():
            return True
        order = np.argsort(np.abs(spots), kind="stable")
        below, above = (order[side[order]][:200].tolist() for side in (spots < 0, spots > 0))
        closest: list[dict[Any, int]] = [{}, {}]  # with the same records left out, on either side
        for side, found in zip(closest, (below, above), strict=True):
            for i in found if self.moves else ():
                side.setdefault((self.states[i].level, self.states[i].dropped.tobytes()), i)
        both = [(closest[0][key], closest[1][key]) for key in closest[0] if key in closest[1]]
        for i, j in [*both[:4], *product(below[:3], above[:3])]:
            if self.left <= stop:
                return False
            if self._bisected(self.states[i], self.states[j], target) <= self._near_enough(goal):
                return True
        return False

    def _bisected(self, low: _State, high: _State, target: Any) -> float:
        """Follow the path from a state below to one above, and return the smallest distance met."""
        best = math.inf
        for way in (self._along, self._switched) if self.moves else (self._along,):
            first, last = 0, 3 * self.steps
            while last - first > 1 and self.left > 0 and best > 0:
                middle = (first + last) // 2
                state = way(low, high, middle)
                value = self.tried(state)
                spot = self._place(value, target)
                if spot is None:
                    break
                best = min(best, abs(spot))
                first, last = (middle, last) if spot < 0 else (first, middle)
        return best

    def _along(self, low: _State, high: _State, step: int) -> _State:
        """The path: give records back, move them, leave records out. Never more are out, or further, than at an end."""
        if low.level == high.level and np.array_equal(low.dropped, high.dropped):  # they only move
            return _State(low.level, low.dropped, self._between(low, high, step / (3 * self.steps)))
        stage, part = divmod(step, self.steps)
        level = min(low.level, high.level) if self.moves else low.level
        if stage == 0:
            return _State(low.level, self._fewer(low.dropped, self.steps - part), low.places)
        if stage == 2:
            return _State(high.level, self._fewer(high.dropped, part), high.places)
        places = self._between(low, high, part / self.steps)
        return _State(level, np.zeros_like(self.weight), places)

    def _switched(self, low: _State, high: _State, step: int) -> _State:
        """The same path, with one unit after the other moved all the way."""
        stage, part = divmod(step, self.steps)
        if stage != 1 or low.places is None or high.places is None:
            return self._along(low, high, step)
        there = np.arange(len(self.bar)) < part * (len(self.bar) + 1) // self.steps
        return _State(min(low.level, high.level), np.zeros_like(self.weight), np.where(there, high.places, low.places))

    def _between(self, low: _State, high: _State, part: float) -> Floats | None:
        if not self.moves:
            return None
        one, other = (self.home if each.places is None else each.places for each in (low, high))
        ends = np.minimum(one, other), np.maximum(one, other)
        places = np.clip(one + (other - one) * part, *ends)
        return np.floor(places) if self.dates else places

    def _fewer(self, dropped: Whole, part: int) -> Whole:
        """Leave out the first records of a choice only."""
        found: Whole = np.clip(int(dropped.sum()) * part // self.steps - (np.cumsum(dropped) - dropped), 0, dropped)
        return found

    def _descended(self, target: Any, goal: float | None, stop: int) -> float:
        """Change single units, and runs of them, as long as the distance falls."""
        line = None if goal is None else on_a_line([target])
        if line is not None and goal is not None:
            gaps = np.nan_to_num(np.abs(self._beside(line.of, goal)), nan=math.inf)
        else:
            gaps = np.array([self.gap(value, target) for value in self.values[: len(self.states)]])
        best, state = math.inf, self.states[0]
        for place in np.argsort(gaps, kind="stable")[:3].tolist():
            best, state = float(gaps[place]), self.states[place]
            better = True
            while better and best > self._near_enough(goal) and self.left > stop:
                better = False
                for other in self._changed(state, goal):
                    if self.left <= stop:
                        break
                    gap = self.gap(self.tried(other), target)
                    if gap < best:
                        best, state, better = gap, other, True
                        break
            if best <= self._near_enough(goal):
                break
        return best

    def _changed(self, state: _State, goal: float | None) -> Iterator[_State]:
        """Neighbours of a state: a unit, or a run of units, moved or left out or given back."""
        units = len(self.bar)
        runs = [(i, i + 1) for i in (range(units) if units <= 40 else range(0, units, units // 20))]
        if units > 12:
            runs += [(i, i + size) for size in (units // 16, units // 4) if size > 1 for i in range(0, units, size)]
        if self.moves:
            low, high = self.reach(state.level)
            places = self.home if state.places is None else state.places
            for start, end in runs:
                aims = [
                    low,
                    high,
                    self.home,
                    np.roll(places, 1),
                    np.roll(places, -1),
                    (low + places) / 2,
                    (high + places) / 2,
                ]
                aims += [] if goal is None else [np.full(units, goal)]
                for aim in aims:
                    moved = places.copy()
                    moved[start:end] = np.clip(aim, low, high)[start:end]
                    if not np.array_equal(moved, places):
                        yield _State(state.level, state.dropped, np.floor(moved) if self.dates else moved)
        out = int(state.dropped.sum())
        for start, end in runs:
            for wanted in (state.dropped[start:end] + 1, state.dropped[start:end] - 1, self.weight[start:end] * 0):
                own = state.dropped.copy()
                own[start:end] = np.clip(wanted, 0, self.weight[start:end])
                if own.sum() <= min(state.level, self.ball.dropped) and not np.array_equal(own, state.dropped):
                    yield _State(state.level, own, state.places)
            for other_start, other_end in runs[:20] if out else ():  # one record instead of another
                own = state.dropped.copy()
                own[start:end] = np.minimum(own[start:end] + 1, self.weight[start:end])
                own[other_start:other_end] = np.maximum(own[other_start:other_end] - 1, 0)
                if own.sum() <= min(state.level, self.ball.dropped) and not np.array_equal(own, state.dropped):
                    yield _State(state.level, own, state.places)


def found_errors(ball: Ball, statistic: Any, outputs: Cells, distance: Distance | None) -> Floats:
    """Return upper bounds of the errors: distances to the nearest value that was found."""
    search = _Search(ball, statistic, distance)
    search.explore()
    errors = least_gaps(search.values, outputs, distance)
    wanted = ~missing(outputs) & (errors > 0)
    tried: set[Any] = set()
    while search.left > 0 and len(tried) < _MOST_TARGETS and wanted.any():
        place = int(np.argmax(np.where(wanted, np.where(np.isinf(errors), math.nextafter(math.inf, 0), errors), -1.0)))
        target = outputs[place] if isinstance(outputs, list) else outputs[place].item()
        before = len(search.values)
        search.approach(target)
        tried.add(place)
        same = outputs == target if not isinstance(outputs, list) else np.array([each == target for each in outputs])
        wanted &= ~np.asarray(same, dtype=bool)
        wanted[place] = False
        errors = np.minimum(errors, least_gaps(search.values[before:], outputs, distance))
        wanted &= errors > 0
    return errors


def declared_errors(ball: Ball, statistic: Any, outputs: Cells) -> Floats | None:
    """Return lower bounds of the errors where a statistic declares its sensitivity, or None."""
    declared = attribute(statistic, "sensitivity")
    keys = ball.centre.keys
    line = on_a_line(keys.tolist()) if keys.ndim == 1 else None
    if not callable(declared) or line is None:
        return None
    same_size = attribute(statistic, "equal_size_sensitivity") or declared
    listed = how_many(ball.centre, ball.dropped)
    few = listed is not None and listed * len(ball.centre) <= _MOST_STATES
    reached: list[tuple[Any, float]] = []  # a value, and how far all other values can be from it
    if few:
        for each in submultisets(ball.centre, ball.dropped):
            moved = ball.moved(ball.centre.size - each.size)
            if moved >= 0:
                reached.append((value_of(statistic, each), float(same_size(_up(moved))) if moved else 0.0))
    else:
        own = value_of(statistic, ball.centre)
        steps = np.unique(np.linspace(0, ball.dropped, 65).astype(int)).tolist()
        reached.append((own, float(same_size(_up(ball.moved(0)))) if ball.moved(0) else 0.0))
        places, up_to = line.places.astype(np.float64), running(ball.centre)
        for k, more in zip([0, *steps], steps, strict=False):
            ends = np.minimum(np.searchsorted(up_to, up_to - 1 + more, side="right"), len(places) - 1)
            gap = float((places[ends] - places).max())
            reached.append((own, float(declared(_up(Fraction(gap) + max(ball.moved(k), Fraction(0)))))))
    if not all(width >= 0 for _, width in reached):
        raise InputError("statistic", ": its sensitivity must be a non-negative number")
    errors, gone = np.full(len(outputs), math.inf), missing(outputs)
    if any(value is None or math.isinf(width) for value, width in reached):
        return np.zeros(len(outputs))
    for value, width in dict.fromkeys(reached):
        apart = least_gaps([value], only(outputs, ~gone), None)
        errors[~gone] = np.minimum(errors[~gone], np.nextafter(apart, -math.inf) - np.nextafter(width, math.inf))
    errors[gone] = 0.0
    return np.asarray(np.maximum(errors, 0.0))


def _up(number: Fraction) -> float:
    found = float(number)
    return math.nextafter(found, math.inf) if Fraction(found) < number else found
