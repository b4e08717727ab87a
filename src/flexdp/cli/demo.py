"""The demonstration: real departure delays, published, and (because this table is public) the truth beside them."""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import Any

from flexdp._release.api import Release, release
from flexdp.cli.output import bar_chart, print_answers, show

__all__ = ["run"]

_COLUMN = "departure_delay"


def run(epsilon: str, delta: str, *, as_json: bool) -> None:
    """Release the delays of the shipped flights table and print what can be read off it."""
    with as_file(files("flexdp") / "data" / "flights.parquet") as path:
        published = release(path, _COLUMN, epsilon=epsilon, delta=delta, width=15, bounds=(-60, 1440))
        carriers = release(path, "carrier", epsilon=epsilon, delta=delta)
        truth = _truth(str(path))
    if as_json:
        from rich import get_console

        get_console().file.write(published.to_json(indent=2) + "\n")
        return
    _narrate(published, carriers, truth)


def _narrate(published: Release, carriers: Release, truth: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(soft_wrap=not Console().is_terminal)
    console.print(
        f"{truth['flights']} flights left New York City in 2013. How late were they? "
        "Delays in minutes, buckets of 15.\n"
    )
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("statistic", "published", "truth (public here)"):
        table.add_column(heading, justify="left" if heading == "statistic" else "right")
    answers = {
        "maximum": published.max(),
        "minimum": published.min(),
        "median": published.median(),
        "0.9-quantile": published.quantile("0.9"),
        "0.99-quantile": published.quantile("0.99"),
    }
    for name, answer in answers.items():
        table.add_row(name, show(answer.value), show(truth[name]))
    console.print(table)
    console.print("\nWhat may be said of them:")
    print_answers(published, [published.max(), published.quantile("0.99")])
    print_answers(carriers, [carriers.support()])
    console.print("\nThe histogram, from the same release:")
    console.print(bar_chart(published))
    console.print("\nWhat is promised, and its proof:")
    console.print(str(published.certificate()), markup=False, highlight=False)
    console.print(f"\nThe carriers are a second release; the two together cost twice the ε and δ. {truth['note']}")


def _truth(path: str) -> dict[str, Any]:
    """The true answers, which only a public table may show."""
    from flexdp.tables.duckdb.dialect import DUCKDB
    from flexdp.tables.duckdb.run import connection

    with connection() as con:
        row = con.execute(
            f"SELECT max({_COLUMN}), min({_COLUMN}), quantile_disc({_COLUMN}, [0.5, 0.9, 0.99]), "
            f"count(*) FILTER ({_COLUMN} > 480), count(*) FROM read_parquet({DUCKDB.text(path)})"
        ).fetchone()
    note = f"In truth {row[3]} flights were over eight hours late: few enough to be left out, the maximum among them."
    return {
        "maximum": row[0],
        "minimum": row[1],
        "median": row[2][0],
        "0.9-quantile": row[2][1],
        "0.99-quantile": row[2][2],
        "note": note,
        "flights": f"{row[4]:,}".replace(",", " "),
    }
