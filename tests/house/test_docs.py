"""The tutorials show what the commands print."""

from __future__ import annotations

import doctest
import re
import shlex
from itertools import pairwise
from pathlib import Path

import pytest
from _support.command import flexdp as command
from click.testing import CliRunner

import flexdp
from flexdp._release.api import Release
from flexdp.cli.app import cli

DOCS = Path(__file__).parent.parent.parent / "docs"
PLANNING = (DOCS / "planning.md").read_text()
READING = (DOCS / "reading-a-release.md").read_text()
SHOWN = re.findall(r"```console\n\$ flexdp (.+?)\n(.*?)\n```", PLANNING, re.DOTALL)


@pytest.mark.parametrize(("line", "output"), SHOWN, ids=[line for line, _ in SHOWN])
def test_plans_are_printed_as_shown(line: str, output: str) -> None:
    result = CliRunner().invoke(cli, shlex.split(line), standalone_mode=False)
    assert result.exception is None
    assert result.output.rstrip() == output


def test_every_command_of_the_tutorial_is_checked() -> None:
    assert len(SHOWN) == PLANNING.count("$ flexdp") == 12


def test_the_python_of_the_tutorial() -> None:
    (block,) = re.findall(r"```python\n(.*?)```", PLANNING, re.DOTALL)
    space: dict[str, object] = {}
    exec(compile(block, "planning.md", "exec"), space)
    assert isinstance(space["plan"], flexdp.planning.Plan)


def test_the_numbers_in_the_text() -> None:
    reach = {delta: flexdp.plan(epsilon=1, delta=delta).chosen for delta in ("1e-6", "1e-9", "1e-12")}
    drops = [option["max_drop"] for option in reach.values() if option is not None]
    assert [more - less for less, more in pairwise(drops)] == [13, 14]
    assert "costs 13 or 14 more records" in PLANNING
    alone, usual = (flexdp.plan(epsilon=1, delta="1e-6", records_about=20_000, ask=ask).chosen for ask in ([], None))
    assert alone is not None and usual is not None
    assert f"\n{alone['max_drop']} records at ε = 1 instead of {usual['max_drop']}." in PLANNING


def test_the_sample_of_the_tutorial(tmp_path: Path) -> None:
    (line,) = re.findall(r"```sh\nflexdp (.+?)\n```", PLANNING)
    (tmp_path / "2023.csv").write_text("betrag;käufer\n" + "1.234,50;A\n" * 300, encoding="cp1252")
    told = command(*shlex.split(line), cwd=tmp_path)
    assert told.returncode == 0 and "of 1 bucket that hold any" in told.stdout


def test_the_picture_is_of_the_release_described() -> None:
    picture = (DOCS / "delays.svg").read_text()
    assert "at most 31 more in each bucket" in picture and "at most 31 records per bucket here" in READING
    assert "max 345 or more" in picture and "Highest departure_delay: 345 or more. " in READING
    (percentile,) = re.findall(r">99th percentile (about [0-9]+)<", picture)
    assert f"99th percentile of departure_delay: {percentile}. " in READING
    assert "records per 5, logarithmic scale" in picture


def test_the_answer_in_a_bucket_is_as_shown() -> None:
    with_bounds = flexdp.release([427] * 100, epsilon=1, delta="1e-6", width=15, bounds=(-60, 1440), kind="integer")
    assert with_bounds.max().accuracy is not None and with_bounds.max().accuracy.beta == 7
    assert isinstance(with_bounds, Release) and with_bounds.max().value == 427
    sentence = str(with_bounds.max()).replace("Highest value: ", "Highest departure_delay: ")
    same, _, rest = sentence.partition(" At most 9")  # the share depends on how many were counted
    assert same == (
        "Highest departure_delay: 420–434 or more. At most 27 records per bucket, and at most 1 435 in total, were "
        "left out; up to 27 may lie in each higher bucket, and apart from those the highest lies in 420–434."
    ) and rest.endswith("% of what was counted lies in higher buckets.")
    quoted = " ".join(line.removeprefix(">").strip() for line in READING.splitlines() if line.startswith(">"))
    assert f"{same} At most 0.436% of what was counted lies in higher buckets." in quoted


def test_the_check_of_a_file_is_printed_as_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (DOCS / "files.md").read_text()
    (content,) = re.findall(r"A file `visits.csv`:\n\n```\n(.*?)```", text, re.DOTALL)
    (console,) = re.findall(r"```console\n(.*?)\n```", text, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    Path("visits.csv").write_text(content, encoding="utf-8")
    shown = re.findall(r"\$ flexdp (.+?)\n(.*?)(?=\n\$|\Z)", console, re.DOTALL)
    assert len(shown) == 3
    for line, output in shown:
        done = command(*shlex.split(line))
        assert done.returncode == 0 and done.stdout.rstrip() == output


def test_the_guide_to_measuring_and_composing_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = doctest.testfile(str(DOCS / "measure-and-compose.md"), module_relative=False, encoding="utf-8")
    assert found.attempted >= 50 and found.failed == 0
    drawn = Path("measured.svg").read_text(encoding="utf-8") + "\n"
    assert drawn == (DOCS / "figures" / "measured.svg").read_text("utf-8"), "run python tools/figures.py"
