"""Draw the figures of docs/figures anew, with the code that the documentation shows: python tools/figures.py.

Needed after a change of style. A test compares the files with what the code draws.
"""

from __future__ import annotations

import doctest
import os
import re
import tempfile
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent.parent / "docs"


def figures() -> dict[str, str]:
    """Return the figures of the theory and of the guide, by name."""
    theory = (DOCS / "theory.md").read_text(encoding="utf-8")
    (block,) = (code for code in re.findall(r"```python\n(.*?)```", theory, re.DOTALL) if "figures" in code)
    space: dict[str, Any] = {}
    exec(compile(block, "theory.md", "exec"), space)
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            doctest.testfile(str(DOCS / "measure-and-compose.md"), module_relative=False, encoding="utf-8")
            measured = Path("measured.svg").read_text(encoding="utf-8")
        finally:
            os.chdir(here)
    return {**space["figures"], "measured": measured}


if __name__ == "__main__":
    for name, picture in figures().items():
        (DOCS / "figures" / f"{name}.svg").write_text(picture.removesuffix("\n") + "\n", encoding="utf-8")
