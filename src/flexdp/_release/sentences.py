"""The sentences of a release: every answer in words.

A sentence is true of the table as it was read and bounded. Each answer is short; the conditions that all answers share
stand once above them (:func:`flexdp._release.promises.conditions`). JSON, terminal, notebook card and page use these
very words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from flexdp._core.display import listed
from flexdp._core.exact import float_up, upper_text
from flexdp._core.text import plural, thousands, visible
from flexdp._release.answers import Answer, Applied, Counts, Reading, Tally
from flexdp._release.bucket_claims import claims_of
from flexdp._release.claims import Population
from flexdp._release.estimates import (
    among_the_rest,
    applied_text,
    estimate_text,
    extreme_text,
    guaranteed,
    iqr_known,
    iqr_text,
    is_certain,
    is_elsewhere,
    is_endless,
    is_outermost,
    is_sure,
    span_text,
)
from flexdp._release.ranges import (
    ANY,
    bounds_text,
    bucket_texts,
    figure,
    joined,
    limits_of,
    quoted,
    shortened,
    value_words,
)
from flexdp._release.spec import WHOLE, Part, Spec
from flexdp.buckets.ends import is_clamped
from flexdp.buckets.exact import Exact
from flexdp.buckets.grid import Grid
from flexdp.buckets.partition import Partition, public_count
from flexdp.calculus.loss import most_lost, survives_from
from flexdp.guarantees import Accuracy, percent_text
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
    Sum,
    Support,
    Top,
)

__all__ = [
    "Words",
    "is_capped",
    "is_cut",
    "label",
    "of_unit",
    "once_each",
    "record_count",
    "record_words",
    "short_name",
    "tally_ends",
    "tally_text",
    "unit_id",
]

NOTHING = "nothing survived"
_MOST_LISTED = 8
_MOST_TOP = 20
_LONGEST_NAME = 60
_LONGEST_TEST = 80  # characters of a filter within an answer; the conditions show it in full


def label(question: Statistic | Counts | Applied) -> str:
    """Return the name of a statistic: "maximum", "99th percentile"."""
    return "counts" if isinstance(question, Counts) else question.name


def record_count(spec: Spec, number: int) -> str:
    """Return so many records, or units by their column: "27 records", "27 units (pid)"."""
    return (
        plural(number, "record", thousands)
        if spec.unit is None
        else f"{plural(number, 'unit', thousands)}{unit_id(spec)}"
    )


def tally_text(tally: Tally) -> str:
    """Return a number of records as it is printed everywhere.

    >>> tally_text(Tally(5854, 5584, 6123)), tally_text(Tally(914, 900, None)), tally_text(Tally(7, 7, 7))
    ('about 5 854 (certainly 5 584 to 6 123)', 'about 914 (certainly at least 900)', '7')
    """
    if tally.upper == tally.lower:
        return thousands(tally.lower)
    return f"about {thousands(tally.about)} (certainly {tally_ends(tally)})"


def tally_ends(tally: Tally) -> str:
    """Return between which ends a number of records certainly lies: "900 to 927", "at least 900"."""
    if tally.upper is None:
        return f"at least {thousands(tally.lower)}"
    return f"{thousands(tally.lower)} to {thousands(tally.upper)}"


def unit_id(spec: Spec) -> str:
    """Return the column of the privacy unit, in brackets after the word "unit"."""
    return f" ({short_name(spec.unit or '')})"


def is_capped(spec: Spec) -> bool:
    """Return True if a unit counts with some of its values alone, chosen at random: nothing holds of the column."""
    return spec.unit is not None and spec.per_unit is None


def once_each(spec: Spec, *, drawn: bool = False) -> str:
    """Return how often a unit counts in buckets, or in answers that were ``drawn`` directly.

    Parameters
    ----------
    spec
        The public description of the release.
    drawn
        True of answers that were asked for: each unit counts there with some of its values, not in some buckets.

    Returns
    -------
    str
        A phrase such as "each unit (pid) once in at most 3 ranges"; empty where every record counts.

    Examples
    --------
    >>> from flexdp.buckets.parse import make_buckets
    >>> own = {"columns": ("cost",), "partitions": (make_buckets("number", width=5),), "unit": "pid"}
    >>> once_each(Spec(**own, max_buckets_per_unit=3)), once_each(Spec(**own))
    ('each unit (pid) once in at most 3 ranges', 'each unit (pid) in one range')
    >>> once_each(Spec(**own, max_buckets_per_unit=3), drawn=True)
    'at most 3 different values of each unit (pid)'
    >>> once_each(Spec(**own, per_unit="max"))
    "taking each unit's highest"
    """
    if spec.unit is None:
        return ""
    if spec.per_unit is not None:
        return f"taking each unit's {of_unit(spec)}"
    unit, most = f"each unit{unit_id(spec)}", spec.max_buckets_per_unit
    if drawn:
        return f"one value of {unit}" if most == 1 else f"at most {thousands(most)} different values of {unit}"
    several = len(spec.columns) > 1
    its_own = not several and isinstance(spec.partitions[0], Exact)
    spot = "value" if its_own else "cell" if several else "range"
    if most == 1:
        return f"{unit} {'with' if its_own else 'in'} one {spot}"
    return f"{unit} once {'with' if its_own else 'in'} at most {plural(most, spot, thousands)}"


def short_name(column: str) -> str:
    """Return the name of a column within a sentence."""
    return quoted(shortened(column, _LONGEST_NAME))


@dataclass(frozen=True, slots=True)
class Words:
    """The words for one part of a release; ``drawn`` where they are those of answers that were asked for.

    ``total`` is the most that all buckets lost together, where they are public.
    """

    spec: Spec
    max_drop: int
    part: Part = WHOLE
    drawn: bool = False
    total: int | None = None

    @property
    def partition(self) -> Partition:
        """The buckets that the part is counted in."""
        return self.spec.partition_of(self.part)

    def once(self, question: Statistic | Counts | Applied | None = None) -> str:
        """Return how often each unit counts, where that is not with all of its values: the end of a headline.

        A unit that counts once in all is one of the number of units.
        """
        if isinstance(question, Count) and self.spec.max_buckets_per_unit == 1 and not self.spec.by:
            return ""
        return once_each(self.spec, drawn=self.drawn)

    @property
    def counted(self) -> Literal["records", "ranges", "values"]:
        """The population of a claim: of records, or of units with some of their values."""
        return "records" if not is_capped(self.spec) else "values" if self.drawn else "ranges"

    def so_counted(self, sentence: str, question: Statistic | Counts | Applied | None = None) -> str:
        """Return a sentence after a headline, as one of what its population is, not of the column."""
        if not sentence or not is_capped(self.spec) or not self.once(question):
            return sentence
        return f"So counted, {sentence[:1].lower()}{sentence[1:]}"

    def counting(self, sentence: str) -> str:
        """Return a sentence that stands alone, with its population."""
        if not sentence or not is_capped(self.spec):
            return sentence
        return f"Counting {once_each(self.spec, drawn=self.drawn)}, {sentence[:1].lower()}{sentence[1:]}"

    def holding(self, number: int) -> str:
        """Return the condition that a bucket holds so many: "it holds at least 27 records"."""
        least = record_count(self.spec, number)
        return f"at least {least} are counted in it" if is_capped(self.spec) else f"it holds at least {least}"

    @property
    def spot(self) -> str:
        """The place that loses records of its own: "bucket", or of several columns "cell"."""
        return "bucket" if len(self.spec.columns) == 1 else "cell"

    @property
    def groups(self) -> list[str]:
        """The columns of the groups that an answer adds up."""
        return [short_name(name) for name in self.spec.labels] if self.part.group is None else []

    @property
    def per(self) -> str:
        """Where records are lost: "bucket", "bucket and ward"."""
        return joined([self.spot, *self.groups])

    @property
    def place(self) -> str:
        """The same as the object of a sentence: "each bucket of each ward"."""
        return f"each {self.spot}{f' of each {joined(self.groups)}' if self.groups else ''}"

    @property
    def view(self) -> str:
        """The part in a few words: "age (ward A)"."""
        return f"{self._noun[1]}{self._qualified}"

    def answer(self, reading: Reading) -> Answer:
        """Return an answer with its statement."""
        accuracy = reading.accuracy
        if accuracy is not None and (self.spec.unit is not None or self.place != accuracy.place):
            accuracy = accuracy.of("record" if self.spec.unit is None else "unit", self.place)
        text = self._text(reading)
        return Answer(
            name=label(reading.question),
            value=reading.value,
            accuracy=accuracy,
            statement=self._statement(reading, text),
            text=text,
            interval=reading.interval,
            population=self.once(reading.question),
            tallies=reading.tallies,
            claims=() if reading.empty else claims_of(self, reading),
        )

    def population(self, *, limited: bool = False, units: bool = False) -> Population:
        """The values that a claim is about.

        Parameters
        ----------
        limited
            True for the values limited to the bounds, where others were moved there; else as they were read.
        units
            True for the number of units, where units are counted.

        Returns
        -------
        Population
            The population.
        """
        spec, counted = self.spec, "records"
        if spec.unit is not None and (units or spec.per_unit is None):
            counted = "units" if units else "ranges"
        limits = limits_of(self.partition) if limited and not isinstance(self.partition, Grid) else None
        return Population(part=self.part, limits=limits, counted=counted)  # type: ignore[arg-type]

    @property
    def limited(self) -> str:
        """The limits that values beyond were moved to: "limited to 0–200"; empty where none were moved."""
        axes = self.spec.partitions if self.part.column is None else (self.spec.partitions[self.part.column],)
        if not any(map(is_clamped, axes)):
            return ""
        return f"limited to {' × '.join(map(bounds_text, axes))}"

    def _statement(self, reading: Reading, text: str) -> str:
        question = reading.question
        if text == NOTHING:
            headline = self._plain_headline(question)
            several = isinstance(question, Counts | Support) or (isinstance(question, Top) and question.count > 1)
            missing = f"{'are' if several else 'is'} no {headline[:1].lower()}{headline[1:]}"
            return (
                f"Nothing survived, so there {missing} to report. "
                f"A {self.spot} is certain to be published only if {self.holding(survives_from(self.max_drop))}."
            )
        if isinstance(question, Counts):
            where = plural(len(reading.value), self.spot if self.part.column is None else "bucket", thousands)
            once = self.once(question)
            return f"{self._plain_headline(question)} in {where}{once and ', '}{once}{self._added(question)}"
        limited = f", {self.limited}" if isinstance(question, Applied) and self.limited else ""
        head = f"{self.headline(question)}{limited}: {text}."
        if reading.too_large or reading.too_wide or (reading.accuracy is None and isinstance(question, Applied)):
            return head
        if text == ANY:
            return f"{head} One bucket holds everything, so nothing else is known."
        if isinstance(question, Applied):
            assert reading.accuracy is not None
            return f"{head} {self.loss(reading.accuracy)}"
        return f"{head} {self._told(reading, question)}".rstrip()

    def _told(self, reading: Reading, question: Statistic) -> str:
        """What is certain of an answer."""
        assert not isinstance(self.partition, Grid) or not question.ordered
        if isinstance(question, Max | Min | Range):
            return self.so_counted(self._beyond(reading, question))
        if isinstance(question, Median | Quantile):
            return self._known(reading)
        if isinstance(question, IQR):
            return iqr_known(self.partition, reading, self.so_counted)  # type: ignore[arg-type]
        if isinstance(question, Support):
            return self.so_counted(self._listed(reading))
        return self.so_counted(self._others(reading, question))

    def _beyond(self, reading: Reading, question: Max | Min | Range) -> str:
        """What can lie beyond an extreme: as much as every bucket beyond it can have lost."""
        timed = self.partition.kind in ("date", "datetime")
        high, beyond = {
            (False, False): ("highest", "higher"),
            (False, True): ("lowest", "lower"),
            (True, False): ("latest", "later"),
            (True, True): ("earliest", "earlier"),
        }[timed, isinstance(question, Min)]
        if is_certain(self.partition, reading, self.max_drop):
            if not is_outermost(self.partition, reading):
                return "This is certain."
            far = "its upper end" if isinstance(question, Range) else f"the {high} value"
            return f"This is certain; {far} is not known."
        values = isinstance(self.partition, Exact)
        spot = "value" if values else "bucket"
        where = f"each {spot} beyond the two ends" if isinstance(question, Range) else f"each {beyond} {spot}"
        inside = f"in each {self.spot} of " if self.part.column is not None else "at " if values else "in "
        where = f"{inside}{where}"
        of_each = f" of each {joined(self.groups)}" if self.groups else ""
        name, place = ("range", "lies in") if isinstance(question, Range) else (high, "lies in")
        bucket = span_text(self.partition, reading) if isinstance(question, Range) else self._bucket(reading)
        if values or is_endless(self.partition, reading) or not any(mark in bucket for mark in ("–", " to ")):
            place = "is"
        told = (
            f"{self._left_out(None)}; up to {thousands(self.max_drop)}{of_each} may lie {where}, and apart from those "
            f"the {name} {place} {bucket}."
        )
        share = "" if reading.beyond is None else percent_text(float_up(reading.beyond))
        if share in ("", "100%"):
            return told
        spots = f"{spot}s beyond the two ends" if isinstance(question, Range) else f"{beyond} {spot}s"
        return f"{told} At most {share} of what was counted lies {'at' if values else 'in'} {spots}."

    def _bucket(self, reading: Reading) -> str:
        assert reading.index is not None
        return bucket_texts(self.partition, reading.index[:1])[0]

    def _listed(self, reading: Reading) -> str:
        """Which buckets may be missing from a list of them."""
        if not self.max_drop or reading.beyond == 0:
            return "This list is complete."
        least = record_count(self.spec, survives_from(self.max_drop))
        values = isinstance(self.partition, Exact)
        place = self.place.removeprefix("each ")
        if values:
            place = place.replace(self.spot, "value", 1)
        told = f"Every {place} with at least {least} is listed; others may be missing."
        if reading.index is not None and len(reading.index) == public_count(self.partition):
            told = "This list is complete."
        share = "" if reading.beyond is None else percent_text(float_up(reading.beyond))
        return told if share in ("", "100%") else f"{told} At most {share} of what was counted was left out in total."

    def _others(self, reading: Reading, question: Statistic) -> str:
        """What the buckets hold that are named, and the most that any other one can hold."""
        several = len(self.spec.columns) > 1 and self.part.column is None
        axes = self.partition.axes if isinstance(self.partition, Grid) else (self.partition,)
        exact = all(isinstance(axis, Exact) for axis in axes)
        spot = ("point" if several else "value") if exact else "cell" if several else "bucket"
        higher = ""
        if isinstance(question, MaxAtLeast):
            higher = ("later " if self.partition.kind in ("date", "datetime") else "higher ") if reading.tallies else ""
        other = "" if reading.others is None else f"no {higher or 'other '}{spot} has more than "
        if not reading.tallies:
            other = other.replace("other ", "")
        limit = "" if reading.others is None else thousands(reading.others)
        if isinstance(question, Top):
            return _capital(f"{other}{limit}.") if limit else ""
        parts = []
        if reading.tallies:
            count, found, rest = tally_text(reading.tallies[0]).partition(" (")
            parts.append(f"It has {count} {self.contents}{found}{rest}")
        parts += [f"{other}{limit}"] if limit else []
        return f"{_capital('; '.join(parts))}." if parts else ""

    def _known(self, reading: Reading) -> str:
        """What is certain of a quantile: an interval, or the bucket of the quantile of the records that are left."""
        assert not isinstance(self.partition, Grid)
        if is_sure(reading):
            return self.so_counted("This is certain.")
        if where := guaranteed(self.partition, reading):
            return self.so_counted(f"The exact {label(reading.question)} is guaranteed to {where}.")
        lost, rest = self._left_out(reading.accuracy), among_the_rest(self.partition, reading)
        if lost and is_elsewhere(self.partition, reading):
            rest = f"alone the exact {label(reading.question)} {rest.removeprefix('it ')}"
            so = " so counted" if is_capped(self.spec) else ""
            return (
                f"This is an estimate for all {self.contents}{so}. {self.so_counted(f'{lost}; among the rest {rest}.')}"
            )
        return self.so_counted(f"{lost}; among the rest {rest}.") if lost else f"{_capital(rest)}."

    def _text(self, reading: Reading) -> str:
        """The value as people read it: ranges where buckets are meant."""
        value, question = reading.value, reading.question
        if reading.too_large or reading.too_wide:
            return f"{'larger' if reading.too_large else 'known to within more'} than a double can hold"
        if reading.empty:
            return NOTHING
        if isinstance(question, Applied):
            return applied_text(value, reading.accuracy)
        if reading.index is None:
            return "none"
        if isinstance(question, Range | Max | Min):
            return extreme_text(self.partition, reading, self.max_drop)
        if isinstance(question, Median | Quantile | IQR):
            assert not isinstance(self.partition, Grid)
            work = iqr_text if isinstance(question, IQR) else estimate_text
            return work(self.partition, reading)
        most = _MOST_TOP if isinstance(question, Top) else _MOST_LISTED
        ranges = bucket_texts(self.partition, reading.index[:most])
        if isinstance(question, Counts) and question.added is not None:
            texts = [f"{each}: {figure(count)}" for each, count in zip(ranges, value.values(), strict=False)]
        elif isinstance(question, Top | Counts):
            word = " with" if isinstance(question, Top) else ":"
            texts = [f"{each}{word} {tally_text(tally)}" for each, tally in zip(ranges, reading.tallies, strict=False)]
        elif isinstance(question, Support):
            texts = ranges
        else:
            return ranges[0]
        texts += [""] * (len(reading.index) - len(texts))
        return listed(texts, most)

    def loss(self, accuracy: Accuracy) -> str:
        """Return what was left out and moved, and that this is the result for such data."""
        parts = [lost] if (lost := self._left_out(accuracy)) else []
        if accuracy.moved:
            distance = (
                f"{percent_text(accuracy.moved)} of that middle"
                if accuracy.relative
                else self._distance(accuracy.moved)
            )
            parts.append(f"every value was moved to the middle of its {self.spot}, by at most {distance}")
        if not parts:
            return "This is exact."
        rest = "this is the result for such data" if accuracy.moved else "this is the result for the rest"
        return f"{self.so_counted(_capital(' and '.join(parts)))}; {rest}."

    def _left_out(self, accuracy: Accuracy | None) -> str:
        """The records that can be missing, per bucket and where it is known in total; empty where none can."""
        alpha = None if accuracy is None else accuracy.alpha
        if alpha == 0 or not self.max_drop:
            return ""
        share = "" if alpha is None else percent_text(alpha)
        most = self._lost_in_all
        limits = [share] if share not in ("", "100%") else []
        if most is not None and most > self.max_drop:
            limits = [f"{thousands(most)} ({share})" if limits else thousands(most)]
        inside = f", and at most {limits[0]} in total," if limits else ""
        lost = record_count(self.spec, self.max_drop)
        return f"At most {lost} per {self.per}{inside} {'was' if self.max_drop == 1 else 'were'} left out"

    @property
    def _lost_in_all(self) -> int | None:
        """The most that all buckets of the part lost together, where they are public."""
        count, summed = public_count(self.partition), self.spec.summed(self.part)
        if self.total is None or count is None or summed is None:
            return self.total
        return most_lost(self.max_drop, count * summed, total=self.total)

    def _distance(self, moved: float) -> str:
        unit = f" {self.partition.unit}" if self.partition.unit else ""
        return f"{upper_text(moved, 6)}{unit}"

    def _added(self, question: Counts) -> str:
        """The distance of counts from the truth."""
        least = record_count(self.spec, survives_from(self.max_drop))
        if question.added is not None:
            where = f" in each {joined(self.groups)}" if self.groups else ""
            return (
                f", with {figure(float(question.added))} added to each, the mean number of "
                f"{'records' if self.spec.unit is None else 'units'} that it loses: unbiased for {self.spot}s of at "
                f"least {least}{where}; such a count may exceed the true one."
            )
        return f": each lower end is {self.too_low} and never too high."

    @property
    def too_low(self) -> str:
        """The most that a released count can fall short by: "at most 27 too low"."""
        low = most_lost(self.max_drop, self.spec.summed(self.part), total=self.total)
        if low is not None:
            return f"at most {thousands(low)} too low"
        each = self.per if self.part.column is not None else joined(self.groups)
        return f"at most {thousands(self.max_drop)} too low per {each}"

    def headline(self, question: Statistic | Counts | Applied) -> str:
        """The subject with its qualifiers and its population: "Highest age (ward A), each unit (pid) in one range"."""
        once = self.once(question)
        return f"{self._plain_headline(question)}{once and ', '}{once}"

    def _plain_headline(self, question: Statistic | Counts | Applied) -> str:
        """The subject with its qualifiers: "Highest age (ward A)"."""
        return f"{self.subject(question)}{self._qualified}"

    def subject(self, question: Statistic | Counts | Applied) -> str:
        """The subject alone: "Highest age"."""
        noun, of = self._noun
        timed = self.partition.kind in ("date", "datetime")
        if isinstance(question, Max | Min):
            word = {False: ("Highest", "Lowest"), True: ("Latest", "Earliest")}[timed][isinstance(question, Min)]
            return f"{word} {noun}" if noun else f"{word} value of {of}"
        if isinstance(question, Mean | Sum) and self.partition.kind == "boolean":
            told = "Share" if isinstance(question, Mean) else "Number"
            if is_capped(self.spec):  # a unit may count with both
                return f"{told} of values of {of} that are true"
            return f"{told} of {self.contents} with {of} true"
        if isinstance(question, Median | Mean):
            return f"{_capital(question.name)} {noun}" if noun else f"{_capital(question.name)} of {of}"
        if isinstance(question, Count):
            return f"Number of {self.contents}{'' if self.spec.unit is None else unit_id(self.spec)}"
        if isinstance(question, Range | Quantile):
            return f"{_capital(question.name)} of {of}"
        if isinstance(question, Counts):
            return f"Counts of {of}"
        if isinstance(question, Applied):
            return f"{_capital(question.name)} for {of}"
        return self._frequent(question)

    def _frequent(self, question: Statistic) -> str:
        """Statistics of whole buckets, which are named as such, or of values that are their own."""
        _, of = self._noun
        several = len(self.spec.columns) > 1 and self.part.column is None
        axes = self.partition.axes if isinstance(self.partition, Grid) else (self.partition,)
        bucketed = not all(isinstance(axis, Exact) for axis in axes)
        spot = ("cell" if several else "bucket") if bucketed else ("point" if several else "value")
        if isinstance(question, Mode):
            return f"{'Fullest' if bucketed else 'Most frequent'} {spot} of {of}"
        if isinstance(question, MaxAtLeast):
            word = "Latest" if self.partition.kind in ("date", "datetime") else "Highest"
            return f"{word} {spot} of {of} with at least {record_count(self.spec, question.count)}"
        if isinstance(question, Support):
            return f"{_capital(spot)}s of {of} that {'hold ' + self.contents if bucketed else 'occur'}"
        if isinstance(question, Top):
            number = "" if question.count == 1 else f"{thousands(question.count)} "
            word = f"{number}{'fullest' if bucketed else 'most frequent'} {spot}{'' if question.count == 1 else 's'}"
            return f"{_capital(word)} of {of}"
        return f"{_capital(question.name)} of {of}"

    @property
    def contents(self) -> str:
        """The noun for what is counted: "records" or "units"."""
        return "records" if self.spec.unit is None else "units"

    @property
    def _noun(self) -> tuple[str, str]:
        """The column as a noun ("age"), empty where it is a phrase, and after "of" ("age", "the values")."""
        spec, column = self.spec, self.part.column
        if len(spec.columns) > 1 and column is None:
            return "", f"({', '.join(short_name(name or '') for name in spec.columns)})"
        name = spec.columns[column or 0]
        noun = "value" if name is None else short_name(name)
        if spec.per_unit is not None:
            noun = f"{noun} per unit{unit_id(spec)}"
        return noun, "the values" if name is None else noun

    @property
    def _qualified(self) -> str:
        """The values in question, where that is not all that were read."""
        spec, part = self.spec, self.part
        out = []
        if part.group is not None:
            out += [
                f"{short_name(name)} {value_words(value)}" for name, value in zip(spec.labels, part.group, strict=True)
            ]
        elif spec.groups is not None and spec.other_group is None:
            out.append(f"declared groups of {joined([short_name(name) for name in spec.labels])}")
        chosen = spec.partitions if part.column is None else (spec.partitions[part.column],)
        if is_cut(chosen):
            out.append(f"within {' × '.join(map(bounds_text, chosen))}")
        if part.column is not None and is_cut([axis for i, axis in enumerate(spec.partitions) if i != part.column]):
            out.append("the others within their bounds")
        if spec.zone is not None:
            out.append(spec.zone)
        return f" ({', '.join([*out, *record_words(spec)])})" if out or record_words(spec) else ""


def record_words(spec: Spec, longest: int = _LONGEST_TEST) -> list[str]:
    """Return which records an answer is about, where that is not all of a table."""
    out = ["of the rows of the given query"] if spec.of_query else []
    return [*out, f"where {visible(shortened(spec.where, longest))}"] if spec.where is not None else out


def of_unit(spec: Spec) -> str:
    """Return which one value of each unit counts: "highest", "lowest", "mean"."""
    timed = spec.kinds[0] in ("date", "datetime")
    return {"max": "latest" if timed else "highest", "min": "earliest" if timed else "lowest"}.get(
        str(spec.per_unit), "mean"
    )


def is_cut(axes: Sequence[Any]) -> bool:
    """Return True where values outside the bounds of some column do not count."""
    return any(axis.bounds is not None and axis.outside == "drop" for axis in axes)


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
