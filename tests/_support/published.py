"""Releases of given bars, which no noise has touched: what is said of them is known beforehand."""

from __future__ import annotations

import datetime as dt
from typing import Any

import polars as pl

from flexdp import Release
from flexdp._release.api import prepare
from flexdp.accounting.budget import Budget
from flexdp.histogram import KeyedHistogram

__all__ = ["frame", "published"]


def frame() -> pl.DataFrame:
    """Return a table of one record, which has a column of every kind."""
    return pl.DataFrame(
        {
            "g": ["a"],
            "x": [1.0],
            "y": [1.0],
            "i": [1],
            "u": [1],
            "day": [dt.date(2024, 1, 1)],
            "seen": [dt.datetime(2024, 1, 1)],
        }
    )


def published(
    cells: dict[tuple[Any, ...], int],
    column: str | list[str] = "x",
    *,
    epsilon: Any = 1,
    records_at_most: int | None = None,
    **parameters: Any,
) -> Release:
    """Return a release of given bars, by their indices, as ``release`` would describe it.

    At ε = 1 a bucket has lost at most 27 records, and of 28 one is left for certain.
    """
    spec = prepare(frame(), column, **parameters).questions[0].spec
    parts = [list(part) for part in zip(*cells, strict=True)] or [[] for _ in (*spec.by, *spec.columns)]
    budget = Budget(epsilon, "1e-6", most=spec.max_buckets_per_unit, buckets=spec.public_buckets)
    bars = KeyedHistogram(parts, list(cells.values()))
    return Release(spec=spec, budget=budget, cells=bars, records_at_most=records_at_most)
