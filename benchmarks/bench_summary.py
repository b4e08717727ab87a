"""The summary of a Parquet file of twenty columns, against one bare GROUP BY a column.

Numbers are counted in about 10^4 buckets, dates by day, texts and booleans by key. Processor time of all threads and
time on the wall, interleaved; each ratio is that of one round, and the smallest, the median and the largest are shown.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

import flexdp

ROWS = int(os.environ.get("ROWS", 1_000_000))
ROUNDS = int(os.environ.get("ROUNDS", 3))
SPEND = {"epsilon": os.environ.get("EPSILON", "10"), "delta": "1e-5"}  # a twentieth of it for each column

# Each column: how it is made of the row number i, and what a bare query counts it by.
COLUMNS = {
    "amount": ("round(exp(random() * 4 + random() * 3), 2)", "floor(amount / 0.11)"),
    "weight": ("60 + 15 * sqrt(-2 * ln(1 - random())) * cos(6.283185307 * random())", "floor(weight / 0.015)"),
    "share": ("random()", "floor(share / 0.0001)"),
    "seconds": ("-1200 * ln(1 - random())", "floor(seconds / 1.5)"),
    "pressure": ("round(120 + 40 * (random() + random() + random() - 1.5), 1)", "floor(pressure / 0.012)"),
    "price": ("round(1000 * pow(1 - random(), -0.6), 2)", "floor(price / 100)"),
    "age": ("(random() * 60 + random() * 45)::INTEGER", "age"),
    "visits": ("(-7 * ln(1 - random()))::SMALLINT", "visits"),
    "minutes": ("(random() * 100000)::INTEGER", "floor(minutes / 10)"),
    "cents": ("(exp(random() * 9 + random() * 9))::BIGINT", "floor(cents / 6500)"),
    "delay": ("(random() * random() * 1300 - 50)::INTEGER", "delay"),
    "epoch": ("1600000000 + (random() * 100000000)::BIGINT", "floor(epoch / 10000)"),
    "born": ("DATE '1930-01-01' + (random() * 33000)::INTEGER", "born"),
    "admitted": ("DATE '2020-01-01' + (random() * 1800)::INTEGER", "admitted"),
    "left_on": ("DATE '2020-01-01' + (random() * random() * 2000)::INTEGER", "left_on"),
    "ward": ("'ward ' || (hash(i) % 20)", "ward"),
    "code": ("'K' || (hash(i + 1) % 1000)", "code"),
    "town": ("'town of ' || (hash(i + 2) % 300)", "town"),
    "urgent": ("random() < 0.1", "urgent"),
    "insured": ("random() < 0.8", "insured"),
}


def make(path: Path, rows: int) -> None:
    with duckdb.connect() as con:
        con.execute("SET enable_progress_bar = false; SET preserve_insertion_order = false")
        listed = ", ".join(f"{made} AS {name}" for name, (made, _) in COLUMNS.items())
        con.execute(f"COPY (SELECT {listed} FROM range({rows}) t(i)) TO '{path}' (FORMAT parquet)")


def bare(path: Path, *names: str) -> None:
    """Run the plain queries under the limits of a release, one connection for all."""
    with duckdb.connect() as con:
        con.execute("SET enable_progress_bar = false; SET preserve_insertion_order = false; SET memory_limit = '600MB'")
        for name in names:
            con.execute(f"SELECT {COLUMNS[name][1]} AS b, count(*) FROM '{path}' GROUP BY b").fetchnumpy()


def spent(work: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds of this process's processors, and those on the wall."""
    wall, processors = time.perf_counter(), time.process_time()
    work()
    return time.process_time() - processors, time.perf_counter() - wall


def spread(ours: list[float], theirs: list[float]) -> str:
    ratios = sorted(a / b for a, b in zip(ours, theirs, strict=True))
    return f"{ratios[0]:.2f} – {statistics.median(ratios):.2f} – {ratios[-1]:.2f}"


def shown(label: str, ours: list[tuple[float, float]], theirs: list[tuple[float, float]]) -> None:
    processors, wall = ([[each[i] for each in part] for part in (ours, theirs)] for i in (0, 1))
    print(
        f"{label:42s}{statistics.median(processors[0]):8.2f} s against {statistics.median(processors[1]):6.2f} s   "
        f"processors {spread(*processors)}   wall {spread(*wall)}"
    )


def _load() -> str:
    return f"{os.getloadavg()[0]:.1f}"


def one_by_one(path: Path) -> None:
    """Show what the release of each column costs by itself."""
    for name in COLUMNS:
        rounds = [
            (
                spent(lambda name=name: flexdp.release(path, name, epsilon="0.5", delta="1e-6")),
                spent(lambda name=name: bare(path, name)),
            )
            for _ in range(ROUNDS)
        ]
        shown(f"  {name}", [a for a, _ in rounds], [b for _, b in rounds])


def main() -> None:
    if sys.argv[1:2] == ["memory"]:  # in a process of its own: the largest size is that of its whole life
        flexdp.summary(Path(sys.argv[2]), **SPEND)
        print(
            f"largest resident size {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB   target < 1500"
        )
        return
    with tempfile.TemporaryDirectory(prefix="flexdp-bench-") as folder:
        path = Path(folder) / "t.parquet"
        make(path, ROWS)
        print(f"{ROWS:,} rows, {len(COLUMNS)} columns, ε = {SPEND['epsilon']}, {ROUNDS} rounds; load {_load()}")
        rounds = [
            (spent(lambda: flexdp.summary(path, **SPEND)), spent(lambda: bare(path, *COLUMNS))) for _ in range(ROUNDS)
        ]
        shown("summary, against all bare GROUP BYs", [a for a, _ in rounds], [b for _, b in rounds])
        print(f"target ≤ 2; load {_load()}")
        subprocess.run([sys.executable, __file__, "memory", str(path)], check=True)
        if os.environ.get("EACH"):
            one_by_one(path)


if __name__ == "__main__":
    main()
