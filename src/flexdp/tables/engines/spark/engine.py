"""Spark: DataFrames and the columns that their schema declares."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, ClassVar

from flexdp.buckets.base import Kind
from flexdp.errors import InputError
from flexdp.tables.column import Column
from flexdp.tables.engine import Described, Engine
from flexdp.tables.engines.spark.dialect import SPARK, declared, read_cell
from flexdp.tables.engines.spark.rows import check_frame
from flexdp.tables.engines.spark.session import VIEW, SparkSession, opened, quiet
from flexdp.tables.sql.query import Reading

__all__ = ["Spark"]


class Spark(Engine):
    """Spark, as DataFrames, classic or of Spark Connect."""

    name = "spark"
    dialect = SPARK
    ignores_case = True
    lone_only = True
    types: ClassVar[Mapping[str, str]] = {
        "integer": "bigint",
        "number": "double",
        "text": "string",
        "wide": "decimal(37,0)",
    }

    def lone(self, source: object) -> str:
        """Return the name of a DataFrame, without importing Spark."""
        classes = type(source).__mro__
        own = any(each.__module__.startswith("pyspark.sql.") and each.__name__ == "DataFrame" for each in classes)
        return VIEW if own else ""

    def opened(self, place: Any, *, copies: bool = False) -> AbstractContextManager[SparkSession]:  # noqa: ARG002
        return opened(place)

    def describe(self, session: SparkSession, table: str) -> Described:  # noqa: ARG002
        frame = session.frame
        fields = [(field.name, field.dataType.simpleString()) for field in frame.schema.fields]
        if frame.isStreaming:
            raise InputError(
                "source", "is a streaming DataFrame, which has no end", remedy="Write it to a table and release that."
            )
        return Described(VIEW, tuple(declared(*field) for field in fields))

    def read_cell(self, cell: str, column: Column, kind: Kind) -> Reading:
        return read_cell(cell, column, kind)

    def admit(self, session: SparkSession, found: Described, *, vouched: bool) -> None:  # noqa: ARG002
        if vouched:
            return
        with quiet(session.frame.sparkSession):  # a name that stands for nothing is no error
            check_frame(session.frame)

    def unread(self, session: SparkSession, found: Described) -> frozenset[str]:  # noqa: ARG002
        return frozenset()  # selecting no row would start a job, and privileges are not checked

    def refusal(self, place: Any, error: Exception) -> InputError:  # noqa: ARG002
        return InputError(
            "source", ": the schema of the DataFrame cannot be read", remedy="Check that its Spark session is running."
        )
