"""Independent noise on each bar of a histogram, and statistics read off independent bars without enumerating them.

x = {3: 5, 8: 2}                 law_of_bars(x)(5)             law_of_bars(x)(2)
                          5 ┤ ▒                          3 ┤
law(x) = Independent      4 ┤ ▒▒▒      by itself         2 ┤ ▒          the joint law has 4 × 3 outcomes;
                          3 ┤ ▒▒▒▒                       1 ┤ ▒▒▒        a δ, a maximum and a mode need
                          2 ┤ ▒                          0 ┤ ▒          4 + 3 numbers
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import integer, pairs
from flexdp._core.text import safe_repr
from flexdp.distribution import REFUSED, Distribution, Independent, Law, point
from flexdp.errors import FlexdpError, InputError
from flexdp.histogram import Histogram, KeyedHistogram
from flexdp.mechanisms.base import Mechanism
from flexdp.statistics import Max, MaxAtLeast, Min, Mode

__all__ = ["BarNoise", "as_histogram", "law_of_value", "law_read_off"]


class BarNoise(Mechanism):
    """A mechanism that changes each bar of a histogram independently; a subclass says what becomes of one bar.

    Its law, its exact δ, and the laws of a maximum, a minimum, ``max_k`` and the mode read off its output follow.

    Examples
    --------
    >>> from flexdp.audit import exact_delta
    >>> from flexdp.mechanisms import HISTOGRAMS
    >>> class Half(BarNoise):  # each bar is kept or left out
    ...     source = target = HISTOGRAMS
    ...
    ...     def draw(self, x, bits):
    ...         return Histogram(x.keys, [bits.below(2) * count for count in x.counts.tolist()])
    ...
    ...     def law_of_bars(self, x):
    ...         return lambda count: Distribution.uniform([0, count])
    >>> float(exact_delta(Half(), {1: 3, 2: 5}, {1: 3, 2: 4}, 1))
    0.5
    """

    @abstractmethod
    def law_of_bars(self, x: Histogram) -> Callable[[int], Distribution]:
        """Return the law of a bar as a function of its count. It may depend on the table, as the paper's noise does.

        Parameters
        ----------
        x
            The table.

        Returns
        -------
        callable
            Maps the number of records in a bar to the law of what is reported. Equal laws should be one object.
        """

    def law(self, x: Any) -> Independent:
        """Return the law of all bars, which are independent."""
        if isinstance(x, KeyedHistogram):
            counts = dict(zip(x.rows(slice(None)), x.counts.tolist(), strict=True))
            bar = self.law_of_bars(Histogram(list(range(len(counts))), list(counts.values())))
            return Independent({key: bar(count) for key, count in counts.items()}, _non_empty)
        histogram = as_histogram(x)
        bar = self.law_of_bars(histogram)
        return Independent({key: bar(count) for key, count in histogram.items()}, _histogram)


def as_histogram(value: Any) -> Histogram:
    """Read an input of a law: a histogram, or a mapping of keys to counts."""
    if isinstance(value, Histogram):
        return value
    listed = pairs(value)
    if listed is None:
        raise InputError("x", "must be a histogram, or a mapping of keys to counts", given=safe_repr(value))
    return Histogram([key for key, _ in listed], [integer("counts", count, at_least=0) for _, count in listed])


def _histogram(counts: dict[Any, int]) -> Histogram:
    return Histogram(list(counts), list(counts.values()))


def _non_empty(counts: dict[Any, int]) -> frozenset[tuple[Any, int]]:
    return frozenset((key, count) for key, count in counts.items() if count)


def law_of_value(f: Callable[[Any], Any], x: Any) -> Distribution:
    """Return the law of f(x), which is a point: REFUSED where f is not defined, as for the maximum of nothing."""
    try:
        value = f(x)
    except FlexdpError:
        return point(REFUSED)
    return point(_hashable(value))


def _hashable(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return _hashable(value.tolist())
    if isinstance(value, list | tuple):
        return tuple(map(_hashable, value))
    if isinstance(value, Mapping):
        return frozenset((key, _hashable(cell)) for key, cell in value.items())
    return frozenset(value) if isinstance(value, set) else value


def law_read_off(bars: Law, statistic: Any, *, nothing: Any = REFUSED) -> Distribution | None:
    """Return the law of a statistic of independent bars in closed form; None where there is none.

    Masses are exact where those of the bars are exact, and doubles where those are doubles.

    Parameters
    ----------
    bars
        The law of a histogram.
    statistic
        What is read off.
    nothing
        The outcome where no bar is left.
    """
    if not isinstance(bars, Independent) or bars.build is not _histogram:
        return None
    keys = list(bars.factors)
    if any(isinstance(key, tuple) for key in keys) or type(statistic) not in (Max, Min, MaxAtLeast, Mode):
        return None
    laws = [law.listed() for law in bars.factors.values()]
    if isinstance(statistic, Mode):
        chances, rest = _tallest([law.dense for law in laws])
    else:
        level, empty = (statistic.count, None) if isinstance(statistic, MaxAtLeast) else (1, nothing)
        nothing = empty
        if isinstance(statistic, Min):
            keys, laws = keys[::-1], laws[::-1]
        short = [_below(law.dense, level) for law in laws]
        chances, rest = _last_that_is_not(short)
    masses = {key: chance for key, chance in zip(keys, chances, strict=True) if chance}
    if rest:
        masses[nothing] = rest
    return Distribution(masses, sum((law.error for law in laws), Fraction(0)))


def _below(dense: tuple[int, NDArray[Any]], level: int) -> Any:
    """Pr[bar < level]."""
    low, masses = dense
    return masses[: max(0, level - low)].sum() if level > low else masses[0] * 0


def _last_that_is_not(short: list[Any]) -> tuple[list[Any], Any]:
    """Pr[bar i is tall enough, and all after it are too short] for each i, and Pr[all are too short]."""
    found, rest = [], Fraction(1) if not short or isinstance(short[0], Fraction) else 1.0
    for chance in reversed(short):
        found.append((1 - chance) * rest)
        rest *= chance
    return found[::-1], rest


def _tallest(laws: list[tuple[int, NDArray[Any]]]) -> tuple[Iterable[Any], Any]:
    """Pr[bar i is the mode] = Σ_h Pr[i = h]·Π_{j<i} Pr[j < h]·Π_{j>i} Pr[j ≤ h]; ties go to the smallest key.

    Only heights that the tallest bar does not rule out matter: below its least height no bar can win.
    """
    if not laws:
        return [], Fraction(1)
    first = max(1, max(low for low, _ in laws))
    last = max(low + len(masses) for low, masses in laws)
    heights = np.arange(first, max(first, last))
    zero = laws[0][1][0] * 0
    shows = np.full((len(laws), len(heights)), zero, dtype=laws[0][1].dtype)
    below = shows.copy()
    nothing: Any = 1 + zero
    for i, (low, masses) in enumerate(laws):
        running = np.concatenate((masses[:1] * 0, np.cumsum(masses)))  # Pr[bar < low + k]
        below[i] = running[np.clip(heights - low, 0, len(masses))]
        inside = (heights >= low) & (heights < low + len(masses))
        shows[i, inside] = masses[heights[inside] - low]
        nothing *= masses[0] if low == 0 else zero
    one = np.full_like(below[:1], 1 + zero)
    before = np.concatenate((one, np.cumprod(below, axis=0)[:-1]))
    after = np.concatenate((np.cumprod((below + shows)[::-1], axis=0)[::-1][1:], one))
    return (shows * before * after).sum(axis=1).tolist(), nothing
