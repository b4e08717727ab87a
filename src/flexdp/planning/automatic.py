"""Buckets that a release chooses: shares of ε, reach and number of buckets at every ε, and answers beside them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from flexdp._core.exact import said, smallest_where, upper_text
from flexdp._core.text import plural, thousands
from flexdp._release.asking import BOTH_ENDS, Wanted, share_of_ends
from flexdp._release.automatic import AutoBudget
from flexdp.buckets.exact import Exact
from flexdp.errors import InputError, P, Phrase
from flexdp.guarantees import Privacy
from flexdp.planning.asked import AskedAnswers
from flexdp.planning.design import FAR, Design, Row, percent, plain_number
from flexdp.planning.given import column_options
from flexdp.sharp.automatic import FEW, FEW_FOR_BARS
from flexdp.sharp.shares import Shares

__all__ = ["AutomaticBuckets"]

_BESIDE = Fraction(1, 2)  # share of ε of answers that are asked for beside buckets, as in a release
_MARGIN = 3  # as of asked answers, where five answers take the place of buckets


@dataclass(frozen=True, kw_only=True)
class AutomaticBuckets(Design):
    """Buckets whose edges are found with a part of ε.

    Parameters
    ----------
    records, per_unit, groups
        As of every design; the number of records must be known. The groups share the edges.
    column
        Kind and bounds of the column.
    asked
        Statistics that are answered beside the buckets; by default minimum and maximum, where nothing bounds them.
    alone
        True if nothing is to be answered beside the buckets, which then get all of ε.

    Examples
    --------
    >>> from flexdp import plan
    >>> chosen = plan(epsilon=1, delta="1e-6", records_about=100_000).chosen
    >>> chosen["levels"], chosen["most_buckets"], chosen["max_drop"], chosen["left_out"]
    (5, 42, 46, 0.00966)
    """

    column: Exact
    asked: Wanted | None = None
    alone: bool = False

    @property
    def words(self) -> str:
        return f" in automatic buckets{'' if self.asked is None else f'; {self._beside.heading}'}{self.groups}"

    @property
    def options(self) -> list[str]:
        asked = ["--ask none"] if self.alone else [] if self.asked is None else self._beside.ask_options
        return [*asked, *column_options(self.column, named=True)]

    @property
    def columns(self) -> list[str]:
        chosen = ["most_buckets", "max_drop", "left_out"]
        if self.asked is None:
            return ["edges_share", "levels", *chosen, "certainty"]
        return [*chosen, *self._beside.columns]

    @property
    def _beside(self) -> AskedAnswers:
        """The answers beside the buckets."""
        return AskedAnswers(
            asked=self.asked or BOTH_ENDS, column=self.column, records=self.records, per_unit=self.per_unit
        )

    def share_beside(self, each: Privacy) -> Fraction:
        """Return the share of ε for answers beside the buckets; groups and bounds leave none to minimum and maximum."""
        if self.asked is not None:
            return _BESIDE
        if self.alone or self.groups.by or self.column.bounds is not None:
            return Fraction(0)
        return share_of_ends(each.epsilon, most=self.per_unit)

    def _budget(self, each: Privacy) -> AutoBudget | None:
        """The budget of one release; None where ε is too small for any number of records."""
        return _budget_of(each, self.share_beside(each), self.per_unit)

    def shares(self, each: Privacy) -> Shares | None:
        """Return the division of the buckets' budget; None where there are too few records for buckets."""
        budget, records = self._budget(each), self.records or 0
        return None if budget is None or records * budget.each < FEW_FOR_BARS else budget.divided(records)

    def _for_answers(self, each: Privacy) -> Privacy | None:
        """The budget of the answers: where there are no buckets, all but what counting records costs."""
        budget, part = self._budget(each), each.epsilon * self.share_beside(each)
        if self.asked is not None and budget is not None and self.shares(each) is None:
            part = budget.for_answers
        return Privacy(epsilon=part, delta=0) if part else None

    def row(self, each: Privacy, *, chosen: Fraction | None = None) -> Row:
        divided, row = self.shares(each), {**dict.fromkeys(self.columns), "share_beside": self.share_beside(each)}
        if divided is not None:
            row |= {
                "edges_share": divided.share * (1 - self.share_beside(each)),
                "levels": divided.levels,
                "most_buckets": divided.most_buckets,
                "max_drop": divided.reach - 1,
                "survives_from": divided.reach,
                "left_out": self._left_out(divided),
            }
        if self.asked is not None:
            if chosen is not None:  # refused, where half of ε is too small for exact answers
                self._beside.row(Privacy(epsilon=each.epsilon * _BESIDE, delta=0), chosen=chosen)
            part = self._for_answers(each)
            row |= (self._beside.row(part) if part is not None else None) or {}
        return row

    def _left_out(self, divided: Shares) -> float | None:
        """The share that is left out where all B buckets of G groups are full, GB·(q − 1)/2n; None for unknown G."""
        if self.groups.about is None or not self.records:
            return None
        return min(1.0, divided.most_buckets * self.groups.about * (divided.reach - 1) / 2 / self.records)

    def drop(self, each: Privacy) -> int | None:
        divided = self.shares(each)
        return None if divided is None or divided.reach > FAR else divided.reach - 1

    def leaves_nothing(self, each: Privacy) -> bool:
        divided, budget = self.shares(each), self._budget(each)
        if divided is not None:
            return (self.records_of_group or 0) <= divided.most_buckets * (divided.reach - 1) / 2
        if self.groups.by or budget is None:
            return True
        part = self._for_answers(each)
        if self.asked is not None:
            return part is None or self._beside.row(part) is None or self._beside.leaves_nothing(part)
        return (self.records or 0) * budget.five < _MARGIN * FEW

    def notes(self, each: Privacy | None) -> list[str]:
        notes = [
            "Edges are chosen privately with a part of ε. A bucket loses at most the stated number, and half of it on "
            "average; the share left out assumes that every one of these buckets is occupied."
        ]
        part = None if each is None else self._for_answers(each)
        if self.asked is not None:
            notes.append(
                "Buckets get half of ε and answers the other half; where there are too few records for buckets, "
                "answers get nearly all of it."
            )
            notes += self._beside.notes(part)
        elif self.alone:
            notes.append("All of ε is for the buckets: minimum and maximum are not answered beside them.")
        elif each is not None and part is not None and self.shares(each) is not None:
            most = max((end.bound or 0 for end in (self._beside.row(part) or {}).values()), default=0)
            notes.append(
                f"Minimum and maximum get {percent(float(self.share_beside(each)))} of ε: at most "
                f"{plural(most, 'record', thousands)} beyond each, with 95% probability."
            )
        return notes

    def warnings(self, each: Privacy | None, chosen: Fraction | None) -> list[Phrase]:
        warnings: list[Phrase] = []
        if self.groups.by and self.groups.about is None:
            warnings.append((
                "the share left out depends on the number of groups, because every bucket of every group loses "
                "records. Give ", P("groups"), " or ", P("groups_about"), ".",
            ))  # fmt: skip
        if each is None or chosen is None:
            return warnings
        budget, divided, group = self._budget(each), self.shares(each), self.records_of_group or 0
        if budget is None:
            least = upper_text(self._least(each.delta) * chosen / each.epsilon, 2)
            warnings.append((
                P("epsilon", plain_number(chosen)), f" is too small for automatic buckets: the minimum is {least}.",
            ))  # fmt: skip
        elif divided is None:
            warnings.append(self._too_few(budget))
        elif self.groups.by and group < divided.most_buckets * divided.reach:
            warnings.append(
                f"groups share their buckets. {plural(group, 'record', thousands)} of a group in up to "
                f"{divided.most_buckets} buckets are few: a bucket of a group needs {divided.reach} to be certain to "
                "survive. Ask for answers instead, or choose a larger ε."
            )
        return warnings

    def _too_few(self, budget: AutoBudget) -> str:
        records = self.records or 0
        about, needed = plural(records, "record", thousands), thousands(math.ceil(FEW_FOR_BARS / budget.each))
        few = f"{about} are too few for buckets at this ε: about {needed} are needed."
        if self.groups.by:
            return few
        if self.asked is not None:
            return f"{few} Only the requested answers are released."
        if records * budget.five < FEW:
            least = thousands(math.ceil(FEW / budget.five))
            return f"{about} are too few for any answer at this ε: about {least} are needed, and {needed} for buckets."
        return f"{few} Minimum, quartiles and maximum are released instead."

    def _least(self, delta: Fraction) -> Fraction:
        """The smallest ε of a release with automatic buckets, whatever the number of records."""
        return said(
            smallest_where(lambda size: self._budget(Privacy(epsilon=said(size), delta=delta)) is not None, 1e-9, 1e4)
        )

    def document(self) -> dict[str, Any]:
        return {"automatic": {"alone": self.alone}} | ({} if self.asked is None else self._beside.document())


@lru_cache(maxsize=256)
def _budget_of(each: Privacy, beside: Fraction, per_unit: int) -> AutoBudget | None:
    try:
        return AutoBudget.checked(each.epsilon * (1 - beside), each.delta, most=per_unit, answers=each.epsilon * beside)
    except InputError:  # a release would refuse it, too
        return None
