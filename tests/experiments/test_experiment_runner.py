"""Studies: numbers against plain loops, independence of what else is run, resumption and errors."""

from __future__ import annotations

import csv
import errno
import io
import math
import statistics
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flexdp import Histogram, InputError
from flexdp.baselines import BASELINES, exact_errors
from flexdp.experiments import EXPERIMENTS, Settings, Study, chosen_mechanisms, run
from flexdp.experiments import runner as runner_module
from flexdp.experiments.cells import cases, epsilon_grid, measure, named
from flexdp.experiments.files import output_folder, write_whole
from flexdp.experiments.journal import NAME, Journal
from flexdp.experiments.paper import chosen
from flexdp.experiments.results import datasets_csv, results_csv, rows, short_table, timings_csv
from flexdp.measure import accuracy_curve, flexible_error
from flexdp.simulation import stream

SMALL = Settings(seed=5, runs=7, datasets=3)
E = tuple(map(Fraction, ("0.1", "1")))


def study(names: str = "256", mechanisms: tuple[str, ...] = ("dropping", "ss"), **more: Any) -> Study:
    return run(chosen(names), chosen_mechanisms(mechanisms), E, SMALL, **more)


@pytest.mark.parametrize("name", list(EXPERIMENTS))
def test_errors_are_those_of_the_measure_module(name: str) -> None:
    """Recompute data, runs, means and quantiles from the library's own attainable sets and curves."""
    experiment, settings = EXPERIMENTS[name], Settings(seed=2, runs=20, datasets=2)
    cell = measure(experiment, named(BASELINES["bns"]), Fraction(1, 10), settings)
    percent, everything = 100 / experiment.bars, []
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
    cell = measure(experiment, named(BASELINES["em"]), Fraction(1), settings)
    outputs = np.concatenate(
        [
            BASELINES["em"].run(
                cases(experiment, settings)[0].counts,
                experiment.statistic,
                50,
                stream(1, "run", "4", place, "em", Fraction(1)),
                epsilon=1,
                delta=2.0**-20,
            )
            for place in range(2)
        ]
    )
    histogram = Histogram(np.arange(100), cases(experiment, settings)[0].counts)
    curve = accuracy_curve(histogram, outputs, experiment.statistic, ["0.005"], ["0.5", "0.1", "0.01"])
    assert cell.betas == pytest.approx(curve.beta[0].tolist())


@pytest.mark.parametrize("name", ["dropping", "esa", "em", "ptr"])
def test_means_agree_with_exact_laws(name: str) -> None:
    """4000 runs on one histogram: Hoeffding at 1e-8 for each of eight means; a wrong ε must be rejected."""
    experiment, settings = EXPERIMENTS["4"], Settings(seed=3, runs=400, datasets=10)
    cell = measure(experiment, named(BASELINES[name]), Fraction(3, 20), settings)
    counts = cases(experiment, settings)[0].counts
    allowed = 100 * math.sqrt(math.log(2 / 1e-8) / (2 * 4000))

    def exact(epsilon: str) -> tuple[float, float]:
        found = exact_errors(name, counts, experiment.statistic, epsilon=epsilon, delta=2.0**-20, alpha="0.005")
        return found.actual, found.flexible

    for found, expected in zip((cell.actual, cell.flexible), exact("0.15"), strict=True):
        assert abs(statistics.fmean(found) - expected) < allowed
    if name in ("dropping", "esa"):
        assert abs(statistics.fmean(cell.actual) - exact("0.6")[0]) > allowed


def test_a_cell_is_the_same_whatever_else_is_asked_for() -> None:
    whole = study("256", ("dropping", "bns", "ss"))
    for other in (study("5", ("ss",)), study("65", ("ss", "bns")), study("256", ("bns",))):
        for cell in other.cells:
            assert cell == whole.cell(*cell.key)
    more = run(chosen("5"), chosen_mechanisms(["ss"]), epsilon_grid("0.1,0.5,1,2"), SMALL)
    assert more.cell("5", "ss", Fraction(1)) == whole.cell("5", "ss", Fraction(1))
    reseeded = run(chosen("5"), chosen_mechanisms(["ss"]), E, Settings(seed=6, runs=7, datasets=3))
    assert reseeded.cells != study("5", ("ss",)).cells


def test_more_processes_give_the_same_bytes() -> None:
    assert results_csv(study(jobs=2)) == results_csv(study())
    assert datasets_csv(study(jobs=2)) == datasets_csv(study())


def test_streams_differ_between_experiments_data_sets_mechanisms_and_epsilons() -> None:
    names = [(e, d, m, p) for e in "12" for d in range(3) for m in ("a", "b") for p in (Fraction(1), Fraction(1, 2))]
    drawn = {stream(0, "run", *name).bytes(16) for name in names} | {stream(1, "run", *names[0]).bytes(16)}
    assert len(drawn) == len(names) + 1


# Journal


def test_a_finished_cell_is_not_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Journal(tmp_path, SMALL) as journal:
        run(chosen("5"), chosen_mechanisms(["dropping"]), E, SMALL, journal=journal)
    real, computed = measure, []

    def counted(*work: Any) -> Any:
        computed.append((work[0].name, work[1].name, work[2]))
        return real(*work)

    monkeypatch.setattr(runner_module, "measure", counted)
    with Journal(tmp_path, SMALL) as journal:
        resumed = run(chosen("25"), chosen_mechanisms(["dropping"]), E, SMALL, journal=journal)
    assert computed == [("2", "dropping", E[0]), ("2", "dropping", E[1])]
    assert results_csv(resumed) == results_csv(study("25", ("dropping",)))
    assert sum(resumed.seconds.values()) > 0


def test_an_interruption_keeps_what_is_finished(tmp_path: Path) -> None:
    def stop(done: int, _total: int, _label: str) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), Journal(tmp_path, SMALL) as journal:
        study(journal=journal, progress=stop)
    text = (tmp_path / NAME).read_text()
    assert len(text.splitlines()) == 1 + 3
    (tmp_path / NAME).write_text(text[:-40])  # a crash truncates the last line
    with Journal(tmp_path, SMALL) as journal:
        assert len(journal.cells) == 2
        resumed = study(journal=journal)
    assert datasets_csv(resumed) == datasets_csv(study())
    with Journal(tmp_path, SMALL) as journal:
        assert len(journal.cells) == len(resumed.cells), "every line is whole again"


@pytest.mark.parametrize(
    "other",
    [{"seed": 6}, {"runs": 8}, {"datasets": 4}, {"alpha": Fraction(1, 100)}, {"delta": Fraction(1, 10**6)},
     {"empty": "random"}, {"ties": "largest"}, {"binning": "nearest"}],
)  # fmt: skip
def test_other_parameters_are_refused_the_folder(tmp_path: Path, other: dict[str, Any]) -> None:
    with Journal(tmp_path, SMALL):
        pass
    parameters = {"seed": 5, "runs": 7, "datasets": 3, **other}
    with (
        pytest.raises(InputError, match=f"{next(iter(other))} .*Choose another folder"),
        Journal(tmp_path, Settings(**parameters)),
    ):
        pass
    with Journal(tmp_path, SMALL):
        pass


def test_a_second_run_and_a_strange_file_are_refused(tmp_path: Path) -> None:
    with Journal(tmp_path, SMALL), pytest.raises(InputError, match="in use"), Journal(tmp_path, SMALL):
        pass
    (tmp_path / NAME).write_text('{"seed": \n[]\n')
    with pytest.raises(InputError, match="cannot be read"), Journal(tmp_path, SMALL):
        pass


def test_a_full_disk_is_told_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.BytesIO):
        def write(self, _bytes: Any) -> int:
            raise OSError(errno.ENOSPC, "no space")

    with Journal(tmp_path, SMALL) as journal:
        cell = study("5", ("dropping",)).cells[0]
        real, journal._stream = journal._stream, Full()
        with pytest.raises(InputError, match=r"no space left to write .*\. Free some space"):
            journal.add(cell)
        journal._stream = real

    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(InputError, match="no space left"):
        write_whole(tmp_path / "results.csv", "x")
    assert not list(tmp_path.glob(".flexdp-*")) and not (tmp_path / "results.csv").exists()


def test_folders_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="must be a folder; got the file"):
        output_folder(tmp_path / "file")
    with pytest.raises(InputError, match="cannot write"):
        output_folder(tmp_path / "file" / "below")
    with pytest.raises(InputError, match="cannot write"):
        output_folder("/proc/nowhere")
    assert output_folder(tmp_path / "a" / "b").is_dir()


# Results


def test_the_columns_and_how_the_files_agree() -> None:
    found = study("25", ("dropping", "em"))
    table = list(csv.DictReader(io.StringIO(results_csv(found))))
    assert list(table[0]) == [
        "experiment", "mechanism", "epsilon", "actual", "actual_se", "flexible", "flexible_se", "beta_50", "beta_90",
        "beta_99",
    ]  # fmt: skip
    assert len(table) == len(rows(found)) == 2 * 2 * 2
    singles = list(csv.DictReader(io.StringIO(datasets_csv(found))))
    assert len(singles) == 3 * len(table)
    for row in table:
        key = (row["experiment"], row["mechanism"], row["epsilon"])
        mine = [one for one in singles if (one["experiment"], one["mechanism"], one["epsilon"]) == key]
        for of in ("actual", "flexible"):
            values = [float(one[of]) for one in mine]
            assert float(row[of]) == pytest.approx(statistics.fmean(values), abs=1e-8)
            assert float(row[f"{of}_se"]) == pytest.approx(statistics.stdev(values) / math.sqrt(3), abs=1e-8)
    assert [line.split(",")[0] for line in timings_csv(found).splitlines()] == ["mechanism", "dropping", "em"]
    assert "(2) max, steps 1000×50, 1×50" in short_table(found)
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
    ],
)
def test_settings_that_are_refused(wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        Settings.checked(**wrong)


@pytest.mark.parametrize("wrong", ["", ",", [], "0", [-1], ["1", "x"], None])
def test_grids_that_are_refused(wrong: Any) -> None:
    with pytest.raises(InputError, match="epsilon"):
        epsilon_grid(wrong)


def test_a_grid_ascends_and_holds_each_once() -> None:
    assert epsilon_grid("1, 0.5,1.0") == epsilon_grid([1, Fraction(1, 2)]) == (Fraction(1, 2), Fraction(1))
    assert epsilon_grid(2) == (Fraction(2),)


def test_a_mechanism_refuses_before_any_work() -> None:
    with pytest.raises(InputError, match=r"epsilon must be in \(0, 5\].* for mechanism 'ss'.*leave out 'ss'"):
        run(chosen("5"), chosen_mechanisms([]), epsilon_grid("9"), SMALL, progress=lambda *_: pytest.fail("worked"))


@pytest.mark.parametrize("ties", ["smallest", "largest", "random"])
@pytest.mark.parametrize("empty", ["zero", "random"])
def test_every_switch_runs_and_changes_only_what_it_may(ties: Any, empty: Any) -> None:
    switched = Settings(seed=5, runs=7, datasets=3, ties=ties, empty=empty)
    found = run(chosen("26"), chosen_mechanisms(["dropping", "em"]), E, switched)
    usual = study("26", ("dropping", "em"))
    for epsilon in E:  # em never has an empty output, and the maximum no ties
        assert found.cell("2", "em", epsilon) == usual.cell("2", "em", epsilon)
