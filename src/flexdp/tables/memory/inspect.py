"""The custodian's check of columns in memory: how many cells are read as a kind, and why the others are not."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from flexdp._core.keys import object_keys
from flexdp.buckets.base import LONGEST_TEXT, Kind
from flexdp.tables.column import Column
from flexdp.tables.engines.duckdb.session import connection
from flexdp.tables.engines.duckdb.types import read_cell
from flexdp.tables.memory.arrays import unexplained
from flexdp.tables.memory.column import MemoryColumn
from flexdp.tables.sql.check_query import READ, REASONS, Checked, Wanted, check_query, inspected
from flexdp.tables.sql.query import Reading

__all__ = ["count_outcomes"]

_MOST_AT_ONCE = 100_000  # texts that are copied to be compared with patterns


def count_outcomes(part: MemoryColumn, wanted: Wanted) -> dict[str, int]:
    """Count the cells of a column by outcome. The counts are not private."""
    column, kind, explained = wanted
    present = part.read(column, kind).present
    found = Counter({READ: int(present.sum())})
    if isinstance(part.cells, np.ndarray):
        left = ~present
        if part.present is not None:
            found["empty"] = int((left & ~part.present).sum())
            left &= part.present
        for reason, test in unexplained(part.cells, kind).items():
            found[reason] += int((left & test).sum())
            left &= ~test
    else:
        cells = [*part.cells(), None]  # the last one is of code −1
        codes = np.arange(len(present)) if part.codes is None else part.codes()
        places, often = (each.tolist() for each in np.unique(codes[~present], return_counts=True))
        texts: Counter[str] = Counter()
        for cell, many in zip([cells[place] for place in places], often, strict=True):
            if isinstance(cell, str):
                texts[str.__str__(cell)] += many
            else:
                found[_reason(cell, kind)] += many
        found += _why(texts, part.declared, kind) if explained else Counter(other=texts.total())
    return {outcome: found[outcome] for outcome in (READ, *REASONS)}


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


def _why(texts: Counter[str], column: Column, kind: Kind) -> Counter[str]:
    """Return the reasons why texts are not read: those of text files."""
    undeclared = replace(column, undeclared=True, kind=None)

    def read(_column: Column, wanted: Kind) -> Reading:
        return read_cell("value", undeclared, wanted)

    checked = [Checked(undeclared, kind, "value", "value")]
    found: Counter[str] = Counter()
    with connection() as con:
        for start in range(0, len(texts), _MOST_AT_ONCE):
            some = list(islice(texts.items(), start, start + _MOST_AT_ONCE))
            words = object_keys([_plain(text) for text, _ in some])
            con.register("source", {"value": words, "often": np.array([many for _, many in some], dtype=np.int64)})
            try:
                for many in {many for _, many in some}:
                    part = f"(SELECT CAST(value AS VARCHAR) AS value FROM source WHERE often = {many}) AS part"
                    row = con.execute(check_query(part, checked, read)).fetchall()[0]
                    for reason, count in inspected(row, 1, {})[1][0].items():
                        found["other" if reason == READ else reason] += many * count
            finally:
                con.unregister("source")
    return found


def _plain(text: str) -> str:
    """Return a text that an engine can hold: without lone surrogates, and no longer than tells that it is long."""
    return text[: LONGEST_TEXT + 1].encode("utf-8", "replace").decode()
