"""The public range that a filter leaves of the released column itself: asked answers are limited to it.

Only comparisons of the column with numbers, joined by AND, are understood; anything else bounds nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

from flexdp._release.spec import Spec

__all__ = ["range_of_filter"]

_LARGEST = 2**53  # beyond it engines may compare rounded numbers
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


def range_of_filter(spec: Spec) -> tuple[Any, Any]:
    """Return the smallest and the largest value that a release's filter and bounds let count; None where unlimited.

    Parameters
    ----------
    spec
        The public description of the release.

    Returns
    -------
    tuple
        Numbers of the column's kind.

    Examples
    --------
    >>> from flexdp.buckets.parse import make_buckets
    >>> ages = make_buckets("integer", width=5)
    >>> range_of_filter(Spec(columns=("age",), partitions=(ages,), where="age > 17 AND age < 65.5 AND ward = 'A'"))
    (18, 65)
    """
    kind, name = spec.kinds[0], spec.columns[0]
    if spec.where is None or name is None or len(spec.columns) > 1 or kind not in ("integer", "number"):
        return None, None
    bounds = getattr(spec.partitions[0], "bounds", None)
    return _range(spec.where, name, kind == "integer", bounds)


@lru_cache(256)
def _range(where: str, name: str, whole: bool, bounds: tuple[Fraction, Fraction] | None) -> tuple[Any, Any]:
    from flexdp.tables.where.grammar import parse_test

    low: Any = None
    high: Any = None
    for op, number in _comparisons(parse_test("where", where), name):
        if op in (">", ">=", "="):
            least = _least(number, whole, beyond=op == ">")
            low = least if low is None else max(low, least)
        if op in ("<", "<=", "="):
            most = -_least(-number, whole, beyond=op == "<")
            high = most if high is None else min(high, most)
    if low is not None and high is not None and low > high:
        return None, None
    if bounds is not None:  # values beyond a bound count at the bound
        first, last = (int(end) if whole else float(end) for end in bounds)
        low, high = (None if end is None else min(max(end, first), last) for end in (low, high))
    return low, high


def _least(number: Fraction, whole: bool, *, beyond: bool) -> Any:
    """The smallest value from a number on, or beyond it; doubles are compared as such."""
    if not whole:
        return float(number)
    return math.floor(number) + 1 if beyond else math.ceil(number)


def _comparisons(test: Any, name: str) -> Iterator[tuple[str, Fraction]]:
    """Comparisons of the column with numbers that every record that counts has passed."""
    from flexdp.tables.where.tree import And, Between, Compare
    from flexdp.tables.where.walk import is_reading

    def is_own(node: Any) -> bool:
        """Tell whether a value is the column, as it is or with its kind declared: number(cost)."""
        return getattr(node.arguments[0] if is_reading(node) else node, "name", None) == name

    if isinstance(test, And):
        for each in test.tests:
            yield from _comparisons(each, name)
    elif isinstance(test, Compare) and test.op in _MIRRORED:
        for column, other, op in ((test.left, test.right, test.op), (test.right, test.left, _MIRRORED[test.op])):
            if is_own(column) and (number := _number(other)) is not None:
                yield op, number
    elif isinstance(test, Between) and not test.negated and is_own(test.value):
        for op, end in ((">=", test.low), ("<=", test.high)):
            if (number := _number(end)) is not None:
                yield op, number


def _number(value: Any) -> Fraction | None:
    from flexdp.tables.where.tree import Literal

    if not isinstance(value, Literal) or not isinstance(value.value, Decimal):
        return None
    return Fraction(value.value) if abs(value.value) < _LARGEST else None
