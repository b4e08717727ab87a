"""Numbers copied from DuckDB's Arrow stream: the same values as any other way to fetch them, with their limits."""

from __future__ import annotations

import math

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexdp.tables.arrow_column import one_column


@given(st.lists(st.one_of(st.none(), st.floats())), st.integers(1, 3))
def test_values_and_limits_are_those_of_the_rows(values: list[float | None], most: int) -> None:
    with duckdb.connect() as con:
        rows = con.sql("SELECT unnest(?::DOUBLE[])", params=[values])
        read = one_column(rows, max(1, len(values)))
        there = [value for value in values if value is not None]
        assert read is not None
        assert sorted(map(repr, read.values.tolist())) == sorted(map(repr, there))
        assert "<Numbers>" in repr(read) and all(repr(value) not in repr(read) for value in there)
        if not there:
            assert read.limits is None
        elif any(math.isnan(value) for value in there):
            assert read.limits is not None and all(math.isnan(limit) for limit in read.limits)
        else:
            assert read.limits == (min(there), max(there))
        again = one_column(con.sql("SELECT unnest(?::DOUBLE[])", params=[values]), most)
        assert (again is None) == (len(values) > most)


@pytest.mark.parametrize("extreme", [0, 123_456, 499_999])
def test_limits_of_many_parts(extreme: int) -> None:
    """Wherever the extreme values lie among the parts of a stream, and with parts that are all NULL."""
    with duckdb.connect() as con:
        read = one_column(
            con.sql(
                f"""SELECT CASE WHEN i = {extreme} THEN -7 WHEN i = {500_000 - extreme} THEN 9
                                WHEN i % 500000 < 200000 THEN NULL ELSE 1 END::BIGINT
                    FROM range(500001) t(i)"""
            ),
            10**6,
        )
    assert read is not None and read.limits == (-7, 9)
    assert (read.values.min(), read.values.max()) == (-7, 9) and read.values.dtype == np.int64
