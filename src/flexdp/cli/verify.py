"""``flexdp verify``: everything that a published release can prove, proved again."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from flexdp._core.text import visible
from flexdp.cli.errors import Run, violation
from flexdp.cli.inputs import read_bytes, verified
from flexdp.cli.options import AS_JSON

if TYPE_CHECKING:
    from flexdp.audit import CheckedDocument

__all__ = ["verify"]


@click.command()
@click.argument("source", metavar="RELEASE.json")
@AS_JSON
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but the check that failed.")
@click.pass_obj
def verify(run: Run, /, source: str, as_json: bool, quiet: bool) -> int:
    """Prove again, from the document alone, everything that a release can prove; '-' reads standard input.

    Noise is rebuilt from ε and δ and proved private in integers, costs are added up, answers and sentences are
    derived again. Exit code 5 if anything fails, 2 if it is not a release.
    """
    from flexdp.audit.documents import LARGEST_DOCUMENT

    run.kept = "nothing was decided"
    document = read_bytes(
        "source", source, LARGEST_DOCUMENT, remedy="Name the file that flexdp release -o FILE.json wrote."
    )
    found = verified(document)
    if as_json:
        click.echo(json.dumps(found.to_dict(), indent=2))
    elif not quiet:
        _print(found)
    if found.holds:
        return 0
    first = found.failed[0]
    where = "" if first.column is None else f"{first.column}, "
    return violation(run, f"{where}{first.name}: {first.statement}")


def _print(found: CheckedDocument) -> None:
    """Print a table on a terminal, sentences in a pipe."""
    if not sys.stdout.isatty():
        click.echo(str(found))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    several = any(check.column is not None for check in found.checks)
    table.add_column(style="bold")
    if several:
        table.add_column(overflow="fold", max_width=18)
    table.add_column()
    table.add_column(overflow="fold", ratio=1)
    for check in found.checks:
        verdict = Text("holds", "green") if check.holds else Text("FAILS", "bold red")
        column = [Text(visible(check.column or ""))] if several else []
        table.add_row(verdict, *column, Text(check.name), Text(visible(check.statement)))
    console.print(Text(visible(found.verdict)))
    console.print(table)
    console.print(Text(f"No document proves {'; '.join(found.not_proved)}."))
