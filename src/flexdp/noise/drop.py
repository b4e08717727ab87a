"""The number of records that a bucket loses: a table of integer weights, its proof, and draws from it.

**The mechanism.** A bucket of x records loses J of them, J in {0, …, q−1}, and reports max(0, x − J). An empty bucket
is never reported. J follows a table of integer weights w_0, …, w_{q−1} that sum to 2^K, sampled by comparing K random
bits with the running sums. Nothing is rounded at run time: the sampled law *is* the table.

**Why it is private.** Two neighbouring data sets differ by one record, in one bucket, so their reports are x − J and
x − 1 − J (truncation at zero is post-processing). With a rational A/B ≤ e^ε, the three facts

    Σ w = 2^K,    Σ_j max(0, B·w_j − A·w_{j−1}) ≤ B·w_0,    Σ_j max(0, B·w_j − A·w_{j+1}) ≤ B·w_0

(weights outside the table are 0) state that the hockey-stick divergence at ε is at most w_0 / 2^K in both directions;
hence the mechanism is (ε, w_0/2^K)-differentially private. :meth:`DropNoise.certify` checks them, and A/B ≤ e^ε, in
integers alone.

**Why it is optimal.** The weights rise from w_0 by the largest growth that ε allows and fall in mirror image, which
makes q the smallest reach of any drop-only mechanism for this (ε, δ). The reach depends on ε and δ alone, never on the
data; the paper's theorem fails where its reach depends on the number of records. Both are in docs/theory.md.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import DELTA, EPSILON, array, integer
from flexdp._core.exact import Number, number_text
from flexdp._core.text import safe_repr
from flexdp.distribution import Distribution
from flexdp.errors import CertificateError, InputError
from flexdp.noise.bits import Bits
from flexdp.noise.certificate import Evidence, prove
from flexdp.noise.sampler import RandomBytes, Sampler, system_bytes
from flexdp.noise.table import noise_table, smallest_reach

__all__ = ["DropNoise", "counts_given"]

_MOST_DRAWS = 2**40  # at once; more do not fit into memory


class DropNoise:
    """The number of records that a bucket loses: a certified table of integers of the smallest reach for (ε, δ).

    Parameters
    ----------
    epsilon, delta
        Privacy of one bucket, taken exactly: ``0.1``, ``"0.1"`` and ``Fraction(1, 10)`` are the same number.
    q
        The reach, where it is to be larger than the smallest one: δ of the table is then smaller.

    Examples
    --------
    >>> noise = DropNoise(1, "1e-6")
    >>> noise.q, noise.max_drop, sum(noise.weights) == 2**64
    (28, 27, True)
    >>> noise.certify().holds
    True
    """

    __slots__ = ("_delta", "_epsilon", "_sampler", "_table")

    def __init__(self, epsilon: Number, delta: Number, *, q: int | None = None) -> None:
        self._epsilon = EPSILON.check(epsilon)
        self._delta = DELTA.check(delta)
        self._table = noise_table(self._epsilon, self._delta, None if q is None else integer("q", q, at_least=2))
        self._sampler: Sampler | None = None

    @property
    def epsilon(self) -> Fraction:
        """ε, exactly as given."""
        return self._epsilon

    @property
    def delta(self) -> Fraction:
        """δ, exactly as given; that of the table is :attr:`delta_real`, which is never larger."""
        return self._delta

    @property
    def q(self) -> int:
        """The reach: a bucket of at least q records always survives."""
        return len(self._table.weights)

    @property
    def max_drop(self) -> int:
        """The most records that a bucket can lose: q − 1."""
        return self.q - 1

    @property
    def bits(self) -> int:
        """K with weights that sum to 2^K: 64, or 128 if 64 would need a larger reach."""
        return self._table.bits

    @property
    def weights(self) -> tuple[int, ...]:
        """The integer weights: Pr[J = j] = weights[j] / 2^bits, exactly."""
        return self._table.weights

    @property
    def delta_real(self) -> Fraction:
        """Pr[J = 0], the smallest δ for which this table is (ε, δ)-private."""
        return Fraction(self.weights[0], 1 << self.bits)

    @property
    def pmf(self) -> NDArray[np.float64]:
        """Pr[J = j] as doubles, for plotting and expectations; the exact law is :attr:`weights`."""
        whole = 1 << self.bits
        return np.array([weight / whole for weight in self.weights])  # division of integers rounds correctly

    def certify(self) -> Evidence:
        """Prove the claim (ε, δ) in integer arithmetic.

        Returns
        -------
        Evidence
            The integers of the proof.

        Raises
        ------
        CertificateError
            If the table does not satisfy the inequalities.
        """
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
        """Return E[min(count, J)], the expected number of records that a bucket loses.

        Parameters
        ----------
        count
            Number of records in the bucket; at least q − 1 unless given.

        Returns
        -------
        Fraction
            The expectation, exactly.

        Examples
        --------
        >>> float(DropNoise(1, "1e-6").mean_drop())
        13.5
        """
        height = self.max_drop if count is None else min(integer("count", count, at_least=0), self.max_drop)
        total = sum(min(height, j) * w for j, w in enumerate(self.weights))
        return Fraction(total, 1 << self.bits)

    def survival(self, count: int) -> Fraction:
        """Return Pr[J < count], the probability that a bucket is reported at all.

        Parameters
        ----------
        count
            Number of records in the bucket.

        Returns
        -------
        Fraction
            The probability, exactly: 0 for an empty bucket, 1 from q records on.

        Examples
        --------
        >>> noise = DropNoise(1, "1e-6")
        >>> float(noise.survival(14)), noise.survival(28)
        (0.5, Fraction(1, 1))
        """
        return Fraction(sum(self.weights[: min(integer("count", count, at_least=0), self.q)]), 1 << self.bits)

    def sample(self, size: int) -> NDArray[np.int64]:
        """Draw independent drops with bits from the operating system's generator.

        Parameters
        ----------
        size
            Number of draws.

        Returns
        -------
        numpy.ndarray
            Integers from 0 to q − 1.

        Examples
        --------
        >>> drops = DropNoise(1, "1e-6").sample(1000)
        >>> len(drops), bool((0 <= drops).all() and (drops <= 27).all())
        (1000, True)
        """
        return self._draw(integer("size", size, at_least=0, at_most=_MOST_DRAWS), system_bytes)

    def thin(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return max(0, count − J) for each bucket, with an independent J for each.

        Parameters
        ----------
        counts
            Numbers of records, a flat array of integers.

        Returns
        -------
        numpy.ndarray
            Numbers of records that are left; an empty bucket stays empty.

        Raises
        ------
        InputError
            If ``counts`` is not a flat array of integers.

        Examples
        --------
        >>> DropNoise(1, "1e-6").thin(np.array([0, 1000])).tolist()[0]
        0
        """
        full = counts_given(counts)
        left = self.sample(len(full))
        np.subtract(full, left, out=left)  # in place: there may be 10^8 buckets
        return np.maximum(left, 0, out=left)

    def draw(self, count: int, bits: Bits) -> int:
        """Draw what is left of a bucket, for experiments and mechanisms of your own.

        Parameters
        ----------
        count
            The number of records before.
        bits
            The source of randomness.

        Returns
        -------
        int
            The number of records after.

        Examples
        --------
        >>> DropNoise(1, "1e-6").draw(0, Bits())
        0
        """
        return max(0, count - int(self._draw(1, bits.source)[0]))

    def law(self, count: int) -> Distribution:
        """Return the exact law of what is left of a bucket of ``count`` records; that of equal buckets is one object.

        Parameters
        ----------
        count
            The number of records before.

        Returns
        -------
        Distribution
            By the number of records after.

        Examples
        --------
        >>> {left: round(float(mass), 3) for left, mass in DropNoise(1, "0.05").law(1).masses.items()}
        {1: 0.045, 0: 0.955}
        """
        return _law_of_the_rest(self.weights, self.bits, integer("count", count, at_least=0))

    def _draw(self, size: int, random_bytes: RandomBytes) -> NDArray[np.int64]:
        # Experiments and tests pass their own bytes here; a release cannot.
        if self._sampler is None:
            self._sampler = Sampler(self.weights, self.bits)
        return self._sampler.draw(size, random_bytes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DropNoise):
            return NotImplemented
        return (self._epsilon, self._delta, self.q) == (other._epsilon, other._delta, other.q)

    def __hash__(self) -> int:
        return hash((self._epsilon, self._delta, self.q))

    def __repr__(self) -> str:
        smallest = smallest_reach(self._epsilon, self._delta, at_most=self.q - 1) is None
        reach = "" if smallest else f", q={self.q}"
        return f"DropNoise(epsilon={number_text(self._epsilon)}, delta={number_text(self._delta)}{reach})"


def counts_given(counts: object) -> NDArray[np.int64]:
    """Check a parameter that must be a flat array of integers; they are read as numbers of records."""
    full = array(counts)
    if full is None or full.ndim != 1 or full.dtype.kind not in "iu":
        raise InputError("counts", "must be a flat array of integers, one for each bucket", given=safe_repr(counts))
    return full if full.dtype.kind == "i" else np.minimum(full, np.uint64(2**63 - 1)).astype(np.int64)


@lru_cache(maxsize=4096)
def _law_of_the_rest(weights: tuple[int, ...], bits: int, count: int) -> Distribution:
    """max(0, count − J): drops of at least ``count`` records all leave nothing."""
    left = {count - drop: weight for drop, weight in enumerate(weights[:count])}
    if rest := sum(weights[count:]):
        left[0] = rest
    return Distribution({kept: Fraction(weight, 1 << bits) for kept, weight in left.items() if weight})
