"""Automatic buckets before they are chosen: shares, reach and number at every ε, and answers beside them."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from flexdp._core.exact import exact_text, number_text, said, smallest_where, upper_text
from flexdp._core.text import plural, thousands
from flexdp._release.asking import BOTH_ENDS, Wanted, share_of_ends
from flexdp._release.automatic import AutoBudget
from flexdp._release.capped import after_cap
from flexdp.buckets.exact import Exact
from flexdp.calculus.privacy import of_each_release
from flexdp.errors import InputError, P, Phrase
from flexdp.guarantees import Privacy, limit_text
from flexdp.planning.answers import AskedOutlook
from flexdp.planning.automatic_trials import ExpectedBuckets, tried
from flexdp.planning.bounds import AskedOption
from flexdp.planning.groups import NO_GROUPS, Groups
from flexdp.planning.options import FAR, LADDER, Option, curve_steps, percent, plain_number
from flexdp.planning.trials import Sample, column_words
from flexdp.sharp.automatic import FEW, FEW_FOR_BARS
from flexdp.sharp.shares import Shares

__all__ = ["AutomaticOutlook"]

_BESIDE = Fraction(1, 2)  # share of ε of answers that are asked for beside buckets, as in a release


@dataclass(frozen=True, kw_only=True)
class AutomaticOutlook:
    """A plan of automatic buckets. It reads no private data.

    Parameters
    ----------
    buckets
        Kind and bounds of the column.
    delta
        δ of everything planned.
    records
        Approximate number of records.
    releases
        Number of releases that share ε and δ.
    sample
        Values for trials; None without.
    seed
        Seed of the trials.
    groups
        The groups, which share the edges.
    most
        Most buckets that one unit counts in.
    asked
        Statistics that are answered beside the buckets; by default minimum and maximum, where nothing bounds them.
    alone
        True if nothing is to be answered beside the buckets, which then get all of ε.
    reported
        Each release also tells how many units count with some of their values only.

    Examples
    --------
    >>> from flexdp import plan
    >>> advice = plan(epsilon=1, delta="1e-6", records_about=100_000)
    >>> divided = advice.sharp.shares(advice.epsilon)
    >>> float(divided.share), divided.levels, divided.reach, divided.most_buckets
    (0.17, 5, 47, 42)
    >>> round(advice.sharp.lost(divided), 5), advice.command
    (0.00966, 'flexdp release FILE COLUMN --epsilon 1 --delta 1e-06 --kind number')
    """

    buckets: Exact
    delta: Fraction
    records: int
    releases: int = 1
    sample: Sample | None = None
    seed: int = 0
    groups: Groups = NO_GROUPS
    most: int = 1
    asked: Wanted | None = None
    alone: bool = False
    reported: bool = False
    pure: ClassVar[bool] = False  # whether it needs no δ

    def _each(self, epsilon: Fraction) -> Privacy:
        each = of_each_release(Privacy(epsilon=epsilon, delta=self.delta), self.releases)
        return replace(each, epsilon=after_cap(each.epsilon, reported=self.reported))

    def answers_share(self, epsilon: Fraction) -> Fraction:
        """Return the share of ε for answers beside the buckets; groups and bounds leave none to minimum and maximum."""
        if self.asked is not None:
            return _BESIDE
        if self.alone or self.groups.by or self.buckets.bounds is not None:
            return Fraction(0)
        return share_of_ends(self._each(epsilon).epsilon, most=self.most)

    def outlook(self) -> AskedOutlook:
        """Return the plan of the answers beside the buckets."""
        return AskedOutlook(
            asked=self.asked or BOTH_ENDS,
            buckets=self.buckets,
            records=self.records,
            most=self.most,
            releases=self.releases,
            sample=None if self.asked is None else self.sample,
            seed=self.seed,
        )

    def for_answers(self, epsilon: Fraction) -> Fraction:
        """Return the part of ε for the answers: where there are no buckets, all but what counting records costs."""
        budget = self.budget(epsilon)
        if self.asked is None or budget is None or self.shares(epsilon) is not None:
            return after_cap(epsilon, reported=self.reported) * self.answers_share(epsilon)
        return budget.for_answers * self.releases

    def answers(self, epsilon: Fraction) -> AskedOption | None:
        """Return the bounds of the answers beside the buckets at one ε; None where there are none."""
        part = self.for_answers(epsilon)
        if not part:
            return None
        try:
            return self.outlook().option(part)
        except InputError:  # ε is too small for exact answers; of the chosen ε, that was refused before
            return None

    def budget(self, epsilon: Fraction) -> AutoBudget | None:
        """Return the budget of one release at one ε; None where ε is too small for any number of records."""
        if epsilon not in self._known:
            each, share = self._each(epsilon), self.answers_share(epsilon)
            try:
                self._known[epsilon] = AutoBudget.checked(
                    each.epsilon * (1 - share), each.delta, most=self.most, answers=each.epsilon * share
                )
            except InputError:  # a release would refuse it, too
                self._known[epsilon] = None
        return self._known[epsilon]

    @cached_property
    def _known(self) -> dict[Fraction, AutoBudget | None]:
        return {}

    def shares(self, epsilon: Fraction) -> Shares | None:
        """Return the division of the buckets' budget at one ε; None where there are too few records for them."""
        budget = self.budget(epsilon)
        if budget is None or self.records * budget.each < FEW_FOR_BARS:
            return None
        return budget.divided(self.records)

    def lost(self, divided: Shares) -> float | None:
        """Return the share of the records that is left out where all B buckets of G groups are full: GB·(q − 1)/2n.

        None where the number of groups is not known.
        """
        if self.groups.about is None:
            return None
        return min(1.0, divided.most_buckets * self.groups.about * (divided.reach - 1) / 2 / self.records)

    def answers_none(self, epsilon: Fraction, *, asked: int, five: int) -> bool:
        """Tell whether there are too few records even for answers without buckets, with a margin for each kind."""
        budget = self.budget(epsilon)
        if budget is None:
            return True
        if self.asked is not None:
            found = self.answers(epsilon)
            return found is None or all(bound.needs * asked > self.records for bound in found.bounds)
        return self.records * budget.five < five * FEW

    def options(self, chosen: Fraction | None) -> tuple[Option, ...]:
        """Return the usual ε with buckets, and the chosen one, each with the most that a bucket loses."""
        found = []
        for epsilon in sorted({*LADDER} if chosen is None else {*LADDER, chosen}):
            divided = self.shares(epsilon)
            if divided is not None:
                drop = divided.reach - 1
                found.append(
                    Option(
                        epsilon=epsilon,
                        max_drop=drop,
                        survives_from=divided.reach,
                        total=None if self.groups.about is None else drop * divided.most_buckets * self.groups.about,
                        alpha=None,
                        certainty=Privacy(epsilon=epsilon, delta=self.delta).certainty,
                        meets=None,
                    )
                )
        return tuple(found)

    def curve(self) -> list[tuple[float, int]]:
        """Return the most records that a bucket loses as a function of ε, where there are buckets."""
        points = [(epsilon, self.shares(epsilon)) for epsilon in curve_steps()]
        return [
            (float(epsilon), divided.reach - 1)
            for epsilon, divided in points
            if divided is not None and divided.reach <= FAR
        ]

    def table(self, chosen: Fraction | None) -> tuple[list[str], list[list[str]]]:
        """Return the options as a table of text."""
        names = ["number of buckets", "most lost per bucket", "left out on average"]
        names = [*(["ε for edges", "tree levels"] if self.asked is None else []), *names]
        answers = [] if self.asked is None else self.outlook().names
        rows: list[list[str]] = []
        for epsilon in sorted({*LADDER} if chosen is None else {*LADDER, chosen}):
            divided, certainty = self.shares(epsilon), Privacy(epsilon=epsilon, delta=self.delta).certainty
            cells = ["–"] * len(names)
            if divided is not None:
                lost = self.lost(divided)
                cells = [
                    percent(float(divided.share * (1 - self.answers_share(epsilon)))),
                    str(divided.levels),
                    f"≤ {divided.most_buckets}",
                    thousands(divided.reach - 1),
                    "–" if lost is None else f"≈ {percent(lost)}",
                ][-len(names) :]
            if self.asked is not None:
                found = self.answers(epsilon)
                cells += ["–"] * len(answers) if found is None else map(str, found.bounds)
            rows.append(["→" if epsilon == chosen else "", number_text(epsilon), *cells, limit_text(certainty)])
        return ["", "ε", *names, *answers, "50% sure becomes"], rows

    def expected(self, epsilon: Fraction) -> ExpectedBuckets | None:
        """Return the result of seeded trials at one ε; None without a law or a public sample."""
        budget = self.budget(epsilon)
        if self.sample is None or budget is None:
            return None
        return tried(self.sample, self.buckets, budget, self.seed)

    def notes(self, chosen: Fraction | None) -> list[str]:
        """Return what the columns mean, and the result of the trials at the chosen ε."""
        told = [
            "Edges are chosen privately with a part of ε. A bucket loses at most the stated number, and half of it on "
            "average; the share left out assumes that every one of these buckets is occupied."
        ]
        if self.asked is not None:
            told.append(
                "Buckets get half of ε and answers the other half; where there are too few records for buckets, "
                "answers get nearly all of it."
            )
            told += self.outlook().notes(None if chosen is None else self.for_answers(chosen))
        elif self.alone:
            told.append("All of ε is for the buckets: minimum and maximum are not answered beside them.")
        elif chosen is not None and self.shares(chosen) is not None and (ends := self.answers(chosen)) is not None:
            most = max(each.bound or 0 for each in ends.bounds)
            told.append(
                f"Minimum and maximum get {percent(float(self.answers_share(chosen)))} of ε: at most "
                f"{plural(most, 'record', thousands)} beyond each, with 95% probability."
            )
        found = None if chosen is None else self.expected(chosen)
        return told if found is None else [*told, str(found)]

    @property
    def heading(self) -> str:
        """The buckets, in words."""
        return f"automatic buckets{'' if self.asked is None else f'; {self.outlook().heading}'}"

    def cautions(self, chosen: Fraction | None) -> list[Phrase]:
        """Return warnings about the chosen ε."""
        found: list[Phrase] = []
        if self.groups.by and self.groups.about is None:
            found.append(
                (
                    "the share left out depends on the number of groups, because every bucket of every group loses "
                    "records. Give ", P("groups"), " or ", P("groups_about"), ".",
                )
            )  # fmt: skip
        if chosen is None:
            return found
        budget, divided = self.budget(chosen), self.shares(chosen)
        if budget is None:
            least = upper_text(self._least, 2)
            return [
                *found,
                (P("epsilon", plain_number(chosen)), f" is too small for automatic buckets: the minimum is {least}."),
            ]
        if divided is None:
            return [*found, self._too_few(budget)]
        group = self.groups.of_each(self.records)
        if self.groups.by and group < divided.most_buckets * divided.reach:
            found.append(
                f"groups share their buckets. {plural(group, 'record', thousands)} of a group in up to "
                f"{divided.most_buckets} buckets are few: a bucket of a group needs {divided.reach} to be certain to "
                "survive. Ask for answers instead, or choose a larger ε."
            )
        return found

    def _too_few(self, budget: AutoBudget) -> str:
        about = plural(self.records, "record", thousands)
        needed = thousands(math.ceil(FEW_FOR_BARS / budget.each))
        few = f"{about} are too few for buckets at this ε: about {needed} are needed."
        if self.groups.by:
            return few
        if self.asked is not None:
            return f"{few} Only the requested answers are released."
        if self.records * budget.five < FEW:
            least = thousands(math.ceil(FEW / budget.five))
            return f"{about} are too few for any answer at this ε: about {least} are needed, and {needed} for buckets."
        return f"{few} Minimum, quartiles and maximum are released instead."

    @property
    def _least(self) -> Fraction:
        """The least ε that automatic buckets can have, whatever the number of records."""
        return said(smallest_where(lambda size: self.budget(said(size)) is not None, 1e-9, 1e4))

    @property
    def words(self) -> list[str]:
        """The options of the command."""
        asked = ["--ask none"] if self.alone else [] if self.asked is None else self.outlook().ask_words
        return [*asked, *column_words(self.buckets, told=True)]

    def document(self, chosen: Fraction | None) -> dict[str, Any]:
        """Return the plan as plain JSON values."""
        options = []
        for epsilon in sorted({*LADDER} if chosen is None else {*LADDER, chosen}):
            divided = self.shares(epsilon)
            if divided is not None:
                options.append(
                    {
                        "epsilon": exact_text(epsilon),
                        "share": exact_text(divided.share * (1 - self.answers_share(epsilon))),
                        "share_of_ends" if self.asked is None else "share_of_answers": exact_text(
                            self.answers_share(epsilon)
                        ),
                        "levels": divided.levels,
                        "q": divided.reach,
                        "most_buckets": divided.most_buckets,
                        "left_out": self.lost(divided),
                    }
                )
        found = None if chosen is None else self.expected(chosen)
        own = {"automatic": {"options": options, "expected": None if found is None else asdict(found)}}
        return own if self.asked is None else {**own, **self._answers_document(chosen)}

    def _answers_document(self, chosen: Fraction | None) -> dict[str, Any]:
        """The answers beside the buckets, at each ε of the whole plan."""
        outlook, options = self.outlook(), []
        for epsilon in sorted({*LADDER} if chosen is None else {*LADDER, chosen}):
            found = self.answers(epsilon)
            if found is not None:
                whole = Privacy(epsilon=epsilon, delta=self.delta).certainty
                options.append((replace(found, epsilon=epsilon, certainty=whole), epsilon == chosen))
        return outlook.written(options, None if chosen is None else self.for_answers(chosen))
