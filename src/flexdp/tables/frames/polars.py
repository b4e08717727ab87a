"""polars frames, lazy frames and series, passed to DuckDB as Arrow streams.

polars is not imported: a frame brings its own methods. A lazy frame shows the nodes of its plan, not optimised, as it
does to engines that run plans.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from flexdp.errors import InputError
from flexdp.tables.column import no_column
from flexdp.tables.frames.source import Batches, FrameSource
from flexdp.tables.records import all_different, not_records

__all__ = ["check_lazy", "open_polars"]

_SCANS = {"Scan", "DataFrameScan"}
_ROW_BY_ROW = {"Select", "HStack", "Filter", "Sort", "SimpleProjection", "Cache"}
# Parts of an expression that are expressions, by the kind of their node.
_PARTS = {
    "Column": (), "Literal": (), "BinaryExpr": ("left", "right"), "Cast": ("expr",), "Function": ("input",),
    "Ternary": ("predicate", "truthy", "falsy"),
}  # fmt: skip
_FUNCTIONS = {
    "abs", "round", "floor", "ceil", "clip", "sign", "negate", "pow", "sqrt", "exp", "log", "coalesce", "fill_null",
    "replace", "sum_horizontal", "mean_horizontal", "min_horizontal", "max_horizontal", "cut", "as_struct",
    *(f"BooleanFunction.{name}" for name in ("IsNull", "IsNotNull", "IsNan", "IsNotNan", "IsFinite", "IsInfinite",
      "IsIn", "IsBetween", "Not", "AllHorizontal", "AnyHorizontal")),
    *(f"StringFunction.{name}" for name in ("Uppercase", "Lowercase", "LenChars", "LenBytes", "Slice", "StartsWith",
      "EndsWith", "Contains", "Replace", "StripChars", "ConcatHorizontal", "Format")),
    *(f"TemporalFunction.{name}" for name in ("Year", "Month", "Day", "Hour", "Minute", "Second", "WeekDay", "Week",
      "Quarter", "OrdinalDay", "Date", "Time", "Truncate", "TimeStamp", "TotalDays", "TotalHours", "TotalMinutes",
      "TotalSeconds", "TotalMilliseconds", "TotalMicroseconds")),
}  # fmt: skip
# Until polars 1.44 a category is numbered by those seen before it, so that a number of it depends on other rows.
_UNKNOWN, _CATEGORY, _TO_NUMBER = "unknown", "category", "to a number"
_OF_CONSTANTS = {"BooleanFunction.IsIn", "replace"}  # a column in the other places would be looked at as a whole


def check_lazy(source: Any) -> None:
    """Refuse a lazy frame unless it makes each of its rows of one row of one scan."""
    passed = False
    with suppress(Exception):  # a node that polars does not show, or whose attributes have changed
        passed = _is_row_by_row(source)
    if not passed:
        raise not_records()


def _is_row_by_row(source: Any) -> bool:
    polars = sys.modules[type(source).__module__.partition(".")[0]]  # which is not imported here
    plan = source._ldf.with_optimizations(polars.QueryOptFlags.none()._pyoptflags).visit()
    scans, waiting = 0, [plan.get_node()]
    for place in waiting:  # which grows
        plan.set_node(place)
        node, expressions, inputs = plan.view_current_node(), plan.get_exprs(), plan.get_inputs()
        kind = type(node).__name__
        if kind not in _ROW_BY_ROW | _SCANS or getattr(node, "slice", None) is not None:
            return False
        if kind == "Scan" and not _reads_files_once(node):
            return False
        types: dict[str, Any] = {}
        for each in inputs:
            plan.set_node(each)
            types |= plan.get_schema()
        for expression in expressions:
            done = set(_steps(plan, expression.node, types))
            if _UNKNOWN in done or {_CATEGORY, _TO_NUMBER} <= done:
                return False
        scans += kind in _SCANS
        waiting += inputs
    return scans == 1


def _reads_files_once(scan: Any) -> bool:
    options = scan.file_options
    return options.n_rows is None and options.row_index is None and all_different(scan.paths)


def _steps(plan: Any, place: int, types: dict[str, Any]) -> Iterator[str]:
    """Yield what an expression does, of which some is not known to look at one row, or not harmless together."""
    node = plan.view_expression(place)
    kind = type(node).__name__
    known = kind in _PARTS
    if kind == "Column" and any(word in str(types[node.name]) for word in ("Categorical", "Enum")):
        yield _CATEGORY
    if kind == "Literal":
        known = not hasattr(node.value, "len")  # as a series has
    if kind == "Cast":
        known = "Categorical" not in str(node.dtype)
        yield _TO_NUMBER if any(word in str(node.dtype) for word in ("Int", "Float", "Decimal")) else kind
    if kind == "Function":
        name = str(node.function_data[0])
        constants = all(type(plan.view_expression(each)).__name__ == "Literal" for each in node.input[1:])
        known = name in _FUNCTIONS and (constants or name not in _OF_CONSTANTS)
        yield _CATEGORY if name == "cut" else kind
    if not known:
        yield _UNKNOWN
        return
    for part in _PARTS[kind]:
        inner = getattr(node, part)
        for each in inner if isinstance(inner, list) else [inner]:
            yield from _steps(plan, each, types)


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
