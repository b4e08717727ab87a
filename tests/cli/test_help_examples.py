"""The examples of each command's help run as they are written."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from _support.command import commands, flexdp

from flexdp.cli.examples import EXAMPLES

SERVES = {"web"}  # never ends by itself
LONG = {"lab"}  # run by their own tests; here only their words are checked


def test_every_command_has_examples() -> None:
    assert set(EXAMPLES) == set(commands())
    for name in EXAMPLES:
        shown = flexdp(name, "--help").stdout
        assert all(line in shown for line in EXAMPLES[name])


@pytest.mark.parametrize("name", ["check", "init", "query", "release", "summary"])
def test_arguments_are_listed_in_the_usage_line_alone(name: str) -> None:
    shown = flexdp(name, "--help").stdout
    assert "FILE" in shown.splitlines()[0]
    assert not {"FILE", "[COLUMN]...", "[COLUMN[=KIND]]..."} & {line.strip() for line in shown.splitlines()}


def test_examples_run_as_they_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "mymodule.py").write_text(
        "from flexdp.noise.bits import Bits\nfrom flexdp.noise.geometric import two_sided_geometric\n"
        "from fractions import Fraction\n"
        "def my_mechanism(x):\n    return x + two_sided_geometric(Fraction(1), Bits())\n"
    )
    for name, lines in EXAMPLES.items():
        for line in lines:
            words = shlex.split(line)
            assert words[0] == "flexdp"
            if name in SERVES | LONG:
                command = commands()[name]
                command.make_context(name, words[2:])  # refuses what it does not know
                continue
            if name == "audit" and words[2] != "search":  # the search was told how many pairs
                words += ["--trials", "400"]
            out = flexdp(*words[1:])
            assert out.returncode == 0, (line, out.stderr)
    assert (tmp_path / "delays.html").exists() and (tmp_path / "flights.html").exists()
