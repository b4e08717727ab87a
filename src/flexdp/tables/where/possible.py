"""Filters that no record can pass, by their literals alone: an answer would be paid for, and there is none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from flexdp.tables.where.literals import order_key
from flexdp.tables.where.tree import And, Compare, Const, In, IsNull, Or, Test, Value

__all__ = ["is_impossible"]


@dataclass
class _Range:
    """What is left of a value after some tests of it."""

    low: Any = None
    high: Any = None
    open_low: bool = False
    open_high: bool = False
    among: frozenset[Any] | None = None
    excluded: set[Any] = field(default_factory=set)
    missing: bool = False
    present: bool = False

    def is_empty(self) -> bool:
        """Tell whether nothing is left."""
        if self.missing and self.present:
            return True
        if self.among is not None:
            return not any(self._holds(value) for value in self.among)
        if self.low is None or self.high is None:
            return False
        return bool(self.low > self.high) or (self.low == self.high and (self.open_low or self.open_high))

    def _holds(self, value: Any) -> bool:
        above = self.low is None or value > self.low or (value == self.low and not self.open_low)
        below = self.high is None or value < self.high or (value == self.high and not self.open_high)
        return above and below and value not in self.excluded

    def narrow(self, op: str, value: Any) -> None:
        """Take a comparison with a literal into account."""
        if op == "=":
            self.keep(frozenset([value]))
        elif op == "<>":
            self.excluded.add(value)
        elif op in (">", ">="):
            if self.low is None or value >= self.low:
                self.open_low = op == ">" or (value == self.low and self.open_low)
                self.low = value
        elif self.high is None or value <= self.high:
            self.open_high = op == "<" or (value == self.high and self.open_high)
            self.high = value

    def keep(self, among: frozenset[Any]) -> None:
        """Take a list of literals into account."""
        self.among = among if self.among is None else self.among & among


def is_impossible(test: Test) -> bool:
    """Tell whether literals alone show that no record passes; False where they do not.

    Only tests that are joined by AND, of one value with literals, are set against each other.
    """
    if isinstance(test, Or):
        return all(map(is_impossible, test.tests))
    ranges: dict[Value, _Range] = {}
    for part in _parts(test):
        if isinstance(part, Or) and is_impossible(part):
            return True
        _narrow(ranges, part)
    return any(each.is_empty() for each in ranges.values())


def _parts(test: Test) -> Iterator[Test]:
    if isinstance(test, And):
        for each in test.tests:
            yield from _parts(each)
    else:
        yield test


def _narrow(ranges: dict[Value, _Range], part: Test) -> None:
    if isinstance(part, Compare) and isinstance(part.right, Const):
        left = ranges.setdefault(part.left, _Range())
        left.present = True
        left.narrow(part.op, order_key(part.right))
    elif isinstance(part, In):
        left = ranges.setdefault(part.value, _Range())
        left.present = True
        keys = frozenset(order_key(item) for item in part.items if isinstance(item, Const))
        if part.negated:
            left.excluded |= keys
        else:
            left.keep(keys)
    elif isinstance(part, IsNull):
        left = ranges.setdefault(part.value, _Range())
        left.present |= part.negated
        left.missing |= not part.negated
