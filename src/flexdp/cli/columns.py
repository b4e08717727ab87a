"""``flexdp columns``: the declared columns of a table."""

from __future__ import annotations

import json

import click

from flexdp._core.text import visible
from flexdp.cli.options import AS_JSON, DELIMITER, ENCODING, FORMAT, IN_DATABASE, SHEET, source_of

__all__ = ["columns"]


@click.command()
@click.argument("source", metavar="FILE...", nargs=-1, required=True)
@IN_DATABASE
@DELIMITER
@FORMAT
@ENCODING
@SHEET
@AS_JSON
def columns(
    source: tuple[str, ...],
    table: str | None,
    delimiter: str | None,
    format: str | None,  # noqa: A002
    encoding: str | None,
    sheet: str | None,
    as_json: bool,
) -> int:
    """List the columns that FILEs or a database table declare: names and types only, nothing from any record."""
    from flexdp.tables import open_table
    from flexdp.tables.opening import open_files

    if table is not None or len(source) == 1:
        place = source_of(source, table)
        declared = open_table(place, file_format=format, delimiter=delimiter, encoding=encoding, sheet=sheet).columns
    else:
        declared = open_files(source, format, delimiter, echo=True, encoding=encoding, sheet=sheet).columns
    if as_json:
        click.echo(json.dumps([{"name": c.name, "type": c.type_name, "kind": c.kind} for c in declared]))
    elif not declared:
        click.echo("No columns are declared. For JSON, name the key to release as COLUMN.", err=True)
    for column in () if as_json else declared:
        click.echo(f"{visible(column.name or '')}\t{visible(column.type_name)}")
    return 0
