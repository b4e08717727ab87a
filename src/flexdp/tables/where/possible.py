"""Filters that no record can pass, by their literals alone: an answer would be paid for, and there is none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from flexdp.tables.where.typed import All, Always, Compared, Const, Missing, OneOf, Some, Tested, Typed

__all__ = ["is_impossible", "order_key"]


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


def order_key(const: Const) -> Any:
    """Return a literal in the form in which it is ordered: texts by their bytes."""
    return const.value.encode() if const.kind == "text" else const.value


def is_impossible(test: Tested) -> bool:
    """Tell whether literals alone show that no record passes; False where they do not.

    Only tests that are joined by AND, of one value with literals, are set against each other.
    """
    if isinstance(test, Some):
        return all(is_impossible(each) for each in test.tests)
    ranges: dict[Typed, _Range] = {}
    for part in _parts(test):
        if (isinstance(part, Always) and not part.true) or (isinstance(part, Some) and is_impossible(part)):
            return True
        _narrow(ranges, part)
    return any(each.is_empty() for each in ranges.values())


def _parts(test: Tested) -> Iterator[Tested]:
    if isinstance(test, All):
        for each in test.tests:
            yield from _parts(each)
    else:
        yield test


def _narrow(ranges: dict[Typed, _Range], part: Tested) -> None:
    if isinstance(part, Compared) and isinstance(part.right, Const):
        left = ranges.setdefault(part.left, _Range())
        left.present = True
        left.narrow(part.op, order_key(part.right))
    elif isinstance(part, OneOf):
        left = ranges.setdefault(part.value, _Range())
        left.present = True
        keys = frozenset(map(order_key, part.among))
        if part.negated:
            left.excluded |= keys
        else:
            left.keep(keys)
    elif isinstance(part, Missing):
        left = ranges.setdefault(part.value, _Range())
        left.present |= part.negated
        left.missing |= not part.negated
