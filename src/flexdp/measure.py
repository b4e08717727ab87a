"""Measuring flexible accuracy: how far the outputs of any mechanism are from what the data could have said.

For a deterministic statistic f, the smallest β for which a mechanism M is (α, β, γ)-accurate at a histogram x is

    min{b : Pr[dist(M(x), F_α(x)) ≤ b] ≥ 1 − γ},    F_α(x) = {f(x′) : drop(x, x′) ≤ α, x′ ≠ ∅},

the (1 − γ)-quantile of the distance to the attainable set (paper, Def. alpha-beta-gamma-accuracy, with the inner
infimum solved). Here the distance is computed for every run of a mechanism, and the quantile is taken over the runs.

What is measured is *not* private: it compares with the true data. It is meant for simulated or public data, and
promises nothing about other data; promises are in :mod:`flexdp.guarantees` and read none.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import ALPHA, GAMMA, attribute, elements, function
from flexdp._core.exact import Number, number_text, upper_text
from flexdp._core.text import plain_scalar, safe_repr
from flexdp.errors import InputError
from flexdp.histogram import Histogram, object_keys
from flexdp.statistics.base import histogram_given, to_python

__all__ = ["LARGEST_SEARCH", "AccuracyCurve", "Measurable", "accuracy_curve", "flexible_error"]

LARGEST_SEARCH = 100_000  # sub-multisets that an exhaustive search looks at

Distance: TypeAlias = Callable[[Any, Any], float]
_Cells: TypeAlias = list[Any] | NDArray[Any]


class Measurable(Protocol):
    """What a statistic of your own must be: a function from a non-empty histogram to a value.

    That is all. Three optional methods or arguments make it faster or richer:

    - ``attainable(histogram, alpha)`` returns the values f can take once at most ⌊αn⌋ records, and not all, are left
      out: a sorted array, with None last where "no value" is among them. Without it, all sub-multisets within the
      budget are tried, and more than ``LARGEST_SEARCH`` of them are refused.
    - ``flexible_error(histogram, outputs, alpha)`` returns the distances themselves, where listing the set is hopeless.
    - the argument ``distance`` says how far an output and a value are apart. Without it numbers and dates have their
      difference (in days), and all other values are equal or infinitely far apart.
    """

    def __call__(self, histogram: Histogram, /) -> Any:
        """The value on a non-empty histogram; None says that it has none."""


def flexible_error(
    histogram: Histogram,
    outputs: Sequence[Any] | NDArray[Any],
    statistic: Measurable,
    alpha: Number,
    *,
    distance: Distance | None = None,
) -> NDArray[np.float64]:
    """The distance of each output from the nearest value that leaving out a fraction α of the records can explain.

    ``outputs`` are independent runs of a mechanism on ``histogram``; None or NaN is a run without an output, infinitely
    wrong unless "no value" is attainable. ``alpha`` is taken exactly: the budget is ⌊αn⌋ records.

    >>> from flexdp.statistics import to_python, Max
    >>> h = Histogram.from_counts({10: 90, 20: 9, 70: 1})
    >>> flexible_error(h, [70, 20, 12, 60, None], Max(), alpha=0.01).tolist()
    [0.0, 0.0, 8.0, 10.0, inf]
    """
    share = ALPHA.check(alpha)
    if not len(histogram_given(histogram)):
        raise InputError("flexible accuracy at an empty histogram is undefined; test len(histogram) first.")
    runs = _runs(outputs)
    function("statistic", statistic, "a histogram")
    if distance is not None:
        function("distance", distance, "an output and a value")
    own = attribute(statistic, "flexible_error")
    if distance is None and own is not None:
        return np.asarray(own(histogram, runs, share), dtype=np.float64)
    values = _attainable(histogram, statistic, share)
    known = [value for value in values if value is not None] if isinstance(values, list) else values
    missing = _missing(runs)
    errors = np.full(len(runs), math.inf)
    if len(known) < len(values):  # "no value" is attainable
        errors[missing] = 0.0
    if len(known) and not missing.all():
        errors[~missing] = _nearest(known, _only(runs, ~missing), distance)
    return errors


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AccuracyCurve:
    """The smallest β for each α (rows) and γ (columns), over a number of runs on one histogram.

    ``beta[i, j]`` is infinite where more than a share γ of the runs gave no explainable output.
    """

    alphas: tuple[Fraction, ...]
    gammas: tuple[Fraction, ...]
    beta: NDArray[np.float64]
    runs: int

    def at(self, alpha: Number, gamma: Number = 0) -> float:
        """The β of one α and γ that were asked for."""
        pair = ALPHA.check(alpha), GAMMA.check(gamma)
        if pair[0] not in self.alphas or pair[1] not in self.gammas:
            raise InputError("alpha and gamma must be among those that the curve was computed for.")
        return float(self.beta[self.alphas.index(pair[0]), self.gammas.index(pair[1])])

    def __str__(self) -> str:
        lines = [f"Measured over {self.runs} runs; β is the error that all but a share γ of them keep to."]
        for alpha, row in zip(self.alphas, self.beta, strict=True):
            cells = ", ".join(
                f"{upper_text(float(beta), 6)} at γ = {number_text(gamma)}"
                for gamma, beta in zip(self.gammas, row, strict=True)
            )
            lines.append(f"α = {number_text(alpha)}: β = {cells}.")
        return "\n".join(lines)


def accuracy_curve(
    histogram: Histogram,
    outputs: Sequence[Any] | NDArray[Any],
    statistic: Measurable,
    alphas: Sequence[Number],
    gammas: Sequence[Number],
    *,
    distance: Distance | None = None,
) -> AccuracyCurve:
    """For each α and γ the smallest b that at least a share 1 − γ of the runs keep to.

    With R runs that is the error of rank ⌈(1 − γ)·R⌉ in ascending order, the rank computed exactly; at γ = 1 nothing is
    asked and b is 0.

    >>> from flexdp.statistics import Max
    >>> h = Histogram.from_counts({10: 90, 20: 9, 70: 1})
    >>> accuracy_curve(h, [70, 20, 12, 60], Max(), alphas=[0, 0.01], gammas=[0, 0.25]).beta.tolist()
    [[58.0, 50.0], [10.0, 8.0]]
    """
    shares = tuple(ALPHA.check(alpha) for alpha in _listed("alphas", alphas))
    chances = tuple(GAMMA.check(gamma) for gamma in _listed("gammas", gammas))
    runs = _runs(outputs)
    if not len(runs):
        raise InputError("outputs must hold at least one run.")
    ranks = [math.ceil((1 - chance) * len(runs)) for chance in chances]
    beta = np.zeros((len(shares), len(chances)))
    for row, share in enumerate(shares):
        ascending = np.sort(flexible_error(histogram, runs, statistic, share, distance=distance))
        beta[row] = [ascending[rank - 1] if rank else 0.0 for rank in ranks]
    beta.flags.writeable = False
    return AccuracyCurve(alphas=shares, gammas=chances, beta=beta, runs=len(runs))


def _listed(name: str, values: object) -> list[Any]:
    listed = elements(values)
    if listed is None:
        raise InputError(f"{name} must be a list of numbers; got {safe_repr(values)}.")
    return listed


def _runs(outputs: object) -> _Cells:
    cells = _cells(outputs) if isinstance(outputs, Collection) or hasattr(type(outputs), "__len__") else None
    if cells is None:
        raise InputError("outputs must be a sequence with one entry for each run.")
    return cells


def _cells(values: object) -> _Cells | None:
    """A flat array of numbers as it is, which is fast; anything else as a list of plain values."""
    if isinstance(values, np.ndarray) and values.ndim == 1:
        return values if values.dtype.kind in "biuf" else values.tolist()
    listed = elements(values)
    return None if listed is None else [plain_scalar(to_python(value)) for value in listed]


def _only(cells: _Cells, chosen: NDArray[np.bool_]) -> _Cells:
    if isinstance(cells, list):
        return [cell for cell, wanted in zip(cells, chosen, strict=True) if wanted]
    return cells[chosen]


def _missing(cells: _Cells) -> NDArray[np.bool_]:
    if isinstance(cells, list):
        return np.array([cell is None or (isinstance(cell, float) and math.isnan(cell)) for cell in cells], dtype=bool)
    return np.isnan(cells)


def _attainable(histogram: Histogram, statistic: Measurable, share: Fraction) -> _Cells:
    own = attribute(statistic, "attainable")
    if own is not None:
        found = _cells(own(histogram, share))
        return [] if found is None else found
    size = histogram.size
    return [to_python(statistic(rest)) for rest in _submultisets(histogram, min(math.floor(share * size), size - 1))]


def _submultisets(histogram: Histogram, allowed: int) -> Iterator[Histogram]:
    """Every histogram that remains when at most ``allowed`` records are left out."""
    _refuse_large_searches(histogram.counts.tolist(), allowed)
    left: list[tuple[tuple[int, ...], int]] = [((), allowed)]
    for records in histogram.counts.tolist():
        left = [((*kept, records - j), room - j) for kept, room in left for j in range(min(records, room) + 1)]
    for kept, _ in left:
        yield Histogram(histogram.keys, np.array(kept, dtype=np.int64))


def _refuse_large_searches(counts: list[int], allowed: int) -> None:
    """Count the sub-multisets, by how many records are left out, before making any."""
    ways = [1]
    for records in counts:
        reach = min(records, allowed)
        if reach < LARGEST_SEARCH:
            longer = min(len(ways) + reach, allowed + 1)
            ways = [sum(ways[max(0, lost - reach) : lost + 1]) for lost in range(longer)]
        if reach >= LARGEST_SEARCH or sum(ways) > LARGEST_SEARCH:
            raise InputError(
                f"there are more than {LARGEST_SEARCH} ways to leave out that many records; choose a smaller alpha or "
                "histogram, or give the statistic an attainable(histogram, alpha) method."
            )


def _nearest(values: _Cells, outputs: _Cells, distance: Distance | None) -> NDArray[np.float64]:
    if distance is not None:
        return np.array([min(_checked(distance(output, value)) for value in values) for output in outputs])
    line, points = _line(values), _line(outputs)
    if line is not None and points is not None and line.of == points.of:
        common: Any = object if "O" in (line.places.dtype.kind, points.places.dtype.kind) else np.float64
        return _nearest_on_a_line(np.unique(line.places.astype(common)), points.places.astype(common))
    try:
        known = set(values)
        return np.array([0.0 if output in known else math.inf for output in outputs])
    except Exception:  # noqa: BLE001  (an object may raise anything when it is hashed or compared)
        raise InputError("outputs are neither numbers nor dates nor plain values; say distance=.") from None


def _checked(gap: Any) -> float:
    number = float(gap)
    if not number >= 0:
        raise InputError("distance must return a number of at least 0.")
    return number


class _Line(NamedTuple):
    of: str
    places: NDArray[Any]


def _line(cells: _Cells) -> _Line | None:
    """Places on a line: numbers as doubles, or exact objects where those would round; dates and time spans as days."""
    if not isinstance(cells, list):
        rounds = cells.dtype.kind in "iu" and len(cells) > 0 and max(abs(int(cells.min())), int(cells.max())) > 2**53
        return _Line("numbers", cells.astype(object) if rounds else cells)
    if all(isinstance(cell, dt.date) and not isinstance(cell, dt.datetime) for cell in cells):
        return _Line("dates", np.array([cell.toordinal() for cell in cells]))
    if all(isinstance(cell, dt.timedelta) for cell in cells):
        return _Line("spans", np.array([cell / dt.timedelta(days=1) for cell in cells]))
    if not all(isinstance(cell, Real) for cell in cells):
        return None
    doubles = all(isinstance(cell, float) or (isinstance(cell, int) and abs(cell) <= 2**53) for cell in cells)
    return _Line("numbers", np.array(cells, dtype=np.float64) if doubles else object_keys(cells))


def _nearest_on_a_line(values: NDArray[Any], outputs: NDArray[Any]) -> NDArray[np.float64]:
    place = np.searchsorted(values, outputs)
    left, right = values[np.maximum(place - 1, 0)], values[np.minimum(place, len(values) - 1)]
    gaps: NDArray[np.float64] = np.minimum(np.abs(outputs - left), np.abs(right - outputs)).astype(np.float64)
    return gaps
