"""Cuts of whole values, the windows that they need, and the chances of their candidates."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from flexdp.sharp.cut import Cut
from flexdp.sharp.goal import Goal
from flexdp.sharp.prior import Prior
from flexdp.sharp.ranks import EVERYTHING, Near, Ranks, Request, Span, Window

__all__ = ["chances", "near", "whole_cut", "window_of"]


def whole_cut(*, goal: Goal, epsilon: Fraction, prior: Prior, span: Span = EVERYTHING, depth: int | None = None) -> Cut:
    """Return a cut of whole values within a span."""
    high = None if span.high is None else span.high - 1
    return Cut(goal=goal, epsilon=epsilon, prior=prior, low=span.low, high=high, shares=1, depth=depth)


def near(cut: Cut) -> Near:
    """Return the window that it needs."""
    span = Span(cut.low, None if cut.high is None else cut.high + 1)
    return Near(goal=cut.goal, reach=cut.reach, span=span)


def window_of(cut: Cut, ranks: Ranks) -> Window:
    """Fetch the window that it needs."""
    return ranks.fetch(Request(windows=(near(cut),))).windows[0]


def chances(cut: Cut, window: Window) -> dict[Any, Fraction]:
    """Return the exact probability of every position, None if there is none."""
    return dict(cut.law(window).listed().masses)
