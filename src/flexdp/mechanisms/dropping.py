"""Dropping: every non-empty bucket loses a few records, and what is left is published."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import CERTIFY, DELTA, EPSILON, elements, instance
from flexdp._core.exact import float_up, number_text
from flexdp._core.fields import Exact, MaybeExact, Taken, maybe, param, whole, word
from flexdp._core.text import safe_repr
from flexdp.calculus.compose import Known, Step, identity, unchanged
from flexdp.calculus.loss import alpha_before, most_lost
from flexdp.calculus.privacy import divide, of_group, of_unit, total
from flexdp.distribution import Distribution, Independent, Law, TooManyOutcomesError
from flexdp.divergence import LARGEST_PRODUCT
from flexdp.errors import InputError, P
from flexdp.guarantees import Privacy
from flexdp.histogram import Histogram, KeyedHistogram
from flexdp.mechanisms.bars import BarNoise, as_histogram
from flexdp.mechanisms.base import IDENTITY
from flexdp.mechanisms.bucketing import Bucketing
from flexdp.mechanisms.spaces import DIMENSIONS, Space, histogram_given, histograms
from flexdp.noise.bits import Bits
from flexdp.noise.drop import DropNoise
from flexdp.noise.table import smallest_reach
from flexdp.noise.total import TotalNoise

__all__ = ["Dropping", "Thinned", "leaves_out"]


def _refuse_total(_parts: dict[Any, Any]) -> Histogram:
    raise InputError("mechanism", "publishes a certified total, which the steps after it do not take")


class Thinned(NamedTuple):
    """Counts after dropping, which may be published, and the certified bound of their number before.

    Parameters
    ----------
    cells
        What is left, by group and bucket.
    records_at_most
        Upper bound of the number of contributions before; None if none was bought.

    Examples
    --------
    >>> left = Dropping(1, "1e-6", certify="0.1").thin(KeyedHistogram([["A", "B"], [3, 5]], [1000, 2000]))
    >>> left.records_at_most >= 3000
    True
    """

    cells: KeyedHistogram
    records_at_most: int | None


def _public(name: str, value: object) -> tuple[Any, ...] | Bucketing:
    """The keys of public buckets in order, each once; or buckets whose number is public."""
    if isinstance(value, Bucketing):
        if value.bars is None:
            raise InputError(name, ("must have public buckets: give it ", P("bounds")))
        return value
    keys = elements(value)
    if not keys:
        raise InputError(name, "must be a list of keys, or a Bucketing with bounds", given=safe_repr(value))
    return tuple(key for key, _ in Histogram.from_values(keys).items())


def _kept(rows: list[tuple[Any, ...]], left: tuple[int, ...]) -> frozenset[tuple[Any, int]]:
    return frozenset((row, count) for row, count in zip(rows, left, strict=True) if count)


class Dropping(BarNoise):
    """Let every non-empty bucket lose a few records: (ε, δ)-private, and (D·t/n, 0, 0)-accurate for the identity.

    t is the largest number of buckets, n the smallest number of records, D the most that a bucket can lose; without
    public t and n the promise is per bucket. This is the corrected form of paper, Thm. hist-priv-accu: the reach never
    depends on the data. Every release runs this mechanism.

    Parameters
    ----------
    epsilon, delta
        Privacy of one unit, taken exactly as written. There are no defaults.
    dimensions
        Number of coordinates of a key.
    unit, max_buckets_per_unit
        Privacy unit, and the most buckets k in which one unit counts, once in each. Each bucket gets ε/k and
        1 − (1 − δ)^{1/k}.
    certify
        Share of the budget that buys an upper bound of the number of contributions; :meth:`thin` gives it.
    total
        The keys of all buckets, or a ``Bucketing`` with bounds: these buckets together then lose at most
        ``lost_in_all`` records, in each of ``groups`` public groups, at no cost. Records of other keys are left out
        beforehand, and no promise refers to them.
    groups
        The number of public groups, each of which has all of these buckets.
    q
        The reach of each bucket. By default the smallest, or with ``total`` one more where less is then lost in all.

    Raises
    ------
    InputError
        A parameter is missing or out of range, or the budget is too small for any noise.

    Examples
    --------
    >>> mechanism = Dropping(1, "1e-6")
    >>> mechanism == Dropping(epsilon=1.0, delta=1e-6), mechanism.max_drop
    (True, 27)
    >>> print(mechanism.privacy)  # doctest: +ELLIPSIS
    ε = 1, δ = 1e-06 (in fact at most 7.15e-07) for each record: an observer ...
    >>> Dropping(1, "1e-6", unit="patient", max_buckets_per_unit=2).max_drop
    53
    >>> mechanism(Histogram.from_counts({3: 1000})).size >= 973
    True
    >>> step = mechanism.step(Known(records_at_least=2700, bars=10))
    >>> step.alpha, step.after.records_at_least, mechanism.arguments()
    (0.1, 2430, {'epsilon': 1, 'delta': '1e-06'})
    >>> Dropping(1, "1e-6", total=range(24)).lost_in_all
    362
    """

    epsilon: Exact = param(EPSILON)
    delta: Exact = param(DELTA)
    dimensions: int = param(DIMENSIONS, default=1, kw_only=True)
    unit: str = param(word(), default="record", kw_only=True)
    max_buckets_per_unit: int = param(whole(), default=1, kw_only=True)
    certify: MaybeExact = param(maybe(CERTIFY), default=None, kw_only=True)
    total: Taken[Iterable[Any] | Bucketing | None, tuple[Any, ...] | Bucketing | None] = param(
        maybe(_public), default=None, kw_only=True
    )
    groups: int = param(whole(), default=1, kw_only=True)
    q: int | None = param(maybe(whole(at_least=2)), default=None, kw_only=True)
    function = IDENTITY

    def _check(self) -> None:
        """Refuse an impossible total, and a budget that no noise can meet."""
        if self.total is not None and self.certify is not None:
            raise InputError("certify", ("buys nothing with ", P("total"), ", which is free"))
        if self.total is None and self.groups > 1:
            raise InputError("groups", ("needs ", P("total")), given=safe_repr(self.groups))
        if self.q is not None:
            DropNoise(self._shares[0].epsilon, self._shares[0].delta, q=self.q)  # refused here, where it is too small
        if self.max_buckets_per_unit == 1 and self.certify is None:
            if smallest_reach(self.epsilon, self.delta) is None:
                DropNoise(self.epsilon, self.delta)  # says why
            return
        try:
            reaches = [smallest_reach(share.epsilon, share.delta) for share in self._shares if share is not None]
        except InputError:  # a share of δ is smaller than any noise takes
            reaches = [None]
        if None in reaches:
            raise self._too_small()

    def _too_small(self) -> InputError:
        given: dict[str, Fraction | int] = {"epsilon": self.epsilon, "delta": self.delta}
        sharing: list[str | P] = []
        remedy: list[str | P] = ["Choose a larger ", P("epsilon"), " or ", P("delta")]
        if self.max_buckets_per_unit > 1:
            given["max_buckets_per_unit"] = self.max_buckets_per_unit
            sharing = [P("max_buckets_per_unit")]
            remedy += [", or a smaller ", P("max_buckets_per_unit")]
        if self.certify is not None:
            given["certify"] = self.certify
            sharing += [*([" and "] if sharing else []), P("certify")]
            remedy += [", or a ", P("certify"), " nearer to one half"]
        return InputError(
            "epsilon",
            ("and ", P("delta"), " are too small to be shared by ", *sharing, ": a bucket could lose too many records"),
            given=", ".join(f"{name}={_told(value)}" for name, value in given.items()),
            remedy=(*remedy, "."),
        )

    @cached_property
    def _shares(self) -> tuple[Privacy, Privacy | None]:
        """Privacy of one bucket, and of the certified total."""
        asked = Privacy(epsilon=self.epsilon, delta=self.delta)
        return divide(asked, buckets=self.max_buckets_per_unit, certify=self.certify)

    @cached_property
    def noise(self) -> DropNoise:
        """Noise of each bucket."""
        if self.limited is not None:
            return self.limited.noise
        return DropNoise(self._shares[0].epsilon, self._shares[0].delta, q=self.q)

    @property
    def buckets(self) -> int | None:
        """T, the number of public buckets of all groups."""
        if self.total is None:
            return None
        many = len(self.total) if isinstance(self.total, tuple) else self.total.bars
        assert many is not None  # checked when it was made
        return many * self.groups

    @cached_property
    def limited(self) -> TotalNoise | None:
        """Noise of all buckets together, where they are public."""
        if self.buckets is None:
            return None
        many, units = self.buckets, self.max_buckets_per_unit
        if self.q is None:
            return TotalNoise.smallest(self.epsilon, self.delta, many, units=units)
        return TotalNoise(self.epsilon, self.delta, many, units=units, q=self.q)

    @property
    def lost_in_all(self) -> int | None:
        """The most records that all buckets lose together, where they are public."""
        return None if self.limited is None else self.limited.total

    @cached_property
    def total_noise(self) -> DropNoise | None:
        """Noise of the certified total, if one is published."""
        share = self._shares[1]
        return None if share is None else DropNoise(share.epsilon, share.delta)

    @cached_property
    def max_drop(self) -> int:
        """D, the most records that a bucket can lose."""
        if self.total is not None or self.q is not None:
            return self.noise.max_drop
        reach = smallest_reach(self._shares[0].epsilon, self._shares[0].delta)
        assert reach is not None  # checked when it was made
        return reach - 1

    @property
    def source(self) -> Space:
        """Histograms of so many dimensions."""
        return histograms(self.dimensions)

    @property
    def target(self) -> Space:
        """Histograms of so many dimensions."""
        return histograms(self.dimensions)

    def draw(self, x: Histogram, bits: Bits) -> Histogram:
        """Thin a histogram.

        Parameters
        ----------
        x
            A histogram in which no unit counts more often than is allowed.
        bits
            The source of all randomness.

        Returns
        -------
        Histogram
            What is left of it.
        """
        histogram = histogram_given(x)
        if self.total is not None:
            public = self._are_public(histogram)
            histogram = Histogram(histogram.keys[public], histogram.counts[public])
        losses = (self.limited or self.noise)._draw(len(histogram), bits.source)
        return Histogram(histogram.keys, np.maximum(histogram.counts - losses, 0))

    def _are_public(self, histogram: Histogram) -> NDArray[np.bool_]:
        """Which keys are those of public buckets."""
        if isinstance(self.total, Bucketing):
            return self.total.are_centres(histogram)
        keys = set(self.total or ())
        return np.array([key in keys for key, _ in histogram.items()], dtype=bool)

    def law_of_bars(self, x: Histogram) -> Callable[[int], Distribution]:  # noqa: ARG002  (its reach is public)
        """Return the law of what is left of a bar."""
        return self.noise.law

    def law(self, x: Any) -> Law:  # type: ignore[override]  # buckets with a limited total loss are not independent
        """Return the law of what is left of each bucket, and of the certified total where one is published."""
        if self.limited is not None and self.limited.is_redrawn:
            return self._law_together(self.limited, x)
        found = super().law(x)
        if self.total_noise is None:
            return found
        counts = x.counts if isinstance(x, KeyedHistogram) else as_histogram(x).counts
        size = sum(counts.tolist())
        raised = Distribution.weighted({size + more: weight for more, weight in enumerate(self.total_noise.weights)})
        return Independent({**found.factors, "records_at_most": raised}, _refuse_total)

    def _law_together(self, noise: TotalNoise, x: Any) -> Distribution:
        build: Callable[[tuple[int, ...]], Any]
        if isinstance(x, KeyedHistogram):
            public = self._have_public(x)
            rows = [row for row, there in zip(x.rows(slice(None)), public.tolist(), strict=True) if there]
            counts, build = x.counts[public].tolist(), partial(_kept, rows)
        else:
            histogram = as_histogram(x)
            public = self._are_public(histogram)
            counts, build = histogram.counts[public].tolist(), partial(Histogram, histogram.keys[public])
        if noise.q ** len(counts) > LARGEST_PRODUCT:
            raise TooManyOutcomesError
        masses: dict[Any, Any] = {}
        for left, chance in noise.law(counts).items():
            outcome = build(left)
            masses[outcome] = masses.get(outcome, Fraction(0)) + chance
        return Distribution(masses)

    def thin(self, private: KeyedHistogram) -> Thinned:
        """Thin the counts of a table: the one step of a release from private to public.

        Parameters
        ----------
        private
            Counts by group and bucket, in which no unit counts more often than is allowed.

        Returns
        -------
        Thinned
            What is left, and with ``certify`` an upper bound of the sum of the private counts.

        Examples
        --------
        >>> from flexdp.histogram import KeyedHistogram
        >>> left = Dropping(1, "1e-6").thin(KeyedHistogram([["A", "B"], [3, 5]], [1000, 2000]))
        >>> bool((left.cells.counts >= [973, 1973]).all()), left.records_at_most
        (True, None)
        """
        cells = instance("private", private, KeyedHistogram, "a KeyedHistogram")
        at_most = None
        if self.total_noise is not None:
            at_most = sum(cells.counts.tolist()) + int(self.total_noise.sample(1)[0])
        if self.total is None:
            return Thinned(cells.with_counts(self.noise.thin(cells.counts)), at_most)
        public = self._have_public(cells)
        left = np.zeros(len(cells), dtype=np.int64)
        left[public] = (self.limited or self.noise).thin(cells.counts[public])
        return Thinned(cells.with_counts(left), at_most)

    def _have_public(self, cells: KeyedHistogram) -> NDArray[np.bool_]:
        """Which cells lie in public buckets; their last parts are indices, or keys where every value is a bucket."""
        places = cells.parts[len(cells.parts) - self.dimensions :]
        if not isinstance(self.total, Bucketing):
            keys = set(self.total or ())
            return np.array([key in keys for key in places[0].tolist()], dtype=bool)
        found = np.ones(len(cells), dtype=bool)
        for axis, index in zip(self.total.axes_of_buckets, places, strict=True):
            assert axis.count is not None
            found &= np.asarray((index >= axis.first) & (index < axis.first + axis.count), dtype=bool)
        return found

    def step(self, known: Known) -> Step:
        """Return α = D·t/n and the n − D·t records that are left, where t and n are known; errors are kept.

        Parameters
        ----------
        known
            Public knowledge of the input.

        Returns
        -------
        Step
            For the identity.
        """
        least = known.records_at_least
        bars = self.buckets if known.bars is None else known.bars
        share = left = None
        if least is not None and bars is not None:
            share = alpha_before(self.max_drop, bars, least, total=self.lost_in_all)
        lost = most_lost(self.max_drop, known.bars)
        if least is not None and lost is not None and self.total is None:  # else records of other keys are left out
            left = max(0, least - lost) or None
        after = Known(records_at_least=left, bars=known.bars)
        return leaves_out(self.target, after, alpha=share, max_drop=self.max_drop)

    @cached_property
    def _privacy(self) -> Privacy:
        bucket = Privacy(epsilon=self.noise.epsilon, delta=self.noise.delta, delta_real=self.noise.delta_real)
        real = of_unit(bucket, self.max_buckets_per_unit, unit=self.unit)
        if self.limited is not None:
            real = replace(real, delta_real=self.limited.delta_real)
        if self.total_noise is not None:
            bound = self.total_noise
            step = Privacy(epsilon=bound.epsilon, delta=bound.delta, delta_real=bound.delta_real)
            moved = replace(of_group(step, self.max_buckets_per_unit), neighbours=real.neighbours)
            real = total([real, moved])
        return Privacy(epsilon=self.epsilon, delta=self.delta, neighbours=real.neighbours, delta_real=real.delta_real)

    @property
    def privacy(self) -> Privacy:
        """(ε, δ) for each unit, with the real δ of the tables beside the one asked for."""
        return self._privacy


def _told(value: Fraction | int) -> str:
    return safe_repr(value) if isinstance(value, int) else number_text(value)


def leaves_out(space: Space, after: Known, *, alpha: Fraction | None, max_drop: int | None = None) -> Step:
    """The step of a mechanism that only leaves records out, from any buckets: it adds no error to that of its input.

    What two inputs differ by before records are left out, they need not exceed afterwards.
    """
    return Step(
        unchanged,
        metric=space.metric,
        takes=space.metric,
        alpha=None if alpha is None else float_up(alpha),
        max_drop=max_drop,
        sigma=identity(),
        moves=lambda beta: beta,
        after=after,
        buckets="kept",
    )
