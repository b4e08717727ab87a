"""Published facts about one set of values, reconciled: each is cut to what the others leave possible.

A release says several things of the same values: what buckets guarantee, what noise drew, what public bounds and a
filter allow. All of it is public, so this is post-processing. There are no words here and nothing private:

================ =====================================================================================================
certain ends     follow from one another, by min ≤ quantiles in order ≤ max, min ≤ mean ≤ max and sum = n·mean; they cut
                 all others for nothing
drawn points     are judged beside what else is known: absurd ones are unknown, others are cut to the certain ends
estimates        are cut to the drawn points around them, then to the certain ends
================ =====================================================================================================

Only facts of the same population meet. A statement that fails with probability γ and is cut by another that may fail
fails with the sum of both, so that happens only as far as the caller allows.

Places are those of :func:`flexdp._release.interpolation.on_line`: numbers as they are printed, days, microseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

from flexdp._release.claims import Population
from flexdp.statistics import IQR, Count, Max, Mean, Median, Min, Quantile, Range, Statistic, Sum

__all__ = ["Ends", "Fact", "cut", "level_in", "reconcile"]

Ends: TypeAlias = tuple[Fraction | None, Fraction | None]

_FAR = 30  # widths of all that is known by which a point may lie beyond it, where something is known of that tail
_LEAST, _MOST = 10, 1000  # the same where buckets tell how steep it is
_MIDDLE = 10_000  # times the number of records by which tail and middle may differ, where nothing is known of the tail
_ZERO = Fraction(1, 100)  # where many records are 0, points are drawn anywhere near it, and tell nothing of the size
_FIFTH = Fraction(1, 5)  # whose length beside all that is known tells how steep a tail is
_TAIL = Fraction(1, 20)  # a quantile of at most this level tells of the lower tail
_OPEN: Ends = (None, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One thing that is published of a quantity.

    Parameters
    ----------
    quantity
        A quantile (maximum, minimum and median among them), the mean, the sum, the count, or a difference of quantiles.
    population
        The values in question.
    low, high
        Ends between which the quantity lies; None where nothing is said.
    gamma
        The chance that the ends are wrong; 0 where they are certain.
    point
        The single value that is published.
    drawn
        The point was drawn by a mechanism whose noise may lead it far astray. Other points are estimates.
    public
        The ends were known before a record was read: they tell nothing of where records are.
    found
        The limits of the population were found privately, by draws that may be astray as well; the values themselves
        are those of the population without limits.
    unknown
        The point was so far outside of everything else that is known that it is not to be printed; it is None then.

    Examples
    --------
    >>> low = Fact(quantity=Max(), population=Population(), low=Fraction(300))
    >>> drawn = Fact(quantity=Max(), population=Population(), point=Fraction(250), drawn=True)
    >>> reconcile([low, drawn])[1].point
    Fraction(300, 1)
    """

    quantity: Statistic
    population: Population
    low: Fraction | None = None
    high: Fraction | None = None
    gamma: Fraction = Fraction(0)
    point: Fraction | None = None
    drawn: bool = False
    public: bool = False
    found: bool = False
    unknown: bool = False

    @property
    def ends(self) -> Ends:
        """Both ends."""
        return self.low, self.high


def level_in(quantity: Statistic) -> Fraction | None:
    """Return the level of a quantile; None for other statistics.

    >>> level_in(Max()), level_in(Quantile("0.99")), level_in(Mean()) is None
    (Fraction(1, 1), Fraction(99, 100), True)
    """
    if isinstance(quantity, Quantile):
        return Fraction(quantity.level)
    plain: dict[type, Fraction] = {Min: Fraction(0), Median: Fraction(1, 2), Max: Fraction(1)}
    return plain.get(type(quantity))


def cut(place: Fraction, low: Fraction | None, high: Fraction | None) -> Fraction:
    """Return a place, or the nearer of two ends if it lies beyond them; None limits nothing.

    >>> cut(Fraction(7), Fraction(0), Fraction(3)), cut(Fraction(7), None, None)
    (Fraction(3, 1), Fraction(7, 1))
    """
    if high is not None and place > high:
        place = high
    return low if low is not None and place < low else place


def reconcile(
    facts: Iterable[Fact], *, gamma: Fraction = Fraction(0), last: Fraction | None = None
) -> tuple[Fact, ...]:
    """Return the facts in their order, each cut to what the others leave possible.

    Parameters
    ----------
    facts
        Published facts, of any populations.
    gamma
        The largest chance of failure that a statement may have after it was cut by others that may fail; by default
        only what is certain cuts.
    last
        A magnitude from which on values are not told apart, so that a point there says nothing by itself.

    Returns
    -------
    tuple of Fact
        No end is moved outward, and no point out of certain ends. Ends that cannot hold beside certain ones are
        withdrawn, and absurd points are ``unknown``.

    Examples
    --------
    >>> whole = Population()
    >>> buckets = Fact(quantity=Quantile("0.9"), population=whole, low=Fraction(10), high=Fraction(20))
    >>> astray = Fact(quantity=Max(), population=whole, point=Fraction(10**18), drawn=True)
    >>> middle = Fact(quantity=Median(), population=whole, point=Fraction(9), drawn=True)
    >>> count = Fact(quantity=Count(), population=whole, point=Fraction(10_000))
    >>> reconcile([buckets, middle, astray, count])[2].unknown
    True
    """
    given = list(facts)
    found: dict[int, Fact] = {}
    for population in {_shared(fact): None for fact in given}:
        own = [place for place, fact in enumerate(given) if _shared(fact) == population]
        found |= dict(zip(own, _Reconciled([given[place] for place in own], gamma, last).all(), strict=True))
    return tuple(found[place] for place in range(len(given)))


def _shared(fact: Fact) -> Population:
    """The population whose facts meet: limits that were found privately belong to the fact, not to the values."""
    return replace(fact.population, limits=None) if fact.found else fact.population


class _Reconciled:
    """The facts of one population."""

    def __init__(self, facts: Sequence[Fact], gamma: Fraction, last: Fraction | None) -> None:
        self.facts, self.gamma, self.last = facts, gamma, last
        self.certain = _Known([fact for fact in facts if not fact.gamma and not fact.found])
        self.seen = _Known([fact for fact in facts if not fact.gamma and not fact.found and not fact.public])
        public = _Known([fact for fact in facts if fact.public])
        self.public: Ends = public.of(Min())[0], public.of(Max())[1]

    def all(self) -> list[Fact]:
        """All facts, in their order."""
        if any(map(self._is_impossible, self.facts)):
            self.facts = [
                _unknown(fact) if fact.drawn and level_in(fact.quantity) is not None else fact for fact in self.facts
            ]
        below, above = self._astray()
        known = [self._judged(self._ends_cut(fact), below, above) for fact in self.facts]
        drawn = sorted(
            (level, self._within_sure(fact, fact.point))
            for fact in known
            if fact.drawn and fact.point is not None and (level := level_in(fact.quantity)) is not None
        )
        return [self._point_cut(fact, drawn) for fact in known]

    def _is_impossible(self, fact: Fact) -> bool:
        """Whether an inner point is further beyond the public ends than these are apart, as no value can be.

        The noise of its draw was larger than all that there is, so the draws beside it tell nothing either. An extreme
        may pass the last value by any number of steps.
        """
        level, (low, high) = level_in(fact.quantity), self.public
        if level is None or not _TAIL < level < 1 - _TAIL or not fact.drawn or fact.point is None:
            return False
        place = cut(fact.point, *self.seen.of(fact.quantity))
        return low is not None and high is not None and not 2 * low - high <= place <= 2 * high - low

    def _sure(self, fact: Fact) -> Ends:
        """The certain ends of a fact's quantity; none of values that were limited privately."""
        return _OPEN if fact.found else self.certain.of(fact.quantity)

    def _ends_cut(self, fact: Fact) -> Fact:
        """The fact with its ends within the certain ones, and within others as far as that is allowed.

        Certain ends that tell where records are stay so: public ones do not move them.
        """
        if fact.ends == _OPEN and fact.gamma:
            return fact
        told = not fact.gamma and not fact.found and not fact.public
        sure = self.seen.of(fact.quantity) if told else self._sure(fact)
        ends, gamma = _within(fact.ends, sure), fact.gamma
        for other in self.facts if gamma and not fact.found and not _is_empty(ends) else ():
            if other is fact or not other.gamma or other.found or gamma + other.gamma > self.gamma:
                continue
            narrower = _within(ends, _Known([other]).of(fact.quantity))
            if narrower != ends and not _is_empty(narrower):
                ends, gamma = narrower, gamma + other.gamma
        if _is_empty(ends):  # a statement that failed
            ends = _OPEN
        return replace(fact, low=ends[0], high=ends[1], gamma=gamma)

    def _astray(self) -> Ends:
        """The places from which on drawn points are absurd, downwards and upwards; None where nothing is.

        What is known grows outward from the certain ends that records lie beyond and from the inner quantiles, by the
        nearest drawn point first, until one lies far outside.
        """
        edges = self.seen.of(Min())[1], self.seen.of(Max())[0]  # beyond which some record certainly lies
        inner, outer = [end for end in edges if end is not None], []
        for fact in self.facts:
            level = level_in(fact.quantity)
            if fact.found and fact.population.limits is not None:
                outer += [(Fraction(end), True) for end in fact.population.limits]
            elif level is not None and fact.drawn and fact.point is not None:
                place = cut(fact.point, *self._sure(fact))
                if _TAIL < level < 1 - _TAIL:
                    inner.append(place)
                else:
                    outer.append((place, 0 < level < 1))
        if not inner or not outer:
            return _OPEN
        low, high = min(inner), max(inner)
        steep = self._steepness(edges)
        tells = [each is not None for each in steep]
        bounds: list[Fraction | None] = [None, None]
        for place, told in sorted(outer, key=lambda each: max(low - each[0], each[0] - high)):
            side = int(place > (low + high) / 2)
            widths = steep[side] if steep[side] is not None else Fraction(_FAR) if tells[side] else None
            far = self._far(low, high, widths)
            if bounds[side] is None and far is not None and max(low - place, place - high) > far:
                bounds[side] = place
            if bounds[side] is None:
                low, high, tells[side] = min(low, place), max(high, place), tells[side] or told
        if low == high and edges == _OPEN and bounds != [None, None]:
            return low, high  # one point against another: neither is known to be the one astray
        return bounds[0], bounds[1]

    def _steepness(self, edges: Ends) -> tuple[Fraction | None, Fraction | None]:
        """How many widths of what is known each tail may be long, by how far its last fifth is known to reach.

        Along the tail of a power law, the highest of some hundred records lies further out than the last edge by the
        cube of the factor by which that lies further out than the 80th percentile.
        """
        fifths = self.seen.of(Quantile(_FIFTH))[1], self.seen.of(Quantile(1 - _FIFTH))[0]
        if edges[0] is None or edges[1] is None or edges[0] >= edges[1]:
            return None, None
        ends: list[Fraction] = [end for end in edges if end is not None]
        found: list[Fraction | None] = []
        width = ends[1] - ends[0]
        for side, fifth in enumerate(fifths):
            apart = None if fifth is None else abs(fifth - ends[1 - side])
            found.append(None if not apart else min(max(3 * (width / apart) ** 3, Fraction(_LEAST)), Fraction(_MOST)))
        return found[0], found[1]

    def _far(self, low: Fraction, high: Fraction, widths: Fraction | None) -> Fraction | None:
        """How far outside of what is known a point, or a limit of a mean, may lie; None where nothing can judge it."""
        width, largest = high - low, max(abs(low), abs(high))
        if largest < _ZERO and self.seen.of(Min())[1] is None and self.seen.of(Max())[0] is None:
            return None if self.last is None else self.last - 1
        if widths is not None and width:
            return widths * width
        counts = [
            self._within_sure(fact, fact.point)
            for fact in self.facts
            if isinstance(fact.quantity, Count) and fact.point is not None
        ]
        if counts and largest:
            return max(counts) * max(width, largest) * _MIDDLE
        return None if self.last is None else self.last - largest - 1

    def _judged(self, fact: Fact, below: Fraction | None, above: Fraction | None) -> Fact:
        """The fact, or that its point is unknown."""
        if fact.found and fact.population.limits is not None:
            places = [Fraction(end) for end in fact.population.limits]
        elif fact.drawn and fact.point is not None and level_in(fact.quantity) is not None:
            places = [cut(fact.point, *self._sure(fact))]
        else:
            return fact
        astray = any(
            (below is not None and place <= below) or (above is not None and place >= above) for place in places
        )
        if not astray:
            return fact
        return _unknown(fact)

    def _point_cut(self, fact: Fact, drawn: Sequence[tuple[Fraction, Fraction]]) -> Fact:
        """The fact with its point between drawn ones, if it is an estimate or a mean, and within the certain ends."""
        point, level = fact.point, level_in(fact.quantity)
        if point is None:
            return fact
        around: Ends = _OPEN
        if level is not None and not fact.drawn:
            around = _around(level, drawn)
        elif isinstance(fact.quantity, Mean):
            around = dict(drawn).get(Fraction(0)), dict(drawn).get(Fraction(1))
        if not _is_empty(around):
            point = cut(point, *around)
        return replace(fact, point=self._within_sure(fact, point))

    def _within_sure(self, fact: Fact, point: Fraction) -> Fraction:
        """A point within the certain ends of a fact itself, and of its quantity."""
        return cut(cut(point, *(_OPEN if fact.gamma else fact.ends)), *self._sure(fact))


def _unknown(fact: Fact) -> Fact:
    """The fact without its point, and without ends that may fail."""
    ends = _OPEN if fact.gamma else fact.ends
    return replace(fact, point=None, low=ends[0], high=ends[1], unknown=True)


class _Known:
    """What some facts say together of any quantity."""

    def __init__(self, facts: Iterable[Fact]) -> None:
        self.levels: list[tuple[Fraction, Ends]] = []
        self.others: dict[type, Ends] = {}
        for fact in facts:
            level = level_in(fact.quantity)
            if level is not None:
                self.levels.append((level, fact.ends))
            else:
                self.others[type(fact.quantity)] = _within(fact.ends, self._own(type(fact.quantity)))

    def of(self, quantity: Statistic) -> Ends:
        """Return the ends that a quantity has by them; those of no values at all say nothing."""
        level = level_in(quantity)
        if level is not None:
            return self._quantile(level)
        if isinstance(quantity, Range | IQR):
            part = Fraction(isinstance(quantity, IQR), 4)
            least, most = self._quantile(part), self._quantile(1 - part)
            apart = (_less(most[0], least[1]) or Fraction(0)), _less(most[1], least[0])
            return _within((max(apart[0], Fraction(0)), apart[1]), self._own(type(quantity)))
        if isinstance(quantity, Mean):
            return self._mean()
        if isinstance(quantity, Sum):
            return _within(self._own(Sum), _times(self._own(Count), self._mean()))
        return self._own(type(quantity))

    def _own(self, kind: type) -> Ends:
        return self.others.get(kind, _OPEN)

    def _quantile(self, level: Fraction) -> Ends:
        low = [ends[0] for at, ends in self.levels if at <= level and ends[0] is not None]
        high = [ends[1] for at, ends in self.levels if at >= level and ends[1] is not None]
        mean = self._mean_alone()
        low += [mean[0]] if level == 1 and mean[0] is not None else []
        high += [mean[1]] if level == 0 and mean[1] is not None else []
        return max(low, default=None), min(high, default=None)

    def _mean_alone(self) -> Ends:
        """The ends of the mean by the facts about mean, sum and count."""
        return _within(self._own(Mean), _shared_out(self._own(Sum), self._own(Count)))

    def _mean(self) -> Ends:
        low, high = self._quantile(Fraction(0))[0], self._quantile(Fraction(1))[1]
        return _within(self._mean_alone(), (low, high))


def _less(high: Fraction | None, low: Fraction | None) -> Fraction | None:
    return None if high is None or low is None else high - low


def _times(count: Ends, mean: Ends) -> Ends:
    """The ends of a sum from those of a count and of a mean."""
    least, most = max(count[0] or Fraction(0), Fraction(0)), count[1]
    low, high = mean
    sizes = {True: least, False: most}  # records by which an end is multiplied, on the near side of zero and beyond
    first = None if low is None or sizes[low >= 0] is None else low * (sizes[low >= 0] or 0)
    last = None if high is None or sizes[high <= 0] is None else high * (sizes[high <= 0] or 0)
    return first, last


def _shared_out(total: Ends, count: Ends) -> Ends:
    """The ends of a mean from those of a sum and of a count, where there certainly are records."""
    least, most = count
    if least is None or least <= 0:
        return _OPEN
    low, high = total
    sizes = {True: most, False: least}
    first = None if low is None else Fraction(0) if low >= 0 and most is None else low / (sizes[low >= 0] or least)
    last = None if high is None else Fraction(0) if high <= 0 and most is None else high / (sizes[high <= 0] or least)
    return first, last


def _around(level: Fraction, drawn: Sequence[tuple[Fraction, Fraction]]) -> Ends:
    """The drawn points at the nearest levels below and above."""
    low = [point for at, point in drawn if at <= level]
    high = [point for at, point in drawn if at >= level]
    return (low[-1] if low else None), (high[0] if high else None)


def _within(ends: Ends, other: Ends) -> Ends:
    """The narrower of both ends."""
    lows = [end for end in (ends[0], other[0]) if end is not None]
    highs = [end for end in (ends[1], other[1]) if end is not None]
    return max(lows, default=None), min(highs, default=None)


def _is_empty(ends: Ends) -> bool:
    return ends[0] is not None and ends[1] is not None and ends[0] > ends[1]
