"""The filter that a release states: texts that are compared with dates are written as the dates that they are.

What a column declares decides whether ``'2024-12-31'`` is a date or a text, and whether ``a - b`` is a number, a number
of days or one of seconds. Whoever reads a release does not know what the table declared, so its filter says which.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from flexdp.buckets.base import Kind
from flexdp.tables.where import tree
from flexdp.tables.where.grammar import datetime_of, day_of

__all__ = ["with_seconds", "with_times"]

_T = TypeVar("_T")


def with_times(test: tree.Test, kind_of: Callable[[str], Kind]) -> tree.Test:
    """Return a test in which columns of dates and datetimes are compared with these; ``kind_of`` is a column's kind.

    Its meaning stays the same: only declared columns read a text as a date, and their kinds do not depend on literals.
    """

    def as_time(item: tree.Value, column: tree.Value) -> tree.Value:
        if not isinstance(column, tree.Name) or not isinstance(item, tree.Literal) or not isinstance(item.value, str):
            return item
        kind = kind_of(column.name)
        if kind not in ("date", "datetime"):
            return item
        found = day_of(item.value) or (datetime_of(item.value) if kind == "datetime" else None)
        return item if found is None else tree.Literal(found)

    if isinstance(test, tree.Not):
        return tree.Not(with_times(test.test, kind_of))
    if isinstance(test, tree.And | tree.Or):
        return replace(test, tests=tuple(with_times(each, kind_of) for each in test.tests))
    if isinstance(test, tree.Compare):
        return replace(test, left=as_time(test.left, test.right), right=as_time(test.right, test.left))
    if isinstance(test, tree.Between):
        return replace(test, low=as_time(test.low, test.value), high=as_time(test.high, test.value))
    if isinstance(test, tree.In):
        return replace(test, items=tuple(as_time(item, test.value) for item in test.items))
    return test


def with_seconds(node: _T, differences: Collection[tree.Arithmetic]) -> _T:
    """Return a tree in which every difference of datetimes says that it is a number of seconds.

    >>> lasted = tree.Arithmetic("-", tree.Name("arr"), tree.Name("dep"))
    >>> tree.text_of(with_seconds(lasted, {lasted})), tree.text_of(with_seconds(lasted, ()))
    ('seconds(arr - dep)', 'arr - dep')
    """
    found: Any = node
    if isinstance(found, tuple):
        found = tuple(with_seconds(each, differences) for each in found)
    elif isinstance(found, tree.Call) and found.function == "seconds":
        return node
    elif isinstance(found, tree.Arithmetic) and found in differences:
        found = tree.Call("seconds", (found,))
    elif is_dataclass(found) and not isinstance(found, type):
        found = replace(
            found, **{each.name: with_seconds(getattr(found, each.name), differences) for each in fields(found)}
        )
    return found  # type: ignore[no-any-return]
