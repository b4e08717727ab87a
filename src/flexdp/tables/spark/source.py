"""Spark DataFrames: what is passed, and what its schema declares."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import Any

from flexdp._core.text import safe_repr
from flexdp.errors import InputError
from flexdp.tables.declared import Column
from flexdp.tables.spark.dialect import SPARK
from flexdp.tables.spark.run import VIEW, execute
from flexdp.tables.spark.types import declared, read_cell
from flexdp.tables.sql.served_table import ServedTable

__all__ = ["is_frame", "open_spark"]


def is_frame(source: object) -> bool:
    """Whether an object is a Spark DataFrame, classic or of Spark Connect, without loading Spark."""
    return any(
        cls.__module__.startswith("pyspark.sql.") and cls.__name__ == "DataFrame" for cls in type(source).__mro__
    )


def open_spark(frame: Any) -> ServedTable:
    """A DataFrame, of which only the schema is looked at."""
    fields, streams = None, False
    with suppress(Exception):  # the engine's own text is not ours to repeat; told below
        streams = bool(frame.isStreaming)
        fields = [(field.name, field.dataType.simpleString()) for field in frame.schema.fields]
    if fields is None:
        raise InputError("source is a DataFrame that cannot tell its schema; is its Spark session still running?")
    if streams:
        raise InputError("source is a DataFrame that streams and has no end; write it to a table, and release that.")
    return _SparkTable(VIEW, tuple(declared(*field) for field in fields), SPARK, read_cell, lambda s: execute(frame, s))


class _SparkTable(ServedTable):
    """Spark takes column names that differ in case alone for one."""

    def column(self, name: object) -> Column:
        found = super().column(name)
        alike = Counter(column.name.casefold() for column in self.columns if column.name is not None)
        if alike[str(name).casefold()] > 1:
            raise InputError(f"column {safe_repr(name)} has the name of another one but for case; rename one of them.")
        return found
