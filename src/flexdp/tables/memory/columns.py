"""Dicts of columns: lists, which declare no type, arrays and series."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from flexdp.errors import InputError
from flexdp.tables.memory.arrays import ArrayTable
from flexdp.tables.memory.cells import CellTable
from flexdp.tables.memory.source import MemorySource

__all__ = ["Opened", "open_columns"]

Opened: TypeAlias = tuple[ArrayTable | CellTable, int]  # a column, and its length


def open_columns(columns: dict[Any, Any], open_one: Callable[[Any, str], Opened | None]) -> MemorySource:
    """Open a dict of columns by their names; ``open_one`` opens a column, or returns None if it is none."""
    parts: list[ArrayTable | CellTable] = []
    sizes = set()
    for name, values in dict.items(columns):  # whatever a subclass makes of it
        opened = open_one(values, name) if isinstance(name, str) else None
        if opened is None:
            raise InputError(
                "source",
                "must be a dict of columns: names with lists, one-dimensional arrays or series",
                remedy="For example {'cost': [7.5, 12], 'ward': ['A', 'B']}.",
            )
        parts.append(opened[0])
        sizes.add(opened[1])
    if len(sizes) > 1:
        raise InputError("source", "must be a dict of columns of the same length")
    return MemorySource(tuple(parts))
