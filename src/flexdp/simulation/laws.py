"""Laws of simulated data, as data: each draws a row of bars from a generator, and reads as one short text.

================  ===========================================================================================
text              what a data set is
================  ===========================================================================================
cauchy:45,4       records drawn from the Cauchy law with that median and scale, and binned
normal:50,10      the same with mean and standard deviation
lognormal:3,0.5   the same with mean and standard deviation of the logarithm
uniform:0,100     the same between two ends
zipf:1.5          ranks 1, 2, … with chances ∝ rank^−1.5; rank r lies in bar r − 1
poisson:250       every bar has a height of its own, from the Poisson law with that mean
steps:540x50      bars in steps, each written height x width
================  ===========================================================================================

Records that fall outside the bars are discarded.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, TypeAlias, get_args, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import choice, integer
from flexdp._core.domains import text as text_given
from flexdp._core.exact import Number, exact, number_text
from flexdp._core.text import plain_scalar, safe_repr
from flexdp.errors import InputError
from flexdp.simulation.streams import Generator

__all__ = ["FAMILIES", "Binning", "Fixed", "Law", "PoissonBars", "Sampled", "StepNoise", "Steps", "parse_law"]

Binning: TypeAlias = Literal["floor", "nearest"]
_Draw: TypeAlias = Callable[[Generator, tuple[float, ...], int], NDArray[Any]]
_LARGEST = 10**9  # records, bars and heights of a simulated data set


@runtime_checkable
class Law(Protocol):
    """Where data sets come from; write your own by having these two."""

    @property
    def bars(self) -> int:
        """B, the number of bars, which is public."""

    def counts(self, rng: Generator) -> NDArray[np.int64]:
        """One data set: how many records lie in each bar."""


@dataclass(frozen=True, slots=True)
class _Family:
    takes: tuple[str, ...]
    draw: _Draw


FAMILIES: dict[str, _Family] = {
    "cauchy": _Family(("median", "scale"), lambda rng, p, n: p[0] + p[1] * rng.standard_cauchy(n)),
    "normal": _Family(("mean", "deviation"), lambda rng, p, n: rng.normal(p[0], p[1], n)),
    "lognormal": _Family(("mean", "deviation"), lambda rng, p, n: rng.lognormal(p[0], p[1], n)),
    "uniform": _Family(("low", "high"), lambda rng, p, n: rng.uniform(p[0], p[1], n)),
    "zipf": _Family(("exponent",), lambda rng, p, n: rng.zipf(p[0], n) - 1),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """Independent records of one family, binned: bar i holds [i, i + 1) by floor, [i − ½, i + ½] by nearest.

    The last ``emptied`` bars are set to zero after counting.
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
        """One data set."""
        values = FAMILIES[self.family].draw(rng, self.parameters, self.records)
        places = np.floor(values) if self.binning == "floor" else np.rint(values)
        inside = places[(places >= 0) & (places < self.bars)].astype(np.int64)
        out = np.bincount(inside, minlength=self.bars).astype(np.int64)
        out[self.bars - self.emptied :] = 0
        return out


@dataclass(frozen=True, slots=True)
class StepNoise:
    """What is added to each bar of a step: nothing, a whole number from −``spread`` to ``spread``, or Poisson noise."""

    kind: Literal["none", "uniform", "poisson"] = "none"
    spread: int = 0

    @classmethod
    def parse(cls, text: object) -> StepNoise:
        """none, uniform:5 or poisson."""
        given = plain_scalar(text)
        kind, _, spread = given.partition(":") if isinstance(given, str) else ("", "", "")
        if kind == "uniform":
            return cls("uniform", integer("step-noise", spread or 5, at_most=_LARGEST))
        if kind in ("none", "poisson") and kind == given:
            return cls("none" if kind == "none" else "poisson")
        raise InputError(f"step-noise must be none, uniform:N or poisson; got {safe_repr(text)}.")

    def __str__(self) -> str:
        return f"uniform:{self.spread}" if self.kind == "uniform" else self.kind

    def apply(self, heights: NDArray[np.int64], rng: Generator) -> NDArray[np.int64]:
        """The heights with their noise, never below zero."""
        if self.kind == "none":
            return heights
        if self.kind == "poisson":
            return rng.poisson(heights).astype(np.int64)
        moved = heights + rng.integers(-self.spread, self.spread + 1, len(heights))
        return np.asarray(np.maximum(0, moved), dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """A histogram in steps of (height, width), with noise on each bar."""

    steps: tuple[tuple[int, int], ...]
    noise: StepNoise = StepNoise()

    def __str__(self) -> str:
        noise = "" if self.noise.kind == "none" else f" with {self.noise} noise"
        return "steps:" + ",".join(f"{height}x{width}" for height, width in self.steps) + noise

    @property
    def bars(self) -> int:
        """The widths in all."""
        return sum(width for _, width in self.steps)

    def counts(self, rng: Generator) -> NDArray[np.int64]:
        """One data set."""
        heights, widths = np.array(self.steps, dtype=np.int64).T
        return self.noise.apply(np.repeat(heights, widths), rng)


@dataclass(frozen=True, slots=True, kw_only=True)
class PoissonBars:
    """Bars whose heights are independent Poisson numbers."""

    mean: float
    bars: int

    def __str__(self) -> str:
        return f"poisson:{number_text(self.mean)}"

    def counts(self, rng: Generator) -> NDArray[np.int64]:
        """One data set."""
        return rng.poisson(self.mean, self.bars).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Fixed:
    """The same row of bars every time, such as a public data set."""

    row: NDArray[np.int64]
    label: str = "data"

    def __str__(self) -> str:
        return self.label

    @property
    def bars(self) -> int:
        """The length of the row."""
        return len(self.row)

    def counts(self, rng: Generator) -> NDArray[np.int64]:  # noqa: ARG002
        """The row."""
        return self.row


def parse_law(
    text: str,
    *,
    records: Number = 10_000,
    bars: Number = 100,
    binning: Binning = "floor",
    noise: StepNoise | None = None,
) -> Law:
    """The law that a short text names; ``records`` and ``bars`` are not used by laws that bring their own.

    >>> parse_law("normal:50,10").bars, str(parse_law("steps:540x50,490x50"))
    (100, 'steps:540x50,490x50')
    """
    name, _, rest = text_given("law", text, "'normal:50,10'").partition(":")
    if noise is not None and not isinstance(noise, StepNoise):
        raise InputError(f"noise must be a StepNoise; got {safe_repr(noise)}.")
    rounded: Any = choice("binning", binning, get_args(Binning))
    drawn, width = _moderate("records", records), _moderate("bars", bars)
    if name == "steps":
        return _steps(rest, noise)
    if name == "poisson":
        return PoissonBars(mean=_positive("poisson", "mean", rest), bars=width)
    if name not in FAMILIES:
        known = [*FAMILIES, "poisson", "steps"]
        near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.5)
        hint = f"Did you mean {near[0]}?" if near else f"Choose one of {', '.join(known)}."
        raise InputError(f"law {safe_repr(name)} does not exist. {hint}")
    takes = FAMILIES[name].takes
    given = [part for part in rest.split(",") if part]
    if name == "uniform" and not given:
        given = ["0", str(width)]
    if len(given) != len(takes):
        raise InputError(
            f"law {name} takes {' and '.join(takes)}; got {len(given)} numbers. Write {name}:{','.join(takes)}."
        )
    parameters = tuple(float(exact(word, part)) for word, part in zip(takes, given, strict=True))
    _check(name, parameters)
    return Sampled(family=name, parameters=parameters, records=drawn, bars=width, binning=rounded)


def _check(name: str, parameters: tuple[float, ...]) -> None:
    if name == "zipf" and parameters[0] <= 1:
        raise InputError(f"law zipf needs an exponent above 1; got {number_text(parameters[0])}. Try zipf:1.5.")
    if name == "uniform" and parameters[0] >= parameters[1]:
        raise InputError("law uniform needs a low end below its high end. Try uniform:0,100.")
    if name in ("cauchy", "normal", "lognormal") and parameters[1] <= 0:
        raise InputError(f"law {name} needs a positive second number; got {number_text(parameters[1])}.")


def _moderate(name: str, value: object) -> int:
    number = integer(name, value)
    if number > _LARGEST:
        raise InputError(f"{name} must be at most 10^9; got {safe_repr(value)}.")
    return number


def _positive(law: str, name: str, text: str) -> float:
    number = float(exact(name, text or "nothing"))
    if not 0 < number <= _LARGEST or not math.isfinite(number):
        raise InputError(f"law {law} needs a {name} above 0 and at most 10^9; got {safe_repr(text)}.")
    return number


def _steps(text: str, noise: StepNoise | None) -> Steps:
    parts = [re.fullmatch(r"(\d{1,10})x(\d{1,10})", part.strip()) for part in text.split(",")]
    steps = tuple((int(part[1]), int(part[2])) for part in parts if part)
    if len(steps) != len(parts) or sum(width for _, width in steps) < 1:
        raise InputError(f"law steps is written height x width; got {safe_repr(text)}. Try steps:540x50,490x50.")
    _moderate("bars", sum(width for _, width in steps))
    return replace(Steps(steps=steps), noise=noise or StepNoise())
