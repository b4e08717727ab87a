"""Public priors: integer weights on nice decimals, so that answers come out short and no scale is preferred.

A prior knows how much weight lies before a cut and can draw a candidate between two cuts; both exactly, in integers.
:class:`Bands` holds the decimals around an anchor: in bands |t − A| ∈ [1,2), [2,5), [5,10)·10^k the multiples of
10^(k−j), j = 0, 1, …, share a weight that falls with the square of the number of decades from the expected ones. It
is t that is a multiple, not t − A, so candidates are short decimals.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from operator import sub
from typing import NamedTuple, Protocol

from flexdp.noise.bits import Bits
from flexdp.sharp.scale import TOP_DECADE, Scale

__all__ = ["Bands", "Listed", "Mixture", "Prior", "Spread", "anchored", "around", "between", "universal"]

_LEVELS = (3, 6, 10, 12, 14, 16, 18, 20, 22, 24, 26) + (2,) * 28  # so that every value is a candidate
_PARTS = ((1, 2), (2, 5), (5, 10))
_UNIVERSAL_LEVELS = 17  # of numbers: the digits of a double; of integers: all
_ANCHORED_LEVELS = 6
_BETWEEN_LEVELS = 5
_BETWEEN_DECADES = 12  # with five, records close to a cut beside a wide gap were out of reach


class Prior(Protocol):
    """Integer weights of public candidates."""

    @property
    def total(self) -> int:
        """The weight of all candidates."""

    def before(self, cut: int) -> int:
        """Return the weight of the candidates before a cut."""

    def draw(self, low: int | None, high: int | None, bits: Bits) -> int:
        """Draw a candidate between two cuts with probability proportional to its weight."""


class _Band(NamedTuple):
    """Candidates at distances from ``start`` up to ``end`` from an anchor: for each level its grain and its weight."""

    start: int
    end: int
    levels: tuple[tuple[int, int], ...]

    def before(self, anchor: int, cut: int) -> int:
        start, edge = -anchor - self.start, -min(cut, anchor + self.end)
        if edge >= start:
            return 0
        return sum([weight * (start // grain - edge // grain) for grain, weight in self.levels])


class _Side(NamedTuple):
    """Bands in order, where each starts, and the mass before each of them and after the last."""

    bands: tuple[_Band, ...]
    starts: tuple[int, ...]
    before: tuple[int, ...]

    @classmethod
    def of(cls, bands: Sequence[_Band], masses: Iterable[int]) -> _Side:
        return cls(tuple(bands), tuple(band.start for band in bands), (0, *accumulate(masses)))


class Bands:
    """Nice decimals around an anchor.

    Parameters
    ----------
    scale : Scale
        The scale of the column.
    anchor : int
        A, in units.
    first, last : int
        The expected decades of |t − A|, which weigh most.
    low, high : int
        The lowest and the highest decade of |t − A|.
    levels : int
        The largest j.
    side : int, optional
        1 for candidates above the anchor only, −1 below, 0 both.

    Examples
    --------
    >>> from flexdp.sharp.scale import INTEGERS
    >>> prior = universal(INTEGERS)
    >>> weight = lambda t: prior.before(t + 1) - prior.before(t)
    >>> weight(1000) > weight(1001) > 0, weight(10**39) > 0 == weight(10**39 + 1)
    (True, True)
    """

    __slots__ = ("_anchor", "_atoms", "_atoms_before", "_side", "_total")

    def __init__(
        self, scale: Scale, anchor: int, *, first: int, last: int, low: int, high: int, levels: int, side: int = 0
    ) -> None:
        common, found = _plan(scale, first, last, max(low, scale.exponent), min(high, TOP_DECADE), levels, side)
        limit = scale.limit
        if anchor + found.bands[0].start < -limit or anchor + found.bands[-1].end > limit + 1:
            found = _within(found, anchor, limit)
        self._anchor, self._side = anchor, found
        atoms = {anchor: common * 3 // 10}
        if not anchor and not side:
            atoms[scale.limit] = atoms[-scale.limit] = common // 100
        self._atoms = sorted(atoms.items())
        self._atoms_before = [0, *accumulate(weight for _, weight in self._atoms)]
        self._total = found.before[-1] + self._atoms_before[-1]

    @property
    def total(self) -> int:
        """The weight of all candidates."""
        return self._total

    def before(self, cut: int) -> int:
        """Return the weight of the candidates before a cut.

        Parameters
        ----------
        cut : int
            In units.

        Returns
        -------
        int
        """
        atoms = self._atoms_before[bisect_left(self._atoms, (cut, 0))]
        bands, starts, before = self._side
        place = bisect_right(starts, cut - self._anchor) - 1
        if place < 0:
            return atoms
        return atoms + before[place] + bands[place].before(self._anchor, cut)

    def draw(self, low: int | None, high: int | None, bits: Bits) -> int:
        """Draw a candidate between two cuts: first a level of a band, then a multiple of its grain.

        Parameters
        ----------
        low, high : int or None
            The cuts; None is no end.
        bits : Bits
            The source of randomness.

        Returns
        -------
        int
        """
        parts = list(self._parts(low, high))
        _, grain, first, count = parts[bits.choose(part[0] for part in parts)]
        return (first + bits.below(count)) * grain

    def _parts(self, low: int | None, high: int | None) -> Iterator[tuple[int, int, int, int]]:
        """Weight, grain, first multiple and number of multiples of each level between two cuts."""
        anchor, (bands, starts, _) = self._anchor, self._side
        begin = 0 if low is None else max(0, bisect_right(starts, low - anchor) - 1)
        for band in bands[begin:]:
            start, end = anchor + band.start, anchor + band.end
            if high is not None and start >= high:
                break
            start = start if low is None else max(low, start)
            end = end if high is None else min(high, end)
            for grain, weight in band.levels:
                first = -(-start // grain)
                count = -(-end // grain) - first
                if count > 0:
                    yield count * weight, grain, first, count
        for value, weight in self._atoms:
            if (low is None or low <= value) and (high is None or value < high):
                yield (weight, value, 1, 1) if value else (weight, 1, 0, 1)


def _within(side: _Side, anchor: int, limit: int) -> _Side:
    """The bands around an anchor as far as they lie within ±limit."""
    bands, masses = [], []
    for band, mass in zip(side.bands, map(sub, side.before[1:], side.before), strict=True):
        kept = _Band(max(band.start, -limit - anchor), min(band.end, limit + 1 - anchor), band.levels)
        if kept == band:
            bands.append(band)
            masses.append(mass)
        elif kept.start < kept.end:
            bands.append(kept)
            masses.append(kept.before(anchor, anchor + kept.end))
    return _Side.of(bands, masses)


@lru_cache(maxsize=256)
def _plan(scale: Scale, first: int, last: int, low: int, high: int, levels: int, side: int) -> tuple[int, _Side]:
    """A common denominator, and the bands around any anchor.

    As many multiples of a grain lie in a band as the grain is contained in its width, wherever the band begins.
    """
    parts = [
        (k, start, stop, *_shares(scale, k, first, last, levels, stop - start))
        for k in range(low, high + 1)
        for start, stop in _PARTS
    ]
    common = math.lcm(100, *{weight for *_, weight in parts})
    above, below = [], []
    for k, start, stop, shares, weight in parts:  # a level's weight is share/weight
        near, far = start * scale.ten(k), stop * scale.ten(k)
        grains = tuple((scale.ten(k - j), common // weight * share) for j, share in shares)
        mass = sum((stop - start) * 10**j * (common // weight * share) for j, share in shares)
        above.append((_Band(near, far, grains), mass))
        below.append((_Band(1 - far, 1 - near, grains), mass))
    listed = [*(below[::-1] if side <= 0 else ()), *(above if side >= 0 else ())]
    return common, _Side.of([band for band, _ in listed], (mass for _, mass in listed))


def _shares(
    scale: Scale, k: int, first: int, last: int, levels: int, width: int
) -> tuple[tuple[tuple[int, int], ...], int]:
    """The share of each candidate of each level of a band, over a common denominator.

    A candidate of level j gets ρ·v_j / (3·width·10^j·Σv), ρ = (1 + d)^−2, d the decades from the expected ones.
    """
    distance = first - k if k < first else max(0, k - last)
    present = range(min(levels, k - scale.exponent) + 1)
    finest = present[-1]
    denominator = (1 + distance) ** 2 * 3 * width * sum(_LEVELS[j] for j in present) * 10**finest
    return tuple((j, _LEVELS[j] * 10 ** (finest - j)) for j in present), denominator


class Mixture:
    """Half the weight of each of two priors.

    Parameters
    ----------
    one, other : Prior
        The two.
    """

    __slots__ = ("_one", "_other")

    def __init__(self, one: Prior, other: Prior) -> None:
        self._one, self._other = one, other

    @property
    def total(self) -> int:
        """The weight of all candidates."""
        return 2 * self._one.total * self._other.total

    def before(self, cut: int) -> int:
        """Return the weight of the candidates before a cut."""
        return self._one.before(cut) * self._other.total + self._other.before(cut) * self._one.total

    def draw(self, low: int | None, high: int | None, bits: Bits) -> int:
        """Draw a candidate between two cuts: first which of the two, then from it."""
        one, other = (_between(prior, low, high) for prior in (self._one, self._other))
        which = bits.choose((one * self._other.total, other * self._one.total))
        return (self._one, self._other)[which].draw(low, high, bits)


class Spread:
    """A prior of values as one of cuts: the weight of a value v in equal parts on the positions v·S … v·S + S − 1.

    Parameters
    ----------
    prior : Prior
        The prior of values.
    shares : int
        S.

    Examples
    --------
    >>> cuts = Spread(Listed({3: 5, 4: 1}), 4)
    >>> cuts.total, cuts.before(12), cuts.before(13), cuts.before(16)
    (24, 0, 5, 20)
    """

    __slots__ = ("_prior", "_shares")

    def __init__(self, prior: Prior, shares: int) -> None:
        self._prior, self._shares = prior, shares

    @property
    def candidates(self) -> list[int]:
        """All positions, of a prior that is a short list."""
        listed = self._listed
        return [value * self._shares + share for value in listed.candidates for share in range(self._shares)]

    @property
    def weights(self) -> list[int]:
        """The weight of each of them."""
        return [weight for weight in self._listed.weights for _ in range(self._shares)]

    @property
    def _listed(self) -> Listed:
        assert isinstance(self._prior, Listed), "only a short list of candidates can be enumerated"
        return self._prior

    @property
    def total(self) -> int:
        """The weight of all positions."""
        return self._shares * self._prior.total

    def before(self, cut: int) -> int:
        """Return the weight of the positions before one."""
        value, share = divmod(cut, self._shares)
        found = self._prior.before(value)
        if not share:
            return self._shares * found
        return (self._shares - share) * found + share * self._prior.before(value + 1)

    def draw(self, low: int | None, high: int | None, bits: Bits) -> int:
        """Draw a position: some shares of the first value, all of the values after it, or some of the last."""
        shares, prior = self._shares, self._prior
        start, head = (None, 0) if low is None else divmod(low, shares)
        end, tail = (None, 0) if high is None else divmod(high, shares)
        if low is not None and high is not None and start == end:
            return low + bits.below(high - low)
        first = start + 1 if start is not None and head else start
        parts = [0, _between(prior, first, end) * shares if first is None or end is None or first < end else 0, 0]
        if start is not None and head:
            parts[0] = _between(prior, start, start + 1) * (shares - head)
        if end is not None and tail:
            parts[2] = _between(prior, end, end + 1) * tail
        which = bits.choose(parts)
        if which == 1:
            return prior.draw(first, end, bits) * shares + bits.below(shares)
        if which == 0:
            assert low is not None
            return low + bits.below(shares - head)
        assert end is not None
        return end * shares + bits.below(tail)


class Listed:
    """A short list of candidates with their weights; small enough to enumerate.

    Parameters
    ----------
    weights : mapping of int to int
        Positive weights by candidate.
    """

    __slots__ = ("_before", "candidates", "weights")

    def __init__(self, weights: Mapping[int, int]) -> None:
        self.candidates = sorted(weights)
        self.weights = [weights[candidate] for candidate in self.candidates]
        self._before = [0, *accumulate(self.weights)]

    @property
    def total(self) -> int:
        """The weight of all candidates."""
        return self._before[-1]

    def before(self, cut: int) -> int:
        """Return the weight of the candidates before a cut."""
        return self._before[bisect_left(self.candidates, cut)]

    def draw(self, low: int | None, high: int | None, bits: Bits) -> int:
        """Draw a candidate between two cuts."""
        start = 0 if low is None else bisect_left(self.candidates, low)
        end = len(self.candidates) if high is None else bisect_left(self.candidates, high)
        return self.candidates[start + bits.choose(self.weights[start:end])]


def _between(prior: Prior, low: int | None, high: int | None) -> int:
    return (prior.total if high is None else prior.before(high)) - (0 if low is None else prior.before(low))


@lru_cache(maxsize=4)
def universal(scale: Scale) -> Prior:
    """Return the prior that knows nothing: around 0, both sides, every decade, every value a candidate.

    Parameters
    ----------
    scale : Scale
        The scale of the column.

    Returns
    -------
    Prior
    """
    levels = TOP_DECADE if scale.integral else _UNIVERSAL_LEVELS
    return Bands(scale, 0, first=1, last=1, low=scale.low_decade, high=TOP_DECADE, levels=levels)


def anchored(scale: Scale, anchor: int, side: int) -> Prior:
    """Return the prior of values on one side of a public anchor, at distances like its magnitude.

    Parameters
    ----------
    scale : Scale
        The scale of the column.
    anchor : int
        In units.
    side : int
        1 above, −1 below.

    Returns
    -------
    Prior
    """
    first = 0 if scale.integral else scale.decade(max(abs(anchor), scale.ten(-3))) - 3
    last = max(first, scale.decade(max(abs(anchor), scale.ten(0))))
    return Bands(
        scale, anchor, first=first, last=last, low=first - 6, high=last + 9, levels=_ANCHORED_LEVELS, side=side
    )


@lru_cache(maxsize=64)
def around(scale: Scale, anchor: int, side: int) -> Prior:
    """Return half the universal prior and half the one anchored at a public value.

    Parameters
    ----------
    scale : Scale
        The scale of the column.
    anchor : int
        In units.
    side : int
        1 above, −1 below.

    Returns
    -------
    Prior
    """
    return Mixture(universal(scale), anchored(scale, anchor, side))


def between(scale: Scale, low: int, high: int) -> Prior:
    """Return the prior between two public values: half of it from the lower one upwards, half from the upper one down.

    Parameters
    ----------
    scale : Scale
        The scale of the column.
    low, high : int
        In units, the first below the second.

    Returns
    -------
    Prior
    """
    top = scale.decade(high - low)
    decades = {"first": top, "last": top, "low": top - _BETWEEN_DECADES, "high": top, "levels": _BETWEEN_LEVELS}
    return Mixture(Bands(scale, low, side=1, **decades), Bands(scale, high, side=-1, **decades))
