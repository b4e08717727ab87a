"""Private keys on the command line: where their passphrase comes from, and what to say of careless permissions."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import click

from flexdp._core.text import visible
from flexdp.errors import InputError
from flexdp.signing import PrivateKey

__all__ = ["PASSPHRASE", "loaded_key", "new_passphrase"]

PASSPHRASE = "FLEXDP_PASSPHRASE"  # never an argument, which other users can see


def new_passphrase() -> str:
    """Return the passphrase of a new key, from the environment or typed twice."""
    return _passphrase(confirm=True)


def loaded_key(path: str, parameter: str = "key") -> PrivateKey:
    """Load a private key, asking for its passphrase only where it has one.

    Parameters
    ----------
    path
        The key file.
    parameter
        The parameter that names it, for messages.

    Returns
    -------
    PrivateKey
        The key.

    Raises
    ------
    InputError
        If the key cannot be read.
    """
    try:
        key = PrivateKey.load(path, passphrase=_passphrase)
    except InputError as refusal:
        raise InputError(parameter, refusal.rule, given=refusal.given, remedy=refusal.remedy) from None
    if os.name == "posix" and stat.S_IMODE(Path(path).stat().st_mode) & 0o077:
        click.echo(f"Warning: others can read {visible(path)}; run chmod 600 on it.", err=True)
    return key


def _passphrase(*, confirm: bool = False) -> str:
    given = os.environ.get(PASSPHRASE)
    return given if given is not None else _typed(confirm=confirm)


def _typed(*, confirm: bool) -> str:
    if not sys.stdin.isatty():
        raise InputError(
            "key", "needs a passphrase", remedy=f"Run in a terminal to type it, or set {PASSPHRASE} in the environment."
        )
    return str(click.prompt("Passphrase", hide_input=True, confirmation_prompt=confirm, err=True))
