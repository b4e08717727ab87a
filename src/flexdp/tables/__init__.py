"""Tables: open a source, count it with one query on its own engine. Nothing but bucket counts leaves this package."""

from __future__ import annotations

from flexdp.tables.counting import Axis, Counted, Counting, Units
from flexdp.tables.declared import Column, check_ways, label_reading, reading
from flexdp.tables.opening import is_database, name_of, open_table
from flexdp.tables.sql.translate import query_of
from flexdp.tables.table import Table, count

__all__ = [
    "Axis",
    "Column",
    "Counted",
    "Counting",
    "Table",
    "Units",
    "check_ways",
    "count",
    "is_database",
    "label_reading",
    "name_of",
    "open_table",
    "query_of",
    "reading",
]
