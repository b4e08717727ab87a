"""Asked answers in words: each with its value and what is promised of it, or with the reason why there is none."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from flexdp._core.calendar import (
    FIRST_DATETIME,
    FIRST_DAY,
    LAST_DATETIME,
    LAST_DAY,
    date_at,
    datetime_at,
    days_since_epoch,
    micros_since_epoch,
)
from flexdp._core.exact import number_text, to_double
from flexdp._core.text import plural, thousands
from flexdp._release.answerable import repeats_units
from flexdp._release.answers import Answer, Reader, Reading
from flexdp._release.asked import Asked, Result
from flexdp._release.asked_promises import (
    GAMMA,
    MeanPromise,
    RankPromise,
    count_promise,
    mean_promise,
    rank_promises,
)
from flexdp._release.asking import level_of
from flexdp._release.estimates import guaranteed
from flexdp._release.filtered import range_of_filter
from flexdp._release.limits import NO_LIMITS, Limits
from flexdp._release.ranges import figure, length_words, outward, value_words
from flexdp._release.sentences import Words, is_capped, label, record_count, unit_id
from flexdp._release.spec import Spec
from flexdp.guarantees import percent_text
from flexdp.sharp.exponentials import log_above
from flexdp.sharp.rules import RULES
from flexdp.statistics import IQR, Count, Max, Mean, Median, Min, Quantile, Range, Statistic, Sum

__all__ = ["SURE", "Telling", "counted", "statistic_of"]

SURE = f"With {percent_text(float(1 - GAMMA))} probability"
_STATISTICS: dict[str, Statistic] = {"max": Max(), "min": Min(), "median": Median(), "range": Range(), "iqr": IQR(),
                                     "count": Count(), "sum": Sum(), "mean": Mean()}  # fmt: skip


def statistic_of(word: str) -> Statistic:
    """Return the statistic that a canonical word names."""
    return _STATISTICS[word] if word in _STATISTICS else Quantile(word[1:])


@dataclass(frozen=True)
class Telling:
    """The asked answers of a release, or of one of its groups, in words.

    Parameters
    ----------
    asked
        All asked answers.
    result
        The outcomes in question.
    words
        The words of that part of the release.
    reader
        Its buckets, where it has any. Where they are public they tell for certain between which ends a quantile lies,
        and the answer is moved to the nearer end if it lies outside.
    """

    asked: Asked
    result: Result
    words: Words
    reader: Reader | None = None

    def all(self) -> list[Answer]:
        """Return an answer for every statistic that was asked for, in their order."""
        return [self.answer(word) for word in self.asked.wanted.words]

    def answer(self, word: str) -> Answer:
        """Return the answer to a statistic, by its canonical word; it must have been asked for."""
        return replace(self._answer(word), population=self.words.once(statistic_of(word)))

    def _answer(self, word: str) -> Answer:
        if word == "count":
            return self.records_about()
        statistic = statistic_of(word)
        if word in ("mean", "sum"):
            return self._average(word, statistic)
        levels = self.result.levels
        assert levels is not None
        if levels.too_few:
            return self._too_few(statistic, "levels", levels.records_about)
        if word in ("range", "iqr"):
            return self._difference(word, statistic)
        level = level_of(word)
        assert level is not None
        return self._quantile(statistic, level)

    def has(self, word: str) -> bool:
        """Return True if a statistic can be answered: it was asked for, or its levels were."""
        level, levels = level_of(word), self.asked.wanted.levels
        if word in ("range", "iqr"):
            return all(each in levels for each in _ends(word))
        return level in levels if level is not None else word in self.asked.wanted.words

    def records_about(self) -> Answer:
        """Return the noisy number of records, which every asked release has."""
        seen, epsilon = self.result.records_about or 0, self.asked.count_epsilon
        if self.result.listed is not None:
            return self._listed_records(self.result.listed, epsilon)
        text = f"about {thousands(seen)}"
        if epsilon is not None:
            off = count_promise(epsilon)
        else:
            mean = self.result.mean
            assert mean is not None
            off = math.ceil(2 * log_above(4 / GAMMA) / mean.epsilon) + 1
        statement = f"{self._number}: {text}. {SURE} this is off by at most {thousands(off)}."
        return Answer(name="number of records", value=seen, accuracy=None, statement=statement, text=text)

    def _listed_records(self, left: int, epsilon: Fraction | None) -> Answer:
        """The number of records of a listed group: at least what was left of it, and at most D more."""
        listing = self.asked.budget.listing
        assert listing is not None
        most = left + listing.noise.max_drop
        sure = f"The exact number is guaranteed to lie between {thousands(left)} and {thousands(most)}."
        sure = self.words.so_counted(sure)
        if self.result.count is None or epsilon is None:
            text = f"at least {thousands(left)}"
            statement = f"{self._number}: {text}. {sure}"
            return Answer(
                name="number of records",
                value=left,
                accuracy=None,
                statement=statement,
                text=text,
                interval=(left, most),
            )
        seen = min(max(self.result.count, left), most)
        text = f"about {thousands(seen)}"
        off = f"{SURE} this is off by at most {thousands(count_promise(epsilon))}."
        statement = f"{self._number}: {text}. {off} {sure}"
        return Answer(
            name="number of records", value=seen, accuracy=None, statement=statement, text=text, interval=(left, most)
        )

    @property
    def _number(self) -> str:
        """The number of what is ranked, as a subject; of units that count with several values, of these."""
        spec = self.words.spec
        several = repeats_units(spec.unit, spec.max_buckets_per_unit)
        headline = self.words.headline(Count())
        return headline.replace(f"Number of units{unit_id(spec)}", "Number of values", 1) if several else headline

    def _quantile(self, statistic: Statistic, level: Fraction) -> Answer:
        found = self.result.at(level)
        assert found is not None
        reading, units = self._sure(level), self.units(level)
        promise = self.promises[level]
        inward = units < found.value if level > Fraction(1, 2) else units > found.value
        if inward and 0 < level < 1 and promise.step is None:
            promise = replace(promise, beyond=None)  # it bounded the records beyond another value
        text = self.about(units)
        where = "" if reading is None or self.reader is None else guaranteed(self.reader.partition, reading)
        sure = f" The exact {label(statistic)} is guaranteed to {where}." if where else ""
        told = self.words.so_counted(self._promised(statistic, promise))
        return Answer(
            name=label(statistic),
            value=self.value(units),
            accuracy=None,
            statement=f"{self.words.headline(statistic)}: {text}. {told}{sure}",
            text=text,
            interval=None if reading is None else reading.interval,
            promise=promise,
        )

    def units(self, level: Fraction) -> int:
        """Return the answer at a level, in units, within what the filter allows and what public buckets guarantee."""
        found, reading = self.result.at(level), self._sure(level)
        assert found is not None
        units = found.value
        for ends in (range_of_filter(self.words.spec), (None, None) if reading is None else reading.interval):
            low, high = ends or (None, None)
            units = units if low is None else max(units, self._units(low))
            units = units if high is None else min(units, self._units(high))
        return units

    @property
    def limits(self) -> Limits:
        """The quantiles that were asked for, which limit those that are read off buckets; none of other values."""
        if is_capped(self.words.spec):
            return NO_LIMITS
        found = () if self.result.levels is None or self.result.levels.too_few else self.result.levels.answers
        return Limits(tuple((each.level, self.value(self.units(each.level))) for each in found))

    def _sure(self, level: Fraction) -> Reading | None:
        """The interval of a quantile that buckets guarantee; None where they count other values, or are not public."""
        spec = self.words.spec
        if self.reader is None or is_capped(spec):
            return None  # a unit may count with other values in its buckets
        reading = self.reader.quantile(Quantile(level), level)
        return None if reading.interval is None else reading

    def _units(self, value: Any) -> int:
        """An end of a bucket in units; an open end is that of all values."""
        if isinstance(value, float) and math.isinf(value):
            return self.asked.column.scale.limit * (1 if value > 0 else -1)
        if isinstance(value, dt.datetime):
            return micros_since_epoch(value)
        if isinstance(value, dt.date):
            return days_since_epoch(value)
        return self.asked.column.scale.units(value)

    @property
    def promises(self) -> dict[Fraction, RankPromise]:
        """The promises of all quantiles, by level."""
        return rank_promises(self.asked, self.result)

    def _promised(self, statistic: Statistic, promise: RankPromise) -> str:
        spec = self.words.spec
        timed = spec.kinds[0] in ("date", "datetime")
        if promise.between is not None:
            return (
                f"{SURE} at most {counted(spec, promise.between)} {'lies' if promise.between == 1 else 'lie'} between "
                f"it and the exact {label(statistic)}{self._condition(promise)}."
            )
        if promise.beyond is None:
            return "No bound on its rank is stated."
        upper = isinstance(statistic, Max) or (isinstance(statistic, Quantile) and statistic.level > Fraction(1, 2))
        side = {True: ("before", "after"), False: ("below", "above")}[timed][upper]
        limit = "it" if promise.step is None else value_words(self.value(promise.step))
        verb = "is" if promise.beyond == 1 else "are"
        told = f"{SURE} at most {counted(spec, promise.beyond)} {verb} {side} {limit}"
        if promise.reaches is None:
            return f"{told}."
        word = self.words.subject(statistic)
        reached = value_words(self.value(promise.reaches))
        return f"{told}; {SURE.lower()} the {word[:1].lower()}{word[1:]} itself is {side} {reached}."

    def _condition(self, promise: RankPromise) -> str:
        """The values for which a bound between ranks holds."""
        kind = self.words.spec.kinds[0]
        if kind in ("date", "datetime") or promise.decades is None:
            return ""
        size = f"if values {self._where} are below {figure(10**promise.decades)} in magnitude"
        return f", {size}" if kind == "integer" else f", {size} and have at most {promise.decimals} decimals"

    @property
    def _where(self) -> str:
        """Where values must be as a condition says: sorting mixes answers, and an anchor may be a median of its own."""
        assert self.result.levels is not None
        drawn = [each for each in self.result.levels.answers if each.way == "exponential"]
        where = "there" if len(drawn) == 1 else "near all asked levels"
        return where if any(each.target is None for each in drawn) else f"{where} and near the median"

    def _difference(self, word: str, statistic: Statistic) -> Answer:
        low, high = (self.units(level) for level in _ends(word))
        first, second = self.value(low), self.value(high)
        scale = self.asked.column.scale
        number = scale.value(high - low)
        value = second - first if isinstance(first, dt.date) else int(number) if scale.integral else to_double(number)
        text = f"about {length_words(value) if isinstance(value, dt.timedelta) else figure(number)}"
        outer = "earliest and the latest" if isinstance(first, dt.date) else "lowest and the highest"
        names = "25th and the 75th percentile" if word == "iqr" else f"{outer} value"
        ends = f"{value_words(first)} and {value_words(second)}"
        statement = (
            f"{self.words.headline(statistic)}: {text}. It is the difference of the answers for the {names}, {ends}."
        )
        return Answer(name=label(statistic), value=value, accuracy=None, statement=statement, text=text)

    def _average(self, word: str, statistic: Statistic) -> Answer:
        found = self.result.mean
        assert found is not None
        if found.too_few:
            return self._too_few(statistic, "mean", found.records_about, self.asked.rules.few_for_mean)
        if word == "mean" and not self.asked.has_mean(found):
            return self._too_few(statistic, "mean", found.records_about, math.ceil(4 * log_above(4 / GAMMA)))
        number = found.mean if word == "mean" else found.total
        promise = mean_promise(self.asked, found)
        value = to_double(number)
        shown = _rounded(number, promise, word)
        text = f"about {figure(shown)}"
        head = f"{self.words.headline(statistic)}: {text}."
        if found.tally is None or promise is None:
            told = "No bound on its error is stated."
        else:
            high = found.tally.high if found.high is None or not self.asked.column.bounded else found.high
            told = self._mean_promised(word, promise, found.tally.low, high, abs(shown - number))
            told = self.words.so_counted(told)
        return Answer(
            name=label(statistic), value=value, accuracy=None, statement=f"{head} {told}", text=text, promise=promise
        )

    def _mean_promised(self, word: str, promise: MeanPromise, low: int, high: int, rounded: Fraction) -> str:
        bound = promise.mean if word == "mean" else promise.total
        assert bound is not None
        error = outward(bound + rounded, 3, up=True)
        scale = self.asked.column.scale
        ends = f"{figure(scale.value(low))}{'–' if low >= 0 else ' to '}{figure(scale.value(high))}"
        kept = "within" if getattr(self.words.spec.partitions[0], "outside", "clamp") == "drop" else "limited to"
        told = f"{SURE} it is within {error} of the {word} of the values {kept} {ends}"
        if promise.outside is None:
            return f"{told}."
        return f"{told}, and at most {counted(self.words.spec, promise.outside)} lie beyond each end."

    def _too_few(self, statistic: Statistic, part: str, seen: int, few: int = RULES.few) -> Answer:
        """A refusal that is published: it depends on the noisy number of records alone."""
        spec, budget = self.words.spec, self.asked.budget
        share = self.asked.parts[part]
        needed = math.ceil(few / share)
        headline = self.words.headline(statistic)
        told = (
            f"Too few for the {headline[:1].lower()}{headline[1:]}: about {counted(spec, max(0, seen))} "
            f"{'was' if seen == 1 else 'were'} counted, and ε = {number_text(budget.epsilon)} needs about "
            f"{thousands(needed)}."
        )
        epsilon = self.asked.count_epsilon
        off = 0 if epsilon is None or self.result.listed is not None else count_promise(epsilon)
        if off:
            none = ", so there may be none" if seen <= off else ""
            told += f" {SURE} that number is off by at most {thousands(off)}{none}."
        if seen > off:
            told += f" This many would need about ε = {outward(budget.epsilon * few / (seen * share), 2, up=True)}."
        return Answer(name=label(statistic), value=None, accuracy=None, statement=told, text="too few records")

    def value(self, units: int) -> Any:
        """Return a value in units as Python knows it; dates beyond the years 1 to 9999 are the nearest ones."""
        kind, scale = self.words.spec.kinds[0], self.asked.column.scale
        if kind == "date":
            return date_at(units)
        if kind == "datetime":
            return datetime_at(units)
        return units if scale.integral else to_double(scale.value(units))

    def about(self, units: int) -> str:
        """Return a value as a sentence shows it: "about 902"; at the end of what counts, "1e+39 or more"."""
        kind, scale = self.words.spec.kinds[0], self.asked.column.scale
        first, last = {"date": (FIRST_DAY, LAST_DAY), "datetime": (FIRST_DATETIME, LAST_DATETIME)}.get(
            kind, (-scale.limit, scale.limit)
        )
        timed = kind in ("date", "datetime")
        number = scale.value(units)
        text = value_words(self.value(units)) if timed else figure(number)
        if abs(units) == scale.limit and not timed:
            text = figure(to_double(number))  # without its 39 zeros
        if abs(units) == scale.limit or not first <= units <= last:
            return f"{text} or {('later' if units > 0 else 'earlier') if timed else ('more' if units > 0 else 'less')}"
        return f"about {text}"


def counted(spec: Spec, number: int) -> str:
    """Return so many of what is ranked: records, units, or the values that several a unit count with.

    A unit that may count in several buckets has as many different values among the ranks.
    """
    if spec.unit is None or spec.max_buckets_per_unit == 1:
        return record_count(spec, number)
    return f"{plural(number, 'value', thousands)} of units{unit_id(spec)}"


def _ends(word: str) -> tuple[Fraction, Fraction]:
    return (Fraction(0), Fraction(1)) if word == "range" else (Fraction(1, 4), Fraction(3, 4))


def _rounded(number: Fraction, promise: MeanPromise | None, word: str) -> Fraction:
    """A mean or a sum to about a hundredth of its error, since further digits say nothing."""
    error = None if promise is None else promise.mean if word == "mean" else promise.total
    if not error:
        return Fraction(repr(to_double(number)))
    power = math.floor(math.log10(to_double(error))) - 2
    grain = Fraction(10) ** power
    return round(number / grain) * grain
