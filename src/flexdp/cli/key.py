"""``flexdp key``: keys of publishers."""

from __future__ import annotations

import json
from pathlib import Path

import click

from flexdp._core.text import visible
from flexdp.cli.errors import Run, Subcommands
from flexdp.cli.keys import PASSPHRASE, new_passphrase
from flexdp.cli.options import AS_JSON

__all__ = ["key"]


@click.group(cls=Subcommands)
def key() -> None:
    """Make keys to sign releases with."""


@key.command()
@click.argument("path", metavar="FILE")
@click.option("--encrypt", is_flag=True, help=f"Encrypt it with a passphrase, typed or from {PASSPHRASE}.")
@AS_JSON
@click.pass_obj
def new(run: Run, /, path: str, encrypt: bool, as_json: bool) -> int:
    """Make a private key in FILE, such as publisher.key, and its public key beside it, in publisher.pub.

    Neither file may exist. Keep FILE secret; give the other one, or its fingerprint, to your readers.
    """
    from flexdp.signing import new_key

    run.kept = "no key was made"
    made = new_key(path, passphrase=new_passphrase() if encrypt else None)
    public = str(Path(path).with_suffix(".pub"))
    if as_json:
        click.echo(json.dumps({"private": path, "public": public, "fingerprint": made.fingerprint}, indent=2))
        return 0
    click.echo(made.fingerprint)
    click.echo(f"Wrote {visible(path)} (secret) and {visible(public)} (for readers).", err=True)
    return 0
