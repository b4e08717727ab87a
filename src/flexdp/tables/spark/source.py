"""Spark DataFrames and the columns that their schema declares."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import Any

from flexdp._core.text import safe_repr
from flexdp.errors import InputError
from flexdp.tables.declared import Column
from flexdp.tables.plans.spark import check_frame
from flexdp.tables.spark.dialect import SPARK
from flexdp.tables.spark.run import VIEW, execute, quiet, workspace
from flexdp.tables.spark.types import declared, read_cell
from flexdp.tables.sql.served_table import ServedTable

__all__ = ["is_frame", "open_spark"]


def is_frame(source: object) -> bool:
    """Tell whether an object is a Spark DataFrame, classic or of Spark Connect, without importing Spark."""
    return any(
        cls.__module__.startswith("pyspark.sql.") and cls.__name__ == "DataFrame" for cls in type(source).__mro__
    )


def open_spark(frame: Any, *, rows_are_records: bool = False) -> ServedTable:
    """Open a DataFrame; only its schema is read."""
    fields, streams = None, False
    with suppress(Exception):  # the engine's message is not repeated; refused below
        streams = bool(frame.isStreaming)
        fields = [(field.name, field.dataType.simpleString()) for field in frame.schema.fields]
    if fields is None:
        raise InputError(
            "source", ": the schema of the DataFrame cannot be read", remedy="Check that its Spark session is running."
        )
    if streams:
        raise InputError(
            "source", "is a streaming DataFrame, which has no end", remedy="Write it to a table and release that."
        )
    if not rows_are_records:
        with quiet(frame.sparkSession):  # a name that stands for nothing is no error
            check_frame(frame)
    columns = tuple(declared(*field) for field in fields)
    return _SparkTable(VIEW, columns, SPARK, read_cell, lambda s: execute(frame, s), lambda: workspace(frame))


class _SparkTable(ServedTable):
    """A table whose column names must differ in more than case: Spark ignores it."""

    def column(self, name: object) -> Column:
        found = super().column(name)
        alike = Counter(column.name.casefold() for column in self.columns if column.name is not None)
        if alike[str(name).casefold()] > 1:
            raise InputError(
                "column",
                f": {safe_repr(name)} differs from another column's name in case only",
                remedy="Rename one of them.",
            )
        return found
