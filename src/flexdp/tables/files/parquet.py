"""Parquet files: the schema in the footer, and the FROM clause that reads them."""

from __future__ import annotations

import glob
from typing import Any

from flexdp.errors import InputError
from flexdp.tables.column import Column
from flexdp.tables.engines.duckdb.dialect import DUCKDB
from flexdp.tables.engines.duckdb.types import declared
from flexdp.tables.files.paths import shown_path

__all__ = ["parquet_columns", "read_parquet"]


def parquet_columns(con: Any, file: str) -> list[Column]:
    """Return the columns that the footer declares; nothing else of the file is read."""
    import duckdb as engine

    listed = DUCKDB.text(glob.escape(file))
    try:
        described = con.execute(f"DESCRIBE SELECT * FROM {read_parquet(listed)}").fetchall()
        tree = con.execute(f"SELECT name, num_children, type FROM parquet_schema({listed})").fetchall()
    except engine.Error:
        raise InputError("source", f": {shown_path(file)} is not a Parquet file, or is damaged") from None
    return [
        declared(name, "INT96" if stored == "INT96" else row[1], row[0])
        for (name, _, stored), row in zip(_top_level(tree), described, strict=True)
    ]


def read_parquet(listed: str, *, int96: bool = False) -> str:
    """Return the FROM clause for a list of files.

    With ``int96``, 96-bit timestamps are read as nanoseconds and become infinite where those do not reach: by default
    they overflow silently to other datetimes.
    """
    timestamps = ", int96_as='timestamp_ns'" if int96 else ""
    return f"read_parquet({listed}, hive_partitioning=false{timestamps})"


def _top_level(tree: list[tuple[str, int | None, str]]) -> list[tuple[str, int | None, str]]:
    """Return the top-level entries of a flattened schema tree, repeated names included."""

    def end(start: int) -> int:
        after = start + 1
        for _ in range(tree[start][1] or 0):
            after = end(after)
        return after

    found, position = [], 1
    while position < len(tree):
        found.append(tree[position])
        position = end(position)
    return found
