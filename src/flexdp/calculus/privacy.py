"""The one derivation of privacy: processing, units and groups, splits and sums.

================================= =====================================================================================
pre_process, post_process         what is done before and after a private mechanism
of_unit, of_each_bucket           k buckets with independent noise: (kε, 1 − (1 − δ)^k), and back
of_group, of_each_member          k steps of one relation: (kε, δ·S_k), S_k = 1 + e^ε + … + e^{(k−1)ε}, and back
split, divide, total              a budget divided over columns, buckets and a total; its sum over releases
of_each_release                   a budget shared equally by several releases
================================= =====================================================================================

Everything is exact or rounded to the private side: a derived guarantee up, a parameter to calibrate noise with down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from operator import and_
from typing import NamedTuple, TypeAlias

from flexdp._core.domains import CERTIFY, Domain, elements, flag, instance, integer, sequence, text
from flexdp._core.exact import Number, number_text
from flexdp._core.text import safe_repr
from flexdp.calculus.powers import any_of, group_factor, share_of_each
from flexdp.errors import InputError, P
from flexdp.guarantees import AddRemove, Neighbours, Privacy
from flexdp.guarantees.relations import neighbours_given

__all__ = [
    "Division",
    "Relation",
    "divide",
    "of_each_bucket",
    "of_each_member",
    "of_each_release",
    "of_group",
    "of_unit",
    "post_process",
    "pre_process",
    "split",
    "total",
]

Relation: TypeAlias = tuple[Neighbours, Neighbours]  # the neighbours that a step takes, and those that it gives

_LARGEST_EPSILON = 10**4  # of any guarantee
_LARGEST_GROUP = 10**9  # beyond it sixty digits no longer tell a step's factor from 1
_PART = Domain(name="shares", low=Fraction(0), remedy="Give a positive share to each, for example [2, 1, 1].")


def _privacy(value: object) -> Privacy:
    return instance("privacy", value, Privacy, "a Privacy")


def post_process(privacy: Privacy) -> Privacy:
    """Return the privacy of any function of a private output: the same (Dwork and Roth, Prop. 2.1).

    Parameters
    ----------
    privacy
        Privacy of the output.

    Returns
    -------
    Privacy
        The same guarantee.

    Examples
    --------
    >>> private = Privacy(epsilon=1, delta="1e-6")
    >>> post_process(private) == private
    True
    """
    return _privacy(privacy)


def pre_process(privacy: Privacy, *, relation: Relation | None, keeps_condition: bool = False) -> Privacy:
    """Derive the privacy of M₂∘M₁ where M₁ maps neighbours to neighbours (paper, Thm. compose-DP).

    Parameters
    ----------
    privacy
        Privacy of M₂.
    relation
        The neighbours that M₁ takes, and those that it gives; None where it keeps none. M₂ must be private for the
        latter.
    keeps_condition
        True if the condition ``privacy.given`` is true of M₁'s output wherever it is true of the table, for example
        because M₁ keeps the number of records.

    Returns
    -------
    Privacy
        The guarantee for the neighbours that M₁ takes.

    Raises
    ------
    InputError
        The relations do not fit, or a condition is not kept: nothing follows.

    Examples
    --------
    >>> from flexdp.guarantees import ONE_RECORD, OwnNeighbours
    >>> rows = OwnNeighbours("change one row")
    >>> print(pre_process(Privacy(epsilon=1, delta=0), relation=(rows, ONE_RECORD)).neighbours)
    change one row
    """
    privacy = _privacy(privacy)
    if relation is None:
        raise InputError("relation", "is missing: the first mechanism does not map neighbours to neighbours")
    pair = sequence(relation)
    if pair is None or len(pair) != 2:
        raise InputError("relation", "must be a pair: the neighbours that are taken, and those that are given")
    before, after = (neighbours_given("relation", part) for part in pair)
    if not privacy.neighbours.covers(after):
        rule = f"must end in neighbours that privacy covers: {after} is not {privacy.neighbours}"
        raise InputError("relation", rule)
    if not flag("keeps_condition", keeps_condition) and privacy.given is not None:
        raise InputError(
            "keeps_condition",
            ("must be True where ", P("privacy"), " has a condition: it holds of the table only if it is kept"),
        )
    return replace(privacy, neighbours=before)


def of_unit(privacy: Privacy, buckets: int, *, unit: str = "record") -> Privacy:
    """Derive the privacy of a unit that counts once in each of several buckets with independent noise.

    Parameters
    ----------
    privacy
        Privacy of one bucket, for a step of one.
    buckets
        Most buckets k in which a unit counts.
    unit
        Name of the unit.

    Returns
    -------
    Privacy
        (kε, 1 − (1 − δ)^k), rounded up.

    Examples
    --------
    >>> found = of_unit(Privacy(epsilon="0.5", delta="1e-6"), 2, unit="patient")
    >>> float(found.epsilon), float(found.delta)
    (1.0, 1.999999e-06)
    """
    privacy, many, name = _privacy(privacy), integer("buckets", buckets), text("unit", unit)
    return _changed(privacy, privacy.epsilon * many, lambda delta: any_of(delta, many), AddRemove(name, many))


def of_each_bucket(privacy: Privacy, buckets: int) -> Privacy:
    """Derive the privacy that each bucket must have for a unit that counts in several of them.

    Parameters
    ----------
    privacy
        Privacy of the unit.
    buckets
        Most buckets k in which a unit counts.

    Returns
    -------
    Privacy
        ε/k and 1 − (1 − δ)^{1/k}, for a step of one in one bucket. δ is the largest multiple of 10^-60 for which a
        proven lower bound of (1 − δ)^k suffices.

    Examples
    --------
    >>> share = of_each_bucket(Privacy(epsilon=1, delta="1e-6"), 2)
    >>> float(share.epsilon), float(share.delta)
    (0.5, 5.000001250000625e-07)
    """
    privacy, many = _privacy(privacy), integer("buckets", buckets)
    delta = privacy.delta if many == 1 or not privacy.delta else share_of_each(privacy.delta, many)
    return Privacy(epsilon=privacy.epsilon / many, delta=delta, given=privacy.given)


def of_group(privacy: Privacy, size: int) -> Privacy:
    """Derive the privacy of a group: data that differ by several steps of the relation.

    Parameters
    ----------
    privacy
        Privacy for one step.
    size
        Most steps k.

    Returns
    -------
    Privacy
        (kε, δ·S_k) with S_k = 1 + e^ε + … + e^{(k−1)ε}, rounded up; the relation is still that of one step.

    Raises
    ------
    InputError
        δ·S_k is 1 or more: such a group has no privacy.

    Examples
    --------
    >>> found = of_group(Privacy(epsilon=1, delta="1e-6"), 2)
    >>> float(found.epsilon), float(found.delta)
    (2.0, 3.718281828459045e-06)
    """
    privacy, many = _privacy(privacy), integer("size", size, at_most=_LARGEST_GROUP)
    factor = group_factor(privacy.epsilon, many) if privacy.epsilon * many <= _LARGEST_EPSILON else None
    if factor is None or privacy.delta * factor >= 1:
        raise InputError("size", "is too large: such a group has no privacy", given=safe_repr(many))
    return _changed(privacy, privacy.epsilon * many, lambda delta: delta * factor, privacy.neighbours)


def of_each_member(privacy: Privacy, size: int) -> Privacy:
    """Derive the privacy that one step must have for data that differ by several.

    Parameters
    ----------
    privacy
        Privacy of the group.
    size
        Most steps k.

    Returns
    -------
    Privacy
        ε/k and δ/S_k, S_k = 1 + e^{ε/k} + … + e^{(k−1)ε/k}; δ is rounded down.

    Examples
    --------
    >>> member = of_each_member(Privacy(epsilon=1, delta="1e-6"), 2)
    >>> float(member.epsilon), float(member.delta)
    (0.5, 3.7754066879814545e-07)
    """
    privacy, many = _privacy(privacy), integer("size", size, at_most=_LARGEST_GROUP)
    step = privacy.epsilon / many
    return replace(privacy, epsilon=step, delta=privacy.delta / group_factor(step, many), delta_real=None)


def split(privacy: Privacy, shares: Sequence[Number]) -> tuple[Privacy, ...]:
    """Divide a budget: over columns that are released separately, or between buckets and a certified total.

    Parameters
    ----------
    privacy
        The whole budget.
    shares
        Positive shares, in proportion.

    Returns
    -------
    tuple of Privacy
        One part for each share; :func:`total` gives the whole again.

    Raises
    ------
    InputError
        The shares are not a list of positive numbers.

    Examples
    --------
    >>> [str(part.epsilon) for part in split(Privacy(epsilon=1, delta="1e-6"), [2, 1, 1])]
    ['1/2', '1/4', '1/4']
    """
    privacy, listed = _privacy(privacy), sequence(shares)
    if not listed:
        raise InputError("shares", "must be a list of positive numbers", given=safe_repr(shares))
    parts = [_PART.check(part) for part in listed]
    whole = sum(parts)
    return tuple(
        replace(privacy, epsilon=privacy.epsilon * part / whole, delta=privacy.delta * part / whole, delta_real=None)
        for part in parts
    )


def of_each_release(privacy: Privacy, releases: int) -> Privacy:
    """Divide a budget equally over several releases, each of which may depend on the ones before.

    Parameters
    ----------
    privacy
        The whole budget.
    releases
        Number of releases m.

    Returns
    -------
    Privacy
        (ε/m, δ/m), by basic composition; :func:`total` of m such parts gives the whole again.

    Examples
    --------
    >>> part = of_each_release(Privacy(epsilon=1, delta="1e-6"), 4)
    >>> float(part.epsilon), float(part.delta)
    (0.25, 2.5e-07)
    """
    privacy, many = _privacy(privacy), integer("releases", releases)
    return replace(privacy, epsilon=privacy.epsilon / many, delta=privacy.delta / many, delta_real=None)


class Division(NamedTuple):
    """Budget of each bucket, and of a certified total where there is one."""

    bucket: Privacy
    total: Privacy | None


def divide(privacy: Privacy, *, buckets: int = 1, certify: Number | None = None) -> Division:
    """Divide the budget of a release between the buckets of one unit and, where asked, a certified total.

    One unit changes each of k buckets by one, and the total by at most k.

    Parameters
    ----------
    privacy
        Budget of one unit.
    buckets
        Most buckets k in which a unit counts.
    certify
        Share of the budget that goes to the total.

    Returns
    -------
    Division
        Privacy for a step of one, of each bucket and of the total.

    Examples
    --------
    >>> parts = divide(Privacy(epsilon=1, delta="1e-6"), buckets=2, certify="0.1")
    >>> float(parts.bucket.epsilon), float(parts.total.epsilon)
    (0.45, 0.05)
    """
    if certify is None:
        return Division(of_each_bucket(privacy, buckets), None)
    share = CERTIFY.check(certify)
    rest, bound = split(privacy, [1 - share, share])
    return Division(of_each_bucket(rest, buckets), of_each_member(bound, buckets))


def total(privacies: Iterable[Privacy]) -> Privacy:
    """Sum the privacy of several releases of the same data (basic composition: losses add up).

    Parameters
    ----------
    privacies
        The guarantees, for neighbours of one kind.

    Returns
    -------
    Privacy
        (Σε, Σδ), under all their conditions.

    Raises
    ------
    InputError
        There are none, they protect different neighbours, or their δ add up to 1 or more.

    Examples
    --------
    >>> found = total([Privacy(epsilon="0.5", delta="1e-6"), Privacy(epsilon=1, delta=0)])
    >>> float(found.epsilon), float(found.delta)
    (1.5, 1e-06)
    """
    listed = elements(privacies)
    if not listed:
        raise InputError("privacies", "must be a list of at least one guarantee", given=safe_repr(privacies))
    each = [instance("privacies", one, Privacy, "a list of Privacy") for one in listed]
    common = next((p.neighbours for p in each if all(q.neighbours.covers(p.neighbours) for q in each)), None)
    if common is None:
        named = " and ".join(dict.fromkeys(str(one.neighbours) for one in each))
        raise InputError("privacies", f"must protect the same neighbours: {named} have no sum")
    delta = sum((one.delta for one in each), Fraction(0))
    if delta >= 1:
        raise InputError("privacies", "must have deltas that add up to less than 1", given=number_text(delta))
    given = [one.given for one in each if one.given is not None]
    known = any(one.delta_real is not None for one in each)
    real = sum((one.delta if one.delta_real is None else one.delta_real for one in each), Fraction(0))
    return Privacy(
        epsilon=sum((one.epsilon for one in each), Fraction(0)),
        delta=delta,
        neighbours=common,
        given=reduce(and_, given) if given else None,
        delta_real=real if known else None,
    )


def _changed(
    privacy: Privacy, epsilon: Fraction, change: Callable[[Fraction], Fraction], neighbours: Neighbours
) -> Privacy:
    """The guarantee for other neighbours, with δ and the real δ changed alike."""
    real = None if privacy.delta_real is None else change(privacy.delta_real)
    return Privacy(
        epsilon=epsilon, delta=change(privacy.delta), neighbours=neighbours, given=privacy.given, delta_real=real
    )
