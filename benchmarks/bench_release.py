"""A column of 10^8 doubles in Parquet, and 10^7 in memory: release() against the bare count."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
import numpy as np
from _timing import race, say

import flexdp

ROWS = int(os.environ.get("ROWS", 100_000_000))
SPEND = {"epsilon": 1, "delta": "1e-6"}


def make(path: Path, rows: int) -> None:
    con = duckdb.connect()
    con.execute("SET enable_progress_bar = false")
    # About one value in a thousand lies outside the bounds below, in every row group.
    con.execute(f"COPY (SELECT random() * 1001 - 0.5 AS x FROM range({rows})) TO '{path}' (FORMAT parquet)")


def bare(path: Path, where: str = "") -> object:
    con = duckdb.connect()
    con.execute("SET enable_progress_bar = false")
    return con.execute(
        f"SELECT floor(x / 1e-1) AS bucket, count(*) FROM read_parquet('{path}') {where} GROUP BY 1"
    ).fetchnumpy()


def peak_memory(path: Path) -> float:
    """Return the peak memory, in megabytes, of a fresh process that releases the file."""
    code = (
        "import sys, resource, flexdp; "
        "flexdp.release(sys.argv[1], 'x', epsilon=1, delta='1e-6', width='0.1', bounds=(0, 1000)); "
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    out = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    return int(out.stdout) / 1024


def files(folder: Path) -> None:
    whole, half = folder / "whole.parquet", folder / "half.parquet"
    make(whole, ROWS)
    make(half, ROWS // 2)
    best = race(
        {
            "bare": lambda: bare(whole),
            "bounded": lambda: flexdp.release(whole, "x", width="0.1", bounds=(0, 1000), **SPEND),
            "open": lambda: flexdp.release(whole, "x", width="0.1", **SPEND),
            "bare with WHERE": lambda: bare(whole, "WHERE x BETWEEN 0 AND 1000"),
            "dropping outside": lambda: flexdp.release(
                whole, "x", width="0.1", bounds=(0, 1000), outside="drop", **SPEND
            ),
            "relative": lambda: flexdp.release(whole, "x", relative="0.05", **SPEND),
            "half": lambda: flexdp.release(half, "x", width="0.1", bounds=(0, 1000), **SPEND),
        },
        rounds=5,
    )
    say(f"bare GROUP BY, {ROWS:.0e} rows of Parquet, 10^4 buckets", best["bare"])
    for name, peer in (
        ("bounded", "bare"),
        ("open", "bare"),
        ("dropping outside", "bare with WHERE"),
        ("relative", "bare"),
    ):
        target = "none (a logarithm a row)" if name == "relative" else "≤ 1.2"
        say(f"release, {name}, against {peer}", best[name], best[name] / best[peer], target)
    say("release, bounded, half the rows", best["half"], best["bounded"] / best["half"], "≤ 2 (doubling)")
    print(f"peak memory of a fresh process: {peak_memory(whole):.0f} MB   target < 1000")


def texts(folder: Path) -> None:
    con = duckdb.connect()
    con.execute("SET enable_progress_bar = false")
    path = folder / "t.csv"
    con.execute(f"COPY (SELECT i AS id, random() * 1000 AS x FROM range({ROWS // 20}) r(i)) TO '{path}' (HEADER)")
    native = f"SELECT floor(x / 1e-1) AS bucket, count(*) FROM read_csv('{path}') GROUP BY 1"
    best = race(
        {
            "native": lambda: con.execute(native).fetchnumpy(),
            "ours": lambda: flexdp.release(path, "x", width="0.1", **SPEND),
        },
        rounds=3,
    )
    say(f"DuckDB's own CSV reader, {ROWS // 20:.0e} rows", best["native"])
    say("release, line by line", best["ours"], best["ours"] / best["native"], "none (the price of containment)")


def arrays() -> None:
    rows = 10_000_000
    values = np.random.default_rng(1).uniform(0, 1000, rows)
    places = (values / 0.1).astype(np.int64)
    whole = values.astype(np.int64)
    best = race(
        {
            "bincount": lambda: np.bincount(places, minlength=10_000),
            "bounded": lambda: flexdp.release(values, width="0.1", bounds=(0, 1000), **SPEND),
            "integers": lambda: flexdp.release(whole, width=5, bounds=(0, 1000), **SPEND),
            "open": lambda: flexdp.release(values, width="0.1", **SPEND),
            "half": lambda: flexdp.release(values[: rows // 2], width="0.1", bounds=(0, 1000), **SPEND),
        }
    )
    say("np.bincount of precomputed indices, 10^7", best["bincount"])
    for name, target in (("bounded", "≤ 3"), ("integers", "none"), ("open", "none (sparse)")):
        say(f"release of an array, {name}", best[name], best[name] / best["bincount"], target)
    say("release of half the array", best["half"], best["bounded"] / best["half"], "≤ 2 (doubling)")


def start() -> None:
    command = [sys.executable, "-c", "import flexdp"]
    bare_command = [sys.executable, "-c", "pass"]
    best = race(
        {
            "flexdp": lambda: subprocess.run(command, check=True),
            "python": lambda: subprocess.run(bare_command, check=True),
        }
    )
    spent = best["flexdp"] - best["python"]
    say("import flexdp, warm, without the interpreter's start-up", spent, spent / 0.3, "≤ 1 (of 0.3 s)")


def main() -> None:
    start()
    arrays()
    with tempfile.TemporaryDirectory() as folder:
        files(Path(folder))
        texts(Path(folder))
    print(f"peak memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
