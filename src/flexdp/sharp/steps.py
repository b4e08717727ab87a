"""Steps between nice edges: 1, 2, 5 × 10^k for numbers; days, months and years for dates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from flexdp._core.calendar import month_number, month_start
from flexdp.sharp.scale import Scale

__all__ = ["CalendarStep", "DecimalStep", "Step", "Steps", "calendar_steps", "decimal_steps"]


class Step(Protocol):
    """A lattice of nice values."""

    @property
    def length(self) -> int:
        """The distance of its values in units; of months and years the mean."""

    def after(self, value: int) -> int:
        """Return the next value of the lattice strictly above."""

    def holds(self, value: int) -> bool:
        """Return whether a value is on the lattice."""

    def meets(self, larger: Step) -> bool:
        """Return whether walking on this lattice is certain to meet the values of a larger one."""


class Steps(Protocol):
    """All steps between two lengths."""

    def __call__(self, shortest: int, longest: int) -> Sequence[Step]:
        """Return the steps from the longest down to the shortest; at least one."""


@dataclass(frozen=True, slots=True)
class DecimalStep:
    """The multiples of a number of units.

    Examples
    --------
    >>> DecimalStep(5).after(10), DecimalStep(5).after(-3), DecimalStep(5).holds(-5)
    (15, 0, True)
    """

    length: int

    def after(self, value: int) -> int:
        """Return the next multiple strictly above."""
        return (value // self.length + 1) * self.length

    def holds(self, value: int) -> bool:
        """Return whether a value is a multiple."""
        return value % self.length == 0

    def meets(self, larger: Step) -> bool:
        """Return True: walks on decimals wait for the common multiples, 2 and 5 meet at 10."""
        return larger.length >= self.length


@lru_cache(maxsize=4)
def decimal_steps(scale: Scale) -> Steps:
    """Return the steps 1, 2, 5 × 10^k of a scale, never below one unit.

    Parameters
    ----------
    scale : Scale
        The scale of the column.

    Returns
    -------
    callable
    """

    def steps(shortest: int, longest: int) -> list[DecimalStep]:
        top = scale.decade(max(longest, 1)) + 1
        bottom = max(scale.exponent, scale.decade(max(shortest, 1)) - 1)
        return [DecimalStep(m * scale.ten(k)) for k in range(max(top, bottom), bottom - 1, -1) for m in (5, 2, 1)]

    return steps


@dataclass(frozen=True, slots=True)
class CalendarStep:
    """The first days of every so many months since year 0, or every so many units.

    Parameters
    ----------
    months : int
        Months a step; 0 for a step of plain units.
    units : int
        Units a step, or in a day where months are counted.
    offset : int, optional
        A value of the lattice; for weeks, a Monday.

    Examples
    --------
    >>> year = CalendarStep(12, 1)
    >>> year.after(0), year.after(364), year.holds(365)
    (365, 365, True)
    """

    months: int
    units: int
    offset: int = 0

    @property
    def length(self) -> int:
        """The distance of its values in units; of months the mean."""
        return self.units if not self.months else self.units * self.months * 146097 // 4800

    def after(self, value: int) -> int:
        """Return the next value of the lattice strictly above."""
        if not self.months:
            return ((value - self.offset) // self.units + 1) * self.units + self.offset
        index = month_number(value // self.units) // self.months * self.months
        while (found := month_start(index) * self.units) <= value:
            index += self.months
        return found

    def holds(self, value: int) -> bool:
        """Return whether a value is on the lattice."""
        if not self.months:
            return (value - self.offset) % self.units == 0
        return self.after(value - 1) == value

    def meets(self, larger: Step) -> bool:
        """Return whether every value of a larger lattice is on this one: days are, weeks are not."""
        assert isinstance(larger, CalendarStep)
        if self.months:
            return larger.months % self.months == 0
        whole = larger.units % self.units == 0
        return whole and (bool(larger.months) or (larger.offset - self.offset) % self.units == 0)


@lru_cache(maxsize=4)
def calendar_steps(day: int) -> Steps:
    """Return the steps of a calendar, for dates (a day is one unit) or datetimes (a day is 86 400 million units).

    Parameters
    ----------
    day : int
        Units in a day.

    Returns
    -------
    callable
    """
    second = day // 86400
    short = [second * n for n in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200)]
    below = [m * 10**k for k in range(6) for m in (1, 2, 5)] if second else []
    years = [m * 10**k for k in range(37) for m in (1, 2, 5)]
    lattice = [
        *(CalendarStep(0, units) for units in (*below, *(units for units in short if units))),
        *(CalendarStep(0, n * day) for n in (1, 2)),
        CalendarStep(0, 7 * day, 4 * day),  # Mondays: 1970 began on a Thursday
        *(CalendarStep(months, day) for months in (1, 3, 6)),
        *(CalendarStep(12 * years_each, day) for years_each in years),
    ]

    def steps(shortest: int, longest: int) -> list[CalendarStep]:
        kept = [step for step in lattice if 10 * step.length >= shortest and step.length <= 10 * longest]
        return (kept or lattice[:1])[::-1]

    return steps
