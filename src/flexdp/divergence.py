"""Two laws on the same outcomes, their products, and the hockey-stick divergence between them, rigorously.

Weights are exact rationals. Where a law is known only up to an error (an exponential was rounded, a tail was cut off),
the error is a bound on the sum of all absolute differences, and is added to every upper bound. Products too large to
enumerate are coarsened in two ways whose divergences enclose the true one:

* merging outcomes is post-processing, so it can only lower a divergence;
* an outcome whose likelihood ratio lies between r and s is a mixture of one outcome of ratio r and one of ratio s.
  Telling these two apart can only raise a divergence, and all outcomes of one ratio may be merged without loss.

Both hold for every factor of a product, hence for the product.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

from flexdp._core.enclosure import Bounds, exp_bounds

__all__ = [
    "LARGEST_PRODUCT",
    "Divergence",
    "Pair",
    "Row",
    "hockey_stick",
    "joint_rows",
    "missing",
    "pair_of_laws",
]

LARGEST_PRODUCT = 200_000  # joint outcomes that are enumerated one by one
_MOST_ROWS, _MOST_FACTORS = 600, 80  # of a coarsened product, and of each of its factors
_BITS = 512
_UNITS = 1 << _BITS
_LEAST = 1 << 256  # units below which a probability counts as 0, so that no ratio is one of rounded ends
_RATIO = 512  # bits after the point of a likelihood ratio
_COARSE_ERROR = Fraction(1, 1 << 200)


class Row(NamedTuple):
    """One outcome with its probability under either law."""

    label: Any
    one: Fraction
    other: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Both laws of one part of an output: the rows are its outcomes, or those that were followed."""

    name: Any = None  # which part it is, such as the key of a bucket; None where there is only one
    rows: tuple[Row, ...]
    error: tuple[Fraction, Fraction] = (Fraction(0), Fraction(0))  # of either law, Σ|probability − true probability|

    @property
    def covered(self) -> tuple[Fraction, Fraction]:
        """Either law's sum, at most 1: it is 1 where every outcome is a row."""
        one, other = (sum((row[side] for row in self.rows), Fraction(0)) for side in (1, 2))
        return min(Fraction(1), one), min(Fraction(1), other)

    @property
    def same(self) -> bool:
        """True if both laws are equal, so that the part distinguishes nothing."""
        return all(row.one == row.other for row in self.rows)


class Divergence(NamedTuple):
    """Bounds of Σ max(0, P − e^ε·Q) over all outcomes, from the first law to the second and back.

    Outcomes that were not followed count in full in both upper bounds: ``followed`` excludes them; ``covered`` is the
    probability of those that were, under the law that has less of it. ``parts`` are the parts that reveal anything.
    """

    forward: Bounds
    backward: Bounds
    parts: tuple[Pair, ...] = ()
    followed: Fraction = Fraction(0)
    covered: Fraction = Fraction(1)

    @classmethod
    def between(cls, pairs: Sequence[Pair], epsilon: Fraction) -> Divergence:
        """Compare outputs of independent parts."""
        telling = tuple(pair for pair in pairs if not pair.same or any(pair.error))
        ways, rest = hockey_stick(telling, epsilon), missing(pairs)
        forward, backward = (
            Bounds(way.lower, min(Fraction(1), way.upper + more)) for way, more in zip(ways, rest, strict=True)
        )
        return cls(forward, backward, telling, max(way.upper for way in ways), 1 - max(rest))


def pair_of_laws(
    one: Mapping[Any, Fraction],
    other: Mapping[Any, Fraction],
    *,
    name: Any = None,
    error: tuple[Fraction, Fraction] = (Fraction(0), Fraction(0)),
) -> Pair:
    """Put two laws beside each other, outcome by outcome."""
    zero = Fraction(0)
    labels = dict.fromkeys([*one, *other])
    rows = tuple(Row(label, one.get(label, zero), other.get(label, zero)) for label in labels)
    return Pair(name=name, rows=rows, error=error)


def joint_rows(pairs: Sequence[Pair]) -> Iterator[Row]:
    """Iterate over the outcomes of a product, labelled by tuples."""
    for rows in product(*(pair.rows for pair in pairs)):
        one = other = Fraction(1)
        for row in rows:
            one, other = one * row.one, other * row.other
        yield Row(tuple(row.label for row in rows), one, other)


def hockey_stick(pairs: Sequence[Pair], epsilon: Fraction) -> tuple[Bounds, Bounds]:
    """Enclose Σ max(0, P − e^ε·Q) for the product of some pairs, from the first law to the second and back.

    The sum is over the rows. A pair that is the same on both sides is left out, even if it lacks some outcomes: the
    rest of the output is a marginal, which distinguishes no more than the whole, so the lower bound remains valid. For
    an upper bound over all outcomes, add what is :func:`missing`.
    """
    growth = exp_bounds(epsilon)
    kept = [pair for pair in pairs if not pair.same or any(pair.error)]
    errors = [sum((pair.error[side] for pair in kept), Fraction(0)) for side in (0, 1)]
    if math.prod(len(pair.rows) for pair in kept) <= LARGEST_PRODUCT:
        table = _integers(kept)
        least = most = table
    else:
        least, most = (_coarse(kept, split=split) for split in (False, True))
        errors = [error + _COARSE_ERROR for error in errors]
    found = []
    for side in (0, 1):
        error = errors[side] + growth.upper * errors[1 - side]
        lower = least.divergence(growth.upper, side) - error
        upper = most.divergence(growth.lower, side) + error
        found.append(Bounds(max(Fraction(0), lower), min(Fraction(1), upper)))
    return found[0], found[1]


def missing(pairs: Sequence[Pair]) -> tuple[Fraction, Fraction]:
    """Return the probability, under either law, of the joint outcomes that are not rows.

    The divergence from that law to the other one grows by at most this much.
    """
    one = other = Fraction(1)
    for pair in pairs:
        covered = pair.covered
        one, other = one * covered[0], other * covered[1]
    return 1 - one, 1 - other


@dataclass(frozen=True, slots=True)
class _Integers:
    """Joint weights as integers over a common denominator for each law."""

    weights: list[tuple[int, int]]
    scales: tuple[int, int]

    def divergence(self, growth: Fraction, side: int) -> Fraction:
        """Σ max(0, P − growth·Q), or with the laws exchanged."""
        own, others = self.scales[side], self.scales[1 - side]
        up, down = others * growth.denominator, own * growth.numerator
        total = 0
        for weights in self.weights:
            excess = weights[side] * up - weights[1 - side] * down
            if excess > 0:
                total += excess
        return Fraction(total, own * others * growth.denominator)


def _integers(pairs: Sequence[Pair]) -> _Integers:
    weights, scales = [(1, 1)], [1, 1]
    for pair in pairs:
        own = [math.lcm(*(row[side].denominator for row in pair.rows)) for side in (1, 2)]
        rows = [
            tuple(row[side].numerator * (own[side - 1] // row[side].denominator) for side in (1, 2))
            for row in pair.rows
        ]
        weights = [(a * c, b * d) for a, b in weights for c, d in rows]
        scales = [scales[0] * own[0], scales[1] * own[1]]
    return _Integers(weights, (scales[0], scales[1]))


def _coarse(pairs: Sequence[Pair], *, split: bool) -> _Integers:
    """A product that encloses the true one: from above if outcomes are split, from below if they are merged.

    Its weights are integers in units of 2^−512. Probabilities below 2^−256 count as 0, and every other rounding is far
    smaller; there are far fewer than 2^56 of them, so all together change less than 2^−200.
    """
    rows = [(_UNITS, _UNITS)]
    known: dict[int, list[tuple[int, int]]] = {}
    for pair in pairs:
        factor = known.get(id(pair.rows))
        if factor is None:
            whole = [(_in_units(row.one), _in_units(row.other)) for row in pair.rows]
            factor = known[id(pair.rows)] = _few(whole, _MOST_FACTORS, split=split)
        joint = [(_kept(a * c >> _BITS), _kept(b * d >> _BITS)) for a, b in rows for c, d in factor]
        rows = _few(joint, _MOST_ROWS, split=split)
    return _Integers(rows, (_UNITS, _UNITS))


def _in_units(chance: Fraction) -> int:
    return _kept((chance.numerator << _BITS) // chance.denominator)


def _kept(units: int) -> int:
    return units if units >= _LEAST else 0


def _few(rows: Sequence[tuple[int, int]], most: int, *, split: bool) -> list[tuple[int, int]]:
    """Clusters of nearby likelihood ratios, just wide enough to leave no more rows than wanted."""
    placed = [(_log_ratio(one, other), one, other) for one, other in rows if one or other]
    width = 1e-6
    while True:
        found = _clustered(placed, width, split=split)
        if len(found) <= most or width > 1:
            return found
        width *= 4


def _clustered(rows: Iterable[tuple[float, int, int]], width: float, *, split: bool) -> list[tuple[int, int]]:
    """Merge outcomes whose likelihood ratios are within e^width of each other, or split them between their ends."""
    clusters: dict[float, list[tuple[int, int]]] = {}
    for log, one, other in rows:
        clusters.setdefault(log if math.isinf(log) else math.floor(log / width + 0.5), []).append((one, other))
    out = []
    for key, cluster in clusters.items():
        one, other = sum(row[0] for row in cluster), sum(row[1] for row in cluster)
        ends = (0, 0) if math.isinf(key) or not split or len(cluster) == 1 else _ends(cluster)
        low, high = ends
        if low == high:
            out.append((one, other))
            continue
        # The second law's mass on the ray of the high ratio; the rest of it is on the ray of the low one.
        steep = ((one << _RATIO) - low * other) // (high - low)
        flat = other - steep
        out += [(low * flat >> _RATIO, flat), (high * steep >> _RATIO, steep)]
    return out


def _ends(cluster: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The smallest ratio, rounded down, and the largest, rounded up, in units of 2^−_RATIO."""
    return min((one << _RATIO) // other for one, other in cluster), max(
        -((-one << _RATIO) // other) for one, other in cluster
    )


def _log_ratio(one: int, other: int) -> float:
    """ln(one/other); it decides on clusters alone, whose bounds hold however they are made."""
    if not one or not other:
        return math.inf if one else -math.inf
    return math.log(one) - math.log(other)
