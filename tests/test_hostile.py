"""One strange record, and nothing but its own bar may change: no type, no failure, no neighbour."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import private_bars

import flexdp
from flexdp import Release
from flexdp.bars import Bars
from flexdp.release import prepare

SURE = {"epsilon": 1, "delta": "1e-6"}


def tally(source: Any, column: Any, salt: str = "fixed", **parameters: Any) -> dict[tuple[Any, ...], int]:
    bars = private_bars(prepare(source, column, **parameters), salt)
    return dict(zip(bars.rows(slice(None)), bars.counts.tolist(), strict=True))


@pytest.mark.parametrize(
    "labels", [[], [None, None], [1, 2.5], [None, True]], ids=["none", "missing", "numbers", "mixed"]
)
@pytest.mark.parametrize("role", [{"by": "label"}, {"unit": "label", "max_buckets_per_unit": 1}], ids=["by", "unit"])
def test_labels_of_which_none_is_readable_are_left_out_without_a_failure(
    labels: list[Any], role: dict[str, Any]
) -> None:
    """An engine gives a column without a text another type; a single text must not decide whether a release fails."""
    frame = pd.DataFrame({"label": pd.Series(labels, dtype=object), "x": np.arange(len(labels), dtype=float)})
    assert tally(frame, "x", width=1, **role) == {}
    one_more = pd.concat([frame, pd.DataFrame({"label": ["a"], "x": [7.0]})])
    assert sum(tally(one_more, "x", width=1, **role).values()) == 1


def parts_of(release: Release) -> list[str]:
    return [str(part.dtype) for part in release.cells.parts]


@pytest.mark.parametrize(
    ("kind", "cells", "strange"),
    [("integer", [5] * 100, 2**70), ("integer", [], 2**70), ("text", [], "a"), ("number", [], 1.5)],
)
def test_a_record_that_did_not_survive_leaves_no_trace_in_a_type(kind: str, cells: list[Any], strange: Any) -> None:
    alone = flexdp.release(cells, kind=kind, **SURE)
    release = flexdp.release([*cells, strange], kind=kind, **SURE)
    while len(release.cells) > len(set(cells)):  # survives once in a million times
        release = flexdp.release([*cells, strange], kind=kind, **SURE)
    assert parts_of(alone) == parts_of(release)
    assert alone.histogram.keys.dtype == release.histogram.keys.dtype


def test_bars_keep_nothing_of_those_that_were_dropped() -> None:
    bars = Bars([["a", "b"], [2**70, 3]], [1, 40])
    thinned = bars.with_counts(np.array([0, 30]))
    assert thinned == Bars([["b"], [3]], [30])
    assert [str(part.dtype) for part in thinned.parts] == ["object", "int64"]


@pytest.mark.parametrize("bounds", [None, (0, 50)])
def test_both_zeros_of_a_unit_are_one_bar_to_the_hash(bounds: Any) -> None:
    """Which of the unit's bars count is decided by their numbers, not by how a zero was written, nor in which order."""
    chosen = set()
    for zeros in ([0.0], [-0.0], [0.0, -0.0], [-0.0, 0.0]):
        units = [f"unit {i}" for i in range(200) for _ in range(len(zeros) + 1)]
        values = [x for _ in range(200) for x in (*zeros, 12.0)]
        frame = pl.DataFrame({"id": units, "x": values})
        counts = tally(frame, "x", width=5, bounds=bounds, unit="id", max_buckets_per_unit=1)
        assert set(counts) == {(0,), (2,)}
        chosen.add(tuple(counts.items()))
    assert len(chosen) == 1


@pytest.mark.parametrize("bounds", [(5, 10), (-10, -5), (-5, 5)])
def test_zero_is_limited_like_any_other_value(bounds: tuple[int, int]) -> None:
    values = [0.0, -0.0, 7.0, 20.0, -20.0]
    frame = pl.DataFrame({"id": list(range(5)), "x": values, "y": values})
    wanted = tally(frame, "x", bounds=bounds)
    assert set(wanted) <= {(float(min(max(x, bounds[0]), bounds[1])),) for x in values}
    assert tally(frame, "x", bounds=bounds, unit="id", max_buckets_per_unit=1) == wanted


@pytest.mark.parametrize(("unit", "per_day"), [("us", 86400 * 10**6), ("ns", 86400 * 10**9)])
def test_moments_with_a_zone_of_any_size_are_read_or_left_out(unit: str, per_day: int) -> None:
    near, far = [0, -1, 1], [2**62, -(2**62)]
    moments = pa.array([*near, *far, 2**63 - 1], type=pa.int64()).view(pa.timestamp(unit, tz="UTC"))
    read = near if unit == "us" else [*near, *far]  # as nanoseconds, these lie in the years that are read
    expected = Counter((tick // per_day,) for tick in read)
    assert tally(pa.table({"t": moments}), "t", width="1 day", zone="UTC") == expected
