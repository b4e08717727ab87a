"""Doubles one by one: their order, the ones next to each other, and what each of them stands for."""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from fractions import Fraction

from flexdp._core.parameters import said

__all__ = ["as_read", "next_below", "smallest_where", "to_double"]

_LARGEST = Fraction(sys.float_info.max)


def to_double(number: Fraction) -> float:
    """The nearest double; the largest one for what lies beyond."""
    return float(min(max(number, -_LARGEST), _LARGEST))


def as_read(value: float) -> Fraction:
    """The number that a value counts as: its shortest decimal, and zero where no normal double is as small."""
    return said(value) if abs(value) >= sys.float_info.min else Fraction(0)


def next_below(value: float) -> float:
    """The largest double below."""
    return _at(_place(value) - 1)


def smallest_where(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The smallest double from ``low`` on for which a test holds that stays true once it is; ``high`` if none does."""
    first, last = _place(low), _place(high)
    while first < last:
        middle = (first + last) // 2
        first, last = (first, middle) if holds(_at(middle)) else (middle + 1, last)
    return _at(first)


def _place(value: float) -> int:
    """The place of a double in the order of all of them; zero has 0."""
    bits: int = struct.unpack("<q", struct.pack("<d", value))[0]
    return bits if bits >= 0 else -(bits & 2**63 - 1)


def _at(place: int) -> float:
    size: float = struct.unpack("<d", struct.pack("<q", abs(place)))[0]
    return size if place >= 0 else -size
