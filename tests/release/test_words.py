"""Messages in the words of the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest

from flexdp.cli.wording import in_options, options_of

NAMES = ["epsilon", "by", "unit", "per_unit", "bounds", "groups", "separately", "kind", "max_buckets_per_unit"]
OPTIONS = {name: "--" + name.replace("_", "-") for name in NAMES}


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("split needs separately=True, with columns.", "split needs --separately, with columns."),
        ("epsilon must be above 0, for example epsilon=1.", "--epsilon must be above 0, for example --epsilon 1."),
        ("say per_unit='max', 'min' or 'mean' for one.", "say --per-unit max, min or mean for one."),
        ("for example bounds=(0, 120).", "for example --bounds 0:120."),
        ("for example groups=['A', 'B'].", "for example --groups A,B."),
        ("groups needs by=, the column.", "--groups needs --by, the column."),
        ("max_buckets_per_unit is missing", "--max-buckets-per-unit is missing"),
        ("a smaller max_buckets_per_unit, please", "a smaller --max-buckets-per-unit, please"),
        ("source 'by=3/unit=4/per_unit.csv' is missing", "source 'by=3/unit=4/per_unit.csv' is missing"),
        ("counted by unit and kind", "counted by unit and kind"),
        ("(kind='date')", "(--kind date)"),
        ("for example groups=[('A', 1), ('B', 2)].", "for example --groups A:1,B:2."),
        ("column 'total per_unit' does not exist", "column 'total per_unit' does not exist"),
        (
            "column 'sum unit=5 x' is not the column's own per_unit",
            "column 'sum unit=5 x' is not the column's own --per-unit",
        ),
        ('got "it\'s per_unit=3"', 'got "it\'s per_unit=3"'),
    ],
)
def test_parameters_become_options(message: str, said: str) -> None:
    assert in_options(message, OPTIONS) == said


def test_without_options_nothing_changes() -> None:
    assert in_options("epsilon=1 and bounds=(0, 1)", {}) == "epsilon=1 and bounds=(0, 1)"


def test_options_are_known_by_the_names_of_the_library() -> None:
    parameters = [click.Argument(["source"]), click.Option(["--stat", "-s", "stats"]), click.Option(["--per-unit"])]
    assert options_of(parameters) == {"stat": "--stat", "stats": "--stat", "per_unit": "--per-unit"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["x", "--split", "1,2"], "--split needs --separately, with several columns to share the budget."),
        (["x", "--groups", "A"], "--groups needs --by, the column that holds them."),
        (["x", "--max-buckets-per-unit", "2"], "--max-buckets-per-unit needs --unit, the column"),
        (["x", "--unit", "u"], "--max-buckets-per-unit is missing: in how many"),
        (["x", "--unit", "u", "--max-buckets-per-unit", "two"], "--max-buckets-per-unit must be a whole number of at"),
        (["x", "--bounds", "9:1"], "--bounds "),
        (["x", "--stat", "maxx"], "--stat: invalid statistic 'maxx'. Did you mean max?"),
        (["x", "-o", "x.pdf"], "--output must end in .json, .csv or .html; got 'x.pdf'."),
    ],
)
def test_the_command_line_speaks_of_options(tmp_path: Path, arguments: list[str], said: str) -> None:
    table = tmp_path / "t.csv"
    table.write_text("x,u\n1,1\n2,2\n")
    command = [sys.executable, "-m", "flexdp", "release", str(table), *arguments, "-e", "1", "-d", "1e-6"]
    out = subprocess.run(command, capture_output=True, text=True, check=False)
    assert out.returncode == 2 and out.stdout == ""
    assert out.stderr.startswith(f"Error: {said}") and out.stderr.count("\n") == 1, out.stderr
