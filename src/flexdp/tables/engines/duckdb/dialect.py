"""DuckDB's SQL."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from flexdp.buckets.base import LONGEST_TEXT
from flexdp.tables.sql.dialect import Dialect, Lookup
from flexdp.tables.where.pattern import ESCAPE, in_sql

__all__ = ["DUCKDB"]


class _DuckDB(Dialect):
    name = "duckdb"
    double_type = "DOUBLE"
    text_type = "VARCHAR"
    wide_type = "HUGEINT"
    fence = ""
    clamps_after = True
    trusts_statistics = True

    def double(self, value: float | Fraction) -> str:
        digits = repr(float(value))
        return digits if "e" in digits else digits + "e0"

    def as_double(self, expression: str, *, wide: bool = False) -> str:
        """Convert to a double; wide integers through their text, because DuckDB rounds them twice otherwise."""
        return f"CAST({f'CAST({expression} AS VARCHAR)' if wide else expression} AS DOUBLE)"

    def opaque(self, expression: str) -> str:
        """Add a random zero, about which no statistics exist.

        DuckDB trusts Parquet statistics in filters and in everything it computes. Most writers leave NaN out of them,
        so that NaN would pass every test.
        """
        return f"{expression} + 0 * random()"

    def lookup(self, name: str, values: Sequence[str]) -> Lookup:
        table = f"(SELECT [{', '.join(values)}] AS {name}) AS of_{name}"
        return Lookup(lambda place: f"{name}[{place} + 1]", f", {table}")

    def finite(self, expression: str) -> str:
        """Subtract the number from itself, and compare with zero.

        Statistics, which leave NaN out, decide comparisons and isnan, also of abs(x), of sums and differences, and
        whether x - x is small, but not whether it is zero; a test fails if a version of DuckDB ever infers it. A count
        without groups is taken from statistics even so, and must not be filtered by it. A random zero, as in
        :meth:`opaque`, would cost half of a count.
        """
        return f"({expression}) - ({expression}) = 0e0"

    def like(self, text: str, pattern: Sequence[str | None]) -> str:
        written, escaped = in_sql(pattern)
        escape = f" ESCAPE '{ESCAPE}'" if escaped else ""  # without one, matching is faster
        return f"{self.binary(f'({text})')} LIKE {self.text(written)}{escape}"

    def is_short(self, text: str) -> str:
        return f"strlen({text}) <= {LONGEST_TEXT}"

    def quotient(self, expression: str, divisor: int, *, wide: bool = False) -> str:  # noqa: ARG002
        return f"({expression}) // {divisor}"


DUCKDB = _DuckDB()
