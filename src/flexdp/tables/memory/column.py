"""One column in memory: an array, whose dtype declares a type, or Python objects, which declare none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp.buckets.base import Kind
from flexdp.errors import InputError
from flexdp.tables.column import Column
from flexdp.tables.memory.arrays import Cells, read_array
from flexdp.tables.memory.cells import read_cells
from flexdp.tables.sql.query import Reading

__all__ = ["MemoryColumn", "in_native_order", "open_array"]


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
