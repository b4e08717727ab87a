"""Spark: its SQL, which means the same with ANSI mode on and off, and how its cells are read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from flexdp._core.calendar import FIRST_DATETIME, LAST_DATETIME, MICROS_PER_DAY
from flexdp.buckets.base import Kind
from flexdp.errors import InputError
from flexdp.tables.column import Column
from flexdp.tables.sql.dialect import Dialect, Lookup
from flexdp.tables.sql.query import Reading

__all__ = ["SPARK", "declared", "read_cell"]

_PLAIN = re.compile(r"[A-Za-z0-9 .,:;_-]*")


class _Spark(Dialect):
    name = "spark"
    double_type = "DOUBLE"
    text_type = "STRING"
    wide_type = "DECIMAL(38, 0)"
    fence = ""  # Spark inlines nothing expensive
    divides_wide = False  # a quotient of decimals has fewer digits than its operands

    def identifier(self, name: str) -> str:
        if "${" in name:  # Spark substitutes variables, even inside quotes
            raise InputError("column", ": Spark cannot read a name that contains '${'", remedy="Rename the column.")
        return "`" + name.replace("`", "``") + "`"

    def text(self, value: str) -> str:
        """Return a literal; unusual characters as bytes, because quotes and escapes depend on the session."""
        return f"'{value}'" if _PLAIN.fullmatch(value) else f"CAST(X'{value.encode().hex().upper()}' AS STRING)"

    def double(self, value: float | Fraction) -> str:
        return f"{float(value)!r}D"

    def lookup(self, name: str, values: Sequence[str]) -> Lookup:  # noqa: ARG002
        return Lookup(lambda place: f"array({', '.join(values)})[{place}]")

    def quotient(self, expression: str, divisor: int, *, wide: bool = False) -> str:  # noqa: ARG002
        return f"(({expression}) DIV {divisor})"

    def binary(self, expression: str) -> str:
        return expression  # other collations are removed where texts are read

    def mean(self, value: str, share: str) -> str:  # noqa: ARG002  (the shares of a unit sort as its values do)
        return f"aggregate(array_sort(collect_list({share})), {self.double(0.0)}, (total, next) -> total + next)"


SPARK = _Spark()


_KINDS: dict[str, Kind] = {
    "tinyint": "integer", "smallint": "integer", "int": "integer", "bigint": "integer", "float": "number",
    "double": "number", "string": "text", "boolean": "boolean", "date": "date", "timestamp": "datetime",
    "timestamp_ntz": "datetime",
}  # fmt: skip
_DECIMAL = re.compile(r"decimal\(([0-9]+),([0-9]+)\)")
_TEXT = re.compile(r"string collate \w+|(var)?char\([0-9]+\)", re.IGNORECASE)
_NARROW = 18  # digits that any 64-bit integer holds


def declared(name: str, type_name: str) -> Column:
    """Return a column as a Spark schema declares it."""
    decimal = _DECIMAL.fullmatch(type_name)
    kind, wide = _KINDS.get(type_name), False
    if decimal:
        kind = "number" if decimal.group(2) != "0" else "integer"
        wide = kind == "integer" and int(decimal.group(1)) > _NARROW
    elif _TEXT.fullmatch(type_name):
        kind = "text"
    return Column(
        name=name, type_name=type_name, kind=kind, wide=wide,
        timestamp=kind == "datetime", zoned=type_name == "timestamp", strict=True,
    )  # fmt: skip


def read_cell(cell: str, column: Column, kind: Kind) -> Reading:
    """Return the expression that reads a cell as ``kind``, NULL where the cell is not of that kind."""
    if column.timestamp:
        return Reading(_datetime(cell, column, kind))
    if kind == "number":
        return Reading(f"CAST({cell} AS DOUBLE)")
    if kind == "integer":
        return Reading(cell if column.wide else f"CAST({cell} AS BIGINT)", column.wide)
    if kind in ("date", "datetime"):
        inside = f"{cell} BETWEEN DATE'0001-01-01' AND DATE'9999-12-31'"
        days = f"CAST(unix_date({cell}) AS BIGINT)"
        return Reading(f"CASE WHEN {inside} THEN {days}{f' * {MICROS_PER_DAY}' if kind == 'datetime' else ''} END")
    if kind == "text":
        collated = column.type_name.lower().startswith("string collate")
        text = f"collate({cell}, 'UTF8_BINARY')" if collated else cell
        # Spark accepts bytes that are not UTF-8 as texts, and distinguishes some that Python would not.
        return Reading(f"CASE WHEN is_valid_utf8({text}) THEN {text} END")
    return Reading(cell)


def _datetime(cell: str, column: Column, kind: Kind) -> str:
    """Return microseconds, or days for a date; both are rounded down, before 1970 too."""
    if column.zoned:
        micros = f"unix_micros({cell})"
        inside = f"{micros} BETWEEN {FIRST_DATETIME} AND {LAST_DATETIME}"
    else:  # from its fields: any other way passes through the session's time zone
        day = f"CAST(unix_date(CAST({cell} AS DATE)) AS BIGINT) * {MICROS_PER_DAY}"
        minutes = f"(hour({cell}) * 60 + minute({cell})) * CAST(60000000 AS BIGINT)"
        micros = f"({day} + {minutes} + CAST(extract(SECOND FROM {cell}) * 1000000 AS BIGINT))"
        first, last = "TIMESTAMP_NTZ'0001-01-01 00:00:00'", "TIMESTAMP_NTZ'9999-12-31 23:59:59.999999'"
        inside = f"{cell} BETWEEN {first} AND {last}"
    return f"CASE WHEN {inside} THEN {micros if kind == 'datetime' else SPARK.floored(micros, MICROS_PER_DAY)} END"
