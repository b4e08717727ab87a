"""MariaDB: its SQL, the same in every ``sql_mode``, and how its cells are read. Texts are bytes in UTF-8, never padded.

Dates may be impossible ones (2024-02-31, 2024-00-10, 0000-00-00), depending on the mode in which they were written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from flexdp._core.calendar import MICROS_PER_DAY
from flexdp.buckets.base import LONGEST_TEXT, Kind
from flexdp.tables.column import Column
from flexdp.tables.sql.dialect import Dialect
from flexdp.tables.sql.query import Reading
from flexdp.tables.where.literals import ESCAPE, in_sql

__all__ = ["MARIADB", "declared", "read_cell"]

_PLAIN = re.compile(r"[A-Za-z0-9 .,:;_-]*")
_EVERYTHING = 2**64 - 1
_COLUMN_TYPES = {"SIGNED": "BIGINT"}  # of casts, where columns are declared


class _MariaDB(Dialect):
    name = "mariadb"
    double_type = "DOUBLE"
    text_type = "CHAR"
    integer_type = "SIGNED"
    wide_type = "DECIMAL(65, 0)"
    has_grouping_sets = False
    fence = f" LIMIT {_EVERYTHING}"
    branches = 4  # a stack limits the nesting of expressions

    def identifier(self, name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    def text(self, value: str) -> str:
        """Return a literal; unusual characters as bytes, because quotes and escapes depend on the session."""
        return f"'{value}'" if _PLAIN.fullmatch(value) else f"X'{value.encode().hex().upper()}'"

    def double(self, value: float | Fraction) -> str:
        digits = repr(float(value))
        return digits if "e" in digits else digits + "e0"

    def stored(self, kind: str) -> str:
        return _COLUMN_TYPES.get(kind, kind)

    def as_text(self, expression: str) -> str:
        return f"CONVERT({expression} USING utf8mb4)"

    def rows_of(self, names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
        listed = (", ".join(f"{cell} AS {name}" for name, cell in zip(names, row, strict=True)) for row in rows)
        return f"SELECT * FROM (SELECT {' UNION ALL SELECT '.join(listed)}) AS r"

    def quotient(self, expression: str, divisor: int, *, wide: bool = False) -> str:
        if not wide:
            return f"(({expression}) DIV {divisor})"
        # DIV fails beyond 64 bits, and a decimal quotient is rounded: divide what leaves no remainder.
        return self.as_integer(f"(({expression}) - ({expression}) % {divisor}) / {divisor}", wide=True)

    def binary(self, expression: str) -> str:
        return expression

    def length(self, expression: str) -> str:
        return f"char_length(CONVERT({expression} USING utf8mb4))"

    def like(self, text: str, pattern: Sequence[str | None]) -> str:
        """Match characters instead of bytes."""
        written = self.text(in_sql(pattern)[0])
        return f"{self._characters(f'({text})')} LIKE {self._characters(written)} ESCAPE '{ESCAPE}'"

    @staticmethod
    def _characters(octets: str) -> str:
        return f"CONVERT({octets} USING utf8mb4) COLLATE utf8mb4_bin"

    def joined(self, texts: Sequence[str]) -> str:
        return f"concat({', '.join(texts)})"

    def means(self, kept: str, share: str) -> str:
        """Sum within a window, where an order can be given; the sum that reaches all values is the unit's."""
        window = "OVER (PARTITION BY u ORDER BY v0 ASC)"  # with max in place of count it would be quadratic
        summed = f"SELECT u, v0, n, sum({share}) {window} AS total, count(*) {window} AS reached FROM ({kept}) AS s"
        mean = self.greatest(self.least("max(CASE WHEN reached = n THEN total END)", "max(v0)"), "min(v0)")
        return f"SELECT u, {mean} AS v0 FROM ({summed}) AS m GROUP BY u"


MARIADB = _MariaDB()


_KINDS: dict[str, Kind] = {  # by patterns
    r"tinyint\(1\)": "boolean",
    r"(tiny|small|medium|big)?int(\([0-9]+\))?( unsigned)?( zerofill)?|year(\([0-9]+\))?": "integer",
    r"(double|float)(\([0-9]+,[0-9]+\))?( unsigned)?( zerofill)?": "number",
    r"(var)?char\([0-9]+\)|(tiny|medium|long)?text|enum\((?s:.*)\)": "text",
    r"date": "date",
    r"(datetime|timestamp)(\([0-6]\))?": "datetime",
}
_DECIMAL = re.compile(r"decimal\(([0-9]+),([0-9]+)\)( unsigned)?( zerofill)?")
_NARROW = 18  # digits that any 64-bit integer holds
_WIDEST_CHARACTER = 4  # bytes, in any character set, of a character that UTF-8 writes in one
_EPOCH = 719528  # the number of 1970-01-01


def declared(name: str, type_name: str) -> Column:
    """Return a column as MariaDB declares it."""
    word = type_name.lower()
    decimal = _DECIMAL.fullmatch(word)
    kind = next((kind for pattern, kind in _KINDS.items() if re.fullmatch(pattern, word)), None)
    wide = word.startswith("bigint") and "unsigned" in word
    if decimal:
        kind = "integer" if decimal.group(2) == "0" else "number"
        wide = kind == "integer" and int(decimal.group(1)) > _NARROW
    stamped, zoned = kind == "datetime", kind == "datetime" and word.startswith("timestamp")
    return Column(name=name, type_name=word, kind=kind, wide=wide, timestamp=stamped, zoned=zoned, strict=True)


def read_cell(cell: str, column: Column, kind: Kind) -> Reading:
    """Return the expression that reads a cell as ``kind``, NULL where the cell is not of that kind."""
    if column.timestamp:
        return Reading(_datetime(cell, column, kind))
    if kind == "number":
        return Reading(f"CAST({cell} AS DOUBLE)")
    if kind == "integer":
        return Reading(f"CAST({cell} AS {'DECIMAL(65, 0)' if column.wide else 'SIGNED'})", column.wide)
    if kind in ("date", "datetime"):
        return Reading(_days(cell) if kind == "date" else f"{_days(cell)} * {MICROS_PER_DAY}")
    if kind == "text":  # in bytes: a comparison of texts ignores blanks at the end, and mostly case
        short = f"octet_length({cell}) <= {_WIDEST_CHARACTER * LONGEST_TEXT}"
        return Reading(f"CASE WHEN {short} THEN CAST(CONVERT({cell} USING utf8mb4) AS BINARY) END")
    return Reading(f"CASE WHEN {cell} IN (0, 1) THEN {cell} END")


def _days(cell: str) -> str:
    """Return the days since 1970-01-01; NULL for dates that are not in the calendar."""
    real = f"dayofmonth({cell}) BETWEEN 1 AND dayofmonth(last_day({cell}))"
    real = f"{cell} >= '0001-01-01' AND month({cell}) >= 1 AND {real}"
    return f"CASE WHEN {real} THEN to_days({cell}) - {_EPOCH} END"


def _datetime(cell: str, column: Column, kind: Kind) -> str:
    """Return microseconds, or days for a date; both are rounded down, before 1970 too."""
    if not column.zoned:
        if kind == "date":
            return _days(cell)
        minutes = f"(hour({cell}) * 60 + minute({cell}))"
        return f"{_days(cell)} * {MICROS_PER_DAY} + ({minutes} * 60 + second({cell})) * 1000000 + microsecond({cell})"
    # The number that is stored, whatever the session's time zone; that of 0000-00-00 is 0, and of no other.
    micros = f"CAST(unix_timestamp({cell}) * 1000000 AS SIGNED)"
    shown = micros if kind == "datetime" else f"({micros} DIV {MICROS_PER_DAY})"
    return f"CASE WHEN unix_timestamp({cell}) > 0 THEN {shown} END"
