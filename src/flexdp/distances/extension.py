"""A quasi-metric extended to random points: the coupling whose largest distortion is least."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp.distances import transport as _transport
from flexdp.distances.axioms import amount, check_axioms, distances_between, labels_of, sample
from flexdp.distances.coupling import Coupling, Side, Transport
from flexdp.distances.inputs import Weighted, read_weights, scaled
from flexdp.distances.laws import weighted_pairs
from flexdp.errors import InputError

__all__ = ["extension"]

_MOST_CHECKED = 40  # points among which a quasi-metric of the caller's is checked


def extension(distortion: Callable[[Any, Any], Any], p: Any, q: Any, *, trusted: bool) -> Transport:
    """Extend a quasi-metric to random points; one that is not ``trusted`` is checked on them."""
    (here, weights_p), (there, weights_q) = _law("p", p), _law("q", q)
    first = read_weights("p", Weighted(None, weights_p), len(here))
    second = read_weights("q", Weighted(None, weights_q), len(there))
    here, there = [here[i] for i in first.points], [there[j] for j in second.points]
    cost = _costs(distortion, here, there, trusted=trusted)
    scale = scaled(first, second)
    found = _transport.least_threshold(cost, scale.a, scale.b, scale.total)
    pieces = found.pieces
    sources, targets = first.given(pieces.sources), second.given(pieces.targets)

    def sides() -> tuple[Side, Side]:
        return Side(here, scale.a.tolist(), first.given(np.arange(len(here))).tolist()), Side(
            there, scale.b.tolist(), second.given(np.arange(len(there))).tolist()
        )

    return Transport(found.value, lambda: Coupling(sources, targets, pieces.masses, scale.total, sides))


def _law(name: str, given: Any) -> tuple[list[Any], list[Any]]:
    pairs = weighted_pairs(name, given)
    if pairs is None and isinstance(given, list):
        raise InputError(name, "must be a single point, or a list of pairs (point, probability)")
    pairs = [(given, 1)] if pairs is None else pairs
    return [point for point, _ in pairs], [chance for _, chance in pairs]


def _costs(
    distortion: Callable[[Any, Any], Any], here: list[Any], there: list[Any], *, trusted: bool
) -> NDArray[np.float64]:
    """Compute all distortions from p to q; one that is not known to be a quasi-metric is checked on these points."""
    labels = labels_of("p", len(here), quoted=False), labels_of("q", len(there), quoted=False)
    cost = _doubles(distances_between("distortion", distortion, here, there, labels), labels)
    if trusted:
        return cost
    places = sample(len(here) + len(there), _MOST_CHECKED)
    points = [(here + there)[i] for i in places]

    def label(k: int) -> str:
        return labels[0](places[k]) if places[k] < len(here) else labels[1](places[k] - len(here))

    among = _doubles(distances_between("distortion", distortion, points, points, (label, label)), (label, label))
    check_axioms("distortion", among, label, symmetric=False)
    wrong = np.argwhere(cost < 0)[:1].tolist()
    for i, j in wrong:
        raise InputError("distortion", f"must be at least 0: it is not from {labels[0](i)} to {labels[1](j)}")
    return cost


def _doubles(rows: list[list[Any]], labels: tuple[Callable[[int], str], Callable[[int], str]]) -> NDArray[np.float64]:
    found = np.empty((len(rows), len(rows[0])))
    for i, row in enumerate(rows):
        for j, cell in enumerate(row):
            number = amount(cell)
            if number is None:
                raise InputError(
                    "distortion", f"must return a number: it does not from {labels[0](i)} to {labels[1](j)}"
                )
            found[i, j] = float(number)
    return found
