"""Exact laws of the compared mechanisms, and the exact errors that follow from them.

An error is the distance, in bars, of an output from the places that count as right. *Flexible* error takes the places
that are the answer once at most ⌊αn⌋ records are left out; *actual* error is the same at α = 0, the true answer. Where
ties are drawn at random, all tallest bars are true. "No bar holds k records" counts as 0, as an output and as a truth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import ALPHA, GAMMA, attribute
from flexdp._core.exact import Number
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
    """The chance of each place 0, …, B − 1 in one run of a mechanism, by closed form instead of Monte Carlo.

    ``mechanism`` is a name or an object with a ``law`` method. For ss (real outputs) and sanpoints (bars that depend on
    one another) there is none, and the error says so.

    >>> from flexdp.statistics import Max
    >>> exact_law("dropping", np.array([900, 0, 14, 1]), Max(), epsilon=1, delta="1e-6").round(3).tolist()
    [0.5, 0.0, 0.5, 0.0]
    """
    return _law(mechanism, question(counts, statistic, epsilon=epsilon, delta=delta, empty=empty, ties=ties), statistic)


def attainable_places(
    counts: NDArray[Any], statistic: Readable, alpha: Number, *, ties: Ties = "smallest"
) -> NDArray[np.intp]:
    """The places that are the answer once at most ⌊αn⌋ records, and not all of them, are left out.

    >>> from flexdp.statistics import Max
    >>> attainable_places(np.array([90, 0, 9, 1]), Max(), "0.01").tolist()
    [2, 3]
    """
    return _attainable(question(counts, statistic, epsilon=1, delta="0.5", empty="zero", ties=ties), alpha)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExactErrors:
    """The law of a mechanism's output at one histogram, and how far each place is from what counts as right.

    ``actual_distance`` and ``flexible_distance`` are in bars; multiply by 100/B for per cent.
    """

    law: NDArray[np.float64]
    actual_distance: NDArray[np.int64]
    flexible_distance: NDArray[np.int64]

    @property
    def actual(self) -> float:
        """The mean actual error, in bars."""
        return float(self.law @ self.actual_distance)

    @property
    def flexible(self) -> float:
        """The mean flexible error, in bars."""
        return float(self.law @ self.flexible_distance)

    def beta(self, gamma: Number) -> int:
        """The smallest whole β for which the mechanism is (α, β, γ)-accurate at this histogram, in bars."""
        allowed = float(GAMMA.check(gamma))
        return int((self.flexible_tail() > allowed).sum())

    def flexible_tail(self) -> NDArray[np.float64]:
        """Pr[flexible error > b] for b = 0, …, B − 1; exactly 0 where no place of positive chance is further off."""
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
    """The exact errors of a mechanism at one histogram; refused where it has no computable law.

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
        raise InputError(
            f"mechanism {safe_repr(name if isinstance(name, str) else chosen)} has no law. Run it instead."
        )
    budget, rules = asked.budget, {"empty": asked.empty, "ties": asked.ties}
    given = own(asked.counts, statistic, epsilon=budget.epsilon, delta=budget.delta, **rules)
    law = np.asarray(given, dtype=np.float64)
    if law.shape != asked.counts.shape or not (law >= 0).all() or abs(law.sum() - 1) > 1e-9:
        raise InputError(
            f"the law of mechanism {safe_repr(chosen.name)} must be chances, one for each bar, that sum to 1."
        )
    return law


def _attainable(asked: Question, alpha: Number) -> NDArray[np.intp]:
    """Costs as in :mod:`flexdp.statistics`, but on a row of bars and for each rule for ties."""
    x = asked.counts
    size = int(x.sum())
    if not size:
        raise InputError("counts must hold at least one record: flexible accuracy at an empty histogram is undefined.")
    allowed = min(math.floor(ALPHA.check(alpha) * size), size - 1)
    if asked.level is not None:
        excess = np.maximum(0, x - (asked.level - 1))
        beyond = np.cumsum(excess[::-1])[::-1]
        chosen = (x >= asked.level) & (beyond - excess <= allowed)
        chosen[0] |= beyond[0] <= allowed  # no bar at all holds k records
        return np.flatnonzero(chosen)
    ascending = np.sort(x)
    taller = np.searchsorted(ascending, x, side="right")
    from_top = np.concatenate((np.cumsum(ascending[::-1])[::-1], [0]))
    cost = from_top[taller] - (len(x) - taller) * x
    # A bar as tall or taller on the side that wins ties is cut by one record more.
    if asked.ties == "smallest":
        cost += earlier_not_smaller(x)
    elif asked.ties == "largest":
        cost += earlier_not_smaller(x[::-1])[::-1]
    return np.flatnonzero((x > 0) & (cost <= allowed))


def _distances(places: NDArray[np.intp], bars: int) -> NDArray[np.int64]:
    """How far each place is from the nearest chosen one."""
    at = np.arange(bars)
    right = np.minimum(np.searchsorted(places, at), len(places) - 1)
    left = np.maximum(np.searchsorted(places, at, side="right") - 1, 0)
    return np.asarray(np.minimum(np.abs(places[right] - at), np.abs(at - places[left])), dtype=np.int64)
