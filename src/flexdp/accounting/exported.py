"""Loss distributions in the form of dp-accounting, for composition with mechanisms of other libraries."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import TYPE_CHECKING

from flexdp._core.extras import extra
from flexdp.accounting.lattice import Sum

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

__all__ = ["privacy_loss_distribution"]


def privacy_loss_distribution(losses: Sum, step: Fraction) -> PrivacyLossDistribution:
    """Return losses on a lattice as a PrivacyLossDistribution."""
    with extra("accounting", "dp_accounting", "to_dp_accounting"), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of packages that it imports
        from dp_accounting.pld import privacy_loss_distribution as made

    slack = 1 + 2 * losses.error
    masses = {losses.low + place: float(mass) * slack for place, mass in enumerate(losses.masses) if mass}
    return made.PrivacyLossDistribution.create_from_rounded_probability(masses, losses.infinite, float(step))
