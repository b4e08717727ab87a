"""The custodian's check of columns in memory: how many cells are read as a kind, and why the others are not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from flexdp.buckets.base import LARGEST_INTEGER, LONGEST_TEXT, Kind
from flexdp.tables.column import Column
from flexdp.tables.engines.duckdb.session import connection
from flexdp.tables.engines.duckdb.types import read_cell
from flexdp.tables.memory.arrays import ArrayTable
from flexdp.tables.memory.cells import CellTable
from flexdp.tables.sql.check_query import READ, REASONS, Checked, Inspected, Wanted, check_query, inspected
from flexdp.tables.sql.query import Reading

__all__ = ["inspect_parts"]

_MOST_AT_ONCE = 100_000  # texts that are compared with patterns together


def inspect_parts(parts: Sequence[ArrayTable | CellTable], wanted: Sequence[Wanted]) -> Inspected:
    """Count the cells of columns in memory by outcome. The counts are not private."""
    found = []
    records = 0
    for column, kind, explained in wanted:
        part = next(part for part in parts if part.declared.name == column.name)
        found.append(
            _of_array(part, column, kind)
            if isinstance(part, ArrayTable)
            else _of_cells(part, column, kind, explained=explained)
        )
        records = sum(found[-1].values())
    return records, found, {}


def _outcomes() -> dict[str, int]:
    return dict.fromkeys((READ, *REASONS), 0)


def _of_array(part: ArrayTable, column: Column, kind: Kind) -> dict[str, int]:
    out, values = _outcomes(), part.values
    cells, present = part.aligned(kind, column)
    read = np.ones(len(values), dtype=bool) if present is None else present
    broken = np.zeros(len(values), dtype=bool)
    if kind == "number":
        read = read & np.isfinite(cells.astype(np.float64))
    elif kind == "integer" and values.dtype.kind == "f":
        broken = np.isfinite(values) & (values != np.floor(values))
        read = read & np.isfinite(values) & ~broken & (np.abs(values) <= float(LARGEST_INTEGER))
    there = part.there
    infinite = there & np.isinf(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)
    out[READ] = int(read.sum())
    out["empty"] = int((~read & ~there).sum())
    out["not finite"] = int((~read & infinite).sum())
    out["fraction"] = int((~read & there & broken).sum())
    out["impossible" if values.dtype.kind == "M" else "other"] = int((~read & there & ~infinite & ~broken).sum())
    return out


def _of_cells(part: CellTable, column: Column, kind: Kind, *, explained: bool) -> dict[str, int]:
    out, cells = _outcomes(), part.cells()
    values = part.values_of(kind, column)
    often = [1] * len(cells)
    if part.codes is not None:
        codes = part.codes()
        often = np.bincount(codes[codes >= 0], minlength=len(cells)).tolist()
        out["empty"] = int((codes < 0).sum())
    texts: list[tuple[str, int]] = []
    for cell, value, many in zip(cells, values, often, strict=True):
        if value is not None:
            out[READ] += many
        elif isinstance(cell, str):
            texts.append((str.__str__(cell), many))
        else:
            out[_reason(cell, kind)] += many
    if not explained:
        out["other"] += sum(many for _, many in texts)
        return out
    for start in range(0, len(texts), _MOST_AT_ONCE):
        _add_texts(out, part.declared, kind, texts[start : start + _MOST_AT_ONCE])
    return out


def _reason(cell: Any, kind: Kind) -> str:
    """Tell why a cell that is not text is not read."""
    try:
        if cell is None or cell != cell:  # NaN and NaT differ from themselves
            return "empty"
        if isinstance(cell, float | np.floating):
            if not math.isfinite(cell):
                return "not finite"
            return "other" if kind != "integer" else "fraction" if cell != math.floor(cell) else "digits"
    except Exception:  # noqa: BLE001  (an object that cannot be compared, as pandas' NA)
        return "empty"
    return "other"


def _add_texts(out: dict[str, int], column: Column, kind: Kind, texts: Sequence[tuple[str, int]]) -> None:
    """Add texts that are not read, by the reasons of text files."""
    undeclared = replace(column, undeclared=True, kind=None)
    words = np.empty(len(texts), dtype=object)
    words[:] = [_plain(text) for text, _ in texts]

    def read(_column: Column, wanted: Kind) -> Reading:
        return read_cell("value", undeclared, wanted)

    query = check_query("part", [Checked(undeclared, kind, "value", "CAST(value AS VARCHAR)")], read)
    with connection() as con:
        con.register("source", {"value": words, "often": np.array([many for _, many in texts], dtype=np.int64)})
        try:
            for many in {many for _, many in texts}:
                part = f"(SELECT CAST(value AS VARCHAR) AS value FROM source WHERE often = {many}) AS part"
                row = con.execute(query.replace("FROM part", f"FROM {part}")).fetchall()[0]
                for reason, count in inspected(row, 1, {})[1][0].items():
                    out["other" if reason == READ else reason] += many * count
        finally:
            con.unregister("source")


def _plain(text: str) -> str:
    """Return a text that an engine can hold: without lone surrogates, and no longer than tells that it is long."""
    return text[: LONGEST_TEXT + 1].encode("utf-8", "replace").decode()
