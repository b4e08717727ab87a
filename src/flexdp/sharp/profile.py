"""A public profile of the records: how many lie below each value, guessed from leaves and their noisy counts.

Inside a leaf records are spread evenly. In a leaf more than three times as wide as a neighbour with records they are
assumed to thin out from that neighbour: towards the open end by a Lomax law, into a gap exponentially. Counts are
integers in units of 10^−12 records; logarithms and exponentials are decimals of fixed precision, which every platform
rounds alike. All of it is a function of public numbers.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal

__all__ = ["RECORD", "Leaf", "Profile"]

RECORD = 10**12  # one record, in the units of a profile
_WIDE = 3
_KNOTS = 13
_CONTEXT = Context(prec=40)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A finite leaf and its public count, in units of 10^−12 records."""

    low: int
    high: int
    count: int

    @property
    def width(self) -> int:
        """Its width in units of the scale."""
        return self.high - self.low

    @property
    def point(self) -> bool:
        """True if the leaf holds a single value."""
        return self.width == 1


class Profile:
    """The cumulative count over the finite leaves, linear between knots.

    Parameters
    ----------
    leaves : sequence of Leaf
        Adjacent, in order; at least one.
    below, above : int
        What lies in the open ends, in units of 10^−12 records.
    """

    __slots__ = ("_counts", "_known", "_values", "below", "total")

    def __init__(self, leaves: Sequence[Leaf], below: int, above: int) -> None:
        knots: list[tuple[int, int]] = []
        running = 0
        for place, leaf in enumerate(leaves):
            knots.append((leaf.low, running))
            knots += _thinning(leaves, place, running, below, above)
            running += leaf.count
        knots.append((leaves[-1].high, running))
        knots.sort()
        self._values: list[int] = []
        self._counts: list[int] = []
        highest = 0
        for value, count in knots:
            highest = max(highest, count)
            if self._values and self._values[-1] == value:
                self._counts[-1] = highest
            else:
                self._values.append(value)
                self._counts.append(highest)
        self._known: dict[int, int] = {}  # planning asks for the same values many times
        self.below = below
        self.total = below + running + above

    @property
    def start(self) -> int:
        """The first value."""
        return self._values[0]

    @property
    def end(self) -> int:
        """The last value."""
        return self._values[-1]

    def upto(self, value: int) -> int:
        """Return the count below a value, the open end's included."""
        found = self._known.get(value)
        if found is None:
            found = self._known[value] = self._upto(value)
        return found

    def _upto(self, value: int) -> int:
        place = bisect_right(self._values, value)
        if not place:
            return self.below
        if place == len(self._values):
            return self.below + self._counts[-1]
        x, y = self._values[place - 1], self._values[place]
        a, b = self._counts[place - 1], self._counts[place]
        return self.below + a + (b - a) * (value - x) // (y - x)

    def reached(self, count: int) -> int:
        """Return the first value by which a count is reached, rounded down to whole units."""
        wanted = count - self.below
        place = bisect_left(self._counts, wanted)
        if not place:
            return self._values[0]
        if place == len(self._counts):
            return self._values[-1]
        x, y = self._values[place - 1], self._values[place]
        a, b = self._counts[place - 1], self._counts[place]
        return x + (y - x) * (wanted - a) // (b - a)


def _thinning(leaves: Sequence[Leaf], place: int, running: int, below: int, above: int) -> list[tuple[int, int]]:
    """The knots inside a leaf that is much wider than a neighbour with records."""
    leaf = leaves[place]
    if leaf.point or leaf.count <= 0:
        return []
    sides = [(side, near.width) for side in (-1, 1) if (near := _neighbour(leaves, place, side)) is not None]
    sides = [(side, width) for side, width in sides if leaf.width > _WIDE * width]
    knots = []
    for side, width in sides:
        share, reach = leaf.count // len(sides), leaf.width // len(sides)
        outermost = (place == len(leaves) - 1 and side < 0) or (place == 0 and side > 0)
        beyond = (above if side < 0 else below) if outermost else 0
        gained = _lomax(share, beyond, width, reach) if outermost else _fade(share, width)
        for distance in _distances(width, reach):
            if side < 0:
                knots.append((leaf.low + distance, running + gained(distance)))
            else:
                knots.append((leaf.high - distance, running + leaf.count - gained(distance)))
    return knots


def _neighbour(leaves: Sequence[Leaf], place: int, side: int) -> Leaf | None:
    """The next leaf that is not a point, if it has records."""
    place += side
    while 0 <= place < len(leaves) and leaves[place].point:
        place += side
    return leaves[place] if 0 <= place < len(leaves) and leaves[place].count > 0 else None


def _distances(width: int, reach: int) -> list[int]:
    """Thirteen distances that grow by a constant factor from half a neighbour's width, short of the whole leaf."""
    first = max(1, width // 2)
    growth = _CONTEXT.ln(_CONTEXT.divide(Decimal(reach), Decimal(first)))
    found = []
    for knot in range(_KNOTS):
        factor = _CONTEXT.exp(_CONTEXT.divide(_CONTEXT.multiply(growth, Decimal(knot)), Decimal(_KNOTS)))
        found.append(int(_CONTEXT.multiply(Decimal(first), factor)))
    return [distance for distance in found if 0 < distance < reach]


def _lomax(count: int, beyond: int, width: int, reach: int) -> Callable[[int], int]:
    """d ↦ (k + r)·(1 − (1 + d/w)^−a), a = ln((k + r)/r) / ln(1 + W/w): r records are left at the leaf's end."""
    rest = max(beyond, count // 20, 1)
    both = Decimal(count + rest)
    steep = _CONTEXT.divide(_CONTEXT.ln(_CONTEXT.divide(both, Decimal(rest))), _log_ratio(reach, width))

    def gained(distance: int) -> int:
        left = _CONTEXT.exp(-_CONTEXT.multiply(steep, _log_ratio(distance, width)))
        return min(count, int(_CONTEXT.multiply(both, 1 - left)))

    return gained


def _log_ratio(distance: int, width: int) -> Decimal:
    return _CONTEXT.ln(_CONTEXT.divide(Decimal(width + distance), Decimal(width)))


def _fade(count: int, width: int) -> Callable[[int], int]:
    """d ↦ k·(1 − e^(−d/2w))."""

    def gained(distance: int) -> int:
        left = _CONTEXT.exp(-_CONTEXT.divide(Decimal(distance), Decimal(2 * width)))
        return int(_CONTEXT.multiply(Decimal(count), 1 - left))

    return gained
