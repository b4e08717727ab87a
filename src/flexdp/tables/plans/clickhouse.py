"""Columns of ClickHouse with a DEFAULT or MATERIALIZED expression.

Rows that were written before such a column was added have no cell in it: it is computed when they are read, like an
ALIAS. Whether there are such rows is data, so the definition decides.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

__all__ = ["computed_columns"]

_CONSTANT = re.compile(r"-?[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?|'[^'\\]*'|NULL|true|false", re.IGNORECASE)


def computed_columns(rows: Sequence[Sequence[Any]]) -> set[str]:
    """Return the columns with an expression that is more than a constant, by the rows of DESCRIBE TABLE."""
    return {str(row[0]) for row in rows if row[2] and not _CONSTANT.fullmatch(str(row[3]))}
