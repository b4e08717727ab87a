"""The cost of a release, added up again from its steps: forwards, where the release divided its budget backwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from flexdp._release.asked import Asked
from flexdp._release.automatic import Auto
from flexdp._release.published import Release
from flexdp.accounting.budget import Budget
from flexdp.calculus.privacy import of_group, of_unit
from flexdp.guarantees import Privacy
from flexdp.mechanisms.program import Draw, spent
from flexdp.noise.drop import DropNoise

__all__ = ["Spent", "spent_by"]


@dataclass(frozen=True, slots=True)
class Spent:
    """The cost of one part of a release, for one unit.

    Parameters
    ----------
    name
        The part, in words.
    epsilon, delta
        Its cost, rounded up.
    """

    name: str
    epsilon: Fraction
    delta: Fraction


def spent_by(release: Release, steps: Sequence[Sequence[Draw]]) -> list[Spent]:
    """Return the cost of each part of a release, from the noise that was drawn and the number of buckets of a unit.

    Parameters
    ----------
    release
        The release.
    steps
        The private steps behind the asked answers, of each group.

    Returns
    -------
    list of Spent
        What adds up to the privacy of the release, or to less.
    """
    parts: list[Spent] = []
    most, auto, asked = release.spec.max_buckets_per_unit, release.auto, release.asked
    counted_once = auto is not None and asked is not None and auto.gave_five(asked)
    if auto is not None and not counted_once:  # five answers instead of buckets begin with the same noisy count
        parts.append(_choosing(auto))
    if release.budget is not None:
        parts += _counts(release.budget)
    if asked is not None:
        parts.append(_answers(asked, most, steps))
    if release.caps:  # each unit is in one of the two numbers of a report
        of_units = sum((cap.mechanism.epsilon for cap in release.caps), Fraction(0))
        parts.append(Spent("units by the cap", of_units, Fraction(0)))
    return parts


def _noise(noise: DropNoise) -> Privacy:
    return Privacy(epsilon=noise.epsilon, delta=noise.delta)


def _counts(budget: Budget) -> list[Spent]:
    unit = of_unit(_noise(budget.bars), budget.most)
    parts = [Spent("counts", unit.epsilon, unit.delta)]
    if budget.total is not None:
        bound = of_group(_noise(budget.total), budget.most)
        parts.append(Spent("certified total", bound.epsilon, bound.delta))
    return parts


def _choosing(auto: Auto) -> Spent:
    steps = (epsilon for step, epsilon in auto.epsilons.items() if step != "buckets")
    return Spent("choice of buckets" if auto.chosen else "number of records", sum(steps, Fraction(0)), Fraction(0))


def _answers(asked: Asked, most: int, steps: Sequence[Sequence[Draw]]) -> Spent:
    """Each record lies in one group, so all groups cost as much as the dearest; listing them comes first."""
    listing, delta = asked.budget.listing, Fraction(0)
    dearest = Fraction(0) if listing is None else listing.epsilon
    if listing is not None:
        delta = of_group(_noise(listing.noise), most).delta
    for own in steps:
        dearest = max(dearest, spent(step.cost for step in own))
    return Spent("asked answers", most * dearest, delta)
