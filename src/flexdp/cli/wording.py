"""Parameters as the command line spells them: ``kind='date'`` becomes ``--kind date``."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Callable, Iterable
from typing import Any

import click

from flexdp.cli.options import by_column
from flexdp.errors import ABSENT, P

__all__ = ["speller"]

_PLACEHOLDER = "…"
_NAME = "NAME"  # of a column, in an option that is given by column


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
    columns = known.get("columns")

    def spell(part: P) -> str:
        parameter = known.get(part.name)
        if parameter is None and part.name == "kind" and isinstance(columns, click.Option):  # kinds follow the names
            return f"{_long(columns)} {_NAME}=KIND" if part.value is ABSENT else _option(columns, part, named=True)
        if isinstance(parameter, click.Option):
            return _option(parameter, part, named=parameter.callback is by_column)
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


def _long(option: click.Option) -> str:
    return next(name for name in option.opts if name.startswith("--"))


def _option(option: click.Option, part: P, *, named: bool) -> str:
    """An option with a value; if ``named``, the value of a column."""
    long, value = _long(option), part.value
    if value is ABSENT or (option.is_flag and value is True):
        return long
    if option.multiple and value is not None and not isinstance(value, dict) and (named or value is True):
        value = {_NAME: value}  # of any column
    if option.multiple and isinstance(value, dict):
        pairs = (name if each is True else f"{name}={_typed(each)}" for name, each in value.items())
        return " ".join(f"{long} {_quoted(pair)}" for pair in pairs)
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
