"""Studies: numbers against plain loops, independence of what else is run, and errors."""

from __future__ import annotations

import csv
import io
import math
import statistics
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from flexdp import Histogram, InputError
from flexdp.baselines import BASELINES, exact_errors
from flexdp.experiments import EXPERIMENTS, Settings, Study, choose_mechanisms, run
from flexdp.experiments.paper import choose_experiments
from flexdp.experiments.study import data_sets, datasets_csv, format_table, measure, read_epsilons, results_csv
from flexdp.measure import accuracy_curve, flexible_error
from flexdp.simulation import stream

SMALL = Settings(seed=5, runs=7, datasets=3)
E = tuple(map(Fraction, ("0.1", "1")))


def study(names: str = "256", mechanisms: tuple[str, ...] = ("dropping", "ss"), **more: Any) -> Study:
    return run(choose_experiments(names), choose_mechanisms(mechanisms), E, SMALL, **more)


@pytest.mark.parametrize("name", list(EXPERIMENTS))
def test_errors_are_those_of_the_measure_module(name: str) -> None:
    """Recompute data, runs, means and quantiles from the library's own attainable sets and curves."""
    experiment, settings = EXPERIMENTS[name], Settings(seed=2, runs=20, datasets=2)
    cell = measure(experiment, choose_mechanisms(["bns"])[0], Fraction(1, 10), settings)
    percent, everything = 100 / experiment.law.bars, []
    for place in range(2):
        counts = experiment.law.counts(stream(2, "data", name, place))
        rng = stream(2, "run", name, place, "bns", Fraction(1, 10))
        outputs = BASELINES["bns"].run(counts, experiment.statistic, 20, rng, epsilon="0.1", delta=2.0**-20)
        histogram = Histogram(np.arange(len(counts)), counts)
        flexible = flexible_error(histogram, outputs, experiment.statistic, "0.005")
        actual = [abs(float(out) - float(experiment.statistic(histogram))) for out in outputs]
        assert cell.actual[place] == pytest.approx(percent * statistics.fmean(actual), abs=1e-8)
        assert cell.flexible[place] == pytest.approx(percent * float(flexible.mean()), abs=1e-8)
        everything += (percent * flexible).tolist()
    ascending = sorted(everything)
    assert cell.betas == pytest.approx([ascending[math.ceil(q * 40) - 1] for q in (0.5, 0.9, 0.99)], abs=1e-8)


def test_quantiles_are_those_of_an_accuracy_curve() -> None:
    experiment = EXPERIMENTS["4"]  # its data sets are identical, so one curve holds all runs
    settings = Settings(seed=1, runs=50, datasets=2)
    cell = measure(experiment, choose_mechanisms(["em"])[0], Fraction(1), settings)
    outputs = np.concatenate(
        [
            BASELINES["em"].run(
                data_sets(experiment, settings)[0].counts,
                experiment.statistic,
                50,
                stream(1, "run", "4", place, "em", Fraction(1)),
                epsilon=1,
                delta=2.0**-20,
            )
            for place in range(2)
        ]
    )
    histogram = Histogram(np.arange(100), data_sets(experiment, settings)[0].counts)
    curve = accuracy_curve(histogram, outputs, experiment.statistic, ["0.005"], ["0.5", "0.1", "0.01"])
    assert cell.betas == pytest.approx(curve.beta[0].tolist())


@pytest.mark.parametrize("name", ["dropping", "esa", "em", "ptr"])
def test_means_agree_with_exact_laws(name: str) -> None:
    """4000 runs on one histogram: Hoeffding at 1e-8 for each of eight means; a wrong ε must be rejected."""
    experiment, settings = EXPERIMENTS["4"], Settings(seed=3, runs=400, datasets=10)
    cell = measure(experiment, choose_mechanisms([name])[0], Fraction(3, 20), settings)
    counts = data_sets(experiment, settings)[0].counts
    allowed = 100 * math.sqrt(math.log(2 / 1e-8) / (2 * 4000))

    def exact(epsilon: str) -> tuple[float, float]:
        found = exact_errors(name, counts, experiment.statistic, epsilon=epsilon, delta=2.0**-20, alpha="0.005")
        return found.actual.mean, found.flexible.mean

    for found, expected in zip((cell.actual, cell.flexible), exact("0.15"), strict=True):
        assert abs(statistics.fmean(found) - expected) < allowed
    if name in ("dropping", "esa"):
        assert abs(statistics.fmean(cell.actual) - exact("0.6")[0]) > allowed


def test_a_cell_is_the_same_whatever_else_is_asked_for() -> None:
    whole = study("256", ("dropping", "bns", "ss"))
    for other in (study("5", ("ss",)), study("65", ("ss", "bns")), study("256", ("bns",))):
        for cell in other.cells:
            assert cell == whole.cell(*cell.key)
    more = run(choose_experiments("5"), choose_mechanisms(["ss"]), read_epsilons("0.1,0.5,1,2"), SMALL)
    assert more.cell("5", "ss", Fraction(1)) == whole.cell("5", "ss", Fraction(1))
    reseeded = run(choose_experiments("5"), choose_mechanisms(["ss"]), E, Settings(seed=6, runs=7, datasets=3))
    assert reseeded.cells != study("5", ("ss",)).cells


def test_streams_differ_between_experiments_data_sets_mechanisms_and_epsilons() -> None:
    names = [(e, d, m, p) for e in "12" for d in range(3) for m in ("a", "b") for p in (Fraction(1), Fraction(1, 2))]
    drawn = {stream(0, "run", *name).bytes(16) for name in names} | {stream(1, "run", *names[0]).bytes(16)}
    assert len(drawn) == len(names) + 1


# Results


def test_the_columns_and_how_the_files_agree() -> None:
    found = study("25", ("dropping", "em"))
    table = list(csv.DictReader(io.StringIO(results_csv(found))))
    assert list(table[0]) == [
        "experiment", "mechanism", "epsilon", "actual", "actual_se", "flexible", "flexible_se", "beta_50", "beta_90",
        "beta_99",
    ]  # fmt: skip
    assert len(table) == len(found.rows) == 2 * 2 * 2
    singles = list(csv.DictReader(io.StringIO(datasets_csv(found))))
    assert len(singles) == 3 * len(table)
    for row in table:
        key = (row["experiment"], row["mechanism"], row["epsilon"])
        mine = [one for one in singles if (one["experiment"], one["mechanism"], one["epsilon"]) == key]
        for of in ("actual", "flexible"):
            values = [float(one[of]) for one in mine]
            assert float(row[of]) == pytest.approx(statistics.fmean(values), abs=1e-8)
            assert float(row[f"{of}_se"]) == pytest.approx(statistics.stdev(values) / math.sqrt(3), abs=1e-8)
    assert list(found.seconds) == ["dropping", "em"]
    assert "(2) max, steps 1000×50, 1×50" in format_table(found)
    assert results_csv(found) == results_csv(study("25", ("dropping", "em")))


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"runs": 1}, "runs must be a whole number of at least 2"),
        ({"datasets": 1}, "datasets must be a whole number of at least 2"),
        ({"runs": "2.5"}, "runs must be a whole number"),
        ({"runs": 10**8}, "at most 10"),
        ({"seed": -1}, "seed must be"),
        ({"alpha": 2}, "alpha must be in"),
        ({"delta": 0}, "delta must be in"),
        ({"empty": "none"}, "empty must be 'zero' or 'random'"),
        ({"ties": "left"}, "ties must be 'smallest', 'largest' or 'random'"),
        ({"binning": "up"}, "binning must be 'floor' or 'nearest'"),
        ({"distortion": "shift"}, "distortion must be drop, move or drop-move:ETA; got 'shift'"),
        ({"distortion": "drop-move:0"}, "eta must be"),
        ({"distortion": "move", "ties": "random"}, "ties must be 'smallest' where records move"),
        ({"gamma": 2}, "gamma must be in"),
    ],
)
def test_settings_that_are_refused(wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        Settings(**wrong)


@pytest.mark.parametrize("wrong", ["", ",", [], "0", [-1], ["1", "x"], None])
def test_grids_that_are_refused(wrong: Any) -> None:
    with pytest.raises(InputError, match="epsilon"):
        read_epsilons(wrong)


def test_a_grid_ascends_and_holds_each_once() -> None:
    assert read_epsilons("1, 0.5,1.0") == read_epsilons([1, Fraction(1, 2)]) == (Fraction(1, 2), Fraction(1))
    assert read_epsilons(2) == (Fraction(2),)


def test_a_mechanism_refuses_before_any_work() -> None:
    with pytest.raises(InputError, match=r"epsilon must be in \(0, 5\].* for mechanism 'ss'.*leave out 'ss'"):
        run(
            choose_experiments("5"),
            choose_mechanisms([]),
            read_epsilons("9"),
            SMALL,
            progress=lambda *_: pytest.fail("worked"),
        )


@pytest.mark.parametrize("ties", ["smallest", "largest", "random"])
@pytest.mark.parametrize("empty", ["zero", "random"])
def test_every_switch_runs_and_changes_only_what_it_may(ties: Any, empty: Any) -> None:
    switched = Settings(seed=5, runs=7, datasets=3, ties=ties, empty=empty)
    found = run(choose_experiments("26"), choose_mechanisms(["dropping", "em"]), E, switched)
    usual = study("26", ("dropping", "em"))
    for epsilon in E:  # em never has an empty output, and the maximum no ties
        assert found.cell("2", "em", epsilon) == usual.cell("2", "em", epsilon)
