"""ClickHouse: its SQL, with settings that give NULL and names their usual meaning, and how its cells are read.

Every datetime is an instant here, with or without a time zone in its type.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from flexdp._core.calendar import MICROS_PER_DAY
from flexdp.buckets.base import LONGEST_TEXT, Kind
from flexdp.tables.column import Column
from flexdp.tables.sql.dialect import Dialect, Lookup
from flexdp.tables.sql.query import Reading

__all__ = ["CLICKHOUSE", "declared", "read_cell"]

_PLAIN = re.compile(r"[A-Za-z0-9 .,:;_-]*")
_SPECIAL = re.compile(r"[%_\\]")
_SETTINGS = {
    "join_use_nulls": 1,
    "cast_keep_nullable": 1,
    "prefer_column_name_to_alias": 1,
    "least_greatest_legacy_null_behavior": 1,
    "union_default_mode": "'ALL'",
    "enable_materialized_cte": 1,
    "precise_float_parsing": 1,
    "limit": 0,  # nothing is left out of a result, or of a group
    "offset": 0,
    "max_rows_to_group_by": 0,
    "distinct_overflow_mode": "'throw'",
    "result_overflow_mode": "'throw'",
}


class _ClickHouse(Dialect):
    name = "clickhouse"
    double_type = "Float64"
    text_type = "String"
    integer_type = "Int64"
    wide_type = "Int256"
    has_grouping_sets = False
    fence = ""  # expressions that occur many times are computed once
    clamps_quotient = True
    tally = "toInt64(count(*))"
    ending = "\nSETTINGS " + ", ".join(f"{name} = {value}" for name, value in _SETTINGS.items())

    def identifier(self, name: str) -> str:
        return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"

    def text(self, value: str) -> str:
        return f"'{value}'" if _PLAIN.fullmatch(value) else f"unhex('{value.encode().hex().upper()}')"

    def integer(self, value: int) -> str:
        """Return an integer; beyond 64 bits, its digits would be read as a double."""
        return str(value) if -(2**63) <= value < 2**63 else f"toInt256('{value}')"

    def double(self, value: float | Fraction) -> str:
        return repr(float(value) + 0.0)  # IN tells −0.0 from 0.0

    def as_text(self, expression: str) -> str:
        return f"toString({expression})"

    def as_integer(self, expression: str, *, wide: bool = False) -> str:
        return f"accurateCastOrNull({expression}, '{self.wide_type if wide else self.integer_type}')"

    def floor(self, expression: str) -> str:
        return f"(floor({expression}) + 0)"  # −0.0 and 0.0 would be two groups

    def lookup(self, name: str, values: Sequence[str]) -> Lookup:  # noqa: ARG002
        return Lookup(lambda place: f"[{', '.join(values)}][assumeNotNull({place}) + 1]")

    def rows_of(self, names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
        listed = (", ".join(f"{cell} AS {name}" for name, cell in zip(names, row, strict=True)) for row in rows)
        return f"SELECT * FROM (SELECT {' UNION ALL SELECT '.join(listed)}) AS r"

    def quotient(self, expression: str, divisor: int, *, wide: bool = False) -> str:  # noqa: ARG002
        return f"intDiv({expression}, {self.integer(divisor)})"

    def binary(self, expression: str) -> str:
        return expression

    def is_short(self, text: str) -> str:
        return f"length({text}) <= {LONGEST_TEXT}"

    def sought(self, expression: str) -> str:
        return f"({expression} + 0)"

    def like(self, text: str, pattern: Sequence[str | None]) -> str:
        """Match a pattern; ClickHouse's escape character is a backslash, and there is no other."""
        pieces = (
            ("%" if piece is None else "_") if not piece else _SPECIAL.sub(r"\\\g<0>", piece) for piece in pattern
        )
        return f"({text}) LIKE {self.text(''.join(pieces))}"

    def length(self, expression: str) -> str:
        return f"lengthUTF8({expression})"

    def md5(self, expression: str) -> str:
        return f"lower(hex(MD5({expression})))"

    def mean(self, value: str, share: str) -> str:  # noqa: ARG002  (the shares of a unit sort as its values do)
        return f"arrayFold((total, next) -> total + next, arraySort(groupArray({share})), {self.double(0.0)})"


CLICKHOUSE = _ClickHouse()


_KINDS: dict[str, Kind] = {
    "Float32": "number", "Float64": "number", "String": "text", "UUID": "text", "Date": "date", "Date32": "date",
    "Bool": "boolean",
}  # fmt: skip
_WRAPPED = re.compile(r"(?:Nullable|LowCardinality)\((.*)\)", re.DOTALL)
_NARROW = re.compile(r"Int(8|16|32|64)|UInt(8|16|32)")
_WIDE = re.compile(r"UInt64|U?Int(128|256)")
_DECIMAL = re.compile(r"Decimal\(([0-9]+), ([0-9]+)\)")
_STAMP = re.compile(r"DateTime(?:64\(([0-9])(?:, '.*')?\)|\('.*'\))?")
_NANOSECONDS = "9"
_MICROSECONDS = 6
_NARROW_DIGITS = 18  # that any 64-bit integer holds


def declared(name: str, type_name: str) -> Column:
    """Return a column as ClickHouse declares it."""
    word = type_name
    while wrapped := _WRAPPED.fullmatch(word):
        word = wrapped.group(1)
    decimal, stamp = _DECIMAL.fullmatch(word), _STAMP.fullmatch(word)
    wide = _WIDE.fullmatch(word) is not None
    kind = _KINDS.get(word)
    if decimal:
        kind = "integer" if decimal.group(2) == "0" else "number"
        wide = kind == "integer" and int(decimal.group(1)) > _NARROW_DIGITS
    elif stamp and (int(stamp.group(1) or 0) <= _MICROSECONDS or stamp.group(1) == _NANOSECONDS):
        kind = "datetime"
    elif wide or _NARROW.fullmatch(word):
        kind = "integer"
    elif word.startswith("Enum"):
        kind = "text"
    stamped = kind == "datetime"
    return Column(name=name, type_name=word, kind=kind, wide=wide, timestamp=stamped, zoned=stamped, strict=True)


def read_cell(cell: str, column: Column, kind: Kind) -> Reading:
    """Return the expression that reads a cell as ``kind``, NULL where the cell is not of that kind."""
    if column.timestamp:
        return Reading(_datetime(cell, column))
    if kind == "number":
        exact = column.kind == "number" and not column.type_name.startswith("Decimal")
        # A decimal, and an integer beyond 64 bits, through its text: otherwise it is rounded twice.
        rounded = f"toFloat64({cell})" if exact or not (column.wide or column.kind == "number") else ""
        return Reading(rounded or f"toFloat64(toString({cell}))")
    if kind == "integer":
        return Reading(f"accurateCastOrNull({cell}, '{'Int256' if column.wide else 'Int64'}')", column.wide)
    if kind in ("date", "datetime"):
        days = f"toInt64({cell})"
        return Reading(f"{days} * {MICROS_PER_DAY}" if kind == "datetime" else days)
    if kind == "text":
        text = f"toString({cell})"
        return Reading(f"CASE WHEN isValidUTF8({text}) THEN {text} END")
    return Reading(cell)


def _datetime(cell: str, column: Column) -> str:
    """Return microseconds, rounded down before 1970 too."""
    if "64(9" not in column.type_name:
        return f"toUnixTimestamp64Micro(CAST({cell} AS DateTime64({_MICROSECONDS}, 'UTC')))"
    nanos = f"toUnixTimestamp64Nano({cell})"
    return CLICKHOUSE.floored(nanos, 1000)
