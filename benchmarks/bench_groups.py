"""Groups and privacy units in DuckDB: release() against the bare count, and growth by doubling."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
from _timing import race, say

import flexdp

ROWS = int(os.environ.get("ROWS", 100_000_000))
UNIT_ROWS = int(os.environ.get("UNIT_ROWS", 10_000_000))
BY_GROUP, BY_UNIT = "by='g', width='0.1'", "width=10, unit='u', max_buckets_per_unit=2"
SPEND = {"epsilon": 1, "delta": "1e-6"}
LIMITS = "SET enable_progress_bar = false; SET preserve_insertion_order = false; SET memory_limit = '600MB';"


def query(text: str, folder: Path) -> object:
    """Run a plain query under the limits of a release."""
    con = duckdb.connect()
    con.execute(LIMITS + f"SET temp_directory = '{folder / 'spill'}'")
    return con.execute(text).fetchnumpy()


def grouped(path: Path, rows: int, groups: int = 100) -> None:
    con = duckdb.connect()
    con.execute("SET enable_progress_bar = false")
    con.execute(
        f"COPY (SELECT (random() * {groups})::INTEGER % {groups} AS g, random() * 1001 - 0.5 AS x FROM range({rows})) "
        f"TO '{path}' (FORMAT parquet)"
    )


def owned(path: Path, rows: int, units: int) -> None:
    con = duckdb.connect()
    con.execute("SET enable_progress_bar = false")
    con.execute(
        f"COPY (SELECT (hash(i) % {units})::BIGINT AS u, (hash(i * 13 + 1) % 100000) / 100 AS x "
        f"FROM range({rows}) t(i)) "
        f"TO '{path}' (FORMAT parquet)"
    )


def bare_groups(path: Path) -> str:
    return f"SELECT g, floor(x / 1e-1) AS b, count(*) FROM read_parquet('{path}') GROUP BY ALL"


def bare_units(path: Path, most: int) -> str:
    """Return the plainest query that bounds units by the same hash; forms with arg_min or lists run out of memory."""
    return (
        "SELECT b, count(*) FROM (SELECT b, row_number() OVER (PARTITION BY u ORDER BY "
        "md5('salt:' || CAST(u AS VARCHAR) || ':' || CAST(b AS VARCHAR)), b) AS place FROM "
        f"(SELECT DISTINCT u, CAST(floor(x / 10e0) AS BIGINT) AS b FROM read_parquet('{path}'))) "
        f"WHERE place <= {most} GROUP BY b"
    )


def peak_memory(path: Path, options: str) -> float:
    """Return the peak memory, in megabytes, of a fresh process that releases the file."""
    code = (
        f"import sys, resource, flexdp; flexdp.release(sys.argv[1], 'x', epsilon=1, delta='1e-6', {options}); "
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    out = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    return int(out.stdout) / 1024


def groups(folder: Path) -> None:
    whole, half, more = folder / "whole.parquet", folder / "half.parquet", folder / "more.parquet"
    grouped(whole, ROWS)
    grouped(half, ROWS // 2)
    grouped(more, ROWS // 2, groups=200)
    best = race(
        {
            "bare": lambda: query(bare_groups(whole), folder),
            "release": lambda: flexdp.release(whole, "x", by="g", width="0.1", **SPEND),
            "bounded": lambda: flexdp.release(whole, "x", by="g", width="0.1", bounds=(0, 1000), **SPEND),
            "half": lambda: flexdp.release(half, "x", by="g", width="0.1", **SPEND),
            "more": lambda: flexdp.release(more, "x", by="g", width="0.1", **SPEND),
        },
        rounds=3,
    )
    say(f"bare GROUP BY, {ROWS:.0e} rows, 100 groups × 10^4 buckets", best["bare"])
    say("release by group", best["release"], best["release"] / best["bare"], "≤ 1.2")
    say("release by group, with bounds", best["bounded"], best["bounded"] / best["bare"], "≤ 1.2")
    say("half the rows", best["half"], best["release"] / best["half"], "≤ 2 (doubling)")
    say("half the rows, twice the groups", best["more"], best["more"] / best["half"], "≤ 2 (doubling)")
    print(f"peak memory of a fresh process: {peak_memory(whole, BY_GROUP):.0f} MB   target < 1000")


def units(folder: Path) -> None:
    whole, half, more = folder / "u.parquet", folder / "uh.parquet", folder / "um.parquet"
    owned(whole, UNIT_ROWS, UNIT_ROWS // 10)
    owned(half, UNIT_ROWS // 2, UNIT_ROWS // 20)
    owned(more, UNIT_ROWS // 2, UNIT_ROWS // 10)
    options = {"width": 10, "unit": "u", "max_buckets_per_unit": 2}
    best = race(
        {
            "bare": lambda: query(bare_units(whole, 2), folder),
            "release": lambda: flexdp.release(whole, "x", **options, **SPEND),
            "bare max": lambda: query(
                f"SELECT b, count(*) FROM (SELECT floor(max(x) / 10e0) AS b FROM read_parquet('{whole}') GROUP BY u) "
                "GROUP BY b",
                folder,
            ),
            "max": lambda: flexdp.release(whole, "x", width=10, unit="u", per_unit="max", **SPEND),
            "half": lambda: flexdp.release(half, "x", **options, **SPEND),
            "more": lambda: flexdp.release(more, "x", **options, **SPEND),
        },
        rounds=3,
    )
    say(f"plain SQL, {UNIT_ROWS:.0e} rows, a tenth as many units, k = 2", best["bare"])
    say("release by unit", best["release"], best["release"] / best["bare"], "≤ 1.3")
    say("release of each unit's maximum", best["max"], best["max"] / best["bare max"], "none (bare: plain max)")
    say("half the rows and units", best["half"], best["release"] / best["half"], "about 2 (a sort)")
    say("half the rows, all units", best["more"], best["more"] / best["half"], "≤ 2 (doubling)")
    print(f"peak memory: {peak_memory(whole, BY_UNIT):.0f} MB   target < 1000")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "spill").mkdir()
        groups(Path(name))
        units(Path(name))
