"""Tables of MariaDB: where their rows are kept, and which columns are computed when they are read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from flexdp.tables.plans.refusal import not_records

__all__ = ["check_stored", "computed_columns"]

# Storage engines that keep rows. Others compute them, or take them from elsewhere, perhaps by a query.
_STORED = ("innodb", "aria", "myisam", "memory", "rocksdb", "columnstore", "csv", "archive")
_ENGINE = re.compile(r"\n\) ENGINE=(\w+)")


def check_stored(written: str) -> None:
    """Refuse a view, and a table whose rows are not kept on the server, by what SHOW CREATE TABLE prints."""
    engine = _ENGINE.search(written)
    if not written.startswith(("CREATE TABLE", "CREATE TEMPORARY TABLE")) or engine is None:
        raise not_records()
    if engine.group(1).lower() not in _STORED:
        raise not_records()


def computed_columns(rows: Sequence[Sequence[Any]]) -> frozenset[str]:
    """Return the columns that are computed when they are read, by the rows of SHOW COLUMNS."""
    return frozenset(str(row[0]) for row in rows if "VIRTUAL" in str(row[5]).upper())
