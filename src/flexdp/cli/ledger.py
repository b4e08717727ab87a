"""``flexdp ledger``: declare budgets, see what is left, check and export."""

from __future__ import annotations

import datetime as dt
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from flexdp._core.domains import path_text
from flexdp._core.exact import number_text
from flexdp._core.text import safe_repr, visible
from flexdp.accounting.books import as_csv, as_json, bar, registry
from flexdp.accounting.chain import Account
from flexdp.accounting.ledger import Ledger
from flexdp.cli.errors import VIOLATION, Subcommands
from flexdp.cli.options import AS_JSON
from flexdp.cli.output import AtomicFile
from flexdp.errors import InputError

__all__ = ["ledger"]

_LEDGER = click.argument("ledger", metavar="LEDGER")


@click.group(cls=Subcommands)
def ledger() -> None:
    """Keep privacy budgets in a file, or in PostgreSQL (postgresql://…) for a team."""


@ledger.command()
@_LEDGER
@click.argument("dataset")
@click.option("--epsilon", "-e", required=True, metavar="E", help="Most ε that all releases may spend together.")
@click.option(
    "--delta", "-d", required=True, metavar="D", help="Most δ that all releases may spend together; may be 0."
)
@click.option("--unit", default="record", show_default=True, metavar="COL", help="Privacy unit: record, or a column.")
@click.option(
    "--by-period",
    is_flag=True,
    help="For data that change, such as an overwritten file or a growing table: every release names its --period. "
    "Default: fixed data, without periods.",
)
@AS_JSON
def create(ledger: str, dataset: str, epsilon: str, delta: str, unit: str, by_period: bool, as_json: bool) -> int:
    """Declare DATASET and its budget; LEDGER is made if there is none."""
    account = Ledger(ledger).create(dataset, epsilon=epsilon, delta=delta, unit=unit, by_period=by_period)
    click.echo(_json_of([account]) if as_json else visible(bar(account, plain=True)))
    return 0


@ledger.command()
@_LEDGER
@click.argument("dataset", required=False)
@click.option(
    "--html", "page", metavar="FILE", help="Write a page that draws the spending, with a report of each release."
)
@AS_JSON
def show(ledger: str, dataset: str | None, page: str | None, as_json: bool) -> int:
    """Show what is spent and left, of one DATASET or of all."""
    found = Ledger(ledger)
    accounts = found.accounts() if dataset is None else [found.account(dataset)]
    if page is not None:
        from flexdp.report.budgets import write_pages

        if Path(path_text("page", page)).suffix.lower() not in (".html", ".htm"):
            raise InputError("page", "must end in .html", given=safe_repr(page))
        try:
            write_pages(found, [each.name for each in accounts], Path(page))
        except OSError:
            raise InputError(
                "page", f": could not write {safe_repr(page)}", remedy="Check its folder and the disk."
            ) from None
    if as_json:
        click.echo(_json_of(accounts))
    else:
        for each in accounts:
            click.echo(visible(bar(each, plain=not sys.stdout.isatty())))
        if not accounts:
            click.echo("No data set has been declared.", err=True)
    return 0


@ledger.command()
@_LEDGER
@click.argument("dataset")
@AS_JSON
def history(ledger: str, dataset: str, as_json: bool) -> int:
    """List every charge of DATASET, in order."""
    rows = Ledger(ledger).history(dataset)
    if as_json:
        from flexdp.accounting.books import row_of

        click.echo(json.dumps([row_of(row) for row in rows], indent=2))
        return 0
    for row in rows:
        cost = f"ε = {number_text(row.epsilon)}, δ = {number_text(row.delta)}"
        what = {"create": f"budget {cost}", "charge": f"charged {cost}"}.get(
            row.kind, f"stored the release of row {row.details.get('charge')}"
        )
        columns = (row.details.get("parameters") or {}).get("column")
        about = "" if columns is None else f"  {columns if isinstance(columns, str) else ', '.join(map(str, columns))}"
        click.echo(visible(f"{row.number:>5}  {row.at[:19]}Z  {what}{about}  {row.hash[:12]}"))
    return 0


@ledger.command()
@_LEDGER
@click.option("--receipt", "receipts", multiple=True, metavar="R", help="Receipt of an earlier charge; repeatable.")
@AS_JSON
def verify(ledger: str, receipts: tuple[str, ...], as_json: bool) -> int:
    """Check every row, sum and stored release of LEDGER. Exit code 5 if anything was changed.

    An older copy of the file that was put back is intact in itself: only a receipt shows it.
    """
    verdict = Ledger(ledger).verify(receipts=receipts)
    if as_json:
        content = {"intact": verdict.intact, "datasets": verdict.datasets, "rows": verdict.entries}
        click.echo(json.dumps({**content, "problems": list(verdict.problems)}, indent=2))
    else:
        for line in verdict.problems or (str(verdict),):
            click.echo(visible(line))
    return 0 if verdict.intact else VIOLATION


@ledger.command()
@_LEDGER
@click.option(
    "--format",
    "form",
    type=click.Choice(["json", "csv", "registry"]),
    default="json",
    show_default=True,
    help="All rows as JSON or CSV, or the facts that deployment registries ask for, as JSON.",
)
@click.option("--date", metavar="YYYY-MM-DD", help="Date of publication that you declare, for registries.")
@click.option("--output", "-o", metavar="FILE", help="Write to FILE (.json or .csv) instead of standard output.")
def export(ledger: str, form: str, date: str | None, output: str | None) -> int:
    """Export the history of all data sets."""
    found = Ledger(ledger)
    if date is not None and form != "registry":
        raise InputError("date", "applies to --format registry only", remedy="Leave it out.")
    try:
        declared = None if date is None else dt.date.fromisoformat(date).isoformat()
    except ValueError:
        raise InputError("date", "must be written like 2026-12-31", given=safe_repr(date)) from None
    target = AtomicFile(output, inputs=[ledger], endings=[".csv" if form == "csv" else ".json"])
    if form == "csv":
        text = as_csv(found)
    else:
        text = json.dumps(as_json(found) if form == "json" else registry(found, date=declared), indent=2) + "\n"
    if output is None:
        click.echo(text, nl=False)
        return 0
    try:
        with target:
            target.write_text(text)
    except OSError:
        raise InputError("output", f": could not write {safe_repr(output)}", remedy="Is the disk full?") from None
    return 0


def _json_of(accounts: Sequence[Account]) -> str:
    """Budgets as JSON: what was declared, what is spent and what is left."""
    listed = [
        {
            "dataset": each.name,
            "unit": each.unit,
            "by_period": each.by_period,
            "budget": {"epsilon": str(each.epsilon), "delta": str(each.delta)},
            "spent": {"epsilon": str(each.spent_epsilon), "delta": str(each.spent_delta)},
            "left": {"epsilon": str(each.remaining_epsilon), "delta": str(each.remaining_delta)},
        }
        for each in accounts
    ]
    return json.dumps({"schema": "flexdp.budgets/1", "datasets": listed}, indent=2)
