"""ClickHouse's SQL, with settings that give NULL and names their usual meaning."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from flexdp.buckets.base import LONGEST_TEXT
from flexdp.tables.sql.dialect import Dialect, Lookup

__all__ = ["CLICKHOUSE"]

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
