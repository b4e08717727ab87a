"""The compared mechanisms of this package, by name."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from types import MappingProxyType

from flexdp._core.text import plain_scalar, safe_repr
from flexdp.baselines.base import Baseline
from flexdp.baselines.bns import StabilityHistogram, StabilityHistogramSwap
from flexdp.baselines.dropping import Dropping
from flexdp.baselines.em import Exponential, TightExponential
from flexdp.baselines.esa import ShiftedLaplace
from flexdp.baselines.ptr import ProposeTestRelease
from flexdp.baselines.sanpoints import SanPoints, SanPointsHalting
from flexdp.baselines.ss import SmoothSensitivity
from flexdp.baselines.stlap import ShiftedTruncatedLaplace
from flexdp.errors import InputError

__all__ = ["BASELINES", "VARIANTS", "baseline"]

_ALL: tuple[Baseline, ...] = (
    Dropping(),
    ShiftedTruncatedLaplace(),
    ShiftedLaplace(),
    StabilityHistogram(),
    StabilityHistogramSwap(),
    Exponential(),
    ProposeTestRelease(),
    SmoothSensitivity(),
    SanPoints(),
    SanPointsHalting(),
)
BASELINES: Mapping[str, Baseline] = MappingProxyType({each.name: each for each in _ALL})
VARIANTS: Mapping[str, Baseline] = MappingProxyType({each.name: each for each in (TightExponential(),)})


def baseline(name: str) -> Baseline:
    """Return the compared mechanism of that name.

    Parameters
    ----------
    name
        One of the keys of ``BASELINES``, or "em_tight", which the study leaves out.

    Returns
    -------
    Baseline
        The mechanism.

    Raises
    ------
    InputError
        If there is none of that name; the message suggests the nearest one.

    Examples
    --------
    >>> baseline("ptr").citation.year
    2009
    """
    asked = plain_scalar(name)
    every = {**BASELINES, **VARIANTS}
    if isinstance(asked, str) and asked in every:
        return every[asked]
    known = ", ".join(every)
    near = difflib.get_close_matches(asked.lower(), every, n=1, cutoff=0.5) if isinstance(asked, str) else []
    hint = f"Did you mean {safe_repr(near[0])}?" if near else f"Choose one of {known}."
    raise InputError("mechanism", f"{safe_repr(name)} does not exist", remedy=hint)
