"""The data sets x′ with ∂(x, x′) ≤ α, listed: all sub-multisets, all that a finite domain allows, or the caller's."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from flexdp._core.domains import ALPHA, Domain, attribute, elements, function
from flexdp._core.exact import Number
from flexdp._core.text import safe_repr, thousands
from flexdp.distortions import Distortion, Drop, DropMove, Move
from flexdp.errors import InputError, P
from flexdp.histogram import Histogram

__all__ = ["AMOUNT", "LARGEST_SEARCH", "Ball", "how_many", "make_ball", "submultisets"]

LARGEST_SEARCH = 100_000  # data sets in an exhaustive search

Keys: TypeAlias = Iterable[Any]
AMOUNT = replace(ALPHA, high=None, remedy="Give the largest distortion that is allowed.")


@dataclass(frozen=True, slots=True, eq=False)
class Ball:
    """All data sets x′, but the empty one, with ∂(x, x′) ≤ α; they can be listed unless records move anywhere."""

    centre: Histogram
    distortion: Distortion
    alpha: Fraction
    domain: tuple[Any, ...] | None
    candidates: tuple[Histogram, ...] | None

    @property
    def only_drops(self) -> bool:
        """True if x′ is any sub-multiset of enough records."""
        return self.candidates is None and isinstance(self.distortion, Drop)

    @property
    def moves_freely(self) -> bool:
        """True if records move anywhere on the line, by their difference."""
        free = self.candidates is None and self.domain is None
        ordinary = getattr(self.distortion, "metric", None) is None and self.centre.keys.ndim == 1
        return free and ordinary and isinstance(self.distortion, Move | DropMove)

    @property
    def price(self) -> Fraction | None:
        """η of drop-move; None if no record may be dropped."""
        return self.distortion.eta if isinstance(self.distortion, DropMove) else None

    @property
    def dropped(self) -> int:
        """Most records that may be dropped, never all of them."""
        if isinstance(self.distortion, Move):
            return 0
        return min(math.floor(self.alpha * self.centre.size), self.centre.size - 1)

    def moved(self, dropped: int) -> Fraction:
        """Return how far records may move once so many were dropped: α, or (α − k/n)/η in drop-move."""
        if self.only_drops:
            return Fraction(0)
        return self.alpha if self.price is None else (self.alpha - Fraction(dropped, self.centre.size)) / self.price

    def at(self, alpha: Fraction) -> Ball:
        """Return the ball of another radius."""
        return replace(self, alpha=alpha)

    def __iter__(self) -> Iterator[Histogram]:
        if self.candidates is not None:
            yield from (each for each in self.candidates if len(each) and self._holds(each))
        elif self.only_drops:
            yield from submultisets(self.centre, self.dropped)
        elif self.domain is not None and isinstance(self.distortion, Move | DropMove):
            yield from (each for each in _moved(self, self.domain) if self._holds(each))
        else:
            raise InputError(
                "distortion",
                ": the data sets within reach cannot be listed",
                remedy=(
                    "Give ", P("candidates"), ", a list of histograms",
                    *((", or ", P("domain"), ", the keys that records may move to")
                      if isinstance(self.distortion, Move | DropMove) else ()),
                    ".",
                ),
            )  # fmt: skip

    def _holds(self, other: Histogram) -> bool:
        return within(self.distortion, self.centre, other, self.alpha)


def make_ball(
    histogram: Histogram,
    alpha: Number,
    distortion: Distortion | None,
    domain: Keys | None,
    candidates: Iterable[Histogram] | None,
) -> Ball:
    """Check a centre, a radius, a distortion and what x′ may be."""
    measure: Any = Drop() if distortion is None else function("distortion", distortion, "two histograms")
    limit: Domain = ALPHA if isinstance(measure, Drop) else AMOUNT
    if not len(histogram):
        raise InputError(
            "histogram", "must not be empty", remedy="Flexible accuracy is undefined for an empty histogram."
        )
    if domain is not None and candidates is not None:
        raise InputError("domain", ("and ", P("candidates"), " exclude each other"), remedy="Leave one of them out.")
    if domain is not None and not isinstance(measure, Move | DropMove):
        raise InputError("domain", "is for the distortions Move() and DropMove(eta) alone", remedy="Leave it out.")
    keys = None if domain is None else elements(domain)
    if domain is not None and not keys:
        raise InputError("domain", "must be a list of keys", given=safe_repr(domain))
    listed = None if candidates is None else elements(candidates)
    if candidates is not None and (listed is None or not all(isinstance(each, Histogram) for each in listed)):
        raise InputError("candidates", "must be a list of histograms", given=safe_repr(candidates))
    return Ball(
        centre=histogram,
        distortion=measure,
        alpha=limit.check(alpha),
        domain=None if keys is None else tuple(key for key, _ in Histogram(keys, [1] * len(keys)).items()),
        candidates=None if listed is None else tuple(listed),
    )


def within(distortion: Distortion, x: Histogram, y: Histogram, alpha: Fraction) -> bool:
    """Return True if x can become y by a distortion of at most α: exactly, where the distortion is known exactly."""
    exactly = attribute(distortion, "exactly")
    found = float(distortion(x, y)) if exactly is None else exactly(x, y)
    if not found >= 0:
        raise InputError("distortion", "must return a non-negative number, infinite where x cannot become x′")
    return bool(found <= (float(alpha) if isinstance(found, float) else alpha))


def submultisets(histogram: Histogram, allowed: int) -> Iterator[Histogram]:
    """Yield every histogram that remains when at most ``allowed`` records are dropped."""
    if how_many(histogram, allowed) is None:
        raise _too_large()
    if not allowed:
        yield histogram
        return
    left: list[tuple[tuple[int, ...], int]] = [((), allowed)]
    for records in histogram.counts.tolist():
        left = [((*kept, records - j), room - j) for kept, room in left for j in range(min(records, room) + 1)]
    for kept, _ in left:
        yield Histogram(histogram.keys, np.array(kept, dtype=np.int64))


def how_many(histogram: Histogram, allowed: int) -> int | None:
    """Count the sub-multisets without building any; None if they are too many to search."""
    ways = [1]
    for records in histogram.counts.tolist() if allowed else ():
        reach = min(records, allowed)
        if reach < LARGEST_SEARCH:
            longer = min(len(ways) + reach, allowed + 1)
            ways = [sum(ways[max(0, lost - reach) : lost + 1]) for lost in range(longer)]
        if reach >= LARGEST_SEARCH or sum(ways) > LARGEST_SEARCH:
            return None
    return sum(ways)


def _moved(ball: Ball, domain: tuple[Any, ...]) -> Iterator[Histogram]:
    """Yield every histogram on the domain that x becomes when few records are dropped and the rest move within reach.

    What one record may become is asked of the distortion itself, one record at a time; the caller tests each result.
    """
    most, points = ball.dropped, [Histogram([key], [1]) for key in domain]
    found: set[tuple[tuple[int, ...], int]] = {((0,) * len(domain), 0)}
    for key, records in ball.centre.items():
        here = Histogram([key], [1])
        near = [i for i, there in enumerate(points) if within(ball.distortion, here, there, ball.alpha)]
        longer: set[tuple[tuple[int, ...], int]] = set()
        for parts, gone in _shared(records, len(near), most):
            for counts, lost in found:
                if lost + gone <= most:
                    row = list(counts)
                    for place, more in zip(near, parts, strict=True):
                        row[place] += more
                    longer.add((tuple(row), lost + gone))
            if len(longer) > LARGEST_SEARCH:
                raise _too_large()
        found = longer
    for heights in sorted({counts for counts, _ in found}):
        if any(heights):
            yield Histogram(list(domain), np.array(heights, dtype=np.int64))


def _shared(records: int, places: int, most: int) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield all ways to drop at most ``most`` of some records and to share out the rest."""
    for gone in range(min(records, most) + 1):
        if math.comb(records - gone + places - 1, places - 1) > LARGEST_SEARCH if places else False:
            raise _too_large()
        yield from ((parts, gone) for parts in _compositions(records - gone, places))


def _compositions(total: int, places: int) -> Iterator[tuple[int, ...]]:
    if places == 0:
        if total == 0:
            yield ()
        return
    if places == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _compositions(total - first, places - 1):
            yield (first, *rest)


def _too_large() -> InputError:
    return InputError(
        "alpha",
        f"must leave at most {thousands(LARGEST_SEARCH)} data sets to search",
        remedy=(
            "Choose a smaller ", P("alpha"), " or ", P("histogram"), ", or give ", P("candidates"), ".",
        ),
    )  # fmt: skip
