"""Tables in memory: numpy arrays and lists, and columns of frames that are backed by one of these.

A numpy dtype declares a type. A list or an object array declares none: its cells are read strictly, one by one. Either
way a column is read as a kind into :class:`~flexdp.tables.memory.cells.Cells`, from which everything else is made:

    cells of [7, "8", 2.5, None] as integers     values 7 8 0 0    present yes yes no no
        counts                                   DuckDB, over both arrays
        ranks of the column alone                values[present], sorted
        check                                    why the others are not present
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexdp._core.keys import object_keys
from flexdp.buckets.base import LONGEST_TEXT, Kind
from flexdp.errors import InputError
from flexdp.sharp.column import Column as RankedColumn
from flexdp.sharp.column import native
from flexdp.tables.column import Column
from flexdp.tables.counting import Counting
from flexdp.tables.engines.duckdb.dialect import read_cell
from flexdp.tables.engines.duckdb.session import PrivateSource, connection
from flexdp.tables.memory.cells import Cells, read_array, read_cells, unexplained, zone_ticks
from flexdp.tables.sql.check_query import READ, REASONS, Checked, Inspected, Wanted, check_query, inspected
from flexdp.tables.sql.query import ReadCell, Reading
from flexdp.tables.written import Written

__all__ = ["MemoryColumn", "MemorySource", "Opened", "count_outcomes", "in_native_order", "open_array", "open_columns"]


@dataclass(frozen=True)
class MemoryColumn:
    """One column: an array of one dtype, or Python objects that are fetched when they are read.

    ``present`` masks out missing cells of an array, and ``zoned`` datetimes in it are instants, in UTC. With ``codes``,
    the objects are the distinct ones, and the code of a record is the place of its cell among them, or −1 if it is
    missing.
    """

    cells: NDArray[Any] | Callable[[], list[Any]] = field(repr=False)  # records: never printed
    declared: Column
    present: NDArray[np.bool_] | None = field(default=None, repr=False)
    zoned: bool = False
    codes: Callable[[], NDArray[Any]] | None = field(default=None, repr=False)

    def read(self, column: Column, kind: Kind) -> Cells:
        """Read the cells as a kind; ``column`` is this one, as a count reads it: in a zone, or only what is there."""
        if not isinstance(self.cells, np.ndarray):
            if self.codes is None:
                return read_cells(self.cells(), column, kind)
            values, present = read_cells([*self.cells(), None], column, kind)
            codes = self.codes()
            return Cells(values[codes], present[codes])
        values, present = read_array(self.cells, column, kind)
        if self.present is not None:
            present = present & self.present
        if self.cells.dtype.kind == "M" and column.zoned is not self.zoned and not column.presence:
            present = np.zeros_like(present)
        return Cells(values, present)

    def expression(self, cell: str, kind: Kind) -> Reading:
        """Return the expression that reads a cell, which is in the form of its kind; wide integers may be texts.

        Texts are cast because without a readable one they come as another type.
        """
        if kind == "integer":
            narrow = (
                isinstance(self.cells, np.ndarray) and self.cells.dtype.kind != "f" and self.cells.dtype != np.uint64
            )
            wide = not narrow and not self.declared.inferred
            return Reading(f"CAST({cell} AS {'HUGEINT' if wide else 'BIGINT'})", wide)
        return Reading(f"CAST({cell} AS VARCHAR)" if kind == "text" else cell)


@np.errstate(all="ignore")
def open_array(values: NDArray[Any], *, name: str | None = None, numbers: bool = False) -> MemoryColumn:
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
    values = in_native_order(values)
    code, word = values.dtype.kind, str(values.dtype)
    if code == "O":
        return MemoryColumn(_listed(values, present), Column(name=name, type_name="object", kind=None, undeclared=True))
    if code == "U":
        return MemoryColumn(_listed(values, present), Column(name=name, type_name="text", kind="text"))
    kinds: dict[str, Kind] = {"i": "integer", "u": "integer", "f": "number", "b": "boolean"}
    kind = "number" if numbers and code in "iu" else kinds.get(code)
    timed = False
    if code == "M" and np.datetime_data(values.dtype)[0] != "generic":
        timed = np.datetime_data(values.dtype)[0] not in ("D", "W", "M", "Y")
        kind = "datetime" if timed else "date"
    column = Column(name=name, type_name=word, kind=kind, timestamp=timed, follows=numbers and code in "iuf")
    return MemoryColumn(values, column, present)


def _listed(values: NDArray[Any], present: NDArray[np.bool_] | None) -> Callable[[], list[Any]]:
    if present is None:
        return values.tolist
    return lambda: [cell if there else None for cell, there in zip(values.tolist(), present, strict=True)]


def in_native_order(values: NDArray[Any]) -> NDArray[Any]:
    """Return an array in the byte order of this machine."""
    return values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))


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
