"""Filters and derived columns: a small grammar of our own, parsed and never pasted, with one meaning on all engines.

"NOT age > 18"  ── parse ───▶  Not(Compare(>, Name age, Literal 18))     the tree as written, whose text is public
                ── kinds ───▶  age is an integer: the table declares it, or what it is compared with tells it
                ── meaning ─▶  Compare(<=, ReadColumn age, Const 18)     the same tree with kinds
                ── possible ▶  refused if no record can pass
                ── sql ─────▶  (age <= 18)                               true for the records that count
"""

from __future__ import annotations

from flexdp.tables.where import tree
from flexdp.tables.where.kinds import Kinds
from flexdp.tables.where.literals import Literals
from flexdp.tables.where.meaning import Filter, derived_column, filter_of
from flexdp.tables.where.parse import parse_test, parse_value
from flexdp.tables.where.possible import is_impossible
from flexdp.tables.where.sql import derived_sql, test_sql
from flexdp.tables.where.tree import ReadColumn, columns_in, text_of

__all__ = [
    "Filter",
    "Kinds",
    "Literals",
    "ReadColumn",
    "columns_in",
    "derived_column",
    "derived_sql",
    "filter_of",
    "is_impossible",
    "parse_test",
    "parse_value",
    "test_sql",
    "text_of",
    "tree",
]
