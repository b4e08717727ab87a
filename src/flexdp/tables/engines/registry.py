"""The engines that flexdp counts on. Nothing outside their folders knows their names."""

from __future__ import annotations

from flexdp.tables.engine import Engine
from flexdp.tables.engines.clickhouse.engine import Clickhouse
from flexdp.tables.engines.duckdb.engine import Duckdb
from flexdp.tables.engines.mariadb.engine import Mariadb
from flexdp.tables.engines.postgres.engine import Postgres
from flexdp.tables.engines.spark.engine import Spark
from flexdp.tables.engines.sqlite.engine import Sqlite

__all__ = ["ENGINES"]

ENGINES: list[Engine] = [Postgres(), Mariadb(), Clickhouse(), Sqlite(), Duckdb(), Spark()]
