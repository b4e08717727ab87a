"""The records that T public buckets lose together: drawn again until they are at most m in all.

**The mechanism.** J_1, …, J_T are drawn from the table of one bucket, for every public bucket, the empty ones too, and
all of them again while their sum Σ exceeds m. Bucket i reports max(0, x_i − J_i). How often they are drawn does not
depend on the data, and on average it is at most twice. With T = 24 buckets at (ε, δ) = (1, 1e-6)::

      0            324          362                     648 = 27·24
      ├─────────────┼────────────┼──────────────────────┤        sum of 24 independent losses
                  mean   ± 6.6   m: a sum beyond it has a chance of 3e-7

**Why it is private.** Let D = q − 1, and let a record be removed from bucket 1. The reports follow from x − J or from
x − e_1 − J: the law of J is compared with itself, moved by one in bucket 1. The table's weights rise and fall by
factors of at most e^ε, so what only one of the two can show is all that distinguishes them more::

    J_2 ▲
      m │╲            x shows, and x − e_1 cannot:   J_1 = 0
        │  ╲          x − e_1 shows, and x cannot:   J_1 = D, or Σ = m with J_1 < D
        │0   ╲m
        └──────╲──▶ J_1

    δ = max(p_0 · Pr[rest ≤ m],  p_D · Pr[rest ≤ m − D] + Pr[Σ = m, J_1 < D]) / Pr[Σ ≤ m]

A unit that counts once in each of k buckets, each with ε/k, adds up the losses of at most s = min(k, T) of them:

    δ = max(Pr[some J_i = 0, i ≤ s; Σ ≤ m],  Pr[some J_i = D, i ≤ s, or Σ > m − s; Σ ≤ m]) / Pr[Σ ≤ m]

Both events grow with s, so that fewer buckets need no look of their own; s = 1 is the formula above.

**The proof in integers.** Probabilities of sums are integers l_n over 10^P with l_n / 10^P ≤ Pr[Σ = n]: every product
is rounded down. They miss 1 − Σ l_n / 10^P in all, so that an event is at most that much likelier than its l_n say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal, Inexact
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate, product

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import DELTA, EPSILON, instance, integer, sequence
from flexdp._core.exact import Number, number_text
from flexdp._core.text import safe_repr
from flexdp.calculus.powers import any_of
from flexdp.errors import CertificateError, InputError
from flexdp.noise.calibration import per_bucket
from flexdp.noise.drop import DropNoise, counts_given
from flexdp.noise.sampler import RandomBytes, system_bytes
from flexdp.noise.table import LARGEST_REACH

__all__ = ["TotalEvidence", "TotalNoise", "prove_total"]

_LONGEST_LAW = 5000  # losses in all, in a law that is listed exactly
_MOST_SUMS = 1 << 16  # of different probabilities in the law of a sum; beyond it no smaller total is looked for
_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact])  # products of integers of any length


@dataclass(frozen=True, slots=True, kw_only=True)
class TotalEvidence:
    """Integers that prove a total private, besides the proof for the table of one bucket.

    Attributes
    ----------
    delta
        The claim.
    buckets, units
        T, and the most of them that one unit changes by one.
    total
        m, the most that all buckets lose together.
    digits
        The other integers are numerators over 10^digits.
    kept
        At most Pr[Σ ≤ m].
    removed, added
        At least the probabilities of what only the larger, or only the smaller, of two neighbours can show.

    Examples
    --------
    >>> evidence = TotalNoise(1, "1e-6", 24).certify()
    >>> evidence.total, evidence.holds
    (362, True)
    """

    delta: Fraction
    buckets: int
    units: int
    total: int
    digits: int
    kept: int
    removed: int
    added: int

    @property
    def delta_real(self) -> Fraction:
        """An upper bound of the mechanism's δ, above it by less than its printed digits show."""
        return Fraction(max(self.removed, self.added), self.kept)

    @property
    def holds(self) -> bool:
        """True if the claimed δ is met, and a draw is kept at least every other time."""
        return 10**self.digits <= 2 * self.kept and self.delta_real <= self.delta

    def __str__(self) -> str:
        return (
            f"{self.buckets} such losses are drawn until their sum is at most {self.total}: of 10^{self.digits} draws "
            f"at least {self.kept} are kept; at most {self.removed}, or {self.added}, of them show on which of two "
            f"neighbours they were made, which is at most δ of those kept."
        )


class TotalNoise:
    """The losses of T public buckets, drawn from a certified table until they are at most m in all.

    m is the smallest that the integers prove; where there are so many buckets that this would take long, D·T.

    Parameters
    ----------
    epsilon, delta
        Privacy of a unit, taken exactly.
    buckets
        T, the number of public buckets.
    units
        k, the most buckets in which one unit counts, once in each.
    q
        The reach, where it is to be larger than the smallest one.

    Examples
    --------
    >>> noise = TotalNoise(1, "1e-6", 24)
    >>> noise.max_drop, noise.total, noise.certify().holds
    (27, 362, True)
    >>> TotalNoise(1, "1e-6", 24, q=29).total
    371
    """

    def __init__(self, epsilon: Number, delta: Number, buckets: int, *, units: int = 1, q: int | None = None) -> None:
        self.epsilon = EPSILON.check(epsilon)
        self.delta = DELTA.check(delta)
        self.buckets = integer("buckets", buckets)
        self.units = integer("units", units)
        share = per_bucket(self.epsilon, self.delta, self.units)
        self.noise = DropNoise(share.epsilon, share.delta, q=q)
        self._sums, self._evidence = _smallest_total(
            self.noise.weights, self.noise.bits, self.delta, self.buckets, self.units
        )

    @classmethod
    def smallest(cls, epsilon: Number, delta: Number, buckets: int, *, units: int = 1) -> TotalNoise:
        """Return the noise of the smallest total: of the smallest reach, or of one more where that has no slack.

        Parameters
        ----------
        epsilon, delta, buckets, units
            As of the class.

        Returns
        -------
        TotalNoise
            The noise.

        Examples
        --------
        >>> found = TotalNoise.smallest("0.1", "1e-6", 24)
        >>> TotalNoise("0.1", "1e-6", 24).total, found.total, found.q
        (2973, 2967, 219)
        """
        first = cls(epsilon, delta, buckets, units=units)
        if not first.is_redrawn or first.q == LARGEST_REACH:
            return first
        second = cls(epsilon, delta, buckets, units=units, q=first.q + 1)
        return second if second.total < first.total else first

    @property
    def q(self) -> int:
        """The reach: a bucket of at least q records always survives."""
        return self.noise.q

    @property
    def max_drop(self) -> int:
        """D = q − 1, the most that one bucket loses."""
        return self.noise.max_drop

    @property
    def total(self) -> int:
        """m, the most that all buckets lose together; never more than D·T."""
        return self.max_drop * self.buckets if self._evidence is None else self._evidence.total

    @property
    def is_redrawn(self) -> bool:
        """True if some draws are made again: m is smaller than D·T."""
        return self._evidence is not None

    @property
    def kept(self) -> Fraction:
        """A lower bound of Pr[Σ ≤ m], the chance that a draw is kept."""
        return Fraction(1) if self._evidence is None else Fraction(self._evidence.kept, 10**self._evidence.digits)

    @property
    def delta_real(self) -> Fraction:
        """An upper bound of the δ of the mechanism, for a unit."""
        if self._evidence is not None:
            return self._evidence.delta_real
        return any_of(self.noise.delta_real, min(self.units, self.buckets))

    def certify(self) -> TotalEvidence | None:
        """Prove the total private, given the proof of the table: ``noise.certify()``.

        Returns
        -------
        TotalEvidence or None
            The integers of the proof; None where nothing is drawn again, and the table's proof is all.

        Raises
        ------
        CertificateError
            If an inequality fails.
        """
        if self._evidence is None:
            return None
        found = prove_total(self.noise, self.delta, self.buckets, self.total, units=self.units)
        if not found.holds:
            raise CertificateError("the total does not satisfy the inequalities that prove it private")
        return found

    @cached_property
    def _mean(self) -> Fraction:
        if self._sums is None:
            return self.noise.mean_drop()
        most = self.total - self._sums.first + 1
        within = self._sums.numerators[:most]
        return Fraction(sum(n * part for n, part in enumerate(within, self._sums.first)), sum(within) * self.buckets)

    def mean_drop(self) -> Fraction:
        """Return E[J_i | Σ ≤ m], the expected loss of a bucket of at least D records, to thirty digits.

        Returns
        -------
        Fraction
            The expectation.

        Examples
        --------
        >>> round(float(TotalNoise(1, "1e-6", 24).mean_drop()), 6)
        13.5
        """
        return self._mean

    def sample(self) -> NDArray[np.int64]:
        """Draw the losses of all buckets.

        Returns
        -------
        numpy.ndarray
            T integers from 0 to q − 1 of sum at most m.

        Examples
        --------
        >>> losses = TotalNoise(1, "1e-6", 24).sample()
        >>> len(losses), bool(losses.sum() <= 362)
        (24, True)
        """
        return self._draw(self.buckets, system_bytes)

    def thin(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return max(0, count − J) for each bucket that is given, with losses drawn for all T.

        Parameters
        ----------
        counts
            Numbers of records in some of the public buckets, a flat array of integers; the others are empty.

        Returns
        -------
        numpy.ndarray
            Numbers of records that are left.

        Raises
        ------
        InputError
            If ``counts`` is not a flat array of at most T integers.

        Examples
        --------
        >>> TotalNoise(1, "1e-6", 24).thin(np.array([0, 1000])).tolist()[0]
        0
        """
        full = counts_given(counts)
        # The losses are exchangeable, so that those of the buckets given may be the first ones.
        if len(full) > self.buckets:
            raise InputError("counts", "must not be more than there are public buckets")
        losses = self.sample()[: len(full)] if self.is_redrawn else self.noise.sample(len(full))
        np.subtract(full, losses, out=losses)  # in place: there may be 10^8 buckets
        return np.maximum(losses, 0, out=losses)

    def law(self, counts: Sequence[int]) -> dict[tuple[int, ...], Fraction]:
        """Return the exact law of what is left of some of the public buckets, all others being empty.

        Parameters
        ----------
        counts
            Numbers of records.

        Returns
        -------
        dict
            The probability of every outcome, in exact arithmetic: it is for few buckets of short reach.

        Raises
        ------
        InputError
            If ``counts`` is not a list of at most T whole numbers.

        Examples
        --------
        >>> {left: round(float(p), 3) for left, p in TotalNoise(1, "0.2", 2).law([2, 0]).items()}
        {(2, 0): 0.137, (1, 0): 0.372, (0, 0): 0.491}
        """
        weights, rest = self.noise.weights, [1]  # of the losses of empty buckets, which nobody sees
        listed = sequence(counts)
        if listed is None or len(listed) > self.buckets:
            raise InputError("counts", "must be a list of whole numbers, for no more buckets than are public")
        if self.max_drop * self.buckets > _LONGEST_LAW:
            raise InputError("counts", "have too many outcomes to be listed", remedy="Ask for few buckets.")
        given = [integer("counts", count, at_least=0) for count in listed]
        for _ in range(self.buckets - len(given)):
            rest = _convolved(rest, weights)
        below = [0, *accumulate(rest)]
        found: dict[tuple[int, ...], dict[int, int]] = {(): {0: 1}}  # weights by what is left, and by the losses so far
        for count in given:
            longer: dict[tuple[int, ...], dict[int, int]] = {}
            for (left, sums), (j, weight) in product(found.items(), enumerate(weights)):
                own = longer.setdefault((*left, max(0, count - j)), {})
                for lost, part in sums.items():
                    own[lost + j] = own.get(lost + j, 0) + part * weight
            found = longer
        chances = {
            left: sum(part * below[max(0, min(self.total - lost + 1, len(rest)))] for lost, part in sums.items())
            for left, sums in found.items()
        }
        whole = sum(chances.values())
        return {left: Fraction(chance, whole) for left, chance in chances.items() if chance}

    def _draw(self, size: int, random_bytes: RandomBytes) -> NDArray[np.int64]:
        """The losses of the first ``size`` buckets. Experiments and tests pass their own bytes; a release cannot."""
        if not self.is_redrawn:
            return self.noise._draw(size, random_bytes)
        while True:
            losses = self.noise._draw(self.buckets, random_bytes)
            if losses.sum() <= self.total:
                return losses[:size]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TotalNoise):
            return NotImplemented
        return self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[Fraction, Fraction, int, int, int]:
        return self.epsilon, self.delta, self.buckets, self.units, self.q

    def __repr__(self) -> str:
        more = f", units={self.units}" if self.units > 1 else ""
        more += f", q={self.q}" if "q=" in repr(self.noise) else ""
        return f"TotalNoise({number_text(self.epsilon)}, {number_text(self.delta)}, {self.buckets}{more})"


def _convolved(first: Sequence[int], second: Sequence[int]) -> list[int]:
    found = [0] * (len(first) + len(second) - 1)
    for (i, one), (j, other) in product(enumerate(first), enumerate(second)):
        found[i + j] += one * other
    return found


def prove_total(noise: DropNoise, delta: Number, buckets: int, total: int, *, units: int = 1) -> TotalEvidence:
    """Collect the evidence that losses drawn until they are at most ``total`` in all are private for a unit.

    Parameters
    ----------
    noise
        The noise of one bucket, with the unit's ε divided by ``units``.
    delta
        δ of the unit.
    buckets, total
        T and m.
    units
        Most buckets in which one unit counts.

    Returns
    -------
    TotalEvidence
        The integers; ``holds`` is the verdict.

    Raises
    ------
    InputError
        If a parameter has the wrong form, or there are too many buckets.
    CertificateError
        If the table of one bucket is not proved private.

    Examples
    --------
    >>> noise = DropNoise(1, "1e-6")
    >>> prove_total(noise, "1e-6", 24, 362).holds, prove_total(noise, "1e-6", 24, 361).holds
    (True, False)
    """
    table, chance = (
        instance("noise", noise, DropNoise, "a DropNoise, for example DropNoise(1, 1e-6)"),
        DELTA.check(delta),
    )
    many, changed = integer("buckets", buckets), integer("units", units)
    most = integer("total", total, at_least=0)
    if not _is_short(table.weights, table.bits, many):
        raise InputError("buckets", "are too many for the law of their sum", given=safe_repr(many))
    if table.weights[0] != table.weights[-1] or not table.certify().holds:  # a factor between weights may exceed e^ε
        raise CertificateError("the noise table does not satisfy the inequalities that prove a total private")
    return _laws(table.weights, table.bits, many, changed).evidence(chance, most)


@dataclass(frozen=True, slots=True)
class _Sums:
    """Lower bounds of the law of an integer: Pr[first + i] ≥ numerators[i] / 10^digits, nothing below or above."""

    first: int
    numerators: list[int]
    digits: int
    running: list[int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "running", [0, *accumulate(self.numerators)])

    @property
    def missed(self) -> int:
        """What the bounds miss of the probabilities in all."""
        whole: int = 10**self.digits
        return whole - self.running[-1]

    def up_to(self, n: int) -> int:
        """A lower bound of the probability of at most n."""
        return self.running[max(0, min(n - self.first + 1, len(self.numerators)))]

    def plus(self, other: _Sums) -> _Sums:
        """The law of an independent sum: one product of two long numbers whose digits are the probabilities."""
        width = 2 * self.digits + len(str(min(len(self.numerators), len(other.numerators))))
        mine, theirs = (_joined(each.numerators, width) for each in (self, other))
        length = len(self.numerators) + len(other.numerators) - 1
        text = format(_EXACT.multiply(mine, theirs), "f").zfill(length * width)
        unit, end = self.digits, len(text)
        found = [int(text[end - (i + 1) * width : end - i * width - unit]) for i in range(length)]
        used = [i for i, part in enumerate(found) if part]  # the ends of a long sum are below the last digit
        low, high = (used[0], used[-1] + 1) if used else (0, 1)
        return _Sums(self.first + other.first + low, found[low:high], self.digits)

    def times(self, copies: int) -> _Sums:
        """The law of the sum of some independent copies, by doubling."""
        if copies == 0:
            return _Sums(0, [10**self.digits], self.digits)
        if copies == 1:
            return self
        half = self.times(copies // 2)
        return half.plus(half).plus(self) if copies % 2 else half.plus(half)


def _joined(numerators: list[int], width: int) -> Decimal:
    """The integer Σ n_i·10^(width·i)."""
    return Decimal("".join(f"{part:0{width}d}" for part in reversed(numerators)))


@dataclass(frozen=True, slots=True)
class _Laws:
    """Laws of sums of T losses, the unit's own among them: any, none of them 0, and none of them D."""

    buckets: int
    units: int
    every: _Sums
    without_0: _Sums
    without_most: _Sums

    def evidence(self, delta: Fraction, total: int) -> TotalEvidence:
        """The integers for one m."""
        changed = min(self.units, self.buckets)
        kept = self.every.up_to(total)
        at_most = kept + self.every.missed
        return TotalEvidence(
            delta=delta,
            buckets=self.buckets,
            units=self.units,
            total=total,
            digits=self.every.digits,
            kept=kept,
            removed=at_most - self.without_0.up_to(total),
            added=at_most - self.without_most.up_to(total - changed),
        )

    def smallest_total(self, delta: Fraction) -> TotalEvidence | None:
        """The evidence for the smallest m that half of all draws keep and that meets δ; None if there is none."""
        half = 10**self.every.digits // 2
        low = next(i for i, part in enumerate(self.every.running) if part >= half) + self.every.first - 1
        for total in range(low, self.every.first + len(self.every.numerators)):
            found = self.evidence(delta, total)
            if found.holds:
                return found
        return None


@lru_cache(maxsize=64)
def _laws(weights: tuple[int, ...], bits: int, buckets: int, units: int) -> _Laws:
    digits = bits // 2
    numerators = [weight * 10**digits >> bits for weight in weights]
    changed = min(units, buckets)
    others = _Sums(0, numerators, digits).times(buckets - changed)
    every, without_0, without_most = (
        _Sums(first, part, digits).times(changed).plus(others)
        for first, part in ((0, numerators), (1, numerators[1:]), (0, numerators[:-1]))
    )
    return _Laws(buckets, units, every, without_0, without_most)


def _is_short(weights: tuple[int, ...], bits: int, buckets: int) -> bool:
    """Whether no more than so many sums are likelier than 10^−P, by the variance of a loss in integers."""
    last = len(weights) - 1
    variance = sum(weight * (2 * j - last) ** 2 for j, weight in enumerate(weights)) >> bits  # four times it
    return variance * buckets * bits * 7 // 3 <= _MOST_SUMS**2


@lru_cache(maxsize=256)
def _smallest_total(
    weights: tuple[int, ...], bits: int, delta: Fraction, buckets: int, units: int
) -> tuple[_Sums | None, TotalEvidence | None]:
    """The law of all losses and the evidence for the smallest total; None where that is D·T."""
    if buckets == 1 or weights[0] != weights[-1] or not _is_short(weights, bits, buckets):
        return None, None
    laws = _laws(weights, bits, buckets, units)
    found = laws.smallest_total(delta)
    return (None, None) if found is None or found.total >= (len(weights) - 1) * buckets else (laws.every, found)
