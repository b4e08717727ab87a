"""Filters that no record can pass, by their literals alone: an answer would be paid for, and there is none.

The literals that a value is compared with divide a line into places, and each test is true at some of them. Tests of
one value that are joined by AND contradict each other if they have no place in common::

    x > 3 AND x <= 5 AND x <> 5 AND x IS NOT NULL

               missing   below 3    3    between    5    above 5
    place         -1        0       1       2       3       4
    x > 3                                   ×       ×       ×
    x <= 5                  ×       ×       ×       ×
    x <> 5                  ×       ×       ×               ×
    IS NOT NULL             ×       ×       ×       ×       ×        in common: 2

Values between two literals are thought to exist, also between 3 and 4 of integers.
"""

from __future__ import annotations

import operator
from typing import Any, TypeAlias

from flexdp.tables.where.literals import order_key
from flexdp.tables.where.tree import And, Compare, Const, In, IsNull, Or, Test, Value

__all__ = ["is_impossible"]

_MISSING = -1
_HOLDS = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_Single: TypeAlias = Compare | In | IsNull  # a test of one value


def is_impossible(test: Test) -> bool:
    """Tell whether literals alone show that no record passes; False where they do not."""
    if isinstance(test, Or):
        return all(map(is_impossible, test.tests))
    together: dict[Value, list[_Single]] = {}
    for part in _parts(test):
        if isinstance(part, Or) and is_impossible(part):
            return True
        if isinstance(part, In | IsNull):
            together.setdefault(part.value, []).append(part)
        elif isinstance(part, Compare) and isinstance(part.right, Const):
            together.setdefault(part.left, []).append(part)
    return any(map(_is_contradiction, together.values()))


def _parts(test: Test) -> list[Test]:
    return [part for each in test.tests for part in _parts(each)] if isinstance(test, And) else [test]


def _is_contradiction(tests: list[_Single]) -> bool:
    """Tell whether tests of one value have no place in common."""
    keys = sorted({key for test in tests for key in _keys(test)})
    place_of = {key: 2 * index + 1 for index, key in enumerate(keys)}
    common = set(range(_MISSING, 2 * len(keys) + 1))
    for test in tests:
        if isinstance(test, IsNull) and not test.negated:
            common &= {_MISSING}
            continue
        common.discard(_MISSING)
        at = {place_of[key] for key in _keys(test)}
        if isinstance(test, Compare):
            common = {place for place in common if _HOLDS[test.op](place, *at)}
        elif isinstance(test, In):
            common = common - at if test.negated else common & at
    return not common


def _keys(test: _Single) -> list[Any]:
    items = (test.right,) if isinstance(test, Compare) else test.items if isinstance(test, In) else ()
    return [order_key(item) for item in items if isinstance(item, Const)]
