"""Asked answers lie within what the filter of the release allows of the column itself."""

from __future__ import annotations

from typing import Any

import pytest
from _support.bits import seed

import flexdp
from flexdp._release.filtered import range_of_filter
from flexdp._release.spec import Spec
from flexdp.buckets.parse import make_buckets


def limits(where: str | None, kind: Any = "number", column: str = "x", **parameters: Any) -> tuple[Any, Any]:
    buckets = make_buckets(kind, **(parameters or {"width": 5}))
    return range_of_filter(Spec(columns=(column,), partitions=(buckets,), where=where))


@pytest.mark.parametrize(
    ("where", "number", "integer"),
    [
        (None, (None, None), (None, None)),
        ("x >= 18", (18.0, None), (18, None)),
        ("x > 18", (18.0, None), (19, None)),
        ("18 < x AND 65 > x", (18.0, 65.0), (19, 64)),
        ("x <= 17.5 AND y > 3", (None, 17.5), (None, 17)),
        ("x BETWEEN -3 AND 4 AND x > -1", (-1.0, 4.0), (0, 4)),
        ("x = 7", (7.0, 7.0), (7, 7)),
        ("x >= 18 OR y = 1", (None, None), (None, None)),
        ("NOT x < 18", (None, None), (None, None)),
        ("NOT x BETWEEN 1 AND 2", (None, None), (None, None)),
        ("x + 1 > 18 AND y > 18 AND x > y AND x <> 3", (None, None), (None, None)),
        ("x > 5 AND x < 3", (None, None), (None, None)),
        ("x < 9007199254740993", (None, None), (None, None)),
    ],
)
def test_the_range_of_a_filter(where: str | None, number: Any, integer: Any) -> None:
    assert limits(where) == number
    assert limits(where, kind="integer") == integer


def test_values_beyond_a_bound_count_at_the_bound() -> None:
    assert limits("x >= 18", bounds=("0", "10"), width="5") == (10.0, None)
    assert limits("x >= 18 AND x <= 50", kind="integer", bounds=(20, 40), width=5) == (20, 40)


def test_other_columns_have_no_range() -> None:
    assert limits("x >= 18", column="y") == (None, None)


def test_asked_answers_keep_to_the_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    ages = [i % 100 for i in range(4000)]
    free, kept = set(), set()
    for number in range(40):
        for where, lows in (("x >= 18", kept), ("x >= 18 OR x = 18", free)):
            seed(monkeypatch, number)
            released = flexdp.release({"x": ages}, "x", kind="integer", where=where, epsilon="0.3", delta="1e-6")
            lows.add(released.min().value)
            assert flexdp.Release.from_json(released.to_json()).min() == released.min()
            if lows is kept:
                assert released.quantile("0.01").value >= 18 and "about " in released.min().text
    assert min(kept) >= 18
    assert min(free) < 18, "the control: a filter that is not understood limits nothing"
