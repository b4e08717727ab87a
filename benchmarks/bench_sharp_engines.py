"""Three sharp answers on a Parquet file, against one bare GROUP BY; and the same requests on other engines."""

from __future__ import annotations

import os
import resource
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb

from flexdp.buckets.exact import Exact
from flexdp.mechanisms.program import run
from flexdp.noise.bits import Bits
from flexdp.sharp.answers import ask
from flexdp.sharp.ranks import Reply, Request
from flexdp.sharp.scale import NUMBERS, Scale
from flexdp.tables import Axis, Counting, open_table, reading
from flexdp.tables.engines.duckdb.session import connection
from flexdp.tables.ranks import GroupedRanks, open_ranks

ROWS = int(os.environ.get("ROWS", 10_000_000))
ROUNDS = int(os.environ.get("ROUNDS", 3))
LEVELS = (Fraction(1, 2), Fraction(99, 100), Fraction(1))
DATA = "SELECT exp(random() * 4 + random() * 3) * 100 AS x FROM range({rows})"


class Timed:
    """Ranks that note how long each request takes."""

    def __init__(self, ranks: GroupedRanks) -> None:
        self._ranks = ranks
        self.seconds: list[float] = []

    @property
    def scale(self) -> Scale:
        return self._ranks.scale

    def fetch(self, request: Request) -> Reply:
        started = time.process_time()
        reply = self._ranks.fetch(request)
        self.seconds.append(time.process_time() - started)
        return reply


def answers(source: Any) -> list[float]:
    """Ask for three levels; return the seconds of the copy and of each request."""
    table = open_table(source, "x")
    column = table.column("x")
    axis = Axis(column=column, kind=reading(column, "number", bucketed=True), buckets=Exact("number"))
    started = time.process_time()
    with open_ranks(table, Counting(values=(axis,))) as ranks:
        copied = time.process_time() - started
        timed = Timed(ranks)
        run(ask(LEVELS, Fraction(1), NUMBERS), timed, Bits())
    return [copied, *timed.seconds]


def bare(path: str, width: int) -> None:
    with connection() as con:
        con.execute(
            f"SELECT floor(x / {width}) AS b, count(*) AS n FROM read_parquet('{path}') GROUP BY 1"
        ).fetchnumpy()


def spent(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Return the seconds of this process's processors, those on the wall, and the outcome."""
    wall, processors = time.perf_counter(), time.process_time()
    out = work()
    return time.process_time() - processors, time.perf_counter() - wall, out


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="flexdp-bench-"))
    try:
        path = str(folder / "x.parquet")
        with connection() as con:
            con.execute(f"COPY ({DATA.format(rows=ROWS)}) TO '{path}'")
        print(f"{ROWS:.0e} rows of Parquet, median, q0.99 and max at ε = 1; processor seconds, best of {ROUNDS}")
        rounds = []
        for _ in range(ROUNDS):
            few, many = spent(lambda: bare(path, 100)), spent(lambda: bare(path, 10))
            rounds.append((few[0], many[0], spent(lambda: answers(path))))
        few_best, many_best = min(each[0] for each in rounds), min(each[1] for each in rounds)
        ours = min((each[2] for each in rounds), key=lambda each: each[0])
        print(f"bare GROUP BY, 10^3 buckets  {few_best:8.3f} s")
        print(f"bare GROUP BY, 10^4 buckets  {many_best:8.3f} s")
        print(f"three answers                {ours[0]:8.3f} s   copy and requests {[round(s, 3) for s in ours[2]]}")
        print(f"ratio to 10^3 buckets {ours[0] / few_best:.2f}, to 10^4 buckets {ours[0] / many_best:.2f}   target ≤ 4")
        print(
            f"largest resident size {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB   target < 1500"
        )
        small = min(ROWS, 1_000_000)
        values = duckdb.sql(DATA.format(rows=small)).fetchnumpy()["x"]
        lite = sqlite3.connect(folder / "x.db")
        lite.execute("CREATE TABLE visits (x REAL)")
        lite.executemany("INSERT INTO visits VALUES (?)", ((float(value),) for value in values))
        lite.commit()
        lite.close()
        seconds, _, parts = spent(lambda: answers((str(folder / "x.db"), "visits")))
        print(f"SQLite, {small:.0e} rows          {seconds:8.3f} s   copy and requests {[round(s, 3) for s in parts]}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
