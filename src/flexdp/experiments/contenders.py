"""Mechanisms as a user gives them to a comparison: names, baselines and functions.

A mechanism is a name (see :mod:`flexdp.baselines`), an object with that package's protocol, or a function:

    def mine(counts, rng): ...

``counts`` is a read-only int64 array with the number of records in each of the buckets 0, …, B − 1; ``rng`` is the
function's own numpy generator, from which all its randomness should come. It returns the index of its answer, in which
case it is called once per run, or an array with one index per run. Parameters called ``runs``, ``epsilon``, ``delta``
or ``statistic`` are passed by name. The function is trusted: it sees the data, and nothing checks that it is private.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from flexdp._core.domains import attribute, elements
from flexdp._core.domains import pairs as pairs_of
from flexdp._core.text import is_short, safe_repr
from flexdp.baselines import BASELINES, Baseline, baseline
from flexdp.errors import FlexdpError, InputError
from flexdp.experiments.cases import Case
from flexdp.experiments.cells import Contender, Settings, named
from flexdp.experiments.paper import Experiment
from flexdp.simulation.streams import Generator

__all__ = ["contenders", "is_a", "labelled"]

_OFFERED = ("runs", "epsilon", "delta", "statistic")


@dataclass(frozen=True, slots=True, eq=False)
class _Own:
    """A user's function as a mechanism; an exception that it raises is reported with its name."""

    name: str
    function: Callable[..., Any]

    def refuse(self, epsilon: Fraction, settings: Settings) -> None:
        """Accept anything: a function makes no privacy claim."""

    def outputs(self, case: Case, experiment: Experiment, epsilon: Fraction, settings: Settings, rng: Generator) -> Any:
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
            first = np.asarray(self.function(counts, rng, **wanted))
            if first.ndim:
                return first
            return [first, *(self.function(counts, rng, **wanted) for _ in range(settings.runs - 1))]
        except FlexdpError:
            raise
        except Exception as failure:
            raise InputError(
                "mechanism",
                f"{safe_repr(self.name)} raised {type(failure).__name__}: {_told(failure)}",
                remedy="It is called as mechanism(counts, rng), with runs, epsilon, delta and statistic by name.",
            ) from failure


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
        alone = isinstance(given, str) or callable(given) or is_a(given, Baseline)
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
    names = [name for name, _ in pairs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(
            "mechanism", f"{safe_repr(twice[0])} is given twice", remedy="Pass a mapping {name: mechanism}."
        )
    return [_mechanism(name, each) for name, each in pairs]


def _name(mechanism: Any) -> str:
    if isinstance(mechanism, str):
        return baseline(mechanism).name
    names = (attribute(mechanism, "name"), attribute(mechanism, "__name__"), type(mechanism).__name__)
    return next(name for name in names if isinstance(name, str) and name)


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

    def outputs(self, case: Case, experiment: Experiment, epsilon: Fraction, settings: Settings, rng: Generator) -> Any:
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
    if is_a(mechanism, Baseline):
        return _Renamed(name, named(mechanism))
    if callable(mechanism):
        return _Own(name, mechanism)
    raise InputError("mechanism", "must be a name, a Baseline or a function (counts, rng)", given=safe_repr(mechanism))
