"""The declared range of each parameter, and a check for every type that a parameter may have.

A parameter may be any object, and objects may do anything when they are compared, counted, called or printed. So
nothing is asked of a value before its type is known, and whatever an object raises becomes a refusal in one line.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from flexdp._core.exact import exact, number_text
from flexdp._core.text import is_short, plain_scalar, safe_repr, thousands
from flexdp.errors import InputError

__all__ = [
    "ALPHA",
    "BETA",
    "DELTA",
    "EPSILON",
    "GAMMA",
    "LARGE_EPSILON",
    "Domain",
    "array",
    "attribute",
    "choice",
    "elements",
    "flag",
    "function",
    "instance",
    "integer",
    "pairs",
    "path_text",
    "sequence",
    "text",
]

_T = TypeVar("_T")
_LONGEST_PATH = 4096  # characters of a path


def text(name: str, value: object, example: str = "") -> str:
    """A parameter that must be a text."""
    if not isinstance(value, str):
        hint = f", for example {example}" if example else ""
        raise InputError(f"{name} must be a text{hint}; got {safe_repr(value)}.")
    return str.__str__(value)


def choice(name: str, value: object, known: Collection[str]) -> str:
    """A parameter that must be one of a few words."""
    given = plain_scalar(value)
    if not isinstance(given, str) or given not in known:
        *first, last = map(repr, known)
        raise InputError(f"{name} must be {', '.join(first)} or {last}; got {safe_repr(value)}.")
    return given


def flag(name: str, value: object) -> bool:
    """A parameter that must be True or False."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name} must be True or False; got {safe_repr(value)}.")
    return bool(value)


def instance(name: str, value: object, kind: type[_T], what: str) -> _T:
    """A parameter that must be an object of a type of ours."""
    if not isinstance(value, kind):
        raise InputError(f"{name} must be {what}; got {safe_repr(value)}.")
    return value


def function(name: str, value: object, what: str) -> Callable[..., Any]:
    """A parameter that must be a function; what it is called with is not tried here."""
    if not callable(value):
        raise InputError(f"{name} must be a function of {what}; got {safe_repr(value)}.")
    return value


def elements(value: Any) -> list[Any] | None:
    """The elements of a collection or an iterator as a list; None for texts, and for what does not give any."""
    if isinstance(value, str | bytes | bytearray):
        return None
    try:
        return list(value)
    except Exception:  # noqa: BLE001  (an object may raise anything when it is asked for its elements)
        return None


def sequence(value: object) -> list[Any] | None:
    """An ordered, flat sequence as a list: a list, a tuple, a range or a flat array; None for anything else."""
    if isinstance(value, list | tuple | range) or (isinstance(value, np.ndarray) and value.ndim == 1):
        return elements(value)
    return None


def pairs(value: object) -> list[tuple[Any, Any]] | None:
    """The keys and values of a mapping; None for anything else."""
    if not isinstance(value, Mapping):
        return None
    try:
        return [(key, cell) for key, cell in value.items()]
    except Exception:  # noqa: BLE001  (as above)
        return None


def attribute(value: object, name: str) -> Any:
    """An attribute of any object; None where it has none or does not give it."""
    try:
        return getattr(value, name)
    except Exception:  # noqa: BLE001  (as above)
        return None


def array(value: object) -> NDArray[Any] | None:
    """What numpy makes of a value; None where it makes nothing of it."""
    try:
        return np.asarray(value)
    except Exception:  # noqa: BLE001  (as above)
        return None


def path_text(name: str, value: object) -> str:
    """A parameter that must name a file: a text or a path, of characters that a file system takes."""
    try:
        path = os.fspath(value)  # type: ignore[call-overload]
    except Exception:  # noqa: BLE001  (as above)
        path = None
    path = plain_scalar(path)
    if not isinstance(path, str) or not path:
        raise InputError(f"{name} must name a file; got {safe_repr(value)}.")
    if not is_short(path, _LONGEST_PATH):
        raise InputError(
            f"{name} must name a file; got {safe_repr(path)}. Give a shorter name of printable characters."
        )
    return path


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """The declared range of one parameter: it drives the check, the message and the tests."""

    name: str
    low: Fraction
    low_included: bool = False
    high: Fraction | None = None
    high_included: bool = False
    remedy: str

    def __str__(self) -> str:
        if self.high is None:
            return f"{'at least' if self.low_included else 'greater than'} {number_text(self.low)}"
        opening = "[" if self.low_included else "("
        closing = "]" if self.high_included else ")"
        return f"in {opening}{number_text(self.low)}, {number_text(self.high)}{closing}"

    def check(self, value: object) -> Fraction:
        """The value as an exact rational, or an :class:`InputError` that names the rule and the remedy."""
        number = exact(self.name, value)
        above = number > self.low or (self.low_included and number == self.low)
        below = self.high is None or number < self.high or (self.high_included and number == self.high)
        if not (above and below):
            raise InputError(f"{self.name} must be {self}; got {safe_repr(value)}. {self.remedy}")
        return number


EPSILON = Domain(
    name="epsilon",
    low=Fraction(0),
    high=Fraction(10**4),
    high_included=True,
    remedy="Choose the privacy loss of one record, for example epsilon=1.",
)
DELTA = Domain(
    name="delta",
    low=Fraction(1, 10**30),
    low_included=True,
    high=Fraction(1),
    remedy="Choose a chance far below one in the number of records, for example delta=1e-6.",
)
ALPHA = Domain(
    name="alpha",
    low=Fraction(0),
    low_included=True,
    high=Fraction(1),
    high_included=True,
    remedy="It is a fraction.",
)
BETA = Domain(
    name="beta",
    low=Fraction(0),
    low_included=True,
    remedy="It is a distance, for example half a bucket's width.",
)
GAMMA = Domain(
    name="gamma",
    low=Fraction(0),
    low_included=True,
    high=Fraction(1),
    high_included=True,
    remedy="It is a probability.",
)


LARGE_EPSILON = 10  # above it a promise is hardly one


def integer(name: str, value: object, *, at_least: int = 1, at_most: int | None = None) -> int:
    """An integer parameter, exact, not below ``at_least`` nor above ``at_most``."""
    try:
        number = exact(name, value)
    except InputError:
        number = Fraction(1, 2)  # no whole number either
    if number.denominator != 1 or number < at_least:
        commas = " Write it without commas." if isinstance(value, str) and "," in str.__str__(value) else ""
        raise InputError(f"{name} must be a whole number of at least {at_least}; got {safe_repr(value)}.{commas}")
    if at_most is not None and number > at_most:
        raise InputError(f"{name} must be at most {thousands(at_most)}; got {safe_repr(value)}.")
    return int(number)
