"""Examples at the end of each command's help; the tests run them, one after the other, in a folder with the flights."""

from __future__ import annotations

import click

__all__ = ["EXAMPLES", "with_examples"]

EXAMPLES: dict[str, tuple[str, ...]] = {
    "demo": ("flexdp demo", "flexdp demo --epsilon 0.1", "flexdp demo --save flights.parquet"),
    "init": ("flexdp init flights.parquet --name flights --unit record",),
    "check": (
        "flexdp check flights.parquet --columns",
        "flexdp check flights.parquet departure_delay --kind integer",
    ),
    "release": (
        "flexdp release flights.parquet departure_delay -e 1 -d 1e-6",
        "flexdp release flights.parquet departure_delay -e 1 -d 1e-6 --ask max --ask q0.99 -o delays.html",
        "flexdp release flights.parquet departure_delay -e 1 -d 1e-6 --width 15 --by airport -o delays.json",
        "flexdp release flights.parquet carrier -e 1 -d 1e-6 --where \"airport = 'JFK'\" --stat counts",
    ),
    "summary": (
        "flexdp summary flights.parquet -e 2 -d 1e-5 -o flights.html",
        "flexdp summary flights.parquet -e 2 -d 1e-5 --skip airport",
    ),
    "query": ("flexdp query flights.parquet departure_delay --width 15",),
    "report": ("flexdp report delays.json -o delays.html",),
    "plan": (
        "flexdp plan --epsilon 1 --delta 1e-6 --records-about 300000",
        "flexdp plan --lose-share 0.02 --bounds=-60:1440 --width 15 --records-about 300000",
        "flexdp plan --epsilon 1 --public-sample flights.parquet departure_delay --width 15",
    ),
    "lab": (
        "flexdp lab experiment 1 2 --quick --out results",
        "flexdp lab compare --law cauchy:45,4 --stat max -m dropping -m em --runs 20",
    ),
    "audit": (
        "flexdp audit mymodule:my_mechanism 10 11 --epsilon 1",
        "flexdp audit search --form 'CSV file' --pairs 20",
    ),
    "verify": ("flexdp verify delays.json",),
    "ledger": (
        "flexdp ledger create budget.db flights --epsilon 3 --delta 4e-6",
        "flexdp release flights.parquet carrier -e 1 -d 1e-6 --ledger budget.db --dataset flights",
        "flexdp ledger show budget.db",
    ),
    "web": ("flexdp web",),
}


def with_examples(name: str, command: click.Command) -> click.Command:
    """Return a command whose help ends with its examples.

    Parameters
    ----------
    name
        The command's name.
    command
        The command.

    Returns
    -------
    click.Command
        The same command.
    """
    lines = "\n".join(f"  {line}" for line in EXAMPLES[name])
    command.epilog = f"\b\nExamples:\n{lines}"
    return command
