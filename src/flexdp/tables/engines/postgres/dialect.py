"""PostgreSQL's SQL where it differs from the defaults: its arithmetic fails where a result underflows."""

from __future__ import annotations

import math

from flexdp.tables.sql.dialect import Dialect

__all__ = ["POSTGRES"]


class _Postgres(Dialect):
    holds_nul = False

    def over(self, expression: str, divisor: float) -> str:
        plain = super().over(expression, divisor)
        vanishing = _largest_vanishing(divisor)
        if not vanishing:
            return plain
        size = self.double(vanishing)
        return f"CASE WHEN {expression} BETWEEN -{size} AND {size} THEN {self.double(0.0)} ELSE {plain} END"

    def quotient(self, expression: str, divisor: int, *, wide: bool = False) -> str:
        return f"div({expression}, CAST({divisor} AS NUMERIC))" if wide else super().quotient(expression, divisor)


def _largest_vanishing(divisor: float) -> float:
    """Return the largest double whose quotient by the divisor rounds to zero, or zero if there is none.

    >>> _largest_vanishing(1.5), _largest_vanishing(5.0) / 5.0
    (0.0, 0.0)
    """
    size = divisor * 2.0**-1074 / 2  # its quotient is at most half of the smallest double
    while size and size / divisor:
        size = math.nextafter(size, 0.0)
    while math.nextafter(size, math.inf) / divisor == 0.0:
        size = math.nextafter(size, math.inf)
    return size


POSTGRES = _Postgres()
