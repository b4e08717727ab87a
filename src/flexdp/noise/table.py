"""The only source of privacy noise: a table of integer weights, its proof, and its sampler.

**The mechanism.** A bar holding x records loses J of them, J in {0, …, q−1}, and reports max(0, x − J). An empty
bar is never reported. J follows a table of integer weights w_0, …, w_{q−1} that sum to 2^K, sampled by comparing
K random bits with the running sums. Nothing is rounded at run time: the sampled law *is* the table.

**Why it is private.** Two neighbouring data sets differ by one record, in one bar, so their reports are x − J and
x − 1 − J (cutting at zero is post-processing). With a rational A/B ≤ e^ε, the three facts

    Σ w = 2^K,    Σ_j max(0, B·w_j − A·w_{j−1}) ≤ B·w_0,    Σ_j max(0, B·w_j − A·w_{j+1}) ≤ B·w_0

(weights outside the table are 0) say that in both directions the hockey-stick divergence at ε is at most
w_0 / 2^K, hence the mechanism is (ε, w_0/2^K)-differentially private. :meth:`DropNoise.certify` checks them, and
A/B ≤ e^ε, in integers alone.

**Why it is best.** The weights rise from w_0 by the largest growth that ε allows and fall in mirror image, which
makes q the smallest reach any drop-only rule can have for this (ε, δ). The reach depends on ε and δ only, never on the
data: where the paper lets it depend on the number of records, its theorem fails. Both are in docs/theory.md.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import DELTA, EPSILON, array, sequence, whole
from flexdp._core.exact import Number, number_text
from flexdp.errors import CertificateError, InputError

__all__ = ["LARGEST_REACH", "SMALLEST_EPSILON", "DropNoise", "Evidence", "fresh_salt", "prove", "smallest_reach"]

LARGEST_REACH = 10**6
SMALLEST_EPSILON = Fraction(1, 10**9)  # below it the noise is uniform for every purpose; refused, not rounded
_GUIDE_BITS = 16
_MOST_BITS = 4096  # of a table whose proof is checked
_MOST_DRAWS = 2**40  # at once; beyond it no memory holds them
_BLOCK = 1 << 16  # draws made at a time: they stay in the cache, and memory does not grow with the request

RandomBytes = Callable[[int], bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The integers that prove a table private; everything needed to check the proof by hand.

    ``growth_numerator / growth_denominator`` is the rational A/B ≤ e^ε; ``forward`` and ``backward`` are the two
    hockey-stick sums, in units of 1/(B·2^bits); each must not exceed ``allowance`` = B·w_0.
    """

    epsilon: Fraction
    delta: Fraction
    bits: int
    q: int
    growth_numerator: int
    growth_denominator: int
    growth_below_exp_epsilon: bool
    total: int
    first_weight: int
    weight_limit: int
    forward: int
    backward: int

    @property
    def allowance(self) -> int:
        """B·w_0, what either hockey-stick sum may amount to."""
        return self.growth_denominator * self.first_weight

    @property
    def delta_real(self) -> Fraction:
        """The δ that the table really has: w_0 / 2^bits."""
        return Fraction(self.first_weight, 1 << self.bits)

    @property
    def holds(self) -> bool:
        """Whether all of the inequalities hold, hence the claim (ε, δ)."""
        return (
            self.growth_below_exp_epsilon
            and self.total == 1 << self.bits
            and self.first_weight <= self.weight_limit
            and self.forward <= self.allowance
            and self.backward <= self.allowance
        )

    def __str__(self) -> str:
        return (
            f"{self.q} integer weights sum to 2^{self.bits}; the first is {self.first_weight} ≤ {self.weight_limit} "
            f"= ⌊δ·2^{self.bits}⌋; with r = {self.growth_numerator}/{self.growth_denominator} ≤ e^ε both "
            f"hockey-stick sums, {self.forward} and {self.backward}, are at most {self.allowance}."
        )


def prove(
    weights: Sequence[int], *, bits: int, epsilon: Fraction, delta: Fraction, growth: tuple[int, int]
) -> Evidence:
    """Collect the evidence for a table of weights, in integer arithmetic only; ``.holds`` is the verdict."""
    table, step = sequence(weights), sequence(growth)
    if not table or any(type(weight) is not int for weight in table):
        raise InputError("weights must be a list of whole numbers, and not empty.")
    if step is None or len(step) != 2:
        raise InputError("growth must be a pair of whole numbers, the numerator and the denominator.")
    weights, (a, b) = tuple(table), (whole("growth", part) for part in step)
    bits = whole("bits", bits, at_most=_MOST_BITS)
    epsilon, delta = EPSILON.check(epsilon), DELTA.check(delta)
    shifted_up = (0, *weights[:-1])
    shifted_down = (*weights[1:], 0)
    return Evidence(
        epsilon=epsilon,
        delta=delta,
        bits=bits,
        q=len(weights),
        growth_numerator=a,
        growth_denominator=b,
        growth_below_exp_epsilon=_at_most_exp(a, b, epsilon),
        total=sum(weights),
        first_weight=weights[0],
        weight_limit=(delta.numerator << bits) // delta.denominator,
        forward=sum(max(0, b * w - a * v) for w, v in zip(weights, shifted_up, strict=True)),
        backward=sum(max(0, b * w - a * v) for w, v in zip(weights, shifted_down, strict=True)),
    )


def fresh_salt() -> str:
    """What makes the choice of a unit's bars unforeseeable: 128 bits of the operating system's generator."""
    return os.urandom(16).hex()


class DropNoise:
    """How many records a bar loses: the smallest reach for (ε, δ), as a certified table of integers.

    ``epsilon`` and ``delta`` are taken exactly: ``0.1``, ``"0.1"`` and ``Fraction(1, 10)`` are the same number.

    >>> noise = DropNoise(1, "1e-6")
    >>> noise.q, noise.max_drop, sum(noise.weights) == 2**64
    (28, 27, True)
    >>> noise.certify().holds
    True
    """

    __slots__ = ("_delta", "_epsilon", "_sampler", "_table")

    def __init__(self, epsilon: Number, delta: Number) -> None:
        self._epsilon = EPSILON.check(epsilon)
        self._delta = DELTA.check(delta)
        self._table = _table(self._epsilon, self._delta)
        self._sampler: _Sampler | None = None

    @property
    def epsilon(self) -> Fraction:
        """ε, exactly as given."""
        return self._epsilon

    @property
    def delta(self) -> Fraction:
        """δ, exactly as given; the table's own δ is :attr:`delta_real`, never more."""
        return self._delta

    @property
    def q(self) -> int:
        """The reach: a bar with at least q records always survives."""
        return len(self._table.weights)

    @property
    def max_drop(self) -> int:
        """The most records a bar can lose: q − 1."""
        return self.q - 1

    @property
    def bits(self) -> int:
        """K: the weights sum to 2^K. 64, or 128 where 64 would cost a larger reach."""
        return self._table.bits

    @property
    def weights(self) -> tuple[int, ...]:
        """The integer weights: Pr[J = j] = weights[j] / 2^bits, exactly."""
        return self._table.weights

    @property
    def delta_real(self) -> Fraction:
        """Pr[J = 0], exactly the smallest δ for which this table is (ε, δ)-private."""
        return Fraction(self.weights[0], 1 << self.bits)

    @property
    def pmf(self) -> NDArray[np.float64]:
        """Pr[J = j] as doubles, for plotting and expectations; the exact law is :attr:`weights`."""
        return np.array([float(Fraction(w, 1 << self.bits)) for w in self.weights])

    def certify(self) -> Evidence:
        """Prove the claim (ε, δ) in integer arithmetic and return the evidence."""
        evidence = prove(
            self.weights,
            bits=self.bits,
            epsilon=self._epsilon,
            delta=self._delta,
            growth=(self._table.growth, 1 << self._table.precision),
        )
        if not evidence.holds:
            raise CertificateError("the noise table does not satisfy the inequalities that prove it private")
        return evidence

    def mean_drop(self, count: int | None = None) -> Fraction:
        """E[min(count, J)], how many records a bar of that height loses on average; without one, a tall bar.

        >>> float(DropNoise(1, "1e-6").mean_drop())
        13.5
        """
        height = self.max_drop if count is None else min(whole("count", count, at_least=0), self.max_drop)
        total = sum(min(height, j) * w for j, w in enumerate(self.weights))
        return Fraction(total, 1 << self.bits)

    def survival(self, count: int) -> Fraction:
        """p_k = Pr[J < count], the chance that a bar of that height is reported at all: 0 for none, 1 from q on."""
        return Fraction(sum(self.weights[: min(whole("count", count, at_least=0), self.q)]), 1 << self.bits)

    def sample(self, size: int) -> NDArray[np.int64]:
        """Draw ``size`` independent drops with bits from the operating system's generator."""
        return self._draw(whole("size", size, at_least=0, at_most=_MOST_DRAWS), os.urandom)

    def thin(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """What is left of non-empty bars: max(0, count − J), a fresh J for each. Bars of zero stay at zero."""
        bars = array(counts)
        if bars is None or bars.ndim != 1 or bars.dtype.kind not in "iu":
            raise InputError("counts must be a flat array of whole numbers, one for each bar.")
        left: NDArray[np.int64] = np.maximum(bars - self.sample(len(bars)), 0)
        return left

    def _draw(self, size: int, random_bytes: RandomBytes) -> NDArray[np.int64]:
        # Experiments and tests pass their own bytes here; a release cannot.
        if self._sampler is None:
            self._sampler = _Sampler(self.weights, self.bits)
        return self._sampler.draw(size, random_bytes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DropNoise):
            return NotImplemented
        return (self._epsilon, self._delta) == (other._epsilon, other._delta)

    def __hash__(self) -> int:
        return hash((self._epsilon, self._delta))

    def __repr__(self) -> str:
        return f"DropNoise(epsilon={number_text(self._epsilon)}, delta={number_text(self._delta)})"


@dataclass(frozen=True, slots=True)
class _Table:
    weights: tuple[int, ...]
    bits: int
    growth: int  # A, with A / 2^precision ≤ e^ε
    precision: int


@lru_cache(maxsize=64)
def _table(epsilon: Fraction, delta: Fraction) -> _Table:
    """The table of the smallest reach, with 64-bit weights unless 128 bits give a smaller one."""
    if epsilon < SMALLEST_EPSILON:
        raise InputError(
            f"epsilon must be at least {number_text(SMALLEST_EPSILON)}; got {number_text(epsilon)}. "
            "Choose a larger epsilon."
        )
    narrow, wide = (_Growth(epsilon, delta, bits) for bits in (64, 128))
    q = wide.smallest_reach()
    if q is None:
        raise InputError(
            f"epsilon and delta are so small that a bar could lose more than {LARGEST_REACH} records; "
            f"got epsilon={number_text(epsilon)}, delta={number_text(delta)}. Choose a larger epsilon or delta."
        )
    chosen = narrow if narrow.smallest_reach() == q else wide
    table = _Table(chosen.weights(q), chosen.bits, chosen.growth, chosen.precision)
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


def smallest_reach(epsilon: Number, delta: Number, *, at_most: int = LARGEST_REACH) -> int | None:
    """The reach that ``DropNoise(epsilon, delta)`` has, without building its table; None where it exceeds ``at_most``.

    >>> smallest_reach(1, "1e-6"), smallest_reach(1, "1e-6", at_most=27)
    (28, None)
    """
    exact_epsilon, exact_delta = EPSILON.check(epsilon), DELTA.check(delta)
    if exact_epsilon < SMALLEST_EPSILON:
        return None
    largest = whole("at_most", at_most, at_least=0)
    reach = _Growth(exact_epsilon, exact_delta, 128).smallest_reach(min(largest, LARGEST_REACH))
    return reach if reach is not None and reach <= largest else None


class _Growth:
    """The sequence g_0 = w_0, g_j = ⌊r·g_{j−1}⌋ for one precision, and the table built from it."""

    def __init__(self, epsilon: Fraction, delta: Fraction, bits: int) -> None:
        self.bits = bits
        self.total = 1 << bits
        self.limit = (delta.numerator << bits) // delta.denominator
        self.precision = bits + 32
        # Beyond e^bits a larger growth changes no weight, and a lower bound is all that soundness needs.
        self.growth = _exp_lower(min(epsilon, Fraction(bits)), self.precision)

    def smallest_reach(self, largest: int = LARGEST_REACH) -> int | None:
        """The smallest q whose mirrored sequence, begun at the largest allowed w_0, reaches the total."""
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
        """The table of reach q with the smallest w_0, its excess cut from the centre."""
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
        """The smallest w_0 whose sequence of reach q attains the total: galloping up from a proven lower bound."""
        # Without the floors, the sum would be w_0·(Σ r^j); so no smaller w_0 can do.
        power, slope = 1 << self.precision, 0
        for j in range((q + 1) // 2):
            slope += power if q % 2 and j == q // 2 else 2 * power
            power = -(-power * self.growth >> self.precision)
        low = min((self.total << self.precision) // slope, self.limit) - 1
        step = 1
        while not self._reaches(min(low + step, self.limit), q):
            low, step = min(low + step, self.limit), 2 * step
        high = min(low + step, self.limit)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._reaches(middle, q) else (middle, high)
        return high

    def _cap(self, rungs: list[int], q: int) -> tuple[int, int, int]:
        """Where capping begins, the largest cap that fits the total, and what is left to spread."""
        sums = [0, *accumulate(rungs)]
        for capped in range((q - 1) // 2, -1, -1):
            room = self.total - 2 * sums[capped]
            cap, spare = divmod(room, q - 2 * capped)
            if capped == 0 or cap >= rungs[capped - 1]:
                return capped, cap, spare
        raise AssertionError("unreachable: the loop returns at zero")


def _exp_lower(x: Fraction, precision: int) -> int:
    """An integer A with A / 2^precision ≤ e^x, by the Taylor series with every term rounded down."""
    term = total = 1 << precision
    k = 0
    while term:
        k += 1
        term = term * x.numerator // (x.denominator * k)
        total += term
    return total


def _at_most_exp(a: int, b: int, x: Fraction) -> bool:
    """Whether a/b ≤ e^x, by comparing with exact partial sums of the series and a bound on what they leave out."""
    partial, scale, power, k = 1, 1, 1, 0  # Σ_{i≤k} x^i/i! = partial/scale, x^k/k! = power/scale
    while a * scale > b * partial:
        k += 1
        step = x.denominator * k
        power *= x.numerator
        partial, scale = partial * step + power, scale * step
        # For k ≥ 2x all later terms together are at most the last one.
        if k >= 2 * x and a * scale > b * (partial + power):
            return False
    return True


class _Sampler:
    """Inverse sampling of an integer table: 16 bits decide almost always, then 64, then all of them."""

    def __init__(self, weights: Sequence[int], bits: int) -> None:
        self._boundaries = list(accumulate(weights))[:-1]  # J = how many of them are ≤ u
        self._bits = bits
        self._words = np.array([c >> (bits - 64) for c in self._boundaries], dtype=np.uint64)
        prefixes = (self._words >> np.uint64(64 - _GUIDE_BITS)).astype(np.int64)
        within = np.bincount(prefixes, minlength=1 << _GUIDE_BITS)
        guide = np.concatenate(([0], np.cumsum(within)[:-1]))
        self._guide = np.where(within == 0, guide, -1).astype(np.int32)  # −1: a boundary lies inside this prefix

    def draw(self, size: int, random_bytes: RandomBytes) -> NDArray[np.int64]:
        out = np.empty(size, dtype=np.int64)
        for start in range(0, size, _BLOCK):
            block = out[start : start + _BLOCK]
            prefix = np.frombuffer(random_bytes(2 * len(block)), dtype="<u2")
            block[:] = self._guide.take(prefix)
            open_cases = np.flatnonzero(block < 0)
            if len(open_cases):
                block[open_cases] = self._settle(prefix[open_cases], random_bytes)
        return out

    def _settle(self, prefix: NDArray[np.uint16], random_bytes: RandomBytes) -> NDArray[np.int64]:
        """Complete the prefixes to 64 bits and compare; where even those tie with a boundary, to all bits."""
        rest = np.frombuffer(random_bytes(8 * len(prefix)), dtype="<u8") >> np.uint64(_GUIDE_BITS)
        word = (prefix.astype(np.uint64) << np.uint64(64 - _GUIDE_BITS)) | rest
        drops = np.searchsorted(self._words, word, side="right").astype(np.int64)
        if self._bits > 64:
            for i in np.flatnonzero(self._words[np.maximum(drops - 1, 0)] == word):
                low = int.from_bytes(random_bytes((self._bits - 64) // 8), "little")
                drops[i] = bisect_right(self._boundaries, int(word[i]) << (self._bits - 64) | low)
        return drops
