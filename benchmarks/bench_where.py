"""Filters in DuckDB: release(where=…) of a Parquet file against the bare count with the same WHERE.

Processor time is compared, of all threads, because elapsed time says little on a machine that does other things, too.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
from _timing import say

import flexdp

ROWS = int(os.environ.get("ROWS", 100_000_000))
ROUNDS = int(os.environ.get("ROUNDS", 7))
SPEND = {"epsilon": 1, "delta": "1e-6"}
FILTERS = {
    "an integer": "g < 50",
    "a text": "w = 'ward 7' OR w = 'ward 8'",
    "a number": "y > 250.5",
    "a day": "d >= DATE '2024-03-01'",
    "a year": "year(d) = 2024",
    "a pattern": "w LIKE 'ward 1%'",
    "all of them": "g < 90 AND y > 100 AND year(d) >= 2023 AND w <> 'ward 3'",
}


def bare(path: Path, where: str) -> object:
    """Run the plain query under the limits of a release."""
    con = duckdb.connect()
    con.execute("SET enable_progress_bar = false; SET preserve_insertion_order = false; SET memory_limit = '600MB'")
    return con.execute(
        f"SELECT floor(x / 1e0) AS b, count(*) FROM read_parquet('{path}') WHERE {where} GROUP BY b"
    ).fetchnumpy()


def race(contenders: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the seconds of processor time of each contender's best round."""
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(rounds):
        for name, work in contenders.items():
            started = time.process_time()
            work()
            best[name] = min(best[name], time.process_time() - started)
    return best


def make(path: Path, rows: int) -> None:
    con = duckdb.connect()
    con.execute("SET enable_progress_bar = false")
    con.execute(
        "COPY (SELECT random() * 1000 AS x, (hash(i) % 100)::INTEGER AS g, random() * 1000 AS y, "
        "'ward ' || (hash(i + 1) % 20) AS w, DATE '2022-01-01' + (hash(i + 2) % 1000)::INTEGER AS d "
        f"FROM range({rows}) t(i)) TO '{path}' (FORMAT parquet)"
    )


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="flexdp-bench-") as folder:
        path, few = Path(folder) / "t.parquet", Path(folder) / "few.parquet"
        make(path, ROWS)
        make(few, 100)
        for name, where in FILTERS.items():
            best = race(
                {
                    "bare": lambda where=where: bare(path, where),
                    "release": lambda where=where: flexdp.release(path, "x", width=1, where=where, **SPEND),
                    "bare, few rows": lambda where=where: bare(few, where),
                    "release, few rows": lambda where=where: flexdp.release(few, "x", width=1, where=where, **SPEND),
                },
                ROUNDS,
            )
            say(f"{ROWS:,} rows, {name}: release", best["release"], best["release"] / best["bare"], "≤ 1.1 at 10^8")
            counted = best["release"] - best["release, few rows"]
            say("  without what 100 rows cost", counted, counted / (best["bare"] - best["bare, few rows"]), "≤ 1.1")


if __name__ == "__main__":
    main()
