"""Results of count queries: rows or columns from an engine as arrays of keys and counts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from flexdp._core.keys import object_keys
from flexdp.tables.counting import Counted, Counting

__all__ = ["columns_of", "counted", "counted_together"]


def counted(columns: dict[str, Any], axes: int) -> Counted:
    """Name the columns of a count query's result."""
    return Counted(tuple(columns[f"b{i}"] for i in range(axes)), columns["records"])


def counted_together(columns: dict[str, Any], countings: Sequence[Counting]) -> list[Counted]:
    """Take the result of several counts in one query apart; rows with a missing key are not buckets."""
    out = []
    for p, counting in enumerate(countings):
        parts = [columns[f"c{p}_b{i}"] for i in range(len(counting.axes))]
        mine = np.asarray(columns["whose"] == p)
        for part in parts:
            mine &= ~np.ma.getmaskarray(part)
        out.append(Counted(tuple(np.ma.getdata(part)[mine] for part in parts), np.ma.getdata(columns["records"])[mine]))
    return out


def columns_of(rows: Sequence[Sequence[Any]], names: Sequence[str], texts: Collection[str]) -> dict[str, Any]:
    """Turn rows from a database driver into named columns; ``texts`` are the names of those that hold texts."""
    cells = zip(*rows, strict=True) if len(rows) else ([] for _ in names)
    return {name: _column(list(part), texts=name in texts) for name, part in zip(names, cells, strict=True)}


def _column(cells: list[Any], *, texts: bool) -> Any:
    missing = [cell is None for cell in cells]
    if texts or any(isinstance(cell, str) for cell in cells):  # wide integers come as texts, too
        values = object_keys(cells)
    else:
        values = np.array([0 if cell is None else cell for cell in cells])
    return np.ma.MaskedArray(values, mask=missing)
