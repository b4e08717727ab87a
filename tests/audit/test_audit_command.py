"""``flexdp audit``: functions of a module, whole releases, exit codes, and what cannot be audited."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import polars as pl
import pytest
from _support.command import flexdp, process

from flexdp._release.api import prepare

MODULE = """
import numpy as np

rng = np.random.default_rng(1)
small, large = {"a": 3}, {"a": 4}


def noisy(x, size):
    return x + rng.geometric(0.6, size) - rng.geometric(0.6, size)  # ln 2.5 = 0.916


def counts(x):
    return {key: int(noisy(count, 1)[0]) for key, count in x.items()}


def broken(x):
    raise KeyError(x)


number = 5
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "audited_module.py").write_text(MODULE)
    (tmp_path / "one.csv").write_text("age,pid\n" + "30,a\n" * 6)
    (tmp_path / "other.csv").write_text("age,pid\n" + "30,a\n" * 7)
    sys.modules.pop("audited_module", None)
    return tmp_path


def test_a_violation_is_found_and_has_its_exit_code(folder: Path) -> None:
    done = flexdp("audit", "audited_module:noisy", 0, 1, "-e", "0.5", "-n", 20_000, cwd=folder)
    assert done.returncode == 5 and done.stdout.startswith("violation: ε ≥ 0.")
    done = flexdp("audit", "audited_module:noisy", 0, 1, "-e", 1, "-n", 20_000, "--json", cwd=folder)
    document = json.loads(done.stdout)
    assert done.returncode == 0 and document["violation"] is False and document["trials"] == 20_000
    assert 0.7 < document["epsilon_at_least"] < 0.92 and document["statement"].startswith("no violation found")
    assert str(folder) not in sys.path


def test_data_sets_may_be_named(folder: Path) -> None:
    words = ("audit", "audited_module:counts", "audited_module:small", "audited_module:large", "-e", "0.2", "-n", 4000)
    assert flexdp(*words, cwd=folder).returncode == 5
    assert flexdp("audit", "audited_module:counts", '{"a": 3}', '{"a": 4}', *words[4:], cwd=folder).returncode == 5


def test_a_release_is_audited_as_it_is_described(folder: Path) -> None:
    words = (
        "audit",
        "release",
        "one.csv",
        "other.csv",
        "age",
        "--kind",
        "integer",
        "--width",
        10,
        "-e",
        1,
        "-d",
        "0.2",
    )
    done = flexdp(*words, "-n", 400, cwd=folder)
    assert done.returncode == 0 and done.stdout.startswith("no violation found"), done.stderr
    done = flexdp(*words, "-n", 2000, "--claim", "1,0.01", cwd=folder)
    assert done.returncode == 5 and done.stdout.startswith("violation: ε ≥ "), done.stderr


def test_a_release_that_counts_each_time(folder: Path) -> None:
    """Units and asked answers: the whole pipeline in every run."""
    words = ("audit", "release", "one.csv", "other.csv", "age", "--kind", "integer", "-n", 80, "-e", 1)
    assert (
        flexdp(*words, "-d", "0.2", "--width", 10, "--unit", "pid", "--max-buckets-per-unit", 1, cwd=folder).returncode
        == 0
    )
    assert flexdp(*words, "-d", 0, "--ask", "max", cwd=folder).returncode == 0


def test_records_are_counted_once_only_where_nothing_but_the_noise_is_random() -> None:
    table = {"age": [30] * 6, "pid": list(range(6))}
    frame = pl.DataFrame(table)
    plain = prepare(frame, "age", width=10).with_budget(1, "0.2")
    again, once = plain.repeated()
    assert once and len({again().cells.counts.sum() for _ in range(60)}) > 1
    units = prepare(frame, "age", width=10, unit="pid", max_buckets_per_unit=1).with_budget(1, "0.2")
    asked = prepare(frame, "age", ask="max").with_budget(1, 0)
    automatic = prepare(frame, "age").with_budget(1, "0.2")
    assert [each.repeated()[1] for each in (units, asked, automatic)] == [False] * 3
    several = prepare(frame, ["age", "pid"], width=10, separately=True).with_budget(2, "0.2")
    assert several.repeated()[1] and list(several.repeated()[0]()) == ["age", "pid"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["no_such_module:f", "0", "1"], "MODULE:FUNCTION: no module named 'no_such_module'."),
        (["audited_module:nothing", "0", "1"], "MODULE:FUNCTION: module 'audited_module' has no function 'nothing'."),
        (
            ["audited_module:noisy", "audited_module:nothing", "1"],
            "X: module 'audited_module' has no object 'nothing'.",
        ),
        (["audited_module:number", "0", "1"], "MODULE:FUNCTION must name a function"),
        (["audited_module", "0", "1"], "MODULE:FUNCTION must be written MODULE:NAME"),
        (["audited_module:noisy", "zero", "1"], "X must be JSON, or MODULE:NAME; got 'zero'."),
        (["audited_module:broken", "0", "1"], "mechanism raised KeyError on every run"),
        (["audited_module:noisy", "0", "1", "-n", "10"], "--trials must be a whole number of at least 80"),
        (["release", "one.csv", "age", "-d", "0.1"], "COLUMN is missing"),
        (["release", "one.csv", "other.csv", "age", "-d", "0.1", "--claim", "1"], "--claim must be ε and δ"),
    ],
)
def test_what_cannot_be_audited_is_one_line(folder: Path, words: list[str], message: str) -> None:
    done = flexdp("audit", *words, "-e", 1, cwd=folder)
    assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1


def test_help_names_both_forms() -> None:
    shown = flexdp("audit", "--help")
    assert shown.returncode == 0 and "MODULE:FUNCTION X Y" in shown.stdout and "release" in shown.stdout


def test_as_a_process_of_its_own(folder: Path) -> None:
    done = process("audit", "audited_module:noisy", "0", "1", "-e", "0.5", "-n", "20000", "-q", cwd=folder)
    assert done.returncode == 5 and not done.stderr
