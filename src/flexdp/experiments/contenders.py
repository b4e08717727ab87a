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
system: its runs do not repeat. A function ``module:function`` is imported by that name.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from flexdp._core.domains import attribute, elements
from flexdp._core.domains import pairs as pairs_of
from flexdp._core.text import is_short, safe_repr
from flexdp.baselines import BASELINES, Baseline, baseline
from flexdp.errors import FlexdpError, InputError
from flexdp.experiments.cases import Case
from flexdp.experiments.cells import Contender, Settings, named
from flexdp.experiments.paper import Experiment
from flexdp.experiments.reading import AnyCase, Asked, filled_in, supports
from flexdp.experiments.runner import chosen_mechanisms
from flexdp.histogram import Histogram
from flexdp.mechanisms import HISTOGRAMS, Mechanism
from flexdp.simulation import Generator
from flexdp.statistics import Support

__all__ = ["compared", "contenders", "imported", "is_a", "is_reference", "labelled"]

_OFFERED = ("runs", "epsilon", "delta", "statistic")


@dataclass(frozen=True, slots=True, eq=False)
class _Own:
    """A user's function as a mechanism; an exception that it raises is reported with its name."""

    name: str
    function: Callable[..., Any]

    def refuse(self, epsilon: Fraction, settings: Settings) -> None:
        """Accept anything: a function makes no privacy claim."""

    def outputs(
        self, case: Case | AnyCase, experiment: Experiment, epsilon: Fraction, settings: Settings, rng: Generator
    ) -> Any:
        offered = {
            "runs": settings.runs,
            "epsilon": float(epsilon),
            "delta": float(settings.delta),
            "statistic": experiment.statistic,
        }
        counts = case.counts.copy()
        counts.flags.writeable = False
        wanted = {name: offered[name] for name in _named_parameters(self.function)}
        try:
            first = self.function(counts, rng, **wanted)
            if isinstance(experiment.statistic, Support):
                return first if _sets(first) else [first, *self._others(counts, rng, wanted, settings.runs - 1)]
            first = np.asarray(first)
            if first.ndim:
                return first
            return [first, *self._others(counts, rng, wanted, settings.runs - 1)]
        except FlexdpError:
            raise
        except Exception as failure:
            raise InputError(
                "mechanism",
                f"{safe_repr(self.name)} raised {type(failure).__name__}: {_told(failure)}",
                remedy="It is called as mechanism(counts, rng), with runs, epsilon, delta and statistic by name.",
            ) from failure

    def _others(self, counts: Any, rng: Generator, wanted: dict[str, Any], many: int) -> Iterator[Any]:
        return (self.function(counts, rng, **wanted) for _ in range(many))


def _sets(value: Any) -> bool:
    """Return True for a list of sets, one per run, and False for a single set of buckets."""
    listed = elements(value)
    return listed is not None and len(listed) > 0 and all(elements(each) is not None for each in listed)


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    """A mechanism of the library: its answers, or the statistic of its histograms."""

    name: str
    mechanism: Mechanism

    def refuse(self, epsilon: Fraction, settings: Settings) -> None:
        """Accept anything: it has an ε of its own."""

    def outputs(
        self,
        case: Case | AnyCase,
        experiment: Experiment,
        epsilon: Fraction,  # noqa: ARG002  (it has one of its own)
        settings: Settings,
        rng: Generator,
    ) -> Any:
        filled = np.flatnonzero(case.counts)
        histogram = Histogram(filled, case.counts[filled])
        found = (self._answer(self.mechanism(histogram), experiment.statistic) for _ in range(settings.runs))
        return filled_in(found, experiment.statistic, len(case.counts), settings.empty, rng)

    def _answer(self, output: Any, statistic: Any) -> Any:
        if not isinstance(output, Histogram):
            return output
        return statistic(output) if len(output) else None


def _named_parameters(function: Callable[..., Any]) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except Exception:  # noqa: BLE001  (some built-ins have no signature, and an object may raise anything)
        return []
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        return list(_OFFERED)
    return [each.name for each in parameters if each.name in _OFFERED and each.kind is not each.POSITIONAL_ONLY]


def _told(failure: Exception) -> str:
    try:
        said = " ".join(str(failure).split()).rstrip(".")
    except Exception:  # noqa: BLE001  (so may an exception class of the caller's)
        said = ""
    return said if is_short(said, 200) and said else "no message"


def contenders(given: Any) -> list[Contender]:
    """Return the mechanisms of a comparison, each under its own name."""
    if isinstance(given, Mapping):
        pairs = labelled("mechanisms", given)
    else:
        alone = isinstance(given, str | Mechanism) or callable(given) or is_a(given, Baseline)
        listed = [given] if alone or not isinstance(given, Iterable) else elements(given)
        if listed is None:
            raise InputError("mechanisms", "must be a mechanism or a list of them", given=safe_repr(given))
        pairs = [(_name(each), each) for each in listed]
    if not pairs:
        raise InputError(
            "mechanisms",
            "must contain at least one mechanism",
            remedy=f"Choose from {', '.join(BASELINES)}, or pass a function.",
        )
    pairs = [(name, imported(each) if is_reference(each) else each) for name, each in pairs]
    names = [name for name, _ in pairs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(
            "mechanism", f"{safe_repr(twice[0])} is given twice", remedy="Pass a mapping {name: mechanism}."
        )
    return [_mechanism(name, each) for name, each in pairs]


def compared(names: Sequence[str], statistic: Asked) -> list[Contender]:
    """Return mechanisms named on the command line, those of the library first; by default all that fit."""
    own = [name for name in names if is_reference(name)]
    known = [name for name in names if not is_reference(name)]
    if not names:
        known = [name for name, each in BASELINES.items() if supports(each, statistic)]
    found = [*(chosen_mechanisms(known) if known else ()), *(contenders(own) if own else ())]
    twice = [each.name for place, each in enumerate(found) if each.name in {other.name for other in found[:place]}]
    if twice:
        raise InputError("mechanism", f"{safe_repr(twice[0])} is given twice", remedy="Rename the function.")
    return found


def _name(mechanism: Any) -> str:
    if isinstance(mechanism, str):
        return str.rpartition(mechanism, ":")[2] if is_reference(mechanism) else baseline(mechanism).name
    names = (attribute(mechanism, "name"), attribute(mechanism, "__name__"), type(mechanism).__name__)
    return next(name for name in names if isinstance(name, str) and name)


def is_reference(value: object) -> TypeGuard[str]:
    """Return True for a text such as "module:function"."""
    return isinstance(value, str) and str.__contains__(value, ":")


def imported(reference: str) -> Any:
    """Import what "module:function" names, from the working directory, too."""
    module, _, name = str.partition(reference, ":")
    if not all(part.isidentifier() for part in (*module.split("."), *name.split("."))):
        raise InputError("mechanism", "must be written module:function", given=safe_repr(reference))
    here = str(Path.cwd())
    added = here not in sys.path
    if added:
        sys.path.insert(0, here)
    try:
        found = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except Exception as failure:
        raise InputError(
            "mechanism",
            f"{safe_repr(reference)} could not be imported: {type(failure).__name__}: {_told(failure)}",
            remedy="Name an importable module, or one in the working directory, and a function in it.",
        ) from failure
    finally:
        if added:
            sys.path.remove(here)
    return found


def is_a(value: object, protocol: type) -> bool:
    """Return True if an object satisfies a protocol."""
    try:
        return isinstance(value, protocol)
    except Exception:  # noqa: BLE001  (an object may raise anything on attribute access)
        return False


def labelled(name: str, given: object) -> list[tuple[str, Any]]:
    """Return the items of a mapping whose keys are names."""
    found = pairs_of(given)
    if found is None:
        raise InputError(name, "must be a readable mapping from names")
    for label, _ in found:
        if not isinstance(label, str):
            raise InputError(name, ": every key must be a string", given=safe_repr(label))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Renamed:
    """A mechanism under the user's name for it."""

    name: str
    inner: Contender

    def refuse(self, epsilon: Fraction, settings: Settings) -> None:
        self.inner.refuse(epsilon, settings)

    def outputs(
        self, case: Case | AnyCase, experiment: Experiment, epsilon: Fraction, settings: Settings, rng: Generator
    ) -> Any:
        try:
            return self.inner.outputs(case, experiment, epsilon, settings, rng)
        except FlexdpError:
            raise
        except Exception as failure:
            raise InputError(
                "mechanism", f"{safe_repr(self.name)} raised {type(failure).__name__}: {_told(failure)}"
            ) from failure


def _mechanism(name: str, mechanism: Any) -> Contender:
    if isinstance(mechanism, str):
        return _Renamed(name, named(baseline(mechanism)))
    if isinstance(mechanism, Mechanism):
        if mechanism.source != HISTOGRAMS:
            raise InputError("mechanism", f"{safe_repr(name)} must take histograms", given=str(mechanism.source))
        return _Renamed(name, _Run(name, mechanism))
    if is_a(mechanism, Baseline):
        return _Renamed(name, named(mechanism))
    if callable(mechanism):
        return _Own(name, mechanism)
    raise InputError(
        "mechanism", "must be a name, a Baseline, a Mechanism or a function (counts, rng)", given=safe_repr(mechanism)
    )
