"""What follows for mechanisms in a row: sensitivities, neighbours, privacy and accuracy, step by step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from flexdp._core.exact import sum_up
from flexdp.calculus.accuracy import compose_accuracy, drop_move_accuracy, jumps
from flexdp.calculus.powers import gamma_share
from flexdp.calculus.privacy import Relation, post_process, pre_process
from flexdp.calculus.sensitivities import DistortionSensitivity
from flexdp.distortions import Winf
from flexdp.errors import InputError
from flexdp.guarantees import Accuracy, Privacy
from flexdp.mechanisms.base import Mechanism
from flexdp.mechanisms.spaces import Known

__all__ = [
    "Parts",
    "accuracy_of",
    "bars_of",
    "keeps_bars_of",
    "moved_by",
    "privacy_of",
    "relation_of",
    "seen_after",
    "settings_of",
    "sigma_of",
]

Parts = tuple[Mechanism, ...]


def sigma_of(parts: Parts) -> DistortionSensitivity:
    """The distortion sensitivity of functions in a row; what earlier ones match only up to ω, later ones move."""
    theta, omega = 0.0, 0.0
    for part in parts:
        carried = moved_by([part], omega) if theta or omega else 0.0
        theta, omega = min(sum_up(theta, part.sigma.theta), 1.0), sum_up(carried, part.sigma.omega)
    bounds = [part.sigma.bound for part in reversed(parts)]
    return DistortionSensitivity(
        bound=lambda alpha: reduce(lambda a, bound: bound(a), bounds, alpha), theta=theta, omega=omega
    )


def moved_by(parts: Sequence[Mechanism], beta: float) -> float:
    """The metric sensitivity of functions in a row; infinite once one of them is."""
    for part in parts:
        if math.isinf(beta):
            break
        beta = part.metric_sensitivity(beta)
    return beta


def bars_of(parts: Parts) -> int | None:
    """The most buckets that steps in a row can give, if public."""
    bars: int | None = None
    for part in parts:
        bars = part.bars if part.bars is not None else None if part.adds_bars else bars
    return bars


def keeps_bars_of(parts: Parts) -> bool:
    """Return True if steps in a row send the records of a bucket to one bucket, one by one."""
    return all(part.keeps_bars for part in parts)


def relation_of(parts: Parts) -> Relation | None:
    """The neighbours that steps in a row map to neighbours."""
    found = parts[0].relation
    for part in parts[1:]:
        if found is None or part.relation is None or not part.relation[0].covers(found[1]):
            return None
        found = (found[0], part.relation[1])
    return found


def privacy_of(parts: Parts) -> Privacy | None:
    if parts[0].privacy is not None:
        return post_process(parts[0].privacy)
    for i, part in enumerate(parts[1:], 1):
        relation = relation_of(parts[:i])
        if relation is None:
            return None
        fits = part.privacy is not None and part.privacy.neighbours.covers(relation[1])
        if part.privacy is not None and fits and (part.privacy.given is None or _keeps_condition(parts[:i], part)):
            return post_process(pre_process(part.privacy, relation=relation, keeps_condition=True))
    return None


def _keeps_condition(steps: Parts, private: Mechanism) -> bool:
    """Return True if what is known of the records and buckets of a table is true of what the steps make of it."""
    bars = bars_of(steps)
    few = bars is not None and private.most_bars is not None and bars <= private.most_bars
    return all(step.keeps_records for step in steps) and (few or not any(step.adds_bars for step in steps))


def _after(part: Mechanism, known: Known) -> Known:
    """Public knowledge of the input of the mechanism that follows."""
    records = known.records_at_least if part.keeps_records else part.records_left(known)
    bars = part.bars if part.bars is not None else None if part.adds_bars else known.bars
    return replace(known, records_at_least=records or None, bars=bars)


def seen_after(parts: Parts, known: Known) -> Known:
    return reduce(lambda before, part: _after(part, before), parts, known)


def settings_of(parts: Parts, known: Known) -> list[Known]:
    """Public knowledge of each step's input; those that spend γ have equal shares of it."""
    spending = sum(part.lossy for part in parts)
    if spending > 1:
        known = replace(known, gamma=gamma_share(known.gamma, spending))
    return [seen_after(parts[:i], known) for i in range(len(parts))]


def accuracy_of(parts: Parts, known: Known) -> Accuracy:
    """The composition theorem, step by step.

    Where a step's error is unbounded, the error of the last histogram before it becomes a distortion of the input
    (drop-move), and the steps since then are derived anew.
    """
    settings = settings_of(parts, known)
    found = [parts[0].accuracy_in(settings[0])]
    while len(found) < len(parts):
        i = len(found)
        error = parts[i].tau(settings[i])
        if not jumps(found[-1], error):
            moves, sigma, kept = parts[i].metric_sensitivity, sigma_of(parts[:i]), keeps_bars_of(parts[:i])
            found.append(compose_accuracy(found[-1], error, sigma=sigma, sensitivity=moves, keeps_bars=kept))
            continue
        last = max((j for j in range(i) if found[j].metric == Winf()), default=None)
        if last is None or not found[last].beta or not all(part.identity for part in parts[: last + 1]):
            raise InputError(
                "parts",
                f"have no accuracy in a row: {parts[i].name} has no bounded error after {parts[i - 1].name}, and "
                "drop-move holds only for the error of a histogram whose records were moved",
            )
        found = [*found[:last], drop_move_accuracy(found[last], metric=found[last].metric)]
    return found[-1]
