"""``flexdp demo``: real departure delays, published beside the truth, because this table is public."""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import Any

import click

from flexdp._core.exact import value_text
from flexdp._release.api import Release, release
from flexdp.cli.output import bar_chart, print_answers

__all__ = ["demo"]

_COLUMN = "departure_delay"


@click.command()
@click.option("--epsilon", "-e", default="1", show_default=True, metavar="E", help="Privacy loss of one record.")
@click.option(
    "--delta", "-d", default="1e-6", show_default=True, metavar="D", help="Probability that the promise fails."
)
@click.option("--json", "as_json", is_flag=True, help="Print the release as JSON.")
def demo(epsilon: str, delta: str, as_json: bool) -> int:
    """Publish the departure delays of 336 776 real flights next to the true values, which are public."""
    with as_file(files("flexdp") / "data" / "flights.parquet") as path:
        published = release(path, _COLUMN, epsilon=epsilon, delta=delta)  # nothing else: buckets are chosen privately
        carriers = release(path, "carrier", epsilon=epsilon, delta=delta)
        truth = _truth(str(path))
    if as_json:
        click.echo(published.to_json(indent=2))
    else:
        _narrate(published, carriers, truth)
    return 0


def _narrate(published: Release, carriers: Release, truth: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(soft_wrap=not Console().is_terminal)
    console.print(
        f"{truth['flights']} flights left New York City in 2013. How late were they? "
        "Delays in minutes. Nothing was given but ε and δ: no width, no bounds.\n"
    )
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("statistic", "published", "truth (public here)"):
        table.add_column(heading, justify="left" if heading == "statistic" else "right")
    answers = published.answers()  # five, where ε is so small that there are no buckets
    if published.budget is not None:
        answers = [published.max(), published.min(), published.median()]
        answers += [published.quantile(level) for level in ("0.9", "0.99")]
    for answer in answers:
        table.add_row(answer.name, answer.text, value_text(truth.get(answer.name, "")))
    console.print(table)
    console.print("\nWhat these answers mean:")
    print_answers(published, [answers[0], answers[-1]])
    print_answers(carriers, [carriers.support()])
    if published.budget is not None:
        console.print("\nThe histogram of the same release:")
        console.print(bar_chart(published))
    console.print("\nThe privacy guarantee and its proof:")
    console.print(str(published.certificate()), markup=False, highlight=False)
    console.print(f"\nThe carriers are a second release; both together cost twice the ε and δ. {truth['note']}")


def _truth(path: str) -> dict[str, Any]:
    """The true answers, which may be shown because the table is public."""
    from flexdp.tables.duckdb.dialect import DUCKDB
    from flexdp.tables.duckdb.run import connection

    with connection() as con:
        row = con.execute(
            f"SELECT max({_COLUMN}), min({_COLUMN}), quantile_disc({_COLUMN}, [0.5, 0.9, 0.99]), "
            f"count(*) FILTER ({_COLUMN} > 480), count(*) FROM read_parquet({DUCKDB.text(path)})"
        ).fetchone()
    note = (
        f"In fact {row[3]} flights were more than eight hours late. They are in the last bucket, which is open: "
        "how late the latest was stays private, unless it is asked for (ask=['max'])."
    )
    return {
        "maximum": row[0],
        "minimum": row[1],
        "median": row[2][0],
        "90th percentile": row[2][1],
        "99th percentile": row[2][2],
        "note": note,
        "flights": f"{row[4]:,}".replace(",", " "),
    }
