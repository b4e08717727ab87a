"""Checks of ``ask=`` against the rest of a request, and the reading of private ranks that it leads to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from flexdp._core.calendar import FIRST_DATETIME, FIRST_DAY, LAST_DATETIME, LAST_DAY
from flexdp._core.domains import DELTA, EPSILON, PURE_DELTA, Domain, sequence
from flexdp._core.exact import Number, exact, number_text
from flexdp._core.faults import concealed
from flexdp._core.text import safe_repr
from flexdp._release.asked import Asked, Column, Result, answer
from flexdp._release.asking import AskedBudget, Wanted, asks, ends_of, scale_of, wanted
from flexdp._release.capped import reports_of
from flexdp._release.columns import sorted_groups
from flexdp._release.spec import Spec, group_index, group_labels
from flexdp.errors import InputError, P
from flexdp.noise.bits import Bits
from flexdp.sharp.automatic import DroppedBars
from flexdp.sharp.ranks import EVERYTHING, Span

if TYPE_CHECKING:
    from flexdp.sharp.ranks import Ranks
    from flexdp.tables import Counting, Source
    from flexdp.tables.ranks import GroupedRanks

__all__ = ["asked_column", "asked_of", "asked_query", "budgets_of", "check_ask", "lists_groups", "of_units"]

_CALENDAR = {"date": Span(FIRST_DAY, LAST_DAY + 1), "datetime": Span(FIRST_DATETIME, LAST_DATETIME + 1)}
_AT_ONCE = 1 << 20  # groups whose drops are drawn together
_BUCKETS = ("width", "relative", "edges", "beta", "exact")
_SHARE = Domain(name="split", low=Fraction(0), remedy=("Give the share of each, for example ", P("split", [1, 1]), "."))


def check_ask(table: Source, counting: Counting, spec: Spec, options: Mapping[str, Any]) -> tuple[Wanted | None, bool]:
    """Check what is asked for; nothing is read.

    Parameters
    ----------
    table, counting, spec
        The checked request.
    options
        All options that were given.

    Returns
    -------
    tuple
        The statistics, None where none is asked for; and True if the release has buckets.

    Raises
    ------
    InputError
        If the statistics are wrong, or do not fit the column, the groups or the engine.
    """
    from flexdp.tables.ranks import check_ranks

    if not asks(options.get("ask")):
        return None, True
    found = wanted(options["ask"], spec.kinds)
    ends_of(spec.partitions[0])
    check_ranks(table, counting)
    return found, any(options.get(name) not in (None, False) for name in _BUCKETS)


def budgets_of(
    asked: Wanted,
    spec: Spec,
    epsilon: Number,
    delta: Number,
    *,
    bucketed: bool,
    certify: Number | None,
    split: Sequence[Number] | None,
) -> tuple[tuple[Fraction, Fraction] | None, AskedBudget]:
    """Divide a budget between buckets and asked answers.

    Parameters
    ----------
    asked
        The statistics.
    spec
        The public description of the release.
    epsilon, delta
        The whole budget.
    bucketed
        True if the release has buckets.
    certify
        The share of the buckets' budget for a certified total.
    split
        Shares of buckets and answers; equal unless given.

    Returns
    -------
    tuple
        (ε, δ) of the buckets, None where there are none; and the budget of the answers, which need δ only to list
        groups that are not known, where no buckets list them.

    Raises
    ------
    InputError
        If δ does not fit, or ε is too small for exact answers.
    """
    whole, chance = EPSILON.check(epsilon), Fraction(0)
    if not bucketed:
        small = PURE_DELTA.check(delta)
        if lists_groups(spec, bucketed=False):
            chance = _listing_delta(small)
        elif small:
            raise InputError(
                "delta",
                ("must be 0 with ", P("ask"), " alone: the answers need none"),
                given=number_text(small),
                remedy=("Set ", P("delta", 0), ", or give ", _named_buckets(spec), " for buckets as well."),
            )
        for name, value in (("split", split), ("certify", certify)):
            if value is not None:
                raise InputError(
                    name, ("needs buckets in addition to ", P("ask")), remedy=("Give ", _named_buckets(spec), ".")
                )
        bars, own = None, whole
    else:
        if not exact("delta", delta):
            raise InputError(
                "delta",
                "must be positive with buckets",
                given="0",
                remedy=("Leave out ", P("width"), ", ", P("relative"), " and ", P("edges"), ", or say ",
                        P("delta", 1e-6), "."),
            )  # fmt: skip
        first, second = _shares(split)
        bars, own = (whole * first, DELTA.check(delta)), whole * second
    budget = AskedBudget(own, spec.max_buckets_per_unit, chance)
    budget.check(asked, bounded=ends_of(spec.partitions[0]).low is not None, given=whole)
    return bars, budget


def _named_buckets(spec: Spec) -> P:
    """The parameter that gives a column buckets: booleans have no width."""
    return P("exact", True) if spec.kinds[0] == "boolean" else P("width")


def lists_groups(spec: Spec, *, bucketed: bool) -> bool:
    """Return True if groups are not known, and no buckets list them."""
    return bool(spec.by) and spec.groups is None and not bucketed


def _listing_delta(small: Fraction) -> Fraction:
    if small:
        return DELTA.check(small)
    raise InputError(
        "delta",
        ("must be positive with ", P("by"), " and no ", P("groups"), ": listing groups that are not known needs it"),
        given="0",
        remedy=("Declare them with ", P("groups", ["A", "B"]), ", or say ", P("delta", 1e-6), "."),
    )


def _shares(split: Sequence[Number] | None) -> tuple[Fraction, Fraction]:
    if split is None:
        return Fraction(1, 2), Fraction(1, 2)
    listed = sequence(split)
    if listed is None or len(listed) != 2:
        raise InputError(
            "split",
            ("must be two shares with ", P("ask"), ": of the buckets and of the answers"),
            given=safe_repr(split),
        )
    first, second = (_SHARE.check(part) for part in listed)
    return first / (first + second), second / (first + second)


def asked_column(spec: Spec) -> Column:
    """Return the public description of the column that is asked about."""
    kind = spec.kinds[0]
    decades = {"date": 7, "datetime": 18}.get(kind, 1)  # days, microseconds of the years 1 to 9999
    return Column(
        scale=scale_of(kind),
        ends=ends_of(spec.partitions[0]),
        decades=decades,
        calendar=_CALENDAR.get(kind, EVERYTHING),
    )


def asked_query(
    table: Source, counting: Counting, spec: Spec, dialect: str | None, *, bucketed: bool, cap_report: bool = False
) -> str:
    """Return the statements that asked answers run, after that of the buckets; nothing is run.

    With a ``cap_report`` that of the units that the cap touches follows.
    """
    from flexdp.tables import query_of
    from flexdp.tables.ranks import rank_query_of

    bars = [query_of(table, [counting], dialect)] if bucketed else []
    lists = lists_groups(spec, bucketed=bucketed)
    populations = reports_of(spec, bucketed=bucketed, asked=True) if cap_report else ()
    units = [query_of(table, [of_units(counting, bucketed=not drawn)], dialect) for drawn in populations]
    return ";\n\n".join([*bars, rank_query_of(table, counting, listing=lists, dialect=dialect), *units])


def of_units(counting: Counting, *, bucketed: bool) -> Counting:
    """Return the count of units by whether they have more buckets, or different values, than they count with."""
    from flexdp.tables.sql.rank_query import exactly

    return replace(counting if bucketed else exactly(counting), of_units=True)


def asked_of(
    table: Source,
    counting: Counting,
    spec: Spec,
    asked: Wanted,
    budget: AskedBudget,
    groups: Sequence[tuple[Any, ...]] | None = None,
) -> Asked:
    """Read the ranks and draw every answer; with groups, of each by itself.

    Parameters
    ----------
    table, counting
        What is read, with the salt of the release.
    spec
        The public description of the release.
    asked, budget
        The statistics and their budget.
    groups
        Public groups, declared or those of released buckets; None where there are none, or they must be listed.

    Returns
    -------
    Asked
        Published answers only.

    Raises
    ------
    DataError
        If anything goes wrong once records are read.
    """
    from flexdp.tables.ranks import open_ranks

    column, parts = asked_column(spec), budget.parts(asked)

    def answered() -> dict[tuple[Any, ...], Result]:
        results: dict[tuple[Any, ...], Result] = {}
        with open_ranks(table, counting) as ranks:
            if budget.listing is not None:
                listed: Mapping[tuple[Any, ...], int | None] = _listed(ranks, spec, budget.listing)
            else:
                listed = dict.fromkeys([()] if groups is None else groups)
            for group, own in _groups_of(ranks, spec, list(listed)):
                results[group] = answer(asked, parts, column, own, Bits(), listed=listed[group])
        return {group: results[group] for group in listed}

    return Asked(wanted=asked, budget=budget, column=column, results=concealed(answered))


def _groups_of(
    ranks: GroupedRanks, spec: Spec, groups: Sequence[tuple[Any, ...]]
) -> Iterator[tuple[tuple[Any, ...], Ranks]]:
    """Each group with its ranks; the whole column without groups."""
    if not spec.by:
        yield (), ranks
        return
    keys = {group_index(group): group for group in groups}
    for key, own in ranks.together(list(keys)):
        yield keys[key], own


def _listed(ranks: GroupedRanks, spec: Spec, listing: DroppedBars) -> dict[tuple[Any, ...], int]:
    """Drop records from every group and return those of which some are left, sorted, with their numbers.

    Every group gets a drop of its own. Which of the drops it is makes no difference, as long as that is settled before
    they are drawn: small groups get theirs by their number of records and their turn among the keys of as many. So of
    millions of small groups only those are fetched of which some records are left.

        records  groups   drops            left             fetched
           1        5     3 7 0 9 2        0 0 1 0 0        the 3rd of the groups with 1 record
           2        2     4 1              0 1              the 2nd of those with 2
    """
    large, small = ranks.group_sizes()
    bits = Bits()
    kept = [large.with_counts(np.array(listing.draw(large.counts.tolist(), bits), dtype=np.int64))]
    chosen: dict[tuple[int, int], int] = {}
    for size, groups in enumerate(small):
        for start in range(0, groups, _AT_ONCE):
            left = np.array(listing.draw([size] * min(groups - start, _AT_ONCE), bits), dtype=np.int64)
            chosen.update({(size, start + place + 1): int(left[place]) for place in np.flatnonzero(left).tolist()})
    kept.append(ranks.groups_at(chosen))
    found: dict[tuple[Any, ...], int] = {}
    for each in kept:
        names = zip(*map(group_labels, spec.by_kinds, [part.tolist() for part in each.parts]), strict=True)
        found.update(zip(names, each.counts.tolist(), strict=True))
    return {group: found[group] for group in sorted_groups(list(found), spec.by_kinds)}
