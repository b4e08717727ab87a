"""One budget for two weeks of releases: a ledger charges before a record is read, and refuses what does not fit.

The budget belongs to the data set, not to a program: every process that names the same ledger and data set shares it. Here
the two weeks are two parts of one script; between them nothing is kept but the file.

Run it with: python examples/ledger.py
"""

from __future__ import annotations

import tempfile
from importlib.resources import files
from pathlib import Path

import flexdp

FLIGHTS = str(files("flexdp") / "data" / "flights.parquet")
DATASET = "flights-2013"


def first_week(path: Path) -> None:
    # Whoever is responsible for the data declares the total, once.
    ledger = flexdp.Ledger(path)
    ledger.create(DATASET, epsilon=2, delta="4e-6")

    carriers = flexdp.release(FLIGHTS, "carrier", epsilon=1, delta="1e-6", ledger=ledger, dataset=DATASET)
    print("Monday, carriers:", carriers.payment)

    # The same request again returns the stored release: no new noise, no new cost.
    again = flexdp.release(FLIGHTS, "carrier", epsilon=1, delta="1e-6", ledger=ledger, dataset=DATASET)
    print("Tuesday, the same:", again.payment)
    assert again == carriers


def second_week(path: Path) -> None:
    ledger = flexdp.Ledger(path)  # another process, perhaps another person
    delays = flexdp.release(
        FLIGHTS, "departure_delay", epsilon="0.75", delta="1e-6", width=15, ledger=ledger, dataset=DATASET
    )
    print("Monday, delays:", delays.payment)

    try:
        flexdp.release(FLIGHTS, "airport", epsilon=1, delta="1e-6", ledger=ledger, dataset=DATASET)
    except flexdp.BudgetError as refused:  # nothing was read, nothing was charged
        print("Tuesday, airports:", refused)

    # Every line of the ledger is chained to the one before: what was charged cannot be forgotten quietly.
    print("The ledger is intact:", ledger.verify().intact)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "budget.db"
        print("First week")
        first_week(path)
        print("Second week")
        second_week(path)


if __name__ == "__main__":
    main()
