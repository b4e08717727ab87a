"""Plans that would leave nothing, and the plan to run instead.

Everything is decided by the public parameters of a plan: the number of records, the buckets, and the law if one is
given; without a law, records are taken to be spread evenly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from flexdp._release.asked_sentences import statistic_of
from flexdp._release.asking import asks, wanted
from flexdp.errors import InputError, Phrase
from flexdp.planning.advice import Advice
from flexdp.planning.answers import AskedOutlook
from flexdp.planning.automatic import AutomaticOutlook
from flexdp.planning.bounds import AnswerBound
from flexdp.planning.cautions import assumed_buckets
from flexdp.planning.expected import UNORDERED
from flexdp.planning.options import LADDER

__all__ = ["leaves_nothing", "with_working"]

# Times the records that are needed. The number that decides is noisy: with so many, it is too small in less than one of
# a hundred releases of asked answers, and in one of four hundred where five answers take the place of buckets.
_MARGIN, _MARGIN_OF_FIVE = 2, 3
_NEARLY_ALL = 0.9  # of the records
_SIZES = ("width", "relative", "edges", "buckets", "lose_per_bucket", "lose_in_all", "lose_share")
_GROUPS = ("by", "groups", "groups_about")
_HOPELESS = "there may be nothing left at this ε, whatever is published: there is no command to run."


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
        return advice.sharp.lists_none(epsilon) or all(_useless(bound, group) for bound in bounds)
    if advice.sharp is not None:
        divided = advice.sharp.shares(epsilon)
        if divided is None:
            return bool(advice.groups.by) or advice.sharp.answers_none(epsilon, asked=_MARGIN, five=_MARGIN_OF_FIVE)
        return group <= divided.most_buckets * (divided.reach - 1) / 2
    if advice.chosen is None:
        return False
    if advice.expected is not None:
        return advice.expected.share > _NEARLY_ALL
    drop = advice.chosen.max_drop
    if advice.setting.buckets is None:
        return group <= max(drop, assumed_buckets(advice.partition) * drop / 2)
    return records <= advice.setting.buckets * drop / 2


def _useless(bound: AnswerBound, records: int) -> bool:
    """Tell whether there are too few records for an answer, or a count may be off by all of them."""
    if bound.stat == "count" and bound.bound is not None:
        return bound.bound >= records
    return bound.needs * _MARGIN > records


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
    found = _first(_at_the_same_epsilon(advice, given), plan)
    if found is not None and not found.lesser:
        return replace(advice, instead=found.plan, instead_because=found.because)
    larger = _first(_at_a_larger_epsilon(advice, given), plan)
    return replace(
        advice,
        instead=None if found is None else found.plan,
        instead_because=_HOPELESS if found is None else found.because,
        larger=None if larger is None else larger.plan,
    )


@dataclass(frozen=True)
class _Other:
    """A plan that leaves something, what is said of it, and whether it publishes less than was asked for."""

    plan: Advice
    because: Phrase
    lesser: bool


_Candidates = Iterator[tuple[Phrase, bool, dict[str, Any]]]


def _first(candidates: _Candidates, plan: Callable[..., Advice]) -> _Other | None:
    for because, lesser, changed in candidates:
        try:
            other = plan(**changed)
        except InputError:  # it does not apply to this column, or to this ε
            continue
        if not leaves_nothing(other):
            return _Other(other, because, lesser)
    return None


def _at_the_same_epsilon(advice: Advice, given: Mapping[str, Any]) -> _Candidates:
    """Yield parameters that may leave something, the nearest to the plan first, each with what is said of it."""
    ordered = given["kind"] not in UNORDERED
    own = {**given, "epsilon": advice.epsilon}
    bare = _without_sizes(own)
    chooses = advice.sharp is None and ordered
    if chooses:
        yield "almost nothing would be left of these buckets: the command lets flexdp choose others.", False, bare
    if asks(given["ask"]):
        if isinstance(advice.sharp, AutomaticOutlook):
            says = "there may be too few records for buckets and answers: the command asks for answers alone."
            yield says, True, {**own, "delta": None, "stats": None}
        words = wanted(given["ask"], (given["kind"],)).words
        if len(words) > 1:
            first = statistic_of(words[0]).name
            says = f"there may be too few records for so many answers: the command asks for the {first} alone."
            delta = given["delta"] if advice.groups.by else None
            yield says, True, {**own, "ask": words[0], "delta": delta, "stats": None}
    if advice.groups.by:
        whole = {**own, **dict.fromkeys(_GROUPS), "delta": None if asks(given["ask"]) else given["delta"]}
        yield "almost nothing would be left of these groups: the command leaves them out.", True, whole
        if chooses:
            says = "almost nothing would be left of these groups and buckets: the command lets flexdp choose buckets "
            yield f"{says}of all records.", True, _without_sizes(whole)
    if ordered:
        alone = {**bare, **dict.fromkeys((*_GROUPS, "delta", "stats")), "ask": "count"}
        yield "there may be nothing left at this ε: the command asks for the number of records alone.", True, alone


def _at_a_larger_epsilon(advice: Advice, given: Mapping[str, Any]) -> _Candidates:
    """Yield the same parameters with a larger ε; then, for each ε, with buckets that the release chooses."""
    for epsilon in LADDER:
        if advice.epsilon is not None and epsilon > advice.epsilon:
            yield "", True, {**given, **dict.fromkeys(_SIZES[4:]), "epsilon": epsilon}
            if advice.sharp is None and given["kind"] not in UNORDERED:
                yield "", True, _without_sizes({**given, "epsilon": epsilon})


def _without_sizes(given: Mapping[str, Any]) -> dict[str, Any]:
    bounds = given["bounds"] if given["edges"] is None else (given["edges"][0], given["edges"][-1])
    return {**given, **dict.fromkeys(_SIZES), "bounds": bounds}
