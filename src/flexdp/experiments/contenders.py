"""Mechanisms as a user gives them to a comparison: names, baselines, mechanisms of the library, and functions.

A mechanism is a name (see :mod:`flexdp.baselines`), an object with that package's protocol, a
:class:`~flexdp.mechanisms.Mechanism` that takes histograms of bucket numbers and gives an answer, or a histogram from
which the statistic is read; or a function:

    def mine(counts, rng): ...

``counts`` is a read-only int64 array with the number of records in each of the buckets 0, …, B − 1; ``rng`` is the
function's own numpy generator, from which all its randomness should come. It returns the index of its answer, in which
case it is called once per run, or an array with one index per run; for supports, a set of indices, or a list of sets.
Parameters called ``runs``, ``epsilon``, ``delta`` or ``statistic`` are passed by name. The function is trusted: it sees
the data, and nothing checks that it is private.

A mechanism of the library has its own ε, whatever the ε of the comparison, and draws its noise from the operating
system: its runs do not repeat. Anything may also be given as "module:name", and is imported.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from flexdp._core.domains import elements
from flexdp._core.text import safe_repr
from flexdp.baselines import BASELINES, Baseline, Compared, baseline
from flexdp.baselines.answers import Exponential
from flexdp.baselines.base import ComparedHistogram, Empty
from flexdp.baselines.registry import VARIANTS
from flexdp.errors import InputError
from flexdp.experiments.study import Case, Contender, Settings, is_plain
from flexdp.histogram import Histogram
from flexdp.mechanisms import HISTOGRAMS, Mechanism
from flexdp.simulation import Generator
from flexdp.statistics import Max, Median, Min, Quantile, Range, Support

__all__ = ["choose_contenders", "choose_mechanisms", "import_reference", "is_reference", "read_contenders", "read_rows"]

_OFFERED = ("runs", "epsilon", "delta", "statistic")
_LEVELS = {Max: Fraction(1), Min: Fraction(0), Median: Fraction(1, 2)}
_SCALED = (Max, Min, Median, Quantile, Range)  # values on the scale of the buckets, from 0 to B − 1
_REFERENCE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


# The three kinds of contenders


@dataclass(frozen=True, slots=True)
class _Named:
    """A baseline; a tie rule is passed on only if it is not the default, since a user's baseline may not take one."""

    name: str
    baseline: Any

    def refuse(self, epsilon: Fraction, settings: Settings) -> None:
        try:
            self.baseline.claim(epsilon=epsilon, delta=settings.delta)
        except InputError as refusal:
            rule, remedy = (each if isinstance(each, tuple) else (each,) for each in (refusal.rule, refusal.remedy))
            shown = safe_repr(self.name)
            raise InputError(
                refusal.parameter,
                (*rule, f" for mechanism {shown}"),
                given=refusal.given,
                remedy=(*remedy, f" Change it, or leave out {shown}."),
            ) from None

    def outputs(self, case: Case, statistic: Any, epsilon: Fraction, settings: Settings, rng: Generator) -> Any:
        budget: dict[str, Any] = {"epsilon": epsilon, "delta": settings.delta}
        if is_plain(statistic):
            rules = {"empty": settings.empty} | ({} if settings.ties == "smallest" else {"ties": settings.ties})
            return self.baseline.run(case.counts, statistic, settings.runs, rng, **budget, **rules)
        if not _supports(self.baseline, statistic):
            raise InputError(
                "statistic",
                f"must be max, max_at_least:k or mode for mechanism {safe_repr(self.name)}",
                given=safe_repr(statistic),
                remedy="Leave that mechanism out.",
            )
        mechanism = self.baseline.kind(**budget)
        if isinstance(mechanism, Exponential):
            return mechanism.around(float(statistic(case.histogram)), len(case.counts), settings.runs, rng)
        blocks = mechanism.blocks(case.counts, settings.runs, rng)
        found = [value for rows in blocks for value in read_rows(rows, statistic)]
        return _fill_in(found, statistic, len(case.counts), settings.empty, rng)


@dataclass(frozen=True, slots=True, eq=False)
class _Function:
    """A user's function as a mechanism."""

    name: str
    function: Callable[..., Any]

    def refuse(self, epsilon: Fraction, settings: Settings) -> None:
        """Accept anything: a function makes no privacy claim."""

    def outputs(self, case: Case, statistic: Any, epsilon: Fraction, settings: Settings, rng: Generator) -> Any:
        offered = {
            "runs": settings.runs,
            "epsilon": float(epsilon),
            "delta": float(settings.delta),
            "statistic": statistic,
        }
        counts = case.counts.copy()
        counts.flags.writeable = False
        wanted = {name: offered[name] for name in _list_parameters(self.function)}
        first = self.function(counts, rng, **wanted)
        if _is_list_of_sets(first) if isinstance(statistic, Support) else np.ndim(first):
            return first
        return [first, *(self.function(counts, rng, **wanted) for _ in range(settings.runs - 1))]


@dataclass(frozen=True, slots=True, eq=False)
class _OfLibrary:
    """A mechanism of the library: its answers, or the statistic of its histograms."""

    name: str
    mechanism: Mechanism

    def refuse(self, epsilon: Fraction, settings: Settings) -> None:
        """Accept anything: it has an ε of its own."""

    def outputs(
        self,
        case: Case,
        statistic: Any,
        epsilon: Fraction,  # noqa: ARG002  (it has one of its own)
        settings: Settings,
        rng: Generator,
    ) -> Any:
        drawn = [self.mechanism(case.histogram) for _ in range(settings.runs)]
        found = [_read(output, statistic) if isinstance(output, Histogram) else output for output in drawn]
        return _fill_in(found, statistic, len(case.counts), settings.empty, rng)


def _list_parameters(function: Callable[..., Any]) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some built-ins have no signature
        return []
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        return list(_OFFERED)
    return [each.name for each in parameters if each.name in _OFFERED and each.kind is not each.POSITIONAL_ONLY]


def _is_list_of_sets(value: Any) -> bool:
    """Return True for a list of sets, one per run, and False for a single set of buckets."""
    listed = elements(value)
    return listed is not None and len(listed) > 0 and all(elements(each) is not None for each in listed)


# Statistics other than max, max_k and mode, read off noisy histograms


def _supports(compared: Any, statistic: Any) -> bool:
    if is_plain(statistic) or not isinstance(compared, Compared):
        return is_plain(statistic)
    if issubclass(compared.kind, Exponential):
        return isinstance(statistic, _SCALED)
    return issubclass(compared.kind, ComparedHistogram)


def read_rows(rows: NDArray[Any], statistic: Any) -> list[Any]:
    """Return the statistic of each noisy histogram, its counts rounded to integers; None where nothing is left."""
    whole = np.maximum(0, np.rint(rows)).astype(np.int64)
    if isinstance(statistic, Range):
        ends = zip(_read_levels(whole, Min()), _read_levels(whole, Max()), strict=True)
        return [None if low is None or high is None else high - low for low, high in ends]
    if isinstance(statistic, Max | Min | Median | Quantile):
        return _read_levels(whole, statistic)
    return [_read(Histogram(np.flatnonzero(row), row[row > 0]), statistic) for row in whole]


def _read(histogram: Histogram, statistic: Any) -> Any:
    return statistic(histogram) if len(histogram) else None


def _read_levels(rows: NDArray[np.int64], statistic: Max | Min | Median | Quantile) -> list[int | None]:
    level = statistic.level if isinstance(statistic, Quantile) else _LEVELS[type(statistic)]
    up_to = np.cumsum(rows, axis=1)
    size = up_to[:, -1]
    wanted = np.maximum(1, -(-level.numerator * size // level.denominator))  # ⌈level·n⌉
    places = (up_to >= wanted[:, None]).argmax(axis=1)
    return [int(place) if many else None for place, many in zip(places.tolist(), size.tolist(), strict=True)]


def _fill_in(values: Sequence[Any], statistic: Any, bars: int, empty: Empty, rng: Generator) -> list[Any]:
    """Replace answers that are missing by bucket 0, or by a random one, as for the paper's statistics."""
    listed = list(values)
    lost = [place for place, value in enumerate(listed) if value is None]
    instead = [0] * len(lost) if empty == "zero" else rng.integers(bars, size=len(lost)).tolist()
    for place, bucket in zip(lost, instead, strict=True):
        listed[place] = (bucket,) if isinstance(statistic, Support) else bucket
    return listed


# From what a user gives


def choose_mechanisms(names: Sequence[str]) -> tuple[Contender, ...]:
    """Return the compared mechanisms of those names, in the order of ``BASELINES``; all if none is named.

    Parameters
    ----------
    names
        Names of mechanisms.

    Returns
    -------
    tuple of Contender
        The mechanisms, as :func:`run` takes them.

    Raises
    ------
    InputError
        If a name is unknown.

    Examples
    --------
    >>> [each.name for each in choose_mechanisms(["bns", "dropping"])]
    ['dropping', 'bns']
    """
    listed = elements(names)
    if listed is None:
        raise InputError("names", "must be a list of mechanisms", given=safe_repr(names))
    asked = {baseline(name).name for name in listed} or set(BASELINES)
    return tuple(_Named(name, each) for name, each in {**BASELINES, **VARIANTS}.items() if name in asked)


def choose_contenders(names: Sequence[str], statistic: Any) -> list[Contender]:
    """Return mechanisms named on the command line, those of the library first; by default all that fit."""
    own = [name for name in names if is_reference(name)]
    known = [name for name in names if not is_reference(name)]
    if not names:
        known = [name for name, each in BASELINES.items() if _supports(each, statistic)]
    found = [*(choose_mechanisms(known) if known else ()), *(read_contenders(own) if own else ())]
    return _refuse_repeats(found)


def read_contenders(given: Any) -> list[Contender]:
    """Return the mechanisms of a comparison, each under its own name."""
    if isinstance(given, Mapping):
        pairs = list(given.items())
    else:
        alone = isinstance(given, str | Mechanism | Baseline) or callable(given) or not isinstance(given, Iterable)
        pairs = [(_find_name(each), each) for each in ([given] if alone else given)]
    if not pairs:
        raise InputError(
            "mechanisms",
            "must contain at least one mechanism",
            remedy=f"Choose from {', '.join(BASELINES)}, or pass a function.",
        )
    return _refuse_repeats([_contender(name, each) for name, each in pairs])


def _refuse_repeats(found: list[Contender]) -> list[Contender]:
    names = [each.name for each in found]
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        remedy = "Pass a mapping {name: mechanism}, or rename the function."
        raise InputError("mechanism", f"{safe_repr(repeated[0])} is given twice", remedy=remedy)
    return found


def _find_name(mechanism: Any) -> str:
    if isinstance(mechanism, str):
        return mechanism.rpartition(":")[2] if is_reference(mechanism) else baseline(mechanism).name
    names = (getattr(mechanism, "name", None), getattr(mechanism, "__name__", None), type(mechanism).__name__)
    return next(name for name in names if isinstance(name, str) and name)


def _contender(name: str, given: Any) -> Contender:
    mechanism = import_reference(given, "mechanism") if is_reference(given) else given
    if isinstance(mechanism, str):
        return _Named(name, baseline(mechanism))
    if isinstance(mechanism, Mechanism):
        if mechanism.source != HISTOGRAMS:
            raise InputError("mechanism", f"{safe_repr(name)} must take histograms", given=str(mechanism.source))
        return _OfLibrary(name, mechanism)
    if isinstance(mechanism, Baseline):
        return _Named(name, mechanism)
    if callable(mechanism):
        return _Function(name, mechanism)
    raise InputError(
        "mechanism", "must be a name, a Baseline, a Mechanism or a function (counts, rng)", given=safe_repr(mechanism)
    )


def is_reference(value: object) -> TypeGuard[str]:
    """Return True for a text such as "module:function"."""
    return isinstance(value, str) and _REFERENCE.fullmatch(value) is not None


def import_reference(reference: str, parameter: str) -> Any:
    """Import what "module:name" names, from the working directory, too."""
    module, _, name = reference.partition(":")
    here = str(Path.cwd())
    added = here not in sys.path
    if added:
        sys.path.insert(0, here)
    try:
        found = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as failure:
        raise InputError(
            parameter,
            f": {safe_repr(reference)} could not be imported: {type(failure).__name__}",
            remedy="Name an importable module, or one in the working directory, and what is in it.",
        ) from failure
    finally:
        if added:
            sys.path.remove(here)
    return found
