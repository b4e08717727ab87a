"""Plans of polars lazy frames: their nodes, not optimised, as polars shows them to engines that run plans."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from flexdp.tables.records import all_different, not_records

__all__ = ["check_lazy"]

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
