"""Comparisons: all forms of mechanisms and data, and errors in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flexdp import Histogram, InputError
from flexdp.baselines import BASELINES
from flexdp.experiments import Fixed, compare, parse_law
from flexdp.statistics import Max, MaxAtLeast, Mode

ROW = [3, 400, 0, 90, 1]
QUICK: dict[str, Any] = {"epsilon": [1], "runs": 6, "datasets": 3}


def last(counts: Any, _rng: Any) -> float:
    return float(len(counts) - 1)


def test_functions_are_called_as_documented() -> None:
    seen: list[dict[str, Any]] = []

    def full(counts: Any, rng: Any, runs: int, *, epsilon: float, delta: float, statistic: Any) -> Any:
        seen.append({"runs": runs, "epsilon": epsilon, "delta": delta, "statistic": statistic})
        with pytest.raises(ValueError, match="read-only"):
            counts[0] = 7
        return rng.integers(len(counts), size=runs)

    def greedy(_counts: Any, _rng: Any, **given: Any) -> Any:
        assert set(given) == {"runs", "epsilon", "delta", "statistic"}
        return np.full(given["runs"], 3)

    found = compare({"last": last, "full": full, "greedy": greedy}, ROW, Max(), **QUICK)
    assert [row.mechanism for row in found.rows] == ["last", "full", "greedy"]
    assert seen[0] == {"runs": 6, "epsilon": 1.0, "delta": 2.0**-20, "statistic": Max()}
    assert found.rows[0].actual == 0.0 and found.rows[2].actual == 20.0
    again = compare({"full": full}, ROW, Max(), **QUICK)
    assert again.rows[0] == found.rows[1], "its stream is its own"


def test_errors_by_hand() -> None:
    """The maximum is 4; dropping a fiftieth of 494 records, 9 of them, empties bucket 4: F = {3, 4}."""
    found = compare(lambda _counts, _rng: 1, ROW, "max", alpha="0.02", **QUICK)
    (row,) = found.rows
    assert (row.actual, row.flexible, row.beta_50, row.actual_se) == (60.0, 40.0, 40.0, 0.0)


def test_mechanisms_by_name_object_and_function() -> None:
    found = compare(["dropping", BASELINES["em"], last], ROW, Mode(), **QUICK)
    assert [row.mechanism for row in found.rows] == ["dropping", "em", "last"]
    renamed = compare({"ours": "dropping"}, ROW, Mode(), **QUICK)
    assert renamed.rows[0].mechanism == "ours"
    assert compare("dropping", ROW, "mode", **QUICK).rows == found.rows[:1]


def test_data_in_every_form() -> None:
    law = parse_law("normal:50,10")
    single = [
        compare(last, data, "max", **QUICK).rows
        for data in (ROW, tuple(ROW), np.array(ROW), Histogram(range(5), ROW), Fixed(np.array(ROW), "data"))
    ]
    assert all(rows == single[0] for rows in single)
    several = compare(last, [ROW, law, "poisson:9"], "max", **QUICK)
    assert [row.experiment for row in several.rows] == ["data 1", "normal:50,10", "poisson:9"]
    labelled = compare(last, {"mine": ROW, "theirs": law}, MaxAtLeast(2), **QUICK)
    assert [row.experiment for row in labelled.rows] == ["mine", "theirs"]
    wider = compare(last, Histogram([0, 3], [5, 5]), "max", bars=10, **QUICK)
    assert wider.rows[0].actual == 60.0
    twice = compare(last, ["poisson:9", "poisson:9"], "max", **QUICK)
    assert len({row.experiment for row in twice.rows}) == 2


def raising(_counts: Any, _rng: Any) -> float:
    raise KeyError("height")


@pytest.mark.parametrize(
    ("mechanism", "told"),
    [
        (raising, "mechanism 'raising' raised KeyError: 'height'"),
        ({"three": lambda _counts, _rng: [1, 2, 3]}, r"'three' must return one output .* 6 runs; got shape \(3,\)"),
        ({"flat": lambda _counts, _rng, runs: np.zeros((runs, 1))}, r"got shape \(6, 1\)"),
        ({"void": lambda _counts, _rng: None}, "'void' returned an output that is not a finite number"),
        ({"nan": lambda _counts, _rng: float("nan")}, "'nan' returned an output that is not a finite number"),
        ({"text": lambda _counts, _rng: "x"}, "'text' must return real numbers"),
        ({"complex": lambda _counts, _rng: 1 + 2j}, "'complex' must return real numbers"),
        ({"narrow": lambda _counts: 1}, "'narrow' raised TypeError.*called as mechanism"),
        ("droping", "Did you mean 'dropping'"),
        ([], "at least one"),
        ([last, last], "'last' is given twice"),
        ([7], "must be a name, a Baseline or a function"),
    ],
)
def test_mechanisms_that_are_wrong(mechanism: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        compare(mechanism, ROW, "max", **QUICK)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ([1.5, 2.0], "data must be a law"),
        (np.zeros((2, 2), dtype=int), "data must be a law"),
        ([-1, 3], "data must be a law"),
        ([], "data must be a law"),
        ({}, "data must contain at least one"),
        ([0, 0], "contains no records"),
        (Histogram(["a"], [1]), "keys of a Histogram must be bucket numbers"),
        (Histogram([0.5], [1]), "keys of a Histogram must be bucket numbers"),
        ("couchy:1,2", "Did you mean cauchy"),
        (3, "data must be a law"),
    ],
)
def test_data_that_is_wrong(data: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        compare(last, data, "max", **QUICK)


def test_other_parameters_that_are_wrong() -> None:
    for wrong, told in (
        ({"statistic": "median"}, "statistic must be max"),
        ({"epsilon": []}, "epsilon must contain at least one"),
        ({"runs": 1}, "runs must be"),
        ({"bars": 2}, None),
    ):
        parameters = {"statistic": "max", **QUICK, **wrong}
        statistic = parameters.pop("statistic")
        if told is None:
            with pytest.raises(InputError, match="bars must exceed"):
                compare(last, Histogram([0, 3], [5, 5]), statistic, **parameters)
        else:
            with pytest.raises(InputError, match=told):
                compare(last, ROW, statistic, **parameters)


def test_an_object_of_ones_own_that_fails_is_named() -> None:
    class Broken:
        name = "broken"
        citation = BASELINES["em"].citation

        def claim(self, *, epsilon: Any, delta: Any) -> Any:
            return BASELINES["em"].claim(epsilon=epsilon, delta=delta)

        def run(self, *_args: Any, **_more: Any) -> Any:
            raise RuntimeError("out of luck")

    with pytest.raises(InputError, match="mechanism 'broken' raised RuntimeError: out of luck"):
        compare(Broken(), ROW, "max", **QUICK)


def test_frame_figure_and_text(tmp_path: Path) -> None:
    found = compare(["dropping", last], {"<b>data</b>": ROW}, "max", epsilon=[0.5, 1], runs=6, datasets=3)
    frame = found.to_frame()
    assert list(frame.columns)[:4] == ["experiment", "mechanism", "epsilon", "actual"] and len(frame) == 4
    assert "dropping" in str(found) and "ε = 0.5" in str(found)
    assert found.figure(tmp_path / "f.png").read_bytes().startswith(b"\x89PNG")
    assert b"<b>" not in found.figure(tmp_path / "f.svg").read_bytes()
    with pytest.raises(InputError, match=r"must end in \.svg or \.png"):
        found.figure(tmp_path / "f.pdf")
