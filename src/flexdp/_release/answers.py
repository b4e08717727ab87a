"""Answers in numbers: each statistic of a release with the accuracy that the calculus derives for it.

Everything here is post-processing of public numbers. Two kinds of guarantee appear (docs/theory.md): per bucket,
always; and as a share of the data, only where all buckets were public in advance or a bound on all was paid for.
The words are those of :mod:`flexdp._release.sentences`.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexdp._core.display import card, sentence
from flexdp._core.exact import float_up, said, to_double
from flexdp._release.answerable import check_kind
from flexdp._release.asked_promises import MeanPromise, RankPromise
from flexdp._release.claims import Claim, Population
from flexdp._release.interpolation import Profile, at_place, difference, on_line
from flexdp._release.ranges import bucket_ends
from flexdp._release.reconcile import Fact, cut, level_in, reconcile
from flexdp.buckets.base import MEASURES
from flexdp.buckets.edges import Edges
from flexdp.buckets.ends import is_open
from flexdp.buckets.exact import Exact
from flexdp.buckets.grid import Grid
from flexdp.buckets.partition import Partition, public_count
from flexdp.buckets.width import Width
from flexdp.calculus import drop_move_accuracy
from flexdp.calculus.loss import (
    alpha_after,
    buckets_beyond,
    histogram_accuracy,
    most_lost,
    quantile_hull,
    together,
)
from flexdp.distances import Difference, Metric
from flexdp.errors import InputError, P
from flexdp.guarantees import Accuracy
from flexdp.histogram import Histogram
from flexdp.mechanisms.read_off import function_accuracy, read_accuracy
from flexdp.noise.drop import DropNoise
from flexdp.statistics import Max, MaxAtLeast, Quantile, Range, Statistic, Top, to_python

__all__ = ["Answer", "Applied", "Counts", "Reader", "Reading", "Tally"]

Work: TypeAlias = Callable[[Histogram], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A statistic of a release: its value, its accuracy, and a true sentence to print.

    Parameters
    ----------
    name
        Name of the statistic, such as "maximum" or "99th percentile".
    value
        The value: a bucket's centre where values were bucketed, or, for quantiles, an estimate inside a bucket, and
        the edge of one that is open; None, or empty for collections, where nothing survived.
    accuracy
        The guarantee; None where none is given.
    statement
        The sentence that ``str()`` prints. The conditions it shares with the other answers are
        :attr:`Release.conditions`.
    text
        The value as the statement shows it: a range where a bucket is meant, "about" before an estimate.
    interval
        Ends between which the quantile of the data, nothing left out, is guaranteed to lie, as the value does; known
        only where the buckets were public in advance.
    promise
        For an answer that was asked for: how many records it may be off by, and with which probability.
    tallies
        What each bucket that the value names holds, in its order: an estimate, and certain ends.
    claims
        What the statement says of the data, as numbers: each printed number belongs to one of them.
    population
        How often each unit counts, as the headline says it; empty where every record counts.

    Examples
    --------
    >>> import flexdp
    >>> answer = flexdp.release([33.0] * 900, epsilon=1, delta=1e-6, width=5).max()
    >>> answer.value, answer.text, answer.accuracy.beta
    (32.5, '30–35 or more', 2.5)
    >>> print(answer)  # doctest: +NORMALIZE_WHITESPACE
    Highest value: 30–35 or more. At most 27 records per bucket were left out; up to 27 may lie in each higher bucket,
    and apart from those the highest lies in 30–35.
    """

    name: str
    value: Any
    accuracy: Accuracy | None
    statement: str
    text: str
    interval: tuple[Any, Any] | None = None
    promise: RankPromise | MeanPromise | None = None
    tallies: tuple[Tally, ...] = field(default=(), repr=False)
    claims: tuple[Claim, ...] = field(default=(), repr=False)
    population: str = ""

    def __str__(self) -> str:
        return self.statement

    def _repr_html_(self) -> str:
        head, rest = self.parts
        return card(head, sentence(rest)) if rest else card(self.name, sentence(head))

    @property
    def parts(self) -> tuple[str, str]:
        """The statement in two parts: the value, and how accurate it is; the latter is empty in a single sentence."""
        head, found, rest = self.statement.partition(f": {self.text}. ")
        return (f"{head}{found.rstrip()}", rest) if found else (self.statement, "")


@dataclass(frozen=True, slots=True)
class Counts:
    """The question for all counts; ``added`` is the mean loss added back to each, None for counts as they are."""

    added: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Applied:
    """The question for a function of the released histogram, by its name."""

    name: str


@dataclass(frozen=True, slots=True)
class Tally:
    """The number of records in a place: an estimate, and between which ends it certainly lies; ``upper`` may be None.

    The estimate adds the mean loss to the released count, and stays within these ends.
    """

    about: int
    lower: int
    upper: int | None

    @classmethod
    def of(cls, count: int, mean: Fraction, lost: int | None) -> Tally:
        """Return what a released count says, given the mean and the largest loss behind it.

        >>> Tally.of(900, Fraction(27, 2), 27)
        Tally(about=914, lower=900, upper=927)
        """
        about, upper = round(count + mean), None if lost is None else count + lost
        return cls(about if upper is None else min(about, upper), count, upper)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """An answer in numbers.

    ``index`` holds the buckets that the value names, in its order; ``tallies`` what each of them holds, and ``others``
    the most that any other bucket, or any higher one, can hold. ``hull`` are the buckets between which a quantile lies
    for certain, and ``opened`` is the bucket it lies in if that is open, so that the value is its edge. ``beyond`` is
    the share of what was counted that can lie in buckets beyond an extreme. ``too_large`` marks a value, ``too_wide``
    an error, that no double holds; ``empty`` that nothing survived. ``parts`` are the quantiles that a difference is
    made of.
    """

    question: Statistic | Counts | Applied
    value: Any
    accuracy: Accuracy | None = None
    index: NDArray[Any] | None = None
    interval: tuple[Any, Any] | None = None
    hull: tuple[int, int] | None = None
    too_large: bool = False
    too_wide: bool = False
    empty: bool = False
    parts: tuple[Reading, ...] = ()
    tallies: tuple[Tally, ...] = ()
    others: int | None = None
    opened: Any = None
    beyond: Fraction | None = None


@dataclass(frozen=True, kw_only=True)
class Reader:
    """Released counts and what is public about their loss: all that an answer is computed from.

    ``index`` has the counts by bucket index, ``centres`` by bucket centre. ``summed`` is the number of buckets, each
    with a loss of its own, that one count adds up, None where it is not public; ``public`` tells that no group was
    found in the data. ``mean`` is the expected loss of a full bucket, ``total`` a bound on all missing contributions.
    ``cells`` is the number of released buckets that each count adds up, None where that is one. ``facts`` are quantiles
    that were asked for.
    """

    partition: Partition
    noise: DropNoise
    mean: Fraction
    index: Histogram
    centres: Histogram
    summed: int | None = 1
    public: bool = True
    total: int | None = None
    cells: NDArray[np.int64] | None = None
    facts: tuple[Fact, ...] = ()

    @property
    def shortfall(self) -> int | None:
        """The most by which one count can be too low; None where that is not public."""
        return most_lost(self.noise.max_drop, self.summed, total=self.total)

    @property
    def share(self) -> Fraction | None:
        """The share of what was counted that can be missing in total; None where none is certified."""
        return self._share(self.partition.count)

    def extreme(self, statistic: Statistic) -> Reading:
        """Maximum or minimum: only the buckets beyond the reported one can have hidden anything."""
        if (nothing := self._unanswerable(statistic)) is not None:
            return nothing
        top = isinstance(statistic, Max)
        index = self.index.keys[-1:] if top else self.index.keys[:1]
        hidden = self._beyond(top)
        return Reading(
            question=statistic,
            value=statistic(self.centres),
            accuracy=self._accuracy(statistic, hidden, index),
            index=index,
            beyond=self._share(hidden),
        )

    def spread(self, statistic: Range) -> Reading:
        """The range: its error is that of both ends together."""
        if (nothing := self._unanswerable(statistic)) is not None:
            return nothing
        places = self.index.keys[[0, -1]]
        found = [self._beta_at(to_python(place)) for place in places]
        errors = [error for error in found if error is not None]
        if len(errors) < len(found):
            return self._least_spread(statistic, places)
        ends = [to_python(self.centres.keys[end]) for end in (0, -1)]
        if self.partition.relative:  # each end's error is a fraction of its own size
            errors = [error * abs(_number(end)) for error, end in zip(errors, ends, strict=True)]
        value = statistic(self.centres)
        if isinstance(value, float) and math.isfinite(value):  # of the numbers that are printed, not of the doubles
            difference = _number(ends[1]) - _number(ends[0])
            value = to_double(difference)
            errors.append(abs(said(value) - difference))
        error = sum(errors, Fraction(0))
        if value == math.inf or float_up(2 * error) == math.inf:
            return Reading(question=statistic, value=None, too_large=value == math.inf, too_wide=value != math.inf)
        hidden = self._share(together(self._beyond(True), self._beyond(False)))
        histogram = histogram_accuracy(  # Δ_f doubles it
            alpha=hidden, beta=error / 2, max_drop=self.noise.max_drop, unit=self.partition.unit
        )
        accuracy = read_accuracy(histogram, statistic)
        accuracy = accuracy.but(alpha=accuracy.alpha, beta=error)
        return Reading(question=statistic, value=value, accuracy=accuracy, index=places, beyond=hidden)

    def quantile(self, statistic: Statistic, level: Fraction) -> Reading:
        """A quantile, corrected and interpolated, with the interval that certainly holds it where buckets are public.

        ``index`` is the bucket of the quantile of the records that are left, to which the accuracy refers.
        """
        if (nothing := self._unanswerable(statistic)) is not None:
            return nothing
        place = int(np.flatnonzero(self.centres.keys == statistic(self.centres))[0])
        index = self.index.keys[place : place + 1]
        hull = self._hull(level)
        interval = None if hull is None else self._interval(*hull)
        value, opened = self._estimate(statistic, level, interval)
        accuracy = self._accuracy(statistic, self.partition.count, index)
        if accuracy is not None:
            apart = self._apart(value, to_python(index[0]))
            finite = math.isfinite(float_up(apart))
            accuracy = accuracy.but(alpha=accuracy.alpha, beta=apart, relative=False) if finite else None
        return Reading(
            question=statistic,
            value=value,
            accuracy=accuracy,
            index=index,
            interval=interval,
            hull=hull,
            opened=opened,
        )

    def quartiles(self, statistic: Statistic) -> Reading:
        """The interquartile range: the difference of two quantiles."""
        if (nothing := self._unanswerable(statistic)) is not None:
            return nothing
        low, high = (self.quantile(Quantile(level), level) for level in (Fraction(1, 4), Fraction(3, 4)))
        value = None if low.value is None or high.value is None else difference(high.value, low.value)
        accuracy, interval, opened = None, None, None
        if low.accuracy is not None and high.accuracy is not None and value is not None:
            rounded = Fraction(0)
            if isinstance(value, float):
                rounded = abs(said(value) - (on_line(high.value) - on_line(low.value)))
            beta = float_up(said(low.accuracy.beta) + said(high.accuracy.beta) + rounded)
            accuracy = high.accuracy.but(alpha=high.accuracy.alpha, beta=beta) if math.isfinite(beta) else None
        if low.interval is not None and high.interval is not None:
            least, most = (difference(high.interval[side], low.interval[1 - side]) for side in (0, 1))
            nothing_apart = 0.0 if value is None else value - value
            interval = nothing_apart if least == -math.inf else max(least, nothing_apart), most
        if low.opened is not None or high.opened is not None:
            accuracy, opened = None, (low.opened, high.opened)
            least = self._least_apart(low, high)
            value = least if least is None or interval is None else interval[0]
        index = np.concatenate([low.index, high.index])
        return Reading(
            question=statistic,
            value=value,
            accuracy=accuracy,
            index=index,
            interval=interval,
            parts=(low, high),
            opened=opened,
        )

    def _least_apart(self, low: Reading, high: Reading) -> Any:
        """The least distance of two quartiles that lie in their buckets, of which one is open; 0 in the same one."""
        assert not isinstance(self.partition, Grid)
        if low.value is None or high.value is None:
            return None
        assert low.index is not None and high.index is not None
        places = [each.index[0] if each.opened is None else each.opened for each in (low, high)]  # type: ignore[index]
        first, last = (
            self._inner_end(to_python(place), above=side) for place, side in zip(places, (True, False), strict=True)
        )
        nothing = low.value - low.value
        return nothing if first is None or last is None else max(difference(last, first), nothing)

    @cached_property
    def profile(self) -> Profile:
        """The counts corrected for their mean loss, and spread over their buckets."""
        assert not isinstance(self.partition, Grid)  # of which no quantile is asked
        keys, counts = self.index.keys, self.index.counts
        known = {level_in(fact.quantity): fact.point for fact in self.facts}
        ends = known.get(Fraction(0)), known.get(Fraction(1))
        return Profile(self.partition, keys, counts, self.mean, self.cells, ends)

    def _estimate(self, statistic: Statistic, level: Fraction, interval: tuple[Any, Any] | None) -> tuple[Any, Any]:
        """A quantile inside its bucket, or the interval that certainly holds it, and between asked answers; and None.

        In an open bucket, which no asked answer closes, it is the edge and the bucket; None and the bucket in one that
        holds everything.
        """
        assert not isinstance(self.partition, Grid)  # of which no quantile is asked
        found = self.profile.quantile(level)
        index = to_python(self.index.keys[found.place])
        edges = bucket_ends(self.partition, index)
        unlimited = [fact for fact in self.facts if fact.population.limits is None]  # others tell of no value beyond
        levels = [at for fact in unlimited if (at := level_in(fact.quantity)) is not None]
        below = is_open(self.partition, index, above=False) and not any(at <= level for at in levels)
        above = is_open(self.partition, index, above=True) and not any(at >= level for at in levels)
        if below and above:
            return None, index
        if below or above:
            edge = edges[0] if above else edges[1]
            nearest = cut(on_line(edge), *map(_finite, (-math.inf, math.inf) if interval is None else interval))
            return (edge, index) if nearest == on_line(edge) else (at_place(self.partition.kind, nearest), None)
        if found.value is None or isinstance(self.partition, Exact):  # a value that occurs
            return found.value, None
        low, high = map(_finite, edges if interval is None else interval)
        population = self.facts[0].population if self.facts else Population()
        own = Fact(quantity=statistic, population=population, low=low, high=high, point=on_line(found.value))
        point = reconcile((*self.facts, own))[-1].point
        assert point is not None
        return (found.value if point == own.point else at_place(self.partition.kind, point)), None

    def _apart(self, value: Any, index: Any) -> Fraction:
        """The furthest that anything in a bucket can be from a value, in the unit of errors."""
        assert not isinstance(self.partition, Grid)
        ends: Iterable[Fraction]
        if self.partition.kind == "number" and isinstance(self.partition, Width | Edges):
            ends = self.partition.extent(index)
        else:
            ends = map(on_line, bucket_ends(self.partition, index))
        furthest = max(abs(end - on_line(value)) for end in ends)
        return furthest / MEASURES[self.partition.unit] if self.partition.kind == "datetime" else furthest

    def support(self, statistic: Statistic) -> Reading:
        """The support, in the Hausdorff sense: nothing is listed that is not there."""
        if not len(self.index):
            return Reading(question=statistic, value=(), empty=True)
        return Reading(
            question=statistic,
            value=statistic(self.centres),
            accuracy=self._accuracy(statistic, self.partition.count),
            index=self.index.keys,
            beyond=self.share,
        )

    def categorical(self, statistic: Statistic) -> Reading:
        """Statistics that jump when values move: exact for data with records left out and values moved."""
        self._check_order(statistic)
        if not len(self.index):
            return Reading(question=statistic, value=() if isinstance(statistic, Top) else None, empty=True)
        value = statistic(self.centres)
        accuracy = self._accuracy(statistic, self.partition.count)
        chosen = statistic(self.index)
        if isinstance(statistic, Top):
            chosen = [key for key, _ in chosen]
        elif chosen is not None:
            chosen = [chosen]
        index = None if chosen is None else np.array(chosen, dtype=self.index.keys.dtype)
        places = [] if index is None else [self._place_of(one) for one in index]
        return Reading(
            question=statistic,
            value=value,
            accuracy=accuracy,
            index=index,
            tallies=tuple(map(self.tally, places)),
            others=self._most_in_others(places, higher=isinstance(statistic, MaxAtLeast)),
        )

    def tally(self, place: int) -> Tally:
        """Return what one of the released buckets holds, by its place."""
        cells = 1 if self.cells is None else int(self.cells[place])
        return Tally.of(int(self.index.counts[place]), cells * self.mean, self.shortfall)

    @property
    def tallies(self) -> tuple[Tally, ...]:
        """What each released bucket holds."""
        return tuple(map(self.tally, range(len(self.index))))

    def _place_of(self, index: Any) -> int:
        keys = self.index.keys
        same = keys == index if keys.ndim == 1 else (keys == index).all(axis=1)
        return int(np.flatnonzero(same)[0])

    def _most_in_others(self, places: list[int], *, higher: bool) -> int | None:
        """The most that a bucket can hold which is not among some released ones, or is higher than all of them.

        None where that is not public, or where there is no such bucket.
        """
        lost, last = self.shortfall, len(self.index) - 1
        if lost is None:
            return None
        if higher:
            others = range(max(places, default=-1) + 1, last + 1)
            everything = bool(places) and self._beyond(above=True) == 0 and max(places) == last
        else:
            chosen = set(places)
            others = [place for place in range(last + 1) if place not in chosen]  # type: ignore[assignment]
            everything = not others and public_count(self.partition) == len(self.index)
        if everything:
            return None
        return max((int(self.index.counts[place]) for place in others), default=0) + lost

    def counts(self, *, debias: bool) -> Reading:
        """All released counts, with the mean loss added back where asked."""
        if not len(self.index):
            return Reading(question=Counts(), value={}, empty=True)
        if not debias:
            histogram = self._histogram_accuracy(self.partition.count)
            accuracy = None if histogram is None else drop_move_accuracy(histogram, metric=Difference())
            value: dict[Any, Any] = dict(self.centres.items())
            return Reading(
                question=Counts(), value=value, accuracy=accuracy, index=self.index.keys, tallies=self.tallies
            )
        if self.summed is None:
            raise InputError(
                "debias",
                "needs to know how many groups there can be",
                remedy=("Declare them with ", P("groups"), "."),
            )
        mean = self.mean * self.summed
        value = {key: records + float(mean) for key, records in self.centres.items()}
        return Reading(question=Counts(mean), value=value, index=self.index.keys)

    def function(
        self, name: str, work: Work, moves: Callable[[float], float], metric: Metric = Difference()
    ) -> Reading:
        """Any function of the released histogram: with the error its sensitivity allows, or the drop-move guarantee."""
        if not len(self.index):
            return Reading(question=Applied(name), value=None, empty=True)
        histogram = self._histogram_accuracy(self.partition.count)
        accuracy = None if histogram is None else function_accuracy(histogram, moves, metric)
        return Reading(question=Applied(name), value=work(self.centres), accuracy=accuracy)

    def _beyond(self, above: bool) -> int | None:
        if self.partition.count is None:
            return None
        end = int(self.index.keys[-1 if above else 0])
        return buckets_beyond(self.partition.first, self.partition.count, end, above=above)

    def _share(self, hidden: int | None) -> Fraction | None:
        """α certified by the release: what ``hidden`` public buckets, or all together, can have lost at most."""
        known = hidden is not None and self.public and self.summed is not None
        buckets = (hidden or 0) * (self.summed or 0) if known else None
        lost = most_lost(self.noise.max_drop, buckets, total=self.total)
        return None if lost is None else alpha_after(lost, self.index.size)

    def _histogram_accuracy(self, hidden: int | None, index: NDArray[Any] | None = None) -> Accuracy | None:
        """The accuracy of all released buckets, limited to the bounds; or of one, None if that is open."""
        beta = self._widest if index is None else self._beta_at(to_python(index[0]))
        if beta is None:
            return None
        return histogram_accuracy(
            alpha=self._share(hidden),
            beta=beta,
            max_drop=self.noise.max_drop,
            relative=self.partition.relative,
            unit=self.partition.unit,
        )

    def _beta_at(self, index: Any) -> Fraction | None:
        """How far a record of a bucket can lie from its middle, as it was read; None if the bucket is open."""
        opened = any(is_open(self.partition, index, above=above) for above in (False, True))
        return None if opened else self.partition.beta_at(index)

    @cached_property
    def _widest(self) -> Fraction | None:
        """β of all released buckets together; records of the others were left out."""
        return self.partition.beta_of(self.index.keys)

    def _accuracy(self, statistic: Statistic, hidden: int | None, index: NDArray[Any] | None = None) -> Accuracy | None:
        histogram = self._histogram_accuracy(hidden, index)
        return None if histogram is None else read_accuracy(histogram, statistic)

    def _least_spread(self, statistic: Range, places: NDArray[Any]) -> Reading:
        """The range between open ends: at least the distance of their edges."""
        assert not isinstance(self.partition, Grid)
        last, first = (
            self._inner_end(to_python(place), above=above) for place, above in zip(places, (True, False), strict=True)
        )
        value: Any = 0 if self.partition.kind in ("integer", "number") else dt.timedelta(0)
        if last is not None and first is not None and first > last:
            value = difference(first, last)
        return Reading(question=statistic, value=value, index=places)

    def _inner_end(self, index: Any, *, above: bool) -> Any:
        """The upper (or lower) end of a bucket; None if it is open there."""
        assert not isinstance(self.partition, Grid)
        end = bucket_ends(self.partition, index)[above]
        return None if is_open(self.partition, index, above=above) or _is_infinite(end) else end

    def _check_order(self, statistic: Statistic) -> None:
        if isinstance(self.partition, Grid) and statistic.ordered:
            raise InputError(
                "statistic",
                f": the {statistic.name} needs one column, and this release has several",
                remedy="Ask marginal(column) for it, or ask for support, mode, top or counts of the points.",
            )
        check_kind(statistic, [self.partition.kind])

    def _unanswerable(self, statistic: Statistic) -> Reading | None:
        self._check_order(statistic)
        return None if len(self.index) else Reading(question=statistic, value=None, empty=True)

    def _hull(self, level: Fraction) -> tuple[int, int] | None:
        """The buckets between which the quantile of the data certainly lies."""
        buckets, drop, first = self.partition.count, self.shortfall, self.partition.first
        if buckets is None or drop is None or not self.public:
            return None
        low, high = quantile_hull(
            self.index.keys - first, self.index.counts, level, buckets=buckets, drop=drop, total=self.total
        )
        return low + first, high + first

    def _interval(self, low: int, high: int) -> tuple[Any, Any]:
        """The outer ends of two buckets, rounded outward."""
        assert not isinstance(self.partition, Grid)  # of which no quantile is asked
        first, last = self._inner_end(low, above=False), self._inner_end(high, above=True)
        return -math.inf if first is None else first, math.inf if last is None else last


def _finite(end: Any) -> Fraction | None:
    """The place of an end; None of an infinite one."""
    return None if _is_infinite(end) else on_line(end)


def _is_infinite(value: Any) -> bool:
    return isinstance(value, float) and math.isinf(value)


def _number(key: Any) -> Fraction:
    """A key as it is printed."""
    return said(key) if isinstance(key, float) else Fraction(key)
