"""Several releases that are all declared beforehand: what tight composition saves over an even split."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flexdp._core.exact import exact_text
from flexdp._core.text import thousands
from flexdp._release.capped import SHARE
from flexdp.accounting.calibration import MOST_RELEASES, Calibration, calibrate
from flexdp.planning.options import Setting

__all__ = ["Declared", "declared_of"]


@dataclass(frozen=True, slots=True)
class Declared:
    """The budget of each of several releases by tight composition, in words and as JSON."""

    found: Calibration

    def __str__(self) -> str:
        each = f"ε = {exact_text(self.found.each.epsilon)} and δ = {exact_text(self.found.each.delta)}"
        lost, fewer = thousands(self.found.reach - 1), thousands(self.found.saved)
        told = f"If all {self.found.releases} releases are declared beforehand, each may use {each}"
        return f"{told}: a bucket then loses at most {lost} records, {fewer} fewer."

    def document(self) -> dict[str, Any]:
        """Return the budget as JSON values."""
        return {
            "epsilon": exact_text(self.found.each.epsilon),
            "delta": exact_text(self.found.each.delta),
            "max_drop": self.found.reach - 1,
            "saved": self.found.saved,
        }


def declared_of(setting: Setting, epsilon: Fraction | None) -> Declared | None:
    """Return what declaring all releases saves; None where that is nothing, or no ε is chosen."""
    if epsilon is None or not 1 < setting.releases <= MOST_RELEASES:
        return None
    found = calibrate(
        epsilon,
        setting.delta,
        releases=setting.releases,
        max_buckets_per_unit=setting.buckets_per_unit,
        aside=SHARE if setting.reported else None,
    )
    return Declared(found) if found.saved else None
