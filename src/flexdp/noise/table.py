"""Construction of the table of integer weights with the smallest reach for (ε, δ).

The weights rise from w_0 by the largest growth that ε allows and fall in mirror image. Every table is proved private
before it leaves this module.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

from flexdp._core.domains import DELTA, EPSILON, integer
from flexdp._core.enclosure import exp_below, least_from
from flexdp._core.exact import Number, number_text
from flexdp._core.text import safe_repr
from flexdp.errors import CertificateError, InputError, P
from flexdp.noise.certificate import prove

__all__ = ["LARGEST_REACH", "SMALLEST_EPSILON", "Table", "beyond_reach", "noise_table", "smallest_reach"]

LARGEST_REACH = 10**6
SMALLEST_EPSILON = Fraction(1, 10**9)  # below it the noise is practically uniform; refused, not rounded


@dataclass(frozen=True, slots=True)
class Table:
    """Integer weights that sum to 2^bits, and the growth used to build them."""

    weights: tuple[int, ...]
    bits: int
    growth: int  # A, with A / 2^precision ≤ e^ε
    precision: int


@lru_cache(maxsize=64)
def noise_table(epsilon: Fraction, delta: Fraction, reach: int | None = None) -> Table:
    """Build the table of the smallest reach, or a given larger one: 64-bit weights unless 128 bits reach less far."""
    if epsilon < SMALLEST_EPSILON:
        raise InputError("epsilon", f"must be at least {number_text(SMALLEST_EPSILON)}", given=number_text(epsilon))
    narrow, wide = (_Growth(epsilon, delta, bits) for bits in (64, 128))
    q = wide.smallest_reach()
    if q is None:
        raise beyond_reach(epsilon, delta)
    chosen = narrow if narrow.smallest_reach() == q else wide
    if reach is not None and not q <= reach <= LARGEST_REACH:
        raise InputError("q", f"must lie between {q} and {LARGEST_REACH} for these parameters", given=safe_repr(reach))
    table = Table(chosen.weights(reach or q), chosen.bits, chosen.growth, chosen.precision)
    evidence = prove(
        table.weights,
        bits=table.bits,
        epsilon=epsilon,
        delta=delta,
        growth=(table.growth, 1 << table.precision),
    )
    if not evidence.holds:
        raise CertificateError("the noise table does not satisfy the inequalities that prove it private")
    return table


def beyond_reach(epsilon: Fraction, delta: Fraction) -> InputError:
    """Build the error for parameters whose noise would need more than the largest reach."""
    return InputError(
        "epsilon",
        ("and ", P("delta"), f" are so small that a bucket could lose more than {LARGEST_REACH} records"),
        given=f"{number_text(epsilon)} and {number_text(delta)}",
        remedy="Choose larger ones.",
    )


def smallest_reach(epsilon: Number, delta: Number, *, at_most: int = LARGEST_REACH) -> int | None:
    """Return the reach of ``DropNoise(epsilon, delta)`` without building its table.

    Parameters
    ----------
    epsilon, delta
        Privacy of one bucket, taken exactly.
    at_most
        Largest reach of interest.

    Returns
    -------
    int or None
        The reach q; None if it exceeds ``at_most``.

    Examples
    --------
    >>> smallest_reach(1, "1e-6"), smallest_reach(1, "1e-6", at_most=27)
    (28, None)
    """
    exact_epsilon, exact_delta = EPSILON.check(epsilon), DELTA.check(delta)
    if exact_epsilon < SMALLEST_EPSILON:
        return None
    largest = integer("at_most", at_most, at_least=0)
    reach = _Growth(exact_epsilon, exact_delta, 128).smallest_reach(min(largest, LARGEST_REACH))
    return reach if reach is not None and reach <= largest else None


class _Growth:
    """The sequence g_0 = w_0, g_j = ⌊r·g_{j−1}⌋ at one precision, and the table built from it."""

    def __init__(self, epsilon: Fraction, delta: Fraction, bits: int) -> None:
        self.bits = bits
        self.total = 1 << bits
        self.limit = (delta.numerator << bits) // delta.denominator
        self.precision = bits + 32
        # Beyond e^bits a larger growth changes no weight, and soundness needs only a lower bound.
        self.growth = exp_below(min(epsilon, Fraction(bits)), self.precision)

    def smallest_reach(self, largest: int = LARGEST_REACH) -> int | None:
        """Return the smallest q whose mirrored sequence, started at the largest allowed w_0, reaches the total."""
        rung, side, half = self.limit, 0, 0
        while 2 * half < largest:
            if 2 * side + rung >= self.total:
                return 2 * half + 1
            side, half = side + rung, half + 1
            if 2 * side >= self.total:
                return 2 * half
            rung = self.growth * rung >> self.precision
        return None

    def weights(self, q: int) -> tuple[int, ...]:
        """Return the table of reach q with the smallest w_0; the excess is cut from the centre."""
        rungs = self._rungs(self._smallest_start(q), (q + 1) // 2)
        capped, cap, spare = self._cap(rungs, q)
        left = [*rungs[:capped], *([cap] * (q - 2 * capped)), *reversed(rungs[:capped])]
        for cell in sorted(range(capped, q - capped), key=lambda j: (abs(2 * j - (q - 1)), j))[:spare]:
            left[cell] += 1
        return tuple(left)

    def _rungs(self, start: int, length: int) -> list[int]:
        rungs, rung = [], start
        for _ in range(length):
            rungs.append(rung)
            rung = self.growth * rung >> self.precision
        return rungs

    def _reaches(self, start: int, q: int) -> bool:
        rungs = self._rungs(start, (q + 1) // 2)
        return 2 * sum(rungs) - (rungs[-1] if q % 2 else 0) >= self.total

    def _smallest_start(self, q: int) -> int:
        """Return the smallest w_0 whose sequence of reach q attains the total: gallop up from a proven lower bound."""
        # Without the floors the sum would be w_0·(Σ r^j), so no smaller w_0 suffices.
        power, slope = 1 << self.precision, 0
        for j in range((q + 1) // 2):
            slope += power if q % 2 and j == q // 2 else 2 * power
            power = -(-power * self.growth >> self.precision)
        low = min((self.total << self.precision) // slope, self.limit) - 1
        return least_from(lambda start: start >= self.limit or self._reaches(start, q), low + 1)

    def _cap(self, rungs: list[int], q: int) -> tuple[int, int, int]:
        """Return where the cap begins, the largest cap that fits the total, and the remainder to spread."""
        sums = [0, *accumulate(rungs)]
        for capped in range((q - 1) // 2, -1, -1):
            room = self.total - 2 * sums[capped]
            cap, spare = divmod(room, q - 2 * capped)
            if capped == 0 or cap >= rungs[capped - 1]:
                return capped, cap, spare
        raise AssertionError("unreachable: the loop returns at zero")
