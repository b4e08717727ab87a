"""A message of the library in the words of the command line: ``per_unit='max'`` becomes ``--per-unit max``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import click

__all__ = ["in_options", "options_of"]

_QUOTED = r"'[^']*'(?:(?:, | or )'[^']*')*"
_VALUE = rf"(?:{_QUOTED}|\([^()]*\)|\[[^\[\]]*\]|[\w./+-]*\w)?"
_TYPED = r"""(?<!\w)(?:'[^']*'|"[^"]*")(?!\w)"""  # what the user wrote is repeated as it is


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
    odd = "|".join(name for name in options if "_" in name) or "(?!)"
    given = rf"(?<![^\s(])(?P<given>{names})=(?P<value>{_VALUE})"
    named = rf"^(?P<first>{names})(?= )|(?<![^\s(])(?P<odd>{odd})\b(?!\.\w)"

    def said(found: re.Match[str]) -> str:
        if found["given"]:
            return f"{options[found['given']]} {_written(found['value'])}".rstrip()
        name = found["first"] or found["odd"]
        return options[name] if name else found[0]

    return re.sub(rf"{given}|{named}|{_TYPED}", said, message)


def _written(value: str) -> str:
    """A value as it is typed after its option: flags without one, no brackets, quotes only where they are needed."""
    if value == "True":
        return ""
    if value.startswith("("):
        return ":".join(part.strip().strip("'") for part in value[1:-1].split(","))
    if value.startswith("["):
        inner = re.sub(r"\(([^()]*)\)", lambda pair: _written(pair.group()), value[1:-1])
        return ",".join(part.strip().strip("'") for part in inner.split(","))
    return re.sub(r"'([\w./+-]+)'", r"\1", value)
