"""``flexdp demo``: real departure delays, published beside the truth, because this table is public."""

from __future__ import annotations

import json
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import click

from flexdp._core.domains import path_text
from flexdp._core.exact import value_text
from flexdp._core.files import replacing
from flexdp._core.text import safe_repr, thousands
from flexdp._release.answers import Answer
from flexdp._release.api import Release, release
from flexdp.cli.output import bar_chart
from flexdp.errors import InputError

__all__ = ["demo"]

_COLUMN = "departure_delay"


@click.command()
@click.option("--epsilon", "-e", default="1", show_default=True, metavar="E", help="Privacy loss of one record.")
@click.option(
    "--delta", "-d", default="1e-6", show_default=True, metavar="D", help="Probability that the promise fails."
)
@click.option("--json", "as_json", is_flag=True, help="Print the release as JSON.")
@click.option("--save", metavar="FILE", help="Write the table of flights to FILE, for the examples, and exit.")
def demo(epsilon: str, delta: str, as_json: bool, save: str | None) -> int:
    """Publish the departure delays of 336 776 real flights next to the true values, which are public."""
    with as_file(files("flexdp") / "data" / "flights.parquet") as path:
        if save is not None:
            return _saved(path, save)
        published = release(path, _COLUMN, epsilon=epsilon, delta=delta)
        truth = _truth(str(path))
    if as_json:
        click.echo(published.to_json(indent=2))
    else:
        _narrate(published, truth)
    return 0


def _saved(path: Path, target: str) -> int:
    """Copy the shipped table."""
    try:
        with replacing(Path(path_text("save", target))) as draft:
            draft.write_bytes(path.read_bytes())
    except OSError:
        raise InputError(
            "save", f"{safe_repr(target)} cannot be written", remedy="Check its name and the permissions of its folder."
        ) from None
    click.echo(f"{target}: 336 776 flights that left New York City in 2013 (airport, carrier, departure_delay).")
    return 0


def _narrate(published: Release, truth: dict[str, Any]) -> None:
    from rich.console import Console

    console = Console(soft_wrap=not Console().is_terminal, highlight=False)
    console.print(
        f"{truth['flights']} flights left New York City in 2013. How late were they, in minutes? Nothing was given but "
        f"ε = {value_text(published.privacy.epsilon)} and δ: no bounds, no widths.\n"
    )
    answers = [published.max(), published.min()]
    if published.budget is not None:
        answers += [published.median(), published.quantile("0.9"), published.quantile("0.99"), published.mean()]
    console.print(_table(answers, truth))
    console.print("\nWhat these answers mean:")
    for answer in answers[:1] + answers[2:3] + answers[4:5]:
        console.print(answer.statement)
    if published.budget is not None:
        console.print(f"\nThe histogram of the same release. {' '.join(published.conditions[1:])}")
        console.print(bar_chart(published))
    console.print("\nWhat is promised to every flight:")
    console.print(str(published.privacy))
    console.print(
        "The proof is integer arithmetic on the tables that were drawn from: print(release.certificate()) shows it.\n"
    )
    _peers(console)


def _table(answers: list[Answer], truth: dict[str, Any]) -> Any:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("", "published", "exact (public here)"):
        table.add_column(heading, justify="right" if heading else "left")
    for answer in answers:
        table.add_row(answer.name, answer.text, value_text(truth[answer.name]))
    return table


def _peers(console: Any) -> None:
    """What other libraries answered when they were measured, with the bounds that they need."""
    from rich.table import Table

    found = json.loads((files("flexdp") / "data" / "peers.json").read_text())
    answers = found["lowest, median and highest answer"]
    versions = ", ".join(f"{name} {number}" for name, number in found["versions"].items())
    (low, high), (lower, higher) = found["bounds"]["good"], found["bounds"]["wide"]
    console.print(
        f"Other libraries must be given bounds. The median of {found['runs']} answers, with bounds {low} to {high} and "
        f"(in brackets) {thousands(lower)} to {thousands(higher)}, as {found['command']} recorded on "
        f"{found['measured']} ({versions}; ε = 1 shared by the {found['questions']} questions):"
    )
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("")
    for library in answers:
        table.add_column(library, justify="right")
    for question in next(iter(answers.values())):
        cells = [answers[library][question] for library in answers]
        table.add_row(question, *(f"{_short(cell['good'][1])} ({_short(cell['wide'][1])})" for cell in cells))
    console.print(table)


def _short(value: float) -> str:
    return thousands(int(value)) if value == int(value) else f"{value:.4g}"


def _truth(path: str) -> dict[str, Any]:
    """The true answers, which may be shown because the table is public."""
    from flexdp.tables.engines.duckdb.dialect import DUCKDB
    from flexdp.tables.engines.duckdb.session import connection

    with connection() as con:
        row = con.execute(
            f"SELECT max({_COLUMN}), min({_COLUMN}), round(avg({_COLUMN}), 2), quantile_disc({_COLUMN}, "
            f"[0.5, 0.9, 0.99]), count(*) FROM read_parquet({DUCKDB.text(path)})"
        ).fetchone()
    return {
        "maximum": row[0],
        "minimum": row[1],
        "mean": row[2],
        "median": row[3][0],
        "90th percentile": row[3][1],
        "99th percentile": row[3][2],
        "flights": thousands(row[4]),
    }
