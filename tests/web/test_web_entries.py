"""What is entered is what the planner is asked, and what it refuses stands beside the field."""

from __future__ import annotations

import json
import shlex
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

import flexdp
from flexdp.cli.app import cli
from flexdp.errors import InputError
from flexdp.planning import Plan
from flexdp.web.entries import CHOICES, DEFAULTS, STATISTICS, Entries, sentence

ASKED: list[dict[str, str]] = [
    {},
    {"epsilon": "0.3", "delta": ""},
    {"low": "-60", "high": "1440", "size": "15", "records_about": "336776"},
    {"sizing": "relative", "size": "0.05", "low": "1", "high": "1e6"},
    {"low": "", "high": "", "size": "", "records_about": ""},
    {"max_buckets_per_unit": "3", "delta": "1e-8"},
    {"fix": "loss"},
    {"fix": "loss", "lose": "lose_per_bucket", "loss": "30", "low": "", "high": ""},
    {"fix": "loss", "lose": "lose_in_all", "loss": "1000", "max_buckets_per_unit": "2"},
    {"epsilon": "1/3", "delta": "1/1048576"},
    {"epsilon": ""},
    {"law": "normal", "releases": "3"},
    {"law": "flights"},
    {"groups": "6"},
    {"groups": "6", "way": "ask"},
    {"groups": "6", "way": "auto"},
    {"groups": "4", "fix": "loss", "lose": "lose_in_all", "loss": "5000"},
    {"law": "uniform", "sizing": "relative", "size": "0.05", "low": "1", "high": "1e6"},
    {"way": "auto", "fix": "loss"},
    {"way": "auto", "low": "", "high": "", "releases": "2"},
    {"way": "ask", "stat": "q0.99", "max_buckets_per_unit": "2"},
    {"way": "ask", "size": "nonsense", "delta": "nonsense"},
]


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_the_same_question_to_the_command_line_has_the_same_answer(asked: dict[str, str]) -> None:
    entries = Entries.read(asked)
    words = shlex.split(entries.plan_line)
    assert words[:2] == ["flexdp", "plan"]
    said = CliRunner().invoke(cli, [*words[1:], "--json"], standalone_mode=False)
    assert said.exception is None
    assert json.loads(said.output) == json.loads(entries.plan().to_json())


def test_a_fresh_page_asks_what_its_fields_show() -> None:
    found = Entries.read({}).plan()
    same = flexdp.plan(epsilon=1, delta="1e-6", records_about=50_000, bounds=(0, 120), width=5, simulate="lognormal")
    assert found.document() == {**same.document(), "stats": ["max"], "command": found.command}
    assert found.chosen is not None and found.chosen["max_drop"] == 27
    assert found.command == f"{same.command} --stat max"


def test_only_the_side_of_the_switch_counts() -> None:
    both = {"epsilon": "nonsense", "loss": "0.02"}
    assert isinstance(Entries.read({**both, "fix": "loss"}).plan(), Plan)
    with pytest.raises(InputError, match="epsilon"):
        Entries.read({**both, "fix": "epsilon"}).plan()


WRONG: list[tuple[dict[str, str], str]] = [
    ({"epsilon": "0"}, "epsilon"),
    ({"epsilon": "1e-12"}, "epsilon"),
    ({"delta": "2"}, "delta"),
    ({"delta": "1e-"}, "delta"),
    ({"records_about": "1.5"}, "records_about"),
    ({"low": "120", "high": "0"}, "low"),
    ({"low": "a"}, "low"),
    ({"high": ""}, "low"),
    ({"size": "-1"}, "size"),
    ({"size": "5", "sizing": "relative"}, "size"),
    ({"size": "1e-250", "high": "1e250"}, "size"),
    ({"max_buckets_per_unit": "0"}, "max_buckets_per_unit"),
    ({"fix": "loss", "loss": "3"}, "loss"),
    ({"fix": "loss", "loss": "0.0001"}, "loss"),
    ({"fix": "loss", "records_about": ""}, "loss"),
    ({"fix": "loss", "lose": "lose_per_bucket", "loss": "1"}, "loss"),
    ({"stat": "mean"}, "stat"),
    ({"way": "ask", "stat": "mode"}, "stat"),
    ({"way": "ask", "records_about": ""}, "stat"),
    ({"way": "x"}, "way"),
    ({"law": "x"}, "law"),
    ({"releases": "0"}, "releases"),
    ({"groups": "0"}, "groups"),
    ({"groups": "some"}, "groups"),
    ({"sizing": "x"}, "sizing"),
    ({"fix": "x"}, "fix"),
    ({"fix": "loss", "lose": "x"}, "lose"),
]


@pytest.mark.parametrize(("asked", "field"), WRONG, ids=str)
def test_a_refusal_belongs_to_its_field(asked: dict[str, str], field: str) -> None:
    entries = Entries.read(asked)
    with pytest.raises(InputError) as refused:
        entries.plan()
    assert entries.field_of(refused.value) == field
    said = sentence(refused.value.message(entries.spell))
    assert "\n" not in said and "_" not in said and "epsilon" not in said and "delta" not in said, said


def test_a_message_about_no_field_belongs_to_the_switch() -> None:
    assert Entries.read({}).field_of(InputError("seed", "must be 1")) == "epsilon"
    assert Entries.read({"fix": "loss"}).field_of(InputError("seed", "must be 1")) == "loss"


def test_what_is_asked_for_alone_is_in_the_command_once() -> None:
    entries = Entries.read({"way": "ask", "stat": "q0.99"})
    assert entries.plan().command.endswith("--delta 0 --ask q0.99 --bounds 0:120")


def test_every_choice_is_a_choice() -> None:
    for name, options in CHOICES.items():
        assert DEFAULTS[name] in options
        for value in options:
            assert Entries.read({name: value}).chosen(name) == value


@pytest.mark.parametrize("word", list(STATISTICS))
def test_the_command_runs_as_shown(word: str, tmp_path: Any) -> None:
    (tmp_path / "t.csv").write_text("age\n" + "".join(f"{20 + i % 60}\n" for i in range(3000)))
    entries = Entries.read({"stat": word})
    line = entries.plan().command.replace("FILE", str(tmp_path / "t.csv")).replace("COLUMN", "age")
    words = [*shlex.split(line)[1:], "--kind", "number", "--json"]
    ran = CliRunner().invoke(cli, words, standalone_mode=False, obj=SimpleNamespace(spent=False))
    assert ran.exception is None, ran.output
    assert json.loads(ran.stdout)["answers"][0]["stat"] == word


def test_the_command_of_a_page_is_that_of_what_was_entered() -> None:
    """Buckets that are too fine are warned of, not replaced."""
    fine = Entries.read({"high": "100000", "size": "1", "records_about": "5000"}).plan()
    assert fine.command.endswith("--width 1 --bounds 0:100000 --stat max")
    assert fine.leaves_nothing and "almost nothing would be left" in fine.warnings[-1]
