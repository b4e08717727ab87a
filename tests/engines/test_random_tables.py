"""Random tables: every other engine counts what DuckDB counts, bucket by bucket."""

from __future__ import annotations

import datetime as dt
import os
from typing import Any

import pytest
from _support.private import private_bars
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engines.conftest import Cells, Engine, make_engine
from flexdp._release.api import prepare

DEEP = os.environ.get("FLEXDP_DEEP") == "1"
OTHERS = ("sqlite", "postgres", "mariadb", "clickhouse", "spark", "lazy")
TABLES = 12  # random tables per loaded one; column t distinguishes them
ROW = st.tuples(
    st.integers(0, TABLES - 1),
    st.none()
    | st.floats(allow_nan=True, allow_infinity=True, width=64)
    | st.sampled_from([0.1 * i for i in range(50)]),
    st.none() | st.integers(-(2**63), 2**63 - 1) | st.integers(-30, 30),
    st.none() | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=4),
    st.none() | st.dates(),
    st.none() | st.integers(0, 9),
)
TYPES = {"t": "bigint", "x": "double", "i": "bigint", "w": "text", "d": "date", "u": "bigint"}
QUESTIONS: list[dict[str, Any]] = [
    {"column": "x", "width": "0.1", "by": "t"},
    {"column": "x", "relative": "0.1", "bounds": (-1000, 10**9), "by": "t"},
    {"column": "i", "width": 7, "by": "t"},
    {"column": "w", "by": ["t", "d"]},
    {"column": "d", "width": "1 month", "by": "t", "unit": "u", "max_buckets_per_unit": 2},
    {"column": "x", "by": "t", "unit": "u", "max_buckets_per_unit": 3, "exact": True},
]


def bars_of(engine: Engine, cells: Cells) -> list[dict[Any, int]]:
    source = engine.load(cells)
    found = [private_bars(prepare(source, **question, **engine.parameters)) for question in QUESTIONS]
    return [dict(zip(bars.rows(slice(None)), bars.counts.tolist(), strict=True)) for bars in found]


@pytest.mark.parametrize("other", OTHERS)
def test_random_tables_are_counted_as_duckdb_does(other: str, request: pytest.FixtureRequest) -> None:
    engine, reference = make_engine(other, request), make_engine("duckdb", request)

    @settings(
        max_examples={"spark": 2, "lazy": 3}.get(other, 8 if DEEP else 4),
        deadline=None,
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    @given(st.lists(ROW, min_size=60, max_size=240))
    def check(rows: list[tuple[int, float | None, int | None, str | None, dt.date | None, int | None]]) -> None:
        columns = zip(*rows, strict=True)
        cells = {name: (kind, list(column)) for (name, kind), column in zip(TYPES.items(), columns, strict=True)}
        assert bars_of(engine, cells) == bars_of(reference, engine.held(cells))

    check()
