"""pandas frames and series. Only dtypes are inspected; pandas itself is not imported."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexdp.tables.column import Column
from flexdp.tables.memory.source import MemoryColumn, MemorySource, in_native_order, open_array

__all__ = ["open_pandas", "open_pandas_series"]

_NESTED = ("struct<", "list<", "list_view<", "large_list", "fixed_size_list<", "map<")  # as Arrow writes its types


def open_pandas(frame: Any) -> MemorySource:
    """Open a pandas frame."""
    named = [(place, label) for place, label in enumerate(frame.columns) if isinstance(label, str)]
    return MemorySource(tuple(open_pandas_series(frame.iloc[:, place], label) for place, label in named))


def open_pandas_series(series: Any, name: str | None = None) -> MemoryColumn:
    """Open one pandas column.

    Dtypes of Arrow and nullable ones (``Int64``, ``Float64``, ``boolean``, ``string``) count as declared. All others
    may come from cells: numpy's, times, pandas' own ``str``, sparse columns and categories. They decide in what form
    cells are held, and nothing else.
    """
    return _declared(series, name) if _is_declared(series.dtype) else _inferred(series, name)


def _is_declared(dtype: Any) -> bool:
    if hasattr(dtype, "pyarrow_dtype"):
        return True
    nullable = str(dtype).startswith(("Int", "UInt", "Float", "boolean", "string"))
    missing = getattr(dtype, "na_value", None)  # NaN in the texts that pandas infers
    return nullable and not isinstance(dtype, np.dtype) and type(missing).__name__ == "NAType"


def _inferred(series: Any, name: str | None) -> MemoryColumn:
    """Open a column whose dtype may come from its cells: one like all others, which only holds them differently."""
    column = Column(name=name, type_name="inferred", kind=None, undeclared=True, inferred=True)
    dtype = series.dtype
    word = str(dtype)
    if word == "category":
        categories = series.cat.categories
        return MemoryColumn(categories.tolist, column, codes=lambda: series.cat.codes.to_numpy())
    if word == "str":
        return _of_texts(series, column)
    if word.startswith("datetime64") and not isinstance(dtype, np.dtype):  # with a time zone: the instant, in UTC
        return MemoryColumn(series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy(), column, zoned=True)
    sparse = word.startswith("Sparse")
    held = dtype.subtype if sparse else dtype
    if isinstance(held, np.dtype) and held.kind in ("iufb" if sparse else "iufbM"):
        values = np.asarray(series)
        # An integer among booleans would make them 1 and 0.
        return MemoryColumn(values.astype(np.int8) if held.kind == "b" else in_native_order(values), column)
    return MemoryColumn(series.tolist, column)


@np.errstate(all="ignore")
def _declared(series: Any, name: str | None) -> MemoryColumn:
    """Open a column whose dtype somebody chose."""
    dtype = series.dtype
    word = str(dtype)
    letter = getattr(dtype, "kind", "O")
    if letter in "iufb":
        plain: Any = {"i": np.int64, "u": np.uint64, "f": np.float64, "b": np.bool_}[letter]
        missing = series.isna().to_numpy()
        filled = series.to_numpy(dtype=plain, na_value=plain(0))
        return open_array(np.ma.MaskedArray(filled, mask=missing), name=name, numbers=True)
    if letter == "M":
        datetimes, present = _arrow_times(series)
        if getattr(dtype.pyarrow_dtype, "tz", None) is not None:
            word = "timestamp with time zone"
            column = Column(name=name, type_name=word, kind="datetime", timestamp=True, zoned=True)
            return MemoryColumn(datetimes, column, present, zoned=True)
        return open_array(np.ma.MaskedArray(datetimes, mask=~present), name=name)
    if word.startswith(("string", "large_string")):
        return _of_texts(series, Column(name=name, type_name="text", kind="text"))
    if letter == "O" and not word.startswith(_NESTED):
        return MemoryColumn(series.tolist, Column(name=name, type_name=word, kind=None, undeclared=True))
    return MemoryColumn(list, Column(name=name, type_name=word, kind=None))


def _of_texts(series: Any, column: Column) -> MemoryColumn:
    texts = cache(series.factorize)  # each distinct text is read once
    return MemoryColumn(lambda: texts()[1].tolist(), column, codes=lambda: texts()[0])


def _arrow_times(series: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Convert Arrow-backed dates and datetimes to numpy's; return them with a mask of those present."""
    stored, cells = series.dtype.pyarrow_dtype, series.array.__arrow_array__()
    short = str(stored).startswith("date32")
    ticks = (cells.cast("int32") if short else cells).cast("int64").fill_null(0).to_numpy()
    datetimes = ticks.view(f"datetime64[{'D' if short else getattr(stored, 'unit', 'ms')}]")
    whole_days = str(stored).startswith("date")
    return (datetimes.astype("datetime64[D]") if whole_days else datetimes), ~series.isna().to_numpy()
