"""A release on Spark in local mode, against the bare aggregation."""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import flexdp

ROWS = int(os.environ.get("ROWS", 100_000_000))
ROUNDS = 11
SPEND = {"epsilon": 1, "delta": "1e-6"}


def session() -> Any:
    warnings.simplefilter("ignore")
    from pyspark.sql import SparkSession

    return (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.memory", "2g")
        .getOrCreate()
    )


def interleaved(bare: Callable[[], object], ours: Callable[[], object]) -> list[tuple[float, float]]:
    """Return pairs of seconds, measured alternately, so that a busy moment affects both."""
    pairs = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        bare()
        between = time.perf_counter()
        ours()
        pairs.append((between - started, time.perf_counter() - between))
    return pairs


def say(label: str, pairs: list[tuple[float, float]]) -> None:
    best = min(pair[1] for pair in pairs) / min(pair[0] for pair in pairs)
    middle = statistics.median(pair[1] / pair[0] for pair in pairs)
    seconds = min(pair[0] for pair in pairs)
    print(f"{label:44s} bare {seconds:7.3f} s   best ratio {best:6.3f}   median ratio {middle:6.3f}   target < 1.10")


def main() -> None:
    spark = session()
    folder = Path(tempfile.mkdtemp(prefix="flexdp-bench-"))
    try:
        path = str(folder / "x.parquet")
        spark.range(ROWS).selectExpr("rand(7) * 1001 - 0.5 AS x", "CAST(id % 1000 AS INT) AS g").write.parquet(path)
        frame = spark.read.parquet(path)
        frame.createOrReplaceTempView("bare")
        one = "SELECT floor(x / 0.1D) AS b, count(*) AS n FROM bare GROUP BY 1"
        two = "SELECT g, floor(x / 10D) AS b, count(*) AS n FROM bare GROUP BY 1, 2"
        contenders: list[tuple[str, str, dict[str, Any]]] = [
            ("10^4 buckets, open domain", one, {"width": "0.1"}),
            ("10^4 buckets, bounded", one, {"width": "0.1", "bounds": (0, 1000)}),
            ("1000 groups x 100 buckets", two, {"width": 10, "by": "g"}),
        ]
        print(f"Spark local[2], {ROWS:.0e} rows of Parquet, {ROUNDS} interleaved rounds")
        for label, bare, parameters in contenders:
            pairs = interleaved(
                lambda bare=bare: spark.sql(bare).collect(),
                lambda parameters=parameters: flexdp.release(frame, "x", **parameters, **SPEND),
            )
            say(label, pairs[1:])  # the first round warms up
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        spark.stop()


if __name__ == "__main__":
    main()
