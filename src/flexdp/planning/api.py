"""``flexdp.plan``: choose ε, δ and buckets, and see what will be lost, without reading data or spending budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import Any, get_args

from flexdp._core.domains import DELTA, EPSILON, PURE_DELTA, choice, flag, integer, sequence
from flexdp._core.exact import Number
from flexdp._core.text import plain_scalar
from flexdp._release.asking import asks, asks_nothing
from flexdp._release.capped import after_cap
from flexdp.buckets.base import Kind
from flexdp.buckets.exact import Exact
from flexdp.buckets.parse import make_buckets
from flexdp.buckets.partition import Buckets
from flexdp.buckets.width import Width
from flexdp.errors import InputError, P
from flexdp.planning.advice import Advice
from flexdp.planning.expected import (
    UNORDERED,
    Counts,
    law_counts,
    not_numbers,
    refuse_both,
    sample_counts,
    sample_values,
)
from flexdp.planning.groups import Groups
from flexdp.planning.options import Setting, smallest_delta_for
from flexdp.planning.target import Affordable, Target, partition_for, proposed_delta
from flexdp.planning.working import with_working
from flexdp.simulation import parse_distribution
from flexdp.statistics import Statistic
from flexdp.statistics.parse import parse_statistic

__all__ = ["plan"]

_MOST_RECORDS = 10**18
_READ_OFF = ("counts",)  # beside those that the grammar of statistics names
_OPTIONS = {"per_bucket": "lose_per_bucket", "in_all": "lose_in_all", "share": "lose_share"}


def plan(
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    records_about: Number | None = None,
    lose_per_bucket: Number | None = None,
    lose_in_all: Number | None = None,
    lose_share: Number | None = None,
    width: Number | None = None,
    relative: Number | None = None,
    edges: Sequence[Any] | None = None,
    bounds: Any = None,
    buckets: Number | None = None,
    kind: Kind = "number",
    by: str | Sequence[str] | None = None,
    groups: Sequence[Any] | None = None,
    groups_about: Number | None = None,
    max_buckets_per_unit: Number | None = None,
    cap_report: bool = True,
    releases: Number = 1,
    simulate: str | None = None,
    public_sample: Any = None,
    ask: str | Statistic | Sequence[str | Statistic] | None = None,
    stats: str | Sequence[str] | None = None,
    seed: int = 0,
) -> Advice:
    """Choose the parameters of a release before any data is read: give what you know, get the rest.

    Without buckets and without a target, the plan is that of automatic buckets; with ``ask``, that of asked answers,
    and with ``ask`` and ``delta``, that of both. These need ``records_about``, or a public sample of about as many
    records; without, the plan is that of buckets of a width that is still open. A plan that would leave nothing ends
    in another command for the same ε, or in none, and says so; a larger ε is offered beside it.

    Parameters
    ----------
    epsilon, delta
        Privacy loss of everything planned. By default, ε is the smallest that meets the target, and δ the smallest
        that ε and the target allow, or else one that suits ``records_about``.
    records_about
        Approximate number of records, from public knowledge; it is never read from data.
    lose_per_bucket, lose_in_all, lose_share
        The target: the most records that may be lost from each bucket, in total, or as a share of all.
    width, relative, edges, bounds, buckets, kind
        As in :func:`flexdp.release`. Bounds and ``buckets`` determine the width; bounds, ε and the total that may
        be lost determine the largest number of buckets.
    by, groups, groups_about
        Names of the columns of groups, and the groups themselves if they are declared, as in :func:`flexdp.release`;
        otherwise their approximate number, from public knowledge. Records are taken to be spread evenly over groups.
    max_buckets_per_unit
        Most buckets that one person may count in, if a person may have several records.
    cap_report
        Each release also tells how many units have more, for a twenty-fifth of its ε, as in :func:`flexdp.release`.
    releases
        Number of releases that share ε and δ equally.
    simulate, public_sample
        A law, such as "normal" or "lognormal:median=30000,sigma=0.8" (see :mod:`flexdp.simulation`), or values
        that are public already: the expected losses are computed from them. Of asked answers and automatic buckets
        they are measured in seeded trials.
    ask
        Statistics to answer by themselves, as in :func:`flexdp.release`. An empty list, or "none", leaves all of ε to
        automatic buckets.
    stats
        Statistics to read off the buckets, for the command.
    seed
        Seed of the trials.

    Returns
    -------
    Advice
        The options, the chosen one, warnings, and the command to run.

    Raises
    ------
    InputError
        If a parameter is out of range, parameters contradict each other, or no ε meets the target.

    Examples
    --------
    >>> advice = plan(epsilon=1, delta="1e-6", bounds=(0, 120), width=5, records_about=50_000)
    >>> advice.chosen.max_drop, advice.chosen.survives_from, float(advice.chosen.alpha), advice.chosen.certainty
    (27, 28, 0.01296, '73.2%')
    >>> advice.command
    'flexdp release FILE COLUMN --epsilon 1 --delta 1e-06 --width 5 --bounds 0:120'
    >>> plan(delta="1e-6", lose_per_bucket=30).epsilon
    Fraction(861, 1000)
    >>> plan(epsilon=1, ask="max", records_about=10_000).table()[1][4]
    ['→', '1', '≤ 45 above', '≤ 73.2%']
    >>> plan(epsilon=1, ask="max", records_about=10_000, by="ward", groups=["A", "B"]).command
    'flexdp release FILE COLUMN --epsilon 1 --delta 0 --ask max --by ward --groups A,B'
    >>> plan(epsilon=1, delta="1e-6", ask=[], records_about=10_000).command
    'flexdp release FILE COLUMN --epsilon 1 --delta 1e-06 --ask none --kind number'
    >>> plan(epsilon=1, delta="1e-6", relative="0.05", bounds=(0, 1000), records_about=50_000).command
    'flexdp release FILE COLUMN --epsilon 1 --delta 1e-06 --bounds 0:1000 --kind number'
    """
    given = dict(locals())
    return with_working(_planned(**given), _planned, given)


def _planned(
    *,
    epsilon: Number | None,
    delta: Number | None,
    records_about: Number | None,
    lose_per_bucket: Number | None,
    lose_in_all: Number | None,
    lose_share: Number | None,
    width: Number | None,
    relative: Number | None,
    edges: Sequence[Any] | None,
    bounds: Any,
    buckets: Number | None,
    kind: Kind,
    by: str | Sequence[str] | None,
    groups: Sequence[Any] | None,
    groups_about: Number | None,
    max_buckets_per_unit: Number | None,
    cap_report: bool,
    releases: Number,
    simulate: str | None,
    public_sample: Any,
    ask: str | Statistic | Sequence[str | Statistic] | None,
    stats: str | Sequence[str] | None,
    seed: int,
) -> Advice:
    """Return the plan of just these parameters, whether or not it leaves anything."""
    read_as: Any = choice("kind", kind, get_args(Kind))
    loss = None if epsilon is None else EPSILON.check(epsilon)
    asked = asks(ask)
    chance = None if delta is None else (PURE_DELTA if asked else DELTA).check(delta)
    records = None if records_about is None else integer("records_about", records_about, at_most=_MOST_RECORDS)
    target = Target.checked(lose_per_bucket, lose_in_all, lose_share)
    parts, units = integer("releases", releases), 1
    if max_buckets_per_unit is not None:
        units = integer("max_buckets_per_unit", max_buckets_per_unit, at_most=_MOST_RECORDS)
    reported = flag("cap_report", cap_report) and max_buckets_per_unit is not None
    grouped, read_off = Groups.checked(by, groups, groups_about), _statistics(stats)
    given = {"width": width, "relative": relative, "edges": edges, "buckets": buckets, **asdict(target)}
    unbucketed = not any(value is not None for value in given.values())
    trials = integer("seed", seed, at_least=0)
    if unbucketed and records is None and public_sample is not None and read_as not in UNORDERED:
        records = integer(
            "records_about", max(1, len(sample_values(public_sample, make_buckets(read_as, bounds=bounds))))
        )
    if asked:
        if not unbucketed:
            name = next(name for name, value in given.items() if value is not None)
            raise InputError(
                _OPTIONS.get(name, name),
                ("cannot be combined with ", P("ask")),
                remedy=(
                    "Plan buckets and answers by themselves, each with half of ", P("epsilon"),
                    ": a release of both divides it equally.",
                ),
            )  # fmt: skip
        from flexdp.planning.sharp import SharpColumn

        column = SharpColumn(
            read_as, bounds, records, units, parts, simulate, public_sample, trials, grouped, read_off, reported
        )
        return column.asked(ask, loss, chance, by_unit=max_buckets_per_unit is not None)
    if unbucketed and records is not None and read_as not in UNORDERED:
        from flexdp.planning.sharp import SharpColumn

        column = SharpColumn(
            read_as, bounds, records, units, parts, simulate, public_sample, trials, grouped, read_off, reported
        )
        alone = asks_nothing(ask)
        return column.automatic(loss, chance, target, by_unit=max_buckets_per_unit is not None, alone=alone)
    rest = None if loss is None else after_cap(loss, reported=reported)
    affordable = Affordable(rest, chance or proposed_delta(records), target.total(records), parts, units)
    partition = partition_for(
        read_as,
        width=width,
        relative=relative,
        edges=edges,
        bounds=bounds,
        buckets=None if buckets is None else integer("buckets", buckets, at_most=_MOST_RECORDS),
        affordable=affordable,
    )
    if partition is None and buckets is None and (simulate is not None or public_sample is not None):
        partition = Exact("number")  # what is expected is counted value by value
    many = partition.count if partition is not None else None
    own = integer("buckets", buckets) if many is None and buckets is not None else many
    many = grouped.times(own)
    limit = target.limit(records, many)
    origin = "given"
    afforded = (
        buckets is None and all(each is None for each in (width, relative, edges)) and affordable.buckets() is not None
    )
    if chance is None and loss is not None and limit is not None and not afforded:
        chance, origin = smallest_delta_for(rest or loss, limit + 1, releases=parts, buckets_per_unit=units), "solved"
    elif chance is None:
        chance, origin = proposed_delta(records), "proposed"
    setting = Setting(
        delta=chance,
        releases=parts,
        buckets_per_unit=units,
        buckets=many,
        records_about=records,
        limit=limit,
        reported=reported,
    )
    chosen = loss if loss is not None or limit is None else setting.smallest_epsilon()
    return Advice(
        setting=setting,
        epsilon=chosen,
        epsilon_origin="open" if chosen is None else "given" if loss is not None else "solved",
        delta_origin=origin,
        by_unit=max_buckets_per_unit is not None,
        partition=partition,
        target=target,
        options=setting.options(chosen),
        counts=_counts(simulate, public_sample, None if records is None else grouped.of_each(records), partition, own),
        groups=grouped,
        stats=read_off,
    )


def _statistics(stats: object) -> tuple[str, ...]:
    """Return the words of statistics that can be read off buckets."""
    listed = [stats] if isinstance(stats, str) else sequence(stats) if stats is not None else []
    if listed is None:
        raise InputError(
            "stats", "must be names of statistics", remedy=("For example ", P("stats", ["max", "mean"]), ".")
        )
    words = [plain_scalar(word) for word in listed]
    for word in words:
        if not isinstance(word, str) or word not in _READ_OFF:
            parse_statistic(word, parameter="stats", also=_READ_OFF)
    return tuple(str(word) for word in words)


def _counts(
    simulate: object, sample: Any, records: int | None, partition: Buckets | None, buckets: int | None
) -> Counts | None:
    """Records by bucket, if there is a law or a public sample to compute expectations from."""
    if simulate is None and sample is None:
        return None
    refuse_both(simulate, sample)
    if partition is None:  # only their number is known: count them off from zero
        partition = Width("number", Fraction(1), (Fraction(0), Fraction(buckets or 1)))
    if simulate is None:
        return sample_counts(sample, records, partition)
    if partition.kind not in ("integer", "number"):
        raise not_numbers(partition.kind)
    low, high = partition.bounds or (Fraction(0), 100 * (partition.width if isinstance(partition, Width) else 1))
    span = high - low + int(partition.kind == "integer")  # integers are numbers rounded down
    law = parse_distribution(simulate, low=low, span=span, buckets=buckets)
    if records is None:
        raise InputError("simulate", "needs the number of records", remedy=("Give ", P("records_about"), " too."))
    return law_counts(law, records, partition)
