"""Tables: open a source and count its records by one query on its engine. Only bucket counts leave this room.

    open_table(place) ─▶ Engine.describe ─▶ Source: declared columns, and whether rows are records     nothing is read
    Source.count(countings)   a session ─▶ described again, equal? ─▶ one statement ─▶ columns ─▶ KeyedHistogram
    open_ranks(source, …)     a session ─▶ described again, equal? ─▶ keep(records): one private copy
       few values               SELECT v ─▶ np.sort
       many, groups, wide       SELECT cell, min(v), max(v), count(*) GROUP BY cell ─▶ pieces ─▶ values of some of them
    whatever goes wrong once records are read becomes one DataError without a cause (_core/faults.py)

``engines`` has one folder for each engine; ``files``, ``frames`` and ``memory`` are read by a private DuckDB; ``where``
is the language of filters and derived columns; ``records`` decides whether the rows of a query are records.
"""

from __future__ import annotations

from flexdp.tables.column import Column, check_ways, label_reading, reading
from flexdp.tables.counting import Axis, Counted, Counting, Units
from flexdp.tables.opening import is_database, name_of, open_table
from flexdp.tables.source import Source
from flexdp.tables.translate import query_of

__all__ = [
    "Axis",
    "Column",
    "Counted",
    "Counting",
    "Source",
    "Units",
    "check_ways",
    "is_database",
    "label_reading",
    "name_of",
    "open_table",
    "query_of",
    "reading",
]
