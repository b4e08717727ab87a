"""pandas frames and series. Only dtypes are inspected; pandas itself is not imported."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp.buckets.base import Kind
from flexdp.tables.declared import Column
from flexdp.tables.memory.arrays import ArrayTable
from flexdp.tables.memory.cells import CellTable
from flexdp.tables.memory.table import MemoryTable, open_array

__all__ = ["open_pandas", "open_pandas_series"]

_NESTED = ("struct<", "list<", "list_view<", "large_list", "fixed_size_list<", "map<")  # as Arrow writes its types


def open_pandas(frame: Any) -> MemoryTable:
    """Open a pandas frame. Its integers are read as numbers: one missing cell would make them floats."""
    parts = []
    for place, label in enumerate(frame.columns):
        if isinstance(label, str):
            parts.append(open_pandas_series(frame.iloc[:, place], name=label))
    return MemoryTable(tuple(parts))


@np.errstate(all="ignore")
def open_pandas_series(series: Any, name: str | None = None) -> ArrayTable | CellTable:
    """Open one pandas column by its dtype.

    pandas infers numpy's dtypes, its own ``str`` and the categories of a category from cells. Nullable dtypes
    (``Int64``, ``Float64``, ``boolean``, ``string``), those of Arrow and times count as declared.
    """
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        return open_array(series.to_numpy(), name=name, numbers=True, inferred=True)
    word = str(dtype)
    letter = getattr(dtype, "kind", "O")
    if letter in "iufb":  # nullable and Arrow-backed numbers
        plain: Any = {"i": np.int64, "u": np.uint64, "f": np.float64, "b": np.bool_}[letter]
        missing = series.isna().to_numpy()
        filled = series.to_numpy(dtype=plain, na_value=plain(0))
        inferred = word.startswith("Sparse")
        return open_array(np.ma.MaskedArray(filled, mask=missing), name=name, numbers=True, inferred=inferred)
    if word.startswith("datetime64"):  # with a time zone: the instant, in UTC
        return ArrayTable(series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy(), _zoned(name))
    if letter == "M":
        datetimes, present = _arrow_times(series)
        if getattr(dtype.pyarrow_dtype, "tz", None) is not None:
            return ArrayTable(datetimes, _zoned(name), present)
        return open_array(np.ma.MaskedArray(datetimes, mask=~present), name=name)
    if word.startswith(_NESTED):
        return CellTable(list, Column(name=name, type_name=word, kind=None))
    if word.startswith(("str", "large_string")):
        texts = cache(series.factorize)  # each distinct text is read once
        column = Column(name=name, type_name="text", kind="text")
        if isinstance(getattr(dtype, "na_value", None), float):
            column = Column(name=name, type_name="str", kind=None, undeclared=True, inferred=True)
        return CellTable(lambda: texts()[1].tolist(), column, lambda: texts()[0])
    if word == "category":
        categories = series.cat.categories
        held = getattr(categories.dtype, "kind", "O") if len(categories) else "O"
        kind: Kind | None = "number" if held in "iuf" else "boolean" if held == "b" else None
        column = Column(name=name, type_name=word, kind=kind, undeclared=kind is None, inferred=True)
        return CellTable(categories.tolist, column, lambda: series.cat.codes.to_numpy())
    if letter == "O":
        return CellTable(series.tolist, Column(name=name, type_name=word, kind=None, undeclared=True))
    return CellTable(list, Column(name=name, type_name=word, kind=None))


def _zoned(name: str | None) -> Column:
    return Column(name=name, type_name="timestamp with time zone", kind="datetime", timestamp=True, zoned=True)


def _arrow_times(series: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Convert Arrow-backed dates and datetimes to numpy's; return them with a mask of those present."""
    stored, cells = series.dtype.pyarrow_dtype, series.array.__arrow_array__()
    short = str(stored).startswith("date32")
    ticks = (cells.cast("int32") if short else cells).cast("int64").fill_null(0).to_numpy()
    datetimes = ticks.view(f"datetime64[{'D' if short else getattr(stored, 'unit', 'ms')}]")
    whole_days = str(stored).startswith("date")
    return (datetimes.astype("datetime64[D]") if whole_days else datetimes), ~series.isna().to_numpy()
