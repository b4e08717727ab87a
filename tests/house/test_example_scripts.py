"""The examples run and show what they are there for; separator.py has tests of its own (tests/release/test_grid.py)."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import nbformat
import pytest
from _support.pages import ROOT, masked

EXAMPLES = ROOT / "examples"
SHOWN = {  # what each script prints, in this order
    "flights.py": [
        r"maximum +published about \d+ +exact 1301",
        r"99th percentile +published about \d+ +exact 191",
        r"Highest departure_delay: about \d+",
        r"73\.2% sure afterwards",
    ],
    "words.py": [
        r"Values of word that occur, each unit \(person\) once with at most 5 values: and, cold, far, ",
        r"\(14 in total\)\. So counted, every value with at least 138 units \(person\) is listed; others may be ",
        r"5 most frequent values of word, each unit \(person\) once with at most 5 values: says with about \d",
        r"A word that 138 people wrote, within their 5 words, is certain to be listed\.",
        "for each person",
    ],
    "ledger.py": [
        r"Monday, carriers: Charged to 'flights-2013': ε = 1, δ = 1e-06\. Left: ε = 1, δ = 3e-06\.",
        "Tuesday, the same: .* it cost nothing",
        r"Left: ε = 0\.25, δ = 2e-06\.",
        "Tuesday, airports: the budget of 'flights-2013' is insufficient.* Nothing was read",
        "intact: True",
    ],
    "own_mechanism.py": [
        "None of 7 declarations is contradicted",
        r"Exact after leaving out at most 27 records from each bucket \(together at most 7\.03% of them\)",
        r"promised: at most 2\.5; measured: [0-2]\.\d",
    ],
}
ELSEWHERE = {  # run by these tests
    "flights.ipynb": "house/test_notebook.py",
    "planning.ipynb": "house/test_example_scripts.py",
    "postgres.py": "engines/test_guides.py",
    "separator.py": "release/test_grid.py",
    "spark.py": "engines/test_guides.py",
}


def words(text: str) -> list[str]:
    """The words of an output, without its numbers."""
    return masked(text).split()


@pytest.mark.parametrize("name", SHOWN)
def test_a_script_shows_what_it_is_for(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    out = capsys.readouterr().out
    assert re.search(".*".join(SHOWN[name]), out, re.DOTALL), out
    assert "patient1" not in out  # a word that one person wrote


def test_the_planning_notebook(capsys: pytest.CaptureFixture[str]) -> None:
    """As it is saved, and again; the numbers of plans are those of docs/planning.md's tests."""
    path = EXAMPLES / "planning.ipynb"
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    space: dict[str, object] = {}
    for number, cell in enumerate(cells, start=1):
        assert cell.execution_count == number
        saved = "".join(output.get("text", "") for output in cell.outputs)
        exec(compile(cell.source, path.name, "exec"), space)
        assert words(capsys.readouterr().out) == words(saved)
        assert not any(output.output_type == "error" for output in cell.outputs)
    assert any("flexdp-card" in str(output.get("data", {}).get("text/html")) for output in cells[1].outputs)
    assert not re.search(r"/(home|tmp|work|root|Users)/", path.read_text("utf-8")), "no path of a machine"


def test_every_example_is_listed_and_run() -> None:
    there = {path.name for path in EXAMPLES.iterdir() if path.suffix in (".py", ".ipynb")}
    listed = re.findall(r"^\| \[([^\]]+)\]\(\1\) \|", (EXAMPLES / "README.md").read_text("utf-8"), re.MULTILINE)
    assert there == {*SHOWN, *ELSEWHERE} == set(listed) and len(listed) == len(there)
    for name, test in ELSEWHERE.items():
        assert name in Path(ROOT / "tests" / test).read_text("utf-8"), name
