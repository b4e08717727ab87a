"""The example notebook, run again from its first cell to its last."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from _support.markup import with_pictures
from _support.waiting import HANG
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parent.parent.parent / "examples" / "flights.ipynb"
KEY = {  # what the cells that begin so must show
    "plan = flexdp.plan(records_about": [r"flexdp-card", r"ε", r"flexdp release FILE COLUMN --epsilon"],
    "plan = flexdp.plan(\n": [
        r"certified +expected +50% sure",
        r"a lognormal distribution with median 15",
        r"→ +1 +36 +37",
    ],
    "release = flexdp.release": [r"flexdp-card", r"<img", r"<svg", r"at most 36 more in each bucket", r"73\.2%"],
    "release.max()": [
        r"Highest departure_delay: \d+–\d+ or more\. At most 36 records per bucket, and at most [\d\s]+ in total,"
    ],
    "import tempfile": [r"\d+ kB, no script, no request"],
    "import duckdb": [r"in truth 1301"],
}


def shown(cell: Any) -> str:
    parts = []
    for output in cell.outputs:
        assert output.output_type != "error", output
        data = output.get("data", {})
        parts += [output.get("text", ""), with_pictures(data.get("text/html", "")), data.get("text/plain", "")]
    return "\n".join(parts)


def check(notebook: Any) -> None:
    """Every cell has run, none has failed, and the key cells show what they are there for."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    for start, patterns in KEY.items():
        (cell,) = (cell for cell in cells if cell.source.startswith(start))
        for pattern in patterns:
            assert re.search(pattern, shown(cell)), (start, pattern)
    for cell in cells:
        shown(cell)


def test_as_it_is_saved() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    check(notebook)
    text = NOTEBOOK.read_text()
    assert not re.search(r"/(home|tmp|work|root|Users)/", text), "no path of a machine"
    assert NOTEBOOK.stat().st_size < 100_000
    assert "Traceback" not in text and "stderr" not in text


def test_run_again() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    NotebookClient(notebook, timeout=HANG, kernel_name="python3").execute()
    check(notebook)


def test_a_failing_cell_would_be_noticed() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    failed = nbformat.v4.new_output("error", ename="E", evalue="", traceback=[])
    next(cell for cell in notebook.cells if cell.cell_type == "code").outputs = [failed]
    with pytest.raises(AssertionError, match="error"):
        check(notebook)
