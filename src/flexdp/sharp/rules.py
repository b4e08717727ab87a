"""The public constants of sharp answers, fixed before any data is read."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from flexdp.sharp.halving import CutRules
from flexdp.sharp.prior import Prior, around
from flexdp.sharp.ranks import Span
from flexdp.sharp.rungs import Rungs, ladder_rungs
from flexdp.sharp.scale import Scale

__all__ = ["RULES", "Rules"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Shares of the budget, limits that decide on public numbers, and the public candidates.

    Parameters
    ----------
    count_share : Fraction
        The share of ε for the number of records n̂.
    few, few_for_mean : int
        Below n̂·ε of so much there is no answer, and no mean between ends that are found privately: with fewer, more
        than half of the records may lie beyond an end.
    anchor_scale, anchor_least, anchor_most : Fraction
        Where only tails are asked, the share of ε for an anchor is anchor_scale/(n̂·ε), clamped.
    anchor_records, anchor_tail : int, Fraction
        So many records divided by the anchor's ε lie beyond it, if that is no larger share of them; else it is the
        median, whose table of weights is short, too.
    deep : int
        A single tail with at least so many records times ε beyond its level is cut, not climbed to.
    far : int
        Of several levels, one with fewer records than this, divided by ε of a step, beyond it is climbed to.
    near : int
        A ladder starts at the outermost cut with at least so many records, divided by its ε, beyond it.
    many : int
        From n̂·ε of so much on, a helper level with ``near_records``/ε records beyond serves a ladder to an end.
    near_records : int
        See there.
    floor, back : Fraction
        A ladder to a quantile aims at max(k − ⌊back/ε⌋, ⌈floor/ε⌉) records beyond.
    end_back : Fraction
        A ladder to the outermost record aims at −⌊end_back/ε⌋ records beyond.
    end_threshold, mean_threshold : Fraction
        The shares of its ε that such a ladder, and one to an end of a mean, spend on the threshold: the larger, the
        less likely it runs far beyond the records, and the more records it leaves out.
    tree : CutRules
        The candidates of cuts.
    around, rungs : callable
        The candidates of a single tail, and the rungs of ladders.
    """

    count_share: Fraction = Fraction(1, 25)
    few: int = 100
    few_for_mean: int = 250
    anchor_scale: Fraction = Fraction(30)
    anchor_least: Fraction = Fraction(1, 50)
    anchor_most: Fraction = Fraction(2, 5)
    anchor_records: int = 60
    anchor_tail: Fraction = Fraction(1, 40)
    deep: int = 25
    far: int = 12
    near: int = 100
    many: int = 10**5
    near_records: int = 600
    floor: Fraction = Fraction(1)
    back: Fraction = Fraction(1)
    end_back: Fraction = Fraction(1, 2)
    end_threshold: Fraction = Fraction(7, 10)
    mean_threshold: Fraction = Fraction(3, 5)
    tree: CutRules = field(default_factory=CutRules)
    around: Callable[[Scale, int, int], Prior] = around
    rungs: Callable[[Scale, int, int, Span, int], Rungs] = ladder_rungs

    @property
    def depth(self) -> int | None:
        """K of every table of weights; for enumeration on small data."""
        return self.tree.depth

    def anchor_share(self, records_about: int, epsilon: Fraction) -> Fraction:
        """Return the share of ε that finds the anchor."""
        size = max(Fraction(1), records_about * epsilon)
        return min(self.anchor_most, max(self.anchor_least, self.anchor_scale / size))

    def target(self, records: int, epsilon: Fraction) -> int:
        """Return the number of records that a ladder leaves beyond it, for a public rank from the end."""
        return max(records - math.floor(self.back / epsilon), math.ceil(self.floor / epsilon))

    def end_target(self, epsilon: Fraction) -> int:
        """Return the number of records that a ladder to the outermost one leaves beyond it; below 0 it climbs on."""
        return -math.floor(self.end_back / epsilon)


RULES = Rules()
