"""Asked answers in full: all of them in words, as columns, and the account of their budget with its proofs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

from flexdp._core.exact import number_text, upper_text
from flexdp._core.text import thousands
from flexdp._release.asked import Asked
from flexdp._release.asked_promises import RankPromise
from flexdp._release.asked_sentences import SURE, Telling, counted
from flexdp._release.asking import level_of
from flexdp._release.frames import group_column
from flexdp._release.ranges import joined, value_words
from flexdp._release.sentences import is_capped, once_each, short_name
from flexdp._release.spec import Spec
from flexdp.mechanisms.program import Draw, spent
from flexdp.sharp.automatic import DroppedBars
from flexdp.sharp.count import TwoSums
from flexdp.sharp.cut import Cut
from flexdp.sharp.ladder import Ladder

__all__ = [
    "answer_columns",
    "asked_certainties",
    "asked_proof",
    "listing_conditions",
]

_OWN = ("statistic", "value", "way", "epsilon", "between", "beyond", "statement")


def answer_columns(
    spec: Spec, asked: Asked, tellings: Sequence[tuple[tuple[Any, ...], Telling]]
) -> dict[str, list[Any]]:
    """Return the asked answers column by column."""
    columns: dict[str, list[Any]] = {}
    names: list[str] = []
    for name in spec.labels:
        names.append(group_column(name, names, clash=name in _OWN))
    columns |= {name: [] for name in (*names, *_OWN)}
    for group, telling in tellings:
        for word in asked.wanted.words:
            answer, level = telling.answer(word), level_of(word)
            found = None if level is None else telling.result.at(level)
            promise = answer.promise if isinstance(answer.promise, RankPromise) else RankPromise()
            cells = (
                *group,
                word,
                answer.value,
                None if found is None else found.way,
                None if found is None else number_text(found.epsilon),
                promise.between,
                promise.beyond,
                answer.statement,
            )
            for column, cell in zip(columns.values(), cells, strict=True):
                column.append(cell)
    columns["value"] = _of_one_type(columns["value"])
    return columns


def _of_one_type(values: list[Any]) -> list[Any]:
    """Values that a frame holds in one column: doubles where there are any, texts where times and lengths mix."""
    if any(isinstance(value, dt.timedelta) for value in values):
        return [None if value is None else str(value) for value in values]
    mixed = any(isinstance(value, float) for value in values)
    return [float(value) if mixed and isinstance(value, int) else value for value in values]


def asked_certainties(asked: Asked) -> tuple[str, ...]:
    """Return what holds of asked answers with probability one."""
    told = [f"Asked for: {', '.join(asked.wanted.words)}."]
    if len(asked.wanted.levels) > 1:
        told.append("Quantiles are in order: none is below that of a lower level.")
    if asked.wanted.levels:
        told.append("Each quantile is a value that was public in advance; it need not occur in the data.")
    if asked.answered:
        told.append(f"The bound that an answer states holds {SURE[:1].lower()}{SURE[1:]}.")
    return tuple(told)


def listing_conditions(spec: Spec, asked: Asked) -> tuple[str, ...]:
    """Return which groups are listed, where they were not known; nothing where they were."""
    if asked.budget.listing is None:
        return ()
    noise, named = asked.budget.listing.noise, joined([short_name(name) for name in spec.labels])
    none = "" if asked.results else " None is listed."
    once = f", counting {once_each(spec, drawn=True)}" if is_capped(spec) else ""
    enough = (
        f"A group of which at least {thousands(noise.q)} count"
        if once
        else f"A group with at least {thousands(noise.q)}"
    )
    return (
        f"Listed: groups ({named}), each after leaving out at most {counted(spec, noise.max_drop)}{once}. {enough} is "
        f"certain to be listed; smaller ones may be missing.{none}",
    )


def asked_proof(spec: Spec, asked: Asked) -> tuple[str, ...]:
    """Return the account of the budget of asked answers, and the integers that prove each of their tables.

    Parameters
    ----------
    spec
        The public description of the release.
    asked
        The asked answers.

    Returns
    -------
    tuple of str
        For each group its steps with their ε, and that they add up; then one proof for each table.
    """
    lines, tables = [], {}
    listing = asked.budget.listing
    if listing is not None:
        lines.append(
            f"List of groups: numbers of records, dropped with ε = {upper_text(listing.epsilon, 6)} and "
            f"δ = {upper_text(listing.delta)}{_each(asked)}. Proof: {listing.noise.certify()}"
        )
    for group, result in asked.results.items():
        steps = asked.steps(result)
        own = spent(step.cost for step in steps)
        told = "; ".join(_step(step) for step in steps)
        each = _each(asked)
        whole = number_text(asked.budget.of_each)
        lines.append(
            f"Asked answers{_of_group(spec, group)}: {told}. Steps on disjoint records, the cuts of one depth and "
            f"the ladders of both sides, run in parallel; together they spend ε = {number_text(own)} of {whole}{each}."
        )
        for step in steps:
            if isinstance(step.mechanism, Cut):
                table = step.mechanism.table
                tables[table.epsilon, table.sensitivity] = table
    if len(asked.results) > 1:
        lines.append("Each record lies in one group, so the groups spend no more than one of them.")
    for table in tables.values():
        lines.append(f"Proof for ε = {number_text(table.epsilon)}: {table.certify()}")
    return tuple(lines)


def _each(asked: Asked) -> str:
    return "" if asked.budget.most == 1 else f" for each of {asked.budget.most} records of a unit"


def _of_group(spec: Spec, group: tuple[Any, ...]) -> str:
    named = [f"{short_name(name)} {value_words(part)}" for name, part in zip(spec.labels, group, strict=True)]
    return f" ({', '.join(named)})" if named else ""


def _step(step: Draw) -> str:
    kind = "two-sided geometric noise"
    if isinstance(step.mechanism, Cut):
        kind = "exponential mechanism"
    elif isinstance(step.mechanism, Ladder):
        kind = f"ladder {'up' if step.mechanism.side > 0 else 'down'} to {step.mechanism.target} beyond"
    elif isinstance(step.mechanism, DroppedBars):
        kind = "dropping"
    elif isinstance(step.mechanism, TwoSums):
        kind = "two sums with geometric noise"
    return f"{step.name} by {kind}, ε = {upper_text(step.mechanism.epsilon, 6)}"
