"""Asked answers before they are asked: the bound of each at every ε, and trials on a law or a public sample."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from flexdp._core.exact import exact_text, number_text, to_double
from flexdp._core.text import plural, thousands
from flexdp._release.asked import Asked, Column, Outcomes, Result, answer, rebuilt
from flexdp._release.asked_checks import asked_column
from flexdp._release.asked_promises import count_promise, mean_promise, rank_promises
from flexdp._release.asked_sentences import statistic_of
from flexdp._release.asking import AskedBudget, Wanted, wanted, word_of
from flexdp._release.capped import after_cap
from flexdp._release.ranges import figure
from flexdp._release.spec import Spec
from flexdp.buckets.exact import Exact
from flexdp.calculus.privacy import of_each_release
from flexdp.errors import InputError, P, Phrase
from flexdp.guarantees import Privacy, limit_text
from flexdp.planning.bounds import AnswerBound, AskedOption, ExpectedAnswer
from flexdp.planning.groups import NO_GROUPS, Groups
from flexdp.planning.options import LADDER
from flexdp.planning.trials import Sample, column_words, trial_bits
from flexdp.sharp.mean import steps_between
from flexdp.sharp.rules import RULES
from flexdp.statistics import Quantile

__all__ = ["AskedOutlook"]

RUNS = 40
_USUAL = Fraction(9, 10)
_SIZE = 99_999  # values are assumed to be of this size where nothing is known about them


@dataclass(frozen=True, kw_only=True)
class AskedOutlook:
    """A plan of asked answers. It reads no private data.

    Parameters
    ----------
    asked
        The statistics.
    buckets
        Kind and bounds of the column.
    records
        Approximate number of records.
    most
        Most values that one unit counts with.
    releases
        Number of releases that share ε.
    sample
        Values for trials; None without.
    seed
        Seed of the trials.
    groups
        The groups, each of which is answered by itself.
    delta
        δ of everything planned, which only listing groups that are not known needs.
    reported
        Each release also tells how many units count with some of their values only.

    Examples
    --------
    >>> from flexdp import plan
    >>> advice = plan(epsilon=1, ask=["max", "q0.99"], records_about=10_000)
    >>> [(each.stat, each.kind, each.bound) for each in advice.sharp.option(advice.epsilon).bounds]
    [('max', 'above', 93), ('q0.99', 'between', 124)]
    >>> advice.command
    'flexdp release FILE COLUMN --epsilon 1 --delta 0 --ask max --ask q0.99'
    """

    asked: Wanted
    buckets: Exact
    records: int
    most: int = 1
    releases: int = 1
    sample: Sample | None = None
    seed: int = 0
    groups: Groups = NO_GROUPS
    delta: Fraction = Fraction(0)
    reported: bool = False
    pure: ClassVar[bool] = True  # whether it has no buckets

    @classmethod
    def checked(cls, ask: object, buckets: Exact, **options: Any) -> AskedOutlook:
        """Return the plan of what ``ask`` names."""
        return cls(asked=wanted(ask, (buckets.kind,)), buckets=buckets, **options)

    @cached_property
    def column(self) -> Column:
        """The public description of the column."""
        return asked_column(Spec(columns=(None,), partitions=(self.buckets,)))

    @cached_property
    def levels(self) -> dict[str, Fraction]:
        """The quantiles that are drawn, in the order in which they are named; a range is two of them."""
        found = {}
        for word in self.asked.words:
            for level in Wanted((word,)).levels:
                found[str(word_of(Quantile(level)))] = level
        return found

    @property
    def stats(self) -> list[str]:
        """The answers that are drawn."""
        return [*self.levels, *["count"] * self.asked.counts, *["mean"] * self.asked.sums]

    def budget(self, epsilon: Fraction) -> AskedBudget:
        """Return the budget of one release."""
        each = of_each_release(Privacy(epsilon=epsilon, delta=self.delta), self.releases)
        return AskedBudget(after_cap(each.epsilon, reported=self.reported), self.most, each.delta)

    def lists_none(self, epsilon: Fraction) -> bool:
        """Tell whether no group of as many records as the others is certain to be listed."""
        listing = self.budget(epsilon).listing
        return listing is not None and self.records <= listing.noise.max_drop

    def option(self, epsilon: Fraction, *, given: Fraction | None = None) -> AskedOption:
        """Return the bounds at one ε, a part of ``given``; refuse an ε that is too small for exact answers."""
        budget = self.budget(epsilon)
        budget.check(self.asked, bounded=self.column.bounded, given=epsilon if given is None else given)
        result = self._imagined(budget)
        told = Asked(wanted=self.asked, budget=budget, column=self.column, results={(): result})
        found, parts = [], budget.parts(self.asked)
        promises = rank_promises(told, result)
        for stat, level in self.levels.items():
            promise, needs = promises.get(level), -(-RULES.few // parts["levels"])
            kind, bound = "between", None if promise is None else promise.between
            if promise is not None and promise.beyond is not None:
                kind, bound = "above" if level > Fraction(1, 2) else "below", promise.beyond
            found.append(AnswerBound(stat=stat, kind=kind, bound=bound, needs=int(needs), enough=promise is not None))
        if self.asked.counts:
            off = count_promise(parts["count"])
            found.append(AnswerBound(stat="count", kind="count", bound=off, needs=0, enough=True))
        if result.mean is not None:
            promised = mean_promise(told, result.mean)
            share = None
            if promised is not None and promised.mean is not None and result.mean.tally is not None:
                tally = result.mean.tally
                share = to_double(promised.mean / self.column.scale.value(tally.high - tally.low))
            needs = 0 if self.column.bounded else -(-RULES.few_for_mean // parts["mean"])
            found.append(
                AnswerBound(stat="mean", kind="share", share=share, needs=int(needs), enough=share is not None)
            )
        certainty = Privacy(epsilon=epsilon, delta=self.delta).certainty
        return AskedOption(epsilon=epsilon, bounds=tuple(found), certainty=certainty)

    def options(self, chosen: Fraction | None) -> tuple[AskedOption, ...]:
        """Return the options of the usual ε, with the chosen one in its place."""
        out = []
        for epsilon in sorted({*LADDER} if chosen is None else {*LADDER, chosen}):
            try:
                out.append(self.option(epsilon))
            except InputError:
                if epsilon == chosen:
                    raise
        return tuple(out)

    def _imagined(self, budget: AskedBudget) -> Result:
        """The outcomes of a release of values of the size that is assumed: bounds follow from public numbers alone."""
        scale, ends = self.column.scale, self.column.ends
        low, high = (-_SIZE * scale.ten(0), _SIZE * scale.ten(0))
        if self.sample is not None:
            low, high = (scale.units(self.sample.values[place]) for place in (0, -1))
        if ends.low is not None and ends.high is not None:
            low, high = max(low, ends.low), min(high, ends.high - 1)
        largest = (
            max((self._exact(level) for level in self.asked.levels), key=abs, default=high) if self.sample else high
        )
        anchor = scale.short(self._exact(Fraction(1, 2)) if self.sample else (low + high) // 2)
        mean = Outcomes()
        if self.asked.sums:
            if ends.low is None:
                down, up = (RULES.rungs(scale, anchor, side, ends) for side in (-1, 1))
                low = next((rung for rung in down if rung <= low), down[-1])
                high = next((rung for rung in up if rung >= max(high, low + 1)), up[-1])
            cells = steps_between(low, high).cells
            mean = Outcomes(anchor=anchor, ends=(low, high), sums=(cells * self.records // 2,) * 2)
        levels = Outcomes(anchor=anchor, values=dict.fromkeys(self.asked.levels, largest))
        listed = None if budget.listing is None else max(1, self.records - budget.listing.noise.max_drop // 2)
        return rebuilt(
            self.asked,
            budget.parts(self.asked),
            self.column,
            records_about=self.records if listed is None or self.asked.counts else None,
            levels=levels,
            mean=mean,
            listed=listed,
        )

    def _exact(self, level: Fraction) -> int:
        """A quantile of the sample, in units."""
        assert self.sample is not None
        values = self.sample.values
        return self.column.scale.units(values[max(1, -(-level.numerator * len(values) // level.denominator)) - 1])

    def expected(self, epsilon: Fraction) -> tuple[ExpectedAnswer, ...]:
        """Return the errors of all answers in seeded trials; nothing without a law or a public sample."""
        if epsilon not in self._known:
            self._known[epsilon] = self._tried_at(epsilon)
        return self._known[epsilon]

    @cached_property
    def _known(self) -> dict[Fraction, tuple[ExpectedAnswer, ...]]:
        return {}

    def _tried_at(self, epsilon: Fraction) -> tuple[ExpectedAnswer, ...]:
        if self.sample is None:
            return ()
        parts, ranks, listing = self.budget(epsilon).parts(self.asked), self.sample.column, self.budget(epsilon).listing
        listed = None if listing is None else max(1, self.records - listing.noise.max_drop // 2)
        results = [
            answer(
                self.asked, parts, self.column, ranks, trial_bits(self.seed, exact_text(epsilon), run), listed=listed
            )
            for run in range(RUNS)
        ]
        return tuple(self._tried(stat, results) for stat in self.stats)

    def _tried(self, stat: str, results: Sequence[Result]) -> ExpectedAnswer:
        assert self.sample is not None
        scale, values = self.column.scale, self.sample.values
        ranks: list[int] = []
        errors: list[float] = []
        for result in results:
            if stat == "count":
                ranks.append(abs((result.count or 0) - len(values)))
                errors.append(float(ranks[-1]))
            elif stat == "mean":
                if result.mean is not None and not result.mean.too_few:
                    errors.append(abs(to_double(result.mean.mean) - float(np.mean(values.astype(np.float64)))))
            else:
                level = self.levels[stat]
                found, exact = result.at(level), self._exact(level)
                if found is not None:
                    low, high = sorted((scale.value(found.value), scale.value(exact)))
                    inside = np.searchsorted(values, float(high)) - np.searchsorted(values, float(low), side="right")
                    ranks.append(max(0, int(inside)))
                    errors.append(to_double(high - low))
        return ExpectedAnswer(
            stat=stat,
            rank=float(np.mean(ranks)) if ranks else None,
            usual_rank=sorted(ranks)[math.ceil(_USUAL * len(ranks)) - 1] if ranks else None,
            error=float(np.median(errors)) if errors else None,
            answered=len(errors) / len(results),
        )

    def curve(self) -> list[tuple[float, int]]:
        """Return no curve: nothing is left out."""
        return []

    def table(self, chosen: Fraction | None) -> tuple[list[str], list[list[str]]]:
        """Return the options as a table of text."""
        options = self.options(chosen)
        columns = {
            "": ["→" if option.epsilon == chosen else "" for option in options],
            "ε": [number_text(option.epsilon) for option in options],
        }
        for place, bound in enumerate(options[-1].bounds if options else ()):
            columns[_name(bound.stat)] = [str(option.bounds[place]) for option in options]
        columns["50% sure becomes"] = [limit_text(option.certainty) for option in options]
        return list(columns), [list(row) for row in zip(*columns.values(), strict=True)]

    def notes(self, chosen: Fraction | None) -> list[str]:
        """Return the conditions of the bounds, and the result of the trials at the chosen ε."""
        told = [self._condition, *([self._trials(chosen)] if self.sample is not None and chosen is not None else [])]
        if not self.groups.by:
            return told
        size = f"Bounds and trials are for one group of about {plural(self.records, 'record', thousands)}."
        listing = None if chosen is None else self.budget(chosen).listing
        if listing is None:
            return [size, *told]
        least = thousands(listing.noise.max_drop + 1)
        size += f" A quarter of ε lists the groups: one with {least} records or more is certain to be listed."
        return [size, *told]

    @property
    def _condition(self) -> str:
        kind, budget = self.buckets.kind, self.budget(LADDER[-1])
        result = self._imagined(budget)
        told = Asked(wanted=self.asked, budget=budget, column=self.column, results={(): result})
        promise = next((p for p in rank_promises(told, result).values() if p.between is not None), None)
        size = ""
        if promise is not None and promise.decades is not None and kind in ("integer", "number"):
            size = f", if values are below {figure(10**promise.decades)} in magnitude"
            size += "" if kind == "integer" else f" and have at most {promise.decimals} decimals"
        return (
            f"Each bound holds with probability 95%{size}. Bounds are worst cases; typical errors are several times "
            "smaller."
        )

    def _trials(self, chosen: Fraction) -> str:
        assert self.sample is not None
        told = []
        for each in self.expected(chosen):
            name = _name(each.stat)
            if each.error is None:
                told.append(f"{name}: too few records")
                continue
            off = f"off by {_few(each.error)} or less in half of them"
            if each.rank is not None and each.stat != "count":
                usual = thousands(each.usual_rank or 0)
                off = f"{_few(each.rank)} records off on average, at most {usual} in 9 of 10; {off}"
            missing = "" if each.answered == 1 else f", with an answer in {round(100 * each.answered)} of 100"
            told.append(f"{name}: {off}{missing}")
        return f"In {RUNS} trials on {self.sample.source}: {'. '.join(told)}."

    @property
    def heading(self) -> str:
        """What is asked, in words."""
        return f"asked: {', '.join(_name(word) for word in self.asked.words)}"

    def cautions(self, chosen: Fraction | None) -> list[Phrase]:
        """Return warnings about the chosen ε."""
        if chosen is None:
            return [("no ε is chosen. Give ", P("epsilon"), ".")]
        few = [bound for bound in self.option(chosen).bounds if not bound.enough]
        listing = self.budget(chosen).listing
        if listing is not None and self.lists_none(chosen):
            return [
                f"groups of {plural(self.records, 'record', thousands)} may all be missing: "
                f"{thousands(listing.noise.max_drop + 1)} are needed to be certain to be listed. Declare the groups, "
                "or choose a larger ε."
            ]
        if not few:
            return []
        needed, names = max(bound.needs for bound in few), ", ".join(_name(bound.stat) for bound in few)
        return [
            f"{plural(self.records, 'record', thousands)} are too few for the {names} at this ε: about "
            f"{thousands(needed)} are needed. Choose a larger ε, or ask for fewer answers."
        ]

    @property
    def words(self) -> list[str]:
        """The options of the command."""
        return [*self.ask_words, *column_words(self.buckets)]

    @property
    def ask_words(self) -> list[str]:
        """The options that name the answers."""
        return [f"--ask {shlex.quote(word)}" for word in self.asked.words]

    @property
    def names(self) -> list[str]:
        """The answers in words, as columns of a table."""
        return [_name(stat) for stat in self.stats]

    def document(self, chosen: Fraction | None) -> dict[str, Any]:
        """Return the plan as plain JSON values."""
        return self.written([(option, option.epsilon == chosen) for option in self.options(chosen)], chosen)

    def written(self, options: Sequence[tuple[AskedOption, bool]], chosen: Fraction | None) -> dict[str, Any]:
        """Return options, each with whether it is chosen, as JSON values, with the trials at ``chosen``."""
        return {
            "asked": {
                "statistics": list(self.asked.words),
                "options": [
                    {
                        "epsilon": exact_text(option.epsilon),
                        "answers": [asdict(bound) for bound in option.bounds],
                        "certainty": option.certainty,
                        "chosen": marked,
                    }
                    for option, marked in options
                ],
                "expected": None
                if self.sample is None or chosen is None
                else {
                    "source": self.sample.source,
                    "trials": RUNS,
                    "seed": self.seed,
                    "answers": [asdict(each) for each in self.expected(chosen)],
                },
            }
        }


def _name(word: str) -> str:
    return statistic_of(word).name


def _few(number: float) -> str:
    return figure(float(f"{number:.3g}"))
