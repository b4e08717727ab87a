"""Laws of simulated data, to draw from: each draws a row of bars, and reads as a short text.

The texts are those of :mod:`flexdp.simulation.grammar`. Records that fall outside the bars are discarded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Protocol, TypeAlias, get_args, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import choice, instance, integer
from flexdp._core.exact import Number, number_text
from flexdp._core.text import plain_scalar, safe_repr
from flexdp.errors import InputError
from flexdp.simulation.distributions import zipf_shares
from flexdp.simulation.grammar import parse_law_text
from flexdp.simulation.streams import Generator

__all__ = ["Binning", "Fixed", "Law", "PoissonBars", "Sampled", "StepNoise", "Steps", "parse_law"]

Binning: TypeAlias = Literal["floor", "nearest"]
_Draw: TypeAlias = Callable[[Generator, tuple[float, ...], int], NDArray[Any]]
_LARGEST = 10**9  # records, bars and heights of a simulated data set


@runtime_checkable
class Law(Protocol):
    """A source of data sets; any object with these two members will do."""

    @property
    def bars(self) -> int:
        """B, the number of bars, which is public."""

    def counts(self, rng: Generator) -> NDArray[np.int64]:
        """Draw one data set.

        Parameters
        ----------
        rng
            The generator that all randomness comes from.

        Returns
        -------
        ndarray
            The number of records in each bar.

        Examples
        --------
        >>> from flexdp.simulation.streams import stream
        >>> parse_law("steps:5x2,1x3").counts(stream(0, "data")).tolist()
        [5, 5, 1, 1, 1]
        """


def _zipf(rng: Generator, parameters: tuple[float, ...], records: int) -> NDArray[Any]:
    if len(parameters) == 1:
        return rng.zipf(parameters[0], records) - 1
    return np.searchsorted(zipf_shares(int(parameters[1]), parameters[0])[1:], rng.random(records), side="right")


_DRAWS: dict[str, _Draw] = {
    "cauchy": lambda rng, p, n: p[0] + p[1] * rng.standard_cauchy(n),
    "normal": lambda rng, p, n: rng.normal(p[0], p[1], n),
    "lognormal": lambda rng, p, n: rng.lognormal(p[0], p[1], n),
    "uniform": lambda rng, p, n: rng.uniform(p[0], p[1], n),
    "zipf": _zipf,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """Independent records of one law of values, binned.

    Parameters
    ----------
    family
        The name of the law: cauchy, normal, lognormal, uniform or zipf.
    parameters
        Its arguments, in the order of :mod:`flexdp.simulation.grammar`.
    records
        The number of records that are drawn; those outside the bars are discarded.
    bars
        B, the number of bars.
    binning
        Bar i holds [i, i + 1) by "floor", [i − ½, i + ½] by "nearest".
    emptied
        The number of bars at the end that are set to zero after counting.

    Examples
    --------
    >>> from flexdp.simulation.streams import stream
    >>> law = Sampled(family="uniform", parameters=(0, 4), records=1000, bars=3)
    >>> str(law), law.counts(stream(0, "data")).shape
    ('uniform:0,4', (3,))
    """

    family: str
    parameters: tuple[float, ...]
    records: int
    bars: int
    binning: Binning = "floor"
    emptied: int = 0

    def __str__(self) -> str:
        return f"{self.family}:{','.join(map(number_text, self.parameters))}"

    def counts(self, rng: Generator) -> NDArray[np.int64]:
        """Draw one data set.

        Parameters
        ----------
        rng
            The generator that all randomness comes from.

        Returns
        -------
        ndarray
            The number of records in each bar.
        """
        values = _DRAWS[self.family](rng, self.parameters, self.records)
        places = np.floor(values) if self.binning == "floor" else np.rint(values)
        inside = places[(places >= 0) & (places < self.bars)].astype(np.int64)
        out = np.bincount(inside, minlength=self.bars).astype(np.int64)
        out[self.bars - self.emptied :] = 0
        return out


@dataclass(frozen=True, slots=True)
class StepNoise:
    """Noise on each bar of a step.

    Parameters
    ----------
    kind
        "none"; "uniform", a whole number from −``spread`` to ``spread``; or "poisson".
    spread
        The largest uniform noise.

    Examples
    --------
    >>> StepNoise.parse("uniform:5"), str(StepNoise("poisson"))
    (StepNoise(kind='uniform', spread=5), 'poisson')
    >>> from flexdp.simulation.streams import stream
    >>> StepNoise().apply(np.array([3, 1]), stream(0, "noise")).tolist()
    [3, 1]
    """

    kind: Literal["none", "uniform", "poisson"] = "none"
    spread: int = 0

    @classmethod
    def parse(cls, text: object) -> StepNoise:
        """Parse "none", "uniform:5" or "poisson".

        Parameters
        ----------
        text
            The text.

        Returns
        -------
        StepNoise
            The noise.

        Raises
        ------
        InputError
            If the text is none of these.
        """
        given = plain_scalar(text)
        kind, _, spread = given.partition(":") if isinstance(given, str) else ("", "", "")
        if kind == "uniform":
            return cls("uniform", integer("step_noise", spread or 5, at_most=_LARGEST))
        if kind in ("none", "poisson") and kind == given:
            return cls("none" if kind == "none" else "poisson")
        raise InputError("step_noise", "must be none, uniform:N or poisson", given=safe_repr(text))

    def __str__(self) -> str:
        return f"uniform:{self.spread}" if self.kind == "uniform" else self.kind

    def apply(self, heights: NDArray[np.int64], rng: Generator) -> NDArray[np.int64]:
        """Add the noise.

        Parameters
        ----------
        heights
            The heights of the bars.
        rng
            The generator that all randomness comes from.

        Returns
        -------
        ndarray
            The heights with their noise, never below zero.
        """
        if self.kind == "none":
            return heights
        if self.kind == "poisson":
            return rng.poisson(heights).astype(np.int64)
        moved = heights + rng.integers(-self.spread, self.spread + 1, len(heights))
        return np.asarray(np.maximum(0, moved), dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """A histogram in steps, with noise on each bar.

    Parameters
    ----------
    steps
        (height, width) of each step.
    noise
        The noise on each bar; none unless given.

    Examples
    --------
    >>> from flexdp.simulation.streams import stream
    >>> Steps(steps=((3, 2), (0, 1))).counts(stream(0, "data")).tolist()
    [3, 3, 0]
    """

    steps: tuple[tuple[int, int], ...]
    noise: StepNoise = StepNoise()

    def __str__(self) -> str:
        noise = "" if self.noise.kind == "none" else f" with {self.noise} noise"
        return "steps:" + ",".join(f"{height}x{width}" for height, width in self.steps) + noise

    @property
    def bars(self) -> int:
        """The sum of the widths."""
        return sum(width for _, width in self.steps)

    def counts(self, rng: Generator) -> NDArray[np.int64]:
        """Draw one data set.

        Parameters
        ----------
        rng
            The generator that all randomness comes from.

        Returns
        -------
        ndarray
            The number of records in each bar.
        """
        heights, widths = np.array(self.steps, dtype=np.int64).T
        return self.noise.apply(np.repeat(heights, widths), rng)


@dataclass(frozen=True, slots=True, kw_only=True)
class PoissonBars:
    """Bars with independent Poisson heights.

    Parameters
    ----------
    mean
        The expected height of each bar.
    bars
        B, the number of bars.

    Examples
    --------
    >>> from flexdp.simulation.streams import stream
    >>> PoissonBars(mean=250, bars=30).counts(stream(0, "data")).shape
    (30,)
    """

    mean: float
    bars: int

    def __str__(self) -> str:
        return f"poisson:{number_text(self.mean)}"

    def counts(self, rng: Generator) -> NDArray[np.int64]:
        """Draw one data set.

        Parameters
        ----------
        rng
            The generator that all randomness comes from.

        Returns
        -------
        ndarray
            The number of records in each bar.
        """
        return rng.poisson(self.mean, self.bars).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Fixed:
    """The same row of bars every time, such as a public data set.

    Parameters
    ----------
    row
        The number of records in each bar.
    label
        The name of the data in tables and figures.

    Examples
    --------
    >>> from flexdp.simulation.streams import stream
    >>> Fixed(np.array([5, 0, 900])).counts(stream(0, "data")).tolist()
    [5, 0, 900]
    """

    row: NDArray[np.int64]
    label: str = "data"

    def __str__(self) -> str:
        return self.label

    @property
    def bars(self) -> int:
        """The length of the row."""
        return len(self.row)

    def counts(self, rng: Generator) -> NDArray[np.int64]:  # noqa: ARG002
        """Return the row.

        Parameters
        ----------
        rng
            Unused.

        Returns
        -------
        ndarray
            The row.
        """
        return self.row


def parse_law(
    text: str,
    *,
    records: Number = 10_000,
    bars: Number = 100,
    binning: Binning = "floor",
    noise: StepNoise | None = None,
) -> Law:
    """Return the law that a short text names.

    Parameters
    ----------
    text
        A law in the grammar of :mod:`flexdp.simulation.grammar`. Arguments left out follow from the interval [0, B].
    records
        Number of records in a data set; unused by ``poisson`` and ``steps``.
    bars
        B, the number of bars; unused by ``steps``.
    binning
        Rounding of values to bars: down, or to the nearest.
    noise
        Noise on the bars of ``steps``; none unless given.

    Returns
    -------
    Law
        Draws rows of bars.

    Raises
    ------
    InputError
        If there is no such law, or a number is out of range.

    Examples
    --------
    >>> parse_law("normal:50,10").bars, str(parse_law("steps:540x50,490x50"))
    (100, 'steps:540x50,490x50')
    """
    law = parse_law_text(text, parameter="law")
    if noise is not None:
        instance("noise", noise, StepNoise, "a StepNoise")
    rounded: Any = choice("binning", binning, get_args(Binning))
    drawn, width = integer("records", records, at_most=_LARGEST), integer("bars", bars, at_most=_LARGEST)
    if law.family == "steps":
        integer("bars", sum(step for _, step in law.steps), at_most=_LARGEST)
        return Steps(steps=law.steps, noise=noise or StepNoise())
    if law.family == "poisson":
        mean = law.given.get("mean")
        if mean is None or mean > _LARGEST:
            raise law.error("needs a mean of at most 10^9", given=None if mean is None else number_text(mean))
        return PoissonBars(mean=float(mean), bars=width)
    arguments = law.arguments(Fraction(0), Fraction(width))
    if law.family == "zipf" and len(arguments) == 1 and arguments[0] <= 1:
        raise law.error("needs an exponent above 1, or values", given=number_text(arguments[0]))
    parameters = tuple(map(float, arguments))
    return Sampled(family=law.family, parameters=parameters, records=drawn, bars=width, binning=rounded)
