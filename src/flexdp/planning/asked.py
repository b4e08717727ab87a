"""Answers that are asked for: each with the bound that a release would state, replayed with assumed outcomes."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from flexdp._core.exact import to_double
from flexdp._core.text import plural, thousands
from flexdp._release.asked import Asked, Column, Outcomes, Result, rebuilt
from flexdp._release.asked_checks import asked_column
from flexdp._release.asked_promises import count_promise, mean_promise, rank_promises
from flexdp._release.asked_sentences import statistic_of
from flexdp._release.asking import AskedBudget, Wanted, word_of
from flexdp._release.ranges import figure
from flexdp._release.spec import Spec
from flexdp.buckets.exact import Exact
from flexdp.errors import InputError, Phrase
from flexdp.guarantees import Privacy
from flexdp.planning.design import USUAL, Design, Row, percent
from flexdp.planning.given import column_options
from flexdp.sharp.mean import steps_between
from flexdp.sharp.rules import RULES
from flexdp.statistics import Quantile

__all__ = ["AnswerBound", "AskedAnswers", "statistic_name"]

_SIZE = 99_999  # values are assumed to be of this size
_MARGIN = 2  # times the records that are needed: with so many, too few are counted in less than one of 100 releases


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerBound:
    """What a release will promise of one answer, with probability 95%.

    Parameters
    ----------
    kind
        "off" between the answer and the exact quantile, "above" or "below" the answer, "count", or "share" of the
        distance between the ends that values are limited to, of a mean.
    bound
        Records, or that share. None where no bound is stated, or there are too few records.
    needs
        The number of records that an answer needs at this ε.
    enough
        True if there are about as many.
    """

    kind: str
    bound: int | float | None
    needs: int = 0
    enough: bool = True

    def __str__(self) -> str:
        if not self.enough:
            return f"needs {thousands(self.needs)}"
        if self.bound is None:
            return "–"
        if self.kind == "share":
            return f"± {percent(self.bound)} of range"
        many = thousands(int(self.bound))
        return f"± {many}" if self.kind == "count" else f"≤ {many} {self.kind}"


@dataclass(frozen=True, kw_only=True)
class AskedAnswers(Design):
    """Answers without buckets, of every group by itself.

    Parameters
    ----------
    records, per_unit, groups
        As of every design; the number of records must be known.
    asked
        The statistics.
    column
        Kind and bounds of the column.

    Examples
    --------
    >>> from flexdp import plan
    >>> chosen = plan(epsilon=1, ask=["max", "q0.99"], records_about=10_000).chosen
    >>> str(chosen["max"]), str(chosen["q0.99"])
    ('≤ 93 above', '≤ 124 off')
    """

    asked: Wanted
    column: Exact

    @property
    def words(self) -> str:
        return f"{self.groups}; {self.heading}"

    @property
    def unit_words(self) -> str:
        return f"one unit, with at most {plural(self.per_unit, 'value')}"

    @property
    def heading(self) -> str:
        """What is asked, in words."""
        return f"asked: {', '.join(map(statistic_name, self.asked.words))}"

    @property
    def options(self) -> list[str]:
        return [*self.ask_options, *column_options(self.column)]

    @property
    def ask_options(self) -> list[str]:
        """The options that name the answers."""
        return [f"--ask {shlex.quote(word)}" for word in self.asked.words]

    @property
    def columns(self) -> list[str]:
        return [*self.stats, "certainty"]

    @property
    def stats(self) -> list[str]:
        """The answers that are drawn."""
        return [*self._levels, *["count"] * self.asked.counts, *["mean"] * self.asked.sums]

    @cached_property
    def _levels(self) -> dict[str, Fraction]:
        """The quantiles that are drawn, in the order in which they are named; a range is two of them."""
        return {str(word_of(Quantile(level))): level for word in self.asked.words for level in Wanted((word,)).levels}

    @cached_property
    def _column(self) -> Column:
        return asked_column(Spec(columns=(None,), partitions=(self.column,)))

    def _budget(self, each: Privacy) -> AskedBudget:
        return AskedBudget(each.epsilon, self.per_unit, each.delta)

    def row(self, each: Privacy, *, chosen: Fraction | None = None) -> Row | None:
        try:
            self._budget(each).check(self.asked, bounded=self._column.bounded, given=chosen)
        except InputError:
            if chosen is None:
                return None
            raise
        return dict(self._bounds(each))

    def _bounds(self, each: Privacy) -> dict[str, AnswerBound]:
        release, result = self._imagined(self._budget(each))
        parts, promises, bounds = release.parts, rank_promises(release, result), {}
        for stat, level in self._levels.items():
            promise, needs = promises.get(level), -(-RULES.few // parts["levels"])
            kind, bound = "off", None if promise is None else promise.between
            if promise is not None and promise.beyond is not None:
                kind, bound = "above" if level > Fraction(1, 2) else "below", promise.beyond
            bounds[stat] = AnswerBound(kind=kind, bound=bound, needs=int(needs), enough=promise is not None)
        if self.asked.counts:
            bounds["count"] = AnswerBound(kind="count", bound=count_promise(parts["count"]))
        if result.mean is not None:
            error, tally, share = mean_promise(release, result.mean), result.mean.tally, None
            if error is not None and error.mean is not None and tally is not None:
                share = to_double(error.mean / self._column.scale.value(tally.high - tally.low))
            needs = 0 if self._column.bounded else -(-RULES.few_for_mean // parts["mean"])
            bounds["mean"] = AnswerBound(kind="share", bound=share, needs=int(needs), enough=share is not None)
        return bounds

    def _imagined(self, budget: AskedBudget) -> tuple[Asked, Result]:
        """A release of values of the assumed size, and its outcomes: bounds follow from public numbers alone."""
        scale, ends, records = self._column.scale, self._column.ends, self.records_of_group or 0
        low, high = (-_SIZE * scale.ten(0), _SIZE * scale.ten(0))
        if ends.low is not None and ends.high is not None:
            low, high = max(low, ends.low), min(high, ends.high - 1)
        largest, anchor, mean = high, scale.short((low + high) // 2), Outcomes()
        if self.asked.sums:
            if ends.low is None:
                down, up = (RULES.rungs(scale, anchor, side, ends, 0).values for side in (-1, 1))
                low = next((rung for rung in down if rung <= low), down[-1])
                high = next((rung for rung in up if rung >= max(high, low + 1)), up[-1])
            mean = Outcomes(anchor=anchor, ends=(low, high), sums=(steps_between(low, high).cells * records // 2,) * 2)
        listed = None if budget.listing is None else max(1, records - budget.listing.noise.max_drop // 2)
        result = rebuilt(
            self.asked,
            budget.parts(self.asked),
            self._column,
            records_about=records if listed is None or self.asked.counts else None,
            levels=Outcomes(assumed=lambda level: round(largest * (1 + level) / 2)),
            mean=mean,
            listed=listed,
        )
        return Asked(wanted=self.asked, budget=budget, column=self._column, results={(): result}), result

    def leaves_nothing(self, each: Privacy) -> bool:
        records = self.records_of_group or 0
        return self._lists_none(each) or all(_useless(bound, records) for bound in self._bounds(each).values())

    def _lists_none(self, each: Privacy) -> bool:
        """Tell whether no group of as many records as the others is certain to be listed."""
        listing = self._budget(each).listing
        return listing is not None and (self.records_of_group or 0) <= listing.noise.max_drop

    def notes(self, each: Privacy | None) -> list[str]:
        if not self.groups.by:
            return [self._condition]
        size = f"Bounds are for one group of about {plural(self.records_of_group or 0, 'record', thousands)}."
        listing = None if each is None else self._budget(each).listing
        if listing is not None:
            least = thousands(listing.noise.max_drop + 1)
            size += f" A quarter of ε lists the groups: one with {least} records or more is certain to be listed."
        return [size, self._condition]

    @property
    def _condition(self) -> str:
        """The condition of the bounds, which depends on the size of values, not on ε."""
        promises = rank_promises(*self._imagined(self._budget(Privacy(epsilon=USUAL[-1], delta=0))))
        promise = next((promise for promise in promises.values() if promise.between is not None), None)
        size, kind = "", self.column.kind
        if promise is not None and promise.decades is not None and kind in ("integer", "number"):
            size = f", if values are below {figure(10**promise.decades)} in magnitude"
            size += "" if kind == "integer" else f" and have at most {promise.decimals} decimals"
        return (
            f"Each bound holds with probability 95%{size}. Bounds are worst cases; typical errors are several times "
            "smaller."
        )

    def warnings(self, each: Privacy | None, chosen: Fraction | None) -> list[Phrase]:  # noqa: ARG002
        if each is None:
            return []
        records = plural(self.records_of_group or 0, "record", thousands)
        listing = self._budget(each).listing
        if listing is not None and self._lists_none(each):
            return [
                f"groups of {records} may all be missing: {thousands(listing.noise.max_drop + 1)} are needed to be "
                "certain to be listed. Declare the groups, or choose a larger ε."
            ]
        few = {stat: bound for stat, bound in self._bounds(each).items() if not bound.enough}
        if not few:
            return []
        needed, names = max(bound.needs for bound in few.values()), ", ".join(map(statistic_name, few))
        return [
            f"{records} are too few for the {names} at this ε: about {thousands(needed)} are needed. Choose a larger "
            "ε, or ask for fewer answers."
        ]

    def document(self) -> dict[str, Any]:
        return {"asked": list(self.asked.words)}


def _useless(bound: AnswerBound, records: int) -> bool:
    """Tell whether there are too few records for an answer, or a count may be off by all of them."""
    if bound.kind == "count" and bound.bound is not None:
        return bound.bound >= records
    return bound.needs * _MARGIN > records


def statistic_name(word: str) -> str:
    """Return a statistic in words, for example "99th percentile"."""
    return statistic_of(word).name
