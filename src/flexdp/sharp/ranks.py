"""Questions that a mechanism may ask of a private column: counts before public cuts, and the values near a rank.

All of it is one protocol, so that engines can answer it with statements of public text: cuts and tallies of a request
are public numbers, and what comes back is at most one count a cut and at most 2·reach + 3 distinct values a window.
Windows are looked up beside the texts, so their goals may be private ranks: ``Goal.beyond(rank, -1)`` is the rank
itself, and a window tells the ties of its values. Three conditions make the answers safe to use:

* everything in one :class:`Reply` comes from one snapshot of the records;
* ranks are those of the values in their true order (an engine that sorts records into cells must use monotone ones);
* a window holds *every* distinct value whose ranks meet the wanted range, with its true counts.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from flexdp.sharp.goal import Goal
from flexdp.sharp.scale import INTEGERS, Scale

__all__ = ["EVERYTHING", "Near", "Ranks", "Reply", "Request", "Span", "Tally", "Window"]


@dataclass(frozen=True, slots=True)
class Span:
    """The values from one public cut up to, not including, another; None is no end.

    Parameters
    ----------
    low, high : int or None
        Cuts, in units of the column's scale.
    """

    low: int | None = None
    high: int | None = None


EVERYTHING = Span()


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """A request for the distinct values of a span whose ranks lie near a goal.

    Parameters
    ----------
    goal : Goal
        The wanted rank, T/B among the records of the span.
    reach : int
        How many ranks on either side are wanted.
    span : Span
        The records that count.
    """

    goal: Goal
    reach: int
    span: Span = EVERYTHING

    def ranks(self, records: int) -> tuple[int, int]:
        """Return the lowest and the highest wanted rank among so many records."""
        target = self.goal.target(records)
        return target // self.goal.units - self.reach, -(-target // self.goal.units) + self.reach


@dataclass(frozen=True, slots=True)
class Window:
    """The distinct values whose ranks (#{x < v}, #{x ≤ v}] meet the wanted range, ascending, and the span's size.

    Parameters
    ----------
    scale : Scale
        The scale of the column.
    values : array
        As the column stores them.
    below, upto : array of int
        #{x < v} and #{x ≤ v} among the records of the span.
    total : int
        The number of records in the span.
    """

    scale: Scale
    values: NDArray[Any]
    below: NDArray[np.int64]
    upto: NDArray[np.int64]
    total: int

    def __len__(self) -> int:
        return len(self.values)

    def value(self, place: int) -> int:
        """Return one of the values in units."""
        return self.scale.units(self.values[place])

    def around(self, below: Sequence[int], above: Sequence[int]) -> tuple[list[int], list[int]]:
        """Return the values in units of the records of some ranks, the first being 1; they must lie in the window."""
        places = np.searchsorted(self.upto, [*below, *above])
        found = [self.scale.units(value) for value in self.values[places].tolist()]
        return found[: len(below)], found[len(below) :]

    def counts(self, candidate: int) -> tuple[int, int]:
        """Return how many records lie below a candidate and up to it; it must lie in the window."""
        place = bisect_left(range(len(self)), candidate, key=self.value)
        if place == len(self):
            return (int(self.upto[-1]),) * 2 if place else (0, 0)
        below = int(self.below[place])
        return below, int(self.upto[place]) if self.value(place) == candidate else below

    def within(self, first: int, last: int) -> Window:
        """Return the window of the records after the first ``first`` and up to ``last``, whose ranks begin anew.

        Some of them may tie with records outside, which do not count.
        """
        start = int(np.searchsorted(self.upto, first, side="right"))
        stop = int(np.searchsorted(self.below, last, side="left")) if first < last else start
        below, upto = (np.clip(part[start:stop], first, last) - first for part in (self.below, self.upto))
        return Window(self.scale, self.values[start:stop], below, upto, last - first)

    def __repr__(self) -> str:
        return "<Window>"  # its content is private


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """A request for the sum of all records' places on a public ladder of equal steps.

    A record with value x counts as round((x − low) / step), clipped to 0 … cells. How halves are rounded is the
    engine's own, but every record must count as a whole number in that range.

    Parameters
    ----------
    low, step : int
        In units.
    cells : int
        The number of steps.
    """

    low: int
    step: int
    cells: int

    @property
    def high(self) -> int:
        """The upper end, in units."""
        return self.low + self.step * self.cells


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Everything that one statement is asked for.

    Parameters
    ----------
    cuts : tuple of int
        Public cuts; the number of records before each is wanted.
    windows : tuple of Near
        The wanted windows.
    likely : tuple of Near
        Windows that later requests will probably ask for: what must be looked at for the wanted ones is looked at for
        them, too. They decide on nothing but the number of looks.
    tallies : tuple of Tally
        The wanted sums.
    enough : int, optional
        Counts before cuts are needed exactly only where fewer records than this lie before the cut, or fewer from it
        on. Elsewhere any count will do that leaves at least so many on both sides. Without it all are exact.
    """

    cuts: tuple[int, ...] = ()
    windows: tuple[Near, ...] = ()
    likely: tuple[Near, ...] = ()
    tallies: tuple[Tally, ...] = ()
    enough: int | None = None

    def blank(self, records: int) -> Reply:
        """Return a reply of the right shape that says nothing, as of so many records below all cuts."""
        none, zero = np.empty(0), np.empty(0, dtype=np.int64)
        return Reply(
            total=records,
            before=[records] * len(self.cuts),
            windows=[Window(INTEGERS, none, zero, zero, records) for _ in self.windows],
            tallies=[0] * len(self.tallies),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The answer to a request, from one snapshot.

    Parameters
    ----------
    total : int
        The number of readable records.
    before : sequence of int
        How many records lie before each cut.
    windows : sequence of Window
        One for each that was asked for.
    tallies : sequence of int
        The sum of each that was asked for.
    """

    total: int
    before: Sequence[int] = ()
    windows: Sequence[Window] = ()
    tallies: Sequence[int] = ()

    def __repr__(self) -> str:
        return "<Reply>"  # its content is private


class Ranks(Protocol):
    """A private column that answers requests."""

    @property
    def scale(self) -> Scale:
        """The scale of its values, which is public."""

    def fetch(self, request: Request) -> Reply:
        """Answer one request from one snapshot."""
