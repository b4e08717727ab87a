"""``flexdp check``: how a file is read, for its custodian only; or just the columns that it declares."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from flexdp._core.text import visible
from flexdp._release.parameters import ReadingOptions
from flexdp.cli.errors import Run
from flexdp.cli.options import AS_JSON, CONFIG, FILE, IN_DATABASE, PanelCommand, declared_dataset, options_of, source_of
from flexdp.cli.output import between_words, still_reading
from flexdp.cli.wording import speller
from flexdp.errors import InputError

__all__ = ["check"]

_OF_FILES = ("format", "delimiter", "encoding", "sheet")


@click.command(cls=PanelCommand)
@FILE
@click.argument("column", metavar="[COLUMN]...", nargs=-1)
@click.option(
    "--columns",
    "declared",
    is_flag=True,
    help="Only list the names and types of the declared columns, without reading a record: may be shown to anybody.",
)
@IN_DATABASE
@CONFIG
@options_of(ReadingOptions)
@AS_JSON
@click.pass_obj
def check(
    run: Run,
    /,
    source: str,
    column: tuple[str, ...],
    declared: bool,
    as_json: bool,
    table: str | None,
    config: str | None,
    **options: Any,
) -> int:
    """Count the cells of FILE that a release would and would not read, by reason. NOT private: for its custodian only.

    Prints true counts, but no cell. Spends nothing.
    """
    from flexdp.tables.check import check as checked

    dataset = None if table is not None else declared_dataset(source, config)
    place = source_of(source, table) if dataset is None else dataset.source
    if declared:
        if column:
            raise InputError("columns", "lists all columns", remedy="Name none.")
        return _declared(place, {name: options[name] for name in _OF_FILES}, as_json=as_json)
    run.kept = "nothing was printed"
    known = click.get_current_context().command.params
    run.spell = speller([*known, click.Option(["--where"]), click.Option(["--derive"])])  # remedies of a release
    with still_reading():
        found = checked(place, list(column) or None, **options) if dataset is None else dataset.check(column or None)
    if as_json:
        click.echo(json.dumps(found.to_dict(), indent=2))
    else:
        for line in found.message(run.spell).splitlines():
            click.echo(between_words(visible(line), sys.stdout))
    return 0


def _declared(place: Any, reading: dict[str, Any], *, as_json: bool) -> int:
    """Print the columns that a table declares."""
    from flexdp.tables import open_table

    found = open_table(place, file_format=reading.pop("format"), **reading).columns
    if as_json:
        click.echo(json.dumps([{"name": c.name, "type": c.type_name, "kind": c.kind} for c in found]))
    elif not found:
        click.echo("No columns are declared. For JSON, name the key to release as COLUMN.", err=True)
    for column in () if as_json else found:
        click.echo(f"{visible(column.name or '')}\t{visible(column.type_name)}")
    return 0
