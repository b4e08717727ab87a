"""Declared ranges of parameters, and a check for every type that a parameter may have.

A parameter may be any object, and an object may do anything when it is compared, counted, called or printed. So nothing
is called on a value before its type is known, and whatever an object raises becomes an :class:`InputError` in one line.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from flexdp._core.exact import exact, number_text
from flexdp._core.text import is_short, plain_scalar, safe_repr, thousands
from flexdp.errors import InputError, P, Phrase

__all__ = [
    "ALPHA", "BETA", "CERTIFY", "CONFIDENCE", "DELTA", "EPSILON", "ETA", "GAMMA", "LARGE_EPSILON", "LEVEL",
    "OPEN_ALPHA", "OPEN_GAMMA", "POSITIVE_ALPHA", "POSITIVE_BETA", "PURE_DELTA", "RELATIVE", "SENSITIVITY",
    "SMALL_DELTA", "SPAN", "TAU", "TRIM", "WIDTH", "Domain", "array", "attribute", "choice", "elements", "flag",
    "function", "instance", "integer", "pairs", "path_text", "sequence", "text",
]  # fmt: skip

_T = TypeVar("_T")
_Word = TypeVar("_Word", bound=str)
_LONGEST_PATH = 4096  # characters of a path


def text(name: str, value: object, example: str = "") -> str:
    """Check a parameter that must be a string."""
    if not isinstance(value, str):
        hint = f", for example {example}" if example else ""
        raise InputError(name, f"must be a string{hint}", given=safe_repr(value))
    return str.__str__(value)


def choice(name: str, value: object, known: Collection[_Word]) -> _Word:
    """Check a parameter that must be one of a few words."""
    given = plain_scalar(value)
    for word in known:
        if isinstance(given, str) and given == word:
            return word
    *first, last = map(repr, known)
    rule = f"must be {', '.join(first)} or {last}" if first else f"must be {last}"
    raise InputError(name, rule, given=safe_repr(value))


def flag(name: str, value: object) -> bool:
    """Check a parameter that must be True or False."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(name, "must be True or False", given=safe_repr(value))
    return bool(value)


def instance(name: str, value: object, kind: type[_T], what: str) -> _T:
    """Check a parameter that must be an instance of a class; ``what`` describes it, as in "a Histogram"."""
    if not isinstance(value, kind):
        raise InputError(name, f"must be {what}", given=safe_repr(value))
    return value


def function(name: str, value: object, what: str) -> Callable[..., Any]:
    """Check a parameter that must be a function of ``what``; it is not called here."""
    if not callable(value):
        raise InputError(name, f"must be a function of {what}", given=safe_repr(value))
    return value


def elements(value: Any) -> list[Any] | None:
    """Return the elements of a collection or an iterator as a list; None for strings and for anything not iterable."""
    if isinstance(value, str | bytes | bytearray):
        return None
    try:
        return list(value)
    except Exception:  # noqa: BLE001  (an object may raise anything when iterated)
        return None


def sequence(value: object) -> list[Any] | None:
    """Return a list, tuple, range or one-dimensional array as a list; None for anything else."""
    if isinstance(value, list | tuple | range) or (isinstance(value, np.ndarray) and value.ndim == 1):
        return elements(value)
    return None


def pairs(value: object) -> list[tuple[Any, Any]] | None:
    """Return the items of a mapping; None for anything else."""
    if not isinstance(value, Mapping):
        return None
    try:
        return [(key, cell) for key, cell in value.items()]
    except Exception:  # noqa: BLE001  (as above)
        return None


def attribute(value: object, name: str) -> Any:
    """Return an attribute of any object; None if it is missing or raises."""
    try:
        return getattr(value, name)
    except Exception:  # noqa: BLE001  (as above)
        return None


def array(value: object) -> NDArray[Any] | None:
    """Return a value as a numpy array; None if it cannot be converted."""
    try:
        return np.asarray(value)
    except Exception:  # noqa: BLE001  (as above)
        return None


def path_text(name: str, value: object) -> str:
    """Check a parameter that must name a file: a string or a path of printable characters."""
    try:
        path = os.fspath(value)  # type: ignore[call-overload]
    except Exception:  # noqa: BLE001  (as above)
        path = None
    path = plain_scalar(path)
    if not isinstance(path, str) or not path:
        raise InputError(name, "must name a file", given=safe_repr(value))
    if not is_short(path, _LONGEST_PATH):
        remedy = f"Give a name of at most {_LONGEST_PATH} printable characters."
        raise InputError(name, "must name a file", given=safe_repr(path), remedy=remedy)
    return path


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """Declared range of a parameter; it drives the check, the message and the tests."""

    name: str
    low: Fraction
    low_included: bool = False
    high: Fraction | None = None
    high_included: bool = False
    remedy: Phrase

    def __str__(self) -> str:
        if self.high is None:
            return f"{'at least' if self.low_included else 'greater than'} {number_text(self.low)}"
        opening = "[" if self.low_included else "("
        closing = "]" if self.high_included else ")"
        return f"in {opening}{number_text(self.low)}, {number_text(self.high)}{closing}"

    def check(self, value: object) -> Fraction:
        """Return the value as an exact rational; raise :class:`InputError` outside the range."""
        number = exact(self.name, value)
        above = number > self.low or (self.low_included and number == self.low)
        below = self.high is None or number < self.high or (self.high_included and number == self.high)
        if not (above and below):
            raise InputError(self.name, f"must be {self}", given=safe_repr(value), remedy=self.remedy)
        return number


EPSILON = Domain(
    name="epsilon",
    low=Fraction(0),
    high=Fraction(10**4),
    high_included=True,
    remedy=("Choose the privacy loss of one record, for example ", P("epsilon", 1), "."),
)
DELTA = Domain(
    name="delta",
    low=Fraction(1, 10**30),
    low_included=True,
    high=Fraction(1),
    remedy=("Choose a probability far below one over the number of records, for example ", P("delta", 1e-6), "."),
)
PURE_DELTA = replace(DELTA, low=Fraction(0))  # of a guarantee; the tables of integers need δ > 0
SMALL_DELTA = replace(DELTA, high=Fraction(1, 2), high_included=True)  # of calibrations with the logarithm of 1/(2δ)
ALPHA = Domain(
    name="alpha",
    low=Fraction(0),
    low_included=True,
    high=Fraction(1),
    high_included=True,
    remedy="Give a fraction of the records: 5% is 0.05.",
)
POSITIVE_ALPHA = replace(ALPHA, low_included=False)
OPEN_ALPHA = replace(ALPHA, low_included=False, high_included=False)
BETA = Domain(
    name="beta",
    low=Fraction(0),
    low_included=True,
    remedy="Give a distance, for example half the width of a bucket.",
)
POSITIVE_BETA = replace(BETA, low_included=False)
GAMMA = Domain(
    name="gamma",
    low=Fraction(0),
    low_included=True,
    high=Fraction(1),
    high_included=True,
    remedy="Give a probability, or a fraction of the mass.",
)
OPEN_GAMMA = replace(
    GAMMA,
    low_included=False,
    high_included=False,
    remedy=("Choose the probability of exceeding the error, for example ", P("gamma", 0.05), "."),
)
TAU = Domain(
    name="tau", low=Fraction(0), high=Fraction(1), remedy="Give the fraction of all records that a bucket may lose."
)
ETA = Domain(
    name="eta",
    low=Fraction(0),
    remedy="Give the price of moving a record by one, in records dropped; if moving were free, distinct data would be "
    "equal.",
)
LEVEL = Domain(
    name="quantile",
    low=Fraction(0),
    low_included=True,
    high=Fraction(1),
    high_included=True,
    remedy="Write the 99th percentile as 0.99.",
)
TRIM = Domain(
    name="trim",
    low=Fraction(0),
    low_included=True,
    high=Fraction(1, 2),
    remedy="Give the fraction cut off at either end, for example 0.05.",
)
CERTIFY = Domain(
    name="certify",
    low=Fraction(0),
    high=Fraction(1),
    remedy=("Give the share of the budget that buys the bound, for example ", P("certify", 0.05), "."),
)
CONFIDENCE = Domain(
    name="confidence",
    low=Fraction(1, 2),
    low_included=True,
    high=Fraction(1),
    remedy="Give the probability that a statement is true, for example 0.999.",
)
SPAN = Domain(name="span", low=Fraction(0), remedy="Give the length of the public interval that contains all values.")
SENSITIVITY = Domain(name="sensitivity", low=Fraction(0), remedy="Give the most that one record can change the answer.")
WIDTH = Domain(
    name="width",
    low=Fraction(1, 10**300),
    low_included=True,
    high=Fraction(10**300),
    high_included=True,
    remedy=("Give the width of a bucket in the column's own unit, for example ", P("width", 5), "."),
)
RELATIVE = Domain(
    name="relative",
    low=Fraction(1, 10**4),
    low_included=True,
    high=Fraction(9, 10),
    high_included=True,
    remedy=("Give the relative half-width, for example ", P("relative", 0.05), " for 5%."),
)

LARGE_EPSILON = 10  # warn above this


def integer(name: str, value: object, *, at_least: int = 1, at_most: int | None = None) -> int:
    """Check a parameter that must be an integer between ``at_least`` and ``at_most``."""
    try:
        number = exact(name, value)
    except InputError:
        number = Fraction(1, 2)  # not an integer either
    if number.denominator != 1 or number < at_least:
        remedy = "Write it without commas." if isinstance(value, str) and "," in str.__str__(value) else ""
        raise InputError(name, f"must be a whole number of at least {at_least}", given=safe_repr(value), remedy=remedy)
    if at_most is not None and number > at_most:
        raise InputError(name, f"must be at most {thousands(at_most)}", given=safe_repr(value))
    return int(number)
