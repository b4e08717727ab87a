"""Automatic buckets as they are run: choose them privately, count in them, thin. Private counts exist here alone."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from flexdp._core.faults import concealed
from flexdp._release.asked import Asked, Column, Result, answer
from flexdp._release.asked_checks import asked_column, of_units
from flexdp._release.asking import AskedBudget
from flexdp._release.automatic import FIVE, Auto, AutoBudget, steps_of
from flexdp._release.capped import CapReport, drawn_cap, reports_of
from flexdp._release.checks import Prepared
from flexdp._release.published import Release
from flexdp._release.spec import Spec
from flexdp.buckets.open_edges import OpenEdges
from flexdp.buckets.partition import Buckets
from flexdp.histogram import KeyedHistogram
from flexdp.mechanisms.dropping import Thinned
from flexdp.mechanisms.program import run
from flexdp.noise.bits import Bits
from flexdp.sharp.automatic import Automatic, choose_buckets
from flexdp.sharp.ranks import Ranks

if TYPE_CHECKING:
    from flexdp.tables import Counting, Source
    from flexdp.tables.ranks import GroupedRanks

__all__ = ["automatic_query", "drawn_caps", "released_automatically"]


def released_automatically(
    question: Prepared,
    counting: Counting,
    budget: AutoBudget,
    opened: AbstractContextManager[GroupedRanks],
    cap: Fraction = Fraction(0),
) -> Release:
    """Choose buckets, count in them and thin; or give five answers, or none, where there are too few records.

    Answers that are asked for as well are drawn from the same records. Where there are too few records for buckets,
    they get what is left of the budget, or five answers where nothing was asked.

    The records that count are read once; only units that may count in several buckets are counted by a second
    statement, with the same salt.

    Parameters
    ----------
    question
        What is released.
    counting
        Its count, with a salt.
    budget
        (ε, δ) of the whole.
    opened
        The records that count.
    cap
        ε of the number of units that the cap touched; 0 where that is not published.

    Returns
    -------
    Release
        What may be published.

    Raises
    ------
    DataError
        If anything goes wrong once records are read.
    """
    return concealed(lambda: _with_cap(question, counting, _read(question, counting, budget, opened), cap))


def _with_cap(question: Prepared, counting: Counting, released: Release, epsilon: Fraction) -> Release:
    """The release with the numbers of units that have more of its buckets, or of their values, than they count with."""
    if not epsilon:
        return released
    own = _in_buckets(counting, released.spec.partitions[0])
    return replace(released, caps=drawn_caps(question.table, own, released, epsilon))


def drawn_caps(table: Source, counting: Counting, released: Release, epsilon: Fraction) -> tuple[CapReport, ...]:
    """Return how many units have more of the buckets of a release, or of their values, than they count with.

    Parameters
    ----------
    table, counting
        What is counted, in the buckets of the release.
    released
        The release without these numbers.
    epsilon
        ε of all of them together.

    Returns
    -------
    tuple of CapReport
        What may be published.
    """
    bucketed = released.budget is not None
    populations = reports_of(released.spec, bucketed=bucketed, asked=released.asked is not None)
    private = table.count([of_units(counting, bucketed=not drawn) for drawn in populations])
    own = epsilon / len(populations)
    return tuple(drawn_cap(each, own, drawn=drawn) for each, drawn in zip(private, populations, strict=True))


def automatic_query(question: Prepared, dialect: str | None) -> str:
    """Return the statements that automatic buckets run; nothing is run."""
    from flexdp.tables import query_of
    from flexdp.tables.ranks import rank_query_of

    shown = [rank_query_of(question.table, question.counting, dialect=dialect)]
    if question.spec.max_buckets_per_unit > 1:
        shown.append(query_of(question.table, [_in_buckets(question.counting, _shown(question))], dialect))
    if question.cap_report:
        counting = _in_buckets(question.counting, _shown(question))
        spec = replace(question.spec, partitions=(counting.values[0].buckets,))
        populations = reports_of(spec, bucketed=True, asked=question.wanted is not None)
        shown += [query_of(question.table, [of_units(counting, bucketed=not drawn)], dialect) for drawn in populations]
    return ";\n\n".join(shown)


def _shown(question: Prepared) -> OpenEdges:
    """A bucket for everything, where the edges are not known yet."""
    axis = question.spec.partitions[0]
    return OpenEdges(axis.kind, (), axis.bounds, axis.outside)


def _in_buckets(counting: Counting, partition: Buckets) -> Counting:
    return replace(counting, values=(replace(counting.values[0], buckets=partition),))


def _read(
    question: Prepared, counting: Counting, budget: AutoBudget, opened: AbstractContextManager[GroupedRanks]
) -> Release:
    spec, column = question.spec, asked_column(question.spec)
    with opened as ranks:
        program = choose_buckets(
            budget.each,
            budget.delta,
            column.scale,
            steps=steps_of(spec.kinds[0], column.scale),
            ends=column.ends,
            divide=budget.divided,
            five=budget.five if not spec.by and (question.wanted is None or question.unasked) else False,
        )
        whole = ranks.whole()
        chosen = run(program, whole, Bits()).value
        auto = Auto(
            budget=budget,
            kind=spec.kinds[0],
            column=column,
            seen=chosen.records_about,
            spans=chosen.leaves,
            leaf_counts=chosen.leaf_counts,
        )
        asked = _asked(question, auto, whole)
        if not auto.chosen and asked is None:
            return _without_buckets(question, auto, chosen, column)
        if not auto.chosen:
            return Release(spec=spec, budget=None, cells=_nothing(spec), asked=asked, auto=auto)
        partition = auto.partition(spec.partitions[0].bounds, spec.partitions[0].outside)
        private = ranks.bars(partition) if budget.most == 1 else None
    if private is None:
        private = _counted_again(question, counting, partition)
    public = replace(spec, partitions=(partition,))
    own = budget.bars(auto.share, public.public_buckets)
    left: Thinned = own.dropping(partition, spec.unit).thin(private)
    return Release(
        spec=public, budget=own, cells=left.cells, records_at_most=left.records_at_most, asked=asked, auto=auto
    )


def _asked(question: Prepared, auto: Auto, ranks: Ranks) -> Asked | None:
    """Draw the answers that were asked for beside the buckets; without buckets, with what these leave."""
    budget, wanted = auto.budget, question.wanted
    if wanted is None or not budget.answers or (question.unasked and not auto.chosen):
        return None
    own = AskedBudget(budget.answers if auto.chosen else budget.for_answers, budget.most)
    drawn = answer(wanted, own.parts(wanted), auto.column, ranks, Bits())
    return Asked(wanted=wanted, budget=own, column=auto.column, results={(): drawn})


def _counted_again(question: Prepared, counting: Counting, partition: OpenEdges) -> KeyedHistogram:
    """Count units once in each of their buckets, which takes a statement over the table."""
    return question.table.count([_in_buckets(counting, partition)])[0]


def _without_buckets(question: Prepared, auto: Auto, chosen: Automatic, column: Column) -> Release:
    """Five answers, or a refusal that depends on the noisy number of records alone."""
    spec = question.spec
    if spec.by:
        return Release(spec=spec, budget=None, cells=_nothing(spec), auto=auto)
    levels = chosen.five
    if levels is None:
        from flexdp.sharp.answers import Answered

        levels = Answered(scale=column.scale, epsilon=auto.budget.five, records_about=chosen.records_about)
    asked = Asked(
        wanted=FIVE,
        budget=AskedBudget(auto.budget.whole, auto.budget.most),
        column=column,
        results={(): Result(levels=levels)},
    )
    return Release(spec=spec, budget=None, cells=_nothing(spec), asked=asked, auto=auto)


def _nothing(spec: Spec) -> KeyedHistogram:
    return KeyedHistogram([[] for _ in range(len(spec.by) + 1)], [])
