"""A release as it runs: count, thin, publish. Private counts exist here alone, between the engine and the noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from flexdp._core.domains import DELTA, EPSILON, Domain, sequence
from flexdp._core.exact import Number, exact
from flexdp._core.faults import concealed
from flexdp._core.forks import inside_release
from flexdp._core.text import safe_repr
from flexdp._release.asked_checks import asked_of, asked_query, budgets_of, of_units
from flexdp._release.asking import AskedBudget, share_of_ends
from flexdp._release.automatic import AutoBudget
from flexdp._release.capped import CapReport, cap_epsilon, drawn_cap
from flexdp._release.checks import Prepared
from flexdp._release.choosing import automatic_query, drawn_caps, released_automatically
from flexdp._release.groups import group_places
from flexdp._release.published import Release
from flexdp._release.several import Releases
from flexdp._release.spec import Spec
from flexdp.accounting.budget import Budget
from flexdp.buckets.base import Kind
from flexdp.buckets.partition import Partition
from flexdp.calculus import split as divided
from flexdp.errors import InputError, P
from flexdp.histogram import KeyedHistogram
from flexdp.noise.sampler import fresh_salt

if TYPE_CHECKING:
    from flexdp.tables import Counting, Source

__all__ = ["Request"]

SHARE = Domain(
    name="split",
    low=Fraction(0),
    remedy=("Give the share of each column, for example ", P("split", [2, 1, 1]), "."),
)
_BEFORE_THE_COUNT = 4  # columns with automatic buckets: the last of them takes long enough to count the others
_FEW = "Choose a probability far below one over the number of records, for example "
_WITH_BUCKETS = replace(DELTA, remedy=(_FEW, P("delta", 1e-6), ". Only ", P("ask"), " works with ", P("delta", 0), "."))


@dataclass(frozen=True, kw_only=True)
class Request:
    """A release that was checked against everything declared and has read no record yet.

    ``questions`` has one count, or one for each column that is released separately; ``budgets`` follow once they are
    known, and ``asked`` is the budget of the answers that were asked for, which that of automatic buckets includes.
    ``caps`` has for each question ε of the number of units that the cap touched, 0 where that is not published.
    ``parameters`` are those that were given; ``source`` tells what is read from other sources, for a ledger alone.
    """

    questions: tuple[Prepared, ...]
    separately: bool = False
    budgets: tuple[Budget | AutoBudget, ...] = ()
    asked: AskedBudget | None = None
    caps: tuple[Fraction, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    source: Mapping[str, Any] | None = field(default=None, repr=False)

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
        """Return the SQL text that :meth:`run` would use, or its translation to another dialect.

        Beside asked answers, automatic buckets and the two of booleans are shown as they are counted where δ is
        positive.
        """
        from flexdp.tables import query_of

        question = self.questions[0]
        if question.wanted is not None and not question.automatic:
            return asked_query(
                question.table,
                question.counting,
                question.spec,
                dialect,
                bucketed=question.bucketed or question.may_be_false_or_true,
                cap_report=question.cap_report,
            )
        plain = [each for each in self.questions if not each.automatic]
        counted = [each.counting for each in plain]
        counted += [of_units(each.counting, bucketed=True) for each in plain if each.cap_report]
        shown = [query_of(question.table, counted, dialect)] if counted else []
        shown += [automatic_query(each, dialect) for each in self.questions if each.automatic]
        return ";\n\n".join(shown)

    @inside_release()
    def with_budget(
        self, epsilon: Number, delta: Number, *, certify: Number | None = None, split: Sequence[Number] | None = None
    ) -> Request:
        """Return the request with its noise made; a budget that no noise can meet is refused here."""
        if certify is not None and all(_bounds_itself(each, delta) for each in self.questions):
            raise InputError(
                "certify",
                "buys nothing where all buckets are public: what they lose together is bounded without it",
                given=safe_repr(certify),
                remedy="Leave it out.",
            )
        if self.separately:
            parts = divided(Budget(epsilon, delta).privacy(), _shares(split, len(self.questions)))
            caps = [
                cap_epsilon(part.epsilon, reported=question.cap_report)
                for question, part in zip(self.questions, parts, strict=True)
            ]
            budgets = [
                _budget(question, part.epsilon - cap, part.delta, certify)
                for question, part, cap in zip(self.questions, parts, caps, strict=True)
            ]
            return replace(self, budgets=tuple(budgets), caps=tuple(caps))
        (each,) = self.questions
        if each.cap_report:
            whole = EPSILON.check(epsilon)
            cap = cap_epsilon(whole, reported=True)
            own = replace(self, questions=(replace(each, cap_report=False),))
            found = own.with_budget(whole - cap, delta, certify=certify, split=split)
            return replace(found, questions=self.questions, caps=(cap,))
        if (each.wanted is None or each.unasked) and not exact("delta", delta):
            _WITH_BUCKETS.check(delta)
        if each.wanted is not None and not (each.automatic and each.has_buckets(delta)):
            return self._with_answers(epsilon, delta, certify=certify, split=split)
        if each.wanted is None and split is not None:
            raise InputError("split", "needs several columns, or buckets and answers, that share the budget")
        return replace(self, budgets=(_budget(each, epsilon, delta, certify, split),))

    def _with_answers(
        self, epsilon: Number, delta: Number, *, certify: Number | None, split: Sequence[Number] | None
    ) -> Request:
        """Share a budget between buckets that were given, if there are any, and the answers that were asked for."""
        (each,) = self.questions
        assert each.wanted is not None
        bars, own = budgets_of(
            each.wanted, each.spec, epsilon, delta, bucketed=each.has_buckets(delta), certify=certify, split=split
        )
        kept = () if bars is None else (_budget(replace(each, wanted=None), *bars, certify),)
        return replace(self, budgets=kept, asked=own)

    @inside_release()
    def run(self) -> Release | Releases:
        """Count, thin and publish: a Release, or Releases of separate columns."""
        if self.asked is not None:
            return self._answered(self.asked)
        if len(self.questions) == 1:
            return self._released()
        from flexdp.tables.engines.duckdb.session import engines_kept

        with engines_kept():
            return self._released()

    def _released(self) -> Release | Releases:
        """Release automatic buckets one column after the other, and all others from one count."""
        from flexdp.tables.ranks import open_ranks

        pairs = list(zip(self.questions, self.budgets, strict=True))
        caps = self.caps or (Fraction(0),) * len(self.questions)
        automatic = [(each, _salted(each.counting), own) for each, own in pairs if isinstance(own, AutoBudget)]
        shares = [cap for cap, own in zip(caps, self.budgets, strict=True) if isinstance(own, AutoBudget)]
        others = [(each, own, cap) for (each, own), cap in zip(pairs, caps, strict=True) if isinstance(own, Budget)]
        thinned = iter(_bars(others))
        made = (
            released_automatically(*each, open_ranks(each[0].table, each[1]), cap)
            for each, cap in zip(automatic, shares, strict=True)
        )
        released = [next(made if isinstance(own, AutoBudget) else thinned) for own in self.budgets]
        return Releases(released) if self.separately else released[0]

    def repeated(self) -> tuple[Callable[[], Release | Releases], bool]:
        """Return a function that releases anew each time it is called, for audits on test data; and if it counts once.

        Where nothing but the noise is random, the records are counted once and kept: never call this on private data.
        """
        plain = all(isinstance(budget, Budget) for budget in self.budgets)
        if self.asked is not None or not plain or any(each.counting.units is not None for each in self.questions):
            return self.run, False
        private = self.questions[0].table.count([each.counting for each in self.questions])

        def thin() -> Release | Releases:
            released = [
                _thinned(bars, each.spec, budget)
                for bars, each, budget in zip(private, self.questions, self.budgets, strict=True)
                if isinstance(budget, Budget)
            ]
            return Releases(released) if self.separately else released[0]

        return thin, True

    def _answered(self, budget: AskedBudget) -> Release:
        """Count and thin the buckets, if there are any, and draw the answers that were asked for."""
        (question,) = self.questions
        assert question.wanted is not None
        counting = _salted(question.counting)
        pairs = [(question, own, Fraction(0)) for own in self.budgets if isinstance(own, Budget)]
        bars = _bars(pairs, [counting])
        groups = question.spec.groups
        if bars and question.spec.by:
            groups = tuple(group_places(question.spec, bars[0].cells))  # declared, or listed by the buckets
        asked = asked_of(question.table, counting, question.spec, question.wanted, budget, groups)
        if bars:
            released = replace(bars[0], asked=asked)
        else:
            nothing = KeyedHistogram([[] for _ in range(len(question.spec.by) + 1)], [])
            released = Release(spec=question.spec, budget=None, cells=nothing, asked=asked)
        return released if not any(self.caps) else _with_caps(question.table, counting, released, *self.caps)


def _bounds_itself(question: Prepared, delta: Number) -> bool:
    """Return True if what all buckets lose together is bounded at no cost: their number is public, or will be."""
    if question.wanted is not None and not question.has_buckets(delta):
        return False
    return question.spec.groups_are_public if question.automatic else question.spec.public_buckets is not None


def _budget(
    question: Prepared,
    epsilon: Number,
    delta: Number,
    certify: Number | None,
    split: Sequence[Number] | None = None,
) -> Budget | AutoBudget:
    """Make the budget of buckets; that of automatic ones includes the answers beside them."""
    most = question.spec.max_buckets_per_unit
    certify = None if _bounds_itself(question, delta) else certify
    if not question.automatic:
        return Budget(epsilon, delta, most=most, certify=certify, buckets=question.spec.public_buckets)
    if question.wanted is None:
        return AutoBudget.checked(epsilon, delta, most=most, certify=certify)
    if split is None and question.unasked:
        share = share_of_ends(EPSILON.check(epsilon), most=most)
        if not share:
            return AutoBudget.checked(epsilon, delta, most=most, certify=certify)
        split = (1 - share, share)
    bars, own = budgets_of(question.wanted, question.spec, epsilon, delta, bucketed=True, certify=certify, split=split)
    assert bars is not None
    return AutoBudget.checked(*bars, most=most, certify=certify, answers=own.epsilon)


def _salted(counting: Counting) -> Counting:
    """One count with a salt of its own, for all statements that it takes."""
    units = counting.units
    return replace(counting, units=None if units is None else replace(units, salt=fresh_salt()))


def _with_units(countings: Sequence[tuple[Counting, Fraction]]) -> list[Counting]:
    """Counts, then those of units for which there is a share of ε."""
    units = [of_units(counting, bucketed=True) for counting, cap in countings if cap]
    return [*(counting for counting, _ in countings), *units]


def _with_caps(table: Source, counting: Counting, released: Release, epsilon: Fraction) -> Release:
    """The release with the numbers of units that its caps touched."""
    return concealed(lambda: replace(released, caps=drawn_caps(table, counting, released, epsilon)))


def _bars(asked: Sequence[tuple[Prepared, Budget, Fraction]], countings: Sequence[Counting] = ()) -> list[Release]:
    """Count the buckets of some questions, in one pass, and thin them.

    With a share of ε for the cap, tell how many units it touched. Counts drawn with salts of their own may be given.
    """
    if not asked:
        return []
    salted = countings or [_salted(each.counting) for each, *_ in asked]
    caps = [cap for *_, cap in asked]
    # The traceback of a failure must not hold what was counted.
    private = asked[0][0].table.count(_with_units(list(zip(salted, caps, strict=True))))
    held = [private]
    del private
    return concealed(lambda: _all_thinned(held.pop(), asked))


def _all_thinned(private: list[KeyedHistogram], asked: Sequence[tuple[Prepared, Budget, Fraction]]) -> list[Release]:
    """Thin the buckets of some questions; counts of units follow those of buckets."""
    units = iter(private[len(asked) :])
    return [
        _thinned(bars, each.spec, budget, drawn_cap(next(units), cap, drawn=False) if cap else None)
        for bars, (each, budget, cap) in zip(private, asked, strict=False)
    ]


def _thinned(private: KeyedHistogram, spec: Spec, budget: Budget, cap: CapReport | None = None) -> Release:
    """The one step from private to public."""
    left = budget.dropping(spec.partition, spec.unit).thin(private)  # the last step of Release.mechanism
    return Release(
        spec=spec,
        budget=budget,
        cells=left.cells,
        records_at_most=left.records_at_most,
        caps=() if cap is None else (cap,),
    )


def _shares(split: Sequence[Number] | None, count: int) -> list[Fraction]:
    if split is None:
        return [Fraction(1, count)] * count
    listed = sequence(split)
    if listed is None or len(listed) != count:
        raise InputError("split", f"must be a list with a share for each of the {count} columns")
    parts = [SHARE.check(part) for part in listed]
    return [part / sum(parts) for part in parts]
