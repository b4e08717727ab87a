"""The page about peers says what the measured JSON says, and neither tells of the machine."""

from __future__ import annotations

import copy
import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest
from _support.pages import DOCS, ROOT

PAGE = runpy.run_path(str(ROOT / "benchmarks" / "peers_page.py"))


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return json.loads((DOCS / "peers.json").read_text("utf-8"))


def test_the_page_is_made_from_the_json(found: dict[str, Any]) -> None:
    assert PAGE["render"](found) == (DOCS / "peers.md").read_text("utf-8")


def test_another_number_would_be_noticed(found: dict[str, Any]) -> None:
    page = PAGE["render"](found)
    slower, better, other = copy.deepcopy(found), copy.deepcopy(found), copy.deepcopy(found)
    next(iter(slower["speed"][0]["contenders"].values()))["seconds"][1] *= 7
    verdicts = [row for cell in better["accuracy"] for row in cell["methods"].values() if "flexdp" in row]
    verdicts[0]["flexdp"] = "clearly loses" if verdicts[0]["flexdp"] != "clearly loses" else "clearly wins"
    other["versions"]["opendp"] = "0.0"
    assert page not in (PAGE["render"](changed) for changed in (slower, better, other))


def test_wins_ties_and_losses_are_counted_plainly_and_clearly() -> None:
    outcomes = ["wins", "clearly wins", "ties", "loses", "clearly loses", "clearly loses", None]
    cells = [{"methods": {"peer": {} if outcome is None else {"flexdp": outcome}}} for outcome in outcomes]
    assert PAGE["tally"](cells, "peer") == ([2, 1, 3], [1, 3, 2])
    assert PAGE["tally"](cells, "another") == ([0, 0, 0], [0, 0, 0])


def test_the_json_says_how_it_was_made_and_not_where(found: dict[str, Any]) -> None:
    assert {"measured", "command", "versions", "parameters", "accuracy", "speed", "tumult"} == set(found)
    assert {"seed", "delta", "draws", "sizes", "epsilons"} <= set(found["parameters"])
    text = (DOCS / "peers.json").read_text("utf-8")
    assert not re.search(r"(?<![\w.])/(?:home|root|tmp|work|usr)\b|https?://|localhost", text)
    assert len(text) < 1_000_000


def test_every_cell_has_answers_of_flexdp_and_of_a_peer(found: dict[str, Any]) -> None:
    for cell in found["accuracy"]:
        names = {method.split(",")[0] for method in cell["methods"]}
        assert "flexdp" in names and len(names) > 1, cell
        assert all(row["answers"] >= 0 for row in cell["methods"].values())
    assert Path(ROOT / "docs" / "peers.md").stat().st_size < 100_000
