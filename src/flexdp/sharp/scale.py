"""Exact values: every value and every candidate is a whole number of units of a power of ten.

Integers, dates (days) and datetimes (microseconds) count in ones. Numbers count in units of 10^−47: a double stands
for its shortest decimal, which is a multiple of that unit once magnitudes below 10^−30 count as zero. The map from
doubles to shortest decimals is injective and monotone, so comparing doubles and comparing what they stand for is the
same. With whole units "beyond t" is "from t + 1 on": one integer, a *cut*, separates the values before it from the
rest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction

__all__ = ["INTEGERS", "NUMBERS", "TOP_DECADE", "Scale"]

TOP_DECADE = 38  # magnitudes from 10^39 on count as 10^39
_DIGITS = 15  # of an anchor: any decimal of so many digits survives a round trip through a double
_POWERS: tuple[int, ...] = tuple(10**k for k in range(120))
_SMALLEST, _LARGEST = 1e-30, 1e39  # magnitudes below count as 0, and beyond as 10^39
_WIDE = Context(prec=200, Emin=-(10**6), Emax=10**6)


@dataclass(frozen=True, slots=True)
class Scale:
    """The units in which a column's values are counted.

    Parameters
    ----------
    name : str
        ``"integer"`` or ``"number"``.
    exponent : int
        One unit is 10^exponent.
    low_decade : int
        The lowest decade of candidates; smaller magnitudes count as zero.

    Examples
    --------
    >>> NUMBERS.value(NUMBERS.units(0.1)), NUMBERS.text(NUMBERS.units(-2.50))
    (Fraction(1, 10), '-2.5')
    >>> INTEGERS.units(2**80) == 2**80, NUMBERS.units(-0.0), NUMBERS.units(1e-40)
    (True, 0, 0)
    """

    name: str
    exponent: int
    low_decade: int

    @property
    def limit(self) -> int:
        """10^39 in units; values beyond count here."""
        return self.ten(TOP_DECADE + 1)

    @property
    def integral(self) -> bool:
        """True if values are whole numbers."""
        return self.exponent == 0

    def ten(self, power: int) -> int:
        """Return 10^power in units; the power must not be below the unit's."""
        return _POWERS[power - self.exponent]

    @property
    def one(self) -> int:
        """The number 1 in units."""
        return _POWERS[-self.exponent]

    def units(self, value: float | int) -> int:
        """Return a finite value in units, clamped to ±10^39."""
        if self.exponent == 0:
            return max(-self.limit, min(self.limit, int(value)))
        double = float(value)
        if -_SMALLEST < double < _SMALLEST:
            return 0
        if not -_LARGEST < double < _LARGEST:
            return self.limit if double > 0 else -self.limit
        # Its shortest decimal has at most 17 digits, so the last of them is not below the unit.
        mantissa, _, power = float.__repr__(double).partition("e")
        whole, _, part = mantissa.partition(".")
        return int(whole + part) * _POWERS[int(power or 0) - len(part) - self.exponent]

    def exactly(self, number: Fraction) -> int:
        """Return the nearest number of units, half-way cases to even; exact wherever the number is a candidate."""
        return round(number * self.one)

    def value(self, units: int) -> Fraction:
        """Return the number that so many units are."""
        return Fraction(units, self.one)

    def text(self, units: int) -> str:
        """Return the number that so many units are, in decimal, with all its digits."""
        decimal = Decimal(units).scaleb(self.exponent, _WIDE)
        return f"{_WIDE.normalize(decimal):f}"

    def decade(self, units: int) -> int:
        """Return k with 10^k ≤ |value| < 10^(k+1); the value must not be zero."""
        return len(str(abs(units))) - 1 + self.exponent

    def short(self, units: int, side: int = 0) -> int:
        """Return a public value rounded to 15 significant digits, so that engines compare doubles with it exactly.

        Integers stay as they are. It is rounded upwards on side 1, downwards on side −1, and to the nearest otherwise.
        """
        if self.integral or not units:
            return units
        grain = _POWERS[max(0, len(str(abs(units))) - _DIGITS)]
        added = (0, grain - 1)[side > 0] if side else grain // 2
        return (units + added) // grain * grain

    def first_double(self, cut: int) -> float:
        """Return the smallest double that stands for at least ``cut`` units; of numbers only.

        Examples
        --------
        >>> tenth = NUMBERS.units(0.1)
        >>> NUMBERS.first_double(tenth), NUMBERS.first_double(tenth + 1)
        (0.1, 0.10000000000000002)
        """
        nearest = cut / self.one  # of two integers: correctly rounded
        spare = int(cut.bit_length() * 0.30103) - _DIGITS + 2  # at least so many zeros at the end: at most 15 digits
        if cut.bit_length() > 60:  # smaller ones lie among doubles that are closer than a unit
            grain = _POWERS[spare]
            if not cut % grain:
                return nearest
            if not (cut - 1) % grain:
                return math.nextafter((cut - 1) / self.one, math.inf)
        stands_for = Fraction(float.__repr__(nearest)) * self.one
        return nearest if stands_for >= cut else math.nextafter(nearest, math.inf)


INTEGERS = Scale("integer", 0, 0)
NUMBERS = Scale("number", -47, -30)
