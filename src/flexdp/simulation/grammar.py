"""The grammar of laws, one for ``plan --simulate`` and ``compare --law``.

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
with.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from flexdp._core.exact import exact
from flexdp._core.text import plain_scalar, safe_repr
from flexdp.errors import InputError

__all__ = ["MOST_VALUES", "OF_HEIGHTS", "OF_VALUES", "LawText", "parse_law_text"]

MOST_VALUES = 10**6  # of a Zipf law
_LARGEST = 10**100  # of any argument
_STEP = re.compile(r"\s*(\d{1,10})x(\d{1,10})\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Family:
    takes: tuple[str, ...]  # the arguments, in order
    example: str
    optional: tuple[str, ...] = ()  # may be left out at the end
    named: tuple[str, ...] = ()  # may be given by name only, for another one
    positive: tuple[str, ...] = ()

    @property
    def said(self) -> str:
        return " and ".join(name for name in self.takes if name not in self.optional)


_FAMILIES: dict[str, _Family] = {
    "cauchy": _Family(("median", "scale"), "cauchy:45,4", positive=("scale",)),
    "normal": _Family(("mean", "sd"), "normal:50,15", positive=("sd",)),
    "lognormal": _Family(
        ("mu", "sigma"), "lognormal:median=30000,sigma=0.8", named=("median",), positive=("median", "sigma")
    ),
    "uniform": _Family(("low", "high"), "uniform:0,120"),
    "zipf": _Family(("exponent", "values"), "zipf:1.2,500", optional=("values",), positive=("exponent",)),
    "poisson": _Family(("mean",), "poisson:250", positive=("mean",)),
    "steps": _Family((), "steps:540x50,490x50"),
}
OF_HEIGHTS = ("poisson", "steps")
OF_VALUES = tuple(name for name in _FAMILIES if name not in OF_HEIGHTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class LawText:
    """A law as it was written: its family and the arguments that were given.

    ``parameter`` is the parameter that held it, to be named in error messages; ``steps`` are (height, width).
    """

    parameter: str
    family: str
    given: Mapping[str, Fraction] = field(default_factory=dict)
    steps: tuple[tuple[int, int], ...] = ()

    def arguments(self, low: Fraction, span: Fraction) -> tuple[Fraction | float, ...]:
        """Return all arguments of a law of values, in order.

        Those left out follow from the public interval that begins at ``low`` and is ``span`` long: the normal and the
        Cauchy law lie in its middle, the former six standard deviations wide, the median of the lognormal law at a
        twentieth of its length. The number of values of a Zipf law has no default.
        """
        found = self.given.get
        middle = low + span / 2
        if self.family == "normal":
            return found("mean", middle), found("sd", span / 6)
        if self.family == "cauchy":
            return found("median", middle), found("scale", span / 25)
        if self.family == "lognormal":
            mu = float(self.given["mu"]) if "mu" in self.given else math.log(found("median", span / 20))
            return mu, found("sigma", Fraction(1))
        if self.family == "uniform":
            start, end = found("low", low), found("high", low + span)
            if start >= end:
                raise self.error("needs low below high")
            return start, end
        values = found("values")
        if values is None:
            return (found("exponent", Fraction(1)),)
        if values.denominator != 1 or not 1 <= values <= MOST_VALUES:
            raise self.error(f"values must be a whole number from 1 to {MOST_VALUES}", given=safe_repr(values))
        return found("exponent", Fraction(1)), values

    def error(self, rule: str, *, given: str | None = None) -> InputError:
        """Return the refusal of this law, with a law of its family that would do."""
        remedy = f"For example {_FAMILIES[self.family].example}."
        return InputError(self.parameter, f": {self.family} {rule}", given=given, remedy=remedy)


def parse_law_text(
    text: object, *, parameter: str, families: Sequence[str] = tuple(_FAMILIES), example: str = "normal:50,10"
) -> LawText:
    """Parse the text of a law.

    Parameters
    ----------
    text
        For example "normal", "normal:50,10" or "normal:mean=50,sd=10".
    parameter
        The parameter that holds the text, to be named in error messages.
    families
        The laws that the caller can use.
    example
        A law for the message about something that is not text.

    Returns
    -------
    LawText
        Its family and arguments, each in its range.

    Raises
    ------
    InputError
        If there is no such law, or an argument is missing, unknown or out of range.

    Examples
    --------
    >>> parse_law_text("normal:50,10", parameter="law") == parse_law_text("normal:sd=10,mean=50", parameter="law")
    True
    >>> parse_law_text("couchy:1,2", parameter="law")
    Traceback (most recent call last):
    flexdp.errors.InputError: law: no distribution named 'couchy'. Did you mean cauchy?
    """
    written = plain_scalar(text)
    if not isinstance(written, str):
        raise InputError(parameter, f"must be a string, for example {example!r}", given=safe_repr(text))
    name, _, rest = written.partition(":")
    if name not in families:
        raise _unknown(name, parameter, families)
    law = LawText(parameter=parameter, family=name)
    if name == "steps":
        return LawText(parameter=parameter, family=name, steps=_steps(law, rest))
    parts = [part.strip() for part in rest.split(",") if part.strip()]
    given = _by_name(law, parts) if any("=" in part for part in parts) else _in_order(law, parts)
    return LawText(parameter=parameter, family=name, given=given)


def _unknown(name: str, parameter: str, families: Sequence[str]) -> InputError:
    if name in OF_HEIGHTS:
        return InputError(
            parameter, f": {name} gives heights of buckets, not values", remedy=f"Choose one of {', '.join(families)}."
        )
    near = difflib.get_close_matches(name.lower(), families, n=1, cutoff=0.5)
    hint = f"Did you mean {near[0]}?" if near else f"Choose one of {', '.join(families)}."
    return InputError(parameter, f": no distribution named {safe_repr(name)}", remedy=hint)


def _in_order(law: LawText, parts: Sequence[str]) -> dict[str, Fraction]:
    family = _FAMILIES[law.family]
    least = len(family.takes) - len(family.optional)
    if parts and not least <= len(parts) <= len(family.takes):
        many = f"{len(parts)} number{'' if len(parts) == 1 else 's'}"
        raise law.error(f"takes {family.said}", given=many)
    return {name: _number(law, name, part) for name, part in zip(family.takes, parts, strict=False)}


def _by_name(law: LawText, parts: Sequence[str]) -> dict[str, Fraction]:
    family, given = _FAMILIES[law.family], dict[str, Fraction]()
    for part in parts:
        name, equals, value = (word.strip() for word in part.partition("="))
        if not equals or name not in (*family.takes, *family.named) or name in given:
            raise law.error(f"takes {family.said}, each once", given=safe_repr(part))
        given[name] = _number(law, name, value)
    if "mu" in given and "median" in given:
        raise law.error("takes either mu or median")
    return given


def _number(law: LawText, name: str, text: str) -> Fraction:
    try:
        value = exact(name, text)
    except InputError:
        raise law.error(f"{name} must be a number", given=safe_repr(text)) from None
    if abs(value) > _LARGEST:
        raise law.error(f"{name} must be at most 1e100 in size", given=safe_repr(text))
    if name in _FAMILIES[law.family].positive and value <= 0:
        raise law.error(f"{name} must be positive", given=safe_repr(text))
    return value


def _steps(law: LawText, text: str) -> tuple[tuple[int, int], ...]:
    parts = [_STEP.fullmatch(part) for part in text.split(",")]
    steps = tuple((int(part[1]), int(part[2])) for part in parts if part)
    if len(steps) != len(parts) or sum(width for _, width in steps) < 1:
        raise law.error("must be written height x width", given=safe_repr(text))
    return steps
