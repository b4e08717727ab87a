"""``flexdp query``: the SQL that a release would run."""

from __future__ import annotations

import json
from typing import Any

import click

from flexdp.cli.options import REQUEST, PanelCommand, declared_dataset, prepared

__all__ = ["query"]


@click.command(cls=PanelCommand)
@REQUEST
@click.option(
    "--dialect",
    metavar="D",
    help="Show the query in another dialect: clickhouse, duckdb, mariadb, postgres, spark or sqlite.",
)
def query(
    source: str,
    columns: tuple[str, ...],
    table: str | None,
    config: str | None,
    dialect: str | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Show the SQL that a release of columns of FILE would run. Nothing is run and nothing is spent."""
    declared = None if table is not None else declared_dataset(source, config)
    request = prepared(source, columns, table, dataset=declared, **options)
    text = request.query(dialect)
    own = getattr(getattr(request.questions[0].table, "dialect", None), "name", "duckdb")
    click.echo(json.dumps({"dialect": dialect or own, "sql": text}) if as_json else text)
    return 0
