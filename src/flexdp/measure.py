"""Empirical flexible accuracy: distances from a mechanism's outputs to the attainable answers.

For a deterministic statistic f, the smallest β for which a mechanism M is (α, β, γ)-accurate at a histogram x is

    min{b : Pr[dist(M(x), F_α(x)) ≤ b] ≥ 1 − γ},    F_α(x) = {f(x′) : drop(x, x′) ≤ α, x′ ≠ ∅},

the (1 − γ)-quantile of the distance to the attainable set (paper, Def. alpha-beta-gamma-accuracy, with the inner
infimum solved). Here the distance is computed for every run of a mechanism, and the quantile is taken over the runs.

The measurements are *not* private: they compare with the true data. Use them on simulated or public data. They say
nothing about other data; guarantees, which read no data, are in :mod:`flexdp.guarantees`.
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
from flexdp._core.keys import object_keys
from flexdp._core.nearest import nearest
from flexdp._core.text import plain_scalar, safe_repr, thousands
from flexdp.errors import InputError, P
from flexdp.histogram import Histogram
from flexdp.statistics.base import histogram_given, to_python

__all__ = ["LARGEST_SEARCH", "AccuracyCurve", "Measurable", "accuracy_curve", "flexible_error"]

LARGEST_SEARCH = 100_000  # sub-multisets in an exhaustive search

Distance: TypeAlias = Callable[[Any, Any], float]
_Cells: TypeAlias = list[Any] | NDArray[Any]


class Measurable(Protocol):
    """A statistic of your own: any function from a non-empty histogram to a value.

    Two optional methods make it faster or more general:

    - ``attainable(histogram, alpha)`` returns the values that f can take once at most ⌊αn⌋ records, but not all, are
      dropped: a sorted array, with None last if "no value" is among them. Without it, all sub-multisets within the
      budget are tried; more than ``LARGEST_SEARCH`` of them raise an error.
    - ``flexible_error(histogram, outputs, alpha)`` returns the distances themselves, for attainable sets that are too
      large to list.
    """

    def __call__(self, histogram: Histogram, /) -> Any:
        """Compute the statistic.

        Parameters
        ----------
        histogram
            A non-empty histogram.

        Returns
        -------
        object
            The value, or None if the statistic has none.
        """


def flexible_error(
    histogram: Histogram,
    outputs: Sequence[Any] | NDArray[Any],
    statistic: Measurable,
    alpha: Number,
    *,
    distance: Distance | None = None,
) -> NDArray[np.float64]:
    """Compute the distance from each output to the nearest value attainable by dropping a fraction α of the records.

    Parameters
    ----------
    histogram
        The data; not empty.
    outputs
        Outputs of independent runs of a mechanism on ``histogram``. None or NaN is a run without an output: its error
        is infinite unless "no value" is attainable.
    statistic
        The statistic that the mechanism approximates.
    alpha
        Fraction of the records that may be dropped, taken exactly: the budget is ⌊αn⌋ records.
    distance
        Distance between an output and a value. By default numbers and dates are compared by their difference (dates in
        days), and any other values are equal or infinitely far apart.

    Returns
    -------
    ndarray of float64
        One error per output.

    Raises
    ------
    InputError
        If the histogram is empty, a parameter is out of range, or the attainable set is too large to search.

    Examples
    --------
    >>> from flexdp.statistics import Max
    >>> h = Histogram.from_counts({10: 90, 20: 9, 70: 1})
    >>> flexible_error(h, [70, 20, 12, 60, None], Max(), alpha=0.01).tolist()
    [0.0, 0.0, 8.0, 10.0, inf]
    """
    share = ALPHA.check(alpha)
    if not len(histogram_given(histogram)):
        raise InputError(
            "histogram", "must not be empty", remedy="Flexible accuracy is undefined for an empty histogram."
        )
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

    Parameters
    ----------
    alphas, gammas
        The grid.
    beta
        ``beta[i, j]`` is the smallest β for ``alphas[i]`` and ``gammas[j]``; infinite if more than a fraction γ of the
        runs have an infinite error.
    runs
        Number of runs.

    Examples
    --------
    >>> from flexdp.statistics import Max
    >>> h = Histogram.from_counts({10: 90, 20: 9, 70: 1})
    >>> curve = accuracy_curve(h, [70, 20, 12, 60], Max(), alphas=["0.01"], gammas=[0, "0.25"])
    >>> curve.at("0.01", "0.25")
    8.0
    >>> print(curve)
    Measured over 4 runs: the error exceeds β in at most a fraction γ of them.
    α = 0.01: β = 10 at γ = 0, 8 at γ = 0.25.
    """

    alphas: tuple[Fraction, ...]
    gammas: tuple[Fraction, ...]
    beta: NDArray[np.float64]
    runs: int

    def at(self, alpha: Number, gamma: Number = 0) -> float:
        """Return the β of one α and γ of the grid.

        Parameters
        ----------
        alpha, gamma
            Values that the curve was computed for.

        Returns
        -------
        float
            The smallest β.

        Raises
        ------
        InputError
            If the curve was not computed for them.
        """
        pair = ALPHA.check(alpha), GAMMA.check(gamma)
        if pair[0] not in self.alphas or pair[1] not in self.gammas:
            raise InputError("alpha", ("and ", P("gamma"), " must be among the values that the curve was computed for"))
        return float(self.beta[self.alphas.index(pair[0]), self.gammas.index(pair[1])])

    def __str__(self) -> str:
        lines = [f"Measured over {self.runs} runs: the error exceeds β in at most a fraction γ of them."]
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
    """Compute, for each α and γ, the smallest error bound that at least a fraction 1 − γ of the runs satisfy.

    With R runs it is the error of rank ⌈(1 − γ)·R⌉ in ascending order, the rank computed exactly; at γ = 1 it is 0.

    Parameters
    ----------
    histogram
        The data; not empty.
    outputs
        Outputs of independent runs, as for :func:`flexible_error`; at least one.
    statistic
        The statistic that the mechanism approximates.
    alphas, gammas
        The grid; each value in [0, 1].
    distance
        As for :func:`flexible_error`.

    Returns
    -------
    AccuracyCurve
        The smallest β for each pair.

    Raises
    ------
    InputError
        If there is no run, or as for :func:`flexible_error`.

    Examples
    --------
    >>> from flexdp.statistics import Max
    >>> h = Histogram.from_counts({10: 90, 20: 9, 70: 1})
    >>> accuracy_curve(h, [70, 20, 12, 60], Max(), alphas=[0, 0.01], gammas=[0, 0.25]).beta.tolist()
    [[58.0, 50.0], [10.0, 8.0]]
    """
    shares = tuple(ALPHA.check(alpha) for alpha in _listed("alphas", alphas))
    chances = tuple(GAMMA.check(gamma) for gamma in _listed("gammas", gammas))
    runs = _runs(outputs)
    if not len(runs):
        raise InputError("outputs", "must contain at least one run")
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
        raise InputError(name, "must be a list of numbers", given=safe_repr(values))
    return listed


def _runs(outputs: object) -> _Cells:
    cells = _cells(outputs) if isinstance(outputs, Collection) or hasattr(type(outputs), "__len__") else None
    if cells is None:
        raise InputError("outputs", "must be a sequence with one entry per run", given=safe_repr(outputs))
    return cells


def _cells(values: object) -> _Cells | None:
    """Keep a flat array of numbers, which is fast; turn anything else into a list of plain values."""
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
    """Yield every histogram that remains when at most ``allowed`` records are dropped."""
    _refuse_large_searches(histogram.counts.tolist(), allowed)
    left: list[tuple[tuple[int, ...], int]] = [((), allowed)]
    for records in histogram.counts.tolist():
        left = [((*kept, records - j), room - j) for kept, room in left for j in range(min(records, room) + 1)]
    for kept, _ in left:
        yield Histogram(histogram.keys, np.array(kept, dtype=np.int64))


def _refuse_large_searches(counts: list[int], allowed: int) -> None:
    """Count the sub-multisets, by the number of records dropped, before building any."""
    ways = [1]
    for records in counts:
        reach = min(records, allowed)
        if reach < LARGEST_SEARCH:
            longer = min(len(ways) + reach, allowed + 1)
            ways = [sum(ways[max(0, lost - reach) : lost + 1]) for lost in range(longer)]
        if reach >= LARGEST_SEARCH or sum(ways) > LARGEST_SEARCH:
            raise InputError(
                "alpha",
                f"must leave at most {thousands(LARGEST_SEARCH)} sub-multisets to search",
                remedy=(
                    "Choose a smaller ", P("alpha"), " or ", P("histogram"), ", or give ", P("statistic"),
                    " a method attainable(histogram, alpha).",
                ),
            )  # fmt: skip


def _nearest(values: _Cells, outputs: _Cells, distance: Distance | None) -> NDArray[np.float64]:
    if distance is not None:
        return np.array([min(_checked(distance(output, value)) for value in values) for output in outputs])
    line, points = _line(values), _line(outputs)
    if line is not None and points is not None and line.of == points.of:
        common: Any = object if "O" in (line.places.dtype.kind, points.places.dtype.kind) else np.float64
        gaps = nearest(np.unique(line.places.astype(common)), points.places.astype(common)).gap
        return np.asarray(gaps, dtype=np.float64)
    try:
        known = set(values)
        return np.array([0.0 if output in known else math.inf for output in outputs])
    except Exception:  # noqa: BLE001  (an object may raise anything when it is hashed or compared)
        raise InputError(
            "outputs",
            "must be numbers, dates or hashable values",
            remedy=("For anything else, pass ", P("distance"), "."),
        ) from None


def _checked(gap: Any) -> float:
    number = float(gap)
    if not number >= 0:
        raise InputError("distance", "must return a non-negative number")
    return number


class _Line(NamedTuple):
    of: str
    places: NDArray[Any]


def _line(cells: _Cells) -> _Line | None:
    """Place values on a line: numbers as doubles, or exactly where doubles would round; dates and durations in days."""
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
