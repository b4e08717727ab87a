"""``flexdp.plan``: choose ε, δ and buckets, and see what will be lost, without reading data or spending budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from fractions import Fraction
from typing import Any, get_args

from flexdp._core.domains import DELTA, EPSILON, PURE_DELTA, choice, flag, integer, sequence
from flexdp._core.enclosure import least_decimal
from flexdp._core.exact import Number, number_text, to_digits
from flexdp._core.text import plain_scalar, safe_repr
from flexdp._release.asking import asks, asks_nothing, wanted
from flexdp.buckets.base import Kind
from flexdp.buckets.exact import Exact
from flexdp.buckets.parse import make_buckets
from flexdp.errors import InputError, P
from flexdp.noise.calibration import needed_reach, smallest_delta
from flexdp.planning.asked import AskedAnswers
from flexdp.planning.automatic import AutomaticBuckets
from flexdp.planning.expected import UNORDERED, count_public_data
from flexdp.planning.given import GivenBuckets, Target, affordable_buckets, choose_partition
from flexdp.planning.groups import Groups
from flexdp.planning.plans import Plan, propose_delta
from flexdp.statistics import Statistic
from flexdp.statistics.parse import parse_statistic

__all__ = ["plan"]

_MOST_RECORDS = 10**18
_PURE = Fraction(0)
_READ_OFF = ("counts",)  # beside those that the grammar of statistics names


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
) -> Plan:
    """Choose the parameters of a release before any data is read: give what you know, get the rest.

    Without buckets and without a target, the plan is that of automatic buckets; with ``ask``, that of asked answers,
    and with ``ask`` and ``delta``, that of both. These need ``records_about``; without, the plan is that of buckets of
    a width that is still open. A plan that would leave nothing says so, and names the smallest usual ε that leaves
    something.

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
        that are public already: the expected losses of given buckets are computed from them.
    ask
        Statistics to answer by themselves, as in :func:`flexdp.release`. An empty list, or "none", leaves all of ε to
        automatic buckets.
    stats
        Statistics to read off the buckets, for the command.

    Returns
    -------
    Plan
        The options, the chosen one, warnings, and the command to run.

    Raises
    ------
    InputError
        If a parameter is out of range, parameters contradict each other, or no ε meets the target.

    Examples
    --------
    >>> found = plan(epsilon=1, delta="1e-6", bounds=(0, 120), width=5, records_about=50_000)
    >>> found.chosen["max_drop"], found.chosen["survives_from"], float(found.chosen["alpha"]), found.chosen["certainty"]
    (27, 28, 0.01296, '73.2%')
    >>> found.command
    'flexdp release FILE COLUMN --epsilon 1 --delta 1e-06 --width 5 --bounds 0:120'
    >>> plan(delta="1e-6", lose_per_bucket=30).epsilon
    Fraction(861, 1000)
    >>> plan(epsilon=1, ask="max", records_about=10_000).table()[1][4]
    ['→', '1', '≤ 45 above', '≤ 73.2%']
    >>> plan(epsilon=1, ask="max", records_about=10_000, by="ward", groups=["A", "B"]).command
    'flexdp release FILE COLUMN --epsilon 1 --delta 0 --ask max --by ward --groups A,B'
    >>> plan(epsilon=1, delta="1e-6", ask=[], records_about=10_000).command
    'flexdp release FILE COLUMN --epsilon 1 --delta 1e-06 --ask none --kind number'
    """
    read_as: Any = choice("kind", kind, get_args(Kind))
    loss = None if epsilon is None else EPSILON.check(epsilon)
    chance = None if delta is None else (PURE_DELTA if asks(ask) else DELTA).check(delta)
    records = None if records_about is None else integer("records_about", records_about, at_most=_MOST_RECORDS)
    target = Target.of(lose_per_bucket, lose_in_all, lose_share)
    by_unit, per_unit = max_buckets_per_unit is not None, 1
    if max_buckets_per_unit is not None:
        per_unit = integer("max_buckets_per_unit", max_buckets_per_unit, at_most=_MOST_RECORDS)
    facts: dict[str, Any] = {
        "records": records,
        "per_unit": per_unit,
        "groups": Groups.of(by, groups, groups_about),
    }
    start = Plan(
        design=GivenBuckets(**facts),
        epsilon=loss,
        delta=chance or propose_delta(records),
        epsilon_is="open" if loss is None else "given",
        delta_is="given" if chance else "proposed",
        releases=integer("releases", releases),
        by_unit=by_unit,
        reported=flag("cap_report", cap_report) and by_unit,
        stats=_read_off(stats),
    )
    many = None if buckets is None else integer("buckets", buckets, at_most=_MOST_RECORDS)
    sizes = {"width": width, "relative": relative, "edges": edges, "buckets": many}
    goals = {f"lose_{name}": value for name, value in asdict(target).items()}
    sized = [name for name, value in (sizes | goals).items() if value is not None]
    if asks(ask) or (not sized and records is not None and read_as not in UNORDERED):
        laws = {"simulate": simulate, "public_sample": public_sample}
        given = [name for name, value in laws.items() if value is not None]
        planned = _without_buckets(start, facts, ask, read_as, bounds, chance, sized=sized, laws=given)
    else:
        planned = _with_buckets(
            start, facts, target, read_as, bounds, sizes, simulate, public_sample, solves_delta=chance is None
        )
    _ = planned.rows  # refused here, where ε is too small or no noise can meet it
    return planned


def _with_buckets(
    start: Plan, facts: dict[str, Any], target: Target, kind: Kind, bounds: Any, sizes: dict[str, Any],
    simulate: object, public_sample: Any, *, solves_delta: bool,
) -> Plan:  # fmt: skip
    """Return the plan of given buckets: first their width is solved for, then δ, then ε, each where it is open."""
    records, loss, total = facts["records"], start.epsilon, target.total(facts["records"])

    def affordable() -> int | None:
        """Return the number of buckets that a total affords, if it and ε are known."""
        if loss is None or total is None:
            return None
        each = start.rest(loss)
        drop = needed_reach(each.epsilon, each.delta, facts["per_unit"]) - 1
        if total < drop:
            raise InputError(
                "epsilon",
                f"lets one bucket lose {drop} records, more than the {total} that may be lost in total",
                given=number_text(loss),
                remedy="Raise either.",
            )
        if not facts["groups"].public:
            return total // drop
        return max(1, affordable_buckets(each, facts["per_unit"], drop, total) // (facts["groups"].about or 1))

    many = sizes["buckets"]
    partition = choose_partition(kind, **sizes, bounds=bounds, affordable=affordable)
    group = None if records is None else facts["groups"].of_each(records)
    counts = count_public_data(simulate, public_sample, group, partition, many)
    design = GivenBuckets(**facts, partition=partition, number=many, target=target, counts=counts)
    planned = replace(start, design=design)
    width_was_solved = partition is not None and total is not None and all(size is None for size in sizes.values())
    if not design.aims:
        return planned
    if loss is None:
        return replace(planned, epsilon=design.smallest_epsilon(planned.rest), epsilon_is="solved")
    if solves_delta and not width_was_solved:
        return replace(planned, delta=_smallest_delta(planned, design, loss), delta_is="solved")
    return planned


def _without_buckets(
    start: Plan, facts: dict[str, Any], ask: object, kind: Kind, bounds: Any, delta: Fraction | None, *,
    sized: list[str], laws: list[str],
) -> Plan:  # fmt: skip
    """Return the plan of a column without buckets of its own: asked answers, automatic buckets, or both."""
    asked, lists = asks(ask), not facts["groups"].public
    for name in laws:
        what = "answers" if asked else "automatic buckets"
        raise InputError(
            name,
            f"applies to buckets that are given: {what} are planned from the number of records alone",
            remedy=("Leave it out, or give ", P("width"), ", for example."),
        )
    if asked and sized:
        raise InputError(
            sized[0],
            ("cannot be combined with ", P("ask")),
            remedy=(
                "Plan buckets and answers by themselves, each with half of ", P("epsilon"),
                ": a release of both divides it equally.",
            ),
        )  # fmt: skip
    if asked:
        _check_asked(kind, delta, start.stats, **facts)
    statistics, column = wanted(ask, (kind,)) if asked else None, make_buckets(kind, bounds=bounds)
    assert isinstance(column, Exact)
    if statistics is None or (delta and not lists):
        return replace(
            start, design=AutomaticBuckets(**facts, column=column, asked=statistics, alone=asks_nothing(ask))
        )
    design = AskedAnswers(**facts, column=column, asked=statistics)
    return replace(start, design=design) if lists else replace(start, design=design, delta=_PURE, delta_is="given")


def _check_asked(
    kind: Kind, delta: Fraction | None, stats: tuple[str, ...], *, groups: Groups, records: int | None, **_: int
) -> None:
    """Refuse what asked answers cannot be combined with, and what they cannot be planned without."""
    lists = not groups.public
    if delta and groups.by and not lists:
        rule = ("cannot be combined with ", P("ask"), ": answers for declared groups need no δ")
        raise InputError("delta", rule, remedy="Leave it out.")
    if lists and delta is not None and not delta:
        raise InputError(
            "delta",
            "must be positive to list groups that are not known",
            given="0",
            remedy=("Declare them with ", P("groups"), ", or leave it out."),
        )
    if stats and (groups.by or not delta):
        raise InputError("stats", ("cannot be combined with ", P("ask")), remedy=("Name them in ", P("ask"), "."))
    if groups.by and groups.about is None:
        ways = ("Give ", P("groups"), " or ", P("groups_about"), ".")
        raise InputError("ask", "needs the number of groups", remedy=ways)
    if records is None:
        raise InputError("ask", "needs the number of records", remedy=("Give ", P("records_about"), " too."))
    if kind in UNORDERED:
        raise InputError("ask", ("needs a column of numbers or dates, not ", P("kind", kind)))


def _smallest_delta(planned: Plan, design: GivenBuckets, epsilon: Fraction) -> Fraction:
    """Return the smallest δ of all releases together that meets the target, rounded up to three digits."""

    def fits(delta: Fraction) -> bool:
        return design.fits(replace(planned, delta=delta).rest(epsilon))

    delta: Fraction | None
    if design.total_limit is None:
        rest = replace(planned, delta=Fraction(0)).rest(epsilon)
        each = smallest_delta(rest.epsilon, (design.limit or 0) + 1, buckets_per_unit=design.per_unit)
        delta = to_digits(each * planned.releases, 3, up=True)
    else:
        least = 2 * DELTA.low * planned.releases * design.per_unit  # for which there is noise
        delta = least_decimal(fits, least, Fraction(999, 1000), digits=3)
    if delta is None or delta >= 1:
        raise InputError(
            "epsilon",
            "is too small to lose so few records",
            given=safe_repr(epsilon),
            remedy="Raise it, or allow a larger loss.",
        )
    return delta


def _read_off(stats: object) -> tuple[str, ...]:
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
