"""MariaDB's SQL, the same in every ``sql_mode``. Texts are bytes in UTF-8 here, so that nothing is padded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from flexdp.tables.sql.dialect import Dialect
from flexdp.tables.where.pattern import ESCAPE, in_sql

__all__ = ["MARIADB"]

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
