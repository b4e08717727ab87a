"""Plans that would leave nothing, and the plan to run instead.

Everything is decided by the public parameters of a plan: the number of records, the buckets, and the law if one is
given; without a law, records are taken to be spread evenly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from flexdp.errors import InputError, P, Phrase
from flexdp.planning.advice import Advice
from flexdp.planning.answers import AskedOutlook
from flexdp.planning.expected import UNORDERED
from flexdp.planning.options import LADDER, plain_number

__all__ = ["leaves_nothing", "with_working"]

_MARGIN = 5  # times the records that are needed: the number that decides is noisy
_NEARLY_ALL = 0.9  # of the records
_HOPELESS = "no usual ε leaves anything of so few records: do not run the command."
_SIZES = ("width", "relative", "edges", "buckets", "lose_per_bucket", "lose_in_all", "lose_share")


def leaves_nothing(advice: Advice) -> bool:
    """Tell whether a release as planned would leave nothing, or hardly anything; False where nobody can know.

    Parameters
    ----------
    advice
        The plan.

    Returns
    -------
    bool
        False also if no ε is chosen, or the number of records is not known.

    Examples
    --------
    >>> from flexdp import plan
    >>> leaves_nothing(plan(epsilon=1, delta="1e-6", width=5, bounds=(0, 120), records_about=50_000))
    False
    >>> leaves_nothing(plan(epsilon="0.01", ask="max", records_about=500))
    True
    """
    records, epsilon = advice.setting.records_about, advice.epsilon
    if records is None or epsilon is None:
        return False
    group = advice.groups.of_each(records)
    if isinstance(advice.sharp, AskedOutlook):
        bounds = advice.sharp.option(epsilon).bounds
        return advice.sharp.lists_none(epsilon) or all(bound.needs * _MARGIN > group for bound in bounds)
    if advice.sharp is not None:
        divided = advice.sharp.shares(epsilon)
        if divided is None:
            return bool(advice.groups.by) or advice.sharp.answers_none(epsilon, _MARGIN)
        return group <= divided.most_buckets * (divided.reach - 1) / 2
    if advice.chosen is None:
        return False
    if advice.expected is not None:
        return advice.expected.share > _NEARLY_ALL
    if advice.setting.buckets is None:
        return group <= advice.chosen.max_drop
    return records <= advice.setting.buckets * advice.chosen.max_drop / 2


def with_working(advice: Advice, plan: Callable[..., Advice], given: Mapping[str, Any]) -> Advice:
    """Return the plan with the one to run instead, if it would leave nothing itself.

    Parameters
    ----------
    advice
        The plan.
    plan
        The function that plans.
    given
        The parameters of the plan.

    Returns
    -------
    Advice
        The plan, or a copy that knows the plan to run instead.
    """
    if not leaves_nothing(advice):
        return advice
    for reason, changed in _candidates(advice, given):
        try:
            other = plan(**changed)
        except InputError:  # it does not apply to this column, or to this ε
            continue
        if not leaves_nothing(other):
            return replace(advice, instead=other, instead_because=reason)
    return replace(advice, instead_because=_HOPELESS)


def _candidates(advice: Advice, given: Mapping[str, Any]) -> Iterator[tuple[Phrase, dict[str, Any]]]:
    """Yield parameters that may leave something, the nearest to the plan first, each with what is said of it."""
    ordered = given["kind"] not in UNORDERED
    bare: dict[str, Any] = {**given, **dict.fromkeys(_SIZES), "epsilon": advice.epsilon}
    alone = {**bare, "delta": None, "stats": None}
    if advice.sharp is None and ordered:
        if given["edges"] is not None:
            bare["bounds"] = alone["bounds"] = (given["edges"][0], given["edges"][-1])
        yield "almost nothing would be left of these buckets: the command lets flexdp choose others.", bare
    for epsilon in LADDER:
        if advice.epsilon is not None and epsilon > advice.epsilon:
            raised = P("epsilon", plain_number(epsilon))
            says: Phrase = ("almost nothing would be left at this ε: the command is for ", raised, ".")
            yield says, {**given, **dict.fromkeys(_SIZES[4:]), "epsilon": epsilon}
            if advice.sharp is None and ordered:
                yield says, {**bare, "epsilon": epsilon}
    if advice.groups.by:
        whole: dict[str, Any] = dict.fromkeys(("by", "groups", "groups_about"))
        yield "almost nothing would be left of these groups: the command leaves them out.", {**given, **whole}
        alone |= whole
    if ordered:
        yield "almost nothing would be left at any usual ε: the command asks for the number of records alone.", {
            **alone, "ask": "count",
        }  # fmt: skip
