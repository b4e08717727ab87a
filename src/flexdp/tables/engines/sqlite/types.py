"""SQLite's types: the kind that each declares, and the expression that reads a cell.

A declared type does not bind the cells, so the type of each cell is tested.
"""

from __future__ import annotations

import re

from flexdp.buckets.base import Kind
from flexdp.errors import InputError, P
from flexdp.tables.column import Column
from flexdp.tables.sql.query import Reading

__all__ = ["declared", "read_cell"]

_KINDS: dict[str, Kind] = {
    "BOOLEAN": "boolean", "BOOL": "boolean", "DATE": "date",
    "TINYINT": "integer", "SMALLINT": "integer", "MEDIUMINT": "integer", "INT": "integer", "INTEGER": "integer",
    "BIGINT": "integer", "INT2": "integer", "INT4": "integer", "INT8": "integer",
    "REAL": "number", "FLOAT": "number", "DOUBLE": "number", "DOUBLE PRECISION": "number", "NUMERIC": "number",
    "DECIMAL": "number",
    "TEXT": "text", "VARCHAR": "text", "CHAR": "text", "CHARACTER": "text", "NVARCHAR": "text", "NCHAR": "text",
    "CLOB": "text", "CHARACTER VARYING": "text",
}  # fmt: skip
_DAY = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]"


def declared(name: str, type_name: str) -> Column:
    """Return a column as the CREATE statement declares it; expressions of views, and some columns, declare nothing."""
    word = re.sub(r"\s*\([0-9 ,]*\)", "", type_name).strip().upper()
    if not word:
        return Column(name=name, type_name="undeclared", kind=None, undeclared=True)
    return Column(name=name, type_name=type_name, kind=_KINDS.get(word), strict=True)


def read_cell(cell: str, column: Column, kind: Kind) -> Reading:  # noqa: ARG001  (each cell has a type of its own)
    """Return the expression that reads a cell as ``kind``, NULL where the cell is not of that kind."""
    if kind == "number":
        return Reading(f"CASE WHEN typeof({cell}) IN ('integer', 'real') THEN CAST({cell} AS REAL) END")
    if kind == "date":  # SQLite rewrites an impossible date as another one, or as NULL
        written = f"typeof({cell}) = 'text' AND length({cell}) = 10 AND {cell} GLOB '{_DAY}' AND {cell} >= '0001-01-01'"
        days = f"CAST(julianday({cell}) - 2440587.5 AS INTEGER)"
        return Reading(f"CASE WHEN {written} AND date({cell}, '+0 days') = {cell} THEN {days} END")
    if kind == "boolean":
        return Reading(f"CASE WHEN typeof({cell}) = 'integer' AND {cell} IN (0, 1) THEN {cell} END")
    if kind == "datetime":
        raise InputError(
            "kind",
            "does not fit SQLite, which has no type for datetimes",
            given=repr(kind),
            remedy=("Set ", P("kind", "date"), ", or use another engine."),
        )
    return Reading(f"CASE WHEN typeof({cell}) = '{kind}' THEN {cell} END")
