"""Asked answers in words: each with its value and what is promised of it, or with the reason why there is none."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from flexdp._core.calendar import (
    FIRST_DATETIME,
    FIRST_DAY,
    LAST_DATETIME,
    LAST_DAY,
    MICROSECOND,
    date_at,
    datetime_at,
)
from flexdp._core.exact import number_text, to_double
from flexdp._core.text import plural, thousands
from flexdp._release.answerable import repeats_units
from flexdp._release.answers import Answer, Reader, Tally
from flexdp._release.asked import Asked, Result
from flexdp._release.asked_facts import AskedFacts, quantile_of
from flexdp._release.asked_promises import GAMMA, MeanPromise, RankPromise, averaged_records, count_promise
from flexdp._release.asking import level_of
from flexdp._release.claims import CERTAIN, Between, Beyond, Claim, Digits, Population, Quantity
from flexdp._release.estimates import certain_ends, guaranteed
from flexdp._release.moments import moment
from flexdp._release.ranges import (
    bounds_text,
    clock_step,
    figure,
    length_words,
    limits_of,
    outward,
    stepped,
    value_words,
)
from flexdp._release.reconcile import Fact
from flexdp._release.sentences import Words, label, record_count, tally_text, unit_id
from flexdp._release.spec import Spec
from flexdp.guarantees import percent_text
from flexdp.sharp.exponentials import log_above
from flexdp.sharp.rules import RULES
from flexdp.statistics import IQR, Count, Max, Mean, Median, Min, Quantile, Range, Statistic, Sum

__all__ = ["SURE", "Telling", "counted", "statistic_of"]

SURE = f"With {percent_text(float(1 - GAMMA))} probability"
_UNKNOWN = "unknown"
_HALF = Fraction(1, 2)
_FIGURES = 6  # of a number that has no stated error
_LIES = "lies far outside everything else that is known"
_ASTRAY = f"The answer that was drawn {_LIES}."
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

    @cached_property
    def known(self) -> AskedFacts:
        """The drawn answers, each cut to what everything else that is published leaves possible."""
        return AskedFacts(self.asked, self.result, self.words, self.reader)

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The quantiles that were asked for and are known, which limit those that are read off buckets."""
        return self.known.quantiles

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
        if epsilon is not None:
            off = count_promise(epsilon)
        else:
            mean = self.result.mean
            assert mean is not None
            off = averaged_records(mean)
        return self._counted(seen, off)

    def _listed_records(self, left: int, epsilon: Fraction | None) -> Answer:
        """The number of records of a listed group: at least what was left of it, and at most D more."""
        assert self.asked.budget.listing is not None
        noise = self.asked.budget.listing.noise
        tally = Tally.of(left, noise.mean_drop(), noise.max_drop)
        ends = tally.lower, tally.lower + noise.max_drop
        if self.result.count is None or epsilon is None:
            return self._numbered(tally.about, tally_text(tally), [], ends)
        sure = "The exact number is guaranteed to lie between {} and {}.".format(*map(thousands, ends))
        return self._counted(
            min(max(self.result.count, ends[0]), ends[1]), count_promise(epsilon), self.words.so_counted(sure), ends
        )

    def _counted(self, seen: int, off: int, sure: str = "", ends: tuple[int, int] | None = None) -> Answer:
        """A number of records that was drawn, off by so much at most; and what is certain of it."""
        claims = [self._sure_of(Count(), seen - off, seen + off)]
        told = f"{SURE} this is off by at most {thousands(off)}."
        return self._numbered(seen, f"about {thousands(seen)}", claims, ends, told, sure)

    def _numbered(
        self, about: int, text: str, claims: Sequence[Claim], ends: tuple[int, int] | None = None, *told: str
    ) -> Answer:
        """A number of records in words, with its certain ends if there are any."""
        certain = [] if ends is None else [self._sure_of(Count(), *ends, confidence=CERTAIN)]
        return Answer(
            name="number of records",
            value=about,
            accuracy=None,
            statement=" ".join(filter(None, (f"{self._number}: {text}.", *told))),
            text=text,
            interval=ends,
            claims=(*self._about(Count(), about), *claims, *certain),
        )

    @property
    def _number(self) -> str:
        """The number of what is ranked, as a subject; of units that count with several values, of these."""
        spec = self.words.spec
        several = repeats_units(spec.unit, spec.max_buckets_per_unit)
        headline = self.words.headline(Count())
        return headline.replace(f"Number of units{unit_id(spec)}", "Number of values", 1) if several else headline

    def _head(self, statistic: Statistic) -> str:
        """The subject of a quantile; where values beyond public bounds count at them, with these."""
        head = self.words.headline(statistic)
        if self.known.bounds is None:
            return head
        return f"{head}, limited to {bounds_text(self.words.spec.partitions[0])}"

    def _quantile(self, statistic: Statistic, level: Fraction) -> Answer:
        found, fact = self.result.at(level), self.known.drawn(level)
        assert found is not None
        if fact.unknown or fact.point is None:
            return self._unknown(statistic, level)
        reading, units = self.known.sure(level), self._units(fact.point)
        promise = replace(self.known.promises[level], reaches=self.known.reaches(level))
        inward = units < found.value if level > _HALF else units > found.value
        if inward and 0 < level < 1:
            promise = replace(promise, beyond=None)  # it bounded the records beyond another value
        shown, named = self._shown(level, units, promise)
        beyond = self.known.is_beyond_calendar(found.value)
        text = self.about(found.value if beyond else shown)
        where = "" if reading is None or self.reader is None else guaranteed(self.reader.partition, reading)
        sure = f" The exact {label(statistic)} is guaranteed to {where}." if where else ""
        claims = [*self._about(statistic, self.value(shown)), *self._promise_claims(statistic, promise, named)]
        if where and reading is not None and self.reader is not None:
            low, high = certain_ends(self.reader.partition, reading)
            claims.append(self._sure_of(statistic, low, high, confidence=CERTAIN))
        told = self.words.so_counted(self._promised(statistic, promise, None if named == shown else named))
        return Answer(
            name=label(statistic),
            value=self.value(units),
            accuracy=None,
            statement=f"{self._head(statistic)}: {text}. {told}{sure}",
            text=text,
            interval=None if reading is None else reading.interval,
            promise=promise,
            claims=tuple(claims),
        )

    def _unknown(self, statistic: Statistic, level: Fraction | None) -> Answer:
        """An answer that was drawn far outside everything else that is known: read off buckets, or none at all."""
        reader = self.known.reader_of_same
        if reader is not None and len(reader.index):
            reader = replace(reader, facts=self.facts)
            if level is None and isinstance(statistic, Mean | Sum):
                read = moment(reader, self.words, statistic)
            elif isinstance(statistic, Max | Min):
                read = self.words.answer(reader.extreme(statistic))
            else:
                read = self.words.answer(reader.quantile(statistic, level or Fraction(0)))
            return replace(read, statement=f"{read.statement} {_ASTRAY}")
        told = f"{self._head(statistic)}: {_UNKNOWN}. {_ASTRAY}"
        return Answer(name=label(statistic), value=None, accuracy=None, statement=told, text=_UNKNOWN)

    def _shown(self, level: Fraction, units: int, promise: RankPromise) -> tuple[int, int]:
        """The answer as it is printed, and as its promise names it, which may need more digits.

        A promise speaks of values with so many decimals, so further ones change no rank. A tenth of what the promised
        ranks amount to, between the nearest answers, is as fine as the value itself is shown.
        """
        scale, kind = self.asked.column.scale, self.words.spec.kinds[0]
        if kind == "datetime":
            return self._moment_shown(level, units, promise)
        if promise.between is None or promise.decimals is None or kind not in ("integer", "number"):
            grain = _last_figure(self._spread() or units) if kind == "number" else 1
            outer = self._outward(level, units, grain)
            return outer, outer
        fact = self.known.drawn(level)
        named = _to_grain(units, scale.ten(-promise.decimals))
        if self._units(self._cut(scale.value(named), level)) != named:
            named = units
        error, shown = self._values_of(level, promise.between), named
        if error:
            power = math.floor(math.log10(to_double(error))) - 1
            if power > -promise.decimals:
                coarse = _to_grain(units, scale.ten(power))
                if self._units(self._cut(scale.value(coarse), level)) == coarse:
                    shown = coarse
        assert fact.point is not None
        return shown, named

    def _moment_shown(self, level: Fraction, units: int, promise: RankPromise) -> tuple[int, int]:
        """A moment to the second, minute, hour or day that its error justifies, and as its promise names it."""
        spread = self._spread() or abs(units)
        grain = min(_ten_in(units), spread // 10)
        if promise.between is None:
            outer = self._outward(level, units, clock_step(max(grain, _last_figure(spread))))
            return outer, outer
        ranks = Fraction(promise.between, max(self.result.records_about or 0, 1))
        error = self._values_of(level, promise.between) or spread * ranks
        step = clock_step(max(grain, math.floor(error / 10)))
        coarse = units // step * step
        return (coarse if self._units(self._cut(Fraction(coarse), level)) == coarse else units), units

    def _spread(self) -> int:
        """How far apart the outermost answers are."""
        places = [self._units(fact.point) for _, fact in self._levels() if fact.point is not None]
        return max(places) - min(places)

    def _outward(self, level: Fraction, units: int, grain: int) -> int:
        """A tail's answer with few digits, moved outward: no more records lie beyond it than before."""
        coarse = -(-units // grain) * grain if level > _HALF else units // grain * grain
        return coarse if self._units(self._cut(self.asked.column.scale.value(coarse), level)) == coarse else units

    def _values_of(self, level: Fraction, ranks: int) -> Fraction | None:
        """About how far apart so many ranks are, by the nearest answers below and above; None where there is none."""
        known = [(each.level, fact.point) for each, fact in self._levels() if fact.point is not None]
        places = [place for place, (at, _) in enumerate(known) if at == level]
        seen = self.result.records_about
        if not places or not seen:
            return None
        (low, first), (high, last) = known[max(0, places[0] - 1)], known[min(len(known) - 1, places[0] + 1)]
        if low in (0, 1) and high in (0, 1):
            return None  # the ends tell nothing of the middle
        low, first = known[places[0]] if low == 0 else (low, first)
        high, last = known[places[0]] if high == 1 else (high, last)
        return None if first == last else (last - first) * ranks / ((high - low) * seen)

    def _levels(self) -> list[tuple[Any, Fact]]:
        levels = () if self.result.levels is None else self.result.levels.answers
        return [(each, self.known.drawn(each.level)) for each in levels]

    def _cut(self, place: Fraction, level: Fraction) -> Fraction:
        """A place within what is certain of a level, and between the answers around it."""
        fact = self.known.drawn(level)
        points = [(each.level, other.point) for each, other in self._levels() if other.point is not None]
        lows = [point for at, point in points if at < level] + ([] if fact.low is None else [fact.low])
        highs = [point for at, point in points if at > level] + ([] if fact.high is None else [fact.high])
        return min([max([place, *lows]), *highs])

    def _units(self, place: Fraction) -> int:
        return self.asked.column.scale.exactly(place)

    @property
    def _population(self) -> Population:
        """The population of claims, whose limits are values of the column."""
        whole = self.known.population()
        return whole if whole.limits is None else replace(whole, limits=limits_of(self.words.spec.partitions[0]))

    def _about(self, quantity: Quantity, value: Any, population: Population | None = None) -> list[Claim]:
        """The claim of an estimate."""
        whole = self._population if population is None else population
        return [Claim(quantity=quantity, population=whole, relation="is about", lower=value, upper=value)]

    def _sure_of(
        self,
        quantity: Quantity,
        low: Any,
        high: Any,
        *,
        confidence: Fraction = 1 - GAMMA,
        strict: bool = False,
        population: Population | None = None,
        given: Digits | None = None,
    ) -> Claim:
        """The claim that a quantity lies between two ends, except with a probability."""
        whole = self._population if population is None else population
        return Claim(
            quantity=quantity,
            population=whole,
            lower=low,
            upper=high,
            confidence=confidence,
            strict=strict,
            given=given,
        )

    def _promise_claims(self, statistic: Statistic, promise: RankPromise, named: int) -> list[Claim]:
        """The claims of a promise about ranks."""
        if promise.between is not None:
            timed = self.words.spec.kinds[0] in ("date", "datetime")
            given = None if timed or promise.decades is None else Digits(promise.decades, promise.decimals or 0)
            between = Between(self.value(named), statistic)
            return [self._sure_of(between, 0, promise.between, given=given)]
        if promise.beyond is None:
            return []
        upper = _is_upper(statistic)
        claims = [self._sure_of(Beyond(self.value(named), above=upper), 0, promise.beyond)]
        if promise.reaches is not None:
            ends = (self.value(promise.reaches), None) if upper else (None, self.value(promise.reaches))
            claims.append(self._sure_of(statistic, *ends, strict=True))
        return claims

    def _promised(self, statistic: Statistic, promise: RankPromise, named: int | None) -> str:
        spec = self.words.spec
        timed = spec.kinds[0] in ("date", "datetime")
        it = "it" if named is None else value_words(self.value(named))
        if promise.between is not None:
            return (
                f"{SURE} at most {counted(spec, promise.between)} {'lies' if promise.between == 1 else 'lie'} between "
                f"{it} and the exact {label(statistic)}{self._condition(promise)}."
            )
        if promise.beyond is None:
            return "No bound on its rank is stated."
        upper = _is_upper(statistic)
        side = {True: ("before", "after"), False: ("below", "above")}[timed][upper]
        verb = "is" if promise.beyond == 1 else "are"
        told = f"{SURE} at most {counted(spec, promise.beyond)} {verb} {side} it"
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
        """Where values must be as a condition says: a cut moves with those before it."""
        levels = self.result.levels
        assert levels is not None
        drawn = [each for each in levels.answers if each.way == "cut"]
        if len(drawn) == 1 and not levels.helpers:
            return "there"
        return "near all asked levels" if not levels.helpers or len(levels.answers) == 1 else "near all levels"

    def _difference(self, word: str, statistic: Statistic) -> Answer:
        facts = [self.known.drawn(level) for level in _ends(word)]
        head = self._head(statistic)
        if any(fact.point is None for fact in facts):
            names = [label(quantile_of(level)) for level, fact in zip(_ends(word), facts, strict=True) if fact.unknown]
            told = f"{head}: {_UNKNOWN}. The answer drawn for the {' and the '.join(names)} {_LIES}."
            return Answer(name=label(statistic), value=None, accuracy=None, statement=told, text=_UNKNOWN)
        low, high = (
            self._shown(level, self._units(fact.point or Fraction(0)), self.known.promises[level])[0]
            for level, fact in zip(_ends(word), facts, strict=True)
        )
        first, second = self.value(low), self.value(high)
        scale = self.asked.column.scale
        apart = high - low
        number = scale.value(_to_grain(apart, _last_figure(apart)))
        value: Any = (
            second - first if isinstance(first, dt.date) else int(number) if scale.integral else to_double(number)
        )
        if isinstance(first, dt.datetime):
            micros = value // MICROSECOND
            value = _to_grain(micros, clock_step(_last_figure(micros))) * MICROSECOND
        text = f"about {length_words(value) if isinstance(value, dt.timedelta) else figure(number)}"
        outer = "earliest and the latest" if isinstance(first, dt.date) else "lowest and the highest"
        names_of = "25th and the 75th percentile" if word == "iqr" else f"{outer} value"
        ends = f"{self._moment(low)} and {self._moment(high)}"
        statement = f"{head}: {text}. It is the difference of the answers for the {names_of}, {ends}."
        claims = [*self._about(statistic, value)]
        for level, end in zip(_ends(word), (first, second), strict=True):
            claims += self._about(quantile_of(level), end)
        return Answer(
            name=label(statistic), value=value, accuracy=None, statement=statement, text=text, claims=tuple(claims)
        )

    def _average(self, word: str, statistic: Statistic) -> Answer:
        found = self.result.mean
        assert found is not None
        if found.too_few:
            return self._too_few(statistic, "mean", found.records_about, self.asked.rules.few_for_mean)
        if word == "mean" and not self.asked.has_mean(found):
            return self._too_few(statistic, "mean", found.records_about, math.ceil(4 * log_above(4 / GAMMA)))
        fact = self.known.total(word)
        if fact.unknown or fact.point is None:
            return self._unknown(statistic, None)
        drawn, promise = found.mean if word == "mean" else found.total, self.known.mean_promise
        whole = word == "sum" and self.asked.column.scale.integral
        shown = _rounded(fact.point, promise, word, whole=whole)
        share = word == "mean" and self._true_or_false
        text = f"about {figure(100 * shown)}%" if share else f"about {figure(shown)}"
        head, claims = f"{self.words.headline(statistic)}: {text}.", []
        if found.tally is None or promise is None:
            told = "No bound on its error is stated."
            claims = self._about(statistic, shown)
        elif share:
            told, claims = self._share_promised(statistic, promise, shown, drawn)
            told = self.words.so_counted(told)
        else:
            high = found.tally.high if found.high is None or not self.asked.column.bounded else found.high
            told, claims = self._mean_promised(statistic, promise, (found.tally.low, high), shown, drawn)
            told = self.words.so_counted(told)
        return Answer(
            name=label(statistic),
            value=to_double(fact.point),
            accuracy=None,
            statement=f"{head} {told}",
            text=text,
            promise=promise,
            claims=tuple(claims),
        )

    @property
    def _true_or_false(self) -> bool:
        """True if the values are booleans, which count as 0 and 1."""
        return self.words.spec.kinds[0] == "boolean"

    def _share_promised(
        self, statistic: Statistic, promise: MeanPromise, shown: Fraction, drawn: Fraction
    ) -> tuple[str, list[Claim]]:
        """The ends between which the exact share lies, with as many digits as the share has."""
        assert promise.mean is not None
        grain = _grain(promise.mean)
        low = min(shown, max(Fraction(0), stepped(drawn - promise.mean, grain, up=False)))
        high = max(shown, min(Fraction(1), stepped(drawn + promise.mean, grain, up=True)))
        told = f"{SURE} the exact share lies between {figure(100 * low)}% and {figure(100 * high)}%."
        return told, [*self._about(statistic, shown), self._sure_of(statistic, low, high)]

    def _mean_promised(
        self, statistic: Statistic, promise: MeanPromise, limits: tuple[int, int], shown: Fraction, drawn: Fraction
    ) -> tuple[str, list[Claim]]:
        bound = promise.mean if isinstance(statistic, Mean) else promise.total
        assert bound is not None
        spec, scale = self.words.spec, self.asked.column.scale
        low, high = map(scale.value, limits)
        off = bound + abs(shown - drawn)
        if self._true_or_false:
            most = math.floor(off)  # two integers
            claims = [*self._about(statistic, shown), self._sure_of(statistic, shown - most, shown + most)]
            return f"{SURE} this is off by at most {thousands(most)}.", claims
        ends = f"{figure(low)}{'–' if low >= 0 else ' to '}{figure(high)}"
        cut = getattr(spec.partitions[0], "outside", "clamp") == "drop" and self.asked.column.bounded
        told = (
            f"{SURE} it is within {outward(off, 3, up=True)} of the {statistic.name} of the values "
            f"{'within' if cut else 'limited to'} {ends}"
        )
        size, population = _upward(off, 3), self.known.population(limits=None if cut else (low, high))
        claims = [
            *self._about(statistic, shown, population),
            self._sure_of(statistic, shown - size, shown + size, population=population),
        ]
        if promise.outside is None:
            return f"{told}.", claims
        unlimited = self._population
        claims += [
            self._sure_of(Beyond(end, above=above), 0, promise.outside, population=unlimited)
            for end, above in ((low, False), (high, True))
        ]
        return f"{told}, and at most {counted(spec, promise.outside)} lie beyond each end.", claims

    def _too_few(self, statistic: Statistic, part: str, seen: int, few: int = RULES.few) -> Answer:
        """A refusal that is published: it depends on the noisy number of records alone."""
        spec, budget = self.words.spec, self.asked.budget
        share, listing = self.asked.parts[part], self.asked.budget.listing
        lost = 0 if self.result.listed is None or listing is None else round(listing.noise.mean_drop())
        needed, about = math.ceil(few / share) + lost, max(0, seen) + lost
        headline = self.words.headline(statistic)
        told = (
            f"Too few for the {headline[:1].lower()}{headline[1:]}: about {counted(spec, about)} "
            f"{'was' if about == 1 else 'were'} counted, and ε = {number_text(budget.epsilon)} needs about "
            f"{thousands(needed)}."
        )
        epsilon = self.asked.count_epsilon
        off = 0 if epsilon is None or self.result.listed is not None else count_promise(epsilon)
        claims = self._about(Count(), about)
        if off:
            claims.append(self._sure_of(Count(), seen - off, seen + off))
            none = ", so there may be none" if seen <= off else ""
            told += f" {SURE} that number is off by at most {thousands(off)}{none}."
        if seen > off:
            told += f" This many would need about ε = {outward(budget.epsilon * few / (seen * share), 2, up=True)}."
        return Answer(
            name=label(statistic),
            value=None,
            accuracy=None,
            statement=told,
            text="too few records",
            claims=tuple(claims),
        )

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
        text = self._moment(units) if timed else figure(scale.value(units))
        if abs(units) == scale.limit or not first <= units <= last:
            return f"{text} or {('later' if units > 0 else 'earlier') if timed else ('more' if units > 0 else 'less')}"
        return f"about {text}"

    def _moment(self, units: int) -> str:
        """A value in words; the first moment of a day, or its last, is that day."""
        value = self.value(units)
        whole = isinstance(value, dt.datetime) and value.time() in (dt.time.min, dt.time.max)
        return value_words(value.date() if whole else value)


def counted(spec: Spec, number: int) -> str:
    """Return so many of what is ranked: records, units, or the values that several a unit count with.

    A unit that may count in several buckets has as many different values among the ranks.
    """
    if spec.unit is None or spec.max_buckets_per_unit == 1:
        return record_count(spec, number)
    return f"{plural(number, 'value', thousands)} of units{unit_id(spec)}"


def _ends(word: str) -> tuple[Fraction, Fraction]:
    return (Fraction(0), Fraction(1)) if word == "range" else (Fraction(1, 4), Fraction(3, 4))


def _is_upper(statistic: Statistic) -> bool:
    """True if few records lie above it."""
    return isinstance(statistic, Max) or (isinstance(statistic, Quantile) and statistic.level > _HALF)


def _is_infinite(value: Any) -> bool:
    return isinstance(value, float) and math.isinf(value)


def _last_figure(units: int) -> int:
    """The power of ten down to which a number is printed that has no stated error."""
    return int(10 ** max(0, len(str(abs(units))) - _FIGURES))


def _ten_in(units: int) -> int:
    """The largest power of ten that divides a number; rungs of ladders are round."""
    text = str(abs(units))
    return int(10 ** (len(text) - len(text.rstrip("0")))) if units else 1


def _to_grain(units: int, grain: int) -> int:
    """The nearest multiple of a grain, half-way cases upwards."""
    return (2 * units + grain) // (2 * grain) * grain


def _upward(number: Fraction, digits: int) -> Fraction:
    """The number that :func:`outward` prints, rounded up."""
    power = math.floor(math.log10(to_double(number))) - digits + 1 if number else 0
    grain = Fraction(10) ** power
    return math.ceil(number / grain) * grain


def _rounded(number: Fraction, promise: MeanPromise | None, word: str, *, whole: bool) -> Fraction:
    """A mean or a sum to about a tenth of its error, since further digits say nothing; a sum of integers is one."""
    error = None if promise is None else promise.mean if word == "mean" else promise.total
    if not error:
        return Fraction(round(number)) if whole else Fraction(repr(to_double(number)))
    grain = _grain(error)
    grain = max(grain, Fraction(1)) if whole else grain
    return round(number / grain) * grain


def _grain(error: Fraction) -> Fraction:
    """The power of ten of about a tenth of an error."""
    return Fraction(10) ** (math.floor(math.log10(to_double(error))) - 1)
