"""Cells of files, as expressions: a text as it is declared to be written, a number, boolean or date as it is."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from flexdp.buckets.base import Kind
from flexdp.tables.cell_patterns import DATE
from flexdp.tables.declared import Column
from flexdp.tables.engines.duckdb.dialect import DUCKDB
from flexdp.tables.engines.duckdb.types import read_cell
from flexdp.tables.sql.query import Reading
from flexdp.tables.written import WRITTEN

__all__ = ["Cell", "as_text", "read_typed", "short"]


class Cell(NamedTuple):
    """Expressions of a cell: as text, and where the format has types, as what is not a text."""

    text: str
    typed: str | None = None


def read_typed(text: str, typed: str, column: Column, kind: Kind) -> Reading:
    """Read a cell of a format with types: a text as declared, a number, boolean or date as it is."""
    if kind == "text":
        return Reading(f"coalesce({text}, {typed})")
    own = {
        "date": f"{typed}[1:10]",
        "datetime": f"CASE WHEN regexp_full_match({typed}, '{DATE}') THEN {typed} || 'T00:00' ELSE {typed} END",
    }.get(kind, typed)
    found = read_cell(text, column, kind)
    plain = read_cell(f"({own})", replace(column, written=WRITTEN), kind)
    return Reading(f"coalesce({plain.value}, {found.value})", found.wide)


def as_text(cell: Cell, column: Column, kind: Kind) -> str | None:
    """Return the expression of a cell as text; None if it is declared to be something else."""
    if column.undeclared:
        return cell.text if cell.typed is None else f"coalesce({cell.text}, {cell.typed})"
    return f"CAST({cell.text} AS VARCHAR)" if column.kind == "text" and kind != "text" else None


def short(cell: str, column: Column) -> str:
    """Write how a cell is copied; texts that are too long to be read become NULL."""
    return f"CASE WHEN {DUCKDB.is_short(cell)} THEN {cell} END" if column.type_name == "VARCHAR" else cell
