"""Walks over a tree: its parts, the values that may be its outcome, and columns whose kind the text itself declares."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeGuard, cast

from flexdp.buckets.base import Kind
from flexdp.tables.where import tree

__all__ = ["compared_names", "inner", "is_reading", "named_in", "outcomes", "reading_of", "shown_names", "told_names"]


def is_reading(node: object) -> TypeGuard[tree.Call]:
    """Tell whether a node declares how a column is read: number(x), date(x) and the like."""
    return isinstance(node, tree.Call) and node.function in tree.READINGS


def reading_of(node: tree.Call) -> tuple[str, Kind]:
    """Return the column that a node declares, and the kind.

    >>> reading_of(tree.Call("date", (tree.Name("day"),)))
    ('day', 'date')
    """
    return cast("tree.Name", node.arguments[0]).name, cast("Kind", node.function)


def inner(node: Any) -> list[Any]:
    """Return the parts of a node."""
    if isinstance(node, tree.And | tree.Or):
        return list(node.tests)
    if isinstance(node, tree.Not):
        return [node.test]
    if isinstance(node, tree.Compare | tree.Arithmetic):
        return [node.left, node.right]
    if isinstance(node, tree.Between):
        return [node.value, node.low, node.high]
    if isinstance(node, tree.In | tree.IsNull | tree.Like | tree.Negative):
        return [node.value]
    if isinstance(node, tree.Call):
        return list(node.arguments)
    if isinstance(node, tree.Case):
        return [*(test for test, _ in node.branches), *_results(node)]
    return []


def outcomes(node: tree.Value) -> Iterator[tree.Value]:
    """Yield the values that a value may be: those of coalesce and CASE, or itself."""
    if isinstance(node, tree.Case) or (isinstance(node, tree.Call) and node.function == "coalesce"):
        for each in _results(node) if isinstance(node, tree.Case) else node.arguments:
            yield from outcomes(each)
    else:
        yield node


def named_in(node: Any) -> Iterator[tree.Name]:
    """Yield the columns that a tree names."""
    if isinstance(node, tree.Name):
        yield node
    for each in inner(node):
        yield from named_in(each)


def told_names(node: Any) -> Iterator[tuple[str, Kind]]:
    """Yield the columns whose kind a text declares, by number(x), date(x) and the like, with that kind."""
    if is_reading(node):
        yield reading_of(node)
    for each in inner(node):
        yield from told_names(each)


def compared_names(node: Any) -> Iterator[str]:
    """Yield the columns that are compared with other columns, as they are or through coalesce and CASE."""
    sides: list[Any] = []
    if isinstance(node, tree.Compare):
        sides = [node.left, node.right]
    elif isinstance(node, tree.Between):
        sides = [node.value, node.low, node.high]
    values = [each for side in sides for each in outcomes(side)]
    if not any(isinstance(each, tree.Literal) for each in values):
        yield from (each.name for each in values if isinstance(each, tree.Name))
    for each in inner(node):
        yield from compared_names(each)


def shown_names(node: Any) -> Iterator[str]:
    """Yield the columns whose kind a text shows: beside a literal, in LIKE, year and month, and in arithmetic.

    Only a difference of columns may be one of numbers or of dates.
    """
    values: list[Any] = []
    if isinstance(node, tree.Compare):
        values = [node.left, node.right]
    elif isinstance(node, tree.Between):
        values = [node.value, node.low, node.high]
    elif isinstance(node, tree.In):
        values = [node.value, *node.items]
    if not any(isinstance(each, tree.Literal) for each in values):
        values = []
    if isinstance(node, tree.Like):
        values = [node.value]
    elif isinstance(node, tree.Arithmetic) and (
        node.op != "-" or isinstance(node.left, tree.Literal) or isinstance(node.right, tree.Literal)
    ):
        values = [node.left, node.right]
    elif isinstance(node, tree.Call) and node.function in ("year", "month"):
        values = list(node.arguments)
    yield from (each.name for each in values if isinstance(each, tree.Name))
    for each in inner(node):
        yield from shown_names(each)


def _results(node: tree.Case) -> list[tree.Value]:
    return [value for _, value in node.branches] + ([] if node.otherwise is None else [node.otherwise])
