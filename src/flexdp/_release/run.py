"""A release as it runs: count, thin, publish. Private counts exist here alone, between the engine and the noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from flexdp._core.domains import Domain, sequence
from flexdp._core.exact import Number
from flexdp._release.checks import Prepared
from flexdp._release.published import Release
from flexdp._release.several import Releases
from flexdp._release.spec import Spec
from flexdp.accounting.budget import Budget
from flexdp.buckets.base import Kind
from flexdp.buckets.partition import Partition
from flexdp.calculus import split as divided
from flexdp.errors import DataError, InputError, P
from flexdp.histogram import KeyedHistogram
from flexdp.noise.sampler import fresh_salt

__all__ = ["Request"]

SHARE = Domain(name="split", low=Fraction(0), remedy="Give the share of each column, for example split=[2, 1, 1].")


@dataclass(frozen=True, kw_only=True)
class Request:
    """A release that was checked against everything declared and has read no record yet.

    ``questions`` has one count, or one for each column that is released separately; ``budgets`` follow once they are
    known.
    """

    questions: tuple[Prepared, ...]
    separately: bool = False
    budgets: tuple[Budget, ...] = ()

    @property
    def kind(self) -> Kind:
        """The kind of the released keys."""
        return self.questions[0].spec.kinds[0]

    @property
    def partition(self) -> Partition:
        """The buckets of the first release."""
        return self.questions[0].spec.partition

    @property
    def files(self) -> tuple[str, ...]:
        """The files that will be read."""
        return tuple(getattr(self.questions[0].table, "files", ()))

    def query(self, dialect: str | None = None) -> str:
        """Return the SQL text that :meth:`run` would use, or its translation to another dialect."""
        from flexdp.tables import query_of

        return query_of(self.questions[0].table, [each.counting for each in self.questions], dialect)

    def with_budget(
        self, epsilon: Number, delta: Number, *, certify: Number | None = None, split: Sequence[Number] | None = None
    ) -> Request:
        """Return the request with its noise made; a budget that no noise can meet is refused here."""
        most = [each.spec.max_buckets_per_unit for each in self.questions]
        if not self.separately:
            if split is not None:
                raise InputError(
                    "split", ("needs ", P("separately", True), ", with several columns to share the budget")
                )
            return replace(self, budgets=(Budget(epsilon, delta, most=most[0], certify=certify),))
        whole = Budget(epsilon, delta)
        parts = divided(whole.privacy(), _shares(split, len(self.questions)))
        budgets = [
            Budget(part.epsilon, part.delta, most=k, certify=certify) for part, k in zip(parts, most, strict=True)
        ]
        return replace(self, budgets=tuple(budgets))

    def run(self) -> Release | Releases:
        """Count, thin and publish: a Release, or Releases of separate columns."""
        from flexdp.tables import count  # tables are loaded when the first is read

        countings = []
        for each in self.questions:
            units = each.counting.units
            salted = None if units is None else replace(units, salt=fresh_salt())
            countings.append(replace(each.counting, units=salted))
        private = count(self.questions[0].table, countings)
        try:
            released = [
                _thinned(bars, question.spec, budget)
                for bars, question, budget in zip(private, self.questions, self.budgets, strict=True)
            ]
        except Exception:  # noqa: BLE001  (its traceback would hold what was counted)
            released = []
        del private
        if not released:
            raise DataError
        return Releases(released) if self.separately else released[0]


def _thinned(private: KeyedHistogram, spec: Spec, budget: Budget) -> Release:
    """The one step from private to public."""
    left = budget.dropping(spec.unit or "record", len(spec.columns)).thin(private)  # the last step of Release.mechanism
    return Release(spec=spec, budget=budget, cells=left.cells, records_at_most=left.records_at_most)


def _shares(split: Sequence[Number] | None, count: int) -> list[Fraction]:
    if split is None:
        return [Fraction(1, count)] * count
    listed = sequence(split)
    if listed is None or len(listed) != count:
        raise InputError("split", f"must be a list with a share for each of the {count} columns")
    parts = [SHARE.check(part) for part in listed]
    return [part / sum(parts) for part in parts]
