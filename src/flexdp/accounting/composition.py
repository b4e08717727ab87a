"""Privacy of several releases of the same data together, for releases that were all declared beforehand.

:func:`compose` adds up exact loss distributions and is never worse than basic composition, which adds up ε and δ. It
holds for a sequence whose parameters do not depend on earlier answers. Releases that are chosen one after another need
basic composition, as a :class:`~flexdp.accounting.ledger.Ledger` does: tight composition of parameters chosen along
the way can exceed the budget although every single path stays within it.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from flexdp._core.domains import PURE_DELTA, attribute, elements, integer
from flexdp._core.enclosure import least
from flexdp._core.exact import Number, exact, number_text, upper_text
from flexdp._core.extras import extra
from flexdp._core.text import safe_repr
from flexdp.accounting.budget import Budget
from flexdp.accounting.lattice import Sum, sum_of
from flexdp.accounting.losses import (
    LossDistribution,
    losses_of_budget,
    losses_of_noise,
    losses_of_privacy,
    losses_of_total,
)
from flexdp.calculus.privacy import total
from flexdp.errors import InputError, P
from flexdp.guarantees import Privacy
from flexdp.noise.drop import DropNoise
from flexdp.noise.total import TotalNoise

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

__all__ = ["PrivacyCurve", "compose", "losses_of", "privacy_curve"]

_DIGITS = 10**12  # ε is rounded up to a multiple of 1e-12
_EXAMPLE = "Give a list of releases, of Privacy, or of both."


@dataclass(frozen=True)
class PrivacyCurve:
    """δ as a function of ε for several releases together, every value rounded up.

    Parameters
    ----------
    basic
        Their guarantee by basic composition: the sums of ε and of δ.
    parts
        Loss distributions, each with its number of independent copies.

    Examples
    --------
    >>> curve = privacy_curve([DropNoise(1, "1e-6")] * 2)
    >>> round(curve.delta_at(1), 3)
    0.158
    >>> round(float(curve.epsilon_at("1e-5")), 5), curve.basic.epsilon
    (1.99997, Fraction(2, 1))
    """

    basic: Privacy
    parts: Mapping[LossDistribution, int]

    @cached_property
    def _sum(self) -> tuple[Sum, Fraction]:
        return sum_of(self.parts)

    @property
    def smallest_delta(self) -> Fraction:
        """Smallest δ that any ε can have: the chance that data are told apart for sure, rounded up."""
        return min(self.basic.delta, Fraction(self._sum[0].infinite))

    def delta_at(self, epsilon: Number) -> float:
        """Return the smallest proven δ at an ε.

        Parameters
        ----------
        epsilon
            Any ε of at least 0.

        Returns
        -------
        float
            δ, rounded up.

        Raises
        ------
        InputError
            If ε is negative.
        """
        asked = exact("epsilon", epsilon)
        if asked < 0:
            raise InputError("epsilon", "must be at least 0", given=safe_repr(epsilon))
        found = self._delta(min(asked, self.basic.epsilon))  # beyond it δ does not grow
        return min(found, _up(self.basic.delta)) if asked >= self.basic.epsilon else found

    def _delta(self, epsilon: Fraction) -> float:
        losses, step = self._sum
        return losses.delta(_down(epsilon), step)

    def epsilon_at(self, delta: Number) -> Fraction:
        """Return the smallest proven ε at a δ; never above the sum of all ε where δ is at least the sum of all δ.

        Parameters
        ----------
        delta
            Any δ from :attr:`smallest_delta` on.

        Returns
        -------
        Fraction
            ε, rounded up to a multiple of 1e-12.

        Raises
        ------
        InputError
            If no ε has so small a δ.
        """
        wanted = PURE_DELTA.check(delta)
        if wanted < self.smallest_delta:
            raise InputError(
                "delta",
                f"must be at least {upper_text(self.smallest_delta)} for these releases together",
                given=number_text(wanted),
            )
        most = math.ceil(self.basic.epsilon * _DIGITS)  # the sum of all ε, where basic composition gets
        found = least(lambda units: self._delta(Fraction(units, _DIGITS)) <= wanted, 1, most)
        return min(Fraction(found, _DIGITS), self.basic.epsilon)

    def points(self, count: int = 50) -> list[tuple[Fraction, float]]:
        """Return points of the curve, from ε = 0 to the sum of all ε.

        Parameters
        ----------
        count
            Number of points, at least 2.

        Returns
        -------
        list of tuple
            Pairs (ε, δ).

        Examples
        --------
        >>> [float(epsilon) for epsilon, _ in privacy_curve([Privacy(epsilon=1, delta=0)]).points(3)]
        [0.0, 0.5, 1.0]
        """
        last = integer("count", count, at_least=2, at_most=10**6) - 1
        places = [self.basic.epsilon * number / last for number in range(last + 1)]
        return [(place, self.delta_at(place)) for place in places]

    def to_dp_accounting(self) -> PrivacyLossDistribution:
        """Return the privacy loss distribution as dp-accounting knows it, to compose with mechanisms of your own.

        Its masses are those that :meth:`delta_at` uses, rounded up.

        Returns
        -------
        dp_accounting.pld.privacy_loss_distribution.PrivacyLossDistribution
            On the lattice of these losses, for adding and removing a unit alike.

        Examples
        --------
        >>> from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism
        >>> ours = privacy_curve([DropNoise(1, "1e-6")]).to_dp_accounting()
        >>> theirs = from_gaussian_mechanism(4.0, value_discretization_interval=1.0)
        >>> bool(ours.compose(theirs).get_delta_for_epsilon(4.0) < 1e-4)
        True
        """
        with extra("accounting", "dp_accounting", "to_dp_accounting"), warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of packages that it imports
            from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution as Made

        losses, step = self._sum
        slack = 1 + 2 * losses.error
        masses = {losses.low + index: float(mass) * slack for index, mass in enumerate(losses.masses) if mass}
        excess = losses.infinite + math.fsum(masses.values()) - 1 if losses.whole > 0 else 0.0
        # Below its smallest loss a curve is straight and ends at 1, and that of the mechanism, which is convex, ends
        # there too: what is more than 1 in all may be taken from the smallest losses.
        for index in sorted(masses):
            taken = min(masses[index], max(0.0, excess))
            masses[index], excess = masses[index] - taken, excess - taken
        masses = {index: mass for index, mass in masses.items() if mass}
        return Made.create_from_rounded_probability(masses, losses.infinite, float(step))


def losses_of(item: Any) -> tuple[Privacy, tuple[tuple[LossDistribution, int], ...]]:
    """Return the guarantee of a release, and its losses as exactly as they are known.

    Parameters
    ----------
    item
        A release, several released separately, a budget, a noise table, a mechanism, or a Privacy.

    Returns
    -------
    tuple
        The guarantee, and pairs (distribution, number of copies).

    Raises
    ------
    InputError
        If it is none of these.

    Examples
    --------
    >>> [copies for _, copies in losses_of(Budget(1, "1e-6", most=2))[1]]
    [2]
    """
    if isinstance(item, DropNoise):
        return Privacy(epsilon=item.epsilon, delta=item.delta), ((losses_of_noise(item), 1),)
    if isinstance(item, Budget):
        return item.privacy(), losses_of_budget(item)
    together = attribute(item, "limited")  # of buckets that are public, by a mechanism that drops records
    if isinstance(together, TotalNoise):
        return item.privacy, losses_of_total(together)
    privacy = item if isinstance(item, Privacy) else attribute(item, "privacy")
    if not isinstance(privacy, Privacy):
        raise InputError("releases", "must be releases or guarantees", given=safe_repr(item), remedy=_EXAMPLE)
    if isinstance(item, Mapping):
        return privacy, tuple(pair for each in item.values() for pair in losses_of(each)[1])
    budget, asked = attribute(item, "budget"), attribute(attribute(item, "asked"), "budget")
    counts = [each.privacy(item.spec) for each in attribute(item, "caps") or ()]  # of units, beside the buckets
    known = [*(each.privacy(privacy.unit) for each in (budget, asked) if each is not None), *counts]
    # Buckets that were chosen along the way leave a part of ε for that; their budget may depend on what came out.
    exactly = (
        isinstance(budget, Budget)
        and sum(each.epsilon for each in known) == privacy.epsilon
        and sum(each.delta for each in known) == privacy.delta
    )
    if not exactly:  # a guarantee is all that is known of it
        return privacy, ((losses_of_privacy(privacy), 1),)
    rest = [(losses_of_privacy(each), 1) for each in known[1:]]
    return privacy, (*losses_of_budget(budget), *rest)


def privacy_curve(releases: Sequence[Any]) -> PrivacyCurve:
    """Return δ as a function of ε for several releases of the same data together.

    Parameters
    ----------
    releases
        Releases of the same unit; also guarantees, budgets, noise tables or mechanisms. None may depend on the answer
        of another.

    Returns
    -------
    PrivacyCurve
        Its values are proven upper bounds.

    Raises
    ------
    InputError
        If there are none, or they protect different units.

    Examples
    --------
    >>> curve = privacy_curve([Privacy(epsilon="0.1", delta=0)] * 100)
    >>> float(curve.epsilon_at("1e-6")) < 10 / 1.8
    True
    """
    listed = elements(releases)
    if not listed:
        raise InputError("releases", "must be a list of at least one", given=safe_repr(releases), remedy=_EXAMPLE)
    found = [losses_of(each) for each in listed]
    guarantees = Counter(privacy for privacy, _ in found)
    parts: Counter[LossDistribution] = Counter()
    for _, pairs in found:
        for losses, copies in pairs:
            parts[losses] += copies
    return PrivacyCurve(_basic(guarantees), dict(parts))


def _basic(guarantees: Mapping[Privacy, int]) -> Privacy:
    """Sum of all guarantees, of which many may be the same; a δ of 1 or more says nothing and is refused."""
    each = [replace(one, delta=Fraction(0), delta_real=None) for one in guarantees]
    common = total(each)  # refuses different units
    delta = sum((one.delta * many for one, many in guarantees.items()), Fraction(0))
    epsilon = sum((one.epsilon * many for one, many in guarantees.items()), Fraction(0))
    if delta >= 1:
        raise InputError("releases", "must have deltas that add up to less than 1", given=number_text(delta))
    return replace(common, epsilon=epsilon, delta=delta)


def compose(releases: Sequence[Any], *, delta: Number) -> Privacy:
    """Return the privacy of several releases of the same data together: the smallest proven ε at a given δ.

    For releases that are all declared before the first is made. It is never worse than basic composition, the sums of ε
    and of δ.

    Parameters
    ----------
    releases
        Releases of the same unit; also guarantees, budgets, noise tables or mechanisms. None may depend on the answer
        of another.
    delta
        δ of all of them together.

    Returns
    -------
    Privacy
        ε, rounded up, and δ.

    Raises
    ------
    InputError
        If the releases protect different units, or no ε has so small a δ.

    Examples
    --------
    >>> import flexdp
    >>> daily = flexdp.release([30.0] * 900, epsilon="0.1", delta="1e-8", width=5)
    >>> year = flexdp.compose([daily] * 365, delta="1e-5")
    >>> round(float(year.epsilon), 1), float(365 * daily.privacy.epsilon)
    (9.3, 36.5)
    """
    curve = privacy_curve(releases)
    wanted = PURE_DELTA.check(delta)
    try:
        epsilon = curve.epsilon_at(wanted)
    except InputError as refusal:
        raise InputError(
            "delta", refusal.rule, given=refusal.given, remedy=("Choose a larger ", P("delta"), ".")
        ) from None
    return replace(curve.basic, epsilon=epsilon, delta=wanted)


def _down(value: Fraction) -> float:
    """The nearest double that is not above."""
    near = float(value)
    return near if Fraction(near) <= value else math.nextafter(near, -math.inf)


def _up(value: Fraction) -> float:
    near = float(value)
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)
