"""docs/verification.md says what the tests and commands do."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from _support.zoo import ZOO

ROOT = Path(__file__).parent.parent.parent
TEXT = (ROOT / "docs" / "verification.md").read_text()


def test_the_zoo_is_listed_with_its_numbers_of_runs() -> None:
    rows = re.findall(r"^\| (.+?) \| ([0-9 ]+) \|$", TEXT, re.MULTILINE)
    told = sorted(int(runs.replace(" ", "")) for name, runs in rows for _ in range(1 + name.count(";")))
    assert told == sorted(fault.trials for fault in ZOO.values())


def test_the_python_of_the_page() -> None:
    exact = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)[0]
    space: dict[str, object] = {}
    lines = exact.strip().splitlines()
    exec(compile("\n".join(lines[:-1]), "verification.md", "exec"), space)
    paper: Any = space["paper"]
    (shown,) = re.findall(r"# ([0-9.e-]+), ([0-9.e-]+)", lines[-1])
    assert tuple(f"{float(way.upper):.2e}" for way in (paper.forward, paper.backward)) == shown


def test_the_commands_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"`make ([a-z-]+)", TEXT):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    for folders in re.findall(r"`pytest ([a-z/ ]+?)(?: -k .+?)?`", TEXT):
        assert all((ROOT / folder).is_dir() for folder in folders.split()), folders


def test_the_grid_is_as_large_as_it_says() -> None:
    from test_grid_of_configurations import GRID

    assert f"{len(GRID)} configurations" in TEXT
