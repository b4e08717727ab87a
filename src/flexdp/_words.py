"""A message of the library in the words of the command line: ``per_unit='max'`` becomes ``--per-unit max``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import click

__all__ = ["in_options", "options_of"]

_QUOTED = r"'[^']*'(?:(?:, | or )'[^']*')*"
_VALUE = rf"(?:{_QUOTED}|\([^()]*\)|\[[^\[\]]*\]|[\w./+-]*\w)?"


def options_of(parameters: Iterable[click.Parameter]) -> dict[str, str]:
    """The long option of each parameter of a command, by the name that the library has for it."""
    found = {}
    for parameter in parameters:
        for option in parameter.opts if isinstance(parameter, click.Option) else ():
            if option.startswith("--"):
                found[option[2:].replace("-", "_")] = found[parameter.name or ""] = option
    return found


def in_options(message: str, options: Mapping[str, str]) -> str:
    """The message with options for parameters: where it begins with one, gives a value to one, or names one that no
    English word is.

    >>> in_options("unit needs per_unit='max' or 'min', or bounds=(0, 9).", {n: f"--{n}" for n in ("unit", "bounds")})
    "--unit needs per_unit='max' or 'min', or --bounds 0:9."
    """
    if not options:
        return message
    names = "|".join(sorted(options, key=len, reverse=True))
    message = re.sub(
        rf"(?<![^\s(])({names})=({_VALUE})", lambda found: f"{options[found[1]]} {_written(found[2])}".rstrip(), message
    )
    message = re.sub(rf"^({names})(?= )", lambda found: options[found[1]], message)
    bare = "|".join(name for name in options if "_" in name)
    return re.sub(rf"(?<![^\s(])({bare})\b(?!\.\w)", lambda found: options[found[1]], message) if bare else message


def _written(value: str) -> str:
    """A value as it is typed after its option: flags without one, no brackets, quotes only where they are needed."""
    if value == "True":
        return ""
    if value.startswith("("):
        return ":".join(part.strip() for part in value[1:-1].split(","))
    if value.startswith("["):
        return ",".join(part.strip().strip("'") for part in value[1:-1].split(","))
    return re.sub(r"'([\w./+-]+)'", r"\1", value)
