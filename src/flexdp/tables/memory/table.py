"""Tables in memory: numpy arrays and lists, and columns of frames that are backed by one of these.

A numpy dtype declares a type. A list or an object array declares none: its cells are read strictly, one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp.buckets.base import Kind
from flexdp.errors import InputError
from flexdp.sharp.column import Column as Sorted
from flexdp.tables.counting import Counted, Counting
from flexdp.tables.declared import Column, no_name, pick
from flexdp.tables.duckdb.dialect import DUCKDB
from flexdp.tables.duckdb.run import FOR_COPIES, connection, workspace_on
from flexdp.tables.interrupts import run
from flexdp.tables.memory.arrays import ArrayTable
from flexdp.tables.memory.cells import CellTable
from flexdp.tables.sql.query import ReadCell, Reading, count_query
from flexdp.tables.sql.rank_query import RankQuery, ranked
from flexdp.tables.sql.results import counted
from flexdp.tables.sql.workspace import Workspace

__all__ = ["MemoryTable", "open_array"]


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
class MemoryTable:
    """Columns of equal length in memory, which DuckDB counts; one alone may be ``single``, without a name."""

    parts: Sequence[ArrayTable | CellTable] = field(repr=False)
    single: bool = False

    @property
    def columns(self) -> tuple[Column, ...]:
        """The declared columns."""
        return tuple(part.declared for part in self.parts)

    def column(self, name: object) -> Column:
        """Return the declared column of that name."""
        if self.single:
            no_name(name)
            return self.parts[0].declared
        return pick(self.columns, name)

    def query(self, counting: Counting) -> str:
        """Return the SQL that counts, without running it."""
        return count_query("source", counting, DUCKDB, self._shown(counting))

    def count(self, counting: Counting) -> Counted:
        """Count the records in each bucket."""
        places = self._places(counting)
        arrays = self._arrays(places)
        statement = count_query("source", counting, DUCKDB, self._reader(places))
        with connection() as con:
            con.register("source", arrays)
            try:
                return counted(run(lambda: con.execute(statement).fetchnumpy(), con.interrupt), len(counting.keys))
            finally:
                con.unregister("source")

    def ranked(self, counting: Counting, rows: str, looked: str) -> tuple[RankQuery, str]:
        """Return the statements about the ranks of a column, and the query of the private copy that they read."""
        return ranked("source", counting, DUCKDB, self._shown(counting), rows, looked)

    @contextmanager
    def workspace(self, counting: Counting) -> Iterator[Workspace]:
        """Open a session that can make and read private copies."""
        with connection(memory=FOR_COPIES) as con:
            con.register("source", self._arrays(self._places(counting)))
            try:
                yield workspace_on(con, con.interrupt)
            finally:
                con.unregister("source")

    def sorted_column(self, counting: Counting) -> Sorted:
        """Return the readable values of one column alone."""
        return self._part(counting.values[0].column).sorted_column(counting)

    def _part(self, column: Column) -> ArrayTable | CellTable:
        return next(part for part in self.parts if part.declared.name == column.name)

    def _shown(self, counting: Counting) -> ReadCell:
        """Return how cells are read in a query: those of one column alone as it is shown."""
        if counting.plain:
            part = self._part(counting.values[0].column)
            return lambda _column, kind: part.shown(kind)
        return self._reader(self._places(counting))

    @staticmethod
    def _places(counting: Counting) -> dict[tuple[Column, Kind], str]:
        """Name the columns that are read, each with the kind that it is read as; some are shown in a zone."""
        zoned = {axis.column: replace(axis.column, zoned=True) for axis in counting.axes if axis.zone is not None}
        shown = [(zoned.get(column, column) if kind == "datetime" else column, kind) for column, kind in counting.cells]
        return {pair: f"c{i}" for i, pair in enumerate(dict.fromkeys(shown))}

    def _arrays(self, places: dict[tuple[Column, Kind], str]) -> dict[str, NDArray[Any]]:
        """Make the arrays to register."""
        out = {}
        for (column, kind), name in places.items():
            aligned = self._part(column).aligned(kind, column)
            out[name] = aligned.cells
            present = aligned.present
            out[f"{name}_present"] = np.ones(len(aligned.cells), dtype=bool) if present is None else present
        return out

    def _reader(self, places: dict[tuple[Column, Kind], str]) -> ReadCell:
        def read(column: Column, kind: Kind) -> Reading:
            name, part = places[column, kind], self._part(column)
            reading = part.reading(name, kind, column)
            return Reading(f"CASE WHEN {name}_present THEN {reading.value} END", reading.wide)

        return read
