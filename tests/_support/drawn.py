"""Releases of given outcomes of asked answers, which no noise has drawn: what is said of them is known beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import flexdp
from _support.published import frame
from flexdp import Release
from flexdp._release.asked import Outcomes, rebuilt

__all__ = ["drawn"]


def drawn(
    column: str,
    ask: list[str],
    *,
    records: int | None = 6000,
    anchor: int | None = None,
    values: Mapping[str, Any] | None = None,
    ends: tuple[int, int] | None = None,
    sums: tuple[int, int] | None = None,
    listed: int | None = None,
    **options: Any,
) -> Release:
    """Return a release with the given outcomes: quantiles by level, a mean by its ends and its two sums."""
    found = flexdp.release(frame(), column, **{"epsilon": 1, "delta": 0, **options}, ask=ask)
    asked = found.asked
    assert asked is not None
    one = 1 if asked.column.scale.integral else asked.column.scale.one
    middle = None if anchor is None else anchor * one
    levels = {Fraction(level): int(Fraction(value) * one) for level, value in (values or {}).items()}
    outer = None if ends is None else (ends[0] * one, ends[1] * one)
    result = rebuilt(
        asked.wanted,
        asked.parts,
        asked.column,
        records_about=records,
        levels=Outcomes(assumed=lambda level: levels.get(level, middle if middle is not None else 0)),
        mean=Outcomes(anchor=middle, ends=outer, sums=sums),
        listed=listed,
    )
    if result.levels is not None:  # the very values, whatever rungs and cuts there are
        told = tuple(replace(each, value=levels[each.level]) for each in result.levels.answers)
        result = replace(result, levels=replace(result.levels, answers=told))
    return replace(found, asked=replace(asked, results=dict.fromkeys(asked.results or [("A",)], result)))
