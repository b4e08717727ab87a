"""polars frames, lazy frames and series, passed to DuckDB as Arrow streams.

polars is not imported: a frame brings its own methods.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from flexdp.errors import InputError
from flexdp.tables.column import no_column
from flexdp.tables.frames.lazy import check_lazy
from flexdp.tables.frames.source import Batches, FrameSource

__all__ = ["open_polars"]

_FOR_LAZY = "1.34"  # the lowest version of polars with LazyFrame.sink_batches
_TEXT_SCAN = re.compile(r"^\s*(csv|ndjson) scan\b", re.IGNORECASE | re.MULTILINE)


class _Stream:
    """The Arrow stream of an object and nothing else, so that DuckDB needs no other library to read it."""

    def __init__(self, source: Any) -> None:
        self._source = source

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._source.__arrow_c_stream__(requested_schema)


def open_polars(source: Any, column: object, *, rows_are_records: bool = False) -> FrameSource:
    """Open a polars frame, lazy frame or series."""
    if hasattr(source, "collect"):
        if not hasattr(source, "sink_batches"):
            raise InputError(
                "source",
                f"is a LazyFrame of a polars version below {_FOR_LAZY}, which cannot stream it in batches",
                remedy=f"Run pip install 'polars>={_FOR_LAZY}', or pass the result of collect().",
            )
        return _lazy(source, rows_are_records=rows_are_records)
    if hasattr(source, "to_frame"):
        no_column(column, "a series")
        _check_nul({"value": source.dtype}, ["value"])
        times = _polars_times({"value": source.dtype})
        frame = _in_ticks(source.to_frame("value"), times)
        return FrameSource(lambda _names: _Stream(frame), ("value",), times, single=True)
    schema = source.schema
    times = _polars_times(schema)

    def select(names: list[str]) -> _Stream:
        _check_nul(schema, names)
        return _Stream(_in_ticks(source.select(names), times))

    return FrameSource(select, tuple(source.columns), times)


def _check_nul(schema: Mapping[str, Any], names: Sequence[str]) -> None:
    """Refuse fields of structs with NUL in their names, at which polars ends the process."""
    waiting = [schema[name] for name in names]
    for dtype in waiting:  # which grows
        fields = getattr(dtype, "fields", ())
        if any("\0" in field.name for field in fields):
            raise InputError(
                "column", ": a field of its type has a name that contains the character NUL", remedy="Rename the field."
            )
        waiting += [field.dtype for field in fields]
        waiting += [dtype.inner] if hasattr(dtype, "inner") else []


def _polars_times(schema: Mapping[str, Any]) -> dict[str, str]:
    """Return the columns of datetimes, each with Arrow's name of its type."""
    out = {}
    for name, dtype in schema.items():
        if type(dtype).__name__ == "Datetime":
            out[name] = f"timestamp[{dtype.time_unit}{f', tz={dtype.time_zone}' if dtype.time_zone else ''}]"
    return out


def _in_ticks(frame: Any, times: Mapping[str, str]) -> Any:
    """Convert datetimes to the integers that they are stored as: DuckDB fails at those that it cannot hold."""
    return frame.cast({name: int for name in times if name in frame.collect_schema().names()})


def _lazy(source: Any, *, rows_are_records: bool) -> FrameSource:
    """Open a lazy frame, which polars itself reads in batches, with only the columns that are needed."""
    try:
        schema, plan = source.collect_schema(), str(source.explain(optimized=False))
    except Exception:  # noqa: BLE001  (its message may describe rows or quote a cell)
        schema, plan = None, ""
    if schema is None:  # outside the handler, so that the error has no cause
        raise InputError(
            "source", "is a lazy frame that cannot be planned", remedy="Check its files and the columns that it names."
        )
    if _TEXT_SCAN.search(plan):
        raise InputError(
            "source",
            "is a lazy frame over a text file: polars infers column types from the data, or fails at a single cell",
            remedy="Pass the file's path itself.",
        )
    if not rows_are_records:
        check_lazy(source)
    times = _polars_times(schema)

    def describe(names: list[str]) -> _Stream:
        _check_nul(schema, names)
        return _Stream(source.clear().select(names).collect())

    return FrameSource(
        lambda names: Batches(_in_ticks(source.select(names), times)), tuple(schema.names()), times, look=describe
    )
