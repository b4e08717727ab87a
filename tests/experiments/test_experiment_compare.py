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
from flexdp.distortions import DropMove
from flexdp.experiments import Fixed, Settings, compare, parse_law
from flexdp.experiments.contenders import read_rows
from flexdp.measure import flexible_error
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
    assert (row.actual, row.flexible, row.beta("0.5"), row.actual_se) == (60.0, 40.0, 40.0, 0.0)


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
        ({"three": lambda _counts, _rng: [1, 2, 3]}, r"'three' must return one output .* 6 runs; got shape \(3,\)"),
        ({"flat": lambda _counts, _rng, runs: np.zeros((runs, 1))}, r"got shape \(6, 1\)"),
        ({"void": lambda _counts, _rng: None}, "'void' returned an output that is not a finite number"),
        ({"nan": lambda _counts, _rng: float("nan")}, "'nan' returned an output that is not a finite number"),
        ({"text": lambda _counts, _rng: "x"}, "'text' must return real numbers"),
        ({"complex": lambda _counts, _rng: 1 + 2j}, "'complex' must return real numbers"),
        ({"beyond": lambda counts, _rng: len(counts)}, "'beyond' returned an answer outside the buckets 0, …, 4"),
        ({"below": lambda _counts, _rng: -0.5}, "'below' returned an answer outside the buckets"),
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
        ([1.5, 2.0], "data must be a distribution, a function"),
        (np.zeros((2, 2), dtype=int), "data must be a distribution, a function"),
        ([-1, 3], "data must be a distribution, a function"),
        ([], "data must be a distribution, a function"),
        ({}, "data must contain at least one"),
        ([0, 0], "contains no records"),
        (Histogram(["a"], [1]), "keys of a Histogram must be bucket numbers"),
        (Histogram([0.5], [1]), "keys of a Histogram must be bucket numbers"),
        ("couchy:1,2", "Did you mean cauchy"),
        (3, "data must be a distribution, a function"),
    ],
)
def test_data_that_is_wrong(data: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        compare(last, data, "max", **QUICK)


def test_other_parameters_that_are_wrong() -> None:
    for wrong, told in (
        ({"statistic": "medain"}, "invalid statistic 'medain'. Did you mean median"),
        ({"statistic": 3}, "statistic must be a statistic, its word, or a function"),
        ({"statistic": Max}, "statistic must be a statistic, its word, or a function"),
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


def test_what_a_mechanism_of_ones_own_raises_is_not_rewritten() -> None:
    class Broken:
        name = "broken"
        citation = BASELINES["em"].citation

        def claim(self, *, epsilon: Any, delta: Any) -> Any:
            return BASELINES["em"].claim(epsilon=epsilon, delta=delta)

        def run(self, *_args: Any, **_more: Any) -> Any:
            raise RuntimeError("out of luck")

    with pytest.raises(RuntimeError, match="out of luck"):
        compare(Broken(), ROW, "max", **QUICK)
    with pytest.raises(KeyError, match="height"):
        compare(raising, ROW, "max", **QUICK)


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
    with pytest.raises(InputError, match="outside the buckets"):
        compare(lambda _counts, _rng: {5}, ROW, "support", **QUICK)


# A researcher's own data, statistic and distortion


def peaks(rng: np.random.Generator) -> Any:
    return rng.poisson([300, 2, 2, 2, 280, 0])


def test_data_of_a_generator_of_ones_own() -> None:
    """The mode is computed from the drawn counts, and the draws are seeded."""
    seen: list[list[int]] = []

    def truth(counts: Any, _rng: Any) -> int:
        seen.append(counts.tolist())
        return int(np.argmax(counts))

    (row,) = compare(truth, peaks, "mode", **QUICK).rows
    assert (row.experiment, row.actual) == ("peaks", 0.0)
    assert len({tuple(each) for each in seen}) == 3 and all(len(each) == 6 for each in seen), "three data sets"
    drawn = list(seen)
    compare(truth, peaks, "mode", **QUICK)
    assert seen[len(drawn) :] == drawn
    for wrong in (lambda _rng: [0.5], lambda _rng: [[1]], lambda _rng: None, lambda _rng: [-1]):
        with pytest.raises(InputError, match="'data' must return an array of non-negative integers"):
            compare(truth, wrong, "mode", **QUICK)


def test_several_data_sets_are_averaged() -> None:
    """Always the first bucket: off by 4 of 5 buckets, 1 of 2 and 0 of 3."""
    sources = [ROW, [1, 9], [7, 0, 0]]
    (row,) = compare(lambda _counts, _rng: 0, sources, "max", averaged=True, epsilon=[1], runs=2, datasets=6).rows
    alone = [each.actual for each in compare(lambda _counts, _rng: 0, sources, "max", **QUICK).rows]
    assert alone == [80.0, 50.0, 0.0] and row.actual == pytest.approx(130 / 3)
    assert row.experiment == "average of 3 data sets"
    assert row.actual_se == pytest.approx(np.std(alone * 2, ddof=1) / np.sqrt(6))
    usual = compare("dropping", sources, "max", averaged=True, epsilon=[1], runs=2)
    assert usual.study.settings.datasets == 102, "each as often as the others"


def records_in_even_buckets(histogram: Histogram) -> int:
    return int(histogram.counts[np.asarray(histogram.keys) % 2 == 0].sum())


def test_a_plain_function_is_a_statistic() -> None:
    """4 records in even buckets; one of 7 may be dropped: 3 or 4 are left. An answer of 6 is off by 2 either way."""
    row = [3, 2, 1, 1]
    (found,) = compare(lambda _counts, _rng: 6, row, records_in_even_buckets, alpha="1/7", **QUICK).rows
    assert (found.actual, found.flexible) == (50.0, 50.0)
    (found,) = compare(lambda _counts, _rng: 2, row, records_in_even_buckets, alpha="1/7", **QUICK).rows
    assert (found.actual, found.flexible) == (50.0, 25.0)
    read = compare(["dropping", "bns"], [30, 20, 10, 10], records_in_even_buckets, alpha=0, epsilon=[1], runs=6)
    assert {row.experiment for row in read.rows} == {"data"} and all(row.actual > 0 for row in read.rows)
    assert "records_in_even_buckets, data" in str(read)
    with pytest.raises(InputError, match="for mechanism 'em'"):
        compare("em", row, records_in_even_buckets, **QUICK)


@pytest.mark.parametrize("distortion", ["drop", "move", "drop-move:1/100", DropMove("0.002")])
def test_distortions_are_those_of_the_measure_module(distortion: Any) -> None:
    row, alpha = [90, 0, 9, 0, 0, 1], "0.02" if distortion != "move" else 2
    made = Settings(distortion=distortion, alpha=alpha).distortion
    histogram = Histogram(range(6), row)
    for statistic in (Max(), Median(), MaxAtLeast(8)):
        for answer in (0, 1.5, 5):
            (found,) = compare(
                lambda _counts, _rng, answer=answer: answer, row, statistic, alpha=alpha, distortion=distortion, **QUICK
            ).rows
            errors = flexible_error(histogram, [answer], statistic, alpha, distortion=made)
            assert found.flexible == pytest.approx(float(errors[0]) * 100 / 6), (statistic, answer)
            if distortion != "drop":
                dropped = flexible_error(histogram, [answer], statistic, "0.02")[0]
                assert distortion == "move" or errors[0] <= dropped, "records may move, too"


def test_no_tall_bucket_counts_as_the_first_where_records_move() -> None:
    """Nine records apart: none are together at distance 1/10, so that the true and the only answer is bucket 0."""
    row = [1, 0, 1, 0, 1]
    for answer, expected in ((0, 0.0), (3, 60.0)):
        (found,) = compare(
            lambda _counts, _rng, answer=answer: answer, row, MaxAtLeast(2), alpha="0.1", distortion="move", **QUICK
        ).rows
        assert found.flexible == pytest.approx(expected) == found.actual


def test_beta_at_a_gamma_of_ones_own() -> None:
    """One of 20 runs is off by 40 percent on each data set: β(γ) is 40 below γ = 1/20, and 0 from there on."""

    def mostly(_counts: Any, _rng: Any, runs: int) -> Any:
        return [2] + [4] * (runs - 1)

    for gamma, expected in (("0.049", 40.0), ("0.05", 0.0)):
        found = compare(mostly, ROW, "max", alpha=0, epsilon=[1], runs=20, datasets=3, gamma=gamma)
        (row,) = found.rows
        assert row.beta(gamma) == expected and row.beta("0.01") == 40.0 and row.beta("0.5") == 0.0
        assert f"β at γ = {gamma}" in str(found) and f"/ {expected:.1f}" in str(found)
    assert "beta_95" in found.to_csv().splitlines()[0].split(",")


def test_all_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a_researchers_module.py").write_text(
        "def peaks(rng):\n    return rng.poisson([300, 90, 280])\n"
        "def middle(histogram):\n    return float(histogram.keys[len(histogram) // 2])\n"
        "def guess(counts, rng):\n    return 1\n"
    )
    monkeypatch.chdir(tmp_path)
    names = [f"a_researchers_module:{each}" for each in ("guess", "peaks", "middle")]
    (row,) = compare(*names, alpha=0, **QUICK).rows
    assert (row.mechanism, row.experiment, row.actual) == ("guess", "peaks", 0.0)
    sys.modules.pop("a_researchers_module")
