"""Publish flight delays and look at the truth beside them.

The table is that of the 336 776 flights that left New York City in 2013. It is public and ships with flexdp, so the exact
answers may be shown. For a private table, the left column is all that anybody sees.

Run it with: python examples/flights.py
"""

from __future__ import annotations

from importlib.resources import files

import duckdb

import flexdp

FLIGHTS = str(files("flexdp") / "data" / "flights.parquet")


def main() -> None:
    # One release answers all questions below. Half of the budget goes to the maximum, half to the buckets.
    release = flexdp.release(FLIGHTS, "departure_delay", epsilon=1, delta="1e-6", ask=["max"])

    # The truth, on a connection of its own: this table is public.
    question = "SELECT max(departure_delay), quantile_disc(departure_delay, 0.99), median(departure_delay) FROM read_parquet(?)"
    with duckdb.connect() as con:
        (exact,) = con.execute(question, [FLIGHTS]).fetchall()
    answers = (release.max(), release.quantile("0.99"), release.median())
    for name, answer, truth in zip(("maximum", "99th percentile", "median"), answers, exact, strict=True):
        print(f"{name:16} published {answer.text:12} exact {truth:g}")

    # Every answer has a sentence that says what is certain about it; the conditions are stated once.
    print()
    print(*release.conditions)
    for answer in answers:
        print(answer)
    print(release.privacy)


if __name__ == "__main__":
    main()
