"""Asked answers as they are published, and the one step from private ranks to them.

Everything published is a function of noisy outcomes and public parameters. So a program can be *rehearsed*: run again
without data, with the published outcomes put in where noise was drawn. That gives the account of its steps, its tables
and its targets to certificates, to JSON and to whoever checks a document.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from flexdp._core.documents import UnfitError
from flexdp._release.asking import AskedBudget, Wanted
from flexdp.mechanisms.program import Draw, Program, replay, run
from flexdp.noise.bits import Bits
from flexdp.sharp.answers import Answered, SharpAnswer, ask
from flexdp.sharp.count import NoisyCount, TwoSums
from flexdp.sharp.cut import Cut
from flexdp.sharp.ladder import Ladder
from flexdp.sharp.mean import Averaged, ask_mean, mean_between
from flexdp.sharp.ranks import EVERYTHING, Ranks, Reply, Request, Span
from flexdp.sharp.rules import RULES, Rules
from flexdp.sharp.scale import Scale

__all__ = ["GAMMA", "Asked", "Column", "Outcomes", "Result", "answer", "level_steps", "rebuilt", "rehearsed"]

GAMMA = Fraction(1, 20)  # the chance that a promise fails


@dataclass(frozen=True, kw_only=True)
class Column:
    """The public description of the column that is asked about.

    Parameters
    ----------
    scale
        The scale of its values.
    ends
        Its public bounds.
    decades
        All values are below 10^decades in magnitude, whatever the data: the limits of the calendar; 1 where there are
        none.
    calendar
        The times of the years 1 to 9999, of which all values are; everything, of numbers.
    """

    scale: Scale
    ends: Span = EVERYTHING
    decades: int = 1
    calendar: Span = EVERYTHING

    @property
    def bounded(self) -> bool:
        """True if the column has public bounds."""
        return self.ends.low is not None

    @property
    def public(self) -> tuple[int | None, int | None]:
        """The smallest and the largest value, in units, that any record can have; None where there is none."""
        low, high = (self.ends.low, self.ends.high) if self.bounded else (self.calendar.low, self.calendar.high)
        return low, None if high is None else high - 1


@dataclass(frozen=True, kw_only=True)
class Result:
    """The published outcomes for one group, or for the whole column.

    Parameters
    ----------
    count
        The number of records, where it was asked for.
    levels
        The answers at all levels; None where none was asked.
    mean
        The noisy sums with their ends; None where neither mean nor sum was asked.
    listed
        The number of records that was left of the group when groups were listed; None where they were known.
    """

    count: int | None = None
    levels: Answered | None = None
    mean: Averaged | None = None
    listed: int | None = None

    @property
    def records_about(self) -> int | None:
        """The noisy number of records, never below 0; None where none was drawn."""
        seen = self.count if self.count is not None else self.listed
        if seen is None and self.levels is not None:
            seen = self.levels.records_about
        if seen is None and self.mean is not None:
            seen = self.mean.records_about
        return None if seen is None else max(0, seen)

    @property
    def answered(self) -> bool:
        """True if anything but a number of records was published."""
        found = [each for each in (self.levels, self.mean) if each is not None]
        return not found or any(not each.too_few for each in found)

    def at(self, level: Fraction) -> SharpAnswer | None:
        """Return the answer at a level, None where there is none."""
        found = () if self.levels is None else self.levels.answers
        return next((each for each in found if each.level == level), None)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """All asked answers of a release, with what they cost.

    Parameters
    ----------
    wanted
        The statistics.
    budget
        The budget of all of them together.
    column
        The column.
    results
        The outcomes by group, of those that were declared or listed; of the group () without groups.
    rules
        The public rules by which they were drawn.
    """

    wanted: Wanted
    budget: AskedBudget
    column: Column
    results: Mapping[tuple[Any, ...], Result]
    rules: Rules = RULES

    @cached_property
    def parts(self) -> dict[str, Fraction]:
        """ε of each part of the budget, for one record."""
        return self.budget.parts(self.wanted)

    @property
    def count_epsilon(self) -> Fraction | None:
        """ε of the number of records; None where none is drawn by itself."""
        if "count" in self.parts:
            return self.parts["count"]
        if self.budget.listing is not None:
            return None
        first = next(iter(self.parts))
        return None if first == "mean" and self.column.bounded else self.parts[first] * self.rules.count_share

    @property
    def answered(self) -> bool:
        """True if some group has an answer."""
        return any(self._answered(result) for result in self.results.values())

    def _answered(self, result: Result) -> bool:
        alone = result.count is None and result.levels is None and "sum" not in self.wanted.words
        return result.answered and not (alone and result.mean is not None and not self.has_mean(result.mean))

    def has_mean(self, averaged: Averaged) -> bool:
        """Return True if there are enough records to speak of a mean."""
        gamma = GAMMA if self.column.bounded else GAMMA / 2
        return not averaged.too_few and averaged.holds_records(gamma)

    def steps(self, result: Result) -> list[Draw]:
        """Return the private steps behind the outcomes of one group, without their data."""
        listing = self.budget.listing
        first = [] if listing is None else [Draw(listing, None, "list of groups", stage="groups")]
        return first + rehearsed(self, result)


def _programs(
    column: Column, part: str, levels: tuple[Fraction, ...], epsilon: Fraction, seen: int | None, rules: Rules = RULES
) -> Any:
    if part == "levels":
        return ask(levels, epsilon, column.scale, rules=rules, ends=column.ends, records_about=seen)
    if column.ends.low is not None and column.ends.high is not None:
        return mean_between(column.ends.low, column.ends.high - 1, epsilon, column.scale)
    return ask_mean(epsilon, column.scale, rules=rules, records_about=seen)


def answer(
    wanted: Wanted,
    parts: Mapping[str, Fraction],
    column: Column,
    ranks: Ranks,
    bits: Bits,
    *,
    listed: int | None = None,
) -> Result:
    """Draw all answers about a private column: the one step from private to public.

    Parameters
    ----------
    wanted
        The statistics.
    parts
        ε of each part of the budget.
    column
        The public description of the column.
    ranks
        The private column.
    bits
        The source of randomness.
    listed
        The public number of records with which the group was listed; it takes the place of n̂.

    Returns
    -------
    Result
        What may be published. A number of records that one part has drawn serves the parts after it.
    """
    seen = listed
    found: dict[str, Any] = {"listed": listed}
    for part, epsilon in parts.items():
        if part == "count":
            found["count"] = run(_counted(epsilon), ranks, bits).value
            seen = found["count"] if seen is None else seen
            continue
        found[part] = run(_programs(column, part, wanted.levels, epsilon, seen), ranks, bits).value
        seen = found[part].records_about if seen is None else seen
    return Result(**found)


def _counted(epsilon: Fraction) -> Program[int]:
    reply: Reply = yield Request()
    seen: int = yield Draw(NoisyCount(epsilon=epsilon), reply.total, "records", stage="records")
    return seen


def rehearsed(asked: Asked, result: Result) -> list[Draw]:
    """Return the steps that led to a result, by running its programs without data on its published outcomes.

    Parameters
    ----------
    asked
        The statistics, their budget and the column.
    result
        The published outcomes.

    Returns
    -------
    list of Draw
        Each step with its mechanism; its data is empty.
    """
    drawn: list[Draw] = []
    seen = result.listed
    for part, epsilon in asked.parts.items():
        if part == "count":
            drawn += replay(_counted(epsilon), Outcomes(records=result.count).of)[1]
            seen = result.count if seen is None else seen
            continue
        published = result.levels if part == "levels" else result.mean
        assert published is not None
        program = _programs(asked.column, part, asked.wanted.levels, epsilon, seen, asked.rules)
        drawn += replay(program, _outcomes(published).of)[1]
        seen = published.records_about if seen is None else seen
    return drawn


def level_steps(asked: Asked, result: Result) -> list[Draw]:
    """Return the steps behind the answers at all levels, their number of records among them if they drew it."""
    return [step for step in rehearsed(asked, result) if step.name.startswith("level ")]


def rebuilt(
    wanted: Wanted,
    parts: Mapping[str, Fraction],
    column: Column,
    *,
    records_about: int | None,
    levels: Outcomes | None = None,
    mean: Outcomes | None = None,
    listed: int | None = None,
    rules: Rules = RULES,
) -> Result:
    """Return the result that led to published outcomes: the ways, budgets and targets follow from them.

    Parameters
    ----------
    wanted, parts, column
        As for :func:`answer`.
    records_about
        The published number of records, where one was drawn.
    levels, mean
        The outcomes of the two programs.
    listed
        The published number of records with which the group was listed.
    rules
        The public rules by which the outcomes were drawn.

    Returns
    -------
    Result
        Equal to what :func:`answer` returned when it drew these outcomes.

    Raises
    ------
    ValueError, KeyError
        If no run of the programs has these outcomes.
    """
    found: dict[str, Any] = {"listed": listed}
    seen = listed
    for part, epsilon in parts.items():
        if part == "count":
            found["count"] = records_about
            seen = records_about if seen is None else seen
            continue
        outcomes = replace(levels if part == "levels" and levels else mean or Outcomes(), records=records_about)
        value, _ = replay(_programs(column, part, wanted.levels, epsilon, seen, rules), outcomes.of)
        if isinstance(value, Answered) and outcomes.assumed is None:
            told = {**{each.level: each.value for each in value.answers}, **dict(value.helpers)}
            if told != outcomes.values:
                raise UnfitError("answers that no run of the program has", "answers")
        found[part] = value
        seen = value.records_about if seen is None else seen
    return Result(**found)


@dataclass(frozen=True)
class Outcomes:
    """Published outcomes to put in where noise was drawn.

    Parameters
    ----------
    records, anchor
        The number of records, and the anchor of a mean.
    values
        Quantiles by level, in units, those among them that were not asked for.
    ends, sums
        The ends of a mean, in units, and its two sums.
    assumed
        Gives the quantiles instead of ``values``, for a plan.
    """

    records: int | None = None
    anchor: int | None = None
    values: Mapping[Fraction, int] = field(default_factory=dict)
    ends: tuple[int, int] | None = None
    sums: tuple[int, int] | None = None
    assumed: Callable[[Fraction], int] | None = None

    def of(self, step: Draw) -> Any:
        """Return the outcome of a step."""
        mechanism = step.mechanism
        if isinstance(mechanism, NoisyCount):
            return self.records
        if isinstance(mechanism, TwoSums):
            if self.sums is None:
                raise UnfitError("no sums", "answers")
            return self.sums
        if isinstance(mechanism, Ladder) and self.ends is not None:
            return mechanism.rungs.index(self.ends[mechanism.side > 0])
        name, level = step.name.split()
        if name == "anchor":
            assert isinstance(mechanism, Cut)
            if self.anchor is None:
                raise UnfitError("no anchor", "answers")
            return self.anchor * mechanism.shares
        value = self.values[Fraction(level)] if self.assumed is None else self.assumed(Fraction(level))
        if isinstance(mechanism, Cut):
            return value * mechanism.shares
        assert isinstance(mechanism, Ladder)
        rungs, side = mechanism.rungs, mechanism.side
        last = bisect_right(rungs, value * side, key=lambda rung: rung * side) - 1
        if self.assumed is None and (last < 0 or rungs[last] != value):
            return 0  # a value that is no rung is the cut beyond the rung that was drawn
        return max(0, last)


def _outcomes(published: Answered | Averaged) -> Outcomes:
    if isinstance(published, Answered):
        values = dict(published.helpers) | {each.level: each.value for each in published.answers}
        return Outcomes(records=published.records_about, values=values)
    ends = None if published.low is None or published.high is None else (published.low, published.high)
    return Outcomes(records=published.records_about, anchor=published.anchor, ends=ends, sums=published.sums)
