"""The compared mechanisms by name, and the exact laws and errors of those whose law is known.

An error is the distance, in buckets, from an answer to the nearest correct bucket. For the *flexible* error a bucket is
correct if it is the answer once at most ⌊αn⌋ records are dropped; for the *actual* error, if it is the true answer.
"No bucket holds k records" counts as bucket 0, both as an answer and as the truth.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import ALPHA
from flexdp._core.exact import Number
from flexdp._core.text import plain_scalar, safe_repr
from flexdp.baselines.answers import Exponential, ProposeTestRelease, SmoothSensitivity, TightExponential
from flexdp.baselines.bars import (
    SeededDropping,
    ShiftedLaplace,
    ShiftedTruncatedLaplace,
    StabilityHistogram,
    StabilityHistogramSwap,
)
from flexdp.baselines.base import Compared, ComparedMechanism, Readable, Ties, read_question
from flexdp.baselines.sanpoints import SanPoints, SanPointsHalting
from flexdp.distribution import Distribution
from flexdp.errors import InputError
from flexdp.measure import Errors, errors_of
from flexdp.statistics.attainable import earlier_not_smaller

__all__ = ["BASELINES", "VARIANTS", "ExactErrors", "attainable_places", "baseline", "exact_errors", "exact_law"]

_KINDS: dict[str, type[ComparedMechanism]] = {
    "dropping": SeededDropping,
    "stlap": ShiftedTruncatedLaplace,
    "esa": ShiftedLaplace,
    "bns": StabilityHistogram,
    "bns_swap": StabilityHistogramSwap,
    "em": Exponential,
    "ptr": ProposeTestRelease,
    "ss": SmoothSensitivity,
    "sanpoints": SanPoints,
    "sanpoints_halting": SanPointsHalting,
}
BASELINES: Mapping[str, Compared] = MappingProxyType({name: Compared(name, kind) for name, kind in _KINDS.items()})
VARIANTS: Mapping[str, Compared] = MappingProxyType({"em_tight": Compared("em_tight", TightExponential)})


def baseline(name: str) -> Compared:
    """Return the compared mechanism of that name.

    Parameters
    ----------
    name
        One of the keys of ``BASELINES``, or "em_tight", which the study leaves out.

    Returns
    -------
    Compared
        The mechanism; its ``kind`` is the class to be made with an ε and a δ.

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


def exact_law(
    mechanism: str, counts: NDArray[Any], statistic: Readable, *, epsilon: Number, delta: Number
) -> Distribution:
    """Compute the law of the answer of a compared mechanism, without runs.

    Parameters
    ----------
    mechanism
        A name.
    counts
        Number of records in each of the buckets 0, …, B − 1.
    statistic
        ``Max()``, ``MaxAtLeast(k)`` or ``Mode()``; ties go to the smallest bucket.
    epsilon, delta
        Privacy parameters.

    Returns
    -------
    Distribution
        Mass of each bucket, in doubles; no answer counts as bucket 0.

    Raises
    ------
    InputError
        If the mechanism has no computable law: ss (real outputs) and sanpoints (dependent buckets).

    Examples
    --------
    >>> from flexdp.statistics import Max
    >>> law = exact_law("dropping", np.array([900, 0, 14, 1]), Max(), epsilon=1, delta="1e-6")
    >>> {bucket: round(mass, 3) for bucket, mass in sorted(law.masses.items())}
    {0: 0.5, 2: 0.5, 3: 0.0}
    """
    return baseline(mechanism).kind(epsilon, delta).law_of_answer(read_question(counts, statistic))


class ExactErrors(NamedTuple):
    """The laws of the actual and of the flexible error of a mechanism on one histogram, in buckets.

    Parameters
    ----------
    actual
        Distance from the true answer.
    flexible
        Distance from the nearest attainable answer.

    Examples
    --------
    >>> from flexdp.statistics import Max
    >>> found = exact_errors("dropping", np.array([900, 0, 14, 1]), Max(), epsilon=1, delta="1e-6", alpha="0.02")
    >>> round(found.actual.mean, 3), found.flexible.beta("0.01")
    (2.0, 0.0)
    """

    actual: Errors
    flexible: Errors


def exact_errors(
    mechanism: str,
    counts: NDArray[Any],
    statistic: Readable,
    *,
    epsilon: Number,
    delta: Number,
    alpha: Number,
) -> ExactErrors:
    """Compute the laws of the errors of a compared mechanism on one histogram.

    Parameters
    ----------
    mechanism, counts, statistic, epsilon, delta
        As for :func:`exact_law`.
    alpha
        Fraction of the records that may be dropped, taken exactly.

    Returns
    -------
    ExactErrors
        Both errors, in buckets; multiply by 100/B for percent of the range.

    Raises
    ------
    InputError
        If the mechanism has no computable law, or the histogram is empty.

    Examples
    --------
    >>> from flexdp.statistics import Max
    >>> found = exact_errors("em", np.array([900, 0, 14, 1]), Max(), epsilon=1, delta="1e-6", alpha="0.02")
    >>> round(found.actual.mean, 2), round(found.flexible.mean, 2), found.flexible.beta("0.3"), found.flexible.beta(0)
    (1.34, 0.23, 0.0, 1.0)
    """
    asked = read_question(counts, statistic)
    law = exact_law(mechanism, counts, statistic, epsilon=epsilon, delta=delta)
    if not len(asked.histogram):
        raise _nothing_to_drop()
    return ExactErrors(*(errors_of(asked.histogram, law, statistic, share, empty=0) for share in (0, alpha)))


def attainable_places(
    counts: NDArray[Any], statistic: Readable, alpha: Number, *, ties: Ties = "smallest"
) -> NDArray[np.intp]:
    """Find the buckets that are the answer once at most ⌊αn⌋ records, but not all, are dropped.

    Parameters
    ----------
    counts
        Number of records in each of the buckets 0, …, B − 1; not all zero.
    statistic
        ``Max()``, ``MaxAtLeast(k)`` or ``Mode()``.
    alpha
        Fraction of the records that may be dropped, taken exactly.
    ties
        Which of several tallest buckets is the mode.

    Returns
    -------
    ndarray of intp
        Indices of the buckets, ascending.

    Raises
    ------
    InputError
        If there are no records.

    Examples
    --------
    >>> from flexdp.statistics import Max
    >>> attainable_places(np.array([90, 0, 9, 1]), Max(), "0.01").tolist()
    [2, 3]
    """
    asked = read_question(counts, statistic, ties=ties)
    x, size = asked.counts, int(asked.counts.sum())
    if not size:
        raise _nothing_to_drop()
    allowed = min(math.floor(ALPHA.check(alpha) * size), size - 1)
    if asked.level is not None:
        excess = np.maximum(0, x - (asked.level - 1))
        beyond = np.cumsum(excess[::-1])[::-1]
        chosen = (x >= asked.level) & (beyond - excess <= allowed)
        chosen[0] |= beyond[0] <= allowed  # no bucket holds k records
        return np.flatnonzero(chosen)
    ascending = np.sort(x)
    taller = np.searchsorted(ascending, x, side="right")
    from_top = np.concatenate((np.cumsum(ascending[::-1])[::-1], [0]))
    cost = from_top[taller] - (len(x) - taller) * x
    # A bucket as tall or taller on the side that wins ties loses one record more.
    if asked.ties == "smallest":
        cost += earlier_not_smaller(x)
    elif asked.ties == "largest":
        cost += earlier_not_smaller(x[::-1])[::-1]
    return np.flatnonzero((x > 0) & (cost <= allowed))


def _nothing_to_drop() -> InputError:
    return InputError(
        "counts",
        "must contain at least one record",
        remedy="Flexible accuracy is undefined for an empty histogram.",
    )
