"""Filters in DuckDB: release(where=…) of a Parquet file against the bare count with the same WHERE."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import duckdb
from _timing import race, say

import flexdp

ROWS = int(os.environ.get("ROWS", 100_000_000))
ROUNDS = int(os.environ.get("ROUNDS", 7))
SPEND = {"epsilon": 1, "delta": "1e-6"}
FILTERS = {
    "an integer": ("g < 50", "g < 50"),
    "a text": ("w = 'ward 7' OR w = 'ward 8'", "w = 'ward 7' OR w = 'ward 8'"),
    "a number": ("y > 250.5", "y > 250.5"),
    "a day": ("d >= DATE '2024-03-01'", "d >= DATE '2024-03-01'"),
    "a year": ("year(d) = 2024", "year(d) = 2024"),
    "a pattern": ("w LIKE 'ward 1%'", "w LIKE 'ward 1%'"),
    "all of them": (
        "g < 90 AND y > 100 AND year(d) >= 2023 AND w <> 'ward 3'",
        "g < 90 AND y > 100 AND year(d) >= 2023 AND w <> 'ward 3'",
    ),
}


def bare(path: Path, where: str) -> object:
    """Run the plain query under the limits of a release."""
    con = duckdb.connect()
    con.execute("SET enable_progress_bar = false; SET preserve_insertion_order = false; SET memory_limit = '600MB'")
    return con.execute(
        f"SELECT floor(x / 1e0) AS b, count(*) FROM read_parquet('{path}') WHERE {where} GROUP BY b"
    ).fetchnumpy()


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="flexdp-bench-") as folder:
        path = Path(folder) / "t.parquet"
        con = duckdb.connect()
        con.execute("SET enable_progress_bar = false")
        con.execute(
            "COPY (SELECT random() * 1000 AS x, (hash(i) % 100)::INTEGER AS g, random() * 1000 AS y, "
            "'ward ' || (hash(i + 1) % 20) AS w, DATE '2022-01-01' + (hash(i + 2) % 1000)::INTEGER AS d "
            f"FROM range({ROWS}) t(i)) TO '{path}' (FORMAT parquet)"
        )
        for name, (ours, theirs) in FILTERS.items():
            best = race(
                {
                    "bare": lambda theirs=theirs: bare(path, theirs),
                    "release": lambda ours=ours: flexdp.release(path, "x", width=1, where=ours, **SPEND),
                },
                ROUNDS,
            )
            say(f"{ROWS:,} rows, {name}: release", best["release"], best["release"] / best["bare"], "≤ 1.1")


if __name__ == "__main__":
    main()
