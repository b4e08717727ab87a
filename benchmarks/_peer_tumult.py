"""Tumult Analytics: it needs numpy 1 and a Java of its own, so it answers from another environment over a pipe.

Run by that environment's Python, this file reads one JSON question a line and answers with one JSON line. It is asked
about few blocks: an answer takes seconds on Spark, whatever the number of records.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

BLOCKS = (
    ("numbers", "flights", 10_000, "1"),
    ("keys", "words", 10_000, "1"),
    ("keys", "carriers", 10_000, "1"),
)
ANSWERS = 3
NAME = "Tumult Analytics"


def run(python: Path, journal: Any, late: Callable[[], bool], say: Callable[[Any], None]) -> None:
    """Ask about the blocks that are measured; say why where it cannot be asked."""
    reason = None
    if not python.exists():
        reason = "its environment could not be set up"
    elif shutil.which("java") is None:
        reason = "there is no Java on this machine, which Spark needs"
    if reason:
        journal.add(("tumult",), found={"reason": reason})
        return
    wanted = [b for b in BLOCKS if b in journal.found and ("tumult", *b) not in journal.found]
    if not wanted or late():
        return
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as errors:
        environment = {**os.environ, "PYSPARK_PYTHON": str(python), "PYSPARK_DRIVER_PYTHON": str(python)}
        worker = subprocess.Popen(
            [str(python), __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
            cwd=folder, env=environment,
        )  # fmt: skip
        assert worker.stdin and worker.stdout
        try:
            hello = json.loads(worker.stdout.readline() or '{"reason": "its Spark session did not start"}')
            journal.add(("tumult",), found=hello)
            for block in wanted:
                if "reason" in hello or late():
                    break
                journal.add(("tumult", *block), found=_ask(block, Path(folder), worker))
                say(("tumult", *block))
        finally:
            worker.stdin.close()
            worker.wait()


def _ask(block: tuple[str, str, int, str], folder: Path, worker: Any) -> dict[str, Any]:
    import _peer_keys
    import _peer_numbers
    import _peer_tables
    import pyarrow as pa
    import pyarrow.parquet as pq
    from panel_peers import WIDE, Truth, wide_bounds

    panel, table, size, epsilon = block
    path = folder / "asked.parquet"
    found: dict[str, Any] = {}

    def question(**asked: Any) -> Any:
        worker.stdin.write(json.dumps({"path": str(path), "epsilon": epsilon, "answers": ANSWERS, **asked}) + "\n")
        worker.stdin.flush()
        return json.loads(worker.stdout.readline())

    def note(statistic: str, method: str, measures: dict[str, float]) -> None:
        kept = found.setdefault(statistic, {}).setdefault(method, {"refused": 0, "errors": {}})
        for name, error in measures.items():
            kept["errors"].setdefault(name, []).append(error)

    if panel == "keys":
        task = _peer_keys.KeyTask(_peer_tables.keys(table, size))
        pq.write_table(task.arrow, path)
        for given in question(kind="keys"):
            for statistic, measures in _peer_keys.read_all(task, float(epsilon), given).items():
                note(statistic, f"{NAME}, selection", measures)
        return found
    values, bounds = _peer_tables.numbers(table, size)
    truth = Truth(values)
    pq.write_table(pa.table({"x": values.astype(float)}), path)
    for suffix, (low, high) in {"": bounds, WIDE: wide_bounds(*bounds)}.items():
        for statistic in ("median", "max", "count", "sum", "mean"):
            if suffix and statistic == "count":
                continue
            for given in question(kind=statistic, low=low, high=high):
                if given is None:
                    given = math.inf
                elif values.dtype.kind == "i" and statistic in ("median", "max"):
                    given = round(given)
                note(statistic, NAME + suffix, _peer_numbers.errors(truth, statistic, given))
    return found


def serve() -> None:
    """Inside the other environment: answer one question a line."""
    from importlib.metadata import version

    from pyspark.sql import SparkSession
    from tmlt.analytics import AddOneRow, ApproxDPBudget, KeySet, PureDPBudget, QueryBuilder, Session

    out = os.fdopen(os.dup(1), "w")  # Spark writes to the standard output, too
    os.dup2(2, 1)
    settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "1", "spark.default.parallelism": "1"}
    builder = SparkSession.builder.master("local[1]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    packages = ("tmlt.analytics", "tmlt.core", "pyspark", "numpy")
    print(json.dumps({"versions": {name: version(name) for name in packages}}), file=out, flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        frame = spark.read.parquet(asked["path"]).cache()
        epsilon, given = float(asked["epsilon"]), []
        for _ in range(asked["answers"]):
            if asked["kind"] == "keys":
                budget = ApproxDPBudget(epsilon, 1e-6)
                session = Session.from_dataframe(budget, "t", frame, protected_change=AddOneRow())
                keys = session.evaluate(QueryBuilder("t").get_groups(["key"]), ApproxDPBudget(epsilon / 2, 1e-6))
                query = QueryBuilder("t").groupby(KeySet.from_dataframe(keys)).count()
                counts = session.evaluate(query, ApproxDPBudget(epsilon / 2, 0)).collect()
                given.append({row["key"]: row["count"] for row in counts})
                continue
            budget = PureDPBudget(epsilon)
            session = Session.from_dataframe(budget, "t", frame, protected_change=AddOneRow())
            table, kind = QueryBuilder("t"), asked["kind"]
            if kind == "count":
                query = table.count()
            elif kind in ("median", "max"):
                query = table.quantile("x", 0.5 if kind == "median" else 1.0, asked["low"], asked["high"])
            else:
                query = getattr(table, {"sum": "sum", "mean": "average"}[kind])("x", asked["low"], asked["high"])
            given.append(session.evaluate(query, budget).collect()[0][0])
        frame.unpersist()
        print(json.dumps(given), file=out, flush=True)


if __name__ == "__main__":
    serve()
