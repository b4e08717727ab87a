"""Likely causes where nothing survived: true of every source, complete, and functions of public parameters alone."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from _support.bits import seed

import flexdp

SPEND: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}
TABLE = pl.DataFrame({"x": [1.5, 2.5], "n": [1, 2], "w": ["A", "B"], "id": [1, 2], "ok": [True, False]})
READ = "Missing values, NaN, infinities and texts that do not read as numbers are not counted."
NARROW = "The buckets may be too narrow: perhaps none holds 28 records. Wider ones hold more."
FEW = "There may be too few records: a bucket is certain to survive if it holds 28 records; a larger ε requires fewer."
FEW_ASKED = "There may be too few records; a larger ε requires fewer."


@pytest.fixture(autouse=True)
def _bits(monkeypatch: pytest.MonkeyPatch) -> None:
    seed(monkeypatch, 1)  # with others, the noisy number of two records is sometimes large enough


@pytest.mark.parametrize(
    ("column", "options", "causes"),
    [
        ("x", {"width": "0.0001"}, (NARROW, READ, FEW)),
        ("x", {"ask": "max", "delta": 0}, (READ, FEW_ASKED)),
        ("x", {"where": "n > 0"}, (READ, "Records that do not match the filter are not counted.", FEW_ASKED)),
        (
            "w",
            {"exact": True},
            (
                "Every value is a bucket of its own, and perhaps none has 28 records.",
                "Missing values are not counted.",
                FEW,
            ),
        ),
        (
            "ok",
            {},
            (
                "Every value is a bucket of its own, and perhaps none has 28 records.",
                "Missing values and texts that do not read as true or false are not counted.",
                FEW,
            ),
        ),
        (
            "x",
            {"width": 1, "by": "w", "groups": ["X", "Y"]},
            (
                NARROW,
                READ,
                "Records without w are not counted.",
                "Records outside the declared groups (w) are not counted.",
                "Each group of the 2 declared of w has buckets of its own.",
                FEW,
            ),
        ),
        (
            "x",
            {
                "width": 1,
                "bounds": (0, 1),
                "outside": "drop",
                "unit": "id",
                "max_buckets_per_unit": 1,
                "cap_report": False,
            },
            (
                NARROW.replace("records", "units (id)"),
                READ,
                "Values outside the bounds are not counted.",
                "Records without id are not counted.",
                "What counts is each unit (id) in one range.",
                FEW.replace("it holds 28 records", "28 units (id) are counted in it").replace("records", "units (id)"),
            ),
        ),
    ],
)
def test_causes_follow_from_the_parameters(column: str, options: dict[str, Any], causes: tuple[str, ...]) -> None:
    released = flexdp.release(TABLE, column, **{**SPEND, **options})
    assert not released.survived and released.likely_causes == causes
    assert flexdp.Release.from_json(released.to_json()).likely_causes == causes
    assert flexdp.release(TABLE.clear(), column, **{**SPEND, **options}).likely_causes == causes


def test_other_groups_are_a_group_where_they_are_named() -> None:
    released = flexdp.release(TABLE, "x", **SPEND, width=1, by="w", groups=["X"], other="rest")
    assert not any("outside the declared" in cause or "without" in cause for cause in released.likely_causes)


def test_nothing_is_guessed_where_something_survived() -> None:
    assert flexdp.release([1.5] * 500, **SPEND, width=1).likely_causes == ()
