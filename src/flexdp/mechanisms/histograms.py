"""Mechanisms from histograms to histograms: bucketing, dropping, both together, and the paper's own noise."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.calendar import days_since_epoch, micros_since_epoch
from flexdp._core.domains import EPSILON, OPEN_ALPHA, POSITIVE_BETA, TAU, instance, integer
from flexdp._core.exact import Number, float_up, said, sum_up
from flexdp._core.exact import root_up as _root_up
from flexdp._core.text import safe_repr
from flexdp.buckets.base import Kind, Outside
from flexdp.buckets.grid import Grid
from flexdp.buckets.parse import make_buckets
from flexdp.buckets.partition import Buckets, Partition
from flexdp.buckets.width import Width
from flexdp.calculus.accuracy import ErrorSensitivity, identity
from flexdp.errors import InputError
from flexdp.guarantees import ONE_RECORD, Accuracy, Privacy
from flexdp.histogram import Histogram
from flexdp.mechanisms.core import HISTOGRAMS, Known, Mechanism, Space
from flexdp.noise.calibration import smallest_delta
from flexdp.noise.continuous import shifted_truncated_laplace
from flexdp.noise.drop import DropNoise

__all__ = ["BucketHistogram", "Bucketing", "Dropping", "Emptiness", "STLap"]

_MOST_DIMENSIONS = 1000
_MOST_RECORDS = 10**18


def _dimensions(given: object) -> int:
    return integer("dimensions", given, at_most=_MOST_DIMENSIONS)


def _histograms(dimensions: int) -> Space:
    return replace(HISTOGRAMS, dimensions=_dimensions(dimensions))


def _histogram(value: object) -> Histogram:
    return instance("value", value, Histogram, "a Histogram, for example of Histogram.from_values")


def _keep_error(alpha: float | None, max_drop: int | None, space: Space) -> ErrorSensitivity:
    """τ^{α,0}(β, 0) ≤ β: what two inputs differ by before records are dropped, they need not exceed after."""
    return ErrorSensitivity(
        alpha=alpha,
        gamma=0.0,
        bound=lambda beta: beta,
        metric=space.metric,
        takes=space.metric,
        max_drop=max_drop,
        scales=True,
    )


def Bucketing(  # noqa: N802
    *,
    width: Number | None = None,
    relative: Number | None = None,
    edges: Sequence[Any] | None = None,
    bounds: Sequence[Any] | None = None,
    outside: Outside = "clamp",
    kind: Kind = "number",
    dimensions: int = 1,
    partition: Partition | None = None,
) -> Mechanism:
    """Move every record to its bucket's centre: (0, β, 0)-accurate for the identity; neighbours stay neighbours.

    Paper, Claim bucket-accuracy and, in d dimensions, bucket-accuracy-d-dim: the error of a cube of side w is
    (w/2)√d. In
    d > 1 dimensions all coordinates share ``width`` and ``bounds``. With bounds the number of buckets is public, and
    the guarantee speaks of values within them: others are limited to them, or left out, beforehand. Where values are
    left out (``outside="drop"``, or far out on an open domain) the number of records is not kept, and no condition on
    it passes to the steps that follow.

    >>> Bucketing(width=5, bounds=(0, 120)).accuracy().beta
    2.5
    """
    buckets: Partition
    if partition is None:
        buckets = make_buckets(kind, width=width, relative=relative, edges=edges, bounds=bounds, outside=outside)
    else:
        buckets = partition
        if not isinstance(partition, Partition):
            raise InputError(f"partition must be a partition into buckets; got {safe_repr(partition)}.")
    dimensions = _dimensions(dimensions)
    if isinstance(buckets, Grid):
        dimensions = buckets.dimensions
    elif dimensions > 1 and not isinstance(buckets, Width):
        raise InputError("width must be given in more than one dimension; relative buckets and edges are for one.")
    space = _histograms(dimensions)
    error = buckets.beta if isinstance(buckets, Grid) else _times_root(buckets.beta, dimensions)
    accuracy = Accuracy(alpha=0, beta=error, relative=buckets.relative, unit=buckets.unit, metric=space.metric)
    axes = buckets.axes if isinstance(buckets, Grid) else (buckets,)
    drops = any(axis.bounds is not None and axis.outside == "drop" for axis in axes)

    def run(value: object) -> Histogram:
        histogram = _histogram(value)
        if isinstance(buckets, Grid):
            return _to_cells(histogram, buckets)
        keys = _coordinates(histogram, buckets, dimensions)
        inside = _readable(buckets, keys)
        kept = inside if keys.ndim == 1 else inside.all(axis=1)
        centres = buckets.centres(buckets.locate(keys[kept].ravel()))
        return Histogram(centres.reshape(keys[kept].shape), histogram.counts[kept])

    def bound(beta: float) -> float:
        if beta and drops:  # a value that was moved across a bound is left out, and the histogram jumps
            return math.inf
        # Relative to the new centre c: |x − c| ≤ ρ₁|c₁| + ρ|c| and |c₁| ≤ (1 + ρ)|c|.
        both = float_up(said(beta) * said(accuracy.beta)) if buckets.relative else 0.0
        return sum_up(beta, accuracy.beta, both)

    return Mechanism(
        name="Bucketing",
        source=space,
        target=space,
        run=run,
        accuracy_in=lambda _setting: accuracy,
        sigma=identity(),
        tau=lambda _setting: ErrorSensitivity(
            alpha=0.0,
            gamma=0.0,
            bound=bound,
            metric=space.metric,
            takes=space.metric,
            scales=buckets.relative,
            relative=buckets.relative,
            merges=True,
        ),
        relation=(ONE_RECORD, ONE_RECORD),
        keeps_records=all(map(_reads_all, axes)),
        adds_bars=False,
        identity=True,
        bars=None if buckets.count is None else buckets.count ** (1 if isinstance(buckets, Grid) else dimensions),
    )


def _to_cells(histogram: Histogram, grid: Grid) -> Histogram:
    """Every point to the middle of its cell."""
    if histogram.keys.ndim != 2 or histogram.keys.shape[1] != grid.dimensions:
        raise InputError(f"histogram must have keys of {grid.dimensions} dimension(s).")
    kept = np.ones(len(histogram), dtype=bool)
    for i, axis in enumerate(grid.axes):
        kept &= _readable(axis, histogram.keys[:, i])
    columns = []
    for i, axis in enumerate(grid.axes):
        values = histogram.keys[kept, i]
        columns.append(axis.centres(axis.locate(values if axis.kind == "number" else values.astype(np.int64))))
    return Histogram(np.stack([column.astype(np.float64) for column in columns], axis=1), histogram.counts[kept])


def _coordinates(histogram: Histogram, buckets: Buckets, dimensions: int) -> NDArray[Any]:
    """The keys as the partition takes them: numbers, whole numbers, days, or points with a row each."""
    keys = histogram.keys
    if (keys.shape[1] if keys.ndim == 2 else 1) != dimensions:
        raise InputError(f"histogram must have keys of {dimensions} dimension(s).")
    if buckets.kind == "date":
        if not all(isinstance(key, dt.date) for key in keys):
            raise InputError("histogram must have dates for keys.")
        return np.array([days_since_epoch(key) for key in keys], dtype=np.int64)
    if buckets.kind == "datetime":
        if not all(isinstance(key, dt.datetime) for key in keys):
            raise InputError("histogram must have datetimes for keys.")
        return np.array([micros_since_epoch(key) for key in keys], dtype=np.int64)
    if buckets.kind in ("text", "boolean"):
        return keys
    if not all(isinstance(key, Real) for key in keys.ravel()[:1]) or keys.dtype.kind == "b":
        raise InputError("histogram must have numbers for keys.")
    if buckets.kind == "number":
        return keys.astype(np.float64)
    if keys.dtype.kind == "f" and not (keys == np.floor(keys)).all():
        raise InputError("histogram must have whole numbers for keys; say kind='number' for others.")
    return keys.astype(np.int64) if keys.dtype.kind == "f" else keys


def _readable(buckets: Buckets, keys: NDArray[Any]) -> NDArray[np.bool_]:
    """Which keys the partition counts at all."""
    if buckets.bounds is not None and buckets.outside == "drop":
        low, high = buckets.bounds
        return np.asarray((keys >= float(low)) & (keys <= float(high)))
    if isinstance(buckets, Width) and buckets.bounds is None and not buckets.whole:
        return np.asarray(np.abs(keys) <= buckets.reach)
    return np.ones(keys.shape, dtype=bool)


def _reads_all(buckets: Buckets) -> bool:
    """Whether every key is counted, wherever it lies."""
    if buckets.bounds is not None:
        return buckets.outside != "drop"
    return not isinstance(buckets, Width) or buckets.whole


def _times_root(beta: Fraction, dimensions: int) -> Fraction:
    """β·√d, rounded up."""
    if dimensions == 1:
        return beta
    return beta * _root_up(dimensions)


def Dropping(  # noqa: N802
    epsilon: Number | None = None,
    delta: Number | None = None,
    *,
    noise: DropNoise | None = None,
    dimensions: int = 1,
) -> Mechanism:
    """Let every non-empty bar lose a few records: (ε, δ)-private, and (D·t/n, 0, 0)-accurate for the identity.

    t is the most bars there can be, n the least records, D the most a bar can lose; without public t and n the
    promise is per bar. This is the corrected form of paper, Thm. hist-priv-accu: the reach never depends on the data.
    """
    if noise is None:
        if epsilon is None or delta is None:
            raise InputError("epsilon and delta are both needed; there are no defaults.")
        noise = DropNoise(epsilon, delta)
    table = instance("noise", noise, DropNoise, "a DropNoise, for example DropNoise(1, 1e-6)")
    space = _histograms(dimensions)

    def run(value: object) -> Histogram:
        histogram = _histogram(value)
        return Histogram(histogram.keys, table.thin(histogram.counts))

    def alpha(setting: Known) -> Fraction | None:
        if setting.records_at_least is None or setting.bars is None:
            return None
        return min(Fraction(table.max_drop * setting.bars, setting.records_at_least), Fraction(1))

    def records_left(setting: Known) -> int | None:
        if setting.records_at_least is None or setting.bars is None:
            return None
        return max(0, setting.records_at_least - table.max_drop * setting.bars)

    def tau(setting: Known) -> ErrorSensitivity:
        share = Accuracy(alpha=alpha(setting), beta=0, max_drop=table.max_drop).alpha
        return _keep_error(share, table.max_drop, space)

    return Mechanism(
        name="Dropping",
        source=space,
        target=space,
        run=run,
        accuracy_in=lambda setting: Accuracy(
            alpha=alpha(setting), beta=0, max_drop=table.max_drop, metric=space.metric
        ),
        sigma=identity(),
        tau=tau,
        privacy=Privacy(epsilon=table.epsilon, delta=table.delta, delta_real=table.delta_real),
        records_left=records_left,
        adds_bars=False,
        identity=True,
    )


def BucketHistogram(  # noqa: N802
    alpha: Number,
    beta: Number,
    *,
    epsilon: Number,
    bounds: Sequence[Any],
    records_at_least: int,
    dimensions: int = 1,
) -> Mechanism:
    """The histogram that is (α, β, 0)-accurate on all inputs of at least n records (paper, Thm. bucketing-hist).

    Buckets have width w = 2β/√d, so that no record moves by more than β; there are T = ⌈B/w⌉^d of them; each may lose
    ⌊αn/T⌋
    records, and δ is the smallest that allows. The errata are applied: T is rounded up, w has the √d, and the reach is
    fixed by the public n, not by the data.
    """
    share, distance = OPEN_ALPHA.check(alpha), POSITIVE_BETA.check(beta)
    least = integer("records_at_least", records_at_least, at_most=_MOST_RECORDS)
    dimensions = _dimensions(dimensions)
    width = 2 * distance / (Fraction(1) if dimensions == 1 else _root_up(dimensions))
    bucketing = Bucketing(width=width, bounds=bounds, dimensions=dimensions)
    drop = math.floor(share * least / (bucketing.bars or 1))
    if drop < 1:
        raise InputError(
            f"alpha times records_at_least must be at least the number of buckets, {bucketing.bars}; "
            "raise alpha, beta or the number of records."
        )
    noise = DropNoise(epsilon, smallest_delta(epsilon, drop + 1))
    return replace(bucketing >> Dropping(noise=noise, dimensions=dimensions), least_records=least)


def STLap(  # noqa: N802
    tau: Number, epsilon: Number, *, records_at_least: int | None = None, bars: int | None = None
) -> Mechanism:
    """The paper's letter: shifted, truncated Laplace noise on [−q, 0] with q = τ|x|, rounded to the nearest integer.

    Its stated privacy is false from three bars on (docs/errata.md). What is reported is the corrected guarantee: on
    inputs of at least n records and at most t bars, with α = tτ, it is (ε[1 + (α/2)(1 + 1/(e^{ετn/2} − 1))], (1 +
    α)·a(τn))-private,
    where a(q) = (e^ε − 1)/(2(e^{εq/2} − 1)). Without n and t, or with τn < 4, nothing is claimed. Its noise is made of
    doubles: for study, not for release.
    """
    fraction, rate = TAU.check(tau), EPSILON.check(epsilon)
    known = None if records_at_least is None else integer("records_at_least", records_at_least, at_most=_MOST_RECORDS)
    most_bars = None if bars is None else integer("bars", bars, at_most=_MOST_RECORDS)

    def run(value: object) -> Histogram:
        histogram = _histogram(value)
        reach = float(fraction * histogram.size)
        drops = shifted_truncated_laplace(len(histogram), reach=reach, epsilon=float(rate))
        left = np.maximum(0, np.rint(histogram.counts + drops)).astype(np.int64)
        return Histogram(histogram.keys, left)

    def accuracy_in(setting: Known) -> Accuracy:
        most, least = setting.bars, setting.records_at_least
        if most is None:
            raise InputError("bars is missing: how many bars there can be decides how many records are left out.")
        # A bar loses at most ⌈q − ½⌉ ≤ q + ½ records, so rounding costs half a record a bar.
        rounding = Fraction(most, 2 * least) if least else Fraction(most, 2)
        return Accuracy(alpha=min(most * fraction + rounding, Fraction(1)), beta=0, metric=HISTOGRAMS.metric)

    def records_left(setting: Known) -> int | None:
        if setting.records_at_least is None or setting.bars is None or setting.bars * fraction >= 1:
            return None
        return max(0, math.floor(setting.records_at_least * (1 - setting.bars * fraction) - Fraction(setting.bars, 2)))

    def tau_of(setting: Known) -> ErrorSensitivity:
        return _keep_error(accuracy_in(setting).alpha, None, HISTOGRAMS)

    return Mechanism(
        name="STLap",
        source=HISTOGRAMS,
        target=HISTOGRAMS,
        run=run,
        accuracy_in=accuracy_in,
        sigma=identity(),
        tau=tau_of,
        privacy=_corrected(fraction, rate, known, most_bars),
        most_bars=most_bars,
        least_records=known,
        records_left=records_left,
        adds_bars=False,
        identity=True,
    )


def _corrected(tau: Fraction, epsilon: Fraction, records: int | None, bars: int | None) -> Privacy | None:
    if records is None or bars is None or tau * records < 4:
        return None
    alpha = bars * tau
    up, down = Context(prec=60, rounding=ROUND_CEILING), Context(prec=60, rounding=ROUND_FLOOR)
    slack = Fraction(1, 10**50)  # Decimal's exponential is right to its last digit, whatever the rounding
    growth = Fraction(up.exp(_decimal(epsilon, up))) * (1 + slack)
    decay = Fraction(down.exp(_decimal(epsilon * tau * records / 2, down))) * (1 - slack) - 1
    loss = epsilon * (1 + alpha / 2 * (1 + 1 / decay))
    chance = (1 + alpha) * (growth - 1) / (2 * decay)
    if chance >= 1:
        return None
    given = f"in tables of at least {records} records and at most {bars} bars"
    return Privacy(epsilon=_shorter(loss), delta=_shorter(chance), given=given)


def _decimal(number: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(number.numerator), Decimal(number.denominator))


def _shorter(number: Fraction) -> Fraction:
    """A little above the number, with forty digits instead of hundreds."""
    scale = Fraction(10) ** (40 - _decimal(number, Context(prec=60)).adjusted())
    return Fraction(math.ceil(number * scale)) / scale


def Emptiness(epsilon: Number, delta: Number) -> Mechanism:  # noqa: N802
    """Is the set empty? The optimal private answer that never calls an empty set non-empty.

    A set of k elements is reported with p_k = Pr[J < k] (``DropNoise.survival``), so sets of at least q always are.
    Paper, the Boolean task before Thm. hist-priv-accu; here with the smallest q of either parity.
    """
    noise = DropNoise(epsilon, delta)
    sizes, answers = Space("set sizes", "absolute difference"), Space("answers", "equality")

    def accuracy_in(setting: Known) -> Accuracy:
        sure = setting.records_at_least is not None and setting.records_at_least >= noise.q
        return Accuracy(alpha=0 if sure else 1, beta=0, max_drop=noise.max_drop, metric=answers.metric)

    return Mechanism(
        name="Emptiness",
        source=sizes,
        target=answers,
        run=lambda size: bool(
            noise.thin(np.array([integer("size", size, at_least=0, at_most=_MOST_RECORDS)], dtype=np.int64))[0] > 0
        ),
        accuracy_in=accuracy_in,
        sigma=identity(),
        tau=lambda setting: _keep_error(accuracy_in(setting).alpha, noise.max_drop, answers),
        privacy=Privacy(epsilon=noise.epsilon, delta=noise.delta, delta_real=noise.delta_real),
    )
