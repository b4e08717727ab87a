"""Exact counts of a column of a public table, for comparisons that show true answers."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexdp._core.text import thousands
from flexdp._release.api import prepare
from flexdp.errors import InputError, P
from flexdp.simulation import Fixed

__all__ = ["MOST_BARS", "public_column"]

MOST_BARS = 100_000


def public_column(source: Any, column: str, *, data_is_public: bool, **parameters: Any) -> Fixed:
    """Return the exact count of every bucket; refuse unless the caller declares the data public."""
    if not data_is_public:
        raise InputError(
            "data_is_public",
            "must be set to compare mechanisms on a table",
            remedy=(
                "A comparison shows true answers next to noisy ones. If anybody may see the data, pass ",
                P("data_is_public", True),
                "; for private data, make a release instead.",
            ),
        )
    (question,) = prepare(source, column, **parameters).questions
    (buckets,) = question.spec.partitions
    bars = buckets.count
    if bars is None:
        raise InputError(
            "bounds",
            ("and ", P("width"), " are required"),
            remedy="All mechanisms must know the buckets in advance.",
        )
    if bars > MOST_BARS:
        raise InputError(
            "width",
            f"must make at most {thousands(MOST_BARS)} buckets",
            given=thousands(bars),
            remedy="Choose a larger width.",
        )
    (counted,) = question.table.count([question.counting])
    row = np.zeros(bars, dtype=np.int64)
    row[counted.parts[0].astype(np.int64) - buckets.first] = counted.counts
    return Fixed(row, str(column))
