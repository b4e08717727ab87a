"""Answers read off a released histogram, each with the sentence that is true of it.

Everything here is post-processing of public numbers. Two kinds of promise appear (docs/theory.md): per bucket, always;
and as a fraction of the data, only where all buckets were public in advance, so that the released total and the known
number of buckets bound what was left out. Nothing here knows how many records there were.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from flexdp._core.display import answer_card, card, sentence
from flexdp._core.exact import float_up, lower_text, number_text, said, to_double, upper_text, value_text
from flexdp._core.text import plural, thousands
from flexdp.buckets.base import LONGEST_TEXT, SMALLEST_NORMAL, Kind, times
from flexdp.buckets.edges import Edges
from flexdp.buckets.grid import Grid
from flexdp.buckets.months import Months
from flexdp.buckets.parse import bound_given
from flexdp.buckets.partition import Partition
from flexdp.buckets.relative import RelativeWidth
from flexdp.buckets.width import Width
from flexdp.calculus import drop_move_accuracy
from flexdp.errors import InputError
from flexdp.guarantees import DIFFERENCE, Accuracy, percent_text
from flexdp.histogram import LARGEST_COUNT, Histogram
from flexdp.mechanisms.read_off import function_accuracy, read_accuracy
from flexdp.noise.certificate import Evidence
from flexdp.noise.drop import DropNoise
from flexdp.statistics import Max, Range, Statistic, Top, to_python

__all__ = ["Answer", "Certificate", "Reader", "Scope"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One statistic of a release: its value, how accurate it is, and a sentence that may be printed.

    ``value`` is None (or empty, for collections) where nothing survived. ``accuracy`` is None where no accuracy is
    promised. ``interval`` surely holds the quantile of all readable values, nothing left out; it is known only where
    the buckets were public in advance.
    """

    name: str
    value: Any
    accuracy: Accuracy | None
    statement: str
    sentence: str
    interval: tuple[Any, Any] | None = None

    def __str__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        return answer_card(self.name, self.value, self.sentence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """What a release promises, line by line, and the integers that prove its privacy.

    ``evidence`` is of the noise of one bar; ``total_evidence`` of that of the total, where one was paid for; ``shared``
    says how the promise follows from them where it is not one bar's own.
    """

    promises: tuple[str, ...]
    evidence: Evidence
    total_evidence: Evidence | None = None
    shared: str = ""

    def __str__(self) -> str:
        lines = [*self.promises, *([self.shared] if self.shared else [])]
        lines.append(f"Proof{' for each bar' if self.shared else ''}: {self.evidence}")
        if self.total_evidence is not None:
            lines.append(f"Proof for the total: {self.total_evidence}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return card("Certificate", *map(sentence, str(self).splitlines()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Of what an answer speaks.

    ``buckets_summed`` is how many bars, each with its own loss, were added up in one bucket: 1 in a release of one
    column, the number of declared groups in all groups together; None where it is not known. ``public`` tells whether
    the groups were, before the data was read: without that no fraction is certified. ``most_lost`` is a bound, paid for
    with ``certify``, of how many contributions are missing in all. ``place`` is what loses some of its own, ``summed``
    which of these one count adds up. ``values`` names whose values are meant, ``where`` the group or column they are
    taken from, ``needs`` what else a record must have, ``rule`` how often a unit counts; all are parts of a sentence.
    ``grouped`` tells that records without a group do not count.
    """

    buckets_summed: int | None = 1
    public: bool = True
    most_lost: int | None = None
    counted: str = "record"
    place: str = "each bucket"
    summed: str = "each bucket"
    values: str = "the readable values"
    where: str = ""
    needs: str = ""
    rule: str = ""
    grouped: bool = False


@dataclass(frozen=True, kw_only=True)
class Reader:
    """Reads statistics off the bars of one release. ``bars`` is keyed by index, ``shown`` by centre.

    ``general`` is the accuracy that the mechanism has whatever it was run on.
    """

    kind: Kind
    partition: Partition
    noise: DropNoise
    general: Accuracy
    bars: Histogram
    shown: Histogram
    scope: Scope = Scope()

    def extreme(self, statistic: Statistic) -> Answer:
        """Maximum or minimum: only the buckets beyond the reported one can have hidden anything."""
        if (nothing := self._unanswerable(statistic)) is not None:
            return nothing
        top = isinstance(statistic, Max)
        index = to_python(self.bars.keys[-1 if top else 0])
        accuracy = self._accuracy(statistic, self._beyond(top), self.partition.beta_at(index))
        return self._answer(statistic, statistic(self.shown), accuracy)

    def spread(self, statistic: Range) -> Answer:
        """The range: its error is that of both ends together."""
        if (nothing := self._unanswerable(statistic)) is not None:
            return nothing
        hidden = _total(self._beyond(True), self._beyond(False))
        errors = [self.partition.beta_at(to_python(self.bars.keys[end])) for end in (0, -1)]
        ends = [to_python(self.shown.keys[end]) for end in (0, -1)]
        if self.partition.relative:  # each end's error is a fraction of its own size
            errors = [error * abs(_number(end)) for error, end in zip(errors, ends, strict=True)]
        value = statistic(self.shown)
        if isinstance(value, float) and math.isfinite(value):  # of the numbers that are printed, not of the doubles
            difference = _number(ends[1]) - _number(ends[0])
            value = to_double(difference)
            errors.append(abs(said(value) - difference))
        error = sum(errors, Fraction(0))
        if value == math.inf or float_up(2 * error) == math.inf:
            too_large = "larger" if value == math.inf else "known to within more"
            sentence = f"The {statistic.name}{self._of} is {too_large} than a double can hold."
            return Answer(name=statistic.name, value=None, accuracy=None, statement=sentence, sentence=sentence)
        histogram = self._histogram_accuracy(hidden)
        histogram = histogram.but(alpha=histogram.alpha, beta=error / 2, relative=False)  # Δ_f doubles it
        accuracy = self._told(read_accuracy(histogram, statistic))
        return self._answer(statistic, value, accuracy.but(alpha=accuracy.alpha, beta=error))

    def quantile(self, statistic: Statistic, level: Fraction) -> Answer:
        """A quantile, with the interval that surely holds it where the buckets are public."""
        if (nothing := self._unanswerable(statistic)) is not None:
            return nothing
        value = statistic(self.shown)
        place = int(np.flatnonzero(self.shown.keys == value)[0])
        beta = self.partition.beta_at(to_python(self.bars.keys[place]))
        accuracy = self._accuracy(statistic, self.partition.count, beta)
        interval = self._interval(level)
        tail = "" if interval is None else f"; with nothing left out it surely lies {self._between(*interval)}"
        return self._answer(statistic, value, accuracy, tail=tail, interval=interval)

    def support(self, statistic: Statistic) -> Answer:
        """The support, in the Hausdorff sense: nothing is listed that is not there."""
        if not len(self.bars):
            return self._nothing(statistic.name, ())
        accuracy = self._accuracy(statistic, self.partition.count)
        verb = f"has {plural(len(self.bars), 'value')}"
        return self._answer(statistic, statistic(self.shown), accuracy, verb=verb)

    def categorical(self, statistic: Statistic) -> Answer:
        """Statistics that jump when values move: exact for data with records left out and values moved."""
        self._check_order(statistic)
        if not len(self.bars):
            return self._nothing(statistic.name, () if isinstance(statistic, Top) else None)
        value = statistic(self.shown)
        accuracy = self._accuracy(statistic, self.partition.count)
        if value is None:
            after = f"after leaving out {accuracy.left_out}{accuracy.margin}"
            sentence = f"There is no {statistic.name}{self._of} {after}."
            return Answer(name=statistic.name, value=None, accuracy=accuracy, statement=sentence, sentence=sentence)
        return self._answer(statistic, value, accuracy)

    def counts(self, *, debias: bool) -> Answer:
        """All released counts."""
        if not len(self.bars):
            return self._nothing("counts", {})
        if not debias:
            accuracy = self._told(drop_move_accuracy(self._histogram_accuracy(self.partition.count), metric=DIFFERENCE))
            sentence = f"Each count{self._of} is {self._too_low} and never too high."
            value: dict[Any, Any] = dict(self.shown.items())
            return Answer(name="counts", value=value, accuracy=accuracy, statement=sentence, sentence=sentence)
        if self.scope.buckets_summed is None:
            raise InputError("debias needs to know how many groups there can be; declare them with groups=[…].")
        mean = self.noise.mean_drop() * self.scope.buckets_summed
        value = {key: records + float(mean) for key, records in self.shown.items()}
        sentence = (
            f"Each count{self._of} has {number_text(float(mean))} added, the mean number of {self.scope.counted}s that "
            f"a bucket loses: right on average where {self.scope.place} holds at least {self.noise.q} "
            f"{self.scope.counted}s, but no longer never too high."
        )
        return Answer(name="counts", value=value, accuracy=None, statement=sentence, sentence=sentence)

    def function(self, name: str, work: Callable[[Histogram], Any], sensitivity: Callable[[float], float]) -> Answer:
        """Any function of the released histogram: with the error its sensitivity allows, or the drop-move promise."""
        if not len(self.bars):
            return self._nothing(name, None)
        accuracy = self._told(function_accuracy(self._histogram_accuracy(self.partition.count), sensitivity))
        after = "" if accuracy.alpha == 0 else f" after leaving out {accuracy.left_out}"
        rest = f"{self._of}{after}{accuracy.margin}."
        return Answer(
            name=name,
            value=(value := work(self.shown)),
            accuracy=accuracy,
            statement=f"The exact {name}{rest}",
            sentence=f"The {name}{self._of} is {_brief(value)}: exact{after}{accuracy.margin}.",
        )

    def promises(self) -> list[str]:
        """What holds of the whole release, with probability one."""
        counted, place = self.scope.counted, self.scope.place
        out = [
            f"Released: {self.partition.spec},{self._of.rstrip(',')}.",
            f"Not counted: {'; '.join(self._not_counted)}.{self._counted_as_another}",
            f"Each count is {self._too_low} and never too high.",
            f"{place.replace('each', 'Every', 1)} that holds at least {self.noise.q} {counted}s is present.",
            "Nothing is present that is not in the data.",
        ]
        hidden = self._histogram_accuracy(self.partition.count)
        if hidden.alpha is not None and hidden.alpha < 1:
            out.append(f"At most {percent_text(hidden.alpha)}{self._of} {self._were} left out in all.")
        if self.scope.most_lost is not None:
            out.append(f"At most {self.scope.most_lost} {counted}s were left out in all, by a bound that was paid for.")
        return out

    @property
    def _were(self) -> str:
        return "were" if self.scope.values.endswith("s") else "was"

    @property
    def _not_counted(self) -> list[str]:
        """Which records no count and no answer speaks of, whatever the noise."""
        axes = self.partition.axes if isinstance(self.partition, Grid) else (self.partition,)
        out = ["missing cells", "cells that do not read as the column's kind"]
        if any(axis.kind == "number" for axis in axes):
            out.append("infinities")
        out.append(f"texts of more than {thousands(LONGEST_TEXT)} bytes in UTF-8")
        out.append("of text files, lines that are not UTF-8 or very long")
        if any(axis.bounds is not None and axis.outside == "drop" for axis in axes):
            out.append("values outside the bounds")
        if any(axis.kind == "integer" for axis in axes):
            out.append("integers of more than 37 digits")
        if any(isinstance(axis, Width) and axis.bounds is None and axis.kind == "number" for axis in axes):
            out.append("values further than 2^51 buckets from zero")
        if any(axis.kind in ("date", "datetime") for axis in axes):
            out.append("times outside the years 1 to 9999")
        if self.scope.grouped:
            out.append("records that lie in none of the groups")
        if self.scope.counted != "record":
            out.append(f"records without {self.scope.counted}")
        return out

    @property
    def _counted_as_another(self) -> str:
        """What is counted as a value that differs a little from it."""
        axes = self.partition.axes if isinstance(self.partition, Grid) else (self.partition,)
        out = ""
        if any(isinstance(axis, Width | RelativeWidth) and axis.kind == "number" for axis in axes):
            out += f" Counted as 0: numbers closer to it than {number_text(SMALLEST_NORMAL)}."
        if any(axis.kind == "datetime" for axis in axes):
            out += " Counted as the microsecond in which they lie: datetimes with nanoseconds."
        return out

    @property
    def _too_low(self) -> str:
        """How much a released count can fall short."""
        if self.scope.buckets_summed is None:
            return f"at most {self.noise.max_drop} too low for {self.scope.summed}"
        return f"at most {self.noise.max_drop * self.scope.buckets_summed} too low"

    def _told(self, accuracy: Accuracy) -> Accuracy:
        return accuracy.of(self.scope.counted, self.scope.place)

    def _beyond(self, top: bool) -> int | None:
        """How many public buckets lie above the highest released one, or below the lowest."""
        if self.partition.count is None:
            return None
        lowest, highest = int(self.bars.keys[0]), int(self.bars.keys[-1])
        return self.partition.first + self.partition.count - 1 - highest if top else lowest - self.partition.first

    def _histogram_accuracy(self, hidden: int | None, beta: Fraction | None = None) -> Accuracy:
        """The pipeline's own accuracy, with α certified from the release and β of the bucket in question.

        α is what ``hidden`` public buckets can have lost at the most, or what a bound that was paid for says of all;
        None where neither is known.
        """
        bounds = [] if self.scope.most_lost is None else [self.scope.most_lost]
        if hidden is not None and self.scope.public and self.scope.buckets_summed is not None:
            bounds.append(self.noise.max_drop * hidden * self.scope.buckets_summed)
        alpha = None
        if bounds:
            lost = min(bounds)
            alpha = Fraction(lost, self.bars.size + lost) if lost else Fraction(0)
        return self.general.but(alpha=alpha, beta=self._widest if beta is None else beta)

    @cached_property
    def _widest(self) -> Fraction:
        """β of all released buckets together; records of the others were left out."""
        return self.partition.beta_of(self.bars.keys)

    def _accuracy(self, statistic: Statistic, hidden: int | None, beta: Fraction | None = None) -> Accuracy:
        """The accuracy of a statistic read off this release, by the rules that pipelines follow."""
        return self._told(read_accuracy(self._histogram_accuracy(hidden, beta), statistic))

    @property
    def _whose(self) -> str:
        """Of which values the answer speaks, where that is not all readable ones."""
        scope = self.scope
        return f" of {scope.values}{scope.where}{scope.needs}" if scope.where or scope.needs else ""

    @property
    def _of(self) -> str:
        """Of which values the answer speaks: as read, from where, as bounded, with what, and how often."""
        return f" of {self.scope.values}{self.scope.where}{self._bounded}{self.scope.needs}{self.scope.rule}"

    @property
    def _bounded(self) -> str:
        partition = self.partition
        axes = partition.axes if isinstance(partition, Grid) else ()
        if any(axis.bounds is not None for axis in axes):
            ranges = " × ".join("any" if axis.bounds is None else self._span(axis.bounds) for axis in axes)
            clamped = any(axis.bounds is not None and axis.outside == "clamp" for axis in axes)
            return f" {'limited to' if clamped else 'within'} {ranges}"
        if partition.bounds is None:
            return ""
        if partition.outside == "clamp":
            return f" limited to {self._span(partition.bounds)}"
        return f" between {' and '.join(self._ends(partition.bounds))}"

    def _span(self, bounds: tuple[Fraction, Fraction]) -> str:
        plain = self.kind not in ("date", "datetime") and bounds[0] >= 0
        return ("–" if plain else " to ").join(self._ends(bounds))

    def _ends(self, bounds: tuple[Fraction, Fraction]) -> list[str]:
        """Both bounds as they were given; edges are kept as they were."""
        lower, upper = bounds
        last = upper if isinstance(self.partition, Edges) else bound_given(self.kind, upper)
        return [_text(self._limit(bound)) for bound in (lower, last)]

    def _limit(self, bound: Fraction) -> Any:
        if self.kind in ("date", "datetime"):
            moment = times(self.kind, np.array([int(bound)]))[0]
            return moment.date() if self.kind == "datetime" and moment.time() == dt.time(0) else moment
        return int(bound) if bound.denominator == 1 else float(bound)

    def _check_order(self, statistic: Statistic) -> None:
        if isinstance(self.partition, Grid) and statistic.ordered:
            raise InputError(
                f"the {statistic.name} needs one column, and this release has several; "
                "ask marginal(column) for it, or for support, mode, top or counts of the points."
            )
        check_order(statistic, self.kind)

    def _unanswerable(self, statistic: Statistic) -> Answer | None:
        self._check_order(statistic)
        return None if len(self.bars) else self._nothing(statistic.name, None)

    def _nothing(self, name: str, value: Any) -> Answer:
        sentence = (
            f"Nothing survived: no {self.scope.place.split()[1]} is left to read the {name}{self._whose} from. "
            f"To be sure to survive, {self.scope.place} needs at least {self.noise.q} {self.scope.counted}s."
        )
        return Answer(name=name, value=value, accuracy=None, statement=sentence, sentence=sentence)

    def _answer(
        self,
        statistic: Statistic,
        value: Any,
        accuracy: Accuracy,
        *,
        tail: str = "",
        verb: str | None = None,
        interval: tuple[Any, Any] | None = None,
    ) -> Answer:
        after = "" if accuracy.alpha == 0 else f" after leaving out {accuracy.left_out}"
        comma = "," if self.partition.bounds is not None and after and not self.scope.rule else ""
        verb = verb or f"is {_text(value)}{self._month(value)}"
        return Answer(
            name=statistic.name,
            value=value,
            accuracy=accuracy,
            statement=f"The exact {statistic.name}{self._of}{comma}{after}{accuracy.margin}{tail}.",
            sentence=f"The {statistic.name}{self._of} {verb}: exact{after}{accuracy.margin}{tail}.",
            interval=interval,
        )

    def _month(self, value: Any) -> str:
        """The month, or the year, of which a key is the middle."""
        months = self.partition.months if isinstance(self.partition, Months) else 0
        if months not in (1, 12) or not isinstance(value, dt.date):
            return ""
        return f" ({value.year:04d}-{value.month:02d})" if months == 1 else f" ({value.year:04d})"

    def _interval(self, level: Fraction) -> tuple[Any, Any] | None:
        """Where the quantile of all readable values surely lies.

        The data behind the release is any x with y ≤ x ≤ y + D in each of the T public buckets (D times the number of
        groups, where all of them are taken together). At or below bucket g
        lies most when the buckets up to g lost D each and the others nothing, and least the other way round.
        """
        buckets, buckets_summed = self.partition.count, self.scope.buckets_summed
        if buckets is None or buckets_summed is None or not self.scope.public:
            return None
        drop = self.noise.max_drop * buckets_summed
        size = self.bars.size
        running = np.cumsum(self.bars.counts if size <= LARGEST_COUNT else self.bars.counts.astype(object))
        offsets = self.bars.keys - self.partition.first

        def released_up_to(g: int) -> int:
            place = int(np.searchsorted(offsets, g, side="right"))
            return int(running[place - 1]) if place else 0

        def may_be_reached(g: int) -> bool:
            lost = drop * (g + 1)
            return released_up_to(g) + lost >= max(Fraction(1), level * (size + lost))

        def is_surely_reached(g: int) -> bool:
            return released_up_to(g) >= max(Fraction(1), level * (size + drop * (buckets - 1 - g)))

        ends = [_first(buckets, test) + self.partition.first for test in (may_be_reached, is_surely_reached)]
        if isinstance(self.partition, Width | Edges) and self.kind == "number":
            (lowest, _), (_, highest) = map(self.partition.extent, ends)
            return -float_up(-lowest) + 0.0, float_up(highest)
        low, high = self.partition.edges_of(np.array(ends, dtype=np.int64))
        return low.lower, high.upper

    def _between(self, low: Any, high: Any) -> str:
        if low == high:
            return f"at {_text(low)}"
        if self.partition.relative:  # edges that nobody chose, of many digits
            return f"between {lower_text(low, 6)} and {upper_text(high, 6)}"
        return f"between {_text(low)} and {_text(high)}"


def check_order(statistic: Statistic, kind: Kind) -> None:
    """Refuse a statistic that needs an order on keys that have none."""
    if statistic.ordered and kind in ("text", "boolean"):
        raise InputError(
            f"the {statistic.name} needs numbers or dates, and the keys are {kind}. "
            "Ask for mode, support, top or counts; or say kind='number' where texts hold numbers."
        )


def _first(buckets: int, holds: Callable[[int], bool]) -> int:
    """The smallest g for which a test holds that stays true once it is; the last one is known to hold."""
    low, high = 0, buckets - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def _total(*parts: int | None) -> int | None:
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def _number(key: Any) -> Fraction:
    """A key as it is printed."""
    return said(key) if isinstance(key, float) else Fraction(key)


def _brief(value: Any) -> str:
    """Numbers and short texts as they are, anything else by its type: fitted models are long."""
    if isinstance(value, bool | int | float | Fraction | dt.date | str):
        return _text(value)
    return f"a {type(value).__name__}"


def _text(value: Any) -> str:
    """A value as a sentence shows it; the most frequent ones with their counts."""
    if isinstance(value, tuple) and value and isinstance(value[0], tuple):
        return ", ".join(f"{value_text(key)} ({records})" for key, records in value)
    return value_text(value)
