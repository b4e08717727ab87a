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

    def spell(part: P) -> str:
        parameter = known.get(part.name)
        if isinstance(parameter, click.Option):
            return _option(parameter, part)
        if parameter is None:
            return str(part)
        label = (parameter.metavar or part.name.upper()).removesuffix("...").strip("[]")
        return label if part.value is ABSENT else f"{label} {_text(part.value)}"

    return spell


def _names(parameter: click.Parameter) -> Iterable[str]:
    """The names by which the library may know an option or an argument."""
    yield parameter.name or ""
    for option in parameter.opts if isinstance(parameter, click.Option) else ():
        if option.startswith("--"):
            yield option[2:].replace("-", "_")


def _option(option: click.Option, part: P) -> str:
    long = next(name for name in option.opts if name.startswith("--"))
    if part.value is ABSENT or (option.is_flag and part.value is True):
        return long
    if option.multiple and isinstance(part.value, dict):
        return " ".join(f"{long} {_quoted(f'{name}={_typed(value)}')}" for name, value in part.value.items())
    if part.value is None or part.value is False or isinstance(part.value, dict):
        return str(part)  # there is no way to write these
    values = part.value if option.multiple and isinstance(part.value, list | tuple) else [part.value]
    return " ".join(f"{long} {_text(value)}" for value in values)


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
