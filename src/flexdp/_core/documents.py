"""JSON documents from strangers: read strictly, before anything in them is believed."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

__all__ = ["Difference", "UnfitError", "differences", "parse_json"]

_SIMPLE = frozenset((str, int, float, type(None)))  # without bool, which equals a number
_INFINITE = (math.inf, -math.inf)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")


class UnfitError(ValueError):
    """A document that cannot be what it claims to be, and why: a phrase that may be shown.

    Parameters
    ----------
    reason
        What is wrong, without values.
    part
        The part of the document that is at fault.
    """

    def __init__(self, reason: str, part: str = "description") -> None:
        super().__init__(reason)
        self.reason = reason
        self.part = part


def parse_json(document: object) -> Any:
    """Parse a document in which no name comes twice, every number is finite and every text is Unicode.

    Raises TypeError, ValueError or RecursionError where it is none; callers say so in words of their own.
    """
    if isinstance(document, str):
        text = str.__str__(document)
    elif isinstance(document, bytes | bytearray):
        text = bytes(document).decode(json.detect_encoding(bytes(document)))
    else:
        raise TypeError("neither text nor bytes")
    values = json.loads(text, object_pairs_hook=_named_once, parse_constant=_refuse_constant, parse_float=_finite)
    if _SURROGATE.search(text):
        json.dumps(values, ensure_ascii=False).encode()  # fails unless they come in pairs
    return values


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise UnfitError("a name that comes twice")
    return values


def _refuse_constant(word: str) -> NoReturn:
    raise UnfitError(f"the word {word} in place of a number")


def _finite(text: str) -> float:
    number = float(text)
    if number in _INFINITE:
        raise UnfitError("a number that no double holds")
    return number


class Difference(NamedTuple):
    """A place where two documents differ, such as ``bars.count[3]``, and the two values; None where one has none."""

    place: str
    stated: Any
    derived: Any


def differences(stated: Any, derived: Any, place: str = "") -> Iterator[Difference]:
    """Yield the places where JSON values differ; 1 and 1.0 are one number, true is none.

    >>> list(differences({"a": [1, 2], "b": True}, {"a": [1.0, 3], "b": 1}))
    [Difference(place='a[1]', stated=2, derived=3), Difference(place='b', stated=True, derived=1)]
    """
    if isinstance(stated, dict) and isinstance(derived, dict):
        for name in [*stated, *(name for name in derived if name not in stated)]:
            inside = f"{place}.{name}" if place else str(name)
            if name in stated and name in derived:
                yield from differences(stated[name], derived[name], inside)
            else:
                yield Difference(inside, stated.get(name), derived.get(name))
    elif isinstance(stated, list | tuple) and isinstance(derived, list | tuple):
        if len(stated) != len(derived):
            yield Difference(f"the length of {place}", len(stated), len(derived))
            return
        nested = not _SIMPLE.issuperset({*map(type, stated), *map(type, derived)})
        if not nested and list(stated) == list(derived):
            return
        for i, (one, other) in enumerate(zip(stated, derived, strict=True)):
            if type(one) is not type(other) or one != other or isinstance(one, dict | list):
                yield from differences(one, other, f"{place}[{i}]")
    elif isinstance(stated, bool) != isinstance(derived, bool) or stated != derived:
        yield Difference(place, stated, derived)
