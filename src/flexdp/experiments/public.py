"""A column of a public table as a row of bars. Only for data that anybody may see: what follows shows true answers."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexdp._release.api import prepare
from flexdp.errors import InputError
from flexdp.simulation.laws import Fixed

__all__ = ["MOST_BARS", "public_column"]

MOST_BARS = 100_000


def public_column(source: Any, column: str, *, data_is_public: bool, **parameters: Any) -> Fixed:
    """The counts of every bucket, exactly; refused unless the caller says that the data is public."""
    if not data_is_public:
        raise InputError(
            "data_is_public must be said: a comparison shows true answers beside noisy ones, so it is for data that "
            "anybody may see. Add --data-is-public if it is; of private data, make a release instead."
        )
    (question,) = prepare(source, column, **parameters).questions
    (buckets,) = question.spec.partitions
    bars = buckets.count
    if bars is None:
        raise InputError("bounds and width must be given: all mechanisms must know the bars in advance.")
    if bars > MOST_BARS:
        raise InputError(f"width must make at most {MOST_BARS} bars; got {bars}. Choose a larger one.")
    from flexdp.tables import count

    (counted,) = count(question.table, [question.counting])
    row = np.zeros(bars, dtype=np.int64)
    row[counted.parts[0].astype(np.int64) - buckets.first] = counted.counts
    return Fixed(row, str(column))
