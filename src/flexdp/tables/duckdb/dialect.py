"""DuckDB's words."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from flexdp.buckets.base import LONGEST_TEXT
from flexdp.tables.sql.dialect import Dialect, Lookup

__all__ = ["DUCKDB"]


class _DuckDB(Dialect):
    name = "duckdb"
    double_type = "DOUBLE"
    text_type = "VARCHAR"
    wide_type = "HUGEINT"
    fence = ""
    clamps_after = True

    def double(self, value: float | Fraction) -> str:
        digits = repr(float(value))
        return digits if "e" in digits else digits + "e0"

    def as_double(self, expression: str, *, wide: bool = False) -> str:
        """Wide integers are rounded twice, unless they are read from their text."""
        return f"CAST({f'CAST({expression} AS VARCHAR)' if wide else expression} AS DOUBLE)"

    def honest(self, expression: str) -> str:
        """Not what the statistics of a Parquet file say, which DuckDB takes for true in filters and in all that it
        computes: those of most writers know nothing of NaN, which would pass every test. A random number has none."""
        return f"{expression} + 0 * random()"

    def lookup(self, name: str, values: Sequence[str]) -> Lookup:
        table = f"(SELECT [{', '.join(values)}] AS {name}) AS of_{name}"
        return Lookup(lambda place: f"{name}[{place} + 1]", f", {table}")

    def is_short(self, text: str) -> str:
        return f"strlen({text}) <= {LONGEST_TEXT}"

    def quotient(self, expression: str, divisor: int, *, wide: bool = False) -> str:  # noqa: ARG002
        return f"({expression}) // {divisor}"


DUCKDB = _DuckDB()
