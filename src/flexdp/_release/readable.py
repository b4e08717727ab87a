"""Queries on a release, a group of it or one of its columns. All are post-processing and cost no further privacy."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

from flexdp._core.domains import attribute, flag, text
from flexdp._core.domains import function as callable_given
from flexdp._core.exact import Number, exact, float_up, said
from flexdp._core.text import safe_repr
from flexdp._release.answers import Answer, Reader, Reading
from flexdp._release.asked_sentences import Telling
from flexdp._release.asking import word_of
from flexdp._release.moments import Moment, moment
from flexdp._release.sentences import Words
from flexdp.distances import Difference, Metric
from flexdp.distances.metrics import metric_given
from flexdp.errors import InputError, P, Phrase
from flexdp.histogram import Histogram
from flexdp.statistics import (
    IQR,
    Count,
    Max,
    MaxAtLeast,
    Mean,
    Median,
    Min,
    Mode,
    Quantile,
    Range,
    Statistic,
    Std,
    Sum,
    Support,
    Top,
    equal_size_sensitivity,
)

__all__ = ["Readable", "View", "not_asked"]


class Readable(ABC):
    """Queries on released counts: the numbers come from a reader, the words from :mod:`flexdp._release.sentences`."""

    @property
    @abstractmethod
    def _reader(self) -> Reader:
        """The counts in question."""

    @property
    @abstractmethod
    def _words(self) -> Words:
        """The words for them."""

    @property
    def _telling(self) -> Telling | None:
        """The answers that were asked for, where there are any for this part of the release."""
        return None

    def _told(self, reading: Reading) -> Answer:
        return self._words.answer(reading)

    def _asked(self, word: str) -> Answer | None:
        """An answer that was asked for; None where it must be read off buckets."""
        telling = self._telling
        return telling.answer(word) if telling is not None and telling.has(word) else None

    def _is_answered_by_group(self, word: str) -> bool:  # noqa: ARG002
        """Tell whether a statistic was asked for and answered by group, and this is all groups together."""
        return False

    @property
    def _automatic(self) -> bool:
        """True if automatic buckets were asked for."""
        return False

    @property
    def records_about(self) -> Answer:
        """The noisy number of records that asked answers are based on."""
        if self._telling is None:
            rule = ": the number of records was not asked for"
            raise InputError("release", rule, remedy=("Ask for it with ", P("ask", ["count"]), "."))
        return self._telling.records_about()

    def count(self) -> Answer:
        """Return the number of records, or of units that count in one bucket each.

        Returns
        -------
        Answer
            The noisy number where it was asked for; else an estimate from the buckets, with a certain interval.
        """
        return self._moment(Count(), "count")

    def mean(self) -> Answer:
        """Return the mean.

        Returns
        -------
        Answer
            Where it was asked for, the mean of the values limited to public ends, or to ends found privately; else an
            estimate from the buckets, with a certain interval where all of them are closed and public.
        """
        return self._moment(Mean(), "mean")

    def sum(self) -> Answer:
        """Return the sum.

        Returns
        -------
        Answer
            Where it was asked for, the sum of the values limited to public ends, or to ends found privately; else an
            estimate from the buckets, with a certain interval where all of them are closed and public.
        """
        return self._moment(Sum(), "sum")

    def std(self) -> Answer:
        """Return the standard deviation.

        Returns
        -------
        Answer
            An estimate from the buckets; nothing is promised of its error.
        """
        return self._moment(Std(), "std")

    def _moment(self, question: Moment, word: str) -> Answer:
        if (found := self._asked(word)) is not None:
            return found
        return moment(self._buckets(word), self._words, question, by_group=self._is_answered_by_group(word))

    def _buckets(self, word: str = "") -> Reader:
        """The counts that answer a query; where there are none, the refusal says how to ask for it."""
        telling = self._telling
        try:
            reader = self._reader
        except InputError:
            if telling is None:
                raise
            raise not_asked(word, telling.asked.wanted.words, automatic=self._automatic) from None
        if telling is None or not self._words.spec.same_values:
            return reader
        return replace(reader, facts=telling.facts)

    def iqr(self) -> Answer:
        """Return the interquartile range.

        Returns
        -------
        Answer
            The difference of the answers for the two quartiles.
        """
        return self._asked("iqr") or self._told(self._buckets("iqr").quartiles(IQR()))

    @property
    def histogram(self) -> Histogram:
        """The released counts, keyed by the buckets' centres."""
        return self._buckets().centres

    def max(self) -> Answer:
        """Return the largest value.

        Returns
        -------
        Answer
            The highest released bucket; α bounds what can lie above it.
        """
        return self._asked("max") or self._told(self._buckets("max").extreme(Max()))

    def min(self) -> Answer:
        """Return the smallest value.

        Returns
        -------
        Answer
            The lowest released bucket; α bounds what can lie below it.
        """
        return self._asked("min") or self._told(self._buckets("min").extreme(Min()))

    def range(self) -> Answer:
        """Return the largest value less the smallest.

        Returns
        -------
        Answer
            The difference; its error is that of both ends together.
        """
        return self._asked("range") or self._told(self._buckets("range").spread(Range()))

    def quantile(self, level: Number) -> Answer:
        """Return the smallest value with at least a fraction ``level`` of the records at or below it.

        Parameters
        ----------
        level
            The level, from 0 to 1: 0.99 for the 99th percentile.

        Returns
        -------
        Answer
            An estimate inside a bucket: the mean loss is added back to each count, and the records of a bucket are
            spread evenly over it. Where the buckets are public, with an interval that is guaranteed to hold it.
        """
        asked = Quantile(level)
        word = str(word_of(asked))
        return self._asked(word) or self._told(self._buckets(word).quantile(asked, Fraction(asked.level)))

    def median(self) -> Answer:
        """Return the median, the 50th percentile.

        Returns
        -------
        Answer
            An estimate like that of every quantile.
        """
        return self._asked("median") or self._told(self._buckets("median").quantile(Median(), Fraction(1, 2)))

    def mode(self) -> Answer:
        """Return the most frequent value; of several, the smallest.

        Returns
        -------
        Answer
            The fullest bucket.
        """
        return self._told(self._buckets().categorical(Mode()))

    def support(self) -> Answer:
        """Return all values that occur.

        Returns
        -------
        Answer
            The centres of the released buckets; nothing is listed that is not in the data.
        """
        return self._told(self._buckets().support(Support()))

    def max_at_least(self, count: int) -> Answer:
        """Return the largest value that at least ``count`` released records share.

        Parameters
        ----------
        count
            The smallest number of records.

        Returns
        -------
        Answer
            The highest such bucket; its value is None where there is none.
        """
        return self._told(self._buckets().categorical(MaxAtLeast(count)))

    def top(self, count: int) -> Answer:
        """Return the most frequent values with their counts.

        Parameters
        ----------
        count
            The number of values.

        Returns
        -------
        Answer
            Pairs of a value and its released count, the most frequent first.
        """
        return self._told(self._buckets().categorical(Top(count)))

    def counts(self, debias: bool = False) -> Answer:
        """Return every released count.

        Parameters
        ----------
        debias
            Add the mean loss back to each count, which may then exceed the true one.

        Returns
        -------
        Answer
            A dictionary from bucket centre to count.
        """
        return self._told(self._buckets().counts(debias=flag("debias", debias)))

    def apply(
        self,
        function: Callable[[Histogram], Any],
        *,
        sensitivity: Number | Callable[[float], float] | None = None,
        metric: Metric | Callable[[Any, Any], float] = Difference(),
        name: str | None = None,
    ) -> Answer:
        """Return any function of the released histogram.

        Parameters
        ----------
        function
            A function of a :class:`Histogram`, or a statistic.
        sensitivity
            How far the value moves when every record moves by at most β: a factor of β, or a function of it. Without
            it the guarantee is that of a statistic which knows its own, and else the drop-move one: exact for data in
            which records were left out and values moved.
        metric
            Metric of the values in which the sensitivity is measured, where they are not numbers.
        name
            What to call the value; the function's own name unless given.

        Returns
        -------
        Answer
            The function's value.

        Raises
        ------
        InputError
            If the buckets are relative and a sensitivity is given.
        """
        work, reader = callable_given("function", function, "a histogram"), self._buckets()
        if sensitivity is not None and reader.partition.relative:
            raise InputError(
                "sensitivity", "does not fit relative buckets", remedy="Leave it out for the drop-move guarantee."
            )
        if sensitivity is None and not reader.partition.relative and isinstance(work, Statistic):
            sensitivity = partial(equal_size_sensitivity, work)
        called = f"result of {_name_of(work)}" if name is None else text("name", name)
        measure = metric_given("metric", metric)
        return self._told(reader.function(called, work, _sensitivity(sensitivity), measure))


@dataclass(frozen=True)
class View(Readable):
    """One group of a release, or one of its columns with the others added up."""

    reader: Reader | None
    words: Words
    telling: Telling | None = None

    @property
    def _reader(self) -> Reader:
        if self.reader is None:
            raise not_asked()
        return self.reader

    @property
    def _telling(self) -> Telling | None:
        return self.telling

    @property
    def _words(self) -> Words:
        return self.words

    def __repr__(self) -> str:
        released = "asked answers" if self.reader is None else f"{len(self.reader.index)} released"
        return f"<View of {self.words.view}: {released}>"


def not_asked(word: str = "", asked: Sequence[str] = (), *, automatic: bool = False) -> InputError:
    """Return the refusal of a query that was not asked for and cannot be read off buckets.

    Where ``automatic`` buckets were asked for, there seemed to be too few records for them.
    """
    only = f" ({', '.join(asked)})" if asked else ""
    missing = "width" if automatic else "delta"
    if word in ("", "std"):  # which only buckets answer
        remedy: Phrase = ("Give ", P(missing), " to release buckets.")
    else:
        remedy = ("Ask for it with ", P("ask", [word]), ", or give ", P(missing), " to release buckets.")
    return InputError("release", f"has no buckets and answers only what was asked for{only}", remedy=remedy)


def _name_of(function: Callable[..., Any]) -> str:
    name = attribute(function, "__name__")
    return name if isinstance(name, str) else type(function).__name__


def _sensitivity(given: Number | Callable[[float], float] | None) -> Callable[[float], float]:
    if given is None:
        return lambda beta: math.inf if beta else 0.0
    if callable(given):
        return given
    factor = exact("sensitivity", given)
    if factor < 0:
        raise InputError("sensitivity", "must be at least 0", given=safe_repr(given))
    return lambda beta: float_up(factor * said(beta))
