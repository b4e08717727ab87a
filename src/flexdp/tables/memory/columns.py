"""Dicts of columns: lists, which declare no type, and arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexdp._core.domains import elements
from flexdp.errors import InputError
from flexdp.tables.declared import Column
from flexdp.tables.memory.arrays import ArrayTable
from flexdp.tables.memory.cells import CellTable
from flexdp.tables.memory.table import MemoryTable, open_array

__all__ = ["open_columns"]


def open_columns(columns: dict[Any, Any]) -> MemoryTable:
    """Open a dict of lists and arrays of the same length by the names of the columns."""
    parts: list[ArrayTable | CellTable] = []
    sizes = set()
    for name, values in dict.items(columns):  # whatever a subclass makes of it
        listed = values if isinstance(values, np.ndarray) else elements(values)
        if not isinstance(name, str) or listed is None or isinstance(values, str | bytes):
            raise InputError(
                "source",
                "must be a dict of columns: names with lists or one-dimensional arrays",
                remedy="For example {'cost': [7.5, 12], 'ward': ['A', 'B']}.",
            )
        parts.append(_opened(name, listed))
        sizes.add(len(listed))
    if len(sizes) > 1:
        raise InputError("source", "must be a dict of columns of the same length")
    return MemoryTable(tuple(parts))


def _opened(name: str, values: Any) -> ArrayTable | CellTable:
    if isinstance(values, np.ndarray):
        return open_array(values, name=name)
    return CellTable(lambda: list(values), Column(name=name, type_name="list", kind=None, undeclared=True))
