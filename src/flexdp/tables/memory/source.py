"""Tables in memory: numpy arrays and lists, and columns of frames that are backed by one of these.

A numpy dtype declares a type. A list or an object array declares none: its cells are read strictly, one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexdp.buckets.base import Kind
from flexdp.errors import InputError
from flexdp.sharp.column import Column as RankedColumn
from flexdp.tables.column import Column
from flexdp.tables.counting import Counting
from flexdp.tables.engines.duckdb.private import PrivateSource
from flexdp.tables.memory.arrays import ArrayTable
from flexdp.tables.memory.cells import CellTable
from flexdp.tables.memory.inspect import inspect_parts
from flexdp.tables.sql.check_query import Inspected, Wanted
from flexdp.tables.sql.query import ReadCell, Reading
from flexdp.tables.written import Written

__all__ = ["MemorySource", "Opened", "open_array", "open_columns"]


@np.errstate(all="ignore")
def open_array(values: NDArray[Any], *, name: str | None = None, numbers: bool = False) -> ArrayTable | CellTable:
    """Open an array as one column. ``numbers`` reads integers as numbers."""
    if values.ndim != 1:
        raise InputError(
            "source",
            "must be a one-dimensional array",
            remedy="Choose one of its columns, or name them in a frame: pandas.DataFrame(array, columns=['a', 'b']).",
        )
    present = None
    if isinstance(values, np.ma.MaskedArray):
        present, values = ~np.ma.getmaskarray(values), np.ma.getdata(values)
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    code, word = values.dtype.kind, str(values.dtype)
    if code == "O":
        column = Column(name=name, type_name="object", kind=None, undeclared=True)
        return CellTable(_cells(values, present), column)
    if code == "U":
        return CellTable(_cells(values, present), Column(name=name, type_name="text", kind="text"))
    if code in "iu":
        kind: Kind | None = "number" if numbers else "integer"
    else:
        kind = {"f": "number", "b": "boolean"}.get(code)  # type: ignore[assignment]
    if code == "M" and np.datetime_data(values.dtype)[0] != "generic":
        daily = np.datetime_data(values.dtype)[0] in ("D", "W", "M", "Y")
        kind = "date" if daily else "datetime"
        return ArrayTable(values, Column(name=name, type_name=word, kind=kind, timestamp=not daily), present)
    column = Column(name=name, type_name=word, kind=kind, follows=numbers and code in "iuf")
    return ArrayTable(values, column, present)


def _cells(values: NDArray[Any], present: NDArray[np.bool_] | None) -> Callable[[], list[Any]]:
    if present is None:
        return values.tolist
    return lambda: [cell if there else None for cell, there in zip(values.tolist(), present, strict=True)]


@dataclass(frozen=True)
class MemorySource(PrivateSource):
    """Columns of equal length in memory; one alone may be without a name."""

    parts: Sequence[ArrayTable | CellTable] = field(repr=False)
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
            reading = self._part(column).reading(name, kind, column)
            return Reading(f"CASE WHEN {name}_present THEN {reading.value} END", reading.wide)

        return "source", read

    @contextmanager
    def registered(self, con: Any, countings: Sequence[Counting]) -> Iterator[Callable[[], None]]:
        con.register("source", self._arrays(_places(countings)))
        try:
            yield con.interrupt
        finally:
            con.unregister("source")

    def inspect(self, wanted: Sequence[Wanted]) -> Inspected:
        return inspect_parts(self.parts, wanted)

    def held(self, counting: Counting) -> RankedColumn:
        return self._part(counting.values[0].column).sorted_column(counting)

    def _part(self, column: Column) -> ArrayTable | CellTable:
        return next(part for part in self.parts if part.declared.name == column.name)

    def _arrays(self, places: dict[tuple[Column, Kind], str]) -> dict[str, NDArray[Any]]:
        """Make the arrays to register: the cells of each column, and whether they are readable."""
        out = {}
        for (column, kind), name in places.items():
            cells, present = self._part(column).aligned(kind, column)
            out[name] = cells
            out[f"{name}_present"] = np.ones(len(cells), dtype=bool) if present is None else present
        return out


def _places(countings: Sequence[Counting]) -> dict[tuple[Column, Kind], str]:
    """Name the columns that are read, each with the kind that it is read as; some are shown in a zone."""
    shown: list[tuple[Column, Kind]] = []
    for counting in countings:
        zoned = {axis.column: replace(axis.column, zoned=True) for axis in counting.axes if axis.zone is not None}
        for column, kind in counting.cells:
            shown.append((zoned.get(column, column) if kind == "datetime" else column, kind))
    return {pair: f"c{i}" for i, pair in enumerate(dict.fromkeys(shown))}


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
