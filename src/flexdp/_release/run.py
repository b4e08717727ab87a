"""A release as it runs: count, thin, publish. Private counts exist here alone, between the engine and the noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from flexdp._core.domains import Domain, sequence
from flexdp._core.exact import Number
from flexdp._release.asked_checks import asked_of, asked_query, budgets_of
from flexdp._release.asking import AskedBudget
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

if TYPE_CHECKING:
    from flexdp.tables import Counting

__all__ = ["Request"]

SHARE = Domain(name="split", low=Fraction(0), remedy="Give the share of each column, for example split=[2, 1, 1].")


@dataclass(frozen=True, kw_only=True)
class Request:
    """A release that was checked against everything declared and has read no record yet.

    ``questions`` has one count, or one for each column that is released separately; ``budgets`` follow once they are
    known, and ``asked`` is the budget of the answers that were asked for. ``parameters`` are those that were given.
    """

    questions: tuple[Prepared, ...]
    separately: bool = False
    budgets: tuple[Budget, ...] = ()
    asked: AskedBudget | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)

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

        question = self.questions[0]
        if question.wanted is not None:
            return asked_query(question.table, question.counting, dialect, bucketed=question.bucketed)
        return query_of(self.questions[0].table, [each.counting for each in self.questions], dialect)

    def with_budget(
        self, epsilon: Number, delta: Number, *, certify: Number | None = None, split: Sequence[Number] | None = None
    ) -> Request:
        """Return the request with its noise made; a budget that no noise can meet is refused here."""
        most = [each.spec.max_buckets_per_unit for each in self.questions]
        if self.questions[0].wanted is not None:
            return self._with_answers(epsilon, delta, certify=certify, split=split)
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

    def _with_answers(
        self, epsilon: Number, delta: Number, *, certify: Number | None, split: Sequence[Number] | None
    ) -> Request:
        """Share a budget between buckets, if there are any, and the answers that were asked for."""
        (each,) = self.questions
        assert each.wanted is not None
        bars, own = budgets_of(
            each.wanted, each.spec, epsilon, delta, bucketed=each.bucketed, certify=certify, split=split
        )
        if bars is None:
            return replace(self, budgets=(), asked=own)
        return replace(self, budgets=(Budget(*bars, most=own.most, certify=certify),), asked=own)

    def run(self) -> Release | Releases:
        """Count, thin and publish: a Release, or Releases of separate columns."""
        if self.asked is not None:
            return self._answered(self.asked)
        countings = []
        for each in self.questions:
            units = each.counting.units
            salted = None if units is None else replace(units, salt=fresh_salt())
            countings.append(replace(each.counting, units=salted))
        released = self._bars(countings)
        return Releases(released) if self.separately else released[0]

    def _bars(self, countings: Sequence[Counting]) -> list[Release]:
        """Count and thin the buckets of every question."""
        from flexdp.tables import count  # tables are loaded when the first is read

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
        return released

    def _answered(self, budget: AskedBudget) -> Release:
        """Count and thin the buckets, if there are any, and draw the answers that were asked for."""
        (question,) = self.questions
        assert question.wanted is not None
        units = question.counting.units
        salted = None if units is None else replace(units, salt=fresh_salt())  # one salt for all statements
        counting = replace(question.counting, units=salted)
        bars = self._bars([counting])[0] if self.budgets else None
        asked = asked_of(question.table, counting, question.spec, question.wanted, budget)
        if bars is None:
            nothing = KeyedHistogram([[] for _ in range(len(question.spec.by) + 1)], [])
            return Release(spec=question.spec, budget=None, cells=nothing, asked=asked)
        return replace(bars, asked=asked)


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
