"""Comparisons: all forms of mechanisms and data, and errors in them."""

from __future__ import annotations

import sys
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flexdp import Histogram, InputError
from flexdp.baselines import BASELINES
from flexdp.distances import hausdorff
from flexdp.experiments import Fixed, compare, parse_law
from flexdp.experiments.reading import read_rows
from flexdp.mechanisms import Bucketing, Dropping, Laplace, ReadOff
from flexdp.statistics import Distinct, Max, MaxAtLeast, Median, Min, Mode, Quantile, Range, Support

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
        ([7], "must be a name, a Baseline, a Mechanism or a function"),
    ],
)
def test_mechanisms_that_are_wrong(mechanism: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        compare(mechanism, ROW, "max", **QUICK)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ([1.5, 2.0], "data must be a distribution"),
        (np.zeros((2, 2), dtype=int), "data must be a distribution"),
        ([-1, 3], "data must be a distribution"),
        ([], "data must be a distribution"),
        ({}, "data must contain at least one"),
        ([0, 0], "contains no records"),
        (Histogram(["a"], [1]), "keys of a Histogram must be bucket numbers"),
        (Histogram([0.5], [1]), "keys of a Histogram must be bucket numbers"),
        ("couchy:1,2", "Did you mean cauchy"),
        (3, "data must be a distribution"),
    ],
)
def test_data_that_is_wrong(data: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        compare(last, data, "max", **QUICK)


def test_other_parameters_that_are_wrong() -> None:
    for wrong, told in (
        ({"statistic": "medain"}, "invalid statistic 'medain'. Did you mean median"),
        ({"statistic": len}, "statistic must be one of flexdp.statistics"),
        ({"statistic": "top:3"}, "statistic must have values with finite distances"),
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


def reference(statistic: Any, counts: Any, alpha: Any, output: Any) -> float:
    """The distance to the nearest value over all sub-multisets, in percent of the buckets."""
    keys = [key for key, count in enumerate(counts) if count]
    kept = product(*(range(counts[key] + 1) for key in keys))
    size = sum(counts)
    values = [statistic(Histogram(keys, rest)) for rest in kept if sum(rest) and size - sum(rest) <= alpha * size]
    if isinstance(statistic, Support):
        return 100 / len(counts) * min(hausdorff(list(output), list(value)).value for value in values)
    return 100 / len(counts) * min(abs(output - value) for value in values)


@pytest.mark.parametrize("statistic", [Median(), Quantile("0.9"), Min(), Range(), Distinct(), Support()])
def test_any_statistic_by_hand(statistic: Any) -> None:
    row = [2, 0, 3, 1, 0, 1]

    def constant(_counts: Any, _rng: Any) -> Any:
        return {2, 4} if isinstance(statistic, Support) else 4

    output = constant(None, None)
    (found,) = compare(constant, row, statistic, alpha="0.3", **QUICK).rows
    assert found.actual == pytest.approx(reference(statistic, row, 0, output))
    assert found.flexible == pytest.approx(reference(statistic, row, Fraction(3, 10), output))


@pytest.mark.parametrize("word", ["median", "q0.9", "min", "range", "support"])
def test_baselines_publish_histograms_from_which_anything_is_read(word: str) -> None:
    names = ["dropping", "stlap", "esa", "bns", "bns_swap", "sanpoints", "sanpoints_halting"]
    found = compare(names, [300, 400, 0, 500, 600], word, epsilon=[20], runs=20, datasets=2)
    assert all(row.flexible <= 20 for row in found.rows) and len(found.rows) == 7
    assert found.rows[0].actual == 0.0  # ε = 20: two records of each bucket at most
    wrong = {"wrong": lambda _counts, _rng: (2,) if word == "support" else 2}
    assert compare(wrong, [300, 400, 0, 500, 600], word, epsilon=[20], runs=2, datasets=2).rows[0].actual > 0


def test_rows_are_read_as_histograms_are() -> None:
    rows = np.random.default_rng(2).integers(0, 3, (60, 6)) + 0.2
    rows[7] = 0
    for statistic in (Max(), Min(), Median(), Quantile("0.9"), Quantile(0), Range(), Support(), Distinct()):
        expected = [
            statistic(Histogram(np.arange(6), np.rint(row).astype(int))) if np.rint(row).any() else None for row in rows
        ]
        assert read_rows(rows, statistic) == expected


def test_the_exponential_mechanism_takes_numbers() -> None:
    found = compare(["em", "em_tight"], [3, 400, 0, 90, 1], "median", epsilon=[200], runs=200, datasets=2)
    assert all(row.actual < 5 for row in found.rows)
    with pytest.raises(InputError, match="for mechanism 'em'"):
        compare("em", ROW, "support", **QUICK)
    with pytest.raises(InputError, match="for mechanism 'ss'"):
        compare("ss", ROW, "q0.5", **QUICK)


def test_mechanisms_of_the_library() -> None:
    row = [300, 400, 0, 500, 600]
    chain = Bucketing(width=1, bounds=(0, 5), kind="integer") >> Dropping(1, "1e-6") >> ReadOff(Max())
    found = compare({"chain": chain, "plain": Dropping(1, "1e-6"), "exact": ReadOff(Max())}, row, "max", **QUICK)
    assert [each.mechanism for each in found.rows] == ["chain", "plain", "exact"]
    assert [each.actual for each in found.rows[1:]] == [0.0, 0.0] and found.rows[0].actual <= 10
    nothing = compare(Dropping(1, "1e-6"), [1, 0, 1], "median", epsilon=[1], runs=4, datasets=2)
    assert nothing.rows[0].actual == 0.0 and nothing.rows[0].mechanism == "Dropping"
    sets = compare(Dropping(1, "1e-6"), row, "support", **QUICK)
    assert sets.rows[0].flexible == 0.0
    with pytest.raises(InputError, match="must take histograms"):
        compare(Laplace(sensitivity=1, epsilon=1), row, "max", **QUICK)


def test_functions_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_mechanisms_of_a_test.py").write_text(
        "def guess(counts, rng, runs):\n    return rng.integers(len(counts), size=runs)\n"
        "from flexdp.mechanisms import Dropping\nours = Dropping(1, '1e-6')\n"
    )
    monkeypatch.chdir(tmp_path)
    before = list(sys.path)
    found = compare(["my_mechanisms_of_a_test:guess", "my_mechanisms_of_a_test:ours"], ROW, "max", **QUICK)
    assert [row.mechanism for row in found.rows] == ["guess", "ours"]
    assert sys.path == before
    sys.modules.pop("my_mechanisms_of_a_test")


def test_supports_of_functions() -> None:
    def every(counts: Any, _rng: Any, runs: int) -> Any:
        return [np.flatnonzero(counts).tolist()] * runs

    assert compare(every, ROW, "support", **QUICK).rows[0].actual == 0.0
    for bad, told in (
        (lambda _counts, _rng: 3, "must return a set of buckets"),
        (lambda _counts, _rng: [{1}, {2}], "one output for each of the 6 runs; got 2 outputs"),
    ):
        with pytest.raises(InputError, match=told):
            compare({"bad": bad}, ROW, "support", **QUICK)
