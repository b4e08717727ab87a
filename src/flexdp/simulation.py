"""Laws of simulated data, written as short texts: one grammar to draw from and to plan with.

    text ─▶ _arguments ─▶ parse_law ──────────▶ DataLaw     draws a data set: counts of buckets
                      └─▶ parse_distribution ─▶ ValueLaw    puts records at quantiles: no generator, no chance

A law is written as its name, or as its name with arguments: all of them in order, or any of them by name.

=============================  ==================================================================================
text                           law
=============================  ==================================================================================
cauchy:45,4                    Cauchy with ``median`` and ``scale``
normal:50,10                   normal with ``mean`` and standard deviation ``sd``
lognormal:3,0.5                lognormal whose logarithm has mean ``mu`` and standard deviation ``sigma``
lognormal:median=20,sigma=0.5  the same, with ``median`` = e^mu
uniform:0,100                  uniform between ``low`` and ``high``
zipf:1.5                       ranks with probability ∝ rank^−``exponent``
zipf:1.5,100                   the same, for as many ranks as ``values`` says
poisson:250                    buckets with independent Poisson heights of that ``mean``
steps:540x50,490x50            buckets in steps, each written height x width
=============================  ==================================================================================

Arguments that are left out follow from a public interval, never from data: a normal law sits in its middle and is six
standard deviations wide. The last two laws give heights of buckets, not values: they can be drawn, but not planned
with. A mixture is a list of laws.

Streams are seeded, one for each name, independent of all others. A stream is named by its use (an experiment, a data
set, a mechanism, an ε), and its seed is a digest of that name, so no number depends on the order of the work or on what
else was asked for. This is the only place outside the noise room that makes a generator; a seeded stream protects
nobody.
"""

from __future__ import annotations

import difflib
import hashlib
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, get_args, runtime_checkable

import numpy as np
from numpy.random import PCG64, Generator, SeedSequence
from numpy.typing import NDArray

from flexdp._core.domains import choice, instance, integer
from flexdp._core.exact import Number, exact, number_text
from flexdp._core.text import plain_scalar, safe_repr
from flexdp.errors import InputError

__all__ = [
    "OF_HEIGHTS",
    "OF_VALUES",
    "Binning",
    "DataLaw",
    "Fixed",
    "Generator",
    "PoissonBars",
    "Sampled",
    "StepNoise",
    "Steps",
    "ValueLaw",
    "parse_distribution",
    "parse_law",
    "stream",
]

Floats: TypeAlias = NDArray[np.float64]
Binning: TypeAlias = Literal["floor", "nearest"]

LARGEST = 10**9  # records, buckets and heights of a simulated data set
MOST_RANKS = 10**6  # of a Zipf law
USUAL_RANKS = 1000  # of a Zipf law, where neither they nor the buckets are known
_LARGEST_ARGUMENT = 10**100
_STEP = re.compile(r"\s*(\d{1,10})x(\d{1,10})\s*", re.ASCII)


def stream(seed: int, *name: object) -> Generator:
    """Return the generator of a name under a seed, at the start of its stream.

    >>> stream(7, "1", 0, "data").integers(1000) == stream(7, "1", 0, "data").integers(1000)
    np.True_
    >>> stream(7, "1", 0, "data").integers(2**60) == stream(7, "1", 1, "data").integers(2**60)
    np.False_
    """
    text = "\x1f".join(["flexdp", str(seed), *map(str, name)])
    digest = hashlib.sha256(text.encode()).digest()
    return Generator(PCG64(SeedSequence(int.from_bytes(digest))))


# The table of laws


class Family(NamedTuple):
    """A law of values: its arguments, those that follow from an interval, and its three functions of (p, x)."""

    takes: tuple[str, ...]
    example: str
    words: str
    usual: Callable[[Fraction, Fraction], tuple[Any, ...]]  # of the low end and the length of a public interval
    below: Callable[[Any, Floats], Floats]  # share of records below x
    at: Callable[[Any, Floats], Floats]  # value at a level
    draw: Callable[[Any, Generator, int], NDArray[Any]]
    positive: tuple[str, ...] = ()


def _erf(values: Floats) -> Floats:
    return np.array([math.erf(value) for value in values.tolist()])


def _deviates(levels: Floats) -> Floats:
    inverse = NormalDist().inv_cdf
    return np.array([inverse(level) for level in levels.tolist()])


def _log(x: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(x, 0))


@lru_cache(maxsize=8)
def _zipf_shares(ranks: int, exponent: float) -> Floats:
    """Return the probabilities of a rank of at most 0, 1, …, ``ranks``, where rank k has probability ∝ k^−exponent."""
    shares = np.arange(1, ranks + 1, dtype=np.float64) ** -exponent
    running = np.concatenate(([0.0], np.cumsum(shares) / shares.sum()))
    running[-1] = 1.0
    running.flags.writeable = False
    return running


def _zipf_below(p: Any, x: Floats) -> Floats:
    """Put ``ranks`` values at equal distances over a span, the most frequent first: the k-th at low + (k − ½)·step."""
    exponent, ranks, low, span = p
    place: Floats = np.ceil(np.clip((x - low) / (span / ranks) + 0.5, 1, ranks + 1)) - 1
    return np.asarray(_zipf_shares(int(ranks), exponent)[place.astype(np.int64)])


def _zipf_at(p: Any, levels: Floats) -> Floats:
    exponent, ranks, low, span = p
    return np.asarray(low + (np.searchsorted(_zipf_shares(int(ranks), exponent), levels) - 0.5) * (span / ranks))


def _zipf_draw(p: Any, rng: Generator, records: int) -> NDArray[Any]:
    if len(p) == 1:
        return rng.zipf(p[0], records) - 1
    return np.searchsorted(_zipf_shares(int(p[1]), p[0])[1:], rng.random(records), side="right")


FAMILIES: dict[str, Family] = {
    "cauchy": Family(
        ("median", "scale"), "cauchy:45,4", "a Cauchy distribution with median {} and scale {}",
        lambda low, span: (low + span / 2, span / 25),
        lambda p, x: 0.5 + np.arctan((x - p[0]) / p[1]) / math.pi,
        lambda p, levels: p[0] + p[1] * np.tan(math.pi * (levels - 0.5)),
        lambda p, rng, n: p[0] + p[1] * rng.standard_cauchy(n),
        ("scale",),
    ),
    "normal": Family(
        ("mean", "sd"), "normal:50,15", "a normal distribution with mean {} and sd {}",
        lambda low, span: (low + span / 2, span / 6),
        lambda p, x: (1 + _erf((x - p[0]) / (p[1] * math.sqrt(2)))) / 2,
        lambda p, levels: p[0] + p[1] * _deviates(levels),
        lambda p, rng, n: rng.normal(p[0], p[1], n),
        ("sd",),
    ),
    "lognormal": Family(
        ("mu", "sigma"), "lognormal:median=30000,sigma=0.8", "a lognormal distribution with {} and sigma {}",
        lambda _low, span: (math.log(span / 20), Fraction(1)),
        lambda p, x: (1 + _erf((_log(x) - p[0]) / (p[1] * math.sqrt(2)))) / 2,
        lambda p, levels: np.exp(p[0] + p[1] * _deviates(levels)),
        lambda p, rng, n: rng.lognormal(p[0], p[1], n),
        ("median", "sigma"),
    ),
    "uniform": Family(
        ("low", "high"), "uniform:0,120", "a uniform distribution from {} to {}",
        lambda low, span: (low, low + span),
        lambda p, x: np.clip((x - p[0]) / (p[1] - p[0]), 0, 1),
        lambda p, levels: p[0] + (p[1] - p[0]) * levels,
        lambda p, rng, n: rng.uniform(p[0], p[1], n),
    ),
    "zipf": Family(
        ("exponent", "values"), "zipf:1.2,500", "a Zipf distribution over {1} values with exponent {0}",
        lambda _low, _span: (Fraction(1), None), _zipf_below, _zipf_at, _zipf_draw,
        ("exponent",),
    ),
}  # fmt: skip
OF_VALUES = tuple(FAMILIES)
OF_HEIGHTS = ("poisson", "steps")
_EXAMPLES = {**{name: family.example for name, family in FAMILIES.items()},
             "poisson": "poisson:250", "steps": "steps:540x50,490x50"}  # fmt: skip


# The grammar


class _Text(NamedTuple):
    """A law as it was written, and the parameter that held it, to be named in error messages."""

    parameter: str
    family: str
    rest: str

    def refuse(self, rule: str, *, given: str | None = None) -> InputError:
        remedy = f"For example {_EXAMPLES[self.family]}."
        return InputError(self.parameter, f": {self.family} {rule}", given=given, remedy=remedy)


def _read(text: object, parameter: str, families: Sequence[str], example: str) -> _Text:
    written = plain_scalar(text)
    if not isinstance(written, str):
        raise InputError(parameter, f"must be a string, for example {example!r}", given=safe_repr(text))
    name, _, rest = written.partition(":")
    if name in families:
        return _Text(parameter, name, rest)
    choose = f"Choose one of {', '.join(families)}."
    if name in OF_HEIGHTS:
        raise InputError(parameter, f": {name} gives heights of buckets, not values", remedy=choose)
    near = difflib.get_close_matches(name.lower(), families, n=1, cutoff=0.5)
    hint = f"Did you mean {near[0]}?" if near else choose
    raise InputError(parameter, f": no distribution named {safe_repr(name)}", remedy=hint)


def _given(law: _Text, takes: tuple[str, ...], positive: tuple[str, ...]) -> dict[str, Fraction]:
    """Return the arguments that were written, in order or by name; ``values`` may be left out at the end."""
    parts = [part.strip() for part in law.rest.split(",") if part.strip()]
    said = " and ".join(name for name in takes if name != "values")
    if any("=" in part for part in parts):
        known = (*takes, "median") if law.family == "lognormal" else takes
        named: dict[str, str] = {}
        for part in parts:
            name, equals, value = (word.strip() for word in part.partition("="))
            if not equals or name not in known or name in named:
                raise law.refuse(f"takes {said}, each once", given=safe_repr(part))
            named[name] = value
        if {"mu", "median"} <= set(named):
            raise law.refuse("takes either mu or median")
    else:
        least = len(takes) - ("values" in takes)
        if parts and not least <= len(parts) <= len(takes):
            raise law.refuse(f"takes {said}", given=f"{len(parts)} number{'' if len(parts) == 1 else 's'}")
        named = dict(zip(takes, parts, strict=False))
    return {name: _number(law, name, value, positive) for name, value in named.items()}


def _number(law: _Text, name: str, text: str, positive: tuple[str, ...]) -> Fraction:
    try:
        value = exact(name, text)
    except InputError:
        raise law.refuse(f"{name} must be a number", given=safe_repr(text)) from None
    if abs(value) > _LARGEST_ARGUMENT:
        raise law.refuse(f"{name} must be at most 1e100 in size", given=safe_repr(text))
    if name in positive and value <= 0:
        raise law.refuse(f"{name} must be positive", given=safe_repr(text))
    return value


def _arguments(law: _Text, low: Fraction, span: Fraction) -> tuple[dict[str, Fraction], list[Any]]:
    """Return the arguments of a law of values as written, and all in order; a Zipf law may lack its last."""
    family = FAMILIES[law.family]
    given = _given(law, family.takes, family.positive)
    usual = dict(zip(family.takes, family.usual(low, span), strict=True))
    if law.family == "lognormal" and "median" in given:
        usual["mu"] = math.log(given["median"])
    found: list[Any] = [
        float(given["mu"]) if name == "mu" and name in given else given.get(name, usual[name]) for name in usual
    ]
    if law.family == "uniform" and found[0] >= found[1]:
        raise law.refuse("needs low below high")
    if (
        law.family == "zipf"
        and found[1] is not None
        and not (found[1].denominator == 1 and 1 <= found[1] <= MOST_RANKS)
    ):
        raise law.refuse(f"values must be a whole number from 1 to {MOST_RANKS}", given=safe_repr(found[1]))
    return given, found


# Laws of values, to plan with


@dataclass(frozen=True, slots=True)
class ValueLaw:
    """A distribution function: ``below(x)`` is the share of records with a value below x; ``text`` describes it.

    ``at`` is its inverse, ascending. n records are put at the levels (i − ½)/n instead of drawn: what n draws look like
    on average, and the same question always has the same answer.
    """

    text: str
    below: Callable[[Floats], Floats]
    at: Callable[[Floats], Floats]

    def ends(self, records: int) -> Floats:
        """Return the lowest and the highest of n records; infinite beyond the largest double."""
        with np.errstate(over="ignore"):
            return self.at(np.array([0.5 / records, 1 - 0.5 / records]))


def parse_distribution(text: object, *, low: Fraction, span: Fraction, buckets: int | None) -> ValueLaw:
    """Return the law of values that a text such as "normal" or "normal:50,15" names.

    Arguments left out follow from the public interval of length ``span`` that begins at ``low``; ``buckets`` is the
    number of values of a Zipf law that says none.

    >>> parse_distribution("normal", low=Fraction(0), span=Fraction(120), buckets=24).text
    'a normal distribution with mean 60 and sd 20'
    """
    law = _read(text, "simulate", OF_VALUES, "normal:50,15")
    given, found = _arguments(law, low, span)
    said = list(map(number_text, (each for each in found if each is not None)))
    if law.family == "lognormal" and "mu" in given:
        said[0] = f"mu {said[0]}"
    elif law.family == "lognormal":
        said[0] = f"median {number_text(given.get('median', span / 20))}"
    if law.family == "zipf":
        ranks = Fraction(min(buckets or USUAL_RANKS, MOST_RANKS)) if found[1] is None else found[1]
        said, found = [said[0], number_text(ranks)], [found[0], ranks, low, span]
    family, p = FAMILIES[law.family], tuple(map(float, found))
    return ValueLaw(family.words.format(*said), lambda x: family.below(p, x), lambda levels: family.at(p, levels))


# Laws of data sets, to draw from


@runtime_checkable
class DataLaw(Protocol):
    """A source of data sets; any object with these two members will do.

    Examples
    --------
    >>> parse_law("steps:5x2,1x3").counts(stream(0, "data")).tolist()
    [5, 5, 1, 1, 1]
    """

    @property
    def bars(self) -> int:
        """B, the number of buckets, which is public."""

    def counts(self, rng: Generator) -> NDArray[np.int64]:
        """Draw one data set.

        Parameters
        ----------
        rng
            The generator that all randomness comes from.

        Returns
        -------
        ndarray
            The number of records in each bucket.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """Independent records of one law of values, binned; those outside the buckets are discarded.

    Parameters
    ----------
    family
        The name of the law: cauchy, normal, lognormal, uniform or zipf.
    parameters
        Its arguments, in the order of the grammar.
    records
        The number of records that are drawn.
    bars
        B, the number of buckets.
    binning
        Bucket i holds [i, i + 1) by "floor", [i − ½, i + ½] by "nearest".
    emptied
        The number of buckets at the end that are set to zero after counting.

    Examples
    --------
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
        """Draw one data set; see :class:`DataLaw`."""
        values = FAMILIES[self.family].draw(self.parameters, rng, self.records)
        places = np.floor(values) if self.binning == "floor" else np.rint(values)
        inside = places[(places >= 0) & (places < self.bars)].astype(np.int64)
        out = np.bincount(inside, minlength=self.bars).astype(np.int64)
        out[self.bars - self.emptied :] = 0
        return out


@dataclass(frozen=True, slots=True)
class StepNoise:
    """Noise on each bucket of a step.

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
            return cls("uniform", integer("step_noise", spread or 5, at_most=LARGEST))
        if kind in ("none", "poisson") and kind == given:
            return cls("none" if kind == "none" else "poisson")
        raise InputError("step_noise", "must be none, uniform:N or poisson", given=safe_repr(text))

    def __str__(self) -> str:
        return f"uniform:{self.spread}" if self.kind == "uniform" else self.kind

    def add_to(self, heights: NDArray[np.int64], rng: Generator) -> NDArray[np.int64]:
        """Return the heights with their noise, never below zero.

        Parameters
        ----------
        heights
            The heights of the buckets.
        rng
            The generator that all randomness comes from.

        Returns
        -------
        ndarray
            The noisy heights.

        Examples
        --------
        >>> StepNoise().add_to(np.array([3, 1]), stream(0, "noise")).tolist()
        [3, 1]
        """
        if self.kind == "none":
            return heights
        if self.kind == "poisson":
            return rng.poisson(heights).astype(np.int64)
        moved = heights + rng.integers(-self.spread, self.spread + 1, len(heights))
        return np.asarray(np.maximum(0, moved), dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """A histogram in steps, with noise on each bucket.

    Parameters
    ----------
    steps
        (height, width) of each step.
    noise
        The noise on each bucket; none unless given.

    Examples
    --------
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
        """Draw one data set; see :class:`DataLaw`."""
        heights, widths = np.array(self.steps, dtype=np.int64).T
        return self.noise.add_to(np.repeat(heights, widths), rng)


@dataclass(frozen=True, slots=True, kw_only=True)
class PoissonBars:
    """Buckets with independent Poisson heights.

    Parameters
    ----------
    mean
        The expected height of each bucket.
    bars
        B, the number of buckets.

    Examples
    --------
    >>> PoissonBars(mean=250, bars=30).counts(stream(0, "data")).shape
    (30,)
    """

    mean: float
    bars: int

    def __str__(self) -> str:
        return f"poisson:{number_text(self.mean)}"

    def counts(self, rng: Generator) -> NDArray[np.int64]:
        """Draw one data set; see :class:`DataLaw`."""
        return rng.poisson(self.mean, self.bars).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Fixed:
    """The same counts every time, such as a public data set.

    Parameters
    ----------
    row
        The number of records in each bucket.
    label
        The name of the data in tables and figures.

    Examples
    --------
    >>> Fixed(np.array([5, 0, 900])).counts(stream(0, "data")).tolist()
    [5, 0, 900]
    """

    row: NDArray[np.int64]
    label: str = "data"

    def __str__(self) -> str:
        return self.label

    @property
    def bars(self) -> int:
        """The number of buckets."""
        return len(self.row)

    def counts(self, rng: Generator) -> NDArray[np.int64]:  # noqa: ARG002
        """Return the counts; see :class:`DataLaw`."""
        return self.row


def parse_law(
    text: str,
    *,
    records: Number = 10_000,
    bars: Number = 100,
    binning: Binning = "floor",
    noise: StepNoise | None = None,
) -> DataLaw:
    """Return the law of data sets that a short text names.

    Parameters
    ----------
    text
        A law in the grammar of :mod:`flexdp.simulation`. Arguments left out follow from the interval [0, B].
    records
        Number of records in a data set; unused by ``poisson`` and ``steps``.
    bars
        B, the number of buckets; unused by ``steps``.
    binning
        Rounding of values to buckets: down, or to the nearest.
    noise
        Noise on the buckets of ``steps``; none unless given.

    Returns
    -------
    DataLaw
        Draws counts of buckets.

    Raises
    ------
    InputError
        If there is no such law, or a number is out of range.

    Examples
    --------
    >>> parse_law("normal:50,10").bars, str(parse_law("steps:540x50,490x50"))
    (100, 'steps:540x50,490x50')
    """
    law = _read(text, "law", (*OF_VALUES, *OF_HEIGHTS), "normal:50,10")
    if noise is not None:
        instance("noise", noise, StepNoise, "a StepNoise")
    rounded: Any = choice("binning", binning, get_args(Binning))
    drawn, width = integer("records", records, at_most=LARGEST), integer("bars", bars, at_most=LARGEST)
    if law.family == "steps":
        return Steps(steps=_steps(law), noise=noise or StepNoise())
    if law.family == "poisson":
        mean = _given(law, ("mean",), ("mean",)).get("mean")
        if mean is None or mean > LARGEST:
            raise law.refuse("needs a mean of at most 10^9", given=None if mean is None else number_text(mean))
        return PoissonBars(mean=float(mean), bars=width)
    found = [each for each in _arguments(law, Fraction(0), Fraction(width))[1] if each is not None]
    if law.family == "zipf" and len(found) == 1 and found[0] <= 1:
        raise law.refuse("needs an exponent above 1, or values", given=number_text(found[0]))
    parameters = tuple(map(float, found))
    return Sampled(family=law.family, parameters=parameters, records=drawn, bars=width, binning=rounded)


def _steps(law: _Text) -> tuple[tuple[int, int], ...]:
    parts = [_STEP.fullmatch(part) for part in law.rest.split(",")]
    steps = tuple((int(part[1]), int(part[2])) for part in parts if part)
    if len(steps) != len(parts) or sum(width for _, width in steps) < 1:
        raise law.refuse("must be written height x width", given=safe_repr(law.rest))
    integer("bars", sum(width for _, width in steps), at_most=LARGEST)
    return steps
