"""DuckDB's words."""

from __future__ import annotations

from fractions import Fraction

from flexdp.tables.dialect import Dialect

__all__ = ["DUCKDB"]


class _DuckDB(Dialect):
    name = "duckdb"
    double_type = "DOUBLE"
    text_type = "VARCHAR"
    wide_type = "HUGEINT"
    clamps_after = True
    has_logarithm = True

    def double(self, value: float | Fraction) -> str:
        digits = repr(float(value))
        return digits if "e" in digits else digits + "e0"

    def quotient(self, expression: str, divisor: int, *, wide: bool = False) -> str:  # noqa: ARG002
        return f"({expression}) // {divisor}"


DUCKDB = _DuckDB()
