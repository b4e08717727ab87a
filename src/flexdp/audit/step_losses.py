"""The worst likelihood ratio of one private step between the two data sets that it met."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from flexdp._core.enclosure import exp_bounds
from flexdp.mechanisms import Dropping
from flexdp.noise.drop import DropNoise
from flexdp.sharp.automatic import DroppedBars
from flexdp.sharp.count import NoisyCount, TwoSums
from flexdp.sharp.ladder import Ladder
from flexdp.sharp.quantile import ExponentialQuantile
from flexdp.sharp.ranks import Window

__all__ = ["Loss", "step_loss"]

_ROUNDING = Fraction(1, 10**30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """What one step tells two data sets apart by.

    Parameters
    ----------
    epsilon
        The largest logarithm of a likelihood ratio, outcomes of probability ``delta`` aside.
    delta
        Their probability.
    share
        ε of the step for each record by which the data sets differ there: what it may cost at worst.
    fault
        What is more than the step may cost, in words; empty where it keeps to its parameters.
    """

    epsilon: float = 0.0
    delta: Fraction = Fraction(0)
    share: float = 0.0
    fault: str = ""


def step_loss(mechanism: Any, one: Any, other: Any, most: int = 1, tables: Sequence[DropNoise] = ()) -> Loss:
    """Return the worst likelihood ratio of a step between two data sets, one unit apart.

    Parameters
    ----------
    mechanism
        The step.
    one, other
        What it was given on either side.
    most
        The most records with which a unit counts.
    tables
        The tables of drops that were sampled, in their order; by default those of the mechanism.

    Returns
    -------
    Loss
        With a fault where the ratio is above e^ε for each of the unit's records.

    Examples
    --------
    >>> count = NoisyCount(epsilon=Fraction(1, 2))
    >>> step_loss(count, 7, 8), step_loss(count, 7, 9).fault
    (Loss(epsilon=0.5, delta=Fraction(0, 1), share=0.5, fault=''), 'the count moves by 2, and at most 1 is allowed')
    """
    if isinstance(mechanism, Dropping):
        return _dropped(mechanism, one, other, tables)
    if isinstance(mechanism, DroppedBars):
        return _listed(mechanism, one, other, most, tables)
    if isinstance(mechanism, ExponentialQuantile):
        return _chosen(mechanism, one, other, most)
    if isinstance(mechanism, NoisyCount):
        moved, whole, what = abs(one - other), mechanism.sensitivity, "count"
    elif isinstance(mechanism, TwoSums):
        moved, whole, what = sum(abs(a - b) for a, b in zip(one, other, strict=True)), mechanism.cells, "pair of sums"
    else:
        assert isinstance(mechanism, Ladder)
        if len(one) != len(other):
            return Loss(epsilon=math.inf, fault="the rungs are not the same")
        moves = [b - a for a, b in zip(one, other, strict=True)]
        moved, whole, what = max([*moves, 0]) - min([*moves, 0]), 1, "count beyond a rung"
    allowed = whole * most
    fault = f"the {what} moves by {moved}, and at most {allowed} is allowed" if moved > allowed else ""
    loss = float(mechanism.epsilon * moved / whole)
    return Loss(epsilon=loss, share=loss, fault=fault)


def _dropped(
    mechanism: Dropping, one: Mapping[Any, int], other: Mapping[Any, int], tables: Sequence[DropNoise]
) -> Loss:
    """Bars that differ, each by the law of its noise, and the certified total, which is drawn first."""
    noise, certified = tables[-1] if tables else mechanism.noise, mechanism.total_noise
    most, moved = mechanism.max_buckets_per_unit, _moved(one, other)
    total = sum(other.values()) - sum(one.values())
    if len(moved) > most:
        return _apart(f"{len(moved)} buckets differ, and at most {most} may")
    if any(abs(b - a) > 1 for a, b in moved):
        return _apart("a bucket moves by more than one")
    found = [_bar(noise, a, b) for a, b in moved]
    if certified is not None and total:
        certified = tables[0] if len(tables) > 1 else certified
        found.append(_bar(certified, certified.q, certified.q + abs(total)))  # a sum is not clipped
    return _together(found, mechanism.epsilon, mechanism.delta)


def _listed(
    mechanism: DroppedBars, one: Mapping[Any, int], other: Mapping[Any, int], most: int, tables: Sequence[DropNoise]
) -> Loss:
    """Groups that differ; a unit moves them by ``most`` in all."""
    moved = _moved(one, other)
    records = sum(abs(b - a) for a, b in moved)
    if records > most:
        return _apart(f"groups move by {records} in all, and at most {most} is allowed")
    noise = tables[-1] if tables else mechanism.noise
    return _together([_bar(noise, a, b) for a, b in moved], mechanism.epsilon * most, None)


def _moved(one: Mapping[Any, int], other: Mapping[Any, int]) -> list[tuple[int, int]]:
    keys = one.keys() | other.keys()
    return [(one.get(key, 0), other.get(key, 0)) for key in keys if one.get(key, 0) != other.get(key, 0)]


def _apart(fault: str) -> Loss:
    return Loss(epsilon=math.inf, fault=fault)


def _together(parts: Sequence[Loss], epsilon: Fraction, delta: Fraction | None) -> Loss:
    """Independent parts of one step, which may cost so much together."""
    spent = sum(part.epsilon for part in parts)
    missed = 1 - math.prod((1 - part.delta for part in parts), start=Fraction(1))
    fault = next((part.fault for part in parts if part.fault), "")
    if spent > float(epsilon) * (1 + 1e-9):
        fault = fault or f"its parts cost ε = {spent:.4g} together, and {float(epsilon):.4g} is claimed"
    if delta is not None and missed > delta:
        fault = fault or f"its parts cost δ = {float(missed):.4g} together, and {float(delta):.4g} is claimed"
    return Loss(epsilon=spent, delta=missed, share=spent, fault=fault)


def _bar(noise: DropNoise, a: int, b: int) -> Loss:
    """One bar of a records and of b, by the very table that is sampled."""
    low, high = min(a, b), max(a, b)
    if low > noise.q:  # from there on nothing is clipped, and all pairs are alike
        low, high = noise.q, noise.q + high - low
    steps = high - low
    epsilon = noise.epsilon * steps
    delta = _stick(noise.weights, noise.bits, low, high, epsilon)
    if steps == 1 and delta > noise.delta:
        fault = f"a bar has δ = {float(delta):.4g} at its ε, and {float(noise.delta):.4g} is claimed"
        return Loss(epsilon=float(epsilon), delta=delta, share=float(epsilon), fault=fault)
    return Loss(epsilon=float(epsilon), delta=delta, share=float(epsilon))


@lru_cache(maxsize=4096)
def _stick(weights: tuple[int, ...], bits: int, low: int, high: int, epsilon: Fraction) -> Fraction:
    """An upper bound of the hockey-stick divergence of both laws at ε, the larger direction."""
    growth = exp_bounds(epsilon).lower
    laws: list[dict[int, int]] = []
    for count in (low, high):
        law: dict[int, int] = {}
        for drop, weight in enumerate(weights):
            law[max(0, count - drop)] = law.get(max(0, count - drop), 0) + weight
        laws.append(law)
    excess = [
        sum((max(Fraction(0), p - growth * other.get(kept, 0)) for kept, p in own.items()), Fraction(0))
        for own, other in (laws, laws[::-1])
    ]
    return max(excess) / (1 << bits)


def _chosen(mechanism: ExponentialQuantile, one: Window, other: Window, most: int) -> Loss:
    """All candidates of an exponential mechanism, by its integer weights."""
    (pair,) = mechanism.law(one).beside(mechanism.law(other))
    worst = Fraction(1)
    for row in pair.rows:
        if not row.one or not row.other:
            return _apart("a candidate is possible on one side only")
        worst = max(worst, row.one / row.other, row.other / row.one)
    allowed = exp_bounds(mechanism.epsilon * most).upper * (1 + _ROUNDING)
    loss = math.log(worst.numerator) - math.log(worst.denominator)
    claimed = float(mechanism.epsilon * most)
    fault = "" if worst <= allowed else f"a candidate has a loss of {loss:.4g}, and {claimed:.4g} is claimed"
    records = max(1, abs(one.total - other.total)) if worst > 1 else 0
    return Loss(epsilon=loss, share=float(mechanism.epsilon * records), fault=fault)
