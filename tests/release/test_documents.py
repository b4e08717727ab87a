"""Documents read back: what no release could have published is refused, even where the document agrees with itself."""

from __future__ import annotations

import copy
import datetime as dt
import json
from typing import Any

import polars as pl
import pytest

import flexdp
from flexdp import InputError, Release

SPEND: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}
ROWS = 400
FRAME = pl.DataFrame(
    {
        "x": [50.0, 70.0] * (ROWS // 2),
        "n": [50, 70] * (ROWS // 2),
        "d": [dt.date(2024, 3, 1), dt.date(2024, 5, 9)] * (ROWS // 2),
        "t": [dt.datetime(2024, 3, 1, 12), dt.datetime(2024, 5, 9, 12)] * (ROWS // 2),
        "g": ["a", "b"] * (ROWS // 2),
        "w": [1, 2] * (ROWS // 2),
        "u": list(range(ROWS)),
    }
)


def document(column: Any, **parameters: Any) -> dict[str, Any]:
    """A release of two bars, as its document."""
    released = flexdp.release(FRAME, column, **SPEND, **parameters)
    found = json.loads(released.to_json())
    assert len(found["bars"]["count"]) == 2
    assert Release.from_json(json.dumps(found)).to_json() == released.to_json()
    return found


def changed(found: dict[str, Any], **bars: Any) -> str:
    """The same document with other bars, of which a list stands for all and anything else for the last."""
    again = copy.deepcopy(found)
    for name, value in bars.items():
        again["bars"][name][-1] = value
    return json.dumps(again)


def is_read(text: str) -> bool:
    try:
        Release.from_json(text)
    except InputError:
        return False
    return True


# Buckets of width 10 within 0–100 (0–99 of integers) are 0, …, 9; keys are what the same index has in the document.
@pytest.mark.parametrize(
    ("column", "parameters", "inside", "outside"),
    [
        ("x", {"width": 10, "bounds": (0, 100)}, [(9, 95.0)], [(10, 105.0), (11, 115.0)]),
        ("x", {"width": 10, "bounds": (40, 100)}, [(5, 95.0)], [(6, 105.0), (-1, 35.0)]),
        ("n", {"width": 10, "bounds": (0, 99)}, [(9, 94.5)], [(10, 104.5), (10, 99.5)]),
        ("n", {"width": 5, "bounds": (0, 99)}, [(19, 97)], [(20, 102), (20, 101)]),
        ("x", {"edges": [0, 60, 80, 100]}, [(2, 90.0)], [(3, 110.0), (-1, 90.0)]),
        ("d", {"width": "1 month", "bounds": ("2024-01-01", "2024-12-31")}, [(2024 * 12 + 11, "2024-12-16")],
         [(2024 * 12 + 12, "2024-12-16"), (2024 * 12 + 12, "2025-01-16"), (2023 * 12 + 11, "2023-12-16")]),
    ],
)  # fmt: skip
def test_no_bucket_lies_outside_the_bounds(
    column: str, parameters: dict[str, Any], inside: list[Any], outside: list[Any]
) -> None:
    found = document(column, **parameters)
    for index, key in inside:
        assert is_read(changed(found, index=index, key=key)), (index, key)
    for index, key in outside:
        first = copy.deepcopy(found)
        first["bars"] = {name: cells[:1] for name, cells in found["bars"].items()}
        assert not is_read(changed(found, index=index, key=key)), (index, key)
        assert not is_read(changed(first, index=index, key=key)), (index, key)  # whatever the order


def test_no_relative_bucket_lies_outside_the_bounds() -> None:
    """Relative buckets end at the bounds, too: the first beyond them has an index of its own, and a centre."""
    found = document("x", relative="0.1", bounds=(10, 100))
    wide = document("x", relative="0.1", bounds=(10, 10_000))
    top = flexdp.release([100.0] * 200, **SPEND, kind="number", relative="0.1", bounds=(10, 100))
    last = json.loads(top.to_json())["bars"]["index"][0]
    assert is_read(changed(found, index=last, key=json.loads(top.to_json())["bars"]["key"][0]))
    beyond = Release.from_json(json.dumps(wide)).spec.partitions[0]
    centre = beyond.centres(beyond.locate(pl.Series([120.0]).to_numpy())).tolist()[0]
    assert not is_read(changed(found, index=last + 1, key=centre))


@pytest.mark.parametrize(
    ("column", "bounds", "inside", "outside"),
    [
        ("x", (0, 100), [100.0, 70.5], [100.00000000000001, 1e300]),
        ("x", ("0.1", "100.1"), [100.1], [100.10000000000001]),  # bounds are compared as doubles, as they are counted
        ("n", (0, 100), [100], [101, 10**20]),
        ("d", ("2024-01-01", "2024-12-31"), ["2024-12-31"], ["2025-01-01"]),
        ("t", ("2024-01-01", "2024-12-31"), ["2024-12-30T23:59:59.999999"], ["2024-12-31T00:00:00"]),
    ],
)
def test_no_value_lies_outside_the_bounds(column: str, bounds: Any, inside: list[Any], outside: list[Any]) -> None:
    for side in ("clamp", "drop"):
        found = document(column, bounds=bounds, outside=side, exact=True)
        assert all(is_read(changed(found, key=key)) for key in inside)
        assert not any(is_read(changed(found, key=key)) for key in outside)


def test_no_value_below_the_bounds() -> None:
    found = document("n", bounds=(40, 100), exact=True)
    for key, good in ((40, True), (39, False), (-(10**20), False)):
        again = copy.deepcopy(found)
        again["bars"]["key"][0] = key
        assert is_read(json.dumps(again)) is good


def test_no_cell_lies_outside_the_bounds() -> None:
    found = document(["x", "n"], width=10, bounds=[(0, 100), (0, 99)])
    assert is_read(changed(found, index=[9, 9], key=[95.0, 94.5]))
    for index, key in (([10, 9], [105.0, 94.5]), ([9, 10], [95.0, 104.5]), ([9, 10], [95.0, 99.5])):
        assert not is_read(changed(found, index=index, key=key))
    alone = document(["x", "n"], bounds=[(0, 100), (0, 99)], exact=True)
    assert is_read(changed(alone, index=[99.5, 99], key=[99.5, 99]))
    for cell in ([100.5, 99], [99.5, 100]):
        assert not is_read(changed(alone, index=cell, key=cell))


@pytest.mark.parametrize(
    ("by", "groups", "inside", "outside"),
    [
        ("g", ["a", "b", "c"], [["c"]], [["d"], [""], ["B"], ["c "]]),
        ("w", [1, 2, 3], [[3]], [[4], ["3"], [2**70]]),
        (["g", "w"], [("a", 1), ("b", 2), ("c", 1)], [["c", 1]], [["c", 2], ["b", 3], ["d", 1]]),
        ("d", ["2024-03-01", "2024-05-09", "2024-06-01"], [["2024-06-01"]], [["2024-06-02"], ["2024-07-01"]]),
    ],
)
def test_no_group_was_published_that_was_not_declared(by: Any, groups: Any, inside: Any, outside: Any) -> None:
    found = document("x", by=by, groups=groups, width=100)
    found["bars"] = {name: cells[:1] for name, cells in found["bars"].items()}  # one bar is in order whatever its group
    assert all(is_read(changed(found, group=group)) for group in inside)
    assert not any(is_read(changed(found, group=group)) for group in outside)


def test_a_bound_that_was_paid_for_is_there_and_not_below_what_was_published() -> None:
    found = document("x", width=10, certify="0.1")
    size = sum(found["bars"]["count"])
    for bound, good in ((size, True), (size + 1, True), (size - 1, False), (0, False), (None, False), (1e6, False)):
        again = {**found, "certified": {**found["certified"], "records_at_most": bound}}
        assert is_read(json.dumps(again)) is good, bound


def test_units_of_a_document_are_as_a_release_could_have_them() -> None:
    found = document("x", width=10, unit="u", per_unit="max")
    for change, good in (
        ({"max_buckets_per_unit": 1}, True),
        ({"max_buckets_per_unit": 2}, False),
        ({"per_unit": "random"}, False),
        ({"unit": "x"}, False),
        ({"unit": 3}, False),
    ):
        assert is_read(json.dumps({**found, "privacy": {**found["privacy"], **change}})) is good, change
    twice = document("x", width=10, by="g")
    assert not is_read(json.dumps({**twice, "by": ["x"]}))
    two = document(["x", "n"], width=10)
    assert not is_read(json.dumps({**two, "column": ["x", "x"]}))
    of_two = {**found["privacy"], "max_buckets_per_unit": 2}
    units = {"unit": "u", "max_buckets_per_unit": 2, "cap_report": False}
    several = json.loads(flexdp.release(FRAME, "x", **SPEND, width=10, **units).to_json())
    # The table of two buckets per unit, with a rule that keeps one value of each: no release has both.
    assert not is_read(json.dumps({**several, "privacy": of_two}))
