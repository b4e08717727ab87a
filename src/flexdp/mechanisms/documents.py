"""Mechanisms as JSON values: by name and parameters, nothing else.

A document is data. Only classes that the reader names are made from it, through their ordinary constructors, which
check what they are given.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any, Protocol

import flexdp.statistics
from flexdp._core.documents import parse_json
from flexdp._core.exact import exact_text, ratio
from flexdp._core.text import safe_repr
from flexdp.errors import InputError

__all__ = ["SCHEMA", "Described", "decoded", "encoded", "parsed", "plain"]

SCHEMA = "flexdp.mechanism/1"
_LONGEST = 100_000  # characters of a document
_MOST_PARTS = 100  # mechanisms in one document, each of which may take a moment to make


class Described(Protocol):
    """A value that can be made again from its parameters."""

    def parameters(self) -> dict[str, Any]: ...


def plain(number: Fraction) -> int | str:
    """A number without loss, as a person writes it: an integer, or a text such as '1e-06' or '1/3'."""
    return int(number) if number.denominator == 1 else exact_text(number)


def parsed(document: object) -> dict[str, Any]:
    """The values of a document of a mechanism."""
    if isinstance(document, str | bytes | bytearray) and len(document) > _LONGEST:
        raise InputError("document", f"must have at most {_LONGEST} characters")
    values = parse_json(document)
    if not isinstance(values, dict) or values.get("schema") != SCHEMA:
        raise InputError("document", f"must be JSON of schema {SCHEMA!r}", remedy="to_json() writes it.")
    return values


def encoded(mechanism: Described) -> dict[str, Any]:
    """A mechanism as JSON values."""
    given = {name: _encoded(value) for name, value in mechanism.parameters().items()}
    return {"mechanism": type(mechanism).__name__, "parameters": given}


def _encoded(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, Fraction):
        return {"fraction": str(value)}
    if isinstance(value, dt.datetime | dt.date):
        return {type(value).__name__: value.isoformat()}
    if isinstance(value, tuple | list):
        return [_encoded(each) for each in value]
    if type(value) is getattr(flexdp.statistics, type(value).__name__, None) and is_dataclass(value):
        return {"statistic": type(value).__name__, "parameters": _fields(value)}
    if callable(getattr(value, "parameters", None)):
        return encoded(value)
    raise InputError("mechanism", "has a parameter that JSON cannot hold", given=safe_repr(value))


def _fields(statistic: Any) -> dict[str, Any]:
    values = {field.name: getattr(statistic, field.name) for field in fields(statistic)}
    return {name: _encoded(plain(value) if isinstance(value, Fraction) else value) for name, value in values.items()}


def decoded(content: dict[str, Any], known: Mapping[str, Callable[..., Any]]) -> Any:
    """The mechanism that JSON values describe; what it raises where they describe none is for the caller to catch."""
    budget = [_MOST_PARTS]
    return _made({name: value for name, value in content.items() if name != "schema"}, known, budget)


def _made(content: dict[str, Any], known: Mapping[str, Callable[..., Any]], budget: list[int]) -> Any:
    if set(content) != {"mechanism", "parameters"} or content["mechanism"] not in known:
        raise ValueError("no mechanism that the reader knows")
    budget[0] -= 1
    if budget[0] < 0:
        raise ValueError("too many mechanisms")
    given = {name: _decoded(value, known, budget) for name, value in content["parameters"].items()}
    return known[content["mechanism"]](**given)


def _decoded(value: Any, known: Mapping[str, Callable[..., Any]], budget: list[int]) -> Any:
    if isinstance(value, list):
        return tuple(_decoded(each, known, budget) for each in value)
    if not isinstance(value, dict):
        return value
    if set(value) == {"statistic", "parameters"} and value["statistic"] in flexdp.statistics.__all__:
        given = {name: _decoded(each, known, budget) for name, each in value["parameters"].items()}
        return getattr(flexdp.statistics, value["statistic"])(**given)
    if set(value) == {"fraction"}:
        return ratio(value["fraction"])
    if set(value) == {"date"}:
        return dt.date.fromisoformat(value["date"])
    if set(value) == {"datetime"}:
        return dt.datetime.fromisoformat(value["datetime"])
    return _made(value, known, budget)
