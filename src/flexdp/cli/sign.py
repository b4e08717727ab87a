"""``flexdp sign``: a detached signature of a saved release."""

from __future__ import annotations

import json

import click

from flexdp._core.text import safe_repr, visible
from flexdp.cli.errors import Run, violation
from flexdp.cli.inputs import read_bytes, verified
from flexdp.cli.keys import loaded_key
from flexdp.cli.options import AS_JSON
from flexdp.cli.output import AtomicFile
from flexdp.errors import InputError

__all__ = ["sign"]


@click.command()
@click.argument("source", metavar="RELEASE.json")
@click.option("--key", required=True, metavar="FILE", help="Private key, as flexdp key new wrote it.")
@click.option("--output", "-o", metavar="FILE", help="Signature to write (.sig); default: RELEASE.json.sig.")
@AS_JSON
@click.pass_obj
def sign(run: Run, /, source: str, key: str, output: str | None, as_json: bool) -> int:
    """Sign a saved release with the key of its publisher; '-' reads standard input.

    Exactly the bytes of the file are signed, and only if flexdp verify finds nothing wrong with them. An
    encrypted key's passphrase is typed, or taken from FLEXDP_PASSPHRASE.
    """
    from flexdp.audit.documents import LARGEST_DOCUMENT

    run.kept = "nothing was signed"
    if source == "-" and output is None:
        raise InputError("output", "is missing: standard input has no name", remedy="Name the signature's file.")
    place = f"{source}.sig" if output is None else output
    target = AtomicFile(place, inputs=[source, key], endings=[".sig"])
    secret = loaded_key(key)
    document = read_bytes("source", source, LARGEST_DOCUMENT)
    found = verified(document)
    if not found.holds:
        return violation(run, f"nothing was signed. {found.failed[0].name}: {found.failed[0].statement}")
    signature = secret.sign(document)
    try:
        with target:
            target.write_text(signature.to_json())
    except OSError:
        raise InputError("output", f": could not write {safe_repr(place)}", remedy="Is the disk full?") from None
    if as_json:
        content = {
            "signature": place,
            "fingerprint": signature.public_key.fingerprint,
            "digest": f"sha256:{signature.digest}",
        }
        click.echo(json.dumps(content, indent=2))
    else:
        click.echo(f"Signed by the key with fingerprint {signature.public_key.fingerprint}.")
        click.echo(f"Wrote {visible(place)}.", err=True)
    return 0
