"""From the parameters of a plan to the plan of asked answers or of automatic buckets."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flexdp._release.asking import wanted
from flexdp._release.capped import after_cap
from flexdp.buckets.base import Kind
from flexdp.buckets.exact import Exact
from flexdp.buckets.parse import make_buckets
from flexdp.errors import InputError, P
from flexdp.planning.advice import Advice
from flexdp.planning.answers import AskedOutlook
from flexdp.planning.automatic import AutomaticOutlook
from flexdp.planning.expected import UNORDERED, not_numbers, refuse_both
from flexdp.planning.groups import NO_GROUPS, Groups
from flexdp.planning.options import Option, Setting
from flexdp.planning.target import Target, proposed_delta
from flexdp.planning.trials import Sample, law_sample
from flexdp.planning.trials import public_sample as public_values
from flexdp.simulation import parse_distribution

__all__ = ["SharpColumn"]


@dataclass(frozen=True)
class SharpColumn:
    """Plans of a column without buckets of its own: asked answers, or automatic buckets.

    Parameters
    ----------
    kind, bounds
        Kind and public bounds of the column.
    records
        Approximate number of records.
    units
        Most values that one unit counts with.
    releases
        Number of releases that share the budget.
    simulate, sample
        A law, or public values, for trials.
    seed
        Seed of the trials.
    groups, stats
        The groups, and statistics that are read off buckets.
    reported
        Each release also tells how many units count with some of their values only.
    """

    kind: Kind
    bounds: Any
    records: int | None
    units: int
    releases: int
    simulate: object
    sample: Any
    seed: int
    groups: Groups = NO_GROUPS
    stats: tuple[str, ...] = ()
    reported: bool = False

    def asked(self, ask: object, epsilon: Fraction | None, delta: Fraction | None, *, by_unit: bool) -> Advice:
        """Return the plan of asked answers; with δ and without groups, that of automatic buckets beside them."""
        lists = not self.groups.public
        if delta and self.groups.by and not lists:
            raise InputError(
                "delta",
                ("cannot be combined with ", P("ask"), ": answers for declared groups need no δ"),
                remedy="Leave it out.",
            )
        if lists and delta is not None and not delta:
            remedy = ("Declare them with ", P("groups"), ", or leave it out.")
            raise InputError("delta", "must be positive to list groups that are not known", given="0", remedy=remedy)
        if self.stats and (self.groups.by or not delta):
            raise InputError("stats", ("cannot be combined with ", P("ask")), remedy=("Name them in ", P("ask"), "."))
        if self.groups.by and self.groups.about is None:
            raise InputError(
                "ask", "needs the number of groups", remedy=("Give ", P("groups"), " or ", P("groups_about"), ".")
            )
        if self.records is None:
            raise InputError("ask", "needs the number of records", remedy=("Give ", P("records_about"), " too."))
        if self.kind in UNORDERED:
            raise InputError("ask", ("needs a column of numbers or dates, not ", P("kind", self.kind)))
        if delta and not lists:
            return self.automatic(epsilon, delta, Target.checked(None, None, None), ask=ask, by_unit=by_unit)
        chance = (delta or proposed_delta(self.records)) if lists else Fraction(0)
        group = self.groups.of_each(self.records)
        outlook = AskedOutlook.checked(
            ask,
            self.buckets,
            records=group,
            most=self.units,
            reported=self.reported,
            releases=self.releases,
            sample=self.trial_sample(group),
            seed=self.seed,
            groups=self.groups,
            delta=chance,
        )
        if epsilon is not None:
            outlook.option(epsilon)  # refused where it is too small for exact answers
        return self.advice(
            outlook,
            epsilon,
            chance,
            "proposed" if chance and not delta else "given",
            (),
            Target.checked(None, None, None),
            by_unit=by_unit,
        )

    def automatic(
        self,
        epsilon: Fraction | None,
        delta: Fraction | None,
        target: Target,
        *,
        ask: object = None,
        by_unit: bool,
        alone: bool = False,
    ) -> Advice:
        """Return the plan of automatic buckets, and of answers beside them; ``alone``, of buckets without answers."""
        assert self.records is not None
        chance = delta or proposed_delta(self.records)
        outlook = AutomaticOutlook(
            buckets=self.buckets,
            delta=chance,
            records=self.records,
            releases=self.releases,
            sample=self.trial_sample(self.records),
            seed=self.seed,
            groups=self.groups,
            most=self.units,
            reported=self.reported,
            asked=None if ask is None else wanted(ask, (self.kind,)),
            alone=alone,
        )
        if ask is not None and epsilon is not None:
            part = after_cap(epsilon, reported=self.reported) * outlook.answers_share(epsilon)
            outlook.outlook().option(part, given=epsilon)  # as above
        origin = "given" if delta else "proposed"
        return self.advice(outlook, epsilon, chance, origin, outlook.options(epsilon), target, by_unit=by_unit)

    def advice(
        self,
        outlook: AskedOutlook | AutomaticOutlook,
        epsilon: Fraction | None,
        delta: Fraction,
        origin: str,
        options: tuple[Option, ...],
        target: Target,
        *,
        by_unit: bool,
    ) -> Advice:
        """Return advice around a plan without buckets of its own."""
        setting = Setting(
            delta=delta,
            releases=self.releases,
            buckets_per_unit=self.units,
            buckets=None,
            records_about=self.records,
            limit=None,
            reported=self.reported,
        )
        return Advice(
            setting=setting,
            epsilon=epsilon,
            epsilon_origin="open" if epsilon is None else "given",
            delta_origin=origin,
            by_unit=by_unit,
            partition=None,
            target=target,
            options=options,
            counts=None,
            sharp=outlook,
            groups=self.groups,
            stats=self.stats,
        )

    @property
    def buckets(self) -> Exact:
        """Every value for itself, between the bounds."""
        found = make_buckets(self.kind, bounds=self.bounds)
        assert isinstance(found, Exact)
        return found

    def trial_sample(self, records: int) -> Sample | None:
        """Values for trials, from a law or a public sample."""
        if self.simulate is None and self.sample is None:
            return None
        refuse_both(self.simulate, self.sample)
        if self.simulate is None:
            return public_values(self.sample, records, self.buckets)
        if self.kind not in ("integer", "number"):
            raise not_numbers(self.kind)
        low, high = self.buckets.bounds or (Fraction(0), Fraction(100))
        law = parse_distribution(self.simulate, low=low, span=high - low, buckets=None)
        return law_sample(law, records, self.buckets)
