"""The published release: counts, description, and everything read off them. Nothing here has seen a record."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from flexdp._core.text import plain_scalar, safe_repr
from flexdp._release.answers import Answer, Reader, Tally
from flexdp._release.asked import Asked
from flexdp._release.asked_proof import listing_conditions
from flexdp._release.asked_sentences import Telling
from flexdp._release.automatic import Auto
from flexdp._release.automatic_words import how_chosen, too_few_for_groups
from flexdp._release.capped import CapReport, cap_answer
from flexdp._release.causes import likely_causes
from flexdp._release.certifying import certificate_of
from flexdp._release.documents import written
from flexdp._release.exported import Exported
from flexdp._release.fitting import fitting
from flexdp._release.groups import Groups, cells_summed, group_places
from flexdp._release.promises import Certificate, conditions
from flexdp._release.readable import Readable, View, not_asked
from flexdp._release.sentences import Words
from flexdp._release.spec import WHOLE, Part, Spec
from flexdp.accounting.budget import Budget
from flexdp.buckets.base import Bucket, Kind
from flexdp.buckets.exact import Exact
from flexdp.buckets.partition import Partition
from flexdp.calculus.privacy import total
from flexdp.errors import InputError, P
from flexdp.guarantees import Condition, Privacy
from flexdp.histogram import Histogram, KeyedHistogram
from flexdp.mechanisms import Chain
from flexdp.noise.drop import DropNoise

__all__ = ["Release"]


@dataclass(frozen=True, kw_only=True)
class Release(Readable, Exported):
    """Published counts and everything that may be read off them. It holds nothing private.

    Queries on the release itself refer to all groups together; :meth:`by_group` queries each.

    Parameters
    ----------
    spec
        The public description: columns, buckets, groups, privacy unit.
    budget
        ε and δ, and how they were divided.
    cells
        The counts as released, keyed by group and bucket index.
    records_at_most
        The published bound on the number of contributions, where one was paid for.
    asked
        The answers that were asked for, where there are any; without buckets, ``budget`` is None and ``cells`` is
        empty.
    auto
        What chose the buckets, where they are automatic. With too few records for buckets, five answers are in
        ``asked``.
    caps
        How many units the cap on their buckets, and on their values, touched, where that is published.

    Examples
    --------
    >>> import flexdp
    >>> release = flexdp.release([33.0] * 900 + [71.0] * 900, epsilon=1, delta=1e-6, width=5, bounds=(0, 100))
    >>> release.max().text, release.min().text, release.max_drop
    ('70–75 or more', '30–35 or less', 27)
    >>> release.conditions
    ('Counted: readable values limited to 0–100.',)
    >>> flexdp.Release.from_json(release.to_json()) == release
    True
    >>> release.certificate().evidence.holds
    True
    >>> list(release.columns_of_bars())
    ['key', 'lower', 'upper', 'count', 'about', 'at_most']
    >>> release.to_frame("polars").columns
    ['key', 'lower', 'upper', 'count', 'about', 'at_most']

    Groups, several columns, estimators, pages:

    >>> import tempfile
    >>> import polars as pl
    >>> from sklearn.cluster import KMeans
    >>> table = pl.DataFrame({"lat": [47.5] * 400, "lon": [7.5] * 400, "ward": ["A", "B"] * 200})
    >>> flexdp.release(table, "lat", by="ward", epsilon=1, delta=1e-6, width=1).by_group()["A"].max().parts[0]
    'Highest lat (ward A): 47–48 or more.'
    >>> flexdp.release(table, ["lat", "lon"], epsilon=1, delta=1e-6, width=1).marginal("lon").max().text
    '7–8 or more'
    >>> sorted(release.fit(KMeans(2, n_init=1)).value.cluster_centers_.ravel().tolist())
    [32.5, 72.5]
    >>> release.to_html().splitlines()[0]
    '<!DOCTYPE html>'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release.report(f"{folder}/ages.html")
    ...     release.plot(f"{folder}/ages.svg").svg[:4]
    '<svg'
    >>> release.count().name, release.mean().name, release.sum().name, release.std().name
    ('number of records', 'mean', 'sum', 'standard deviation')

    Asked answers:

    >>> asked = ["median", "iqr", "mean", "sum"]
    >>> sharp = flexdp.release(list(range(5000)), kind="integer", epsilon=1, delta=0, ask=asked)
    >>> abs(sharp.median().value - 2500) < 100, sharp.mean().name, sharp.sum().name, sharp.iqr().name
    (True, 'mean', 'sum', 'interquartile range')
    >>> flexdp.release([7] * 900, kind="integer", epsilon=1, delta=0, ask="count").count().name
    'number of records'
    >>> [answer.name for answer in sharp.answers()]
    ['median', 'interquartile range', 'mean', 'sum']
    >>> list(sharp.columns_of_answers())
    ['statistic', 'value', 'way', 'epsilon', 'between', 'beyond', 'statement']
    """

    spec: Spec
    budget: Budget | None
    cells: KeyedHistogram
    records_at_most: int | None = None
    asked: Asked | None = None
    auto: Auto | None = None
    caps: tuple[CapReport, ...] = ()

    def __hash__(self) -> int:
        return hash((self.spec, self.budget, self.cells))  # answers may hold what has no hash; equal ones agree on this

    def __getstate__(self) -> dict[str, Any]:
        """Return what is published, without what was computed from it since."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def column(self) -> Any:
        """The name of the released column; a tuple where there are several."""
        return self.spec.columns[0] if len(self.spec.columns) == 1 else self.spec.columns

    @property
    def kind(self) -> Kind:
        """The kind that the released column was read as."""
        return self.spec.kinds[0]

    @property
    def noise(self) -> DropNoise:
        """The table that each bucket's loss was drawn from."""
        return self._bars_budget.bars

    @property
    def _bars_budget(self) -> Budget:
        if self.budget is None:
            raise self._no_buckets()
        return self.budget

    def _is_answered_by_group(self, word: str) -> bool:
        return self.asked is not None and bool(self.spec.by) and word in self.asked.wanted.words

    @property
    def _automatic(self) -> bool:
        return self.auto is not None

    def _no_buckets(self) -> InputError:
        if self.auto is not None and self.asked is None:
            return InputError(
                "release", f"has no buckets: {too_few_for_groups(self.spec, self.auto, self.privacy.epsilon)}"
            )
        if not self.spec.by:
            return not_asked(automatic=self._automatic)
        return InputError(
            "release", "has no buckets, and its answers are those of each group", remedy="Ask by_group() for them."
        )

    @property
    def survived(self) -> bool:
        """True if anything was published: a bucket, or an answer that was asked for."""
        return bool(len(self.cells)) or (self.asked is not None and self.asked.answered)

    @property
    def likely_causes(self) -> tuple[str, ...]:
        """Why nothing survived, as far as public parameters tell; empty where anything did."""
        return () if self.survived else likely_causes(self.spec, None if self.budget is None else self.max_drop)

    @property
    def _telling(self) -> Telling | None:
        if self.asked is None or self.spec.by:
            return None
        words = replace(self._words, drawn=True)
        return Telling(self.asked, self.asked.results[()], words, None if self.budget is None else self._reader)

    def _tellings(self) -> Iterator[tuple[tuple[Any, ...], Telling]]:
        if self._telling is not None:
            yield (), self._telling
        elif self.asked is not None:
            views = ((group, self._view(group, where).telling) for group, where in self._group_places.items())
            yield from ((group, telling) for group, telling in views if telling is not None)

    @cached_property
    def partition(self) -> Partition:
        """The buckets, public before the data was read."""
        return self.spec.partition

    @cached_property
    def bars(self) -> Histogram:
        """The released counts by bucket index, all groups added up."""
        return self.cells.histogram(self._value_places)

    @property
    def _value_places(self) -> list[int]:
        return list(range(len(self.spec.by), len(self.spec.by) + len(self.spec.columns)))

    @property
    def tallies(self) -> tuple[Tally, ...]:
        """What each released bucket holds: an estimate, and certain ends; in the order of ``histogram.keys``."""
        return self._reader.tallies

    @property
    def buckets(self) -> list[Bucket]:
        """The edges of each released bucket, in the order of ``histogram.keys``."""
        return self.partition.edges_of(self.bars.keys)

    @property
    def privacy(self) -> Privacy:
        """The guarantee to the people in the data, by all steps together."""
        unit = "record" if self.spec.unit is None else self.spec.unit
        asked = None if self.asked is None else self.asked.budget
        parts = (self.budget, asked) if self.auto is None else (self.auto.budget,)
        costs = [part.privacy(unit) for part in parts if part is not None]
        found = total([*costs, *(cap.privacy(self.spec) for cap in self.caps)])
        return replace(found, given=Condition(rows_are_records=True)) if self.spec.of_query else found

    @cached_property
    def mechanism(self) -> Chain:
        """The mechanism that was run on the buckets: bucketing, by the engine while it counted, and then dropping.

        Automatic buckets are public by then; the part of ε that chose them is in :attr:`auto`. That of the counts of
        units beside a cap is in :attr:`caps`.
        """
        return self._bars_budget.mechanism(self.partition, self.spec.unit)

    @property
    def max_drop(self) -> int:
        """The most records that any bucket, of any group, can have lost."""
        return self.noise.max_drop

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions that all answers share: which records count, and how often."""
        listed = () if self.asked is None else listing_conditions(self.spec, self.asked)
        chosen = () if self.auto is None else how_chosen(self.spec, self.auto, self.asked, self.privacy.epsilon)
        if self.auto is not None and self.auto.chosen:
            chosen += (
                self._words.counting(f"The lower end of each count is {self._words.too_low} and never too high."),
            )
        asked = self.asked is not None
        capped = tuple(answer.statement for answer in self.capped_units)
        return (*conditions(self.spec, bucketed=self.budget is not None, asked=asked), *capped, *listed, *chosen)

    @property
    def capped_units(self) -> tuple[Answer, ...]:
        """How many units have more ranges, and different values, than they count with; empty if not published."""
        return tuple(cap_answer(self.spec, cap, self.privacy.epsilon) for cap in self.caps)

    @property
    def groups(self) -> list[Any]:
        """The groups of which something survived, or all that were declared."""
        return list(self.by_group()) if self.spec.by else []

    @cached_property
    def _reader(self) -> Reader:
        return self._counts(WHOLE, self.bars)

    @property
    def _words(self) -> Words:
        return self._words_of(Part())

    def _words_of(self, part: Part) -> Words:
        if self.budget is None:
            return Words(self.spec, 0, part)
        limited = self.budget.limited
        return Words(self.spec, self.max_drop, part, total=None if limited is None else limited.total)

    @cached_property
    def _most_lost(self) -> int | None:
        """The most contributions that are missing in total; None where nothing bounds them."""
        return self._bars_budget.most_lost(self.records_at_most, sum(self.cells.counts.tolist()))

    def _counts(self, part: Part, index: Histogram) -> Reader:
        partition = self.partition if part.column is None else self.spec.partition_of(part)
        return Reader(
            partition=partition,
            noise=self.noise,
            mean=self._bars_budget.mean_drop,
            index=index,
            centres=Histogram(partition.centres(index.keys), index.counts),
            summed=self.spec.summed(part),
            public=self.spec.groups_are_public,
            total=self._most_lost,
            cells=cells_summed(self.spec, self.cells, part),
        )

    def by_group(self) -> Groups:
        """Return the groups, each with queries of its own.

        Returns
        -------
        Groups
            A mapping from group to :class:`View`; ``by_group().max()`` queries all of them.
        """
        if not self.spec.by:
            raise InputError("by_group", "needs a release by groups", remedy=("Release with ", P("by"), "."))
        return Groups(self.spec.labels, self._group_places, self._view)

    @property
    def _group_places(self) -> dict[tuple[Any, ...], slice]:
        if self.budget is None:
            return {} if self.asked is None else dict.fromkeys(self.asked.results, slice(0, 0))
        return group_places(self.spec, self.cells)

    def _view(self, group: tuple[Any, ...], where: slice) -> View:
        """One group, by its values and by where its buckets are."""
        part = Part(group=group)
        words = self._words_of(part)
        reader = None
        if self.budget is not None:
            reader = self._counts(part, self.cells.histogram(self._value_places, where))
        if self.asked is None:
            return View(reader, words)
        telling = Telling(self.asked, self.asked.results[group], replace(words, drawn=True), reader)
        return View(reader, words, telling)

    def marginal(self, column: str) -> View:
        """Return one of several released columns, with the others added up.

        Parameters
        ----------
        column
            The column's name.

        Returns
        -------
        View
            Queries on that column.

        Raises
        ------
        InputError
            If the release has one column only, or no such column.
        """
        if len(self.spec.columns) < 2:
            raise InputError("marginal", "needs a release of several columns", remedy="Query this one itself.")
        if not isinstance(column, str) or plain_scalar(column) not in self.spec.columns:
            known = ", ".join(str(name) for name in self.spec.columns)
            raise InputError("column", f"is not in the release: its columns are {known}", given=safe_repr(column))
        part = Part(column=self.spec.columns.index(str.__str__(column)))
        bars = self.cells.histogram([len(self.spec.by) + (part.column or 0)])
        if not isinstance(self.spec.partition_of(part), Exact):
            bars = Histogram(bars.keys.astype(np.int64), bars.counts)
        return View(self._counts(part, bars), self._words_of(part))

    def fit(self, estimator: Any) -> Answer:
        """Fit a scikit-learn estimator on the released histogram, its counts as sample weights.

        The guarantee is the drop-move one: the estimator learns exactly this from data in which a few records per
        bucket were left out and every value was moved to its bucket's centre.

        Parameters
        ----------
        estimator
            An estimator whose ``fit`` takes ``sample_weight``. One that learns labels gets the groups for labels,
            which are never bucketed.

        Returns
        -------
        Answer
            A fitted copy as its value.

        Raises
        ------
        InputError
            If the columns are not numbers, or the estimator does not fit.
        """
        name = f"fit of {type(estimator).__name__}"
        work = fitting(estimator, self.spec, self.cells)
        return self._told(self._reader.function(name, work, lambda beta: math.inf if beta else 0.0))

    def certificate(self) -> Certificate:
        """Return all promises of this release, with the integer evidence for its privacy.

        Returns
        -------
        Certificate
            The promises and their proof.
        """
        reader = None if self.budget is None else self._reader
        return certificate_of(
            self.spec,
            self.budget,
            reader,
            self.asked,
            self.auto,
            self.caps,
            privacy=self.privacy,
            conditions=self.conditions,
        )

    def _document(self) -> dict[str, Any]:
        return written(
            self.spec, self.budget, self.cells, self.records_at_most, self.asked, self.auto, self.caps, self.privacy
        )

    def __repr__(self) -> str:
        names = [repr(name) for name in self.spec.columns]
        what = "values" if self.spec.columns == (None,) else ", ".join(names)
        groups = f" by {', '.join(map(repr, self.spec.labels))}" if self.spec.by else ""
        asked = "" if self.asked is None else f"{', '.join(self.asked.wanted.words)} asked"
        if self.budget is None:
            return f"<Release of {what}{groups}: {asked or 'too few records'}>"
        rest = f", {asked}" if asked else ""
        return f"<Release of {what}{groups}: {self.partition.spec}, {len(self.cells)} released{rest}>"
