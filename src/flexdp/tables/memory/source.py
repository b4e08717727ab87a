"""Tables in memory: numpy arrays and lists, and columns of frames that are backed by one of these.

A numpy dtype declares a type. A list or an object array declares none: its cells are read strictly, one by one. Either
way a column is read as a kind into :class:`~flexdp.tables.memory.arrays.Cells`, from which everything else is made:

    cells of [7, "8", 2.5, None] as integers     values 7 8 0 0    present yes yes no no
        counts                                   DuckDB, over both arrays
        ranks of the column alone                values[present], sorted
        check                                    why the others are not present
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from flexdp._core.keys import object_keys
from flexdp.buckets.base import Kind
from flexdp.errors import InputError
from flexdp.sharp.column import Column as RankedColumn
from flexdp.sharp.column import native
from flexdp.tables.column import Column
from flexdp.tables.counting import Counting
from flexdp.tables.engines.duckdb.private import PrivateSource
from flexdp.tables.memory.arrays import zone_ticks
from flexdp.tables.memory.column import MemoryColumn
from flexdp.tables.memory.inspect import count_outcomes
from flexdp.tables.sql.check_query import Inspected, Wanted
from flexdp.tables.sql.query import ReadCell, Reading
from flexdp.tables.written import Written

__all__ = ["MemorySource", "Opened", "open_columns"]


@dataclass(frozen=True)
class MemorySource(PrivateSource):
    """Columns of equal length in memory; one alone may be without a name."""

    parts: Sequence[MemoryColumn] = field(repr=False)
    files: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(part.declared for part in self.parts)

    def written(self, how: Written) -> MemorySource:
        return MemorySource(tuple(replace(part, declared=replace(part.declared, written=how)) for part in self.parts))

    def reading(self, countings: Sequence[Counting]) -> tuple[str, ReadCell]:
        places = _places(countings)

        def read(column: Column, kind: Kind) -> Reading:
            name = places[column, kind]
            reading = self._part(column).expression(name, kind)
            return Reading(f"CASE WHEN {name}_present THEN {reading.value} END", reading.wide)

        return "source", read

    @contextmanager
    def registered(self, con: Any, countings: Sequence[Counting]) -> Iterator[Callable[[], None]]:
        arrays: dict[str, Any] = {}
        for (column, kind), name in _places(countings).items():
            values, present = self._part(column).read(column, kind)
            if kind == "integer" and values.dtype == object:  # wider than 64 bits
                values = object_keys([str(value) for value in values.tolist()])
            arrays |= {name: np.ascontiguousarray(values), f"{name}_present": present}
        con.register("source", arrays)
        try:
            yield con.interrupt
        finally:
            con.unregister("source")

    def inspect(self, wanted: Sequence[Wanted]) -> Inspected:
        found = [count_outcomes(self._part(each.column), each) for each in wanted]
        return sum(found[-1].values()) if found else 0, found, {}

    def held(self, counting: Counting) -> RankedColumn:
        axis = counting.values[0]
        ((column, kind),) = _places([counting])
        values, present = self._part(column).read(column, kind)
        values = values[present]
        if axis.zone is not None:
            values = zone_ticks(values, axis.zone, axis.kind)
        if kind == "integer" and values.dtype.kind == "f":
            wide = len(values) and np.abs(values).max() >= 2.0**63
            values = object_keys(list(map(int, values.tolist()))) if wide else values.astype(np.int64)
        values = native(values)[1]
        return RankedColumn.from_values(values if axis.buckets.bounds is None else axis.buckets.locate(values))

    def _part(self, column: Column) -> MemoryColumn:
        return next(part for part in self.parts if part.declared.name == column.name)


def _places(countings: Sequence[Counting]) -> dict[tuple[Column, Kind], str]:
    """Name the columns that are read, each with the kind that it is read as; some are shown in a zone."""
    shown: list[tuple[Column, Kind]] = []
    for counting in countings:
        zoned = {axis.column: replace(axis.column, zoned=True) for axis in counting.axes if axis.zone is not None}
        for column, kind in counting.cells:
            shown.append((zoned.get(column, column) if kind == "datetime" else column, kind))
    return {pair: f"c{i}" for i, pair in enumerate(dict.fromkeys(shown))}


Opened: TypeAlias = tuple[MemoryColumn, int]  # a column, and its length


def open_columns(columns: dict[Any, Any], open_one: Callable[[Any, str], Opened | None]) -> MemorySource:
    """Open a dict of columns by their names; ``open_one`` opens a column, or returns None if it is none."""
    parts: list[MemoryColumn] = []
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
