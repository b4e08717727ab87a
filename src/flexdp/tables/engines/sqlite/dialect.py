"""SQLite: its SQL, and how its cells are read. Integers have 64 bits; ``session.py`` registers functions that it lacks.

A declared type does not bind the cells, so the type of each cell is tested.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from fractions import Fraction

from flexdp.buckets.base import LONGEST_TEXT, Kind
from flexdp.errors import InputError, P
from flexdp.tables.column import Column
from flexdp.tables.sql.dialect import Dialect
from flexdp.tables.sql.query import Reading
from flexdp.tables.where.literals import in_sql

__all__ = ["BYTES", "LENGTH", "LIKE", "MD5", "MEAN", "SQLITE", "TEXT", "declared", "read_cell"]

TEXT, LENGTH, MD5, MEAN = "flexdp_text", "flexdp_length", "flexdp_md5", "flexdp_mean"
BYTES, LIKE = "flexdp_bytes", "flexdp_like"
_EXACT = 2**53
_POWER = 62  # 2**62 is the largest power of two in an integer


class _SQLite(Dialect):
    name = "sqlite"
    double_type = "REAL"
    wide_type = None
    has_grouping_sets = False
    fence = " LIMIT -1"
    probes = "CROSS JOIN"  # an inner join whose tables are read in the order in which they are written
    branches = 4  # the parser limits the nesting of expressions

    def text(self, value: str) -> str:
        """Return a string literal; NUL, at which a statement would end, is written by its code."""
        parts = list(map(super().text, value.split("\0")))
        return parts[0] if len(parts) == 1 else f"({' || char(0) || '.join(parts)})"

    def double(self, value: float | Fraction) -> str:
        """Write a double with integers and powers of two: SQLite does not round decimals to the nearest double."""
        number = float(value)
        if number.is_integer() and abs(number) < _EXACT:
            return f"{int(number)}.0"
        mantissa, power = math.frexp(number)
        top, power = int(mantissa * _EXACT), power - 53
        sign = "*" if power > 0 else "/"
        factors = [2 ** min(_POWER, abs(power) - done) for done in range(0, abs(power), _POWER)]
        return f"({top}.0 {sign} {f' {sign} '.join(f'{factor}.0' for factor in factors)})"

    def rows_of(self, names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
        listed = ", ".join(f"({', '.join(row)})" for row in rows)
        named = ", ".join(f"column{i} AS {name}" for i, name in enumerate(names, 1))
        return f"SELECT {named} FROM (VALUES {listed})"

    def floor(self, expression: str) -> str:
        whole = f"CAST({expression} AS INTEGER)"  # towards zero
        return f"({whole} - ({expression} < {whole}))"

    def least(self, first: str, second: str) -> str:
        return f"min({first}, {second})"

    def greatest(self, first: str, second: str) -> str:
        return f"max({first}, {second})"

    def binary(self, expression: str) -> str:
        return f"{expression} COLLATE BINARY"

    def unicode(self, expression: str) -> str:
        return f"{TEXT}(CAST({expression} AS BLOB))"  # as a text, it would not reach Python

    def compared(self, text: str) -> str:
        return f"{BYTES}({text})"  # SQLite compares the stored bytes, which need not be UTF-8

    def compared_literal(self, value: str) -> str:
        return f"X'{value.encode().hex()}'"

    def like(self, text: str, pattern: Sequence[str | None]) -> str:
        return (
            f"{LIKE}({text}, {self.compared_literal(in_sql(pattern)[0])})"  # SQLite's own ignores case and stops at NUL
        )

    def is_short(self, text: str) -> str:
        """Test the stored bytes, at most twice as many as in UTF-8; ``run.py`` tests those exactly."""
        return f"length(CAST({text} AS BLOB)) <= {2 * LONGEST_TEXT}"

    def length(self, expression: str) -> str:
        return f"{LENGTH}({expression})"  # SQLite's own stops at the first NUL

    def md5(self, expression: str) -> str:
        return f"{MD5}({expression})"

    def mean(self, value: str, share: str) -> str:  # noqa: ARG002  (the shares of a unit sort as its values do)
        return f"{MEAN}({share})"


SQLITE = _SQLite()


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
