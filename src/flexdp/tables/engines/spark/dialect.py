"""Spark's SQL, which means the same with ANSI mode on and off."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from flexdp.errors import InputError
from flexdp.tables.sql.dialect import Dialect, Lookup

__all__ = ["SPARK"]

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
