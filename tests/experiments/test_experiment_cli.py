"""The researcher's commands, run as processes: files, streams and exit codes."""

from __future__ import annotations

import json
import os
import pty
import resource
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from _support.waiting import HANG

from flexdp.cli.app import cli
from flexdp.cli.errors import guarded

COMMAND = [sys.executable, "-m", "flexdp.cli", "lab"]
TINY = ["--runs", "5", "--datasets", "3", "-e", "0.5,1", "-m", "dropping", "-m", "em"]


def flexdp(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=HANG,
        stdin=subprocess.DEVNULL,
        **options,
    )  # type: ignore[call-overload]


def test_an_experiment_leaves_its_files_and_prints_the_result(tmp_path: Path) -> None:
    out = flexdp("experiment", "4", "2", *TINY, "--out", tmp_path / "o")
    assert out.returncode == 0, out.stderr
    assert {each.name for each in (tmp_path / "o").iterdir()} == {
        "results.csv", "datasets.csv", "verdicts.csv", "figure.svg", "figure.png",
    }  # fmt: skip
    assert out.stdout.startswith("Mean error in % of the number of buckets") and "(2) max" in out.stdout
    assert out.stdout.index("(2) max") < out.stdout.index("(4) max_500"), "the paper's order"
    assert "Processor time" in out.stderr and "Processor" not in out.stdout
    assert "\r" not in out.stderr and "\x1b" not in out.stderr, "no progress bar in a pipe"
    again = flexdp("experiment", "2", "4", *TINY, "--out", tmp_path / "o", "--json", "--no-figure")
    document = json.loads(again.stdout)
    assert [row["mechanism"] for row in document["results"][::2]] == ["dropping", "em"] * 2
    assert document["settings"]["runs"] == "5" and set(document["seconds"]) == {"dropping", "em"}


def test_the_same_seed_gives_the_same_bytes_in_any_order(tmp_path: Path) -> None:
    kept = []
    for name, more in (("a", ["1", "5"]), ("b", ["5", "1"])):
        assert flexdp("experiment", *more, *TINY, "--no-figure", "--out", tmp_path / name).returncode == 0
        kept.append([(tmp_path / name / file).read_bytes() for file in ("results.csv", "datasets.csv")])
    assert kept[0] == kept[1]
    assert flexdp("experiment", 1, 5, *TINY, "--seed", 9, "--no-figure", "--out", tmp_path / "d").returncode == 0
    assert (tmp_path / "d" / "results.csv").read_bytes() != kept[0][0]


def test_a_terminal_sees_progress_on_standard_error(tmp_path: Path) -> None:
    leader, follower = pty.openpty()
    command = [*COMMAND, "experiment", "5", *TINY, "--no-figure", "--out", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=follower, text=True) as running:
        os.close(follower)
        printed = running.stdout.read() if running.stdout else ""
    seen = os.read(leader, 100_000).decode()
    os.close(leader)
    assert "Experiments" in seen and "\x1b" in seen
    assert "\x1b" not in printed and printed.startswith("Mean error")


def test_sensitivity_is_written_and_told(tmp_path: Path) -> None:
    out = flexdp("experiment", "4", *TINY, "-m", "bns", "--sensitivity", "--no-figure", "--out", tmp_path / "o")
    assert out.returncode == 0, out.stderr
    assert (tmp_path / "o" / "sensitivity.csv").read_text().startswith("claim,ours,bns,sanpoints,switch,epsilon,now\n")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["experiment", "8", "--out", "o"], "experiment '8' does not exist. Choose from 1 to 6, or all."),
        (["experiment", "al", "--out", "o"], "experiment 'al' does not exist. Did you mean all?"),
        (["experiment", "1", "-m", "droping", "--out", "o"], "'droping' does not exist. Did you mean 'dropping'?"),
        (["experiment", "1", "-e", ",", "--out", "o"], "epsilon must contain at least one number"),
        (["experiment", "1", "-e", "0.1,-2", "--out", "o"], "epsilon must be in (0, 10000]; got '-2'"),
        (["experiment", "1", "--runs", "1", "--out", "o"], "runs must be a whole number of at least 2; got '1'."),
        (["experiment", "1", "--datasets", "1", "--out", "o"], "datasets must be a whole number of at least 2"),
        (["experiment", "1", "--alpha", "2", "--out", "o"], "alpha must be in [0, 1]"),
        (["experiment", "1", "--step-noise", "loud", "--out", "o"], "step-noise must be none"),
        (["experiment", "1", "--out", "file"], "out must be a folder; got the file 'file'."),
        (["experiment", "1", "--out", "/proc/o"], "out: cannot write '/proc/o'. Check the folder"),
        (["experiment", "1", "--out", "/dev/null/o"], "cannot write '/dev/null/o'"),
        (["experiment"], "Missing argument"),
        (["compare"], "compare needs either --law LAW or FILE and COLUMN"),
        (["compare", "file"], "COLUMN must be named"),
        (["compare", "--law", "couchy:1,2"], "--law: no distribution named 'couchy'. Did you mean cauchy?"),
        (["compare", "--law", "normal:5,1", "--bars", "0"], "bars must be a whole number of at least 1"),
        (["compare", "--law", "normal:5,1", "-s", "medain"], "--stat: invalid statistic 'medain'. Did you"),
        (["compare", "--law", "normal:5,1", "-s", "median", "-m", "ptr"], "for mechanism 'ptr'"),
        (["compare", "--law", "normal:5,1", "-m", "no_such_module:f"], "could not be imported: ModuleNotFoundError"),
        (["compare", "--law", "normal:5,1", "-m", "math:no"], "could not be imported: AttributeError"),
        (["compare", "--law", "normal:5,1", "-m", "a b:c"], "mechanism 'a b:c' does not exist"),
        (["compare", "--law", "normal:5,1", "-m", "math:sqrt"], "raised TypeError: math.sqrt"),
        (["compare", "--law", "math:sqrt"], "raised TypeError: must be real number"),
        (["compare", "--law", "normal:5,1", "-s", "math:no"], "--stat: 'math:no' could not be imported"),
        (["compare", "--law", "normal:5,1", "--distortion", "shift"], "--distortion must be drop, move or drop"),
        (["compare", "--law", "normal:5,1", "--gamma", "2"], "--gamma must be"),
        (["experiment", "1", "-m", "math:sqrt", "--out", "o"], "mechanism 'math:sqrt' does not exist"),
    ],
)  # fmt: skip
def test_bad_input_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], told: str
) -> None:
    (tmp_path / "file").write_text("x\n1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["flexdp", "lab", *words])
    code = guarded(cli)
    out, err = capsys.readouterr()
    assert code == 2 and not out
    assert told in err and len(err.strip().splitlines()) == 1
    assert not (tmp_path / "o").exists(), "nothing is made before everything is checked"


def test_a_folder_that_fills_up(tmp_path: Path) -> None:
    """No file may grow beyond 2 kB, which the operating system enforces; then it may, and the command goes on."""
    words = ["experiment", "5", "--runs", "5", "--datasets", "50", "-e", "1", "-m", "em", "-m", "ptr", "--no-figure"]
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))
    out = flexdp(*words, "--out", tmp_path, preexec_fn=limit)
    assert out.returncode == 2 and "cannot write" in out.stderr and "space left" in out.stderr
    assert len(out.stderr.strip().splitlines()) == 1
    assert flexdp(*words, "--out", tmp_path).returncode == 0


# compare


def test_compare_prints_a_table_and_writes_files(tmp_path: Path) -> None:
    out = flexdp("compare", "--law", "normal:50,10", "-s", "max_at_least:200", *TINY, "--no-figure", "--out", tmp_path)
    assert out.returncode == 0, out.stderr
    assert "max_200, normal:50,10" in out.stdout
    assert [each.name for each in tmp_path.iterdir()] == ["compare.csv"]
    document = json.loads(flexdp("compare", "--law", "zipf:1.5", "-s", "mode", *TINY, "--json").stdout)
    assert {row["experiment"] for row in document["results"]} == {"zipf:1.5"}


def test_a_table_must_be_called_public_before_it_is_opened(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("age\n" + "".join(f"{20 + i % 40}\n" for i in range(4000)) + "97\n")
    words = ["compare", table, "age", "--width", 5, "--bounds", "0:100", "--kind", "integer", *TINY]
    refused = flexdp(*words, "--out", tmp_path / "o")
    assert refused.returncode == 2 and "true answers" in refused.stderr and not refused.stdout
    missing = flexdp("compare", tmp_path / "none.csv", "age", *TINY)
    assert "true answers" in missing.stderr, "refused without a look at the file"
    allowed = flexdp(*words, "--out", tmp_path / "o", "--data-is-public")
    assert allowed.returncode == 0, allowed.stderr
    assert {each.name for each in (tmp_path / "o").iterdir()} == {
        "INTERNAL-compare.csv", "INTERNAL-compare.svg", "INTERNAL-compare.png",
    }  # fmt: skip
    dropping = next(line for line in allowed.stdout.splitlines() if line.startswith("dropping"))
    assert dropping.split()[1:] == ["38.1", "/", "0.0"] * 2, (
        "97 is alone in bar 19 of 21, and always left out: 11 is next"
    )
    unbounded = flexdp("compare", table, "age", "--kind", "integer", *TINY, "--data-is-public")
    assert unbounded.returncode == 2 and "width are required" in unbounded.stderr


def test_help_of_all_commands_loads_no_experiment() -> None:
    code = (
        "import sys; sys.argv = ['flexdp', '--help']\n"
        "import flexdp.cli\n"
        "try: flexdp.cli.main()\n"
        "except SystemExit: pass\n"
        "print([m for m in sys.modules if m.startswith(('flexdp.experiments', 'matplotlib', 'scipy'))])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.splitlines()[-1] == "[]" and "lab" in out.stdout
