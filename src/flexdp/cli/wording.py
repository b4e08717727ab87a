"""Parameters as the command line spells them: ``kind='date'`` becomes ``--kind date``."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Callable, Iterable
from typing import Any

import click

from flexdp.errors import ABSENT, P

__all__ = ["speller"]

_PLACEHOLDER = "…"


def speller(parameters: Iterable[click.Parameter]) -> Callable[[P], str]:
    """Return a function that spells the library's parameters as options and arguments of a command.

    Parameters
    ----------
    parameters
        The options and arguments of the command.

    Returns
    -------
    Callable
        Spells a :class:`P`; a parameter that the command does not have is spelled as in Python.

    Examples
    --------
    >>> say = speller([click.Option(["--kind"]), click.Option(["--bounds"]), click.Argument(["column"])])
    >>> print(say(P("kind", "date")), say(P("bounds", (0, 120))), say(P("column")), say(P("width", 5)))
    --kind date --bounds 0:120 COLUMN width=5
    """
    known = {name: parameter for parameter in parameters for name in _names(parameter)}
    if "columns" in known:
        known.setdefault("column", known["columns"])

    def spell(part: P) -> str:
        if part.name == "separately" and "together" in known:
            return "no --together" if part.value is not ABSENT else "--together"
        parameter = known.get(part.name)
        if isinstance(parameter, click.Option):
            return _option(parameter, part)
        if parameter is None:
            return str(part)
        if isinstance(part.value, dict):
            return " ".join(_quoted(f"{name}={value}") for name, value in part.value.items())
        label = (parameter.metavar or part.name.upper()).removesuffix("...").removesuffix("[=KIND]]").strip("[]")
        return label if part.value is ABSENT else f"{label} {_text(part.value)}"

    return spell


def _names(parameter: click.Parameter) -> Iterable[str]:
    """The names by which the library may know an option or an argument."""
    yield parameter.name or ""
    for option in parameter.opts if isinstance(parameter, click.Option) else ():
        if option.startswith("--"):
            yield option[2:].replace("-", "_")


def _option(option: click.Option, part: P) -> str:
    """An option with a value, or with one for each of several columns."""
    long, value = next(name for name in option.opts if name.startswith("--")), part.value
    if value is ABSENT or value is True:
        return long
    if option.multiple and isinstance(value, dict):
        pairs = (name if each is True else f"{name}={_typed(each)}" for name, each in value.items())
        return " ".join(f"{long} {_quoted(pair)}" for pair in pairs)
    if value is None or value is False or isinstance(value, dict):
        return str(part)  # there is no way to write these
    listed = option.multiple and not getattr(option, "per_column", False) and isinstance(value, list | tuple)
    return " ".join(f"{long} {_text(each)}" for each in (value if listed else [value]))


def _text(value: Any) -> str:
    """A value as it is typed, with quotes only where the shell needs them."""
    return _PLACEHOLDER if value is ... else _quoted(_typed(value))


def _typed(value: Any) -> str:
    """A value as it is typed: pairs with a colon, lists with commas."""
    if isinstance(value, tuple):
        return ":".join(map(str, value))
    if isinstance(value, list):
        row = io.StringIO()
        csv.writer(row, lineterminator="").writerow(
            ":".join(map(str, each)) if isinstance(each, tuple) else each for each in value
        )
        return row.getvalue()
    return str(value)


def _quoted(text: str) -> str:
    return text if text == _PLACEHOLDER else shlex.quote(text)
