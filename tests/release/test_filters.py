"""Filters that leave nothing to count are refused before a record is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import flexdp

TABLE = pl.DataFrame({"age": [30, 40, None] * 400, "ward": ["a", None, "b"] * 400, "cost": [1.5, None, 2.5] * 400})


@pytest.mark.parametrize(
    ("where", "more", "column"),
    [
        ("age IS NULL", {}, "age"),
        ("NOT age IS NOT NULL", {}, "age"),
        ("cost > 1 AND age IS NULL", {}, "age"),
        ("age IS NULL AND (cost > 1 OR cost < 5)", {}, "age"),
        ("ward IS NULL", {"by": "ward"}, "ward"),
    ],
)
def test_a_column_that_is_counted_by_must_have_a_value(
    where: str, more: dict[str, Any], column: str, tmp_path: Path
) -> None:
    ledger = flexdp.Ledger(tmp_path / "budget.db")
    ledger.create("visits", epsilon=2, delta="1e-5")
    paid = {"epsilon": 1, "delta": "1e-6", "ledger": ledger, "dataset": "visits"}
    with pytest.raises(flexdp.InputError) as refusal:
        flexdp.release(TABLE, "age", width=5, where=where, **more, **paid)
    assert str(refusal.value) == (
        f"where: no record can count, because those that match have no value in '{column}'. "
        "Leave out the test, or the column."
    )
    assert ledger.account("visits").remaining_epsilon == 2


@pytest.mark.parametrize(
    "where", ["age IS NULL OR cost > 1", "ward IS NULL", "cost IS NULL AND (age IS NULL OR age > 3)", "age IS NOT NULL"]
)
def test_other_filters_may_leave_something(where: str) -> None:
    assert flexdp.release(TABLE, "age", width=5, where=where, epsilon=8, delta="1e-6").count().value > 0


def test_a_column_read_in_two_ways() -> None:
    """A cell that is no number may be a text, so a test of the text is not one of the number."""
    table = {"x": ["1", "b", None] * 400}
    passed = flexdp.release(table, "x", kind="text", where="number(x) IS NULL", epsilon=8, delta="1e-6")
    assert passed.support().value == ("b",)
    with pytest.raises(flexdp.InputError, match="no value in 'x'"):
        flexdp.release(table, "x", kind="text", where="text(x) IS NULL", epsilon=8, delta="1e-6")
