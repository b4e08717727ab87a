"""``flexdp check``: how a file is read, for its custodian alone."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from flexdp._core.text import visible
from flexdp.cli.errors import Run
from flexdp.cli.options import AS_JSON, IN_DATABASE, READING, ROWS_ARE_RECORDS, all_of, source_of
from flexdp.cli.output import between_words, still_reading
from flexdp.cli.wording import speller

__all__ = ["check"]


@click.command()
@click.argument("source", metavar="FILE")
@click.argument("column", metavar="[COLUMN]...", nargs=-1)
@click.option(
    "--kind",
    type=click.Choice(["integer", "number", "text", "date", "datetime", "boolean"]),
    help="Type to read the columns as; default: the declared one, or number.",
)
@click.option("--zone", metavar="Z", help="Time zone, if datetimes are written with an offset.")
@IN_DATABASE
@ROWS_ARE_RECORDS
@all_of((*READING, AS_JSON))
@click.pass_obj
def check(run: Run, /, source: str, column: tuple[str, ...], as_json: bool, **options: Any) -> int:
    """Count the cells of FILE that a release would read and would not, by reason. NOT private: for its custodian only.

    Prints true counts, and no cell. Spends nothing.
    """
    from flexdp.tables.check import check as checked

    run.kept = "nothing was printed"
    options["currency"] = list(options["currency"]) or None
    known = click.get_current_context().command.params
    run.spell = speller([*known, click.Option(["--where"]), click.Option(["--derive"])])  # remedies of a release
    with still_reading():
        found = checked(source_of((source,), options.pop("table")), list(column) or None, **options)
    if as_json:
        click.echo(json.dumps(found.to_dict(), indent=2))
    else:
        for line in found.message(run.spell).splitlines():
            click.echo(between_words(visible(line), sys.stdout))
    return 0
