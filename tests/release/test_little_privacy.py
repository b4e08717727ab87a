"""Budgets that protect little are warned of, in Python as on the command line, and are not called a limit."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from _support.command import flexdp as command

import flexdp
from flexdp import Privacy, PrivacyWarning

TABLE = pl.DataFrame({"x": [float(i % 40) for i in range(900)], "y": ["a", "b", "c"] * 300})
EPSILON = "epsilon={} is above 10 and gives little privacy protection."
DELTA = (
    "delta={} allows the guarantee to fail in one of {} cases; it should be far smaller than 1 divided by the number "
    "of records."
)
WAYS: dict[str, tuple[Any, str]] = {
    "buckets": (lambda **spend: flexdp.release(TABLE, "x", width=5, **spend), "--width 5"),
    "automatic": (lambda **spend: flexdp.release(TABLE, "x", **spend), ""),
    "asked and buckets": (
        lambda **spend: flexdp.release(TABLE, "x", width=5, ask="max", **spend), "--width 5 --ask max",
    ),
    "several": (
        lambda **spend: flexdp.release(TABLE, ["x", "y"], separately=True, width=[5, None], **spend), "",
    ),
    "summary": (lambda **spend: flexdp.summary(TABLE, **spend), ""),
}  # fmt: skip


@pytest.mark.parametrize(
    ("epsilon", "delta", "told"),
    [
        (10, "0.0099", []),
        (1, ".05", [DELTA.format("0.05", 20)]),
        (100, "1e-6", [EPSILON.format(100)]),
        ("10.5", "0.5", [EPSILON.format("10.5"), DELTA.format("0.5", 2)]),
    ],
)
@pytest.mark.parametrize("way", list(WAYS))
def test_python_and_the_command_line_say_the_same(
    way: str, epsilon: Any, delta: str, told: list[str], tmp_path: Path
) -> None:
    work, words = WAYS[way]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        work(epsilon=epsilon, delta=delta)
    found = [each for each in caught if each.category is PrivacyWarning]
    assert [str(each.message) for each in found] == ([" ".join(told)] if told else [])
    assert all(each.filename == __file__ for each in found), "it points to the caller"
    if way in ("several", "summary"):
        return
    TABLE.write_parquet(tmp_path / "t.parquet")
    done = command("release", "t.parquet", "x", "-e", str(epsilon), "-d", delta, *words.split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = [line.removeprefix("Warning: ") for line in done.stderr.splitlines() if line.startswith("Warning: ")]
    spelled = [each.replace("epsilon=", "--epsilon ").replace("delta=", "--delta ") for each in told]
    assert lines == spelled


def test_the_whole_budget_is_judged_with_the_report_on_capped_units() -> None:
    """A twenty-fifth of ε tells how many units the cap touched; what is left for buckets is below 10 here."""
    table = TABLE.with_columns(id=pl.int_range(900) % 300)
    for epsilon, told in (("10.1", True), ("10", False)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            flexdp.release(table, "x", width=5, unit="id", max_buckets_per_unit=2, epsilon=epsilon, delta="1e-6")
        found = [str(each.message) for each in caught if each.category is PrivacyWarning]
        assert found == ([EPSILON.format(epsilon)] if told else [])


def test_a_warning_that_is_an_error_spends_nothing(tmp_path: Path) -> None:
    ledger = flexdp.Ledger(tmp_path / "b.db")
    ledger.create("a", epsilon=200, delta="1e-3")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(PrivacyWarning):
            flexdp.release(TABLE, "x", width=5, epsilon=100, delta="1e-6", ledger=ledger, dataset="a")
    assert len(ledger.history("a")) == 1


@pytest.mark.parametrize("epsilon", [1, 10, 20, 21, 24, 30, 100, 1000])
def test_a_certainty_of_100_percent_is_not_called_a_limit(epsilon: int) -> None:
    odds = Privacy(epsilon=epsilon, delta="1e-6").odds
    doubt = math.exp(-epsilon) / (1 + math.exp(-epsilon))  # what is left of it
    assert "100%" not in odds
    if "at most" in odds:
        told = Fraction(odds.split("at most ")[1].split("%")[0])
        assert 0 < 100 - told <= 100 * Fraction(doubt) + Fraction(1, 10**30)
    else:
        assert doubt < 1e-11 and odds.endswith("is in the data may be practically certain afterwards")


def test_a_plan_calls_no_certainty_of_100_percent_a_limit() -> None:
    for options in ({"buckets": 10}, {}, {"ask": ["max"], "delta": 0}):
        told = str(flexdp.plan(**{"epsilon": 100, "delta": "1e-6", "records_about": 10_000, **options}))
        assert "100% sure" not in told and "≤ 100%" not in told and "≈ 100%" in told
        assert "may be practically certain afterwards" in told
