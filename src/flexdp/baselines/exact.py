"""Exact output distributions of the compared mechanisms, and the exact errors that follow.

An error is the distance, in buckets, from an output to the nearest correct bucket. For the *flexible* error a bucket is
correct if it is the answer once at most ⌊αn⌋ records are dropped; for the *actual* error, if it is the true answer
(α = 0). With random ties, all tallest buckets are true answers. "No bucket holds k records" counts as bucket 0, both as
an output and as the truth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import ALPHA, GAMMA, attribute
from flexdp._core.exact import Number
from flexdp._core.nearest import nearest
from flexdp._core.text import safe_repr
from flexdp.baselines.base import Baseline, ComparedMechanism, Empty, Question, Readable, Ties, question
from flexdp.baselines.registry import baseline
from flexdp.baselines.stability import answers
from flexdp.errors import InputError
from flexdp.statistics.attainable import earlier_not_smaller

__all__ = ["ExactErrors", "attainable_places", "exact_errors", "exact_law"]


def exact_law(
    mechanism: str | Baseline,
    counts: NDArray[Any],
    statistic: Readable,
    *,
    epsilon: Number,
    delta: Number,
    empty: Empty = "zero",
    ties: Ties = "smallest",
) -> NDArray[np.float64]:
    """Compute the probability of each output of a mechanism, in closed form instead of by Monte Carlo.

    Parameters
    ----------
    mechanism
        A name, or an object with a ``law`` method.
    counts
        Number of records in each of the buckets 0, …, B − 1.
    statistic
        ``Max()``, ``MaxAtLeast(k)`` or ``Mode()``.
    epsilon, delta
        Privacy parameters.
    empty
        Output of a noisy histogram without an answer: bucket 0 ("zero"), or a bucket drawn uniformly ("random").
    ties
        Which of several tallest buckets is the mode.

    Returns
    -------
    ndarray of float64
        Probability of each bucket in one run.

    Raises
    ------
    InputError
        If the mechanism has no computable distribution: ss (real outputs) and sanpoints (dependent buckets).

    Examples
    --------
    >>> from flexdp.statistics import Max
    >>> exact_law("dropping", np.array([900, 0, 14, 1]), Max(), epsilon=1, delta="1e-6").round(3).tolist()
    [0.5, 0.0, 0.5, 0.0]
    """
    return _law(mechanism, question(counts, statistic, epsilon=epsilon, delta=delta, empty=empty, ties=ties), statistic)


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

    Examples
    --------
    >>> from flexdp.statistics import Max
    >>> attainable_places(np.array([90, 0, 9, 1]), Max(), "0.01").tolist()
    [2, 3]
    """
    return _attainable(question(counts, statistic, epsilon=1, delta="0.5", empty="zero", ties=ties), alpha)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExactErrors:
    """Exact output distribution of a mechanism on one histogram, with the error of each output.

    Distances are in buckets; multiply by 100/B for percent of the range.

    Parameters
    ----------
    law
        Probability of each bucket.
    actual_distance
        Distance of each bucket from the true answer.
    flexible_distance
        Distance of each bucket from the nearest attainable answer.

    Examples
    --------
    >>> from flexdp.statistics import Max
    >>> errors = exact_errors("em", np.array([900, 0, 14, 1]), Max(), epsilon=1, delta="1e-6", alpha="0.02")
    >>> round(errors.actual, 2), round(errors.flexible, 2), errors.beta("0.3"), errors.beta(0)
    (1.34, 0.23, 0, 1)
    >>> errors.flexible_tail().round(3).tolist()
    [0.233, 0.0, 0.0, 0.0]
    """

    law: NDArray[np.float64]
    actual_distance: NDArray[np.int64]
    flexible_distance: NDArray[np.int64]

    @property
    def actual(self) -> float:
        """Mean actual error, in buckets."""
        return float(self.law @ self.actual_distance)

    @property
    def flexible(self) -> float:
        """Mean flexible error, in buckets."""
        return float(self.law @ self.flexible_distance)

    def beta(self, gamma: Number) -> int:
        """Return the smallest integer β for which the mechanism is (α, β, γ)-accurate on this histogram.

        Parameters
        ----------
        gamma
            Probability with which the error may exceed β.

        Returns
        -------
        int
            β in buckets.
        """
        allowed = float(GAMMA.check(gamma))
        return int((self.flexible_tail() > allowed).sum())

    def flexible_tail(self) -> NDArray[np.float64]:
        """Return Pr[flexible error > b] for b = 0, …, B − 1, exactly 0 where no possible output is further off.

        Returns
        -------
        ndarray of float64
            One probability per b.
        """
        mass = np.bincount(self.flexible_distance, weights=self.law, minlength=len(self.law))
        return np.concatenate((np.cumsum(mass[::-1])[::-1][1:], [0.0]))


def exact_errors(
    mechanism: str | Baseline,
    counts: NDArray[Any],
    statistic: Readable,
    *,
    epsilon: Number,
    delta: Number,
    alpha: Number,
    empty: Empty = "zero",
    ties: Ties = "smallest",
) -> ExactErrors:
    """Compute the exact errors of a mechanism on one histogram.

    Parameters
    ----------
    mechanism
        A name, or an object with a ``law`` method.
    counts
        Number of records in each of the buckets 0, …, B − 1.
    statistic
        ``Max()``, ``MaxAtLeast(k)`` or ``Mode()``.
    epsilon, delta
        Privacy parameters.
    alpha
        Fraction of the records that may be dropped, taken exactly.
    empty
        Output of a noisy histogram without an answer: bucket 0 ("zero"), or a bucket drawn uniformly ("random").
    ties
        Which of several tallest buckets is the mode.

    Returns
    -------
    ExactErrors
        The output distribution and the errors.

    Raises
    ------
    InputError
        If the mechanism has no computable distribution, or the histogram is empty.

    Examples
    --------
    >>> from flexdp.statistics import Max
    >>> errors = exact_errors("dropping", np.array([900, 0, 14, 1]), Max(), epsilon=1, delta="1e-6", alpha="0.02")
    >>> round(errors.actual, 3), errors.flexible
    (2.0, 0.0)
    """
    asked = question(counts, statistic, epsilon=epsilon, delta=delta, empty=empty, ties=ties)
    return ExactErrors(
        law=_law(mechanism, asked, statistic),
        actual_distance=_distances(answers(asked.counts, asked.level, asked.ties), asked.bars),
        flexible_distance=_distances(_attainable(asked, alpha), asked.bars),
    )


def _law(mechanism: str | Baseline, asked: Question, statistic: Readable) -> NDArray[np.float64]:
    chosen = baseline(mechanism) if isinstance(mechanism, str) else mechanism
    if isinstance(chosen, ComparedMechanism):
        return chosen._law(asked)
    own = attribute(chosen, "law")
    if not callable(own):
        name = attribute(chosen, "name")
        shown = safe_repr(name if isinstance(name, str) else chosen)
        raise InputError("mechanism", f"{shown} has no method law()", remedy="Run it instead.")
    budget, rules = asked.budget, {"empty": asked.empty, "ties": asked.ties}
    given = own(asked.counts, statistic, epsilon=budget.epsilon, delta=budget.delta, **rules)
    law = np.asarray(given, dtype=np.float64)
    if law.shape != asked.counts.shape or not (law >= 0).all() or abs(law.sum() - 1) > 1e-9:
        shown = safe_repr(chosen.name)
        raise InputError("mechanism", f"{shown} must return from law() one probability per bucket, summing to 1")
    return law


def _attainable(asked: Question, alpha: Number) -> NDArray[np.intp]:
    """Compute attainable buckets as in :mod:`flexdp.statistics`, but on an array of counts and for each tie rule."""
    x = asked.counts
    size = int(x.sum())
    if not size:
        raise InputError(
            "counts",
            "must contain at least one record",
            remedy="Flexible accuracy is undefined for an empty histogram.",
        )
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


def _distances(places: NDArray[np.intp], bars: int) -> NDArray[np.int64]:
    """Return the distance from each bucket to the nearest chosen one."""
    return np.asarray(nearest(places, np.arange(bars)).gap, dtype=np.int64)
