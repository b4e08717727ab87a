"""Messages of the library, spelled with the options and arguments of a command."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from _support.command import commands, flexdp

from flexdp.cli.wording import speller
from flexdp.errors import InputError, P

RELEASE = speller(commands()["release"].params)
SUMMARY = speller(commands()["summary"].params)


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (P("epsilon"), "--epsilon"),
        (P("epsilon", 1), "--epsilon 1"),
        (P("delta", "1e-6"), "--delta 1e-6"),
        (P("max_buckets_per_unit"), "--max-buckets-per-unit"),
        (P("per_unit", "max"), "--per-unit max"),
        (P("separately", True), "no --together"),
        (P("width", None), "width=None"),
        (P("width", "1 day"), "--width '1 day'"),
        (P("bounds", (0, 120)), "--bounds 0:120"),
        (P("bounds", ("2024-01-01", "2024-12-31T18:30")), "--bounds 2024-01-01:2024-12-31T18:30"),
        (P("groups", ["A", "B"]), "--groups A,B"),
        (P("groups", [("A", 1), ("B", 2)]), "--groups A:1,B:2"),
        (P("groups", ["A, B", "C"]), "--groups '\"A, B\",C'"),
        (P("groups", ...), "--groups …"),
        (P("edges", [0, 18, 65]), "--edges 0,18,65"),
        (P("by", ["ward", "day"]), "--by ward --by day"),
        (P("by", "ward"), "--by ward"),
        (P("bounds", {"x": (0, 1)}), "--bounds x=0:1"),
        (P("columns", {"age": "number", "day": "date"}), "age=number day=date"),
        (P("stat"), "--stat"),
        (P("stats"), "--stat"),
        (P("output"), "--output"),
        (P("source"), "FILE"),
        (P("column"), "COLUMN"),
        (P("column", "age"), "COLUMN age"),
        (P("indent", 2), "indent=2"),
    ],
)
def test_a_parameter_is_spelled_as_its_option(part: P, said: str) -> None:
    assert RELEASE(part) == said


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (P("width", {"age": 5, "day": "1 day"}), "--width age=5 --width 'day=1 day'"),
        (P("edges", {"age": [0, 18, 65]}), "--edges age=0,18,65"),
        (P("outside", {"age": "drop"}), "--outside age=drop"),
        (P("exact", True), "--exact"),
        (P("exact", {"age": True}), "--exact age"),
        (P("kind", {"age": "number"}), "--kind age=number"),
        (P("derive", {"stay": "arr - dep"}), "--derive 'stay=arr - dep'"),
        (P("skip", ["id"]), "--skip id"),
        (P("split", [2, 1]), "--split 2 --split 1"),
    ],
)
def test_a_parameter_that_differs_by_column_is_spelled_so(part: P, said: str) -> None:
    assert RELEASE(part) == said == SUMMARY(part)


def test_a_message_is_spelled_whole_and_what_was_typed_stays() -> None:
    refusal = InputError(
        "kind", ("does not fit ", P("width")), given="'kind=3 width'", remedy=("Say ", P("kind", "date"), ".")
    )
    assert refusal.message(RELEASE) == "--kind does not fit --width; got 'kind=3 width'. Say --kind date."
    assert str(refusal) == "kind does not fit width; got 'kind=3 width'. Say kind='date'."


def test_every_option_and_argument_of_every_command_is_known_by_its_parameter() -> None:
    for name, command in commands().items():
        spell = speller(command.params)
        for parameter in command.params:
            said = spell(P(parameter.name or ""))
            if isinstance(parameter, click.Option):
                assert said in parameter.opts, (name, parameter.name)
            else:
                assert not set(said) & {"[", "]", "."} or said == "RELEASE.json", (name, said)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["x", "--width", "5", "--split", "1,2"], "--split needs several columns"),
        (["x", "--groups", "A"], "--groups needs --by"),
        (["x", "--max-buckets-per-unit", "2"], "--max-buckets-per-unit needs --unit"),
        (["x", "--unit", "u"], "--max-buckets-per-unit is missing"),
        (["x", "--unit", "u", "--max-buckets-per-unit", "two"], "--max-buckets-per-unit must be a whole number of at"),
        (["x", "--bounds", "9:1"], "--bounds "),
        (["x", "--stat", "maxx"], "--stat: invalid statistic 'maxx'. Did you mean max?"),
        (["x", "-o", "x.pdf"], "--output must end in .json, .csv or .html; got 'x.pdf'."),
    ],
)
def test_the_command_line_speaks_of_options(tmp_path: Path, arguments: list[str], said: str) -> None:
    table = tmp_path / "t.csv"
    table.write_text("x,u\n1,1\n2,2\n")
    out = flexdp("release", table, *arguments, "--kind", "number", "-e", 1, "-d", "1e-6")
    assert out.returncode == 2 and out.stdout == ""
    assert out.stderr.startswith(f"Error: {said}") and out.stderr.count("\n") == 1, out.stderr
