"""Automatic buckets as they are published: what chose them, what that cost, and what follows from it.

Everything here is a function of noisy outcomes and public parameters. The number of records decides how the budget is
divided; leaves and their counts decide the edges. So a document is checked by choosing the edges again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from flexdp._core.calendar import MICROS_PER_DAY
from flexdp._core.domains import DELTA, EPSILON
from flexdp._core.exact import Number, number_text, to_double
from flexdp._core.text import thousands
from flexdp._release.asked import Asked, Column
from flexdp._release.asking import Wanted
from flexdp.accounting.budget import Budget
from flexdp.buckets.base import Bucket, Kind, Outside, times
from flexdp.buckets.open_edges import Cut, OpenEdges
from flexdp.calculus.privacy import divide, of_each_member
from flexdp.errors import InputError, P
from flexdp.guarantees import AddRemove, Privacy
from flexdp.noise.exponential import LARGEST_DECAY, Decay
from flexdp.noise.table import smallest_reach
from flexdp.sharp.automatic import FEW, FEW_FOR_BARS, edges_from
from flexdp.sharp.ranks import Span
from flexdp.sharp.scale import Scale
from flexdp.sharp.shares import COUNT_SHARE, LEAST_FOR_BARS, Shares, shares, smallest_level
from flexdp.sharp.steps import Steps, calendar_steps, decimal_steps

__all__ = ["FIVE", "RULES_OF_EDGES", "Auto", "AutoBudget", "cuts_of", "steps_of"]

# Today's. By the first, noise in an outer leaf that lies apart could make all buckets coarse; by the second, an end
# that was drawn far away.
RULES_OF_EDGES = 3
FIVE = Wanted(("min", "q0.25", "median", "q0.75", "max"))  # where there are too few records for buckets


@dataclass(frozen=True)
class AutoBudget:
    """(ε, δ) of automatic buckets for one unit.

    Parameters
    ----------
    epsilon, delta
        Privacy of one unit.
    most
        Most buckets in which one unit counts; in what chooses the buckets, as many records.
    certify
        Share of the counts' budget that buys an upper bound of the number of contributions.
    answers
        ε of the answers that are asked for as well, in addition to ``epsilon``.

    Examples
    --------
    >>> budget = AutoBudget.checked(1, "1e-6")
    >>> budget.divided(10_000).share, budget.bars(Fraction(1, 4)).epsilon
    (Fraction(1, 4), Fraction(3, 4))
    """

    epsilon: Fraction
    delta: Fraction
    most: int = 1
    certify: Fraction | None = None
    answers: Fraction = Fraction(0)

    @classmethod
    def checked(
        cls,
        epsilon: Number,
        delta: Number,
        *,
        most: int = 1,
        certify: Number | None = None,
        answers: Fraction = Fraction(0),
    ) -> AutoBudget:
        """Return a budget, after refusing one that no noise can meet, whatever the number of records."""
        whole = Budget(EPSILON.check(epsilon), DELTA.check(delta), most=most, certify=certify)
        found = cls(whole.epsilon, whole.delta, most, whole.share, answers)
        remedy = ("Choose a larger ", P("epsilon"), ", or give ", P("width"), ".")
        try:
            found.bars(1 - LEAST_FOR_BARS)
        except InputError:
            raise InputError(
                "epsilon",
                f"is too small for automatic buckets, whose counts may get no more than {_percent(LEAST_FOR_BARS)} "
                "of it: a bucket could lose too many records",
                given=number_text(found.epsilon),
                remedy=remedy,
            ) from None
        if Decay.depth_for(smallest_level(found.each), 1) > LARGEST_DECAY:
            raise InputError(
                "epsilon",
                "is too small for automatic buckets, which would need a table of more than "
                f"{thousands(LARGEST_DECAY)} weights",
                given=number_text(found.epsilon),
                remedy=remedy,
            )
        return found

    @property
    def each(self) -> Fraction:
        """ε of one record of a unit."""
        return of_each_member(Privacy(epsilon=self.epsilon, delta=0), self.most).epsilon

    def privacy(self, unit: str = "record") -> Privacy:
        """Return what is promised to each unit, by the buckets and the answers together."""
        return Privacy(epsilon=self.whole, delta=self.delta, neighbours=AddRemove(unit, self.most))

    @property
    def whole(self) -> Fraction:
        """ε of the buckets and the answers together."""
        return self.epsilon + self.answers

    @property
    def five(self) -> Fraction:
        """ε of one record of a unit, where five answers take the place of the buckets and of other answers."""
        return of_each_member(Privacy(epsilon=self.whole, delta=0), self.most).epsilon

    @property
    def for_answers(self) -> Fraction:
        """ε of the answers where there are too few records for buckets: all but what counting the records cost."""
        return self.answers + self.epsilon * (1 - COUNT_SHARE)

    def bars(self, share: Fraction, buckets: int | None = None) -> Budget:
        """Return the budget of the counts, where ``share`` of ε went into choosing so many buckets."""
        certify = None if buckets else self.certify
        return Budget(self.epsilon * (1 - share), self.delta, most=self.most, certify=certify, buckets=buckets)

    def divided(self, records_about: int, *_: object) -> Shares | None:
        """Return the division of the budget that a number of records leads to."""
        return shares(records_about, self.each, self.delta, reach_of=self._reach)

    def _reach(self, part: Fraction) -> int | None:
        whole = Privacy(epsilon=self.epsilon * part, delta=self.delta)
        each = divide(whole, buckets=self.most, certify=self.certify).bucket
        return smallest_reach(each.epsilon, each.delta)


@dataclass(frozen=True, kw_only=True)
class Auto:
    """What chose automatic buckets: all of it is public.

    Parameters
    ----------
    budget
        (ε, δ) of the whole release.
    kind
        The kind of the column.
    column
        Its scale and its public bounds.
    spans
        The leaves of the tree, in units of the scale; empty where there are too few records for buckets.
    leaf_counts
        The noisy number of records in each.
    seen
        The noisy number of records, which may be negative.
    rules
        The number of the rules that chose the edges.

    Examples
    --------
    >>> import flexdp
    >>> found = flexdp.release([i % 500 for i in range(40_000)], kind="integer", epsilon=1, delta=1e-6).auto
    >>> abs(found.records_about - 40_000) < 600, found.levels, len(found.leaves) == len(found.leaf_counts)
    (True, 5, True)
    >>> found.share == sum(found.epsilons[step] for step in ("records", "tree", "leaves")) / found.budget.epsilon
    True
    >>> sum(found.epsilons.values()), found.budget.answers
    (Fraction(2, 3), Fraction(1, 3))
    """

    budget: AutoBudget
    kind: Kind
    column: Column
    seen: int
    spans: tuple[Span, ...] = ()
    leaf_counts: tuple[int, ...] = ()
    rules: int = RULES_OF_EDGES

    @property
    def records_about(self) -> int:
        """About how many records there are, never below 0."""
        return max(0, self.seen)

    @cached_property
    def shares(self) -> Shares | None:
        """The division of the budget; None where there are too few records for buckets."""
        return self.budget.divided(self.seen) if self.seen * self.budget.each >= FEW_FOR_BARS else None

    @property
    def too_few(self) -> bool:
        """True if there are too few records for any answer, judged by ``records_about``."""
        return self.seen * self.budget.five < FEW

    @property
    def chosen(self) -> bool:
        """True if there are buckets."""
        return self.shares is not None

    @property
    def share(self) -> Fraction:
        """The part of ε that chose the buckets; that of the number of records where there are none."""
        return COUNT_SHARE if self.shares is None else self.shares.share

    @property
    def levels(self) -> int | None:
        """D: the tree was split D + 1 times."""
        return None if self.shares is None else self.shares.levels

    @property
    def epsilons(self) -> dict[str, Fraction]:
        """ε of each step for one unit: the number of records, the tree, its leaf counts, and the counts by bucket."""
        found, most = self.shares, self.budget.most
        records = self.budget.epsilon * COUNT_SHARE
        if found is None:
            return {"records": records}
        return {
            "records": records,
            "tree": most * found.per_level * (found.levels + 1),
            "leaves": most * found.leaves,
            "buckets": self.budget.epsilon * (1 - found.share),
        }

    @property
    def leaves(self) -> list[Bucket]:
        """The leaves of the tree: their first and last values, or ends; infinite where they are open."""
        return [Bucket(self._shown(span.low, -math.inf), self._shown(span.high, math.inf)) for span in self.spans]

    def _shown(self, cut: int | None, beyond: float) -> Any:
        if cut is None:
            return beyond
        scale = self.column.scale
        if not scale.integral:
            (edge,) = cuts_of(scale, [cut])
            return to_double(edge.value)
        value = cut - int(beyond > 0)  # the last one before it
        return value if self.kind == "integer" else times(self.kind, np.array([value]))[0]

    @cached_property
    def edges(self) -> tuple[Cut, ...]:
        """The edges that follow from the leaves, their counts and the division of the budget."""
        if self.shares is None:
            return ()
        steps = steps_of(self.kind, self.column.scale)
        rules = {"lonely": self.rules > 1, "near": self.rules > 2}
        found = edges_from(self.spans, self.leaf_counts, self.shares, steps, **rules)
        return tuple(cuts_of(self.column.scale, found))

    def gave_five(self, asked: Asked) -> bool:
        """Return True if answers are the five that took the place of buckets, from the same number of records."""
        (result, *groups) = asked.results.values()
        seen = None if result.levels is None else result.levels.records_about
        same = not self.chosen and not groups and seen == self.seen
        return same and asked.wanted == FIVE and asked.budget.epsilon == self.budget.whole

    def partition(self, bounds: tuple[Fraction, Fraction] | None, outside: Outside) -> OpenEdges:
        """Return the buckets between these edges."""
        return OpenEdges.of(self.kind, self.edges, bounds, outside)


def steps_of(kind: Kind, scale: Scale) -> Steps:
    """Return the steps between nice edges of a kind."""
    if kind in ("date", "datetime"):
        return calendar_steps(1 if kind == "date" else MICROS_PER_DAY)
    return decimal_steps(scale)


def cuts_of(scale: Scale, units: Iterable[int]) -> list[Cut]:
    """Return edges in units as edges of buckets: of two ways to write one of numbers, the shorter.

    "From v + 1 unit on" and "beyond v" are the same, since every value is a whole number of units.

    Examples
    --------
    >>> from flexdp.sharp.scale import NUMBERS
    >>> cuts_of(NUMBERS, [NUMBERS.units(2.5), NUMBERS.units(2.5) + 1])
    [Cut(value=Fraction(5, 2), after=False), Cut(value=Fraction(5, 2), after=True)]
    """
    return [
        Cut(scale.value(cut - 1), after=True) if not scale.integral and cut % 10 == 1 else Cut(scale.value(cut))
        for cut in units
    ]


def _percent(part: Fraction) -> str:
    return f"{number_text(100 * part)} %"
