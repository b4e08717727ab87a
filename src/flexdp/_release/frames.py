"""Released counts column by column, and as frames of pandas, polars or pyarrow, whichever is installed."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np

from flexdp._core.domains import choice
from flexdp._core.exact import number_text, value_text
from flexdp._release.json import group_columns
from flexdp._release.spec import Spec
from flexdp.errors import InputError
from flexdp.histogram import KeyedHistogram

__all__ = ["Library", "bar_columns", "frame_of", "group_column", "stacked"]

Library: TypeAlias = Literal["pandas", "polars", "pyarrow"]

_FRAMES = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "table"}
_OWN = (["key"], ["lower"], ["upper"], ["count"], ["about"], ["at_most"])  # first words of columns that are not groups


def bar_columns(spec: Spec, cells: KeyedHistogram, mean_drop: Fraction, max_drop: int) -> dict[str, list[Any]]:
    """Return the counts column by column: the groups, then key, lower and upper of each column, then the counts.

    ``lower`` and ``upper`` are None where a bucket is open. ``about`` is the count with the mean loss added back,
    ``at_most`` that with the largest loss.
    """
    columns: dict[str, list[Any]] = {}
    for name, values in zip(spec.labels, group_columns(spec, cells), strict=True):
        columns[group_column(name, columns, clash=name.split()[:1] in _OWN)] = values
    for place, (column, axis) in enumerate(zip(spec.columns, spec.partitions, strict=True)):
        part = cells.parts[len(spec.by) + place]
        lower, upper = zip(*axis.edges_of(part), strict=True) if len(part) else ((), ())
        suffix = "" if len(spec.columns) == 1 else f" {column}"
        columns[f"key{suffix}"] = axis.centres(part).tolist()
        columns[f"lower{suffix}"] = list(map(_closed, lower))
        columns[f"upper{suffix}"] = list(map(_closed, upper))
    columns["count"] = cells.counts.tolist()
    columns["about"] = np.round(cells.counts + float(mean_drop), 3).tolist()
    columns["at_most"] = [count + max_drop for count in cells.counts.tolist()]
    return columns


def _closed(end: Any) -> Any:
    """An end of a bucket, None where it is open."""
    return None if isinstance(end, float) and math.isinf(end) else end


def stacked(tables: Mapping[str, dict[str, list[Any]]]) -> dict[str, list[Any]]:
    """Return tables of counts one below the other, with a first column that names them.

    Where their cells are of different types, keys and edges are texts.
    """
    first = group_column("column", {title for columns in tables.values() for title in columns}, clash=False)
    out: dict[str, list[Any]] = {first: []}
    for name, columns in tables.items():
        length = len(columns["count"])
        out[first] += [name] * length
        for title, cells in columns.items():
            out.setdefault(title, [None] * (len(out[first]) - length)).extend(cells)
        for title in out.keys() - columns.keys() - {first}:
            out[title] += [None] * length
    for title, cells in out.items():
        if len({type(cell) for cell in cells if cell is not None}) > 1:
            out[title] = [None if cell is None else value_text(cell) for cell in cells]
    return out


def group_column(by: str, taken: Iterable[str], *, clash: bool) -> str:
    """Return the name of a group's column in a frame, distinct from those of counts, answers and other groups."""
    name, used = f"{by} (group)" if clash else by, set(taken)
    while name in used:
        name += " (group)"
    return name


def frame_of(columns: dict[str, list[Any]], library: Library | None) -> Any:
    """Return columns as a frame of the library asked for, or of the first one that is installed."""
    for name in _FRAMES if library is None else [choice("library", library, _FRAMES)]:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        return getattr(module, _FRAMES[name])({title: _framed(cells) for title, cells in columns.items()})
    raise InputError(
        "library",
        ": to_frame needs pandas, polars or pyarrow, and none is installed",
        remedy="Install one of them, or use histogram.items().",
    )


def _framed(cells: list[Any]) -> list[Any]:
    """Cells as frames take them: numbers that no 64-bit integer or double holds make a column of decimals."""
    long = any(isinstance(cell, Fraction) or (isinstance(cell, int) and abs(cell) >= 2**63) for cell in cells)
    if not long or not all(cell is None or isinstance(cell, int | float | Fraction) for cell in cells):
        return cells
    return [None if cell is None else Decimal(f"{Decimal(number_text(cell)):f}") for cell in cells]
